//! Who hears whom. One collision domain today; a spatial medium will be a sibling that drives the same
//! stations and PHY tables.

pub(crate) mod airtime;
mod domain;

pub use airtime::Category;
pub use domain::Domain;

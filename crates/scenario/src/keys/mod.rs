//! The keys of every table of a scenario, one file per table.
//!
//! Each file holds the table's defaults and its list of [`Key`](crate::setting::Key)s. Defaults are
//! the models' own; what is ours says why where it stands.

pub(crate) mod access;
pub(crate) mod browser;
pub(crate) mod client;
pub(crate) mod gprs;
pub(crate) mod link;
pub(crate) mod run;
pub(crate) mod server;
pub(crate) mod tcp;
pub(crate) mod traffic;

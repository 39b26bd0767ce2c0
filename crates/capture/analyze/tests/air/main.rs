//! Captures of the air made octet by octet, and what the whole analysis makes of them.

mod captures;
mod faults;
mod tables;

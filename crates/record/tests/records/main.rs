//! Directories of records and the tables in them, written and read.

mod by_hand;
mod capture_directory;
mod run_directory;
mod tables;

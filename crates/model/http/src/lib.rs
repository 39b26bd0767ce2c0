//! Web clients and servers as state machines: httperf and Apache.
//!
//! A [`Client`] and a [`Session`] are the two programs' views of one connection; [`Cpu`] is the processor
//! that a server's processes share. SANS-IO: time is an argument, octets are counts.
//!
//! A [`browser::PageLoad`] is a page's load by a browser, from all its hosts. Left out: the octets of TLS and HTTP/2, and which pages
//! a user wants when: that is `airperf-workload`'s.

mod admission;
pub mod browser;
mod client;
mod config;
mod cpu;
mod session;

pub use admission::{Admission, AdmissionConfig, AdmissionCounts, Policy, Refusal, Verdict};
pub use airperf_units::ConfigError;
pub use client::{Ask, Client, Exchange, Failure};
pub use config::{ClientConfig, ServerConfig, TimeoutRule};
pub use cpu::Cpu;
pub use session::{Session, SessionStep};

//! Web clients and servers as state machines: httperf and Apache.
//!
//! A [`Client`] and a [`Session`] are the two programs' views of one connection; [`Cpu`] is the processor
//! that a server's processes share. SANS-IO: time is an argument, octets are counts.
//!
//! Left out: TLS, HTTP/2, and which requests a user makes when: that is `airperf-workload`'s.

mod admission;
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

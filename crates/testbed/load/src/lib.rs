//! A live load generator for HTTP/1.x: connections are opened when they are due, whatever became of the
//! ones before.
//!
//! A [`Plan`] (JSON) says what to ask, whom, when and from where; [`run()`] does it with one thread around one
//! epoll and gives a [`LoadResult`]. Arrivals are those of `airperf-workload`, the same as in simulation.
//! Every request ends in one outcome; what this machine could not do is counted apart from what the server
//! did; where the schedule was not kept the result says so.
//!
//! Reference: Mosberger & Jin, "httperf: a tool for measuring Web server performance", 1998; Schroeder et
//! al., "Open versus closed", NSDI 2006; RFC 9112. Left out: TLS, HTTP/2, name resolution, and machines
//! other than Linux.

mod arrivals;
mod connection;
mod ending;
mod engine;
mod lead;
mod limits;
mod live;
mod looks;
mod opening;
mod plan;
mod poll;
mod ports;
mod progress;
mod receiving;
mod request;
mod response;
mod result;
mod rows;
mod run;
mod sending;
mod stats;
mod system;
mod visits;

pub use airperf_workload::Users;
pub use live::Live;
pub use plan::{Arrivals, Burst, Client, HttpVersion, Plan, Process, Request, SCHEMA, Target, TimeoutRule};
pub use progress::Progress;
pub use result::{Connections, Cpu, Errors, LoadResult, Local, Rate, TimesMs, TimesUs};
pub use run::{LoadError, run};
pub use stats::{Bytes, Pages};

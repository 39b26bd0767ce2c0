//! How far a load has come, once a second.

use serde::Serialize;

/// What happened so far, and within the last second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// Seconds since the start.
    pub elapsed_s: f64,
    /// Connections (or sessions) that became due.
    pub due: u64,
    /// Connections opened.
    pub opened: u64,
    /// Requests sent.
    pub sent: u64,
    /// Replies completed.
    pub completed: u64,
    /// Exchanges that failed.
    pub errors: u64,
    /// Connections this machine could not make.
    pub local: u64,
    /// Connections under way.
    pub concurrent: u64,
    /// Connections that became due within the last second.
    pub offered_cps: f64,
    /// Replies completed within the last second.
    pub rate_rps: f64,
    /// 99th percentile of the response time within the last second, ms; `None` without replies.
    pub p99_ms: Option<f64>,
}

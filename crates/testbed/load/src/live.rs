//! What of a workload a live generator can do, in the plan's words: so one description drives it and a simulation.
//!
//! Left out: arrivals, time-outs and the target, which the caller reads from the scenario itself.

use airperf_units::{Duration, StreamKey, Time};
use airperf_workload::{Config, Schedule, Users};
use serde::Serialize;

/// Parts of a plan made of a workload; the names are those of [`crate::Plan`] and its [`crate::Client`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Live {
    /// Of each client.
    pub offsets_ns: Vec<u64>,
    /// As in the plan.
    pub until_ns: u64,
    /// As in the plan.
    pub requests_per_connection: u32,
    /// As in the plan.
    pub pipeline: u32,
    /// Octets of the objects of equal requests one after the other: no users are needed.
    pub size_bytes: Option<u64>,
    /// Anything else.
    pub users: Option<Users>,
}

impl Live {
    /// The workload of clients that are alike but for their start, offered for `duration`.
    ///
    /// # Errors
    /// What a live generator cannot do, in words for the user.
    pub fn of<'a>(
        clients: impl IntoIterator<Item = &'a Config>,
        duration: Duration,
        seed: u64,
    ) -> Result<Self, &'static str> {
        let mut clients = clients.into_iter().peekable();
        let first = *clients.peek().ok_or("there is no client")?;
        let key = StreamKey::new(seed);
        let start = |(number, config): (u64, &Config)| {
            Schedule::new(config.clone(), Time::ZERO + duration, &key, number).origin().as_ns()
        };
        let session = &first.session;
        let equal = first.plain().filter(|plain| plain.upload_bytes == 0 && session.pipeline == 1);
        Ok(Self {
            offsets_ns: (0..).zip(clients).map(start).collect(),
            until_ns: duration.as_ns(),
            requests_per_connection: equal.map_or(session.requests_per_connection, |plain| plain.requests),
            pipeline: session.pipeline,
            size_bytes: equal.map(|plain| plain.object_bytes),
            users: equal.is_none().then(|| Users::of(first)),
        })
    }
}

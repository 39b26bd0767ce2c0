//! What can be chosen about a workload.
//!
//! Left out: streams, which are no requests and replies.

use crate::Distribution;
use airperf_units::{ConfigError, Duration};

/// A mean number of arrivals per second, exact to a millionth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PerSecond {
    micro: u64,
}

impl PerSecond {
    /// `n` per second.
    pub const fn new(n: u64) -> Self {
        Self { micro: n * 1_000_000 }
    }

    /// `n` millionths per second.
    pub const fn from_micro(n: u64) -> Self {
        Self { micro: n }
    }

    /// Millionths per second.
    pub const fn as_micro(self) -> u64 {
        self.micro
    }

    /// Per second, for reports only.
    pub fn as_f64(self) -> f64 {
        self.micro as f64 / 1e6
    }
}

/// The process by which sessions become due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArrivalProcess {
    /// Session i exactly i/rate after the start.
    Deterministic,
    /// Independent exponential times between sessions.
    Poisson,
    /// Poisson at a rate that follows fractional Gaussian noise, so that it varies on all time scales.
    SelfSimilar {
        /// The Hurst exponent, at least 0.5 (no memory) and below 1.
        hurst: f64,
    },
    /// Poisson while on, nothing while off; `rate` is the mean over both.
    OnOff {
        /// Mean of the exponential times on.
        on: Duration,
        /// Mean of the exponential times off.
        off: Duration,
    },
    /// One session, at the start.
    Once,
}

/// When a client begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// So long after the start of the run.
    At(Duration),
    /// Uniform within one mean time between arrivals; of [`ArrivalProcess::Once`] within one mean think time.
    Random,
}

/// What one client wants, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How sessions become due.
    pub arrivals: ArrivalProcess,
    /// Their mean rate, sessions per second.
    pub rate: PerSecond,
    /// Its beginning.
    pub start: Start,
    /// Octets of the objects fetched.
    pub size: Distribution,
    /// Octets of the requests' bodies.
    pub upload: Distribution,
    /// What a session is.
    pub session: SessionConfig,
}

/// What a session is; see [`crate::Session`].
#[derive(Clone, Debug, PartialEq)]
pub struct SessionConfig {
    /// Pages of a session; `None` goes on as long as load is offered.
    pub pages: Option<Distribution>,
    /// Objects that a page embeds.
    pub embedded: Distribution,
    /// Octets of an embedded object; `None` as of the page itself.
    pub embedded_size: Option<Distribution>,
    /// Share of embedded objects that the browser's cache has.
    pub cached: f64,
    /// Nanoseconds from a page's last octet to the requests for what it embeds.
    pub parse_time: Distribution,
    /// Nanoseconds from the end of a page until the next is due.
    pub think_time: Distribution,
    /// How long the user waits for a page with all it embeds; `None` for ever.
    pub patience: Option<Duration>,
    /// Whether the first failure ends the session, as httperf's does; else the next page comes as if nothing had been.
    pub fragile: bool,
    /// Most connections open at once.
    pub connections: u32,
    /// Requests on a connection after which the client closes it.
    pub requests_per_connection: u32,
    /// Most requests on a connection without their replies: 1 does not pipeline.
    pub pipeline: u32,
}

impl SessionConfig {
    /// `requests` on one connection, one after the other: the first failure ends it.
    pub const fn requests(requests: u32) -> Self {
        Self {
            pages: Some(Distribution::Fixed(requests as u64)),
            embedded: Distribution::Fixed(0),
            embedded_size: None,
            cached: 0.0,
            parse_time: Distribution::Fixed(0),
            think_time: Distribution::Fixed(0),
            patience: None,
            fragile: true,
            connections: 1,
            requests_per_connection: requests,
            pipeline: 1,
        }
    }

    /// Whether its pages are more than single requests, and worth a record of their own.
    pub fn has_pages(&self) -> bool {
        self.embedded != Distribution::Fixed(0) || self.pages.is_none()
    }
}

impl Default for Config {
    /// One connection each second for one empty object.
    fn default() -> Self {
        Self {
            arrivals: ArrivalProcess::Deterministic,
            rate: PerSecond::new(1),
            start: Start::At(Duration::ZERO),
            size: Distribution::Fixed(0),
            upload: Distribution::Fixed(0),
            session: SessionConfig::requests(1),
        }
    }
}

/// The plainest sessions: one connection, equal requests one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain {
    /// Requests.
    pub requests: u32,
    /// Octets of each request's body.
    pub upload_bytes: u64,
    /// Octets of each object.
    pub object_bytes: u64,
}

impl Config {
    /// Largest object: sequence numbers of one connection must not wrap.
    pub const MAX_SIZE_BYTES: u64 = 1 << 31;

    /// What every session is like, if all are one connection with equal requests one after the other.
    pub fn plain(&self) -> Option<Plain> {
        let plan = &self.session;
        let zero = |of: &Distribution| of.fixed() == Some(0);
        let requests = u32::try_from(plan.pages.as_ref()?.fixed()?).ok()?;
        let one_by_one = zero(&plan.embedded) && zero(&plan.think_time) && plan.patience.is_none();
        let one_connection = (1..=plan.requests_per_connection).contains(&requests) && plan.fragile;
        let (upload_bytes, object_bytes) = (self.upload.fixed()?, self.size.fixed()?);
        (one_by_one && one_connection).then_some(Plain { requests, upload_bytes, object_bytes })
    }

    /// Mean number of requests of a session; `None` when it has no end of its own.
    pub fn requests_per_session(&self) -> Option<f64> {
        let plan = &self.session;
        Some(plan.pages.as_ref()?.mean() * (1.0 + plan.embedded.mean() * (1.0 - plan.cached)))
    }

    /// Finds what no workload could be.
    ///
    /// # Errors
    /// The first impossible value, named.
    pub fn check(&self) -> Result<(), ConfigError> {
        let plan = &self.session;
        let (hurst, on) = match self.arrivals {
            ArrivalProcess::SelfSimilar { hurst } => (hurst, true),
            ArrivalProcess::OnOff { on, .. } => (0.5, on > Duration::ZERO),
            ArrivalProcess::Deterministic | ArrivalProcess::Poisson | ArrivalProcess::Once => (0.5, true),
        };
        let largest =
            |of: &Distribution| of.is_sound() && of.fixed().is_none_or(|n| n <= Self::MAX_SIZE_BYTES);
        let rules = [
            ((0.5..1.0).contains(&hurst), "hurst must be at least 0.5 and below 1"),
            (on, "on must be positive"),
            (self.rate.as_micro() > 0, "rate must be positive"),
            (self.rate.as_micro() <= 1_000_000_000_000, "rate is at most 1,000,000/s"),
            (largest(&self.size), "size is at most 2GiB"),
            (largest(&self.upload), "upload is at most 2GiB"),
            (plan.embedded_size.as_ref().is_none_or(largest), "embedded_size is at most 2GiB"),
            (plan.pages.as_ref().is_none_or(Distribution::is_sound), "pages must be a distribution"),
            (plan.embedded.is_sound(), "embedded must be a distribution"),
            (plan.parse_time.is_sound(), "parse_time must be a distribution"),
            (plan.think_time.is_sound(), "think_time must be a distribution"),
            ((0.0..=1.0).contains(&plan.cached), "cached is a share from 0 to 1"),
            (plan.patience != Some(Duration::ZERO), "patience must be positive"),
            (plan.connections >= 1, "connections must be at least 1"),
            (plan.requests_per_connection >= 1, "requests_per_connection must be at least 1"),
            (plan.pipeline >= 1, "pipeline must be at least 1"),
        ];
        ConfigError::check("workload", &rules)
    }
}

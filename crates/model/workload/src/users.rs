//! What users do, as data that one program hands to another: sessions of pages with random sizes, numbers and think times.
//!
//! The sessions are those of [`Session`](crate::Session), whose draws come from streams named after client, session and
//! page: whoever has this and the seed has the same requests, sizes and think times. When they are due is up to the
//! server.
//!
//! Left out: when sessions begin.

use airperf_units::{Distribution, Duration};
use serde::{Deserialize, Serialize};

use crate::config::{Config, SessionConfig};

/// What a session is; see [`SessionConfig`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Users {
    /// Pages of a session; `None` goes on until the load's end.
    #[serde(default)]
    pub pages: Option<Draw>,
    /// Octets of a page; stands for `{size}` in the path.
    pub size_bytes: Draw,
    /// Octets of each request's body.
    #[serde(default)]
    pub upload_bytes: Draw,
    /// Objects that a page embeds.
    #[serde(default)]
    pub embedded: Draw,
    /// Octets of an embedded object; `None` as of the page itself.
    #[serde(default)]
    pub embedded_size_bytes: Option<Draw>,
    /// Share of embedded objects that the browser has already.
    #[serde(default)]
    pub cached: f64,
    /// From a page's last octet to the requests for what it embeds, nanoseconds.
    #[serde(default)]
    pub parse_time_ns: Draw,
    /// From the end of a page until the next is due, nanoseconds.
    #[serde(default)]
    pub think_time_ns: Draw,
    /// How long a user waits for a page with all it embeds, nanoseconds; `None` for ever.
    #[serde(default)]
    pub patience_ns: Option<u64>,
    /// Whether the first failure ends the session.
    #[serde(default = "yes")]
    pub fragile: bool,
    /// Most connections of a user open at once.
    #[serde(default = "one")]
    pub connections: u32,
}

const fn yes() -> bool {
    true
}

const fn one() -> u32 {
    1
}

/// A random whole number; see [`Distribution`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Draw {
    /// Always this.
    Fixed(u64),
    /// Every value from `low` to `high` alike.
    Uniform {
        /// The least.
        low: u64,
        /// The greatest.
        high: u64,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean: u64,
    },
    /// Lognormal.
    LogNormal {
        /// Mean.
        mean: u64,
        /// Standard deviation over mean.
        cv: f64,
    },
    /// Pareto between bounds.
    Pareto {
        /// The least.
        low: u64,
        /// The greatest.
        high: u64,
        /// Exponent of the tail.
        shape: f64,
    },
    /// SURGE's sizes of files.
    Surge {
        /// The greatest.
        high: u64,
    },
    /// One of these, each with its weight.
    Choice(Vec<(u64, f64)>),
}

impl Default for Draw {
    fn default() -> Self {
        Self::Fixed(0)
    }
}

impl From<&Draw> for Distribution {
    fn from(draw: &Draw) -> Self {
        match *draw {
            Draw::Fixed(value) => Self::Fixed(value),
            Draw::Uniform { low, high } => Self::Uniform { low, high },
            Draw::Exponential { mean } => Self::Exponential { mean },
            Draw::LogNormal { mean, cv } => Self::LogNormal { mean, cv },
            Draw::Pareto { low, high, shape } => Self::Pareto { low, high, shape },
            Draw::Surge { high } => Self::Surge { high },
            Draw::Choice(ref choices) => Self::Choice(choices.as_slice().into()),
        }
    }
}

impl From<&Distribution> for Draw {
    fn from(of: &Distribution) -> Self {
        match *of {
            Distribution::Fixed(value) => Self::Fixed(value),
            Distribution::Uniform { low, high } => Self::Uniform { low, high },
            Distribution::Exponential { mean } => Self::Exponential { mean },
            Distribution::LogNormal { mean, cv } => Self::LogNormal { mean, cv },
            Distribution::Pareto { low, high, shape } => Self::Pareto { low, high, shape },
            Distribution::Surge { high } => Self::Surge { high },
            Distribution::Choice(ref choices) => Self::Choice(choices.to_vec()),
        }
    }
}

impl Users {
    /// The sessions of a workload.
    pub fn of(config: &Config) -> Self {
        let plan = &config.session;
        Self {
            pages: plan.pages.as_ref().map(Draw::from),
            size_bytes: (&config.size).into(),
            upload_bytes: (&config.upload).into(),
            embedded: (&plan.embedded).into(),
            embedded_size_bytes: plan.embedded_size.as_ref().map(Draw::from),
            cached: plan.cached,
            parse_time_ns: (&plan.parse_time).into(),
            think_time_ns: (&plan.think_time).into(),
            patience_ns: plan.patience.map(Duration::as_ns),
            fragile: plan.fragile,
            connections: plan.connections,
        }
    }

    /// The workload with these sessions, that has the arrivals of `arrivals`.
    pub fn config(&self, arrivals: Config) -> Config {
        let session = SessionConfig {
            pages: self.pages.as_ref().map(Distribution::from),
            embedded: (&self.embedded).into(),
            embedded_size: self.embedded_size_bytes.as_ref().map(Distribution::from),
            cached: self.cached,
            parse_time: (&self.parse_time_ns).into(),
            think_time: (&self.think_time_ns).into(),
            patience: self.patience_ns.map(Duration::from_ns),
            fragile: self.fragile,
            connections: self.connections,
            ..SessionConfig::requests(1)
        };
        Config { size: (&self.size_bytes).into(), upload: (&self.upload_bytes).into(), session, ..arrivals }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_comes_back_from_the_plan_as_it_was() {
        let text = r#"{"pages":{"uniform":{"low":1,"high":4}},"size_bytes":{"log-normal":{"mean":8192,"cv":2.0}},
            "upload_bytes":{"exponential":{"mean":100}},"embedded":{"uniform":{"low":0,"high":3}},
            "embedded_size_bytes":{"choice":[[10,1.0],[20,3.0]]},"cached":0.2,
            "parse_time_ns":{"exponential":{"mean":5000000}},"patience_ns":7,"fragile":false,"connections":6,
            "think_time_ns":{"pareto":{"low":1000,"high":1000000000,"shape":1.5}}}"#;
        let users: Users = serde_json::from_str(text).unwrap();
        let config = users.config(Config::default());
        assert_eq!(Users::of(&config), users);
        assert_eq!((config.session.connections, config.session.fragile), (6, false));
        let endless: Users = serde_json::from_str(r#"{"size_bytes":{"fixed":1}}"#).unwrap();
        assert_eq!(endless.config(Config::default()).session.pages, None);
    }
}

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
    pub pages: Option<Distribution>,
    /// Octets of a page; stands for `{size}` in the path.
    pub size_bytes: Distribution,
    /// Octets of each request's body.
    #[serde(default = "nothing")]
    pub upload_bytes: Distribution,
    /// Objects that a page embeds.
    #[serde(default = "nothing")]
    pub embedded: Distribution,
    /// Octets of an embedded object; `None` as of the page itself.
    #[serde(default)]
    pub embedded_size_bytes: Option<Distribution>,
    /// Share of embedded objects that the browser has already.
    #[serde(default)]
    pub cached: f64,
    /// From a page's last octet to the requests for what it embeds, nanoseconds.
    #[serde(default = "nothing")]
    pub parse_time_ns: Distribution,
    /// From the end of a page until the next is due, nanoseconds.
    #[serde(default = "nothing")]
    pub think_time_ns: Distribution,
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

const fn nothing() -> Distribution {
    Distribution::Fixed(0)
}

const fn yes() -> bool {
    true
}

const fn one() -> u32 {
    1
}

impl Users {
    /// The sessions of a workload.
    pub fn of(config: &Config) -> Self {
        let plan = &config.session;
        Self {
            pages: plan.pages.clone(),
            size_bytes: config.size.clone(),
            upload_bytes: config.upload.clone(),
            embedded: plan.embedded.clone(),
            embedded_size_bytes: plan.embedded_size.clone(),
            cached: plan.cached,
            parse_time_ns: plan.parse_time.clone(),
            think_time_ns: plan.think_time.clone(),
            patience_ns: plan.patience.map(Duration::as_ns),
            fragile: plan.fragile,
            connections: plan.connections,
        }
    }

    /// The workload with these sessions, that has the arrivals of `arrivals`.
    pub fn config(&self, arrivals: Config) -> Config {
        let session = SessionConfig {
            pages: self.pages.clone(),
            embedded: self.embedded.clone(),
            embedded_size: self.embedded_size_bytes.clone(),
            cached: self.cached,
            parse_time: self.parse_time_ns.clone(),
            think_time: self.think_time_ns.clone(),
            patience: self.patience_ns.map(Duration::from_ns),
            fragile: self.fragile,
            connections: self.connections,
            ..SessionConfig::requests(1)
        };
        Config { size: self.size_bytes.clone(), upload: self.upload_bytes.clone(), session, ..arrivals }
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

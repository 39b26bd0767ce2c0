//! What users do, drawn: sessions of pages with random sizes, numbers and think times, as in simulation.
//!
//! The sessions are those of [`airperf_workload::Session`]. All its draws come from streams named after client,
//! session and page, whatever happens on the network, so a session can be drawn when it begins: the same requests,
//! sizes and think times as those of a simulation with the same seed. When they are due is up to the server.
//!
//! Left out: sessions without end, several connections of one user, and going on after a failure.

use airperf_units::{StreamKey, Time};
use airperf_workload::{Config, Demand, Distribution, Outcome, Session, SessionConfig};
use serde::{Deserialize, Serialize};

/// Most requests of one session: what is drawn beyond is left out, and no session of a person is as long.
const MOST_STEPS: usize = 100_000;

/// What a session is; see [`SessionConfig`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Users {
    /// Pages of a session.
    pub pages: Draw,
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
    /// What a live generator can do of a workload: its sessions, or why it cannot.
    ///
    /// # Errors
    /// What of the workload takes more than one connection, patience or persistence.
    pub fn of(config: &Config) -> Result<Self, &'static str> {
        let plan = &config.session;
        let pages = plan.pages.as_ref().ok_or("sessions without end cannot be played live")?;
        for (wrong, why) in [
            (plan.connections > 1, "a live session has one connection, not several"),
            (plan.patience.is_some(), "a live user has patience with every request, not with a page"),
            (!plan.fragile, "a live session ends with its first failure"),
        ] {
            if wrong {
                return Err(why);
            }
        }
        Ok(Self {
            pages: pages.into(),
            size_bytes: (&config.size).into(),
            upload_bytes: (&config.upload).into(),
            embedded: (&plan.embedded).into(),
            embedded_size_bytes: plan.embedded_size.as_ref().map(Draw::from),
            cached: plan.cached,
            parse_time_ns: (&plan.parse_time).into(),
            think_time_ns: (&plan.think_time).into(),
        })
    }

    /// The same as the workload knows it.
    pub(crate) fn config(&self, arrivals: Config) -> Config {
        let session = SessionConfig {
            pages: Some((&self.pages).into()),
            embedded: (&self.embedded).into(),
            embedded_size: self.embedded_size_bytes.as_ref().map(Distribution::from),
            cached: self.cached,
            parse_time: (&self.parse_time_ns).into(),
            think_time: (&self.think_time_ns).into(),
            ..SessionConfig::requests(1)
        };
        Config { size: (&self.size_bytes).into(), upload: (&self.upload_bytes).into(), session, ..arrivals }
    }
}

/// A request of a session that was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Number of its page in the session, from 0.
    pub(crate) page: u32,
    /// Number in its page: 0 is the page itself.
    pub(crate) object: u32,
    /// How long after what came before it is due: the think time of a page, the parse time of what it embeds.
    pub(crate) after_ns: u64,
    /// Octets of the object.
    pub(crate) object_bytes: u64,
    /// Octets of the request's body.
    pub(crate) upload_bytes: u64,
}

/// All that the `session`-th session of a client asks for, if everything comes.
pub(crate) fn draw(config: &Config, key: &StreamKey, client: u16, session: u64) -> Vec<Wanted> {
    let mut now = Time::ZERO;
    let demand = Demand { due: now, session };
    let mut visit = Session::new(config, Time::MAX, key, u64::from(client), demand);
    let whole = Outcome { complete: true, first_byte: None, response_bytes: 0 };
    let mut wanted = Vec::new();
    while !visit.is_over() && wanted.len() < MOST_STEPS {
        let mut before = now;
        now = now.max(visit.wake());
        while let Some(request) = visit.next(config, now) {
            let after_ns = (now - std::mem::replace(&mut before, now)).as_ns();
            wanted.push(Wanted {
                page: request.page,
                object: request.object,
                after_ns,
                object_bytes: request.object_bytes,
                upload_bytes: request.upload_bytes,
            });
            visit.ended(config, now, &whole);
        }
    }
    wanted
}

#[cfg(test)]
mod tests {
    use airperf_units::Duration;

    use super::*;

    fn users() -> Users {
        let text = r#"{"pages":{"uniform":{"low":1,"high":4}},"size_bytes":{"log-normal":{"mean":8192,"cv":2.0}},
            "upload_bytes":{"exponential":{"mean":100}},"embedded":{"uniform":{"low":0,"high":3}},
            "embedded_size_bytes":{"choice":[[10,1.0],[20,3.0]]},"cached":0.2,
            "parse_time_ns":{"exponential":{"mean":5000000}},
            "think_time_ns":{"pareto":{"low":1000,"high":1000000000,"shape":1.5}}}"#;
        serde_json::from_str(text).unwrap()
    }

    /// As a testbed does it, with a network that takes a while for everything.
    fn lived(config: &Config, key: &StreamKey, client: u16, session: u64) -> Vec<Wanted> {
        let mut now = Time::from_ns(77);
        let mut visit = Session::new(config, Time::MAX, key, u64::from(client), Demand { due: now, session });
        let (mut seen, mut done) = (Vec::new(), now);
        while !visit.is_over() {
            let Some(request) = visit.next(config, now) else {
                now = visit.wake();
                continue;
            };
            seen.push(Wanted {
                page: request.page,
                object: request.object,
                after_ns: if request.object < 2 { (request.due - done).as_ns() } else { 0 },
                object_bytes: request.object_bytes,
                upload_bytes: request.upload_bytes,
            });
            now += Duration::from_us(1_234);
            done = now;
            visit.ended(config, now, &Outcome { complete: true, first_byte: None, response_bytes: 9 });
        }
        seen
    }

    #[test]
    fn what_is_drawn_beforehand_is_what_a_simulated_user_asks_for() {
        let config = users().config(Config::default());
        let key = StreamKey::new(9);
        let all: Vec<_> = (0..50).map(|session| draw(&config, &key, 3, session)).collect();
        for (session, drawn) in (0..).zip(&all) {
            assert_eq!(*drawn, lived(&config, &key, 3, session));
        }
        assert_eq!(Users::of(&config), Ok(users()));
        assert_ne!(all[0], all[1]);
        assert_eq!(all.iter().map(|drawn| drawn.len()).max().map(|most| most > 4), Some(true));
    }
}

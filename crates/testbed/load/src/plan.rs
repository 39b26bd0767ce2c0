//! What to send, to whom, how often: the plan of a load, as JSON.
//!
//! A plan is complete: the caller has resolved names, read session files and turned units into integers.
//! Times are nanoseconds, rates millionths of a connection per second. Unknown fields are refused, so a
//! misspelt one cannot be ignored. [`Plan::check`] reports every problem at once.
//!
//! Left out: names (DNS), TLS and HTTP/2: the generator speaks HTTP/1.x (RFC 9112) to an address.

use std::net::{IpAddr, SocketAddr};

use airperf_units::StreamKey;
use airperf_workload::{ArrivalProcess, Users};
use serde::{Deserialize, Serialize};

/// Version of the plan and of the result.
pub const SCHEMA: u32 = 1;

/// A load to be generated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Always [`SCHEMA`].
    pub schema: u32,
    /// Whom to ask for what.
    pub target: Target,
    /// Who asks; each follows the whole of `arrivals`, `duration_ns` and `connections` for itself.
    #[serde(default = "one_client")]
    pub clients: Vec<Client>,
    /// When connections are due; without it, or without its rate, `concurrency_limit` connections of each
    /// client are kept open at all times: a closed loop, which measures the most that can be had.
    #[serde(default)]
    pub arrivals: Option<Arrivals>,
    /// How long connections become due; `None` until `connections` have been.
    #[serde(default)]
    pub duration_ns: Option<u64>,
    /// How many connections (or sessions) of each client; `None` for as many as become due.
    #[serde(default)]
    pub connections: Option<u64>,
    /// Requests on each connection, one after the other unless `pipeline` says more. Not for sessions.
    #[serde(default = "one")]
    pub requests_per_connection: u32,
    /// Requests that may be unanswered at once on a connection.
    #[serde(default = "one")]
    pub pipeline: u32,
    /// Whether as many are asked again only when all of them are answered, instead of one for each reply.
    #[serde(default)]
    pub whole_bursts: bool,
    /// What users do, in turn, each on a persistent connection that is opened again when the server closes
    /// it: a list of sessions, each a list of bursts.
    #[serde(default)]
    pub sessions: Option<Vec<Vec<Burst>>>,
    /// What users do, drawn at random, instead of `sessions`: the workload of a scenario. Each session has a persistent
    /// connection that is opened again after `requests_per_connection`.
    #[serde(default)]
    pub users: Option<Users>,
    /// From here on, since the start, no connection becomes due and no page begins, whatever a client's offset.
    #[serde(default)]
    pub until_ns: Option<u64>,
    /// Further header fields; `Host` and `User-Agent` here replace ours.
    #[serde(default)]
    pub request_headers: Vec<(String, String)>,
    /// Version in the request line.
    #[serde(default)]
    pub http_version: HttpVersion,
    /// Octets of the body of each request.
    #[serde(default)]
    pub body_bytes: u64,
    /// Longest wait in a phase (connect, send, reply, receive); `None` waits for ever.
    #[serde(default)]
    pub timeout_ns: Option<u64>,
    /// What restarts that wait.
    #[serde(default)]
    pub timeout_rule: TimeoutRule,
    /// Close with a reset instead of the closing handshake, which leaves no port in TIME_WAIT.
    #[serde(default)]
    pub close_with_reset: bool,
    /// Most connections of each client at once; an arrival beyond is a local failure (`local.limit`).
    #[serde(default)]
    pub concurrency_limit: Option<u32>,
    /// How long before each due instant to wait actively instead of sleeping; `None` for one that is learnt from the machine.
    #[serde(default)]
    pub spin_ns: Option<u64>,
    /// The start, on `CLOCK_MONOTONIC`; `None` for at once.
    #[serde(default)]
    pub start_at_ns: Option<u64>,
    /// Connections due before this are made and left out of every statistic.
    #[serde(default)]
    pub warmup_ns: u64,
    /// Seed of all random streams.
    #[serde(default = "seed")]
    pub seed: u64,
    /// Point of an experiment, after which the streams are named too.
    #[serde(default)]
    pub point: u64,
    /// Repetition of that point, likewise.
    #[serde(default)]
    pub repetition: u64,
    /// How long after the last arrival to wait for what is under way.
    #[serde(default = "drain")]
    pub drain_ns: u64,
    /// Addresses that may be asked although they are not loopback.
    #[serde(default)]
    pub allow: Vec<IpAddr>,
    /// 99th percentile of the schedule error above which the run counts as generator-limited.
    #[serde(default = "schedule_bound")]
    pub schedule_bound_ns: u64,
    /// Octets of the receive buffer of each socket (SO_RCVBUF); `None` for the system's.
    #[serde(default)]
    pub receive_buffer_bytes: Option<u32>,
    /// Octets of the send buffer of each socket (SO_SNDBUF); `None` for the system's.
    #[serde(default)]
    pub send_buffer_bytes: Option<u32>,
}

/// Whom to ask for what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Address, IPv4 or IPv6.
    pub address: IpAddr,
    /// TCP port.
    pub port: u16,
    /// Value of the `Host` field; `None` sends none.
    #[serde(default)]
    pub host: Option<String>,
    /// Request targets, taken in turn, or at random by `weights`.
    #[serde(default = "root")]
    pub paths: Vec<String>,
    /// Weight of each path; `None` takes them in turn.
    #[serde(default)]
    pub weights: Option<Vec<u32>>,
    /// Method of the requests.
    #[serde(default = "get")]
    pub method: String,
    /// Octets of a request, its body not counted: one that would be shorter has a query of `x` behind its path.
    #[serde(default)]
    pub request_bytes: Option<u32>,
}

impl Target {
    /// Address and port.
    pub const fn socket(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.port)
    }
}

/// One client: an address or a namespace to ask from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Address to bind; `None` for the one the route gives. The port is always the kernel's choice.
    #[serde(default)]
    pub source: Option<IpAddr>,
    /// Network namespace: a name under `/run/netns`, or a path.
    #[serde(default)]
    pub netns: Option<String>,
    /// How much later than the start its schedule begins.
    #[serde(default)]
    pub offset_ns: u64,
    /// Its number, after which its random streams are named; `None` for its place in the plan.
    #[serde(default)]
    pub number: Option<u64>,
}

/// When the connections of each client are due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// Which process.
    #[serde(default)]
    pub process: Process,
    /// Millionths of a connection per second, for each client; `None` for a closed loop.
    pub rate_micro: Option<u64>,
    /// Listed arrivals: when each is due after the client's beginning, in order; `rate_micro` is their mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_ns: Option<Vec<u64>>,
    /// Hurst exponent of a self-similar process.
    #[serde(default)]
    pub hurst: Option<f64>,
    /// Mean time on of an on/off process.
    #[serde(default)]
    pub on_ns: Option<u64>,
    /// Mean time off of an on/off process.
    #[serde(default)]
    pub off_ns: Option<u64>,
}

impl Arrivals {
    /// Millionths of a connection per second, where there is a schedule; of one that has no rate, any.
    pub(crate) fn rate(&self) -> Option<u64> {
        self.rate_micro.or((self.process == Process::Once).then_some(1_000_000))
    }

    /// The process as the workload knows it; `None` when a parameter is missing, and for listed arrivals.
    pub(crate) fn model(&self) -> Option<ArrivalProcess> {
        let span = airperf_units::Duration::from_ns;
        Some(match self.process {
            Process::Listed => return None,
            Process::Deterministic => ArrivalProcess::Deterministic,
            Process::Poisson => ArrivalProcess::Poisson,
            Process::SelfSimilar => ArrivalProcess::SelfSimilar { hurst: self.hurst? },
            Process::OnOff => ArrivalProcess::OnOff { on: span(self.on_ns?), off: span(self.off_ns?) },
            Process::Once => ArrivalProcess::Once,
        })
    }
}

/// Kinds of arrival processes; see [`ArrivalProcess`] for those that are drawn here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Process {
    /// Equal times.
    #[default]
    Deterministic,
    /// Independent exponential times.
    Poisson,
    /// A rate that follows fractional Gaussian noise.
    SelfSimilar,
    /// Poisson while on.
    OnOff,
    /// One, at the client's beginning.
    Once,
    /// When somebody else drew them: `due_ns`.
    Listed,
}

/// Requests that belong together: the first, after its reply the others, as many at once as `pipeline` says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// The requests, in order.
    pub requests: Vec<Request>,
}

/// One request of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Request target; `None` for the plan's next path.
    #[serde(default)]
    pub path: Option<String>,
    /// Method; `None` for the plan's.
    #[serde(default)]
    pub method: Option<String>,
    /// Octets of the body; `None` for the plan's.
    #[serde(default)]
    pub body_bytes: Option<u64>,
    /// How long the user thinks after the last reply of this burst; the last one told in a burst counts.
    #[serde(default)]
    pub think_ns: Option<u64>,
}

/// Version of HTTP in the request line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum HttpVersion {
    /// Persistent unless told otherwise.
    #[default]
    #[serde(rename = "1.1")]
    Http11,
    /// Asks for persistence with `Connection: keep-alive` when there is more than one request.
    #[serde(rename = "1.0")]
    Http10,
}

/// What restarts the wait that `timeout_ns` bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeoutRule {
    /// Every octet that gets on: a user who sees progress waits. The connection is reset.
    #[default]
    Progress,
    /// The beginning of a phase only; the connection is closed. So does httperf's `--timeout`.
    Httperf,
}

fn one_client() -> Vec<Client> {
    vec![Client::default()]
}

const fn one() -> u32 {
    1
}

const fn seed() -> u64 {
    1
}

fn root() -> Vec<String> {
    vec!["/".to_owned()]
}

fn get() -> String {
    "GET".to_owned()
}

/// Ten seconds: two of the study's patiences.
const fn drain() -> u64 {
    10_000_000_000
}

/// 10 ms: one of the study's transactions.
const fn schedule_bound() -> u64 {
    10_000_000
}

impl Plan {
    /// Whether connections are opened by a schedule and not by the end of others.
    pub fn is_open_loop(&self) -> bool {
        self.arrivals.as_ref().is_some_and(|arrivals| arrivals.rate().is_some())
    }

    /// Names all random streams.
    pub(crate) const fn key(&self) -> StreamKey {
        StreamKey { seed: self.seed, point: self.point, repetition: self.repetition }
    }

    /// The number of a client, by its place.
    pub(crate) fn number(&self, client: usize) -> u64 {
        self.clients.get(client).and_then(|client| client.number).unwrap_or(client as u64)
    }

    /// Whether what becomes due are sessions.
    pub(crate) fn has_sessions(&self) -> bool {
        self.sessions.is_some() || self.users.is_some()
    }

    /// Every reason why this is no plan, in words for the user; the empty list for a good one.
    pub fn check(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut rule = |good: bool, text: String| {
            if !good {
                wrong.push(text);
            }
        };
        rule(self.schema == SCHEMA, format!("schema is {}, this program reads {SCHEMA}", self.schema));
        let address = self.target.address;
        rule(
            address.is_loopback() || self.allow.contains(&address),
            format!(
                "{address} is outside this machine and not among the allowed targets: a load generator is a \
                 denial-of-service tool; name the address explicitly if it is yours"
            ),
        );
        rule(self.target.port > 0, "port must be at least 1".to_owned());
        rule(!self.clients.is_empty(), "there must be a client".to_owned());
        rule(self.clients.len() <= 65_535, "there can be 65535 clients at most".to_owned());
        for client in &self.clients {
            let same = client.source.is_none_or(|source| source.is_ipv4() == address.is_ipv4());
            rule(same, format!("a client's address and {address} are not of one IP version"));
        }
        rule(self.requests_per_connection > 0, "requests_per_connection must be at least 1".to_owned());
        rule((1..=1024).contains(&self.pipeline), "pipeline must be 1 to 1024".to_owned());
        rule(
            self.duration_ns.is_some() || self.connections.is_some(),
            "either duration_ns or connections must be given, or the load never ends".to_owned(),
        );
        if let Some(wrong_schedule) = self.check_arrivals() {
            rule(false, wrong_schedule);
        }
        rule(
            self.users.is_none() || self.sessions.is_none() && self.is_open_loop(),
            "users need a rate, and no sessions beside them".to_owned(),
        );
        self.check_requests(&mut rule);
        wrong
    }

    fn check_arrivals(&self) -> Option<String> {
        let Some(arrivals) = self.arrivals.as_ref().filter(|_| self.is_open_loop()) else {
            let bounded = self.concurrency_limit.is_some_and(|limit| limit > 0);
            return (!bounded).then(|| "without a rate, concurrency_limit must be at least 1".to_owned());
        };
        if arrivals.process == Process::Listed {
            let in_order = arrivals.due_ns.as_ref().is_some_and(|due| due.is_sorted());
            return (!in_order).then(|| "listed arrivals need due_ns, in order".to_owned());
        }
        let Some(model) = arrivals.model() else {
            return Some("a self-similar process needs hurst, an on/off one on_ns and off_ns".to_owned());
        };
        let rate = arrivals.rate().unwrap_or_default();
        let mut config = crate::arrivals::workload(model, rate, 0);
        if let Some(users) = &self.users {
            config = users.config(config);
        }
        config.check().err().map(|error| error.to_string())
    }

    fn check_requests(&self, rule: &mut impl FnMut(bool, String)) {
        let target = &self.target;
        let weights = target.weights.as_ref();
        rule(!target.paths.is_empty(), "there must be a path".to_owned());
        rule(
            weights.is_none_or(|w| w.len() == target.paths.len() && w.iter().any(|&weight| weight > 0)),
            "weights must be one for each path, not all 0".to_owned(),
        );
        let sessions = || self.sessions.iter().flatten();
        rule(
            self.sessions.is_none() || sessions().next().is_some(),
            "sessions must not be empty; leave it out for plain requests".to_owned(),
        );
        rule(
            sessions().all(|session| session.iter().any(|burst| !burst.requests.is_empty())),
            "every session must have a request".to_owned(),
        );
        let requests = || sessions().flatten().flat_map(|burst| &burst.requests);
        let paths = target.paths.iter().chain(requests().filter_map(|request| request.path.as_ref()));
        for path in paths {
            let good = path.bytes().all(|b| b.is_ascii_graphic()) && !path.is_empty();
            rule(good, format!("path {path:?} must be visible ASCII without spaces"));
        }
        let methods = requests().filter_map(|request| request.method.as_ref());
        for method in std::iter::once(&target.method).chain(methods) {
            rule(is_token(method) && method != "CONNECT", format!("method {method:?} cannot be sent"));
        }
        for (name, value) in &self.request_headers {
            let good = is_token(name) && !value.bytes().any(|b| b.is_ascii_control() && b != b'\t');
            rule(good, format!("header field {name:?} has a character that would end it"));
            let ours = ["content-length", "transfer-encoding"].iter().any(|n| name.eq_ignore_ascii_case(n));
            rule(!ours, format!("header field {name:?} is the generator's: use body_bytes"));
        }
        let host = target.host.as_deref().unwrap_or_default();
        rule(!host.bytes().any(|b| b.is_ascii_control()), format!("host {host:?} has control characters"));
    }
}

/// RFC 9110 §5.6.2.
fn is_token(text: &str) -> bool {
    let special = |b| b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || special(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"{"schema":1,"target":{"address":"127.0.0.1","port":8080},
        "arrivals":{"process":"self-similar","rate_micro":5000000,"hurst":0.8},"duration_ns":1000000000}"#;

    fn plan(text: &str) -> Plan {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_short_plan_is_enough() {
        let plan = plan(PLAN);
        assert_eq!(plan.check(), Vec::<String>::new());
        assert_eq!((plan.clients.len(), plan.target.paths[0].as_str()), (1, "/"));
        assert_eq!(serde_json::from_value::<Plan>(serde_json::to_value(&plan).unwrap()).unwrap(), plan);
    }

    #[test]
    fn a_misspelt_field_is_refused() {
        let error = serde_json::from_str::<Plan>(&PLAN.replace("duration_ns", "duration")).unwrap_err();
        assert!(error.to_string().contains("unknown field `duration`"), "{error}");
    }

    #[test]
    fn targets_outside_are_refused_unless_named() {
        let mut plan = plan(&PLAN.replace("127.0.0.1", "192.0.2.1"));
        assert!(plan.check()[0].contains("denial-of-service"));
        plan.allow = vec!["192.0.2.1".parse().unwrap()];
        assert_eq!(plan.check(), Vec::<String>::new());
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let mut plan = plan(PLAN);
        plan.requests_per_connection = 0;
        plan.target.paths = vec!["/a b".into()];
        plan.duration_ns = None;
        plan.request_headers = vec![("X".into(), "a\r\nY: b".into()), ("Content-Length".into(), "3".into())];
        plan.arrivals.as_mut().unwrap().hurst = Some(1.5);
        assert_eq!(plan.check().len(), 6, "{:?}", plan.check());
    }

    #[test]
    fn a_closed_loop_needs_its_bound() {
        let mut plan = plan(PLAN);
        plan.arrivals = None;
        assert_eq!(plan.check().len(), 1);
        plan.concurrency_limit = Some(4);
        assert_eq!(plan.check(), Vec::<String>::new());
        assert!(!plan.is_open_loop());
    }
}

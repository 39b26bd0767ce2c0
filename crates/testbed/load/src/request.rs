//! The requests of a plan, composed once: sending one is handing its octets to the socket.
//!
//! Reference: RFC 9112 §3 (request line), RFC 9110 §7.2 (Host) and §8.6 (Content-Length). Bodies are the
//! letter `a`. A request without further fields is as long as httperf's, whose name has as many letters.
//!
//! Left out: chunked and conditional requests, and waiting for `100 Continue`.

use airperf_units::{Stream, StreamKey, Time};
use airperf_workload::{Config, Demand, Session};

use crate::plan::{HttpVersion, Plan, Request};

/// What stands in a path for the size of a drawn object, in octets.
const SIZE: &str = "{size}";

/// One request as it is sent.
#[derive(Debug)]
pub(crate) struct Template {
    /// Request line and fields, with the blank line.
    pub(crate) head: Box<[u8]>,
    /// Octets of body that follow.
    pub(crate) body_bytes: u64,
    /// Whether the method is HEAD, whose responses have no body.
    pub(crate) is_head: bool,
}

impl Template {
    /// Octets in all.
    pub(crate) const fn bytes(&self) -> u64 {
        self.head.len() as u64 + self.body_bytes
    }
}

/// What must be before a request of a session goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Its template; `None` for the plan's next path.
    pub(crate) template: Option<u32>,
    /// Whether every reply before it must be there.
    pub(crate) after_all: bool,
    /// How long after that.
    pub(crate) think_ns: u64,
}

/// What requests of users are made of, when they are wanted.
#[derive(Debug)]
struct Maker {
    plan: Plan,
    config: Config,
    key: StreamKey,
    /// Places in the list of templates that may be used again.
    free: Vec<u32>,
}

/// All requests of a plan.
#[derive(Debug)]
pub(crate) struct Requests {
    templates: Vec<Template>,
    /// How many of them are the plan's paths.
    paths: u32,
    /// Cumulative weights of the paths; none for taking them in turn.
    weights: Vec<u64>,
    turn: u32,
    stream: Stream,
    /// The steps of each session; none for plain requests.
    sessions: Vec<Box<[Step]>>,
    maker: Option<Box<Maker>>,
}

impl Requests {
    /// Those of a plan that was checked.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut templates: Vec<Template> = Vec::new();
        for path in &plan.target.paths {
            templates.push(compose(plan, path, &plan.target.method, plan.body_bytes));
        }
        let mut sum = 0;
        let weights = plan.target.weights.iter().flatten().map(|&weight| {
            sum += u64::from(weight);
            sum
        });
        let mut this = Self {
            paths: templates.len() as u32,
            weights: weights.collect(),
            templates,
            turn: 0,
            stream: plan.key().stream("paths"),
            sessions: Vec::new(),
            maker: None,
        };
        this.maker = Maker::of(plan).map(Box::new);
        for session in plan.sessions.iter().flatten() {
            let mut steps = Vec::new();
            let mut think_ns = 0;
            for burst in session {
                for (place, request) in burst.requests.iter().enumerate() {
                    let template = this.template_of(plan, request);
                    // The first of a burst goes out alone, the others once its reply is there.
                    let think_ns = if place == 0 { std::mem::take(&mut think_ns) } else { 0 };
                    steps.push(Step { template, after_all: place < 2, think_ns });
                }
                let told = burst.requests.iter().filter_map(|request| request.think_ns).next_back();
                think_ns = told.unwrap_or(think_ns);
            }
            this.sessions.push(steps.into());
        }
        this
    }

    /// Octets of the largest.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.templates.iter().map(Template::bytes).max().unwrap_or_default()
    }

    fn template_of(&mut self, plan: &Plan, request: &Request) -> Option<u32> {
        let Request { path, method, body_bytes, .. } = request;
        if path.is_none() && method.is_none() && body_bytes.is_none() {
            return None;
        }
        let path = path.as_ref().unwrap_or(&plan.target.paths[0]);
        let method = method.as_ref().unwrap_or(&plan.target.method);
        let new = compose(plan, path, method, body_bytes.unwrap_or(plan.body_bytes));
        let same = |old: &Template| old.head == new.head && old.body_bytes == new.body_bytes;
        let place = self.templates.iter().position(same).unwrap_or_else(|| {
            self.templates.push(new);
            self.templates.len() - 1
        });
        Some(place as u32)
    }

    /// A template.
    #[inline]
    pub(crate) fn get(&self, template: u32) -> &Template {
        &self.templates[template as usize]
    }

    /// The steps of the `number`-th session of all; `None` when there are none.
    pub(crate) fn session(&self, number: u64) -> Option<u32> {
        (!self.sessions.is_empty()).then(|| (number % self.sessions.len() as u64) as u32)
    }

    /// The `number`-th session of a client whose users are drawn, due at `due_ns`; no page of it begins at `end_ns` or later.
    pub(crate) fn visit(&self, client: u16, number: u64, due_ns: u64, end_ns: u64) -> Option<Session> {
        let Maker { config, key, plan, .. } = &**self.maker.as_ref()?;
        let demand = Demand { due: Time::from_ns(due_ns), session: number };
        let number = plan.number(usize::from(client));
        Some(Session::new(config, Time::from_ns(end_ns), key, number, demand))
    }

    /// What users want, where they are drawn.
    pub(crate) fn config(&self) -> Option<&Config> {
        self.maker.as_ref().map(|maker| &maker.config)
    }

    /// A template for a request that a user wants, until it is released.
    pub(crate) fn make(&mut self, wanted: &airperf_workload::Request) -> Option<u32> {
        let maker = self.maker.as_mut()?;
        let made = maker.compose(wanted);
        let place = maker.free.pop().unwrap_or(self.templates.len() as u32);
        match self.templates.get_mut(place as usize) {
            Some(template) => *template = made,
            None => self.templates.push(made),
        }
        Some(place)
    }

    /// The exchange with a template that was made for it is over.
    #[inline]
    pub(crate) fn release(&mut self, template: u32) {
        if let Some(maker) = &mut self.maker {
            maker.free.push(template);
        }
    }

    /// The steps of a session.
    #[inline]
    pub(crate) fn steps(&self, session: u32) -> &[Step] {
        &self.sessions[session as usize]
    }

    /// Mean number of requests of a session, or `None`.
    pub(crate) fn mean_steps(&self) -> Option<f64> {
        if let Some(config) = self.config() {
            return config.requests_per_session();
        }
        let steps: usize = self.sessions.iter().map(|steps| steps.len()).sum();
        (!self.sessions.is_empty()).then(|| steps as f64 / self.sessions.len() as f64)
    }

    /// The plan's next path.
    #[inline]
    pub(crate) fn next(&mut self) -> u32 {
        if self.paths == 1 {
            return 0;
        }
        if let Some(&total) = self.weights.last() {
            let drawn = (self.stream.unit() * total as f64) as u64;
            return self.weights.partition_point(|&sum| sum <= drawn) as u32;
        }
        let now = self.turn;
        self.turn = (now + 1) % self.paths;
        now
    }
}

impl Maker {
    fn of(plan: &Plan) -> Option<Self> {
        let mut config = plan.users.as_ref()?.config(Config::default());
        config.session.pipeline = plan.pipeline;
        Some(Self { plan: plan.clone(), config, key: plan.key(), free: Vec::new() })
    }

    fn compose(&self, wanted: &airperf_workload::Request) -> Template {
        let paths = &self.plan.target.paths;
        let path = paths[wanted.page as usize % paths.len()].replace(SIZE, &wanted.object_bytes.to_string());
        let uploads = wanted.upload_bytes > 0 && self.plan.target.method == "GET";
        let method = if uploads { "POST" } else { &self.plan.target.method };
        compose(&self.plan, &path, method, wanted.upload_bytes)
    }
}

fn compose(plan: &Plan, path: &str, method: &str, body_bytes: u64) -> Template {
    let version = match plan.http_version {
        HttpVersion::Http11 => "1.1",
        HttpVersion::Http10 => "1.0",
    };
    let told = |name: &str| plan.request_headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
    let mut head = format!("{method} {path} HTTP/{version}\r\n");
    let mut field = |name: &str, value: &str| {
        for part in [name, ": ", value, "\r\n"] {
            head.push_str(part);
        }
    };
    if !told("User-Agent") {
        field("User-Agent", concat!("airperf/", env!("CARGO_PKG_VERSION")));
    }
    if let Some(host) = plan.target.host.as_ref().filter(|_| !told("Host")) {
        field("Host", host);
    }
    let lasts = plan.requests_per_connection > 1 || plan.has_sessions();
    if plan.http_version == HttpVersion::Http10 && lasts && !told("Connection") {
        field("Connection", "keep-alive");
    }
    // RFC 9110 §8.6: a method that anticipates content says so even when there is none.
    if body_bytes > 0 || matches!(method, "POST" | "PUT" | "PATCH") {
        field("Content-Length", &body_bytes.to_string());
    }
    for (name, value) in &plan.request_headers {
        field(name, value);
    }
    head.push_str("\r\n");
    let wanted = plan.target.request_bytes.unwrap_or(0) as usize;
    let query = if path.contains('?') { "x" } else { "?" };
    let missing = wanted.saturating_sub(head.len());
    let fill: String = query.chars().chain(std::iter::repeat('x')).take(missing).collect();
    head.insert_str(method.len() + 1 + path.len(), &fill);
    Template { head: head.into_bytes().into(), body_bytes, is_head: method == "HEAD" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(more: &str) -> Plan {
        let text = format!(
            r#"{{"schema":1,"target":{{"address":"127.0.0.1","port":8080,"host":"10.77.0.1","paths":["/a","/b"]}},
            "connections":1{more}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn text(template: &Template) -> &str {
        std::str::from_utf8(&template.head).unwrap()
    }

    #[test]
    fn a_plain_request_is_as_long_as_httperfs() {
        let requests = Requests::of(&plan(""));
        let expected = "GET /a HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nHost: 10.77.0.1\r\n\r\n";
        assert_eq!(text(requests.get(0)).len(), expected.len());
    }

    #[test]
    fn fields_of_the_plan_replace_ours() {
        let more = r#","request_headers":[["host","x"],["User-Agent","y"],["Z","z"]],"body_bytes":7,"http_version":"1.0",
            "requests_per_connection":2"#;
        let requests = Requests::of(&plan(more));
        let expected = "GET /b HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 7\r\nhost: x\r\nUser-Agent: y\r\nZ: z\r\n\r\n";
        assert_eq!(text(requests.get(1)), expected);
        assert_eq!(requests.get(1).bytes(), expected.len() as u64 + 7);
    }

    #[test]
    fn paths_are_taken_in_turn_or_by_weight() {
        let mut requests = Requests::of(&plan(""));
        assert_eq!([requests.next(), requests.next(), requests.next()], [0, 1, 0]);
        let mut weighted = plan("");
        weighted.target.weights = Some(vec![1, 3]);
        let mut requests = Requests::of(&weighted);
        let second = (0..10_000).filter(|_| requests.next() == 1).count();
        assert!((7_300..7_700).contains(&second), "{second}"); // 5 standard deviations
    }

    #[test]
    fn a_burst_is_one_request_then_the_others_and_thinking_follows_it() {
        let more = r#","sessions":[[{"requests":[{"think_ns":5},{},{"path":"/c"}]},{"requests":[{"method":"HEAD"}]}]]"#;
        let requests = Requests::of(&plan(more));
        let step = |template, after_all, think_ns| Step { template, after_all, think_ns };
        assert_eq!(
            requests.steps(0),
            [step(None, true, 0), step(None, true, 0), step(Some(2), false, 0), step(Some(3), true, 5)]
        );
        assert!(requests.get(3).is_head);
        assert_eq!((requests.session(7), requests.mean_steps()), (Some(0), Some(4.0)));
    }
}

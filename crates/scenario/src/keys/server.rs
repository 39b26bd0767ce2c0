//! Keys of `[server]`: the one Web server and its station.
//!
//! Processor times default to zero because they belong to a machine, not to a program. Left out:
//! several servers.

use crate::setting::{Form, Key, MS, S, Setting, count, size, time};
use airperf_http::{AdmissionConfig, Policy, Refusal, ServerConfig};
use airperf_units::Duration;

/// What `[server]` says about the program; its station is a [`super::client::Station`].
pub(crate) struct Server {
    profile: &'static str,
    pub(crate) config: ServerConfig,
    pub(crate) admission: AdmissionPart,
}

/// What the keys of admission control say; [`Server::finish`] puts them together.
#[derive(Clone, Copy)]
pub(crate) struct AdmissionPart {
    policy: &'static str,
    limit: u32,
    target: Duration,
    wait: Duration,
    refusal: Refusal,
}

impl Default for AdmissionPart {
    /// Off. Eight transfers fill any link of today's scenarios and leave each an eighth of it; a second is what users
    /// wait without losing their thought (Nielsen 1993, §5.5); both are ours.
    fn default() -> Self {
        let second = Duration::from_secs(1);
        Self { policy: "none", limit: 8, target: second, wait: second, refusal: Refusal::Unavailable }
    }
}

impl Server {
    /// The profile called `name`, unchanged.
    fn of(name: &str) -> Option<Self> {
        let profile = ServerConfig::PROFILES.into_iter().find(|profile| *profile == name)?;
        Some(Self { profile, config: ServerConfig::profile(name)?, ..Self::default() })
    }

    /// The program with its admission control.
    pub(crate) fn finish(&self) -> ServerConfig {
        let AdmissionPart { policy, limit, target, wait, refusal } = self.admission;
        let policy = match policy {
            "concurrent" => Some(Policy::Concurrent { limit }),
            "adaptive" => Some(Policy::Adaptive { target }),
            _ => None,
        };
        let admission = policy.map(|policy| AdmissionConfig { policy, wait, refusal });
        ServerConfig { admission, ..self.config.clone() }
    }
}

impl Default for Server {
    fn default() -> Self {
        Self {
            profile: "apache-1.3",
            config: ServerConfig::apache_1_3(),
            admission: AdmissionPart::default(),
        }
    }
}

/// Keys of `[server]`; `profile` comes first because it sets all others.
pub(crate) static SERVER: [Key<Server>; 18] = [
    Key::new(
        "profile",
        Form::Word,
        "The program; every key below defaults to the profile's value.",
        |server: &Server| Setting::Word(server.profile),
        |server, s| *server = s.word().and_then(Server::of).unwrap_or_default(),
    )
    .words(&ServerConfig::PROFILES),
    Key::new(
        "max_clients",
        count(1, 1_000_000),
        "Processes of the pool; each is held by one connection from accept to close.",
        |server| Setting::of_count(server.config.max_clients),
        |server, s| server.config.max_clients = s.count(),
    ),
    Key::new(
        "backlog",
        count(0, 1_000_000),
        "Connections the kernel holds for accept; with more waiting, handshakes are not completed.",
        |server| Setting::of_count(server.config.backlog),
        |server, s| server.config.backlog = s.count(),
    ),
    Key::new(
        "syn_queue",
        count(1, 1_000_000),
        "Half-open connections the kernel remembers; SYNs beyond are ignored.",
        |server| Setting::of_count(server.config.syn_queue),
        |server, s| server.config.syn_queue = s.count(),
    ),
    Key::new(
        "reply_header",
        size(60, 1 << 20),
        "Status line and header before the body of a reply.",
        |server| Setting::of_count(server.config.reply_header_bytes),
        |server, s| server.config.reply_header_bytes = s.count(),
    ),
    Key::new(
        "cpu_per_connection_before",
        time(0, 10 * S),
        "Processor time of a connection before its first reply.",
        |server| Setting::of_time(server.config.cpu_per_connection_before),
        |server, s| server.config.cpu_per_connection_before = s.time(),
    ),
    Key::new(
        "cpu_per_connection_after",
        time(0, 10 * S),
        "Processor time of a connection after its first reply, before the process looks at the next request.",
        |server| Setting::of_time(server.config.cpu_per_connection_after),
        |server, s| server.config.cpu_per_connection_after = s.time(),
    ),
    Key::new(
        "cpu_per_request",
        time(0, 10 * S),
        "Processor time before each reply.",
        |server| Setting::of_time(server.config.cpu_per_request),
        |server, s| server.config.cpu_per_request = s.time(),
    ),
    Key::new(
        "interrupt_cpu_per_frame",
        time(0, S),
        "Processor time of the interrupt of each frame sent or received; preempts the processes.",
        |server| Setting::of_time(server.config.interrupt_cpu_per_frame),
        |server, s| server.config.interrupt_cpu_per_frame = s.time(),
    ),
    Key::new(
        "interrupt_cpu_per_byte",
        time(0, MS),
        "The same per octet of the packet.",
        |server| Setting::of_time(server.config.interrupt_cpu_per_byte),
        |server, s| server.config.interrupt_cpu_per_byte = s.time(),
    ),
    Key::new(
        "request_timeout",
        time(MS, 86_400 * S),
        "How long a process waits for a connection's first request.",
        |server| Setting::of_time(server.config.request_timeout),
        |server, s| server.config.request_timeout = s.time(),
    ),
    Key::new(
        "keep_alive_timeout",
        time(MS, 86_400 * S),
        "How long a process waits for each further request.",
        |server| Setting::of_time(server.config.keep_alive_timeout),
        |server, s| server.config.keep_alive_timeout = s.time(),
    ),
    Key::new(
        "max_requests_per_connection",
        count(1, 1_000_000),
        "Requests after which the server closes the connection.",
        |server: &Server| {
            server.config.max_requests_per_connection.map_or(Setting::Word("unlimited"), Setting::of_count)
        },
        |server, s| server.config.max_requests_per_connection = s.optional(Setting::count),
    )
    .words(&["unlimited"]),
    Key::new(
        "admission",
        Form::Word,
        "Admission control: none; at most `admission_limit` transfers at once; as many as keep nine of ten within `admission_target`.",
        |server: &Server| Setting::Word(server.admission.policy),
        |server, s| server.admission.policy = s.word().unwrap_or_default(),
    )
    .words(&["none", "concurrent", "adaptive"]),
    Key::new(
        "admission_limit",
        count(1, 1_000_000),
        "Transfers at once with `concurrent` admission.",
        |server| Setting::of_count(server.admission.limit),
        |server, s| server.admission.limit = s.count(),
    ),
    Key::new(
        "admission_target",
        time(MS, 3600 * S),
        "Time that nine of ten transfers may take with `adaptive` admission, from admission to the last octet acknowledged.",
        |server| Setting::of_time(server.admission.target),
        |server, s| server.admission.target = s.time(),
    ),
    Key::new(
        "admission_wait",
        time(0, 3600 * S),
        "Longest wait of a request for its admission; one that would wait longer is refused at once.",
        |server| Setting::of_time(server.admission.wait),
        |server, s| server.admission.wait = s.time(),
    ),
    Key::new(
        "admission_refusal",
        Form::Word,
        "What a refused request gets: a short `503 Service Unavailable` and a close, or a reset.",
        |server: &Server| {
            Setting::Word(match server.admission.refusal {
                Refusal::Unavailable => "503",
                Refusal::Reset => "reset",
            })
        },
        |server, s| {
            server.admission.refusal =
                if s.word() == Some("reset") { Refusal::Reset } else { Refusal::Unavailable };
        },
    )
    .words(&["503", "reset"]),
];

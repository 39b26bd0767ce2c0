//! What can be chosen about a Web client and a Web server.
//!
//! The client behaves as httperf 0.8/0.9, the server as Apache 1.3 with its prefork process pool.
//! Processing times default to zero: what was fitted to a study belongs in that study's files.
//!
//! Left out: TLS, chunked replies, and keep-alive refused by the server.

use crate::admission::{AdmissionConfig, Policy};
use airperf_units::{ConfigError, Duration};

/// What restarts a client's timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeoutRule {
    /// Nothing within a phase (httperf's `--timeout`).
    #[default]
    Phase,
    /// Every octet that gets through.
    Progress,
}

/// Configuration of a client's connections.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientConfig {
    /// Octets of a request without its body.
    pub request_bytes: u32,
    /// Longest wait of the user in each phase: for the connection, for the request's body to get through, for the first
    /// octet of a reply, and from there to its last; `None` waits for ever.
    pub timeout: Option<Duration>,
    /// What restarts that timer.
    pub timeout_rule: TimeoutRule,
    /// Whether a connection that is given up is reset; else it is closed, and data that still come draw a RST.
    pub abort_resets: bool,
}

impl Default for ClientConfig {
    /// Requests of 74 octets (`GET /1k.html` as httperf writes it), no timeout.
    fn default() -> Self {
        Self { request_bytes: 74, timeout: None, timeout_rule: TimeoutRule::Phase, abort_resets: false }
    }
}

/// Configuration of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerConfig {
    /// Processes, each held by one connection from accept to close.
    pub max_clients: u32,
    /// Connections the kernel holds for accept: with more than this waiting, handshakes are not completed.
    pub backlog: u32,
    /// Half-open connections the kernel remembers: SYNs beyond are ignored.
    pub syn_queue: u32,
    /// Octets of status line and header before the body of a reply.
    pub reply_header_bytes: u32,
    /// Processor time of a connection before its first reply.
    pub cpu_per_connection_before: Duration,
    /// Processor time of a connection after its first reply, before the process looks at the next request.
    pub cpu_per_connection_after: Duration,
    /// Processor time before each reply.
    pub cpu_per_request: Duration,
    /// Processor time of the interrupt of each frame sent or received; preempts the processes.
    pub interrupt_cpu_per_frame: Duration,
    /// The same per octet of the packet.
    pub interrupt_cpu_per_byte: Duration,
    /// How long a process waits for a connection's first request.
    pub request_timeout: Duration,
    /// How long a process waits for each further request.
    pub keep_alive_timeout: Duration,
    /// Requests after which the server closes; `None` never.
    pub max_requests_per_connection: Option<u32>,
    /// Admission control; `None` serves whoever gets a process.
    pub admission: Option<AdmissionConfig>,
}

impl ServerConfig {
    /// Names of the profiles, for messages.
    pub const PROFILES: [&'static str; 1] = ["apache-1.3"];

    /// The profile called `name`, one of [`Self::PROFILES`].
    pub fn profile(name: &str) -> Option<Self> {
        match name {
            "apache-1.3" => Some(Self::apache_1_3()),
            _ => None,
        }
    }

    /// Apache 1.3 prefork on Linux 2.4, with a processor that costs nothing.
    pub const fn apache_1_3() -> Self {
        Self {
            max_clients: 150, // httpd.conf-dist, MaxClients
            backlog: 128,     // ListenBacklog 511, cut to SOMAXCONN
            syn_queue: 256,   // tcp_max_syn_backlog of a host with up to 128 MB
            // Date, Server, Last-Modified, ETag, Accept-Ranges, Content-Length, Keep-Alive, Content-Type: 250 to 260.
            reply_header_bytes: 259,
            cpu_per_connection_before: Duration::ZERO,
            cpu_per_connection_after: Duration::ZERO,
            cpu_per_request: Duration::ZERO,
            interrupt_cpu_per_frame: Duration::ZERO,
            interrupt_cpu_per_byte: Duration::ZERO,
            request_timeout: Duration::from_secs(300), // httpd.conf-dist, Timeout
            keep_alive_timeout: Duration::from_secs(15), // httpd.conf-dist, KeepAliveTimeout
            max_requests_per_connection: Some(100),    // httpd.conf-dist, MaxKeepAliveRequests
            admission: None,
        }
    }

    /// Finds what no server could be.
    ///
    /// # Errors
    /// The first impossible value, named.
    pub fn check(&self) -> Result<(), ConfigError> {
        let rules = [
            (self.max_clients >= 1, "max_clients must be at least 1 process"),
            (self.syn_queue >= 1, "syn_queue must hold at least 1 connection"),
            (
                self.reply_header_bytes >= 60,
                "reply_header must be at least 60B: status line and Content-Length",
            ),
            (self.max_requests_per_connection != Some(0), "max_requests_per_connection must be at least 1"),
            (
                self.admission.is_none_or(|a| a.policy != Policy::Concurrent { limit: 0 }),
                "admission_limit must be at least 1 transfer",
            ),
        ];
        ConfigError::check("HTTP", &rules)
    }
}

impl ClientConfig {
    /// Finds what no client could be.
    ///
    /// # Errors
    /// The first impossible value, named.
    pub fn check(&self) -> Result<(), ConfigError> {
        let rules = [
            (
                self.request_bytes >= 40,
                "request_size must be at least 40B: request line, Host and blank line",
            ),
            (self.timeout != Some(Duration::ZERO), "timeout must be positive"),
        ];
        ConfigError::check("HTTP", &rules)
    }
}

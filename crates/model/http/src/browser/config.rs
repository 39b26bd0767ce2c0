//! What can be chosen about a browser, and about a proxy that helps it.
//!
//! Left out: browsers' own caches between pages (see [`Proxy::cache`] for what a proxy keeps), and QUIC.

use airperf_units::{ConfigError, Duration};

/// Which HTTP is spoken, where the host's side allows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.0: a connection for every exchange (RFC 1945 §1.3).
    Http10,
    /// HTTP/1.1 with persistent connections (RFC 9112 §9.3).
    #[default]
    Http11,
    /// HTTP/2 over one connection to every host with TLS, HTTP/1.1 to others, as browsers do (RFC 9113 §3.2).
    Http2,
}

/// Whose addresses are looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LookUps {
    /// Every server's.
    #[default]
    Each,
    /// The first one's; it told the others.
    First,
    /// Nobody's.
    None,
}

/// A browser.
#[derive(Clone, Debug, PartialEq)]
pub struct BrowserConfig {
    /// Which HTTP.
    pub protocol: Protocol,
    /// Connections to one server at once.
    pub connections: u32,
    /// Connections in all at once.
    pub connections_in_all: u32,
    /// Replies that a connection of HTTP/1.1 may wait for at once; 1 is no pipelining.
    pub pipeline: u32,
    /// Octets of a request.
    pub request_bytes: u32,
    /// Octets of a reply's header.
    pub reply_header_bytes: u32,
    /// Whose addresses are looked up.
    pub look_ups: LookUps,
    /// A look-up without an answer is repeated after this.
    pub look_up_timeout: Duration,
    /// Whether everything is asked of the page's own host, which has it all.
    pub one_server: bool,
    /// From the octets that name an object until it is asked for.
    pub parse_delay: Duration,
    /// When the user leaves a page that is not complete.
    pub patience: Duration,
    /// A proxy near the servers, if there is one.
    pub proxy: Option<Proxy>,
}

/// A proxy beyond the slow link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proxy {
    /// How browsers come to it.
    pub way: Way,
    /// Connections between the halves.
    pub connections: u32,
    /// Whether bodies are compressed.
    pub compress: bool,
    /// Octets of a request and of a reply's header between the halves.
    pub header_bytes: (u32, u32),
    /// What the half beside the browser has of an earlier visit.
    pub cache: Cache,
    /// Whether embedded objects are sent before they are asked for.
    pub push: bool,
}

/// How browsers come to a proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// They do not know of it: it answers in the place of every server that is not spoken to over TLS.
    Transparent,
    /// They ask it for everything.
    #[default]
    Explicit,
    /// It has a second half beside the browser, and connections between the two that stay open.
    Dual,
}

/// What is kept between visits by the half beside the browser.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Cache {
    /// Nothing.
    #[default]
    None,
    /// Bodies by their hash: those that have not changed are not sent again.
    Hash {
        /// Share of objects that have changed.
        changed: f64,
    },
    /// Those too, and of changed ones the difference.
    Delta {
        /// Share of objects that have changed.
        changed: f64,
        /// Octets of a difference as a share of the body.
        size: f64,
    },
}

/// Octets of a TLS handshake at the record layer: the client's first flight, the server's with a chain of two certificates, the
/// client's second (RFC 8446 §2, figure 1; lengths as Chromium and a usual ECDSA chain have them, ours).
pub(super) const TLS_HELLO_BYTES: u32 = 517;
pub(super) const TLS_SERVER_BYTES: u32 = 3_000;
pub(super) const TLS_FINISHED_BYTES: u32 = 80;
/// Header of a frame (RFC 9113 §4.1), of a proxy's framed link too.
pub(super) const FRAME_HEADER_BYTES: u32 = 9;
/// Most octets in a frame (RFC 9113 §4.2, SETTINGS_MAX_FRAME_SIZE's first value).
pub(super) const FRAME_BYTES: u32 = 16_384;
/// A sender of frames writes on while its TCP has less than this to send (`TCP_NOTSENT_LOWAT` as servers set it).
pub(super) const UNSENT_BYTES: u32 = 16_384;
/// After how many look-ups without an answer, or failures of its connections, an object is given up.
pub(super) const TRIES: u8 = 5;

impl Default for BrowserConfig {
    /// A browser of today: six connections to a server, requests of 400 octets, no pipelining.
    fn default() -> Self {
        Self {
            protocol: Protocol::Http11,
            connections: 6,
            connections_in_all: 256,
            pipeline: 1,
            request_bytes: 400,
            reply_header_bytes: 259,
            look_ups: LookUps::Each,
            look_up_timeout: Duration::from_secs(5),
            one_server: false,
            parse_delay: Duration::ZERO,
            patience: Duration::from_secs(600),
            proxy: None,
        }
    }
}

impl Default for Proxy {
    /// One proxy that does nothing but stand there.
    fn default() -> Self {
        Self {
            way: Way::Explicit,
            connections: 1,
            compress: false,
            header_bytes: (60, 40),
            cache: Cache::None,
            push: false,
        }
    }
}

impl BrowserConfig {
    /// Finds what no browser could be.
    ///
    /// # Errors
    /// The first impossible value, named.
    pub fn check(&self) -> Result<(), ConfigError> {
        let share = |p: f64| (0.0..=1.0).contains(&p);
        let cache = self.proxy.map_or(Cache::None, |proxy| proxy.cache);
        let sound = match cache {
            Cache::None => true,
            Cache::Hash { changed } => share(changed),
            Cache::Delta { changed, size } => share(changed) && share(size),
        };
        let single = self.proxy.is_some_and(|proxy| proxy.way != Way::Dual);
        let rules = [
            (self.connections >= 1, "a browser has a connection"),
            (self.connections_in_all >= 1, "a browser has a connection"),
            (self.pipeline >= 1, "a connection waits for one reply at least"),
            (self.request_bytes >= 1 && self.reply_header_bytes >= 1, "requests and replies have octets"),
            (self.look_up_timeout > Duration::ZERO, "a look-up is not repeated at once"),
            (self.patience > Duration::ZERO, "a user waits for a while"),
            (self.proxy.is_none_or(|p| p.connections >= 1), "the halves of a proxy have a connection"),
            (
                self.proxy.is_none_or(|p| p.header_bytes.0 >= 1 && p.header_bytes.1 >= 1),
                "requests and replies have octets",
            ),
            (sound, "shares lie in 0..1"),
            (
                !(single && cache != Cache::None),
                "only a proxy with a half beside the browser keeps bodies there",
            ),
            (!(single && self.proxy.is_some_and(|p| p.push)), "only a proxy of two halves pushes"),
        ];
        ConfigError::check("browser", &rules)
    }

    /// The probability that an object is not as it was at the visit before.
    pub fn changed_share(&self) -> f64 {
        match self.proxy.map_or(Cache::None, |proxy| proxy.cache) {
            Cache::None => 1.0,
            Cache::Hash { changed } | Cache::Delta { changed, .. } => changed,
        }
    }

    /// Whether requests to a host share connections with frames.
    pub(super) fn frames(&self, tls: bool) -> bool {
        self.is_dual() || (!self.knows_proxy() && self.protocol == Protocol::Http2 && tls)
    }

    /// Whether a proxy that the browser knows of is asked in place of all servers.
    pub(super) fn knows_proxy(&self) -> bool {
        self.proxy.is_some_and(|proxy| proxy.way != Way::Transparent)
    }

    pub(super) fn is_dual(&self) -> bool {
        self.proxy.is_some_and(|proxy| proxy.way == Way::Dual)
    }
}

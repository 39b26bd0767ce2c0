//! Keys of `[[browser]]`: a station whose user loads a page, again and again.
//!
//! Left out: pages themselves, which are files of their own (see [`crate::page`]).

use crate::page::PageFile;
use crate::setting::{Form, Key, MS, S, Setting, count, size, time};
use airperf_http::browser::{BrowserConfig, Cache, LookUps, Protocol, Proxy, Way};
use airperf_units::Duration;

/// The longest path to a page.
const PATH_MAX: usize = 500;
/// Headers longer than this are no headers.
const HEADER_MAX: i128 = 64 << 10;

/// What `[[browser]]` says.
#[derive(Clone)]
pub(crate) struct Browser {
    pub(crate) page: String,
    pub(crate) sha256: String,
    /// What the page's file holds, once it was read.
    pub(crate) read: Option<(PageFile, String)>,
    pub(crate) start: Duration,
    pub(crate) loads: u32,
    pub(crate) pause: Duration,
    pub(crate) config: BrowserConfig,
    pub(crate) proxy: &'static str,
    pub(crate) settings: Proxy,
    /// Whether the halves speak reliable UDP, and whether that sends repair datagrams.
    pub(crate) udp: bool,
    pub(crate) udp_fec: bool,
    cache: &'static str,
    changed: f64,
    delta: f64,
}

impl Default for Browser {
    /// A fifth of a page changes from one visit to the next, and of what changes a tenth: ours, to be set.
    fn default() -> Self {
        Self {
            page: String::new(),
            sha256: String::new(),
            read: None,
            start: Duration::ZERO,
            loads: 1,
            pause: Duration::from_secs(10),
            config: BrowserConfig::default(),
            proxy: "none",
            settings: Proxy::default(),
            udp: false,
            udp_fec: false,
            cache: "none",
            changed: 0.2,
            delta: 0.1,
        }
    }
}

impl Browser {
    /// The browser with its proxy, for a server whose replies have headers of so many octets.
    pub(crate) fn finish(&self, reply_header_bytes: u32) -> BrowserConfig {
        let (changed, size) = (self.changed, self.delta);
        let cache = match self.cache {
            "hash" => Cache::Hash { changed },
            "delta" => Cache::Delta { changed, size },
            _ => Cache::None,
        };
        let way = match self.proxy {
            "transparent" => Way::Transparent,
            "dual" => Way::Dual,
            _ => Way::Explicit,
        };
        let proxy = Proxy { way, cache, ..self.settings };
        BrowserConfig {
            reply_header_bytes: reply_header_bytes.max(1),
            proxy: (self.proxy != "none").then_some(proxy),
            ..self.config.clone()
        }
    }

    /// Keys that ask for more than the proxy there is.
    pub(crate) fn asks_too_much(&self) -> Option<(&'static str, &'static str)> {
        let of_two =
            [("cache", self.cache != "none"), ("push", self.settings.push), ("proxy_transport", self.udp)];
        let of_any = [("compress", self.settings.compress)];
        let two = of_two.into_iter().find(|(_, wanted)| *wanted && self.proxy != "dual");
        let any = of_any.into_iter().find(|(_, wanted)| *wanted && self.proxy == "none");
        two.map(|(key, _)| (key, "needs proxy = \"dual\"")).or(any.map(|(key, _)| (key, "needs a proxy")))
    }
}

/// Keys of `[[browser]]`.
pub(crate) static BROWSER: [Key<Browser>; 25] = [
    Key::new(
        "page",
        Form::Text(PATH_MAX),
        "File of the page, seen from the scenario's folder; see [pages](site.md).",
        |browser: &Browser| Setting::Text(browser.page.clone()),
        |browser, s| browser.page = s.text(),
    )
    .required(),
    Key::new(
        "sha256",
        Form::Text(64),
        "SHA-256 of the page's file; filled in when it is read, and compared when it is given.",
        |browser: &Browser| Setting::Text(browser.sha256.clone()),
        |browser, s| browser.sha256 = s.text(),
    ),
    Key::new(
        "start",
        time(0, 86_400 * S),
        "When the first load begins.",
        |browser| Setting::of_time(browser.start),
        |browser, s| browser.start = s.time(),
    ),
    Key::new(
        "loads",
        count(1, 100_000),
        "How often the page is loaded, each time with nothing kept; none begins after the run's duration.",
        |browser| Setting::of_count(browser.loads),
        |browser, s| browser.loads = s.count(),
    ),
    Key::new(
        "pause",
        time(0, 86_400 * S),
        "From the end of a load to the beginning of the next.",
        |browser| Setting::of_time(browser.pause),
        |browser, s| browser.pause = s.time(),
    ),
    Key::new(
        "http",
        Form::Word,
        "Which HTTP is spoken; HTTP/2 to hosts with TLS only, as browsers do.",
        |browser: &Browser| {
            Setting::Word(match browser.config.protocol {
                Protocol::Http10 => "HTTP/1.0",
                Protocol::Http11 => "HTTP/1.1",
                Protocol::Http2 => "HTTP/2",
            })
        },
        |browser, s| {
            browser.config.protocol = match s.word() {
                Some("HTTP/1.0") => Protocol::Http10,
                Some("HTTP/2") => Protocol::Http2,
                _ => Protocol::Http11,
            }
        },
    )
    .words(&["HTTP/1.0", "HTTP/1.1", "HTTP/2"]),
    Key::new(
        "connections",
        count(1, 1_000),
        "Connections to one server at once.",
        |browser| Setting::of_count(browser.config.connections),
        |browser, s| browser.config.connections = s.count(),
    ),
    Key::new(
        "connections_in_all",
        count(1, 10_000),
        "Connections at once, to all servers.",
        |browser| Setting::of_count(browser.config.connections_in_all),
        |browser, s| browser.config.connections_in_all = s.count(),
    ),
    Key::new(
        "pipeline",
        count(1, 1_000),
        "Replies that a connection of HTTP/1.1 may wait for at once; 1 is no pipelining.",
        |browser| Setting::of_count(browser.config.pipeline),
        |browser, s| browser.config.pipeline = s.count(),
    ),
    Key::new(
        "request_size",
        size(16, HEADER_MAX),
        "Octets of a request.",
        |browser| Setting::of_count(browser.config.request_bytes),
        |browser, s| browser.config.request_bytes = s.count(),
    ),
    Key::new(
        "look_ups",
        Form::Word,
        "Whose addresses are asked for: of `each` server, of the `first` only (it told the others'), or `none`.",
        |browser: &Browser| {
            Setting::Word(match browser.config.look_ups {
                LookUps::Each => "each",
                LookUps::First => "first",
                LookUps::None => "none",
            })
        },
        |browser, s| {
            browser.config.look_ups = match s.word() {
                Some("first") => LookUps::First,
                Some("none") => LookUps::None,
                _ => LookUps::Each,
            }
        },
    )
    .words(&["each", "first", "none"]),
    Key::new(
        "one_server",
        Form::Flag,
        "Whether every object is asked of the page's own host.",
        |browser| Setting::Flag(browser.config.one_server),
        |browser, s| browser.config.one_server = s.flag(),
    ),
    Key::new(
        "parse_delay",
        time(0, 60 * S),
        "From the octets that name an object until it is asked for.",
        |browser| Setting::of_time(browser.config.parse_delay),
        |browser, s| browser.config.parse_delay = s.time(),
    ),
    Key::new(
        "patience",
        time(MS, 86_400 * S),
        "When the user leaves a page that is not complete.",
        |browser| Setting::of_time(browser.config.patience),
        |browser, s| browser.config.patience = s.time(),
    ),
    Key::new(
        "proxy",
        Form::Word,
        "A proxy on the far side of the link: `transparent`, unknown to the browser, in the place of every server without TLS; `explicit`, named to the browser, which asks it for everything; or `dual`, with a second half beside the browser and connections between the two that stay open.",
        |browser: &Browser| Setting::Word(browser.proxy),
        |browser, s| browser.proxy = s.word().unwrap_or("none"),
    )
    .words(&["none", "transparent", "explicit", "dual"]),
    Key::new(
        "proxy_connections",
        count(1, 100),
        "Connections between the halves of a dual proxy.",
        |browser| Setting::of_count(browser.settings.connections),
        |browser, s| browser.settings.connections = s.count(),
    ),
    Key::new(
        "proxy_transport",
        Form::Word,
        "What the halves speak: connections of TCP, or reliable datagrams at the link's rate ([model](../models/rudp.md)), which need a link of stated rates.",
        |browser: &Browser| Setting::Word(if browser.udp { "udp" } else { "tcp" }),
        |browser, s| browser.udp = s.word() == Some("udp"),
    )
    .words(&["tcp", "udp"]),
    Key::new(
        "proxy_fec",
        Form::Word,
        "Whether repair datagrams follow groups of datagrams, as many as the loss asks for.",
        |browser: &Browser| Setting::Word(if browser.udp_fec { "adaptive" } else { "none" }),
        |browser, s| browser.udp_fec = s.word() == Some("adaptive"),
    )
    .words(&["none", "adaptive"]),
    Key::new(
        "proxy_request_size",
        size(1, HEADER_MAX),
        "Octets of a request between the halves.",
        |browser| Setting::of_count(browser.settings.header_bytes.0),
        |browser, s| browser.settings.header_bytes.0 = s.count(),
    ),
    Key::new(
        "proxy_reply_header",
        size(1, HEADER_MAX),
        "Octets of a reply's header between the halves.",
        |browser| Setting::of_count(browser.settings.header_bytes.1),
        |browser, s| browser.settings.header_bytes.1 = s.count(),
    ),
    Key::new(
        "compress",
        Form::Flag,
        "Whether the proxy compresses bodies.",
        |browser| Setting::Flag(browser.settings.compress),
        |browser, s| browser.settings.compress = s.flag(),
    ),
    Key::new(
        "cache",
        Form::Word,
        "What the half beside the browser keeps of the visit before: nothing, bodies by their `hash`, or also the old body against which a `delta` is sent.",
        |browser: &Browser| Setting::Word(browser.cache),
        |browser, s| browser.cache = s.word().unwrap_or("none"),
    )
    .words(&["none", "hash", "delta"]),
    Key::new(
        "changed",
        Form::Share(0.0, 1.0),
        "Probability that an object has changed since the visit before.",
        |browser| Setting::Share(browser.changed),
        |browser, s| browser.changed = s.share(),
    ),
    Key::new(
        "delta",
        Form::Share(0.0, 1.0),
        "Octets of a difference, as a share of the body.",
        |browser| Setting::Share(browser.delta),
        |browser, s| browser.delta = s.share(),
    ),
    Key::new(
        "push",
        Form::Flag,
        "Whether the proxy parses pages and sends what they embed before it is asked for.",
        |browser| Setting::Flag(browser.settings.push),
        |browser, s| browser.settings.push = s.flag(),
    ),
];

//! Keys of `[[client]]`: a client station, or several alike, and what its user wants.
//!
//! Also the keys that every station has, the server's too. Left out: what lies between keys; [`crate::build`] puts the
//! arrival process and the session together.

use super::link::DOT11B_RATE;
use crate::quantity::Dimension;
use crate::setting::{Form, Key, MS, S, Setting, count, counts, size, sizes, time, times};
use airperf_http::{ClientConfig, TimeoutRule};
use airperf_units::{Duration, Rate};
use airperf_workload::{Config, Distribution, PerSecond, Start};

/// What `[server]` and `[[client]]` say about their station.
#[derive(Clone, Default)]
pub(crate) struct Station {
    /// Its name; made from its role when it is not given.
    pub(crate) name: Option<String>,
    pub(crate) tick_phase: Option<Duration>,
    /// Its radio.
    pub(crate) host_gap: Duration,
    pub(crate) host_gap_spread: f64,
    /// What differs from `[link]`.
    pub(crate) rate: Option<Rate>,
    pub(crate) queue_packets: Option<u32>,
    pub(crate) frame_error: Option<f64>,
    /// A time of worse channel.
    pub(crate) fade_error: f64,
    pub(crate) fade_start: Duration,
    pub(crate) fade_end: Option<Duration>,
}

/// The key of every station.
pub(crate) static STATION: [Key<Station>; 3] = [
    Key::new(
        "station",
        Form::Name(32),
        "Name of the station.",
        |station| Setting::Text(station.name.clone().unwrap_or_default()),
        |station, s| station.name = Some(s.text()),
    ),
    Key::new(
        "queue",
        count(1, 1_000_000),
        "Packets in this station's transmit queue.",
        |station: &Station| station.queue_packets.map_or(Setting::Word("link"), Setting::of_count),
        |station, s| station.queue_packets = s.optional(Setting::count),
    )
    .words(&["link"]),
    Key::new(
        "tick_phase",
        time(0, S),
        "Where its clock ticks after the run's start (`tcp.jiffy`), a server's scans of the SYN queue (`tcp.synack_scan`) too; random: its ticks are anywhere within a tick, and scans fall on ticks.",
        |station: &Station| station.tick_phase.map_or(Setting::Word("random"), Setting::of_time),
        |station, s| station.tick_phase = s.optional(Setting::time),
    )
    .words(&["random"]),
];

/// Keys of a station on an 802.11 link.
pub(crate) static RADIO: [Key<Station>; 7] = [
    Key::new(
        "host_gap",
        time(0, S),
        "Pause after its own transmission during which it does not count down (driver, port I/O, firmware).",
        |station| Setting::of_time(station.host_gap),
        |station, s| station.host_gap = s.time(),
    ),
    Key::new(
        "host_gap_spread",
        Form::Share(0.0, 1.0),
        "Half-width of the uniform spread of `host_gap`, as a share of it.",
        |station| Setting::Share(station.host_gap_spread),
        |station, s| station.host_gap_spread = s.share(),
    ),
    Key::new(
        "link_rate",
        DOT11B_RATE,
        "Rate of this station's data frames.",
        |station: &Station| station.rate.map_or(Setting::Word("link"), Setting::of_rate),
        |station, s| station.rate = s.optional(Setting::rate),
    )
    .words(&["link"]),
    Key::new(
        "frame_error",
        Form::Share(0.0, 1.0),
        "Probability that the channel garbles a data frame sent to this station, per attempt.",
        |station: &Station| station.frame_error.map_or(Setting::Word("link"), Setting::Share),
        |station, s| station.frame_error = s.optional(Setting::share),
    )
    .words(&["link"]),
    Key::new(
        "fade_error",
        Form::Share(0.0, 1.0),
        "Probability, beside the others, that a data frame to or from this station is garbled between `fade_start` and `fade_end`, per attempt.",
        |station| Setting::Share(station.fade_error),
        |station, s| station.fade_error = s.share(),
    ),
    Key::new(
        "fade_start",
        time(0, 86_400 * S),
        "When the station's channel becomes worse.",
        |station| Setting::of_time(station.fade_start),
        |station, s| station.fade_start = s.time(),
    ),
    Key::new(
        "fade_end",
        time(MS, 86_400 * S),
        "When it is as before.",
        |station: &Station| station.fade_end.map_or(Setting::Word("never"), Setting::of_time),
        |station, s| station.fade_end = s.optional(Setting::time),
    )
    .words(&["never"]),
];

/// What `[[client]]` says about its user.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) count: u32,
    pub(crate) http: ClientConfig,
    /// Its arrival process is put together from the four fields below when all keys are read.
    pub(crate) workload: Config,
    pub(crate) arrivals: &'static str,
    pub(crate) hurst: Option<f64>,
    pub(crate) on_time: Option<Duration>,
    pub(crate) off_time: Option<Duration>,
    /// `load` or `browse`.
    pub(crate) kind: &'static str,
    pub(crate) rate: Option<PerSecond>,
    pub(crate) pages: Pages,
}

/// How many pages a session has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Pages {
    /// As the other keys suggest.
    Auto,
    /// As many as there is time for.
    Endless,
    /// So many.
    Of(Distribution),
}

/// What `rate` may be.
pub(crate) const RATE: Form = Form::Amount(Dimension::Frequency, 1, 1_000_000_000_000);

impl Default for Client {
    fn default() -> Self {
        Self {
            count: 1,
            http: ClientConfig::default(),
            workload: Config::default(),
            arrivals: "deterministic",
            hurst: None,
            on_time: None,
            off_time: None,
            kind: "load",
            rate: None,
            pages: Pages::Auto,
        }
    }
}

/// Largest object or body.
const MAX_SIZE: i128 = Config::MAX_SIZE_BYTES as i128;

/// Keys of `[[client]]`.
pub(crate) static CLIENT: [Key<Client>; 24] = [
    Key::new(
        "count",
        count(1, 10_000),
        "Stations of this kind; with more than one, `-1`, `-2` … is appended to the name.",
        |client| Setting::of_count(client.count),
        |client, s| client.count = s.count(),
    ),
    Key::new(
        "start",
        time(0, 86_400 * S),
        "When the client begins; `random` draws it uniformly within one mean time between arrivals.",
        |client: &Client| match client.workload.start {
            Start::At(time) => Setting::of_time(time),
            Start::Random => Setting::Word("random"),
        },
        |client, s| client.workload.start = s.optional(Setting::time).map_or(Start::Random, Start::At),
    )
    .words(&["random"]),
    Key::new(
        "arrivals",
        Form::Word,
        "Arrival process: evenly spaced; independent with exponential gaps; the same at a rate that varies on all time scales (`hurst`); the same in bursts (`on_time`, `off_time`).",
        |client: &Client| Setting::Word(client.arrivals),
        |client, s| client.arrivals = s.word().unwrap_or_default(),
    )
    .words(&["deterministic", "poisson", "self-similar", "on-off"]),
    Key::new(
        "hurst",
        Form::Share(0.5, 0.99),
        "Hurst exponent of self-similar arrivals: 0.5 has no memory, 0.7 to 0.9 was measured of Web traffic.",
        |client: &Client| client.hurst.map_or(Setting::Word("none"), Setting::Share),
        |client, s| client.hurst = s.optional(Setting::share),
    )
    .words(&["none"]),
    Key::new(
        "on_time",
        time(MS, 86_400 * S),
        "Mean of the exponential times during which on-off arrivals come, at `rate` × (on + off) / on.",
        |client: &Client| client.on_time.map_or(Setting::Word("none"), Setting::of_time),
        |client, s| client.on_time = s.optional(Setting::time),
    )
    .words(&["none"]),
    Key::new(
        "off_time",
        time(MS, 86_400 * S),
        "Mean of the exponential times between those.",
        |client: &Client| client.off_time.map_or(Setting::Word("none"), Setting::of_time),
        |client, s| client.off_time = s.optional(Setting::time),
    )
    .words(&["none"]),
    Key::new(
        "rate",
        RATE,
        "Mean number of sessions (connections, when a session has one) begun per second, whatever became of the earlier ones; required with `kind = \"load\"`.",
        |client: &Client| {
            client.rate.map_or(Setting::Word("none"), |rate| Setting::of_count(rate.as_micro()))
        },
        |client, s| client.rate = s.optional(Setting::count).map(PerSecond::from_micro),
    )
    .words(&["none"]),
    Key::new(
        "requests_per_connection",
        count(1, 1_000_000),
        "Requests on each connection, after which the client closes it.",
        |client| Setting::of_count(client.workload.session.requests_per_connection),
        |client, s| client.workload.session.requests_per_connection = s.count(),
    ),
    Key::new(
        "size",
        sizes(0, MAX_SIZE),
        "Size of the objects fetched, without the reply header.",
        |client: &Client| Setting::of(&client.workload.size),
        |client, s| client.workload.size = s.distribution(),
    )
    .required(),
    Key::new(
        "request_size",
        size(40, 1 << 20),
        "Size of a request without its body.",
        |client| Setting::of_count(client.http.request_bytes),
        |client, s| client.http.request_bytes = s.count(),
    ),
    Key::new(
        "timeout",
        time(MS, 86_400 * S),
        "Longest wait in each phase (connection, body of the request, first octet of a reply, from there to its last) before the user aborts.",
        |client: &Client| client.http.timeout.map_or(Setting::Word("never"), Setting::of_time),
        |client, s| client.http.timeout = s.optional(Setting::time),
    )
    .words(&["never"]),
    Key::new(
        "timeout_rule",
        Form::Word,
        "What restarts the timer of `timeout`: nothing within a phase, as httperf's, or every octet that gets through.",
        |client: &Client| {
            let progress = client.http.timeout_rule == TimeoutRule::Progress;
            Setting::Word(if progress { "progress" } else { "phase" })
        },
        |client, s| {
            let progress = s.word() == Some("progress");
            client.http.timeout_rule = if progress { TimeoutRule::Progress } else { TimeoutRule::Phase };
        },
    )
    .words(&["phase", "progress"]),
    Key::new(
        "abort",
        Form::Word,
        "How the user leaves a connection when `timeout` or `patience` is over: it closes, and data that still come draw a RST, or it resets at once.",
        |client: &Client| Setting::Word(if client.http.abort_resets { "reset" } else { "close" }),
        |client, s| client.http.abort_resets = s.word() == Some("reset"),
    )
    .words(&["close", "reset"]),
    Key::new(
        "upload",
        sizes(0, MAX_SIZE),
        "Size of the requests' bodies: forms, photos.",
        |client: &Client| Setting::of(&client.workload.upload),
        |client, s| client.workload.upload = s.distribution(),
    ),
    Key::new(
        "kind",
        Form::Word,
        "`load`: sessions begin at `rate`, and a failure ends one. `browse`: one user who fetches page after page as long as load is offered.",
        |client: &Client| Setting::Word(client.kind),
        |client, s| client.kind = s.word().unwrap_or_default(),
    )
    .words(&["load", "browse"]),
    Key::new(
        "pages",
        counts(1, 1_000_000),
        "Pages of a session, one after the other. `auto`: endless for `browse`, 1 when pages embed objects, else as many as a connection has requests.",
        |client: &Client| match &client.pages {
            Pages::Auto => Setting::Word("auto"),
            Pages::Endless => Setting::Word("endless"),
            Pages::Of(pages) => Setting::of(pages),
        },
        |client, s| {
            client.pages = match s.word() {
                Some("auto") => Pages::Auto,
                Some(_) => Pages::Endless,
                None => Pages::Of(s.distribution()),
            };
        },
    )
    .words(&["auto", "endless"]),
    Key::new(
        "embedded",
        counts(0, 10_000),
        "Objects that a page embeds: requested together when the page itself is there. httperf's burst of L calls embeds L − 1.",
        |client: &Client| Setting::of(&client.workload.session.embedded),
        |client, s| client.workload.session.embedded = s.distribution(),
    ),
    Key::new(
        "embedded_size",
        sizes(0, MAX_SIZE),
        "Size of an embedded object.",
        |client: &Client| {
            client.workload.session.embedded_size.as_ref().map_or(Setting::Word("size"), Setting::of)
        },
        |client, s| client.workload.session.embedded_size = s.optional(Setting::distribution),
    )
    .words(&["size"]),
    Key::new(
        "cached",
        Form::Share(0.0, 1.0),
        "Share of embedded objects that the browser's cache has: they are not requested.",
        |client| Setting::Share(client.workload.session.cached),
        |client, s| client.workload.session.cached = s.share(),
    ),
    Key::new(
        "parse_time",
        times(0, 3_600 * S),
        "From the page's last octet to the requests for what it embeds.",
        |client: &Client| Setting::of(&client.workload.session.parse_time),
        |client, s| client.workload.session.parse_time = s.distribution(),
    ),
    Key::new(
        "think_time",
        times(0, 86_400 * S),
        "From the end of a page until the next is due.",
        |client: &Client| Setting::of(&client.workload.session.think_time),
        |client, s| client.workload.session.think_time = s.distribution(),
    ),
    Key::new(
        "patience",
        time(MS, 86_400 * S),
        "How long the user waits for a page with all it embeds before leaving it.",
        |client: &Client| client.workload.session.patience.map_or(Setting::Word("never"), Setting::of_time),
        |client, s| client.workload.session.patience = s.optional(Setting::time),
    )
    .words(&["never"]),
    Key::new(
        "connections",
        count(1, 64),
        "Most connections of a session at once.",
        |client| Setting::of_count(client.workload.session.connections),
        |client, s| client.workload.session.connections = s.count(),
    ),
    Key::new(
        "pipeline",
        count(1, 1_000),
        "Most requests on a connection whose replies are not there yet; 1 does not pipeline.",
        |client| Setting::of_count(client.workload.session.pipeline),
        |client, s| client.workload.session.pipeline = s.count(),
    ),
];

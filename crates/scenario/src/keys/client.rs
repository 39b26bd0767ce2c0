//! Keys of `[[client]]`: a client station, or several alike, and what its user wants.
//!
//! Also the keys that every station has, the server's too. Left out: random sizes, think times and
//! sessions, which the workload model does not have yet.

use super::link::DOT11B_RATE;
use crate::quantity::Dimension;
use crate::setting::{Form, Key, MS, S, Setting, count, size, time};
use airperf_http::ClientConfig;
use airperf_units::{Duration, Rate};
use airperf_workload::{ArrivalProcess, Config, PerSecond, Size, Start};

/// What `[server]` and `[[client]]` say about their station.
#[derive(Clone, Default)]
pub(crate) struct Station {
    /// Its name; made from its role when it is not given.
    pub(crate) name: Option<String>,
    /// Its radio.
    pub(crate) host_gap: Duration,
    pub(crate) host_gap_spread: f64,
    /// What differs from `[link]`.
    pub(crate) rate: Option<Rate>,
    pub(crate) queue_packets: Option<u32>,
    pub(crate) frame_error: Option<f64>,
}

/// The key of every station.
pub(crate) static STATION: [Key<Station>; 2] = [
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
];

/// Keys of a station on an 802.11 link.
pub(crate) static RADIO: [Key<Station>; 4] = [
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
}

impl Default for Client {
    fn default() -> Self {
        Self {
            count: 1,
            http: ClientConfig::default(),
            workload: Config {
                arrivals: ArrivalProcess::Deterministic,
                rate: PerSecond::new(1),
                start: Start::At(Duration::ZERO),
                size: Size::Fixed(0),
            },
            arrivals: "deterministic",
            hurst: None,
            on_time: None,
            off_time: None,
        }
    }
}

/// Keys of `[[client]]`.
pub(crate) static CLIENT: [Key<Client>; 11] = [
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
        Form::Amount(Dimension::Frequency, 1, 1_000_000_000_000),
        "Mean number of connections begun per second, whatever became of the earlier ones.",
        |client: &Client| Setting::of_count(client.workload.rate.as_micro()),
        |client, s| client.workload.rate = PerSecond::from_micro(s.count()),
    )
    .required(),
    Key::new(
        "requests_per_connection",
        count(1, 1_000_000),
        "Requests on each connection, one after the other.",
        |client| Setting::of_count(client.http.requests_per_connection),
        |client, s| client.http.requests_per_connection = s.count(),
    ),
    Key::new(
        "size",
        size(0, Config::MAX_SIZE_BYTES as i128),
        "Size of the objects fetched, without the reply header.",
        |client: &Client| {
            let Size::Fixed(bytes) = client.workload.size;
            Setting::of_count(bytes)
        },
        |client, s| client.workload.size = Size::Fixed(s.count()),
    )
    .required(),
    Key::new(
        "request_size",
        size(40, 1 << 20),
        "Size of a request.",
        |client| Setting::of_count(client.http.request_bytes),
        |client, s| client.http.request_bytes = s.count(),
    ),
    Key::new(
        "timeout",
        time(MS, 86_400 * S),
        "Longest wait in each phase (connection, first octet of a reply, from there to its last) before the user aborts.",
        |client: &Client| client.http.timeout.map_or(Setting::Word("never"), Setting::of_time),
        |client, s| client.http.timeout = s.optional(Setting::time),
    )
    .words(&["never"]),
];

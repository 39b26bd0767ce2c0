//! Keys of `[[flow]]`: traffic between a station and the server that is no Web.
//!
//! Three kinds with a list of keys each beside the common one: a bulk TCP transfer, UDP datagrams at a rate or as
//! many as the queue takes, and a stream of audio and video with a player at its end. Left out: what a flow's own
//! station may say, which is what every station may.

use crate::quantity::Dimension;
use crate::setting::{Form, Key, MS, S, Setting, count, size, time};
use airperf_units::{Duration, Rate};
use airperf_workload::{
    DatagramConfig, DatagramPace, FlowConfig, FlowKind, Playout, RTP_HEADER_BYTES, Start,
};

/// Rates of flows: from a bit per second to more than any link here carries.
const FLOW_RATE: Form = Form::Amount(Dimension::LinkRate, 1, 10_000_000_000);

/// What `[[flow]]` says, whatever its kind.
#[derive(Clone)]
pub(crate) struct Flow {
    pub(crate) kind: &'static str,
    pub(crate) count: u32,
    /// The client whose station it uses; `None` for a station of its own.
    pub(crate) client: Option<String>,
    pub(crate) up: bool,
    pub(crate) start: Start,
    pub(crate) duration: Option<Duration>,
    pub(crate) tcp: TcpFlow,
    pub(crate) udp: UdpFlow,
    pub(crate) stream: StreamFlow,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            kind: "udp",
            count: 1,
            client: None,
            up: false,
            start: Start::At(Duration::ZERO),
            duration: None,
            tcp: TcpFlow::default(),
            udp: UdpFlow::default(),
            stream: StreamFlow::default(),
        }
    }
}

/// Keys of every `[[flow]]`.
pub(crate) static FLOW: [Key<Flow>; 6] = [
    Key::new(
        "kind",
        Form::Word,
        "A bulk TCP transfer, UDP datagrams, or a stream of audio and video over RTP and UDP.",
        |flow: &Flow| Setting::Word(flow.kind),
        |flow, s| flow.kind = s.word().unwrap_or_default(),
    )
    .words(&["tcp", "udp", "stream"])
    .required(),
    Key::new(
        "count",
        count(1, 10_000),
        "Flows of this kind, each with a station of its own unless `client` is given; `-1`, `-2` … is appended to the stations' name.",
        |flow| Setting::of_count(flow.count),
        |flow, s| flow.count = s.count(),
    ),
    Key::new(
        "client",
        Form::Name(40),
        "Name of the client station that the flow shares; `own` gives it a station of its own.",
        |flow: &Flow| flow.client.clone().map_or(Setting::Word("own"), Setting::Text),
        |flow, s| flow.client = s.optional(Setting::text),
    )
    .words(&["own"]),
    Key::new(
        "direction",
        Form::Word,
        "Where the data goes: `down` from the server to the station, `up` the other way.",
        |flow: &Flow| Setting::Word(if flow.up { "up" } else { "down" }),
        |flow, s| flow.up = s.word() == Some("up"),
    )
    .words(&["down", "up"]),
    Key::new(
        "start",
        time(0, 86_400 * S),
        "When the flow begins; `random` draws it uniformly from the first second.",
        |flow: &Flow| match flow.start {
            Start::At(time) => Setting::of_time(time),
            Start::Random => Setting::Word("random"),
        },
        |flow, s| flow.start = s.optional(Setting::time).map_or(Start::Random, Start::At),
    )
    .words(&["random"]),
    Key::new(
        "duration",
        time(MS, 86_400 * S),
        "How long it offers load; `run` as long as the workload does.",
        |flow: &Flow| flow.duration.map_or(Setting::Word("run"), Setting::of_time),
        |flow, s| flow.duration = s.optional(Setting::time),
    )
    .words(&["run"]),
];

/// A bulk transfer.
#[derive(Clone, Default)]
pub(crate) struct TcpFlow {
    bytes: Option<u64>,
}

/// Keys of `[[flow]]` with `kind = "tcp"`.
pub(crate) static TCP_FLOW: [Key<Flow>; 1] = [Key::new(
    "size",
    size(1, FlowConfig::MAX_BYTES as i128),
    "Octets to transfer; `unlimited` sends until the flow's time is over.",
    |flow: &Flow| flow.tcp.bytes.map_or(Setting::Word("unlimited"), Setting::of_count),
    |flow, s| flow.tcp.bytes = s.optional(Setting::count),
)
.words(&["unlimited"])];

/// Datagrams.
#[derive(Clone)]
pub(crate) struct UdpFlow {
    rate: Option<Rate>,
    pub(crate) packet_bytes: u32,
}

impl Default for UdpFlow {
    /// The largest datagram that fits the usual MTU of 1500 bytes.
    fn default() -> Self {
        Self { rate: None, packet_bytes: 1472 }
    }
}

/// Keys of `[[flow]]` with `kind = "udp"`.
pub(crate) static UDP_FLOW: [Key<Flow>; 2] = [
    Key::new(
        "rate",
        FLOW_RATE,
        "Payload per second, in evenly spaced datagrams; `saturated` keeps the transmit queue from ever being empty.",
        |flow: &Flow| flow.udp.rate.map_or(Setting::Word("saturated"), Setting::of_rate),
        |flow, s| flow.udp.rate = s.optional(Setting::rate),
    )
    .words(&["saturated"]),
    Key::new(
        "packet_size",
        size(1, FlowConfig::MAX_PAYLOAD_BYTES as i128),
        "UDP payload of a datagram; with 28 B of headers it must fit the MTU.",
        |flow| Setting::of_count(flow.udp.packet_bytes),
        |flow, s| flow.udp.packet_bytes = s.count(),
    ),
];

/// Audio and video.
#[derive(Clone)]
pub(crate) struct StreamFlow {
    video_rate: Rate,
    pub(crate) video_packet_bytes: u32,
    frame_rate_micro: Option<u64>,
    frame_spread: f64,
    audio_rate: Option<Rate>,
    pub(crate) audio_packet_bytes: u32,
    playout: Playout,
}

impl Default for StreamFlow {
    /// Rates of Cao, Bai & Williamson, "Media streaming performance in a portable wireless classroom network" (2005).
    /// They do not say how their server cut the streams into packets. 1450 B are the packet limit usual for hinted
    /// QuickTime movies; 384 B are one AAC frame of 1024 samples at 44.1 kHz (372 B at 128 kbit/s) with an RTP header.
    /// 1% is ITU-T G.1010's limit for streamed audio and video (annex A); a second of playout is ours: more than a
    /// queue of 100 packets delays, so that by default loss decides.
    fn default() -> Self {
        Self {
            video_rate: Rate::bps(400_000),
            video_packet_bytes: 1450,
            frame_rate_micro: None,
            frame_spread: 0.0,
            audio_rate: Some(Rate::bps(128_000)),
            audio_packet_bytes: 372 + RTP_HEADER_BYTES,
            playout: Playout { delay: Duration::from_secs(1), loss_limit: 0.01 },
        }
    }
}

/// Keys of `[[flow]]` with `kind = "stream"`.
pub(crate) static STREAM_FLOW: [Key<Flow>; 8] = [
    Key::new(
        "video_rate",
        FLOW_RATE,
        "Octets of video per second, RTP headers not counted.",
        |flow| Setting::of_rate(flow.stream.video_rate),
        |flow, s| flow.stream.video_rate = s.rate(),
    ),
    Key::new(
        "video_packet",
        size(RTP_HEADER_BYTES as i128 + 1, FlowConfig::MAX_PAYLOAD_BYTES as i128),
        "UDP payload of a datagram of video, with its RTP header of 12 B.",
        |flow| Setting::of_count(flow.stream.video_packet_bytes),
        |flow, s| flow.stream.video_packet_bytes = s.count(),
    ),
    Key::new(
        "frame_rate",
        Form::Amount(Dimension::Frequency, 1_000, 1_000_000_000),
        "Video frames per second, the datagrams of each sent at once; `none` spaces full datagrams evenly.",
        |flow: &Flow| flow.stream.frame_rate_micro.map_or(Setting::Word("none"), Setting::of_count),
        |flow, s| flow.stream.frame_rate_micro = s.optional(Setting::count),
    )
    .words(&["none"]),
    Key::new(
        "frame_spread",
        Form::Share(0.0, 2.0),
        "Standard deviation of a video frame's size as a share of its mean, log-normal; 0 is constant. Needs `frame_rate`.",
        |flow| Setting::Share(flow.stream.frame_spread),
        |flow, s| flow.stream.frame_spread = s.share(),
    ),
    Key::new(
        "audio_rate",
        FLOW_RATE,
        "Octets of audio per second, RTP headers not counted; `none` for a silent film.",
        |flow: &Flow| flow.stream.audio_rate.map_or(Setting::Word("none"), Setting::of_rate),
        |flow, s| flow.stream.audio_rate = s.optional(Setting::rate),
    )
    .words(&["none"]),
    Key::new(
        "audio_packet",
        size(RTP_HEADER_BYTES as i128 + 1, FlowConfig::MAX_PAYLOAD_BYTES as i128),
        "UDP payload of a datagram of audio, with its RTP header of 12 B.",
        |flow| Setting::of_count(flow.stream.audio_packet_bytes),
        |flow, s| flow.stream.audio_packet_bytes = s.count(),
    ),
    Key::new(
        "playout_delay",
        time(0, 60 * S),
        "How long the player waits after the first datagram; what comes later than its place then counts as lost.",
        |flow| Setting::of_time(flow.stream.playout.delay),
        |flow, s| flow.stream.playout.delay = s.time(),
    ),
    Key::new(
        "loss_limit",
        Form::Share(0.0, 1.0),
        "Largest share of datagrams lost or late at which a stream is playable.",
        |flow| Setting::Share(flow.stream.playout.loss_limit),
        |flow, s| flow.stream.playout.loss_limit = s.share(),
    ),
];

/// One flow of datagrams or one transfer of a `[[flow]]`.
pub(crate) struct Part {
    pub(crate) medium: &'static str,
    pub(crate) kind: FlowKind,
    pub(crate) playout: Option<Playout>,
}

impl Flow {
    /// The keys of its kind beside [`FLOW`].
    pub(crate) fn own_keys(kind: &str) -> &'static [Key<Self>] {
        match kind {
            "tcp" => &TCP_FLOW,
            "stream" => &STREAM_FLOW,
            _ => &UDP_FLOW,
        }
    }

    /// Whether the frame spread was given without a frame rate to spread.
    pub(crate) fn spreads_nothing(&self) -> bool {
        self.stream.frame_spread > 0.0 && self.stream.frame_rate_micro.is_none()
    }

    /// Whether nothing but time ends it.
    pub(crate) fn is_unlimited_transfer(&self) -> bool {
        self.kind == "tcp" && self.tcp.bytes.is_none()
    }

    /// What it is made of: one flow, or those of video and audio.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let datagrams = |medium, payload_bytes, header_bytes, pace, playout| Part {
            medium,
            kind: FlowKind::Datagrams(DatagramConfig { payload_bytes, header_bytes, pace }),
            playout,
        };
        match self.kind {
            "tcp" => {
                vec![Part { medium: "tcp", kind: FlowKind::Tcp { bytes: self.tcp.bytes }, playout: None }]
            }
            "stream" => {
                let s = &self.stream;
                let pace = s.frame_rate_micro.map_or(DatagramPace::Even { rate: s.video_rate }, |micro| {
                    let (rate, spread) = (s.video_rate, s.frame_spread);
                    DatagramPace::Frames { rate, micro_per_second: micro, spread }
                });
                let playout = Some(s.playout);
                let mut parts =
                    vec![datagrams("video", s.video_packet_bytes, RTP_HEADER_BYTES, pace, playout)];
                if let Some(rate) = s.audio_rate {
                    let pace = DatagramPace::Even { rate };
                    parts.push(datagrams("audio", s.audio_packet_bytes, RTP_HEADER_BYTES, pace, playout));
                }
                parts
            }
            _ => {
                let pace = self.udp.rate.map_or(DatagramPace::Saturated, |rate| DatagramPace::Even { rate });
                vec![datagrams("udp", self.udp.packet_bytes, 0, pace, None)]
            }
        }
    }
}

//! Keys of `[tcp]`: a kernel as a profile, and any of its fields changed beside it.
//!
//! Defaults are the profile's; [`airperf_tcp::Config`] cites their sources. Left out: different
//! settings for the two ends of a connection.

use crate::setting::{Form, Key, MS, S, Setting, US, count, size, time};
use airperf_tcp::{Config, Congestion, SharedState};

/// What `[tcp]` says.
pub(crate) struct Tcp {
    pub(crate) profile: &'static str,
    pub(crate) config: Config,
    /// Whether the segment size was given, rather than taken from the link's MTU.
    pub(crate) mss_given: bool,
    /// Whether the window clamp follows from the link.
    pub(crate) clamp_of_link: bool,
}

impl Tcp {
    /// The profile called `name`, unchanged.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let profile = Config::PROFILES.into_iter().find(|profile| *profile == name)?;
        Some(Self { profile, config: Config::profile(name)?, ..Self::default() })
    }
}

impl Default for Tcp {
    /// The kernel most machines run today; a study of an older one says so.
    fn default() -> Self {
        Self { profile: "linux-6", config: Config::linux_6(), mss_given: false, clamp_of_link: false }
    }
}

/// Keys of `[tcp]`; `profile` comes first because it sets all others.
pub(crate) static TCP: [Key<Tcp>; 42] = [
    Key::new(
        "profile",
        Form::Word,
        "The kernel whose TCP this is; every other key of this table defaults to the profile's value.",
        |tcp: &Tcp| Setting::Word(tcp.profile),
        |tcp, s| *tcp = s.word().and_then(Tcp::of).unwrap_or_default(),
    )
    .words(&Config::PROFILES),
    Key::new(
        "mss",
        size(88, 65_495),
        "Largest segment without TCP options; follows the link's MTU (MTU − 40 B) unless it is given.",
        |tcp| Setting::of_count(tcp.config.mss_bytes),
        |tcp, s| {
            tcp.config.mss_bytes = s.count();
            tcp.mss_given = true;
        },
    ),
    Key::new(
        "initial_window",
        count(1, 1000),
        "Congestion window of a new connection, in segments.",
        |tcp| Setting::of_count(tcp.config.initial_window),
        |tcp, s| tcp.config.initial_window = s.count(),
    ),
    Key::new(
        "slow_start_after_idle",
        Form::Flag,
        "Whether the congestion window shrinks to the initial one when nothing was sent for a timeout (RFC 5681 §4.1).",
        |tcp| Setting::Flag(tcp.config.slow_start_after_idle),
        |tcp, s| tcp.config.slow_start_after_idle = s.flag(),
    ),
    Key::new(
        "window_clamp",
        size(88, 1 << 30),
        "Octets on their way at most, whatever the other windows allow; `\"link\"`: what the link downward needs to be always busy.",
        |tcp: &Tcp| match tcp.config.window_clamp_bytes {
            _ if tcp.clamp_of_link => Setting::Word("link"),
            None => Setting::Word("none"),
            Some(bytes) => Setting::of_count(bytes),
        },
        |tcp, s| {
            tcp.clamp_of_link = s.word() == Some("link");
            tcp.config.window_clamp_bytes = s.optional(Setting::count);
        },
    )
    .words(&["none", "link"]),
    Key::new(
        "congestion",
        Form::Word,
        "Congestion controller.",
        |tcp: &Tcp| {
            Setting::Word(match tcp.config.congestion {
                Congestion::Reno => "reno",
                Congestion::NewReno => "newreno",
            })
        },
        |tcp, s| {
            tcp.config.congestion =
                if s.word() == Some("reno") { Congestion::Reno } else { Congestion::NewReno }
        },
    )
    .words(&["reno", "newreno"]),
    Key::new(
        "duplicate_acks",
        count(1, 255),
        "Duplicate acknowledgements that make a fast retransmit.",
        |tcp| Setting::of_count(tcp.config.duplicate_acks),
        |tcp, s| tcp.config.duplicate_acks = s.count(),
    ),
    Key::new(
        "receive_window",
        size(88, 1 << 30),
        "Receive window offered in the handshake.",
        |tcp| Setting::of_count(tcp.config.receive_window_bytes),
        |tcp, s| tcp.config.receive_window_bytes = s.count(),
    ),
    Key::new(
        "receive_window_max",
        size(88, 1 << 30),
        "What the receive window grows to as full segments arrive.",
        |tcp| Setting::of_count(tcp.config.receive_window_max_bytes),
        |tcp, s| tcp.config.receive_window_max_bytes = s.count(),
    ),
    Key::new(
        "window_scale",
        count(0, 14),
        "Window scale shift (RFC 7323 §2).",
        |tcp| Setting::of_count(tcp.config.window_scale),
        |tcp, s| tcp.config.window_scale = s.count(),
    ),
    Key::new(
        "timestamps",
        Form::Flag,
        "Whether segments carry timestamps, so that every acknowledgement samples the round trip.",
        |tcp| Setting::Flag(tcp.config.timestamps),
        |tcp, s| tcp.config.timestamps = s.flag(),
    ),
    Key::new(
        "sack",
        Form::Flag,
        "Whether acknowledgements of out-of-order data carry SACK blocks (RFC 2018).",
        |tcp| Setting::Flag(tcp.config.sack),
        |tcp, s| tcp.config.sack = s.flag(),
    ),
    Key::new(
        "sack_recovery",
        Form::Flag,
        "Whether holes are filled by what SACK blocks report (RFC 6675), all in a round trip; else, or without `sack`, one in a round trip.",
        |tcp| Setting::Flag(tcp.config.sack_recovery),
        |tcp, s| tcp.config.sack_recovery = s.flag(),
    ),
    Key::new(
        "reorder_ranges",
        count(1, 255),
        "Ranges of out-of-order data a receiver keeps; what would need one more has to come again.",
        |tcp| Setting::of_count(tcp.config.reorder_ranges),
        |tcp, s| tcp.config.reorder_ranges = s.count(),
    ),
    Key::new(
        "undo_spurious",
        Form::Flag,
        "Whether the windows are restored, and nothing more is sent again, when an echoed timestamp shows that a retransmission was needless (RFC 3522).",
        |tcp| Setting::Flag(tcp.config.undo_spurious),
        |tcp, s| tcp.config.undo_spurious = s.flag(),
    ),
    Key::new(
        "initial_rto",
        time(MS, 3600 * S),
        "Retransmission timeout before the first sample.",
        |tcp| Setting::of_time(tcp.config.initial_rto),
        |tcp, s| tcp.config.initial_rto = s.time(),
    ),
    Key::new(
        "min_rto",
        time(MS, 3600 * S),
        "Lower bound of the variance term: RTO = SRTT + max(`min_rto`, 4 RTTVAR).",
        |tcp| Setting::of_time(tcp.config.min_rto),
        |tcp, s| tcp.config.min_rto = s.time(),
    ),
    Key::new(
        "variance_peak",
        Form::Flag,
        "Whether RTTVAR follows the largest deviation of each round trip, and shorter round trips enlarge it little (Linux); else as in RFC 6298 §2.3.",
        |tcp| Setting::Flag(tcp.config.variance_peak),
        |tcp, s| tcp.config.variance_peak = s.flag(),
    ),
    Key::new(
        "max_rto",
        time(MS, 3600 * S),
        "Upper bound of the retransmission timeout.",
        |tcp| Setting::of_time(tcp.config.max_rto),
        |tcp, s| tcp.config.max_rto = s.time(),
    ),
    Key::new(
        "syn_retries",
        count(0, 255),
        "Times a SYN is sent again.",
        |tcp| Setting::of_count(tcp.config.syn_retries),
        |tcp, s| tcp.config.syn_retries = s.count(),
    ),
    Key::new(
        "syn_linear_timeouts",
        count(0, 255),
        "How many of those come at constant intervals before they double.",
        |tcp| Setting::of_count(tcp.config.syn_linear_timeouts),
        |tcp, s| tcp.config.syn_linear_timeouts = s.count(),
    ),
    Key::new(
        "synack_retries",
        count(0, 255),
        "Times a SYN-ACK is sent again while the SYN queue is at most half full.",
        |tcp| Setting::of_count(tcp.config.synack_retries),
        |tcp, s| tcp.config.synack_retries = s.count(),
    ),
    Key::new(
        "synack_scan",
        time(0, 10 * S),
        "SYN-ACK timers fire at multiples of this; `0s`: each on its own.",
        |tcp| Setting::of_time(tcp.config.synack_scan),
        |tcp, s| tcp.config.synack_scan = s.time(),
    ),
    Key::new(
        "synack_timer_restarts",
        Form::Flag,
        "Whether answering a repeated SYN starts the SYN-ACK's timer anew.",
        |tcp| Setting::Flag(tcp.config.synack_timer_restarts),
        |tcp, s| tcp.config.synack_timer_restarts = s.flag(),
    ),
    Key::new(
        "answer_interval",
        time(0, 10 * S),
        "Least time between a connection's answers to repeated SYNs and SYN-ACKs (`tcp_invalid_ratelimit`); `0s`: each is answered.",
        |tcp| Setting::of_time(tcp.config.answer_interval),
        |tcp, s| tcp.config.answer_interval = s.time(),
    ),
    Key::new(
        "data_retries",
        count(0, 255),
        "Times data is sent again before the connection is given up.",
        |tcp| Setting::of_count(tcp.config.data_retries),
        |tcp, s| tcp.config.data_retries = s.count(),
    ),
    Key::new(
        "orphan_retries",
        count(0, 255),
        "The same after the program has closed.",
        |tcp| Setting::of_count(tcp.config.orphan_retries),
        |tcp, s| tcp.config.orphan_retries = s.count(),
    ),
    Key::new(
        "delayed_ack_min",
        time(0, 10 * S),
        "Shortest delay of a delayed acknowledgement.",
        |tcp| Setting::of_time(tcp.config.delayed_ack_min),
        |tcp, s| tcp.config.delayed_ack_min = s.time(),
    ),
    Key::new(
        "delayed_ack_max",
        time(0, 10 * S),
        "Longest delay of a delayed acknowledgement.",
        |tcp| Setting::of_time(tcp.config.delayed_ack_max),
        |tcp, s| tcp.config.delayed_ack_max = s.time(),
    ),
    Key::new(
        "quick_ack_max",
        count(0, 255),
        "Most acknowledgements sent at once in quick mode on one credit.",
        |tcp| Setting::of_count(tcp.config.quick_ack_max),
        |tcp, s| tcp.config.quick_ack_max = s.count(),
    ),
    Key::new(
        "jiffy",
        time(US, S),
        "Tick of the timers: all deadlines fall on multiples of it.",
        |tcp| Setting::of_time(tcp.config.jiffy),
        |tcp, s| tcp.config.jiffy = s.time(),
    ),
    Key::new(
        "timer_wheel",
        Form::Flag,
        "Whether timers rest in a wheel (Linux since 4.8), so that long waits grow by up to an eighth; else they fire on the last tick before their deadline.",
        |tcp| Setting::Flag(tcp.config.timer_wheel),
        |tcp, s| tcp.config.timer_wheel = s.flag(),
    ),
    Key::new(
        "backlog_limits_syns",
        Form::Flag,
        "Whether `server.backlog` limits half-open connections too (Linux since 4.4); else `server.syn_queue` alone.",
        |tcp| Setting::Flag(tcp.config.backlog_limits_syns),
        |tcp, s| tcp.config.backlog_limits_syns = s.flag(),
    ),
    Key::new(
        "fin_waits_for_window",
        Form::Flag,
        "Whether a FIN waits for the congestion window as data does (Linux 6.18), so that after a timeout it follows the data's acknowledgement.",
        |tcp| Setting::Flag(tcp.config.fin_waits_for_window),
        |tcp, s| tcp.config.fin_waits_for_window = s.flag(),
    ),
    Key::new(
        "timestamp_tick",
        time(US, S),
        "Tick of the timestamp clock, hence resolution of round-trip samples.",
        |tcp| Setting::of_time(tcp.config.timestamp_tick),
        |tcp, s| tcp.config.timestamp_tick = s.time(),
    ),
    Key::new(
        "local_drop_feedback",
        Form::Flag,
        "Whether TCP learns that its own host's transmit queue refused a segment, and keeps it.",
        |tcp| Setting::Flag(tcp.config.local_drop_feedback),
        |tcp, s| tcp.config.local_drop_feedback = s.flag(),
    ),
    Key::new(
        "refused_synack_ends",
        Form::Flag,
        "Whether a half-open connection ends when its SYN-ACK is refused so; repeats that answer a SYN apart.",
        |tcp| Setting::Flag(tcp.config.refused_synack_ends),
        |tcp, s| tcp.config.refused_synack_ends = s.flag(),
    ),
    Key::new(
        "local_drop_retry",
        time(MS, 3600 * S),
        "Longest wait before a locally refused segment is tried again.",
        |tcp| Setting::of_time(tcp.config.local_drop_retry),
        |tcp, s| tcp.config.local_drop_retry = s.time(),
    ),
    Key::new(
        "time_wait",
        time(0, 3600 * S),
        "How long the end that closed first remembers the connection.",
        |tcp| Setting::of_time(tcp.config.time_wait),
        |tcp, s| tcp.config.time_wait = s.time(),
    ),
    Key::new(
        "fin_wait",
        time(0, 3600 * S),
        "How long a closed program's connection waits for the peer's FIN.",
        |tcp| Setting::of_time(tcp.config.fin_wait),
        |tcp, s| tcp.config.fin_wait = s.time(),
    ),
    Key::new(
        "back_pressure",
        Form::Flag,
        "Whether a connection asks for room in its host's transmit queue before it sends, and waits in line while there is none: nothing is refused by the own queue then.",
        |tcp| Setting::Flag(tcp.config.back_pressure),
        |tcp, s| tcp.config.back_pressure = s.flag(),
    ),
    Key::new(
        "shared_state",
        Form::Word,
        "What a new connection takes over from others of the same two hosts: nothing; round trip, threshold and window of those that closed; or its part of the window of those beside it.",
        |tcp: &Tcp| {
            Setting::Word(match tcp.config.shared_state {
                SharedState::None => "none",
                SharedState::Temporal => "temporal",
                SharedState::Ensemble => "ensemble",
            })
        },
        |tcp, s| {
            tcp.config.shared_state = match s.word() {
                Some("temporal") => SharedState::Temporal,
                Some("ensemble") => SharedState::Ensemble,
                _ => SharedState::None,
            }
        },
    )
    .words(&["none", "temporal", "ensemble"]),
];

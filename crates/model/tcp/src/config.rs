//! What can be chosen about a TCP endpoint, and two kernels as profiles.
//!
//! A profile collects the defaults of one kernel; any field may then be changed. Sources are the RFC
//! clause where there is one and else the constant's name in the kernel (`include/net/tcp.h`).
//!
//! Left out: what the programs of this project switch off (Nagle) and what no profile here uses (ECN,
//! TCP Fast Open, pacing, tail loss probes).

use crate::cc::Congestion;
use crate::shared::SharedState;
use airperf_units::{ConfigError, Duration};

/// Configuration of a TCP endpoint; both ends of a connection may differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Largest segment in octets without TCP options: MTU − 40 (RFC 9293 §3.7.1).
    pub mss_bytes: u32,
    /// Congestion window of a new connection, in segments.
    pub initial_window: u32,
    /// Whether the congestion window shrinks to the initial one when nothing was sent for a timeout (RFC 5681 §4.1).
    pub slow_start_after_idle: bool,
    /// Octets that may be sent and not yet acknowledged at most, whatever the other windows allow.
    pub window_clamp_bytes: Option<u32>,
    /// Congestion controller.
    pub congestion: Congestion,
    /// Duplicate acknowledgements that make a fast retransmit (RFC 5681 §3.2).
    pub duplicate_acks: u8,
    /// Receive window offered in the handshake, octets.
    pub receive_window_bytes: u32,
    /// What the receive window grows to as full segments arrive, octets.
    pub receive_window_max_bytes: u32,
    /// Window scale shift (RFC 7323 §2).
    pub window_scale: u8,
    /// Whether segments carry timestamps, so that every acknowledgement samples the round trip (RFC 7323 §3).
    pub timestamps: bool,
    /// Whether acknowledgements of out-of-order data carry SACK blocks (RFC 2018).
    pub sack: bool,
    /// Whether holes are filled by what SACK blocks report (RFC 6675), if there are any; else one in a round trip.
    pub sack_recovery: bool,
    /// Most ranges of out-of-order data a receiver keeps.
    pub reorder_ranges: u8,
    /// Whether windows are restored, and nothing more is sent again, when an echoed timestamp shows that the
    /// original had arrived (RFC 3522); needs `timestamps`.
    pub undo_spurious: bool,
    /// Retransmission timeout before the first sample.
    pub initial_rto: Duration,
    /// Lower bound of the variance term: RTO = SRTT + max(`min_rto`, 4 RTTVAR).
    pub min_rto: Duration,
    /// Whether the variance term follows the largest deviation of each round trip, and falling round trips enlarge it
    /// little.
    pub variance_peak: bool,
    /// Upper bound of the timeout.
    pub max_rto: Duration,
    /// Times a SYN is sent again.
    pub syn_retries: u8,
    /// How many of those come at constant intervals before they double.
    pub syn_linear_timeouts: u8,
    /// Times a SYN-ACK is sent again while the SYN queue is at most half full.
    pub synack_retries: u8,
    /// SYN-ACK timers fire at multiples of this; zero: each on its own.
    pub synack_scan: Duration,
    /// Whether answering a repeated SYN starts the SYN-ACK's timer anew.
    pub synack_timer_restarts: bool,
    /// Least time between a connection's answers to repeated SYNs and SYN-ACKs; zero: each is answered.
    pub answer_interval: Duration,
    /// Times data is sent again before the connection is given up.
    pub data_retries: u8,
    /// The same after the program has closed.
    pub orphan_retries: u8,
    /// Shortest delay of a delayed acknowledgement.
    pub delayed_ack_min: Duration,
    /// Longest delay of a delayed acknowledgement.
    pub delayed_ack_max: Duration,
    /// Most acknowledgements sent at once in quick mode on one credit.
    pub quick_ack_max: u8,
    /// Tick of the timers: all deadlines fall on multiples of it.
    pub jiffy: Duration,
    /// Whether timers rest in a wheel whose slots widen with the wait, and fire when their slot ends; else they fire
    /// on the last tick before their deadline.
    pub timer_wheel: bool,
    /// Whether the listening socket's backlog limits half-open connections too, and a full accept queue ignores
    /// every SYN.
    pub backlog_limits_syns: bool,
    /// Whether a FIN waits for the congestion window as data does.
    pub fin_waits_for_window: bool,
    /// Tick of the timestamp clock, hence resolution of round-trip samples.
    pub timestamp_tick: Duration,
    /// Whether TCP learns that its own host's transmit queue refused a segment, and keeps it.
    pub local_drop_feedback: bool,
    /// Whether a connection that is half open ends when its SYN-ACK is refused so; a repeat that answers a SYN apart.
    pub refused_synack_ends: bool,
    /// Longest wait before a locally refused segment is tried again.
    pub local_drop_retry: Duration,
    /// Whether an endpoint asks for room in its host's transmit queue before it sends, and waits while there is none.
    pub back_pressure: bool,
    /// What a new connection takes over from others of the same two hosts.
    pub shared_state: SharedState,
    /// How long the end that closed first remembers the connection (RFC 9293 §3.3.2, 2 MSL).
    pub time_wait: Duration,
    /// How long a closed program's connection waits for the peer's FIN.
    pub fin_wait: Duration,
}

impl Config {
    /// Names of the profiles, for messages.
    pub const PROFILES: [&'static str; 2] = ["linux-2.4.18", "linux-6"];

    /// The profile called `name`, one of [`Self::PROFILES`].
    pub fn profile(name: &str) -> Option<Self> {
        match name {
            "linux-2.4.18" => Some(Self::linux_2_4_18()),
            "linux-6" => Some(Self::linux_6()),
            _ => None,
        }
    }

    /// Linux 2.4.18 (2002) on Ethernet or 802.11, HZ = 100.
    pub const fn linux_2_4_18() -> Self {
        Self {
            mss_bytes: 1460,
            initial_window: 2,           // RFC 2581 §3.1
            slow_start_after_idle: true, // RFC 2581 §4.1; net.ipv4.tcp_slow_start_after_idle, since 2.6.18
            window_clamp_bytes: None,    // tp->snd_cwnd_clamp
            congestion: Congestion::NewReno,
            duplicate_acks: 3,                // RFC 2581 §3.2; TCP_FASTRETRANS_THRESH
            receive_window_bytes: 5840,       // 4 × 1460, tcp_select_initial_window
            receive_window_max_bytes: 65_535, // MAX_TCP_WINDOW, tcp_rmem default 87380
            window_scale: 0,
            timestamps: true,
            sack: true,
            sack_recovery: true,     // tcp_sacktag_write_queue, tcp_xmit_retransmit_queue
            reorder_ranges: u8::MAX, // tcp_ofo_queue keeps all
            undo_spurious: true,     // tcp_packet_delayed, tcp_try_undo_loss
            initial_rto: Duration::from_secs(3), // RFC 2988 §2.1; TCP_TIMEOUT_INIT 3·HZ
            min_rto: Duration::from_ms(200), // TCP_RTO_MIN HZ/5; RFC 2988 §2.4 would have 1 s
            variance_peak: true,     // tcp_rtt_estimator
            max_rto: Duration::from_secs(120), // TCP_RTO_MAX 120·HZ
            syn_retries: 5,          // TCP_SYN_RETRIES
            syn_linear_timeouts: 0,
            synack_retries: 5,                        // TCP_SYNACK_RETRIES
            synack_scan: Duration::from_ms(200),      // TCP_SYNQ_INTERVAL HZ/5
            synack_timer_restarts: false,             // tcp_synack_timer
            answer_interval: Duration::ZERO,          // no limit before 4.0
            data_retries: 15,                         // TCP_RETR2
            orphan_retries: 8,                        // tcp_orphan_retries()
            delayed_ack_min: Duration::from_ms(40),   // TCP_ATO_MIN, TCP_DELACK_MIN HZ/25
            delayed_ack_max: Duration::from_ms(200),  // TCP_DELACK_MAX HZ/5; RFC 1122 §4.2.3.2 allows 500 ms
            quick_ack_max: 16,                        // TCP_MAX_QUICKACKS
            jiffy: Duration::from_ms(10),             // HZ = 100
            timer_wheel: false,                       // cascading, so every timer is exact to a jiffy
            backlog_limits_syns: false,               // tcp_max_syn_backlog, tcp_v4_conn_request
            fin_waits_for_window: false,              // tcp_snd_test
            timestamp_tick: Duration::from_ms(10),    // tcp_time_stamp counts jiffies
            local_drop_feedback: true,                // NET_XMIT_DROP, tcp_enter_cwr
            refused_synack_ends: true,                // tcp_v4_conn_request, tcp_synack_timer
            local_drop_retry: Duration::from_ms(500), // TCP_RESOURCE_PROBE_INTERVAL HZ/2
            back_pressure: false,                     // no kernel has it for all segments
            shared_state: SharedState::None, // net.ipv4.tcp_no_metrics_save, or another route each time
            time_wait: Duration::from_secs(60), // TCP_TIMEWAIT_LEN 60·HZ
            fin_wait: Duration::from_secs(60), // TCP_FIN_TIMEOUT
        }
    }

    /// Linux 6 as distributed today, HZ = 250, Reno chosen as congestion control, behind a transmit queue that
    /// is not its own (a TUN device, an access point), so that refusals are losses to it.
    pub const fn linux_6() -> Self {
        Self {
            initial_window: 10,                      // RFC 6928 §2; TCP_INIT_CWND
            receive_window_bytes: 64_240,            // 44 × 1460, tcp_select_initial_window
            receive_window_max_bytes: 3_145_728,     // half of tcp_rmem[2] = 6 MiB
            window_scale: 7,                         // tcp_rmem[2] / 65535, rounded up to a power of two
            initial_rto: Duration::from_secs(1),     // RFC 6298 §2.1; TCP_TIMEOUT_INIT 1·HZ
            syn_retries: 6,                          // TCP_SYN_RETRIES
            syn_linear_timeouts: 4,                  // net.ipv4.tcp_syn_linear_timeouts, since 6.5
            synack_scan: Duration::ZERO,             // a timer per request since 4.4
            synack_timer_restarts: true,             // tcp_check_req
            answer_interval: Duration::from_ms(500), // net.ipv4.tcp_invalid_ratelimit, since 4.0
            jiffy: Duration::from_ms(4),             // CONFIG_HZ=250
            timer_wheel: true,                       // since 4.8, calc_wheel_index
            backlog_limits_syns: true,               // since 4.4, inet_csk_reqsk_queue_is_full
            fin_waits_for_window: true,              // seen of 6.18; 4.19 still let it pass
            timestamp_tick: Duration::from_ms(1),    // TCP_TS_HZ 1000
            local_drop_feedback: false,
            refused_synack_ends: false, // tcp_conn_request, reqsk_timer_handler
            ..Self::linux_2_4_18()
        }
    }

    /// Octets of payload in a full segment, its options taken off.
    pub const fn segment_payload_bytes(&self) -> u32 {
        self.mss_bytes - if self.timestamps { TIMESTAMP_OPTION_BYTES } else { 0 }
    }

    /// Whether senders recover by what receivers report.
    #[inline]
    pub(crate) const fn recovers_by_sack(&self) -> bool {
        self.sack && self.sack_recovery
    }

    /// Finds what no TCP could be.
    ///
    /// # Errors
    /// The first impossible value, named.
    pub fn check(&self) -> Result<(), ConfigError> {
        let rules = [
            ((88..=65_495).contains(&self.mss_bytes), "mss must lie in 88..65495 bytes"),
            (self.initial_window >= 1, "initial_window must be at least 1 segment"),
            (
                self.window_clamp_bytes.is_none_or(|bytes| bytes >= self.mss_bytes),
                "window_clamp must hold one segment",
            ),
            (self.duplicate_acks >= 1, "duplicate_acks must be at least 1"),
            (self.reorder_ranges >= 1, "reorder_ranges must be at least 1"),
            (self.receive_window_bytes >= self.mss_bytes, "receive_window must hold one segment"),
            (
                self.receive_window_bytes <= self.receive_window_max_bytes,
                "receive_window must not exceed receive_window_max",
            ),
            (self.window_scale <= 14, "window_scale is at most 14 (RFC 7323 §2.3)"),
            (
                self.receive_window_max_bytes >> self.window_scale <= 65_535,
                "receive_window_max does not fit a 16-bit window field at this window_scale",
            ),
            (self.jiffy > Duration::ZERO, "jiffy must be positive"),
            (self.timestamp_tick >= Duration::from_us(1), "timestamp_tick must be at least 1us"),
            (self.initial_rto >= self.jiffy, "initial_rto must be at least one jiffy"),
            (self.min_rto >= self.jiffy, "min_rto must be at least one jiffy"),
            (self.min_rto <= self.max_rto, "min_rto must not exceed max_rto"),
            (self.initial_rto <= self.max_rto, "initial_rto must not exceed max_rto"),
            (self.delayed_ack_min <= self.delayed_ack_max, "delayed_ack_min must not exceed delayed_ack_max"),
            (self.local_drop_retry >= self.jiffy, "local_drop_retry must be at least one jiffy"),
        ];
        ConfigError::check("TCP", &rules)
    }
}

/// Octets of the timestamp option with its padding (RFC 7323 §3.2 and appendix A).
pub(crate) const TIMESTAMP_OPTION_BYTES: u32 = 12;

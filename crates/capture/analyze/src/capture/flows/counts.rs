//! What a shard counts over all its connections, and the names of what was unusual.

use crate::http::HttpCounts;

/// Anomalies of TCP: name and what it means.
pub const ANOMALIES: &[(&str, &str)] = &[
    ("tcp_reused_ports", "connections on a pair of addresses and ports that another one had used before"),
    ("tcp_stray", "RST segments that belong to no connection"),
    ("tcp_evicted", "connections that left a full table before they ended; what came later begins anew"),
    ("tcp_filtered", "segments of connections that the filter leaves out"),
    ("tcp_duplicate_packets", "packets captured twice; left out of everything else"),
    (
        "tcp_time_reversed",
        "acknowledgements captured before what they acknowledge; no round-trip time is taken",
    ),
    ("tcp_acknowledged_unseen", "acknowledgements of octets that were not captured"),
    ("tcp_unseen_octets", "octets that were acknowledged but not captured"),
    ("tcp_spurious", "retransmissions of what had been acknowledged"),
    ("tcp_inconsistent", "retransmissions with other octets than the first time; the first are kept"),
    ("tcp_zero_window", "segments that offer a window of nothing, where the scale is known"),
    ("tcp_window_probe", "single octets sent into a closed window; a repeated one is no retransmission"),
    ("tcp_keep_alive", "keep-alives: nothing or one old octet, with nothing outstanding; no retransmissions"),
    ("tcp_simultaneous_open", "SYNs that crossed the other side's"),
    ("tcp_fast_open", "SYNs with payload"),
    ("tcp_reset_with_data", "RST segments with payload, which is no part of the stream"),
    ("tcp_urgent", "segments with urgent data"),
    ("tcp_multipath", "SYNs with a Multipath TCP option; every subflow is a connection of its own"),
    ("tcp_duplicate_sack", "acknowledgements that report octets received twice"),
];

/// What a shard counts; see [`ANOMALIES`] for those that have names there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// TCP segments, MAC duplicates and packets captured twice left out, strays included.
    pub segments: u64,
    /// Connections by class: SYN+FIN.
    pub syn_fin: u64,
    /// SYN+RST.
    pub syn_rst: u64,
    /// SYN without SYN-ACK.
    pub syn_no_synack: u64,
    /// SYN and SYN-ACK without FIN or RST.
    pub syn_unfinished: u64,
    /// No SYN seen.
    pub no_syn: u64,
    /// Segments with RST.
    pub resets: u64,
    /// Segments all of whose octets were sent before.
    pub full: u64,
    /// Segments some of whose octets were sent before.
    pub part: u64,
    /// Segments none of whose octets were seen before although higher ones were.
    pub late: u64,
    /// SYNs and SYN-ACKs sent again.
    pub dup_syn: u64,
    /// FINs sent again.
    pub dup_fin: u64,
    /// Duplicate acknowledgements.
    pub duplicate_acks: u64,
    /// HTTP/1 requests.
    pub requests: u64,
    /// HTTP/1 responses, from their first octet on.
    pub responses: u64,
    /// What connections spoke, and what was unusual about HTTP.
    pub http: HttpCounts,
    pub(crate) reused: u64,
    pub(crate) stray: u64,
    pub(crate) evicted: u64,
    pub(crate) filtered: u64,
    pub(crate) duplicates: u64,
    pub(crate) time_reversed: u64,
    pub(crate) acknowledged_unseen: u64,
    pub(crate) unseen_octets: u64,
    pub(crate) spurious: u64,
    pub(crate) inconsistent: u64,
    pub(crate) zero_windows: u64,
    pub(crate) window_probes: u64,
    pub(crate) keep_alives: u64,
    pub(crate) simultaneous: u64,
    pub(crate) fast_open: u64,
    pub(crate) reset_with_data: u64,
    pub(crate) urgent: u64,
    pub(crate) multipath: u64,
    pub(crate) duplicate_sacks: u64,
}

macro_rules! sums {
    ($into:ident += $from:ident: $($field:ident)+) => { $($into.$field += $from.$field;)+ };
}

impl FlowCounts {
    /// Adds another shard's.
    pub fn merge(&mut self, other: &Self) {
        self.http.merge(&other.http);
        sums!(self += other: segments syn_fin syn_rst syn_no_synack syn_unfinished no_syn resets full part late
            dup_syn dup_fin duplicate_acks requests responses reused stray evicted filtered duplicates time_reversed
            acknowledged_unseen unseen_octets spurious inconsistent zero_windows window_probes keep_alives
            simultaneous fast_open reset_with_data urgent multipath duplicate_sacks);
    }

    /// Connections of all classes.
    pub fn connections(&self) -> u64 {
        self.syn_fin + self.syn_rst + self.syn_no_synack + self.syn_unfinished + self.no_syn
    }

    /// Full + dup SYN + dup FIN.
    pub fn retransmitted(&self) -> u64 {
        self.full + self.dup_syn + self.dup_fin
    }

    pub(crate) fn class(&mut self, class: &str) {
        *match class {
            "syn_fin" => &mut self.syn_fin,
            "syn_rst" => &mut self.syn_rst,
            "syn_no_synack" => &mut self.syn_no_synack,
            "syn_unfinished" => &mut self.syn_unfinished,
            _ => &mut self.no_syn,
        } += 1;
    }

    /// What was unusual, by name; in the order of [`ANOMALIES`].
    pub fn anomalies(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = [
            self.reused,
            self.stray,
            self.evicted,
            self.filtered,
            self.duplicates,
            self.time_reversed,
            self.acknowledged_unseen,
            self.unseen_octets,
            self.spurious,
            self.inconsistent,
            self.zero_windows,
            self.window_probes,
            self.keep_alives,
            self.simultaneous,
            self.fast_open,
            self.reset_with_data,
            self.urgent,
            self.multipath,
            self.duplicate_sacks,
        ];
        ANOMALIES.iter().zip(counts).map(|((name, _), count)| (*name, count))
    }
}

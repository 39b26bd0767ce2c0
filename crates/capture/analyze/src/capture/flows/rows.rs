//! The rows of `connections` and `segments` of a capture.

use airperf_record::capture::{ConnectionRow, SegmentRow};
use compact_str::CompactString;

use super::flow::Flow;
use super::packet::{Carried, Packet};
use super::side::Verdict;

/// The row of a connection that ended with `class`.
pub(crate) fn connection_row(flow: &Flow, class: &'static str, evicted: bool) -> ConnectionRow {
    let (client, server) = (flow.client(), flow.server());
    let (up, down) = (&flow.up, &flow.down);
    let (sent_up, sent_down) = flow.core.halves(true);
    let tally = &flow.tally();
    let trips = flow.round_trips;
    let sampled = |ns: u64| (trips.samples > 0).then_some(ns);
    let exchanges = &flow.core.exchanges;
    ConnectionRow {
        connection: flow.local,
        client: client.0,
        client_port: client.1,
        server: server.0,
        server_port: server.1,
        first_frame: flow.first_frame,
        opened_ns: flow.opened_ns,
        established_ns: flow.established_ns.get(),
        last_ns: flow.last_ns,
        first_data_ns: flow.first_data_ns.get(),
        last_data_ns: flow.last_data_ns.get(),
        class,
        closed_by: flow.closed_by(),
        state: CompactString::const_new(flow.history.state(&flow.core)),
        history: flow.history.text(),
        application: exchanges.application().word(),
        server_name: exchanges.hello().and_then(|hello| hello.server_name.clone()),
        alpn: exchanges.hello().and_then(|hello| hello.alpn.clone()),
        exchanges: exchanges.requests(),
        bytes_up: sent_up.received(),
        bytes_down: sent_down.received(),
        sent_bytes_up: up.sent_bytes,
        sent_bytes_down: down.sent_bytes,
        ip_bytes_up: up.ip_bytes,
        ip_bytes_down: down.ip_bytes,
        missing_up: sent_up.missing(),
        missing_down: sent_down.missing(),
        segments_up: sent_up.segments,
        segments_down: sent_down.segments,
        data_segments_up: up.data_segments,
        data_segments_down: down.data_segments,
        retransmissions_up: tally.up.retransmissions,
        retransmissions_down: tally.down.retransmissions,
        full: tally.full,
        part: tally.part,
        late: tally.late,
        dup_syn: tally.dup_syn,
        dup_fin: tally.dup_fin,
        spurious: tally.spurious,
        inconsistent: tally.inconsistent,
        duplicate_acks: tally.duplicate_acks,
        zero_windows: flow.scales_known().then_some(tally.zero_windows),
        window_probes: tally.window_probes,
        keep_alives: tally.keep_alives,
        resets: tally.resets,
        duplicates: tally.duplicates,
        mac_retries_up: flow.mac.then_some(tally.up.mac_retries),
        mac_retries_down: flow.mac.then_some(tally.down.mac_retries),
        handshake_ns: flow.handshake_ns.get(),
        rtt_samples: trips.samples,
        rtt_min_ns: sampled(trips.least),
        rtt_mean_ns: sampled(trips.sum / u64::from(trips.samples.max(1))),
        rtt_max_ns: sampled(trips.most),
        mss_up: up.mss,
        mss_down: down.mss,
        window_scale_up: flow.scale(true),
        window_scale_down: flow.scale(false),
        sack: flow.scales_known().then_some(up.sack && down.sack),
        most_in_flight_up: sent_up.is_whole().then_some(up.most_in_flight),
        most_in_flight_down: sent_down.is_whole().then_some(down.most_in_flight),
        think_ns: exchanges.think_ns(),
        evicted,
    }
}

/// The row of a segment of a connection.
pub(crate) fn segment_row(flow: &Flow, packet: &Packet, verdict: &Verdict) -> SegmentRow {
    let place = &verdict.place;
    let (mine, peer) = flow.core.halves(place.up);
    let scale = if place.flags.has(airperf_wire::Flags::SYN) { None } else { flow.scale(place.up) };
    SegmentRow {
        connection: Some(flow.local),
        up: place.up,
        kind: place.kind,
        seq: mine.relative(place.seq),
        ack: place.flags.has(airperf_wire::Flags::ACK).then(|| peer.relative(place.ack)),
        window: u32::from(packet.window) << scale.unwrap_or(0),
        novelty: place.novelty.word(),
        spurious: verdict.spurious,
        duplicate_ack: verdict.duplicate_ack,
        zero_window: verdict.zero_window,
        window_probe: verdict.window_probe,
        keep_alive: verdict.keep_alive,
        sack_from: verdict.sack.map(|block| block.0),
        sack_to: verdict.sack.map(|block| block.1),
        rtt_ns: verdict.rtt_ns,
        in_flight: verdict.in_flight,
        ..stray_row(packet)
    }
}

/// The row of a segment of no connection.
pub(crate) fn stray_row(packet: &Packet) -> SegmentRow {
    SegmentRow {
        frame: packet.frame,
        time_ns: packet.time_ns,
        connection: None,
        up: true,
        kind: "rst",
        seq: 0,
        ack: None,
        payload_bytes: packet.length,
        ip_bytes: packet.ip_bytes,
        window: u32::from(packet.window),
        flags: packet.flags.0,
        novelty: "new",
        spurious: false,
        duplicate_ack: false,
        zero_window: false,
        window_probe: false,
        keep_alive: false,
        sack_from: None,
        sack_to: None,
        rtt_ns: None,
        in_flight: None,
        mac_retries: match packet.carried {
            Carried::Wire => None,
            Carried::Retry => Some(1),
            Carried::First | Carried::Duplicate => Some(0),
        },
    }
}

//! Flows in the records: the rows of `flows.parquet`, and the octets of their packets in the capture.
//!
//! Ports say what a flow is: 5001 is iperf's for bulk transfers and datagrams, 5004 and 5006 are RTP's (RFC 3551 §8)
//! for video and audio. An RTP header counts the flow's datagrams, and its clock of 90 kHz tells when each was
//! offered, so that any reader of captures can compute the delay variation anew. Left out: RTCP, and what a codec
//! would put behind the header.

use super::octets::BODY;
use crate::{FlowEnded, Payload};
use airperf_record::FlowRow;
use airperf_scenario::{Flow, Scenario};
use airperf_units::Time;
use airperf_wire::RtpHeader;

/// RTP's clock for MPEG audio and video (RFC 3551 §4.5.13, §5).
const RTP_HZ: u128 = 90_000;
/// Payload types without a fixed meaning (RFC 3551 §6).
const DYNAMIC: u8 = 96;

/// The server's port of a flow.
pub(super) fn server_port(flow: &Flow) -> u16 {
    match flow.medium {
        "video" => 5004,
        "audio" => 5006,
        _ => 5001,
    }
}

/// The station's port of the `index`-th flow.
pub(super) const fn station_port(index: u32) -> u16 {
    20_000 + (index % 10_000) as u16 * 2
}

/// Makes `out` the payload of a datagram offered at `sent`.
pub(super) fn datagram(payload: &Payload, index: u32, flow: &Flow, sent: Time, out: &mut Vec<u8>) {
    out.clear();
    if flow.playout.is_some() {
        let header = RtpHeader {
            payload_type: DYNAMIC + u8::from(flow.medium == "audio"),
            sequence: payload.segment.seq as u16,
            timestamp: (u128::from(sent.as_ns()) * RTP_HZ / 1_000_000_000) as u32,
            source: index,
        };
        out.extend_from_slice(&header.octets());
    } else {
        out.extend_from_slice(&payload.segment.seq.to_be_bytes());
    }
    fill(0, usize::from(payload.segment.len), out);
}

/// Makes `out` the octets of a transfer from `offset` on.
pub(super) fn transfer(offset: u64, len: usize, out: &mut Vec<u8>) {
    out.clear();
    fill((offset % BODY.len() as u64) as usize, len, out);
}

fn fill(from: usize, len: usize, out: &mut Vec<u8>) {
    let missing = len.saturating_sub(out.len());
    out.extend(BODY.iter().cycle().skip(from).take(missing));
    out.truncate(len);
}

/// The row of a flow that is over.
pub(super) fn row(scenario_flows: &[Flow], server: u16, ended: &FlowEnded) -> FlowRow {
    let flow = &scenario_flows[ended.flow as usize];
    let q = &ended.quality;
    let (station, server) = (flow.station.0, server);
    let (from, to) = if flow.to_server { (station, server) } else { (server, station) };
    let counts = ended.connection.is_none() && flow.medium != "tcp";
    let of = |value: u64| counts.then_some(value);
    let seen = |value: airperf_units::Duration| (q.delivered > 0).then_some(value.as_ns());
    FlowRow {
        flow: u64::from(ended.flow),
        group: u64::from(flow.group),
        kind: flow.medium,
        station: from,
        to,
        connection: ended.connection.map(u64::from),
        start_ns: ended.start.as_ns(),
        end_ns: ended.end.as_ns(),
        last_arrival_ns: ended.last_arrival.map(Time::as_ns),
        bytes_offered: q.bytes_offered,
        bytes_delivered: q.bytes_delivered,
        bytes_in_time: q.bytes_in_time,
        datagrams: of(q.offered),
        refused: of(q.refused),
        lost: of(q.lost),
        delivered: of(q.delivered),
        late: ended.playable.map(|_| q.late),
        delay_mean_ns: seen(q.delay_mean),
        delay_min_ns: seen(q.delay_min),
        delay_p50_ns: seen(q.delay_percentiles[0]),
        delay_p95_ns: seen(q.delay_percentiles[1]),
        delay_p99_ns: seen(q.delay_percentiles[2]),
        delay_max_ns: seen(q.delay_max),
        delay_variation_mean_ns: seen(q.variation_mean),
        delay_variation_max_ns: seen(q.variation_max),
        playable: ended.playable,
    }
}

/// What the records keep of a scenario's flows.
pub(super) struct Flows {
    pub(super) flows: Vec<Flow>,
    pub(super) server: u16,
}

impl Flows {
    pub(super) fn of(scenario: &Scenario) -> Self {
        Self { flows: scenario.flows.clone(), server: scenario.server.station.0 }
    }

    /// Who sends a packet of a flow.
    pub(super) fn sender(&self, payload: &Payload) -> Option<u16> {
        let flow = self.flows.get(payload.flow()? as usize)?;
        Some(if payload.to_server { flow.station.0 } else { self.server })
    }
}

//! Reads every `[[flow]]` and checks what lies between its keys and the rest of the scenario.
//!
//! Left out: single values, which the lists of keys check.

use super::{ClientPart, Link, list_of_tables, names, read_station, relations::Names};
use crate::document::Table;
use crate::keys::client::{RADIO, STATION, Station};
use crate::keys::traffic::{FLOW, Flow};
use crate::problem::Findings;
use crate::reader::{Section, nearest};
use airperf_units::Duration;
use airperf_workload::Start;

/// Octets of the IPv4 and UDP headers.
const HEADERS: u32 = 28;

/// One flow, `count` taken apart.
pub(super) struct FlowPart {
    /// Its station, if it has one of its own.
    pub(super) station: Option<Station>,
    pub(super) flow: Flow,
}

pub(super) fn read(
    root: &Table,
    link: &Link,
    clients: &[ClientPart],
    duration: Duration,
    stations: &mut Names,
    findings: &mut Findings,
) -> Vec<FlowPart> {
    let mut flows = Vec::new();
    let tables = list_of_tables(root, "flow", "once for each kind of flow", findings);
    for (number, (path, place, entries)) in tables.iter().enumerate() {
        let section = Section { path, place, table: Some(entries) };
        let mut flow = Flow::default();
        section.read(&FLOW, &mut flow, findings);
        let own = Flow::own_keys(flow.kind);
        section.read(own, &mut flow, findings);
        relations(&section, &flow, link, duration, findings);
        let known = names(&FLOW).chain(own.iter().map(|key| key.name));
        if let Some(name) = &flow.client {
            share(&section, name, clients, known.collect(), findings);
            for _ in 0..flow.count {
                flows.push(FlowPart { station: None, flow: Flow { count: 1, ..flow.clone() } });
            }
            continue;
        }
        let mut station = Station::default();
        read_station(&section, &mut station, known, link, findings);
        if station.name.is_none() {
            let single = tables.len() == 1;
            station.name = Some(if single { "flow".to_owned() } else { format!("flow-{}", number + 1) });
        }
        for station in stations.add(&section, &station, flow.count, findings) {
            flows.push(FlowPart { station: Some(station), flow: Flow { count: 1, ..flow.clone() } });
        }
    }
    flows
}

/// A flow at a client's station: the client must exist, and says itself what its station is like.
fn share(
    section: &Section<'_>,
    name: &str,
    clients: &[ClientPart],
    known: Vec<&str>,
    findings: &mut Findings,
) {
    let all: Vec<&str> = clients.iter().filter_map(|client| client.station.name.as_deref()).collect();
    if !all.contains(&name) {
        let hint = match nearest(name, all.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("clients are: {}", all.join(", ")),
        };
        let message = format!("there is no client `{name}`");
        findings.problem(section.place_of("client"), &section.key("client"), message, hint);
    }
    let of_station = |key: &str| names(&STATION).chain(names(&RADIO)).any(|name| name == key);
    section.reject_unknown(
        &known,
        |key| {
            let home = "the [[client]] whose station the flow shares";
            if of_station(key) { Some(home) } else { super::home(key, "flow") }
        },
        findings,
    );
}

fn relations(section: &Section<'_>, flow: &Flow, link: &Link, duration: Duration, findings: &mut Findings) {
    let mtu = link.mtu();
    let packets: &[(&str, u32)] = match flow.kind {
        "udp" => &[("packet_size", flow.udp.packet_bytes)],
        "stream" => &[
            ("video_packet", flow.stream.video_packet_bytes),
            ("audio_packet", flow.stream.audio_packet_bytes),
        ],
        _ => &[],
    };
    for (key, bytes) in packets {
        if bytes + HEADERS > mtu {
            let message = format!("a datagram of {bytes}B and its headers do not fit an MTU of {mtu}B");
            let hint = format!("allowed: up to {}B; fragments are not modelled", mtu - HEADERS);
            findings.problem(section.place_of(key), &section.key(key), message, hint);
        }
    }
    if flow.kind == "stream" && flow.spreads_nothing() {
        let message = "frames of different sizes need a frame rate";
        let key = section.key("frame_spread");
        findings.problem(section.place_of("frame_spread"), &key, message, "set frame_rate = \"25/s\", say");
    }
    if let Start::At(start) = flow.start
        && start >= duration
        && duration > Duration::ZERO
    {
        let message = format!("this flow begins when the workload of {duration} is over");
        findings.problem(section.place_of("start"), &section.key("start"), message, "begin earlier");
    }
    let longest = airperf_tcp::MAX_STREAM_BYTES as f64 * 8.0 / link.rate().as_bps() as f64;
    let lasts = flow.duration.unwrap_or(duration).min(duration);
    if flow.is_unlimited_transfer() && lasts.as_secs_f64() > longest {
        let message = format!("in {lasts} this transfer may exceed the 4 GiB of one connection");
        let hint = format!("give it a `size`, or a `duration` of at most {}s", longest as u64);
        findings.problem(section.place_of("duration"), &section.key("duration"), message, hint);
    }
}

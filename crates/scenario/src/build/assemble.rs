//! Puts checked parts together: the models' Config types, and the resolved form.
//!
//! Left out: anything that could fail; the parts have been checked.

use super::Parts;
use super::browser::BrowserPart;
use super::link::{Link, WAYS};
use super::traffic::FlowPart;
use crate::files::{Kind as FileKind, NamedFile};
use crate::keys::access::{ACCESS, Access, Way};
use crate::keys::browser::BROWSER;
use crate::keys::client::{CLIENT, RADIO, STATION, Station as StationPart};
use crate::keys::gprs::{GPRS, GPRS_WAY, GprsWay};
use crate::keys::link::{ETHERNET, KIND, Kind, SWITCH, WIFI};
use crate::keys::run::{EMU, RECORD, TOP};
use crate::keys::server::SERVER;
use crate::keys::tcp::{TCP, Tcp};
use crate::keys::traffic::{FLOW, Flow as FlowKeys};
use crate::scenario::object;
use crate::setting::Key;
use crate::{Browser, Client, Flow, LinkConfig, Role, Scenario, Server, Station};
use airperf_link::StationId;
use airperf_link::access::{AccessConfig, AccessStation};
use airperf_link::ethernet::EthernetStation;
use airperf_units::{Duration, Time};
use airperf_wifi::{Fade, StationConfig};
use airperf_workload::FlowConfig;
use serde_json::Value as Json;
use std::sync::Arc;

pub(super) fn assemble(parts: Parts) -> Scenario {
    let resolved = resolve(&parts);
    let Parts { top, link, tcp, server, server_station, clients, flows, browsers, record, emu } = parts;
    let each: Vec<&StationPart> = std::iter::once(&server_station)
        .chain(clients.iter().map(|client| &client.station))
        .chain(flows.iter().filter_map(|part| part.station.as_ref()))
        .chain(browsers.iter().map(|part| &part.station))
        .collect();
    let stations: Vec<Station> = (0..)
        .zip(&each)
        .map(|(id, part)| Station {
            name: part.name.clone().unwrap_or_default(),
            role: if id == 0 { Role::Server } else { Role::Client },
            tick_phase: part.tick_phase,
        })
        .collect();
    let files = files(&link, &browsers);
    let first = each.len() - browsers.len();
    let link = finish(link, &each);
    let tcp = clamp(tcp, &link);
    let server_http = server.finish();
    let reply_header_bytes = server_http.reply_header_bytes;
    let browsers =
        (first..).zip(&browsers).map(|(id, part)| browser(id as u16, part, reply_header_bytes, &link));
    let browsers = browsers.collect();
    let flows = place_flows(&flows, &stations, clients.len());
    let clients = (1..)
        .zip(&clients)
        .map(|(id, part)| Client {
            station: StationId(id),
            http: part.client.http.clone(),
            workload: part.client.workload.clone(),
        })
        .collect();
    Scenario {
        name: top.name,
        summary: top.summary,
        duration: top.duration,
        drain: top.drain,
        seed: top.seed,
        link,
        tcp,
        server: Server { station: StationId(0), http: server_http },
        clients,
        flows,
        browsers,
        stations,
        record,
        emu,
        files,
        warnings: Vec::new(),
        text: String::new(),
        resolved,
    }
}

/// TCP whose window follows from the link, if it is to: what is on its way, and the segment for which a receiver that
/// acknowledges every second one waits.
fn clamp(tcp: Tcp, link: &LinkConfig) -> airperf_tcp::Config {
    let mut config = tcp.config;
    if let Some(packets) = link.packets_on_their_way().filter(|_| tcp.clamp_of_link) {
        let bytes = packets.saturating_add(1).saturating_mul(config.segment_payload_bytes());
        config.window_clamp_bytes = Some(bytes.max(config.mss_bytes));
    }
    config
}

/// Every flow with its station: a client's, or the next after the clients'.
fn place_flows(parts: &[FlowPart], stations: &[Station], clients: usize) -> Vec<Flow> {
    let mut next = clients + 1;
    let mut flows = Vec::new();
    for (group, part) in (0..).zip(parts) {
        let keys = &part.flow;
        let shared = stations.iter().position(|station| Some(&station.name) == keys.client.as_ref());
        let station = match shared {
            Some(place) => place,
            None => {
                next += 1;
                next - 1
            }
        };
        flows.extend(keys.parts().into_iter().map(|part| Flow {
            station: StationId(station as u16),
            to_server: keys.up,
            medium: part.medium,
            group,
            config: FlowConfig { kind: part.kind, start: keys.start, duration: keys.duration },
            playout: part.playout,
        }));
    }
    flows
}

/// The time during which a station's channel is worse.
fn fade(part: &StationPart) -> Option<Fade> {
    (part.fade_error > 0.0).then(|| Fade {
        from: Time::ZERO + part.fade_start,
        until: part.fade_end.map_or(Time::MAX, |end| Time::ZERO + end),
        error: part.fade_error,
    })
}

/// The link with all its stations.
fn finish(link: Link, stations: &[&StationPart]) -> LinkConfig {
    match link {
        Link::Wifi(wifi) => {
            let mut config = wifi.config;
            config.stations = stations
                .iter()
                .map(|part| StationConfig {
                    rate: part.rate.unwrap_or(wifi.station.rate),
                    queue_packets: part.queue_packets.unwrap_or(wifi.station.queue_packets),
                    host_gap: part.host_gap,
                    host_gap_spread: part.host_gap_spread,
                    frame_error: part.frame_error.unwrap_or(wifi.station.frame_error),
                    fade: fade(part),
                    ..wifi.station.clone()
                })
                .collect();
            LinkConfig::Wifi { config, radio: wifi.radio }
        }
        Link::Ethernet(ethernet) => {
            let mut config = ethernet.config;
            config.stations = wired(stations, ethernet.queue_packets);
            LinkConfig::Ethernet(config)
        }
        Link::Switch(switch) => {
            let mut config = switch.config;
            config.stations = wired(stations, switch.queue_packets);
            LinkConfig::Switch(config)
        }
        Link::Access(access) => {
            let Access { mtu, shared, rrc, down, up, .. } = *access;
            let rrc = rrc.config();
            let queues = queues(stations, down.queue_packets, up.queue_packets);
            let stations = queues.map(|queue_packets| AccessStation { queue_packets }).collect();
            LinkConfig::Access(AccessConfig {
                stations,
                mtu,
                shared,
                rrc,
                down: down.direction,
                up: up.direction,
            })
        }
        Link::Gprs(gprs) => {
            let mut config = gprs.config();
            let queues = queues(stations, gprs.down.queue_packets, gprs.up.queue_packets);
            config.stations =
                queues.map(|queue_packets| airperf_wwan::StationConfig { queue_packets }).collect();
            LinkConfig::Gprs(config)
        }
    }
}

/// Places of every station's queue, where the link says one thing for the server and another for the clients.
fn queues(stations: &[&StationPart], server: u32, client: u32) -> impl Iterator<Item = u32> {
    let of_link = move |id| if id == 0 { server } else { client };
    stations.iter().enumerate().map(move |(id, part)| part.queue_packets.unwrap_or(of_link(id)))
}

/// A browser at its station.
fn browser(station: u16, part: &BrowserPart, reply_header_bytes: u32, link: &LinkConfig) -> Browser {
    let keys = &part.browser;
    let (page, name) = match &keys.read {
        Some((file, _)) => (file.page.clone(), file.name.clone()),
        None => Default::default(),
    };
    Browser {
        station: StationId(station),
        name,
        page: Arc::new(page),
        config: Arc::new(keys.finish(reply_header_bytes)),
        datagrams: if keys.udp { datagrams(link, keys.udp_fec) } else { None },
        start: keys.start,
        loads: keys.loads,
        pause: keys.pause,
    }
}

/// The ends of reliable UDP over a link: the server's and the browser's.
fn datagrams(link: &LinkConfig, fec: bool) -> Option<[airperf_rudp::Config; 2]> {
    let (rates, (_, round_trip)) = (link.rates()?, link.path()?);
    let end = |rate| airperf_rudp::Config {
        datagram_bytes: (link.mtu().min(1500) as u16).saturating_sub(airperf_rudp::HEADER_BYTES).max(1),
        fec: fec.then_some(REPAIR),
        ..airperf_rudp::Config::over(rate, round_trip)
    };
    Some(rates.map(end))
}

/// Repair datagrams follow the loss; one group in a hundred may need a repetition (ours).
const REPAIR: airperf_rudp::Fec =
    airperf_rudp::Fec { data: 8, repair: 0, target: Some(0.01), hold: Duration::from_ms(100) };

/// The files that are named, each once.
fn files(link: &Link, browsers: &[BrowserPart]) -> Vec<NamedFile> {
    let mut files = traces(link);
    files.extend(browsers.iter().filter_map(|part| {
        let (_, text) = part.browser.read.as_ref()?;
        Some(NamedFile { kind: FileKind::Page, sha256: part.browser.sha256.clone(), text: text.clone() })
    }));
    files.sort_by_key(NamedFile::name);
    files.dedup();
    files
}

/// The traces of a link.
fn traces(link: &Link) -> Vec<NamedFile> {
    let trace = |sha256: &str, text: &str| NamedFile {
        kind: FileKind::Trace,
        sha256: sha256.to_owned(),
        text: text.to_owned(),
    };
    let access = match link {
        Link::Access(access) => access,
        Link::Gprs(gprs) => {
            return gprs.read.iter().map(|(_, text)| trace(&gprs.channel_sha256, text)).collect();
        }
        _ => return Vec::new(),
    };
    let heavy = |way: &Way| Some(trace(&way.sha256, &way.read.as_ref()?.1));
    let light = |way: &Way| Some(trace(&way.light_sha256, way.light_text.as_ref()?));
    [&access.down, &access.up].into_iter().flat_map(|way| heavy(way).into_iter().chain(light(way))).collect()
}

fn wired(stations: &[&StationPart], queue_packets: u32) -> Vec<EthernetStation> {
    let queue = |part: &StationPart| part.queue_packets.unwrap_or(queue_packets);
    stations.iter().map(|part| EthernetStation { queue_packets: queue(part) }).collect()
}

/// The keys of a table as they are in force.
fn shown<T>(keys: &'static [Key<T>], of: &T) -> impl Iterator<Item = (String, Json)> {
    keys.iter().map(move |key| (key.name.to_owned(), key.shown(of)))
}

fn resolve(parts: &Parts) -> Json {
    let radio: &'static [Key<StationPart>] = match &parts.link {
        Link::Wifi(_) => &RADIO,
        _ => &[],
    };
    let station = |part: &StationPart| -> Vec<(String, Json)> {
        shown(&STATION, part).chain(shown(radio, part)).collect()
    };
    let link = match &parts.link {
        Link::Wifi(wifi) => object(shown(&KIND, &Kind(Some("wifi"))).chain(shown(&WIFI, wifi))),
        Link::Ethernet(ethernet) => {
            object(shown(&KIND, &Kind(Some("ethernet"))).chain(shown(&ETHERNET, ethernet)))
        }
        Link::Switch(switch) => object(shown(&KIND, &Kind(Some("switch"))).chain(shown(&SWITCH, switch))),
        Link::Access(access) => {
            let way = |way: &Way| {
                object(Access::way_keys(access.kind).map(|key| (key.name.to_owned(), key.shown(way))))
            };
            let ways = WAYS.into_iter().zip([way(&access.down), way(&access.up)]);
            let ways = ways.map(|(name, way)| (name.to_owned(), way));
            object(shown(&KIND, &Kind(Some(access.kind))).chain(shown(&ACCESS, access)).chain(ways))
        }
        Link::Gprs(gprs) => {
            let way = |way: &GprsWay| object(shown(&GPRS_WAY, way));
            let ways = WAYS.into_iter().zip([way(&gprs.down), way(&gprs.up)]);
            let ways = ways.map(|(name, way)| (name.to_owned(), way));
            object(shown(&KIND, &Kind(Some("gprs"))).chain(shown(&GPRS, gprs)).chain(ways))
        }
    };
    let server = object(shown(&SERVER, &parts.server).chain(station(&parts.server_station)));
    let flows: Vec<Json> = parts
        .flows
        .iter()
        .map(|part| {
            let own = FlowKeys::own_keys(part.flow.kind);
            let keys = shown(&FLOW, &part.flow).chain(shown(own, &part.flow));
            object(keys.chain(part.station.iter().flat_map(station)))
        })
        .collect();
    let clients: Vec<Json> = parts
        .clients
        .iter()
        .map(|part| object(shown(&CLIENT, &part.client).chain(station(&part.station))))
        .collect();
    let browsers: Vec<Json> = parts
        .browsers
        .iter()
        .map(|part| object(shown(&BROWSER, &part.browser).chain(station(&part.station))))
        .collect();
    let tables = [
        ("link", link),
        ("tcp", object(shown(&TCP, &parts.tcp))),
        ("server", server),
        ("record", object(shown(&RECORD, &parts.record))),
        ("emu", object(shown(&EMU, &parts.emu))),
    ];
    // Lists that are empty are left out: none is to be written in a scenario.
    let lists = [("client", clients), ("flow", flows), ("browser", browsers)];
    let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
    let lists = lists.map(|(name, list)| (name, Json::Array(list)));
    let tables = tables.into_iter().chain(lists).map(|(name, table)| (name.to_owned(), table));
    object(shown(&TOP, &parts.top).chain(tables))
}

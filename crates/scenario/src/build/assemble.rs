//! Puts checked parts together: the models' Config types, and the resolved form.
//!
//! Left out: anything that could fail; the parts have been checked.

use super::{Link, Parts};
use crate::keys::client::{CLIENT, RADIO, STATION, Station as StationPart};
use crate::keys::link::{ETHERNET, KIND, Kind, WIFI};
use crate::keys::run::{EMU, RECORD, TOP};
use crate::keys::server::SERVER;
use crate::keys::tcp::TCP;
use crate::scenario::object;
use crate::setting::Key;
use crate::{Client, LinkConfig, Role, Scenario, Server, Station};
use airperf_link::StationId;
use airperf_link::ethernet::EthernetStation;
use airperf_wifi::StationConfig;
use serde_json::Value as Json;

pub(super) fn assemble(parts: Parts) -> Scenario {
    let resolved = resolve(&parts);
    let Parts { top, link, tcp, server, server_station, clients, record, emu } = parts;
    let each: Vec<&StationPart> =
        std::iter::once(&server_station).chain(clients.iter().map(|client| &client.station)).collect();
    let stations = (0..)
        .zip(&each)
        .map(|(id, part)| Station {
            name: part.name.clone().unwrap_or_default(),
            role: if id == 0 { Role::Server } else { Role::Client },
        })
        .collect();
    let link = finish(link, &each);
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
        tcp: tcp.config,
        server: Server { station: StationId(0), http: server.finish(), tick_phase: server.tick_phase },
        clients,
        stations,
        record,
        emu,
        warnings: Vec::new(),
        text: String::new(),
        resolved,
    }
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
                    ..wifi.station.clone()
                })
                .collect();
            LinkConfig::Wifi { config, radio: wifi.radio }
        }
        Link::Ethernet(ethernet) => {
            let mut config = ethernet.config;
            config.stations = stations
                .iter()
                .map(|part| EthernetStation {
                    queue_packets: part.queue_packets.unwrap_or(ethernet.queue_packets),
                })
                .collect();
            LinkConfig::Ethernet(config)
        }
    }
}

/// The keys of a table as they are in force.
fn shown<T>(keys: &'static [Key<T>], of: &T) -> impl Iterator<Item = (String, Json)> {
    keys.iter().map(move |key| (key.name.to_owned(), key.shown(of)))
}

fn resolve(parts: &Parts) -> Json {
    let radio: &'static [Key<StationPart>] = match &parts.link {
        Link::Wifi(_) => &RADIO,
        Link::Ethernet(_) => &[],
    };
    let station = |part: &StationPart| -> Vec<(String, Json)> {
        shown(&STATION, part).chain(shown(radio, part)).collect()
    };
    let link = match &parts.link {
        Link::Wifi(wifi) => object(shown(&KIND, &Kind(Some("wifi"))).chain(shown(&WIFI, wifi))),
        Link::Ethernet(ethernet) => {
            object(shown(&KIND, &Kind(Some("ethernet"))).chain(shown(&ETHERNET, ethernet)))
        }
    };
    let server = object(shown(&SERVER, &parts.server).chain(station(&parts.server_station)));
    let clients = parts
        .clients
        .iter()
        .map(|part| object(shown(&CLIENT, &part.client).chain(station(&part.station))))
        .collect();
    let tables = [
        ("link", link),
        ("tcp", object(shown(&TCP, &parts.tcp))),
        ("server", server),
        ("client", Json::Array(clients)),
        ("record", object(shown(&RECORD, &parts.record))),
        ("emu", object(shown(&EMU, &parts.emu))),
    ];
    object(shown(&TOP, &parts.top).chain(tables.map(|(name, table)| (name.to_owned(), table))))
}

//! From text to [`Scenario`]: tables are read one by one, then what lies between keys is checked.
//!
//! Every check runs whatever the others found, except those that would only repeat a problem already
//! noted. Left out: checks of single values; those are in the tables of [`crate::keys`].

mod assemble;
mod browser;
mod link;
mod relations;
mod session;
mod traffic;

use crate::document::{self, Table, Value};
use crate::files::Folder;
use crate::keys::access::ACCESS;
use crate::keys::browser::BROWSER;
use crate::keys::client::{CLIENT, Client, RADIO, STATION, Station};
use crate::keys::gprs::GPRS;
use crate::keys::link::{ETHERNET, SWITCH, WIFI};
use crate::keys::run::{EMU, RECORD, TOP, Top};
use crate::keys::server::{SERVER, Server};
use crate::keys::tcp::{TCP, Tcp};
use crate::keys::traffic::{FLOW, STREAM_FLOW, TCP_FLOW, UDP_FLOW};
use crate::problem::{Findings, Place, Problems, Sources};
use crate::reader::Section;
use crate::setting::Key;
use crate::{EmuSettings, RecordSettings, Scenario};
use link::Link;
use serde_json::Value as Json;

/// Longer texts are not scenarios.
const MAX_BYTES: usize = 1 << 20;
/// Tables at the top of a scenario.
const TABLES: [&str; 8] = ["link", "tcp", "server", "client", "flow", "browser", "record", "emu"];

/// All tables as read: every value is in its range, absent and wrong ones are at their defaults.
struct Parts {
    top: Top,
    link: Link,
    tcp: Tcp,
    server: Server,
    server_station: Station,
    clients: Vec<ClientPart>,
    flows: Vec<traffic::FlowPart>,
    browsers: Vec<browser::BrowserPart>,
    record: RecordSettings,
    emu: EmuSettings,
}

/// One `[[client]]`.
struct ClientPart {
    station: Station,
    client: Client,
}

pub(crate) fn build(text: &str, name: &str, overrides: &[(String, String)]) -> Result<Scenario, Problems> {
    let mut findings = Findings::new(Sources::new(name, text));
    let mut root = Table::default();
    if text.len() > MAX_BYTES {
        let message = format!("this text has {} bytes", text.len());
        findings.problem(&Place::default(), "", message, "a scenario has at most 1 MiB");
    } else {
        root = document::parse(text, &mut findings);
    }
    for (key, value) in overrides {
        document::graft(&mut root, key, value, &mut findings);
    }
    if let Some(entry) = root.get("server")
        && let Value::Table(inner) = &entry.node.value
    {
        let section = Section { path: "server", place: &entry.key_place, table: Some(inner) };
        relations::admission(&section, &mut findings);
    }
    if let Some(entry) = root.get("link")
        && let Value::Table(inner) = &entry.node.value
    {
        let section = Section { path: "link", place: &entry.key_place, table: Some(inner) };
        relations::rrc(&section, &mut findings);
    }
    let scenario = finish(&root, &Folder::of(name), findings)?;
    Ok(Scenario { text: text.to_owned(), ..scenario })
}

/// Reads a resolved form back.
pub(crate) fn rebuild(resolved: &Json, name: &str, folder: &Folder) -> Result<Scenario, Problems> {
    let root = document::from_json(resolved);
    let scenario = finish(&root, folder, Findings::new(Sources::new(name, "")))?;
    Ok(Scenario { text: resolved.to_string(), ..scenario })
}

fn finish(root: &Table, folder: &Folder, mut findings: Findings) -> Result<Scenario, Problems> {
    let parts = read(root, folder, &mut findings);
    let warnings = findings.finish()?;
    let scenario = Scenario { warnings, ..assemble::assemble(parts) };
    debug_assert_eq!(scenario.check(), Ok(()), "the keys' ranges and relations admit what a model refuses");
    Ok(scenario)
}

fn read(root: &Table, folder: &Folder, findings: &mut Findings) -> Parts {
    let top_section = Section { path: "", place: &Place::default(), table: Some(root) };
    let mut top = Top::default();
    top_section.read(&TOP, &mut top, findings);
    let known: Vec<&str> = names(&TOP).chain(TABLES).collect();
    top_section.reject_unknown(&known, |key| home(key, ""), findings);

    let link = link::read(&table(root, "link", true, findings), folder, findings);
    let mut tcp = Tcp::default();
    let tcp_section = table(root, "tcp", false, findings);
    tcp_section.read_all(&TCP, &mut tcp, findings);
    relations::tcp(&tcp_section, &mut tcp, link.mtu(), findings);

    let (mut record, mut emu) = (RecordSettings::default(), EmuSettings::default());
    table(root, "record", false, findings).read_all(&RECORD, &mut record, findings);
    table(root, "emu", false, findings).read_all(&EMU, &mut emu, findings);

    let (mut server, mut server_station) = (Server::default(), Station::default());
    let server_section = table(root, "server", false, findings);
    server_section.read(&SERVER, &mut server, findings);
    read_station(&server_section, &mut server_station, names(&SERVER), &link, findings);
    server_station.name.get_or_insert_with(|| "server".to_owned());

    let tables = client_tables(root, findings);
    let mut stations = relations::Names::new(&server_section, &server_station);
    let mut clients = Vec::new();
    for (number, (path, place, entries)) in tables.iter().enumerate() {
        let section = Section { path, place, table: Some(entries) };
        let (mut station, mut client) = (Station::default(), Client::default());
        section.read(&CLIENT, &mut client, findings);
        read_station(&section, &mut station, names(&CLIENT), &link, findings);
        relations::arrivals(&section, &mut client, findings);
        session::put_together(&section, &mut client, findings);
        relations::client(&section, &client, &server.config, top.duration, findings);
        if station.name.is_none() {
            let single = tables.len() == 1;
            station.name = Some(if single { "client".to_owned() } else { format!("client-{}", number + 1) });
        }
        for station in stations.add(&section, &station, client.count, findings) {
            clients.push(ClientPart { station, client: Client { count: 1, ..client.clone() } });
        }
    }
    let flows = traffic::read(root, &link, &clients, top.duration, &mut stations, findings);
    let browsers = browser::read(root, &link, folder, &mut stations, findings);
    if tcp.config.back_pressure && !(flows.is_empty() && browsers.is_empty()) {
        let message = "back-pressure is not modelled for a [[flow]] or a [[browser]]";
        let place = tcp_section.place_of("back_pressure");
        findings.problem(place, "tcp.back_pressure", message, "leave one of the two out");
    }
    if tcp.clamp_of_link && !matches!(link, Link::Access(_) | Link::Gprs(_)) {
        let message = "the stations of this link share it, so nobody knows what each can have on its way";
        let place = tcp_section.place_of("window_clamp");
        findings.problem(place, "tcp.window_clamp", message, "give it in octets");
    }
    if tcp.config.back_pressure && matches!(link, Link::Access(_) | Link::Gprs(_)) {
        let message = "the queues of this link are the network's, and no sender sees them";
        let place = tcp_section.place_of("back_pressure");
        findings.problem(place, "tcp.back_pressure", message, "leave it out, or take another link");
    }
    Parts { top, link, tcp, server, server_station, clients, flows, browsers, record, emu }
}

fn names<T>(keys: &'static [Key<T>]) -> impl Iterator<Item = &'static str> {
    keys.iter().map(|key| key.name)
}

fn has<T>(keys: &[Key<T>], name: &str) -> bool {
    keys.iter().any(|key| key.name == name)
}

/// The table in which a key of this name is at home, if that is another than the one it was found in.
pub(crate) fn home(key: &str, found_in: &str) -> Option<&'static str> {
    let homes = [
        ("", "the top, before every table", has(&TOP, key)),
        (
            "link",
            "[link]",
            has(&WIFI, key)
                || has(&ETHERNET, key)
                || has(&SWITCH, key)
                || has(&ACCESS, key)
                || has(&GPRS, key),
        ),
        ("tcp", "[tcp]", has(&TCP, key)),
        ("client", "[[client]]", has(&CLIENT, key)),
        ("server", "[server]", has(&SERVER, key)),
        ("browser", "[[browser]]", has(&BROWSER, key)),
        ("flow", "[[flow]]", has(&FLOW, key)),
        ("tcp flow", "a [[flow]] of kind \"tcp\"", has(&TCP_FLOW, key)),
        ("udp flow", "a [[flow]] of kind \"udp\"", has(&UDP_FLOW, key)),
        ("stream", "a [[flow]] of kind \"stream\"", has(&STREAM_FLOW, key)),
        ("station", "[[client]] and [server] of a wifi link", has(&RADIO, key)),
        ("record", "[record]", has(&RECORD, key)),
        ("emu", "[emu]", has(&EMU, key)),
    ];
    homes.into_iter().find(|(table, _, holds)| *holds && *table != found_in).map(|(_, title, _)| title)
}

/// A table of the document; an empty one at the document's beginning when it is absent.
fn table<'a>(root: &'a Table, name: &'static str, required: bool, findings: &mut Findings) -> Section<'a> {
    const NOWHERE: &Place = &Place { source: 0, at: 0..0 };
    let Some(entry) = root.get(name) else {
        if required {
            findings.missing(NOWHERE, name, &format!("a table [{name}]"));
        }
        return Section { path: name, place: NOWHERE, table: None };
    };
    let Value::Table(inner) = &entry.node.value else {
        let message = format!("this is {}, and a table is wanted", entry.node.value.type_name());
        findings.problem(&entry.key_place, name, message, format!("write [{name}] once"));
        return Section { path: name, place: &entry.key_place, table: None };
    };
    Section { path: name, place: &entry.key_place, table: Some(inner) }
}

/// Reads what `[server]` and `[[client]]` say about their station; `own` are their other keys.
fn read_station(
    section: &Section<'_>,
    into: &mut Station,
    own: impl Iterator<Item = &'static str>,
    link: &Link,
    findings: &mut Findings,
) {
    section.read(&STATION, into, findings);
    let mut known: Vec<&str> = own.chain(names(&STATION)).collect();
    if let Link::Wifi(wifi) = link {
        section.read(&RADIO, into, findings);
        known.extend(names(&RADIO));
        into.rate.get_or_insert(wifi.station.rate);
        into.frame_error.get_or_insert(wifi.station.frame_error);
        relations::fade(section, into, findings);
    }
    let queue = link.queue_packets(section.path == "server");
    let own = *into.queue_packets.get_or_insert(queue);
    relations::shared_queue(section, link, own == queue, findings);
    let table = ["server", "flow", "browser"]
        .into_iter()
        .find(|name| section.path.starts_with(name))
        .unwrap_or("client");
    section.reject_unknown(&known, |key| home(key, table), findings);
}

/// Every `[[client]]` with its path and place; none at all is a problem unless there is a `[[flow]]` or a `[[browser]]`.
fn client_tables<'a>(root: &'a Table, findings: &mut Findings) -> Vec<(String, &'a Place, &'a Table)> {
    if ["client", "flow", "browser"].iter().all(|name| root.get(name).is_none()) {
        findings.missing(
            &Place::default(),
            "client",
            "at least one table [[client]], [[flow]] or [[browser]]",
        );
    }
    list_of_tables(root, "client", "once for each kind of client", findings)
}

/// Every `[[name]]` with its path and place; nothing when it is absent, and a problem when the list is empty.
fn list_of_tables<'a>(
    root: &'a Table,
    name: &str,
    how_often: &str,
    findings: &mut Findings,
) -> Vec<(String, &'a Place, &'a Table)> {
    let Some(entry) = root.get(name) else { return Vec::new() };
    let write = format!("write [[{name}]], {how_often}");
    let Value::Array(items) = &entry.node.value else {
        let message = format!("this is {}, and a list of tables is wanted", entry.node.value.type_name());
        findings.problem(&entry.key_place, name, message, write);
        return Vec::new();
    };
    if items.is_empty() {
        let hint = format!("write at least one table [[{name}]]");
        findings.problem(&entry.node.place, name, format!("there is no {name}"), hint);
    }
    let mut tables = Vec::new();
    for (number, item) in (1..).zip(items) {
        let path = if items.len() == 1 { name.to_owned() } else { format!("{name}[{number}]") };
        match &item.value {
            Value::Table(inner) => tables.push((path, &item.place, inner)),
            other => {
                let message = format!("this is {}, and a table is wanted", other.type_name());
                findings.problem(&item.place, &path, message, write.clone());
            }
        }
    }
    tables
}

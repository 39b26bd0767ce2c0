//! The reference page of the format, written from the same tables that read it.
//!
//! Left out: the words around the tables, which stand in the page itself.

use crate::keys::access::{ACCESS, Access, GENERIC_WAY, TRACE_WAY, WAY, Way};
use crate::keys::browser::{BROWSER, Browser};
use crate::keys::client::{CLIENT, Client, RADIO, STATION, Station};
use crate::keys::gprs::{GPRS, GPRS_WAY, Gprs};
use crate::keys::link::{ETHERNET, Ethernet, KIND, Kind, SWITCH, Switch, WIFI, Wifi};
use crate::keys::run::{EMU, RECORD, TOP, Top};
use crate::keys::server::{SERVER, Server};
use crate::keys::tcp::{TCP, Tcp};
use crate::keys::traffic::{FLOW, Flow, STREAM_FLOW, TCP_FLOW, UDP_FLOW};
use crate::page::{HEAD, Head, LISTED, Listed, STATISTICS, Statistics};
use crate::setting::Key;
use crate::{EmuSettings, RecordSettings};
use serde_json::Value as Json;
use std::fmt::Write;

/// Every table of the format as Markdown: key, what may be written, default, meaning.
pub fn reference() -> String {
    let mut page = String::new();
    section(&mut page, "Top of the file", "", &TOP, &Top::default(), &[]);
    section(&mut page, "`[link]`", "Always:", &KIND, &Kind::default(), &[]);
    let derived = [("difs", "SIFS + 2 slots")];
    section(&mut page, "", "With `kind = \"wifi\"`:", &WIFI, &Wifi::default(), &derived);
    section(&mut page, "", "With `kind = \"ethernet\"`:", &ETHERNET, &Ethernet::default(), &[]);
    section(&mut page, "", "With `kind = \"switch\"`:", &SWITCH, &Switch::default(), &[]);
    let text = "With `kind = \"generic\"` or `kind = \"trace\"`; it also needs `[link.down]` and `[link.up]`, which are below:";
    section(&mut page, "", text, &ACCESS, &Access::new("generic"), &[]);
    section(&mut page, "", "With `kind = \"gprs\"`:", &GPRS, &Gprs::default(), &[]);
    let text = "The directions of such links: from the server to the clients, and back. With `kind = \"generic\"` and\n`kind = \"trace\"`:";
    section(&mut page, "`[link.down]`, `[link.up]`", text, &WAY, &Way::default(), &[]);
    section(&mut page, "", "With `kind = \"generic\"` also:", &GENERIC_WAY, &Way::default(), &[]);
    section(&mut page, "", "With `kind = \"trace\"` also:", &TRACE_WAY, &Way::default(), &[]);
    let text = "With `kind = \"gprs\"`; the tables may be left out, and defaults are those of `[link.down]`. `[link.up]` has 1 slot,\n`access` 220 ms, `access_linked` 180 ms and `keep` 0 s:";
    section(&mut page, "", text, &GPRS_WAY, &Gprs::default().down, &[]);
    profiles(&mut page);
    section(&mut page, "`[server]`", "The program:", &SERVER, &Server::default(), &[]);
    let station = Station { name: Some("server".to_owned()), ..Station::default() };
    section(
        &mut page,
        "",
        "Its station, as for every client:",
        &STATION,
        &station,
        &[("station", "`\"server\"`, `\"client\"`")],
    );
    section(&mut page, "", "On a link of kind \"wifi\" also:", &RADIO, &station, &[]);
    let text =
        "One table for each kind of client station. Beside these keys it takes those of a station above.";
    section(&mut page, "`[[client]]`", text, &CLIENT, &Client::default(), &[]);
    let text = "One table for each kind of flow between a station and the server. A flow with a station of its own takes\nthe keys of a station too.";
    section(&mut page, "`[[flow]]`", text, &FLOW, &Flow::default(), &[]);
    section(&mut page, "", "With `kind = \"tcp\"`:", &TCP_FLOW, &Flow::default(), &[]);
    section(&mut page, "", "With `kind = \"udp\"`:", &UDP_FLOW, &Flow::default(), &[]);
    section(&mut page, "", "With `kind = \"stream\"`:", &STREAM_FLOW, &Flow::default(), &[]);
    let text = "One table for each station whose user loads a page. Beside these keys it takes those of a station above. In\nsimulation the browser is [modelled](../models/browser.md), on the emulated testbed it is Chromium, and keys that it cannot be told are\n[refused](../models/browser.md#by-a-real-browser).";
    section(&mut page, "`[[browser]]`", text, &BROWSER, &Browser::default(), &[]);
    section(&mut page, "`[record]`", "", &RECORD, &RecordSettings::default(), &[]);
    section(
        &mut page,
        "`[emu]`",
        "Only the emulated testbed reads this table.",
        &EMU,
        &EmuSettings::default(),
        &[],
    );
    let text = "A `[[browser]]` loads a page that a file of its own describes; `airperf host` and `airperf browse --site` take such a file too.\nIt says either what is known of the page, and the rest is made up, or every object.\n\nAlways:";
    section(&mut page, "Page files", text, &HEAD, &Head::default(), &[]);
    section(&mut page, "", "Of a page by its statistics:", &STATISTICS, &Statistics::default(), &[]);
    let text = "Object by object, in each `[[object]]`; the first is the page itself:";
    section(&mut page, "", text, &LISTED, &Listed::default(), &[]);
    page
}

fn heading(page: &mut String, title: &str, text: &str) {
    for (mark, line) in [("## ", title), ("", text)] {
        if !line.is_empty() {
            let _ = writeln!(page, "{mark}{line}\n");
        }
    }
}

fn section<T>(
    page: &mut String,
    title: &str,
    text: &str,
    keys: &[Key<T>],
    defaults: &T,
    derived: &[(&str, &str)],
) {
    heading(page, title, text);
    let _ = writeln!(page, "| key | value | default | meaning |\n|---|---|---|---|");
    for key in keys {
        let default = match derived.iter().find(|(name, _)| *name == key.name) {
            Some((_, text)) => (*text).to_owned(),
            None if key.required => "required".to_owned(),
            None => literal(&key.shown(defaults)),
        };
        row(page, key, &[default]);
    }
    page.push('\n');
}

fn row<T>(page: &mut String, key: &Key<T>, defaults: &[String]) {
    let wanted = key.form.wanted(key.words).replace('|', "\\|");
    let _ = writeln!(page, "| `{}` | {wanted} | {} | {} |", key.name, defaults.join(" | "), key.meaning);
}

fn literal(value: &Json) -> String {
    if value.as_str() == Some("") { "none".to_owned() } else { format!("`{value}`") }
}

/// `[tcp]` with one column of defaults for each profile.
fn profiles(page: &mut String) {
    let text = "Defaults are those of the profile; the profile itself defaults to `\"linux-6\"`.";
    heading(page, "`[tcp]`", text);
    let names = airperf_tcp::Config::PROFILES;
    let kernels: Vec<Tcp> = names.iter().filter_map(|name| Tcp::of(name)).collect();
    let _ = writeln!(
        page,
        "| key | value | {} | meaning |\n|---|---|{}---|",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    for key in &TCP {
        let defaults: Vec<String> = match key.name {
            "mss" => kernels.iter().map(|_| "MTU − 40 B".to_owned()).collect(),
            _ => kernels.iter().map(|kernel| literal(&key.shown(kernel))).collect(),
        };
        row(page, key, &defaults);
    }
    page.push('\n');
}

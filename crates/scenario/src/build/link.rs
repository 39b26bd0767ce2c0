//! `[link]`, whichever kind it is.
//!
//! Left out: its stations, which [`super::assemble`] puts in.

use super::{has, home, names, relations};
use crate::document::Value;
use crate::files::{Folder, Kind as FileKind, sha256};
use crate::keys::access::{ACCESS, Access, GENERIC_WAY, TRACE_WAY, WAY, Way};
use crate::keys::gprs::{GPRS, GPRS_WAY, Gprs, GprsWay};
use crate::keys::link::{ETHERNET, Ethernet, KIND, Kind, SWITCH, Switch, WIFI, Wifi};
use crate::problem::Findings;
use crate::reader::Section;
use airperf_link::access::Capacity;
use airperf_link::trace::{LightTrace, Trace};
use airperf_wwan::Channel;
use std::sync::Arc;

/// `[link]`; which of them is decided by `kind`.
pub(super) enum Link {
    Wifi(Box<Wifi>),
    Ethernet(Ethernet),
    Switch(Switch),
    Access(Box<Access>),
    Gprs(Box<Gprs>),
}

/// The names of the directions of an access link.
pub(super) const WAYS: [&str; 2] = ["down", "up"];

impl Link {
    /// Longest IP packet.
    pub(super) fn mtu(&self) -> u32 {
        match self {
            Self::Wifi(wifi) => wifi.config.mtu,
            Self::Ethernet(ethernet) => ethernet.config.mtu,
            Self::Switch(switch) => switch.config.mtu,
            Self::Access(access) => access.mtu,
            Self::Gprs(gprs) => gprs.mtu,
        }
    }

    /// The rate nothing on it exceeds.
    pub(super) fn rate(&self) -> airperf_units::Rate {
        match self {
            Self::Wifi(wifi) => wifi.config.phy.rates.iter().copied().max().unwrap_or(wifi.station.rate),
            Self::Ethernet(ethernet) => ethernet.config.rate,
            Self::Switch(switch) => switch.config.rate,
            Self::Access(access) => {
                access.down.direction.capacity.rate().max(access.up.direction.capacity.rate())
            }
            Self::Gprs(gprs) => {
                let config = gprs.config();
                config.down.payload_rate(config.family).max(config.up.payload_rate(config.family))
            }
        }
    }

    /// Places of the transmit queue of the server, or of a client, that says nothing of its own.
    pub(super) fn queue_packets(&self, is_server: bool) -> u32 {
        match self {
            Self::Wifi(wifi) => wifi.station.queue_packets,
            Self::Ethernet(ethernet) => ethernet.queue_packets,
            Self::Switch(switch) => switch.queue_packets,
            Self::Access(access) if is_server => access.down.queue_packets,
            Self::Access(access) => access.up.queue_packets,
            Self::Gprs(gprs) if is_server => gprs.down.queue_packets,
            Self::Gprs(gprs) => gprs.up.queue_packets,
        }
    }
}

/// The kind of link that has a key of this name, in the words of a hint.
fn other_home(kind: &str, key: &str) -> Option<&'static str> {
    match kind {
        "generic" | "trace" if has(&WAY, key) || has(&GENERIC_WAY, key) || has(&TRACE_WAY, key) => {
            Some("[link.down] and [link.up]")
        }
        "gprs" if has(&GPRS_WAY, key) => Some("[link.down] and [link.up]"),
        "generic" | "trace" | "gprs" if has(&WIFI, key) => Some("a link of kind \"wifi\""),
        "ethernet" | "switch" if has(&WIFI, key) => Some("a link of kind \"wifi\""),
        "ethernet" | "wifi" | "generic" | "trace" if has(&SWITCH, key) && !has(&ETHERNET, key) => {
            Some("a link of kind \"switch\"")
        }
        "wifi" | "generic" | "trace" if has(&ETHERNET, key) => Some("a link of kind \"ethernet\""),
        "wifi" | "ethernet" | "switch" if WAYS.contains(&key) => {
            Some("a link of kind \"generic\", \"trace\" or \"gprs\"")
        }
        "gprs" if has(&ACCESS, key) => Some("a link of kind \"generic\" or \"trace\""),
        _ if kind != "gprs" && has(&GPRS, key) => Some("a link of kind \"gprs\""),
        _ => home(key, "link"),
    }
}

pub(super) fn read(section: &Section<'_>, folder: &Folder, findings: &mut Findings) -> Link {
    let mut kind = Kind::default();
    // An absent table was noted as a whole.
    if section.table.is_some() {
        section.read(&KIND, &mut kind, findings);
    }
    let kind = kind.0.unwrap_or_default();
    let own: Vec<&str> = match kind {
        "ethernet" => names(&ETHERNET).collect(),
        "switch" => names(&SWITCH).collect(),
        "generic" | "trace" => names(&ACCESS).chain(WAYS).collect(),
        "gprs" => names(&GPRS).chain(WAYS).collect(),
        _ => names(&WIFI).collect(),
    };
    let known: Vec<&str> = names(&KIND).chain(own).collect();
    section.reject_unknown(&known, |key| other_home(kind, key), findings);
    match kind {
        "ethernet" => {
            let mut ethernet = Ethernet::default();
            section.read(&ETHERNET, &mut ethernet, findings);
            Link::Ethernet(ethernet)
        }
        "switch" => {
            let mut switch = Switch::default();
            section.read(&SWITCH, &mut switch, findings);
            Link::Switch(switch)
        }
        "generic" | "trace" => {
            let mut access = Access::new(kind);
            section.read(&ACCESS, &mut access, findings);
            let mtu = access.mtu;
            let [down, up] = WAYS.map(|name| way(section, name, kind, mtu, folder, findings));
            Link::Access(Box::new(Access { down, up, ..access }))
        }
        "gprs" => {
            let mut gprs = Gprs::default();
            section.read(&GPRS, &mut gprs, findings);
            gprs_way(section, WAYS[0], gprs.mtu, &mut gprs.down, findings);
            gprs_way(section, WAYS[1], gprs.mtu, &mut gprs.up, findings);
            relations::gprs(section, &gprs, findings);
            if !gprs.channel.is_empty() {
                read_channel(section, &mut gprs, folder, findings);
            }
            Link::Gprs(Box::new(gprs))
        }
        _ => {
            let mut wifi = Wifi::default();
            section.read(&WIFI, &mut wifi, findings);
            relations::wifi(section, &wifi, findings);
            Link::Wifi(Box::new(wifi))
        }
    }
}

/// The table of a direction; `required` notes an absent one.
fn way_table<'a>(
    link: &Section<'a>,
    path: &'a str,
    name: &str,
    required: bool,
    findings: &mut Findings,
) -> Option<Section<'a>> {
    let Some(entry) = link.table.and_then(|table| table.get(name)) else {
        if required {
            findings.missing(link.place, path, &format!("a table [{path}]"));
        }
        return None;
    };
    let Value::Table(inner) = &entry.node.value else {
        let message = format!("this is {}, and a table is wanted", entry.node.value.type_name());
        findings.problem(&entry.key_place, path, message, format!("write [{path}]"));
        return None;
    };
    Some(Section { path, place: &entry.key_place, table: Some(inner) })
}

/// One direction of a GPRS link; an absent table leaves every key at its default.
fn gprs_way(link: &Section<'_>, name: &str, mtu: u32, way: &mut GprsWay, findings: &mut Findings) {
    let path = link.key(name);
    let Some(section) = way_table(link, &path, name, false, findings) else { return };
    section.read(&GPRS_WAY, way, findings);
    let known: Vec<&str> = names(&GPRS_WAY).collect();
    section.reject_unknown(&known, |key| has(&GPRS, key).then_some("[link]"), findings);
    relations::gprs_way(&section, way, mtu, findings);
}

/// One direction of an access link.
fn way(
    link: &Section<'_>,
    name: &str,
    kind: &'static str,
    mtu: u32,
    folder: &Folder,
    findings: &mut Findings,
) -> Way {
    let mut way = Way::default();
    let path = link.key(name);
    let Some(section) = way_table(link, &path, name, true, findings) else { return way };
    let keys: Vec<_> = Access::way_keys(kind).collect();
    for key in &keys {
        section.read(std::slice::from_ref(*key), &mut way, findings);
    }
    let known: Vec<&str> = keys.iter().map(|key| key.name).collect();
    let elsewhere = |key: &str| match kind {
        "generic" if has(&TRACE_WAY, key) => Some("a link of kind \"trace\""),
        "trace" if has(&GENERIC_WAY, key) => Some("a link of kind \"generic\""),
        _ if has(&ACCESS, key) => Some("[link]"),
        _ if has(&GPRS_WAY, key) => Some("a link of kind \"gprs\""),
        _ => None,
    };
    section.reject_unknown(&known, elsewhere, findings);
    relations::way(&section, &way, mtu, findings);
    if kind == "trace" && !way.trace.is_empty() {
        read_trace(&section, &mut way, folder, findings);
        if !way.light.is_empty() {
            read_light(&section, &mut way, mtu, folder, findings);
        }
    }
    way
}

/// Reads the file of a direction's trace, and notes what is wrong with it.
fn read_trace(section: &Section<'_>, way: &mut Way, folder: &Folder, findings: &mut Findings) {
    let keys = ["trace", "sha256"];
    let Some((text, found)) =
        read_file(section, keys, (&way.trace, &way.sha256), (FileKind::Trace, folder), findings)
    else {
        return;
    };
    match Trace::parse(&text) {
        Ok(trace) => {
            way.direction.capacity = Capacity::of_trace(&trace, way.opportunity);
            way.sha256 = found;
            way.read = Some((trace, text));
        }
        Err(error) => {
            let hint = "one time in milliseconds per line, or `time_s,rate_bps` and lines like it";
            let (place, key) = (section.place_of("trace"), section.key("trace"));
            findings.problem(place, &key, format!("is no trace: {error}"), hint);
        }
    }
}

/// Reads the file of a direction's light trace, and notes what is wrong with it.
fn read_light(section: &Section<'_>, way: &mut Way, mtu: u32, folder: &Folder, findings: &mut Findings) {
    let (place, key) = (section.place_of("light"), section.key("light"));
    if way.read.is_some() && !way.direction.capacity.fits(mtu) {
        let message = "beside it `trace` must have opportunities that hold a packet of the mtu";
        return findings.problem(
            place,
            &key,
            message,
            "set mtu = \"1392B\" and opportunity = \"1400B\", say",
        );
    }
    let named = (way.light.as_str(), way.light_sha256.as_str());
    let keys = ["light", "light_sha256"];
    let Some((text, found)) = read_file(section, keys, named, (FileKind::Trace, folder), findings) else {
        return;
    };
    match LightTrace::parse(&text) {
        Ok(light) => {
            way.direction.light = Some(Arc::new(light));
            way.light_sha256 = found;
            way.light_text = Some(text);
        }
        Err(error) => {
            let hint = "a time, a base delay and opportunities in ms on every line";
            findings.problem(place, &key, format!("is no light trace: {error}"), hint);
        }
    }
}

/// Reads the file of a GPRS link's channel, and notes what is wrong with it.
fn read_channel(section: &Section<'_>, gprs: &mut Gprs, folder: &Folder, findings: &mut Findings) {
    let keys = ["channel", "channel_sha256"];
    let named = (gprs.channel.as_str(), gprs.channel_sha256.as_str());
    let Some((text, found)) = read_file(section, keys, named, (FileKind::Trace, folder), findings) else {
        return;
    };
    match Channel::parse(&text) {
        Ok(channel) => {
            gprs.channel_sha256 = found;
            gprs.read = Some((Arc::new(channel), text));
        }
        Err(error) => {
            let hint = "`time_s,block_error` or `time_s,ci_db`, and lines like it";
            let (place, key) = (section.place_of("channel"), section.key("channel"));
            findings.problem(place, &key, format!("is no channel: {error}"), hint);
        }
    }
}

/// Reads a file that one key names and another may have the SHA-256 of: its text and the SHA-256 found.
pub(super) fn read_file(
    section: &Section<'_>,
    [key, sha256_key]: [&str; 2],
    (path, wanted): (&str, &str),
    (kind, folder): (FileKind, &Folder),
    findings: &mut Findings,
) -> Option<(String, String)> {
    let text = match folder.read(kind, path, wanted) {
        Ok(text) => text,
        Err(error) => {
            let hint = "a path is seen from the folder of the scenario's file";
            let message = format!("cannot be read: {error}");
            findings.problem(section.place_of(key), &section.key(key), message, hint);
            return None;
        }
    };
    let found = sha256(text.as_bytes());
    if !wanted.is_empty() && wanted != found {
        let message = format!("the file has the SHA-256 {found}");
        let hint = format!(
            "it is not the {key} this was written for; leave `{sha256_key}` out to take it all the same"
        );
        findings.problem(section.place_of(sha256_key), &section.key(sha256_key), message, hint);
        return None;
    }
    Some((text, found))
}

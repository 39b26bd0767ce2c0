//! What must hold between keys, and what is possible but odd.
//!
//! Left out: single values, which the lists of keys check, and what only one testbed cannot do.

use super::link::Link;
use crate::document::Value;
use crate::keys::access::{RRC_KEYS, Way};
use crate::keys::client::{Client, Station};
use crate::keys::gprs::{Gprs, GprsWay};
use crate::keys::link::Wifi;
use crate::keys::tcp::Tcp;
use crate::problem::{Findings, Place};
use crate::reader::Section;
use airperf_http::ServerConfig;
use airperf_units::Duration;
use airperf_workload::{ArrivalProcess, Start};
use std::collections::BTreeMap;

/// Octets of the IP and TCP headers without options.
const HEADERS: u32 = 40;
/// Stations on one 802.11 domain; ids are 16 bits and two values are kept.
const MAX_STATIONS: usize = 65_533;
/// ETSI EN 300 328 §4.3.2.2: 100 mW e.i.r.p. in the 2.4 GHz band.
const ETSI_LIMIT_MDBM: i32 = 20_000;

pub(super) fn wifi(section: &Section<'_>, wifi: &Wifi, findings: &mut Findings) {
    let phy = &wifi.config.phy;
    let mut need = |holds: bool, keys: [&str; 2], message: String, hint: String| {
        if !holds {
            // The key that was written is to blame; of two, the later one.
            let to_blame = if section.entry(keys[0]).is_some() { keys[0] } else { keys[1] };
            findings.problem(section.place_of(to_blame), &section.key(to_blame), message, hint);
        }
    };
    need(
        phy.sifs < phy.difs,
        ["difs", "sifs"],
        format!("SIFS ({}) must be shorter than DIFS ({})", phy.sifs, phy.difs),
        format!("leave `difs` out, and it is SIFS + 2 slots = {}", phy.sifs + phy.slot * 2),
    );
    need(
        phy.cw_min <= phy.cw_max,
        ["cw_min", "cw_max"],
        format!("CWmin ({}) must not exceed CWmax ({})", phy.cw_min, phy.cw_max),
        "802.11b has 31 and 1023".to_owned(),
    );
    need(
        phy.cca < phy.preamble,
        ["cca", "preamble"],
        format!("the CCA time ({}) must be shorter than a preamble ({})", phy.cca, phy.preamble),
        "802.11b has 15us".to_owned(),
    );
    let mut odd = |is: bool, key: &str, message: &str, hint: &str| {
        if is && section.entry(key).is_some() {
            findings.warning(section.place_of(key), &section.key(key), message, hint);
        }
    };
    let channel = wifi.radio.channel;
    odd(channel == 14, "channel", "channel 14 is allowed in Japan only", "1 to 11 are allowed everywhere");
    odd(
        matches!(channel, 12 | 13),
        "channel",
        "channels 12 and 13 are not allowed everywhere (not in the USA)",
        "1 to 11 are",
    );
    odd(
        wifi.radio.tx_power_mdbm > Some(ETSI_LIMIT_MDBM),
        "tx_power",
        "more than the 20dBm (100 mW) allowed in Europe (ETSI EN 300 328)",
        "the records will say so; on real hardware it would need a permission",
    );
    odd(
        phy.difs != phy.sifs + phy.slot * 2,
        "difs",
        "DIFS is not SIFS + 2 slots",
        "no 802.11 station does this",
    );
    odd(
        !(u32::from(phy.cw_min) + 1).is_power_of_two(),
        "cw_min",
        "CWmin + 1 is not a power of two",
        "802.11 doubles from 31: 63, 127 …",
    );
}

/// Takes the segment size from the MTU unless it was given, and checks what [`airperf_tcp::Config`] wants.
pub(super) fn tcp(section: &Section<'_>, tcp: &mut Tcp, mtu: u32, findings: &mut Findings) {
    let largest = mtu - HEADERS;
    if !tcp.mss_given {
        tcp.config.mss_bytes = largest.min(tcp.config.receive_window_bytes);
    } else if tcp.config.mss_bytes > largest {
        let message = format!("a segment of {}B does not fit an MTU of {mtu}B", tcp.config.mss_bytes);
        findings.problem(
            section.place_of("mss"),
            &section.key("mss"),
            message,
            format!("allowed: up to {largest}B"),
        );
    }
    if let Err(error) = tcp.config.check() {
        let text = error.to_string();
        let message = text.strip_prefix("TCP: ").unwrap_or(&text);
        // The model names its field; the key it was written under is the one to point at.
        let key = section.table.and_then(|table| {
            table
                .entries
                .iter()
                .find(|entry| message.contains(entry.key.as_str()))
                .map(|entry| entry.key.as_str())
        });
        let (place, path) = match key {
            Some(key) => (section.place_of(key), section.key(key)),
            None => (section.place, section.path.to_owned()),
        };
        findings.problem(place, &path, message, "");
    }
}

/// A burst of losses begins, is felt and ends; a queue holds a packet.
pub(super) fn way(section: &Section<'_>, way: &Way, mtu: u32, findings: &mut Findings) {
    let loss = &way.direction.loss;
    let mut wrong = |key: &str, message: &str, hint: &str| {
        findings.problem(section.place_of(key), &section.key(key), message, hint);
    };
    if loss.to_bad > 0.0 && loss.to_good == 0.0 {
        wrong("burst_begin", "a burst that begins must end", "set burst_end, 0.25 say");
    }
    if loss.to_bad == 0.0 {
        for key in ["burst_end", "burst_loss"] {
            if section.entry(key).is_some() && section.entry("burst_begin").is_none() {
                wrong(key, "bursts never begin", "set burst_begin, 0.01 say");
            }
        }
    }
    if way.direction.queue_bytes.is_some_and(|bytes| bytes < u64::from(mtu)) {
        wrong(
            "queue_size",
            &format!("a packet of {mtu}B does not fit"),
            "make it longer, or the mtu shorter",
        );
    }
    if way.direction.reorder && way.direction.delay.fixed().is_some() {
        let hint = "give a distribution, as uniform(from 20ms, to 60ms)";
        let message = "packets that all take as long never overtake";
        findings.warning(section.place_of("reorder"), &section.key("reorder"), message, hint);
    }
}

/// What the two directions and the channel of a GPRS link have in common.
pub(super) fn gprs(section: &Section<'_>, gprs: &Gprs, findings: &mut Findings) {
    let mut wrong = |key: &str, message: &str, hint: &str| {
        findings.problem(section.place_of(key), &section.key(key), message, hint);
    };
    if gprs.down.family != gprs.up.family {
        wrong(
            "up",
            "one direction has schemes of GPRS and the other of EDGE",
            "set scheme in both [link.down] and [link.up]",
        );
    }
    if gprs.ci.is_some() && section.entry("block_error").is_some() && gprs.block_error > 0.0 {
        wrong("block_error", "with `ci` it follows from that", "leave one of the two out");
    }
    for key in ["ci", "fade_ci", "block_error"] {
        let unused = [
            gprs.ci.is_none() && key == "ci",
            gprs.fade_ci.is_none() && key == "fade_ci",
            gprs.block_error == 0.0 && key == "block_error",
        ];
        if !gprs.channel.is_empty() && section.entry(key).is_some() && !unused.contains(&true) {
            wrong(key, "with `channel` it follows from that", "leave one of the two out");
            return;
        }
    }
    if gprs.ci.is_none() && gprs.fade_ci.is_some() {
        wrong("fade_ci", "the channel has no `ci` to fade from", "set ci, \"15dB\" say");
    }
}

/// What must hold between the keys of one direction of a GPRS link.
pub(super) fn gprs_way(section: &Section<'_>, way: &GprsWay, mtu: u32, findings: &mut Findings) {
    let mut wrong = |key: &str, message: &str, hint: &str| {
        findings.problem(section.place_of(key), &section.key(key), message, hint);
    };
    let adaptation = way.adaptation();
    if adaptation.faster_below >= adaptation.slower_above {
        wrong("faster_below", "must be below slower_above", "0.1 and 0.33 are usual");
    }
    if way.direction().arq_from > 0.0 && !way.arq() {
        wrong("arq_from", "without `arq` no block is sent again", "leave one of the two out");
    }
    if way.adapt && !way.arq() {
        wrong("adapt", "without `arq` there are no reports to follow", "leave one of the two out");
    }
    if way.direction().queue_bytes.is_some_and(|bytes| bytes < u64::from(mtu)) {
        wrong(
            "queue_size",
            &format!("a packet of {mtu}B does not fit"),
            "make it longer, or the mtu shorter",
        );
    }
}

/// Stations that share their pipes share its queue too.
pub(super) fn shared_queue(section: &Section<'_>, link: &Link, is_the_links: bool, findings: &mut Findings) {
    if let Link::Access(access) = link
        && access.shared
        && !is_the_links
    {
        let message = "this link is shared by all stations, and so is its queue";
        findings.problem(
            section.place_of("queue"),
            &section.key("queue"),
            message,
            "set link.up.queue instead",
        );
    }
}

/// A fade needs an error rate and an end after its beginning.
pub(super) fn fade(section: &Section<'_>, station: &Station, findings: &mut Findings) {
    for key in ["fade_start", "fade_end"] {
        if station.fade_error == 0.0 && section.entry(key).is_some() && section.entry("fade_error").is_none()
        {
            let hint = "set fade_error, 0.9 say";
            findings.problem(
                section.place_of(key),
                &section.key(key),
                "nothing fades without an error rate",
                hint,
            );
        }
    }
    if let Some(end) = station.fade_end
        && end <= station.fade_start
    {
        let message = format!("the fade ends ({end}) before it begins ({})", station.fade_start);
        findings.problem(section.place_of("fade_end"), &section.key("fade_end"), message, "end it later");
    }
}

/// Keys of admission control that its policy does not read. Only what a person wrote is asked: the resolved form has
/// every key.
pub(super) fn admission(section: &Section<'_>, findings: &mut Findings) {
    let policy = match section.entry("admission").map(|entry| &entry.node.value) {
        None => "none",
        Some(Value::Text(word)) if ["none", "concurrent", "adaptive"].contains(&word.as_str()) => word,
        Some(_) => return, // noted as a value
    };
    let readers: [(&str, &[&str]); 4] = [
        ("admission_limit", &["concurrent"]),
        ("admission_target", &["adaptive"]),
        ("admission_wait", &["concurrent", "adaptive"]),
        ("admission_refusal", &["concurrent", "adaptive"]),
    ];
    for (key, policies) in readers {
        if section.entry(key).is_some() && !policies.contains(&policy) {
            let message = format!("this changes nothing with admission = \"{policy}\"");
            let hint = format!("leave it out, or set admission = \"{}\"", policies.join("\" or \""));
            findings.problem(section.place_of(key), &section.key(key), message, hint);
        }
    }
}

/// Keys of a state machine that is not there, and pipes of which nobody has one. Only what a person wrote is asked, as for
/// admission.
pub(super) fn rrc(section: &Section<'_>, findings: &mut Findings) {
    let text = |key: &str| match section.entry(key).map(|entry| &entry.node.value) {
        Some(Value::Text(word)) => Some(word.as_str()),
        _ => None,
    };
    if !matches!(text("kind"), Some("generic" | "trace")) {
        return; // not its keys, which is noted
    }
    let has_rrc = text("rrc").is_some_and(|word| word != "none");
    for key in RRC_KEYS.into_iter().filter(|key| !has_rrc && section.entry(key).is_some()) {
        let hint = "leave it out, or set rrc = \"umts\", say";
        findings.problem(section.place_of(key), &section.key(key), "this changes nothing without rrc", hint);
    }
    let shared = section.entry("shared").is_some_and(|entry| matches!(entry.node.value, Value::Flag(true)));
    if has_rrc && shared {
        let message = "stations that share a pipe have no channels of their own";
        findings.problem(section.place_of("rrc"), &section.key("rrc"), message, "leave one of the two out");
    }
}

pub(super) fn client(
    section: &Section<'_>,
    client: &Client,
    server: &ServerConfig,
    duration: Duration,
    findings: &mut Findings,
) {
    if let Some(most) = server.max_requests_per_connection
        && client.workload.session.requests_per_connection > most
    {
        let key = "requests_per_connection";
        let message = format!("the server closes a connection after {most} requests");
        let hint = "raise server.max_requests_per_connection, or ask for fewer";
        findings.problem(section.place_of(key), &section.key(key), message, hint);
    }
    if let Start::At(start) = client.workload.start
        && start >= duration
        && duration > Duration::ZERO
    {
        let message = format!("this client begins when the workload of {duration} is over");
        findings.problem(section.place_of("start"), &section.key("start"), message, "begin earlier");
    }
    let gap = section.place_of("host_gap");
    let fixed = section.entry("host_gap").is_some() && section.entry("host_gap_spread").is_none();
    if fixed {
        findings.warning(
            gap,
            &section.key("host_gap"),
            "a host gap without spread keeps stations in step when it is near a multiple of the slot",
            "set host_gap_spread, 0.5 say",
        );
    }
}

/// Puts the arrival process together; each process takes its own keys and no others.
pub(super) fn arrivals(section: &Section<'_>, client: &mut Client, findings: &mut Findings) {
    let word = client.arrivals;
    let keys = [
        ("hurst", "self-similar", client.hurst.is_some()),
        ("on_time", "on-off", client.on_time.is_some()),
        ("off_time", "on-off", client.off_time.is_some()),
    ];
    for (key, process, given) in keys {
        if given && word != process {
            let message = format!("this is for {process} arrivals, these are {word}");
            let hint = format!("leave it out, or set arrivals = \"{process}\"");
            findings.problem(section.place_of(key), &section.key(key), message, hint);
        } else if !given && word == process {
            let message = format!("{process} arrivals need `{key}`");
            let hint = if key == "hurst" { "0.8, say" } else { "5s, say" };
            findings.problem(section.place_of("arrivals"), &section.key("arrivals"), message, hint);
        }
    }
    client.workload.arrivals = match (word, client.hurst, client.on_time, client.off_time) {
        ("poisson", ..) => ArrivalProcess::Poisson,
        ("self-similar", Some(hurst), ..) => ArrivalProcess::SelfSimilar { hurst },
        ("on-off", _, Some(on), Some(off)) => ArrivalProcess::OnOff { on, off },
        _ => ArrivalProcess::Deterministic,
    };
}

/// The names of the stations given out so far.
pub(super) struct Names(BTreeMap<String, String>, usize);

impl Names {
    pub(super) fn new(section: &Section<'_>, server: &Station) -> Self {
        let name = server.name.clone().unwrap_or_default();
        Self(BTreeMap::from([(name, section.key("station"))]), 0)
    }

    /// The `count` stations made from one table, each with its name; notes names given twice and too
    /// many stations.
    pub(super) fn add(
        &mut self,
        section: &Section<'_>,
        station: &Station,
        count: u32,
        findings: &mut Findings,
    ) -> Vec<Station> {
        self.1 += count as usize;
        if self.1 > MAX_STATIONS {
            let message = format!("there are {} clients up to here", self.1);
            let key = section.key("count");
            findings.problem(
                section.place_of("count"),
                &key,
                message,
                format!("a link has at most {MAX_STATIONS}"),
            );
            return Vec::new();
        }
        let base = station.name.clone().unwrap_or_default();
        let mut made = Vec::with_capacity(count as usize);
        for number in 1..=count {
            let name = if count == 1 { base.clone() } else { format!("{base}-{number}") };
            let path = section.key("station");
            if let Some(first) = self.0.insert(name.clone(), path.clone()) {
                let message = format!("the name `{name}` is taken");
                let place: &Place = section.place_of("station");
                findings.problem(
                    place,
                    &path,
                    message,
                    format!("{first} has it; give every station its own"),
                );
                break;
            }
            made.push(Station { name: Some(name), ..station.clone() });
        }
        made
    }
}

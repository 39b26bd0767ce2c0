//! The summary of a capture: what scripts read as JSON and people as a table.
//!
//! `to_json` keeps the keys of its first version for ever and adds others beside them. Every anomaly that was met has
//! its name and count; a notice is a sentence about something that changes what other numbers mean. Left out:
//! tables, which have files of their own.

use std::collections::BTreeMap;

use airperf_wire::container::Source;
use airperf_wire::{Decoder, LinkType};
use serde_json::{Map, Value, json};

use super::flows::FlowCounts;
use super::mac::MacTotals;

/// Version of the object.
const SCHEMA: u32 = 1;
/// Interfaces that are described.
const MOST_INTERFACES: usize = 64;

/// What a capture came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Records of all files.
    pub packets: u64,
    /// Their lengths before they were cut, capture headers (radiotap …) included: what Wireshark calls frame length.
    pub bytes: u64,
    /// First and last time stamp, nanoseconds since 1970.
    pub span_ns: Option<(i64, i64)>,
    /// Records by link type.
    pub link_types: BTreeMap<LinkType, u64>,
    /// What is above the MAC.
    pub flows: FlowCounts,
    /// The MAC; `None` where nothing of 802.11 was captured.
    pub mac: Option<MacTotals>,
    /// Elapsed nanoseconds, and of them by category; `None` where the capture tells no rates.
    pub airtime: Option<(u64, Vec<(&'static str, u64)>)>,
    /// Segments whose TCP checksum was looked at: the first whole ones, or all of them where wrong ones are left out.
    pub checked_checksums: u64,
    /// Those of them whose checksum is wrong.
    pub wrong_checksums: u64,
    /// Whether these were left out.
    pub strict_checksum: bool,
    /// Whether frames were put into the order of their time stamps, as far as the window reaches.
    pub sorted: bool,
    pub(super) anomalies: BTreeMap<&'static str, u64>,
    pub(super) truncated_at: Option<u64>,
    pub(super) files: Vec<Value>,
    pub(super) interfaces: Vec<Value>,
    pub(super) notices: Vec<String>,
    pub(super) more: Map<String, Value>,
}

impl Summary {
    /// Adds counts of anomalies, those that were met.
    pub fn anomalies(&mut self, counts: impl IntoIterator<Item = (&'static str, u64)>) {
        for (name, count) in counts {
            if count > 0 {
                *self.anomalies.entry(name).or_default() += count;
            }
        }
    }

    /// How often an anomaly was met.
    pub fn anomaly(&self, name: &str) -> u64 {
        self.anomalies.get(name).copied().unwrap_or_default()
    }

    /// Says a sentence about what other numbers mean.
    pub fn notice(&mut self, sentence: impl Into<String>) {
        self.notices.push(sentence.into());
    }

    /// Adds a key of another part of the analysis; those of this one stay.
    pub fn add(&mut self, key: &str, value: Value) {
        self.more.insert(key.to_owned(), value);
    }

    /// Where the first damaged file stops to make sense, in bytes from its beginning; the analysis goes up to there.
    pub fn truncated_at(&self) -> Option<u64> {
        self.truncated_at
    }

    /// Adds what is to be said of a file that was read.
    pub fn source(&mut self, source: &Source) {
        self.anomalies(source.counts().iter());
        let damage = source.damage();
        if let Some(damage) = damage {
            self.truncated_at.get_or_insert(damage.at);
            self.notice(format!(
                "{}: {damage}; everything before byte {} was analysed.",
                source.name(),
                damage.at
            ));
        }
        self.files.push(json!({
            "name": source.name(),
            "packets": source.records(),
            "truncated_at": damage.map(|damage| damage.at),
            "damage": damage.map(ToString::to_string),
        }));
        for interface in source.interfaces() {
            if self.interfaces.len() < MOST_INTERFACES {
                self.interfaces.push(json!({
                    "file": self.files.len() - 1,
                    "name": interface.name,
                    "link_type": link_name(interface.link),
                    "snap_length": interface.snap_length,
                }));
            }
        }
    }

    /// Says of which interfaces the decoder had to find out whether frames end in a check sequence.
    pub fn decoder(&mut self, decoder: &Decoder) {
        for (interface, trial) in decoder.fcs_trials() {
            let taken = if trial.present() { "they do, and the others are noise" } else { "they do not" };
            self.notice(format!(
                "interface {interface}: the capture does not say whether frames end in a check sequence; {} of {} tried \
                 do, so it is taken that {taken}.",
                trial.fitted, trial.tried,
            ));
        }
    }

    /// The sentences, those that follow from counts first.
    pub fn notices(&self) -> Vec<String> {
        let mut said = Vec::new();
        let mut say = |name: &str, sentence: &str| {
            let count = self.anomaly(name);
            if count > 0 {
                said.push(sentence.replace('#', &count.to_string()));
            }
        };
        say(
            "encrypted",
            "# frames are encrypted: of these only the MAC is analysed, and what they carry is in no table of packets, connections or exchanges.",
        );
        say(
            "offload",
            "# packets are longer than any frame: they were captured before the network card cut them up or after it put them together, so segment sizes are not those on the wire.",
        );
        say(
            "cut_records",
            "# packets were cut when captured (snap length): lengths are from their headers, HTTP may not be read whole.",
        );
        say(
            "mac_airtime_unknown",
            "# 802.11 frames are without a rate in the capture: the airtime budget does not count them.",
        );
        say(
            "clients_overflow",
            "# connections are of clients past the first 8,192 of their part of the table: they are in no row of series and retransmissions.",
        );
        say(
            "tcp_evicted",
            "# connections were dropped from a full table before they ended (`evicted` in their rows).",
        );
        say(
            "time_backwards",
            match self.sorted {
                true => {
                    "# frames were out of order by more than the sort window and taken later than their time stamps \
                         say (--sort-window widens it)."
                }
                false => {
                    "# frames have an earlier time stamp than the one before; they were taken in the order of the \
                          file (--sort takes them in that of their times)."
                }
            },
        );
        if self.wrong_checksums > 0 {
            let (wrong, checked) = (self.wrong_checksums, self.checked_checksums);
            said.push(match self.strict_checksum {
                true => format!("{wrong} segments have a wrong TCP checksum and were left out."),
                false => format!(
                    "{wrong} of the {checked} whole segments looked at, the first ones, have a wrong TCP checksum: usual \
                     where the capturing host's card fills it in; they were analysed all the same (--strict-checksum \
                     looks at all segments and leaves wrong ones out).",
                ),
            });
        }
        said.extend_from_slice(&self.notices);
        said
    }

    /// The object that `airperf trace summary --json` prints.
    pub fn to_json(&self) -> Value {
        let flows = &self.flows;
        let link_types: BTreeMap<String, u64> =
            self.link_types.iter().map(|(link, count)| (link_name(*link), *count)).collect();
        let mut object = json!({
            "schema": SCHEMA,
            "packets": self.packets,
            "bytes": self.bytes,
            "duration_s": self.span_ns.map_or(0.0, |(first, last)| seconds(last.abs_diff(first))),
            "link_types": link_types,
            "tcp": {
                "segments": flows.segments,
                "connections": flows.connections(),
                "syn_fin": flows.syn_fin,
                "syn_rst": flows.syn_rst,
                "syn_no_synack": flows.syn_no_synack,
                "syn_unfinished": flows.syn_unfinished,
                "no_syn": flows.no_syn,
                "resets": flows.resets,
                "retransmitted": flows.retransmitted(),
                "retransmission_parts": {
                    "full": flows.full,
                    "part": flows.part,
                    "late": flows.late,
                    "dup_syn": flows.dup_syn,
                    "dup_fin": flows.dup_fin,
                },
                "out_of_order": flows.late,
                "duplicate_acks": flows.duplicate_acks,
            },
            "http": { "requests": flows.requests, "responses": flows.responses },
            "mac": self.mac.map(MacTotals::to_json),
            "anomalies": self.anomalies,
            "truncated_at": self.truncated_at,
            "first_ns": self.span_ns.map(|(first, _)| first),
            "last_ns": self.span_ns.map(|(_, last)| last),
            "airtime": self.airtime.as_ref().map(|(_, spent)| {
                spent.iter().map(|(name, ns)| ((*name).to_owned(), json!(seconds(*ns)))).collect::<Map<_, _>>()
            }),
            "airtime_elapsed_s": self.airtime.as_ref().map(|(elapsed, _)| seconds(*elapsed)),
            "checked_checksums": self.checked_checksums,
            "wrong_checksums": self.wrong_checksums,
            "files": self.files,
            "interfaces": self.interfaces,
            "notices": self.notices(),
        });
        if let Value::Object(object) = &mut object {
            for (key, value) in &self.more {
                object.entry(key).or_insert_with(|| value.clone());
            }
        }
        object
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Name of a link type as the registry has it, in small letters; its number where nothing here reads it.
fn link_name(link: LinkType) -> String {
    match link {
        LinkType::NULL => "null",
        LinkType::ETHERNET => "ethernet",
        LinkType::RAW | LinkType(12 | 14) => "raw",
        LinkType::IEEE802_11 => "ieee802_11",
        LinkType::LOOP => "loop",
        LinkType::LINUX_SLL => "linux_sll",
        LinkType::PRISM => "ieee802_11_prism",
        LinkType::RADIOTAP => "ieee802_11_radiotap",
        LinkType::AVS => "ieee802_11_avs",
        LinkType::IPV4 => "ipv4",
        LinkType::IPV6 => "ipv6",
        LinkType::LINUX_SLL2 => "linux_sll2",
        LinkType(number) => return format!("linktype_{number}"),
    }
    .to_owned()
}

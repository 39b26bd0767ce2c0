//! What the MAC did: duplicates, acknowledgements, retries, noise, and the time it all took.
//!
//! A *duplicate* is a good frame with the retry bit and the sequence and fragment number of its transmitter's previous
//! data frame; the retry bit alone is none, for the sniffer often missed the original. Frames with a bad check
//! sequence are noise: no field of theirs is believed. A frame is *acknowledged* when the next frame of its
//! interface is an ACK to its transmitter, or a block ACK that says so; a missing ACK does not mean that the frame
//! was lost, only that the sniffer did not hear one. Reference: IEEE 802.11-2020 §10.3.2.11 (ACK),
//! §10.3.2.14 (duplicates), §10.25 (block ACK).
//!
//! Left out: decryption, fragments, and what access points do beyond frames.

mod acknowledgements;
mod heard;
mod recent;
mod stations;
#[cfg(test)]
mod tests;

use airperf_record::capture::StationRow;
use serde_json::{Value, json};

use super::airtime::Budget;
use acknowledgements::Waiting;
pub(crate) use heard::Heard;
use recent::Recent;
use stations::Stations;

/// Interfaces that are told apart; the frames of later ones count as of the last.
const MOST_INTERFACES: usize = 64;

/// Anomalies of the MAC: name and what it means.
pub const ANOMALIES: &[(&str, &str)] = &[
    ("mac_missed_originals", "good frames with the retry bit whose first transmission was not captured"),
    (
        "mac_unacknowledged",
        "frames to one station after which no acknowledgement was captured; they may have arrived all the same",
    ),
    ("mac_clock_jumps", "jumps of the radio's clock against the capture's by more than a second"),
    ("mac_stations_overflow", "frames of stations past the first 16,384, which have no row"),
    (
        "mac_airtime_unknown",
        "frames whose rate the capture does not tell; they take no time in the airtime budget",
    ),
];

/// What the MAC makes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// The first time this was seen.
    First,
    /// Retransmitted, and the original was not seen.
    Retry,
    /// Seen before.
    Duplicate,
    /// A bad check sequence.
    Noise,
}

impl View {
    /// Word of `frames.view`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Retry => "retry",
            Self::Duplicate => "duplicate",
            Self::Noise => "noise",
        }
    }
}

/// Frames of 802.11, by what they are; noise is in `frames` and `bad_fcs` alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MacTotals {
    /// All frames, noise included.
    pub frames: u64,
    /// Good frames with the retry bit.
    pub retries: u64,
    /// Frames with a bad check sequence.
    pub bad_fcs: u64,
    /// Beacons.
    pub beacons: u64,
    /// Acknowledgements.
    pub acks: u64,
    /// Block acknowledgements.
    pub block_acks: u64,
    /// Data frames, those without payload included.
    pub data: u64,
    /// Management frames, beacons included.
    pub management: u64,
    /// Control frames, acknowledgements included.
    pub control: u64,
    /// Repeats of their transmitter's previous frame.
    pub duplicates: u64,
    /// Frames with the retry bit whose original was not captured.
    pub missed_originals: u64,
    /// Encrypted data frames.
    pub protected: u64,
    /// Frames to one station that ask for an acknowledgement.
    pub asked: u64,
    /// Those of them whose acknowledgement was captured.
    pub acknowledged: u64,
    clock_jumps: u64,
    overflow: u64,
    unknown_airtime: u64,
}

impl MacTotals {
    /// The object `mac` of a summary.
    pub(crate) fn to_json(self) -> Value {
        json!({
            "frames": self.frames,
            "retries": self.retries,
            "bad_fcs": self.bad_fcs,
            "beacons": self.beacons,
            "acks": self.acks,
            "block_acks": self.block_acks,
            "data": self.data,
            "management": self.management,
            "control": self.control,
            "duplicates": self.duplicates,
            "missed_originals": self.missed_originals,
            "protected": self.protected,
            "asked_for_ack": self.asked,
            "acknowledged": self.acknowledged,
        })
    }

    /// Each of [`ANOMALIES`] with its count.
    pub(crate) fn anomalies(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = [
            self.missed_originals,
            self.asked - self.acknowledged,
            self.clock_jumps,
            self.overflow,
            self.unknown_airtime,
        ];
        ANOMALIES.iter().zip(counts).map(|((name, _), count)| (*name, count))
    }

    /// Counts a good frame.
    fn count(&mut self, heard: &Heard<'_>) {
        use airperf_wire::Dot11Kind as Kind;
        match heard.kind {
            kind if kind.is_data() => self.data += 1,
            kind if kind.is_management() => {
                self.management += 1;
                self.beacons += u64::from(kind == Kind::Beacon);
            }
            kind => {
                self.control += 1;
                self.acks += u64::from(kind == Kind::Ack);
                self.block_acks += u64::from(kind == Kind::BlockAck);
            }
        }
        self.retries += u64::from(heard.retry);
        self.protected += u64::from(heard.protected && heard.kind.carries_data());
    }
}

/// One sniffing radio.
#[derive(Clone, Debug, Default)]
struct Interface {
    frames: u64,
    waiting: Waiting,
    budget: Budget,
}

/// The MAC of all interfaces; frames come in the order of the capture.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mac {
    totals: MacTotals,
    interfaces: Vec<Interface>,
    recent: Recent,
    stations: Stations,
}

impl Mac {
    /// Takes a frame and tells what it is. Numbers of earlier frames that it acknowledges go to `acknowledged`.
    pub(crate) fn frame(&mut self, heard: &Heard<'_>, acknowledged: &mut Vec<u64>) -> View {
        let place = (heard.interface as usize).min(MOST_INTERFACES - 1);
        if place >= self.interfaces.len() {
            self.interfaces.resize_with(place + 1, Interface::default);
        }
        let interface = &mut self.interfaces[place];
        interface.frames += 1;
        self.totals.frames += 1;
        self.totals.unknown_airtime += u64::from(heard.airtime.is_none());
        self.totals.clock_jumps += u64::from(interface.budget.frame(heard));
        let before = acknowledged.len();
        let answered = interface.waiting.hear(heard, acknowledged);
        self.totals.acknowledged += (acknowledged.len() - before) as u64;
        if let Some(station) = answered {
            self.stations.acknowledged(station, (acknowledged.len() - before) as u64);
        }
        if heard.noise {
            self.totals.bad_fcs += 1;
            return View::Noise;
        }
        self.totals.count(heard);
        self.totals.asked += u64::from(heard.asks_for_ack);
        self.totals.overflow += u64::from(!self.stations.sent(heard, interface.budget.answer_ns(heard)));
        let seen = self.recent.seen(heard);
        match (heard.retry, seen) {
            (true, true) => {
                self.totals.duplicates += 1;
                View::Duplicate
            }
            (true, false) => {
                // Only numbered frames can be told from their originals.
                self.totals.missed_originals += u64::from(heard.sequence.is_some());
                View::Retry
            }
            (false, _) => View::First,
        }
    }

    /// Takes a frame too short to have a header.
    pub(crate) fn unreadable(&mut self, noise: bool) {
        self.totals.frames += 1;
        self.totals.bad_fcs += u64::from(noise);
    }

    /// Totals; `None` where nothing of 802.11 was captured.
    pub(crate) fn totals(&self) -> Option<MacTotals> {
        (self.totals.frames > 0).then_some(self.totals)
    }

    /// The airtime budget of the interface that heard most.
    pub(crate) fn budget(&self) -> Option<&Budget> {
        let busiest = self.interfaces.iter().rev().max_by_key(|interface| interface.frames)?;
        busiest.budget.is_known().then_some(&busiest.budget)
    }

    /// Rows of stations in order of address.
    pub(crate) fn stations(&self) -> Vec<StationRow> {
        self.stations.rows(self.budget().map_or(0, Budget::elapsed_ns))
    }
}

//! Which frames were acknowledged: those that wait for an answer, and the answers.
//!
//! Several frames wait only when they came in one A-MPDU. An ACK names nobody but its receiver, so it is the answer to the
//! frame just before it or to none. Reference: IEEE 802.11-2020 §10.3.2.11, §9.3.1.8.

use airperf_record::MacAddress;
use airperf_wire::Dot11Kind;

use super::Heard;

/// Frames of an A-MPDU (802.11ax allows 256).
const MOST_WAITING: usize = 256;
/// Longest time from the time stamp of a frame to that of its answer, without their airtimes: SIFS, and how late
/// hosts stamp.
const SLACK_NS: i64 = 200_000;
/// Airtime where none is known: 1,500 octets at 1 Mbit/s with everything around them.
const LONG_NS: i64 = 13_000_000;

/// Frames of one interface that wait for their answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    transmitter: MacAddress,
    /// Number and sequence number of each.
    frames: Vec<(u64, Option<u16>)>,
    aggregate: Option<u32>,
    /// When the answer is overdue.
    until_ns: i64,
}

impl Waiting {
    /// Hears the next frame: an answer, or another frame to be answered. Numbers of frames that it answers go to
    /// `answered`; their transmitter is returned.
    pub(crate) fn hear(&mut self, heard: &Heard<'_>, answered: &mut Vec<u64>) -> Option<MacAddress> {
        let same_aggregate = heard.aggregate.is_some() && heard.aggregate == self.aggregate;
        if heard.noise {
            // A garbled part of an aggregate ends nothing; anything else may have been the answer.
            if !same_aggregate {
                self.frames.clear();
            }
            return None;
        }
        let airtime = heard.airtime.map_or(LONG_NS, |airtime| airtime.total_ns() as i64);
        let before = answered.len();
        let on_time = heard.time_ns <= self.until_ns.saturating_add(airtime);
        if !self.frames.is_empty() && on_time && heard.receiver == self.transmitter {
            match (heard.kind, &heard.block_ack) {
                (Dot11Kind::Ack, _) => answered.extend(self.frames.last().map(|(number, _)| number)),
                (Dot11Kind::BlockAck, Some(bitmap)) => {
                    let received =
                        |sequence: &Option<u16>| sequence.and_then(|s| bitmap.received(s)) == Some(true);
                    let received = self.frames.iter().filter(|(_, sequence)| received(sequence));
                    answered.extend(received.map(|(number, _)| number));
                }
                _ => {}
            }
        }
        if !same_aggregate || heard.transmitter != Some(self.transmitter) {
            let transmitter = std::mem::take(&mut self.transmitter);
            self.frames.clear();
            self.aggregate = heard.aggregate;
            if answered.len() > before {
                return Some(transmitter);
            }
        }
        if let Some(transmitter) = heard.transmitter.filter(|_| heard.asks_for_ack)
            && self.frames.len() < MOST_WAITING
        {
            self.transmitter = transmitter;
            self.frames.push((heard.number, heard.sequence));
            self.until_ns = heard.time_ns.saturating_add(airtime + SLACK_NS);
        }
        None
    }
}

//! What a radio block looks like in the records.
//!
//! Left out: signalling blocks and reports, which take no slots here.

use super::{Carried, NETWORK};
use crate::bearer::{Bearer, Sent};
use crate::config::Config;
use crate::defaults::BLOCK;
use airperf_link::{Destination, FrameEvent, FrameKind, Heard, Outcome, Outlet, Places, StationId};
use airperf_units::Time;

/// Shows a block: one frame for each packet that has octets in it, or one without a packet for a repair block.
pub(super) fn show<P, O: Outlet<P>>(
    now: Time,
    bearer: &Bearer,
    config: &Config,
    (block, arrives): (Sent, bool),
    carried: &Places<Carried<P>>,
    out: &mut O,
) {
    let peer = if bearer.from == NETWORK { StationId(bearer.mobile + 1) } else { NETWORK };
    let frame =
        |scheme: u8, sequence: u32, attempt: u8, outcome: Outcome, bytes: u32, sniffer: Heard| FrameEvent {
            start: now,
            end: now + BLOCK,
            from: bearer.from,
            to: Destination::Station(peer),
            kind: FrameKind::Data,
            rate: bearer.scheme_of(scheme).rate,
            bytes,
            sequence: (sequence % config.family.sequence_space()) as u16,
            attempt,
            outcome,
            sniffer,
        };
    let outcome = |received: bool| match (arrives, received) {
        (false, _) => Outcome::Garbled,
        (true, false) => Outcome::Received,
        (true, true) => Outcome::Duplicate,
    };
    match block {
        Sent::Data(bsn) => {
            let state = *bearer.rlc.block(bsn);
            for part in bearer.rlc.parts(bsn) {
                // Who listens in front of the network hears a packet once, when it begins.
                let sniffer = if part.first && state.attempts == 1 { Heard::Good } else { Heard::Missed };
                let outcome = outcome(state.received);
                let frame = frame(state.scheme, bsn, state.attempts, outcome, part.octets, sniffer);
                out.frame(&frame, Some(&carried.at(part.place).packet));
            }
        }
        Sent::Repair(group) => {
            let bytes = bearer.scheme_of(bearer.scheme).payload_bytes;
            out.frame(&frame(bearer.scheme, group, 1, outcome(false), bytes, Heard::Missed), None);
        }
    }
}

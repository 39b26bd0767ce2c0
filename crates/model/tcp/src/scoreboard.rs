//! What the peer has reported of data beyond a hole, and what follows from it.
//!
//! Reference: RFC 6675 §3 (scoreboard), §4 (IsLost, SetPipe, NextSeg). Octets are lost when `duplicate_acks` ranges
//! or more than `duplicate_acks` − 1 full segments above them have arrived. Leaves out the rescue retransmission (§4 NextSeg
//! rule 4, which Linux does not have) and times of sending (RFC 8985).

use crate::ranges::Ranges;
use crate::segment::Segment;

/// Most ranges that are remembered; a report of one more is forgotten and costs a retransmission at most.
const RANGES: usize = 256;

/// A sender's scoreboard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    arrived: Ranges,
    /// What is below was sent again in this recovery (HighRxt); zero before the first retransmission.
    pub(crate) resent: u32,
}

impl Scoreboard {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.arrived.is_empty()
    }

    /// Takes in a segment's blocks about `acknowledged..sent`; whether one of them told something new.
    pub(crate) fn report(&mut self, segment: &Segment, acknowledged: u32, sent: u32) -> bool {
        let mut news = false;
        for &(from, to) in segment.sack.iter().take_while(|block| block.1 > 0) {
            let (from, to) = (from.max(acknowledged), to.min(sent));
            if from < to && self.arrived.count_in(from, to) < to - from {
                self.arrived.insert(from, to, RANGES);
                news = true;
            }
        }
        news
    }

    /// Everything before `acknowledged` has arrived.
    #[inline]
    pub(crate) fn acknowledge(&mut self, acknowledged: u32) {
        if !self.arrived.is_empty() {
            self.arrived.advance(acknowledged);
        }
    }

    /// The first octet at or beyond `seq` that was not reported.
    pub(crate) fn hole(&self, seq: u32) -> u32 {
        self.arrived.around(seq).map_or(seq, |range| range.1)
    }

    /// How many octets from `seq` on, at most `len`, were not reported.
    #[inline]
    pub(crate) fn missing(&self, seq: u32, len: u32) -> u32 {
        if self.arrived.is_empty() {
            len
        } else {
            self.arrived.start_after(seq).map_or(len, |next| len.min(next - seq))
        }
    }

    /// Octets of `from..to` that were reported.
    #[inline]
    pub(crate) fn reported(&self, from: u32, to: u32) -> u32 {
        if self.arrived.is_empty() { 0 } else { self.arrived.count_in(from, to) }
    }

    /// End of the highest range reported; zero without one.
    pub(crate) fn highest(&self) -> u32 {
        self.arrived.all().last().map_or(0, |range| range.1)
    }

    /// Whatever was not reported below this is lost (IsLost); zero while nothing is.
    pub(crate) fn lost_below(&self, duplicate_acks: u8, payload: u32) -> u32 {
        let (ranges, octets) = (usize::from(duplicate_acks), (u32::from(duplicate_acks) - 1) * payload);
        let mut above = 0;
        let counted = self.arrived.all().iter().rev().enumerate();
        let mut reached = counted.filter(|(place, range)| {
            above += range.1 - range.0;
            place + 1 >= ranges || above > octets
        });
        reached.next().map_or(0, |(_, range)| range.0)
    }

    /// Octets of `acknowledged..sent` estimated to be in the network (SetPipe).
    pub(crate) fn pipe(&self, acknowledged: u32, sent: u32, lost_below: u32) -> u32 {
        let missing = |from: u32, to: u32| {
            let to = to.max(from);
            to - from - self.arrived.count_in(from, to)
        };
        missing(lost_below.clamp(acknowledged, sent), sent) + missing(acknowledged, self.resent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(blocks: &[(u32, u32)]) -> Scoreboard {
        let mut board = Scoreboard::default();
        for &block in blocks {
            let segment = Segment { sack: [block, (0, 0), (0, 0), (0, 0)], ..Segment::default() };
            assert!(board.report(&segment, 0, 100_000));
            assert!(!board.report(&segment, 0, 100_000), "the same again is no news");
        }
        board
    }

    #[test]
    fn a_hole_is_lost_below_three_ranges_or_more_than_two_segments() {
        assert_eq!(told(&[(1_000, 3_000)]).lost_below(3, 1_000), 0, "two segments above");
        assert_eq!(told(&[(1_000, 3_001)]).lost_below(3, 1_000), 1_000);
        assert_eq!(told(&[(1_000, 1_100), (2_000, 2_100)]).lost_below(3, 1_000), 0, "two ranges");
        assert_eq!(told(&[(1_000, 1_100), (2_000, 2_100), (3_000, 3_100)]).lost_below(3, 1_000), 1_000);
        let more = told(&[(1_000, 1_100), (2_000, 2_100), (3_000, 3_100), (4_000, 4_100)]);
        assert_eq!(more.lost_below(3, 1_000), 2_000, "above 2,000 are three ranges, above 3,100 is one");
    }

    /// Octet by octet as RFC 6675 §2 and §4 have it: IsLost and SetPipe.
    fn by_octet(arrived: &[bool], resent: u32, payload: u32) -> (Vec<bool>, u32) {
        let lost: Vec<bool> = (0..arrived.len())
            .map(|at| {
                let above = &arrived[at + 1..];
                let starts =
                    above.iter().zip(arrived[at..].iter()).filter(|(this, before)| **this && !**before);
                starts.count() >= 3 || above.iter().filter(|a| **a).count() as u32 > 2 * payload
            })
            .collect();
        let mut pipe = 0;
        for at in (0..arrived.len()).filter(|at| !arrived[*at]) {
            pipe += u32::from(!lost[at]) + u32::from((at as u32) < resent);
        }
        (lost, pipe)
    }

    proptest! {
        #[test]
        fn lost_and_pipe_are_those_of_the_rfc(
            blocks in prop::collection::vec((1u32..60, 1u32..8), 0..12),
            resent in 0u32..60,
            payload in 1u32..6,
        ) {
            let mut board = Scoreboard { resent, ..Scoreboard::default() };
            let mut arrived = vec![false; 70];
            for (from, len) in blocks {
                let segment = Segment { sack: [(from, from + len), (0, 0), (0, 0), (0, 0)], ..Segment::default() };
                board.report(&segment, 0, 70);
                arrived[from as usize..(from + len) as usize].fill(true);
            }
            let below = board.lost_below(3, payload);
            let (lost, pipe) = by_octet(&arrived, resent, payload);
            for (at, _) in arrived.iter().enumerate().filter(|(_, arrived)| !**arrived) {
                prop_assert_eq!(lost[at], (at as u32) < below, "octet {}", at);
            }
            prop_assert_eq!(board.pipe(0, 70, below), pipe);
        }
    }

    #[test]
    fn the_pipe_holds_what_is_neither_lost_nor_reported_and_what_was_sent_again() {
        let mut board = told(&[(2_000, 3_000), (4_000, 7_000)]);
        let lost = board.lost_below(3, 1_000);
        assert_eq!(lost, 4_000);
        assert_eq!(board.pipe(1_000, 10_000, lost), 3_000, "7,000 to 10,000");
        board.resent = 2_000;
        assert_eq!(board.pipe(1_000, 10_000, lost), 4_000, "and the hole that was filled");
        board.resent = 4_000;
        assert_eq!(board.pipe(1_000, 10_000, lost), 5_000);
    }
}

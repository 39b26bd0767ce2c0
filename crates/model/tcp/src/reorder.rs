//! What arrived ahead of a hole.
//!
//! Reference: RFC 2018 §4 (which ranges a receiver reports, and in which order). Up to a stated number of ranges is
//! kept; data that would need one more is not, as a receiver short of memory may do (RFC 9293 §3.10.7.4), and comes
//! again by retransmission.

use crate::ranges::Ranges;
use crate::segment::SACK_BLOCKS;

/// Out-of-order data of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reorder {
    ranges: Ranges,
    /// A sequence number of each range that grew last, latest first; zero for none.
    latest: [u32; SACK_BLOCKS],
}

impl Reorder {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(crate) fn count(&self) -> usize {
        self.ranges.all().len()
    }

    /// Keeps `from..to` if at most `most` ranges do.
    pub(crate) fn insert(&mut self, from: u32, to: u32, most: usize) {
        self.ranges.insert(from, to, most);
        if let Some(range) = self.ranges.around(from) {
            let within = |seq: u32| range.0 <= seq && seq < range.1;
            let place = self.latest.iter().position(|seq| *seq == 0 || within(*seq));
            let last = place.unwrap_or(SACK_BLOCKS - 1);
            self.latest.copy_within(0..last, 1);
            self.latest[0] = from;
        }
    }

    /// Where the stream reaches when it is contiguous up to `next`; what it swallows is forgotten.
    #[inline]
    pub(crate) fn advance(&mut self, next: u32) -> u32 {
        self.ranges.advance(next)
    }

    /// The ranges to report: the one with the latest arrival first, then those reported before it (RFC 2018 §4).
    pub(crate) fn blocks(&self) -> [(u32, u32); SACK_BLOCKS] {
        let mut blocks = [(0, 0); SACK_BLOCKS];
        let mut count = 0;
        for range in self.latest.iter().filter_map(|seq| self.ranges.around(*seq)) {
            if !blocks[..count].contains(&range) {
                blocks[count] = range;
                count += 1;
            }
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_arrival_is_reported_first_and_earlier_ones_again() {
        let mut r = Reorder::default();
        for from in [100, 300, 500, 700, 900] {
            r.insert(from, from + 100, 32);
        }
        assert_eq!(r.blocks(), [(900, 1000), (700, 800), (500, 600), (300, 400)]);
        r.insert(200, 300, 32);
        assert_eq!(r.blocks()[..3], [(100, 400), (900, 1000), (700, 800)], "two ranges have become one");
        assert_eq!(r.advance(400), 400);
        r.insert(600, 700, 32);
        assert_eq!(r.blocks(), [(500, 800), (900, 1000), (0, 0), (0, 0)]);
        assert_eq!(r.count(), 2);
    }
}

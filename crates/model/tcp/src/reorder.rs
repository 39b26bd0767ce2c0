//! What arrived ahead of a hole.
//!
//! Up to four ranges are remembered without allocation; data that would need a fifth is not kept, as a
//! receiver short of memory may do (RFC 9293 §3.10.7.4), and comes again by retransmission.

const RANGES: usize = 4;

/// Disjoint, non-adjacent ranges of sequence numbers, ascending.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reorder {
    ranges: [(u32, u32); RANGES],
    count: u8,
}

impl Reorder {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn count(&self) -> u8 {
        self.count
    }

    /// Keeps `from..to` if there is room.
    pub(crate) fn insert(&mut self, mut from: u32, mut to: u32) {
        let n = usize::from(self.count);
        let first = self.ranges[..n].iter().take_while(|r| r.1 < from).count();
        let mut last = first;
        while last < n && self.ranges[last].0 <= to {
            from = from.min(self.ranges[last].0);
            to = to.max(self.ranges[last].1);
            last += 1;
        }
        if last > first {
            self.ranges[first] = (from, to);
            self.ranges.copy_within(last..n, first + 1);
            self.count = (n - (last - first) + 1) as u8;
        } else if n < RANGES {
            self.ranges.copy_within(first..n, first + 1);
            self.ranges[first] = (from, to);
            self.count += 1;
        }
    }

    /// Where the stream reaches when it is contiguous up to `next`; what it swallows is forgotten.
    #[inline]
    pub(crate) fn advance(&mut self, mut next: u32) -> u32 {
        let n = usize::from(self.count);
        let mut gone = 0;
        while gone < n && self.ranges[gone].0 <= next {
            next = next.max(self.ranges[gone].1);
            gone += 1;
        }
        if gone > 0 {
            self.ranges.copy_within(gone..n, 0);
            self.count = (n - gone) as u8;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_merge_and_drain_in_order() {
        let mut r = Reorder::default();
        r.insert(10, 20);
        r.insert(30, 40);
        assert_eq!(r.advance(5), 5);
        r.insert(20, 30);
        assert_eq!(r.count(), 1);
        assert_eq!(r.advance(10), 40);
        assert!(r.is_empty());
    }

    #[test]
    fn a_fifth_range_is_not_kept_but_a_merge_still_is() {
        let mut r = Reorder::default();
        for k in [1, 3, 5, 7, 9] {
            r.insert(k * 10, k * 10 + 5);
        }
        assert_eq!(r.count(), 4);
        r.insert(15, 30);
        assert_eq!(r.count(), 3);
        assert_eq!(r.advance(10), 35);
    }
}

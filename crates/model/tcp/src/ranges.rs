//! Sets of sequence numbers as ranges.
//!
//! Reference: RFC 2018 §3 (ranges are what a receiver reports). Memory is taken at the first range and kept, so a
//! connection without holes has none. Leaves out wrapping, as [`crate::Segment`] does.

/// Disjoint, non-adjacent ranges of sequence numbers, ascending.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(Vec<(u32, u32)>);

impl Ranges {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn all(&self) -> &[(u32, u32)] {
        &self.0
    }

    /// Adds `from..to`, unless that would make more than `most` ranges.
    pub(crate) fn insert(&mut self, from: u32, to: u32, most: usize) {
        let first = self.0.partition_point(|r| r.1 < from);
        let beyond = self.0.partition_point(|r| r.0 <= to);
        if first < beyond {
            let merged = (from.min(self.0[first].0), to.max(self.0[beyond - 1].1));
            self.0[first] = merged;
            self.0.drain(first + 1..beyond);
        } else if self.0.len() < most {
            self.0.insert(first, (from, to));
        }
    }

    /// The range that `seq` lies in.
    pub(crate) fn around(&self, seq: u32) -> Option<(u32, u32)> {
        let range = self.0.get(self.0.partition_point(|r| r.1 <= seq))?;
        (range.0 <= seq).then_some(*range)
    }

    /// The start of the first range beyond `seq`.
    pub(crate) fn start_after(&self, seq: u32) -> Option<u32> {
        self.0.get(self.0.partition_point(|r| r.0 <= seq)).map(|r| r.0)
    }

    /// How many of `from..to` are in the set.
    pub(crate) fn count_in(&self, from: u32, to: u32) -> u32 {
        let first = self.0.partition_point(|r| r.1 <= from);
        let overlapping = self.0[first..].iter().take_while(|r| r.0 < to);
        overlapping.map(|r| r.1.min(to) - r.0.max(from)).sum()
    }

    /// Where what is contiguous up to `next` reaches with the set added; what it swallows is forgotten.
    #[inline]
    pub(crate) fn advance(&mut self, mut next: u32) -> u32 {
        let mut gone = 0;
        while let Some(range) = self.0.get(gone)
            && range.0 <= next
        {
            next = next.max(range.1);
            gone += 1;
        }
        if gone > 0 {
            self.0.drain(..gone);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ranges: &[(u32, u32)]) -> Ranges {
        let mut set = Ranges::default();
        ranges.iter().for_each(|r| set.insert(r.0, r.1, usize::MAX));
        set
    }

    #[test]
    fn ranges_merge_and_drain_in_order() {
        let mut r = of(&[(10, 20), (30, 40)]);
        assert_eq!(r.advance(5), 5);
        r.insert(20, 30, 4);
        assert_eq!(r.all(), [(10, 40)]);
        assert_eq!(r.advance(10), 40);
        assert!(r.is_empty());
    }

    #[test]
    fn one_range_too_many_is_not_kept_but_a_merge_still_is() {
        let mut r = Ranges::default();
        for k in [1, 3, 5, 7, 9] {
            r.insert(k * 10, k * 10 + 5, 4);
        }
        assert_eq!(r.all().len(), 4);
        r.insert(15, 30, 4);
        assert_eq!(r.all(), [(10, 35), (50, 55), (70, 75)]);
        assert_eq!(r.advance(10), 35);
    }

    #[test]
    fn holes_are_found_and_counted() {
        let r = of(&[(10, 20), (30, 40)]);
        assert_eq!(
            (r.around(9), r.around(10), r.around(19), r.around(20)),
            (None, Some((10, 20)), Some((10, 20)), None)
        );
        assert_eq!((r.start_after(9), r.start_after(10), r.start_after(30)), (Some(10), Some(30), None));
        assert_eq!((r.count_in(0, 100), r.count_in(15, 35), r.count_in(20, 30)), (20, 10, 0));
    }
}

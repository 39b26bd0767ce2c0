//! A set of octets of a stream, as few intervals.

/// Most intervals kept below the highest; beyond, the lowest gap is closed as if it had been seen.
const MOST: usize = 128;

/// Which octets were seen; half-open intervals in order, never touching.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntervalSet {
    /// The highest interval; empty in an empty set. Data mostly comes in order, so that this is all there is.
    last: (u64, u64),
    rest: Option<Box<Rest>>,
}

/// What sets have into which octets did not come in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rest {
    /// Intervals below the highest.
    lower: Vec<(u64, u64)>,
    /// Octets in the intervals that were never seen.
    unseen: u64,
}

impl IntervalSet {
    /// Adds `start..end` and says how many of these octets were there before.
    #[inline]
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        let (from, to) = self.last;
        if start >= end {
            0
        } else if from < to && (from..=to).contains(&start) {
            self.last.1 = to.max(end);
            end.min(to) - start
        } else {
            self.insert_apart(start, end)
        }
    }

    fn insert_apart(&mut self, start: u64, end: u64) -> u64 {
        if self.last.0 == self.last.1 {
            self.last = (start, end);
            return 0;
        }
        let Rest { lower: spans, unseen } = &mut **self.rest.get_or_insert_default();
        spans.push(self.last);
        let from = spans.partition_point(|s| s.1 < start);
        let touching = spans[from..].iter().take_while(|s| s.0 <= end).count();
        let known = if touching == 0 {
            spans.insert(from, (start, end));
            0
        } else {
            let touched = from..from + touching;
            let known =
                spans[touched.clone()].iter().map(|s| s.1.min(end).saturating_sub(s.0.max(start))).sum();
            let merged = (start.min(spans[from].0), end.max(spans[touched.end - 1].1));
            spans.drain(from + 1..touched.end);
            spans[from] = merged;
            known
        };
        if spans.len() > MOST {
            *unseen += spans[1].0 - spans[0].1;
            spans[0].1 = spans[1].1;
            spans.remove(1);
        }
        self.last = spans.pop().expect("one was pushed");
        known
    }

    /// Adds so many octets after the highest one of a set that is not empty.
    #[inline]
    pub(crate) fn extend(&mut self, octets: u64) {
        self.last.1 += octets;
    }

    /// Adds `start..end` without having seen it.
    pub fn fill(&mut self, start: u64, end: u64) {
        let known = self.insert(start, end);
        let unseen = end.saturating_sub(start) - known;
        if unseen > 0 {
            self.rest.get_or_insert_default().unseen += unseen;
        }
    }

    /// Whether it is worth asking for a [`Self::gap`]: there is none in what came in order.
    #[inline]
    pub(crate) fn may_have_gap(&self, start: u64) -> bool {
        self.last.0 > start || !self.lower().is_empty()
    }

    /// The first octets from `start` on that are not there but are followed by some that are.
    pub fn gap(&self, start: u64) -> Option<(u64, u64)> {
        let reach = self.reach(start);
        let next = self.lower().iter().chain([&self.last]).find(|s| s.0 > reach)?;
        Some((reach, next.0))
    }

    /// How many of the octets `start..end` were not seen, those that were filled in included.
    pub fn missing(&self, start: u64, end: u64) -> u64 {
        let spans = self.lower().iter().chain([&self.last]);
        let known: u64 = spans.map(|s| s.1.min(end).saturating_sub(s.0.max(start))).sum();
        end.saturating_sub(start) - known + self.unseen()
    }

    /// Where the octets that follow `start` without a gap end; `start` when it was not seen.
    #[inline]
    pub fn reach(&self, start: u64) -> u64 {
        let holds = |s: &(u64, u64)| s.0 <= start && start < s.1;
        let lower = self.lower();
        if lower.is_empty() || holds(&self.last) {
            return if holds(&self.last) { self.last.1 } else { start };
        }
        let at = lower.partition_point(|s| s.1 <= start);
        lower.get(at).filter(|s| s.0 <= start).map_or(start, |s| s.1)
    }

    #[inline]
    fn lower(&self) -> &[(u64, u64)] {
        self.rest.as_ref().map_or(&[], |rest| &rest.lower)
    }

    fn unseen(&self) -> u64 {
        self.rest.as_ref().map_or(0, |rest| rest.unseen)
    }

    /// How many octets were seen.
    pub fn total(&self) -> u64 {
        self.lower().iter().chain([&self.last]).map(|s| s.1 - s.0).sum::<u64>() - self.unseen()
    }

    /// One more than the highest octet seen; 0 for none.
    pub fn end(&self) -> u64 {
        self.last.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn it_is_a_set_of_octets(spans in prop::collection::vec((0u64..64, 0u64..12), 0..40), probe in 0u64..80) {
            let mut set = IntervalSet::default();
            let mut octets = std::collections::BTreeSet::new();
            for (start, length) in spans {
                let known = (start..start + length).filter(|o| octets.contains(o)).count() as u64;
                prop_assert_eq!(set.insert(start, start + length), known);
                octets.extend(start..start + length);
                prop_assert!(set.lower().windows(2).all(|w| w[0].1 < w[1].0), "{:?}", set);
            }
            prop_assert_eq!(set.total(), octets.len() as u64);
            prop_assert_eq!(set.end(), octets.last().map_or(0, |o| o + 1));
            let reach = (probe..).find(|o| !octets.contains(o)).unwrap();
            prop_assert_eq!(set.reach(probe), reach);
            prop_assert_eq!(set.missing(0, probe), (0..probe).filter(|o| !octets.contains(o)).count() as u64);
            let beyond = octets.range(reach..).next().copied();
            prop_assert_eq!(set.gap(probe), beyond.map(|next| (reach, next)));
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut set = IntervalSet::default();
        (0..10_000u64).for_each(|i| assert_eq!(set.insert(i * 10, i * 10 + 1), 0));
        assert_eq!((set.lower().len(), set.end(), set.total()), (MOST - 1, 99_991, 10_000));
    }
}

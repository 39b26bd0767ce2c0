//! A set of octets of a stream, as few intervals.

/// Most intervals kept; beyond, the narrowest gap is closed as if it had been seen.
const MOST: usize = 1024;

/// Which octets were seen; half-open intervals in order, never touching.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntervalSet {
    spans: Vec<(u64, u64)>,
}

impl IntervalSet {
    /// Adds `start..end` and says how many of these octets were there before.
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        // Data mostly comes in order: at or after the last interval.
        let from = match self.spans.last() {
            Some(last) if start >= last.0 => self.spans.len() - 1,
            _ => self.spans.partition_point(|s| s.1 < start),
        };
        let from = from + usize::from(self.spans.get(from).is_some_and(|s| s.1 < start));
        let touching = self.spans[from..].iter().take_while(|s| s.0 <= end).count();
        if touching == 0 {
            self.spans.insert(from, (start, end));
            self.limit();
            return 0;
        }
        let touched = from..from + touching;
        let known =
            self.spans[touched.clone()].iter().map(|s| s.1.min(end).saturating_sub(s.0.max(start))).sum();
        let merged = (start.min(self.spans[from].0), end.max(self.spans[touched.end - 1].1));
        self.spans.drain(from + 1..touched.end);
        self.spans[from] = merged;
        known
    }

    fn limit(&mut self) {
        if self.spans.len() > MOST {
            let gap = |i: &usize| self.spans[i + 1].0 - self.spans[*i].1;
            let narrowest = (0..self.spans.len() - 1).min_by_key(gap).expect("there are many");
            self.spans[narrowest].1 = self.spans[narrowest + 1].1;
            self.spans.remove(narrowest + 1);
        }
    }

    /// Where the octets that follow `start` without a gap end; `start` when it was not seen.
    pub fn reach(&self, start: u64) -> u64 {
        let at = self.spans.partition_point(|s| s.1 <= start);
        self.spans.get(at).filter(|s| s.0 <= start).map_or(start, |s| s.1)
    }

    /// How many octets were seen.
    pub fn total(&self) -> u64 {
        self.spans.iter().map(|s| s.1 - s.0).sum()
    }

    /// One more than the highest octet seen; 0 for none.
    pub fn end(&self) -> u64 {
        self.spans.last().map_or(0, |s| s.1)
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
                prop_assert!(set.spans.windows(2).all(|w| w[0].1 < w[1].0), "{:?}", set);
            }
            prop_assert_eq!(set.total(), octets.len() as u64);
            prop_assert_eq!(set.end(), octets.last().map_or(0, |o| o + 1));
            let reach = (probe..).find(|o| !octets.contains(o)).unwrap();
            prop_assert_eq!(set.reach(probe), reach);
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut set = IntervalSet::default();
        (0..10_000u64).for_each(|i| assert_eq!(set.insert(i * 10, i * 10 + 1), 0));
        assert_eq!(set.spans.len(), MOST);
        assert_eq!(set.end(), 99_991);
    }
}

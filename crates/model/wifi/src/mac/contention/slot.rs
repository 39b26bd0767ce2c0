//! The slot time, with what it takes to count whole slots without dividing.

use airperf_units::Duration;

/// The slot time and its inverse.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    length: Duration,
    /// ⌊(2^64 − 1) / length⌋: the product's upper half is the quotient or one less.
    inverse: u64,
}

impl Slot {
    pub(super) fn new(length: Duration) -> Self {
        Self { length, inverse: u64::MAX / length.as_ns() }
    }

    #[inline]
    pub(super) fn length(self) -> Duration {
        self.length
    }

    /// How many whole slots fit into `span`.
    #[inline]
    pub(super) fn whole(self, span: Duration) -> u64 {
        let (span, length) = (span.as_ns(), self.length.as_ns());
        let low = ((u128::from(span) * u128::from(self.inverse)) >> 64) as u64;
        low + u64::from(span - low * length >= length)
    }

    #[inline]
    pub(super) fn times(self, slots: u64) -> Duration {
        self.length * slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airperf_units::StreamKey;

    #[test]
    fn slots_are_counted_exactly_without_division() {
        let mut random = StreamKey::new(1).stream("test");
        for length in [1, 7, 9_000, 20_000, 50_000] {
            let slot = Slot::new(Duration::from_ns(length));
            let edges = (0..1_000u64).flat_map(|n| [n * length, (n + 1) * length - 1]);
            let far = (0..10_000).map(|_| random.bits());
            for span in edges.chain(far).chain([u64::MAX, u64::MAX - 1]) {
                assert_eq!(slot.whole(Duration::from_ns(span)), span / length, "{span} / {length}");
            }
        }
    }
}

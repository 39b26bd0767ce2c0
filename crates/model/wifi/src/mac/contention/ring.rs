//! The ring of expiries: a bucket for each virtual slot ahead.
//!
//! A bucket is a list threaded through the stations; a bitmap of the buckets in use with a bitmap of its
//! own words makes the earliest expiry two find-first-sets. The ring is twice as long as the largest
//! contention window, so that the word in which the present lies holds nothing but the near future and no
//! branch has to tell the two ends of it apart.

/// Buckets of the ring: at least the largest contention window, 1024 slots, and a word more.
const BUCKETS: usize = 2048;
const WORDS: usize = BUCKETS / 64;
/// The end of a bucket's list.
pub(super) const NONE: u16 = u16::MAX;
/// An expiry no station has.
pub(super) const NEVER: u64 = u64::MAX;

/// Stations by the virtual slot at which their countdown runs out.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    occupied: [u64; WORDS],
    /// Which words of `occupied` are not zero.
    summary: u32,
    heads: Box<[u16; BUCKETS]>,
    /// The next station of the same bucket, by station.
    next: Box<[u16]>,
}

impl Ring {
    pub(super) fn new(stations: usize) -> Self {
        Self {
            occupied: [0; WORDS],
            summary: 0,
            heads: Box::new([NONE; BUCKETS]),
            next: vec![NONE; stations].into(),
        }
    }

    /// Puts `station` before the others of its bucket.
    #[inline]
    pub(super) fn insert(&mut self, station: u16, expiry: u64) {
        let bucket = (expiry as usize) % BUCKETS;
        self.next[usize::from(station)] = std::mem::replace(&mut self.heads[bucket], station);
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
        self.summary |= 1 << (bucket / 64);
    }

    /// Empties the bucket of `expiry`; its first station, from which [`Self::after`] leads to the others.
    #[inline]
    pub(super) fn take(&mut self, expiry: u64) -> u16 {
        let bucket = (expiry as usize) % BUCKETS;
        self.clear(bucket);
        std::mem::replace(&mut self.heads[bucket], NONE)
    }

    /// The station behind `station` in its bucket, or [`NONE`].
    #[inline]
    pub(super) fn after(&self, station: u16) -> u16 {
        self.next[usize::from(station)]
    }

    /// Takes one station out of the bucket of `expiry`.
    pub(super) fn remove(&mut self, station: u16, expiry: u64) {
        let bucket = (expiry as usize) % BUCKETS;
        let after = self.after(station);
        if self.heads[bucket] == station {
            self.heads[bucket] = after;
        } else {
            let mut at = self.heads[bucket];
            while self.after(at) != station {
                at = self.after(at);
            }
            self.next[usize::from(at)] = after;
        }
        if self.heads[bucket] == NONE {
            self.clear(bucket);
        }
    }

    #[inline]
    fn clear(&mut self, bucket: usize) {
        let word = &mut self.occupied[bucket / 64];
        *word &= !(1 << (bucket % 64));
        self.summary &= !(u32::from(*word == 0) << (bucket / 64));
    }

    /// The smallest expiry, none being below `base` or more than 1023 above it; [`NEVER`] when there is none.
    #[inline]
    pub(super) fn first(&self, base: u64) -> u64 {
        if self.summary == 0 {
            return NEVER;
        }
        let word = base / 64;
        let ahead = u64::from(self.summary.rotate_right((word % WORDS as u64) as u32).trailing_zeros());
        let bits = self.occupied[(word + ahead) as usize % WORDS];
        (word + ahead) * 64 + u64::from(bits.trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airperf_units::StreamKey;

    #[test]
    fn the_smallest_expiry_is_found_from_every_base() {
        let mut random = StreamKey::new(1).stream("test");
        for stations in [1u16, 2, 5, 60] {
            let mut ring = Ring::new(usize::from(stations));
            let mut expiries: Vec<u64> = (0..u64::from(stations)).collect();
            let mut base = 0;
            for station in 0..stations {
                ring.insert(station, expiries[usize::from(station)]);
            }
            for _ in 0..20_000 {
                let first = expiries.iter().copied().min().expect("a station");
                assert_eq!(ring.first(base), first);
                base = first;
                if random.chance(0.2) {
                    let station = random.up_to(u32::from(stations) - 1) as u16;
                    ring.remove(station, expiries[usize::from(station)]);
                    expiries[usize::from(station)] = base + u64::from(random.up_to(1023));
                    ring.insert(station, expiries[usize::from(station)]);
                    continue;
                }
                let mut station = ring.take(first);
                let mut taken = Vec::new();
                while station != NONE {
                    taken.push(station);
                    station = ring.after(station);
                }
                assert_eq!(taken.len(), expiries.iter().filter(|&&e| e == first).count());
                for station in taken {
                    let window = if random.chance(0.3) { 1023 } else { 31 };
                    expiries[usize::from(station)] = base + u64::from(random.up_to(window));
                    ring.insert(station, expiries[usize::from(station)]);
                }
            }
        }
    }

    #[test]
    fn an_empty_ring_has_no_first() {
        let mut ring = Ring::new(1);
        assert_eq!(ring.first(77), NEVER);
        ring.insert(0, 77);
        assert_eq!(ring.first(77), 77);
        ring.remove(0, 77);
        assert_eq!(ring.first(77), NEVER);
    }
}

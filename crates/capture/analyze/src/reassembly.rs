//! Puts the octets of a stream in order for a reader, within bounded memory.
//!
//! First octets win: what was handed on is never replaced (faults 36). A gap that does not fill before
//! the buffer is full, and octets that a cut capture lacks, are handed on as a hole.

use std::collections::BTreeMap;

/// Most octets that wait for a gap to fill.
const MOST_WAITING: usize = 256 * 1024;

/// Takes a stream in order.
pub(crate) trait Reader {
    /// The next octets.
    fn octets(&mut self, data: &[u8]);
    /// So many octets are unknown.
    fn hole(&mut self, length: u64);
}

/// A piece of the stream: captured octets and how many after them were not captured.
#[derive(Clone, Debug)]
struct Piece {
    data: Vec<u8>,
    missing: u64,
}

impl Piece {
    fn length(&self) -> u64 {
        self.data.len() as u64 + self.missing
    }
}

/// The octets of one direction that cannot be handed on yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    next: u64,
    waiting: BTreeMap<u64, Piece>,
    octets: usize,
}

impl Reassembly {
    /// Adds the octets from `start` on, `length` of them, of which the first were captured.
    pub(crate) fn add(&mut self, start: u64, length: u64, captured: &[u8], reader: &mut impl Reader) {
        let known = captured.len().min(usize::try_from(length).unwrap_or(usize::MAX));
        let (captured, missing) = (&captured[..known], length - known as u64);
        if start <= self.next {
            self.hand_on(start, captured, missing, reader);
        } else if length > 0 {
            let longer = self.waiting.get(&start).is_none_or(|p| p.length() < length);
            if longer {
                let piece = Piece { data: captured.to_vec(), missing };
                let old = self.waiting.insert(start, piece).map_or(0, |p| p.data.len());
                self.octets = self.octets + known - old;
            }
        }
        self.drain(reader);
        while self.octets > MOST_WAITING || self.waiting.len() > MOST_WAITING / 64 {
            let first = *self.waiting.keys().next().expect("something waits");
            reader.hole(first - self.next);
            self.next = first;
            self.drain(reader);
        }
    }

    fn drain(&mut self, reader: &mut impl Reader) {
        while let Some(entry) = self.waiting.first_entry().filter(|e| *e.key() <= self.next) {
            let (start, piece) = entry.remove_entry();
            self.octets -= piece.data.len();
            self.hand_on(start, &piece.data, piece.missing, reader);
        }
    }

    fn hand_on(&mut self, start: u64, captured: &[u8], missing: u64, reader: &mut impl Reader) {
        let end = start + captured.len() as u64 + missing;
        if end <= self.next {
            return;
        }
        let done = self.next - start;
        let fresh = captured.get(usize::try_from(done).unwrap_or(usize::MAX)..).unwrap_or_default();
        if !fresh.is_empty() {
            reader.octets(fresh);
        }
        let rest = end - self.next - fresh.len() as u64;
        if rest > 0 {
            reader.hole(rest);
        }
        self.next = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Default)]
    struct Heard {
        octets: Vec<u8>,
        holes: Vec<(usize, u64)>,
    }

    impl Reader for Heard {
        fn octets(&mut self, data: &[u8]) {
            self.octets.extend_from_slice(data);
        }
        fn hole(&mut self, length: u64) {
            self.holes.push((self.octets.len(), length));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn any_order_gives_the_stream(
            order in prop::collection::vec((0usize..200, 1usize..40), 0..60),
        ) {
            let stream: Vec<u8> = (0..240).map(|i| i as u8).collect();
            let mut heard = Heard::default();
            let mut reassembly = Reassembly::default();
            let all = order.into_iter().chain((0..240).step_by(16).map(|start| (start, 16)));
            for (start, length) in all {
                let end = (start + length).min(240);
                reassembly.add(start as u64, (end - start) as u64, &stream[start..end], &mut heard);
            }
            prop_assert_eq!(heard.octets, stream);
            prop_assert_eq!(heard.holes, []);
            prop_assert_eq!(reassembly.octets, 0);
        }
    }

    #[test]
    fn what_was_not_captured_is_a_hole() {
        let mut heard = Heard::default();
        let mut reassembly = Reassembly::default();
        reassembly.add(0, 100, &[1; 60], &mut heard);
        reassembly.add(100, 10, &[2; 10], &mut heard);
        assert_eq!((heard.octets.len(), &heard.holes[..]), (70, &[(60, 40)][..]));
    }

    #[test]
    fn fault_36_first_octets_win_and_memory_is_bounded() {
        let mut heard = Heard::default();
        let mut reassembly = Reassembly::default();
        reassembly.add(0, 4, b"good", &mut heard);
        reassembly.add(0, 6, b"evil!!", &mut heard);
        assert_eq!(heard.octets, b"good!!");
        for i in 0..1_000u64 {
            reassembly.add(10 + i * 1_000, 999, &[0; 999], &mut heard);
            assert!(reassembly.octets <= MOST_WAITING);
        }
        assert_eq!(heard.holes[0], (6, 4), "the gap was given up");
    }
}

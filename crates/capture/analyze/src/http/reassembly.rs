//! Puts the octets of a stream in order for a reader, within bounded memory.
//!
//! First octets win: what was handed on is never replaced (fault 36). A gap that the reader need not see
//! is not waited for. Other gaps are given up, and handed on as holes, when the connection knows that
//! they were never captured or when the buffer is full. Octets that a cut capture lacks are holes, too.

use super::Octets;

/// Most octets that wait for a gap to fill.
const MOST_WAITING: usize = 256 * 1024;
/// Most pieces that wait: a window of 256 KiB in segments of half the usual length.
const MOST_PIECES: usize = 384;

/// When octets were captured, and when all before them were, too (or were given up).
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) at_ns: u64,
    pub(super) in_order_ns: u64,
    /// How much of the other direction their segment acknowledged; `None` when that is not known.
    pub(super) acked: Option<u64>,
}

/// Takes a stream in order.
pub(super) trait Reader {
    /// The next octets; they begin where a segment does unless some of it was known before.
    fn octets(&mut self, seen: Seen, data: &[u8]);
    /// So many octets are unknown; what shows that they are was `seen` then.
    fn hole(&mut self, seen: Seen, length: u64);
    /// How many of the next octets need not be seen.
    fn indifferent_to(&self) -> u64;
}

/// A piece of the stream: captured octets and how many after them were not captured.
#[derive(Clone, Debug)]
struct Piece {
    start: u64,
    seen: Seen,
    data: Box<[u8]>,
    missing: u64,
}

impl Piece {
    fn length(&self) -> u64 {
        self.data.len() as u64 + self.missing
    }
}

/// The octets of one direction that cannot be handed on yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Reassembly {
    /// Where the octets that were handed on end.
    pub(super) next: u64,
    /// In order of `start`, no two with the same.
    waiting: Vec<Piece>,
    octets: usize,
}

impl Reassembly {
    /// Adds what a segment carried.
    pub(super) fn add(&mut self, octets: &Octets<'_>, reader: &mut impl Reader) {
        let Octets { time_ns: time, start, length, captured, acked } = *octets;
        let known = captured.len().min(usize::try_from(length).unwrap_or(usize::MAX));
        let (captured, missing) = (&captured[..known], length - known as u64);
        let seen = Seen { at_ns: time, in_order_ns: time, acked };
        if start > self.next && start - self.next <= reader.indifferent_to() {
            reader.hole(seen, start - self.next);
            self.next = start;
        }
        if start <= self.next {
            hand_on(&mut self.next, seen, start, captured, missing, reader);
        } else if length > 0 {
            self.wait(Piece { start, seen, data: captured.into(), missing });
        }
        if let Some(first) = self.waiting.first() {
            // A gap that was never captured has not filled: what follows it counts from when it was seen.
            let filled = if captured.is_empty() { time.min(first.seen.at_ns) } else { time };
            self.drain(filled, reader);
            while self.octets > MOST_WAITING || self.waiting.len() > MOST_PIECES {
                self.skip_gap(reader);
            }
        }
    }

    /// Goes on at a place before which nothing is missing.
    pub(super) fn resume(next: u64) -> Self {
        Self { next, ..Self::default() }
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Nothing more comes: whatever waits is handed on.
    pub(super) fn finish(&mut self, reader: &mut impl Reader) {
        while !self.waiting.is_empty() {
            self.skip_gap(reader);
        }
    }

    fn wait(&mut self, piece: Piece) {
        let at = self.waiting.partition_point(|p| p.start < piece.start);
        let octets = piece.data.len();
        match self.waiting.get_mut(at) {
            Some(same) if same.start == piece.start => {
                if same.length() < piece.length() {
                    self.octets = self.octets + octets - same.data.len();
                    *same = piece;
                }
            }
            _ => {
                self.octets += octets;
                self.waiting.insert(at, piece);
            }
        }
    }

    fn skip_gap(&mut self, reader: &mut impl Reader) {
        let Some(Piece { start, seen, .. }) = self.waiting.first() else { return };
        let (start, seen) = (*start, *seen);
        if start > self.next {
            reader.hole(seen, start - self.next);
            self.next = start;
        }
        self.drain(seen.at_ns, reader);
    }

    /// Hands on what no longer waits: since `now`, or since it was seen if that was later.
    fn drain(&mut self, now: u64, reader: &mut impl Reader) {
        let mut drained = 0;
        for piece in &self.waiting {
            if piece.start > self.next && piece.start - self.next > reader.indifferent_to() {
                break;
            }
            if piece.start > self.next {
                reader.hole(piece.seen, piece.start - self.next);
                self.next = piece.start;
            }
            self.octets -= piece.data.len();
            let seen = Seen { in_order_ns: now.max(piece.seen.at_ns), ..piece.seen };
            hand_on(&mut self.next, seen, piece.start, &piece.data, piece.missing, reader);
            drained += 1;
        }
        self.waiting.drain(..drained);
        if self.waiting.is_empty() {
            self.waiting = Vec::new();
        }
    }
}

fn hand_on(next: &mut u64, seen: Seen, start: u64, captured: &[u8], missing: u64, reader: &mut impl Reader) {
    let end = start + captured.len() as u64 + missing;
    if end <= *next {
        return;
    }
    let done = *next - start;
    let fresh = captured.get(usize::try_from(done).unwrap_or(usize::MAX)..).unwrap_or_default();
    if !fresh.is_empty() {
        reader.octets(seen, fresh);
    }
    let rest = end - *next - fresh.len() as u64;
    if rest > 0 {
        reader.hole(seen, rest);
    }
    *next = end;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn add(
        reassembly: &mut Reassembly,
        time_ns: u64,
        start: u64,
        length: u64,
        captured: &[u8],
        heard: &mut Heard,
    ) {
        reassembly.add(&Octets { time_ns, start, length, captured, acked: None }, heard);
    }

    #[derive(Default)]
    struct Heard {
        octets: Vec<u8>,
        holes: Vec<(usize, u64)>,
        times: Vec<(u64, u64)>,
        indifferent: u64,
    }

    impl Reader for Heard {
        fn octets(&mut self, seen: Seen, data: &[u8]) {
            self.octets.extend_from_slice(data);
            self.times.push((seen.at_ns, seen.in_order_ns));
        }
        fn hole(&mut self, _: Seen, length: u64) {
            self.holes.push((self.octets.len(), length));
        }
        fn indifferent_to(&self) -> u64 {
            self.indifferent
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
                add(&mut reassembly, 0, start as u64, (end - start) as u64, &stream[start..end], &mut heard);
            }
            prop_assert_eq!(heard.octets, stream);
            prop_assert_eq!(heard.holes, []);
            prop_assert_eq!((reassembly.octets, reassembly.waiting.capacity()), (0, 0));
        }
    }

    #[test]
    fn fault_17_what_was_not_captured_is_a_hole() {
        let mut heard = Heard::default();
        let mut reassembly = Reassembly::default();
        add(&mut reassembly, 0, 0, 100, &[1; 60], &mut heard);
        add(&mut reassembly, 0, 100, 10, &[2; 10], &mut heard);
        assert_eq!((heard.octets.len(), &heard.holes[..]), (70, &[(60, 40)][..]));
    }

    #[test]
    fn fault_36_first_octets_win_and_memory_is_bounded() {
        let mut heard = Heard::default();
        let mut reassembly = Reassembly::default();
        add(&mut reassembly, 0, 0, 4, b"good", &mut heard);
        add(&mut reassembly, 0, 0, 6, b"evil!!", &mut heard);
        assert_eq!(heard.octets, b"good!!");
        for i in 0..1_000u64 {
            add(&mut reassembly, 0, 10 + i * 1_000, 999, &[0; 999], &mut heard);
            assert!(reassembly.octets <= MOST_WAITING);
        }
        assert_eq!(heard.holes[0], (6, 4), "the gap was given up");
        for i in 0..10_000u64 {
            add(&mut reassembly, 0, 2_000_000 + i * 2, 1, &[0], &mut heard);
            assert!(reassembly.waiting.len() <= MOST_PIECES);
        }
    }

    #[test]
    fn octets_are_in_order_from_when_the_gap_before_them_fills() {
        let mut heard = Heard::default();
        let mut reassembly = Reassembly::default();
        add(&mut reassembly, 1_000, 4, 4, b"data", &mut heard);
        add(&mut reassembly, 3_000, 0, 4, b"late", &mut heard);
        assert_eq!((&heard.octets[..], &heard.holes[..]), (&b"latedata"[..], &[][..]));
        assert_eq!(heard.times, [(3_000, 3_000), (1_000, 3_000)]);
    }

    #[test]
    fn fault_33_octets_after_a_gap_that_was_never_captured_count_from_when_they_were_seen() {
        let mut heard = Heard::default();
        let mut reassembly = Reassembly::default();
        add(&mut reassembly, 1_000, 4, 4, b"data", &mut heard);
        add(&mut reassembly, 2_000, 8, 4, b"more", &mut heard);
        // The connection knows that the gap never fills.
        add(&mut reassembly, 9_000, 0, 4, &[], &mut heard);
        assert_eq!((&heard.octets[..], &heard.holes[..]), (&b"datamore"[..], &[(0, 4)][..]));
        assert_eq!(heard.times, [(1_000, 1_000), (2_000, 2_000)]);
    }

    #[test]
    fn gaps_that_need_not_be_seen_are_not_waited_for() {
        let mut heard = Heard { indifferent: 10, ..Heard::default() };
        let mut reassembly = Reassembly::default();
        add(&mut reassembly, 0, 10, 4, b"data", &mut heard);
        assert_eq!((&heard.octets[..], reassembly.waiting.len()), (&b"data"[..], 0));
    }
}

//! Columns that are written without the encoder at large are read back as they were, by a reader at large.
//!
//! Every kind of column is in these two tables: numbers of each width, truths, few and many different ones, with
//! nulls and without. Leaves out texts that are all different, which are not written by hand.

use airperf_record::capture::{
    CaptureWriter, FCS_STATES, FRAME_TYPES, FrameRow, MAC_VIEWS, NOVELTIES, SegmentRow,
};
use airperf_record::{MacAddress, PACKET_KINDS, Row, read};
use proptest::prelude::*;
use serde_json::json;

/// Numbers from a seed: steady, small, and as far apart as can be.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = self.0 >> 11;
        match number % 8 {
            0 => u64::MAX - number % 3,
            1 => 0,
            2 => number << 11,
            3..5 => number % 1_000,
            _ => 1_500,
        }
    }

    fn option<T>(&mut self, nulls: u64, make: impl FnOnce(u64) -> T) -> Option<T> {
        let number = self.next();
        (self.0 >> 40 & 15 >= nulls).then(|| make(number))
    }

    fn word(&mut self, words: &'static [&'static str]) -> &'static str {
        words[self.next() as usize % words.len()]
    }

    fn truth(&mut self) -> bool {
        self.next() == 1_500
    }
}

/// Of 16 cells that may be null, `nulls` are.
fn segment(frame: u64, nulls: u64, n: &mut Numbers) -> SegmentRow {
    SegmentRow {
        frame,
        time_ns: 1_700_000_000_000_000_000 + frame * 1_000 + n.next() % 7,
        connection: n.option(nulls, |number| number),
        up: n.truth(),
        kind: n.word(PACKET_KINDS),
        seq: n.next(),
        ack: n.option(nulls, |number| number),
        payload_bytes: n.next() as u32,
        ip_bytes: n.next() as u32,
        window: n.next() as u32,
        flags: n.next() as u8,
        novelty: n.word(NOVELTIES),
        spurious: n.truth(),
        duplicate_ack: false,
        zero_window: true,
        window_probe: n.truth(),
        keep_alive: frame > 600,
        sack_from: None,
        sack_to: n.option(nulls, |number| number),
        rtt_ns: n.option(nulls, |number| number),
        in_flight: n.option(nulls, |number| number),
        mac_retries: n.option(nulls, |number| number as u8),
    }
}

fn frame(frame: u64, nulls: u64, n: &mut Numbers) -> FrameRow {
    FrameRow {
        frame,
        time_ns: frame * 100,
        interface: n.next() as u32,
        bytes: 60,
        captured: n.next() as u32,
        kind: n.word(FRAME_TYPES),
        transmitter: n.option(nulls, |number| MacAddress([2, 0, 0, 0, 0, number as u8])),
        receiver: None,
        group: n.truth(),
        sequence: n.option(nulls, |number| number as u16),
        fragment: n.option(nulls, |number| number as u8 % 16),
        retry: n.option(nulls, |number| number == 0),
        fcs: n.word(FCS_STATES),
        view: n.option(nulls, |number| MAC_VIEWS[number as usize % MAC_VIEWS.len()]),
        protected: None,
        rate_bps: n.option(nulls, |number| 1_000_000 * (1 + number % 11)),
        signal_dbm: n.option(nulls, |number| -0.5 * (number % 180) as f64),
        airtime_ns: n.option(nulls, |number| number),
        acknowledged: n.option(nulls, |number| number == 0),
        source: None,
        destination: n.option(nulls, |number| [10, 0, 0, number as u8].into()),
        protocol: n.option(nulls, |number| number as u8),
        ip_bytes: n.option(nulls, |number| number as u32),
    }
}

fn is_read_back<R: Row>(rows: &[R]) {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("capture");
    let mut writer = CaptureWriter::create(&out, false).unwrap();
    let mut table = writer.table().unwrap();
    // In pieces, as the pipeline gives them.
    rows.chunks(512).for_each(|some| table.extend(some).unwrap());
    writer.keep(table.finish().unwrap());
    writer.finish(Vec::new(), json!({}), json!({})).unwrap();
    let found: Vec<R> = read::rows(&out.join(R::FILE)).unwrap().map(Result::unwrap).collect();
    assert!(found == rows, "{} rows", rows.len());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn rows_are_read_back_as_they_were(seed: u64, count in 0u64..1_200, nulls in 0u64..17) {
        let n = &mut Numbers(seed);
        let segments: Vec<_> = (0..count).map(|number| segment(number, nulls, n)).collect();
        is_read_back(&segments);
        let frames: Vec<_> = (0..count).map(|number| frame(number, nulls, n)).collect();
        is_read_back(&frames);
    }
}

#[test]
fn blocks_pages_and_row_groups_end_anywhere() {
    let n = &mut Numbers(1);
    for count in [1, 2, 128, 129, 130, 257, 8_192, 8_193, 65_536, 70_000] {
        let segments: Vec<_> = (0..count).map(|number| segment(number, count % 3, n)).collect();
        is_read_back(&segments);
    }
}

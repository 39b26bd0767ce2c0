//! What a container had that it should not have, by name.

/// Names of the anomalies of containers, and what each means.
pub const ANOMALIES: &[(&str, &str)] = &[
    ("cut_records", "records of which fewer bytes were captured than were sent (snap length)"),
    ("captured_above_original", "records that claim more bytes captured than were sent; left out"),
    ("long_records", "records longer than 256 KiB; left out"),
    ("unknown_interface", "pcapng packets of an interface that is not described before them; left out"),
    ("untimed_records", "pcapng simple packets, which have no time; they take that of the record before"),
    (
        "absurd_times",
        "times after 2099, of no whole second, past 64 bits, or in 1970s among others that are not (or the other way round)",
    ),
    ("unknown_blocks", "pcapng blocks of unknown type; passed over"),
];

/// 1980-01-01, in nanoseconds since 1970: a clock that was never set, or the time of a simulation, is before.
const DATED_NS: i64 = 315_532_800_000_000_000;
/// 2100-01-01.
const ABSURD_NS: i64 = 4_102_444_800_000_000_000;

/// How often each anomaly of [`ANOMALIES`] was met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub(super) cut: u64,
    pub(super) above_original: u64,
    pub(super) long: u64,
    pub(super) unknown_interface: u64,
    pub(super) untimed: u64,
    pub(super) wrong_times: u64,
    pub(super) dated: u64,
    pub(super) undated: u64,
    pub(super) unknown_blocks: u64,
}

impl Counts {
    /// Notes the time of a record; `whole` is false where it was not well-formed or did not fit.
    #[inline]
    pub(super) fn time(&mut self, time_ns: i64, whole: bool) {
        if !whole || time_ns >= ABSURD_NS {
            self.wrong_times += 1;
        } else if time_ns >= DATED_NS {
            self.dated += 1;
        } else {
            self.undated += 1;
        }
    }

    /// Each anomaly of [`ANOMALIES`], in their order, with its count; 0 where it was not met.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = [
            self.cut,
            self.above_original,
            self.long,
            self.unknown_interface,
            self.untimed,
            // A capture may be dated or not; one that is both has some wrong.
            self.wrong_times + self.dated.min(self.undated),
            self.unknown_blocks,
        ];
        ANOMALIES.iter().zip(counts).map(|((name, _), count)| (*name, count))
    }
}

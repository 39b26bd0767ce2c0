//! The airtime budget of a capture: where every nanosecond on the channel went, as far as a sniffer can tell.
//!
//! Spans are posted back to back, so the categories sum to the elapsed time exactly. Frames are as long as their
//! rate and length make them. The gap before a frame is an estimate, for a sniffer does not see who
//! waits:
//! - shorter than DIFS: interframe space;
//! - up to DIFS + CW slots: DIFS (EIFS after noise or a missing acknowledgement) is interframe space and the rest
//!   backoff, where CW is the largest window that the sender of the following frame can have drawn from: CWmin,
//!   or CWmax for a frame with the retry bit;
//! - longer: idle, all of it.
//!
//! So a host that answers within CWmin slots counts as one that contends, and with the retry bit within CWmax. What
//! the sniffer missed counts as gap. The categories are those of a run's budget, but for `noise` (which is
//! `collision` and `garbled`: a sniffer cannot tell them apart) and `management` (`beacon`); `host_gap` is in
//! `backoff` or `idle`.
//!
//! Frames begin at their time stamps, as in captures of airperf. Where the radio's clock (TSFT) disagrees with the
//! time stamps by more than 1 µs, it is the radio's clock that counts, shifted to agree with the first frame: hosts
//! stamp late. Reference: IEEE 802.11-2020 §10.3.2.3 (interframe spaces), Table 15-6 and §16 (DSSS), Table 17-21 (OFDM).

use airperf_wire::{Dot11Kind, Modulation};

use super::mac::Heard;

/// Names in a summary's `airtime`, in the order of [`Category`].
const NAMES: [&str; 10] =
    ["data", "headers", "ack", "control", "ifs", "backoff", "noise", "retry", "management", "idle"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Category {
    Data,
    Headers,
    Ack,
    Control,
    Ifs,
    Backoff,
    Noise,
    Retry,
    Management,
    Idle,
}

/// Clocks that differ by less than this agree: TSFT counts whole microseconds.
const AGREE_NS: i64 = 1_000;
/// A clock that differs by more from one frame to the next was set anew.
const JUMP_NS: i64 = 1_000_000_000;

/// The spans of a PHY, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spans {
    slot: i64,
    sifs: i64,
    cw_min: i64,
    /// An ACK at the lowest rate, preamble included.
    slowest_ack: i64,
}

const CW_MAX: i64 = 1_023;
const DSSS: Spans = Spans { slot: 20_000, sifs: 10_000, cw_min: 31, slowest_ack: 304_000 };
const OFDM_2GHZ: Spans = Spans { slot: 9_000, sifs: 10_000, cw_min: 15, slowest_ack: 50_000 };
const OFDM_5GHZ: Spans = Spans { slot: 9_000, sifs: 16_000, cw_min: 15, slowest_ack: 44_000 };

impl Spans {
    fn of(heard: &Heard<'_>) -> Self {
        match (heard.modulation, heard.frequency_mhz) {
            (Modulation::Dsss { .. } | Modulation::Unknown, _) => DSSS,
            (_, Some(mhz)) if mhz > 3_000 => OFDM_5GHZ,
            _ => OFDM_2GHZ,
        }
    }

    fn difs(self) -> i64 {
        self.sifs + 2 * self.slot
    }

    fn eifs(self) -> i64 {
        self.sifs + self.slowest_ack + self.difs()
    }
}

/// Brings the radio's clock to the time stamps'.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    /// Time stamps minus the radio's clock, ns.
    ahead: Option<i64>,
}

impl Clock {
    /// When a frame began, and whether the radio's clock was set anew.
    fn start(&mut self, heard: &Heard<'_>) -> (i64, bool) {
        let Some(tsft_us) = heard.tsft_us.and_then(|us| i64::try_from(us).ok()) else {
            return (heard.time_ns, false);
        };
        let preamble = heard.airtime.map_or(0, |airtime| airtime.preamble_ns as i64);
        let begun = tsft_us.saturating_mul(1_000).saturating_sub(preamble);
        let ahead = *self.ahead.get_or_insert(heard.time_ns.saturating_sub(begun));
        let by_radio = begun.saturating_add(ahead);
        let off = heard.time_ns.saturating_sub(by_radio).saturating_abs();
        if off <= AGREE_NS {
            (heard.time_ns, false)
        } else if off <= JUMP_NS {
            (by_radio, false)
        } else {
            self.ahead = Some(heard.time_ns.saturating_sub(begun));
            (heard.time_ns, true)
        }
    }
}

/// The budget of one interface.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget {
    spent: [u64; NAMES.len()],
    clock: Clock,
    /// Up to when everything is posted.
    until: Option<i64>,
    /// Since when, not counting what went before time went back.
    since: i64,
    earlier: u64,
    /// What the next frame waits for is EIFS: noise, or no answer.
    disturbed: bool,
    unanswered: bool,
    aggregate: Option<u32>,
    /// The last ACK's airtime, ns.
    ack_ns: Option<u64>,
    /// Frames whose airtime is known.
    known: u64,
}

impl Budget {
    /// Posts a frame and the gap before it; tells whether the radio's clock was set anew.
    pub(crate) fn frame(&mut self, heard: &Heard<'_>) -> bool {
        let (start, jumped) = self.clock.start(heard);
        let Some(airtime) = heard.airtime else { return jumped };
        self.known += 1;
        let until = *self.until.get_or_insert_with(|| {
            self.since = start;
            start
        });
        if start < until.saturating_sub(JUMP_NS) {
            // Time went back by more than disorder explains: what follows is added.
            self.earlier = self.elapsed_ns();
            (self.until, self.since) = (Some(start), start);
        }
        let until = self.until.unwrap_or(start);
        let part = heard.aggregate.is_some() && heard.aggregate == self.aggregate;
        // The parts of an aggregate follow each other without gap or preamble, whatever their time stamps.
        let start = if part { until } else { start };
        let preamble = if part { 0 } else { airtime.preamble_ns };
        if start > until {
            self.gap(start.abs_diff(until), Spans::of(heard), heard.retry);
        }
        self.post_frame(heard, start, preamble, airtime.body_ns);
        self.aggregate = heard.aggregate;
        self.disturbed = heard.noise;
        self.unanswered = heard.asks_for_ack && !heard.noise;
        if heard.kind == Dot11Kind::Ack && !heard.noise {
            self.ack_ns = Some(airtime.total_ns());
        }
        jumped
    }

    fn gap(&mut self, gap: u64, spans: Spans, retry: bool) {
        let length = i64::try_from(gap).unwrap_or(i64::MAX);
        let disturbed = self.disturbed || self.unanswered;
        let window = if retry { CW_MAX } else { spans.cw_min };
        let waits = if disturbed { spans.eifs() } else { spans.difs() };
        if length <= spans.difs() {
            self.post(Category::Ifs, gap);
        } else if length <= waits + window * spans.slot {
            let space = gap.min(waits as u64);
            self.post(Category::Ifs, space);
            self.post(Category::Backoff, gap - space);
        } else {
            self.post(Category::Idle, gap);
        }
    }

    /// Posts a frame as far as it was not on the air at the same time as an earlier one.
    fn post_frame(&mut self, heard: &Heard<'_>, start: i64, preamble: u64, body: u64) {
        let mut hidden =
            self.until.map_or(0, |until| u64::try_from(until.saturating_sub(start)).unwrap_or(0));
        let whole = match heard.kind {
            _ if heard.noise => Some(Category::Noise),
            Dot11Kind::Ack | Dot11Kind::BlockAck => Some(Category::Ack),
            _ if heard.retry => Some(Category::Retry),
            kind if kind.is_management() => Some(Category::Management),
            kind if kind.is_data() => None,
            _ => Some(Category::Control),
        };
        let packet = body * u64::from(heard.carried.min(heard.bytes)) / u64::from(heard.bytes.max(1));
        let parts = [
            (whole.unwrap_or(Category::Headers), preamble + (body - packet)),
            (whole.unwrap_or(Category::Data), packet),
        ];
        for (category, length) in parts {
            let cut = hidden.min(length);
            hidden -= cut;
            self.post(category, length - cut);
        }
    }

    fn post(&mut self, category: Category, length: u64) {
        // Time ends in 2262; what would be later is not posted, so that the sum stays that of the categories.
        let until = self.until.unwrap_or_default();
        let end = until.saturating_add_unsigned(length);
        self.spent[category as usize] += end.abs_diff(until);
        self.until = Some(end);
    }

    /// SIFS and ACK after a frame like this one, ns.
    pub(crate) fn answer_ns(&self, heard: &Heard<'_>) -> u64 {
        let spans = Spans::of(heard);
        spans.sifs.unsigned_abs() + self.ack_ns.unwrap_or(spans.slowest_ack.unsigned_abs())
    }

    /// Whether the capture tells how long frames were on the air.
    pub(crate) fn is_known(&self) -> bool {
        self.known > 0
    }

    /// From the begin of the first frame to the end of the last one, ns.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.earlier + self.until.map_or(0, |until| until.abs_diff(self.since))
    }

    /// Nanoseconds by category; their sum is [`Self::elapsed_ns`].
    pub(crate) fn read(&self) -> impl Iterator<Item = (&'static str, u64)> {
        NAMES.into_iter().zip(self.spent)
    }
}

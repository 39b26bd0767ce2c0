//! How much faster or slower than on average connections become due, span after span.
//!
//! A modulated process is a Poisson process whose clock runs at this pace: independent exponential gaps are drawn in
//! the clock's time and mapped to the run's. So it is Poisson within a span, and as variable as the pace beyond.
//!
//! - Self-similar: spans of [`BIN`], the pace 1 + [`SPREAD`] times fractional Gaussian noise, cut off at 0.
//! - On/off: exponential spans at the pace (on + off)/on and 0 in turn, begun in the long run's proportion.
//!
//! Left out: heavy-tailed on and off times, and other marginal distributions than the normal.

use crate::config::{ArrivalProcess, Config};
use crate::fgn::fractional_noise;
use airperf_units::{Duration, Stream, StreamKey, Time};

/// Length of a span of the self-similar process. Ours: ten of the study's transactions, so that a queue sees the rate
/// change and not only single arrivals.
const BIN: Duration = Duration::from_ms(100);
/// Standard deviation of the self-similar pace over one [`BIN`]. Ours: the largest round number at which cutting off
/// below 0, 3.3 deviations away, leaves the mean as it is (+0.003%).
const SPREAD: f64 = 0.3;
/// Most values of noise, 29 hours of bins; then they come again from the first.
const MOST_BINS: u64 = 1 << 20;

/// The pace of one client, and where it is in it.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    now: Time,
    left: Duration,
    pace: f64,
    spans: Spans,
}

#[derive(Clone, Debug)]
enum Spans {
    Noise { values: Vec<f64>, next: usize },
    OnOff { on: Duration, off: Duration, stream: Stream },
}

impl Pace {
    /// The pace of the `client`-th client from `origin` to `end`; `None` for a process that has none.
    pub(crate) fn of(config: &Config, origin: Time, end: Time, key: &StreamKey, client: u64) -> Option<Self> {
        let mut stream = key.indexed("pace", client);
        let (spans, pace) = match config.arrivals {
            ArrivalProcess::Deterministic | ArrivalProcess::Poisson | ArrivalProcess::Once => return None,
            ArrivalProcess::SelfSimilar { hurst } => {
                let bins = end.saturating_since(origin).whole(BIN).saturating_add(1).min(MOST_BINS);
                let values = fractional_noise(hurst, bins as usize, &mut stream);
                (Spans::Noise { values, next: 0 }, 0.0)
            }
            ArrivalProcess::OnOff { on, off } => {
                let share = on.as_secs_f64() / (on + off).as_secs_f64();
                // The first span follows one of the other kind.
                let before = if stream.unit() < share { 0.0 } else { 1.0 / share };
                (Spans::OnOff { on, off, stream }, before)
            }
        };
        Some(Self { now: origin, left: Duration::ZERO, pace, spans })
    }

    /// The instant at which the clock has gone on by `span`; `None` when that is not before `end`.
    pub(crate) fn advance(&mut self, span: Duration, end: Time) -> Option<Time> {
        let mut span = span.as_ns() as f64;
        while self.now < end {
            let here = self.left.as_ns() as f64 * self.pace;
            if self.pace > 0.0 && span <= here {
                let step = Duration::from_ns((span / self.pace) as u64);
                self.left = self.left.saturating_sub(step);
                self.now += step;
                return (self.now < end).then_some(self.now);
            }
            span -= here;
            self.now += self.left;
            self.next_span();
        }
        None
    }

    fn next_span(&mut self) {
        match &mut self.spans {
            Spans::Noise { values, next } => {
                let noise = values.get(*next).copied().unwrap_or_default();
                *next = (*next + 1) % values.len().max(1);
                (self.left, self.pace) = (BIN, (1.0 + SPREAD * noise).max(0.0));
            }
            Spans::OnOff { on, off, stream } => {
                let was_on = self.pace > 0.0;
                let (mean, pace) =
                    if was_on { (*off, 0.0) } else { (*on, (*on + *off).as_secs_f64() / on.as_secs_f64()) };
                (self.left, self.pace) = (stream.exponential(mean), pace);
            }
        }
    }
}

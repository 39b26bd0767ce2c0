//! How long before an instant the generator stops sleeping and watches the clock.
//!
//! A processor that idles is slow to wake up, by tens of microseconds on a quiet machine and by hundreds on a virtual
//! one whose host is busy. So the lead is learnt from how late the timer was: it grows by a tenth whenever the timer was
//! later than that, and shrinks a little whenever it was not, which keeps it at the quantile [`LATER`] leaves above
//! (Robbins & Monro, "A stochastic approximation method", 1951).
//!
//! Left out: what delays a thread that does not sleep.

use crate::plan::Plan;

/// The lead before anything was learnt: a virtual processor nearly always wakes up within this.
const FIRST_NS: f64 = 200_000.0;
/// Longest lead that is learnt.
const LONGEST_NS: f64 = 500_000.0;
/// Most of the time between arrivals that may go into watching the clock.
const SHARE: f64 = 0.5;
/// Share of the wakings that may come later than the lead allows.
const LATER: f64 = 0.003;
/// By how much the lead grows after one that did.
const GROWS: f64 = 0.1;

/// The time between stopping to sleep and the instant slept for.
#[derive(Debug)]
pub(crate) struct Lead {
    ns: f64,
    /// What it may grow to; none where the plan says how long it is.
    most_ns: Option<f64>,
}

impl Lead {
    /// That of a plan: [`Plan::spin_ns`], or one that is learnt. A closed loop needs none.
    pub(crate) fn of(plan: &Plan) -> Self {
        if let Some(told) = plan.spin_ns {
            return Self { ns: told as f64, most_ns: None };
        }
        let rate = plan.arrivals.as_ref().and_then(|arrivals| arrivals.rate_micro).unwrap_or_default();
        let per_second = rate as f64 / 1e6 * plan.clients.len().max(1) as f64;
        let most = if per_second > 0.0 { LONGEST_NS.min(SHARE * 1e9 / per_second) } else { 0.0 };
        Self { ns: FIRST_NS.min(most), most_ns: Some(most) }
    }

    /// Nanoseconds.
    #[inline]
    pub(crate) fn ns(&self) -> u64 {
        self.ns as u64
    }

    /// The timer woke the thread so much later than it was set for.
    pub(crate) fn learn(&mut self, late_ns: u64) {
        let Some(most) = self.most_ns else { return };
        let factor = if late_ns as f64 > self.ns { 1.0 + GROWS } else { 1.0 - GROWS * LATER };
        self.ns = (self.ns * factor).min(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lead(rate: u64, more: &str) -> Lead {
        let plan = format!(
            r#"{{"schema": 1, "target": {{"address": "127.0.0.1", "port": 80, "host": "a", "paths": ["/"]}},
                "duration_ns": 1000000000, "arrivals": {{"rate_micro": {}}}{more}}}"#,
            rate * 1_000_000
        );
        Lead::of(&serde_json::from_str(&plan).unwrap())
    }

    #[test]
    fn it_comes_to_what_the_machine_needs() {
        for latest_ns in [40_000_u64, 400_000] {
            let mut lead = lead(100, "");
            for i in 0..100_000_u64 {
                lead.learn(i * 7_919 % 1_000 * latest_ns / 1_000); // evenly spread up to the latest
            }
            let share = lead.ns() as f64 / latest_ns as f64;
            assert!((0.93..1.12).contains(&share), "{share} of {latest_ns}");
        }
    }

    #[test]
    fn it_takes_half_of_the_time_between_arrivals_at_most() {
        let mut often = lead(10_000, "");
        let mut seldom = lead(100, "");
        assert_eq!((often.ns(), seldom.ns()), (50_000, 200_000));
        for _ in 0..1_000 {
            often.learn(3_000_000);
            seldom.learn(3_000_000);
        }
        assert_eq!((often.ns(), seldom.ns()), (50_000, 500_000));
    }

    #[test]
    fn one_that_was_told_learns_nothing() {
        let mut told = lead(100, r#", "spin_ns": 50000"#);
        told.learn(3_000_000);
        assert_eq!(told.ns(), 50_000);
    }
}

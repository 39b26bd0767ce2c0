//! What a link says of itself, before any packet: how much it carries from when to when, and how long one takes.
//!
//! This is read from the link's configuration and from the file of its trace, and shares no code with the model that
//! sends: the check against it would notice a model that sends too fast as well as a machine that sends too late.
//! Left out: links that state no rate of their packets (802.11, Ethernet), losses, and delays that are drawn.

use std::sync::Arc;

use airperf_link::access::{Capacity, Direction};
use airperf_link::trace::{Opportunities, RateSeries};
use airperf_scenario::LinkConfig;
use airperf_units::{Duration, Rate, Time};
use airperf_wwan::BlockError;

const NS_PER_MS: u64 = 1_000_000;

/// One direction's statement.
#[derive(Clone, Debug)]
pub(super) struct Stated {
    carries: Carries,
    /// Octets that a packet takes besides its own.
    pub(super) overhead: u32,
    /// From the end of sending to delivery, nanoseconds.
    pub(super) delay_ns: u64,
    /// Whether the time of a packet that meets nobody follows from the above.
    pub(super) times_packets: bool,
}

/// How much a direction carries.
#[derive(Clone, Debug)]
enum Carries {
    Rate(Rate),
    Series(Arc<RateSeries>),
    /// Octets of an opportunity.
    Schedule(Arc<Opportunities>, u32),
}

impl Stated {
    /// What a link states of its way down (from station 0) to station 1 and up; with others on a medium that is shared, what
    /// is left of it is not stated.
    pub(super) fn of(link: &LinkConfig, others: bool) -> [Option<Self>; 2] {
        match link {
            LinkConfig::Access(config) if others && config.shared => [None, None],
            LinkConfig::Gprs(_) if others => [None, None],
            LinkConfig::Access(config) => [&config.down, &config.up].map(|way| {
                // A mobile without a channel waits for one, for how long depends on its past.
                Some(Self { times_packets: config.rrc.is_none(), ..Self::access(way)? })
            }),
            // Where every block arrives, radio blocks of a flow that is kept carry a fixed rate; what setting up a flow takes
            // is not constant, and a flow that is not kept counts down and is set up again while packets wait.
            LinkConfig::Gprs(config)
                if config.block_error == BlockError::Fixed(0.0) && config.stalls.is_none() =>
            {
                [&config.down, &config.up].map(|way| {
                    let steady = way.keep > Duration::ZERO && way.adaptation.is_none() && way.fec.is_none();
                    let delay_ns = way.delay.fixed().filter(|_| steady)?;
                    let carries = Carries::Rate(way.payload_rate(config.family));
                    Some(Self { carries, overhead: way.overhead_bytes, delay_ns, times_packets: false })
                })
            }
            LinkConfig::Gprs(_)
            | LinkConfig::Wifi { .. }
            | LinkConfig::Ethernet(_)
            | LinkConfig::Switch(_) => [None, None],
        }
    }

    fn access(way: &Direction) -> Option<Self> {
        let delay_ns = way.delay.fixed().filter(|_| way.loss.mean() == 0.0 && way.duplicate == 0.0)?;
        let (carries, overhead) = match &way.capacity {
            Capacity::Rates(series) => (Carries::Series(series.clone()), 0),
            Capacity::Opportunities { schedule, size } => {
                (Carries::Schedule(schedule.clone(), size.bytes()), size.overhead())
            }
        };
        Some(Self { carries, overhead, delay_ns, times_packets: true })
    }

    /// The instant up to which a packet that has just been sent has used what the direction carries: for a schedule the
    /// whole millisecond, which packets share.
    pub(super) fn used_up(&self, at: Time) -> Time {
        match self.carries {
            Carries::Schedule(..) => Time::from_ns(at.as_ns() / NS_PER_MS * NS_PER_MS),
            _ => at,
        }
    }

    /// Whether what is carried can be told apart second by second: opportunities can, at a rate packets lie across.
    pub(super) fn has_seconds(&self) -> bool {
        matches!(self.carries, Carries::Schedule(..))
    }

    /// Octets by which a busy time is not known: a packet may have parts of an opportunity before or after it.
    pub(super) fn grain(&self) -> f64 {
        match self.carries {
            Carries::Schedule(_, size) => f64::from(size),
            _ => 0.0,
        }
    }

    /// Octets carried after `from` and until `to`, overhead included.
    pub(super) fn octets(&self, from: Time, to: Time) -> f64 {
        let (from, to) = (from.as_ns(), to.as_ns());
        match &self.carries {
            Carries::Rate(rate) => rate.as_bps() as f64 * to.saturating_sub(from) as f64 / 8e9,
            Carries::Series(series) => bits_until(series, to) / 8.0 - bits_until(series, from) / 8.0,
            Carries::Schedule(schedule, size) => {
                let until = |ns: u64| opportunities_until(schedule, ns / NS_PER_MS);
                until(to).saturating_sub(until(from)) as f64 * f64::from(*size)
            }
        }
    }

    /// When a packet of `bytes` that meets nobody has been sent, if it came at `at`; `None` when not within a minute.
    pub(super) fn sent(&self, at: Time, bytes: u32) -> Option<Time> {
        let needed = f64::from(bytes + self.overhead);
        let (mut early, mut late) = (at.as_ns(), at.as_ns() + 60_000 * NS_PER_MS);
        if self.octets(at, Time::from_ns(late)) < needed {
            return None;
        }
        while late - early > 1 {
            let middle = early.midpoint(late);
            if self.octets(at, Time::from_ns(middle)) < needed {
                early = middle;
            } else {
                late = middle;
            }
        }
        Some(Time::from_ns(late))
    }
}

/// Bits that a series carries from the run's beginning.
fn bits_until(series: &RateSeries, ns: u64) -> f64 {
    let within = |into: u64| {
        let steps = series.steps();
        let ends = steps.iter().skip(1).map(|&(from, _)| from).chain([series.period_ns()]);
        let each = steps.iter().zip(ends).map(|(&(from, rate), until)| {
            rate.as_bps() as f64 * into.min(until).saturating_sub(from) as f64 / 1e9
        });
        each.sum::<f64>()
    };
    let period = series.period_ns();
    if ns < period { within(ns) } else { (ns / period) as f64 * within(period) + within(ns % period) }
}

/// Opportunities that a schedule has from the run's beginning to the end of a millisecond.
fn opportunities_until(schedule: &Opportunities, ms: u64) -> u64 {
    let (at, period) = (schedule.at_ms(), schedule.period_ms());
    ms / period * at.len() as u64 + at.partition_point(|&one| one <= ms % period) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use airperf_link::access::OpportunitySize;
    use airperf_link::trace::Trace;
    use airperf_units::Distribution;

    fn stated(capacity: Capacity) -> Stated {
        let clean = Direction::clean(Rate::mbps(1), 0);
        Stated::access(&Direction { capacity, ..clean }).unwrap()
    }

    fn ms(ms: u64) -> Time {
        Time::from_ns(ms * NS_PER_MS)
    }

    #[test]
    fn a_rate_carries_and_takes_what_it_says() {
        let mega = stated(Capacity::constant(Rate::mbps(1)));
        assert_eq!(mega.octets(ms(5), ms(13)), 1000.0);
        assert_eq!(mega.sent(ms(5), 1000), Some(ms(13)));
    }

    #[test]
    fn a_series_goes_round() {
        let trace = Trace::parse("time_s,rate_bps\n0,8000\n1,0\n").unwrap();
        let series = stated(Capacity::of_trace(&trace, OpportunitySize::Plain));
        assert_eq!(series.octets(ms(500), ms(2500)), 1000.0);
        assert_eq!(series.sent(ms(1500), 500), Some(ms(2500)));
    }

    #[test]
    fn opportunities_are_counted_by_the_millisecond_and_round_after_round() {
        let trace = Trace::parse("2\n2\n5\n").unwrap();
        let schedule = stated(Capacity::of_trace(&trace, OpportunitySize::Mahimahi));
        // At 2, 2, 5, 7, 7, 10, 12, 12: nothing at 0, where the first round begins.
        assert_eq!(schedule.octets(ms(0), ms(12)), 8.0 * 1504.0);
        assert_eq!(schedule.octets(ms(2), ms(7)), 3.0 * 1504.0);
        assert_eq!(schedule.sent(ms(5), 1500), Some(ms(7)));
        assert_eq!(schedule.sent(ms(4), 1501), Some(ms(7)), "it takes two");
        assert_eq!(schedule.used_up(Time::from_ns(7_999_999)), ms(7));
    }

    #[test]
    fn a_block_flow_that_is_not_kept_states_no_rate() {
        let [down, up] = Stated::of(&LinkConfig::Gprs(airperf_wwan::Config::gprs(2)), false);
        // 3 slots of CS-2: 30 octets every 20 ms (3GPP TS 44.060 table 10.2.1).
        assert_eq!(down.map(|down| down.octets(ms(0), ms(1_000))), Some(3.0 * 30.0 * 50.0));
        assert!(up.is_none());
    }

    #[test]
    fn links_with_losses_or_drawn_delays_state_nothing() {
        let drawn = Distribution::Uniform { low: 0, high: 9 };
        let clean = Direction::clean(Rate::mbps(1), 7);
        assert!(Stated::access(&Direction { delay: drawn, ..clean.clone() }).is_none());
        assert!(Stated::access(&Direction { duplicate: 0.1, ..clean.clone() }).is_none());
        assert_eq!(Stated::access(&clean).unwrap().delay_ns, 7);
    }
}

//! Who is due next: the schedules of all clients, merged in order of time.
//!
//! The schedules are those of [`airperf_workload::Schedule`], so a load and a simulation with the same
//! workload and seed are due at the same instants; or the plan lists them. Open loop: nothing that happens to a
//! connection moves another. Left out: the closed loop, which has no schedule.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use airperf_units::{Duration, Time};
use airperf_workload::{ArrivalProcess, Config, PerSecond, Schedule, Start};

use crate::plan::Plan;

/// The workload of one client.
pub(crate) fn workload(arrivals: ArrivalProcess, rate_micro: u64, offset_ns: u64) -> Config {
    Config {
        arrivals,
        rate: PerSecond::from_micro(rate_micro),
        start: Start::At(Duration::from_ns(offset_ns)),
        ..Config::default()
    }
}

/// What is due next, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrival {
    pub(crate) due_ns: u64,
    pub(crate) client: u16,
    /// Its number among this client's.
    pub(crate) session: u64,
}

/// Where the arrivals of a client come from.
#[derive(Debug)]
enum Source {
    Drawn(Box<Schedule>),
    Listed(std::iter::Enumerate<std::vec::IntoIter<u64>>),
}

impl Source {
    /// When the next is due, and its number.
    fn next(&mut self) -> Option<(u64, u64)> {
        match self {
            Self::Drawn(schedule) => schedule.next().map(|demand| (demand.due.as_ns(), demand.session)),
            Self::Listed(due) => due.next().map(|(session, due_ns)| (due_ns, session as u64)),
        }
    }
}

/// The arrivals of all clients in order of time.
#[derive(Debug)]
pub(crate) struct Arrivals {
    clients: Vec<(Source, u64)>,
    next: BinaryHeap<Reverse<Arrival>>,
}

impl Arrivals {
    /// Those of a plan; none for a closed loop.
    pub(crate) fn of(plan: &Plan) -> Self {
        let key = plan.key();
        let mut all = Self { clients: Vec::new(), next: BinaryHeap::new() };
        let open = plan.arrivals.as_ref().and_then(|a| Some((a, a.rate()?)));
        let Some((arrivals, rate)) = open else { return all };
        let most = plan.connections.unwrap_or(u64::MAX);
        let clients = plan.clients.iter().enumerate().map(|(index, client)| {
            let Some(model) = arrivals.model() else {
                let due = arrivals.due_ns.iter().flatten().map(|due| due.saturating_add(client.offset_ns));
                return (Source::Listed(due.collect::<Vec<_>>().into_iter().enumerate()), most);
            };
            let end =
                client.offset_ns.saturating_add(plan.duration_ns.unwrap_or_else(|| longest(most, rate)));
            let end = end.min(plan.until_ns.unwrap_or(u64::MAX));
            let config = workload(model, rate, client.offset_ns);
            (Source::Drawn(Schedule::new(config, Time::from_ns(end), &key, plan.number(index)).into()), most)
        });
        all.clients = clients.collect();
        (0..all.clients.len()).for_each(|client| all.refill(client as u16));
        all
    }

    /// The next, which stays.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Arrival> {
        self.next.peek().map(|next| next.0)
    }

    /// Takes the next.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Arrival> {
        let next = self.next.pop()?.0;
        self.refill(next.client);
        Some(next)
    }

    fn refill(&mut self, client: u16) {
        let (source, left) = &mut self.clients[usize::from(client)];
        if *left == 0 {
            return;
        }
        *left -= 1;
        if let Some((due_ns, session)) = source.next() {
            self.next.push(Reverse(Arrival { due_ns, client, session }));
        }
    }
}

/// When even a bursty process has had `most` arrivals: ten times as long as on average, and an hour.
fn longest(most: u64, rate_micro: u64) -> u64 {
    let mean = u128::from(most) * 1_000_000_000_000_000 / u128::from(rate_micro.max(1));
    let limit = u128::from(u64::MAX / 4);
    (mean * 10 + 3_600_000_000_000).min(limit) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(more: &str) -> Plan {
        let text = format!(
            r#"{{"schema":1,"target":{{"address":"127.0.0.1","port":80}},
            "arrivals":{{"rate_micro":10000000}},{more}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn all(more: &str) -> Vec<(u64, u16)> {
        let mut arrivals = Arrivals::of(&plan(more));
        std::iter::from_fn(|| arrivals.pop()).map(|a| (a.due_ns / 1_000_000, a.client)).collect()
    }

    #[test]
    fn clients_keep_their_stated_offsets() {
        let seen = all(r#""duration_ns":200000000,"clients":[{"offset_ns":0},{"offset_ns":30000000}]"#);
        assert_eq!(seen, [(0, 0), (30, 1), (100, 0), (130, 1)]);
    }

    fn due_s(process: &str) -> Vec<f64> {
        let text = format!(
            r#"{{"schema":1,"target":{{"address":"127.0.0.1","port":80}},"seed":3,
            "duration_ns":1000000000000,"arrivals":{process}}}"#
        );
        let mut arrivals = Arrivals::of(&serde_json::from_str(&text).unwrap());
        std::iter::from_fn(|| arrivals.pop()).map(|arrival| arrival.due_ns as f64 / 1e9).collect()
    }

    /// Kolmogorov and Smirnov's D of the gaps against the exponential distribution of the stated rate.
    #[test]
    fn poisson_arrivals_pass_the_test_of_kolmogorov_and_smirnov() {
        let due = due_s(r#"{"process":"poisson","rate_micro":20000000}"#);
        let mut gaps: Vec<f64> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let off = |(i, gap): (usize, &f64)| {
            let expected = 1.0 - (-20.0 * gap).exp();
            (expected - i as f64 / n).abs().max((expected - (i as f64 + 1.0) / n).abs())
        };
        let distance = gaps.iter().enumerate().map(off).fold(0.0, f64::max);
        assert!(distance < 1.36 / n.sqrt(), "D = {distance}, n = {n}"); // 5 % point
    }

    /// The slope of the variance of block means over their length; the exponent that was asked for comes back.
    #[test]
    fn self_similar_arrivals_have_the_hurst_exponent_that_was_asked_for() {
        for hurst in [0.6, 0.75, 0.9] {
            let due =
                due_s(&format!(r#"{{"process":"self-similar","rate_micro":200000000,"hurst":{hurst}}}"#));
            let mut counts = vec![0.0; 10_000];
            due.iter().for_each(|at| counts[(at * 10.0) as usize] += 1.0);
            let mean = counts.iter().sum::<f64>() / counts.len() as f64;
            let point = |length: usize| {
                let means: Vec<f64> = counts
                    .chunks_exact(length)
                    .map(|block| block.iter().sum::<f64>() / length as f64)
                    .collect();
                let squares = means.iter().map(|block| (block - mean).powi(2)).sum::<f64>();
                // Less what a Poisson process has at any exponent.
                let variance = squares / (means.len() - 1) as f64 - mean / length as f64;
                ((length as f64).ln(), variance.ln())
            };
            let points: Vec<(f64, f64)> = [1, 2, 4, 8, 16, 32, 64].map(point).into();
            let n = points.len() as f64;
            let (x, y) = points.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0 / n, sum.1 + p.1 / n));
            let slope = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>()
                / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
            let seen = 1.0 + slope / 2.0;
            assert!((seen - hurst).abs() < 0.05, "{seen}, asked for {hurst}");
        }
    }

    #[test]
    fn listed_arrivals_come_as_listed() {
        let text = r#"{"schema":1,"target":{"address":"127.0.0.1","port":80},"duration_ns":1000000000,
            "clients":[{},{"offset_ns":1000000}],
            "arrivals":{"process":"listed","rate_micro":3000000,"due_ns":[2000000,5000000,5000000]}}"#;
        let mut listed: Plan = serde_json::from_str(text).unwrap();
        assert_eq!(listed.check(), Vec::<String>::new());
        let mut arrivals = Arrivals::of(&listed);
        let seen: Vec<_> =
            std::iter::from_fn(|| arrivals.pop()).map(|a| (a.due_ns / 1_000_000, a.client)).collect();
        assert_eq!(seen, [(2, 0), (3, 1), (5, 0), (5, 0), (6, 1), (6, 1)]);
        listed.arrivals.as_mut().unwrap().due_ns = Some(vec![2, 1]);
        assert_eq!(listed.check().len(), 1);
    }

    #[test]
    fn a_number_of_connections_ends_the_schedule() {
        assert_eq!(all(r#""connections":3"#), [(0, 0), (100, 0), (200, 0)]);
        assert_eq!(all(r#""connections":0"#), []);
    }
}

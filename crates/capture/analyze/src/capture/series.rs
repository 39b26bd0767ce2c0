//! Packets and bytes over time.
//!
//! Intervals begin at whole multiples of their length since 1970, so that several captures of one network line up. Empty
//! intervals have no row. Memory is bounded: past [`MOST_INTERVALS`] each interval becomes twice as long, which
//! `series.length_ns` says.

use std::collections::BTreeMap;
use std::net::IpAddr;

use airperf_record::capture::SeriesRow;

/// Intervals of all traffic.
const MOST_INTERVALS: usize = 128 * 1024;

/// What is counted in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) payload_bytes: u64,
    pub(crate) connections: u64,
    pub(crate) requests: u64,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.payload_bytes += other.payload_bytes;
        self.connections += other.connections;
        self.requests += other.requests;
    }
}

/// Counts by interval. The one counted in last is at hand; time mostly goes on.
#[derive(Clone, Debug)]
pub(crate) struct Intervals {
    length_ns: u64,
    /// Number of the interval at hand.
    now: u64,
    counts: Counts,
    others: BTreeMap<u64, Counts>,
    /// Whether anything was counted at all.
    begun: bool,
}

impl Intervals {
    pub(crate) fn new(length_ns: u64) -> Self {
        let length_ns = length_ns.max(1);
        Self { length_ns, now: 0, counts: Counts::default(), others: BTreeMap::new(), begun: false }
    }

    /// The counts at `time_ns`, and whether the interval is a new one.
    #[inline]
    pub(crate) fn at(&mut self, time_ns: u64) -> (&mut Counts, bool) {
        let begin = self.now.wrapping_mul(self.length_ns);
        let here = self.begun && time_ns >= begin && time_ns - begin < self.length_ns;
        let is_new = if here { false } else { self.turn(time_ns / self.length_ns) };
        (&mut self.counts, is_new)
    }

    #[cold]
    fn turn(&mut self, number: u64) -> bool {
        if self.begun {
            self.others.insert(self.now, self.counts);
        }
        let known = self.others.remove(&number);
        (self.begun, self.now, self.counts) = (true, number, known.unwrap_or_default());
        known.is_none()
    }

    fn cells(&self) -> impl Iterator<Item = (u64, Counts)> {
        let at_hand = self.begun.then_some((self.now, self.counts));
        let (before, after) = (self.others.range(..self.now), self.others.range(self.now..));
        let of = |(number, counts): (&u64, &Counts)| (*number, *counts);
        before.map(of).chain(at_hand).chain(after.map(of))
    }

    /// Makes every interval `length_ns` long, a multiple of what it was, and tells how many there are.
    pub(crate) fn lengthen(&mut self, length_ns: u64) -> usize {
        if length_ns != self.length_ns && self.begun {
            let old = self.length_ns;
            let mut merged: BTreeMap<u64, Counts> = BTreeMap::new();
            for (number, counts) in self.cells() {
                merged.entry(number.wrapping_mul(old) / length_ns).or_default().add(counts);
            }
            self.now = self.now.wrapping_mul(old) / length_ns;
            self.counts = merged.remove(&self.now).unwrap_or_default();
            self.others = merged;
        }
        self.length_ns = length_ns;
        self.others.len() + usize::from(self.begun)
    }

    /// Adds other counts; the shorter intervals of the two must go into the longer.
    pub(crate) fn merge(&mut self, mut other: Self) {
        let length_ns = self.length_ns.max(other.length_ns);
        self.lengthen(length_ns);
        other.lengthen(length_ns);
        for (number, counts) in other.cells() {
            self.at(number.wrapping_mul(length_ns)).0.add(counts);
        }
    }

    /// Rows in order of time.
    pub(crate) fn rows(&self, client: Option<IpAddr>) -> impl Iterator<Item = SeriesRow> {
        self.cells().map(move |(number, counts)| SeriesRow {
            time_ns: number.wrapping_mul(self.length_ns),
            length_ns: self.length_ns,
            client,
            packets: counts.packets,
            bytes: counts.bytes,
            payload_bytes: counts.payload_bytes,
            connections: counts.connections,
            requests: counts.requests,
        })
    }
}

/// The series of all traffic: every frame of the capture. Connections, requests and payload are added from
/// the clients' at the end.
#[derive(Clone, Debug)]
pub(crate) struct AllTraffic {
    intervals: Intervals,
    cells: usize,
}

impl AllTraffic {
    pub(crate) fn new(interval_ns: u64) -> Self {
        Self { intervals: Intervals::new(interval_ns), cells: 0 }
    }

    /// A frame of `bytes` on the wire, with `payload` octets of TCP payload.
    #[inline]
    pub(crate) fn frame(&mut self, time_ns: u64, bytes: u32, payload: u32) {
        let (cell, is_new) = self.intervals.at(time_ns);
        cell.packets += 1;
        cell.bytes += u64::from(bytes);
        cell.payload_bytes += u64::from(payload);
        if is_new {
            self.cells += 1;
            if self.cells > MOST_INTERVALS {
                let length_ns = self.intervals.length_ns.saturating_mul(2);
                self.cells = self.intervals.lengthen(length_ns);
            }
        }
    }

    /// Rows in order of time; `clients` are the rows of all clients.
    pub(crate) fn rows(mut self, clients: &[SeriesRow]) -> Vec<SeriesRow> {
        for row in clients {
            // A longer interval of a client counts where it begins.
            let (cell, _) = self.intervals.at(row.time_ns);
            cell.connections += row.connections;
            cell.requests += row.requests;
        }
        self.intervals.rows(None).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(intervals: &Intervals) -> Vec<(u64, u64)> {
        intervals.rows(None).map(|row| (row.time_ns, row.packets)).collect()
    }

    #[test]
    fn packets_fall_into_the_interval_they_were_captured_in() {
        let mut intervals = Intervals::new(10);
        for time in [19, 20, 29, 30, 5, 21] {
            intervals.at(time).0.packets += 1;
        }
        assert_eq!(packets(&intervals), [(0, 1), (10, 1), (20, 3), (30, 1)]);
        assert_eq!(intervals.lengthen(20), 2);
        assert_eq!(packets(&intervals), [(0, 2), (20, 4)]);
        intervals.at(39).0.packets += 1;
        assert_eq!(packets(&intervals), [(0, 2), (20, 5)]);
    }

    #[test]
    fn the_latest_time_there_is_has_an_interval() {
        let mut intervals = Intervals::new(1_000_000_000);
        intervals.at(u64::MAX).0.packets += 1;
        intervals.at(0).0.packets += 1;
        assert_eq!(packets(&intervals), [(0, 1), (18_446_744_073_000_000_000, 1)]);
    }

    #[test]
    fn all_traffic_never_takes_more_than_its_share_of_memory() {
        let mut all = AllTraffic::new(1);
        (0..400_000).for_each(|time| all.frame(time * 3, 60, 0));
        assert!(all.cells <= MOST_INTERVALS);
        let rows = all.rows(&[]);
        assert!(rows.len() <= MOST_INTERVALS);
        assert_eq!(rows.iter().map(|row| row.packets).sum::<u64>(), 400_000);
    }
}

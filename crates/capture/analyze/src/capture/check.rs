//! The method's own checks: what the sniffer saw against what the ends of a run saw, and the schedule against the SYNs.
//!
//! Connections are the same when client, port and time agree: a captured one belongs to the last connection that
//! its client had opened on that port. The run's stations have the addresses that testbeds give them. Where the capture's
//! times are of another epoch, the median difference between the first frames of the same connections is taken off.
//!
//! What a transmit queue refused was never on the air, and no sniffer can be blamed for it: the ends' view is that of
//! the packets that had a frame, in the order in which these arrived. A connection all of whose packets were refused is
//! `never_sent`.
//!
//! Left out: exchanges, whose connections tell enough, and frames.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use airperf_record::capture::ConnectionRow as Captured;
use airperf_record::{ConnectionRow as Own, PacketRow, ReadError, Row, read};
use serde_json::{Value, json};

use on_air::{OnAir, Sent};

mod on_air;

/// How much earlier than its opening a connection may be captured: clocks of one host, read at different places.
const EARLY_NS: i64 = 1_000_000;

/// What is compared of a connection, in the order of [`Check::differences`].
const COMPARED: [&str; 7] = [
    "class",
    "bytes_up",
    "bytes_down",
    "segments_up",
    "segments_down",
    "retransmissions_up",
    "retransmissions_down",
];

/// The sniffer's view against the ends'.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// Connections of the run that had a frame on the air.
    pub connections: u64,
    /// Connections of the run that never had a frame on the air; they are in none of the other counts.
    pub never_sent: u64,
    /// Connections of the capture.
    pub captured: u64,
    /// Connections of the run that the sniffer saw anything of.
    pub matched: u64,
    /// Connections of the capture that are none of the run's, or parts of one that was seen already.
    pub unknown: u64,
    /// Matched connections that differ in anything.
    pub differing: u64,
    /// By what is compared, how many matched connections differ in it.
    pub differences: BTreeMap<&'static str, u64>,
    /// Nanoseconds from when the workload wanted a connection to when its SYN was captured, in order.
    delays_ns: Vec<i64>,
    /// Connections with a time at which they were wanted.
    due: u64,
}

impl Check {
    /// Share of the run's connections that the sniffer missed or saw otherwise; 0 without connections.
    pub fn share(&self) -> f64 {
        let affected = self.connections - self.matched + self.differing;
        affected as f64 / self.connections.max(1) as f64
    }

    /// The object `checks` of `airperf trace summary --against`.
    pub fn to_json(&self) -> Value {
        let delays = &self.delays_ns;
        let milliseconds = |ns: i64| ns as f64 / 1e6;
        // Nearest rank.
        let quantile = |percent: usize| {
            let rank = (delays.len() * percent).div_ceil(100).max(1);
            delays.get(rank - 1).map(|ns| milliseconds(*ns))
        };
        let sum: f64 = delays.iter().map(|ns| milliseconds(*ns)).sum();
        let schedule = (self.due > 0).then(|| {
            json!({
                "due": self.due,
                "seen": delays.len(),
                "delay_ms": {
                    "mean": (!delays.is_empty()).then(|| sum / delays.len() as f64),
                    "p50": quantile(50),
                    "p99": quantile(99),
                    "max": quantile(100),
                },
            })
        });
        json!({
            "connections": self.connections,
            "never_sent": self.never_sent,
            "captured": self.captured,
            "matched": self.matched,
            "missed": self.connections - self.matched,
            "unknown": self.unknown,
            "differing": self.differing,
            "share_affected": self.share(),
            "differences": self.differences,
            "schedule": schedule,
        })
    }
}

/// Compares the connections of the analysed capture in `capture` with those of the run in `run`.
///
/// # Errors
/// [`ReadError`]: one of them is no such directory or has no table of connections.
pub fn against(capture: &Path, run: &Path) -> Result<Check, ReadError> {
    read::manifest(run)?;
    read::capture_manifest(capture)?;
    let own: Vec<Own> = read::rows(&run.join(Own::FILE))?.collect::<Result<_, _>>()?;
    let captured: Vec<Captured> = read::rows(&capture.join(Captured::FILE))?.collect::<Result<_, _>>()?;
    let sent = Sent::read(&run.join(PacketRow::FILE), &own)?;
    Ok(compare(&own, &sent, captured))
}

type Key = (IpAddr, u16);

/// The address that both testbeds give a station: the network 10.77.0.0 from its first host on.
fn address(station: u16) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(Ipv4Addr::new(10, 77, 0, 1).to_bits() + u32::from(station)))
}

/// See [`against`].
fn compare(own: &[Own], sent: &Sent, mut captured: Vec<Captured>) -> Check {
    captured.sort_by_key(|row| (row.opened_ns, row.connection));
    let mut of_run: BTreeMap<Key, Vec<&Own>> = BTreeMap::new();
    let all = own.len() as u64;
    let own: Vec<(&Own, &OnAir)> =
        own.iter().filter_map(|row| sent.0.get(&row.connection).map(|on_air| (row, on_air))).collect();
    for (row, _) in &own {
        of_run.entry((address(row.client), row.client_port)).or_default().push(row);
    }
    of_run.values_mut().for_each(|rows| rows.sort_by_key(|row| row.opened_ns));
    let keyed: Vec<(Key, &Captured)> =
        captured.iter().map(|row| ((row.client, row.client_port), row)).collect();
    let epoch = epoch(&of_run, &keyed);
    let mut check = Check {
        connections: own.len() as u64,
        never_sent: all - own.len() as u64,
        captured: captured.len() as u64,
        differences: COMPARED.iter().map(|what| (*what, 0)).collect(),
        due: own.iter().filter(|(row, _)| row.due_ns.is_some()).count() as u64,
        ..Check::default()
    };
    let mut taken = BTreeSet::new();
    for (key, seen) in keyed {
        let time = ns(seen.opened_ns).saturating_sub(epoch);
        let rows = of_run.get(&key).map(Vec::as_slice).unwrap_or_default();
        let before = rows.partition_point(|row| ns(row.opened_ns) <= time.saturating_add(EARLY_NS));
        let row = before.checked_sub(1).and_then(|place| rows.get(place));
        match row.filter(|row| taken.insert(row.connection)) {
            Some(row) => check.pair(row, &sent.0[&row.connection], seen, time),
            None => check.unknown += 1,
        }
    }
    check.delays_ns.sort_unstable();
    check
}

impl Check {
    fn pair(&mut self, own: &Own, on_air: &OnAir, seen: &Captured, time: i64) {
        self.matched += 1;
        let [up, down] = &on_air.sides;
        let differs = [
            !on_air.can_be(seen.class),
            up.octets.total() != seen.bytes_up,
            down.octets.total() != seen.bytes_down,
            up.segments != seen.segments_up,
            down.segments != seen.segments_down,
            up.retransmissions != seen.retransmissions_up,
            down.retransmissions != seen.retransmissions_down,
        ];
        self.differing += u64::from(differs.contains(&true));
        for (what, differs) in COMPARED.iter().zip(differs) {
            *self.differences.entry(what).or_default() += u64::from(differs);
        }
        if let Some(due) = own.due_ns.filter(|_| seen.class != "no_syn") {
            self.delays_ns.push(time.saturating_sub(ns(due)));
        }
    }
}

/// How much later the capture's clock is than the run's, ns.
fn epoch(of_run: &BTreeMap<Key, Vec<&Own>>, captured: &[(Key, &Captured)]) -> i64 {
    let mut nth: BTreeMap<Key, usize> = BTreeMap::new();
    let mut differences: Vec<i64> = Vec::new();
    for (key, seen) in captured {
        let place = nth.entry(*key).or_default();
        let own = of_run.get(key).and_then(|rows| rows.get(*place));
        *place += 1;
        if let Some(own) = own {
            let first = own.first_frame_ns.unwrap_or(own.opened_ns);
            differences.push(ns(seen.opened_ns).saturating_sub(ns(first)));
        }
    }
    differences.sort_unstable();
    let median = differences.get(differences.len() / 2).copied().unwrap_or_default();
    // Less than a minute is not another epoch but connections that the sniffer missed the beginning of.
    if median.saturating_abs() < 60_000_000_000 { 0 } else { median }
}

fn ns(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(connection: u64, port: u16, opened_ns: u64) -> Own {
        Own {
            connection,
            client: 1,
            server: 0,
            client_port: port,
            due_ns: Some(opened_ns),
            opened_ns,
            established_ns: None,
            first_frame_ns: Some(opened_ns + 1_000),
            last_frame_ns: None,
            class: "syn_fin",
            error: None,
            exchanges: 1,
            bytes_up: 74,
            bytes_down: 1_274,
            segments_up: 6,
            segments_down: 4,
            retransmissions_up: 0,
            retransmissions_down: 0,
        }
    }

    /// All packets of these connections were on the air.
    fn sent(own: &[Own]) -> Sent {
        let on_air = |row: &Own| {
            OnAir::closed(
                [row.segments_up, row.segments_down],
                [row.retransmissions_up, row.retransmissions_down],
                [row.bytes_up, row.bytes_down],
            )
        };
        Sent(own.iter().map(|row| (row.connection, on_air(row))).collect())
    }

    /// What a perfect sniffer makes of it, `epoch` later.
    fn seen(own: &Own, epoch: u64) -> Captured {
        Captured {
            connection: own.connection,
            client: address(own.client),
            client_port: own.client_port,
            server: address(own.server),
            server_port: 80,
            first_frame: 1,
            opened_ns: own.opened_ns + 1_000 + epoch,
            established_ns: None,
            last_ns: 0,
            first_data_ns: None,
            last_data_ns: None,
            class: own.class,
            closed_by: None,
            state: "SF".into(),
            history: "".into(),
            application: None,
            server_name: None,
            alpn: None,
            exchanges: 1,
            bytes_up: own.bytes_up,
            bytes_down: own.bytes_down,
            sent_bytes_up: own.bytes_up,
            sent_bytes_down: own.bytes_down,
            ip_bytes_up: 0,
            ip_bytes_down: 0,
            missing_up: 0,
            missing_down: 0,
            segments_up: own.segments_up,
            segments_down: own.segments_down,
            data_segments_up: 1,
            data_segments_down: 1,
            retransmissions_up: own.retransmissions_up,
            retransmissions_down: own.retransmissions_down,
            full: 0,
            part: 0,
            late: 0,
            dup_syn: 0,
            dup_fin: 0,
            spurious: 0,
            inconsistent: 0,
            duplicate_acks: 0,
            zero_windows: None,
            window_probes: 0,
            keep_alives: 0,
            resets: 0,
            duplicates: 0,
            mac_retries_up: None,
            mac_retries_down: None,
            handshake_ns: None,
            rtt_samples: 0,
            rtt_min_ns: None,
            rtt_mean_ns: None,
            rtt_max_ns: None,
            mss_up: None,
            mss_down: None,
            window_scale_up: None,
            window_scale_down: None,
            sack: None,
            most_in_flight_up: None,
            most_in_flight_down: None,
            think_ns: 0,
            evicted: false,
        }
    }

    #[test]
    fn a_perfect_sniffer_sees_what_the_ends_see_in_any_epoch() {
        let own: Vec<Own> = (0..100).map(|i| own(i, 40_000 + (i % 10) as u16, i * 10_000_000)).collect();
        for epoch in [0, 1_700_000_000_000_000_000] {
            let check = compare(&own, &sent(&own), own.iter().map(|row| seen(row, epoch)).collect());
            assert_eq!((check.matched, check.unknown, check.differing, check.share()), (100, 0, 0, 0.0));
            let delays = &check.to_json()["schedule"]["delay_ms"];
            assert!((delays["p99"].as_f64().unwrap() - 0.001).abs() < 1e-9, "{delays}");
        }
    }

    #[test]
    fn what_the_sniffer_missed_and_saw_otherwise_is_told_by_what_differs() {
        let own: Vec<Own> = (0..10).map(|i| own(i, 40_000, i * 10_000_000)).collect();
        let mut rows: Vec<Captured> = own.iter().map(|row| seen(row, 0)).collect();
        rows[3].class = "syn_unfinished";
        rows[3].segments_up -= 1;
        rows[4].retransmissions_down += 1;
        rows.remove(7);
        rows.push(Captured { client_port: 50_000, ..rows[0].clone() });
        let check = compare(&own, &sent(&own), rows);
        assert_eq!((check.matched, check.differing, check.unknown), (9, 2, 1));
        assert!((check.share() - 0.3).abs() < 1e-12);
        let told: Vec<_> =
            check.differences.iter().filter(|(_, n)| **n > 0).map(|(what, n)| (*what, *n)).collect();
        assert_eq!(told, [("class", 1), ("retransmissions_down", 1), ("segments_up", 1)]);
        assert_eq!(check.to_json()["schedule"]["seen"], 9);
    }

    #[test]
    fn connections_that_never_had_a_frame_are_no_loss_of_the_sniffers() {
        let rows = [own(0, 40_000, 0), own(1, 40_001, 0)];
        let check = compare(&rows, &sent(&rows[..1]), Vec::new());
        assert_eq!((check.connections, check.never_sent, check.matched), (1, 1, 0));
    }
}

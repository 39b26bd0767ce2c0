//! The whole stack: what a scenario's parts do to each other.

use airperf_http::Exchange;
use airperf_link::{Packet, StationId};
use airperf_scenario::Scenario;
use airperf_sim::{Ended, Observer, Opened, Payload, Simulated, Totals, simulate};
use airperf_tcp::Flags;
use airperf_units::{Duration, StreamKey, Time};

const WIFI: &str = r#"link = { kind = "wifi", retry_limit = 16 }"#;
const WIRED: &str = r#"link = { kind = "ethernet", rate = "10Mbit/s" }"#;

fn scenario(link: &str, overrides: &[(&str, &str)]) -> Scenario {
    let text = format!(
        r#"
schema = 1
name = "behaviour"
duration = "20s"
drain = "10s"
{link}
tcp = {{ profile = "linux-2.4.18" }}
[server]
profile = "apache-1.3"
[[client]]
rate = "10/s"
size = "1KiB"
request_size = "74B"
timeout = "5s"
host_gap = "150us"
host_gap_spread = 0.5
"#
    );
    let text =
        if link == WIRED { text.replace("host_gap = \"150us\"\nhost_gap_spread = 0.5\n", "") } else { text };
    crate::scenario(&text, overrides)
}

fn totals(link: &str, overrides: &[(&str, &str)]) -> Totals {
    simulate(&scenario(link, overrides), StreamKey::new(1), ()).expect("a link").totals
}

/// Keeps the packets of the first connection, and counts how every connection and exchange ended.
#[derive(Default)]
struct Log {
    first: Vec<(bool, Flags, u16)>,
    opened: u32,
    ended: Vec<u32>,
    exchanges: u32,
    last_exchange: Time,
}

impl Observer for Log {
    fn opened(&mut self, _: Time, opened: &Opened) {
        assert_eq!(opened.connection, self.opened);
        self.opened += 1;
    }
    fn offered(&mut self, _: Time, from: StationId, packet: &Packet<Payload>, queued: bool) {
        assert!(packet.bytes <= 1500);
        assert_eq!(from.0 != 0, packet.payload.to_server);
        if packet.payload.connection == 0 && queued {
            let segment = packet.payload.segment;
            self.first.push((packet.payload.to_server, segment.flags, segment.len));
        }
    }
    fn exchange(&mut self, now: Time, _: u32, exchange: &Exchange) {
        assert!(now >= self.last_exchange, "rows of exchanges come in order of time");
        assert!(exchange.done.is_none() || exchange.failure.is_none());
        self.last_exchange = now;
        self.exchanges += 1;
    }
    fn ended(&mut self, ended: &Ended) {
        self.ended.push(ended.connection);
    }
}

fn watched(link: &str, overrides: &[(&str, &str)]) -> Simulated<Log> {
    simulate(&scenario(link, overrides), StreamKey::new(1), Log::default()).expect("a link")
}

#[test]
fn one_transaction_is_ten_packets_six_of_them_the_clients() {
    for link in [WIFI, WIRED] {
        let run = watched(link, &[]);
        let (ack, syn, fin) = (Flags::ACK, Flags::SYN, Flags::FIN);
        let expected = [
            (true, syn, 0),
            (false, syn.with(ack), 0),
            (true, ack, 0),
            (true, ack, 74),
            (false, ack, 0),
            (false, ack, 1283),
            (true, ack, 0),
            (true, fin.with(ack), 0),
            (false, fin.with(ack), 0),
            (true, ack, 0),
        ];
        assert_eq!(run.observer.first, expected);
        assert_eq!(run.totals.packets, 200 * 10);
        assert_eq!((run.totals.exchanges_in_time, run.totals.failed()), (200, 0));
    }
}

#[test]
fn every_connection_ends_once_and_every_exchange_is_reported_once() {
    // From comfort to deep overload, and with a channel that loses.
    for overrides in [
        vec![],
        vec![("client.rate", "\"160/s\"")],
        vec![("client.rate", "\"40/s\""), ("link.frame_error", "0.3"), ("link.retry_limit", "3")],
        vec![("client.requests_per_connection", "40"), ("client.size", "\"8KiB\"")],
    ] {
        let run = watched(WIFI, &overrides);
        let mut ended = run.observer.ended.clone();
        ended.sort_unstable();
        assert_eq!(ended, (0..run.observer.opened).collect::<Vec<_>>(), "{overrides:?}");
        let total: Duration = run.airtime.iter().map(|(_, time)| *time).sum();
        assert_eq!(total, Duration::from_secs(30));
        let queues = run.queues.iter();
        let (offered, gone): (u64, u64) = queues
            .map(|q| (q.offered, q.dropped + q.departed))
            .fold((0, 0), |sum, q| (sum.0 + q.0, sum.1 + q.1));
        let waiting: u64 = run.queues.iter().map(|q| u64::from(q.depth)).sum();
        let in_interfaces = offered - gone - waiting;
        assert!(in_interfaces <= 2, "{in_interfaces} packets unaccounted for");
        assert_eq!(run.totals.refused, run.queues.iter().map(|q| q.dropped).sum::<u64>());
        assert_eq!(run.late_arrivals, 0);
    }
}

#[test]
fn a_dead_channel_fails_every_exchange_for_want_of_a_connection() {
    let totals = totals(WIFI, &[("link.frame_error", "1.0")]);
    assert_eq!((totals.exchanges, totals.failed_connect), (0, 200));
}

#[test]
fn the_study_s_saturation_lies_where_it_should() {
    // models.md §4: one client stable to about 100/s, two together to about 110/s, k = 32 linear to 320/s.
    let carried = |overrides: &[(&str, &str)]| totals(WIFI, overrides).exchanges_in_time as f64 / 20.0;
    assert_eq!(carried(&[("client.rate", "\"95/s\"")]), 95.0);
    assert!(carried(&[("client.rate", "\"130/s\"")]) < 95.0, "overload carries less");
    assert!(carried(&[("client.requests_per_connection", "32")]) > 318.0);
}

#[test]
fn the_server_s_processor_bounds_a_wired_network() {
    let costs = [
        ("server.cpu_per_connection_before", "\"700us\""),
        ("server.cpu_per_connection_after", "\"1930us\""),
    ];
    let at = |rate: &'static str| {
        let mut overrides = costs.to_vec();
        overrides.push(("client.rate", rate));
        totals(WIRED, &overrides).exchanges_in_time as f64 / 20.0
    };
    assert!((at("\"360/s\"") - 360.0).abs() < 1.0);
    let most = at("\"420/s\"");
    assert!((250.0..=381.0).contains(&most), "{most}/s with 2.63 ms of processor each");
}

#[test]
fn listen_limits_hold_back_a_flood() {
    let slow = [
        ("server.cpu_per_connection_after", "\"50ms\""),
        ("server.max_clients", "5"),
        ("server.backlog", "4"),
        ("server.syn_queue", "16"),
        ("client.rate", "\"60/s\""),
    ];
    let totals = totals(WIRED, &slow);
    assert!(totals.syns_ignored > 100, "{}", totals.syns_ignored);
    assert!(totals.acks_ignored > 10, "{}", totals.acks_ignored);
    let carried = totals.exchanges_in_time as f64 / 20.0;
    assert!((15.0..=20.5).contains(&carried), "{carried}/s with 50 ms of processor each");
}

#[test]
fn memory_follows_the_connections_that_are_alive() {
    let calm = totals(WIFI, &[("client.rate", "\"80/s\"")]);
    assert!(calm.alive_most <= 2, "TIME-WAIT alone keeps no connection: {}", calm.alive_most);
    let long = totals(WIFI, &[("client.rate", "\"160/s\""), ("duration", "\"120s\"")]);
    let longer = totals(WIFI, &[("client.rate", "\"160/s\""), ("duration", "\"240s\"")]);
    assert!(longer.alive_most < long.alive_most * 5 / 4, "{} then {}", long.alive_most, longer.alive_most);
}

#[test]
fn same_seed_same_totals() {
    let overrides = [("client.rate", "\"130/s\"")];
    let run = |seed| {
        let scenario = scenario(WIFI, &overrides);
        simulate(&scenario, StreamKey::new(seed), ()).expect("a link").totals
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

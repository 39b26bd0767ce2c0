//! Sessions, pages, sizes and bodies through the whole stack: every request has one outcome, and closed loops obey
//! their laws.

use airperf_http::{Ask, Exchange, Failure};
use airperf_link::StationId;
use airperf_sim::{Ended, Observer, Simulated, simulate};
use airperf_units::{StreamKey, Time};
use airperf_workload::{Ending, Page};

use crate::scenario;

const BASE: &str = r#"
schema = 1
name = "sessions"
duration = "60s"
drain = "30s"
[link]
kind = "ethernet"
rate = "100Mbit/s"
[server]
profile = "apache-1.3"
"#;

/// Everything a user sees.
#[derive(Default)]
struct Log {
    connections: Vec<(Time, Vec<Ask>)>,
    exchanges: Vec<(u32, Exchange)>,
    pages: Vec<(StationId, Page)>,
    ended: usize,
    bytes_down: u64,
}

impl Observer for Log {
    fn opened(&mut self, now: Time, _: &airperf_sim::Opened) {
        self.connections.push((now, Vec::new()));
    }
    fn asked(&mut self, _: Time, connection: u32, ask: &Ask) {
        self.connections[connection as usize].1.push(*ask);
    }
    fn exchange(&mut self, _: Time, connection: u32, exchange: &Exchange) {
        self.exchanges.push((connection, *exchange));
    }
    fn page(&mut self, _: Time, client: StationId, page: &Page) {
        self.pages.push((client, *page));
    }
    fn ended(&mut self, ended: &Ended) {
        self.ended += 1;
        self.bytes_down += ended.bytes_down;
    }
}

fn run(client: &str, overrides: &[(&str, &str)]) -> Simulated<Log> {
    let text = format!("{BASE}[[client]]\n{client}\n");
    simulate(&scenario(&text, overrides), StreamKey::new(1), Log::default()).expect("a link")
}

/// Every request that was written has exactly one outcome, and every connection ends.
fn is_conserved(run: &Simulated<Log>) {
    let log = &run.observer;
    let asked: usize = log.connections.iter().map(|(_, asks)| asks.len()).sum();
    let sent = log.exchanges.iter().filter(|(_, exchange)| exchange.sent.is_some()).count();
    assert_eq!(asked, sent);
    assert_eq!(log.ended, log.connections.len());
    for (connection, exchange) in &log.exchanges {
        assert!(exchange.done.is_none() || exchange.failure.is_none());
        let asks = &log.connections[*connection as usize].1;
        if let (Some(_), Some(ask)) = (exchange.sent, asks.get(exchange.index as usize)) {
            assert_eq!((exchange.due, exchange.request_bytes), (ask.due, ask.request_bytes()));
            assert!(exchange.done.is_none() || exchange.response_bytes == ask.reply_bytes);
        }
    }
    let complete: u64 = log.exchanges.iter().map(|(_, e)| u64::from(e.response_bytes)).sum();
    assert!(complete <= log.bytes_down);
}

#[test]
fn every_request_has_one_outcome_and_every_page_its_objects() {
    let browse = "kind = \"browse\"\nsize = \"8KiB\"\nembedded = 6\ncached = 0.3\nthink_time = \"exponential(mean 1s)\"\n";
    for (client, overrides) in [
        (browse, vec![("client.count", "20"), ("client.connections", "4")]),
        (browse, vec![("client.requests_per_connection", "100"), ("client.pipeline", "4")]),
        // Too much for it: users lose patience.
        (
            browse,
            vec![("client.count", "60"), ("client.patience", "\"500ms\""), ("link.rate", "\"10Mbit/s\"")],
        ),
        (
            browse,
            vec![("client.count", "40"), ("client.timeout", "\"100ms\""), ("link.rate", "\"10Mbit/s\"")],
        ),
        (
            "rate = \"30/s\"\nsize = \"exponential(mean 20KiB)\"\ntimeout = \"1s\"\n",
            vec![("link.rate", "\"10Mbit/s\"")],
        ),
        // The server closes after three requests, and after a second without one.
        (
            browse,
            vec![
                ("client.requests_per_connection", "3"),
                ("server.max_requests_per_connection", "3"),
                ("server.keep_alive_timeout", "\"1s\""),
            ],
        ),
    ] {
        let run = run(client, &overrides);
        is_conserved(&run);
        let pages = &run.observer.pages;
        assert_eq!(pages.is_empty(), !client.contains("browse"));
        for (_, page) in pages {
            assert!(page.complete <= page.requested);
            assert_eq!(page.done.is_some(), page.ending == Ending::Complete, "{page:?}");
            assert!(page.ending != Ending::Complete || page.requested + page.cached == 7, "{page:?}");
        }
        let in_pages: u64 = pages.iter().map(|(_, page)| u64::from(page.complete)).sum();
        if !pages.is_empty() {
            let drained = pages.iter().all(|(_, page)| page.ending != Ending::Unfinished);
            assert!(!drained || in_pages == run.totals.exchanges, "{overrides:?}");
        }
        if overrides.iter().any(|(key, _)| *key == "client.patience") {
            let given_up = pages.iter().filter(|(_, page)| page.ending == Ending::GivenUp).count();
            assert!(given_up > 50 && given_up < pages.len(), "{given_up} of {}", pages.len());
        }
    }
}

/// A user alone: think, then the page; so pages in a time T are T / (think + load time).
#[test]
fn a_lonely_user_fetches_pages_at_the_rate_of_the_closed_loop() {
    let run = run("kind = \"browse\"\nsize = \"8KiB\"\nthink_time = \"200ms\"\n", &[]);
    let pages = &run.observer.pages;
    let load: Vec<f64> = pages.iter().filter_map(|(_, p)| Some((p.done? - p.due).as_secs_f64())).collect();
    let mean = load.iter().sum::<f64>() / load.len() as f64;
    let expected = 60.0 / (0.2 + mean);
    assert!((load.len() as f64 - expected).abs() <= 1.0, "{} pages, expected {expected}", load.len());
    for pair in pages.windows(2) {
        let thought = pair[1].1.due - pair[0].1.done.expect("complete");
        assert_eq!(thought, airperf_units::Duration::from_ms(200));
    }
}

/// N users who think for an exponential time Z, and one processor that takes S for each: with exponential S the
/// machine-repair model, throughput (1 − p0)/S with p0 = 1 / Σ N!/(N−n)! (S/Z)^n (Kleinrock, Queueing Systems I, §3.8).
/// Here S is fixed, which queues less, so throughput lies between that and the bound min(N/(Z + S), 1/S).
#[test]
fn many_users_on_one_processor_obey_the_machine_repair_model() {
    let (users, think, service) = (20usize, 1.0f64, 0.05f64);
    let text = format!(
        "kind = \"browse\"\ncount = {users}\nsize = \"100B\"\nthink_time = \"exponential(mean 1s)\"\nstart = \"random\"\n"
    );
    let run = run(&text, &[("server.cpu_per_request", "\"50ms\""), ("duration", "\"400s\"")]);
    is_conserved(&run);
    let carried = run.totals.exchanges_in_time as f64 / 400.0;
    let mut term = 1.0;
    let mut sum = 1.0;
    for n in 0..users {
        term *= (users - n) as f64 * service / think;
        sum += term;
    }
    let exponential = (1.0 - 1.0 / sum) / service;
    let bound = (users as f64 / (think + service)).min(1.0 / service);
    assert!(carried > exponential * 0.98, "{carried}, with exponential service {exponential}");
    assert!(carried < bound, "{carried}, bound {bound}");
}

/// Seconds from due to done of a page, in the mean.
fn mean_load(log: &Log) -> f64 {
    let times = log.pages.iter().filter_map(|(_, page)| Some((page.done? - page.due).as_secs_f64()));
    times.clone().sum::<f64>() / times.count() as f64
}

/// Most exchanges under way at once, from opening to done: of a user without persistence, connections.
fn most_at_once(log: &Log) -> usize {
    let done =
        |number: usize| log.exchanges.iter().find(|(c, _)| *c as usize == number).and_then(|(_, e)| e.done);
    let spans: Vec<(Time, Time)> =
        log.connections.iter().enumerate().filter_map(|(n, (at, _))| Some((*at, done(n)?))).collect();
    let under_way = |at: Time| spans.iter().filter(|(from, to)| *from <= at && at < *to).count();
    spans.iter().map(|(from, _)| under_way(*from)).max().unwrap_or_default()
}

#[test]
fn connections_are_reused_and_never_more_than_allowed() {
    let client = "kind = \"browse\"\nsize = \"4KiB\"\nembedded = 11\nthink_time = \"1s\"\nconnections = 3\n";
    let serial = run(client, &[]);
    let log = &serial.observer;
    assert_eq!(log.connections.len(), log.exchanges.len(), "without persistence a connection each");
    assert_eq!(most_at_once(log), 3);
    let slow = mean_load(log);
    let persistent = run(
        client,
        &[("client.requests_per_connection", "1000"), ("server.max_requests_per_connection", "1000")],
    );
    let log = &persistent.observer;
    assert_eq!(log.connections.len(), 3, "three that stay");
    let quick = mean_load(log);
    assert!(quick < slow, "without handshakes a page takes {quick} s, with them {slow} s");
}

#[test]
fn pipelining_asks_before_the_reply_is_there_and_saves_round_trips() {
    let client = "kind = \"browse\"\nsize = \"500B\"\nembedded = 10\nthink_time = \"1s\"\nrequests_per_connection = 100\n";
    let mean = |pipeline: &str| {
        let run = run(client, &[("client.pipeline", pipeline), ("server.cpu_per_request", "\"1ms\"")]);
        is_conserved(&run);
        let deepest = run
            .observer
            .connections
            .iter()
            .any(|(_, asks)| asks.windows(2).any(|pair| pair[0].due == pair[1].due));
        assert!(deepest);
        let pages = &run.observer.pages;
        let times: Vec<f64> =
            pages.iter().filter_map(|(_, p)| Some((p.done? - p.due).as_secs_f64())).collect();
        times.iter().sum::<f64>() / times.len() as f64
    };
    let (one, ten) = (mean("1"), mean("10"));
    assert!(ten < one, "{ten} s pipelined, {one} s one by one");
    assert!(ten > 0.011, "eleven replies take a millisecond of processor each");
}

#[test]
fn sizes_follow_their_distribution_and_replies_their_sizes() {
    let run = run("rate = \"50/s\"\narrivals = \"poisson\"\nsize = \"lognormal(mean 8KiB, cv 1)\"\n", &[]);
    is_conserved(&run);
    let log = &run.observer;
    let sizes: Vec<f64> = log.exchanges.iter().map(|(_, e)| f64::from(e.response_bytes) - 259.0).collect();
    let n = sizes.len() as f64;
    let mean = sizes.iter().sum::<f64>() / n;
    assert!((mean - 8_192.0).abs() < 4.0 * 8_192.0 / n.sqrt(), "{mean}");
    assert_eq!(run.totals.exchanges, sizes.len() as u64);
}

#[test]
fn the_server_reads_a_body_before_it_replies() {
    let run =
        run("rate = \"0.5/s\"\nsize = \"1KiB\"\nupload = \"500KiB\"\n", &[("link.rate", "\"10Mbit/s\"")]);
    is_conserved(&run);
    assert_eq!(run.totals.exchanges, 30);
    for (_, exchange) in &run.observer.exchanges {
        assert_eq!(exchange.request_bytes, 74 + 500 * 1024);
        let wait = exchange.first_byte.expect("a reply") - exchange.sent.expect("a request");
        assert!(wait.as_secs_f64() > 0.42, "512,000 octets take 0.41 s at 10 Mbit/s: {wait}");
    }
}

#[test]
fn progress_keeps_a_slow_reply_alive_and_a_dead_one_is_reset() {
    // 2 MiB at 10 Mbit/s take 1.8 s: longer than the patience of a phase, never without progress.
    let client = "rate = \"0.2/s\"\nsize = \"2MiB\"\ntimeout = \"1s\"\n";
    let phase = run(client, &[("link.rate", "\"10Mbit/s\"")]);
    assert_eq!((phase.totals.exchanges, phase.totals.failed_receive), (0, 12));
    assert!(phase.totals.wasted_bytes > 12 * 400_000, "{} octets wasted", phase.totals.wasted_bytes);
    let rules = [
        ("link.rate", "\"10Mbit/s\""),
        ("client.timeout_rule", "\"progress\""),
        ("client.abort", "\"reset\""),
    ];
    let progress = run(client, &rules);
    assert_eq!((progress.totals.exchanges, progress.totals.failed()), (12, 0));
    // A server that computes longer than that makes no progress.
    let dead = [rules[0], rules[1], rules[2], ("server.cpu_per_request", "\"2s\"")];
    let dead = run(client, &dead);
    is_conserved(&dead);
    assert_eq!((dead.totals.exchanges, dead.totals.failed_reply), (0, 12));
    assert!(dead.observer.exchanges.iter().all(|(_, e)| e.failure == Some(Failure::Reply)));
}

#[test]
fn same_seed_same_pages_another_seed_others() {
    let client = "kind = \"browse\"\ncount = 10\nsize = \"8KiB\"\nembedded = \"uniform(from 0, to 9)\"\nthink_time = \"exponential(mean 1s)\"\n";
    let pages = |seed| {
        let text = format!("{BASE}[[client]]\n{client}\n");
        simulate(&scenario(&text, &[]), StreamKey::new(seed), Log::default()).expect("a link").observer.pages
    };
    assert_eq!(pages(1), pages(1));
    assert_ne!(pages(1), pages(2));
}

//! Browsers over the whole stack: closed forms, the whole page whatever the link does, and records that agree.

use airperf_link::StationId;
use airperf_sim::{ObjectSeen, Observer, Simulated};
use airperf_units::{Duration, Time};
use airperf_workload::{Ending, Page};

use crate::{balanced, scenario};

#[derive(Default)]
struct Loads {
    pages: Vec<Page>,
    received: u64,
    pushed: usize,
    objects: usize,
    requests: usize,
}

impl Observer for Loads {
    fn object(&mut self, _: Time, seen: &ObjectSeen<'_>) {
        self.objects += usize::from(seen.seen.done.is_some());
        self.received += u64::from(seen.seen.received);
        self.pushed += usize::from(seen.seen.pushed);
        self.requests += usize::from(seen.seen.sent.is_some());
    }

    fn page(&mut self, _: Time, _: StationId, page: &Page) {
        self.pages.push(*page);
    }
}

fn run(text: &str, overrides: &[(&str, &str)]) -> Simulated<Loads> {
    balanced(&scenario(text, overrides), Loads::default())
}

fn load_ms(run: &Simulated<Loads>) -> f64 {
    let page = run.observer.pages.first().expect("a load");
    (page.done.expect("a whole page") - page.due).as_secs_f64() * 1e3
}

const TEXT: &str = r#"
schema = 1
name = "browsers"
duration = "600s"
drain = "60s"

[link]
kind = "generic"

[link.down]
rate = "1Mbit/s"
delay = "100ms"

[link.up]
rate = "1Mbit/s"
delay = "100ms"

[[browser]]
page = "pages/pam2004-cnn.toml"
"#;

#[test]
fn a_page_of_one_object_takes_its_round_trips_and_bits() {
    let page = std::env::temp_dir().join(format!("airperf-one-object-{}.toml", std::process::id()));
    std::fs::write(
        &page,
        "schema = 1\nname = \"one\"\nhosts = 1\nobjects = 1\nbytes = \"1000B\"\nlargest = \"1000B\"\n",
    )
    .expect("a file");
    let run = run(&TEXT.replace("pages/pam2004-cnn.toml", &page.to_string_lossy()), &[]);
    std::fs::remove_file(&page).expect("the file");
    let ms = |octets: u32| f64::from(octets) * 8.0 / 1e3;
    // www.one.example: a question of 12 + 17 + 4 octets in UDP over IP, its answer of 16 more; SYN and SYN-ACK of 60; the handshake's last ACK and the
    // request behind it; the kernel's ACK at once and the reply behind that.
    let closed =
        6.0 * 100.0 + ms(28 + 33) + ms(28 + 49) + 2.0 * ms(60) + ms(52 + 52 + 400) + ms(52 + 52 + 259 + 1000);
    assert!((load_ms(&run) - closed).abs() < 1e-3, "{} ms, expected {closed}", load_ms(&run));
}

#[test]
fn a_transparent_proxy_answers_for_every_server_with_compressed_bodies() {
    let page = std::env::temp_dir().join(format!("airperf-two-servers-{}.toml", std::process::id()));
    let objects = r#"
schema = 1
name = "two"
[[object]]
origin = "http://one.example"
size = "1000B"
packed = "400B"
[[object]]
origin = "http://two.example"
size = "900B"
packed = "500B"
found_in = 0
found_at = "1000B"
"#;
    std::fs::write(&page, objects).expect("a file");
    let text = TEXT.replace("pages/pam2004-cnn.toml", &page.to_string_lossy());
    let proxied = run(&text, &[("browser.proxy", "transparent"), ("browser.compress", "true")]);
    let alone = run(&text, &[]);
    let idle = run(&text, &[("browser.proxy", "transparent")]);
    std::fs::remove_file(&page).expect("the file");
    let ms = |octets: u32| f64::from(octets) * 8.0 / 1e3;
    // Of each server: a question of 12 + 13 + 4 octets in UDP over IP, its answer of 16 more; SYN and SYN-ACK of 60; the handshake's last ACK
    // and the request behind it; the kernel's ACK at once and the reply behind that. The first
    // reply's acknowledgement leaves before the second question.
    let each = |body: u32| {
        6.0 * 100.0 + ms(28 + 29) + ms(28 + 45) + 2.0 * ms(60) + ms(52 + 52 + 400) + ms(52 + 52 + 259 + body)
    };
    let closed = |bodies: [u32; 2]| bodies.map(each).iter().sum::<f64>() + ms(52);
    assert!((load_ms(&proxied) - closed([400, 500])).abs() < 1e-3, "{} ms", load_ms(&proxied));
    assert!((load_ms(&alone) - closed([1_000, 900])).abs() < 1e-3, "{} ms", load_ms(&alone));
    assert_eq!(load_ms(&idle), load_ms(&alone), "a proxy that does nothing is not there");
}

#[test]
fn every_way_brings_the_whole_page() {
    let octets = 191_283;
    let dual = ("browser.proxy", "dual");
    let udp = [dual, ("browser.proxy_transport", "udp")];
    let fec = [dual, udp[1], ("browser.proxy_fec", "adaptive"), ("link.down.loss", "0.03")];
    let ways: [&[(&str, &str)]; 12] = [
        &[],
        &[("browser.proxy", "transparent")],
        &[("browser.http", "HTTP/1.0")],
        &[("browser.pipeline", "8"), ("browser.connections", "2")],
        &[("browser.look_ups", "first"), ("browser.one_server", "true")],
        &[("browser.proxy", "explicit")],
        &[dual],
        &[dual, ("browser.push", "true")],
        &[dual, ("browser.proxy_connections", "3"), ("browser.push", "true")],
        &udp,
        &fec,
        &[("link.down.loss", "0.03"), ("link.up.loss", "0.03"), ("link.down.duplicate", "0.05")],
    ];
    for way in ways {
        let run = run(TEXT, way);
        let Loads { pages, received, objects, .. } = &run.observer;
        assert_eq!((pages.len(), pages[0].ending, *objects), (1, Ending::Complete, 67), "{way:?}");
        let header = if way.contains(&dual) { 40 } else { 259 };
        assert_eq!(*received, octets + 67 * header, "{way:?}");
    }
}

#[test]
fn each_optimisation_saves_time_on_a_slow_link() {
    let slow = |more: &[(&str, &str)]| {
        let mut all =
            vec![("link.down.rate", "36kbit/s"), ("link.up.rate", "12kbit/s"), ("link.down.delay", "300ms")];
        // With many connections, and timers as short as today's, what stands in the queue is taken for lost.
        all.extend([("tcp.profile", "linux-2.4.18"), ("browser.page", "pages/pam2004-amazon.toml")]);
        all.extend_from_slice(more);
        all.push(("browser.connections", "2"));
        load_ms(&run(TEXT, &all))
    };
    let none = slow(&[]);
    let dual = ("browser.proxy", "dual");
    let framed = slow(&[dual]);
    for (what, other, than) in [
        ("pipelining", slow(&[("browser.pipeline", "8")]), none),
        ("fewer look-ups", slow(&[("browser.look_ups", "first")]), none),
        ("two halves", framed, none),
        ("compression", slow(&[dual, ("browser.compress", "true")]), framed),
        ("hashes", slow(&[dual, ("browser.cache", "hash")]), framed),
        ("differences", slow(&[dual, ("browser.cache", "delta")]), slow(&[dual, ("browser.cache", "hash")])),
        ("pushing", slow(&[dual, ("browser.push", "true")]), framed),
        ("reliable UDP", slow(&[dual, ("browser.proxy_transport", "udp")]), framed),
    ] {
        assert!(other < than, "{what}: {other} ms, without {than} ms");
    }
}

#[test]
fn pushed_objects_cost_no_request() {
    let run = run(TEXT, &[("browser.proxy", "dual"), ("browser.push", "true")]);
    assert_eq!((run.observer.requests, run.observer.pushed), (1, 66));
}

#[test]
fn loads_follow_each_other_and_are_alike_on_a_clean_link() {
    let run = run(TEXT, &[("browser.loads", "4"), ("browser.pause", "20s")]);
    let times: Vec<f64> =
        run.observer.pages.iter().map(|page| (page.done.expect("whole") - page.due).as_secs_f64()).collect();
    assert_eq!(times.len(), 4);
    let spread = times.iter().fold(0.0f64, |most, time| most.max((time - times[0]).abs()));
    assert!(spread < 0.05 * times[0], "{times:?}");
    let dues = run.observer.pages.windows(2).map(|pair| pair[1].due - pair[0].done.expect("whole"));
    assert!(dues.into_iter().all(|pause| pause == Duration::from_secs(20)));
    assert_eq!(run.totals.pages_complete, 4);
}

#[test]
fn a_load_that_the_end_of_the_run_breaks_off_is_told() {
    let run = run(TEXT, &[("duration", "1s"), ("drain", "500ms")]);
    assert_eq!(run.observer.pages[0].ending, Ending::Unfinished);
    let left = self::run(TEXT, &[("browser.patience", "1s")]);
    assert_eq!(left.observer.pages[0].ending, Ending::GivenUp);
}

//! Access links in scenarios: what becomes of their keys, their traces, and what is wrong with them.

use airperf_link::access::{Capacity, OpportunitySize, RrcConfig};
use airperf_scenario::{LinkConfig, Problem, Scenario};
use airperf_units::{Distribution, Rate};
use std::path::PathBuf;

const GENERIC: &str = r#"
schema = 1
name = "generic"
duration = "10s"
client = [{ rate = "1/s", size = "1KiB" }]

[link]
kind = "generic"

[link.down]
rate = "1638kbit/s"
delay = "uniform(from 20ms, to 60ms)"
loss = 0.001
burst_begin = 0.01
burst_end = 0.25
burst_loss = 0.5
queue = 60
queue_size = "64KiB"

[link.up]
rate = "750kbit/s"
delay = "75ms"
"#;

/// A folder of this test's own with a trace and a scenario over it.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str, trace: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
        std::fs::create_dir_all(path.join("traces")).expect("a folder for the test");
        std::fs::write(path.join("traces/link.down"), trace).expect("the trace can be written");
        Self(path)
    }

    fn parse(&self, overrides: &[(&str, &str)]) -> Result<Scenario, Vec<Problem>> {
        let text = GENERIC
            .replace("kind = \"generic\"", "kind = \"trace\"")
            .replace("rate = \"1638kbit/s\"", "trace = \"traces/link.down\"")
            .replace("rate = \"750kbit/s\"", "trace = \"traces/link.down\"\nopportunity = \"1500B\"");
        let name = self.0.join("scenario.toml");
        parse(&text, name.to_str().expect("the path is text"), overrides)
    }
}

fn parse(text: &str, name: &str, overrides: &[(&str, &str)]) -> Result<Scenario, Vec<Problem>> {
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Scenario::parse(text, name, &overrides).map_err(|problems| problems.0)
}

fn access(scenario: &Scenario) -> &airperf_link::access::AccessConfig {
    let LinkConfig::Access(config) = &scenario.link else { panic!("another link") };
    config
}

#[test]
fn a_generic_link_is_what_its_keys_say() {
    let scenario = parse(GENERIC, "generic.toml", &[("client.queue", "20")]).expect("a scenario");
    let config = access(&scenario);
    assert_eq!(config.down.capacity, Capacity::constant(Rate::bps(1_638_000)));
    assert_eq!(config.down.delay, Distribution::Uniform { low: 20_000_000, high: 60_000_000 });
    assert_eq!(config.up.delay, Distribution::Fixed(75_000_000));
    assert_eq!((config.down.queue_bytes, config.up.queue_bytes), (Some(65_536), None));
    assert_eq!(config.stations.iter().map(|s| s.queue_packets).collect::<Vec<_>>(), [60, 20]);
    assert!((config.down.loss.mean() - (0.001 * 25.0 / 26.0 + 0.5 / 26.0)).abs() < 1e-12);
    let again =
        Scenario::from_resolved(scenario.resolved(), "again").expect("the resolved form is a scenario");
    assert_eq!((again.resolved(), &again.link), (scenario.resolved(), &scenario.link));
}

#[test]
fn a_trace_is_found_beside_its_scenario_and_in_a_run() {
    let folder = Folder::new("found", "1\n5\n20\n");
    let scenario = folder.parse(&[]).unwrap_or_else(|problems| panic!("{problems:?}"));
    let config = access(&scenario);
    let Capacity::Opportunities { schedule, size } = &config.down.capacity else { panic!("no schedule") };
    assert_eq!((schedule.at_ms(), *size), (&[1, 5, 20][..], OpportunitySize::Mahimahi));
    assert!(matches!(config.up.capacity, Capacity::Opportunities { size: OpportunitySize::Plain, .. }));

    // Both directions have the same file: a run keeps it once.
    let [file] = &scenario.files[..] else { panic!("{} files", scenario.files.len()) };
    assert_eq!(scenario.resolved()["link"]["down"]["sha256"], file.sha256.as_str());
    let run = folder.0.join("run");
    std::fs::create_dir_all(&run).expect("a folder for the run");
    std::fs::write(run.join(file.name()), &file.text).expect("the copy can be written");
    std::fs::remove_file(folder.0.join("traces/link.down")).expect("the trace is gone");
    assert!(Scenario::from_resolved(scenario.resolved(), "elsewhere/s.toml").is_err());
    let again = Scenario::from_run(scenario.resolved(), "again", &run).expect("the run has all it needs");
    assert_eq!((again.sha256(), &again.link), (scenario.sha256(), &scenario.link));
}

#[test]
fn another_trace_is_another_scenario() {
    let one = Folder::new("one", "1\n5\n20\n").parse(&[]).expect("a scenario");
    let folder = Folder::new("other", "1\n5\n21\n");
    let other = folder.parse(&[]).expect("a scenario");
    assert_ne!(one.sha256(), other.sha256());
    let hash = one.files[0].sha256.clone();
    let problems = folder.parse(&[("link.down.sha256", &hash)]).expect_err("it is not the trace named");
    assert!(problems[0].message.contains("the file has the SHA-256"), "{problems:?}");
}

#[test]
fn fault_41_a_bad_trace_is_refused_before_anything_starts() {
    for (trace, message) in [
        ("", "is no trace: it has no line"),
        ("1\n7\n6\n", "is no trace: line 3: 6 ms comes after 7 ms"),
        ("a\n", "is no trace: line 1: `a` is no time"),
    ] {
        let problems = Folder::new("bad", trace).parse(&[]).expect_err(trace);
        // Once for each direction, at the key that names the file.
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert_eq!((problems[0].key.as_str(), problems[0].line), ("link.down.trace", 11));
        assert!(problems[0].message.contains(message), "{problems:?}");
    }
    let problems =
        Folder::new("absent", "1\n").parse(&[("link.up.trace", "nowhere")]).expect_err("no such file");
    assert!(problems[0].message.contains("cannot be read: No such file"), "{problems:?}");
    let problems =
        Folder::new("endless", "1\n").parse(&[("link.up.trace", "/dev/zero")]).expect_err("endless");
    assert!(problems[0].message.contains("larger than 64 MiB"), "{problems:?}");
}

#[test]
fn fault_38_what_does_not_fit_an_access_link_is_named() {
    for (overrides, key, hint) in [
        (vec![("link.rate", "1Mbit/s")], "link.rate", "`rate` belongs to [link.down] and [link.up]"),
        (vec![("link.down.trace", "x")], "link.down.trace", "`trace` belongs to a link of kind \"trace\""),
        (vec![("link.beacons", "true")], "link.beacons", "`beacons` belongs to a link of kind \"wifi\""),
        (vec![("link.up.mtu", "1000B")], "link.up.mtu", "`mtu` belongs to [link]"),
        (vec![("link.up.burst_begin", "0.1")], "link.up.burst_begin", "set burst_end"),
        (vec![("link.up.burst_loss", "0.1")], "link.up.burst_loss", "set burst_begin"),
        (vec![("link.up.queue_size", "1000B")], "link.up.queue_size", "make it longer"),
        (vec![("link.up", "5")], "link.up", "write [link.up]"),
        (vec![("link.shared", "true"), ("client.queue", "5")], "client.queue", "set link.up.queue"),
        (vec![("tcp.back_pressure", "true")], "tcp.back_pressure", "leave it out"),
    ] {
        let problems = parse(GENERIC, "generic.toml", &overrides).expect_err(key);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0].key, key);
        assert!(problems[0].hint.contains(hint), "{problems:?}");
    }
    let without = GENERIC.split("[link.up]").next().expect("a beginning");
    assert_eq!(parse(without, "x", &[]).expect_err("half a link")[0].key, "link.up");
}

#[test]
fn a_window_held_to_the_link_is_its_bandwidth_delay_product_and_a_segment() {
    let clamp = |overrides: &[(&str, &str)]| {
        let overrides = [&[("tcp.window_clamp", "link")], overrides].concat();
        let scenario = parse(GENERIC, "generic.toml", &overrides).unwrap_or_else(|found| panic!("{found:?}"));
        assert_eq!(scenario.resolved()["tcp"]["window_clamp"], "link");
        scenario.tcp.window_clamp_bytes
    };
    let way = [("link.down.rate", "1.2Mbit/s"), ("link.up.rate", "416kbit/s"), ("link.up.delay", "49ms")];
    // 1500 octets in 10 ms, 40 ms there, 52 octets in 1 ms and 49 ms back: 10 packets in 100 ms, and one more.
    assert_eq!(clamp(&[&way[..], &[("link.down.delay", "40ms")]].concat()), Some(11 * 1448));
    assert_eq!(clamp(&[&way[..], &[("link.down.delay", "41ms")]].concat()), Some(12 * 1448));
    let problems = parse(GENERIC, "generic.toml", &[("tcp.window_clamp", "100B")]).expect_err("too small");
    assert_eq!(problems[0].key, "tcp.window_clamp");
}

#[test]
fn the_channels_of_mobiles_are_those_of_their_network_with_what_is_written_beside() {
    let rrc = |overrides: &[(&str, &str)]| {
        let scenario =
            parse(GENERIC, "generic.toml", overrides).unwrap_or_else(|problems| panic!("{problems:?}"));
        let again = Scenario::from_resolved(scenario.resolved(), "again").expect("a scenario");
        assert_eq!(again.link, scenario.link);
        access(&scenario).rrc.clone()
    };
    assert_eq!(rrc(&[]), None);
    assert_eq!(rrc(&[("link.rrc", "umts")]), Some(RrcConfig::umts()));
    assert_eq!(rrc(&[("link.rrc", "lte")]), Some(RrcConfig::lte()));
    let changed = rrc(&[("link.rrc", "umts"), ("link.shared_channel", "false"), ("link.inactivity", "3s")]);
    let wanted =
        RrcConfig { inactivity: airperf_units::Duration::from_secs(3), shared: None, ..RrcConfig::umts() };
    assert_eq!(changed, Some(wanted));
    for (overrides, key, hint) in [
        (vec![("link.inactivity", "3s")], "link.inactivity", "set rrc"),
        (vec![("link.rrc", "lte"), ("link.shared", "true")], "link.rrc", "leave one"),
        (vec![("link.rrc", "gsm")], "link.rrc", "umts"),
    ] {
        let problems = parse(GENERIC, "generic.toml", &overrides).expect_err(key);
        assert_eq!((problems.len(), problems[0].key.as_str()), (1, key), "{problems:?}");
        assert!((problems[0].hint.contains(hint) || problems[0].message.contains(hint)), "{problems:?}");
    }
}

#[test]
fn a_light_trace_stands_beside_the_heavy_one_and_is_kept() {
    let folder = Folder::new("light", "1\n2\n5\n");
    let light = |text: &str, more: &[(&str, &str)]| {
        std::fs::write(folder.0.join("traces/light.down"), text).expect("the trace can be written");
        let way = [
            ("link.mtu", "1392B"),
            ("link.down.opportunity", "1400B"),
            ("link.down.light", "traces/light.down"),
        ];
        folder.parse(&[&way[..], more].concat())
    };
    let scenario = light("0 25 0 3\n900 30 1\n2000 25 0\n", &[]).unwrap_or_else(|found| panic!("{found:?}"));
    let access = access(&scenario);
    assert!(access.down.light.is_some() && access.up.light.is_none());
    let link = &scenario.resolved()["link"]["down"];
    let kept: Vec<&str> = scenario.files.iter().map(|file| file.sha256.as_str()).collect();
    assert_eq!(kept.len(), 2, "the heavy one, which both directions have, and the light one");
    assert!(kept.contains(&link["light_sha256"].as_str().unwrap_or_default()));
    for (text, more, key, message) in [
        ("0 25 0 3\n900 30\n2000 25 0\n", vec![], "link.down.light", "line 2"),
        ("0 25 0\n900 30 1\n", vec![], "link.down.light", "three at least"),
        ("0 25 0\n900 30 1\n2000 25 0\n", vec![("link.mtu", "1500B")], "link.down.light", "hold a packet"),
        ("0 25 0\n9 3 1\n20 2 0\n", vec![("link.down.light_sha256", "ab")], "link.down.light_sha256", "SHA"),
    ] {
        let problems = light(text, &more).expect_err(message);
        assert_eq!((problems.len(), problems[0].key.as_str()), (1, key), "{problems:?}");
        assert!(problems[0].message.contains(message), "{problems:?}");
    }
}

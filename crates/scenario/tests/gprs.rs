//! GPRS links in scenarios: what becomes of their keys, and what is wrong with them.

use airperf_scenario::{LinkConfig, Problem, Scenario};
use airperf_units::{Duration, Rate};
use airperf_wwan::{BlockError, Config, Family, Fec};

const PLAIN: &str = r#"
schema = 1
name = "gprs"
duration = "10s"
client = [{ rate = "1/s", size = "1KiB" }]
link = { kind = "gprs" }
"#;

fn parse(overrides: &[(&str, &str)]) -> Result<Scenario, Vec<Problem>> {
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Scenario::parse(PLAIN, "gprs.toml", &overrides).map_err(|problems| problems.0)
}

fn gprs(overrides: &[(&str, &str)]) -> Config {
    let scenario = parse(overrides).unwrap_or_else(|problems| panic!("{problems:?}"));
    let again =
        Scenario::from_resolved(scenario.resolved(), "again").expect("the resolved form is a scenario");
    assert_eq!((again.resolved(), &again.link), (scenario.resolved(), &scenario.link));
    let LinkConfig::Gprs(config) = scenario.link else { panic!("another link") };
    config
}

#[test]
fn the_defaults_are_the_models() {
    assert_eq!(gprs(&[]), Config::gprs(2));
    assert_eq!(Config::gprs(2).down.payload_rate(Family::Gprs), Rate::kbps(36));
}

#[test]
fn keys_reach_the_model() {
    let config = gprs(&[
        ("link.ci", "14.5dB"),
        ("link.fade_ci", "-3dB"),
        ("link.stall_apart", "60s"),
        ("link.down.scheme", "MCS-9"),
        ("link.up.scheme", "MCS-1"),
        ("link.down.adapt", "true"),
        ("link.down.fec_repair", "2"),
        ("link.up.arq", "false"),
        ("link.up.fec", "adaptive"),
        ("link.down.arq_from", "0.05"),
        ("client.queue", "7"),
        ("link.down.queue", "30"),
    ]);
    let BlockError::CarrierToInterference { db, fading: Some(fading) } = config.block_error else {
        panic!("{:?}", config.block_error)
    };
    assert_eq!((db, fading.db, fading.good), (14.5, -3.0, Duration::from_secs(10)));
    assert_eq!(config.stalls.expect("there are stalls").every, Duration::from_secs(60));
    assert_eq!((config.family, config.down.scheme, config.up.scheme), (Family::Edge, 8, 0));
    assert_eq!(config.down.fec, Some(Fec::fixed(8, 2)));
    assert_eq!(config.up.fec, Some(Fec { target: Some(0.001), ..Fec::fixed(8, 0) }));
    assert_eq!(config.down.arq_from, 0.05);
    assert!(config.down.adaptation.is_some() && config.up.adaptation.is_none() && !config.up.arq);
    assert_eq!(config.stations.iter().map(|s| s.queue_packets).collect::<Vec<_>>(), [30, 7]);
}

#[test]
fn fault_38_what_does_not_fit_gprs_is_named() {
    for (overrides, key, hint) in [
        (vec![("link.down.scheme", "MCS-5")], "link.up", "set scheme in both"),
        (vec![("link.down.scheme", "CS-5")], "link.down.scheme", "did you mean"),
        (vec![("link.slots", "4")], "link.slots", "`slots` belongs to [link.down] and [link.up]"),
        (vec![("link.down.slots", "9")], "link.down.slots", "from 1 to 8"),
        (vec![("link.ci", "14")], "link.ci", "14dB"),
        (vec![("link.fade_ci", "3dB")], "link.fade_ci", "set ci"),
        (vec![("link.ci", "14dB"), ("link.block_error", "0.1")], "link.block_error", "leave one"),
        (vec![("link.down.faster_below", "0.5")], "link.down.faster_below", "0.1 and 0.33"),
        (vec![("link.up.adapt", "true"), ("link.up.arq", "false")], "link.up.adapt", "leave one"),
        (vec![("link.down.rate", "5kbit/s")], "link.down.rate", "keys here"),
        (vec![("link.shared", "true")], "link.shared", "\"generic\" or \"trace\""),
        (vec![("link.down.arq_from", "0.1"), ("link.down.arq", "false")], "link.down.arq_from", "leave one"),
        (vec![("link.channel", "nowhere.ci")], "link.channel", "seen from the folder"),
        (vec![("tcp.back_pressure", "true")], "tcp.back_pressure", "leave it out"),
    ] {
        let problems = parse(&overrides).expect_err(key);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0].key, key);
        assert!(problems[0].hint.contains(hint), "{problems:?}");
    }
}

#[test]
fn a_window_held_to_gprs_is_what_its_block_flows_carry_in_a_round_trip() {
    let scenario = parse(&[("tcp.window_clamp", "link")]).unwrap_or_else(|problems| panic!("{problems:?}"));
    // 51 blocks on 3 slots take 340 ms; the acknowledgement waits 60 + 180 ms for a flow and 10 for the grid, and takes 60:
    // 650 ms, in which two packets begin, and one more.
    assert_eq!(scenario.tcp.window_clamp_bytes, Some(3 * 1448));
    let text = PLAIN.replace("gprs", "wifi");
    let overrides = [("tcp.window_clamp".to_owned(), "link".to_owned())];
    let problems = Scenario::parse(&text, "wifi.toml", &overrides).expect_err("stations share it").0;
    assert_eq!(problems[0].key, "tcp.window_clamp");
}

#[test]
fn a_channel_is_read_from_its_file_and_kept_by_its_hash() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("channel");
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let read = |channel: &str, more: &[(&str, &str)]| {
        std::fs::write(folder.join("walk.ci"), channel).expect("the channel can be written");
        let name = folder.join("scenario.toml");
        let overrides = [&[("link.channel", "walk.ci")], more].concat();
        let overrides: Vec<_> = overrides.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Scenario::parse(PLAIN, name.to_str().expect("the path is text"), &overrides)
            .map_err(|problems| problems.0)
    };
    let scenario = read("time_s,ci_db\n0,14\n5,-3\n", &[]).expect("a scenario");
    let LinkConfig::Gprs(config) = &scenario.link else { panic!("another link") };
    let BlockError::Series(channel) = &config.block_error else { panic!("{:?}", config.block_error) };
    assert_eq!(channel.steps(), [(0, 14.0), (5_000_000_000, -3.0)]);
    let [copy] = &scenario.files[..] else { panic!("{:?}", scenario.files) };
    assert_eq!(scenario.resolved()["link"]["channel_sha256"], copy.sha256.as_str());
    for (channel, more, key, message) in [
        ("time_s,ci\n0,14\n", vec![], "link.channel", "the heading is neither"),
        ("time_s,ci_db\n0,14\n5,x\n", vec![], "link.channel", "line 3"),
        ("time_s,block_error\n0,1\n", vec![], "link.channel", "some must arrive"),
        ("time_s,ci_db\n0,14\n", vec![("link.ci", "14dB")], "link.ci", "follows from that"),
        (
            "time_s,ci_db\n0,14\n",
            vec![("link.channel_sha256", "abc")],
            "link.channel_sha256",
            "has the SHA-256",
        ),
    ] {
        let problems = read(channel, &more).expect_err(message);
        assert_eq!((problems.len(), problems[0].key.as_str()), (1, key), "{problems:?}");
        assert!(problems[0].message.contains(message), "{problems:?}");
    }
}

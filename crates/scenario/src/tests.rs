//! Whole scenarios: what they become, what is refused, and that nothing panics. Messages are in `tests/golden.rs`.

use crate::{LinkConfig, Role, Scenario, reference};
use airperf_link::StationId;
use airperf_units::{Duration, Rate};
use airperf_workload::{ArrivalProcess, Start};
use proptest::prelude::*;

const GOOD: &str = include_str!("../tests/good.toml");
const E1: &str = include_str!("../../../scenarios/bai2006-e1.toml");
const WIRED: &str = include_str!("../../../scenarios/wired-10mbit.toml");

fn parse(text: &str, overrides: &[(&str, &str)]) -> Result<Scenario, crate::Problems> {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    Scenario::parse(text, "test.toml", &overrides)
}

fn good(overrides: &[(&str, &str)]) -> Scenario {
    parse(GOOD, overrides).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The single problem of the good scenario with these overrides.
fn problem(overrides: &[(&str, &str)]) -> crate::Problem {
    let mut problems = parse(GOOD, overrides).expect_err("there is a problem").0;
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems.remove(0)
}

fn wifi(scenario: &Scenario) -> &airperf_wifi::Config {
    match &scenario.link {
        LinkConfig::Wifi { config, .. } => config,
        _ => panic!("this is not 802.11"),
    }
}

#[test]
fn the_study_is_what_its_file_says() {
    let scenario = parse(E1, &[]).unwrap();
    assert!(scenario.warnings.is_empty());
    let config = wifi(&scenario);
    assert_eq!(config.control_rate, Rate::mbps(1));
    assert_eq!(config.retry_limit, Some(16));
    assert_eq!(config.phy.preamble, Duration::from_us(192));
    let [server, client] = &config.stations[..] else { panic!("two stations") };
    assert_eq!((server.host_gap, client.host_gap), (Duration::ZERO, Duration::from_us(150)));
    assert_eq!(scenario.tcp.mss_bytes, 1460);
    assert_eq!(scenario.clients[0].station, StationId(1));
    assert_eq!(scenario.clients[0].http.timeout, Some(Duration::from_secs(5)));
    assert_eq!(scenario.server.http.cpu_per_connection_after, Duration::from_us(1630));
    assert_eq!(
        scenario.stations.iter().map(|s| (s.name.as_str(), s.role)).collect::<Vec<_>>(),
        [("server", Role::Server), ("client", Role::Client),]
    );
}

#[test]
fn resolved_forms_are_fixed_points() {
    for text in [E1, WIRED, GOOD] {
        let first = parse(text, &[("client.count", "3"), ("client.start", "random")]).unwrap();
        let again = Scenario::from_resolved(first.resolved(), "again").unwrap();
        assert_eq!(first.resolved(), again.resolved());
        assert_eq!(first.sha256(), again.sha256());
        assert_eq!((&first.link, &first.tcp, &first.clients), (&again.link, &again.tcp, &again.clients));
    }
}

#[test]
fn a_key_of_admission_control_that_its_policy_does_not_read_is_refused_where_it_stands() {
    let refused = |keys: &str| {
        let text = E1.replacen("[server]\n", &format!("[server]\n{keys}\n"), 1);
        parse(&text, &[]).map(drop).map_err(|problems| problems.to_string())
    };
    let line = E1.lines().position(|line| line == "[server]").expect("E1 has a [server]") + 2;
    for (keys, key) in [
        ("admission_limit = 8", "admission_limit"),
        ("admission_limit = 4\nadmission = \"adaptive\"", "admission_limit"),
        ("admission_target = \"2s\"\nadmission = \"concurrent\"", "admission_target"),
        ("admission_wait = \"1s\"", "admission_wait"),
        ("admission_refusal = \"reset\"\nadmission = \"none\"", "admission_refusal"),
    ] {
        let told = refused(keys).expect_err(keys);
        assert!(told.contains(&format!("test.toml:{line}:")) && told.contains(key), "{told}");
    }
    assert_eq!(refused("admission = \"concurrent\"\nadmission_limit = 4\nadmission_wait = \"0s\""), Ok(()));
    assert_eq!(refused("admission = \"adaptive\"\nadmission_target = \"2s\""), Ok(()));
    let again = parse(E1, &[("server.admission", "adaptive"), ("server.admission_target", "2s")]).unwrap();
    assert!(Scenario::from_resolved(again.resolved(), "again").is_ok());
}

#[test]
fn an_arrival_process_takes_its_own_keys_and_no_others() {
    let process = |overrides: &[(&str, &str)]| {
        let scenario = good(overrides);
        let again = Scenario::from_resolved(scenario.resolved(), "again").unwrap();
        assert_eq!(scenario.clients, again.clients);
        scenario.clients[0].workload.arrivals
    };
    let similar = ("client.arrivals", "self-similar");
    let bursts = ("client.arrivals", "on-off");
    assert_eq!(process(&[similar, ("client.hurst", "0.8")]), ArrivalProcess::SelfSimilar { hurst: 0.8 });
    let (on, off) = (Duration::from_secs(2), Duration::from_ms(500));
    let times = [("client.on_time", "2s"), ("client.off_time", "500ms")];
    assert_eq!(process(&[bursts, times[0], times[1]]), ArrivalProcess::OnOff { on, off });

    assert!(problem(&[similar]).message.contains("need `hurst`"));
    assert!(problem(&[bursts, times[0]]).message.contains("need `off_time`"));
    assert!(problem(&[("client.hurst", "0.8")]).message.contains("for self-similar arrivals"));
    assert!(problem(&[("client.on_time", "2s")]).message.contains("for on-off arrivals"));
}

#[test]
fn identity_is_what_is_meant_and_not_how_it_is_written() {
    let written_out = GOOD.replace("\"1KiB\"", "\"1024 B\" # the same") + "request_size = \"0.074kB\"\n";
    assert_eq!(good(&[]).sha256(), parse(&written_out, &[]).unwrap().sha256());
    assert_ne!(good(&[]).sha256(), good(&[("link.queue", "101")]).sha256());
}

#[test]
fn overrides_reach_every_client_or_one() {
    let text = GOOD.to_owned() + "[[client]]\nrate = \"20/s\"\nsize = \"1KiB\"\n";
    let rates = |overrides: &[(&str, &str)]| -> Vec<u64> {
        parse(&text, overrides)
            .unwrap()
            .clients
            .iter()
            .map(|c| c.workload.rate.as_micro() / 1_000_000)
            .collect()
    };
    assert_eq!(rates(&[]), [10, 20]);
    assert_eq!(rates(&[("client.rate", "40/s")]), [40, 40]);
    assert_eq!(rates(&[("client.rate", "\"40/s\"")]), [40, 40]);
    assert_eq!(rates(&[("client.2.rate", "40/s")]), [10, 40]);
    assert_eq!(rates(&[("client.rate", "40/s"), ("client.1.rate", "5/s")]), [5, 40]);
    assert_eq!(good(&[("seed", "7")]).seed, 7);
    assert!(!good(&[("tcp.sack", "false")]).tcp.sack);
    assert_eq!(good(&[("server.max_clients", "10")]).server.http.max_clients, 10);
}

#[test]
fn a_problem_of_an_override_points_into_the_override() {
    let problem = problem(&[("link.rate", "54Mbit/s")]);
    assert_eq!((problem.source.as_str(), problem.line, problem.column), ("--set link.rate=54Mbit/s", 1, 11));
    assert_eq!(problem.seen, "54Mbit/s");
}

#[test]
fn a_problem_of_an_override_is_told_once() {
    let text = GOOD.to_owned() + "[[client]]\nrate = \"20/s\"\nsize = \"1KiB\"\n";
    assert_eq!(parse(&text, &[("client.rate", "40")]).unwrap_err().0.len(), 1);
}

#[test]
fn fault_38_impossible_phy() {
    for (key, value) in [
        ("link.rate", "54Mbit/s"),
        ("link.channel", "15"),
        ("link.channel", "0"),
        ("link.tx_power", "60dBm"),
        ("link.cw_min", "0"),
        ("link.cw_min", "1024"),
        ("link.cw_max", "30"),
        ("link.retry_limit", "0"),
        ("link.sifs", "1ms"),
        ("link.difs", "10us"),
        ("link.mtu", "20B"),
        ("link.mtu", "2297B"),
        ("link.slot", "0us"),
        ("link.cca", "192us"),
        ("link.frame_error", "1.1"),
        ("link.frame_error", "nan"),
        ("link.frame_error", "1e309"),
        ("link.queue", "0"),
        ("link.width", "160MHz"),
        ("client.rate", "0/s"),
        ("client.rate", "inf/s"),
        ("client.rate", "1e309/s"),
        ("client.rate", "-1/s"),
        ("duration", "0s"),
    ] {
        // DIFS follows SIFS unless it is given.
        let mut overrides = vec![(key, value)];
        if key == "link.sifs" {
            overrides.push(("link.difs", "50us"));
        }
        assert!(parse(GOOD, &overrides).is_err(), "{key} = {value} was accepted");
    }
}

#[test]
fn standard_and_derived_values_follow_what_is_set() {
    assert_eq!(wifi(&good(&[("link.slot", "9us")])).phy.difs, Duration::from_us(28));
    assert_eq!(wifi(&good(&[("link.preamble", "short")])).phy.preamble, Duration::from_us(96));
    assert_eq!(wifi(&good(&[("link.retry_limit", "off")])).retry_limit, Some(0));
    assert_eq!(wifi(&good(&[("link.retry_limit", "unlimited")])).retry_limit, None);
    assert_eq!(wifi(&good(&[("link.rts_threshold", "500B")])).rts_threshold, Some(500));
    assert_eq!(good(&[("link.mtu", "576B")]).tcp.mss_bytes, 536);
    assert_eq!(good(&[("link.mtu", "128B")]).tcp.mss_bytes, 88);
    assert_eq!(good(&[("client.start", "random")]).clients[0].workload.start, Start::Random);
    let slow = good(&[("client.link_rate", "1Mbit/s")]);
    assert_eq!(wifi(&slow).stations.iter().map(|s| s.rate.as_bps() / 1_000_000).collect::<Vec<_>>(), [11, 1]);
    let names: Vec<String> = good(&[("client.count", "2")]).stations.into_iter().map(|s| s.name).collect();
    assert_eq!(names, ["server", "client-1", "client-2"]);
}

#[test]
fn odd_but_possible_values_are_warnings() {
    for (key, value, part) in [
        ("link.tx_power", "30dBm", "ETSI"),
        ("link.channel", "14", "Japan"),
        ("link.channel", "13", "USA"),
        ("link.difs", "60us", "SIFS + 2 slots"),
        ("link.cw_min", "32", "power of two"),
        ("client.host_gap", "100us", "spread"),
    ] {
        let scenario = good(&[(key, value)]);
        assert_eq!(scenario.warnings.len(), 1, "{key}");
        assert!(scenario.warnings[0].0.message.contains(part), "{}", scenario.warnings[0]);
    }
    assert!(good(&[("link.tx_power", "20dBm")]).warnings.is_empty());
}

#[test]
fn empty_and_enormous_lists_of_clients_are_refused() {
    let head = GOOD.split("[[client]]").next().unwrap();
    assert!(parse(&format!("client = []\n{head}"), &[]).is_err());
    assert!(parse(&format!("client = 3\n{head}"), &[]).is_err());
    let many = "[[client]]\ncount = 10_000\nstation = \"s\"\nrate = \"1/s\"\nsize = \"1B\"\n";
    let seven: String = (0..7).map(|i| many.replace("\"s\"", &format!("\"s{i}\""))).collect();
    assert!(parse(&format!("{head}{seven}"), &[]).unwrap_err().to_string().contains("a link has at most"));
}

#[test]
fn a_text_without_end_is_refused_unread() {
    let problems = parse(&"#".repeat((1 << 20) + 1), &[]).unwrap_err();
    assert!(problems.to_string().contains("at most 1 MiB"));
}

#[test]
fn problems_without_end_are_counted() {
    let text: String = (0..40_000).map(|i| format!("key_{i} = {i}\n")).collect();
    let problems = parse(&text, &[]).unwrap_err();
    assert_eq!(problems.0.len(), 501);
    let five_missing = 5;
    assert_eq!(problems.0[500].message, format!("there are {} more problems", 40_000 + five_missing - 500));
    assert_eq!(parse(&"[[client]]\n".repeat(80_000), &[]).unwrap_err().0.len(), 501);
    let unclosed = "[".repeat(1 << 19);
    assert!(parse(&unclosed, &[]).is_err());
    assert!(parse(&format!("a = {unclosed}"), &[]).is_err());
    assert!(parse(&"a.".repeat(1 << 18), &[]).is_err());
}

#[test]
fn terminals_are_not_commanded() {
    let problems =
        parse("name = \"\\u001b[31m\"\n\"\\u001b\" = 1\n[link]\nkind = '\u{7f}'", &[]).unwrap_err();
    assert!(!problems.to_string().chars().any(|c| c.is_control() && c != '\n'));
}

#[test]
fn the_reference_page_lists_every_key_as_it_is() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/scenario.md");
    let page = std::fs::read_to_string(path).expect("the page can be read");
    let (begin, end) = ("<!-- generated: crates/scenario -->\n", "<!-- end -->\n");
    let (head, rest) = page.split_once(begin).expect("the page has a generated part");
    let (body, tail) = rest.split_once(end).expect("the generated part has an end");
    let wanted = format!("\n{}\n", reference().trim_end());
    if std::env::var_os("AIRPERF_BLESS").is_some() {
        std::fs::write(path, format!("{head}{begin}{wanted}{end}{tail}")).expect("the page can be written");
    } else {
        assert!(body == wanted, "docs/reference/scenario.md is out of date; run again with AIRPERF_BLESS=1");
    }
}

#[test]
fn any_value_of_any_key_is_a_scenario_or_a_problem() {
    let mut accepted = 0;
    for (key, value) in all_keys().iter().flat_map(|key| VALUES.map(|value| (key, value))) {
        for text in [E1, WIRED] {
            accepted += u32::from(parse(text, &[(key.as_str(), value)]).is_ok());
        }
    }
    assert!(accepted > 200, "{accepted}");
}

/// Values to throw at every key: right, wrong and absurd.
const VALUES: [&str; 30] = [
    "255",
    "65535",
    "\"10s\"",
    "\"88B\"",
    "\"2GiB\"",
    "\"3MiB\"",
    "1",
    "0",
    "-1",
    "1.5",
    "1e309",
    "nan",
    "true",
    "\"\"",
    "\"1\"",
    "\"1s\"",
    "\"5us\"",
    "\"11Mbit/s\"",
    "\"1KiB\"",
    "\"10/s\"",
    "\"off\"",
    "\"link\"",
    "\"long\"",
    "\"linux-6\"",
    "[]",
    "[1]",
    "{}",
    "{a=1}",
    "1979-05-27",
    "\"x y\"",
];

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&String::from_utf8_lossy(&bytes), &[]);
    }

    #[test]
    fn no_damage_to_a_good_scenario_panics(at in 0..E1.len(), cut in 0..40_usize, insert in "\\PC{0,6}") {
        let floor = |mut at: usize| { at = at.min(E1.len()); while !E1.is_char_boundary(at) { at -= 1; } at };
        let (start, end) = (floor(at), floor(at + cut));
        let damaged = format!("{}{insert}{}", &E1[..start], &E1[end..]);
        if let Err(problems) = parse(&damaged, &[]) {
            let lines = damaged.lines().count().max(1) + 1;
            prop_assert!(problems.0.iter().all(|p| p.line >= 1 && p.line <= lines && p.column >= 1));
        }
    }

    /// The models' own checks stand behind this as a debug assertion.
    #[test]
    fn any_values_of_any_two_keys_are_a_scenario_or_problems(
        one in (prop::sample::select(all_keys()), prop::sample::select(&VALUES[..])),
        other in (prop::sample::select(all_keys()), prop::sample::select(&VALUES[..])),
    ) {
        let _ = parse(E1, &[(one.0.as_str(), one.1), (other.0.as_str(), other.1)]);
    }

    #[test]
    fn no_override_panics(key in "[a-z0-9_.\\[\\]]{0,20}", value in "\\PC{0,12}") {
        let _ = parse(E1, &[(key.as_str(), value.as_str())]);
    }
}

/// The path of every key of every table.
fn all_keys() -> Vec<String> {
    let resolved = [parse(E1, &[]).unwrap(), parse(WIRED, &[]).unwrap()].map(|s| s.resolved().clone());
    let mut keys = Vec::new();
    for (name, value) in resolved.iter().flat_map(|json| json.as_object().unwrap()) {
        match value.as_object().or_else(|| value.get(0)?.as_object()) {
            Some(table) => keys.extend(table.keys().map(|key| format!("{name}.{key}"))),
            None => keys.push(name.clone()),
        }
    }
    keys
}

const FLOWS: &str = r#"
schema = 1
name = "flows"
duration = "10s"
link = { kind = "wifi" }
[[client]]
station = "web"
rate = "1/s"
size = "1KiB"
[[flow]]
kind = "stream"
count = 2
[[flow]]
kind = "tcp"
client = "web"
direction = "up"
size = "1MB"
"#;

#[test]
fn flows_get_stations_after_the_clients_or_share_one() {
    let scenario = Scenario::parse(FLOWS, "flows", &[]).unwrap();
    let names: Vec<&str> = scenario.stations.iter().map(|station| station.name.as_str()).collect();
    assert_eq!(names, ["server", "web", "flow-1-1", "flow-1-2"]);
    let flows: Vec<_> =
        scenario.flows.iter().map(|f| (f.medium, f.group, f.station.0, f.to_server)).collect();
    let expected = [
        ("video", 0, 2, false),
        ("audio", 0, 2, false),
        ("video", 1, 3, false),
        ("audio", 1, 3, false),
        ("tcp", 2, 1, true),
    ];
    assert_eq!(flows, expected);
    let again = Scenario::from_resolved(scenario.resolved(), "again").unwrap();
    assert_eq!((&again.flows, again.sha256()), (&scenario.flows, scenario.sha256()));
    let without = Scenario::parse(FLOWS.split("[[flow]]").next().unwrap(), "none", &[]).unwrap();
    assert!(without.resolved().get("flow").is_none(), "no flows, no trace of them");
}

#[test]
fn fault_38_flows_that_cannot_be_are_told() {
    let told = |key: &str, value: &str| {
        let overrides = [(key.to_owned(), value.to_owned())];
        let problems = Scenario::parse(FLOWS, "flows", &overrides).expect_err(key).0;
        assert_eq!(problems.len(), 1, "{problems:?}");
        problems[0].to_string()
    };
    assert!(told("flow.2.client", "\"wep\"").contains("did you mean `web`"));
    assert!(told("flow.2.link_rate", "\"1Mbit/s\"").contains("[[client]] whose station the flow shares"));
    assert!(told("flow.1.video_packet", "\"1473B\"").contains("fragments are not modelled"));
    assert!(told("flow.1.frame_spread", "0.5").contains("frame_rate"));
    assert!(told("flow.1.packet_size", "\"1KiB\"").contains("belongs to a [[flow]] of kind"));
    assert!(told("flow.2.start", "\"10s\"").contains("begins when"));
    assert!(told("client.fade_start", "\"3s\"").contains("error rate"));
    let text = "schema = 1\nname = \"long\"\nduration = \"1h\"\nlink = { kind = \"switch\" }\n\
                [[flow]]\nkind = \"tcp\"\n";
    let problems = Scenario::parse(text, "long", &[]).expect_err("36 GB on one connection").0;
    assert!(problems[0].to_string().contains("4 GiB"), "{}", problems[0]);
}

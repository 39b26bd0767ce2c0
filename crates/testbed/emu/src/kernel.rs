//! What the kernel's TCP is told, and what it cannot be told.
//!
//! The lab's namespaces are private, so their settings are too. Everything the scenario's `[tcp]` and
//! `[server]` ask for and Linux can be told is set; recovery is brought back to what the scenario's TCP
//! knows (no tail loss probes, no RACK, no F-RTO); what remains different is listed for the manifest.
//! See `Documentation/networking/ip-sysctl.rst` and ip-route(8).
//!
//! Left out: BPF (`BPF_SOCK_OPS_TIMEOUT_INIT` could change the initial timeout) and socket options of
//! programs we do not write.

use airperf_scenario::Scenario;
use airperf_units::Duration;

use crate::isolation::{DeviceKind, RouteMetrics, StationSettings};

/// Packets a device holds between the kernel and the model's queue. The medium empties it at once, so
/// it only has to bridge the medium's worst lag; a full one would drop outside the model and is counted.
const DEVICE_QUEUE: u32 = 256;

/// Octets of a send buffer. The kernel's accounting counts buffers with their overhead.
const SEND_BUFFER: u64 = 4 << 20;

/// Timeout before the first sample in today's kernel: `TCP_TIMEOUT_INIT` 1·HZ (RFC 6298 §2.1).
const INITIAL_RTO: Duration = Duration::from_secs(1);
/// Shortest delay of a delayed acknowledgement: `TCP_DELACK_MIN` HZ/25.
const DELAYED_ACK_MIN: Duration = Duration::from_ms(40);
/// Longest window without scaling (RFC 9293 §3.1).
const LARGEST_UNSCALED_WINDOW: u32 = 65_535;

/// What every station of the lab is told.
pub(crate) fn settings(scenario: &Scenario, device: DeviceKind) -> StationSettings {
    let (tcp, http) = (&scenario.tcp, &scenario.server.http);
    let switch = |on: bool| u32::from(on).to_string();
    let scaled = tcp.receive_window_max_bytes > LARGEST_UNSCALED_WINDOW;
    // Half of a receive buffer is window (tcp_adv_win_scale 1), so the default holds twice the window.
    let buffer = 2 * (u64::from(tcp.receive_window_max_bytes) + 1);
    let mut sysctls: Vec<(String, String)> = Vec::new();
    let mut set = |name: &str, value: String| sysctls.push((name.to_owned(), value));
    set("ipv4/tcp_congestion_control", "reno".into());
    set("ipv4/tcp_sack", switch(tcp.sack));
    set("ipv4/tcp_dsack", "0".into());
    set("ipv4/tcp_timestamps", switch(tcp.timestamps));
    set("ipv4/tcp_window_scaling", switch(scaled));
    set("ipv4/tcp_rmem", format!("4096 {buffer} {}", buffer.max(6 << 20)));
    set("ipv4/tcp_moderate_rcvbuf", switch(scaled));
    // So large that a full send buffer never makes a program's write end in a short segment.
    set("ipv4/tcp_wmem", format!("4096 {SEND_BUFFER} {SEND_BUFFER}"));
    set("ipv4/tcp_syn_retries", tcp.syn_retries.to_string());
    set("ipv4/tcp_synack_retries", tcp.synack_retries.to_string());
    set("ipv4/tcp_syn_linear_timeouts", tcp.syn_linear_timeouts.to_string());
    set("ipv4/tcp_retries2", tcp.data_retries.to_string());
    set("ipv4/tcp_orphan_retries", tcp.orphan_retries.to_string());
    set("ipv4/tcp_fin_timeout", (tcp.fin_wait.as_secs_f64().round() as u64).max(1).to_string());
    set("ipv4/tcp_no_metrics_save", "1".into()); // no connection learns from an earlier one
    set("ipv4/tcp_slow_start_after_idle", switch(tcp.slow_start_after_idle));
    for off in
        ["ecn", "fastopen", "early_retrans", "recovery", "frto", "autocorking", "mtu_probing", "syncookies"]
    {
        set(&format!("ipv4/tcp_{off}"), "0".into());
    }
    set("ipv4/ip_local_port_range", "10240 65000".into());
    set("ipv4/tcp_max_syn_backlog", http.syn_queue.to_string());
    set("core/somaxconn", http.backlog.to_string());
    StationSettings {
        device,
        mtu: scenario.link.mtu(),
        device_queue: DEVICE_QUEUE,
        sysctls,
        metrics: RouteMetrics {
            initial_window: Some(tcp.initial_window),
            initial_receive_window: Some((tcp.receive_window_bytes / tcp.mss_bytes).max(1)),
            rto_min_ms: Some((tcp.min_rto.as_ns() / 1_000_000) as u32),
        },
    }
}

/// Keys of `[tcp]` that [`settings`] tells the kernel, that [`differences`] has a sentence of its own for, or that no
/// kernel could differ in.
const SPOKEN_FOR: [&str; 24] = [
    "profile",
    "initial_window",
    "slow_start_after_idle",
    "receive_window",
    "receive_window_max",
    "timestamps",
    "sack",
    "min_rto",
    "syn_retries",
    "syn_linear_timeouts",
    "synack_retries",
    "data_retries",
    "orphan_retries",
    "fin_wait",
    "initial_rto",
    "delayed_ack_min",
    "synack_scan",
    "jiffy",
    "local_drop_feedback",
    "local_drop_retry",    // follows from local_drop_feedback
    "refused_synack_ends", // so does this
    "window_scale",        // follows from receive_window_max
    "back_pressure",       // refused
    "shared_state",        // refused
];

/// What the scenario asks of TCP or the server's kernel that would be another experiment without it, with its key.
pub(crate) fn beyond(scenario: &Scenario) -> Option<(&'static str, &'static str)> {
    let shared = scenario.resolved()["tcp"]["shared_state"].as_str();
    let ticks = scenario.stations.iter().any(|station| station.tick_phase.is_some());
    let asked = [
        (scenario.tcp.back_pressure, "tcp.back_pressure", "make senders wait for room in a modelled queue"),
        (shared != Some("none"), "tcp.shared_state", "share congestion state as the scenario's TCP does"),
        (ticks, "tick_phase", "say when the kernel's clock ticks"),
    ];
    asked.into_iter().find(|(asked, ..)| *asked).map(|(_, key, what)| (key, what))
}

/// Keys of `[tcp]` that nobody can be told and that are not as in today's kernel, one sentence each.
fn untold(scenario: &Scenario) -> Vec<String> {
    let mut today = scenario.resolved().clone();
    today["tcp"] = serde_json::json!({ "profile": "linux-6" });
    let Ok(today) = Scenario::from_resolved(&today, "today's kernel") else { return Vec::new() };
    let (wanted, has) = (&scenario.resolved()["tcp"], &today.resolved()["tcp"]);
    let keys = wanted.as_object().into_iter().flat_map(|keys| keys.keys());
    keys.filter(|key| !SPOKEN_FOR.contains(&key.as_str()) && wanted[key.as_str()] != has[key.as_str()])
        .map(|key| {
            let (wanted, has) = (&wanted[key.as_str()], &has[key.as_str()]);
            format!("`tcp.{key}` is {wanted} in the scenario, and {has} in today's kernel")
        })
        .collect()
}

/// In what the kernel's TCP differs from the scenario's, one sentence each.
pub(crate) fn differences(scenario: &Scenario) -> Vec<String> {
    let tcp = &scenario.tcp;
    let mut list = untold(scenario);
    if tcp.initial_rto != INITIAL_RTO {
        list.push(format!(
            "initial retransmission timeout is {INITIAL_RTO}, the scenario's is {}: lost SYNs are sent again sooner",
            tcp.initial_rto
        ));
    }
    if tcp.delayed_ack_min != DELAYED_ACK_MIN {
        list.push(format!(
            "delayed acknowledgements wait {DELAYED_ACK_MIN}, the scenario's {}",
            tcp.delayed_ack_min
        ));
    }
    if tcp.local_drop_feedback {
        list.push(
            "packets the model's transmit queue refuses are lost to the kernel's TCP without a word".into(),
        );
    }
    if tcp.receive_window_max_bytes > LARGEST_UNSCALED_WINDOW {
        list.push("receive buffers of httperf and of airperf load are 64 KiB and do not grow".into());
    }
    if tcp.synack_scan > Duration::ZERO {
        list.push("each SYN-ACK has its own timer; the scenario's are scanned together".into());
    }
    let ticks = kernel_tick();
    if tcp.jiffy != ticks {
        list.push(format!("timers tick every {ticks}, the scenario's every {}", tcp.jiffy));
    }
    list.push("the initial quick acknowledgements follow today's kernel (tcp_quickack)".into());
    list
}

/// Length of a jiffy of this kernel, from its resolution of coarse clocks (clock_getres(2)).
fn kernel_tick() -> Duration {
    nix::time::clock_getres(nix::time::ClockId::CLOCK_MONOTONIC_COARSE)
        .map_or(Duration::ZERO, |tick| Duration::from_ns(tick.tv_nsec() as u64))
}

/// Facts of the machine for the manifest: kernel, processors.
pub(crate) fn facts() -> serde_json::Value {
    let name = nix::sys::utsname::uname().ok();
    let text = |part: Option<&std::ffi::OsStr>| part.map(|p| p.to_string_lossy().into_owned());
    serde_json::json!({
        "kernel": text(name.as_ref().map(|n| n.release())),
        "machine": text(name.as_ref().map(|n| n.machine())),
        "processors": std::thread::available_parallelism().map_or(0, usize::from),
        "jiffy_ns": kernel_tick().as_ns(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(keys: &str) -> Scenario {
        let text = format!(
            "schema = 1\nname = \"kernel\"\nduration = \"1s\"\nlink = {{ kind = \"wifi\" }}\n[[client]]\n\
             rate = \"1/s\"\nsize = \"1B\"\n{keys}"
        );
        Scenario::parse(&text, "kernel", &[]).unwrap_or_else(|problems| panic!("{problems}"))
    }

    #[test]
    fn a_remedy_that_the_kernel_does_not_have_is_refused_by_its_key() {
        assert_eq!(beyond(&scenario("")), None);
        for (keys, key) in [
            ("[tcp]\nback_pressure = true\nlocal_drop_feedback = true\n", "tcp.back_pressure"),
            ("[tcp]\nshared_state = \"temporal\"\n", "tcp.shared_state"),
            ("[tcp]\nshared_state = \"ensemble\"\n", "tcp.shared_state"),
            ("[server]\ntick_phase = \"1ms\"\n", "tick_phase"),
            ("tick_phase = \"1ms\"\n", "tick_phase"),
        ] {
            assert_eq!(beyond(&scenario(keys)).map(|(key, _)| key), Some(key));
        }
    }

    #[test]
    fn what_todays_kernel_cannot_be_told_is_listed() {
        assert_eq!(untold(&scenario("")), Vec::<String>::new());
        let told = untold(&scenario("[tcp]\nmss = \"536B\"\nduplicate_acks = 2\nsack = false\n"));
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told.iter().any(|line| line.contains("`tcp.mss` is \"536B\"")), "{told:?}");
    }

    #[test]
    fn every_key_of_tcp_that_is_spoken_for_is_a_key() {
        let scenario = scenario("");
        let keys = scenario.resolved()["tcp"].as_object().unwrap();
        assert_eq!(SPOKEN_FOR.iter().filter(|key| !keys.contains_key(**key)).count(), 0);
    }
}

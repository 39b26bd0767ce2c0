//! Web and other traffic over access links, generic and driven by traces: closed forms over the whole stack.

use airperf_sim::{FlowEnded, Observer, Simulated};

use crate::{balanced, scenario};

#[derive(Default)]
struct Flows(Vec<FlowEnded>);

impl Observer for Flows {
    fn flow(&mut self, ended: &FlowEnded) {
        self.0.push(*ended);
    }
}

fn run(text: &str, overrides: &[(&str, &str)]) -> Simulated<Flows> {
    balanced(&scenario(text, overrides), Flows::default())
}

const GENERIC: &str = r#"
schema = 1
name = "access"
duration = "20s"
drain = "5s"

[link]
kind = "generic"

[link.down]
rate = "2Mbit/s"
delay = "50ms"

[link.up]
rate = "200kbit/s"
delay = "50ms"
"#;

fn goodput_mbps(run: &Simulated<Flows>) -> f64 {
    let flow = run.observer.0[0];
    flow.quality.bytes_in_time as f64 * 8.0 / (flow.end - flow.start).as_secs_f64() / 1e6
}

#[test]
fn a_small_transaction_takes_its_round_trips_and_bits() {
    let client = "[[client]]\nrate = \"1/s\"\nsize = \"500B\"\nrequest_size = \"74B\"\n";
    let run = run(&format!("{GENERIC}{client}"), &[("server.reply_header", "250B")]);
    assert_eq!((run.totals.exchanges, run.totals.failed()), (20, 0));
    let ours = run.totals.response_time.as_secs_f64() / 20.0;
    // SYN, SYN-ACK, ACK with the request behind it, the kernel's ACK at once and the reply behind it; timestamps in every header (RFC 7323).
    let (up, down) = (|bytes: f64| bytes * 8.0 / 200e3, |bytes: f64| bytes * 8.0 / 2e6);
    let closed = up(60.0) + down(60.0) + up(52.0 + 74.0 + 52.0) + down(52.0 + 750.0 + 52.0) + 4.0 * 0.050;
    assert!((ours - closed).abs() < 1e-6, "{ours} s, expected {closed}");
}

#[test]
fn bulk_transfers_fill_the_rate_and_datagrams_too() {
    let tcp = run(&format!("{GENERIC}[[flow]]\nkind = \"tcp\"\n"), &[("duration", "120s")]);
    // 1448 octets of data in 1500, less slow start over 100 ms and the FIN.
    let most = 2.0 * 1448.0 / 1500.0;
    assert!((goodput_mbps(&tcp) / most - 1.0).abs() < 0.01, "{} of {most}", goodput_mbps(&tcp));
    let udp = run(&format!("{GENERIC}[[flow]]\nkind = \"udp\"\npacket_size = \"1000B\"\n"), &[]);
    let most = 2.0 * 1000.0 / 1028.0;
    assert!((goodput_mbps(&udp) / most - 1.0).abs() < 0.005, "{} of {most}", goodput_mbps(&udp));
}

#[test]
fn tcp_survives_loss_copies_and_overtaking() {
    let text = format!("{GENERIC}[[flow]]\nkind = \"tcp\"\nsize = \"1MB\"\n");
    let bad = [
        ("duration", "200s"),
        ("link.down.loss", "0.01"),
        ("link.down.burst_begin", "0.002"),
        ("link.down.burst_end", "0.3"),
        ("link.down.burst_loss", "0.8"),
        ("link.down.duplicate", "0.05"),
        ("link.down.reorder", "true"),
        ("link.down.delay", "uniform(from 30ms, to 90ms)"),
        ("link.up.duplicate", "0.05"),
        ("link.up.loss", "0.02"),
    ];
    let run = run(&text, &bad);
    assert_eq!(run.observer.0[0].quality.bytes_delivered, 1_000_000);
    assert!(run.totals.lost > 10, "{}", run.totals.lost);
}

#[test]
fn a_trace_carries_its_bits_and_no_more() {
    let text = GENERIC
        .replace("generic", "trace")
        .replace("rate = \"2Mbit/s\"", "trace = \"../traces/synthetic-lte.down\"")
        .replace("rate = \"200kbit/s\"", "trace = \"../traces/synthetic-lte.up\"");
    let flow = "[[flow]]\nkind = \"udp\"\npacket_size = \"1472B\"\n";
    let run =
        run(&format!("{text}{flow}"), &[("duration", "60s"), ("drain", "0s"), ("link.down.delay", "0s")]);
    let trace = include_str!("../../../../../traces/synthetic-lte.down");
    let most = trace.lines().count() as f64;
    // The first packet waits a fraction of the millisecond; every opportunity after it is used.
    let ours = run.observer.0[0].quality.bytes_delivered as f64 / 1472.0;
    assert!((ours - most).abs() <= 1.0, "{ours} packets, the trace has {most}");
}

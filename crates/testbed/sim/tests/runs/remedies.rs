//! The study's remedies in the whole stack: back-pressure, shared congestion state, admission control.

use airperf_sim::{Ended, Observer, Opened, Simulated};
use airperf_units::Time;

use crate::{balanced, scenario};

const SCENARIO: &str = r#"
schema = 1
name = "remedies"
duration = "60s"
drain = "20s"
link = { kind = "wifi", retry_limit = 16, frame_error = 0.0 }
tcp = { profile = "linux-2.4.18" }
server = { profile = "apache-1.3" }
[[client]]
rate = "10/s"
size = "1KiB"
request_size = "74B"
timeout = "5s"
host_gap = "150us"
host_gap_spread = 0.5
"#;

/// Counts that every connection ends once.
#[derive(Default)]
struct Ends {
    opened: u32,
    ended: Vec<u32>,
}

impl Observer for Ends {
    fn opened(&mut self, _: Time, opened: &Opened) {
        self.opened = opened.connection + 1;
    }

    fn ended(&mut self, ended: &Ended) {
        self.ended.push(ended.connection);
    }
}

/// A run with these settings; every connection of it ends once and airtime adds up, whatever they are.
fn run(settings: &[(&str, &str)]) -> Simulated<Ends> {
    let mut run = balanced(&scenario(SCENARIO, settings), Ends::default());
    run.observer.ended.sort_unstable();
    assert_eq!(run.observer.ended, (0..run.observer.opened).collect::<Vec<_>>(), "{settings:?}");
    run
}

#[test]
fn with_back_pressure_no_queue_refuses_anything_in_any_overload() {
    for settings in [
        vec![("client.rate", "140/s")],
        vec![("client.rate", "80/s"), ("client.count", "3"), ("client.start", "random")],
        vec![("client.rate", "12/s"), ("client.size", "64KiB")],
        vec![("client.rate", "140/s"), ("link.queue", "5")],
        vec![("client.rate", "30/s"), ("link.frame_error", "0.4"), ("link.retry_limit", "2")],
    ] {
        let plain = run(&settings);
        let eased = run(&[&settings[..], &[("tcp.back_pressure", "true")]].concat());
        assert!(plain.totals.refused + plain.totals.lost > 100, "{settings:?}");
        assert_eq!(eased.totals.refused, 0, "{settings:?}");
        assert!(eased.queues.iter().all(|queue| queue.dropped == 0));
    }
}

#[test]
fn back_pressure_changes_nothing_while_queues_have_room() {
    let plain = run(&[("client.rate", "60/s")]);
    let eased = run(&[("client.rate", "60/s"), ("tcp.back_pressure", "true")]);
    assert_eq!(plain.totals, eased.totals);
}

#[test]
fn sharing_of_either_kind_loses_no_transaction() {
    for kind in ["temporal", "ensemble"] {
        let shared = ("tcp.shared_state", kind);
        let easy = run(&[shared, ("client.size", "16KiB")]);
        assert_eq!((easy.totals.exchanges, easy.totals.failed()), (600, 0), "{kind}");
        let plain = run(&[("client.size", "16KiB")]);
        assert!(
            easy.totals.response_time < plain.totals.response_time,
            "{kind}: no slow start from two segments"
        );
        run(&[shared, ("client.rate", "120/s")]);
        run(&[shared, ("client.rate", "12/s"), ("client.size", "64KiB")]);
    }
}

/// Exchanges in time, and failures, of 64 KiB objects asked for faster than the air carries them.
fn overload(settings: &[(&str, &str)]) -> Simulated<Ends> {
    run(&[&[("client.size", "64KiB"), ("client.rate", "12/s"), ("client.timeout", "5s")], settings].concat())
}

#[test]
fn admission_control_keeps_goodput_under_overload() {
    let plain = overload(&[]);
    let carried = run(&[("client.size", "64KiB"), ("client.rate", "6/s")]);
    let capacity = carried.totals.exchanges_in_time; // 6/s, all of them
    assert_eq!(capacity, 360);
    assert!(plain.totals.exchanges_in_time < capacity, "without it the server collapses");
    for policy in ["concurrent", "adaptive"] {
        let kept = overload(&[("server.admission", policy)]);
        assert!(kept.totals.exchanges_in_time >= capacity, "{policy}: {:?}", kept.totals);
        let counts = kept.totals.admission.expect("there is admission control");
        assert!(counts.refused > 0);
        assert_eq!(kept.totals.failed_receive, 0, "{policy}: nobody gives up in the middle");
        let asked = counts.admitted + counts.refused + counts.abandoned;
        assert!(asked <= kept.totals.connections, "{counts:?}");
        assert!(counts.refused <= kept.totals.failed_reset, "who is refused sees its connection closed");
    }
}

#[test]
fn who_is_refused_by_a_reset_costs_fewer_packets() {
    let reply = overload(&[("server.admission", "concurrent")]);
    let reset = overload(&[("server.admission", "concurrent"), ("server.admission_refusal", "reset")]);
    let per_connection = |run: &Simulated<Ends>| {
        run.totals.packets as f64 / (run.totals.connections + run.totals.exchanges * 60) as f64
    };
    assert!(reset.totals.admission.unwrap().refused > 0);
    assert!(per_connection(&reset) < per_connection(&reply));
}

#[test]
fn admission_control_with_room_for_all_changes_nothing() {
    let plain = run(&[("client.requests_per_connection", "5")]);
    let guarded = run(&[
        ("client.requests_per_connection", "5"),
        ("server.admission", "concurrent"),
        ("server.admission_limit", "1000"),
    ]);
    let counts = guarded.totals.admission.unwrap();
    assert_eq!((counts.admitted, counts.refused, counts.deferred), (5 * 600, 0, 0));
    assert_eq!(plain.totals.response_time, guarded.totals.response_time);
    assert_eq!(plain.totals.packets, guarded.totals.packets);
}

#[test]
fn a_deferred_request_is_served_in_its_turn() {
    // One place, and transfers of about 100 ms every 125 ms: some wait, none as long as a second.
    let kept = run(&[
        ("client.size", "48KiB"),
        ("client.rate", "8/s"),
        ("client.arrivals", "poisson"),
        ("server.admission", "concurrent"),
        ("server.admission_limit", "1"),
        ("server.admission_wait", "4s"),
    ]);
    let counts = kept.totals.admission.unwrap();
    assert!(counts.deferred > 100, "{counts:?}");
    assert_eq!(kept.totals.failed(), counts.refused + counts.abandoned, "{:?}", kept.totals);
    assert!(kept.totals.exchanges > 450, "{:?}", kept.totals);
}

#[test]
fn the_phase_of_the_servers_scans_is_kept() {
    let totals = |phase: &str| run(&[("client.rate", "130/s"), ("server.tick_phase", phase)]).totals;
    assert_eq!(totals("40ms"), totals("240ms"), "scans are 200 ms apart");
    assert_ne!(totals("40ms"), totals("140ms"));
}

#[test]
fn the_phase_of_a_clients_ticks_is_kept() {
    let totals = |phase: &str| run(&[("client.rate", "130/s"), ("client.tick_phase", phase)]).totals;
    assert_eq!(totals("4ms"), totals("14ms"), "ticks are 10 ms apart");
    assert_ne!(totals("4ms"), totals("8ms"));
}

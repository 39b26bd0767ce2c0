//! Files over GPRS: a transaction block by block, and what loss and its remedies do to a transfer.

use airperf_sim::Simulated;

use crate::{balanced, scenario};

const TRANSFER: &str = include_str!("../../../../../scenarios/gprs-transfer.toml");
const FADING: &str = include_str!("../../../../../scenarios/gprs-fading.toml");

fn run(text: &str, overrides: &[(&str, &str)]) -> Simulated<()> {
    balanced(&scenario(text, overrides), ())
}

fn response_s(run: &Simulated<()>) -> f64 {
    assert_eq!(run.totals.failed(), 0);
    run.totals.response_time.as_secs_f64() / run.totals.exchanges as f64
}

#[test]
fn a_transaction_goes_block_by_block() {
    let run = run(TRANSFER, &[("server.reply_header", "250B")]);
    assert_eq!(run.totals.exchanges, 5);
    // SYN: 220 ms of access, 71 octets in 3 blocks of the one slot upward: 280. SYN-ACK: 80 ms beside the upward flow, 3
    // blocks on 3 slots: 380. ACK and request: the upward flow was released at 340; 180 ms beside the downward one, 63 +
    // 263 octets in 11 blocks: 780. ACK and reply: the downward flow was kept; 63 octets and segments of 1448, 1448, 1448
    // and 906 with 63 each, 5565 in 186 blocks on 3 slots, 62 times 20 ms: 2020.
    assert!((response_s(&run) - 2.020).abs() < 1e-9, "{} s", response_s(&run));
}

#[test]
fn a_long_transfer_comes_near_the_rate_and_loss_takes_its_share() {
    let seconds = |error: &'static str| {
        response_s(&run(TRANSFER, &[("client.size", "100kB"), ("link.block_error", error)]))
    };
    let clean = seconds("0");
    // As above until 780 ms; 100 250 octets in 70 segments with 63 each and 63 before them, 104 723 in 3491 blocks: 1164
    // times 20 ms. The first window of ten segments lasts until the acknowledgements of its beginning are there.
    assert!((clean - (0.780 + 1164.0 * 0.020)).abs() < 1e-9, "{clean} s");
    let lossy = seconds("0.1");
    // A tenth of the blocks twice, and the wait for the last of them.
    assert!((clean / 0.91..clean / 0.85).contains(&lossy), "{lossy} s against {clean} s");
}

#[test]
fn arq_hides_from_tcp_what_the_air_loses() {
    let loss = [("client.size", "20kB"), ("link.block_error", "0.003"), ("client.timeout", "never")];
    let with = run(TRANSFER, &loss);
    let without =
        run(TRANSFER, &[&loss[..], &[("link.down.arq", "false"), ("link.up.arq", "false")]].concat());
    // Of packets of 51 blocks 14% are lost, and each costs a round trip or a timeout of a second and more.
    assert_eq!(with.totals.lost, 0);
    assert!(without.totals.lost >= 5, "{} packets lost", without.totals.lost);
    let [with, without] = [response_s(&with), response_s(&without)];
    assert!(without > 1.3 * with, "{with} s with ARQ, {without} s without");
}

#[test]
fn a_window_held_to_the_link_empties_its_queue_and_costs_no_time() {
    let file = [("client.size", "100kB"), ("client.timeout", "never"), ("link.down.delay", "150ms")];
    let free = run(TRANSFER, &file);
    let held = run(TRANSFER, &[&file[..], &[("tcp.window_clamp", "link")]].concat());
    let ratio = response_s(&held) / response_s(&free);
    assert!((0.97..1.03).contains(&ratio), "held takes {ratio} of the time");
    let one_less = run(TRANSFER, &[&file[..], &[("tcp.window_clamp", "1460B")]].concat());
    assert!(response_s(&one_less) > 1.2 * response_s(&free), "one segment a round trip is too little");
}

#[test]
fn a_fading_channel_carries_pages_and_outages_show() {
    let [calm, stalled] = ["never", "30s"].map(|apart| run(FADING, &[("link.stall_apart", apart)]));
    assert_eq!((calm.totals.lost, stalled.totals.lost), (0, 0), "RLC gives nothing up");
    assert!(calm.totals.pages_complete >= 15, "{} pages", calm.totals.pages_complete);
    let mean_s = |run: &Simulated<()>| run.totals.response_time.as_secs_f64() / run.totals.exchanges as f64;
    // A fifth of the time is outages of eight seconds in the mean; most objects meet none.
    assert!(
        mean_s(&stalled) > 1.1 * mean_s(&calm),
        "{} s and {} s an object",
        mean_s(&stalled),
        mean_s(&calm)
    );
}

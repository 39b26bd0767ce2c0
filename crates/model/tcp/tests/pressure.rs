//! Timelines of back-pressure: what waits for room in the own transmit queue, and what it becomes.

mod pair;

use airperf_tcp::{Config, State};
use airperf_units::Duration;
use pair::{Fate, Line, Pair, clean, data, established, ms};

const DELAY: Duration = Duration::from_ms(10);

fn config() -> Config {
    Config { back_pressure: true, ..Config::linux_2_4_18() }
}

#[test]
fn a_syn_waits_for_room_and_its_timer_runs_from_its_leaving() {
    let lost = |line: &Line| if line.at < ms(9_000) { Fate::Lost } else { Fate::Arrives };
    let mut pair = Pair::new(config(), DELAY, lost);
    pair.room[0] = false;
    pair.connect();
    pair.run_until(ms(4_000));
    assert_eq!(pair.words(), [""; 0], "nothing left, and nothing was to be repeated after 3 s");
    pair.client_gets_room();
    pair.run_until(ms(8_000));
    let syns = pair.sent(true, |_| true);
    assert_eq!(syns, [ms(4_000), ms(7_000)]);
}

#[test]
fn a_program_that_gives_up_before_its_syn_left_leaves_no_trace() {
    let mut pair = Pair::new(config(), DELAY, clean);
    pair.room[0] = false;
    pair.connect();
    pair.client_closes();
    pair.client_gets_room();
    assert_eq!((pair.words().len(), pair.client.state()), (0, State::Closed));
}

#[test]
fn an_acknowledgement_that_waits_rides_on_the_request() {
    let mut pair = Pair::new(config(), DELAY, clean);
    pair.connect();
    pair.room[0] = false;
    pair.run_until(ms(20)); // the SYN-ACK is there
    pair.client_writes(74);
    assert_eq!(pair.words(), ["C SYN", "S SYN+ACK"]);
    pair.client_gets_room();
    pair.run_until(ms(30));
    assert_eq!(pair.words()[2..], ["C ACK 74", "S ACK"], "one packet instead of two");
    assert_eq!(pair.server.state(), State::Established);
}

#[test]
fn acknowledgements_that_wait_become_one() {
    let mut pair = established(config(), DELAY, clean);
    pair.room[0] = false;
    pair.server_writes(2 * 1448);
    pair.run_for(DELAY);
    assert_eq!(pair.words(), ["S ACK 1448", "S ACK 1448"]);
    pair.client_gets_room();
    assert_eq!(pair.words()[2..], ["C ACK"]);
    assert_eq!(pair.log[2].segment.ack, 1 + 2 * 1448);
}

#[test]
fn data_and_fin_wait_and_no_timer_repeats_them() {
    let mut pair = established(config(), DELAY, clean);
    pair.room[1] = false;
    pair.server_writes(1_000);
    pair.server_closes();
    let before = pair.now;
    pair.run_for(Duration::from_secs(10));
    assert_eq!(pair.words(), [""; 0]);
    pair.server_gets_room();
    assert_eq!(pair.words(), ["S FIN+ACK 1000"], "data and FIN are one segment by now");
    assert_eq!(pair.server.congestion_window(), 2, "nothing was lost, so the window did not shrink");
    assert_eq!(pair.sent(false, data), [before + Duration::from_secs(10)]);
}

#[test]
fn a_repeat_waits_for_room_and_the_doubled_timer_runs_from_it() {
    let lost = |line: &Line| if data(&line.segment) { Fate::Lost } else { Fate::Arrives };
    let mut pair = established(config(), DELAY, lost);
    pair.server_writes(500);
    pair.room[1] = false;
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.sent(false, data).len(), 1, "the repeat waits");
    pair.server_gets_room();
    let repeated = pair.now;
    pair.run_for(Duration::from_ms(600));
    let sent = pair.sent(false, data);
    assert_eq!((sent.len(), sent[1]), (3, repeated));
    assert!(sent[2] > repeated + Duration::from_ms(400), "{sent:?}");
}

#[test]
fn a_timeout_that_waits_for_room_is_forgotten_when_the_acknowledgement_comes() {
    let mut pair = established(config(), DELAY, clean);
    pair.server_writes(500);
    pair.room = [false; 2]; // the acknowledgement waits in the client, the repeat in the server
    pair.run_for(Duration::from_secs(2));
    pair.client_gets_room();
    pair.run_for(DELAY);
    assert_eq!(pair.server.acknowledged_bytes(), 500);
    pair.server_gets_room();
    pair.run_for(Duration::from_secs(10));
    assert_eq!(pair.sent(false, data).len(), 1);
    assert_eq!(pair.server.congestion_window(), 2, "no timeout shrank the window");
}

#[test]
fn without_back_pressure_nobody_asks_for_room() {
    let mut pair = Pair::new(Config::linux_2_4_18(), DELAY, clean);
    pair.room = [false; 2];
    pair.connect();
    pair.run_for(DELAY * 4);
    assert_eq!(pair.words(), ["C SYN", "S SYN+ACK", "C ACK"]);
}

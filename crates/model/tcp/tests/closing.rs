//! Timelines of closing: written from RFC 9293 §3.6 and §3.10.4, and of aborting.

mod pair;

use airperf_tcp::{Config, Flags, Signals, State};
use airperf_units::Duration;
use pair::{Fate, Line, clean, established};

const DELAY: Duration = Duration::from_ms(1);

#[test]
fn one_transaction_takes_ten_packets() {
    let mut pair = pair::Pair::new(Config::linux_2_4_18(), DELAY, clean);
    pair.connect();
    pair.run_for(DELAY * 2);
    pair.client_writes(74);
    pair.run_for(DELAY);
    pair.server_writes(1283);
    pair.run_for(DELAY);
    pair.client_closes();
    pair.run_for(DELAY);
    assert!(pair.server_saw(Signals::PEER_CLOSED));
    pair.server_closes();
    pair.run_for(DELAY * 4);
    let expected = [
        "C SYN",
        "S SYN+ACK",
        "C ACK",
        "C ACK 74",
        "S ACK",
        "S ACK 1283",
        "C ACK",
        "C FIN+ACK",
        "S FIN+ACK",
        "C ACK",
    ];
    assert_eq!(pair.words(), expected);
    assert_eq!((pair.client.state(), pair.server.state()), (State::TimeWait, State::Closed));
}

#[test]
fn a_server_slow_to_close_acknowledges_the_fin_after_40_ms() {
    let mut pair = established(Config::linux_2_4_18(), DELAY, clean);
    pair.client_closes();
    pair.run_for(Duration::from_ms(100));
    assert_eq!(pair.words(), ["C FIN+ACK", "S ACK"]);
    assert_eq!((pair.client.state(), pair.server.state()), (State::FinWait2, State::CloseWait));
    let wait = pair.log[1].at - pair.log[0].at;
    assert!(wait > Duration::from_ms(30) && wait <= Duration::from_ms(41), "{wait}");
    pair.server_closes();
    pair.run_for(DELAY * 4);
    assert_eq!((pair.client.state(), pair.server.state()), (State::TimeWait, State::Closed));
}

#[test]
fn time_wait_acknowledges_a_repeated_fin_and_ends_60_s_after_it() {
    let mut first = true;
    let mut pair = established(Config::linux_2_4_18(), DELAY, move |line: &Line| {
        // The acknowledgement of the server's FIN is lost once.
        let last = line.from_client && line.segment.flags == Flags::ACK && line.segment.ack == 2;
        if last && std::mem::take(&mut first) { Fate::Lost } else { Fate::Arrives }
    });
    pair.client_closes();
    pair.run_for(DELAY);
    pair.server_closes();
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.words(), ["C FIN+ACK", "S FIN+ACK", "C ACK", "S FIN+ACK", "C ACK"]);
    assert_eq!((pair.client.state(), pair.server.state()), (State::TimeWait, State::Closed));
    let repeated = pair.log[4].at;
    pair.run_until(repeated + Duration::from_ms(59_980));
    assert_eq!(pair.client.state(), State::TimeWait);
    pair.run_for(Duration::from_ms(40));
    assert_eq!(pair.client.state(), State::Closed);
}

#[test]
fn both_closing_at_once_both_end() {
    let mut pair = established(Config::linux_2_4_18(), DELAY, clean);
    pair.client_closes();
    pair.server_closes();
    assert_eq!((pair.client.state(), pair.server.state()), (State::FinWait1, State::FinWait1));
    pair.run_for(DELAY);
    assert_eq!((pair.client.state(), pair.server.state()), (State::Closing, State::Closing));
    pair.run_for(DELAY * 3);
    assert_eq!((pair.client.state(), pair.server.state()), (State::TimeWait, State::TimeWait));
}

#[test]
fn a_lost_fin_is_repeated_and_an_orphan_gives_up_after_8_repeats() {
    let rule = |line: &Line| if line.segment.flags.has(Flags::FIN) { Fate::Lost } else { Fate::Arrives };
    let mut pair = established(Config::linux_2_4_18(), DELAY, rule);
    pair.client_closes();
    pair.run_for(Duration::from_secs(600));
    assert_eq!(pair.sent(true, |s| s.flags.has(Flags::FIN)).len(), 9);
    assert_eq!(pair.client.state(), State::Closed);
}

#[test]
fn data_for_a_program_that_closed_draws_a_reset() {
    let mut pair = established(Config::linux_2_4_18(), DELAY, clean);
    pair.client_writes(74);
    pair.run_for(DELAY * 2);
    pair.client_closes();
    pair.run_for(DELAY);
    pair.log.clear();
    pair.server_writes(1283);
    pair.run_for(DELAY * 2);
    assert_eq!(pair.words(), ["S ACK 1283", "C RST"]);
    assert!(pair.server_saw(Signals::RESET));
    assert_eq!((pair.client.state(), pair.server.state()), (State::Closed, State::Closed));
}

#[test]
fn an_abort_resets_the_peer() {
    let mut pair = established(Config::linux_2_4_18(), DELAY, clean);
    pair.client_aborts();
    pair.run_for(DELAY);
    assert_eq!(pair.words(), ["C RST+ACK"]);
    assert_eq!((pair.client.state(), pair.server.state()), (State::Closed, State::Closed));
    assert!(pair.server_saw(Signals::RESET));
}

#[test]
fn a_fin_that_overtakes_lost_data_waits_for_it() {
    let mut first = true;
    let mut pair = established(Config::linux_2_4_18(), DELAY, move |line: &Line| {
        let hit = !line.from_client && line.segment.len > 0 && std::mem::take(&mut first);
        if hit { Fate::Lost } else { Fate::Arrives }
    });
    pair.server_writes(1000);
    pair.server_closes();
    pair.run_for(DELAY);
    assert!(!pair.client.peer_has_closed());
    pair.run_for(Duration::from_ms(400));
    assert!(pair.client.peer_has_closed());
    assert_eq!(pair.client.received_bytes(), 1000);
}

/// After a timeout the window is one segment, and the request fills it.
#[test]
fn a_fin_of_todays_kernel_follows_the_acknowledgement_of_a_lost_request() {
    let fins = |config: Config| {
        let mut requests = 0;
        let mut pair = established(config, DELAY, move |line: &Line| {
            requests += usize::from(line.from_client && line.segment.len > 0);
            if line.from_client && line.segment.len > 0 && requests < 3 { Fate::Lost } else { Fate::Arrives }
        });
        pair.client_writes(74);
        pair.run_for(Duration::from_ms(300)); // the first timeout is over, the second is not
        pair.client_closes();
        pair.run_for(Duration::from_secs(3));
        pair.words().iter().filter(|word| word.starts_with("C")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(fins(Config::linux_6())[..4], ["C ACK 74", "C ACK 74", "C ACK 74", "C FIN+ACK"]);
    assert_eq!(fins(Config::linux_2_4_18())[2], "C FIN+ACK", "tcp_snd_test lets it pass");
}

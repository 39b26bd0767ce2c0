//! Connections and exchanges of a capture beside those of the run that wrote it.

use std::collections::BTreeMap;

use airperf_record::{ConnectionRow, ExchangeRow, capture};

use crate::truth::{Expected, Key, expected};
use crate::{Run, Testbed, emulate, overloaded_emulation, rows, simulate};

/// Connections of a capture by the same key as those of the run, with their exchanges.
fn seen(run: &Run) -> BTreeMap<Key, (capture::ConnectionRow, Vec<capture::ExchangeRow>)> {
    let mut exchanges: BTreeMap<u64, Vec<capture::ExchangeRow>> = BTreeMap::new();
    for exchange in rows::<capture::ExchangeRow>(&run.capture) {
        exchanges.entry(exchange.connection).or_default().push(exchange);
    }
    let mut connections: Vec<capture::ConnectionRow> = rows(&run.capture);
    connections.sort_by_key(|row| row.connection);
    let mut nth: BTreeMap<(u16, u16), usize> = BTreeMap::new();
    let keyed = connections.into_iter().map(|row| {
        // The last octet of a client's address is its station plus one.
        let host: u16 = row.client.to_string().rsplit('.').next().unwrap().parse().unwrap();
        let before = nth.entry((host - 1, row.client_port)).or_default();
        *before += 1;
        let own = exchanges.remove(&row.connection).unwrap_or_default();
        ((host - 1, row.client_port, *before - 1), (row, own))
    });
    keyed.collect()
}

/// Two clients well within the capacity of the air: nothing is refused, so everything can be seen.
const EASY: [(&str, &str); 3] = [("client.rate", "20/s"), ("duration", "5s"), ("drain", "3s")];
/// At twice the capacity: queues refuse, TCP repeats, users give up, and FINs and RSTs cross.
const OVERLOAD: [(&str, &str); 2] = [("duration", "10s"), ("drain", "40s")];

#[test]
fn a_capture_of_an_easy_simulation_gives_the_runs_connections_and_exchanges() {
    compare_easy(simulate, &EASY);
}

#[test]
fn a_capture_of_an_easy_emulation_gives_the_runs_connections_and_exchanges() {
    compare_easy(emulate, &EASY);
}

#[test]
fn a_capture_of_an_overloaded_simulation_gives_all_that_was_on_the_air() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::of(folder.path(), simulate, &OVERLOAD).unwrap();
    compare(&run, &seen(&run), 1_000);
}

#[test]
fn a_capture_of_an_overloaded_emulation_gives_all_that_was_on_the_air() {
    let Some(run) = overloaded_emulation() else { return };
    compare(run, &seen(run), 500);
}

/// Nothing but clocks differs.
fn compare_easy(testbed: Testbed, settings: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    let Some(run) = Run::of(folder.path(), testbed, settings) else { return };
    let seen = seen(&run);
    let own: Vec<ConnectionRow> = rows(&run.directory);
    assert_eq!((own.len(), seen.len()), (200, 200));
    for row in own {
        let (other, others) = &seen[&(row.client, row.client_port, 0)];
        assert_eq!(
            (other.class, other.segments_up, other.segments_down),
            (row.class, row.segments_up, row.segments_down)
        );
        assert_eq!(
            (other.retransmissions_up, other.retransmissions_down),
            (row.retransmissions_up, row.retransmissions_down)
        );
        assert_eq!((others.len(), others[0].error), (1, None));
    }
    compare(&run, &seen, 200);
}

/// Every connection of the capture is as the frames and packets of the run say, whatever became of it; and every one
/// that its user did not give up has the exchange that the run has.
fn compare(
    run: &Run,
    seen: &BTreeMap<Key, (capture::ConnectionRow, Vec<capture::ExchangeRow>)>,
    least: usize,
) {
    let (expected, epoch) = expected(run);
    assert!(expected.len() >= least, "{} connections", expected.len());
    assert!(expected.keys().eq(seen.keys()), "all that left a queue, and no others");
    let mut exchanges: BTreeMap<u64, Vec<ExchangeRow>> = BTreeMap::new();
    for exchange in rows::<ExchangeRow>(&run.directory) {
        exchanges.entry(exchange.connection).or_default().push(exchange);
    }
    let (mut completed, mut crossed) = (0, 0);
    for (key, of) in &expected {
        let (other, others) = &seen[key];
        compare_connection(of, other, epoch);
        crossed += usize::from(of.class() != of.row.class);
        let asked = usize::from(!of.octets[0].is_empty());
        assert_eq!((others.len(), other.exchanges as usize), (asked, asked), "{other:?}");
        if of.row.error.is_none() && of.row.exchanges > 0 {
            completed += 1;
            let (own, others) = (&exchanges[&of.row.connection], &others[0]);
            assert_eq!((other.bytes_up, other.bytes_down), (of.row.bytes_up, of.row.bytes_down), "{other:?}");
            assert_eq!(
                (others.error, others.request_bytes, others.response_bytes),
                (own[0].error, own[0].request_bytes, own[0].response_bytes),
                "{other:?}"
            );
            // Both take an octet as received when its frame ends.
            let times = (own[0].first_byte_ns.map(|at| at + epoch), own[0].done_ns.map(|at| at + epoch));
            assert_eq!((others.first_byte_ns, others.done_ns), times, "{other:?}");
        }
    }
    println!(
        "{completed} of {} completed; {crossed} ended otherwise on the air than by the order of offering",
        expected.len()
    );
    assert!(completed * 5 > least, "{completed} connections were completed");
}

fn compare_connection(of: &Expected, other: &capture::ConnectionRow, epoch: u64) {
    let sorts = |novelty: &str| of.packets.iter().filter(|sighted| sighted.novelty == novelty).count() as u32;
    let lengths = of.octets.each_ref().map(|octets| octets.len() as u64);
    let told = format!("{:?}\n{other:?}", of.row);
    assert_eq!((other.class, other.closed_by), (of.class(), of.closed_by()), "{told}");
    assert_eq!([other.bytes_up, other.bytes_down], lengths, "{told}");
    assert_eq!((other.opened_ns - epoch, other.last_ns - epoch), of.span_ns, "{told}");
    let up_and_down = [
        ([other.segments_up, other.segments_down], of.sum(|_| 1)),
        (
            [other.data_segments_up, other.data_segments_down],
            of.sum(|sighted| u32::from(sighted.packet.payload_bytes > 0)),
        ),
        (
            [other.sent_bytes_up as u32, other.sent_bytes_down as u32],
            of.sum(|sighted| sighted.packet.payload_bytes),
        ),
        ([other.ip_bytes_up as u32, other.ip_bytes_down as u32], of.sum(|sighted| sighted.packet.ip_bytes)),
        (
            [other.retransmissions_up, other.retransmissions_down],
            of.sum(|sighted| u32::from(sighted.is_again())),
        ),
        (
            [other.mac_retries_up.unwrap(), other.mac_retries_down.unwrap()],
            of.sum(|sighted| sighted.mac_retransmissions),
        ),
    ];
    for (place, (theirs, ours)) in up_and_down.into_iter().enumerate() {
        assert_eq!(theirs, ours, "{place}: {told}");
    }
    assert_eq!(
        (other.full, other.part, other.late, other.dup_syn, other.dup_fin),
        (sorts("full"), sorts("part"), sorts("late"), sorts("dup_syn"), sorts("dup_fin")),
        "{told}"
    );
    let resets = of.packets.iter().filter(|sighted| sighted.kind == "rst").count() as u32;
    assert_eq!((other.resets, other.duplicates, other.evicted), (resets, 0, false), "{told}");
}

//! The window and its two ends, block by block.

use super::*;

const T: fn(u64) -> Time = |ms| Time::from_ns(ms * 1_000_000);

/// Sends a block that is all of packet `place`.
fn send(rlc: &mut Rlc, ms: u64, place: u32) -> u32 {
    let bsn = rlc.push(T(ms), 0);
    rlc.add(bsn, place, 30, true, true);
    bsn
}

fn decide(rlc: &mut Rlc) -> Vec<News> {
    let mut news = Vec::new();
    rlc.decide(&mut news);
    news
}

/// The receiver reports, and the sender hears it at once.
fn hear(rlc: &mut Rlc, ms: u64, scheme: u8, news: &mut Vec<News>) -> (u32, u32) {
    let report = rlc.report(T(ms));
    rlc.hear(report, scheme, news)
}

#[test]
fn packets_are_complete_in_order_and_done_when_acknowledged() {
    let mut rlc = Rlc::new(true, None);
    for place in 0..3 {
        let bsn = send(&mut rlc, 0, place);
        rlc.block_ends(bsn, place != 0);
    }
    assert_eq!(decide(&mut rlc), [], "the first is missing, the others wait for it");
    let mut news = Vec::new();
    assert_eq!(hear(&mut rlc, 20, 0, &mut news), (3, 1));
    assert_eq!(news, []);
    assert_eq!(rlc.again(T(80), false), Some(0));
    rlc.block_ends(0, true);
    assert_eq!(decide(&mut rlc), [News::Complete(0), News::Complete(1), News::Complete(2)]);
    assert_eq!(hear(&mut rlc, 100, 0, &mut news), (1, 0));
    assert_eq!(news, [News::Done(0), News::Done(1), News::Done(2)]);
    assert!(rlc.is_empty());
}

#[test]
fn a_report_says_nothing_of_blocks_behind_the_last_it_has() {
    let mut rlc = Rlc::new(true, None);
    for place in 0..4 {
        let bsn = send(&mut rlc, 0, place);
        rlc.block_ends(bsn, place == 1);
    }
    assert_eq!(hear(&mut rlc, 20, 0, &mut Vec::new()), (2, 1), "blocks 2 and 3 may still be on their way");
    assert_eq!(rlc.again(T(40), false), Some(0));
    assert_eq!(rlc.again(T(40), false), None);
    assert_eq!(rlc.again(T(40), true), Some(2), "pending ones are sent again when there is nothing else");
}

#[test]
fn a_block_sent_again_since_the_report_is_on_its_way() {
    let mut rlc = Rlc::new(true, None);
    for place in 0..2 {
        let bsn = send(&mut rlc, 0, place);
        rlc.block_ends(bsn, place == 1);
    }
    let report = rlc.report(T(20));
    assert_eq!(rlc.again(T(40), true), Some(0));
    assert_eq!(rlc.hear(report, 0, &mut Vec::new()), (1, 0));
}

#[test]
fn the_window_is_full_at_64_blocks() {
    let mut rlc = Rlc::new(true, None);
    for place in 0..64 {
        assert!(!rlc.is_full());
        send(&mut rlc, 0, place);
    }
    assert!(rlc.is_full());
    for bsn in 0..64 {
        rlc.block_ends(bsn, true);
    }
    hear(&mut rlc, 20, 0, &mut Vec::new());
    assert!(rlc.is_empty());
}

#[test]
fn without_arq_a_lost_block_breaks_its_packets_only() {
    let mut rlc = Rlc::new(false, None);
    // Packet 0 in blocks 0 and 1, packet 1 in blocks 1 and 2, packet 2 in block 3.
    let bsn = rlc.push(T(0), 0);
    rlc.add(bsn, 0, 30, true, false);
    let bsn = rlc.push(T(0), 0);
    rlc.add(bsn, 0, 10, false, true);
    rlc.add(bsn, 1, 20, true, false);
    let bsn = rlc.push(T(0), 0);
    rlc.add(bsn, 1, 30, false, true);
    send(&mut rlc, 0, 2);
    for (bsn, received) in [(0, true), (1, true), (2, false), (3, true)] {
        rlc.block_ends(bsn, received);
    }
    let told =
        [News::Complete(0), News::Broken(1), News::Complete(2), News::Done(0), News::Done(1), News::Done(2)];
    assert_eq!(decide(&mut rlc), told);
    assert!(rlc.is_empty());
}

#[test]
fn repair_blocks_bring_back_as_many_as_arrive() {
    for (repaired, complete) in [(2, true), (1, false)] {
        let mut rlc = Rlc::new(false, Some(Fec::fixed(4, 2)));
        for place in 0..4 {
            let bsn = send(&mut rlc, 0, place);
            rlc.block_ends(bsn, place < 2);
        }
        assert_eq!(decide(&mut rlc).len(), 4, "two complete, two done, the others may be repaired");
        for repair in 0..2 {
            assert_eq!(rlc.repair(), Some(0));
            rlc.repair_ends(0, repair < repaired);
        }
        assert_eq!(rlc.repair(), None);
        let last = if complete { News::Complete(3) } else { News::Broken(3) };
        assert!(decide(&mut rlc).contains(&last), "{repaired} of 2 repair blocks");
        assert!(rlc.is_empty());
    }
}

#[test]
fn a_report_tells_the_share_lost_before_repair_and_the_sender_remembers_it() {
    let mut rlc = Rlc::new(false, Some(Fec { target: Some(0.01), ..Fec::fixed(8, 0) }));
    assert_eq!(rlc.error(), None);
    let mut report = |lost: u32| {
        for number in 0..20 {
            let bsn = send(&mut rlc, 0, number);
            rlc.block_ends(bsn, number >= lost);
            rlc.close_group();
            while let Some(group) = rlc.repair() {
                rlc.repair_ends(group, true);
            }
            decide(&mut rlc);
        }
        hear(&mut rlc, 100, 0, &mut Vec::new());
        rlc.error().expect("a report was heard")
    };
    assert_eq!(report(0), 0.0);
    // Repair blocks follow from the share: groups of one block need none while nothing is lost.
    let first = report(10);
    assert!((first - 0.5 * 20.0 / 120.0).abs() < 1e-12, "{first}");
    let second = report(0);
    assert!(second < first && second > 0.0, "with the repair blocks more than 20 have ended: {second}");
}

//! Traces are read as they are written, and nothing else is read as a trace.

use super::*;

fn error(text: &str) -> TraceError {
    Trace::parse(text).expect_err(text)
}

#[test]
fn fault_41_what_is_no_trace_is_refused_by_line() {
    for (text, line, message) in [
        ("", 0, "no line"),
        ("\n", 1, "is empty"),
        ("1\n\n2\n", 2, "is empty"),
        ("0\n0\n", 0, "must last for some time"),
        ("1\n5\n4\n", 3, "4 ms comes after 5 ms"),
        ("1\n2.5\n", 2, "`2.5` is no time"),
        ("-1\n", 1, "`-1` is no time"),
        ("+1\n", 1, "`+1` is no time"),
        ("1\n99999999999999999999\n", 2, "no time in whole milliseconds"),
        ("1\n2000000000000\n", 2, "more than any trace lasts"),
        ("\u{1b}[2Jgarbage\n", 1, "`\\u{1b}[2Jgarbage` is no time"),
        ("time_s,rate_bps\n", 0, "no line below it"),
        ("time_s,rate_bps\n1,5\n", 2, "the first time must be 0"),
        ("time_s,rate_bps\n0,5\n0,6\n", 3, "0 s does not come after 0 s"),
        ("time_s,rate_bps\n0,5\n2,6\n1,6\n", 4, "1 s does not come after 2 s"),
        ("time_s,rate_bps\n0,0\n2,0\n", 0, "every rate is 0"),
        ("time_s,rate_bps\n0,-5\n", 2, "out of range"),
        ("time_s,rate_bps\n0,1e300\n", 2, "out of range"),
        ("time_s,rate_bps\n0,nan\n", 2, "is no line"),
        ("time_s,rate_bps\n0;5\n", 2, "is no line"),
    ] {
        let found = error(text);
        assert_eq!(found.line, line, "{text:?}: {found}");
        assert!(found.message.contains(message), "{text:?}: {found}");
    }
    let long = error(&"x".repeat(100_000));
    assert!(long.message.len() < 200, "a long line is cut: {}", long.message.len());
}

#[test]
fn both_forms_are_read_whatever_ends_their_lines() {
    for text in ["1\n1\n3\n", "1\r\n1\r\n3", "\u{feff}1\n1\n3\n"] {
        let Ok(Trace::Opportunities(of)) = Trace::parse(text) else { panic!("{text:?}") };
        assert_eq!((of.at_ms(), of.period_ms()), (&[1, 1, 3][..], 3));
    }
    let Ok(Trace::Rates(of)) = Trace::parse("time_s,rate_bps\r\n0, 1e6\r\n0.5,0\r\n") else {
        panic!("rates")
    };
    assert_eq!(of.steps(), [(0, airperf_units::Rate::mbps(1)), (500_000_000, airperf_units::Rate::bps(0))]);
    assert_eq!(of.period_ns(), 1_000_000_000);
}

#[test]
fn facts_of_a_schedule_are_counted_by_hand() {
    // 4 opportunities in the first second, 1 in the second, none in the third until its end.
    let facts = Trace::parse("100\n200\n300\n1000\n1500\n3000\n").expect("a trace").facts();
    assert_eq!((facts.form, facts.entries, facts.duration_s), ("opportunities", 6, 3.0));
    assert_eq!(facts.mean_bps, 6.0 * 12_000.0 / 3.0);
    assert_eq!(facts.percentiles_bps, [12e3, 12e3, 12e3, 48e3, 48e3]);
    assert_eq!(facts.longest_gap_s, 1.5);
}

#[test]
fn a_gap_over_the_end_of_a_trace_is_seen_whole() {
    let around = Trace::parse("time_s,rate_bps\n0,0\n2,8000\n3,0\n4,0\n").expect("a trace").facts();
    assert_eq!((around.duration_s, around.longest_gap_s, around.mean_bps), (5.0, 4.0, 1600.0));
    assert_eq!(around.percentiles_bps, [0.0, 0.0, 0.0, 0.0, 8000.0]);
    let late = Trace::parse("700\n1000\n").expect("a trace").facts();
    assert_eq!(late.longest_gap_s, 0.7, "from the end to the first of the next round");
}

#[test]
fn a_cursor_goes_round_and_finds_the_first_after_any_time() {
    let Ok(Trace::Opportunities(of)) = Trace::parse("0\n2\n2\n5\n") else { panic!("a trace") };
    let mut cursor = Cursor::default();
    let times: Vec<u64> = (0..9)
        .map(|_| {
            let at = of.time_ms(cursor);
            cursor = of.after(cursor);
            at
        })
        .collect();
    assert_eq!(times, [0, 2, 2, 5, 5, 7, 7, 10, 10]);
    let first = |now| of.time_ms(of.first_after(now));
    assert_eq!([0, 1, 2, 4, 5, 6, 9, 10].map(first), [2, 2, 5, 5, 7, 7, 10, 12]);
}

#[test]
fn a_series_of_rates_and_its_schedule_carry_the_same() {
    let text = "time_s,rate_bps\n0,1e6\n3,12345678\n7.5,0\n8.25,40e3\n12,25e6\n14,333333\n";
    let Ok(Trace::Rates(rates)) = Trace::parse(text) else { panic!("a series") };
    let schedule = Opportunities::of_rates(&rates, u64::MAX).expect("a schedule");
    assert_eq!(schedule.period_ms(), 16_000);
    let Ok(Trace::Opportunities(again)) = Trace::parse(&schedule.to_text()) else { panic!("a schedule") };
    assert_eq!(*again, schedule, "written and read");
    let mut bits = 0.0;
    for second in 0..16 {
        for ms in second * 1000..(second + 1) * 1000 {
            bits += rates.at(airperf_units::Time::from_ns(ms * 1_000_000)).0.as_bps() as f64 / 1e3;
        }
        let carried = schedule.at_ms().iter().filter(|&&at| at <= (second + 1) * 1000).count() as f64 * 12e3;
        assert!((carried - bits).abs() <= 12e3, "{carried} of {bits} bits after second {second}");
    }
    let half = Opportunities::of_rates(&rates, 8_000).expect("half a schedule");
    assert_eq!(half.period_ms(), 8_000, "the end stays the end, in a pause too");
    for (text, until_ms) in
        [("time_s,rate_bps\n0,5\n1,5\n", u64::MAX), ("time_s,rate_bps\n0,1e6\n", u64::MAX)]
    {
        let Ok(Trace::Rates(rates)) = Trace::parse(text) else { panic!("a series") };
        assert!(Opportunities::of_rates(&rates, until_ms).is_err(), "{text}");
    }
}

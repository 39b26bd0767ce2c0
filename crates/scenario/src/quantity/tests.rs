//! Quantities: exactness, the messages for wrong units, and that what is written is read back.

use super::*;
use proptest::prelude::*;

fn message(text: &str, dimension: Dimension) -> (String, String) {
    let error = parse(text, dimension).expect_err(text);
    (error.message, error.hint)
}

#[test]
fn decimals_are_exact() {
    assert_eq!(parse("5.5Mbit/s", Dimension::LinkRate), Ok(5_500_000));
    assert_eq!(parse("0.1us", Dimension::Time), Ok(100));
    assert_eq!(parse("2.63ms", Dimension::Time), Ok(2_630_000));
    assert_eq!(parse("1.5min", Dimension::Time), Ok(90_000_000_000));
    assert_eq!(parse("1e3 ns", Dimension::Time), Ok(1_000));
    assert_eq!(parse("1_000kB", Dimension::Size), Ok(1_000_000));
    assert_eq!(parse("1.5KiB", Dimension::Size), Ok(1_536));
    assert_eq!(parse("0.1/s", Dimension::Frequency), Ok(100_000));
    assert_eq!(parse("-3.5dBm", Dimension::Power), Ok(-3_500));
    assert_eq!(parse("10µs", Dimension::Time), parse("10μs", Dimension::Time));
}

#[test]
fn what_means_two_things_is_refused_with_both_readings() {
    let (_, hint) = message("11 mbps", Dimension::LinkRate);
    assert_eq!(hint, "write \"11Mbit/s\", or \"88Mbit/s\" if bytes were meant");
    let (_, hint) = message("1KB", Dimension::Size);
    assert_eq!(hint, "write \"1KiB\" (1024 B) or \"1kB\" (1000 B)");
    for text in ["1M", "1mb", "1Kb", "1 kbytes", "1g"] {
        assert!(message(text, Dimension::Size).0.contains("powers of 1000 or of 1024"), "{text}");
    }
    for text in ["54Mb/s", "54 Mbps", "1kbps", "1bps"] {
        assert!(message(text, Dimension::LinkRate).0.contains("bits or bytes"), "{text}");
    }
}

#[test]
fn units_are_neither_guessed_nor_forgotten() {
    assert_eq!(
        message("10", Dimension::Time),
        ("a time needs a unit".into(), "write \"10ms\" or \"10s\", say".into())
    );
    assert!(message("10s", Dimension::Size).0.contains("unit of a time"));
    assert!(message("10MS", Dimension::Time).0.contains("letter case"));
    assert_eq!(message("5 sec", Dimension::Time).1, "write \"5s\"");
    assert_eq!(message("10 Hz", Dimension::Frequency).1, "write \"10/s\"");
    assert!(message("10 furlongs", Dimension::Time).1.starts_with("units of a time: ns, us, ms"));
    assert!(message("3 apples", Dimension::Count).0.contains("has no unit"));
}

#[test]
fn absurd_numbers_are_refused() {
    for text in [
        "",
        "s",
        "-",
        "+s",
        ".s",
        "..5s",
        "1.2.3s",
        "nan",
        "NaNs",
        "inf",
        "-inf s",
        "1e309s",
        "1e99999999999s",
    ] {
        assert!(parse(text, Dimension::Time).is_err(), "{text}");
    }
    assert!(message("-5s", Dimension::Time).0.contains("negative"));
    assert!(message("0.1ns", Dimension::Time).0.contains("finer"));
    assert!(message("1e-400s", Dimension::Time).0.contains("finer"));
    assert_eq!(parse("0e400s", Dimension::Time), Ok(0));
}

const ALL: [Dimension; 7] = [
    Dimension::Time,
    Dimension::LinkRate,
    Dimension::Size,
    Dimension::Frequency,
    Dimension::Power,
    Dimension::Ratio,
    Dimension::Count,
];

proptest! {
    #[test]
    fn what_is_written_is_read_back(grains in 0_i128..1 << 63, which in 0..ALL.len()) {
        let dimension = ALL[which];
        prop_assert_eq!(parse(&Text(grains, dimension).to_string(), dimension), Ok(grains));
    }

    #[test]
    fn negative_powers_are_read_back(grains in -100_000_i128..0) {
        for dimension in [Dimension::Power, Dimension::Ratio] {
            prop_assert_eq!(parse(&Text(grains, dimension).to_string(), dimension), Ok(grains));
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,20}", which in 0..ALL.len()) {
        let _ = parse(&text, ALL[which]);
    }

    #[test]
    fn no_quantity_like_text_panics(text in "[-+]?[0-9._eE]{0,12} ?[a-zA-Zµ/^0-9]{0,7}", which in 0..ALL.len()) {
        let _ = parse(&text, ALL[which]);
    }
}

//! Sweeps: what expands, and what is refused before anything starts.

use airperf_scenario::sweep::{MAX_POINTS, expand};
use proptest::prelude::*;

fn refused(text: &str) -> String {
    expand(text).expect_err(text).message
}

#[test]
fn ranges_count_in_grains() {
    assert_eq!(expand("10..160 step 10 /s").unwrap().len(), 16);
    assert_eq!(expand("10/s..30/s step 10/s").unwrap(), ["10/s", "20/s", "30/s"]);
    assert_eq!(expand("1KiB..64KiB times 2").unwrap().len(), 7);
    assert_eq!(expand("0..0.3 step 0.1").unwrap(), ["0", "0.1", "0.2", "0.3"]);
    assert_eq!(expand("1..60 step 5").unwrap().last().unwrap(), "56");
    assert_eq!(expand("100us..0.2ms step 50us").unwrap(), ["100us", "150us", "200us"]);
    assert_eq!(expand("500ms..2s step 500ms").unwrap(), ["500ms", "1000ms", "1500ms", "2000ms"]);
    assert_eq!(expand("1..1024 times 1024 KiB").unwrap(), ["1KiB", "1024KiB"]);
    assert_eq!(expand("1KiB..1.125KiB step 64B").unwrap(), ["1KiB", "1.0625KiB", "1.125KiB"]);
    assert_eq!(expand("1min..61s step 1s").unwrap(), ["60000ms", "61000ms"]);
    assert_eq!(expand("1/s..2/s step 0.5/s").unwrap(), ["1/s", "1.5/s", "2/s"]);
    assert_eq!(expand("[\"long\", \"short\"]").unwrap(), ["long", "short"]);
    assert_eq!(expand("[1, 2.5, true]").unwrap(), ["1", "2.5", "true"]);
    assert_eq!(expand("40/s").unwrap(), ["40/s"]);
}

#[test]
fn fault_38_empty_and_endless_sweeps() {
    for text in ["", "  ", "[]", "[ ]"] {
        assert!(refused(text).contains("no values"), "{text:?}");
    }
    assert!(refused("160..10 step 10").contains("backwards"));
    assert!(refused("1..10").contains("no step"));
    assert!(refused("1..10 step 0").contains("positive"));
    assert!(refused("1..10 step -1 /s").contains("negative"));
    assert!(refused("0..10 times 2").contains("above zero"));
    assert!(refused("0..1000000000 step 1").contains("1000000001 values"));
    assert!(refused("1..1e25 step 1e-9").len() > 5);
    assert!(refused("10/s..1KiB step 1/s").contains("unit"));
    assert!(refused("[1, 1]").contains("twice"));
    assert!(refused("[[1], 2]").contains("a list"));
    assert!(refused("[1, ").len() > 5);
    assert!(refused("a..b step c").len() > 5);
}

proptest! {
    #[test]
    fn every_expansion_is_short_and_within(low in 0_u32..1000, steps in 0_u32..100, step in 1_u32..50) {
        let high = low + steps * step;
        let values = expand(&format!("{low}..{high} step {step} ms")).unwrap();
        prop_assert_eq!(values.len(), steps as usize + 1);
    }

    #[test]
    fn no_text_panics(text in "[-0-9a-zA-Z.\\[\\], /\"]{0,30}") {
        if let Ok(values) = expand(&text) {
            prop_assert!(!values.is_empty() && values.len() <= MAX_POINTS);
        }
    }
}

//! How much redundancy an erasure code needs.
//!
//! Of a group of data and repair any as many as there are data restore it (a maximum distance separable code, as
//! Reed–Solomon's). Left out: losses in bursts, codes that need a little more.

/// The fewest repair parts behind `data` parts with which at most the share `target` of groups has more losses than
/// repair parts, if parts are lost independently with probability `error`; `most` at the most.
pub fn repairs_needed(data: u8, error: f64, target: f64, most: u8) -> u8 {
    let damaged = |repair: u8| {
        let parts = u32::from(data) + u32::from(repair);
        // The binomial distribution's terms, each from the one before it.
        let mut term = libm::pow(1.0 - error, f64::from(parts));
        let mut fine = term;
        for lost in 1..=u32::from(repair) {
            term *= f64::from(parts - lost + 1) / f64::from(lost) * error / (1.0 - error);
            fine += term;
        }
        1.0 - fine
    };
    (0..most).find(|&repair| damaged(repair) <= target).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::repairs_needed;

    #[test]
    fn the_repair_needed_is_that_of_the_binomial_distribution() {
        for (data, error, target) in
            [(8, 0.1, 0.01), (8, 0.3, 0.01), (4, 0.05, 0.1), (4, 0.2, 0.001), (1, 0.5, 0.1)]
        {
            // By counting: every pattern of losses, with its probability.
            let damaged = |repair: u8| -> f64 {
                let parts = u32::from(data + repair);
                let lost = (0u32..1 << parts).map(u32::count_ones).filter(|lost| *lost > u32::from(repair));
                lost.map(|n| f64::powi(error, n as i32) * f64::powi(1.0 - error, (parts - n) as i32)).sum()
            };
            let wanted = (0..16).find(|&repair| damaged(repair) <= target);
            assert_eq!(Some(repairs_needed(data, error, target, 16)), wanted, "{data} parts at {error}");
        }
        assert_eq!(repairs_needed(32, 0.0, 0.01, 16), 0);
        assert_eq!(repairs_needed(32, 0.9, 0.01, 16), 16);
        assert_eq!(repairs_needed(32, 1.0, 0.01, 16), 16);
    }
}

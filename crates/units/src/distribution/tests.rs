//! Moments and bounds of every distribution against their closed forms.

use super::*;
use crate::StreamKey;

const DRAWS: usize = 200_000;

fn draws(of: &Distribution) -> Vec<f64> {
    let mut stream = StreamKey::new(1).stream("test");
    (0..DRAWS).map(|_| of.sample(&mut stream) as f64).collect()
}

fn all() -> Vec<Distribution> {
    vec![
        Distribution::Fixed(1_024),
        Distribution::Uniform { low: 0, high: 9 },
        Distribution::Uniform { low: 1_024, high: 65_536 },
        Distribution::Exponential { mean: 8_192 },
        Distribution::LogNormal { mean: 8_192, cv: 0.5 },
        Distribution::LogNormal { mean: 8_192, cv: 2.0 },
        Distribution::Pareto { low: 1_000, high: 100_000, shape: 1.0 },
        Distribution::Pareto { low: 1_000, high: 100_000, shape: 1.5 },
        Distribution::Pareto { low: 1_000, high: 1_000_000, shape: 2.43 },
        Distribution::Surge { high: 1_000_000 },
        Distribution::Choice([(100, 1.0), (2_000, 3.0), (64_000, 0.5)].into()),
    ]
}

/// Within four standard errors, measured on the draws.
#[test]
fn the_mean_of_the_draws_is_the_mean_of_the_distribution() {
    for of in all() {
        let values = draws(&of);
        let mean = values.iter().sum::<f64>() / DRAWS as f64;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / DRAWS as f64;
        let error = 4.0 * libm::sqrt(variance / DRAWS as f64) + 1e-9;
        assert!((mean - of.mean()).abs() < error, "{of:?}: {mean}, expected {} ± {error}", of.mean());
    }
}

#[test]
fn draws_stay_within_their_bounds_and_reach_both_ends() {
    for of in [
        Distribution::Uniform { low: 3, high: 7 },
        Distribution::Pareto { low: 3, high: 7, shape: 1.1 },
        Distribution::Choice([(3, 1.0), (7, 1.0)].into()),
    ] {
        let values = draws(&of);
        let low = values.iter().copied().fold(f64::MAX, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        assert_eq!((low, high), (3.0, 7.0), "{of:?}");
    }
}

/// Of the lognormal: ln x has the mean ln m − σ²/2 and the variance σ² = ln(1 + cv²).
#[test]
fn logarithms_of_a_lognormal_are_normal() {
    let values = draws(&Distribution::LogNormal { mean: 1_000_000_000, cv: 2.0 });
    let logs: Vec<f64> = values.iter().map(|v| libm::log(*v)).collect();
    let mean = logs.iter().sum::<f64>() / DRAWS as f64;
    let variance = logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / DRAWS as f64;
    assert!((variance - libm::log(5.0)).abs() < 0.02, "{variance}");
    assert!((mean - (libm::log(1e9) - libm::log(5.0) / 2.0)).abs() < 0.012, "{mean}");
}

/// P(X > x) of a Pareto between bounds, at three points.
#[test]
fn the_tail_of_a_pareto_falls_as_its_exponent_says() {
    let (low, high, shape) = (1_000.0f64, 100_000.0, 1.2);
    let values = draws(&Distribution::Pareto { low: low as u64, high: high as u64, shape });
    let power = |x: f64| libm::pow(low / x, shape);
    for x in [2_000.0, 10_000.0, 50_000.0] {
        let seen = values.iter().filter(|v| **v > x).count() as f64 / DRAWS as f64;
        let expected = (power(x) - power(high)) / (1.0 - power(high));
        let error = 4.0 * libm::sqrt(expected / DRAWS as f64);
        assert!((seen - expected).abs() < error, "P(X > {x}) = {seen}, expected {expected}");
    }
}

/// 93% below 133 kB, the body's median that of the truncated lognormal, the tail's exponent 1.1.
#[test]
fn surge_has_its_body_and_its_tail() {
    let values = draws(&Distribution::Surge { high: 1 << 40 });
    let share = |low: f64, high: f64| {
        values.iter().filter(|v| (low..high).contains(*v)).count() as f64 / DRAWS as f64
    };
    let body = share(0.0, SURGE_CUT);
    assert!((body - 0.93).abs() < 0.003, "{body}");
    // Below e^9.357 = 11,579 octets lies half of the whole lognormal, which has 96.8% below the cut.
    let below = share(0.0, libm::exp(SURGE_MU));
    assert!((below - 0.93 * 0.5 / 0.968).abs() < 0.004, "{below}");
    let decade = share(1_330_000.0, f64::MAX) / (1.0 - body);
    assert!((decade - libm::pow(10.0, -1.1)).abs() < 0.01, "{decade}");
}

#[test]
fn what_cannot_be_is_refused() {
    assert!(all().iter().all(Distribution::is_sound));
    for bad in [
        Distribution::Uniform { low: 2, high: 1 },
        Distribution::Exponential { mean: 0 },
        Distribution::LogNormal { mean: 1, cv: f64::NAN },
        Distribution::Pareto { low: 0, high: 5, shape: 1.0 },
        Distribution::Pareto { low: 5, high: 5, shape: 1.0 },
        Distribution::Pareto { low: 1, high: 5, shape: 0.0 },
        Distribution::Surge { high: 133_000 },
        Distribution::Choice([].into()),
        Distribution::Choice([(1, 0.0)].into()),
    ] {
        assert!(!bad.is_sound(), "{bad:?}");
    }
}

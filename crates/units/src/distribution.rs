//! Random whole numbers: sizes in octets, times in nanoseconds, numbers of objects.
//!
//! One type for all of them; whoever holds a distribution says in which unit. Draws are rounded to the nearest whole
//! number. References: Barford & Crovella, "Generating representative Web workloads for network and server
//! performance evaluation", SIGMETRICS 1998 (SURGE: the sizes of files); bounded Pareto: Harchol-Balter, Crovella &
//! Murta, "On choosing a task assignment policy for a distributed server system", JPDC 59, 1999.
//!
//! Left out: Pareto without an upper bound, whose mean a run of any length estimates badly, and popularity (Zipf),
//! which matters only to caches that are modelled object by object.

use crate::Stream;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Mean of the logarithm of the sizes of SURGE's body, natural, in octets (Barford & Crovella 1998).
const SURGE_MU: f64 = 9.357;
/// Standard deviation of that logarithm (Barford & Crovella 1998).
const SURGE_SIGMA: f64 = 1.318;
/// Where the tail of the sizes begins, octets (Barford & Crovella 1998).
const SURGE_CUT: f64 = 133_000.0;
/// Share of files below [`SURGE_CUT`] (Barford & Crovella 1998).
const SURGE_BODY: f64 = 0.93;
/// Exponent of the Pareto tail (Barford & Crovella 1998).
const SURGE_ALPHA: f64 = 1.1;

/// A distribution of whole numbers, in the unit of whoever holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Distribution {
    /// Always this.
    Fixed(u64),
    /// Every value from `low` to `high` alike, both included.
    Uniform {
        /// The least.
        low: u64,
        /// The greatest.
        high: u64,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean: u64,
    },
    /// Lognormal.
    LogNormal {
        /// Mean.
        mean: u64,
        /// Standard deviation over mean.
        cv: f64,
    },
    /// Pareto between bounds: density proportional to x^(−shape − 1).
    Pareto {
        /// The least, above 0.
        low: u64,
        /// The greatest.
        high: u64,
        /// Exponent of the tail, above 0: below 2 the tail is heavy.
        shape: f64,
    },
    /// SURGE's sizes of files, octets: a lognormal body up to 133 kB, and above that a Pareto tail for 7%.
    Surge {
        /// The greatest, above 133 kB: the paper's tail has no end.
        high: u64,
    },
    /// One of these, each with its weight.
    Choice(Arc<[(u64, f64)]>),
}

impl Distribution {
    /// Where the tail of [`Self::Surge`] begins, octets.
    pub const SURGE_CUT_BYTES: u64 = SURGE_CUT as u64;

    /// The value, if there is only one.
    pub const fn fixed(&self) -> Option<u64> {
        match self {
            Self::Fixed(value) => Some(*value),
            _ => None,
        }
    }

    /// The next value; [`Self::Fixed`] draws nothing.
    pub fn sample(&self, stream: &mut Stream) -> u64 {
        match *self {
            Self::Fixed(value) => value,
            Self::Uniform { low, high } => low + (stream.unit() * ((high - low) as f64 + 1.0)) as u64,
            Self::Exponential { mean } => rounded(-libm::log(1.0 - stream.unit()) * mean as f64),
            Self::LogNormal { mean, cv } => {
                let variance = libm::log1p(cv * cv);
                let mu = libm::log(mean as f64) - variance / 2.0;
                rounded(libm::exp(mu + libm::sqrt(variance) * stream.normal()))
            }
            Self::Pareto { low, high, shape } => {
                rounded(pareto(low as f64, high as f64, shape, stream.unit()))
            }
            Self::Surge { high } => rounded(surge(high as f64, stream)),
            Self::Choice(ref choices) => choose(choices, stream.unit()),
        }
    }

    /// The mean, before rounding to whole numbers.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Fixed(value) => value as f64,
            Self::Uniform { low, high } => (low as f64 + high as f64) / 2.0,
            Self::Exponential { mean } | Self::LogNormal { mean, .. } => mean as f64,
            Self::Pareto { low, high, shape } => pareto_mean(low as f64, high as f64, shape),
            Self::Surge { high } => {
                let tail = pareto_mean(SURGE_CUT, high as f64, SURGE_ALPHA);
                SURGE_BODY * body_mean() + (1.0 - SURGE_BODY) * tail
            }
            Self::Choice(ref choices) => {
                let (sum, weights) = choices.iter().fold((0.0, 0.0), |(sum, all), (value, weight)| {
                    (sum + *value as f64 * weight, all + weight)
                });
                sum / weights
            }
        }
    }

    /// Whether a distribution can be like this: bounds in order, and every parameter finite and positive.
    pub fn is_sound(&self) -> bool {
        let positive = |x: f64| x > 0.0 && x.is_finite();
        match *self {
            Self::Fixed(_) => true,
            Self::Uniform { low, high } => low <= high,
            Self::Exponential { mean } => mean > 0,
            Self::LogNormal { mean, cv } => mean > 0 && positive(cv),
            Self::Pareto { low, high, shape } => low > 0 && low < high && positive(shape),
            Self::Surge { high } => high > Self::SURGE_CUT_BYTES,
            Self::Choice(ref choices) => {
                !choices.is_empty() && choices.iter().all(|(_, weight)| positive(*weight))
            }
        }
    }
}

fn rounded(value: f64) -> u64 {
    (value + 0.5) as u64
}

/// Inverse of the bounded Pareto's distribution function.
fn pareto(low: f64, high: f64, shape: f64, unit: f64) -> f64 {
    let beyond = libm::pow(low / high, shape);
    (low / libm::pow(1.0 - unit * (1.0 - beyond), 1.0 / shape)).min(high)
}

fn pareto_mean(low: f64, high: f64, shape: f64) -> f64 {
    let within = 1.0 - libm::pow(low / high, shape);
    if (shape - 1.0).abs() < 1e-9 {
        return low * libm::log(high / low) / within;
    }
    let ratio = libm::pow(low / high, shape - 1.0);
    shape * low * (1.0 - ratio) / ((shape - 1.0) * within)
}

fn surge(high: f64, stream: &mut Stream) -> f64 {
    if stream.unit() >= SURGE_BODY {
        return pareto(SURGE_CUT, high, SURGE_ALPHA, stream.unit());
    }
    loop {
        let value = libm::exp(SURGE_MU + SURGE_SIGMA * stream.normal());
        if value < SURGE_CUT {
            return value;
        }
    }
}

/// Mean of the lognormal body below the cut.
fn body_mean() -> f64 {
    let below = |shift: f64| {
        let z = (libm::log(SURGE_CUT) - SURGE_MU - shift) / SURGE_SIGMA;
        0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
    };
    let whole = libm::exp(SURGE_MU + SURGE_SIGMA * SURGE_SIGMA / 2.0);
    whole * below(SURGE_SIGMA * SURGE_SIGMA) / below(0.0)
}

fn choose(choices: &[(u64, f64)], unit: f64) -> u64 {
    let all: f64 = choices.iter().map(|(_, weight)| weight).sum();
    let mut left = unit * all;
    for (value, weight) in choices {
        left -= weight;
        if left < 0.0 {
            return *value;
        }
    }
    choices.last().map_or(0, |(value, _)| *value)
}

#[cfg(test)]
mod tests;

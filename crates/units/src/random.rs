//! Named random streams: a counter-based generator keyed by (seed, point, repetition, stream name).
//!
//! The n-th draw of a stream is a pure function of its key and n: `mix(key + n·γ)`, the SplitMix64
//! output function (Steele, Lea & Flood, "Fast splittable pseudorandom number generators", OOPSLA
//! 2014, fig. 16). Two streams never share draws because their names differ, so adding a draw to one
//! part of a model leaves every other part as it was: this is what common random numbers need.
//!
//! Logarithms come from the pure-Rust `libm`, not from the machine's C library, so that draws are
//! the same bits everywhere. Left out: cryptographic strength, and 2^64-step jumps.

use crate::Duration;

/// Weyl increment of SplitMix64: the odd integer nearest to 2^64 / φ.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// What makes the streams of one run different from those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamKey {
    /// The seed the user gave.
    pub seed: u64,
    /// Which point of an experiment; 0 in common-random-number designs, where points share draws.
    pub point: u64,
    /// Which repetition of that point.
    pub repetition: u64,
}

impl StreamKey {
    /// Streams of a single run with this seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed, point: 0, repetition: 0 }
    }

    /// The stream called `name`; the same key and name always give the same draws.
    pub fn stream(&self, name: &str) -> Stream {
        self.indexed(name, 0)
    }

    /// The stream called `name` that belongs to the `index`-th of several like things, say stations.
    pub fn indexed(&self, name: &str, index: u64) -> Stream {
        let mut state = mix(self.seed.wrapping_add(GAMMA));
        for part in [self.point, self.repetition, index] {
            state = mix(state.wrapping_add(GAMMA) ^ mix(part.wrapping_add(GAMMA)));
        }
        for byte in name.bytes() {
            state = mix(state.wrapping_add(GAMMA) ^ u64::from(byte));
        }
        Stream { counter: state }
    }
}

/// A stream of random numbers; see the module for its construction.
#[derive(Clone, Debug)]
pub struct Stream {
    counter: u64,
}

impl Stream {
    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(GAMMA);
        mix(self.counter)
    }

    /// An integer uniform in `0..=max`, by one multiplication (Lemire 2019).
    ///
    /// The bias is below (max + 1) / 2^64, far under what any run can resolve.
    #[inline]
    pub fn up_to(&mut self, max: u32) -> u32 {
        ((u128::from(self.bits()) * (u128::from(max) + 1)) >> 64) as u32
    }

    /// A float uniform in `[0, 1)` with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `p`. Draws nothing when `p` is 0, so that an unused effect costs nothing.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && self.unit() < p
    }

    /// An exponential with the given mean.
    #[inline]
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        mean.mul_f64(-libm::log(1.0 - self.unit()))
    }

    /// A standard normal, by the polar method (Marsaglia & Bray 1964).
    pub fn normal(&mut self) -> f64 {
        loop {
            let (u, v) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                return u * libm::sqrt(-2.0 * libm::log(s) / s);
            }
        }
    }

    /// `centre` scaled by a factor uniform in `[1 - spread, 1 + spread]`.
    #[inline]
    pub fn spread(&mut self, centre: Duration, spread: f64) -> Duration {
        if spread == 0.0 || centre == Duration::ZERO {
            return centre;
        }
        centre.mul_f64(1.0 + spread * (2.0 * self.unit() - 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_fixed_for_ever() {
        // Golden values: a change here changes every published result.
        let mut s = StreamKey::new(1).stream("backoff");
        let first: Vec<u64> = (0..3).map(|_| s.bits()).collect();
        let mut again = StreamKey::new(1).stream("backoff");
        assert_eq!(first, (0..3).map(|_| again.bits()).collect::<Vec<_>>());
        assert_ne!(first[0], StreamKey::new(2).stream("backoff").bits());
        assert_ne!(first[0], StreamKey::new(1).stream("error").bits());
        assert_ne!(first[0], StreamKey::new(1).indexed("backoff", 1).bits());
    }

    #[test]
    fn integers_are_uniform() {
        let mut s = StreamKey::new(7).stream("test");
        let mut counts = [0u32; 32];
        for _ in 0..320_000 {
            counts[s.up_to(31) as usize] += 1;
        }
        // Chi-square with 31 degrees of freedom: 61.1 is the 99.9% point.
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4).sum();
        assert!(chi2 < 61.1, "chi-square {chi2}");
    }

    #[test]
    fn exponential_and_normal_have_their_moments() {
        let mut s = StreamKey::new(9).stream("test");
        let n = 200_000;
        let mean =
            (0..n).map(|_| s.exponential(Duration::from_ms(10)).as_secs_f64()).sum::<f64>() / f64::from(n);
        assert!((mean - 0.010).abs() < 0.0001, "{mean}");
        let var = (0..n).map(|_| s.normal().powi(2)).sum::<f64>() / f64::from(n);
        assert!((var - 1.0).abs() < 0.02, "{var}");
    }
}

//! Distributions over all packets of a capture: sizes exactly, times between packets in bins of a logarithm.
//!
//! Bins of times are exact below 32 ns; above, each doubling is cut into 32 equal bins, so that a bin is at
//! most 1/32 of its time wide. Left out: fits, which are Python's.

use airperf_record::capture::HistogramRow;

const SIZES: usize = 1 << 16;
const BITS: u32 = 5;
const PER_OCTAVE: u64 = 1 << BITS;
const BINS: usize = ((64 - BITS + 1) * (1 << BITS)) as usize;

/// Counts of both distributions.
#[derive(Clone, Debug)]
pub(crate) struct Histograms {
    sizes: Vec<u64>,
    /// Packets longer than any IPv4 packet can be (IPv6 jumbograms).
    jumbo: std::collections::BTreeMap<u32, u64>,
    times: Vec<u64>,
}

impl Default for Histograms {
    fn default() -> Self {
        Self { sizes: vec![0; SIZES], jumbo: std::collections::BTreeMap::new(), times: vec![0; BINS] }
    }
}

/// Sizes of jumbograms that are told apart.
const MOST_JUMBO: usize = 1_024;

impl Histograms {
    /// An IP packet of this many octets.
    #[inline]
    pub(crate) fn size(&mut self, octets: u32) {
        match self.sizes.get_mut(octets as usize) {
            Some(count) => *count += 1,
            None if self.jumbo.len() < MOST_JUMBO || self.jumbo.contains_key(&octets) => {
                *self.jumbo.entry(octets).or_default() += 1;
            }
            None => *self.jumbo.entry(u32::MAX).or_default() += 1,
        }
    }

    /// A time between two packets.
    #[inline]
    pub(crate) fn time(&mut self, ns: u64) {
        if let Some(count) = self.times.get_mut(bin(ns)) {
            *count += 1;
        }
    }

    /// Rows of bins that are not empty, sizes first.
    pub(crate) fn rows(&self) -> impl Iterator<Item = HistogramRow> {
        let small = self.sizes.iter().enumerate().map(|(octets, count)| (octets as u64, *count));
        let large = self.jumbo.iter().map(|(octets, count)| (u64::from(*octets), *count));
        let sizes = small.chain(large).map(|(from, count)| HistogramRow {
            what: "packet_bytes",
            from,
            below: from + 1,
            count,
        });
        let times = self.times.iter().enumerate().map(|(bin, count)| HistogramRow {
            what: "interarrival_ns",
            from: edge(bin),
            below: edge(bin + 1),
            count: *count,
        });
        sizes.chain(times).filter(|row| row.count > 0)
    }
}

#[inline]
fn bin(ns: u64) -> usize {
    if ns < PER_OCTAVE {
        return ns as usize;
    }
    let octave = ns.ilog2() - BITS;
    (u64::from(octave) * PER_OCTAVE + (ns >> octave)) as usize
}

/// Lower edge of a bin.
fn edge(bin: usize) -> u64 {
    let bin = bin as u64;
    if bin < PER_OCTAVE {
        return bin;
    }
    let octave = bin / PER_OCTAVE - 1;
    (PER_OCTAVE + bin % PER_OCTAVE)
        .checked_shl(octave as u32)
        .filter(|edge| edge >> octave >= PER_OCTAVE)
        .unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_its_bin() {
        let times =
            (0..200).chain((0..64).flat_map(|shift| [(1 << shift) - 1, 1 << shift, (1 << shift) + 1]));
        for ns in times.chain([u64::MAX - 1, u64::MAX]) {
            let (from, below) = (edge(bin(ns)), edge(bin(ns) + 1));
            assert!(from <= ns && (ns < below || below == u64::MAX), "{ns} in {from}..{below}");
            assert!(below - from <= (from / 32).max(1), "{from}..{below} is too wide");
        }
        assert_eq!(bin(u64::MAX), BINS - 1);
    }

    #[test]
    fn sizes_are_exact() {
        let mut histograms = Histograms::default();
        for octets in [40, 1_500, 40, 0, 65_535, 65_536, 1 << 20] {
            histograms.size(octets);
        }
        let rows: Vec<(u64, u64)> = histograms.rows().map(|row| (row.from, row.count)).collect();
        assert_eq!(rows, [(0, 1), (40, 2), (1_500, 1), (65_535, 1), (65_536, 1), (1 << 20, 1)]);
        (0..5_000).for_each(|i| histograms.size(100_000 + i));
        assert!(histograms.jumbo.len() <= MOST_JUMBO + 1);
    }
}

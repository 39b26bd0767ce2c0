//! How long a frame was on the air, from what the radio tells.
//!
//! Reference: IEEE 802.11-2020 §15.2.3.5 and §16.3.4 (DSSS), §17.4.3 (OFDM), §18.3.2.4 (signal extension in the 2.4 GHz
//! band), §19.4.3 (HT), §21.4.3 (VHT), 802.11ax-2021 §27.4.3 (HE). No time is told where a field it depends on is
//! missing. Leaves out what no header tells: the packet extension of HE (up to 16 µs), the extra symbol that LDPC may
//! need, and multi-user transmissions.

use crate::view::radio::Radio;
use crate::view::radio::modulation::Modulation;

/// Time of a frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Airtime {
    /// Preamble and PHY header, ns. The frames of one A-MPDU share one.
    pub preamble_ns: u64,
    /// The rest: the MAC frame with its check sequence, ns; of a frame within an A-MPDU its share of the symbols.
    pub body_ns: u64,
}

impl Airtime {
    /// Preamble and body, ns.
    pub fn total_ns(self) -> u64 {
        self.preamble_ns + self.body_ns
    }
}

const SERVICE_BITS: u64 = 16;
const TAIL_BITS: u64 = 6;

/// The airtime of a MAC frame of `octets`, check sequence included.
pub(crate) fn airtime(radio: &Radio, octets: u32) -> Option<Airtime> {
    let bits = u64::from(octets) * 8;
    let of = |preamble_ns, body_ns| Some(Airtime { preamble_ns, body_ns });
    match radio.modulation {
        Modulation::Unknown => None,
        Modulation::Dsss { half_mbps, short_preamble } => {
            let micros = (bits * 2).div_ceil(u64::from(half_mbps));
            of(if short_preamble? { 96_000 } else { 192_000 }, micros * 1_000)
        }
        Modulation::Ofdm { .. } => {
            let (per_symbol, ns) = radio.modulation.symbol()?;
            let symbols = (SERVICE_BITS + bits + TAIL_BITS).div_ceil(per_symbol);
            of(20_000, symbols * ns + extension(radio)?)
        }
        Modulation::Ht { mcs, greenfield, stbc, sounding, .. } => {
            let streams = if mcs == 32 { 1 } else { u64::from(mcs) / 8 + 1 };
            // Two training symbols or four, never three, for what is only sounded, too (Table 19-13).
            let trainings = trainings(streams + u64::from(stbc)) + [0, 1, 2, 4][usize::from(sounding & 3)];
            // L-STF, L-LTF, L-SIG, HT-SIG and HT-STF; greenfield has no legacy part and its first training is longer.
            let preamble = if greenfield { 20_000 } else { 32_000 } + trainings * 4_000;
            of(preamble, body(radio, bits, stbc > 0)? + extension(radio)?)
        }
        Modulation::Vht { streams, stbc, .. } => {
            let trainings = trainings(u64::from(streams) << u32::from(stbc));
            // L-STF, L-LTF, L-SIG, VHT-SIG-A and VHT-STF before, VHT-SIG-B after training.
            of(36_000 + trainings * 4_000, body(radio, bits, stbc)?)
        }
        Modulation::He { streams, guard, training, single_user, .. } => {
            let training_ns = u64::from(training.filter(|_| single_user)?) * 3_200 + guard.ns();
            // Legacy part, RL-SIG, HE-SIG-A and HE-STF.
            of(
                36_000 + trainings(u64::from(streams)) * training_ns,
                body(radio, bits, false)? + extension(radio)?,
            )
        }
    }
}

/// Quiet time after OFDM frames in the 2.4 GHz band, which counts as theirs.
fn extension(radio: &Radio) -> Option<u64> {
    Some(if radio.frequency_mhz? < 3_000 { 6_000 } else { 0 })
}

/// Training symbols for this many space-time streams: one each, but no odd number above 1.
fn trainings(streams: u64) -> u64 {
    if streams > 1 { streams.next_multiple_of(2) } else { 1 }
}

/// Time of the symbols that carry a frame in the formats from 802.11n on.
fn body(radio: &Radio, bits: u64, stbc: bool) -> Option<u64> {
    /// Delimiter before each frame of an aggregate (§9.7.1).
    const DELIMITER_BITS: u64 = 32;
    let (per_symbol, symbol_ns) = radio.modulation.symbol()?;
    if radio.ampdu.is_some() {
        // Its share of the symbols.
        return Some(((DELIMITER_BITS + bits.next_multiple_of(32)) * symbol_ns).div_ceil(per_symbol));
    }
    // From 802.11ac on even a frame of its own is an aggregate of one.
    let bits = match radio.modulation {
        Modulation::Vht { .. } | Modulation::He { .. } => DELIMITER_BITS + bits,
        _ => bits,
    };
    let together = if stbc { 2 } else { 1 };
    let all = SERVICE_BITS + bits + TAIL_BITS * encoders(radio.modulation);
    let symbols = all.div_ceil(per_symbol * together) * together;
    let spent = symbols * symbol_ns;
    // A short guard interval must not end a frame between the slots of 4 µs that old stations count in.
    let old = matches!(radio.modulation, Modulation::Ht { .. } | Modulation::Vht { .. });
    Some(if old { spent.next_multiple_of(4_000) } else { spent })
}

/// Convolutional encoders, each of which takes a tail: one for every 300 Mbit/s (HT) or 600 (VHT) of the rate with the
/// short guard interval.
fn encoders(modulation: Modulation) -> u64 {
    let most_mbps = match modulation {
        Modulation::Ht { .. } => 300,
        Modulation::Vht { .. } => 600,
        _ => return 1,
    };
    let bits = modulation.symbol().map_or(0, |(bits, _)| bits);
    (bits * 10).div_ceil(36 * most_mbps).max(1)
}

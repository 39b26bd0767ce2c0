//! AVS headers of 802.11 captures.
//!
//! Reference: "AVS WLAN monitor header", version 1 and 2: big-endian words, the radio's clock in microseconds. Leaves out
//! fields on hopping and priorities.

use crate::view::bytes::{be32, octets};
use crate::view::radio::Radio;
use crate::view::radio::modulation::Modulation;
use crate::view::radio::prism::{dbm, frequency_mhz};

/// The version field of such a header; its last octet tells which.
const MAGIC: u32 = 0x8021_1000;
const SHORTEST: usize = 64;

/// Whether `bytes` begin with an AVS header.
pub(crate) fn is_avs(bytes: &[u8]) -> bool {
    be32(bytes, 0).is_some_and(|version| version & !0xff == MAGIC)
}

/// What the header at the beginning of `bytes` tells, and its length; `None` where no frame can be found behind it.
pub(crate) fn parse(bytes: &[u8]) -> Option<(Radio, usize)> {
    const DBM: u32 = 2;
    let length = usize::try_from(be32(bytes, 4)?).ok()?;
    let header = bytes.get(..length).filter(|header| is_avs(header) && header.len() >= SHORTEST)?;
    let word = |at| be32(header, at).unwrap_or_default();
    // In units of 100 kbit/s, or in bit/s where that is too much.
    let rate = word(32);
    let half_mbps = if rate < 100_000 { rate / 5 } else { rate / 500_000 };
    let short_preamble = match word(56) {
        1 => Some(true),
        2 => Some(false),
        _ => None,
    };
    let level = |at| if word(44) == DBM { dbm(word(at)) } else { None };
    let radio = Radio {
        tsft_us: octets(header, 8).map(u64::from_be_bytes).filter(|clock| *clock > 0),
        frequency_mhz: frequency_mhz(word(28)),
        modulation: Modulation::legacy(u8::try_from(half_mbps).unwrap_or(0), short_preamble),
        antenna: u8::try_from(word(36)).ok(),
        signal_dbm: level(48),
        noise_dbm: level(52),
        ..Radio::default()
    };
    Some((radio, length))
}

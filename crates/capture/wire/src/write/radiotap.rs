//! Writes the radiotap header that stands before a captured 802.11 frame.
//!
//! Reference: radiotap.org, "Defined fields": TSFT, flags, rate, channel and data retries, in a header
//! of constant shape. Leaves out signal and noise (there is no radio yet) and anything of 802.11n.

use airperf_units::Rate;

/// What the sniffer's radio says about a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Radiotap {
    /// When the first bit of the MAC frame arrived, in microseconds.
    pub(crate) tsft_us: u64,
    /// Rate of the body; a multiple of 500 kbit/s.
    pub(crate) rate: Rate,
    /// Channel of the 2.4 GHz band, 1 to 14.
    pub(crate) channel: u8,
    /// Whether the preamble was short.
    pub(crate) short_preamble: bool,
    /// Whether the frame check sequence is wrong.
    pub(crate) bad_fcs: bool,
    /// Attempts before this one. A radio knows it of its own frames only; a model knows it of all.
    pub(crate) retries: u8,
}

const PRESENT_TSFT: u32 = 1 << 0;
const PRESENT_FLAGS: u32 = 1 << 1;
const PRESENT_RATE: u32 = 1 << 2;
const PRESENT_CHANNEL: u32 = 1 << 3;
const PRESENT_DATA_RETRIES: u32 = 1 << 17;

const FLAG_SHORT_PREAMBLE: u8 = 0x02;
const FLAG_FCS_AT_END: u8 = 0x10;
const FLAG_BAD_FCS: u8 = 0x40;

const CHANNEL_CCK: u16 = 0x0020;
const CHANNEL_2GHZ: u16 = 0x0080;

impl Radiotap {
    /// Length of the header.
    pub(crate) const BYTES: usize = 23;

    /// The header; fields stand at multiples of their size, little-endian.
    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut header = [0; Self::BYTES];
        let present = PRESENT_TSFT | PRESENT_FLAGS | PRESENT_RATE | PRESENT_CHANNEL | PRESENT_DATA_RETRIES;
        header[2..4].copy_from_slice(&(Self::BYTES as u16).to_le_bytes());
        header[4..8].copy_from_slice(&present.to_le_bytes());
        header[8..16].copy_from_slice(&self.tsft_us.to_le_bytes());
        header[16] = FLAG_FCS_AT_END
            | if self.short_preamble { FLAG_SHORT_PREAMBLE } else { 0 }
            | if self.bad_fcs { FLAG_BAD_FCS } else { 0 };
        header[17] = u8::try_from(self.rate.as_bps() / 500_000).unwrap_or(u8::MAX);
        header[18..20].copy_from_slice(&frequency_mhz(self.channel).to_le_bytes());
        header[20..22].copy_from_slice(&(CHANNEL_CCK | CHANNEL_2GHZ).to_le_bytes());
        header[22] = self.retries;
        header
    }
}

/// Centre frequency of a 2.4 GHz channel (IEEE 802.11-2020 §15.4.4.3): 5 MHz apart, but for the last.
fn frequency_mhz(channel: u8) -> u16 {
    if channel == 14 { 2484 } else { 2407 + 5 * u16::from(channel) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_byte_by_byte() {
        let radiotap = Radiotap {
            tsft_us: 0x0102_0304_0506_0708,
            rate: Rate::kbps(5_500),
            channel: 6,
            short_preamble: true,
            bad_fcs: true,
            retries: 3,
        };
        #[rustfmt::skip]
        let expected = [
            0, 0, 23, 0, 0x0f, 0, 2, 0, 8, 7, 6, 5, 4, 3, 2, 1, 0x52, 11, 0x85, 0x09, 0xa0, 0, 3,
        ];
        assert_eq!(radiotap.to_bytes(), expected);
        assert_eq!((frequency_mhz(1), frequency_mhz(11), frequency_mhz(14)), (2412, 2462, 2484));
    }
}

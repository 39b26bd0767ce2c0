//! Radiotap headers.
//!
//! Reference: radiotap.org, "Header format" and "Defined fields". Fields stand at multiples of their alignment counted
//! from the header's first octet, little-endian. A header's own length decides where the frame begins, whatever its
//! fields say. Leaves out vendors' fields and those in type-length-value form, which both can be skipped, and values
//! of further antennas.

use crate::view::anomaly::{Anomalies, Anomaly};
use crate::view::bytes::{le16, le32, le64};
use crate::view::radio::modulation::{Guard, Modulation, Width};
use crate::view::radio::{Ampdu, Radio};

/// More than four antennas with a word each and a vendor's need.
const MOST_WORDS: usize = 16;

/// Alignment and size of each field, in the order of presence bits.
const FIELDS: [(u8, u8); 28] = [
    (8, 8),  // 0 TSFT
    (1, 1),  // 1 flags
    (1, 1),  // 2 rate
    (2, 4),  // 3 channel
    (2, 2),  // 4 FHSS
    (1, 1),  // 5 signal, dBm
    (1, 1),  // 6 noise, dBm
    (2, 2),  // 7 lock quality
    (2, 2),  // 8 transmit attenuation
    (2, 2),  // 9 the same in dB
    (1, 1),  // 10 transmit power, dBm
    (1, 1),  // 11 antenna
    (1, 1),  // 12 signal, dB
    (1, 1),  // 13 noise, dB
    (2, 2),  // 14 RX flags
    (2, 2),  // 15 TX flags
    (1, 1),  // 16 RTS retries
    (1, 1),  // 17 data retries
    (4, 8),  // 18 XChannel
    (1, 3),  // 19 MCS
    (4, 8),  // 20 A-MPDU status
    (2, 12), // 21 VHT
    (8, 12), // 22 timestamp
    (2, 12), // 23 HE
    (2, 12), // 24 HE-MU
    (2, 6),  // 25 HE-MU of another user
    (1, 1),  // 26 no PSDU
    (2, 4),  // 27 L-SIG
];
const TLVS: u32 = 28;
const RADIOTAP_NAMESPACE: u32 = 29;
const VENDOR_NAMESPACE: u32 = 30;
const ANOTHER_WORD: u32 = 31;

/// What the header at the beginning of `bytes` tells, and its length; `None` where no frame can be found behind it.
pub(crate) fn parse(bytes: &[u8], anomalies: &mut Anomalies) -> Option<(Radio, usize)> {
    let length = usize::from(le16(bytes, 2)?);
    let header = bytes.get(..length).filter(|header| header.len() >= 8 && header[0] == 0)?;
    let mut radio = Radio::default();
    if fields(header, &mut radio, anomalies).is_none() {
        anomalies.insert(Anomaly::RadioHeader);
    }
    Some((radio, length))
}

/// Whether the header surely tells if the frame ends in a check sequence, which takes no reading of it.
pub(crate) fn tells_fcs(bytes: &[u8]) -> bool {
    const FLAGS: u32 = 1 << 1;
    // With one word of presence bits only the time stands before the flags.
    const ENOUGH: u16 = 17;
    let only_word = le32(bytes, 4).filter(|word| word >> ANOTHER_WORD == 0);
    let length = le16(bytes, 2).filter(|length| *length >= ENOUGH && usize::from(*length) <= bytes.len());
    length.is_some() && only_word.is_some_and(|word| word & FLAGS != 0)
}

/// Reads all fields; `None` where one reaches past the header.
fn fields(header: &[u8], radio: &mut Radio, anomalies: &mut Anomalies) -> Option<()> {
    let mut words = 1;
    while le32(header, 4 * words)? >> ANOTHER_WORD == 1 {
        words += 1;
        if words > MOST_WORDS {
            anomalies.insert(Anomaly::RadiotapChain);
            return Some(());
        }
    }
    let mut at = 4 + 4 * words;
    let mut ours = true;
    let mut continued = false;
    for word in 0..words {
        let present = le32(header, 4 + 4 * word)?;
        let own = present & ((1 << RADIOTAP_NAMESPACE) - 1);
        if ours {
            if own >> TLVS != 0 || continued && own != 0 {
                // TLVs are the rest of the header; fields beyond the known ones have unknown sizes.
                let known = if continued { 0 } else { own & ((1 << TLVS) - 1) };
                return known_fields(header, at, known, radio).map(|_| ());
            }
            at = known_fields(header, at, own, radio)?;
        }
        continued = present >> RADIOTAP_NAMESPACE & 3 == 0;
        if present >> VENDOR_NAMESPACE & 1 == 1 {
            // Organisation, sub-namespace and how much to skip.
            at = at.next_multiple_of(2);
            at += 6 + usize::from(le16(header, at + 4)?);
            ours = false;
        } else if present >> RADIOTAP_NAMESPACE & 1 == 1 {
            ours = true;
        }
    }
    (at <= header.len()).then_some(())
}

/// Reads the fields of these bits from `at` on; the place after them.
fn known_fields(header: &[u8], mut at: usize, present: u32, radio: &mut Radio) -> Option<usize> {
    // Written out, so that each field's alignment and size are constants in what is compiled.
    macro_rules! each {
        ($($bit:literal)*) => {
            $(if present >> $bit & 1 == 1 {
                at = field(header, at, $bit, radio)?;
            })*
        };
    }
    each!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27);
    Some(at)
}

/// Reads the field of this bit at or after `at`; the place after it.
#[inline(always)]
fn field(header: &[u8], at: usize, bit: u32, radio: &mut Radio) -> Option<usize> {
    let (align, size) = *FIELDS.get(bit as usize)?;
    // Alignments are powers of two: a mask, for a division takes longer than all the rest of a field.
    let at = (at + usize::from(align) - 1) & !(usize::from(align) - 1);
    let end = at + usize::from(size);
    let value = header.get(at..end)?;
    let first = value[0];
    match bit {
        0 => radio.tsft_us = radio.tsft_us.or(le64(value, 0)),
        1 => flags(radio, first),
        2 => rate(radio, first),
        3 => channel(radio, le16(value, 0)?, u32::from(le16(value, 2)?)),
        5 => radio.signal_dbm = radio.signal_dbm.or(Some(first as i8)),
        6 => radio.noise_dbm = radio.noise_dbm.or(Some(first as i8)),
        11 => radio.antenna = radio.antenna.or(Some(first)),
        17 => radio.data_retries = radio.data_retries.or(Some(first)),
        18 => channel(radio, le16(value, 4)?, le32(value, 0)?),
        19 => mcs(radio, [value[0], value[1], value[2]]),
        20 => {
            let flags = le16(value, 4)?;
            radio.ampdu = Some(Ampdu { reference: le32(value, 0)?, last: flags & 0x0c == 0x0c });
        }
        21 => vht(radio, value),
        23 => he(radio, value),
        _ => {}
    }
    Some(end)
}

fn flags(radio: &mut Radio, flags: u8) {
    const SHORT_PREAMBLE: u8 = 0x02;
    const FCS_AT_END: u8 = 0x10;
    const PADDED: u8 = 0x20;
    const BAD_FCS: u8 = 0x40;
    if radio.fcs_at_end.is_none() {
        radio.fcs_at_end = Some(flags & FCS_AT_END != 0);
        radio.bad_fcs = flags & BAD_FCS != 0;
        radio.padded = flags & PADDED != 0;
        // Which preamble, until the rate tells the rest.
        radio.short_preamble = Some(flags & SHORT_PREAMBLE != 0);
    }
}

fn rate(radio: &mut Radio, half_mbps: u8) {
    if radio.modulation == Modulation::Unknown {
        radio.modulation = Modulation::legacy(half_mbps, radio.short_preamble);
    }
}

fn channel(radio: &mut Radio, frequency_mhz: u16, flags: u32) {
    const HALF_OR_QUARTER_RATE: u32 = 0xc000;
    radio.frequency_mhz = radio.frequency_mhz.or(Some(frequency_mhz)).filter(|mhz| *mhz > 0);
    // The same rates mean other symbols in channels of 5 and 10 MHz.
    if flags & HALF_OR_QUARTER_RATE != 0 {
        radio.modulation = Modulation::Unknown;
    }
}

fn mcs(radio: &mut Radio, [known, flags, mcs]: [u8; 3]) {
    /// Bandwidth, index and guard interval. Where the format is not known it is taken for the mixed one.
    const NEEDED: u8 = 0x07;
    const STBC_KNOWN: u8 = 0x20;
    const SOUNDING_KNOWN: u8 = 0x40;
    if known & NEEDED != NEEDED {
        return;
    }
    radio.modulation = Modulation::Ht {
        mcs,
        width: if flags & 3 == 1 { Width::Mhz40 } else { Width::Mhz20 },
        guard: if flags & 4 != 0 { Guard::Ns400 } else { Guard::Ns800 },
        greenfield: known & flags & 8 != 0,
        stbc: if known & STBC_KNOWN != 0 { flags >> 5 & 3 } else { 0 },
        sounding: if known & SOUNDING_KNOWN != 0 { known >> 7 << 1 | flags >> 7 } else { 0 },
    };
}

fn vht(radio: &mut Radio, value: &[u8]) {
    const STBC: u16 = 0x01;
    const GUARD_KNOWN: u16 = 0x04;
    const WIDTH_KNOWN: u16 = 0x40;
    let (Some(known), Some(&[flags, width]), Some(&user)) = (le16(value, 0), value.get(2..4), value.get(4))
    else {
        return;
    };
    let (mcs, streams) = (user >> 4, user & 15);
    if known & (GUARD_KNOWN | WIDTH_KNOWN) != GUARD_KNOWN | WIDTH_KNOWN || streams == 0 || streams > 8 {
        return;
    }
    radio.modulation = Modulation::Vht {
        mcs,
        streams,
        // The whole channel or which part of a wider one.
        width: match width {
            1 | 5 | 6 | 14..=17 => Width::Mhz40,
            4 | 12 | 13 => Width::Mhz80,
            11 => Width::Mhz160,
            _ => Width::Mhz20,
        },
        guard: if flags & 4 != 0 { Guard::Ns400 } else { Guard::Ns800 },
        stbc: known & STBC != 0 && flags & 1 != 0,
    };
}

fn he(radio: &mut Radio, value: &[u8]) {
    const MCS_KNOWN: u16 = 0x0020;
    const DUAL_CARRIER_KNOWN: u16 = 0x0040;
    const STBC_KNOWN: u16 = 0x0200;
    const WIDTH_KNOWN: u16 = 0x4000;
    const GUARD_KNOWN: u16 = 0x0002;
    let word = |n: usize| le16(value, 2 * n).unwrap_or_default();
    let (known, known2, modulation, symbols, streams) = (word(0), word(1), word(2), word(4), word(5));
    let needed = MCS_KNOWN | WIDTH_KNOWN;
    if known & needed != needed || known2 & GUARD_KNOWN == 0 {
        return;
    }
    let width = match symbols & 15 {
        0 => Width::Mhz20,
        1 => Width::Mhz40,
        2 => Width::Mhz80,
        3 => Width::Mhz160,
        // A resource unit shared with others.
        _ => return,
    };
    let guard = match symbols >> 4 & 3 {
        0 => Guard::Ns800,
        1 => Guard::Ns1600,
        2 => Guard::Ns3200,
        _ => return,
    };
    let stbc = known & STBC_KNOWN != 0 && modulation & 0x8000 != 0;
    let streams = (streams & 15) as u8 >> u8::from(stbc);
    if streams == 0 || streams > 8 {
        return;
    }
    radio.modulation = Modulation::He {
        mcs: (modulation >> 8 & 15) as u8,
        streams,
        width,
        guard,
        training: [None, Some(1), Some(2), Some(4)][usize::from(symbols >> 6 & 3)],
        dual_carrier: known & DUAL_CARRIER_KNOWN != 0 && modulation & 0x1000 != 0,
        // With STBC there are more training symbols than streams; nothing sends that.
        single_user: known & 3 == 0 && !stbc,
    };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_header_that_surely_tells_of_check_sequences_does(
            length in 0_u16..40,
            present in any::<u32>(),
            rest in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let bytes = [&[0, 0][..], &length.to_le_bytes(), &present.to_le_bytes(), &rest].concat();
            let told = parse(&bytes, &mut Anomalies::default()).and_then(|(radio, _)| radio.fcs_at_end);
            prop_assert!(!tells_fcs(&bytes) || told.is_some());
        }
    }

    #[test]
    fn most_headers_surely_tell_of_check_sequences() {
        let of = |present: u8| [&[0, 0, 17, 0, present, 0, 0, 0][..], &[0; 9]].concat();
        assert!(tells_fcs(&of(0b11)) && tells_fcs(&of(0b10)), "with and without a time before the flags");
        assert!(!tells_fcs(&of(0b01)) && !tells_fcs(&of(0b11)[..16]), "no flags, and a header that was cut");
    }
}

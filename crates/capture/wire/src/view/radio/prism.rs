//! Prism headers of 802.11 captures, as old drivers wrote them.
//!
//! Reference: the linux-wlan-ng project's `p80211msg` and what its successors made of it: a message code, its length and
//! a device name, then items of 12 octets, all in the byte order of the capturing host. Leaves out items that later
//! headers do not have either, and preambles, of which it does not speak.

use crate::view::anomaly::{Anomalies, Anomaly};
use crate::view::bytes::octets;
use crate::view::radio::Radio;
use crate::view::radio::avs;
use crate::view::radio::modulation::Modulation;

const ITEM: usize = 12;
const HEAD: usize = 24;

/// What the header at the beginning of `bytes` tells, and its length; `None` where no frame can be found behind it.
pub(crate) fn parse(bytes: &[u8], anomalies: &mut Anomalies) -> Option<(Radio, usize)> {
    if avs::is_avs(bytes) {
        // Drivers switched formats without switching the link type.
        return avs::parse(bytes);
    }
    let code: [u8; 4] = octets(bytes, 0)?;
    let little = match (code, u32::from_le_bytes(code)) {
        (_, 0x41 | 0x44) => true,
        ([0, 0, 0, 0x41 | 0x44], _) => false,
        _ => return None,
    };
    let u32_at = |bytes: &[u8], at| {
        octets(bytes, at).map(|o| if little { u32::from_le_bytes(o) } else { u32::from_be_bytes(o) })
    };
    let length = usize::try_from(u32_at(bytes, 4)?).ok()?;
    let header = bytes.get(..length).filter(|header| header.len() >= HEAD)?;
    let items = header.get(HEAD..)?.chunks_exact(ITEM);
    if !items.remainder().is_empty() {
        anomalies.insert(Anomaly::RadioHeader);
    }
    let mut radio = Radio::default();
    for item in items {
        let (Some(id), Some(value)) = (u32_at(item, 0), u32_at(item, 8)) else { continue };
        // Status and length are 16 bits each; any status but 0 means no value.
        if item.get(4..6) != Some(&[0, 0]) {
            continue;
        }
        // Numbers of items count in the upper half or, in the older format, above a constant 0x41.
        let number = if id & 0xffff == 0x44 { id >> 16 } else { id >> 12 & 15 };
        match number {
            3 => radio.frequency_mhz = frequency_mhz(value),
            6 => radio.signal_dbm = dbm(value),
            7 => radio.noise_dbm = dbm(value),
            8 => radio.modulation = Modulation::legacy(u8::try_from(value).unwrap_or(0), None),
            _ => {}
        }
    }
    Some((radio, length))
}

/// A signal that is below 0 can only be dBm; other values have units of the card's own.
pub(crate) fn dbm(value: u32) -> Option<i8> {
    i8::try_from(value as i32).ok().filter(|dbm| *dbm < 0)
}

/// Centre frequency of a channel by its number (IEEE 802.11-2020 §15.4.4.3 and §17.3.8.4.3); of numbers both bands
/// have none, the lower band ends at 14.
pub(crate) fn frequency_mhz(channel: u32) -> Option<u16> {
    match channel {
        14 => Some(2_484),
        1..=13 => Some(2_407 + 5 * channel as u16),
        34..=196 => Some(5_000 + 5 * channel as u16),
        _ => None,
    }
}

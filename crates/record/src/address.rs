//! Addresses as cells: kept as octets in rows, written as text.
//!
//! A row of `frames` has four addresses; a text is made of each only once in a row group (`coded`). Reference:
//! IEEE 802-2014 §8.1 (hexadecimal representation; with colons, as Wireshark shows it), RFC 5952 (text of
//! IPv6). Left out: names for addresses.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use arrow_array::Array;
use arrow_schema::DataType;

use crate::coded::Texts;
use crate::table::{Cell, optional_text, text};

/// A MAC address; its text is six octets in hexadecimal, `02:41:50:00:00:01`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    fn text(self) -> [u8; 17] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [b':'; 17];
        for (place, octet) in text.chunks_mut(3).zip(self.0) {
            place[0] = DIGITS[usize::from(octet >> 4)];
            place[1] = DIGITS[usize::from(octet & 15)];
        }
        text
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.text()).expect("digits and colons"))
    }
}

impl FromStr for MacAddress {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut octets = [0; 6];
        let mut parts = text.split(':');
        for octet in &mut octets {
            *octet = u8::from_str_radix(parts.next().unwrap_or_default(), 16)?;
        }
        Ok(Self(octets))
    }
}

impl Cell for MacAddress {
    type Builder = Texts;
    const DATA_TYPE: DataType = DataType::Utf8;
    const NULLABLE: bool = false;

    #[inline]
    fn append(&self, builder: &mut Texts, _: &'static [&'static str]) {
        let [a, b, c, d, e, f] = self.0;
        builder.append((u64::from_be_bytes([0, 0, a, b, c, d, e, f]).into(), 0), || self.to_string());
    }

    fn take(array: &dyn Array, index: usize, _: &'static [&'static str]) -> Option<Self> {
        text(array, index)?.parse().ok()
    }
}

impl Cell for IpAddr {
    type Builder = Texts;
    const DATA_TYPE: DataType = DataType::Utf8;
    const NULLABLE: bool = false;

    #[inline]
    fn append(&self, builder: &mut Texts, _: &'static [&'static str]) {
        let key = match self {
            Self::V4(address) => (address.to_bits().into(), 4),
            Self::V6(address) => (address.to_bits(), 6),
        };
        builder.append(key, || self.to_string());
    }

    fn take(array: &dyn Array, index: usize, _: &'static [&'static str]) -> Option<Self> {
        text(array, index)?.parse().ok()
    }
}

optional_text!(MacAddress);
optional_text!(IpAddr);

#[cfg(test)]
mod tests {
    use super::*;

    fn written<C: Cell<Builder = Texts>>(cell: &C) -> String {
        let mut builder = Texts::default();
        cell.append(&mut builder, &[]);
        let array = builder.take_array();
        assert_eq!(array.len(), 1);
        text(&array, 0).unwrap().to_owned()
    }

    #[test]
    fn addresses_are_written_as_everybody_writes_them() {
        for text in ["0.0.0.0", "10.9.100.255", "192.168.0.10", "255.255.255.255", "::", "2001:db8::1:0:0:2"]
        {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(written(&address), text);
        }
        let mac = MacAddress([0x02, 0x41, 0x50, 0, 0xff, 0x0a]);
        assert_eq!(written(&mac), "02:41:50:00:ff:0a");
        assert_eq!(mac.to_string().parse(), Ok(mac));
        assert!("02:41".parse::<MacAddress>().is_err());
    }
}

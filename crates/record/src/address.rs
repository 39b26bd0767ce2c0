//! Addresses as cells: kept as octets in rows, written as text.
//!
//! A row of `frames` has four addresses; making texts of them only when they reach the column's buffer
//! spares four allocations a row. Reference: IEEE 802-2014 §8.1 (hexadecimal representation; with colons, as Wireshark
//! shows it), RFC 5952 (text of IPv6). Left out: names for addresses.

use std::fmt::{self, Write as _};
use std::net::IpAddr;
use std::str::FromStr;

use arrow_array::builder::StringBuilder;
use arrow_array::{Array, StringArray};
use arrow_schema::DataType;

use crate::table::Cell;

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
    type Builder = StringBuilder;
    const DATA_TYPE: DataType = DataType::Utf8;
    const NULLABLE: bool = false;

    #[inline]
    fn append(&self, builder: &mut StringBuilder, _: &'static [&'static str]) {
        builder.append_value(std::str::from_utf8(&self.text()).expect("digits and colons"));
    }

    fn take(array: &dyn Array, index: usize, _: &'static [&'static str]) -> Option<Self> {
        text(array, index)?.parse().ok()
    }
}

impl Cell for IpAddr {
    type Builder = StringBuilder;
    const DATA_TYPE: DataType = DataType::Utf8;
    const NULLABLE: bool = false;

    #[inline]
    fn append(&self, builder: &mut StringBuilder, _: &'static [&'static str]) {
        match self {
            Self::V4(address) => {
                let mut text = [0; 15];
                let mut length = 0;
                for (place, octet) in address.octets().into_iter().enumerate() {
                    if place > 0 {
                        text[length] = b'.';
                        length += 1;
                    }
                    for (least, digit) in [(100, octet / 100), (10, octet / 10 % 10), (0, octet % 10)] {
                        if octet >= least {
                            text[length] = b'0' + digit;
                            length += 1;
                        }
                    }
                }
                builder.append_value(std::str::from_utf8(&text[..length]).expect("digits and dots"));
            }
            Self::V6(address) => {
                write!(builder, "{address}").expect("a builder takes any text");
                builder.append_value("");
            }
        }
    }

    fn take(array: &dyn Array, index: usize, _: &'static [&'static str]) -> Option<Self> {
        text(array, index)?.parse().ok()
    }
}

fn text(array: &dyn Array, index: usize) -> Option<&str> {
    let array = array.as_any().downcast_ref::<StringArray>()?;
    array.is_valid(index).then(|| array.value(index))
}

macro_rules! optional {
    ($type:ty) => {
        impl Cell for Option<$type> {
            type Builder = StringBuilder;
            const DATA_TYPE: DataType = DataType::Utf8;
            const NULLABLE: bool = true;

            #[inline]
            fn append(&self, builder: &mut StringBuilder, words: &'static [&'static str]) {
                match self {
                    Some(address) => address.append(builder, words),
                    None => builder.append_null(),
                }
            }

            fn take(array: &dyn Array, index: usize, words: &'static [&'static str]) -> Option<Self> {
                if array.is_null(index) { Some(None) } else { <$type>::take(array, index, words).map(Some) }
            }
        }
    };
}

optional!(MacAddress);
optional!(IpAddr);

#[cfg(test)]
mod tests {
    use super::*;

    fn written<C: Cell<Builder = StringBuilder>>(cell: &C) -> String {
        let mut builder = StringBuilder::new();
        cell.append(&mut builder, &[]);
        let array = builder.finish();
        assert_eq!(array.len(), 1);
        array.value(0).to_owned()
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

//! Columns of numbers and of truths: kept as they come, written as differences, runs or codes.
//!
//! The tables of runs are written by the encoder at large, from arrays made of these. Reference: Apache Parquet
//! format 2, DELTA_BINARY_PACKED (blocks of 128 differences), RLE of truths, RLE_DICTIONARY for numbers of which few
//! are different. Left out: the pages themselves (`chunk`).

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    BooleanBuilder, Float64Builder, UInt8Builder, UInt16Builder, UInt32Builder, UInt64Builder,
};
use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::statistics::{Statistics, ValueStatistics};

use crate::chunk::{ByHand, Chunk, Described, hybrid, levels, sized, varint};
use crate::coded::{AT_HAND, at_hand, codes};

/// Differences of a block, and of each part that has a width of its own.
const BLOCK: usize = 128;
const PART: usize = 32;

/// What a column of numbers may hold.
pub(crate) trait Number: Copy + Default + PartialEq + std::fmt::Debug + 'static {
    /// Octets that Parquet keeps of it; 0 for a truth, which is a bit.
    const OCTETS: usize;
    /// Its octets as a number.
    fn bits(self) -> u64;
    /// An array of these values; `known` says which are no nulls, and is empty where all are.
    fn array(values: &[Self], known: &[bool]) -> ArrayRef;
    /// The values, where they are truths.
    fn truths(_: &[Self]) -> Option<&[bool]> {
        None
    }
}

macro_rules! number {
    ($type:ty, $octets:literal, $builder:ident, $bits:expr $(, $($truths:tt)*)?) => {
        impl Number for $type {
            const OCTETS: usize = $octets;
            #[inline]
            fn bits(self) -> u64 {
                let bits: fn($type) -> u64 = $bits;
                bits(self)
            }
            fn array(values: &[Self], known: &[bool]) -> ArrayRef {
                let mut array = $builder::with_capacity(values.len());
                if known.is_empty() {
                    array.append_slice(values);
                } else {
                    values.iter().zip(known).for_each(|(v, known)| array.append_option(known.then_some(*v)));
                }
                Arc::new(array.finish())
            }
            $($($truths)*)?
        }
    };
}

number!(u8, 4, UInt8Builder, u64::from);
number!(u16, 4, UInt16Builder, u64::from);
number!(u32, 4, UInt32Builder, u64::from);
number!(u64, 8, UInt64Builder, std::convert::identity);
number!(f64, 8, Float64Builder, f64::to_bits);
number!(
    bool,
    0,
    BooleanBuilder,
    u64::from,
    fn truths(values: &[bool]) -> Option<&[bool]> {
        Some(values)
    }
);

/// Gathers the numbers of one column.
#[derive(Debug, Default)]
pub(crate) struct Numbers<T> {
    /// One for each row; anything for a null.
    values: Vec<T>,
    /// Which are no nulls; empty where a column has none by its type.
    known: Vec<bool>,
    chunk: Chunk,
    /// Least and greatest so far, and nulls, where they are to be told.
    bounds: Option<(u64, u64)>,
    nulls: u64,
}

impl<T: Number> Numbers<T> {
    #[inline]
    pub(crate) fn append(&mut self, value: T) {
        self.values.push(value);
    }

    #[inline]
    pub(crate) fn append_option(&mut self, value: Option<T>) {
        self.known.push(value.is_some());
        self.values.push(value.unwrap_or_default());
    }

    #[inline]
    pub(crate) fn extend<'a>(&mut self, values: impl Iterator<Item = &'a T>) {
        self.values.extend(values.copied());
    }

    #[inline]
    pub(crate) fn extend_options<'a>(&mut self, values: impl Iterator<Item = &'a Option<T>> + Clone) {
        self.known.extend(values.clone().map(Option::is_some));
        self.values.extend(values.map(|value| value.unwrap_or_default()));
    }

    /// The values so far as an array, and begins anew.
    pub(crate) fn take_array(&mut self) -> ArrayRef {
        let array = T::array(&self.values, &self.known);
        self.values.clear();
        self.known.clear();
        array
    }

    /// Writes levels and forgets nulls; gives how many rows there are.
    fn levels(&mut self, described: &Described, out: &mut Vec<u8>) -> usize {
        let rows = self.values.len();
        if described.column.max_def_level() > 0 {
            levels(&self.known, out);
            if self.known.contains(&false) {
                if self.known.contains(&true) {
                    let mut known = self.known.iter();
                    self.values.retain(|_| known.next().copied().unwrap_or(true));
                } else {
                    self.values.clear();
                }
            }
            self.known.clear();
        }
        self.nulls += (rows - self.values.len()) as u64;
        rows
    }

    fn note_bounds(&mut self) {
        let bits = self.values.iter().map(|value| value.bits());
        if let (Some(least), Some(most)) = (bits.clone().min(), bits.max()) {
            let (before_least, before_most) = self.bounds.unwrap_or((least, most));
            self.bounds = Some((least.min(before_least), most.max(before_most)));
        }
    }

    /// A dictionary and the places of the values in it.
    fn page_of_codes(&mut self, described: &Described) -> Result<()> {
        let mut data = Vec::new();
        let rows = self.levels(described, &mut data);
        let mut known: HashMap<u64, u32> = HashMap::new();
        let mut words = Vec::new();
        let mut recent = [None; AT_HAND];
        let mut places = Vec::with_capacity(self.values.len());
        for value in &self.values {
            let bits = value.bits();
            let at_hand = &mut recent[at_hand(bits)];
            let place = match at_hand {
                Some((same, place)) if *same == bits => *place,
                _ => *known.entry(bits).or_insert_with(|| {
                    words.extend_from_slice(&bits.to_le_bytes()[..T::OCTETS]);
                    (words.len() / T::OCTETS - 1) as u32
                }),
            };
            *at_hand = Some((bits, place));
            places.push(place);
        }
        self.values.clear();
        self.chunk.dictionary(words, known.len())?;
        codes(&places, known.len(), &mut data);
        self.chunk.page(data, rows, Encoding::RLE_DICTIONARY)
    }
}

impl<T: Number> ByHand for Numbers<T> {
    fn page(&mut self, described: &Described) -> Result<()> {
        if described.few && T::OCTETS > 0 || self.values.is_empty() {
            return Ok(());
        }
        let mut data = Vec::new();
        let rows = self.levels(described, &mut data);
        if described.sought {
            self.note_bounds();
        }
        let encoding = if let Some(truths) = T::truths(&self.values) {
            sized(&mut data, |data| hybrid(truths, 1, data));
            Encoding::RLE
        } else {
            differences(&self.values, &mut data);
            Encoding::DELTA_BINARY_PACKED
        };
        self.values.clear();
        self.chunk.page(data, rows, encoding)
    }

    fn close(&mut self, described: &Described) -> Result<(Bytes, ColumnCloseResult)> {
        if described.few && T::OCTETS > 0 {
            self.page_of_codes(described)?;
        } else {
            self.page(described)?;
        }
        let (bounds, nulls) = (self.bounds.take(), std::mem::take(&mut self.nulls));
        let mut chunk = std::mem::take(&mut self.chunk);
        if described.sought && T::OCTETS == 8 {
            let (least, most) = bounds.unzip();
            let signed = |number: u64| number as i64;
            chunk.statistics = Some(Statistics::Int64(ValueStatistics::new(
                least.map(signed),
                most.map(signed),
                None,
                Some(nulls),
                false,
            )));
        }
        chunk.close(&described.column)
    }
}

/// Writes the differences between numbers, in as few bits as each part of a block takes.
fn differences<T: Number>(values: &[T], out: &mut Vec<u8>) {
    // Differences wrap as the numbers themselves do, of which 32-bit ones are read as such.
    let narrow = T::OCTETS == 4;
    let first = values.first().map_or(0, |value| value.bits());
    varint(BLOCK as u64, out);
    varint((BLOCK / PART) as u64, out);
    varint(values.len() as u64, out);
    varint(zigzag(if narrow { i64::from(first as i32) } else { first as i64 }), out);
    let mut before = first;
    for block in values.get(1..).unwrap_or_default().chunks(BLOCK) {
        let mut found = [0; BLOCK];
        for (place, value) in found.iter_mut().zip(block) {
            let difference = value.bits().wrapping_sub(before);
            *place = if narrow { i64::from(difference as i32) } else { difference as i64 };
            before = value.bits();
        }
        let found = &mut found[..];
        let least = found[..block.len()].iter().copied().min().unwrap_or_default();
        found[block.len()..].fill(least);
        varint(zigzag(least), out);
        let widths = out.len();
        out.extend_from_slice(&[0; BLOCK / PART]);
        for (number, part) in found.chunks(PART).enumerate() {
            let mut above = [0; PART];
            for (above, difference) in above.iter_mut().zip(part) {
                *above = difference.wrapping_sub(least) as u64;
            }
            let width = u64::BITS - above.iter().fold(0, |all, above| all | above).leading_zeros();
            out[widths + number] = width as u8;
            pack(&above, width, out);
        }
    }
}

/// Signed numbers as unsigned ones, small ones small.
fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

fn pack(values: &[u64; PART], width: u32, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let (mut bits, mut held) = (0_u128, 0);
    let mut packed = [0; PART * 8];
    let mut length = 0;
    for value in values {
        bits |= u128::from(*value) << held;
        held += width;
        if held >= 64 {
            packed[length..length + 8].copy_from_slice(&(bits as u64).to_le_bytes());
            length += 8;
            bits >>= 64;
            held -= 64;
        }
    }
    // 32 numbers end at a whole octet, and with an even width at a whole word.
    packed[length..].iter_mut().zip((bits as u64).to_le_bytes()).for_each(|(to, from)| *to = from);
    out.extend_from_slice(&packed[..PART / 8 * width as usize]);
}

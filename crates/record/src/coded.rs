//! Columns of texts of which few are different: kept as codes, written as a dictionary and numbers into it.
//!
//! The encoder at large hashes and compares every text it is given; here a text is made once for each
//! row group and known by its octets or its place in memory. Reference: Apache Parquet format 2, RLE_DICTIONARY.
//! Left out: the pages themselves (`chunk`).

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::StringBuilder;
use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;

use crate::chunk::{ByHand, Chunk, Described, hybrid, levels};

/// The code of null.
const NULL: u32 = u32::MAX;
/// Codes that are found without a hash table.
pub(crate) const AT_HAND: usize = 256;

/// Where a key is looked for first.
#[inline]
pub(crate) fn at_hand(key: u64) -> usize {
    // The golden ratio spreads what differs in few digits.
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % AT_HAND
}

/// What tells the texts of one column apart: a number, and of which kind it is.
pub(crate) type Key = (u128, u8);

/// Gathers the texts of one column.
#[derive(Debug)]
pub(crate) struct Texts {
    texts: Vec<Box<str>>,
    codes: Vec<u32>,
    known: HashMap<Key, u32>,
    at_hand: [(Key, u32); AT_HAND],
}

impl Default for Texts {
    fn default() -> Self {
        let nothing = ((0, u8::MAX), 0);
        Self { texts: Vec::new(), codes: Vec::new(), known: HashMap::new(), at_hand: [nothing; AT_HAND] }
    }
}

impl Texts {
    pub(crate) fn append_null(&mut self) {
        self.codes.push(NULL);
    }

    /// Adds the text that `key` stands for; `make` makes it when it is new.
    #[inline]
    pub(crate) fn append(&mut self, key: Key, make: impl FnOnce() -> String) {
        let place = at_hand(key.0 as u64 ^ (key.0 >> 64) as u64);
        let (at_hand, code) = self.at_hand[place];
        let code = if at_hand == key { code } else { self.look_up(place, key, make) };
        self.codes.push(code);
    }

    #[inline(never)]
    fn look_up(&mut self, place: usize, key: Key, make: impl FnOnce() -> String) -> u32 {
        let Self { texts, known, .. } = self;
        let code = *known.entry(key).or_insert_with(|| {
            let text = make();
            // Equal words may lie in several places.
            let short = texts.iter().take(AT_HAND).position(|known| **known == *text);
            short.unwrap_or_else(|| {
                texts.push(text.into());
                texts.len() - 1
            }) as u32
        });
        self.at_hand[place] = (key, code);
        code
    }

    /// The texts so far as an array, and begins anew.
    pub(crate) fn take_array(&mut self) -> ArrayRef {
        let bytes = self.texts.iter().map(|text| text.len()).max().unwrap_or(0) * self.codes.len();
        let mut array = StringBuilder::with_capacity(self.codes.len(), bytes);
        for code in &self.codes {
            array.append_option(self.texts.get(*code as usize));
        }
        self.clear();
        Arc::new(array.finish())
    }

    fn clear(&mut self) {
        self.texts.clear();
        self.codes.clear();
        self.known.clear();
        self.at_hand = Self::default().at_hand;
    }
}

impl ByHand for Texts {
    fn page(&mut self, _: &Described) -> Result<()> {
        Ok(())
    }

    fn close(&mut self, described: &Described) -> Result<(Bytes, ColumnCloseResult)> {
        let rows = self.codes.len();
        let mut words = Vec::new();
        for text in &self.texts {
            words.extend_from_slice(&(text.len() as u32).to_le_bytes());
            words.extend_from_slice(text.as_bytes());
        }
        let mut chunk = Chunk::default();
        chunk.dictionary(words, self.texts.len())?;
        let mut data = Vec::new();
        if described.column.max_def_level() > 0 {
            let known: Vec<bool> = self.codes.iter().map(|code| *code != NULL).collect();
            levels(&known, &mut data);
            self.codes.retain(|code| *code != NULL);
        }
        codes(&self.codes, self.texts.len(), &mut data);
        chunk.page(data, rows, Encoding::RLE_DICTIONARY)?;
        self.clear();
        chunk.close(&described.column)
    }
}

/// Writes the places of values in a dictionary of `count` entries.
pub(crate) fn codes(codes: &[u32], count: usize, out: &mut Vec<u8>) {
    let width = u32::BITS - (count.saturating_sub(1) as u32).leading_zeros();
    out.push(width as u8);
    hybrid(codes, width, out);
}

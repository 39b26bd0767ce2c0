//! Columns of texts of which few are different: kept as codes, written as a dictionary and numbers into it.
//!
//! The encoder at large hashes and compares every text it is given; here a text is made once for each
//! row group and known by its octets or its place in memory. Reference: Apache Parquet format 2, data pages
//! version 1, RLE_DICTIONARY and the hybrid of run lengths and bit packing. Left out: compression, statistics.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::StringBuilder;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// The code of null.
const NULL: u32 = u32::MAX;
/// Codes that are found without a hash table.
const AT_HAND: usize = 64;
/// Values looked at together: all equal, they are a run.
const BLOCK: usize = 512;

/// What tells the texts of one column apart: a number, and of which kind it is.
pub(crate) type Key = (u128, u8);

/// Gathers the texts of one column.
#[derive(Debug)]
pub struct Texts {
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
        let place =
            (((key.0 as u64) ^ (key.0 >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize;
        let (at_hand, code) = self.at_hand[place % AT_HAND];
        let code = if at_hand == key { code } else { self.look_up(place % AT_HAND, key, make) };
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

    /// Writes the texts so far as the next column of a row group, and begins anew.
    pub(crate) fn write<W: std::io::Write + Send>(
        &mut self,
        column: &ColumnDescPtr,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        let rows = self.codes.len();
        let mut words = Vec::new();
        for text in &self.texts {
            words.extend_from_slice(&(text.len() as u32).to_le_bytes());
            words.extend_from_slice(text.as_bytes());
        }
        let mut data = Vec::new();
        if column.max_def_level() > 0 {
            let known: Vec<u32> = self.codes.iter().map(|code| u32::from(*code != NULL)).collect();
            let mut levels = Vec::new();
            hybrid(&known, 1, &mut levels);
            data.extend_from_slice(&(levels.len() as u32).to_le_bytes());
            data.extend_from_slice(&levels);
            self.codes.retain(|code| *code != NULL);
        }
        let width = u32::BITS - (self.texts.len().saturating_sub(1) as u32).leading_zeros();
        data.push(width as u8);
        hybrid(&self.codes, width, &mut data);

        let (dictionary_bytes, data_bytes) = (words.len(), data.len());
        let dictionary = Page::DictionaryPage {
            buf: words.into(),
            num_values: self.texts.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let values = Page::DataPage {
            buf: data.into(),
            num_values: rows as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let mut chunk = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut chunk);
        let first = pages.write_page(CompressedPage::new(dictionary, dictionary_bytes))?;
        pages.write_page(CompressedPage::new(values, data_bytes))?;
        let chunk = Bytes::from(chunk.into_inner()?);
        let metadata = ColumnChunkMetaData::builder(column.clone())
            .set_compression(Compression::UNCOMPRESSED)
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_num_values(rows as i64)
            .set_total_compressed_size(chunk.len() as i64)
            .set_total_uncompressed_size(chunk.len() as i64)
            .set_dictionary_page_offset(Some(0))
            .set_data_page_offset(first.bytes_written as i64)
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: chunk.len() as u64,
            rows_written: rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        self.clear();
        group.append_column(&chunk, close)
    }
}

/// Writes numbers of `width` bits as runs and packed blocks.
fn hybrid(values: &[u32], width: u32, out: &mut Vec<u8>) {
    let mut run: Option<(u32, usize)> = None;
    for block in values.chunks(BLOCK) {
        let first = block.first().copied().unwrap_or_default();
        if block.iter().all(|value| *value == first) {
            run = match run {
                Some((value, length)) if value == first => Some((value, length + block.len())),
                before => {
                    write_run(before, width, out);
                    Some((first, block.len()))
                }
            };
        } else {
            write_run(run.take(), width, out);
            pack(block, width, out);
        }
    }
    write_run(run, width, out);
}

fn write_run(run: Option<(u32, usize)>, width: u32, out: &mut Vec<u8>) {
    let Some((value, length)) = run else { return };
    varint(length << 1, out);
    out.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
}

fn pack(values: &[u32], width: u32, out: &mut Vec<u8>) {
    let groups = values.len().div_ceil(8);
    varint(groups << 1 | 1, out);
    let end = out.len() + groups * width as usize;
    let (mut bits, mut held) = (0_u64, 0);
    for value in values {
        bits |= u64::from(*value) << held;
        held += width;
        if held >= 32 {
            out.extend_from_slice(&(bits as u32).to_le_bytes());
            bits >>= 32;
            held -= 32;
        }
    }
    out.extend_from_slice(&bits.to_le_bytes());
    out.resize(end, 0);
}

fn varint(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

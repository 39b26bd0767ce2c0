//! Column chunks made by hand: pages one after the other, and what the footer says of them.
//!
//! The encoder at large goes over every cell several times, and hashes or compares it. The columns of captures are
//! of few kinds, for each of which there is something quicker (`coded`, `numbers`). Reference: Apache Parquet format 2,
//! data pages version 1, the hybrid of run lengths and bit packing. Left out: compression, nested columns.

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// Values looked at together: all equal, they are a run.
const BLOCK: usize = 512;

/// What is known of a column beforehand.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    pub(crate) column: ColumnDescPtr,
    /// Few of its numbers are different.
    pub(crate) few: bool,
    /// Rows are looked for by its numbers.
    pub(crate) sought: bool,
}

/// A column whose chunks are made by hand.
pub(crate) trait ByHand {
    /// Encodes what was gathered since the last page, where the column need not be seen whole.
    fn page(&mut self, described: &Described) -> Result<()>;
    /// Ends the chunk and begins the next.
    fn close(&mut self, described: &Described) -> Result<(Bytes, ColumnCloseResult)>;
}

/// The pages of one column in one row group.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    bytes: Vec<u8>,
    rows: u64,
    dictionary_bytes: Option<u64>,
    encodings: Vec<Encoding>,
    /// Of the whole chunk, for columns by which rows are looked for.
    pub(crate) statistics: Option<Statistics>,
}

impl Chunk {
    /// Adds the dictionary, which comes before all other pages.
    pub(crate) fn dictionary(&mut self, texts: Vec<u8>, count: usize) -> Result<()> {
        let length = texts.len();
        let page = Page::DictionaryPage {
            buf: texts.into(),
            num_values: count as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        self.encodings = vec![Encoding::PLAIN, Encoding::RLE];
        self.add(page, length)?;
        self.dictionary_bytes = Some(self.bytes.len() as u64);
        Ok(())
    }

    /// Adds a page of `rows` values, nulls included, whose levels come first in `data`.
    pub(crate) fn page(&mut self, data: Vec<u8>, rows: usize, encoding: Encoding) -> Result<()> {
        let length = data.len();
        let page = Page::DataPage {
            buf: data.into(),
            num_values: rows as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        for encoding in [Encoding::RLE, encoding] {
            if !self.encodings.contains(&encoding) {
                self.encodings.push(encoding);
            }
        }
        self.rows += rows as u64;
        self.add(page, length)
    }

    fn add(&mut self, page: Page, length: usize) -> Result<()> {
        let mut sink = TrackedWrite::new(&mut self.bytes);
        SerializedPageWriter::new(&mut sink).write_page(CompressedPage::new(page, length)).map(drop)
    }

    /// Ends the chunk.
    pub(crate) fn close(self, column: &ColumnDescPtr) -> Result<(Bytes, ColumnCloseResult)> {
        let Self { bytes, rows, dictionary_bytes, encodings, statistics } = self;
        let mut metadata = ColumnChunkMetaData::builder(column.clone())
            .set_compression(Compression::UNCOMPRESSED)
            .set_encodings(encodings)
            .set_num_values(rows as i64)
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(bytes.len() as i64)
            .set_dictionary_page_offset(dictionary_bytes.map(|_| 0))
            .set_data_page_offset(dictionary_bytes.unwrap_or(0) as i64);
        if let Some(statistics) = statistics {
            metadata = metadata.set_statistics(statistics);
        }
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((bytes.into(), close))
    }
}

/// Writes which values are there, as levels of definition.
pub(crate) fn levels(known: &[bool], out: &mut Vec<u8>) {
    sized(out, |out| hybrid(known, 1, out));
}

/// Writes what `write` does, its length before it.
pub(crate) fn sized(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&length.to_le_bytes());
}

/// Writes numbers of `width` bits as runs and packed blocks.
pub(crate) fn hybrid<T: Copy + PartialEq>(values: &[T], width: u32, out: &mut Vec<u8>)
where
    u32: From<T>,
{
    let mut run: Option<(T, usize)> = None;
    for block in values.chunks(BLOCK) {
        let first = block[0];
        // Comparing the block with itself, one further, is what processors do best.
        if block[1..] == block[..block.len() - 1] {
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

fn write_run<T>(run: Option<(T, usize)>, width: u32, out: &mut Vec<u8>)
where
    u32: From<T>,
{
    let Some((value, length)) = run else { return };
    varint(length as u64 * 2, out);
    out.extend_from_slice(&u32::from(value).to_le_bytes()[..width.div_ceil(8) as usize]);
}

fn pack<T: Copy>(values: &[T], width: u32, out: &mut Vec<u8>)
where
    u32: From<T>,
{
    let groups = values.len().div_ceil(8);
    varint(groups as u64 * 2 + 1, out);
    let end = out.len() + groups * width as usize;
    let (mut bits, mut held) = (0_u64, 0);
    for value in values {
        bits |= u64::from(u32::from(*value)) << held;
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

/// Writes a number in groups of seven bits (ULEB128).
pub(crate) fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

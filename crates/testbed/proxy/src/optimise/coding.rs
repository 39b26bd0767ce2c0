//! How a body is written on the link: as it is, compressed, or as the difference from one that the other side has.
//!
//! Reference: RFC 1952 (gzip), RFC 7932 (Brotli), RFC 8878 (Zstandard, whose decoder may start with a text that both sides
//! have: `ZSTD_CCtx_refPrefix`). What comes back is never longer than its head says. Left out: dictionaries made
//! beforehand.

use bytes::Bytes;
use std::io::{self, Write};
use zstd::stream::raw;

/// Longest body that is compressed, compared, parsed or kept; a longer one passes as it is.
pub(crate) const MOST_WHOLE: usize = 1 << 22;
/// From here on compressing thoroughly would hold up the other streams for longer than the octets take.
pub(crate) const THOROUGH: usize = 1 << 18;
/// Levels of gzip, Brotli and Zstandard up to there.
const THOROUGHLY: (u32, u32, i32) = (9, 9, 17);
/// And for what is longer, or is compressed as it passes.
pub(crate) const QUICKLY: (u32, u32, i32) = (6, 5, 9);

/// A decoder shows nothing of a block before its end.
pub(crate) const SMALL_BLOCKS: raw::CParameter = raw::CParameter::TargetCBlockSize(2_048);
/// Furthest that a decoder looks back, in bits: over a body and the one that it differs from.
const WINDOW: raw::DParameter = raw::DParameter::WindowLogMax(23);

/// A way of compressing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Deflate in gzip's clothes.
    Gzip,
    /// Brotli.
    Brotli,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// Its name in HTTP (RFC 9110 §8.4.1, RFC 7932 §13, RFC 8878 §7.2).
    pub(crate) fn token(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

/// What a body on the link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Itself.
    Plain,
    /// Compressed.
    Compressed(Compression),
    /// Nothing: the other side has it.
    Same,
    /// A difference from a body that the other side has.
    Delta,
}

const NAMES: [(Coding, &str); 5] = [
    (Coding::Compressed(Compression::Gzip), "g"),
    (Coding::Compressed(Compression::Brotli), "b"),
    (Coding::Compressed(Compression::Zstd), "z"),
    (Coding::Same, "s"),
    (Coding::Delta, "d"),
];

impl Coding {
    pub(crate) fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|(coding, _)| *coding == self).map(|(_, name)| *name)
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(coding, _)| *coding)
    }
}

/// The body compressed, if that makes it shorter.
pub(crate) fn compress(how: Compression, body: &[u8]) -> Option<Bytes> {
    let (gzip, quality, level) = if body.len() <= THOROUGH { THOROUGHLY } else { QUICKLY };
    let octets = match how {
        Compression::Gzip => {
            let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(gzip));
            writer.write_all(body).and_then(|()| writer.finish())
        }
        Compression::Brotli => {
            let mut octets = Vec::new();
            let mut writer = brotli::CompressorWriter::new(&mut octets, 1 << 14, quality, 22);
            let written = writer.write_all(body);
            drop(writer);
            written.map(|()| octets)
        }
        Compression::Zstd => zstd::bulk::Compressor::new(level).and_then(|mut writer| {
            writer.set_parameter(SMALL_BLOCKS)?;
            writer.compress(body)
        }),
    };
    octets.ok().filter(|octets| octets.len() < body.len()).map(Bytes::from)
}

/// The difference of `body` from `base`, if it is short.
pub(crate) fn delta(base: &[u8], body: &[u8]) -> Option<Bytes> {
    let write = || {
        let mut writer = zstd::stream::write::Encoder::with_ref_prefix(Vec::new(), 9, base)?;
        // The window must reach back over all of both.
        writer.window_log((base.len() + body.len()).next_power_of_two().ilog2().max(10))?;
        writer.long_distance_matching(true)?;
        writer.include_contentsize(false)?;
        writer.include_checksum(false)?;
        writer.write_all(body)?;
        writer.finish()
    };
    let octets: io::Result<Vec<u8>> = write();
    octets.ok().filter(|octets| octets.len() < body.len() / 2).map(Bytes::from)
}

/// The body from its difference; it must be `length` octets long.
fn restore(base: &[u8], difference: &[u8], length: usize) -> io::Result<Vec<u8>> {
    let mut decoder = raw::Decoder::with_ref_prefix(base)?;
    decoder.set_parameter(WINDOW)?;
    let mut writer = zstd::stream::write::Decoder::with_decoder(Capped::new(length), decoder);
    writer.write_all(difference)?;
    writer.flush()?;
    writer.into_inner().finish()
}

/// A buffer that takes only so many octets.
struct Capped {
    octets: Vec<u8>,
    left: usize,
}

impl Capped {
    fn new(most: usize) -> Self {
        Self { octets: Vec::new(), left: most }
    }

    fn finish(&mut self) -> io::Result<Vec<u8>> {
        if self.left > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(std::mem::take(&mut self.octets))
    }
}

impl Write for Capped {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(octets.len()).ok_or_else(too_long)?;
        self.octets.extend_from_slice(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a body is longer than its head says")
}

enum Unpacking {
    Plain(Capped),
    Gzip(flate2::write::GzDecoder<Capped>),
    Brotli(Box<brotli::DecompressorWriter<Capped>>),
    Zstd(zstd::stream::write::Decoder<'static, Capped>),
    Delta { base: Bytes, difference: Vec<u8>, length: usize },
}

/// Reads a body off the link as it comes.
pub(crate) struct Decoder(Unpacking);

impl Decoder {
    /// For a body of `length` octets; `base` is what a difference is from.
    pub(crate) fn new(coding: Coding, length: usize, base: Bytes) -> io::Result<Self> {
        let capped = Capped::new(length);
        Ok(Self(match coding {
            Coding::Plain | Coding::Same => Unpacking::Plain(capped),
            Coding::Compressed(Compression::Gzip) => Unpacking::Gzip(flate2::write::GzDecoder::new(capped)),
            Coding::Compressed(Compression::Brotli) => {
                Unpacking::Brotli(Box::new(brotli::DecompressorWriter::new(capped, 1 << 14)))
            }
            Coding::Compressed(Compression::Zstd) => {
                let mut decoder = raw::Decoder::new()?;
                decoder.set_parameter(WINDOW)?;
                Unpacking::Zstd(zstd::stream::write::Decoder::with_decoder(capped, decoder))
            }
            Coding::Delta => Unpacking::Delta { base, difference: Vec::new(), length },
        }))
    }

    /// Takes octets off the link and gives those of the body that have become known.
    pub(crate) fn take(&mut self, octets: &[u8]) -> io::Result<Vec<u8>> {
        let capped = match &mut self.0 {
            Unpacking::Plain(capped) => {
                capped.write_all(octets)?;
                capped
            }
            Unpacking::Gzip(writer) => {
                writer.write_all(octets)?;
                writer.flush()?;
                writer.get_mut()
            }
            Unpacking::Brotli(writer) => {
                writer.write_all(octets)?;
                writer.flush()?;
                writer.get_mut()
            }
            Unpacking::Zstd(writer) => {
                writer.write_all(octets)?;
                writer.flush()?;
                writer.get_mut()
            }
            Unpacking::Delta { difference, length, .. } => {
                if difference.len() + octets.len() > *length {
                    return Err(too_long());
                }
                difference.extend_from_slice(octets);
                return Ok(Vec::new());
            }
        };
        Ok(std::mem::take(&mut capped.octets))
    }

    /// The end of what the link brings: the last octets, or an error if some are missing.
    pub(crate) fn finish(self) -> io::Result<Vec<u8>> {
        match self.0 {
            Unpacking::Plain(mut capped) => capped.finish(),
            Unpacking::Gzip(writer) => writer.finish()?.finish(),
            Unpacking::Brotli(writer) => {
                writer.into_inner().map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?.finish()
            }
            Unpacking::Zstd(writer) => writer.into_inner().finish(),
            Unpacking::Delta { base, difference, length } => restore(&base, &difference, length),
        }
    }
}

#[cfg(test)]
#[path = "coding_tests.rs"]
mod tests;

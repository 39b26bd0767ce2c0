//! The bytes of a capture, unpacked: plain, gzip (RFC 1952, any number of members) or zstd (RFC 8878, any
//! number of frames).
//!
//! Bounded: bytes out, and bytes out per byte in. Leaves out seeking and archives of several files.

use std::io::{self, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use super::error::Limits;
use super::zstd::Zstd;

/// What a decoder is given at a time; when a stream is damaged, at most so much before it is lost.
const PIECE_BYTES: usize = 32 << 10;
/// Enough to tell how something is packed.
const MAGIC_BYTES: usize = 4;

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
/// A frame of zstd to be passed over begins with one of 16 numbers, of which these are the upper bytes.
const ZSTD_SKIPPABLE: &[u8] = b"\x2a\x4d\x18";

/// Bytes as they come, the first of them read ahead.
struct Raw {
    ahead: Vec<u8>,
    taken: usize,
    stream: Box<dyn Read + Send>,
    bytes: u64,
    /// Whether the stream, not what unpacks it, was at fault.
    failed: bool,
}

impl Read for Raw {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let ahead = self.ahead.get(self.taken..).unwrap_or_default();
        if let Some(place) = into.get_mut(..ahead.len().min(into.len()))
            && !place.is_empty()
        {
            let (now, _) = ahead.split_at(place.len());
            place.copy_from_slice(now);
            self.taken += now.len();
            return Ok(now.len());
        }
        loop {
            match self.stream.read(into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failed = true;
                    return Err(error);
                }
                Ok(bytes) => {
                    self.bytes += bytes as u64;
                    return Ok(bytes);
                }
            }
        }
    }
}

enum Packing {
    Plain(Raw),
    Gzip(Box<MultiGzDecoder<BufReader<Raw>>>),
    Zstd(Box<Zstd<BufReader<Raw>>>),
}

/// A stream of unpacked bytes.
pub(super) struct Input {
    packing: Packing,
    limits: Limits,
    /// Length of the file, as it lies there.
    length: Option<u64>,
    unpacked: u64,
    trouble: Option<String>,
}

impl Input {
    /// Finds out how a stream is packed.
    pub(super) fn new(
        mut stream: Box<dyn Read + Send>,
        length: Option<u64>,
        limits: Limits,
    ) -> io::Result<Self> {
        let mut ahead = Vec::new();
        (&mut stream).take(MAGIC_BYTES as u64).read_to_end(&mut ahead)?;
        let bytes = ahead.len() as u64;
        let kind = |magic: &[u8]| ahead.starts_with(magic);
        let skippable = ahead.get(1..) == Some(ZSTD_SKIPPABLE) && ahead.first().is_some_and(|b| b >> 4 == 5);
        let (gzip, zstd) = (kind(GZIP), kind(ZSTD) || skippable);
        let raw = Raw { ahead, taken: 0, stream, bytes, failed: false };
        let packing = if gzip {
            Packing::Gzip(Box::new(MultiGzDecoder::new(BufReader::with_capacity(2 * PIECE_BYTES, raw))))
        } else if zstd {
            let source = BufReader::with_capacity(2 * PIECE_BYTES, raw);
            Packing::Zstd(Box::new(Zstd::new(source)))
        } else {
            Packing::Plain(raw)
        };
        Ok(Self { packing, limits, length, unpacked: 0, trouble: None })
    }

    /// Reads until `into` is full or the stream at its end; returns how much. A damaged stream ends where
    /// its damage begins, see [`Self::trouble`].
    pub(super) fn fill(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(place) = into.get_mut(filled..)
            && !place.is_empty()
            && self.trouble.is_none()
        {
            let piece = place.len().min(PIECE_BYTES);
            let read = match &mut self.packing {
                Packing::Plain(raw) => raw.read(place),
                Packing::Gzip(gzip) => gzip.read(place.get_mut(..piece).unwrap_or_default()),
                Packing::Zstd(zstd) => zstd.read(place.get_mut(..piece).unwrap_or_default()),
            };
            match read {
                Ok(0) => break,
                Ok(bytes) => {
                    filled += bytes;
                    self.unpacked += bytes as u64;
                }
                Err(error) if self.raw().failed => return Err(error),
                Err(error) => self.trouble = Some(self.damaged(&error)),
            }
            self.check_limits();
        }
        Ok(filled)
    }

    /// What ended the stream before its end.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Bytes read of the file as it lies there, and its length.
    pub(super) fn progress(&self) -> (u64, Option<u64>) {
        (self.raw().bytes, self.length)
    }

    /// Length of what is unpacked, if that is known beforehand.
    pub(super) fn plain_length(&self) -> Option<u64> {
        self.length.filter(|_| matches!(self.packing, Packing::Plain(_)))
    }

    fn raw(&self) -> &Raw {
        match &self.packing {
            Packing::Plain(raw) => raw,
            Packing::Gzip(gzip) => gzip.get_ref().get_ref(),
            Packing::Zstd(zstd) => zstd.get_ref().get_ref(),
        }
    }

    fn kind(&self) -> &'static str {
        match &self.packing {
            Packing::Plain(_) => "plain",
            Packing::Gzip(_) => "gzip",
            Packing::Zstd(_) => "zstd",
        }
    }

    fn damaged(&self, error: &io::Error) -> String {
        let (kind, read) = (self.kind(), self.raw().bytes);
        if error.kind() == io::ErrorKind::UnexpectedEof {
            format!("the {kind} stream is cut off after {read} bytes")
        } else {
            format!("the {kind} stream is damaged within its first {read} bytes ({error})")
        }
    }

    /// Ends a stream that unpacks to more than anybody wants.
    fn check_limits(&mut self) {
        if matches!(self.packing, Packing::Plain(_)) {
            return;
        }
        let (read, unpacked, limits) = (self.raw().bytes, self.unpacked, self.limits);
        let ratio = u64::from(limits.ratio);
        if unpacked > limits.decompressed_bytes {
            let most = limits.decompressed_bytes;
            self.trouble = Some(format!("the {} stream unpacks to more than {most} bytes", self.kind()));
        } else if unpacked > limits.ratio_after_bytes && unpacked / ratio.max(1) > read {
            let kind = self.kind();
            self.trouble =
                Some(format!("the {kind} stream unpacks to more than {ratio} times its {read} bytes"));
        }
    }
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input").field("kind", &self.kind()).field("progress", &self.progress()).finish()
    }
}

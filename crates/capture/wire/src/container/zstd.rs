//! zstd (RFC 8878): any number of frames, with their checksums.
//!
//! What was decoded before a cut is handed on: the decoder holds back what later blocks may refer to, up to the
//! window of 128 MiB, and is told that there are no more. Leaves out dictionaries.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// A last block without content, and room for a checksum (RFC 8878 §3.1.1.2).
const LAST_BLOCK: &[u8] = &[1, 0, 0, 0, 0, 0, 0];

/// An error of the decoder; that of its input where that is the cause, so that a cut is known as one.
fn told(error: FrameDecoderError) -> io::Error {
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(inner) = cause {
        if let Some(inner) = inner.downcast_ref::<io::Error>() {
            return io::Error::new(inner.kind(), inner.to_string());
        }
        cause = inner.source();
    }
    io::Error::other(error)
}

/// Frames of zstd, one after the other.
pub(super) struct Zstd<R> {
    frames: FrameDecoder,
    source: R,
    within: bool,
    /// What ends the stream once all before it was handed on.
    error: Option<io::Error>,
}

impl<R: BufRead> Zstd<R> {
    pub(super) fn new(source: R) -> Self {
        Self { frames: FrameDecoder::new(), source, within: false, error: None }
    }

    pub(super) fn get_ref(&self) -> &R {
        &self.source
    }

    /// Goes to the next frame; false at the end.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.frames.reset(&mut self.source) {
                Ok(()) => {
                    self.within = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped = io::copy(&mut (&mut self.source).take(length.into()), &mut io::sink())?;
                    if skipped < length.into() {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(told(error)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.within && !self.next_frame()? {
                return Ok(0);
            }
            let step = BlockDecodingStrategy::UptoBlocks(1);
            if self.frames.can_collect() == 0 && !self.frames.is_finished() {
                let decoded = self.frames.decode_blocks(&mut self.source, step);
                self.error = decoded.err().map(told);
            }
            if self.error.is_some() && !self.frames.is_finished() {
                // The decoder holds back what later blocks may refer to, until it meets the last one.
                let last = self.frames.decode_blocks(LAST_BLOCK, BlockDecodingStrategy::UptoBlocks(1));
                last.map_err(told)?;
            }
            let bytes = Read::read(&mut self.frames, into)?;
            if bytes > 0 {
                return Ok(bytes);
            }
            if self.frames.is_finished() && self.frames.can_collect() == 0 {
                self.within = false;
                if let Some(error) = self.error.take() {
                    return Err(error);
                }
                let told = self.frames.get_checksum_from_data();
                if told.is_some() && told != self.frames.get_calculated_checksum() {
                    return Err(io::Error::other("the checksum of a frame is wrong"));
                }
            }
        }
    }
}

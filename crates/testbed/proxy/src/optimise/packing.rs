//! A body compressed as it passes, for a browser that wants it so.
//!
//! Nothing that an origin has sent waits here: when it pauses, the coder gives what it holds. Reference: RFC 9110 §8.4.1. Left out:
//! trailers.

use super::coding::{Compression, QUICKLY, SMALL_BLOCKS};
use super::flow::{Broken, Flow};
use bytes::Bytes;
use hyper::body::{Body, Frame};
use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// An origin that says nothing for so long has paused; shorter gaps are its network's.
const PAUSE: Duration = Duration::from_millis(20);

/// Coded octets that are worth a chunk while more are coming: about a segment.
const FEWEST: usize = 1_400;
/// Octets that a reader of Zstandard as a content coding can look back (RFC 9659 §3), as a power of two.
const WINDOW_LOG: u32 = 22;

/// A coder that can be emptied at any time.
enum Coder {
    Gzip(flate2::write::GzEncoder<Vec<u8>>),
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Coder {
    fn new(how: Compression) -> io::Result<Self> {
        let (gzip, quality, level) = QUICKLY;
        Ok(match how {
            Compression::Gzip => {
                Self::Gzip(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(gzip)))
            }
            Compression::Brotli => {
                Self::Brotli(Box::new(brotli::CompressorWriter::new(Vec::new(), 1 << 14, quality, 22)))
            }
            Compression::Zstd => {
                let mut writer = zstd::stream::write::Encoder::new(Vec::new(), level)?;
                writer.set_parameter(SMALL_BLOCKS)?;
                writer.window_log(WINDOW_LOG)?;
                Self::Zstd(writer)
            }
        })
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Gzip(writer) => writer,
            Self::Brotli(writer) => writer,
            Self::Zstd(writer) => writer,
        }
    }

    /// What has become known of the coded octets, if there are so many.
    fn take(&mut self, fewest: usize) -> Option<Bytes> {
        let octets = match self {
            Self::Gzip(writer) => writer.get_mut(),
            Self::Brotli(writer) => writer.get_mut(),
            Self::Zstd(writer) => writer.get_mut(),
        };
        (octets.len() >= fewest).then(|| std::mem::take(octets).into())
    }

    /// The last of them.
    fn finish(self) -> io::Result<Bytes> {
        match self {
            Self::Gzip(writer) => writer.finish(),
            Self::Brotli(writer) => Ok(writer.into_inner()),
            Self::Zstd(writer) => writer.finish(),
        }
        .map(Bytes::from)
    }
}

/// A body on its way through a coder; `tell` hears the octets before and after at its end.
pub(crate) struct Packing<F: FnMut(u64, u64)> {
    body: Flow,
    /// `None` after the end.
    coder: Option<Coder>,
    /// Runs while the coder holds something.
    pause: Option<Pin<Box<Sleep>>>,
    plain: u64,
    packed: u64,
    tell: F,
}

impl<F: FnMut(u64, u64)> Packing<F> {
    pub(crate) fn new(body: Flow, how: Compression, tell: F) -> io::Result<Self> {
        let coder = Some(Coder::new(how)?);
        Ok(Self { body, coder, pause: None, plain: 0, packed: 0, tell })
    }

    fn given(&mut self, octets: Bytes) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        self.packed += octets.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(octets))))
    }
}

impl<F: FnMut(u64, u64) + Unpin> Body for Packing<F> {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let this = &mut *self;
        loop {
            let Some(coder) = &mut this.coder else { return Poll::Ready(None) };
            let fewest = match this.body.as_mut().poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    this.plain += data.len() as u64;
                    coder.writer().write_all(&data)?;
                    this.pause = Some(Box::pin(sleep(PAUSE)));
                    FEWEST
                }
                Poll::Ready(None) => {
                    let last = this.coder.take().map_or(Ok(Bytes::new()), Coder::finish)?;
                    let polled = this.given(last);
                    (this.tell)(this.plain, this.packed);
                    return polled;
                }
                Poll::Ready(Some(Err(error))) => {
                    this.coder = None;
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Pending => {
                    let Some(pause) = &mut this.pause else { return Poll::Pending };
                    if pause.as_mut().poll(context).is_pending() {
                        return Poll::Pending;
                    }
                    this.pause = None;
                    coder.writer().flush()?;
                    1
                }
            };
            if let Some(octets) = coder.take(fewest) {
                return this.given(octets);
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.coder.is_none()
    }
}

//! The link between the halves: HTTP/2 over a few connections that stay open.
//!
//! All requests go at once, each on a stream of its own; header fields that were sent before are a number (RFC 7541); a
//! stream that nobody reads holds up no other (RFC 9113 §5.2). Each connection begins with one line in which the client
//! half says what it wants. Left out: encryption between the halves; they are in one lab.

mod announce;
mod client;
mod head;
mod pushes;
mod serve;
mod wire;

pub(crate) use announce::Announced;
pub(crate) use client::{InUse, Link, itself};
pub(crate) use head::{
    Coded, Inward, inward, outward, reply_inward, reply_outward, tunnel_outward, want_plain,
};
pub(crate) use pushes::Pushes;
pub(crate) use serve::{say, serve_wire};
pub(crate) use wire::{Line, Wire};

use super::coding::Compression;
use super::flow::Flow;
use bytes::Bytes;
use h2::SendStream;
use http_body_util::BodyExt;
use std::future::poll_fn;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Octets handed to a stream at once: others wait no longer than for these.
const PIECE: usize = 4_096;
/// Octets of one stream that may wait in memory.
const STREAM_BUFFER: usize = 16_384;
/// A stream's window: a body in memory and then some; the link itself is slow.
const WINDOW: u32 = 1 << 20;
/// Header fields remembered by either side (RFC 7541 §4.2): those of a page's every origin.
const TABLE: u32 = 1 << 16;
/// Host of requests that are for the server half itself (RFC 6761 §6.4: never anybody's).
const ITSELF: &str = "link.invalid";

/// What the client half wants of the server half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wants {
    /// Connections with the same number belong together.
    pub(crate) session: u64,
    pub(crate) compress: Option<Compression>,
    pub(crate) cache: bool,
    pub(crate) delta: bool,
    pub(crate) push: bool,
    /// Adapted TCP: rate of the link and its round trip.
    pub(crate) tcp: Option<super::Path>,
}

/// How a connection begins.
const GREETING: &str = "AIRPERF-LINK/1 ";
/// Longest first line.
const MOST_GREETING: usize = 512;

impl Wants {
    pub(crate) fn line(&self) -> String {
        format!("{GREETING}{}\n", serde_json::to_string(self).unwrap_or_default())
    }

    /// Reads the first line of a connection.
    pub(crate) async fn read<R: AsyncRead + Unpin>(from: &mut R) -> io::Result<Self> {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            if line.len() == MOST_GREETING {
                return Err(io::ErrorKind::InvalidData.into());
            }
            line.push(from.read_u8().await?); // one by one, for what follows is not ours to read
        }
        let wants = line.strip_prefix(GREETING.as_bytes()).and_then(|line| serde_json::from_slice(line).ok());
        wants.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// Sends octets as fast as the stream takes them; whether they are the last.
pub(crate) async fn send_all(
    stream: &mut SendStream<Bytes>,
    mut octets: Bytes,
    end: bool,
) -> Result<(), h2::Error> {
    while !octets.is_empty() {
        let wanted = octets.len().min(PIECE);
        stream.reserve_capacity(wanted);
        while stream.capacity() == 0 {
            match poll_fn(|context| stream.poll_capacity(context)).await {
                Some(room) => room?,
                None => return Err(h2::Reason::STREAM_CLOSED.into()),
            };
        }
        let piece = octets.split_to(wanted.min(stream.capacity()));
        stream.send_data(piece, end && octets.is_empty())?;
        if octets.is_empty() {
            return Ok(());
        }
    }
    if end { stream.send_data(octets, true) } else { Ok(()) }
}

/// Sends a body to its end; how many octets it had.
pub(crate) async fn send_body(stream: &mut SendStream<Bytes>, mut body: Flow) -> Result<u64, ()> {
    let mut octets = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            stream.send_reset(h2::Reason::CANCEL);
            return Err(());
        };
        if let Ok(data) = frame.into_data() {
            octets += data.len() as u64;
            send_all(stream, data, false).await.map_err(drop)?;
        }
    }
    stream.send_data(Bytes::new(), true).map_err(drop)?;
    Ok(octets)
}

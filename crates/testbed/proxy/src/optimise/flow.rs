//! Bodies on their way, whatever they come from.
//!
//! Reference: RFC 9110 §6.4. Left out: trailers.

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::{Response, StatusCode};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// What ends a body before its time.
pub(crate) type Broken = Box<dyn std::error::Error + Send + Sync>;

/// A body.
pub(crate) type Flow = Pin<Box<dyn Body<Data = Bytes, Error = Broken>>>;

/// A body of these octets.
pub(crate) fn whole(octets: Bytes) -> Flow {
    Box::pin(Full::new(octets).map_err(Into::into))
}

/// Any body as a flow.
pub(crate) fn flow<B>(body: B) -> Flow
where
    B: Body<Data = Bytes> + 'static,
    B::Error: Into<Broken>,
{
    Box::pin(body.map_err(Into::into))
}

/// A reply without a body, after which the connection closes.
pub(crate) fn bare(status: StatusCode) -> Response<Flow> {
    let mut reply = Response::new(Box::pin(Empty::new().map_err(Into::into)) as Flow);
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    reply
}

/// The reply that opens a tunnel.
pub(crate) fn opened() -> Response<Flow> {
    Response::new(Box::pin(Empty::new().map_err(Into::into)) as Flow)
}

/// A body taken into memory as far as it came.
#[derive(Debug)]
pub(crate) enum Gathered<B> {
    /// All of it.
    Whole(Bytes),
    /// It is longer than was wanted, or slower: its beginning, and the rest.
    Part(Bytes, B),
}

/// Takes a body into memory up to `most` octets and for as long as `patience`.
pub(crate) async fn gather<B>(mut body: B, most: usize, patience: Duration) -> Result<Gathered<B>, B::Error>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut octets = Vec::new();
    let until = tokio::time::Instant::now() + patience;
    while octets.len() <= most {
        let Ok(next) = tokio::time::timeout_at(until, body.frame()).await else { break };
        match next {
            None => return Ok(Gathered::Whole(octets.into())),
            Some(frame) => {
                if let Ok(data) = frame?.into_data() {
                    octets.extend_from_slice(&data);
                }
            }
        }
    }
    Ok(Gathered::Part(octets.into(), body))
}

/// A body of which the beginning is in memory.
struct Resumed(Bytes, Flow);

/// Octets of a beginning that are given at once.
const PIECE: usize = 1 << 14;

/// The body that begins with these octets and goes on as `rest`.
pub(crate) fn resumed(start: Bytes, rest: Flow) -> Flow {
    Box::pin(Resumed(start, rest))
}

impl Body for Resumed {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let Self(start, rest) = &mut *self;
        if start.is_empty() {
            return rest.as_mut().poll_frame(context);
        }
        Poll::Ready(Some(Ok(Frame::data(start.split_to(start.len().min(PIECE))))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty() && self.1.is_end_stream()
    }
}

/// A body whose octets are told as they pass, and whose end is told once: whether it was whole.
pub(crate) struct Watched<B, F: FnMut(Passed)> {
    body: B,
    tell: F,
    whole: bool,
}

/// What passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// So many octets.
    Octets(u64),
    /// The end; whether everything came before it.
    End(bool),
}

impl<B: Body<Data = Bytes>, F: FnMut(Passed)> Watched<B, F> {
    pub(crate) fn new(body: B, tell: F) -> Self {
        let whole = body.is_end_stream();
        Self { body, tell, whole }
    }
}

impl<B: Body<Data = Bytes> + Unpin, F: FnMut(Passed) + Unpin> Body for Watched<B, F> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let polled = ready!(Pin::new(&mut self.body).poll_frame(context));
        match &polled {
            None => self.whole = true,
            Some(Ok(frame)) => {
                let octets = frame.data_ref().map_or(0, Bytes::len) as u64;
                (self.tell)(Passed::Octets(octets));
                self.whole = self.body.is_end_stream();
            }
            Some(Err(_)) => {}
        }
        Poll::Ready(polled)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B, F: FnMut(Passed)> Drop for Watched<B, F> {
    fn drop(&mut self) {
        (self.tell)(Passed::End(self.whole));
    }
}

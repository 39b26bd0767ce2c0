//! The body of a request off the link, for an origin.
//!
//! Left out: trailers.

use super::flow::Broken;
use bytes::Bytes;
use h2::RecvStream;
use hyper::body::{Body, Frame};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A stream of the link as a body.
pub(crate) struct Incoming(RecvStream);

impl Incoming {
    pub(crate) fn new(stream: RecvStream) -> Self {
        Self(stream)
    }
}

impl Body for Incoming {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        Poll::Ready(ready!(self.0.poll_data(context)).map(|data| {
            let data = data?;
            let _ = self.0.flow_control().release_capacity(data.len());
            Ok(Frame::data(data))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }
}

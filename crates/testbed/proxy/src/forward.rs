//! One client's connection: its requests, in order, over one connection to the upstream.
//!
//! Reference: RFC 9110 §7.6, §15.6.3 to §15.6.5 (502, 503, 504). Left out: trying a request again on a fresh connection
//! when a kept one turns out closed; a client does that itself.

use crate::admit::{Gate, Place};
use crate::head;
use crate::serve::{Tally, Upstream};
use crate::socket::ClientSocket;
use http_body_util::{Either, Empty};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONNECTION, HeaderValue, RETRY_AFTER};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::timeout;

/// Longest wait for the upstream to take a connection; it is near.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Longest wait for the head of its reply, as long as Apache's `ProxyTimeout`.
const REPLY_LIMIT: Duration = Duration::from_secs(60);

/// A reply's body, passed through; it holds the place of its request.
#[derive(Debug)]
pub(crate) struct Passing {
    body: Incoming,
    place: Option<Place>,
    gate: Rc<Gate>,
    socket: Rc<ClientSocket>,
    tally: Rc<Tally>,
    whole: bool,
}

impl Body for Passing {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                let octets = frame.data_ref().map_or(0, Bytes::len) as u64;
                self.tally.count(|counts| counts.body_bytes += octets);
                self.whole = self.body.is_end_stream();
            }
            Poll::Ready(None) => self.whole = true,
            _ => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        let whole = self.whole || self.body.is_end_stream();
        self.tally.count(|counts| if whole { counts.replies += 1 } else { counts.cut_short += 1 });
        if let Some(place) = self.place.take() {
            self.gate.leaves(place, self.socket.clone());
        }
    }
}

pub(crate) type Reply = Response<Either<Passing, Empty<Bytes>>>;

/// The client wants to hear a reset, not a reply.
#[derive(Debug, thiserror::Error)]
#[error("refused")]
pub(crate) struct Reset;

/// What serves one client's connection.
#[derive(Debug)]
pub(crate) struct Forwarder {
    pub(crate) gate: Rc<Gate>,
    pub(crate) upstream: Upstream,
    pub(crate) socket: Rc<ClientSocket>,
    pub(crate) tally: Rc<Tally>,
    pub(crate) kept: RefCell<Option<SendRequest<Incoming>>>,
}

impl Forwarder {
    /// Answers one request.
    pub(crate) async fn answer(self: Rc<Self>, mut request: Request<Incoming>) -> Result<Reply, Reset> {
        self.tally.count(|counts| counts.requests += 1);
        if !head::prepare(&mut request) {
            self.tally.count(|counts| counts.misdirected += 1);
            return Ok(bare(StatusCode::MISDIRECTED_REQUEST)); // RFC 9110 §15.5.20
        }
        let Some(place) = self.gate.enter().await else {
            use airperf_http::Refusal;
            if self.gate.config().is_some_and(|config| config.refusal == Refusal::Reset) {
                self.socket.reset_on_close();
                return Err(Reset);
            }
            let mut reply = bare(StatusCode::SERVICE_UNAVAILABLE);
            reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            return Ok(reply);
        };
        match self.pass_on(request).await {
            Ok(mut reply) => {
                head::strip(reply.headers_mut());
                Ok(reply.map(|body| {
                    Either::Left(Passing {
                        body,
                        place: Some(place),
                        gate: self.gate.clone(),
                        socket: self.socket.clone(),
                        tally: self.tally.clone(),
                        whole: false,
                    })
                }))
            }
            Err(status) => {
                self.tally.count(|counts| counts.upstream_failed += 1);
                Ok(bare(status))
            }
        }
    }

    async fn pass_on(&self, request: Request<Incoming>) -> Result<Response<Incoming>, StatusCode> {
        let kept = self.kept.borrow_mut().take();
        let kept = match kept {
            Some(mut kept) => kept.ready().await.is_ok().then_some(kept),
            None => None,
        };
        let mut sender = match kept {
            Some(kept) => kept,
            None => self.connect().await.ok_or(StatusCode::BAD_GATEWAY)?,
        };
        let reply = timeout(REPLY_LIMIT, sender.send_request(request)).await;
        let reply = reply.map_err(|_| StatusCode::GATEWAY_TIMEOUT)?.map_err(|_| StatusCode::BAD_GATEWAY)?;
        *self.kept.borrow_mut() = Some(sender);
        Ok(reply)
    }

    async fn connect(&self) -> Option<SendRequest<Incoming>> {
        let stream = timeout(CONNECT_LIMIT, self.upstream.connect()).await.ok()?.ok()?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
        tokio::task::spawn_local(connection); // ends when the sender is dropped
        Some(sender)
    }
}

/// A reply without a body, after which the connection closes.
fn bare(status: StatusCode) -> Reply {
    let mut reply = Response::new(Either::Right(Empty::new()));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    reply
}

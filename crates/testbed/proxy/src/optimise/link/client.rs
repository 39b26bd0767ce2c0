//! The client half's end of the link: opens connections when they are needed, sends each request at once.
//!
//! Reference: RFC 9113; RFC 9110 §9.2.2 (what may be asked twice). Left out: noticing a dead path before TCP does.

use super::pushes::Pushes;
use super::{ITSELF, Line, STREAM_BUFFER, TABLE, WINDOW, Wants, send_body};
use crate::optimise::counts::Sums;
use crate::optimise::flow::Flow;
use bytes::Bytes;
use h2::client::SendRequest;
use h2::{RecvStream, SendStream};
use hyper::{Method, Request, Response, StatusCode};
use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

/// Longest wait for a connection: five tries of a SYN (RFC 6298 §2.1, doubling from 1 s).
const CONNECT_LIMIT: Duration = Duration::from_secs(31);
/// Longest wait for the head of a reply: an origin's minute, and a long queue on the link.
const REPLY_LIMIT: Duration = Duration::from_secs(180);
/// Pushes that may be open at once; a page of the studies has 67 objects.
const MOST_PUSHES: u32 = 1_000;

/// One connection, when there is one.
#[derive(Default)]
struct Slot {
    sender: tokio::sync::Mutex<Option<SendRequest<Bytes>>>,
    streams: Cell<u32>,
}

/// The link to a server half.
pub(crate) struct Link {
    peer: SocketAddr,
    wants: Wants,
    line: Line,
    slots: Vec<Slot>,
    pushes: Rc<Pushes>,
    sums: Rc<Sums>,
}

/// A stream in use; dropping it makes its connection less busy.
pub(crate) struct InUse(Rc<Link>, usize);

impl Drop for InUse {
    fn drop(&mut self) {
        let streams = &self.0.slots[self.1].streams;
        streams.set(streams.get() - 1);
    }
}

impl Link {
    pub(crate) fn new(
        peer: SocketAddr,
        wants: Wants,
        line: Line,
        connections: usize,
        pushes: Rc<Pushes>,
        sums: Rc<Sums>,
    ) -> Rc<Self> {
        let slots = (0..connections.max(1)).map(|_| Slot::default()).collect();
        Rc::new(Self { peer, wants, line, slots, pushes, sums })
    }

    /// Asks; `body` follows the head. The status to answer with when there is no reply.
    pub(crate) async fn ask(
        self: &Rc<Self>,
        request: Request<()>,
        body: Option<Flow>,
    ) -> Result<(Response<RecvStream>, InUse), StatusCode> {
        let again = body.is_none() && matches!(*request.method(), Method::GET | Method::HEAD);
        let copy = again.then(|| request.clone());
        let used = self.pick();
        let ask = self.ask_once(&used, request, body);
        let mut reply = timeout(REPLY_LIMIT, ask).await.map_err(|_| StatusCode::GATEWAY_TIMEOUT)?;
        if let (Err(()), Some(copy)) = (&reply, copy) {
            let ask = self.ask_once(&used, copy, None);
            reply = timeout(REPLY_LIMIT, ask).await.map_err(|_| StatusCode::GATEWAY_TIMEOUT)?;
        }
        Ok((reply.map_err(|()| StatusCode::BAD_GATEWAY)?, used))
    }

    /// Opens a tunnel.
    pub(crate) async fn tunnel(
        self: &Rc<Self>,
        request: Request<()>,
    ) -> Result<(SendStream<Bytes>, RecvStream, InUse), StatusCode> {
        let used = self.pick();
        let open = async {
            let sender = self.sender(used.1).await.ok_or(StatusCode::BAD_GATEWAY)?;
            self.sums.add(|counts| counts.link_requests += 1);
            let mut sender = sender.ready().await.map_err(|_| StatusCode::BAD_GATEWAY)?;
            let (reply, stream) = sender.send_request(request, false).map_err(|_| StatusCode::BAD_GATEWAY)?;
            let reply = reply.await.map_err(|_| StatusCode::BAD_GATEWAY)?;
            if reply.status() == StatusCode::OK {
                Ok((stream, reply.into_body()))
            } else {
                Err(reply.status())
            }
        };
        let (stream, back) = timeout(REPLY_LIMIT, open).await.map_err(|_| StatusCode::GATEWAY_TIMEOUT)??;
        Ok((stream, back, used))
    }

    /// Tells the server half something; nobody waits for what it says.
    pub(crate) fn mention(self: &Rc<Self>, path: String) {
        let link = self.clone();
        tokio::task::spawn_local(async move {
            if let Some(request) = itself(&path) {
                let _ = link.ask(request, None).await;
            }
        });
    }

    /// The connection with the fewest streams, the first of these.
    fn pick(self: &Rc<Self>) -> InUse {
        let place = (0..self.slots.len()).min_by_key(|place| self.slots[*place].streams.get()).unwrap_or(0);
        let streams = &self.slots[place].streams;
        streams.set(streams.get() + 1);
        InUse(self.clone(), place)
    }

    async fn ask_once(
        self: &Rc<Self>,
        used: &InUse,
        request: Request<()>,
        body: Option<Flow>,
    ) -> Result<Response<RecvStream>, ()> {
        let mut sender = self.sender(used.1).await.ok_or(())?.ready().await.map_err(drop)?;
        self.sums.add(|counts| counts.link_requests += 1);
        let (reply, mut stream) = sender.send_request(request, body.is_none()).map_err(drop)?;
        if let Some(body) = body {
            // The reply may come before the body's end.
            tokio::task::spawn_local(async move { send_body(&mut stream, body).await });
        }
        reply.await.map_err(drop)
    }

    async fn sender(self: &Rc<Self>, place: usize) -> Option<SendRequest<Bytes>> {
        let mut slot = self.slots[place].sender.lock().await;
        if let Some(sender) = slot.clone()
            && sender.ready().await.is_ok()
        {
            return slot.clone();
        }
        *slot = timeout(CONNECT_LIMIT, self.connect(place == 0)).await.ok().flatten();
        slot.clone()
    }

    async fn connect(self: &Rc<Self>, first: bool) -> Option<SendRequest<Bytes>> {
        let mut wire = self.line.connect(self.peer, &self.sums).await.ok()?;
        wire.write_all(self.wants.line().as_bytes()).await.ok()?;
        let (sender, connection) = h2::client::Builder::new()
            .initial_window_size(WINDOW)
            .initial_connection_window_size(4 * WINDOW)
            .max_send_buffer_size(STREAM_BUFFER)
            .header_table_size(TABLE)
            .enable_push(self.wants.push)
            .max_concurrent_streams(MOST_PUSHES)
            .handshake(wire)
            .await
            .ok()?;
        tokio::task::spawn_local(connection);
        if first && self.wants.push {
            // Before anything else: a push needs this stream.
            let (mut ready, request) = (sender.clone().ready().await.ok()?, itself("/pushes")?);
            let (reply, _) = ready.send_request(request, true).ok()?;
            tokio::task::spawn_local(self.clone().take_pushes(reply));
        }
        Some(sender)
    }

    /// The stream on which everything is promised, open as long as its connection.
    async fn take_pushes(self: Rc<Self>, mut reply: h2::client::ResponseFuture) {
        let mut promises = reply.push_promises();
        while let Some(Ok(promise)) = promises.push_promise().await {
            self.pushes.begun(&self, promise);
        }
        self.pushes.ended();
    }
}

/// A request for the server half itself.
pub(crate) fn itself(path: &str) -> Option<Request<()>> {
    Request::builder().uri(format!("http://{ITSELF}{path}")).body(()).ok()
}

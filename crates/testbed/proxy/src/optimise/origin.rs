//! Connections to origins: a few for each, kept open, and used again.
//!
//! Reference: RFC 9112 §9.3 (persistence), §9.3.1 (trying again what can be asked twice), §9.4 (number of connections).
//! Left out: HTTP/2 and pipelining towards them, for they are near.

use super::counts::Sums;
use super::flow::{Flow, Passed, Watched, flow};
use super::target::{Names, NoWay, Place};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

/// Longest wait for an origin to take a connection; it is near.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Longest wait for the head of its reply, as long as Apache's `ProxyTimeout`.
const REPLY_LIMIT: Duration = Duration::from_secs(60);
/// A connection out of use for longer is not used again: Apache closes after `KeepAliveTimeout`, 5 s.
const KEPT: Duration = Duration::from_secs(4);

/// One origin.
struct Origin {
    room: Arc<Semaphore>,
    idle: RefCell<Vec<(tokio::time::Instant, SendRequest<Flow>)>>,
}

/// An origin by its address, and over TLS by its name.
type Whom = (SocketAddr, Option<String>);

/// All origins.
pub(crate) struct Origins {
    names: Rc<Names>,
    most: usize,
    mark: Option<u32>,
    /// For those that are spoken to over TLS.
    connector: TlsConnector,
    sums: Rc<Sums>,
    known: RefCell<HashMap<Whom, Rc<Origin>>>,
}

impl Origins {
    /// At most `most` connections to each; `mark` is put on their packets, that a redirection may know them.
    pub(crate) fn new(
        names: Rc<Names>,
        most: usize,
        mark: Option<u32>,
        connector: TlsConnector,
        sums: Rc<Sums>,
    ) -> Rc<Self> {
        Rc::new(Self { names, most, mark, connector, sums, known: RefCell::default() })
    }

    /// Where a place is; the status with which to refuse it otherwise.
    pub(crate) async fn find(&self, place: &Place, at: Option<SocketAddr>) -> Result<SocketAddr, StatusCode> {
        let found = match at {
            Some(at) => self.names.allows(&place.host, at),
            None => self.names.find(place).await,
        };
        found.map_err(|no| match no {
            NoWay::Forbidden => StatusCode::FORBIDDEN,
            NoWay::Unknown => StatusCode::BAD_GATEWAY,
        })
    }

    /// A connection to `address`, for a tunnel or for requests.
    pub(crate) async fn connect(&self, address: SocketAddr) -> Option<TcpStream> {
        let socket =
            if address.is_ipv4() { tokio::net::TcpSocket::new_v4() } else { tokio::net::TcpSocket::new_v6() };
        let socket = socket.ok()?;
        if let Some(mark) = self.mark {
            socket2::SockRef::from(&socket).set_mark(mark).ok()?;
        }
        let stream = timeout(CONNECT_LIMIT, socket.connect(address)).await.ok()?.ok()?;
        stream.set_nodelay(true).ok()?;
        self.sums.add(|counts| counts.origin_connections += 1);
        Some(stream)
    }

    /// Asks `place` at `address`; the status to answer with when there is no reply.
    pub(crate) async fn ask(
        self: &Rc<Self>,
        place: &Place,
        address: SocketAddr,
        mut request: Request<Flow>,
    ) -> Result<Response<Flow>, StatusCode> {
        use hyper::body::Body;
        let origin = self.origin(place, address);
        let room = origin.room.clone().acquire_owned().await.ok();
        let again = matches!(*request.method(), Method::GET | Method::HEAD) && request.body().is_end_stream();
        loop {
            let kept = origin.kept().await;
            let (mut sender, was_kept) = match kept {
                Some(kept) => (kept, true),
                None => (self.sender(place, address).await.ok_or(StatusCode::BAD_GATEWAY)?, false),
            };
            let copy = (again && was_kept).then(|| copy_of(&request));
            self.sums.add(|counts| counts.origin_requests += 1);
            let reply = timeout(REPLY_LIMIT, sender.send_request(request)).await;
            match (reply.map_err(|_| StatusCode::GATEWAY_TIMEOUT)?, copy) {
                (Ok(reply), _) => return Ok(origin.hold(reply, sender, room)),
                (Err(_), Some(copy)) => request = copy, // the origin had closed it
                (Err(_), None) => return Err(StatusCode::BAD_GATEWAY),
            }
        }
    }

    fn origin(&self, place: &Place, address: SocketAddr) -> Rc<Origin> {
        let name = place.tls.then(|| place.host.clone());
        let new = || {
            let room = Arc::new(Semaphore::new(self.most));
            Rc::new(Origin { room, idle: RefCell::default() })
        };
        self.known.borrow_mut().entry((address, name)).or_insert_with(new).clone()
    }

    async fn sender(&self, place: &Place, address: SocketAddr) -> Option<SendRequest<Flow>> {
        let stream = self.connect(address).await?;
        if !place.tls {
            return speak(stream).await;
        }
        let name = ServerName::try_from(place.host.clone()).ok()?;
        let stream = timeout(CONNECT_LIMIT, self.connector.connect(name, stream)).await.ok()?;
        speak(stream.ok()?).await
    }
}

async fn speak<S>(stream: S) -> Option<SendRequest<Flow>>
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
    tokio::task::spawn_local(connection); // ends when the sender is dropped
    Some(sender)
}

fn copy_of(request: &Request<Flow>) -> Request<Flow> {
    let mut copy = Request::new(super::flow::whole(bytes::Bytes::new()));
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    copy
}

impl Origin {
    /// A connection that is still open, the most recently used first.
    async fn kept(&self) -> Option<SendRequest<Flow>> {
        loop {
            let (since, mut sender) = self.idle.borrow_mut().pop()?;
            if since.elapsed() < KEPT && sender.ready().await.is_ok() {
                return Some(sender);
            }
        }
    }

    /// The reply; its connection is free for others when the body has passed.
    fn hold(
        self: Rc<Self>,
        reply: Response<Incoming>,
        sender: SendRequest<Flow>,
        place: Option<OwnedSemaphorePermit>,
    ) -> Response<Flow> {
        let mut held = Some((sender, place));
        reply.map(|body| {
            flow(Watched::new(body, move |passed| {
                if let Passed::End(whole) = passed
                    && let Some((sender, place)) = held.take()
                {
                    if whole && !sender.is_closed() {
                        self.idle.borrow_mut().push((tokio::time::Instant::now(), sender));
                    }
                    drop(place);
                }
            }))
        })
    }
}

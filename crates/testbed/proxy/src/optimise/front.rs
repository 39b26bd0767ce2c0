//! Browsers' side of a proxy: connections, requests, tunnels.
//!
//! Reference: RFC 9112 §9.3.2: requests that a browser pipelines are answered in order, and replies are flushed together; while one
//! leaves the kernel the next is being fetched. Left out: HTTP/2 of browsers outside of
//! tunnels, which is for `intercept` to read.

use super::client::ClientHalf;
use super::counts::Sums;
use super::flow::{Flow, Passed, Watched, bare, flow, opened};
use super::intercept::Intercept;
use super::origin::Origins;
use super::request::{self, Asked, Door};
use super::single::Single;
use super::{Path, adapted};
use crate::head;
use crate::serve::HEAD_LIMIT;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use tokio::net::TcpStream;
use tokio::sync::watch;

/// The port whose tunnels hold TLS and HTTP within.
const HTTPS: u16 = 443;

/// Where replies come from.
pub(crate) enum Way {
    /// From origins near the proxy.
    Direct(Box<Single>),
    /// Through the other half.
    Link(ClientHalf),
}

/// What serves browsers.
pub(crate) struct Front {
    pub(crate) way: Way,
    /// Whether browsers take this for their origin.
    pub(crate) transparent: bool,
    /// Whether where they wanted to go is where their origin is; otherwise they were told to come here.
    pub(crate) believes_address: bool,
    /// The slow link, if it is between browsers and here.
    pub(crate) path: Option<Path>,
    /// Answers the TLS of tunnels, where that is wanted.
    pub(crate) intercept: Option<Intercept>,
    pub(crate) sums: Rc<Sums>,
}

/// How browsers' HTTP/1.1 is read and answered.
pub(crate) fn http1_server() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_LIMIT).pipeline_flush(true);
    http
}

impl Front {
    /// Serves one browser's connection to its end.
    pub(crate) async fn client(self: Rc<Self>, stream: TcpStream, mut ending: watch::Receiver<bool>) {
        self.sums.add(|counts| counts.connections += 1);
        let _ = stream.set_nodelay(true);
        if let Some(path) = &self.path {
            let _ = adapted::towards_browser(&stream, path); // without it, replies only come less evenly
        }
        let meant = self.transparent.then(|| meant_for(&stream)).flatten();
        let service = service_fn(move |request| {
            let front = self.clone();
            async move {
                let door = meant.map_or(Door::Proxy, |address| Door::Origin(address.port()));
                let at = meant.filter(|_| front.believes_address);
                Ok::<_, Infallible>(front.answer(request, &door, at).await)
            }
        });
        let connection = http1_server().serve_connection(TokioIo::new(stream), service).with_upgrades();
        let mut connection = std::pin::pin!(connection);
        let mut stopped = std::pin::pin!(async { ending.wait_for(|end| *end).await.is_ok() });
        let mut told = false;
        // What goes wrong here is the browser's: it left, or it speaks no HTTP.
        let _ = std::future::poll_fn(|context| {
            if !told && stopped.as_mut().poll(context).is_ready() {
                told = true;
                connection.as_mut().graceful_shutdown();
            }
            connection.as_mut().poll(context)
        })
        .await;
    }

    /// The reply to a request that came in by `door`; `at` is where its browser took the origin to be.
    pub(crate) async fn answer(
        self: &Rc<Self>,
        request: Request<Incoming>,
        door: &Door,
        at: Option<SocketAddr>,
    ) -> Response<Flow> {
        self.sums.add(|counts| counts.requests += 1);
        match self.reply(request, door, at).await {
            Ok(reply) => reply,
            Err(status) => {
                let refused = matches!(status, StatusCode::BAD_REQUEST | StatusCode::FORBIDDEN);
                self.sums.add(|counts| if refused { counts.refused += 1 } else { counts.failed += 1 });
                bare(status)
            }
        }
    }

    async fn reply(
        self: &Rc<Self>,
        mut request: Request<Incoming>,
        door: &Door,
        at: Option<SocketAddr>,
    ) -> Result<Response<Flow>, StatusCode> {
        let upgrade = (*request.method() == Method::CONNECT).then(|| hyper::upgrade::on(&mut request));
        let asked = request::read(request.map(flow), door)?;
        if let Some(upgrade) = upgrade {
            if self.intercept.is_some() && asked.place.port == HTTPS {
                tokio::task::spawn_local(self.clone().inside(upgrade, asked.place));
                return Ok(opened());
            }
            return match &self.way {
                Way::Direct(single) => self.tunnel(&single.origins, asked, upgrade).await,
                Way::Link(half) => half.tunnel(asked, at, upgrade).await,
            };
        }
        let mut reply = match &self.way {
            Way::Direct(single) => single.answer(asked, at).await?,
            Way::Link(half) => half.answer(asked, at).await?,
        };
        head::strip(reply.headers_mut());
        let sums = self.sums.clone();
        Ok(reply.map(|body| {
            flow(Watched::new(body, move |passed| match passed {
                Passed::Octets(octets) => sums.add(|counts| counts.body_bytes += octets),
                Passed::End(true) => sums.add(|counts| counts.replies += 1),
                Passed::End(false) => sums.add(|counts| counts.cut_short += 1),
            }))
        }))
    }

    async fn tunnel(
        &self,
        origins: &Origins,
        asked: Asked<Flow>,
        upgrade: hyper::upgrade::OnUpgrade,
    ) -> Result<Response<Flow>, StatusCode> {
        let address = origins.find(&asked.place, None).await?;
        let mut origin = origins.connect(address).await.ok_or(StatusCode::BAD_GATEWAY)?;
        let sums = self.sums.clone();
        sums.add(|counts| counts.tunnels += 1);
        tokio::task::spawn_local(async move {
            if let Ok(browser) = upgrade.await {
                let mut browser = TokioIo::new(browser);
                if let Ok((up, down)) = tokio::io::copy_bidirectional(&mut browser, &mut origin).await {
                    sums.add(|counts| counts.body_bytes += up + down);
                }
            }
        });
        Ok(opened())
    }
}

/// Where a redirected connection was going; where it came in if nothing redirected it.
fn meant_for(stream: &TcpStream) -> Option<SocketAddr> {
    let socket = socket2::SockRef::from(stream);
    let original =
        if stream.local_addr().ok()?.is_ipv4() { socket.original_dst_v4() } else { socket.original_dst_v6() };
    original.ok().and_then(|address| address.as_socket()).or(stream.local_addr().ok())
}

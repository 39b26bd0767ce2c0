//! The client half: from a browser's request to the link, and what it need not go there for.
//!
//! A name is looked up at the server half (DNS boosting), or here, over the slow link, without it. Left out: answering without
//! asking the origin: whether a copy is still good is the origin's to say.

use super::counts::Sums;
use super::flow::{Flow, opened, whole};
use super::link::{Link, Pushes, outward};
use super::receive::Receiver;
use super::request::Asked;
use super::target::{Names, NoWay, Place};
use super::tunnel;
use hyper::body::Body;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use std::rc::Rc;

/// The client half.
pub(crate) struct ClientHalf {
    pub(crate) link: Rc<Link>,
    pub(crate) receiver: Rc<Receiver>,
    pub(crate) pushes: Rc<Pushes>,
    /// Looks names up here; `None` leaves that to the server half.
    pub(crate) names: Option<Rc<Names>>,
    /// Whether bodies are kept for the next time.
    pub(crate) keeps: bool,
    pub(crate) sums: Rc<Sums>,
}

impl ClientHalf {
    async fn place(&self, place: &Place, at: Option<SocketAddr>) -> Result<Option<SocketAddr>, StatusCode> {
        let Some(names) = &self.names else { return Ok(None) };
        if at.is_some() {
            return Ok(at);
        }
        match names.find(place).await {
            Ok(at) => Ok(Some(at)),
            Err(NoWay::Forbidden) => Err(StatusCode::FORBIDDEN),
            Err(NoWay::Unknown) => Err(StatusCode::BAD_GATEWAY),
        }
    }

    /// The reply to a request; `at` is where the browser took its origin to be. The status to answer with otherwise.
    pub(crate) async fn answer(
        &self,
        asked: Asked<Flow>,
        at: Option<SocketAddr>,
    ) -> Result<Response<Flow>, StatusCode> {
        let url = asked.url();
        let plain = asked.is_plain_get();
        if plain && let Some((head, body)) = self.pushes.take(&self.link, &url).await {
            return Ok(head.map(|()| whole(body)));
        }
        let at = self.place(&asked.place, at).await?;
        let base = (self.keeps && asked.request.method() == Method::GET)
            .then(|| self.receiver.latest(&url))
            .flatten();
        let request = outward(&asked, at, base).ok_or(StatusCode::BAD_REQUEST)?;
        let body = asked.request.into_body();
        let body = (!body.is_end_stream()).then_some(body);
        let (reply, used) = self.link.ask(request, body).await?;
        self.pushes.announced(&self.link, &url, reply.headers());
        self.receiver.receive(&self.link, &url, reply, Some(used)).await
    }

    /// Opens a tunnel through the link.
    pub(crate) async fn tunnel(
        &self,
        asked: Asked<Flow>,
        at: Option<SocketAddr>,
        upgrade: hyper::upgrade::OnUpgrade,
    ) -> Result<Response<Flow>, StatusCode> {
        let at = self.place(&asked.place, at).await?;
        let request = super::link::tunnel_outward(&asked.place, at).ok_or(StatusCode::BAD_REQUEST)?;
        let (stream, back, used) = self.link.tunnel(request).await?;
        let sums = self.sums.clone();
        sums.add(|counts| counts.tunnels += 1);
        tokio::task::spawn_local(async move {
            if let Ok(browser) = upgrade.await {
                let octets = tunnel::carry(TokioIo::new(browser), stream, back).await;
                sums.add(|counts| counts.body_bytes += octets);
            }
            drop(used);
        });
        Ok(opened())
    }
}

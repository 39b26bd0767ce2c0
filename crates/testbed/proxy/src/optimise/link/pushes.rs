//! Objects that the server half sends before they are asked for, and the browser's requests that find them.
//!
//! A request for what was promised waits for it instead of going over the link. Each serves one request; what nobody
//! asks for is dropped after a minute and counted. Left out: requests that are somebody's own (cookies, ranges): they are
//! never answered from here.

use super::Link;
use crate::optimise::counts::Sums;
use crate::optimise::receive::Receiver;
use bytes::Bytes;
use h2::client::{PushPromise, PushedResponseFuture};
use http_body_util::BodyExt;
use hyper::Response;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long a pushed object waits to be asked for: longer than any page of the studies takes to ask for its last.
const KEPT: Duration = Duration::from_secs(60);
/// Octets that may wait.
const MOST: usize = 1 << 25;

enum State {
    Coming(u32),
    Here(Instant, Response<()>, Bytes),
    Gone,
}

struct Promise {
    state: RefCell<State>,
    changed: Notify,
}

/// What has been promised.
pub(crate) struct Pushes {
    receiver: Rc<Receiver>,
    sums: Rc<Sums>,
    promises: RefCell<HashMap<String, Rc<Promise>>>,
}

impl Pushes {
    pub(crate) fn new(receiver: Rc<Receiver>, sums: Rc<Sums>) -> Rc<Self> {
        Rc::new(Self { receiver, sums, promises: RefCell::default() })
    }

    /// The server half will send something.
    pub(crate) fn promised(self: &Rc<Self>, link: &Rc<Link>, promise: PushPromise) {
        self.drop_old(KEPT);
        let (request, reply) = promise.into_parts();
        let url = request.uri().to_string();
        let state = RefCell::new(State::Coming(reply.stream_id().as_u32()));
        let promise = Rc::new(Promise { state, changed: Notify::new() });
        self.sums.add(|counts| counts.pushes += 1);
        self.promises.borrow_mut().insert(url.clone(), promise.clone());
        let (pushes, link) = (self.clone(), link.clone());
        tokio::task::spawn_local(async move {
            let got = pushes.get(&link, &url, reply).await;
            *promise.state.borrow_mut() = match got {
                Some((head, body)) => State::Here(Instant::now(), head, body),
                None => {
                    pushes.sums.add(|counts| counts.pushes_withdrawn += 1);
                    pushes.forget(&url, &promise);
                    State::Gone
                }
            };
            promise.changed.notify_waiters();
        });
    }

    async fn get(
        &self,
        link: &Rc<Link>,
        url: &str,
        reply: PushedResponseFuture,
    ) -> Option<(Response<()>, Bytes)> {
        let reply = self.receiver.receive(link, url, reply.await.ok()?, None).await.ok()?;
        let (parts, body) = reply.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        Some((Response::from_parts(parts, ()), body))
    }

    fn forget(&self, url: &str, promise: &Rc<Promise>) {
        let mut promises = self.promises.borrow_mut();
        if promises.get(url).is_some_and(|known| Rc::ptr_eq(known, promise)) {
            promises.remove(url);
        }
    }

    /// What was pushed for this URL, once it is here; `None` when nothing was, or it did not come.
    pub(crate) async fn take(&self, link: &Rc<Link>, url: &str) -> Option<(Response<()>, Bytes)> {
        let promise = self.promises.borrow_mut().remove(url)?;
        let mut said = false;
        loop {
            let changed = promise.changed.notified();
            match &*promise.state.borrow() {
                State::Gone => return None,
                State::Here(_, head, body) => {
                    self.sums.add(|counts| counts.pushes_used += 1);
                    return Some((head.clone(), body.clone()));
                }
                State::Coming(stream) if !said => {
                    said = true;
                    link.mention(format!("/want/{stream}")); // it need not wait for the link to idle
                }
                State::Coming(_) => {}
            }
            changed.await;
        }
    }

    /// Drops and counts what waits for longer than `kept`, and the oldest of too much.
    fn drop_old(&self, kept: Duration) {
        let mut held: Vec<_> = Vec::new();
        for (url, promise) in &*self.promises.borrow() {
            if let State::Here(since, _, body) = &*promise.state.borrow() {
                held.push((*since, body.len(), url.clone()));
            }
        }
        held.sort_unstable();
        let mut octets: usize = held.iter().map(|(_, octets, _)| octets).sum();
        for (since, length, url) in held {
            if since.elapsed() >= kept || octets > MOST {
                octets -= length;
                self.promises.borrow_mut().remove(&url);
                self.sums.add(|counts| {
                    counts.pushes_wasted += 1;
                    counts.pushes_wasted_bytes += length as u64;
                });
            }
        }
    }

    /// The end: nobody will ask any more.
    pub(crate) fn settle(&self) {
        self.drop_old(Duration::ZERO);
    }
}

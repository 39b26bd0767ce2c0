//! Objects that the server half sends before they are asked for, and the browser's requests that find them.
//!
//! A page's reply announces them; a request for one of them waits for it instead of going over the link. Each serves one request;
//! what nobody asks for is dropped after a minute and counted. Left out: requests that are somebody's own (cookies,
//! ranges): they are never answered from here.

use super::{Announced, Link};
use crate::optimise::counts::Sums;
use crate::optimise::receive::Receiver;
use bytes::Bytes;
use h2::client::{PushPromise, PushedResponseFuture};
use http_body_util::BodyExt;
use hyper::Response;
use hyper::header::HeaderMap;
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
    Coming,
    Here(Instant, Response<()>, Bytes),
    Gone,
}

struct Promise {
    number: u32,
    url: String,
    state: RefCell<State>,
    changed: Notify,
}

/// What has been announced.
pub(crate) struct Pushes {
    receiver: Rc<Receiver>,
    sums: Rc<Sums>,
    promises: RefCell<HashMap<String, Rc<Promise>>>,
    /// Announced; the stream has not begun.
    awaited: RefCell<HashMap<u32, Rc<Promise>>>,
    /// Begun; not announced yet, for the two may come on different connections.
    early: RefCell<HashMap<u32, PushedResponseFuture>>,
}

impl Pushes {
    pub(crate) fn new(receiver: Rc<Receiver>, sums: Rc<Sums>) -> Rc<Self> {
        let (promises, awaited, early) = Default::default();
        Rc::new(Self { receiver, sums, promises, awaited, early })
    }

    /// Takes note of what the reply to `page` announces.
    pub(crate) fn announced(self: &Rc<Self>, link: &Rc<Link>, page: &str, head: &HeaderMap) {
        self.drop_old(KEPT);
        for (number, url) in Announced::read(head, page) {
            let state = RefCell::new(State::Coming);
            let promise = Rc::new(Promise { number, url: url.clone(), state, changed: Notify::new() });
            self.sums.add(|counts| counts.pushes += 1);
            self.promises.borrow_mut().insert(url, promise.clone());
            let early = self.early.borrow_mut().remove(&number);
            match early {
                Some(reply) => self.begin(link, promise, reply),
                None => drop(self.awaited.borrow_mut().insert(number, promise)),
            }
        }
    }

    /// The stream of something announced begins.
    pub(crate) fn begun(self: &Rc<Self>, link: &Rc<Link>, promise: PushPromise) {
        let (request, reply) = promise.into_parts();
        let number = request.uri().path().strip_prefix("/push/").and_then(|number| number.parse().ok());
        let Some(number) = number else { return };
        let awaited = self.awaited.borrow_mut().remove(&number);
        match awaited {
            Some(promise) => self.begin(link, promise, reply),
            None => drop(self.early.borrow_mut().insert(number, reply)),
        }
    }

    /// The connection of the streams is gone: what has not begun will not.
    pub(crate) fn ended(&self) {
        self.early.borrow_mut().clear();
        for promise in self.awaited.take().into_values() {
            self.settled(&promise, None);
        }
    }

    fn begin(self: &Rc<Self>, link: &Rc<Link>, promise: Rc<Promise>, reply: PushedResponseFuture) {
        let (pushes, link) = (self.clone(), link.clone());
        tokio::task::spawn_local(async move {
            let got = pushes.get(&link, &promise.url, reply).await;
            pushes.settled(&promise, got);
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

    fn settled(&self, promise: &Rc<Promise>, got: Option<(Response<()>, Bytes)>) {
        let state = match got {
            Some((head, body)) => State::Here(Instant::now(), head, body),
            None => {
                self.sums.add(|counts| counts.pushes_withdrawn += 1);
                let mut promises = self.promises.borrow_mut();
                if promises.get(&promise.url).is_some_and(|known| Rc::ptr_eq(known, promise)) {
                    promises.remove(&promise.url);
                }
                State::Gone
            }
        };
        *promise.state.borrow_mut() = state;
        promise.changed.notify_waiters();
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
                State::Coming if !said => {
                    said = true;
                    link.mention(format!("/want/{}", promise.number)); // it need not wait for the link to idle
                }
                State::Coming => {}
            }
            tokio::time::timeout(KEPT, changed).await.ok()?;
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

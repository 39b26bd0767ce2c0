//! Parse-and-push: objects of a page are fetched and sent before the browser asks, while the link would idle.
//!
//! Everything is announced in the page's own head, so that no request for it crosses the link; bodies wait until no reply that was
//! asked for is being sent, or until theirs is. Only what everybody would get is pushed: no cookies either way. Left out: an order
//! other than the page's.

use super::counts::Sums;
use super::embedded::{embedded, is_readable};
use super::flow::whole;
use super::link::{Announced, itself, send_all};
use super::server::{ServerHalf, Session};
use super::target::Place;
use super::write::{Ready, Written};
use bytes::Bytes;
use h2::server::{SendPushedResponse, SendResponse};
use hyper::header::{
    ACCEPT_LANGUAGE, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, REFERER, SET_COOKIE,
    USER_AGENT, VARY, VIA,
};
use hyper::{Request, Response, StatusCode};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use tokio::sync::Notify;
use url::Url;

/// Pushes under way at once: two pages of the studies.
const MOST: usize = 200;
/// Octets sent before looking whether something more urgent has come.
const PIECE: usize = 4_096;

/// One object that was promised.
struct Push {
    number: u32,
    wanted: Cell<bool>,
    withdrawn: Cell<bool>,
    begun: Cell<bool>,
}

/// What is being pushed to one client half.
pub(crate) struct Pusher {
    promises: RefCell<Option<SendResponse<Bytes>>>,
    going: RefCell<HashMap<String, Rc<Push>>>,
    last: Cell<u32>,
    replies: Cell<u32>,
    changed: Notify,
    sums: Rc<Sums>,
}

/// A reply that was asked for is being sent.
pub(crate) struct ReplyGoing(Rc<Session>);

impl Drop for ReplyGoing {
    fn drop(&mut self) {
        let pushes = &self.0.pushes;
        pushes.replies.set(pushes.replies.get() - 1);
        pushes.changed.notify_waiters();
    }
}

impl Pusher {
    pub(crate) fn new(sums: Rc<Sums>) -> Self {
        let promises = RefCell::default();
        Self {
            promises,
            going: RefCell::default(),
            last: Cell::new(0),
            replies: Cell::new(0),
            changed: Notify::new(),
            sums,
        }
    }

    /// The client half takes promises on this stream.
    pub(crate) fn open(&self, stream: SendResponse<Bytes>) {
        *self.promises.borrow_mut() = Some(stream);
    }

    /// A browser waits for what was announced with this number.
    pub(crate) fn want(&self, number: u32) {
        if let Some(push) = self.going.borrow().values().find(|push| push.number == number) {
            push.wanted.set(true);
        }
        self.changed.notify_waiters();
    }

    /// A request and its promise passed each other: whichever goes first is the only one.
    pub(crate) fn asked_for(&self, url: &str) {
        if let Some(push) = self.going.borrow().get(url)
            && !push.begun.get()
        {
            push.withdrawn.set(true);
            self.changed.notify_waiters();
        }
    }

    fn promise(&self, url: &Url, announced: &mut Announced) -> Option<(Rc<Push>, SendPushedResponse<Bytes>)> {
        let mut going = self.going.borrow_mut();
        if going.len() >= MOST || going.contains_key(url.as_str()) {
            return None;
        }
        let number = self.last.get().wrapping_add(1);
        let request = itself(&format!("/push/{number}"))?;
        let mut promises = self.promises.borrow_mut();
        let promises = promises.as_mut().filter(|_| announced.add(url))?;
        self.last.set(number); // announced, whatever becomes of it
        let promised = promises.push_request(request).ok()?;
        let flag = || Cell::new(false);
        let push = Rc::new(Push { number, wanted: flag(), withdrawn: flag(), begun: flag() });
        going.insert(url.to_string(), push.clone());
        self.sums.add(|counts| counts.pushes += 1);
        Some((push, promised))
    }

    /// Waits until nothing more urgent is being sent; whether to send at all.
    async fn turn(&self, push: &Push) -> bool {
        loop {
            let changed = self.changed.notified();
            if push.withdrawn.get() {
                return false;
            }
            let first = || {
                self.going.borrow().values().all(|other| other.number >= push.number || !other.begun.get())
            };
            if push.wanted.get() || self.replies.get() == 0 && first() {
                return true;
            }
            changed.await;
        }
    }
}

impl Session {
    /// Pushes wait while what this gives is alive.
    pub(crate) fn reply_going(self: &Rc<Self>) -> ReplyGoing {
        self.pushes.replies.set(self.pushes.replies.get() + 1);
        ReplyGoing(self.clone())
    }
}

impl ServerHalf {
    /// Promises what belongs to a page or stylesheet, and begins to fetch it; what the reply is to announce.
    pub(crate) fn push_embedded(
        self: &Rc<Self>,
        session: &Rc<Session>,
        url: &str,
        page: &HeaderMap,
        reply: &Response<()>,
        plain: &Bytes,
    ) -> Option<Announced> {
        let kind = reply.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.to_ascii_lowercase();
        if reply.status() != StatusCode::OK
            || !is_readable(&kind)
            || reply.headers().contains_key(CONTENT_ENCODING)
            || reply.headers().contains_key(SET_COOKIE)
        {
            return None;
        }
        let mut announced = Announced::new(url, session.pushes.last.get().wrapping_add(1));
        for object in embedded(&kind, url, plain) {
            if let Some((push, promised)) = session.pushes.promise(&object, &mut announced) {
                let (half, session) = (self.clone(), session.clone());
                let mut fields = HeaderMap::new();
                for name in [USER_AGENT, ACCEPT_LANGUAGE] {
                    if let Some(value) = page.get(&name) {
                        fields.insert(name, value.clone());
                    }
                }
                if let Ok(referer) = HeaderValue::try_from(url) {
                    fields.insert(REFERER, referer);
                }
                tokio::task::spawn_local(async move {
                    let sent = half.push(&session, &object, fields, &push, promised).await;
                    session.pushes.going.borrow_mut().remove(object.as_str());
                    session.pushes.changed.notify_waiters();
                    if sent.is_none() {
                        half.sums.add(|counts| counts.pushes_withdrawn += 1);
                    }
                });
            }
        }
        Some(announced)
    }

    /// Fetches and sends one object; `None` when the promise is not kept.
    async fn push(
        self: &Rc<Self>,
        session: &Rc<Session>,
        url: &Url,
        fields: HeaderMap,
        push: &Push,
        mut promised: SendPushedResponse<Bytes>,
    ) -> Option<()> {
        let ready = self.fetch_pushed(session, url, fields).await;
        let octets = match &ready {
            Some(Ready { body: Written::Whole(octets), .. }) if session.pushes.turn(push).await => {
                Some(octets.clone())
            }
            _ => None,
        };
        let (Some(ready), Some(mut octets)) = (ready, octets) else {
            promised.send_reset(h2::Reason::CANCEL);
            return None;
        };
        push.begun.set(true);
        let mut stream = promised.send_response(ready.head.clone(), octets.is_empty()).ok()?;
        while !octets.is_empty() {
            session.pushes.turn(push).await;
            let piece = octets.split_to(octets.len().min(PIECE));
            send_all(&mut stream, piece, octets.is_empty()).await.ok()?;
        }
        session.sent(&ready);
        Some(())
    }

    async fn fetch_pushed(
        self: &Rc<Self>,
        session: &Rc<Session>,
        url: &Url,
        fields: HeaderMap,
    ) -> Option<Ready> {
        let place = Place::of(url.scheme(), url.authority())?;
        let address = self.origins.find(&place, None).await.ok()?;
        let target = &url[url::Position::BeforePath..];
        let mut request = Request::get(target).body(whole(Bytes::new())).ok()?;
        *request.headers_mut() = fields;
        request.headers_mut().insert(HOST, HeaderValue::try_from(place.authority()).ok()?);
        request.headers_mut().insert(VIA, HeaderValue::from_static("1.1 airperf"));
        let ready = self.fetch_from(session, (&place, address), url.as_str(), request, None).await.ok()?;
        let head = &ready.head;
        let alike = head
            .headers()
            .get_all(VARY)
            .iter()
            .all(|vary| vary.as_bytes().eq_ignore_ascii_case(b"accept-encoding"));
        (head.status() == StatusCode::OK && alike && !head.headers().contains_key(SET_COOKIE))
            .then_some(ready)
    }
}

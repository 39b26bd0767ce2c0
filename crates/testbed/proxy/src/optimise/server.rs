//! The server half: asks origins, and sends on the link what [`super::write`] makes of their replies.
//!
//! A body is taken whole, which costs little where origins are near. Left out: what comes slowly or is large: it
//! passes as it is.

use super::coding::MOST_WHOLE;
use super::counts::Sums;
use super::flow::{Flow, Gathered, flow, gather};
use super::link::{Coded, Inward, Wants, reply_outward, say, send_all, send_body, want_plain};
use super::origin::Origins;
use super::push::Pusher;
use super::store::{Hash, Store};
use super::stream::Incoming;
use super::target::Place;
use super::tunnel;
use super::write::{Ready, Written};
use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use hyper::{Method, Request, Response, StatusCode};
use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

/// Longest wait for the whole of a body before its beginning is passed on.
const PATIENCE: Duration = Duration::from_secs(1);
/// Octets of bodies kept for one client half.
const KEPT: usize = 1 << 26;
/// Client halves remembered.
const MOST_SESSIONS: usize = 16;
/// Hashes that a client half is taken to know; beyond, it is taken to know none.
const MOST_KNOWN: usize = 100_000;

/// One client half.
pub(crate) struct Session {
    pub(crate) wants: Wants,
    pub(crate) store: RefCell<Store>,
    pub(crate) pushes: Pusher,
    pub(super) known: RefCell<HashSet<Hash>>,
}

/// The server half.
pub(crate) struct ServerHalf {
    pub(crate) origins: Rc<Origins>,
    pub(crate) sums: Rc<Sums>,
    sessions: RefCell<VecDeque<Rc<Session>>>,
}

impl Session {
    /// The client half has what was sent.
    pub(crate) fn sent(&self, ready: &Ready) {
        if let Some(hash) = ready.hash {
            let mut known = self.known.borrow_mut();
            if known.len() >= MOST_KNOWN {
                known.clear();
            }
            known.insert(hash);
        }
    }
}

impl ServerHalf {
    pub(crate) fn new(origins: Rc<Origins>, sums: Rc<Sums>) -> Rc<Self> {
        Rc::new(Self { origins, sums, sessions: RefCell::default() })
    }

    /// The client half with these wants, known or new.
    pub(crate) fn session(&self, wants: Wants) -> Rc<Session> {
        let mut sessions = self.sessions.borrow_mut();
        if let Some(known) = sessions.iter().find(|session| session.wants == wants) {
            return known.clone();
        }
        let session = Rc::new(Session {
            wants,
            store: RefCell::new(Store::new(KEPT)),
            pushes: Pusher::new(self.sums.clone()),
            known: RefCell::default(),
        });
        if sessions.len() == MOST_SESSIONS {
            sessions.pop_front();
        }
        sessions.push_back(session.clone());
        session
    }

    /// Answers a request off the link.
    pub(crate) async fn answer(
        self: &Rc<Self>,
        session: &Rc<Session>,
        inward: Inward<RecvStream>,
        mut respond: SendResponse<Bytes>,
    ) {
        let url = inward.asked.url();
        let pushable = session.wants.push && inward.asked.is_plain_get();
        let page = pushable.then(|| inward.asked.request.headers().clone());
        session.pushes.asked_for(&url);
        let mut ready = match self.fetch(session, inward).await {
            Ok(ready) => ready,
            Err(status) => {
                self.sums.add(|counts| {
                    if status == StatusCode::FORBIDDEN { counts.refused += 1 } else { counts.failed += 1 }
                });
                return say(&mut respond, status);
            }
        };
        if let (Some(page), Some(plain)) = (page, &ready.plain)
            && let Some(announced) = self.push_embedded(session, &url, &page, &ready.head, plain)
        {
            announced.write(ready.head.headers_mut());
        }
        let _sending = session.reply_going();
        let empty = matches!(&ready.body, Written::Whole(octets) if octets.is_empty());
        let Ok(mut stream) = respond.send_response(ready.head.clone(), empty) else { return };
        let sent = match &ready.body {
            Written::Whole(_) if empty => true,
            Written::Whole(octets) => send_all(&mut stream, octets.clone(), true).await.is_ok(),
            Written::Passing(..) => false,
        };
        if sent {
            session.sent(&ready);
        } else if let Written::Passing(start, rest) = ready.body
            && send_all(&mut stream, start, false).await.is_ok()
            && let Ok(octets) = send_body(&mut stream, rest).await
        {
            self.sums.add(|counts| counts.body_bytes += octets);
        }
    }

    /// Asks the origin and writes its reply for the link; the status to answer with otherwise.
    pub(crate) async fn fetch(
        self: &Rc<Self>,
        session: &Rc<Session>,
        inward: Inward<RecvStream>,
    ) -> Result<Ready, StatusCode> {
        let Inward { asked, at, base } = inward;
        let url = asked.url();
        let address = self.origins.find(&asked.place, at).await?;
        let request = asked.request.map(|body| flow(Incoming::new(body)));
        self.fetch_from(session, (&asked.place, address), &url, request, base).await
    }

    pub(crate) async fn fetch_from(
        self: &Rc<Self>,
        session: &Rc<Session>,
        (place, address): (&Place, std::net::SocketAddr),
        url: &str,
        mut request: Request<Flow>,
        base: Option<Hash>,
    ) -> Result<Ready, StatusCode> {
        let wants = &session.wants;
        if wants.compress.is_some() || wants.cache || wants.delta || wants.push {
            want_plain(request.headers_mut());
        }
        let is_get = *request.method() == Method::GET;
        let reply = self.origins.ask(place, address, request).await?;
        let (parts, body) = reply.into_parts();
        let reply = Response::from_parts(parts, ());
        match gather(body, MOST_WHOLE, PATIENCE).await.map_err(|_| StatusCode::BAD_GATEWAY)? {
            Gathered::Whole(plain) => {
                self.sums.add(|counts| counts.body_bytes += plain.len() as u64);
                let keep = is_get && reply.status() == StatusCode::OK && (wants.cache || wants.delta);
                Ok(self.write(session, url, &reply, plain, base, keep))
            }
            Gathered::Part(start, rest) => {
                self.sums.add(|counts| counts.body_bytes += start.len() as u64);
                let head = reply_outward(&reply, &Coded::PLAIN);
                Ok(Ready { head, body: Written::Passing(start, rest), hash: None, plain: None })
            }
        }
    }

    /// Opens a tunnel to an origin.
    pub(crate) async fn tunnel(
        self: &Rc<Self>,
        inward: Inward<RecvStream>,
        mut respond: SendResponse<Bytes>,
    ) {
        let address = match self.origins.find(&inward.asked.place, inward.at).await {
            Ok(address) => address,
            Err(status) => {
                self.sums.add(|counts| counts.refused += 1);
                return say(&mut respond, status);
            }
        };
        let Some(origin) = self.origins.connect(address).await else {
            self.sums.add(|counts| counts.failed += 1);
            return say(&mut respond, StatusCode::BAD_GATEWAY);
        };
        let Ok(stream) = respond.send_response(Response::new(()), false) else { return };
        self.sums.add(|counts| counts.tunnels += 1);
        let octets = tunnel::carry(origin, stream, inward.asked.request.into_body()).await;
        self.sums.add(|counts| counts.body_bytes += octets);
    }
}

//! The inside of a tunnel: TLS answered in the origin's place, so that what is asked in it can be optimised, too.
//!
//! Only for browsers whose user lets them trust the authority of this one run; whom origins are believed by is said to `origin`.
//! Reference: RFC 9110 §9.3.6, RFC 8446, RFC 9113. Left out: other protocols than HTTP on port 443, which fail; certificates of clients.

use super::front::{Front, http1_server};
use super::request::Door;
use super::target::Place;
use crate::serve::HEAD_LIMIT;
use airperf_host::Authority;
use hyper::Request;
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::cell::RefCell;
use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// Names whose certificates are kept; beyond, all are made anew.
const MOST_NAMES: usize = 1_000;

/// Who answers the TLS of tunnels.
pub(crate) struct Intercept {
    authority: Arc<Authority>,
    known: RefCell<HashMap<String, TlsAcceptor>>,
}

impl Intercept {
    pub(crate) fn new(authority: Arc<Authority>) -> Self {
        Self { authority, known: RefCell::default() }
    }

    /// In the place of the host with this name; `None` for one that no certificate can carry.
    fn acceptor(&self, host: &str) -> Option<TlsAcceptor> {
        if let Some(known) = self.known.borrow().get(host) {
            return Some(known.clone());
        }
        let config = self.authority.server(std::iter::once(host), true).ok()?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let mut known = self.known.borrow_mut();
        if known.len() >= MOST_NAMES {
            known.clear();
        }
        known.insert(host.to_owned(), acceptor.clone());
        Some(acceptor)
    }
}

/// Runs the streams of a connection on this thread.
#[derive(Clone, Copy)]
struct Here;

impl<F: Future + 'static> Executor<F> for Here {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}

impl Front {
    /// Answers what a browser asks within a tunnel to `place`, to its end.
    pub(crate) fn inside(
        self: Rc<Self>,
        upgrade: hyper::upgrade::OnUpgrade,
        place: Place,
    ) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            let Ok(browser) = upgrade.await else { return };
            let acceptor = self.intercept.as_ref().and_then(|intercept| intercept.acceptor(&place.host));
            let Some(acceptor) = acceptor else { return };
            let Ok(Ok(stream)) = timeout(HEAD_LIMIT, acceptor.accept(TokioIo::new(browser))).await else {
                self.sums.add(|counts| counts.failed += 1); // it does not trust the authority, or speaks no TLS
                return;
            };
            self.sums.add(|counts| counts.intercepted += 1);
            let has_frames = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            let door = Rc::new(Door::Within(Place { tls: true, ..place }));
            let service = service_fn(move |request: Request<Incoming>| {
                let (front, door) = (self.clone(), door.clone());
                async move { Ok::<_, Infallible>(front.answer(request, &door, None).await) }
            });
            // What goes wrong from here on is the browser's.
            if has_frames {
                let mut http = http2::Builder::new(Here);
                http.timer(TokioTimer::new());
                let _ = http.serve_connection(TokioIo::new(stream), service).await;
            } else {
                let _ = http1_server().serve_connection(TokioIo::new(stream), service).await;
            }
        })
    }
}

//! Requests paired with responses: the exchanges of one connection that are not over yet.
//!
//! Responses come in the order of the requests (RFC 9112 §9.3.2). Where octets were not captured the
//! acknowledgements tell which request a response can belong to: one that the server had when it
//! answered, and whose client had not read further than where the response begins.

use std::collections::VecDeque;
use std::num::NonZeroU8;

use airperf_record::capture::EXCHANGE_ERRORS;

use super::framing::{Body, Method, RequestLine, StatusLine};
use super::head::{Fields, Words};
use super::instant::Maybe;
use super::parser::{Listener, Opaque};
use super::reassembly::Seen;
use super::{Application, Watch};

/// What is known of a connection besides its open exchanges; kept when its streams are left alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Exchanges whose outcome was given.
    pub(super) closed: u32,
    pub(super) requests: u32,
    pub(super) responses: u32,
    pub(super) completed: u32,
    /// Exchanges that end in `cut`.
    pub(super) cut: u32,
    /// Exchanges whose requests were not seen.
    pub(super) unasked: u32,
    pub(super) opaque: bool,
    /// The ends left HTTP/1.
    pub(super) switched: bool,
    pub(super) application: Application,
    pub(super) think_ns: u64,
    /// One more than the place of its word in [`EXCHANGE_ERRORS`].
    first_error: Option<NonZeroU8>,
    /// Octets of responses that the client acknowledged, as far as they are read.
    pub(super) acked: Maybe,
}

impl Tally {
    /// Why the first exchange that did not end well did not.
    pub(super) fn first_error(&self) -> Option<&'static str> {
        EXCHANGE_ERRORS.get(usize::from(self.first_error?.get()) - 1).copied()
    }

    /// An exchange did not end well.
    pub(super) fn failed(&mut self, error: &str) {
        let place = EXCHANGE_ERRORS.iter().position(|word| *word == error);
        let code = place.and_then(|place| NonZeroU8::new(place as u8 + 1));
        self.first_error = self.first_error.or(code);
    }

    /// A message was seen.
    fn is_http(&mut self) {
        self.application = match self.application {
            Application::Unknown => Application::Http1,
            // The other direction is something else.
            Application::Other => Application::Ambiguous,
            known => known,
        };
    }
}

/// Why an exchange cannot end well any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Open,
    /// Octets that it takes to tell were not captured.
    Cut,
    /// Nobody can tell how long a message is.
    Ambiguous,
}

/// A request and what is known of its response; places are offsets from the first octet of payload.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    pub(super) sent: Maybe,
    pub(super) asked: Maybe,
    pub(super) request: (Maybe, Maybe),
    /// What the segment acknowledged in which the request began, or the response if nobody asked.
    pub(super) acked: u64,
    pub(super) response: (Maybe, Maybe),
    pub(super) body_start: Maybe,
    pub(super) first_byte: Maybe,
    pub(super) done: Maybe,
    /// What the client was waiting for when it closed its side, and how far it could read then.
    pub(super) abandoned: Option<(&'static str, u64)>,
    pub(super) status: u16,
    pub(super) version: u8,
    pub(super) method: Method,
    pub(super) fate: Fate,
    /// The end of the request was not captured.
    pub(super) request_is_lost: bool,
    /// The response ends where the server closes.
    pub(super) ends_at_close: bool,
    pub(super) words: Option<Box<Words>>,
}

impl Exchange {
    pub(super) fn new(acked: u64) -> Self {
        Self {
            sent: Maybe::NOT,
            asked: Maybe::NOT,
            request: (Maybe::NOT, Maybe::NOT),
            acked,
            response: (Maybe::NOT, Maybe::NOT),
            body_start: Maybe::NOT,
            first_byte: Maybe::NOT,
            done: Maybe::NOT,
            abandoned: None,
            status: 0,
            version: 0,
            method: Method::Other,
            fate: Fate::Open,
            request_is_lost: false,
            ends_at_close: false,
            words: None,
        }
    }

    /// Whether its request was seen.
    pub(super) fn is_asked(&self) -> bool {
        self.request.0.is_known()
    }
}

/// The open exchanges of one connection.
#[derive(Debug)]
pub(super) struct Book {
    pub(super) watch: Watch,
    /// In the order of their responses.
    pub(super) open: VecDeque<Exchange>,
    /// Place in `open` of the exchange whose response is next or being sent.
    pub(super) answering: usize,
    /// Place in `open` of the exchange whose request is being sent.
    pub(super) asking: Option<usize>,
    /// When the last response was complete.
    pub(super) last_done: Maybe,
    /// No more requests can be told.
    pub(super) requests_are_over: bool,
    /// No more responses can be told.
    pub(super) responses_are_over: bool,
}

impl Book {
    pub(super) fn new(watch: Watch) -> Self {
        Self {
            watch,
            // Most connections have one at a time.
            open: VecDeque::with_capacity(1),
            answering: 0,
            asking: None,
            last_done: Maybe::NOT,
            requests_are_over: false,
            responses_are_over: false,
        }
    }

    /// Removes the first exchange.
    pub(super) fn pop(&mut self) -> Option<Exchange> {
        self.answering = self.answering.saturating_sub(1);
        self.asking = self.asking.and_then(|at| at.checked_sub(1));
        self.open.pop_front()
    }

    fn is_run(&self) -> bool {
        self.watch == Watch::Run
    }

    fn wants_words(&self) -> bool {
        matches!(self.watch, Watch::Capture { words: true, .. })
    }

    fn asked_now(&mut self) -> Option<&mut Exchange> {
        self.asking.and_then(|at| self.open.get_mut(at))
    }

    fn answered_now(&mut self) -> Option<&mut Exchange> {
        self.open.get_mut(self.answering)
    }

    /// Ends what nobody can tell the responses of.
    fn end_analysis(&mut self) {
        self.requests_are_over = true;
        self.responses_are_over = true;
        if self.is_run() {
            // Nobody can tell what becomes of what is still awaited: these are no exchanges.
            self.open.truncate(self.answering);
        }
        for exchange in self.open.iter_mut().skip(self.answering) {
            exchange.fate = Fate::Ambiguous;
        }
    }

    /// After missing octets: passes over exchanges whose responses must have been among them, when a
    /// response begins at `at` in a segment that acknowledges `acked` octets of requests.
    fn skip_lost(&mut self, at: u64, acked: Option<u64>) {
        let Some(acked) = acked else { return };
        let fits = |e: &&Exchange| e.request.0.get().is_some_and(|start| start < acked) && e.acked <= at;
        let Some(last) = self.open.iter().skip(self.answering).take_while(fits).last() else { return };
        let read_to = last.acked;
        while let Some(exchange) = self.open.get_mut(self.answering).filter(|e| e.acked < read_to) {
            exchange.fate = Fate::Cut;
            self.answering += 1;
        }
    }
}

/// Hears of requests.
pub(super) struct Asking<'a> {
    pub(super) book: &'a mut Book,
    pub(super) tally: &'a mut Tally,
}

impl Listener for Asking<'_> {
    const REQUESTS: bool = true;

    fn begins(&mut self, at: u64, seen: Seen, _lost: bool) {
        let book = &mut *self.book;
        // Its response may have been seen first.
        let is_early = |e: &Exchange| !e.is_asked() && e.acked > at;
        let early = if book.is_run() { None } else { book.open.iter().position(is_early) };
        let index = early.unwrap_or_else(|| {
            if book.answering >= book.open.len() {
                let think = book.last_done.get().map_or(0, |done| seen.at_ns.saturating_sub(done));
                self.tally.think_ns = self.tally.think_ns.saturating_add(think);
            }
            book.open.push_back(Exchange::new(seen.acked.unwrap_or(0)));
            book.open.len() - 1
        });
        book.asking = Some(index);
        if let Some(exchange) = book.open.get_mut(index) {
            exchange.sent = seen.at_ns.into();
            exchange.request.0 = at.into();
        }
    }

    fn head(&mut self, head: &[u8], fields: &Fields<'_>, _end: u64) -> Option<Body> {
        let line = RequestLine::parse(head)?;
        self.tally.requests += 1;
        self.tally.is_http();
        let wanted = self.book.wants_words();
        if let Some(exchange) = self.book.asked_now() {
            exchange.method = line.kind();
            if wanted {
                exchange.words.get_or_insert_default().ask(line.method, line.target, fields.host);
            }
        }
        Some(RequestLine::body(fields))
    }

    fn cut_head(&mut self, head: &[u8]) {
        let mut words = head.split(|b| matches!(b, b' ' | b'\r' | b'\n'));
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if !super::framing::begins_request(head) {
            return;
        }
        let host = Fields::parse(head).0.host;
        self.tally.requests += 1;
        self.tally.is_http();
        let wanted = self.book.wants_words();
        if let Some(exchange) = self.book.asked_now().filter(|_| wanted) {
            exchange.words.get_or_insert_default().ask(method, target, host);
        }
    }

    fn ends(&mut self, at: u64, seen: Seen) {
        if let Some(exchange) = self.book.asked_now() {
            exchange.request.1 = at.into();
            exchange.asked = seen.in_order_ns.into();
        }
        self.book.asking = None;
    }

    fn has_no_body(&mut self) {}

    fn ends_at_close(&mut self) {}

    fn is_lost(&mut self) {
        if let Some(exchange) = self.book.asked_now() {
            exchange.request_is_lost = true;
        }
        self.book.asking = None;
    }

    fn is_opaque(&mut self, why: Opaque) {
        self.book.requests_are_over = true;
        judge(self.tally, why);
        let Some(at) = self.book.asking.take() else { return };
        if why == Opaque::Ambiguous && !self.book.is_run() {
            self.book.open.get_mut(at).into_iter().for_each(|e| e.fate = Fate::Ambiguous);
        } else if at + 1 == self.book.open.len() && self.book.answering <= at {
            // A beginning that turned out to be no request is no exchange.
            self.book.open.pop_back();
            self.book.responses_are_over |= self.book.open.is_empty();
        }
    }
}

/// Hears of responses.
pub(super) struct Answering<'a> {
    pub(super) book: &'a mut Book,
    pub(super) tally: &'a mut Tally,
    pub(super) now: u64,
}

impl Answering<'_> {
    /// Octets in order since earlier than now came after a hole: they were there when they were seen.
    fn earlier(&self, seen: Seen) -> Option<u64> {
        (!self.book.is_run() && seen.in_order_ns < self.now).then_some(seen.in_order_ns)
    }

    fn started(&mut self, line: StatusLine) {
        self.tally.responses += 1;
        self.tally.is_http();
        if let Some(exchange) = self.book.answered_now() {
            (exchange.status, exchange.version) = (line.status, line.version);
        }
    }
}

impl Listener for Answering<'_> {
    const REQUESTS: bool = false;

    fn begins(&mut self, at: u64, seen: Seen, lost: bool) {
        let earlier = self.earlier(seen);
        let book = &mut *self.book;
        if let Some(before) = book.answering.checked_sub(1).and_then(|i| book.open.get_mut(i)) {
            // What was lost ends before this.
            before.response.1.set_first(at);
        }
        if lost {
            book.skip_lost(at, seen.acked);
        }
        let acked = seen.acked.unwrap_or(u64::MAX);
        let next = book.open.get(book.answering);
        let is_asked = next.is_some_and(|e| e.request.0.get().is_none_or(|start| start < acked));
        if !is_asked && !book.is_run() && !book.requests_are_over {
            book.open.insert(book.answering, Exchange::new(acked));
            book.asking = book.asking.map(|i| if i >= book.answering { i + 1 } else { i });
        }
        if let Some(exchange) = book.answered_now() {
            exchange.response.0 = at.into();
            earlier.into_iter().for_each(|time| exchange.first_byte.set_first(time));
        }
    }

    fn head(&mut self, head: &[u8], fields: &Fields<'_>, end: u64) -> Option<Body> {
        let line = StatusLine::parse(head)?;
        let wanted = self.book.wants_words();
        // A response that cannot be paired with anything is not read.
        let exchange = self.book.answered_now()?;
        let body = match line.body(exchange.method, fields) {
            Body::Octets(length) if length > 0 && !exchange.is_asked() => Body::OctetsIfAny(length),
            body => body,
        };
        if body == Body::Interim {
            (exchange.response.0, exchange.first_byte) = (Maybe::NOT, Maybe::NOT);
            return Some(body);
        }
        exchange.body_start = end.into();
        if wanted {
            exchange.words.get_or_insert_default().answer(fields.content_type);
        }
        self.started(line);
        Some(body)
    }

    fn cut_head(&mut self, head: &[u8]) {
        if let Some(line) = StatusLine::parse(head) {
            self.started(line);
        }
    }

    fn ends(&mut self, at: u64, seen: Seen) {
        let earlier = self.earlier(seen);
        if let Some(exchange) = self.book.answered_now() {
            exchange.response.1 = at.into();
            earlier.into_iter().for_each(|time| exchange.done.set_first(time));
            self.book.answering += 1;
        }
    }

    fn has_no_body(&mut self) {
        if let Some(exchange) = self.book.answered_now() {
            // It was there with its head.
            (exchange.response.1, exchange.done) = (exchange.body_start, exchange.first_byte);
            self.book.answering += 1;
        }
    }

    fn ends_at_close(&mut self) {
        if let Some(exchange) = self.book.answered_now() {
            exchange.ends_at_close = true;
        }
    }

    fn is_lost(&mut self) {
        if let Some(exchange) = self.book.answered_now() {
            exchange.fate = Fate::Cut;
            self.book.answering += 1;
        }
    }

    fn is_opaque(&mut self, why: Opaque) {
        judge(self.tally, why);
        let at = self.book.answering;
        if self.book.open.get(at).is_some_and(|e| !e.is_asked() && e.status == 0) {
            self.book.open.remove(at);
        }
        if self.tally.application == Application::Other && self.book.open.is_empty() {
            // The client has not spoken yet: it may still tell what this is.
            self.book.responses_are_over = true;
        } else {
            self.book.end_analysis();
        }
    }
}

/// What a connection is whose stream cannot be read further.
fn judge(tally: &mut Tally, why: Opaque) {
    tally.opaque = true;
    tally.switched |= matches!(why, Opaque::Switched { .. });
    tally.application = match (why, tally.application) {
        (Opaque::Http2 | Opaque::Switched { http2: true }, _) => Application::Http2,
        (Opaque::Switched { http2: false }, _) => Application::Http1,
        (Opaque::Ambiguous, _) | (Opaque::Foreign, Application::Http1) => Application::Ambiguous,
        (Opaque::Foreign, Application::Unknown) => Application::Other,
        (Opaque::Foreign, known) => known,
    };
}

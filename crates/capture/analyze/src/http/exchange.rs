//! What was spoken on one connection, and its HTTP/1 exchanges: what was asked and answered, and when.
//!
//! Boundaries are found in the streams as they were sent; times are those at the client: a request is
//! sent when its first octet is, a response is there when its octets can be read without a gap.
//! Nothing is kept of a connection without payload, nor of one whose streams cannot be read.

use std::collections::VecDeque;

use super::ahead::Ahead;
use super::book::{Answering, Asking, Book, Exchange, Fate, Tally};
use super::instant::Maybe;
use super::outcome::Outcome;
use super::reassembly::Reassembly;
use super::rest::Rest;
use super::side::{Reading, Side};
use super::{Application, Octets, Watch};
use crate::capture::application::tls::Hello;

/// Most requests that may await their responses on one connection of a run.
const MOST_OPEN: usize = 4096;
/// Same, of a capture, where thousands of connections share the memory.
const MOST_OPEN_IN_CAPTURE: usize = 128;
/// How long a response waits for its request to be seen: sniffers reorder by milliseconds.
pub(super) const PATIENCE_NS: u64 = 100_000_000;
/// How many exchanges wait for responses of which none was ever captured.
const MOST_UNHEARD: usize = 16;

/// The exchanges of one connection.
#[derive(Debug)]
pub(crate) struct Exchanges {
    watch: Watch,
    tally: Tally,
    hello: Option<Box<Hello>>,
    /// There from the first octet of payload until nothing more can be read, but while it is at rest.
    pub(super) talk: Option<Box<Talk>>,
    /// What is left of it while nothing comes, where memory is short.
    rest: Option<Box<Rest>>,
    ahead: Ahead,
}

/// Streams that are being read.
#[derive(Debug)]
pub(super) struct Talk {
    pub(super) up: Reassembly,
    pub(super) down: Reassembly,
    pub(super) requests: Side,
    pub(super) responses: Side,
    pub(super) book: Book,
    /// Where the requests end as far as they were sent.
    pub(super) asked_to: u64,
}

impl Exchanges {
    pub(crate) fn new(watch: Watch) -> Self {
        Self { watch, tally: Tally::default(), hello: None, talk: None, rest: None, ahead: Ahead::default() }
    }

    /// Whether any request was seen, or something that nobody can read.
    pub(crate) fn any(&self) -> bool {
        self.tally.closed > 0
            || self.tally.opaque
            || self.talk.as_ref().is_some_and(|t| !t.book.open.is_empty())
            || self.is_asked_at_rest()
    }

    /// Whether the streams turned out to be no HTTP/1, or no longer.
    pub(crate) fn is_opaque(&self) -> bool {
        self.tally.opaque
    }

    /// What was spoken, by content.
    pub(crate) fn application(&self) -> Application {
        self.tally.application
    }

    /// Names that TLS sent in the clear.
    pub(crate) fn hello(&self) -> Option<&Hello> {
        self.hello.as_deref()
    }

    /// Requests begun.
    pub(crate) fn requests(&self) -> u32 {
        self.tally.requests
    }

    /// Responses begun, interim ones left out.
    pub(crate) fn responses(&self) -> u32 {
        self.tally.responses
    }

    /// Exchanges that lack octets which were not captured.
    pub(crate) fn cut(&self) -> u32 {
        self.tally.cut
    }

    /// Exchanges whose requests were not captured.
    pub(crate) fn unasked(&self) -> u32 {
        self.tally.unasked
    }

    /// Whether the ends agreed to leave HTTP/1.
    pub(crate) fn is_switched(&self) -> bool {
        self.tally.switched
    }

    /// Exchanges that ended well.
    pub(crate) fn completed(&self) -> u32 {
        self.tally.completed
    }

    /// Why the first exchange that did not end well did not.
    pub(crate) fn first_error(&self) -> Option<&'static str> {
        self.tally.first_error()
    }

    /// Time from a response's last octet to the next request, summed.
    pub(crate) fn think_ns(&self) -> u64 {
        self.tally.think_ns
    }

    /// Makes sure that there is a talk, if it is not over.
    fn talk(&mut self) {
        self.catch_up();
        if self.talk.is_none() {
            let mut talk = Box::new(Talk::new(self.watch));
            if let Some(rest) = self.rest.take() {
                rest.wake(&mut talk);
            }
            self.talk = Some(talk);
        }
    }

    /// Gives back what nobody needs before more of the next exchange comes.
    pub(crate) fn rest(&mut self) {
        if let Some(rest) = self.talk.as_mut().and_then(|talk| Rest::of(talk)) {
            self.rest = Some(Box::new(rest));
            self.talk = None;
        }
    }

    fn is_asked_at_rest(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| rest.is_asked())
    }

    /// Has the talk at hand if anything is open in it.
    fn wake(&mut self) {
        if self.is_asked_at_rest() {
            self.talk();
        }
        self.catch_up();
    }

    /// Whether nothing can be learnt from `octets`.
    fn is_idle(&self, octets: &Octets<'_>) -> bool {
        octets.length == 0 || self.is_left_alone()
    }

    /// Whether nothing can be learnt from octets any more.
    fn is_left_alone(&self) -> bool {
        self.talk.is_none() && self.rest.is_none() && self.tally.opaque
    }

    /// Whether `length` octets from `start` on, which come in order, are of no interest; if so they are passed over,
    /// which is the same as [`Self::asked`], or [`Self::answered`] and [`Self::read`].
    #[inline]
    pub(crate) fn pass(&mut self, up: bool, start: u64, length: u64) -> bool {
        !up && self.ahead.pass(start, length) || self.is_left_alone()
    }

    /// The client acknowledged its stream up to `acked` and has not closed its side: the same as
    /// [`Self::client_acked`] then.
    #[inline]
    pub(crate) fn acked(&mut self, acked: u64) {
        if self.talk.is_some() || self.rest.is_some() {
            self.tally.acked = self.tally.acked.get().map_or(acked, |before| before.max(acked)).into();
        }
    }

    /// Tells the streams of what was passed over.
    fn catch_up(&mut self) {
        let passed_to = std::mem::take(&mut self.ahead).next();
        if let (Some(to), Some(talk)) = (passed_to, &mut self.talk) {
            talk.responses.passed(to - talk.down.next);
            talk.down.next = to;
        }
    }

    /// The client sent octets of its stream.
    pub(crate) fn asked(&mut self, octets: &Octets<'_>, out: &mut VecDeque<Outcome>) {
        if self.is_idle(octets) {
            return;
        }
        self.talk();
        let Self { tally, hello, talk: Some(talk), .. } = self else { return };
        let Talk { up, requests, book, asked_to, .. } = &mut **talk;
        let to = Asking { book, tally };
        let mut reading = Reading { side: requests, to, hello };
        up.add(octets, &mut reading);
        *asked_to = (*asked_to).max(octets.start.saturating_add(octets.length));
        talk.limit(tally, out);
        self.settle();
    }

    /// The server sent octets of its stream.
    pub(crate) fn answered(&mut self, octets: &Octets<'_>) {
        if self.is_idle(octets) {
            return;
        }
        self.talk();
        let Self { tally, hello, talk: Some(talk), .. } = self else { return };
        let Talk { down, responses, book, .. } = &mut **talk;
        let to = Answering { book, tally, now: octets.time_ns };
        let mut reading = Reading { side: responses, to, hello };
        down.add(octets, &mut reading);
        self.settle();
    }

    /// Forgets the streams when nothing more can be read.
    fn settle(&mut self) {
        let Some(talk) = &mut self.talk else { return };
        let Book { requests_are_over, responses_are_over, .. } = talk.book;
        if requests_are_over {
            talk.requests.give_up();
        }
        if responses_are_over {
            talk.responses.give_up();
        }
        let is_empty = talk.book.open.is_empty();
        if is_empty && talk.requests.is_over() && (talk.responses.is_over() || requests_are_over) {
            self.talk = None;
            self.tally.acked = Maybe::NOT;
        }
    }

    /// The client can read its stream up to `readable`, and to its end when the server's FIN arrived too.
    pub(crate) fn read(&mut self, now: u64, readable: u64, at_end: bool, out: &mut VecDeque<Outcome>) {
        self.wake();
        if let Self { tally, talk: Some(talk), .. } = self {
            talk.read(tally, now, readable, at_end, out);
            self.settle();
        }
        if let Self { tally, talk: Some(talk), .. } = self {
            self.ahead = talk.ahead(tally);
        }
    }

    /// The client closed its side: what it still awaits may be abandoned.
    pub(crate) fn client_closed(&mut self, readable: u64) {
        self.wake();
        let Some(talk) = &mut self.talk else { return };
        let phase = talk.phase(readable);
        for exchange in &mut talk.book.open {
            exchange.abandoned.get_or_insert((phase, readable));
        }
    }

    /// The client acknowledged its stream up to `acked` without complaint: complete responses to what it
    /// seemed to have abandoned were welcome.
    #[inline]
    pub(crate) fn client_acked(&mut self, acked: u64, readable: u64, out: &mut VecDeque<Outcome>) {
        self.acked(acked);
        self.catch_up();
        if let Self { tally, talk: Some(talk), .. } = self {
            let welcome = |e: &Exchange| {
                e.abandoned.is_some()
                    && e.done.is_known()
                    && e.response.1.get().is_some_and(|end| acked >= end)
            };
            while talk.book.open.front().is_some_and(welcome) {
                talk.give(tally, readable, None, out);
            }
        }
    }

    /// Nothing more comes: everything awaited is an error, `error` or what the client was waiting for.
    pub(crate) fn end(&mut self, readable: u64, error: Option<&'static str>, out: &mut VecDeque<Outcome>) {
        self.wake();
        self.rest = None;
        let Self { tally, hello, talk: Some(talk), .. } = self else { return };
        if self.watch != Watch::Run {
            talk.finish(tally, hello);
        }
        while let Some(front) = talk.book.open.front() {
            // What reaches a closed socket is thrown away.
            let (error, readable) = match front.abandoned {
                Some((phase, readable)) => (Some(phase), readable),
                None if front.done.is_known() && front.response.1.get().is_some_and(|e| e <= readable) => {
                    (None, readable)
                }
                None => (Some(error.unwrap_or_else(|| talk.phase(readable))), readable),
            };
            talk.give(tally, readable, error, out);
        }
        self.talk = None;
    }

    /// The connection ended before any request: the exchange it was opened for is an error.
    pub(crate) fn never_asked(&mut self, error: &'static str, out: &mut VecDeque<Outcome>) {
        self.tally.failed(error);
        self.tally.closed += 1;
        out.push_back(Outcome { error: Some(error), ..Outcome::default() });
    }
}

impl Talk {
    fn new(watch: Watch) -> Self {
        let whole = !matches!(watch, Watch::Capture { whole: false, .. });
        Self {
            up: Reassembly::default(),
            down: Reassembly::default(),
            requests: Side::new(whole),
            responses: Side::new(whole),
            book: Book::new(watch),
            asked_to: 0,
        }
    }

    /// The octets of the response that is being sent, if nothing of them matters but where they end.
    fn ahead(&self, tally: &Tally) -> Ahead {
        let Book { open, answering: 0, requests_are_over: false, responses_are_over: false, .. } = &self.book
        else {
            return Ahead::default();
        };
        let begun = |front: &Exchange| {
            front.fate == Fate::Open && front.first_byte.is_known() && !front.response.1.is_known()
        };
        let left = self.responses.ahead().filter(|_| {
            tally.application == Application::Http1 && self.down.is_empty() && open.front().is_some_and(begun)
        });
        left.map_or_else(Ahead::default, |left| Ahead::new(self.down.next, left))
    }

    /// Whether the client read octets that were not captured.
    fn misses_responses(&self, tally: &Tally) -> bool {
        self.book.watch != Watch::Run && tally.acked.get().is_some_and(|acked| acked > self.down.next)
    }

    /// Keeps the number of open exchanges bounded.
    fn limit(&mut self, tally: &mut Tally, out: &mut VecDeque<Outcome>) {
        let unheard = self.down.next == 0 && self.misses_responses(tally);
        while unheard && self.book.open.len() > MOST_UNHEARD {
            self.give(tally, 0, Some("cut"), out);
        }
        let most = if self.book.watch == Watch::Run { MOST_OPEN } else { MOST_OPEN_IN_CAPTURE };
        if self.book.open.len() > most && !self.book.requests_are_over {
            self.book.requests_are_over = true;
            tally.opaque = true;
            tally.application = Application::Ambiguous;
        }
    }

    fn read(
        &mut self,
        tally: &mut Tally,
        now: u64,
        readable: u64,
        at_end: bool,
        out: &mut VecDeque<Outcome>,
    ) {
        let mut index = 0;
        let crowded = self.book.open.len() > MOST_UNHEARD;
        while let Some(exchange) = self.book.open.get_mut(index) {
            if exchange.response.0.get().is_some_and(|start| readable > start) {
                exchange.first_byte.set_first(now);
            }
            if exchange.ends_at_close && at_end && !exchange.response.1.is_known() {
                exchange.response.1 = readable.into();
                self.book.answering += 1;
            }
            let end = exchange.response.1.get();
            match exchange.fate {
                Fate::Open if end.is_some_and(|end| end <= readable) => {}
                // How much there was of it is not known before the next one begins.
                Fate::Cut if end.is_some() || !exchange.response.0.is_known() => {}
                Fate::Ambiguous => {}
                _ => break,
            }
            if exchange.fate == Fate::Open {
                exchange.done.set_first(now);
            }
            let waits = !exchange.is_asked()
                && exchange.done.get().is_some_and(|done| now < done.saturating_add(PATIENCE_NS));
            let waits = waits && !at_end && !crowded && !self.book.requests_are_over;
            self.book.last_done = exchange.done;
            if exchange.abandoned.is_some() || waits || index > 0 {
                index += 1;
            } else {
                self.give(tally, readable, None, out);
            }
        }
        if at_end && index == 0 {
            // The server has closed: what is not complete never will be.
            while !self.book.open.is_empty() {
                let error = self.phase(readable);
                self.give(tally, readable, Some(error), out);
            }
        }
    }

    /// Reads what still waits for octets before it.
    fn finish(&mut self, tally: &mut Tally, hello: &mut Option<Box<Hello>>) {
        let Self { up, down, requests, responses, book, .. } = self;
        let mut reading = Reading { side: requests, to: Asking { book, tally }, hello };
        up.finish(&mut reading);
        reading.finish();
        let to = Answering { book, tally, now: u64::MAX };
        let mut reading = Reading { side: responses, to, hello };
        down.finish(&mut reading);
        reading.finish();
    }

    /// What the client is waiting for on an established connection.
    fn phase(&self, readable: u64) -> &'static str {
        let Some(front) = self.book.open.front() else { return "send" };
        let has_asked = front.request.1.is_known() || front.request_is_lost || !front.is_asked();
        match front.response.0.get() {
            Some(start) if has_asked && readable > start => "receive",
            _ if has_asked => "reply",
            _ => "send",
        }
    }

    /// Gives the first open exchange, which ended well if there is no `error` and nothing is against it.
    fn give(
        &mut self,
        tally: &mut Tally,
        readable: u64,
        error: Option<&'static str>,
        out: &mut VecDeque<Outcome>,
    ) {
        let misses_responses = self.misses_responses(tally);
        let Some(exchange) = self.book.pop() else { return };
        let error = match exchange.fate {
            Fate::Cut => Some("cut"),
            Fate::Ambiguous => Some("ambiguous"),
            Fate::Open if error.is_some() && misses_responses => Some("cut"),
            Fate::Open => error,
        };
        let (start, end) = (exchange.request.0.get(), exchange.request.1.get());
        let response_end = exchange.response.1.get().unwrap_or(u64::MAX).min(readable);
        let received = |from: Option<u64>| from.map_or(0, |from| response_end.saturating_sub(from));
        let response_bytes = received(exchange.response.0.get());
        tally.cut += u32::from(error == Some("cut"));
        tally.unasked += u32::from(!exchange.is_asked());
        tally.completed += u32::from(error.is_none());
        error.into_iter().for_each(|error| tally.failed(error));
        out.push_back(Outcome {
            index: tally.closed,
            sent_ns: exchange.sent.get(),
            asked_ns: exchange.asked.get(),
            first_byte_ns: exchange.first_byte.get().filter(|_| response_bytes > 0),
            done_ns: exchange.done.get().filter(|_| error.is_none()),
            request_bytes: start
                .map_or(0, |start| end.unwrap_or(self.asked_to).min(self.asked_to).saturating_sub(start)),
            response_bytes,
            body_bytes: received(exchange.body_start.get()),
            version: Some(exchange.version).filter(|_| exchange.status != 0),
            status: Some(exchange.status).filter(|status| *status != 0),
            words: exchange.words,
            error,
        });
        tally.closed += 1;
    }
}

//! What both streams of a connection depend on while nothing comes: between two exchanges, or while one request waits
//! for its response. It takes a quarter of the memory of the streams themselves, or less.
//!
//! Leaves out connections with more under way: pipelined requests, messages seen in part, octets out of order.

use super::book::{Book, Exchange, Fate};
use super::exchange::Talk;
use super::framing::Method;
use super::head::Words;
use super::instant::Maybe;
use super::parser::Parser;
use super::reassembly::Reassembly;
use super::side::Side;

/// See the module; [`Self::of`] and [`Self::wake`] undo one another.
#[derive(Debug)]
pub(super) struct Rest {
    /// Octets of requests and of responses, which were all read.
    up: u64,
    down: u64,
    last_done: Maybe,
    waiting: Option<Box<Waiting>>,
}

/// A whole request without any response so far.
#[derive(Debug)]
struct Waiting {
    sent: Maybe,
    asked: Maybe,
    request: (u64, u64),
    acked: u64,
    method: Method,
    words: Option<Box<Words>>,
}

impl Waiting {
    /// `None` where there is more to tell of the exchange.
    fn of(exchange: &mut Exchange) -> Option<Self> {
        let Exchange {
            sent,
            asked,
            request,
            acked,
            response: (Maybe::NOT, Maybe::NOT),
            body_start: Maybe::NOT,
            first_byte: Maybe::NOT,
            done: Maybe::NOT,
            abandoned: None,
            status: 0,
            version: 0,
            method,
            fate: Fate::Open,
            request_is_lost: false,
            ends_at_close: false,
            words,
        } = exchange
        else {
            return None;
        };
        let request = (request.0.get()?, request.1.get()?);
        let (sent, asked, acked, method) = (*sent, *asked, *acked, *method);
        Some(Self { sent, asked, request, acked, method, words: words.take() })
    }

    fn exchange(self) -> Exchange {
        let Self { sent, asked, request, acked, method, words } = self;
        let request = (request.0.into(), request.1.into());
        Exchange { sent, asked, request, method, words, ..Exchange::new(acked) }
    }
}

impl Rest {
    /// All there is to know of `talk`, which is not needed then; `None` where more is under way.
    pub(super) fn of(talk: &mut Talk) -> Option<Self> {
        let Talk { up, down, requests, responses, book, asked_to } = talk;
        let Book {
            open, answering: 0, asking: None, last_done, requests_are_over, responses_are_over, ..
        } = book
        else {
            return None;
        };
        let is_settled = open.len() <= 1
            && !(*requests_are_over || *responses_are_over)
            && (up.is_empty() && down.is_empty())
            && (requests.at_rest() == Some(up.next) && responses.at_rest() == Some(down.next))
            && *asked_to == up.next;
        if !is_settled {
            return None;
        }
        let waiting = match open.front_mut() {
            Some(exchange) => Some(Box::new(Waiting::of(exchange)?)),
            None => None,
        };
        Some(Self { up: up.next, down: down.next, last_done: *last_done, waiting })
    }

    /// Whether a request waits for its response.
    pub(super) fn is_asked(&self) -> bool {
        self.waiting.is_some()
    }

    /// Makes a new `talk` what it was.
    pub(super) fn wake(self, talk: &mut Talk) {
        let stream = |next| (Reassembly::resume(next), Side::Http(Parser::resume(next)));
        (talk.up, talk.requests) = stream(self.up);
        (talk.down, talk.responses) = stream(self.down);
        talk.book.last_done = self.last_done;
        talk.book.open.extend(self.waiting.map(|waiting| waiting.exchange()));
        talk.asked_to = self.up;
    }
}

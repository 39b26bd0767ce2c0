//! One direction of a connection, read as what it is: HTTP/1, the hello of TLS, or not at all.

use super::Application;
use super::book::{Answering, Asking, Tally};
use super::parser::{Listener, Parser};
use super::reassembly::{Reader, Seen};
use crate::capture::application::tls::{self, Hello};

/// How one direction is read.
#[derive(Clone, Debug)]
pub(super) enum Side {
    Http(Parser),
    Tls(tls::Gather),
    /// Nothing more is looked at.
    Over,
}

impl Side {
    pub(super) fn new(whole: bool) -> Self {
        Self::Http(Parser::new(whole))
    }

    /// Where it stands, if that is all there is to know.
    pub(super) fn at_rest(&self) -> Option<u64> {
        if let Self::Http(parser) = self { parser.at_rest() } else { None }
    }

    /// How many octets follow of which only the last one matters.
    pub(super) fn ahead(&self) -> Option<u64> {
        if let Self::Http(parser) = self { parser.ahead() } else { None }
    }

    /// Some of these were passed over, and not the last.
    pub(super) fn passed(&mut self, octets: u64) {
        if let Self::Http(parser) = self {
            parser.passed(octets);
        }
    }

    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Http(parser) => parser.is_opaque(),
            Self::Tls(_) => false,
            Self::Over => true,
        }
    }

    /// Looks at no more of the stream.
    pub(super) fn give_up(&mut self) {
        *self = Self::Over;
    }
}

/// A direction and who hears of its messages.
pub(super) struct Reading<'a, L> {
    pub(super) side: &'a mut Side,
    pub(super) to: L,
    pub(super) hello: &'a mut Option<Box<Hello>>,
}

/// A listener that knows what the connection is so far.
pub(super) trait Knows {
    fn tally(&mut self) -> &mut Tally;
}

impl Knows for Asking<'_> {
    fn tally(&mut self) -> &mut Tally {
        self.tally
    }
}

impl Knows for Answering<'_> {
    fn tally(&mut self) -> &mut Tally {
        self.tally
    }
}

impl<L: Listener + Knows> Reading<'_, L> {
    /// Whether this is the beginning of a stream that is, or may be, TLS.
    fn begins_tls(&mut self, data: &[u8]) -> bool {
        let Side::Http(parser) = &*self.side else { return false };
        match self.to.tally().application {
            Application::Unknown | Application::Other => {}
            Application::Tls => return true,
            _ => return false,
        }
        if parser.is_fresh() {
            data.first() == Some(&tls::HANDSHAKE)
        } else {
            parser.is_lost() && tls::is_record(data)
        }
    }

    /// Nothing more comes.
    pub(super) fn finish(&mut self) {
        match &mut *self.side {
            Side::Http(parser) => parser.finish(&mut self.to),
            Side::Tls(_) => self.gathered(),
            Side::Over => {}
        }
    }

    fn gathered(&mut self) {
        if let Side::Tls(gather) = &mut *self.side {
            let found = gather.hello();
            if gather.is_no_tls() {
                self.to.tally().application = Application::Other;
            } else if found != Hello::default() {
                self.hello.get_or_insert_default().merge(found, !L::REQUESTS);
            }
        }
        self.side.give_up();
    }
}

impl<L: Listener + Knows> Reader for Reading<'_, L> {
    fn octets(&mut self, seen: Seen, data: &[u8]) {
        if self.begins_tls(data) {
            let tally = self.to.tally();
            tally.application = Application::Tls;
            tally.opaque = true;
            *self.side = Side::Tls(tls::Gather::default());
        }
        match &mut *self.side {
            Side::Http(parser) => parser.octets(seen, data, &mut self.to),
            Side::Tls(gather) => {
                if gather.octets(data) {
                    self.gathered();
                }
            }
            Side::Over => {}
        }
    }

    fn hole(&mut self, seen: Seen, length: u64) {
        match &mut *self.side {
            Side::Http(parser) => parser.hole(seen, length, &mut self.to),
            // What came before the hole may name the server.
            Side::Tls(_) => self.gathered(),
            Side::Over => {}
        }
    }

    fn indifferent_to(&self) -> u64 {
        match &*self.side {
            Side::Http(parser) => parser.indifferent_to(),
            Side::Tls(_) => 0,
            Side::Over => u64::MAX,
        }
    }
}

//! What arrives: the servers answer requests and push, the browser reads replies and finds what they name.

use super::{Action, PageLoad, pop_if};
use crate::browser::config::{Protocol, TLS_FINISHED_BYTES, TLS_SERVER_BYTES};
use crate::browser::lane::{Phase, What};
use airperf_units::Time;

impl PageLoad {
    /// `arrived` octets of a connection's stream to the server are there.
    pub fn server_received(&mut self, now: Time, lane: u32, arrived: u32) {
        while let Some((what, _, ended)) = self.lanes[lane as usize].up.read(arrived) {
            match what {
                What::Greeting if ended && self.lanes[lane as usize].phase == Phase::Greeting => {
                    self.lanes[lane as usize].down.write(What::Greeting, TLS_SERVER_BYTES);
                    self.write(lane, false, TLS_SERVER_BYTES, None);
                }
                What::Object(object) if ended => {
                    let ready = now + self.page.objects[object as usize].think;
                    let already = self.objects[object as usize].pushed;
                    if !already {
                        self.lanes[lane as usize].thinking.push_back((object, ready));
                    }
                }
                _ => {}
            }
        }
        self.answer(now, lane);
    }

    /// The server answers what it can on a connection.
    pub(super) fn answer(&mut self, now: Time, lane: u32) {
        while let Some(object) = self.lanes[lane as usize].answer(now) {
            let pushed = self.objects[object as usize].pushed;
            let bytes = self.objects[object as usize].reply_bytes;
            self.lanes[lane as usize].reply(object, bytes, pushed);
            if self.config.proxy.is_some_and(|proxy| proxy.push) {
                self.push_embedded(now, lane, object);
            }
        }
        self.pump(lane);
    }

    /// The proxy has read an object and fetches what that names.
    fn push_embedded(&mut self, now: Time, lane: u32, object: u32) {
        for embedded in self.names_of[object as usize].clone() {
            let reply_bytes = self.reply_bytes(embedded);
            let seen = &mut self.objects[embedded as usize];
            if seen.sent.is_none() && !seen.pushed {
                (seen.pushed, seen.lane, seen.reply_bytes) = (true, Some(lane), reply_bytes);
                let ready = now + self.page.objects[embedded as usize].think;
                self.lanes[lane as usize].outstanding.push(embedded);
                self.lanes[lane as usize].thinking.push_back((embedded, ready));
            }
        }
    }

    fn pump(&mut self, lane: u32) {
        let bytes = self.lanes[lane as usize].pump();
        if bytes > 0 {
            self.write(lane, false, bytes, None);
        }
    }

    /// The server's TCP has `unsent` octets of a connection that it could not send yet.
    pub fn server_has(&mut self, lane: u32, unsent: u32) {
        self.lanes[lane as usize].unsent = unsent;
        if self.ended.is_none() {
            self.pump(lane);
        }
    }

    /// `arrived` octets of a connection's stream to the browser are there.
    pub fn client_received(&mut self, now: Time, lane: u32, arrived: u32) {
        while let Some((what, bytes, ended)) = self.lanes[lane as usize].down.read(arrived) {
            match what {
                What::Greeting if ended => {
                    self.lanes[lane as usize].up.write(What::Greeting, TLS_FINISHED_BYTES);
                    self.write(lane, true, TLS_FINISHED_BYTES, None);
                    self.opened(now, lane);
                }
                What::Object(object) => self.object_received(now, lane, object, bytes),
                _ => {}
            }
        }
        self.ask_all(now);
    }

    fn object_received(&mut self, now: Time, lane: u32, object: u32, bytes: u32) {
        let place = object as usize;
        let header = self.reply_header_bytes();
        let seen = &mut self.objects[place];
        seen.first_byte.get_or_insert(now);
        seen.received += bytes;
        let (arrived, of) = (seen.received.saturating_sub(header), seen.reply_bytes.saturating_sub(header));
        let complete = seen.received >= seen.reply_bytes;
        // As much of the body as of its octets on the wire, compressed or not.
        let body = u64::from(self.page.objects[place].bytes);
        let read = if complete { body } else { body * u64::from(arrived) / u64::from(of.max(1)) };
        if complete {
            seen.arrived = true;
        }
        if self.objects[place].found.is_some() {
            self.read_on(now, object, read);
        }
        if complete {
            self.lanes[lane as usize].outstanding.retain(|&one| one != object);
            self.may_ask = true;
            if self.config.protocol == Protocol::Http10 && !self.lanes[lane as usize].frames {
                self.over(lane);
                self.actions.push_back(Action::Close { lane, by_server: true });
            }
            self.complete(now, object);
        }
    }

    /// The parser goes on to `read` octets of an object's body.
    fn read_on(&mut self, now: Time, object: u32, read: u64) {
        let Self { page, names_of, parsing, config, .. } = self;
        let named = &mut names_of[object as usize];
        while let Some(embedded) =
            pop_if(named, |&one| u64::from(page.objects[one as usize].found_at) <= read)
        {
            parsing.push_back((now + config.parse_delay, embedded));
        }
        while let Some((_, embedded)) = pop_if(&mut self.parsing, |&(at, _)| at <= now) {
            self.find(now, embedded);
        }
    }

    /// An object is there; done if it is needed.
    pub(super) fn complete(&mut self, now: Time, object: u32) {
        let seen = &mut self.objects[object as usize];
        if seen.found.is_some() && seen.arrived && seen.done.is_none() {
            seen.done = Some(now);
            self.missing -= 1;
            self.complete.push_back(object);
            self.read_on(now, object, u64::MAX);
            self.maybe_end(now);
        }
    }

    pub(super) fn find(&mut self, now: Time, object: u32) {
        let seen = &mut self.objects[object as usize];
        if seen.found.is_some() {
            return;
        }
        seen.found = Some(now);
        if seen.pushed {
            self.complete(now, object);
        } else {
            self.wanted.push(object, self.server_of(object));
            self.may_ask = true;
        }
    }
}

//! Asking: which object goes to which connection, and what is looked up, opened and closed for it.

use super::{Action, Name, PageLoad};
use crate::browser::config::{Cache, FRAME_HEADER_BYTES, LookUps, Protocol};
use crate::browser::lane::{Lane, Phase, What};
use airperf_units::Time;

impl PageLoad {
    pub(super) fn server_of(&self, object: u32) -> u32 {
        match self.config.one_server || self.config.knows_proxy() {
            true => self.page.objects[0].host,
            false => self.page.objects[object as usize].host,
        }
    }

    /// Asks for every object that has a way, if anything has changed since the last round.
    pub(super) fn ask_all(&mut self, now: Time) {
        if self.ended.is_some() || !std::mem::take(&mut self.may_ask) {
            return;
        }
        for _ in 0..self.wanted.begin_round() {
            let Some((object, server)) = self.wanted.pop() else { break };
            match self.way(now, server, object) {
                Some(lane) => self.ask(now, lane, object),
                None => self.wanted.put_back(object, server),
            }
        }
    }

    /// Whether a server's address is known; else it is looked up.
    fn is_known(&mut self, now: Time, server: u32, object: u32) -> bool {
        let told = match self.config.look_ups {
            LookUps::Each => false,
            LookUps::First => server != self.page.objects[0].host,
            LookUps::None => true,
        };
        let name = &mut self.names[server as usize];
        if told || self.config.knows_proxy() {
            return true;
        }
        if *name == Name::Unknown {
            *name = Name::Asked(now, 1);
            self.objects[object as usize].looked_up = Some(now);
            self.actions.push_back(Action::LookUp { host: server });
        }
        *name == Name::Known
    }

    /// The connection for an object of `server`; `None` while it must wait, for a new one perhaps.
    fn way(&mut self, now: Time, server: u32, object: u32) -> Option<u32> {
        if self.wanted.is_full(server) || !self.is_known(now, server, object) {
            return None;
        }
        let (mut connecting, mut of_server) = (0, 0);
        let mut best: Option<(usize, u32)> = None;
        for &number in &self.live {
            let lane = &self.lanes[number as usize];
            if lane.server != server {
                continue;
            }
            of_server += 1;
            let outstanding = lane.outstanding.len();
            if !lane.is_open() {
                connecting += 1;
            } else if best.is_none_or(|(least, _)| outstanding < least) {
                best = Some((outstanding, number));
            }
        }
        let tls = self.page.hosts[server as usize].tls;
        if self.config.frames(tls) {
            if of_server == 0 {
                self.open(server);
            }
            return best.map(|(_, lane)| lane);
        }
        if let Some((0, lane)) = best {
            return Some(lane);
        }
        if self.wanted.waiting(server) < connecting {
            return None;
        }
        let few = of_server < self.config.connections;
        if few && (self.live.len() < self.config.connections_in_all as usize || self.close_idle()) {
            self.open(server);
            return None;
        }
        let depth = if self.config.protocol == Protocol::Http10 { 1 } else { self.config.pipeline as usize };
        let lane = best.filter(|&(outstanding, _)| outstanding < depth).map(|(_, lane)| lane);
        if lane.is_none() && !few {
            self.wanted.set_full(server);
        }
        lane
    }

    /// Closes a connection that nothing is wanted on, so that there is room for another; whether there was one.
    fn close_idle(&mut self) -> bool {
        let idle =
            |lane: &Lane| lane.is_open() && lane.outstanding.is_empty() && !self.wanted.has(lane.server);
        let Some(&lane) = self.live.iter().find(|&&lane| idle(&self.lanes[lane as usize])) else {
            return false;
        };
        self.over(lane);
        self.actions.push_back(Action::Close { lane, by_server: false });
        true
    }

    pub(super) fn open(&mut self, server: u32) {
        let tls = self.page.hosts[server as usize].tls;
        let lane = self.lanes.len() as u32;
        self.lanes.push(Lane::new(server, self.config.frames(tls)));
        self.live.push(lane);
        self.actions.push_back(Action::Open { lane });
        self.may_ask = true;
    }

    /// A connection carries nothing more.
    pub(super) fn over(&mut self, lane: u32) {
        self.lanes[lane as usize].phase = Phase::Over;
        self.live.retain(|&one| one != lane);
        self.may_ask = true;
    }

    fn ask(&mut self, now: Time, lane: u32, object: u32) {
        let dual = self.config.proxy.filter(|_| self.config.is_dual());
        let frame = if self.lanes[lane as usize].frames { FRAME_HEADER_BYTES } else { 0 };
        let bytes = dual.map_or(self.config.request_bytes, |proxy| proxy.header_bytes.0) + frame;
        let reply_bytes = self.reply_bytes(object);
        let seen = &mut self.objects[object as usize];
        (seen.sent, seen.lane) = (Some(now), Some(lane));
        (seen.request_bytes, seen.reply_bytes) = (bytes, reply_bytes);
        let one = &mut self.lanes[lane as usize];
        one.outstanding.push(object);
        one.up.write(What::Object(object), bytes);
        self.write(lane, true, bytes, Some(object));
        self.may_ask = true;
    }

    pub(super) fn reply_header_bytes(&self) -> u32 {
        let dual = self.config.proxy.filter(|_| self.config.is_dual());
        dual.map_or(self.config.reply_header_bytes, |proxy| proxy.header_bytes.1)
    }

    /// Octets of an object's reply.
    pub(super) fn reply_bytes(&self, object: u32) -> u32 {
        let one = &self.page.objects[object as usize];
        let header = self.reply_header_bytes();
        // What is encrypted passes a proxy that nobody knows of.
        let unread = self.page.hosts[self.server_of(object) as usize].tls && !self.config.knows_proxy();
        let Some(proxy) = self.config.proxy.filter(|_| !unread) else { return header + one.bytes };
        let body = if proxy.compress { one.packed_bytes } else { one.bytes };
        let unchanged = self.unchanged[object as usize];
        header
            + match proxy.cache {
                Cache::None => body,
                Cache::Hash { .. } | Cache::Delta { .. } if unchanged => 0,
                Cache::Hash { .. } => body,
                Cache::Delta { size, .. } => body.min((f64::from(one.bytes) * size) as u32),
            }
    }
}

//! How an exchange ends: what was received, what the sender makes of it, and what was seen on the air.

use super::{Domain, Phase, Transmission};
use crate::mac::timing::{ACK_BYTES, BEACON_BYTES, RTS_BYTES};
use crate::medium::airtime::Category;
use airperf_link::{
    Destination, FrameEvent, FrameKind, Heard, LossCause, Outcome, Outlet, Packet, StationId,
};
use airperf_units::{Duration, Time};

impl<P> Domain<P> {
    pub(super) fn beacon_ends<O: Outlet<P>>(&mut self, start: Time, end: Time, out: &mut O) {
        let from = StationId(self.beacon.up_to(self.stations.len() as u32 - 1) as u16);
        let frame = FrameEvent {
            start,
            end,
            from,
            to: Destination::Broadcast,
            kind: FrameKind::Beacon,
            rate: self.config.phy.lowest_rate(),
            bytes: BEACON_BYTES,
            sequence: self.beacon_sequence,
            attempt: 1,
            outcome: Outcome::Received,
            sniffer: self.sniff(Outcome::Received),
        };
        self.beacon_sequence = (self.beacon_sequence + 1) % 4096;
        out.frame(&frame, None);
        self.airtime.post(Category::Beacon, end);
        self.fall_silent(end, end + self.timing.difs);
    }

    /// The frames that began together have ended.
    pub(super) fn frames_end<O: Outlet<P>>(&mut self, at: Time, out: &mut O) {
        let [only] = self.on_air[..] else {
            return self.collision_ends(at, out);
        };
        if only.rts {
            let until = self.protected_start(only) + self.data_airtime(only.station);
            self.phase = Phase::Protected { until };
            return;
        }
        self.data_ends(at, out);
    }

    /// A single data frame has ended: it is received, or garbled by the channel.
    pub(super) fn data_ends<O: Outlet<P>>(&mut self, at: Time, out: &mut O) {
        let sent = self.on_air[0];
        let to = self.head(sent.station).to;
        match to {
            Destination::Broadcast => self.broadcast_ends(sent, at, out),
            Destination::Station(to) => {
                if self.channel.chance(self.stations[to.index()].frame_error) {
                    self.garbled_ends(sent, to, at, out);
                } else {
                    let sender = &mut self.stations[sent.station.index()];
                    self.on_air[0].duplicate = std::mem::replace(&mut sender.head_delivered, true);
                    if !self.on_air[0].duplicate {
                        out.delivered(at, to, self.head(sent.station));
                    }
                    let ack = self.stations[sent.station.index()].control.ack;
                    self.phase = Phase::Answered { until: at + self.timing.sifs + ack };
                }
            }
        }
    }

    /// The acknowledgement has ended.
    pub(super) fn exchange_ends<O: Outlet<P>>(&mut self, at: Time, out: &mut O) {
        let sent = self.on_air[0];
        let Destination::Station(to) = self.head(sent.station).to else {
            unreachable!("broadcasts are not acknowledged");
        };
        let data_end = at - self.stations[sent.station.index()].control.ack - self.timing.sifs;
        let ack_lost = self.channel.chance(self.stations[sent.station.index()].ack_error);
        self.show_protection(sent, to, out);
        let outcome = if sent.duplicate { Outcome::Duplicate } else { Outcome::Received };
        self.show_data(sent, data_end, outcome, out);
        let ack_outcome = if ack_lost { Outcome::Garbled } else { Outcome::Received };
        self.show_control(FrameKind::Ack, sent.station, to, data_end + self.timing.sifs, ack_outcome, out);

        self.post_data(sent, data_end);
        self.airtime.post(Category::Ifs, data_end + self.timing.sifs);
        self.airtime.post(Category::Ack, at);
        self.fall_silent(at, at + self.timing.difs);
        if ack_lost {
            self.attempt_failed(sent.station, at, at + self.timing.eifs, out);
        } else {
            self.attempt_succeeded(sent.station, at, out);
        }
    }

    fn broadcast_ends<O: Outlet<P>>(&mut self, sent: Transmission, at: Time, out: &mut O) {
        for i in 0..self.stations.len() {
            let hears = i != sent.station.index() && !self.channel.chance(self.stations[i].frame_error);
            if hears {
                let packet = self.stations[sent.station.index()].head().expect("the frame just sent");
                out.delivered(at, StationId(i as u16), packet);
            }
        }
        self.show_data(sent, at, Outcome::Received, out);
        self.post_data(sent, at);
        self.fall_silent(at, at + self.timing.difs);
        self.attempt_succeeded(sent.station, at, out);
    }

    /// The channel garbled a frame: its receiver waits EIFS, everybody else its NAV.
    fn garbled_ends<O: Outlet<P>>(&mut self, sent: Transmission, to: StationId, at: Time, out: &mut O) {
        self.show_protection(sent, to, out);
        self.show_data(sent, at, Outcome::Garbled, out);
        if sent.rts {
            self.post_protection(sent);
        }
        self.airtime.post(Category::Garbled, at);
        let ack = self.stations[sent.station.index()].control.ack;
        let nav = at + self.timing.sifs + ack + self.timing.difs;
        self.fall_silent(at, nav);
        let resume = at + self.timing.ack_timeout + self.timing.difs;
        self.attempt_failed(sent.station, at, resume, out);
        if at + self.timing.eifs != nav {
            self.contention.delay(to, at + self.timing.eifs);
        }
    }

    /// Several frames overlapped and none was received.
    fn collision_ends<O: Outlet<P>>(&mut self, at: Time, out: &mut O) {
        for i in 0..self.on_air.len() {
            let sent = self.on_air[i];
            if sent.rts {
                let Destination::Station(to) = self.head(sent.station).to else { continue };
                self.show_control(FrameKind::Rts, sent.station, to, sent.start, Outcome::Collided, out);
            } else {
                self.show_data(sent, sent.end, Outcome::Collided, out);
            }
        }
        self.airtime.post(Category::Collision, at);
        self.fall_silent(at, at + self.timing.eifs);
        // Senders first wait out their ACK timeout, but never less than until the medium is free.
        for i in 0..self.on_air.len() {
            let Transmission { station, end, .. } = self.on_air[i];
            let resume = at.max(end + self.timing.ack_timeout) + self.timing.difs;
            if self.head(station).to == Destination::Broadcast {
                self.retire(station, at, Some(LossCause::NotReceived), out);
                self.next_backoff(station, at, at + self.timing.difs, Duration::ZERO);
            } else {
                self.attempt_failed(station, at, resume, out);
            }
        }
    }

    fn attempt_succeeded<O: Outlet<P>>(&mut self, station: StationId, at: Time, out: &mut O) {
        self.retire(station, at, None, out);
        let gap = self.stations[station.index()].draw_host_gap();
        self.next_backoff(station, at, at + self.timing.difs, gap);
    }

    /// No acknowledgement came: the window doubles, or the frame is given up.
    fn attempt_failed<O: Outlet<P>>(&mut self, station: StationId, at: Time, resume: Time, out: &mut O) {
        let sender = &mut self.stations[station.index()];
        if !sender.fail(self.config.retry_limit) {
            return self.next_backoff(station, at, resume, Duration::ZERO);
        }
        let loss = (!sender.head_delivered).then_some(LossCause::RetryLimit);
        self.retire(station, at, loss, out);
        let gap = self.stations[station.index()].draw_host_gap();
        self.next_backoff(station, at, resume, gap);
    }

    /// The head frame of `station` is done with: received, or lost for a cause.
    fn retire<O: Outlet<P>>(&mut self, station: StationId, at: Time, loss: Option<LossCause>, out: &mut O) {
        let packet = self.head(station);
        if let Some(cause) = loss {
            out.lost(at, station, packet, cause);
        }
        out.departed(at, station, packet);
        self.stations[station.index()].finish(at, loss.is_some());
    }

    /// Draws the backoff that every attempt ends with, also when nothing is left to send (post-backoff).
    fn next_backoff(&mut self, station: StationId, silent_since: Time, resume: Time, gap: Duration) {
        let sender = &mut self.stations[station.index()];
        let slots = sender.draw_backoff();
        let contending = sender.head().is_some();
        if contending {
            self.contended_since = self.contended_since.min(silent_since);
        }
        self.contention.back_off_alone(station, slots, contending, resume + gap, gap);
    }

    fn head(&self, station: StationId) -> &Packet<P> {
        self.stations[station.index()].head().expect("a station that sends has a head frame")
    }

    /// When the data frame begins that `sent`, an RTS, protects.
    fn protected_start(&self, sent: Transmission) -> Time {
        sent.end + self.timing.sifs + self.stations[sent.station.index()].control.cts + self.timing.sifs
    }

    fn post_protection(&mut self, sent: Transmission) {
        let (sifs, data_start) = (self.timing.sifs, self.protected_start(sent));
        self.airtime.post(Category::Control, sent.end);
        self.airtime.post(Category::Ifs, sent.end + sifs);
        self.airtime.post(Category::Control, data_start - sifs);
        self.airtime.post(Category::Ifs, data_start);
    }

    fn post_data(&mut self, sent: Transmission, end: Time) {
        if sent.rts {
            self.post_protection(sent);
        }
        if sent.attempt > 1 {
            return self.airtime.post(Category::Retry, end);
        }
        let packet = self.head(sent.station);
        let data = self.frame_times(sent.station, packet.to).packet(packet.bytes);
        self.airtime.post(Category::Headers, end - data);
        self.airtime.post(Category::Data, end);
    }

    fn sniff(&mut self, outcome: Outcome) -> Heard {
        match outcome {
            Outcome::Collided => Heard::BadFcs,
            _ if !self.sniffer.chance(self.config.sniffer_error) => Heard::Good,
            _ if self.sniffer.chance(0.5) => Heard::BadFcs,
            _ => Heard::Missed,
        }
    }

    fn show_data<O: Outlet<P>>(&mut self, sent: Transmission, end: Time, outcome: Outcome, out: &mut O) {
        let sniffer = self.sniff(outcome);
        let station = &self.stations[sent.station.index()];
        let packet = station.head().expect("a station that sends has a head frame");
        let broadcast = packet.to == Destination::Broadcast;
        let start = if sent.rts { self.protected_start(sent) } else { sent.start };
        let frame = FrameEvent {
            start,
            end,
            from: sent.station,
            to: packet.to,
            kind: FrameKind::Data,
            rate: if broadcast { self.config.phy.lowest_rate() } else { station.rate },
            bytes: packet.bytes + self.config.llc_bytes + self.config.mac_bytes,
            sequence: station.sequence,
            attempt: sent.attempt.min(255) as u8,
            outcome,
            sniffer,
        };
        out.frame(&frame, Some(packet));
    }

    /// Shows a control frame of the exchange that `sender` began with `receiver`.
    fn show_control<O: Outlet<P>>(
        &mut self,
        kind: FrameKind,
        sender: StationId,
        receiver: StationId,
        start: Time,
        outcome: Outcome,
        out: &mut O,
    ) {
        let control = self.stations[sender.index()].control;
        let (bytes, airtime, from, to) = match kind {
            FrameKind::Rts => (RTS_BYTES, control.rts, sender, receiver),
            FrameKind::Cts => (ACK_BYTES, control.cts, receiver, sender),
            _ => (ACK_BYTES, control.ack, receiver, sender),
        };
        let frame = FrameEvent {
            start,
            end: start + airtime,
            from,
            to: Destination::Station(to),
            kind,
            rate: control.rate,
            bytes,
            sequence: 0,
            attempt: 1,
            outcome,
            sniffer: self.sniff(outcome),
        };
        out.frame(&frame, None);
    }

    /// The RTS and CTS before a protected data frame.
    fn show_protection<O: Outlet<P>>(&mut self, sent: Transmission, to: StationId, out: &mut O) {
        if sent.rts {
            let cts_start = sent.end + self.timing.sifs;
            self.show_control(FrameKind::Rts, sent.station, to, sent.start, Outcome::Received, out);
            self.show_control(FrameKind::Cts, sent.station, to, cts_start, Outcome::Received, out);
        }
    }
}

//! How an exchange ends: what was received, what the sender makes of it, and what was seen on the air.

use super::{Domain, Phase, Transmission};
use crate::mac::timing::{ACK_BYTES, BEACON_BYTES, RTS_BYTES};
use crate::medium::airtime::Category;
use airperf_link::{
    Destination, FrameEvent, FrameKind, Heard, LossCause, Outcome, Outlet, Packet, StationId,
};
use airperf_units::{Duration, Time};

impl<P> Domain<P> {
    pub(super) fn beacon_ends<O: Outlet<P>>(&mut self, end: Time, out: &mut O) -> Time {
        let from = StationId(self.beacon.up_to(self.stations.len() as u32 - 1) as u16);
        let frame = FrameEvent {
            start: end - self.timing.beacon,
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
        self.first_start()
    }

    /// The frames that began together have ended.
    #[inline]
    pub(super) fn frames_end<O: Outlet<P>>(&mut self, at: Time, out: &mut O) -> Time {
        let [only] = &self.on_air[..] else {
            return self.collision_ends(at, out);
        };
        if only.rts {
            self.phase = Phase::Protected;
            return self.protected_start(only) + only.data;
        }
        self.data_ends(at, out)
    }

    /// A single data frame has ended: it is received, or garbled by the channel.
    #[inline]
    pub(super) fn data_ends<O: Outlet<P>>(&mut self, at: Time, out: &mut O) -> Time {
        let Transmission { station: from, to, .. } = self.on_air[0];
        let Destination::Station(to) = to else {
            return self.broadcast_ends(at, out);
        };
        let error =
            if self.fades { self.fading_error(from, to, at) } else { self.stations[to.index()].frame_error };
        if self.channel.chance(error) {
            return self.garbled_ends(to, at, out);
        }
        let sender = &mut self.stations[from.index()];
        let duplicate = std::mem::replace(&mut sender.head_delivered, true);
        self.on_air[0].duplicate = duplicate;
        if !duplicate {
            out.delivered(at, to, sender.head().expect("a station that sends has a head frame"));
        }
        self.phase = Phase::Answered;
        at + self.timing.sifs + sender.control.ack
    }

    /// Probability that the channel garbles a data frame that ends at `at`; fades of both ends count.
    fn fading_error(&self, from: StationId, to: StationId, at: Time) -> f64 {
        let (sender, receiver) = (&self.stations[from.index()], &self.stations[to.index()]);
        let fades = [sender.fade_error(at), receiver.fade_error(at)];
        fades.into_iter().fold(receiver.frame_error, |error, fade| error + fade - error * fade)
    }

    /// The acknowledgement has ended.
    #[inline]
    pub(super) fn exchange_ends<O: Outlet<P>>(&mut self, at: Time, out: &mut O) -> Time {
        let sent = self.on_air[0];
        let Destination::Station(to) = sent.to else {
            unreachable!("broadcasts are not acknowledged");
        };
        let sender = &self.stations[sent.station.index()];
        let (sifs, ack) = (self.timing.sifs, sender.control.ack);
        let data_end = at - ack - sifs;
        let ack_lost = self.channel.chance(sender.ack_error);
        self.show_protection(&sent, to, out);
        let outcome = if sent.duplicate { Outcome::Duplicate } else { Outcome::Received };
        self.show_data(&sent, data_end, outcome, out);
        let ack_outcome = if ack_lost { Outcome::Garbled } else { Outcome::Received };
        self.show_control(FrameKind::Ack, sent.station, to, data_end + sifs, ack_outcome, out);

        self.post_data(&sent);
        self.airtime.add(Category::Ifs, sifs);
        self.airtime.add(Category::Ack, ack);
        self.fall_silent(at, at + self.timing.difs);
        if ack_lost {
            self.attempt_failed(sent.station, at, at + self.timing.eifs, out);
        } else {
            self.attempt_succeeded(sent.station, at, out);
        }
        self.first_start()
    }

    fn broadcast_ends<O: Outlet<P>>(&mut self, at: Time, out: &mut O) -> Time {
        let sent = self.on_air[0];
        for i in 0..self.stations.len() {
            let error = self.fading_error(sent.station, StationId(i as u16), at);
            let hears = i != sent.station.index() && !self.channel.chance(error);
            if hears {
                out.delivered(at, StationId(i as u16), self.head(sent.station));
            }
        }
        self.show_data(&sent, at, Outcome::Received, out);
        self.post_data(&sent);
        self.fall_silent(at, at + self.timing.difs);
        self.attempt_succeeded(sent.station, at, out);
        self.first_start()
    }

    /// The channel garbled a frame: its receiver waits EIFS, everybody else its NAV.
    fn garbled_ends<O: Outlet<P>>(&mut self, to: StationId, at: Time, out: &mut O) -> Time {
        let sent = self.on_air[0];
        self.show_protection(&sent, to, out);
        self.show_data(&sent, at, Outcome::Garbled, out);
        if sent.rts {
            self.post_protection(&sent);
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
        self.first_start()
    }

    /// Several frames overlapped and none was received.
    fn collision_ends<O: Outlet<P>>(&mut self, at: Time, out: &mut O) -> Time {
        for i in 0..self.on_air.len() {
            let sent = self.on_air[i];
            match sent.to {
                Destination::Station(to) if sent.rts => {
                    self.show_control(FrameKind::Rts, sent.station, to, sent.start, Outcome::Collided, out);
                }
                _ => self.show_data(&sent, sent.end, Outcome::Collided, out),
            }
        }
        self.airtime.post(Category::Collision, at);
        self.fall_silent(at, at + self.timing.eifs);
        // Senders first wait out their ACK timeout, but never less than until the medium is free.
        for i in 0..self.on_air.len() {
            let Transmission { station, to, end, .. } = self.on_air[i];
            if to == Destination::Broadcast {
                self.retire(station, at, Some(LossCause::NotReceived), out);
                self.next_backoff(station, at, at + self.timing.difs, Duration::ZERO);
            } else {
                let resume = at.max(end + self.timing.ack_timeout) + self.timing.difs;
                self.attempt_failed(station, at, resume, out);
            }
        }
        self.first_start()
    }

    #[inline]
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
    #[inline]
    fn retire<O: Outlet<P>>(&mut self, station: StationId, at: Time, loss: Option<LossCause>, out: &mut O) {
        let sender = &mut self.stations[station.index()];
        let packet = sender.finish(at, loss.is_some());
        if let Some(cause) = loss {
            out.lost(at, station, &packet, cause);
        }
        out.departed(at, station, &packet);
    }

    /// Draws the backoff that every attempt ends with, also when nothing is left to send (post-backoff).
    #[inline]
    fn next_backoff(&mut self, station: StationId, silent_since: Time, resume: Time, gap: Duration) {
        let sender = &mut self.stations[station.index()];
        let slots = sender.draw_backoff();
        let contending = sender.head().is_some();
        if contending {
            self.contended_since = self.contended_since.min(silent_since);
        }
        self.contention.back_off_alone(station, slots, contending, resume + gap, gap);
    }

    #[inline]
    fn head(&self, station: StationId) -> &Packet<P> {
        self.stations[station.index()].head().expect("a station that sends has a head frame")
    }

    /// When the data frame begins that `sent`, an RTS, protects.
    fn protected_start(&self, sent: &Transmission) -> Time {
        sent.end + self.timing.sifs + self.stations[sent.station.index()].control.cts + self.timing.sifs
    }

    fn post_protection(&mut self, sent: &Transmission) {
        let (sifs, data_start) = (self.timing.sifs, self.protected_start(sent));
        self.airtime.post(Category::Control, sent.end);
        self.airtime.post(Category::Ifs, sent.end + sifs);
        self.airtime.post(Category::Control, data_start - sifs);
        self.airtime.post(Category::Ifs, data_start);
    }

    /// Posts a frame that was received, with the RTS and CTS before it.
    #[inline]
    fn post_data(&mut self, sent: &Transmission) {
        if sent.rts {
            self.post_protection(sent);
        }
        if sent.attempt > 1 {
            return self.airtime.add(Category::Retry, sent.data);
        }
        self.airtime.add(Category::Headers, sent.data - sent.packet);
        self.airtime.add(Category::Data, sent.packet);
    }

    #[inline]
    fn sniff(&mut self, outcome: Outcome) -> Heard {
        match outcome {
            Outcome::Collided => Heard::BadFcs,
            _ if !self.sniffer.chance(self.config.sniffer_error) => Heard::Good,
            _ if self.sniffer.chance(0.5) => Heard::BadFcs,
            _ => Heard::Missed,
        }
    }

    #[inline]
    fn show_data<O: Outlet<P>>(&mut self, sent: &Transmission, end: Time, outcome: Outcome, out: &mut O) {
        let sniffer = self.sniff(outcome);
        let station = &self.stations[sent.station.index()];
        let packet = station.head().expect("a station that sends has a head frame");
        let broadcast = sent.to == Destination::Broadcast;
        let start = if sent.rts { self.protected_start(sent) } else { sent.start };
        let frame = FrameEvent {
            start,
            end,
            from: sent.station,
            to: sent.to,
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
    #[inline]
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
    #[inline]
    fn show_protection<O: Outlet<P>>(&mut self, sent: &Transmission, to: StationId, out: &mut O) {
        if sent.rts {
            let cts_start = sent.end + self.timing.sifs;
            self.show_control(FrameKind::Rts, sent.station, to, sent.start, Outcome::Received, out);
            self.show_control(FrameKind::Cts, sent.station, to, cts_start, Outcome::Received, out);
        }
    }
}

//! One end: both directions of the stream, and the pace of what it sends.
//!
//! Left out: names of connections; a host that has several keeps an endpoint for each.

use crate::config::Config;
use crate::datagram::Datagram;
use crate::receiver::Receiver;
use crate::sender::Sender;
use airperf_units::Time;

/// Where an endpoint puts its datagrams.
pub trait Transmit {
    /// Sends a datagram; one that the host's transmit queue refuses is lost.
    fn transmit(&mut self, datagram: &Datagram);
}

/// One end of a reliable stream each way.
#[derive(Clone, Debug)]
pub struct Endpoint {
    config: Config,
    sender: Sender,
    receiver: Receiver,
    /// The link is free for the next datagram from then on.
    free: Time,
}

impl Endpoint {
    /// An end that has sent and heard nothing.
    pub fn new(config: Config) -> Self {
        Self { config, sender: Sender::new(), receiver: Receiver::new(), free: Time::ZERO }
    }

    /// The program writes `bytes` octets.
    pub fn write(&mut self, now: Time, bytes: u64, out: &mut impl Transmit) {
        self.sender.write(bytes);
        self.push(now, out);
    }

    /// The program closes: the stream ends behind what it wrote.
    pub fn close(&mut self, now: Time, out: &mut impl Transmit) {
        self.sender.close();
        self.push(now, out);
    }

    /// Takes in a datagram of the peer's.
    pub fn receive(&mut self, now: Time, datagram: &Datagram, out: &mut impl Transmit) {
        match *datagram {
            Datagram::Data { number, place, piece, .. } => {
                self.receiver.data(now, &self.config, number, place, piece);
            }
            Datagram::Repair { number, repair } => self.receiver.repair(now, &self.config, number, repair),
            Datagram::Ack(ack) => {
                self.sender.hear(now, &ack);
                // A shorter round trip may make the timeout due.
                self.sender.on_timer(now, &self.config);
            }
        }
        self.push(now, out);
    }

    /// When [`Self::on_timer`] is next needed; [`Time::MAX`] for never.
    pub fn deadline(&self) -> Time {
        if self.has_given_up() {
            return Time::MAX;
        }
        let ready = if self.sender.wants(&self.config) { self.free } else { Time::MAX };
        let answer =
            if self.receiver.due == Time::MAX { Time::MAX } else { self.receiver.due.max(self.free) };
        ready.min(answer).min(self.sender.deadline(&self.config, self.free))
    }

    /// Does what is due.
    pub fn on_timer(&mut self, now: Time, out: &mut impl Transmit) {
        self.sender.on_timer(now, &self.config);
        self.push(now, out);
    }

    /// Sends what may leave now: acknowledgements first, for they are small and the peer waits.
    fn push(&mut self, now: Time, out: &mut impl Transmit) {
        while now >= self.free && !self.has_given_up() {
            let answer = if self.receiver.due <= now { self.receiver.acknowledge(now) } else { None };
            let next = answer.map(Datagram::Ack).or_else(|| self.sender.next(now, &self.config));
            let Some(datagram) = next else { return };
            self.free = now + self.config.rate.time_for(datagram.ip_bytes().into());
            out.transmit(&datagram);
        }
    }

    /// Octets received in order.
    pub fn received_bytes(&self) -> u64 {
        self.receiver.bytes
    }

    /// Whether the peer's stream has ended and all of it was received.
    pub fn peer_has_closed(&self) -> bool {
        self.receiver.ended
    }

    /// Whether the own stream has ended and the peer has all of it.
    pub fn is_done(&self) -> bool {
        self.sender.is_done()
    }

    /// Whether too many timeouts have passed without a word of the peer's.
    pub fn has_given_up(&self) -> bool {
        self.sender.timeouts() >= self.config.give_up_after
    }

    /// The share of datagrams lost on the way to the peer, once something is known of it.
    pub fn loss_share(&self) -> Option<f64> {
        self.sender.error
    }
}

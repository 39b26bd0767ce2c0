//! Reliable octets over datagrams, with repair: the link's own transport for paths that lose packets.
//!
//! Octets go in numbered *pieces*. Pieces sent one after the other make a block, after which come as many Reed–Solomon repair
//! datagrams as the measured loss asks for; any of a block's datagrams as many as it has pieces restore it. What cannot be restored is
//! asked for by selective acknowledgements. Sending is paced to the known rate of the link, which nobody shares: there is no
//! congestion control. Reference: RFC 6298 (retransmission timer), RFC 9002 §6.1 (loss by what arrived later),
//! RFC 5052 (building blocks of forward error correction). `packet`, `sender`, `receiver` and `repair` know no clock and no
//! socket; `drive` does. Left out: encryption, migration, paths shared with others.

mod drive;
mod packet;
mod receiver;
mod repair;
mod sender;

#[cfg(test)]
mod tests;

pub(crate) use drive::{accept, connect};
pub use repair::Repair;

use super::adapted::Path;
use airperf_units::Time;
use packet::Packet;
use receiver::Receiver;
use sender::Sender;

/// What both ends of a connection know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    /// Rate to send at and round trip without queues.
    pub(crate) path: Path,
    pub(crate) repair: Repair,
    /// Put on packets, so that a redirection lets them pass.
    pub(crate) mark: Option<u32>,
}

/// What one end did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stats {
    pub(crate) sent: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received: u64,
    pub(crate) received_bytes: u64,
    pub(crate) resent: u64,
    pub(crate) repairs: u64,
    pub(crate) repaired: u64,
}

/// One end of a connection, without clock and socket.
#[derive(Debug)]
pub(crate) struct Endpoint {
    id: u32,
    sender: Sender,
    receiver: Receiver,
    /// What the other end must hear before it can answer; until it did.
    opening: Option<Config>,
    stats: Stats,
    over: bool,
}

impl Endpoint {
    /// The end that begins.
    pub(crate) fn new(id: u32, config: Config) -> Self {
        Self { opening: Some(config), ..Self::answering(id, config) }
    }

    /// The end that was opened.
    pub(crate) fn answering(id: u32, config: Config) -> Self {
        Self {
            id,
            sender: Sender::new(config),
            receiver: Receiver::new(),
            opening: None,
            stats: Stats::default(),
            over: false,
        }
    }

    /// How many octets would be taken now.
    pub(crate) fn room(&self) -> usize {
        self.sender.room()
    }

    /// Takes octets to send; not more than there is room for.
    pub(crate) fn write(&mut self, octets: &[u8]) {
        self.sender.write(octets);
    }

    /// Octets that arrived, in order.
    pub(crate) fn read(&mut self) -> Option<Vec<u8>> {
        self.receiver.read()
    }

    /// Takes a datagram off the network.
    pub(crate) fn receive(&mut self, now: Time, datagram: &[u8]) {
        let Some((_, packet)) = packet::read(datagram).filter(|(id, _)| *id == self.id) else { return };
        self.stats.received += 1;
        self.stats.received_bytes += datagram.len() as u64;
        match packet {
            Packet::Open(..) => {}
            Packet::Data { number, turn, octets } => self.receiver.data(now, number, turn, octets),
            Packet::Repair(shard, turn) => self.receiver.repair(now, shard, turn),
            Packet::Ack(ack) => {
                self.opening = None;
                self.sender.acknowledged(now, &ack);
            }
            Packet::Close => self.over = true,
        }
    }

    /// The next datagram to send, if one may go now.
    pub(crate) fn transmit(&mut self, now: Time) -> Option<Vec<u8>> {
        if self.over {
            return None;
        }
        let packet = match self.receiver.acknowledge(now) {
            Some(ack) => Packet::Ack(ack),
            None => self.sender.transmit(now)?,
        };
        let mut datagram = packet.write(self.id);
        if let (Some(config), Packet::Data { .. } | Packet::Repair(..)) = (self.opening, &packet) {
            // In the same datagram: alone it could be lost alone.
            let mut opened = Packet::Open(config.path, config.repair).write(self.id);
            opened.extend(&datagram);
            datagram = opened;
        }
        self.stats.sent += 1;
        self.stats.sent_bytes += datagram.len() as u64;
        Some(datagram)
    }

    /// When there is something to do without a datagram.
    pub(crate) fn next_event(&self) -> Option<Time> {
        [self.receiver.next_event(), self.sender.next_event()].into_iter().flatten().min()
    }

    /// Whether the other end is gone.
    pub(crate) fn is_over(&self) -> bool {
        self.over || self.sender.gave_up()
    }

    /// Whether everything written has been acknowledged.
    pub(crate) fn is_settled(&self) -> bool {
        self.sender.is_settled()
    }

    /// The farewell.
    pub(crate) fn close(&self) -> Vec<u8> {
        Packet::Close.write(self.id)
    }

    /// What this end did so far.
    pub(crate) fn stats(&self) -> Stats {
        Stats {
            resent: self.sender.resent,
            repairs: self.sender.repairs,
            repaired: self.receiver.repaired,
            ..self.stats
        }
    }
}

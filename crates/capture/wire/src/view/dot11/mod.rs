//! Views of 802.11 frames, where they lie.
//!
//! Reference: IEEE 802.11-2020 §9.2.4 (frame control, addresses, sequence control, QoS and HT control), §9.3.1
//! (control frames), §9.3.3 (management). Leaves out decryption, mesh control, DMG formats, and putting fragments
//! together.

pub(crate) mod amsdu;
mod control;
mod kind;
mod management;

use crate::Mac;
use crate::view::bytes::{le16, octets};

pub use control::BlockAck;
pub use kind::Dot11Kind;

/// An 802.11 frame whose header was captured whole; control frames of unknown kind have at least a receiver.
#[derive(Clone, Copy, Debug)]
pub struct Dot11<'a> {
    /// From frame control on, as far as captured, without check sequence.
    bytes: &'a [u8],
    header: u8,
    kind: Dot11Kind,
}

/// Why bytes are no 802.11 frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Dot11Error {
    /// Fewer bytes than the header of such a frame.
    #[error("802.11 header needs {need} bytes, {have} are there")]
    Short {
        /// Bytes there.
        have: usize,
        /// Bytes the header takes.
        need: usize,
    },
    /// A version of the protocol that is not known.
    #[error("802.11 protocol version {0}")]
    Version(u8),
}

const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const MORE_FRAGMENTS: u8 = 0x04;
const RETRY: u8 = 0x08;
const MORE_DATA: u8 = 0x20;
const PROTECTED: u8 = 0x40;
const HT_CONTROL: u8 = 0x80;

impl<'a> Dot11<'a> {
    /// The frame that is `bytes`, check sequence left out.
    ///
    /// # Errors
    /// [`Dot11Error`]; the body may be cut, the header not.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Dot11Error> {
        let have = bytes.len();
        let &[first, flags, ..] = bytes else { return Err(Dot11Error::Short { have, need: 10 }) };
        if first & 3 != 0 {
            return Err(Dot11Error::Version(first & 3));
        }
        let kind = Dot11Kind::of(first);
        let header = kind.header(flags);
        if have < usize::from(header) {
            return Err(Dot11Error::Short { have, need: usize::from(header) });
        }
        Ok(Self { bytes, header, kind })
    }

    /// Type and subtype.
    #[inline]
    pub fn kind(&self) -> Dot11Kind {
        self.kind
    }

    #[inline]
    fn has(&self, flag: u8) -> bool {
        self.bytes.get(1).is_some_and(|flags| flags & flag != 0)
    }

    /// Whether it goes to the distribution system (from a station to its access point).
    #[inline]
    pub fn to_ds(&self) -> bool {
        self.has(TO_DS)
    }

    /// Whether it comes from the distribution system (from an access point to its station).
    #[inline]
    pub fn from_ds(&self) -> bool {
        self.has(FROM_DS)
    }

    /// Whether more fragments follow.
    #[inline]
    pub fn more_fragments(&self) -> bool {
        self.has(MORE_FRAGMENTS)
    }

    /// Whether it was sent before.
    #[inline]
    pub fn retry(&self) -> bool {
        self.has(RETRY)
    }

    /// Whether the access point holds more for this station.
    #[inline]
    pub fn more_data(&self) -> bool {
        self.has(MORE_DATA)
    }

    /// Whether its body is encrypted.
    #[inline]
    pub fn protected(&self) -> bool {
        self.has(PROTECTED)
    }

    /// How long the medium is reserved after it, µs; `None` where the field means something else.
    #[inline]
    pub fn duration_us(&self) -> Option<u16> {
        le16(self.bytes, 2).filter(|field| field & 0x8000 == 0 && self.kind != Dot11Kind::PsPoll)
    }

    /// Octets of MAC header.
    #[inline]
    pub fn header_len(&self) -> usize {
        usize::from(self.header)
    }

    /// What follows the header, as far as captured.
    #[inline]
    pub fn body(&self) -> &'a [u8] {
        self.bytes.get(self.header_len()..).unwrap_or_default()
    }

    #[inline]
    fn address(&self, at: usize) -> Option<Mac> {
        (at + 6 <= self.header_len()).then(|| octets(self.bytes, at)).flatten()
    }

    /// Station that is to receive it over the air.
    #[inline]
    pub fn receiver(&self) -> Mac {
        // A wrapped control frame has its receiver in the same place.
        octets(self.bytes, 4).unwrap_or_default()
    }

    /// Station that sent it over the air; control frames such as ACK and CTS do not tell.
    #[inline]
    pub fn transmitter(&self) -> Option<Mac> {
        if self.kind.has_transmitter() { self.address(10) } else { None }
    }

    /// Whether it is to a group of stations.
    #[inline]
    pub fn is_group(&self) -> bool {
        self.receiver()[0] & 1 == 1
    }

    /// Cell that it belongs to; `None` for frames between access points and most control frames.
    #[inline]
    pub fn bssid(&self) -> Option<Mac> {
        match (self.kind.is_data(), self.kind.is_management(), self.to_ds(), self.from_ds()) {
            (true, _, false, false) | (_, true, ..) => self.address(16),
            (true, _, true, false) => Some(self.receiver()),
            (true, _, false, true) => self.address(10),
            _ if self.kind == Dot11Kind::PsPoll => Some(self.receiver()),
            _ => None,
        }
    }

    /// Where a data or management frame comes from in the end.
    #[inline]
    pub fn source(&self) -> Option<Mac> {
        match (self.kind.is_data(), self.kind.is_management(), self.to_ds(), self.from_ds()) {
            (true, _, true, true) => self.address(24),
            (true, _, false, true) => self.address(16),
            (true, ..) | (_, true, ..) => self.address(10),
            _ => None,
        }
    }

    /// Where a data or management frame goes in the end.
    #[inline]
    pub fn destination(&self) -> Option<Mac> {
        match (self.kind.is_data(), self.kind.is_management(), self.to_ds()) {
            (true, _, true) => self.address(16),
            (true, ..) | (_, true, _) => Some(self.receiver()),
            _ => None,
        }
    }

    #[inline]
    fn sequence_control(&self) -> Option<u16> {
        (self.kind.is_data() || self.kind.is_management()).then(|| le16(self.bytes, 22)).flatten()
    }

    /// Sequence number, below 4096.
    #[inline]
    pub fn sequence(&self) -> Option<u16> {
        self.sequence_control().map(|word| word >> 4)
    }

    /// Fragment number, below 16.
    #[inline]
    pub fn fragment(&self) -> Option<u8> {
        self.sequence_control().map(|word| (word & 15) as u8)
    }

    /// QoS control field.
    #[inline]
    fn qos(&self) -> Option<u16> {
        let at = if self.to_ds() && self.from_ds() { 30 } else { 24 };
        self.kind.has_qos().then(|| le16(self.bytes, at)).flatten()
    }

    /// Traffic identifier of a QoS frame.
    #[inline]
    pub fn tid(&self) -> Option<u8> {
        self.qos().map(|word| (word & 15) as u8)
    }

    /// Whether the body is an aggregate of packets.
    #[inline]
    pub fn is_amsdu(&self) -> bool {
        self.kind == Dot11Kind::QosData && self.qos().is_some_and(|word| word & 0x80 != 0)
    }

    /// HT control field, where there is one.
    pub fn ht_control(&self) -> Option<u32> {
        let there = self.has(HT_CONTROL) && (self.kind.has_qos() || self.kind.is_management());
        let at = self.header_len().checked_sub(4)?;
        there.then(|| octets(self.bytes, at).map(u32::from_le_bytes)).flatten()
    }

    /// Whether its receiver answers it with an ACK (or block ACK) at once: data and management to one station, unless a
    /// QoS frame asks for none or a later one.
    #[inline]
    pub fn expects_ack(&self) -> bool {
        const ACK_POLICY: u16 = 0x60;
        let sent_to_one = (self.kind.is_data() || self.kind.is_management()) && !self.is_group();
        (sent_to_one || self.kind == Dot11Kind::PsPoll)
            && self.qos().is_none_or(|word| word & ACK_POLICY == 0)
            && self.kind != Dot11Kind::ActionNoAck
    }
}

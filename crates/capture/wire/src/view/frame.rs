//! A captured frame, read as far as the packet in it.
//!
//! Leaves out the transport, which [`Ip::transport`] reads, and anything that takes more than one frame to tell.

use crate::Mac;
use crate::view::amsdu::Amsdu;
use crate::view::anomaly::Anomalies;
use crate::view::dot11::Dot11;
use crate::view::ip::Ip;
use crate::view::radio::{Airtime, Radio};

/// A frame as the [`crate::Decoder`] reads it.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Its octets as far as captured: capture headers (radiotap …) and the check sequence are left out.
    pub bytes: &'a [u8],
    /// Octets on the wire or air: capture headers left out, the check sequence counted where the capture has it.
    pub length: u32,
    /// Addresses of the link.
    pub link: Link<'a>,
    /// What the sniffer's radio tells.
    pub radio: Radio,
    /// How long it was on the air; `None` where the capture does not tell how it was sent.
    pub airtime: Option<Airtime>,
    /// State of its check sequence.
    pub fcs: Fcs,
    /// The packet in it.
    pub payload: Payload<'a>,
    /// What is wrong with it.
    pub anomalies: Anomalies,
}

/// Addresses of the link.
#[derive(Clone, Copy, Debug)]
pub enum Link<'a> {
    /// None, or none that can be read.
    None,
    /// Ethernet.
    Ethernet {
        /// Sender.
        source: Mac,
        /// Receiver.
        destination: Mac,
    },
    /// 802.11.
    Dot11(Dot11<'a>),
}

impl Link<'_> {
    /// MAC address of who sent this frame over this link.
    pub fn transmitter(&self) -> Option<Mac> {
        match self {
            Self::None => None,
            Self::Ethernet { source, .. } => Some(*source),
            Self::Dot11(dot11) => dot11.transmitter(),
        }
    }

    /// MAC address of who is to receive it over this link.
    pub fn receiver(&self) -> Option<Mac> {
        match self {
            Self::None => None,
            Self::Ethernet { destination, .. } => Some(*destination),
            Self::Dot11(dot11) => Some(dot11.receiver()),
        }
    }
}

/// State of a frame check sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fcs {
    /// It fits the frame.
    Good,
    /// It does not: noise, whose every field may be wrong.
    Bad,
    /// The capture has none.
    Absent,
    /// The frame was cut, so that nobody can tell.
    Unchecked,
}

impl Fcs {
    /// Word of `frames.fcs`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Absent => "absent",
            Self::Unchecked => "unchecked",
        }
    }
}

/// What a frame carries.
#[derive(Clone, Copy, Debug)]
pub enum Payload<'a> {
    /// An IP packet: the innermost that can be read, where there are tunnels.
    Ip(Ip<'a>),
    /// Several packets (802.11 A-MSDU), which iterating yields.
    Amsdu(Amsdu<'a>),
    /// Encrypted data.
    Protected,
    /// Another protocol by its EtherType; 0 for LLC without SNAP.
    Other(u16),
    /// Nothing, or nothing that can be read.
    None,
}

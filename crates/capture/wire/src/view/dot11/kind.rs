//! Types and subtypes of 802.11 frames, and how long their headers are.
//!
//! Reference: IEEE 802.11-2020 Table 9-1 and §9.3. Leaves out the extension type, but for its name.

use super::{FROM_DS, HT_CONTROL, TO_DS};

/// Type and subtype of a frame, as far as an analysis tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Dot11Kind {
    /// Data without QoS.
    Data,
    /// Data with QoS.
    QosData,
    /// No data, only the bits of its header, without QoS.
    Null,
    /// The same with QoS.
    QosNull,
    /// Acknowledgement.
    Ack,
    /// Acknowledgement of several frames.
    BlockAck,
    /// Request for one.
    BlockAckRequest,
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// A station in power save asks for a frame.
    PsPoll,
    /// End of a contention-free period or of a reservation.
    CfEnd,
    /// Another control frame in a longer header.
    ControlWrapper,
    /// Announcement of a sounding.
    NdpAnnouncement,
    /// An access point tells stations to send.
    Trigger,
    /// Another control frame.
    Control,
    /// Beacon.
    Beacon,
    /// Probe request.
    ProbeRequest,
    /// Probe response.
    ProbeResponse,
    /// Association, reassociation (requests and responses) and disassociation.
    Association,
    /// Authentication and deauthentication.
    Authentication,
    /// Action.
    Action,
    /// Action that is not acknowledged.
    ActionNoAck,
    /// Another management frame.
    Management,
    /// A frame of the extension type.
    Extension,
}

impl Dot11Kind {
    /// From the first octet of frame control.
    #[inline]
    pub(crate) fn of(first: u8) -> Self {
        match (first >> 2 & 3, first >> 4) {
            (2, subtype) => match (subtype & 8 != 0, subtype & 4 != 0) {
                (false, false) => Self::Data,
                (true, false) => Self::QosData,
                (false, true) => Self::Null,
                (true, true) => Self::QosNull,
            },
            (1, 2) => Self::Trigger,
            (1, 5) => Self::NdpAnnouncement,
            (1, 7) => Self::ControlWrapper,
            (1, 8) => Self::BlockAckRequest,
            (1, 9) => Self::BlockAck,
            (1, 10) => Self::PsPoll,
            (1, 11) => Self::Rts,
            (1, 12) => Self::Cts,
            (1, 13) => Self::Ack,
            (1, 14 | 15) => Self::CfEnd,
            (1, _) => Self::Control,
            (0, 0..=3 | 10) => Self::Association,
            (0, 4) => Self::ProbeRequest,
            (0, 5) => Self::ProbeResponse,
            (0, 8) => Self::Beacon,
            (0, 11 | 12) => Self::Authentication,
            (0, 13) => Self::Action,
            (0, 14) => Self::ActionNoAck,
            (0, _) => Self::Management,
            _ => Self::Extension,
        }
    }

    /// Word of `frames.kind`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::QosData => "qos_data",
            Self::Null | Self::QosNull => "null",
            Self::Ack => "ack",
            Self::BlockAck => "block_ack",
            Self::BlockAckRequest => "block_ack_request",
            Self::Rts => "rts",
            Self::Cts => "cts",
            Self::PsPoll => "ps_poll",
            Self::CfEnd | Self::ControlWrapper | Self::NdpAnnouncement | Self::Trigger | Self::Control => {
                "control"
            }
            Self::Beacon => "beacon",
            Self::ProbeRequest | Self::ProbeResponse => "probe",
            Self::Association => "association",
            Self::Authentication => "authentication",
            Self::Action | Self::ActionNoAck => "action",
            Self::Management => "management",
            Self::Extension => "extension",
        }
    }

    /// Whether it is of the data type; [`Self::Null`] and [`Self::QosNull`] are.
    #[inline]
    pub fn is_data(self) -> bool {
        matches!(self, Self::Data | Self::QosData | Self::Null | Self::QosNull)
    }

    /// Whether a packet may be in it.
    #[inline]
    pub fn carries_data(self) -> bool {
        matches!(self, Self::Data | Self::QosData)
    }

    /// Whether it is of the management type.
    #[inline]
    pub fn is_management(self) -> bool {
        matches!(
            self,
            Self::Beacon
                | Self::ProbeRequest
                | Self::ProbeResponse
                | Self::Association
                | Self::Authentication
                | Self::Action
                | Self::ActionNoAck
                | Self::Management
        )
    }

    /// Whether it has a QoS control field.
    #[inline]
    pub(crate) fn has_qos(self) -> bool {
        matches!(self, Self::QosData | Self::QosNull)
    }

    /// Whether its second address is its transmitter's.
    #[inline]
    pub(crate) fn has_transmitter(self) -> bool {
        !matches!(self, Self::Ack | Self::Cts | Self::ControlWrapper | Self::Control | Self::Extension)
    }

    /// Octets of MAC header, with these flags.
    #[inline]
    pub(crate) fn header(self, flags: u8) -> u8 {
        let qos = if self.has_qos() { 2 } else { 0 };
        let ht_control = if flags & HT_CONTROL != 0 { 4 } else { 0 };
        match self {
            Self::Data | Self::Null | Self::QosData | Self::QosNull => {
                let fourth = if flags & (TO_DS | FROM_DS) == TO_DS | FROM_DS { 6 } else { 0 };
                24 + fourth + qos + if qos > 0 { ht_control } else { 0 }
            }
            Self::Ack | Self::Cts | Self::Control | Self::Extension => 10,
            Self::ControlWrapper => 16,
            // Poll for a beamforming report and DMG's have two addresses, too, but nothing here reads them.
            Self::BlockAck
            | Self::BlockAckRequest
            | Self::Rts
            | Self::PsPoll
            | Self::CfEnd
            | Self::NdpAnnouncement
            | Self::Trigger => 16,
            // Management.
            _ => 24 + ht_control,
        }
    }
}

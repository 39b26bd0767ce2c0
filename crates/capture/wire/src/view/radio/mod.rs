//! What a sniffer's radio tells of a frame, whichever header told it.
//!
//! Leaves out fields that no analysis here uses (lock quality, transmit power, several antennas: the first
//! value of each kind counts).

pub(crate) mod airtime;
pub(crate) mod avs;
pub(crate) mod modulation;
pub(crate) mod prism;
pub(crate) mod radiotap;

pub use airtime::Airtime;
pub use modulation::{Guard, Modulation, Width};

/// What the radio tells; every field is `None` where the capture does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Radio {
    /// The radio's clock when the first bit of the MAC frame arrived, in microseconds.
    pub tsft_us: Option<u64>,
    /// How the frame was sent.
    pub modulation: Modulation,
    /// Aggregate (A-MPDU) that the frame was part of.
    pub ampdu: Option<Ampdu>,
    /// Centre frequency of the primary channel, MHz.
    pub frequency_mhz: Option<u16>,
    /// Signal at the sniffer, dBm.
    pub signal_dbm: Option<i8>,
    /// Noise at the sniffer, dBm.
    pub noise_dbm: Option<i8>,
    /// Number of the antenna.
    pub antenna: Option<u8>,
    /// Attempts before this one; only of frames that the sniffing host sent itself.
    pub data_retries: Option<u8>,
    /// Whether the frame ends in a check sequence.
    pub(crate) fcs_at_end: Option<bool>,
    /// Whether the preamble of 802.11b was the short one.
    pub(crate) short_preamble: Option<bool>,
    /// Whether the radio calls the check sequence bad.
    pub(crate) bad_fcs: bool,
    /// Whether padding stands between MAC header and body.
    pub(crate) padded: bool,
}

/// An aggregate of frames behind one preamble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ampdu {
    /// Number that the frames of one aggregate share.
    pub reference: u32,
    /// Whether this is known to be the last frame of it.
    pub last: bool,
}

impl Radio {
    /// Rate of the body, bit/s.
    pub fn rate_bps(&self) -> Option<u64> {
        self.modulation.rate_bps()
    }
}

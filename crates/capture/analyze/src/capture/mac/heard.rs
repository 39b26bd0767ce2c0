//! What the MAC stage needs to know of an 802.11 frame.

use airperf_record::MacAddress;
use airperf_wire::container::Record;
use airperf_wire::{Airtime, BlockAck, Dot11, Dot11Kind, Fcs, Frame, Modulation, Payload};
use std::net::IpAddr;

/// A frame as the sniffer heard it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard<'a> {
    pub(crate) number: u64,
    pub(crate) interface: u32,
    /// The capture's time stamp, nanoseconds since 1970.
    pub(crate) time_ns: i64,
    /// The radio's clock at the first bit of the MAC frame, behind the preamble.
    pub(crate) tsft_us: Option<u64>,
    pub(crate) kind: Dot11Kind,
    pub(crate) transmitter: Option<MacAddress>,
    pub(crate) receiver: MacAddress,
    pub(crate) group: bool,
    pub(crate) sequence: Option<u16>,
    pub(crate) fragment: u8,
    pub(crate) tid: Option<u8>,
    pub(crate) retry: bool,
    pub(crate) protected: bool,
    pub(crate) asks_for_ack: bool,
    /// Its check sequence is bad: no other field can be believed.
    pub(crate) noise: bool,
    /// Octets of the MAC frame, check sequence included.
    pub(crate) bytes: u32,
    /// Octets of the packet in it; of an encrypted or another body all of it.
    pub(crate) carried: u32,
    pub(crate) airtime: Option<Airtime>,
    pub(crate) modulation: Modulation,
    pub(crate) frequency_mhz: Option<u16>,
    pub(crate) signal_dbm: Option<i8>,
    /// Number of the A-MPDU it came in.
    pub(crate) aggregate: Option<u32>,
    pub(crate) block_ack: Option<BlockAck<'a>>,
    /// Source of its packet, where its transmitter made it.
    pub(crate) address: Option<IpAddr>,
}

impl<'a> Heard<'a> {
    /// A captured frame; `octets` are those on the air, check sequence included.
    pub(crate) fn of(record: &Record, frame: &Frame<'a>, dot11: &Dot11<'a>, octets: u32) -> Self {
        const FCS: u32 = 4;
        let transmitter = dot11.transmitter();
        let body = octets.saturating_sub(dot11.header_len() as u32 + FCS);
        let (carried, source) = match &frame.payload {
            Payload::Ip(ip) => (ip.total_len() as u32, Some(ip.source())),
            _ if dot11.kind().carries_data() => (body, None),
            _ => (0, None),
        };
        Self {
            number: record.number,
            interface: record.interface,
            time_ns: record.time_ns,
            tsft_us: frame.radio.tsft_us,
            kind: dot11.kind(),
            transmitter: transmitter.map(MacAddress),
            receiver: MacAddress(dot11.receiver()),
            group: dot11.is_group(),
            sequence: dot11.sequence(),
            fragment: dot11.fragment().unwrap_or_default(),
            tid: dot11.tid(),
            retry: dot11.retry(),
            protected: dot11.protected(),
            asks_for_ack: dot11.expects_ack(),
            noise: frame.fcs == Fcs::Bad,
            bytes: octets,
            carried: carried.min(body),
            airtime: frame.airtime,
            modulation: frame.radio.modulation,
            frequency_mhz: frame.radio.frequency_mhz,
            signal_dbm: frame.radio.signal_dbm,
            aggregate: frame.radio.ampdu.map(|ampdu| ampdu.reference),
            block_ack: dot11.block_ack(),
            // What an access point forwards has another source.
            address: source.filter(|_| dot11.source() == transmitter),
        }
    }
}

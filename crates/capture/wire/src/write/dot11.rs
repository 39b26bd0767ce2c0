//! Builds the headers of 802.11 frames: data, ACK, RTS, CTS and the beacon of an ad hoc network.
//!
//! Reference: IEEE 802.11-2020 §9.2.4 (frame control, duration, addresses, sequence control, FCS), §9.3.1
//! (control), §9.3.2 (data), §9.3.3.2 (beacon); LLC and SNAP per RFC 1042. Leaves out QoS, 4 addresses,
//! encryption, fragments and infrastructure mode.

use crate::{BROADCAST, IBSS, Mac};

const DATA: u8 = 0x08;
const BEACON: u8 = 0x80;
const RTS: u8 = 0xb4;
const CTS: u8 = 0xc4;
const ACK: u8 = 0xd4;
/// Second octet of frame control.
const RETRY: u8 = 0x08;

/// LLC (DSAP, SSAP, unnumbered information), SNAP with no organisation, type IPv4 (RFC 1042).
const LLC_SNAP_IPV4: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

/// What a beacon announces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beacon<'a> {
    /// Time of the cell's clock, in microseconds.
    pub(crate) timestamp_us: u64,
    /// Time between beacons, in units of 1024 µs.
    pub(crate) interval_tu: u16,
    /// Name of the network, at most 32 octets.
    pub(crate) ssid: &'a str,
    /// Channel, 1 to 14.
    pub(crate) channel: u8,
    /// Whether short preambles are allowed.
    pub(crate) short_preamble: bool,
}

/// The bytes of a frame but for the packet it carries and the FCS; owns one buffer that is used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dot11 {
    header: Vec<u8>,
}

impl Dot11 {
    /// Header, LLC and SNAP of a data frame that carries an IPv4 packet within an ad hoc network.
    ///
    /// `duration_us` is how long the medium is reserved after the frame, `sequence` below 4096.
    pub(crate) fn data(&mut self, from: Mac, to: Mac, sequence: u16, retry: bool, duration_us: u16) -> &[u8] {
        self.start(DATA, if retry { RETRY } else { 0 }, duration_us);
        for address in [to, from, IBSS] {
            self.header.extend_from_slice(&address);
        }
        // Fragment number in the lower four bits: always 0.
        self.header.extend_from_slice(&(sequence << 4).to_le_bytes());
        self.header.extend_from_slice(&LLC_SNAP_IPV4);
        &self.header
    }

    /// An acknowledgement to `to`.
    pub(crate) fn ack(&mut self, to: Mac) -> &[u8] {
        self.start(ACK, 0, 0);
        self.header.extend_from_slice(&to);
        &self.header
    }

    /// A request to send from `from` to `to`.
    pub(crate) fn rts(&mut self, from: Mac, to: Mac, retry: bool, duration_us: u16) -> &[u8] {
        self.start(RTS, if retry { RETRY } else { 0 }, duration_us);
        self.header.extend_from_slice(&to);
        self.header.extend_from_slice(&from);
        &self.header
    }

    /// A clear to send to `to`.
    pub(crate) fn cts(&mut self, to: Mac, duration_us: u16) -> &[u8] {
        self.start(CTS, 0, duration_us);
        self.header.extend_from_slice(&to);
        &self.header
    }

    /// A beacon of the ad hoc network, with the rates of 802.11b, 1 and 2 Mbit/s being basic.
    pub(crate) fn beacon(&mut self, from: Mac, sequence: u16, beacon: Beacon<'_>) -> &[u8] {
        const CAPABILITY_IBSS: u16 = 0x0002;
        const CAPABILITY_SHORT_PREAMBLE: u16 = 0x0020;
        self.start(BEACON, 0, 0);
        for address in [BROADCAST, from, IBSS] {
            self.header.extend_from_slice(&address);
        }
        let header = &mut self.header;
        header.extend_from_slice(&(sequence << 4).to_le_bytes());
        header.extend_from_slice(&beacon.timestamp_us.to_le_bytes());
        header.extend_from_slice(&beacon.interval_tu.to_le_bytes());
        let capability = CAPABILITY_IBSS | if beacon.short_preamble { CAPABILITY_SHORT_PREAMBLE } else { 0 };
        header.extend_from_slice(&capability.to_le_bytes());
        let ssid = &beacon.ssid.as_bytes()[..beacon.ssid.len().min(32)];
        header.extend_from_slice(&[0, ssid.len() as u8]);
        header.extend_from_slice(ssid);
        // Supported rates in 500 kbit/s; the top bit marks a basic rate.
        header.extend_from_slice(&[1, 4, 0x82, 0x84, 11, 22]);
        // DS parameter set: the channel. IBSS parameter set: no ATIM window.
        header.extend_from_slice(&[3, 1, beacon.channel, 6, 2, 0, 0]);
        header
    }

    fn start(&mut self, kind: u8, flags: u8, duration_us: u16) {
        self.header.clear();
        self.header.extend_from_slice(&[kind, flags]);
        self.header.extend_from_slice(&duration_us.to_le_bytes());
    }
}

/// The frame check sequence of a frame given in parts, in the order in which it is sent (§9.2.4.8): the
/// CRC-32 of ISO/HDLC, as Ethernet's.
pub fn fcs(parts: &[&[u8]]) -> [u8; 4] {
    let mut crc = crc32fast::Hasher::new();
    parts.iter().for_each(|part| crc.update(part));
    crc.finalize().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station_mac;

    #[test]
    fn frames_byte_by_byte() {
        let (a, b) = (station_mac(0), station_mac(1));
        let mut frames = Dot11::default();
        #[rustfmt::skip]
        assert_eq!(frames.data(a, b, 0xabc, true, 314), [
            0x08, 0x08, 0x3a, 1, 2, 0x41, 0x50, 0, 0, 2, 2, 0x41, 0x50, 0, 0, 1, 2, 0x41, 0x50, 0xff, 0xff, 0xff,
            0xc0, 0xab, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0,
        ]);
        assert_eq!(frames.ack(a), [0xd4, 0, 0, 0, 2, 0x41, 0x50, 0, 0, 1]);
        assert_eq!(frames.cts(a, 1), [0xc4, 0, 1, 0, 2, 0x41, 0x50, 0, 0, 1]);
        assert_eq!(frames.rts(a, b, false, 2)[..4], [0xb4, 0, 2, 0]);
        let beacon =
            Beacon { timestamp_us: 1, interval_tu: 100, ssid: "airperf", channel: 6, short_preamble: false };
        assert_eq!(frames.beacon(a, 1, beacon).len() + 4, 62);
    }

    #[test]
    fn lengths_are_those_of_the_standard_and_of_the_medium() {
        let mut frames = Dot11::default();
        let mac = station_mac(0);
        assert_eq!(frames.data(mac, mac, 0, false, 0).len() + 4, 36);
        assert_eq!(frames.ack(mac).len() + 4, 14);
        assert_eq!(frames.cts(mac, 0).len() + 4, 14);
        assert_eq!(frames.rts(mac, mac, false, 0).len() + 4, 20);
    }

    #[test]
    fn the_fcs_is_the_crc_of_the_catalogue() {
        // Check value of CRC-32/ISO-HDLC over "123456789".
        assert_eq!(fcs(&[b"12345", b"6789"]), 0xcbf4_3926_u32.to_le_bytes());
    }
}

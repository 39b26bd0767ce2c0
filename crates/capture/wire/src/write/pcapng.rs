//! Writes pcapng: one little-endian section, nanosecond time stamps, any number of interfaces.
//!
//! Reference: draft-ietf-opsawg-pcapng (section header §4.1, interface description §4.2, enhanced packet
//! §4.3, name resolution §4.5). Every packet goes straight to the sink in its pieces; nothing is copied
//! or allocated. Put a buffer under it: a packet is several small writes.
//!
//! Leaves out reading, statistics blocks, and time stamps of other resolutions.

use std::io::{self, Write};
use std::net::Ipv4Addr;

use crate::LinkType;

/// An interface of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Interface<'a> {
    /// What its packets begin with.
    pub link_type: LinkType,
    /// Short name.
    pub name: &'a str,
    /// What it is, for a reader.
    pub description: &'a str,
}

/// What is said of a packet beside its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Notes<'a> {
    /// Octets of frame check sequence at its end, 1 to 15, where its interface says otherwise.
    pub fcs_octets: Option<u8>,
    /// A comment for a reader.
    pub comment: Option<&'a str>,
}

/// Number of an interface within its capture, from [`Writer::interface`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceId(u32);

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const NAME_RESOLUTION: u32 = 4;
const ENHANCED_PACKET: u32 = 6;
/// Type and length before a block's body, length after it.
const BLOCK_OVERHEAD: usize = 12;
/// Interface, time stamp (two words), captured and original length.
const PACKET_FIELDS: usize = 20;

const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const IF_FCSLEN: u16 = 13;
const EPB_FLAGS: u16 = 2;
/// Time stamps count units of 10^-9 s.
const NANOSECONDS: u8 = 9;
const NRB_RECORD_IPV4: u16 = 1;

/// Writes a capture to `W`.
#[derive(Debug)]
pub struct Writer<W> {
    sink: W,
    interfaces: u32,
    epoch_ns: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a capture whose time 0 is `epoch_ns` nanoseconds after 1970; 0 where a run has no date.
    ///
    /// # Errors
    /// The sink's.
    pub fn new(sink: W, application: &str, epoch_ns: u64) -> io::Result<Self> {
        let mut body = Vec::new();
        body.extend_from_slice(&BYTE_ORDER_MAGIC.to_le_bytes());
        body.extend_from_slice(&1u16.to_le_bytes());
        body.extend_from_slice(&0u16.to_le_bytes());
        // The length of the section is not known beforehand: −1 (§4.1).
        body.extend_from_slice(&u64::MAX.to_le_bytes());
        option(&mut body, SHB_USERAPPL, application.as_bytes());
        end_of_options(&mut body);
        let mut writer = Self { sink, interfaces: 0, epoch_ns };
        writer.block(SECTION_HEADER, &body)?;
        Ok(writer)
    }

    /// Adds an interface.
    ///
    /// # Errors
    /// The sink's.
    pub fn interface(&mut self, interface: Interface<'_>) -> io::Result<InterfaceId> {
        let mut body = Vec::new();
        body.extend_from_slice(&(interface.link_type.0).to_le_bytes());
        body.extend_from_slice(&[0; 2]);
        // No limit on the length of packets.
        body.extend_from_slice(&0u32.to_le_bytes());
        option(&mut body, IF_NAME, interface.name.as_bytes());
        option(&mut body, IF_DESCRIPTION, interface.description.as_bytes());
        option(&mut body, IF_TSRESOL, &[NANOSECONDS]);
        end_of_options(&mut body);
        self.block(INTERFACE_DESCRIPTION, &body)?;
        self.interfaces += 1;
        Ok(InterfaceId(self.interfaces - 1))
    }

    /// Adds an interface of another capture; `name` is empty where it has none, `snap_length` 0 where there
    /// is no limit.
    ///
    /// # Errors
    /// The sink's.
    pub fn captured_interface(
        &mut self,
        link_type: LinkType,
        name: &str,
        snap_length: u32,
        fcs_octets: Option<u8>,
    ) -> io::Result<InterfaceId> {
        let mut body = Vec::new();
        body.extend_from_slice(&link_type.0.to_le_bytes());
        body.extend_from_slice(&[0; 2]);
        body.extend_from_slice(&snap_length.to_le_bytes());
        if !name.is_empty() {
            option(&mut body, IF_NAME, name.as_bytes());
        }
        option(&mut body, IF_TSRESOL, &[NANOSECONDS]);
        if let Some(octets) = fcs_octets {
            // In bits.
            option(&mut body, IF_FCSLEN, &[octets.saturating_mul(8)]);
        }
        end_of_options(&mut body);
        self.block(INTERFACE_DESCRIPTION, &body)?;
        self.interfaces += 1;
        Ok(InterfaceId(self.interfaces - 1))
    }

    /// Adds a packet of which `bytes` were captured and `original` sent.
    ///
    /// # Errors
    /// The sink's; [`io::ErrorKind::InvalidInput`] for 4 GiB or more, or a comment of more than 65,535 bytes.
    pub fn captured(
        &mut self,
        interface: InterfaceId,
        time_ns: u64,
        bytes: &[u8],
        original: u32,
        notes: Notes<'_>,
    ) -> io::Result<()> {
        self.enhanced_packet(interface, time_ns, &[bytes], Some(original), notes)
    }

    /// Gives IPv4 addresses the names of the stations that have them.
    ///
    /// # Errors
    /// The sink's.
    pub fn names<'a>(&mut self, names: impl IntoIterator<Item = (Ipv4Addr, &'a str)>) -> io::Result<()> {
        let mut body = Vec::new();
        for (address, name) in names {
            let mut record = address.octets().to_vec();
            record.extend(name.bytes().filter(|b| *b != 0));
            record.push(0);
            option(&mut body, NRB_RECORD_IPV4, &record);
        }
        end_of_options(&mut body);
        self.block(NAME_RESOLUTION, &body)
    }

    /// Adds a packet made of `parts`, seen on `interface` at `time_ns` since the start of the run.
    ///
    /// # Errors
    /// The sink's; [`io::ErrorKind::InvalidInput`] for a packet of 4 GiB or more, or a comment of more than
    /// 65,535 bytes.
    pub fn packet(
        &mut self,
        interface: InterfaceId,
        time_ns: u64,
        parts: &[&[u8]],
        comment: Option<&str>,
    ) -> io::Result<()> {
        self.enhanced_packet(interface, time_ns, parts, None, Notes { fcs_octets: None, comment })
    }

    /// A packet of which all or less than `original` bytes were captured.
    fn enhanced_packet(
        &mut self,
        interface: InterfaceId,
        time_ns: u64,
        parts: &[&[u8]],
        original: Option<u32>,
        Notes { fcs_octets, comment }: Notes<'_>,
    ) -> io::Result<()> {
        let length: usize = parts.iter().map(|p| p.len()).sum();
        let comment_length = u16::try_from(comment.map_or(0, str::len)).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "a comment of more than 65,535 bytes")
        })?;
        let flags = if fcs_octets.is_some() { 8 } else { 0 };
        let options = match flags + comment.map_or(0, |c| 4 + padded(c.len())) {
            0 => 0,
            length => length + 4,
        };
        let total = BLOCK_OVERHEAD + PACKET_FIELDS + padded(length) + options;
        let total = u32::try_from(total)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, format!("packet of {length} bytes")))?;
        let time = self.epoch_ns.saturating_add(time_ns);
        let words = [
            ENHANCED_PACKET,
            total,
            interface.0,
            (time >> 32) as u32,
            time as u32,
            length as u32,
            original.unwrap_or(length as u32),
        ];
        let mut head = [0; 28];
        for (place, word) in head.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.sink.write_all(&head)?;
        for part in parts {
            self.sink.write_all(part)?;
        }
        self.pad(length)?;
        if let Some(comment) = comment {
            self.sink.write_all(&OPT_COMMENT.to_le_bytes())?;
            self.sink.write_all(&comment_length.to_le_bytes())?;
            self.sink.write_all(comment.as_bytes())?;
            self.pad(comment.len())?;
        }
        if let Some(octets) = fcs_octets {
            self.sink.write_all(&EPB_FLAGS.to_le_bytes())?;
            self.sink.write_all(&4u16.to_le_bytes())?;
            self.sink.write_all(&(u32::from(octets & 15) << 5).to_le_bytes())?;
        }
        if options > 0 {
            self.sink.write_all(&[0; 4])?;
        }
        self.sink.write_all(&total.to_le_bytes())
    }

    /// Gives the sink back; there is nothing to write at the end.
    pub fn into_inner(self) -> W {
        self.sink
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let total = (BLOCK_OVERHEAD + body.len()) as u32;
        self.sink.write_all(&kind.to_le_bytes())?;
        self.sink.write_all(&total.to_le_bytes())?;
        self.sink.write_all(body)?;
        self.sink.write_all(&total.to_le_bytes())
    }

    fn pad(&mut self, length: usize) -> io::Result<()> {
        self.sink.write_all(&[0; 3][..padded(length) - length])
    }
}

/// Blocks and options fill whole 32-bit words.
fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// Appends an option, or a record of the same form, cut at the 65,535 bytes that fit.
fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    body.resize(padded(body.len()), 0);
}

fn end_of_options(body: &mut Vec<u8>) {
    body.extend_from_slice(&[0; 4]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_capture_byte_by_byte() {
        let mut writer = Writer::new(Vec::new(), "app", 1_000).unwrap();
        let interface = Interface { link_type: LinkType::RAW, name: "a", description: "bc" };
        let id = writer.interface(interface).unwrap();
        writer.packet(id, 1 << 32, &[&[1, 2], &[3]], Some("why")).unwrap();
        let bytes = writer.into_inner();
        #[rustfmt::skip]
        let expected: &[u8] = &[
            0x0a, 0x0d, 0x0d, 0x0a, 40, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0,
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 4, 0, 3, 0, b'a', b'p', b'p', 0, 0, 0, 0, 0, 40, 0, 0, 0,
            1, 0, 0, 0, 48, 0, 0, 0, 101, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, b'a', 0, 0, 0,
            3, 0, 2, 0, b'b', b'c', 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 48, 0, 0, 0,
            6, 0, 0, 0, 48, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0xe8, 3, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3, 0,
            1, 0, 3, 0, b'w', b'h', b'y', 0, 0, 0, 0, 0, 48, 0, 0, 0,
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn a_packet_of_another_capture_keeps_what_is_said_of_it() {
        let mut writer = Writer::new(Vec::new(), "app", 0).unwrap();
        let id = writer.captured_interface(LinkType::ETHERNET, "", 96, None).unwrap();
        let start = writer.sink.len();
        let notes = Notes { fcs_octets: Some(4), comment: Some("why") };
        writer.captured(id, 1, &[7], 60, notes).unwrap();
        #[rustfmt::skip]
        let expected: &[u8] = &[
            6, 0, 0, 0, 56, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 60, 0, 0, 0, 7, 0, 0, 0,
            1, 0, 3, 0, b'w', b'h', b'y', 0, 2, 0, 4, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 56, 0, 0, 0,
        ];
        assert_eq!(&writer.sink[start..], expected);
        let long = "x".repeat(65_536);
        let notes = Notes { fcs_octets: None, comment: Some(&long) };
        assert_eq!(writer.captured(id, 1, &[], 0, notes).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}

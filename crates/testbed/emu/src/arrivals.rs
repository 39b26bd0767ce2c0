//! `arrivals.bin`: every packet offered to the link, and when, so that a run can be repeated exactly.
//!
//! Layout, all integers little endian. Header, 24 bytes: the magic `airarriv`, version `u32` (1),
//! stations `u16`, zero `u16`, seed `u64`. Then one 24-byte entry per packet: effective time in
//! nanoseconds `u64`, number of the packet `u64`, length of the IP packet in bytes `u32`, sending
//! station `u16`, destination `u16`. The last entry has 0xFFFF as both stations; its time is the closing
//! time of the run and its number the count of packets, so a cut file is noticed.
//!
//! Left out: the packets' bytes, which a link never looks at; they are in `air.pcapng`.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use airperf_link::StationId;
use airperf_units::Time;

const MAGIC: &[u8; 8] = b"airarriv";
const VERSION: u32 = 1;
const CLOSING: u16 = 0xFFFF;

/// Name of the file in a run directory.
pub(crate) const FILE: &str = "arrivals.bin";

/// What the file says about its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Stations on the link.
    pub(crate) stations: u16,
    /// Seed of the run.
    pub(crate) seed: u64,
}

/// One packet offered to the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// When, as the link took it: never before the link's present.
    pub(crate) at: Time,
    /// Number of the packet, from 0 without gaps.
    pub(crate) packet: u64,
    /// Length of the IP packet.
    pub(crate) bytes: u32,
    /// Sender.
    pub(crate) from: StationId,
    /// Receiver.
    pub(crate) to: StationId,
}

/// What reading the file can run into.
#[derive(Debug, thiserror::Error)]
pub enum ArrivalsError {
    /// The file cannot be read.
    #[error("cannot read the arrivals log: {0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("this is not an arrivals log: it begins with {0:02x?} instead of \"airarriv\"")]
    Magic([u8; 8]),
    /// It is of another version.
    #[error(
        "the arrivals log has version {0}, this program reads version {VERSION}; use the airperf that made the run"
    )]
    Version(u32),
    /// It ends without its closing entry.
    #[error("the arrivals log is cut: it ends after {0} packets without a closing time")]
    Cut(u64),
    /// An entry contradicts those before it.
    #[error("the arrivals log is damaged at packet {0}: its number, time or stations are out of order")]
    Damaged(u64),
}

/// Writes an arrivals log.
#[derive(Debug)]
pub(crate) struct ArrivalsWriter<W> {
    file: W,
    packets: u64,
}

impl<W: Write> ArrivalsWriter<W> {
    /// Begins a log; `file` should be buffered.
    pub(crate) fn new(mut file: W, header: Header) -> io::Result<Self> {
        file.write_all(MAGIC)?;
        file.write_all(&VERSION.to_le_bytes())?;
        file.write_all(&header.stations.to_le_bytes())?;
        file.write_all(&0u16.to_le_bytes())?;
        file.write_all(&header.seed.to_le_bytes())?;
        Ok(Self { file, packets: 0 })
    }

    /// Adds the next packet.
    pub(crate) fn push(&mut self, at: Time, bytes: u32, from: StationId, to: StationId) -> io::Result<()> {
        let packet = self.packets;
        self.packets += 1;
        self.entry(at, packet, bytes, from.0, to.0)
    }

    /// Ends the log and gives the file back.
    pub(crate) fn close(mut self, closing: Time) -> io::Result<W> {
        self.entry(closing, self.packets, 0, CLOSING, CLOSING)?;
        Ok(self.file)
    }

    fn entry(&mut self, at: Time, packet: u64, bytes: u32, from: u16, to: u16) -> io::Result<()> {
        let mut entry = [0u8; 24];
        entry[..8].copy_from_slice(&at.as_ns().to_le_bytes());
        entry[8..16].copy_from_slice(&packet.to_le_bytes());
        entry[16..20].copy_from_slice(&bytes.to_le_bytes());
        entry[20..22].copy_from_slice(&from.to_le_bytes());
        entry[22..].copy_from_slice(&to.to_le_bytes());
        self.file.write_all(&entry)
    }
}

/// Reads an arrivals log.
#[derive(Debug)]
pub(crate) struct ArrivalsReader {
    file: BufReader<File>,
    header: Header,
    packets: u64,
    last: Time,
}

/// What comes next in an arrivals log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A packet.
    Packet(Entry),
    /// The end, at this time.
    Closing(Time),
}

impl ArrivalsReader {
    /// Opens the file and reads its header.
    pub(crate) fn open(path: &Path) -> Result<Self, ArrivalsError> {
        let mut file = BufReader::new(File::open(path)?);
        let magic = bytes::<8>(&mut file)?;
        if &magic != MAGIC {
            return Err(ArrivalsError::Magic(magic));
        }
        let version = u32::from_le_bytes(bytes(&mut file)?);
        if version != VERSION {
            return Err(ArrivalsError::Version(version));
        }
        let stations = u16::from_le_bytes(bytes(&mut file)?);
        bytes::<2>(&mut file)?;
        let seed = u64::from_le_bytes(bytes(&mut file)?);
        Ok(Self { file, header: Header { stations, seed }, packets: 0, last: Time::ZERO })
    }

    /// The header.
    pub(crate) const fn header(&self) -> Header {
        self.header
    }

    /// The next entry.
    pub(crate) fn next(&mut self) -> Result<Next, ArrivalsError> {
        let entry = bytes::<24>(&mut self.file).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ArrivalsError::Cut(self.packets),
            _ => error.into(),
        })?;
        let (time, rest) = entry.split_at(8);
        let (number, rest) = rest.split_at(8);
        let word = |b: &[u8]| b.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
        let (at, packet) = (Time::from_ns(word(time)), word(number));
        let (from, to) = (word(&rest[4..6]) as u16, word(&rest[6..8]) as u16);
        let in_order = packet == self.packets && at >= self.last;
        if in_order && from == CLOSING && to == CLOSING {
            return Ok(Next::Closing(at));
        }
        if !in_order || from >= self.header.stations {
            return Err(ArrivalsError::Damaged(self.packets));
        }
        (self.packets, self.last) = (self.packets + 1, at);
        let bytes = word(&rest[..4]) as u32;
        Ok(Next::Packet(Entry { at, packet, bytes, from: StationId(from), to: StationId(to) }))
    }
}

fn bytes<const N: usize>(file: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header { stations: 2, seed: 0x0102_0304_0506_0708 };

    fn written() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let mut writer = ArrivalsWriter::new(File::create(&path).unwrap(), HEADER).unwrap();
        writer.push(Time::from_ns(5), 60, StationId(1), StationId(0)).unwrap();
        writer.push(Time::from_ns(5), 1_500, StationId(0), StationId(1)).unwrap();
        writer.close(Time::from_ns(9)).unwrap();
        (folder, path)
    }

    #[test]
    fn the_layout_is_the_documented_one() {
        let (_folder, path) = written();
        let bytes = std::fs::read(path).unwrap();
        assert_eq!(bytes.len(), 24 + 3 * 24);
        assert_eq!(&bytes[..24], b"airarriv\x01\0\0\0\x02\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01");
        assert_eq!(&bytes[24..48], b"\x05\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x3c\0\0\0\x01\0\0\0");
        assert_eq!(&bytes[72..], b"\x09\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff");
    }

    #[test]
    fn what_was_written_is_read() {
        let (_folder, path) = written();
        let mut reader = ArrivalsReader::open(&path).unwrap();
        assert_eq!(reader.header(), HEADER);
        let entry =
            Entry { at: Time::from_ns(5), packet: 0, bytes: 60, from: StationId(1), to: StationId(0) };
        assert_eq!(reader.next().unwrap(), Next::Packet(entry));
        assert!(matches!(reader.next().unwrap(), Next::Packet(Entry { packet: 1, bytes: 1_500, .. })));
        assert_eq!(reader.next().unwrap(), Next::Closing(Time::from_ns(9)));
    }

    #[test]
    fn a_damaged_log_says_how() {
        let (_folder, path) = written();
        let good = std::fs::read(&path).unwrap();
        let complaint = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let mut reader = match ArrivalsReader::open(&path) {
                Ok(reader) => reader,
                Err(error) => return error.to_string(),
            };
            loop {
                match reader.next() {
                    Ok(Next::Packet(_)) => {}
                    Ok(Next::Closing(_)) => return "whole".into(),
                    Err(error) => return error.to_string(),
                }
            }
        };
        assert_eq!(complaint(&good), "whole");
        assert!(complaint(&good[..80]).contains("cut: it ends after 2 packets"));
        let mut other = good.clone();
        other[8] = 2;
        assert!(complaint(&other).contains("version 2"));
        other[0] = b'X';
        assert!(complaint(&other).contains("not an arrivals log"));
        let mut swapped = good.clone();
        swapped[24] = 6; // the first packet after the second
        assert!(complaint(&swapped).contains("damaged at packet 1"));
    }
}

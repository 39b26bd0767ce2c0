//! Bytes on the air and on the wire: captures, frame formats, and views of packets.
//!
//! [`AirCapture`] and [`EtherCapture`] turn what a link reports into a pcapng file that Wireshark opens
//! without a complaint; [`TcpPacket`] makes the bytes of a modelled segment; [`Ipv4`] and [`Tcp`] read
//! headers where they lie, without copying, and never past what was captured.
//!
//! Nothing here reads a clock or allocates per packet in steady state. Left out: reading captures and the
//! formats of other people's captures (IPv6, VLAN, Prism, …), which come with capture analysis.

mod air;
mod build;
mod dot11;
mod ethernet;
mod ip;
mod mac;
pub mod pcapng;
mod radiotap;
mod tcp;

pub use air::{AirCapture, AirConfig, AirFrame, AirKind};
pub use build::{TcpOptions, TcpPacket};
pub use dot11::{Beacon, Dot11, fcs};
pub use ethernet::{EtherCapture, ethernet_frame};
pub use ip::{Ipv4, Ipv4Error, PROTOCOL_TCP, checksum};
pub use mac::{BROADCAST, IBSS, Mac, station_mac};
pub use radiotap::Radiotap;
pub use tcp::{Flags, Options, Tcp, TcpError, TcpOption};

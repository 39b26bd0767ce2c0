//! Bytes on the air and on the wire: captures, frame formats, and views of packets.
//!
//! `container` reads captures as batches of records, `view` reads the packets in them where they lie,
//! `write` makes captures: [`AirCapture`] and [`EtherCapture`] turn what a link reports into a pcapng file
//! that Wireshark opens without a complaint, [`TcpPacket`] makes the bytes of a modelled segment.
//!
//! Nothing here reads a clock or allocates per packet in steady state. Left out: what packets mean
//! together, which is the crate `analyze`'s.

pub mod anonymize;
pub mod container;
mod link_type;
mod view;
mod write;

pub use link_type::LinkType;
pub use view::anomaly::{ANOMALIES as FRAME_ANOMALIES, Anomalies, Anomaly};
pub use view::checksum::checksum;
pub use view::decoder::Decoder;
pub use view::describe::Description;
pub use view::dot11::amsdu::Amsdu;
pub use view::dot11::{BlockAck, Dot11, Dot11Error, Dot11Kind};
pub use view::fcs::FcsTrial;
pub use view::frame::{Fcs, Frame, Link, Payload};
pub use view::ip::{Fragment, Ip, IpError, PROTOCOL_TCP, PROTOCOL_UDP, Transport, TransportError};
pub use view::ipv4::{Ipv4, Ipv4Error};
pub use view::ipv6::Ipv6Error;
pub use view::plain::PlainTcp;
pub use view::radio::{Airtime, Ampdu, Guard, Modulation, Radio, Width};
pub use view::tcp::{Flags, Tcp, TcpError};
pub use view::tcp_option::{Options, TcpOption, sack_blocks};
pub use view::udp::{Udp, UdpError};
pub use write::air::{AirCapture, AirConfig, AirFrame, AirKind};
pub use write::build::{TcpOptions, TcpPacket};
pub use write::dot11::fcs;
pub use write::ethernet::{EtherCapture, ethernet_frame};
pub use write::mac::{BROADCAST, IBSS, Mac, station_mac};
pub use write::pcapng;
pub use write::udp::{RtpHeader, UdpPacket};

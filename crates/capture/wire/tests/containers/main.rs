//! Containers of captures: what is read of good ones, and what of every kind of bad one.
//!
//! Expectations are written out, or come from tshark and capinfos. Leaves out the packets inside.

mod judges;
mod make;
mod packed;
mod pcap;
mod pcapng;

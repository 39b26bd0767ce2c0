//! The fall-back where there is no TUN: a veth pair inside each station, read through a packet socket.
//!
//! The station's stack sends into `air0`; what comes out of its other end, `hub0`, is read as IP packets
//! by a packet socket in the same namespace, and delivered packets are sent into `hub0`. Neither end does
//! ARP, so a frame the stack sends carries its own address and the stack never takes it back. Offloads
//! are switched off, or checksums would be missing and segments would be joined. See veth(4), packet(7).
//!
//! Left out: speed; a TUN device costs one copy less.

use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};

use super::netlink::{attribute, finish, header, link};
use super::plan::Step;
use super::{INTERFACE, INTERFACE_INDEX, interface, request};

const HUB: &str = "hub0";
pub(super) const HUB_INDEX: u32 = INTERFACE_INDEX + 1;

// include/uapi/linux/if_link.h and veth.h.
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;

// include/uapi/linux/ethtool.h: commands of struct ethtool_value.
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_SGSO: u32 = 0x24;
const ETHTOOL_SGRO: u32 = 0x2c;

/// The hardware address of a station's `air0`: locally administered (IEEE 802-2014 §8.4).
const fn address(station: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = station.octets();
    [0x02, 0x41, a, b, c, d]
}

/// A request that makes the pair `air0` and `hub0`.
fn new_pair(station: Ipv4Addr) -> Vec<u8> {
    let mut peer = Vec::new();
    link(&mut peer, HUB_INDEX);
    attribute(&mut peer, IFLA_IFNAME, b"hub0\0");
    let mut data = Vec::new();
    attribute(&mut data, VETH_INFO_PEER, &peer);
    let mut info = Vec::new();
    attribute(&mut info, IFLA_INFO_KIND, b"veth\0");
    attribute(&mut info, IFLA_INFO_DATA, &data);
    let mut message = header();
    link(&mut message, INTERFACE_INDEX);
    attribute(&mut message, IFLA_IFNAME, b"air0\0");
    attribute(&mut message, IFLA_ADDRESS, &address(station));
    attribute(&mut message, IFLA_LINKINFO, &info);
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    finish(message, libc::RTM_NEWLINK, flags)
}

/// The steps that give a station its pair; the last one sends the packet socket back.
pub(super) fn steps(station: Ipv4Addr, mtu: u32) -> Vec<Step> {
    let mut steps = vec![Step::Netlink { message: new_pair(station), what: "create a veth pair" }];
    for name in [INTERFACE, HUB] {
        for command in [ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO, ETHTOOL_STXCSUM] {
            steps.push(Step::Ethtool { request: request(name), command });
        }
    }
    let quiet = |r: &mut libc::ifreq| r.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_NOARP) as i16;
    steps.push(interface("bring the interface up", libc::SIOCSIFFLAGS, INTERFACE, quiet));
    let set_mtu = |r: &mut libc::ifreq| r.ifr_ifru.ifru_mtu = mtu as i32;
    steps.push(interface("set the MTU", libc::SIOCSIFMTU, HUB, set_mtu));
    steps.push(interface("bring the interface up", libc::SIOCSIFFLAGS, HUB, quiet));
    steps.push(Step::PacketSocket { index: HUB_INDEX });
    steps
}

/// Sends an IP packet to a station's stack through its packet socket; whether the kernel took it.
pub(super) fn send(socket: &OwnedFd, station: Ipv4Addr, packet: &[u8]) -> bool {
    // SAFETY: a sockaddr_ll is plain data for which all zeros is valid; packet and address outlive the
    // call and are as long as said.
    unsafe {
        let mut to: libc::sockaddr_ll = std::mem::zeroed();
        to.sll_family = libc::AF_PACKET as u16;
        to.sll_protocol = (libc::ETH_P_IP as u16).to_be();
        to.sll_ifindex = HUB_INDEX as i32;
        to.sll_halen = 6;
        to.sll_addr[..6].copy_from_slice(&address(station));
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        let sent = libc::sendto(
            socket.as_raw_fd(),
            packet.as_ptr().cast(),
            packet.len(),
            libc::MSG_DONTWAIT,
            (&raw const to).cast(),
            length,
        );
        sent == packet.len() as isize
    }
}

//! rtnetlink messages: their frame, the route of the lab's subnet with its TCP metrics, a queue's length.
//!
//! Reference: rtnetlink(7), `include/uapi/linux/rtnetlink.h`. The message is built before the set-up
//! process exists, because that process must not allocate.
//!
//! Left out: what ioctls do as well, addresses and flags (netdevice(7)).

use std::net::Ipv4Addr;

/// TCP metrics of a route; `None` leaves the kernel's choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RouteMetrics {
    /// Initial congestion window, segments.
    pub(crate) initial_window: Option<u32>,
    /// Initial receive window, segments.
    pub(crate) initial_receive_window: Option<u32>,
    /// Smallest retransmission timeout, milliseconds.
    pub(crate) rto_min_ms: Option<u32>,
}

// include/uapi/linux/rtnetlink.h: enum rtattr_type_t and the RTAX_ metrics.
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_PREFSRC: u16 = 7;
const RTA_METRICS: u16 = 8;
const RTAX_INITCWND: u16 = 11;
const RTAX_RTO_MIN: u16 = 13;
const RTAX_INITRWND: u16 = 14;
// include/uapi/linux/if_link.h.
const IFLA_TXQLEN: u16 = 13;

/// A request that replaces the kernel's own route to `subnet`/`prefix` through `interface`.
pub(crate) fn replace_route(
    subnet: Ipv4Addr,
    prefix: u8,
    source: Ipv4Addr,
    interface: u32,
    metrics: RouteMetrics,
) -> Vec<u8> {
    let mut message = header();
    message.extend_from_slice(&[
        libc::AF_INET as u8,
        prefix,
        0, // source prefix
        0, // type of service
        libc::RT_TABLE_MAIN,
        libc::RTPROT_KERNEL,
        libc::RT_SCOPE_LINK,
        libc::RTN_UNICAST,
    ]);
    message.extend_from_slice(&0u32.to_ne_bytes()); // flags
    attribute(&mut message, RTA_DST, &subnet.octets());
    attribute(&mut message, RTA_OIF, &interface.to_ne_bytes());
    attribute(&mut message, RTA_PREFSRC, &source.octets());
    let mut nested = Vec::new();
    for (kind, value) in [
        (RTAX_INITCWND, metrics.initial_window),
        (RTAX_RTO_MIN, metrics.rto_min_ms),
        (RTAX_INITRWND, metrics.initial_receive_window),
    ] {
        if let Some(value) = value {
            attribute(&mut nested, kind, &value.to_ne_bytes());
        }
    }
    if !nested.is_empty() {
        attribute(&mut message, RTA_METRICS, &nested);
    }
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
    finish(message, libc::RTM_NEWROUTE, flags)
}

/// A request that sets how many packets an interface's queue holds; the ioctl for it wants privilege
/// outside the user namespace.
pub(crate) fn set_queue(interface: u32, packets: u32) -> Vec<u8> {
    let mut message = header();
    link(&mut message, interface);
    attribute(&mut message, IFLA_TXQLEN, &packets.to_ne_bytes());
    finish(message, libc::RTM_NEWLINK, libc::NLM_F_REQUEST | libc::NLM_F_ACK)
}

/// Appends an ifinfomsg for an interface, changing no flag.
pub(super) fn link(message: &mut Vec<u8>, interface: u32) {
    message.extend_from_slice(&[libc::AF_UNSPEC as u8, 0, 0, 0]);
    message.extend_from_slice(&interface.to_ne_bytes());
    message.extend_from_slice(&0u32.to_ne_bytes()); // flags
    message.extend_from_slice(&0u32.to_ne_bytes()); // which of them to change
}

/// Room for the nlmsghdr, which [`finish`] fills in.
pub(super) fn header() -> Vec<u8> {
    vec![0; 16]
}

/// Fills in the header of a request that is complete.
pub(super) fn finish(mut message: Vec<u8>, kind: u16, flags: libc::c_int) -> Vec<u8> {
    let length = message.len() as u32;
    message[0..4].copy_from_slice(&length.to_ne_bytes());
    message[4..6].copy_from_slice(&kind.to_ne_bytes());
    message[6..8].copy_from_slice(&(flags as u16).to_ne_bytes());
    message[8..12].copy_from_slice(&1u32.to_ne_bytes()); // sequence number
    message
}

/// Appends one attribute: length, type, value, padding to four bytes.
pub(super) fn attribute(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    message.extend_from_slice(&(4 + value.len() as u16).to_ne_bytes());
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(value);
    message.resize(message.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_message_is_laid_out_as_the_kernel_reads_it() {
        let message = replace_route(
            Ipv4Addr::new(10, 77, 0, 0),
            24,
            Ipv4Addr::new(10, 77, 0, 1),
            77,
            RouteMetrics { initial_window: Some(2), rto_min_ms: Some(200), ..Default::default() },
        );
        // header 16 + rtmsg 12 + three attributes of 8 + metrics 4 + 2 × 8
        assert_eq!(message.len(), 16 + 12 + 24 + 20);
        assert_eq!(u32::from_ne_bytes(message[0..4].try_into().unwrap()) as usize, message.len());
        assert_eq!(message[17], 24);
        assert_eq!(&message[28..36], &[8, 0, 1, 0, 10, 77, 0, 0]);
        assert_eq!(&message[52..72], &[20, 0, 8, 0, 8, 0, 11, 0, 2, 0, 0, 0, 8, 0, 13, 0, 200, 0, 0, 0]);
    }
}

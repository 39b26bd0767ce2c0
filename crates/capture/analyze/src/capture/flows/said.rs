//! What the options of segments tell of a connection: those of its SYNs, and selective acknowledgements.
//!
//! Reference: RFC 9293 §3.2, RFC 7323, RFC 2018, RFC 2883, RFC 8684. Leaves out timestamps, which round-trip times
//! do without.

use std::num::NonZeroU8;

use airperf_wire::{Flags, Options, TcpOption};

use super::counts::FlowCounts;
use super::flow::Flow;
use super::packet::Packet;
use crate::http::Maybe;

impl Flow {
    /// What SYNs tell.
    #[inline]
    pub(super) fn handshake(&mut self, packet: &Packet, up: bool, options: &[u8], counts: &mut FlowCounts) {
        if !packet.flags.has(Flags::SYN) {
            return;
        }
        let side = self.side(up);
        let mut multipath = false;
        for option in Options::new(options) {
            match option {
                TcpOption::Mss(mss) => side.mss = Some(mss),
                TcpOption::WindowScale(scale) => side.scale = NonZeroU8::new(scale.saturating_add(1)),
                TcpOption::SackPermitted => side.sack = true,
                // RFC 8684 §3.1.
                TcpOption::Other { kind: 30, .. } => multipath = true,
                _ => {}
            }
        }
        counts.multipath += u64::from(multipath);
        counts.fast_open += u64::from(packet.length > 0);
        if up {
            self.syn_ns = if self.core.up.segments == 1 { packet.time_ns.into() } else { Maybe::NOT };
        } else if packet.flags.has(Flags::ACK) {
            let once = self.core.down.segments == 1 && self.core.up.is_whole();
            let syn = self.syn_ns.get().filter(|_| once);
            let took = syn.and_then(|syn| packet.time_ns.checked_sub(syn));
            self.handshake_ns = took.map_or(Maybe::NOT, Maybe::from);
        } else {
            counts.simultaneous += 1;
        }
    }

    /// The first SACK block, relative; and whether it reports what was received twice (RFC 2883 §4).
    #[inline]
    pub(super) fn sack(
        &mut self,
        up: bool,
        packet: &Packet,
        ack: u64,
        options: &[u8],
        counts: &mut FlowCounts,
    ) -> Option<(u64, u64)> {
        if options.is_empty() || packet.flags.has(Flags::SYN) {
            return None;
        }
        let (_, peer) = self.core.halves(up);
        let blocks = Options::new(options).find_map(|option| match option {
            TcpOption::Sack(blocks) => Some(blocks),
            _ => None,
        })?;
        let (blocks, _) = blocks.as_chunks::<8>();
        let mut blocks = blocks.iter().map(|b| {
            let [from, to] = [[b[0], b[1], b[2], b[3]], [b[4], b[5], b[6], b[7]]];
            (peer.distance(u32::from_be_bytes(from)), peer.distance(u32::from_be_bytes(to)))
        });
        let first = blocks.next()?;
        let within = |outer: (u64, u64)| outer.0 <= first.0 && first.1 <= outer.1;
        counts.duplicate_sacks += u64::from(first.1 <= ack || blocks.next().is_some_and(within));
        Some((peer.relative(first.0), peer.relative(first.1)))
    }
}

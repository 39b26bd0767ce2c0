//! From which ports connections to this machine come: those that were used longest ago.
//!
//! A connection that this end closes keeps its port for a minute, on loopback for a second at least
//! (tcp_tw_reuse 2). Linux begins its search for a port at random, so the more of them are taken the longer it is:
//! at half as many connections per second as there are ports it takes longer than the connection. Looking at a
//! few ports at a time, in turn, finds one at once up to the full number. See ip(7), IP_LOCAL_PORT_RANGE.
//!
//! Left out: other machines. There a port is taken for the whole minute, no order helps, and ports that cannot be
//! guessed (RFC 6056) are better.

use crate::plan::Plan;

/// Ports offered to connect(2) at a time.
const BLOCK: u16 = 16;

/// The ports of a client, in turn.
#[derive(Debug, Default)]
pub(crate) struct Ports {
    /// Whether they matter.
    used: bool,
    /// Where among them this client begins, of 1: clients may share an address.
    share: f64,
    /// First and last; not known before the first connection, which is made in the client's namespace.
    range: Option<(u16, u16)>,
    /// First of the present block, and connections it still has to give.
    block: u16,
    left: u16,
}

impl Ports {
    /// Those of the `client`-th client.
    pub(crate) fn of(plan: &Plan, client: usize) -> Self {
        let used = plan.target.address.is_loopback() && !plan.close_with_reset;
        Self { used, share: client as f64 / plan.clients.len() as f64, ..Self::default() }
    }

    /// Among which the next connection may choose, both included; `None` for all.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(u16, u16)> {
        if !self.used {
            return None;
        }
        let Some((first, last)) = self.range else {
            self.range = range();
            self.used = self.range.is_some_and(|(first, last)| last - first >= BLOCK);
            let (first, last) = self.range?;
            self.block = first + (f64::from((last - first) / BLOCK) * self.share) as u16 * BLOCK;
            self.left = BLOCK;
            return self.next();
        };
        if self.left == 0 {
            let next = self.block.saturating_add(BLOCK);
            self.block = if last.saturating_sub(next) < BLOCK - 1 { first } else { next };
            self.left = BLOCK;
        }
        self.left -= 1;
        Some((self.block, self.block + (BLOCK - 1)))
    }
}

/// The ports that this namespace gives to who asks for none.
fn range() -> Option<(u16, u16)> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut ends = text.split_whitespace().map(str::parse);
    Some((ends.next()?.ok()?, ends.next()?.ok()?)).filter(|(first, last)| first <= last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_has_its_turn_before_one_is_used_again() {
        let mut ports = Ports { used: true, share: 0.0, range: Some((100, 150)), block: 100, left: BLOCK };
        let blocks: Vec<_> = (0..5 * BLOCK).filter_map(|_| ports.next()).collect();
        let starts: Vec<u16> = blocks.chunks(usize::from(BLOCK)).map(|block| block[0].0).collect();
        assert_eq!(starts, [100, 116, 132, 100, 116]);
        assert!(blocks.iter().all(|(low, high)| high - low == BLOCK - 1 && *high <= 150));
    }
}

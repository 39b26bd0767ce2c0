//! What connections of the same two hosts can tell each other.
//!
//! Reference: RFC 9040 (TCP control block interdependence; before it RFC 2140). *Temporal* sharing (§6): what a
//! closing connection knew of round trip, slow start threshold and window is what the next one begins
//! with, merged with what was known before. *Ensemble* sharing (§7): a new connection beside others takes its part
//! of the window they have together, and they give it up, so that the sum stays (the Congestion Manager's rule,
//! RFC 3124 §2). The RFC leaves the merging open; here it is the mean, of a threshold no lower than half the window
//! (`tcp_update_metrics`).
//!
//! A known round trip replaces the initial timeout of the SYN too. Left out: ageing of what is known, path MTU
//! and options, giving a closing connection's part back to the others.

use crate::config::Config;
use crate::endpoint::{Endpoint, State};
use crate::rtt::Rtt;
use airperf_units::Duration;

/// What a new connection takes over from others of the same two hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SharedState {
    /// Nothing.
    #[default]
    None,
    /// What the connections before it knew when they closed (RFC 9040 §6).
    Temporal,
    /// Its part of what those beside it have, or else what those before it knew (RFC 9040 §7).
    Ensemble,
}

/// What a connection begins with instead of the defaults.
#[derive(Clone, Copy, Debug)]
pub struct Inherited {
    pub(crate) rtt: Rtt,
    pub(crate) cwnd: u32,
    pub(crate) ssthresh: u32,
}

impl Inherited {
    /// Congestion window, segments.
    pub fn congestion_window(&self) -> u32 {
        self.cwnd
    }

    /// Slow start threshold, segments; [`u32::MAX`] while none is known.
    pub fn threshold(&self) -> u32 {
        self.ssthresh
    }

    /// Retransmission timeout of the first segment.
    pub fn timeout(&self, config: &Config) -> Duration {
        self.rtt.timeout(config)
    }
}

/// What one host knows of its connections with one peer.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    known: Option<Inherited>,
}

impl Shared {
    /// Learns from a connection that is over (RFC 9040 §6.2); one that never measured a round trip knew nothing.
    pub fn learn(&mut self, over: &Endpoint) {
        if over.rtt.smoothed().is_none() {
            return;
        }
        let cwnd = over.window.cwnd;
        // A threshold below half of a window that worked says nothing (`tcp_update_metrics`).
        let ssthresh = over.window.ssthresh.max(cwnd / 2);
        let new = Inherited { rtt: over.rtt, cwnd, ssthresh };
        self.known = Some(self.known.map_or(new, |old| Inherited {
            rtt: old.rtt.merged(new.rtt),
            cwnd: old.cwnd.midpoint(cwnd).max(1),
            ssthresh: merge_thresholds(old.ssthresh, ssthresh),
        }));
    }

    /// What a new connection begins with when `kind` of sharing is on and `alive` are this host's endpoints with
    /// the same peer. An ensemble's windows shrink in proportion.
    pub fn inherit<'a>(
        &self,
        kind: SharedState,
        alive: impl Iterator<Item = &'a mut Endpoint>,
    ) -> Option<Inherited> {
        match kind {
            SharedState::None => None,
            SharedState::Temporal => self.known,
            SharedState::Ensemble => join(alive).or(self.known),
        }
    }
}

fn merge_thresholds(old: u32, new: u32) -> u32 {
    match (old, new) {
        (u32::MAX, one) | (one, u32::MAX) => one,
        (old, new) => old.midpoint(new),
    }
}

/// A part of what endpoints with an open connection have together, which they give up.
fn join<'a>(alive: impl Iterator<Item = &'a mut Endpoint>) -> Option<Inherited> {
    let open = |e: &&mut Endpoint| {
        matches!(e.state(), State::Established | State::CloseWait) && e.rtt.smoothed().is_some()
    };
    let mut members: Vec<_> = alive.filter(open).collect();
    let first = members.first()?;
    let (mut rtt, mut ssthresh, mut sum) = (first.rtt, u32::MAX, 0u32);
    for member in &members {
        rtt = rtt.merged(member.rtt);
        ssthresh = merge_thresholds(ssthresh, member.window.ssthresh);
        sum = sum.saturating_add(member.window.cwnd);
    }
    let count = members.len() as u32;
    let cwnd = (sum / (count + 1)).max(1);
    for member in &mut members {
        let cwnd = &mut member.window.cwnd;
        *cwnd = ((u64::from(*cwnd) * u64::from(count)).div_ceil(u64::from(count) + 1) as u32).max(1);
    }
    Some(Inherited { rtt, cwnd, ssthresh })
}

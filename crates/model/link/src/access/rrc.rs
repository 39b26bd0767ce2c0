//! The radio resources of one mobile: whether it has a channel when it wants to send, and how long it takes to get one.
//!
//! Three states: *idle*; *active* with a channel of its own (UMTS: CELL_DCH, LTE: RRC_CONNECTED); and, where there is one,
//! *shared* (UMTS: CELL_FACH), a slow channel for a few octets. Getting a channel is a *promotion*; both directions
//! wait for it. References: 3GPP TS 25.331 §7.1 (UMTS), TS 36.331 §4.2 (LTE). Left out: URA_PCH and CELL_PCH, discontinuous
//! reception within a connection, fast dormancy, energy.

use airperf_units::{Distribution, Duration, Rate, Stream, StreamKey, Time};

/// The state machine of every mobile.
#[derive(Clone, Debug, PartialEq)]
pub struct RrcConfig {
    /// From idle to active when the network has something to send, nanoseconds; paging is part of it.
    pub promotion_down: Distribution,
    /// From idle to active when the mobile has something to send, nanoseconds.
    pub promotion_up: Distribution,
    /// How long the active state lasts without anything sent.
    pub inactivity: Duration,
    /// The shared state, if there is one between active and idle.
    pub shared: Option<SharedChannel>,
}

/// A slow channel that many mobiles share.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedChannel {
    /// Its rate from the network.
    pub rate_down: Rate,
    /// Its rate to the network.
    pub rate_up: Rate,
    /// Octets that wait in one direction above which the active state is asked for.
    pub threshold_bytes: u64,
    /// From shared to active, nanoseconds.
    pub promotion: Distribution,
    /// How long the shared state lasts without anything sent.
    pub inactivity: Duration,
}

impl RrcConfig {
    /// A UMTS network as measured by Qian and others, "Characterizing Radio Resource Allocation for 3G Networks", IMC 2010
    /// (carrier 1): 2 s from idle, 1.5 s from the shared state, timers of 5 s and 12 s, a threshold of half a kilobyte.
    /// That paging takes half a cycle of 640 ms more, and the shared channel's 32 kbit/s, are ours.
    pub fn umts() -> Self {
        Self {
            promotion_down: Distribution::Fixed(2_320_000_000),
            promotion_up: Distribution::Fixed(2_000_000_000),
            inactivity: Duration::from_secs(5),
            shared: Some(SharedChannel {
                rate_down: Rate::kbps(32),
                rate_up: Rate::kbps(32),
                threshold_bytes: 512,
                promotion: Distribution::Fixed(1_500_000_000),
                inactivity: Duration::from_secs(12),
            }),
        }
    }

    /// An LTE network as measured by Huang and others, "A Close Examination of Performance and Power Characteristics of 4G
    /// LTE Networks", MobiSys 2012: 260 ms from idle, 11.6 s until idle again. Half a paging cycle of 1.28 s more is ours.
    pub fn lte() -> Self {
        Self {
            promotion_down: Distribution::Fixed(900_000_000),
            promotion_up: Distribution::Fixed(260_000_000),
            inactivity: Duration::from_ms(11_600),
            shared: None,
        }
    }

    pub(super) fn is_sound(&self) -> bool {
        let shared = |shared: &SharedChannel| {
            shared.rate_down.as_bps() > 0 && shared.rate_up.as_bps() > 0 && shared.promotion.is_sound()
        };
        self.promotion_down.is_sound()
            && self.promotion_up.is_sound()
            && self.shared.as_ref().is_none_or(shared)
    }
}

/// Which channel a packet may be sent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    /// Its own.
    Active,
    /// The shared one.
    Shared,
    /// None before this time.
    From(Time),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Shared,
    Active,
    /// Until then.
    Promoted(Time),
}

/// The state of one mobile; times asked about must not decrease.
#[derive(Clone, Debug)]
pub(super) struct Rrc {
    config: RrcConfig,
    state: State,
    /// Nothing is sent from then on, or the state's timer began then.
    quiet: Time,
    draws: Stream,
}

impl Rrc {
    pub(super) fn new(config: RrcConfig, key: &StreamKey, mobile: u64) -> Self {
        Self { config, state: State::Idle, quiet: Time::ZERO, draws: key.indexed("link.promotion", mobile) }
    }

    /// Something is being sent until `end`.
    pub(super) fn busy(&mut self, end: Time) {
        self.quiet = self.quiet.max(end);
    }

    /// The channel for a packet that is first in line at `now`, with `waiting_bytes` in its direction.
    pub(super) fn channel(&mut self, now: Time, up: bool, waiting_bytes: u64) -> Channel {
        self.settle(now);
        let promotion = match (self.state, &self.config.shared) {
            (State::Active, _) => return Channel::Active,
            (State::Promoted(at), _) => return Channel::From(at),
            (State::Shared, Some(shared)) if waiting_bytes <= shared.threshold_bytes => {
                return Channel::Shared;
            }
            (State::Shared, Some(shared)) => &shared.promotion,
            _ if up => &self.config.promotion_up,
            _ => &self.config.promotion_down,
        };
        let at = now + Duration::from_ns(promotion.sample(&mut self.draws));
        self.state = State::Promoted(at);
        self.settle(now);
        if self.state == State::Active { Channel::Active } else { Channel::From(at) }
    }

    /// What promotions and timers have made of the state by `now`.
    fn settle(&mut self, now: Time) {
        if let State::Promoted(at) = self.state
            && at <= now
        {
            (self.state, self.quiet) = (State::Active, self.quiet.max(at));
        }
        if self.state == State::Active && now >= self.quiet + self.config.inactivity {
            self.quiet += self.config.inactivity;
            self.state = if self.config.shared.is_some() { State::Shared } else { State::Idle };
        }
        if let (State::Shared, Some(shared)) = (self.state, &self.config.shared)
            && now >= self.quiet + shared.inactivity
        {
            self.state = State::Idle;
        }
    }
}

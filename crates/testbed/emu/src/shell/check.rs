//! The check of a link by what goes through it: when packets came out of the real devices, against what the link states.
//!
//! It knows of every packet when our hand took it from one device, when it had been put into the other, and how long it
//! is; nothing of the model. Two things follow. *Delay*: a packet that came when all before it were out takes as long as
//! the link states for one that meets nobody. *Rate*: as long as each packet came before the one in front of it had been
//! sent, the direction was never idle, and carried all that it states; whether it did so in every whole second of the run, too,
//! where the statement has seconds.
//!
//! Left out: what a direction that states nothing should have done; it is only counted.

use airperf_units::{Duration, Time};

use super::stated::Stated;

const SECOND_NS: u64 = 1_000_000_000;

/// One direction as it was seen.
#[derive(Clone, Debug)]
pub(super) struct Check {
    stated: Option<Stated>,
    seen: Seen,
    last_out: Option<Time>,
    busy: Option<Busy>,
    second: Option<Second>,
}

/// Sums of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// Packets that came out, and their octets.
    pub(super) packets: u64,
    pub(super) octets: u64,
    /// The shortest, the mean and the longest time between the devices.
    pub(super) least: Option<Duration>,
    pub(super) sum_s: f64,
    pub(super) most: Duration,
    /// Packets that met nobody, and the sums of their times and of those stated.
    pub(super) alone: u64,
    pub(super) alone_s: f64,
    pub(super) alone_stated_s: f64,
    /// Octets that came out while the direction was busy, those stated for that time, and its length.
    pub(super) busy_packets: u64,
    pub(super) busy_octets: f64,
    pub(super) busy_stated: f64,
    pub(super) busy_s: f64,
    /// Octets of these that may belong to the time before or after.
    pub(super) busy_grain: f64,
    /// Whole seconds of the run through which it was busy, and the greatest share by which one was off, with its sign.
    pub(super) seconds: u64,
    pub(super) worst_second: f64,
}

/// A time through which a direction was busy.
#[derive(Clone, Copy, Debug)]
struct Busy {
    /// Up to here it is counted.
    counted: Time,
    /// What came out at once up to here, and is counted when something follows: only then was all of it used.
    at: Time,
    packets: u64,
    octets: u64,
    is_first: bool,
}

/// A second of the run, since whose first instant the direction has been busy.
#[derive(Clone, Copy, Debug)]
struct Second {
    from: Time,
    octets: u64,
}

impl Check {
    pub(super) fn new(stated: Option<Stated>) -> Self {
        Self { stated, seen: Seen::default(), last_out: None, busy: None, second: None }
    }

    /// What was seen.
    pub(super) fn seen(&self) -> Seen {
        self.seen
    }

    /// A packet of `bytes` that was taken in at `came` was put out at `out`.
    pub(super) fn passed(&mut self, came: Time, out: Time, bytes: u32) {
        let took = out.saturating_since(came);
        let seen = &mut self.seen;
        seen.packets += 1;
        seen.octets += u64::from(bytes);
        seen.least = Some(seen.least.map_or(took, |least| least.min(took)));
        seen.most = seen.most.max(took);
        seen.sum_s += took.as_secs_f64();
        let before = self.last_out.replace(out);
        let Some(stated) = &self.stated else { return };
        let delay = Duration::from_ns(stated.delay_ns);
        if stated.times_packets
            && before.is_none_or(|before| before < came)
            && let Some(sent) = stated.sent(came, bytes)
        {
            seen.alone += 1;
            seen.alone_s += took.as_secs_f64();
            seen.alone_stated_s += (sent + delay).saturating_since(came).as_secs_f64();
        }
        // When it left its queue, as far as the devices can tell.
        let sent = |out: Time| Time::from_ns(out.as_ns().saturating_sub(delay.as_ns()));
        let octets = u64::from(bytes + stated.overhead);
        let now = stated.used_up(sent(out));
        let follows = before.is_some_and(|before| came < stated.used_up(sent(before)));
        match &mut self.busy {
            Some(busy) if follows && now == busy.at => {
                busy.packets += 1;
                busy.octets += octets;
            }
            Some(busy) if follows => {
                let whole = *busy;
                *busy = Busy {
                    counted: whole.at,
                    at: now,
                    packets: 1,
                    octets,
                    is_first: whole.counted == whole.at,
                };
                self.count(whole);
            }
            _ => {
                // What came out before the first packet that waited is not known to have used all there was.
                self.busy = Some(Busy { counted: now, at: now, packets: 0, octets: 0, is_first: false });
                self.second = None;
            }
        }
    }

    /// Counts a part of a busy time.
    fn count(&mut self, busy: Busy) {
        let (Some(stated), seen) = (&self.stated, &mut self.seen) else { return };
        if busy.at == busy.counted {
            return; // its beginning, of which nothing is known
        }
        seen.busy_grain += if busy.is_first { stated.grain() } else { 0.0 };
        seen.busy_packets += busy.packets;
        seen.busy_octets += busy.octets as f64;
        seen.busy_stated += stated.octets(busy.counted, busy.at);
        seen.busy_s += busy.at.saturating_since(busy.counted).as_secs_f64();
        if !stated.has_seconds() {
            return;
        }
        // A second holds its last instant, as a round of a trace does.
        let second = |at: Time| at.as_ns().saturating_sub(1) / SECOND_NS;
        let start = |second: u64| Time::from_ns(second * SECOND_NS);
        if second(busy.counted) != second(busy.at) {
            if let Some(whole) = self.second.take() {
                let wanted = stated.octets(whole.from, whole.from + Duration::from_secs(1));
                let off = whole.octets as f64 / wanted - 1.0;
                seen.seconds += 1;
                if off.abs() >= seen.worst_second.abs() {
                    seen.worst_second = off;
                }
            }
            self.second = Some(Second { from: start(second(busy.at)), octets: 0 });
        }
        if let Some(second) = &mut self.second {
            second.octets += busy.octets;
        }
    }
}

#[cfg(test)]
mod tests;

//! When a closed loop looks for replies again.
//!
//! A processor that idles is slow to wake up and costs the server the waking, so the loop polls for a while before it
//! sleeps. A server kept busy by many connections does most when it finds several requests at once; so the loop pauses between
//! two looks until about half of them have been answered, and hears of the others while the server has the next requests
//! of these. Replies are heard late by as much.
//!
//! Left out: how looks are made; see `poll`.

/// How long to poll for the next event.
const BUSY_NS: u64 = 50_000;
/// Longest pause between two looks.
const LONGEST_NS: u64 = 40_000;
/// By how much a pause grows after a look at which fewer than half had answered, and shrinks after others.
const STEP_NS: u64 = 500;
/// Connections from which on there are pauses: a few would wait for them.
const MANY: usize = 12;

/// What was seen so far.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    heard_ns: u64,
    pause_ns: u64,
}

impl Looks {
    /// So many events came at `now`, of so many connections.
    #[inline]
    pub(crate) fn heard(&mut self, now: u64, events: usize, connections: usize) {
        self.heard_ns = now;
        self.pause_ns = if 2 * events < connections {
            (self.pause_ns + STEP_NS).min(LONGEST_NS)
        } else {
            self.pause_ns.saturating_sub(STEP_NS)
        };
    }

    /// When events were heard last.
    pub(crate) fn heard_ns(&self) -> u64 {
        self.heard_ns
    }

    /// How long to pause before the next look, with so many connections; none when it is time to sleep.
    pub(crate) fn pause_ns(&self, now: u64, connections: usize) -> Option<u64> {
        let pause = if connections < MANY { 0 } else { self.pause_ns };
        (now < self.heard_ns + BUSY_NS).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_until_half_have_answered() {
        let mut looks = Looks::default();
        for look in 0..1_000 {
            let answered = (looks.pause_ns / 2_000) as usize; // one in 2 us
            looks.heard(look, answered, 20);
        }
        assert!((19_000..=20_500).contains(&looks.pause_ns), "{}", looks.pause_ns);
    }

    #[test]
    fn a_quick_server_and_a_few_connections_are_not_waited_for() {
        let mut looks = Looks::default();
        (0..1_000).for_each(|look| looks.heard(look, 1, 20));
        assert_eq!(looks.pause_ns(1_000, 20), Some(LONGEST_NS));
        assert_eq!(looks.pause_ns(1_000, MANY - 1), Some(0));
        (0..1_000).for_each(|look| looks.heard(look, 20, 20));
        assert_eq!(looks.pause_ns(1_000, 20), Some(0));
        assert_eq!(looks.pause_ns(1_000 + BUSY_NS, 20), None, "time to sleep");
    }
}

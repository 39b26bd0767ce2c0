//! The connections being followed: found by pair, in order of last use, bounded in number.
//!
//! A connection that closed is forgotten [`LINGER_NS`] after, or sooner when the table is full; when none has closed the
//! longest idle one leaves. Every connection knows when it was used last; their order is made when one has to leave, so that
//! a packet costs no more than a number. Leaves out what a connection is.

use std::collections::VecDeque;

use hashbrown::HashTable;

use super::flow::Flow;
use super::pair::Pair;

/// How long packets of a closed connection may still come: twice the longest life of a segment in Linux's
/// reckoning (TCP_TIMEWAIT_LEN), so that a last FIN can be sent again and answered.
const LINGER_NS: u64 = 120 * 1_000_000_000;

/// How long a connection that closed is never the first to leave a full table: its last packets are answered within.
const SPARED_NS: u64 = 10 * 1_000_000_000;

/// A closed connection: when it may be forgotten, its hash and its number.
type Closing = (u64, u64, u64);

/// The connections of one shard.
#[derive(Debug)]
pub(crate) struct Table {
    flows: HashTable<Box<Flow>>,
    most: usize,
    /// How often a connection was used so far.
    uses: u64,
    /// Last uses and hashes of connections as they were once, the oldest last; those used since count no more, and
    /// those that are not here were used later.
    idle: Vec<(u64, u64)>,
    /// In order of time.
    closing: VecDeque<Closing>,
    /// When the first of them may be forgotten.
    due: u64,
}

impl Table {
    /// A table of at most `most` connections, at least one.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            flows: HashTable::new(),
            most: most.max(1),
            uses: 0,
            idle: Vec::new(),
            closing: VecDeque::new(),
            due: u64::MAX,
        }
    }

    /// Connections that have not closed.
    #[inline]
    pub(crate) fn live(&self) -> usize {
        self.flows.len().saturating_sub(self.closing.len())
    }

    /// The connection of a pair, now the most recently used.
    #[inline]
    pub(crate) fn find(&mut self, hash: u64, pair: &Pair) -> Option<&mut Flow> {
        let flow = self.flows.find_mut(hash, |flow| flow.pair == *pair)?;
        self.uses += 1;
        flow.used = self.uses;
        Some(flow)
    }

    /// Whether one must go before another one comes.
    pub(crate) fn is_full(&self) -> bool {
        self.flows.len() >= self.most
    }

    /// Adds a connection whose pair has none.
    pub(crate) fn insert(&mut self, mut flow: Box<Flow>) -> &mut Flow {
        self.uses += 1;
        flow.used = self.uses;
        self.flows.insert_unique(flow.hash, flow, |flow| flow.hash).into_mut()
    }

    /// Takes the connection of a pair out.
    pub(crate) fn remove(&mut self, hash: u64, pair: &Pair) -> Option<Box<Flow>> {
        self.take(hash, |flow| flow.pair == *pair)
    }

    /// Takes out the longest idle connection.
    pub(crate) fn remove_oldest(&mut self) -> Option<Box<Flow>> {
        loop {
            while let Some((used, hash)) = self.idle.pop() {
                let oldest = self.take(hash, |flow| flow.used == used);
                if oldest.is_some() {
                    return oldest;
                }
            }
            if self.flows.is_empty() {
                return None;
            }
            self.idle.extend(self.flows.iter().map(|flow| (flow.used, flow.hash)));
            self.idle.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// A connection closed.
    pub(crate) fn closed(&mut self, now: u64, hash: u64, local: u64) {
        let due = now.saturating_add(LINGER_NS);
        if self.closing.is_empty() {
            self.due = due;
        }
        self.closing.push_back((due, hash, local));
    }

    /// Takes out the next connection that closed long enough ago.
    #[inline]
    pub(crate) fn remove_closed(&mut self, now: u64) -> Option<Box<Flow>> {
        if self.due <= now { self.remove_due(now) } else { None }
    }

    fn remove_due(&mut self, now: u64) -> Option<Box<Flow>> {
        while self.due <= now {
            let (_, hash, local) = self.closing.pop_front()?;
            self.due = self.closing.front().map_or(u64::MAX, |(due, ..)| *due);
            let closed = self.take(hash, |flow| flow.local == local);
            if closed.is_some() {
                return closed;
            }
        }
        None
    }

    /// Takes out a connection to make room for another one at `now`: one that closed a while ago, of which nobody
    /// expects much, or else the longest idle one.
    pub(crate) fn make_room(&mut self, now: u64) -> Option<Box<Flow>> {
        self.remove_due(now.saturating_add(LINGER_NS - SPARED_NS)).or_else(|| self.remove_oldest())
    }

    fn take(&mut self, hash: u64, is_it: impl Fn(&Flow) -> bool) -> Option<Box<Flow>> {
        Some(self.flows.find_entry(hash, |flow| is_it(flow)).ok()?.remove().0)
    }
}

//! The connections being followed: found by pair, in order of last activity, bounded in number.
//!
//! A connection that closed is forgotten [`LINGER_NS`] after; when the table is full the longest idle one
//! leaves. Leaves out what a connection is.

use std::collections::VecDeque;

use hashbrown::HashTable;

use super::flow::Flow;
use super::pair::Pair;

/// How long packets of a closed connection may still come: twice the longest life of a segment in Linux's
/// reckoning (TCP_TIMEWAIT_LEN), so that a last FIN can be sent again and answered.
const LINGER_NS: u64 = 120 * 1_000_000_000;

/// No slot.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Slot {
    flow: Option<Box<Flow>>,
    hash: u64,
    /// The slots used just before and after this one.
    older: u32,
    newer: u32,
}

/// The connections of one shard.
#[derive(Debug)]
pub(crate) struct Table {
    index: HashTable<u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
    most: usize,
    /// When closed connections may be forgotten, and which.
    closing: VecDeque<(u64, u32, u64)>,
}

impl Table {
    /// A table of at most `most` connections, at least one.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            index: HashTable::new(),
            slots: Vec::new(),
            free: Vec::new(),
            oldest: NONE,
            newest: NONE,
            most: most.clamp(1, NONE as usize - 1),
            closing: VecDeque::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// Connections that have not closed.
    pub(crate) fn live(&self) -> usize {
        self.len().saturating_sub(self.closing.len())
    }

    /// The slot of a pair's connection.
    #[inline]
    pub(crate) fn find(&self, hash: u64, pair: &Pair) -> Option<u32> {
        let is_it = |slot: &u32| {
            let slot = &self.slots[*slot as usize];
            slot.hash == hash && slot.flow.as_ref().is_some_and(|flow| flow.pair == *pair)
        };
        self.index.find(hash, is_it).copied()
    }

    /// A connection that was found, now the most recently used.
    #[inline]
    pub(crate) fn touch(&mut self, slot: u32) -> &mut Flow {
        if self.newest != slot {
            self.unlink(slot);
            self.link(slot);
        }
        self.slots[slot as usize].flow.as_mut().expect("only used slots are found")
    }

    /// A connection that was found.
    pub(crate) fn get(&mut self, slot: u32) -> &mut Flow {
        self.slots[slot as usize].flow.as_mut().expect("only used slots are found")
    }

    /// Whether there must go one before another one comes, and which.
    pub(crate) fn next_to_evict(&self) -> Option<u32> {
        (self.len() >= self.most).then_some(self.oldest)
    }

    /// Adds a connection whose pair has none.
    pub(crate) fn insert(&mut self, hash: u64, flow: Box<Flow>) -> u32 {
        let new = Slot { flow: Some(flow), hash, older: NONE, newer: NONE };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = new;
                slot
            }
            None => {
                self.slots.push(new);
                self.slots.len() as u32 - 1
            }
        };
        let slots = &self.slots;
        self.index.insert_unique(hash, slot, |slot| slots[*slot as usize].hash);
        self.link(slot);
        slot
    }

    /// Takes a connection out.
    pub(crate) fn remove(&mut self, slot: u32) -> Option<Box<Flow>> {
        let Slot { flow, hash, .. } = &mut self.slots[slot as usize];
        let (flow, hash) = (flow.take()?, *hash);
        if let Ok(entry) = self.index.find_entry(hash, |s| *s == slot) {
            entry.remove();
        }
        self.unlink(slot);
        self.free.push(slot);
        Some(flow)
    }

    /// The longest idle connection.
    pub(crate) fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// A connection closed.
    pub(crate) fn closed(&mut self, now: u64, slot: u32) {
        let local = self.get(slot).local;
        self.closing.push_back((now.saturating_add(LINGER_NS), slot, local));
    }

    /// The next connection that closed long enough ago.
    #[inline]
    pub(crate) fn next_to_forget(&mut self, now: u64) -> Option<u32> {
        while self.closing.front().is_some_and(|(due, ..)| *due <= now) {
            let (_, slot, local) = self.closing.pop_front()?;
            let is_there =
                self.slots.get(slot as usize).and_then(|s| s.flow.as_ref()).is_some_and(|f| f.local == local);
            if is_there {
                return Some(slot);
            }
        }
        None
    }

    fn link(&mut self, slot: u32) {
        let newest = std::mem::replace(&mut self.newest, slot);
        let Slot { older, newer, .. } = &mut self.slots[slot as usize];
        (*older, *newer) = (newest, NONE);
        match self.slots.get_mut(newest as usize) {
            Some(before) => before.newer = slot,
            None => self.oldest = slot,
        }
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { older, newer, .. } = self.slots[slot as usize];
        match self.slots.get_mut(older as usize) {
            Some(before) => before.newer = newer,
            None => self.oldest = newer,
        }
        match self.slots.get_mut(newer as usize) {
            Some(after) => after.older = older,
            None => self.newest = older,
        }
    }
}

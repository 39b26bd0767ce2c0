//! Connections and packets whose rows are not complete yet, by number.
//!
//! Rows leave in order of number, so memory is bounded by how far the oldest open one lags behind.

use std::collections::VecDeque;

/// Open entries, dense from the oldest one still open.
#[derive(Debug)]
pub(super) struct Ledger<T> {
    first: u32,
    entries: VecDeque<T>,
}

impl<T> Default for Ledger<T> {
    fn default() -> Self {
        Self { first: 0, entries: VecDeque::new() }
    }
}

impl<T> Ledger<T> {
    /// Adds the entry with the next number.
    pub(super) fn push(&mut self, entry: T) {
        self.entries.push_back(entry);
    }

    /// The entry of `number`, while it is open.
    #[inline]
    pub(super) fn get(&mut self, number: u32) -> Option<&mut T> {
        self.entries.get_mut(number.checked_sub(self.first)? as usize)
    }

    /// Takes the oldest entry if it is `complete`.
    #[inline]
    pub(super) fn pop_if(&mut self, complete: impl FnOnce(&T) -> bool) -> Option<T> {
        if !complete(self.entries.front()?) {
            return None;
        }
        self.first += 1;
        self.entries.pop_front()
    }
}

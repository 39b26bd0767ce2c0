//! Puts rows that become complete out of order back into the order of their numbers.
//!
//! A packet's row is complete when its fate is known, a connection's when it has ended; tables are in
//! order of number. Memory is bounded by how far the oldest open row lags behind.

use std::collections::VecDeque;

/// Rows waiting for an earlier one; numbers are dense from 0.
#[derive(Clone, Debug)]
pub struct Sequence<T> {
    next: u64,
    waiting: VecDeque<Option<T>>,
}

impl<T> Default for Sequence<T> {
    fn default() -> Self {
        Self { next: 0, waiting: VecDeque::new() }
    }
}

impl<T> Sequence<T> {
    /// Gives the complete row of `number`.
    ///
    /// # Panics
    /// If that number was given before.
    pub fn put(&mut self, number: u64, row: T) {
        let place = number.checked_sub(self.next).expect("a number is given once") as usize;
        if place >= self.waiting.len() {
            self.waiting.resize_with(place + 1, || None);
        }
        assert!(self.waiting[place].replace(row).is_none(), "number {number} given twice");
    }

    /// The next row in order, once it is complete.
    pub fn pop(&mut self) -> Option<T> {
        let row = self.waiting.front_mut()?.take()?;
        self.waiting.pop_front();
        self.next += 1;
        Some(row)
    }

    /// How many numbers lie between the oldest missing row and the newest given one.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_leave_in_order_of_number() {
        let mut sequence = Sequence::default();
        sequence.put(2, 'c');
        sequence.put(0, 'a');
        assert_eq!(sequence.pop(), Some('a'));
        assert_eq!(sequence.pop(), None);
        assert_eq!(sequence.waiting(), 2);
        sequence.put(1, 'b');
        assert_eq!((sequence.pop(), sequence.pop(), sequence.pop()), (Some('b'), Some('c'), None));
        assert_eq!(sequence.waiting(), 0);
    }

    #[test]
    #[should_panic(expected = "given twice")]
    fn a_number_is_given_once() {
        let mut sequence = Sequence::default();
        sequence.put(1, ());
        sequence.put(1, ());
    }
}

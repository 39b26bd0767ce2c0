//! A short queue in little memory: two octets beside its room, which holds one, two, four … items.
//!
//! Leaves out more than [`MOST`] items; who pushes sees to that.

/// Most items.
pub(super) const MOST: usize = 64;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring<T> {
    /// As long as a power of two, or empty.
    room: Box<[T]>,
    first: u8,
    length: u8,
}

impl<T: Copy + Default> Ring<T> {
    pub(super) fn len(&self) -> usize {
        usize::from(self.length)
    }

    pub(super) fn capacity(&self) -> usize {
        self.room.len()
    }

    #[inline]
    fn place(&self, index: usize) -> usize {
        (usize::from(self.first) + index) & self.room.len().wrapping_sub(1)
    }

    /// The item at this place from the front.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&T> {
        if index < self.len() { self.room.get(self.place(index)) } else { None }
    }

    /// All items from the front.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Adds an item at the end, unless there are [`MOST`].
    #[inline]
    pub(super) fn push(&mut self, item: T) {
        if self.len() == self.capacity() {
            let capacity = match self.capacity() {
                0 => 1,
                1 => 2,
                capacity => (4 * capacity).min(MOST),
            };
            self.resize(capacity);
        }
        let place = self.place(self.len());
        if self.len() < self.capacity()
            && let Some(free) = self.room.get_mut(place)
        {
            *free = item;
            self.length += 1;
        }
    }

    /// Removes items from the front.
    #[inline]
    pub(super) fn drop_front(&mut self, items: usize) {
        let items = items.min(self.len());
        self.first = self.place(items) as u8;
        self.length -= items as u8;
    }

    /// Keeps the second item, the fourth, and so on.
    pub(super) fn thin_out(&mut self) {
        let kept: Vec<T> = self.iter().skip(1).step_by(2).copied().collect();
        (self.first, self.length) = (0, 0);
        kept.into_iter().for_each(|item| self.push(item));
    }

    /// Makes room for so many items, a power of two; those that do not fit are lost.
    pub(super) fn resize(&mut self, capacity: usize) {
        let mut room: Vec<T> = Vec::with_capacity(capacity);
        room.extend(self.iter().take(capacity));
        let length = room.len();
        room.resize(capacity, T::default());
        (self.room, self.first, self.length) = (room.into(), 0, length as u8);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec((0u8..8, 0usize..9), 0..200)) {
            let (mut ring, mut queue) = (Ring::default(), VecDeque::new());
            for (number, (what, items)) in steps.into_iter().enumerate() {
                match what {
                    0..=5 if queue.len() < MOST => {
                        ring.push(number);
                        queue.push_back(number);
                    }
                    6 => {
                        ring.drop_front(items);
                        queue.drain(..items.min(queue.len()));
                    }
                    _ => {
                        ring.thin_out();
                        queue = queue.into_iter().skip(1).step_by(2).collect();
                    }
                }
                prop_assert!(ring.iter().eq(queue.iter()), "{ring:?} {queue:?}");
                prop_assert!(ring.capacity() <= MOST && ring.get(queue.len()).is_none());
            }
            let length = queue.len();
            ring.resize(length.next_power_of_two());
            prop_assert!(ring.iter().eq(queue.iter()));
        }
    }
}

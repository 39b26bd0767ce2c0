//! The bytes of packets that are on their way: fixed-size places, taken and given back, never allocated
//! once as many packets have been under way as ever will be.
//!
//! Left out: what the bytes mean.

/// What a packet is to the link: which one it is, and where its bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    /// Number of the packet in the run, from 0.
    pub number: u64,
    place: u32,
}

impl Handle {
    /// A handle to a packet whose bytes nobody keeps, as in a re-run.
    pub(crate) const fn without_bytes(number: u64) -> Self {
        Self { number, place: u32::MAX }
    }
}

/// Places for packets' bytes.
#[derive(Debug)]
pub(crate) struct Pool {
    bytes: Vec<u8>,
    size: usize,
    lengths: Vec<u32>,
    free: Vec<u32>,
}

impl Pool {
    /// Room for `places` packets of up to `size` bytes; grows if that turns out too few.
    pub(crate) fn new(places: usize, size: usize) -> Self {
        let mut pool = Self { bytes: Vec::new(), size, lengths: Vec::new(), free: Vec::new() };
        pool.grow(places.max(1));
        pool
    }

    fn grow(&mut self, places: usize) {
        let first = self.lengths.len();
        self.bytes.resize((first + places) * self.size, 0);
        self.lengths.resize(first + places, 0);
        self.free.reserve(first + places);
        self.free.extend((first as u32..(first + places) as u32).rev());
    }

    /// Keeps a copy of `packet`, cut to the size of a place.
    pub(crate) fn take(&mut self, number: u64, packet: &[u8]) -> Handle {
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                self.grow(self.lengths.len());
                self.free.pop().unwrap_or_default()
            }
        };
        let length = packet.len().min(self.size);
        let start = place as usize * self.size;
        self.bytes[start..start + length].copy_from_slice(&packet[..length]);
        self.lengths[place as usize] = length as u32;
        Handle { number, place }
    }

    /// The bytes kept under a handle; empty when it has none.
    pub(crate) fn bytes(&self, handle: Handle) -> &[u8] {
        let length = self.lengths.get(handle.place as usize).copied().unwrap_or(0) as usize;
        let start = handle.place as usize * self.size;
        self.bytes.get(start..start + length).unwrap_or(&[])
    }

    /// Gives a place back. Once per handle.
    pub(crate) fn give_back(&mut self, handle: Handle) {
        if handle.place != u32::MAX {
            self.free.push(handle.place);
        }
    }

    /// Places in use.
    #[cfg(test)]
    pub(crate) fn in_use(&self) -> usize {
        self.lengths.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_until_given_back_and_places_are_used_again() {
        let mut pool = Pool::new(2, 4);
        let a = pool.take(0, b"aaaa");
        let b = pool.take(1, b"bb");
        let c = pool.take(2, b"cccccc"); // one more than foreseen, and too long
        assert_eq!((pool.bytes(a), pool.bytes(b), pool.bytes(c)), (&b"aaaa"[..], &b"bb"[..], &b"cccc"[..]));
        pool.give_back(b);
        let d = pool.take(3, b"d");
        assert_eq!(d.place, b.place);
        assert_eq!(pool.bytes(d), b"d");
        assert_eq!(pool.in_use(), 3);
        assert_eq!(pool.bytes(Handle::without_bytes(9)), b"");
    }
}

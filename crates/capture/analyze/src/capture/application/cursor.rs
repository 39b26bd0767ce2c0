//! Reads fields of a binary protocol one after the other; past the end there is nothing.

/// What is left to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    /// The next `length` octets.
    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|b| u16::from_be_bytes([b[0], b[1]]))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// A vector whose length is in the octet before it.
    pub(super) fn short_vector(&mut self) -> Option<&'a [u8]> {
        let length = self.u8()?;
        self.take(usize::from(length))
    }

    /// A vector whose length is in the two octets before it.
    pub(super) fn vector(&mut self) -> Option<&'a [u8]> {
        let length = self.u16()?;
        self.take(usize::from(length))
    }

    /// Same, as far as it is there: it may have been cut.
    pub(super) fn vector_so_far(&mut self) -> Option<&'a [u8]> {
        let length = usize::from(self.u16()?);
        self.take(length.min(self.0.len()))
    }

    /// An integer of variable length (RFC 9000 §16).
    pub(super) fn varint(&mut self) -> Option<u64> {
        let first = self.u8()?;
        let more = self.take((1 << (first >> 6)) - 1)?;
        Some(more.iter().fold(u64::from(first & 0x3f), |sum, b| sum << 8 | u64::from(*b)))
    }
}

//! The octets of a body that are still to come: they need not be handed to a parser one segment after the other.
//!
//! Leaves out the last octet of a body, and anything that does not come in order.

/// The octets of a response that lie ahead, of which nothing matters but where they end.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, packed(4))]
pub(super) struct Ahead {
    next: u64,
    left: u32,
}

impl Ahead {
    /// `left` octets from `next` on; of more than 4 GiB only these.
    pub(super) fn new(next: u64, left: u64) -> Self {
        Self { next, left: u32::try_from(left).unwrap_or(u32::MAX) }
    }

    /// Where they begin, if any can be passed over.
    pub(super) fn next(self) -> Option<u64> {
        (self.left > 0).then_some(self.next)
    }

    /// Passes over octets if they are the next ones and not the last.
    #[inline]
    pub(super) fn pass(&mut self, start: u64, length: u64) -> bool {
        let passes = start == self.next && length < u64::from(self.left);
        if passes {
            (self.next, self.left) = (start + length, self.left - length as u32);
        }
        passes
    }
}

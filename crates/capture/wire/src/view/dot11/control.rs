//! Block acknowledgements.
//!
//! Reference: IEEE 802.11-2020 §9.3.1.7 and §9.3.1.8. Leaves out those of several traffic classes or stations at once.

use crate::view::bytes::le16;
use crate::view::dot11::{Dot11, Dot11Kind};

/// What a block acknowledgement, or the request for one, says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAck<'a> {
    /// Traffic identifier.
    pub tid: u8,
    /// Sequence number that the bitmap starts from.
    pub start: u16,
    /// One bit for each frame received, least significant first; of the basic variant 16 bits for each frame, one for
    /// each fragment. Empty for a request.
    pub bitmap: &'a [u8],
    /// Whether the bitmap has one bit for each frame.
    pub compressed: bool,
}

impl BlockAck<'_> {
    /// Whether the frame with this sequence number was received; `None` where the bitmap does not reach.
    pub fn received(&self, sequence: u16) -> Option<bool> {
        let offset = usize::from(sequence.wrapping_sub(self.start) & 0x0fff);
        if self.compressed {
            self.bitmap.get(offset / 8).map(|octet| octet >> (offset % 8) & 1 == 1)
        } else {
            self.bitmap.get(offset * 2..offset * 2 + 2).map(|fragments| fragments != [0, 0])
        }
    }
}

impl<'a> Dot11<'a> {
    /// What a block acknowledgement or the request for one says; `None` for other frames and variants.
    pub fn block_ack(&self) -> Option<BlockAck<'a>> {
        const BASIC: u16 = 0;
        const EXTENDED_COMPRESSED: u16 = 1;
        const COMPRESSED: u16 = 2;
        if !matches!(self.kind(), Dot11Kind::BlockAck | Dot11Kind::BlockAckRequest) {
            return None;
        }
        let body = self.body();
        let (control, start) = (le16(body, 0)?, le16(body, 2)?);
        let variant = control >> 1 & 15;
        if !matches!(variant, BASIC | EXTENDED_COMPRESSED | COMPRESSED) {
            return None;
        }
        let bitmap = match (self.kind(), variant, start & 15) {
            (Dot11Kind::BlockAckRequest, ..) => 0,
            (_, BASIC, _) => 128,
            // The fragment number tells the length of newer bitmaps (Table 9-28b of 802.11ax).
            (.., 4) => 32,
            _ => 8,
        };
        let rest = body.get(4..).unwrap_or_default();
        Some(BlockAck {
            tid: (control >> 12) as u8,
            start: start >> 4,
            bitmap: rest.get(..bitmap).unwrap_or(rest),
            compressed: variant != BASIC,
        })
    }
}

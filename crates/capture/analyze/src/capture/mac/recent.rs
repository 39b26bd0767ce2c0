//! The sequence numbers that each transmitter used last.
//!
//! A key is a transmitter, a receiver and a traffic identifier, for each of these has numbers of its own where block
//! ACKs are used. Frames of an A-MPDU come again behind others of their aggregate, so there the last
//! [`WINDOW`] numbers count; otherwise only the previous frame. Memory is bounded by keeping two generations of
//! at most [`MOST_KEYS`] keys: what was not used during one is forgotten.

use ahash::AHashMap;
use airperf_record::MacAddress;

use super::Heard;

const MOST_KEYS: usize = 4 * 1024;
/// Numbers that a bitmap remembers.
const WINDOW: u16 = 64;
/// Sequence numbers are counted modulo this.
const MODULUS: u16 = 4_096;

type Key = (MacAddress, MacAddress, u8);

/// The previous frame of a key, and which of the numbers before it were used.
#[derive(Clone, Copy, Debug)]
struct Last {
    sequence: u16,
    fragment: u8,
    /// Bit i: number `sequence - i` was used.
    used: u64,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    young: AHashMap<Key, Last>,
    old: AHashMap<Key, Last>,
}

impl Recent {
    /// Whether a good frame repeats what its transmitter sent before; it is remembered.
    pub(crate) fn seen(&mut self, heard: &Heard<'_>) -> bool {
        let (Some(transmitter), Some(sequence)) = (heard.transmitter, heard.sequence) else { return false };
        // Frames to a group are never sent again by the MAC.
        if heard.group {
            return false;
        }
        // Management frames share numbers with data outside QoS; sent again they come at once, too.
        let key = (transmitter, heard.receiver, heard.tid.map_or(0, |tid| tid + 1));
        let now = Last { sequence, fragment: heard.fragment, used: 1 };
        let Some(last) = self.entry(key, now) else { return false };
        if (last.sequence, last.fragment) == (sequence, heard.fragment) {
            return true;
        }
        let ahead = sequence.wrapping_sub(last.sequence) % MODULUS;
        let behind = last.sequence.wrapping_sub(sequence) % MODULUS;
        if heard.aggregate.is_some() && 0 < behind && behind < WINDOW {
            let seen = last.used >> behind & 1 == 1;
            last.used |= 1 << behind;
            return seen && heard.fragment == 0;
        }
        let used = if ahead < WINDOW { last.used << ahead | 1 } else { 1 };
        *last = Last { sequence, fragment: heard.fragment, used };
        false
    }

    /// What is known of the key; where nothing is, `now` is remembered.
    fn entry(&mut self, key: Key, now: Last) -> Option<&mut Last> {
        if !self.young.contains_key(&key) {
            if self.young.len() >= MOST_KEYS {
                self.old = std::mem::take(&mut self.young);
            }
            let known = self.old.remove(&key);
            self.young.insert(key, known.unwrap_or(now));
            known?;
        }
        self.young.get_mut(&key)
    }

    #[cfg(test)]
    pub(crate) fn keys(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

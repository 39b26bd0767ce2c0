//! Zeek's one-word state of a connection and its history letters.
//!
//! Reference: Zeek's conn.log (`conn_state`, `history`): capitals are the originator's; a letter is given
//! once, but those for repeats, gaps and closed windows again at the 10th, 100th, … Leaves out `^`, `c` and
//! `x`: directions are not turned round and bad checksums are counted elsewhere.

use airperf_wire::Flags;
use compact_str::CompactString;

use crate::connection::Connection;

/// Most letters kept.
const MOST: usize = 30;
const LETTERS: &[u8] = b"shadfriqgtw";
/// Places of the letters for acknowledgements and for payload.
const ACKNOWLEDGED: u16 = 2;
const PAYLOAD: u16 = 3;

/// Bits of a letter: its place in [`LETTERS`] and, in the lowest, whether it is a capital.
const BITS: usize = 5;
/// Letters in a word.
const IN_WORD: usize = u32::BITS as usize / BITS;

/// The letters so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct History {
    letters: [u32; MOST / IN_WORD],
    length: u8,
    /// Which letters were given, by direction.
    given: [u16; 2],
}

impl History {
    /// What a segment is.
    #[inline]
    pub(crate) fn segment(&mut self, up: bool, flags: Flags, payload: bool) {
        let (syn, fin, rst) = (flags.has(Flags::SYN), flags.has(Flags::FIN), flags.has(Flags::RST));
        if syn && (fin || rst) {
            self.once(up, b'q');
        } else if fin && rst {
            self.once(up, b'i');
        } else if syn {
            self.once(up, if flags.has(Flags::ACK) { b'h' } else { b's' });
        } else if !rst && !fin && !payload && flags.has(Flags::ACK) {
            self.once(up, b'a');
        }
        if payload && !rst {
            self.once(up, b'd');
        }
        if fin && !syn && !rst {
            self.once(up, b'f');
        }
        if rst && !syn && !fin {
            self.once(up, b'r');
        }
    }

    #[inline]
    fn once(&mut self, up: bool, letter: u8) {
        let bit = 1 << place(letter);
        if self.given[usize::from(up)] & bit == 0 {
            self.given[usize::from(up)] |= bit;
            self.push(up, letter);
        }
    }

    /// Something that is told again at the 10th, 100th, … time.
    pub(crate) fn counted(&mut self, up: bool, letter: u8, times: u32) {
        if times > 0 && 10u32.pow(times.ilog10()) == times {
            self.push(up, letter);
        }
    }

    fn push(&mut self, up: bool, letter: u8) {
        let at = usize::from(self.length);
        if let Some(word) = self.letters.get_mut(at / IN_WORD) {
            *word |= ((place(letter) << 1) as u32 | u32::from(up)) << (at % IN_WORD * BITS);
            self.length += 1;
        }
    }

    /// Whether a segment that is nothing but an acknowledgement, or carries nothing but payload, adds no letter.
    #[inline]
    pub(crate) fn is_told(&self, up: bool, payload: bool) -> bool {
        self.given[usize::from(up)] >> (if payload { PAYLOAD } else { ACKNOWLEDGED }) & 1 == 1
    }

    fn has(&self, up: bool, letter: u8) -> bool {
        self.given[usize::from(up)] >> place(letter) & 1 == 1
    }

    /// The column `history`.
    pub(crate) fn text(&self) -> CompactString {
        let letter = |at: usize| {
            let code = self.letters[at / IN_WORD] >> (at % IN_WORD * BITS);
            let letter = LETTERS.get((code >> 1) as usize % 16).copied().unwrap_or(b'?');
            char::from(if code & 1 == 1 { letter.to_ascii_uppercase() } else { letter })
        };
        (0..usize::from(self.length)).map(letter).collect()
    }

    /// The column `state`.
    pub(crate) fn state(&self, connection: &Connection) -> &'static str {
        let (opened, answered) = (connection.is_opened(), connection.is_answered());
        let (rst_up, rst_down) = (self.has(true, b'r'), self.has(false, b'r'));
        let (fin_up, fin_down) = (self.has(true, b'f'), self.has(false, b'f'));
        match (opened, answered) {
            (true, false) if rst_down => "REJ",
            (true, false) if rst_up => "RSTOS0",
            (true, false) if fin_up => "SH",
            (true, false) => "S0",
            (false, true) if rst_down => "RSTRH",
            (false, true) if fin_down && !fin_up => "SHR",
            (false, _) => "OTH",
            (true, true) if fin_up && fin_down => "SF",
            (true, true) if rst_up && rst_down => {
                if self.text().find('R') < self.text().find('r') {
                    "RSTO"
                } else {
                    "RSTR"
                }
            }
            (true, true) if rst_up => "RSTO",
            (true, true) if rst_down => "RSTR",
            (true, true) if fin_up => "S2",
            (true, true) if fin_down => "S3",
            (true, true) => "S1",
        }
    }
}

/// Where a letter stands.
#[inline]
fn place(letter: u8) -> usize {
    LETTERS.iter().position(|known| *known == letter).unwrap_or(15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_told_by_its_letter() {
        assert_eq!(LETTERS[usize::from(ACKNOWLEDGED)], b'a');
        assert_eq!(LETTERS[usize::from(PAYLOAD)], b'd');
    }

    #[test]
    fn letters_are_given_once_and_counts_by_tens() {
        let mut history = History::default();
        let (syn, ack, fin) = (Flags::SYN, Flags::ACK, Flags(0x11));
        history.segment(true, syn, false);
        history.segment(true, syn, false);
        history.segment(false, syn.with(ack), false);
        history.segment(true, ack, false);
        history.segment(true, ack, true);
        for times in 1..=100 {
            history.counted(false, b't', times);
        }
        history.segment(false, fin, true);
        history.segment(true, Flags::RST, false);
        assert_eq!(history.text(), "ShADtttdfR");
        for _ in 0..100 {
            history.counted(true, b'g', 1);
        }
        assert_eq!(history.text().len(), MOST);
    }
}

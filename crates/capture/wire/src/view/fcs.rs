//! Frame check sequences: whether a frame ends in one, and whether it is right.
//!
//! Reference: IEEE 802.11-2020 §9.2.4.8, IEEE 802.3-2022 §3.2.9 (the same CRC-32). Where a capture does not say whether
//! frames end in one, the first frames of each interface are tried: chance makes a frame's last four octets fit once in
//! four thousand million. Leaves out check sequences of other lengths.

use crate::view::bytes::octets;

/// Octets of a check sequence.
pub(crate) const OCTETS: usize = 4;
/// Frames tried before an interface's verdict stands.
const ENOUGH: u32 = 256;
/// Interfaces a verdict is kept for; a capture that claims more is judged frame by frame on the rest.
const MOST_INTERFACES: usize = 4_096;

/// Whether the last four octets of `frame` are its check sequence.
pub(crate) fn fits(frame: &[u8]) -> bool {
    let Some(at) = frame.len().checked_sub(OCTETS) else { return false };
    octets(frame, at).is_some_and(|fcs| crate::fcs(&[frame.get(..at).unwrap_or_default()]) == fcs)
}

/// What was found on one interface whose capture does not say whether frames end in a check sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FcsTrial {
    /// Whole frames tried.
    pub tried: u32,
    /// Frames whose last four octets are their check sequence.
    pub fitted: u32,
}

impl FcsTrial {
    /// Whether frames of this interface are taken to end in a check sequence: where it fits at least a quarter of
    /// them, the others are noise. Frames it fits have one in any case.
    pub fn present(self) -> bool {
        self.fitted > 0 && u64::from(self.fitted) * 4 >= u64::from(self.tried)
    }
}

/// Trials by interface.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trials(Vec<FcsTrial>);

impl Trials {
    pub(crate) fn wants(&self, interface: u32) -> bool {
        let interface = interface as usize;
        interface < MOST_INTERFACES && self.0.get(interface).is_none_or(|trial| trial.tried < ENOUGH)
    }

    pub(crate) fn add(&mut self, interface: u32, fits: bool) {
        let interface = interface as usize;
        if interface >= self.0.len() {
            self.0.resize(interface + 1, FcsTrial::default());
        }
        if let Some(trial) = self.0.get_mut(interface) {
            trial.tried += 1;
            trial.fitted += u32::from(fits);
        }
    }

    pub(crate) fn present(&self, interface: u32) -> bool {
        self.0.get(interface as usize).is_some_and(|trial| trial.present())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, FcsTrial)> {
        self.0.iter().enumerate().filter(|(_, t)| t.tried > 0).map(|(n, t)| (n as u32, *t))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_sequence_fits_its_frame_only() {
        let mut frame = b"123456789".to_vec();
        frame.extend(0xcbf4_3926_u32.to_le_bytes());
        assert!(fits(&frame));
        frame[0] ^= 1;
        assert!(!fits(&frame));
        assert!(!fits(&frame[..3]) && !fits(&[]));
    }

    #[test]
    fn a_quarter_of_good_frames_decides() {
        let trial = |tried, fitted| FcsTrial { tried, fitted }.present();
        assert!(trial(4, 1) && trial(1, 1) && !trial(5, 1) && !trial(0, 0) && !trial(1, 0));
    }
}

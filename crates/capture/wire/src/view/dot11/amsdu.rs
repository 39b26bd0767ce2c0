//! Aggregates of packets in one 802.11 frame.
//!
//! Reference: IEEE 802.11-2020 §9.3.2.2. Leaves out short A-MSDU subframes (DMG).

use crate::view::anomaly::{Anomalies, Anomaly};
use crate::view::bytes::be16;
use crate::view::frame::Payload;
use crate::view::layers::Walk;

/// Iterator over the packets of an A-MSDU; it ends at the first part that is cut or malformed.
#[derive(Clone, Copy, Debug)]
pub struct Amsdu<'a> {
    rest: &'a [u8],
    missing: usize,
    anomalies: Anomalies,
}

impl<'a> Amsdu<'a> {
    /// The packets in the body of a frame, `missing` octets of which were not captured.
    pub(crate) fn new(rest: &'a [u8], missing: usize) -> Self {
        Self { rest, missing, anomalies: Anomalies::default() }
    }

    /// What was wrong with the packets so far.
    pub fn anomalies(&self) -> Anomalies {
        self.anomalies
    }

    /// Ends the iteration.
    fn stop(&mut self) -> Option<Payload<'a>> {
        let anomaly = if self.missing > 0 { Anomaly::CutHeader } else { Anomaly::Amsdu };
        self.anomalies.insert(anomaly);
        self.rest = &[];
        None
    }
}

impl<'a> Iterator for Amsdu<'a> {
    type Item = Payload<'a>;

    fn next(&mut self) -> Option<Payload<'a>> {
        const HEADER: usize = 14;
        if self.rest.is_empty() {
            return None;
        }
        let Some(length) = be16(self.rest, 12).map(usize::from).filter(|_| self.rest.len() >= HEADER) else {
            return self.stop();
        };
        let end = HEADER + length;
        let missing = end.saturating_sub(self.rest.len());
        if missing > self.missing {
            return self.stop();
        }
        let part = self.rest.get(HEADER..end.min(self.rest.len())).unwrap_or_default();
        // All but the last are padded to whole words.
        self.rest = self.rest.get(end.next_multiple_of(4)..).unwrap_or_default();
        let mut walk = Walk::new(missing, ());
        let payload = walk.llc(part);
        self.anomalies.extend(walk.anomalies);
        Some(payload)
    }
}

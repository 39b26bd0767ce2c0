//! Elements of management frames.
//!
//! Reference: IEEE 802.11-2020 §9.3.3 and §9.4.2. Leaves out all elements but the network's name and the channel.

use crate::view::dot11::{Dot11, Dot11Kind};

const SSID: u8 = 0;
const DS_PARAMETER_SET: u8 = 3;

impl<'a> Dot11<'a> {
    /// Name of the network in a beacon, probe or association request: octets that anybody may have chosen, at most 32.
    /// Empty where the name is hidden or any network is meant.
    pub fn ssid(&self) -> Option<&'a [u8]> {
        self.element(SSID).filter(|name| name.len() <= 32)
    }

    /// Channel that a beacon or probe response names.
    pub fn channel(&self) -> Option<u8> {
        self.element(DS_PARAMETER_SET).and_then(|set| set.first().copied())
    }

    fn element(&self, wanted: u8) -> Option<&'a [u8]> {
        if self.protected() {
            return None;
        }
        let fixed = match self.kind() {
            // Time stamp, interval, capabilities.
            Dot11Kind::Beacon | Dot11Kind::ProbeResponse => 12,
            Dot11Kind::ProbeRequest => 0,
            Dot11Kind::Association => match self.subtype() {
                // Capabilities, listen interval; for a new association of an associated station its access point.
                0 => 4,
                2 => 10,
                _ => return None,
            },
            _ => return None,
        };
        let mut rest = self.body().get(fixed..)?;
        while let [kind, length, ref more @ ..] = *rest {
            let (element, after) = more.split_at_checked(usize::from(length))?;
            if kind == wanted {
                return Some(element);
            }
            rest = after;
        }
        None
    }

    fn subtype(&self) -> u8 {
        self.bytes.first().map_or(0, |first| first >> 4)
    }
}

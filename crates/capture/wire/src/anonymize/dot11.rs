//! Anonymises 802.11 frames.
//!
//! Reference: IEEE 802.11-2020 §9.2–9.4. Addresses are mapped, names of networks hidden; elements of management
//! frames that tell how the network works stay, others lose their contents; encrypted bodies are cut.
//! Leaves out action frames but for their category, and what follows the first fragment of a packet.

use super::Scrub;

const HEADER: usize = 24;
const ELEMENT_SSID: u8 = 0;
const ELEMENT_MESH_ID: u8 = 114;
/// Rates, DS and IBSS parameters, TIM, HT and VHT capabilities and operation, ERP, extended rates and capabilities.
/// Not among them: RSN, whose key identifiers tell a passphrase to who guesses it, and country.
const SHOWN_ELEMENTS: &[u8] = &[1, 3, 5, 6, 42, 45, 50, 61, 127, 191, 192];

const PROTECTED: u8 = 0x40;
const HT_CONTROL: u8 = 0x80;
const MORE_FRAGMENTS: u8 = 0x04;
const BOTH_DS: u8 = 0x03;

impl Scrub {
    /// A frame from its frame control on, without check sequence; `padded` where the radio pads headers to
    /// whole words.
    pub(super) fn dot11(&mut self, bytes: &mut [u8], padded: bool) -> usize {
        let [control, flags, ..] = *bytes else { return bytes.len() };
        if control & 3 != 0 {
            return self.unknown();
        }
        let subtype = control >> 4;
        match control >> 2 & 3 {
            0 => self.management(subtype, flags, bytes),
            1 => self.control(subtype, bytes),
            2 => self.data(subtype, flags, bytes, padded),
            _ => {
                self.dot11_addresses(bytes, 1);
                10.min(bytes.len())
            }
        }
    }

    /// Maps the first `count` addresses, and returns where they end.
    fn dot11_addresses(&mut self, bytes: &mut [u8], count: usize) -> usize {
        let end = (4 + 6 * count).min(bytes.len());
        for place in bytes.get_mut(4..end).unwrap_or_default().chunks_mut(6) {
            self.addresses.mac_at(place);
        }
        end
    }

    fn control(&mut self, subtype: u8, bytes: &mut [u8]) -> usize {
        // Wrapper, CTS and ACK have one address, of the others what follows two tells nothing of anybody.
        let one = matches!(subtype, 7 | 12 | 13);
        let end = self.dot11_addresses(bytes, if one { 1 } else { 2 });
        if matches!(subtype, 8 | 9) { bytes.len() } else { end }
    }

    fn management(&mut self, subtype: u8, flags: u8, bytes: &mut [u8]) -> usize {
        self.dot11_addresses(bytes, 3);
        let header = HEADER + if flags & HT_CONTROL != 0 { 4 } else { 0 };
        if flags & PROTECTED != 0 || bytes.len() < header {
            return header.min(bytes.len());
        }
        // Fixed fields before the elements.
        let fixed = match subtype {
            0 => 4,
            1 | 3 => 6,
            2 => 10,
            4 => 0,
            5 | 8 => 12,
            // Disassociation and deauthentication: a reason. Authentication: algorithm, step, status.
            10 | 12 => return bytes.len().min(header + 2),
            11 => return bytes.len().min(header + 6),
            // Action: category and action.
            13 | 14 => return bytes.len().min(header + 2),
            _ => return header,
        };
        if subtype == 2
            && let Some(place) = bytes.get_mut(header + 4..header + 10)
        {
            self.addresses.mac_at(place);
        }
        let elements = header + fixed;
        if bytes.len() < elements {
            return header;
        }
        self.after(bytes, elements, Self::elements)
    }

    fn elements(&mut self, bytes: &mut [u8]) -> usize {
        let mut at = 0;
        while let Some([kind, length, ..]) = bytes.get(at..) {
            let (kind, length) = (*kind, usize::from(*length));
            let Some(content) = bytes.get_mut(at + 2..at + 2 + length) else { break };
            match kind {
                // A hidden network announces a name of zeros.
                ELEMENT_SSID | ELEMENT_MESH_ID if content.iter().any(|octet| *octet != 0) => {
                    self.names.hide(content);
                }
                ELEMENT_SSID | ELEMENT_MESH_ID => {}
                kind if SHOWN_ELEMENTS.contains(&kind) => {}
                _ => content.fill(0),
            }
            at += 2 + length;
        }
        at
    }

    fn data(&mut self, subtype: u8, flags: u8, bytes: &mut [u8], padded: bool) -> usize {
        const QOS: u8 = 8;
        const NO_DATA: u8 = 4;
        const AMSDU: u8 = 0x80;
        self.dot11_addresses(bytes, 3);
        let mut header = HEADER;
        if flags & BOTH_DS == BOTH_DS {
            let end = bytes.len().min(HEADER + 6);
            self.addresses.mac_at(bytes.get_mut(HEADER..end).unwrap_or_default());
            header += 6;
        }
        let quality = (subtype & QOS != 0).then(|| bytes.get(header).copied().unwrap_or(0));
        if quality.is_some() {
            header += if flags & HT_CONTROL != 0 { 6 } else { 2 };
        }
        let body = if padded { header.next_multiple_of(4) } else { header };
        let later = bytes.get(22).is_some_and(|sequence| sequence & 15 != 0);
        if subtype & NO_DATA != 0 || flags & PROTECTED != 0 || later || bytes.len() <= body {
            return body.min(bytes.len());
        }
        if quality.is_some_and(|quality| quality & AMSDU != 0) && flags & MORE_FRAGMENTS == 0 {
            return self.after(bytes, body, Self::amsdu);
        }
        self.after(bytes, body, Self::llc)
    }

    /// Several packets in one frame: all but the last keep their length.
    fn amsdu(&mut self, bytes: &mut [u8]) -> usize {
        const SUBFRAME_HEADER: usize = 14;
        let (mut at, mut kept) = (0, 0);
        while let Some(head) = bytes.get_mut(at..at + SUBFRAME_HEADER) {
            for place in head.chunks_exact_mut(6).take(2) {
                self.addresses.mac_at(place);
            }
            let length = usize::from(super::link::be16(head, 12));
            let start = at + SUBFRAME_HEADER;
            let end = (start + length).min(bytes.len());
            let content = bytes.get_mut(start..end).unwrap_or_default();
            let inner = self.llc(content);
            content.get_mut(inner..).unwrap_or_default().fill(0);
            kept = start + inner;
            at = (start + length).next_multiple_of(4);
        }
        kept
    }
}

//! Options of IPv4, IPv6 and TCP: those that say how a packet is handled stay, others lose their contents.
//!
//! Leaves out what the options mean.

/// How options are laid out, and which of them are shown.
pub(super) struct Layout {
    /// An option of one octet, which does nothing.
    padding: u8,
    /// What ends the options before their room is filled.
    end: Option<u8>,
    /// Octets that an option's length does not count.
    uncounted: usize,
    shown: &'static [u8],
}

/// Router alert stays; record route, time stamps and source routes hold addresses.
pub(super) const IPV4_OPTIONS: Layout = Layout { padding: 1, end: Some(0), uncounted: 0, shown: &[148] };
/// Padding, router alert and jumbo payload stay; a home address is an address.
pub(super) const IPV6_OPTIONS: Layout = Layout { padding: 0, end: None, uncounted: 2, shown: &[1, 5, 0xc2] };
/// MSS, window scale, SACK and timestamps stay; Multipath TCP's hold addresses and keys.
pub(super) const TCP_OPTIONS: Layout =
    Layout { padding: 1, end: Some(0), uncounted: 0, shown: &[2, 3, 4, 5, 8] };

impl Layout {
    /// Puts zeros in place of what is not shown, malformed options and what follows their end included.
    pub(super) fn blank(&self, options: &mut [u8]) {
        let mut at = 0;
        while let Some(kind) = options.get(at).copied() {
            if kind == self.padding {
                at += 1;
                continue;
            }
            let length = usize::from(options.get(at + 1).copied().unwrap_or(0)) + self.uncounted;
            let content = options.get_mut(at + 2..at + length);
            match content {
                Some(content) if Some(kind) != self.end => {
                    if !self.shown.contains(&kind) {
                        content.fill(0);
                    }
                }
                _ => return options.get_mut(at..).unwrap_or_default().fill(0),
            }
            at += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_options_stay_and_others_lose_their_contents() {
        let mut options = [2, 4, 5, 180, 1, 30, 4, 7, 7, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 0, 9, 9];
        TCP_OPTIONS.blank(&mut options);
        assert_eq!(options, [2, 4, 5, 180, 1, 30, 4, 0, 0, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0]);
        let mut options = [0, 5, 2, 9, 9, 0xc9, 2, 7, 7, 1, 1, 0];
        IPV6_OPTIONS.blank(&mut options);
        assert_eq!(options, [0, 5, 2, 9, 9, 0xc9, 2, 0, 0, 1, 1, 0]);
    }

    #[test]
    fn malformed_options_become_zeros_and_cannot_loop() {
        for mut options in [[7, 0, 1, 1], [7, 1, 1, 1], [7, 9, 1, 1], [1, 1, 1, 7]] {
            IPV4_OPTIONS.blank(&mut options);
            assert!(!options.contains(&7), "{options:?}");
        }
    }
}

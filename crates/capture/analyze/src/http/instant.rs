//! A time or a place in a stream that may not be known yet, in eight bytes.

/// A number that is known or not; the greatest number stands for "not".
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Maybe(u64);

impl Maybe {
    pub(crate) const NOT: Self = Self(u64::MAX);

    pub(crate) fn get(self) -> Option<u64> {
        (self.0 != u64::MAX).then_some(self.0)
    }

    pub(crate) fn is_known(self) -> bool {
        self.0 != u64::MAX
    }

    /// Sets it unless it is known.
    pub(crate) fn set_first(&mut self, number: u64) {
        if !self.is_known() {
            self.0 = number;
        }
    }
}

impl Default for Maybe {
    fn default() -> Self {
        Self::NOT
    }
}

impl From<u64> for Maybe {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl std::fmt::Debug for Maybe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

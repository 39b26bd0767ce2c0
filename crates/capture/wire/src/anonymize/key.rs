//! The secret behind a mapping: whoever has it can undo the mapping, whoever lacks it cannot.
//!
//! Leaves out keeping secrets: that is the user's.

use std::fs::File;
use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// A 256-bit key. The same key maps the same addresses and names to the same, in whatever capture.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// The key of a secret; a secret that can be guessed is none.
    pub fn from_secret(secret: &[u8]) -> Self {
        Self(
            Sha256::new().chain_update(b"airperf anonymize: secret\0").chain_update(secret).finalize().into(),
        )
    }

    /// A key that nobody knows, from the system's random numbers.
    ///
    /// # Errors
    /// The system's.
    pub fn random() -> io::Result<Self> {
        let mut key = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut key)?;
        Ok(Self(key))
    }

    /// A key for one purpose.
    pub(super) fn derive(&self, purpose: &str) -> [u8; 32] {
        let parts = Sha256::new().chain_update(self.0).chain_update(purpose);
        // Twice, so that no part of a message can be appended to.
        Sha256::new().chain_update(self.0).chain_update(parts.finalize()).finalize().into()
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

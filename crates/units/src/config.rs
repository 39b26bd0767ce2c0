//! What every model's configuration is checked with.
//!
//! Left out: checks of more than one configuration against each other, which are the scenario's.

use std::fmt;

/// A configuration that nothing of its kind could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigError {
    model: &'static str,
    why: &'static str,
}

impl ConfigError {
    /// Checks the rules of `model`, each with what it demands.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn check(model: &'static str, rules: &[(bool, &'static str)]) -> Result<(), Self> {
        match rules.iter().find(|(holds, _)| !holds) {
            Some(&(_, why)) => Err(Self { model, why }),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.model, self.why)
    }
}

impl std::error::Error for ConfigError {}

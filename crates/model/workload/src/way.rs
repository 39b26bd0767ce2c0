//! On which of their connections users ask.
//!
//! As browsers do (RFC 9112 §9.3 to §9.4): an idle one first, else a new one while fewer than the user's number are
//! open, else, with pipelining, the one with the fewest requests unanswered. Requests with bodies wait for their turn:
//! nothing follows a method that is not idempotent before its reply (RFC 9112 §9.3.2).

use crate::config::Config;

/// Where a user's next request can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way<C> {
    /// On this connection.
    Open(C),
    /// On a new one.
    New,
}

impl<C> Way<C> {
    /// The way of a user who has `open` connections; `usable` are those that take further requests, each with the
    /// number of its unanswered ones. `None` when all are busy.
    pub fn of(config: &Config, open: usize, usable: impl IntoIterator<Item = (usize, C)>) -> Option<Self> {
        let plan = &config.session;
        let depth = if config.upload.fixed() == Some(0) { plan.pipeline as usize } else { 1 };
        match usable.into_iter().min_by_key(|(unanswered, _)| *unanswered) {
            Some((0, connection)) => Some(Self::Open(connection)),
            _ if open < plan.connections as usize => Some(Self::New),
            Some((unanswered, connection)) if unanswered < depth => Some(Self::Open(connection)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airperf_units::Distribution;

    #[test]
    fn idle_before_new_before_pipelined() {
        let mut config = Config::default();
        (config.session.connections, config.session.pipeline) = (2, 3);
        assert_eq!(Way::of(&config, 0, [(0, 'a'); 0]), Some(Way::New));
        assert_eq!(Way::of(&config, 1, [(0, 'a')]), Some(Way::Open('a')));
        assert_eq!(Way::of(&config, 1, [(1, 'a')]), Some(Way::New));
        assert_eq!(Way::of(&config, 2, [(2, 'a'), (1, 'b')]), Some(Way::Open('b')));
        assert_eq!(Way::of(&config, 2, [(1, 'a'), (1, 'b')]), Some(Way::Open('a')), "the first of equals");
        assert_eq!(Way::of(&config, 2, [(3, 'a'), (3, 'b')]), None);
        assert_eq!(Way::of(&config, 2, [(0, 'b')]), Some(Way::Open('b')), "the other is used up");
        config.upload = Distribution::Fixed(10);
        assert_eq!(Way::of(&config, 2, [(1, 'a'), (2, 'b')]), None, "bodies wait for their turn");
    }
}

//! What an optimising proxy counts: one sum per thing that an optimisation saves, spends or wastes.
//!
//! Each half counts what it sees; "link" is the path between the two halves. Left out: octets of headers of IP, TCP and UDP.

use std::cell::Cell;

/// Sums since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Browsers' connections.
    pub connections: u64,
    /// Requests of browsers, or at the server half of the client half.
    pub requests: u64,
    /// Requests refused: malformed, or for what is not the lab's.
    pub refused: u64,
    /// Replies passed on whole.
    pub replies: u64,
    /// Replies of which the browser, or the origin, ended the connection before the end.
    pub cut_short: u64,
    /// Requests answered 502 or 504.
    pub failed: u64,
    /// CONNECT tunnels opened.
    pub tunnels: u64,
    /// Tunnels whose TLS was answered here.
    pub intercepted: u64,
    /// Octets of bodies as browsers and origins have them.
    pub body_bytes: u64,
    /// Connections opened or taken for the link.
    pub link_connections: u64,
    /// Octets given to the link's connections, or in its datagrams.
    pub link_sent_bytes: u64,
    /// Octets taken from the link.
    pub link_received_bytes: u64,
    /// Requests sent over the link.
    pub link_requests: u64,
    /// Connections to origins.
    pub origin_connections: u64,
    /// Requests to origins, those for pushes among them.
    pub origin_requests: u64,
    /// Names looked up.
    pub look_ups: u64,
    /// Browsers' look-ups answered on the spot.
    pub names_answered: u64,
    /// Bodies sent or received compressed, to browsers by a single proxy.
    pub compressed: u64,
    /// Octets of these bodies.
    pub compressed_plain_bytes: u64,
    /// Octets of them on the link.
    pub compressed_link_bytes: u64,
    /// Bodies of which only a hash was sent or received; of a single proxy, those that browsers had.
    pub same: u64,
    /// Octets of these bodies.
    pub same_plain_bytes: u64,
    /// Of these, bodies that the client half no longer had.
    pub same_missing: u64,
    /// Bodies of the shared cache of which the origin said that they hold.
    pub validated: u64,
    /// Octets of these bodies, that the origin did not send.
    pub validated_bytes: u64,
    /// Bodies sent or received as a difference from an earlier version.
    pub deltas: u64,
    /// Octets of these bodies.
    pub delta_plain_bytes: u64,
    /// Octets of them on the link.
    pub delta_link_bytes: u64,
    /// Objects promised before they were asked for.
    pub pushes: u64,
    /// Of these, objects that a browser then asked for.
    pub pushes_used: u64,
    /// Of these, objects sent and not asked for within their time.
    pub pushes_wasted: u64,
    /// Octets of the wasted ones, as the browser would have had them.
    pub pushes_wasted_bytes: u64,
    /// Of these, objects that were not sent: not to be had, or asked for the usual way first.
    pub pushes_withdrawn: u64,
    /// Datagrams sent, of whatever kind.
    pub datagrams_sent: u64,
    /// Datagrams received and understood.
    pub datagrams_received: u64,
    /// Pieces sent again.
    pub pieces_resent: u64,
    /// Repair datagrams sent.
    pub repairs_sent: u64,
    /// Pieces restored from repair datagrams.
    pub pieces_repaired: u64,
}

/// The sums, shared by everything on the one thread.
#[derive(Debug, Default)]
pub(crate) struct Sums(Cell<Counts>);

impl Sums {
    pub(crate) fn add(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.0.get();
        change(&mut counts);
        self.0.set(counts);
    }

    pub(crate) fn get(&self) -> Counts {
        self.0.get()
    }
}

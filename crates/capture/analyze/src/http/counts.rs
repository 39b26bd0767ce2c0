//! What connections spoke, counted over a capture, and the names of what was unusual about HTTP.

use super::Application;
use super::exchange::Exchanges;

/// Anomalies of HTTP: name and what it means.
pub const ANOMALIES: &[(&str, &str)] = &[
    (
        "http_ambiguous",
        "connections whose HTTP/1 messages nobody can tell apart from some place on: lengths that contradict one another, \
         something else in between, or endless heads; nothing after it is analysed",
    ),
    ("http_cut", "exchanges that lack octets which were not captured, and cannot be told to their end"),
    ("http_unasked", "responses whose requests were not captured"),
    ("http_switched", "connections that left HTTP/1 by CONNECT or Upgrade; what follows is not analysed"),
];

/// What was spoken and what was unusual; connections without payload count nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HttpCounts {
    /// Connections by what they spoke, in the order of `record::capture::APPLICATIONS`.
    applications: [u64; 5],
    cut: u64,
    unasked: u64,
    switched: u64,
}

impl HttpCounts {
    /// Adds a connection that has ended.
    pub(crate) fn add(&mut self, exchanges: &Exchanges) {
        let index = match exchanges.application() {
            Application::Unknown => None,
            Application::Http1 => Some(0),
            Application::Http2 => Some(1),
            Application::Tls => Some(2),
            Application::Ambiguous => Some(3),
            Application::Other => Some(4),
        };
        if let Some(count) = index.and_then(|index| self.applications.get_mut(index)) {
            *count += 1;
        }
        self.cut += u64::from(exchanges.cut());
        self.unasked += u64::from(exchanges.unasked());
        self.switched += u64::from(exchanges.is_switched());
    }

    /// Adds another share's.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.applications.iter_mut().zip(other.applications).for_each(|(sum, count)| *sum += count);
        self.cut += other.cut;
        self.unasked += other.unasked;
        self.switched += other.switched;
    }

    /// Connections by what they spoke, as `connections.application` names it.
    pub fn applications(&self) -> impl Iterator<Item = (&'static str, u64)> {
        airperf_record::capture::APPLICATIONS.iter().copied().zip(self.applications)
    }

    /// Each of [`ANOMALIES`] with its count.
    pub fn anomalies(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = [self.applications[3], self.cut, self.unasked, self.switched];
        ANOMALIES.iter().zip(counts).map(|((name, _), count)| (*name, count))
    }
}

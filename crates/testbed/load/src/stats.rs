//! What a load came to, in constant memory: counts, sums and histograms.
//!
//! Histograms are HDR histograms with three significant digits from 1 ns to an hour (Tene, HdrHistogram),
//! so a percentile is known to 0.1% and never below the truth. Means and deviations come from exact sums.
//!
//! Left out: rows; see `rows`.

use std::collections::BTreeMap;

use airperf_workload::Ending;
use hdrhistogram::Histogram;

/// Longest time a histogram tells apart: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Length of a sample of the rates, as httperf's.
pub(crate) const SAMPLE_NS: u64 = 5_000_000_000;

/// One measured time.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    pub(crate) histogram: Histogram<u64>,
    sum: u128,
    squares: f64,
    min: u64,
    max: u64,
}

impl Times {
    pub(crate) fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("these bounds are valid");
        Self { histogram, sum: 0, squares: 0.0, min: u64::MAX, max: 0 }
    }

    #[inline]
    pub(crate) fn record(&mut self, ns: u64) {
        self.histogram.saturating_record(ns);
        self.sum += u128::from(ns);
        self.squares += ns as f64 * ns as f64;
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    pub(crate) fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Nanoseconds that a share `q` did not exceed; `None` when nothing was measured.
    pub(crate) fn quantile(&self, q: f64) -> Option<u64> {
        (self.count() > 0).then(|| self.histogram.value_at_quantile(q).min(self.max))
    }

    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum as f64 / self.count() as f64)
    }

    /// Of the sample; `None` below two values.
    pub(crate) fn deviation(&self) -> Option<f64> {
        let n = self.count() as f64;
        let mean = self.mean().filter(|_| n >= 2.0)?;
        Some(((self.squares - n * mean * mean).max(0.0) / (n - 1.0)).sqrt())
    }

    pub(crate) fn min(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.min)
    }

    pub(crate) fn max(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.max)
    }
}

/// In what phase an exchange failed, or that it did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    Completed,
    Connect,
    Send,
    Reply,
    Receive,
    Reset,
    Framing,
    Local,
    Unfinished,
}

impl Outcome {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Connect => "connect",
            Self::Send => "send",
            Self::Reply => "reply",
            Self::Receive => "receive",
            Self::Reset => "reset",
            Self::Framing => "framing",
            Self::Local => "local",
            Self::Unfinished => "unfinished",
        }
    }
}

/// Why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// The user's patience.
    Timeout,
    /// The kernel's patience (ETIMEDOUT).
    TcpTimeout,
    Refused,
    Reset,
    /// The server closed in the middle.
    Closed,
    Unreachable,
    Framing,
    /// Descriptors of this process.
    Descriptors,
    /// The machine's file table.
    FileTable,
    Ports,
    /// The plan's own bound of connections.
    Limit,
    Other,
}

impl Cause {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::TcpTimeout => "tcp_timeout",
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::Unreachable => "unreachable",
            Self::Framing => "framing",
            Self::Descriptors => "descriptors",
            Self::FileTable => "file_table",
            Self::Ports => "ports",
            Self::Limit => "limit",
            Self::Other => "other",
        }
    }

    /// Whether this machine and not the server or the network failed, so that no server's figure may know of it.
    pub(crate) const fn of(errno: i32) -> (Self, bool) {
        match errno {
            libc::EMFILE => (Self::Descriptors, true),
            libc::ENFILE => (Self::FileTable, true),
            libc::EADDRNOTAVAIL | libc::EAGAIN => (Self::Ports, true),
            libc::ENOBUFS | libc::ENOMEM | libc::EPERM | libc::EACCES | libc::EINVAL => (Self::Other, true),
            libc::ECONNREFUSED => (Self::Refused, false),
            libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED => (Self::Reset, false),
            libc::ETIMEDOUT => (Self::TcpTimeout, false),
            libc::ENETUNREACH | libc::EHOSTUNREACH | libc::ENETDOWN => (Self::Unreachable, false),
            _ => (Self::Other, false),
        }
    }
}

/// Pages of users by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Pages {
    /// With all that they embed.
    pub complete: u64,
    /// Something of them failed.
    pub incomplete: u64,
    /// The user's patience was at an end.
    pub given_up: u64,
    /// Under way when the time was up.
    pub unfinished: u64,
}

impl Pages {
    pub(crate) fn count(&mut self, ending: Ending) {
        *match ending {
            Ending::Complete => &mut self.complete,
            Ending::Incomplete => &mut self.incomplete,
            Ending::GivenUp => &mut self.given_up,
            Ending::Unfinished => &mut self.unfinished,
        } += 1;
    }
}

/// What happened within [`SAMPLE_NS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub(crate) struct Sample {
    /// End of the sample, seconds after the start.
    pub(crate) at_s: f64,
    /// Length, seconds: the last may be shorter.
    pub(crate) span_s: f64,
    /// Connections opened.
    pub(crate) connections: u64,
    /// Requests sent.
    pub(crate) requests: u64,
    /// Replies completed.
    pub(crate) replies: u64,
    /// Exchanges that failed.
    pub(crate) errors: u64,
    /// Connections (or sessions) all of whose exchanges were completed.
    pub(crate) ends: u64,
}

/// Everything counted. Connections due within the warm-up are counted in `warmup` only.
#[derive(Clone, Debug)]
pub(crate) struct Stats {
    pub(crate) response: Times,
    pub(crate) service: Times,
    pub(crate) connect: Times,
    pub(crate) lifetime: Times,
    /// From the request to the first octet of its reply.
    pub(crate) first_byte: Times,
    /// From there to its last.
    pub(crate) transfer: Times,
    pub(crate) schedule_error: Times,
    pub(crate) session: Times,
    pub(crate) failed_session: Times,
    /// From due to the last object, of users' pages that came whole.
    pub(crate) page: Times,
    pub(crate) pages: Pages,
    /// Connections that became due.
    pub(crate) due: u64,
    /// Connections whose connect(2) was called and not refused by this machine.
    pub(crate) opened: u64,
    /// When the last of them was opened.
    pub(crate) last_opened_ns: u64,
    pub(crate) established: u64,
    /// Connections all of whose exchanges were completed.
    pub(crate) completed_connections: u64,
    pub(crate) failed_connections: u64,
    pub(crate) unfinished_connections: u64,
    /// Connections the server closed before they had their share of requests.
    pub(crate) closed_early: u64,
    pub(crate) sent: u64,
    pub(crate) completed: u64,
    /// Of those, before the load's end.
    pub(crate) completed_in_time: u64,
    pub(crate) unfinished: u64,
    /// Requests wanted of connections that ended before.
    pub(crate) not_sent: u64,
    pub(crate) errors: BTreeMap<Outcome, u64>,
    pub(crate) causes: BTreeMap<Cause, u64>,
    pub(crate) local: BTreeMap<Cause, u64>,
    /// Replies by hundreds of their status.
    pub(crate) status: [u64; 6],
    pub(crate) statuses: BTreeMap<u16, u64>,
    pub(crate) bytes: Bytes,
    pub(crate) concurrent: u64,
    pub(crate) most_concurrent: u64,
    pub(crate) burst: u64,
    pub(crate) longest_burst: u64,
    pub(crate) samples: Vec<Sample>,
    /// Replies on each connection: how many connections had so many.
    pub(crate) replies_per_connection: BTreeMap<u32, u64>,
}

/// Octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Bytes {
    /// Sent, heads and bodies.
    pub sent: u64,
    /// Received, heads and bodies.
    pub received: u64,
    /// Heads and framing of completed replies.
    pub reply_heads: u64,
    /// Bodies of completed replies.
    pub reply_bodies: u64,
    /// Requests that were wholly sent.
    pub requests: u64,
    /// Received for exchanges that then failed.
    pub wasted: u64,
}

impl Stats {
    pub(crate) fn new() -> Self {
        Self {
            response: Times::new(),
            service: Times::new(),
            connect: Times::new(),
            lifetime: Times::new(),
            first_byte: Times::new(),
            transfer: Times::new(),
            schedule_error: Times::new(),
            session: Times::new(),
            failed_session: Times::new(),
            page: Times::new(),
            pages: Pages::default(),
            due: 0,
            opened: 0,
            last_opened_ns: 0,
            established: 0,
            completed_connections: 0,
            failed_connections: 0,
            unfinished_connections: 0,
            closed_early: 0,
            sent: 0,
            completed: 0,
            completed_in_time: 0,
            unfinished: 0,
            not_sent: 0,
            errors: BTreeMap::new(),
            causes: BTreeMap::new(),
            local: BTreeMap::new(),
            status: [0; 6],
            statuses: BTreeMap::new(),
            bytes: Bytes::default(),
            concurrent: 0,
            most_concurrent: 0,
            burst: 0,
            longest_burst: 0,
            samples: vec![Sample::default()],
            replies_per_connection: BTreeMap::new(),
        }
    }

    /// The sample under way.
    #[inline]
    pub(crate) fn sample(&mut self) -> &mut Sample {
        self.samples.last_mut().expect("there is always one")
    }

    /// Ends the sample under way at `now`.
    pub(crate) fn end_sample(&mut self, now_ns: u64, last: bool) {
        let at_s = now_ns as f64 / 1e9;
        let before = self.samples.len().checked_sub(2).map_or(0.0, |i| self.samples[i].at_s);
        let sample = self.sample();
        (sample.at_s, sample.span_s) = (at_s, at_s - before);
        if !last {
            self.samples.push(Sample::default());
        }
    }

    pub(crate) fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    pub(crate) fn local_failures(&self) -> u64 {
        self.local.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_exact_and_percentiles_never_too_small() {
        let mut times = Times::new();
        assert_eq!((times.quantile(0.5), times.mean(), times.deviation()), (None, None, None));
        for ns in 1..=1_000u64 {
            times.record(ns * 1_000_000);
        }
        assert_eq!(times.mean(), Some(500_500_000.0));
        assert!((times.deviation().unwrap() / 288_819_436.0 - 1.0).abs() < 1e-6); // sqrt(n(n+1)/12)
        let p99 = times.quantile(0.99).unwrap();
        assert!((990_000_000..991_000_000).contains(&p99), "{p99}");
        assert_eq!(
            (times.quantile(1.0), times.min(), times.max()),
            (Some(1_000_000_000), Some(1_000_000), Some(1_000_000_000))
        );
    }

    #[test]
    fn fault_11_what_this_machine_lacks_is_no_error_of_the_server() {
        for errno in [libc::EMFILE, libc::ENFILE, libc::EADDRNOTAVAIL, libc::ENOBUFS, libc::ENOMEM] {
            assert!(Cause::of(errno).1, "{errno}");
        }
        for errno in [libc::ECONNREFUSED, libc::ECONNRESET, libc::ETIMEDOUT, libc::EHOSTUNREACH] {
            assert!(!Cause::of(errno).1, "{errno}");
        }
    }
}

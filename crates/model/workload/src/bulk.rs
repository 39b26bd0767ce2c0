//! Traffic that is no Web: bulk TCP transfers and flows of UDP datagrams, as netperf, iperf and a media server make it.
//!
//! A bulk transfer is a size or a time and needs nothing more. A flow of datagrams says when each is due: evenly
//! spaced, computed from its index so that it never drifts; or the datagrams of one video frame together, frames
//! evenly spaced and of log-normal size (Krunz & Hughes, "A traffic model for MPEG-coded VBR streams", SIGMETRICS
//! 1995: log-normal fits the frames of each type). Left out: types of frames (I, P, B) and scenes, so sizes of
//! successive frames are independent; senders that adapt their rate.

use crate::Start;
use airperf_units::{ConfigError, Duration, Rate, Stream, StreamKey, Time};

/// Octets of an RTP header without contributing sources (RFC 3550 §5.1).
pub const RTP_HEADER_BYTES: u32 = 12;

/// What a flow is.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowKind {
    /// A bulk transfer over one TCP connection.
    Tcp {
        /// Octets; `None` for as many as the flow's time lets through.
        bytes: Option<u64>,
    },
    /// UDP datagrams.
    Datagrams(DatagramConfig),
}

/// One flow, in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowConfig {
    /// What it is.
    pub kind: FlowKind,
    /// When it begins; [`Start::Random`] draws it uniformly from the first second.
    pub start: Start,
    /// How long it offers load; `None` as long as the run does.
    pub duration: Option<Duration>,
}

/// A flow of datagrams.
#[derive(Clone, Debug, PartialEq)]
pub struct DatagramConfig {
    /// UDP payload of each datagram; of a video frame's last one less.
    pub payload_bytes: u32,
    /// Octets of the payload that are not the medium's: an RTP header or nothing.
    pub header_bytes: u32,
    /// When they are due.
    pub pace: DatagramPace,
}

/// When datagrams are due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DatagramPace {
    /// Whenever the transmit queue has room.
    Saturated,
    /// Evenly spaced.
    Even {
        /// Octets of the medium, as a rate.
        rate: Rate,
    },
    /// All datagrams of a video frame at once, the frames evenly spaced.
    Frames {
        /// Octets of the medium, as a mean rate.
        rate: Rate,
        /// Frames per second, in millionths.
        micro_per_second: u64,
        /// Standard deviation of a frame's size as a share of its mean; log-normal.
        spread: f64,
    },
}

impl FlowConfig {
    /// Largest transfer: sequence numbers of one connection must not wrap.
    pub const MAX_BYTES: u64 = 1 << 31;
    /// Largest UDP payload in an IPv4 packet of 65,535 bytes.
    pub const MAX_PAYLOAD_BYTES: u32 = 65_507;

    /// Finds what no flow could be.
    ///
    /// # Errors
    /// The first impossible value, named.
    pub fn check(&self) -> Result<(), ConfigError> {
        let (bytes, payload, header, rate, spread) = match &self.kind {
            FlowKind::Tcp { bytes } => (bytes.unwrap_or(1), 1, 0, 1, 0.0),
            FlowKind::Datagrams(DatagramConfig { payload_bytes, header_bytes, pace }) => {
                let (rate, spread) = match pace {
                    DatagramPace::Saturated => (1, 0.0),
                    DatagramPace::Even { rate } => (rate.as_bps(), 0.0),
                    DatagramPace::Frames { rate, micro_per_second, spread } => {
                        (rate.as_bps().min(*micro_per_second), *spread)
                    }
                };
                (1, *payload_bytes, *header_bytes, rate, spread)
            }
        };
        let rules = [
            ((1..=Self::MAX_BYTES).contains(&bytes), "a transfer has 1B to 2GiB"),
            (payload > header, "a datagram must carry more than its header"),
            (payload <= Self::MAX_PAYLOAD_BYTES, "a datagram carries at most 65507B"),
            (rate > 0, "rates must be positive"),
            ((0.0..=2.0).contains(&spread), "the spread of frame sizes must lie in 0..2"),
        ];
        ConfigError::check("flow", &rules)
    }

    /// When the `index`-th flow of a run begins and ends, if the run's load ends at `end`.
    pub fn span(&self, end: Time, key: &StreamKey, index: u64) -> (Time, Time) {
        let start = match self.start {
            Start::At(offset) => Time::ZERO + offset,
            Start::Random => {
                Time::ZERO + Duration::from_secs(1).mul_f64(key.indexed("flow.start", index).unit())
            }
        };
        (start, self.duration.map_or(end, |duration| (start + duration).min(end)))
    }
}

/// One datagram that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// When.
    pub due: Time,
    /// Octets of UDP payload.
    pub payload_bytes: u32,
}

/// The datagrams of one flow in order of time, up to its end; endless and all due at once for a saturated one.
#[derive(Clone, Debug)]
pub struct Datagrams {
    config: DatagramConfig,
    start: Time,
    end: Time,
    index: u64,
    /// What is left of the present video frame, octets of the medium.
    left: u32,
    frame_due: Time,
    stream: Stream,
}

impl Datagrams {
    /// The datagrams of the run's `index`-th flow from `start` up to, not including, `end`.
    pub fn new(config: DatagramConfig, start: Time, end: Time, key: &StreamKey, index: u64) -> Self {
        let stream = key.indexed("flow.frames", index);
        Self { config, start, end, index: 0, left: 0, frame_due: start, stream }
    }

    /// Whether a video frame has begun of which datagrams are left; they are due at once.
    fn within_frame(&mut self) -> Option<Datagram> {
        let DatagramConfig { payload_bytes, header_bytes, .. } = self.config;
        let part = self.left.min(payload_bytes - header_bytes);
        self.left -= part;
        (part > 0).then_some(Datagram { due: self.frame_due, payload_bytes: part + header_bytes })
    }

    fn next_frame(&mut self, rate: Rate, micro_per_second: u64, spread: f64) {
        let interval = u128::from(self.index) * 1_000_000_000_000_000 / u128::from(micro_per_second);
        self.frame_due = self.start + Duration::from_ns(interval as u64);
        self.index += 1;
        let mean = rate.as_bps() as f64 / 8.0 / (micro_per_second as f64 / 1e6);
        let sigma = libm::sqrt(libm::log(1.0 + spread * spread));
        let factor =
            if spread > 0.0 { libm::exp(sigma * self.stream.normal() - sigma * sigma / 2.0) } else { 1.0 };
        self.left = libm::round(mean * factor).clamp(1.0, 1e9) as u32;
    }
}

impl Iterator for Datagrams {
    type Item = Datagram;

    fn next(&mut self) -> Option<Datagram> {
        let medium = self.config.payload_bytes - self.config.header_bytes;
        let datagram = match self.config.pace {
            DatagramPace::Saturated => Datagram { due: self.start, payload_bytes: self.config.payload_bytes },
            DatagramPace::Even { rate } => {
                let bits = u128::from(self.index) * u128::from(medium) * 8;
                let after = (bits * 1_000_000_000 / u128::from(rate.as_bps())) as u64;
                self.index += 1;
                let due = self.start + Duration::from_ns(after);
                Datagram { due, payload_bytes: self.config.payload_bytes }
            }
            DatagramPace::Frames { rate, micro_per_second, spread } => match self.within_frame() {
                Some(datagram) => datagram,
                None => {
                    self.next_frame(rate, micro_per_second, spread);
                    self.within_frame()?
                }
            },
        };
        (datagram.due < self.end).then_some(datagram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(payload_bytes: u32, header_bytes: u32, pace: DatagramPace, seconds: u64) -> Vec<Datagram> {
        let config = DatagramConfig { payload_bytes, header_bytes, pace };
        let start = Time::from_ns(7);
        Datagrams::new(config, start, start + Duration::from_secs(seconds), &StreamKey::new(3), 0).collect()
    }

    #[test]
    fn even_datagrams_keep_their_rate_and_do_not_drift() {
        let rate = Rate::bps(400_000);
        let all = all(1450, RTP_HEADER_BYTES, DatagramPace::Even { rate }, 3600);
        let media: u64 = all.iter().map(|d| u64::from(d.payload_bytes - RTP_HEADER_BYTES)).sum();
        assert!((media * 8).abs_diff(400_000 * 3600) < 8 * 1438);
        // 1438 octets at 400 kbit/s are 28.76 ms exactly.
        assert_eq!(all[100_000].due, Time::from_ns(7 + 100_000 * 28_760_000));
    }

    #[test]
    fn a_video_frame_is_cut_into_datagrams_that_are_due_together() {
        let pace =
            DatagramPace::Frames { rate: Rate::bps(400_000), micro_per_second: 25_000_000, spread: 0.0 };
        let all = all(1450, RTP_HEADER_BYTES, pace, 2);
        let first: Vec<_> = all.iter().take(3).map(|d| (d.due.as_ns() - 7, d.payload_bytes)).collect();
        // 400 kbit/s at 25 frames/s are 2000 octets a frame: 1438 and 562.
        assert_eq!(first, [(0, 1450), (0, 574), (40_000_000, 1450)]);
        assert_eq!(all.len(), 100);
    }

    #[test]
    fn frame_sizes_have_their_mean_and_their_spread() {
        let pace =
            DatagramPace::Frames { rate: Rate::bps(400_000), micro_per_second: 25_000_000, spread: 0.5 };
        let mut sizes = std::collections::BTreeMap::<u64, f64>::new();
        for datagram in all(1450, RTP_HEADER_BYTES, pace, 4000) {
            let media = f64::from(datagram.payload_bytes - RTP_HEADER_BYTES);
            *sizes.entry(datagram.due.as_ns()).or_default() += media;
        }
        let n = sizes.len() as f64;
        let mean = sizes.values().sum::<f64>() / n;
        let deviation = libm::sqrt(sizes.values().map(|s| (s - mean) * (s - mean)).sum::<f64>() / n);
        assert!((n - 100_000.0).abs() < 1.5);
        assert!((mean / 2000.0 - 1.0).abs() < 0.01, "mean {mean}");
        assert!((deviation / 1000.0 - 1.0).abs() < 0.03, "deviation {deviation}");
    }

    #[test]
    fn a_flow_ends_with_its_time_or_with_the_load() {
        let flow = |duration| FlowConfig {
            kind: FlowKind::Tcp { bytes: None },
            start: Start::At(Duration::from_secs(2)),
            duration,
        };
        let end = Time::ZERO + Duration::from_secs(10);
        let span = |duration| flow(duration).span(end, &StreamKey::new(1), 0).1;
        assert_eq!(span(None), end);
        assert_eq!(span(Some(Duration::from_secs(3))), Time::ZERO + Duration::from_secs(5));
        assert_eq!(span(Some(Duration::from_secs(30))), end);
    }
}

//! One layer at work: the thread that drives its link between two devices, and what it hears on the way.
//!
//! Left out: making the devices (`isolation`), and what the sums mean.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use airperf_clock::RunClock;
use airperf_link::{Arrival, DropCause, Link, LossCause, QueueStats, StationId};
use airperf_scenario::{OverLink, Scenario};
use airperf_units::{Duration, StreamKey, Time};

use super::ShellError;
use super::check::{Check, Seen};
use super::stated::Stated;
use crate::isolation::Device;
use crate::lag::Histogram;
use crate::live::{Live, Toward};
use crate::medium::{Counters, Event, Medium, Received, Recorder, World};
use crate::pool::Handle;
use crate::realtime::{self, Granted};

/// A shell ends when its command does; a year is never.
const END: Time = Time::from_ns(365 * 86_400 * 1_000_000_000);
/// Packets whose coming is remembered; more than are under way in any link that is not made to hold them.
const REMEMBERED: usize = 1 << 16;

/// What a layer's thread leaves.
#[derive(Debug)]
pub(super) struct LayerOutcome {
    pub(super) closing: Time,
    pub(super) delivery_lag: Histogram,
    pub(super) counters: Counters,
    pub(super) granted: Granted,
    /// Deliveries the kernel refused.
    pub(super) refused: u64,
    pub(super) books: Books,
    /// The way down (from station 0) and up.
    pub(super) queues: [QueueStats; 2],
    pub(super) seen: [Seen; 2],
}

/// The thread; dropping it stops it.
pub(super) struct Layer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<LayerOutcome>>,
}

impl Layer {
    /// Starts the link of a scenario between two devices.
    pub(super) fn start(
        scenario: &Scenario,
        key: StreamKey,
        devices: [Device; 2],
        core: Option<usize>,
    ) -> Result<Self, ShellError> {
        let stop = Arc::new(AtomicBool::new(false));
        let clock = RunClock::start();
        let live = Live::new(clock, devices.into(), Toward::Across, stop.clone())
            .map_err(|errno| ShellError::Medium(errno.to_string()))?;
        let tap = Tap::new(live, Stated::of(&scenario.link));
        let packets = scenario.link.packets() as usize + 16;
        let start = Start { packets, mtu: scenario.link.mtu() as usize, tap, core };
        let thread =
            scenario.link.build(key, start).map_err(|error| ShellError::Medium(error.to_string()))?;
        let thread = thread.map_err(|error| ShellError::Medium(error.to_string()))?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Whether the thread has ended, which it does not by itself.
    pub(super) fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops it; what came of it.
    pub(super) fn finish(mut self) -> Result<LayerOutcome, ShellError> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        ended.and_then(Result::ok).ok_or_else(|| ShellError::Medium("it panicked; this is a bug".into()))
    }
}

impl Drop for Layer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts the thread over whatever link it is.
struct Start {
    packets: usize,
    mtu: usize,
    tap: Tap,
    core: Option<usize>,
}

impl OverLink<Handle> for Start {
    type Output = std::io::Result<JoinHandle<LayerOutcome>>;

    fn over<L: Link<Handle> + Send + 'static>(self, link: L) -> Self::Output {
        let Self { packets, mtu, mut tap, core } = self;
        let mut medium = Medium::new(link, Books::default(), packets, mtu, Duration::from_secs(3600));
        let work = move || {
            let granted = realtime::ask(core);
            let closing = medium.run(&mut tap, END);
            realtime::give_back(&granted);
            LayerOutcome {
                closing,
                queues: [0, 1].map(|station| medium.link.queue(StationId(station))),
                delivery_lag: medium.delivery_lag,
                counters: medium.counters,
                granted,
                refused: tap.live.refused(),
                books: medium.recorder,
                seen: tap.checks.map(|check| check.seen()),
            }
        };
        std::thread::Builder::new().name("shell-medium".into()).spawn(work)
    }
}

/// Which way packets to a station go: down (0) or up (1).
fn way_to(station: StationId) -> usize {
    usize::from(station.0 == 0)
}

/// What the link refused and gave up, by way or cause.
#[derive(Clone, Debug, Default)]
pub(super) struct Books {
    pub(super) dropped: [BTreeMap<&'static str, u64>; 2],
    pub(super) lost: BTreeMap<&'static str, u64>,
    pub(super) offered: [(u64, u64); 2],
}

const fn word(cause: DropCause) -> &'static str {
    match cause {
        DropCause::QueueFull => "queue_full",
        DropCause::TooLong => "too_long",
        DropCause::NoSuchStation => "no_such_station",
    }
}

impl Recorder for Books {
    fn record(&mut self, event: &Event<'_>) {
        match *event {
            Event::Offered { to, bytes, arrival, .. } => {
                let way = way_to(to);
                self.offered[way].0 += 1;
                self.offered[way].1 += bytes.len() as u64;
                if let Arrival::Dropped(cause) = arrival {
                    *self.dropped[way].entry(word(cause)).or_default() += 1;
                }
            }
            Event::Lost { cause, .. } => *self.lost.entry(LossCause::word(cause)).or_default() += 1,
            _ => {}
        }
    }
}

/// The devices, with an ear on them.
struct Tap {
    live: Live,
    /// When packets came and how long they were, by their numbers modulo the length.
    came: Vec<(u64, Time, u32)>,
    next: u64,
    checks: [Check; 2],
}

impl Tap {
    fn new(live: Live, stated: [Option<Stated>; 2]) -> Self {
        Self {
            live,
            came: vec![(u64::MAX, Time::ZERO, 0); REMEMBERED],
            next: 0,
            checks: stated.map(Check::new),
        }
    }
}

impl World for Tap {
    fn now(&mut self) -> Time {
        self.live.now()
    }

    fn wait(&mut self, deadline: Time) {
        self.live.wait(deadline);
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Option<Received> {
        let received = self.live.receive(buffer)?;
        if received.to.is_some() {
            let at = self.live.now();
            self.came[self.next as usize % REMEMBERED] = (self.next, at, received.length as u32);
            self.next += 1;
        }
        Some(received)
    }

    fn send(&mut self, to: StationId, number: u64, packet: &[u8]) {
        self.live.send(to, number, packet);
        let (whose, came, bytes) = self.came[number as usize % REMEMBERED];
        if whose == number {
            let out = self.live.now();
            self.checks[way_to(to)].passed(came, out, bytes);
        }
    }

    fn stopped(&self) -> bool {
        self.live.stopped()
    }
}

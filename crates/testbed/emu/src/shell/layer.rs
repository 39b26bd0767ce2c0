//! One layer at work: the thread that drives its link between two devices, and what it hears on the way.
//!
//! Left out: making the devices (`isolation`), and what the sums mean.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use airperf_clock::RunClock;
use airperf_link::{Arrival, DropCause, Link, LossCause, StationId};
use airperf_scenario::{OverLink, Scenario};
use airperf_units::{Duration, StreamKey, Time};

use super::ShellError;
use super::check::{Check, Seen};
use super::stated::Stated;
use crate::isolation::Device;
use crate::live::{Live, Toward};
use crate::medium::{Event, Medium, MediumOutcome, Received, Recorder, World};
use crate::pool::Handle;
use crate::realtime;
use crate::spool::Spool;

/// A shell ends when its command does; a year is never.
const END: Time = Time::from_ns(365 * 86_400 * 1_000_000_000);
/// How often queues are read of which nobody is told.
const SELDOM: Duration = Duration::from_secs(3600);
/// Packets whose coming is remembered; more than are under way in any link that is not made to hold them.
const REMEMBERED: usize = 1 << 16;

/// What a layer's thread leaves.
#[derive(Debug)]
pub(crate) struct LayerOutcome {
    pub(crate) medium: MediumOutcome,
    pub(super) books: Books,
    /// The way down (from station 0) to the command and up.
    pub(super) seen: [Seen; 2],
    /// Octets delivered to and from every other station.
    pub(super) others: Vec<[u64; 2]>,
}

/// The thread; dropping it stops it.
pub(super) struct Layer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<LayerOutcome>>,
    clock: RunClock,
}

impl Layer {
    /// Starts the link of a scenario between two devices; every event goes into the spool, too, if there is one.
    pub(super) fn start(
        scenario: &Scenario,
        key: StreamKey,
        devices: Vec<Device>,
        core: Option<usize>,
        spool: Option<Spool>,
    ) -> Result<Self, ShellError> {
        let stop = Arc::new(AtomicBool::new(false));
        let clock = RunClock::start();
        let stations = devices.len() as u16;
        let toward = if stations > 2 { Toward::Star(stations) } else { Toward::Across };
        let live = Live::new(clock, devices, toward, stop.clone())
            .map_err(|errno| ShellError::Medium(errno.to_string()))?;
        let tap = Tap::new(live, Stated::of(&scenario.link, stations > 2), stations);
        let packets = scenario.link.packets() as usize + 16;
        // Nobody reads queues that are not recorded.
        let sample_every = spool.as_ref().map_or(SELDOM, |_| scenario.record.queue_interval);
        let books = Books { spool, ..Books::default() };
        let start = Start { packets, mtu: scenario.link.mtu() as usize, tap, core, books, sample_every };
        let thread =
            scenario.link.build(key, start).map_err(|error| ShellError::Medium(error.to_string()))?;
        let thread = thread.map_err(|error| ShellError::Medium(error.to_string()))?;
        Ok(Self { stop, thread: Some(thread), clock })
    }

    /// When the link was at its beginning, nanoseconds of `CLOCK_MONOTONIC`.
    pub(super) fn zero_ns(&self) -> u64 {
        self.clock.monotonic_ns(Time::ZERO)
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
    books: Books,
    sample_every: Duration,
}

impl OverLink<Handle> for Start {
    type Output = std::io::Result<JoinHandle<LayerOutcome>>;

    fn over<L: Link<Handle> + Send + 'static>(self, link: L) -> Self::Output {
        let Self { packets, mtu, mut tap, core, books, sample_every } = self;
        let mut medium = Medium::new(link, books, packets, mtu, sample_every);
        let work = move || {
            let granted = realtime::ask(core);
            let closing = medium.run(&mut tap, END);
            realtime::give_back(&granted);
            let (mut medium, mut books) = medium.outcome(closing, granted, tap.live.refused());
            if let Some(mut spool) = books.spool.take() {
                spool.close();
                medium.spool_delayed = spool.delayed;
            }
            LayerOutcome { medium, books, seen: tap.checks.map(|check| check.seen()), others: tap.others }
        };
        std::thread::Builder::new().name("shell-medium".into()).spawn(work)
    }
}

/// The command's station.
const COMMAND: StationId = StationId(1);

/// Which way a packet goes that the command sends or is sent: down (0) or up (1).
fn way(from: StationId, to: StationId) -> Option<usize> {
    (from == COMMAND || to == COMMAND).then(|| usize::from(from == COMMAND))
}

/// What the link refused and gave up of the command's packets, by way and cause.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) dropped: [BTreeMap<&'static str, u64>; 2],
    pub(super) lost: [BTreeMap<&'static str, u64>; 2],
    pub(super) offered: [(u64, u64); 2],
    /// Which way packets went, by their numbers modulo the length.
    ways: Vec<Option<usize>>,
    next: u64,
    /// Where everything goes, where it is recorded.
    spool: Option<Spool>,
}

impl Default for Books {
    fn default() -> Self {
        Self {
            dropped: Default::default(),
            lost: Default::default(),
            offered: Default::default(),
            ways: vec![None; REMEMBERED],
            next: 0,
            spool: None,
        }
    }
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
        if let Some(spool) = &mut self.spool {
            spool.record(event);
        }
        match *event {
            Event::Offered { from, to, bytes, arrival, .. } => {
                let way = way(from, to);
                self.ways[self.next as usize % REMEMBERED] = way;
                self.next += 1;
                let Some(way) = way else { return };
                self.offered[way].0 += 1;
                self.offered[way].1 += bytes.len() as u64;
                if let Arrival::Dropped(cause) = arrival {
                    *self.dropped[way].entry(word(cause)).or_default() += 1;
                }
            }
            Event::Lost { cause, packet, .. } => {
                if let Some(way) = self.ways[packet as usize % REMEMBERED] {
                    *self.lost[way].entry(LossCause::word(cause)).or_default() += 1;
                }
            }
            _ => {}
        }
    }
}

/// The devices, with an ear on them.
struct Tap {
    live: Live,
    /// When packets came and how long they were, by their numbers modulo the length.
    came: Vec<Came>,
    next: u64,
    checks: [Check; 2],
    others: Vec<[u64; 2]>,
}

/// A packet's coming.
#[derive(Clone, Copy, Debug)]
struct Came {
    number: u64,
    at: Time,
    from: StationId,
    bytes: u32,
}

impl Tap {
    fn new(live: Live, stated: [Option<Stated>; 2], stations: u16) -> Self {
        let nothing = Came { number: u64::MAX, at: Time::ZERO, from: COMMAND, bytes: 0 };
        Self {
            live,
            came: vec![nothing; REMEMBERED],
            next: 0,
            checks: stated.map(Check::new),
            others: vec![[0; 2]; usize::from(stations).saturating_sub(2)],
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
            let (number, at, bytes) = (self.next, self.live.now(), received.length as u32);
            self.came[number as usize % REMEMBERED] = Came { number, at, from: received.from, bytes };
            self.next += 1;
        }
        Some(received)
    }

    fn send(&mut self, to: StationId, number: u64, packet: &[u8]) {
        self.live.send(to, number, packet);
        let came = self.came[number as usize % REMEMBERED];
        if came.number != number {
            return;
        }
        match way(came.from, to) {
            Some(way) => self.checks[way].passed(came.at, self.live.now(), came.bytes),
            None => {
                let other = came.from.0.max(to.0);
                if let Some(sums) = self.others.get_mut(usize::from(other) - 2) {
                    sums[usize::from(to.0 == 0)] += u64::from(came.bytes);
                }
            }
        }
    }

    fn stopped(&self) -> bool {
        self.live.stopped()
    }
}

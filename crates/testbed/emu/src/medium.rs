//! Drives a link against the world: the same code in real time, with a fake clock, and in a re-run.
//!
//! The medium waits for *timer or packet*. When the clock says `now`, everything scheduled up to `now`
//! is polled at its **scheduled** time first, then packets that came are offered, stamped `now`. So the
//! link sees nothing of how late the machine was, and the same arrivals give the same frames in any
//! driver; lateness shows in one place only, the histogram of deliveries.
//!
//! Reference: the contract of a link (`airperf_link`). Left out: where packets come from (`World`) and
//! what becomes of the events (`Recorder`).

use airperf_link::{
    Arrival, Destination, FrameEvent, Link, LossCause, Outlet, Packet, QueueStats, StationId,
};
use airperf_units::{Duration, Time};

use crate::lag::Histogram;
use crate::pool::{Handle, Pool};
use crate::realtime::Granted;

/// The world a link is driven against.
pub(crate) trait World {
    /// The present, since the start of the run.
    fn now(&mut self) -> Time;
    /// Waits until `deadline`, or until a packet may have come, or until told to stop.
    fn wait(&mut self, deadline: Time);
    /// The next packet that a station has sent, put into `buffer`.
    fn receive(&mut self, buffer: &mut [u8]) -> Option<Received>;
    /// Hands a packet to the station it is for; `number` is how many with a station to go to were received before it.
    fn send(&mut self, to: StationId, number: u64, packet: &[u8]);
    /// Whether the run should end now.
    fn stopped(&self) -> bool;
}

/// A packet a station has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    /// Who sent it.
    pub(crate) from: StationId,
    /// Whom it is for; `None` when it is not for a station of the lab.
    pub(crate) to: Option<StationId>,
    /// Its length in bytes; the first `length` bytes of the buffer.
    pub(crate) length: usize,
}

/// A world with nobody in it, for re-runs: deliveries go nowhere and nothing comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nobody;

impl World for Nobody {
    fn now(&mut self) -> Time {
        Time::ZERO
    }
    fn wait(&mut self, _: Time) {}
    fn receive(&mut self, _: &mut [u8]) -> Option<Received> {
        None
    }
    fn send(&mut self, _: StationId, _: u64, _: &[u8]) {}
    fn stopped(&self) -> bool {
        true
    }
}

/// Something that became known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Event<'a> {
    /// A packet was offered to a transmit queue.
    Offered { at: Time, from: StationId, to: StationId, bytes: &'a [u8], arrival: Arrival },
    /// A frame was on the air.
    Frame { frame: FrameEvent, packet: Option<u64> },
    /// A packet reached its station.
    Delivered { at: Time, packet: u64 },
    /// A packet was given up.
    Lost { at: Time, packet: u64, cause: LossCause },
    /// The sender is done with a packet.
    Departed { at: Time, packet: u64 },
    /// A transmit queue was read at the end of a sampling interval.
    Queue { at: Time, station: StationId, stats: QueueStats },
}

/// Where events go.
pub(crate) trait Recorder {
    /// Keeps one event. Must not block.
    fn record(&mut self, event: &Event<'_>);
}

/// What went by outside the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Packets offered, which is also the number of the next one.
    pub(crate) packets: u64,
    /// Packets for nobody in the lab, or not IPv4: dropped before the link.
    pub(crate) foreign: u64,
    /// Packets longer than the MTU: a sign of segmentation offload.
    pub(crate) oversized: u64,
}

/// A link and the driver's state around it.
#[derive(Debug)]
pub(crate) struct Medium<L, R> {
    pub(crate) link: L,
    pub(crate) recorder: R,
    pub(crate) delivery_lag: Histogram,
    pub(crate) timer_lag: Histogram,
    pub(crate) counters: Counters,
    pool: Pool,
    mtu: usize,
    sample_every: Duration,
    next_sample: Time,
}

/// What a medium came to.
#[derive(Debug)]
pub(crate) struct MediumOutcome {
    pub(crate) closing: Time,
    pub(crate) delivery_lag: Histogram,
    pub(crate) timer_lag: Histogram,
    pub(crate) counters: Counters,
    pub(crate) queues: Vec<QueueStats>,
    pub(crate) airtime: Vec<(&'static str, Duration)>,
    pub(crate) late_arrivals: u64,
    pub(crate) granted: Granted,
    /// Deliveries the kernel refused.
    pub(crate) refused: u64,
    /// Times the spool's writer was behind.
    pub(crate) spool_delayed: u64,
}

impl MediumOutcome {
    /// Why nothing measured over it should be trusted, if the 99th percentile of its deliveries' lag is above `limit`.
    pub(crate) fn too_late(&self, limit: Duration) -> Option<String> {
        let p99 = self.delivery_lag.percentile(0.99).filter(|&p99| p99 > limit)?;
        Some(format!(
            "1 % of the deliveries were later than {p99}, the scenario allows {limit}: \
             the machine was too busy (its timers were up to {} late); run it again with less beside it",
            self.timer_lag.max()
        ))
    }
}

impl<L: Link<Handle>, R: Recorder> Medium<L, R> {
    /// A medium at time zero. `packets` is how many the link's queues can hold together.
    pub(crate) fn new(link: L, recorder: R, packets: usize, mtu: usize, sample_every: Duration) -> Self {
        Self {
            link,
            recorder,
            delivery_lag: Histogram::default(),
            timer_lag: Histogram::default(),
            counters: Counters::default(),
            pool: Pool::new(packets, mtu),
            mtu,
            sample_every,
            next_sample: Time::ZERO + sample_every,
        }
    }

    /// Drives the link until `end`, or until told to stop; returns the closing time.
    pub(crate) fn run<W: World>(&mut self, world: &mut W, end: Time) -> Time {
        let mut buffer = vec![0u8; 65_536];
        loop {
            let now = world.now();
            if now >= end || world.stopped() {
                let closing = now.min(end).max(self.link.present());
                self.advance(closing, world);
                return closing;
            }
            self.advance(now, world);
            if let Some(received) = world.receive(&mut buffer) {
                // Reading took time, and so did the deliveries before it: the packet is stamped now.
                let now = world.now().min(end);
                self.advance(now, world);
                self.accept(now, received, &buffer[..received.length]);
                continue;
            }
            let scheduled = self.link.next_event().unwrap_or(Time::MAX).min(self.next_sample);
            // A wait for what is past already tells of the medium, not of the machine's timers.
            let in_time = world.now() < scheduled;
            world.wait(scheduled.min(end));
            let woken = world.now();
            if in_time && woken >= scheduled {
                self.timer_lag.record(woken.saturating_since(scheduled));
            }
        }
    }

    /// What it came to, and its recorder.
    pub(crate) fn outcome(self, closing: Time, granted: Granted, refused: u64) -> (MediumOutcome, R) {
        let link = &self.link;
        let outcome = MediumOutcome {
            closing,
            queues: (0..link.stations()).map(|station| link.queue(StationId(station))).collect(),
            airtime: link.airtime(),
            late_arrivals: link.late_arrivals(),
            delivery_lag: self.delivery_lag,
            timer_lag: self.timer_lag,
            counters: self.counters,
            granted,
            refused,
            spool_delayed: 0,
        };
        (outcome, self.recorder)
    }

    /// Brings the link and the samples up to `now`, every step at its scheduled time.
    pub(crate) fn advance<W: World>(&mut self, now: Time, world: &mut W) {
        while self.next_sample <= now {
            let at = self.next_sample;
            self.poll(at, world);
            for station in (0..self.link.stations()).map(StationId) {
                let stats = self.link.queue(station);
                self.recorder.record(&Event::Queue { at, station, stats });
            }
            self.next_sample += self.sample_every;
        }
        self.poll(now, world);
    }

    fn poll<W: World>(&mut self, now: Time, world: &mut W) {
        let mut outlet =
            Hands { recorder: &mut self.recorder, pool: &mut self.pool, lag: &mut self.delivery_lag, world };
        self.link.poll(now, &mut outlet);
    }

    fn accept(&mut self, now: Time, received: Received, packet: &[u8]) {
        let Some(to) = received.to else {
            self.counters.foreign += 1;
            return;
        };
        self.counters.oversized += u64::from(packet.len() > self.mtu);
        self.offer(now, received.from, to, packet);
    }

    /// Offers a packet to the link; the link must have been brought up to `now`.
    pub(crate) fn offer(&mut self, now: Time, from: StationId, to: StationId, packet: &[u8]) {
        let at = now.max(self.link.present());
        let payload = self.pool.take(self.counters.packets, packet);
        let bytes = packet.len() as u32;
        let arrival = self.link.arrive(at, from, Packet { to: Destination::Station(to), bytes, payload });
        if arrival != Arrival::Queued {
            self.pool.give_back(payload);
        }
        self.recorder.record(&Event::Offered { at, from, to, bytes: packet, arrival });
        self.counters.packets += 1;
    }

    /// The same for a packet of which only the length is known, as in a re-run.
    pub(crate) fn offer_again(&mut self, at: Time, from: StationId, to: StationId, bytes: u32) -> Arrival {
        let payload = Handle::without_bytes(self.counters.packets);
        self.counters.packets += 1;
        self.link.arrive(at, from, Packet { to: Destination::Station(to), bytes, payload })
    }
}

/// The outlet of a poll: delivers, records and gives places back.
struct Hands<'a, R, W> {
    recorder: &'a mut R,
    pool: &'a mut Pool,
    lag: &'a mut Histogram,
    world: &'a mut W,
}

impl<R: Recorder, W: World> Outlet<Handle> for Hands<'_, R, W> {
    fn delivered(&mut self, at: Time, to: StationId, packet: &Packet<Handle>) {
        self.lag.record(self.world.now().saturating_since(at));
        self.world.send(to, packet.payload.number, self.pool.bytes(packet.payload));
        self.recorder.record(&Event::Delivered { at, packet: packet.payload.number });
    }

    /// A copy is in no record: the packet's row tells of the first.
    fn duplicated(&mut self, at: Time, to: StationId, packet: &Packet<Handle>) {
        self.lag.record(self.world.now().saturating_since(at));
        self.world.send(to, packet.payload.number, self.pool.bytes(packet.payload));
    }

    fn lost(&mut self, at: Time, _: StationId, packet: &Packet<Handle>, cause: LossCause) {
        self.recorder.record(&Event::Lost { at, packet: packet.payload.number, cause });
    }

    fn departed(&mut self, at: Time, _: StationId, packet: &Packet<Handle>) {
        self.recorder.record(&Event::Departed { at, packet: packet.payload.number });
        self.pool.give_back(packet.payload);
    }

    fn frame(&mut self, frame: &FrameEvent, packet: Option<&Packet<Handle>>) {
        self.recorder.record(&Event::Frame { frame: *frame, packet: packet.map(|p| p.payload.number) });
    }
}

#[cfg(test)]
mod tests;

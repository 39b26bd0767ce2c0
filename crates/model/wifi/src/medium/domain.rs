//! One collision domain: every station hears every other, so at most one exchange is on the air.
//!
//! The domain is a small state machine that jumps from exchange to exchange: *free* until the contention
//! winner starts, *on air* until the frame (or the longest of several that collide) ends, then, if it was
//! received, *answered* until the acknowledgement ends. Frames that start within aCCATime of each other
//! do not hear each other and collide; there is no capture.
//!
//! Reference: IEEE 802.11-2020 §10.3.4 (DCF access), §10.3.2.11 (acknowledgement), §11.1.3.3 (IBSS
//! beacons). Left out: propagation delay (below 1 µs in one room), capture, ATIM windows. A frame given
//! up or retried leaves its sender's hands when the medium falls silent, not at the ACK timeout after it;
//! no packet can tell the difference, only the queue meter by at most 222 µs.

mod exchange;

use crate::mac::config::{Config, ConfigError};
use crate::mac::contention::{Contention, Winner};
use crate::mac::station::Station;
use crate::mac::timing::{BEACON_INTERVAL, FrameTimes, Timing};
use crate::medium::airtime::{Airtime, Category};
use airperf_link::{Arrival, Destination, DropCause, Link, Outlet, Packet, QueueStats, StationId};
use airperf_units::{Duration, Stream, StreamKey, Time};

/// What the medium is doing, until [`Domain::due`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing on the air.
    Free,
    /// Frames (or an RTS) on the air; what became of them is known when the last ends.
    OnAir,
    /// The data frame that an RTS/CTS protects.
    Protected,
    /// SIFS and acknowledgement after a frame that was received.
    Answered,
    /// A beacon, with the random delay before it.
    Beacon,
}

/// A frame on the air.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    station: StationId,
    to: Destination,
    start: Time,
    /// End of the first frame of the exchange: the RTS if there is one, else the data frame.
    end: Time,
    /// Airtime of the data frame.
    data: Duration,
    /// The part of it that is the IP packet.
    packet: Duration,
    attempt: u32,
    rts: bool,
    /// The receiver had this frame already: an earlier acknowledgement was lost.
    duplicate: bool,
}

/// One 802.11 collision domain; see the module.
#[derive(Clone, Debug)]
pub struct Domain<P> {
    config: Config,
    timing: Timing,
    stations: Vec<Station<P>>,
    frame_times: Vec<FrameTimes>,
    contention: Contention,
    phase: Phase,
    /// When something next becomes true; [`Time::MAX`] when nothing will.
    due: Time,
    on_air: Vec<Transmission>,
    /// Since when somebody has had something to send while the medium was free.
    contended_since: Time,
    airtime: Airtime,
    present: Time,
    late_arrivals: u64,
    next_beacon: Time,
    beacon_sequence: u16,
    channel: Stream,
    sniffer: Stream,
    beacon: Stream,
    /// Whether any station has a fade.
    fades: bool,
}

impl<P> Domain<P> {
    /// A free medium at time zero with empty queues.
    ///
    /// # Errors
    /// When the configuration is one that no 802.11 station could have.
    pub fn new(config: Config, key: StreamKey) -> Result<Self, ConfigError> {
        config.check()?;
        let phy = &config.phy;
        let frame_times = FrameTimes::of(&config);
        let stations = config
            .stations
            .iter()
            .enumerate()
            .map(|(i, station)| {
                let (backoff, gap) =
                    (key.indexed("wifi.backoff", i as u64), key.indexed("wifi.host_gap", i as u64));
                Station::new(station, &config, FrameTimes::position(&frame_times, station.rate), backoff, gap)
            })
            .collect::<Vec<_>>();
        let mut domain = Self {
            timing: Timing::of(&config),
            contention: Contention::new(stations.len(), phy.slot, phy.difs),
            on_air: Vec::with_capacity(stations.len()),
            stations,
            frame_times,
            phase: Phase::Free,
            due: Time::MAX,
            contended_since: Time::ZERO,
            airtime: Airtime::default(),
            present: Time::ZERO,
            late_arrivals: 0,
            next_beacon: if config.beacons { Time::ZERO + BEACON_INTERVAL } else { Time::MAX },
            beacon_sequence: 0,
            channel: key.stream("wifi.channel"),
            sniffer: key.stream("wifi.sniffer"),
            beacon: key.stream("wifi.beacon"),
            fades: config.stations.iter().any(|station| station.fade.is_some()),
            config,
        };
        domain.due = domain.first_start();
        Ok(domain)
    }

    /// The configuration this domain was made with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Puts `station`'s head frame (or its RTS) on the air at `start`; returns when it ends.
    #[inline]
    fn transmit(&mut self, station: StationId, start: Time) -> Time {
        let sender = &mut self.stations[station.index()];
        let attempt = sender.attempt();
        let packet = sender.head().expect("a station that sends has a head frame");
        let (to, bytes) = (packet.to, packet.bytes);
        let broadcast = to == Destination::Broadcast;
        let times = &self.frame_times[if broadcast { 0 } else { sender.times }];
        let (data, packet) = times.frame_and_packet(bytes);
        let mpdu = bytes + self.config.llc_bytes + self.config.mac_bytes;
        let rts = !broadcast && self.config.rts_threshold.is_some_and(|t| mpdu > t);
        let end = start + if rts { sender.control.rts } else { data };
        self.on_air.push(Transmission {
            station,
            to,
            start,
            end,
            data,
            packet,
            attempt,
            rts,
            duplicate: false,
        });
        end
    }

    /// The contention winners begin, everybody else freezes; returns when the last of their frames ends.
    #[inline]
    fn begin(&mut self, start: Time) -> Time {
        self.on_air.clear();
        let mut until = start;
        if let Some(winner) = self.contention.seize(start, self.config.phy.cca) {
            self.post_wait(winner);
            until = self.transmit(winner.station, winner.start);
        } else {
            self.post_wait(self.contention.winners()[0]);
            for i in 0..self.contention.winners().len() {
                let Winner { station, start, .. } = self.contention.winners()[i];
                until = until.max(self.transmit(station, start));
            }
        }
        self.redraw_deposed();
        self.phase = Phase::OnAir;
        until
    }

    fn redraw_deposed(&mut self) {
        for i in 0..self.contention.deposed().len() {
            let station = self.contention.deposed()[i];
            let slots = self.stations[station.index()].draw_backoff();
            self.contention.back_off(station, slots, true);
        }
    }

    /// Splits the silence before a transmission from its sender's point of view.
    #[inline]
    fn post_wait(&mut self, winner: Winner) {
        let start = winner.start;
        self.airtime.post(Category::Idle, self.contended_since.min(start));
        if winner.host_gap > Duration::ZERO {
            let gap_start = Time::from_ns(winner.resumed.as_ns().saturating_sub(winner.host_gap.as_ns()));
            self.airtime.post(Category::Ifs, gap_start.min(start));
            self.airtime.post(Category::HostGap, winner.resumed.min(start));
        } else {
            self.airtime.post(Category::Ifs, winner.resumed.min(start));
        }
        self.airtime.post(Category::Backoff, start);
    }

    /// The beacon is due: contention freezes, one station's random delay runs out first and its beacon
    /// cancels the others' (IEEE 802.11-2020 §11.1.3.3). Returns when the beacon ends.
    fn begin_beacon(&mut self, now: Time) -> Time {
        self.contention.freeze(now);
        let quiet = now.max(self.airtime.until() + self.timing.difs);
        let window = 2 * u32::from(self.config.phy.cw_min);
        let delay = (0..self.stations.len()).map(|_| self.beacon.up_to(window)).min().unwrap_or(0);
        let start = quiet + self.config.phy.slot * u64::from(delay);
        self.phase = Phase::Beacon;
        self.airtime.post(Category::Idle, self.contended_since.min(now));
        self.airtime.post(Category::Backoff, now);
        self.redraw_deposed();
        self.next_beacon += BEACON_INTERVAL;
        start + self.timing.beacon
    }

    /// The medium has fallen silent at `end`; common slots count from `resume` on.
    #[inline]
    fn fall_silent(&mut self, end: Time, resume: Time) {
        self.phase = Phase::Free;
        self.contended_since = if self.contention.any_contender() { end } else { Time::MAX };
        self.contention.release(resume);
    }

    /// When the medium, free now, is next seized: by a contender or by a beacon.
    #[inline]
    fn first_start(&self) -> Time {
        let first = self.contention.first();
        if self.next_beacon == Time::MAX {
            return first;
        }
        first.min(self.next_beacon.max(self.airtime.until()))
    }

    /// What is due at `at` happens; returns when something will next.
    #[inline]
    fn advance<O: Outlet<P>>(&mut self, at: Time, out: &mut O) -> Time {
        match self.phase {
            Phase::Free if self.next_beacon <= at => self.begin_beacon(at),
            Phase::Free => self.begin(at),
            Phase::OnAir => self.frames_end(at, out),
            Phase::Protected => self.data_ends(at, out),
            Phase::Answered => self.exchange_ends(at, out),
            Phase::Beacon => self.beacon_ends(at, out),
        }
    }

    /// `station` had nothing to send and now has.
    #[inline]
    fn wake(&mut self, station: StationId, now: Time) {
        match self.phase {
            Phase::Free => {
                if !self.contention.any_contender() {
                    self.contended_since = now;
                }
                self.contention.contend(station, now);
                self.due = self.first_start();
            }
            _ if !self.contention.had_served(station) => self.contention.contend_frozen(station),
            Phase::OnAir if self.cannot_hear(now) => {
                self.contention.join(station);
                self.due = self.due.max(self.transmit(station, now));
                // A winner whose start is still to come stands behind it.
                self.on_air.sort_by_key(|one| one.start);
            }
            _ => {
                let slots = self.stations[station.index()].draw_backoff();
                self.contention.back_off(station, slots, true);
            }
        }
    }

    /// Whether a frame on the air began too recently to be noticed.
    fn cannot_hear(&self, now: Time) -> bool {
        let first = self.on_air.first().map_or(Time::ZERO, |t| t.start);
        now < first + self.config.phy.cca
    }
}

impl<P> Link<P> for Domain<P> {
    fn arrive(&mut self, now: Time, from: StationId, packet: Packet<P>) -> Arrival {
        self.late_arrivals += u64::from(now < self.present);
        let now = now.max(self.present);
        debug_assert!(self.due >= now, "poll up to {now} before arrive");
        self.present = now;
        if let Some(cause) = packet.impossible(from, self.stations.len(), self.config.mtu) {
            return Arrival::Dropped(cause);
        }
        let station = &mut self.stations[from.index()];
        let asleep = station.head().is_none();
        if !station.push(now, packet) {
            return Arrival::Dropped(DropCause::QueueFull);
        }
        if asleep {
            self.wake(from, now);
        }
        Arrival::Queued
    }

    #[inline]
    fn poll<O: Outlet<P>>(&mut self, now: Time, out: &mut O) {
        while self.due <= now {
            self.due = self.advance(self.due, out);
        }
        self.present = self.present.max(now);
    }

    #[inline]
    fn run<O: Outlet<P>>(&mut self, end: Time, out: &mut O) -> Time {
        while self.due <= end {
            let at = self.due;
            self.due = self.advance(at, out);
            if out.is_waiting() && self.due > at {
                self.present = self.present.max(at);
                return at;
            }
        }
        self.present = self.present.max(end);
        end
    }

    #[inline]
    fn next_event(&self) -> Option<Time> {
        (self.due < Time::MAX).then_some(self.due)
    }

    fn present(&self) -> Time {
        self.present
    }

    fn late_arrivals(&self) -> u64 {
        self.late_arrivals
    }

    fn queue(&self, station: StationId) -> QueueStats {
        self.stations[station.index()].meter.read(self.present)
    }

    fn stations(&self) -> u16 {
        self.stations.len() as u16
    }

    fn airtime(&self) -> Vec<(&'static str, Duration)> {
        let idle = self.phase == Phase::Free && !self.contention.any_contender();
        self.airtime.read(self.present, if idle { Category::Idle } else { Category::Unfinished })
    }
}

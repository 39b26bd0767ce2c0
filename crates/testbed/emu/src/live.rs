//! The real world: the stations' devices and the machine's clock.
//!
//! One epoll waits for all devices and one absolute timer. Timers of a virtual machine fire some tens of
//! microseconds late, so the timer is set a little early and the rest is spun, looking at the devices
//! all the while. See timerfd_create(2), epoll(7), `Documentation/networking/tuntap.rst`.
//!
//! Left out: offloads. No TUNSETOFFLOAD is made, so the kernel checksums and segments by itself.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use airperf_clock::RunClock;
use airperf_link::StationId;
use airperf_units::{Duration, Time};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::isolation::{Device, station_of};
use crate::medium::{Received, World};

/// How long before a deadline waiting turns into spinning; timers here are 29 µs late at the median and
/// 55 µs at the 99th percentile.
const SPIN: Duration = Duration::from_us(60);
/// What epoll says for the timer.
const TIMER: u64 = u64::MAX;

/// Whom packets are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Toward {
    /// The station with that address, of the first so many of a lab.
    Address(u16),
    /// The other end, of a layer with two.
    Across,
    /// Station 0 from all others; from there, the station with that address of so many.
    Star(u16),
}

/// The devices of a lab and the clock of a run.
#[derive(Debug)]
pub(crate) struct Live {
    clock: RunClock,
    toward: Toward,
    epoll: Epoll,
    timer: TimerFd,
    armed: Option<Time>,
    devices: Vec<Device>,
    /// Stations whose device may hold packets, oldest first.
    ready: Vec<u16>,
    stop: Arc<AtomicBool>,
    refused: u64,
}

impl Live {
    /// Takes over the devices of a lab, in the order of its stations.
    pub(crate) fn new(
        clock: RunClock,
        devices: Vec<Device>,
        toward: Toward,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, Errno> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer =
            TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK)?;
        // Edge-triggered: an expired timer is heard of once and never needs to be read.
        epoll.add(timer.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, TIMER))?;
        for (station, device) in devices.iter().enumerate() {
            epoll.add(device, EpollEvent::new(EpollFlags::EPOLLIN, station as u64))?;
        }
        let ready = Vec::with_capacity(devices.len());
        Ok(Self { clock, toward, epoll, timer, armed: None, devices, ready, stop, refused: 0 })
    }

    /// Deliveries the kernel refused: they should not exist, and make a run invalid.
    pub(crate) const fn refused(&self) -> u64 {
        self.refused
    }

    /// Waits in the kernel and notes which devices have packets; true when one has.
    fn look(&mut self, timeout: EpollTimeout) -> bool {
        let mut events = [EpollEvent::empty(); 16];
        let count = self.epoll.wait(&mut events, timeout).unwrap_or(0);
        for event in &events[..count] {
            if event.data() == TIMER {
                self.armed = None;
            } else if !self.ready.contains(&(event.data() as u16)) {
                self.ready.push(event.data() as u16);
            }
        }
        !self.ready.is_empty()
    }

    fn arm(&mut self, at: Time) {
        if self.armed == Some(at) {
            return;
        }
        let ns = self.clock.monotonic_ns(at);
        let when = TimeSpec::new((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64);
        let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME;
        if self.timer.set(Expiration::OneShot(when), flags).is_ok() {
            self.armed = Some(at);
        }
    }
}

impl World for Live {
    fn now(&mut self) -> Time {
        self.clock.now()
    }

    fn wait(&mut self, deadline: Time) {
        let early = Time::from_ns(deadline.as_ns().saturating_sub(SPIN.as_ns()));
        while self.clock.now() < early && !self.stopped() {
            self.arm(early);
            if self.look(EpollTimeout::from(200u8)) {
                return;
            }
        }
        while self.clock.now() < deadline && !self.stopped() {
            if self.look(EpollTimeout::ZERO) {
                return;
            }
            std::hint::spin_loop();
        }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Option<Received> {
        if self.ready.is_empty() {
            self.look(EpollTimeout::ZERO);
        }
        while let Some(&station) = self.ready.first() {
            match self.devices[usize::from(station)].read(buffer) {
                Ok(length) if length > 0 => {
                    self.ready.rotate_left(1); // the next station's turn
                    let to = self.toward.station(station, &buffer[..length]);
                    return Some(Received { from: StationId(station), to, length });
                }
                Err(Errno::EINTR) => {}
                _ => {
                    self.ready.remove(0);
                }
            }
        }
        None
    }

    fn send(&mut self, to: StationId, _: u64, packet: &[u8]) {
        self.refused += u64::from(!self.devices[to.index()].write(packet));
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Toward {
    /// The station that an IPv4 packet (RFC 791 §3.1) of `from` is for, if there is one.
    fn station(self, from: u16, packet: &[u8]) -> Option<StationId> {
        let [a, b, c, d] = *packet.get(16..20)?.first_chunk::<4>()?;
        if packet[0] >> 4 != 4 {
            return None;
        }
        match self {
            Self::Address(stations) => station_of([a, b, c, d], stations).map(StationId),
            Self::Across => Some(StationId(1 - from.min(1))),
            Self::Star(_) if from > 0 => Some(StationId(0)),
            Self::Star(stations) => station_of([a, b, c, d], stations).map(StationId),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ipv4_for_a_station_of_the_lab_is_carried() {
        let mut packet = [0u8; 40];
        packet[0] = 0x45;
        packet[16..20].copy_from_slice(&[10, 77, 0, 2]);
        assert_eq!(Toward::Address(2).station(0, &packet), Some(StationId(1)));
        assert_eq!(Toward::Address(1).station(0, &packet), None);
        assert_eq!(Toward::Address(2).station(0, &packet[..19]), None);
        assert_eq!(
            [0, 1].map(|from| Toward::Across.station(from, &packet)),
            [1, 0].map(|to| Some(StationId(to)))
        );
        packet[16] = 11; // nobody's of the lab, but beyond station 0 there may be others
        assert_eq!([0, 1].map(|from| Toward::Star(2).station(from, &packet)), [None, Some(StationId(0))]);
        packet[0] = 0x60;
        assert_eq!(Toward::Address(2).station(0, &packet), None);
        assert_eq!(Toward::Across.station(0, &packet), None);
    }

    #[test]
    fn a_wait_ends_at_its_deadline_and_not_before() {
        let clock = RunClock::start();
        let mut live =
            Live::new(clock, Vec::new(), Toward::Across, Arc::default()).expect("epoll and timerfd");
        for ms in [1, 3, 5] {
            let deadline = clock.now() + Duration::from_ms(ms);
            live.wait(deadline);
            assert!(clock.now() >= deadline);
        }
    }

    #[test]
    fn a_wait_ends_soon_when_told_to_stop() {
        let clock = RunClock::start();
        let stop = Arc::new(AtomicBool::new(true));
        Live::new(clock, Vec::new(), Toward::Across, stop)
            .expect("epoll and timerfd")
            .wait(clock.now() + Duration::from_secs(9));
        assert!(clock.now() < Time::ZERO + Duration::from_secs(9));
    }
}

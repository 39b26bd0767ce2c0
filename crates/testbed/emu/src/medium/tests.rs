//! House rule 2: the driver with a clock that is often late gives the frames of virtual time.

use airperf_link::access::{Access, AccessConfig, AccessStation, Direction, Loss};
use airperf_units::{Distribution, Rate, Stream, StreamKey};
use airperf_wifi::{Domain, StationConfig};
use airperf_wwan::{Adaptation, BlockError, Config, Gprs};

use super::*;

/// Keeps everything but packets' bytes.
#[derive(Debug, Default)]
struct Kept {
    events: Vec<String>,
    arrivals: Vec<(Time, StationId, StationId, u32)>,
}

impl Recorder for Kept {
    fn record(&mut self, event: &Event<'_>) {
        if let Event::Offered { at, from, to, bytes, arrival } = *event {
            self.arrivals.push((at, from, to, bytes.len() as u32));
            self.events.push(format!("{at} {from:?} {to:?} {} {arrival:?}", bytes.len()));
        } else {
            self.events.push(format!("{event:?}"));
        }
    }
}

/// A world whose clock moves by itself, wakes late, and whose stations answer some packets they get.
struct Late {
    now: Time,
    lateness: Duration,
    random: Stream,
    /// Packets the stations will send: when, from, to, length; latest first.
    script: Vec<(Time, u16, u16, usize)>,
    delivered: u64,
}

impl World for Late {
    fn now(&mut self) -> Time {
        self.now += Duration::from_ns(u64::from(self.random.up_to(2_000)));
        self.now
    }
    fn wait(&mut self, deadline: Time) {
        let next = self.script.last().map_or(deadline, |p| p.0.min(deadline));
        let late = self.random.up_to(self.lateness.as_ns() as u32);
        self.now = self.now.max(next) + Duration::from_ns(u64::from(late));
    }
    fn receive(&mut self, buffer: &mut [u8]) -> Option<Received> {
        let &(at, from, to, length) = self.script.last()?;
        if at > self.now {
            return None;
        }
        self.script.pop();
        buffer[..length].fill(from as u8);
        Some(Received { from: StationId(from), to: Some(StationId(to)), length })
    }
    fn send(&mut self, to: StationId, _: u64, packet: &[u8]) {
        self.delivered += 1;
        if self.random.up_to(3) == 0 {
            let at = self.now + Duration::from_us(u64::from(self.random.up_to(300)));
            let place = self.script.partition_point(|p| p.0 > at);
            self.script.insert(place, (at, to.0, u16::from(packet[0]), 52));
        }
    }
    fn stopped(&self) -> bool {
        false
    }
}

fn link() -> Domain<Handle> {
    let mut stations = vec![StationConfig::at(airperf_units::Rate::mbps(11)); 3];
    stations[0].queue_packets = 10;
    stations[1].frame_error = 0.2;
    stations[2].host_gap = Duration::from_us(150);
    stations[2].host_gap_spread = 0.5;
    Domain::new(
        airperf_wifi::Config {
            retry_limit: Some(3),
            sniffer_error: 0.1,
            ..airperf_wifi::Config::dot11b(stations)
        },
        StreamKey::new(5),
    )
    .expect("a possible configuration")
}

/// Pipes with loss, delay variation and copies.
fn access() -> Access<Handle> {
    let direction = Direction {
        queue_bytes: Some(20_000),
        loss: Loss { good: 0.01, bad: 0.6, to_bad: 0.02, to_good: 0.2 },
        delay: Distribution::Exponential { mean: 4_000_000 },
        reorder: true,
        duplicate: 0.05,
        ..Direction::clean(Rate::mbps(3), 0)
    };
    let stations = vec![AccessStation { queue_packets: 10 }; 3];
    let rrc = None;
    let config =
        AccessConfig { stations, mtu: 1_500, shared: false, rrc, up: direction.clone(), down: direction };
    Access::new(config, StreamKey::new(5))
}

/// Mobiles with many slots, loss and adaptation.
fn gprs() -> Gprs<Handle> {
    let mut config = Config { block_error: BlockError::Fixed(0.1), ..Config::gprs(3) };
    for direction in [&mut config.down, &mut config.up] {
        (direction.slots, direction.scheme, direction.access) = (8, 3, Duration::from_ms(30));
        direction.adaptation = Some(Adaptation::default());
    }
    Gprs::new(config, StreamKey::new(5))
}

fn script(random: &mut Stream) -> Vec<(Time, u16, u16, usize)> {
    let mut at = Time::ZERO;
    let mut script: Vec<_> = (0..3_000)
        .map(|_| {
            at += random.exponential(Duration::from_us(600));
            let from = random.up_to(2) as u16;
            let to = (from + 1 + random.up_to(1) as u16) % 3;
            (at, from, to, 40 + random.up_to(1_500) as usize) // some are longer than the MTU
        })
        .collect();
    script.reverse();
    script
}

fn medium(lateness: Duration) -> (Medium<Domain<Handle>, Kept>, Time, u64) {
    medium_over(link(), lateness)
}

fn medium_over<L: Link<Handle>>(link: L, lateness: Duration) -> (Medium<L, Kept>, Time, u64) {
    let mut random = StreamKey::new(3).stream("test");
    let script = script(&mut random);
    let mut world = Late { now: Time::ZERO, lateness, random, script, delivered: 0 };
    let mut medium = Medium::new(link, Kept::default(), 33, 1_500, Duration::from_ms(7));
    let closing = medium.run(&mut world, Time::ZERO + Duration::from_secs(2));
    (medium, closing, world.delivered)
}

#[test]
fn a_late_clock_gives_the_frames_of_virtual_time() {
    gives_the_frames_of_virtual_time(link, 1_000);
}

#[test]
fn a_late_clock_gives_the_frames_of_virtual_time_over_gprs() {
    gives_the_frames_of_virtual_time(gprs, 20);
}

#[test]
fn a_late_clock_gives_the_frames_of_virtual_time_on_an_access_link() {
    gives_the_frames_of_virtual_time(access, 500);
}

fn gives_the_frames_of_virtual_time<L: Link<Handle>>(link: fn() -> L, least: u64) {
    for lateness_us in [0, 50, 5_000] {
        let (live, closing, delivered) = medium_over(link(), Duration::from_us(lateness_us));
        assert!(live.recorder.arrivals.len() > 2_000 && delivered > least, "{delivered} delivered");

        let mut again = Medium::new(link(), Kept::default(), 33, 1_500, Duration::from_ms(7));
        for &(at, from, to, bytes) in &live.recorder.arrivals {
            again.advance(at, &mut Nobody);
            again.offer(at, from, to, &vec![0; bytes as usize]);
        }
        again.advance(closing, &mut Nobody);
        assert_eq!(live.recorder.events.len(), again.recorder.events.len());
        for (live, again) in live.recorder.events.iter().zip(&again.recorder.events) {
            assert_eq!(live, again, "with a clock up to {lateness_us} µs late");
        }
    }
}

#[test]
fn every_place_is_given_back() {
    let mut random = StreamKey::new(4).stream("test");
    let script = script(&mut random);
    let mut world = Late { now: Time::ZERO, lateness: Duration::ZERO, random, script, delivered: 0 };
    let mut medium = Medium::new(link(), Kept::default(), 33, 1_500, Duration::from_ms(100));
    medium.run(&mut world, Time::ZERO + Duration::from_secs(30)); // long enough to drain
    assert_eq!(medium.pool.in_use(), 0);
    let [delivered, lost] = ["Delivered", "Lost"]
        .map(|what| medium.recorder.events.iter().filter(|e| e.starts_with(what)).count());
    assert!(delivered as u64 == world.delivered && lost > 0);
}

#[test]
fn lateness_is_seen_in_the_histogram_and_nowhere_else() {
    let (punctual, ..) = medium(Duration::ZERO);
    let (late, ..) = medium(Duration::from_ms(5));
    let p99 = |h: &Histogram| h.percentile(0.99).unwrap();
    assert!(p99(&punctual.delivery_lag) < Duration::from_us(100), "{}", p99(&punctual.delivery_lag));
    assert!(p99(&late.delivery_lag) > Duration::from_ms(1), "{}", p99(&late.delivery_lag));
    assert_eq!(late.link.late_arrivals(), 0);
}

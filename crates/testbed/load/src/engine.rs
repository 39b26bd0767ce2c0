//! The generator's loop: opens what is due, hears what happened, and sleeps until the next instant.
//!
//! One thread, one [`Poll`], sockets that never block. Deadlines are absolute readings of `CLOCK_MONOTONIC`
//! kept by a timerfd; a [`Lead`] before each the thread stops sleeping and polls, and for the last
//! [`PURE_SPIN_NS`] it only watches the clock. What is due is looked at between any two events, so a burst
//! of replies delays an arrival by one event at most. See epoll(7), timerfd_create(2); Schroeder, Wierman
//! & Harchol-Balter, "Open versus closed: a cautionary tale", NSDI 2006, on why arrivals must not wait.
//!
//! Left out: what becomes of a connection; see `opening` and those after it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Sender;

use airperf_clock::RunClock;
use hdrhistogram::Histogram;

use crate::arrivals::{Arrival, Arrivals};
use crate::connection::Slab;
use crate::lead::Lead;
use crate::looks::Looks;
use crate::plan::Plan;
use crate::poll::{Poll, TIMER};
use crate::ports::Ports;
use crate::progress::Progress;
use crate::request::Requests;
use crate::rows::Rows;
use crate::stats::{Cause, Outcome, SAMPLE_NS, Stats};
use crate::system::{self, Address, Errno};
use crate::visits::Visits;

/// Before an instant that is this near nothing else is begun: handling one event takes as long.
const PURE_SPIN_NS: u64 = 10_000;
/// A request that a socket takes at once, whatever its buffer: octets.
const AT_ONCE_BYTES: u64 = 4_096;
/// Arrivals opened in a row before events are looked at again.
const MOST_AT_ONCE: u32 = 32;
/// Events heard at once.
const EVENTS: usize = 256;
/// Octets received at once.
const BUFFER: usize = 256 * 1024;
/// How often the caller hears of the load.
const REPORT_NS: u64 = 1_000_000_000;
/// How long a closed loop waits after a connection that could not even be tried, and a user after one that failed.
pub(crate) const RETRY_NS: u64 = 10_000_000;
/// Longest wait: how late a request to stop may be noticed.
const LOOK_MS: u64 = 100;

/// A client of the plan.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) source: Option<Address>,
    pub(crate) netns: Option<File>,
    pub(crate) concurrent: u32,
    /// Closed loop: connections it may still open.
    pub(crate) left: u64,
    /// How well it went of late to send right after connect(2); see [`Engine::may_be_eager`].
    pub(crate) eager: u8,
    pub(crate) ports: Ports,
}

impl Client {
    /// A client of a plan, by its place; the error names what of the system it cannot have.
    pub(crate) fn of(plan: &Plan, number: usize) -> std::io::Result<Self> {
        let client = &plan.clients[number];
        let netns = client.netns.as_ref().map(|name| {
            if name.contains('/') { File::open(name) } else { File::open(format!("/run/netns/{name}")) }
        });
        Ok(Self {
            source: client.source.map(Address::any_port),
            netns: netns.transpose()?,
            concurrent: 0,
            left: plan.connections.unwrap_or(u64::MAX),
            eager: 1,
            ports: Ports::of(plan, number),
        })
    }
}

/// A load under way.
pub(crate) struct Engine<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) clock: RunClock,
    pub(crate) poll: Poll,
    pub(crate) slab: Slab,
    pub(crate) requests: Requests,
    pub(crate) arrivals: Arrivals,
    pub(crate) clients: Vec<Client>,
    /// In whose namespace the thread is.
    pub(crate) entered: Option<u16>,
    pub(crate) target: Address,
    /// Users who think, by the end of their thinking.
    pub(crate) thinking: BinaryHeap<Reverse<(u64, u64)>>,
    pub(crate) visits: Visits,
    /// When users come back, by place.
    pub(crate) waking: BinaryHeap<Reverse<(u64, u32)>>,
    /// The time is up: nothing goes on.
    pub(crate) abandoned: bool,
    pub(crate) stats: Stats,
    pub(crate) warmup: Stats,
    pub(crate) recent: Histogram<u32>,
    pub(crate) rows: Option<Rows>,
    pub(crate) buffer: Box<[u8]>,
    /// Connections and sessions so far.
    opened: u64,
    /// Connections in all, those of sessions that were opened again too: their numbers in the tables.
    pub(crate) numbers: u64,
    /// When the load ends; not known before the last arrival where the plan gives a number.
    pub(crate) load_end_ns: u64,
    /// No page of a drawn session begins at this or later.
    pub(crate) pages_end_ns: u64,
    /// Nothing new is asked for.
    pub(crate) closing: bool,
    draining_since_ns: Option<u64>,
    retry_ns: u64,
    /// Whether nothing but replies can come on a lasting connection: a closed loop of small requests.
    pub(crate) only_answers: bool,
    lead: Lead,
    /// What the timer was set for.
    wake_ns: u64,
    looks: Looks,
    /// A socket for the next arrival, made while there was time.
    pub(crate) ready: Option<(u16, RawFd)>,
    last_due_ns: u64,
    next_report_ns: u64,
    next_sample_ns: u64,
    reported: (u64, u64),
    stop: &'p AtomicBool,
    tell: Sender<Progress>,
}

/// What is left of a load.
pub(crate) struct Finished {
    pub(crate) stats: Stats,
    pub(crate) warmup: Stats,
    pub(crate) rows: Option<Rows>,
    pub(crate) elapsed_ns: u64,
    pub(crate) load_end_ns: u64,
    pub(crate) interrupted: bool,
    pub(crate) cpu_s: (f64, f64),
}

impl<'p> Engine<'p> {
    pub(crate) fn new(
        plan: &'p Plan,
        clients: Vec<Client>,
        clock: RunClock,
        rows: Option<Rows>,
        stop: &'p AtomicBool,
        tell: Sender<Progress>,
    ) -> Result<Self, Errno> {
        let longest = plan.clients.iter().map(|client| client.offset_ns).max().unwrap_or_default();
        let load_end = plan.duration_ns.map_or(u64::MAX, |duration| duration.saturating_add(longest));
        let load_end = load_end.min(plan.until_ns.unwrap_or(u64::MAX));
        let requests = Requests::of(plan);
        let small = requests.most_bytes() <= AT_ONCE_BYTES;
        Ok(Self {
            plan,
            clock,
            poll: Poll::new()?,
            slab: Slab::new(),
            requests,
            arrivals: Arrivals::of(plan),
            clients,
            entered: None,
            target: Address::new(plan.target.socket()),
            thinking: BinaryHeap::new(),
            visits: Visits::default(),
            waking: BinaryHeap::new(),
            abandoned: false,
            stats: Stats::new(),
            warmup: Stats::new(),
            recent: Histogram::new_with_bounds(1, 3_600_000_000_000, 2).expect("these bounds are valid"),
            rows,
            buffer: vec![0; BUFFER].into(),
            opened: 0,
            numbers: 0,
            load_end_ns: load_end,
            pages_end_ns: load_end,
            closing: false,
            draining_since_ns: None,
            retry_ns: 0,
            only_answers: small && !plan.is_open_loop() && !plan.has_sessions(),
            lead: Lead::of(plan),
            wake_ns: 0,
            looks: Looks::default(),
            ready: None,
            last_due_ns: 0,
            next_report_ns: REPORT_NS,
            next_sample_ns: SAMPLE_NS,
            reported: (0, 0),
            stop,
            tell,
        })
    }

    /// The present, nanoseconds since the start.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.clock.now().as_ns()
    }

    /// What counts for a connection: nothing of the warm-up belongs to the result.
    #[inline]
    pub(crate) fn stats(&mut self, warming: bool) -> &mut Stats {
        if warming { &mut self.warmup } else { &mut self.stats }
    }

    /// Generates the load to its end.
    pub(crate) fn run(mut self) -> Finished {
        let before = system::thread_cpu_s();
        let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS];
        let mut interrupted = self.wait_for_start();
        while !interrupted && !self.is_over() {
            interrupted = self.stop.load(Relaxed);
            if interrupted {
                break;
            }
            self.open_due(MOST_AT_ONCE);
            let now = self.now();
            self.wake_thinkers(now);
            self.wake_visits(now);
            self.give_up_waiting(now);
            self.report_due(now);
            let wait_ms = self.prepare_wait();
            let heard = self.poll.wait(&mut events, wait_ms);
            if heard > 0 {
                let now = self.now();
                self.looks.heard(now, heard, self.slab.in_use());
            }
            for event in &events[..heard] {
                let (flags, token) = (event.events, event.u64);
                if token == TIMER {
                    if wait_ms > 0 {
                        self.lead.learn(self.looks.heard_ns().saturating_sub(self.wake_ns));
                    }
                    continue;
                }
                if let Some(place) = self.slab.find(token) {
                    self.on_event(place, flags);
                }
                self.open_due(1);
            }
        }
        self.abandon();
        if let Some((_, fd)) = self.ready {
            system::close(fd, false);
        }
        let elapsed_ns = self.now();
        self.stats.end_sample(elapsed_ns, true);
        let after = system::thread_cpu_s();
        Finished {
            elapsed_ns,
            load_end_ns: if interrupted || self.load_end_ns == u64::MAX {
                self.load_end_ns.min(elapsed_ns)
            } else {
                self.load_end_ns
            },
            interrupted,
            cpu_s: (after.0 - before.0, after.1 - before.1),
            stats: self.stats,
            warmup: self.warmup,
            rows: self.rows,
        }
    }

    /// Sleeps until the start; whether the load was stopped before.
    fn wait_for_start(&mut self) -> bool {
        let start_ns = self.clock.monotonic_ns(airperf_units::Time::ZERO);
        let mut events = [libc::epoll_event { events: 0, u64: 0 }];
        let lead = self.lead.ns().max(PURE_SPIN_NS);
        self.poll.arm(start_ns.saturating_sub(lead));
        loop {
            let left = start_ns.saturating_sub(RunClock::monotonic_now_ns());
            if left == 0 || self.stop.load(Relaxed) {
                return left > 0;
            }
            if left > lead {
                self.poll.wait(&mut events, LOOK_MS as i32);
            }
        }
    }

    fn is_over(&mut self) -> bool {
        let now = self.now();
        if self.plan.is_open_loop() {
            if self.arrivals.peek().is_some() {
                return false;
            }
            let ends = self.plan.duration_ns.is_some() || self.plan.until_ns.is_some();
            if ends && self.visits.alive() > 0 && now < self.load_end_ns {
                return false; // users may still ask for pages
            }
            if !ends {
                self.load_end_ns = self.last_due_ns.saturating_add(self.mean_gap_ns());
            }
        } else {
            self.closing |= now >= self.load_end_ns;
            if !self.closing && self.clients.iter().any(|client| client.left > 0) {
                return false;
            }
        }
        let since = *self.draining_since_ns.get_or_insert(now);
        self.slab.in_use() + self.visits.alive() == 0 || now >= since.saturating_add(self.plan.drain_ns)
    }

    /// Mean time between arrivals of a client.
    fn mean_gap_ns(&self) -> u64 {
        let rate = self.plan.arrivals.as_ref().and_then(|arrivals| arrivals.rate_micro);
        1_000_000_000_000_000 / rate.unwrap_or(1_000_000).max(1)
    }

    /// Opens at most so many connections that are due.
    #[inline]
    fn open_due(&mut self, most: u32) {
        if !self.plan.is_open_loop() {
            return self.fill_up(most);
        }
        for _ in 0..most {
            let Some(arrival) = self.arrivals.peek() else { return };
            if arrival.due_ns > self.now() {
                self.stats.burst = 0;
                return;
            }
            self.arrivals.pop();
            self.last_due_ns = arrival.due_ns;
            self.stats.burst += 1;
            self.stats.longest_burst = self.stats.longest_burst.max(self.stats.burst);
            self.open(arrival);
        }
    }

    /// Closed loop: whether a connection may be opened at once.
    fn has_room(&self) -> bool {
        let wanted = self.plan.concurrency_limit.unwrap_or(1);
        let room = |client: &Client| client.concurrent < wanted && client.left > 0;
        !self.plan.is_open_loop() && !self.closing && self.clients.iter().any(room)
    }

    /// Closed loop: opens connections until each client has its number.
    fn fill_up(&mut self, mut most: u32) {
        if !self.has_room() {
            return;
        }
        let now = self.now();
        if now >= self.load_end_ns || now < self.retry_ns {
            return;
        }
        let wanted = self.plan.concurrency_limit.unwrap_or(1);
        for client in 0..self.clients.len() {
            while most > 0 && self.clients[client].concurrent < wanted && self.clients[client].left > 0 {
                most -= 1;
                self.clients[client].left -= 1;
                let before = self.stats.local_failures();
                let now = self.now();
                self.open(Arrival { due_ns: now, client: client as u16, session: 0 });
                if self.stats.local_failures() > before {
                    self.retry_ns = now + RETRY_NS;
                    return;
                }
            }
        }
    }

    /// A connection, or a session, is due.
    fn open(&mut self, arrival: Arrival) {
        let Arrival { due_ns, client, .. } = arrival;
        let warming = due_ns < self.plan.warmup_ns;
        let session = self.requests.session(self.opened);
        self.opened += 1;
        let steps =
            session.map_or(self.plan.requests_per_connection, |s| self.requests.steps(s).len() as u32);
        self.stats(warming).due += 1;
        let limit = self.plan.concurrency_limit.unwrap_or(u32::MAX);
        let full = self.clients[usize::from(client)].concurrent >= limit;
        if self.plan.users.is_some() {
            if !full {
                return self.begin_visit(arrival, warming);
            }
            *self.stats(warming).local.entry(Cause::Limit).or_default() += 1;
            return;
        }
        let now = self.now();
        let place = self.slab.take();
        let connection = self.slab.get(place);
        (connection.client, connection.warming, connection.session) = (client, warming, session);
        (connection.began_ns, connection.step_due_ns, connection.thought) = (now, due_ns, false);
        (connection.step, connection.steps, connection.fd) = (0, steps, -1);
        self.clients[usize::from(client)].concurrent += 1;
        self.concurrency(warming, 1);
        if full {
            self.number(place, now);
            return self.end(place, Outcome::Local, Some(Cause::Limit));
        }
        self.connect(place, true);
    }

    pub(crate) fn concurrency(&mut self, warming: bool, by: i64) {
        let stats = self.stats(warming);
        stats.concurrent = stats.concurrent.saturating_add_signed(by);
        stats.most_concurrent = stats.most_concurrent.max(stats.concurrent);
    }

    fn wake_thinkers(&mut self, now: u64) {
        while let Some(&Reverse((until, token))) = self.thinking.peek() {
            if until > now {
                return;
            }
            self.thinking.pop();
            if let Some(place) = self.slab.find(token) {
                self.thought(place, until);
            }
        }
    }

    /// Users whose patience is at an end give up.
    fn give_up_waiting(&mut self, now: u64) {
        let Some(patience) = self.plan.timeout_ns else { return };
        while let Some((place, touched)) = self.slab.oldest() {
            if touched.saturating_add(patience) > now {
                return;
            }
            let outcome = self.slab.get(place).doing();
            self.end(place, outcome, Some(Cause::Timeout));
        }
    }

    /// What is under way when the time is up was neither completed nor failed.
    fn abandon(&mut self) {
        self.abandoned = true;
        for place in self.slab.all() {
            self.end(place, Outcome::Unfinished, None);
        }
        self.abandon_visits();
    }

    fn report_due(&mut self, now: u64) {
        if now >= self.next_sample_ns {
            self.stats.end_sample(self.next_sample_ns, false);
            self.next_sample_ns += SAMPLE_NS;
        }
        if now < self.next_report_ns {
            return;
        }
        self.next_report_ns += REPORT_NS;
        let (completed, due) = (self.stats.completed, self.stats.due);
        let p99 = (!self.recent.is_empty()).then(|| self.recent.value_at_quantile(0.99) as f64 / 1e6);
        let progress = Progress {
            elapsed_s: now as f64 / 1e9,
            due,
            opened: self.stats.opened,
            sent: self.stats.sent,
            completed,
            errors: self.stats.failed(),
            local: self.stats.local_failures(),
            concurrent: self.stats.concurrent + self.warmup.concurrent,
            offered_cps: (due - self.reported.1) as f64,
            rate_rps: (completed - self.reported.0) as f64,
            p99_ms: p99,
        };
        self.reported = (completed, due);
        self.recent.reset();
        let _ = self.tell.send(progress); // nobody may be listening
    }

    fn spin_until(&self, instant_ns: u64) {
        while self.now() < instant_ns {
            std::hint::spin_loop();
        }
    }

    /// Sets the timer, or spins up to the next instant; milliseconds the wait may last.
    fn prepare_wait(&mut self) -> i32 {
        let now = self.now();
        let arrival = self.arrivals.peek().map_or(u64::MAX, |arrival| arrival.due_ns);
        let thought = self.thinking.peek().map_or(u64::MAX, |next| next.0.0);
        let back = self.waking.peek().map_or(u64::MAX, |next| next.0.0);
        let next = arrival.min(thought).min(back);
        if next <= now {
            return 0;
        }
        let lead = self.lead.ns();
        if next - now <= lead {
            if next - now > PURE_SPIN_NS {
                if arrival == next && self.ready.is_none() {
                    self.make_ready();
                }
                return 0;
            }
            self.spin_until(next);
            self.open_due(1);
            return 0;
        }
        if !self.plan.is_open_loop()
            && let Some(pause) = self.looks.pause_ns(now, self.slab.in_use())
        {
            self.spin_until(now + pause);
            return 0;
        }
        if next != u64::MAX {
            self.wake_ns = next - lead;
            self.poll.arm(self.clock.monotonic_ns(airperf_units::Time::from_ns(self.wake_ns)));
        }
        let patience = self.plan.timeout_ns.unwrap_or(u64::MAX);
        let tired = self.slab.oldest().map_or(u64::MAX, |(_, touched)| touched.saturating_add(patience));
        let retry = if self.has_room() { self.retry_ns } else { u64::MAX };
        let wake = tired.min(self.next_report_ns).min(retry);
        wake.saturating_sub(now).div_ceil(1_000_000).min(LOOK_MS) as i32
    }
}

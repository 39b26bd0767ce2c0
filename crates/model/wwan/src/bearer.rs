//! One direction of one mobile: the queue of the logical link, the block flow, and what goes into the next block.
//!
//! Reference: 3GPP TS 44.060 §9.3.1 (countdown), §10.4.14 (frames in blocks); osmo-pcu's order of sending: repair, missing,
//! new, and when there is nothing new or the window is full, what was sent longest ago. Left out: the end of a block flow
//! is taken without the exchange that confirms it.

use crate::config::Direction;
use crate::defaults::{COUNTDOWN_BLOCKS, FASTER_AFTER, LENGTH_INDICATOR_BYTES};
use crate::rlc::{Report, Rlc};
use crate::scheme::{Family, Scheme};
use airperf_link::StationId;
use airperf_units::{Duration, Stream, StreamKey, Time};
use std::collections::VecDeque;

/// The block flow of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// There is none.
    Idle,
    /// It is being set up.
    Assigning,
    /// Blocks go over it.
    Flow,
    /// It has nothing to carry and is kept until then.
    Kept(Time),
}

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    place: u32,
    ip_bytes: u32,
    octets: u32,
}

/// The packet that is being cut into blocks.
#[derive(Clone, Copy, Debug)]
struct Cutting {
    place: u32,
    left: u32,
    begun: bool,
}

/// An RLC block to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// A block of the window.
    Data(u32),
    /// A repair block of the group that begins with this block.
    Repair(u32),
}

#[derive(Clone, Debug)]
pub(crate) struct Bearer {
    pub(crate) from: StationId,
    pub(crate) mobile: u16,
    pub(crate) direction: Direction,
    pub(crate) state: State,
    /// Whether a tick is on the agenda.
    pub(crate) ticking: bool,
    pub(crate) rlc: Rlc,
    pub(crate) scheme: u8,
    /// Blocks on the air, each with whether it will be received.
    pub(crate) flying: Vec<(Sent, bool)>,
    pub(crate) errors: Stream,
    /// The report on its way to the sender.
    pub(crate) report: Option<Report>,
    asks: bool,
    since_report: u32,
    family: Family,
    queue: VecDeque<Waiting>,
    waiting_bytes: u64,
    waiting_octets: u64,
    cutting: Option<Cutting>,
    /// In countdown: packets of the queue that still go with this block flow.
    admitted: Option<u32>,
    /// The last report that was against a faster scheme, or the last change to one.
    not_clear: Time,
    most_packets: usize,
    last_delivery: Time,
    delays: Stream,
}

impl Bearer {
    pub(crate) fn new(
        number: u64,
        (from, mobile): (StationId, u16),
        (direction, family): (&Direction, Family),
        queue_packets: u32,
        key: &StreamKey,
    ) -> Self {
        Self {
            from,
            mobile,
            state: State::Idle,
            ticking: false,
            rlc: Rlc::new(direction.arq, direction.fec),
            scheme: direction.scheme,
            flying: Vec::new(),
            errors: key.indexed("wwan.block", number),
            report: None,
            asks: false,
            since_report: 0,
            family,
            queue: VecDeque::new(),
            waiting_bytes: 0,
            waiting_octets: 0,
            cutting: None,
            admitted: None,
            not_clear: Time::ZERO,
            most_packets: queue_packets as usize,
            last_delivery: Time::ZERO,
            delays: key.indexed("wwan.delay", number),
            direction: direction.clone(),
        }
    }

    pub(crate) fn scheme_of(&self, scheme: u8) -> &'static Scheme {
        &self.family.schemes()[usize::from(scheme)]
    }

    /// Whether the queue has room for a packet. An idle bearer always takes one, which does not wait for others.
    pub(crate) fn takes(&self, ip_bytes: u32) -> bool {
        let most = self.direction.queue_bytes.unwrap_or(u64::MAX);
        self.queue.len() < self.most_packets && self.waiting_bytes + u64::from(ip_bytes) <= most
    }

    pub(crate) fn wait(&mut self, place: u32, ip_bytes: u32) {
        let octets = ip_bytes + self.direction.overhead_bytes + LENGTH_INDICATOR_BYTES;
        self.waiting_bytes += u64::from(ip_bytes);
        self.waiting_octets += u64::from(octets);
        self.queue.push_back(Waiting { place, ip_bytes, octets });
    }

    /// Whether the block flow has something to carry that was never sent.
    fn has_data(&self) -> bool {
        self.cutting.is_some() || (!self.queue.is_empty() && self.admitted != Some(0))
    }

    /// Whether the block flow has nothing left to do.
    pub(crate) fn is_done(&self) -> bool {
        !self.has_data() && self.rlc.is_empty() && self.flying.is_empty()
    }

    /// Whether packets wait for the next block flow.
    pub(crate) fn is_waited_for(&self) -> bool {
        !self.queue.is_empty()
    }

    /// The block flow has done all there was; reports and countdown begin anew.
    pub(crate) fn rest(&mut self) {
        self.admitted = None;
        self.asks = false;
        self.since_report = 0;
    }

    /// The next RLC block; `leaves` hears of every packet that leaves the queue with it.
    pub(crate) fn next_block(&mut self, now: Time, mut leaves: impl FnMut(u32)) -> Option<Sent> {
        let sent = self.choose(now, &mut leaves)?;
        self.since_report += 1;
        Some(sent)
    }

    fn choose(&mut self, now: Time, leaves: &mut impl FnMut(u32)) -> Option<Sent> {
        if let Some(group) = self.rlc.repair() {
            return Some(Sent::Repair(group));
        }
        if let Some(bsn) = self.rlc.again(now, false) {
            return Some(Sent::Data(bsn));
        }
        if self.has_data() && !self.rlc.is_full() {
            return Some(Sent::Data(self.new_block(now, leaves)));
        }
        if !self.has_data() {
            self.rlc.close_group();
            if let Some(group) = self.rlc.repair() {
                return Some(Sent::Repair(group));
            }
        }
        self.rlc.again(now, true).map(Sent::Data)
    }

    /// Fills a block with what waits.
    fn new_block(&mut self, now: Time, leaves: &mut impl FnMut(u32)) -> u32 {
        let payload = self.scheme_of(self.scheme).payload_bytes;
        let bsn = self.rlc.push(now, self.scheme);
        let mut room = payload;
        while room > 0 && self.has_data() {
            let mut cutting = self.cutting.take().unwrap_or_else(|| self.begin(leaves));
            let octets = room.min(cutting.left);
            cutting.left -= octets;
            room -= octets;
            self.rlc.add(bsn, cutting.place, octets, !cutting.begun, cutting.left == 0);
            cutting.begun = true;
            self.cutting = (cutting.left > 0).then_some(cutting);
        }
        let left = self.waiting_octets + self.cutting.map_or(0, |cutting| u64::from(cutting.left));
        let counts_down = self.direction.keep == Duration::ZERO && self.admitted.is_none();
        if counts_down && left <= u64::from(COUNTDOWN_BLOCKS * payload) {
            self.admitted = Some(self.queue.len() as u32);
        }
        bsn
    }

    /// The next packet leaves the queue.
    fn begin(&mut self, leaves: &mut impl FnMut(u32)) -> Cutting {
        let Waiting { place, ip_bytes, octets } = self.queue.pop_front().expect("there is data");
        self.waiting_bytes -= u64::from(ip_bytes);
        self.waiting_octets -= u64::from(octets);
        self.admitted = self.admitted.map(|packets| packets - 1);
        leaves(place);
        Cutting { place, left: octets, begun: false }
    }

    /// Whether anything follows from reports.
    fn wants_reports(&self) -> bool {
        let adapts = self.direction.fec.is_some_and(|fec| fec.target.is_some());
        self.rlc.arq() || adapts || (self.direction.arq && self.direction.arq_from > 0.0)
    }

    /// A block flow begins: its mode follows from what reports told of those before it.
    pub(crate) fn begin_flow(&mut self) {
        let direction = &self.direction;
        let lossy = self.rlc.error().is_none_or(|error| error >= direction.arq_from);
        self.rlc.set_arq(direction.arq && lossy);
    }

    /// After the blocks of a tick were chosen: whether the last of them asks for a report.
    pub(crate) fn ask(&mut self) {
        let often = self.since_report >= self.direction.report_every;
        self.asks |= self.wants_reports() && (often || !self.has_data());
    }

    /// The blocks of a tick have ended, the last of them received if `heard`: whether a report is now on its way.
    pub(crate) fn reports(&mut self, now: Time, heard: bool) -> bool {
        // In the unacknowledged mode a report is of use when nothing is left, too: it tells how many blocks are lost.
        let over = self.rlc.arq() && self.rlc.is_empty();
        if !self.asks || !heard || self.report.is_some() || over {
            return false;
        }
        self.report = Some(self.rlc.report(now));
        self.asks = false;
        self.since_report = 0;
        true
    }

    /// Follows the share of blocks of the present scheme that a report told missing: a faster scheme only after a while
    /// in which no report was worse.
    pub(crate) fn adapt(&mut self, now: Time, told: u32, missing: u32) {
        let Some(adaptation) = self.direction.adaptation.filter(|_| told > 0) else { return };
        let share = f64::from(missing) / f64::from(told);
        let fastest = self.family.schemes().len() as u8 - 1;
        if share >= adaptation.faster_below {
            self.scheme = self.scheme.saturating_sub(u8::from(share > adaptation.slower_above));
            self.not_clear = now;
        } else if now - self.not_clear > FASTER_AFTER && self.scheme < fastest {
            self.scheme += 1;
            self.not_clear = now;
        }
    }

    /// When a packet that is complete now reaches the other end; packets keep their order.
    pub(crate) fn delivery(&mut self, now: Time) -> Time {
        let own = now + Duration::from_ns(self.direction.delay.sample(&mut self.delays));
        self.last_delivery = self.last_delivery.max(own);
        self.last_delivery
    }
}

//! The sliding window of RLC: which blocks were sent, received and acknowledged, and which packets are in them.
//!
//! Reference: 3GPP TS 44.060 §9.1 (window, states of blocks) and §9.3.2, §9.3.3 (acknowledged, unacknowledged mode). Both
//! ends are here, for nothing but blocks and reports goes between them. Block sequence numbers are counted without an
//! end; what is shown is taken modulo. A block reported missing that was sent again since the report was made counts as
//! on its way. Left out: reports that are lost (they have the best protected scheme), partial bitmaps, restarts after a
//! stalled window for too long (N3102 and its like).

use crate::config::Fec;
use crate::defaults::{ERROR_MEMORY_BLOCKS, WINDOW};
use airperf_units::{Time, repairs_needed};
use std::collections::VecDeque;

/// What its sender knows of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Pending,
    Missing,
    Acknowledged,
}

/// A block that was sent and not yet taken out of the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) scheme: u8,
    pub(crate) attempts: u8,
    pub(crate) received: bool,
    state: State,
    sent: Time,
}

/// The octets of one packet in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    bsn: u32,
    /// The packet's place.
    pub(crate) place: u32,
    pub(crate) octets: u32,
    /// Whether they are the packet's first.
    pub(crate) first: bool,
    last: bool,
}

/// A group of blocks with the repair blocks behind it.
#[derive(Clone, Copy, Debug)]
struct Group {
    first: u32,
    data: u8,
    /// Repair blocks that follow it; known when it is closed.
    repair: u8,
    repair_sent: u8,
    repair_ended: u8,
    repair_received: u8,
    closed: bool,
}

/// What a receiver told: the blocks from the window's beginning that it had, as bits, and when it looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    made: Time,
    bits: u64,
    /// Blocks it knows of: up to the last that it received.
    known: u32,
    /// Blocks that ended since the report before it, and those of them that were lost before repair.
    ended: u32,
    lost: u32,
}

/// What became of a packet at its receiver or its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// All its octets have arrived, in their order.
    Complete(u32),
    /// Some never will.
    Broken(u32),
    /// The sender knows that it is done with it.
    Done(u32),
}

/// Sender and receiver of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Rlc {
    arq: bool,
    fec: Option<Fec>,
    /// The share of blocks lost that the sender knows of.
    error: Option<f64>,
    /// Since the last report.
    ended: u32,
    lost: u32,
    /// V(A): the first block in the window.
    first: u32,
    window: VecDeque<Block>,
    /// V(Q): the first block that the receiver has not decided about.
    decided: u32,
    /// The packet that a lost block broke, while its last octets have not come.
    broken: Option<u32>,
    parts: VecDeque<Part>,
    groups: VecDeque<Group>,
}

impl Rlc {
    pub(crate) fn new(arq: bool, fec: Option<Fec>) -> Self {
        Self {
            arq,
            fec,
            error: None,
            ended: 0,
            lost: 0,
            first: 0,
            window: VecDeque::with_capacity(WINDOW as usize),
            decided: 0,
            broken: None,
            parts: VecDeque::new(),
            groups: VecDeque::new(),
        }
    }

    /// Whether blocks of a new block flow are sent again; those of the one before have all been dealt with.
    pub(crate) fn set_arq(&mut self, arq: bool) {
        self.arq = arq;
    }

    pub(crate) fn arq(&self) -> bool {
        self.arq
    }

    /// The share of blocks lost that the sender knows of, once it heard a report.
    pub(crate) fn error(&self) -> Option<f64> {
        self.error
    }

    pub(crate) fn is_full(&self) -> bool {
        self.window.len() >= WINDOW as usize
    }

    /// Whether every block sent has been dealt with.
    pub(crate) fn is_empty(&self) -> bool {
        self.window.is_empty() && self.repair_due().is_none()
    }

    pub(crate) fn block(&self, bsn: u32) -> &Block {
        &self.window[(bsn - self.first) as usize]
    }

    /// A new block, which counts as sent at `now`; its parts are added next.
    pub(crate) fn push(&mut self, now: Time, scheme: u8) -> u32 {
        let bsn = self.first + self.window.len() as u32;
        let block = Block { scheme, attempts: 1, received: false, state: State::Pending, sent: now };
        self.window.push_back(block);
        if let Some(fec) = self.fec {
            match self.groups.back_mut() {
                Some(group) if !group.closed => group.data += 1,
                _ => self.groups.push_back(Group {
                    first: bsn,
                    data: 1,
                    repair: 0,
                    repair_sent: 0,
                    repair_ended: 0,
                    repair_received: 0,
                    closed: false,
                }),
            }
            if self.groups.back().is_some_and(|group| group.data >= fec.data) {
                self.close_group();
            }
        }
        bsn
    }

    /// The octets of a packet in the newest block.
    pub(crate) fn add(&mut self, bsn: u32, place: u32, octets: u32, first: bool, last: bool) {
        self.parts.push_back(Part { bsn, place, octets, first, last });
    }

    /// No more data for now: a group that is not full gets its repair blocks all the same.
    pub(crate) fn close_group(&mut self) {
        let (fec, error) = (self.fec, self.error);
        if let (Some(fec), Some(group)) = (fec, self.groups.back_mut().filter(|group| !group.closed)) {
            group.closed = true;
            group.repair = match (fec.target, error) {
                (Some(target), Some(error)) => repairs_needed(group.data, error, target, Fec::MOST),
                _ => fec.repair,
            };
        }
    }

    /// The group that wants a repair block, if one does.
    fn repair_due(&self) -> Option<usize> {
        self.groups.iter().position(|group| group.closed && group.repair_sent < group.repair)
    }

    /// Takes the next repair block to send: the first block of its group.
    pub(crate) fn repair(&mut self) -> Option<u32> {
        let index = self.repair_due()?;
        self.groups[index].repair_sent += 1;
        Some(self.groups[index].first)
    }

    /// The block to send again at `now`: the oldest that is missing, or, when `pending`, the one sent longest ago.
    pub(crate) fn again(&mut self, now: Time, pending: bool) -> Option<u32> {
        if !self.arq {
            return None;
        }
        let missing = self.window.iter().position(|block| block.state == State::Missing);
        let index = missing.or_else(|| {
            let waiting = |(_, block): &(usize, &Block)| block.state == State::Pending && block.sent < now;
            let of_window = self.window.iter().enumerate().filter(|_| pending);
            of_window.filter(waiting).min_by_key(|(_, block)| block.sent).map(|(index, _)| index)
        })?;
        let block = &mut self.window[index];
        block.state = State::Pending;
        block.sent = now;
        block.attempts = block.attempts.saturating_add(1);
        Some(self.first + index as u32)
    }

    /// The octets of packets in a block, in their order.
    pub(crate) fn parts(&self, bsn: u32) -> impl Iterator<Item = &Part> {
        let from = self.parts.partition_point(|part| part.bsn < bsn);
        self.parts.range(from..).take_while(move |part| part.bsn == bsn)
    }

    /// A block has ended at the receiver.
    pub(crate) fn block_ends(&mut self, bsn: u32, received: bool) {
        self.count(received);
        if received
            && let Some(block) = bsn.checked_sub(self.first).and_then(|i| self.window.get_mut(i as usize))
        {
            block.received = true;
        }
    }

    /// A repair block of the group that begins with `first` has ended at the receiver.
    pub(crate) fn repair_ends(&mut self, first: u32, received: bool) {
        self.count(received);
        if let Some(group) = self.groups.iter_mut().find(|group| group.first == first) {
            group.repair_ended += 1;
            group.repair_received += u8::from(received);
        }
    }

    fn count(&mut self, received: bool) {
        self.ended += 1;
        self.lost += u32::from(!received);
    }

    /// Repairs what can be, decides about blocks in their order, and tells of their packets.
    pub(crate) fn decide(&mut self, news: &mut Vec<News>) {
        self.mend();
        while self.decided < self.first + self.window.len() as u32 {
            let received = self.block(self.decided).received;
            if !received && (self.arq || !self.is_hopeless(self.decided)) {
                break;
            }
            let from = self.parts.partition_point(|part| part.bsn < self.decided);
            for part in self.parts.range(from..).take_while(|part| part.bsn == self.decided) {
                // A place may have been another packet's before.
                if part.first {
                    self.broken = None;
                }
                if !received {
                    self.broken = Some(part.place);
                }
                if part.last {
                    let broken = self.broken == Some(part.place);
                    news.push(if broken { News::Broken(part.place) } else { News::Complete(part.place) });
                }
            }
            self.decided += 1;
        }
        if !self.arq {
            self.forget(self.decided, news);
        }
    }

    /// Whether nothing that is still to come can bring a lost block back.
    fn is_hopeless(&self, bsn: u32) -> bool {
        let holds = |group: &&Group| (group.first..group.first + u32::from(group.data)).contains(&bsn);
        self.groups.iter().find(holds).is_none_or(|group| group.closed && group.repair_ended >= group.repair)
    }

    /// Restores the blocks of every group of which enough has arrived.
    fn mend(&mut self) {
        for group in &self.groups {
            // What has left the window was received.
            let (first, after) = (group.first.max(self.first), group.first + u32::from(group.data));
            let blocks = (first - self.first) as usize..after.saturating_sub(self.first) as usize;
            let blocks = blocks.start.min(blocks.end)..blocks.end;
            let missing = self.window.range(blocks.clone()).filter(|block| !block.received).count();
            if group.closed && missing > 0 && missing <= usize::from(group.repair_received) {
                self.window.range_mut(blocks).for_each(|block| block.received = true);
            }
        }
        let over = |group: &Group| {
            group.closed
                && group.repair_ended >= group.repair
                && group.first + u32::from(group.data) <= self.decided
        };
        while self.groups.front().is_some_and(over) {
            self.groups.pop_front();
        }
    }

    /// The receiver looks at what it has.
    pub(crate) fn report(&mut self, now: Time) -> Report {
        let received = |(_, block): &(usize, &Block)| block.received;
        let bits =
            self.window.iter().enumerate().filter(received).fold(0, |bits, (index, _)| bits | 1 << index);
        let known = u64::BITS - u64::leading_zeros(bits);
        let (ended, lost) = (std::mem::take(&mut self.ended), std::mem::take(&mut self.lost));
        Report { made: now, bits, known, ended, lost }
    }

    /// The sender hears a report: how many blocks of `scheme` it told of, and how many of them are missing.
    pub(crate) fn hear(&mut self, report: Report, scheme: u8, news: &mut Vec<News>) -> (u32, u32) {
        if report.ended > 0 {
            let share = f64::from(report.lost) / f64::from(report.ended);
            let weight = f64::from(report.ended) / (f64::from(report.ended) + ERROR_MEMORY_BLOCKS);
            self.error = Some(self.error.map_or(share, |known| known + (share - known) * weight));
        }
        if !self.arq {
            return (0, 0);
        }
        let (mut told, mut missing) = (0, 0);
        for (index, block) in self.window.iter_mut().enumerate().take(report.known as usize) {
            if block.state == State::Acknowledged {
                continue;
            }
            let received = report.bits & 1 << index != 0;
            if received {
                block.state = State::Acknowledged;
            } else if block.sent < report.made {
                block.state = State::Missing;
            } else {
                continue;
            }
            let counts = u32::from(block.scheme == scheme);
            told += counts;
            missing += if received { 0 } else { counts };
        }
        let acknowledged = self.window.iter().take_while(|block| block.state == State::Acknowledged).count();
        self.forget(self.first + acknowledged as u32, news);
        (told, missing)
    }

    /// Moves the window's beginning, and tells which packets are done with.
    fn forget(&mut self, first: u32, news: &mut Vec<News>) {
        while self.first < first {
            self.window.pop_front();
            self.first += 1;
        }
        while let Some(part) = self.parts.front().filter(|part| part.bsn < first) {
            if part.last {
                news.push(News::Done(part.place));
            }
            self.parts.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;

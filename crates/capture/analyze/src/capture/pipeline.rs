//! Who does what when: threads take whatever step is ready.
//!
//! Batch *n* is read after batch *n*−1, then shown to the front after that one; then each group of shards follows its
//! packets of batch *n* after those of *n*−1; then what the shards found is merged, batch after batch. Every
//! step is done by one thread at a time and in order, so that results do not depend on how many threads there
//! are. With one thread a batch goes through all steps before the next is read, while it is in the cache.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::AnalyzeError;
use super::flows::{Found, SHARDS, Shard};
use super::front::{Front, Packets};
use super::merge::Merge;
use super::reader::Reader;

/// How long a thread waits before it looks up: so soon an interruption is noticed.
const LOOK_UP: Duration = Duration::from_millis(50);

/// A batch and what its packets gave.
#[derive(Debug, Default)]
struct Job {
    packets: Packets,
    found: [Mutex<Found>; SHARDS],
}

/// A job on its way through the shards.
#[derive(Debug)]
struct Flight {
    job: Arc<Job>,
    /// Groups of shards that have not finished with it.
    left: usize,
}

/// Shards that take a batch one after the other, in one step: the number of the first, and these.
#[derive(Debug)]
struct Group {
    first: usize,
    shards: Vec<Shard>,
    /// Number of the flight it is to take next.
    next: u64,
}

impl Group {
    fn follow(&mut self, job: &Job) {
        for (place, shard) in (self.first..).zip(&mut self.shards) {
            let mut found = job.found[place].lock().unwrap_or_else(PoisonError::into_inner);
            shard.follow(&job.packets.lists[place], &job.packets, &mut found);
        }
        self.next += 1;
    }
}

/// Two groups for each thread: one that others are done with is mostly there, and steps are few.
fn groups(shards: [Shard; SHARDS], threads: usize) -> Vec<Group> {
    let groups = if threads == 1 { 1 } else { 2 * threads };
    let size = SHARDS.div_ceil(groups);
    let mut rest = shards.into_iter();
    let group = |first| Group { first, shards: rest.by_ref().take(size).collect(), next: 0 };
    (0..SHARDS).step_by(size).map(group).collect()
}

/// Who is where. What is taken is being worked with.
struct State<'a> {
    reader: Option<Box<Reader>>,
    /// Batches that were read, for the front.
    read: VecDeque<Arc<Job>>,
    front: Option<Box<Front>>,
    /// Groups that nobody works with, and how many there are.
    groups: Vec<Group>,
    group_count: usize,
    merge: Option<Box<Merge<'a>>>,
    idle: Vec<Arc<Job>>,
    flights: VecDeque<Flight>,
    /// Number of the first flight.
    first: u64,
    /// Batches that are somewhere, and the most there may be.
    busy: usize,
    most: usize,
    at_end: bool,
    progress: (u64, Option<u64>),
    failed: Option<AnalyzeError>,
}

/// A step that is ready.
enum Step<'a> {
    Read(Box<Reader>, Arc<Job>),
    Take(Box<Front>, Arc<Job>),
    Follow(Group, Arc<Job>),
    Merge(Box<Merge<'a>>, Arc<Job>),
}

impl<'a> State<'a> {
    fn take(&mut self) -> Option<Step<'a>> {
        if self.failed.is_some() {
            return None;
        }
        if self.flights.front().is_some_and(|flight| flight.left == 0)
            && let Some(merge) = self.merge.take()
            && let Some(flight) = self.flights.pop_front()
        {
            self.first += 1;
            return Some(Step::Merge(merge, flight.job));
        }
        if !self.read.is_empty()
            && let Some(front) = self.front.take()
            && let Some(job) = self.read.pop_front()
        {
            return Some(Step::Take(front, job));
        }
        if !self.at_end
            && self.busy < self.most
            && let Some(reader) = self.reader.take()
        {
            self.busy += 1;
            return Some(Step::Read(reader, self.idle.pop().unwrap_or_default()));
        }
        let last = self.first + self.flights.len() as u64;
        let ready = |(place, group): (usize, &Group)| (group.next < last).then_some((group.next, place));
        let (number, place) = self.groups.iter().enumerate().filter_map(ready).min()?;
        let job = self.flights.get((number - self.first) as usize)?.job.clone();
        Some(Step::Follow(self.groups.swap_remove(place), job))
    }

    fn is_over(&self) -> bool {
        self.failed.is_some() || self.at_end && self.busy == 0
    }
}

/// The state and who waits for it to change.
struct Shared<'a> {
    state: Mutex<State<'a>>,
    changed: Condvar,
}

impl<'a> Shared<'a> {
    fn lock(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does one step, or waits a little for one; false when there will be none.
    fn work(&self) -> bool {
        let mut state = self.lock();
        let Some(step) = state.take() else {
            if state.is_over() {
                return false;
            }
            let waited = self.changed.wait_timeout(state, LOOK_UP);
            return !waited.unwrap_or_else(PoisonError::into_inner).0.is_over();
        };
        drop(state);
        let over = Stop(self);
        self.step(step);
        std::mem::forget(over);
        self.changed.notify_all();
        true
    }

    fn step(&self, step: Step<'a>) {
        match step {
            Step::Read(mut reader, mut job) => {
                let read = match Arc::get_mut(&mut job) {
                    Some(job) => reader.read(&mut job.packets.batch),
                    None => Ok(false),
                };
                let mut state = self.lock();
                state.progress = reader.progress();
                state.reader = Some(reader);
                match read {
                    Ok(true) => state.read.push_back(job),
                    Ok(false) => (state.at_end, state.busy) = (true, state.busy - 1),
                    Err(error) => state.failed = Some(error.into()),
                }
            }
            Step::Take(mut front, mut job) => {
                let taken = Arc::get_mut(&mut job).map_or(Ok(()), |job| front.take(&mut job.packets));
                let mut state = self.lock();
                state.front = Some(front);
                match taken {
                    Ok(()) => {
                        let left = state.group_count;
                        state.flights.push_back(Flight { job, left });
                    }
                    Err(error) => state.failed = Some(error.into()),
                }
            }
            Step::Follow(mut group, job) => {
                group.follow(&job);
                drop(job);
                let mut state = self.lock();
                let flight = (group.next - 1 - state.first) as usize;
                if let Some(flight) = state.flights.get_mut(flight) {
                    flight.left -= 1;
                }
                state.groups.push(group);
            }
            Step::Merge(mut merge, mut job) => {
                let merged = match Arc::get_mut(&mut job) {
                    Some(job) => merge.batch(
                        job.found.iter_mut().map(|f| f.get_mut().unwrap_or_else(PoisonError::into_inner)),
                    ),
                    None => Ok(()),
                };
                let mut state = self.lock();
                state.merge = Some(merge);
                state.idle.push(job);
                state.busy -= 1;
                if let Err(error) = merged {
                    state.failed = Some(error.into());
                }
            }
        }
    }
}

/// Ends the others' waiting when a step panics.
struct Stop<'s, 'a>(&'s Shared<'a>);

impl Drop for Stop<'_, '_> {
    fn drop(&mut self) {
        self.0.lock().failed = Some(AnalyzeError::Interrupted);
        self.0.changed.notify_all();
    }
}

/// Everything that was found out.
pub(crate) struct Done<'a> {
    pub(crate) reader: Box<Reader>,
    pub(crate) front: Box<Front>,
    pub(crate) shards: Vec<Shard>,
    pub(crate) merge: Merge<'a>,
}

/// Takes all records through all steps, with `threads` threads of which this is one.
pub(crate) fn run<'a>(
    reader: Reader,
    front: Front,
    shards: [Shard; SHARDS],
    merge: Merge<'a>,
    threads: usize,
    progress: &mut dyn FnMut(u64, Option<u64>) -> ControlFlow<()>,
) -> Result<Done<'a>, AnalyzeError> {
    let threads = threads.clamp(1, SHARDS + 1);
    let groups = groups(shards, threads);
    let shared = Shared {
        state: Mutex::new(State {
            reader: Some(Box::new(reader)),
            read: VecDeque::new(),
            front: Some(Box::new(front)),
            group_count: groups.len(),
            groups,
            merge: Some(Box::new(merge)),
            idle: Vec::new(),
            flights: VecDeque::new(),
            first: 0,
            busy: 0,
            most: if threads == 1 { 1 } else { threads + 2 },
            at_end: false,
            progress: (0, None),
            failed: None,
        }),
        changed: Condvar::new(),
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // A thread that cannot be had is done without.
            let worker = std::thread::Builder::new().name("airperf-analyze".to_owned());
            let _ = worker.spawn_scoped(scope, || while shared.work() {});
        }
        let mut told = 0;
        loop {
            let more = shared.work();
            let now = shared.lock().progress;
            if more && now.0 == told && threads == 1 {
                continue;
            }
            told = now.0;
            if progress(now.0, now.1).is_break() {
                shared.lock().failed = Some(AnalyzeError::Interrupted);
                shared.changed.notify_all();
            }
            if !more {
                break;
            }
        }
    });
    let state = shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = state.failed {
        return Err(error);
    }
    let mut groups = state.groups;
    groups.sort_by_key(|group| group.first);
    let shards: Vec<Shard> = groups.into_iter().flat_map(|group| group.shards).collect();
    match (state.reader, state.front, state.merge) {
        (Some(reader), Some(front), Some(merge)) if shards.len() == SHARDS => {
            Ok(Done { reader, front, shards, merge: *merge })
        }
        _ => Err(AnalyzeError::Interrupted),
    }
}

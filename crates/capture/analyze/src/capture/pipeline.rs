//! Who does what when: threads take whatever step is ready.
//!
//! Batch *n* is read after batch *n*−1, then shown to the front after that one; then each group of shards follows its
//! packets of batch *n* after those of *n*−1; then what the shards found is merged, batch after batch. When all is
//! read, connections that are still there are ended, some at a time, as if by batches of their own. Every
//! step is done by one thread at a time and in order, so that results do not depend on how many threads there
//! are. With one thread a batch goes through all steps before the next is read, while it is in the cache. With more,
//! every other one reads and shows what it read to the front, and the rest follow connections and merge, as far as
//! there is such work; each encodes the rows that it mostly made itself. What is at hand in one processor's cache is far
//! from another's: so nobody reads while a thread is at it, one that reads leaves what it read only to somebody who has
//! nothing else to do, and the batches on their way are few.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::AnalyzeError;
use super::flows::{Found, SHARDS, Shard};
use super::front::{Front, Packets};
use super::later::{Encode, MOST_WAITING};
use super::merge::Merge;
use super::reader::Reader;

/// Batches on their way beyond one for each thread: who reads may be ahead of who follows.
const AHEAD: usize = 2;
/// The same where who reads has nothing else to do: while the others write a group of rows, no batch is followed.
const FAR_AHEAD: usize = 16;
/// How long a thread waits before it looks up: so soon an interruption is noticed.
const LOOK_UP: Duration = Duration::from_millis(50);
/// How often it looks for work before it sleeps, which takes some hundred microseconds, as a step does: to be woken takes
/// as long.
const SPINS: usize = 10_000;

/// A batch and what its packets gave.
#[derive(Debug, Default)]
struct Job {
    packets: Packets,
    found: [Mutex<Found>; SHARDS],
    /// There are no more packets: connections are ended.
    ends: bool,
    /// Some shard had connections to end.
    ended: AtomicBool,
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
    /// The thread that had it last, in whose cache its connections are.
    last: usize,
}

impl Group {
    fn follow(&mut self, job: &Job) {
        for (place, shard) in (self.first..).zip(&mut self.shards) {
            let mut found = job.found[place].lock().unwrap_or_else(PoisonError::into_inner);
            if !job.ends {
                shard.follow(&job.packets.lists[place], &job.packets, &mut found);
            } else if shard.finish_some(&mut found) {
                job.ended.store(true, Ordering::Relaxed);
            }
        }
        self.next += 1;
    }
}

/// Two groups for each thread: one that others are done with is mostly there, and steps are few.
fn groups(shards: [Shard; SHARDS], threads: usize) -> Vec<Group> {
    let groups = if threads == 1 { 1 } else { 2 * threads };
    let size = SHARDS.div_ceil(groups);
    let mut rest = shards.into_iter();
    let group = |first| Group { first, shards: rest.by_ref().take(size).collect(), next: 0, last: 1 };
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
    /// Tables whose rows are encoded by whoever has time, frames before segments, and whether a thread is at it.
    tables: Vec<(Arc<dyn Encode>, bool)>,
    idle: Vec<Arc<Job>>,
    flights: VecDeque<Flight>,
    /// Number of the first flight.
    first: u64,
    /// Batches that are somewhere, and the most there should be.
    busy: usize,
    most: usize,
    threads: usize,
    /// Everything was read.
    at_end: bool,
    /// Threads that found no work, and those of them that wait to be woken.
    waiting: usize,
    asleep: usize,
    /// All connections have ended.
    ended: bool,
    progress: (u64, Option<u64>),
    failed: Option<AnalyzeError>,
}

/// A step that is ready.
enum Step<'a> {
    Read(Box<Reader>, Arc<Job>),
    Take(Box<Front>, Arc<Job>),
    Follow(Group, Arc<Job>),
    Merge(Box<Merge<'a>>, Arc<Job>),
    Encode(usize, Arc<dyn Encode>),
}

/// Whether a thread, of several, mostly reads: every other one does.
fn is_reader(thread: usize) -> bool {
    thread.is_multiple_of(2)
}

/// A look for a step of one kind, by the thread with this number.
type Look<'a> = fn(&mut State<'a>, usize) -> Option<Step<'a>>;

impl<'a> State<'a> {
    fn take(&mut self, thread: usize) -> Option<Step<'a>> {
        if self.failed.is_some() {
            return None;
        }
        if self.is_held_up()
            && let Some(step) = self.encode(thread)
        {
            return Some(step);
        }
        let follows: [Look<'a>; 6] =
            [Self::encode_own, Self::merge, Self::follow, Self::front, Self::encode, Self::read];
        let reads: [Look<'a>; 7] = [
            Self::encode_own,
            Self::front,
            Self::read,
            Self::follow,
            Self::encode,
            Self::merge,
            Self::read_on,
        ];
        let looks: &[Look<'a>] = if self.threads > 1 && is_reader(thread) { &reads } else { &follows };
        looks.iter().find_map(|look| look(self, thread))
    }

    /// Whether so many rows wait to be encoded that no more should be made.
    fn is_held_up(&self) -> bool {
        self.tables.iter().any(|(table, _)| table.waiting() >= MOST_WAITING)
    }

    fn merge(&mut self, _: usize) -> Option<Step<'a>> {
        if self.is_held_up() || self.flights.front()?.left > 0 {
            return None;
        }
        let merge = self.merge.take()?;
        self.first += 1;
        self.flights.pop_front().map(|flight| Step::Merge(merge, flight.job))
    }

    fn front(&mut self, thread: usize) -> Option<Step<'a>> {
        let reads_on = is_reader(thread) && self.waiting > 0 && self.may_read(self.most);
        if self.is_held_up() || self.read.is_empty() || reads_on {
            return None;
        }
        let front = self.front.take()?;
        self.read.pop_front().map(|job| Step::Take(front, job))
    }

    fn read(&mut self, thread: usize) -> Option<Step<'a>> {
        if self.leaves_reading(thread) { None } else { self.read_up_to(self.most) }
    }

    fn read_on(&mut self, _: usize) -> Option<Step<'a>> {
        self.read_up_to(self.most + FAR_AHEAD)
    }

    /// Reads if fewer batches than `most` are on their way.
    fn read_up_to(&mut self, most: usize) -> Option<Step<'a>> {
        if !self.may_read(most) {
            return None;
        }
        let reader = self.reader.take()?;
        self.busy += 1;
        Some(Step::Read(reader, self.idle.pop().unwrap_or_default()))
    }

    fn may_read(&self, most: usize) -> bool {
        self.reader.is_some() && !self.at_end && self.busy < most
    }

    /// Whether others are at reading, in whose cache everything is that belongs to it.
    fn leaves_reading(&self, thread: usize) -> bool {
        !is_reader(thread) && (self.reader.is_none() || self.front.is_none())
    }

    fn follow(&mut self, thread: usize) -> Option<Step<'a>> {
        self.end_some();
        let last = self.first + self.flights.len() as u64;
        let ready = |(place, group): (usize, &Group)| {
            (group.next < last).then_some((group.last != thread, group.next, place))
        };
        let (_, number, place) = self.groups.iter().enumerate().filter_map(ready).min()?;
        let job = self.flights.get((number - self.first) as usize)?.job.clone();
        let mut group = self.groups.swap_remove(place);
        group.last = thread;
        Some(Step::Follow(group, job))
    }

    /// Has connections ended that are still there when the last packet is on its way.
    fn end_some(&mut self) {
        let is_read = self.at_end && self.read.is_empty() && self.front.is_some();
        while is_read && !self.ended && self.busy < self.most {
            let mut job = self.idle.pop().unwrap_or_default();
            if let Some(job) = Arc::get_mut(&mut job) {
                (job.ends, job.ended) = (true, AtomicBool::new(false));
            }
            self.busy += 1;
            self.flights.push_back(Flight { job, left: self.group_count });
        }
    }

    /// Encodes rows of the table that is this thread's own: frames are made by those that read, segments by the others.
    fn encode_own(&mut self, thread: usize) -> Option<Step<'a>> {
        let place = thread.checked_rem(self.tables.len())?;
        self.encode_of(place)
    }

    fn encode(&mut self, _: usize) -> Option<Step<'a>> {
        let free = self.tables.iter().enumerate().filter(|(_, (_, busy))| !busy);
        let (place, _) = free.max_by_key(|(_, (table, _))| table.waiting())?;
        self.encode_of(place)
    }

    fn encode_of(&mut self, place: usize) -> Option<Step<'a>> {
        let (table, busy) = self.tables.get_mut(place).filter(|(_, busy)| !busy)?;
        *busy = table.waiting() > 0;
        busy.then(|| Step::Encode(place, table.clone()))
    }

    fn is_over(&self) -> bool {
        self.failed.is_some() || self.ended && self.busy == 0
    }
}

/// The state and who waits for it to change.
struct Shared<'a> {
    state: Mutex<State<'a>>,
    changed: Condvar,
    /// Steps done so far: a thread without work looks at this for a moment before it sleeps.
    steps: AtomicUsize,
}

impl<'a> Shared<'a> {
    fn lock(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does steps until there will be no more. `look_up` is told of the progress between them and says whether to go on.
    ///
    /// A step ends and the next is taken at once: a thread that is at it has the first choice of what comes next.
    fn work(&self, thread: usize, look_up: &mut dyn FnMut(u64, Option<u64>) -> ControlFlow<()>) {
        let stop = Stop(self);
        let mut state = self.lock();
        loop {
            let step = state.take(thread);
            // Rows may still wait to be encoded when all else is done.
            let is_over = step.is_none() && state.is_over();
            let (read, of) = state.progress;
            let steps = self.steps.load(Ordering::Relaxed);
            state.waiting += usize::from(step.is_none());
            drop(state);
            if look_up(read, of).is_break() {
                return;
            }
            if is_over {
                break;
            }
            state = match step {
                Some(step) => self.step(step),
                None => self.wait(steps),
            };
        }
        std::mem::forget(stop);
    }

    /// The state once more steps are done than these, or after a while.
    fn wait(&self, steps: usize) -> MutexGuard<'_, State<'a>> {
        let is_new = || self.steps.load(Ordering::Relaxed) != steps;
        let mut spins = 0;
        while spins < SPINS && !is_new() {
            spins += 1;
            std::hint::spin_loop();
        }
        let mut state = self.lock();
        if !is_new() {
            state.asleep += 1;
            state = self.changed.wait_timeout(state, LOOK_UP).unwrap_or_else(PoisonError::into_inner).0;
            state.asleep -= 1;
        }
        state.waiting -= 1;
        state
    }

    /// The state after a step, which others may wait for.
    fn done(&self) -> MutexGuard<'_, State<'a>> {
        let state = self.lock();
        self.steps.fetch_add(1, Ordering::Relaxed);
        if state.asleep > 0 {
            self.changed.notify_all();
        }
        state
    }

    /// Does a step; gives the state after it.
    fn step(&self, step: Step<'a>) -> MutexGuard<'_, State<'a>> {
        let mut state;
        match step {
            Step::Read(mut reader, mut job) => {
                let read = match Arc::get_mut(&mut job) {
                    Some(job) => reader.read(&mut job.packets.batch),
                    None => Ok(false),
                };
                state = self.done();
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
                state = self.done();
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
                state = self.done();
                let flight = (group.next - 1 - state.first) as usize;
                if let Some(flight) = state.flights.get_mut(flight) {
                    flight.left -= 1;
                }
                state.groups.push(group);
            }
            Step::Encode(place, table) => {
                let encoded = table.encode();
                state = self.done();
                state.tables[place].1 = false;
                if let Err(error) = encoded {
                    state.failed = Some(error.into());
                }
            }
            Step::Merge(mut merge, mut job) => {
                let (mut merged, mut over) = (Ok(()), false);
                if let Some(job) = Arc::get_mut(&mut job) {
                    let found = job.found.iter_mut();
                    merged = merge.batch(found.map(|f| f.get_mut().unwrap_or_else(PoisonError::into_inner)));
                    over = job.ends && !*job.ended.get_mut();
                }
                state = self.done();
                state.ended |= over;
                state.merge = Some(merge);
                state.idle.push(job);
                state.busy -= 1;
                if let Err(error) = merged {
                    state.failed = Some(error.into());
                }
            }
        }
        state
    }
}

/// Ends everybody's work: a step panicked, or somebody said so.
struct Stop<'s, 'a>(&'s Shared<'a>);

impl Drop for Stop<'_, '_> {
    fn drop(&mut self) {
        self.0.lock().failed.get_or_insert(AnalyzeError::Interrupted);
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
    tables: Vec<Arc<dyn Encode>>,
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
            tables: tables.into_iter().map(|table| (table, false)).collect(),
            idle: Vec::new(),
            flights: VecDeque::new(),
            first: 0,
            busy: 0,
            most: if threads == 1 { 1 } else { threads + AHEAD },
            threads,
            at_end: false,
            waiting: 0,
            asleep: 0,
            ended: false,
            progress: (0, None),
            failed: None,
        }),
        changed: Condvar::new(),
        steps: AtomicUsize::new(0),
    };
    std::thread::scope(|scope| {
        for thread in 1..threads {
            // A thread that cannot be had is done without.
            let worker = std::thread::Builder::new().name("airperf-analyze".to_owned());
            let shared = &shared;
            let work = move || shared.work(thread, &mut |_, _| ControlFlow::Continue(()));
            let _ = worker.spawn_scoped(scope, work);
        }
        shared.work(0, progress);
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

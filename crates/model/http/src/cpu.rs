//! One processor with two priorities: interrupts, and the processes' jobs behind them.
//!
//! An interrupt takes its time away from the job under way, which resumes afterwards (preemptive resume);
//! jobs run one after the other in order of arrival. The frame that interrupts is handled at once: only the
//! jobs wait. Leaves out time slices and the cost of switching.

use airperf_units::{Duration, Time};
use std::collections::VecDeque;

/// One processor; `J` names a job.
#[derive(Clone, Debug)]
pub struct Cpu<J> {
    jobs: VecDeque<(J, Duration)>,
    interrupts_until: Time,
    done: Option<Time>,
}

impl<J: Copy> Cpu<J> {
    /// An idle processor with room for `jobs` jobs before it allocates.
    pub fn new(jobs: usize) -> Self {
        Self { jobs: VecDeque::with_capacity(jobs), interrupts_until: Time::ZERO, done: None }
    }

    /// When the job under way will be done if nothing interrupts it.
    #[inline]
    pub fn done(&self) -> Option<Time> {
        self.done
    }

    /// An interrupt takes `cost` from `now` on.
    #[inline]
    pub fn interrupt(&mut self, now: Time, cost: Duration) {
        self.interrupts_until = self.interrupts_until.max(now) + cost;
        if let Some(done) = &mut self.done {
            *done += cost;
        }
    }

    /// Adds a job of `cost`.
    pub fn submit(&mut self, now: Time, job: J, cost: Duration) {
        self.jobs.push_back((job, cost));
        if self.done.is_none() {
            self.start(now);
        }
    }

    fn start(&mut self, now: Time) {
        self.done = self.jobs.front().map(|(_, cost)| self.interrupts_until.max(now) + *cost);
    }

    /// Takes the job that is done by `now`, if there is one, and starts the next.
    pub fn take_done(&mut self, now: Time) -> Option<J> {
        if self.done.is_none_or(|done| done > now) {
            return None;
        }
        let (job, _) = self.jobs.pop_front().expect("a job that is done was submitted");
        self.start(now);
        Some(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Time {
        Time::from_ns(n * 1_000_000)
    }

    #[test]
    fn jobs_run_in_turn_and_interrupts_preempt_them() {
        let mut cpu = Cpu::new(4);
        cpu.submit(ms(0), 'a', Duration::from_ms(10));
        cpu.submit(ms(1), 'b', Duration::from_ms(5));
        cpu.interrupt(ms(2), Duration::from_ms(1));
        assert_eq!(cpu.done(), Some(ms(11)));
        assert_eq!(cpu.take_done(ms(10)), None);
        assert_eq!(cpu.take_done(ms(11)), Some('a'));
        assert_eq!(cpu.done(), Some(ms(16)));
        assert_eq!(cpu.take_done(ms(16)), Some('b'));
        assert_eq!(cpu.done(), None);
    }

    #[test]
    fn a_job_waits_for_interrupts_already_pending() {
        let mut cpu = Cpu::new(1);
        cpu.interrupt(ms(0), Duration::from_ms(3));
        cpu.interrupt(ms(1), Duration::from_ms(3));
        cpu.submit(ms(2), 'a', Duration::from_ms(1));
        assert_eq!(cpu.done(), Some(ms(7)));
    }
}

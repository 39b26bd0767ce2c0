//! The server's host: listening socket, process pool, processor.

use crate::gate::Gate;
use airperf_http::{Admission, Cpu, ServerConfig};
use airperf_link::StationId;
use airperf_tcp::{Listener, Stack};
use airperf_units::{Duration, Time};
use std::collections::VecDeque;

/// Where a connection is, and which one it was when that was noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) slot: u32,
    pub(crate) number: u32,
}

/// The server's host.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) station: StationId,
    pub(crate) config: ServerConfig,
    pub(crate) stack: Stack,
    pub(crate) listener: Listener,
    pub(crate) waiting: VecDeque<Handle>,
    pub(crate) idle_processes: u32,
    pub(crate) cpu: Cpu<Handle>,
    pub(crate) admission: Option<Box<Admission<Handle>>>,
    interrupts: bool,
}

impl Server {
    pub(crate) fn new(station: StationId, config: ServerConfig, stack: Stack) -> Self {
        let none = Duration::ZERO;
        let listener = match stack.config().backlog_limits_syns {
            true => Listener::limited_by_backlog(config.backlog, config.syn_queue),
            false => Listener::new(config.backlog, config.syn_queue),
        };
        Self {
            station,
            stack,
            listener,
            waiting: VecDeque::with_capacity(config.backlog as usize + 2),
            idle_processes: config.max_clients,
            cpu: Cpu::new(config.max_clients as usize),
            admission: config.admission.map(|admission| Box::new(Admission::new(admission))),
            interrupts: config.interrupt_cpu_per_frame > none || config.interrupt_cpu_per_byte > none,
            config,
        }
    }

    /// Where a new connection stands.
    pub(crate) fn gate(&self) -> Gate {
        if self.admission.is_some() { Gate::Idle { seen: 0 } } else { Gate::Open }
    }

    /// Charges the processor for `frames` interrupts with `bytes` octets in all.
    #[inline]
    pub(crate) fn interrupt(&mut self, now: Time, frames: u64, bytes: u64) {
        if self.interrupts && frames > 0 {
            let cost =
                self.config.interrupt_cpu_per_frame * frames + self.config.interrupt_cpu_per_byte * bytes;
            self.cpu.interrupt(now, cost);
        }
    }
}

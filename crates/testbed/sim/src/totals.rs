//! Sums over a simulation, kept whoever watches.

use airperf_http::{AdmissionCounts, Exchange, Failure};
use airperf_units::{Duration, Time};
use airperf_workload::Page;

/// Sums over a simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Connections opened.
    pub connections: u64,
    /// Exchanges completed while load was offered.
    pub exchanges_in_time: u64,
    /// Exchanges completed, draining included.
    pub exchanges: u64,
    /// Sum of response times (done − due) of completed exchanges.
    pub response_time: Duration,
    /// Failed exchanges: no connection in time.
    pub failed_connect: u64,
    /// Failed exchanges: the request's body did not get through in time.
    pub failed_send: u64,
    /// Failed exchanges: no first octet in time.
    pub failed_reply: u64,
    /// Failed exchanges: reply incomplete in time.
    pub failed_receive: u64,
    /// Failed exchanges: reset or closed by the server, or given up by TCP.
    pub failed_reset: u64,
    /// Octets of replies received in exchanges that failed.
    pub wasted_bytes: u64,
    /// Pages that were over before the end of the run.
    pub pages: u64,
    /// Of those, the ones of which every object came.
    pub pages_complete: u64,
    /// Packets offered to transmit queues.
    pub packets: u64,
    /// Packets refused by transmit queues.
    pub refused: u64,
    /// Packets the link delivered.
    pub delivered: u64,
    /// Packets the link gave up.
    pub lost: u64,
    /// Frames on the air.
    pub frames: u64,
    /// SYNs the server ignored because a queue was full.
    pub syns_ignored: u64,
    /// Last acknowledgements of a handshake the server ignored because its accept queue was full.
    pub acks_ignored: u64,
    /// Payload octets of flows that arrived before their flow's end.
    pub flow_bytes: u64,
    /// Most connections alive at once.
    pub alive_most: u64,
    /// What the server's admission control did; `None` without one.
    pub admission: Option<AdmissionCounts>,
}

impl Totals {
    pub(crate) fn count(&mut self, exchange: &Exchange, end_of_load: Time) {
        if let Some(done) = exchange.done {
            self.exchanges += 1;
            self.exchanges_in_time += u64::from(done <= end_of_load);
            self.response_time += done - exchange.due;
        }
        match exchange.failure {
            Some(Failure::Connect) => self.failed_connect += 1,
            Some(Failure::Send) => self.failed_send += 1,
            Some(Failure::Reply) => self.failed_reply += 1,
            Some(Failure::Receive) => self.failed_receive += 1,
            Some(Failure::Reset) => self.failed_reset += 1,
            None => return,
        }
        self.wasted_bytes += u64::from(exchange.response_bytes);
    }

    pub(crate) fn count_page(&mut self, page: &Page) {
        self.pages += 1;
        self.pages_complete += u64::from(page.done.is_some());
    }

    /// Failed exchanges of all kinds.
    pub fn failed(&self) -> u64 {
        self.failed_connect + self.failed_send + self.failed_reply + self.failed_receive + self.failed_reset
    }
}

//! The listening side: which handshakes a server's kernel admits.
//!
//! Reference: Linux 2.4 `tcp_v4_conn_request`, `tcp_v4_syn_recv_sock`, `tcp_synack_timer`; since 4.4
//! `tcp_conn_request`, `inet_csk_reqsk_queue_is_full`, `reqsk_timer_handler`, where one backlog limits both queues.
//! Together with the process pool these limits are an admission control: without them overload collapses. Leaves out
//! SYN cookies and deferred accept.

/// Counters of one listening socket.
#[derive(Clone, Copy, Debug)]
pub struct Listener {
    backlog: u32,
    /// Most half-open connections.
    syn_queue: u32,
    /// With more half-open connections than this, repeats shrink.
    crowded: u32,
    /// Young requests that may still be let in while the accept queue is over its limit.
    young_let_in: u32,
    half_open: u32,
    young: u32,
    waiting: u32,
}

impl Listener {
    /// A socket that holds `syn_queue` half-open connections and completes handshakes while at most
    /// `backlog` connections wait for accept.
    pub const fn new(backlog: u32, syn_queue: u32) -> Self {
        let crowded = (syn_queue / 2).saturating_sub(1);
        Self { backlog, syn_queue, crowded, young_let_in: 2, half_open: 0, young: 0, waiting: 0 }
    }

    /// The same on a kernel whose `backlog` limits half-open connections too. The last quarter of `syn_queue` is
    /// kept for hosts known to be alive, and without records of earlier connections none is.
    pub const fn limited_by_backlog(backlog: u32, syn_queue: u32) -> Self {
        let for_strangers = syn_queue - syn_queue / 4;
        let most = if backlog < for_strangers { backlog } else { for_strangers };
        Self { crowded: backlog / 2, young_let_in: 0, ..Self::new(backlog, most.saturating_add(1)) }
    }

    /// Whether a new SYN is answered.
    #[inline]
    pub fn admits_syn(&self) -> bool {
        self.half_open < self.syn_queue && (self.waiting <= self.backlog || self.young < self.young_let_in)
    }

    /// Whether the handshake's last acknowledgement is taken; else the connection stays half open.
    #[inline]
    pub fn admits_ack(&self) -> bool {
        self.waiting <= self.backlog
    }

    /// How often a SYN-ACK may be sent again now, of at most `max` times: old requests make way for young
    /// ones when the SYN queue is more than half full.
    pub fn synack_retries(&self, max: u8) -> u8 {
        if self.half_open <= self.crowded {
            return max;
        }
        let mut young = self.young * 2;
        let mut retries = max;
        while retries > 2 && self.half_open >= young {
            retries -= 1;
            young = young.saturating_mul(2);
        }
        retries
    }

    /// A SYN was answered.
    #[inline]
    pub fn opened(&mut self) {
        self.half_open += 1;
        self.young += 1;
    }

    /// A SYN-ACK was sent again for the first time.
    pub fn aged(&mut self) {
        self.young -= 1;
    }

    /// A half-open connection was completed or given up; `young` when its SYN-ACK was never repeated.
    #[inline]
    pub fn left(&mut self, young: bool) {
        self.half_open -= 1;
        self.young -= u32::from(young);
    }

    /// A completed connection waits for accept.
    #[inline]
    pub fn queued(&mut self) {
        self.waiting += 1;
    }

    /// A process accepted a connection.
    #[inline]
    pub fn accepted(&mut self) {
        self.waiting -= 1;
    }

    /// Half-open connections.
    pub fn half_open(&self) -> u32 {
        self.half_open
    }

    /// Connections that wait for accept.
    pub fn waiting(&self) -> u32 {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_where_the_kernel_has_them() {
        let mut l = Listener::new(2, 8);
        for _ in 0..8 {
            assert!(l.admits_syn());
            l.opened();
        }
        assert!(!l.admits_syn(), "the SYN queue is full");
        for _ in 0..3 {
            assert!(l.admits_ack());
            l.left(true);
            l.queued();
        }
        assert!(!l.admits_ack(), "more than the backlog waits");
        assert!(!l.admits_syn(), "more than one young request while the accept queue is over its limit");
        for _ in 0..4 {
            l.aged();
        }
        assert!(l.admits_syn(), "one young request is let in");
        l.accepted();
        assert!(l.admits_ack());
    }

    #[test]
    fn one_backlog_limits_both_queues_of_todays_kernel() {
        let mut l = Listener::limited_by_backlog(4, 256);
        for _ in 0..5 {
            assert!(l.admits_syn());
            l.opened();
        }
        assert!(!l.admits_syn(), "more half open than the backlog");
        for _ in 0..5 {
            assert!(l.admits_ack());
            l.left(true);
            l.queued();
        }
        assert!(!l.admits_ack() && !l.admits_syn(), "a full accept queue lets no young request in either");
        l.accepted();
        assert!(l.admits_ack() && l.admits_syn());
        let mut l = Listener::limited_by_backlog(1_000, 256);
        (0..193).for_each(|_| l.opened());
        assert!(!l.admits_syn(), "the last quarter of the SYN queue is for hosts known to be alive");
    }

    #[test]
    fn repeats_shrink_when_old_requests_crowd_the_queue() {
        let mut l = Listener::new(128, 256);
        (0..100).for_each(|_| l.opened());
        assert_eq!(l.synack_retries(5), 5);
        (0..100).for_each(|_| l.opened());
        assert_eq!(l.synack_retries(5), 5, "200 requests, all young");
        (0..150).for_each(|_| l.aged());
        assert_eq!(l.synack_retries(5), 3, "50 young of 200: 200 >= 100, 200 >= 200, 200 < 400");
        (0..50).for_each(|_| l.aged());
        assert_eq!(l.synack_retries(5), 2, "none young");
    }
}

//! NewReno: a partial acknowledgement shows the next hole (RFC 6582 §3.2 step 3).

use super::{Recovery, Window};

pub(super) fn recovery_ack(window: &mut Window, acked: u32, flight: u32, partial: bool) -> Recovery {
    if partial {
        // Deflate by what was acknowledged, add back the one segment that left.
        window.cwnd = (window.cwnd.saturating_sub(acked) + 1).max(1);
        Recovery::NextHole
    } else {
        // Step 3, option 1: no burst when much was outstanding but little is left.
        window.cwnd = window.ssthresh.min(flight.max(1) + 1);
        Recovery::Over
    }
}

//! Reno: the first new acknowledgement ends fast recovery (RFC 5681 §3.2 step 6).

use super::{Recovery, Window};

pub(super) fn recovery_ack(window: &mut Window) -> Recovery {
    window.cwnd = window.ssthresh;
    Recovery::Over
}

//! What the machine lets a load use, looked at before it begins: descriptors and ports.
//!
//! A want here is no error: the load may be shorter or the server quicker than feared. It is told, and
//! what then really fails is counted apart (faults row 11). See getrlimit(2), ip(7) (ip_local_port_range).
//!
//! Left out: raising what needs privilege.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::plan::{Plan, Process};

/// Descriptors besides the connections': of the interpreter, the tables, the poll.
const OTHERS: u64 = 64;
/// How long a closed connection keeps its port (TCP_TIMEWAIT_LEN of Linux).
const TIME_WAIT_NS: u64 = 60_000_000_000;

/// Raises the limit of descriptors as far as it goes, and says what may not be enough.
pub(crate) fn prepare(plan: &Plan) -> Vec<String> {
    let mut notes = Vec::new();
    let mut have = u64::MAX;
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        have = soft;
        if soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() {
            have = hard;
        }
    }
    let need = most_at_once(plan).saturating_add(OTHERS);
    if need > have {
        notes.push(format!(
            "this process may open {have} files, and the load may need {need} if nothing is answered: \
             raise the limit (ulimit -n)"
        ));
    }
    if let Some((ports, need)) = ports(plan)
        && need > ports
    {
        notes.push(format!(
            "each source address has {ports} ports, and the load may hold {need} of them: use several source \
             addresses, or close with a reset"
        ));
    }
    notes
}

/// Connections that are open at once if none of them is ever answered.
fn most_at_once(plan: &Plan) -> u64 {
    let of_client = |rate: Option<u64>| {
        let limit =
            plan.concurrency_limit.map_or(u64::MAX, u64::from).min(plan.connections.unwrap_or(u64::MAX));
        let Some(rate) = rate else { return limit };
        let longest = plan.duration_ns.unwrap_or(u64::MAX).min(plan.timeout_ns.unwrap_or(plan.drain_ns));
        limit.min(per(rate, longest))
    };
    let rate = plan.arrivals.as_ref().and_then(|arrivals| arrivals.rate_micro);
    let once = plan.arrivals.as_ref().is_some_and(|arrivals| arrivals.process == Process::Once);
    let users = if once { 1 } else { of_client(rate) };
    let each = plan.users.as_ref().map_or(1, |users| u64::from(users.connections));
    users.saturating_mul(each).saturating_mul(plan.clients.len() as u64)
}

fn per(rate_micro: u64, span_ns: u64) -> u64 {
    let count = u128::from(rate_micro) * u128::from(span_ns) / 1_000_000_000_000_000;
    count.min(u128::from(u64::MAX)) as u64
}

/// Ports of a source address, and how many of them closed connections may hold; `None` where that cannot be
/// known or does not matter: on loopback Linux uses such ports again after a second (tcp_tw_reuse 2).
fn ports(plan: &Plan) -> Option<(u64, u64)> {
    if plan.target.address.is_loopback() || plan.close_with_reset {
        return None;
    }
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut ends = text.split_whitespace().map(|end| end.parse::<u64>().ok());
    let (low, high) = (ends.next()??, ends.next()??);
    let rate = plan.arrivals.as_ref().and_then(|arrivals| arrivals.rate_micro)?;
    let longest = plan.duration_ns.unwrap_or(TIME_WAIT_NS).min(TIME_WAIT_NS);
    let sharing =
        plan.clients.iter().filter(|client| client.netns.is_none() && client.source.is_none()).count();
    let wanted = per(rate, longest).min(plan.connections.unwrap_or(u64::MAX));
    Some((high + 1 - low, wanted.saturating_mul(sharing.max(1) as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_11_what_may_not_be_enough_is_told_before() {
        let text = r#"{"schema":1,"target":{"address":"192.0.2.1","port":80},"allow":["192.0.2.1"],
            "arrivals":{"rate_micro":1000000000000},"duration_ns":60000000000,"timeout_ns":5000000000}"#;
        let mut plan: Plan = serde_json::from_str(text).unwrap();
        assert_eq!(most_at_once(&plan), 5_000_000);
        let notes = prepare(&plan);
        assert!(
            notes.len() == 2 && notes[0].contains("ulimit -n") && notes[1].contains("ports"),
            "{notes:?}"
        );
        plan.concurrency_limit = Some(10);
        plan.close_with_reset = true;
        assert_eq!(prepare(&plan), Vec::<String>::new());
    }
}

//! What became of one exchange, and the rows made of it: a run's names stations, a capture's addresses.

use std::net::IpAddr;

use airperf_record::{ExchangeRow, capture};

use super::head::Words;

/// What a server answers that admits no more requests (RFC 9110 §15.6.4).
const SERVICE_UNAVAILABLE: u16 = 503;

/// One exchange whose outcome is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Its place on its connection, from 0.
    pub(crate) index: u32,
    pub(crate) sent_ns: Option<u64>,
    pub(crate) asked_ns: Option<u64>,
    pub(crate) first_byte_ns: Option<u64>,
    pub(crate) done_ns: Option<u64>,
    pub(crate) request_bytes: u64,
    pub(crate) response_bytes: u64,
    pub(crate) body_bytes: u64,
    pub(crate) version: Option<u8>,
    pub(crate) status: Option<u16>,
    pub(crate) words: Option<Box<Words>>,
    pub(crate) error: Option<&'static str>,
}

/// The ends of a connection of a capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) client: IpAddr,
    pub(crate) server: IpAddr,
    pub(crate) server_port: u16,
}

impl Outcome {
    /// The row of a run; `due_ns` is the workload's to know. A request that was refused (`503`) has no reply: as in
    /// simulation its connection was ended by the server.
    pub(crate) fn of_run(self, connection: u64, client: u16) -> ExchangeRow {
        let refused = self.status == Some(SERVICE_UNAVAILABLE) && self.done_ns.is_some();
        ExchangeRow {
            connection,
            index: self.index,
            client,
            due_ns: None,
            sent_ns: self.sent_ns,
            first_byte_ns: self.first_byte_ns,
            done_ns: self.done_ns.filter(|_| !refused),
            request_bytes: self.request_bytes,
            response_bytes: self.response_bytes,
            error: if refused { Some("reset") } else { self.error },
        }
    }

    /// The row of a capture.
    pub(crate) fn of_capture(self, connection: u64, ends: &Ends) -> capture::ExchangeRow {
        let Words { method, target, host, content_type } = self.words.map(|w| *w).unwrap_or_default();
        capture::ExchangeRow {
            connection,
            index: self.index,
            client: ends.client,
            server: ends.server,
            server_port: ends.server_port,
            method,
            target,
            host,
            version: self.version,
            status: self.status,
            content_type,
            sent_ns: self.sent_ns,
            asked_ns: self.asked_ns,
            first_byte_ns: self.first_byte_ns,
            done_ns: self.done_ns,
            request_bytes: self.request_bytes,
            response_bytes: self.response_bytes,
            body_bytes: self.body_bytes,
            complete: self.done_ns.is_some(),
            error: self.error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_request_of_a_run_has_no_reply_and_one_of_a_capture_has() {
        let outcome = |status| Outcome { status: Some(status), done_ns: Some(9), ..Outcome::default() };
        let told = |status| {
            let row = outcome(status).of_run(0, 1);
            (row.done_ns, row.error)
        };
        assert_eq!((told(200), told(503)), ((Some(9), None), (None, Some("reset"))));
        let any = IpAddr::from([10, 77, 0, 1]);
        let ends = Ends { client: any, server: any, server_port: 80 };
        assert_eq!(outcome(503).of_capture(0, &ends).done_ns, Some(9));
    }
}

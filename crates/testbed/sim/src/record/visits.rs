//! Browsers in the records: the rows of `objects.parquet`, and the octets of look-ups in the capture (RFC 1035 §4.1).

use crate::{ObjectSeen, Payload};
use airperf_record::ObjectRow;
use airperf_scenario::Browser;
use airperf_units::Time;
use std::net::Ipv4Addr;

/// The name server's port.
pub(super) const NAME_PORT: u16 = 53;

/// The browser's port of a look-up.
pub(super) const fn port(host: u32) -> u16 {
    40_000 + (host % 10_000) as u16
}

/// The row of an object.
pub(super) fn row(browsers: &[Browser], object: &ObjectSeen<'_>) -> ObjectRow {
    let browser = &browsers[object.browser as usize];
    let (of_page, seen) = (&browser.page.objects[object.object as usize], object.seen);
    let ns = |time: Option<Time>| time.map(Time::as_ns);
    ObjectRow {
        client: browser.station.0,
        load: object.load,
        object: object.object,
        host: of_page.host,
        found_in: of_page.found_in,
        looked_up_ns: ns(seen.looked_up),
        found_ns: ns(seen.found),
        sent_ns: ns(seen.sent),
        first_byte_ns: ns(seen.first_byte),
        done_ns: ns(seen.done),
        connection: object.connection.map(u64::from),
        source: if seen.pushed { "pushed" } else { "asked" },
        body_bytes: of_page.bytes,
        request_bytes: seen.request_bytes,
        response_bytes: seen.received,
    }
}

/// Makes `out` a question for a host's address, or the answer to it.
pub(super) fn look_up(browser: &Browser, payload: &Payload, host: u32, address: Ipv4Addr, out: &mut Vec<u8>) {
    out.clear();
    let name = browser.page.hosts.get(host as usize).map_or("", |host| host.name.as_str());
    let name = name.rsplit_once(':').map_or(name, |(name, _)| name);
    let answers = u8::from(!payload.to_server);
    // Recursion desired; in the answer a response, recursion available.
    let flags: [u8; 2] = if payload.to_server { [0x01, 0x00] } else { [0x81, 0x80] };
    out.extend_from_slice(&(host as u16).to_be_bytes());
    out.extend_from_slice(&flags);
    out.extend_from_slice(&[0, 1, 0, answers, 0, 0, 0, 0]);
    for label in name.split('.') {
        let label = &label.as_bytes()[..label.len().min(63)];
        out.push(label.len() as u8);
        out.extend_from_slice(label);
    }
    out.extend_from_slice(&[0, 0, 1, 0, 1]);
    if !payload.to_server {
        // The name by a pointer to the question's, type A, class IN, 60 s.
        out.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        out.extend_from_slice(&address.octets());
    }
}

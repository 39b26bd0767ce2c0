//! The listing of a capture's frames, decoded at all layers.

use super::options::Options;
use super::source::{self, Watch};
use crate::error;
use airperf_analyze::capture::{Filter, Summary};
use airperf_wire::container::{Batch, Source};
use airperf_wire::{Decoder, Frame, Ip, Payload, Transport};
use pyo3::prelude::*;
use std::fmt::Write as _;

/// Characters gathered before they are handed over.
const PART: usize = 1 << 16;

/// Writes what is in each frame of a capture, one line for each layer.
///
/// Args:
///     paths: The files, one after the other; "-" is the standard input.
///     options: JSON as for analyze_capture; of it "filter" and "limit" (how many frames at most; null for all) count.
///         Clients and servers are either end of a packet here.
///     write: Called with parts of the text, on the calling thread. What it raises ends the listing.
///
/// Returns:
///     JSON with the keys of a summary; of these "packets", "bytes", "truncated_at", "files" and "notices" are told, those
///     of connections are zero.
///
/// Raises:
///     CaptureError: When a file is no capture.
///     ValueError: When the options are none.
///     OSError: When a file cannot be read.
///     KeyboardInterrupt: After Ctrl-C.
#[pyfunction]
// PyO3 hands arguments over as values.
#[expect(clippy::needless_pass_by_value)]
pub(super) fn describe_frames(
    py: Python<'_>,
    paths: Vec<String>,
    options: &str,
    write: Py<PyAny>,
) -> PyResult<String> {
    let options = Options::parse(options)?;
    let watch = Watch::new(None);
    let result = py.detach(|| list(&paths, &options, &watch, &write));
    watch.outcome(result)
}

fn list(paths: &[String], options: &Options, watch: &Watch, write: &Py<PyAny>) -> PyResult<String> {
    let mut sources = source::open(paths, watch)?;
    sources.sort_by_key(Source::first_time_ns);
    let filter = options.filter(&sources);
    let mut left = options.limit.unwrap_or(u64::MAX);
    let mut summary = Summary::default();
    let mut decoder = Decoder::new();
    let mut batch = Batch::default();
    let mut text = String::new();
    let mut done: Vec<Source> = Vec::new();
    for mut source in sources {
        if let Some(before) = done.last() {
            source.count_on(before);
        }
        while left > 0 && source.read(&mut batch).map_err(|error| error::read(&error))? {
            decoder.learn(&batch);
            for record in batch.records() {
                if left == 0 {
                    break;
                }
                summary.packets += 1;
                summary.bytes += u64::from(record.original);
                let bytes = batch.bytes(record);
                let time = record.time_ns;
                let is_early = filter.from_ns.is_some_and(|from| time < from);
                if is_early || filter.to_ns.is_some_and(|to| time >= to) {
                    continue;
                }
                if !passes(&filter, &decoder.decode(record, bytes)) {
                    continue;
                }
                left -= 1;
                let _ = write!(text, "{}", decoder.describe(record, bytes));
                if text.len() >= PART {
                    Python::attach(|py| write.call1(py, (std::mem::take(&mut text),)))?;
                }
                if !watch.tell(0, None) {
                    return Ok(String::new());
                }
            }
        }
        summary.source(&source);
        done.push(source);
    }
    summary.decoder(&decoder);
    Python::attach(|py| write.call1(py, (text,)))?;
    Ok(summary.to_json().to_string())
}

/// Whether the packet of a frame is to be shown; without a filter every frame is.
fn passes(filter: &Filter, frame: &Frame<'_>) -> bool {
    let Filter { hosts, clients, servers, ports, .. } = filter;
    if hosts.is_empty() && clients.is_empty() && servers.is_empty() && ports.is_empty() {
        return true;
    }
    let one = |ip: &Ip<'_>| {
        let ends = [ip.source(), ip.destination()];
        let among = |list: &[std::net::IpAddr]| list.is_empty() || ends.iter().any(|end| list.contains(end));
        let of_ports = |a: u16, b: u16| ports.is_empty() || ports.contains(&a) || ports.contains(&b);
        let by_port = || match ip.transport() {
            Ok(Transport::Tcp(tcp)) => of_ports(tcp.source_port(), tcp.destination_port()),
            Ok(Transport::Udp(udp)) => of_ports(udp.source_port(), udp.destination_port()),
            _ => ports.is_empty(),
        };
        among(hosts) && among(clients) && among(servers) && by_port()
    };
    match frame.payload {
        Payload::Ip(ip) => one(&ip),
        Payload::Amsdu(mut parts) => parts.any(|part| matches!(part, Payload::Ip(ip) if one(&ip))),
        _ => false,
    }
}

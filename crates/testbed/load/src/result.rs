//! What a load came to, as JSON: rates, times, errors, and whether to believe it.
//!
//! Response times run from *due* and service times from *sent* (Tene, "How not to measure latency"): where
//! they part, the generator or the server made requests wait, and the service time alone would hide it.
//! A time or rate that was not measured is null. Milliseconds and microseconds are decimal numbers, exact to
//! the nanosecond before rounding.
//!
//! Left out: the text a person reads; that is the command line's.

use std::collections::BTreeMap;

use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use serde::Serialize;

use crate::engine::Finished;
use crate::plan::{Plan, SCHEMA};
use crate::request::Requests;
use crate::stats::{Bytes, Cause, Outcome, Pages, Sample, Stats, Times};

/// Connections opened below this share of those due: the generator did not offer what it should.
const LEAST_SHARE: f64 = 0.99;

/// What a load came to.
#[derive(Clone, Debug, Serialize)]
pub struct LoadResult {
    /// Version of this object.
    pub schema: u32,
    /// Whether connections were opened by a schedule.
    pub open_loop: bool,
    /// Requests wanted per second, by all clients; null in a closed loop.
    pub offered_rps: Option<f64>,
    /// Connections (or sessions) wanted per second, by all clients; null in a closed loop.
    pub offered_cps: Option<f64>,
    /// Connections opened per second, of those due: until the last was due, or opened if that was later.
    pub opened_cps: f64,
    /// Replies completed per second until the load's end.
    pub carried_rps: f64,
    /// Seconds until the last connection was due.
    pub load_s: f64,
    /// Seconds until the last connection had ended.
    pub elapsed_s: f64,
    /// Requests sent, at least their first octet.
    pub sent: u64,
    /// Replies completed.
    pub completed: u64,
    /// Replies completed until the load's end.
    pub completed_in_time: u64,
    /// Exchanges under way when the time was up.
    pub unfinished: u64,
    /// Requests wanted of connections that ended before, and so never begun.
    pub not_sent: u64,
    /// Exchanges that failed, by phase.
    pub errors: Errors,
    /// Connections that failed, by what was behind it.
    pub causes: BTreeMap<&'static str, u64>,
    /// Connections this machine could not make: no errors of the server, and in no time below.
    pub local: Local,
    /// Connections by what became of them.
    pub connections: Connections,
    /// From due to the last octet of the reply.
    pub response_ms: TimesMs,
    /// From sent to the last octet of the reply.
    pub service_ms: TimesMs,
    /// The handshake.
    pub connect_ms: TimesMs,
    /// From sent to the first octet of the reply.
    pub first_byte_ms: TimesMs,
    /// From the first octet of the reply to its last.
    pub transfer_ms: TimesMs,
    /// From opening to close, of connections that carried a reply and did not fail.
    pub connection_ms: TimesMs,
    /// From opening to close of sessions that were completed; null without sessions.
    pub session_ms: Option<TimesMs>,
    /// The same of sessions that failed.
    pub failed_session_ms: Option<TimesMs>,
    /// Pages by how they ended; null unless users are drawn.
    pub pages: Option<Pages>,
    /// From due to the last object, of pages that came whole; null unless users are drawn.
    pub page_ms: Option<TimesMs>,
    /// From due to connect(2).
    pub schedule_error_us: TimesUs,
    /// Bound of its 99th percentile.
    pub schedule_bound_us: f64,
    /// Whether the load was not what the plan wanted, for a reason on this machine.
    pub generator_limited: bool,
    /// Why, and what else to know; one sentence each.
    pub why: Vec<String>,
    /// Octets.
    pub bytes: Bytes,
    /// Replies by class of status: 1xx to 5xx.
    pub status: BTreeMap<&'static str, u64>,
    /// Replies by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Connections by the replies they carried.
    pub replies_per_connection: BTreeMap<u32, u64>,
    /// Processor time of the generator.
    pub cpu: Cpu,
    /// What happened in every five seconds, the last sample perhaps shorter.
    pub rates: Vec<Rate>,
    /// Connections due within the warm-up, which is in no other figure.
    pub warmup_connections: u64,
    /// Rows that could not be written in time.
    pub rows_dropped: u64,
    /// Whether the result may be used.
    pub valid: bool,
    /// Why not.
    pub why_invalid: Vec<String>,
    /// Whether the caller ended the load before its time.
    pub interrupted: bool,
    /// Histograms of nanoseconds, HdrHistogram V2 compressed, base64, by name.
    pub hdr: BTreeMap<&'static str, String>,
    /// The same as the text of an HdrHistogram log file, with a tag for each.
    pub hdr_log: String,
}

/// Exchanges that failed, by phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Errors {
    /// No connection.
    pub connect: u64,
    /// The request was not taken.
    pub send: u64,
    /// No octet of a reply.
    pub reply: u64,
    /// A reply that did not end.
    pub receive: u64,
    /// Reset or closed by the server in the middle.
    pub reset: u64,
    /// A reply that makes no sense.
    pub framing: u64,
}

/// Connections this machine could not make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Local {
    /// No descriptor left in this process (EMFILE).
    pub fd: u64,
    /// No room in the machine's table of files (ENFILE).
    pub file_table: u64,
    /// No port left (EADDRNOTAVAIL).
    pub port: u64,
    /// The plan's own limit of connections.
    pub limit: u64,
    /// Anything else (ENOBUFS, ENOMEM …).
    pub other: u64,
}

/// Connections by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Connections {
    /// Became due: the sum of local failures and of `opened`, without those sessions opened again.
    pub due: u64,
    /// connect(2) was called.
    pub opened: u64,
    /// The handshake was completed.
    pub established: u64,
    /// Connections (or sessions) all of whose exchanges were completed.
    pub completed: u64,
    /// Connections (or sessions) that failed.
    pub failed: u64,
    /// Under way when the time was up.
    pub unfinished: u64,
    /// Closed by the server in good order, with requests left.
    pub closed_early: u64,
    /// Most at once.
    pub most_concurrent: u64,
    /// Most opened in a row without a pause.
    pub longest_burst: u64,
}

/// A measured time in milliseconds; null without measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "a statistic's name is its documentation")]
pub struct TimesMs {
    pub count: u64,
    pub mean: Option<f64>,
    pub min: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    pub max: Option<f64>,
    /// As `mean` and `p50`, under httperf's names.
    pub avg: Option<f64>,
    pub median: Option<f64>,
    /// Of the sample.
    pub stddev: Option<f64>,
}

/// A measured time in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "a statistic's name is its documentation")]
pub struct TimesUs {
    pub count: u64,
    pub mean: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p99: Option<f64>,
    pub max: Option<f64>,
}

/// Processor time of the generating thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cpu {
    /// Seconds in user mode.
    pub user_s: f64,
    /// Seconds in the kernel.
    pub system_s: f64,
    /// Both as a share of the elapsed time.
    pub share: f64,
}

/// Rates over one sample of five seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// End of the sample, seconds.
    pub at_s: f64,
    /// Its length, seconds.
    pub span_s: f64,
    /// Connections opened per second.
    pub connections_per_s: f64,
    /// Requests sent per second.
    pub requests_per_s: f64,
    /// Replies completed per second.
    pub replies_per_s: f64,
    /// Exchanges that failed per second.
    pub errors_per_s: f64,
    /// Connections (or sessions) per second all of whose exchanges were completed.
    pub ends_per_s: f64,
}

impl LoadResult {
    /// The result of a finished load; `clocks` says why the clocks make it invalid, `notes` what was noticed
    /// before it began.
    pub(crate) fn of(
        plan: &Plan,
        finished: &Finished,
        rows_dropped: u64,
        clocks: Vec<String>,
        notes: Vec<String>,
    ) -> Self {
        let Finished { stats, elapsed_ns, load_end_ns, .. } = finished;
        let (elapsed_s, load_s) = (*elapsed_ns as f64 / 1e9, *load_end_ns as f64 / 1e9);
        let warmup_s = plan.warmup_ns as f64 / 1e9;
        let measured_s = (load_s - warmup_s).max(1e-9);
        let opening_s = measured_s.max(stats.last_opened_ns as f64 / 1e9 - warmup_s);
        let each = plan.arrivals.as_ref().and_then(|arrivals| arrivals.rate_micro);
        let offered_cps = each.map(|micro| micro as f64 / 1e6 * plan.clients.len() as f64);
        let requests = Requests::of(plan).mean_steps().unwrap_or(f64::from(plan.requests_per_connection));
        let mut why = notes;
        let generator_limited = limits(plan, stats, &mut why);
        if rows_dropped > 0 {
            why.push(format!("{rows_dropped} rows are not in the tables: the disk was too slow for them"));
        }
        if finished.interrupted {
            why.push("the load was ended before its time".to_owned());
        }
        let sessions = plan.has_sessions();
        let (user_s, system_s) = finished.cpu_s;
        let error = |outcome| stats.errors.get(&outcome).copied().unwrap_or(0);
        let local = |cause| stats.local.get(&cause).copied().unwrap_or(0);
        let named = [
            ("response", &stats.response),
            ("service", &stats.service),
            ("connect", &stats.connect),
            ("schedule_error", &stats.schedule_error),
        ];
        Self {
            schema: SCHEMA,
            open_loop: plan.is_open_loop(),
            offered_rps: offered_cps.map(|rate| rate * requests),
            offered_cps,
            opened_cps: stats.opened as f64 / opening_s,
            carried_rps: stats.completed_in_time as f64 / measured_s,
            load_s,
            elapsed_s,
            sent: stats.sent,
            completed: stats.completed,
            completed_in_time: stats.completed_in_time,
            unfinished: stats.unfinished,
            not_sent: stats.not_sent,
            errors: Errors {
                connect: error(Outcome::Connect),
                send: error(Outcome::Send),
                reply: error(Outcome::Reply),
                receive: error(Outcome::Receive),
                reset: error(Outcome::Reset),
                framing: error(Outcome::Framing),
            },
            causes: stats.causes.iter().map(|(cause, &count)| (cause.name(), count)).collect(),
            local: Local {
                fd: local(Cause::Descriptors),
                file_table: local(Cause::FileTable),
                port: local(Cause::Ports),
                limit: local(Cause::Limit),
                other: local(Cause::Other),
            },
            connections: Connections {
                due: stats.due,
                opened: stats.opened,
                established: stats.established,
                completed: stats.completed_connections,
                failed: stats.failed_connections,
                unfinished: stats.unfinished_connections,
                closed_early: stats.closed_early,
                most_concurrent: stats.most_concurrent,
                longest_burst: stats.longest_burst,
            },
            response_ms: ms(&stats.response),
            service_ms: ms(&stats.service),
            connect_ms: ms(&stats.connect),
            first_byte_ms: ms(&stats.first_byte),
            transfer_ms: ms(&stats.transfer),
            connection_ms: ms(&stats.lifetime),
            session_ms: sessions.then(|| ms(&stats.session)),
            failed_session_ms: sessions.then(|| ms(&stats.failed_session)),
            pages: plan.users.as_ref().map(|_| stats.pages),
            page_ms: plan.users.as_ref().map(|_| ms(&stats.page)),
            schedule_error_us: us(&stats.schedule_error),
            schedule_bound_us: plan.schedule_bound_ns as f64 / 1e3,
            generator_limited,
            why,
            bytes: stats.bytes,
            status: ["other", "1xx", "2xx", "3xx", "4xx", "5xx"]
                .into_iter()
                .zip(stats.status)
                .skip(1)
                .collect(),
            statuses: stats.statuses.clone(),
            replies_per_connection: stats.replies_per_connection.clone(),
            cpu: Cpu { user_s, system_s, share: (user_s + system_s) / elapsed_s.max(1e-9) },
            rates: stats.samples.iter().filter_map(rate).collect(),
            warmup_connections: finished.warmup.due,
            rows_dropped,
            valid: clocks.is_empty(),
            why_invalid: clocks,
            interrupted: finished.interrupted,
            hdr: named.iter().map(|(name, times)| (*name, encoded(times))).collect(),
            hdr_log: log(&named, elapsed_s),
        }
    }
}

/// Whether and why the load was not what the plan wanted (faults rows 11 and 12).
fn limits(plan: &Plan, stats: &Stats, why: &mut Vec<String>) -> bool {
    let before = why.len();
    let tried = stats.due - stats.local_failures().min(stats.due);
    for (cause, &count) in &stats.local {
        let what = match cause {
            Cause::Descriptors => "this process had no descriptor left (raise ulimit -n)",
            Cause::FileTable => "the machine's table of files was full (raise fs.file-max)",
            Cause::Ports => "no port was left (use several source addresses, or --close-with-reset)",
            Cause::Limit => "the plan's limit of connections was reached",
            _ => "this machine had no memory or buffers left",
        };
        why.push(format!("{count} connections were not made: {what}"));
    }
    if !plan.is_open_loop() {
        return why.len() > before;
    }
    let mut limited = false;
    if (tried as f64) < stats.due as f64 * LEAST_SHARE {
        let share = 100.0 * tried as f64 / stats.due as f64;
        why.push(format!("{share:.1} % of the connections that were due were opened, 99 % are wanted"));
        limited = true;
    }
    let bound = plan.schedule_bound_ns;
    if let Some(p99) = stats.schedule_error.quantile(0.99).filter(|&p99| p99 > bound) {
        let (p99, bound) = (p99 as f64 / 1e6, bound as f64 / 1e6);
        why.push(format!("1 % of the connections were opened more than {p99:.1} ms after they were due, the bound is {bound:.1} ms: this machine was too slow for the rate, or too busy"));
        limited = true;
    }
    limited
}

fn ms(times: &Times) -> TimesMs {
    let scaled = |ns: u64| ns as f64 / 1e6;
    let q = |q| times.quantile(q).map(scaled);
    let mean = times.mean().map(|ns| ns / 1e6);
    TimesMs {
        count: times.count(),
        mean,
        min: times.min().map(scaled),
        p50: q(0.5),
        p90: q(0.9),
        p95: q(0.95),
        p99: q(0.99),
        p999: q(0.999),
        max: times.max().map(scaled),
        avg: mean,
        median: q(0.5),
        stddev: times.deviation().map(|ns| ns / 1e6),
    }
}

fn us(times: &Times) -> TimesUs {
    let scaled = |ns: u64| ns as f64 / 1e3;
    let q = |q| times.quantile(q).map(scaled);
    TimesUs {
        count: times.count(),
        mean: times.mean().map(|ns| ns / 1e3),
        p50: q(0.5),
        p90: q(0.9),
        p99: q(0.99),
        max: times.max().map(scaled),
    }
}

fn rate(sample: &Sample) -> Option<Rate> {
    let per_s = |count: u64| count as f64 / sample.span_s;
    (sample.span_s > 0.0).then(|| Rate {
        at_s: sample.at_s,
        span_s: sample.span_s,
        connections_per_s: per_s(sample.connections),
        requests_per_s: per_s(sample.requests),
        replies_per_s: per_s(sample.replies),
        errors_per_s: per_s(sample.errors),
        ends_per_s: per_s(sample.ends),
    })
}

/// The payload of one line of a log: what the histogram's tools exchange.
fn encoded(times: &Times) -> String {
    let (mut bytes, mut text) = (Vec::new(), String::new());
    // Writing to memory cannot fail.
    let _ = V2DeflateSerializer::new().serialize(&times.histogram, &mut bytes);
    base64(&bytes, &mut text);
    text
}

/// RFC 4648 §4.
fn base64(bytes: &[u8], text: &mut String) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
}

/// An HdrHistogram log with one interval, the whole load, for each time.
fn log(named: &[(&'static str, &Times)], elapsed_s: f64) -> String {
    use hdrhistogram::serialization::interval_log::Tag;
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder.add_comment("airperf load: nanoseconds");
    if let Ok(mut writer) = builder.begin_log_with(&mut bytes, &mut serializer) {
        for (name, times) in named {
            let length = std::time::Duration::from_secs_f64(elapsed_s);
            let _ =
                writer.write_histogram(&times.histogram, std::time::Duration::ZERO, length, Tag::new(name));
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        let coded = |text: &str| {
            let mut coded = String::new();
            base64(text.as_bytes(), &mut coded);
            coded
        };
        assert_eq!(
            ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(coded),
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]
        );
    }
}

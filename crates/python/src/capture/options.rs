//! Options of an analysis as JSON.

use airperf_analyze::capture::{Filter, Options as Analysis};
use airperf_wire::container::Source;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::net::IpAddr;
use std::time::Duration;

/// What a caller may choose; see `analyze_capture`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Options {
    threads: Option<usize>,
    strict_checksum: bool,
    sort_window_ns: Option<u64>,
    max_connections: Option<usize>,
    series_interval_ns: Option<u64>,
    filter: Selection,
    pub(super) replace: bool,
    /// Frames that are listed at most.
    pub(super) limit: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Selection {
    hosts: Vec<IpAddr>,
    clients: Vec<IpAddr>,
    servers: Vec<IpAddr>,
    ports: Vec<u16>,
    from: Option<Moment>,
    to: Option<Moment>,
}

/// An instant, or a time after the first packet.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Moment {
    TimeNs(i64),
    OffsetNs(i64),
}

impl Options {
    /// Reads the JSON.
    pub(super) fn parse(text: &str) -> PyResult<Self> {
        serde_json::from_str(text).map_err(|error| PyValueError::new_err(format!("options: {error}")))
    }

    /// What these options mean for `sources`.
    pub(super) fn analysis(&self, sources: &[Source]) -> Analysis {
        let usual = Analysis::default();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Analysis {
            threads: self.threads.unwrap_or(processors).max(1),
            strict_checksum: self.strict_checksum,
            sort_window: self.sort_window_ns.map(Duration::from_nanos),
            max_connections: self.max_connections.unwrap_or(usual.max_connections).max(1),
            series_interval_ns: self.series_interval_ns.unwrap_or(usual.series_interval_ns).max(1),
            filter: self.filter(sources),
            ..usual
        }
    }

    /// What to look at.
    pub(super) fn filter(&self, sources: &[Source]) -> Filter {
        let first = || sources.iter().filter_map(Source::first_time_ns).min().unwrap_or_default();
        let instant = |moment| match moment {
            Moment::TimeNs(time) => time,
            Moment::OffsetNs(offset) => first().saturating_add(offset),
        };
        Filter {
            hosts: self.filter.hosts.clone(),
            clients: self.filter.clients.clone(),
            servers: self.filter.servers.clone(),
            ports: self.filter.ports.clone(),
            from_ns: self.filter.from.map(instant),
            to_ns: self.filter.to.map(instant),
        }
    }

    /// The options that results depend on, for the manifest.
    pub(super) fn record(&self) -> Json {
        let texts = |list: &[IpAddr]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let moment = |moment: Option<Moment>| match moment {
            None => Json::Null,
            Some(Moment::TimeNs(time)) => json!({ "time_ns": time }),
            Some(Moment::OffsetNs(offset)) => json!({ "offset_ns": offset }),
        };
        let usual = Analysis::default();
        json!({
            "strict_checksum": self.strict_checksum,
            "sort_window_ns": self.sort_window_ns,
            "max_connections": self.max_connections.unwrap_or(usual.max_connections),
            "series_interval_ns": self.series_interval_ns.unwrap_or(usual.series_interval_ns),
            "filter": {
                "hosts": texts(&self.filter.hosts),
                "clients": texts(&self.filter.clients),
                "servers": texts(&self.filter.servers),
                "ports": self.filter.ports,
                "from": moment(self.filter.from),
                "to": moment(self.filter.to),
            },
        })
    }
}

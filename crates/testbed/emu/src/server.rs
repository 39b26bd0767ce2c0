//! Who plays the server in a run: a Web server and, with admission control, the proxy before it.
//!
//! Left out: the programs themselves; see `programs`.

use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::Path;

use airperf_scenario::{Scenario, ServerProgram};
use serde_json::{Value, json};

use crate::isolation::{Lab, address_of};
use crate::process::Place;
use crate::programs::apache::{self, Apache};
use crate::programs::proxy::{BEHIND, Proxy};
use crate::programs::{PORT, ProgramError, Serving, embedded, version};
use crate::wants::{self, Want};

/// The server of a run.
#[derive(Debug)]
pub(crate) struct Server {
    web: Web,
    proxy: Option<Proxy>,
}

#[derive(Debug)]
enum Web {
    Apache(Apache),
    Embedded(embedded::Server),
}

impl Server {
    /// Starts the scenario's server and waits until it serves.
    pub(crate) fn start(
        scenario: &Scenario,
        wants: &[Want],
        lab: &Lab,
        place: &Place<'_>,
        own_parts: &[OsString],
        folder: &Path,
    ) -> Result<Self, ProgramError> {
        let http = &scenario.server.http;
        let station = scenario.server.station.0;
        let address = address_of(station);
        let proxy = http.admission.map(|admission| {
            let most = (http.max_clients, http.backlog);
            Proxy::start(own_parts, admission, address, most, place, folder)
        });
        let mut proxy = proxy.transpose()?;
        let serving = Serving {
            listen: if proxy.is_some() { (Ipv4Addr::LOCALHOST, BEHIND) } else { (address, PORT) },
            objects: wants::objects(wants),
            header_bytes: http.reply_header_bytes,
            processes: http.max_clients,
            backlog: http.backlog,
            keep_alive: std::time::Duration::from_nanos(http.keep_alive_timeout.as_ns()),
            requests_per_connection: http.max_requests_per_connection,
        };
        let apache = match scenario.emu.server_program {
            ServerProgram::Apache => true, // and if it is not there, its start says so
            ServerProgram::Embedded => false,
            ServerProgram::Auto => apache::installed().is_some(),
        };
        let web = if apache {
            Apache::start(&serving, station, lab, place, folder).map(Web::Apache)
        } else {
            embedded::Server::start(&serving, station, lab, place.cores).map(Web::Embedded)
        };
        let web = web.inspect_err(|_| drop(proxy.take()))?;
        Ok(Self { web, proxy })
    }

    /// The run begins.
    pub(crate) fn begin(&mut self) -> Result<(), ProgramError> {
        self.proxy.as_mut().map_or(Ok(()), Proxy::begin)
    }

    /// Whether it has ended, which it should not.
    pub(crate) fn ended(&mut self) -> bool {
        let web = match &mut self.web {
            Web::Apache(apache) => apache.ended(),
            Web::Embedded(_) => false,
        };
        web || self.proxy.as_mut().is_some_and(Proxy::ended)
    }

    /// The end of what it wrote.
    pub(crate) fn complaints(&self) -> String {
        let web = match &self.web {
            Web::Apache(apache) => apache.complaints(),
            Web::Embedded(_) => String::new(),
        };
        web + &self.proxy.as_ref().map_or(String::new(), Proxy::complaints)
    }

    /// What admission control did; nothing without it.
    pub(crate) fn counts(&mut self) -> Result<Vec<(String, u64)>, ProgramError> {
        self.proxy.as_mut().map_or(Ok(Vec::new()), Proxy::counts)
    }

    /// What it is, for the manifest.
    pub(crate) fn describe(&self) -> Value {
        let mut said = match &self.web {
            Web::Apache(server) => json!({
                "program": "apache2",
                "version": apache::installed().and_then(|path| version(path, "-v")),
                "reply_header_bytes": server.header_bytes,
            }),
            Web::Embedded(server) => json!({
                "program": "embedded",
                "version": env!("CARGO_PKG_VERSION"),
                "reply_header_bytes": server.header_bytes,
            }),
        };
        if self.proxy.is_some() {
            said["proxy"] = json!({ "program": "airperf proxy", "version": env!("CARGO_PKG_VERSION") });
        }
        said
    }
}

//! The typed scenario and its identity.
//!
//! Left out: reading (see [`crate::build`]) and running (the testbeds').

use crate::estimate::Estimate;
use crate::files::{Folder, NamedFile};
use crate::link::LinkConfig;
use crate::problem::{Problems, Warning};
use airperf_http::browser::{BrowserConfig, Page};
use airperf_http::{ClientConfig, ServerConfig};
use airperf_link::StationId;
use airperf_units::Duration;
use airperf_workload::{FlowConfig, Playout};
use serde_json::{Map, Value as Json};
use std::path::Path;
use std::sync::Arc;

/// One situation, checked and ready to run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Short name, fit to be part of a file name.
    pub name: String,
    /// One sentence; may be empty.
    pub summary: String,
    /// How long the workload offers load.
    pub duration: Duration,
    /// How long the testbed goes on after that.
    pub drain: Duration,
    /// The seed, unless the caller has another.
    pub seed: u64,
    /// The medium with all its stations, in the order of [`Scenario::stations`].
    pub link: LinkConfig,
    /// TCP of both ends of every connection.
    pub tcp: airperf_tcp::Config,
    /// The one server.
    pub server: Server,
    /// The clients, in the order of the text.
    pub clients: Vec<Client>,
    /// What else goes over the link, in the order of the text.
    pub flows: Vec<Flow>,
    /// Who loads pages, in the order of the text.
    pub browsers: Vec<Browser>,
    /// Every station; its index is its id on the link. The server is station 0.
    pub stations: Vec<Station>,
    /// What to write down.
    pub record: RecordSettings,
    /// What only the emulated testbed reads.
    pub emu: EmuSettings,
    /// The files that are named, each once.
    pub files: Vec<NamedFile>,
    /// Odd but possible; a caller with a user asks before it goes on.
    pub warnings: Vec<Warning>,
    /// The text it was read from, overrides not applied.
    pub text: String,
    pub(crate) resolved: Json,
}

/// What a station does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Serves objects.
    Server,
    /// Asks for objects.
    Client,
}

impl Role {
    /// The word in records: `server` or `client`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

/// A station on the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Station {
    /// Its name, unique in the scenario.
    pub name: String,
    /// What it does.
    pub role: Role,
    /// Where its clock ticks; `None` draws it.
    pub tick_phase: Option<Duration>,
}

/// The Web server.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Its station.
    pub station: StationId,
    /// The program.
    pub http: ServerConfig,
}

/// One client.
#[derive(Clone, Debug, PartialEq)]
pub struct Client {
    /// Its station.
    pub station: StationId,
    /// Its connections.
    pub http: ClientConfig,
    /// When it wants what.
    pub workload: airperf_workload::Config,
}

/// Traffic between a station and the server that is no Web.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The station at the other end from the server.
    pub station: StationId,
    /// Whether the data goes to the server.
    pub to_server: bool,
    /// What it carries: `tcp`, `udp`, `video` or `audio`.
    pub medium: &'static str,
    /// Which `[[flow]]` it belongs to, `count` taken apart, from 0: a stream's audio and video have the same.
    pub group: u32,
    /// What is sent when.
    pub config: FlowConfig,
    /// Who plays it, if anybody does.
    pub playout: Option<Playout>,
}

/// A station whose user loads a page, again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Browser {
    /// Its station.
    pub station: StationId,
    /// What the page is called.
    pub name: String,
    /// The page.
    pub page: Arc<Page>,
    /// The browser, and the proxy that helps it.
    pub config: Arc<BrowserConfig>,
    /// Reliable UDP between the halves of the proxy: the server's end and the browser's.
    pub datagrams: Option<[airperf_rudp::Config; 2]>,
    /// When the first load begins.
    pub start: Duration,
    /// How often it is loaded.
    pub loads: u32,
    /// From the end of a load to the beginning of the next.
    pub pause: Duration,
}

/// How much a run writes down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Everything, every frame and a capture too.
    #[default]
    Full,
    /// Connections, exchanges, queues and the manifest.
    Analysis,
    /// Sums only: `summary.json` and the manifest.
    Summary,
}

impl Level {
    /// The word in scenarios and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Analysis => "analysis",
            Self::Summary => "summary",
        }
    }

    /// The level of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Full, Self::Analysis, Self::Summary].into_iter().find(|level| level.name() == name)
    }
}

/// What a run writes down, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordSettings {
    /// Time between two rows of queue occupancy.
    pub queue_interval: Duration,
    /// How much is written down, unless the caller says otherwise.
    pub level: Level,
}

impl Default for RecordSettings {
    /// Ten rows a second: fine enough to see a queue of 100 fill, 1200 rows in the study's two minutes.
    fn default() -> Self {
        Self { queue_interval: Duration::from_ms(100), level: Level::Full }
    }
}

/// Which program is the server of the emulated testbed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerProgram {
    /// Debian's apache2.
    Apache,
    /// The one built in.
    Embedded,
    /// Apache where it is there, else the one built in.
    #[default]
    Auto,
}

impl ServerProgram {
    pub(crate) const NAMES: [&str; 3] = ["apache", "embedded", "auto"];

    pub(crate) const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    pub(crate) fn from_name(name: Option<&str>) -> Self {
        let all = [Self::Apache, Self::Embedded, Self::Auto];
        all.into_iter().find(|program| Some(program.name()) == name).unwrap_or_default()
    }
}

/// Which program plays the clients of the emulated testbed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientProgram {
    /// Debian's httperf.
    Httperf,
    /// The generator of `airperf load`.
    Load,
    /// The one built in.
    Embedded,
    /// httperf where it is there and can do what is asked, else the generator, else the one built in.
    #[default]
    Auto,
}

impl ClientProgram {
    pub(crate) const NAMES: [&str; 4] = ["httperf", "airperf-load", "embedded", "auto"];

    pub(crate) const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    pub(crate) fn from_name(name: Option<&str>) -> Self {
        let all = [Self::Httperf, Self::Load, Self::Embedded, Self::Auto];
        all.into_iter().find(|program| Some(program.name()) == name).unwrap_or_default()
    }
}

/// What only the emulated testbed reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmuSettings {
    /// The 99th percentile of the medium's lag beyond which a run is invalid.
    pub lag_p99_limit: Duration,
    /// The server's program.
    pub server_program: ServerProgram,
    /// The clients' program.
    pub client_program: ClientProgram,
}

impl Default for EmuSettings {
    /// A quarter of the airtime of the shortest transaction's frames would already be seen in response
    /// times; half a millisecond is what an ordinary machine keeps.
    fn default() -> Self {
        Self {
            lag_p99_limit: Duration::from_us(500),
            server_program: ServerProgram::Auto,
            client_program: ClientProgram::Auto,
        }
    }
}

impl Scenario {
    /// Reads a scenario. `name` is what its text is called in messages, usually a path; `overrides` are
    /// pairs of a dotted key and a value, as `("client.rate", "40/s")`.
    ///
    /// # Errors
    /// Every problem of the text and of the overrides.
    ///
    /// ```
    /// let text = r#"
    /// schema = 1
    /// name = "one-client"
    /// duration = "10s"
    /// link = { kind = "wifi" }
    /// client = [{ rate = "10/s", size = "1KiB" }]
    /// "#;
    /// let overrides = [("client.rate".to_owned(), "40/s".to_owned())];
    /// let scenario = airperf_scenario::Scenario::parse(text, "one.toml", &overrides)?;
    /// assert_eq!(scenario.clients[0].workload.rate.as_f64(), 40.0);
    /// # Ok::<(), airperf_scenario::Problems>(())
    /// ```
    pub fn parse(text: &str, name: &str, overrides: &[(String, String)]) -> Result<Self, Problems> {
        crate::build::build(text, name, overrides)
    }

    /// The scenario that [`Scenario::resolved`] gave, as a manifest keeps it.
    ///
    /// # Errors
    /// Every problem, without positions: someone changed it, or another version wrote it.
    pub fn from_resolved(resolved: &Json, name: &str) -> Result<Self, Problems> {
        crate::build::rebuild(resolved, name, &Folder::of(name))
    }

    /// The scenario of the run in `directory`, whose manifest has this [`Scenario::resolved`] form: the files it names
    /// are read from there.
    ///
    /// # Errors
    /// Every problem, without positions: someone changed it, or another version wrote it.
    pub fn from_run(resolved: &Json, name: &str, directory: &Path) -> Result<Self, Problems> {
        crate::build::rebuild(resolved, name, &Folder::Run(directory.to_owned()))
    }

    /// The scenario with every default filled in, in the shape of the TOML and with units in the values.
    /// Read again, it gives the same scenario.
    pub const fn resolved(&self) -> &Json {
        &self.resolved
    }

    /// SHA-256 of the resolved form, in hexadecimal: two texts that mean the same have the same.
    pub fn sha256(&self) -> String {
        crate::files::sha256(self.resolved.to_string().as_bytes())
    }

    /// Asks every model whether it can work with its part: a second opinion on the ranges of the keys.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.link.check()?;
        self.tcp.check().map_err(|error| error.to_string())?;
        self.server.http.check().map_err(|error| error.to_string())?;
        self.flows.iter().try_for_each(|flow| flow.config.check().map_err(|error| error.to_string()))?;
        self.browsers.iter().try_for_each(|browser| {
            browser.page.check().map_err(|error| error.to_string())?;
            browser.config.check().map_err(|error| error.to_string())?;
            let mut ends = browser.datagrams.iter().flatten();
            ends.try_for_each(airperf_rudp::Config::check).map_err(|error| error.to_string())
        })?;
        self.clients.iter().try_for_each(|client| {
            client.http.check().map_err(|error| error.to_string())?;
            client.workload.check().map_err(|error| error.to_string())
        })
    }

    /// How long a run is in the time of the model.
    pub fn run_time(&self) -> Duration {
        self.duration + self.drain
    }

    /// What a run will cost, roughly.
    pub fn estimate(&self) -> Estimate {
        Estimate::of(self)
    }
}

/// An object with its keys in alphabetical order, whatever features `serde_json` was built with.
pub(crate) fn object(entries: impl IntoIterator<Item = (String, Json)>) -> Json {
    let mut sorted: Vec<(String, Json)> = entries.into_iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    Json::Object(Map::from_iter(sorted))
}

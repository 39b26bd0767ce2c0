//! A run whose user has a real browser: a command over the scenario's link, and what the browser said of its loads.
//!
//! The command's network is the link, as in a shell, so whoever starts this has made the network namespace around it, with
//! the page's hosts. Everything on the link goes into the same tables as in any emulated run; the rows of `pages` and
//! `objects` are what the browser told, on the same clock.
//!
//! Left out: the browser, the hosts and the proxies themselves, which are the caller's; clients and flows beside them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use airperf_clock::RunClock;
use airperf_record::{ExchangeRow, Manifest, ObjectRow, Options, PageRow, Row, RunWriter, read};
use airperf_scenario::{Browser, Scenario};
use airperf_units::{Duration, StreamKey};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{RunError, SPOOL, outcome};
use crate::isolation::{DeviceKind, Isolation};
use crate::kernel;
use crate::programs::ProgramError;
use crate::records::Records;
use crate::shell::{self, Recording};
use crate::spool;

/// Most that a browser's instants and those of the link may differ by for an exchange to be an object's: what a busy
/// machine takes to hand octets on, and less than a round trip of a link worth waiting for (ours).
const ALIKE: Duration = Duration::from_ms(100);

/// What a browser said of its loads. Instants are nanoseconds of the link's clock.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Visits {
    /// Its loads, in their order.
    pub loads: Vec<LoadSeen>,
    /// The objects of all loads, in the order of loads and of the page.
    pub objects: Vec<ObjectSeen>,
    /// Which browser, and how it was started.
    pub browser: Value,
    /// What served the page, and what it counted.
    pub server: Value,
    /// Why the loads should not be used.
    pub why_invalid: Vec<String>,
}

/// One load.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSeen {
    /// When its first request was wanted.
    pub due_ns: u64,
    /// First octet of the page's own response.
    pub first_byte_ns: Option<u64>,
    /// When the last object was there; `None` when one is missing.
    pub done_ns: Option<u64>,
    /// Whether the user lost patience.
    pub given_up: bool,
}

/// One object of a load.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectSeen {
    /// The load.
    pub load: u32,
    /// Its place in the page.
    pub object: u32,
    /// When its host was looked up for it.
    pub looked_up_ns: Option<u64>,
    /// When it was found.
    pub found_ns: Option<u64>,
    /// When it was asked for.
    pub sent_ns: Option<u64>,
    /// When its reply began.
    pub first_byte_ns: Option<u64>,
    /// When it was there.
    pub done_ns: Option<u64>,
    /// Octets of the request.
    pub request_bytes: u32,
    /// Octets of the response as the browser received it.
    pub response_bytes: u32,
}

/// What TCP is told around a page that a browser is to load, as files under /proc/sys/net and their contents.
///
/// # Errors
/// [`RunError`] with the key of what no real browser or kernel could be told.
pub fn visit_settings(scenario: &Scenario) -> Result<Vec<(String, String)>, RunError> {
    if let Some((key, what)) = kernel::beyond(scenario) {
        return Err(ProgramError::NotYet { what, key }.into());
    }
    Ok(kernel::settings(scenario, DeviceKind::Tun).sysctls)
}

/// Who loads the page.
pub struct Visitor<'a> {
    /// The program and its arguments; its only network is the link.
    pub command: &'a [OsString],
    /// Asked for what the browser said when the command has ended, and given its exit status.
    pub seen: &'a mut dyn FnMut(i32) -> Result<Visits, String>,
    /// Called some times a second on the calling thread, which must live until the run is over; when it breaks, the command
    /// is asked to end.
    pub tell: &'a mut dyn FnMut() -> ControlFlow<()>,
}

/// Has a page loaded over the scenario's link and writes the run directory `directory`, whole or not at all.
///
/// # Errors
/// What the machine lacks, what could not be started or written, or what the visitor's `seen` says; see [`RunError`].
pub fn visit(
    scenario: &Scenario,
    text: &str,
    key: StreamKey,
    directory: &Path,
    options: Options,
    visitor: Visitor<'_>,
) -> Result<Manifest, RunError> {
    let [browser] = &scenario.browsers[..] else { return Err(RunError::Browsers) };
    let file = |what| move |error| RunError::File { what, error };
    let mut writer = RunWriter::create(directory, options)?;
    let spool_path = writer.partial().join(SPOOL);
    let (spool, spooler) = spool::open(&spool_path).map_err(file("open a file for the run's events"))?;
    let settings = kernel::settings(scenario, DeviceKind::Tun);
    let recording = Recording { spool, settings: &settings };
    let layer = [(scenario.clone(), key.seed)];
    let mut over = shell::over(&layer, visitor.command, &[], Some(recording), visitor.tell)?;
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
    let epoch_ns = now_ns - (RunClock::monotonic_now_ns() - over.zero_ns);
    let visits = (visitor.seen)(over.report.status).map_err(RunError::Browser)?;
    spooler.finish().map_err(file("write the run's events"))?;
    let medium = over.layers.remove(0).medium;
    let records = Records::new(&mut writer, scenario, key.seed, epoch_ns, &spool_path, BTreeMap::new())?;
    let sums = records.write(&spool_path, medium.closing, &mut writer)?;
    write_visits(&mut writer, browser, &visits)?;
    scenario.files.iter().try_for_each(|file| writer.text(&file.name(), &file.text))?;
    std::fs::remove_file(&spool_path).map_err(file("remove the file of the run's events"))?;
    outcome::write_lag(&mut writer, &medium)?;
    let programs = outcome::Programs {
        isolation: Isolation::for_this_process().name(),
        device: DeviceKind::Tun.name(),
        unprivileged: !nix::unistd::geteuid().is_root(),
        settings: settings.sysctls,
        refused: over.refused,
        server: visits.server,
        admission: Vec::new(),
        clients: Vec::new(),
        device_drops: over.drops.to_vec(),
    };
    let unlike: Vec<String> = over.report.layers.iter().flat_map(shell::LayerReport::unlike).collect();
    let clocks = over.report.clocks.clone();
    let mut manifest =
        outcome::manifest(scenario, text, key, outcome::Seen { medium, sums, programs, clocks });
    unlike.into_iter().chain(visits.why_invalid).for_each(|why| manifest.invalidate(why));
    if let Some(host) = &mut manifest.host {
        host["browser"] = visits.browser;
        host["shaping"] = json!(over.report.layers);
    }
    Ok(writer.finish(manifest)?)
}

/// Writes `pages` and `objects`; the exchanges are closed already.
fn write_visits(writer: &mut RunWriter, browser: &Browser, visits: &Visits) -> Result<(), RunError> {
    let mut exchanges = Exchanges::of(writer)?;
    let (mut pages, mut objects) = (writer.table::<PageRow>()?, writer.table::<ObjectRow>()?);
    for (load, seen) in (0u32..).zip(&visits.loads) {
        let (mut requested, mut complete, mut octets) = (0, 0, 0);
        for object in visits.objects.iter().filter(|object| object.load == load) {
            requested += u32::from(object.sent_ns.is_some());
            complete += u32::from(object.done_ns.is_some());
            octets += u64::from(object.response_bytes);
            if let (Some(table), Some(row)) =
                (&mut objects, row(browser, object, exchanges.of_object(object)))
            {
                table.push(&row)?;
            }
        }
        let Some(table) = &mut pages else { continue };
        table.push(&PageRow {
            client: browser.station.0,
            session: load.into(),
            page: 0,
            due_ns: seen.due_ns,
            first_byte_ns: seen.first_byte_ns,
            done_ns: seen.done_ns,
            requested,
            complete,
            cached: 0,
            response_bytes: octets,
            outcome: match seen.done_ns {
                Some(_) => "complete",
                None if seen.given_up => "given_up",
                None => "incomplete",
            },
        })?;
    }
    if let Some(table) = pages {
        writer.close_table(table)?;
    }
    if let Some(table) = objects {
        writer.close_table(table)?;
    }
    Ok(())
}

/// The row of an object; `None` when the page has no such object.
fn row(browser: &Browser, seen: &ObjectSeen, connection: Option<u64>) -> Option<ObjectRow> {
    let of_page = browser.page.objects.get(seen.object as usize)?;
    Some(ObjectRow {
        client: browser.station.0,
        load: seen.load,
        object: seen.object,
        host: of_page.host,
        found_in: of_page.found_in,
        looked_up_ns: seen.looked_up_ns,
        found_ns: seen.found_ns,
        sent_ns: seen.sent_ns,
        first_byte_ns: seen.first_byte_ns,
        done_ns: seen.done_ns,
        connection,
        source: "asked",
        body_bytes: of_page.bytes,
        request_bytes: seen.request_bytes,
        response_bytes: seen.response_bytes,
    })
}

/// The exchanges on the link, each of which may be one object's.
struct Exchanges(Vec<ExchangeRow>);

impl Exchanges {
    /// Those that the run has recorded; none at a level without tables.
    fn of(writer: &RunWriter) -> Result<Self, RunError> {
        let path = writer.partial().join(ExchangeRow::FILE);
        if !path.exists() {
            return Ok(Self(Vec::new()));
        }
        let wrong = |error: airperf_record::ReadError| RunError::File {
            what: "read the run's exchanges",
            error: std::io::Error::other(error),
        };
        let rows = read::rows::<ExchangeRow>(&path).map_err(wrong)?;
        Ok(Self(rows.collect::<Result<_, _>>().map_err(wrong)?))
    }

    /// The connection of the exchange that was this object's: as long, and asked for and begun when it was.
    fn of_object(&mut self, object: &ObjectSeen) -> Option<u64> {
        let (sent, first) = (object.sent_ns?, object.first_byte_ns?);
        let off = |row: &ExchangeRow| {
            let [sent, first] = [row.sent_ns?.abs_diff(sent), row.first_byte_ns?.abs_diff(first)];
            Some(sent.max(first)).filter(|&off| off < ALIKE.as_ns())
        };
        let alike = self
            .0
            .iter()
            .enumerate()
            .filter(|(_, row)| row.response_bytes == u64::from(object.response_bytes));
        let (place, _) = alike.filter_map(|(at, row)| Some((at, off(row)?))).min_by_key(|&(_, off)| off)?;
        Some(self.0.swap_remove(place).connection)
    }
}

impl From<shell::ShellError> for RunError {
    fn from(error: shell::ShellError) -> Self {
        match error {
            shell::ShellError::Lab(error) => Self::Lab(error),
            shell::ShellError::Program(error) => Self::Program(error),
            shell::ShellError::Medium(why) => Self::Medium(why),
            other => Self::Browser(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn exchange(connection: u64, sent_ms: u64, response_bytes: u64) -> ExchangeRow {
        let (sent_ns, first_byte_ns) = (Some(sent_ms * MS), Some((sent_ms + 500) * MS));
        ExchangeRow {
            connection,
            index: 0,
            client: 1,
            due_ns: None,
            sent_ns,
            first_byte_ns,
            done_ns: None,
            request_bytes: 1,
            response_bytes,
            error: None,
        }
    }

    fn object(sent_ms: u64, response_bytes: u32) -> ObjectSeen {
        ObjectSeen {
            load: 0,
            object: 0,
            looked_up_ns: None,
            found_ns: None,
            sent_ns: Some(sent_ms * MS),
            first_byte_ns: Some((sent_ms + 501) * MS),
            done_ns: None,
            request_bytes: 1,
            response_bytes,
        }
    }

    #[test]
    fn an_object_belongs_to_the_exchange_of_its_octets_and_instants() {
        let mut exchanges = Exchanges(vec![
            exchange(0, 1_000, 100),
            exchange(1, 1_030, 100),
            exchange(2, 1_000, 101),
            exchange(3, 9_000, 100),
        ]);
        assert_eq!(exchanges.of_object(&object(1_029, 100)), Some(1), "the nearer of two alike");
        assert_eq!(exchanges.of_object(&object(1_001, 101)), Some(2), "as long");
        assert_eq!(exchanges.of_object(&object(1_031, 100)), Some(0), "and each only once");
        assert_eq!(exchanges.of_object(&object(1_031, 100)), None, "however long ago or to come");
        let never = ObjectSeen { sent_ns: None, ..object(9_000, 100) };
        assert_eq!(exchanges.of_object(&never), None, "what was not asked for has none");
    }
}

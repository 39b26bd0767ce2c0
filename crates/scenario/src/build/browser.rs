//! Reads every `[[browser]]` and the file of its page.
//!
//! Left out: single values, which the list of keys checks.

use super::link::read_file;
use super::{Link, list_of_tables, names, read_station, relations::Names};
use crate::document::Table;
use crate::files::{Folder, Kind};
use crate::keys::browser::{BROWSER, Browser};
use crate::keys::client::Station;
use crate::page::PageFile;
use crate::problem::Findings;
use crate::reader::Section;

/// One `[[browser]]` with its station.
pub(super) struct BrowserPart {
    pub(super) station: Station,
    pub(super) browser: Browser,
}

pub(super) fn read(
    root: &Table,
    link: &Link,
    folder: &Folder,
    stations: &mut Names,
    findings: &mut Findings,
) -> Vec<BrowserPart> {
    let mut browsers = Vec::new();
    let tables = list_of_tables(root, "browser", "once for each browser", findings);
    for (number, (path, place, entries)) in tables.iter().enumerate() {
        let section = Section { path, place, table: Some(entries) };
        let (mut browser, mut station) = (Browser::default(), Station::default());
        section.read(&BROWSER, &mut browser, findings);
        read_station(&section, &mut station, names(&BROWSER), link, findings);
        if let Some((key, message)) = browser.asks_too_much() {
            let hint = "or leave it out";
            findings.problem(section.place_of(key), &section.key(key), message, hint);
        }
        if browser.udp && !matches!(link, Link::Access(_) | Link::Gprs(_)) {
            let (place, key) = (section.place_of("proxy_transport"), section.key("proxy_transport"));
            let message = "nobody knows at which rate to send on a shared medium";
            findings.problem(
                place,
                &key,
                message,
                "a link of kind \"generic\", \"trace\" or \"gprs\" has rates",
            );
        }
        if !browser.page.is_empty() {
            read_page(&section, &mut browser, folder, findings);
        }
        if station.name.is_none() {
            let single = tables.len() == 1;
            station.name =
                Some(if single { "browser".to_owned() } else { format!("browser-{}", number + 1) });
        }
        let made = stations.add(&section, &station, 1, findings);
        browsers.extend(made.into_iter().map(|station| BrowserPart { station, browser: browser.clone() }));
    }
    browsers
}

/// Reads the file of a page, and notes what is wrong with it.
fn read_page(section: &Section<'_>, browser: &mut Browser, folder: &Folder, findings: &mut Findings) {
    let named = (browser.page.as_str(), browser.sha256.as_str());
    let from = (Kind::Page, folder);
    let Some((text, found)) = read_file(section, ["page", "sha256"], named, from, findings) else { return };
    match PageFile::parse(&text, &browser.page) {
        Ok(file) => {
            browser.sha256 = found;
            browser.read = Some((file, text));
        }
        Err(problems) => {
            let (place, key) = (section.place_of("page"), section.key("page"));
            for problem in problems.0 {
                findings.problem(place, &key, format!("is no page: {}", problem.statement()), problem.hint);
            }
        }
    }
}

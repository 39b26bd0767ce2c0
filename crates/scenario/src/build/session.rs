//! What a client's sessions are, put together from the keys that say so.
//!
//! Left out: single values, which the list of keys checks, and the arrival process.

use crate::document::Value;
use crate::keys::client::{Client, Pages, RATE};
use crate::problem::Findings;
use crate::reader::Section;
use airperf_workload::{ArrivalProcess, Distribution};

/// Octets of the shortest request with a body: request line, Host, Content-Length and blank line.
const SMALLEST_POST: u32 = 70;

/// Fills in what `kind`, `rate` and `pages` mean together, and notes what does not go together.
pub(super) fn put_together(section: &Section<'_>, client: &mut Client, findings: &mut Findings) {
    let mut refuse = |key: &str, message: &str, hint: &str| {
        findings.problem(section.place_of(key), &section.key(key), message, hint);
    };
    let browses = client.kind == "browse";
    if browses {
        for (key, given) in
            [("rate", client.rate.is_some()), ("arrivals", client.arrivals != "deterministic")]
        {
            if given {
                refuse(key, "a browsing user comes once and stays", "leave it out, or set kind = \"load\"");
            }
        }
        client.workload.arrivals = ArrivalProcess::Once;
    }
    let plan = &mut client.workload.session;
    let none = Distribution::Fixed(0);
    plan.fragile = !browses;
    plan.pages = match &client.pages {
        Pages::Of(pages) => Some(pages.clone()),
        Pages::Auto | Pages::Endless if browses => None,
        Pages::Auto if plan.embedded == none => {
            Some(Distribution::Fixed(plan.requests_per_connection.into()))
        }
        Pages::Auto => Some(Distribution::Fixed(1)),
        Pages::Endless => {
            let hint = "set a number of pages, or kind = \"browse\"";
            refuse("pages", "sessions that begin again and again must end", hint);
            None
        }
    };
    let uploads = client.workload.upload != none;
    if uploads && plan.pipeline > 1 {
        refuse("pipeline", "requests with a body are not pipelined", "leave out `pipeline` or `upload`");
    }
    if uploads && client.http.request_bytes < SMALLEST_POST {
        let message = format!("a request with a body has at least {SMALLEST_POST}B before it");
        refuse("request_size", &message, "74B is what httperf sends");
    }
    let of_pages = ["embedded_size", "cached", "parse_time"];
    for key in of_pages.into_iter().filter(|key| plan.embedded == none && section.entry(key).is_some()) {
        // The resolved form has every key, at its default.
        let says_nothing = match key {
            "cached" => plan.cached == 0.0,
            "parse_time" => plan.parse_time == none,
            _ => plan.embedded_size.is_none(),
        };
        if !says_nothing {
            refuse(key, "these pages embed nothing", "set `embedded`, or leave it out");
        }
    }
    match (client.rate, section.entry("rate")) {
        (Some(rate), _) => client.workload.rate = rate,
        (None, Some(entry)) if !matches!(&entry.node.value, Value::Text(text) if text == "none") => {}
        (None, _) if browses => {}
        (None, _) => findings.missing(section.place, &section.key("rate"), &RATE.wanted(&[])),
    }
}

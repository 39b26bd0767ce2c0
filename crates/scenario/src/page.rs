//! Page files: a page by its statistics, or object by object, as TOML.
//!
//! Of a page whose statistics alone are known the sizes and places of objects are made up: the page itself is the longest
//! object, as front pages of portals were; the others have lognormal sizes (CV 1; Barford and Crovella, "Generating
//! representative Web workloads", SIGMETRICS 1998, for the shape), scaled so that the sum is the stated one and none is
//! longer than the longest. Hosts have objects by Zipf's law: most are on a host for images, then comes the page's own (popularity
//! of origins on a page; exponent 1 is ours). Objects are named all over the page. Same file, same page. Left out: what objects say, which `airperf host` makes up; scripts and style sheets of such a page.

use crate::document::{self, Table, Value};
use crate::problem::{Findings, Place, Problems, Sources};
use crate::reader::Section;
use crate::setting::{Form, Key, S, Setting, count, size, time};
use airperf_http::browser::{Host, Object, Page};
use airperf_units::StreamKey;

/// Longer texts are no page files.
const MAX_BYTES: usize = 16 << 20;
/// Octets of the smallest object made up: a GIF of one pixel with a comment has at least 40.
const LEAST_BYTES: u32 = 60;
/// What gzip leaves of the text that `airperf host` makes up, as a share: measured on the four pages of
/// `scenarios/pages/`, and a test says whether it still holds.
const TEXT_PACKS_TO: f64 = 0.33;

/// The head of a page file.
#[derive(Clone, Default)]
pub(crate) struct Head {
    schema: u64,
    name: String,
    summary: String,
}

/// Keys of every page file.
pub(crate) static HEAD: [Key<Head>; 3] = [
    Key::new(
        "schema",
        count(1, 1),
        "Version of this format.",
        |head: &Head| Setting::of_count(head.schema),
        |head, s| head.schema = s.count(),
    )
    .required(),
    Key::new(
        "name",
        Form::Name(40),
        "Short name; the made-up hosts are called after it.",
        |head: &Head| Setting::Text(head.name.clone()),
        |head, s| head.name = s.text(),
    )
    .required(),
    Key::new(
        "summary",
        Form::Text(500),
        "One sentence for reports.",
        |head: &Head| Setting::Text(head.summary.clone()),
        |head, s| head.summary = s.text(),
    ),
];

/// What is known of a page.
#[derive(Clone)]
pub(crate) struct Statistics {
    hosts: u32,
    objects: u32,
    bytes: u64,
    largest_bytes: u32,
    seed: u64,
    tls: bool,
}

impl Default for Statistics {
    fn default() -> Self {
        Self { hosts: 1, objects: 1, bytes: 0, largest_bytes: 0, seed: 1, tls: false }
    }
}

/// Keys of a page by its statistics.
pub(crate) static STATISTICS: [Key<Statistics>; 6] = [
    Key::new(
        "hosts",
        count(1, 1_000),
        "Hosts that serve its objects, each at least one.",
        |page: &Statistics| Setting::of_count(page.hosts),
        |page, s| page.hosts = s.count(),
    )
    .required(),
    Key::new(
        "objects",
        count(1, Page::MOST as i128),
        "Objects, the page itself among them.",
        |page: &Statistics| Setting::of_count(page.objects),
        |page, s| page.objects = s.count(),
    )
    .required(),
    Key::new(
        "bytes",
        size(1, 1 << 30),
        "Octets of all bodies.",
        |page: &Statistics| Setting::of_count(page.bytes),
        |page, s| page.bytes = s.count(),
    )
    .required(),
    Key::new(
        "largest",
        size(1, Page::MAX_OBJECT_BYTES as i128),
        "Octets of the longest body.",
        |page: &Statistics| Setting::of_count(page.largest_bytes),
        |page, s| page.largest_bytes = s.count(),
    )
    .required(),
    Key::new(
        "seed",
        count(0, u64::MAX as i128),
        "Of the sizes and contents.",
        |page: &Statistics| Setting::of_count(page.seed),
        |page, s| page.seed = s.count(),
    ),
    Key::new(
        "tls",
        Form::Flag,
        "Whether the hosts are spoken to over TLS.",
        |page: &Statistics| Setting::Flag(page.tls),
        |page, s| page.tls = s.flag(),
    ),
];

/// One `[[object]]`.
#[derive(Clone)]
pub(crate) struct Listed {
    origin: String,
    object: Object,
    packed_bytes: Option<u32>,
}

impl Default for Listed {
    fn default() -> Self {
        let nothing = Object {
            host: 0,
            bytes: 0,
            packed_bytes: 0,
            found_in: None,
            found_at: 0,
            think: airperf_units::Duration::ZERO,
        };
        Self { origin: String::new(), object: nothing, packed_bytes: None }
    }
}

/// Keys of an `[[object]]`.
pub(crate) static LISTED: [Key<Listed>; 6] = [
    Key::new(
        "origin",
        Form::Text(300),
        "Where it is: `https://www.example.org`, without a path.",
        |one: &Listed| Setting::Text(one.origin.clone()),
        |one, s| one.origin = s.text(),
    )
    .required(),
    Key::new(
        "size",
        size(0, Page::MAX_OBJECT_BYTES as i128),
        "Octets of its body.",
        |one: &Listed| Setting::of_count(one.object.bytes),
        |one, s| one.object.bytes = s.count(),
    )
    .required(),
    Key::new(
        "packed",
        size(0, Page::MAX_OBJECT_BYTES as i128),
        "Octets of its body compressed.",
        |one: &Listed| one.packed_bytes.map_or(Setting::Word("size"), Setting::of_count),
        |one, s| one.packed_bytes = s.optional(Setting::count),
    )
    .words(&["size"]),
    Key::new(
        "found_in",
        count(0, Page::MOST as i128 - 1),
        "The object that names it, an earlier one, counted from 0.",
        |one: &Listed| one.object.found_in.map_or(Setting::Word("none"), Setting::of_count),
        |one, s| one.object.found_in = s.optional(Setting::count),
    )
    .words(&["none"]),
    Key::new(
        "found_at",
        size(0, Page::MAX_OBJECT_BYTES as i128),
        "After how many octets of that object's body.",
        |one: &Listed| Setting::of_count(one.object.found_at),
        |one, s| one.object.found_at = s.count(),
    ),
    Key::new(
        "think",
        time(0, 60 * S),
        "How long its host thinks before it answers.",
        |one: &Listed| Setting::of_time(one.object.think),
        |one, s| one.object.think = s.time(),
    ),
];

/// A page file as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageFile {
    /// Its name.
    pub name: String,
    /// The page.
    pub page: Page,
    /// Of a page by its statistics, the seed of its contents.
    pub seed: Option<u64>,
}

impl PageFile {
    /// Reads a page file; `name` is what its text is called in messages.
    ///
    /// # Errors
    /// Every problem of the text.
    pub fn parse(text: &str, name: &str) -> Result<Self, Problems> {
        let mut findings = Findings::new(Sources::new(name, text));
        let mut root = Table::default();
        if text.len() > MAX_BYTES {
            let message = format!("this text has {} bytes", text.len());
            findings.problem(&Place::default(), "", message, "a page file has at most 16 MiB");
        } else {
            root = document::parse(text, &mut findings);
        }
        let section = Section { path: "", place: &Place::default(), table: Some(&root) };
        let mut head = Head::default();
        section.read(&HEAD, &mut head, &mut findings);
        let mut file = Self { name: head.name, ..Self::default() };
        let is_listed = root.get("object").is_some();
        let own: Vec<&str> = match is_listed {
            true => vec!["object"],
            false => STATISTICS.iter().map(|key| key.name).collect(),
        };
        let known: Vec<&str> = HEAD.iter().map(|key| key.name).chain(own).collect();
        section.reject_unknown(&known, |_| None, &mut findings);
        if is_listed {
            file.page = listed(&root, &mut findings);
        } else {
            let mut known = Statistics::default();
            section.read(&STATISTICS, &mut known, &mut findings);
            if let Err(message) = possible(&known) {
                findings.problem(section.place_of("bytes"), "bytes", message, "");
            } else {
                file.page = made_up(&known, &file.name);
                file.seed = Some(known.seed);
            }
        }
        // Without objects, what is missing or wrong was noted already.
        if let Err(error) = file.page.check()
            && (is_listed || !file.page.objects.is_empty())
        {
            findings.problem(&Place::default(), "object", error.to_string(), "");
        }
        findings.finish()?;
        Ok(file)
    }
}

fn possible(known: &Statistics) -> Result<(), String> {
    let Statistics { hosts, objects, bytes, largest_bytes, .. } = *known;
    let least = u64::from(largest_bytes) + u64::from(LEAST_BYTES) * u64::from(objects - 1);
    if hosts > objects {
        return Err(format!("{hosts} hosts for {objects} objects: each host has at least one"));
    }
    if bytes < least || bytes > u64::from(largest_bytes) * u64::from(objects) {
        return Err(format!(
            "{objects} objects of at most {largest_bytes} octets cannot have {bytes} in all"
        ));
    }
    Ok(())
}

fn made_up(known: &Statistics, name: &str) -> Page {
    let host = |number: u32| Host {
        name: if number == 0 {
            format!("www.{name}.example")
        } else {
            format!("images{number}.{name}.example")
        },
        tls: known.tls,
    };
    let largest = known.largest_bytes;
    let rest = known.bytes - u64::from(largest);
    let sizes = sizes(known.seed, known.objects as usize - 1, rest, largest);
    let hosts = hosts(known.hosts, known.objects);
    let object = |(number, bytes): (u32, u32)| Object {
        host: hosts[number as usize],
        bytes,
        packed_bytes: bytes,
        found_in: Some(0),
        // Named all over the page, behind its head.
        found_at: (u64::from(largest) * (u64::from(number) + 1) / (u64::from(known.objects) + 1)) as u32,
        think: airperf_units::Duration::ZERO,
    };
    let page = Object {
        packed_bytes: (f64::from(largest) * TEXT_PACKS_TO) as u32,
        found_in: None,
        found_at: 0,
        ..object((0, largest))
    };
    Page {
        hosts: (0..known.hosts).map(host).collect(),
        objects: std::iter::once(page).chain((1..).zip(sizes).map(object)).collect(),
    }
}

/// The host of every object: shares by Zipf's law, each at least one, mixed evenly; the page itself is on the first.
fn hosts(hosts: u32, objects: u32) -> Vec<u32> {
    // The second host is the one for images, and has most.
    let rank = |host: u32| match host {
        0 if hosts > 1 => 2.0,
        1 => 1.0,
        other => f64::from(other) + 1.0,
    };
    let sum: f64 = (0..hosts).map(|host| 1.0 / rank(host)).sum();
    let mut given = vec![0u32; hosts as usize];
    let mut places = vec![0];
    given[0] = 1;
    for number in 1..objects {
        let without: Vec<u32> = (0..hosts).filter(|&host| given[host as usize] == 0).collect();
        let host = if without.len() as u32 >= objects - number {
            without[0]
        } else {
            let behind =
                |host: u32| f64::from(number + 1) / (rank(host) * sum) - f64::from(given[host as usize]);
            (0..hosts).max_by(|&a, &b| behind(a).total_cmp(&behind(b)).then(b.cmp(&a))).unwrap_or(0)
        };
        given[host as usize] += 1;
        places.push(host);
    }
    places
}

/// `count` sizes with this sum, each from [`LEAST_BYTES`] to `largest`.
fn sizes(seed: u64, count: usize, total: u64, largest: u32) -> Vec<u32> {
    // Of a lognormal whose CV is 1: sqrt(ln 2).
    const SIGMA: f64 = 0.832_554_611_157_697_8;
    let mut stream = StreamKey::new(seed).stream("page-sizes");
    let weights: Vec<f64> = (0..count).map(|_| libm::exp(SIGMA * stream.normal())).collect();
    let (least, most) = (f64::from(LEAST_BYTES), f64::from(largest));
    let clipped = |weight: f64, scale: f64| (weight * scale).clamp(least, most.max(least));
    let (mut low, mut high) = (0.0, total as f64);
    for _ in 0..200 {
        let scale = (low + high) / 2.0;
        let sum: f64 = weights.iter().map(|&weight| clipped(weight, scale)).sum();
        if sum < total as f64 { low = scale } else { high = scale }
    }
    let mut sizes: Vec<u32> =
        weights.iter().map(|&weight| libm::round(clipped(weight, high)) as u32).collect();
    let mut rest = total as i64 - sizes.iter().map(|&size| i64::from(size)).sum::<i64>();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&place| sizes[place]);
    for place in order {
        let size = i64::from(sizes[place]);
        let step = rest.clamp(i64::from(LEAST_BYTES) - size, i64::from(largest) - size);
        sizes[place] = (size + step) as u32;
        rest -= step;
    }
    sizes
}

fn listed(root: &Table, findings: &mut Findings) -> Page {
    let mut page = Page::default();
    let mut origins: Vec<String> = Vec::new();
    let Some(entry) = root.get("object") else { return page };
    let Value::Array(items) = &entry.node.value else {
        findings.problem(&entry.key_place, "object", "this is no list of tables", "write [[object]]");
        return page;
    };
    for (number, item) in items.iter().enumerate().take(Page::MOST + 1) {
        let path = format!("object[{}]", number + 1);
        let Value::Table(inner) = &item.value else {
            let message = format!("this is {}, and a table is wanted", item.value.type_name());
            findings.problem(&item.place, &path, message, "write [[object]]");
            continue;
        };
        let section = Section { path: &path, place: &item.place, table: Some(inner) };
        let mut one = Listed::default();
        section.read(&LISTED, &mut one, findings);
        let known: Vec<&str> = LISTED.iter().map(|key| key.name).collect();
        section.reject_unknown(&known, |_| None, findings);
        let parts = one.origin.split_once("://").filter(|(scheme, host)| {
            matches!(*scheme, "http" | "https") && !host.is_empty() && !host.contains(['/', '?', '#', '@'])
        });
        let Some((scheme, host)) = parts else {
            if !one.origin.is_empty() {
                let message = "is no origin";
                let hint = "http:// or https:// and a host, with a port if it has an own";
                findings.problem(section.place_of("origin"), &section.key("origin"), message, hint);
            }
            continue;
        };
        let place = origins.iter().position(|origin| *origin == one.origin).unwrap_or_else(|| {
            page.hosts.push(Host { name: host.to_owned(), tls: scheme == "https" });
            origins.push(one.origin.clone());
            origins.len() - 1
        });
        let packed_bytes = one.packed_bytes.unwrap_or(one.object.bytes).min(one.object.bytes);
        page.objects.push(Object { host: place as u32, packed_bytes, ..one.object });
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    const CNN: &str =
        "schema = 1\nname = \"cnn\"\nhosts = 6\nobjects = 67\nbytes = \"191283B\"\nlargest = \"22835B\"\n";

    #[test]
    fn a_page_by_its_statistics_has_them() {
        let PageFile { page, seed, name } = PageFile::parse(CNN, "cnn.toml").expect("a page");
        assert_eq!((page.hosts.len(), page.objects.len(), page.bytes()), (6, 67, 191_283));
        assert_eq!(page.objects.iter().map(|object| object.bytes).max(), Some(22_835));
        assert_eq!((seed, name.as_str()), (Some(1), "cnn"));
        let of_host = |host: u32| page.objects.iter().filter(|object| object.host == host).count();
        assert_eq!((0..6).map(of_host).collect::<Vec<_>>(), [14, 27, 9, 7, 5, 5]);
        assert_eq!(page.hosts[5].name, "images5.cnn.example");
        let again = PageFile::parse(CNN, "cnn.toml").expect("a page");
        assert_eq!(again.page, page);
        let other = PageFile::parse(&format!("{CNN}seed = 2\n"), "cnn.toml").expect("a page");
        assert_ne!(other.page, page);
    }

    #[test]
    fn a_page_object_by_object_is_as_it_says() {
        let text = "schema = 1\nname = \"a\"\n\
            [[object]]\norigin = \"https://a.example\"\nsize = \"10kB\"\npacked = \"3kB\"\n\
            [[object]]\norigin = \"http://b.example:8080\"\nsize = \"1kB\"\nfound_in = 0\nfound_at = \"500B\"\nthink = \"20ms\"\n";
        let file = PageFile::parse(text, "a.toml").expect("a page");
        assert_eq!(file.page.hosts[1], Host { name: "b.example:8080".to_owned(), tls: false });
        let object = file.page.objects[1];
        assert_eq!((object.found_in, object.found_at, object.packed_bytes), (Some(0), 500, 1000));
        assert_eq!((file.page.objects[0].packed_bytes, file.seed), (3000, None));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let wrong = |text: &str| PageFile::parse(text, "p.toml").expect_err("no page").to_string();
        assert!(wrong(&CNN.replace("67", "5")).contains("6 hosts for 5 objects"));
        assert!(wrong(&CNN.replace("191283", "19128")).contains("cannot have 19128 in all"));
        assert!(wrong(&format!("{CNN}objcts = 2\n")).contains("p.toml:7"));
        let text = "schema = 1\nname = \"a\"\n[[object]]\norigin = \"ftp://a\"\nsize = \"1kB\"\n";
        assert!(wrong(text).contains("p.toml:4"), "{}", wrong(text));
        let text =
            "schema = 1\nname = \"a\"\n[[object]]\norigin = \"http://a\"\nsize = \"1kB\"\nfound_in = 0\n";
        assert!(wrong(text).contains("within an earlier one"));
    }
}

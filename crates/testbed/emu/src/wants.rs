//! What each client wants in a run, drawn from the scenario: when, and which objects.
//!
//! Sessions draw from the streams of the workload model, so a live client asks for the very objects, and begins
//! sessions at the very instants, that a simulated one does. What users want is drawn by their program; which objects
//! those can be is worked out here, as if every reply came at once.
//!
//! Left out: which program can do it; see `clients`.

use std::collections::{BTreeMap, BTreeSet};

use airperf_scenario::{Client, Scenario};
use airperf_units::{Distribution, StreamKey, Time};
use airperf_workload::{Config, Demand, Outcome, Plain, Schedule, Session, SessionConfig};

use crate::isolation::address_of;
use crate::programs::path_for;

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Want {
    /// When its connections (or sessions) are due.
    pub(crate) due: Vec<Time>,
    /// What each is.
    pub(crate) each: Each,
}

/// What a client's connections are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Each {
    /// All alike: so often this request, one after the other.
    Plain {
        requests: u32,
        /// Path of the object.
        path: String,
        /// Octets of the object.
        object_bytes: u64,
        /// Octets of the request's body.
        body_bytes: u64,
    },
    /// Sessions of pages, which their program draws.
    Users {
        /// Octets of the objects that they may have.
        sizes: BTreeSet<u64>,
        /// Names the streams they are drawn from.
        key: StreamKey,
    },
}

/// Stands for an object's octets in a path.
const SIZE: &str = "{size}";
/// The path of an object of users.
pub(crate) const SIZED: &str = "/o{size}";

/// What every client of a scenario wants.
pub(crate) fn of(scenario: &Scenario, key: StreamKey) -> Vec<Want> {
    let alike: Vec<_> = scenario.clients.iter().map(|client| client.workload.plain()).collect();
    let one_size =
        alike.windows(2).all(|pair| pair[0].map(|p| p.object_bytes) == pair[1].map(|p| p.object_bytes))
            && alike.iter().all(Option::is_some);
    let host = address_of(scenario.server.station.0).to_string();
    let end = Time::ZERO + scenario.duration;
    let want = |(index, client): (usize, &Client)| {
        let workload = &client.workload;
        let demands: Vec<_> = Schedule::new(workload.clone(), end, &key, index as u64).collect();
        let each = match workload.plain() {
            Some(Plain { requests, object_bytes, upload_bytes: body_bytes, .. }) => {
                let size = (!one_size).then_some(object_bytes);
                let path = path_for(&host, client.http.request_bytes, body_bytes, size);
                Each::Plain { requests, path, object_bytes, body_bytes }
            }
            None => Each::Users { sizes: sizes(&demands, workload, end, &key, index as u64), key },
        };
        Want { due: demands.into_iter().map(|demand| demand.due).collect(), each }
    };
    scenario.clients.iter().enumerate().map(want).collect()
}

/// Whether nobody can tell which objects users will want: of random size, and as many as the server can serve.
pub(crate) fn is_boundless(workload: &Config) -> bool {
    let plan = &workload.session;
    fixed_sizes(workload).is_none() && plan.pages.is_none() && plan.think_time.fixed() == Some(0)
}

fn fixed_sizes(workload: &Config) -> Option<BTreeSet<u64>> {
    let plan = &workload.session;
    let embedded = plan.embedded_size.as_ref().unwrap_or(&workload.size);
    Some([workload.size.fixed()?, embedded.fixed()?].into())
}

/// The sizes of all objects that users with sessions from `begin` can want.
fn sizes(begin: &[Demand], workload: &Config, end: Time, key: &StreamKey, client: u64) -> BTreeSet<u64> {
    if let Some(sizes) = fixed_sizes(workload) {
        return sizes;
    }
    let mut sizes = BTreeSet::new();
    if is_boundless(workload) {
        return sizes;
    }
    // The soonest that pages can follow one another: then there are the most of them.
    let session =
        SessionConfig { parse_time: Distribution::Fixed(0), patience: None, ..workload.session.clone() };
    let quick = Config { session, ..workload.clone() };
    let answered = Outcome { complete: true, first_byte: None, response_bytes: 0 };
    for &demand in begin {
        let mut session = Session::new(&quick, end, key, client, demand);
        while !session.is_over() {
            let now = session.wake();
            while let Some(asked) = session.next(&quick, now) {
                sizes.insert(asked.object_bytes);
                session.ended(&quick, now, &answered);
            }
        }
    }
    sizes
}

/// The objects that are asked for, by their path.
pub(crate) fn objects(wants: &[Want]) -> BTreeMap<String, u64> {
    let of = |want: &Want| -> BTreeMap<String, u64> {
        match &want.each {
            Each::Plain { path, object_bytes, .. } => [(path.clone(), *object_bytes)].into(),
            Each::Users { sizes, .. } => {
                sizes.iter().map(|&size| (SIZED.replace(SIZE, &size.to_string()), size)).collect()
            }
        }
    };
    wants.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(client: &str) -> Vec<Want> {
        let text = format!(
            "schema = 1\nname = \"wants\"\nduration = \"10s\"\nlink = {{ kind = \"wifi\" }}\n[[client]]\n{client}"
        );
        let scenario = Scenario::parse(&text, "wants", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        of(&scenario, StreamKey::new(1))
    }

    #[test]
    fn equal_connections_want_one_object_of_a_name_as_long_as_the_request_needs() {
        let [want] = wants("rate = \"2/s\"\nsize = \"1KiB\"\nstart = \"250ms\"\n").try_into().unwrap();
        assert_eq!(want.due[..2], [Time::from_ns(250_000_000), Time::from_ns(750_000_000)]);
        assert_eq!(objects(&[want]), BTreeMap::from([("/oxxxxxxxxxxx".to_owned(), 1_024)]));
    }

    #[test]
    fn objects_of_several_sizes_have_several_names_of_one_length() {
        let text = "rate = \"1/s\"\nsize = \"1KiB\"\n[[client]]\nrate = \"1/s\"\nsize = \"64KiB\"\n";
        let named = objects(&wants(text));
        assert_eq!(
            named,
            BTreeMap::from([("/o1024xxxxxxx".to_owned(), 1_024), ("/o65536xxxxxx".to_owned(), 65_536)])
        );
    }

    fn sizes(client: &str) -> BTreeSet<u64> {
        match wants(client).remove(0).each {
            Each::Users { sizes, .. } => sizes,
            plain @ Each::Plain { .. } => panic!("{plain:?}"),
        }
    }

    #[test]
    fn objects_of_users_are_named_by_their_size() {
        let text = "rate = \"1/s\"\nsize = \"1KiB\"\npages = 2\nembedded = 2\nembedded_size = \"2KiB\"\nthink_time = \"1s\"\n\
            requests_per_connection = 6\n";
        let named = objects(&wants(text));
        assert_eq!(named, BTreeMap::from([("/o1024".to_owned(), 1_024), ("/o2048".to_owned(), 2_048)]));
    }

    #[test]
    fn random_sizes_are_those_of_the_simulation() {
        let text = "rate = \"5/s\"\nsize = \"exponential(mean 8KiB)\"\n";
        let scenario = format!(
            "schema = 1\nname = \"wants\"\nduration = \"10s\"\nlink = {{ kind = \"wifi\" }}\n[[client]]\n{text}"
        );
        let scenario =
            Scenario::parse(&scenario, "wants", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let workload = &scenario.clients[0].workload;
        let (key, end) = (StreamKey::new(1), Time::ZERO + scenario.duration);
        let drawn = Schedule::new(workload.clone(), end, &key, 0).map(|demand| {
            let mut session = Session::new(workload, end, &key, 0, demand);
            session.next(workload, demand.due).unwrap().object_bytes
        });
        assert_eq!(sizes(text), drawn.collect());
    }

    #[test]
    fn users_without_an_end_have_objects_until_the_runs() {
        let browse =
            |more: &str| sizes(&format!("kind = \"browse\"\nsize = \"exponential(mean 8KiB)\"\n{more}"));
        let slow = browse("think_time = \"1s\"\nembedded = 1\nparse_time = \"1s\"\npatience = \"10ms\"\n");
        assert_eq!(slow.len(), 20, "a page each second, as if nothing else took time");
        assert!(browse("think_time = \"0s\"\n").is_empty(), "as many as can be served: nobody knows");
    }
}

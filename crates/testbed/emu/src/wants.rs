//! What each client wants in a run, drawn from the scenario: when, and which requests.
//!
//! Sessions draw from the streams of the workload model, so a live client asks for the very objects, and opens
//! connections at the very instants, that a simulated one does. What a user does next is worked out as if every reply
//! came at once; a real reply moves what follows it, but no draw.
//!
//! Left out: which program can do it; see `clients`.

use std::collections::BTreeMap;

use airperf_scenario::{Client, Scenario};
use airperf_units::{Duration, StreamKey, Time};
use airperf_workload::{Outcome, Schedule, Session};

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
    Plain { requests: u32, request: Request },
    /// Each its own: pages, one after the other on one connection.
    Sessions(Vec<Vec<Page>>),
}

/// A page: its first request, when that is answered the others, and then a time to think.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) requests: Vec<Request>,
    pub(crate) think: Duration,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// Path of its object.
    pub(crate) path: String,
    /// Octets of the object.
    pub(crate) object_bytes: u64,
    /// Octets of the request's body.
    pub(crate) body_bytes: u64,
}

impl Want {
    /// All requests, with repetitions.
    fn requests(&self) -> Box<dyn Iterator<Item = &Request> + '_> {
        match &self.each {
            Each::Plain { request, .. } => Box::new(std::iter::once(request)),
            Each::Sessions(sessions) => Box::new(sessions.iter().flatten().flat_map(|page| &page.requests)),
        }
    }

    /// Most requests of a connection.
    pub(crate) fn most_requests(&self) -> usize {
        let of = |session: &Vec<Page>| session.iter().map(|page| page.requests.len()).sum();
        match &self.each {
            Each::Plain { requests, .. } => *requests as usize,
            Each::Sessions(sessions) => sessions.iter().map(of).max().unwrap_or(0),
        }
    }
}

/// What every client of a scenario wants; an endless session is no session here, its client wants nothing.
pub(crate) fn of(scenario: &Scenario, key: StreamKey) -> Vec<Want> {
    let sizes: Vec<_> = scenario.clients.iter().map(|client| client.workload.plain()).collect();
    let one_size =
        sizes.windows(2).all(|pair| pair[0].map(|p| p.object_bytes) == pair[1].map(|p| p.object_bytes))
            && sizes.iter().all(Option::is_some);
    let host = address_of(scenario.server.station.0).to_string();
    let end = Time::ZERO + scenario.duration;
    let want = |(index, client): (usize, &Client)| {
        let workload = &client.workload;
        let request = |object_bytes, body_bytes| {
            let size = (!one_size).then_some(object_bytes);
            let path = path_for(&host, client.http.request_bytes, body_bytes, size);
            Request { path, object_bytes, body_bytes }
        };
        let demands = Schedule::new(workload.clone(), end, &key, index as u64);
        if let Some(plain) = workload.plain() {
            let request = request(plain.object_bytes, plain.upload_bytes);
            let each = Each::Plain { requests: plain.requests, request };
            return Want { due: demands.map(|demand| demand.due).collect(), each };
        }
        let (mut due, mut sessions) = (Vec::new(), Vec::new());
        if workload.session.pages.is_some() {
            for demand in demands {
                due.push(demand.due);
                let session = Session::new(workload, end, &key, index as u64, demand);
                sessions.push(pages(session, workload, demand.due, &request));
            }
        }
        Want { due, each: Each::Sessions(sessions) }
    };
    scenario.clients.iter().enumerate().map(want).collect()
}

/// The pages of a session whose replies all come at once.
fn pages(
    mut session: Session,
    workload: &airperf_workload::Config,
    mut now: Time,
    request: &dyn Fn(u64, u64) -> Request,
) -> Vec<Page> {
    let answered = Outcome { complete: true, first_byte: None, response_bytes: 0 };
    let mut pages: Vec<Page> = Vec::new();
    while !session.is_over() {
        let wake = session.wake().max(now);
        if let Some(page) = pages.last_mut()
            && wake != Time::MAX
        {
            page.think = wake - now;
        }
        now = wake;
        let mut page = Page::default();
        loop {
            while let Some(asked) = session.next(workload, now) {
                page.requests.push(request(asked.object_bytes, asked.upload_bytes));
                if session.ended(workload, now, &answered).is_some() {
                    break;
                }
            }
            // What a page embeds is asked for when it is parsed; a page that is over waits for the user.
            if session.is_over() || page.requests.is_empty() || session.unfinished().is_none() {
                break;
            }
            now = session.wake().max(now);
        }
        if page.requests.is_empty() {
            break;
        }
        pages.push(page);
    }
    pages
}

/// The objects that are asked for, by their path.
pub(crate) fn objects(wants: &[Want]) -> BTreeMap<String, u64> {
    let all = wants.iter().flat_map(Want::requests);
    all.map(|request| (request.path.clone(), request.object_bytes)).collect()
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

    #[test]
    fn a_session_is_its_pages_with_their_objects_bodies_and_times_to_think() {
        let text = "rate = \"1/s\"\nsize = \"1KiB\"\nupload = \"10B\"\npages = 2\nembedded = 2\nembedded_size = \"2KiB\"\n\
            think_time = \"1s\"\nrequests_per_connection = 6\n";
        let [want] = wants(text).try_into().unwrap();
        let Each::Sessions(sessions) = &want.each else { panic!("{want:?}") };
        let sizes =
            |page: &Page| page.requests.iter().map(|r| (r.object_bytes, r.body_bytes)).collect::<Vec<_>>();
        assert_eq!((sessions.len(), sessions[0].len(), want.most_requests()), (10, 2, 6));
        assert_eq!(sizes(&sessions[0][0]), [(1_024, 10), (2_048, 10), (2_048, 10)]);
        assert_eq!([sessions[0][0].think, sessions[0][1].think], [Duration::from_secs(1), Duration::ZERO]);
    }

    #[test]
    fn random_sizes_are_those_of_the_simulation() {
        let text = "rate = \"5/s\"\nsize = \"exponential(mean 8KiB)\"\n";
        let [want] = wants(text).try_into().unwrap();
        let Each::Sessions(sessions) = &want.each else { panic!("{want:?}") };
        let scenario = format!(
            "schema = 1\nname = \"wants\"\nduration = \"10s\"\nlink = {{ kind = \"wifi\" }}\n[[client]]\n{text}"
        );
        let scenario = Scenario::parse(&scenario, "wants", &[]).unwrap_or_else(|p| panic!("{p}"));
        let workload = &scenario.clients[0].workload;
        let end = Time::ZERO + scenario.duration;
        let key = StreamKey::new(1);
        let drawn = Schedule::new(workload.clone(), end, &key, 0).map(|demand| {
            let mut session = Session::new(workload, end, &key, 0, demand);
            session.next(workload, demand.due).unwrap().object_bytes
        });
        let asked: Vec<u64> = sessions.iter().map(|pages| pages[0].requests[0].object_bytes).collect();
        assert_eq!(asked, drawn.collect::<Vec<_>>());
    }
}

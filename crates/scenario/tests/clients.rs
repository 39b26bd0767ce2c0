//! What `[[client]]` makes of its keys together: sessions, pages, distributions.

use airperf_http::TimeoutRule;
use airperf_scenario::{Client, Scenario};
use airperf_units::Duration;
use airperf_workload::{ArrivalProcess, Distribution};

fn parse(client: &str) -> Result<Scenario, String> {
    let text = format!(
        "schema = 1\nname = \"clients\"\nduration = \"10s\"\nlink = {{ kind = \"wifi\" }}\n[[client]]\n{client}"
    );
    Scenario::parse(&text, "clients.toml", &[]).map_err(|problems| problems.to_string())
}

fn client(keys: &str) -> Client {
    let scenario = parse(keys).unwrap_or_else(|problems| panic!("{problems}"));
    let again =
        Scenario::from_resolved(scenario.resolved(), "again").expect("the resolved form is a scenario");
    assert_eq!(again.clients, scenario.clients, "the resolved form means the same");
    assert_eq!(again.sha256(), scenario.sha256());
    scenario.clients[0].clone()
}

#[test]
fn a_client_of_before_is_as_plain_as_before() {
    let plain = client("rate = \"10/s\"\nsize = \"1KiB\"\nrequests_per_connection = 5\n");
    let plain = plain.workload.plain().expect("one connection, requests one after the other");
    assert_eq!((plain.requests, plain.object_bytes, plain.upload_bytes), (5, 1024, 0));
}

#[test]
fn a_browsing_user_needs_no_rate_and_never_stops() {
    let user = client(
        "kind = \"browse\"\nsize = \"lognormal(mean 10KiB, cv 1.5)\"\nembedded = \"uniform(from 0, to 12)\"\n\
         embedded_size = \"surge(to 1MB)\"\nthink_time = \"pareto(from 1s, to 120s, shape 1.5)\"\ncached = 0.4\n\
         parse_time = \"50ms\"\npatience = \"30s\"\nconnections = 4\nrequests_per_connection = 100\npipeline = 2\n\
         timeout = \"5s\"\ntimeout_rule = \"progress\"\nabort = \"reset\"\nstart = \"random\"\n",
    );
    let (workload, plan) = (&user.workload, &user.workload.session);
    assert_eq!((workload.arrivals, plan.pages.clone(), plan.fragile), (ArrivalProcess::Once, None, false));
    assert_eq!(workload.size, Distribution::LogNormal { mean: 10_240, cv: 1.5 });
    assert_eq!(plan.embedded, Distribution::Uniform { low: 0, high: 12 });
    assert_eq!(plan.embedded_size, Some(Distribution::Surge { high: 1_000_000 }));
    let think = Distribution::Pareto { low: 1_000_000_000, high: 120_000_000_000, shape: 1.5 };
    assert_eq!((&plan.think_time, plan.cached), (&think, 0.4));
    assert_eq!(plan.parse_time, Distribution::Fixed(50_000_000));
    assert_eq!((plan.connections, plan.requests_per_connection, plan.pipeline), (4, 100, 2));
    assert_eq!(plan.patience, Some(Duration::from_secs(30)));
    assert_eq!((user.http.timeout_rule, user.http.abort_resets), (TimeoutRule::Progress, true));
    assert_eq!(workload.plain(), None);
}

#[test]
fn bursts_of_httperf_are_pages() {
    // --wsess 100,10,2 --burst-length 5 --rate 4
    let sessions = client(
        "rate = \"4/s\"\nsize = \"1KiB\"\npages = 2\nembedded = 4\nthink_time = \"2s\"\nrequests_per_connection = 10\n",
    );
    assert_eq!(sessions.workload.requests_per_session(), Some(10.0));
    assert!(sessions.workload.session.fragile);
    let one_page = client("rate = \"4/s\"\nsize = \"1KiB\"\nembedded = 4\nrequests_per_connection = 10\n");
    assert_eq!(one_page.workload.session.pages, Some(Distribution::Fixed(1)));
}

#[test]
fn what_does_not_go_together_is_refused_where_it_stands() {
    let load = "rate = \"10/s\"\nsize = \"1KiB\"\n";
    for (keys, problem) in [
        ("size = \"1KiB\"\n", "client.rate: is missing"),
        ("size = \"1KiB\"\nrate = \"none\"\n", "client.rate: is missing"),
        ("kind = \"browse\"\nsize = \"1KiB\"\nrate = \"1/s\"\n", "a browsing user comes once"),
        ("kind = \"browse\"\nsize = \"1KiB\"\narrivals = \"poisson\"\n", "a browsing user comes once"),
        (&format!("{load}pages = \"endless\"\n"), "must end"),
        (&format!("{load}pages = 0\n"), "out of range"),
        (&format!("{load}pages = \"3\"\n"), "without quotes"),
        (&format!("{load}upload = \"1KiB\"\npipeline = 2\n"), "not pipelined"),
        (&format!("{load}upload = \"1KiB\"\nrequest_size = \"60B\"\n"), "at least 70B"),
        (&format!("{load}cached = 0.5\n"), "embed nothing"),
        (&format!("{load}parse_time = \"1s\"\n"), "embed nothing"),
        (&format!("{load}think_time = \"exponential(mean 3)\"\n"), "needs a unit"),
        (&format!("{load}think_time = \"surge(to 1MB)\"\n"), "no distribution `surge` here"),
        (&format!("{load}embedded = \"exponental(mean 3)\"\n"), "did you mean `exponential`?"),
    ] {
        let told = parse(keys).err().unwrap_or_else(|| panic!("{keys} is no scenario"));
        assert!(told.contains(problem), "{keys}: {told}");
        assert!(told.starts_with("clients.toml:"), "{told}");
    }
}

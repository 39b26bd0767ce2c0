//! Users as scenarios describe them: several connections, patience with a page, going on after a failure.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use airperf_load::Plan;
use serde_json::{Value, json};

use crate::server::{Server, answer, request};
use crate::{NOBODY, plan, run};

const MS: u64 = 1_000_000;

/// One user who comes at once; `users` says what they do.
fn visit(address: SocketAddr, users: Value, more: Value) -> Plan {
    let mut all = json!({
        "arrivals": { "process": "once" }, "connections": null, "duration_ns": 600 * MS, "drain_ns": 400 * MS,
        "requests_per_connection": 100, "users": { "size_bytes": { "fixed": 5 } },
    });
    let put = |into: &mut Value, from: Value| {
        into.as_object_mut().unwrap().extend(from.as_object().unwrap().clone());
    };
    put(&mut all["users"], users);
    put(&mut all, more);
    plan(address, all)
}

/// Answers after a while, and keeps the most that it had to answer at once.
fn slowly(most: Arc<AtomicU64>) -> impl Fn(std::net::TcpStream, u64) + Send + Sync {
    let busy = Arc::new(AtomicU64::new(0));
    move |mut stream, _| {
        let mut rest = Vec::new();
        while request(&mut stream, &mut rest).is_some() {
            most.fetch_max(busy.fetch_add(1, Relaxed) + 1, Relaxed);
            std::thread::sleep(Duration::from_millis(20));
            busy.fetch_sub(1, Relaxed);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").unwrap();
        }
    }
}

#[test]
fn what_a_page_embeds_comes_over_as_many_connections_as_its_user_may_open() {
    let most = Arc::new(AtomicU64::new(0));
    let server = Server::start(slowly(most.clone()));
    let users = json!({ "pages": { "fixed": 2 }, "embedded": { "fixed": 6 }, "connections": 3 });
    let result = run(&visit(server.address, users, json!({})));
    assert_eq!((result.completed, result.connections.completed), (14, 1), "{result:?}");
    assert_eq!((server.accepted(), result.connections.opened, most.load(Relaxed)), (3, 3, 3));
    let pages = result.pages.unwrap();
    assert_eq!((pages.complete, pages.incomplete + pages.given_up + pages.unfinished), (2, 0));
    // One for the page, two rounds of three for what it embeds.
    let page = result.page_ms.unwrap();
    assert!(page.min.unwrap() >= 60.0 && page.max.unwrap() < 150.0, "{page:?}");
}

#[test]
fn connections_are_closed_when_their_requests_are_used_up() {
    let server = Server::start(answer(5));
    let users = json!({ "pages": { "fixed": 4 }, "embedded": { "fixed": 1 } });
    let result = run(&visit(server.address, users, json!({ "requests_per_connection": 3 })));
    assert_eq!((result.completed, server.accepted(), result.connections.completed), (8, 3, 1), "{result:?}");
    assert_eq!(result.replies_per_connection.clone().into_iter().collect::<Vec<_>>(), [(2, 1), (3, 2)]);
}

#[test]
fn a_user_out_of_patience_leaves_the_page_and_everything_under_way() {
    // The page comes, of what it embeds nothing.
    let server = Server::start(|mut stream, number| {
        let mut rest = Vec::new();
        let _ = request(&mut stream, &mut rest);
        if number == 0 {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx").unwrap();
        }
        std::thread::sleep(Duration::from_secs(2));
    });
    let users = json!({ "pages": { "fixed": 5 }, "embedded": { "fixed": 4 }, "connections": 2, "patience_ns": 100 * MS });
    let result = run(&visit(server.address, users, json!({ "timeout_ns": null })));
    assert_eq!((result.completed, result.errors.reply, result.errors.connect), (1, 2, 0), "{result:?}");
    assert_eq!(
        (result.pages.unwrap().given_up, result.connections.failed, result.causes["timeout"]),
        (1, 1, 1)
    );
    assert!(result.elapsed_s > 0.099, "{}", result.elapsed_s);
}

#[test]
fn who_browses_goes_on_after_a_failure_until_the_load_ends() {
    // Two connections in four are closed before they have said anything.
    let server = Server::start(|mut stream, number| {
        let mut rest = Vec::new();
        while request(&mut stream, &mut rest).is_some() && number / 2 % 2 == 1 {
            let close = "Connection: close\r\nContent-Length: 1\r\n\r\nx";
            stream.write_all(format!("HTTP/1.1 200 OK\r\n{close}").as_bytes()).unwrap();
        }
    });
    let users = json!({ "fragile": false, "think_time_ns": { "fixed": 40 * MS } });
    let result = run(&visit(server.address, users, json!({ "clients": [{}, { "offset_ns": 20 * MS }] })));
    let pages = result.pages.unwrap();
    assert_eq!((pages.complete, pages.incomplete), (result.completed, result.errors.reset), "{result:?}");
    assert!(pages.complete >= 8 && pages.incomplete >= 8, "{pages:?}");
    assert_eq!((result.connections.due, result.connections.failed), (2, 2));
    assert!(result.offered_cps.is_none() && (0.5..0.7).contains(&result.elapsed_s), "{result:?}");
}

/// Nobody listens: a user who thinks for no time does not ask as fast as the machine can refuse.
#[test]
fn a_user_who_is_refused_at_once_waits_before_trying_again() {
    let result =
        run(&visit(NOBODY.parse().unwrap(), json!({ "fragile": false }), json!({ "duration_ns": 200 * MS })));
    assert!((5..=25).contains(&result.errors.connect), "{result:?}");
    assert_eq!((result.connections.failed, result.causes["refused"]), (1, 1));
}

/// A server may close an idle connection just when the next request is on its way (RFC 9112 §9.3.1).
#[test]
fn a_request_that_met_a_closing_server_is_made_again() {
    let asked = Arc::new(Mutex::new(0));
    let noted = asked.clone();
    let server = Server::start(move |mut stream, _| {
        let mut rest = Vec::new();
        for replies in [true, false] {
            if request(&mut stream, &mut rest).is_none() {
                return;
            }
            *noted.lock().unwrap() += 1;
            if replies {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx").unwrap();
            }
        }
    });
    let result = run(&visit(server.address, json!({ "pages": { "fixed": 5 } }), json!({})));
    assert_eq!((result.completed, result.connections.completed, result.sent), (5, 1, 5), "{result:?}");
    assert_eq!((server.accepted(), *asked.lock().unwrap()), (5, 9));
}

#[test]
fn users_under_way_when_the_time_is_up_are_neither_completed_nor_failed() {
    let server = Server::start(|mut stream, _| {
        let _ = request(&mut stream, &mut Vec::new());
        std::thread::sleep(Duration::from_secs(2));
    });
    let users = json!({ "pages": { "fixed": 3 }, "connections": 2 });
    let more = json!({ "timeout_ns": null, "duration_ns": 50 * MS, "drain_ns": 50 * MS });
    let result = run(&visit(server.address, users, more));
    assert_eq!((result.unfinished, result.connections.unfinished, result.completed), (1, 1, 0), "{result:?}");
    assert_eq!(result.pages.unwrap().unfinished, 1);
}

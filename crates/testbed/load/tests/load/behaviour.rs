//! What a load does when all goes well.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::json;

use crate::server::{Server, answer, request};
use crate::{accounted, plan, run};

#[test]
fn connections_are_opened_when_they_are_due_and_every_reply_is_counted() {
    let server = Server::start(answer(1_000));
    let result = run(&plan(server.address, json!({})));
    assert_eq!((result.connections.due, result.connections.completed, result.completed), (20, 20, 20));
    assert_eq!((server.accepted(), result.bytes.reply_bodies, result.status["2xx"]), (20, 20_000, 20));
    assert_eq!((result.offered_rps, result.offered_cps), (Some(200.0), Some(200.0)));
    assert!((result.load_s - 0.1).abs() < 1e-6, "{}", result.load_s);
    assert!(result.open_loop && result.valid && !result.interrupted);
    assert_eq!(result.schedule_error_us.count, 20);
    assert!(result.response_ms.p50 >= result.service_ms.p50);
}

#[test]
fn a_persistent_connection_carries_its_requests_in_order() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let server = Server::start(move |mut stream, _| {
        let mut rest = Vec::new();
        while let Some(head) = request(&mut stream, &mut rest) {
            noted.lock().unwrap().push(head.split(' ').nth(1).unwrap().to_owned());
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
        }
    });
    let mut plan = plan(server.address, json!({ "connections": 2, "requests_per_connection": 3 }));
    plan.target.paths = vec!["/a".into(), "/b".into(), "/c".into()];
    plan.arrivals.as_mut().unwrap().rate_micro = Some(20_000_000);
    let result = run(&plan);
    assert_eq!((result.completed, server.accepted(), result.statuses[&204]), (6, 2, 6));
    assert_eq!(*seen.lock().unwrap(), ["/a", "/b", "/c", "/a", "/b", "/c"]);
    assert_eq!(result.replies_per_connection[&3], 2);
}

/// The server answers only when it has all requests: without a pipeline nothing would ever come back.
#[test]
fn a_pipeline_sends_ahead_of_the_replies() {
    let server = Server::start(|mut stream, _| {
        let mut rest = Vec::new();
        for _ in 0..2 {
            for _ in 0..4 {
                request(&mut stream, &mut rest).unwrap();
            }
            stream.write_all("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi".repeat(4).as_bytes()).unwrap();
        }
    });
    let more = json!({ "connections": 3, "requests_per_connection": 8, "pipeline": 4 });
    let result = run(&plan(server.address, more));
    assert_eq!((result.completed, result.connections.completed), (24, 3), "{result:?}");
}

#[test]
fn bodies_larger_than_a_socket_buffer_arrive_whole() {
    let server = Server::start(answer(10));
    let bytes = 3_000_000;
    let more =
        json!({ "connections": 2, "requests_per_connection": 2, "body_bytes": bytes, "timeout_ns": null });
    let mut plan = plan(server.address, more);
    plan.target.method = "POST".into();
    let result = run(&plan);
    assert_eq!(result.completed, 4);
    assert!(result.bytes.sent > 4 * bytes && result.bytes.sent < 4 * (bytes + 200), "{:?}", result.bytes);
    assert_eq!(result.bytes.requests, result.bytes.sent);
}

#[test]
fn sessions_think_between_bursts_and_open_again_what_the_server_closed() {
    // The server closes after two requests.
    let server = Server::start(|mut stream, _| {
        let mut rest = Vec::new();
        for last in [false, true] {
            let Some(_) = request(&mut stream, &mut rest) else { return };
            let close = if last { "Connection: close\r\n" } else { "" };
            stream
                .write_all(format!("HTTP/1.1 200 OK\r\n{close}Content-Length: 0\r\n\r\n").as_bytes())
                .unwrap();
        }
    });
    let think = 50_000_000u64;
    let burst = json!({ "requests": [{ "think_ns": think }, { "path": "/b" }] });
    let more = json!({ "connections": 4, "sessions": [[burst.clone(), burst.clone(), burst]] });
    let result = run(&plan(server.address, more));
    assert_eq!(
        (result.completed, result.connections.completed, server.accepted()),
        (24, 4, 12),
        "{result:?}"
    );
    let session = result.session_ms.unwrap();
    assert_eq!(session.count, 4);
    assert!(session.min.unwrap() >= 100.0 && session.max.unwrap() < 1_000.0, "two thinks: {session:?}");
    // Thinking is the user's and in no response time.
    assert!(result.response_ms.p50.unwrap() < 40.0, "{:?}", result.response_ms);
}

/// A burst length that does not divide the calls must not hang (it does in a peer).
#[test]
fn the_last_burst_may_be_shorter() {
    let server = Server::start(answer(1));
    let bursts = json!([[{ "requests": [{}, {}, {}] }, { "requests": [{}] }]]);
    let more = json!({ "connections": 2, "sessions": bursts, "pipeline": 8 });
    assert_eq!(run(&plan(server.address, more)).completed, 8);
}

#[test]
fn a_closed_loop_keeps_its_connections_busy() {
    let server = Server::start(answer(100));
    let more = json!({ "arrivals": null, "connections": null, "duration_ns": 300_000_000u64,
        "concurrency_limit": 4, "requests_per_connection": 10 });
    let result = run(&plan(server.address, more));
    assert!(!result.open_loop && result.offered_rps.is_none());
    assert!(result.completed > 50 && result.connections.most_concurrent == 4, "{result:?}");
    assert_eq!(result.connections.failed, 0);
    let more = json!({ "arrivals": null, "connections": 7, "concurrency_limit": 2 });
    assert_eq!(run(&plan(server.address, more)).completed, 7);
}

#[test]
fn connections_of_the_warm_up_are_in_no_figure() {
    let server = Server::start(answer(1));
    let result = run(&plan(server.address, json!({ "warmup_ns": 50_000_000u64 })));
    assert_eq!((result.warmup_connections, result.connections.due, result.completed), (10, 10, 10));
}

#[test]
fn a_start_in_the_future_is_kept() {
    let server = Server::start(answer(1));
    let now = airperf_clock::RunClock::monotonic_now_ns();
    let began = Instant::now();
    let result = run(&plan(server.address, json!({ "connections": 1, "start_at_ns": now + 200_000_000 })));
    assert!(began.elapsed().as_millis() >= 200 && result.completed == 1);
    assert!(result.schedule_error_us.max.unwrap() < 100_000.0, "{:?}", result.schedule_error_us);
}

#[test]
fn the_caller_hears_of_the_progress_and_may_end_the_load() {
    let server = Server::start(answer(1));
    let plan = plan(server.address, json!({ "connections": 1_000_000 }));
    let mut heard = Vec::new();
    let result = airperf_load::run(&plan, None, &mut |news| {
        heard.extend(news);
        if heard.len() == 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    accounted(&result);
    assert!(result.interrupted && result.elapsed_s < 3.0, "{}", result.elapsed_s);
    assert!((190..=201).contains(&heard[0].due) && heard[0].completed > 150, "{heard:?}");
}

#[test]
fn several_addresses_ask_from_one_process() {
    let peers = Arc::new(Mutex::new(Vec::new()));
    let noted = peers.clone();
    let answer = answer(1);
    let server = Server::start(move |stream, number| {
        noted.lock().unwrap().push(stream.peer_addr().unwrap().ip().to_string());
        answer(stream, number);
    });
    let clients = json!([{ "source": "127.0.0.2" }, { "source": "127.0.0.3", "offset_ns": 2_000_000 }]);
    let result = run(&plan(server.address, json!({ "connections": 5, "clients": clients })));
    assert_eq!((result.completed, result.offered_cps), (10, Some(400.0)));
    let mut peers = peers.lock().unwrap().clone();
    peers.sort();
    assert_eq!(peers, [vec!["127.0.0.2"; 5], vec!["127.0.0.3"; 5]].concat());
}

#[test]
fn the_tables_hold_every_exchange_and_connection() {
    use airperf_record::load::{ConnectionRow, ExchangeRow};
    use airperf_record::read;
    let server = Server::start(answer(100));
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("load");
    let plan = plan(server.address, json!({ "requests_per_connection": 2 }));
    let result = airperf_load::run(&plan, Some(&directory), &mut |_| ControlFlow::Continue(())).unwrap();
    let path = |name: &str| directory.join(name);
    let exchanges: Vec<ExchangeRow> =
        read::rows(&path("exchanges.parquet")).unwrap().map(Result::unwrap).collect();
    let connections: Vec<ConnectionRow> =
        read::rows(&path("connections.parquet")).unwrap().map(Result::unwrap).collect();
    assert_eq!((exchanges.len(), connections.len() as u64), (40, result.connections.completed));
    for row in &exchanges {
        let (sent, first, done) = (row.sent_ns.unwrap(), row.first_byte_ns.unwrap(), row.done_ns.unwrap());
        assert!(row.due_ns <= sent && sent <= first && first <= done, "{row:?}");
        assert_eq!((row.status, row.outcome, row.error), (Some(200), "completed", None));
    }
    for row in &connections {
        assert_eq!((row.exchanges, row.bytes_down), (2, 2 * (40 + 100)), "{row:?}");
        assert!(row.due_ns <= row.opened_ns.unwrap() && row.opened_ns <= row.established_ns);
    }
    let log = std::fs::read_to_string(directory.join("histograms.hlog")).unwrap();
    assert!(log.contains("Tag=response,") && log.contains(&result.hdr["response"]), "{log}");
}

/// One reply of a burst lets no further request out; the last one lets out as many as before.
#[test]
fn whole_bursts_wait_for_all_their_replies() {
    let server = Server::start(|mut stream, _| {
        let mut rest = Vec::new();
        let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
        for burst in [3, 3, 1] {
            for _ in 0..burst {
                request(&mut stream, &mut rest).unwrap();
            }
            for _ in 0..burst {
                stream.write_all(reply).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(10));
                stream.set_nonblocking(true).unwrap();
                let early = std::io::Read::read(&mut stream, &mut [0; 1]);
                stream.set_nonblocking(false).unwrap();
                if early.is_ok_and(|octets| octets > 0) {
                    rest.clear(); // the octet is lost, and the load fails
                }
            }
        }
    });
    let more = json!({ "connections": 2, "requests_per_connection": 7, "pipeline": 3, "whole_bursts": true });
    let result = run(&plan(server.address, more));
    assert_eq!((result.completed, result.connections.completed), (14, 2), "{result:?}");
}

#[test]
fn drawn_users_change_connections_when_they_are_used_up_and_begin_no_page_after_the_end() {
    let server = Server::start(answer(3));
    let users = json!({ "pages": { "fixed": 5 }, "size_bytes": { "uniform": { "low": 1, "high": 9 } },
        "think_time_ns": { "fixed": 10_000_000 } });
    let more = json!({ "connections": 4, "requests_per_connection": 2, "users": users });
    let result = run(&plan(server.address, more));
    assert_eq!((result.completed, result.connections.completed), (20, 4), "{result:?}");
    assert_eq!((server.accepted(), result.connections.closed_early), (12, 0));
    assert_eq!(result.offered_rps, Some(1_000.0));
    // The first page is due at 0, and nothing more before the time is up.
    let users = json!({ "pages": { "fixed": 5 }, "size_bytes": { "fixed": 1 },
        "think_time_ns": { "fixed": 100_000_000u64 } });
    let more = json!({ "connections": 9, "until_ns": 50_000_000, "users": users });
    let mut plan = plan(server.address, more);
    plan.arrivals.as_mut().unwrap().rate_micro = Some(10_000_000);
    let result = run(&plan);
    assert_eq!((result.connections.due, result.completed), (1, 1), "{result:?}");
    assert_eq!(result.connections.completed, 1);
}

//! What a load does when something goes wrong: a classed outcome every time, and never a hang.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::{Server, request, say};
use crate::{NOBODY, plan, run};

const FEW: u64 = 3;

fn against(address: SocketAddr, more: Value) -> airperf_load::LoadResult {
    let mut plan = plan(address, more);
    plan.connections = Some(FEW);
    let began = Instant::now();
    let result = run(&plan);
    assert!(began.elapsed() < Duration::from_secs(4), "took {:?}", began.elapsed());
    result
}

#[test]
fn fault_37_a_reply_that_stops_short_is_given_up_in_its_phase() {
    let silent = Server::start(say(b"", false));
    let result = against(silent.address, json!({}));
    assert_eq!((result.errors.reply, result.causes["timeout"]), (FEW, FEW), "{result:?}");
    let cut = Server::start(say(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", false));
    let result = against(cut.address, json!({}));
    assert_eq!((result.errors.receive, result.bytes.wasted), (FEW, FEW * 43), "{result:?}");
    let endless =
        Server::start(say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\n", false));
    assert_eq!(against(endless.address, json!({})).errors.receive, FEW);
}

#[test]
fn fault_37_a_reply_cut_off_by_the_server_is_a_reset() {
    let cut = Server::start(say(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", true));
    let result = against(cut.address, json!({}));
    assert_eq!((result.errors.reset, result.causes["closed"]), (FEW, FEW), "{result:?}");
    let gone = Server::start(say(b"", true));
    assert_eq!(against(gone.address, json!({})).errors.reset, FEW);
}

#[test]
fn fault_37_replies_that_make_no_sense_are_framing_errors() {
    let hostile: [&'static [u8]; 5] = [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
    ];
    for text in hostile {
        let result = against(Server::start(say(text, false)).address, json!({}));
        assert_eq!((result.errors.framing, result.completed), (FEW, 0), "{}", text.escape_ascii());
    }
}

#[test]
fn fault_37_replies_without_length_end_with_the_connection() {
    let server = Server::start(say(b"HTTP/1.1 200 OK\r\n\r\nhello", true));
    let result = against(server.address, json!({}));
    assert_eq!((result.completed, result.bytes.reply_bodies), (FEW, 5 * FEW), "{result:?}");
    let bare = Server::start(say(b"HTTP/1.1 100 Continue\n\nHTTP/1.1 204 No Content\n\n", false));
    assert_eq!(against(bare.address, json!({})).completed, FEW);
}

#[test]
fn a_refused_connection_is_an_error_of_the_connection() {
    let result = against(NOBODY.parse().unwrap(), json!({}));
    assert_eq!((result.errors.connect, result.causes["refused"], result.sent), (FEW, FEW, 0), "{result:?}");
    assert_eq!(result.response_ms.count, 0);
}

#[test]
fn a_handshake_that_is_not_answered_is_given_up() {
    // A full backlog drops SYNs: one connection fills a listener of length 0, a second may.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    nix::sys::socket::listen(&listener, nix::sys::socket::Backlog::new(0).unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    let _fill: Vec<_> = (0..1).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
    let result = against(address, json!({}));
    assert_eq!((result.errors.connect, result.causes["timeout"]), (FEW, FEW), "{result:?}");
}

/// A reply that comes one octet at a time, each well within the patience, all of them not.
fn slowly() -> Server {
    Server::start(|mut stream, _| {
        let _ = request(&mut stream, &mut Vec::new());
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx".chunks(4) {
            std::thread::sleep(Duration::from_millis(50));
            if stream.write_all(byte).is_err() {
                return;
            }
        }
    })
}

#[test]
fn progress_keeps_a_user_waiting_and_httperfs_rule_does_not() {
    let server = slowly();
    let patient = against(server.address, json!({ "timeout_rule": "progress" }));
    assert_eq!(patient.completed, FEW, "{patient:?}");
    let rule = json!({ "timeout_rule": "httperf" });
    let result = against(server.address, rule);
    assert_eq!((result.errors.receive, result.completed), (FEW, 0), "{result:?}");
}

#[test]
fn fault_11_a_limit_of_connections_is_ours_and_in_no_time() {
    let silent = Server::start(say(b"", false));
    let more = json!({ "connections": 20, "concurrency_limit": 5 });
    let result = run(&plan(silent.address, more));
    assert_eq!((result.local.limit, result.errors.reply), (15, 5), "{result:?}");
    assert!(result.generator_limited && result.why[0].contains("limit"), "{:?}", result.why);
    assert_eq!(result.response_ms.count, 0);
}

#[test]
fn fault_12_a_rate_that_cannot_be_kept_is_said() {
    let server = Server::start(crate::server::answer(1));
    let mut plan = plan(server.address, json!({ "connections": 3_000, "schedule_bound_ns": 100_000 }));
    plan.arrivals.as_mut().unwrap().rate_micro = Some(1_000_000_000_000); // a million per second
    let result = run(&plan);
    assert!(result.generator_limited, "{:?}", result.schedule_error_us);
    assert!(result.why.iter().any(|why| why.contains("too slow")), "{:?}", result.why);
    // What was reached, not what was wanted: nobody opens a million connections per second.
    assert!(result.opened_cps < 500_000.0 && result.offered_cps == Some(1e6), "{}", result.opened_cps);
}

/// Nothing is ever answered: arrivals go on as due, and every connection is given up in its turn.
#[test]
fn overload_does_not_stall_the_schedule() {
    let silent = Server::start(|stream, _| {
        std::thread::sleep(Duration::from_secs(2));
        drop(stream);
    });
    let mut plan = plan(silent.address, json!({ "connections": 400, "timeout_ns": 500_000_000u64 }));
    plan.arrivals.as_mut().unwrap().rate_micro = Some(400_000_000);
    let result = run(&plan);
    assert_eq!((result.connections.due, result.causes["timeout"]), (400, 400), "{result:?}");
    assert!((150..=260).contains(&result.connections.most_concurrent), "{:?}", result.connections);
    assert!((result.load_s - 1.0).abs() < 0.01 && result.elapsed_s < 2.5, "{result:?}");
}

#[test]
fn a_plan_for_another_machine_is_refused_before_anything_is_sent() {
    let plan = plan("192.0.2.1:80".parse().unwrap(), json!({}));
    let error = airperf_load::run(&plan, None, &mut |_| std::ops::ControlFlow::Continue(())).unwrap_err();
    assert!(error.to_string().contains("denial-of-service"), "{error}");
}

#[test]
fn a_namespace_that_is_not_there_is_said_before_anything_is_sent() {
    let server = Server::start(say(b"", true));
    let plan = plan(server.address, json!({ "clients": [{ "netns": "no-such-namespace" }] }));
    let error = airperf_load::run(&plan, None, &mut |_| std::ops::ControlFlow::Continue(())).unwrap_err();
    assert!(error.to_string().contains("network namespace of client 0"), "{error}");
}

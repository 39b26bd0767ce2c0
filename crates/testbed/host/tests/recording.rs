//! The recording proxy on loopback: what it writes down, and what it refuses.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use airperf_host::{RecordOptions, Recorded, record};
use serde_json::Value;

/// A server that answers each connection with this and keeps the request's head.
fn server(answer: &'static [u8]) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap().to_string();
    let (heard, requests) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read(&mut byte).unwrap_or(0) == 0 {
                    break;
                }
                head.extend(byte);
            }
            let _ = heard.send(String::from_utf8_lossy(&head).into_owned());
            let _ = stream.write_all(answer);
        }
    });
    (place, requests)
}

/// Records while the requests are sent one after the other, each over a connection of its own; the answers.
fn recorded(folder: &Path, requests: Vec<String>) -> (Recorded, Vec<String>) {
    let options =
        RecordOptions { folder: folder.to_owned(), allowed: Vec::new(), anywhere: false, trusted: None };
    let (tell, told) = mpsc::channel::<String>();
    let client = thread::spawn(move || {
        let proxy = told.recv().unwrap();
        let ask = |request: String| {
            let mut stream = TcpStream::connect(&proxy).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            let _ = stream.read_to_string(&mut answer);
            answer
        };
        requests.into_iter().map(ask).collect::<Vec<_>>()
    });
    let mut go_on = |told: &Recorded| {
        let _ = tell.send(told.listen.clone());
        if client.is_finished() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let told = record(options, &mut go_on).unwrap();
    (told, client.join().unwrap())
}

fn get(url: &str, fields: &str) -> String {
    format!("GET {url} HTTP/1.1\r\nHost: ignored\r\nConnection: close\r\n{fields}\r\n")
}

#[test]
fn an_exchange_is_passed_on_and_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let answer =
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Kept: yes\r\nConnection: X-Hop\r\nX-Hop: no\r\n\r\nhello";
    let (place, heard) = server(answer);
    let url = format!("http://{place}/a?b=c");
    let asked = get(&url, "If-None-Match: \"x\"\r\nAccept-Encoding: br, gzip\r\n");
    let (told, answers) = recorded(folder.path(), vec![asked]);
    assert_eq!((told.exchanges, told.refused, told.failed), (1, 0, 0), "{}", told.last_failure);
    assert!(answers[0].starts_with("HTTP/1.1 200") && answers[0].ends_with("hello"), "{}", answers[0]);

    let head = heard.recv().unwrap().to_ascii_lowercase();
    assert!(head.starts_with("get /a?b=c http/1.1\r\n"), "{head}");
    assert!(
        head.contains(&format!("host: {place}\r\n")) && head.contains("accept-encoding: gzip\r\n"),
        "{head}"
    );
    assert!(!head.contains("if-none-match"), "a cold visit: {head}");

    let text = fs::read_to_string(folder.path().join("exchanges.jsonl")).unwrap();
    let line: Value = serde_json::from_str(text.trim_end()).unwrap();
    assert_eq!((&line["url"], &line["status"]), (&Value::from(url), &Value::from(200)));
    let fields: Vec<&str> =
        line["headers"].as_array().unwrap().iter().map(|field| field[0].as_str().unwrap()).collect();
    assert!(fields.contains(&"x-kept") && !fields.contains(&"x-hop"), "{fields:?}");
    let number = line["body"].as_u64().unwrap().to_string();
    assert_eq!(fs::read(folder.path().join(number)).unwrap(), b"hello");
}

#[test]
fn nobody_is_contacted_who_was_not_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let (told, answers) = recorded(folder.path(), vec![get("http://192.0.2.1/", "")]);
    assert_eq!((told.exchanges, told.refused), (0, 1));
    assert!(
        answers[0].starts_with("HTTP/1.1 403") && answers[0].contains("outside the lab"),
        "{}",
        answers[0]
    );
}

#[test]
fn what_cannot_be_recorded_is_refused_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (place, _heard) = server(b"no HTTP at all\r\n\r\n");
    let requests = vec![
        get(&format!("http://{place}/"), ""),
        get(&format!("http://{place}/"), "Upgrade: websocket\r\n"),
        get("/no/server", ""),
    ];
    let (told, answers) = recorded(folder.path(), requests);
    let statuses: Vec<&str> = answers.iter().map(|answer| &answer[9..12]).collect();
    assert_eq!(statuses, ["502", "501", "501"]);
    assert_eq!((told.exchanges, told.failed), (0, 3));
}

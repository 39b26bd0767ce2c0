//! A server for tests: one thread for each connection, which does as it is told.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// What a server does with a connection; the number is its place in order of acceptance.
pub(crate) type Act = dyn Fn(TcpStream, u64) + Send + Sync;

/// A listening server; its threads end with the test.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    accepted: Arc<AtomicU64>,
}

impl Server {
    pub(crate) fn start(act: impl Fn(TcpStream, u64) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (accepted, act): (_, Arc<Act>) = (Arc::new(AtomicU64::new(0)), Arc::new(act));
        let count = accepted.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (number, act) = (count.fetch_add(1, Relaxed), act.clone());
                std::thread::Builder::new().stack_size(64 * 1024).spawn(move || act(stream, number)).unwrap();
            }
        });
        Self { address, accepted }
    }

    pub(crate) fn accepted(&self) -> u64 {
        self.accepted.load(Relaxed)
    }
}

/// Reads one request with its body; its head, or `None` at the end of the stream.
pub(crate) fn request(stream: &mut TcpStream, rest: &mut Vec<u8>) -> Option<String> {
    let mut part = [0; 16 * 1024];
    loop {
        if let Some(end) = rest.windows(4).position(|w| w == b"\r\n\r\n").map(|at| at + 4) {
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok());
            let whole = end + length.unwrap_or(0usize);
            if rest.len() >= whole {
                rest.drain(..whole);
                return Some(head);
            }
        }
        match stream.read(&mut part) {
            Ok(n) if n > 0 => rest.extend_from_slice(&part[..n]),
            _ => return None,
        }
    }
}

/// Answers every request with so many octets.
pub(crate) fn answer(body: usize) -> impl Fn(TcpStream, u64) + Send + Sync {
    let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {body}\r\n\r\n{}", "b".repeat(body));
    move |mut stream, _| {
        let mut rest = Vec::new();
        while request(&mut stream, &mut rest).is_some() {
            if stream.write_all(reply.as_bytes()).is_err() {
                return;
            }
        }
    }
}

/// Sends these octets to whoever asks, then closes if `close`, or says no more.
pub(crate) fn say(text: &'static [u8], close: bool) -> impl Fn(TcpStream, u64) + Send + Sync {
    move |mut stream, _| {
        let _ = request(&mut stream, &mut Vec::new());
        let _ = stream.write_all(text);
        if !close {
            std::thread::sleep(Duration::from_secs(5));
        }
    }
}

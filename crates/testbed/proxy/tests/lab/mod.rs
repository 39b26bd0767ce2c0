//! A site with a page, proxies before it and a browser that reads octet by octet what it gets.
#![allow(dead_code)] // each test has its own use for it

use airperf_host::{Authority, believing};
use airperf_proxy::optimise::{Halves, Optimised, Options, Reach, Role, optimise};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio_rustls::rustls::{self, StreamOwned};

/// Where the tests' names lead: every `*.test` is the site.
pub(crate) const NAMES: [&str; 3] = ["a.test", "b.test", "c.test"];

/// What the site was asked.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) heads: Mutex<Vec<String>>,
    pub(crate) connections: AtomicU32,
}

impl Seen {
    pub(crate) fn asked(&self, target: &str) -> usize {
        self.heads.lock().unwrap().iter().filter(|head| head.contains(&format!(" {target} "))).count()
    }
}

/// A site at an address of its own.
pub(crate) fn site() -> (SocketAddr, Arc<Seen>) {
    site_over(|stream| stream)
}

/// A site that is spoken to over TLS, with certificates of this authority.
pub(crate) fn secret_site(authority: &Authority) -> (SocketAddr, Arc<Seen>) {
    let config = Arc::new(authority.server(NAMES.into_iter(), false).unwrap());
    site_over(move |stream| StreamOwned::new(rustls::ServerConnection::new(config.clone()).unwrap(), stream))
}

fn site_over<S: Read + Write>(
    over: impl Fn(TcpStream) -> S + Clone + Send + 'static,
) -> (SocketAddr, Arc<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Seen::default());
    let shared = seen.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let seen = shared.clone();
            seen.connections.fetch_add(1, SeqCst);
            let over = over.clone();
            std::thread::spawn(move || serve(over(stream), &seen));
        }
    });
    (address, seen)
}

/// The kind and body of what is at a path; versions of a text differ in a line.
pub(crate) fn object(path: &str) -> Option<(&'static str, Vec<u8>)> {
    let number = |text: &str| text.parse::<usize>().unwrap_or(0);
    Some(match path.split_at(path[1..].find('/').map_or(path.len(), |at| at + 1)) {
        ("/page", _) => ("text/html; charset=utf-8", page()),
        ("/style.css", _) => ("text/css", b"body { background: url(/image/9000) }\n".repeat(20)),
        ("/text", n) => ("text/plain", text(number(&n[1..]))),
        ("/image", n) => ("image/png", noise(number(&n[1..]))),
        ("/version", n) => {
            let mut body = text(400);
            body.extend(format!("this is version {}\n", &n[1..]).bytes());
            ("text/plain", body)
        }
        _ => return None,
    })
}

pub(crate) fn page() -> Vec<u8> {
    let mut page = b"<!doctype html><link rel=stylesheet href=/style.css>".to_vec();
    for n in 0..8 {
        page.extend(format!("<p>paragraph {n} <img src=\"http://b.test/image/{}\">\n", 3_000 + n).bytes());
    }
    page
}

pub(crate) fn text(lines: usize) -> Vec<u8> {
    (0..lines).flat_map(|n| format!("line {n} of a text that is like the others\n").into_bytes()).collect()
}

pub(crate) fn noise(octets: usize) -> Vec<u8> {
    let mut state = octets as u32 | 1;
    let next = |state: &mut u32| {
        *state ^= *state << 13;
        *state ^= *state >> 17;
        *state ^= *state << 5;
        *state as u8
    };
    (0..octets).map(|_| next(&mut state)).collect()
}

fn serve(stream: impl Read + Write, seen: &Seen) {
    let mut reader = BufReader::new(stream);
    while let Some(head) = read_head(&mut reader) {
        let mut words = head.split(' ');
        let (method, target) = (words.next().unwrap().to_owned(), words.next().unwrap().to_owned());
        let body = read_body(&mut reader, &head);
        seen.heads.lock().unwrap().push(head);
        let reply = match (method.as_str(), target.as_str()) {
            ("POST", _) => ok("application/octet-stream", &body),
            (_, "/chunked") => {
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
                    .to_vec()
            }
            (_, "/not-modified") => b"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n".to_vec(),
            ("GET", "/part") => {
                b"HTTP/1.1 206 Partial Content\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-299/9999\r\nContent-Length: 300\r\n\r\n"
                    .iter()
                    .copied()
                    .chain([b'x'; 300])
                    .collect()
            }
            ("GET", "/drip") => {
                let _ = drip(reader.get_mut());
                return;
            }
            ("GET", path) if with(path).is_some() => {
                let tag = field(seen.heads.lock().unwrap().last().unwrap(), "if-none-match");
                match tag.filter(|tag| tag.contains("\"x\"") && with(path).unwrap().contains("ETag")) {
                    Some(_) => b"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nX-New: 1\r\n\r\n".to_vec(),
                    None => reply("text/plain", with(path).unwrap(), &text(500)),
                }
            }
            (_, "/counted") => {
                let count = seen.asked("/counted");
                ok("text/plain", &object(&format!("/version/{count}")).unwrap().1)
            }
            ("HEAD", path) => {
                let (kind, body) = object(path).unwrap();
                let whole = ok(kind, &body);
                whole[..whole.len() - body.len()].to_vec()
            }
            (_, path) => match object(path) {
                Some((kind, body)) => ok(kind, &body),
                None => b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone".to_vec(),
            },
        };
        if reader.get_mut().write_all(&reply).is_err() {
            return;
        }
    }
}

/// What replies with a text of 500 lines say of themselves.
pub(crate) fn with(path: &str) -> Option<&'static str> {
    Some(match path {
        "/tagged" => "ETag: \"x\"\r\nContent-MD5: abc\r\nAccept-Ranges: bytes\r\n",
        "/tagged/private" => "ETag: \"x\"\r\nCache-Control: private\r\n",
        "/fixed" => "Cache-Control: max-age=9, No-Transform\r\n",
        "/coded" => "Content-Encoding: x-own\r\n",
        _ => return None,
    })
}

/// Three lines with pauses between them, and the end after another.
fn drip(stream: &mut impl Write) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    for _ in 0..3 {
        stream.write_all(b"5\r\nline\n\r\n")?;
        std::thread::sleep(Duration::from_millis(400));
    }
    stream.write_all(b"0\r\n\r\n")
}

fn ok(kind: &str, body: &[u8]) -> Vec<u8> {
    reply(kind, "Connection: x-hop\r\nX-Hop: 1\r\nAirperf-Coding: s\r\n", body)
}

fn reply(kind: &str, fields: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{fields}\r\n");
    [head.as_bytes(), body].concat()
}

pub(crate) fn read_head(reader: &mut impl BufRead) -> Option<String> {
    let mut head = String::new();
    while reader.read_line(&mut head).ok()? > 0 {
        if head.ends_with("\r\n\r\n") {
            return Some(head);
        }
    }
    None
}

pub(crate) fn read_body(reader: &mut impl BufRead, head: &str) -> Vec<u8> {
    let mut body = Vec::new();
    if let Some(length) = field(head, "content-length") {
        body.resize(length.parse().unwrap(), 0);
        reader.read_exact(&mut body).unwrap();
    } else if field(head, "transfer-encoding").is_some() {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let length = usize::from_str_radix(line.trim(), 16).unwrap();
            let start = body.len();
            body.resize(start + length + 2, 0);
            reader.read_exact(&mut body[start..]).unwrap();
            body.truncate(start + length);
            if length == 0 {
                break;
            }
        }
    }
    body
}

pub(crate) fn field(head: &str, name: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (known, value) = line.split_once(':')?;
        known.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

/// A running proxy.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    state: Arc<Mutex<Optimised>>,
    thread: Option<JoinHandle<Optimised>>,
}

pub(crate) fn reach(site: SocketAddr) -> Reach {
    let places = NAMES.iter().flat_map(|name| [80, 443].map(|port| ((*name).to_owned(), port)));
    let instead: BTreeMap<_, _> = places.map(|place| (place, site)).collect();
    Reach { instead, ..Reach::default() }
}

/// One proxy that only passes things on.
pub(crate) const SINGLE: Role = Role::Single { compress: None, cache: false };

pub(crate) fn options(role: Role, reach: Reach) -> Options {
    Options {
        role,
        transparent: false,
        connections: 4,
        max_connections: 100,
        path: None,
        adapt_tcp: false,
        reach,
        intercept: None,
        trusted: None,
        mark: None,
    }
}

pub(crate) fn halves(peer: SocketAddr) -> Halves {
    Halves {
        peer,
        compress: None,
        cache: false,
        delta: false,
        push: false,
        names_there: true,
        datagrams: None,
    }
}

impl Proxy {
    pub(crate) fn start(options: Options) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let state = Arc::new(Mutex::new(Optimised::default()));
        let (told, latest) = (stop.clone(), state.clone());
        let thread = std::thread::spawn(move || {
            let mut tell = |now: Optimised| {
                *latest.lock().unwrap() = now;
                if told.load(SeqCst) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            optimise(listener, None, options, &mut tell).unwrap()
        });
        Self { address, stop, state, thread: Some(thread) }
    }

    /// A server half before `site`.
    pub(crate) fn server(site: SocketAddr) -> Self {
        Self::start(options(Role::Server, reach(site)))
    }

    /// A client half of `server`, changed by `change`.
    pub(crate) fn client(server: &Self, change: impl FnOnce(&mut Halves)) -> Self {
        let mut halves = halves(server.address);
        change(&mut halves);
        Self::start(options(Role::Client(halves), Reach::default()))
    }

    pub(crate) fn browse(&self) -> Browser {
        Browser::at(self.address)
    }

    /// Waits until the proxy says something.
    pub(crate) fn until(&self, what: impl Fn(&Optimised) -> bool) -> bool {
        let until = Instant::now() + Duration::from_secs(5);
        while Instant::now() < until {
            if what(&self.state.lock().unwrap()) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    /// What it said last; it speaks four times a second.
    pub(crate) fn now(&self) -> Optimised {
        *self.state.lock().unwrap()
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, SeqCst);
    }

    pub(crate) fn end(mut self) -> Optimised {
        self.stop();
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop();
    }
}

/// One connection of a browser.
pub(crate) struct Browser<S = TcpStream>(pub(crate) BufReader<S>);

/// Certificates of an authority as a file; it stays.
pub(crate) fn file_of(authority: &Authority) -> PathBuf {
    let name: String = authority.key_hash().iter().map(|octet| format!("{octet:02x}")).collect();
    let path = std::env::temp_dir().join(format!("airperf-{name}.pem"));
    std::fs::write(&path, authority.pem()).unwrap();
    path
}

impl Browser {
    /// The inside of a tunnel to a host, whose certificate is to be of this authority.
    pub(crate) fn within(
        mut self,
        host: &'static str,
        authority: &Authority,
    ) -> Browser<StreamOwned<rustls::ClientConnection, TcpStream>> {
        self.send(&format!("CONNECT {host}:443 HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert!(read_head(&mut self.0).unwrap().starts_with("HTTP/1.1 200"));
        let path = file_of(authority);
        let config = Arc::new(believing(Some(&path)).unwrap());
        std::fs::remove_file(path).unwrap();
        let client = rustls::ClientConnection::new(config, host.try_into().unwrap()).unwrap();
        Browser(BufReader::new(StreamOwned::new(client, self.0.into_inner())))
    }

    pub(crate) fn at(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
        Self(BufReader::new(stream))
    }
}

impl<S: Read + Write> Browser<S> {
    pub(crate) fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn ask(&mut self, url: &str) {
        self.ask_with(url, "");
    }

    /// Asks with these lines in the head.
    pub(crate) fn ask_with(&mut self, url: &str, fields: &str) {
        self.send(&format!("GET {url} HTTP/1.1\r\nHost: x\r\nUser-Agent: test\r\n{fields}\r\n"));
    }

    /// Status, head and body of the next reply.
    pub(crate) fn reply(&mut self) -> (u16, String, Vec<u8>) {
        let head = read_head(&mut self.0).expect("a reply");
        let status = head[9..12].parse().unwrap();
        let body = read_body(&mut self.0, &head);
        (status, head, body)
    }

    pub(crate) fn get(&mut self, url: &str) -> (u16, Vec<u8>) {
        self.ask(url);
        let (status, _, body) = self.reply();
        (status, body)
    }
}

//! The proxy between real sockets on the loopback device.

use airperf_http::{AdmissionConfig, Policy, Refusal};
use airperf_proxy::{Options, Served, Upstream, serve};
use airperf_units::Duration as Span;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A server that answers `GET /N` with N octets, each connection on a thread; counts those at work.
#[derive(Default)]
struct Seen {
    at_work: AtomicU32,
    most: AtomicU32,
    heads: Mutex<Vec<String>>,
}

fn upstream() -> (SocketAddr, Arc<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Seen::default());
    let shared = seen.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let seen = shared.clone();
            std::thread::spawn(move || answer(stream, &seen));
        }
    });
    (address, seen)
}

fn answer(stream: TcpStream, seen: &Seen) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(head) = read_head(&mut reader) {
        let now = seen.at_work.fetch_add(1, SeqCst) + 1;
        seen.most.fetch_max(now, SeqCst);
        let octets: usize = head.split(['/', ' ']).find_map(|word| word.parse().ok()).unwrap_or(0);
        seen.heads.lock().unwrap().push(head);
        let mut reply =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {octets}\r\nKeep-Alive: x\r\n\r\n").into_bytes();
        reply.resize(reply.len() + octets, b'a');
        let _ = (&stream).write_all(&reply);
        seen.at_work.fetch_sub(1, SeqCst);
    }
}

fn read_head(reader: &mut impl BufRead) -> Option<String> {
    let mut head = String::new();
    while reader.read_line(&mut head).ok()? > 0 {
        if head.ends_with("\r\n\r\n") {
            return Some(head);
        }
    }
    None
}

struct Running {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    state: Arc<Mutex<Served>>,
    thread: JoinHandle<Served>,
}

impl Running {
    fn start(upstream: SocketAddr, admission: Option<AdmissionConfig>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let state = Arc::new(Mutex::new(Served::default()));
        let upstream = Upstream::At(upstream);
        let options = Options { upstream, admission, max_connections: 100, backlog: None };
        let (told, latest) = (stop.clone(), state.clone());
        let thread = std::thread::spawn(move || {
            let mut tell = |served: Served| {
                *latest.lock().unwrap() = served;
                if told.load(SeqCst) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            serve(listener, options, &mut tell).unwrap()
        });
        Self { address, stop, state, thread }
    }

    fn connect(&self) -> BufReader<TcpStream> {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        BufReader::new(stream)
    }

    fn end(self) -> Served {
        self.stop.store(true, SeqCst);
        self.thread.join().unwrap()
    }
}

fn ask(client: &mut BufReader<TcpStream>, target: &str) {
    let text = format!("GET {target} HTTP/1.1\r\nHost: here\r\n\r\n");
    client.get_mut().write_all(text.as_bytes()).unwrap();
}

/// Status and body of the next reply.
fn reply(client: &mut BufReader<TcpStream>) -> std::io::Result<(u16, Vec<u8>)> {
    let head = read_head(client).ok_or(ErrorKind::UnexpectedEof)?;
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    client.read_exact(&mut body)?;
    Ok((head[9..12].parse().unwrap(), body))
}

fn admission(limit: u32, wait_ms: u64, refusal: Refusal) -> Option<AdmissionConfig> {
    Some(AdmissionConfig { policy: Policy::Concurrent { limit }, wait: Span::from_ms(wait_ms), refusal })
}

#[test]
fn requests_and_bodies_pass_through_and_are_counted() {
    let (server, seen) = upstream();
    let proxy = Running::start(server, None);
    let mut client = proxy.connect();
    for octets in [0, 10, 1_000_000] {
        ask(&mut client, &format!("/{octets}"));
        assert_eq!(reply(&mut client).unwrap(), (200, vec![b'a'; octets]));
    }
    drop(client);
    let counts = proxy.end().counts;
    assert_eq!((counts.connections, counts.requests, counts.replies), (1, 3, 3));
    assert_eq!(counts.body_bytes, 1_000_010);
    let heads = seen.heads.lock().unwrap();
    assert!(heads.iter().all(|head| head.to_ascii_lowercase().contains("via: 1.1 airperf")), "{heads:?}");
}

#[test]
fn it_sends_nothing_anywhere_else() {
    let (server, seen) = upstream();
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let proxy = Running::start(server, None);
    for target in [format!("http://{}/x", elsewhere.local_addr().unwrap()), "http://example.org/".into()] {
        let mut client = proxy.connect();
        ask(&mut client, &target);
        assert_eq!(reply(&mut client).unwrap().0, 421);
    }
    let mut client = proxy.connect();
    client.get_mut().write_all(b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n").unwrap();
    assert_eq!(reply(&mut client).unwrap().0, 421);
    assert_eq!(elsewhere.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(proxy.end().counts.misdirected, 3);
    assert!(seen.heads.lock().unwrap().is_empty());
}

/// Clients that read nothing hold their places: the reply does not fit into the kernel's buffers.
fn stalled(proxy: &Running, count: usize) -> Vec<BufReader<TcpStream>> {
    let mut clients: Vec<_> = (0..count).map(|_| proxy.connect()).collect();
    clients.iter_mut().for_each(|client| ask(client, "/20000000"));
    let until = Instant::now() + Duration::from_secs(5);
    while proxy.state.lock().unwrap().active < count as u32 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    clients
}

#[test]
fn a_place_is_held_until_the_client_has_the_reply_and_then_goes_to_who_waits() {
    let (server, seen) = upstream();
    let proxy = Running::start(server, admission(2, 8_000, Refusal::Unavailable));
    let mut holding = stalled(&proxy, 2);
    let mut third = proxy.connect();
    ask(&mut third, "/5");
    std::thread::sleep(Duration::from_millis(400));
    let state = *proxy.state.lock().unwrap();
    assert_eq!((state.places, state.active, state.waiting), (2, 2, 1), "{state:?}");
    assert_eq!(seen.heads.lock().unwrap().len(), 2, "the server knows nothing of the third");
    assert_eq!(reply(&mut holding[0]).unwrap().1.len(), 20_000_000);
    assert_eq!(reply(&mut third).unwrap(), (200, b"aaaaa".to_vec()));
    drop((holding, third));
    let counts = proxy.end().counts;
    assert_eq!((counts.admitted, counts.deferred, counts.refused), (3, 1, 0));
    assert_eq!((counts.replies, counts.cut_short), (2, 1), "one client left in the middle");
}

#[test]
fn who_waits_too_long_is_refused_with_503_and_who_leaves_is_forgotten() {
    let (server, seen) = upstream();
    let proxy = Running::start(server, admission(1, 300, Refusal::Unavailable));
    let holding = stalled(&proxy, 1);
    let mut waiting = proxy.connect();
    let mut leaving = proxy.connect();
    let began = Instant::now();
    ask(&mut waiting, "/5");
    ask(&mut leaving, "/5");
    std::thread::sleep(Duration::from_millis(100));
    drop(leaving);
    let (status, body) = reply(&mut waiting).unwrap();
    assert_eq!((status, body.len()), (503, 0));
    assert!(began.elapsed() >= Duration::from_millis(300));
    drop(holding);
    // The place of who left in the middle is free again.
    let mut last = proxy.connect();
    std::thread::sleep(Duration::from_millis(200));
    ask(&mut last, "/5");
    assert_eq!(reply(&mut last).unwrap().0, 200);
    assert_eq!(seen.most.load(SeqCst), 1);
    let counts = proxy.end().counts;
    assert_eq!((counts.refused, counts.abandoned, counts.admitted), (1, 1, 2));
}

#[test]
fn a_refusal_can_be_a_reset() {
    let (server, _) = upstream();
    let proxy = Running::start(server, admission(1, 0, Refusal::Reset));
    let holding = stalled(&proxy, 1);
    let mut client = proxy.connect();
    ask(&mut client, "/5");
    let error = client.read(&mut [0; 10]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    drop(holding);
    assert_eq!(proxy.end().counts.refused, 1);
}

#[test]
fn without_a_server_the_answer_is_502() {
    // No port that was free a moment ago: it would be another test's server's.
    let proxy = Running::start("127.0.0.1:1".parse().unwrap(), admission(1, 100, Refusal::Unavailable));
    for _ in 0..3 {
        let mut client = proxy.connect();
        ask(&mut client, "/");
        assert_eq!(reply(&mut client).unwrap().0, 502, "and the place is given back each time");
    }
    assert_eq!(proxy.end().counts.upstream_failed, 3);
}

#[test]
fn when_told_to_stop_it_finishes_what_is_under_way() {
    let (server, _) = upstream();
    let proxy = Running::start(server, None);
    let mut client = proxy.connect();
    ask(&mut client, "/20000000");
    std::thread::sleep(Duration::from_millis(300));
    proxy.stop.store(true, SeqCst);
    std::thread::sleep(Duration::from_millis(600));
    assert!(TcpStream::connect(proxy.address).is_err(), "nobody new is let in");
    assert_eq!(reply(&mut client).unwrap().1.len(), 20_000_000);
    let began = Instant::now();
    let served = proxy.end();
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!((served.counts.replies, served.open), (1, 0));
}

//! The server and the client that need nothing installed: threads with blocking sockets.
//!
//! The server is a pool of threads, each held by one connection from accept to close, as Apache's
//! prefork processes are. The client is an open loop: every connection starts when the schedule has it due, on an
//! idle thread or a new one. Both use the kernel's TCP inside their station's namespace.
//!
//! Left out: everything of HTTP/1.1 (RFC 9112) but GET with persistent connections, with a body or without.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::socket::{Backlog, Shutdown, SockaddrIn, bind, listen, setsockopt, shutdown, sockopt};
use nix::unistd::Pid;

use super::httperf::{Asking, Report};
use super::{PORT, ProgramError, Serving};
use crate::isolation::{Lab, LabError};

/// How often a waiting thread looks whether it should end.
const LOOK: Duration = Duration::from_millis(100);
/// Most connections of a client at once; beyond, they count as client-limited.
const MOST_AT_ONCE: usize = 4_096;
const STACK_BYTES: usize = 128 * 1024;
/// Most octets of a request with its body.
const MOST_REQUEST: usize = 16 << 20;

fn spawn(
    name: &str,
    cores: Option<CpuSet>,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.into()).stack_size(STACK_BYTES).spawn(move || {
        if let Some(cores) = cores {
            let _ = sched_setaffinity(Pid::from_raw(0), &cores);
        }
        work();
    })
}

/// The built-in server; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Server {
    listener: Arc<TcpListener>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    /// Octets of status line and header of a reply.
    pub(crate) header_bytes: u32,
}

impl Server {
    /// Starts serving on a station.
    ///
    /// # Errors
    /// When the socket or a thread cannot be made.
    pub(crate) fn start(
        serving: &Serving,
        station: u16,
        lab: &Lab,
        cores: Option<CpuSet>,
    ) -> Result<Self, ProgramError> {
        let system = |what| move |errno| LabError::System { what, errno };
        let socket = lab.socket(station)?;
        let (address, port) = serving.listen;
        let [a, b, c, d] = address.octets();
        let backlog = Backlog::new(serving.backlog.min(4_096) as i32).unwrap_or(Backlog::MAXCONN);
        setsockopt(&socket, sockopt::ReuseAddr, &true)
            .and_then(|()| bind(socket.as_raw_fd(), &SockaddrIn::new(a, b, c, d, port)))
            .and_then(|()| listen(&socket, backlog))
            .map_err(system("listen inside the lab"))?;
        let listener = Arc::new(TcpListener::from(socket));
        let stop = Arc::new(AtomicBool::new(false));
        let replies = serving.objects.iter().map(|(path, &bytes)| (path.clone(), reply(serving, bytes)));
        let replies: Arc<Replies> = Arc::new(replies.collect());
        let header_bytes = replies
            .first_key_value()
            .and_then(|(path, reply)| Some((reply.len() as u64 - serving.objects.get(path)?) as u32))
            .unwrap_or(serving.header_bytes);
        let most = serving.requests_per_connection.unwrap_or(u32::MAX);
        let mut threads = Vec::new();
        for _ in 0..serving.processes.max(1) {
            let (listener, stop, replies, keep) =
                (listener.clone(), stop.clone(), replies.clone(), serving.keep_alive);
            let work = move || {
                while !stop.load(Relaxed) {
                    if let Ok((stream, _)) = listener.accept() {
                        // An error here is the client's abort; the packets tell of it.
                        let _ = serve(stream, &replies, most, keep, &stop);
                    }
                }
            };
            let thread = spawn("emu-server", cores, work).map_err(|error| ProgramError::NotStarted {
                program: "the built-in server",
                why: format!("a thread cannot be started: {error}"),
                stderr: String::new(),
            })?;
            threads.push(thread);
        }
        Ok(Self { listener, stop, threads, header_bytes })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        let _ = shutdown(self.listener.as_raw_fd(), Shutdown::Both); // wakes accept
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// What is answered to a request, by the path of its object.
type Replies = BTreeMap<String, Vec<u8>>;

/// Status line, header padded to the length wanted, and body.
fn reply(serving: &Serving, object_bytes: u64) -> Vec<u8> {
    let start = format!("HTTP/1.1 200 OK\r\nServer: airperf\r\nContent-Length: {object_bytes}\r\n");
    let least = start.len() + "\r\n".len();
    let padding = (serving.header_bytes as usize).checked_sub(least + "X-Padding: \r\n".len());
    let padding = padding.map_or(String::new(), |room| format!("X-Padding: {}\r\n", "x".repeat(room)));
    let mut reply = format!("{start}{padding}\r\n").into_bytes();
    reply.resize(reply.len() + object_bytes as usize, b'a');
    reply
}

/// Serves one connection until the client closes, the requests are used up, or it idles too long.
fn serve(
    mut stream: TcpStream,
    replies: &Replies,
    most: u32,
    keep: Duration,
    stop: &AtomicBool,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LOOK))?;
    let (mut request, mut part) = (Vec::new(), [0u8; 4_096]);
    for _ in 0..most {
        let waiting = Instant::now();
        let end = loop {
            if let Some(end) = end_of(&request)? {
                break end;
            }
            match stream.read(&mut part) {
                Ok(0) => return Ok(()),
                Ok(n) if request.len() < MOST_REQUEST => request.extend_from_slice(&part[..n]),
                Ok(_) => return Err(io::ErrorKind::InvalidData.into()),
                Err(error) if is_timeout(&error) && waiting.elapsed() < keep && !stop.load(Relaxed) => {}
                Err(error) => return Err(error),
            }
        };
        // A query names no other object.
        let target = request.split(|&byte| byte == b' ').nth(1);
        let path =
            target.and_then(|target| target.split(|&byte| byte == b'?').next()).map(String::from_utf8_lossy);
        let reply = path.and_then(|path| replies.get(path.as_ref()));
        stream
            .write_all(reply.map_or(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", Vec::as_slice))?;
        request.drain(..end);
    }
    Ok(())
}

/// Where a request ends with its body; `None` while not all of it is there.
fn end_of(request: &[u8]) -> io::Result<Option<usize>> {
    let Some(end) = request.windows(4).position(|w| w == b"\r\n\r\n").map(|at| at + 4) else {
        return Ok(None);
    };
    let body = content_length(&request[..end]).unwrap_or(0);
    let end = end.saturating_add(usize::try_from(body).unwrap_or(usize::MAX));
    if end > MOST_REQUEST {
        Err(io::ErrorKind::InvalidData.into())
    } else {
        Ok((end <= request.len()).then_some(end))
    }
}

/// What a head says of the octets that follow it.
fn content_length(head: &[u8]) -> Option<u64> {
    String::from_utf8_lossy(head)
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok())
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// What a client counts.
#[derive(Debug, Default)]
struct Counts {
    connections: AtomicU64,
    requests: AtomicU64,
    replies: AtomicU64,
    timeouts: AtomicU64,
    resets: AtomicU64,
    refused: AtomicU64,
    no_descriptor: AtomicU64,
    at_work: AtomicU64,
}

/// The built-in client.
#[derive(Debug)]
pub(crate) struct Client {
    counts: Arc<Counts>,
    stop: Arc<AtomicBool>,
    pacer: Option<JoinHandle<()>>,
    began: Instant,
}

impl Client {
    /// Starts asking `server` from `station`.
    ///
    /// # Errors
    /// When a thread cannot be made.
    pub(crate) fn start(
        asking: &Asking,
        station: u16,
        server: u16,
        lab: &Arc<Lab>,
        cores: Option<CpuSet>,
    ) -> Result<Self, ProgramError> {
        let (counts, stop) = (Arc::<Counts>::default(), Arc::<AtomicBool>::default());
        let call = Call {
            request: format!(
                "GET {} HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nHost: {}\r\n\r\n",
                asking.uri, asking.server
            )
            .into_bytes(),
            calls: asking.calls,
            limit: asking.timeout_s.map_or(Duration::from_secs(3_600), Duration::from_secs_f64),
            station,
            server,
            lab: lab.clone(),
            counts: counts.clone(),
        };
        let (asking, stopped) = (asking.clone(), stop.clone());
        let pacer = spawn("emu-client", cores, move || pace(&asking, &Arc::new(call), cores, &stopped));
        let pacer = pacer.map_err(|error| ProgramError::NotStarted {
            program: "the built-in client",
            why: format!("a thread cannot be started: {error}"),
            stderr: String::new(),
        })?;
        Ok(Self { counts, stop, pacer: Some(pacer), began: Instant::now() })
    }

    /// Whether every connection has been made and has ended.
    pub(crate) fn ended(&self) -> bool {
        self.pacer.as_ref().is_none_or(JoinHandle::is_finished) && self.counts.at_work.load(Relaxed) == 0
    }

    /// Ends it, and gives its totals.
    pub(crate) fn report(mut self) -> Report {
        self.stop.store(true, Relaxed);
        if let Some(pacer) = self.pacer.take() {
            let _ = pacer.join();
        }
        let count = |counter: &AtomicU64| counter.load(Relaxed);
        Report {
            connections: count(&self.counts.connections),
            requests: count(&self.counts.requests),
            replies: count(&self.counts.replies),
            duration_s: self.began.elapsed().as_secs_f64(),
            client_timeouts: count(&self.counts.timeouts),
            refused: count(&self.counts.refused),
            resets: count(&self.counts.resets),
            no_descriptor: count(&self.counts.no_descriptor),
            ..Report::default()
        }
    }
}

/// Starts connections when they are due.
fn pace(asking: &Asking, call: &Arc<Call>, cores: Option<CpuSet>, stop: &AtomicBool) {
    let (idle, waiting) = channel::<Sender<()>>();
    let mut workers = 0;
    let began = Instant::now();
    for offset in asking.offsets.iter() {
        let due = began + Duration::from_nanos(offset.as_ns());
        while let Some(left) = due.checked_duration_since(Instant::now()) {
            std::thread::sleep(left.min(LOOK));
            if stop.load(Relaxed) {
                return;
            }
        }
        call.counts.connections.fetch_add(1, Relaxed);
        call.counts.at_work.fetch_add(1, Relaxed);
        let free = waiting.try_recv().ok().is_some_and(|worker| worker.send(()).is_ok());
        if !free && (workers >= MOST_AT_ONCE || new_worker(call, cores, &idle).is_err()) {
            call.counts.no_descriptor.fetch_add(1, Relaxed);
            call.counts.at_work.fetch_sub(1, Relaxed);
        } else if !free {
            workers += 1;
        }
    }
}

/// A thread that makes one connection now and one more each time it is woken.
fn new_worker(call: &Arc<Call>, cores: Option<CpuSet>, idle: &Sender<Sender<()>>) -> io::Result<()> {
    let (wake, woken): (Sender<()>, Receiver<()>) = channel();
    let (call, idle) = (call.clone(), idle.clone());
    spawn("emu-client", cores, move || {
        loop {
            call.make();
            call.counts.at_work.fetch_sub(1, Relaxed);
            if idle.send(wake.clone()).is_err() || woken.recv_timeout(Duration::from_secs(30)).is_err() {
                return;
            }
        }
    })
    .map(drop)
}

/// What one connection does.
#[derive(Debug)]
struct Call {
    request: Vec<u8>,
    calls: u32,
    limit: Duration,
    station: u16,
    server: u16,
    lab: Arc<Lab>,
    counts: Arc<Counts>,
}

impl Call {
    fn make(&self) {
        let count = |counter: &AtomicU64| counter.fetch_add(1, Relaxed);
        let stream = match self.lab.connect(self.station, self.server, PORT, self.limit) {
            Ok(stream) => stream,
            Err(LabError::System { errno, .. }) => {
                match errno {
                    nix::errno::Errno::ECONNREFUSED => count(&self.counts.refused),
                    nix::errno::Errno::ECONNRESET => count(&self.counts.resets),
                    nix::errno::Errno::EMFILE | nix::errno::Errno::ENFILE => {
                        count(&self.counts.no_descriptor)
                    }
                    _ => count(&self.counts.timeouts),
                };
                return;
            }
            Err(_) => {
                count(&self.counts.no_descriptor);
                return;
            }
        };
        for _ in 0..self.calls {
            match self.exchange(&stream) {
                Ok(()) => count(&self.counts.replies),
                Err(error) if is_timeout(&error) => {
                    count(&self.counts.timeouts);
                    return;
                }
                Err(_) => {
                    count(&self.counts.resets);
                    return;
                }
            };
        }
    }

    /// Sends a request and reads the reply to its last octet.
    fn exchange(&self, mut stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.write_all(&self.request)?;
        self.counts.requests.fetch_add(1, Relaxed);
        let (mut head, mut part) = (Vec::new(), [0u8; 65_536]);
        let mut left = None;
        while left != Some(0) {
            let got = match stream.read(&mut part)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                got => got,
            };
            left = match left {
                Some(left) => Some(u64::saturating_sub(left, got as u64)),
                None => {
                    head.extend_from_slice(&part[..got]);
                    body_left(&head)?
                }
            };
        }
        Ok(())
    }
}

/// Octets of the body not yet in `reply`; `None` while its header is not whole.
fn body_left(reply: &[u8]) -> io::Result<Option<u64>> {
    let Some(end) = reply.windows(4).position(|w| w == b"\r\n\r\n").map(|at| at + 4) else { return Ok(None) };
    let length = content_length(&reply[..end]).ok_or(io::ErrorKind::InvalidData)?;
    Ok(Some(length.saturating_sub((reply.len() - end) as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isolation::{Isolation, StationSettings, address_of};

    #[test]
    fn a_reply_has_the_header_wanted() {
        let serving = Serving {
            listen: (address_of(0), PORT),
            objects: [("/o".into(), 1_024)].into(),
            header_bytes: 259,
            processes: 1,
            backlog: 8,
            keep_alive: Duration::from_secs(1),
            requests_per_connection: None,
        };
        let reply = reply(&serving, 1_024);
        assert_eq!(reply.len(), 259 + 1_024);
        assert_eq!(body_left(&reply[..260]).unwrap(), Some(1_023));
        assert_eq!(body_left(&reply[..200]).unwrap(), None);
    }

    #[test]
    fn client_and_server_agree_over_a_loopback_device() {
        let settings = StationSettings { mtu: 1500, device_queue: 100, ..Default::default() };
        let lab = match Lab::new(1, Isolation::for_this_process(), &settings) {
            Ok(lab) => Arc::new(lab),
            Err(error) => return skipped!("{error}"),
        };
        let serving = Serving {
            listen: (address_of(0), PORT),
            objects: [("/o".into(), 100_000)].into(),
            header_bytes: 259,
            processes: 2,
            backlog: 8,
            keep_alive: Duration::from_secs(1),
            requests_per_connection: None,
        };
        let server = Server::start(&serving, 0, &lab, None).unwrap();
        let asking = Asking {
            server: "10.77.0.1".into(),
            uri: "/o".into(),
            rate: 200.0,
            connections: 20,
            calls: 3,
            timeout_s: Some(5.0),
            poisson: false,
            offsets: (0..20).map(|i| airperf_units::Duration::from_ms(5 * i)).collect(),
        };
        let client = Client::start(&asking, 0, 0, &lab, None).unwrap();
        let began = Instant::now();
        while !client.ended() && began.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let report = client.report();
        assert_eq!((report.connections, report.requests, report.replies), (20, 60, 60), "{report:?}");
        assert!(report.duration_s >= 19.0 / 200.0);
        drop(server);
    }
}

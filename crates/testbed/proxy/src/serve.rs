//! The proxy as a whole: listening, serving clients side by side on one thread, telling how it goes, ending well.
//!
//! Left out: choosing addresses; that is the caller's.

use crate::admit::Gate;
use crate::crowd::Crowd;
use crate::forward::Forwarder;
use crate::socket::{ClientSocket, listen_again};
use airperf_http::AdmissionConfig;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::LocalSet;

/// How often the caller hears how it goes, and can end it.
pub(crate) const TELL_EVERY: Duration = Duration::from_millis(250);
/// How long replies under way may take when the end has come.
pub(crate) const ENDING: Duration = Duration::from_secs(5);
/// Longest wait for the head of a request, as Apache's `RequestReadTimeout header=20-40`.
pub(crate) const HEAD_LIMIT: Duration = Duration::from_secs(40);

/// Makes a connection to the upstream.
type Make = dyn Fn() -> io::Result<StdStream> + Send + Sync;

/// The one server behind the proxy.
#[derive(Clone)]
pub enum Upstream {
    /// At an address.
    At(SocketAddr),
    /// Wherever this connects to; it must not block for long.
    Made(Arc<Make>),
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::At(address) => write!(f, "At({address})"),
            Self::Made(_) => f.write_str("Made(…)"),
        }
    }
}

impl Upstream {
    pub(crate) async fn connect(&self) -> io::Result<TcpStream> {
        let stream = match self {
            Self::At(address) => TcpStream::connect(address).await?,
            Self::Made(make) => {
                let stream = make()?;
                stream.set_nonblocking(true)?;
                TcpStream::from_std(stream)?
            }
        };
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

/// What a proxy does.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server behind it.
    pub upstream: Upstream,
    /// Admission control; `None` passes everything on.
    pub admission: Option<AdmissionConfig>,
    /// Most clients' connections at once; further ones wait in the kernel.
    pub max_connections: u32,
    /// How many may wait there; `None` leaves the listening socket as it is.
    pub backlog: Option<u32>,
}

/// Why there is no proxy.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The runtime or the listening socket would not start.
    #[error("the proxy cannot start: {0}")]
    Start(#[from] io::Error),
}

/// What a proxy did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Clients' connections.
    pub connections: u64,
    /// Requests read.
    pub requests: u64,
    /// Requests meant for a forward proxy, answered 421.
    pub misdirected: u64,
    /// Requests that got a place.
    pub admitted: u64,
    /// Requests that had to wait.
    pub deferred: u64,
    /// Requests refused.
    pub refused: u64,
    /// Requests given up by their client while they waited.
    pub abandoned: u64,
    /// Replies passed on whole.
    pub replies: u64,
    /// Replies of which the client, or the upstream, ended the connection before the end.
    pub cut_short: u64,
    /// Requests answered 502 or 504.
    pub upstream_failed: u64,
    /// Octets of replies' bodies passed on.
    pub body_bytes: u64,
}

/// How it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Served {
    /// Seconds since the start.
    pub elapsed_s: f64,
    /// Clients' connections open now.
    pub open: u32,
    /// Places there are now; 0 without admission control.
    pub places: u32,
    /// Transfers going on.
    pub active: u32,
    /// Requests waiting for a place.
    pub waiting: usize,
    /// Sums since the start.
    pub counts: Counts,
}

/// The sums, shared by all connections of the one thread.
#[derive(Debug, Default)]
pub(crate) struct Tally(RefCell<Counts>);

impl Tally {
    pub(crate) fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.0.borrow_mut());
    }
}

struct Proxy {
    options: Options,
    gate: Rc<Gate>,
    tally: Rc<Tally>,
    crowd: Rc<Crowd>,
    began: Instant,
}

/// Serves clients of `listener` until `tell`, called four times a second, says to stop; then replies under way may end,
/// within five seconds. Returns what was done.
///
/// # Errors
/// When the runtime or the listener cannot be used. What goes wrong later concerns single clients and is counted.
pub fn serve(
    listener: StdListener,
    options: Options,
    tell: &mut dyn FnMut(Served) -> ControlFlow<()>,
) -> Result<Served, ProxyError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    listener.set_nonblocking(true)?;
    if let Some(backlog) = options.backlog {
        listen_again(&listener, backlog)?;
    }
    let local = LocalSet::new();
    local.block_on(&runtime, async move {
        let listener = TcpListener::from_std(listener)?;
        let proxy = Rc::new(Proxy {
            gate: Gate::new(options.admission),
            crowd: Crowd::new(options.max_connections),
            options,
            tally: Rc::default(),
            began: Instant::now(),
        });
        Ok(proxy.run(listener, tell).await)
    })
}

impl Proxy {
    async fn run(
        self: Rc<Self>,
        listener: TcpListener,
        tell: &mut dyn FnMut(Served) -> ControlFlow<()>,
    ) -> Served {
        let (end, ending) = watch::channel(false);
        tokio::task::spawn_local(self.gate.clone().watch_leaving());
        let proxy = self.clone();
        let serve = move |stream, ending| proxy.clone().client(stream, ending);
        let accepting = tokio::task::spawn_local(self.crowd.clone().take(listener, ending, serve));
        while tell(self.served()).is_continue() {
            tokio::time::sleep(TELL_EVERY).await;
        }
        accepting.abort();
        let _ = end.send(true);
        self.crowd.gone(ENDING).await;
        self.served()
    }

    async fn client(self: Rc<Self>, stream: TcpStream, mut ending: watch::Receiver<bool>) {
        self.tally.count(|counts| counts.connections += 1);
        let _ = stream.set_nodelay(true);
        let socket = Rc::new(ClientSocket::of(&stream));
        let forwarder = Rc::new(Forwarder {
            gate: self.gate.clone(),
            upstream: self.options.upstream.clone(),
            socket: socket.clone(),
            tally: self.tally.clone(),
            kept: RefCell::new(None),
        });
        let service = service_fn(move |request| forwarder.clone().answer(request));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD_LIMIT);
        let mut connection = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
        let stopped = async { ending.wait_for(|end| *end).await.is_ok() };
        let mut stopped = std::pin::pin!(stopped);
        let mut told = false;
        // What goes wrong here is the client's: it left, or it speaks no HTTP.
        let _ = std::future::poll_fn(|context| {
            if !told && stopped.as_mut().poll(context).is_ready() {
                told = true;
                connection.as_mut().graceful_shutdown();
            }
            let polled = connection.as_mut().poll(context);
            if polled.is_ready() {
                socket.forget();
            }
            polled
        })
        .await;
    }

    fn served(&self) -> Served {
        let (admission, places, active, waiting) = self.gate.state();
        let mut counts = *self.tally.0.borrow();
        counts.admitted = admission.admitted;
        counts.deferred = admission.deferred;
        counts.refused = admission.refused;
        counts.abandoned = admission.abandoned;
        let elapsed_s = self.began.elapsed().as_secs_f64();
        Served { elapsed_s, open: self.crowd.open(), places, active, waiting, counts }
    }
}

//! Proxies that make a slow link feel faster: one before it, or one at each end.
//!
//! ```text
//! browser ── front ──────────────────────────── origin      one proxy: explicit or transparent
//! browser ── front ─ client ══ link ══ server ─ origin      two halves: the slow link is between them
//! ```
//!
//! Along the way of a request: `front` (browsers' connections), `request` (what may be asked), `single` (bodies as the browser takes
//! them: `accepted`, `packing`, `shared`) or `client` (what need not cross the link), `link` (HTTP/2 between the halves, over TCP or over `datagram`), `server` (`write`: bodies as short as they get;
//! `coding`, `store`), `push` (objects of a page before they are asked for: `embedded`), `origin`, `target` (where requests may go).
//! `adapted` is what is asked of TCP; `names` answers look-ups. Reference: Chakravorty and Pratt, *WWW performance over GPRS*,
//! MWCN 2002, and what followed it: optimisations by layer. `intercept` answers the
//! TLS of tunnels where that is wanted; others pass unread. Left out: upgrades (WebSocket).

mod accepted;
mod adapted;
mod client;
mod coding;
mod counts;
mod datagram;
mod embedded;
mod flow;
mod front;
mod intercept;
mod link;
mod names;
mod options;
mod origin;
mod packing;
mod push;
mod receive;
mod request;
mod server;
mod shared;
mod single;
mod store;
mod stream;
mod target;
mod tunnel;
mod write;

pub use adapted::{Path, in_own_namespace};
pub use coding::Compression;
pub use counts::Counts;
pub use datagram::Repair;
pub use options::{Adapted, Halves, Optimised, Options, Role};
pub use target::{Network, Reach};

use crate::ProxyError;
use crate::crowd::Crowd;
use crate::serve::{ENDING, TELL_EVERY};
use client::ClientHalf;
use counts::Sums;
use front::{Front, Way};
use intercept::Intercept;
use link::{Line, Link, Pushes, Wants, Wire, serve_wire};
use origin::Origins;
use receive::Receiver;
use server::ServerHalf;
use single::Single;
use std::hash::{BuildHasher, RandomState};
use std::net::{SocketAddr, TcpListener as StdListener, UdpSocket as StdSocket};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use target::Names;
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::watch;
use tokio::task::LocalSet;
use tokio_rustls::TlsConnector;

/// What clients connect to.
enum Doors {
    Browsers(Rc<Front>),
    Halves(Rc<ServerHalf>),
}

/// Serves clients of `listener` until `tell`, called four times a second, says to stop; then replies under way may end,
/// within five seconds. `names` is where look-ups come in that are to be answered on the spot. Returns what was done.
///
/// # Errors
/// When the runtime or a socket cannot be used. What goes wrong later concerns single clients and is counted.
pub fn optimise(
    listener: StdListener,
    names: Option<StdSocket>,
    options: Options,
    tell: &mut dyn FnMut(Optimised) -> ControlFlow<()>,
) -> Result<Optimised, ProxyError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    listener.set_nonblocking(true)?;
    if let Some(names) = &names {
        names.set_nonblocking(true)?;
    }
    let connector = TlsConnector::from(Arc::new(airperf_host::believing(options.trusted.as_deref())?));
    let local = LocalSet::new();
    local.block_on(&runtime, async move {
        let own = listener.local_addr()?;
        let datagrams = matches!(options.role, Role::Server).then(|| UdpSocket::bind(own));
        let datagrams = match datagrams {
            Some(bound) => Some(bound.await?),
            None => None,
        };
        let names = names.map(UdpSocket::from_std).transpose()?;
        let sockets = Sockets { listener: TcpListener::from_std(listener)?, datagrams, names };
        Ok(run(sockets, own, (options, connector), tell).await)
    })
}

struct Sockets {
    listener: TcpListener,
    datagrams: Option<UdpSocket>,
    names: Option<UdpSocket>,
}

async fn run(
    sockets: Sockets,
    own: SocketAddr,
    (options, connector): (Options, TlsConnector),
    tell: &mut dyn FnMut(Optimised) -> ControlFlow<()>,
) -> Optimised {
    let began = Instant::now();
    let sums: Rc<Sums> = Rc::default();
    let crowd = Crowd::new(options.max_connections);
    let tcp = options.path.filter(|_| options.adapt_tcp).map(|path| Adapted {
        window_bytes: path.window_bytes(),
        keeps_window_when_idle: adapted::keep_window_when_idle(),
    });
    let (doors, pushes) = open(&options, own, connector, &sums);
    let (end, ending) = watch::channel(false);
    if let Some(names) = sockets.names {
        tokio::task::spawn_local(names::answer_all(names, sums.clone()));
    }
    if let (Doors::Halves(half), Some(socket)) = (&doors, sockets.datagrams) {
        let (half, counted) = (half.clone(), sums.clone());
        let serve = move |stream| {
            tokio::task::spawn_local(serve_wire(half.clone(), Wire::datagrams(stream, &counted)));
        };
        tokio::task::spawn_local(datagram::accept(socket, sums.clone(), serve));
    }
    let serve = doors.serving(sums.clone());
    let accepting = tokio::task::spawn_local(crowd.clone().take(sockets.listener, ending, serve));
    let told =
        |counts| Optimised { elapsed_s: began.elapsed().as_secs_f64(), open: crowd.open(), tcp, counts };
    while tell(told(sums.get())).is_continue() {
        tokio::time::sleep(TELL_EVERY).await;
    }
    accepting.abort();
    let _ = end.send(true);
    if let Role::Single { .. } | Role::Client(_) = options.role {
        crowd.gone(ENDING).await; // the link of a server half stays open as long as there is a client half
    }
    if let Some(pushes) = pushes {
        pushes.settle();
    }
    told(sums.get())
}

/// Builds the parts of a proxy along the way of a request.
fn open(
    options: &Options,
    own: SocketAddr,
    connector: TlsConnector,
    sums: &Rc<Sums>,
) -> (Doors, Option<Rc<Pushes>>) {
    let names = Rc::new(Names::new(options.reach.clone(), own, sums.clone()));
    let connections = options.connections.max(1) as usize;
    let origins = Origins::new(names.clone(), connections, options.mark, connector, sums.clone());
    let adapted = options.path.filter(|_| options.adapt_tcp);
    let front = |way, path, believes_address| {
        let transparent = options.transparent;
        let intercept = options.intercept.clone().map(Intercept::new);
        let sums = sums.clone();
        Doors::Browsers(Rc::new(Front { way, transparent, believes_address, path, intercept, sums }))
    };
    match &options.role {
        Role::Server => (Doors::Halves(ServerHalf::new(origins, sums.clone())), None),
        Role::Single { compress, cache } => {
            let single = Single::new(origins, *compress, *cache, sums.clone());
            (front(Way::Direct(Box::new(single)), adapted, true), None)
        }
        Role::Client(halves) => {
            let Halves { peer, compress, cache, delta, push, names_there, datagrams } = halves.clone();
            let receiver = Receiver::new(sums.clone());
            let pushes = Pushes::new(receiver.clone(), sums.clone());
            let wants = Wants { session: session(), compress, cache, delta, push, tcp: adapted };
            let line = match (datagrams, options.path) {
                (Some(repair), Some(path)) => {
                    Line::Datagrams(datagram::Config { path, repair, mark: options.mark })
                }
                _ => Line::Tcp { adapted, mark: options.mark },
            };
            let link = Link::new(peer, wants, line, connections, pushes.clone(), sums.clone());
            let half = ClientHalf {
                link,
                receiver,
                pushes: pushes.clone(),
                names: (!names_there).then_some(names),
                keeps: cache || delta,
                sums: sums.clone(),
            };
            (front(Way::Link(half), None, !names_there), Some(pushes))
        }
    }
}

/// A number that no other client half has: two keys from the system.
fn session() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

impl Doors {
    /// What to do with a client's connection.
    fn serving(
        self,
        sums: Rc<Sums>,
    ) -> impl Fn(tokio::net::TcpStream, watch::Receiver<bool>) -> std::pin::Pin<Box<dyn Future<Output = ()>>>
    {
        move |stream, ending| match &self {
            Self::Browsers(front) => Box::pin(front.clone().client(stream, ending)),
            Self::Halves(half) => {
                let (half, wire) = (half.clone(), Wire::tcp(stream, None, &sums));
                Box::pin(async move {
                    if let Ok(wire) = wire {
                        serve_wire(half, wire).await;
                    }
                })
            }
        }
    }
}

//! Hosting: the listening sockets of every origin, the name server, and telling how it goes, on one thread.
//!
//! Left out: making addresses reachable; whoever calls has a network namespace in which they are, or asks for places on
//! loopback instead.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio_rustls::TlsAcceptor;

use crate::certificates::{Authority, CertificateError};
use crate::matching::Matching;
use crate::names::{Said, TTL_S, Zone};
use crate::respond::{Door, Responder};
use crate::site::{NETWORK, Site};

/// How often the caller hears how it goes, and can end it.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// Misses that are named one by one; beyond, they are only counted.
const MOST_NAMED: usize = 1_000;
/// The name server's address.
const NAME_SERVER: Ipv4Addr = Ipv4Addr::from_bits(NETWORK.to_bits() + 1);

/// How a site is hosted.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How alike a request must be to one that was recorded.
    pub matching: Matching,
    /// Whether servers take as long before their first octet as they did.
    pub think: bool,
    /// Whether HTTP/2 is on offer over TLS.
    pub http2: bool,
    /// Plain HTTP on ports of this address with rewritten texts, instead of every origin at its own address.
    pub rewritten_at: Option<IpAddr>,
}

/// Why a site is not hosted.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// No certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// An address is not there or in use.
    #[error(
        "cannot serve {what} at {address}: {error}; is another hosting running here, and are its addresses up?"
    )]
    Bind {
        /// What was to be served.
        what: String,
        /// Where.
        address: SocketAddr,
        /// Why not.
        error: io::Error,
    },
    /// The runtime would not start.
    #[error("cannot start: {0}")]
    Start(io::Error),
}

/// What has been served.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Connections taken.
    pub connections: u64,
    /// TLS handshakes that failed.
    pub failed_handshakes: u64,
    /// Requests for what was recorded.
    pub exact: u64,
    /// Requests answered with a recording of the same path.
    pub similar: u64,
    /// Requests for what was not recorded.
    pub missing: u64,
    /// Look-ups of names.
    pub look_ups: u64,
    /// Look-ups of names that were not recorded.
    pub unknown_names: u64,
}

/// How it goes.
#[derive(Clone, Debug, Serialize)]
pub struct Told {
    /// Where each origin is.
    pub origins: BTreeMap<String, String>,
    /// The name server, where there is one.
    pub name_server: Option<String>,
    /// The authority's certificate, PEM.
    pub authority: Option<String>,
    /// SHA-256 of the authority's public key, hexadecimal.
    pub key_hash: Option<String>,
    /// Counts so far.
    pub counts: Counts,
    /// What was asked for and not recorded, in alphabetical order; the first thousand.
    pub misses: Vec<String>,
}

/// Counts from all connections.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    connections: AtomicU64,
    failed_handshakes: AtomicU64,
    exact: AtomicU64,
    similar: AtomicU64,
    missing: AtomicU64,
    look_ups: AtomicU64,
    unknown_names: AtomicU64,
    misses: Mutex<BTreeSet<String>>,
}

impl Tally {
    pub(crate) fn exact(&self) {
        self.exact.fetch_add(1, Relaxed);
    }

    pub(crate) fn similar(&self) {
        self.similar.fetch_add(1, Relaxed);
    }

    pub(crate) fn missing(&self, what: String) {
        self.missing.fetch_add(1, Relaxed);
        self.name(what);
    }

    fn name(&self, what: String) {
        let mut misses = self.misses.lock().unwrap_or_else(PoisonError::into_inner);
        if misses.len() < MOST_NAMED {
            misses.insert(what);
        }
    }

    fn looked_up(&self, said: Said) {
        self.look_ups.fetch_add(1, Relaxed);
        if let Said::Unknown(name) = said {
            self.unknown_names.fetch_add(1, Relaxed);
            self.name(format!("DNS {name}"));
        }
    }

    fn counts(&self) -> Counts {
        Counts {
            connections: self.connections.load(Relaxed),
            failed_handshakes: self.failed_handshakes.load(Relaxed),
            exact: self.exact.load(Relaxed),
            similar: self.similar.load(Relaxed),
            missing: self.missing.load(Relaxed),
            look_ups: self.look_ups.load(Relaxed),
            unknown_names: self.unknown_names.load(Relaxed),
        }
    }

    fn misses(&self) -> Vec<String> {
        self.misses.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// Hosts a site until `tell`, called ten times a second, breaks; what it then came to.
///
/// # Errors
/// [`HostError`] when an address cannot be served at; nothing is served then.
pub fn serve(
    site: Site,
    options: Options,
    tell: &mut dyn FnMut(&Told) -> ControlFlow<()>,
) -> Result<Told, HostError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(HostError::Start)?;
    runtime.block_on(async {
        let hosting = Hosting::start(site, options).await?;
        let mut told = hosting.told();
        while tell(&told).is_continue() {
            tokio::time::sleep(TELL_EVERY).await;
            told = hosting.told();
        }
        Ok(hosting.told())
    })
}

struct Hosting {
    tally: Arc<Tally>,
    first: Told,
}

impl Hosting {
    async fn start(site: Site, options: Options) -> Result<Self, HostError> {
        let tally = Arc::new(Tally::default());
        let mut first = Told {
            origins: BTreeMap::new(),
            name_server: None,
            authority: None,
            key_hash: None,
            counts: Counts::default(),
            misses: Vec::new(),
        };
        match options.rewritten_at {
            Some(address) => at_places(site, options, address, &tally, &mut first).await?,
            None => at_names(site, options, &tally, &mut first).await?,
        }
        Ok(Self { tally, first })
    }

    fn told(&self) -> Told {
        Told { counts: self.tally.counts(), misses: self.tally.misses(), ..self.first.clone() }
    }
}

async fn at_places(
    site: Site,
    options: Options,
    address: IpAddr,
    tally: &Arc<Tally>,
    first: &mut Told,
) -> Result<(), HostError> {
    let mut listeners = Vec::new();
    let mut places = Vec::new();
    for origin in &site.origins {
        let (listener, place) = listen(SocketAddr::new(address, 0), &origin.to_string()).await?;
        first.origins.insert(origin.to_string(), format!("http://{place}"));
        listeners.push(listener);
        places.push(place);
    }
    let responder = Arc::new(Responder::new(site, options.matching, options.think, Some(&places)));
    for (origin, listener) in listeners.into_iter().enumerate() {
        tokio::spawn(take(listener, None, Door::Origin(origin), responder.clone(), tally.clone()));
    }
    Ok(())
}

async fn at_names(
    site: Site,
    options: Options,
    tally: &Arc<Tally>,
    first: &mut Told,
) -> Result<(), HostError> {
    let addresses = site.addresses();
    let authority = Authority::new()?;
    let secure =
        site.origins.iter().filter(|origin| origin.scheme == "https").map(|origin| origin.host.as_str());
    let tls = TlsAcceptor::from(Arc::new(authority.server(secure, options.http2)?));
    first.authority = Some(authority.pem());
    first.key_hash = Some(authority.key_hash().iter().map(|byte| format!("{byte:02x}")).collect());

    let ttl = |host: &String| site.names.get(host).map_or(TTL_S, |name| name.ttl_s);
    let zone = addresses.iter().map(|(host, address)| (host.clone(), (*address, ttl(host)))).collect();
    let name_server = SocketAddr::new(NAME_SERVER.into(), 53);
    let bind = |error| HostError::Bind { what: "names".into(), address: name_server, error };
    let datagrams = UdpSocket::bind(name_server).await.map_err(bind)?;
    let streams = TcpListener::bind(name_server).await.map_err(bind)?;
    let zone = Arc::new(Zone(zone));
    tokio::spawn(names_by_datagram(datagrams, zone.clone(), tally.clone()));
    tokio::spawn(names_by_stream(streams, zone, tally.clone()));
    first.name_server = Some(NAME_SERVER.to_string());

    let mut listeners = Vec::new();
    let mut doors = BTreeSet::new();
    for origin in &site.origins {
        let place = SocketAddr::new(addresses[&origin.host].into(), origin.port);
        let tls = origin.scheme == "https";
        if doors.insert((place, tls)) {
            let (listener, place) = listen(place, &origin.to_string()).await?;
            listeners.push((listener, tls, origin.port));
            first.origins.insert(origin.to_string(), place.to_string());
        }
    }
    let responder = Arc::new(Responder::new(site, options.matching, options.think, None));
    for (listener, secure, port) in listeners {
        let door = Door::Named { tls: secure, port };
        tokio::spawn(take(listener, secure.then(|| tls.clone()), door, responder.clone(), tally.clone()));
    }
    Ok(())
}

async fn listen(address: SocketAddr, what: &str) -> Result<(TcpListener, SocketAddr), HostError> {
    let wrong = |error| HostError::Bind { what: what.into(), address, error };
    let listener = TcpListener::bind(address).await.map_err(wrong)?;
    let place = listener.local_addr().map_err(wrong)?;
    Ok((listener, place))
}

async fn take(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    door: Door,
    responder: Arc<Responder>,
    tally: Arc<Tally>,
) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors: wait for connections to end rather than spin.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        tally.connections.fetch_add(1, Relaxed);
        // A lost option costs only promptness.
        let _ = stream.set_nodelay(true);
        tokio::spawn(answer(stream, tls.clone(), door, responder.clone(), tally.clone()));
    }
}

async fn answer(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    door: Door,
    responder: Arc<Responder>,
    tally: Arc<Tally>,
) {
    let service = service_fn(|request| {
        let (think, response) = responder.respond(&request, door, &tally);
        async move {
            if !think.is_zero() {
                tokio::time::sleep(think).await;
            }
            Ok::<_, Infallible>(response)
        }
    });
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new());
    server.http2().timer(TokioTimer::new());
    // A client that goes away in mid-reply is no news.
    let _ = match tls {
        None => server.serve_connection(TokioIo::new(stream), service).await,
        Some(tls) => match tls.accept(stream).await {
            Ok(stream) => server.serve_connection(TokioIo::new(stream), service).await,
            Err(_) => {
                tally.failed_handshakes.fetch_add(1, Relaxed);
                Ok(())
            }
        },
    };
}

async fn names_by_datagram(socket: UdpSocket, zone: Arc<Zone>, tally: Arc<Tally>) {
    let mut query = [0; 1_500];
    loop {
        let Ok((length, from)) = socket.recv_from(&mut query).await else { continue };
        let (reply, said) = zone.answer(&query[..length]);
        tally.looked_up(said);
        if let Some(reply) = reply {
            // A lost answer is asked for again.
            let _ = socket.send_to(&reply, from).await;
        }
    }
}

async fn names_by_stream(listener: TcpListener, zone: Arc<Zone>, tally: Arc<Tally>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (zone, tally) = (zone.clone(), tally.clone());
        tokio::spawn(async move {
            // The other side ends the connection when it likes (RFC 7766 §6.2).
            let _ = one_stream(stream, &zone, &tally).await;
        });
    }
}

async fn one_stream(mut stream: TcpStream, zone: &Zone, tally: &Tally) -> io::Result<()> {
    loop {
        let mut query = vec![0; usize::from(stream.read_u16().await?)];
        stream.read_exact(&mut query).await?;
        let (reply, said) = zone.answer(&query);
        tally.looked_up(said);
        let Some(reply) = reply else { return Ok(()) };
        stream.write_u16(reply.len() as u16).await?;
        stream.write_all(&reply).await?;
    }
}

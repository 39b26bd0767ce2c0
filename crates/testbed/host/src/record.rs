//! A proxy that records what passes: the exchanges of a site being browsed, so that they can be hosted afterwards.
//!
//! Clients are told of it (`http_proxy`); it forwards requests in absolute form, and for `CONNECT` it answers the TLS
//! itself, with certificates of an authority made for this one recording. Towards servers it speaks HTTP/1.1, a connection
//! for each request, and accepts gzip and nothing else, which it can undo. References: RFC 9110 §7.6, §9.3.6, RFC 9112 §3.2.2.
//!
//! Only targets that the caller allows are contacted. Left out: WebSockets and other upgrades, HTTP/2 and trailers towards
//! servers, and the cleaning of what was recorded, which is done where recordings of all kinds are read.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::pki_types::ServerName;
use serde::Serialize;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::certificates::{Authority, believing};
use crate::serve::HostError;

/// How often the caller hears how it goes, and can end it.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// A longer body is refused to the client: it could not be recorded.
const MOST_BODY_BYTES: usize = 64 << 20;
/// All bodies; what comes after is passed on and not kept.
const MOST_SITE_BYTES: u64 = 1 << 30;
/// How long a server may take to take a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);

/// How a site is recorded.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// Where exchanges go: `exchanges.jsonl`, and bodies in files by their number.
    pub folder: PathBuf,
    /// Networks whose servers may be contacted, each an address and the length of its prefix; loopback always.
    pub allowed: Vec<(Ipv4Addr, u8)>,
    /// Whether servers anywhere may be.
    pub anywhere: bool,
    /// A file of certificates (PEM) of the authorities that servers are believed by.
    pub trusted: Option<PathBuf>,
}

/// How it goes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Recorded {
    /// Where the proxy listens.
    pub listen: String,
    /// The authority's certificate, PEM.
    pub authority: String,
    /// SHA-256 of its public key, hexadecimal.
    pub key_hash: String,
    /// Exchanges recorded.
    pub exchanges: u64,
    /// Requests that were refused because nobody allowed their target.
    pub refused: u64,
    /// Requests that failed otherwise.
    pub failed: u64,
    /// What the last one failed of.
    pub last_failure: String,
}

/// One exchange as it is written, but for its body.
#[derive(Serialize)]
struct Line<'a> {
    method: &'a str,
    url: String,
    status: u16,
    headers: Vec<(String, String)>,
    /// The number of the body's file; null when there is none.
    body: Option<u64>,
    /// From the request's end to the response's head, nanoseconds, and the handshake of TCP before it.
    wait_ns: u64,
    connect_ns: u64,
}

/// Records until `tell`, called ten times a second, breaks; what it then came to.
///
/// # Errors
/// [`HostError`] when it cannot listen, or the folder or the trusted certificates cannot be used.
pub fn record(
    options: RecordOptions,
    tell: &mut dyn FnMut(&Recorded) -> ControlFlow<()>,
) -> Result<Recorded, HostError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(HostError::Start)?;
    runtime.block_on(async {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let bind = |error| HostError::Bind { what: "the recorder".into(), address, error };
        let listener = TcpListener::bind(address).await.map_err(bind)?;
        let listen = listener.local_addr().map_err(bind)?.to_string();
        let recorder = Arc::new(Recorder::new(options)?);
        tokio::spawn(take(listener, recorder.clone()));
        while tell(&recorder.told(&listen)).is_continue() {
            tokio::time::sleep(TELL_EVERY).await;
        }
        Ok(recorder.told(&listen))
    })
}

struct Recorder {
    options: RecordOptions,
    authority: Authority,
    connector: TlsConnector,
    file: Mutex<std::fs::File>,
    next: AtomicU64,
    bytes: AtomicU64,
    exchanges: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
    last_failure: Mutex<String>,
}

/// Why a request was not answered.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0} is outside the lab; to record it, say so with --allow-target")]
    Refused(String),
    #[error("{0}")]
    Odd(&'static str),
    #[error("{0}: {1}")]
    Server(String, String),
}

impl Recorder {
    fn new(options: RecordOptions) -> Result<Self, HostError> {
        let file =
            std::fs::File::create_new(options.folder.join("exchanges.jsonl")).map_err(HostError::Start)?;
        let connector =
            TlsConnector::from(Arc::new(believing(options.trusted.as_deref()).map_err(HostError::Start)?));
        Ok(Self {
            options,
            authority: Authority::new()?,
            connector,
            file: Mutex::new(file),
            next: AtomicU64::default(),
            bytes: AtomicU64::default(),
            exchanges: AtomicU64::default(),
            refused: AtomicU64::default(),
            failed: AtomicU64::default(),
            last_failure: Mutex::default(),
        })
    }

    fn told(&self, listen: &str) -> Recorded {
        Recorded {
            listen: listen.to_owned(),
            authority: self.authority.pem(),
            key_hash: self.authority.key_hash().iter().map(|byte| format!("{byte:02x}")).collect(),
            exchanges: self.exchanges.load(Relaxed),
            refused: self.refused.load(Relaxed),
            failed: self.failed.load(Relaxed),
            last_failure: self.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// Whether a server at this address may be contacted.
    fn allows(&self, address: IpAddr) -> bool {
        let within = |address: Ipv4Addr| {
            self.options.allowed.iter().any(|&(network, prefix)| {
                let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
                address.to_bits() & mask == network.to_bits() & mask
            })
        };
        self.options.anywhere
            || address.is_loopback()
            || matches!(address, IpAddr::V4(address) if within(address))
    }

    /// A connection to a server, and how long its handshake took.
    async fn connect(&self, host: &str, port: u16) -> Result<(TcpStream, Duration), Failure> {
        let place = format!("{host}:{port}");
        let wrong = |error: &dyn std::fmt::Display| Failure::Server(place.clone(), error.to_string());
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let found: Vec<SocketAddr> =
            tokio::net::lookup_host((bare, port)).await.map_err(|error| wrong(&error))?.collect();
        let allowed = found.iter().find(|address| self.allows(address.ip()));
        let address = *allowed.ok_or_else(|| Failure::Refused(place.clone()))?;
        let began = Instant::now();
        let connected = tokio::time::timeout(CONNECT_LIMIT, TcpStream::connect(address)).await;
        let stream = connected
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(|error| wrong(&error))?;
        // A lost option costs only promptness.
        let _ = stream.set_nodelay(true);
        Ok((stream, began.elapsed()))
    }

    /// Passes one request on, and its response back; both are recorded.
    async fn pass(&self, request: Request<Incoming>, tls: bool) -> Result<Response<Full<Bytes>>, Failure> {
        let (mut parts, body) = request.into_parts();
        if parts.headers.contains_key(header::UPGRADE) {
            return Err(Failure::Odd("upgrades (WebSockets) are not recorded"));
        }
        let authority = parts.uri.authority().cloned();
        let host = authority.as_ref().map(|authority| authority.host().to_owned());
        let host = host.ok_or(Failure::Odd("a request to a proxy names its server"))?;
        let port = authority.and_then(|a| a.port_u16()).unwrap_or(if tls { 443 } else { 80 });
        let place = format!("{host}:{port}");
        let wrong = |error: &dyn std::fmt::Display| Failure::Server(place.clone(), error.to_string());
        let body = Limited::new(body, MOST_BODY_BYTES).collect().await.map_err(|error| wrong(&error))?;

        let (stream, shake) = self.connect(&host, port).await?;
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
        let default = port == if tls { 443 } else { 80 };
        let named = if default { host.clone() } else { place.clone() };
        one_hop(&mut parts.headers);
        parts.headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        parts.headers.insert(header::HOST, HeaderValue::from_str(&named).map_err(|error| wrong(&error))?);
        // A cold visit: servers are not to say that nothing has changed, nor to send parts.
        for conditional in [header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE, header::IF_RANGE, header::RANGE]
        {
            parts.headers.remove(conditional);
        }
        parts.uri = target.parse().map_err(|error| wrong(&error))?;
        parts.version = hyper::Version::HTTP_11;
        let method = parts.method.clone();
        let onward = Request::from_parts(parts, Full::new(body.to_bytes()));

        let (response, wait) = if tls {
            let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())
                .map_err(|error| wrong(&error))?;
            let stream = self.connector.connect(name, stream).await.map_err(|error| wrong(&error))?;
            ask(TokioIo::new(stream), onward).await.map_err(|error| wrong(&error))?
        } else {
            ask(TokioIo::new(stream), onward).await.map_err(|error| wrong(&error))?
        };
        let (mut parts, body) = response.into_parts();
        let body = Limited::new(body, MOST_BODY_BYTES).collect().await.map_err(|error| wrong(&error))?;
        let body = body.to_bytes();
        one_hop(&mut parts.headers);
        let scheme = if tls { "https" } else { "http" };
        let line = Line {
            method: method.as_str(),
            url: format!("{scheme}://{named}{target}"),
            status: parts.status.as_u16(),
            headers: parts
                .headers
                .iter()
                .map(|(name, value)| {
                    (name.to_string(), value.as_bytes().iter().map(|&b| b as char).collect())
                })
                .collect(),
            body: None,
            wait_ns: wait.as_nanos() as u64,
            connect_ns: shake.as_nanos() as u64,
        };
        self.keep(line, &body).map_err(|error| wrong(&error))?;
        if method == Method::HEAD {
            // The length is the server's; there is no body to count.
            return Ok(Response::from_parts(parts, Full::default()));
        }
        parts.headers.remove(header::CONTENT_LENGTH);
        Ok(Response::from_parts(parts, Full::new(body)))
    }

    /// Writes an exchange down.
    fn keep(&self, line: Line<'_>, body: &Bytes) -> io::Result<()> {
        use std::io::Write;
        let room = self.bytes.fetch_add(body.len() as u64, Relaxed) + body.len() as u64 <= MOST_SITE_BYTES;
        let number = self.next.fetch_add(1, Relaxed);
        let file = (room && !body.is_empty()).then_some(number);
        if file.is_some() {
            std::fs::write(self.options.folder.join(number.to_string()), body)?;
        }
        let mut text = serde_json::to_vec(&Line { body: file, ..line })?;
        text.push(b'\n');
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&text)?;
        self.exchanges.fetch_add(1, Relaxed);
        Ok(())
    }

    /// A response to a request, whatever becomes of it.
    async fn answer(&self, request: Request<Incoming>, tls: bool) -> Response<Full<Bytes>> {
        let failure = match self.pass(request, tls).await {
            Ok(response) => return response,
            Err(failure) => failure,
        };
        let (count, status) = match failure {
            Failure::Refused(_) => (&self.refused, StatusCode::FORBIDDEN),
            Failure::Odd(_) => (&self.failed, StatusCode::NOT_IMPLEMENTED),
            Failure::Server(..) => (&self.failed, StatusCode::BAD_GATEWAY),
        };
        count.fetch_add(1, Relaxed);
        let why = failure.to_string();
        self.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&why);
        let mut response = Response::new(Full::from(format!("airperf record: {why}\n")));
        *response.status_mut() = status;
        response
    }
}

/// Sends a request over a fresh connection: the response's head with its body to come, and how long the head took.
async fn ask<S>(
    stream: TokioIo<S>,
    request: Request<Full<Bytes>>,
) -> Result<(Response<Incoming>, Duration), hyper::Error>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
    tokio::spawn(connection);
    let began = Instant::now();
    let response = sender.send_request(request).await?;
    Ok((response, began.elapsed()))
}

/// Removes the fields of one hop (RFC 9110 §7.6.1).
fn one_hop(headers: &mut HeaderMap) {
    let named: Vec<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(',').map(|name| name.trim().to_ascii_lowercase()))
        .collect();
    let always =
        ["connection", "proxy-connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];
    for name in named.iter().map(String::as_str).chain(always) {
        headers.remove(name);
    }
}

async fn take(listener: TcpListener, recorder: Arc<Recorder>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors: wait for connections to end rather than spin.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let recorder = recorder.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let recorder = recorder.clone();
                async move { Ok::<_, Infallible>(recorder.proxy(request).await) }
            });
            let server = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service)
                .with_upgrades();
            // A client that goes away in mid-reply is no news.
            let _ = server.await;
        });
    }
}

impl Recorder {
    /// Answers a client of the proxy.
    async fn proxy(self: Arc<Self>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if request.method() != Method::CONNECT {
            return self.answer(request, false).await;
        }
        let Some(target) = request.uri().authority().cloned() else {
            return self.answer(request, true).await;
        };
        tokio::spawn(async move {
            let Ok(stream) = hyper::upgrade::on(request).await else { return };
            let Ok(tls) = self.authority.server(std::iter::once(target.host()), true) else { return };
            let Ok(stream) = TlsAcceptor::from(Arc::new(tls)).accept(TokioIo::new(stream)).await else {
                self.failed.fetch_add(1, Relaxed);
                return;
            };
            let service = service_fn(move |mut request: Request<Incoming>| {
                let (recorder, target) = (self.clone(), target.clone());
                async move {
                    let path = request.uri().path_and_query().map_or("/", |target| target.as_str());
                    if let Ok(uri) =
                        Uri::builder().scheme("https").authority(target.as_str()).path_and_query(path).build()
                    {
                        *request.uri_mut() = uri;
                    }
                    Ok::<_, Infallible>(recorder.answer(request, true).await)
                }
            });
            let mut server = auto::Builder::new(TokioExecutor::new());
            server.http1().timer(TokioTimer::new());
            server.http2().timer(TokioTimer::new());
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
        Response::new(Full::default())
    }
}

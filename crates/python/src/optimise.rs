//! The optimising proxies for Python: `airperf proxy` with and without `--half`.
//!
//! They run until the callback or a signal handler raises. Left out: choosing addresses, and redirecting connections to
//! a transparent one.

use crate::tell::Tell;
use airperf_host::Authority;
use airperf_proxy::optimise::{
    Compression, Halves, Network, Optimised, Options, Path, Reach, Repair, Role, in_own_namespace, optimise,
};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;

/// Adds the functions to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run_optimiser, module)?)?;
    module.add_function(wrap_pyfunction!(own_namespace, module)?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    listen: SocketAddr,
    half: Option<String>,
    peer: Option<SocketAddr>,
    transparent: bool,
    names_at: Option<SocketAddr>,
    connections: u32,
    max_connections: u32,
    compress: Option<Compression>,
    cache: bool,
    delta: bool,
    push: bool,
    dns: bool,
    path: Option<Path>,
    adapt_tcp: bool,
    datagrams: bool,
    repair: Option<u8>,
    networks: Vec<(IpAddr, u8)>,
    hosts: Vec<String>,
    instead: Vec<(String, u16, SocketAddr)>,
    intercept: bool,
    trusted: Option<PathBuf>,
    mark: Option<u32>,
}

impl Wanted {
    fn role(&self) -> Option<Role> {
        Some(match (self.half.as_deref(), self.peer) {
            (None, None) => Role::Single { compress: self.compress, cache: self.cache },
            (Some("server"), None) => Role::Server,
            (Some("client"), Some(peer)) => Role::Client(Halves {
                peer,
                compress: self.compress,
                cache: self.cache,
                delta: self.delta,
                push: self.push,
                names_there: self.dns,
                datagrams: self.datagrams.then(|| self.repair.map_or(Repair::Adaptive, Repair::Fixed)),
            }),
            _ => return None,
        })
    }

    fn options(self, intercept: Option<Arc<Authority>>) -> Option<Options> {
        let role = self.role()?;
        if self.path.is_none() && (self.adapt_tcp || self.datagrams) {
            return None;
        }
        Some(Options {
            role,
            transparent: self.transparent,
            connections: self.connections,
            max_connections: self.max_connections,
            path: self.path,
            adapt_tcp: self.adapt_tcp,
            reach: Reach {
                networks: self
                    .networks
                    .into_iter()
                    .map(|(address, bits)| Network { address, bits })
                    .collect(),
                hosts: self.hosts.into_iter().collect(),
                instead: self.instead.into_iter().map(|(host, port, at)| ((host, port), at)).collect(),
            },
            intercept,
            trusted: self.trusted,
            mark: self.mark,
        })
    }
}

/// Serves as a proxy that makes a slow link feel faster, until told to stop; then replies under way may end.
///
/// Args:
///     options: JSON: "listen" (address:port); "half" (null, "client" or "server") and for a client half "peer"
///         (address:port); "transparent"; "names_at" (null, or the address:port at which look-ups are answered);
///         "connections" (to each origin, or of the link), "max_connections"; "compress" (null, "gzip", "brotli" or
///         "zstd"), "cache", "delta", "push", "dns"; "path" (null, or "rate_bps" and "rtt_ms"), "adapt_tcp",
///         "datagrams", "repair" (null for adaptive, or per 16 pieces); "networks" ([address, bits]), "hosts" and
///         "instead" ([host, port, address:port]) that may be reached; "intercept" (whether it answers the TLS of
///         tunnels); "trusted" (null, or the file of the authorities that origins are believed by); "mark" (null,
///         or of packets sent).
///     tell: Called four times a second with JSON: "listen" and "names_at" (the addresses in use), "authority"
///         and "key_hash" (null, or its certificate as PEM and the SHA-256 of its key), "elapsed_s", "open", "tcp"
///         and "counts"; returns whether to go on. What it raises ends the proxy and is raised again
///         here.
///
/// Returns:
///     The last of those JSON texts.
///
/// Raises:
///     ValueError: When the options make no sense.
///     OSError: When an address cannot be listened on.
///     KeyboardInterrupt: After Ctrl-C, if the callback does not catch it.
#[pyfunction]
#[pyo3(signature = (options, tell))]
fn run_optimiser(py: Python<'_>, options: &str, tell: Py<PyAny>) -> PyResult<String> {
    let bad = |error: &dyn std::fmt::Display| PyValueError::new_err(format!("options: {error}"));
    let wanted: Wanted = serde_json::from_str(options).map_err(|error| bad(&error))?;
    let listener = TcpListener::bind(wanted.listen)?;
    let listen = listener.local_addr()?;
    let names = wanted.names_at.map(UdpSocket::bind).transpose()?;
    let names_at = names.as_ref().map(UdpSocket::local_addr).transpose()?.map(|at| at.to_string());
    let authority = if wanted.intercept {
        Some(Arc::new(Authority::new().map_err(|error| PyOSError::new_err(error.to_string()))?))
    } else {
        None
    };
    let key_hash = authority.as_ref().map(|authority| hexadecimal(&authority.key_hash()));
    let pem = authority.as_ref().map(|authority| authority.pem());
    let options = wanted.options(authority).ok_or_else(|| bad(&"no such proxy"))?;
    let text = |now: &Optimised| {
        let Optimised { elapsed_s, open, tcp, counts } = now;
        json!({
            "listen": listen.to_string(),
            "names_at": names_at,
            "authority": pem,
            "key_hash": key_hash,
            "elapsed_s": elapsed_s,
            "open": open,
            "tcp": tcp,
            "counts": counts,
        })
        .to_string()
    };
    let mut tell = Tell::new(tell);
    let done = py.detach(|| optimise(listener, names, options, &mut |now| tell.ask(Ok(text(&now)))));
    match (tell.raised, done) {
        (Some(raised), _) => Err(raised),
        (None, Ok(done)) => Ok(text(&done)),
        (None, Err(error)) => Err(PyOSError::new_err(error.to_string())),
    }
}

fn hexadecimal(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Whether this process has a network namespace that is not the machine's.
///
/// Returns:
///     False also when that cannot be found out.
#[pyfunction]
fn own_namespace() -> bool {
    in_own_namespace()
}

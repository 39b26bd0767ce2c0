//! Where requests may go, and from a name to an address.
//!
//! A proxy of the lab reaches the lab: loopback, the lab's own networks and what its user named. The address is checked after
//! the look-up, and is the one then connected to, so that a name cannot lead elsewhere. Left out: a resolver of our
//! own; names are looked up as the system does.

use super::counts::Sums;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long an address is used without a new look-up: as Chromium does when it is not told (`kHostCacheTTL`).
const NAME_KEPT: Duration = Duration::from_secs(60);
/// Longest look-up: two tries of the system's resolver (resolv.conf(5)).
const LOOK_UP_LIMIT: Duration = Duration::from_secs(10);
/// Names kept; beyond, all are looked up anew.
const MOST_NAMES: usize = 1_000;

/// An origin as a request names it (RFC 9110 §4.3.1): scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// In lower case, an IPv6 address without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Whether its scheme is https.
    pub(crate) tls: bool,
}

impl Place {
    /// From `host[:port]`; `None` when it is neither a name nor an address.
    pub(crate) fn parse(authority: &str, port: Option<u16>) -> Option<Self> {
        let (host, rest) = match authority.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
        };
        let port = match rest.strip_prefix(':') {
            None if rest.is_empty() => port?,
            Some("") => port?,
            Some(digits) if digits.bytes().all(|octet| octet.is_ascii_digit()) => digits.parse().ok()?,
            _ => return None,
        };
        let sound = |octet: u8| octet.is_ascii_alphanumeric() || b"-._:".contains(&octet);
        let bracketed = authority.starts_with('[');
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let right = !host.is_empty() && host.len() <= 253 && port != 0 && host.bytes().all(sound);
        (right && bracketed == host.contains(':')).then_some(Self { host, port, tls: false })
    }

    /// From the authority of a URL with this scheme.
    pub(crate) fn of(scheme: &str, authority: &str) -> Option<Self> {
        match scheme {
            "http" => Self::parse(authority, Some(80)),
            "https" => Some(Self { tls: true, ..Self::parse(authority, Some(443))? }),
            _ => None,
        }
    }

    /// Its scheme.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.tls { "https" } else { "http" }
    }

    /// As in a URL: without the port if it is the scheme's own.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == if self.tls { 443 } else { 80 } { host } else { format!("{host}:{}", self.port) }
    }
}

/// Addresses that have their first bits in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// One of them.
    pub address: IpAddr,
    /// How many bits.
    pub bits: u8,
}

impl Network {
    fn holds(&self, address: IpAddr) -> bool {
        let (ours, theirs, width) = match (self.address, address.to_canonical()) {
            (IpAddr::V4(ours), IpAddr::V4(theirs)) => {
                (u128::from(ours.to_bits()), u128::from(theirs.to_bits()), 32)
            }
            (IpAddr::V6(ours), IpAddr::V6(theirs)) => (ours.to_bits(), theirs.to_bits(), 128),
            _ => return false,
        };
        let rest = width - u32::from(self.bits).min(width);
        (ours ^ theirs).checked_shr(rest).unwrap_or(0) == 0
    }
}

/// Loopback, the addresses of hosted sites and those of emulated stations.
fn lab() -> Vec<Network> {
    let v4 = |a, b, bits| Network { address: Ipv4Addr::new(a, b, 0, 0).into(), bits };
    let v6 = Network { address: std::net::Ipv6Addr::LOCALHOST.into(), bits: 128 };
    vec![v4(127, 0, 8), v4(10, 77, 16), v4(10, 78, 16), v6]
}

/// What requests may reach.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// Networks beside the lab's own.
    pub networks: Vec<Network>,
    /// Hosts whose every address is allowed; lower case.
    pub hosts: BTreeSet<String>,
    /// Addresses to connect to instead of what a host and port would give, as curl's `--connect-to`.
    pub instead: BTreeMap<(String, u16), SocketAddr>,
}

/// Why a request goes nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoWay {
    /// Not the lab's, or this proxy itself.
    Forbidden,
    /// No such name, or no answer in time.
    Unknown,
}

/// Finds addresses, and says no.
#[derive(Debug)]
pub(crate) struct Names {
    reach: Reach,
    lab: Vec<Network>,
    own: SocketAddr,
    sums: Rc<Sums>,
    known: RefCell<HashMap<String, (Instant, IpAddr)>>,
}

impl Names {
    pub(crate) fn new(reach: Reach, own: SocketAddr, sums: Rc<Sums>) -> Self {
        Self { reach, lab: lab(), own, sums, known: RefCell::default() }
    }

    /// Whether `address` may be reached for `host`.
    pub(crate) fn allows(&self, host: &str, address: SocketAddr) -> Result<SocketAddr, NoWay> {
        let ip = address.ip().to_canonical();
        let itself = address.port() == self.own.port()
            && (ip == self.own.ip() || self.own.ip().is_unspecified() && ip.is_loopback());
        let within = self.lab.iter().chain(&self.reach.networks).any(|network| network.holds(ip));
        let allowed = !itself && (within || self.reach.hosts.contains(host));
        if allowed { Ok(SocketAddr::new(ip, address.port())) } else { Err(NoWay::Forbidden) }
    }

    /// The address of a place, if it may be reached.
    pub(crate) async fn find(&self, place: &Place) -> Result<SocketAddr, NoWay> {
        if let Some(instead) = self.reach.instead.get(&(place.host.clone(), place.port)) {
            return Ok(*instead);
        }
        let ip = match place.host.parse::<IpAddr>() {
            Ok(ip) => ip,
            Err(_) => self.look_up(&place.host).await?,
        };
        self.allows(&place.host, SocketAddr::new(ip, place.port))
    }

    async fn look_up(&self, host: &str) -> Result<IpAddr, NoWay> {
        if let Some((since, ip)) = self.known.borrow().get(host)
            && since.elapsed() < NAME_KEPT
        {
            return Ok(*ip);
        }
        self.sums.add(|counts| counts.look_ups += 1);
        let found = tokio::time::timeout(LOOK_UP_LIMIT, tokio::net::lookup_host((host, 0))).await;
        let found: Vec<_> = found.map_err(|_| NoWay::Unknown)?.map_err(|_| NoWay::Unknown)?.collect();
        let ip = found.iter().find(|a| a.is_ipv4()).or(found.first()).ok_or(NoWay::Unknown)?.ip();
        let mut known = self.known.borrow_mut();
        if known.len() >= MOST_NAMES {
            known.clear();
        }
        known.insert(host.to_owned(), (Instant::now(), ip));
        Ok(ip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_names_or_addresses_and_nothing_else() {
        let parse = |text| Place::parse(text, Some(80)).map(|p| (p.authority(), p.port));
        assert_eq!(parse("Example.ORG"), Some(("example.org".into(), 80)));
        assert_eq!(parse("a.test:8080"), Some(("a.test:8080".into(), 8080)));
        assert_eq!(parse("[::1]:90"), Some(("[::1]:90".into(), 90)));
        for bad in ["", ":80", "a:0", "a:65536", "a:+1", "u@h", "a b", "::1", "[a]", "h/", "[::1", "h:80:80"]
        {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn only_the_lab_and_what_was_named_is_reached() {
        let reach = Reach {
            networks: vec![Network { address: "192.0.2.0".parse().unwrap(), bits: 24 }],
            hosts: ["named.test".to_owned()].into(),
            ..Reach::default()
        };
        let names = Names::new(reach, "127.0.0.1:3128".parse().unwrap(), Rc::default());
        let allows = |host: &str, address: &str| names.allows(host, address.parse().unwrap()).is_ok();
        for inside in ["127.0.0.9:80", "10.77.1.1:80", "10.78.255.1:1", "[::1]:80", "192.0.2.7:80"] {
            assert!(allows("h", inside), "{inside}");
        }
        for outside in
            ["10.79.0.1:80", "192.0.3.1:80", "8.8.8.8:53", "[2001:db8::1]:80", "169.254.169.254:80"]
        {
            assert!(!allows("h", outside), "{outside}");
        }
        assert!(allows("named.test", "8.8.8.8:80"));
        assert!(!allows("h", "127.0.0.1:3128"), "the proxy itself");
        assert!(!allows("h", "[::ffff:8.8.8.8]:80") && !allows("h", "[::ffff:127.0.0.1]:3128"));
    }
}

//! TCP adapted to a path of known rate and round trip, as far as Linux lets a program.
//!
//! Reference: Chakravorty et al., *Flow aggregation for enhanced TCP over wide-area wireless*, INFOCOM 2003 (a window held to
//! what the path carries fills no queue); tcp(7), `TCP_WINDOW_CLAMP`, `TCP_NOTSENT_LOWAT`; socket(7), `SO_RCVBUF`,
//! `SO_MAX_PACING_RATE`; RFC 2861 (slow start after idle). Per socket: both windows, pacing, what may wait unsent. For a whole network
//! namespace only: slow start after idle, which is switched off in a namespace of one's own and never in the machine's. Left
//! out: the initial window, a property of routes; ten segments (RFC 6928) are more than these paths carry.

use std::io;
use std::os::fd::AsRawFd;
use std::{fs, mem};

/// Octets of a full segment over Ethernet or PPP (RFC 879, 1500 octets less 40 of headers and 12 of time stamps).
const SEGMENT: u64 = 1_448;
/// Fewest segments: three must follow one that is lost (RFC 5681 §3.2).
const FEWEST: u64 = 4;
/// Octets that may wait unsent on a link of unknown rate, behind which more urgent ones cannot pass.
const UNSENT: u32 = 16_384;
/// Where a namespace keeps whether a connection out of use starts slowly again.
const AFTER_IDLE: &str = "/proc/sys/net/ipv4/tcp_slow_start_after_idle";

/// A path as one knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Path {
    /// Bits per second towards the browser.
    pub rate_bps: u64,
    /// Round trip in milliseconds, without queues.
    pub rtt_ms: u64,
}

impl Path {
    /// Octets that the path carries in a round trip, in whole segments and one more; never fewer than four.
    pub fn window_bytes(&self) -> u64 {
        let product = u128::from(self.rate_bps) * u128::from(self.rtt_ms) / 8_000;
        let segments = u64::try_from(product).unwrap_or(u64::MAX).div_ceil(SEGMENT).saturating_add(1);
        segments.max(FEWEST).saturating_mul(SEGMENT).min(1 << 30)
    }
}

fn set<T>(socket: &impl AsRawFd, level: libc::c_int, name: libc::c_int, value: T) -> io::Result<()> {
    // SAFETY: setsockopt(2) reads a local of the size given; the descriptor is open while it is borrowed.
    let said = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            mem::size_of::<T>() as libc::socklen_t,
        )
    };
    if said == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Before the SYN: what may come in is what the path carries.
///
/// The clamp is exact, and Linux forgets it when it sees a longer segment than before (`tcp_measure_rcv_mss`): [`clamp`] says it again.
/// In between the buffer holds it: of it, 0.6 is window with the overhead of full segments, and 0.95 at most.
pub(crate) fn before_connecting(socket: &impl AsRawFd, path: &Path) -> io::Result<()> {
    let window = path.window_bytes() as libc::c_int;
    set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, window / 5 * 4)?; // the kernel doubles it
    clamp(socket, path)
}

/// Holds the window to what the path carries from now on.
pub(crate) fn clamp(socket: &impl AsRawFd, path: &Path) -> io::Result<()> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, path.window_bytes() as libc::c_int)
}

/// A connection of the link: little waits unsent, so that what is urgent goes first; at the path's rate if it is known.
pub(crate) fn as_link(socket: &impl AsRawFd, path: Option<&Path>) -> io::Result<()> {
    let Some(path) = path else {
        return set(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, UNSENT);
    };
    let window = path.window_bytes();
    set(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, (window as u32 / 2).clamp(4_096, UNSENT))?;
    set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, (path.rate_bps / 8).clamp(1_000, 1 << 40))
}

/// A browser's connection over the slow link itself: what is under way is what the path carries.
pub(crate) fn towards_browser(socket: &impl AsRawFd, path: &Path) -> io::Result<()> {
    let window = path.window_bytes() as libc::c_int;
    set(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, window.saturating_mul(2))?;
    set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, (path.rate_bps / 8).clamp(1_000, 1 << 40))
}

/// Whether this process was put in a network namespace: one that a process it descends from does not have.
///
/// The machine's own could not be asked for everywhere: who may look at process 1 differs.
pub fn in_own_namespace() -> bool {
    let of = |process: u32| fs::read_link(format!("/proc/{process}/ns/net")).ok();
    let own = of(std::process::id());
    let mut process = std::process::id();
    while let Some(parent) = parent_of(process).filter(|parent| *parent != 0) {
        process = parent;
        if own.is_some() && of(process).is_some_and(|other| own.as_ref() != Some(&other)) {
            return true;
        }
    }
    false
}

/// From proc_pid_stat(5): the fourth field, after a name that may hold anything.
fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Switches slow start after idle off, in a namespace of one's own; whether it is off.
pub(crate) fn keep_window_when_idle() -> bool {
    if in_own_namespace() {
        let _ = fs::write(AFTER_IDLE, "0"); // without the right to, what is read next says so
    }
    fs::read_to_string(AFTER_IDLE).is_ok_and(|value| value.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    #[test]
    fn the_window_is_the_product_of_rate_and_round_trip_in_whole_segments() {
        let window = |rate_bps, rtt_ms| Path { rate_bps, rtt_ms }.window_bytes();
        assert_eq!(window(36_000, 1_000), 5 * SEGMENT); // 4500 octets: 4 segments
        assert_eq!(window(1_000_000, 100), 10 * SEGMENT); // 12500 octets: 9 segments
        assert_eq!(window(1, 1), 4 * SEGMENT);
        assert_eq!(window(u64::MAX, u64::MAX), 1 << 30);
    }

    #[test]
    fn who_connects_adapted_is_sent_about_what_the_path_carries() {
        let under_way = |path: Option<Path>| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
            if let Some(path) = path {
                before_connecting(&socket, &path).unwrap();
            }
            socket.connect(&listener.local_addr().unwrap().into()).unwrap();
            let _reads_nothing: TcpStream = socket.into();
            let (mut sender, _) = listener.accept().unwrap();
            sender.set_nonblocking(true).unwrap();
            let mut written = 0;
            while let Ok(octets) = sender.write(&[0; 1_000]) {
                written += octets;
                if written > 300_000 {
                    break;
                }
            }
            std::thread::sleep(Duration::from_millis(100));
            let mut unsent: libc::c_int = 0;
            // SAFETY: SIOCOUTQNSD writes one int.
            unsafe { libc::ioctl(sender.as_raw_fd(), 0x894B, &raw mut unsent) };
            written as u64 - unsent as u64
        };
        let path = Path { rate_bps: 80_000, rtt_ms: 1_000 };
        let adapted = under_way(Some(path));
        let window = path.window_bytes();
        // Nothing is read here, so that nothing clamps again; segments on loopback have next to no overhead.
        assert!(adapted <= window * 8 / 5 && adapted > window / 2, "{adapted} of {window}");
        assert!(under_way(None) > 4 * window);
    }
}

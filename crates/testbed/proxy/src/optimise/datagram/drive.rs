//! Endpoints between sockets and the clock: as a stream of octets for whoever is above.
//!
//! Left out: paths that change under a connection.

use super::packet::{self, PIECE};
use super::{Config, Endpoint, Stats};
use crate::optimise::counts::Sums;
use airperf_units::Time;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

/// Octets between here and above: little, so that what is urgent there need not wait here.
const BUFFER: usize = 2 * PIECE;
/// Datagrams that may wait to be read; further ones are lost, as in the kernel.
const QUEUE: usize = 256;
/// Connections that a server half takes.
const MOST: usize = 64;
/// Silence after which the other end is taken to be gone.
const SILENCE: Duration = Duration::from_secs(600);

/// Where datagrams of a connection go.
struct Way {
    socket: Rc<UdpSocket>,
    peer: SocketAddr,
}

impl Way {
    async fn send(&self, datagram: &[u8]) {
        let _ = self.socket.send_to(datagram, self.peer).await; // what does not go is lost like any other
    }
}

/// Opens a connection; it begins with the first octets written.
pub(crate) async fn connect(peer: SocketAddr, config: Config, sums: Rc<Sums>) -> io::Result<DuplexStream> {
    let any: SocketAddr =
        if peer.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    let socket = UdpSocket::bind(any).await?;
    if let Some(mark) = config.mark {
        socket2::SockRef::from(&socket).set_mark(mark)?;
    }
    let socket = Rc::new(socket);
    let id = RandomState::new().hash_one(peer) as u32;
    let (tell, told) = mpsc::channel(QUEUE);
    let listening = socket.clone();
    tokio::task::spawn_local(async move {
        let mut datagram = [0; 2_048];
        while let Some(Ok((length, from))) = until_closed(&tell, listening.recv_from(&mut datagram)).await {
            if from == peer {
                let _ = tell.try_send(datagram[..length].to_vec()); // lost when too many wait
            }
        }
    });
    Ok(begin(Endpoint::new(id, config), Way { socket, peer }, told, sums))
}

async fn until_closed<T>(tell: &mpsc::Sender<Vec<u8>>, what: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        () = tell.closed() => None,
        got = what => Some(got),
    }
}

/// Takes connections and hands each to `serve`; never ends.
pub(crate) async fn accept(socket: UdpSocket, sums: Rc<Sums>, serve: impl Fn(DuplexStream)) {
    let socket = Rc::new(socket);
    let mut known: HashMap<(SocketAddr, u32), mpsc::Sender<Vec<u8>>> = HashMap::new();
    let mut datagram = [0; 2_048];
    loop {
        let Ok((length, peer)) = socket.recv_from(&mut datagram).await else { continue };
        let datagram = &datagram[..length];
        let Some((id, packet)) = packet::read(datagram) else { continue };
        known.retain(|_, tell| !tell.is_closed());
        let way = Way { socket: socket.clone(), peer };
        match (known.get(&(peer, id)), packet::opening(datagram)) {
            (Some(tell), _) => drop(tell.try_send(datagram.to_vec())), // lost when too many wait
            (None, Some((_, path, repair))) if known.len() < MOST => {
                let config = Config { path, repair, mark: None };
                let (tell, told) = mpsc::channel(QUEUE);
                let _ = tell.try_send(datagram.to_vec());
                known.insert((peer, id), tell);
                serve(begin(Endpoint::answering(id, config), way, told, sums.clone()));
            }
            // A connection of before this program's start: its other end should begin anew.
            (None, _) if !matches!(packet, packet::Packet::Close) => {
                way.send(&packet::Packet::Close.write(id)).await;
            }
            (None, _) => {}
        }
    }
}

fn begin(endpoint: Endpoint, way: Way, told: mpsc::Receiver<Vec<u8>>, sums: Rc<Sums>) -> DuplexStream {
    let (above, below) = tokio::io::duplex(BUFFER);
    tokio::task::spawn_local(drive(endpoint, way, told, below, sums));
    above
}

async fn drive(
    mut endpoint: Endpoint,
    way: Way,
    mut told: mpsc::Receiver<Vec<u8>>,
    below: DuplexStream,
    sums: Rc<Sums>,
) {
    let began = Instant::now();
    let now = || Time::from_ns(began.elapsed().as_nanos() as u64);
    let (mut reader, mut writer) = tokio::io::split(below);
    let mut outgoing = [0; BUFFER];
    let mut arrived: Vec<u8> = Vec::new();
    let mut above = true;
    let mut before = Stats::default();
    let mut heard = Instant::now();
    loop {
        while let Some(datagram) = endpoint.transmit(now()) {
            way.send(&datagram).await;
        }
        before = count(&sums, before, endpoint.stats());
        if endpoint.is_over() || !above && endpoint.is_settled() || heard.elapsed() > SILENCE {
            break;
        }
        if arrived.is_empty() {
            arrived = endpoint.read().unwrap_or_default();
        }
        let room = if above { endpoint.room().min(BUFFER) } else { 0 };
        let due = endpoint
            .next_event()
            .map_or(began + 2 * SILENCE + began.elapsed(), |at| began + Duration::from_nanos(at.as_ns()));
        tokio::select! {
            read = reader.read(&mut outgoing[..room]), if room > 0 => match read {
                Ok(length @ 1..) => endpoint.write(&outgoing[..length]),
                _ => above = false,
            },
            datagram = told.recv() => {
                let Some(datagram) = datagram else { break };
                endpoint.receive(now(), &datagram);
                heard = Instant::now();
            }
            written = writer.write(&arrived), if !arrived.is_empty() => {
                let length = written.unwrap_or(arrived.len()); // nobody reads: it is for nobody
                arrived.drain(..length);
            }
            () = tokio::time::sleep_until(due.into()) => {}
        }
    }
    for _ in 0..2 {
        way.send(&endpoint.close()).await; // once more, for it may be lost
    }
}

fn count(sums: &Sums, before: Stats, after: Stats) -> Stats {
    sums.add(|counts| {
        counts.datagrams_sent += after.sent - before.sent;
        counts.link_sent_bytes += after.sent_bytes - before.sent_bytes;
        counts.datagrams_received += after.received - before.received;
        counts.link_received_bytes += after.received_bytes - before.received_bytes;
        counts.pieces_resent += after.resent - before.resent;
        counts.repairs_sent += after.repairs - before.repairs;
        counts.pieces_repaired += after.repaired - before.repaired;
    });
    after
}

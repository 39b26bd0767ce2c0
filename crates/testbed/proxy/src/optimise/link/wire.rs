//! One connection of the link, of either kind, with its octets counted.
//!
//! Left out: anything above octets.

use crate::optimise::adapted;
use crate::optimise::counts::Sums;
use crate::optimise::{Path, datagram};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};

/// How the halves are connected.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    /// TCP as it comes, or adapted to a path.
    Tcp { adapted: Option<Path>, mark: Option<u32> },
    /// Datagrams with repair.
    Datagrams(datagram::Config),
}

impl Line {
    /// A connection to the server half.
    pub(crate) async fn connect(&self, peer: SocketAddr, sums: &Rc<Sums>) -> io::Result<Wire> {
        match self {
            Self::Tcp { adapted: path, mark } => {
                let socket = if peer.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
                if let Some(mark) = mark {
                    socket2::SockRef::from(&socket).set_mark(*mark)?;
                }
                if let Some(path) = path {
                    adapted::before_connecting(&socket, path)?;
                }
                let stream = socket.connect(peer).await?;
                Ok(Wire { held_to: *path, ..Wire::tcp(stream, path.as_ref(), sums)? })
            }
            Self::Datagrams(config) => {
                let stream = datagram::connect(peer, *config, sums.clone()).await?;
                Ok(Wire::datagrams(stream, sums))
            }
        }
    }
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Datagrams(tokio::io::DuplexStream),
}

/// One connection of the link.
#[derive(Debug)]
pub(crate) struct Wire {
    stream: Stream,
    /// The path to which what comes in is held.
    held_to: Option<Path>,
    sums: Rc<Sums>,
}

impl Wire {
    /// Around a TCP connection.
    pub(crate) fn tcp(stream: TcpStream, path: Option<&Path>, sums: &Rc<Sums>) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        adapted::as_link(&stream, path)?;
        sums.add(|counts| counts.link_connections += 1);
        Ok(Self { stream: Stream::Tcp(stream), held_to: None, sums: sums.clone() })
    }

    /// Around a connection of datagrams, which count their octets themselves.
    pub(crate) fn datagrams(stream: tokio::io::DuplexStream, sums: &Rc<Sums>) -> Self {
        sums.add(|counts| counts.link_connections += 1);
        Self { stream: Stream::Datagrams(stream), held_to: None, sums: sums.clone() }
    }

    /// The path has become known: sends at its rate.
    pub(crate) fn adapt(&self, path: &Path) -> io::Result<()> {
        match &self.stream {
            Stream::Tcp(stream) => adapted::as_link(stream, Some(path)),
            Stream::Datagrams(_) => Ok(()),
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = into.filled().len();
        match &mut this.stream {
            Stream::Datagrams(stream) => return Pin::new(stream).poll_read(context, into),
            Stream::Tcp(stream) => {
                ready!(Pin::new(&mut *stream).poll_read(context, into))?;
                if let Some(path) = &this.held_to {
                    adapted::clamp(stream, path)?;
                }
            }
        }
        let octets = (into.filled().len() - before) as u64;
        this.sums.add(|counts| counts.link_received_bytes += octets);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = match &mut this.stream {
            Stream::Datagrams(stream) => return Pin::new(stream).poll_write(context, octets),
            Stream::Tcp(stream) => ready!(Pin::new(stream).poll_write(context, octets))?,
        };
        this.sums.add(|counts| counts.link_sent_bytes += written as u64);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Stream::Datagrams(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Datagrams(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

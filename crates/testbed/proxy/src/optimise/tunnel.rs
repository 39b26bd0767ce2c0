//! Octets both ways between a browser and an origin, unread.
//!
//! Reference: RFC 9110 §9.3.6 (CONNECT). Left out: half-closed tunnels of idle ends: a tunnel ends when both directions have,
//! or one breaks.

use super::link::send_all;
use bytes::Bytes;
use h2::{RecvStream, SendStream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Octets read at once; a frame of the link.
const PIECE: usize = 4_096;

/// Carries octets between a connection and a stream of the link until both directions have ended; how many, both ways.
pub(crate) async fn carry<C>(connection: C, mut out: SendStream<Bytes>, mut back: RecvStream) -> u64
where
    C: AsyncRead + AsyncWrite + Unpin,
{
    let (mut reader, mut writer) = tokio::io::split(connection);
    let forth = async {
        let mut octets = 0;
        let mut piece = vec![0; PIECE];
        loop {
            match reader.read(&mut piece).await {
                Ok(0) => return (out.send_data(Bytes::new(), true).is_ok(), octets),
                Ok(length) => {
                    octets += length as u64;
                    if send_all(&mut out, Bytes::copy_from_slice(&piece[..length]), false).await.is_err() {
                        return (false, octets);
                    }
                }
                Err(_) => {
                    out.send_reset(h2::Reason::CANCEL);
                    return (false, octets);
                }
            }
        }
    };
    let back = async {
        let mut octets = 0;
        while let Some(Ok(data)) = back.data().await {
            let _ = back.flow_control().release_capacity(data.len());
            octets += data.len() as u64;
            if writer.write_all(&data).await.is_err() {
                return (false, octets);
            }
        }
        (writer.shutdown().await.is_ok(), octets)
    };
    // A direction that breaks ends the other; one that ends well leaves it alone.
    let (mut forth, mut back) = (std::pin::pin!(forth), std::pin::pin!(back));
    tokio::select! {
        (well, octets) = &mut forth => octets + if well { back.await.1 } else { 0 },
        (well, octets) = &mut back => octets + if well { forth.await.1 } else { 0 },
    }
}

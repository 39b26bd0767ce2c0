//! The server half's end of the link: who asks, and what for.
//!
//! Requests for [`ITSELF`] are the client half's own: the stream of promises, an object that is wanted now, a body that it no
//! longer has. Left out: what becomes of all others; see [`crate::optimise::server`].

use super::{ITSELF, STREAM_BUFFER, TABLE, WINDOW, Wants, Wire, inward, send_all};
use crate::optimise::link::Coded;
use crate::optimise::server::{ServerHalf, Session};
use crate::optimise::store::Hash;
use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use hyper::{Method, Request, Response, StatusCode};
use std::future::poll_fn;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::timeout;

/// Longest wait for a connection's first line, which comes with the handshake's end.
const GREETING_LIMIT: Duration = Duration::from_secs(60);
/// Streams that a client half may have open: many browsers.
const MOST_STREAMS: u32 = 1_000;
/// Longest head: many cookies.
const MOST_HEAD: u32 = 1 << 17;

/// Serves one connection of the link to its end.
pub(crate) async fn serve_wire(half: Rc<ServerHalf>, mut wire: Wire) {
    let Ok(Ok(wants)) = timeout(GREETING_LIMIT, Wants::read(&mut wire)).await else { return };
    if let Some(path) = &wants.tcp
        && wire.adapt(path).is_err()
    {
        return;
    }
    let session = half.session(wants);
    let handshake = h2::server::Builder::new()
        .initial_window_size(WINDOW)
        .initial_connection_window_size(4 * WINDOW)
        .max_send_buffer_size(STREAM_BUFFER)
        .header_table_size(TABLE)
        .max_concurrent_streams(MOST_STREAMS)
        .max_header_list_size(MOST_HEAD)
        .handshake(wire)
        .await;
    let Ok(mut connection) = handshake else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        tokio::task::spawn_local(answer(half.clone(), session.clone(), request, respond));
    }
}

async fn answer(
    half: Rc<ServerHalf>,
    session: Rc<Session>,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
) {
    if request.uri().host() == Some(ITSELF) && request.method() == Method::GET {
        own(&half, &session, request.uri().path(), respond).await;
        return;
    }
    half.sums.add(|counts| counts.requests += 1);
    match inward(request) {
        Some(inward) if *inward.asked.request.method() == Method::CONNECT => {
            half.tunnel(inward, respond).await;
        }
        Some(inward) => half.answer(&session, inward, respond).await,
        None => {
            half.sums.add(|counts| counts.refused += 1);
            say(&mut respond, StatusCode::BAD_REQUEST);
        }
    }
}

/// A reply that is a status.
pub(crate) fn say(respond: &mut SendResponse<Bytes>, status: StatusCode) {
    let mut reply = Response::new(());
    *reply.status_mut() = status;
    let _ = respond.send_response(reply, true); // a stream that is gone needs no reply
}

async fn own(half: &Rc<ServerHalf>, session: &Rc<Session>, path: &str, mut respond: SendResponse<Bytes>) {
    if path == "/pushes" {
        let Ok(mut stream) = respond.send_response(Response::new(()), false) else { return };
        session.pushes.open(respond);
        let _ = poll_fn(|context| stream.poll_reset(context)).await; // open as long as its connection
    } else if let Some(stream) = path.strip_prefix("/want/").and_then(|stream| stream.parse().ok()) {
        session.pushes.want(stream);
        say(&mut respond, StatusCode::NO_CONTENT);
    } else if let Some(hash) = path.strip_prefix("/body/").and_then(|hash| hash.parse::<Hash>().ok()) {
        let Some(body) = session.store.borrow_mut().get(hash) else {
            return say(&mut respond, StatusCode::NOT_FOUND);
        };
        half.sums.add(|counts| counts.same_missing += 1);
        let length = Some(body.len() as u64);
        let (coding, octets) = half.compressed(session, body);
        let coded = Coded { coding, length, hash: Some(hash), base: None };
        let mut reply = Response::new(());
        coded.write(reply.headers_mut());
        if let Ok(mut stream) = respond.send_response(reply, false) {
            let _ = send_all(&mut stream, octets, true).await; // who is gone needs nothing
        }
    } else {
        say(&mut respond, StatusCode::NOT_FOUND);
    }
}

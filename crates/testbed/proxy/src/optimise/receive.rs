//! From a reply on the link to the reply that the browser gets: unpacked, restored, taken from what is here.
//!
//! What was kept is checked by its hash when it is kept, and a difference by the hash of what it makes. Left out: keeping
//! bodies that came in parts.

use super::coding::{Coding, Decoder};
use super::counts::Sums;
use super::flow::{Broken, Flow, whole};
use super::link::{Coded, InUse, Link, itself, reply_inward};
use super::store::{Hash, Store};
use bytes::Bytes;
use h2::RecvStream;
use hyper::body::{Body, Frame, SizeHint};
use hyper::{Response, StatusCode};
use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// Octets of bodies that the client half keeps: more than a day's browsing over a slow link.
const KEPT: usize = 1 << 28;

/// Reads replies, and keeps what they bring.
pub(crate) struct Receiver {
    store: RefCell<Store>,
    sums: Rc<Sums>,
}

impl Receiver {
    pub(crate) fn new(sums: Rc<Sums>) -> Rc<Self> {
        Rc::new(Self { store: RefCell::new(Store::new(KEPT)), sums })
    }

    /// The latest body of this URL that is here.
    pub(crate) fn latest(&self, url: &str) -> Option<Hash> {
        self.store.borrow().latest(url)
    }

    /// The reply for the browser; the status to answer with when it makes no sense.
    pub(crate) async fn receive(
        self: &Rc<Self>,
        link: &Rc<Link>,
        url: &str,
        reply: Response<RecvStream>,
        mut used: Option<InUse>,
    ) -> Result<Response<Flow>, StatusCode> {
        let (reply, mut coded) = reply_inward(reply)?;
        let (parts, mut stream) = reply.into_parts();
        let here = |hash: Option<Hash>| hash.and_then(|hash| self.store.borrow_mut().get(hash));
        let mut base = Bytes::new();
        match coded.coding {
            Coding::Same | Coding::Delta => {
                let wanted = if coded.coding == Coding::Same { coded.hash } else { coded.base };
                match here(wanted) {
                    Some(body) if coded.coding == Coding::Same => {
                        return Ok(Response::from_parts(parts, self.again(url, coded, body)));
                    }
                    Some(body) => base = body,
                    None => {
                        (stream, coded, used) = self.missing(link, coded).await?;
                    }
                }
            }
            Coding::Plain | Coding::Compressed(_) => {}
        }
        let body = Decoding::new(self.clone(), url, stream, coded, base, used);
        Ok(Response::from_parts(parts, Box::pin(body.map_err(|_| StatusCode::BAD_GATEWAY)?)))
    }

    /// A body that is here already.
    fn again(&self, url: &str, coded: Coded, body: Bytes) -> Flow {
        if let Some(hash) = coded.hash {
            self.store.borrow_mut().keep(url, hash, body.clone());
        }
        self.sums.add(|counts| {
            counts.same += 1;
            counts.same_plain_bytes += body.len() as u64;
        });
        whole(body)
    }

    /// The server half took something to be here that is not: asks for all of it.
    async fn missing(
        &self,
        link: &Rc<Link>,
        coded: Coded,
    ) -> Result<(RecvStream, Coded, Option<InUse>), StatusCode> {
        self.sums.add(|counts| counts.same_missing += 1);
        let bad = StatusCode::BAD_GATEWAY;
        let request = coded.hash.and_then(|hash| itself(&format!("/body/{hash}"))).ok_or(bad)?;
        let (reply, used) = link.ask(request, None).await?;
        let (reply, again) = reply_inward(reply)?;
        let right = reply.status() == StatusCode::OK
            && again.hash == coded.hash
            && again.length == coded.length
            && matches!(again.coding, Coding::Plain | Coding::Compressed(_));
        if right { Ok((reply.into_body(), again, Some(used))) } else { Err(bad) }
    }
}

/// A body as it comes off the link.
struct Decoding {
    receiver: Rc<Receiver>,
    url: String,
    stream: RecvStream,
    coded: Coded,
    /// `None` for a body that passes as it is, and after the end.
    decoder: Option<Decoder>,
    /// What is to be kept.
    kept: Vec<u8>,
    /// The last octets: they go when all is known to be right.
    last: Vec<u8>,
    given: u64,
    on_link: u64,
    over: bool,
    used: Option<InUse>,
}

impl Decoding {
    fn new(
        receiver: Rc<Receiver>,
        url: &str,
        stream: RecvStream,
        coded: Coded,
        base: Bytes,
        used: Option<InUse>,
    ) -> io::Result<Self> {
        // Without octets there is nothing to decode: a reply to HEAD, a 304.
        let over = stream.is_end_stream();
        if over && coded.hash.is_some() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let decoder = match coded.length {
            Some(length) if !over && (coded.coding != Coding::Plain || coded.hash.is_some()) => {
                Some(Decoder::new(coded.coding, length as usize, base)?)
            }
            _ => None,
        };
        Ok(Self {
            receiver,
            url: url.into(),
            stream,
            coded,
            decoder,
            kept: Vec::new(),
            last: Vec::new(),
            given: 0,
            on_link: 0,
            over,
            used,
        })
    }

    /// Takes octets off the link and gives what the browser may have of them now.
    fn take(&mut self, data: Bytes) -> io::Result<Bytes> {
        self.on_link += data.len() as u64;
        let plain = match &mut self.decoder {
            None => data,
            Some(decoder) => Bytes::from(decoder.take(&data)?),
        };
        if self.coded.hash.is_some() {
            self.kept.extend_from_slice(&plain);
        }
        self.given += plain.len() as u64;
        if self.coded.length.is_some_and(|length| self.given >= length) {
            self.last.extend_from_slice(&plain); // whoever has all octets does not ask for more
            return Ok(Bytes::new());
        }
        Ok(plain)
    }

    fn finish(&mut self) -> io::Result<Bytes> {
        self.over = true;
        self.used = None;
        let mut last = std::mem::take(&mut self.last);
        let Some(decoder) = self.decoder.take() else { return Ok(last.into()) };
        let plain = decoder.finish()?;
        if let Some(hash) = self.coded.hash {
            self.kept.extend_from_slice(&plain);
            let body = Bytes::from(std::mem::take(&mut self.kept));
            if Hash::of(&body) != hash {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a body is not the one announced"));
            }
            self.receiver.store.borrow_mut().keep(&self.url, hash, body);
        }
        self.receiver.sums.add(|counts| {
            let (length, on_link) = (self.coded.length.unwrap_or(0), self.on_link);
            match self.coded.coding {
                Coding::Compressed(_) => {
                    counts.compressed += 1;
                    counts.compressed_plain_bytes += length;
                    counts.compressed_link_bytes += on_link;
                }
                Coding::Delta => {
                    counts.deltas += 1;
                    counts.delta_plain_bytes += length;
                    counts.delta_link_bytes += on_link;
                }
                Coding::Plain | Coding::Same => {}
            }
        });
        last.extend(plain);
        Ok(last.into())
    }
}

impl Body for Decoding {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let this = &mut *self;
        while !this.over {
            let plain = match ready!(this.stream.poll_data(context)) {
                Some(Ok(data)) => {
                    let _ = this.stream.flow_control().release_capacity(data.len());
                    this.take(data)
                }
                None => this.finish(),
                Some(Err(error)) => Err(io::Error::other(error)),
            };
            match plain {
                Ok(plain) if plain.is_empty() => {}
                Ok(plain) => return Poll::Ready(Some(Ok(Frame::data(plain)))),
                Err(error) => {
                    this.over = true;
                    return Poll::Ready(Some(Err(error.into())));
                }
            }
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.over
    }

    fn size_hint(&self) -> SizeHint {
        self.coded.length.filter(|_| !self.over).map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

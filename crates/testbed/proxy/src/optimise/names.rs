//! DNS boosting for browsers that know of no proxy: every name is here.
//!
//! A look-up is answered on the spot with this machine's own address, so that none crosses the slow link and all connections
//! come here; the name itself comes in the request. Reference: RFC 1035 §4; Rodriguez, Mukherjee, Rangarajan, *Session level
//! techniques for improving web browsing performance on wireless links*, WWW 2004 §4. Left out: names that do not exist: the request
//! says so.

use super::counts::Sums;
use simple_dns::rdata::{A, RData};
use simple_dns::{CLASS, Packet, PacketFlag, QCLASS, QTYPE, RCODE, ResourceRecord, TYPE};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use tokio::net::UdpSocket;

/// How long an answer may be used: a page's load, and not for ever after the proxy has gone.
const TTL_S: u32 = 60;

/// Answers look-ups until it is dropped.
pub(crate) async fn answer_all(socket: UdpSocket, sums: Rc<Sums>) {
    let mut query = [0; 1_500];
    loop {
        let Ok((length, from)) = socket.recv_from(&mut query).await else { continue };
        if let Some(reply) = own_address(from).and_then(|own| reply(&query[..length], own)) {
            sums.add(|counts| counts.names_answered += 1);
            let _ = socket.send_to(&reply, from).await; // a lost answer is asked for again
        }
    }
}

/// The address under which who asks reaches this machine.
fn own_address(from: SocketAddr) -> Option<Ipv4Addr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect(from).ok()?; // sends nothing: asks the routing table
    match socket.local_addr().ok()?.ip() {
        IpAddr::V4(own) => Some(own),
        IpAddr::V6(_) => None,
    }
}

fn reply(query: &[u8], own: Ipv4Addr) -> Option<Vec<u8>> {
    let query = Packet::parse(query).ok().filter(|query| !query.has_flags(PacketFlag::RESPONSE))?;
    let mut reply = Packet::new_reply(query.id());
    reply.set_flags(PacketFlag::RECURSION_AVAILABLE);
    let question = query.questions.first().filter(|_| query.questions.len() == 1);
    let Some(question) = question else {
        *reply.rcode_mut() = RCODE::FormatError;
        return reply.build_bytes_vec().ok();
    };
    let of_internet = matches!(question.qclass, QCLASS::CLASS(CLASS::IN) | QCLASS::ANY);
    if of_internet && matches!(question.qtype, QTYPE::TYPE(TYPE::A) | QTYPE::ANY) {
        let address = RData::A(A { address: own.to_bits() });
        reply.answers.push(ResourceRecord::new(question.qname.clone(), CLASS::IN, TTL_S, address));
    }
    reply.questions.push(question.clone());
    reply.build_bytes_vec().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use simple_dns::{Name, Question};

    fn asked(kind: TYPE) -> Vec<u8> {
        let mut query = Packet::new_query(7);
        let name = Name::new("www.a.test").unwrap();
        query.questions.push(Question::new(name, QTYPE::TYPE(kind), QCLASS::CLASS(CLASS::IN), false));
        query.build_bytes_vec().unwrap()
    }

    #[test]
    fn every_name_is_here_and_no_other_kind_of_record_is() {
        let own = Ipv4Addr::new(10, 77, 0, 2);
        let octets = reply(&asked(TYPE::A), own).unwrap();
        let answer = Packet::parse(&octets).unwrap();
        assert_eq!((answer.id(), answer.rcode(), answer.answers.len()), (7, RCODE::NoError, 1));
        assert_eq!(answer.answers[0].rdata, RData::A(A { address: own.to_bits() }));
        let octets = reply(&asked(TYPE::AAAA), own).unwrap();
        assert_eq!(Packet::parse(&octets).unwrap().answers.len(), 0);
        assert_eq!(reply(b"no query", own), None);
        assert_eq!(reply(&octets, own), None, "an answer is not answered");
    }
}

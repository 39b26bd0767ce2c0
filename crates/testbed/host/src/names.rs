//! The name server of a hosted site: its names at their addresses, with the recorded times to live, and nothing else.
//!
//! Over UDP and TCP (RFC 1035 §4.2). A name that was not recorded does not exist (NXDOMAIN): that is how a page's
//! request to somebody else fails, and it is counted. IPv6 addresses of a known name: none (no error, no answer). Left
//! out: every other kind of record; forwarding, which there must never be.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use simple_dns::rdata::RData;
use simple_dns::{CLASS, OPCODE, Packet, PacketFlag, QTYPE, RCODE, ResourceRecord, TYPE};

/// Time to live of names for which none was recorded, seconds: a minute, as content networks have.
pub(crate) const TTL_S: u32 = 60;

/// Names with their addresses and times to live.
#[derive(Clone, Debug, Default)]
pub(crate) struct Zone(pub(crate) BTreeMap<String, (Ipv4Addr, u32)>);

/// What a query came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Known,
    Unknown(String),
    Malformed,
}

impl Zone {
    /// The answer to a query; `None` where there is nothing to answer.
    pub(crate) fn answer(&self, query: &[u8]) -> (Option<Vec<u8>>, Said) {
        let Ok(asked) = Packet::parse(query) else { return (None, Said::Malformed) };
        if asked.has_flags(PacketFlag::RESPONSE) {
            return (None, Said::Malformed);
        }
        let mut reply = Packet::new_reply(asked.id());
        // Stub resolvers want recursion to be on offer; for these names nothing would be gained by it.
        reply.set_flags(PacketFlag::AUTHORITATIVE_ANSWER | PacketFlag::RECURSION_AVAILABLE);
        if asked.has_flags(PacketFlag::RECURSION_DESIRED) {
            reply.set_flags(PacketFlag::RECURSION_DESIRED);
        }
        let said = match asked.questions.first() {
            Some(question) if asked.opcode() == OPCODE::StandardQuery => {
                let name = question.qname.to_string().trim_end_matches('.').to_ascii_lowercase();
                reply.questions.push(question.clone());
                match self.0.get(host(&name)) {
                    Some((address, ttl)) => {
                        if name == host(&name) && matches!(question.qtype, QTYPE::TYPE(TYPE::A) | QTYPE::ANY)
                        {
                            let data = RData::A((*address).into());
                            let record = ResourceRecord::new(question.qname.clone(), CLASS::IN, *ttl, data);
                            reply.answers.push(record);
                        }
                        Said::Known
                    }
                    None => {
                        *reply.rcode_mut() = RCODE::NameError;
                        Said::Unknown(name)
                    }
                }
            }
            _ => {
                *reply.rcode_mut() = RCODE::NotImplemented;
                Said::Malformed
            }
        };
        (reply.build_bytes_vec_compressed().ok(), said)
    }
}

/// The host that a service's name is of: `_8443._https.host` (RFC 9460 §2.3) is asked for beside `host`.
fn host(name: &str) -> &str {
    let mut rest = name;
    while let Some((label, after)) = rest.split_once('.')
        && label.starts_with('_')
    {
        rest = after;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use simple_dns::{Name, QCLASS, Question};

    fn ask(name: &str, kind: TYPE) -> (Vec<u8>, Said) {
        let zone = Zone([("www.example.org".to_owned(), (Ipv4Addr::new(10, 78, 0, 2), 300))].into());
        let mut query = Packet::new_query(7);
        query.set_flags(PacketFlag::RECURSION_DESIRED);
        query.questions.push(Question::new(
            Name::new_unchecked(name),
            kind.into(),
            QCLASS::CLASS(CLASS::IN),
            false,
        ));
        let (reply, said) = zone.answer(&query.build_bytes_vec().unwrap());
        (reply.unwrap(), said)
    }

    #[test]
    fn a_recorded_name_has_its_address_and_its_time_to_live() {
        let (reply, said) = ask("WWW.example.org", TYPE::A);
        let reply = Packet::parse(&reply).unwrap();
        assert_eq!((reply.id(), reply.rcode(), said), (7, RCODE::NoError, Said::Known));
        assert!(reply.has_flags(
            PacketFlag::RESPONSE | PacketFlag::RECURSION_DESIRED | PacketFlag::RECURSION_AVAILABLE
        ));
        let [answer] = &reply.answers[..] else { panic!("one answer: {reply:?}") };
        assert_eq!(answer.ttl, 300);
        assert!(
            matches!(&answer.rdata, RData::A(a) if Ipv4Addr::from(a.address) == Ipv4Addr::new(10, 78, 0, 2))
        );
    }

    #[test]
    fn it_has_no_address_of_version_six_but_exists() {
        let (reply, said) = ask("www.example.org", TYPE::AAAA);
        let reply = Packet::parse(&reply).unwrap();
        assert_eq!((reply.rcode(), reply.answers.len(), said), (RCODE::NoError, 0, Said::Known));
    }

    #[test]
    fn a_service_of_a_recorded_name_has_no_record_and_is_no_miss() {
        let (reply, said) = ask("_8443._https.www.example.org", TYPE::A);
        let reply = Packet::parse(&reply).unwrap();
        assert_eq!((reply.rcode(), reply.answers.len(), said), (RCODE::NoError, 0, Said::Known));
    }

    #[test]
    fn a_name_that_was_not_recorded_does_not_exist() {
        let (reply, said) = ask("tracker.example", TYPE::A);
        assert_eq!(Packet::parse(&reply).unwrap().rcode(), RCODE::NameError);
        assert_eq!(said, Said::Unknown("tracker.example".into()));
    }

    #[test]
    fn what_is_no_query_gets_no_answer() {
        assert_eq!(Zone::default().answer(b"GET / HTTP/1.1").1, Said::Malformed);
        let reply = Packet::new_reply(1).build_bytes_vec().unwrap();
        assert_eq!(
            Zone::default().answer(&reply),
            (None, Said::Malformed),
            "two name servers must not talk for ever"
        );
    }
}

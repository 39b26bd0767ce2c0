//! Captures byte by byte, in either byte order, right or wrong.
//!
//! Leaves out `airperf_wire::pcapng`, which writes only right ones.

use airperf_wire::container::{Batch, Limits, Record, Source};

/// The byte order of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    pub(crate) fn u16(self, value: u16) -> [u8; 2] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub(crate) fn u32(self, value: u32) -> [u8; 4] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub(crate) fn words(self, values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|value| self.u32(*value)).collect()
    }
}

/// The magic number of a classic file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Microseconds,
    Nanoseconds,
    Modified,
}

/// A classic pcap file in the making.
pub(crate) struct Pcap {
    pub(crate) order: Order,
    kind: Kind,
    pub(crate) bytes: Vec<u8>,
}

impl Pcap {
    pub(crate) fn new(order: Order, kind: Kind, network: u32) -> Self {
        let magic = match kind {
            Kind::Microseconds => 0xa1b2_c3d4,
            Kind::Nanoseconds => 0xa1b2_3c4d,
            Kind::Modified => 0xa1b2_cd34,
        };
        let mut bytes = order.u32(magic).to_vec();
        bytes.extend(order.u16(2));
        bytes.extend(order.u16(4));
        bytes.extend(order.words(&[0, 0, 262_144, network]));
        Self { order, kind, bytes }
    }

    pub(crate) fn record(&mut self, seconds: u32, fraction: u32, original: u32, data: &[u8]) -> &mut Self {
        self.claim(seconds, fraction, data.len() as u32, original, data)
    }

    /// A record that claims to have captured `captured` bytes.
    pub(crate) fn claim(
        &mut self,
        seconds: u32,
        fraction: u32,
        captured: u32,
        original: u32,
        data: &[u8],
    ) -> &mut Self {
        self.bytes.extend(self.order.words(&[seconds, fraction, captured, original]));
        if self.kind == Kind::Modified {
            // Interface, protocol, packet type.
            self.bytes.extend([7; 8]);
        }
        self.bytes.extend_from_slice(data);
        self
    }
}

/// A block of pcapng with right lengths.
pub(crate) fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let length = 12 + body.len() as u32;
    [order.words(&[kind, length]), body, order.words(&[length])].concat()
}

/// Options of a block, with their end.
pub(crate) fn options(order: Order, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (code, value) in options.iter().chain(&[(0, &[][..])]) {
        bytes.extend(order.u16(*code));
        bytes.extend(order.u16(value.len() as u16));
        bytes.extend_from_slice(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

pub(crate) fn section(order: Order) -> Vec<u8> {
    let body = [
        order.words(&[0x1a2b_3c4d]),
        order.u16(1).to_vec(),
        order.u16(0).to_vec(),
        vec![0xff; 8],
        options(order, &[(4, b"test")]),
    ];
    block(order, 0x0a0d_0d0a, &body.concat())
}

pub(crate) fn interface(order: Order, link: u16, snap_length: u32, given: &[(u16, &[u8])]) -> Vec<u8> {
    let body =
        [order.u16(link).to_vec(), vec![0; 2], order.words(&[snap_length]), options(order, given)].concat();
    block(order, 1, &body)
}

pub(crate) fn enhanced(order: Order, interface: u32, stamp: u64, original: u32, data: &[u8]) -> Vec<u8> {
    let mut body = order.words(&[interface, (stamp >> 32) as u32, stamp as u32, data.len() as u32, original]);
    body.extend_from_slice(data);
    block(order, 6, &body)
}

/// What was read of a capture.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) records: Vec<(Record, Vec<u8>)>,
    pub(crate) source: Source,
    pub(crate) most_allocated: usize,
}

impl Read {
    pub(crate) fn times(&self) -> Vec<i64> {
        self.records.iter().map(|(record, _)| record.time_ns).collect()
    }

    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.records.iter().map(|(record, _)| record.number).collect()
    }

    /// Number, time, place, lengths and bytes of each record.
    pub(crate) fn contents(&self) -> Vec<(u64, i64, u64, u32, &[u8])> {
        self.records.iter().map(|(r, bytes)| (r.number, r.time_ns, r.place, r.original, &bytes[..])).collect()
    }

    pub(crate) fn count(&self, name: &str) -> u64 {
        self.source.counts().iter().find(|(n, _)| *n == name).expect("a name of the list").1
    }

    /// Where it is damaged, and how that is said.
    pub(crate) fn damage(&self) -> (u64, &str) {
        let damage = self.source.damage().expect("damage is told");
        (damage.at, damage.what.as_str())
    }
}

pub(crate) fn read(bytes: &[u8]) -> Read {
    read_with(bytes, Limits::default())
}

pub(crate) fn read_with(bytes: &[u8], limits: Limits) -> Read {
    let stream = Box::new(std::io::Cursor::new(bytes.to_vec()));
    drain(Source::stream("test", stream, limits).expect("a capture"))
}

pub(crate) fn drain(mut source: Source) -> Read {
    let mut batch = Batch::default();
    let (mut records, mut most_allocated) = (Vec::new(), 0);
    while source.read(&mut batch).expect("no error of the system") {
        records.extend(batch.records().iter().map(|record| (*record, batch.bytes(record).to_vec())));
        most_allocated = most_allocated.max(batch.allocated_bytes());
    }
    assert!(!source.read(&mut batch).unwrap(), "the end stays the end");
    Read { records, source, most_allocated: most_allocated.max(batch.allocated_bytes()) }
}

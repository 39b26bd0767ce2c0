//! How much memory a live connection takes, by what its client waits for.
//!
//! Told from how the memory in use grows with the number of connections, so that buffers of constant size do not
//! count. Leaves out connections with gaps in their octets, whose waiting segments are bounded elsewhere, and the words
//! of requests, which are kept for the table of exchanges alone.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Cursor;
use std::net::Ipv4Addr;
use std::ops::ControlFlow;

use airperf_analyze::capture::{Options, analyze};
use airperf_wire::container::{Limits, Source};
use airperf_wire::{Flags, TcpOptions, TcpPacket, ethernet_frame, station_mac};

struct Counting;

thread_local! {
    /// Bytes in use that this thread asked for.
    static IN_USE: Cell<i64> = const { Cell::new(0) };
}

fn count(bytes: usize, sign: i64) {
    IN_USE.set(IN_USE.get() + sign * bytes as i64);
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(layout.size(), -1);
        count(size, 1);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ACK: Flags = Flags::ACK;
const REQUEST: &[u8] = b"GET /object/0017.html HTTP/1.1\r\nHost: server.example\r\nAccept: text/html\r\n\r\n";
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\nbody";

/// What every client does before it waits: whose packet, its flags and its payload.
type Script = [(bool, Flags, &'static [u8])];

const CONNECTED: &Script = &[(true, Flags::SYN, b""), (false, Flags::SYN.with(ACK), b""), (true, ACK, b"")];
const ASKED: &Script = &[CONNECTED[0], CONNECTED[1], CONNECTED[2], (true, ACK, REQUEST), (false, ACK, b"")];
const ANSWERED: &Script =
    &[ASKED[0], ASKED[1], ASKED[2], ASKED[3], ASKED[4], (false, ACK, RESPONSE), (true, ACK, b"")];

/// A capture in which so many connections go through the script side by side.
fn capture(connections: u32, script: &Script) -> Vec<u8> {
    let mut file: Vec<u8> = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat();
    let server = Ipv4Addr::new(10, 0, 0, 1);
    let (mut packet, mut frame, mut next) = (Vec::new(), Vec::new(), [1_u32, 1_000]);
    for (step, (up, flags, payload)) in script.iter().enumerate() {
        let own = usize::from(!up);
        for number in 0..connections {
            let client = Ipv4Addr::from_bits(u32::from(Ipv4Addr::new(10, 1, 0, 0)) + number / 100);
            let port = 20_000 + (number % 100) as u16;
            let ends = ((client, port), (server, 80));
            let (from, to) = if *up { ends } else { (ends.1, ends.0) };
            let segment = TcpPacket {
                source: from.0,
                destination: to.0,
                source_port: from.1,
                destination_port: to.1,
                seq: next[own],
                ack: if flags.has(ACK) { next[1 - own] } else { 0 },
                flags: *flags,
                window: 29_200,
                options: TcpOptions::default(),
                identification: (step + 1) as u16,
                ttl: 64,
            };
            segment.write(payload, &mut packet);
            frame.clear();
            ethernet_frame(station_mac(1), station_mac(2), &packet, &mut frame);
            let length = frame.len() as u32;
            let head = [1_000_000_000 + step as u32, number, length, length];
            file.extend(head.map(u32::to_le_bytes).concat());
            file.extend_from_slice(&frame);
        }
        next[own] += payload.len() as u32 + u32::from(flags.has(Flags::SYN));
    }
    file
}

/// Bytes in use when an analysis has seen the last packet.
fn in_use(connections: u32, script: &Script) -> i64 {
    let file = Cursor::new(capture(connections, script));
    let before = IN_USE.get();
    let source = Source::stream("made", Box::new(file), Limits::default()).unwrap();
    let mut last = 0;
    // None leaves early, however they are spread over the table.
    let options = Options { threads: 1, max_connections: 1 << 20, ..Options::default() };
    let summary = analyze(vec![source], &options, None, &mut |_, _| {
        last = IN_USE.get() - before;
        ControlFlow::Continue(())
    });
    assert_eq!(summary.unwrap().to_json()["tcp"]["connections"], connections);
    last
}

fn of_one(script: &Script) -> i64 {
    let (few, many) = (10_000, 60_000);
    (in_use(many, script) - in_use(few, script)) / i64::from(many - few)
}

#[test]
fn the_memory_of_a_live_connection_is_bounded() {
    let found = [CONNECTED, ANSWERED, ASKED].map(of_one);
    println!("connected, answered, asked: {found:?} bytes");
    assert!(found.iter().all(|bytes| *bytes <= 1_024), "{found:?}");
}

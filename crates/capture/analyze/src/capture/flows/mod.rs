//! The TCP connections of a capture: what each segment is, what became of each connection.
//!
//! Packets are spread over a fixed number of shards by their pair of endpoints; a [`Shard`] keeps its
//! connections in a bounded [`table`] and follows each as a [`flow`], which is the engine that the testbeds'
//! tracker uses plus what only captures are asked for. Reference: RFC 9293, and Wireshark's TCP analysis for
//! the names of verdicts. Leaves out packets that are not TCP, and the order of connections over shards.

mod counts;
mod flow;
mod history;
mod packet;
mod pair;
mod plain;
mod ring;
mod rows;
mod said;
mod sent;
mod shard;
mod side;
mod table;

pub use counts::{ANOMALIES, FlowCounts};
pub(crate) use packet::{Carried, Packet, Way};
pub(crate) use pair::{Pair, SHARDS, Secret};
pub(crate) use shard::{Found, Octets, Shard, Wants};

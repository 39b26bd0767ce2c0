//! What was seen, as tables that describe themselves.

mod rows;

pub use rows::{ConnectionRow, ExchangeRow, FrameRow, LagRow, PacketRow, QueueRow};

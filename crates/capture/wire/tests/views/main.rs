//! Frames of every link type, read as far as the packet in them; see the modules.

mod dot11;
mod judge;
mod links;
mod make;
mod offload;
mod properties;
mod radio;
mod words;

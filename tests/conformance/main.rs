//! The two testbeds against each other: the kernel's TCP over the emulated link, ours over the same link.

mod admission;
mod generators;
mod kernel_tcp;
mod overload;
mod shell;
mod valid;
mod wide_area;

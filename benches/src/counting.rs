//! A global allocator that counts, and the process's peak memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

static COUNT: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, with a count of the calls that ask it for memory.
pub(crate) struct Allocator;

// SAFETY: every call is passed unchanged to `System`, which keeps the contract of `GlobalAlloc`.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are those `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `block` came from `System` with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: `block` came from `System` with this layout; `size` is the caller's promise.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// Allocations and reallocations by this process so far.
pub(crate) fn allocations() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

/// Peak resident memory of this process in MiB; 0 where /proc does not tell.
pub(crate) fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: Option<f64> = peak.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse().ok());
    kib.unwrap_or(0.0) / 1024.0
}

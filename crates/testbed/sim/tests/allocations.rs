//! Nothing is allocated per frame once tables and buffers have their size.

use airperf_scenario::Scenario;
use airperf_sim::simulate;
use airperf_units::StreamKey;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// Of this thread: the test's own harness allocates when it likes.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations and packets of a simulation of so many seconds.
fn cost(link: &str, seconds: u32, rate: u32) -> (u64, u64) {
    let text = format!(
        "schema = 1\nname = \"cost\"\nduration = \"{seconds}s\"\nlink = {{ {link} }}\n\
         [[client]]\nrate = \"{rate}/s\"\nsize = \"4KiB\"\ntimeout = \"5s\"\n"
    );
    let scenario = Scenario::parse(&text, "cost", &[]).expect("a good scenario");
    let before = ALLOCATIONS.get();
    let run = simulate(&scenario, StreamKey::new(1), ()).expect("a link");
    (ALLOCATIONS.get() - before, run.totals.delivered)
}

#[test]
fn a_longer_run_allocates_no_more() {
    for link in ["kind = \"wifi\"", "kind = \"ethernet\", rate = \"10Mbit/s\""] {
        let (short, few) = cost(link, 20, 30);
        let (long, many) = cost(link, 200, 30);
        assert!(many > few + 50_000);
        assert_eq!(short, long, "allocations of {few} and of {many} packets over {link}");
    }
    // In overload tables grow to the most connections alive, by doubling.
    let (short, few) = cost("kind = \"wifi\"", 60, 160);
    let (long, many) = cost("kind = \"wifi\"", 240, 160);
    assert!(many > few + 100_000);
    assert!(long <= short + 16, "{short} allocations, then {long}");
}

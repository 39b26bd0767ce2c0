//! Captures that the testbeds write, read back by the analysis of captures.
//!
//! What a run wrote in its tables it wrote in `air.pcapng` as well, as far as a sniffer can see it. A capture cannot
//! show, and these tests do not compare:
//!
//! - `due_ns`, and what follows from it;
//! - the wait in the transmit queue: `opened_ns` and `sent_ns` are when TCP gave the packet to the queue, a
//!   capture has its first frame;
//! - packets that the queue refused: `segments_*` and `retransmissions_*` count them, a capture has none;
//! - connections none of whose packets left the queue;
//! - that a user gave up (`error`), and that octets after it went to nobody;
//! - the order of offering: how a connection ended (`class`) is told by the order on the air, and so is which of two
//!   FINs is the first.
//!
//! [`truth`] says from the run's frames and packets what a sniffer must see then, and nothing may differ from that.

mod flows;
mod retransmissions;
mod sniffer;
mod truth;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use airperf_analyze::capture::{self, Table, TableSet, analyze};
use airperf_emu::EmuOptions;
use airperf_record::{Options, Row, read};
use airperf_scenario::Scenario;
use airperf_tests::skipped;
use airperf_units::StreamKey;
use airperf_wire::container::{Limits, Source};

const TEXT: &str = include_str!("../../scenarios/two-clients-overload.toml");

/// Simulates the scenario with these settings into `directory`; always true.
fn simulate(directory: &Path, settings: &[(&str, &str)]) -> bool {
    airperf_sim::run(&scenario(settings), TEXT, StreamKey::new(1), directory, Options::default()).unwrap();
    true
}

fn scenario(settings: &[(&str, &str)]) -> Scenario {
    let settings: Vec<_> = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Scenario::parse(TEXT, "two-clients-overload", &settings).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Emulates it with the built-in programs; false, and said aloud, where that is not possible.
fn emulate(directory: &Path, settings: &[(&str, &str)]) -> bool {
    static TURN: Mutex<()> = Mutex::new(()); // runs are timed: one at a time
    let lacking = airperf_emu::probe().into_iter().find(|need| need.required && !need.ok);
    if let Some(need) = lacking {
        skipped(&format!("{}: {}; {}", need.name, need.why, need.remedy));
        return false;
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let embedded = [("emu.server_program", "embedded"), ("emu.client_program", "embedded")];
    let scenario = scenario(&settings.iter().copied().chain(embedded).collect::<Vec<_>>());
    let options = EmuOptions { state_dir: Some(directory.with_extension("state")), ..EmuOptions::default() };
    let mut go_on = |_| ControlFlow::Continue(());
    airperf_emu::run(&scenario, TEXT, StreamKey::new(1), directory, &options, &mut go_on).unwrap();
    true
}

/// Runs the scenario with these settings into a directory; false where that is not possible.
type Testbed = fn(&Path, &[(&str, &str)]) -> bool;

/// A run and the tables of the capture that it wrote.
struct Run {
    directory: PathBuf,
    capture: PathBuf,
}

impl Run {
    /// A run in a folder; `None` where the testbed cannot run here.
    fn of(folder: &Path, testbed: Testbed, settings: &[(&str, &str)]) -> Option<Self> {
        let (directory, capture) = (folder.join("run"), folder.join("capture"));
        if !testbed(&directory, settings) {
            return None;
        }
        let source = Source::open(&directory.join("air.pcapng"), Limits::default()).unwrap();
        let wanted = [Table::Connections, Table::Exchanges, Table::Segments, Table::Retransmissions];
        let mut tables = TableSet::create(&capture, false, &wanted, 1).unwrap();
        let options = capture::Options { threads: 1, ..capture::Options::default() };
        let mut go_on = |_, _| ControlFlow::Continue(());
        analyze(vec![source], &options, Some(&mut tables), &mut go_on).unwrap();
        tables.finish(vec![], serde_json::json!({}), serde_json::json!({})).unwrap();
        Some(Self { directory, capture })
    }
}

/// The emulated run at twice the capacity that several tests look at: queues refuse, today's kernel repeats, users give
/// up, and FINs and RSTs cross. `None`, and said aloud, where that is not possible.
fn overloaded_emulation() -> Option<&'static Run> {
    static RUN: LazyLock<Option<Run>> = LazyLock::new(|| {
        // Nothing that is static is dropped: the next time clears it away.
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("overloaded-emulation");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Run::of(&folder, emulate, &[("duration", "6s"), ("drain", "12s"), ("tcp.profile", "linux-6")])
    });
    if RUN.is_none() {
        skipped("nothing can be emulated here, see above");
    }
    RUN.as_ref()
}

/// All rows of a table.
fn rows<R: Row>(directory: &Path) -> Vec<R> {
    read::rows(&directory.join(R::FILE)).unwrap().map(Result::unwrap).collect()
}

//! Keys of the document itself, of `[record]` and of `[emu]`: what a run is called, how long it lasts,
//! what is written down, and how strict the real-time testbed is.

use crate::setting::{Form, Key, MS, S, Setting, US, count, time};
use crate::{ClientProgram, EmuSettings, Level, RecordSettings, ServerProgram};
use airperf_units::Duration;

/// The version of the format this crate reads.
pub(crate) const SCHEMA: i128 = 1;

/// One day: longer runs are mistakes, and every sum of nanoseconds stays far from its limit.
const DAY: i128 = 86_400 * S;

/// What stands at the top of a scenario.
pub(crate) struct Top {
    schema: u64,
    pub(crate) name: String,
    pub(crate) summary: String,
    pub(crate) duration: Duration,
    pub(crate) drain: Duration,
    pub(crate) seed: u64,
}

impl Default for Top {
    fn default() -> Self {
        Self {
            schema: 1,
            name: String::new(),
            summary: String::new(),
            duration: Duration::ZERO,
            drain: Duration::ZERO,
            seed: 1,
        }
    }
}

/// Keys at the top.
pub(crate) static TOP: [Key<Top>; 6] = [
    Key::new(
        "schema",
        count(SCHEMA, SCHEMA),
        "Version of this format.",
        |top: &Top| Setting::of_count(top.schema),
        |top, s| top.schema = s.count(),
    )
    .required(),
    Key::new(
        "name",
        Form::Name(64),
        "Short name; becomes part of file names.",
        |top: &Top| Setting::Text(top.name.clone()),
        |top, s| top.name = s.text(),
    )
    .required(),
    Key::new(
        "summary",
        Form::Text(500),
        "One sentence for reports.",
        |top| Setting::Text(top.summary.clone()),
        |top, s| top.summary = s.text(),
    ),
    Key::new(
        "duration",
        time(MS, DAY),
        "How long the workload offers load.",
        |top: &Top| Setting::of_time(top.duration),
        |top, s| top.duration = s.time(),
    )
    .required(),
    Key::new(
        "drain",
        time(0, DAY),
        "How long the testbed goes on after the last arrival; records keep what finishes in it.",
        |top| Setting::of_time(top.drain),
        |top, s| top.drain = s.time(),
    ),
    Key::new(
        "seed",
        count(0, u64::MAX as i128),
        "Seed of all random streams; `--seed` overrides it.",
        |top| Setting::of_count(top.seed),
        |top, s| top.seed = s.count(),
    ),
];

/// Keys of `[record]`.
pub(crate) static RECORD: [Key<RecordSettings>; 2] = [
    Key::new(
        "queue_interval",
        time(MS, 3600 * S),
        "Time between two rows of queue occupancy.",
        |record| Setting::of_time(record.queue_interval),
        |record, s| record.queue_interval = s.time(),
    ),
    Key::new(
        "level",
        Form::Word,
        "`full` keeps every frame and packet and a capture; `analysis` only connections, exchanges and queues; `summary` only sums.",
        |record: &RecordSettings| Setting::Word(record.level.name()),
        |record, s| record.level = s.word().and_then(Level::from_name).unwrap_or_default(),
    )
    .words(&["full", "analysis", "summary"]),
];

/// Keys of `[emu]`.
pub(crate) static EMU: [Key<EmuSettings>; 3] = [
    Key::new(
        "lag_p99_limit",
        time(US, S),
        "A run whose medium is later than this at the 99th percentile is marked invalid.",
        |emu| Setting::of_time(emu.lag_p99_limit),
        |emu, s| emu.lag_p99_limit = s.time(),
    ),
    Key::new(
        "server_program",
        Form::Word,
        "`apache` is Debian's apache2 with prefork; `embedded` needs nothing installed; `auto` takes Apache if it is there.",
        |emu: &EmuSettings| Setting::Word(emu.server_program.name()),
        |emu, s| emu.server_program = ServerProgram::from_name(s.word()),
    )
    .words(&ServerProgram::NAMES),
    Key::new(
        "client_program",
        Form::Word,
        "`httperf` is Debian's httperf; `airperf-load` is the generator of `airperf load`; `embedded` is part of the testbed; `auto` takes httperf if it is there and can do what the clients want, else `airperf-load`.",
        |emu: &EmuSettings| Setting::Word(emu.client_program.name()),
        |emu, s| emu.client_program = ClientProgram::from_name(s.word()),
    )
    .words(&ClientProgram::NAMES),
];

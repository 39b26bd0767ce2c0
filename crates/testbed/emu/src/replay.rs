//! Repeats an emulated run in virtual time and compares its frames with those of the run, row by row.
//!
//! The contract of a link promises that the same arrivals at the same times give the same frames, however
//! late the machine was when it polled. A difference is a bug, and the first one is shown.
//!
//! Left out: repeating the programs; only the medium is repeated.

use std::path::Path;

use airperf_link::Link;
use airperf_record::{FrameRow, ReadError, Row, Testbed, read};
use airperf_scenario::{OverLink, Problems, Scenario};
use airperf_units::StreamKey;

use crate::arrivals::{self, ArrivalsError, ArrivalsReader, Next};
use crate::medium::{Event, Medium, Nobody, Recorder};
use crate::pool::Handle;
use crate::records::words;

/// What a repetition came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Frames of the run that were repeated identically; all of them if there is no difference.
    pub frames: u64,
    /// The first difference; `None` when every frame is identical.
    pub first_difference: Option<FrameDifference>,
}

/// A frame of the run and what stood in its place when it was repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameDifference {
    /// Number of the frame, from 0.
    pub frame: u64,
    /// What the run recorded; `None` when it had ended.
    pub run: Option<FrameRow>,
    /// What the repetition gives; `None` when it had ended.
    pub replay: Option<FrameRow>,
}

/// Why a run cannot be repeated.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The run directory cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is not an emulated run.
    #[error("this run was simulated: it has no arrivals log, and the same seed repeats it")]
    NotEmulated,
    /// It has no frames.
    #[error(
        "this run was recorded at level \"analysis\" and has no frames to compare with; run it with level \"full\""
    )]
    NoFrames,
    /// The arrivals log cannot be used.
    #[error(transparent)]
    Arrivals(#[from] ArrivalsError),
    /// Arrivals log and manifest are of different runs.
    #[error(
        "the arrivals log is of another run: seed {log} instead of the manifest's {manifest}, or other stations"
    )]
    AnotherRun {
        /// Seed in the log.
        log: u64,
        /// Seed in the manifest.
        manifest: u64,
    },
    /// The scenario in the manifest is not one this version accepts.
    #[error("the scenario in the manifest has {} problems; the run was made by another version", .0.0.len())]
    Scenario(Problems),
    /// The link cannot be built.
    #[error(transparent)]
    Link(#[from] airperf_wifi::ConfigError),
}

/// Repeats the run in `directory`.
///
/// # Errors
/// When the directory is no emulated run with frames, or is damaged; see [`ReplayError`].
pub fn replay(directory: &Path) -> Result<Replayed, ReplayError> {
    let manifest = read::manifest(directory)?;
    if manifest.testbed != Testbed::Emu {
        return Err(ReplayError::NotEmulated);
    }
    if !manifest.tables.contains_key(FrameRow::FILE) {
        return Err(ReplayError::NoFrames);
    }
    let name = &manifest.scenario.name;
    let scenario =
        Scenario::from_run(&manifest.scenario.resolved, name, directory).map_err(ReplayError::Scenario)?;
    let key = StreamKey { seed: manifest.seed, point: manifest.point, repetition: manifest.repetition };
    let frames = read::rows::<FrameRow>(&directory.join(FrameRow::FILE))?;
    let arrivals = ArrivalsReader::open(&directory.join(arrivals::FILE))?;
    let header = arrivals.header();
    if header.seed != manifest.seed || usize::from(header.stations) != scenario.stations.len() {
        return Err(ReplayError::AnotherRun { log: header.seed, manifest: manifest.seed });
    }
    scenario.link.build(key, Repeat { sample_every: scenario.record.queue_interval, arrivals, frames })?
}

/// A run to be repeated over whatever link it was.
struct Repeat<I> {
    sample_every: airperf_units::Duration,
    arrivals: ArrivalsReader,
    frames: I,
}

impl<I: Iterator<Item = Result<FrameRow, ReadError>>> OverLink<Handle> for Repeat<I> {
    type Output = Result<Replayed, ReplayError>;

    fn over<L: Link<Handle> + Send + 'static>(self, link: L) -> Self::Output {
        over(link, self.sample_every, self.arrivals, self.frames)
    }
}

fn over<L: Link<Handle>>(
    link: L,
    sample_every: airperf_units::Duration,
    mut arrivals: ArrivalsReader,
    frames: impl Iterator<Item = Result<FrameRow, ReadError>>,
) -> Result<Replayed, ReplayError> {
    let comparison = Comparison { frames, number: 0, difference: None, failure: None };
    let mut medium = Medium::new(link, comparison, 1, 1, sample_every);
    let closing = loop {
        match arrivals.next()? {
            Next::Packet(entry) => {
                medium.advance(entry.at, &mut Nobody);
                medium.offer_again(entry.at, entry.from, entry.to, entry.bytes);
            }
            Next::Closing(at) => break at,
        }
    };
    medium.advance(closing, &mut Nobody);
    let mut comparison = medium.recorder;
    comparison.compare(None);
    match comparison.failure {
        Some(error) => Err(error.into()),
        None => Ok(Replayed { frames: comparison.number, first_difference: comparison.difference }),
    }
}

/// Compares frames as they come with those of a table.
struct Comparison<I> {
    frames: I,
    number: u64,
    difference: Option<FrameDifference>,
    failure: Option<ReadError>,
}

impl<I: Iterator<Item = Result<FrameRow, ReadError>>> Comparison<I> {
    fn compare(&mut self, replay: Option<FrameRow>) {
        if self.difference.is_some() || self.failure.is_some() {
            return;
        }
        match self.frames.next().transpose() {
            Err(error) => self.failure = Some(error),
            Ok(run) if run == replay => self.number += u64::from(run.is_some()),
            Ok(run) => self.difference = Some(FrameDifference { frame: self.number, run, replay }),
        }
    }
}

impl<I: Iterator<Item = Result<FrameRow, ReadError>>> Recorder for Comparison<I> {
    fn record(&mut self, event: &Event<'_>) {
        if let Event::Frame { frame, packet } = event {
            self.compare(Some(words::frame_row(frame, *packet)));
        }
    }
}

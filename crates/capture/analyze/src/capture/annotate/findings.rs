//! What an analysis found of each frame: rows of its tables, brought together.
//!
//! Frames and segments are read in step. The times of exchanges are those of the segments that carry their octets:
//! that of the frame, or, for responses on the air, that of its end. Where several segments of a connection have the
//! same time (clocks of a millisecond, say) a message begins with the first and ends with the last of them. Where its
//! octets were not captured its time is that of the acknowledgement that told of them. Left out: the words (`text`).

use std::collections::VecDeque;
use std::iter::Peekable;

use airperf_record::ReadError;
use airperf_record::capture::{ExchangeRow, FrameRow, SegmentRow};
use airperf_record::read::{self, Rows};

use super::Tables;
use super::text;

/// Frames of the same time that are looked at together; bounds memory and work where all times are equal.
const MOST_TOGETHER: usize = 1_024;
const FIN: u8 = 1;

/// What happens to an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    RequestBegins,
    RequestEnds,
    ResponseBegins,
    ResponseEnds,
}

impl What {
    fn is_up(self) -> bool {
        matches!(self, Self::RequestBegins | Self::RequestEnds)
    }

    fn is_begin(self) -> bool {
        matches!(self, Self::RequestBegins | Self::ResponseBegins)
    }
}

/// Something that happens to an exchange at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    pub(super) connection: u64,
    pub(super) time_ns: u64,
    pub(super) index: u32,
    pub(super) what: What,
}

/// An event at a segment of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) event: Event,
    /// Place of the segment in its frame.
    pub(super) segment: usize,
    /// The segment only acknowledges octets that were not captured.
    pub(super) by_acknowledgement: bool,
}

/// A frame and what is in it.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) frame: FrameRow,
    pub(super) segments: Vec<SegmentRow>,
    pub(super) marks: Vec<Mark>,
}

impl Found {
    /// When what it carries was there: at the end of an 802.11 frame, whose time is that of its begin.
    fn delivered_ns(&self) -> u64 {
        let airtime = self.frame.view.and(self.frame.airtime_ns);
        self.frame.time_ns.saturating_add(airtime.unwrap_or(0))
    }

    /// Whether a segment can carry what happens in `event`.
    fn carries(&self, segment: &SegmentRow, event: &Event) -> bool {
        let time_ns = if event.what.is_up() { segment.time_ns } else { self.delivered_ns() };
        let is_again = matches!(segment.novelty, "full" | "dup_syn" | "dup_fin");
        let has_some = segment.payload_bytes > 0 || segment.flags & FIN != 0 && !event.what.is_begin();
        segment.connection == Some(event.connection)
            && segment.up == event.what.is_up()
            && time_ns == event.time_ns
            && has_some
            && !is_again
    }
}

/// Reads what was found, frame by frame.
pub(super) struct Findings {
    frames: Peekable<Rows<FrameRow>>,
    segments: Peekable<Rows<SegmentRow>>,
    /// In order of connection and time.
    events: Vec<Event>,
    /// The next frames, of the same time.
    group: VecDeque<Found>,
}

impl Findings {
    pub(super) fn open(tables: Tables<'_>) -> Result<Self, ReadError> {
        let mut events = Vec::new();
        for row in read::rows::<ExchangeRow>(tables.exchanges)? {
            let row = row?;
            let times = [
                (What::RequestBegins, row.sent_ns),
                (What::RequestEnds, row.asked_ns),
                (What::ResponseBegins, row.first_byte_ns),
                (What::ResponseEnds, row.done_ns),
            ];
            let event = |(what, time_ns): (What, Option<u64>)| {
                let (connection, index) = (row.connection, row.index);
                time_ns.map(|time_ns| Event { connection, time_ns, index, what })
            };
            events.extend(times.into_iter().filter_map(event));
        }
        events.sort_unstable();
        Ok(Self {
            frames: read::rows(tables.frames)?.peekable(),
            segments: read::rows(tables.segments)?.peekable(),
            events,
            group: VecDeque::new(),
        })
    }

    /// Appends to `text` what is to be said of frame `number`; nothing where it was not looked at.
    pub(super) fn comment(&mut self, number: u64, text: &mut String) -> Result<(), ReadError> {
        if self.group.is_empty() {
            self.fill()?;
        }
        if self.group.front().is_some_and(|found| found.frame.frame == number)
            && let Some(found) = self.group.pop_front()
        {
            text::comment(&found, text);
        }
        Ok(())
    }

    /// Whether all rows were used.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.group.is_empty() && self.frames.peek().is_none()
    }

    /// Reads the next frames of the same time.
    fn fill(&mut self) -> Result<(), ReadError> {
        let mut time_ns = None;
        while self.group.len() < MOST_TOGETHER
            && let Some(frame) = take(&mut self.frames, |row| time_ns.is_none_or(|time| time == row.time_ns))?
        {
            time_ns = Some(frame.time_ns);
            let mut segments = Vec::new();
            while let Some(segment) = take(&mut self.segments, |row| row.frame <= frame.frame)? {
                segments.push(segment);
            }
            self.group.push_back(Found { frame, segments, marks: Vec::new() });
        }
        mark(self.group.make_contiguous(), &self.events);
        Ok(())
    }
}

/// The next row, if it fits.
fn take<R: airperf_record::Row>(
    rows: &mut Peekable<Rows<R>>,
    fits: impl FnOnce(&R) -> bool,
) -> Result<Option<R>, ReadError> {
    rows.next_if(|row| row.as_ref().map_or(true, fits)).transpose()
}

/// Finds for each event at the time of `group` the segment that it belongs to.
fn mark(group: &mut [Found], events: &[Event]) {
    let mut keys = Vec::new();
    for found in group.iter() {
        for segment in &found.segments {
            if let Some(connection) = segment.connection {
                keys.extend([(connection, segment.time_ns), (connection, found.delivered_ns())]);
            }
        }
    }
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let from = events.partition_point(|event| (event.connection, event.time_ns) < key);
        let here = events.iter().skip(from).take_while(|event| (event.connection, event.time_ns) == key);
        for event in here {
            if let Some((found, segment, by_acknowledgement)) = place(group, event)
                && let Some(found) = group.get_mut(found)
            {
                found.marks.push(Mark { event: *event, segment, by_acknowledgement });
            }
        }
    }
}

/// Frame and segment of an event, and whether that only acknowledges it.
fn place(group: &[Found], event: &Event) -> Option<(usize, usize, bool)> {
    let all = || {
        let frames = group.iter().enumerate();
        frames.flat_map(|(at, found)| found.segments.iter().enumerate().map(move |s| (at, found, s.0, s.1)))
    };
    let mut carrying = all().filter(|(_, found, _, segment)| found.carries(segment, event));
    let carrier = if event.what.is_begin() { carrying.next() } else { carrying.next_back() };
    if let Some((at, _, segment, _)) = carrier {
        return Some((at, segment, false));
    }
    let tells = |segment: &SegmentRow| {
        segment.connection == Some(event.connection)
            && segment.time_ns == event.time_ns
            && segment.ack.is_some()
    };
    let teller = all().rfind(|(_, _, _, segment)| tells(segment));
    teller.map(|(at, _, segment, _)| (at, segment, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(frame: u64, up: bool, payload_bytes: u32, time_ns: u64) -> SegmentRow {
        SegmentRow {
            frame,
            time_ns,
            connection: Some(7),
            up,
            kind: "data",
            seq: 1,
            ack: Some(1),
            payload_bytes,
            ip_bytes: 40 + payload_bytes,
            window: 0,
            flags: 16,
            novelty: "new",
            spurious: false,
            duplicate_ack: false,
            zero_window: false,
            window_probe: false,
            keep_alive: false,
            sack_from: None,
            sack_to: None,
            rtt_ns: None,
            in_flight: None,
            mac_retries: None,
        }
    }

    fn found(segment: SegmentRow, airtime_ns: Option<u64>) -> Found {
        let frame = FrameRow {
            frame: segment.frame,
            time_ns: segment.time_ns,
            interface: 0,
            bytes: 0,
            captured: 0,
            kind: "ethernet",
            transmitter: None,
            receiver: None,
            group: false,
            sequence: None,
            fragment: None,
            retry: None,
            fcs: "absent",
            view: airtime_ns.map(|_| "first"),
            protected: None,
            rate_bps: None,
            signal_dbm: None,
            airtime_ns,
            acknowledged: None,
            source: None,
            destination: None,
            protocol: None,
            ip_bytes: None,
        };
        Found { frame, segments: vec![segment], marks: Vec::new() }
    }

    fn event(what: What, time_ns: u64) -> Event {
        Event { connection: 7, time_ns, index: 0, what }
    }

    fn marked(mut group: Vec<Found>, events: &[Event]) -> Vec<(u64, What, bool)> {
        mark(&mut group, events);
        let of =
            |f: &Found| f.marks.iter().map(|m| (f.frame.frame, m.event.what, m.by_acknowledgement)).collect();
        group.iter().flat_map(|found: &Found| -> Vec<_> { of(found) }).collect()
    }

    #[test]
    fn of_equal_times_the_first_begins_and_the_last_that_is_no_repeat_ends() {
        let again = SegmentRow { novelty: "full", ..segment(5, false, 10, 9) };
        let group = vec![
            found(segment(1, true, 0, 9), None),
            found(segment(2, false, 0, 9), None),
            found(segment(3, false, 10, 9), None),
            found(segment(4, false, 10, 9), None),
            found(again, None),
        ];
        let events = [event(What::ResponseBegins, 9), event(What::ResponseEnds, 9)];
        assert_eq!(
            marked(group, &events),
            [(3, What::ResponseBegins, false), (4, What::ResponseEnds, false)]
        );
    }

    #[test]
    fn on_the_air_a_response_is_there_at_the_end_of_its_frame_and_a_request_at_its_begin() {
        let down = found(segment(1, false, 10, 9), Some(100));
        let events = [event(What::ResponseEnds, 109)];
        assert_eq!(marked(vec![down], &events), [(1, What::ResponseEnds, false)]);
        let up = found(segment(1, true, 10, 9), Some(100));
        let events = [event(What::RequestBegins, 9)];
        assert_eq!(marked(vec![up], &events), [(1, What::RequestBegins, false)]);
    }

    #[test]
    fn what_was_not_captured_is_told_by_its_acknowledgement() {
        let events = [event(What::ResponseEnds, 9)];
        let group = vec![found(segment(1, true, 0, 9), None)];
        assert_eq!(marked(group, &events), [(1, What::ResponseEnds, true)]);
        let other = SegmentRow { connection: Some(8), ..segment(1, true, 0, 9) };
        assert_eq!(marked(vec![found(other, None)], &events), []);
    }
}

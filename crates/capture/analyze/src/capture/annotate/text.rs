//! What was found of a frame in words, as a comment for whoever reads the capture.
//!
//! Words are those of the tables and of docs/reference/captures.md; none comes from the capture. The parts of a frame
//! are parted by bars, what is said of one by semicolons. A frame of which nothing was found has no comment.

use std::fmt::Write;

use airperf_record::capture::{FrameRow, SegmentRow};

use super::findings::{Found, Mark, What};

/// Octets of a comment after which no more segments are told; a frame has room for thousands.
const MOST: usize = 4_096;

/// Appends what was found of a frame.
pub(super) fn comment(found: &Found, text: &mut String) {
    frame(&found.frame, text);
    for (place, row) in found.segments.iter().enumerate() {
        if text.len() > MOST {
            part(text, " | ", format_args!("{} segments more", found.segments.len() - place));
            return;
        }
        segment(row, text);
        marks(found.marks.iter().filter(|mark| mark.segment == place), text);
    }
}

fn frame(row: &FrameRow, text: &mut String) {
    let mut say = |what: &str| part(text, "; ", format_args!("{what}"));
    match row.view {
        Some("duplicate") => say("MAC duplicate"),
        Some("retry") => say("MAC retransmission, its original was not captured"),
        _ => {}
    }
    if row.fcs == "bad" {
        say("bad FCS");
    }
    if row.acknowledged == Some(false) && row.fcs != "bad" {
        say("no MAC acknowledgement captured");
    }
}

fn segment(row: &SegmentRow, text: &mut String) {
    match row.connection {
        Some(connection) => part(text, " | ", format_args!("connection {connection}; {}", row.kind)),
        None => part(text, " | ", format_args!("no connection; {}", row.kind)),
    }
    let mut say = |is_so: bool, what: &str| {
        if is_so {
            part(text, "; ", format_args!("{what}"));
        }
    };
    match row.novelty {
        "full" => say(true, "retransmission: full"),
        "part" => say(true, "retransmission: part"),
        "late" => say(true, "out of order: late"),
        "dup_syn" => say(true, "retransmission: dup SYN"),
        "dup_fin" => say(true, "retransmission: dup FIN"),
        _ => {}
    }
    say(row.spurious, "spurious");
    say(row.duplicate_ack, "duplicate ACK");
    say(row.zero_window, "zero window");
    say(row.window_probe, "window probe");
    say(row.keep_alive, "keep-alive");
    if let Some(retries @ 1..) = row.mac_retries {
        part(text, "; ", format_args!("MAC retransmissions: {retries}"));
    }
}

fn marks<'a>(marks: impl Iterator<Item = &'a Mark>, text: &mut String) {
    let mut last = None;
    for mark in marks {
        let what = match mark.event.what {
            What::RequestBegins => "request begins",
            What::RequestEnds => "request ends",
            What::ResponseBegins => "response begins",
            What::ResponseEnds => "response ends",
        };
        if last.replace(mark.event.index) == Some(mark.event.index) {
            part(text, ", ", format_args!("{what}"));
        } else {
            part(text, "; ", format_args!("exchange {}: {what}", mark.event.index));
        }
        if mark.by_acknowledgement {
            text.push_str(" (acknowledged, not captured)");
        }
        if text.len() > MOST {
            text.push_str("; and more");
            return;
        }
    }
}

/// Appends a part, after `between` if there is something before it.
fn part(text: &mut String, between: &str, what: std::fmt::Arguments<'_>) {
    if !text.is_empty() {
        text.push_str(between);
    }
    // Writing to a string cannot fail.
    let _ = text.write_fmt(what);
}

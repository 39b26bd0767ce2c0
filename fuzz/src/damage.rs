//! Damages an input once, at random: the kinds of damage that parsers meet.

use airperf_units::Stream;

/// Longest input that is fed: bounds the time of one.
const LONGEST: usize = 1 << 16;

/// Flips, sets, inserts, removes, repeats or cuts something, or plants one of `words`.
pub(crate) fn once(input: &mut Vec<u8>, words: &[&str], draws: &mut Stream) {
    let at = draws.up_to(input.len() as u32) as usize;
    let span = (draws.up_to(16) as usize).min(input.len() - at);
    match draws.up_to(7) {
        0 if at < input.len() => input[at] ^= 1 << draws.up_to(7),
        1 if at < input.len() => input[at] = draws.up_to(255) as u8,
        2 => input.insert(at, draws.up_to(255) as u8),
        3 => drop(input.drain(at..at + span)),
        4 => {
            let piece = input[at..at + span].to_vec();
            let times = draws.up_to(8) as usize;
            input.splice(at..at, piece.repeat(times));
        }
        5 => input.truncate(at),
        6 if at < input.len() => input[at] = [0, 0x7f, 0x80, 0xff][draws.up_to(3) as usize],
        _ if !words.is_empty() => {
            let word = words[draws.up_to(words.len() as u32 - 1) as usize];
            input.splice(at..at + span, word.bytes());
        }
        _ => {}
    }
    input.truncate(LONGEST);
}

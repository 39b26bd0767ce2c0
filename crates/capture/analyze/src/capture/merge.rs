//! Brings together what the shards found, batch by batch, in an order that does not depend on threads.
//!
//! Connections get their numbers here, in order of their first frames; rows leave in the order in which
//! what they say became known.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use airperf_record::WriteError;
use airperf_record::capture::SegmentRow;

use super::TableSet;
use super::flows::{Found, SHARDS};

/// What is kept from batch to batch.
#[derive(Debug)]
pub(crate) struct Merge<'a> {
    tables: Option<&'a mut TableSet>,
    /// Numbers of the connections that are open, by their numbers within each shard.
    numbers: [HashMap<u64, u64, BuildHasherDefault<Counted>>; SHARDS],
    next: u64,
    /// Segments of the last batch, as each shard found them: the MAC may yet send one again.
    held: [Vec<SegmentRow>; SHARDS],
}

impl<'a> Merge<'a> {
    pub(crate) fn new(tables: Option<&'a mut TableSet>) -> Self {
        Self { tables, numbers: Default::default(), next: 0, held: Default::default() }
    }

    /// Takes what each shard found in one batch, and leaves its memory.
    pub(crate) fn batch<'f>(
        &mut self,
        found: impl IntoIterator<Item = &'f mut Found>,
    ) -> Result<(), WriteError> {
        let Some(tables) = &mut self.tables else {
            found.into_iter().for_each(Found::clear);
            return Ok(());
        };
        let mut found: Vec<&mut Found> = found.into_iter().collect();
        let opened =
            found.iter().enumerate().flat_map(|(shard, f)| f.opened.iter().map(move |o| (o.0, shard, o.1)));
        let mut opened: Vec<(u64, usize, u64)> = opened.collect();
        opened.sort_unstable();
        for (_, shard, local) in opened {
            self.numbers[shard].insert(local, self.next);
            self.next += 1;
        }
        for (found, numbers) in found.iter_mut().zip(&mut self.numbers) {
            let number = |local: &mut u64| *local = numbers.get(local).copied().unwrap_or(u64::MAX);
            found.segments.iter_mut().filter_map(|row| row.connection.as_mut()).for_each(number);
            found.exchanges.iter_mut().for_each(|(_, row)| number(&mut row.connection));
            for (_, row) in &mut found.ended {
                let local = row.connection;
                row.connection = numbers.remove(&local).unwrap_or(u64::MAX);
            }
        }

        let exchanges = found.iter_mut().map(|f| &mut f.exchanges);
        in_order(exchanges, |(frame, row)| (*frame, row.connection), |(_, row)| tables.exchange(row))?;
        let ended = found.iter_mut().map(|f| &mut f.ended);
        in_order(ended, |(frame, row)| (*frame, row.connection), |(_, row)| tables.connection(row))?;

        for (found, held) in found.iter_mut().zip(&mut self.held) {
            for frame in &found.mac_retries {
                let row = row_of(held, *frame).or_else(|| row_of(&mut found.segments, *frame));
                if let Some(row) = row {
                    row.mac_retries = Some(row.mac_retries.unwrap_or(0).saturating_add(1));
                }
            }
        }
        in_order(&mut self.held, |row| row.frame, |row| tables.segment(row))?;
        for (found, held) in found.iter_mut().zip(&mut self.held) {
            std::mem::swap(&mut found.segments, held);
        }
        found.into_iter().for_each(Found::clear);
        Ok(())
    }

    /// Nothing more comes.
    pub(crate) fn finish(self) -> Result<Option<&'a mut TableSet>, WriteError> {
        let Self { mut tables, mut held, .. } = self;
        if let Some(tables) = &mut tables {
            in_order(&mut held, |row| row.frame, |row| tables.segment(row))?;
        }
        Ok(tables)
    }
}

/// Hashes numbers that are given one after the other: nobody can choose them.
#[derive(Debug, Default)]
struct Counted(u64);

impl Hasher for Counted {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(self.0 << 8 | u64::from(*byte)));
    }
    #[inline]
    fn write_u64(&mut self, number: u64) {
        // The golden ratio: what is next to one another goes far apart, in the highest digits, too.
        self.0 = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

fn row_of(rows: &mut [SegmentRow], frame: u64) -> Option<&mut SegmentRow> {
    let at = rows.partition_point(|row| row.frame < frame);
    rows.get_mut(at).filter(|row| row.frame == frame)
}

/// Gives the rows of all shards in order. Those of one shard mostly are; equal keys are of one shard.
fn in_order<'l, T: 'l, K: Ord + Copy>(
    lists: impl IntoIterator<Item = &'l mut Vec<T>>,
    key: impl Fn(&T) -> K,
    mut give: impl FnMut(&T) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let mut left: Vec<(K, &T, &[T])> = Vec::with_capacity(SHARDS);
    for list in lists {
        if !list.is_sorted_by_key(&key) {
            list.sort_by_cached_key(&key);
        }
        left.extend(list.split_first().map(|(first, rest)| (key(first), first, rest)));
    }
    while let Some((next, _)) = left.iter().enumerate().min_by_key(|(_, (key, ..))| *key) {
        let (_, row, rest) = left[next];
        give(row)?;
        match rest.split_first() {
            Some((first, rest)) => left[next] = (key(first), first, rest),
            None => drop(left.swap_remove(next)),
        }
    }
    Ok(())
}

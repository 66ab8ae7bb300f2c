//! Recovers loops that were unrolled by running them.
//!
//! A loop is a stretch of entries that repeats: the same operations, with operands that advance by the same distance from one iteration to
//! the next. Shortest stretches are taken first, from the front. Constants may differ between iterations, for example if they come from
//! captured data: long loops then store them in a table. A loop without tables that covers as much is preferred.

use super::trace::{Entry, Operand, Reads, Trace, What};
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// A part of a trace.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// Entries from the first index up to, but not including, the second.
    Straight(usize, usize),
    /// Entries that repeat.
    Loop(Loop),
}

/// `trips` iterations of `period` entries each, from `start` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loop {
    pub start: usize,
    pub period: usize,
    pub trips: usize,
    /// Whether constants may differ between iterations.
    pub has_tables: bool,
}

impl Loop {
    /// The index after its last entry.
    pub fn end(self) -> usize {
        self.start + self.period * self.trips
    }

    /// The same loop, started later by as many entries as [`turn`] says.
    fn turned(self, entries: &[Entry]) -> Loop {
        let start = self.start + turn(entries, self.start, self.period);
        Loop { start, trips: (self.end() - start) / self.period, ..self }
    }
}

/// Number of entries that are compared at once to find where a stretch may repeat.
const GRAM: usize = 4;

/// Number of candidates that are tried as the second iteration of a loop.
const MOST_TRIALS: usize = 64;

/// A loop has at least this many iterations, and this many entries in total.
const LEAST_TRIPS: usize = 4;
const LEAST_ENTRIES: usize = 32;

/// Minimum number of entries in total for a loop with tables: shorter ones run faster unrolled.
const LEAST_WITH_TABLES: usize = 1024;

/// The distance between two operands of the same kind. Constants have distance 0.
fn step(from: Operand, to: Operand) -> Option<i64> {
    match (from.reads(), to.reads()) {
        (Reads::Entry(from), Reads::Entry(to)) | (Reads::Input(from), Reads::Input(to)) => {
            Some(i64::from(to) - i64::from(from))
        }
        (Reads::Constant(_), Reads::Constant(_)) => Some(0),
        _ => None,
    }
}

/// How far the operands of an entry moved, if both are the same operation.
fn steps(from: &Entry, to: &Entry) -> Option<(i64, i64)> {
    if from.what != to.what {
        return None;
    }
    Some((step(from.a, to.a)?, step(from.b, to.b)?))
}

/// Whether an entry is the same operation with operands moved by this distance. With tables, constants may differ.
fn follows(from: &Entry, to: &Entry, moved: (i64, i64), with_tables: bool) -> bool {
    let is_constant = |operand: Operand| matches!(operand.reads(), Reads::Constant(_));
    let follows = |from: Operand, to: Operand, step: i64| {
        to.is_moved(from, step) || with_tables && is_constant(from) && is_constant(to)
    };
    from.what == to.what && follows(from.a, to.a, moved.0) && follows(from.b, to.b, moved.1)
}

/// The blocks of a trace.
pub(super) fn roll(trace: &Trace) -> Vec<Block> {
    let entries = &trace.entries;
    let (mut search, mut blocks, mut from, mut at) = (Search::new(entries), Vec::new(), 0, 0);
    while at < entries.len() {
        match search.loop_at(at).map(|found| found.turned(entries)) {
            Some(found) => {
                if from < found.start {
                    blocks.push(Block::Straight(from, found.start));
                }
                blocks.push(Block::Loop(found));
                (from, at) = (found.end(), found.end());
            }
            None => at += 1,
        }
    }
    if from < entries.len() {
        blocks.push(Block::Straight(from, entries.len()));
    }
    blocks
}

/// Maximum period of a loop whose start is moved.
const LONGEST_TURNED: usize = 512;

/// By how many entries to delay the start of a loop, so that as few operands as possible come from the previous iteration. A loop is found
/// where its first regular iteration begins, which may be in the middle of the loop body as written.
fn turn(entries: &[Entry], start: usize, period: usize) -> usize {
    if period > LONGEST_TURNED {
        return 0;
    }
    // The distance from each entry back to an operand that advances with the iterations.
    let mut before = Vec::new();
    for at in start..start + period {
        let then = &entries[at + period];
        for (operand, next) in [(entries[at].a, then.a), (entries[at].b, then.b)] {
            if let (Reads::Entry(entry), Some(step)) = (operand.reads(), step(operand, next))
                && step == period as i64
            {
                before.push((at - start, at - entry as usize));
            }
        }
    }
    let crossing =
        |turn: usize| before.iter().filter(|(at, distance)| *distance > (at + period - turn) % period).count();
    (0..period).min_by_key(|turn| crossing(*turn)).unwrap_or(0)
}

/// Size of the hash table of operation sequences. A collision only costs a trial.
const SEEN: usize = 1 << 16;

/// For every entry, the next entry that probably starts the same sequence of operations.
fn next_alike(entries: &[Entry]) -> Vec<u32> {
    let mut next = vec![u32::MAX; entries.len()];
    let mut seen = vec![u32::MAX; entries.len().next_power_of_two().min(SEEN)];
    let mut gram = 0u64;
    for at in (0..entries.len()).rev() {
        // The next entries, 16 bits each.
        gram = gram << (64 / GRAM) | mark(entries[at].what);
        let place = FxBuildHasher.hash_one(gram) as usize % seen.len();
        next[at] = std::mem::replace(&mut seen[place], at as u32);
    }
    next
}

/// A hash of what an entry does.
fn mark(what: What) -> u64 {
    FxBuildHasher.hash_one(what) >> (64 - 64 / GRAM)
}

/// A search for loops, from the front.
struct Search<'t> {
    entries: &'t [Entry],
    next: Vec<u32>,
    /// For every period, the index after an entry that does not repeat with it: no loop of that period begins before this.
    ends: Vec<u32>,
    /// How far the operands of each entry of the body move per iteration.
    moved: Vec<(i64, i64)>,
}

impl<'t> Search<'t> {
    fn new(entries: &'t [Entry]) -> Search<'t> {
        let ends = vec![0; entries.len() / LEAST_TRIPS + 1];
        Search { entries, next: next_alike(entries), ends, moved: Vec::new() }
    }

    /// The loop that begins here. After one with tables is found, the search continues for one without.
    fn loop_at(&mut self, start: usize) -> Option<Loop> {
        let (mut known, mut second): (Option<Loop>, u32) = (None, self.next[start]);
        for _ in 0..MOST_TRIALS {
            if second == u32::MAX {
                break;
            }
            let period = second as usize - start;
            if start + LEAST_TRIPS * period > self.entries.len() {
                break;
            }
            match self.loop_of(start, period, known.is_none()) {
                Some(found) if found.has_tables => known = Some(found),
                Some(found) => return known.filter(|known| known.end() > found.end()).or(Some(found)),
                None => {}
            }
            second = self.next[second as usize];
        }
        known
    }

    /// The loop of this period that begins here.
    fn loop_of(&mut self, start: usize, period: usize, may_have_tables: bool) -> Option<Loop> {
        let has_tables = self.begins(start, period, may_have_tables)?;
        let loop_with = |has_tables: bool, trips: usize| Loop { start, period, trips, has_tables };
        let trips = if has_tables { LEAST_TRIPS } else { self.trips(start, period, LEAST_TRIPS, false) };
        if may_have_tables {
            let more = self.trips(start, period, trips, true);
            if (has_tables || more > trips) && more * period >= LEAST_WITH_TABLES {
                return Some(loop_with(true, more));
            }
        }
        (!has_tables && trips * period >= LEAST_ENTRIES).then(|| loop_with(false, trips))
    }

    /// Whether the first iterations of a loop need tables; `None` if there is no such loop.
    fn begins(&mut self, start: usize, period: usize, may_have_tables: bool) -> Option<bool> {
        if start < self.ends[period] as usize {
            return None;
        }
        self.moved.clear();
        let (entries, mut has_tables) = (self.entries, false);
        for at in start..start + period {
            // Go entry by entry through all of the first iterations at once: most stretches that are not loops fail within a few entries.
            let of_trip = |trip: usize| &entries[at + trip * period];
            let all_follow = |moved: (i64, i64), with_tables: bool| {
                (1..LEAST_TRIPS).all(|trip| follows(of_trip(trip - 1), of_trip(trip), moved, with_tables))
            };
            let Some(moved) = steps(of_trip(0), of_trip(1)).filter(|moved| all_follow(*moved, true)) else {
                self.ends[period] = at as u32 + 1;
                return None;
            };
            has_tables |= !all_follow(moved, false);
            let is_fine = |operand: Operand, step: i64| match operand.reads() {
                // An operand computed within its iteration must be computed within the next iteration as well.
                Reads::Entry(entry) if entry as usize >= start => step == period as i64,
                _ => true,
            };
            let is_loop = is_fine(entries[at].a, moved.0) && is_fine(entries[at].b, moved.1);
            if !is_loop || has_tables && !may_have_tables {
                return None;
            }
            self.moved.push(moved);
        }
        Some(has_tables)
    }

    /// How often the entries from `start` on repeat; at least `least` times is already known.
    fn trips(&self, start: usize, period: usize, least: usize, with_tables: bool) -> usize {
        let mut trips = least;
        while start + (trips + 1) * period <= self.entries.len() {
            let next = &self.entries[start + (trips - 1) * period..][..2 * period];
            let (before, now) = next.split_at(period);
            let mut entries = before.iter().zip(now).zip(&self.moved);
            if !entries.all(|((before, now), moved)| follows(before, now, *moved, with_tables)) {
                break;
            }
            trips += 1;
        }
        trips
    }
}

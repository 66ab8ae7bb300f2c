//! Loops that were unrolled by running are found again.
//!
//! A loop is a stretch of entries that repeats: the same operations, with operands that move on by the same distance from each time to
//! the next. Stretches of the smallest length are taken, from the front. Constants may differ from time to time, as those of data that a
//! function captured do: they are a table, where there are many. A loop without tables that covers as much is taken first.

use super::trace::{Entry, Operand, Reads, Trace, What};
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// A part of a trace.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// Entries from the first to before the second.
    Straight(usize, usize),
    /// Entries that repeat.
    Loop(Loop),
}

/// `trips` times `period` entries from `start` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loop {
    pub start: usize,
    pub period: usize,
    pub trips: usize,
    /// Whether constants may differ from trip to trip.
    pub has_tables: bool,
}

impl Loop {
    /// The number behind its last entry.
    pub fn end(self) -> usize {
        self.start + self.period * self.trips
    }

    /// The same, as many entries later as [`turn`] says.
    fn turned(self, entries: &[Entry]) -> Loop {
        let start = self.start + turn(entries, self.start, self.period);
        Loop { start, trips: (self.end() - start) / self.period, ..self }
    }
}

/// Entries that are compared at once to find where a stretch may begin again.
const GRAM: usize = 4;

/// Places that are tried for the second trip of a loop.
const MOST_TRIALS: usize = 64;

/// Fewer trips, or a loop of fewer entries in all, are no loop.
const LEAST_TRIPS: usize = 4;
const LEAST_ENTRIES: usize = 32;

/// With tables, a loop of fewer entries in all is none: what is short runs faster entry by entry.
const LEAST_WITH_TABLES: usize = 1024;

/// How far an operand is from another, if both are of one kind. Constants do not move.
fn step(from: Operand, to: Operand) -> Option<i64> {
    match (from.reads(), to.reads()) {
        (Reads::Entry(from), Reads::Entry(to)) | (Reads::Input(from), Reads::Input(to)) => {
            Some(i64::from(to) - i64::from(from))
        }
        (Reads::Constant(_), Reads::Constant(_)) => Some(0),
        _ => None,
    }
}

/// Whether operands are constants, and not the same.
fn differ(a: Operand, b: Operand) -> bool {
    a != b && matches!(a.reads(), Reads::Constant(_))
}

/// The blocks of a trace.
pub(super) fn roll(trace: &Trace) -> Vec<Block> {
    let (entries, next) = (&trace.entries, next_alike(&trace.entries));
    let [mut with_tables, mut without_tables] = [true, false].map(|has_tables| Search::new(entries, &next, has_tables));
    let (mut blocks, mut from, mut at) = (Vec::new(), 0, 0);
    while at < entries.len() {
        let found = match without_tables.loop_at(at) {
            Some(found) if !with_tables.goes_on(found) => Some(found),
            found => {
                with_tables.loop_at(at).filter(|with| found.is_none_or(|found| with.end() > found.end())).or(found)
            }
        };
        match found.map(|found| found.turned(entries)) {
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

/// Periods that are turned.
const LONGEST_TURNED: usize = 512;

/// How many entries later a loop should begin so that as few operands as possible are of the trip before: running begins where the first
/// trip is like the others, which may be in the middle of what was written.
fn turn(entries: &[Entry], start: usize, period: usize) -> usize {
    if period > LONGEST_TURNED {
        return 0;
    }
    // By how far an operand of each entry lies before it, if it moves on with the trips.
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

/// Places of what follows that are known at once. What shares one costs a trial.
const SEEN: usize = 1 << 16;

/// For every entry the next place where the same operations follow, more likely than not.
fn next_alike(entries: &[Entry]) -> Vec<u32> {
    let mut next = vec![u32::MAX; entries.len()];
    let mut seen = vec![u32::MAX; entries.len().next_power_of_two().min(SEEN)];
    let mut gram = 0u64;
    for at in (0..entries.len()).rev() {
        // The last entries, 16 bits each.
        gram = gram << (64 / GRAM) | mark(entries[at].what);
        let place = FxBuildHasher.hash_one(gram) as usize % seen.len();
        next[at] = std::mem::replace(&mut seen[place], at as u32);
    }
    next
}

/// A number for what an entry does, another one for most others.
fn mark(what: What) -> u64 {
    FxBuildHasher.hash_one(what) >> (64 - 64 / GRAM)
}

/// A search for loops, from the front.
struct Search<'t> {
    entries: &'t [Entry],
    next: &'t [u32],
    has_tables: bool,
    /// For every period the number behind an entry that does not repeat with it: no loop of that period begins before.
    ends: Vec<u32>,
}

impl<'t> Search<'t> {
    fn new(entries: &'t [Entry], next: &'t [u32], has_tables: bool) -> Search<'t> {
        Search { entries, next, has_tables, ends: vec![0; entries.len() / LEAST_TRIPS + 1] }
    }

    /// How far the operands of an entry moved, if it is the same operation.
    fn steps(&self, from: &Entry, to: &Entry) -> Option<(i64, i64)> {
        let is_other = from.what != to.what || !self.has_tables && (differ(from.a, to.a) || differ(from.b, to.b));
        if is_other {
            return None;
        }
        Some((step(from.a, to.a)?, step(from.b, to.b)?))
    }

    /// Whether a loop that begins here could have another trip.
    fn goes_on(&self, found: Loop) -> bool {
        let (period, end) = (found.period, found.end());
        let goes_on = |at: usize| self.steps(&self.entries[at - period], &self.entries[at]).is_some();
        end + period <= self.entries.len() && (end..end + period).all(goes_on)
    }

    /// The loop that begins here.
    fn loop_at(&mut self, start: usize) -> Option<Loop> {
        let mut second = self.next[start];
        for _ in 0..MOST_TRIALS {
            if second == u32::MAX {
                return None;
            }
            let period = second as usize - start;
            if start + LEAST_TRIPS * period > self.entries.len() {
                return None;
            }
            let trips = self.trips(start, period);
            if trips * period >= if self.has_tables { LEAST_WITH_TABLES } else { LEAST_ENTRIES } {
                return Some(Loop { start, period, trips, has_tables: self.has_tables });
            }
            second = self.next[second as usize];
        }
        None
    }

    /// How often the entries from `start` on repeat: the least number of trips or more, or none.
    fn trips(&mut self, start: usize, period: usize) -> usize {
        if start < self.ends[period] as usize {
            return 0;
        }
        let (entries, mut moved) = (self.entries, Vec::new());
        for at in start..start + period {
            let steps_in = |trip: usize| self.steps(&entries[at + trip * period], &entries[at + (trip + 1) * period]);
            // Entry by entry, and all of the least trips at once: what is no loop is seen at its first entries.
            let repeated = steps_in(0).filter(|first| (1..LEAST_TRIPS - 1).all(|trip| steps_in(trip) == Some(*first)));
            let Some(steps) = repeated else {
                self.ends[period] = at as u32 + 1;
                return 0;
            };
            let is_fine = |operand: Operand, step: i64| match operand.reads() {
                // What a trip computes itself, the next one computes itself as well.
                Reads::Entry(entry) if entry as usize >= start => step == period as i64,
                _ => true,
            };
            if !is_fine(entries[at].a, steps.0) || !is_fine(entries[at].b, steps.1) {
                return 0;
            }
            moved.push(steps);
        }
        let mut trips = LEAST_TRIPS;
        while start + (trips + 1) * period <= entries.len() {
            let last = start + (trips - 1) * period;
            let same = |at: usize| self.steps(&entries[last + at], &entries[last + period + at]) == Some(moved[at]);
            if !(0..period).all(same) {
                break;
            }
            trips += 1;
        }
        trips
    }
}

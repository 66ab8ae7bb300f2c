//! Reads back a recording.

use super::{CHUNKS, Failure, OnMisuse, Recording, Stop, Tape, WIDE};
use std::ops::Range;

/// One statement of a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statement<'r> {
    /// An input.
    Input,
    /// A computed number, with its arguments and the partial derivative with respect to each.
    Computed(&'r [u32], &'r [f64]),
    /// An output of an external function: its index, and the arguments of all outputs; 0 for constants.
    External(u32, &'r [u32]),
}

impl Recording {
    /// Visits statements in order, each with its number: those of a range that counts from 0 on. Nothing can be recorded meanwhile.
    ///
    /// ```
    /// use wengert_kernels::tape::{Statement, push1, record};
    /// let stop = |misuse, _: &_| panic!("{misuse}");
    /// record(|recording| {
    ///     let x = recording.input(stop);
    ///     push1(6.0, 2.0, x, stop);
    ///     let mut arguments = Vec::new();
    ///     recording.walk(0..2, stop, |_, statement| arguments.push(match statement {
    ///         Statement::Computed(arguments, _) => arguments.len(),
    ///         _ => 0,
    ///     }));
    ///     assert_eq!(arguments, [0, 1]);
    /// });
    /// ```
    #[track_caller]
    pub fn walk(&self, range: Range<usize>, stop: OnMisuse, mut see: impl FnMut(u32, Statement<'_>)) {
        let (tape, stop) = (Tape::here(), Stop::here(stop));
        let (mark, next) = (self.part.mark, tape.next.get());
        let from = mark.next as usize + range.start;
        let to = (next as usize).min(range.end.saturating_add(mark.next as usize));
        let seen = CHUNKS.with_borrow_mut(|chunks| {
            let externals = chunks.externals[mark.externals..].to_vec();
            let mut externals = externals.iter().peekable();
            let (opened, count) = (mark.chunks.saturating_sub(1), chunks.used.len());
            for number in opened..count {
                let is_last = number + 1 == count;
                let behind = if is_last { next } else { chunks.used[number].end };
                if behind as usize <= from || chunks.used[number].first as usize >= to {
                    continue;
                }
                let chunk = tape.load(chunks, number)?;
                let (mut at, first) =
                    if number + 1 == mark.chunks { (mark.argument, mark.next) } else { (0, chunk.first) };
                let (partials, arguments, counts) = chunk.pointers();
                let mut widths = chunk.widths.iter().skip_while(|(index, _)| *index < first);
                for index in first..behind.min(to as u32) {
                    while externals.next_if(|external| external.behind <= index).is_some() {}
                    // SAFETY: statements `first..behind` are in this chunk, so their counts are valid. Arguments are adjacent from `at` on,
                    // as many as were written or listed with each statement. Anything recorded meanwhile is written after them.
                    let statement = unsafe {
                        match *counts.add((index - chunk.first) as usize) {
                            0 => match externals.peek().filter(|external| external.first <= index) {
                                Some(external) => Statement::External(index - external.first, &external.inputs),
                                None => Statement::Input,
                            },
                            narrow => {
                                let width = match narrow {
                                    WIDE => widths.next().map_or(0, |(_, width)| *width),
                                    _ => usize::from(narrow),
                                };
                                at += width;
                                let slices = (arguments.add(at - width), partials.add(at - width));
                                Statement::Computed(
                                    std::slice::from_raw_parts(slices.0, width),
                                    std::slice::from_raw_parts(slices.1, width),
                                )
                            }
                        }
                    };
                    if index as usize >= from {
                        see(index, statement);
                    }
                }
            }
            Ok(())
        });
        seen.unwrap_or_else(|failure: Failure| stop.with(failure.into()));
    }
}

//! Memory shared by several tasks: each task owns its stripes, and may also read bytes that no task writes.

use super::{Memory, Region, Regions, Span};
use crate::threads::{Disjoint, for_each_tile};

/// Bytes that several tasks write: in every `period` bytes of the span, task 0 owns the first `each` bytes, task 1 the next.
///
/// ```
/// use wengert_kernels::memory::{Memory, Regions, Span, Stripes};
/// let (mut regions, mut rooms) = (Regions::default(), [Regions::default(), Regions::default()]);
/// let mut bytes = [0u8; 8];
/// let mut memory = Memory::new(&mut regions);
/// memory.write(&mut bytes);
/// let stripes = Stripes { span: Span { region: 0, start: 0, length: 8 }, period: 4, each: 2 };
/// memory.share(2, &[stripes], &mut rooms, &|task, memory, _| {
///     for start in [2 * task, 4 + 2 * task] {
///         let own = Span { region: 0, start, length: 2 };
///         memory.access(&[], &[own], |_, writes| writes[0].fill(task as u8 + 1));
///     }
/// });
/// drop(memory);
/// assert_eq!(bytes, [1, 1, 2, 2, 1, 1, 2, 2]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Stripes {
    /// The bytes of all tasks.
    pub span: Span,
    /// The distance from one stripe of a task to its next.
    pub period: usize,
    /// The bytes of one stripe.
    pub each: usize,
}

impl Stripes {
    /// Whether a span that overlaps the shared bytes lies within a single stripe of this task.
    fn has(&self, task: usize, span: &Span) -> bool {
        let Some(offset) = span.start.checked_sub(self.span.start) else { return false };
        let within = offset % self.period;
        let is_inside = offset + span.length <= self.span.length;
        is_inside && within >= task * self.each && within + span.length <= (task + 1) * self.each
    }
}

/// One task's share of the memory.
#[derive(Clone, Copy)]
pub(super) struct Share<'a> {
    task: usize,
    stripes: &'a [Stripes],
}

impl Share<'_> {
    /// Panics if another task may write these bytes, or if they are written and belong to no stripe.
    pub(super) fn expect(&self, span: &Span, is_written: bool) {
        let mut shared = self.stripes.iter().filter(|stripes| stripes.span.overlaps(span)).peekable();
        let belongs = span.length == 0 || shared.peek().is_some();
        assert!(belongs || !is_written, "{span:?} is written by several tasks");
        let own = shared.all(|stripes| stripes.has(self.task, span));
        assert!(own, "{span:?} is not in the stripes of task {}", self.task);
    }
}

/// The regions of a call, shared by all its tasks.
struct Shared<'a>(&'a [Region]);

// SAFETY: tasks use the pointers only through `Memory::start_of`, which calls `Share::expect`: a task writes only its own stripes, and
// reads only its own stripes or bytes in no stripe. Stripes do not overlap, as `share` asserts.
unsafe impl Sync for Shared<'_> {}

impl Memory<'_> {
    /// Calls `f` for each of `count` tasks, on several threads, with the same regions. A task writes its own stripes, and reads them and
    /// any bytes in no stripe. `rooms` are divided evenly: one holds the regions of each task, the others are for its nested memories.
    /// Panics if stripes overlap, if a task accesses bytes that are not its own, and as [`access`](Memory::access) does.
    pub fn share(
        &mut self,
        count: usize,
        stripes: &[Stripes],
        rooms: &mut [Regions],
        f: &(dyn Fn(usize, &mut Memory<'_>, &mut [Regions]) + Sync),
    ) {
        assert!(self.share.is_none(), "memory that is shared is not shared again");
        for (number, Stripes { span, period, each }) in stripes.iter().enumerate() {
            let fits = each.checked_mul(count).is_some_and(|all| all <= *period);
            assert!(fits && *period > 0, "{count} stripes of {each} bytes do not fit in {period}");
            let alone = stripes[..number].iter().all(|other| !other.span.overlaps(span));
            assert!(alone, "stripes overlap");
        }
        let own = rooms.len() / count;
        assert!(own > 0, "a task has room for its regions");
        let (regions, rooms) = (Shared(self.regions), Disjoint::new(rooms));
        for_each_tile(count, &|task| {
            let Shared(regions) = &regions;
            // SAFETY: each task runs once, and task `t` has the rooms from `t * own` to `(t + 1) * own`.
            let (first, rest) =
                unsafe { rooms.range(task * own, own) }.split_first_mut().expect("room for its regions");
            let mut memory = Memory::new(first);
            memory.regions.extend_from_slice(regions);
            memory.share = Some(Share { task, stripes });
            f(task, &mut memory, rest);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn span(start: usize, length: usize) -> Span {
        Span { region: 0, start, length }
    }

    /// Whether task 1 of 2 may use a span of 16 bytes in which the first 12 have stripes of 2 bytes every 6.
    fn may(used: Span, is_written: bool) -> bool {
        let (mut regions, mut bytes) = (Regions::default(), [0u8; 16]);
        let mut rooms = [Regions::default(), Regions::default()];
        let mut memory = Memory::new(&mut regions);
        memory.write(&mut bytes);
        let stripes = [Stripes { span: span(0, 12), period: 6, each: 2 }];
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            memory.share(2, &stripes, &mut rooms, &|task, memory, _| {
                if task == 1 {
                    let (reads, writes) = if is_written { (vec![], vec![used]) } else { (vec![used], vec![]) };
                    memory.access(&reads, &writes, |_, _| ());
                }
            });
        }));
        outcome.is_ok()
    }

    #[test]
    fn a_task_has_its_stripes_and_reads_what_nobody_writes() {
        for own in [span(2, 2), span(3, 1), span(8, 2), span(9, 0)] {
            assert!(may(own, true) && may(own, false), "{own:?}");
        }
        for stranger in [span(0, 2), span(1, 2), span(3, 2), span(4, 1), span(2, 8), span(6, 2), span(10, 4)] {
            assert!(!may(stranger, true) && !may(stranger, false), "{stranger:?}");
        }
        assert!(may(span(12, 4), false) && !may(span(12, 4), true), "nobody writes the rest");
    }

    #[test]
    #[should_panic(expected = "stripes overlap")]
    fn stripes_of_two_kinds_lie_apart() {
        let (mut regions, mut bytes) = (Regions::default(), [0u8; 16]);
        let mut memory = Memory::new(&mut regions);
        memory.write(&mut bytes);
        let stripes = |start| Stripes { span: span(start, 8), period: 8, each: 4 };
        let mut rooms = [Regions::default(), Regions::default()];
        memory.share(2, &[stripes(0), stripes(4)], &mut rooms, &|_, _, _| ());
    }

    #[test]
    #[should_panic(expected = "do not fit")]
    fn stripes_fit_in_their_period() {
        let mut regions = Regions::default();
        let stripes = Stripes { span: span(0, 8), period: 8, each: 5 };
        let mut rooms = [Regions::default(), Regions::default()];
        Memory::new(&mut regions).share(2, &[stripes], &mut rooms, &|_, _, _| ());
    }
}

//! Statements without arguments: the inputs, whose adjoints are the result of a sweep.

use super::{Adjoint, Adjoints, CHUNKS, OnMisuse, Place, Recording, Stop, Stretch, Tape};
use std::panic::Location;

/// A run of consecutive inputs.
#[derive(Clone, Copy, Debug)]
pub struct Inputs {
    stretch: Stretch,
    first: u32,
    behind: u32,
}

impl Inputs {
    /// Their places, in order.
    #[inline]
    pub fn places(self) -> impl DoubleEndedIterator<Item = Place> {
        (self.first..self.behind).map(move |index| self.stretch.place(index))
    }
}

impl Recording {
    /// A statement without arguments. No other recording may [run inside](Recording::expect_running).
    #[inline]
    #[track_caller]
    pub fn input(&self, stop: OnMisuse) -> Place {
        let inputs = self.inputs(1, stop);
        inputs.stretch.place(inputs.first)
    }

    /// Statements without arguments, one after the other. No other recording may [run inside](Recording::expect_running).
    ///
    /// ```
    /// use wengert_kernels::tape::{Adjoints, push_wide, record};
    /// let stop = |misuse, _: &_| panic!("{misuse}");
    /// let mut adjoints = Adjoints::<f64>::default();
    /// record(|recording| {
    ///     let x = recording.inputs(3, stop);
    ///     let y = push_wide(0.0, 3, x.places().enumerate().map(|(k, x)| (k as f64, x)), stop);
    ///     adjoints.add(y, &2.0, stop);
    ///     adjoints.sweep(recording.start(), stop);
    ///     let mut slopes = [0.0; 3];
    ///     adjoints.read(x, &mut slopes, stop);
    ///     assert_eq!(slopes, [0.0, 2.0, 4.0]);
    /// });
    /// ```
    #[inline]
    #[track_caller]
    pub fn inputs(&self, count: usize, stop: OnMisuse) -> Inputs {
        self.inputs_at(count, stop, Location::caller())
    }

    /// The same, with the line of an outer caller, for use inside closures whose own line would not help the user.
    #[inline]
    pub fn inputs_at(&self, count: usize, stop: OnMisuse, line: &'static Location<'static>) -> Inputs {
        let (tape, stop) = (Tape::here(), Stop::at(stop, line));
        let (start, (mut first, behind)) = (tape.next.get(), tape.inputs.get());
        if start != behind {
            tape.list_inputs((first, behind));
            tape.inputs.set((start, start));
            first = start;
        }
        let mut left = count;
        while left > 0 {
            let next = tape.next.get();
            if next == tape.end.get() {
                tape.prepare(&[], (0.0, &[]), stop);
            }
            let some = left.min((tape.end.get() - next) as usize);
            let counts = tape.counts.get().wrapping_add(next as usize);
            // SAFETY: `some <= end - next`, and the chunk has counts up to statement `end` (`narrow`); `counts` is addressed from statement
            // 0 on.
            unsafe {
                match some {
                    1 => counts.write(0),
                    _ => counts.write_bytes(0, some),
                }
            }
            tape.next.set(next + some as u32);
            tape.inputs.set((first, next + some as u32));
            left -= some;
        }
        Inputs { stretch: tape.stretch.get(), first: start, behind: tape.next.get() }
    }

    /// Zeroes the adjoints of statements without arguments; all others are zero after a sweep.
    pub fn clear<A: Adjoint>(&self, adjoints: &mut Adjoints<A>) {
        let tape = Tape::here();
        adjoints.zero(tape.inputs.get());
        let runs = self.part.mark.runs;
        if tape.runs.get() > runs {
            CHUNKS.with_borrow(|chunks| chunks.inputs[runs..].iter().for_each(|run| adjoints.zero(*run)));
        }
    }
}

impl<A: Adjoint> Adjoints<A> {
    /// Copies the adjoints of inputs, in order, to `to`, which has room for as many.
    #[track_caller]
    pub fn read(&mut self, inputs: Inputs, to: &mut [A], stop: OnMisuse) {
        let Some(last) = inputs.places().next_back() else { return };
        // All are there if the last one is.
        self.of(last, stop);
        if Tape::here().limits.get() == 0 {
            return to.copy_from_slice(&self.values[inputs.first as usize..inputs.behind as usize]);
        }
        let stop = Stop::here(stop);
        for (index, to) in (inputs.first..inputs.behind).zip(to) {
            *to = self.edit(index, stop, |adjoint| *adjoint);
        }
    }
}

impl Tape {
    /// Lists the current run of inputs, if it is not empty.
    #[cold]
    fn list_inputs(&self, (first, behind): (u32, u32)) {
        if first != behind {
            CHUNKS.with_borrow_mut(|chunks| chunks.inputs.push((first, behind)));
            self.runs.set(self.runs.get() + 1);
        }
    }
}

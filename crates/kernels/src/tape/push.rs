//! Statements, written at the bump pointer.

use super::{CHUNKS, OnMisuse, Place, Stop, Stretch, Tape, WIDE};

// In unoptimised programs, a call to this crate's optimised code is both smaller and faster than an inlined copy at each call site.

/// Records a statement with one argument; if it is a constant, nothing is recorded. The value is not stored.
#[track_caller]
#[cfg_attr(not(debug_assertions), inline(always))]
#[cfg_attr(debug_assertions, inline(never))]
pub fn push1(value: f64, partial: f64, x: Place, stop: OnMisuse) -> Place {
    if !x.is_active() {
        return Place::NONE;
    }
    let tape = Tape::here();
    let index = tape.next.get();
    if !tape.is_ready(index, [x]) {
        tape.prepare(&[x], (value, &[partial]), Stop::here(stop));
    }
    let at = tape.argument.get();
    // SAFETY: `is_ready` found `next != end`, or `prepare` ensured it: every statement before `end` has room for two arguments from
    // `argument` on in the current chunk (`narrow`).
    unsafe {
        tape.partials.get().add(at).write(partial);
        tape.arguments.get().add(at).write(x.index());
    }
    tape.close(index, at, 1)
}

/// Records a statement with two arguments, omitting constants.
#[track_caller]
#[cfg_attr(not(debug_assertions), inline(always))]
#[cfg_attr(debug_assertions, inline(never))]
pub fn push2(value: f64, partials: [f64; 2], [x, y]: [Place; 2], stop: OnMisuse) -> Place {
    if !y.is_active() {
        return push1(value, partials[0], x, stop);
    }
    if !x.is_active() {
        return push1(value, partials[1], y, stop);
    }
    // A square: one argument less to write, and to wait for in the sweep. (An infinite adjoint of x - x gives NaN, as everywhere.)
    let both = partials[0] + partials[1];
    if x == y && both != 0.0 {
        return push1(value, both, x, stop);
    }
    let tape = Tape::here();
    let index = tape.next.get();
    if !tape.is_ready(index, [x, y]) {
        // A copy: `partials` itself is never addressed, and stays in registers.
        tape.prepare(&[x, y], (value, &[partials[0], partials[1]]), Stop::here(stop));
    }
    let at = tape.argument.get();
    // SAFETY: as in `push1`, there is room for this statement with two arguments from `at` on.
    unsafe {
        tape.partials.get().add(at).cast::<[f64; 2]>().write_unaligned(partials);
        tape.arguments.get().add(at).cast::<[u32; 2]>().write_unaligned([x.index(), y.index()]);
    }
    tape.close(index, at, 2)
}

/// Records a statement with three arguments, omitting constants.
#[track_caller]
#[inline]
pub fn push3(value: f64, partials: [f64; 3], places: [Place; 3], stop: OnMisuse) -> Place {
    let ([by_x, by_y, by_z], [x, y, z]) = (partials, places);
    match (x.is_active(), y.is_active(), z.is_active()) {
        (false, _, _) => return push2(value, [by_y, by_z], [y, z], stop),
        (_, false, _) => return push2(value, [by_x, by_z], [x, z], stop),
        (_, _, false) => return push2(value, [by_x, by_y], [x, y], stop),
        _ => {}
    }
    let tape = Tape::here();
    let index = tape.next.get();
    let is_own = tape.is_own(x, index) & tape.is_own(y, index) & tape.is_own(z, index);
    if !is_own | (tape.end.get() - index < 2) {
        tape.prepare(&[x, y, z], (value, &[by_x, by_y, by_z]), Stop::here(stop));
    }
    let at = tape.argument.get();
    // SAFETY: `end - next >= 2`, as was found or `prepare` ensured: there is room for two statements with two arguments each from `at` on.
    // This one uses three of the four, and `end` is one less from now on.
    unsafe {
        tape.partials.get().add(at).cast::<[f64; 3]>().write_unaligned(partials);
        tape.arguments.get().add(at).cast::<[u32; 3]>().write_unaligned(places.map(|place| place.index()));
    }
    tape.end.set(tape.end.get() - 1);
    tape.close(index, at, 3)
}

/// Records a statement with any number of arguments, at most `most`, written as they arrive; constants are omitted. The callback that
/// supplies them must not record.
///
/// ```
/// use wengert_kernels::tape::{Adjoints, push_wide, record};
/// let stop = |misuse, _: &_| panic!("{misuse}");
/// let mut adjoints = Adjoints::<f64>::default();
/// let slopes = record(|recording| {
///     let x = [(); 5].map(|()| recording.input(stop));
///     let y = push_wide(0.0, 5, x.iter().enumerate().map(|(k, x)| (k as f64, *x)), stop);
///     adjoints.add(y, &2.0, stop);
///     adjoints.sweep(recording.start(), stop);
///     x.map(|x| adjoints.of(x, stop))
/// });
/// assert_eq!(slopes, [0.0, 2.0, 4.0, 6.0, 8.0]);
/// ```
#[track_caller]
pub fn push_wide(value: f64, most: usize, arguments: impl IntoIterator<Item = (f64, Place)>, stop: OnMisuse) -> Place {
    let (tape, stop) = (Tape::here(), Stop::here(stop));
    let mut arguments = arguments.into_iter().filter(|(_, place)| place.is_active());
    let Some(head) = arguments.next() else {
        return Place::NONE;
    };
    tape.expect_no_writing();
    let index = tape.reserve_wide(most, stop);
    let first = tape.argument.get();
    let mut count = 0;
    let writing = Writing::begin(tape);
    for (partial, place) in std::iter::once(head).chain(arguments).take(most) {
        if !writing.stretches.iter().any(|stretch| stretch.has(place, index)) {
            tape.expect_other(place, stop);
        }
        // SAFETY: `reserve_wide` made room for `most` arguments from `first` on, and `take` yields no more. The callback that supplies the
        // arguments cannot record (`Writing`), so the pointers and `first` do not change.
        unsafe {
            tape.partials.get().add(first + count).write(partial);
            tape.arguments.get().add(first + count).write(place.index());
        }
        count += 1;
    }
    drop(writing);
    // SAFETY: the loop has written `count` partial derivatives from `first` on, in the current chunk.
    tape.inspect(value, unsafe { std::slice::from_raw_parts(tape.partials.get().add(first), count) }, stop);
    if count >= usize::from(WIDE) {
        tape.wide.set(tape.wide.get() + 1);
        CHUNKS.with_borrow_mut(|chunks| chunks.used.last_mut().expect("it is open").widths.push((index, count)));
    }
    let place = tape.close(index, first, count.min(usize::from(WIDE)) as u8);
    tape.argument.set(first + count);
    tape.narrow();
    place
}

/// While arguments are written, or the user is told how far a recording is, every place is treated as foreign and there is no room, so any
/// attempt to record takes the cold path, which refuses it.
pub(super) struct Writing {
    tape: &'static Tape,
    stretches: [Stretch; 2],
    end: u32,
}

impl Writing {
    pub fn begin(tape: &'static Tape) -> Writing {
        tape.writes.set(true);
        let stretches = [&tape.stretch, &tape.around].map(|stretch| stretch.replace(Stretch::NONE));
        Writing { tape, stretches, end: tape.end.replace(tape.next.get()) }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.tape.writes.set(false);
        self.tape.stretch.set(self.stretches[0]);
        self.tape.around.set(self.stretches[1]);
        self.tape.end.set(self.end);
    }
}

//! Checks every statement as it is recorded.
//!
//! While checks are on, no statement finds room, so each one takes the slow path that makes room, and is checked there. When checks are
//! off, they cost nothing.

use super::{Misuse, Stop, Tape};

/// Checks every statement that `f` records on this thread. The first whose value or partial derivative is NaN or infinite is a
/// [`Misuse::NotFinite`], with its line.
///
/// ```
/// use wengert_kernels::tape::{Misuse, checked, push1, record};
/// let root = |x: f64| record(|recording| {
///     let input = recording.input(|misuse, _| panic!("{misuse}"));
///     push1(x.sqrt(), 0.5 / x.sqrt(), input, |misuse, _| panic!("{misuse}"));
/// });
/// checked(|| root(4.0));
/// assert!(std::panic::catch_unwind(|| checked(|| root(0.0))).is_err());
/// ```
pub fn checked<R>(f: impl FnOnce() -> R) -> R {
    /// Turns checks off again, unless they were already on, even if `f` panics.
    struct Ending(bool);
    impl Drop for Ending {
        fn drop(&mut self) {
            Tape::here().look(self.0);
        }
    }
    let _ending = Ending(is_checked());
    Tape::here().look(true);
    f()
}

/// Whether statements of this thread are checked.
pub fn is_checked() -> bool {
    Tape::here().checks.get()
}

impl Tape {
    fn look(&self, checks: bool) {
        let room = self.room();
        self.checks.set(checks);
        self.set_room(room);
    }

    /// The first statement number that has no room in the chunk, whether or not checks are on.
    pub(super) fn room(&self) -> u32 {
        if self.checks.get() { self.room.get() } else { self.end.get() }
    }

    pub(super) fn set_room(&self, end: u32) {
        self.room.set(end);
        self.end.set(if self.checks.get() { self.next.get() } else { end });
    }

    /// Does not return if checks are on and a statement is not finite.
    pub(super) fn inspect(&self, value: f64, partials: &[f64], stop: Stop) {
        if self.checks.get() {
            let partial = partials.iter().copied().find(|partial| !partial.is_finite());
            if !value.is_finite() || partial.is_some() {
                stop.with(Misuse::NotFinite { value, partial });
            }
        }
    }
}

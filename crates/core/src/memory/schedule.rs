//! Schedules: which states of a loop are kept for its gradient, and in which order the others are computed again.
//!
//! The gradient visits the states of a loop of n steps from the last to the first. With s snapshots, the first state among them, the
//! fewest steps that have to be taken forward besides the one that is differentiated each time are
//!
//! `t(1, s) = 0`, `t(n, 1) = n (n - 1) / 2`, `t(n, s) = min over m of m + t(n - m, s - 1) + t(m, s)`.
//!
//! Griewank and Walther give the solution in closed form. Let `b(s, r) = (s + r)! / s! r!`, the number of steps that can be reversed if none
//! is taken forward more than r times. With the smallest r such that `n <= b(s, r)`, `t(n, s) = r n - b(s + 1, r - 1)`; see [`split`] for m.

use crate::{Error, ErrorKind};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// How the gradient of a loop gets back to the states that it needs: which it keeps, and which it computes again.
///
/// ```
/// use wengert::{Schedule, prelude::*};
/// let logistic = |_: &Tensor, x: &Tensor| x * 2.5 * (1.0 - x);
/// let after = |schedule: Schedule| {
///     let last = move |x: &Tensor| fori_with(1000, logistic, x, &schedule);
///     grad(last)(&Tensor::from(0.3))
/// };
/// // A thousand states, or ten.
/// assert!(after(Schedule::All).all_close(&after(Schedule::Binomial { snapshots: 10 }), 1e-12));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// Keeps what every step saves, and computes nothing again.
    #[default]
    All,
    /// Keeps this many states, at the positions that need the fewest steps forward. If the number of steps is not known before the loop
    /// ends, it keeps states like `Online`.
    Binomial {
        /// The number of states kept, the first one included.
        snapshots: usize,
    },
    /// Keeps this many states without knowing how many steps will follow, and moves them as the loop goes on. The gradient takes less than
    /// 1.5 times as many steps forward as with `Binomial`, and usually less than 1.1 times.
    Online {
        /// The number of states kept, the first one included.
        snapshots: usize,
    },
    /// Keeps this many states in memory and as many in files of a folder. A process that is stopped in the middle can be started again: the
    /// same loop on the same values in the same folder goes on from its files.
    Disk {
        /// The number of states kept in memory, and in files.
        snapshots: usize,
        /// Where the files are written; it is created if it does not exist.
        folder: PathBuf,
    },
}

impl Schedule {
    /// How many times the body of a loop runs beyond the one run per step that is differentiated, for a number of steps that is known
    /// before. One more is needed if the last state is asked for before the gradient.
    ///
    /// ```
    /// use wengert::{Schedule, prelude::*};
    /// assert_eq!(Schedule::Binomial { snapshots: 3 }.advances(10), 15);
    /// assert_eq!(Schedule::Binomial { snapshots: 50 }.advances(1_000_000), 4_658_945);
    /// ```
    ///
    /// # Panics
    /// If it keeps no state.
    #[track_caller]
    pub fn advances(&self, steps: usize) -> u128 {
        if let Err(error) = self.snapshots("advances") {
            error.raise();
        }
        match self {
            Schedule::All => 0,
            Schedule::Binomial { snapshots } => fewest(steps, *snapshots),
            Schedule::Online { snapshots } => {
                let mut kept = Snapshots::online(*snapshots);
                (0..steps).for_each(|step| kept.offer(step, || ()));
                kept.advances(steps)
            }
            Schedule::Disk { snapshots, .. } => {
                let (mut sum, mut at) = (0, 0);
                while at < steps {
                    let part = part(at, steps, *snapshots);
                    sum += fewest(part.len(), *snapshots);
                    // The forward sweep through the last part is the first one of its reversal.
                    sum += if part.end < steps { part.len() as u128 } else { 0 };
                    at = part.end;
                }
                sum
            }
        }
    }

    /// Checks the arguments, in the name of `operation`, before anything runs.
    #[doc(hidden)]
    pub fn check(&self, operation: &str) -> Result<(), Error> {
        self.snapshots(operation)?;
        let Schedule::Disk { folder, .. } = self else { return Ok(()) };
        let wrong = |kind: ErrorKind, message: String| {
            Err(Error::new(kind, operation, message).help("name a folder that can be written"))
        };
        if folder.as_os_str().is_empty() {
            return wrong(ErrorKind::Argument, "the folder for snapshots has no name".into());
        }
        static TRIALS: AtomicU64 = AtomicU64::new(0);
        let number = TRIALS.fetch_add(1, Ordering::Relaxed);
        let trial = folder.join(format!(".trial-{}-{number}", std::process::id()));
        let tried = std::fs::create_dir_all(folder).and_then(|()| {
            let written = std::fs::write(&trial, b"trial");
            let removed = std::fs::remove_file(&trial);
            written.and(removed)
        });
        let Err(error) = tried else { return Ok(()) };
        // A full disk is nothing that the caller could have known.
        let kind = if error.kind() == std::io::ErrorKind::StorageFull { ErrorKind::File } else { ErrorKind::Argument };
        wrong(kind, format!("the folder '{}' for snapshots cannot be written: {error}", folder.display()))
    }

    /// The number of states in memory, which is not 0; `None` for all.
    fn snapshots(&self, operation: &str) -> Result<Option<usize>, Error> {
        match self {
            Schedule::All => Ok(None),
            Schedule::Binomial { snapshots } | Schedule::Online { snapshots } | Schedule::Disk { snapshots, .. } => {
                let message = "a schedule needs at least one snapshot, got 0";
                let refused =
                    || Error::new(ErrorKind::Argument, operation, message).help("the first state counts as one");
                if *snapshots == 0 { Err(refused()) } else { Ok(Some(*snapshots)) }
            }
        }
    }
}

/// The smallest r such that `steps <= b(snapshots, r)`, and `b(snapshots, r - 1)`.
fn repetitions(steps: u128, snapshots: u128) -> (u128, u128) {
    if snapshots == 1 {
        // b(1, r) = r + 1.
        return (steps.saturating_sub(1), steps.saturating_sub(1));
    }
    let (mut r, mut before, mut reach) = (0, 0, 1);
    while reach < steps {
        r += 1;
        (before, reach) = (reach, reach * (snapshots + r) / r);
    }
    (r, before)
}

/// `t(steps, snapshots)`.
fn fewest(steps: usize, snapshots: usize) -> u128 {
    let (steps, snapshots) = (steps as u128, snapshots as u128);
    if steps < 2 {
        return 0;
    }
    let (r, before) = repetitions(steps, snapshots);
    // b(s + 1, r - 1) = b(s, r - 1) (s + r) / (s + 1).
    r * steps - before * (snapshots + r) / (snapshots + 1)
}

/// The m of the recurrence, for at least two steps and two snapshots: where the next state is kept.
fn split(steps: usize, snapshots: usize) -> usize {
    let s = snapshots as u128;
    let (r, before) = repetitions(steps as u128, s);
    // The part after the next snapshot has at most b(s - 1, r) steps, the part before it at most b(s, r - 1), and neither has so few that
    // its own steps are repeated less often than r - 1 times: b(s - 1, r - 1) = b(s, r - 1) s / (s + r - 1).
    let least_rest = before * s / (s + r - 1);
    before.min(steps as u128 - least_rest.min(steps as u128 - 1)) as usize
}

/// The part of a loop that a step is in: as many parts of equal length as there are snapshots, each of which starts with a state in a file.
#[doc(hidden)]
pub fn part(step: usize, steps: usize, snapshots: usize) -> Range<usize> {
    let length = steps.div_ceil(snapshots).max(1);
    let start = step / length * length;
    start..steps.min(start + length)
}

/// Which states the forward sweep keeps.
enum Choice {
    /// The number of steps is known: the next state to keep.
    Known { end: usize, next: usize },
    /// It is not. Every state has a level; a state is replaced if a later one has a higher level. If there is none, the latest state makes
    /// way for one of the next level. So distances between states grow with the loop.
    Unknown { levels: Vec<usize> },
}

/// The kept states of a loop, oldest first, the state before the first step among them.
pub struct Snapshots<S> {
    most: usize,
    kept: Vec<(usize, S)>,
    choice: Choice,
}

impl<S> Snapshots<S> {
    /// At most `most` states of the steps before `end`.
    pub fn until(end: usize, most: usize) -> Snapshots<S> {
        Snapshots { most, kept: Vec::new(), choice: Choice::Known { end, next: 0 } }
    }

    /// At most `most` states of a loop of unknown length.
    pub fn online(most: usize) -> Snapshots<S> {
        Snapshots { most, kept: Vec::new(), choice: Choice::Unknown { levels: Vec::new() } }
    }

    /// States that were kept before, oldest first.
    pub fn of(kept: Vec<(usize, S)>, most: usize) -> Snapshots<S> {
        Snapshots { most, kept, choice: Choice::Known { end: 0, next: usize::MAX } }
    }

    /// The step of the first state that is kept.
    pub fn first(&self) -> Option<usize> {
        self.kept.first().map(|(step, _)| *step)
    }

    /// The number of states kept now.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether no state is kept.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Oldest first, with the numbers of their steps.
    pub fn into_kept(self) -> Vec<(usize, S)> {
        self.kept
    }

    /// Keeps the state before a step, if the schedule wants it; the first step that is offered starts the loop.
    pub fn offer(&mut self, step: usize, state: impl FnOnce() -> S) {
        match &mut self.choice {
            Choice::Known { end, next } => {
                if !self.kept.is_empty() && step != *next {
                    return;
                }
                self.kept.push((step, state()));
                let (left, room) = (*end - step, self.most - self.kept.len());
                *next = if left > 1 && room > 0 { step + split(left, room + 1) } else { usize::MAX };
            }
            Choice::Unknown { levels } => {
                let mut level = 0;
                if levels.is_empty() {
                    level = usize::MAX;
                } else if levels.len() == self.most {
                    match (1..levels.len() - 1).rev().find(|&place| levels[place] < levels[place + 1]) {
                        Some(place) => {
                            levels.remove(place);
                            self.kept.remove(place);
                        }
                        None if levels.len() == 1 => return,
                        None => {
                            level = levels.pop().expect("there are several") + 1;
                            self.kept.pop();
                        }
                    }
                }
                levels.push(level);
                self.kept.push((step, state()));
            }
        }
    }

    /// Keeps the state before the last step, which the gradient visits first, beside the others.
    pub fn keep_last(&mut self, step: usize, state: S) {
        if self.kept.last().is_none_or(|(at, _)| *at < step) {
            self.kept.push((step, state));
        }
    }

    /// The steps taken forward in all, if the loop has this many: up to the last one, and again between kept states.
    fn advances(&self, steps: usize) -> u128 {
        let ends = self.kept.iter().skip(1).map(|(step, _)| *step).chain([steps]);
        let parts = self.kept.iter().zip(ends).enumerate();
        let again = parts.map(|(number, ((start, _), end))| fewest(end - start, self.most - number));
        // The first way through the steps after the last kept state is that of the forward sweep.
        let last = self.kept.last().map_or(0, |(step, _)| *step);
        last as u128 + again.sum::<u128>()
    }
}

impl<S: Clone> Snapshots<S> {
    /// Calls `back` with the states before the steps `end - 1`, `end - 2`, .. down to the oldest kept. States in between are computed by
    /// `forward` from the number of a step to that of a later one.
    pub fn take_back(
        mut self,
        end: usize,
        mut forward: impl FnMut(S, Range<usize>) -> Result<S, Error>,
        mut back: impl FnMut(S, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let first = self.kept.first().map_or(end, |(step, _)| *step);
        for step in (first..end).rev() {
            let (mut at, mut state) = self.kept.pop().expect("the first state is kept");
            if at < step {
                self.kept.push((at, state.clone()));
            }
            while at < step {
                let room = self.most.saturating_sub(self.kept.len());
                let next = if room == 0 { step } else { at + split(step + 1 - at, room + 1) };
                state = forward(state, at..next)?;
                at = next;
                if at < step {
                    self.kept.push((at, state.clone()));
                }
            }
            back(state, step)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a loop of numbers forward to its end, then back. Returns the steps taken forward, without those that are differentiated.
    fn run(steps: usize, mut kept: Snapshots<usize>) -> u128 {
        let most = kept.most;
        for step in 0..steps {
            kept.offer(step, || step);
            assert!(kept.len() <= most);
        }
        if steps > 0 {
            kept.keep_last(steps - 1, steps - 1);
        }
        let (mut taken, mut expected) = (steps as u128, steps);
        let forward = |state: usize, range: Range<usize>| {
            assert_eq!(state, range.start);
            taken += range.len() as u128;
            Ok(range.end)
        };
        let back = |state: usize, step: usize| {
            expected -= 1;
            assert_eq!((state, step), (expected, expected));
            Ok(())
        };
        kept.take_back(steps, forward, back).unwrap();
        assert_eq!(expected, 0);
        taken
    }

    /// t(l, s) by the recurrence alone.
    fn table(steps: usize, snapshots: usize) -> Vec<Vec<u128>> {
        let mut t = vec![vec![0u128; snapshots + 1]; steps + 1];
        for l in 2..=steps {
            t[l][1] = (l * (l - 1) / 2) as u128;
            for s in 2..=snapshots {
                t[l][s] = (1..l).map(|m| m as u128 + t[l - m][s - 1] + t[m][s]).min().expect("l is at least 2");
            }
        }
        t
    }

    #[test]
    fn every_short_loop_takes_as_few_steps_as_the_recurrence_allows() {
        for (steps, row) in table(199, 11).into_iter().enumerate().skip(1) {
            for (snapshots, least) in row.into_iter().enumerate().skip(1) {
                assert_eq!(fewest(steps, snapshots), least, "{steps} steps, {snapshots} snapshots");
                // The last step is taken once to get its result, and once to be differentiated.
                assert_eq!(run(steps, Snapshots::until(steps, snapshots)), least + 1, "{steps}, {snapshots}");
            }
        }
        assert_eq!(run(0, Snapshots::until(0, 3)), 0);
    }

    #[test]
    fn long_loops_take_the_steps_of_the_closed_form() {
        for (steps, snapshots, least) in
            [(10, 3, 15), (56, 5, 140), (100, 10, 222), (1000, 10, 3636), (10_000, 50, 28_622)]
        {
            assert_eq!(
                run(steps, Snapshots::until(steps, snapshots)),
                least + 1,
                "{steps} steps, {snapshots} snapshots"
            );
        }
        assert_eq!(fewest(1_000_000, 50), 4_658_945);
        assert_eq!(fewest(1_000_000, 1), 499_999_500_000);
    }

    #[test]
    fn loops_of_unknown_length_take_at_most_half_as_many_steps_again() {
        for snapshots in [1, 2, 3, 5, 10, 32] {
            let mut kept = Snapshots::online(snapshots);
            for steps in 1..1500 {
                kept.offer(steps - 1, || ());
                assert!(
                    2 * kept.advances(steps) <= 3 * (fewest(steps, snapshots) + 1),
                    "{steps} steps, {snapshots} snapshots"
                );
            }
        }
        for (steps, snapshots) in [(1, 1), (2, 1), (9, 1), (40, 3), (200, 5), (777, 10)] {
            let schedule = Schedule::Online { snapshots };
            let taken = run(steps, Snapshots::online(snapshots));
            assert_eq!(taken, schedule.advances(steps) + 1, "{steps} steps, {snapshots} snapshots");
        }
    }

    #[test]
    fn arguments_are_checked() {
        let folder = || std::env::temp_dir();
        for schedule in [
            Schedule::Binomial { snapshots: 0 },
            Schedule::Online { snapshots: 0 },
            Schedule::Disk { snapshots: 0, folder: folder() },
            Schedule::Disk { snapshots: 3, folder: PathBuf::new() },
            Schedule::Disk { snapshots: 3, folder: "/dev/null/here".into() },
        ] {
            assert_eq!(schedule.check("scan").unwrap_err().kind(), &ErrorKind::Argument, "{schedule:?}");
        }
        Schedule::Disk { snapshots: 3, folder: folder() }.check("scan").unwrap();
        Schedule::All.check("scan").unwrap();
    }
}

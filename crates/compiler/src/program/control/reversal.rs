//! Visits the states of a loop in reverse, from a bounded number of checkpoints.

use crate::Error;

/// Calls `back` with the states before the last step, before the one before it, and so on down to `start`. Each state is recomputed from
/// one of at most `most` checkpoints, by `forward` with a number of steps.
pub(crate) fn take_back<S: Clone>(
    steps: usize,
    start: S,
    most: usize,
    mut forward: impl FnMut(&mut S, usize) -> Result<(), Error>,
    mut back: impl FnMut(&S) -> Result<(), Error>,
) -> Result<(), Error> {
    // Checkpoints with their step numbers, oldest first.
    let mut kept: Vec<(usize, S)> = vec![(0, start)];
    for step in (0..steps).rev() {
        let (mut at, mut state) = kept.last().cloned().expect("the first state is kept");
        while at < step {
            let room = most - kept.len();
            let next = if room == 0 { step } else { at + stride(step - at, room) };
            forward(&mut state, next - at)?;
            at = next;
            if room > 0 && at < step {
                kept.push((at, state.clone()));
            }
        }
        if step > 0 && kept.last().is_some_and(|(number, _)| *number == step) {
            kept.pop();
        }
        back(&state)?;
    }
    Ok(())
}

/// The distance to the next checkpoint, given that `distance` steps are to be reversed with room for `room` checkpoints. No step is
/// repeated more often than the binomial bound requires.
fn stride(distance: usize, room: usize) -> usize {
    // The smallest number of repetitions, and how many steps can be reversed with it.
    let (mut times, mut reach) = (1, room + 1);
    while reach <= distance {
        times += 1;
        reach = reach * (room + times) / times;
    }
    // With one checkpoint and one repetition fewer, the steps after the stride must be within reach.
    let rest = reach * room / (room + times);
    (distance + 1).saturating_sub(rest).clamp(1, distance)
}

#[cfg(test)]
mod tests {
    use super::take_back;

    /// Visits all states from the last, and returns how often a step was taken forward on average.
    fn steps_taken(steps: usize, most: usize) -> f64 {
        let (mut expected, mut taken) = (steps, 0);
        let forward = |state: &mut usize, count: usize| {
            (*state, taken) = (*state + count, taken + count);
            Ok(())
        };
        let back = |state: &usize| {
            expected -= 1;
            assert_eq!(*state, expected);
            Ok(())
        };
        take_back(steps, 0, most, forward, back).unwrap();
        assert_eq!(expected, 0);
        taken as f64 / steps.max(1) as f64
    }

    #[test]
    fn every_step_is_taken_back_with_few_repetitions() {
        for most in 1..7 {
            for steps in 0..150 {
                steps_taken(steps, most);
            }
        }
        // The start is one of the checkpoints: (31 + t)! / 31! t! steps need t repetitions: 32, 528, 5984, 52360, ..
        for (steps, most) in [(32, 1.0), (528, 2.0), (5984, 3.0), (52_360, 4.0)] {
            assert!(steps_taken(steps, 32) <= most, "{steps}: {}", steps_taken(steps, 32));
        }
    }
}

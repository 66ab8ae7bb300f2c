//! The states of a loop, last first, from a bounded number that are kept.

use crate::Error;

/// Calls `back` with the states before the last step, before the one before it, and so on to `start`; a state is made from one of at
/// most `most` that are kept, by `forward` with a number of steps.
pub(crate) fn take_back<S: Clone>(
    steps: usize,
    start: S,
    most: usize,
    mut forward: impl FnMut(&mut S, usize) -> Result<(), Error>,
    mut back: impl FnMut(&S) -> Result<(), Error>,
) -> Result<(), Error> {
    // States and their numbers, oldest first.
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

/// How far to go before the next state is kept, when `distance` steps are to be taken back and `room` states may be kept: so that no
/// step is taken more often than binomial coefficients make necessary.
fn stride(distance: usize, room: usize) -> usize {
    // The smallest number of repetitions, and how many steps can be taken back with it.
    let (mut times, mut reach) = (1, room + 1);
    while reach <= distance {
        times += 1;
        reach = reach * (room + times) / times;
    }
    // With one state and one repetition less, what is left after the stride must be in reach.
    let rest = reach * room / (room + times);
    (distance + 1).saturating_sub(rest).clamp(1, distance)
}

#[cfg(test)]
mod tests {
    use super::take_back;

    /// Every state in turn, from the last; how often a step was taken forward, on average.
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
        // The start is one of those that are kept: (31 + t)! / 31! t! steps need t repetitions: 32, 528, 5984, 52360, ..
        for (steps, most) in [(32, 1.0), (528, 2.0), (5984, 3.0), (52_360, 4.0)] {
            assert!(steps_taken(steps, 32) <= most, "{steps}: {}", steps_taken(steps, 32));
        }
    }
}

//! Folds a state over items, and pulls its adjoint back.

use super::super::{Recording, Replay, Returned, Symbol};
use super::{Items, expect_parameters};
use crate::expect::expect;

impl<Y: Returned, F: Fn(&[Symbol]) -> Y> Replay<F> {
    /// Folds a state over items. The inputs of the function are the state, then what it reads for the item; its outputs are the next state.
    /// `state` holds the initial state before the call and the final one after it.
    ///
    /// ```
    /// use wengert_scalar::{Items, Replay};
    /// // An account with interest.
    /// let f = Replay::record(|x| [x[0] * x[1] + x[2]], &[1.0, 1.0, 1.0]);
    /// let mut state = [100.0];
    /// f.fold_over(&[1.5], &Items::of(&[10.0, 20.0], 1), &mut state);
    /// assert_eq!(state, [260.0]);
    /// ```
    #[track_caller]
    pub fn fold_over(&self, parameters: &[f64], items: &Items<'_>, state: &mut [f64]) {
        let recording = &mut *self.recording();
        recording.expect_states("fold_over", parameters, items, state.len());
        for item in 0..items.len() {
            let x = [&*state, &items.inputs(parameters, item)].concat();
            recording.on_path(&x, |path| path.values(&x, state));
        }
    }

    /// Like [`fold_over`](Replay::fold_over), followed by the reverse pass. On entry `seeds` holds the cotangent of the final state; on
    /// return it holds that of the initial state, and `slopes` the gradient with respect to all parameters. All intermediate states are
    /// kept in memory.
    ///
    /// ```
    /// use wengert_scalar::{Items, Replay};
    /// let f = Replay::record(|x| [x[0] * x[1] + x[2]], &[1.0, 1.0, 1.0]);
    /// let (mut state, mut seeds, mut slopes) = ([100.0], [1.0], [0.0]);
    /// f.fold_over_and_pull(&[1.5], &Items::of(&[10.0, 20.0], 1), &mut state, &mut seeds, &mut slopes);
    /// assert_eq!((state, seeds, slopes), ([260.0], [2.25], [310.0]));
    /// ```
    #[track_caller]
    pub fn fold_over_and_pull(
        &self,
        parameters: &[f64],
        items: &Items<'_>,
        state: &mut [f64],
        seeds: &mut [f64],
        slopes: &mut [f64],
    ) {
        let recording = &mut *self.recording();
        recording.expect_states("fold_over_and_pull", parameters, items, state.len());
        expect(seeds.len() == state.len(), "fold_over_and_pull", || {
            format!("{} seeds for a state of {} numbers", seeds.len(), state.len())
        });
        expect_parameters("fold_over_and_pull", slopes, parameters);
        let mut states = Vec::with_capacity(items.len() * state.len());
        for item in 0..items.len() {
            states.extend_from_slice(state);
            let x = [&*state, &items.inputs(parameters, item)].concat();
            recording.on_path(&x, |path| path.values(&x, state));
        }
        slopes.fill(0.0);
        let (width, shared) = (state.len(), items.shared(parameters.len()));
        let mut own = vec![0.0; recording.inputs];
        for item in (0..items.len()).rev() {
            let x = [&states[item * width..][..width], &items.inputs(parameters, item)].concat();
            recording.on_path(&x, |path| path.pull(&x, seeds, &mut own));
            seeds.copy_from_slice(&own[..width]);
            let places = (0..shared).chain(items.places(item));
            places.zip(&own[width..]).for_each(|(place, slope)| slopes[place] += slope);
        }
    }
}

impl<Y: Returned, F: Fn(&[Symbol]) -> Y> Recording<F> {
    #[track_caller]
    fn expect_states(&self, what: &str, parameters: &[f64], items: &Items<'_>, state: usize) {
        let (inputs, outputs) = (self.inputs, self.outputs());
        expect(outputs == state, what, || format!("the function returns {outputs} numbers, the state has {state}"));
        expect(inputs >= state, what, || {
            format!("the function takes {inputs} numbers, and the state alone has {state}")
        });
        items.expect(what, inputs - state, parameters.len());
    }
}

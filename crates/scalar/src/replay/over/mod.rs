//! Runs a recorded function over many items: traced once, differentiated once, executed in lanes on all threads.

mod fold;
mod items;
mod wave;

pub use items::Items;

use super::{Recording, Replay, Returned, Symbol};
use crate::expect::expect;
use wave::{BLOCK, Job, WAVE, waves};

/// Sums values in an order that depends only on how many there are.
fn total(values: &[f64]) -> f64 {
    values.chunks(BLOCK).map(|block| block.iter().sum::<f64>()).sum()
}

impl<Y: Returned, F: Fn(&[Symbol]) -> Y> Replay<F> {
    /// Computes the values of all items, written to `values` one item after another.
    ///
    /// ```
    /// use wengert_scalar::{Items, Replay};
    /// let f = Replay::record(|x| [x[0] * x[1], x[1]], &[1.0, 1.0]);
    /// let mut values = [0.0; 4];
    /// f.map_over(&[2.0], &Items::of(&[3.0, 4.0], 1), &mut values);
    /// assert_eq!(values, [6.0, 3.0, 8.0, 4.0]);
    /// ```
    #[track_caller]
    pub fn map_over(&self, parameters: &[f64], items: &Items<'_>, values: &mut [f64]) {
        let recording = &mut *self.recording();
        recording.expect_items("map_over", parameters, items);
        expect_room("map_over", "values", values.len(), items.len() * recording.outputs());
        recording.wave(&Job::new(parameters, items, recording.outputs(), 0), 0..items.len(), values, &mut [], &mut []);
    }

    /// The sum of a scalar function over all items.
    #[track_caller]
    pub fn sum_over(&self, parameters: &[f64], items: &Items<'_>) -> f64 {
        let recording = &mut *self.recording();
        recording.expect_items("sum_over", parameters, items);
        recording.expect("sum_over", recording.inputs, 1);
        let job = Job::new(parameters, items, 1, 0);
        let (mut sum, mut values) = (0.0, vec![0.0; items.len().min(WAVE)]);
        for wave in waves(items.len()) {
            let values = &mut values[..wave.len()];
            recording.wave(&job, wave, values, &mut [], &mut []);
            sum += total(values);
        }
        sum
    }

    /// The sum of a scalar function over all items, and its gradient with respect to all parameters. The result has the same bits for any
    /// number of threads.
    #[track_caller]
    pub fn sum_over_and_grad(&self, parameters: &[f64], items: &Items<'_>, slopes: &mut [f64]) -> f64 {
        let recording = &mut *self.recording();
        recording.expect_items("sum_over_and_grad", parameters, items);
        recording.expect("sum_over_and_grad", recording.inputs, 1);
        expect_parameters("sum_over_and_grad", slopes, parameters);
        slopes.fill(0.0);
        let (job, local, shared) = (Job::new(parameters, items, 1, 1), items.local(), items.shared(parameters.len()));
        let room = items.len().min(WAVE);
        let (mut sum, mut values, mut gathered) = (0.0, vec![0.0; room], vec![0.0; room * local]);
        for wave in waves(items.len()) {
            let (values, gathered) = (&mut values[..wave.len()], &mut gathered[..wave.len() * local]);
            recording.wave(&job, wave.clone(), values, gathered, &mut slopes[..shared]);
            sum += total(values);
            for (item, more) in wave.zip(gathered.chunks(local.max(1))) {
                items.places(item).zip(more).for_each(|(place, more)| slopes[place] += more);
            }
        }
        sum
    }

    /// The values of all items, and for each item the Jacobian with respect to the parameters that it gathers, with one row per value. To
    /// differentiate with respect to shared parameters, let all items [gather](Items::gathering_all) them.
    ///
    /// ```
    /// use wengert_scalar::{Items, Replay};
    /// let f = Replay::record(|x| [x[0] * x[1], x[0] + x[1] * x[2]], &[1.0, 1.0, 1.0]);
    /// let (mut values, mut rows) = ([0.0; 4], [0.0; 8]);
    /// let items = Items::of(&[10.0, 20.0], 1).gathering(&[0, 1], 2);
    /// f.jacobians_over(&[2.0, 3.0, 5.0], &items, &mut values, &mut rows);
    /// assert_eq!(values, [6.0, 32.0, 15.0, 103.0]);
    /// assert_eq!(rows, [3.0, 2.0, 1.0, 10.0, 5.0, 3.0, 1.0, 20.0]);
    /// ```
    #[track_caller]
    pub fn jacobians_over(&self, parameters: &[f64], items: &Items<'_>, values: &mut [f64], rows: &mut [f64]) {
        let recording = &mut *self.recording();
        recording.expect_items("jacobians_over", parameters, items);
        let (outputs, local) = (recording.outputs(), items.local());
        expect_room("jacobians_over", "values", values.len(), items.len() * outputs);
        let (room, needed) = (rows.len(), values.len() * local);
        expect(room == needed, "jacobians_over", || {
            format!("room for {room} slopes, there are {needed}: {local} a row, by parameters that items gather")
        });
        recording.wave(&Job::new(parameters, items, outputs, outputs), 0..items.len(), values, rows, &mut []);
    }
}

impl<Y: Returned, F: Fn(&[Symbol]) -> Y> Recording<F> {
    #[track_caller]
    fn expect_items(&self, what: &str, parameters: &[f64], items: &Items<'_>) {
        items.expect(what, self.inputs, parameters.len());
    }
}

#[track_caller]
fn expect_room(what: &str, of: &str, room: usize, needed: usize) {
    expect(room == needed, what, || format!("room for {room} {of}, there are {needed}"));
}

#[track_caller]
fn expect_parameters(what: &str, slopes: &[f64], parameters: &[f64]) {
    expect_room(what, "slopes", slopes.len(), parameters.len());
}

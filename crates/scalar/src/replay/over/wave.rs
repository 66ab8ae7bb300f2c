//! Runs items in lanes, and blocks of items on all threads.

use super::super::machine::Points;
use super::super::path::Over;
use super::super::{Recording, Returned, Symbol};
use super::Items;
use std::array::from_fn;
use std::ops::Range;
use std::panic::Location;
use wengert_kernels::cells::LANES;
use wengert_kernels::for_each_chunk;

/// Number of items that a thread computes at a time, and number whose results are kept until they are summed.
pub(super) const BLOCK: usize = 16 * LANES;
pub(super) const WAVE: usize = 32 * BLOCK;

/// The items of each wave.
pub(super) fn waves(count: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(WAVE).map(move |first| first..count.min(first + WAVE))
}

/// The requested computation: values of items, and gradients of their first outputs.
pub(super) struct Job<'a> {
    parameters: &'a [f64],
    items: &'a Items<'a>,
    outputs: usize,
    rows: usize,
    /// Number of parameters that all items read, and number that each gathers.
    shared: usize,
    local: usize,
}

/// Where the results of some items go: all outputs of each, and its gradient with respect to the parameters it gathers.
struct Results<'a> {
    first: usize,
    values: &'a mut [f64],
    local: &'a mut [f64],
    /// The summed gradient with respect to shared parameters, if requested.
    shared: Vec<f64>,
    /// Items on other paths.
    left: Vec<usize>,
}

impl<'a> Job<'a> {
    pub fn new(parameters: &'a [f64], items: &'a Items<'a>, outputs: usize, rows: usize) -> Job<'a> {
        let (shared, local) = (items.shared(parameters.len()), items.local());
        Job { parameters, items, outputs, rows, shared, local }
    }

    fn active(&self) -> u32 {
        (self.shared + self.local) as u32
    }

    /// Calls `f` with lane memory for a path, in which the shared parameters are already filled in.
    fn with_room(&self, over: &Over, f: impl FnOnce(&mut Points)) {
        let mut points = over.take_room();
        (0..self.shared).for_each(|input| points.lanes(input as u32).fill(self.parameters[input]));
        f(&mut points);
        over.give_room(points);
    }

    /// Computes up to `count` items in lanes; `item` maps a lane to its item.
    fn lanes(
        &self,
        over: &Over,
        item: impl Fn(usize) -> usize,
        count: usize,
        points: &mut Points,
        results: &mut Results<'_>,
    ) {
        let Job { outputs, rows, shared, local, .. } = *self;
        // Unused lanes repeat the last item.
        let of_lanes = from_fn(|lane| item(lane.min(count - 1)));
        self.items.load(self.parameters, &of_lanes, points);
        let flipped = over.machine.forward(points);
        results.left.extend((0..count).filter(|lane| flipped[*lane]).map(&item));
        let places = of_lanes.map(|item| item - results.first);
        for (number, cell) in over.outputs.iter().enumerate() {
            let values = points.lanes(*cell).iter().zip(&places[..count]);
            values.for_each(|(value, place)| results.values[place * outputs + number] = *value);
        }
        // Unused lanes, and those on another path, contribute nothing.
        let ones = from_fn(|lane| f64::from(u8::from(lane < count && !flipped[lane])));
        for row in 0..rows {
            for (number, seed) in over.seeds.iter().enumerate() {
                *points.lanes(*seed) = if number == row { ones } else { [0.0; LANES] };
            }
            over.machine.backward(points);
            for (sum, slopes) in results.shared.iter_mut().zip(points.cells(over.adjoints, shared)) {
                *sum += slopes.iter().sum::<f64>();
            }
            let slopes = points.cells(over.adjoints + shared as u32, local);
            for (lane, place) in places[..count].iter().enumerate() {
                let own = &mut results.local[(place * rows + row) * local..][..local];
                own.iter_mut().zip(&*slopes).for_each(|(own, slope)| *own = slope[lane]);
            }
        }
    }
}

impl<Y: Returned, F: Fn(&[Symbol]) -> Y> Recording<F> {
    /// Computes items on all threads. The outputs of each are written to `values`, and their gradients with respect to gathered parameters
    /// to `local`. The summed gradient with respect to shared parameters is added to `shared`, if it has room.
    #[track_caller]
    pub(super) fn wave(
        &mut self,
        job: &Job<'_>,
        items: Range<usize>,
        values: &mut [f64],
        local: &mut [f64],
        shared: &mut [f64],
    ) {
        if items.is_empty() {
            return;
        }
        if let Err(error) = self.count_call(&job.items.inputs(job.parameters, items.start)) {
            error.at(Location::caller()).raise();
        }
        let (width, slopes) = (job.outputs, job.rows * job.local);
        let (mut rest_values, mut rest_local) = (&mut *values, &mut *local);
        let mut blocks: Vec<Results<'_>> = Vec::new();
        for first in items.clone().step_by(BLOCK) {
            let count = BLOCK.min(items.end - first);
            let (values, others) = rest_values.split_at_mut(count * width);
            let (local, more) = rest_local.split_at_mut(count * slopes);
            (rest_values, rest_local) = (others, more);
            blocks.push(Results { first, values, local, shared: vec![0.0; shared.len()], left: Vec::new() });
        }
        let over = self.paths[0].over(job.active());
        for_each_chunk(&mut blocks, 1, &|_, results| {
            let results = &mut results[0];
            let count = BLOCK.min(items.end - results.first);
            job.with_room(over, |points| {
                for start in (0..count).step_by(LANES) {
                    let first = results.first + start;
                    job.lanes(over, |lane| first + lane, LANES.min(count - start), points, results);
                }
            });
        });
        let (sums, left): (Vec<_>, Vec<_>) = blocks.into_iter().map(|block| (block.shared, block.left)).unzip();
        let mut results =
            Results { first: items.start, values, local, shared: vec![0.0; shared.len()], left: Vec::new() };
        self.others(job, left.concat(), &mut results);
        for more in sums.iter().chain([&results.shared]) {
            shared.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
    }

    /// Items on other paths than the first: run one alone, which may record its path, then run in lanes the others that take the same path.
    #[track_caller]
    fn others(&mut self, job: &Job<'_>, mut left: Vec<usize>, results: &mut Results<'_>) {
        let mut paths = 0;
        while let [first, rest @ ..] = &left[..] {
            self.alone(job, *first, results);
            paths += 1;
            let over = self.paths[0].over(job.active());
            job.with_room(over, |points| {
                for some in rest.chunks(LANES) {
                    job.lanes(over, |lane| some[lane], some.len(), points, results);
                }
            });
            left = std::mem::take(&mut results.left);
        }
        // The path of most items stays in front, unless it was dropped.
        if let Some(paths) = self.paths.get_mut(..=paths) {
            paths.rotate_left(paths.len() - 1);
        }
    }

    #[track_caller]
    fn alone(&mut self, job: &Job<'_>, item: usize, results: &mut Results<'_>) {
        let Job { outputs, rows, shared, local, .. } = *job;
        let (x, place) = (job.items.inputs(job.parameters, item), item - results.first);
        let own = &mut results.values[place * outputs..][..outputs];
        self.on_path(&x, |path| path.values(&x, own));
        for row in 0..rows {
            let seeds: Vec<f64> = (0..outputs).map(|output| f64::from(u8::from(output == row))).collect();
            let mut slopes = vec![0.0; x.len()];
            self.on_path(&x, |path| path.pull(&x, &seeds, &mut slopes));
            results.shared.iter_mut().zip(&slopes[..shared]).for_each(|(sum, slope)| *sum += slope);
            let own = &mut results.local[(place * rows + row) * local..][..local];
            own.copy_from_slice(&slopes[shared..shared + local]);
        }
    }
}

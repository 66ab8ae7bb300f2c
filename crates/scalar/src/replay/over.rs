//! A recorded function over many items: traced once, differentiated once, run in lanes and on all threads.

use super::path::{Over, Points};
use super::{Replay, Returned, Symbol};
use std::sync::{Mutex, PoisonError};
use wengert_kernels::cells::LANES;
use wengert_kernels::for_each_chunk;

/// Items that are computed by one thread at a time, and blocks of which results are kept until they are added up in order.
const BLOCK: usize = 16 * LANES;
const WAVE: usize = 32;

/// What a function reads for each of many items: numbers of its own, and parameters that it shares with others.
///
/// The function's inputs are, in this order, the parameters that every item reads, those that an item's indices lead to, and the
/// item's own numbers.
///
/// ```
/// use wengert_scalar::{Items, Real, Replay};
/// // A line through points: two parameters for all, two numbers for each point.
/// let mut square = Replay::record(|x| (x[0] + x[1] * x[2] - x[3]).powi(2), &[0.0, 0.0, 1.0, 1.0]);
/// let points = Items::of(&[0.0, 1.0, 1.0, 3.0, 2.0, 5.0], 2);
/// let mut slopes = [0.0; 2];
/// assert_eq!(square.sum_over_and_grad(&[1.0, 2.0], &points, &mut slopes), 0.0);
/// assert_eq!(square.sum_over_and_grad(&[0.0, 2.0], &points, &mut slopes), 3.0);
/// assert_eq!(slopes, [-6.0, -6.0]);
/// ```
#[derive(Clone, Debug)]
pub struct Items<'d> {
    numbers: &'d [f64],
    width: usize,
    count: usize,
    /// How many parameters every item reads; all of them unless told.
    shared: Option<usize>,
    /// For each block of gathered parameters where it begins for each item, and how many it is.
    gathered: Vec<(&'d [u32], usize)>,
}

impl<'d> Items<'d> {
    /// Items with `width` numbers each, one after the other. Panics unless they are whole.
    #[track_caller]
    pub fn of(numbers: &'d [f64], width: usize) -> Items<'d> {
        assert!(
            width > 0 && numbers.len().is_multiple_of(width),
            "Items: {} numbers are no items of {width}",
            numbers.len()
        );
        Items { numbers, width, count: numbers.len() / width, shared: None, gathered: Vec::new() }
    }

    /// Items without numbers of their own.
    pub fn count(count: usize) -> Items<'static> {
        Items { numbers: &[], width: 0, count, shared: None, gathered: Vec::new() }
    }

    /// Every item reads only the first parameters.
    #[must_use]
    pub fn sharing(mut self, parameters: usize) -> Items<'d> {
        self.shared = Some(parameters);
        self
    }

    /// Every item reads `width` parameters from the one on that its index says. Unless [`sharing`](Items::sharing) says otherwise,
    /// there are none that all items read.
    ///
    /// ```
    /// use wengert_scalar::{Items, Replay};
    /// // Distances on a line, between pairs of points that are parameters.
    /// let mut f = Replay::record(|x| (x[0] - x[1]) * x[2], &[0.0, 0.0, 1.0]);
    /// let (from, to) = ([0, 1, 0], [1, 2, 2]);
    /// let pairs = Items::of(&[1.0, 1.0, 0.5], 1).gathering(&from, 1).gathering(&to, 1);
    /// let mut slopes = [0.0; 3];
    /// assert_eq!(f.sum_over_and_grad(&[5.0, 3.0, 1.0], &pairs, &mut slopes), 6.0);
    /// assert_eq!(slopes, [1.5, 0.0, -1.5]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn gathering(mut self, indices: &'d [u32], width: usize) -> Items<'d> {
        assert_eq!(indices.len(), self.count, "Items: {} indices for {} items", indices.len(), self.count);
        self.shared.get_or_insert(0);
        self.gathered.push((indices, width));
        self
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn shared(&self, parameters: usize) -> usize {
        self.shared.unwrap_or(parameters)
    }

    /// How many parameters an item gathers.
    fn local(&self) -> usize {
        self.gathered.iter().map(|(_, width)| width).sum()
    }

    #[track_caller]
    fn expect(&self, what: &str, inputs: usize, parameters: usize) {
        let shared = self.shared(parameters);
        assert!(shared <= parameters, "{what}: items read {shared} of {parameters} parameters");
        let own = shared + self.local() + self.width;
        assert_eq!(inputs, own, "{what}: the function takes {inputs} numbers, items have {own}");
        for (indices, width) in &self.gathered {
            let wrong = indices.iter().find(|index| **index as usize + width > parameters);
            assert!(wrong.is_none(), "{what}: index {} of {parameters} parameters", wrong.unwrap_or(&0));
        }
    }

    /// The parameters that an item gathers, in order.
    fn places(&self, item: usize) -> impl Iterator<Item = usize> + '_ {
        self.gathered.iter().flat_map(move |(indices, width)| {
            let first = indices[item] as usize;
            first..first + width
        })
    }

    /// All inputs of an item.
    fn inputs(&self, parameters: &[f64], item: usize) -> Vec<f64> {
        let shared = parameters[..self.shared(parameters.len())].iter().copied();
        let gathered = self.places(item).map(|place| parameters[place]);
        let own = self.numbers[item * self.width..][..self.width].iter().copied();
        shared.chain(gathered).chain(own).collect()
    }

    /// Writes the inputs of `count` items from `first` on into lanes, but for what all share; the last is repeated.
    fn load(&self, parameters: &[f64], first: usize, count: usize, points: &mut Points) {
        let mut cell = self.shared(parameters.len()) as u32;
        for (indices, width) in &self.gathered {
            for k in 0..*width {
                for (lane, x) in points.lanes(cell).iter_mut().enumerate() {
                    *x = parameters[indices[first + lane.min(count - 1)] as usize + k];
                }
                cell += 1;
            }
        }
        for k in 0..self.width {
            for (lane, x) in points.lanes(cell).iter_mut().enumerate() {
                *x = self.numbers[(first + lane.min(count - 1)) * self.width + k];
            }
            cell += 1;
        }
    }
}

/// What comes of some items.
#[derive(Default)]
struct Results {
    /// All outputs of each item.
    values: Vec<f64>,
    /// For each output the slopes by what all items share, summed, and by what each item gathers.
    shared: Vec<f64>,
    local: Vec<f64>,
    /// Items of other paths.
    left: Vec<usize>,
}

/// What is asked of items.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Values,
    /// Slopes of the first output, or of all of them.
    Slopes,
    Rows,
}

impl<Y: Returned, F: Fn(&[Symbol]) -> Y> Replay<F> {
    /// The values of all items, written to `values` one item after the other.
    ///
    /// ```
    /// use wengert_scalar::{Items, Replay};
    /// let mut f = Replay::record(|x| [x[0] * x[1], x[1]], &[1.0, 1.0]);
    /// let mut values = [0.0; 4];
    /// f.map_over(&[2.0], &Items::of(&[3.0, 4.0], 1), &mut values);
    /// assert_eq!(values, [6.0, 3.0, 8.0, 4.0]);
    /// ```
    #[track_caller]
    pub fn map_over(&mut self, parameters: &[f64], items: &Items<'_>, values: &mut [f64]) {
        self.expect_items("map_over", parameters, items);
        assert_eq!(values.len(), items.count * self.outputs(), "map_over: room for other items");
        let outputs = self.outputs();
        self.each(parameters, items, Wanted::Values, |first, results| {
            values[first * outputs..][..results.values.len()].copy_from_slice(&results.values);
        });
    }

    /// The sum of a function of one value over all items.
    #[track_caller]
    pub fn sum_over(&mut self, parameters: &[f64], items: &Items<'_>) -> f64 {
        self.expect_items("sum_over", parameters, items);
        self.expect("sum_over", self.inputs, 1);
        let mut sum = 0.0;
        self.each(parameters, items, Wanted::Values, |_, results| sum += results.values.iter().sum::<f64>());
        sum
    }

    /// The sum of a function of one value over all items, and its slopes by all parameters. The same numbers come out to the
    /// bit however many threads there are.
    #[track_caller]
    pub fn sum_over_and_grad(&mut self, parameters: &[f64], items: &Items<'_>, slopes: &mut [f64]) -> f64 {
        self.expect_items("sum_over_and_grad", parameters, items);
        self.expect("sum_over_and_grad", self.inputs, 1);
        assert_eq!(slopes.len(), parameters.len(), "sum_over_and_grad: slopes for other parameters");
        slopes.fill(0.0);
        let (mut sum, local) = (0.0, items.local());
        self.each(parameters, items, Wanted::Slopes, |first, results| {
            sum += results.values.iter().sum::<f64>();
            slopes.iter_mut().zip(&results.shared).for_each(|(slope, more)| *slope += more);
            for (item, more) in results.local.chunks(local.max(1)).enumerate() {
                items.places(first + item).zip(more).for_each(|(place, more)| slopes[place] += more);
            }
        });
        sum
    }

    /// The values of all items, and for each the slopes of all its values by the parameters that it gathers: a matrix with a row for
    /// each value, one item after the other.
    ///
    /// ```
    /// use wengert_scalar::{Items, Replay};
    /// let mut f = Replay::record(|x| [x[0] * x[1], x[0] + x[1] * x[2]], &[1.0, 1.0, 1.0]);
    /// let (mut values, mut rows) = ([0.0; 4], [0.0; 8]);
    /// let items = Items::of(&[10.0, 20.0], 1).gathering(&[0, 1], 2);
    /// f.jacobians_over(&[2.0, 3.0, 5.0], &items, &mut values, &mut rows);
    /// assert_eq!(values, [6.0, 32.0, 15.0, 103.0]);
    /// assert_eq!(rows, [3.0, 2.0, 1.0, 10.0, 5.0, 3.0, 1.0, 20.0]);
    /// ```
    #[track_caller]
    pub fn jacobians_over(&mut self, parameters: &[f64], items: &Items<'_>, values: &mut [f64], rows: &mut [f64]) {
        self.expect_items("jacobians_over", parameters, items);
        let (outputs, local) = (self.outputs(), items.local());
        assert_eq!(values.len(), items.count * outputs, "jacobians_over: room for other items");
        assert_eq!(rows.len(), values.len() * local, "jacobians_over: room for other slopes");
        self.each(parameters, items, Wanted::Rows, |first, results| {
            values[first * outputs..][..results.values.len()].copy_from_slice(&results.values);
            rows[first * outputs * local..][..results.local.len()].copy_from_slice(&results.local);
        });
    }

    /// Takes a state from item to item: the function's inputs are the state, then what it reads for the item, and it returns the next
    /// state. `state` is the first before, and the last after.
    ///
    /// ```
    /// use wengert_scalar::{Items, Replay};
    /// // An account with interest.
    /// let mut f = Replay::record(|x| [x[0] * x[1] + x[2]], &[1.0, 1.0, 1.0]);
    /// let mut state = [100.0];
    /// f.fold_over(&[1.5], &Items::of(&[10.0, 20.0], 1), &mut state);
    /// assert_eq!(state, [260.0]);
    /// ```
    #[track_caller]
    pub fn fold_over(&mut self, parameters: &[f64], items: &Items<'_>, state: &mut [f64]) {
        self.expect_states("fold_over", parameters, items, state.len());
        for item in 0..items.count {
            let x = [&*state, &items.inputs(parameters, item)].concat();
            self.on_path(&x, |path| path.values(&x, state));
        }
    }

    /// As [`fold_over`](Replay::fold_over), and then back: `seeds` are weights of the last state before, and the slopes of what they weigh
    /// by the first state after; `slopes` those by all parameters. All states in between are kept meanwhile.
    ///
    /// ```
    /// use wengert_scalar::{Items, Replay};
    /// let mut f = Replay::record(|x| [x[0] * x[1] + x[2]], &[1.0, 1.0, 1.0]);
    /// let (mut state, mut seeds, mut slopes) = ([100.0], [1.0], [0.0]);
    /// f.fold_over_and_pull(&[1.5], &Items::of(&[10.0, 20.0], 1), &mut state, &mut seeds, &mut slopes);
    /// assert_eq!((state, seeds, slopes), ([260.0], [2.25], [310.0]));
    /// ```
    #[track_caller]
    pub fn fold_over_and_pull(
        &mut self,
        parameters: &[f64],
        items: &Items<'_>,
        state: &mut [f64],
        seeds: &mut [f64],
        slopes: &mut [f64],
    ) {
        self.expect_states("fold_over_and_pull", parameters, items, state.len());
        assert_eq!(seeds.len(), state.len(), "fold_over_and_pull: seeds for another state");
        assert_eq!(slopes.len(), parameters.len(), "fold_over_and_pull: slopes for other parameters");
        let mut states = Vec::with_capacity(items.count * state.len());
        for item in 0..items.count {
            states.extend_from_slice(state);
            let x = [&*state, &items.inputs(parameters, item)].concat();
            self.on_path(&x, |path| path.values(&x, state));
        }
        slopes.fill(0.0);
        let (width, shared) = (state.len(), items.shared(parameters.len()));
        let mut own = vec![0.0; self.inputs];
        for item in (0..items.count).rev() {
            let x = [&states[item * width..][..width], &items.inputs(parameters, item)].concat();
            self.on_path(&x, |path| path.pull(&x, seeds, &mut own));
            seeds.copy_from_slice(&own[..width]);
            let places = (0..shared).chain(items.places(item));
            places.zip(&own[width..]).for_each(|(place, slope)| slopes[place] += slope);
        }
    }

    #[track_caller]
    fn expect_states(&self, what: &str, parameters: &[f64], items: &Items<'_>, state: usize) {
        assert_eq!(self.outputs(), state, "{what}: the function returns a state of another length");
        let inputs = self.inputs.checked_sub(state).expect("the function's inputs begin with the state");
        items.expect(what, inputs, parameters.len());
    }

    #[track_caller]
    fn expect_items(&self, what: &str, parameters: &[f64], items: &Items<'_>) {
        items.expect(what, self.inputs, parameters.len());
    }

    /// Computes blocks of items on all threads, and hands their results out in order.
    fn each(&mut self, parameters: &[f64], items: &Items<'_>, wanted: Wanted, mut found: impl FnMut(usize, &Results)) {
        let (shared, local) = (items.shared(parameters.len()), items.local());
        let active = (shared + local) as u32;
        let rooms: Mutex<Vec<Points>> = Mutex::default();
        for wave in (0..items.count).step_by(WAVE * BLOCK) {
            let end = items.count.min(wave + WAVE * BLOCK);
            let mut blocks: Vec<Results> = (wave..end).step_by(BLOCK).map(|_| Results::default()).collect();
            let over = self.paths[0].over(active);
            for_each_chunk(&mut blocks, 1, &|number, results| {
                let room = rooms.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let mut room = room.unwrap_or_else(|| {
                    let mut points = over.machine.new_points();
                    (0..shared).for_each(|input| points.lanes(input as u32).fill(parameters[input]));
                    points
                });
                let first = wave + number * BLOCK;
                block(over, parameters, items, wanted, first..end.min(first + BLOCK), &mut room, &mut results[0]);
                rooms.lock().unwrap_or_else(PoisonError::into_inner).push(room);
            });
            for (number, mut results) in blocks.into_iter().enumerate() {
                for item in std::mem::take(&mut results.left) {
                    self.alone(parameters, items, wanted, wave + number * BLOCK, item, &mut results);
                }
                found(wave + number * BLOCK, &results);
            }
        }
    }

    /// An item that takes another path than most.
    fn alone(
        &mut self,
        parameters: &[f64],
        items: &Items<'_>,
        wanted: Wanted,
        first: usize,
        item: usize,
        results: &mut Results,
    ) {
        let x = items.inputs(parameters, item);
        let (shared, local, outputs) = (items.shared(parameters.len()), items.local(), self.outputs());
        let own = &mut results.values[(item - first) * outputs..][..outputs];
        self.on_path(&x, |path| path.values(&x, own));
        let rows = match wanted {
            Wanted::Values => 0,
            Wanted::Slopes => 1,
            Wanted::Rows => outputs,
        };
        for row in 0..rows {
            let mut seeds = vec![0.0; outputs];
            seeds[row] = 1.0;
            let mut slopes = vec![0.0; x.len()];
            self.on_path(&x, |path| path.pull(&x, &seeds, &mut slopes));
            results.shared.iter_mut().zip(&slopes[..shared]).for_each(|(sum, slope)| *sum += slope);
            let own = &mut results.local[((item - first) * rows + row) * local..][..local];
            own.copy_from_slice(&slopes[shared..shared + local]);
        }
        // The path that most items take stays in front.
        if self.paths.len() > 1 {
            self.paths.swap(0, 1);
        }
    }
}

/// Computes some items in lanes.
fn block(
    over: &Over,
    parameters: &[f64],
    items: &Items<'_>,
    wanted: Wanted,
    range: std::ops::Range<usize>,
    points: &mut Points,
    results: &mut Results,
) {
    let (shared, local, outputs) = (items.shared(parameters.len()), items.local(), over.outputs.len());
    let rows = match wanted {
        Wanted::Values => 0,
        Wanted::Slopes => 1,
        Wanted::Rows => outputs,
    };
    results.values = vec![0.0; range.len() * outputs];
    results.local = vec![0.0; range.len() * rows * local];
    results.shared = vec![0.0; if wanted == Wanted::Slopes { shared } else { 0 }];
    for first in range.clone().step_by(LANES) {
        let count = LANES.min(range.end - first);
        items.load(parameters, first, count, points);
        let flipped = over.machine.forward(points);
        results.left.extend((0..count).filter(|lane| flipped[*lane]).map(|lane| first + lane));
        for (number, cell) in over.outputs.iter().enumerate() {
            for (lane, value) in points.lanes(*cell)[..count].iter().enumerate() {
                results.values[(first - range.start + lane) * outputs + number] = *value;
            }
        }
        for row in 0..rows {
            for (number, seed) in over.seeds.iter().enumerate() {
                // Lanes of no item, or of another path, pass nothing on.
                let is_seeded = |lane: usize| number == row && lane < count && !flipped[lane];
                points
                    .lanes(*seed)
                    .iter_mut()
                    .enumerate()
                    .for_each(|(lane, seed)| *seed = f64::from(u8::from(is_seeded(lane))));
            }
            over.machine.backward(points);
            for (input, sum) in results.shared.iter_mut().enumerate() {
                *sum += points.lanes(over.adjoints + input as u32).iter().sum::<f64>();
            }
            for input in 0..local {
                for (lane, slope) in points.lanes(over.adjoints + (shared + input) as u32)[..count].iter().enumerate() {
                    results.local[((first - range.start + lane) * rows + row) * local + input] = *slope;
                }
            }
        }
    }
}

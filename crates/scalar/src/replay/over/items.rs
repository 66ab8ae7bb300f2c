//! Items, and the inputs that a function reads for each.

use super::super::machine::Points;
use crate::expect::expect;
use std::borrow::Cow;
use wengert_kernels::cells::LANES;

/// The inputs that a function reads for each of many items: the item's own numbers, and parameters that it shares with others.
///
/// The inputs of the function are, in this order, the parameters that every item reads, those selected by the item's indices, and the
/// item's own numbers.
///
/// ```
/// use wengert_scalar::{Items, Real, Replay};
/// // A line through points: two parameters for all, two numbers for each point.
/// let square = Replay::record(|x| (x[0] + x[1] * x[2] - x[3]).powi(2), &[0.0, 0.0, 1.0, 1.0]);
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
    /// Number of parameters that every item reads; by default all.
    shared: Option<usize>,
    /// For each block of gathered parameters, the start index per item and the length.
    gathered: Vec<(Cow<'d, [u32]>, usize)>,
}

impl<'d> Items<'d> {
    /// Items with `width` numbers each, stored one after another. Raises an error unless the length is a multiple of `width`.
    #[track_caller]
    pub fn of(numbers: &'d [f64], width: usize) -> Items<'d> {
        expect(width > 0 && numbers.len().is_multiple_of(width), "Items", || {
            format!("{} numbers are no items of {width}", numbers.len())
        });
        Items { numbers, width, count: numbers.len() / width, shared: None, gathered: Vec::new() }
    }

    /// Items without numbers of their own.
    pub fn count(count: usize) -> Items<'static> {
        Items { numbers: &[], width: 0, count, shared: None, gathered: Vec::new() }
    }

    /// Every item reads only the first `parameters` parameters.
    #[must_use]
    pub fn sharing(mut self, parameters: usize) -> Items<'d> {
        self.shared = Some(parameters);
        self
    }

    /// Every item reads `width` parameters, starting at its index. Unless [`sharing`](Items::sharing) is also used, no parameters are read
    /// by all items.
    ///
    /// ```
    /// use wengert_scalar::{Items, Replay};
    /// // Distances on a line, between pairs of points that are parameters.
    /// let f = Replay::record(|x| (x[0] - x[1]) * x[2], &[0.0, 0.0, 1.0]);
    /// let (from, to) = ([0, 1, 0], [1, 2, 2]);
    /// let pairs = Items::of(&[1.0, 1.0, 0.5], 1).gathering(&from, 1).gathering(&to, 1);
    /// let mut slopes = [0.0; 3];
    /// assert_eq!(f.sum_over_and_grad(&[5.0, 3.0, 1.0], &pairs, &mut slopes), 6.0);
    /// assert_eq!(slopes, [1.5, 0.0, -1.5]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn gathering(mut self, indices: &'d [u32], width: usize) -> Items<'d> {
        let (given, items) = (indices.len(), self.count);
        expect(given == items, "Items", || format!("{given} indices for {items} items"));
        self.shared.get_or_insert(0);
        self.gathered.push((indices.into(), width));
        self
    }

    /// Every item gathers the first `width` parameters. Use this for shared parameters if derivatives are needed for each item separately.
    ///
    /// ```
    /// use wengert_scalar::{Items, Real, Replay};
    /// // The residuals of a line through points, and their Jacobian, as a fit wants them.
    /// let residual = Replay::record(|x| x[0] + x[1] * x[2] - x[3], &[0.0, 0.0, 1.0, 1.0]);
    /// let points = Items::of(&[0.0, 1.0, 1.0, 3.0, 2.0, 6.0], 2).gathering_all(2);
    /// let (mut residuals, mut rows) = ([0.0; 3], [0.0; 6]);
    /// residual.jacobians_over(&[1.0, 2.0], &points, &mut residuals, &mut rows);
    /// assert_eq!((residuals, rows), ([0.0, 0.0, -1.0], [1.0, 0.0, 1.0, 1.0, 1.0, 2.0]));
    /// ```
    #[must_use]
    pub fn gathering_all(mut self, width: usize) -> Items<'d> {
        self.shared.get_or_insert(0);
        self.gathered.push((vec![0; self.count].into(), width));
        self
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn shared(&self, parameters: usize) -> usize {
        self.shared.unwrap_or(parameters)
    }

    /// Number of parameters that an item gathers.
    pub(super) fn local(&self) -> usize {
        self.gathered.iter().map(|(_, width)| width).sum()
    }

    #[track_caller]
    pub(super) fn expect(&self, what: &str, inputs: usize, parameters: usize) {
        let shared = self.shared(parameters);
        expect(shared <= parameters, what, || format!("items read {shared} of {parameters} parameters"));
        let own = shared + self.local() + self.width;
        expect(inputs == own, what, || format!("the function takes {inputs} numbers, items have {own}"));
        for (indices, width) in &self.gathered {
            let Some(most) = indices.iter().copied().max() else { continue };
            expect(most as usize + width <= parameters, what, || {
                format!("index {most} of {parameters} parameters, of which an item reads {width}")
            });
        }
    }

    /// The indices of the parameters that an item gathers, in order.
    pub(super) fn places(&self, item: usize) -> impl Iterator<Item = usize> + '_ {
        self.gathered.iter().flat_map(move |(indices, width)| {
            let first = indices[item] as usize;
            first..first + width
        })
    }

    /// All inputs of an item.
    pub(super) fn inputs(&self, parameters: &[f64], item: usize) -> Vec<f64> {
        let shared = parameters[..self.shared(parameters.len())].iter().copied();
        let gathered = self.places(item).map(|place| parameters[place]);
        let own = self.numbers[item * self.width..][..self.width].iter().copied();
        shared.chain(gathered).chain(own).collect()
    }

    /// Writes the inputs of items into lanes, except for the shared parameters: lane k computes item `of_lanes[k]`.
    pub(super) fn load(&self, parameters: &[f64], of_lanes: &[usize; LANES], points: &mut Points) {
        let mut cell = self.shared(parameters.len()) as u32;
        for (indices, width) in &self.gathered {
            let cells = points.cells(cell, *width);
            for (lane, item) in of_lanes.iter().enumerate() {
                put(cells, lane, &parameters[indices[*item] as usize..][..*width]);
            }
            cell += *width as u32;
        }
        let cells = points.cells(cell, self.width);
        for (lane, item) in of_lanes.iter().enumerate() {
            put(cells, lane, &self.numbers[item * self.width..][..self.width]);
        }
    }
}

/// Writes one number per cell into a lane.
#[inline]
fn put(cells: &mut [[f64; LANES]], lane: usize, numbers: &[f64]) {
    cells.iter_mut().zip(numbers).for_each(|(cell, number)| cell[lane] = *number);
}

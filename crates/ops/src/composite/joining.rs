//! Joins several tensors into one; composed of reshape, broadcast and concat.

use super::padding::PadMode;
use crate::error::OrRaise;
use crate::methods::*;
use crate::primitive::Spec;
use crate::{DType, Error, ErrorKind, Shape, Tensor};
use easy_ext::ext;
use std::borrow::Borrow;

/// The methods of `joining`.
#[ext(JoiningMethods)]
impl Tensor {
    /// Joins tensors of one shape along a new axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]));
    /// assert_eq!(Tensor::stack(&[&x, &y], 0), Tensor::from([[1.0, 2.0], [3.0, 4.0]]));
    /// assert_eq!(Tensor::stack(&[&x, &y], -1), Tensor::from([[1.0, 3.0], [2.0, 4.0]]));
    /// ```
    #[track_caller]
    pub fn stack<T: Borrow<Tensor>>(tensors: &[T], axis: isize) -> Tensor {
        let Some(first) = tensors.first().map(Borrow::borrow) else {
            Error::new(ErrorKind::Argument, "stack", "there is no tensor to stack").raise();
        };
        let mut longer = Vec::with_capacity(tensors.len());
        for x in tensors {
            let x = x.borrow();
            if x.shape() != first.shape() {
                let shapes = vec![Shape::from(first.shape()), Shape::from(x.shape())];
                let message = format!("shapes {} and {} differ", shapes[0], shapes[1]);
                Error::new(ErrorKind::Shape(shapes), "stack", message).raise();
            }
            longer.push(x.unsqueeze(axis));
        }
        let axis = if axis < 0 { axis + first.rank() as isize + 1 } else { axis };
        Tensor::concat(&longer, axis)
    }

    /// Coordinate grids: the i-th result varies along axis i.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let grids = Tensor::meshgrid(&[Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0, 5.0])]);
    /// assert_eq!(grids[0], Tensor::from([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]));
    /// assert_eq!(grids[1].slice(0), Tensor::from([3.0, 4.0, 5.0]));
    /// ```
    #[track_caller]
    pub fn meshgrid<T: Borrow<Tensor>>(tensors: &[T]) -> Vec<Tensor> {
        let shape: Shape = tensors.iter().map(|x| x.borrow().elements()).collect();
        let mut grids = Vec::with_capacity(tensors.len());
        for (axis, x) in tensors.iter().enumerate() {
            let mut own = vec![1; tensors.len()];
            own[axis] = x.borrow().elements();
            grids.push(x.borrow().reshape(own).broadcast_to(&shape));
        }
        grids
    }

    /// Coordinate grids in the order of plots: the first result varies along axis 1, the second along axis 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let grids = Tensor::meshgrid_xy(&[Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0, 5.0])]);
    /// assert_eq!(grids[0].shape(), [3, 2]);
    /// ```
    #[track_caller]
    pub fn meshgrid_xy<T: Borrow<Tensor>>(tensors: &[T]) -> Vec<Tensor> {
        let grids = Tensor::meshgrid(tensors);
        if tensors.len() < 2 { grids } else { grids.iter().map(|grid| grid.transpose(0, 1)).collect() }
    }

    /// The Cartesian product of the vectors: every combination of one element of each, one per row.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let all = Tensor::cartesian_prod(&[Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0])]);
    /// assert_eq!(all, Tensor::from([[1.0, 3.0], [1.0, 4.0], [2.0, 3.0], [2.0, 4.0]]));
    /// ```
    #[track_caller]
    pub fn cartesian_prod<T: Borrow<Tensor>>(tensors: &[T]) -> Tensor {
        if let [only] = tensors {
            return only.borrow().clone();
        }
        let columns: Vec<Tensor> = Tensor::meshgrid(tensors).iter().map(Tensor::flatten).collect();
        Tensor::stack(&columns, 1)
    }

    /// Every combination of `count` elements of this vector, in order, one per row; with or without replacement.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let pairs = Tensor::from([1.0, 2.0, 3.0]).combinations(2, false);
    /// assert_eq!(pairs, Tensor::from([[1.0, 2.0], [1.0, 3.0], [2.0, 3.0]]));
    /// ```
    #[track_caller]
    pub fn combinations(&self, count: usize, with_replacement: bool) -> Tensor {
        let rows = count_of_choices(self.elements(), count, with_replacement);
        Spec { shape: Shape::from([rows, count]), dtype: DType::I64 }.check("combinations").or_raise();
        let mut choices: Vec<Vec<i64>> = if rows == 0 { vec![] } else { vec![vec![]] };
        for _ in 0..if rows == 0 { 0 } else { count } {
            let longer = |choice: &Vec<i64>| -> Vec<Vec<i64>> {
                let first = choice.last().map_or(0, |&last| last + i64::from(!with_replacement));
                (first..self.elements() as i64).map(|next| [&choice[..], &[next]].concat()).collect()
            };
            choices = choices.iter().flat_map(longer).collect();
        }
        self.take(&Tensor::from_vec(choices.concat(), [rows, count]))
    }

    /// Matrices along the diagonal of a larger one, zeros elsewhere; vectors count as rows.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::block_diag(&[Tensor::from([[1.0, 2.0]]), Tensor::from([[3.0], [4.0]])]);
    /// assert_eq!(y, Tensor::from([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0], [0.0, 0.0, 4.0]]));
    /// ```
    #[track_caller]
    pub fn block_diag<T: Borrow<Tensor>>(tensors: &[T]) -> Tensor {
        let blocks: Vec<Tensor> = tensors.iter().map(|x| x.borrow().atleast_2d()).collect();
        let columns: usize = blocks.iter().map(|block| block.shape()[1]).sum();
        let (mut rows, mut before) = (Vec::with_capacity(blocks.len()), 0);
        for block in &blocks {
            let after = columns - before - block.shape()[1];
            rows.push(block.pad(&[before as isize, after as isize], PadMode::Constant(0.0)));
            before += block.shape()[1];
        }
        Tensor::concat(&rows, 0)
    }
}

/// The number of combinations of `count` out of `n` elements; none from an empty set.
fn count_of_choices(n: usize, count: usize, with_replacement: bool) -> usize {
    let n = if with_replacement { n.saturating_add(count).saturating_sub(1) } else { n };
    if count == 0 || count > n {
        return 0;
    }
    let mut choices = 1u128;
    for i in 0..count.min(n - count) {
        choices = choices * (n - i) as u128 / (i as u128 + 1);
        if choices > usize::MAX as u128 {
            return usize::MAX;
        }
    }
    choices as usize
}

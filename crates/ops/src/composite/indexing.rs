//! Indexing composed of gather and scatter: rows, flat positions, masks.
//!
//! Indices are i64 (or i32, u8). Functions where PyTorch counts negative indices from the end do so here (`take`, `put`, `index_put`,
//! `take_along_dim`, selections); the others take indices from 0. An out-of-range index is an error that shows the index and the size.
//! Repeated indices accumulate in order.

use crate::Operand;
use crate::autograd::modes::within;
use crate::error::OrRaise;
use crate::indexing::scatter_add::{SCATTER_ADD, scatter_call};
use crate::indexing::scatter_fold::{SCATTER_MAX, SCATTER_MIN, SCATTER_MUL};
use crate::indexing::wrap_index::WrapIndexParts;
use crate::methods::*;
use crate::rules::axis_of;
use crate::tensor::broadcast;
use crate::tensor::common_shape;
use crate::{DType, Error, ErrorKind, Shape, Tensor};
use easy_ext::ext;

/// How several values with the same index are reduced to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScatterReduce {
    /// Their sum.
    Sum,
    /// Their product.
    Prod,
    /// Their mean.
    Mean,
    /// The maximum.
    Amax,
    /// The minimum.
    Amin,
}

/// A list of indices along one axis, broadcast to the shape of the values that they address.
#[track_caller]
fn spread(name: &str, x: &Tensor, axis: usize, index: &Tensor) -> Tensor {
    if index.rank() > 1 {
        let shape = Shape::from(index.shape());
        Error::new(ErrorKind::Shape(vec![shape.clone()]), name, format!("the index has shape {shape}, not one axis"))
            .help("flatten it, or use gather, which takes an index for each element")
            .raise();
    }
    let mut shape = vec![1; x.rank()];
    shape[axis] = index.elements();
    let aligned = index.reshape(shape);
    let mut whole = x.shape().to_vec();
    whole[axis] = index.elements();
    aligned.broadcast_to(whole)
}

/// The operands for a scatter of slices: `values` go to the positions of `x` that a list of indices gives along an axis.
#[track_caller]
fn slices_of(name: &str, x: &Tensor, axis: isize, index: &Tensor, values: &Tensor) -> (Tensor, isize, Tensor, Tensor) {
    let axis = axis_of(name, axis, x.shape()).or_raise();
    let vector = x.atleast_1d();
    let index = spread(name, &vector, axis, index);
    let values = if values.rank() == 0 { values.broadcast_to(index.shape()) } else { values.clone() };
    if values.shape() != index.shape() {
        let shapes = vec![Shape::from(index.shape()), Shape::from(values.shape())];
        let message = format!("the index addresses slices of shape {}, the values have {}", shapes[0], shapes[1]);
        Error::new(ErrorKind::Shape(shapes), name, message).raise();
    }
    (vector, axis as isize, index, values)
}

/// Several axes indexed together: the axes are merged into one, and their index tensors into flat positions.
pub struct Address {
    /// Moves the indexed axes to the front if they are not adjacent.
    order: Option<Vec<usize>>,
    /// The first indexed axis after that, and the number of indexed axes.
    axis: usize,
    count: usize,
    /// Positions along the merged axis.
    flat: Tensor,
}

impl Address {
    /// `indices[k]` indexes `axes[k]`; the axes are ascending, and the indices broadcast.
    #[track_caller]
    pub fn new(name: &str, x: &Tensor, axes: &[usize], indices: &[Tensor]) -> Address {
        let shape = indices.iter().try_fold(Shape::default(), |shape, index| broadcast(&shape, index.shape()));
        let Some(shape) = shape else {
            let shapes: Vec<Shape> = indices.iter().map(|index| Shape::from(index.shape())).collect();
            let message = format!("index tensors of shapes {shapes:?} do not broadcast");
            Error::new(ErrorKind::Shape(shapes), name, message).raise();
        };
        let mut flat: Option<Tensor> = None;
        for (&axis, index) in axes.iter().zip(indices) {
            let size = x.shape()[axis];
            let index = index.wrap_index(size).broadcast_to(&shape);
            flat = Some(match flat {
                None => index,
                Some(outer) => outer * size as i64 + index,
            });
        }
        let adjacent = axes.windows(2).all(|pair| pair[1] == pair[0] + 1);
        let others = (0..x.rank()).filter(|axis| !axes.contains(axis));
        Address {
            order: (!adjacent).then(|| axes.iter().copied().chain(others).collect()),
            axis: if adjacent { axes[0] } else { 0 },
            count: axes.len(),
            flat: flat.expect("at least one axis is addressed"),
        }
    }

    /// From index tensors at these axes; a mask stands for the positions of its true elements, along as many axes as it has.
    #[track_caller]
    pub fn masked(name: &str, x: &Tensor, addressed: &[(usize, Tensor)]) -> Address {
        let (mut axes, mut indices) = (Vec::new(), Vec::new());
        for (axis, index) in addressed {
            if index.dtype() != DType::Bool {
                axes.push(*axis);
                indices.push(index.clone());
                continue;
            }
            let positions = index.nonzero();
            for own in 0..index.rank() {
                axes.push(axis + own);
                indices.push(positions.slice((.., own)));
            }
        }
        if axes.is_empty() {
            Error::new(ErrorKind::Argument, name, "a mask without axes selects nothing")
                .help("use mask.where_(x, y) to choose by one boolean")
                .raise();
        }
        Address::new(name, x, &axes, &indices)
    }

    fn ordered(&self, x: &Tensor) -> Tensor {
        match &self.order {
            None => x.clone(),
            Some(order) => x.permute(order),
        }
    }

    /// `shape` with its indexed axes replaced by others.
    fn replaced(&self, shape: &[usize], by: &[usize]) -> Vec<usize> {
        [&shape[..self.axis], by, &shape[self.axis + self.count..]].concat()
    }

    fn merged(&self, x: &Tensor) -> Tensor {
        let size = x.shape()[self.axis..self.axis + self.count].iter().product();
        x.reshape(self.replaced(x.shape(), &[size]))
    }

    /// The indexed elements. The axes of the index replace the indexed axes, or come first if those are not adjacent.
    #[track_caller]
    pub fn take(&self, x: &Tensor) -> Tensor {
        let _name = within("take");
        let ordered = self.ordered(x);
        let taken = self.merged(&ordered).index_select(self.axis as isize, &self.flat.reshape([self.flat.elements()]));
        taken.reshape(self.replaced(ordered.shape(), self.flat.shape()))
    }

    /// `x` with `values` written at, or added to, the indexed elements.
    #[track_caller]
    pub fn put(&self, name: &str, x: &Tensor, values: &Tensor, accumulate: bool) -> Tensor {
        let ordered = self.ordered(x);
        let wanted = Shape::from(self.replaced(ordered.shape(), self.flat.shape()));
        if broadcast(values.shape(), &wanted).as_ref() != Some(&wanted) {
            let given = Shape::from(values.shape());
            let message = format!("values of shape {given} do not broadcast to the {wanted} elements addressed");
            Error::new(ErrorKind::Shape(vec![given, wanted]), name, message).raise();
        }
        let merged = self.merged(&ordered);
        let list = self.flat.reshape([self.flat.elements()]);
        let index = spread(name, &merged, self.axis, &list);
        let values = values.broadcast_to(&wanted).reshape(index.shape());
        let axis = self.axis as isize;
        let written = match accumulate {
            true => merged.scatter_add(axis, &index, &values),
            false => merged.scatter(axis, &index, &values),
        };
        let written = written.reshape(ordered.shape());
        match &self.order {
            None => written,
            Some(order) => {
                let mut back = vec![0; order.len()];
                order.iter().enumerate().for_each(|(to, &from)| back[from] = to);
                written.permute(&back)
            }
        }
    }
}

/// Reads a mask; if it has no values yet, the error names the alternative to use.
#[track_caller]
fn read_mask(name: &str, mask: &Tensor, alternative: &str) -> Vec<bool> {
    if mask.dtype() != DType::Bool {
        let message = format!("the mask is {}, not bool", mask.dtype());
        Error::new(ErrorKind::DType(vec![mask.dtype()]), name, message)
            .help("make a mask with a comparison such as x.gt(0.0)")
            .raise();
    }
    match mask.try_to_vec::<bool>() {
        Ok(mask) => mask,
        Err(error) => {
            let message = "the shape of the result depends on the numbers of the mask, which are not known here";
            Error::new(error.kind().clone(), name, message).help(alternative).raise()
        }
    }
}

/// The methods of `indexing`.
#[ext(IndexingMethods)]
impl Tensor {
    /// The slices at a list of indices along `axis`, such as rows of a matrix.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    /// assert_eq!(x.index_select(0, &Tensor::from([2i64, 0])), Tensor::from([[5.0, 6.0], [1.0, 2.0]]));
    /// ```
    #[track_caller]
    pub fn index_select(&self, axis: isize, index: &Tensor) -> Tensor {
        let _name = within("index_select");
        let axis = axis_of("index_select", axis, self.shape()).or_raise();
        if self.rank() == 0 {
            let taken = self.reshape([1]).gather(0, &index.flatten());
            return if index.elements() == 1 { taken.reshape([]) } else { taken };
        }
        // Axes before and after are merged where that is free, so that slices are copied as contiguous runs.
        let inner: usize = self.shape()[axis + 1..].iter().product();
        if self.rank() > axis + 2 && self.is_contiguous() && inner > 0 {
            let merged = self.reshape([&self.shape()[..=axis], &[inner]].concat());
            let taken = merged.gather(axis as isize, &spread("index_select", &merged, axis, index));
            let mut shape = self.shape().to_vec();
            shape[axis] = index.elements();
            return taken.reshape(shape);
        }
        self.gather(axis as isize, &spread("index_select", self, axis, index))
    }

    /// Looks up rows of this matrix, for indices of any shape: a table of vectors.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let table = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(table.take_rows(&Tensor::from([[1i64], [0]])).shape(), [2, 1, 2]);
    /// ```
    #[track_caller]
    pub fn take_rows(&self, index: &Tensor) -> Tensor {
        let _name = within("take_rows");
        let rows = self.index_select(0, &index.reshape([index.elements()]));
        rows.reshape([index.shape(), &self.shape()[1..]].concat())
    }

    /// Adds slices of `values` to this tensor at a list of indices along `axis`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::zeros([2, 2]).index_add(0, &Tensor::from([1i64, 1]), &Tensor::from([[1.0, 2.0], [3.0, 4.0]]));
    /// assert_eq!(y, Tensor::from([[0.0, 0.0], [4.0, 6.0]]));
    /// ```
    #[track_caller]
    pub fn index_add(&self, axis: isize, index: &Tensor, values: &Tensor) -> Tensor {
        let (x, axis, index, values) = slices_of("index_add", self, axis, index, values);
        scatter_call(&SCATTER_ADD, &x, axis, &index, &values).reshape(self.shape())
    }

    /// Overwrites slices of this tensor with `values` at a list of indices along `axis`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::zeros([2, 2]).index_copy(0, &Tensor::from([1i64]), &Tensor::from([[1.0, 2.0]]));
    /// assert_eq!(y, Tensor::from([[0.0, 0.0], [1.0, 2.0]]));
    /// ```
    #[track_caller]
    pub fn index_copy(&self, axis: isize, index: &Tensor, values: &Tensor) -> Tensor {
        let (x, axis, index, values) = slices_of("index_copy", self, axis, index, values);
        x.scatter(axis, &index, &values).reshape(self.shape())
    }

    /// Fills the slices of this tensor at a list of indices along `axis` with one number.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::zeros([2, 2]).index_fill(1, &Tensor::from([0i64]), 3.0);
    /// assert_eq!(y, Tensor::from([[3.0, 0.0], [3.0, 0.0]]));
    /// ```
    #[track_caller]
    pub fn index_fill(&self, axis: isize, index: &Tensor, value: impl Operand) -> Tensor {
        let value = value.tensor(self.dtype()).into_owned();
        let (x, axis, index, values) = slices_of("index_fill", self, axis, index, &value);
        x.scatter(axis, &index, &values).reshape(self.shape())
    }

    /// Reduces slices of `values` into this tensor at a list of indices along `axis`.
    ///
    /// ```
    /// use wengert::{ScatterReduce, prelude::*};
    /// let x = Tensor::from([5.0, 1.0]);
    /// let y = x.index_reduce(0, &Tensor::from([1i64, 1]), &Tensor::from([4.0, 2.0]), ScatterReduce::Amax, true);
    /// assert_eq!(y, Tensor::from([5.0, 4.0]));
    /// ```
    #[track_caller]
    pub fn index_reduce(
        &self,
        axis: isize,
        index: &Tensor,
        values: &Tensor,
        reduction: ScatterReduce,
        include_self: bool,
    ) -> Tensor {
        let (x, axis, index, values) = slices_of("index_reduce", self, axis, index, values);
        x.scatter_reduce(axis, &index, &values, reduction, include_self).reshape(self.shape())
    }

    /// Reduces `values` into this tensor at the positions given by `index` along `axis`. `include_self` says whether the existing elements
    /// take part. Positions without values are unchanged.
    ///
    /// ```
    /// use wengert::{ScatterReduce, prelude::*};
    /// let (x, index) = (Tensor::from([1.0, 2.0]), Tensor::from([0i64, 0]));
    /// let y = x.scatter_reduce(0, &index, &Tensor::from([3.0, 5.0]), ScatterReduce::Mean, true);
    /// assert_eq!(y, Tensor::from([3.0, 2.0]));
    /// let y = x.scatter_reduce(0, &index, &Tensor::from([3.0, 5.0]), ScatterReduce::Prod, false);
    /// assert_eq!(y, Tensor::from([15.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn scatter_reduce(
        &self,
        axis: isize,
        index: &Tensor,
        values: &Tensor,
        reduction: ScatterReduce,
        include_self: bool,
    ) -> Tensor {
        if self.rank() == 0 {
            let (x, index, values) = (self.reshape([1]), index.atleast_1d(), values.atleast_1d());
            return x.scatter_reduce(axis, &index, &values, reduction, include_self).reshape([]);
        }
        let dtype = self.dtype();
        let neutral = match reduction {
            ScatterReduce::Sum | ScatterReduce::Mean => Tensor::from(0i64).cast(dtype),
            ScatterReduce::Prod => Tensor::from(1i64).cast(dtype),
            ScatterReduce::Amax if dtype.is_float() => Tensor::from(f64::NEG_INFINITY).cast(dtype),
            ScatterReduce::Amin if dtype.is_float() => Tensor::from(f64::INFINITY).cast(dtype),
            ScatterReduce::Amax => Tensor::from(least(dtype)).cast(dtype),
            ScatterReduce::Amin => Tensor::from(greatest(dtype)).cast(dtype),
        };
        let base = if include_self { self.clone() } else { self.scatter_value(axis, index, neutral) };
        match reduction {
            ScatterReduce::Sum => base.scatter_add(axis, index, values),
            ScatterReduce::Amax => scatter_call(&SCATTER_MAX, &base, axis, index, values),
            ScatterReduce::Amin => scatter_call(&SCATTER_MIN, &base, axis, index, values),
            ScatterReduce::Prod => scatter_product(&base, axis, index, values),
            ScatterReduce::Mean => {
                let ones = values.detach().full_like(1.0);
                let counts = self.detach().full_like(f64::from(include_self)).scatter_add(axis, index, &ones);
                // Positions that receive no values are unchanged.
                let counts = counts.equal(0).where_(counts.full_like(1.0), &counts);
                base.scatter_add(axis, index, values) / counts
            }
        }
    }

    /// The elements at flat row-major positions; negative positions count from the end.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.take(&Tensor::from([[3i64], [-4]])), Tensor::from([[4.0], [1.0]]));
    /// ```
    #[track_caller]
    pub fn take(&self, index: &Tensor) -> Tensor {
        let _name = within("take");
        let flat = index.wrap_index(self.elements()).reshape([index.elements()]);
        self.flatten().gather(0, &flat).reshape(index.shape())
    }

    /// This tensor with `values` written at flat positions, or added there; negative positions count from the end.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::zeros([2, 2]).put(&Tensor::from([1i64, -1]), &Tensor::from([5.0, 6.0]), false);
    /// assert_eq!(y, Tensor::from([[0.0, 5.0], [0.0, 6.0]]));
    /// ```
    #[track_caller]
    pub fn put(&self, index: &Tensor, values: &Tensor, accumulate: bool) -> Tensor {
        let flat = index.wrap_index(self.elements()).reshape([index.elements()]);
        let (x, values) = (self.flatten(), values.reshape([index.elements()]));
        match accumulate {
            true => x.scatter_add(0, &flat, &values),
            false => x.scatter(0, &flat, &values),
        }
        .reshape(self.shape())
    }

    /// This tensor with `values` written at, or added to, the elements that index tensors for the leading axes select together: element
    /// `[i[0][k], i[1][k], ..]` for each k. Indices broadcast, and negative ones count from the end. A mask stands for the positions of its
    /// true elements.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let index = [Tensor::from([0i64, 1]), Tensor::from([1i64, 1])];
    /// let y = Tensor::zeros([2, 2]).index_put(&index, &Tensor::from([5.0, 6.0]), false);
    /// assert_eq!(y, Tensor::from([[0.0, 5.0], [0.0, 6.0]]));
    /// let rows = Tensor::zeros([2, 2]).index_put(&[Tensor::from([false, true])], &Tensor::from([5.0, 6.0]), false);
    /// assert_eq!(rows, Tensor::from([[0.0, 0.0], [5.0, 6.0]]));
    /// ```
    #[track_caller]
    pub fn index_put(&self, indices: &[Tensor], values: &Tensor, accumulate: bool) -> Tensor {
        let own = |index: &Tensor| if index.dtype() == DType::Bool { index.rank() } else { 1 };
        let named: usize = indices.iter().map(own).sum();
        if indices.is_empty() || named > self.rank() {
            let message = format!("index tensors for {named} of the {} axes", self.rank());
            Error::new(ErrorKind::Argument, "index_put", message).help("give one for each leading axis").raise();
        }
        let mut addressed = Vec::with_capacity(indices.len());
        let mut axis = 0;
        for index in indices {
            if index.dtype() == DType::Bool && *index.shape() != self.shape()[axis..axis + index.rank()] {
                let shapes = vec![Shape::from(self.shape()), Shape::from(index.shape())];
                let message = format!("a mask of shape {} does not fit shape {}", shapes[1], shapes[0]);
                Error::new(ErrorKind::Shape(shapes), "index_put", message)
                    .help("it has the sizes of the axes that it names")
                    .raise();
            }
            addressed.push((axis, index.clone()));
            axis += own(index);
        }
        Address::masked("index_put", self, &addressed).put("index_put", self, values, accumulate)
    }

    /// Fills this tensor with one number where the mask is true; both broadcast.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, -2.0]);
    /// assert_eq!(x.masked_fill(&x.lt(0.0), 0.0), Tensor::from([1.0, 0.0]));
    /// ```
    #[track_caller]
    pub fn masked_fill(&self, mask: &Tensor, value: impl Operand) -> Tensor {
        mask.where_(&*value.tensor(self.dtype()), self)
    }

    /// The elements where the mask is true, in row-major order; both broadcast. Their number depends on the values of the mask, so this
    /// cannot be compiled or batched over the mask: use `masked_fill` or `where_` there.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, -2.0, 3.0]);
    /// assert_eq!(x.masked_select(&x.gt(0.0)), Tensor::from([1.0, 3.0]));
    /// ```
    #[track_caller]
    pub fn masked_select(&self, mask: &Tensor) -> Tensor {
        let _name = within("masked_select");
        let shape = common_shape("masked_select", self, mask);
        let mask = read_mask(
            "masked_select",
            &mask.broadcast_to(&shape),
            "keep the shape: x.masked_fill(&mask, 0) or mask.where_(x, 0), and reduce with the mask",
        );
        let places: Vec<i64> = (0..).zip(&mask).filter(|(_, chosen)| **chosen).map(|(place, _)| place).collect();
        self.broadcast_to(shape).flatten().gather(0, &Tensor::from(places))
    }

    /// This tensor with the elements of `values`, in row-major order, where the mask is true. The destination of each value depends on the
    /// values of the mask, so this cannot be compiled or batched over the mask: use `where_` there.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::zeros([3]).masked_scatter(&Tensor::from([true, false, true]), &Tensor::from([5.0, 6.0]));
    /// assert_eq!(y, Tensor::from([5.0, 0.0, 6.0]));
    /// ```
    #[track_caller]
    pub fn masked_scatter(&self, mask: &Tensor, values: &Tensor) -> Tensor {
        let shape = common_shape("masked_scatter", self, mask);
        let chosen = read_mask(
            "masked_scatter",
            &mask.broadcast_to(&shape),
            "give values of the tensor's shape: mask.where_(values, x)",
        );
        let places: Vec<i64> = (0..).zip(&chosen).filter(|(_, chosen)| **chosen).map(|(place, _)| place).collect();
        if places.len() > values.elements() {
            let message = format!("the mask chooses {} elements, the values have {}", places.len(), values.elements());
            Error::new(ErrorKind::Argument, "masked_scatter", message).raise();
        }
        let values = values.flatten().narrow(0, 0, places.len());
        self.broadcast_to(&shape).flatten().scatter(0, &Tensor::from(places), &values).reshape(shape)
    }

    /// The positions of nonzero (or true) elements, one row for each, of dtype i64. Their number depends on the values, so this cannot be
    /// compiled or batched.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[0.0, 2.0], [3.0, 0.0]]).nonzero(), Tensor::from([[0i64, 1], [1, 0]]));
    /// ```
    #[track_caller]
    pub fn nonzero(&self) -> Tensor {
        let mask = if self.dtype() == DType::Bool { self.detach() } else { self.detach().not_equal(0) };
        let mask = read_mask("nonzero", &mask, "keep the mask and use where_ or masked_fill");
        let mut positions: Vec<i64> = Vec::new();
        let mut count = 0;
        for place in (0..mask.len()).filter(|&place| mask[place]) {
            let (start, mut rest) = (positions.len(), place);
            positions.resize(start + self.rank(), 0);
            for axis in (0..self.rank()).rev() {
                positions[start + axis] = (rest % self.shape()[axis]) as i64;
                rest /= self.shape()[axis];
            }
            count += 1;
        }
        Tensor::from_vec(positions, [count, self.rank()])
    }

    /// A one-hot vector for each index: dtype i64, with one more axis of size `classes`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([2i64, 0]).one_hot(3), Tensor::from([[0i64, 0, 1], [1, 0, 0]]));
    /// ```
    #[track_caller]
    pub fn one_hot(&self, classes: usize) -> Tensor {
        let _name = within("one_hot");
        let index = self.check_index(classes);
        index.unsqueeze(-1).equal(Tensor::arange(classes).beside(self)).cast(DType::I64)
    }
}

fn least(dtype: DType) -> i64 {
    match dtype {
        DType::I32 => i64::from(i32::MIN),
        DType::U8 => 0,
        _ => i64::MIN,
    }
}

fn greatest(dtype: DType) -> i64 {
    match dtype {
        DType::I32 => i64::from(i32::MAX),
        DType::U8 => i64::from(u8::MAX),
        _ => i64::MAX,
    }
}

/// y = x times the values sent to each position, with zeros treated separately. Among the factors of one position, the nonzero ones
/// multiply to p, and the zero ones have the sum s and the sum of squares q. The product is p, p s or p (s^2 - q) / 2 for none, one or two
/// zeros; for more, its first and second derivatives vanish. So both derivatives are exact.
#[track_caller]
fn scatter_product(x: &Tensor, axis: isize, index: &Tensor, values: &Tensor) -> Tensor {
    if !x.dtype().is_float() {
        return scatter_call(&SCATTER_MUL, x, axis, index, values);
    }
    let (zero_x, zero_v) = (x.detach().equal(0), values.detach().equal(0));
    let scatter_sum = |x: Tensor, v: Tensor| x.scatter_add(axis, index, &v);
    let product = scatter_call(&SCATTER_MUL, &zero_x.where_(1, x), axis, index, &zero_v.where_(1, values));
    let zeros = scatter_sum(zero_x.cast(x.dtype()), zero_v.cast(x.dtype()));
    let (x, v) = (zero_x.where_(x, 0), zero_v.where_(values, 0));
    let squares = scatter_sum(&x * &x, &v * &v);
    let sum = scatter_sum(x, v);
    let pairs = (&sum * &sum - squares) * 0.5;
    let factor = zeros.equal(1).where_(sum, zeros.equal(2).where_(pairs, 0));
    zeros.equal(0).where_(&product, &product * factor)
}

//! PyTorch and NumPy names for functions that have another spelling here.

use super::products::{expect_ranks, scaled_sum};
use crate::error::OrRaise;
use crate::indexing::wrap_index::WrapIndexParts;
use crate::methods::*;
use crate::rules::axis_of;
use crate::tensor::broadcast;
use crate::{DType, Error, ErrorKind, Operand, Shape, Tensor};
use easy_ext::ext;
use std::borrow::Borrow;

/// PyTorch and NumPy names for functions that have another spelling here. They are not in the prelude: `use wengert::TorchMethods;`.
#[ext(TorchMethods)]
impl Tensor {
    /// The number of elements: `x.elements()`.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::zeros([2, 3]).numel(), 6);
    /// ```
    pub fn numel(&self) -> usize {
        self.elements()
    }

    /// The number of axes: `x.rank()`.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::zeros([2, 3]).ndim(), 2);
    /// ```
    pub fn ndim(&self) -> usize {
        self.rank()
    }

    /// The number of axes: `x.rank()`.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::zeros([2, 3]).dim(), 2);
    /// ```
    pub fn dim(&self) -> usize {
        self.rank()
    }

    /// Joins tensors along an existing axis: `Tensor::concat(tensors, axis)`.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// let x = Tensor::from([1.0, 2.0]);
    /// assert_eq!(Tensor::cat(&[&x, &x], 0), Tensor::from([1.0, 2.0, 1.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn cat<T: Borrow<Tensor>>(tensors: &[T], axis: isize) -> Tensor {
        Tensor::concat(tensors, axis)
    }

    /// The natural logarithm: `x.log()`.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from([1.0, 0.0]).ln(), Tensor::from([0.0, f64::NEG_INFINITY]));
    /// ```
    #[track_caller]
    pub fn ln(&self) -> Tensor {
        self.log()
    }

    /// The elements between two bounds: `x.clamp(low, high)`.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from([-2.0, 0.5, 2.0]).clip(-1.0, 1.0), Tensor::from([-1.0, 0.5, 1.0]));
    /// ```
    #[track_caller]
    pub fn clip(&self, low: impl Operand, high: impl Operand) -> Tensor {
        self.clamp(low, high)
    }

    /// This tensor plus `alpha` times another.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from([1.0, 2.0]).add_scaled(&Tensor::from([10.0, 20.0]), 0.5), Tensor::from([6.0, 12.0]));
    /// ```
    #[track_caller]
    pub fn add_scaled(&self, other: impl Operand, alpha: f64) -> Tensor {
        self + &*other.tensor(self.dtype()) * alpha
    }

    /// This tensor minus `alpha` times another.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from([1.0, 2.0]).sub_scaled(&Tensor::from([10.0, 20.0]), 0.5), Tensor::from([-4.0, -8.0]));
    /// ```
    #[track_caller]
    pub fn sub_scaled(&self, other: impl Operand, alpha: f64) -> Tensor {
        self - &*other.tensor(self.dtype()) * alpha
    }

    /// Another tensor minus this one.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from([1.0, 2.0]).rsub(3.0), Tensor::from([2.0, 1.0]));
    /// ```
    #[track_caller]
    pub fn rsub(&self, other: impl Operand) -> Tensor {
        &*other.tensor(self.dtype()) - self
    }

    /// Another tensor minus `alpha` times this one.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from([1.0, 2.0]).rsub_scaled(3.0, 2.0), Tensor::from([1.0, -1.0]));
    /// ```
    #[track_caller]
    pub fn rsub_scaled(&self, other: impl Operand, alpha: f64) -> Tensor {
        &*other.tensor(self.dtype()) - self * alpha
    }

    /// This tensor plus the product of two others, times `value`.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// let (x, a, b) = (Tensor::from(1.0), Tensor::from(2.0), Tensor::from(3.0));
    /// assert_eq!(x.addcmul(&a, &b, 0.5).item(), 4.0);
    /// ```
    #[track_caller]
    pub fn addcmul(&self, a: &Tensor, b: &Tensor, value: f64) -> Tensor {
        if value == 1.0 { self + a * b } else { self + a * b * value }
    }

    /// This tensor plus the quotient of two others, times `value`.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// let (x, a, b) = (Tensor::from(1.0), Tensor::from(2.0), Tensor::from(4.0));
    /// assert_eq!(x.addcdiv(&a, &b, 3.0).item(), 2.5);
    /// ```
    #[track_caller]
    pub fn addcdiv(&self, a: &Tensor, b: &Tensor, value: f64) -> Tensor {
        if value == 1.0 { self + a / b } else { self + a / b * value }
    }

    /// The tensor itself, unchanged.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from([-2.0, 2.0]).positive(), Tensor::from([-2.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn positive(&self) -> Tensor {
        self.clone()
    }

    /// The angle of every element as a complex number: pi where it is negative, else 0. No gradient.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from([-2.0, 2.0]).angle(), Tensor::from([std::f64::consts::PI, 0.0]));
    /// ```
    #[track_caller]
    pub fn angle(&self) -> Tensor {
        let sign = self.sign();
        // NaN stays NaN: it is multiplied by 0.
        sign.lt(0.0).where_(std::f64::consts::PI, &sign * 0.0)
    }

    /// Converts degrees to radians.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from(180.0).deg2rad().item(), std::f64::consts::PI);
    /// ```
    #[track_caller]
    pub fn deg2rad(&self) -> Tensor {
        self * (std::f64::consts::PI / 180.0)
    }

    /// Converts radians to degrees.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from(std::f64::consts::PI).rad2deg().item(), 180.0);
    /// ```
    #[track_caller]
    pub fn rad2deg(&self) -> Tensor {
        self * (180.0 / std::f64::consts::PI)
    }

    /// Every element times 2 to the power of the other's.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from([1.0, 3.0]).ldexp(&Tensor::from([3.0, -1.0])), Tensor::from([8.0, 1.5]));
    /// ```
    #[track_caller]
    pub fn ldexp(&self, exponent: impl Operand) -> Tensor {
        self * exponent.tensor(self.dtype()).cast(self.dtype()).exp2()
    }

    /// The matrix with all elements on the diagonal `offset` above the main one.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::zeros([2, 2]).diagflat(1).shape(), [5, 5]);
    /// ```
    #[track_caller]
    pub fn diagflat(&self, offset: isize) -> Tensor {
        self.flatten().diag_embed(offset)
    }

    /// The elements at `index` along `axis`; the other axes broadcast, negative indices count from the end.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// let x = Tensor::from([[3.0, 1.0], [2.0, 4.0]]);
    /// assert_eq!(x.take_along_dim(&Tensor::from([[1i64]]), 1), Tensor::from([[1.0], [4.0]]));
    /// ```
    #[track_caller]
    pub fn take_along_dim(&self, index: &Tensor, axis: isize) -> Tensor {
        let axis = axis_of("take_along_dim", axis, self.shape()).or_raise();
        if index.rank() != self.rank() {
            let shapes = vec![Shape::from(self.shape()), Shape::from(index.shape())];
            let message = format!("an index of shape {} for a tensor of shape {}", shapes[1], shapes[0]);
            Error::new(ErrorKind::Shape(shapes), "take_along_dim", message)
                .help("both need as many axes; take(index) counts flat positions")
                .raise();
        }
        if self.rank() == 0 {
            return self.gather(0, &index.wrap_index(1));
        }
        let one = |shape: &[usize]| [&shape[..axis], &[1], &shape[axis + 1..]].concat();
        let Some(common) = broadcast(&one(self.shape()), &one(index.shape())) else {
            let shapes = vec![Shape::from(self.shape()), Shape::from(index.shape())];
            let message = format!("shapes {} and {} do not broadcast beside axis {axis}", shapes[0], shapes[1]);
            Error::new(ErrorKind::Shape(shapes), "take_along_dim", message).raise();
        };
        let with = |size: usize| [&common[..axis], &[size], &common[axis + 1..]].concat();
        let index = index.wrap_index(self.shape()[axis]).broadcast_to(with(index.shape()[axis]));
        self.broadcast_to(with(self.shape()[axis])).gather(axis as isize, &index)
    }

    /// Adds `factor` times slices of `values` to this tensor at a list of indices along `axis`.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// let y = Tensor::zeros([2]).index_add_scaled(0, &Tensor::from([1i64]), &Tensor::from([3.0]), -2.0);
    /// assert_eq!(y, Tensor::from([0.0, -6.0]));
    /// ```
    #[track_caller]
    pub fn index_add_scaled(&self, axis: isize, index: &Tensor, values: &Tensor, factor: f64) -> Tensor {
        self.index_add(axis, index, &(values * factor))
    }

    /// Joins tensors horizontally: along axis 1, or axis 0 for vectors.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::hstack(&[Tensor::zeros([2]), Tensor::zeros([3])]).shape(), [5]);
    /// ```
    #[track_caller]
    pub fn hstack<T: Borrow<Tensor>>(tensors: &[T]) -> Tensor {
        let tensors: Vec<Tensor> = tensors.iter().map(|x| x.borrow().atleast_1d()).collect();
        Tensor::concat(&tensors, isize::from(tensors.first().is_some_and(|x| x.rank() > 1)))
    }

    /// Joins tensors vertically: along axis 0, vectors as rows.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::vstack(&[Tensor::zeros([3]), Tensor::zeros([3])]).shape(), [2, 3]);
    /// ```
    #[track_caller]
    pub fn vstack<T: Borrow<Tensor>>(tensors: &[T]) -> Tensor {
        let tensors: Vec<Tensor> = tensors.iter().map(|x| x.borrow().atleast_2d()).collect();
        Tensor::concat(&tensors, 0)
    }

    /// Joins tensors in depth: along axis 2.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::dstack(&[Tensor::zeros([3]), Tensor::zeros([3])]).shape(), [1, 3, 2]);
    /// ```
    #[track_caller]
    pub fn dstack<T: Borrow<Tensor>>(tensors: &[T]) -> Tensor {
        let tensors: Vec<Tensor> = tensors.iter().map(|x| x.borrow().atleast_3d()).collect();
        Tensor::concat(&tensors, 2)
    }

    /// Joins tensors horizontally, vectors as columns.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::column_stack(&[Tensor::zeros([3]), Tensor::zeros([3])]).shape(), [3, 2]);
    /// ```
    #[track_caller]
    pub fn column_stack<T: Borrow<Tensor>>(tensors: &[T]) -> Tensor {
        let column = |x: &Tensor| if x.rank() < 2 { x.reshape([x.elements(), 1]) } else { x.clone() };
        let tensors: Vec<Tensor> = tensors.iter().map(|x| column(x.borrow())).collect();
        Tensor::concat(&tensors, 1)
    }

    /// Reverses the elements along axis 1.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from([[1.0, 2.0]]).fliplr(), Tensor::from([[2.0, 1.0]]));
    /// ```
    #[track_caller]
    pub fn fliplr(&self) -> Tensor {
        self.flip(&[1])
    }

    /// Reverses the elements along axis 0.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from([1.0, 2.0]).flipud(), Tensor::from([2.0, 1.0]));
    /// ```
    #[track_caller]
    pub fn flipud(&self) -> Tensor {
        self.flip(&[0])
    }

    /// Shifts all elements in row-major order; elements that leave at one end reenter at the other.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).roll_flat(1), Tensor::from([[4.0, 1.0], [2.0, 3.0]]));
    /// ```
    #[track_caller]
    pub fn roll_flat(&self, shift: isize) -> Tensor {
        self.flatten().roll(&[shift], &[0]).reshape(self.shape())
    }

    /// The product of two matrices; [`matmul`](Tensor::matmul) also takes vectors and batches.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::ones([2, 3]).mm(&Tensor::ones([3, 1])), Tensor::full([2, 1], 3.0));
    /// ```
    #[track_caller]
    pub fn mm(&self, other: &Tensor) -> Tensor {
        expect_ranks("mm", &[(self, 2), (other, 2)]);
        self.matmul(other)
    }

    /// The product of a matrix and a vector.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::ones([2, 3]).mv(&Tensor::ones([3])), Tensor::full([2], 3.0));
    /// ```
    #[track_caller]
    pub fn mv(&self, vector: &Tensor) -> Tensor {
        expect_ranks("mv", &[(self, 2), (vector, 1)]);
        self.matmul(vector)
    }

    /// The matrix products of two batches, pair by pair.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::ones([5, 2, 3]).bmm(&Tensor::ones([5, 3, 1])).shape(), [5, 2, 1]);
    /// ```
    #[track_caller]
    pub fn bmm(&self, other: &Tensor) -> Tensor {
        expect_ranks("bmm", &[(self, 3), (other, 3)]);
        self.matmul(other)
    }

    /// The inner product of two vectors; for real numbers the same as [`dot`](Tensor::dot).
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from([1.0, 2.0]).vdot(&Tensor::from([3.0, 4.0])).item(), 11.0);
    /// ```
    #[track_caller]
    pub fn vdot(&self, other: &Tensor) -> Tensor {
        expect_ranks("vdot", &[(self, 1), (other, 1)]);
        self.matmul(other)
    }

    /// This plus the product of two matrices.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// let y = Tensor::from([1.0, 2.0]).addmm(&Tensor::ones([3, 2]), &Tensor::ones([2, 2]));
    /// assert_eq!(y.slice(0), Tensor::from([3.0, 4.0]));
    /// ```
    #[track_caller]
    pub fn addmm(&self, a: &Tensor, b: &Tensor) -> Tensor {
        self.addmm_with(a, b, 1.0, 1.0)
    }

    /// `beta` times this plus `alpha` times the product of two matrices.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// let y = Tensor::ones([2]).addmm_with(&Tensor::ones([1, 3]), &Tensor::ones([3, 2]), 10.0, 2.0);
    /// assert_eq!(y, Tensor::from([[16.0, 16.0]]));
    /// ```
    #[track_caller]
    pub fn addmm_with(&self, a: &Tensor, b: &Tensor, beta: f64, alpha: f64) -> Tensor {
        expect_ranks("addmm", &[(a, 2), (b, 2)]);
        scaled_sum(self, a.matmul(b), beta, alpha)
    }

    /// This plus the product of a matrix and a vector.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from(1.0).addmv(&Tensor::ones([2, 3]), &Tensor::ones([3])), Tensor::full([2], 4.0));
    /// ```
    #[track_caller]
    pub fn addmv(&self, matrix: &Tensor, vector: &Tensor) -> Tensor {
        self.addmv_with(matrix, vector, 1.0, 1.0)
    }

    /// `beta` times this plus `alpha` times the product of a matrix and a vector.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// let y = Tensor::from(1.0).addmv_with(&Tensor::ones([2, 3]), &Tensor::ones([3]), 0.5, 2.0);
    /// assert_eq!(y, Tensor::full([2], 6.5));
    /// ```
    #[track_caller]
    pub fn addmv_with(&self, matrix: &Tensor, vector: &Tensor, beta: f64, alpha: f64) -> Tensor {
        expect_ranks("addmv", &[(matrix, 2), (vector, 1)]);
        scaled_sum(self, matrix.matmul(vector), beta, alpha)
    }

    /// This plus the outer product of two vectors.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from(1.0).addr(&Tensor::ones([2]), &Tensor::ones([3])), Tensor::full([2, 3], 2.0));
    /// ```
    #[track_caller]
    pub fn addr(&self, a: &Tensor, b: &Tensor) -> Tensor {
        self.addr_with(a, b, 1.0, 1.0)
    }

    /// `beta` times this plus `alpha` times the outer product of two vectors.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// let y = Tensor::from(1.0).addr_with(&Tensor::ones([2]), &Tensor::ones([3]), 0.0, 2.0);
    /// assert_eq!(y, Tensor::full([2, 3], 2.0));
    /// ```
    #[track_caller]
    pub fn addr_with(&self, a: &Tensor, b: &Tensor, beta: f64, alpha: f64) -> Tensor {
        scaled_sum(self, a.outer(b), beta, alpha)
    }

    /// This plus the products of two batches of matrices.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// let y = Tensor::from(1.0).baddbmm(&Tensor::ones([5, 2, 3]), &Tensor::ones([5, 3, 1]));
    /// assert_eq!(y, Tensor::full([5, 2, 1], 4.0));
    /// ```
    #[track_caller]
    pub fn baddbmm(&self, a: &Tensor, b: &Tensor) -> Tensor {
        self.baddbmm_with(a, b, 1.0, 1.0)
    }

    /// `beta` times this plus `alpha` times the products of two batches of matrices.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// let y = Tensor::from(1.0).baddbmm_with(&Tensor::ones([5, 2, 3]), &Tensor::ones([5, 3, 1]), 2.0, 1.0);
    /// assert_eq!(y, Tensor::full([5, 2, 1], 5.0));
    /// ```
    #[track_caller]
    pub fn baddbmm_with(&self, a: &Tensor, b: &Tensor, beta: f64, alpha: f64) -> Tensor {
        scaled_sum(self, a.bmm(b), beta, alpha)
    }

    /// This plus the sum of the products of two batches of matrices.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// let y = Tensor::from(1.0).addbmm(&Tensor::ones([5, 2, 3]), &Tensor::ones([5, 3, 1]));
    /// assert_eq!(y, Tensor::full([2, 1], 16.0));
    /// ```
    #[track_caller]
    pub fn addbmm(&self, a: &Tensor, b: &Tensor) -> Tensor {
        self.addbmm_with(a, b, 1.0, 1.0)
    }

    /// `beta` times this plus `alpha` times the sum of the products of two batches of matrices.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// let y = Tensor::from(1.0).addbmm_with(&Tensor::ones([5, 2, 3]), &Tensor::ones([5, 3, 1]), 1.0, 2.0);
    /// assert_eq!(y, Tensor::full([2, 1], 31.0));
    /// ```
    #[track_caller]
    pub fn addbmm_with(&self, a: &Tensor, b: &Tensor, beta: f64, alpha: f64) -> Tensor {
        expect_ranks("addbmm", &[(a, 3), (b, 3)]);
        scaled_sum(self, a.tensordot_axes(b, &[0, 2], &[0, 1]), beta, alpha)
    }

    /// The same elements in the shape of another tensor.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::zeros([6]).reshape_as(&Tensor::zeros([2, 3])).shape(), [2, 3]);
    /// ```
    #[track_caller]
    pub fn reshape_as(&self, other: &Tensor) -> Tensor {
        self.reshape(other.shape())
    }

    /// All elements in one axis, row-major.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::zeros([2, 3]).ravel().shape(), [6]);
    /// ```
    #[track_caller]
    pub fn ravel(&self) -> Tensor {
        self.flatten()
    }

    /// Broadcasts axes of size one to the shape of another tensor, without copying.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::zeros([3, 1]).expand_as(&Tensor::zeros([3, 4])).shape(), [3, 4]);
    /// ```
    #[track_caller]
    pub fn expand_as(&self, other: &Tensor) -> Tensor {
        self.broadcast_to(other.shape())
    }

    /// The whole tensor repeated along its last axes; missing counts are 1.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::zeros([2, 3]).tile(&[2]).shape(), [2, 6]);
    /// ```
    #[track_caller]
    pub fn tile(&self, counts: &[usize]) -> Tensor {
        let missing = self.rank().saturating_sub(counts.len());
        self.repeat([&vec![1; missing], counts].concat())
    }

    /// Transposes each matrix: swaps the last two axes.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::zeros([5, 2, 3]).mt().shape(), [5, 3, 2]);
    /// ```
    #[track_caller]
    pub fn mt(&self) -> Tensor {
        self.t()
    }

    /// A tensor of this shape filled with one number, which may be differentiated.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from([1.0, 2.0]).fill(7.0), Tensor::from([7.0, 7.0]));
    /// ```
    #[track_caller]
    pub fn fill(&self, number: impl Operand) -> Tensor {
        number.tensor(self.dtype()).broadcast_to(self.shape())
    }

    /// The elements in ascending order along the first axis.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from([[3.0, 1.0], [2.0, 4.0]]).msort(), Tensor::from([[2.0, 1.0], [3.0, 4.0]]));
    /// ```
    #[track_caller]
    pub fn msort(&self) -> Tensor {
        self.sort(0).0
    }

    /// The bucket of each element among ascending `boundaries`: the number of boundaries below it.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// let x = Tensor::from([0.5, 2.0, 7.0]);
    /// assert_eq!(x.bucketize(&Tensor::from([1.0, 2.0, 3.0])), Tensor::from([0i64, 1, 3]));
    /// ```
    #[track_caller]
    pub fn bucketize(&self, boundaries: &Tensor) -> Tensor {
        boundaries.searchsorted(self)
    }

    /// The bucket of each element among ascending `boundaries`: the number of boundaries not above it.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// let x = Tensor::from([0.5, 2.0, 7.0]);
    /// assert_eq!(x.bucketize_right(&Tensor::from([1.0, 2.0, 3.0])), Tensor::from([0i64, 2, 3]));
    /// ```
    #[track_caller]
    pub fn bucketize_right(&self, boundaries: &Tensor) -> Tensor {
        boundaries.searchsorted_right(self)
    }

    /// The power, computed in f64 for any dtypes.
    ///
    /// ```
    /// use wengert::{TorchMethods, prelude::*};
    /// assert_eq!(Tensor::from([2i64, 3]).float_power(0.5).dtype(), DType::F64);
    /// ```
    #[track_caller]
    pub fn float_power(&self, exponent: impl Operand) -> Tensor {
        self.cast(DType::F64).pow(exponent.tensor(DType::F64).cast(DType::F64))
    }
}

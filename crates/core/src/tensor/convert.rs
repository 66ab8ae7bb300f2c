//! Conversion between tensors and Rust data.

use super::{Shape, Tensor, Value, numbers};
use crate::error::OrRaise;
use crate::primitive::Spec;
use crate::{DType, Error, ErrorKind};
use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};
use wengert_kernels::dtype::{bf16, f16};
use wengert_kernels::map;
use wengert_kernels::pool::Block;
use wengert_kernels::view::Out;

mod sealed {
    /// Plain bytes. A `bool` must be 0 or 1.
    pub trait Sealed: super::NoUninit + super::CheckedBitPattern<Bits: super::Pod> + Send + Sync {}
}

/// A Rust type that can be an element of a tensor.
pub trait Scalar: sealed::Sealed + Copy + 'static {
    /// Its dtype.
    const DTYPE: DType;
    /// Its little-endian bytes, in the low end of a word.
    fn to_bits64(self) -> u64;
    /// The inverse of [`to_bits64`](Scalar::to_bits64).
    fn from_bits64(bits: u64) -> Self;
}

macro_rules! scalars {
    ($($rust:ty => $dtype:ident, |$x:ident| $to:expr, |$bits:ident| $from:expr;)*) => {$(
        impl sealed::Sealed for $rust {}
        impl Scalar for $rust {
            const DTYPE: DType = DType::$dtype;
            #[inline]
            fn to_bits64(self) -> u64 { let $x = self; $to }
            #[inline]
            fn from_bits64($bits: u64) -> $rust { $from }
        }
        impl Nested for $rust {
            type Scalar = $rust;
            fn collect(&self, depth: usize, shape: &mut Vec<usize>, data: &mut Vec<$rust>) -> Result<(), Error> {
                debug_assert!(depth == shape.len());
                data.push(*self);
                Ok(())
            }
            fn depth() -> usize { 0 }
        }
    )*};
}

scalars! {
    f64 => F64, |x| x.to_bits(), |bits| f64::from_bits(bits);
    f32 => F32, |x| u64::from(x.to_bits()), |bits| f32::from_bits(bits as u32);
    bf16 => BF16, |x| u64::from(x.to_bits()), |bits| bf16::from_bits(bits as u16);
    f16 => F16, |x| u64::from(x.to_bits()), |bits| f16::from_bits(bits as u16);
    i64 => I64, |x| x as u64, |bits| bits as i64;
    i32 => I32, |x| u64::from(x as u32), |bits| bits as u32 as i32;
    u8 => U8, |x| u64::from(x), |bits| bits as u8;
    bool => Bool, |x| u64::from(x), |bits| bits as u8 != 0;
}

/// Rust data that converts to a tensor: a number, or arrays, slices and vectors of numbers nested to any depth.
pub trait Nested {
    /// The type of the innermost elements.
    type Scalar: Scalar;
    /// Appends the elements in row-major order and checks that the nesting is rectangular.
    fn collect(&self, depth: usize, shape: &mut Vec<usize>, data: &mut Vec<Self::Scalar>) -> Result<(), Error>;
    /// The number of axes of the nesting.
    fn depth() -> usize;
}

fn collect_row<T: Nested>(
    row: &[T],
    depth: usize,
    shape: &mut Vec<usize>,
    data: &mut Vec<T::Scalar>,
) -> Result<(), Error> {
    if shape.len() == depth {
        shape.push(row.len());
    } else if shape[depth] != row.len() {
        let message = format!("rows along axis {depth} have {} and {} entries", shape[depth], row.len());
        return Err(Error::new(ErrorKind::Argument, "from", message).help("all rows must be equally long"));
    }
    row.iter().try_for_each(|entry| entry.collect(depth + 1, shape, data))
}

macro_rules! nested {
    ($([$($generics:tt)*] $container:ty;)*) => {$(
        impl<$($generics)*> Nested for $container {
            type Scalar = T::Scalar;
            fn collect(&self, depth: usize, shape: &mut Vec<usize>, data: &mut Vec<T::Scalar>) -> Result<(), Error> {
                collect_row(&self[..], depth, shape, data)
            }
            fn depth() -> usize { T::depth() + 1 }
        }
    )*};
}

nested! {
    [T: Nested, const N: usize] [T; N];
    [T: Nested, const N: usize] &[T; N];
    [T: Nested] &[T];
    [T: Nested] Vec<T>;
    [T: Nested] &Vec<T>;
}

impl<T: Nested> From<T> for Tensor {
    #[track_caller]
    fn from(nested: T) -> Tensor {
        let (mut shape, mut data) = (Vec::new(), Vec::new());
        nested.collect(0, &mut shape, &mut data).or_raise();
        shape.resize(T::depth(), 0);
        Tensor::copied("from", &data, shape.into()).or_raise()
    }
}

impl Tensor {
    /// A tensor from row-major elements and a shape. It takes over the vector's memory without a copy, including its spare capacity.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 2.0, 3.0, 4.0], [2, 2]);
    /// assert_eq!(x, Tensor::from([[1.0, 2.0], [3.0, 4.0]]));
    /// ```
    #[track_caller]
    pub fn from_vec<T: Scalar>(data: Vec<T>, shape: impl Into<Shape>) -> Tensor {
        Tensor::try_from_vec(data, shape).or_raise()
    }

    /// A tensor from a slice of row-major elements and a shape.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from_slice(&[1i64, 2, 3, 4], [2, 2]), Tensor::from([[1i64, 2], [3, 4]]));
    /// ```
    #[track_caller]
    pub fn from_slice<T: Scalar>(data: &[T], shape: impl Into<Shape>) -> Tensor {
        Tensor::copied("from_slice", data, shape.into()).or_raise()
    }

    /// Copies all elements, in row-major order, into a slice of the same length.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let mut numbers = [0.0; 2];
    /// Tensor::from([1.0, 2.0]).copy_to(&mut numbers);
    /// assert_eq!(numbers, [1.0, 2.0]);
    /// ```
    #[track_caller]
    pub fn copy_to<T: Scalar>(&self, numbers: &mut [T]) {
        if numbers.len() != self.elements() {
            let message = format!("{} elements do not fill a slice of {}", self.elements(), numbers.len());
            Error::new(ErrorKind::Shape(vec![Shape::from(self.shape())]), "copy_to", message).raise();
        }
        let row_major = self.read("copy_to").contiguous();
        numbers.copy_from_slice(row_major.lent("copy_to").or_raise());
    }

    /// A tensor from row-major elements and a shape, or an error if their counts differ.
    pub fn try_from_vec<T: Scalar>(data: Vec<T>, shape: impl Into<Shape>) -> Result<Tensor, Error> {
        let spec = filled::<T>("from_vec", data.len(), shape.into())?;
        match data[..] {
            [number] => Ok(Tensor::one(number.to_bits64(), spec.dtype, spec.shape.rank())),
            _ => Ok(Tensor::from_block(spec, Block::from_vec(data))),
        }
    }

    /// A tensor that holds a copy of row-major elements, in memory from the pool.
    fn copied<T: Scalar>(caller: &str, data: &[T], shape: Shape) -> Result<Tensor, Error> {
        let mut tensor = Tensor::blank(&filled::<T>(caller, data.len(), shape)?);
        tensor.out().bytes.copy_from_slice(bytemuck::cast_slice(data));
        Ok(tensor)
    }

    /// All elements, in row-major order.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1i64, 2], [3, 4]]).t().to_vec::<i64>(), [1, 3, 2, 4]);
    /// ```
    #[track_caller]
    pub fn to_vec<T: Scalar>(&self) -> Vec<T> {
        self.try_to_vec().or_raise()
    }

    /// All elements, in row-major order, or an error if they cannot be read.
    pub fn try_to_vec<T: Scalar>(&self) -> Result<Vec<T>, Error> {
        let view = self.numbers_of::<T>("to_vec")?.view();
        Spec::new(view.shape, T::DTYPE).check("to_vec")?;
        let mut copy = vec![T::Bits::zeroed(); view.len()];
        map::copy(view, Out { dtype: T::DTYPE, bytes: bytemuck::cast_slice_mut(&mut copy) });
        let read = |bits: T::Bits| {
            let mut word = [0; 8];
            word[..T::DTYPE.size()].copy_from_slice(bytemuck::bytes_of(&bits));
            T::from_bits64(u64::from_le_bytes(word))
        };
        // Reuses the memory of the copy: both element types have the same size.
        Ok(copy.into_iter().map(read).collect())
    }

    /// The value, or an error if its elements are not of type `T`.
    pub(super) fn numbers_of<T: Scalar>(&self, reader: &str) -> Result<&Value, Error> {
        let value = self.numbers(reader)?;
        let (dtype, wanted) = (value.spec_ref().dtype, T::DTYPE);
        if dtype != wanted {
            let message = format!("the numbers are {dtype}, not {wanted}");
            return Err(Error::new(ErrorKind::DType(vec![dtype, wanted]), reader, message)
                .help(format!("read them with {reader}::<{dtype}>() or convert with .cast(DType::{wanted:?})")));
        }
        Ok(value)
    }

    /// All elements, in row-major order, converted to f64.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1i64, 2]).to_f64_vec(), [1.0, 2.0]);
    /// ```
    #[track_caller]
    pub fn to_f64_vec(&self) -> Vec<f64> {
        let value = self.numbers("to_f64_vec").or_raise();
        let view = value.view();
        let mut numbers = vec![0.0; view.len()];
        map::copy(view, Out { dtype: DType::F64, bytes: bytemuck::cast_slice_mut(&mut numbers) });
        numbers
    }
}

/// The spec of a shape, or an error if the given number of elements does not fill it.
pub(super) fn filled<T: Scalar>(caller: &str, numbers: usize, shape: Shape) -> Result<Spec, Error> {
    shape.check(caller)?;
    if shape.elements() != numbers {
        let message = format!("{numbers} numbers do not fill shape {shape} of {} elements", shape.elements());
        return Err(Error::new(ErrorKind::Shape(vec![shape]), caller, message));
    }
    Ok(Spec { shape, dtype: T::DTYPE })
}

/// Equal shape, dtype and elements. As for floats, NaN equals nothing.
impl PartialEq for Tensor {
    #[track_caller]
    fn eq(&self, other: &Tensor) -> bool {
        let (a, b) = (self.read("=="), other.read("=="));
        a.spec() == b.spec()
            && match a.dtype() {
                dtype if dtype.is_float() => numbers::<f64>(a.value.view())[..] == numbers::<f64>(b.value.view())[..],
                _ => numbers::<i64>(a.value.view())[..] == numbers::<i64>(b.value.view())[..],
            }
    }
}

impl Tensor {
    /// The values as a plain tensor, or an error that names `reader` and the caller's line.
    #[track_caller]
    #[doc(hidden)]
    pub fn read(&self, reader: &str) -> Tensor {
        Tensor::from(self.numbers(reader).or_raise().clone())
    }
}

//! Constructors that take no data.

use super::{Layout, Scalar, Shape, Tensor, Value};
use crate::autograd::modes::{constructed, default_dtype};
use crate::error::OrRaise;
use crate::primitive::{Sample, Spec};
use crate::{DType, Error, ErrorKind};
use std::ops::Range;
use wengert_kernels::convert_bits;

impl Tensor {
    /// A tensor of `shape` filled with one number. It stores a single element until it is written to.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::full([2], 3.0f32), Tensor::from([3.0f32, 3.0]));
    /// ```
    #[track_caller]
    pub fn full<T: Scalar>(shape: impl Into<Shape>, number: T) -> Tensor {
        Tensor::splat(number.to_bits64(), T::DTYPE, shape.into())
    }

    /// Zeros of dtype f64, or of the [default dtype](crate::autograd::default_dtype).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([3]).to_vec::<f64>(), [0.0; 3]);
    /// ```
    #[track_caller]
    pub fn zeros(shape: impl Into<Shape> /* of a dtype: zeros_of(shape, dtype) */) -> Tensor {
        Tensor::zeros_of(shape, constructed())
    }

    /// Ones of dtype f64, or of the [default dtype](crate::autograd::default_dtype).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::ones([3]).to_vec::<f64>(), [1.0; 3]);
    /// ```
    #[track_caller]
    pub fn ones(shape: impl Into<Shape> /* of a dtype: ones_of(shape, dtype) */) -> Tensor {
        Tensor::ones_of(shape, constructed())
    }

    /// Zeros of any dtype.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros_of([2], DType::I32), Tensor::from([0i32, 0]));
    /// ```
    #[track_caller]
    pub fn zeros_of(shape: impl Into<Shape>, dtype: DType) -> Tensor {
        Tensor::constant(0.0, &Spec::new(shape, dtype))
    }

    /// Ones of any dtype.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::ones_of([2], DType::Bool), Tensor::from([true, true]));
    /// ```
    #[track_caller]
    pub fn ones_of(shape: impl Into<Shape>, dtype: DType) -> Tensor {
        Tensor::constant(1.0, &Spec::new(shape, dtype))
    }

    /// Zeros of this tensor's shape and dtype.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.5f32, 2.5]).zeros_like(), Tensor::from([0.0f32, 0.0]));
    /// ```
    #[track_caller]
    pub fn zeros_like(&self) -> Tensor {
        self.full_like(0.0)
    }

    /// Ones of this tensor's shape and dtype.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.5f32, 2.5]).ones_like(), Tensor::from([1.0f32, 1.0]));
    /// ```
    #[track_caller]
    pub fn ones_like(&self) -> Tensor {
        self.full_like(1.0)
    }

    /// The identity matrix of dtype f64, or of the [default dtype](crate::autograd::default_dtype).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::eye(2), Tensor::from([[1.0, 0.0], [0.0, 1.0]]));
    /// ```
    #[track_caller]
    pub fn eye(size: usize) -> Tensor {
        Tensor::eye_of(size, size, constructed())
    }

    /// A matrix with ones on its main diagonal and zeros elsewhere.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::eye_of(1, 2, DType::I64), Tensor::from([[1i64, 0]]));
    /// ```
    #[track_caller]
    pub fn eye_of(rows: usize, columns: usize, dtype: DType) -> Tensor {
        Spec::new([rows, columns], dtype).check("eye").or_raise();
        let element = |i: usize| u8::from(i / columns == i % columns);
        Tensor::from_vec((0..rows * columns).map(element).collect(), [rows, columns]).cast(dtype)
    }

    /// Evenly spaced numbers from a start up to an end, which is excluded: i64 for integers, the [default
    /// dtype](crate::autograd::default_dtype) for floats. Takes a count, a range, or a range and a step.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::arange(3), Tensor::from([0i64, 1, 2]));
    /// assert_eq!(Tensor::arange(2..5), Tensor::from([2i64, 3, 4]));
    /// assert_eq!(Tensor::arange((5..0, -2)), Tensor::from([5i64, 3, 1]));
    /// assert_eq!(Tensor::arange((0.0..1.0, 0.25)), Tensor::from([0.0, 0.25, 0.5, 0.75]));
    /// ```
    #[track_caller]
    pub fn arange(range: impl Arange) -> Tensor {
        match range.steps() {
            Steps::Whole { start, stop, step } => {
                expect_step(step as f64, start as f64, stop as f64);
                let distance = i128::from(stop) - i128::from(start);
                let count =
                    (distance / i128::from(step) + i128::from(distance % i128::from(step) != 0)).max(0) as usize;
                Spec::new([count], DType::I64).check("arange").or_raise();
                Tensor::from_vec((0..count as i64).map(|i| start + i * step).collect(), [count])
            }
            Steps::Real { start, stop, step } => {
                expect_step(step, start, stop);
                let count = ((stop - start) / step).ceil().max(0.0) as usize;
                Spec::new([count], DType::F64).check("arange").or_raise();
                Tensor::from_vec((0..count).map(|i| start + i as f64 * step).collect(), [count]).cast(constructed())
            }
        }
    }

    /// `count` evenly spaced numbers from `start` to `stop`, both included, in the [default dtype](crate::autograd::default_dtype).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::linspace(0.0, 1.0, 5), Tensor::from([0.0, 0.25, 0.5, 0.75, 1.0]));
    /// ```
    #[track_caller]
    pub fn linspace(start: f64, stop: f64, count: usize) -> Tensor {
        Spec::new([count], DType::F64).check("linspace").or_raise();
        let last = count.saturating_sub(1);
        // Computed from both ends, so that both are exact and the middle is symmetric.
        let number = |i: usize| match (last, i <= last / 2) {
            (0, _) => start,
            (_, true) => start + (stop - start) * (i as f64 / last as f64),
            (_, false) => stop - (stop - start) * ((last - i) as f64 / last as f64),
        };
        Tensor::from_vec((0..count).map(number).collect(), [count]).cast(constructed())
    }

    /// `count` numbers from 10^start to 10^stop, both included, evenly spaced on a log scale, in the [default
    /// dtype](crate::autograd::default_dtype).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::logspace(0.0, 2.0, 3), Tensor::from([1.0, 10.0, 100.0]));
    /// ```
    #[track_caller]
    pub fn logspace(start: f64, stop: f64, count: usize) -> Tensor {
        Spec::new([count], DType::F64).check("logspace").or_raise();
        let exponents = default_dtype(DType::F64, || Tensor::linspace(start, stop, count)).to_vec::<f64>();
        let numbers = exponents.into_iter().map(|exponent| 10f64.powf(exponent)).collect();
        Tensor::from_vec(numbers, [count]).cast(constructed())
    }

    /// `number` in `spec`'s dtype and shape.
    #[track_caller]
    pub fn constant(number: f64, spec: &Spec) -> Tensor {
        Tensor::splat(convert_bits(number.to_bits(), DType::F64, spec.dtype), spec.dtype, spec.shape.clone())
    }

    /// `number` in this tensor's dtype and shape, on its device.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.5f32, 2.5]).full_like(7.0), Tensor::from([7.0f32, 7.0]));
    /// ```
    #[track_caller]
    pub fn full_like(&self, number: f64) -> Tensor {
        Tensor::constant(number, &self.spec()).beside(self)
    }

    #[track_caller]
    fn splat(bits: u64, dtype: DType, shape: Shape) -> Tensor {
        shape.check("full").or_raise();
        let one = Tensor::one(bits, dtype, 0);
        if shape.rank() == 0 { one } else { one.with_layout(|layout| layout.broadcast(&shape)) }
    }

    /// The rank-0 tensor that this one repeats, if the layout shows that every element is the same.
    #[doc(hidden)]
    pub fn splatted(&self) -> Option<Tensor> {
        match &self.value {
            Value::Array(array) if array.layout.is_splat() && array.layout.shape.elements() > 0 => Some(
                self.with_layout(|layout| Layout { offset: layout.offset, ..Layout::contiguous(Shape::default()) }),
            ),
            _ => None,
        }
    }
}

/// The range that [`Tensor::arange`] counts through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steps {
    /// Integers.
    Whole {
        /// The first number.
        start: i64,
        /// The end, excluded.
        stop: i64,
        /// The difference between neighbours.
        step: i64,
    },
    /// Real numbers.
    Real {
        /// The first number.
        start: f64,
        /// The end, excluded.
        stop: f64,
        /// The difference between neighbours.
        step: f64,
    },
}

/// A count, a range, or a range and a step.
pub trait Arange {
    /// Start, end and step.
    fn steps(self) -> Steps;
}

macro_rules! aranges {
    ($($kind:ident $wide:ty: $($number:ty)*;)*) => {$($(
        impl Arange for $number {
            fn steps(self) -> Steps { Steps::$kind { start: 0 as $wide, stop: self as $wide, step: 1 as $wide } }
        }
        impl Arange for Range<$number> {
            fn steps(self) -> Steps {
                Steps::$kind { start: self.start as $wide, stop: self.end as $wide, step: 1 as $wide }
            }
        }
        impl Arange for (Range<$number>, $number) {
            fn steps(self) -> Steps {
                Steps::$kind { start: self.0.start as $wide, stop: self.0.end as $wide, step: self.1 as $wide }
            }
        }
    )*)*};
}
aranges! { Whole i64: i32 i64 usize; Real f64: f32 f64; }

#[track_caller]
fn expect_step(step: f64, start: f64, stop: f64) {
    if step == 0.0 || !(step.is_finite() && start.is_finite() && stop.is_finite()) {
        let message = format!("steps of {step} do not lead from {start} to {stop}");
        Error::new(ErrorKind::Argument, "arange", message).raise();
    }
}

impl Sample {
    /// The tensor of these numbers; floats are of dtype `float`.
    pub fn tensor(&self, float: DType) -> Tensor {
        let dtype = if self.dtype.is_float() { float } else { self.dtype };
        Tensor::from_vec(self.data.clone(), self.shape.clone()).cast(dtype)
    }
}

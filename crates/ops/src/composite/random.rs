//! Random numbers from uniform ones. The same key gives the same numbers on every machine.

use crate::Operand;
use crate::autograd::modes::{constructed, within};
use crate::error::OrRaise;
use crate::methods::*;
use crate::primitive::expect_float;
use crate::{DType, Error, ErrorKind, Key, Shape, Tensor};
use easy_ext::ext;

/// Distributions.
impl Key {
    /// Numbers from the normal distribution with mean 0 and variance 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Key::new(3).normal([1000], DType::F64);
    /// assert!(x.mean().item().abs() < 0.1 && ((&x * &x).mean().item() - 1.0).abs() < 0.1);
    /// ```
    #[track_caller]
    pub fn normal(&self, shape: impl Into<Shape>, dtype: DType) -> Tensor {
        let _name = within("normal");
        expect_float("normal", dtype).or_raise();
        let shape = shape.into();
        // Box-Muller: the radius from one uniform number, which is never 1, the angle from another.
        let pairs = self.uniform(shape.prepended(2), dtype.compute());
        let radius = ((1.0 - pairs.slice(0)).log() * -2.0).sqrt();
        (radius * (pairs.slice(1) * std::f64::consts::TAU).cos()).cast(dtype)
    }

    /// Uniformly distributed integers from `low` up to `high`, excluded, of dtype i64.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Key::new(3).randint(-2, 5, [100]).to_vec::<i64>();
    /// assert!(x.iter().all(|x| (-2..5).contains(x)) && x.contains(&4) && x.contains(&-2));
    /// ```
    #[track_caller]
    pub fn randint(&self, low: i64, high: i64, shape: impl Into<Shape>) -> Tensor {
        let span = high.saturating_sub(low);
        if !(1..1 << 53).contains(&span) {
            let message = format!("there is no random number from {low} to before {high}");
            Error::new(ErrorKind::Argument, "randint", message)
                .help("the range has at least one and fewer than 2^53 numbers")
                .raise();
        }
        (self.uniform(shape, DType::F64) * span as f64).cast(DType::I64) + low
    }

    /// Booleans that are true with `probability`: a number, or a tensor that broadcasts to `shape`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let heads = Key::new(3).bernoulli(0.25, [1000]).cast(DType::F64).mean().item();
    /// assert!((heads - 0.25).abs() < 0.05);
    /// ```
    #[track_caller]
    pub fn bernoulli(&self, probability: impl Operand, shape: impl Into<Shape>) -> Tensor {
        let dtype = probability.own_dtype().unwrap_or(DType::F64);
        self.uniform(shape, dtype).lt(&*probability.tensor(dtype))
    }
}

/// Constructors with explicit seeds. Inside a compiled function they are errors: keys are inputs there.
/// The methods of `random`.
#[ext(RandomMethods)]
impl Tensor {
    /// Uniformly distributed numbers in [0, 1), of the default dtype (f64 unless set).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::rand([3], 7), Tensor::rand([3], 7));
    /// assert_ne!(Tensor::rand([3], 7), Tensor::rand([3], 8));
    /// ```
    #[track_caller]
    pub fn rand(shape: impl Into<Shape>, seed: u64) -> Tensor {
        Key::new(seed).uniform(shape, constructed())
    }

    /// Numbers from the normal distribution with mean 0 and variance 1, of the default dtype (f64 unless set).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::randn([2, 3], 7).shape(), [2, 3]);
    /// ```
    #[track_caller]
    pub fn randn(shape: impl Into<Shape>, seed: u64) -> Tensor {
        Key::new(seed).normal(shape, constructed())
    }

    /// Uniformly distributed integers from `low` up to `high`, excluded, of dtype i64.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::randint(4, 5, [2], 7), Tensor::from([4i64, 4]));
    /// ```
    #[track_caller]
    pub fn randint(low: i64, high: i64, shape: impl Into<Shape>, seed: u64) -> Tensor {
        Key::new(seed).randint(low, high, shape)
    }

    /// Booleans that are true with `probability`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::bernoulli(1.0, [2], 7), Tensor::from([true, true]));
    /// ```
    #[track_caller]
    pub fn bernoulli(probability: impl Operand, shape: impl Into<Shape>, seed: u64) -> Tensor {
        Key::new(seed).bernoulli(probability, shape)
    }

    /// The integers 0 to `count - 1` in random order, of dtype i64.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::permutation(4, 7).sum().item(), 6.0);
    /// ```
    #[track_caller]
    pub fn permutation(count: usize, seed: u64) -> Tensor {
        Key::new(seed).permutation(count)
    }
}

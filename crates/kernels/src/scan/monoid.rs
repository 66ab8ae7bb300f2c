//! The operations that can be scanned: a state, a step by one element, and the combination of two states.

use crate::dtype::Compute;
use crate::rows::{Float, finite_or_zero};

/// A compute type with its accumulator type for sums and products: `f64` for floats, wrapping `i64` for integers.
///
/// ```
/// fn needs_accumulate<T: wengert_kernels::scan::Accumulate>() {}
/// needs_accumulate::<f32>();
/// needs_accumulate::<i64>();
/// ```
pub trait Accumulate: Compute {
    /// The type of totals.
    #[doc(hidden)]
    type Wide: Compute;
    /// This value as a total.
    #[doc(hidden)]
    fn widen(self) -> Self::Wide;
    /// A total rounded to this type.
    #[doc(hidden)]
    fn narrow(total: Self::Wide) -> Self;
    /// The product; integers wrap around.
    #[doc(hidden)]
    fn times(a: Self::Wide, b: Self::Wide) -> Self::Wide;
}

macro_rules! total {
    ($($rust:ty => $wide:ty, $times:expr;)*) => { $(impl Accumulate for $rust {
        type Wide = $wide;

        #[inline(always)]
        fn widen(self) -> $wide {
            self as $wide
        }

        #[inline(always)]
        fn narrow(total: $wide) -> $rust {
            total as $rust
        }

        #[inline(always)]
        fn times(a: $wide, b: $wide) -> $wide {
            let times: fn($wide, $wide) -> $wide = $times;
            times(a, b)
        }
    })* };
}
total! { f64 => f64, |a, b| a * b; f32 => f64, |a, b| a * b; i64 => i64, i64::wrapping_mul; }

/// An associative operation on states. `T` is the type of the elements.
pub(super) trait Monoid<T> {
    type State: Copy + Send + Sync;
    /// Whether results have an index.
    const INDEXED: bool = false;
    /// The state before the first element.
    fn empty() -> Self::State;
    /// The state after one more element, which is at `position` along the axis.
    fn step(state: Self::State, x: T, position: i64) -> Self::State;
    /// The state after the elements of both; those of `later` follow those of `earlier`.
    fn join(earlier: Self::State, later: Self::State) -> Self::State;
    fn value(state: Self::State) -> T;
    fn index(_: Self::State) -> i64 {
        0
    }
}

pub(super) struct Sum;

impl<T: Accumulate> Monoid<T> for Sum {
    type State = T::Wide;

    #[inline(always)]
    fn empty() -> T::Wide {
        T::Wide::ZERO
    }

    #[inline(always)]
    fn step(state: T::Wide, x: T, _: i64) -> T::Wide {
        state.wrapping_plus(x.widen())
    }

    #[inline(always)]
    fn join(earlier: T::Wide, later: T::Wide) -> T::Wide {
        earlier.wrapping_plus(later)
    }

    #[inline(always)]
    fn value(state: T::Wide) -> T {
        T::narrow(state)
    }
}

pub(super) struct Product;

impl<T: Accumulate> Monoid<T> for Product {
    type State = T::Wide;

    #[inline(always)]
    fn empty() -> T::Wide {
        T::Wide::ONE
    }

    #[inline(always)]
    fn step(state: T::Wide, x: T, _: i64) -> T::Wide {
        T::times(state, x.widen())
    }

    #[inline(always)]
    fn join(earlier: T::Wide, later: T::Wide) -> T::Wide {
        T::times(earlier, later)
    }

    #[inline(always)]
    fn value(state: T::Wide) -> T {
        T::narrow(state)
    }
}

/// `largest` and `sum of e^(x - shift)`, where the shift is `largest`, or 0 when that is infinite.
pub(super) struct LogSumExp;

impl<T: Float> Monoid<T> for LogSumExp {
    type State = (T, T);

    #[inline(always)]
    fn empty() -> (T, T) {
        (-T::INFINITY, T::ZERO)
    }

    #[inline(always)]
    fn step(state: (T, T), x: T, position: i64) -> (T, T) {
        let _ = position;
        Self::join(state, (x, if x == T::INFINITY { T::INFINITY } else { T::ONE }))
    }

    #[inline(always)]
    fn join((a, a_sum): (T, T), (b, b_sum): (T, T)) -> (T, T) {
        let largest = if b > a { b } else { a };
        let shift = finite_or_zero(largest);
        // A sum with maximum infinity was taken with shift 0; a maximum of minus infinity gives the factor 0, so its sum does not
        // contribute.
        let exponent = |value: T| if value == T::INFINITY { T::ZERO } else { value };
        (largest, a_sum * (exponent(a) - shift).exp() + b_sum * (exponent(b) - shift).exp())
    }

    #[inline(always)]
    fn value((largest, sum): (T, T)) -> T {
        T::from_f64(finite_or_zero(largest).to_f64() + sum.to_f64().ln())
    }
}

/// The largest, or with `LEAST` the smallest, and its index; -1 before the first.
pub(super) struct Extreme<const LEAST: bool>;

impl<T: Compute, const LEAST: bool> Monoid<T> for Extreme<LEAST> {
    type State = (T, i64);
    const INDEXED: bool = true;

    #[inline(always)]
    fn empty() -> (T, i64) {
        (T::ZERO, -1)
    }

    #[inline(always)]
    fn step(state: (T, i64), x: T, position: i64) -> (T, i64) {
        Self::join(state, (x, position))
    }

    #[allow(clippy::eq_op)]
    #[inline(always)]
    fn join(earlier: (T, i64), later: (T, i64)) -> (T, i64) {
        let (best, x) = (earlier.0, later.0);
        let reaches = if LEAST { x <= best } else { x >= best };
        let wins = (later.1 >= 0) & ((earlier.1 < 0) | reaches | (x != x));
        if wins { later } else { earlier }
    }

    #[inline(always)]
    fn value(state: (T, i64)) -> T {
        state.0
    }

    #[inline(always)]
    fn index(state: (T, i64)) -> i64 {
        state.1
    }
}

//! floor_divide - quotient rounded down.   z = floor(x / y) of the exact quotient,   dz = 0.   Domain: y != 0; x/0 is infinite or NaN, and
//! 0 for integers.

use crate::prelude::*;
use crate::rules::TILE;
use wengert_kernels::map::loop3;
use wengert_kernels::math::{Real, remainder_slice, round};

/// The methods of `floor_divide`.
#[ext(FloorDivideMethods)]
impl Tensor {
    /// The quotient of two elements, rounded down; without a gradient.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-7.0, 1.0]).floor_divide(&Tensor::from([2.0, 0.1])), Tensor::from([-4.0, 9.0]));
    /// ```
    #[track_caller]
    pub fn floor_divide(&self, other: impl Operand) -> Tensor {
        binary(&FLOOR_DIVIDE, Attrs::new(), self, &other.tensor(self.dtype()))
    }

    /// The quotient of two elements, rounded toward zero; without a gradient.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-7.0, 7.0]).trunc_divide(2.0), Tensor::from([-3.0, 3.0]));
    /// ```
    #[track_caller]
    pub fn trunc_divide(&self, other: impl Operand) -> Tensor {
        (self / other).trunc()
    }
}

/// The quotient from the exact remainder: x / y itself may round up to the next integer.
#[inline(always)]
fn quotient<T: Real>(x: T, y: T, remainder: T) -> T {
    let (none, endless) = (T::of(0.0), T::of(f64::INFINITY));
    if y == none {
        x / y
    } else if (y == endless || y == -endless) && x < endless && x > -endless {
        if x != none && (x < none) != (y < none) { T::of(-1.0) } else { none }
    } else {
        round((x - remainder) / y)
    }
}

fn quotient_slice<T: Real>(x: &[T], y: &[T], out: &mut [T]) {
    let mut rest = [T::of(0.0); TILE];
    for ((x, y), out) in x.chunks(TILE).zip(y.chunks(TILE)).zip(out.chunks_mut(TILE)) {
        let rest = &mut rest[..x.len()];
        remainder_slice(x, y, rest);
        loop3(
            x,
            y,
            rest,
            out,
            #[inline(always)]
            |x: T, y: T, rest: T| quotient(x, y, rest),
        );
    }
}

elementwise! {
    FLOOR_DIVIDE = "floor_divide",
    value: |x, y| quotient(x, y, remainder(x, y)),
    slices: quotient_slice(x, y),
    integer: |x, y| if y == 0 { 0 } else { x.wrapping_div(y) - i64::from(x.wrapping_rem(y) != 0 && (x < 0) != (y < 0)) },
    slopes: [
        slope!(zero),
        slope!(zero)
    ],
    rule: "no gradient",
    reference: |x, y| (x / y).floor(),
    domain: Points(|u, v| { let y = (1.0 + 0.2 * v).copysign(v); (y * ((1.5 * u).round() + 0.5 + 0.1 * u), y) }),
    edges: &[(1.0, 0.0, f64::INFINITY), (-7.0, 2.0, -4.0)],
    jet: Constant,
}

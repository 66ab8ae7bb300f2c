//! powf - power with a number as exponent.   y = x^p,   dy = p x^(p-1) dx.   Domain: x > 0, or x of any sign and integer p; an integer p
//! never goes through a logarithm. The gradient for p = 0 is 0, at x = 0 too.

use crate::prelude::*;
use crate::rules::TILE;
use wengert_kernels::map::{loop1, loop1_in_place};
use wengert_kernels::math::{Real, powf, powf_slice, powi, powi_slice, rsqrt, sqrt};

/// The methods of `powf`.
#[ext(PowfMethods)]
impl Tensor {
    /// Every element raised to the power of a number.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([-3.0, 0.0]).require_grad();
    /// x.powf(2.0).sum().backward();
    /// assert_eq!(x.grad().unwrap(), Tensor::from([-6.0, 0.0]));
    /// ```
    #[track_caller]
    pub fn powf(&self, exponent: f64) -> Tensor {
        let whole = exponent.fract() == 0.0 && exponent >= 0.0;
        if !self.dtype().is_float() && !whole {
            let message = format!("a tensor of {} has no power {exponent}", self.dtype());
            Error::new(ErrorKind::DType(vec![self.dtype()]), "powf", message)
                .help("convert it first, for example with .cast(DType::F64)")
                .raise();
        }
        bind1(&POWF, Attrs::new().with_real("exponent", exponent), &[self])
    }

    /// Every element raised to an integer power.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([2i64, -3]).powi(3), Tensor::from([8i64, -27]));
    /// ```
    #[track_caller]
    pub fn powi(&self, exponent: i64) -> Tensor {
        self.powf(exponent as f64)
    }
}

/// The exponent as an integer, if repeated multiplication is preferable.
#[inline(always)]
fn as_whole<T: Real>(exponent: T) -> Option<i64> {
    let p = exponent.wide();
    (p.fract() == 0.0 && p.abs() <= 4.0).then_some(p as i64)
}

#[inline(always)]
fn power<T: Real>(x: T, exponent: T) -> T {
    match as_whole(exponent) {
        Some(n) => powi(x, n),
        None if exponent == T::of(0.5) => sqrt(x),
        None if exponent == T::of(-0.5) => rsqrt(x),
        None => powf(x, exponent),
    }
}

fn power_slice<T: Real>(x: &[T], exponent: T, out: &mut [T]) {
    match as_whole(exponent) {
        Some(n) => powi_slice(x, n, out),
        None if exponent == T::of(0.5) => loop1(
            x,
            out,
            #[inline(always)]
            |x| sqrt(x),
        ),
        None if exponent == T::of(-0.5) => loop1(
            x,
            out,
            #[inline(always)]
            |x| rsqrt(x),
        ),
        _ => {
            let exponents = [exponent; TILE];
            for (x, out) in x.chunks(TILE).zip(out.chunks_mut(TILE)) {
                powf_slice(x, &exponents[..x.len()], out);
            }
        }
    }
}

#[inline(always)]
fn power_slope<T: Real>(x: T, exponent: T) -> T {
    if exponent == T::of(0.0) { exponent } else { exponent * power(x, exponent - T::of(1.0)) }
}

fn slope_slice<T: Real>(x: &[T], exponent: T, out: &mut [T]) {
    if exponent == T::of(0.0) {
        return out.fill(exponent);
    }
    power_slice(x, exponent - T::of(1.0), out);
    loop1_in_place(
        out,
        #[inline(always)]
        |power| exponent * power,
    );
}

/// For negative exponents, the same power divided by x, so that slopes of all orders share finitely many powers; at 0 both are infinite.
fn slope_tensor(x: &Tensor, exponent: f64) -> Tensor {
    match exponent {
        0.0 => x.full_like(0.0),
        _ if exponent < 0.0 => x.powf(exponent) / x * exponent,
        _ => x.powf(exponent - 1.0) * exponent,
    }
}

elementwise! {
    POWF = "powf",
    parameters: [exponent = 2.0],
    also: [[3.0], [0.0], [1.0], [0.5], [-1.0], [-2.5], [7.0]],
    value: |x| power(x, exponent),
    slices: power_slice(x, exponent),
    integer: |x| x.wrapping_pow(exponent as u32),
    slopes: [slope!(|x: operand 0; exponent| power_slope(x, exponent), slices: slope_slice(x, exponent), tensor: slope_tensor(x, exponent))],
    rule: "dx = p x^(p-1) dy",
    reference: |x| if exponent.fract() == 0.0 { x.powi(exponent as i32) } else { (exponent * x.ln()).exp() },
    domain: Positive,
    edges: &[(0.0, 0.0), (-3.0, 9.0)],
    jet: Slope,
}

//! Adaptive Gauss-Kronrod quadrature: intervals are halved until they are accurate enough.

use super::diverged;
use crate::Real;
use crate::expect::expect;
use std::panic::Location;
use wengert_engine::{Error, ErrorKind};

/// Nodes in [-1, 1] from the end to the middle, with the weights of the 15-point Kronrod and the 7-point Gauss rule.
const NODES: [(f64, f64, f64); 8] = [
    (0.991_455_371_120_812_6, 0.022_935_322_010_529_224, 0.0),
    (0.949_107_912_342_758_5, 0.063_092_092_629_978_56, 0.129_484_966_168_869_7),
    (0.864_864_423_359_769_1, 0.104_790_010_322_250_19, 0.0),
    (0.741_531_185_599_394_4, 0.140_653_259_715_525_92, 0.279_705_391_489_276_7),
    (0.586_087_235_467_691_1, 0.169_004_726_639_267_9, 0.0),
    (0.405_845_151_377_397_2, 0.190_350_578_064_785_4, 0.381_830_050_505_118_9),
    (0.207_784_955_007_898_47, 0.204_432_940_075_298_9, 0.0),
    (0.0, 0.209_482_141_084_727_82, 0.417_959_183_673_469_4),
];

/// Maximum number of intervals, and their minimum width relative to the whole.
const PARTS: usize = 4096;
const SMALLEST: f64 = 1e-14;

/// The integral of `f` from `a` to `b`, to about an absolute error of `tolerance`.
///
/// Nodes are chosen by the values alone. Derivatives with respect to variables that `f` captures are integrals over the same nodes. The
/// derivative with respect to an end is the value of `f` there, which must be finite. Ends must be finite. Features that fall between the
/// first nodes, such as a peak much narrower than the interval, may be missed: split the integral around them.
///
/// ```
/// use wengert_scalar::{Real, Var, gradient_of, integrate};
/// // sin(w t) / w from t = 0.
/// let area = |[w, t]: [Var; 2]| integrate(|x| (w * x).cos(), 0.0.into(), t, 1e-12);
/// let (value, [by_w, by_t]) = gradient_of(area, [2.0, 0.5]);
/// assert!((value - 1f64.sin() / 2.0).abs() < 1e-14);
/// assert!((by_w - (0.5 * 1f64.cos() / 2.0 - 1f64.sin() / 4.0)).abs() < 1e-14);
/// assert_eq!(by_t, 1f64.cos());
/// ```
#[track_caller]
pub fn integrate<T: Real>(f: impl Fn(T) -> T, a: T, b: T, tolerance: f64) -> T {
    match try_integrate(f, a, b, tolerance) {
        Ok(integral) => integral,
        Err(error) => error.raise(),
    }
}

/// Like [`integrate`], but returns an error if the tolerance is not reached.
///
/// ```
/// use wengert_engine::ErrorKind;
/// use wengert_scalar::{Real, try_integrate};
/// let error = try_integrate(|x: f64| x.recip(), 0.0, 1.0, 1e-6).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Diverged { .. }));
/// ```
#[track_caller]
pub fn try_integrate<T: Real>(f: impl Fn(T) -> T, a: T, b: T, tolerance: f64) -> Result<T, Error> {
    let line = Location::caller();
    expect(tolerance >= 0.0, "integrate", || format!("the tolerance is {tolerance}"));
    let [from, to] = match (a.plain(), b.plain()) {
        (Some(a), Some(b)) => [a, b].map(T::lit),
        _ => [a, b],
    };
    let middle = adaptive(&f, from, to, tolerance).map_err(|error| error.at(line))?;
    let ends = [(to, b, 1.0), (from, a, -1.0)];
    let moving = ends.into_iter().filter(|(_, end, _)| end.plain().is_some() && !end.is_constant());
    Ok(moving.fold(middle, |sum, (from, to, sign)| sum + T::lit(sign) * beside(&f, from, to)))
}

/// The integral over an empty interval, from a number without derivatives to the same number with derivatives. The rule is exact to the
/// order of differentiation.
fn beside<T: Real>(f: &impl Fn(T) -> T, from: T, to: T) -> T {
    let width = to - from;
    let at = |(node, weight): (f64, f64)| T::lit(0.5 * weight) * f(from + width * T::lit(0.5 * (1.0 + node)));
    if T::ORDER <= 2 {
        return width * at((0.0, 2.0));
    }
    let gauss = nodes().filter(|(_, _, weight)| *weight > 0.0);
    width * gauss.map(|(node, _, weight)| at((node, weight))).sum::<T>()
}

/// All nodes, from left to right.
fn nodes() -> impl Iterator<Item = (f64, f64, f64)> {
    let left = NODES.iter().map(|(node, kronrod, gauss)| (-node, *kronrod, *gauss));
    left.chain(NODES.iter().rev().skip(1).copied())
}

/// A subinterval in units of the whole, its contribution to the mean of the function, and an error estimate.
struct Subinterval<T> {
    from: f64,
    to: f64,
    mean: T,
    error: T,
}

impl<T: Real> Subinterval<T> {
    fn new(from: f64, to: f64, f: &impl Fn(T) -> T, a: T, width: T) -> Subinterval<T> {
        let half = 0.5 * (to - from);
        let values: Vec<T> = nodes().map(|(node, ..)| f(a + width * T::lit(from + half * (1.0 + node)))).collect();
        let kronrod: Vec<T> = nodes().map(|(_, kronrod, _)| T::lit(half * kronrod)).collect();
        let beyond: Vec<T> = nodes().map(|(_, kronrod, gauss)| T::lit(half * (kronrod - gauss))).collect();
        // Values that decisions depend on are not recorded.
        let seen: Vec<T> = values.iter().map(|value| value.plain().map_or(*value, T::lit)).collect();
        let mean = T::dot(&seen, &kronrod) / T::lit(2.0 * half);
        let sizes: Vec<T> = seen.iter().map(|value| value.abs()).collect();
        let spread: Vec<T> = seen.iter().map(|value| (*value - mean).abs()).collect();
        let (size, spread) = (T::dot(&sizes, &kronrod), T::dot(&spread, &kronrod));
        // The difference of the rules is the error of the worse one. That of the better one is a power of it, as in QUADPACK.
        let difference = T::dot(&seen, &beyond).abs();
        let error = if difference <= T::lit(50.0 * f64::EPSILON) * size {
            T::lit(0.0)
        } else {
            let share = T::lit(200.0) * difference / spread;
            if share < T::lit(1.0) { spread * share * share.sqrt() } else { difference }
        };
        Subinterval { from, to, mean: T::dot(&values, &kronrod), error }
    }
}

fn adaptive<T: Real>(f: &impl Fn(T) -> T, a: T, b: T, tolerance: f64) -> Result<T, Error> {
    const NAME: &str = "integrate";
    let width = b - a;
    if !super::is_finite(width) {
        let message = format!("from {a} to {b} is no finite range");
        return Err(Error::new(ErrorKind::Argument, NAME, message).help("substitute x = t / (1 - t^2), or the like"));
    }
    let mut parts = vec![Subinterval::new(0.0, 1.0, f, a, width)];
    loop {
        let left = parts.iter().fold(T::lit(0.0), |sum, part| sum + part.error) * width.abs();
        let left = left.plain().map_or(left, T::lit);
        if left <= T::lit(tolerance) {
            let integral = width * T::sum_of(&parts.iter().map(|part| part.mean).collect::<Vec<T>>());
            return match super::is_finite(integral) {
                true => Ok(integral),
                false => Err(diverged(NAME, parts.len(), integral, format!("the integrand is not finite: {integral}"))
                    .help("begin and end at the poles: there is no node at an end")),
            };
        }
        let share = T::lit(tolerance / parts.len() as f64);
        let mut halved = Vec::with_capacity(2 * parts.len());
        let before = parts.len();
        for part in parts {
            if part.to - part.from > SMALLEST && part.error * width.abs() > share {
                let middle = 0.5 * (part.from + part.to);
                halved.push(Subinterval::new(part.from, middle, f, a, width));
                halved.push(Subinterval::new(middle, part.to, f, a, width));
            } else {
                halved.push(part);
            }
        }
        parts = halved;
        if parts.len() == before || parts.len() > PARTS {
            let message =
                format!("in {} parts the error is still {left}, where {tolerance:e} is asked for", parts.len());
            return Err(diverged(NAME, parts.len(), left, message)
                .help("the integrand has no integral, is not finite, or is less exact than the tolerance"));
        }
    }
}

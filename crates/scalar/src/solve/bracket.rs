//! Finds a root in an interval, which no step can leave.

use super::{Equation, Search, diverged, solved};
use crate::{Dual, Real};
use std::panic::Location;
use wengert_engine::{Error, ErrorKind};

/// Maximum number of steps; bisection alone needs fewer.
const STEPS: usize = 2500;

/// The root of an [`Equation`] in an interval. It uses Newton's method, and bisection where that would leave the interval or be slow. The
/// signs at the ends must differ. Derivatives with respect to the parameters follow from the implicit function theorem; the ends have none.
///
/// ```
/// use wengert_scalar::{Equation, Real, gradient_of, root_in};
///
/// /// The rate at which a payment of 100 a year for some years is worth a price.
/// struct Rate;
/// impl Equation for Rate {
///     fn at<T: Real>(&self, rate: T, p: &[T]) -> T {
///         T::lit(100.0) * (T::lit(1.0) - (-rate * p[1]).exp()) / rate - p[0]
///     }
/// }
///
/// let (rate, [by_price, by_years]) = gradient_of(|[price, years]| root_in(&Rate, [1e-6, 1.0], &[price, years]), [800.0, 10.0]);
/// assert!(rate > 0.04 && rate < 0.05 && by_price < 0.0 && by_years > 0.0);
/// ```
#[track_caller]
pub fn root_in<T: Real>(equation: &impl Equation, ends: [f64; 2], parameters: &[T]) -> T {
    match try_root_in(equation, ends, parameters) {
        Ok(x) => x,
        Err(error) => error.raise(),
    }
}

/// Like [`root_in`], but returns an error if the signs at the ends do not differ.
///
/// ```
/// use wengert_engine::ErrorKind;
/// use wengert_scalar::{Equation, Real, try_root_in};
///
/// struct Square;
/// impl Equation for Square {
///     fn at<T: Real>(&self, x: T, p: &[T]) -> T {
///         x * x - p[0]
///     }
/// }
/// assert_eq!(try_root_in(&Square, [0.0, 3.0], &[4.0]).unwrap(), 2.0);
/// assert_eq!(try_root_in(&Square, [-3.0, 3.0], &[4.0]).unwrap_err().kind(), &ErrorKind::Argument);
/// ```
#[track_caller]
pub fn try_root_in<T: Real>(equation: &impl Equation, ends: [f64; 2], parameters: &[T]) -> Result<T, Error> {
    let line = Location::caller();
    let x = solved(&Bracket { equation, ends }, parameters).map_err(|error| error.at(line))?;
    Ok(x[0])
}

struct Bracket<'s, E> {
    equation: &'s E,
    ends: [f64; 2],
}

impl<E: Equation> Search for Bracket<'_, E> {
    const NAME: &'static str = "root_in";

    fn residual<T: Real>(&self, x: &[T], parameters: &[T]) -> Vec<T> {
        vec![self.equation.at(x[0], parameters)]
    }

    fn find<T: Real>(&self, parameters: &[T]) -> Result<Vec<T>, Error> {
        let zero = T::lit(0.0);
        let [mut below, mut above] = self.ends.map(T::lit);
        let values = [below, above].map(|x| self.equation.at(x, parameters));
        if let Some(end) = values.iter().position(|value| *value == zero) {
            return Ok(vec![T::lit(self.ends[end])]);
        }
        // The value is negative at `below`, which may be the larger end.
        if values[0] > zero {
            std::mem::swap(&mut below, &mut above);
        }
        if !(values[0] < zero && values[1] > zero || values[0] > zero && values[1] < zero) {
            let message = format!("at the ends {:?} the values are {} and {}", self.ends, values[0], values[1]);
            return Err(Error::new(ErrorKind::Argument, Self::NAME, message)
                .help("choose ends at which the signs of the equation differ"));
        }
        let (least, half) = (T::lit(f64::MIN_POSITIVE), T::lit(0.5));
        let largest = values[0].abs().max(values[1].abs());
        let parameters: Vec<Dual<T, 1>> = parameters.iter().map(|parameter| Dual::from(*parameter)).collect();
        let (mut x, mut last) = ((below + above) * half, (above - below).abs());
        for steps in 0..STEPS {
            let there = self.equation.at(Dual::new(x, [T::lit(1.0)]), &parameters);
            let (value, [slope]) = (there.value(), *there.tangents());
            if value == zero {
                return Ok(vec![x]);
            }
            if value < zero {
                below = x;
            } else if value > zero {
                above = x;
            } else {
                return Err(diverged(Self::NAME, steps, value, format!("the equation is not a number at {x}")));
            }
            let newton = x - value / slope;
            let is_inside = (newton - below) * (newton - above) < zero;
            let next = match is_inside && (newton - x).abs() <= last * half {
                true => newton,
                false => (below + above) * half,
            };
            last = (next - x).abs();
            x = next;
            if last <= x.abs() * T::lit(f64::EPSILON) || last <= least {
                // The sign also changes at a pole.
                return match value.abs() <= largest {
                    true => Ok(vec![x]),
                    false => Err(diverged(
                        Self::NAME,
                        steps,
                        value,
                        format!("near {x} the equation jumps from sign to sign"),
                    )),
                };
            }
        }
        Err(diverged(Self::NAME, STEPS, last, format!("after {STEPS} steps a further one still changes x by {last}")))
    }
}

//! Gradients inside of functions that are differentiated themselves, each forward or in reverse.

use std::array::from_fn;
use wengert::scalar::{Dual, Real, Var, gradient_of, recording};

/// A function of `K` numbers.
pub(crate) trait Function<const K: usize> {
    /// Its value.
    fn at<T: Real>(&self, x: [T; K]) -> T;
}

/// A function of `N` numbers that takes gradients on its way.
pub(crate) trait Program<const N: usize> {
    /// Its value.
    fn at<T: Outer>(&self, x: [T; N]) -> T;
}

/// One of the two ways to differentiate.
pub(crate) trait Mode: Copy {
    /// The gradient of a program.
    fn outer<P: Program<N>, const N: usize>(self, program: &P, x: [f64; N]) -> [f64; N];

    /// The derivatives of a function by its first `N` numbers, inside of a program.
    fn inner<T: Outer, F: Function<K>, const K: usize, const N: usize>(self, f: &F, x: [T; K]) -> [T; N];
}

/// By dual numbers.
#[derive(Clone, Copy)]
pub(crate) struct Forward;

/// By a tape.
#[derive(Clone, Copy)]
pub(crate) struct Reverse;

impl Mode for Forward {
    fn outer<P: Program<N>, const N: usize>(self, program: &P, x: [f64; N]) -> [f64; N] {
        *program.at::<Dual<f64, N>>(from_fn(|i| Dual::variable(x[i], i))).tangents()
    }

    fn inner<T: Outer, F: Function<K>, const K: usize, const N: usize>(self, f: &F, x: [T; K]) -> [T; N] {
        *f.at::<Dual<T, N>>(from_fn(|i| Dual::new(x[i], unit(i)))).tangents()
    }
}

impl Mode for Reverse {
    fn outer<P: Program<N>, const N: usize>(self, program: &P, x: [f64; N]) -> [f64; N] {
        gradient_of(|x| program.at::<Var>(x), x).1
    }

    fn inner<T: Outer, F: Function<K>, const K: usize, const N: usize>(self, f: &F, x: [T; K]) -> [T; N] {
        T::gradient_in_reverse(f, x)
    }
}

/// A number of a program: a float, or one that the program is differentiated with.
pub(crate) trait Outer: Real {
    /// The derivatives of a function by its first `N` numbers, by a tape.
    fn gradient_in_reverse<F: Function<K>, const K: usize, const N: usize>(f: &F, x: [Self; K]) -> [Self; N];
}

impl Outer for f64 {
    fn gradient_in_reverse<F: Function<K>, const K: usize, const N: usize>(f: &F, x: [f64; K]) -> [f64; N] {
        let of_first = |first: [Var; N]| f.at(from_fn(|i| if i < N { first[i] } else { Var::lit(x[i]) }));
        gradient_of(of_first, from_fn(|i| x[i])).1
    }
}

/// Forward over reverse: the tangents of a gradient are the gradients of the tangents.
impl<const D: usize> Outer for Dual<f64, D> {
    fn gradient_in_reverse<F: Function<K>, const K: usize, const N: usize>(f: &F, x: [Self; K]) -> [Self; N] {
        recording(|tape| {
            let first: [Var; N] = from_fn(|i| tape.input(x[i].value()));
            let value = |i: usize| if i < N { first[i] } else { Var::lit(x[i].value()) };
            let y = f.at::<Dual<Var, D>>(from_fn(|i| Dual::new(value(i), x[i].tangents().map(Var::lit))));
            let pull = |y: Var| {
                let mut slopes = [0.0; N];
                tape.pull(y, &first, &mut slopes);
                slopes
            };
            let (gradient, tangents) = (pull(y.value()), y.tangents().map(pull));
            from_fn(|i| Dual::new(gradient[i], tangents.map(|tangent| tangent[i])))
        })
    }
}

/// Reverse over reverse: each derivative is one statement of the tape around, whose slopes are found on a tape of its own.
impl Outer for Var {
    fn gradient_in_reverse<F: Function<K>, const K: usize, const N: usize>(f: &F, x: [Var; K]) -> [Var; N] {
        let directions: [Dual<f64, K>; K] = from_fn(|i| Dual::variable(x[i].value(), i));
        let gradient: [Dual<f64, K>; N] = Outer::gradient_in_reverse(f, directions);
        gradient.map(|slope| Var::of(slope.value(), &x, slope.tangents()))
    }
}

/// 1 in one place, 0 elsewhere, and everywhere if there is no such place.
fn unit<T: Real, const N: usize>(place: usize) -> [T; N] {
    from_fn(|i| T::lit(if i == place { 1.0 } else { 0.0 }))
}

//! Gradients inside functions that are themselves differentiated, each in forward or reverse mode.

use std::array::from_fn;
use std::cell::RefCell;
use wengert::scalar::{Dual, Real, Replay, Symbol, Var, gradient_of};

/// A function of `K` numbers.
pub(crate) trait Function<const K: usize>: 'static {
    /// Its value.
    fn at<T: Real>(&self, x: [T; K]) -> T;
}

/// A function of `N` numbers that takes gradients internally.
pub(crate) trait Program<const N: usize> {
    /// Its value.
    fn at<T: Outer>(&self, x: [T; N]) -> T;
}

/// A function whose gradient can be taken inside a program.
pub(crate) trait Inner<const K: usize> {
    /// Its derivatives with respect to the first `N` numbers.
    fn gradient<T: Outer, const N: usize>(&self, x: [T; K]) -> [T; N];
}

/// One of the two modes of differentiation.
pub(crate) trait Mode: Copy {
    /// The gradient of a program.
    fn outer<P: Program<N>, const N: usize>(self, program: &P, x: [f64; N]) -> [f64; N];

    /// A function that is differentiated in this mode.
    fn inner<F: Function<K>, const K: usize>(self, f: F) -> impl Inner<K>;
}

/// Forward mode, by dual numbers.
#[derive(Clone, Copy)]
pub(crate) struct Forward;

/// Reverse mode, by a tape; inside, by a replay, which is recorded once.
#[derive(Clone, Copy)]
pub(crate) struct Reverse;

impl Mode for Forward {
    fn outer<P: Program<N>, const N: usize>(self, program: &P, x: [f64; N]) -> [f64; N] {
        *program.at::<Dual<f64, N>>(from_fn(|i| Dual::variable(x[i], i))).tangents()
    }

    fn inner<F: Function<K>, const K: usize>(self, f: F) -> impl Inner<K> {
        ByDuals(f)
    }
}

impl Mode for Reverse {
    fn outer<P: Program<N>, const N: usize>(self, program: &P, x: [f64; N]) -> [f64; N] {
        gradient_of(|x| program.at::<Var>(x), x).1
    }

    fn inner<F: Function<K>, const K: usize>(self, f: F) -> impl Inner<K> {
        let at: Box<dyn Fn(&[Symbol]) -> Symbol> = Box::new(move |x| f.at(from_fn(|i| x[i])));
        RefCell::new(Replay::record(at, &[1.0; K]))
    }
}

struct ByDuals<F>(F);

impl<F: Function<K>, const K: usize> Inner<K> for ByDuals<F> {
    fn gradient<T: Outer, const N: usize>(&self, x: [T; K]) -> [T; N] {
        *self.0.at::<Dual<T, N>>(from_fn(|i| Dual::new(x[i], unit(i)))).tangents()
    }
}

type Recorded = Replay<Box<dyn Fn(&[Symbol]) -> Symbol>>;

impl<const K: usize> Inner<K> for RefCell<Recorded> {
    fn gradient<T: Outer, const N: usize>(&self, x: [T; K]) -> [T; N] {
        let all = T::gradient_of(&mut self.borrow_mut(), x, N);
        from_fn(|i| all[i])
    }
}

/// A number type of a program: a float, or a type that the program is differentiated with.
pub(crate) trait Outer: Real {
    /// The gradient of a recorded function; the program only uses the first `count` derivatives.
    fn gradient_of<const K: usize>(f: &mut Recorded, x: [Self; K], count: usize) -> [Self; K];
}

impl Outer for f64 {
    fn gradient_of<const K: usize>(f: &mut Recorded, x: [f64; K], _: usize) -> [f64; K] {
        let mut slopes = [0.0; K];
        f.value_and_grad(&x, &mut slopes);
        slopes
    }
}

/// Forward over reverse: the tangents of a gradient are Hessian-vector products.
impl<const D: usize> Outer for Dual<f64, D> {
    fn gradient_of<const K: usize>(f: &mut Recorded, x: [Self; K], count: usize) -> [Self; K] {
        let values = x.map(|x| x.value());
        let slopes = f64::gradient_of(f, values, count);
        let products: [[f64; K]; D] = from_fn(|direction| product(f, &values, from_fn(|i| x[i].tangents()[direction])));
        from_fn(|i| Dual::new(slopes[i], from_fn(|direction| products[direction][i])))
    }
}

/// Reverse over reverse: each derivative is one statement of the outer tape, whose partial derivatives are a row of the Hessian.
impl Outer for Var {
    fn gradient_of<const K: usize>(f: &mut Recorded, x: [Var; K], count: usize) -> [Var; K] {
        let values = x.map(Var::value);
        let slopes = f64::gradient_of(f, values, count);
        from_fn(|i| match i < count {
            true => Var::of(slopes[i], &x, &product(f, &values, unit(i))),
            false => Var::lit(slopes[i]),
        })
    }
}

/// A Hessian-vector product.
fn product<const K: usize>(f: &mut Recorded, x: &[f64; K], vector: [f64; K]) -> [f64; K] {
    let mut product = [0.0; K];
    f.hvp(x, &vector, &mut product);
    product
}

/// 1 at one index and 0 elsewhere; all zeros if the index is out of range.
fn unit<T: Real, const N: usize>(place: usize) -> [T; N] {
    from_fn(|i| T::lit(if i == place { 1.0 } else { 0.0 }))
}

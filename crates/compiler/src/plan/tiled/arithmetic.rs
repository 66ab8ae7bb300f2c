//! Fuses two arithmetic operations into one instruction of a loop, so that the intermediate result stays in a vector register.

use crate::DType;
use crate::ground::items::{ADD, GUARDED_MUL, MUL, SUB};
use crate::primitive::Primitive;
use crate::rules::{guarded, lane};
use wengert_kernels::dtype::Compute;
use wengert_kernels::map::loop3;
use wengert_kernels::tiled::Lane;

/// Operations that are cheaper than loading their operands, so that two cost little more than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    Add,
    Sub,
    Mul,
    Guarded,
}

impl Arithmetic {
    /// The arithmetic operation of a primitive, if it is one.
    pub fn of(op: &'static dyn Primitive) -> Option<Arithmetic> {
        let known: [(&'static dyn Primitive, Arithmetic); 4] = [
            (ADD, Arithmetic::Add),
            (SUB, Arithmetic::Sub),
            (MUL, Arithmetic::Mul),
            (GUARDED_MUL, Arithmetic::Guarded),
        ];
        known.into_iter().find(|(item, _)| op.is(*item)).map(|(_, arithmetic)| arithmetic)
    }

    /// `outer(self(a, b), c)`, or with `c` on the left, on registers a, b and c, with the same bits as two instructions. `None` if storing
    /// the intermediate result would round it.
    pub fn then(self, outer: Arithmetic, c_is_left: bool, dtype: DType) -> Option<Lane> {
        match dtype {
            DType::F32 => Some(both::<f32>(self, outer, c_is_left)),
            DType::F64 => Some(both::<f64>(self, outer, c_is_left)),
            _ => None,
        }
    }
}

fn both<T: Compute>(inner: Arithmetic, outer: Arithmetic, c_is_left: bool) -> Lane {
    match inner {
        Arithmetic::Add => behind(outer, c_is_left, |a: T, b: T| a + b),
        Arithmetic::Sub => behind(outer, c_is_left, |a: T, b: T| a - b),
        Arithmetic::Mul => behind(outer, c_is_left, |a: T, b: T| a * b),
        Arithmetic::Guarded => behind(outer, c_is_left, guarded::<T>),
    }
}

fn behind<T: Compute>(
    outer: Arithmetic,
    c_is_left: bool,
    inner: impl Fn(T, T) -> T + Copy + Send + Sync + 'static,
) -> Lane {
    match (outer, c_is_left) {
        (Arithmetic::Add, _) => made(move |a, b, c| inner(a, b) + c),
        (Arithmetic::Mul, _) => made(move |a, b, c| inner(a, b) * c),
        (Arithmetic::Sub, false) => made(move |a, b, c| inner(a, b) - c),
        (Arithmetic::Sub, true) => made(move |a, b, c| c - inner(a, b)),
        (Arithmetic::Guarded, false) => made(move |a, b, c| guarded(inner(a, b), c)),
        (Arithmetic::Guarded, true) => made(move |a, b, c| guarded(c, inner(a, b))),
    }
}

fn made<T: Compute>(f: impl Fn(T, T, T) -> T + Copy + Send + Sync + 'static) -> Lane {
    lane(T::DTYPE, move |x: &[&[T]], out: &mut [T]| loop3(x[0], x[1], x[2], out, f))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(op: Arithmetic, a: f64, b: f64) -> f64 {
        match op {
            Arithmetic::Add => a + b,
            Arithmetic::Sub => a - b,
            Arithmetic::Mul => a * b,
            Arithmetic::Guarded if a == 0.0 || (b == 0.0 && !a.is_nan()) => 0.0,
            Arithmetic::Guarded => a * b,
        }
    }

    #[test]
    fn a_pair_has_the_bits_of_two_operations() {
        let numbers = [0.0, 0.1, -1.7, 3e300, f64::INFINITY, f64::NAN];
        let names = [ADD, SUB, MUL, GUARDED_MUL].map(|op| Arithmetic::of(op).unwrap());
        for (inner, outer) in names.iter().flat_map(|inner| names.map(|outer| (*inner, outer))) {
            for c_is_left in [false, true] {
                let pair = inner.then(outer, c_is_left, DType::F64).unwrap();
                for (a, b) in numbers.iter().flat_map(|a| numbers.map(|b| (*a, b))) {
                    for c in numbers {
                        let mut found = [0f64];
                        let bytes = [[a], [b], [c]];
                        let bytes: Vec<&[u8]> = bytes.iter().map(|x| bytemuck::cast_slice(&x[..])).collect();
                        pair(&bytes, bytemuck::cast_slice_mut(&mut found));
                        let between = one(inner, a, b);
                        let (left, right) = if c_is_left { (c, between) } else { (between, c) };
                        let right = one(outer, left, right);
                        let same = found[0].to_bits() == right.to_bits() || (found[0].is_nan() && right.is_nan());
                        assert!(same, "{inner:?} {outer:?} {c_is_left}: {a} {b} {c}: {} {right}", found[0]);
                    }
                }
            }
        }
    }

    #[test]
    fn half_precision_rounds_in_between() {
        assert!(Arithmetic::Add.then(Arithmetic::Mul, false, DType::BF16).is_none());
    }
}

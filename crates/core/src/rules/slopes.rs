//! Slopes of elementwise operations: their inputs and their evaluation.

use crate::primitive::{Rule, Saves};
use crate::tensor::{Dense, One, Value};
use crate::{DType, Tensor};
use std::ops::Neg;
use wengert_kernels::dtype::Compute;
use wengert_kernels::functions::{Parameters, SlopeLoops};
use wengert_kernels::map::{Stored, loop1};

/// The derivative with respect to one operand.
pub enum Slope {
    Zero,
    One,
    MinusOne,
    /// The parameter at this index.
    Parameter(usize),
    Expression(SlopeExpression),
}

impl Slope {
    /// The gradient for a cotangent: itself, its negative, or times an expression; `None` is a zero. There are no parameters.
    #[inline(always)]
    pub fn of<G, R>(
        &self,
        g: G,
        same: impl FnOnce(G) -> R,
        opposite: impl FnOnce(G) -> R,
        times: impl FnOnce(&SlopeExpression, G) -> R,
    ) -> Option<R> {
        match self {
            Slope::Zero => None,
            Slope::One => Some(same(g)),
            Slope::MinusOne => Some(opposite(g)),
            Slope::Parameter(_) => unreachable!("shortcuts are for operations without parameters"),
            Slope::Expression(slope) => Some(times(slope, g)),
        }
    }
}

/// A slope computed from one or two saved tensors.
pub struct SlopeExpression {
    /// The tensors behind the expression's names.
    pub sources: &'static [SavedValue],
    pub needs: Needs,
    /// The expression as written, the names of its inputs, and the names of its parameters.
    pub text: &'static str,
    pub names: &'static [&'static str],
    pub parameters: &'static [&'static str],
    /// Whether the slope equals its input, as for a product.
    pub is_source: bool,
    /// Whether a zero on either side stays zero even if the other side is NaN.
    pub keeps_both: bool,
    pub tensor: fn(&[&Tensor], Parameters<f64>) -> Tensor,
    pub f64: &'static SlopeLoops<f64>,
    pub f32: &'static SlopeLoops<f32>,
}

impl SlopeExpression {
    /// The first input; with a single source, it is both the first and the last.
    #[inline]
    pub fn first(&self) -> SavedValue {
        self.sources[0]
    }

    /// See [`first`](SlopeExpression::first).
    #[inline]
    pub fn last(&self) -> SavedValue {
        self.sources[self.sources.len() - 1]
    }

    /// `g * slope` on values, zero where `g` is zero; `a` and `b` are the inputs of the slope. It is written over `g` if no other handle
    /// shares it.
    pub fn times(&self, g: Value, a: &Value, b: &Value, p: Parameters<f64>) -> Value {
        match (g, a, b) {
            (Value::One(g), Value::One(a), Value::One(b)) if has_loops(g.dtype) => {
                Value::One(One { bits: self.times_one(g, a, b, p), ..g })
            }
            // Bypasses views and tiles.
            (Value::Dense(g), Value::Dense(a), Value::Dense(b)) if g.is_short() && g.is_like(a) && g.is_like(b) => {
                match g.dtype() {
                    DType::F64 => Value::Dense(self.times_row::<f64>(g, a, b, p)),
                    DType::F32 => Value::Dense(self.times_row::<f32>(g, a, b, p)),
                    _ => self.times_any(Value::Dense(g), &Value::Dense(a.clone()), &Value::Dense(b.clone()), p),
                }
            }
            (g, a, b) => self.times_any(g, a, b, p),
        }
    }

    /// [`times`](SlopeExpression::times) for one element in f64 or f32, as bits.
    #[inline]
    pub fn times_one(&self, g: One, a: &One, b: &One, p: Parameters<f64>) -> u64 {
        match g.dtype {
            DType::F64 => {
                let read = f64::from_bits;
                (self.f64.one)(read(g.bits), read(a.bits), read(b.bits), p).to_bits()
            }
            _ => {
                let read = |bits: u64| f32::from_bits(bits as u32);
                u64::from((self.f32.one)(read(g.bits), read(a.bits), read(b.bits), narrow(p)).to_bits())
            }
        }
    }

    /// [`times`](SlopeExpression::times) for rows of equal shape and dtype.
    #[inline]
    pub fn times_row<T: Native>(&self, mut g: Dense, a: &Dense, b: &Dense, p: Parameters<f64>) -> Dense {
        let update = |g: &mut [T]| T::loops(self).update(g, a.slice(), b.slice(), T::parameters(p));
        match g.slice_mut().map(update) {
            Some(()) => g,
            None => self.times_new::<T>(&g, a, b, p),
        }
    }

    /// [`times`](SlopeExpression::times) in a new row.
    #[inline]
    pub fn times_new<T: Native>(&self, g: &Dense, a: &Dense, b: &Dense, p: Parameters<f64>) -> Dense {
        g.alike(|out| (T::loops(self).slices)(g.slice(), a.slice(), b.slice(), out, T::parameters(p)))
    }

    /// [`times`](SlopeExpression::times) for all other values.
    fn times_any(&self, g: Value, a: &Value, b: &Value, p: Parameters<f64>) -> Value {
        let views = [a.view(), b.view()];
        let (views, mut g) = (&views[..self.sources.len()], Tensor::from(g));
        let spec = g.spec();
        match (spec.dtype, g.unique_bytes()) {
            (DType::F64, Some(bytes)) => self.f64.run_in_place(bytes, &spec.shape, views, p),
            (DType::F32, Some(bytes)) => self.f32.run_in_place(bytes, &spec.shape, views, narrow(p)),
            (DType::F64, None) => g = Tensor::build(&spec, |out| self.f64.run(g.value.view(), views, out, p)).0,
            _ => g = Tensor::build(&spec, |out| self.f32.run(g.value.view(), views, out, narrow(p))).0,
        }
        g.value
    }
}

#[inline]
fn has_loops(dtype: DType) -> bool {
    matches!(dtype, DType::F64 | DType::F32)
}

impl One {
    /// The bits of the negative of a float.
    #[inline]
    pub fn opposite(self) -> u64 {
        self.bits ^ 1 << (8 * self.dtype.size() - 1)
    }
}

impl Dense {
    /// The negative of a row, written over it if no other handle shares it.
    #[inline]
    pub fn negated<T: Native>(mut self) -> Dense {
        match self.slice_mut().map(|row: &mut [T]| row.iter_mut().for_each(|x| *x = -*x)) {
            Some(()) => self,
            None => self.opposite::<T>(),
        }
    }

    /// The negative in a new row.
    #[inline]
    pub fn opposite<T: Native>(&self) -> Dense {
        self.alike(|out: &mut [T]| loop1(self.slice(), out, |x: T| -x))
    }
}

/// The types with native loops for slopes.
pub trait Native: Compute + Stored + Neg<Output = Self> {
    fn loops(slope: &SlopeExpression) -> &SlopeLoops<Self>;
    fn parameters(of: Parameters<f64>) -> Parameters<Self>;
}

impl Native for f64 {
    fn loops(slope: &SlopeExpression) -> &SlopeLoops<f64> {
        slope.f64
    }
    fn parameters(of: Parameters<f64>) -> Parameters<f64> {
        of
    }
}

impl Native for f32 {
    fn loops(slope: &SlopeExpression) -> &SlopeLoops<f32> {
        slope.f32
    }
    fn parameters(of: Parameters<f64>) -> Parameters<f32> {
        narrow(of)
    }
}

/// Whether two texts are equal, at compile time.
pub const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let (mut same, mut i) = (a.len() == b.len(), 0);
    while same && i < a.len() {
        same = a[i] == b[i];
        i += 1;
    }
    same
}

/// A saved tensor that a slope is computed from.
#[derive(Clone, Copy)]
pub enum SavedValue {
    Operand(usize),
    Output(usize),
}

impl SavedValue {
    #[inline]
    pub fn of<'r>(self, rule: &'r Rule<'_>) -> &'r Tensor {
        match self {
            SavedValue::Operand(position) => rule.operand(position),
            SavedValue::Output(position) => rule.output(position),
        }
    }

    #[inline]
    pub const fn bit(self) -> u8 {
        match self {
            SavedValue::Operand(position) => 1 << position,
            SavedValue::Output(_) => OUTPUT,
        }
    }
}

/// The bit of the output in [`Needs`]; operand i has bit i.
const OUTPUT: u8 = 4;

/// The saved values: at most two operands and an output, so that indices are found without counting bits.
#[derive(Clone, Copy)]
pub struct Needs(pub u8);

impl Needs {
    pub const fn of(sources: &[SavedValue]) -> Needs {
        let (mut bits, mut i) = (0, 0);
        while i < sources.len() {
            bits |= sources[i].bit();
            i += 1;
        }
        Needs(bits)
    }

    #[inline]
    pub fn saves(self) -> Saves {
        let has = |bit: u8| self.0 & bit != 0;
        let saves = if has(1) { Saves::NOTHING.operand(0) } else { Saves::NOTHING };
        let saves = if has(2) { saves.operand(1) } else { saves };
        if has(OUTPUT) { saves.output(0) } else { saves }
    }

    #[inline]
    pub fn count(self) -> usize {
        (self.0 & 1) as usize + (self.0 >> 1 & 1) as usize + (self.0 >> 2) as usize
    }

    /// The index of a source among the saved values: operands, then the output.
    #[inline]
    pub fn place(self, source: SavedValue) -> usize {
        match source {
            SavedValue::Operand(0) => 0,
            SavedValue::Operand(_) => (self.0 & 1) as usize,
            SavedValue::Output(_) => (self.0 & 1) as usize + (self.0 >> 1 & 1) as usize,
        }
    }
}

pub fn narrow(p: Parameters<f64>) -> Parameters<f32> {
    p.map(|value| value as f32)
}

//! Slopes of elementwise operations: what they are computed from, and how.

use crate::primitive::{Rule, Saves};
use crate::tensor::One;
use crate::{DType, Tensor};
use wengert_kernels::functions::{Parameters, SlopeLoops};

/// The derivative for one operand.
pub enum Slope {
    Zero,
    One,
    MinusOne,
    /// The parameter in this place.
    Parameter(usize),
    Expression(SlopeExpression),
}

/// A slope computed from one saved tensor, or from two.
pub struct SlopeExpression {
    /// What the expression's names stand for.
    pub sources: &'static [Source],
    pub needs: Needs,
    /// The expression as it is written, the names of what it is computed from, and those of parameters.
    pub text: &'static str,
    pub names: &'static [&'static str],
    pub parameters: &'static [&'static str],
    /// Whether the slope is what it is computed from, as that of a product.
    pub is_source: bool,
    /// Whether a zero on either side stays one beside NaN too.
    pub keeps_both: bool,
    pub tensor: fn(&[&Tensor], Parameters<f64>) -> Tensor,
    pub f64: &'static SlopeLoops<f64>,
    pub f32: &'static SlopeLoops<f32>,
}

impl SlopeExpression {
    /// The bits of `g * slope` for one element in f64 or f32.
    #[inline]
    pub fn of_one(&self, g: One, a: u64, b: u64, p: Parameters<f64>) -> u64 {
        match g.dtype {
            DType::F64 => {
                let read = f64::from_bits;
                (self.f64.one)(read(g.bits), read(a), read(b), p).to_bits()
            }
            _ => {
                let read = |bits: u64| f32::from_bits(bits as u32);
                u64::from((self.f32.one)(read(g.bits), read(a), read(b), narrow(p)).to_bits())
            }
        }
    }
}

/// Whether two texts are the same, known while compiling.
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
pub enum Source {
    Operand(usize),
    Output(usize),
}

impl Source {
    pub fn of<'r>(self, rule: &'r Rule<'_>) -> &'r Tensor {
        match self {
            Source::Operand(position) => rule.operand(position),
            Source::Output(position) => rule.output(position),
        }
    }

    pub const fn bit(self) -> u8 {
        match self {
            Source::Operand(position) => 1 << position,
            Source::Output(_) => OUTPUT,
        }
    }
}

/// The bit of the output in [`Needs`]; operand i has bit i.
const OUTPUT: u8 = 4;

/// What is saved: two operands and an output at most, so that places are found without counting bits.
#[derive(Clone, Copy)]
pub struct Needs(pub u8);

impl Needs {
    pub const fn of(sources: &[Source]) -> Needs {
        let (mut bits, mut i) = (0, 0);
        while i < sources.len() {
            bits |= sources[i].bit();
            i += 1;
        }
        Needs(bits)
    }

    pub fn saves(self) -> Saves {
        let has = |bit: u8| self.0 & bit != 0;
        let saves = if has(1) { Saves::NOTHING.operand(0) } else { Saves::NOTHING };
        let saves = if has(2) { saves.operand(1) } else { saves };
        if has(OUTPUT) { saves.output(0) } else { saves }
    }

    pub fn count(self) -> usize {
        (self.0 & 1) as usize + (self.0 >> 1 & 1) as usize + (self.0 >> 2) as usize
    }

    /// Where a source stands among what is saved: operands, then the output.
    pub fn place(self, source: Source) -> usize {
        match source {
            Source::Operand(0) => 0,
            Source::Operand(_) => (self.0 & 1) as usize,
            Source::Output(_) => (self.0 & 1) as usize + (self.0 >> 1 & 1) as usize,
        }
    }
}

pub fn narrow(p: Parameters<f64>) -> Parameters<f32> {
    p.map(|value| value as f32)
}

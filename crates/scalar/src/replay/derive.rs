//! Derivatives of functions of symbols, as functions of symbols: pullbacks and pushforwards.
//!
//! A trace is repeated with the symbols of the running recording, including its guards, followed by its derivative. So derivatives are
//! recorded like any other function, and can be differentiated again.

use super::slopes::{Slope, slopes};
use super::symbol::{Symbol, Traced, traced};
use super::trace::{Entry, Operand, Reads, What};
use crate::Real;
use std::sync::Arc;
use wengert_kernels::cells::Op;

/// A function of symbols that can be shared between threads.
pub type Symbols = dyn Fn(&[Symbol]) -> Vec<Symbol> + Send + Sync;

/// Maps the inputs of a function and cotangents of its outputs to cotangents of its inputs.
pub(crate) fn pulled(function: Arc<Symbols>, inputs: usize) -> Arc<Symbols> {
    derived(function, inputs, pull)
}

/// Maps the inputs of a function and their tangents to tangents of its outputs.
pub(crate) fn pushed(function: Arc<Symbols>, inputs: usize) -> Arc<Symbols> {
    derived(function, inputs, push)
}

fn derived(
    function: Arc<Symbols>,
    inputs: usize,
    derive: fn(&Traced, &[Symbol], &[Symbol]) -> Vec<Symbol>,
) -> Arc<Symbols> {
    Arc::new(move |symbols| {
        let (x, given) = symbols.split_at(inputs);
        let values: Vec<f64> = x.iter().map(|x| x.peek()).collect();
        derive(&traced(&values, &*function, |outputs| outputs), x, given)
    })
}

/// One value per input and per entry of a trace.
struct Each<T> {
    inputs: Vec<T>,
    entries: Vec<T>,
}

/// A trace that is repeated in the running recording.
struct Again<'a> {
    found: &'a Traced,
    symbols: Each<Symbol>,
}

impl<'a> Again<'a> {
    fn new(found: &'a Traced, x: &[Symbol]) -> Again<'a> {
        let count = found.trace.entries.len();
        let mut again = Again { found, symbols: Each { inputs: x.to_vec(), entries: Vec::with_capacity(count) } };
        for Entry { what, a, b } in &found.trace.entries {
            let (a, b) = (again.symbol(*a), again.symbol(*b));
            let symbol = match what {
                What::Compute(op) => Symbol::computed(*op, a, b),
                What::Guard(relation, _) => {
                    Symbol::decided(*relation, a, b);
                    Symbol::lit(0.0)
                }
            };
            again.symbols.entries.push(symbol);
        }
        again
    }

    fn symbol(&self, operand: Operand) -> Symbol {
        match operand.reads() {
            Reads::Entry(entry) => self.symbols.entries[entry as usize],
            Reads::Input(input) => self.symbols.inputs[input as usize],
            Reads::Constant(constant) => Symbol::lit(self.found.trace.constants[constant as usize]),
        }
    }

    /// The entries that compute something: number, operation, operands.
    fn computed(&self) -> impl DoubleEndedIterator<Item = (usize, Op, [Operand; 2])> + use<'a> {
        let entries = self.found.trace.entries.iter().enumerate();
        entries.filter_map(|(number, entry)| match entry.what {
            What::Compute(op) => Some((number, op, [entry.a, entry.b])),
            What::Guard(..) => None,
        })
    }

    /// The part of `change` that passes between an entry and each of its operands.
    fn passed(
        &self,
        number: usize,
        op: Op,
        operands: [Operand; 2],
        change: [Option<Symbol>; 2],
    ) -> [Option<Symbol>; 2] {
        let ([a, b], y) = (operands.map(|operand| self.symbol(operand)), self.symbols.entries[number]);
        let [by_a, by_b] = slopes(op);
        let through = |change: Option<Symbol>, slope: Slope| {
            let change = change?;
            match slope {
                Slope::Zero => None,
                Slope::One => Some(change),
                Slope::MinusOne => Some(-change),
                Slope::Operand(0) if op == Op::Times => Some(a.guarded_mul(change)),
                Slope::Operand(0) => Some(change.guarded_mul(a)),
                Slope::Operand(_) => Some(change.guarded_mul(b)),
                Slope::Share(share) => Some(share(a, b).guarded_mul(change)),
                Slope::Formula(slope) => Some(change.guarded_mul(slope(op, a, b, y))),
                Slope::MinusResultTimes(slope) => Some((-change.guarded_mul(y)).guarded_mul(slope(op, a, b, y))),
            }
        };
        [through(change[0], by_a), through(change[1], by_b)]
    }
}

impl Each<Option<Symbol>> {
    fn new(found: &Traced, inputs: Vec<Option<Symbol>>) -> Each<Option<Symbol>> {
        Each { inputs, entries: vec![None; found.trace.entries.len()] }
    }

    fn of(&self, operand: Operand) -> Option<Symbol> {
        match operand.reads() {
            Reads::Entry(entry) => self.entries[entry as usize],
            Reads::Input(input) => self.inputs[input as usize],
            Reads::Constant(_) => None,
        }
    }

    fn add(&mut self, operand: Operand, more: Option<Symbol>) {
        let place = match operand.reads() {
            Reads::Entry(entry) => &mut self.entries[entry as usize],
            Reads::Input(input) => &mut self.inputs[input as usize],
            Reads::Constant(_) => return,
        };
        *place = sum(*place, more);
    }
}

fn sum(a: Option<Symbol>, b: Option<Symbol>) -> Option<Symbol> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (one, other) => one.or(other),
    }
}

fn or_zero(symbol: Option<Symbol>) -> Symbol {
    symbol.unwrap_or_else(|| Symbol::lit(0.0))
}

/// The adjoints of the inputs `x`, given those of the outputs.
fn pull(found: &Traced, x: &[Symbol], seeds: &[Symbol]) -> Vec<Symbol> {
    let again = Again::new(found, x);
    let mut adjoints = Each::new(found, vec![None; x.len()]);
    found.outputs.iter().zip(seeds).for_each(|(output, seed)| adjoints.add(*output, Some(*seed)));
    for (number, op, operands) in again.computed().rev() {
        let adjoint = adjoints.entries[number];
        let shares = again.passed(number, op, operands, [adjoint; 2]);
        operands.into_iter().zip(shares).for_each(|(operand, share)| adjoints.add(operand, share));
    }
    adjoints.inputs.into_iter().map(or_zero).collect()
}

/// The tangents of the outputs, given those of the inputs `x`.
fn push(found: &Traced, x: &[Symbol], directions: &[Symbol]) -> Vec<Symbol> {
    let again = Again::new(found, x);
    let mut tangents = Each::new(found, directions.iter().copied().map(Some).collect());
    for (number, op, operands) in again.computed() {
        let changes = operands.map(|operand| tangents.of(operand));
        let [by_a, by_b] = again.passed(number, op, operands, changes);
        tangents.entries[number] = sum(by_a, by_b);
    }
    found.outputs.iter().map(|output| or_zero(tangents.of(*output))).collect()
}

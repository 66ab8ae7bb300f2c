//! fold - constant folding: operations on constants are computed.
//!
//! A result of at most [`MOST`] elements becomes a constant. Not folded are random numbers, user-defined functions and operations,
//! broadcasts, which are free and large, loops and branches, and calls that fail: these fail at their place in the program. A constant with
//! equal elements becomes a rank-0 constant and a broadcast, so that operations on it are computed once.

use super::edit::{Edit, Number, bits_of, rewritten};
use super::known::*;
use crate::primitive::Attrs;
use crate::program::ProgramAttrs;
use crate::program::{Equation, Program, Var};
use crate::tensor::Value;
use crate::{Tensor, catch};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The maximum number of elements of a folded constant.
const MOST: usize = 1024;

pub(super) fn run(program: Program) -> (Program, bool) {
    let variables = program.specs.len();
    let program = with_small_constants(program);
    let made = program.specs.len() != variables;
    let (program, changed) = rewritten(program, &fold);
    if changed || !made { (program, changed) } else { (program.renumbered(), true) }
}

fn fold(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let output = edit.spec(equation.outputs[0]).clone();
    let op = equation.op;
    let loops = equation.attrs.bodies().next().is_some();
    let opaque = is_random(op) || is_barrier(op);
    if loops || op.is(BROADCAST) || output.shape.elements() > MOST || !is_built_in(op) || opaque {
        return None;
    }
    let operands: Option<SmallVec<[Tensor; 4]>> = equation.inputs.iter().map(|var| constant(edit, *var)).collect();
    let operands = operands?;
    let views: SmallVec<[&Tensor; 4]> = operands.iter().collect();
    let result = catch(|| crate::interp::eval::apply(op, &equation.attrs, &views)).ok()?.ok()?.pop()?;
    // The constant owns its memory; it is not a view of something larger.
    let result = result.contiguous();
    match repeated(&result) {
        Some(number) => {
            let scalar = edit.scalar(number);
            Some(edit.broadcast(scalar, &output.shape))
        }
        None => Some(edit.capture(result)),
    }
}

/// The value of a variable that is a constant or a broadcast of one.
fn constant(edit: &Edit<'_>, var: Var) -> Option<Tensor> {
    if let Some(tensor) = edit.constant(var) {
        return Some(tensor.clone());
    }
    let (_, source) = edit.source_of(var, BROADCAST)?;
    let shape = edit.shape(var);
    Some(edit.constant(source)?.with_layout(|layout| layout.broadcast(shape)))
}

/// The number that every element equals.
fn repeated(tensor: &Tensor) -> Option<Number> {
    let dtype = tensor.dtype();
    if let Some(bits) = bits_of(tensor) {
        return Some(Number { bits, dtype });
    }
    if !tensor.is_plain() || tensor.elements() == 0 || matches!(tensor.value, Value::One(_)) {
        return None;
    }
    let bytes = tensor.value.view().contiguous_bytes()?;
    let (first, rest) = bytes[..tensor.elements() * dtype.size()].split_at(dtype.size());
    if rest.chunks_exact(dtype.size()).any(|element| element != first) {
        return None;
    }
    let mut bits = [0; 8];
    bits[..first.len()].copy_from_slice(first);
    Some(Number { bits: u64::from_le_bytes(bits), dtype })
}

/// Replaces constants with equal elements by rank-0 constants and broadcasts, which get the line of the first equation that reads them.
fn with_small_constants(mut program: Program) -> Program {
    let mut repetitions: Vec<Equation> = Vec::new();
    for (var, tensor) in &mut program.captures {
        if tensor.rank() == 0 {
            continue;
        }
        let Some(Number { bits, dtype }) = repeated(tensor) else { continue };
        let attrs = Attrs::new().with_sizes("shape", tensor.shape());
        *tensor = Tensor::one(bits, dtype, 0);
        program.specs.push(tensor.spec());
        let scalar = Var(program.specs.len() as u32 - 1);
        let repeated = std::mem::replace(var, scalar);
        let (op, inputs, outputs) = (BROADCAST, vec![scalar], vec![repeated]);
        repetitions.push(Equation { op, attrs, inputs, outputs, line: None, from_rule: false });
    }
    if repetitions.is_empty() {
        return program;
    }
    let places: FxHashMap<Var, usize> =
        repetitions.iter().enumerate().map(|(place, equation)| (equation.outputs[0], place)).collect();
    for equation in program.equations.iter().rev() {
        for place in equation.inputs.iter().filter_map(|var| places.get(var)) {
            repetitions[*place].line = equation.line;
        }
    }
    program.equations.splice(0..0, repetitions);
    program
}

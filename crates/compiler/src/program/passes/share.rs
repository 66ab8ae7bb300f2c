//! share - common subexpression elimination: equal calls are computed once, and equal constants are stored once.
//!
//! Random operations take their key as an operand, so equal calls draw the same numbers and are shared too. Calls of functions with custom
//! rules are user code and stay; so do loops and branches with an effect. A value that is recomputed behind a barrier is not shared with
//! the original.

use super::known::{is_barrier, is_built_in, is_commutative};
use crate::Tensor;
use crate::primitive::{Attrs, Spec};
use crate::program::{Equation, Program, Var};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Constants of up to this many elements are compared by value; larger ones are equal only if they share memory.
const MOST: usize = 4096;

/// The key that equal calls share.
#[derive(PartialEq, Eq, Hash)]
struct Call {
    name: &'static str,
    attrs: Attrs,
    inputs: SmallVec<[Var; 4]>,
}

#[allow(
    clippy::mutable_key_type,
    reason = "a program among attributes is compared by identity, not by what was derived from it"
)]
pub(super) fn run(mut program: Program) -> (Program, bool) {
    let before = (program.equations.len(), program.captures.len());
    let mut renamed: Vec<Var> = (0..program.specs.len() as u32).map(Var).collect();
    let mut constants: FxHashMap<(Spec, Vec<u8>), Var> = FxHashMap::default();
    program.captures.retain(|(var, tensor)| {
        let Some(bytes) = bytes_of(tensor) else { return true };
        let first = *constants.entry((tensor.spec(), bytes)).or_insert(*var);
        renamed[var.index()] = first;
        first == *var
    });
    let mut calls: FxHashMap<Call, SmallVec<[Var; 4]>> = FxHashMap::default();
    calls.reserve(program.equations.len());
    program.equations.retain_mut(|equation| {
        equation.inputs.iter_mut().for_each(|var| *var = renamed[var.index()]);
        if !is_built_in(equation.op) || is_barrier(equation.op) || equation.has_effect() {
            return true;
        }
        match calls.entry(call(equation)) {
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(SmallVec::from_slice(&equation.outputs));
                true
            }
            std::collections::hash_map::Entry::Occupied(entry) => {
                for (var, first) in equation.outputs.iter().zip(entry.get()) {
                    renamed[var.index()] = *first;
                }
                false
            }
        }
    });
    if before == (program.equations.len(), program.captures.len()) {
        return (program, false);
    }
    program.outputs.iter_mut().for_each(|var| *var = renamed[var.index()]);
    (program.renumbered(), true)
}

fn call(equation: &Equation) -> Call {
    let mut inputs: SmallVec<[Var; 4]> = SmallVec::from_slice(&equation.inputs);
    if is_commutative(equation.op) {
        inputs.sort_unstable();
    }
    Call { name: equation.op.name(), attrs: equation.attrs.clone(), inputs }
}

/// The bytes of a small constant, row-major.
fn bytes_of(tensor: &Tensor) -> Option<Vec<u8>> {
    if !tensor.is_plain() || tensor.elements() > MOST {
        return None;
    }
    let dense = tensor.contiguous();
    let length = tensor.elements() * tensor.dtype().size();
    dense.value.view().contiguous_bytes().map(|bytes| bytes[..length].to_vec())
}

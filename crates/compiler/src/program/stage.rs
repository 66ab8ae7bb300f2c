//! Traces functions of flat lists of tensors, and closes programs over their captures.

use super::trace::{Trace, lift};
use super::{Program, Var, identity};
use crate::Tensor;
use crate::autograd::modes;
use crate::error::OrRaise;
use crate::interp::Level;
use crate::location::{self, Line};
use crate::primitive::Spec;
use crate::tensor::Value;
use rustc_hash::FxHashMap;

/// The program of `f` on inputs of these specs, and the other result of `f`. `name` is the name of the transform in errors.
pub fn stage<R>(
    name: &'static str,
    line: Line,
    specs: &[Spec],
    f: impl FnOnce(Vec<Tensor>) -> (Vec<Tensor>, R),
) -> (Program, R) {
    let (mut f, mut other) = (Some(f), None);
    let program = stage_outputs(name, line, specs, &mut |symbols| {
        let (outputs, rest) = f.take().expect("it is called once")(symbols);
        other = Some(rest);
        outputs
    });
    (program, other.expect("it was called"))
}

/// The same, compiled once for all functions.
fn stage_outputs(
    name: &'static str,
    line: Line,
    specs: &[Spec],
    f: &mut dyn FnMut(Vec<Tensor>) -> Vec<Tensor>,
) -> Program {
    let level = Level::open(name, Trace::default(), line);
    let trace: &Trace = level.0.interpreter();
    let symbol = |spec: &Spec| {
        let var = trace.builder().input(spec.clone());
        lift(&level.0, var, spec.clone(), line)
    };
    let symbols = specs.iter().map(symbol).collect();
    let outputs = modes::staging(&level.0, || f(symbols));
    let mut vars = Vec::new();
    for output in &outputs {
        vars.push(trace.variable(&level.0, output, line));
    }
    let program = trace.builder().finish(vars);
    if cfg!(debug_assertions) {
        program.verify().or_raise();
    }
    program
}

/// The program of a function that is derived from another program, without equations that its outputs do not need.
pub fn staged(name: &'static str, specs: &[Spec], f: impl FnOnce(Vec<Tensor>) -> Vec<Tensor>) -> Program {
    let line = location::resolve(Line::caller());
    let (program, ()) = stage(name, line, specs, |symbols| (f(symbols), ()));
    program.part(&program.inputs, &program.outputs)
}

/// The program with captured leaves and tensors of transforms as additional inputs after its own, and these tensors. Constants stay.
pub fn hoisted(mut program: Program) -> (Program, Vec<Tensor>) {
    let (constants, captured) = program.captures.into_iter().partition(|(_, tensor)| tensor.is_plain());
    program.captures = constants;
    let (vars, tensors): (Vec<Var>, Vec<Tensor>) = Vec::into_iter(captured).unzip();
    program.inputs.extend(vars);
    (program.renumbered(), tensors)
}

/// The program with other tensors in place of those that [`hoisted`] turns into inputs.
pub fn recaptured(mut program: Program, tensors: impl Iterator<Item = Tensor>) -> Program {
    let captured = program.captures.iter_mut().filter(|(_, tensor)| !tensor.is_plain());
    captured.zip(tensors).for_each(|((_, old), new)| *old = new);
    program
}

/// Programs whose captures are inputs, in front of the others and the same for all programs, and the captured tensors. Numbers stay
/// constants.
pub fn closed(programs: Vec<Program>) -> (Vec<Program>, Vec<Tensor>) {
    let mut captured: Vec<Tensor> = Vec::new();
    let mut place: FxHashMap<(u64, u64, u64), usize> = FxHashMap::default();
    let is_number = |tensor: &Tensor| tensor.link.is_none() && matches!(tensor.value, Value::One(_));
    for (_, tensor) in programs.iter().flat_map(|program| &program.captures) {
        if !is_number(tensor) {
            place.entry(identity(tensor)).or_insert_with(|| {
                captured.push(tensor.clone());
                captured.len() - 1
            });
        }
    }
    let close = |mut program: Program| {
        let mut front: Vec<Option<Var>> = vec![None; captured.len()];
        program.captures.retain(|(var, tensor)| {
            if !is_number(tensor) {
                front[place[&identity(tensor)]] = Some(*var);
            }
            is_number(tensor)
        });
        // A program that does not read a tensor which another one captured ignores that input.
        let mut inputs: Vec<Var> = Vec::new();
        for (var, tensor) in front.into_iter().zip(&captured) {
            inputs.push(var.unwrap_or_else(|| {
                program.specs.push(tensor.spec());
                Var(program.specs.len() as u32 - 1)
            }));
        }
        inputs.append(&mut program.inputs);
        program.inputs = inputs;
        program.renumbered()
    };
    (programs.into_iter().map(close).collect(), captured)
}

//! Building a program equation by equation.

use super::{Equation, Program, Var};
use crate::Tensor;
use crate::location::{self, Line};
use crate::primitive::{Attrs, Primitive, Spec};
use crate::tensor::Value;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Identifies a tensor as long as it is alive: the bits of a number, otherwise the address, and the node in the imperative graph.
pub fn identity(tensor: &Tensor) -> (u64, u64, u64) {
    let link = tensor.link.as_ref().map_or(0, |node| node.id());
    match &tensor.value {
        Value::One(one) => (one.bits, u64::from(one.rank) << 8 | one.dtype as u64, link),
        Value::Dense(dense) => (dense.identity() as u64, u64::MAX, link),
        Value::Array(array) => (Arc::as_ptr(array) as u64, u64::MAX, link),
        Value::Device(remote) => (Arc::as_ptr(remote).addr() as u64, u64::MAX, link),
        Value::Tracer(tracer) => (Arc::as_ptr(tracer) as u64, u64::MAX, link),
    }
}

/// A program under construction.
#[derive(Default)]
pub struct Builder {
    program: Program,
    /// Captured tensors by [`identity`], so that each tensor becomes one variable; the capture keeps its address alive.
    captured: FxHashMap<(u64, u64, u64), Var>,
}

impl Builder {
    /// A new variable.
    pub fn var(&mut self, spec: Spec) -> Var {
        self.program.specs.push(spec);
        Var(self.program.specs.len() as u32 - 1)
    }

    /// A new input.
    pub fn input(&mut self, spec: Spec) -> Var {
        let var = self.var(spec);
        self.program.inputs.push(var);
        var
    }

    /// The variable of a captured tensor.
    pub fn capture(&mut self, tensor: &Tensor) -> Var {
        let identity = identity(tensor);
        if let Some(var) = self.captured.get(&identity) {
            return *var;
        }
        let var = self.var(tensor.spec());
        self.program.captures.push((var, Tensor { slot: None, ..tensor.clone() }));
        self.captured.insert(identity, var);
        var
    }

    /// Appends an equation and returns the variables that it defines.
    pub fn push(
        &mut self,
        op: &'static dyn Primitive,
        attrs: Attrs,
        inputs: Vec<Var>,
        outputs: &[Spec],
        line: Line,
    ) -> Vec<Var> {
        let outputs: Vec<Var> = outputs.iter().map(|spec| self.var(spec.clone())).collect();
        self.program.equations.push(Equation {
            op,
            attrs,
            inputs,
            outputs: outputs.clone(),
            line: Some(line),
            from_rule: location::is_inherited(),
        });
        outputs
    }

    /// The number of equations.
    pub fn equations(&self) -> usize {
        self.program.equations.len()
    }

    /// Sets the line of the equations from `first` on to that of the operation they were created for.
    pub fn place(&mut self, first: usize, line: Line) {
        self.program.equations[first..].iter_mut().for_each(|equation| equation.line = Some(line));
    }

    /// The finished program, with variables numbered in the order of its text.
    pub fn finish(&mut self, outputs: Vec<Var>) -> Program {
        self.captured.clear();
        Program { outputs, ..std::mem::take(&mut self.program) }.renumbered()
    }
}

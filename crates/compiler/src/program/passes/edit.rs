//! A program that is being rewritten, front to back.
//!
//! Variables of the old program keep their numbers, and those of new equations come after them; [`Program::renumbered`] puts them in order
//! at the end. Each equation is visited once, after its operands were rewritten, so one pass applies rules bottom-up.

use super::known::*;
use crate::location::Line;
use crate::primitive::{Attrs, Primitive, Spec, SpecRef};
use crate::program::{Equation, Program, Var};
use crate::tensor::Value;
use crate::{DType, Shape, Tensor};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use wengert_kernels::convert_bits;

/// Where a variable comes from.
#[derive(Clone, Copy)]
enum Definition {
    Input,
    Capture(usize),
    Equation(usize),
}

/// Recursion limit for rewriting equations that a rule creates; the rest waits for the next round.
const DEEPEST: usize = 8;

/// Returns the variable that replaces the only output of an equation, if it is rewritten.
pub(super) type Rewrite = dyn Fn(&mut Edit<'_>, &Equation) -> Option<Var>;

/// The new program under construction.
pub(super) struct Edit<'r> {
    rewrite: &'r Rewrite,
    program: Program,
    /// By variable.
    definitions: Vec<Definition>,
    /// By variable of the old program: its replacement.
    renamed: Vec<Var>,
    /// By variable: how often it is read, by the old program or by new equations.
    uses: Vec<u32>,
    /// By variable: its relu, if it is computed.
    rectified: FxHashMap<Var, Var>,
    /// Rank-0 constants by dtype and bits.
    numbers: FxHashMap<(DType, u64), Var>,
    /// The line of the equation that is being rewritten.
    line: Option<Line>,
    depth: usize,
    /// Whether an equation was rewritten.
    changed: bool,
}

/// A number that fills a tensor.
#[derive(Clone, Copy)]
pub(super) struct Number {
    pub bits: u64,
    pub dtype: DType,
}

impl Number {
    /// Whether it equals this number in its dtype, including the sign.
    pub fn is(self, number: f64) -> bool {
        // An unsigned dtype has no minus one, so nothing equals it.
        self.bits == convert_bits(number.to_bits(), DType::F64, self.dtype) && self.value() == number
    }

    /// Its value; integers beyond 2^53 are rounded.
    pub fn value(self) -> f64 {
        f64::from_bits(convert_bits(self.bits, self.dtype, DType::F64))
    }
}

/// Rewrites every equation, and drops what is no longer needed. Returns whether anything was rewritten.
pub(super) fn rewritten(program: Program, rewrite: &Rewrite) -> (Program, bool) {
    let variables = program.specs.len();
    let mut edit = Edit::new(program, rewrite);
    for equation in std::mem::take(&mut edit.program.equations) {
        edit.take(equation);
    }
    if !edit.changed && edit.program.specs.len() == variables {
        return (edit.program, false);
    }
    for position in 0..edit.program.outputs.len() {
        edit.program.outputs[position] = edit.renamed[edit.program.outputs[position].index()];
    }
    (super::prune::run(edit.program).0, edit.changed)
}

impl<'r> Edit<'r> {
    fn new(program: Program, rewrite: &'r Rewrite) -> Edit<'r> {
        let mut definitions = vec![Definition::Input; program.specs.len()];
        let mut numbers = FxHashMap::default();
        for (place, (var, tensor)) in program.captures.iter().enumerate() {
            definitions[var.index()] = Definition::Capture(place);
            if let (Some(bits), 0) = (bits_of(tensor), tensor.rank()) {
                numbers.insert((tensor.dtype(), bits), *var);
            }
        }
        let mut uses = vec![0; program.specs.len()];
        let read = program.equations.iter().flat_map(|equation| &equation.inputs).chain(&program.outputs);
        read.for_each(|var| uses[var.index()] += 1);
        let renamed = (0..program.specs.len() as u32).map(Var).collect();
        Edit {
            rewrite,
            program,
            definitions,
            renamed,
            uses,
            rectified: FxHashMap::default(),
            numbers,
            line: None,
            depth: 0,
            changed: false,
        }
    }

    fn take(&mut self, mut equation: Equation) {
        equation.inputs.iter_mut().for_each(|var| *var = self.renamed[var.index()]);
        self.line = equation.line;
        if let [output] = equation.outputs[..]
            && let Some(var) = (self.rewrite)(self, &equation)
        {
            self.changed = true;
            self.renamed[output.index()] = var;
            self.uses[var.index()] += self.uses[output.index()];
            return;
        }
        self.keep(equation);
    }

    fn keep(&mut self, equation: Equation) {
        let place = Definition::Equation(self.program.equations.len());
        equation.outputs.iter().for_each(|var| self.definitions[var.index()] = place);
        if equation.op.is(RELU) {
            self.rectified.insert(equation.inputs[0], equation.outputs[0]);
        }
        self.program.equations.push(equation);
    }

    /// The relu of a variable, if it is already computed.
    pub fn rectified(&self, var: Var) -> Option<Var> {
        self.rectified.get(&var).copied()
    }

    fn fresh(&mut self, spec: Spec) -> Var {
        let var = Var(self.program.specs.len() as u32);
        self.program.specs.push(spec);
        self.definitions.push(Definition::Input);
        self.renamed.push(var);
        self.uses.push(0);
        var
    }

    pub fn spec(&self, var: Var) -> &Spec {
        &self.program.specs[var.index()]
    }

    pub fn shape(&self, var: Var) -> &Shape {
        &self.spec(var).shape
    }

    /// Whether it is read exactly once.
    pub fn is_used_once(&self, var: Var) -> bool {
        self.uses[var.index()] == 1
    }

    /// The equation that defines a variable as its only output.
    fn equation(&self, var: Var) -> Option<&Equation> {
        match self.definitions[var.index()] {
            Definition::Equation(place) => {
                Some(&self.program.equations[place]).filter(|equation| equation.outputs.len() == 1)
            }
            _ => None,
        }
    }

    /// The same, if its primitive is built in.
    pub fn definition(&self, var: Var) -> Option<&Equation> {
        self.equation(var).filter(|equation| is_built_in(equation.op))
    }

    /// The attributes and operands of the call of `op` that defines a variable.
    pub fn call_of(&self, var: Var, op: &'static dyn Primitive) -> Option<(Attrs, SmallVec<[Var; 4]>)> {
        let equation = self.equation(var).filter(|equation| equation.op.is(op))?;
        Some((equation.attrs.clone(), SmallVec::from_slice(&equation.inputs)))
    }

    /// The attributes and the operand of the unary call of `op` that defines a variable.
    pub fn source_of(&self, var: Var, op: &'static dyn Primitive) -> Option<(Attrs, Var)> {
        self.call_of(var, op).map(|(attrs, inputs)| (attrs, inputs[0]))
    }

    /// The value of a variable that is a constant.
    pub fn constant(&self, var: Var) -> Option<&Tensor> {
        match self.definitions[var.index()] {
            Definition::Capture(place) => Some(&self.program.captures[place].1).filter(|tensor| tensor.is_plain()),
            _ => None,
        }
    }

    /// The number that fills a variable, if it is a repeated constant.
    pub fn number(&self, var: Var) -> Option<Number> {
        let (mut var, dtype) = (var, self.spec(var).dtype);
        while let Some(equation) = self.equation(var).filter(|equation| is_repetition(equation)) {
            var = equation.inputs[0];
        }
        let bits = bits_of(self.constant(var)?)?;
        Some(Number { bits, dtype })
    }

    /// Adds a call of a built-in primitive with one output, after applying the rules to it.
    pub fn call(&mut self, op: &'static dyn Primitive, attrs: Attrs, inputs: &[Var]) -> Var {
        let mut specs = {
            let operands: SmallVec<[SpecRef<'_>; 4]> = inputs.iter().map(|var| self.spec(*var).as_ref()).collect();
            op.infer(&attrs, &operands).unwrap_or_else(|error| panic!("a rule makes a wrong call: {error}"))
        };
        let output = self.fresh(specs.pop().expect("one output"));
        let equation =
            Equation { op, attrs, inputs: inputs.to_vec(), outputs: vec![output], line: self.line, from_rule: false };
        if self.depth < DEEPEST {
            self.depth += 1;
            let rewritten = (self.rewrite)(self, &equation);
            self.depth -= 1;
            if let Some(var) = rewritten {
                return var;
            }
        }
        inputs.iter().for_each(|var| self.uses[var.index()] += 1);
        self.keep(equation);
        output
    }

    pub fn reshape(&mut self, x: Var, shape: &Shape) -> Var {
        if self.shape(x) == shape {
            return x;
        }
        self.call(RESHAPE, Attrs::new().with_sizes("shape", shape.iter()), &[x])
    }

    pub fn broadcast(&mut self, x: Var, shape: &Shape) -> Var {
        if self.shape(x) == shape {
            return x;
        }
        self.call(BROADCAST, Attrs::new().with_sizes("shape", shape.iter()), &[x])
    }

    pub fn transpose(&mut self, x: Var, permutation: &[usize]) -> Var {
        if permutation.iter().copied().eq(0..permutation.len()) {
            return x;
        }
        self.call(TRANSPOSE, Attrs::new().with_sizes("permutation", permutation), &[x])
    }

    /// A constant of the program.
    pub fn capture(&mut self, tensor: Tensor) -> Var {
        let var = self.fresh(tensor.spec());
        self.definitions[var.index()] = Definition::Capture(self.program.captures.len());
        self.program.captures.push((var, tensor));
        var
    }

    /// The rank-0 constant with these bits.
    pub fn scalar(&mut self, Number { bits, dtype }: Number) -> Var {
        if let Some(var) = self.numbers.get(&(dtype, bits)) {
            return *var;
        }
        let var = self.capture(Tensor::one(bits, dtype, 0));
        self.numbers.insert((dtype, bits), var);
        var
    }

    /// A number repeated over a shape.
    pub fn filled(&mut self, number: f64, spec: &Spec) -> Var {
        let bits = convert_bits(number.to_bits(), DType::F64, spec.dtype);
        let scalar = self.scalar(Number { bits, dtype: spec.dtype });
        self.broadcast(scalar, &spec.shape)
    }
}

/// The bits of the only element of a plain tensor, or of the element that it repeats.
pub(super) fn bits_of(tensor: &Tensor) -> Option<u64> {
    if !tensor.is_plain() {
        return None;
    }
    match (&tensor.value, tensor.splatted().map(|number| number.value)) {
        (Value::One(one), _) => Some(one.bits),
        (_, Some(Value::One(one))) => Some(one.bits),
        _ => None,
    }
}

/// Whether an equation repeats the elements of its operand, each at least once if there are any.
fn is_repetition(equation: &Equation) -> bool {
    is_any(equation.op, &[BROADCAST, RESHAPE, TRANSPOSE])
}

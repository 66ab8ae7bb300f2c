//! How many digits products keep: a rewrite of programs.

use super::{Equation, Program, Var};
use crate::DType;
use crate::ground::items::CAST;
use crate::primitive::{Attrs, Primitive, Spec, SpecRef};
use crate::program::{ProgramAttr, ProgramAttrs, bodies_of};
use rustc_hash::{FxHashMap, FxHashSet};

/// How many digits the operands of products and of attention keep, in programs of f32. Sums, normalisations, losses and updates always have
/// those of f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Precision {
    /// f32 means f32.
    #[default]
    Strict,
    /// The 10 bits of TF32, where a device has products of it; as strict elsewhere.
    Tf32,
    /// The 7 bits of bf16: operands are cast in the program, and results are stored so.
    Bf16,
}

/// Operations whose operands are cast.
const NARROWED: [&str; 6] =
    ["attention", "attention_gradient", "linear", "matmul", "self_attention", "self_attention_gradient"];

/// Operations on rows that read 16 bits, and write statistics of 32, where their operand has 16 anyway.
const FOLLOWING: [&str; 2] = ["softmax_cross_entropy", "softmax_cross_entropy_gradient"];

/// Gradients whose cotangent, the last operand, may have 16 bits.
const READING: [&str; 2] = ["layer_norm_gradient", "rms_norm_gradient"];

/// Operations that move elements: of a narrow operand they make a narrow result.
const MOVING: [&str; 3] = ["broadcast", "reshape", "transpose"];

impl Program {
    /// The same program at another precision.
    #[doc(hidden)]
    #[must_use]
    pub fn at_precision(self, precision: Precision) -> Program {
        if precision != Precision::Bf16 {
            return self;
        }
        let Program { specs, inputs, captures, equations, outputs } = self;
        let program = Program { specs, inputs, captures, equations: Vec::new(), outputs };
        let (narrow, exact, made) = (FxHashMap::default(), FxHashSet::default(), FxHashMap::default());
        let mut narrowing = Narrowing { program, narrow, exact, made };
        equations.into_iter().for_each(|equation| narrowing.take(equation, precision));
        narrowing.program.renumbered()
    }
}

/// A program under construction; variables of the old one keep their numbers.
struct Narrowing {
    program: Program,
    /// The bf16 variable of the same numbers, or of rounded ones.
    narrow: FxHashMap<Var, Var>,
    /// Variables whose numbers were cast from bf16.
    exact: FxHashSet<Var>,
    /// The place of the equation that moves elements into a variable.
    made: FxHashMap<Var, usize>,
}

impl Narrowing {
    fn dtype(&self, var: Var) -> DType {
        self.program.spec(var).dtype
    }

    /// Appends an equation with a new output.
    fn push(&mut self, op: &'static dyn Primitive, attrs: Attrs, input: Var, spec: Spec, of: &Equation) -> Var {
        let output = Var::new(self.program.specs.len());
        self.program.specs.push(spec);
        let (inputs, outputs) = (vec![input], vec![output]);
        self.program.equations.push(Equation { op, attrs, inputs, outputs, line: of.line, from_rule: of.from_rule });
        output
    }

    /// The numbers of a variable in bf16; they are rounded before they are moved.
    fn narrowed(&mut self, var: Var, of: &Equation) -> Var {
        if let Some(known) = self.narrow.get(&var) {
            return *known;
        }
        let spec = Spec { dtype: DType::BF16, ..self.program.spec(var).clone() };
        let narrow = match self.made.get(&var) {
            Some(&place) => {
                let Equation { op, attrs, inputs, .. } = self.program.equations[place].clone();
                let input = self.narrowed(inputs[0], of);
                self.push(op, attrs, input, spec, of)
            }
            None => {
                let attrs = Attrs::new().with_dtype("dtype", DType::BF16);
                self.push(CAST, attrs, var, spec, of)
            }
        };
        self.narrow.insert(var, narrow);
        narrow
    }

    fn take(&mut self, mut equation: Equation, precision: Precision) {
        let name = equation.op.name();
        if equation.op.control().is_some() {
            for (name, value) in equation.attrs.clone().iter() {
                if let Some(bodies) = bodies_of(value) {
                    let narrowed = |body: &ProgramAttr| ProgramAttr::from(Program::clone(body).at_precision(precision));
                    let bodies: Vec<ProgramAttr> = bodies.iter().map(narrowed).collect();
                    equation.attrs = std::mem::take(&mut equation.attrs).with_programs(name, bodies);
                }
            }
        }
        let first = equation.inputs.first().copied();
        let is_f32 = first.is_some_and(|first| self.dtype(first) == DType::F32);
        let reads_narrow = FOLLOWING.contains(&name) && first.is_some_and(|first| self.is_narrow(first));
        if is_f32
            && READING.contains(&name)
            && let Some(last) = equation.inputs.last().copied().filter(|last| self.is_narrow(*last))
        {
            let narrow = self.narrowed(last, &equation);
            *equation.inputs.last_mut().expect("there is a cotangent") = narrow;
        }
        if !is_f32 || !(NARROWED.contains(&name) || reads_narrow) {
            if MOVING.contains(&name) {
                self.made.insert(equation.outputs[0], self.program.equations.len());
            }
            self.program.equations.push(equation);
            return;
        }
        // Statistics stay as they are: the logsumexp, and the cotangents of losses.
        let count = equation.inputs.len();
        let stays = |place: usize| match name {
            "attention_gradient" | "self_attention_gradient" => place == count - 2,
            "softmax_cross_entropy_gradient" => place >= count - 2,
            _ => false,
        };
        for place in (0..count).filter(|place| !stays(*place)) {
            if self.dtype(equation.inputs[place]) == DType::F32 {
                equation.inputs[place] = self.narrowed(equation.inputs[place], &equation.clone());
            }
        }
        let specs: Vec<SpecRef<'_>> = equation.inputs.iter().map(|var| self.program.spec(*var).as_ref()).collect();
        let made = equation.op.infer(&equation.attrs, &specs).expect("the operation takes bf16");
        let (line, from_rule, mut casts) = (equation.line, equation.from_rule, Vec::new());
        for (output, spec) in equation.outputs.iter_mut().zip(made) {
            if spec.dtype == DType::BF16 {
                let narrow = Var::new(self.program.specs.len());
                self.program.specs.push(spec);
                self.narrow.insert(*output, narrow);
                self.exact.insert(*output);
                casts.push(Equation {
                    op: CAST,
                    attrs: Attrs::new().with_dtype("dtype", DType::F32),
                    inputs: vec![narrow],
                    outputs: vec![std::mem::replace(output, narrow)],
                    line,
                    from_rule,
                });
            }
        }
        self.program.equations.push(equation);
        self.program.equations.extend(casts);
    }

    /// Whether its numbers are those of a variable of 16 bits, perhaps moved.
    fn is_narrow(&self, var: Var) -> bool {
        match self.made.get(&var) {
            Some(&place) => self.is_narrow(self.program.equations[place].inputs[0]),
            None => self.exact.contains(&var),
        }
    }
}

//! Lowers equations to steps: loops and calls on spans of memory.

use super::Target;
use super::data::FlowPlan;
use super::fuse::{Fusion, Group, Kernel, Role};
use super::loops::{Apply, Instruction, Loop};
use super::steps::{Call, LoopStep, Operand, Step};
use super::views::Views;
use crate::program::control::Flow;
use crate::program::{Program, Var};
use smallvec::SmallVec;
use wengert_kernels::tiled::{Access, Destination, Output};

/// Whether each variable is read by a kernel other than its own, or is an output of the program.
fn escapes(program: &Program, views: &Views, fusion: &Fusion) -> Vec<bool> {
    let mut kernel_of = vec![usize::MAX; program.equations().len()];
    for (kernel, contents) in fusion.kernels.iter().enumerate() {
        contents.equations().for_each(|number| kernel_of[number] = kernel);
    }
    let mut producer = vec![usize::MAX; program.variables()];
    for (number, equation) in program.equations().iter().enumerate() {
        equation.outputs.iter().for_each(|output| producer[output.index()] = kernel_of[number]);
    }
    let mut escapes = vec![false; program.variables()];
    for (number, equation) in
        program.equations().iter().enumerate().filter(|(number, _)| kernel_of[*number] != usize::MAX)
    {
        for input in &equation.inputs {
            let base = views.base(*input).index();
            escapes[base] |= producer[base] != kernel_of[number];
        }
    }
    program.outputs().iter().for_each(|output| escapes[views.base(*output).index()] = true);
    escapes
}

/// The steps of a program, in order.
pub(super) fn lower(program: &Program, views: &Views, fusion: Fusion, target: &Target) -> Vec<Step> {
    let escapes = escapes(program, views, &fusion);
    let Fusion { kernels, roles } = fusion;
    let step = |kernel| match kernel {
        Kernel::Call(number) => {
            let call = call(program, views, number, target);
            match call.op.control().and_then(|control| control.flow(&call.attrs)) {
                Some(flow) => flow_step(call, flow.downcast_ref().expect("a flow"), target),
                None => Step::Call(call),
            }
        }
        Kernel::Loop(group) => Step::Loops(vec![Lowering::new(program, views, &roles, &group).run(&escapes)]),
        Kernel::Followed(number, group) => {
            let then = Some(Box::new(Lowering::new(program, views, &roles, &group).run(&escapes)));
            Step::Call(Call { then, ..call(program, views, number, target) })
        }
    };
    together(kernels.into_iter().map(step), target.most_together)
}

/// Merges consecutive loops that do not depend on each other into one step, for example an optimiser's updates of many parameters.
fn together(steps: impl Iterator<Item = Step>, most: usize) -> Vec<Step> {
    let mut grouped: Vec<Step> = Vec::new();
    for step in steps {
        match (grouped.last_mut(), step) {
            (Some(Step::Loops(group)), Step::Loops(more)) if group.len() < most && is_independent(group, &more) => {
                group.extend(more);
            }
            (_, step) => grouped.push(step),
        }
    }
    grouped
}

fn is_independent(group: &[LoopStep], more: &[LoopStep]) -> bool {
    let computed = |var: &Var| group.iter().any(|one| one.outputs.contains(var));
    !more.iter().any(|one| one.operands.iter().any(computed))
}

fn flow_step(call: Call, flow: &Flow, target: &Target) -> Step {
    let mut flow = Box::new(FlowPlan::new(flow, target));
    let mut gathered = Vec::new();
    for (place, operand) in call.operands.iter().enumerate() {
        if !flow.reads_in_place(place, operand) {
            gathered.push((place, flow.scratch.take(operand.spec.bytes())));
        }
    }
    Step::Flow { call, flow, gathered }
}

fn call(program: &Program, views: &Views, number: usize, target: &Target) -> Call {
    let equation = &program.equations()[number];
    let operand = |var: &Var| Operand {
        // Only loops read widened numbers.
        base: Some(views.base(*var))
            .filter(|base| program.spec(*base).dtype == program.spec(*var).dtype)
            .expect("a view"),
        spec: program.spec(*var).clone(),
        layout: views.layout(*var).clone(),
    };
    Call {
        op: equation.op,
        attrs: equation.attrs.clone(),
        operands: equation.inputs.iter().map(operand).collect(),
        outputs: equation.outputs.iter().map(|var| (*var, program.spec(*var).clone())).collect(),
        line: equation.line,
        equation: number,
        then: None,
        overwrites: target
            .overwriting
            .iter()
            .find(|(name, _)| *name == equation.op.name())
            .map(|(_, operand)| *operand),
    }
}

/// A value, before the number of operands is known.
#[derive(Clone, Copy)]
enum Value {
    Operand(usize),
    Instruction(usize),
}

/// An instruction and its inputs, before values are numbered.
struct Draft {
    instruction: Instruction,
    inputs: SmallVec<[Value; 3]>,
}

/// A loop that is being lowered to instructions.
struct Lowering<'a> {
    program: &'a Program,
    views: &'a Views,
    roles: &'a [Option<Role>],
    group: &'a Group,
    rows: usize,
    cols: usize,
    operands: Vec<(Var, Access)>,
    /// Values are numbered after the operands, whose number is only known at the end, so instructions have their own numbering here.
    instructions: Vec<Draft>,
    /// The variables of the loop and the instruction that computes each; values repeated along rows are separate entries.
    known: Vec<(Var, Role, usize)>,
}

impl<'a> Lowering<'a> {
    fn new(program: &'a Program, views: &'a Views, roles: &'a [Option<Role>], group: &'a Group) -> Lowering<'a> {
        let cols = group.cols.unwrap_or_else(|| period(program, views, group));
        let rows = group.elements / cols;
        Lowering { program, views, roles, group, rows, cols, operands: vec![], instructions: vec![], known: vec![] }
    }

    fn run(mut self, escapes: &[bool]) -> LoopStep {
        let mut outputs: Vec<(Var, Value, Destination)> = Vec::new();
        for &number in &self.group.equations {
            let equation = &self.program.equations()[number];
            let output = equation.outputs[0];
            let role = self.roles[output.index()].expect("a part of a loop has a role");
            let level =
                if role == Role::Rows && equation.op.lowered().fold().is_none() { Role::Rows } else { Role::Elements };
            let inputs: SmallVec<[Value; 3]> = equation.inputs.iter().map(|input| self.value(*input, level)).collect();
            let instruction = match (equation.op.lowered().fold(), role) {
                (Some(fold), Role::Rows) => Instruction::Fold(fold, 0),
                (Some(_), Role::Total) => {
                    outputs.push((output, inputs[0], Destination::Total));
                    continue;
                }
                (Some(_), Role::Columns) => {
                    outputs.push((output, inputs[0], Destination::Columns));
                    continue;
                }
                _ => Instruction::Apply(Apply {
                    op: equation.op,
                    attrs: equation.attrs.clone(),
                    inputs: SmallVec::new(),
                    dtypes: equation.inputs.iter().map(|input| self.program.spec(*input).dtype).collect(),
                    dtype: self.program.spec(output).dtype,
                }),
            };
            self.instructions.push(Draft { instruction, inputs });
            let value = self.instructions.len() - 1;
            self.known.push((output, role, value));
            if escapes[output.index()] {
                outputs.push((output, Value::Instruction(value), Destination::Each));
            }
        }
        self.finish(outputs)
    }

    /// The value of a variable for an equation per element or per row.
    fn value(&mut self, var: Var, level: Role) -> Value {
        let base = self.views.base(var);
        let known = |known: &[(Var, Role, usize)], role: Role| {
            known.iter().find(|(other, as_role, _)| *other == base && *as_role == role).map(|(_, _, value)| *value)
        };
        if let Some(value) = known(&self.known, level) {
            return Value::Instruction(value);
        }
        if let (Some(value), Role::Elements) = (known(&self.known, Role::Rows), level) {
            let inputs = SmallVec::from_slice(&[Value::Instruction(value)]);
            self.instructions.push(Draft { instruction: Instruction::Spread(0), inputs });
            let spread = self.instructions.len() - 1;
            self.known.push((base, Role::Elements, spread));
            return Value::Instruction(spread);
        }
        let layout = self.views.layout(var);
        let access = Access {
            dtype: self.program.spec(base).dtype,
            offset: layout.offset,
            shape: layout.shape.iter().copied().collect(),
            strides: layout.strides.iter().copied().collect(),
            by_rows: level == Role::Rows,
        };
        let same = |(other, its): &(Var, Access)| *other == base && *its == access;
        let place = self.operands.iter().position(same).unwrap_or_else(|| {
            self.operands.push((base, access));
            self.operands.len() - 1
        });
        Value::Operand(place)
    }

    fn finish(self, outputs: Vec<(Var, Value, Destination)>) -> LoopStep {
        let count = self.operands.len();
        let number = |value: Value| match value {
            Value::Operand(number) => number,
            Value::Instruction(number) => count + number,
        };
        let fill = |Draft { instruction, inputs }: Draft| match instruction {
            Instruction::Apply(apply) => {
                Instruction::Apply(Apply { inputs: inputs.into_iter().map(number).collect(), ..apply })
            }
            Instruction::Spread(_) => Instruction::Spread(number(inputs[0])),
            Instruction::Fold(fold, _) => Instruction::Fold(fold, number(inputs[0])),
        };
        let (vars, accesses): (Vec<Var>, Vec<Access>) = self.operands.into_iter().unzip();
        let written = outputs.iter().map(|&(var, value, destination)| Output {
            value: number(value),
            destination,
            dtype: self.program.spec(var).dtype,
            in_place: false,
        });
        let body = Loop {
            rows: self.rows,
            cols: self.cols,
            operands: accesses,
            instructions: self.instructions.into_iter().map(fill).collect(),
            outputs: written.collect(),
        };
        let outputs = outputs.into_iter().map(|(var, ..)| var).collect();
        LoopStep { body, operands: vars, outputs, equations: self.group.equations.clone() }
    }
}

/// If an operand repeats rows, their length, so that tiles contain whole rows; otherwise the number of elements.
fn period(program: &Program, views: &Views, group: &Group) -> usize {
    for &number in &group.equations {
        for input in &program.equations()[number].inputs {
            let layout = views.layout(*input);
            let axes = layout.shape.iter().zip(&layout.strides).filter(|(size, _)| **size != 1);
            let varying: SmallVec<[(usize, isize); 4]> = axes.map(|(&size, &stride)| (size, stride)).collect();
            let first = varying.iter().position(|(_, stride)| *stride != 0);
            if let Some(first) = first.filter(|&first| first > 0) {
                return varying[first..].iter().map(|(size, _)| size).product();
            }
        }
    }
    group.elements
}

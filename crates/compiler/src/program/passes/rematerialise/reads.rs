//! Which equations read which variables.

use super::super::known::*;
use crate::primitive::Layout;
use crate::program::passes::known::is_built_in;
use crate::program::{Equation, Program, Var};
use smallvec::SmallVec;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    View,
    /// Part of fused loops.
    Lane,
    /// A kernel of its own.
    Kernel,
    /// A kernel of its own that works row by row: it costs little more than reading and writing its rows.
    Rows,
}

/// Which equations read which variables.
#[doc(hidden)]
pub struct Reads {
    /// By equation.
    pub(super) kinds: Vec<Kind>,
    /// The equations that are kernels of their own, in order.
    kernels: Vec<usize>,
    /// By variable, the variable whose memory it views.
    pub base: Vec<Var>,
    /// By base, the last equation that reads it; results are read at the end.
    pub(super) last: Vec<usize>,
    /// By base, the equations that read it or a view of it, not counting views.
    pub readers: Vec<Vec<usize>>,
    /// By base, whether it or a view of it is returned.
    pub is_returned: Vec<bool>,
    /// By variable, the equation that computes it.
    pub maker: Vec<usize>,
    is_captured: Vec<bool>,
}

impl Reads {
    pub fn of(program: &Program) -> Reads {
        Reads::through(program, &|equation| is_view(program, equation))
    }

    /// The same where the equations that only view their operand are known.
    pub fn through(program: &Program, is_view: &dyn Fn(&Equation) -> bool) -> Reads {
        let count = program.specs.len();
        let kind = |equation: &Equation| match equation {
            _ if is_view(equation) => Kind::View,
            _ if is_lane(program, equation) => Kind::Lane,
            _ if is_by_rows(equation) => Kind::Rows,
            _ => Kind::Kernel,
        };
        let kinds: Vec<Kind> = program.equations.iter().map(kind).collect();
        let is_kernel = |number: &usize| matches!(kinds[*number], Kind::Kernel | Kind::Rows);
        let mut reads = Reads {
            kernels: (0..kinds.len()).filter(is_kernel).collect(),
            kinds,
            base: (0..count as u32).map(Var).collect(),
            last: vec![0; count],
            readers: vec![Vec::new(); count],
            is_returned: vec![false; count],
            maker: vec![0; count],
            is_captured: vec![false; count],
        };
        program.captures.iter().for_each(|(var, _)| reads.is_captured[var.index()] = true);
        for (number, equation) in program.equations.iter().enumerate() {
            equation.outputs.iter().for_each(|var| reads.maker[var.index()] = number);
            if reads.kinds[number] == Kind::View {
                reads.base[equation.outputs[0].index()] = reads.base[equation.inputs[0].index()];
                continue;
            }
            for var in &equation.inputs {
                let base = reads.base[var.index()].index();
                reads.last[base] = number;
                if reads.readers[base].last() != Some(&number) {
                    reads.readers[base].push(number);
                }
            }
        }
        for var in &program.outputs {
            let base = reads.base[var.index()].index();
            reads.is_returned[base] = true;
            reads.last[base] = usize::MAX;
        }
        reads
    }

    /// Records that these equations no longer read the result of equation `number`.
    pub(super) fn forget(&mut self, var: Var, number: usize, late: &[usize]) {
        self.readers[var.index()].retain(|reader| !late.contains(reader));
        self.last[var.index()] = self.readers[var.index()].last().copied().unwrap_or(number);
    }

    /// The last equation before `number` that is a kernel of its own.
    pub(super) fn kernel_before(&self, number: usize) -> Option<usize> {
        let before = self.kernels.partition_point(|&kernel| kernel < number);
        self.kernels[..before].last().copied()
    }

    /// Whether an equation is part of fused loops.
    pub fn is_lane(&self, number: usize) -> bool {
        self.kinds[number] == Kind::Lane
    }

    /// Whether it is a constant, or a view of one.
    pub fn is_captured(&self, var: Var) -> bool {
        self.is_captured[self.base[var.index()].index()]
    }

    pub(super) fn lives_until(&self, var: Var, number: usize) -> bool {
        self.is_captured(var) || self.last[self.base[var.index()].index()] >= number
    }
}

fn is_view(program: &Program, equation: &Equation) -> bool {
    let ([x], [y]) = (&equation.inputs[..], &equation.outputs[..]) else { return false };
    let layout = Layout::contiguous(program.spec(*x).shape.clone());
    is_built_in(equation.op) && equation.op.view(&equation.attrs, &layout, program.spec(*y)).is_some()
}

/// Whether an equation is part of fused loops.
fn is_lane(program: &Program, equation: &Equation) -> bool {
    let [output] = equation.outputs[..] else { return false };
    let dtypes: SmallVec<[_; 3]> = equation.inputs.iter().map(|input| program.spec(*input).dtype).collect();
    is_built_in(equation.op)
        && equation.op.lowered().lane(&equation.attrs, &dtypes, program.spec(output).dtype).is_some()
}

/// Whether an equation normalises rows.
fn is_by_rows(equation: &Equation) -> bool {
    is_any(equation.op, &[LAYER_NORM, RMS_NORM])
}

//! Where variables are stored: in their own memory, or as a view of another variable.

use super::Target;
use crate::DType;
use crate::ground::items::{BARRIER, CAST};
use crate::primitive::Layout;
use crate::program::{Equation, Program, Var};
use smallvec::SmallVec;

/// The memory of every variable.
pub(super) struct Views {
    views: Vec<(Var, Layout)>,
    /// Whether a barrier separates it from its base.
    apart: Vec<bool>,
}

/// Whether an equation converts 16 bits to f32, as every loop does when it reads them.
fn is_widening(program: &Program, equation: &Equation) -> bool {
    let [from, to] = [equation.inputs[0], equation.outputs[0]].map(|var| program.spec(var).dtype);
    equation.op.is(CAST) && matches!(from, DType::BF16 | DType::F16) && to == DType::F32
}

/// For each variable, whether only loops read it, directly or as a view.
fn read_in_loops(program: &Program) -> Vec<bool> {
    let mut found = vec![true; program.variables()];
    program.outputs().iter().for_each(|output| found[output.index()] = false);
    for equation in program.equations().iter().rev() {
        let is_read_well = match equation.outputs[..] {
            [output] => {
                let layout =
                    Layout::contiguous(program.spec(equation.inputs.first().copied().unwrap_or(output)).shape.clone());
                let is_view = equation.inputs.len() == 1
                    && equation.op.view(&equation.attrs, &layout, program.spec(output)).is_some();
                is_lane(program, equation) || (is_view && found[output.index()])
            }
            _ => false,
        };
        if !is_read_well {
            equation.inputs.iter().for_each(|input| found[input.index()] = false);
        }
    }
    found
}

/// Whether an equation is part of fused loops.
fn is_lane(program: &Program, equation: &Equation) -> bool {
    let [output] = equation.outputs[..] else { return false };
    let dtypes: SmallVec<[DType; 4]> = equation.inputs.iter().map(|var| program.spec(*var).dtype).collect();
    equation.op.lowered().lane(&equation.attrs, &dtypes, program.spec(output).dtype).is_some()
}

impl Views {
    pub fn new(program: &Program, target: &Target) -> Views {
        let mut widens = if target.widens { read_in_loops(program) } else { vec![false; program.variables()] };
        loop {
            let (found, refused) = Views::widening(program, &widens);
            if refused.is_empty() {
                return found;
            }
            refused.into_iter().for_each(|var| widens[var.index()] = false);
        }
    }

    /// The views where these conversions to f32 have no memory; and those of them that a call reads, because what looked like a view of
    /// contiguous memory is none of this one.
    fn widening(program: &Program, widens: &[bool]) -> (Views, Vec<Var>) {
        let own = |index: usize| {
            let var = Var::new(index);
            (var, Layout::contiguous(program.spec(var).shape.clone()))
        };
        let mut views: Vec<(Var, Layout)> = (0..program.variables()).map(own).collect();
        let mut apart = vec![false; program.variables()];
        // The conversion that a variable is, or views.
        let mut widened: Vec<Option<Var>> = vec![None; program.variables()];
        let mut refused = Vec::new();
        for equation in program.equations() {
            if let ([x], [y]) = (&equation.inputs[..], &equation.outputs[..]) {
                let (base, layout) = &views[x.index()];
                if widens[y.index()] && is_widening(program, equation) {
                    views[y.index()] = (*base, layout.clone());
                    apart[y.index()] = apart[x.index()];
                    widened[y.index()] = Some(*y);
                    continue;
                }
                if let Some(layout) = equation.op.view(&equation.attrs, layout, program.spec(*y)) {
                    views[y.index()] = (*base, layout);
                    apart[y.index()] = apart[x.index()] || equation.op.is(BARRIER);
                    widened[y.index()] = widened[x.index()];
                    continue;
                }
            }
            let read = equation.inputs.iter().filter_map(|input| widened[input.index()]);
            if read.clone().next().is_some() && !is_lane(program, equation) {
                refused.extend(read);
            }
        }
        (Views { views, apart }, refused)
    }

    /// The variable whose memory it is stored in.
    pub fn base(&self, var: Var) -> Var {
        self.views[var.index()].0
    }

    /// Its layout in that memory.
    pub fn layout(&self, var: Var) -> &Layout {
        &self.views[var.index()].1
    }

    /// Whether it must not be read by the kernel that computes its base, because a barrier is in between.
    pub fn is_apart(&self, var: Var) -> bool {
        self.apart[var.index()]
    }

    /// Whether it has no memory of its own.
    pub fn is_view(&self, var: Var) -> bool {
        self.base(var) != var
    }

    /// Whether it is its whole base in the same order.
    pub fn is_whole(&self, program: &Program, var: Var) -> bool {
        let (base, layout) = &self.views[var.index()];
        let whole = layout.shape.elements() == program.spec(*base).shape.elements();
        whole && layout.offset == 0 && layout.is_contiguous()
    }

    /// Whether it repeats each of the `rows` elements of its base `cols` times.
    pub fn repeats(&self, var: Var, rows: usize, cols: usize) -> bool {
        let layout = self.layout(var);
        if layout.offset != 0 || layout.shape.elements() != rows * cols {
            return false;
        }
        // From the innermost axis outward: axes of stride 0 form the columns, then the rows must be contiguous.
        let (mut inner, mut expected) = (1, 1);
        for (&size, &stride) in layout.shape.iter().zip(&layout.strides).rev().filter(|(size, _)| **size != 1) {
            if inner < cols {
                if stride != 0 {
                    return false;
                }
                inner *= size;
            } else {
                if stride != expected {
                    return false;
                }
                expected *= size as isize;
            }
        }
        inner == cols
    }
}

//! Where variables are stored: in their own memory, or as a view of another variable.

use crate::ground::items::BARRIER;
use crate::primitive::Layout;
use crate::program::{Program, Var};

/// The memory of every variable.
pub(super) struct Views {
    views: Vec<(Var, Layout)>,
    /// Whether a barrier separates it from its base.
    apart: Vec<bool>,
}

impl Views {
    pub fn new(program: &Program) -> Views {
        let own = |index: usize| {
            let var = Var::new(index);
            (var, Layout::contiguous(program.spec(var).shape.clone()))
        };
        let mut views: Vec<(Var, Layout)> = (0..program.variables()).map(own).collect();
        let mut apart = vec![false; program.variables()];
        for equation in program.equations() {
            if let ([x], [y]) = (&equation.inputs[..], &equation.outputs[..]) {
                let (base, layout) = &views[x.index()];
                if let Some(layout) = equation.op.view(&equation.attrs, layout, program.spec(*y)) {
                    views[y.index()] = (*base, layout);
                    apart[y.index()] = apart[x.index()] || equation.op.is(BARRIER);
                }
            }
        }
        Views { views, apart }
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

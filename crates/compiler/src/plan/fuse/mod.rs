//! Fusion: elementwise operations and folds over the same elements become one loop.
//!
//! Equations are visited in order. An equation that reads a loop's results element by element joins the loop, unless something else has to
//! run in between; loops that meet in one equation are merged. Afterwards cheap operations move from the loop that computes their operands
//! to the only loop that reads their result, if that reduces memory traffic. This way, local derivatives are computed in the backward sweep
//! that needs them, from values that are stored anyway. Finally, large products are fused with the loops that read them.

mod follow;
mod order;
mod sink;

use super::Target;
use super::graph::Order;
use super::views::Views;
use crate::DType;
use crate::program::{Equation, Program, Var};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use wengert_kernels::tiled::Fold;

/// A unit of execution.
pub(super) enum Kernel {
    /// One equation.
    Call(usize),
    Loop(Group),
    /// One equation, and a loop over its result.
    Followed(usize, Group),
}

impl Kernel {
    /// The equations of a kernel.
    pub fn equations(&self) -> impl Iterator<Item = usize> + '_ {
        let (call, fused) = match self {
            Kernel::Call(number) => (Some(*number), None),
            Kernel::Loop(fused) => (None, Some(fused)),
            Kernel::Followed(number, fused) => (Some(*number), Some(fused)),
        };
        call.into_iter().chain(fused.into_iter().flat_map(|fused| fused.equations.iter().copied()))
    }
}

/// Equations over the same elements.
pub(super) struct Group {
    /// In the order of the program.
    pub equations: Vec<usize>,
    pub elements: usize,
    /// The number of elements of a row, once it is fixed.
    pub cols: Option<usize>,
}

/// What a variable is within the loop that computes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// One value per element.
    Elements,
    /// One value per row.
    Rows,
    /// Known only after the loop has finished.
    Total,
    Columns,
}

/// The kernels, and the role of every variable in its loop.
pub(super) struct Fusion {
    pub kernels: Vec<Kernel>,
    pub roles: Vec<Option<Role>>,
}

struct Fuser<'a> {
    program: &'a Program,
    views: &'a Views,
    target: &'a Target,
    /// `None` for kernels that were merged into others.
    kernels: Vec<Option<Kernel>>,
    /// The kernel of every variable, by base.
    producer: Vec<Option<usize>>,
    roles: Vec<Option<Role>>,
    order: Order,
    /// Variables that must be computed after an equation has run, because they overwrite what it reads.
    later: Vec<(Var, usize)>,
    /// For each equation with an effect, the previous one: effects keep the order of the program.
    effect_before: FxHashMap<usize, usize>,
}

/// Fuses a program into kernels, in execution order. Output `i` overwrites input `updates[i]`, if there is one.
pub(super) fn fuse(program: &Program, views: &Views, updates: &[Option<usize>], target: &Target) -> Fusion {
    let variables = program.variables();
    let numbered = program.equations().iter().enumerate();
    let effects: Vec<usize> =
        numbered.filter(|(_, equation)| equation.has_effect()).map(|(number, _)| number).collect();
    let mut fuser = Fuser {
        program,
        views,
        target,
        kernels: Vec::new(),
        producer: vec![None; variables],
        roles: vec![None; variables],
        order: Order::default(),
        later: Vec::new(),
        effect_before: effects.windows(2).map(|pair| (pair[1], pair[0])).collect(),
    };
    for number in 0..program.equations().len() {
        fuser.place(number);
    }
    fuser.sink();
    fuser.follow(updates);
    fuser.finish()
}

/// How an equation can be part of a loop.
enum Membership {
    Lane,
    Fold { role: Role, cols: Option<usize> },
}

impl Fuser<'_> {
    fn equation(&self, number: usize) -> &Equation {
        &self.program.equations()[number]
    }

    fn elements(&self, var: Var) -> usize {
        self.program.spec(var).shape.elements()
    }

    /// The kernels that an equation depends on: those that it reads from, and that of the preceding effect.
    fn sources(&self, number: usize) -> SmallVec<[usize; 4]> {
        let before = self.effect_before.get(&number).and_then(|before| self.kernel_of(*before));
        let mut sources: SmallVec<[usize; 4]> = before.into_iter().collect();
        for input in &self.equation(number).inputs {
            if let Some(kernel) = self.producer[self.views.base(*input).index()]
                && !sources.contains(&kernel)
            {
                sources.push(kernel);
            }
        }
        sources
    }

    fn place(&mut self, number: usize) {
        let equation = self.equation(number);
        if equation.outputs.iter().all(|output| self.views.is_view(*output)) {
            return;
        }
        let sources = self.sources(number);
        let joined = self.part(equation).and_then(|part| self.join(number, &part, &sources));
        let kernel = joined.unwrap_or_else(|| {
            self.kernels.push(Some(Kernel::Call(number)));
            self.order.push()
        });
        let sources: SmallVec<[usize; 4]> = sources.into_iter().map(|source| self.alive(source, kernel)).collect();
        self.order.wait(kernel, sources);
        for output in &self.program.equations()[number].outputs {
            self.producer[output.index()] = Some(kernel);
        }
    }

    /// A source that has been merged is now part of the kernel itself.
    fn alive(&self, source: usize, kernel: usize) -> usize {
        if self.kernels[source].is_some() { source } else { kernel }
    }

    fn part(&self, equation: &Equation) -> Option<Membership> {
        let [output] = equation.outputs[..] else { return None };
        let spec = self.program.spec(output);
        if let (Some(fold), [x]) = (equation.op.lowered().fold(), &equation.inputs[..]) {
            let shape = &self.program.spec(*x).shape;
            let axes = equation.attrs.sizes("axes");
            let (first, count) = (axes.first().copied().unwrap_or(0), axes.len());
            let adjacent = axes.iter().enumerate().all(|(i, &axis)| axis == first + i);
            if !adjacent || count == 0 || shape.elements() == 0 || spec.dtype == DType::Bool {
                return None;
            }
            let (all, last) = (count == shape.rank(), first + count == shape.rank());
            let (role, cols) = match (fold, all, last, first) {
                (Fold::Sum, true, ..) => (Role::Total, None),
                (_, _, true, _) => (Role::Rows, Some(shape[first..].iter().product())),
                (Fold::Sum, _, _, 0) => (Role::Columns, Some(shape[count..].iter().product())),
                _ => return None,
            };
            return cols
                .is_none_or(|cols: usize| cols <= self.target.longest_row)
                .then_some(Membership::Fold { role, cols });
        }
        let dtypes: SmallVec<[_; 3]> = equation.inputs.iter().map(|input| self.program.spec(*input).dtype).collect();
        let is_lane =
            spec.shape.elements() > 0 && equation.op.lowered().lane(&equation.attrs, &dtypes, spec.dtype).is_some();
        is_lane.then_some(Membership::Lane)
    }

    /// Finds or creates the loop for an equation.
    fn join(&mut self, number: usize, part: &Membership, sources: &[usize]) -> Option<usize> {
        let mut chosen: Option<usize> = None;
        for &source in sources.iter().rev() {
            if !self.can_join(number, part, source, sources) {
                continue;
            }
            match chosen {
                None => chosen = Some(source),
                Some(kept) if self.can_merge(kept, source) => self.merge(kept, source),
                Some(_) => {}
            }
        }
        // Merging may have turned the loop's own operands into those of others, so it is checked again as a whole.
        let chosen = chosen.or_else(|| match part {
            Membership::Lane => {
                let elements = self.elements(self.equation(number).outputs[0]);
                self.kernels.push(Some(Kernel::Loop(Group { equations: Vec::new(), elements, cols: None })));
                Some(self.order.push())
            }
            // Folded rows are usually read again.
            Membership::Fold { role: Role::Rows, cols } => {
                let elements = self.elements(self.equation(number).inputs[0]);
                self.kernels.push(Some(Kernel::Loop(Group { equations: Vec::new(), elements, cols: *cols })));
                Some(self.order.push())
            }
            Membership::Fold { .. } => None,
        })?;
        let role = match part {
            Membership::Fold { role, cols, .. } => {
                let fused = self.fused_mut(chosen);
                fused.cols = fused.cols.or(*cols);
                *role
            }
            Membership::Lane if self.elements(self.equation(number).outputs[0]) == self.fused(chosen)?.elements => {
                Role::Elements
            }
            Membership::Lane => Role::Rows,
        };
        let output = self.equation(number).outputs[0];
        self.roles[output.index()] = Some(role);
        self.fused_mut(chosen).equations.push(number);
        Some(chosen)
    }

    fn fused(&self, kernel: usize) -> Option<&Group> {
        match &self.kernels[kernel] {
            Some(Kernel::Loop(fused)) => Some(fused),
            _ => None,
        }
    }

    fn fused_mut(&mut self, kernel: usize) -> &mut Group {
        match &mut self.kernels[kernel] {
            Some(Kernel::Loop(fused)) => fused,
            _ => unreachable!("only loops are joined"),
        }
    }

    /// Whether the equation can join `kernel`, with everything it reads from elsewhere computed before.
    fn can_join(&self, number: usize, part: &Membership, kernel: usize, sources: &[usize]) -> bool {
        let Some(fused) = self.fused(kernel) else { return false };
        if fused.equations.len() >= self.target.most_equations || self.gathers(fused, &[number]) {
            return false;
        }
        let is_ready = |source: &usize| *source == kernel || !self.order.waits(*source, kernel);
        self.fits(number, part, kernel, fused) && sources.iter().all(is_ready)
    }

    /// Whether a loop with these additional equations would keep too many large results of calls alive.
    fn gathers(&self, fused: &Group, more: &[usize]) -> bool {
        let mut calls: SmallVec<[usize; 4]> = SmallVec::new();
        for &number in more.iter().chain(&fused.equations) {
            for input in &self.equation(number).inputs {
                let base = self.views.base(*input);
                let call = self.producer[base.index()]
                    .filter(|&kernel| matches!(self.kernels[kernel], Some(Kernel::Call(_))))
                    .filter(|call| {
                        self.program.spec(base).bytes() >= self.target.large_result && !calls.contains(call)
                    });
                calls.extend(call);
            }
        }
        calls.len() > self.target.most_gathered
    }

    /// Whether the equation reads the loop's results only element by element (or row by row).
    fn fits(&self, number: usize, part: &Membership, kernel: usize, fused: &Group) -> bool {
        let equation = self.equation(number);
        match part {
            Membership::Fold { cols, .. } => {
                let agrees = fused.cols.is_none() || cols.is_none() || fused.cols == *cols;
                agrees && self.role_in(equation.inputs[0], kernel, fused) == Some(Some(Role::Elements))
            }
            Membership::Lane => {
                let elements = self.elements(equation.outputs[0]);
                let level = match fused.cols {
                    _ if elements == fused.elements => Role::Elements,
                    Some(cols) if elements * cols == fused.elements => Role::Rows,
                    _ => return false,
                };
                equation.inputs.iter().all(|input| match self.role_in(*input, kernel, fused) {
                    None => true,
                    Some(role) => role == Some(level),
                })
            }
        }
    }

    /// The role of a variable within a loop; `None` for variables of other kernels.
    fn role_in(&self, var: Var, kernel: usize, fused: &Group) -> Option<Option<Role>> {
        let base = self.views.base(var);
        if self.producer[base.index()] != Some(kernel) {
            return None;
        }
        if self.views.is_apart(var) {
            return Some(None);
        }
        let is_whole = self.views.is_whole(self.program, var);
        Some(match (self.roles[base.index()], fused.cols) {
            (Some(Role::Elements), _) if is_whole => Some(Role::Elements),
            (Some(Role::Rows), _) if is_whole => Some(Role::Rows),
            (Some(Role::Rows), Some(cols)) if self.views.repeats(var, fused.elements / cols, cols) => {
                Some(Role::Elements)
            }
            _ => None,
        })
    }

    fn can_merge(&self, a: usize, b: usize) -> bool {
        let (Some(one), Some(other)) = (self.fused(a), self.fused(b)) else { return false };
        let alike = one.elements == other.elements
            && (one.cols.is_none() || other.cols.is_none() || one.cols == other.cols)
            && one.equations.len() + other.equations.len() < self.target.most_equations
            && !self.gathers(one, &other.equations);
        alike && self.order.can_merge(a, b) && self.reads_well(a, b) && self.reads_well(b, a)
    }

    /// Whether loop `a` could read the results of loop `b` if both were one loop.
    fn reads_well(&self, a: usize, b: usize) -> bool {
        let (Some(reader), Some(source)) = (self.fused(a), self.fused(b)) else { return false };
        reader.equations.iter().all(|&number| {
            let equation = self.equation(number);
            let level = self.roles[equation.outputs[0].index()];
            equation.inputs.iter().all(|input| match self.role_in(*input, b, source) {
                None => true,
                Some(Some(role)) if equation.op.lowered().fold().is_some() => role == Role::Elements,
                Some(role) => role.is_some() && role == level,
            })
        })
    }

    fn merge(&mut self, kept: usize, gone: usize) {
        let Some(Kernel::Loop(fused)) = self.kernels[gone].take() else { unreachable!("loops are merged") };
        for &number in &fused.equations {
            for output in &self.program.equations()[number].outputs {
                self.producer[output.index()] = Some(kept);
            }
        }
        let target = self.fused_mut(kept);
        target.equations.extend(fused.equations);
        target.equations.sort_unstable();
        target.cols = target.cols.or(fused.cols);
        self.order.merge(kept, gone);
    }

    /// The equations that read each variable, by base. A view does not count as a read; its readers do.
    fn readers_of_bases(&self) -> Vec<Vec<usize>> {
        let mut readers = vec![Vec::new(); self.program.variables()];
        for (number, equation) in self.program.equations().iter().enumerate() {
            if equation.outputs.iter().all(|output| self.views.is_view(*output)) {
                continue;
            }
            for input in &equation.inputs {
                readers[self.views.base(*input).index()].push(number);
            }
        }
        readers
    }

    /// The kernel of an equation, unless it is a view.
    fn kernel_of(&self, number: usize) -> Option<usize> {
        self.producer[self.equation(number).outputs[0].index()]
    }
}

//! Fusion: elementwise operations and folds that walk the same elements become one loop.
//!
//! Equations are taken in order. One that reads what a loop computes, element by element, joins it, unless something outside
//! would have to run in between; loops that meet in one equation merge. Afterwards cheap operations move from the loop that
//! computes their operands to the only one that reads their result, if less has to be written and read that way: so slopes are
//! computed where a sweep needs them, from what is stored anyway.

use super::graph::Order;
use super::views::Views;
use crate::DType;
use crate::program::{Equation, Program, Var};
use smallvec::SmallVec;
use wengert_kernels::tiled::{Fold, LONGEST_ROW};

/// What runs at a time.
pub(super) enum Kernel {
    /// One equation.
    Call(usize),
    Loop(Loop),
}

/// Equations over the same elements.
pub(super) struct Loop {
    /// In the order of the program.
    pub equations: Vec<usize>,
    pub elements: usize,
    /// Elements of a row, once that matters.
    pub cols: Option<usize>,
}

/// What a variable is to the loop that computes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// One number for each element.
    Elements,
    /// One number for each row.
    Rows,
    /// Known only when the loop has ended.
    Total,
    Columns,
}

/// Equations that a loop has at most.
const MOST_EQUATIONS: usize = 96;

/// Kernels, and what every variable is to its loop.
pub(super) struct Fusion {
    pub kernels: Vec<Kernel>,
    pub roles: Vec<Option<Role>>,
}

struct Fuser<'a> {
    program: &'a Program,
    views: &'a Views,
    /// Those that were merged into others are gone.
    kernels: Vec<Option<Kernel>>,
    /// The kernel of every variable, by base.
    producer: Vec<Option<usize>>,
    roles: Vec<Option<Role>>,
    order: Order,
}

/// Kernels in the order in which they run.
pub(super) fn fuse(program: &Program, views: &Views) -> Fusion {
    let variables = program.variables();
    let mut fuser = Fuser {
        program,
        views,
        kernels: Vec::new(),
        producer: vec![None; variables],
        roles: vec![None; variables],
        order: Order::default(),
    };
    for number in 0..program.equations().len() {
        fuser.place(number);
    }
    fuser.sink();
    fuser.finish()
}

/// An equation as a part of a loop.
enum Part {
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

    /// The kernels that an equation reads from.
    fn sources(&self, number: usize) -> SmallVec<[usize; 4]> {
        let mut sources = SmallVec::new();
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

    /// A source that was merged meanwhile is part of the kernel itself.
    fn alive(&self, source: usize, kernel: usize) -> usize {
        if self.kernels[source].is_some() { source } else { kernel }
    }

    fn part(&self, equation: &Equation) -> Option<Part> {
        let [output] = equation.outputs[..] else { return None };
        let spec = self.program.spec(output);
        if let (Some(fold), [x]) = (equation.op.fold(), &equation.inputs[..]) {
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
            return cols.is_none_or(|cols: usize| cols <= LONGEST_ROW).then_some(Part::Fold { role, cols });
        }
        let dtypes: SmallVec<[_; 3]> = equation.inputs.iter().map(|input| self.program.spec(*input).dtype).collect();
        let is_lane = spec.shape.elements() > 0 && equation.op.lane(&equation.attrs, &dtypes, spec.dtype).is_some();
        is_lane.then_some(Part::Lane)
    }

    /// The loop that an equation becomes a part of.
    fn join(&mut self, number: usize, part: &Part, sources: &[usize]) -> Option<usize> {
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
        // Operands of the loop's own may have become those of others by merging: it is checked again as one.
        let chosen = chosen.or_else(|| match part {
            Part::Lane => {
                let elements = self.elements(self.equation(number).outputs[0]);
                self.kernels.push(Some(Kernel::Loop(Loop { equations: Vec::new(), elements, cols: None })));
                Some(self.order.push())
            }
            // Rows that are folded are read again, more often than not.
            Part::Fold { role: Role::Rows, cols } => {
                let elements = self.elements(self.equation(number).inputs[0]);
                self.kernels.push(Some(Kernel::Loop(Loop { equations: Vec::new(), elements, cols: *cols })));
                Some(self.order.push())
            }
            Part::Fold { .. } => None,
        })?;
        let role = match part {
            Part::Fold { role, cols, .. } => {
                let fused = self.fused_mut(chosen);
                fused.cols = fused.cols.or(*cols);
                *role
            }
            Part::Lane if self.elements(self.equation(number).outputs[0]) == self.fused(chosen)?.elements => {
                Role::Elements
            }
            Part::Lane => Role::Rows,
        };
        let output = self.equation(number).outputs[0];
        self.roles[output.index()] = Some(role);
        self.fused_mut(chosen).equations.push(number);
        Some(chosen)
    }

    fn fused(&self, kernel: usize) -> Option<&Loop> {
        match &self.kernels[kernel] {
            Some(Kernel::Loop(fused)) => Some(fused),
            _ => None,
        }
    }

    fn fused_mut(&mut self, kernel: usize) -> &mut Loop {
        match &mut self.kernels[kernel] {
            Some(Kernel::Loop(fused)) => fused,
            _ => unreachable!("only loops are joined"),
        }
    }

    /// Whether `kernel` is a loop that the equation can be a part of, with what it reads from elsewhere ready before.
    fn can_join(&self, number: usize, part: &Part, kernel: usize, sources: &[usize]) -> bool {
        let Some(fused) = self.fused(kernel) else { return false };
        if fused.equations.len() >= MOST_EQUATIONS {
            return false;
        }
        let is_ready = |source: &usize| *source == kernel || !self.order.waits(*source, kernel);
        self.fits(number, part, kernel, fused) && sources.iter().all(is_ready)
    }

    /// Whether everything that the equation reads from the loop is at hand element by element.
    fn fits(&self, number: usize, part: &Part, kernel: usize, fused: &Loop) -> bool {
        let equation = self.equation(number);
        match part {
            Part::Fold { cols, .. } => {
                let agrees = fused.cols.is_none() || cols.is_none() || fused.cols == *cols;
                agrees && self.role_in(equation.inputs[0], kernel, fused) == Some(Some(Role::Elements))
            }
            Part::Lane => {
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

    /// How a loop sees one of its own variables; `None` for variables of others.
    fn role_in(&self, var: Var, kernel: usize, fused: &Loop) -> Option<Option<Role>> {
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
            && one.equations.len() + other.equations.len() < MOST_EQUATIONS;
        alike && self.order.can_merge(a, b) && self.reads_well(a, b) && self.reads_well(b, a)
    }

    /// Whether everything that loop `a` reads from loop `b` would be at hand in one loop.
    fn reads_well(&self, a: usize, b: usize) -> bool {
        let (Some(reader), Some(source)) = (self.fused(a), self.fused(b)) else { return false };
        reader.equations.iter().all(|&number| {
            let equation = self.equation(number);
            let level = self.roles[equation.outputs[0].index()];
            equation.inputs.iter().all(|input| match self.role_in(*input, b, source) {
                None => true,
                Some(Some(role)) if equation.op.fold().is_some() => role == Role::Elements,
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

    /// Moves operations to the only loop that reads them, where that saves memory traffic.
    fn sink(&mut self) {
        let readers = self.readers();
        for number in (0..self.program.equations().len()).rev() {
            let equation = self.equation(number);
            let [output] = equation.outputs[..] else { continue };
            let Some(from) = self.producer[output.index()] else { continue };
            if self.views.is_view(output) || self.fused(from).is_none() || equation.op.fold().is_some() {
                continue;
            }
            let Some(users) = &readers[output.index()] else { continue };
            let mut kernels = users.iter().filter_map(|&user| self.producer[self.equation(user).outputs[0].index()]);
            let Some(to) = kernels.next().filter(|&to| to != from && kernels.all(|other| other == to)) else {
                continue;
            };
            if self.is_worth_sinking(number, from, to, &readers) {
                self.fused_mut(from).equations.retain(|&other| other != number);
                let target = self.fused_mut(to);
                target.equations.push(number);
                target.equations.sort_unstable();
                self.producer[output.index()] = Some(to);
                self.roles[output.index()] = Some(Role::Elements);
                let sources = self.sources(number);
                self.order.wait(to, sources);
                if self.fused(from).is_some_and(|fused| fused.equations.is_empty()) {
                    self.kernels[from] = None;
                }
            }
        }
    }

    /// The equations that read each variable, by base; `None` for variables that leave the program.
    fn readers(&self) -> Vec<Option<Vec<usize>>> {
        let mut readers = vec![Some(Vec::new()); self.program.variables()];
        for (number, equation) in self.program.equations().iter().enumerate() {
            for input in &equation.inputs {
                // A view reads nothing: its readers do.
                if equation.outputs.iter().all(|output| self.views.is_view(*output)) {
                    continue;
                }
                if let Some(readers) = &mut readers[self.views.base(*input).index()] {
                    readers.push(number);
                }
            }
        }
        for output in self.program.outputs() {
            readers[self.views.base(*output).index()] = None;
        }
        readers
    }

    fn is_worth_sinking(&self, number: usize, from: usize, to: usize, readers: &[Option<Vec<usize>>]) -> bool {
        let equation = self.equation(number);
        let output = equation.outputs[0];
        let Some(target) = self.fused(to) else { return false };
        if target.elements != self.elements(output) || target.equations.len() >= MOST_EQUATIONS {
            return false;
        }
        // Whoever reads it there must do so element by element.
        let reads_whole = |&user: &usize| {
            let inputs = &self.equation(user).inputs;
            let mine = inputs.iter().filter(|input| self.views.base(**input) == output);
            let whole = mine.into_iter().all(|input| self.views.is_whole(self.program, *input));
            whole && self.roles[self.equation(user).outputs[0].index()] == Some(Role::Elements)
        };
        if !readers[output.index()].as_ref().is_some_and(|users| users.iter().all(reads_whole)) {
            return false;
        }
        let bytes = |var: Var| self.program.spec(var).bytes();
        let mut cost = 0;
        for input in &equation.inputs {
            let base = self.views.base(*input);
            let at_hand = target.equations.iter().any(|&other| {
                let other = self.equation(other);
                other.inputs.iter().any(|read| self.views.base(*read) == base)
            });
            let is_own = self.producer[base.index()] == Some(from);
            // What the loop keeps to itself so far would have to be written.
            let is_stored = !is_own
                || readers[base.index()].as_ref().is_none_or(|users| {
                    users.iter().any(|&user| {
                        user != number && self.producer[self.equation(user).outputs[0].index()] != Some(from)
                    })
                });
            cost += if at_hand { 0 } else { bytes(base) } + if is_stored { 0 } else { bytes(base) };
        }
        cost <= 2 * bytes(output)
    }

    /// Kernels in an order that waits for everything, those of earlier equations first.
    fn finish(self) -> Fusion {
        let first = |kernel: &Kernel| match kernel {
            Kernel::Call(number) => *number,
            Kernel::Loop(fused) => fused.equations[0],
        };
        let mut pending: std::collections::BinaryHeap<std::cmp::Reverse<(usize, usize)>> = Default::default();
        let mut numbers: Vec<usize> = Vec::new();
        let alive: Vec<usize> = (0..self.kernels.len()).filter(|&kernel| self.kernels[kernel].is_some()).collect();
        let mut missing = vec![0usize; self.kernels.len()];
        let mut waiters: Vec<Vec<usize>> = vec![Vec::new(); self.kernels.len()];
        for &kernel in &alive {
            let equations = match self.kernels[kernel].as_ref().expect("alive") {
                Kernel::Call(number) => std::slice::from_ref(number),
                Kernel::Loop(fused) => &fused.equations[..],
            };
            let mut sources: Vec<usize> = equations.iter().flat_map(|&number| self.sources(number)).collect();
            sources.sort_unstable();
            sources.dedup();
            for source in sources.into_iter().filter(|&source| source != kernel) {
                missing[kernel] += 1;
                waiters[source].push(kernel);
            }
        }
        let key = |kernel: usize| (first(self.kernels[kernel].as_ref().expect("alive")), kernel);
        pending
            .extend(alive.iter().filter(|&&kernel| missing[kernel] == 0).map(|&kernel| std::cmp::Reverse(key(kernel))));
        while let Some(std::cmp::Reverse((_, kernel))) = pending.pop() {
            numbers.push(kernel);
            for &waiter in &waiters[kernel] {
                missing[waiter] -= 1;
                if missing[waiter] == 0 {
                    pending.push(std::cmp::Reverse(key(waiter)));
                }
            }
        }
        assert_eq!(numbers.len(), alive.len(), "kernels wait for each other");
        let mut kernels = self.kernels;
        let kernels = numbers.into_iter().map(|kernel| kernels[kernel].take().expect("alive")).collect();
        Fusion { kernels, roles: self.roles }
    }
}

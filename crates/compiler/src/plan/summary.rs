//! Human-readable summaries of plans.

use super::buffers::{ARENA, Regions};
use super::{Placed, PlacedLoop, Plan, Target};
use crate::ground::items::BARRIER;
use crate::primitive::{Cost, Spec};
use crate::program::{Program, Var};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use wengert_kernels::memory::Span;

/// The kernels of a plan in order, and the memory that they need.
///
/// ```
/// use wengert::prelude::*;
/// let f = compile(|x: &Tensor| x.exp().tanh().sum());
/// let plan = f.plan(&Tensor::from([1.0, 2.0]));
/// assert_eq!(plan.kernels(), 1);
/// assert_eq!(plan.workspace_bytes(), 0);
/// assert!(plan.to_string().contains("loop over 2 elements: exp, tanh, sum"));
/// ```
#[derive(Clone, Debug)]
pub struct PlanSummary {
    program: Arc<Program>,
    kernels: Vec<Kernel>,
    pieces: Vec<WorkspacePiece>,
    workspace_bytes: usize,
    constant_bytes: usize,
    input_bytes: usize,
    output_bytes: usize,
    /// Milliseconds per call for every kernel, if measured.
    times: Vec<f64>,
    /// Milliseconds of a whole call, if measured.
    wall: Option<f64>,
    /// The program before a memory budget made it recompute values.
    pub(super) before: Arc<Program>,
    /// The input that each output updates.
    pub(super) updates: Vec<Option<usize>>,
    pub(super) target: Target,
}

/// A piece of a plan's workspace: some bytes, and the kernels that need them. Pieces never overlap: a kernel that overwrites what it reads
/// begins a new piece.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::WorkspacePiece;
/// let plan = compile(|x: &Tensor| x.matmul(x).matmul(x)).plan(&Tensor::zeros([16, 16]));
/// let bytes = 8 * 16 * 16;
/// assert_eq!(plan.pieces()[0], WorkspacePiece { start: 0, bytes, variable: Some(1), first: 0, last: plan.kernels() - 1 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkspacePiece {
    /// The first byte.
    pub start: usize,
    /// The number of bytes.
    pub bytes: usize,
    /// The variable of the program that fills them, 3 for `v3`; `None` for the scratch memory of a loop and for copies.
    pub variable: Option<usize>,
    /// The kernel that writes them.
    pub first: usize,
    /// The last kernel that reads them.
    pub last: usize,
}

/// What is known of a kernel.
#[derive(Clone, Debug)]
struct Kernel {
    text: String,
    equations: Vec<usize>,
    sources: Vec<usize>,
    operands: Vec<Var>,
    results: Vec<usize>,
    call: Option<usize>,
    /// The bytes that its loops read and write, other than the result of the call before them.
    loop_bytes: usize,
}

impl PlanSummary {
    /// Adds the times of `calls` calls, which took `wall` in all.
    #[doc(hidden)]
    pub fn with_times(self, times: &[Duration], wall: Duration, calls: usize) -> PlanSummary {
        let per_call = |time: &Duration| time.as_secs_f64() * 1e3 / calls as f64;
        PlanSummary { times: times.iter().map(per_call).collect(), wall: Some(per_call(&wall)), ..self }
    }

    /// The milliseconds of a whole call, with everything between kernels; `None` unless measured by `profile`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::ones([4, 4]);
    /// let plan = compile(|x: &Tensor| x.exp().matmul(x)).profile(&x, 10);
    /// assert!(plan.times().iter().sum::<f64>() <= plan.wall().unwrap());
    /// ```
    pub fn wall(&self) -> Option<f64> {
        self.wall
    }

    /// Says that the program is this one with values that are computed again.
    #[doc(hidden)]
    pub fn from_program(self, before: Program) -> PlanSummary {
        PlanSummary { before: Arc::new(before), ..self }
    }

    /// How many equations a memory budget made the program repeat.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let chain = |x: &Tensor| (0..24).fold(x.clone(), |y, _| y.matmul(x).tanh()).sum();
    /// let x = Tensor::ones([96, 96]) / 96.0;
    /// let free = compile(grad(chain)).plan(&x);
    /// let half = compile(grad(chain)).within(free.total_bytes() / 2).plan(&x);
    /// assert_eq!(free.repeated_equations(), 0);
    /// assert!(half.repeated_equations() > 0 && half.repeated_cost().flops > 0.0);
    /// assert!(half.to_string().contains(&format!("{} equations repeated", half.repeated_equations())));
    /// ```
    pub fn repeated_equations(&self) -> usize {
        let count = |program: &Program| program.equations().iter().filter(|one| !one.op.is(BARRIER)).count();
        count(&self.program).saturating_sub(count(&self.before))
    }

    /// What the repeated equations cost.
    pub fn repeated_cost(&self) -> Cost {
        let (now, before) = (self.program.cost(), self.before.cost());
        Cost { flops: (now.flops - before.flops).max(0.0), bytes: (now.bytes - before.bytes).max(0.0) }
    }

    /// The milliseconds per call for every kernel; empty unless measured by `profile`.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// The number of kernels per call.
    pub fn kernels(&self) -> usize {
        self.kernels.len()
    }

    /// The program that the kernels compute: optimised, with what a memory budget made it recompute.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let plan = compile(|x: &Tensor| (x.exp() * 1.0).sum()).plan(&Tensor::from([1.0, 2.0]));
    /// assert_eq!(plan.program().equations().len(), 2);
    /// ```
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// One line about a kernel. Like the methods below it expects a number smaller than [`kernels`](PlanSummary::kernels).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let plan = compile(|x: &Tensor| x.exp().tanh()).plan(&Tensor::from([1.0, 2.0]));
    /// assert_eq!(plan.kernel_text(0), "loop over 2 elements: exp, tanh");
    /// ```
    pub fn kernel_text(&self, kernel: usize) -> &str {
        &self.kernels[kernel].text
    }

    /// The equations that a kernel fuses into loops, as indices into those of the [`program`](PlanSummary::program). The equation of a call
    /// is not among them.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let plan = compile(|x: &Tensor| x.exp().tanh()).plan(&Tensor::from([1.0, 2.0]));
    /// assert_eq!(plan.kernel_equations(0), [0, 1]);
    /// ```
    pub fn kernel_equations(&self, kernel: usize) -> &[usize] {
        &self.kernels[kernel].equations
    }

    /// The equation of a kernel that is a call, a loop or a branch of the program, as an index into those of the
    /// [`program`](PlanSummary::program).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let plan = compile(|x: &Tensor| x.exp().matmul(x)).plan(&Tensor::zeros([4, 4]));
    /// assert_eq!((plan.kernel_call(0), plan.kernel_call(1)), (None, Some(1)));
    /// ```
    pub fn kernel_call(&self, kernel: usize) -> Option<usize> {
        self.kernels[kernel].call
    }

    /// The work of every kernel. A fused loop reads what it is given and writes what others need: its intermediate values cost nothing.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let plan = compile(|x: &Tensor| x.exp().tanh()).plan(&Tensor::zeros([100]));
    /// assert_eq!((plan.costs()[0].flops, plan.costs()[0].bytes), (200.0, 1600.0));
    /// ```
    pub fn costs(&self) -> Vec<Cost> {
        let costs = self.program.costs();
        let cost = |kernel: &Kernel| {
            let called = kernel.call.map(|equation| costs[equation]).unwrap_or_default();
            let looped: f64 = kernel.equations.iter().map(|equation| costs[*equation].flops).sum();
            Cost { flops: called.flops + looped, bytes: called.bytes + kernel.loop_bytes as f64 }
        };
        self.kernels.iter().map(cost).collect()
    }

    /// The kernels that compute what a kernel reads, in their order.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let plan = compile(|x: &Tensor| x.matmul(x).matmul(x)).plan(&Tensor::zeros([200, 200]));
    /// assert_eq!(plan.kernel_sources(plan.kernels() - 1), [plan.kernels() - 2]);
    /// ```
    pub fn kernel_sources(&self, kernel: usize) -> &[usize] {
        &self.kernels[kernel].sources
    }

    /// The inputs and captures of the [`program`](PlanSummary::program) that a kernel reads.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let plan = compile(|(x, y): &(Tensor, Tensor)| x * y + x).plan(&(Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0])));
    /// assert_eq!(plan.kernel_operands(0), plan.program().inputs());
    /// ```
    pub fn kernel_operands(&self, kernel: usize) -> &[Var] {
        &self.kernels[kernel].operands
    }

    /// The outputs of the [`program`](PlanSummary::program) that a kernel writes, by their position.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let plan = compile(|x: &Tensor| (x.exp(), x.sin())).plan(&Tensor::from([1.0, 2.0]));
    /// assert_eq!(plan.kernel_results(0), [0, 1]);
    /// ```
    pub fn kernel_results(&self, kernel: usize) -> &[usize] {
        &self.kernels[kernel].results
    }

    /// What the workspace holds, in the order in which it is written.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let plan = compile(|x: &Tensor| x.matmul(x).cumsum(0).matmul(x)).plan(&Tensor::zeros([16, 16]));
    /// let lives: Vec<(usize, usize)> = plan.pieces().iter().map(|piece| (piece.first, piece.last)).collect();
    /// assert_eq!(lives, [(0, 1), (1, 2)]);
    /// ```
    pub fn pieces(&self) -> &[WorkspacePiece] {
        &self.pieces
    }

    /// The bytes that a call needs besides its inputs, constants and outputs.
    pub fn workspace_bytes(&self) -> usize {
        self.workspace_bytes
    }

    /// The total bytes: inputs, constants, outputs that do not update an input, and workspace.
    pub fn total_bytes(&self) -> usize {
        self.workspace_bytes + self.constant_bytes + self.input_bytes + self.output_bytes
    }
}

impl fmt::Display for PlanSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, kernel) in self.kernels.iter().enumerate() {
            match self.times.get(number) {
                Some(time) => writeln!(f, "{number:4}  {time:9.4} ms  {}", kernel.text)?,
                None => writeln!(f, "{number:4}  {}", kernel.text)?,
            }
        }
        let megabytes = |bytes: usize| bytes as f64 / 1e6;
        writeln!(
            f,
            "{} kernels; MB: inputs {:.3}, constants {:.3}, outputs {:.3}, workspace {:.3}, all {:.3}",
            self.kernels.len(),
            megabytes(self.input_bytes),
            megabytes(self.constant_bytes),
            megabytes(self.output_bytes),
            megabytes(self.workspace_bytes),
            megabytes(self.total_bytes())
        )?;
        let (repeated, cost) = (self.repeated_equations(), self.repeated_cost());
        if repeated == 0 {
            return Ok(());
        }
        let share = 100.0 * self.target.weight(cost) / self.target.weight(self.before.cost()).max(1.0);
        let (flops, bytes) = (cost.flops / 1e6, cost.bytes / 1e6);
        writeln!(
            f,
            "{repeated} equations repeated to save memory: {flops:.3} Mflop, {bytes:.3} MB moved, {share:.1} % more work"
        )
    }
}

impl Program {
    /// How this program, without further passes, would run on concrete tensors: its kernels and the memory that they need.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let program = compile(|x: &Tensor| (x.exp() * 2.0).sum()).program(&Tensor::from([1.0, 2.0]));
    /// assert_eq!(program.optimised().plan().kernels(), 1);
    /// ```
    pub fn plan(&self) -> PlanSummary {
        Plan::new(self, vec![None; self.outputs().len()], &Target::CPU).summary(self)
    }
}

impl Plan {
    #[doc(hidden)]
    pub fn summary(&self, program: &Program) -> PlanSummary {
        let bytes = |vars: &mut dyn Iterator<Item = &Var>| vars.map(|var| program.spec(*var).bytes()).sum();
        let fresh = program.outputs().iter().zip(&self.updates).filter(|(_, update)| update.is_none());
        let program_of = Arc::new(program.clone());
        PlanSummary {
            before: program_of.clone(),
            program: program_of,
            updates: self.updates.clone(),
            target: Target::CPU,
            kernels: self.kernels(program),
            pieces: self.pieces(program),
            workspace_bytes: self.arena,
            constant_bytes: bytes(&mut program.captures().iter().map(|(var, _)| var)),
            input_bytes: bytes(&mut program.inputs().iter()),
            output_bytes: bytes(&mut fresh.map(|(var, _)| var)),
            times: Vec::new(),
            wall: None,
        }
    }

    /// The kernels, with the flow of data between them: a kernel reads what was last written to its bytes.
    fn kernels(&self, program: &Program) -> Vec<Kernel> {
        let regions = Regions::new(program, self.updates.clone());
        let (inputs, captures) = (program.inputs().iter(), program.captures().iter().map(|(var, _)| var));
        let given = (inputs.enumerate().map(|(number, var)| (regions.input(number), *var)))
            .chain(captures.enumerate().map(|(number, var)| (regions.constant(number), *var)));
        let given: FxHashMap<usize, Var> = given.collect();
        let outputs: FxHashMap<usize, usize> =
            (0..program.outputs().len()).map(|number| (regions.output(number), number)).collect();
        let mut written: FxHashMap<Span, usize> = FxHashMap::default();
        let mut kernels = Vec::new();
        for (number, step) in self.steps.iter().enumerate() {
            let reads = step.reads();
            let mut sources: Vec<usize> = reads.iter().filter_map(|span| written.get(span).copied()).collect();
            sources.sort_unstable();
            sources.dedup();
            let old = reads.iter().filter(|span| !written.contains_key(span));
            let mut operands: Vec<Var> = old.filter_map(|span| given.get(&span.region).copied()).collect();
            operands.sort_unstable();
            operands.dedup();
            let writes = step.writes(program).into_iter().map(|(span, _)| span);
            let results = writes.clone().filter_map(|span| outputs.get(&span.region).copied()).collect();
            written.extend(writes.map(|span| (span, number)));
            let equations = step.loops().iter().flat_map(|one| one.equations.iter().copied()).collect();
            let (call, loop_bytes) = (step.equation(), step.loop_bytes());
            kernels.push(Kernel { text: step.text(program), equations, sources, operands, results, call, loop_bytes });
        }
        kernels
    }

    /// The workspace over time: a piece lasts from the kernel that writes it to the last one that reads it, or to the one before it is
    /// overwritten in place.
    fn pieces(&self, program: &Program) -> Vec<WorkspacePiece> {
        let mut pieces: Vec<WorkspacePiece> = Vec::new();
        let mut written: FxHashMap<Span, usize> = FxHashMap::default();
        let is_workspace = |(span, _): &(Span, _)| span.region == ARENA && span.length > 0;
        for (number, step) in self.steps.iter().enumerate() {
            for piece in step.reads().iter().filter_map(|span| written.get(span)) {
                pieces[*piece].last = number;
            }
            let scratch = match step {
                Placed::Flow { scratch, .. } => Some((*scratch, None)),
                _ => None,
            };
            for (span, variable) in step.writes(program).into_iter().chain(scratch).filter(is_workspace) {
                let old = written.get(&span).map(|piece| &mut pieces[*piece]);
                // A call and the loop behind it write the same bytes.
                if old.as_ref().is_some_and(|old| old.first == number) {
                    continue;
                }
                if let Some(old) = old {
                    old.last = old.last.min(number - 1);
                }
                written.insert(span, pieces.len());
                let Span { start, length: bytes, .. } = span;
                pieces.push(WorkspacePiece { start, bytes, variable, first: number, last: number });
            }
        }
        pieces
    }
}

impl Placed {
    fn loops(&self) -> &[PlacedLoop] {
        match self {
            Placed::Loops(loops) => loops,
            Placed::Call { then: Some(loops), .. } => loops,
            _ => &[],
        }
    }

    /// The equation that is called.
    fn equation(&self) -> Option<usize> {
        match self {
            Placed::Call { equation, .. } | Placed::Flow { equation, .. } => Some(*equation),
            Placed::Loops(_) | Placed::Copy { .. } => None,
        }
    }

    /// The bytes that the loops read and write, other than the result of the call before them. Those of a copy too.
    fn loop_bytes(&self) -> usize {
        if let Placed::Copy { read, write } = self {
            return read.span.length + write.length;
        }
        let result = match self {
            Placed::Call { writes, .. } => writes.first().map(|(span, _)| *span),
            _ => None,
        };
        let distinct = |spans: &mut dyn Iterator<Item = Span>| {
            let spans: FxHashSet<Span> = spans.filter(|span| Some(*span) != result).collect();
            spans.iter().map(|span| span.length).sum::<usize>()
        };
        distinct(&mut self.loops().iter().flat_map(|one| one.reads.iter().copied()))
            + distinct(&mut self.loops().iter().flat_map(|one| one.writes.iter().copied()))
    }

    /// The bytes that were written before and are read.
    fn reads(&self) -> Vec<Span> {
        let called: Vec<Span> = match self {
            Placed::Loops(_) => Vec::new(),
            Placed::Call { reads, .. } => reads.iter().map(|read| read.span).collect(),
            Placed::Flow { gathered, reads, scratch, .. } => {
                let whole = gathered.iter().map(|(read, _)| read.span);
                let in_place = reads.iter().map(|read| read.span).filter(|span| !span.overlaps(scratch));
                whole.chain(in_place).collect()
            }
            Placed::Copy { read, .. } => vec![read.span],
        };
        let result = match self {
            Placed::Call { writes, .. } => writes.first().map(|(span, _)| *span),
            _ => None,
        };
        let looped = self.loops().iter().flat_map(|one| one.reads.iter().copied());
        called.into_iter().chain(looped.filter(|span| Some(*span) != result)).collect()
    }

    fn writes(&self, program: &Program) -> Vec<(Span, Option<usize>)> {
        let called: Vec<(Span, Option<usize>)> = match self {
            Placed::Loops(_) => Vec::new(),
            Placed::Call { writes, equation, .. } | Placed::Flow { writes, equation, .. } => {
                let outputs = program.equations()[*equation].outputs.iter().map(|var| Some(var.index()));
                writes.iter().map(|(span, _)| *span).zip(outputs).collect()
            }
            Placed::Copy { write, .. } => vec![(*write, None)],
        };
        let of_loop = |one: &PlacedLoop| {
            let variables = one.variables.iter().map(|number| Some(*number));
            one.writes.iter().copied().zip(variables).collect::<Vec<_>>()
        };
        called.into_iter().chain(self.loops().iter().flat_map(of_loop)).collect()
    }

    fn text(&self, program: &Program) -> String {
        let name = |number: &usize| program.equations()[*number].op.name();
        let one = |one: &PlacedLoop| {
            let names: Vec<&str> = one.equations.iter().map(name).collect();
            format!("loop over {} elements: {}", one.body.elements(), names.join(", "))
        };
        match self {
            Placed::Loops(loops) => {
                let mut texts: Vec<(String, usize)> = Vec::new();
                for text in loops.iter().map(one) {
                    match texts.last_mut().filter(|(last, _)| *last == text) {
                        Some((_, count)) => *count += 1,
                        None => texts.push((text, 1)),
                    }
                }
                let text =
                    |(text, count): (String, usize)| if count > 1 { format!("{count} times {text}") } else { text };
                texts.into_iter().map(text).collect::<Vec<_>>().join("; ")
            }
            Placed::Call { op, attrs, reads, writes, then, .. } => {
                let list =
                    |specs: &mut dyn Iterator<Item = &Spec>| specs.map(Spec::to_string).collect::<Vec<_>>().join(", ");
                let operands = list(&mut reads.iter().map(|read| &read.spec));
                let results = list(&mut writes.iter().map(|(_, spec)| spec));
                let call = format!("{}{attrs}: {operands} -> {results}", op.name());
                match then.as_deref() {
                    Some(loops) => format!("{call}; then {}", one(&loops[0])),
                    None => call,
                }
            }
            Placed::Flow { name, flow, reads, writes, .. } => {
                let parts = if flow.parts() > 1 { format!(", rows in {} parts", flow.parts()) } else { String::new() };
                format!("{name} of {} operands, {} outputs{parts}", reads.len(), writes.len())
            }
            Placed::Copy { read, .. } => format!("copy {}", read.spec),
        }
    }
}

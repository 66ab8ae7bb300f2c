//! Human-readable summaries of plans.

use super::buffers::Regions;
use super::{Placed, PlacedLoop, Plan, Target};
use crate::primitive::Spec;
use crate::program::{Program, Var};
use rustc_hash::FxHashMap;
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
    workspace_bytes: usize,
    constant_bytes: usize,
    input_bytes: usize,
    output_bytes: usize,
    /// Milliseconds per call for every kernel, if measured.
    times: Vec<f64>,
}

/// What is known of a kernel.
#[derive(Clone, Debug)]
struct Kernel {
    text: String,
    equations: Vec<usize>,
    sources: Vec<usize>,
    operands: Vec<Var>,
    results: Vec<usize>,
}

impl PlanSummary {
    /// Adds the times of `calls` calls.
    #[doc(hidden)]
    pub fn with_times(self, times: &[Duration], calls: usize) -> PlanSummary {
        PlanSummary { times: times.iter().map(|time| time.as_secs_f64() * 1e3 / calls as f64).collect(), ..self }
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

    /// The kernels that compute what a kernel reads, in their order.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let plan = compile(|x: &Tensor| x.matmul(x).exp().matmul(x)).plan(&Tensor::zeros([200, 200]));
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
        PlanSummary {
            program: Arc::new(program.clone()),
            kernels: self.kernels(program),
            workspace_bytes: self.arena,
            constant_bytes: bytes(&mut program.captures().iter().map(|(var, _)| var)),
            input_bytes: bytes(&mut program.inputs().iter()),
            output_bytes: bytes(&mut fresh.map(|(var, _)| var)),
            times: Vec::new(),
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
            let writes = step.writes();
            let results = writes.iter().filter_map(|span| outputs.get(&span.region).copied()).collect();
            written.extend(writes.into_iter().map(|span| (span, number)));
            let equations = step.loops().iter().flat_map(|one| one.equations.iter().copied()).collect();
            kernels.push(Kernel { text: step.text(program), equations, sources, operands, results });
        }
        kernels
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

    fn writes(&self) -> Vec<Span> {
        let called: Vec<Span> = match self {
            Placed::Loops(_) => Vec::new(),
            Placed::Call { writes, .. } | Placed::Flow { writes, .. } => writes.iter().map(|(span, _)| *span).collect(),
            Placed::Copy { write, .. } => vec![*write],
        };
        called.into_iter().chain(self.loops().iter().flat_map(|one| one.writes.iter().copied())).collect()
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

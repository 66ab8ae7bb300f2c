//! Human-readable summaries of plans.

use super::{Placed, PlacedLoop, Plan, Target};
use crate::primitive::Spec;
use crate::program::Program;
use std::fmt;
use std::time::Duration;

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
    kernels: Vec<String>,
    workspace_bytes: usize,
    constant_bytes: usize,
    input_bytes: usize,
    output_bytes: usize,
    /// Milliseconds per call for every kernel, if measured.
    times: Vec<f64>,
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
                Some(time) => writeln!(f, "{number:4}  {time:9.4} ms  {kernel}")?,
                None => writeln!(f, "{number:4}  {kernel}")?,
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
        let bytes =
            |vars: &mut dyn Iterator<Item = &crate::program::Var>| vars.map(|var| program.spec(*var).bytes()).sum();
        let fresh = program.outputs().iter().zip(&self.updates).filter(|(_, update)| update.is_none());
        PlanSummary {
            kernels: self.steps.iter().map(|step| step.text(program)).collect(),
            workspace_bytes: self.arena,
            constant_bytes: bytes(&mut program.captures().iter().map(|(var, _)| var)),
            input_bytes: bytes(&mut program.inputs().iter()),
            output_bytes: bytes(&mut fresh.map(|(var, _)| var)),
            times: Vec::new(),
        }
    }
}

impl Placed {
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

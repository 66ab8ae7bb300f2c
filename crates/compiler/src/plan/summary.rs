//! Human-readable summaries of plans.

use super::{DeviceUsage, Plan, Target};
use crate::ground::items::BARRIER;
use crate::primitive::{Cost, Device};
use crate::program::{Program, Var};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
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
    pub(super) program: Arc<Program>,
    pub(super) kernels: Vec<Kernel>,
    pub(super) pieces: Vec<WorkspacePiece>,
    pub(super) workspace_bytes: usize,
    pub(super) constant_bytes: usize,
    pub(super) input_bytes: usize,
    pub(super) output_bytes: usize,
    /// Where it runs; empty until that is known.
    pub(super) segments: Vec<PlanSegment>,
    /// What it uses there.
    pub(super) usage: Option<DeviceUsage>,
    /// Milliseconds per call for every kernel, if measured.
    pub(super) times: Vec<f64>,
    /// Milliseconds of a whole call, if measured.
    pub(super) wall: Option<f64>,
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
pub(super) struct Kernel {
    pub text: String,
    pub equations: Vec<usize>,
    pub sources: Vec<usize>,
    pub operands: Vec<Var>,
    pub results: Vec<usize>,
    pub call: Option<usize>,
    /// The bytes that its loops read and write, other than the result of the call before them.
    pub loop_bytes: usize,
}

/// Kernels of a plan that run together: all of them, unless the plan [falls back](crate::Compiled::with_host_fallback) to the CPU between
/// two copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanSegment {
    /// Where it runs.
    pub device: Device,
    /// Its kernels.
    pub kernels: Range<usize>,
    /// The operations that run on the CPU because the device does not have them, each once.
    pub operations: Vec<&'static str>,
    /// The bytes of values that are copied from the device before it runs. Inputs other than a state are not counted: they may be on
    /// either side.
    pub bytes_in: usize,
    /// The bytes of its results that are copied to the device.
    pub bytes_out: usize,
}

impl PlanSummary {
    /// A summary without kernels.
    pub(super) fn blank(program: Program, updates: Vec<Option<usize>>) -> PlanSummary {
        let program = Arc::new(program);
        PlanSummary {
            before: program.clone(),
            program,
            updates,
            target: Target::CPU,
            kernels: Vec::new(),
            pieces: Vec::new(),
            workspace_bytes: 0,
            constant_bytes: 0,
            input_bytes: 0,
            output_bytes: 0,
            segments: Vec::new(),
            usage: None,
            times: Vec::new(),
            wall: None,
        }
    }

    /// Says where it runs, and what it uses there.
    pub(super) fn on(mut self, device: Device, usage: Option<DeviceUsage>) -> PlanSummary {
        if self.segments.is_empty() {
            let kernels = 0..self.kernels.len();
            self.segments.push(PlanSegment { device, kernels, operations: Vec::new(), bytes_in: 0, bytes_out: 0 });
        }
        PlanSummary { usage, ..self }
    }

    /// Where the kernels run: one segment, unless the plan [falls back](crate::Compiled::with_host_fallback) to the CPU. No segment for a
    /// program that was planned without a place.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let plan = compile(|x: &Tensor| x.exp().matmul(x)).plan(&Tensor::zeros([4, 4]));
    /// let [only] = plan.segments() else { panic!("{plan}") };
    /// assert_eq!((only.device, only.kernels.clone(), only.bytes_in), (Device::Cpu, 0..2, 0));
    /// ```
    pub fn segments(&self) -> &[PlanSegment] {
        &self.segments
    }

    /// What the plan uses on its device: launches, memory, and the time of compiling its kernels. `None` on the CPU.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(compile(|x: &Tensor| x.exp()).plan(&Tensor::zeros([4])).usage(), None);
    /// ```
    pub fn usage(&self) -> Option<DeviceUsage> {
        self.usage
    }

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
        let megabytes = |bytes: usize| bytes as f64 / 1e6;
        let is_divided = self.segments.len() > 1 || self.segments.iter().any(|one| !one.operations.is_empty());
        for (number, kernel) in self.kernels.iter().enumerate() {
            let begins = |segment: &&PlanSegment| is_divided && segment.kernels.start == number;
            self.segments.iter().filter(begins).try_for_each(|segment| writeln!(f, "{segment}"))?;
            match self.times.get(number) {
                Some(time) => writeln!(f, "{number:4}  {time:9.4} ms  {}", kernel.text)?,
                None => writeln!(f, "{number:4}  {}", kernel.text)?,
            }
        }
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
        if let Some(DeviceUsage { launches, compile_time, arena_bytes }) = self.usage {
            let device = self.segments.iter().map(|segment| segment.device).find(|device| *device != Device::Cpu);
            let (seconds, arena) = (compile_time.as_secs_f64(), megabytes(arena_bytes));
            let device = device.unwrap_or_default();
            writeln!(
                f,
                "{launches} launches on {device}, compiled in {seconds:.3} s, with {arena:.3} MB of workspace"
            )?;
        }
        let back: Vec<&PlanSegment> = self.segments.iter().filter(|one| !one.operations.is_empty()).collect();
        if !back.is_empty() {
            let there = megabytes(back.iter().map(|one| one.bytes_in).sum());
            let back = megabytes(back.iter().map(|one| one.bytes_out).sum());
            let count = match self.segments.len() {
                1 => "1 segment".to_string(),
                count => format!("{count} segments"),
            };
            writeln!(f, "{count}; MB copied in every call: to the CPU {there:.3}, from the CPU {back:.3}")?;
        }
        let (repeated, cost) = (self.repeated_equations(), self.repeated_cost());
        if repeated == 0 {
            return Ok(());
        }
        let [now, before] = [&self.program, &self.before].map(|program| self.target.program_weight(program));
        let share = 100.0 * (now - before) / before.max(1.0);
        let (flops, bytes) = (cost.flops / 1e6, cost.bytes / 1e6);
        writeln!(
            f,
            "{repeated} equations repeated to save memory: {flops:.3} Mflop, {bytes:.3} MB moved, {share:.1} % more work"
        )
    }
}

impl fmt::Display for PlanSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.operations.is_empty() {
            return write!(f, "on {}", self.device);
        }
        let [there, back] = [self.bytes_in, self.bytes_out].map(|bytes| bytes as f64 / 1e6);
        let operations = self.operations.join(", ");
        write!(f, "on {}, for want of {operations}; MB copied: {there:.3} there, {back:.3} back", self.device)
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

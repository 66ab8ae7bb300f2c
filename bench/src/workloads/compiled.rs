//! The same workloads as compiled steps: forward, backward and update as one program.

use super::{Training, Workload};
use std::sync::Arc;
use wengert::backend::{Backend, Place};
use wengert::nn::optimise::Memory;
use wengert::prelude::*;
use wengert::program::PASSES;
use wengert::view::Profile;

/// The state that a step updates.
#[derive(Tree)]
struct State {
    parameters: Vec<Tensor>,
    memory: Memory,
}

/// Compiled steps of one workload.
pub trait Steps {
    /// One whole training step.
    fn step(&mut self);
    /// Runs one step, and returns the loss before it and the norm of its gradient.
    fn measured_step(&mut self) -> (f64, f64);
    /// Goes on from a state: the first of these tensors, which come from other steps of the same workload.
    fn go_on_from(&mut self, tensors: &[Tensor]);
    /// Moves all parameters by about one unit in the last place.
    fn nudge(&mut self);
    /// Waits until the last step is done.
    fn finish(&self);
    /// The state, and the results of the last step.
    fn tensors(&self) -> Vec<Tensor>;
    /// Runs a step or two, and measures the kernels of the last one.
    fn profiled_step(&mut self) -> Profile;
    /// How a step runs.
    fn plan(&self) -> PlanSummary;
    /// The program before and after every pass, and the memory that the plan needs.
    fn report(&mut self) -> String;
}

impl Workload {
    /// The same on a device, where state and data stay, at a precision.
    pub fn compiled_on(self, within: Option<usize>, device: Device, precision: Precision) -> Box<dyn Steps> {
        let backend = device.backend().unwrap_or_else(|error| error.raise());
        self.placed(within, backend, device, precision)
    }

    /// The state from closed-form weights and data, and the step as a program on a backend, whose plan needs at most `within` bytes.
    pub fn compiled(self, within: Option<usize>, backend: Arc<dyn Backend>) -> Box<dyn Steps> {
        self.placed(within, backend, Device::Cpu, Precision::Strict)
    }

    /// The same at a precision, with its data on a device.
    pub fn placed(
        self,
        within: Option<usize>,
        backend: Arc<dyn Backend>,
        device: Device,
        precision: Precision,
    ) -> Box<dyn Steps> {
        let Training { workload, parameters, arguments, .. } = self.start();
        let arguments: Vec<Tensor> = arguments.iter().map(|argument| argument.to(device)).collect();
        let Workload { loss, optimiser, .. } = workload;
        let parameters: Vec<Tensor> = parameters.iter().map(Tensor::detach).collect();
        let memory = optimiser.start(&parameters);
        let has_update = optimiser != super::Optimiser::None;
        // Returns the loss alone, or its gradients as well if they are the result or are to be measured.
        let step = move |with_gradients: bool| {
            move |state: &mut State, data: &Vec<Tensor>| {
                let (value, gradients) = value_and_grad(|p: &Vec<Tensor>| loss(p, data))(&state.parameters);
                let State { parameters, memory } = state;
                optimiser.update(parameters, &gradients, memory);
                (value, if with_gradients { gradients } else { Vec::new() })
            }
        };
        Box::new(Running {
            state: State { parameters, memory },
            data: arguments,
            output: (Tensor::from(0.0), Vec::new()),
            step: bounded(compile_step(step(!has_update)), within).on(backend.clone()).precision(precision),
            measured: bounded(compile_step(step(true)), within).on(backend).precision(precision),
        })
    }
}

type Step<F> = CompiledStep<State, Vec<Tensor>, (Tensor, Vec<Tensor>), F>;

fn bounded<F>(step: Step<F>, within: Option<usize>) -> Step<F>
where
    F: Fn(&mut State, &Vec<Tensor>) -> (Tensor, Vec<Tensor>),
{
    within.into_iter().fold(step, |step, bytes| step.within(bytes))
}

/// A compiled step with its tensors.
struct Running<F, G> {
    state: State,
    data: Vec<Tensor>,
    output: (Tensor, Vec<Tensor>),
    step: Step<F>,
    measured: Step<G>,
}

impl<F, G> Steps for Running<F, G>
where
    F: Fn(&mut State, &Vec<Tensor>) -> (Tensor, Vec<Tensor>),
    G: Fn(&mut State, &Vec<Tensor>) -> (Tensor, Vec<Tensor>),
{
    fn step(&mut self) {
        self.step.call_into(&mut self.state, &self.data, &mut self.output);
    }

    fn measured_step(&mut self) -> (f64, f64) {
        let (loss, gradients) = self.measured.call(&mut self.state, &self.data);
        let square = |gradient: &Tensor| gradient.cast(DType::F64).square().sum().item();
        (loss.item(), gradients.iter().map(square).sum::<f64>().sqrt())
    }

    fn go_on_from(&mut self, tensors: &[Tensor]) {
        let mut tensors = tensors.iter();
        self.state = self.state.map_leaves(|_| tensors.next().expect("a tensor for each leaf").clone());
    }

    fn nudge(&mut self) {
        for parameter in &mut self.state.parameters {
            *parameter = &*parameter * (1.0 + f64::from(f32::EPSILON));
        }
    }

    fn finish(&self) {
        self.output.0.item();
    }

    fn tensors(&self) -> Vec<Tensor> {
        self.state.leaves().into_iter().chain(self.output.leaves()).cloned().collect()
    }

    fn profiled_step(&mut self) -> Profile {
        Profile::of_plan(&self.step.profile(&mut self.state, &self.data, 1))
    }

    fn plan(&self) -> PlanSummary {
        self.step.plan(&self.state, &self.data)
    }

    fn report(&mut self) -> String {
        let mut program = self.step.program(&self.state, &self.data);
        let mut text = section("as traced", &program, true);
        let optimised = program.optimised();
        for pass in PASSES {
            let next = pass.run(program.clone());
            let changed = next.to_string() != program.to_string();
            text += &section(&format!("{}: {}", pass.name, pass.about), &next, changed);
            program = next;
        }
        text += &section("all passes, until nothing changes", &optimised, true);
        format!("{text}\n== plan\n{}", self.step.profile(&mut self.state, &self.data, 20))
    }
}

/// The counts of a program, and its text if that is new.
fn section(title: &str, program: &Program, is_new: bool) -> String {
    let (cost, kernels) = (program.cost(), program.plan().kernels());
    let (equations, flops, bytes) = (program.equations().len(), cost.flops, cost.bytes);
    let counts = format!("equations {equations}, kernels {kernels}, Mflop {:.3}, MB {:.3}", flops / 1e6, bytes / 1e6);
    let body = if is_new { program.to_string() } else { "unchanged\n".to_string() };
    format!("\n== {title}\n{counts}\n{body}")
}

//! From programs to runners: with a budget, and on two sides if a device does not run all of a program.

use super::alternating::Alternating;
use super::joined::summary;
use super::segments::{Segment, Segments, refused};
use super::{Backend, Plan, PlanSummary, Runner, Target, runner, within};
use crate::location::{self, Line};
use crate::primitive::{Attrs, Primitive, Spec};
use crate::program::{Builder, Precision, Program, ProgramAttr, ProgramAttrs, Var};
use crate::{Error, ErrorKind};

/// How a program is planned.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The most bytes that a call may need.
    pub budget: Option<usize>,
    /// How many digits products may keep.
    pub precision: Precision,
    /// Whether equations that the backend does not run are run on the CPU.
    pub falls_back: bool,
}

/// Plans a program for a backend; output `i` updates input `updates[i]`, if there is one.
pub fn prepare(
    program: Program,
    updates: Vec<Option<usize>>,
    backend: &dyn Backend,
    options: &Options,
) -> Result<(PlanSummary, Box<dyn Runner>), Error> {
    if options.falls_back
        && let Some(segments) = Segments::new(&program, &updates, backend)
    {
        return alternating(&program, updates, segments, backend, options);
    }
    let (now, plan) = planned(program.clone(), updates, &backend.target(), options)?;
    let summary = plan.summary(&now).from_program(program.clone());
    let runner = backend.runner(plan).map_err(|error| with_fallback(error, &program, backend))?;
    let summary = summary.on(backend.device(), runner.usage());
    Ok((summary, runner))
}

/// The plan of a program, and the program that it computes.
fn planned(
    program: Program,
    updates: Vec<Option<usize>>,
    target: &Target,
    options: &Options,
) -> Result<(Program, Plan), Error> {
    let (program, mut plan) = match options.budget {
        None => {
            let plan = Plan::new(&program, updates, target);
            (program, plan)
        }
        Some(budget) => within(program, updates, budget, target)?,
    };
    plan.precision = options.precision;
    Ok((program, plan))
}

/// The error of a program that the backend does not run: with the line of the first equation, and what helps.
fn with_fallback(error: Error, program: &Program, backend: &dyn Backend) -> Error {
    if error.kind() != &ErrorKind::Device {
        return error;
    }
    let refused = refused(program, backend);
    let Some((equation, _)) = program.equations().iter().zip(refused).find(|(_, refused)| *refused) else {
        return error;
    };
    let error = error.help("with_host_fallback() of the compiled function runs this part on the CPU");
    equation.line.into_iter().fold(error, Error::of_program)
}

/// Segments that take turns.
fn alternating(
    program: &Program,
    updates: Vec<Option<usize>>,
    segments: Segments,
    backend: &dyn Backend,
    options: &Options,
) -> Result<(PlanSummary, Box<dyn Runner>), Error> {
    let (mut planned_segments, mut runners) = (Vec::new(), Vec::new());
    for Segment { program, on_host, updates, .. } in &segments.list {
        let target = if *on_host { Target::CPU } else { backend.target() };
        let (now, plan) = planned(program.clone(), updates.clone(), &target, options)?;
        let (summary, steps) = (plan.summary(&now), plan.steps.len());
        let runner = match on_host {
            true => Box::new(runner(plan)),
            false => backend.runner(plan)?,
        };
        planned_segments.push((now, summary));
        runners.push((runner, steps));
    }
    let summary = summary(program, &updates, &segments, planned_segments, backend.device());
    let runner = Alternating::new(program, updates, &segments.list, runners, backend.device());
    Ok((summary.on(backend.device(), runner.usage()), Box::new(runner)))
}

/// What runs one operation on operands of these specs. A call of a compiled function falls back to the CPU if the function does.
pub fn operation_runner(
    op: &'static dyn Primitive,
    attrs: &Attrs,
    operands: &[Spec],
    outputs: &[Spec],
    backend: &dyn Backend,
) -> Result<Box<dyn Runner>, Error> {
    let mut builder = Builder::default();
    let inputs: Vec<Var> = operands.iter().map(|spec| builder.input(spec.clone())).collect();
    let line = location::resolve(Line::caller());
    let results = builder.push(op, attrs.clone(), inputs, outputs, line);
    let program = ProgramAttr::from(builder.finish(results)).optimised();
    let falls_back = falls_back(attrs);
    let own = op.control().is_some_and(|control| control.is_inlined());
    let options = Options { falls_back, ..Options::default() };
    match prepare(program.clone(), vec![None; outputs.len()], backend, &options) {
        Ok((_, runner)) => Ok(runner),
        Err(error) if own || !refused(&program, backend).contains(&true) => Err(error),
        Err(error) => Err(error.help("to(Device::Cpu) copies the operands")),
    }
}

/// Whether a program that an operation runs falls back to the CPU.
pub fn falls_back(attrs: &Attrs) -> bool {
    attrs.bodies().any(|(_, body)| body.falls_back())
}

//! Runs segments in turn, on a device and on the CPU, and carries values between them.

use super::segments::Segment;
use super::{DeviceUsage, Input, Runner};
use crate::location::Line;
use crate::primitive::{Device, Spec};
use crate::program::{Program, Var};
use crate::{DType, Error, ErrorKind, Tensor};
use smallvec::SmallVec;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A program whose segments take turns.
pub(super) struct Alternating {
    device: Device,
    turns: Vec<Turn>,
    outputs: Vec<Source>,
    /// The input that each output updates.
    updates: Vec<Option<usize>>,
    slots: usize,
    /// The values of calls that are over, whose memory is used again.
    free: Mutex<Vec<Vec<Tensor>>>,
}

/// A segment that is ready to run.
struct Turn {
    runner: Box<dyn Runner>,
    on_host: bool,
    /// The number of steps of its plan.
    steps: usize,
    reads: Vec<Source>,
    /// Whether an output updates the value that is read.
    is_updated: Vec<bool>,
    /// The slots of the outputs that update nothing.
    makes: Vec<(usize, Spec)>,
}

/// Where a value comes from.
enum Source {
    /// An input of the whole program.
    Input(usize),
    /// A tensor that the program captured.
    Constant(Tensor),
    /// A value that a segment has computed.
    Slot(usize),
    /// The input that a segment has updated.
    Updated,
}

impl Alternating {
    /// The segments of a program, each with its runner and the number of steps of its plan.
    pub fn new(
        program: &Program,
        updates: Vec<Option<usize>>,
        segments: &[Segment],
        runners: Vec<(Box<dyn Runner>, usize)>,
        device: Device,
    ) -> Alternating {
        let (mut slot, mut slots): (Vec<Option<usize>>, usize) = (vec![None; program.variables()], 0);
        let mut is_done = vec![false; program.variables()];
        let source = |slot: &[Option<usize>], var: Var| {
            let place = program.inputs().iter().position(|input| *input == var);
            let constant = || program.captures().iter().find(|(captured, _)| *captured == var);
            match (place, slot[var.index()]) {
                (Some(place), _) => Source::Input(place),
                (None, Some(slot)) => Source::Slot(slot),
                (None, None) => Source::Constant(constant().expect("it is computed before it is read").1.plain()),
            }
        };
        let turn = |(segment, (runner, steps)): (&Segment, (Box<dyn Runner>, usize))| {
            let reads = segment.inputs.iter().map(|var| source(&slot, *var)).collect();
            let mut makes = Vec::new();
            for (var, update) in segment.outputs.iter().zip(&segment.updates) {
                match update {
                    Some(_) => is_done[var.index()] = true,
                    None => {
                        slot[var.index()] = Some(slots);
                        makes.push((slots, program.spec(*var).clone()));
                        slots += 1;
                    }
                }
            }
            let is_updated = (0..segment.inputs.len()).map(|place| segment.updates.contains(&Some(place))).collect();
            Turn { runner, on_host: segment.on_host, steps, reads, is_updated, makes }
        };
        let turns = segments.iter().zip(runners).map(turn).collect();
        let output = |var: &Var| if is_done[var.index()] { Source::Updated } else { source(&slot, *var) };
        let outputs = program.outputs().iter().map(output).collect();
        Alternating { device, turns, outputs, updates, slots, free: Mutex::default() }
    }

    /// Runs one segment.
    fn take_turn(&self, turn: &Turn, given: &mut [Input<'_>], slots: &mut [Tensor], line: Line) -> Result<(), Error> {
        let Turn { runner, on_host, reads, is_updated, makes, .. } = turn;
        let read = |(source, is_updated): (&Source, &bool)| {
            let value = match source {
                _ if *is_updated => return Ok(None),
                Source::Input(place) => tensor(&given[*place]).plain(),
                Source::Slot(slot) => slots[*slot].plain(),
                Source::Constant(constant) => constant.clone(),
                Source::Updated => unreachable!("what was updated is not read"),
            };
            let mut value = if *on_host { value.try_to(Device::Cpu)? } else { value };
            runner.admit(&mut value, false)?;
            Ok(Some(value))
        };
        let values: Vec<Option<Tensor>> = reads.iter().zip(is_updated).map(read).collect::<Result<_, Error>>()?;
        let mut states: Vec<Option<&mut Tensor>> = given
            .iter_mut()
            .map(|input| match input {
                Input::Update(tensor) => Some(&mut **tensor),
                Input::Read(_) => None,
            })
            .collect();
        let mut inputs: Vec<Input<'_>> = Vec::with_capacity(reads.len());
        for (source, value) in reads.iter().zip(&values) {
            inputs.push(match (source, value) {
                (_, Some(value)) => Input::Read(value),
                (Source::Input(place), None) => {
                    let state = states[*place].take().expect("a state is updated once");
                    // Copies of its numbers that other segments have read are forgotten.
                    runner.admit(state, true)?;
                    Input::Update(state)
                }
                _ => unreachable!("inputs are updated"),
            });
        }
        let mut made: Vec<Tensor> = makes.iter().map(|(slot, _)| take(&mut slots[*slot])).collect();
        for (tensor, (_, spec)) in made.iter_mut().zip(makes) {
            runner.prepare(tensor, spec)?;
        }
        runner.run(&mut inputs.into_iter(), &mut made.iter_mut(), line)?;
        made.into_iter().zip(makes).for_each(|(tensor, (slot, _))| slots[*slot] = tensor);
        Ok(())
    }

    /// The value of an output where the caller expects it; `None` if it is there already.
    fn result(&self, source: &Source, given: &[Input<'_>], slots: &[Tensor]) -> Result<Option<Tensor>, Error> {
        let value = match source {
            Source::Input(place) => tensor(&given[*place]).plain(),
            Source::Slot(slot) => slots[*slot].clone(),
            Source::Constant(constant) => constant.clone(),
            Source::Updated => return Ok(None),
        };
        value.try_to(self.device).map(Some)
    }
}

fn tensor<'a>(input: &'a Input<'_>) -> &'a Tensor {
    match input {
        Input::Read(tensor) => tensor,
        Input::Update(tensor) => tensor,
    }
}

/// Takes a tensor and leaves a number.
fn take(tensor: &mut Tensor) -> Tensor {
    std::mem::replace(tensor, Tensor::one(0, DType::F64, 0))
}

impl Runner for Alternating {
    fn admit(&self, input: &mut Tensor, is_updated: bool) -> Result<(), Error> {
        if let Some(turn) = self.turns.iter().find(|turn| !turn.on_host) {
            return turn.runner.admit(input, is_updated);
        }
        match [Device::Cpu, self.device].contains(&input.device()) {
            true => Ok(()),
            false => {
                let message = format!("an input is on {}, and the program runs on {}", input.device(), self.device);
                let help = "to(..) copies a tensor to another device";
                Err(Error::new(ErrorKind::Device, "compile", message).help(help))
            }
        }
    }

    /// Segments prepare their outputs.
    fn prepare(&self, _output: &mut Tensor, _spec: &Spec) -> Result<(), Error> {
        Ok(())
    }

    fn run<'a>(
        &'a self,
        inputs: &mut dyn Iterator<Item = Input<'a>>,
        outputs: &mut dyn Iterator<Item = &'a mut Tensor>,
        line: Line,
    ) -> Result<(), Error> {
        let mut given: SmallVec<[Input<'a>; 8]> = inputs.collect();
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut slots = free.unwrap_or_else(|| (0..self.slots).map(|_| Tensor::one(0, DType::F64, 0)).collect());
        for turn in &self.turns {
            self.take_turn(turn, &mut given, &mut slots, line)?;
        }
        // All results are known before a state changes, since a result may be an old state.
        let results = self.outputs.iter().map(|source| self.result(source, &given, &slots));
        let results: Vec<Option<Tensor>> = results.collect::<Result<_, Error>>()?;
        for ((result, source), update) in results.into_iter().zip(&self.outputs).zip(&self.updates) {
            let old = match (update, result) {
                (_, None) => continue,
                (None, Some(result)) => {
                    std::mem::replace(outputs.next().expect("as many as there are results"), result)
                }
                (Some(place), Some(result)) => match &mut given[*place] {
                    Input::Update(state) => Tensor::from(std::mem::replace(&mut state.value, result.value)),
                    Input::Read(_) => unreachable!("an input that is updated can be written"),
                },
            };
            // What the caller had is the memory of the next call, and what was computed is the caller's.
            match source {
                Source::Slot(slot) if slots[*slot].device() == self.device => slots[*slot] = old,
                _ => {}
            }
        }
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(slots);
        Ok(())
    }

    fn usage(&self) -> Option<DeviceUsage> {
        let all = self.turns.iter().filter_map(|turn| turn.runner.usage());
        all.reduce(|a, b| DeviceUsage {
            launches: a.launches + b.launches,
            compile_time: a.compile_time + b.compile_time,
            arena_bytes: a.arena_bytes + b.arena_bytes,
        })
    }

    fn watch(&self) {
        self.turns.iter().for_each(|turn| turn.runner.watch());
    }

    fn take_times(&self) -> Vec<Duration> {
        let times = |turn: &Turn| {
            let mut times = turn.runner.take_times();
            times.resize(turn.steps, Duration::ZERO);
            times
        };
        self.turns.iter().flat_map(times).collect()
    }
}

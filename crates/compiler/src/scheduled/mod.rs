//! Loops whose gradient gets back to the states that it needs by a [`Schedule`].
//!
//! A loop is one call: its gradient holds the states that the schedule keeps, and runs the body again for the others. On tensors that have
//! no values yet, and below further derivatives, the loop and its gradient are calls that run when the values are there.

mod adjoint;
mod files;
mod traced;

pub use files::identity_of;
pub use traced::TracedBody;

use crate::bind::try_bind;
use crate::custom::{CUSTOM, Function, Numeric, Residual, attrs_of, bind_function};
use crate::error::OrRaise;
use crate::location::Line;
use crate::primitive::{Mask, Spec, SpecRef, Specs};
use crate::program::control::{laid_out, stacked};
use crate::{Error, Tensor, vjp};
use adjoint::Adjoint;
use files::{Files, Folder};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use wengert_core::memory::{Remembered, Schedule, Snapshots, Verify};
use wengert_ops::prelude::*;

/// One step of a loop, for tensors of any level whose values can be read. Its inputs are the constants that every step reads, the state,
/// and the elements of this step.
pub trait LoopBody: Send + Sync {
    /// The next state, and what the step puts out.
    fn step(&self, number: usize, inputs: &[Tensor]) -> Result<Vec<Tensor>, Error>;

    /// Whether another step follows, if the number of steps is not known before.
    fn goes_on(&self, inputs: &[Tensor]) -> Result<bool, Error>;

    /// How the next state is compared with what it was, when the step is computed again. A program does the same every time.
    fn verify(&self) -> Verify {
        Verify::Off
    }

    /// The cotangents of the inputs marked in `active`, given those of all outputs that are floats. If it computes the outputs again, `check`
    /// sees them.
    fn pull(
        &self,
        number: usize,
        inputs: &[Tensor],
        active: &[bool],
        seeds: &[Tensor],
        check: &mut dyn FnMut(&[Tensor]) -> Result<(), Error>,
    ) -> Result<Vec<Tensor>, Error> {
        let places: Vec<usize> = (0..inputs.len()).filter(|&place| active[place]).collect();
        let step = |x: &Vec<Tensor>| {
            let mut all = inputs.to_vec();
            places.iter().zip(x).for_each(|(&place, x)| all[place] = x.clone());
            self.step(number, &all).or_raise()
        };
        let x: Vec<Tensor> = places.iter().map(|&place| inputs[place].clone()).collect();
        let (y, pullback) = vjp(step, &x);
        check(&y)?;
        let mut seeds = seeds.iter();
        let seed = |y: &Tensor| match y.dtype().is_float() {
            true => seeds.next().expect("a seed for every float").clone(),
            false => y.full_like(0.0),
        };
        Ok(pullback.call(&y.iter().map(seed).collect()))
    }

    /// A text or number that differs between bodies that compute something else, for files that outlive the process.
    fn identity(&self, inputs: &[Tensor]) -> Result<u64, Error>;
}

/// A loop as a function of its constants, its first state and its elements, which are split along axis 0. It returns the last state and the
/// stacked outputs of all steps.
#[derive(Clone)]
pub struct ScheduledLoop {
    /// The name in errors and programs.
    pub name: &'static str,
    /// What a step computes.
    pub body: Arc<dyn LoopBody>,
    /// The number of constants.
    pub consts: usize,
    /// The number of tensors in the state.
    pub carry: usize,
    /// The number of steps, if it is known before.
    pub length: Option<usize>,
    /// Whether it goes from the last element to the first.
    pub reverse: bool,
    /// What one step puts out, besides the state.
    pub rows: Vec<Spec>,
    /// Which states are kept.
    pub schedule: Schedule,
    /// Whether the body has an effect.
    pub effect: bool,
}

/// A loop that has run: its results, the number of its steps, and the state before the last one.
struct Swept {
    state: Vec<Tensor>,
    rows: Vec<Vec<Tensor>>,
    steps: usize,
    last: Option<Vec<Tensor>>,
}

/// The states kept by a forward pass, in memory.
struct Kept {
    steps: usize,
    snapshots: Snapshots<Vec<Tensor>>,
    /// The last state, if states are compared when they are computed again.
    end: Vec<Remembered>,
    /// The files of the others.
    files: Option<Folder>,
}

/// The states kept for the first pullback; later ones compute them again.
struct Held(Mutex<Option<Kept>>);

fn are_plain(tensors: &[Tensor]) -> bool {
    tensors.iter().all(Tensor::is_plain)
}

impl ScheduledLoop {
    /// Calls it with operands of any level.
    pub fn bind(self, operands: &[Tensor], line: Line) -> Result<Vec<Tensor>, Error> {
        let operands: Vec<&Tensor> = operands.iter().collect();
        Ok(try_bind(&CUSTOM, attrs_of(Arc::new(self)), &operands, line)?.into_vec())
    }

    fn elements(&self) -> usize {
        self.consts + self.carry
    }

    fn start(&self, operands: &[Tensor]) -> Vec<Tensor> {
        operands[self.consts..self.elements()].to_vec()
    }

    /// The index of the elements and outputs of a step.
    fn place(&self, number: usize) -> usize {
        match (self.reverse, self.length) {
            (true, Some(length)) => length - 1 - number,
            _ => number,
        }
    }

    fn inputs(&self, operands: &[Tensor], state: &[Tensor], number: usize) -> Vec<Tensor> {
        let at = self.place(number) as isize;
        let elements = operands[self.elements()..].iter().map(|operand| operand.select(0, at));
        operands[..self.consts].iter().chain(state).cloned().chain(elements).collect()
    }

    fn goes_on(&self, operands: &[Tensor], state: &[Tensor], number: usize) -> Result<bool, Error> {
        match self.length {
            Some(length) => Ok(number < length),
            None => self.body.goes_on(&self.inputs(operands, state, number)),
        }
    }

    /// Runs the loop from a step on; `keep` sees the state before each step.
    fn sweep(
        &self,
        operands: &[Tensor],
        from: usize,
        mut state: Vec<Tensor>,
        keep: &mut dyn FnMut(usize, &[Tensor]) -> Result<(), Error>,
    ) -> Result<Swept, Error> {
        let (mut rows, mut last, mut number) = (vec![Vec::new(); self.rows.len()], None, from);
        while self.goes_on(operands, &state, number)? {
            keep(number, &state)?;
            let mut made = self.body.step(number, &self.inputs(operands, &state, number))?;
            rows.iter_mut().zip(made.drain(self.carry..)).for_each(|(row, y)| row.push(y));
            last = Some(std::mem::replace(&mut state, made));
            number += 1;
        }
        Ok(Swept { state, rows, steps: number, last })
    }

    /// Steps from one state to a later one.
    fn forward_to(
        &self,
        operands: &[Tensor],
        mut state: Vec<Tensor>,
        range: Range<usize>,
    ) -> Result<Vec<Tensor>, Error> {
        for number in range {
            state = self.body.step(number, &self.inputs(operands, &state, number))?;
            state.truncate(self.carry);
        }
        Ok(state)
    }

    /// The outputs of a call.
    fn outputs(&self, swept: Swept) -> Vec<Tensor> {
        let rows = swept.rows.into_iter().zip(&self.rows).map(|(mut rows, spec)| {
            if self.reverse {
                rows.reverse();
            }
            stack(&rows, spec)
        });
        swept.state.into_iter().chain(rows).collect()
    }

    /// The outputs, with nothing kept.
    fn run(&self, operands: &[Tensor]) -> Result<Vec<Tensor>, Error> {
        let operands = laid_out(operands);
        let swept = self.sweep(&operands, 0, self.start(&operands), &mut |_, _| Ok(()))?;
        Ok(self.outputs(swept))
    }

    /// How many states are kept in memory. Below a further derivative everything is recorded anyway, so nothing is computed again.
    fn most(&self, operands: &[Tensor]) -> usize {
        match &self.schedule {
            _ if !are_plain(operands) => usize::MAX,
            Schedule::All => usize::MAX,
            Schedule::Binomial { snapshots } | Schedule::Online { snapshots } | Schedule::Disk { snapshots, .. } => {
                *snapshots
            }
        }
    }

    /// The files of this loop on these operands, if the schedule keeps states in files.
    fn files(&self, operands: &[Tensor]) -> Result<Option<Files>, Error> {
        match &self.schedule {
            Schedule::Disk { snapshots, folder } if are_plain(operands) => {
                let specs = operands[self.consts..self.elements()].iter().map(Tensor::spec).collect();
                Ok(Some(Files::open(self.name, folder, self.key(operands)?, *snapshots, self.length, specs)?))
            }
            _ => Ok(None),
        }
    }

    /// A number that differs for other loops and other operands.
    fn key(&self, operands: &[Tensor]) -> Result<u64, Error> {
        let inputs = match self.length {
            Some(0) => Vec::new(),
            _ => self.inputs(operands, &self.start(operands), 0),
        };
        let text = format!("{} {:?} {} {:?}", self.name, self.length, self.reverse, self.schedule);
        let parts = [files::checksum(text.as_bytes()), self.body.identity(&inputs)?, files::checksum_of(operands)];
        Ok(files::checksum(&parts.map(u64::to_le_bytes).concat()))
    }

    /// The latest state in files, if it is what the body makes of the one before it. Otherwise the files are those of another body, which
    /// has the same name and first step, and are removed.
    fn resumed(&self, operands: &[Tensor], files: &mut Files) -> Result<(usize, Vec<Tensor>), Error> {
        let start = || (0, self.start(operands));
        let Some((step, state)) = files.latest()? else { return Ok(start()) };
        let before = files.start_of(step);
        let from = if before == 0 { self.start(operands) } else { files.read(before)? };
        let again = self.forward_to(operands, from, before..step)?;
        if files::checksum_of(&again) == files::checksum_of(&state) {
            return Ok((step, state));
        }
        files.remove();
        Ok(start())
    }

    /// Runs the loop and keeps states, in memory and in files.
    fn sweep_and_keep(&self, operands: &[Tensor]) -> Result<(Swept, Kept), Error> {
        let most = self.most(operands);
        let fresh = |from: usize, end: Option<usize>| match (&self.schedule, end) {
            (Schedule::Online { .. }, _) | (_, None) => Snapshots::online(most),
            (_, Some(end)) => {
                debug_assert!(from <= end);
                Snapshots::until(end, most)
            }
        };
        let (swept, mut snapshots, files) = match self.files(operands)? {
            None => {
                let mut snapshots = fresh(0, self.length);
                let keep = &mut |number: usize, state: &[Tensor]| {
                    snapshots.offer(number, || state.to_vec());
                    Ok(())
                };
                (self.sweep(operands, 0, self.start(operands), keep)?, snapshots, None)
            }
            Some(mut files) => {
                files.begin();
                // After an error nothing is left behind.
                let folder = files.folder();
                // Outputs of the steps before are not in files: a loop that has some starts from its first state.
                let (from, state) = match self.rows.is_empty() {
                    true => self.resumed(operands, &mut files)?,
                    false => (0, self.start(operands)),
                };
                if let Some(steps) = files.end().filter(|_| from > 0) {
                    let swept = Swept { state: files.read_end()?, rows: Vec::new(), steps, last: None };
                    let kept = self.kept(&swept, Snapshots::of(Vec::new(), most), Some(folder));
                    return Ok((swept, kept));
                }
                let mut snapshots = fresh(from, Some(files.part(from).end).filter(|_| self.length.is_some()));
                let keep = &mut |number: usize, state: &[Tensor]| {
                    if files.offer(number, state)? {
                        snapshots = fresh(number, Some(files.part(number).end).filter(|_| self.length.is_some()));
                    }
                    snapshots.offer(number, || state.to_vec());
                    Ok(())
                };
                let swept = self.sweep(operands, from, state, keep)?;
                files.ended(swept.steps, &swept.state)?;
                (swept, snapshots, Some(folder))
            }
        };
        if let Some(last) = &swept.last {
            snapshots.keep_last(swept.steps - 1, last.clone());
        }
        let kept = self.kept(&swept, snapshots, files);
        Ok((swept, kept))
    }

    fn kept(&self, swept: &Swept, snapshots: Snapshots<Vec<Tensor>>, files: Option<Folder>) -> Kept {
        let end = match self.body.verify() {
            Verify::Off => Vec::new(),
            verify => swept.state.iter().map(|part| Remembered::of(part, verify)).collect(),
        };
        Kept { steps: swept.steps, snapshots, end, files }
    }

    /// The cotangents of the wanted operands, given those of the outputs that are floats.
    fn take_back(
        &self,
        operands: &[Tensor],
        seeds: &[Tensor],
        wanted: &[bool],
        kept: Option<Kept>,
    ) -> Result<Vec<Tensor>, Error> {
        let operands = laid_out(operands);
        let Kept { steps, snapshots, end: last, files: _folder } = match kept {
            Some(kept) => kept,
            None => self.sweep_and_keep(&operands)?.1,
        };
        let most = self.most(&operands);
        let mut adjoint = Adjoint::new(self, &operands, seeds, wanted).behind(last);
        let back = |from: Snapshots<Vec<Tensor>>, end: usize, adjoint: &mut Adjoint<'_>| {
            from.take_back(
                end,
                |state, range| self.forward_to(&operands, state, range),
                |state, number| adjoint.step_back(&operands, &state, number),
            )
        };
        let Some(mut files) = self.files(&operands)? else {
            back(snapshots, steps, &mut adjoint)?;
            return Ok(adjoint.gradients(steps));
        };
        let mut end = steps;
        let flags: Vec<u8> = wanted.iter().map(|wanted| u8::from(*wanted)).collect();
        let asked =
            files::checksum(&[files::checksum_of(seeds), files::checksum(&flags)].map(u64::to_le_bytes).concat());
        if let Some((step, tensors)) = files.adjoint(asked, &adjoint.specs())? {
            adjoint.restore(tensors);
            adjoint = adjoint.behind(Vec::new());
            end = step;
        }
        let mut in_memory = Some(snapshots).filter(|snapshots| !snapshots.is_empty() && end == steps);
        while end > 0 {
            // The files may be gone since the forward pass: the states in memory say where they begin.
            let (start, from) = match in_memory.take() {
                Some(snapshots) => (snapshots.first().unwrap_or(0), snapshots),
                None => {
                    let start = files.start_of(end);
                    let state = if start == 0 { self.start(&operands) } else { files.read(start)? };
                    (start, Snapshots::of(vec![(start, state)], most))
                }
            };
            back(from, end, &mut adjoint)?;
            end = start;
            if end > 0 {
                files.reached(end, asked, &adjoint.tensors())?;
            }
        }
        Ok(adjoint.gradients(steps))
    }

    /// Which outputs are floats, and so have cotangents.
    fn float_outputs(&self, operands: &[Tensor]) -> Vec<bool> {
        let carry = operands[self.consts..self.elements()].iter().map(Tensor::dtype);
        carry.chain(self.rows.iter().map(|spec| spec.dtype)).map(|dtype| dtype.is_float()).collect()
    }
}

/// Stacks the rows of all steps.
fn stack(rows: &[Tensor], spec: &Spec) -> Tensor {
    match rows.is_empty() {
        true => Tensor::constant(0.0, &stacked(spec, 0)),
        false => Tensor::stack(rows, 0),
    }
}

impl Function for ScheduledLoop {
    fn name(&self) -> &'static str {
        self.name
    }

    fn infer(&self, operands: &[SpecRef<'_>]) -> Specs {
        let state = operands[self.consts..self.elements()].iter().map(|spec| spec.to_spec());
        let rows = self.rows.iter().map(|spec| stacked(spec, self.length.expect("only such loops put something out")));
        state.chain(rows).collect()
    }

    fn reads_numbers(&self) -> bool {
        true
    }

    fn effect(&self) -> bool {
        self.effect
    }

    fn call(&self, x: &[Tensor]) -> Vec<Tensor> {
        self.run(x).or_raise()
    }

    fn forward(&self, x: &[Tensor]) -> (Vec<Tensor>, Residual) {
        if !are_plain(x) {
            let y = bind_function(Arc::new(self.clone()), x);
            return (y, Residual { tensors: x.to_vec(), form: Arc::new(()) });
        }
        let (swept, kept) = self.sweep_and_keep(&laid_out(x)).or_raise();
        let form = Arc::new(Held(Mutex::new(Some(kept))));
        (self.outputs(swept), Residual { tensors: x.to_vec(), form })
    }

    fn pull(&self, residual: &Residual, cotangents: &[Option<Tensor>], wanted: Mask) -> Vec<Option<Tensor>> {
        let x = &residual.tensors;
        let wanted: Vec<bool> =
            x.iter().enumerate().map(|(place, x)| wanted.has(place) && x.dtype().is_float()).collect();
        let specs: Vec<SpecRef<'_>> = x.iter().map(|x| x.value.spec_ref()).collect();
        let outputs = self.infer(&specs);
        let floats = outputs.iter().zip(cotangents).filter(|(spec, _)| spec.dtype.is_float());
        let seeds: Vec<Tensor> =
            floats.map(|(spec, cotangent)| cotangent.clone().unwrap_or_else(|| Tensor::constant(0.0, spec))).collect();
        let found = match are_plain(x) && are_plain(&seeds) {
            true => {
                let held = residual.form.downcast_ref::<Held>();
                let kept = held.and_then(|held| held.0.lock().unwrap_or_else(PoisonError::into_inner).take());
                self.take_back(x, &seeds, &wanted, kept).or_raise()
            }
            false => {
                let (this, count, flags) = (self.clone(), x.len(), wanted.clone());
                let run = move |all: &[Tensor]| {
                    let (x, seeds) = all.split_at(count);
                    this.take_back(x, seeds, &flags, None).or_raise()
                };
                let outputs = x.iter().zip(&wanted).filter(|(_, wanted)| **wanted).map(|(x, _)| x.spec()).collect();
                let operands: Vec<Tensor> = x.iter().cloned().chain(seeds).collect();
                Numeric { name: self.name, run: Arc::new(run), outputs }.bind(&operands)
            }
        };
        let mut found = found.into_iter();
        wanted.iter().map(|wanted| if *wanted { found.next() } else { None }).collect()
    }

    fn push(&self, residual: &Residual, tangents: &[Option<Tensor>]) -> Vec<Option<Tensor>> {
        let specs: Vec<SpecRef<'_>> = residual.tensors.iter().map(|x| x.value.spec_ref()).collect();
        let this = self.clone();
        let run = Arc::new(move |x: &[Tensor]| this.run(x).or_raise());
        Numeric { name: self.name, run, outputs: self.infer(&specs) }.push(residual, tangents)
    }
}

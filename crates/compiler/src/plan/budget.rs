//! Keeps a plan within a memory budget: cheap values that are alive at the step of peak memory are recomputed where they are read later.
//!
//! Values are chosen one at a time: the one that is cheapest for its size among those that are alive but not used at the peak. It is kept
//! only if this reduces the excess over the budget, summed over all steps. So the search terminates, with a plan that fits or the smallest
//! it found.

use super::buffers::{self, ARENA, Buffers, Regions};
use super::lower;
use super::views::Views;
use super::{Plan, Target, fuse};
use crate::error::{Error, ErrorKind};
use crate::program::{Again, Program, Reads, Var, insert};

/// Maximum number of equations that are repeated for one value.
const MOST_EQUATIONS: usize = 24;

/// Maximum number of candidates tried for one that is kept.
const MOST_TRIALS: usize = 12;

/// Recomputes values until the plan of the program needs at most `budget` bytes. Returns the program and its plan.
pub fn within(
    mut program: Program,
    updates: Vec<Option<usize>>,
    budget: usize,
    target: &Target,
) -> Result<(Program, Plan), Error> {
    let mut usage = Usage::of(&program, &updates, target);
    while usage.total() > budget {
        // Placement may leave gaps between pieces.
        let room = budget.saturating_sub(usage.fixed + (usage.arena - usage.fullest().1));
        let better = usage.candidates(&program, target).into_iter().take(MOST_TRIALS).find_map(|value| {
            let next = insert(program.clone(), &usage.reads, vec![value]);
            let then = Usage::of(&next, &updates, target);
            (then.excess(room) < usage.excess(room)).then_some((next, then))
        });
        (program, usage) = better.ok_or_else(|| usage.error(budget))?;
    }
    let plan = Plan::new(&program, updates, target);
    Ok((program, plan))
}

/// The memory usage of a program's plan over time.
struct Usage {
    reads: Reads,
    buffers: Buffers,
    /// The step of every equation that has one.
    step_of: Vec<Option<usize>>,
    /// The bytes of the workspace in use during each step.
    live: Vec<usize>,
    arena: usize,
    /// The bytes of inputs, constants and outputs.
    fixed: usize,
}

impl Usage {
    fn of(program: &Program, updates: &[Option<usize>], target: &Target) -> Usage {
        let views = Views::new(program);
        let mut steps = lower::lower(program, &views, fuse::fuse(program, &views, updates, target), target);
        let regions = Regions::new(program, updates.to_vec());
        let buffers = buffers::plan(program, &views, &mut steps, &regions, target.alignment);
        let reads = Reads::of(program);
        let mut step_of = vec![None; program.equations().len()];
        for (number, step) in steps.iter().enumerate() {
            let called = step.call().map(|call| reads.maker[call.outputs[0].0.index()]);
            let looped = step.loops().iter().flat_map(|one| one.equations.iter().copied());
            called.into_iter().chain(looped).for_each(|equation| step_of[equation] = Some(number));
        }
        // Pieces that begin at each step, minus those that ended at the previous one.
        let mut live = vec![0usize; steps.len() + 1];
        for piece in &buffers.pieces {
            live[piece.first] = live[piece.first].wrapping_add(piece.bytes);
            let after = piece.last.min(steps.len() - 1) + 1;
            live[after] = live[after].wrapping_sub(piece.bytes);
        }
        for step in 1..live.len() {
            live[step] = live[step].wrapping_add(live[step - 1]);
        }
        live.pop();
        let bytes = |var: &Var| program.spec(*var).bytes();
        let fresh = program.outputs().iter().zip(updates).filter(|(_, update)| update.is_none());
        let fixed = program.inputs().iter().map(bytes).sum::<usize>()
            + program.captures().iter().map(|(var, _)| bytes(var)).sum::<usize>()
            + fresh.map(|(var, _)| bytes(var)).sum::<usize>();
        Usage { reads, step_of, live, arena: buffers.arena, fixed, buffers }
    }

    fn total(&self) -> usize {
        self.arena + self.fixed
    }

    fn error(&self, budget: usize) -> Error {
        let megabytes = |bytes: usize| format!("{:.3} MB", bytes as f64 / 1e6);
        let (needed, fixed) = (self.total(), megabytes(self.fixed));
        let message = format!(
            "a call needs {} and is allowed {}: {fixed} for inputs, constants and outputs, the rest for what it computes",
            megabytes(needed),
            megabytes(budget)
        );
        let help = match self.fixed > budget {
            true => format!("allow {}: inputs, constants and outputs alone take {fixed}", megabytes(needed)),
            false => "allow more, or compute on smaller parts: fewer rows at a time, or a `scan` over them".to_string(),
        };
        Error::new(ErrorKind::Budget { needed, allowed: budget }, "compile", message).help(help)
    }

    /// The step of peak memory, and its bytes.
    fn fullest(&self) -> (usize, usize) {
        let all = self.live.iter().copied().enumerate();
        all.max_by_key(|&(step, bytes)| (bytes, std::cmp::Reverse(step))).unwrap_or_default()
    }

    /// The bytes in excess of `room`, summed over all steps.
    fn excess(&self, room: usize) -> usize {
        self.live.iter().map(|bytes| bytes.saturating_sub(room)).sum()
    }

    /// Values that are alive but not used at the peak, with the equations that recompute each; the cheapest for their size first.
    fn candidates(&self, program: &Program, target: &Target) -> Vec<Again> {
        let (fullest, _) = self.fullest();
        let costs = program.costs();
        let cost = |again: &Again| {
            let flops: f64 =
                again.equations.iter().map(|&i| costs[i].flops + target.flops_per_byte * costs[i].bytes).sum();
            flops / program.spec(again.value).bytes() as f64
        };
        let waits = |var: &Var| {
            let (written, read) = (self.buffers.times.written[var.index()], self.buffers.times.read[var.index()]);
            self.is_in_workspace(*var) && written.is_some_and(|step| step < fullest) && fullest < read
        };
        let vars = (0..program.variables()).map(Var::new).filter(waits);
        let mut found: Vec<(f64, Again)> =
            vars.filter_map(|var| self.again(program, var, fullest)).map(|again| (cost(&again), again)).collect();
        found.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        found.into_iter().map(|(_, again)| again).collect()
    }

    fn is_in_workspace(&self, var: Var) -> bool {
        self.buffers.spans[var.index()].is_some_and(|span| span.region == ARENA)
    }

    /// How to recompute a value after step `fullest` from values that are in memory then anyway.
    fn again(&self, program: &Program, value: Var, fullest: usize) -> Option<Again> {
        let is_late = |reader: &usize| self.step_of[*reader].is_some_and(|step| step > fullest);
        let readers: Vec<usize> = self.reads.readers[value.index()].iter().copied().filter(is_late).collect();
        let when = readers.iter().filter_map(|reader| self.step_of[*reader]).min()?;
        if self.reads.is_returned[value.index()] {
            return None;
        }
        let is_at_hand = |var: Var| {
            let base = self.reads.base[var.index()];
            base != value
                && self.buffers.spans[base.index()].is_some()
                && (!self.is_in_workspace(base) || self.buffers.times.read[base.index()] >= when)
        };
        let (mut equations, mut apart) = (vec![self.reads.maker[value.index()]], Vec::new());
        let mut next = 0;
        while next < equations.len() {
            if program.equations()[equations[next]].has_effect() {
                return None;
            }
            for &var in &program.equations()[equations[next]].inputs {
                let maker = self.reads.maker[var.index()];
                match is_at_hand(var) {
                    true if !apart.contains(&var) => apart.push(var),
                    false if !equations.contains(&maker) => equations.push(maker),
                    _ => {}
                }
            }
            next += 1;
            if equations.len() > MOST_EQUATIONS {
                return None;
            }
        }
        equations.sort_unstable();
        apart.retain(|var| !self.reads.is_captured(*var));
        Some(Again { value, equations, apart, readers })
    }
}

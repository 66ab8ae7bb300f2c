//! Keeps a plan within a memory budget: cheap values that are alive at the step of peak memory are recomputed where they are read later.
//!
//! Values that are alive but not used at the peak are candidates. Of those that do not depend on each other, the cheapest set that takes the
//! peak below the budget is a knapsack, solved for bytes rounded to shares of what is missing. It is inserted at once. If that does not
//! reduce the excess over the budget, summed over all steps, a single value is tried, the cheapest for its size first. So the search
//! terminates, with a plan that fits or the smallest it found.

use super::buffers::{self, ARENA, Buffers, Regions};
use super::lower;
use super::views::Views;
use super::{Plan, Target, fuse};
use crate::error::{Error, ErrorKind};
use crate::program::{Again, Equation, Program, Reads, Var, insert};

/// Maximum number of equations that are repeated for one value.
const MOST_EQUATIONS: usize = 24;

/// Maximum number of candidates tried for one that is kept.
const MOST_TRIALS: usize = 12;

/// Maximum number of candidates in a knapsack.
const MOST_ITEMS: usize = 256;

/// The number of shares that missing bytes are rounded to.
const SHARES: usize = 128;

/// Recomputes values until the plan of the program needs at most `budget` bytes. Returns the program and its plan.
pub fn within(
    program: Program,
    updates: Vec<Option<usize>>,
    budget: usize,
    target: &Target,
) -> Result<(Program, Plan), Error> {
    let (program, usage) = searched(program, &updates, budget, target);
    if usage.total() > budget {
        return Err(usage.error(budget));
    }
    let plan = Plan::new(&program, updates, target);
    Ok((program, plan))
}

/// The program whose plan needs at most `budget` bytes, or the fewest that the search comes to, and these bytes.
pub fn towards(program: Program, updates: &[Option<usize>], budget: usize, target: &Target) -> (Program, usize) {
    let (program, usage) = searched(program, updates, budget, target);
    (program, usage.total())
}

/// Searches for the budget itself, then on the way to as little as possible: so every budget above the least that was found can be met.
fn searched(program: Program, updates: &[Option<usize>], budget: usize, target: &Target) -> (Program, Usage) {
    let found = path(program.clone(), updates, budget, budget, target);
    if found.1.total() <= budget {
        return found;
    }
    let least = path(program, updates, 0, budget, target);
    if least.1.total() < found.1.total() { least } else { found }
}

/// Recomputes values towards a plan of `goal` bytes until it needs at most `enough`. Returns the smallest plan on the way.
fn path(
    mut program: Program,
    updates: &[Option<usize>],
    goal: usize,
    enough: usize,
    target: &Target,
) -> (Program, Usage) {
    let mut usage = Usage::of(&program, updates, target);
    let mut smallest: Option<(Program, Usage)> = None;
    while usage.total() > enough {
        // Placement may leave gaps between pieces.
        let room = goal.saturating_sub(usage.fixed + usage.scratch + (usage.arena - usage.fullest().1));
        let mut candidates = usage.candidates(&program, target);
        let trial = |values: Vec<Again>| {
            let next = insert(program.clone(), &usage.reads, values);
            let then = Usage::of(&next, updates, target);
            (then.excess(room) < usage.excess(room)).then_some((next, then))
        };
        let chosen = knapsack(&candidates, usage.fullest().1.saturating_sub(room));
        let together = if chosen.len() > 1 {
            trial(chosen.iter().map(|&place| candidates[place].again.clone()).collect())
        } else {
            None
        };
        let better = together.or_else(|| {
            candidates.truncate(MOST_TRIALS);
            candidates.into_iter().find_map(|candidate| trial(vec![candidate.again]))
        });
        let Some(better) = better else { break };
        let before = (std::mem::replace(&mut program, better.0), std::mem::replace(&mut usage, better.1));
        if smallest.as_ref().is_none_or(|(_, smallest)| before.1.total() < smallest.total()) {
            smallest = Some(before);
        }
    }
    match smallest {
        Some(smallest) if smallest.1.total() < usage.total() => smallest,
        _ => (program, usage),
    }
}

/// The most bytes that a kernel takes beside its operands and results: a large product packs a copy of its smaller operand, or has partial
/// sums.
fn scratch(program: &Program, target: &Target) -> usize {
    let copied = |equation: &Equation| {
        if !equation.op.lowered().leads() {
            return None;
        }
        let is_large = program.call_cost(equation).flops >= target.large_call;
        let smaller = || equation.inputs.iter().take(2).map(|var| program.spec(*var).bytes()).min();
        let (each, most) = target.partial_sums;
        let sums = (each * program.spec(equation.outputs[0]).shape.elements()).min(most);
        Some(sums + if is_large { smaller().unwrap_or(0) } else { 0 })
    };
    program.equations().iter().filter_map(copied).max().unwrap_or(0)
}

/// A value that could be recomputed, its size, and what that costs.
struct Candidate {
    again: Again,
    bytes: usize,
    cost: f64,
}

/// The cheapest candidates, independent of each other, that free at least `missing` bytes; as many as there are if they do not suffice.
/// Candidates come in the order of their cost per byte.
fn knapsack(candidates: &[Candidate], missing: usize) -> Vec<usize> {
    let mut items: Vec<usize> = Vec::new();
    for (place, candidate) in candidates.iter().enumerate() {
        let reads = |one: &Again, other: &Again| {
            one.apart.contains(&other.value) || one.equations.iter().any(|i| other.equations.contains(i))
        };
        let alone = items.iter().all(|&other| {
            let other = &candidates[other].again;
            !reads(&candidate.again, other) && !reads(other, &candidate.again)
        });
        if alone && items.len() < MOST_ITEMS {
            items.push(place);
        }
    }
    let all: usize = items.iter().map(|&place| candidates[place].bytes).sum();
    if all <= missing {
        return items;
    }
    // least[shares]: the least cost that frees so many shares, at most all of them. Sizes are rounded down, so that nothing is missing.
    let share = missing.div_ceil(SHARES).max(1);
    let mut least = vec![f64::INFINITY; SHARES + 1];
    least[0] = 0.0;
    let mut takes = vec![[false; SHARES + 1]; items.len()];
    for (number, &place) in items.iter().enumerate() {
        let Candidate { bytes, cost, .. } = candidates[place];
        let shares = (bytes / share).min(SHARES);
        let before = least.clone();
        for to in 1..=SHARES {
            let from = to.saturating_sub(shares);
            if shares > 0 && before[from] + cost < least[to] {
                least[to] = before[from] + cost;
                takes[number][to] = true;
            }
        }
    }
    if least[SHARES].is_infinite() {
        // Rounding has taken too much: in the order of cost per byte.
        let mut freed = 0;
        items.retain(|&place| {
            let taken = freed < missing;
            freed += if taken { candidates[place].bytes } else { 0 };
            taken
        });
        return items;
    }
    let (mut chosen, mut left) = (Vec::new(), SHARES);
    for (number, &place) in items.iter().enumerate().rev() {
        if takes[number][left] {
            chosen.push(place);
            left = left.saturating_sub((candidates[place].bytes / share).min(SHARES));
        }
    }
    chosen
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
    /// The bytes that a kernel takes for itself.
    scratch: usize,
}

impl Usage {
    fn of(program: &Program, updates: &[Option<usize>], target: &Target) -> Usage {
        let views = Views::new(program, target);
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
        Usage { reads, step_of, live, arena: buffers.arena, fixed, scratch: scratch(program, target), buffers }
    }

    fn total(&self) -> usize {
        self.arena + self.fixed + self.scratch
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
    fn candidates(&self, program: &Program, target: &Target) -> Vec<Candidate> {
        let (fullest, _) = self.fullest();
        let costs = program.costs();
        let waits = |var: &Var| {
            let (written, read) = (self.buffers.times.written[var.index()], self.buffers.times.read[var.index()]);
            self.is_in_workspace(*var) && written.is_some_and(|step| step < fullest) && fullest < read
        };
        let candidate = |again: Again| {
            let cost = again.equations.iter().map(|&i| target.weight(costs[i])).sum();
            Candidate { bytes: program.spec(again.value).bytes(), cost, again }
        };
        let vars = (0..program.variables()).map(Var::new).filter(waits);
        let mut found: Vec<Candidate> =
            vars.filter_map(|var| self.again(program, var, fullest)).map(candidate).collect();
        found.sort_by(|a, b| (a.cost / a.bytes as f64).total_cmp(&(b.cost / b.bytes as f64)));
        found
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

//! Keeps a plan within a memory budget: cheap values that are alive at the step of peak memory are recomputed where they are read later.
//!
//! Values that are alive but not used at the peak are candidates. The cheapest set that takes the peak below the budget is a knapsack, solved
//! for bytes rounded to shares of what is missing. Candidates may be computed from each other, through chains of limited length: the values
//! of a chain are in memory together when they are computed again. The best of several limits is inserted at once. If none reduces the
//! excess over the budget, summed over all steps, a single value is tried, the cheapest for its size first. So the search terminates, with a
//! plan that fits or the smallest it found.

use super::buffers::{self, ARENA, Buffers, Regions};
use super::lower;
use super::views::Views;
use super::{Plan, Target, fuse};
use crate::error::{Error, ErrorKind};
use crate::primitive::Cost;
use crate::program::{Again, Equation, Program, Reads, Var, insert};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Maximum number of equations, without views, that are repeated for each value.
const MOST_EQUATIONS: usize = 24;

/// Maximum number of insertions on the way to a goal.
const MOST_ROUNDS: usize = 1000;

/// Maximum number of candidates tried for one that is kept.
const MOST_TRIALS: usize = 12;

/// Maximum number of candidates in a knapsack.
const MOST_ITEMS: usize = 256;

/// The limits of chains that are tried: how many values of a knapsack are computed from each other.
const CHAINS: [usize; 3] = [16, 4, 1];

/// The number of shares that missing bytes are rounded to.
const SHARES: usize = 1024;

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

/// What a search comes to depends on its goal: the budget itself, a little more or less, or as little as possible, which comes last.
const GOALS: [f64; 5] = [1.0, 1.02, 0.97, 0.9, 0.0];

/// The first program within the budget that a search for one of the goals comes to. If there is none, the smallest on the way to as little as
/// possible: that way is the same for all budgets, so what it comes to is a budget that can be met, as is every larger one.
fn searched(program: Program, updates: &[Option<usize>], budget: usize, target: &Target) -> (Program, Usage) {
    let mut goals: Vec<usize> = GOALS.iter().map(|share| (budget as f64 * share) as usize).collect();
    goals.dedup();
    let last = goals.pop().expect("there are goals");
    let search = |goal: usize| path(program.clone(), updates, goal, budget, target);
    goals.into_iter().map(search).find(|(_, usage)| usage.total() <= budget).unwrap_or_else(|| search(last))
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
    for _ in 0..MOST_ROUNDS {
        if usage.total() <= enough {
            break;
        }
        // Placement may leave gaps between pieces.
        let room = goal.saturating_sub(usage.fixed + usage.scratch + (usage.arena - usage.fullest().1));
        let costs = program.costs();
        let weigh = |repetitions: &[Again]| usage.weight(&program, target, &costs, repetitions);
        let candidates = usage.candidates(&program, &weigh);
        let trial = |chosen: &[usize]| {
            let values: Vec<Var> = chosen.iter().map(|&place| candidates[place].value).collect();
            let repetitions = usage.repetitions(&program, &values)?;
            let cost = weigh(&repetitions);
            let next = insert(program.clone(), &usage.reads, repetitions);
            let then = Usage::of(&next, updates, target);
            let excess = then.excess(room);
            (excess < usage.excess(room)).then_some((excess, cost, (next, then)))
        };
        let missing = usage.fullest().1.saturating_sub(room);
        let mut sets: Vec<Vec<usize>> = CHAINS.iter().map(|most| knapsack(&candidates, missing, *most)).collect();
        sets.dedup();
        let found = sets.iter().filter(|set| set.len() > 1).filter_map(|set| trial(set));
        let together = found.min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let single = || (0..candidates.len().min(MOST_TRIALS)).find_map(|place| trial(&[place]));
        let better = together.or_else(single).map(|(_, _, better)| better);
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

/// A value that could be recomputed.
struct Candidate {
    value: Var,
    bytes: usize,
    /// What computing it again costs.
    cost: f64,
    /// The values in memory that it is computed from.
    sources: Vec<Var>,
}

/// Candidates of which at most `longest` are computed from each other, by their places.
fn chained(candidates: &[Candidate], longest: usize) -> Vec<usize> {
    let mut items: Vec<usize> = Vec::new();
    // By item: how many items it takes to compute it, and all values that they are computed from.
    let mut chains: Vec<(usize, Vec<Var>)> = Vec::new();
    let mut numbers: FxHashMap<Var, usize> = FxHashMap::default();
    for (place, Candidate { value, sources, .. }) in candidates.iter().enumerate() {
        if items.len() == MOST_ITEMS {
            break;
        }
        let (mut length, mut all) = (1, sources.clone());
        for (own, further) in sources.iter().filter_map(|source| numbers.get(source)).map(|&item| &chains[item]) {
            length += own;
            all.extend(further);
        }
        let takes = |(_, sources): &&mut (usize, Vec<Var>)| sources.contains(value);
        if length > longest || chains.iter_mut().filter(takes).any(|(own, _)| *own + length > longest) {
            continue;
        }
        all.sort_unstable();
        all.dedup();
        for (own, sources) in chains.iter_mut().filter(takes) {
            *own += length;
            sources.extend(&all);
        }
        numbers.insert(*value, items.len());
        items.push(place);
        chains.push((length, all));
    }
    items
}

/// The cheapest candidates that free at least `missing` bytes, as many as there are if they do not suffice; at most `longest` are computed
/// from each other. Candidates come in the order of their cost per byte.
fn knapsack(candidates: &[Candidate], missing: usize, longest: usize) -> Vec<usize> {
    let mut items = chained(candidates, longest);
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

/// Appends what is not in the list.
fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
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
        let reads = Reads::through(program, &|equation| equation.outputs.iter().all(|var| views.is_view(*var)));
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
        // Rounded so that the help is enough, and what is allowed is less.
        let megabytes = |bytes: usize| format!("{:.3} MB", bytes.div_ceil(1000) as f64 / 1e3);
        let (needed, fixed) = (self.total(), megabytes(self.fixed));
        let message = format!(
            "a call needs {} and is allowed {:.3} MB: {fixed} for inputs, constants and outputs, the rest for what it computes",
            megabytes(needed),
            (budget / 1000) as f64 / 1e3
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

    /// Values that are alive but not used at the peak and can be recomputed; the cheapest for their size first.
    fn candidates(&self, program: &Program, weigh: &dyn Fn(&[Again]) -> f64) -> Vec<Candidate> {
        let (fullest, _) = self.fullest();
        let waits = |var: &Var| {
            let (written, read) = (self.buffers.times.written[var.index()], self.buffers.times.read[var.index()]);
            self.is_in_workspace(*var) && written.is_some_and(|step| step < fullest) && fullest < read
        };
        let candidate = |value: Var| {
            let repetitions = self.repetitions(program, &[value])?;
            let cost = weigh(&repetitions);
            let sources = repetitions.iter().flat_map(|again| &again.apart).map(|var| self.reads.base[var.index()]);
            Some(Candidate { value, bytes: program.spec(value).bytes(), cost, sources: sources.collect() })
        };
        let vars = (0..program.variables()).map(Var::new).filter(waits);
        let mut found: Vec<Candidate> = vars.filter_map(candidate).collect();
        found.sort_by(|a, b| (a.cost / a.bytes as f64).total_cmp(&(b.cost / b.bytes as f64)));
        found
    }

    /// What repetitions cost. Loops keep what they compute for each other in registers.
    fn weight(&self, program: &Program, target: &Target, costs: &[Cost], repetitions: &[Again]) -> f64 {
        let is_lane = |again: &&Again| again.equations.last().is_some_and(|equation| self.reads.is_lane(*equation));
        let stored: FxHashSet<Var> =
            repetitions.iter().filter(|again| !is_lane(again)).flat_map(|again| again.shared.iter().copied()).collect();
        let bytes = |var: &Var| program.spec(self.reads.base[var.index()]).bytes() as f64;
        let weight = |again: &Again| {
            let Some(&number) = again.equations.last() else { return 0.0 };
            let (equation, mut cost) = (&program.equations()[number], costs[number]);
            if is_lane(&again) {
                let is_stored = |var: &&Var| !again.values.is_empty() || stored.contains(*var);
                let written = equation.outputs.iter().filter(is_stored);
                cost.bytes = again.apart.iter().chain(written).map(bytes).sum();
            }
            target.weight(cost, program.is_narrow(equation))
        };
        repetitions.iter().map(weight).sum()
    }

    fn is_in_workspace(&self, var: Var) -> bool {
        self.buffers.spans[var.index()].is_some_and(|span| span.region == ARENA)
    }

    /// Whether something is in memory at a step anyway.
    fn is_at_hand(&self, base: Var, step: usize) -> bool {
        let is_kept = !self.is_in_workspace(base) || self.buffers.times.read[base.index()] >= step;
        is_kept && self.buffers.spans[base.index()].is_some()
    }

    /// The equations to repeat so that none of these values waits in memory at the peak. Each is repeated once, where its result is needed
    /// first.
    fn repetitions(&self, program: &Program, values: &[Var]) -> Option<Vec<Again>> {
        let (fullest, _) = self.fullest();
        let chosen: FxHashSet<Var> = values.iter().copied().collect();
        // By equation: its repetition, and the step that needs it first.
        let mut pending: BTreeMap<usize, (Again, usize)> = BTreeMap::new();
        let ask = |pending: &mut BTreeMap<usize, (Again, usize)>, var: Var, place: usize, step: usize| {
            let maker = self.reads.maker[var.index()];
            let new = || {
                let (apart, shared, values) = (Vec::new(), Vec::new(), Vec::new());
                (Again { equations: vec![maker], apart, shared, place, values }, step)
            };
            let (again, first) = pending.entry(maker).or_insert_with(new);
            (again.place, *first) = (again.place.min(place), (*first).min(step));
            maker
        };
        for &value in values {
            let is_late = |reader: &usize| self.step_of[*reader].is_some_and(|step| step > fullest);
            let readers: Vec<usize> = self.reads.readers[value.index()].iter().copied().filter(is_late).collect();
            let step = readers.iter().filter_map(|reader| self.step_of[*reader]).min()?;
            if self.reads.is_returned[value.index()] {
                return None;
            }
            let maker = ask(&mut pending, value, readers[0], step);
            pending.get_mut(&maker).expect("it was asked for").0.values.push((value, readers));
        }
        let mut found = Vec::new();
        // Operands come from equations before those that read them.
        while let Some((_, (mut again, step))) = pending.pop_last() {
            let mut next = 0;
            while next < again.equations.len() {
                let equation = &program.equations()[again.equations[next]];
                if equation.has_effect() {
                    return None;
                }
                for &var in &equation.inputs {
                    let (base, maker) = (self.reads.base[var.index()], self.reads.maker[var.index()]);
                    match self.is_at_hand(base, step) && !chosen.contains(&base) {
                        true => add(&mut again.apart, var),
                        false if var == base => add(&mut again.shared, var),
                        false => add(&mut again.equations, maker),
                    }
                }
                next += 1;
            }
            for &var in &again.shared {
                ask(&mut pending, var, again.place, step);
            }
            again.equations.sort_unstable();
            again.apart.retain(|var| !self.reads.is_captured(*var));
            found.push(again);
            if found.len() > MOST_EQUATIONS * values.len() {
                return None;
            }
        }
        Some(found)
    }
}

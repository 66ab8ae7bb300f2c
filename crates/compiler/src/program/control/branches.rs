//! The branches of a switch, and the branches derived from them.

use super::{input_specs, masked, output_specs, pick, places, through};
use crate::bind::{bind, try_bind};
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::plan::{Target, towards};
use crate::primitive::Recording;
use crate::primitive::{Adjoints, Attrs, Gradient, Gradients, Mask, Outputs, Primitive, Rule, Saves, Spec, SpecRef};
use crate::program::ProgramAttrs;
use crate::program::{Program, ProgramAttr, Residual, Split, Var, Wish, split_by, staged};
use crate::{Error, ErrorKind, Tensor, vjp};
use std::sync::Arc;

/// A call that runs one of its branches on its operands: a switch, which chooses by a leading operand, or a call of a single program.
pub struct Form<'a> {
    op: &'static dyn Primitive,
    attribute: &'static str,
    /// The number of operands before the inputs of the branches.
    leading: usize,
    pub branches: &'a [ProgramAttr],
}

impl<'a> Form<'a> {
    pub fn new(op: &'static dyn Primitive, attribute: &'static str, leading: usize, attrs: &'a Attrs) -> Form<'a> {
        Form { op, attribute, leading, branches: attrs.programs(attribute) }
    }

    fn inputs(&self) -> usize {
        self.branches[0].inputs().len()
    }

    fn operands(&self) -> usize {
        self.leading + self.inputs()
    }

    fn attrs(&self, branches: impl IntoIterator<Item = ProgramAttr>) -> Attrs {
        Attrs::new().with_programs(self.attribute, branches)
    }

    /// The same call without its record.
    fn bare(&self) -> Attrs {
        self.attrs(self.branches.iter().map(ProgramAttr::bare))
    }

    /// Checks that every branch accepts the operands, and that all return the same specs.
    pub fn expect(&self, operands: &[SpecRef<'_>]) -> Result<(), Error> {
        let wrong = |message: String| Err(Error::new(ErrorKind::Program, self.op.name(), message));
        let first = &self.branches[0];
        for (number, branch) in self.branches.iter().enumerate() {
            let which = || if self.leading == 0 { "the body".to_string() } else { format!("branch {number}") };
            let inputs = branch.inputs();
            if self.operands() != operands.len() || inputs.len() != first.inputs().len() {
                let count = operands.len() - self.leading.min(operands.len());
                return wrong(format!("{} takes {} inputs, got {count}", which(), inputs.len()));
            }
            for (place, (input, operand)) in inputs.iter().zip(&operands[self.leading..]).enumerate() {
                if branch.spec(*input).as_ref() != *operand {
                    let (place, input) = (place + self.leading, branch.spec(*input));
                    return wrong(format!("operand {place} is {}, {} takes {input}", operand.to_spec(), which()));
                }
            }
            let mut pairs = branch.outputs().iter().zip(first.outputs());
            if branch.outputs().len() != first.outputs().len()
                || pairs.any(|(one, other)| branch.spec(*one) != first.spec(*other))
            {
                return wrong(format!("branch {number} returns other shapes or dtypes than branch 0"));
            }
        }
        Ok(())
    }

    /// The inputs that are active if these operands are, and the outputs that depend on them in some branch.
    fn spread(&self, from: impl Fn(usize) -> bool) -> (Vec<bool>, Arc<Vec<bool>>) {
        let first = &self.branches[0];
        let is_active =
            |(place, input): (usize, &Var)| from(place + self.leading) && first.spec(*input).dtype.is_float();
        let mut active: Vec<bool> = first.inputs().iter().enumerate().map(is_active).collect();
        let mattering = self.mattering(&vec![true; first.outputs().len()]);
        active.iter_mut().zip(&*mattering).for_each(|(active, matters)| *active &= matters);
        let reached = self.kept("reached", &active, || {
            let mut all = vec![false; first.outputs().len()];
            for branch in self.branches {
                all.iter_mut().zip(branch.reached(&active, true)).for_each(|(all, reached)| *all |= reached);
            }
            all
        });
        (active, reached)
    }

    /// The inputs that these outputs depend on in some branch.
    fn mattering(&self, to: &[bool]) -> Arc<Vec<bool>> {
        self.kept("mattering", to, || {
            let mut all = vec![false; self.inputs()];
            for branch in self.branches {
                all.iter_mut().zip(branch.mattering(to)).for_each(|(all, matters)| *all |= matters);
            }
            all
        })
    }

    /// The most bytes that a call, or a call of its derivative, may need.
    fn budget(&self) -> Option<usize> {
        self.branches[0].budget()
    }

    /// Whether a call, and a call of its derivative, falls back to the CPU.
    fn falls_back(&self) -> bool {
        self.branches[0].falls_back()
    }

    /// Results derived from all branches together are cached with the first; the other branches are part of the key.
    fn kept<T: Send + Sync + 'static>(
        &self,
        what: &'static str,
        active: &[bool],
        derive: impl FnOnce() -> T,
    ) -> Arc<T> {
        let branches = self.branches.iter().map(ProgramAttr::number);
        let options = [self.leading, usize::from(self.falls_back())];
        let numbers = branches.chain(options).chain(self.budget()).collect();
        let wish = Wish { what, inputs: active.to_vec(), numbers };
        self.branches[0].derived(wish, |_| derive())
    }

    /// Derives a program from each branch, for these inputs and numbers.
    fn derived(
        &self,
        what: &'static str,
        inputs: &[bool],
        numbers: &[usize],
        derive: impl Fn(&Program) -> Program,
    ) -> Attrs {
        let wish = Wish { what, inputs: inputs.to_vec(), numbers: numbers.to_vec() };
        let one = |branch: &ProgramAttr| {
            let found = branch.derived(wish.clone(), |branch| ProgramAttr::from(derive(branch)));
            (*found).clone().limited(self.budget()).falling_back(self.falls_back())
        };
        self.attrs(self.branches.iter().map(one))
    }

    fn pulled(&self, active: &[bool], reached: &[bool]) -> Arc<Pulled> {
        self.kept("reverse", active, || Pulled::new(self, active, reached))
    }

    /// See [`Control::record`](super::Control::record).
    pub fn record(&self, wanted: Mask) -> Option<Recording> {
        let (active, reached) = self.spread(|place| wanted.has(place));
        if !reached.contains(&true) {
            return None;
        }
        let pulled = self.pulled(&active, &reached);
        let (call, mut branches) = (pulled.call.clone(), pulled.forward.clone());
        branches[0] = branches[0].recorded(pulled);
        Some(Recording { call, more: None, record: self.attrs(branches), reached: reached.to_vec() })
    }

    /// See [`Control::push`](super::Control::push).
    pub fn push(
        &self,
        operands: &[&Tensor],
        tangents: &[Option<Tensor>],
        line: Line,
    ) -> Result<(Outputs, Adjoints), Error> {
        let (active, reached) = self.spread(|place| tangents[place].is_some());
        let derive = |branch: &Program| {
            let specs = input_specs(branch);
            let more = places(&active).into_iter().map(|place| specs[place].clone());
            let all: Vec<Spec> = specs.iter().cloned().chain(more).collect();
            staged(self.op.name(), &all, |mut v| {
                let tangents = v.split_off(specs.len());
                let (y, dy) = through::push(branch, &v, &active, &tangents, &reached);
                [y, dy].concat()
            })
        };
        let call = self.derived("tangent", &active, &places(&reached), derive);
        let mut all = operands.to_vec();
        let given = tangents[self.leading..].iter().zip(&active).filter(|(_, active)| **active);
        all.extend(given.filter_map(|(tangent, _)| tangent.as_ref()));
        let mut outputs = try_bind(self.op, call, &all, line)?.into_vec();
        let mut derived = outputs.split_off(reached.len()).into_iter();
        let derived = reached.iter().map(|reached| if *reached { derived.next() } else { None }).collect();
        Ok((outputs.into(), derived))
    }

    /// The call for a batch of `size`, if the index is the same for all elements.
    pub fn batch(&self, size: usize, operands: &[Tensor], batched: Mask) -> Outputs {
        let flags: Vec<bool> = (0..self.inputs()).map(|place| batched.has(place + self.leading)).collect();
        let derive = |branch: &Program| {
            let specs = masked::batched_specs(input_specs(branch), size, &flags);
            staged(self.op.name(), &specs, |v| {
                through::map(branch, &v, size, &flags, &vec![true; branch.outputs().len()])
            })
        };
        let call = self.derived("batch", &flags, &[size], derive);
        bind(self.op, call, &operands.iter().collect::<Vec<_>>())
    }

    /// See [`Primitive::saves`].
    pub fn saves(&self) -> Saves {
        let operands = Saves::NOTHING.operands(Mask::first_of(self.operands()));
        let pulled = self.branches[0].record::<Pulled>();
        operands.outputs(pulled.map_or(Mask::NONE, |pulled| pulled.left().collect()))
    }

    /// See [`Primitive::vjp`].
    pub fn vjp(&self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let operand = |place: usize| rule.operand(place).clone();
        let operands = || -> Vec<Tensor> { (0..self.operands()).map(operand).collect() };
        let Some(pulled) = self.branches[0].record::<Pulled>() else {
            let (active, reached) = self.spread(|place| rule.wants(place));
            if !reached.contains(&true) {
                return Gradients::new();
            }
            let (all, pulled) = (operands(), self.pulled(&active, &reached));
            let outputs = bind(self.op, pulled.call.clone(), &all.iter().collect::<Vec<_>>());
            return pulled.pull(self, &|place| all[place].clone(), &|place| outputs[place].clone(), cotangents);
        };
        if cotangents[pulled.reached.len()..].iter().all(Option::is_none) {
            return pulled.pull(self, &operand, &|place| rule.output(place).clone(), cotangents);
        }
        // If the sweep is itself differentiated, the derivative passes through the residuals.
        let (op, call) = (self.op, self.bare());
        let (y, pullback) =
            vjp(|x: &Vec<Tensor>| bind(op, call.clone(), &x.iter().collect::<Vec<_>>()).into_vec(), &operands());
        let seeds = y.iter().zip(cotangents).map(|(y, seed)| seed.take().unwrap_or_else(|| y.full_like(0.0)));
        let gradients = pullback.call_named(&seeds.collect());
        gradients.into_iter().map(|(_, gradient)| gradient.map_or(Gradient::Zero, Gradient::Dense)).collect()
    }

    /// See [`Primitive::jvp`].
    pub fn jvp(&self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let operands: Vec<&Tensor> = (0..self.operands()).map(|place| rule.operand(place)).collect();
        let bare = self.bare();
        let form = Form { branches: bare.programs(self.attribute), ..*self };
        form.push(&operands, tangents, location::resolve(Line::caller())).or_raise().1
    }

    /// The pullback of a call with respect to all its real inputs.
    pub fn split(&self) -> Split {
        let (active, reached) = self.spread(|_| true);
        self.pulled(&active, &reached).split()
    }
}

/// The pullback of a call: forward branches that also return the residuals of the backward branches, in slots that all branches share.
struct Pulled {
    forward: Vec<ProgramAttr>,
    /// The attributes of the forward and the backward call.
    call: Attrs,
    back: Attrs,
    active: Vec<bool>,
    reached: Vec<bool>,
    /// The inputs that some backward branch reads.
    used: Vec<usize>,
    /// With a single branch, the results that its backward program reads; several branches return residuals beside the results.
    kept: Vec<usize>,
}

impl Pulled {
    fn new(form: &Form<'_>, active: &[bool], reached: &[bool]) -> Pulled {
        let seeds = places(reached).len();
        let joints = form.branches.iter().map(|branch| joint(branch, active, reached));
        // Inputs are available anyway, and so are the results of a single branch.
        let is_free = |residual: Residual| matches!(residual, Residual::Input(_)) || form.branches.len() == 1;
        let split = |joint: Program| match form.budget() {
            None => split_by(&joint, reached.len(), seeds, is_free),
            Some(budget) => split_within(joint, reached.len(), seeds, is_free, budget),
        };
        let halves = joints.map(split).collect();
        Pulled::from_halves(form, halves, active, reached)
    }

    fn from_halves(form: &Form<'_>, halves: Vec<Split>, active: &[bool], reached: &[bool]) -> Pulled {
        let results = reached.len();
        let inputs = input_specs(&halves[0].forward);
        let (mut used, mut kept): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        let is_kept = |place: usize| halves.len() == 1 && place < results;
        // A slot for a residual is shared by all branches that return one of its spec.
        let mut shared: Vec<Spec> = Vec::new();
        let mut places_of: Vec<Vec<usize>> = Vec::new();
        for half in &halves {
            let mut taken = Vec::new();
            for residual in &half.residuals {
                match *residual {
                    Residual::Input(place) => used.push(place),
                    Residual::Output(place) if is_kept(place) => kept.push(place),
                    Residual::Output(place) => {
                        let spec = half.forward.spec(half.forward.outputs()[place]);
                        let free = (0..shared.len()).find(|at| shared[*at] == *spec && !taken.contains(at));
                        taken.push(free.unwrap_or_else(|| {
                            shared.push(spec.clone());
                            shared.len() - 1
                        }));
                    }
                }
            }
            places_of.push(taken);
        }
        used.sort_unstable();
        used.dedup();
        let outputs_of = |half: &Split| -> Vec<usize> {
            let output = |residual: &Residual| match residual {
                Residual::Output(place) if !is_kept(*place) => Some(*place),
                Residual::Input(_) | Residual::Output(_) => None,
            };
            half.residuals.iter().filter_map(output).collect()
        };
        let forward = halves.iter().zip(&places_of).map(|(half, taken)| {
            ProgramAttr::from(staged("branch", &inputs, |v| {
                let y = half.forward.evaluate(&v).or_raise();
                let mut left: Vec<Tensor> = shared.iter().map(|spec| Tensor::constant(0.0, spec)).collect();
                taken.iter().zip(outputs_of(half)).for_each(|(&at, place)| left[at] = y[place].clone());
                [&y[..results], &left].concat()
            }))
        });
        let seeds = input_specs(&halves[0].backward).split_off(halves[0].residuals.len());
        let results_kept = kept.iter().map(|&place| halves[0].forward.spec(halves[0].forward.outputs()[place]).clone());
        let specs: Vec<Spec> = (used.iter().map(|&place| inputs[place].clone()))
            .chain(results_kept)
            .chain(shared.clone())
            .chain(seeds)
            .collect();
        let given = used.len() + kept.len();
        let position =
            |list: &[usize], place: usize| list.iter().position(|other| *other == place).expect("it is there");
        let backward = halves.iter().zip(&places_of).map(|(half, taken)| {
            ProgramAttr::from(staged("branch", &specs, |v| {
                let mut taken = taken.iter();
                let residual = |residual: &Residual| match residual {
                    Residual::Input(place) => position(&used, *place),
                    Residual::Output(place) if is_kept(*place) => used.len() + position(&kept, *place),
                    Residual::Output(_) => given + taken.next().expect("it has a place"),
                };
                let order: Vec<usize> = half.residuals.iter().map(residual).collect();
                let inputs = [&pick(&v, &order)[..], &v[given + shared.len()..]].concat();
                half.backward.evaluate(&inputs).or_raise()
            }))
        });
        // Beside the backward call there are the inputs that it does not read.
        let aside = (0..inputs.len()).filter(|place| !used.contains(place)).map(|place| inputs[place].bytes()).sum();
        let rest = form.budget().map(|budget| budget.saturating_sub(aside));
        let limited = |budget| move |program: ProgramAttr| program.limited(budget).falling_back(form.falls_back());
        let (forward, backward) = (forward.map(limited(form.budget())), backward.map(limited(rest)));
        let (forward, back): (Vec<ProgramAttr>, _) = (forward.collect(), form.attrs(backward));
        let call = form.attrs(forward.iter().cloned());
        Pulled { forward, call, back, active: active.to_vec(), reached: reached.to_vec(), used, kept }
    }

    /// The outputs of the forward call that the backward call reads after the operands.
    fn left(&self) -> impl Iterator<Item = usize> {
        self.kept.iter().copied().chain(self.reached.len()..self.forward[0].outputs().len())
    }

    /// The gradients of the operands.
    fn pull(
        &self,
        form: &Form<'_>,
        operand: &dyn Fn(usize) -> Tensor,
        output: &dyn Fn(usize) -> Tensor,
        cotangents: &mut [Option<Tensor>],
    ) -> Gradients {
        let outputs = output_specs(&self.forward[0]);
        let given: Vec<bool> = cotangents[..self.reached.len()].iter().map(Option::is_some).collect();
        let mattering = form.mattering(&given);
        let mut operands: Vec<Tensor> = (0..form.leading).map(operand).collect();
        operands.extend(self.used.iter().map(|&place| operand(place + form.leading)));
        operands.extend(self.left().map(output));
        for place in places(&self.reached) {
            operands.push(cotangents[place].take().unwrap_or_else(|| Tensor::constant(0.0, &outputs[place])));
        }
        let found = bind(form.op, self.back.clone(), &operands.iter().collect::<Vec<_>>());
        let mut gradients: Gradients = (0..form.leading + self.active.len()).map(|_| Gradient::Zero).collect();
        for (place, found) in places(&self.active).into_iter().zip(found) {
            if mattering[place] {
                gradients[place + form.leading] = Gradient::Dense(found);
            }
        }
        gradients
    }

    /// The programs of a call with one branch.
    fn split(&self) -> Split {
        let (_, back) = self.back.bodies().next().expect("a call has a body");
        let used = self.used.iter().map(|&place| Residual::Input(place));
        let residuals = used.chain(self.left().map(Residual::Output)).collect();
        Split { forward: self.forward[0].program().clone(), backward: back.program().clone(), residuals }
    }
}

/// How often a smaller budget for the joint program is tried.
const TRIALS: usize = 6;

/// Splits a joint program so that each half fits into a budget together with what waits beside it, as far as that can be reached. What the
/// joint program computes again for later readers is computed again by the backward half, instead of being passed on.
fn split_within(
    joint: Program,
    results: usize,
    seeds: usize,
    is_free: impl Fn(Residual) -> bool + Copy,
    budget: usize,
) -> Split {
    let joint = joint.optimised();
    let updates = vec![None; joint.outputs().len()];
    let total = |program: &Program| {
        let program = program.optimised();
        let updates = vec![None; program.outputs().len()];
        towards(program, &updates, budget, &Target::CPU).1
    };
    let needed = |split: &Split| {
        let read = |place: usize| split.residuals.contains(&Residual::Input(place));
        let inputs = input_specs(&split.forward);
        let aside: usize =
            inputs.iter().enumerate().filter(|(place, _)| !read(*place)).map(|(_, spec)| spec.bytes()).sum();
        total(&split.forward).max(total(&split.backward) + aside)
    };
    let mut best: Option<(usize, Split)> = None;
    let mut allowed = budget;
    for _ in 0..TRIALS {
        let (program, reached) = towards(joint.clone(), &updates, allowed, &Target::CPU);
        let split = split_by(&program, results, seeds, is_free);
        let needed = needed(&split);
        if best.as_ref().is_none_or(|(least, _)| needed < *least) {
            best = Some((needed, split));
        }
        if needed <= budget || reached > allowed {
            break;
        }
        allowed = allowed.saturating_sub((needed - budget).max(budget / 16));
    }
    best.expect("it was tried").1
}

/// A program of inputs and cotangents that computes the values and gradients of a branch.
fn joint(branch: &Program, active: &[bool], reached: &[bool]) -> Program {
    let (inputs, outputs) = (input_specs(branch), output_specs(branch));
    let seeds: Vec<Spec> = places(reached).iter().map(|&place| outputs[place].clone()).collect();
    staged("branch", &[&inputs[..], &seeds].concat(), |mut v| {
        let seeds = v.split_off(inputs.len());
        let (y, gradients) = through::pull(branch, &v, active, &seeds, reached);
        [y, gradients].concat()
    })
}

//! The branches of a switch, and those that are derived from them.

use super::{MOST_PLACES, input_specs, output_specs, pick, places, through};
use crate::Tensor;
use crate::error::OrRaise;
use crate::primitive::{Attrs, Gradient, Gradients, Outputs, Spec};
use crate::program::{Program, ProgramAttr, Residual, Split, Wish, split_by, staged};
use std::sync::Arc;

/// What every branch does under a derivative.
pub(crate) struct Form<'a> {
    pub branches: &'a [ProgramAttr],
}

impl<'a> Form<'a> {
    pub fn of(attrs: &'a Attrs) -> Form<'a> {
        Form { branches: attrs.programs("branch") }
    }

    pub fn inputs(&self) -> usize {
        self.branches[0].inputs().len()
    }

    /// The outputs that any branch lets depend on these inputs.
    fn reached(&self, active: &[bool], differentiably: bool) -> Vec<bool> {
        let mut all = vec![false; self.branches[0].outputs().len()];
        for branch in self.branches {
            all.iter_mut().zip(branch.reached(active, differentiably)).for_each(|(all, reached)| *all |= reached);
        }
        all
    }

    /// Inputs and outputs that matter when these operands do; operand 0 is the index.
    pub fn spread(&self, from: impl Fn(usize) -> bool) -> (Vec<bool>, Vec<bool>) {
        let specs = input_specs(&self.branches[0]);
        let active: Vec<bool> =
            (0..specs.len()).map(|place| from(place + 1) && specs[place].dtype.is_float()).collect();
        let reached = self.reached(&active, true);
        (active, reached)
    }

    /// Each branch derived by itself; `flags` are what it depends on besides inputs, by their places.
    pub fn derived(
        &self,
        what: &'static str,
        inputs: &[bool],
        numbers: &[usize],
        derive: impl Fn(&Program) -> Program,
    ) -> Vec<ProgramAttr> {
        let wish = Wish { what, inputs: inputs.to_vec(), numbers: numbers.to_vec() };
        let one = |branch: &ProgramAttr| {
            let found = branch.derived(wish.clone(), |branch| ProgramAttr::from(derive(branch)));
            (*found).clone()
        };
        self.branches.iter().map(one).collect()
    }
}

/// The attributes of a switch.
pub(crate) fn with_branches(branches: impl IntoIterator<Item = ProgramAttr>) -> Attrs {
    Attrs::new().with_programs("branch", branches)
}

/// How a call is pulled back: branches that also leave what the backward branches need, in places that all share.
pub(crate) struct Pulled {
    pub forward: Vec<ProgramAttr>,
    backward: Vec<ProgramAttr>,
    active: Vec<bool>,
    pub reached: Vec<bool>,
    /// The inputs that some backward branch reads.
    used: Vec<usize>,
}

impl Pulled {
    fn new(form: &Form<'_>, active: &[bool], reached: &[bool]) -> Pulled {
        let joints: Vec<Program> = form.branches.iter().map(|branch| joint(branch, active, reached)).collect();
        let seeds = places(reached).len();
        let is_free = |residual: Residual| matches!(residual, Residual::Input(_));
        let halves: Vec<Split> = joints.iter().map(|joint| split_by(joint, reached.len(), seeds, is_free)).collect();
        let pulled = Pulled::from_halves(halves, active, reached);
        let left = pulled.forward[0].outputs().len();
        if left + form.inputs() < MOST_PLACES {
            return pulled;
        }
        let halves = joints.iter().map(|joint| Split::recomputing(joint, reached.len(), seeds));
        Pulled::from_halves(halves.collect(), active, reached)
    }

    fn from_halves(halves: Vec<Split>, active: &[bool], reached: &[bool]) -> Pulled {
        let results = reached.len();
        let inputs = input_specs(&halves[0].forward);
        let mut used: Vec<usize> = Vec::new();
        // A place for a residual serves every branch that leaves one of its spec.
        let mut shared: Vec<Spec> = Vec::new();
        let mut places_of: Vec<Vec<usize>> = Vec::new();
        for half in &halves {
            let mut taken = Vec::new();
            for residual in &half.residuals {
                match *residual {
                    Residual::Input(place) => used.push(place),
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
                Residual::Output(place) => Some(*place),
                Residual::Input(_) => None,
            };
            half.residuals.iter().filter_map(output).collect()
        };
        let forward = halves.iter().zip(&places_of).map(|(half, taken)| {
            ProgramAttr::from(staged("switch", &inputs, |v| {
                let y = half.forward.evaluate(&v).or_raise();
                let mut left: Vec<Tensor> = shared.iter().map(|spec| Tensor::constant(0.0, spec)).collect();
                taken.iter().zip(outputs_of(half)).for_each(|(&at, place)| left[at] = y[place].clone());
                [&y[..results], &left].concat()
            }))
        });
        let seeds = input_specs(&halves[0].backward).split_off(halves[0].residuals.len());
        let specs: Vec<Spec> =
            used.iter().map(|&place| inputs[place].clone()).chain(shared.clone()).chain(seeds).collect();
        let backward = halves.iter().zip(&places_of).map(|(half, taken)| {
            ProgramAttr::from(staged("switch", &specs, |v| {
                let mut taken = taken.iter();
                let residual = |residual: &Residual| match residual {
                    Residual::Input(place) => used.iter().position(|used| used == place).expect("it is used"),
                    Residual::Output(_) => used.len() + taken.next().expect("it has a place"),
                };
                let order: Vec<usize> = half.residuals.iter().map(residual).collect();
                let inputs = [&pick(&v, &order)[..], &v[used.len() + shared.len()..]].concat();
                half.backward.evaluate(&inputs).or_raise()
            }))
        });
        let (forward, backward) = (forward.collect(), backward.collect());
        Pulled { forward, backward, active: active.to_vec(), reached: reached.to_vec(), used }
    }

    /// The gradients of the operands; `run` binds a switch.
    pub fn pull(
        &self,
        run: &dyn Fn(Attrs, &[&Tensor]) -> Outputs,
        index: &Tensor,
        operand: &dyn Fn(usize) -> Tensor,
        output: &dyn Fn(usize) -> Tensor,
        cotangents: &mut [Option<Tensor>],
    ) -> Gradients {
        let outputs = output_specs(&self.forward[0]);
        let mut operands = vec![index.clone()];
        operands.extend(self.used.iter().map(|&place| operand(place + 1)));
        operands.extend((self.reached.len()..outputs.len()).map(output));
        for place in places(&self.reached) {
            operands.push(cotangents[place].take().unwrap_or_else(|| Tensor::constant(0.0, &outputs[place])));
        }
        let attrs = with_branches(self.backward.iter().cloned());
        let found = run(attrs, &operands.iter().collect::<Vec<_>>());
        let mut gradients: Gradients = (0..=self.active.len()).map(|_| Gradient::Zero).collect();
        for (place, found) in places(&self.active).into_iter().zip(found) {
            gradients[place + 1] = Gradient::Dense(found);
        }
        gradients
    }
}

/// Values and gradients of a branch, by inputs and cotangents.
fn joint(branch: &Program, active: &[bool], reached: &[bool]) -> Program {
    let (inputs, outputs) = (input_specs(branch), output_specs(branch));
    let seeds: Vec<Spec> = places(reached).iter().map(|&place| outputs[place].clone()).collect();
    staged("switch", &[&inputs[..], &seeds].concat(), |mut v| {
        let seeds = v.split_off(inputs.len());
        let (y, gradients) = through::pull(branch, &v, active, &seeds, reached);
        [y, gradients].concat()
    })
}

/// How a call is pulled back by the inputs that `active` names.
pub(crate) fn pulled(form: &Form<'_>, active: &[bool], reached: &[bool]) -> Arc<Pulled> {
    // What is shared by the branches is kept beside the first; the others are part of the wish.
    let numbers = form.branches.iter().map(ProgramAttr::number);
    let wish = Wish { what: "switch reverse", inputs: active.to_vec(), numbers: numbers.collect() };
    form.branches[0].derived(wish, |_| Pulled::new(form, active, reached))
}

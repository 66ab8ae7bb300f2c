//! Scans: attributes, steps, and derived bodies.

use super::{BodyRunner, ScanForm, input_specs, laid_out, masked, output_specs, pick, places, stacked, through};
use crate::error::OrRaise;
use crate::location::Line;
use crate::methods::*;
use crate::primitive::{Attrs, Gradient, Gradients, Outputs, Spec};
use crate::program::ProgramAttrs;
use crate::program::{Program, ProgramAttr, Residual, Split, Wish, split_by, staged};
use crate::{Error, Tensor};
use std::sync::Arc;

impl ScanForm {
    pub fn of(attrs: &Attrs) -> ScanForm {
        ScanForm {
            consts: attrs.axis("consts"),
            carry: attrs.axis("carry"),
            length: attrs.axis("length"),
            reverse: attrs.int("reverse") != 0,
            body: attrs.program("body").clone(),
        }
    }

    pub fn attrs(&self) -> Attrs {
        Attrs::new()
            .with_int("consts", self.consts as i64)
            .with_int("carry", self.carry as i64)
            .with_int("length", self.length as i64)
            .with_int("reverse", i64::from(self.reverse))
            .with_program("body", self.body.clone())
    }

    /// The index of the first element, after constants and the carry.
    pub fn elements(&self) -> usize {
        self.consts + self.carry
    }

    /// The operands that are active if those in `from` are, and the outputs that depend on them. A carry that is reached at any step is
    /// active from the start.
    pub fn spread(&self, from: impl Fn(usize) -> bool, differentiably: bool) -> (Vec<bool>, Vec<bool>) {
        let specs = input_specs(&self.body);
        let carries = |place: usize| !differentiably || specs[place].dtype.is_float();
        let mut active: Vec<bool> = (0..specs.len()).map(|place| from(place) && carries(place)).collect();
        loop {
            let mut reached = self.body.reached(&active, differentiably);
            let before = active.clone();
            (0..self.carry).for_each(|i| active[self.consts + i] |= reached[i]);
            if active == before {
                (0..self.carry).for_each(|i| reached[i] = active[self.consts + i]);
                return (active, reached);
            }
        }
    }

    /// Runs all steps, on tensors of any level.
    pub fn run(&self, operands: &[Tensor], line: Line) -> Result<Outputs, Error> {
        let operands = laid_out(operands);
        let mut inputs = operands.clone();
        let (outputs, body) = (output_specs(&self.body), BodyRunner::new(&self.body, &operands));
        let mut rows: Vec<Vec<Tensor>> = vec![Vec::new(); outputs.len() - self.carry];
        for step in 0..self.length {
            let at = if self.reverse { self.length - 1 - step } else { step };
            for (input, operand) in inputs.iter_mut().zip(&operands).skip(self.elements()) {
                *input = operand.select(0, at as isize);
            }
            let mut made = body.run(&inputs, line)?.into_iter();
            inputs[self.consts..self.elements()].fill_with(|| made.next().expect("a body returns its carry"));
            rows.iter_mut().zip(made).for_each(|(row, y)| row.push(y));
        }
        let mut all: Outputs = inputs.drain(self.consts..self.elements()).collect();
        for (mut row, spec) in rows.into_iter().zip(&outputs[self.carry..]) {
            if self.reverse {
                row.reverse();
            }
            all.push(match row.is_empty() {
                true => Tensor::constant(0.0, &stacked(spec, 0)),
                false => Tensor::stack(&row, 0),
            });
        }
        Ok(all)
    }

    fn wish(&self, what: &'static str, inputs: &[bool], number: usize) -> Wish {
        Wish { what, inputs: inputs.to_vec(), numbers: vec![self.consts, self.carry, number] }
    }

    /// The body with tangents: those of constants, carry and elements come after them.
    pub fn tangent_body(&self, active: &[bool], reached: &[bool]) -> ProgramAttr {
        let derived = self.body.derived(self.wish("scan tangent", active, 0), |body| {
            let groups = [0..self.consts, self.consts..self.elements(), self.elements()..active.len()];
            let specs = input_specs(body);
            // The index of every primal and every tangent among the inputs.
            let (mut all, mut primals, mut tangents) = (Vec::new(), vec![0; specs.len()], Vec::new());
            for group in groups {
                for place in group.clone() {
                    primals[place] = all.len();
                    all.push(specs[place].clone());
                }
                for place in group.filter(|&place| active[place]) {
                    tangents.push(all.len());
                    all.push(specs[place].clone());
                }
            }
            ProgramAttr::from(staged("scan", &all, |v| {
                let (y, dy) = through::push(body, &pick(&v, &primals), active, &pick(&v, &tangents), reached);
                let (carry, ys) = y.split_at(self.carry);
                let (tangents, dys) = dy.split_at(reached[..self.carry].iter().filter(|reached| **reached).count());
                [carry, tangents, ys, dys].concat()
            }))
        });
        (*derived).clone()
    }

    /// The body for a batch of `size`; inputs marked in `active` and outputs marked in `reached` are batched along a leading axis.
    pub fn batch_body(&self, size: usize, active: &[bool], reached: &[bool]) -> ProgramAttr {
        let derived = self.body.derived(self.wish("scan batch", active, size), |body| {
            let specs = masked::batched_specs(input_specs(body), size, active);
            ProgramAttr::from(staged("scan", &specs, |v| through::map(body, &v, size, active, reached)))
        });
        (*derived).clone()
    }

    pub fn pulled(&self, active: &[bool], reached: &[bool]) -> Arc<Pulled> {
        self.body.derived(self.wish("scan reverse", active, 0), |body| Pulled::new(self, body, active, reached))
    }
}

/// Where a residual of a step comes from.
#[derive(Clone, Copy)]
enum ResidualSource {
    Operand(usize),
    Output(usize),
}

/// The pullback of a call: a forward body that also returns what the backward body needs at every step.
pub struct Pulled {
    pub forward: ProgramAttr,
    backward: ProgramAttr,
    active: Vec<bool>,
    pub reached: Vec<bool>,
    /// The residuals that are the same at every step, and those that are not.
    consts: Vec<usize>,
    elements: Vec<ResidualSource>,
}

impl Pulled {
    fn new(form: &ScanForm, body: &Program, active: &[bool], reached: &[bool]) -> Pulled {
        let (inputs, outputs) = (input_specs(body), output_specs(body));
        let cotangents: Vec<Spec> = places(reached).iter().map(|&place| outputs[place].clone()).collect();
        let joint = staged("scan", &[inputs.clone(), cotangents.clone()].concat(), |mut v| {
            let seeds = v.split_off(inputs.len());
            let (y, gradients) = through::pull(body, &v, active, &seeds, reached);
            [y, gradients].concat()
        });
        // Constants, elements and the outputs of every step are available anyway; carried values would have to be stacked.
        let halves = split_by(&joint, outputs.len(), cotangents.len(), |residual| match residual {
            Residual::Input(place) => !(form.consts..form.elements()).contains(&place),
            Residual::Output(place) => place >= form.carry,
        });
        Pulled::from_halves(form, halves, active, reached)
    }

    fn from_halves(form: &ScanForm, halves: Split, active: &[bool], reached: &[bool]) -> Pulled {
        let results = reached.len();
        let mut outputs = halves.forward.outputs()[..results].to_vec();
        let (mut consts, mut elements) = (Vec::new(), Vec::new());
        // For every residual, whether it is the same at every step.
        let mut fixed = Vec::new();
        for residual in &halves.residuals {
            fixed.push(matches!(residual, Residual::Input(place) if *place < form.consts));
            let left = match *residual {
                Residual::Input(place) if place < form.consts => {
                    consts.push(place);
                    continue;
                }
                Residual::Input(place) if place >= form.elements() => {
                    elements.push(ResidualSource::Operand(place));
                    continue;
                }
                Residual::Input(place) => halves.forward.inputs()[place],
                Residual::Output(place) => halves.forward.outputs()[place],
            };
            // Outputs of every step are not stacked twice.
            let known = (form.carry..outputs.len()).find(|&place| outputs[place] == left);
            elements.push(ResidualSource::Output(known.unwrap_or_else(|| {
                outputs.push(left);
                outputs.len() - 1
            })));
        }
        let forward = halves.forward.returning(outputs);
        let backward = backward_body(form, &halves.backward, &fixed, active, reached);
        let (active, reached) = (active.to_vec(), reached.to_vec());
        Pulled { forward: forward.into(), backward: backward.into(), active, reached, consts, elements }
    }

    /// The outputs of the forward call that the backward call reads.
    pub fn outputs(&self) -> impl Iterator<Item = usize> {
        self.elements.iter().filter_map(|source| match *source {
            ResidualSource::Output(place) => Some(place),
            ResidualSource::Operand(_) => None,
        })
    }

    /// The gradients of the operands; `run` binds a scan.
    pub fn pull(
        &self,
        form: &ScanForm,
        run: &dyn Fn(Attrs, &[&Tensor]) -> Outputs,
        operand: &dyn Fn(usize) -> Tensor,
        output: &dyn Fn(usize) -> Tensor,
        cotangents: &mut [Option<Tensor>],
    ) -> Gradients {
        let (inputs, outputs) = (input_specs(&form.body), output_specs(&form.body));
        let mut seeds = |places: Vec<usize>| -> Vec<Tensor> {
            let spec = |place: usize| match place < form.carry {
                true => outputs[place].clone(),
                false => stacked(&outputs[place], form.length),
            };
            let seed = |place: usize| cotangents[place].take().unwrap_or_else(|| Tensor::constant(0.0, &spec(place)));
            places.into_iter().map(seed).collect()
        };
        let (carry, ys) = self.reached.split_at(form.carry);
        let carry_seeds = seeds(places(carry));
        let y_seeds = seeds(places(ys).into_iter().map(|place| place + form.carry).collect());
        let active_consts = places(&self.active[..form.consts]);
        let mut operands: Vec<Tensor> = self.consts.iter().map(|&place| operand(place)).collect();
        let carried = carry_seeds.len() + active_consts.len();
        operands.extend(carry_seeds);
        operands.extend(active_consts.iter().map(|&place| Tensor::constant(0.0, &wide(&inputs[place]))));
        operands.extend(self.elements.iter().map(|source| match *source {
            ResidualSource::Operand(place) => operand(place),
            ResidualSource::Output(place) => output(place),
        }));
        operands.extend(y_seeds);
        let backward = ScanForm {
            consts: self.consts.len(),
            carry: carried,
            length: form.length,
            reverse: !form.reverse,
            body: self.backward.clone(),
        };
        let found = run(backward.attrs(), &operands.iter().collect::<Vec<_>>());
        let active_carry = places(&self.active[form.consts..form.elements()]).into_iter().map(|i| i + form.consts);
        let active_elements = places(&self.active[form.elements()..]).into_iter().map(|i| i + form.elements());
        let mut gradients: Gradients = (0..inputs.len()).map(|_| Gradient::Zero).collect();
        for (place, found) in active_carry.chain(active_consts).chain(active_elements).zip(found) {
            gradients[place] = Gradient::Dense(found.cast(inputs[place].dtype));
        }
        gradients
    }
}

/// The spec of a sum over steps: 16-bit terms are accumulated in 32 bits.
pub fn wide(spec: &Spec) -> Spec {
    Spec { dtype: spec.dtype.compute(), ..spec.clone() }
}

/// The body of the backward scan: it carries the cotangents of the carry and the accumulated cotangents of the constants, and outputs the
/// cotangents of the elements.
fn backward_body(form: &ScanForm, backward: &Program, fixed: &[bool], active: &[bool], reached: &[bool]) -> Program {
    let specs = input_specs(backward);
    let gradients = output_specs(backward);
    let count = |flags: &[bool]| flags.iter().filter(|flag| **flag).count();
    let (sums, carry, residuals) = (count(&active[..form.consts]), count(&reached[..form.carry]), fixed.len());
    let fixed_places = places(fixed);
    let moving: Vec<usize> = (0..residuals).filter(|&place| !fixed[place]).collect();
    let cotangents: Vec<usize> = (residuals..specs.len()).collect();
    let (carry_seeds, y_seeds) = cotangents.split_at(carry);
    // The inputs in the order of a scan: indices among those of `backward`, or a sum.
    let order: Vec<Option<usize>> = (fixed_places.iter().chain(carry_seeds).map(|&place| Some(place)))
        .chain((0..sums).map(|_| None))
        .chain(moving.iter().chain(y_seeds).map(|&place| Some(place)))
        .collect();
    let mut next_sum = gradients.iter();
    let all: Vec<Spec> = order
        .iter()
        .map(|place| match place {
            Some(place) => specs[*place].clone(),
            None => wide(next_sum.next().expect("a gradient for each sum")),
        })
        .collect();
    staged("scan", &all, |v| {
        let mut inputs: Vec<Option<Tensor>> = vec![None; specs.len()];
        let mut so_far = Vec::new();
        for (place, v) in order.iter().zip(v) {
            match place {
                Some(place) => inputs[*place] = Some(v),
                None => so_far.push(v),
            }
        }
        let inputs: Vec<Tensor> = inputs.into_iter().map(|input| input.expect("every input has a place")).collect();
        let mut found = backward.evaluate(&inputs).or_raise();
        let elements = found.split_off(sums + carry);
        let carried = found.split_off(sums);
        let sums: Vec<Tensor> = so_far.iter().zip(&found).map(|(sum, term)| sum + term.cast(sum.dtype())).collect();
        [carried, sums, elements].concat()
    })
}

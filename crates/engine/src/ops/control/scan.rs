//! scan - a loop over the leading axis.   c, y[t] = body(c, x[t]) for t = 0, 1, ..,   dx by a scan in the other direction.   Operands are what the body reads at every step,
//! the carry, and what is taken apart along axis 0; outputs are the last carry and what every step gave, stacked. The body is a program: it is traced once
//! and stays one body, however long the loop is. Written `scan`, `scan_reverse`, `scan_times`, and `fori` with a fixed count.

use crate::bind::try_bind;
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::ops::prelude::*;
use crate::program::control::{
    Control, MOST_PLACES, Recording, cost_of, expect_carry, input_specs, output_specs, pick, places, stacked, through,
};
use crate::program::{Program, ProgramAttr, Residual, Split, Wish, closed, split, stage};
use crate::{Tree, vjp};
use std::panic::Location;
use std::sync::Arc;

/// A loop over axis 0 of every leaf of `xs`: `f` takes the carry and one element and returns the next carry and an output; what
/// comes back is the last carry, and the outputs stacked along a new axis 0.
///
/// `f` is traced once, into a program that runs at every step, also where nothing is compiled. What it captures is an operand of
/// the loop and receives gradients. The carry keeps its structure, shapes and dtypes.
///
/// ```
/// use wengert::prelude::*;
/// let step = |h: &Tensor, x: &Tensor| {
///     let h = (h * 0.5 + x).tanh();
///     (h.clone(), h)
/// };
/// let (last, all) = scan(step, &Tensor::from(0.0), &Tensor::from([1.0, 2.0, 3.0]));
/// assert_eq!(all.shape(), [3]);
/// assert_eq!(all.slice(2), last);
/// let slopes = grad(|x: &Tensor| scan(step, &Tensor::from(0.0), x).0)(&Tensor::from([1.0, 2.0, 3.0]));
/// assert_eq!(slopes.shape(), [3]);
/// ```
#[track_caller]
pub fn scan<C: Tree, X: Tree, Y: Tree>(f: impl Fn(&C, &X) -> (C, Y), init: &C, xs: &X) -> (C, Y) {
    let line = location::resolve(Location::caller());
    let _scope = location::scope(line);
    common_length(xs).and_then(|length| over(f, init, xs, length, false, line)).map_err(|e| e.at(line)).or_raise()
}

/// [`scan`] from the last element to the first; outputs stand at the positions of their elements.
///
/// ```
/// use wengert::prelude::*;
/// let sum = |sum: &Tensor, x: &Tensor| (sum + x, sum + x);
/// let (_, sums) = scan_reverse(sum, &Tensor::from(0.0), &Tensor::from([1.0, 2.0, 3.0]));
/// assert_eq!(sums, Tensor::from([6.0, 5.0, 3.0]));
/// ```
#[track_caller]
pub fn scan_reverse<C: Tree, X: Tree, Y: Tree>(f: impl Fn(&C, &X) -> (C, Y), init: &C, xs: &X) -> (C, Y) {
    let line = location::resolve(Location::caller());
    let _scope = location::scope(line);
    common_length(xs).and_then(|length| over(f, init, xs, length, true, line)).map_err(|e| e.at(line)).or_raise()
}

/// [`scan`] over nothing but a number of steps.
///
/// ```
/// use wengert::prelude::*;
/// let (last, powers) = scan_times(4, |x: &Tensor| (x * 2.0, x.clone()), &Tensor::from(1.0));
/// assert_eq!((last.item(), powers), (16.0, Tensor::from([1.0, 2.0, 4.0, 8.0])));
/// ```
#[track_caller]
pub fn scan_times<C: Tree, Y: Tree>(count: usize, f: impl Fn(&C) -> (C, Y), init: &C) -> (C, Y) {
    let line = location::resolve(Location::caller());
    let _scope = location::scope(line);
    over(|c: &C, (): &()| f(c), init, &(), count, false, line).map_err(|error| error.at(line)).or_raise()
}

/// The size of axis 0 that all leaves share.
fn common_length<X: Tree>(xs: &X) -> Result<usize, Error> {
    let mut found: Option<(String, usize)> = None;
    for (path, leaf) in xs.named_leaves() {
        let wrong = |message: String| {
            let shapes = vec![Shape::from(leaf.shape())];
            Err(Error::new(ErrorKind::Shape(shapes), "scan", message).help("the loop goes along axis 0 of every leaf"))
        };
        let named = |path: &str| if path.is_empty() { "what it goes over".to_string() } else { format!("'{path}'") };
        match (leaf.shape().first(), &found) {
            (None, _) => return wrong(format!("{} is a scalar, so it has no elements", named(&path))),
            (Some(&size), None) => found = Some((path, size)),
            (Some(&size), Some((first, length))) if size != *length => {
                return wrong(format!("{} has {length} elements, {} has {size}", named(first), named(&path)));
            }
            _ => {}
        }
    }
    let none = || Error::new(ErrorKind::Tree, "scan", "what it goes over has no leaf, so it has no length");
    found.map(|(_, length)| length).ok_or_else(|| none().help("use scan_times or fori with a number of steps"))
}

/// Traces `f` and runs the loop.
pub(super) fn over<C: Tree, X: Tree, Y: Tree>(
    f: impl Fn(&C, &X) -> (C, Y),
    init: &C,
    xs: &X,
    length: usize,
    reverse: bool,
    line: Line,
) -> Result<(C, Y), Error> {
    let (carry, elements) = (init.leaves(), xs.leaves());
    let mut specs: Vec<Spec> = carry.iter().map(|leaf| leaf.spec()).collect();
    specs.extend(elements.iter().map(|leaf| Spec::new(&leaf.shape()[1..], leaf.dtype())));
    let (program, form) = stage("scan", line, &specs, |mut symbols| {
        let element = symbols.split_off(carry.len());
        let (next, y) = f(&init.rebuild(symbols), &xs.rebuild(element));
        if let Err(error) = expect_carry("scan", &next, init) {
            return (Vec::new(), Err(error));
        }
        (next.leaves().into_iter().chain(y.leaves()).cloned().collect(), Ok((next, y)))
    });
    let (next, y) = form?;
    let (programs, captured) = closed(vec![program]);
    let [body] = <[Program; 1]>::try_from(programs).unwrap_or_else(|_| unreachable!("one went in"));
    let attrs = Form { consts: captured.len(), carry: carry.len(), length, reverse, body: body.into() }.attrs();
    let operands: Vec<&Tensor> = captured.iter().chain(carry.iter().copied()).chain(elements).collect();
    let mut outputs = try_bind(&SCAN, attrs, &operands, line)?.into_vec();
    let ys = outputs.split_off(carry.len());
    Ok((next.rebuild(outputs), y.rebuild(ys)))
}

/// The primitive `scan`.
pub static SCAN: Scan = Scan;

/// See the module.
pub struct Scan;

/// The attributes of a call.
#[derive(Clone)]
struct Form {
    consts: usize,
    carry: usize,
    length: usize,
    reverse: bool,
    body: ProgramAttr,
}

impl Form {
    fn of(attrs: &Attrs) -> Form {
        Form {
            consts: attrs.axis("consts"),
            carry: attrs.axis("carry"),
            length: attrs.axis("length"),
            reverse: attrs.int("reverse") != 0,
            body: attrs.program("body").clone(),
        }
    }

    fn attrs(&self) -> Attrs {
        Attrs::new()
            .with_int("consts", self.consts as i64)
            .with_int("carry", self.carry as i64)
            .with_int("length", self.length as i64)
            .with_int("reverse", i64::from(self.reverse))
            .with_program("body", self.body.clone())
    }

    /// What a step reads besides constants and the carry begins here.
    fn elements(&self) -> usize {
        self.consts + self.carry
    }

    /// The operands that matter when those that `from` names do: a carry that is reached once matters from the start. And the
    /// outputs that they reach.
    fn spread(&self, from: impl Fn(usize) -> bool, differentiably: bool) -> (Vec<bool>, Vec<bool>) {
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

    /// All steps, on tensors of any level.
    fn run(&self, operands: &[Tensor], line: Line) -> Result<Outputs, Error> {
        let mut inputs = operands.to_vec();
        let outputs = output_specs(&self.body);
        let mut rows: Vec<Vec<Tensor>> = vec![Vec::with_capacity(self.length); outputs.len() - self.carry];
        for step in 0..self.length {
            let at = if self.reverse { self.length - 1 - step } else { step };
            for (input, operand) in inputs.iter_mut().zip(operands).skip(self.elements()) {
                *input = operand.select(0, at as isize);
            }
            let mut made = self.body.evaluate_at(&inputs, line)?.into_iter();
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

    /// The body that carries tangents along: those of constants, carry and elements stand after them.
    fn tangent_body(&self, active: &[bool], reached: &[bool]) -> ProgramAttr {
        let derived = self.body.derived(self.wish("scan tangent", active, 0), |body| {
            let groups = [0..self.consts, self.consts..self.elements(), self.elements()..active.len()];
            let specs = input_specs(body);
            // Where every primal and every tangent stands among the inputs.
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
            let line = location::resolve(Location::caller());
            let (program, ()) = stage("scan", line, &all, |v| {
                let (y, dy) = through::push(body, &pick(&v, &primals), active, &pick(&v, &tangents), reached);
                let (carry, ys) = y.split_at(self.carry);
                let (tangents, dys) = dy.split_at(reached[..self.carry].iter().filter(|reached| **reached).count());
                ([carry, tangents, ys, dys].concat(), ())
            });
            ProgramAttr::from(program)
        });
        (*derived).clone()
    }

    /// The body for a batch of `size`: inputs that `active` names, and outputs that are `reached`, have it in front.
    fn batch_body(&self, size: usize, active: &[bool], reached: &[bool]) -> ProgramAttr {
        let derived = self.body.derived(self.wish("scan batch", active, size), |body| {
            let specs = input_specs(body).into_iter().zip(active);
            let specs: Vec<Spec> = specs.map(|(spec, active)| if *active { stacked(&spec, size) } else { spec }).collect();
            let line = location::resolve(Location::caller());
            let (program, ()) = stage("scan", line, &specs, |v| (through::map(body, &v, size, active, reached), ()));
            ProgramAttr::from(program)
        });
        (*derived).clone()
    }

    fn pulled(&self, active: &[bool], reached: &[bool]) -> Arc<Pulled> {
        self.body.derived(self.wish("scan reverse", active, 0), |body| Pulled::new(self, body, active, reached))
    }
}

/// Where a residual of a step comes from.
#[derive(Clone, Copy)]
enum Source {
    Operand(usize),
    Output(usize),
}

/// How a call is pulled back: a forward body that also leaves what the backward body needs at every step.
struct Pulled {
    forward: ProgramAttr,
    backward: ProgramAttr,
    active: Vec<bool>,
    reached: Vec<bool>,
    /// The residuals that are the same at every step, and those that are not.
    consts: Vec<usize>,
    elements: Vec<Source>,
}

impl Pulled {
    fn new(form: &Form, body: &Program, active: &[bool], reached: &[bool]) -> Pulled {
        let (inputs, outputs) = (input_specs(body), output_specs(body));
        let cotangents: Vec<Spec> = places(reached).iter().map(|&place| outputs[place].clone()).collect();
        let line = location::resolve(Location::caller());
        let (joint, ()) = stage("scan", line, &[inputs.clone(), cotangents.clone()].concat(), |mut v| {
            let seeds = v.split_off(inputs.len());
            let (y, gradients) = through::pull(body, &v, active, &seeds, reached);
            ([y, gradients].concat(), ())
        });
        let halves = split(&joint, outputs.len(), cotangents.len());
        let left = halves.forward.outputs().len() - outputs.len() + form.carry;
        if inputs.len() + left > MOST_PLACES || outputs.len() + left > MOST_PLACES {
            return Pulled::from_halves(form, Split::recomputing(&joint, outputs.len(), cotangents.len()), active, reached);
        }
        Pulled::from_halves(form, halves, active, reached)
    }

    fn from_halves(form: &Form, halves: Split, active: &[bool], reached: &[bool]) -> Pulled {
        let results = reached.len();
        let mut outputs = halves.forward.outputs()[..results].to_vec();
        let (mut consts, mut elements) = (Vec::new(), Vec::new());
        // For every residual whether it is the same at every step.
        let mut fixed = Vec::new();
        for residual in &halves.residuals {
            fixed.push(matches!(residual, Residual::Input(place) if *place < form.consts));
            let left = match *residual {
                Residual::Input(place) if place < form.consts => {
                    consts.push(place);
                    continue;
                }
                Residual::Input(place) if place >= form.elements() => {
                    elements.push(Source::Operand(place));
                    continue;
                }
                Residual::Output(place) if (form.carry..results).contains(&place) => {
                    elements.push(Source::Output(place));
                    continue;
                }
                Residual::Input(place) => halves.forward.inputs()[place],
                Residual::Output(place) => halves.forward.outputs()[place],
            };
            elements.push(Source::Output(outputs.len()));
            outputs.push(left);
        }
        let forward = halves.forward.returning(outputs);
        let backward = backward_body(form, &halves.backward, &fixed, active, reached);
        let (active, reached) = (active.to_vec(), reached.to_vec());
        Pulled { forward: forward.into(), backward: backward.into(), active, reached, consts, elements }
    }

    /// The gradients of the operands.
    fn pull(
        &self,
        form: &Form,
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
        operands.extend(active_consts.iter().map(|&place| Tensor::constant(0.0, &inputs[place])));
        operands.extend(self.elements.iter().map(|source| match *source {
            Source::Operand(place) => operand(place),
            Source::Output(place) => output(place),
        }));
        operands.extend(y_seeds);
        let backward = Form {
            consts: self.consts.len(),
            carry: carried,
            length: form.length,
            reverse: !form.reverse,
            body: self.backward.clone(),
        };
        let found = bind(&SCAN, backward.attrs(), &operands.iter().collect::<Vec<_>>());
        let active_carry = places(&self.active[form.consts..form.elements()]).into_iter().map(|i| i + form.consts);
        let active_elements = places(&self.active[form.elements()..]).into_iter().map(|i| i + form.elements());
        let mut gradients: Gradients = (0..inputs.len()).map(|_| Gradient::Zero).collect();
        for (place, found) in active_carry.chain(active_consts).chain(active_elements).zip(found) {
            gradients[place] = Gradient::Dense(found);
        }
        gradients
    }
}

/// The body of the scan backward: it carries the cotangents of the carry and the sums of those of the constants, and gives the
/// cotangents of the elements.
fn backward_body(form: &Form, backward: &Program, fixed: &[bool], active: &[bool], reached: &[bool]) -> Program {
    let specs = input_specs(backward);
    let gradients = output_specs(backward);
    let count = |flags: &[bool]| flags.iter().filter(|flag| **flag).count();
    let (sums, carry, residuals) = (count(&active[..form.consts]), count(&reached[..form.carry]), fixed.len());
    let fixed_places = places(fixed);
    let moving: Vec<usize> = (0..residuals).filter(|&place| !fixed[place]).collect();
    let cotangents: Vec<usize> = (residuals..specs.len()).collect();
    let (carry_seeds, y_seeds) = cotangents.split_at(carry);
    // The inputs in the order of a scan; places among those of `backward`, or a sum.
    let order: Vec<Option<usize>> = (fixed_places.iter().chain(carry_seeds).map(|&place| Some(place)))
        .chain((0..sums).map(|_| None))
        .chain(moving.iter().chain(y_seeds).map(|&place| Some(place)))
        .collect();
    let mut next_sum = gradients.iter();
    let all: Vec<Spec> = order
        .iter()
        .map(|place| match place {
            Some(place) => specs[*place].clone(),
            None => next_sum.next().expect("a gradient for each sum").clone(),
        })
        .collect();
    let line = location::resolve(Location::caller());
    let (program, ()) = stage("scan", line, &all, |v| {
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
        let sums: Vec<Tensor> = so_far.iter().zip(&found).map(|(sum, term)| sum + term).collect();
        ([carried, sums, elements].concat(), ())
    });
    program
}

impl Control for Scan {
    fn record(&'static self, attrs: &Attrs, wanted: Mask) -> Option<Recording> {
        let form = Form::of(attrs);
        let (active, reached) = form.spread(|place| wanted.has(place), true);
        if !reached.contains(&true) {
            return None;
        }
        let pulled = form.pulled(&active, &reached);
        let (results, body) = (reached.len(), &pulled.forward);
        let call = Form { body: body.clone(), ..form.clone() }.attrs();
        let record = Record { form: form.clone(), pulled: pulled.clone() };
        Some(Recording { call, record: Form { body: body.recorded(Arc::new(record)), ..form }.attrs(), results })
    }

    fn push(
        &'static self,
        attrs: &Attrs,
        operands: &[&Tensor],
        tangents: &[Option<Tensor>],
        line: Line,
    ) -> Result<(Outputs, Adjoints), Error> {
        let form = Form::of(attrs);
        let (active, reached) = form.spread(|place| tangents[place].is_some(), true);
        let body = form.tangent_body(&active, &reached);
        let mut all: Vec<Tensor> = Vec::new();
        for group in [0..form.consts, form.consts..form.elements(), form.elements()..operands.len()] {
            all.extend(operands[group.clone()].iter().map(|&operand| operand.clone()));
            for place in group.filter(|&place| active[place]) {
                all.push(tangents[place].clone().unwrap_or_else(|| operands[place].full_like(0.0)));
            }
        }
        let count = |flags: &[bool]| flags.iter().filter(|flag| **flag).count();
        let (consts, carry) = (count(&active[..form.consts]), count(&reached[..form.carry]));
        let joint = Form { consts: form.consts + consts, carry: form.carry + carry, body, ..form };
        let outputs = try_bind(&SCAN, joint.attrs(), &all.iter().collect::<Vec<_>>(), line)?;
        let mut outputs = outputs.into_iter();
        let mut take = |count: usize| -> Vec<Tensor> { outputs.by_ref().take(count).collect() };
        let (last, last_tangents) = (take(form.carry), take(carry));
        let (ys, y_tangents) = (take(reached.len() - form.carry), take(usize::MAX));
        let mut derived = last_tangents.into_iter().chain(y_tangents);
        let derived = reached.iter().map(|reached| if *reached { derived.next() } else { None }).collect();
        Ok((last.into_iter().chain(ys).collect(), derived))
    }

    fn unroll(&'static self, attrs: &Attrs, operands: &[Tensor], line: Line) -> Result<Outputs, Error> {
        Form::of(attrs).run(operands, line)
    }
}

/// What a record knows: the call it stands for, and how that is pulled back.
struct Record {
    form: Form,
    pulled: Arc<Pulled>,
}

impl Primitive for Scan {
    fn name(&self) -> &'static str {
        "scan"
    }

    fn operands(&self) -> usize {
        0
    }

    fn accepts(&self, _count: usize) -> bool {
        true
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["consts", "carry", "length", "reverse", "body"]
    }

    fn outputs(&self, attrs: &Attrs) -> usize {
        attrs.program("body").outputs().len()
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let form = Form::of(attrs);
        let (inputs, outputs) = (input_specs(&form.body), output_specs(&form.body));
        let wrong = |message: String| Err(Error::new(ErrorKind::Program, "scan", message));
        if operands.len() != inputs.len() || form.elements() > inputs.len() || form.carry > outputs.len() {
            let (consts, carry) = (form.consts, form.carry);
            let sizes = format!("{} inputs and {} outputs", inputs.len(), outputs.len());
            return wrong(format!("{} operands, {consts} constants and {carry} carried for a body of {sizes}", operands.len()));
        }
        for (place, (operand, input)) in operands.iter().zip(&inputs).enumerate() {
            let expected = if place < form.elements() { input.clone() } else { stacked(input, form.length) };
            if operand.to_spec() != expected {
                return wrong(format!("operand {place} is {}, the body takes {expected}", operand.to_spec()));
            }
        }
        for (place, (input, output)) in inputs[form.consts..form.elements()].iter().zip(&outputs).enumerate() {
            if input != output {
                return wrong(format!("the carry {place} is {input} before a step and {output} after it"));
            }
        }
        let spec = |(place, spec): (usize, Spec)| if place < form.carry { spec } else { stacked(&spec, form.length) };
        Ok(outputs.into_iter().enumerate().map(spec).collect())
    }

    fn eval(&self, _device: Device, attrs: &Attrs, operands: &[&Tensor], _outputs: &[Spec]) -> Result<Outputs, Error> {
        let operands: Vec<Tensor> = operands.iter().map(|operand| operand.plain()).collect();
        Form::of(attrs).run(&operands, location::resolve(Location::caller()))
    }

    fn saves(&self, attrs: &Attrs, _wanted: Mask) -> Saves {
        let body = attrs.program("body");
        let operands = (0..body.inputs().len()).fold(Saves::NOTHING, Saves::operand);
        let results = body.record::<Record>().map_or(body.outputs().len(), |record| record.pulled.reached.len());
        (results..body.outputs().len()).fold(operands, Saves::output)
    }

    fn control(&'static self) -> Option<&'static dyn Control> {
        Some(self)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let form = Form::of(rule.attrs);
        let operand = |place: usize| rule.operand(place).clone();
        let operands = || -> Vec<Tensor> { (0..form.body.inputs().len()).map(operand).collect() };
        let Some(record) = form.body.record::<Record>() else {
            let (active, reached) = form.spread(|place| rule.wants(place), true);
            if !reached.contains(&true) {
                return Gradients::new();
            }
            let operands = operands();
            let pulled = form.pulled(&active, &reached);
            let call = Form { body: pulled.forward.clone(), ..form.clone() };
            let outputs = bind(self, call.attrs(), &operands.iter().collect::<Vec<_>>());
            return pulled.pull(&form, &|place| operands[place].clone(), &|place| outputs[place].clone(), cotangents);
        };
        let results = record.pulled.reached.len();
        if cotangents[results..].iter().all(Option::is_none) {
            return record.pulled.pull(&record.form, &operand, &|place| rule.output(place).clone(), cotangents);
        }
        // A sweep that is itself differentiated comes back through what it was left.
        let call = Form { body: form.body.bare(), ..form.clone() }.attrs();
        let all = operands();
        let (y, pullback) = vjp(|x: &Vec<Tensor>| bind(self, call.clone(), &x.iter().collect::<Vec<_>>()).into_vec(), &all);
        let seeds = y.iter().zip(cotangents).map(|(y, seed)| seed.take().unwrap_or_else(|| y.full_like(0.0)));
        let gradients = pullback.call_named(&seeds.collect());
        gradients.into_iter().map(|(_, gradient)| gradient.map_or(Gradient::Zero, Gradient::Dense)).collect()
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let form = Form::of(rule.attrs);
        let operands: Vec<&Tensor> = (0..form.body.inputs().len()).map(|place| rule.operand(place)).collect();
        let attrs = Form { body: form.body.bare(), ..form }.attrs();
        self.push(&attrs, &operands, tangents, location::resolve(Location::caller())).or_raise().1
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let form = Form::of(attrs);
        let (active, reached) = form.spread(|place| batched.has(place), false);
        let operand = |(place, operand): (usize, &Tensor)| match (active[place], batched.has(place)) {
            (true, false) => through::spread(operand, size),
            (true, true) if place >= form.elements() => operand.movedim(&[1], &[0]),
            _ => operand.clone(),
        };
        let operands: Vec<Tensor> = operands.iter().enumerate().map(operand).collect();
        let body = form.batch_body(size, &active, &reached);
        let outputs = bind(self, Form { body, ..form.clone() }.attrs(), &operands.iter().collect::<Vec<_>>());
        let placed = |(place, output): (usize, Tensor)| match reached[place] {
            false => through::spread(&output, size),
            true if place < form.carry => output,
            true => output.movedim(&[1], &[0]),
        };
        Ok(outputs.into_iter().enumerate().map(placed).collect())
    }

    fn cost(&self, attrs: &Attrs, _operands: &[SpecRef<'_>], _outputs: &[Spec]) -> Cost {
        let (step, length) = (cost_of(attrs.program("body")), attrs.axis("length") as f64);
        Cost { flops: step.flops * length, bytes: step.bytes * length }
    }

    fn rule_text(&self) -> &'static str {
        "a scan in the other direction"
    }

    fn cases(&self) -> Vec<Case> {
        cases()
    }
}

/// h = tanh(w h + x), which is also what a step gives, times 2.
fn recurrence() -> ProgramAttr {
    let text = "program(w: f64[], h: f64[2], x: f64[2]) {
        const two: f64[] = 2.0
        v: f64[2] = broadcast[shape=[2]](w)
        a: f64[2] = mul(v, h)
        b: f64[2] = add(a, x)
        next: f64[2] = tanh(b)
        t: f64[2] = broadcast[shape=[2]](two)
        y: f64[2] = mul(next, t)
        return next, y
    }";
    Program::parse(text).or_raise().into()
}

fn cases() -> Vec<Case> {
    let run = |samples: &[Sample], order: Vec<usize>| {
        let (w, mut h, xs) = (samples[0].data[0], samples[1].data.clone(), &samples[2]);
        let mut ys = vec![0.0; xs.data.len()];
        for t in order {
            for i in 0..2 {
                h[i] = (w * h[i] + xs.data[2 * t + i]).tanh();
                ys[2 * t + i] = 2.0 * h[i];
            }
        }
        vec![Sample::new([2], h), Sample::new(xs.shape.clone(), ys)]
    };
    let case = |label: &str, length: usize, reverse: bool| {
        let form = Form { consts: 1, carry: 1, length, reverse, body: recurrence() };
        let operands = [Sample::wave([], 0.2), Sample::wave([2], 0.5), Sample::wave([length, 2], 0.9)];
        Case::new(label, form.attrs(), operands, move |samples| {
            run(samples, if reverse { (0..length).rev().collect() } else { (0..length).collect() })
        })
    };
    vec![case("recurrence", 3, false), case("backward", 4, true), case("one step", 1, false), case("no step", 0, false)]
}

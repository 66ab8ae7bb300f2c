//! scan - a loop over the leading axis.   c, y[t] = body(c, x[t]) for t = 0, 1, ..,   dx by a scan in the other direction.   Operands are
//! the constants that every step reads, the carry, and the elements, which are split along axis 0; outputs are the last carry and the
//! stacked outputs of all steps. The body is a program: it is traced once, however long the loop is. Written `scan`, `scan_reverse`,
//! `scan_times`, and `fori` with a fixed count.

use crate::bind::try_bind;
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::primitive::Device;
use crate::primitive::{Control, Recording};
use crate::program::ProgramAttrs;
use crate::program::control::ScanForm;
use crate::program::control::steps::Pulled;
use crate::program::control::{Flow, expect_carry, input_specs, output_specs, stacked, through};
use crate::program::{Program, ProgramAttr, closed, stage};
use crate::scheduled::{ScheduledLoop, TracedBody};
use crate::{Tree, vjp};
use std::any::Any;
use std::sync::Arc;
use wengert_core::memory::Schedule;
use wengert_ops::prelude::*;

/// Loops over axis 0 of every leaf of `xs`. `f` takes the carry and one element and returns the next carry and an output. Returns the last
/// carry, and the outputs stacked along a new axis 0.
///
/// `f` is traced once into a program that runs at every step, even if nothing is compiled. Captured tensors are operands of the loop and
/// receive gradients. The carry must keep its structure, shapes and dtypes.
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
    let line = location::resolve(Line::caller());
    let _scope = location::scope(line);
    along(&f, init, xs, false, &Schedule::All, line)
}

/// A [`scan`] whose gradient keeps only the states that `schedule` says, and computes the others again.
///
/// ```
/// use wengert::{Schedule, prelude::*};
/// let step = |h: &Tensor, x: &Tensor| ((h * 0.5 + x).tanh(), h.clone());
/// let loss = |x: &Tensor, schedule: &Schedule| scan_with(step, &Tensor::from(0.0), x, schedule).1.sum();
/// let x = Tensor::linspace(-1.0, 1.0, 100);
/// let few = grad(|x: &Tensor| loss(x, &Schedule::Binomial { snapshots: 5 }))(&x);
/// assert!(few.all_close(&grad(|x: &Tensor| loss(x, &Schedule::All))(&x), 1e-15));
/// ```
#[track_caller]
pub fn scan_with<C: Tree, X: Tree, Y: Tree>(
    f: impl Fn(&C, &X) -> (C, Y),
    init: &C,
    xs: &X,
    schedule: &Schedule,
) -> (C, Y) {
    let line = location::resolve(Line::caller());
    let _scope = location::scope(line);
    along(&f, init, xs, false, schedule, line)
}

/// Like [`scan`], from the last element to the first; each output is stacked at the position of its element.
///
/// ```
/// use wengert::prelude::*;
/// let sum = |sum: &Tensor, x: &Tensor| (sum + x, sum + x);
/// let (_, sums) = scan_reverse(sum, &Tensor::from(0.0), &Tensor::from([1.0, 2.0, 3.0]));
/// assert_eq!(sums, Tensor::from([6.0, 5.0, 3.0]));
/// ```
#[track_caller]
pub fn scan_reverse<C: Tree, X: Tree, Y: Tree>(f: impl Fn(&C, &X) -> (C, Y), init: &C, xs: &X) -> (C, Y) {
    let line = location::resolve(Line::caller());
    let _scope = location::scope(line);
    along(&f, init, xs, true, &Schedule::All, line)
}

/// A [`scan`] for a number of steps, without elements.
///
/// ```
/// use wengert::prelude::*;
/// let (last, powers) = scan_times(4, |x: &Tensor| (x * 2.0, x.clone()), &Tensor::from(1.0));
/// assert_eq!((last.item(), powers), (16.0, Tensor::from([1.0, 2.0, 4.0, 8.0])));
/// ```
#[track_caller]
pub fn scan_times<C: Tree, Y: Tree>(count: usize, f: impl Fn(&C) -> (C, Y), init: &C) -> (C, Y) {
    let line = location::resolve(Line::caller());
    let _scope = location::scope(line);
    times(count, &f, init, &Schedule::All, line)
}

/// A [`scan_times`] whose gradient keeps only the states that `schedule` says, and computes the others again.
///
/// ```
/// use wengert::{Schedule, prelude::*};
/// let sine = |x: &Tensor| scan_times_with(50, |x: &Tensor| (x.sin(), ()), x, &Schedule::Binomial { snapshots: 3 }).0;
/// let plain = |x: &Tensor| scan_times(50, |x: &Tensor| (x.sin(), ()), x).0;
/// assert!(grad(sine)(&Tensor::from(1.0)).all_close(&grad(plain)(&Tensor::from(1.0)), 1e-12));
/// ```
#[track_caller]
pub fn scan_times_with<C: Tree, Y: Tree>(
    count: usize,
    f: impl Fn(&C) -> (C, Y),
    init: &C,
    schedule: &Schedule,
) -> (C, Y) {
    let line = location::resolve(Line::caller());
    let _scope = location::scope(line);
    times(count, &f, init, schedule, line)
}

fn times<C: Tree, Y: Tree>(
    count: usize,
    f: &dyn Fn(&C) -> (C, Y),
    init: &C,
    schedule: &Schedule,
    line: Line,
) -> (C, Y) {
    let step = |c: &C, (): &()| f(c);
    over(&step, init, &(), count, false, schedule, line).map_err(|error| error.at(line)).or_raise()
}

fn along<C: Tree, X: Tree, Y: Tree>(
    f: &dyn Fn(&C, &X) -> (C, Y),
    init: &C,
    xs: &X,
    reverse: bool,
    schedule: &Schedule,
    line: Line,
) -> (C, Y) {
    let result = common_length(xs).and_then(|length| over(f, init, xs, length, reverse, schedule, line));
    result.map_err(|error| error.at(line)).or_raise()
}

/// The size of axis 0, which all leaves must share.
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
    f: &dyn Fn(&C, &X) -> (C, Y),
    init: &C,
    xs: &X,
    length: usize,
    reverse: bool,
    schedule: &Schedule,
    line: Line,
) -> Result<(C, Y), Error> {
    schedule.check("scan")?;
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
    y.leaves().into_iter().try_for_each(|leaf| stacked_spec(leaf, length).check("scan"))?;
    let (programs, captured) = closed(vec![program]);
    let [body] = <[Program; 1]>::try_from(programs).unwrap_or_else(|_| unreachable!("one went in"));
    let operands: Vec<&Tensor> = captured.iter().chain(carry.iter().copied()).chain(elements).collect();
    let mut outputs = match schedule {
        Schedule::All => {
            let (consts, carry) = (captured.len(), carry.len());
            let attrs = ScanForm { consts, carry, length, reverse, body: body.into() }.attrs();
            try_bind(&SCAN, attrs, &operands, line)?.into_vec()
        }
        schedule => {
            let operands: Vec<Tensor> = operands.into_iter().cloned().collect();
            ScheduledLoop {
                name: "scan",
                consts: captured.len(),
                carry: carry.len(),
                length: Some(length),
                reverse,
                rows: output_specs(&body).split_off(carry.len()),
                schedule: schedule.clone(),
                effect: body.has_effect(),
                body: Arc::new(TracedBody { test: None, body: body.into(), line }),
            }
            .bind(&operands, line)?
        }
    };
    let ys = outputs.split_off(carry.len());
    Ok((next.rebuild(outputs), y.rebuild(ys)))
}

/// The spec of `length` such leaves, stacked.
fn stacked_spec(leaf: &Tensor, length: usize) -> Spec {
    Spec::new(Shape::from(leaf.shape()).prepended(length), leaf.dtype())
}

/// The primitive `scan`.
pub static SCAN: Scan = Scan;

/// See the module.
pub struct Scan;

impl Control for Scan {
    fn record(&'static self, attrs: &Attrs, wanted: Mask) -> Option<Recording> {
        let form = ScanForm::of(attrs);
        let (active, reached) = form.spread(|place| wanted.has(place), true);
        if !reached.contains(&true) {
            return None;
        }
        let pulled = form.pulled(&active, &reached);
        let body = &pulled.forward;
        let call = ScanForm { body: body.clone(), ..form }.attrs();
        let record = Record { form: form.clone(), pulled: pulled.clone() };
        let record = ScanForm { body: body.recorded(Arc::new(record)), ..form }.attrs();
        Some(Recording { call, more: None, record, reached: reached.to_vec() })
    }

    fn push(
        &'static self,
        attrs: &Attrs,
        operands: &[&Tensor],
        tangents: &[Option<Tensor>],
        line: Line,
    ) -> Result<(Outputs, Adjoints), Error> {
        let form = ScanForm::of(attrs);
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
        let joint = ScanForm { consts: form.consts + consts, carry: form.carry + carry, body, ..form };
        let outputs = try_bind(&SCAN, joint.attrs(), &all.iter().collect::<Vec<_>>(), line)?;
        let mut outputs = outputs.into_iter();
        let mut take = |count: usize| -> Vec<Tensor> { outputs.by_ref().take(count).collect() };
        let (last, last_tangents) = (take(form.carry), take(carry));
        let (ys, y_tangents) = (take(reached.len() - form.carry), take(usize::MAX));
        let mut derived = last_tangents.into_iter().chain(y_tangents);
        let derived = reached.iter().map(|reached| if *reached { derived.next() } else { None }).collect();
        Ok((last.into_iter().chain(ys).collect(), derived))
    }

    fn flow(&self, attrs: &Attrs) -> Option<Box<dyn Any>> {
        Some(Box::new(Flow::Scan(ScanForm::of(attrs))))
    }

    fn unroll(&'static self, attrs: &Attrs, operands: &[Tensor], line: Line) -> Result<Outputs, Error> {
        ScanForm::of(attrs).run(operands, line)
    }
}

/// The state of a recorded scan: the original call, and its pullback.
struct Record {
    form: ScanForm,
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
        expect_flags("scan", attrs, &["reverse"])?;
        let form = ScanForm::of(attrs);
        let (inputs, outputs) = (input_specs(&form.body), output_specs(&form.body));
        let wrong = |message: String| Err(Error::new(ErrorKind::Program, "scan", message));
        if operands.len() != inputs.len() || form.elements() > inputs.len() || form.carry > outputs.len() {
            let (consts, carry) = (form.consts, form.carry);
            let sizes = format!("{} inputs and {} outputs", inputs.len(), outputs.len());
            return wrong(format!(
                "{} operands, {consts} constants and {carry} carried for a body of {sizes}",
                operands.len()
            ));
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
        ScanForm::of(attrs).run(&operands, location::resolve(Line::caller()))
    }

    fn saves(&self, attrs: &Attrs, _wanted: Mask) -> Saves {
        let body = attrs.program("body");
        let operands = Saves::NOTHING.operands(Mask::first_of(body.inputs().len()));
        match body.record::<Record>() {
            None => operands,
            Some(record) => operands.outputs(record.pulled.outputs().collect()),
        }
    }

    fn control(&'static self) -> Option<&'static dyn Control> {
        Some(self)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let form = ScanForm::of(rule.attrs);
        let run = |attrs: Attrs, operands: &[&Tensor]| bind(self, attrs, operands);
        let operand = |place: usize| rule.operand(place).clone();
        let operands = || -> Vec<Tensor> { (0..form.body.inputs().len()).map(operand).collect() };
        let Some(record) = form.body.record::<Record>() else {
            let (active, reached) = form.spread(|place| rule.wants(place), true);
            if !reached.contains(&true) {
                return Gradients::new();
            }
            let operands = operands();
            let pulled = form.pulled(&active, &reached);
            let call = ScanForm { body: pulled.forward.clone(), ..form.clone() };
            let outputs = bind(self, call.attrs(), &operands.iter().collect::<Vec<_>>());
            return pulled.pull(
                &form,
                &run,
                &|place| operands[place].clone(),
                &|place| outputs[place].clone(),
                cotangents,
            );
        };
        let results = record.pulled.reached.len();
        if cotangents[results..].iter().all(Option::is_none) {
            return record.pulled.pull(&record.form, &run, &operand, &|place| rule.output(place).clone(), cotangents);
        }
        // If the sweep is itself differentiated, the derivative passes through the residuals.
        let call = ScanForm { body: form.body.bare(), ..form.clone() }.attrs();
        let all = operands();
        let (y, pullback) =
            vjp(|x: &Vec<Tensor>| bind(self, call.clone(), &x.iter().collect::<Vec<_>>()).into_vec(), &all);
        let seeds = y.iter().zip(cotangents).map(|(y, seed)| seed.take().unwrap_or_else(|| y.full_like(0.0)));
        let gradients = pullback.call_named(&seeds.collect());
        gradients.into_iter().map(|(_, gradient)| gradient.map_or(Gradient::Zero, Gradient::Dense)).collect()
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let form = ScanForm::of(rule.attrs);
        let operands: Vec<&Tensor> = (0..form.body.inputs().len()).map(|place| rule.operand(place)).collect();
        let attrs = ScanForm { body: form.body.bare(), ..form }.attrs();
        self.push(&attrs, &operands, tangents, location::resolve(Line::caller())).or_raise().1
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let form = ScanForm::of(attrs);
        let (active, reached) = form.spread(|place| batched.has(place), false);
        let operand = |(place, operand): (usize, &Tensor)| match (active[place], batched.has(place)) {
            (true, false) => through::spread(operand, size),
            (true, true) if place >= form.elements() => operand.movedim(&[1], &[0]),
            _ => operand.clone(),
        };
        let operands: Vec<Tensor> = operands.iter().enumerate().map(operand).collect();
        let body = form.batch_body(size, &active, &reached);
        let outputs = bind(self, ScanForm { body, ..form.clone() }.attrs(), &operands.iter().collect::<Vec<_>>());
        let placed = |(place, output): (usize, Tensor)| match reached[place] {
            false => through::spread(&output, size),
            true if place < form.carry => output,
            true => output.movedim(&[1], &[0]),
        };
        Ok(outputs.into_iter().enumerate().map(placed).collect())
    }

    fn cost(&self, attrs: &Attrs, _operands: &[SpecRef<'_>], _outputs: &[Spec]) -> Cost {
        let (step, length) = (attrs.program("body").cost(), attrs.axis("length") as f64);
        Cost { flops: step.flops * length, bytes: step.bytes * length }
    }

    fn rule_text(&self) -> &'static str {
        "a scan in the other direction"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        cases()
    }
}

/// h = tanh(w h + x); a step outputs 2 h.
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
        let form = ScanForm { consts: 1, carry: 1, length, reverse, body: recurrence() };
        let operands = [Sample::wave([], 0.2), Sample::wave([2], 0.5), Sample::wave([length, 2], 0.9)];
        Case::new(label, form.attrs(), operands, move |samples| {
            run(samples, if reverse { (0..length).rev().collect() } else { (0..length).collect() })
        })
    };
    vec![case("recurrence", 3, false), case("backward", 4, true), case("one step", 1, false), case("no step", 0, false)]
}

//! while - a loop while a condition holds.   c = body(c) while test(c),   dc by the steps that were taken, backward.   Operands are
//! the constants that the programs read at every step, and the carry, which is also the output. The number of steps depends on the values.
//! A record keeps the operands and the count. A batch runs until all elements are done; finished elements stay unchanged. Written
//! `while_loop`, and `fori` with a count that is a tensor.

use super::scan::over;
use super::while_gradient::{WHILE_GRADIENT, attrs_of};
use crate::Tree;
use crate::bind::try_bind;
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::primitive::Device;
use crate::primitive::{Control, Recording};
use crate::program::ProgramAttrs;
use crate::program::control::WhileForm;
use crate::program::control::repeat::spread;
use crate::program::control::{Flow, expect_carry, input_specs, output_specs, places, through};
use crate::program::{Program, ProgramAttr, closed, stage};
use crate::scheduled::{ScheduledLoop, TracedBody};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;
use wengert_core::memory::Schedule;
use wengert_ops::prelude::*;

/// Repeats `body` as long as `pred` of the carry is true; both are traced once. Captured tensors receive gradients. The carry must keep its
/// structure, shapes and dtypes.
///
/// Reverse mode recomputes the steps from a few checkpointed states, so memory does not grow with the number of steps.
///
/// ```
/// use wengert::prelude::*;
/// // The square root by Newton's method, and its derivative through the iteration.
/// let root = |a: &Tensor| {
///     let start = (a.clone(), a + 1.0);
///     let newton = |(x, _): &(Tensor, Tensor)| ((x + a / x) * 0.5, x.clone());
///     while_loop(|(x, last): &(Tensor, Tensor)| (x - last).abs().gt(1e-12), newton, &start).0
/// };
/// let slope = compile(grad(root)).call(&Tensor::from(2.0)).item();
/// assert!((slope - 0.5 / 2.0f64.sqrt()).abs() < 1e-12);
/// ```
#[track_caller]
pub fn while_loop<C: Tree>(pred: impl Fn(&C) -> Tensor, body: impl Fn(&C) -> C, init: &C) -> C {
    let line = location::resolve(Line::caller());
    let _scope = location::scope(line);
    repeat(&pred, &body, init, None, line).map_err(|error| error.at(line)).or_raise()
}

/// A [`while_loop`] whose gradient keeps the states that `schedule` says while the loop runs forward. How often it will run is not known, so
/// `Binomial` keeps the same states as `Online`, and `All` keeps the state before every step.
///
/// ```
/// use wengert::{Schedule, prelude::*};
/// let halved = |x: &Tensor, schedule: &Schedule| while_loop_with(|x: &Tensor| x.gt(1.0), |x: &Tensor| x.sqrt(), x, schedule);
/// let few = grad(|x: &Tensor| halved(x, &Schedule::Online { snapshots: 2 }).sum());
/// let all = grad(|x: &Tensor| halved(x, &Schedule::All).sum());
/// assert!(few(&Tensor::from(1e9)).all_close(&all(&Tensor::from(1e9)), 1e-12));
/// ```
#[track_caller]
pub fn while_loop_with<C: Tree>(
    pred: impl Fn(&C) -> Tensor,
    body: impl Fn(&C) -> C,
    init: &C,
    schedule: &Schedule,
) -> C {
    let line = location::resolve(Line::caller());
    let _scope = location::scope(line);
    repeat(&pred, &body, init, Some(schedule), line).map_err(|error| error.at(line)).or_raise()
}

/// Calls `f` for each `i` from 0 up to a count, or over a range. A fixed count is a [`scan`](crate::scan) without outputs; a count that is
/// a tensor, i64 of rank 0, is a [`while_loop`].
///
/// ```
/// use wengert::prelude::*;
/// let power = |x: &Tensor| fori(1..4, |i: &Tensor, c: &Tensor| c * x * i.cast(DType::F64), &Tensor::from(1.0));
/// assert_eq!(grad(power)(&Tensor::from(2.0)).item(), 72.0);
/// let same = |x: &Tensor| fori(&Tensor::from(3i64), |_: &Tensor, c: &Tensor| c * x, &Tensor::from(6.0));
/// assert_eq!(grad(same)(&Tensor::from(2.0)).item(), 72.0);
/// ```
#[track_caller]
pub fn fori<C: Tree>(count: impl Count, f: impl Fn(&Tensor, &C) -> C, init: &C) -> C {
    let line = location::resolve(Line::caller());
    let _scope = location::scope(line);
    counted(count.steps(), &f, init, None, line).map_err(|error| error.at(line)).or_raise()
}

/// A [`fori`] whose gradient keeps only the states that `schedule` says, and computes the others again.
///
/// ```
/// use wengert::{Schedule, prelude::*};
/// let step = |i: &Tensor, x: &Tensor| (x + i.cast(DType::F64)).sin();
/// let last = |x: &Tensor| fori_with(60, step, x, &Schedule::Binomial { snapshots: 4 });
/// let plain = grad(|x: &Tensor| fori(60, step, x))(&Tensor::from(0.5));
/// assert!(grad(last)(&Tensor::from(0.5)).all_close(&plain, 1e-12));
/// ```
#[track_caller]
pub fn fori_with<C: Tree>(count: impl Count, f: impl Fn(&Tensor, &C) -> C, init: &C, schedule: &Schedule) -> C {
    let line = location::resolve(Line::caller());
    let _scope = location::scope(line);
    counted(count.steps(), &f, init, Some(schedule), line).map_err(|error| error.at(line)).or_raise()
}

fn counted<C: Tree>(
    count: Steps,
    f: &dyn Fn(&Tensor, &C) -> C,
    init: &C,
    schedule: Option<&Schedule>,
    line: Line,
) -> Result<C, Error> {
    let end = match count {
        Steps::Fixed(range) => {
            let start = (Tensor::from(range.start), init.map_leaves(Tensor::clone));
            let length = range.end.saturating_sub(range.start).max(0) as usize;
            let step = |(i, c): &(Tensor, C), (): &()| ((i + 1i64, f(i, c)), ());
            return Ok(over(&step, &start, &(), length, false, schedule.unwrap_or(&Schedule::All), line)?.0.1);
        }
        Steps::Tensor(end) => end,
    };
    if end.spec() != Spec::new([], DType::I64) {
        let message = format!("counts up to one integer, i64[], got {}", end.spec());
        return Err(Error::new(ErrorKind::Argument, "fori", message));
    }
    let start = (Tensor::from(0i64), init.map_leaves(Tensor::clone));
    let step = |(i, c): &(Tensor, C)| (i + 1i64, f(i, c));
    Ok(repeat(&|(i, _): &(Tensor, C)| i.lt(&end), &step, &start, schedule, line)?.1)
}

/// The iterations of `fori`: a number, a range, or a tensor.
pub trait Count {
    /// Converts to steps.
    #[doc(hidden)]
    fn steps(self) -> Steps;
}

/// The steps of `fori`.
#[doc(hidden)]
pub enum Steps {
    Fixed(Range<i64>),
    Tensor(Tensor),
}

impl Count for Range<i64> {
    fn steps(self) -> Steps {
        Steps::Fixed(self)
    }
}

impl Count for usize {
    fn steps(self) -> Steps {
        Steps::Fixed(0..self as i64)
    }
}

impl Count for &Tensor {
    fn steps(self) -> Steps {
        Steps::Tensor(self.clone())
    }
}

/// Traces the test and the body, and runs the loop.
fn repeat<C: Tree>(
    pred: &dyn Fn(&C) -> Tensor,
    body: &dyn Fn(&C) -> C,
    init: &C,
    schedule: Option<&Schedule>,
    line: Line,
) -> Result<C, Error> {
    schedule.map_or(Ok(()), |schedule| schedule.check("while_loop"))?;
    let leaves = init.leaves();
    let specs: Vec<Spec> = leaves.iter().map(|leaf| leaf.spec()).collect();
    let (test, ()) = stage("while_loop", line, &specs, |symbols| (vec![pred(&init.rebuild(symbols))], ()));
    let tested = test.spec(test.outputs()[0]).clone();
    if tested != Spec::new([], DType::Bool) {
        let message = format!("the condition is {tested}, not one boolean");
        return Err(Error::new(ErrorKind::Argument, "while_loop", message).help("reduce it with .any() or .all()"));
    }
    let (body, next) = stage("while_loop", line, &specs, |symbols| {
        let next = body(&init.rebuild(symbols));
        match expect_carry("while_loop", &next, init) {
            Ok(()) => (next.leaves().into_iter().cloned().collect(), Ok(next)),
            Err(error) => (Vec::new(), Err(error)),
        }
    });
    let next = next?;
    let (programs, captured) = closed(vec![test, body]);
    let [test, body] = <[Program; 2]>::try_from(programs).unwrap_or_else(|_| unreachable!("two went in"));
    if let Some(schedule) = schedule {
        let carry = leaves.len();
        let scheduled = ScheduledLoop {
            name: "while_loop",
            consts: captured.len(),
            carry,
            length: None,
            reverse: false,
            rows: Vec::new(),
            schedule: schedule.clone(),
            effect: test.has_effect() || body.has_effect(),
            body: Arc::new(TracedBody { test: Some(test.into()), body: body.into(), line }),
        };
        let operands: Vec<Tensor> = captured.iter().chain(leaves).cloned().collect();
        return Ok(next.rebuild(scheduled.bind(&operands, line)?));
    }
    let attrs = WhileForm { consts: captured.len(), test: test.into(), body: body.into() }.attrs();
    let operands: Vec<&Tensor> = captured.iter().chain(leaves).collect();
    Ok(next.rebuild(try_bind(&WHILE, attrs, &operands, line)?))
}

/// The primitive `while`.
pub static WHILE: While = While;

/// See the module.
pub struct While;

/// A record: the body whose steps it counts.
struct Counted {
    body: ProgramAttr,
}

impl Control for While {
    fn record(&'static self, attrs: &Attrs, wanted: Mask) -> Option<Recording> {
        let form = WhileForm::of(attrs);
        let (_, reached) = spread(&form.body, form.consts, |place| wanted.has(place), true);
        if !reached.contains(&true) {
            return None;
        }
        let counted = form.counted();
        let body = counted.body.recorded(Arc::new(Counted { body: form.body.bare() }));
        let record = WhileForm { body, ..counted.clone() }.attrs();
        let count = Some(Tensor::from(0i64));
        Some(Recording { call: counted.attrs(), more: count, record, reached: reached.to_vec() })
    }

    fn push(
        &'static self,
        attrs: &Attrs,
        operands: &[&Tensor],
        tangents: &[Option<Tensor>],
        line: Line,
    ) -> Result<(Outputs, Adjoints), Error> {
        let form = WhileForm::of(attrs);
        let (active, reached) = spread(&form.body, form.consts, |place| tangents[place].is_some(), true);
        let mut all: Vec<Tensor> = Vec::new();
        for group in [0..form.consts, form.consts..operands.len()] {
            all.extend(operands[group.clone()].iter().map(|&operand| operand.clone()));
            for place in group.filter(|&place| active[place]) {
                all.push(tangents[place].clone().unwrap_or_else(|| operands[place].full_like(0.0)));
            }
        }
        let joint = form.tangent(&active, &reached);
        let mut outputs = try_bind(self, joint.attrs(), &all.iter().collect::<Vec<_>>(), line)?.into_vec();
        let mut derived = outputs.split_off(reached.len()).into_iter();
        let derived = reached.iter().map(|reached| if *reached { derived.next() } else { None }).collect();
        Ok((outputs.into(), derived))
    }

    fn flow(&self, attrs: &Attrs) -> Option<Box<dyn Any>> {
        Some(Box::new(Flow::While(WhileForm::of(attrs))))
    }

    fn unroll(&'static self, attrs: &Attrs, operands: &[Tensor], line: Line) -> Result<Outputs, Error> {
        WhileForm::of(attrs).run(operands, line)
    }
}

impl Primitive for While {
    fn name(&self) -> &'static str {
        "while"
    }

    fn operands(&self) -> usize {
        0
    }

    fn accepts(&self, _count: usize) -> bool {
        true
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["consts", "test", "body"]
    }

    fn outputs(&self, attrs: &Attrs) -> usize {
        attrs.program("body").outputs().len()
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let form = WhileForm::of(attrs);
        let wrong = |message: String| Err(Error::new(ErrorKind::Program, "while", message));
        let (inputs, outputs) = (input_specs(&form.body), output_specs(&form.body));
        if operands.len() != inputs.len() || form.consts > inputs.len() || outputs != inputs[form.consts..] {
            let given = format!("{} operands, {} of them constants", operands.len(), form.consts);
            return wrong(format!(
                "{given}: the body takes as many and returns what is carried, in its shapes and dtypes"
            ));
        }
        for (place, (operand, input)) in operands.iter().zip(&inputs).enumerate() {
            if operand.to_spec() != *input {
                return wrong(format!("operand {place} is {}, the body takes {input}", operand.to_spec()));
            }
        }
        if input_specs(&form.test) != inputs || output_specs(&form.test) != [Spec::new([], DType::Bool)] {
            return wrong("the test takes what the body takes and returns one boolean".into());
        }
        Ok(outputs.into())
    }

    fn eval(&self, _device: Device, attrs: &Attrs, operands: &[&Tensor], _outputs: &[Spec]) -> Result<Outputs, Error> {
        let operands: Vec<Tensor> = operands.iter().map(|operand| operand.plain()).collect();
        WhileForm::of(attrs).run(&operands, location::resolve(Line::caller()))
    }

    fn saves(&self, attrs: &Attrs, _wanted: Mask) -> Saves {
        let body = attrs.program("body");
        match body.record::<Counted>() {
            None => Saves::NOTHING.operands(Mask::first_of(body.inputs().len())),
            Some(counted) => Saves::NOTHING
                .operands(Mask::first_of(counted.body.inputs().len()))
                .outputs(Mask::from_iter([body.outputs().len() - 1])),
        }
    }

    fn control(&'static self) -> Option<&'static dyn Control> {
        Some(self)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let form = WhileForm::of(rule.attrs);
        let record = form.body.record::<Counted>();
        let body = record.as_ref().map_or(&form.body, |record| &record.body);
        let count = body.inputs().len();
        let operands: Vec<Tensor> = (0..count).map(|place| rule.operand(place).clone()).collect();
        let (active, reached) = spread(body, form.consts, |place| rule.wants(place), true);
        if !reached.contains(&true) {
            return Gradients::new();
        }
        let steps = match record {
            Some(_) => rule.output(form.carry() - 1).clone(),
            None => {
                let counted = form.counted();
                let zero = Tensor::from(0i64);
                let all: Vec<&Tensor> = operands.iter().chain([&zero]).collect();
                bind(self, counted.attrs(), &all).pop().expect("the count is last")
            }
        };
        let mut all = vec![steps];
        all.extend(operands.iter().cloned());
        for place in places(&reached) {
            let zero = || operands[form.consts + place].full_like(0.0);
            all.push(cotangents[place].take().unwrap_or_else(zero));
        }
        let attrs = attrs_of(form.consts, &active, body);
        let found = bind(&WHILE_GRADIENT, attrs, &all.iter().collect::<Vec<_>>());
        let mut gradients: Gradients = (0..count).map(|_| Gradient::Zero).collect();
        for (place, found) in places(&active).into_iter().zip(found) {
            gradients[place] = Gradient::Dense(found);
        }
        gradients
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let form = WhileForm::of(rule.attrs);
        let Some(record) = form.body.record::<Counted>() else {
            let operands: Vec<&Tensor> = (0..form.body.inputs().len()).map(|place| rule.operand(place)).collect();
            return self.push(rule.attrs, &operands, tangents, location::resolve(Line::caller())).or_raise().1;
        };
        let count = record.body.inputs().len();
        let zero = Tensor::from(0i64);
        let operands: Vec<&Tensor> = (0..count).map(|place| rule.operand(place)).chain([&zero]).collect();
        let tangents: Vec<Option<Tensor>> = tangents[..count].iter().cloned().chain([None]).collect();
        let attrs = WhileForm { body: form.body.bare(), ..form }.attrs();
        self.push(&attrs, &operands, &tangents, location::resolve(Line::caller())).or_raise().1
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let form = WhileForm::of(attrs);
        let (mut active, _) = spread(&form.body, form.consts, |place| batched.has(place), false);
        let freezes = form.test.reached(&active, false)[0];
        if freezes {
            // Elements stop at different times, so every carry may differ between elements.
            active[form.consts..].fill(true);
        }
        let operand = |(place, operand): (usize, &Tensor)| match active[place] && !batched.has(place) {
            true => through::spread(operand, size),
            false => operand.clone(),
        };
        let operands: Vec<Tensor> = operands.iter().enumerate().map(operand).collect();
        let inner = form.batched(size, &active, freezes);
        let outputs = bind(self, inner.attrs(), &operands.iter().collect::<Vec<_>>());
        let placed = |(place, output): (usize, Tensor)| match active[form.consts + place] {
            true => output,
            false => through::spread(&output, size),
        };
        Ok(outputs.into_iter().enumerate().map(placed).collect())
    }

    /// The cost of one step: the number of steps is not known.
    fn cost(&self, attrs: &Attrs, _operands: &[SpecRef<'_>], _outputs: &[Spec]) -> Cost {
        let (test, body) = (attrs.program("test").cost(), attrs.program("body").cost());
        Cost { flops: test.flops + body.flops, bytes: test.bytes + body.bytes }
    }

    fn rule_text(&self) -> &'static str {
        "the steps that were taken, backward"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        cases()
    }
}

/// Multiply by a and add the sine of x until the result is large, at most six times, and count.
fn cases() -> Vec<Case> {
    let inputs = "a: f64[], x: f64[2], c: i64[]";
    let test = format!(
        "program({inputs}) {{
            const limit: f64[] = 20.0
            const most: i64[] = 6
            z: f64[] = sum[axes=[0]](x)
            r: bool[] = compare[relation=lt](z, limit)
            s: bool[] = compare[relation=lt](c, most)
            t: bool[] = where(r, s, r)
            return t
        }}"
    );
    let body = format!(
        "program({inputs}) {{
            const one: i64[] = 1
            b: f64[2] = broadcast[shape=[2]](a)
            m: f64[2] = mul(b, x)
            s: f64[2] = sin(x)
            y: f64[2] = add(m, s)
            d: i64[] = add(c, one)
            return y, d
        }}"
    );
    let parsed = |text: &str| ProgramAttr::from(Program::parse(text).or_raise());
    let attrs = WhileForm { consts: 1, test: parsed(&test), body: parsed(&body) }.attrs();
    let case = |label: &str, start: [f64; 2]| {
        let operands = [Sample::new([], [2.5]), Sample::new([2], start), Sample::integers([], [0])];
        Case::new(label, attrs.clone(), operands, |samples| {
            let (a, mut x, mut count) = (samples[0].data[0], samples[1].data.clone(), samples[2].data[0]);
            while x.iter().sum::<f64>() < 20.0 && count < 6.0 {
                x.iter_mut().for_each(|x| *x = a * *x + x.sin());
                count += 1.0;
            }
            vec![Sample::new([2], x), Sample::integers([], [count as i64])]
        })
    };
    vec![case("a few steps", [0.6, 1.1]), case("one step", [4.0, 4.5]), case("no step", [12.0, 15.0])]
}

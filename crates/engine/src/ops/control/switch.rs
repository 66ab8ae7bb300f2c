//! switch - one of several branches.   y = branch[k](x),   dx by the same branch.   The index, a truth value or a whole number that is brought into range, decides;
//! only that branch runs. Batched, an index of its own for every element runs all branches and chooses. Written `cond` and `switch`.

use crate::bind::try_bind;
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::ops::prelude::*;
use crate::primitive::Device;
use crate::program::control::branches::{Form, Pulled, pulled, with_branches};
use crate::program::control::{
    Control, Flow, Recording, Runner, input_specs, other_spec, output_specs, places, stacked, through,
};
use crate::program::{Program, ProgramAttr, closed, stage, staged};
use crate::tree::difference;
use crate::{Tree, vjp};
use std::panic::Location;

/// `then(x)` where `pred` holds, `otherwise(x)` where it does not: a branch that stays in a program. Both are traced, one runs, and
/// what they capture receives gradients. Both return the same structure, shapes and dtypes.
///
/// ```
/// use wengert::prelude::*;
/// let f = |x: &Tensor| cond(&x.gt(0.0), |x: &Tensor| x * x, |x: &Tensor| -x, x);
/// let slope = compile(grad(f));
/// assert_eq!(slope.call(&Tensor::from(3.0)).item(), 6.0);
/// assert_eq!(slope.call(&Tensor::from(-3.0)).item(), -1.0);
/// assert_eq!(slope.signatures(), 1);
/// ```
#[track_caller]
pub fn cond<X: Tree, Y: Tree>(pred: &Tensor, then: impl Fn(&X) -> Y, otherwise: impl Fn(&X) -> Y, x: &X) -> Y {
    let line = location::resolve(Location::caller());
    let _scope = location::scope(line);
    let index = expect_index("cond", pred, DType::Bool);
    index.and_then(|()| choose("cond", pred, &[&otherwise, &then], x, line)).map_err(|e| e.at(line)).or_raise()
}

/// The branch number `index` of `x`; an index outside is brought into range.
///
/// ```
/// use wengert::prelude::*;
/// let branches: [&dyn Fn(&Tensor) -> Tensor; 3] = [&|x| x.sin(), &|x| x * 2.0, &|x| x.exp()];
/// let f = |k: i64| switch(&Tensor::from(k), &branches, &Tensor::from(0.0)).item();
/// assert_eq!((f(0), f(1), f(2), f(7)), (0.0, 0.0, 1.0, 1.0));
/// ```
#[track_caller]
pub fn switch<X: Tree, Y: Tree>(index: &Tensor, branches: &[&dyn Fn(&X) -> Y], x: &X) -> Y {
    let line = location::resolve(Location::caller());
    let _scope = location::scope(line);
    let checked = expect_index("switch", index, DType::I64);
    checked.and_then(|()| choose("switch", index, branches, x, line)).map_err(|error| error.at(line)).or_raise()
}

fn expect_index(name: &str, index: &Tensor, dtype: DType) -> Result<(), Error> {
    if index.dtype() != dtype {
        let message = format!("chooses by {dtype}, got {}", index.spec());
        let help = if dtype == DType::Bool { "compare, for example with .gt(0.0)" } else { "use .cast(DType::I64)" };
        return Err(Error::new(ErrorKind::DType(vec![index.dtype()]), name, message).help(help));
    }
    if index.rank() > 0 {
        let message = format!("chooses by one number, got {}", index.spec());
        return Err(Error::new(ErrorKind::Shape(vec![Shape::from(index.shape())]), name, message)
            .help("`where_` chooses element by element; under vmap the index has rank 0"));
    }
    Ok(())
}

/// Traces the branches and runs one.
fn choose<X: Tree, Y: Tree>(
    name: &'static str,
    index: &Tensor,
    branches: &[&dyn Fn(&X) -> Y],
    x: &X,
    line: Line,
) -> Result<Y, Error> {
    let specs: Vec<Spec> = x.leaves().into_iter().map(Tensor::spec).collect();
    let (mut programs, mut first) = (Vec::new(), None);
    for (number, branch) in branches.iter().enumerate() {
        let (program, y) = stage(name, line, &specs, |symbols| {
            let y = branch(&x.rebuild(symbols));
            (y.leaves().into_iter().cloned().collect(), y)
        });
        match &first {
            None => first = Some(y),
            Some(first) => expect_alike(name, number, first, &y)?,
        }
        programs.push(program);
    }
    let none = || Error::new(ErrorKind::Argument, name, "there is no branch to choose");
    let first = first.ok_or_else(none)?;
    let (programs, captured) = closed(programs);
    let attrs = Attrs::new().with_programs("branch", programs.into_iter().map(ProgramAttr::from));
    let operands: Vec<&Tensor> = std::iter::once(index).chain(&captured).chain(x.leaves()).collect();
    Ok(first.rebuild(try_bind(&SWITCH, attrs, &operands, line)?))
}

fn expect_alike<Y: Tree>(name: &str, number: usize, first: &Y, y: &Y) -> Result<(), Error> {
    let which = |number: usize| match (name, number) {
        ("cond", 0) => "`otherwise`".to_string(),
        ("cond", _) => "`then`".to_string(),
        _ => format!("branch {number}"),
    };
    let (a, b) = (which(0), which(number));
    if let Some(text) = difference(first, y) {
        let message = format!("{a} and {b} return different structures: {text}");
        return Err(Error::new(ErrorKind::Tree, name, message));
    }
    let Some((at, one, other)) = other_spec(first, y) else { return Ok(()) };
    let message = format!("{a} returns {one}{at}, {b} returns {other}");
    Err(Error::new(ErrorKind::Tree, name, message)
        .help("all branches return the same shapes and dtypes; broadcast or convert one of them"))
}

/// The primitive `switch`.
pub static SWITCH: Switch = Switch;

/// See the module.
pub struct Switch;

/// The number of the branch, if the index can be read.
fn number_of(index: &Tensor, branches: usize) -> Result<usize, Error> {
    let number = Tensor::from(index.numbers("switch")?.clone()).to_f64_vec()[0];
    Ok((number.max(0.0) as usize).min(branches - 1))
}

/// For each branch after the first whether it is chosen.
fn chosen(index: &Tensor, branches: usize) -> Vec<Tensor> {
    if index.dtype() == DType::Bool {
        return (1..branches).map(|_| index.clone()).collect();
    }
    let is = |number: usize| match number == branches - 1 {
        true => index.ge(number as i64),
        false => index.equal(number as i64),
    };
    (1..branches).map(is).collect()
}

/// The outputs of one branch where `index` chooses it; everything has the axes of `index` in front.
fn select(index: &Tensor, results: Vec<Vec<Tensor>>) -> Outputs {
    let masks = chosen(index, results.len());
    let mut results = results.into_iter();
    let mut y = results.next().expect("a switch has a branch");
    for (mask, result) in masks.iter().zip(results) {
        for (y, result) in y.iter_mut().zip(result) {
            let ones = mask.shape().iter().copied().chain(std::iter::repeat_n(1, result.rank() - mask.rank()));
            let mask = mask.reshape(ones.collect::<Shape>()).broadcast_to(result.shape());
            *y = mask.where_(&result, &*y);
        }
    }
    y.into()
}

impl Control for Switch {
    fn record(&'static self, attrs: &Attrs, wanted: Mask) -> Option<Recording> {
        let form = Form::of(attrs);
        let (active, reached) = form.spread(|place| wanted.has(place));
        if !reached.contains(&true) {
            return None;
        }
        let pulled = pulled(&form, &active, &reached);
        let mut branches = pulled.forward.clone();
        let call = with_branches(branches.clone());
        branches[0] = branches[0].recorded(pulled);
        Some(Recording { call, more: None, record: with_branches(branches), results: reached.len() })
    }

    fn push(
        &'static self,
        attrs: &Attrs,
        operands: &[&Tensor],
        tangents: &[Option<Tensor>],
        line: Line,
    ) -> Result<(Outputs, Adjoints), Error> {
        let form = Form::of(attrs);
        let (active, reached) = form.spread(|place| tangents[place].is_some());
        let derive = |branch: &Program| {
            let specs = input_specs(branch);
            let more = places(&active).into_iter().map(|place| specs[place].clone());
            let all: Vec<Spec> = specs.iter().cloned().chain(more).collect();
            staged("switch", &all, |mut v| {
                let tangents = v.split_off(specs.len());
                let (y, dy) = through::push(branch, &v, &active, &tangents, &reached);
                [y, dy].concat()
            })
        };
        let branches = form.derived("switch tangent", &active, &places(&reached), derive);
        let mut all = operands.to_vec();
        all.extend(tangents[1..].iter().zip(&active).filter(|(_, active)| **active).filter_map(|(t, _)| t.as_ref()));
        let mut outputs = try_bind(self, with_branches(branches), &all, line)?.into_vec();
        let mut derived = outputs.split_off(reached.len()).into_iter();
        let derived = reached.iter().map(|reached| if *reached { derived.next() } else { None }).collect();
        Ok((outputs.into(), derived))
    }

    fn flow(&self, attrs: &Attrs) -> Option<Flow> {
        Some(Flow::Switch(attrs.programs("branch").to_vec()))
    }

    fn unroll(&'static self, attrs: &Attrs, operands: &[Tensor], line: Line) -> Result<Outputs, Error> {
        let (branches, index) = (attrs.programs("branch"), &operands[0]);
        if let Ok(number) = number_of(index, branches.len()) {
            return Ok(branches[number].evaluate_at(&operands[1..], line)?.into());
        }
        let results: Result<Vec<_>, Error> =
            branches.iter().map(|branch| branch.evaluate_at(&operands[1..], line)).collect();
        Ok(select(index, results?))
    }
}

impl Primitive for Switch {
    fn name(&self) -> &'static str {
        "switch"
    }

    fn operands(&self) -> usize {
        1
    }

    fn accepts(&self, count: usize) -> bool {
        count >= 1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["branch"]
    }

    fn outputs(&self, attrs: &Attrs) -> usize {
        attrs.programs("branch")[0].outputs().len()
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let wrong = |message: String| Err(Error::new(ErrorKind::Program, "switch", message));
        let (branches, index) = (attrs.programs("branch"), operands[0].to_spec());
        if !(matches!(index.dtype, DType::I64) || index.dtype == DType::Bool && branches.len() == 2)
            || index.shape.rank() > 0
        {
            return wrong(format!("chooses one of {} branches by {index}", branches.len()));
        }
        let outputs = output_specs(&branches[0]);
        for (number, branch) in branches.iter().enumerate() {
            let inputs = input_specs(branch);
            if inputs.len() + 1 != operands.len() {
                return wrong(format!("branch {number} takes {} inputs, got {}", inputs.len(), operands.len() - 1));
            }
            for (place, (input, operand)) in inputs.iter().zip(&operands[1..]).enumerate() {
                if *input != operand.to_spec() {
                    return wrong(format!(
                        "operand {} is {}, branch {number} takes {input}",
                        place + 1,
                        operand.to_spec()
                    ));
                }
            }
            if output_specs(branch) != outputs {
                return wrong(format!("branch {number} returns other shapes or dtypes than branch 0"));
            }
        }
        Ok(outputs.into())
    }

    fn eval(&self, _device: Device, attrs: &Attrs, operands: &[&Tensor], _outputs: &[Spec]) -> Result<Outputs, Error> {
        let branches = attrs.programs("branch");
        let number = number_of(operands[0], branches.len())?;
        let operands: Vec<Tensor> = operands[1..].iter().map(|operand| operand.plain()).collect();
        let line = location::resolve(Location::caller());
        Ok(Runner::new(&branches[number], &operands).run(&operands, line)?.into())
    }

    fn saves(&self, attrs: &Attrs, _wanted: Mask) -> Saves {
        let branch = &attrs.programs("branch")[0];
        let operands = Saves::NOTHING.operands(Mask::first_of(branch.inputs().len() + 1));
        let results = branch.record::<Pulled>().map_or(branch.outputs().len(), |pulled| pulled.reached.len());
        operands.outputs((results..branch.outputs().len()).collect())
    }

    fn control(&'static self) -> Option<&'static dyn Control> {
        Some(self)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let form = Form::of(rule.attrs);
        let run = |attrs: Attrs, operands: &[&Tensor]| bind(self, attrs, operands);
        let operand = |place: usize| rule.operand(place).clone();
        let operands = || -> Vec<Tensor> { (0..=form.inputs()).map(operand).collect() };
        let Some(pulled) = form.branches[0].record::<Pulled>() else {
            let (active, reached) = form.spread(|place| rule.wants(place));
            if !reached.contains(&true) {
                return Gradients::new();
            }
            let (all, pulled) = (operands(), pulled(&form, &active, &reached));
            let call = with_branches(pulled.forward.iter().cloned());
            let outputs = bind(self, call, &all.iter().collect::<Vec<_>>());
            return pulled.pull(
                &run,
                &all[0],
                &|place| all[place].clone(),
                &|place| outputs[place].clone(),
                cotangents,
            );
        };
        if cotangents[pulled.reached.len()..].iter().all(Option::is_none) {
            return pulled.pull(&run, rule.operand(0), &operand, &|place| rule.output(place).clone(), cotangents);
        }
        // A sweep that is itself differentiated comes back through what it was left.
        let call = with_branches(form.branches.iter().map(ProgramAttr::bare));
        let (y, pullback) =
            vjp(|x: &Vec<Tensor>| bind(self, call.clone(), &x.iter().collect::<Vec<_>>()).into_vec(), &operands());
        let seeds = y.iter().zip(cotangents).map(|(y, seed)| seed.take().unwrap_or_else(|| y.full_like(0.0)));
        let gradients = pullback.call_named(&seeds.collect());
        gradients.into_iter().map(|(_, gradient)| gradient.map_or(Gradient::Zero, Gradient::Dense)).collect()
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let form = Form::of(rule.attrs);
        let operands: Vec<&Tensor> = (0..=form.inputs()).map(|place| rule.operand(place)).collect();
        let attrs = with_branches(form.branches.iter().map(ProgramAttr::bare));
        self.push(&attrs, &operands, tangents, location::resolve(Location::caller())).or_raise().1
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let form = Form::of(attrs);
        let flags: Vec<bool> = (0..form.inputs()).map(|place| batched.has(place + 1)).collect();
        let every = vec![true; self.outputs(attrs)];
        if batched.has(0) {
            let results = form.branches.iter().map(|branch| through::map(branch, &operands[1..], size, &flags, &every));
            return Ok(select(&operands[0], results.collect()));
        }
        let derive = |branch: &Program| {
            let specs = input_specs(branch).into_iter().zip(&flags);
            let specs: Vec<Spec> =
                specs.map(|(spec, batched)| if *batched { stacked(&spec, size) } else { spec }).collect();
            staged("switch", &specs, |v| through::map(branch, &v, size, &flags, &every))
        };
        let branches = form.derived("switch batch", &flags, &[size], derive);
        Ok(bind(self, with_branches(branches), &operands.iter().collect::<Vec<_>>()))
    }

    /// That of the costliest branch.
    fn cost(&self, attrs: &Attrs, _operands: &[SpecRef<'_>], _outputs: &[Spec]) -> Cost {
        let costs = attrs.programs("branch").iter().map(|branch| branch.cost());
        costs.fold(Cost::default(), |most, cost| if cost.flops > most.flops { cost } else { most })
    }

    fn rule_text(&self) -> &'static str {
        "by the branch that ran"
    }

    fn cases(&self) -> Vec<Case> {
        cases()
    }
}

fn cases() -> Vec<Case> {
    let branch = |line: &str| {
        let text =
            format!("program(a: f64[], x: f64[3]) {{\n b: f64[3] = broadcast[shape=[3]](a)\n {line}\n return y\n}}");
        ProgramAttr::from(Program::parse(&text).or_raise())
    };
    let lines = ["y: f64[3] = mul(b, x)", "y: f64[3] = sin(x)", "c: f64[3] = exp(x)\n y: f64[3] = add(b, c)"];
    let reference = |which: usize, samples: &[Sample]| {
        let (a, x) = (samples[1].data[0], &samples[2]);
        let f = |x: &f64| [a * x, x.sin(), a + x.exp()][which];
        vec![Sample::new([3], x.data.iter().map(f).collect::<Vec<_>>())]
    };
    let case = |label: &str, index: Sample, count: usize, which: usize| {
        let operands = [index, Sample::wave([], 0.3), Sample::wave([3], 0.8)];
        let attrs = with_branches(lines[..count].iter().map(|line| branch(line)));
        Case::new(label, attrs, operands, move |samples| reference(which, samples))
    };
    let number = |number: i64| Sample::integers([], [number]);
    vec![
        case("first", number(0), 3, 0),
        case("second", number(1), 3, 1),
        case("last", number(2), 3, 2),
        case("above", number(9), 3, 2),
        case("below", number(-5), 3, 0),
        case("true", Sample::booleans([], [true]), 2, 1),
        case("false", Sample::booleans([], [false]), 2, 0),
    ]
}

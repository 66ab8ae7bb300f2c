//! switch - one of several branches.   y = branch[k](x),   dx by the same branch.   The index is a boolean, or an integer that is clamped
//! to the valid range; only the chosen branch runs. If a batch has an index for every element, all branches that some element chooses run,
//! and their results are selected by element. Written `cond` and `switch`.

use crate::Tree;
use crate::bind::try_bind;
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::primitive::Device;
use crate::primitive::{Control, Recording};
use crate::program::ProgramAttrs;
use crate::program::control::branches::Form;
use crate::program::control::masked::{self, chosen_rows};
use crate::program::control::{BodyRunner, Flow, input_specs, other_spec, output_specs, stacked, through};
use crate::program::{Program, ProgramAttr, Wish, closed, stage, staged};
use crate::tree::difference;
use std::any::Any;
use wengert_ops::prelude::*;

/// Computes `then(x)` if `pred` is true, else `otherwise(x)`, as a branch of the program. Both are traced but only one runs; captured
/// tensors receive gradients. Both must return the same structure, shapes and dtypes.
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
    let line = location::resolve(Line::caller());
    let _scope = location::scope(line);
    let index = expect_index("cond", pred, DType::Bool);
    index.and_then(|()| choose("cond", pred, &[&otherwise, &then], x, line)).map_err(|e| e.at(line)).or_raise()
}

/// Applies branch number `index` to `x`; the index is clamped to the valid range.
///
/// ```
/// use wengert::prelude::*;
/// let branches: [&dyn Fn(&Tensor) -> Tensor; 3] = [&|x| x.sin(), &|x| x * 2.0, &|x| x.exp()];
/// let f = |k: i64| switch(&Tensor::from(k), &branches, &Tensor::from(0.0)).item();
/// assert_eq!((f(0), f(1), f(2), f(7)), (0.0, 0.0, 1.0, 1.0));
/// ```
#[track_caller]
pub fn switch<X: Tree, Y: Tree>(index: &Tensor, branches: &[&dyn Fn(&X) -> Y], x: &X) -> Y {
    let line = location::resolve(Line::caller());
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

/// Traces the branches and runs one of them.
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

/// For each branch, whether it is chosen.
fn chosen(index: &Tensor, branches: usize) -> Vec<Tensor> {
    if index.dtype() == DType::Bool {
        return vec![index.logical_not(), index.clone()];
    }
    let is = |number: usize| match (number, branches - 1 - number) {
        (0, 0) => index.equal(index),
        (0, _) => index.le(0i64),
        (_, 0) => index.ge(number as i64),
        _ => index.equal(number as i64),
    };
    (0..branches).map(is).collect()
}

/// Selects the outputs of the chosen branches; all tensors have the axes of `masks` in front.
fn select(masks: &[Tensor], results: Vec<Vec<Tensor>>) -> Outputs {
    let mut results = results.into_iter();
    let mut y = results.next().expect("a switch has a branch");
    for (mask, result) in masks[1..].iter().zip(results) {
        for (y, result) in y.iter_mut().zip(result) {
            *y = chosen_rows(mask, &result, y);
        }
    }
    y.into()
}

/// Runs a branch for the elements of a batch that choose it, if there are any.
fn taken(branch: &ProgramAttr, mask: &Tensor, inputs: &[Tensor], batched: &[bool]) -> Vec<Tensor> {
    let size = mask.shape()[0];
    let every = vec![true; branch.outputs().len()];
    if masked::is_calm(branch) {
        return through::map(branch, inputs, size, batched, &every);
    }
    let wish = Wish { what: "switch taken", inputs: batched.to_vec(), numbers: vec![size] };
    let derived = branch.derived(wish, |branch| {
        let mut specs = vec![Spec::new([size], DType::Bool)];
        specs.extend(masked::batched_specs(input_specs(branch), size, batched));
        let nothing = staged("switch", &specs, |_| {
            let outputs = output_specs(branch).into_iter();
            outputs.map(|spec| Tensor::constant(0.0, &stacked(&spec, size))).collect()
        });
        let branch = staged("switch", &specs, |v| masked::map(branch, &v[0], &v[1..], batched, &every));
        [nothing, branch].map(ProgramAttr::from)
    });
    let (some, attrs) = (mask.any(), Attrs::new().with_programs("branch", (*derived).clone()));
    let operands: Vec<&Tensor> = [&some, mask].into_iter().chain(inputs).collect();
    bind(&SWITCH, attrs, &operands).into_vec()
}

/// The branches of a call.
fn form(attrs: &Attrs) -> Form<'_> {
    Form::new(&SWITCH, "branch", 1, attrs)
}

impl Control for Switch {
    fn record(&'static self, attrs: &Attrs, wanted: Mask) -> Option<Recording> {
        form(attrs).record(wanted)
    }

    fn push(
        &'static self,
        attrs: &Attrs,
        operands: &[&Tensor],
        tangents: &[Option<Tensor>],
        line: Line,
    ) -> Result<(Outputs, Adjoints), Error> {
        form(attrs).push(operands, tangents, line)
    }

    fn flow(&self, attrs: &Attrs) -> Option<Box<dyn Any>> {
        Some(Box::new(Flow::Switch(attrs.programs("branch").to_vec())))
    }

    fn unroll(&'static self, attrs: &Attrs, operands: &[Tensor], line: Line) -> Result<Outputs, Error> {
        let (branches, index) = (attrs.programs("branch"), &operands[0]);
        if let Ok(number) = number_of(index, branches.len()) {
            return Ok(branches[number].evaluate_at(&operands[1..], line)?.into());
        }
        let results: Result<Vec<_>, Error> =
            branches.iter().map(|branch| branch.evaluate_at(&operands[1..], line)).collect();
        Ok(select(&chosen(index, branches.len()), results?))
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
        form(attrs).expect(operands)?;
        Ok(output_specs(&branches[0]).into())
    }

    fn eval(&self, _device: Device, attrs: &Attrs, operands: &[&Tensor], _outputs: &[Spec]) -> Result<Outputs, Error> {
        let branches = attrs.programs("branch");
        let number = number_of(operands[0], branches.len())?;
        let operands: Vec<Tensor> = operands[1..].iter().map(|operand| operand.plain()).collect();
        let line = location::resolve(Line::caller());
        Ok(BodyRunner::new(&branches[number], &operands).run(&operands, line)?.into())
    }

    fn saves(&self, attrs: &Attrs, _wanted: Mask) -> Saves {
        form(attrs).saves()
    }

    fn control(&'static self) -> Option<&'static dyn Control> {
        Some(self)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        form(rule.attrs).vjp(rule, cotangents)
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        form(rule.attrs).jvp(rule, tangents)
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        if !batched.has(0) {
            return Ok(form(attrs).batch(size, operands, batched));
        }
        let flags: Vec<bool> = (1..operands.len()).map(|place| batched.has(place)).collect();
        let branches = attrs.programs("branch");
        let masks = chosen(&operands[0], branches.len());
        let results = branches.iter().zip(&masks).map(|(branch, mask)| taken(branch, mask, &operands[1..], &flags));
        Ok(select(&masks, results.collect()))
    }

    /// The cost of the most expensive branch.
    fn cost(&self, attrs: &Attrs, _operands: &[SpecRef<'_>], _outputs: &[Spec]) -> Cost {
        let costs = attrs.programs("branch").iter().map(|branch| branch.cost());
        costs.fold(Cost::default(), |most, cost| if cost.flops > most.flops { cost } else { most })
    }

    fn rule_text(&self) -> &'static str {
        "by the branch that ran"
    }

    #[cfg(feature = "cases")]
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
        let attrs = Attrs::new().with_programs("branch", lines[..count].iter().map(|line| branch(line)));
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

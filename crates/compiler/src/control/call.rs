//! call - a program applied to its operands.   y = body(x),   dx by the body's own derivative.   A compiled function that is called on
//! tensors of a transform is a `call`. Its derivatives and batched versions are separate programs, built once and run as plans; tracing
//! inlines its equations.

use crate::bind::try_bind;
use crate::location::{self, Line};
use crate::primitive::Device;
use crate::primitive::{Control, Recording};
use crate::program::ProgramAttrs;
use crate::program::control::branches::Form;
use crate::program::control::{BodyRunner, output_specs};
use crate::program::{Program, ProgramAttr, Split};
use wengert_ops::prelude::*;

/// The primitive `call`.
pub static CALL: Call = Call;

/// See the module.
pub struct Call;

/// Runs a closed program on operands of any level.
pub fn call(body: &ProgramAttr, operands: &[Tensor], line: Line) -> Result<Vec<Tensor>, Error> {
    let operands: SmallVec<[&Tensor; 8]> = operands.iter().collect();
    Ok(try_bind(&CALL, attrs_of(body.clone()), &operands, line)?.into_vec())
}

/// The pullback of a call of `body` with respect to all its real inputs.
pub fn pullback(body: &ProgramAttr) -> Split {
    form(&attrs_of(body.clone())).split()
}

fn attrs_of(body: ProgramAttr) -> Attrs {
    Attrs::new().with_program("body", body)
}

/// The form of a switch with one branch, which needs no index.
fn form(attrs: &Attrs) -> Form<'_> {
    Form::new(&CALL, "body", 0, attrs)
}

impl Control for Call {
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

    fn is_inlined(&self) -> bool {
        true
    }

    fn unroll(&'static self, attrs: &Attrs, operands: &[Tensor], line: Line) -> Result<Outputs, Error> {
        Ok(attrs.program("body").evaluate_at(operands, line)?.into())
    }
}

impl Primitive for Call {
    fn name(&self) -> &'static str {
        "call"
    }

    fn operands(&self) -> usize {
        0
    }

    fn accepts(&self, _count: usize) -> bool {
        true
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["body"]
    }

    fn outputs(&self, attrs: &Attrs) -> usize {
        attrs.program("body").outputs().len()
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        form(attrs).expect(operands)?;
        Ok(output_specs(attrs.program("body")).into())
    }

    fn eval(&self, _device: Device, attrs: &Attrs, operands: &[&Tensor], _outputs: &[Spec]) -> Result<Outputs, Error> {
        let operands: SmallVec<[Tensor; 8]> = operands.iter().map(|operand| operand.plain()).collect();
        let line = location::resolve(Line::caller());
        Ok(BodyRunner::new(attrs.program("body"), &operands).run(&operands, line)?.into())
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
        Ok(form(attrs).batch(size, operands, batched))
    }

    /// The cost of its body.
    fn cost(&self, attrs: &Attrs, _operands: &[SpecRef<'_>], _outputs: &[Spec]) -> Cost {
        attrs.program("body").cost()
    }

    fn rule_text(&self) -> &'static str {
        "by the body"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        cases()
    }
}

fn cases() -> Vec<Case> {
    let case = |label: &str, text: &str, operands: Vec<Sample>, reference: fn(&[Sample]) -> Vec<Sample>| {
        let body = ProgramAttr::from(Program::parse(text).expect("the text of a case"));
        Case::new(label, attrs_of(body), operands, reference)
    };
    let product = "program(a: f64[], x: f64[3]) {\n b: f64[3] = broadcast[shape=[3]](a)\n c: f64[3] = mul(b, x)\n \
                   d: f64[3] = sin(c)\n return d\n}";
    let two = "program(x: f64[2], y: f64[2]) {\n a: f64[2] = exp(x)\n b: f64[2] = mul(a, y)\n c: f64[] = sum[axes=[0]](b)\n \
               return a, c\n}";
    let whole = "program(k: i64[], x: f64[]) {\n a: f64[] = mul(x, x)\n return k, a\n}";
    let empty = "program(x: f64[0, 2]) {\n a: f64[0, 2] = sin(x)\n return a\n}";
    vec![
        case("one output", product, vec![Sample::wave([], 0.3), Sample::wave([3], 0.8)], |x| {
            vec![Sample::new([3], x[1].data.iter().map(|v| (x[0].data[0] * v).sin()).collect::<Vec<_>>())]
        }),
        case("two outputs", two, vec![Sample::wave([2], 0.3), Sample::wave([2], 0.8)], |x| {
            let a: Vec<f64> = x[0].data.iter().map(|v| v.exp()).collect();
            let c = a.iter().zip(&x[1].data).map(|(a, y)| a * y).sum::<f64>();
            vec![Sample::new([2], a), Sample::new([], vec![c])]
        }),
        case("an integer beside", whole, vec![Sample::integers([], [4]), Sample::wave([], 0.7)], |x| {
            vec![x[0].clone(), Sample::new([], vec![x[1].data[0].powi(2)])]
        }),
        case("empty", empty, vec![Sample::wave([0, 2], 0.3)], |_| vec![Sample::new([0, 2], Vec::new())]),
    ]
}

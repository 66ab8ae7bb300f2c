//! slope - cotangent times the slope of an elementwise operation.   z = g f'(x), guarded: 0 where g is 0.
//!
//! One equation of a program for what the rule of an elementwise operation `of` says about its operand number `operand`; the
//! operands are the cotangent and what the slope is computed from. Derivatives are those of the slope in Tensor operations.

use crate::ops::find;
use crate::ops::prelude::*;
use crate::rules::{Parameters, Slope, SlopeExpression, narrow};

/// The primitive `slope`.
pub static SLOPE: FusedOp<SlopeOf> = FusedOp::NEW;

/// See the module.
pub struct SlopeOf;

impl Tensor {
    /// This cotangent times the slope of the operation `of` by its operand, staged; `None` where the operation is not built in.
    pub(crate) fn staged_slope(
        &self,
        of: &'static str,
        operand: usize,
        sources: &[&Tensor],
        parameters: Parameters<f64>,
    ) -> Option<Tensor> {
        find(of)?.elementwise()?;
        let attrs = Attrs::new().with_word("of", of).with_int("operand", operand as i64);
        let attrs = NAMES.iter().zip(parameters).fold(attrs, |attrs, (name, value)| attrs.with_real(name, value));
        let operands: SmallVec<[&Tensor; 3]> = std::iter::once(self).chain(sources.iter().copied()).collect();
        Some(bind1(&SLOPE, attrs, &operands))
    }
}

/// The names of parameters; those that the operation has not are 0.
const NAMES: [&str; 3] = ["a", "b", "c"];

fn parameters(attrs: &Attrs) -> Parameters<f64> {
    NAMES.map(|name| attrs.real(name))
}

fn expression(attrs: &Attrs) -> Result<&'static SlopeExpression, Error> {
    let (name, operand) = (attrs.word("of"), attrs.axis("operand"));
    let op = find(name).and_then(|op| op.elementwise());
    match op.and_then(|op| op.slopes.get(operand)) {
        Some(Slope::Expression(slope)) => Ok(slope),
        _ => {
            let message = format!("'{name}' has no slope by an operand {operand}");
            Err(Error::new(ErrorKind::Argument, "slope", message))
        }
    }
}

fn known(attrs: &Attrs) -> &'static SlopeExpression {
    expression(attrs).expect("the shape rule found it")
}

impl Fused for SlopeOf {
    const NAME: &'static str = "slope";
    const ATTRIBUTES: &'static [&'static str] = &["of", "operand", "a", "b", "c"];
    const RULE: &'static str = "as the slope's formula says";
    const OPERANDS: (usize, usize) = (2, 3);
    const DEPENDENCY: Dependency = Dependency::Elementwise;

    fn operand_count(attrs: &Attrs) -> usize {
        1 + known(attrs).sources.len()
    }

    fn infer(attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let slope = expression(attrs)?;
        let count = slope.sources.len() + 1;
        if operands.len() != count {
            let message = format!("takes {count} operands for '{}', got {}", attrs.word("of"), operands.len());
            return Err(Error::new(ErrorKind::Argument, "slope", message));
        }
        expect_float("slope", operands[0].dtype)?;
        for other in &operands[1..] {
            expect_same_dtype("slope", operands[0].dtype, other.dtype)?;
            if other.shape != operands[0].shape {
                let shapes = vec![Shape::from(operands[0].shape), Shape::from(other.shape)];
                let message = format!("shapes {} and {} differ", shapes[0], shapes[1]);
                return Err(Error::new(ErrorKind::Shape(shapes), "slope", message));
            }
        }
        Ok(smallvec![operands[0].to_spec()])
    }

    fn eval(attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        let (slope, p) = (known(attrs), parameters(attrs));
        let views: SmallVec<[View<'_>; 3]> = operands.iter().map(|operand| operand.value.view()).collect();
        let run = |out: Out<'_>| match out.dtype {
            DType::F64 => slope.f64.run(views[0], &views[1..], out, p),
            _ => slope.f32.run(views[0], &views[1..], out, narrow(p)),
        };
        Ok(smallvec![Tensor::build(&outputs[0], run).0])
    }

    fn lane(attrs: &Attrs, _operands: &[DType], output: DType) -> Option<Lane> {
        let (slope, p) = (known(attrs), parameters(attrs));
        Some(match output {
            DType::F64 => {
                let slices = slope.f64.slices;
                lane(output, move |x: &[&[f64]], out| slices(x[0], x[1], x[x.len() - 1], out, p))
            }
            _ => {
                let (slices, p) = (slope.f32.slices, narrow(p));
                lane(output, move |x: &[&[f32]], out| slices(x[0], x[1], x[x.len() - 1], out, p))
            }
        })
    }

    fn expand(attrs: &Attrs, operands: &[Tensor]) -> Vec<Tensor> {
        let saved: SmallVec<[&Tensor; 2]> = operands[1..].iter().collect();
        vec![operands[0].guarded_mul(&(known(attrs).tensor)(&saved, parameters(attrs)))]
    }

    fn takes_batches(_attrs: &Attrs) -> bool {
        true
    }

    fn cases() -> Vec<Case> {
        let attrs = |of: &str, operand: i64, a: f64| {
            let attrs = Attrs::new().with_word("of", of).with_int("operand", operand);
            attrs.with_real("a", a).with_real("b", 0.0).with_real("c", 0.0)
        };
        let case = |of: &str, operand: i64, a: f64, shape: Shape, slope: fn(f64, f64) -> f64| {
            let sources = match expression(&attrs(of, operand, a)).expect("a case names a slope").sources {
                [_] => vec![Sample::within(0.5, 1.5, shape.clone(), 0.7)],
                _ => vec![Sample::within(0.5, 1.5, shape.clone(), 0.7), Sample::within(0.5, 1.5, shape.clone(), 1.9)],
            };
            let operands: Vec<Sample> = std::iter::once(Sample::wave(shape.clone(), 0.2)).chain(sources).collect();
            Case::new(format!("{of} by {operand}, {shape}"), attrs(of, operand, a), operands, move |s| {
                let last = s.last().expect("a source");
                let data =
                    (0..s[0].data.len()).map(|i| s[0].data[i] * slope(s[1].data[i], last.data[i])).collect::<Vec<_>>();
                vec![Sample::new(s[0].shape.clone(), data)]
            })
        };
        let mut cases = vec![
            case("tanh", 0, 0.0, Shape::from([2, 3]), |y, _| (1.0 - y) * (1.0 + y)),
            case("sin", 0, 0.0, Shape::from([7]), |x, _| (x + std::f64::consts::FRAC_PI_2).sin()),
            case("log1p", 0, 0.0, Shape::from([2, 1, 3]), |x, _| (1.0 + x).recip()),
            case("mul", 1, 0.0, Shape::from([2, 3]), |x, _| x),
            case("exp", 0, 0.0, Shape::from([]), |y, _| y),
            case("exp", 0, 0.0, Shape::from([0, 2]), |y, _| y),
        ];
        let guarded = [Sample::new([2], [0.0, 1.0]), Sample::new([2], [f64::INFINITY, 4.0])];
        cases.push(
            Case::new("a zero cotangent stays zero", attrs("exp", 0, 0.0), guarded, |_| {
                vec![Sample::new([2], [0.0, 4.0])]
            })
            .values_only(),
        );
        cases
    }
}

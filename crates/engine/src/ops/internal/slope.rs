//! slope - cotangent times the slope of an elementwise operation.   z = g f'(x), guarded: 0 where g is 0.
//!
//! One equation of a program for what the rule of an elementwise operation `of` says about its operand number `operand`; the
//! operands are the cotangent and what the slope is computed from. Derivatives are those of the slope in Tensor operations.

use crate::ops::find;
use crate::ops::prelude::*;
use crate::rules::{Elementwise, Parameters, Slope, SlopeExpression, narrow};

/// The primitive `slope`.
pub static SLOPE: FusedOp<SlopeOf> = FusedOp::NEW;

/// See the module.
pub struct SlopeOf;

#[ext(SlopeParts)]
impl Tensor {
    /// This cotangent times the slope of the operation `of` by its operand, staged; `None` where the operation is not built in.
    pub(crate) fn staged_slope(
        &self,
        of: &'static str,
        operand: usize,
        sources: &[&Tensor],
        parameters: Parameters<f64>,
    ) -> Option<Tensor> {
        let op = find(of)?.elementwise()?;
        let call = match &parameters[..op.parameters.len()] {
            [] => of.to_string(),
            some => format!("{of}({})", some.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>().join(";")),
        };
        let attrs = Attrs::new().with_word("of", call).with_int("operand", operand as i64);
        let operands: SmallVec<[&Tensor; 3]> = std::iter::once(self).chain(sources.iter().copied()).collect();
        Some(bind1(&SLOPE, attrs, &operands))
    }
}

/// The operation that the attributes name, its slope, and its parameters: `tanh`, `leaky_relu(0.01)`.
fn slope_of(attrs: &Attrs) -> Result<(&'static Elementwise, &'static SlopeExpression, Parameters<f64>), Error> {
    let (call, operand) = (attrs.word("of"), attrs.axis("operand"));
    let (name, list) = match call.strip_suffix(')').and_then(|call| call.split_once('(')) {
        Some((name, list)) => (name, list),
        None => (call, ""),
    };
    let mut parameters = [0.0; 3];
    let numbers: Result<Vec<f64>, _> = list.split(';').filter(|text| !text.is_empty()).map(str::parse).collect();
    let op = find(name).and_then(|op| op.elementwise());
    if let (Some(op), Ok(numbers)) = (op, numbers)
        && numbers.len() == op.parameters.len()
        && let Some(Slope::Expression(slope)) = op.slopes.get(operand)
    {
        parameters[..numbers.len()].copy_from_slice(&numbers);
        return Ok((op, slope, parameters));
    }
    let message = format!("'{call}' has no slope by an operand {operand}");
    Err(Error::new(ErrorKind::Argument, "slope", message))
}

fn known(attrs: &Attrs) -> (&'static SlopeExpression, Parameters<f64>) {
    let (_, slope, parameters) = slope_of(attrs).expect("the shape rule found it");
    (slope, parameters)
}

impl Fused for SlopeOf {
    const NAME: &'static str = "slope";
    const ATTRIBUTES: &'static [&'static str] = &["of", "operand"];
    const RULE: &'static str = "as the slope's formula says";
    const OPERANDS: (usize, usize) = (2, 3);
    const DEPENDENCY: Dependency = Dependency::Elementwise;

    fn operand_count(attrs: &Attrs) -> usize {
        1 + known(attrs).0.sources.len()
    }

    fn infer(attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (_, slope, _) = slope_of(attrs)?;
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

    fn run(attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<(), Error> {
        let ((slope, p), out) = (known(attrs), outputs[0].reborrow());
        match out.dtype {
            DType::F64 => slope.f64.run(operands[0], &operands[1..], out, p),
            _ => slope.f32.run(operands[0], &operands[1..], out, narrow(p)),
        }
        Ok(())
    }

    fn lane(attrs: &Attrs, _operands: &[DType], output: DType) -> Option<Lane> {
        let (slope, p) = known(attrs);
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

    fn expression(attrs: &Attrs, _operands: &[DType], _output: DType) -> Option<Expression> {
        let (op, slope, parameters) = slope_of(attrs).ok()?;
        Some(op.slope_text(slope, parameters))
    }

    fn expand(attrs: &Attrs, operands: &[Tensor]) -> Vec<Tensor> {
        let saved: SmallVec<[&Tensor; 2]> = operands[1..].iter().collect();
        let (slope, p) = known(attrs);
        vec![operands[0].guarded_mul(&(slope.tensor)(&saved, p))]
    }

    fn takes_batches(_attrs: &Attrs) -> bool {
        true
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        let attrs = |of: &str| Attrs::new().with_word("of", of).with_int("operand", 0);
        let case = |of: &str, shape: Shape, slope: fn(f64, f64) -> f64| {
            let (_, known, _) = slope_of(&attrs(of)).expect("a case names a slope");
            let source = |phase: f64| Sample::within(0.5, 1.5, shape.clone(), phase);
            let sources = [0.7, 1.9].into_iter().take(known.sources.len()).map(source);
            let operands: Vec<Sample> = std::iter::once(Sample::wave(shape.clone(), 0.2)).chain(sources).collect();
            Case::new(format!("{of}, {shape}"), attrs(of), operands, move |s| {
                let last = s.last().expect("a source");
                let product = |i: usize| s[0].data[i] * slope(s[1].data[i], last.data[i]);
                vec![Sample::new(s[0].shape.clone(), (0..s[0].data.len()).map(product).collect::<Vec<_>>())]
            })
        };
        let mut cases = vec![
            case("tanh", Shape::from([2, 3]), |y, _| (1.0 - y) * (1.0 + y)),
            case("sin", Shape::from([7]), |x, _| (x + std::f64::consts::FRAC_PI_2).sin()),
            case("log1p", Shape::from([2, 1, 3]), |x, _| (1.0 + x).recip()),
            case("elu(0.5)", Shape::from([3]), |_, _| 1.0),
            case("exp", Shape::from([]), |y, _| y),
            case("exp", Shape::from([0, 2]), |y, _| y),
        ];
        let guarded = [Sample::new([2], [0.0, 1.0]), Sample::new([2], [f64::INFINITY, 4.0])];
        cases.push(
            Case::new("a zero cotangent stays zero", attrs("exp"), guarded, |_| vec![Sample::new([2], [0.0, 4.0])])
                .values_only(),
        );
        cases
    }
}

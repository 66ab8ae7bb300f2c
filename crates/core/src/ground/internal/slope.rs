//! slope - cotangent times the slope of an elementwise operation.   z = g f'(x), guarded: 0 where g is 0.
//!
//! One equation of a program for the partial derivative of an elementwise operation `of` with respect to operand number `operand`. The
//! operands are the cotangent and the values that the slope is computed from. Its own derivatives are those of the slope, written in Tensor
//! operations.

#[cfg(feature = "cases")]
use crate::ground::elementwise::div::DIV;
use crate::ground::prelude::*;
use crate::primitive::{Attr, AttrValue};
use crate::rules::{Elementwise, Parameters, Slope, SlopeExpression, narrow};
use std::any::Any;
use std::fmt;
use std::hash::Hasher;

/// The primitive `slope`.
pub static SLOPE: FusedOp<SlopeOf> = FusedOp::NEW;

/// See the module.
pub struct SlopeOf;

/// An operation with the values of its parameters, whose slope is taken: `tanh`, `leaky_relu(0.01)`.
struct Sloped {
    op: &'static Elementwise,
    parameters: Parameters<f64>,
}

impl Sloped {
    /// The operation that a text names.
    fn named(text: &str, find: &dyn Fn(&str) -> Option<&'static dyn Primitive>) -> Option<Sloped> {
        let (name, list) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
            Some((name, list)) => (name, list),
            None => (text, ""),
        };
        let op = Elementwise::of(find(name)?)?;
        let numbers: Result<Vec<f64>, _> = list.split(';').filter(|text| !text.is_empty()).map(str::parse).collect();
        let numbers = numbers.ok().filter(|numbers| numbers.len() == op.parameters.len())?;
        let mut parameters = [0.0; 3];
        parameters[..numbers.len()].copy_from_slice(&numbers);
        Some(Sloped { op, parameters })
    }
}

impl fmt::Debug for Sloped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.op.name)?;
        match &self.parameters[..self.op.parameters.len()] {
            [] => Ok(()),
            some => write!(f, "({})", some.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>().join(";")),
        }
    }
}

impl AttrValue for Sloped {
    fn is_same(&self, other: &dyn AttrValue) -> bool {
        let bits = |parameters: Parameters<f64>| parameters.map(f64::to_bits);
        let other: &dyn Any = other;
        other
            .downcast_ref::<Sloped>()
            .is_some_and(|other| std::ptr::eq(self.op, other.op) && bits(self.parameters) == bits(other.parameters))
    }

    fn feed(&self, state: &mut dyn Hasher) {
        state.write(self.op.name.as_bytes());
        self.parameters.iter().for_each(|value| state.write_u64(value.to_bits()));
    }

    fn is_text(&self) -> bool {
        true
    }
}

/// The cotangent `g` times the slope of `op` with respect to one of its operands, as one equation of a program.
pub fn staged(
    op: &'static Elementwise,
    operand: usize,
    g: &Tensor,
    sources: &[&Tensor],
    parameters: Parameters<f64>,
) -> Tensor {
    let attrs = Attrs::new().with_other("of", Sloped { op, parameters }).with_int("operand", operand as i64);
    let operands: SmallVec<[&Tensor; 4]> = std::iter::once(g).chain(sources.iter().copied()).collect();
    bind1(&SLOPE, attrs, &operands)
}

/// The operation that the attributes name, its slope, and its parameters.
fn slope_of(attrs: &Attrs) -> Result<(&'static Elementwise, &'static SlopeExpression, Parameters<f64>), Error> {
    let operand = attrs.axis("operand");
    if let Some(&Sloped { op, parameters }) = attrs.other::<Sloped>("of")
        && let Some(Slope::Expression(slope)) = op.slopes.get(operand)
    {
        return Ok((op, slope, parameters));
    }
    let of = attrs.iter().find(|(name, _)| *name == "of").map_or(String::new(), |(_, of)| of.to_string());
    let message = format!("'{of}' has no slope by an operand {operand}");
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

    fn named(attrs: Attrs, find: &dyn Fn(&str) -> Option<&'static dyn Primitive>) -> Attrs {
        let of = attrs.iter().find_map(|(name, value)| match value {
            Attr::Word(text) if *name == "of" => Sloped::named(text, find),
            _ => None,
        });
        match of {
            Some(of) => attrs.with_other("of", of),
            None => attrs,
        }
    }

    fn operand_count(attrs: &Attrs) -> usize {
        1 + known(attrs).0.sources.len()
    }

    fn infer(attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (_, slope, _) = slope_of(attrs)?;
        let count = slope.sources.len() + 1;
        if operands.len() != count {
            let message = format!("takes {count} operands for '{attrs}', got {}", operands.len());
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
        let saved: SmallVec<[&Tensor; 4]> = operands[1..].iter().collect();
        let (slope, p) = known(attrs);
        vec![operands[0].guarded_mul(&(slope.tensor)(&saved, p))]
    }

    fn takes_batches(_attrs: &Attrs) -> bool {
        true
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        let attrs = |operand: i64| {
            Attrs::new().with_other("of", Sloped { op: &DIV, parameters: [0.0; 3] }).with_int("operand", operand)
        };
        let case = |attrs: Attrs, shape: Shape, slope: fn(f64, f64) -> f64| {
            let (_, known, _) = slope_of(&attrs).expect("a case names a slope");
            let source = |phase: f64| Sample::within(0.5, 1.5, shape.clone(), phase);
            let sources = [0.7, 1.9].into_iter().take(known.sources.len()).map(source);
            let operands: Vec<Sample> = std::iter::once(Sample::wave(shape.clone(), 0.2)).chain(sources).collect();
            Case::new(format!("{attrs}, {shape}"), attrs, operands, move |s| {
                let last = s.last().expect("a source");
                let product = |i: usize| s[0].data[i] * slope(s[1].data[i], last.data[i]);
                vec![Sample::new(s[0].shape.clone(), (0..s[0].data.len()).map(product).collect::<Vec<_>>())]
            })
        };
        let of_dividend = || attrs(0);
        let mut cases = vec![
            case(of_dividend(), Shape::from([2, 3]), |y, _| y.recip()),
            case(of_dividend(), Shape::from([]), |y, _| y.recip()),
            case(of_dividend(), Shape::from([0, 2]), |y, _| y.recip()),
            case(attrs(1), Shape::from([7]), |y, z| z * -y.recip()),
            case(attrs(1), Shape::from([2, 1, 3]), |y, z| z * -y.recip()),
        ];
        let guarded = [Sample::new([2], [0.0, 1.0]), Sample::new([2], [0.0, 0.25])];
        cases.push(
            Case::new("a zero cotangent stays zero", of_dividend(), guarded, |_| vec![Sample::new([2], [0.0, 4.0])])
                .values_only(),
        );
        cases
    }
}

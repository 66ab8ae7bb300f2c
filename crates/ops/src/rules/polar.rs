//! The rule shape *polar*: the gradient of a polynomial of many variables, differentiated along any number of directions.
//!
//! F(x) is the gradient of some scalar f, and F(x; h1 .. hk) is F differentiated along each h in turn. It is linear in every h, and <F(x;
//! h..), g> does not change when g is swapped with an h. So every rule is the same operation again: for x, with the cotangent as one more
//! direction; for an h, with the cotangent in its place. An operation states one kernel for all orders. It never divides, so derivatives of
//! every order are exact everywhere.

use super::{align_batch, all_numbers};
use crate::bind::bind1;
use crate::jvp;
use crate::primitive::{
    Adjoints, Attrs, Case, Cost, Dependency, Gradient, Gradients, Mask, Out, Outputs, Primitive, Rule, Saves, Spec,
    SpecRef, Specs, View, expect_same_dtype, streaming_cost,
};
use crate::{Error, ErrorKind, Shape, Tensor};
use smallvec::smallvec;
use std::marker::PhantomData;

/// The definition of a gradient with directions; [`PolarOp`] turns it into a primitive.
pub trait Polar: Send + Sync + 'static {
    const NAME: &'static str;
    /// The derivative in a few words.
    const RULE: &'static str;
    /// The number of trailing axes of x; those before them are a batch.
    const AXES: usize;

    /// An error unless x has a gradient; leading axes are a batch.
    fn expect(x: SpecRef<'_>) -> Result<(), Error>;

    /// F of the first operand along the others, all of one shape.
    fn run(operands: &[View<'_>], out: Out<'_>);

    /// F in other operations, exact everywhere. Tangents of tensors inside transforms use it, so that a high-order derivative along one
    /// curve does not enumerate all ways to distribute it among directions.
    const EXPAND: Option<fn(&Tensor) -> Tensor> = None;

    /// Arithmetic operations.
    fn flops(operands: usize, shape: &[usize]) -> f64;

    /// Cases, each for the number of directions given by its operands.
    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case>;
}

/// A primitive of the polar shape.
pub struct PolarOp<P>(PhantomData<P>);

/// The attributes of a call with this many operands.
pub fn polar_attrs(operands: usize) -> Attrs {
    Attrs::new().with_int("order", operands as i64 - 1)
}

/// `f` differentiated along each direction in turn.
fn differentiated(f: fn(&Tensor) -> Tensor, x: &Tensor, directions: &[&Tensor]) -> Tensor {
    match directions.split_last() {
        None => f(x),
        Some((last, rest)) => jvp(|x: &Tensor| differentiated(f, x, rest), x, last).1,
    }
}

impl<P: Polar> PolarOp<P> {
    pub(crate) const NEW: PolarOp<P> = PolarOp(PhantomData);

    /// F of the first operand, differentiated along the others.
    #[track_caller]
    pub(crate) fn of(&'static self, operands: &[&Tensor]) -> Tensor {
        bind1(self, polar_attrs(operands.len()), operands)
    }

    /// The same operation with `by` in place of operand `position`, or as one more direction if that is x itself.
    fn along(&'static self, rule: &Rule<'_>, position: usize, by: &Tensor) -> Tensor {
        let count = rule.attrs.int("order") as usize + 1;
        let own = (0..count).map(|i| if i == position && i > 0 { by } else { rule.operand(i) });
        let more = (position == 0).then_some(by);
        self.of(&own.chain(more).collect::<Vec<_>>())
    }

    /// The same in other operations, if there is an expansion and not all operands are plain values.
    fn expanded_along(rule: &Rule<'_>, position: usize, by: &Tensor) -> Option<Tensor> {
        let count = rule.attrs.int("order") as usize + 1;
        let own = (1..count).map(|i| if i == position { by } else { rule.operand(i) });
        let directions: Vec<&Tensor> = own.chain((position == 0).then_some(by)).collect();
        let x = rule.operand(0);
        let derived = P::EXPAND.filter(|_| !all_numbers(&directions) || !all_numbers(&[x]));
        derived.map(|expand| differentiated(expand, x, &directions))
    }
}

impl<P: Polar> Primitive for PolarOp<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn operands(&self) -> usize {
        1
    }

    fn accepts(&self, count: usize) -> bool {
        count >= 1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["order"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let order = attrs.int("order");
        if order != operands.len() as i64 - 1 {
            let message = format!("order {order} with {} operands", operands.len());
            return Err(Error::new(ErrorKind::Argument, P::NAME, message).help("one operand more than the order"));
        }
        P::expect(operands[0])?;
        for other in &operands[1..] {
            expect_same_dtype(P::NAME, operands[0].dtype, other.dtype)?;
            if other.shape != operands[0].shape {
                let shapes = vec![Shape::from(operands[0].shape), Shape::from(other.shape)];
                let message = format!("a direction of shape {} for an operand of {}", shapes[1], shapes[0]);
                return Err(Error::new(ErrorKind::Shape(shapes), P::NAME, message));
            }
        }
        Ok(smallvec![operands[0].to_spec()])
    }

    fn run(&self, _attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        P::run(operands, outputs[0].reborrow());
        Ok(true)
    }

    fn saves(&self, attrs: &Attrs, wanted: Mask) -> Saves {
        let count = attrs.int("order") as usize + 1;
        let read = |i: usize| i == 0 || wanted.iter().any(|position| position != i);
        Saves::NOTHING.operands(Mask::of(count, read))
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let gradient = |position: usize| match rule.wants(position) {
            true => Gradient::Dense(self.along(rule, position, &g)),
            false => Gradient::Zero,
        };
        (0..rule.attrs.int("order") as usize + 1).map(gradient).collect()
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let changes = tangents.iter().enumerate();
        let along = |position: usize, by: &Tensor| {
            Self::expanded_along(rule, position, by).unwrap_or_else(|| self.along(rule, position, by))
        };
        let changes = changes.filter_map(|(position, tangent)| tangent.as_ref().map(|by| along(position, by)));
        smallvec![changes.reduce(|a, b| a + b)]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        Ok(smallvec![bind1(self, attrs.clone(), &aligned.iter().collect::<Vec<_>>())])
    }

    fn dependency(&self) -> Dependency {
        Dependency::Blocks(P::AXES)
    }

    fn cost(&self, _attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let flops = P::flops(operands.len(), &outputs[0].shape);
        Cost { flops, ..streaming_cost(operands, outputs) }
    }

    fn rule_text(&self) -> &'static str {
        P::RULE
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        P::cases()
    }
}

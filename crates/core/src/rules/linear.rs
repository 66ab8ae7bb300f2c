//! The rule shape *linear*: y = A x of one tensor. Its tangent is A dx; its cotangent is A transposed, another operation.
//!
//! Movements (every output element is a copy of one operand element or zero) are linear, and work on any dtype.

use crate::bind::bind1;
use crate::primitive::{
    Adjoints, Attrs, Case, Cost, Dependency, Gradient, Gradients, Jet, Layout, Mask, Out, Outputs, Primitive, Rule,
    Saves, Spec, SpecRef, Specs, View, copy_viewed, streaming_cost,
};
use crate::{Error, Tensor};
use smallvec::smallvec;
use std::marker::PhantomData;

/// The definition of a linear operation; [`LinearOp`] turns it into a primitive.
pub trait Linear: Send + Sync + 'static {
    const NAME: &'static str;
    const ATTRIBUTES: &'static [&'static str] = &[];
    /// The derivative in a few words.
    const RULE: &'static str;
    /// Whether the transpose needs the operand's shape (`rule.shape(0)`).
    const NEEDS_SHAPE: bool = false;
    /// Whether it is a view of the same memory.
    const IS_VIEW: bool = false;
    const DEPENDENCY: Dependency = Dependency::Movement;

    fn infer(attrs: &Attrs, x: SpecRef<'_>) -> Result<Spec, Error>;

    /// See [`Primitive::expansion`].
    fn expansion(_attrs: &Attrs, _x: &Tensor) -> Option<Tensor> {
        None
    }

    /// See [`Primitive::view`].
    fn view(_attrs: &Attrs, _x: &Layout, _output: &Spec) -> Option<Layout> {
        None
    }

    /// The kernel, if it is not a view.
    fn run(_attrs: &Attrs, _x: View<'_>, _out: Out<'_>) -> Result<(), Error> {
        unreachable!("{} is always a view", Self::NAME)
    }

    /// The number of arithmetic operations; a movement has none.
    fn flops(_attrs: &Attrs, _x: SpecRef<'_>, output: &Spec) -> f64 {
        if Self::DEPENDENCY == Dependency::Movement { 0.0 } else { output.shape.elements() as f64 }
    }

    /// Maps the cotangent to the gradient of the operand.
    fn transpose(rule: &Rule<'_>, g: Tensor) -> Gradient;

    /// The same call on a batch of `size` tensors along axis 0 of `x`; `op` is the primitive itself.
    fn batch(op: &'static dyn Primitive, attrs: &Attrs, size: usize, x: &Tensor) -> Tensor;

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case>;
}

/// A primitive of the linear shape.
pub struct LinearOp<L>(PhantomData<L>);

impl<L> LinearOp<L> {
    #[doc(hidden)]
    pub const NEW: LinearOp<L> = LinearOp(PhantomData);
}

impl<L: Linear> Primitive for LinearOp<L> {
    fn name(&self) -> &'static str {
        L::NAME
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        L::ATTRIBUTES
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        Ok(smallvec![L::infer(attrs, operands[0])?])
    }

    fn view(&self, attrs: &Attrs, operand: &Layout, output: &Spec) -> Option<Layout> {
        L::view(attrs, operand, output)
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        if L::IS_VIEW && copy_viewed(self, attrs, operands, outputs)? {
            return Ok(true);
        }
        L::run(attrs, operands[0], outputs[0].reborrow()).map(|()| true)
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        if L::NEEDS_SHAPE { Saves::NOTHING.shape(0) } else { Saves::NOTHING }
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        smallvec![L::transpose(rule, g)]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        smallvec![tangents[0].as_ref().map(|tangent| bind1(self, rule.attrs.clone(), &[tangent]))]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], _batched: Mask) -> Result<Outputs, Error> {
        Ok(smallvec![L::batch(self, attrs, size, &operands[0])])
    }

    fn expansion(&'static self, attrs: &Attrs, operands: &[Tensor]) -> Option<Vec<Tensor>> {
        L::expansion(attrs, &operands[0]).map(|y| vec![y])
    }

    fn cost(&self, attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let flops = L::flops(attrs, operands[0], &outputs[0]);
        if L::IS_VIEW { Cost::default() } else { Cost { flops, ..streaming_cost(operands, outputs) } }
    }

    fn dependency(&self) -> Dependency {
        L::DEPENDENCY
    }

    fn jet(&self) -> Jet {
        Jet::Linear
    }

    fn rule_text(&self) -> &'static str {
        L::RULE
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        L::cases()
    }
}

//! The rule shape *fused*: one kernel for a formula that could also be written in other operations.
//!
//! The operation also states the formula in Tensor operations ([`Fused::expand`]). Everything without a fast path follows from it:
//! tangents, batches, and derivatives of the gradients from the fast path. A fused gradient is itself a fused primitive, so derivatives of
//! every order are exact and only the first is hot.

use super::align_batch;
use crate::bind::bind;
use crate::error::OrRaise;
use crate::primitive::{
    Adjoints, Attrs, Case, Cost, Dependency, Device, Expression, Gradient, Gradients, Lower, Mask, Out, Outputs,
    Primitive, Rule, Saves, Spec, SpecRef, Specs, View, evaluate, streaming_cost,
};
use crate::{DType, Error, Tensor, jvp, vjp, vmap};
use smallvec::SmallVec;
use std::marker::PhantomData;
use wengert_kernels::tiled::Lane;

/// The definition of a fused operation; [`FusedOp`] turns it into a primitive. All outputs are floats.
pub trait Fused: Send + Sync + 'static {
    const NAME: &'static str;
    const ATTRIBUTES: &'static [&'static str] = &[];
    /// The derivative in a few words.
    const RULE: &'static str;
    /// The minimum and maximum number of operands.
    const OPERANDS: (usize, usize);
    /// The operands whose gradients the kernel of [`gradient`](Fused::gradient) computes.
    const COVERED: Mask = Mask::NONE;

    const DEPENDENCY: Dependency = Dependency::Dense;

    fn outputs(_attrs: &Attrs) -> usize {
        1
    }

    /// See [`Primitive::named`].
    fn named(attrs: Attrs, _find: &dyn Fn(&str) -> Option<&'static dyn Primitive>) -> Attrs {
        attrs
    }

    /// See [`Lower::lane`].
    fn lane(_attrs: &Attrs, _operands: &[DType], _output: DType) -> Option<Lane> {
        None
    }

    /// See [`Lower::expression`].
    fn expression(_attrs: &Attrs, _operands: &[DType], _output: DType) -> Option<Expression> {
        None
    }

    fn infer(attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error>;

    fn run(attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<(), Error>;

    /// Runs the kernel in new memory; an operation may choose the layout of the outputs.
    fn eval(attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error>
    where
        Self: Sized,
    {
        evaluate(&FusedOp::<Self>::NEW, attrs, operands, outputs)
    }

    /// Computes the outputs in Tensor operations, in f64 or f32.
    fn expand(attrs: &Attrs, operands: &[Tensor]) -> Vec<Tensor>;

    /// The number of operands of a call.
    fn operand_count(_attrs: &Attrs) -> usize {
        Self::OPERANDS.0
    }

    fn all_operands(attrs: &Attrs) -> Saves {
        Saves::NOTHING.operands(Mask::first_of(Self::operand_count(attrs)))
    }

    /// All operands, unless the rules need less.
    fn saves(attrs: &Attrs, _wanted: Mask) -> Saves {
        Self::all_operands(attrs)
    }

    /// The operands for [`expand`](Fused::expand), from the saved values; an operand that derivatives do not depend on may be any tensor of
    /// its spec.
    fn restore(rule: &Rule<'_>) -> Vec<Tensor> {
        (0..Self::operand_count(rule.attrs)).map(|position| rule.operand(position).clone()).collect()
    }

    /// The gradients of the covered operands from a kernel, for the cotangents that it supports; `None` leaves them to the expansion.
    fn gradient(_rule: &Rule<'_>, _cotangents: &[Option<Tensor>]) -> Option<Gradients> {
        None
    }

    /// Whether the kernel accepts any leading axes, including a batch of calls.
    fn takes_batches(_attrs: &Attrs) -> bool {
        false
    }

    /// The operand without leading axes, which all rows share.
    fn shared(_attrs: &Attrs) -> Option<usize> {
        None
    }

    /// The batch with the same kernel, if possible; `None` leaves it to the expansion.
    fn batch(
        op: &'static dyn Primitive,
        attrs: &Attrs,
        size: usize,
        operands: &[Tensor],
        batched: Mask,
    ) -> Option<Outputs> {
        let shared = Self::shared(attrs);
        if !Self::takes_batches(attrs) || shared.is_some_and(|position| batched.has(position)) {
            return None;
        }
        let mut aligned = align_batch(size, operands, batched);
        if let Some(position) = shared {
            aligned[position] = operands[position].clone();
        }
        let aligned: SmallVec<[&Tensor; 4]> = aligned.iter().collect();
        Some(bind(op, attrs.clone(), &aligned))
    }

    fn cost(_attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        streaming_cost(operands, outputs)
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case>;
}

/// A primitive of the fused shape.
pub struct FusedOp<F>(PhantomData<F>);

impl<F> FusedOp<F> {
    #[doc(hidden)]
    pub const NEW: FusedOp<F> = FusedOp(PhantomData);
}

/// The chosen outputs of the expansion with `values` at `positions`; half precision computes in f32.
fn expanded<F: Fused>(
    attrs: &Attrs,
    operands: &[Tensor],
    positions: &[usize],
    values: &[Tensor],
    outputs: &[usize],
) -> Vec<Tensor> {
    let mut all = operands.to_vec();
    for (&position, value) in positions.iter().zip(values) {
        all[position] = value.clone();
    }
    let half = all.iter().map(Tensor::dtype).find(|dtype| matches!(dtype, DType::BF16 | DType::F16));
    let Some(half) = half else {
        let all = F::expand(attrs, &all);
        return outputs.iter().map(|&position| all[position].clone()).collect();
    };
    let specs: SmallVec<[SpecRef<'_>; 4]> = all.iter().map(|tensor| tensor.value.spec_ref()).collect();
    let made = F::infer(attrs, &specs).or_raise();
    let wide: Vec<Tensor> = all
        .iter()
        .map(|tensor| if tensor.dtype() == half { tensor.cast(DType::F32) } else { tensor.clone() })
        .collect();
    let all = F::expand(attrs, &wide);
    outputs.iter().map(|&position| all[position].cast(made[position].dtype)).collect()
}

impl<F: Fused> Primitive for FusedOp<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn operands(&self) -> usize {
        F::OPERANDS.0
    }

    fn accepts(&self, count: usize) -> bool {
        (F::OPERANDS.0..=F::OPERANDS.1).contains(&count)
    }

    fn attributes(&self) -> &'static [&'static str] {
        F::ATTRIBUTES
    }

    fn named(&self, attrs: Attrs, find: &dyn Fn(&str) -> Option<&'static dyn Primitive>) -> Attrs {
        F::named(attrs, find)
    }

    fn outputs(&self, attrs: &Attrs) -> usize {
        F::outputs(attrs)
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        F::infer(attrs, operands)
    }

    fn eval(&self, _device: Device, attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        F::eval(attrs, operands, outputs)
    }

    fn dependency(&self) -> Dependency {
        F::DEPENDENCY
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        F::run(attrs, operands, outputs).map(|()| true)
    }

    fn saves(&self, attrs: &Attrs, wanted: Mask) -> Saves {
        F::saves(attrs, wanted)
    }

    fn expansion(&'static self, attrs: &Attrs, operands: &[Tensor]) -> Option<Vec<Tensor>> {
        let outputs: Vec<usize> = (0..F::outputs(attrs)).collect();
        Some(expanded::<F>(attrs, operands, &[], &[], &outputs))
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let given: Vec<usize> = (0..cotangents.len()).filter(|&output| cotangents[output].is_some()).collect();
        if given.is_empty() {
            return Gradients::new();
        }
        let covered = (0..F::OPERANDS.1).any(|position| F::COVERED.has(position) && rule.wants(position));
        let fast = if covered { F::gradient(rule, cotangents) } else { None };
        let done = fast.as_ref().map_or(Mask::NONE, |_| F::COVERED);
        let wanted: Vec<usize> =
            (0..F::OPERANDS.1).filter(|&position| rule.wants(position) && !done.has(position)).collect();
        let mut gradients = fast.unwrap_or_default();
        if wanted.is_empty() {
            return gradients;
        }
        let operands = F::restore(rule);
        let at: Vec<Tensor> = wanted.iter().map(|&position| operands[position].clone()).collect();
        let f = |x: &Vec<Tensor>| expanded::<F>(rule.attrs, &operands, &wanted, x, &given);
        let seeds: Vec<Tensor> = cotangents.iter_mut().filter_map(Option::take).collect();
        let found = vjp(f, &at).1.call(&seeds);
        gradients.resize_with(operands.len(), || Gradient::Zero);
        wanted.iter().zip(found).for_each(|(&position, found)| gradients[position] = Gradient::Dense(found));
        gradients
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let operands = F::restore(rule);
        let active: Vec<usize> = (0..operands.len()).filter(|&position| tangents[position].is_some()).collect();
        let at: Vec<Tensor> = active.iter().map(|&position| operands[position].clone()).collect();
        let along: Vec<Tensor> = tangents.iter().flatten().cloned().collect();
        let every: Vec<usize> = (0..F::outputs(rule.attrs)).collect();
        let f = |x: &Vec<Tensor>| expanded::<F>(rule.attrs, &operands, &active, x, &every);
        jvp(f, &at, &along).1.into_iter().map(Some).collect()
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        if let Some(outputs) = F::batch(self, attrs, size, operands, batched) {
            return Ok(outputs);
        }
        let positions: Vec<usize> = batched.iter().collect();
        let values: Vec<Tensor> = positions.iter().map(|&position| operands[position].clone()).collect();
        let every: Vec<usize> = (0..F::outputs(attrs)).collect();
        let each = vmap(|x: &Vec<Tensor>| expanded::<F>(attrs, operands, &positions, x, &every));
        Ok(each(&values).into())
    }

    fn cost(&self, attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        F::cost(attrs, operands, outputs)
    }

    fn rule_text(&self) -> &'static str {
        F::RULE
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        F::cases()
    }

    fn lower(&'static self) -> Option<&'static dyn Lower> {
        Some(self)
    }
}

impl<F: Fused> Lower for FusedOp<F> {
    fn lane(&self, attrs: &Attrs, operands: &[DType], output: DType) -> Option<Lane> {
        F::lane(attrs, operands, output)
    }

    fn expression(&self, attrs: &Attrs, operands: &[DType], output: DType) -> Option<Expression> {
        F::expression(attrs, operands, output)
    }
}

//! A primitive: an operation with all its rules.
//!
//! One trait serves every interpreter. A rule is written with `Tensor` operations, so it can be run, taped, traced and
//! batched unchanged; therefore it never reads a value. There are no privileged operations: a user's own operation
//! implements the same trait and is bound the same way.

mod attrs;
mod case;
mod expression;
mod kinds;
mod lower;
mod mask;
mod rule;
mod saved;

#[doc(hidden)]
pub use attrs::wrong;
pub use attrs::{Attr, AttrValue, Attrs};
pub use case::{Case, Sample};
#[doc(hidden)]
pub use expression::Expression;
pub use kinds::{
    Cost, Dependency, Device, Jet, Saves, Spec, SpecRef, Specs, expect_arithmetic, expect_flags, expect_float,
    expect_reals, expect_same_dtype, streaming_cost,
};
#[doc(hidden)]
pub use lower::Lower;
pub use mask::Mask;

pub use crate::bind::{bind, bind1};
pub use crate::ground::file_methods::GuardedMulMethods;
pub use crate::tensor::{Layout, view_of};
pub use crate::types::{Adjoints, Form, Gradient, Gradients, Held, Outputs, Patch, Recording, Residual, Rule};
#[doc(hidden)]
pub use crate::types::{Kept, Saved};

use crate::location::Line;
use crate::{Error, ErrorKind, Tensor};
use smallvec::{SmallVec, smallvec};
use std::any::Any;
use std::sync::Arc;
use wengert_kernels::map::copy;
pub use wengert_kernels::view::{Out, View};

/// An operation with all its rules.
///
/// Rules are handed exactly what [`saves`](Primitive::saves) declares, so the tape can free the rest. A primitive is a static:
/// rules that bind it again take `&'static self`.
pub trait Primitive: Any + Send + Sync {
    /// The name in programs, errors and documents.
    fn name(&self) -> &'static str;

    /// How many operands a call has.
    fn operands(&self) -> usize;

    /// Whether a call may have `count` operands; an operation of any number, such as concat, has at least `operands()`.
    fn accepts(&self, count: usize) -> bool {
        count == self.operands()
    }

    /// The names of its attributes, in printing order.
    fn attributes(&self) -> &'static [&'static str] {
        &[]
    }

    /// The attributes that a program's text says, where words may name primitives.
    #[doc(hidden)]
    fn named(&self, attrs: Attrs, _find: &dyn Fn(&str) -> Option<&'static dyn Primitive>) -> Attrs {
        attrs
    }

    /// How many outputs a call has.
    fn outputs(&self, _attrs: &Attrs) -> usize {
        1
    }

    /// The shape and dtype rule: what comes out, or why it cannot.
    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error>;

    /// Where the output lies in the memory of the only operand, if the operation looks at it in another way and copies
    /// nothing.
    fn view(&self, _attrs: &Attrs, _operand: &Layout, _output: &Spec) -> Option<Layout> {
        None
    }

    /// Writes the outputs into memory that is given; operands have passed [`infer`](Primitive::infer), which gave the
    /// specs of the outputs. `false`, and nothing done, if the kernel is a function of tensors: then [`eval`](Primitive::eval) is.
    /// What is provided copies what the operation looks at, if it has a [`view`](Primitive::view).
    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        copy_viewed(self, attrs, operands, outputs)
    }

    /// Computes the outputs on `device`; operands have passed [`infer`](Primitive::infer), which gave `outputs`. What is
    /// provided looks at the operand ([`view`](Primitive::view)) or runs the kernel ([`run`](Primitive::run)) in new memory.
    fn eval(&self, _device: Device, attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        evaluate(self, attrs, operands, outputs)
    }

    /// A shortcut past shape rule and kernel for small calls on operands that are alike; `None` where there is none.
    #[inline]
    fn eval_direct(&self, _operands: &[&Tensor]) -> Option<Tensor> {
        None
    }

    /// The same for an update of `target`, if nobody else can see it.
    #[inline]
    fn update_direct(&self, _target: &mut Tensor, _other: &Tensor) -> bool {
        false
    }

    /// Computes the output into `target`, the first operand, which nobody else can see; `false` if it cannot be done.
    fn eval_in_place(&self, _attrs: &Attrs, _target: &mut Tensor, _rest: &[&Tensor]) -> Result<bool, Error> {
        Ok(false)
    }

    /// Which values and shapes the rules need when gradients of the operands `wanted` are asked for.
    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING
    }

    /// What the rules can do with in place of a residual: operands, or the output. They are saved where they are held
    /// anyway, so that nothing extra is kept; rules ask [`Rule::has_residual`] and the like what they were given. At most
    /// three.
    fn alternatives(&self) -> &'static [Saves] {
        &[]
    }

    /// The non-differentiable value that [`Saves::residual`] asks for: a mask or indices.
    fn residual(&'static self, _attrs: &Attrs, _operands: &[&Tensor], _outputs: &[&Tensor]) -> Tensor {
        panic!("{} declares a residual and does not compute it", self.name())
    }

    /// Whether a gradient can pass at all.
    fn differentiable(&self) -> bool {
        true
    }

    /// Whether the imperative tape records it. What is constant between jumps is recorded, and gives gradients of zero.
    #[doc(hidden)]
    fn records(&self) -> bool {
        self.differentiable()
    }

    /// Whether a call does more than compute its outputs: it counts, logs, reads what changes, or gives another result when it is
    /// repeated. Such a call is made exactly as often as the function makes it, and in that order among calls with an effect: no
    /// pass drops, merges, repeats or moves it, no budget and no checkpoint repeats it. It has at least one output and no
    /// [`view`](Primitive::view). Unless told, an operation has the effects of the programs that it carries, and no other.
    fn effect(&self, attrs: &Attrs) -> bool {
        attrs.have_effect()
    }

    /// Cotangents of the outputs, which are handed over, to gradients of the wanted operands.
    fn vjp(&'static self, _rule: &Rule<'_>, _cotangents: &mut [Option<Tensor>]) -> Gradients {
        if self.differentiable() {
            missing_rule(self.name(), "vjp", "differentiated in reverse mode").raise();
        }
        Gradients::new()
    }

    /// Whether a call is the square of its operand; of a product, if both operands are the same.
    #[doc(hidden)]
    fn is_square(&self, _attrs: &Attrs) -> bool {
        false
    }

    /// From the cotangent of the square of the output to gradients of the wanted operands, for a root whose square is smooth where it is
    /// not itself, such as a length.
    #[doc(hidden)]
    fn vjp_of_square(&'static self, _attrs: &Attrs) -> Option<fn(&Rule<'_>, Tensor) -> Gradients> {
        None
    }

    /// What a compiler asks of it besides its rules, if it has an answer.
    #[doc(hidden)]
    fn lower(&'static self) -> Option<&'static dyn Lower> {
        None
    }

    /// Other operations whose outputs depend on the operands alike, if the class cannot say it: a pattern is followed
    /// through these. Their values do not matter.
    #[doc(hidden)]
    fn expansion(&'static self, _attrs: &Attrs, _operands: &[Tensor]) -> Option<Vec<Tensor>> {
        None
    }

    /// The function that a call stands for, if it is one with rules of its own: interpreters call it whole.
    #[doc(hidden)]
    fn function<'a>(&self, _attrs: &'a Attrs) -> Option<&'a Arc<dyn Function>> {
        None
    }

    /// What it does with whole calls, if it carries programs: values and derivatives come from one run then.
    #[doc(hidden)]
    fn control(&'static self) -> Option<&'static dyn Control> {
        None
    }

    /// A shortcut past rule and tape: takes the cotangent of the only output and gives the gradients of the operands
    /// `wanted`, where it and everything saved are small and alike. Where there is no shortcut the cotangent stays.
    #[inline]
    fn vjp_direct(
        &self,
        _wanted: Mask,
        _cotangent: &mut Option<Tensor>,
        _held: Held<'_>,
        _give: &mut dyn FnMut(usize, Tensor),
    ) {
    }

    /// Tangents of the operands to tangents of the outputs.
    fn jvp(&'static self, rule: &Rule<'_>, _tangents: &[Option<Tensor>]) -> Adjoints {
        if self.differentiable() {
            missing_rule(self.name(), "jvp", "differentiated in forward mode").raise();
        }
        (0..self.outputs(rule.attrs)).map(|_| None).collect()
    }

    /// The same call on operands that carry a batch of `size` along axis 0 where `batched` says so; every output carries
    /// it along axis 0.
    fn batch(
        &'static self,
        _attrs: &Attrs,
        _size: usize,
        _operands: &[Tensor],
        _batched: Mask,
    ) -> Result<Outputs, Error> {
        Err(missing_rule(self.name(), "batch", "batched"))
    }

    /// The work of one call.
    fn cost(&self, _attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        streaming_cost(operands, outputs)
    }

    /// How its outputs depend on its operands.
    fn dependency(&self) -> Dependency {
        if self.differentiable() { Dependency::Dense } else { Dependency::None }
    }

    /// How Taylor coefficients pass through it.
    fn jet(&self) -> Jet {
        if self.differentiable() { Jet::Nested } else { Jet::Constant }
    }

    /// The derivative in a few words, for tape listings and documents.
    fn rule_text(&self) -> &'static str {
        if self.differentiable() { "" } else { "no gradient" }
    }

    /// What `wengert_testkit::check` tests it on. Those of the primitives here are compiled with the feature `cases`.
    fn cases(&self) -> Vec<Case> {
        Vec::new()
    }
}

impl dyn Primitive {
    /// What it answers to a compiler.
    #[doc(hidden)]
    pub fn lowered(&'static self) -> &'static dyn Lower {
        self.lower().unwrap_or(&lower::Apart)
    }

    /// Whether this is that item. Addresses alone do not say it: items without fields may share one.
    #[doc(hidden)]
    pub fn is(&self, item: &dyn Primitive) -> bool {
        std::ptr::addr_eq(self, item) && Any::type_id(self) == Any::type_id(item)
    }
}

impl std::fmt::Debug for dyn Primitive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

fn missing_rule(name: &str, rule: &str, what: &str) -> Error {
    Error::new(ErrorKind::MissingRule, name, format!("the operation has no {rule} rule, so it cannot be {what}"))
        .help(format!("implement `{rule}` for it"))
}

/// Looks at the operand, or runs the kernel in new memory.
pub fn evaluate<P: Primitive + ?Sized>(
    op: &P,
    attrs: &Attrs,
    operands: &[&Tensor],
    outputs: &[Spec],
) -> Result<Outputs, Error> {
    let view = |layout: &Layout, output: &Spec| op.view(attrs, layout, output);
    let run = |views: &[View<'_>], outputs: &mut [Out<'_>]| op.run(attrs, views, outputs);
    viewed_or_run(op.name(), &view, &run, operands, outputs)
}

/// One copy for all primitives: with a type parameter there would be one for each.
fn viewed_or_run(
    name: &str,
    view: &dyn Fn(&Layout, &Spec) -> Option<Layout>,
    run: &dyn Fn(&[View<'_>], &mut [Out<'_>]) -> Result<bool, Error>,
    operands: &[&Tensor],
    outputs: &[Spec],
) -> Result<Outputs, Error> {
    if let ([x], [output]) = (operands, outputs)
        && let Some(viewed) = x.viewed(|layout| view(layout, output))
    {
        return Ok(smallvec![viewed]);
    }
    let views: SmallVec<[View<'_>; 4]> = operands.iter().map(|operand| operand.value.view()).collect();
    let (results, done) = Tensor::build_all(outputs, |outputs| run(&views, outputs));
    match done? {
        true => Ok(results),
        false => Err(missing_rule(name, "run", "evaluated")),
    }
}

/// Copies what a call looks at; `false` if it is no view of its only operand.
pub fn copy_viewed<P: Primitive + ?Sized>(
    op: &P,
    attrs: &Attrs,
    operands: &[View<'_>],
    outputs: &mut [Out<'_>],
) -> Result<bool, Error> {
    let ([x], [out]) = (operands, outputs) else { return Ok(false) };
    let specs = op.infer(attrs, &[SpecRef { shape: x.shape, dtype: x.dtype }])?;
    let Some(layout) = op.view(attrs, &Layout::of(*x), &specs[0]) else { return Ok(false) };
    copy(layout.over(*x), out.reborrow());
    Ok(true)
}

/// What a primitive that carries programs does with a whole call where others only have rules: values and derivatives come from one
/// run of a larger program.
pub trait Control: Send + Sync {
    /// How a call is recorded for the gradients of the operands `wanted`; `None` if no output depends on them.
    fn record(&'static self, attrs: &Attrs, wanted: Mask) -> Option<Recording>;

    /// Outputs and their tangents.
    fn push(
        &'static self,
        attrs: &Attrs,
        operands: &[&Tensor],
        tangents: &[Option<Tensor>],
        line: Line,
    ) -> Result<(Outputs, Adjoints), Error>;

    /// Whether a trace takes its equations in, in place of one for the call.
    fn is_inlined(&self) -> bool {
        false
    }

    /// How a plan runs it, in the compiler's words; `None` leaves that to its kernel.
    fn flow(&self, _attrs: &Attrs) -> Option<Box<dyn Any>> {
        None
    }

    /// The outputs step by step, on the level of the operands.
    fn unroll(&'static self, attrs: &Attrs, operands: &[Tensor], line: Line) -> Result<Outputs, Error>;
}

/// A function of tensors with its own derivative. Its methods are written with Tensor operations, so they run on any level.
pub trait Function: Send + Sync {
    /// The name in errors and programs.
    fn name(&self) -> &'static str;

    /// What comes out for operands of these specs.
    fn infer(&self, operands: &[SpecRef<'_>]) -> Specs;

    /// Whether `call` reads numbers, as an iteration does to know when to stop. It is then given nothing but numbers: a batch
    /// calls it for every element, a program when it is evaluated. Such a function knows its output specs, and its `forward`
    /// binds it again, to the tensors below.
    fn reads_numbers(&self) -> bool {
        false
    }

    /// Whether a call has an effect besides those of the operations in it; see [`Primitive::effect`]. A function that reads numbers
    /// runs code that nobody can look into, so it has one unless it knows better; another one is traced into its operations.
    fn effect(&self) -> bool {
        self.reads_numbers()
    }

    /// Whether axes in front of those that it needs are a batch, so that a batch is one call.
    fn batches_in_front(&self) -> bool {
        false
    }

    /// The value alone.
    fn call(&self, x: &[Tensor]) -> Vec<Tensor>;

    /// The value, and what the derivative needs.
    fn forward(&self, x: &[Tensor]) -> (Vec<Tensor>, Residual);

    /// Cotangents of the outputs to those of the inputs `wanted`.
    fn pull(&self, residual: &Residual, cotangents: &[Option<Tensor>], wanted: Mask) -> Vec<Option<Tensor>>;

    /// Tangents of the inputs to those of the outputs.
    fn push(&self, residual: &Residual, tangents: &[Option<Tensor>]) -> Vec<Option<Tensor>>;
}

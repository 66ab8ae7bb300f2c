//! A primitive: an operation with all its rules.
//!
//! One trait serves every interpreter. A rule is written with `Tensor` operations, so it can be run, taped, traced and batched unchanged;
//! therefore it never reads a value. There are no privileged operations: a user-defined operation implements the same trait and is bound
//! the same way.

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
pub use crate::error::change_errors;
pub use crate::ground::file_methods::GuardedMulMethods;
pub use crate::location::scope;
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
/// Rules are given exactly what [`saves`](Primitive::saves) declares, so the tape can free the rest. A primitive is a static: rules that
/// bind it again take `&'static self`.
pub trait Primitive: Any + Send + Sync {
    /// The name in programs, errors and the documentation.
    fn name(&self) -> &'static str;

    /// The number of operands of a call.
    fn operands(&self) -> usize;

    /// Whether a call may have `count` operands; a variadic operation, such as concat, has at least `operands()`.
    fn accepts(&self, count: usize) -> bool {
        count == self.operands()
    }

    /// The names of its attributes, in printing order.
    fn attributes(&self) -> &'static [&'static str] {
        &[]
    }

    /// The attributes as parsed from a program's text, with words that name primitives resolved.
    #[doc(hidden)]
    fn named(&self, attrs: Attrs, _find: &dyn Fn(&str) -> Option<&'static dyn Primitive>) -> Attrs {
        attrs
    }

    /// The number of outputs of a call.
    fn outputs(&self, _attrs: &Attrs) -> usize {
        1
    }

    /// The shape and dtype rule: the specs of the outputs, or an error if the operands do not fit.
    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error>;

    /// The layout of the output in the memory of the only operand, if the operation is a view and copies nothing.
    fn view(&self, _attrs: &Attrs, _operand: &Layout, _output: &Spec) -> Option<Layout> {
        None
    }

    /// Writes the outputs into given memory. The operands have passed [`infer`](Primitive::infer), which returned the specs of the outputs.
    /// Returns `false`, without doing anything, if the kernel is a function of tensors; then [`eval`](Primitive::eval) runs instead. The
    /// provided method copies the [`view`](Primitive::view), if the operation is one.
    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        copy_viewed(self, attrs, operands, outputs)
    }

    /// Computes the outputs on `device`. The operands have passed [`infer`](Primitive::infer), which returned `outputs`. The provided
    /// method returns a [`view`](Primitive::view) of the operand, or runs the kernel ([`run`](Primitive::run)) in new memory.
    fn eval(&self, _device: Device, attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        evaluate(self, attrs, operands, outputs)
    }

    /// A shortcut past shape rule and kernel for small calls on operands of equal shape and dtype; `None` if there is none.
    #[inline]
    fn eval_direct(&self, _operands: &[&Tensor]) -> Option<Tensor> {
        None
    }

    /// The same for an update of `target`, if no other handle shares it.
    #[inline]
    fn update_direct(&self, _target: &mut Tensor, _other: &Tensor) -> bool {
        false
    }

    /// Computes the output into `target`, the first operand, which no other handle shares; `false` if that is not possible.
    fn eval_in_place(&self, _attrs: &Attrs, _target: &mut Tensor, _rest: &[&Tensor]) -> Result<bool, Error> {
        Ok(false)
    }

    /// The values and shapes that the rules need to compute gradients of the operands `wanted`.
    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING
    }

    /// Values that can replace a residual in the rules: operands, or the output. They are saved where they are held anyway, so that nothing
    /// extra is kept; rules call [`Rule::has_residual`] and the like to find out what they were given. At most three.
    fn alternatives(&self) -> &'static [Saves] {
        &[]
    }

    /// The non-differentiable value that [`Saves::residual`] requests: a mask or indices.
    fn residual(&'static self, _attrs: &Attrs, _operands: &[&Tensor], _outputs: &[&Tensor]) -> Tensor {
        panic!("{} declares a residual and does not compute it", self.name())
    }

    /// Whether gradients can pass at all.
    fn differentiable(&self) -> bool {
        true
    }

    /// Whether the imperative tape records it. A piecewise constant function is recorded, and has zero gradients.
    #[doc(hidden)]
    fn records(&self) -> bool {
        self.differentiable()
    }

    /// Whether a call does more than compute its outputs: it counts, logs, reads changing state, or returns another result when repeated.
    /// Such a call is made exactly as often as the function makes it, and in that order among calls with an effect: no pass drops, merges,
    /// repeats or moves it, and no budget and no checkpoint repeats it. It has at least one output and no [`view`](Primitive::view). By
    /// default, an operation has the effects of the programs that it carries, and no other.
    fn effect(&self, attrs: &Attrs) -> bool {
        attrs.have_effect()
    }

    /// Maps cotangents of the outputs, which are handed over, to gradients of the wanted operands.
    fn vjp(&'static self, _rule: &Rule<'_>, _cotangents: &mut [Option<Tensor>]) -> Gradients {
        if self.differentiable() {
            missing_rule(self.name(), "vjp", "differentiated in reverse mode").raise();
        }
        Gradients::new()
    }

    /// Whether a call is the square of its operand; for a product, whether it is if both operands are equal.
    #[doc(hidden)]
    fn is_square(&self, _attrs: &Attrs) -> bool {
        false
    }

    /// Maps the cotangent of the square of the output to gradients of the wanted operands, for a root whose square is smooth where the root
    /// itself is not, such as a length.
    #[doc(hidden)]
    fn vjp_of_square(&'static self, _attrs: &Attrs) -> Option<fn(&Rule<'_>, Tensor) -> Gradients> {
        None
    }

    /// The operation as a compiler sees it, if it can be lowered.
    #[doc(hidden)]
    fn lower(&'static self) -> Option<&'static dyn Lower> {
        None
    }

    /// Other operations whose outputs depend on the operands in the same way, if no class of [`Dependency`] describes it: sparsity patterns
    /// are propagated through these. Their values do not matter.
    #[doc(hidden)]
    fn expansion(&'static self, _attrs: &Attrs, _operands: &[Tensor]) -> Option<Vec<Tensor>> {
        None
    }

    /// The function that a call stands for, if it is one with custom rules: interpreters call it as a whole.
    #[doc(hidden)]
    fn function<'a>(&self, _attrs: &'a Attrs) -> Option<&'a Arc<dyn Function>> {
        None
    }

    /// How whole calls are handled, if it carries programs: values and derivatives then come from one run.
    #[doc(hidden)]
    fn control(&'static self) -> Option<&'static dyn Control> {
        None
    }

    /// A shortcut past rule and tape. It takes the cotangent of the only output and passes on the gradients of the operands `wanted`, if
    /// the cotangent and all saved values are small and of equal shape and dtype. Otherwise the cotangent stays.
    #[inline]
    fn vjp_direct(
        &self,
        _wanted: Mask,
        _cotangent: &mut Option<Tensor>,
        _held: Held<'_>,
        _give: &mut dyn FnMut(usize, Tensor),
    ) {
    }

    /// Maps tangents of the operands to tangents of the outputs.
    fn jvp(&'static self, rule: &Rule<'_>, _tangents: &[Option<Tensor>]) -> Adjoints {
        if self.differentiable() {
            missing_rule(self.name(), "jvp", "differentiated in forward mode").raise();
        }
        (0..self.outputs(rule.attrs)).map(|_| None).collect()
    }

    /// The same call on operands that carry a batch of `size` along axis 0 where `batched` says so; every output carries it along axis 0.
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

    /// How Taylor coefficients propagate through it.
    fn jet(&self) -> Jet {
        if self.differentiable() { Jet::Nested } else { Jet::Constant }
    }

    /// The derivative in a few words, for tape listings and the documentation.
    fn rule_text(&self) -> &'static str {
        if self.differentiable() { "" } else { "no gradient" }
    }

    /// The cases that `wengert_testkit::check` tests it on. Those of the primitives here are compiled with the feature `cases`.
    fn cases(&self) -> Vec<Case> {
        Vec::new()
    }
}

impl dyn Primitive {
    /// The operation as a compiler sees it.
    #[doc(hidden)]
    pub fn lowered(&'static self) -> &'static dyn Lower {
        self.lower().unwrap_or(&lower::Apart)
    }

    /// Whether this is that static. Comparing addresses is not enough: statics without fields may share one.
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

/// Returns a view of the operand, or runs the kernel in new memory.
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
    let fill = |outs: &mut [Out<'_>]| {
        with_views(operands, &mut |views| match run(views, outs)? {
            true => Ok(()),
            false => Err(missing_rule(name, "run", "evaluated")),
        })
    };
    match outputs {
        [output] => {
            let mut tensor = Tensor::blank(output);
            fill(&mut [tensor.out()])?;
            Ok(smallvec![tensor])
        }
        _ => {
            let (results, done) = Tensor::build_all(outputs, fill);
            done.map(|()| results)
        }
    }
}

/// Calls `f` with the views of some tensors. Nearly all calls have one or two operands, whose views are written where they are read: in a
/// list, each would be moved right after its fields were written.
#[inline]
fn with_views(tensors: &[&Tensor], f: &mut dyn FnMut(&[View<'_>]) -> Result<(), Error>) -> Result<(), Error> {
    match tensors {
        [x] => f(&[x.value.view()]),
        [x, y] => f(&[x.value.view(), y.value.view()]),
        _ => {
            let views: SmallVec<[View<'_>; 4]> = tensors.iter().map(|tensor| tensor.value.view()).collect();
            f(&views)
        }
    }
}

/// Copies the view of a call; `false` if it is not a view of its only operand.
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

/// How a primitive that carries programs handles a whole call, where others only have rules: values and derivatives come from one run of a
/// larger program.
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

    /// Whether a trace inlines its equations instead of one equation for the call.
    fn is_inlined(&self) -> bool {
        false
    }

    /// How a plan runs it, as a type of the compiler; `None` leaves that to its kernel.
    fn flow(&self, _attrs: &Attrs) -> Option<Box<dyn Any>> {
        None
    }

    /// Computes the outputs step by step, on the level of the operands.
    fn unroll(&'static self, attrs: &Attrs, operands: &[Tensor], line: Line) -> Result<Outputs, Error>;
}

/// A function of tensors with its own derivative. Its methods are written with Tensor operations, so they run on any level.
pub trait Function: Send + Sync {
    /// The name in errors and programs.
    fn name(&self) -> &'static str;

    /// The specs of the outputs for operands of these specs.
    fn infer(&self, operands: &[SpecRef<'_>]) -> Specs;

    /// Whether `call` reads values, as an iteration does to decide when to stop. It is then only given plain values: a batch calls it for
    /// every element, a program when it is evaluated. Such a function knows its output specs, and its `forward` binds it again, to the
    /// tensors below.
    fn reads_numbers(&self) -> bool {
        false
    }

    /// Whether a call has an effect besides those of the operations in it; see [`Primitive::effect`]. A function that reads values runs
    /// opaque code, so by default it has one; any other function is traced into its operations.
    fn effect(&self) -> bool {
        self.reads_numbers()
    }

    /// Whether additional leading axes are a batch, so that a batch is one call.
    fn batches_in_front(&self) -> bool {
        false
    }

    /// Computes the value only.
    fn call(&self, x: &[Tensor]) -> Vec<Tensor>;

    /// Computes the value and the residual for the derivative.
    fn forward(&self, x: &[Tensor]) -> (Vec<Tensor>, Residual);

    /// Maps cotangents of the outputs to cotangents of the inputs `wanted`.
    fn pull(&self, residual: &Residual, cotangents: &[Option<Tensor>], wanted: Mask) -> Vec<Option<Tensor>>;

    /// Maps tangents of the inputs to tangents of the outputs.
    fn push(&self, residual: &Residual, tangents: &[Option<Tensor>]) -> Vec<Option<Tensor>>;
}

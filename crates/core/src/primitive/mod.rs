//! A primitive: an operation with all its rules.
//!
//! One trait serves every interpreter. A rule is written with `Tensor` operations, so it can be run, taped, traced and
//! batched unchanged; therefore it never reads a value. There are no privileged operations: a user's own operation
//! implements the same trait and is bound the same way.

mod attrs;
mod case;
mod control;
mod evaluate;
mod expression;
mod function;
mod mask;
mod rule;
mod saved;

#[doc(hidden)]
pub use attrs::wrong;
pub use attrs::{Attr, AttrValue, Attrs};
pub use case::{Case, Sample};
pub use control::{Control, Recording};
pub use evaluate::view_of;
#[doc(hidden)]
pub use evaluate::{copy_viewed, evaluate};
#[doc(hidden)]
pub use expression::Expression;
pub use function::{Form, Function, Residual};
pub use mask::Mask;
#[doc(hidden)]
pub use rule::Kept;
pub use rule::{Rule, Saves};
pub use saved::Held;
#[doc(hidden)]
pub use saved::Saved;

pub use crate::bind::{bind, bind1};
use crate::rules::Elementwise;
pub use crate::tensor::Layout;
use crate::{DType, Error, ErrorKind, Shape, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;
use wengert_kernels::tiled::{Fold, Lane};
pub use wengert_kernels::view::{Out, View};

/// Where a tensor's numbers live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Device {
    /// The memory of this machine.
    #[default]
    Cpu,
}

/// What is known of a tensor before it has numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spec {
    /// The sizes of its axes.
    pub shape: Shape,
    /// The kind of its numbers.
    pub dtype: DType,
}

impl Spec {
    /// A spec from its parts.
    ///
    /// ```
    /// use wengert::{prelude::*, primitive::Spec};
    /// assert_eq!(Spec::new([2, 3], DType::F32).to_string(), "f32[2, 3]");
    /// ```
    pub fn new(shape: impl Into<Shape>, dtype: DType) -> Spec {
        Spec { shape: shape.into(), dtype }
    }

    /// The borrowed form.
    pub fn as_ref(&self) -> SpecRef<'_> {
        SpecRef { shape: &self.shape, dtype: self.dtype }
    }

    /// The bytes that its numbers take.
    pub fn bytes(&self) -> usize {
        self.shape.elements() * self.dtype.size()
    }
}

impl std::fmt::Display for Spec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.dtype, self.shape)
    }
}

/// A borrowed [`Spec`], which costs nothing to make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpecRef<'a> {
    /// The sizes of its axes.
    pub shape: &'a [usize],
    /// The kind of its numbers.
    pub dtype: DType,
}

impl SpecRef<'_> {
    /// The owned form.
    pub fn to_spec(self) -> Spec {
        Spec { shape: Shape::from(self.shape), dtype: self.dtype }
    }
}

/// The results of one call; nearly always one.
pub type Outputs = SmallVec<[Tensor; 1]>;

/// The specs of the results of one call.
pub type Specs = SmallVec<[Spec; 1]>;

/// The tangents or cotangents of a call's results; `None` is a zero that need not be touched.
pub type Adjoints = SmallVec<[Option<Tensor>; 1]>;

/// The gradients of a call's operands.
pub type Gradients = SmallVec<[Gradient; 2]>;

/// What a rule contributes to the cotangent of one operand.
#[derive(Debug)]
pub enum Gradient {
    /// Nothing: a structural zero.
    Zero,
    /// A tensor of the operand's shape.
    Dense(Tensor),
    /// A part of the operand: `op(base, values..)` with the operand's cotangent so far, or zeros of `spec`, as base. The
    /// base is handed over, so a loop that takes an array apart is linear and not quadratic.
    Patch(Box<Patch>),
}

/// A contribution to a part of a cotangent.
#[derive(Debug)]
pub struct Patch {
    /// A primitive that adds to its first operand, such as `slice_add`.
    pub op: &'static dyn Primitive,
    /// Its attributes.
    pub attrs: Attrs,
    /// Its other operands.
    pub values: SmallVec<[Tensor; 2]>,
    /// What the first operand is when nothing has arrived yet.
    pub spec: Spec,
}

/// The work of one call.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Cost {
    /// Arithmetic operations.
    pub flops: f64,
    /// Bytes read and written.
    pub bytes: f64,
}

/// Which operand elements an output element depends on; sparsity patterns are propagated by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependency {
    /// Output element i depends on element i of every operand.
    Elementwise,
    /// Every output element is a copy of one operand element or a constant; positions are whole numbers.
    Movement,
    /// Every operand element is added to one output element or to none, so that the rule only copies cotangents.
    Accumulation,
    /// Output elements depend on the operand elements along the reduced axes, which the attribute `axes` or `axis` names.
    Reduction,
    /// Output element (.., i, j) depends on row i of the first operand, on column j of the second, or on its row j if it
    /// is multiplied transposed, and on element j of what is added.
    Product {
        /// Whether columns of the result come from rows of the second operand.
        transposed: bool,
    },
    /// Output elements depend on everything in this many last axes of the operands, at the same position of the axes
    /// before them.
    Blocks(usize),
    /// Every output element may depend on everything.
    Dense,
    /// Outputs do not depend differentiably on anything.
    None,
}

/// How Taylor coefficients pass through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jet {
    /// Coefficient by coefficient: the operation is linear.
    Linear,
    /// The product rule over coefficients of the first two operands, with which alone it can be called; those of others, such as a
    /// bias, are added.
    Bilinear,
    /// By division of series: the operation is linear in its operands but this one, and the tangent in this one is linear in the
    /// output, as in x / y or A^-1 b.
    Quotient(usize),
    /// By the same operation on a larger matrix: it is a power series of one square matrix, or of each of a batch.
    MatrixFunction,
    /// By the differential equation that the slope gives.
    Slope,
    /// By the differential equation that the tangent rule gives, as for a slope, where the operation is not elementwise.
    Nested,
    /// Only the value passes.
    Constant,
}

/// An operation with all its rules.
///
/// Rules are handed exactly what [`saves`](Primitive::saves) declares, so the tape can free the rest. A primitive is a static:
/// rules that bind it again take `&'static self`.
pub trait Primitive: Send + Sync + 'static {
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

    /// The operation as an instruction of a fused loop, for operands and an output of these dtypes, if it is elementwise.
    #[doc(hidden)]
    fn lane(&'static self, _attrs: &Attrs, _operands: &[DType], _output: DType) -> Option<Lane> {
        None
    }

    /// The same instruction as text, if it can be had.
    #[doc(hidden)]
    fn expression(&'static self, _attrs: &Attrs, _operands: &[DType], _output: DType) -> Option<Expression> {
        None
    }

    /// Whether its kernel completes a large result part by part, so that a fused loop can follow it.
    #[doc(hidden)]
    fn leads(&self) -> bool {
        false
    }

    /// How a fused loop folds its operand along `axes`, if it is such a reduction.
    #[doc(hidden)]
    fn fold(&self) -> Option<Fold> {
        None
    }

    /// Itself, if every gradient is the cotangent times a slope, element by element: a sweep gathers the slopes of
    /// neighbours then.
    #[doc(hidden)]
    fn elementwise(&'static self) -> Option<&'static Elementwise> {
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

impl std::fmt::Debug for dyn Primitive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

fn missing_rule(name: &str, rule: &str, what: &str) -> Error {
    Error::new(ErrorKind::MissingRule, name, format!("the operation has no {rule} rule, so it cannot be {what}"))
        .help(format!("implement `{rule}` for it"))
}

/// One flop per output element, everything read and written once.
pub fn streaming_cost(operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
    let read: usize = operands.iter().map(|spec| spec.shape.iter().product::<usize>() * spec.dtype.size()).sum();
    let written: usize = outputs.iter().map(Spec::bytes).sum();
    let flops: usize = outputs.iter().map(|spec| spec.shape.elements()).sum();
    Cost { flops: flops as f64, bytes: (read + written) as f64 }
}

/// The error of two dtypes that should be one, naming the cast.
pub fn expect_same_dtype(name: &str, a: DType, b: DType) -> Result<(), Error> {
    if a == b {
        return Ok(());
    }
    Err(Error::new(ErrorKind::DType(vec![a, b]), name, format!("dtypes differ: {a} and {b}"))
        .help(format!("convert one side, for example with .cast(DType::{b:?})")))
}

/// The error of truth values in an operation on numbers.
pub fn expect_arithmetic(name: &str, dtype: DType) -> Result<(), Error> {
    if dtype != DType::Bool {
        return Ok(());
    }
    Err(Error::new(ErrorKind::DType(vec![dtype]), name, "truth values have no arithmetic")
        .help("convert them first, for example with .cast(DType::I64)"))
}

/// The error of a dtype without derivatives in an operation on real numbers.
pub fn expect_float(name: &str, dtype: DType) -> Result<(), Error> {
    if dtype.is_float() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::DType(vec![dtype]), name, format!("needs a floating-point tensor, got {dtype}"))
        .help("convert it first, for example with .cast(DType::F64)"))
}

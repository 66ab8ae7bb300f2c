//! What holds what: tensors, levels, records of the reverse graph, and what rules are given. Their methods are in the files that
//! are about them; the traits that these types lead to, and that lead back to them, are in `primitive`.

use crate::location::Line;
use crate::primitive::{Attrs, Control, Function, Mask, Primitive, Saves, Spec};
use crate::tensor::Layout;
use crate::{DType, Error};
use smallvec::SmallVec;
use std::any::Any;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, Weak};
use wengert_kernels::pool::Block;

/// An n-dimensional array of numbers that can be differentiated.
///
/// A tensor is a value: cloning is cheap, `&mut` methods update in place when nobody else holds the numbers and copy
/// otherwise, so aliases never observe each other's writes.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([1.0, 2.0, 3.0]).require_grad();
/// let y = (&x * &x).sum();
/// y.backward();
/// assert_eq!(x.grad().unwrap(), Tensor::from([2.0, 4.0, 6.0]));
/// ```
#[derive(Clone)]
pub struct Tensor {
    #[doc(hidden)]
    pub value: Value,
    /// The record that made it, on the imperative tape.
    #[doc(hidden)]
    pub link: Option<Arc<Node>>,
    /// Where its gradient is put: the user's handles own it, the reverse graph refers to it weakly.
    #[doc(hidden)]
    pub slot: Option<Arc<GradientSlot>>,
}

/// The numbers of a tensor, or what stands for them inside a transform.
#[derive(Clone)]
pub enum Value {
    One(One),
    Dense(Dense),
    Array(Arc<Array>),
    Tracer(Arc<Tracer>),
}

/// One element, held without allocation; its shape is `[1; rank]`.
///
/// Tensors are moved in every call, and the dtype also says which kind of value there is. Beside other members of whole words a move is
/// made of loads that each read what one store wrote; with bytes at odd places it waits for the stores.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct One {
    pub bits: u64,
    pub dtype: DType,
    pub rank: u32,
}

/// Several elements, or none, in any layout over a shared block of memory.
pub struct Array {
    pub dtype: DType,
    pub layout: Layout,
    pub block: Block,
}

/// Vectors and matrices in row-major order: the block holds the shape beside the numbers, so that a result is one
/// allocation. The block's mark is `rank << 8 | dtype`, its words are `[rows, columns, 1]`: the last `rank` sizes, and
/// shifted by one their strides.
#[derive(Clone)]
pub struct Dense(pub(crate) Block);

/// One running transform.
pub struct Level {
    pub id: u64,
    /// The transform's name, for errors.
    pub name: &'static str,
    /// What it does with operations on its tensors.
    pub interpreter: Box<dyn Interpreter>,
    pub(crate) opened_at: Line,
    pub(crate) closed: AtomicBool,
}

/// A tensor of a level: what the interpreter knows instead of numbers.
pub struct Tracer {
    pub level: Arc<Level>,
    pub spec: Spec,
    pub content: Content,
    pub(crate) made_at: Line,
}

/// What each interpreter attaches to a tensor of lower level.
pub enum Content {
    /// The value, and the record that made it.
    Reverse { primal: Tensor, node: Arc<Node> },
    /// The value, and its tangent.
    Tangent { primal: Tensor, tangent: Tensor },
    /// All values of the batch, along axis 0.
    Batch { values: Tensor },
    /// A variable of the program being built, by its number.
    Symbol { number: u32 },
    /// The value, and what another interpreter knows of it.
    Attached { primal: Tensor, with: Box<dyn Any + Send + Sync> },
}

/// An interpreter that a level is opened with. Operands are of the level, or below it.
pub trait Interpreter: Any + Send + Sync {
    /// Applies an operation.
    fn apply(
        &self,
        level: &Arc<Level>,
        op: &'static dyn Primitive,
        attrs: Attrs,
        operands: &[&Tensor],
        line: Line,
    ) -> Result<Outputs, Error>;

    /// Applies a function with rules of its own.
    fn apply_function(
        &self,
        level: &Arc<Level>,
        _function: &Arc<dyn Function>,
        op: &'static dyn Primitive,
        attrs: &Attrs,
        operands: &[&Tensor],
        line: Line,
    ) -> Result<Outputs, Error> {
        self.apply(level, op, attrs.clone(), operands, line)
    }

    /// Applies an operation that carries programs: unless told, by the operations of its programs.
    fn apply_control(
        &self,
        _level: &Arc<Level>,
        control: &'static dyn Control,
        _op: &'static dyn Primitive,
        attrs: Attrs,
        operands: &[&Tensor],
        line: Line,
    ) -> Result<Outputs, Error> {
        unroll(control, &attrs, operands, line)
    }

    /// Whether it also handles operations under `no_grad`; a derivative is not there then.
    fn handles_stopped(&self) -> bool {
        false
    }

    /// What stands for an operand under `no_grad`.
    fn stopped(&self, level: &Arc<Level>, operand: &Tensor, _line: Line) -> Tensor {
        Tracer::at(operand, level).and_then(Content::primal).unwrap_or(operand).clone()
    }
}

/// A call of an operation that carries programs, as the operations of its programs.
pub fn unroll(
    control: &'static dyn Control,
    attrs: &Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    let operands: SmallVec<[Tensor; 4]> = operands.iter().map(|&operand| operand.clone()).collect();
    control.unroll(attrs, &operands, line)
}

/// What a record stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Where differentiation ends: a tensor that requires a gradient, or the input of a transform.
    Leaf,
    /// A call.
    Operation,
    /// One of several outputs of the call that is its only edge.
    Output(usize),
}

/// A record of the reverse graph.
pub struct Node {
    pub(crate) tag: AtomicU64,
    pub(crate) call: Call,
    pub line: Line,
    pub(crate) edges: Edges,
    pub(crate) state: Mutex<State>,
}

/// Most calls have no attributes; the others share one allocation with their primitive.
pub(crate) enum Call {
    Plain(&'static dyn Primitive),
    With(Option<Arc<(&'static dyn Primitive, Attrs)>>),
}

/// `None` where the operand needs no gradient.
pub(crate) enum Edges {
    Two([Option<Arc<Node>>; 2]),
    Many(Box<[Option<Arc<Node>>]>),
}

pub(crate) struct State {
    pub(crate) saved: SavedList,
    pub(crate) extras: Option<Box<Extras>>,
}

pub(crate) enum SavedList {
    Two([Saved; 2]),
    Many(Box<[Saved]>),
}

/// What few records have.
#[derive(Default)]
pub struct Extras {
    pub hooks: Vec<Hook>,
    pub slot: Weak<GradientSlot>,
    /// While values are recorded: the output, its adjoint, and what each operand received.
    pub value: Option<Tensor>,
    pub adjoint: Option<Tensor>,
    pub contributions: Vec<Option<Tensor>>,
    pub records_values: bool,
    /// The records of a call's several outputs, so that a saved output is re-attached where the user's handle is.
    pub outputs: Vec<Weak<Node>>,
}

/// One thing kept from the forward pass.
#[derive(Clone)]
pub enum Saved {
    /// Nothing was asked for, or it has been used up.
    Nothing,
    /// The numbers, or a tensor of a lower level.
    Held(Value),
    /// A tensor with a place in the imperative graph, saved by a level above it.
    Linked(Box<Tensor>),
    /// What a hook made of the numbers, or a promise to compute them again.
    Packed(Arc<Box<dyn Packed>>),
    /// Shape and dtype only.
    Shape(Box<Spec>),
}

/// What a record kept, read where it stands, in the order operands, shapes, outputs, residual.
#[derive(Clone, Copy)]
pub struct Held<'a>(pub &'a [Saved]);

/// What stands for a saved value.
pub trait Packed: Send + Sync {
    /// The value again.
    fn unpack(&self) -> Result<Tensor, Error>;

    /// The value again, an input of a region that what `level` saves is asked of.
    fn unpack_input(&self, _level: u64) -> Result<Tensor, Error> {
        self.unpack()
    }
}

/// A function on complete adjoints.
pub type Hook = Arc<dyn Fn(&Tensor) -> Option<Tensor> + Send + Sync>;

/// A function on committed gradients.
pub(crate) type AccumulateHook = Arc<dyn Fn(&Tensor) + Send + Sync>;

/// Where `backward` puts a tensor's gradient. User handles own it; the graph refers to it weakly.
#[derive(Default)]
pub struct GradientSlot {
    pub(crate) gradient: Mutex<Option<Tensor>>,
    pub(crate) after: Mutex<Vec<AccumulateHook>>,
    /// Whether a program captured the leaf, and what became of its value since.
    pub(crate) is_followed: AtomicBool,
    pub(crate) followed: Mutex<Followed>,
    /// Where a handle of a leaf was updated under grad mode: it is a result since, and no gradient reaches this slot, its own.
    pub(crate) orphaned: Option<Line>,
}

/// The updates of a leaf inside `no_grad` since a program captured it.
#[derive(Default)]
pub(crate) struct Followed {
    pub(crate) seen: Seen,
    pub(crate) value: Option<Value>,
}

/// How often a leaf was updated, and how often while it had several handles, whose values may differ.
#[derive(Clone, Copy, Default)]
pub struct Seen {
    pub(crate) updates: u64,
    pub(crate) ambiguous: u64,
}

/// The results of one call; nearly always one.
pub type Outputs = SmallVec<[Tensor; 1]>;

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

/// One thing a rule was given.
#[derive(Clone, Debug)]
pub enum Kept {
    /// A tensor.
    Value(Tensor),
    /// Its shape and dtype.
    Shape(Box<Spec>),
}

/// The view that a rule has of the call it differentiates.
pub struct Rule<'a> {
    /// The name of the operation, for errors.
    pub name: &'static str,
    /// The attributes of the call.
    pub attrs: &'a Attrs,
    pub(crate) wanted: Mask,
    pub(crate) saves: Saves,
    pub(crate) kept: SmallVec<[Kept; 2]>,
    /// Whether a value was not there until now: it is to be let go of when the rule is done.
    pub(crate) is_restored: bool,
    /// The places that were read, by bits; those from 63 on share one.
    pub(crate) read: Cell<u64>,
}

/// A call that is made in place of another where that is to be pulled back.
pub struct Recording {
    /// The attributes of the call: its first outputs are those of the other, what the pullback needs follows.
    pub call: Attrs,
    /// An operand of the call besides those of the other.
    pub more: Option<Tensor>,
    /// The attributes of the record, which know how to pull back.
    pub record: Attrs,
    /// For each output of the other call whether it depends on the operands that are wanted.
    pub reached: Vec<bool>,
}

/// What is known besides tensors: structures of trees, numbers of steps.
pub type Form = Arc<dyn Any + Send + Sync>;

/// What a forward pass leaves for the derivative.
#[derive(Clone)]
pub struct Residual {
    /// Tensors of the levels that the inputs had.
    pub tensors: Vec<Tensor>,
    /// Everything else.
    pub form: Form,
}

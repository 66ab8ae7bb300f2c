//! The data types: tensors, levels, records of the reverse graph, and the inputs of rules. Their methods are in the files of their topics;
//! the traits that refer to these types, and that they refer to, are in `primitive`.

use crate::location::Line;
use crate::primitive::{Attrs, Control, Device, Function, Mask, Primitive, Saves, Spec};
use crate::tensor::Layout;
use crate::{DType, Error};
use smallvec::SmallVec;
use std::any::Any;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use wengert_kernels::pool::Block;

/// An n-dimensional array of numbers that can be differentiated.
///
/// A tensor is a value. Cloning is cheap. `&mut` methods update in place when no other handle shares the elements and copy otherwise, so
/// aliases never observe each other's writes.
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
    /// The record that produced it, on the imperative tape.
    #[doc(hidden)]
    pub link: Option<Arc<Node>>,
    /// The slot for its gradient: user handles own it, the reverse graph refers to it weakly.
    #[doc(hidden)]
    pub slot: Option<Arc<GradientSlot>>,
}

/// The elements of a tensor, or their stand-in inside a transform.
#[derive(Clone)]
pub enum Value {
    One(One),
    Dense(Dense),
    Array(Arc<Array>),
    Device(Arc<Remote>),
    Tracer(Arc<Tracer>),
}

/// One element, stored without allocation; its shape is `[1; rank]`.
///
/// Tensors are moved in every call, and the dtype doubles as the tag of the value enum. With word-sized members, each load of a move reads
/// what a single store wrote (store forwarding); with bytes at odd offsets it stalls on the stores.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct One {
    pub bits: u64,
    pub dtype: DType,
    pub rank: u32,
}

/// Any number of elements in any layout over a shared block of memory.
pub struct Array {
    pub dtype: DType,
    pub layout: Layout,
    pub block: Block,
}

/// Row-major elements in the memory of a device.
pub trait DeviceMemory: Any + Send + Sync {
    /// Where it is.
    fn device(&self) -> Device;

    /// Waits until the elements are written, and copies them.
    fn read(&self, bytes: &mut [u8]) -> Result<(), Error>;
}

/// Elements in the memory of a device, and their copy in this machine's memory once it was asked for.
pub struct Remote {
    pub spec: Spec,
    pub memory: Arc<dyn DeviceMemory>,
    pub(crate) host: OnceLock<Tensor>,
}

/// Vectors and matrices in row-major order. The block holds the shape next to the elements, so that a result is one allocation. The block's
/// mark is `rank << 8 | dtype`. Its words are `[rows, columns, 1]`: the last `rank` of the sizes, and shifted by one, their strides.
#[derive(Clone)]
pub struct Dense(pub(crate) Block);

/// One running transform.
pub struct Level {
    pub id: u64,
    /// The transform's name, for errors.
    pub name: &'static str,
    /// How it handles operations on its tensors.
    pub interpreter: Box<dyn Interpreter>,
    pub(crate) opened_at: Line,
    pub(crate) closed: AtomicBool,
}

/// A tensor of a level: the data of its interpreter instead of elements.
pub struct Tracer {
    pub level: Arc<Level>,
    pub spec: Spec,
    pub content: Content,
    pub(crate) made_at: Line,
}

/// The data that each interpreter attaches to a tensor of a lower level.
pub enum Content {
    /// The value, and the record that produced it.
    Reverse { primal: Tensor, node: Arc<Node> },
    /// The value, and its tangent.
    Tangent { primal: Tensor, tangent: Tensor },
    /// All values of the batch, stacked along axis 0.
    Batch { values: Tensor },
    /// A variable of the program being built, by its number.
    Symbol { number: u32 },
    /// The value, and data of another interpreter.
    Attached { primal: Tensor, with: Box<dyn Any + Send + Sync> },
}

/// An interpreter that a level is opened with. Operands belong to the level or lie below it.
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

    /// Applies a function with custom rules.
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

    /// Applies an operation that carries programs; by default, by applying the operations of its programs.
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

    /// Whether it also handles operations under `no_grad`; derivative levels are skipped there.
    fn handles_stopped(&self) -> bool {
        false
    }

    /// The stand-in for an operand under `no_grad`.
    fn stopped(&self, level: &Arc<Level>, operand: &Tensor, _line: Line) -> Tensor {
        Tracer::at(operand, level).and_then(Content::primal).unwrap_or(operand).clone()
    }
}

/// Runs a call of an operation that carries programs as the operations of its programs.
pub fn unroll(
    control: &'static dyn Control,
    attrs: &Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    let operands: SmallVec<[Tensor; 4]> = operands.iter().map(|&operand| operand.clone()).collect();
    control.unroll(attrs, &operands, line)
}

/// The role of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Where differentiation ends: a tensor that requires a gradient, or the input of a transform.
    Leaf,
    /// A call.
    Operation,
    /// One of several outputs of a call, which is its only edge.
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

/// Data that few records have.
#[derive(Default)]
pub struct Extras {
    pub hooks: Vec<Hook>,
    pub slot: Weak<GradientSlot>,
    /// While values are recorded: the operands, the output, its adjoint, and the contributions to the operands.
    pub operands: Vec<Tensor>,
    pub value: Option<Tensor>,
    pub adjoint: Option<Tensor>,
    pub contributions: Vec<Option<Tensor>>,
    pub records_values: bool,
    /// The records of a call's several outputs, so that a saved output is reattached to the same record as the user's handle.
    pub outputs: Vec<Weak<Node>>,
    /// How the call is repeated, within a memory budget.
    pub(crate) recipe: Option<Box<Recipe>>,
}

/// How a call is made again within a memory budget, and where its results are.
pub struct Recipe {
    /// The outputs, and the residual at the end if there is one.
    pub(crate) slots: SmallVec<[Arc<Slot>; 2]>,
    pub(crate) inputs: Arc<Inputs>,
    pub(crate) has_residual: bool,
}

/// The operands of a call that no slot holds; `None` when the call cannot be made again any more.
pub struct Inputs(pub(crate) Mutex<Option<Given>>);

pub(crate) type Given = SmallVec<[Option<Tensor>; 2]>;

/// Where a value of a call is, or was.
pub struct Slot {
    pub(crate) made_by: OnceLock<Weak<Node>>,
    /// The other operands of the call.
    pub(crate) inputs: Arc<Inputs>,
    /// The slots of the operands of the call.
    pub(crate) operands: SmallVec<[Weak<Slot>; 2]>,
    /// The work of the call.
    pub(crate) cost: f64,
    /// The size of the value.
    pub(crate) bytes: usize,
    pub(crate) state: Mutex<SlotState>,
}

pub(crate) struct SlotState {
    pub(crate) value: Option<Tensor>,
    /// The number of records that save the value.
    pub(crate) users: usize,
    /// The time of the last use.
    pub(crate) used: u64,
    /// Whether the value stays until the record is used up: others are computed from it, and it cannot be computed again.
    pub(crate) is_pinned: bool,
}

/// One value kept from the forward pass.
#[derive(Clone)]
pub enum Saved {
    /// Nothing was requested, or it has been consumed.
    Nothing,
    /// The elements, or a tensor of a lower level.
    Held(Value),
    /// A tensor with a node in the imperative graph, saved by a level above it.
    Linked(Box<Tensor>),
    /// A value packed by a hook, or a promise to recompute it.
    Packed(Arc<Box<dyn Packed>>),
    /// Shape and dtype only.
    Shape(Box<Spec>),
}

/// The saved values of a record, borrowed in place, in the order operands, shapes, outputs, residual.
#[derive(Clone, Copy)]
pub struct Held<'a>(pub &'a [Saved]);

/// A stand-in for a saved value.
pub trait Packed: Send + Sync {
    /// Restores the value.
    fn unpack(&self) -> Result<Tensor, Error>;

    /// Restores the value as an input of a region whose values saved by `level` are requested.
    fn unpack_input(&self, _level: u64) -> Result<Tensor, Error> {
        self.unpack()
    }
}

/// A function of complete adjoints.
pub type Hook = Arc<dyn Fn(&Tensor) -> Option<Tensor> + Send + Sync>;

/// A function of accumulated gradients.
pub(crate) type AccumulateHook = Arc<dyn Fn(&Tensor) + Send + Sync>;

/// The slot where `backward` puts a tensor's gradient. User handles own it; the graph refers to it weakly.
#[derive(Default)]
pub struct GradientSlot {
    pub(crate) gradient: Mutex<Option<Tensor>>,
    pub(crate) after: Mutex<Vec<AccumulateHook>>,
    /// Whether a program captured the leaf, and how its value has changed since.
    pub(crate) is_followed: AtomicBool,
    pub(crate) followed: Mutex<Followed>,
    /// The line where a handle of a leaf was updated under grad mode. The handle is a result since then, and no gradient reaches this slot.
    pub(crate) orphaned: Option<Line>,
}

/// The updates of a leaf inside `no_grad` since a program captured it.
#[derive(Default)]
pub(crate) struct Followed {
    pub(crate) seen: Seen,
    pub(crate) value: Option<Value>,
}

/// How often a leaf was updated, and how often while it had several handles with possibly different values.
#[derive(Clone, Copy, Default)]
pub struct Seen {
    pub(crate) updates: u64,
    pub(crate) ambiguous: u64,
}

/// The results of one call, nearly always one.
pub type Outputs = SmallVec<[Tensor; 1]>;

/// The tangents or cotangents of a call's results; `None` is a structural zero.
pub type Adjoints = SmallVec<[Option<Tensor>; 1]>;

/// The gradients of a call's operands.
pub type Gradients = SmallVec<[Gradient; 2]>;

/// The contribution of a rule to the cotangent of one operand.
#[derive(Debug)]
pub enum Gradient {
    /// Nothing: a structural zero.
    Zero,
    /// A tensor of the operand's shape.
    Dense(Tensor),
    /// A part of the operand: `op(base, values..)`, where the base is the operand's cotangent so far, or zeros of `spec`. The base is
    /// handed over, so a loop that slices an array takes linear instead of quadratic time.
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
    /// The spec of the first operand, for when nothing has arrived yet.
    pub spec: Spec,
}

/// One value that a rule is given.
#[derive(Clone, Debug)]
pub enum Kept {
    /// A tensor.
    Value(Tensor),
    /// Its shape and dtype.
    Shape(Box<Spec>),
}

/// A rule's view of the call that it differentiates.
pub struct Rule<'a> {
    /// The name of the operation, for errors.
    pub name: &'static str,
    /// The attributes of the call.
    pub attrs: &'a Attrs,
    pub(crate) wanted: Mask,
    pub(crate) saves: Saves,
    pub(crate) kept: SmallVec<[Kept; 2]>,
    /// Whether a value was restored for this rule, so that it should be dropped when the rule is done.
    pub(crate) is_restored: bool,
    /// A bit for each saved value that was read; those from 63 on share one.
    pub(crate) read: Cell<u64>,
}

/// A call that replaces another one when that is recorded for a pullback.
pub struct Recording {
    /// The attributes of the call. Its first outputs are those of the replaced call, followed by the values that the pullback needs.
    pub call: Attrs,
    /// An additional operand of the call.
    pub more: Option<Tensor>,
    /// The attributes of the record, which describe the pullback.
    pub record: Attrs,
    /// For each output of the replaced call, whether it depends on the wanted operands.
    pub reached: Vec<bool>,
}

/// Data other than tensors: structures of trees, numbers of steps.
pub type Form = Arc<dyn Any + Send + Sync>;

/// The values that a forward pass leaves for the derivative.
#[derive(Clone)]
pub struct Residual {
    /// Tensors of the same levels as the inputs.
    pub tensors: Vec<Tensor>,
    /// Everything else.
    pub form: Form,
}

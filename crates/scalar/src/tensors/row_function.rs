//! A recorded scalar function as a tensor operation.
//!
//! The operation maps rows to rows. Its derivatives are operations of the same kind, on rows concatenated with their cotangents or
//! tangents. While a program is traced, operands have no values yet; the operation runs when the program does.

use crate::replay::{Symbols, pulled, pushed};
use crate::{Replay, Returned, Symbol};
use std::cell::RefCell;
use std::panic::Location;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use wengert_engine::foreign::{Function, Residual, bind_function};
use wengert_engine::methods::*;
use wengert_engine::primitive::{Mask, Spec, SpecRef, Specs};
use wengert_engine::{DType, Error, ErrorKind, Shape, Tensor};

/// A recorded function along the last axis of tensors: every row is a point. See [`Replay::into_rows`].
#[derive(Clone)]
pub struct RowFunction {
    operation: Arc<Operation>,
    /// Whether the function returns a single number, so that the result lacks the last axis.
    is_one: bool,
}

impl<Y: Returned, F: Fn(&[Symbol]) -> Y + Send + Sync + 'static> Replay<F> {
    /// Turns the function into a tensor operation. Every row along the last axis is one set of inputs, and is replaced by the row of
    /// outputs, or by a single number if the function returns one. The operation can be differentiated in any mode and to any order,
    /// batched and compiled. Rows are computed in lanes, each on the path that it takes.
    ///
    /// ```
    /// use wengert_engine::{Tensor, grad};
    /// use wengert_scalar::{Real, Replay, Symbol};
    ///
    /// /// The energy of a spring that does not push.
    /// fn energy(ends: &[Symbol]) -> Symbol {
    ///     let stretch = ends[1] - ends[0] - 1.0;
    ///     if stretch > 0.0 { 0.5 * stretch * stretch } else { Symbol::lit(0.0) }
    /// }
    ///
    /// let energy = Replay::record(energy, &[0.0, 2.0]).into_rows();
    /// let springs = Tensor::from([[0.0, 3.0], [0.0, 0.5]]);
    /// assert_eq!(energy.call(&springs), Tensor::from([2.0, 0.0]));
    /// let force = grad(|x: &Tensor| energy.call(x).sum());
    /// assert_eq!(force(&springs), Tensor::from([[-2.0, 2.0], [0.0, 0.0]]));
    /// assert_eq!(energy.recordings(), 2);
    /// ```
    pub fn into_rows(self) -> RowFunction {
        let (inputs, outputs) = (self.inputs(), self.outputs());
        let (function, replay) = self.shared();
        let operation = Operation::new(inputs, outputs, function, Some(replay));
        RowFunction { operation, is_one: Y::IS_ONE }
    }
}

impl RowFunction {
    /// Applies the function to every row.
    #[track_caller]
    pub fn call(&self, x: &Tensor) -> Tensor {
        let inputs = self.operation.inputs;
        if x.shape().last() != Some(&inputs) || !x.dtype().is_float() {
            let message = format!("the function takes rows of {inputs} floats, not {}{:?}", x.dtype(), x.shape());
            let kind = match x.dtype().is_float() {
                true => ErrorKind::Shape(vec![Shape::from(x.shape())]),
                false => ErrorKind::DType(vec![x.dtype()]),
            };
            Error::new(kind, "rows", message).at(Location::caller()).raise();
        }
        let y = self.operation.bind(&x.cast(DType::F64)).cast(x.dtype());
        if self.is_one { y.squeeze_axes(&[-1]) } else { y }
    }

    /// How often the function was recorded for its values: once, plus once for every new path.
    #[track_caller]
    pub fn recordings(&self) -> usize {
        match self.operation.with_replay(|replay| Ok(replay.as_ref().map_or(0, Replay::recordings))) {
            Ok(recordings) => recordings,
            Err(error) => error.at(Location::caller()).raise(),
        }
    }
}

/// A function from rows to rows.
struct Operation {
    function: Arc<Symbols>,
    inputs: usize,
    outputs: usize,
    /// `None` until the first row is known.
    replay: Mutex<Option<Replay>>,
    /// Maps inputs and output cotangents to input cotangents.
    pulled: OnceLock<Arc<Operation>>,
    /// Maps inputs and input tangents to output tangents.
    pushed: OnceLock<Arc<Operation>>,
}

impl Operation {
    fn new(inputs: usize, outputs: usize, function: Arc<Symbols>, replay: Option<Replay>) -> Arc<Operation> {
        let (pulled, pushed) = (OnceLock::new(), OnceLock::new());
        Arc::new(Operation { function, inputs, outputs, replay: Mutex::new(replay), pulled, pushed })
    }

    /// Calls `f` with the replay. Returns an error if this thread is already using it.
    fn with_replay<R>(&self, f: impl FnOnce(&mut Option<Replay>) -> Result<R, Error>) -> Result<R, Error> {
        struct Ending;
        impl Drop for Ending {
            fn drop(&mut self) {
                RUNNING.with_borrow_mut(|running| running.pop());
            }
        }
        let own = std::ptr::from_ref(self) as usize;
        if RUNNING.with_borrow(|running| running.contains(&own)) {
            let message = "the function calls itself, as an operation of tensors, while it is used";
            return Err(Error::new(ErrorKind::WrongLevel, "rows", message).help("call the function of numbers itself"));
        }
        RUNNING.with_borrow_mut(|running| running.push(own));
        let _ending = Ending;
        f(&mut self.replay.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The shape of the outputs, given that of the inputs.
    fn shape(&self, x: &[usize]) -> Shape {
        x[..x.len() - 1].iter().copied().chain([self.outputs]).collect()
    }

    #[track_caller]
    fn bind(self: &Arc<Operation>, x: &Tensor) -> Tensor {
        let call = Call { operation: self.clone(), line: Location::caller() };
        bind_function(Arc::new(call), std::slice::from_ref(x)).remove(0)
    }
}

thread_local! {
    /// The operations whose replays this thread is using, by address.
    static RUNNING: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// A call of a shared operation.
struct Call {
    operation: Arc<Operation>,
    line: &'static Location<'static>,
}

impl Function for Call {
    fn name(&self) -> &'static str {
        "rows"
    }

    fn infer(&self, operands: &[SpecRef<'_>]) -> Specs {
        [Spec::new(self.operation.shape(operands[0].shape), DType::F64)].into_iter().collect()
    }

    fn reads_numbers(&self) -> bool {
        true
    }

    /// Rows are replayed: the function itself is only called to record a new path.
    fn effect(&self) -> bool {
        false
    }

    fn batches_in_front(&self) -> bool {
        true
    }

    fn call(&self, x: &[Tensor]) -> Vec<Tensor> {
        let Operation { inputs, function, .. } = &*self.operation;
        let (points, shape) = (x[0].to_vec::<f64>(), self.operation.shape(x[0].shape()));
        let mut values = vec![0.0; shape.elements()];
        if !values.is_empty() {
            let function = function.clone();
            let record =
                || Replay::record(Box::new(move |x: &[Symbol]| function(x)) as Box<Symbols>, &points[..*inputs]);
            let run = |replay: &mut Option<_>| replay.get_or_insert_with(record).try_at_points(&points, &mut values);
            if let Err(error) = self.operation.with_replay(run) {
                error.at(self.line).raise();
            }
        }
        vec![Tensor::from(values).reshape(shape)]
    }

    fn forward(&self, x: &[Tensor]) -> (Vec<Tensor>, Residual) {
        (vec![self.operation.bind(&x[0])], Residual { tensors: x.to_vec(), form: Arc::new(()) })
    }

    fn pull(&self, residual: &Residual, cotangents: &[Option<Tensor>], _wanted: Mask) -> Vec<Option<Tensor>> {
        let Operation { function, inputs, outputs, .. } = &*self.operation;
        let derived = || Operation::new(inputs + outputs, *inputs, pulled(function.clone(), *inputs), None);
        vec![beside(residual, &cotangents[0], self.operation.pulled.get_or_init(derived))]
    }

    fn push(&self, residual: &Residual, tangents: &[Option<Tensor>]) -> Vec<Option<Tensor>> {
        let Operation { function, inputs, outputs, .. } = &*self.operation;
        let derived = || Operation::new(2 * inputs, *outputs, pushed(function.clone(), *inputs), None);
        vec![beside(residual, &tangents[0], self.operation.pushed.get_or_init(derived))]
    }
}

/// A derivative at rows, each concatenated with its tangent or cotangent.
fn beside(residual: &Residual, given: &Option<Tensor>, derivative: &Arc<Operation>) -> Option<Tensor> {
    Some(derivative.bind(&Tensor::concat(&[&residual.tensors[0], given.as_ref()?], -1)))
}

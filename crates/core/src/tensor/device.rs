//! Tensors whose elements are in the memory of another device, and the table of devices.
//!
//! A device enters the table when its crate is linked. Elements are copied back when they are read as numbers, once for each value.

use super::{Shape, Tensor, Value};
use crate::error::{OrRaise, at_caller};
use crate::primitive::{Attrs, Device, Outputs, Primitive, Spec};
use crate::types::Content;
pub use crate::types::{DeviceMemory, Remote};
use crate::{Error, ErrorKind};
use smallvec::SmallVec;
use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use wengert_kernels::pool::PoolStatistics;

/// A machine with memory of its own.
pub trait Machine: Send + Sync {
    /// Copies elements to it.
    fn upload(&self, spec: &Spec, bytes: &[u8]) -> Result<Arc<dyn DeviceMemory>, Error>;

    /// The bytes of tensors, workspaces and constants in its memory.
    fn statistics(&self) -> PoolStatistics {
        PoolStatistics::default()
    }

    /// Resets the peak to the bytes in use.
    fn reset_peak(&self) {}

    /// What runs compiled programs on it; the compiler knows the type.
    fn backend(&self) -> Box<dyn Any>;

    /// Applies an operation to tensors in its memory.
    fn apply(
        &self,
        op: &'static dyn Primitive,
        attrs: &Attrs,
        operands: &[&Tensor],
        outputs: &[Spec],
    ) -> Result<Outputs, Error>;
}

/// Machines of one kind.
pub trait Machines: Send + Sync {
    /// The machine with this name, unless it is of another kind.
    fn open(&self, device: Device) -> Option<Result<Arc<dyn Machine>, Error>>;
}

static TABLE: Mutex<Vec<&'static dyn Machines>> = Mutex::new(Vec::new());

/// Adds machines to the table; called before `main`.
pub fn enter(machines: &'static dyn Machines) {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner).push(machines);
}

/// The machine that is `device`.
pub fn machine(device: Device) -> Result<Arc<dyn Machine>, Error> {
    let known = TABLE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    known.iter().find_map(|machines| machines.open(device)).unwrap_or_else(|| {
        let message = format!("this build has no backend for {device}");
        Err(Error::new(ErrorKind::Device, "device", message).help("add the feature \"cuda\" of the crate wengert"))
    })
}

/// The device of the first operand that is on one.
#[inline]
pub fn of(operands: &[&Tensor]) -> Option<Device> {
    let remote = operands.iter().find(|operand| matches!(operand.value, Value::Device(_)));
    remote.map(|operand| operand.device())
}

/// The operands of an operation with those that repeat one number copied to the device of the others, if there is one. Rules read them too,
/// and what they compute from them alone would be on the CPU.
#[inline]
pub fn together(operands: &[&Tensor]) -> Option<SmallVec<[Tensor; 4]>> {
    let repeats = |operand: &&Tensor| matches!(&operand.value, Value::Array(array) if array.layout.is_splat());
    if !operands.iter().any(repeats) {
        return None;
    }
    let device = operands.iter().filter_map(|operand| operand.innermost_device()).find(|it| *it != Device::Cpu)?;
    let brought = |operand: &&Tensor| match repeats(operand) && operand.link.is_none() && operand.slot.is_none() {
        true => operand.to(device),
        false => Tensor::clone(operand),
    };
    Some(operands.iter().map(brought).collect())
}

/// Applies an operation on the device of its operands. Single numbers, and tensors that repeat one, come along.
pub fn apply(
    device: Device,
    op: &'static dyn Primitive,
    attrs: &Attrs,
    operands: &[&Tensor],
    outputs: &[Spec],
) -> Result<Outputs, Error> {
    let brought = |operand: &&Tensor| match &operand.value {
        Value::Device(_) if operand.device() == device => Ok(operand.plain()),
        _ if operand.comes_along() => operand.try_to(device),
        _ => {
            let message = format!("operands are on {device} and on {}", operand.device());
            let help = format!("to(Device::{device:?}) copies a tensor there");
            Err(Error::new(ErrorKind::Device, op.name(), message).help(help))
        }
    };
    let operands = operands.iter().map(brought).collect::<Result<SmallVec<[Tensor; 4]>, Error>>()?;
    let operands: SmallVec<[&Tensor; 4]> = operands.iter().collect();
    machine(device)?.apply(op, attrs, &operands, outputs)
}

impl Remote {
    pub fn new(spec: Spec, memory: Arc<dyn DeviceMemory>) -> Remote {
        Remote { spec, memory, host: OnceLock::new() }
    }

    /// The elements in this machine's memory.
    pub fn try_host(&self) -> Result<&Tensor, Error> {
        if let Some(known) = self.host.get() {
            return Ok(known);
        }
        let (tensor, read) = Tensor::build(&self.spec, |out| self.memory.read(out.bytes));
        read?;
        Ok(self.host.get_or_init(|| tensor))
    }

    /// The same, for readers that cannot fail.
    #[track_caller]
    pub fn host(&self) -> &Tensor {
        self.try_host().or_raise()
    }

    /// The same elements in another shape.
    pub fn reshaped(&self, shape: Shape) -> Remote {
        Remote::new(Spec { shape, dtype: self.spec.dtype }, self.memory.clone())
    }

    /// The memory, about to be overwritten, if nothing else refers to it.
    pub fn unique(&mut self) -> bool {
        let is_unique = Arc::get_mut(&mut self.memory).is_some();
        if is_unique {
            self.host = OnceLock::new();
        }
        is_unique
    }
}

/// What [`Tensor::to`] takes: a device, or a dtype.
pub trait Destination {
    /// The tensor there.
    fn bring(self, tensor: &Tensor) -> Result<Tensor, Error>;
}

impl Destination for Device {
    fn bring(self, tensor: &Tensor) -> Result<Tensor, Error> {
        match tensor.innermost_device() {
            // A tensor that is there already stays what it is, gradient included.
            Some(device) if device == self => return Ok(tensor.clone()),
            Some(_) if tensor.link.is_some() || matches!(tensor.value, Value::Tracer(_)) => {
                let is_batch = match &tensor.value {
                    Value::Tracer(tracer) => matches!(tracer.content, Content::Batch { .. }),
                    _ => false,
                };
                let (message, help) = match is_batch {
                    true => (format!("a copy on {self} would not be batched"), "copy the tensor before vmap"),
                    false => (
                        format!("a copy on {self} would have no gradient"),
                        "copy the tensor before it is differentiated, or detach() it first",
                    ),
                };
                return Err(Error::new(ErrorKind::Device, "to", message).help(help));
            }
            Some(_) => {}
            // As device() says: wherever the program runs.
            None if self == Device::Cpu => return Ok(tensor.clone()),
            None => {
                let help = "leave it out: on(..) names the device of the whole function";
                return Err(Error::new(ErrorKind::Device, "to", "a tensor inside compile has no device yet").help(help));
            }
        }
        // One element is copied, and repeated there.
        if let Some(one) = tensor.splatted().filter(|_| self != Device::Cpu) {
            return Ok(self.bring(&one)?.broadcast_to(tensor.shape()));
        }
        let value = tensor.numbers("to")?;
        let own = Tensor::from(value.clone());
        match (value, self) {
            (Value::Device(remote), Device::Cpu) => remote.try_host().cloned(),
            (_, device) => {
                let machine = machine(device)?;
                let (spec, laid) = (own.spec(), own.hosted()?.contiguous());
                let memory = machine.upload(&spec, laid.row_major_bytes())?;
                Ok(Tensor::on_device(spec, memory))
            }
        }
    }
}

impl Tensor {
    /// The device that holds the elements; in a transform, those of the tensor below it. While a function is traced for
    /// `compile` tensors have no device yet, and say [`Device::Cpu`].
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::ones([2]).device(), Device::Cpu);
    /// ```
    pub fn device(&self) -> Device {
        self.innermost_device().unwrap_or_default()
    }

    /// The device that holds the numbers below all transforms; `None` for a symbol.
    #[doc(hidden)]
    pub fn innermost_device(&self) -> Option<Device> {
        match &self.value {
            Value::Tracer(tracer) => match &tracer.content {
                Content::Reverse { primal, .. }
                | Content::Tangent { primal, .. }
                | Content::Attached { primal, .. } => primal.innermost_device(),
                Content::Batch { values } => values.innermost_device(),
                Content::Symbol { .. } => None,
            },
            Value::Device(remote) => Some(remote.memory.device()),
            _ => Some(Device::Cpu),
        }
    }

    /// The same numbers where those of another tensor are.
    #[doc(hidden)]
    #[track_caller]
    pub fn beside(self, other: &Tensor) -> Tensor {
        match other.innermost_device() {
            None | Some(Device::Cpu) => self,
            Some(device) => self.to(device),
        }
    }

    /// A seed, tangent or cotangent of another tensor where that tensor is: one that comes along is copied there, others have to be there.
    #[doc(hidden)]
    pub fn placed(&self, of: &Tensor) -> Result<Tensor, Error> {
        match (self.innermost_device(), of.innermost_device()) {
            (Some(own), Some(device)) if own != device => match self.comes_along() {
                true => self.try_to(device),
                false => {
                    let message = format!("a seed or tangent is on {own}, and what it belongs to is on {device}");
                    let help = format!("to(Device::{device:?}) copies a tensor there");
                    Err(Error::new(ErrorKind::Device, "to", message).help(help))
                }
            },
            _ => Ok(self.clone()),
        }
    }

    /// Whether an operation on a device takes it as it is: a single number, or one that is repeated.
    #[doc(hidden)]
    pub fn comes_along(&self) -> bool {
        match &self.value {
            Value::One(_) => true,
            Value::Array(array) => array.layout.is_splat(),
            _ => false,
        }
    }

    /// The same numbers in the memory of a device: a copy, unless they are there already. A copy has no gradient, so a tensor that is
    /// differentiated has to be there, or is an error. Or in another dtype, as [`cast`](Tensor::cast) gives them.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0]);
    /// assert_eq!((x.to(Device::Cpu), x.to(DType::F32)), (x.clone(), Tensor::from([1.0f32, 2.0])));
    /// assert_eq!(grad(|x: &Tensor| x.to(Device::Cpu).square().sum())(&x), &x * 2.0);
    /// // A build without the feature, or a machine without the device, says so.
    /// assert_eq!(x.try_to(Device::Cuda(99)).unwrap_err().kind(), &ErrorKind::Device);
    /// ```
    #[track_caller]
    pub fn to(&self, destination: impl Destination) -> Tensor {
        self.try_to(destination).or_raise()
    }

    /// The same, with errors as values.
    #[track_caller]
    pub fn try_to(&self, destination: impl Destination) -> Result<Tensor, Error> {
        at_caller(destination.bring(self))
    }

    /// The same numbers in this machine's memory.
    fn hosted(&self) -> Result<Tensor, Error> {
        match &self.value {
            Value::Device(remote) => remote.try_host().cloned(),
            _ => Ok(self.plain()),
        }
    }

    /// A tensor over memory of a device.
    #[doc(hidden)]
    pub fn on_device(spec: Spec, memory: Arc<dyn DeviceMemory>) -> Tensor {
        Tensor::from(Value::Device(Arc::new(Remote::new(spec, memory))))
    }
}

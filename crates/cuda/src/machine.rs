//! GPUs as machines of the table of devices.

use crate::driver::{Block, Gpu, lock};
use crate::lower::{ALIGNMENT, lower};
use crate::product::PARTIAL_SUMS;
use crate::runner::CudaRunner;
use std::any::Any;
use std::sync::{Arc, Mutex};
use wengert_compiler::plan::{Backend, Input, Plan, Runner, Target, falls_back, operation_runner};
use wengert_compiler::program::Program;
use wengert_core::location::{self, Line};
use wengert_core::memory::PoolStatistics;
use wengert_core::primitive::{Attrs, Device, Outputs, Primitive, Spec};
use wengert_core::tensor::device::{DeviceMemory, Machine, Machines};
use wengert_core::tensor::{Remote, Value};
use wengert_core::{DType, Error, Tensor};

/// A GPU that runs compiled programs.
pub struct Cuda {
    gpu: Arc<Gpu>,
    /// Plans of single operations, by name, attributes and specs; the one used last is first.
    single: Mutex<Vec<Single>>,
}

/// The plan of one operation.
struct Single {
    name: &'static str,
    attrs: Attrs,
    specs: Vec<Spec>,
    /// Whether it falls back to the CPU.
    falls_back: bool,
    runner: Arc<dyn Runner>,
}

/// The most plans of single operations that are kept.
const MOST_SINGLE: usize = 1024;

/// The memory of a tensor on a GPU.
pub struct Memory(pub Block);

impl Memory {
    /// The memory of a tensor, if it is on a GPU.
    pub fn of(remote: &Remote) -> Option<&Memory> {
        let memory: &dyn Any = &*remote.memory;
        memory.downcast_ref()
    }
}

impl DeviceMemory for Memory {
    fn device(&self) -> Device {
        Device::Cuda(self.0.gpu().number)
    }

    fn read(&self, bytes: &mut [u8]) -> Result<(), Error> {
        self.0.read(bytes)
    }
}

impl Cuda {
    fn new(gpu: Arc<Gpu>) -> Cuda {
        Cuda { gpu, single: Mutex::default() }
    }

    /// The plan of one operation on operands of these specs.
    fn single(
        &self,
        op: &'static dyn Primitive,
        attrs: &Attrs,
        operands: &[&Tensor],
        outputs: &[Spec],
    ) -> Result<Arc<dyn Runner>, Error> {
        let mut known = lock(&self.single);
        let falls_back = falls_back(attrs);
        let is_it = |one: &Single| {
            let specs = one.specs.iter().map(Spec::as_ref);
            one.name == op.name()
                && one.falls_back == falls_back
                && one.attrs == *attrs
                && specs.eq(operands.iter().map(|operand| operand.value.spec_ref()))
        };
        if let Some(place) = known.iter().position(is_it) {
            known[..=place].rotate_right(1);
            return Ok(known[0].runner.clone());
        }
        let specs: Vec<Spec> = operands.iter().map(|operand| operand.spec()).collect();
        let runner: Arc<dyn Runner> = Arc::from(operation_runner(op, attrs, &specs, outputs, self)?);
        known.truncate(MOST_SINGLE - 1);
        known.insert(0, Single { name: op.name(), attrs: attrs.clone(), specs, falls_back, runner: runner.clone() });
        Ok(runner)
    }
}

impl Machine for Cuda {
    fn upload(&self, _spec: &Spec, bytes: &[u8]) -> Result<Arc<dyn DeviceMemory>, Error> {
        let block = self.gpu.allocate(bytes.len())?;
        block.write(bytes)?;
        Ok(Arc::new(Memory(block)))
    }

    fn backend(&self) -> Box<dyn Any> {
        let backend: Arc<dyn Backend> = Arc::new(Cuda::new(self.gpu.clone()));
        Box::new(backend)
    }

    fn statistics(&self) -> PoolStatistics {
        self.gpu.statistics()
    }

    fn reset_peak(&self) {
        self.gpu.reset_peak();
    }

    fn apply(
        &self,
        op: &'static dyn Primitive,
        attrs: &Attrs,
        operands: &[&Tensor],
        outputs: &[Spec],
    ) -> Result<Outputs, Error> {
        if let (Value::Device(remote), "reshape") = (&operands[0].value, op.name()) {
            let reshaped = remote.reshaped(outputs[0].shape.clone());
            return Ok(std::iter::once(Tensor::from(Value::Device(Arc::new(reshaped)))).collect());
        }
        let runner = self.single(op, attrs, operands, outputs)?;
        let mut results = Outputs::new();
        for spec in outputs {
            let mut result = Tensor::one(0, DType::F64, 0);
            runner.prepare(&mut result, spec)?;
            results.push(result);
        }
        let line = location::resolve(Line::caller());
        runner.run(&mut operands.iter().map(|operand| Input::Read(operand)), &mut results.iter_mut(), line)?;
        Ok(results)
    }
}

impl Backend for Cuda {
    /// Loops stay apart from calls, so that updates of many parameters come together.
    fn target(&self) -> Target {
        TARGET
    }

    fn device(&self) -> Device {
        Device::Cuda(self.gpu.number)
    }

    fn runs(&self, equation: &Program) -> bool {
        runs(equation, self.gpu.capability)
    }

    fn runner(&self, plan: Plan) -> Result<Box<dyn Runner>, Error> {
        Ok(Box::new(CudaRunner::new(&self.gpu, plan)?))
    }
}

/// The properties of a GPU that plans depend on.
pub const TARGET: Target = Target {
    alignment: ALIGNMENT,
    most_equations: 96,
    longest_row: 8192,
    most_gathered: usize::MAX,
    large_call: f64::INFINITY,
    partial_sums: PARTIAL_SUMS,
    most_parts: 132,
    least_rows: 1,
    widens: true,
    // Of f32, 50 Tflop/s beside 4 TB/s; products of bf16 have 700.
    flops_per_byte: 12.0,
    narrow_flop: 0.07,
    // Every element, or row, is read before it is written.
    overwriting: &[
        ("diagonal_add", 0),
        ("diagonal_assign", 0),
        ("scatter", 0),
        ("scatter_add", 0),
        ("scatter_max", 0),
        ("scatter_min", 0),
        ("scatter_mul", 0),
        ("slice_add", 0),
        ("slice_assign", 0),
        ("softmax_cross_entropy_gradient", 0),
        ("unscatter", 0),
        ("windows_add", 0),
    ],
    ..Target::CPU
};

/// Whether a device of this capability runs a program.
pub fn runs(program: &Program, capability: usize) -> bool {
    let plan = Plan::new(program, vec![None; program.outputs().len()], &TARGET);
    lower(&plan, capability).is_ok()
}

/// The GPUs of this machine.
struct Gpus;

/// Those that were used.
static OPEN: Mutex<Vec<(usize, Arc<Cuda>)>> = Mutex::new(Vec::new());

impl Machines for Gpus {
    fn open(&self, device: Device) -> Option<Result<Arc<dyn Machine>, Error>> {
        let Device::Cuda(number) = device else { return None };
        let mut known = lock(&OPEN);
        if let Some((_, cuda)) = known.iter().find(|(other, _)| *other == number) {
            return Some(Ok(cuda.clone()));
        }
        Some(Gpu::start(number).map(|gpu| {
            let cuda = Arc::new(Cuda::new(Arc::new(gpu)));
            known.push((number, cuda.clone()));
            cuda as Arc<dyn Machine>
        }))
    }
}

extern "C" fn enter() {
    wengert_core::tensor::device::enter(&Gpus);
}

// SAFETY: it is called once before `main`, and only adds a reference to a list.
#[used]
#[allow(unsafe_code)]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
#[cfg_attr(target_os = "windows", unsafe(link_section = ".CRT$XCU"))]
static ENTER: extern "C" fn() = enter;

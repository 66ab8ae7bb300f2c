//! Runs the launches of a plan: one workspace, constants uploaded once, and graphs for each set of addresses.

use crate::driver::{Block, Gpu, Timer, lock};
use crate::lower::lower;
use crate::machine::Memory;
use crate::sequence::{Sequence, Stage};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wengert_compiler::plan::{DeviceUsage, Input, Plan, Runner};
use wengert_core::location::Line;
use wengert_core::primitive::{Device, Spec};
use wengert_core::tensor::{Remote, Value};
use wengert_core::{Error, ErrorKind, Tensor};

/// The most sets of addresses of one plan that have graphs.
const MOST_SETS: usize = 16;

/// A plan that is ready to run.
pub struct CudaRunner {
    gpu: Arc<Gpu>,
    sequence: Sequence,
    steps: usize,
    constants: Vec<Block>,
    /// The number of the first region of constants of nested plans, which come behind all others.
    more: usize,
    own_constants: usize,
    compile_time: Duration,
    running: Mutex<Running>,
    is_watched: AtomicBool,
}

/// What one call uses at a time.
struct Running {
    arena: Block,
    /// Where host tensors are copied to, for each input.
    uploads: Vec<Option<Block>>,
    addresses: Vec<u64>,
    /// How far everything is that can become a graph, by addresses.
    stages: Vec<(Vec<u64>, Vec<Stage>)>,
    times: Vec<Duration>,
}

impl CudaRunner {
    /// Prepares a plan.
    pub fn new(gpu: &Arc<Gpu>, plan: Plan) -> Result<CudaRunner, Error> {
        let (launches, nested, more) = lower(&plan, gpu.capability)?;
        let arena = launches.arena;
        let start = Instant::now();
        let sequence = Sequence::new(gpu, launches)?;
        let compile_time = start.elapsed();
        let upload = |tensor: &Tensor| {
            let bytes = tensor.row_major_bytes();
            let block = gpu.allocate(bytes.len())?;
            block.write(bytes).map(|()| block)
        };
        let constants = plan.constants.iter().chain(&nested).map(upload).collect::<Result<_, _>>()?;
        let running = Running {
            arena: gpu.allocate(arena)?,
            uploads: (0..plan.inputs).map(|_| None).collect(),
            addresses: Vec::new(),
            stages: Vec::new(),
            times: vec![Duration::ZERO; plan.steps.len()],
        };
        Ok(CudaRunner {
            gpu: gpu.clone(),
            sequence,
            steps: plan.steps.len(),
            own_constants: plan.constants.len(),
            constants,
            more,
            compile_time,
            running: Mutex::new(running),
            is_watched: AtomicBool::new(false),
        })
    }

    /// The block of a tensor that is on this GPU.
    fn block<'a>(&self, tensor: &'a Tensor) -> Option<&'a Block> {
        let Value::Device(remote) = &tensor.value else { return None };
        let memory = Memory::of(remote)?;
        Arc::ptr_eq(memory.0.gpu(), &self.gpu).then_some(&memory.0)
    }

    fn fresh(&self, spec: &Spec) -> Result<Tensor, Error> {
        let memory = Memory(self.gpu.allocate(spec.bytes())?);
        Ok(Tensor::on_device(spec.clone(), Arc::new(memory)))
    }

    /// Runs every step by itself, and adds the times.
    fn run_watched(&self, addresses: &[u64], stages: &mut [Stage], times: &mut [Duration]) -> Result<(), Error> {
        let list = &self.sequence.launches.list;
        let timer = Timer::new(&self.gpu, list.len() + 1)?;
        timer.mark(0)?;
        for (number, launch) in list.iter().enumerate() {
            self.sequence.run_one(&self.gpu, addresses, stages, launch)?;
            timer.mark(number + 1)?;
        }
        for (launch, time) in list.iter().zip(timer.times()?) {
            times[launch.step] += Duration::from_secs_f64(f64::from(time) / 1e3);
        }
        Ok(())
    }
}

impl Runner for CudaRunner {
    fn admit(&self, input: &mut Tensor, is_updated: bool) -> Result<(), Error> {
        let own = Device::Cuda(self.gpu.number);
        if ![Device::Cpu, own].contains(&input.device()) {
            let message = format!("an input is on {}, and the program runs on {own}", input.device());
            return Err(
                Error::new(ErrorKind::Device, "compile", message).help("to(..) copies a tensor to another device")
            );
        }
        if is_updated {
            let (spec, link, slot) = (input.spec(), input.link.clone(), input.slot.clone());
            if input.device() == Device::Cpu {
                let fresh = self.fresh(&spec)?;
                self.block(&fresh).expect("it is new").write(input.contiguous().row_major_bytes())?;
                *input = Tensor { value: fresh.value, link, slot };
            } else if !unique(input) {
                let fresh = self.fresh(&spec)?;
                let (to, from) = (self.block(&fresh).expect("it is new"), self.block(input).expect("it is here"));
                to.copy(from, spec.bytes())?;
                *input = Tensor { value: fresh.value, link, slot };
            }
        } else if input.device() == Device::Cpu && !input.is_contiguous() {
            *input = input.contiguous();
        }
        Ok(())
    }

    fn prepare(&self, output: &mut Tensor, spec: &Spec) -> Result<(), Error> {
        let fits = output.value.spec_ref() == spec.as_ref() && self.block(output).is_some();
        match fits && unique(output) {
            true => (output.link, output.slot) = (None, None),
            false => *output = self.fresh(spec)?,
        }
        Ok(())
    }

    fn run<'a>(
        &'a self,
        inputs: &mut dyn Iterator<Item = Input<'a>>,
        outputs: &mut dyn Iterator<Item = &'a mut Tensor>,
        _line: Line,
    ) -> Result<(), Error> {
        let mut running = lock(&self.running);
        let Running { arena, uploads, addresses, stages, times } = &mut *running;
        addresses.clear();
        addresses.push(arena.address());
        for (input, upload) in inputs.zip(uploads) {
            let tensor: &Tensor = match &input {
                Input::Read(tensor) => tensor,
                Input::Update(tensor) => tensor,
            };
            let address = match self.block(tensor) {
                Some(block) => block.address(),
                None => {
                    let bytes = tensor.row_major_bytes();
                    if upload.is_none() {
                        *upload = Some(self.gpu.allocate(bytes.len())?);
                    }
                    let block = upload.as_ref().expect("made above");
                    block.write(bytes)?;
                    block.address()
                }
            };
            addresses.push(address);
        }
        let (own, nested) = self.constants.split_at(self.own_constants);
        addresses.extend(own.iter().map(Block::address));
        addresses.extend(outputs.map(|output| self.block(output).expect("outputs were prepared").address()));
        debug_assert_eq!(addresses.len(), self.more);
        addresses.extend(nested.iter().map(Block::address));
        // The set that was used last stands last.
        match stages.iter().position(|(known, _)| known == addresses) {
            Some(place) => stages[place..].rotate_left(1),
            None => {
                if stages.len() == MOST_SETS {
                    stages.remove(0);
                }
                stages.push((addresses.clone(), self.sequence.stages()));
            }
        }
        let (_, stages) = stages.last_mut().expect("there is one");
        match self.is_watched.load(Ordering::Relaxed) {
            true => self.run_watched(addresses, stages, times),
            false => self.sequence.run(&self.gpu, addresses, stages),
        }
    }

    fn usage(&self) -> Option<DeviceUsage> {
        let arena_bytes = lock(&self.running).arena.bytes();
        Some(DeviceUsage { launches: self.sequence.launches.list.len(), compile_time: self.compile_time, arena_bytes })
    }

    fn watch(&self) {
        self.is_watched.store(true, Ordering::Relaxed);
    }

    fn take_times(&self) -> Vec<Duration> {
        self.is_watched.store(false, Ordering::Relaxed);
        std::mem::replace(&mut lock(&self.running).times, vec![Duration::ZERO; self.steps])
    }
}

/// Whether no other handle refers to the memory of a tensor, which is about to be overwritten.
fn unique(tensor: &mut Tensor) -> bool {
    match &mut tensor.value {
        Value::Device(remote) => Arc::get_mut(remote).is_some_and(Remote::unique),
        _ => false,
    }
}

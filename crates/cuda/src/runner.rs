//! Runs the launches of a plan: one workspace, constants uploaded once, and one graph for each set of addresses.

use crate::driver::{Block, Function, Gpu, Graph, Prepared, Stream, Timer, lock};
use crate::launch::{Launches, Word, Work};
use crate::lower::lower;
use crate::machine::Memory;
use crate::product::Product;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wengert_compiler::plan::{DeviceUsage, Input, Plan, Runner};
use wengert_core::location::Line;
use wengert_core::primitive::{Device, Spec};
use wengert_core::tensor::{Remote, Value};
use wengert_core::{Error, ErrorKind, Tensor};

/// The most graphs of one plan.
const MOST_GRAPHS: usize = 16;

/// A plan that is ready to run.
pub struct CudaRunner {
    gpu: Arc<Gpu>,
    launches: Launches,
    steps: usize,
    constants: Vec<Block>,
    /// The number of the first region of constants of nested plans, which come behind all others.
    more: usize,
    own_constants: usize,
    functions: Vec<Function>,
    compile_time: Duration,
    products: Vec<Option<Prepared>>,
    running: Mutex<Running>,
    is_watched: AtomicBool,
}

/// What one call uses at a time.
struct Running {
    arena: Block,
    /// Where host tensors are copied to, for each input.
    uploads: Vec<Option<Block>>,
    addresses: Vec<u64>,
    graphs: Vec<(Vec<u64>, Option<Graph>)>,
    times: Vec<Duration>,
}

impl CudaRunner {
    /// Prepares a plan.
    pub fn new(gpu: &Arc<Gpu>, plan: Plan) -> Result<CudaRunner, Error> {
        let (launches, nested, more) = lower(&plan, gpu.capability)?;
        let mut shared = vec![0; launches.kernels.len()];
        for launch in &launches.list {
            if let Work::Kernel { kernel, shape, .. } = &launch.work {
                shared[*kernel] = shape.shared.max(shared[*kernel]);
            }
        }
        let start = Instant::now();
        let functions = gpu.modules().load(gpu, &launches.kernels, &shared)?;
        let compile_time = start.elapsed();
        let prepare = |work: &Work| match work {
            Work::Product(product) => gpu.prepare(product).map(Some),
            _ => Ok(None),
        };
        let products = launches.list.iter().map(|launch| prepare(&launch.work)).collect::<Result<_, _>>()?;
        let upload = |tensor: &Tensor| {
            let bytes = tensor.row_major_bytes();
            let block = gpu.allocate(bytes.len())?;
            block.write(bytes).map(|()| block)
        };
        let constants = plan.constants.iter().chain(&nested).map(upload).collect::<Result<_, _>>()?;
        let running = Running {
            arena: gpu.allocate(launches.arena)?,
            uploads: (0..plan.inputs).map(|_| None).collect(),
            addresses: Vec::new(),
            graphs: Vec::new(),
            times: vec![Duration::ZERO; plan.steps.len()],
        };
        Ok(CudaRunner {
            gpu: gpu.clone(),
            launches,
            steps: plan.steps.len(),
            own_constants: plan.constants.len(),
            constants,
            more,
            functions,
            compile_time,
            products,
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

    /// Puts one piece of work on a stream.
    fn put(&self, stream: &Stream<'_>, number: usize, addresses: &[u64]) -> Result<(), Error> {
        let at = |span: &wengert_kernels::memory::Span| addresses[span.region] + span.start as u64;
        match &self.launches.list[number].work {
            Work::Kernel { kernel, shape, arguments } => {
                let word = |word: &Word| match word {
                    Word::Address(span) => at(span),
                    Word::Number(number) => *number,
                };
                let arguments: Vec<Vec<u64>> = arguments.iter().map(|words| words.iter().map(word).collect()).collect();
                stream.launch(self.functions[*kernel], shape, &arguments)
            }
            Work::Product(product) => {
                let Product { a, b, c, bias, workspace, .. } = &**product;
                let prepared = self.products[number].as_ref().expect("products were prepared");
                stream.multiply(prepared, [at(&a.span), at(&b.span), at(c), bias.as_ref().map_or(0, at), at(workspace)])
            }
            Work::Copy { from, to } => stream.copy(at(from), at(to), from.length),
        }
    }

    fn put_all(&self, stream: &Stream<'_>, addresses: &[u64]) -> Result<(), Error> {
        (0..self.launches.list.len()).try_for_each(|number| self.put(stream, number, addresses))
    }

    /// Runs every step by itself, and adds the times.
    fn run_watched(&self, addresses: &[u64], times: &mut [Duration]) -> Result<(), Error> {
        let list = &self.launches.list;
        let timer = Timer::new(&self.gpu, list.len() + 1)?;
        self.gpu.run(|stream| {
            timer.mark(0)?;
            (0..list.len()).try_for_each(|number| {
                self.put(stream, number, addresses)?;
                timer.mark(number + 1)
            })
        })?;
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
        let Running { arena, uploads, addresses, graphs, times } = &mut *running;
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
        if self.is_watched.load(Ordering::Relaxed) {
            return self.run_watched(addresses, times);
        }
        // The first call of a set of addresses runs as it is; a graph is made when it comes again.
        match graphs.iter_mut().find(|(known, _)| known == addresses) {
            Some((_, Some(graph))) => graph.launch(),
            Some((_, graph)) => {
                let made = Graph::record(&self.gpu, |stream| self.put_all(stream, addresses))?;
                graph.insert(made).launch()
            }
            None => {
                if graphs.len() == MOST_GRAPHS {
                    graphs.remove(0);
                }
                graphs.push((addresses.clone(), None));
                self.gpu.run(|stream| self.put_all(stream, addresses))
            }
        }
    }

    fn usage(&self) -> Option<DeviceUsage> {
        let arena_bytes = lock(&self.running).arena.bytes();
        Some(DeviceUsage { launches: self.launches.list.len(), compile_time: self.compile_time, arena_bytes })
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

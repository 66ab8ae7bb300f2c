//! The driver: everything that is unsafe, behind calls that are not.
//!
//! Kernels are texts of this crate, launched with addresses of blocks that the caller keeps alive; what runs on a device runs on one stream,
//! so in order.

mod compile;
mod graph;
mod library;
mod tuning;

pub use compile::{Compiled, Function, Modules, compile};
pub use graph::Graph;
pub use library::Prepared;

use crate::launch::Shape;
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{DriverError, result as driver, sys};
use rustc_hash::FxHashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use wengert_core::memory::PoolStatistics;
use wengert_core::{Error, ErrorKind};

/// An error of this device.
pub fn failed(what: &str, error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Device, "cuda", format!("{what}: {error}"))
}

fn driver_error(what: &str) -> impl Fn(DriverError) -> Error + '_ {
    move |error| {
        let text =
            error.error_string().map_or_else(|_| format!("{error:?}"), |text| text.to_string_lossy().into_owned());
        failed(what, text)
    }
}

/// A lock whose data is valid whatever happened to its last owner.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A GPU of this machine.
pub struct Gpu {
    /// Its number.
    pub number: usize,
    /// Its compute capability, such as 90.
    pub capability: usize,
    /// Its model.
    name: String,
    context: sys::CUcontext,
    stream: sys::CUstream,
    library: OnceLock<library::Handle>,
    /// The algorithms of products that were measured.
    chosen: Mutex<FxHashMap<String, tuning::Algorithm>>,
    memory: Mutex<Held>,
    /// The kernels that were loaded.
    modules: Modules,
}

/// The memory that this process holds: blocks that are free, by size, and the bytes of all blocks.
#[derive(Default)]
struct Held {
    free: FxHashMap<usize, Vec<u64>>,
    live: usize,
    peak: usize,
    cached: usize,
}

impl Held {
    /// Notes that a block is in use.
    fn taken(&mut self, length: usize) {
        self.live += length;
        self.peak = self.peak.max(self.live);
    }
}

// SAFETY: the handles belong to the driver, whose calls may come from any thread.
unsafe impl Send for Gpu {}
// SAFETY: as above.
unsafe impl Sync for Gpu {}

impl Gpu {
    /// Starts the GPU with this number.
    pub fn start(number: usize) -> Result<Gpu, Error> {
        // SAFETY: looks for a library and closes it again.
        if !unsafe { sys::is_culib_present() } {
            return Err(failed("there is no driver", "the library libcuda was not found")
                .help("install the driver of the GPU, or run on Device::Cpu"));
        }
        // A library without the functions of a driver makes its loader panic.
        std::panic::catch_unwind(|| Gpu::begin(number)).unwrap_or_else(|_| {
            Err(failed("the driver does not start", "libcuda lacks functions of a driver").help("run on Device::Cpu"))
        })
    }

    /// The same where there is a driver.
    fn begin(number: usize) -> Result<Gpu, Error> {
        let count = driver::init().and_then(|()| driver::device::get_count());
        let other = |error| driver_error("the driver does not start")(error).help("run on Device::Cpu");
        let count = count.map_err(other)? as usize;
        if number >= count {
            let message = format!("there is no GPU {number}: this machine has {count}");
            return Err(Error::new(ErrorKind::Device, "cuda", message)
                .help("GPUs are numbered from 0; without one, run on Device::Cpu"));
        }
        let device = driver::device::get(number as i32).map_err(driver_error("device"))?;
        let attribute = |attribute| {
            // SAFETY: `device` is valid.
            unsafe { driver::device::get_attribute(device, attribute) }.map_err(driver_error("attribute"))
        };
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        if major < 9 {
            let message = format!("GPU {number} has compute capability {major}.{minor}, and 9.0 is needed");
            return Err(Error::new(ErrorKind::Device, "cuda", message).help("run on Device::Cpu"));
        }
        // SAFETY: `device` is valid; its primary context is kept until the process ends.
        let context = unsafe { driver::primary_ctx::retain(device) }.map_err(driver_error("context"))?;
        // SAFETY: `context` is valid.
        unsafe { driver::ctx::set_current(context) }.map_err(driver_error("context"))?;
        let stream = driver::stream::create(driver::stream::StreamKind::NonBlocking).map_err(driver_error("stream"))?;
        let (library, memory) = (OnceLock::new(), Mutex::default());
        let capability = (major * 10 + minor) as usize;
        let name = driver::device::get_name(device).map_err(driver_error("device"))?;
        let (chosen, modules) = (Mutex::default(), Modules::default());
        Ok(Gpu { number, capability, name, context, stream, library, chosen, memory, modules })
    }

    /// Makes it the device of this thread's calls.
    fn enter(&self) -> Result<(), Error> {
        // SAFETY: the context lives as long as the process.
        unsafe { driver::ctx::set_current(self.context) }.map_err(driver_error("context"))
    }

    /// The kernels that were loaded.
    pub fn modules(&self) -> &Modules {
        &self.modules
    }

    /// A block of this many bytes, whose contents are unspecified.
    pub fn allocate(self: &Arc<Gpu>, bytes: usize) -> Result<Block, Error> {
        self.enter()?;
        let length = bytes.max(1).next_multiple_of(256);
        let mut memory = lock(&self.memory);
        if let Some(address) = memory.free.get_mut(&length).and_then(Vec::pop) {
            memory.cached -= length;
            memory.taken(length);
            return Ok(Block { gpu: self.clone(), address, length });
        }
        drop(memory);
        // SAFETY: the context is current.
        let found = unsafe { driver::malloc_sync(length) }.or_else(|_| {
            self.trim();
            // SAFETY: as above.
            unsafe { driver::malloc_sync(length) }
        });
        let address = found.map_err(|_| {
            let (left, total) = driver::mem_get_info().unwrap_or_default();
            let message = format!("{bytes} bytes are wanted on cuda:{}, and {left} of {total} are free", self.number);
            Error::new(ErrorKind::Device, "cuda", message)
                .help("a smaller batch, checkpoint(..) or within(..) needs less memory")
        })?;
        lock(&self.memory).taken(length);
        Ok(Block { gpu: self.clone(), address, length })
    }

    /// Gives free blocks back to the driver.
    pub fn trim(&self) {
        let mut memory = lock(&self.memory);
        // Blocks that become free while this waits are not among those given back.
        let _ = self.wait();
        memory.cached = 0;
        for address in memory.free.drain().flat_map(|(_, blocks)| blocks) {
            // SAFETY: the block is free, and all work that used it is done.
            let _ = unsafe { driver::free_sync(address) };
        }
    }

    /// The bytes of blocks in use, the most of them since the peak was reset, and those of free blocks.
    pub fn statistics(&self) -> PoolStatistics {
        let memory = lock(&self.memory);
        let mut statistics = PoolStatistics::default();
        (statistics.live_bytes, statistics.peak_bytes) = (memory.live, memory.peak);
        statistics.cached_bytes = memory.cached;
        statistics
    }

    /// Resets the peak to the blocks in use.
    pub fn reset_peak(&self) {
        let mut memory = lock(&self.memory);
        memory.peak = memory.live;
    }

    /// Waits until all work is done.
    pub fn wait(&self) -> Result<(), Error> {
        self.enter()?;
        // SAFETY: the stream lives as long as the process.
        unsafe { driver::stream::synchronize(self.stream) }.map_err(driver_error("a kernel failed"))
    }

    /// Waits, and copies bytes from an address, which belongs to a block that the caller holds.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Error> {
        self.wait()?;
        // SAFETY: the block is long enough, and nothing writes it now.
        unsafe { driver::memcpy_dtoh_sync(bytes, address) }.map_err(driver_error("a copy from the device"))
    }
}

/// Memory of a GPU.
pub struct Block {
    gpu: Arc<Gpu>,
    address: u64,
    length: usize,
}

impl Block {
    /// Where it begins.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its length.
    pub fn bytes(&self) -> usize {
        self.length
    }

    /// The GPU.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// Copies bytes to its beginning, after the work that was begun before.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        assert!(bytes.len() <= self.length, "a block holds what is written to it");
        if bytes.is_empty() {
            return Ok(());
        }
        self.gpu.enter()?;
        // SAFETY: the block is long enough; the driver has read pageable memory before it returns.
        unsafe { driver::memcpy_htod_async(self.address, bytes, self.gpu.stream) }
            .map_err(driver_error("a copy to the device"))
    }

    /// Waits, and copies its first bytes.
    pub fn read(&self, bytes: &mut [u8]) -> Result<(), Error> {
        self.read_from(0, bytes)
    }

    /// The same from another byte on.
    fn read_from(&self, start: usize, bytes: &mut [u8]) -> Result<(), Error> {
        assert!(start + bytes.len() <= self.length, "a block holds what is read from it");
        if bytes.is_empty() {
            return Ok(());
        }
        self.gpu.read(self.address + start as u64, bytes)
    }

    /// Copies the first bytes of another block.
    pub fn copy(&self, from: &Block, bytes: usize) -> Result<(), Error> {
        assert!(bytes <= self.length && bytes <= from.length, "blocks hold what is copied");
        let stream = Stream { gpu: &self.gpu, stream: self.gpu.stream };
        self.gpu.enter()?;
        stream.copy(from.address, self.address, bytes)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // Later work comes behind all work that uses the block now.
        let mut memory = lock(&self.gpu.memory);
        memory.live -= self.length;
        memory.cached += self.length;
        memory.free.entry(self.length).or_default().push(self.address);
    }
}

/// Where work is put: the stream of a GPU, or one whose work becomes a graph.
pub struct Stream<'a> {
    gpu: &'a Gpu,
    stream: sys::CUstream,
}

impl Gpu {
    /// Puts work on the stream of this GPU.
    pub fn run<T>(&self, work: impl FnOnce(&Stream<'_>) -> Result<T, Error>) -> Result<T, Error> {
        self.enter()?;
        work(&Stream { gpu: self, stream: self.stream })
    }
}

impl Stream<'_> {
    /// Launches a kernel; every argument is a number of words by value.
    pub fn launch(&self, function: Function, shape: &Shape, arguments: &[Vec<u64>]) -> Result<(), Error> {
        let [x, y, z] = shape.grid;
        let [i, j, k] = shape.block;
        let mut pointers: smallvec::SmallVec<[*mut c_void; 16]> =
            arguments.iter().map(|words| words.as_ptr().cast_mut().cast()).collect();
        // SAFETY: the kernel was generated together with this list of arguments, whose addresses belong to blocks that the caller holds.
        unsafe { driver::launch_kernel(function.0, (x, y, z), (i, j, k), shape.shared, self.stream, &mut pointers) }
            .map_err(driver_error("a launch"))
    }

    /// Copies bytes within the device.
    pub fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: both spans belong to blocks that the caller holds.
        unsafe { driver::memcpy_dtod_async(to, from, bytes, self.stream) }.map_err(driver_error("a copy"))
    }
}

/// The time between two points of the stream of a GPU.
pub struct Timer {
    gpu: Arc<Gpu>,
    events: Vec<sys::CUevent>,
}

// SAFETY: events belong to the driver, whose calls may come from any thread.
unsafe impl Send for Timer {}

impl Timer {
    /// With this many points.
    pub fn new(gpu: &Arc<Gpu>, points: usize) -> Result<Timer, Error> {
        gpu.enter()?;
        let event = |_| driver::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map_err(driver_error("an event"));
        Ok(Timer { gpu: gpu.clone(), events: (0..points).map(event).collect::<Result<_, _>>()? })
    }

    /// Marks a point.
    pub fn mark(&self, point: usize) -> Result<(), Error> {
        // SAFETY: event and stream are valid.
        unsafe { driver::event::record(self.events[point], self.gpu.stream) }.map_err(driver_error("an event"))
    }

    /// The milliseconds between each point and the next.
    pub fn times(&self) -> Result<Vec<f32>, Error> {
        self.gpu.wait()?;
        let between = |pair: &[sys::CUevent]| {
            // SAFETY: both events were recorded.
            unsafe { driver::event::elapsed(pair[0], pair[1]) }.map_err(driver_error("an event"))
        };
        self.events.windows(2).map(between).collect()
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        for event in self.events.drain(..) {
            // SAFETY: the event is valid, and used no more.
            let _ = unsafe { driver::event::destroy(event) };
        }
    }
}

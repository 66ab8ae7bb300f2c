//! Kernels: compiled once for each text and architecture, kept on disk and in memory.

use super::{Gpu, driver_error, failed, lock};
use crate::launch::Kernel;
use crate::source::PRELUDE;
use cudarc::driver::{result as driver, sys};
use cudarc::nvrtc::{result as nvrtc, sys as nvrtc_sys};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ffi::CString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use wengert_core::Error;

/// A kernel that is ready to launch; its module stays loaded.
#[derive(Clone, Copy)]
pub struct Function(pub(super) sys::CUfunction);

// SAFETY: the handle belongs to the driver, whose calls may come from any thread.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// The kernels of one GPU, by their texts.
#[derive(Default)]
pub struct Modules(Mutex<FxHashMap<String, Module>>);

/// A text that was loaded, and stays so.
#[derive(Clone, Copy)]
struct Module(sys::CUmodule);

// SAFETY: the handle belongs to the driver, whose calls may come from any thread.
unsafe impl Send for Module {}

/// The shared memory that a kernel may ask for without being allowed to first.
const USUAL_SHARED: u32 = 48 << 10;

impl Modules {
    /// The functions of these kernels, each with the shared memory that its launches ask for.
    pub fn load(&self, gpu: &Gpu, kernels: &[Kernel], shared: &[u32]) -> Result<Vec<Function>, Error> {
        gpu.enter()?;
        let mut missing: Vec<&Kernel> = Vec::new();
        {
            let (known, mut texts) = (lock(&self.0), FxHashSet::default());
            for kernel in kernels {
                if !known.contains_key(&kernel.text) && texts.insert(&kernel.text) {
                    missing.push(kernel);
                }
            }
        }
        let architecture = format!("sm_{}{}", gpu.capability, if gpu.capability >= 90 { "a" } else { "" });
        let binaries = compile_all(&missing, &architecture)?;
        let mut known = lock(&self.0);
        for (kernel, binary) in missing.into_iter().zip(binaries) {
            // SAFETY: the binary was made for this device, and the module stays loaded.
            let module = unsafe { driver::module::load_data(binary.as_ptr().cast()) };
            let module = module.map_err(driver_error(&format!("kernel {}", kernel.name)))?;
            known.insert(kernel.text.clone(), Module(module));
        }
        let function = |(kernel, &shared): (&Kernel, &u32)| {
            let name = CString::new(kernel.name.as_str()).expect("names have no zeros");
            // SAFETY: the module is loaded.
            let function = unsafe { driver::module::get_function(known[&kernel.text].0, name) };
            let function = Function(function.map_err(driver_error(&format!("kernel {}", kernel.name)))?);
            if shared > USUAL_SHARED {
                let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                // SAFETY: the function is valid.
                unsafe { driver::function::set_function_attribute(function.0, most, shared as i32) }
                    .map_err(driver_error(&format!("kernel {}: {shared} bytes of shared memory", kernel.name)))?;
            }
            Ok(function)
        };
        kernels.iter().zip(shared).map(function).collect()
    }
}

/// The binaries of kernels, from disk or from the compiler, several at a time.
fn compile_all(kernels: &[&Kernel], architecture: &str) -> Result<Vec<Vec<u8>>, Error> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(kernels.len()).min(16);
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<Vec<u8>, Error>>>> = Mutex::new(kernels.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(kernel) = kernels.get(number) else { break };
                    let result = binary(kernel, architecture);
                    lock(&results)[number] = Some(result);
                }
            });
        }
    });
    lock(&results).drain(..).map(|result| result.expect("every kernel was compiled")).collect()
}

/// A binary from disk, or from the compiler.
fn binary(kernel: &Kernel, architecture: &str) -> Result<Vec<u8>, Error> {
    let file = cache((version(), architecture, PRELUDE, &kernel.text), "cubin");
    if let Some(known) = file.as_deref().and_then(kept) {
        return Ok(known);
    }
    let binary = compile(kernel, architecture)?.binary;
    keep(file.as_deref(), &binary);
    Ok(binary)
}

/// Keeps bytes on disk, with a checksum behind them: the driver trusts what it is given.
pub fn keep(file: Option<&Path>, bytes: &[u8]) {
    let Some(file) = file else { return };
    // A cache that cannot be written only costs time.
    let own = file.with_extension(format!("{}-{:?}", std::process::id(), std::thread::current().id()));
    let _ = std::fs::create_dir_all(file.parent().expect("it is in a folder"))
        .and_then(|()| std::fs::write(&own, [bytes, &checksum(bytes)].concat()))
        .and_then(|()| std::fs::rename(&own, file));
}

/// The bytes that were kept in a file, if they are whole.
pub fn kept(file: &Path) -> Option<Vec<u8>> {
    let mut bytes = std::fs::read(file).ok()?;
    let found = bytes.split_off(bytes.len().checked_sub(8)?);
    (found == checksum(&bytes)).then_some(bytes)
}

fn checksum(bytes: &[u8]) -> [u8; 8] {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish().to_le_bytes()
}

/// Where something is kept: in `WENGERT_CACHE`, or in the user's folder for such files; nowhere if `WENGERT_CACHE` is empty.
pub fn cache(key: impl Hash, kind: &str) -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let folder = variable("WENGERT_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("wengert")))
        .or_else(|| variable("HOME").map(|folder| folder.join(".cache/wengert")))?;
    if folder.as_os_str().is_empty() {
        return None;
    }
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        (salt, &key).hash(&mut hasher);
        hasher.finish()
    };
    Some(folder.join("cuda").join(format!("{:016x}{:016x}.{kind}", half(0), half(1))))
}

/// The version of the compiler.
fn version() -> (i32, i32) {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: looks for a library and asks it for two numbers.
    unsafe {
        if nvrtc_sys::is_culib_present() {
            let _ = nvrtc_sys::nvrtcVersion(&raw mut major, &raw mut minor);
        }
    }
    (major, minor)
}

/// A kernel in the code of a device.
pub struct Compiled {
    /// The code.
    pub binary: Vec<u8>,
    /// What the compiler says of it: registers, spills, warnings.
    pub log: String,
}

/// Compiles a kernel for an architecture, such as `sm_90a`; needs no GPU.
pub fn compile(kernel: &Kernel, architecture: &str) -> Result<Compiled, Error> {
    // SAFETY: looks for a library and closes it again.
    if !unsafe { nvrtc_sys::is_culib_present() } {
        return Err(failed("there is no compiler", "the library libnvrtc was not found")
            .help("install the CUDA toolkit, or its package nvidia-cuda-nvrtc"));
    }
    let text = CString::new(format!("{PRELUDE}{}", kernel.text)).expect("texts have no zeros");
    let wrong = |what: &str| failed(&format!("kernel {}", kernel.name), what);
    let program = nvrtc::create_program(&text, None).map_err(|error| wrong(&format!("{error:?}")))?;
    let options = [
        format!("--gpu-architecture={architecture}"),
        "--std=c++17".to_string(),
        "--diag-suppress=177,550".to_string(),
        "--ptxas-options=-v".to_string(),
    ];
    // SAFETY: the program is valid until it is destroyed below.
    unsafe {
        let result = nvrtc::compile_program(program, &options);
        let log = nvrtc::get_program_log(program).unwrap_or_default();
        let log: String = log.iter().map(|byte| *byte as u8 as char).filter(|c| *c != '\0').collect();
        // The text names the operation that a function computes behind it.
        let help = "report it with this text; until then, run this part on the CPU: compile it apart, without on(..)";
        let result = result.map_err(|_| wrong(&log).help(help));
        let binary = result.and_then(|()| {
            let mut size = 0;
            let asked = nvrtc_sys::nvrtcGetCUBINSize(program, &raw mut size).result();
            asked.map_err(|error| wrong(&format!("{error:?}")))?;
            let mut binary = vec![0u8; size];
            let copied = nvrtc_sys::nvrtcGetCUBIN(program, binary.as_mut_ptr().cast()).result();
            copied.map_err(|error| wrong(&format!("{error:?}")))?;
            Ok(Compiled { binary, log })
        });
        let _ = nvrtc::destroy_program(program);
        binary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_file_of_the_cache_is_not_read() {
        let file = std::env::temp_dir().join(format!("wengert-kept-{}", std::process::id()));
        keep(Some(&file), b"binary");
        assert_eq!(kept(&file).as_deref(), Some(&b"binary"[..]));
        let whole = std::fs::read(&file).unwrap();
        let mut changed = whole.clone();
        changed[0] ^= 1;
        for damaged in [&whole[..whole.len() - 1], &whole[..3], &[], &changed] {
            std::fs::write(&file, damaged).unwrap();
            assert_eq!(kept(&file), None, "{damaged:?}");
        }
        std::fs::remove_file(&file).unwrap();
        assert_eq!(kept(&file), None);
    }
}

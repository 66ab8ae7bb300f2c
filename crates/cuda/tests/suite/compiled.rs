//! The compiler of kernels accepts every text for the newest architecture that is tuned for, and keeps numbers in registers.

use std::sync::{Arc, Mutex};
use wengert::backend::{Backend, Plan, Runner, Target};
use wengert::prelude::*;
use wengert_bench::workloads::{Size, all};
use wengert_cuda::launch::Kernel;
use wengert_cuda::lower::lower;

struct Kernels(Arc<Mutex<Vec<Kernel>>>);

impl Backend for Kernels {
    fn target(&self) -> Target {
        wengert_cuda::TARGET
    }

    fn runner(&self, plan: Plan) -> Result<Box<dyn Runner>, Error> {
        *self.0.lock().unwrap() = lower(&plan, 90)?.0.kernels;
        Err(Error::new(ErrorKind::Device, "record", "nothing runs"))
    }
}

#[test]
fn kernels_of_the_workloads_compile_without_spills() {
    let mut count = 0;
    for workload in all(Size::Full) {
        let (name, kernels) = (workload.name, Arc::new(Mutex::new(Vec::new())));
        let mut steps = workload.compiled(None, Arc::new(Kernels(kernels.clone())));
        catch(|| steps.step()).unwrap_err();
        for kernel in kernels.lock().unwrap().iter() {
            let compiled = wengert_cuda::compile(kernel, "sm_90a").unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(compiled.binary.starts_with(b"\x7fELF"), "{name}, {}", kernel.name);
            let spills = compiled.log.lines().filter(|line| line.contains("bytes spill stores"));
            for line in spills.clone() {
                assert!(line.contains(" 0 bytes spill stores"), "{name}, {}: {line}", kernel.name);
            }
            assert!(spills.count() > 0, "{name}, {}: no account of spills", kernel.name);
            count += 1;
        }
    }
    assert!(count > 50, "{count} kernels");
}

#[test]
fn a_text_that_does_not_compile_is_an_error_with_its_line() {
    let kernel = Kernel { name: "wrong".to_string(), text: "KERNEL(32) wrong() { nothing(); }".to_string() };
    let error = wengert_cuda::compile(&kernel, "sm_90a").err().unwrap();
    assert_eq!(error.kind(), &ErrorKind::Device);
    assert!(error.to_string().contains("wrong") && error.to_string().contains("nothing"), "{error}");
}

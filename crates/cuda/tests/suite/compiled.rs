//! The compiler of kernels accepts every text for the newest architecture that is tuned for, and keeps numbers in registers.

use super::recorder::Recorder;
use std::collections::HashSet;
use std::sync::Arc;
use wengert::prelude::*;
use wengert_bench::workloads::{Size, all};
use wengert_cuda::launch::Kernel;

/// The most registers of a thread in loops, of which 256 threads are a block and two blocks fit, and in other kernels.
const MOST_REGISTERS: [usize; 2] = [128, 255];

/// The number in front of a word of the compiler's log.
fn number_before(line: &str, word: &str) -> Option<usize> {
    line.split(word).next().filter(|before| before.len() < line.len())?.split_whitespace().last()?.parse().ok()
}

#[test]
fn kernels_of_the_workloads_compile_without_spills() {
    let mut texts = HashSet::new();
    for size in [Size::Full, Size::Large] {
        for precision in [Precision::Strict, Precision::Tf32, Precision::Bf16] {
            for workload in all(size) {
                // The large ones differ in sizes alone, and most of them are as large as the others.
                if size == Size::Large && (workload.name != "gpt" || precision != Precision::Bf16) {
                    continue;
                }
                let (name, recorder) = (workload.name, Recorder::default());
                let mut steps = workload.placed(None, Arc::new(recorder.clone()), Device::Cpu, precision);
                let error = catch(|| steps.step()).unwrap_err();
                let kernels = recorder.take().unwrap_or_else(|| panic!("{name}: {error}")).kernels;
                for kernel in kernels.iter().filter(|kernel| texts.insert(kernel.text.clone())) {
                    check(name, kernel);
                }
            }
        }
    }
    assert!(texts.len() > 100, "{} kernels", texts.len());
}

fn check(name: &str, kernel: &Kernel) {
    let compiled = wengert_cuda::compile(kernel, "sm_90a").unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(compiled.binary.starts_with(b"\x7fELF"), "{name}, {}", kernel.name);
    let (mut spills, mut registers) = (0, 0);
    let most = MOST_REGISTERS[usize::from(kernel.name != "loop")];
    for line in compiled.log.lines() {
        if let Some(bytes) = number_before(line, "bytes spill stores") {
            assert_eq!(bytes, 0, "{name}, {}: {line}", kernel.name);
            spills += 1;
        }
        if let Some(count) = number_before(line, "registers") {
            assert!(count <= most, "{name}, {}: {line}\n{}", kernel.name, kernel.text);
            registers += 1;
        }
    }
    assert!(spills > 0 && registers > 0, "{name}, {}: no account of spills and registers", kernel.name);
}

#[test]
fn a_text_that_does_not_compile_is_an_error_with_its_line() {
    let kernel = Kernel { name: "wrong".to_string(), text: "KERNEL(32) wrong() { nothing(); }".to_string() };
    let error = wengert_cuda::compile(&kernel, "sm_90a").err().unwrap();
    assert_eq!(error.kind(), &ErrorKind::Device);
    let text = error.to_string();
    assert!(text.contains("kernel wrong") && text.contains("nothing") && text.contains("help: report it"), "{error}");
}

//! A chain of tiny products: the cost of one recorded operation, forward, backward and in memory.

use crate::timing::median;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;
use wengert::prelude::*;

/// Times in nanoseconds per operation; the peak of resident memory.
struct Measured {
    forward: f64,
    backward: f64,
    drop: f64,
    resident: u64,
}

/// Runs every chain in its own process, so that memory is measured separately.
pub fn run(json: bool, most: usize) {
    for elements in [1, 32] {
        for ops in [1_000, 100_000, 1_000_000, 10_000_000].into_iter().filter(|ops| *ops <= most) {
            let mut command = Command::new(std::env::current_exe().expect("a running program has a path"));
            command.args(["chain", &elements.to_string(), &ops.to_string()]);
            if json {
                command.arg("--json");
            }
            let status = command.status().expect("the benchmark starts itself");
            assert!(status.success(), "the chain of {ops} operations on {elements} elements failed: {status}");
        }
    }
}

/// One chain in this process.
pub fn run_one(elements: usize, ops: usize, json: bool) {
    let Measured { forward, backward, drop, resident } = chain(elements, ops);
    if json {
        println!(
            r#"{{"bench":"chain","elements":{elements},"ops":{ops},"forward_ns":{forward:.1},"backward_ns":{backward:.1},"rss_bytes":{resident}}}"#
        );
    } else {
        println!(
            "{elements:>3} elements {ops:>9} ops: forward {forward:6.1} ns, backward {backward:6.1} ns, \
             drop {drop:5.1} ns, {:.0} MB resident",
            resident as f64 / 1e6
        );
    }
}

/// The medians over enough repetitions to fill about a second, at least three.
fn chain(elements: usize, ops: usize) -> Measured {
    let repetitions = (4_000_000 / ops).clamp(3, 2_000);
    let shape: Vec<usize> = if elements == 1 { vec![] } else { vec![elements] };
    let x = Tensor::full(shape.clone(), 0.999_999_9f32).contiguous().require_grad();
    let seed = Tensor::full(shape, 1f32).contiguous();
    let (mut forward, mut backward, mut drop) = (Vec::new(), Vec::new(), Vec::new());
    reset_peak();
    for _ in 0..repetitions {
        let start = Instant::now();
        let mut y = x.clone();
        for _ in 0..ops {
            y = &y * &x;
        }
        forward.push(start.elapsed().as_nanos() as f64 / ops as f64);
        let start = Instant::now();
        y.backward_with(Backward::new().seed(&seed));
        backward.push(start.elapsed().as_nanos() as f64 / ops as f64);
        black_box(x.grad());
        x.zero_grad();
        let start = Instant::now();
        std::mem::drop(y);
        drop.push(start.elapsed().as_nanos() as f64 / ops as f64);
    }
    Measured { forward: median(forward), backward: median(backward), drop: median(drop), resident: peak() }
}

/// Resets the kernel's record of peak resident memory, if it supports that.
fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The peak resident memory in bytes; 0 if unknown.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<u64>().ok()).unwrap_or(0) * 1024
}

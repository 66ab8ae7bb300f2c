//! Loops are data: a second backend prints them as C, and reproduces the results of the first.
//!
//! It runs every loop twice, as C and by the tiled machine, on the same operands. If all operations of a loop are exact (arithmetic, roots,
//! comparisons, sums in double precision), both give the same bits, and the step continues with those of C. The functions of the C library
//! round the last place differently from ours. A loop that uses some of them agrees to single precision, and the step continues with our
//! values: Adam would turn small differences into large steps where a gradient is 0 up to rounding. So in the end every tensor has the same
//! bits, for either backend.

mod print;
mod process;
mod translate;

use print::{Printed, program};
use process::{Process, compiler};
use std::sync::{Arc, Mutex};
use wengert::backend::{Backend, Cpu, Host, LoopKernel, Memory, PlacedLoop, Plan, Runner, Span, Target, TiledLoops};
use wengert::prelude::*;
use wengert_bench::workloads::{self, Size};

/// The largest difference where functions of the C library are used, relative to the largest element of an output.
const CLOSE: f64 = 8.0 * f32::EPSILON as f64;

/// The C backend of one test.
struct C(Arc<Shared>);

struct Shared {
    name: &'static str,
    printed: Mutex<Vec<Printed>>,
    /// The program, and the number of its loops.
    process: Mutex<Option<(usize, Process)>>,
    report: Mutex<Report>,
}

/// The results of the comparison.
#[derive(Default)]
struct Report {
    exact: usize,
    close: usize,
    /// The largest difference of loops that are not exact.
    furthest: f64,
    different: Vec<String>,
    unprinted: Vec<String>,
}

impl C {
    fn new(name: &'static str) -> C {
        let (printed, process, report) = (Mutex::default(), Mutex::new(None), Mutex::default());
        C(Arc::new(Shared { name, printed, process, report }))
    }
}

impl Backend for C {
    /// Other buffers than those of this processor, and loops that follow calls of any size.
    fn target(&self) -> Target {
        Target { alignment: 256, large_call: 0.0, ..Target::CPU }
    }

    fn runner(&self, plan: Plan) -> Result<Box<dyn Runner>, Error> {
        Ok(Box::new(Host::new(plan, &mut |loops, _| Compared {
            loops: loops.into_iter().map(|placed| One::new(placed, &self.0)).collect(),
            shared: self.0.clone(),
        })))
    }
}

/// The loops of a step.
struct Compared {
    loops: Vec<One>,
    shared: Arc<Shared>,
}

/// A loop as C, if it could be printed, and as one of our kernels.
struct One {
    placed: PlacedLoop,
    number: Option<usize>,
    ours: TiledLoops,
}

impl One {
    fn new(placed: PlacedLoop, shared: &Shared) -> One {
        let lengths = |spans: &[Span]| spans.iter().map(|span| span.length).collect::<Vec<_>>();
        let (reads, writes) = (lengths(&placed.reads), lengths(&placed.writes));
        let mut printed = shared.printed.lock().unwrap();
        let same = |other: &Printed| (&other.body, &other.reads, &other.writes) == (&placed.body, &reads, &writes);
        let number = printed.iter().position(same).or_else(|| {
            let next = printed.len();
            match Printed::new(&placed.body, next, reads.clone(), writes.clone()) {
                Ok(one) => printed.push(one),
                Err(error) => shared.report.lock().unwrap().unprinted.push(error),
            }
            (printed.len() > next).then_some(next)
        });
        One { ours: TiledLoops::new(vec![placed.clone()], None), placed, number }
    }
}

impl LoopKernel for Compared {
    fn run(&self, memory: &mut Memory<'_>) {
        for One { placed, number, ours } in &self.loops {
            let bytes = |bytes: &[&[u8]]| bytes.iter().map(|bytes| bytes.to_vec()).collect::<Vec<_>>();
            let operands = memory.access(&placed.reads, &[], |reads, _| bytes(reads));
            ours.run(memory);
            let Some(number) = *number else { continue };
            let right = memory.access(&placed.writes, &[], |reads, _| bytes(reads));
            let found = self.shared.call(number, &operands);
            if self.shared.compare(number, &found, &right) {
                memory.access(&[], &placed.writes, |_, writes| {
                    writes.iter_mut().zip(&found).for_each(|(write, found)| write.copy_from_slice(found));
                });
            }
        }
    }
}

impl Shared {
    /// Runs a loop in C; the program is compiled on first use.
    fn call(&self, number: usize, operands: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let (printed, mut process) = (self.printed.lock().unwrap(), self.process.lock().unwrap());
        if process.as_ref().is_none_or(|(loops, _)| *loops < printed.len()) {
            *process = Some((printed.len(), Process::new(self.name, &program(&printed))));
        }
        let (_, process) = process.as_mut().expect("just started");
        process.call(number, operands, &printed[number].writes)
    }

    /// Records the difference, and returns whether the loop must be exact.
    fn compare(&self, number: usize, found: &[Vec<u8>], right: &[Vec<u8>]) -> bool {
        let (printed, mut report) = (self.printed.lock().unwrap(), self.report.lock().unwrap());
        let Printed { body, is_exact, .. } = &printed[number];
        let differences = body.outputs.iter().zip(found.iter().zip(right));
        let furthest = differences.map(|(output, (found, right))| difference(output.dtype, found, right));
        let furthest = furthest.fold(0.0, f64::max);
        match is_exact {
            true => report.exact += 1,
            false => {
                report.close += 1;
                report.furthest = report.furthest.max(furthest);
            }
        }
        if furthest > if *is_exact { 0.0 } else { CLOSE } {
            report.different.push(format!("by {furthest:e}: {body}"));
        }
        *is_exact
    }
}

/// The largest difference relative to the largest element; 0 only for equal bits, or NaN on both sides.
fn difference(dtype: DType, found: &[u8], right: &[u8]) -> f64 {
    let numbers = |bytes: &[u8]| -> Vec<f64> {
        match dtype {
            DType::F32 => bytes.as_chunks().0.iter().map(|bytes| f64::from(f32::from_ne_bytes(*bytes))).collect(),
            DType::F64 => bytes.as_chunks().0.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect(),
            _ => bytes.iter().map(|byte| f64::from(*byte)).collect(),
        }
    };
    let (found, right) = (numbers(found), numbers(right));
    let largest = right.iter().fold(f64::MIN_POSITIVE, |largest, x| largest.max(x.abs()));
    let apart = |(a, b): (&f64, &f64)| match a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()) {
        true => 0.0,
        false if (a - b).is_nan() => f64::INFINITY,
        false => ((a - b).abs() / largest).max(f64::MIN_POSITIVE),
    };
    found.iter().zip(&right).map(apart).fold(0.0, f64::max)
}

/// Whether the test is skipped because there is no C compiler; prints a message if so.
fn is_skipped() -> bool {
    let skipped = compiler().is_none();
    if skipped {
        eprintln!("skipped: there is no C compiler");
    }
    skipped
}

fn expect_same(name: &str, shared: &Shared, is_exact: bool, found: &[Tensor], right: &[Tensor]) {
    let report = shared.report.lock().unwrap();
    eprintln!("{name}: {} loops to the bit, {} within {:e}", report.exact, report.close, report.furthest);
    assert_eq!(report.unprinted, Vec::<String>::new(), "{name}: operations that are not printed");
    assert!(report.different.is_empty(), "{name}: {}", report.different.join("\n"));
    assert!(report.exact + report.close > 0, "{name}: no loop ran");
    assert_eq!(report.close == 0, is_exact, "{name}");
    for (number, (found, right)) in found.iter().zip(right).enumerate() {
        assert_eq!(found.as_bytes(), right.as_bytes(), "{name}: tensor {number}");
    }
}

#[test]
fn loops_printed_as_c_reproduce_the_six_workloads() {
    if is_skipped() {
        return;
    }
    for workload in workloads::all(Size::Small) {
        let name = workload.name;
        let again = workloads::named(name, Size::Small).expect("it is listed");
        let c = C::new(name);
        let shared = c.0.clone();
        let (mut ours, mut printed) = (again.compiled(None, Arc::new(Cpu)), workload.compiled(None, Arc::new(c)));
        for _ in 0..2 {
            ours.step();
            printed.step();
        }
        let is_exact = !matches!(name, "rnn" | "gpt" | "elementwise");
        expect_same(name, &shared, is_exact, &printed.tensors(), &ours.tensors());
    }
}

#[test]
fn rows_that_are_folded_and_spread_are_printed() {
    if is_skipped() {
        return;
    }
    // A softmax without its kernel.
    let softmax = |x: &Tensor| {
        let shifted = x - x.max_over(keepdim(1));
        let weights = shifted.exp();
        &weights / weights.sum_over(keepdim(1))
    };
    let x = Tensor::from((0..60).map(|i| (0.7 * f64::from(i)).sin() as f32).collect::<Vec<_>>()).reshape([5, 12]);
    let c = C::new("rows");
    let shared = c.0.clone();
    let found = compile(softmax).on(Arc::new(c)).call(&x);
    expect_same("softmax", &shared, false, &[found], &[compile(softmax).call(&x)]);
}

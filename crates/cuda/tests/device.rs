//! What only a GPU can show: warm steps that neither allocate nor wait, threads that share a plan, memory that is reused while work is under
//! way, and memory that runs out.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use wengert::memory::{reset_peak_of, statistics_of};
use wengert::prelude::*;
use wengert_bench::workloads::{Size, Steps, named};
// Its entry of the table of devices.
use wengert_cuda as _;
use wengert_kernels::counting::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

const GPU: Device = Device::Cuda(0);

/// Held by a test from beginning to end, because the counts include all threads.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn steps(name: &str, size: Size) -> Box<dyn Steps> {
    named(name, size).expect("it is listed").compiled_on(None, GPU, Precision::Strict)
}

fn wave(shape: [usize; 2], phase: f64) -> Tensor {
    let numbers: Vec<f32> = (0..shape[0] * shape[1]).map(|i| (0.37 * i as f64 + phase).sin() as f32).collect();
    Tensor::from(numbers).reshape(shape)
}

#[test]
fn a_warm_step_allocates_nothing() {
    let _turn = turn();
    for name in ["tiny_mlp", "mlp", "rnn", "cnn", "gpt", "elementwise"] {
        let mut training = steps(name, Size::Full);
        // The first calls compile, upload and record.
        (0..4).for_each(|_| training.step());
        training.finish();
        let held = statistics_of(GPU).unwrap();
        let before = ALLOCATOR.count();
        (0..50).for_each(|_| training.step());
        assert_eq!(ALLOCATOR.count() - before, 0, "{name}: allocations of the host");
        let now = statistics_of(GPU).unwrap();
        assert_eq!(
            (now.live_bytes, now.cached_bytes),
            (held.live_bytes, held.cached_bytes),
            "{name}: memory of the GPU"
        );
    }
}

#[test]
fn a_warm_step_does_not_wait() {
    let _turn = turn();
    // Half a millisecond of work for a launch of microseconds.
    let mut training = steps("elementwise", Size::Large);
    (0..4).for_each(|_| training.step());
    training.finish();
    let start = Instant::now();
    (0..100).for_each(|_| training.step());
    let begun = start.elapsed();
    training.finish();
    let done = start.elapsed();
    assert!(begun < done / 4, "100 steps are begun after {begun:?} and done after {done:?}");
}

#[test]
fn threads_share_a_plan() {
    let _turn = turn();
    let f = compile(|x: &Tensor| x.matmul(x).tanh().matmul(x)).on(GPU);
    let on_cpu = compile(|x: &Tensor| x.matmul(x).tanh().matmul(x));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (f, on_cpu) = (&f, &on_cpu);
            scope.spawn(move || {
                for call in 0..20 {
                    let x = wave([96, 96], (20 * thread + call) as f64) * 0.1;
                    let found = f.call(&x.to(GPU)).to(Device::Cpu);
                    assert!(found.all_close(&on_cpu.call(&x), 1e-4), "thread {thread}, call {call}");
                }
            });
        }
    });
}

#[test]
fn memory_is_reused_behind_the_work_that_reads_it() {
    let _turn = turn();
    let long = compile(|x: &Tensor| (0..24).fold(x.clone(), |y, _| y.matmul(x))).on(GPU);
    let x = wave([1024, 1024], 0.0) * 0.02;
    let expected = long.call(&x.to(GPU)).to_f64_vec();
    for _ in 0..10 {
        // The operand, and a plan of its own, are gone before the work is done; others take their memory at once.
        let own = compile(|x: &Tensor| (0..24).fold(x.clone(), |y, _| y.matmul(x))).on(GPU);
        let y = own.call(&x.to(GPU));
        drop(own);
        let others: Vec<Tensor> = (0..8).map(|_| Tensor::full([1024, 1024], f32::NAN).contiguous().to(GPU)).collect();
        drop(others);
        assert_eq!(y.to_f64_vec(), expected);
    }
}

#[test]
fn memory_that_runs_out_is_an_error_and_states_stay() {
    let _turn = turn();
    let step = |w: &mut Tensor, x: &Tensor| {
        *w += x;
        // A terabyte.
        x.reshape([1 << 10, 1]).expand([1 << 10, 1 << 28]).exp()
    };
    let (mut w, x) = (Tensor::ones([1 << 10]).f32().to(GPU), Tensor::ones([1 << 10]).f32().to(GPU));
    let error = catch(|| compile_step(step).on(GPU).call(&mut w, &x)).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Device, "{error}");
    assert!(error.message().contains("1099511627776 bytes are wanted on cuda:0, and"), "{error}");
    assert!(w.to(Device::Cpu).all_close(&Tensor::ones([1 << 10]).f32(), 0.0));
    // What fits still runs.
    assert_eq!((&w + &x).sum().item(), 2048.0);
}

#[test]
fn checkpoints_hold_less_on_a_gpu() {
    let _turn = turn();
    let block = |x: &Tensor| (0..8).fold(x.clone(), |y, _| (y * 1.01).tanh());
    // The bytes of a backward pass on the tape beyond those held before it, and the gradient.
    let measured = |is_again: bool| {
        let x = wave([512, 512], 0.5).to(GPU).require_grad();
        let before = statistics_of(GPU).unwrap().live_bytes;
        reset_peak_of(GPU).unwrap();
        let y = (0..6).fold(x.clone(), |x, _| if is_again { checkpoint(block)(&x) } else { block(&x) });
        y.sum().backward();
        (statistics_of(GPU).unwrap().peak_bytes - before, x.grad().unwrap().to_f64_vec())
    };
    let ((whole, expected), (tight, found)) = (measured(false), measured(true));
    assert_eq!(found, expected);
    assert!(tight < whole / 2, "{tight} bytes of {whole}");
    let x = wave([512, 512], 0.5).require_grad();
    (0..6).fold(x.clone(), |x, _| block(&x)).sum().backward();
    let right = x.grad().unwrap().to_f64_vec();
    assert!(expected.iter().zip(&right).all(|(a, b)| (a - b).abs() <= 1e-5 * (1.0 + b.abs())));
}

#[test]
fn derivatives_of_tensors_of_a_gpu_are_there() {
    let _turn = turn();
    let losses: [fn(&Tensor) -> Tensor; 5] = [
        |x| (x.exp() * 0.5 - x).mean(),
        |x| (-x.log_softmax(-1)).mean(),
        |x| (x.softmax(-1) * 3.0).square().mean() + x.norm(2.0),
        |x| x.gt(0.5).where_(x.abs().log(), 0.0).sum(),
        |x| x.matmul(&x.t()).layer_norm(&[6], &Norm::new()).gelu().sum(),
    ];
    let x = wave([6, 5], 0.4) + 1.1;
    let there = x.to(GPU);
    for (number, f) in losses.into_iter().enumerate() {
        let same = |name: &str, found: Tensor, right: Tensor| {
            assert_eq!(found.device(), GPU, "{name} of loss {number}");
            let apart = (found.to(Device::Cpu) - &right).abs().max().item();
            assert!(apart <= 2e-4 * (1.0 + right.abs().max().item()), "{name} of loss {number}: {apart}");
        };
        same("grad", grad(f)(&there), grad(f)(&x));
        same("hessian", hessian(f)(&there), hessian(f)(&x));
        same("jvp", jvp(f, &there, &there).1, jvp(f, &x, &x).1);
        same("vmap", vmap(grad(f))(&there.unsqueeze(0)), vmap(grad(f))(&x.unsqueeze(0)));
        let leaf = there.clone().require_grad();
        f(&leaf).backward();
        same("backward", leaf.grad().unwrap(), grad(f)(&x));
        let compiled = compile(f).on(GPU);
        same("hessian of a compiled call", hessian(|x: &Tensor| compiled.call(x))(&there), hessian(f)(&x));
        same("an update", &there - grad(f)(&there) * 0.1, &x - grad(f)(&x) * 0.1);
    }
}

#[test]
fn two_runs_have_the_same_bits() {
    let _turn = turn();
    for precision in [Precision::Strict, Precision::Tf32, Precision::Bf16] {
        for name in ["tiny_mlp", "mlp", "rnn", "cnn", "gpt", "elementwise"] {
            let run = || {
                let workload = named(name, Size::Full).expect("it is listed");
                let mut training = workload.compiled_on(None, GPU, precision);
                (0..10).map(|_| training.measured_step()).map(|(a, b)| [a.to_bits(), b.to_bits()]).collect::<Vec<_>>()
            };
            assert_eq!(run(), run(), "{name}, {precision:?}");
        }
    }
}

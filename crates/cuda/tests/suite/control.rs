//! Loops and branches whose course depends on numbers, and long loops, with the results of the processor.

use super::emulator::Emulator;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
#[cfg(feature = "device")]
use wengert::backend::Place;
use wengert::backend::{Backend, Cpu, Plan, Runner, Target};
use wengert::prelude::*;
use wengert_cuda::launch::{Control, Launch, Work};
use wengert_cuda::lower::lower;

/// A program, and the operands of its calls.
struct Trial {
    name: &'static str,
    /// The loops and branches for which the host reads or counts.
    control: &'static [&'static str],
    program: fn(&Vec<Tensor>) -> Vec<Tensor>,
    calls: Vec<Vec<Tensor>>,
}

/// Keeps which kinds of control a plan has, and does not run it.
struct Kinds(Arc<Mutex<BTreeSet<&'static str>>>);

impl Backend for Kinds {
    fn target(&self) -> Target {
        wengert_cuda::TARGET
    }

    fn runner(&self, plan: Plan) -> Result<Box<dyn Runner>, Error> {
        let launches = lower(&plan, 90)?.0;
        let kind = |launch: &Launch| match launch.work {
            Work::Control(Control::While { .. }) => Some("while"),
            Work::Control(Control::Switch { .. }) => Some("switch"),
            Work::Control(Control::Repeat { .. }) => Some("repeat"),
            _ => None,
        };
        *self.0.lock().unwrap() = launches.lists.iter().chain([&launches.list]).flatten().filter_map(kind).collect();
        Err(Error::new(ErrorKind::Device, "record", "nothing runs"))
    }
}

/// Half of an even number, or three times an odd one and one more, until it is 1; how often.
fn hailstone(n: &Tensor) -> (Tensor, Tensor) {
    let step = |(n, count): &(Tensor, Tensor)| {
        let half = (n.cast(DType::F64) * 0.5).floor().cast(DType::I64);
        let next = cond(&(&half * 2i64).equal(n), |_: &Tensor| half.clone(), |n: &Tensor| n * 3i64 + 1i64, n);
        (next, count + 1i64)
    };
    while_loop(|(n, _): &(Tensor, Tensor)| n.gt(1i64), step, &(n.clone(), Tensor::from(0i64)))
}

/// The square root of every element, by Newton's method.
fn roots(a: &Tensor) -> Tensor {
    let newton = |(x, _): &(Tensor, Tensor)| ((x + a / x) * 0.5, x.clone());
    while_loop(|(x, last): &(Tensor, Tensor)| (x - last).abs().sum().gt(1e-4), newton, &(a.clone(), a + 1.0)).0
}

/// One of three functions of a vector.
fn chosen(k: &Tensor, x: &Tensor) -> Tensor {
    let branches: [&dyn Fn(&Tensor) -> Tensor; 3] = [&|x| x.sin(), &|x| x * x.sum(), &|x| x.clone()];
    switch(k, &branches, x)
}

fn range(length: usize, scale: f64) -> Tensor {
    ((Tensor::arange(length as i64).cast(DType::F64) * 0.37).sin() * scale).f32()
}

fn trials() -> Vec<Trial> {
    let number = |number: i64| Tensor::from(number);
    vec![
        Trial {
            name: "a loop while a test holds, with a branch inside",
            control: &["switch", "while"],
            program: |x| {
                let (n, count) = hailstone(&x[0]);
                vec![n, count]
            },
            calls: [7, 1, 27].map(|n| vec![number(n)]).to_vec(),
        },
        Trial {
            name: "a branch, whose number is clamped",
            control: &["switch"],
            program: |x| vec![chosen(&x[0], &x[1]) + &x[1]],
            calls: [0, 1, 2, 9, -4].map(|k| vec![number(k), range(5, 1.0)]).to_vec(),
        },
        Trial {
            name: "a gradient through a branch",
            control: &["switch"],
            program: |x| vec![grad(|y: &Tensor| (chosen(&x[0], y) * y).sum())(&x[1])],
            calls: [0, 1, 2].map(|k| vec![number(k), range(5, 1.0)]).to_vec(),
        },
        Trial {
            name: "a gradient through a loop while a test holds",
            control: &["while"],
            program: |x| {
                let (value, slope) = value_and_grad(|a: &Tensor| (roots(a) * a).sum())(&(x[0].square() + 1.0));
                vec![value, slope]
            },
            calls: [0.5, 2.0, 9.0].map(|scale| vec![range(6, scale)]).to_vec(),
        },
        Trial {
            name: "a gradient through more steps than states are kept",
            control: &["while"],
            program: |x| {
                let step = |i: &Tensor, y: &Tensor| y * 0.9 + (y * &x[1]).sin() * (i + 1i64).cast(DType::F32).recip();
                vec![grad(|y: &Tensor| fori(&x[0], step, y).sum())(&x[1])]
            },
            calls: [0, 1, 3, 40].map(|count| vec![number(count), range(3, 1.0)]).to_vec(),
        },
        Trial {
            name: "a loop while a test holds inside a scan",
            control: &["repeat", "while"],
            program: |x| {
                let step = |h: &Tensor, x: &Tensor| {
                    let y = roots(&(h * 0.5 + x.square() + 1.0));
                    (y.clone(), y.sum())
                };
                let (last, all) = scan(step, &x[0], &x[1]);
                let slope = grad(|h: &Tensor| scan(step, h, &x[1]).0.sum())(&x[0]);
                vec![last, all, slope]
            },
            calls: [1.0, 3.0].map(|scale| vec![range(4, scale).abs(), range(12, scale).reshape([3, 4])]).to_vec(),
        },
        Trial {
            name: "a reversed scan with a branch and a scan inside, whose elements are columns",
            control: &["repeat", "switch"],
            program: |x| {
                let matrices = x[2].permute([1, 0, 2, 3]);
                let step = |h: &Tensor, x: &Tensor| {
                    // These matrices are copied behind the workspace, and not over the elements of this step.
                    let product = matrices.matmul(&(matrices.permute([0, 1, 3, 2]) + h.sum()));
                    let y = cond(&x.sum().gt(0.0), |h: &Tensor| h * 0.5, |h: &Tensor| h - x, h) + product.mean() * x;
                    let (_, sums) = scan(|s: &Tensor, y: &Tensor| (s + y, s * y), &y.sum(), &y);
                    (y.tanh(), sums)
                };
                let (last, all) = scan_reverse(step, &x[0], &x[1].transpose(0, 1));
                vec![last, all]
            },
            calls: [1.0, -2.0]
                .map(|scale| {
                    let matrices = range(24, scale).reshape([2, 3, 2, 2]);
                    vec![range(4, scale), range(28, scale).reshape([4, 7]), matrices]
                })
                .to_vec(),
        },
        Trial {
            name: "a long scan",
            control: &["repeat"],
            program: |x| {
                // A carried truth value keeps it out of one kernel.
                let step = |(h, up): &(Tensor, Tensor), x: &Tensor| {
                    let h = up.where_(h * 0.5 + x, h * 0.25 - x);
                    ((h.clone(), h.lt(0.5)), h)
                };
                let ((last, up), all) = scan(step, &(x[0].clone(), x[0].gt(0.0)), &x[1]);
                vec![last, up.cast(DType::F32), all]
            },
            calls: vec![vec![range(2, 1.0), range(8202, 1.0).reshape([4101, 2])]],
        },
    ]
}

/// Every call has the results of the processor; each comes twice, for what is kept after the first time.
fn compare(backend: &dyn Fn() -> Arc<dyn Backend>) {
    for Trial { name, program, calls, .. } in trials() {
        let (ours, right) = (compile(program).on(backend()), compile(program).on(Arc::new(Cpu)));
        for call in calls.iter().flat_map(|call| [call, call]) {
            let expected = right.call(call);
            for (place, (found, expected)) in ours.call(call).iter().zip(&expected).enumerate() {
                assert_eq!(found.spec(), expected.spec(), "{name}, output {place}");
                for (a, b) in found.to_f64_vec().into_iter().zip(expected.to_f64_vec()) {
                    assert!((a - b).abs() <= 2e-4 * (1.0 + b.abs()), "{name}, output {place}: {a}, not {b}");
                }
            }
        }
    }
}

#[test]
fn the_host_takes_part_only_where_it_must() {
    for Trial { name, control, program, calls } in trials() {
        let kinds = Arc::new(Mutex::default());
        catch(|| compile(program).on(Arc::new(Kinds(kinds.clone()))).call(&calls[0])).unwrap_err();
        assert_eq!(kinds.lock().unwrap().iter().copied().collect::<Vec<_>>(), control, "{name}");
    }
}

#[test]
fn loops_and_branches() {
    compare(&|| Arc::new(Emulator("control")));
}

#[cfg(feature = "device")]
#[test]
fn loops_and_branches_on_a_gpu() {
    compare(&|| Device::Cuda(0).backend().unwrap());
}

//! Programs of which a device runs only a part; here one that has neither `tanh` nor `sort`.

use crate::devices::Shelf;
use std::sync::{Arc, Once};
use wengert::backend::{Backend, Place, enter};
use wengert::prelude::*;

const PICKY: Device = Device::Cuda(501);

/// The device.
fn picky() -> Arc<dyn Backend> {
    static MACHINE: Shelf = Shelf::without(PICKY, &["tanh", "sort"]);
    static ENTERED: Once = Once::new();
    ENTERED.call_once(|| enter(&MACHINE));
    PICKY.backend().unwrap()
}

fn numbers(size: usize) -> Tensor {
    Tensor::randn([size, size], 7)
}

/// Where segments run, and what they lack.
fn sides(plan: &PlanSummary) -> Vec<(Device, Vec<&'static str>)> {
    plan.segments().iter().map(|segment| (segment.device, segment.operations.clone())).collect()
}

#[test]
fn an_operation_that_a_device_does_not_have_is_an_error_that_names_the_option() {
    let x = numbers(4);
    let error = catch(|| compile(|x: &Tensor| (x * 2.0).tanh().sum()).on(picky()).call(&x)).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Device);
    assert!(
        error.message().contains("tanh") && error.suggestion().unwrap().contains("with_host_fallback()"),
        "{error}"
    );
    assert!(error.line().is_some_and(|line| line.to_string().contains("host_fallback.rs")), "{error}");
}

#[test]
fn nothing_changes_where_the_device_has_everything() {
    let (x, f) = (numbers(4), |x: &Tensor| x.matmul(x).exp().sum());
    let (with, without) = (compile(f).on(picky()).with_host_fallback(), compile(f).on(picky()));
    assert_eq!(with.call(&x).item(), without.call(&x).item());
    assert_eq!(with.plan(&x).to_string(), without.plan(&x).to_string());
    assert_eq!(sides(&with.plan(&x)), [(PICKY, vec![])]);
}

#[test]
fn a_plan_that_is_all_on_the_cpu_says_so() {
    let x = numbers(4);
    let plan = compile(|x: &Tensor| x.tanh()).on(picky()).with_host_fallback().plan(&x);
    assert_eq!(sides(&plan), [(Device::Cpu, vec!["tanh"])]);
    let text = plan.to_string();
    assert!(text.starts_with("on cpu, for want of tanh") && text.contains("\n1 segment; MB copied"), "{text}");
}

#[test]
fn the_rest_stays_on_the_device() {
    let f = |x: &Tensor| {
        let y = x.matmul(x) * 0.5;
        (y.tanh() + 1.0).matmul(x).sort(0).0.sum_over(0) * y.sum_over(1)
    };
    let (x, there) = (numbers(4), compile(f).on(picky()).with_host_fallback());
    let right = compile(f).call(&x);
    for x in [&x, &x.to(PICKY), &x] {
        let y = there.call(x);
        assert_eq!((y.device(), y.to(Device::Cpu)), (PICKY, right.clone()));
    }
    let plan = there.plan(&x);
    let on_cpu = |name| (Device::Cpu, vec![name]);
    assert_eq!(sides(&plan), [(PICKY, vec![]), on_cpu("tanh"), (PICKY, vec![]), on_cpu("sort"), (PICKY, vec![])]);
    assert_eq!(plan.segments()[1].bytes_in, 8 * 16);
    assert_eq!(plan.segments()[3].bytes_out, 8 * 16);
    let kernels: Vec<_> = plan.segments().iter().flat_map(|segment| segment.kernels.clone()).collect();
    assert_eq!(kernels, (0..plan.kernels()).collect::<Vec<_>>());
    let text = plan.to_string();
    assert!(text.contains("on cpu, for want of tanh; MB copied: 0.000 there, 0.000 back"), "{text}");
    assert!(text.contains("9 launches on cuda:501, compiled in 0.750 s, with 3.146 MB of workspace"), "{text}");
    assert!(text.contains("5 segments; MB copied in every call"), "{text}");
    // The whole program is there, and every kernel knows what it reads.
    assert_eq!(plan.program().evaluate(&[x]).unwrap()[0], right);
    let last = plan.kernels() - 1;
    #[cfg(feature = "nn")]
    assert!(wengert::view::plan(&plan).nodes().iter().any(|node| node.operation.contains("sort")));
    assert!(plan.kernel_results(last) == [0] && !plan.kernel_sources(last).is_empty());
}

#[test]
fn a_program_may_begin_and_end_on_the_processor() {
    let f = |x: &Tensor| (x.sort(0).0 * 2.0).tanh();
    let (x, there) = (numbers(3), compile(f).on(picky()).with_host_fallback());
    assert_eq!(there.call(&x).to(Device::Cpu), compile(f).call(&x));
    assert_eq!(there.call(&x).device(), PICKY);
    let on_cpu = |name| (Device::Cpu, vec![name]);
    assert_eq!(sides(&there.plan(&x)), [on_cpu("sort"), (PICKY, vec![]), on_cpu("tanh")]);
    // And be there altogether.
    let only = compile(|x: &Tensor| x.tanh()).on(picky()).with_host_fallback();
    assert_eq!((only.call(&x).device(), only.call(&x).to(Device::Cpu)), (PICKY, x.tanh()));
    let mut y = only.call(&x);
    only.call_into(&(&x * 2.0), &mut y);
    assert_eq!((y.device(), y.to(Device::Cpu)), (PICKY, (&x * 2.0).tanh()));
}

#[test]
fn inputs_and_constants_may_be_results() {
    let constant = Tensor::from([1.0, 2.0, 3.0]);
    let f = |x: &Tensor| (x.clone(), constant.clone(), x.tanh(), x.tanh(), x.t());
    let (x, there) = (numbers(3), compile(f).on(picky()).with_host_fallback());
    let (a, b, c, d, e) = there.call(&x);
    let found = [a, b, c, d, e].map(|y| (y.device(), y.to(Device::Cpu)));
    assert_eq!(found, [x.clone(), constant.clone(), x.tanh(), x.tanh(), x.t()].map(|y| (PICKY, y)));
}

#[test]
fn a_view_is_not_copied_where_its_base_is_smaller() {
    let f = |x: &Tensor| {
        let mean = x.sum_over(0).broadcast_to([64, 64]);
        (x * &mean).sum() + (mean.tanh() * 3.0).sum()
    };
    let (x, there) = (numbers(64), compile(f).on(picky()).with_host_fallback());
    assert!((there.call(&x).item() - compile(f).call(&x).item()).abs() < 1e-9);
    assert_eq!(there.plan(&x).segments()[1].bytes_in, 8 * 64);
}

#[test]
fn loops_with_such_operations_run_on_the_processor_as_a_whole() {
    let f = |x: &Tensor| {
        let step = |h: &Tensor, row: &Tensor| ((h + row).tanh(), h.sum());
        let (last, sums) = scan(step, &Tensor::zeros([5]), &(x * 2.0));
        let doubled = fori(3, |_, h: &Tensor| h.exp() * 0.1, &last);
        doubled * sums.sum()
    };
    let (x, there) = (numbers(5), compile(f).on(picky()).with_host_fallback());
    assert_eq!(there.call(&x).to(Device::Cpu), compile(f).call(&x));
    assert_eq!(sides(&there.plan(&x)), [(PICKY, vec![]), (Device::Cpu, vec!["scan"]), (PICKY, vec![])]);
}

#[test]
fn a_state_is_updated_call_after_call() {
    // The first is updated by the device, the second by the processor, the third is read later, and the last two change places.
    type State = (Tensor, Tensor, Tensor, (Tensor, Tensor));
    let f = |(a, b, c, (d, e)): &mut State, x: &Tensor| {
        let y = (x * &*a).tanh();
        let sorted = (&*b + &y).sort(0).0;
        *a = &*a * 0.5 + &y;
        *b = sorted;
        *c = &*c + &y;
        let read = c.tanh().sum();
        std::mem::swap(d, e);
        *d += 1.0;
        (read + b.sum(), a.clone())
    };
    let start = || {
        let [a, b, c, d, e] = [1.0, 2.0, 3.0, 4.0, 5.0].map(|number| Tensor::from([number, 0.5, -number]));
        (a, b, c, (d, e))
    };
    let there = compile_step(f).on(picky()).with_host_fallback();
    let here = compile_step(f);
    let (mut ours, mut right) = (start(), start());
    let kept = ours.0.clone();
    for call in 0..6 {
        let x = Tensor::from([0.3, 0.1 * f64::from(call), -0.7]);
        let (found, expected) = (there.call(&mut ours, &x), here.call(&mut right, &x));
        assert!(found.0.to(Device::Cpu).all_close(&expected.0, 1e-12), "{call}");
        for (found, expected) in ours.leaves().into_iter().zip(right.leaves()).chain([(&found.1, &expected.1)]) {
            assert_eq!(found.device(), PICKY);
            assert!(found.to(Device::Cpu).all_close(expected, 1e-12), "{call}: {found} is not {expected}");
        }
    }
    assert_eq!(kept, start().0);
    // A copy of a state is not changed by later steps.
    let (copy, numbers) = (ours.clone(), ours.0.to_vec::<f64>());
    there.call(&mut ours, &Tensor::from([1.0, 2.0, 3.0]));
    assert_eq!(copy.0.to_vec::<f64>(), numbers);
    assert_ne!(ours.0.to_vec::<f64>(), numbers);
}

#[test]
fn a_training_step_is_the_same() {
    let f = |w: &mut Vec<Tensor>, x: &Tensor| {
        let loss = |w: &Vec<Tensor>| x.matmul(&w[0]).tanh().matmul(&w[1]).square().mean();
        let (loss, slopes) = value_and_grad(loss)(w);
        w.iter_mut().zip(&slopes).for_each(|(w, slope)| *w -= slope * 0.1);
        loss
    };
    let (there, here) = (compile_step(f).on(picky()).with_host_fallback(), compile_step(f));
    let mut ours = vec![numbers(4), Tensor::randn([4, 2], 3)];
    let mut right = ours.clone();
    let x = Tensor::randn([6, 4], 5);
    for _ in 0..4 {
        let (found, expected) = (there.call(&mut ours, &x).item(), here.call(&mut right, &x).item());
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }
    assert!(ours.iter().zip(&right).all(|(w, right)| w.device() == PICKY && w.to(Device::Cpu).all_close(right, 1e-12)));
    let plan = there.plan(&ours, &x);
    assert_eq!(sides(&plan), [(PICKY, vec![]), (Device::Cpu, vec!["tanh"]), (PICKY, vec![])]);
    let profile = there.profile(&mut ours, &x, 2);
    assert_eq!(profile.times().len(), profile.kernels());
}

#[test]
fn derivatives_of_a_call_fall_back_too() {
    let picky = picky();
    let f = |x: &Tensor| ((x * 2.0).tanh() * x).sort(0).0.sum();
    let there = compile(f).on(picky.clone()).with_host_fallback();
    let x = numbers(3);
    let right = grad(f)(&x);
    let slope = grad(|x: &Tensor| there.call(x))(&x.to(PICKY));
    assert_eq!(slope.device(), PICKY);
    assert!(slope.to(Device::Cpu).all_close(&right, 1e-12));
    let leaf = x.to(PICKY).require_grad();
    there.call(&leaf).backward();
    assert!(leaf.grad().unwrap().to(Device::Cpu).all_close(&right, 1e-12));
    let (_, tangent) = jvp(|x: &Tensor| there.call(x), &x.to(PICKY), &Tensor::ones([3, 3]).to(PICKY));
    assert!((tangent.item() - right.sum().item()).abs() < 1e-12);
    // Without the option it is an error that names it.
    let error = catch(|| grad(|x: &Tensor| compile(f).on(picky.clone()).call(x))(&x.to(PICKY))).unwrap_err();
    assert!(error.suggestion().unwrap().contains("with_host_fallback()"), "{error}");
    // A gradient inside of the program is a part of it.
    let inside = compile(grad(f)).on(picky).with_host_fallback();
    assert!(inside.call(&x).to(Device::Cpu).all_close(&right, 1e-12));
}

#[test]
fn a_budget_holds_for_every_part() {
    let f = |x: &Tensor| (0..12).fold(x.clone(), |y, _| y.matmul(x).exp()).tanh().sum();
    let x = numbers(48) / 48.0;
    let free = compile(grad(f)).on(picky()).with_host_fallback();
    let total = free.plan(&x).segments().len();
    assert_eq!(total, 3);
    let bounded = compile(grad(f)).on(picky()).with_host_fallback().within(free.plan(&x).total_bytes());
    assert_eq!(bounded.call(&x).to(Device::Cpu), free.call(&x).to(Device::Cpu));
    let error = catch(|| compile(grad(f)).on(picky()).with_host_fallback().within(100).call(&x)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Budget { .. }));
}

#[test]
fn a_failing_call_leaves_the_state_as_it_was() {
    const STRICT: Device = Device::Cuda(502);
    static MACHINE: Shelf = Shelf::without(STRICT, &["cholesky"]);
    enter(&MACHINE);
    let step = compile_step(|(w, v): &mut (Tensor, Tensor), x: &Tensor| {
        *w += 1.0;
        let root = (x * x * x).cholesky();
        *v += root.sum();
        root.sum()
    });
    let step = step.on(STRICT.backend().unwrap()).with_host_fallback();
    let (good, bad) = (Tensor::eye(2), Tensor::eye(2) * -1.0);
    let mut state = (Tensor::zeros([2]), Tensor::from(0.0));
    step.call(&mut state, &good);
    for _ in 0..2 {
        assert!(catch(|| step.call(&mut state, &bad)).is_err());
        assert_eq!((state.0.to_vec::<f64>(), state.1.item()), (vec![1.0, 1.0], 2.0));
    }
    step.call(&mut state, &good);
    assert_eq!((state.0.to_vec::<f64>(), state.1.item()), (vec![2.0, 2.0], 4.0));
}

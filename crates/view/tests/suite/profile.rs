//! Profiles match forward and backward calls, and change nothing.

use std::time::Duration;
use wengert::prelude::*;
use wengert_view::{Ceilings, Profile, ProfileCall, ProfileRow, profile};

fn row<'r>(rows: &'r [ProfileRow], operation: &str) -> &'r ProfileRow {
    rows.iter().find(|row| row.operation == operation).unwrap_or_else(|| panic!("no {operation} in {rows:?}"))
}

#[test]
fn a_step_is_accounted_for_by_line_and_pass() {
    let x = Tensor::randn([128, 256], 0);
    let w = Tensor::randn([256, 256], 1).require_grad();
    let plain = {
        let loss = (x.matmul(&w).tanh().square() + 1.0).mean();
        loss.backward();
        (loss, w.take_grad().unwrap())
    };
    let line = line!() + 2;
    let (loss, profile) = profile(|| {
        let loss = (x.matmul(&w).tanh().square() + 1.0).mean();
        loss.backward();
        loss
    });
    assert_eq!((loss, w.grad().unwrap()), plain, "the same bits as without a profile");
    let rows = profile.rows();
    for name in ["matmul", "tanh", "mean"] {
        let row = rows.iter().find(|row| row.operation == name || (name == "mean" && row.operation == "sum"));
        let row = row.unwrap_or_else(|| panic!("no {name} in {rows:?}"));
        assert_eq!((row.forward_calls, row.line.expect("a line").line()), (1, line), "{rows:?}");
    }
    let product = row(&rows, "matmul");
    assert!(product.backward > Duration::ZERO && product.forward > Duration::ZERO);
    // Elementwise rules multiply directly, without a call; those of long rows multiply together.
    let slopes: Duration = rows.iter().filter(|row| row.operation != "matmul").map(|row| row.backward).sum();
    assert!(slopes > Duration::ZERO, "{rows:?}");
    // The gradient of the weight is one product; that of the data is not wanted.
    assert_eq!(product.cost.flops, 2.0 * 2.0 * 128.0 * 256.0 * 256.0);
    let sum: Duration = rows.iter().map(ProfileRow::total).sum();
    assert_eq!(sum, profile.total());
    assert!(profile.total() <= profile.wall());
}

#[test]
fn updates_in_place_are_timed_and_stay_in_place() {
    let mut x = Tensor::linspace(0.0, 1.0, 1000);
    let address = x.as_bytes().as_ptr();
    let (_, profile) = profile(|| x += 1.0);
    assert_eq!(address, x.as_bytes().as_ptr());
    assert_eq!(row(&profile.rows(), "add").forward_calls, 1);
}

#[test]
fn a_call_of_a_compiled_function_is_one_row() {
    let f = compile(|x: &Tensor| x.exp().tanh().sum());
    let x = Tensor::linspace(0.0, 1.0, 10_000).require_grad();
    let (_, profile) = profile(|| f.call(&x).backward());
    let names: Vec<String> = profile.rows().iter().map(|row| row.operation.to_string()).collect();
    assert!(names.contains(&"call".to_string()) && !names.contains(&"exp".to_string()), "{names:?}");
}

#[test]
fn tables_and_traces_show_every_call() {
    let (_, profile) = profile(|| Tensor::ones([64, 64]).matmul(&Tensor::ones([64, 64])).exp().sum());
    let table = profile.clone().against(Ceilings { flops: 1e12, bytes: 1e11 }).to_string();
    assert!(table.contains("matmul, ") && table.contains("profile.rs") && table.contains("of ceiling"), "{table}");
    let trace = profile.chrome_trace();
    assert_eq!(trace.matches("\"ph\":\"X\"").count(), profile.calls().len());
    assert!(trace.contains("\"name\":\"matmul\""), "{trace}");
}

#[test]
fn a_plan_does_the_work_of_the_eager_operations_with_less_traffic() {
    let (x, w) = (Tensor::randn([128, 256], 0), Tensor::randn([256, 64], 1).require_grad());
    let loss = |w: &Tensor| (x.matmul(w).tanh() * 2.0 + 1.0).square().mean();
    let (_, eager) = profile(|| loss(&w).backward());
    let line = line!() + 1;
    let f = compile(value_and_grad(|w: &Tensor| (x.matmul(w).tanh() * 2.0 + 1.0).square().mean()));
    let plan = f.profile(&w.detach(), 5);
    let compiled = Profile::of_plan(&plan);

    let products = |profile: &Profile| -> f64 {
        let rows = profile.rows();
        rows.iter().filter(|row| row.operation.starts_with("matmul")).map(|row| row.cost.flops).sum()
    };
    assert_eq!(products(&eager), 2.0 * 2.0 * 128.0 * 256.0 * 64.0);
    // A loop over the elements of a product runs in its kernel.
    let looped = products(&compiled) - products(&eager);
    assert!((0.0..0.01 * products(&eager)).contains(&looped), "{compiled}");
    let flops: f64 = compiled.calls().iter().map(|call| call.cost.flops).sum();
    assert_eq!(flops, plan.program().cost().flops, "every equation belongs to one kernel");
    let traffic = |profile: &Profile| profile.calls().iter().map(|call| call.cost.bytes).sum::<f64>();
    assert!(traffic(&compiled) < traffic(&eager), "{compiled}{eager}");
    // Loops read and write each of these at least once.
    assert!(traffic(&compiled) > 2.0 * 8.0 * (128 * 256 + 256 * 64 + 128 * 64) as f64);

    assert_eq!(compiled.calls().len(), plan.kernels());
    let rows = compiled.rows();
    let backward = rows.iter().filter(|row| row.backward_calls > 0);
    assert!(backward.clone().count() > 0 && rows.iter().any(|row| row.forward_calls > 0), "{compiled}");
    assert!(backward.clone().all(|row| row.forward == Duration::ZERO));
    assert!(rows.iter().all(|row| row.line.expect("a line").line() == line), "{compiled}");
    assert!(compiled.total() <= compiled.wall() && compiled.total() > Duration::ZERO);
    let after = |pair: &[ProfileCall]| pair[1].start >= pair[0].start + pair[0].duration;
    assert!(compiled.calls().windows(2).all(after), "kernels follow each other");
}

#[test]
fn loops_of_a_plan_cost_what_their_iterations_cost() {
    let f = compile(|x: &Tensor| (0..3).fold(x.clone(), |x, _| x.matmul(&x)));
    let looped = compile(|x: &Tensor| scan(|x: &Tensor, _: &Tensor| (x.matmul(x), ()), x, &Tensor::zeros([3])).0);
    let x = Tensor::zeros([16, 16]);
    let flops = |plan: PlanSummary| plan.costs().iter().map(|cost| cost.flops).sum::<f64>();
    assert_eq!(flops(f.plan(&x)), 3.0 * 2.0 * 16f64.powi(3));
    assert_eq!(flops(looped.plan(&x)), flops(f.plan(&x)));
}

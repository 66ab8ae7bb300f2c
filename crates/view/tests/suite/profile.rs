//! Profiles match forward and backward calls, and change nothing.

use std::time::Duration;
use wengert::prelude::*;
use wengert_view::{Ceilings, ProfileRow, profile};

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
        assert_eq!((row.forward_calls, row.line.line()), (1, line), "{rows:?}");
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
    let names: Vec<&str> = profile.rows().iter().map(|row| row.operation).collect();
    assert!(names.contains(&"call") && !names.contains(&"exp"), "{names:?}");
}

#[test]
fn tables_and_traces_show_every_call() {
    let (_, profile) = profile(|| Tensor::ones([64, 64]).matmul(&Tensor::ones([64, 64])).exp().sum());
    let table = profile.clone().against(Ceilings { flops: 1e12, bytes: 1e11 }).to_string();
    assert!(table.contains("matmul, ") && table.contains("profile.rs") && table.contains("of ceiling"), "{table}");
    let trace = profile.chrome_trace();
    assert_eq!(trace.matches("\"ph\":\"X\"").count(), profile.timings().len());
    assert!(trace.contains("\"name\":\"matmul\""), "{trace}");
}

//! Nanoseconds per element of every elementwise primitive, value and gradient, on 1024 f32 in the nearest cache.
//!
//! `cargo run --release -p wengert-testkit --example elementwise_speed [NAME..]`. A loop that is not vector code shows as
//! several nanoseconds. Calls take about 0.2 ns an element besides their loops.

use std::hint::black_box;
use std::time::Instant;
use wengert::prelude::*;
use wengert::primitive::{Case, Dependency, Mask, Outputs, PRIMITIVES, Primitive, Rule, bind};

const ELEMENTS: usize = 1024;

/// The operands of a case, repeated to the size that is timed.
fn operands(case: &Case, dtype: DType) -> Vec<Tensor> {
    let numbers = |data: &[f64]| -> Vec<f64> { data.iter().cycle().take(ELEMENTS).copied().collect() };
    case.operands
        .iter()
        .map(|sample| {
            let dtype = if sample.dtype.is_float() { dtype } else { sample.dtype };
            Tensor::from_vec(numbers(&sample.data), [ELEMENTS]).cast(dtype)
        })
        .collect()
}

/// The least time of several runs, in nanoseconds per element.
fn time(mut f: impl FnMut()) -> f64 {
    let calls = 200;
    let run = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..calls).for_each(|_| f());
        start.elapsed().as_secs_f64() * 1e9 / (calls * ELEMENTS) as f64
    };
    (0..15).map(|_| run(&mut f)).fold(f64::INFINITY, f64::min)
}

fn measure(op: &'static dyn Primitive, dtype: DType) -> Option<(f64, f64)> {
    let all = op.cases();
    let case = all.iter().filter(|case| case.smooth || !op.differentiable()).max_by_key(|case| {
        let finite = case.operands.iter().all(|sample| sample.data.iter().all(|x| x.is_finite()));
        if finite { case.operands[0].data.len() } else { 0 }
    })?;
    let operands = operands(case, dtype);
    let operands: Vec<&Tensor> = operands.iter().collect();
    let value = time(|| drop(black_box(bind(op, case.attrs.clone(), &operands))));
    let outputs: Outputs = bind(op, case.attrs.clone(), &operands);
    if !op.differentiable() {
        return Some((value, 0.0));
    }
    let wanted = Mask::of(operands.len(), |position| operands[position].dtype().is_float());
    let rule = Rule::new(op, &case.attrs, &operands, &outputs, wanted);
    let g = outputs[0].full_like(0.5).contiguous();
    let gradient = time(|| drop(black_box(op.vjp(&rule, &mut [Some(g.clone())]))));
    Some((value, gradient))
}

fn main() {
    wengert::set_threads(1);
    let names: Vec<String> = std::env::args().skip(1).collect();
    println!("{:14} {:>8} {:>8} {:>8} {:>8}", "ns/element", "f32", "gradient", "f64", "gradient");
    for op in PRIMITIVES.iter().copied() {
        let chosen = names.is_empty() || names.iter().any(|name| name == op.name());
        let all = op.cases();
        let alike = all.iter().all(|case| case.operands.iter().all(|sample| sample.shape == case.operands[0].shape));
        let kind = matches!(op.dependency(), Dependency::Elementwise | Dependency::None);
        if !chosen || !alike || !kind || all[0].operands.is_empty() {
            continue;
        }
        let (Some(f32), Some(f64)) = (measure(op, DType::F32), measure(op, DType::F64)) else { continue };
        let slow = if f32.0 > 3.0 || f32.1 > 3.0 { "  slow" } else { "" };
        println!("{:14} {:8.2} {:8.2} {:8.2} {:8.2}{slow}", op.name(), f32.0, f32.1, f64.0, f64.1);
    }
}

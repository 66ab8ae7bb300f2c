//! hello - x^2, and its derivative 2 x under the name `double`.

use super::Module;
use crate::run::once;
use wengert::scalar::{Real, gradient_of};

pub static MODULE: Module = Module {
    name: "hello",
    functions: &[("square", |input| once(input, square::<f64>)), ("double", |input| once(input, double))],
    primal: Some("square"),
    workloads: Vec::new,
};

fn square<T: Real>(x: T) -> T {
    x * x
}

fn double(x: f64) -> f64 {
    gradient_of(|[x]| square(x), [x]).1[0]
}

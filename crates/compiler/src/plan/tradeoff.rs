//! What smaller memory budgets would cost.

use super::{PlanSummary, towards};
use std::sync::OnceLock;
use std::time::Instant;
use wengert_core::{DType, Tensor};
use wengert_ops::methods::*;

/// What a program needs under one memory budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tradeoff {
    /// All bytes of a call: inputs, constants, outputs and workspace.
    pub bytes: usize,
    /// The floating-point operations of a call.
    pub flops: f64,
    /// The predicted time of a call, in seconds.
    pub seconds: f64,
}

/// The number of budgets that are tried.
const BUDGETS: usize = 8;

impl PlanSummary {
    /// What a call would need under budgets from the least that fits to as much as it wants, in the order of bytes. Times are measured ones,
    /// if the plan was profiled, in proportion to arithmetic and memory traffic; otherwise they are estimates from the speed of a product.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let chain = |x: &Tensor| (0..24).fold(x.clone(), |y, _| y.matmul(x).tanh()).sum();
    /// let plan = compile(grad(chain)).plan(&(Tensor::ones([96, 96]) / 96.0));
    /// let curve = plan.tradeoff();
    /// assert!(curve.len() >= 6);
    /// assert!(curve.windows(2).all(|pair| pair[0].bytes < pair[1].bytes && pair[0].flops >= pair[1].flops));
    /// assert_eq!(curve.last().unwrap().bytes, plan.total_bytes());
    /// ```
    pub fn tradeoff(&self) -> Vec<Tradeoff> {
        let work = |program: &crate::program::Program| self.target.weight(program.cost());
        let measured = self.times().iter().sum::<f64>() * 1e-3;
        let per_flop = if measured > 0.0 { measured / work(self.program()) } else { seconds_per_flop() };
        let under = |budget: usize| {
            let (program, bytes) = towards((*self.before).clone(), &self.updates, budget, &self.target);
            Tradeoff { bytes, flops: program.cost().flops, seconds: per_flop * work(&program) }
        };
        let (least, most) = (under(0), under(usize::MAX));
        let between = (1..BUDGETS - 1).map(|k| least.bytes + (most.bytes - least.bytes) * k / (BUDGETS - 1));
        let mut curve: Vec<Tradeoff> = between.map(under).chain([least, most]).collect();
        curve.sort_by(|a, b| (a.bytes, a.flops).partial_cmp(&(b.bytes, b.flops)).expect("costs are numbers"));
        // A plan that needs more of both than another one is no choice.
        let mut fewest = f64::INFINITY;
        curve.retain(|point| {
            let is_choice = point.flops < fewest || point.bytes == most.bytes;
            fewest = fewest.min(point.flops);
            is_choice
        });
        curve.dedup_by_key(|point| point.bytes);
        curve
    }
}

/// The time of a floating-point operation in a product, measured once.
fn seconds_per_flop() -> f64 {
    static TIME: OnceLock<f64> = OnceLock::new();
    *TIME.get_or_init(|| {
        let x = Tensor::full([192, 192], 0.5f32).contiguous();
        debug_assert_eq!(x.dtype(), DType::F32);
        let time = || {
            let start = Instant::now();
            drop(x.matmul(&x));
            start.elapsed().as_secs_f64()
        };
        (0..4).map(|_| time()).fold(f64::INFINITY, f64::min) / (2.0 * 192f64.powi(3))
    })
}

//! What smaller memory budgets would cost.

use super::{PlanSummary, towards};
use crate::program::Program;
use std::sync::OnceLock;
use std::time::Instant;
use wengert_core::{DType, Tensor};
use wengert_ops::methods::*;

/// What a program needs under one memory budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tradeoff {
    /// All bytes of a call: inputs, constants, outputs, workspace, and what the kernel of a large product takes for itself.
    pub bytes: usize,
    /// The floating-point operations of a call.
    pub flops: f64,
    /// The predicted time of a call, in seconds.
    pub seconds: f64,
}

/// The number of points of a curve, if there are so many plans, and of the budgets that are tried for it.
const POINTS: usize = 8;
const MOST_TRIALS: usize = 24;

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
    /// assert!(curve.last().unwrap().bytes >= plan.total_bytes());
    /// ```
    pub fn tradeoff(&self) -> Vec<Tradeoff> {
        let work = |program: &Program| self.target.program_weight(program);
        let measured = self.times().iter().sum::<f64>() * 1e-3;
        let per_flop = if measured > 0.0 { measured / work(self.program()) } else { seconds_per_flop() };
        let under = |budget: usize| {
            let (program, bytes) = towards((*self.before).clone(), &self.updates, budget, &self.target);
            Tradeoff { bytes, flops: program.cost().flops, seconds: per_flop * work(&program) }
        };
        let most = under(usize::MAX);
        let mut curve = vec![under(0), most];
        let mut gaps = vec![(curve[0].bytes, most.bytes)];
        for _ in 0..MOST_TRIALS {
            choices(&mut curve, most.bytes);
            // The widest gap that no trial has shown to be empty.
            let Some(widest) = (0..gaps.len()).max_by_key(|&place| gaps[place].1 - gaps[place].0) else { break };
            if curve.len() >= POINTS {
                break;
            }
            let (from, to) = gaps.swap_remove(widest);
            let middle = from + (to - from) / 2;
            let found = under(middle);
            curve.push(found);
            gaps.extend([(from, found.bytes), (middle, to)].into_iter().filter(|(from, to)| from + 1 < *to));
        }
        choices(&mut curve, most.bytes);
        curve
    }
}

/// Sorts plans by bytes, and drops those that need more of both bytes and operations than another one; `most` stays.
fn choices(curve: &mut Vec<Tradeoff>, most: usize) {
    curve.sort_by(|a, b| (a.bytes, a.flops).partial_cmp(&(b.bytes, b.flops)).expect("costs are numbers"));
    curve.dedup_by_key(|point| point.bytes);
    let mut fewest = f64::INFINITY;
    curve.retain(|point| {
        let is_choice = point.flops < fewest || point.bytes == most;
        fewest = fewest.min(point.flops);
        is_choice
    });
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

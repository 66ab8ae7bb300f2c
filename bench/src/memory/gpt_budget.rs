//! The compiled training step of a small transformer under memory budgets: a share of what it needs beside state, inputs and outputs.

use super::Options;
use crate::timing::{medians, seconds};
use crate::workloads::{Size, Steps, named};
use std::sync::Arc;
use wengert::backend::Cpu;
use wengert::memory::{reset_peak, statistics};
use wengert::view::Plot;

/// The shares of the workspace.
const FRACTIONS: [f64; 5] = [0.9, 0.8, 0.7, 0.6, 0.5];

fn steps(within: Option<usize>) -> Box<dyn Steps> {
    named("gpt", Size::Full).expect("it is a workload").compiled(within, Arc::new(Cpu))
}

pub fn run(options: &Options) {
    let mut free = steps(None);
    let plan = free.plan();
    let (total, workspace) = (plan.total_bytes(), plan.workspace_bytes());
    let mut measured = vec![(total as f64 / 1e6, 1.0)];
    for fraction in FRACTIONS {
        let budget = total - workspace + (workspace as f64 * fraction) as usize;
        drop(free);
        // Alone: the peak counts everything that lives.
        let mut tight = steps(Some(budget));
        let planning = seconds(|| drop(tight.plan()));
        tight.step();
        reset_peak();
        tight.step();
        let peak = statistics().peak_bytes;
        let summary = tight.plan();
        free = steps(None);
        let [before, after] = medians([&mut || free.step(), &mut || tight.step()]);
        let ratio = after / before;
        let (repeated, flops) = (summary.repeated_equations(), summary.repeated_cost().flops);
        options.print(
            format!(
                r#"{{"bench":"gpt_budget","fraction":{fraction},"budget_bytes":{budget},"peak_bytes":{peak},"time_ratio":{ratio:.4},"planning_s":{planning:.3},"repeated_equations":{repeated},"repeated_flops":{flops:.0}}}"#
            ),
            format!(
                "gpt, {fraction} of its workspace: {:.1} MB of {:.1} allowed, {ratio:.3} times the time, {repeated} equations repeated, planned in {planning:.2} s",
                peak as f64 / 1e6,
                budget as f64 / 1e6
            ),
        );
        measured.push((peak as f64 / 1e6, ratio));
    }
    options.draw("memory_gpt", || {
        let curve = plan.tradeoff();
        let whole = curve.last().map_or(1.0, |point| point.seconds);
        let predicted: Vec<(f64, f64)> =
            curve.iter().map(|point| (point.bytes as f64 / 1e6, point.seconds / whole)).collect();
        Plot::new("A training step of gpt under memory budgets")
            .x_label("memory of a step, MB")
            .y_label("time, times that without a budget")
            .line("measured", &measured)
            .line("predicted by the plan", &predicted)
            .svg()
    });
}

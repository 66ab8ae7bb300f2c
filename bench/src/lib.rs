//! `wengert-bench`: what things cost, as text or one JSON object a line. A library, so that libraries to be compared with can be built
//! beside it and have their turns in the same run.

mod agreement;
mod cheap_gradient;
mod granularity;
mod overhead;
mod planning;
pub mod scalar;
mod step;
mod timing;
mod transforms;
pub mod workloads;

use clap::{Parser, Subcommand};
use step::Mode;

#[derive(Parser)]
#[command(version, about = "Benchmarks of Wengert")]
struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// The cost of recording and differentiating tiny operations: y = y * x, many times.
    Overhead {
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
        /// The longest chain to build.
        #[arg(long, default_value_t = 10_000_000)]
        most: usize,
    },
    /// One chain of `overhead`, in this process.
    Chain {
        /// Elements of each tensor.
        elements: usize,
        /// Operations in the chain.
        ops: usize,
        /// A JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Time training steps of a shared workload.
    Step {
        /// tiny_mlp, mlp, rnn, cnn, gpt or elementwise.
        name: String,
        /// How steps are run.
        #[arg(long, value_enum, default_value_t = Mode::Eager)]
        mode: Mode,
        /// The megabytes that a call of the compiled step may need.
        #[arg(long)]
        within: Option<f64>,
        /// How long to repeat.
        #[arg(long, default_value_t = 2.0)]
        seconds: f64,
        /// A JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Losses of ten steps of a shared workload from closed-form weights and data.
    Losses {
        /// tiny_mlp, mlp, rnn, cnn, gpt or elementwise.
        name: String,
        /// How steps are run.
        #[arg(long, value_enum, default_value_t = Mode::Eager)]
        mode: Mode,
        /// The megabytes that a call of the compiled step may need.
        #[arg(long)]
        within: Option<f64>,
        /// A JSON object.
        #[arg(long)]
        json: bool,
    },
    /// The program of a workload's step.
    Program {
        /// tiny_mlp, mlp, rnn, cnn, gpt or elementwise.
        name: String,
        /// The megabytes that a call may need.
        #[arg(long)]
        within: Option<f64>,
    },
    /// What forward and reverse cost together, in units of the forward pass.
    #[command(name = "cheap_gradient")]
    CheapGradient {
        /// Only these workloads and primitives; all of them when there is none.
        names: Vec<String>,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// What derivatives of scalar programs cost.
    Scalar {
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
        /// The most statements or variables.
        #[arg(long, default_value_t = 100_000_000)]
        most: usize,
    },
    /// A training step at several grains, from single numbers to one program: nodes, bytes, time.
    Granularity {
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// What tracing, rewriting and planning long programs costs.
    Planning {
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// What transforms cost, as ratios of times taken side by side.
    Transforms {
        /// Only these benchmarks; all of them when there is none.
        names: Vec<String>,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
}

/// Runs the benchmark that the command line names. Scalar benchmarks also have these `peers`.
pub fn run(peers: &[scalar::Library]) {
    match Arguments::parse().bench {
        Bench::Overhead { json, most } => overhead::run(json, most),
        Bench::Chain { elements, ops, json } => overhead::run_one(elements, ops, json),
        Bench::Step { name, mode, within, seconds, json } => step::run(&name, mode, within, seconds, json),
        Bench::CheapGradient { names, json } => cheap_gradient::run(&names, json),
        Bench::Scalar { json, most } => scalar::run(json, most, peers),
        Bench::Granularity { json } => granularity::run(json),
        Bench::Planning { json } => planning::run(json),
        Bench::Transforms { names, json } => transforms::run(&names, json),
        Bench::Losses { name, mode, within, json } => step::losses(&name, mode, within, json),
        Bench::Program { name, within } => step::program(&name, within),
    }
}

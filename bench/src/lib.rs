//! `wengert-bench`: benchmarks, as text or as one JSON object per line. This is a library so that other libraries can be built next to it
//! and measured in the same run.

mod agreement;
mod billion;
mod cheap_gradient;
mod granularity;
mod layers;
mod memory;
mod overhead;
mod planning;
mod plots;
mod profile;
pub mod scalar;
mod step;
mod timing;
mod transforms;
pub mod workloads;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use step::{Mode, Place};

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
        /// Print one JSON object per line.
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
        /// Print a JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Time training steps of a shared workload.
    Step {
        /// tiny_mlp, mlp, rnn, cnn, gpt or elementwise; large_NAME for the size of accelerators.
        name: String,
        /// How to run the steps.
        #[arg(long, value_enum, default_value_t = Mode::Eager)]
        mode: Mode,
        /// The most megabytes that a call of the compiled step may need.
        #[arg(long, value_parser = step::megabytes, allow_negative_numbers = true)]
        within: Option<f64>,
        #[command(flatten)]
        place: Place,
        /// How long to repeat, in seconds.
        #[arg(long, default_value_t = 2.0, value_parser = step::seconds, allow_negative_numbers = true)]
        seconds: f64,
        /// Print a JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Losses of ten steps of a shared workload from closed-form weights and data.
    Losses {
        /// tiny_mlp, mlp, rnn, cnn, gpt or elementwise; large_NAME for the size of accelerators.
        name: String,
        /// How to run the steps.
        #[arg(long, value_enum, default_value_t = Mode::Eager)]
        mode: Mode,
        /// The most megabytes that a call of the compiled step may need.
        #[arg(long, value_parser = step::megabytes, allow_negative_numbers = true)]
        within: Option<f64>,
        #[command(flatten)]
        place: Place,
        /// Print a JSON object.
        #[arg(long)]
        json: bool,
    },
    /// How far the losses of compiled steps on a device are from those of the CPU in f32, and whether a second run gives the same bits.
    Apart {
        /// tiny_mlp, mlp, rnn, cnn, gpt or elementwise; large_NAME for the size of accelerators.
        name: String,
        #[command(flatten)]
        place: Place,
        /// The number of steps.
        #[arg(long, default_value_t = 100, value_parser = step::steps, allow_negative_numbers = true)]
        steps: usize,
        /// Print a JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Where the time of a training step goes, beside the time of a step that is not measured.
    Profile {
        /// tiny_mlp, mlp, rnn, cnn, gpt or elementwise; large_NAME for the size of accelerators.
        name: String,
        /// How to run the steps.
        #[arg(long, value_enum, default_value_t = Mode::Eager)]
        mode: Mode,
        #[command(flatten)]
        place: Place,
        /// How long to repeat, in seconds.
        #[arg(long, default_value_t = 4.0, value_parser = step::seconds, allow_negative_numbers = true)]
        seconds: f64,
        /// Write a timeline for Chrome and Perfetto.
        #[arg(long, value_name = "FILE")]
        trace: Option<PathBuf>,
        /// Print a JSON object.
        #[arg(long)]
        json: bool,
    },
    /// The program of a workload's step.
    Program {
        /// tiny_mlp, mlp, rnn, cnn, gpt or elementwise; large_NAME for the size of accelerators.
        name: String,
        /// The most megabytes that a call may need.
        #[arg(long, value_parser = step::megabytes, allow_negative_numbers = true)]
        within: Option<f64>,
        #[command(flatten)]
        place: Place,
    },
    /// The cost of forward and reverse together, relative to the forward pass.
    #[command(name = "cheap_gradient")]
    CheapGradient {
        /// Only these workloads and primitives; all of them if none are given.
        names: Vec<String>,
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// The cost of derivatives of scalar programs.
    Scalar {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
        /// The most statements or variables.
        #[arg(long, default_value_t = 100_000_000)]
        most: usize,
    },
    /// A training step at several granularities, from scalars to one program: nodes, bytes, time.
    Granularity {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// The cost of layers and optimisers: a training step with and without them.
    Layers {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// What memory costs: schedules for loops, and budgets.
    Memory {
        /// Only these benchmarks; all of them if none are given.
        names: Vec<String>,
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
        /// Write pictures to this folder, as NAME.svg.
        #[arg(long)]
        pictures: Option<PathBuf>,
    },
    /// The gradient of a billion scalar statements within 6 GiB and within 1 GiB, each in a process of its own.
    Billion(billion::Options),
    /// The cost of tracing, rewriting and planning long programs.
    Planning {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Measure the plots of the guide and draw them as SVG: the modes on a Jacobian, the cost of a gradient.
    Plots {
        /// Where to write them, such as docs/pictures.
        folder: PathBuf,
        /// Print one JSON object per measurement.
        #[arg(long)]
        json: bool,
        /// The most inputs of a function.
        #[arg(long, default_value_t = 1_000_000)]
        most: usize,
    },
    /// The cost of transforms, as ratios of times measured side by side.
    Transforms {
        /// Only these benchmarks; all of them if none are given.
        names: Vec<String>,
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
        /// The most inputs of a gradient.
        #[arg(long, default_value_t = 10_000_000)]
        most: usize,
    },
}

/// Runs the benchmark named on the command line. Scalar benchmarks also run these `peers`.
pub fn run(peers: &[scalar::Library]) {
    if let Err(error) = wengert::catch(|| run_one(Arguments::parse().bench, peers)) {
        eprintln!("wengert-bench: {error}");
        std::process::exit(1);
    }
}

fn run_one(bench: Bench, peers: &[scalar::Library]) {
    match bench {
        Bench::Overhead { json, most } => overhead::run(json, most),
        Bench::Chain { elements, ops, json } => overhead::run_one(elements, ops, json),
        Bench::Step { name, mode, within, place, seconds, json } => {
            step::run(&name, mode, within, place, seconds, json)
        }
        Bench::CheapGradient { names, json } => cheap_gradient::run(&names, json),
        Bench::Scalar { json, most } => scalar::run(json, most, peers),
        Bench::Granularity { json } => granularity::run(json),
        Bench::Layers { json } => layers::run(json),
        Bench::Memory { names, json, pictures } => memory::run(&names, &memory::Options { json, pictures }),
        Bench::Billion(options) => billion::run(&options),
        Bench::Planning { json } => planning::run(json),
        Bench::Plots { folder, json, most } => {
            if let Err(error) = plots::run(&folder, most, json) {
                eprintln!("wengert-bench: {}: {error}", folder.display());
                std::process::exit(1);
            }
        }
        Bench::Transforms { names, json, most } => transforms::run(&names, json, most),
        Bench::Losses { name, mode, within, place, json } => step::losses(&name, mode, within, place, json),
        Bench::Apart { name, place, steps, json } => step::apart(&name, place, steps, json),
        Bench::Profile { name, mode, place, seconds, trace, json } => {
            profile::run(&name, mode, place, seconds, trace.as_deref(), json)
        }
        Bench::Program { name, within, place } => step::program(&name, within, place),
    }
}

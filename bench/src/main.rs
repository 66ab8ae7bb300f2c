//! `wengert-bench`: what things cost, as text or one JSON object a line.

mod overhead;

use clap::{Parser, Subcommand};

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
}

fn main() {
    match Arguments::parse().bench {
        Bench::Overhead { json, most } => overhead::run(json, most),
        Bench::Chain { elements, ops, json } => overhead::run_one(elements, ops, json),
    }
}

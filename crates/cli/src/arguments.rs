//! The command line.

use crate::training::Plan;
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Reverse-mode automatic differentiation: a tour, and the pages of the operations
#[derive(Debug, Parser)]
#[command(name = "wengert", version)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

impl Arguments {
    /// The command; without one, the tour.
    pub fn command(self) -> Command {
        self.command.unwrap_or(Command::Tour { quick: false })
    }
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show a Wengert list, the transforms, and a network that learns (the default)
    Tour {
        /// Train for fewer epochs
        #[arg(long)]
        quick: bool,
    },
    /// Show the Wengert list of y = x1 x2 + sin x1 with every value, adjoint and contribution
    Tape,
    /// Train a small network on handwritten digits and test it
    Train {
        /// The number of epochs
        #[arg(long, value_name = "N", default_value_t = Plan::FULL.epochs as u32, value_parser = clap::value_parser!(u32).range(1..))]
        epochs: u32,
        /// The seed of weights, order and noise
        #[arg(long, value_name = "N", default_value_t = Plan::FULL.seed)]
        seed: u64,
    },
    /// List the operations, or describe one
    Ops {
        /// A primitive, a composite, a method or a family, such as matmul, mean or reduction
        name: Option<String>,
    },
    /// Run a saved program, or show its inputs and outputs
    Run {
        /// A file that `save` wrote
        file: PathBuf,
        /// The elements of the next input, row-major, separated by commas; a single one is repeated
        #[arg(long = "input", value_name = "NUMBERS", allow_hyphen_values = true)]
        inputs: Vec<String>,
    },
}

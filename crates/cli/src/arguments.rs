//! The command line.

use crate::completions::{self, Shell};
use crate::failure::Failure;
use crate::grad;
use crate::train::{Options, digits, mnist, sonnets};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::io::Write;
use std::path::PathBuf;

/// What holds for all commands, for `--help` and the manual page.
pub(crate) const CONVENTIONS: &str = "\
Exit codes:
  0  it is done
  1  it failed: a file cannot be read or written, a derivative is wrong, a training run was stopped
  2  the request is wrong: nothing is printed but a message on standard error that says where and what to do

With --json, every line of standard output is one JSON object; numbers that JSON lacks are the texts \"NaN\",
\"Infinity\" and \"-Infinity\". Text is coloured on a terminal, unless NO_COLOR is set or TERM is dumb, and with
CLICOLOR_FORCE=1 everywhere.";

/// Reverse-mode automatic differentiation: derivatives of expressions, training runs, and the pages of the operations
#[derive(Debug, Parser)]
#[command(name = "wengert", version, after_help = CONVENTIONS)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

impl Arguments {
    /// The command; without one, the tour.
    pub fn into_command(self) -> Command {
        self.command.unwrap_or(Command::Tour { quick: false, json: false })
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
        /// Print JSON: an object for the list, one for the transforms, one for every epoch and one for the result
        #[arg(long)]
        json: bool,
    },
    /// Differentiate an expression: its value, gradient and Wengert list, and other derivatives on request
    #[command(after_help = grad::SYNTAX)]
    Grad(grad::Options),
    /// Show the Wengert list of y = x1*x2 + sin(x1) with every value, adjoint and contribution
    Tape {
        /// Print one JSON object, as `grad` does
        #[arg(long)]
        json: bool,
    },
    /// Train a network on embedded data and test it
    Train {
        /// What to learn
        #[arg(value_enum, default_value_t = Task::Digits)]
        task: Task,
        /// How to train
        #[command(flatten)]
        options: TrainArguments,
    },
    /// List the operations, or describe one
    Ops {
        /// A primitive, a composite, a method or a family, such as matmul, mean or reduction
        name: Option<String>,
        /// Print JSON: an object for every operation, or one with the page
        #[arg(long)]
        json: bool,
    },
    /// Run a saved program, or show its inputs and outputs
    Run {
        /// A file that `save` wrote
        file: PathBuf,
        /// The elements of the next input, row-major, separated by commas; a single one is repeated
        #[arg(long = "input", value_name = "NUMBERS", allow_hyphen_values = true)]
        inputs: Vec<String>,
        /// Write a page to a file that shows the program, its kernels and its passes, and the values of a run
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
        /// Print JSON: an object for every output with its elements, or for every input, every output and the program
        #[arg(long)]
        json: bool,
    },
    /// Say what is wrong with the gradient of a saved program at some inputs; the exit code is 1 if something is
    Doctor {
        /// A file that `save` wrote
        file: PathBuf,
        /// The elements of the next input, as for `run`
        #[arg(long = "input", value_name = "NUMBERS", allow_hyphen_values = true)]
        inputs: Vec<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print a script that completes commands and options in a shell
    #[command(after_help = completions::INSTALLED)]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the manual page, as in `wengert man | man -l -`
    Man,
}

/// What `wengert train` learns.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Task {
    /// Digits of 8 x 8 pixels, by a perceptron
    Digits,
    /// Digits of 28 x 28 pixels, by a convolutional network
    Mnist,
    /// Shakespeare's sonnets, character by character, by a transformer
    Sonnets,
}

impl Task {
    /// Trains, writing to `out`.
    pub fn train(self, options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
        match self {
            Task::Digits => digits::run(options, out),
            Task::Mnist => mnist::run(options, out).map(drop),
            Task::Sonnets => sonnets::run(options, out).map(drop),
        }
    }
}

/// The options of `wengert train`.
#[derive(Args, Debug)]
pub struct TrainArguments {
    /// The number of epochs; by default what the task needs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    epochs: Option<u64>,
    /// The seed of weights, order and noise
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Go on from a checkpoint
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Write checkpoints to a file, also when stopped by Ctrl-C
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Draw losses and metrics to an SVG file, after every epoch
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Write an event file of TensorBoard to a folder
    #[arg(long, value_name = "FOLDER")]
    tensorboard: Option<PathBuf>,
    /// Print the result only
    #[arg(long)]
    quiet: bool,
    /// Print JSON, a line for each epoch and one for the result
    #[arg(long)]
    json: bool,
}

impl From<TrainArguments> for Options {
    fn from(arguments: TrainArguments) -> Options {
        let TrainArguments { epochs, seed, resume, save, plot, tensorboard, quiet, json } = arguments;
        Options { epochs, seed, resume, save, plot, tensorboard, quiet, json }
    }
}

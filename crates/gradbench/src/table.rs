//! The cost of the workloads: one JSON object per line.

use crate::modules::{MODULES, Module, Workload, module};
use crate::random::Random;
use crate::run::Function;
use serde::Serialize;
use serde_json::Value;
use std::io::{self, Write};

/// How long a function is repeated, in seconds.
const SECONDS: f64 = 0.2;
const RUNS: u64 = 3;

/// The median times of a workload's runs. If the benchmark has no function without derivatives, there is no primal and no ratio.
#[derive(Serialize)]
struct Row<'a> {
    eval: &'a str,
    workload: String,
    primal_ns: Option<u64>,
    derivative_ns: u64,
    ratio: Option<f64>,
}

/// Measures the workloads of these modules, or of all that have some; if `is_small`, only the first third of each module's.
pub fn print(names: &[String], is_small: bool, mut output: impl Write) -> io::Result<()> {
    let named: Vec<&Module> = match names {
        [] => MODULES.to_vec(),
        names => names.iter().map(|name| find(name)).collect::<io::Result<_>>()?,
    };
    for module in named {
        let workloads = (module.workloads)();
        if workloads.is_empty() && !names.is_empty() {
            return Err(io::Error::other(format!("module {:?} has no workloads to measure", module.name)));
        }
        let count = if is_small { workloads.len().div_ceil(3) } else { workloads.len() };
        for workload in &workloads[..count] {
            for row in rows(module, workload)? {
                writeln!(output, "{}", serde_json::to_string(&row)?)?;
                output.flush()?;
            }
        }
    }
    Ok(())
}

fn find(name: &str) -> io::Result<&'static Module> {
    module(name).ok_or_else(|| io::Error::other(format!("unknown module {name:?}")))
}

/// A row for each derivative of the module.
fn rows<'a>(module: &'a Module, workload: &Workload) -> io::Result<Vec<Row<'a>>> {
    let mut input = (workload.input)(&mut Random::new(31337));
    input["min_runs"] = Value::from(RUNS);
    input["min_seconds"] = Value::from(SECONDS);
    let input = input.to_string();
    let primal = module.primal.and_then(|name| module.function(name));
    let primal_ns = primal.map(|primal| median(primal, &input)).transpose()?;
    let derivatives = module.functions.iter().filter(|(name, _)| Some(*name) != module.primal);
    let row = |(name, derivative): &(&str, Function)| {
        let derivative_ns = median(*derivative, &input)?;
        let ratio = primal_ns.map(|primal| derivative_ns as f64 / primal.max(1) as f64);
        let workload = match primal_ns {
            Some(_) => workload.name.clone(),
            None => format!("{},{name}", workload.name),
        };
        Ok(Row { eval: module.name, workload, primal_ns, derivative_ns, ratio })
    };
    derivatives.map(row).collect()
}

fn median(function: Function, input: &str) -> io::Result<u64> {
    let mut times = function(input).map_err(io::Error::other)?.nanoseconds;
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

//! An oscillator, u += h v and v -= h u, for a billion statements of two arguments, and its gradient by u, v and h.

use crate::timing::shown;
use clap::Args;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;
use wengert::scalar::{Dual, Limit, Phase, Real, Var, gradient, recording_within};

#[derive(Args)]
pub struct Options {
    /// The limit in bytes; both limits, one after the other, if it is not given.
    #[arg(long)]
    limit: Option<usize>,
    /// The number of statements.
    #[arg(long, default_value_t = 1_000_000_000)]
    statements: usize,
    /// The folder of the files.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
}

/// The limits for a billion statements; those for fewer are smaller.
const LIMITS: [usize; 2] = [6 << 30, 1 << 30];
const BILLION: f64 = 1e9;

/// The statements of a step.
const STATEMENTS: usize = 4;

/// The first u and v, and the length of a step.
const START: [f64; 3] = [1.0, 0.5, 1e-3];

pub fn run(options: &Options) {
    let Some(limit) = options.limit else {
        // The peak is that of a process.
        let program = std::env::current_exe().expect("the path of this program");
        for limit in LIMITS {
            let scaled = (limit as f64 * (options.statements as f64 / BILLION).min(1.0)) as usize;
            let mut command = Command::new(&program);
            command.args(["billion", "--limit", &scaled.max(Limit::LEAST).to_string()]);
            command.args(["--statements", &options.statements.to_string()]);
            command.args(options.folder.iter().flat_map(|folder| ["--folder".into(), folder.clone().into_os_string()]));
            command.args(options.json.then_some("--json"));
            let status = command.status().expect("this program runs again");
            assert!(status.success(), "{status}");
        }
        return;
    };
    let steps = options.statements / STATEMENTS;
    let folder = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let bar = shown("record and sweep");
    let shown = bar.clone();
    // The peak counts the program as well.
    let of_tape = (limit - limit / 128).max(Limit::LEAST);
    let within = Limit::bytes(of_tape).folder(&folder).statements(STATEMENTS * steps).progress(move |progress| {
        let total = progress.total.unwrap_or(0) as u64;
        shown.set_length(2 * total);
        shown.set_position(progress.done as u64 + if progress.phase == Phase::Sweep { total } else { 0 });
    });
    if !options.json {
        println!("at most {:.1} GB of {} are needed", within.disk() as f64 / 1e9, folder.display());
    }
    let (start, mut slopes) = (Instant::now(), [0.0; 3]);
    let oscillate = |x: &[Var]| {
        let (mut u, mut v) = (x[0], x[1]);
        for _ in 0..steps {
            u += x[2] * v;
            v -= x[2] * u;
        }
        u
    };
    recording_within(within, |_| gradient(oscillate, &START, &mut slopes));
    let seconds = start.elapsed().as_secs_f64();
    bar.finish_and_clear();
    let exact = solution(std::array::from_fn(|k| Dual::<f64, 3>::variable(START[k], k)), steps);
    let errors = slopes.iter().zip(exact.tangents()).map(|(found, exact)| (found - exact).abs() / exact.abs());
    let error = errors.fold(0.0, f64::max);
    let peak = peak();
    match options.json {
        true => println!(
            "{{\"bench\":\"billion\",\"statements\":{},\"limit_bytes\":{limit},\"peak_bytes\":{peak},\"seconds\":{seconds:.2},\
             \"error\":{error:.2e}}}",
            STATEMENTS * steps
        ),
        false => println!(
            "{} statements within {:.2} GiB: {seconds:.1} s, {:.2} GiB at most, error {error:.1e}",
            STATEMENTS * steps,
            limit as f64 / (1u64 << 30) as f64,
            peak as f64 / (1u64 << 30) as f64
        ),
    }
    assert!(error < 1e-4, "the gradient is wrong: {slopes:?}");
}

/// The last u in closed form: a step is a matrix M with determinant 1, whose powers are those of a rotation by the angle
/// 2 asin(h / 2): sin(n angle) / sin(angle) M - sin((n - 1) angle) / sin(angle).
fn solution<T: Real>([u, v, h]: [T; 3], steps: usize) -> T {
    let angle = (h * T::lit(0.5)).asin() * T::lit(2.0);
    let share = |n: usize| (angle * T::lit(n as f64)).sin() / angle.sin();
    share(steps) * (u + h * v) - share(steps - 1) * u
}

/// The most bytes that this process had in memory; 0 where the system does not say.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<usize>().ok()).unwrap_or(0) << 10
}

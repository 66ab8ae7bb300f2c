//! The time of whole training steps, and the losses that prove that they do the work.

use crate::workloads::{self, Size, Steps, Workload};
use clap::{Args, ValueEnum};
use std::time::{Duration, Instant};
use wengert::{Device, Precision};

/// The sizes of accelerators are named `large_` and the workload.
pub(crate) fn find(name: &str) -> Workload {
    let (size, own) = match name.strip_prefix("large_") {
        Some(own) => (Size::Large, own),
        None => (Size::Full, name),
    };
    workloads::named(own, size).unwrap_or_else(|| {
        let names: Vec<&str> = workloads::all(size).iter().map(|workload| workload.name).collect();
        refuse(&format!("there is no workload '{name}'; there are {}, and large_NAME of each", names.join(", ")))
    })
}

/// Ends the program for a wrong command line.
fn refuse(message: &str) -> ! {
    eprintln!("wengert-bench: {message}");
    std::process::exit(2);
}

/// Seconds of the command line.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "a number from 0 on is expected".to_string())
}

/// Megabytes of the command line.
pub(crate) fn megabytes(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "a number above 0 is expected".to_string())
}

/// A number of steps of the command line.
pub(crate) fn steps(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| "an integer from 1 on is expected".to_string())
}

/// How the steps of a workload are run.
#[derive(Clone, Copy, ValueEnum)]
pub enum Mode {
    /// Operation by operation, recorded on the tape.
    Eager,
    /// As one program, traced once.
    Compiled,
}

impl Mode {
    pub(crate) fn system(self) -> &'static str {
        match self {
            Mode::Eager => "wengert-eager",
            Mode::Compiled => "wengert-compiled",
        }
    }
}

/// Where steps run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// This machine's processor.
    Cpu,
    /// Its first NVIDIA GPU; for compiled steps.
    Cuda,
}

/// How many digits products keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Digits {
    /// Those of f32.
    Strict,
    /// Those of TF32, on devices that have it.
    Tf32,
    /// Those of bf16.
    Bf16,
}

/// Where compiled steps run, and how.
#[derive(Clone, Copy, Args)]
pub struct Place {
    /// Where to run compiled steps.
    #[arg(long, value_enum, default_value_t = On::Cpu)]
    device: On,
    /// How many digits products keep in compiled steps.
    #[arg(long, value_enum, default_value_t = Digits::Strict)]
    precision: Digits,
}

impl Place {
    pub(crate) fn device(self) -> Device {
        match self.device {
            On::Cpu => Device::Cpu,
            On::Cuda => Device::Cuda(0),
        }
    }

    /// Refuses what eager steps do not have.
    pub(crate) fn expect(self, mode: Mode, within: Option<f64>) {
        let is_plain = self.device == On::Cpu && self.precision == Digits::Strict && within.is_none();
        if matches!(mode, Mode::Eager) && !is_plain {
            refuse("--device, --precision and --within are for compiled steps: add --mode compiled");
        }
    }

    pub(crate) fn precision(self) -> Precision {
        match self.precision {
            Digits::Strict => Precision::Strict,
            Digits::Tf32 => Precision::Tf32,
            Digits::Bf16 => Precision::Bf16,
        }
    }
}

/// The median and the fastest step of a run of `seconds`, with at least ten steps.
pub fn run(name: &str, mode: Mode, within: Option<f64>, place: Place, seconds: f64, json: bool) {
    place.expect(mode, within);
    let workload = find(name);
    let (mut eager, mut compiled) = match mode {
        Mode::Eager => (Some(workload.start()), None),
        Mode::Compiled => (None, Some(workload.compiled_on(within.map(bytes), place.device(), place.precision()))),
    };
    // Work on a device goes on after a step returns, so several steps are timed together.
    let together = if place.device() == Device::Cpu { 1 } else { 20 };
    let mut step = |times: usize| {
        for _ in 0..times {
            match (&mut eager, &mut compiled) {
                (Some(training), _) => training.step(),
                (_, Some(steps)) => steps.step(),
                _ => unreachable!("one of both"),
            }
        }
        compiled.iter().for_each(|steps| steps.finish());
    };
    let start = Instant::now();
    step(1);
    let first = milliseconds(start.elapsed());
    step(4);
    let device = place.device();
    wengert::memory::reset_peak_of(device).unwrap_or_else(|error| error.raise());
    let mut times = Vec::new();
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < seconds || times.len() < 10 {
        let start = Instant::now();
        step(together);
        times.push(milliseconds(start.elapsed()) / together as f64);
    }
    times.sort_by(f64::total_cmp);
    let (median, fastest, count) = (times[times.len() / 2], times[0], times.len() * together);
    // The first call also runs a step.
    let compile = (first - median).max(0.0);
    let held = wengert::memory::statistics_of(device).unwrap_or_else(|error| error.raise());
    let peak = held.peak_bytes as f64 / 1e6;
    if json {
        let system = mode.system();
        println!(
            r#"{{"workload":"{name}","system":"{system}","median_ms":{median:.4},"min_ms":{fastest:.4},"n":{count},"compile_ms":{compile:.4},"peak_mb":{peak:.3}}}"#
        );
    } else {
        println!(
            "{name}: median {median:.3} ms, fastest {fastest:.3} ms of {count} steps, first {first:.3} ms, peak {peak:.1} MB"
        );
    }
}

/// Ten steps from closed-form weights and data.
pub fn losses(name: &str, mode: Mode, within: Option<f64>, place: Place, json: bool) {
    place.expect(mode, within);
    let [first, last, norm] = match mode {
        Mode::Eager => find(name).start().ten_steps(),
        Mode::Compiled => {
            let mut steps = find(name).compiled_on(within.map(bytes), place.device(), place.precision());
            let measured: Vec<(f64, f64)> = (0..10).map(|_| steps.measured_step()).collect();
            [measured[0].0, measured[9].0, measured[9].1]
        }
    };
    if json {
        let system = mode.system();
        println!(
            r#"{{"workload":"{name}","system":"{system}","loss_1":{first:e},"loss_10":{last:e},"grad_norm_10":{norm:e}}}"#
        );
    } else {
        println!("{name}: loss {first} at first, {last} at the tenth step, gradient norm {norm}");
    }
}

/// Compares the losses of steps on a device with those of the CPU, and with themselves. Where training amplifies rounding errors, losses of
/// runs drift apart; so all pairs of steps are also run from the CPU's state, and the CPU once more from parameters that differ in the last
/// digit.
pub fn apart(name: &str, place: Place, steps: usize, json: bool) {
    let start = |device: Device, precision: Precision| find(name).compiled_on(None, device, precision);
    let (device, precision) = (place.device(), place.precision());
    let losses =
        |mut training: Box<dyn Steps>| -> Vec<(f64, f64)> { (0..steps).map(|_| training.measured_step()).collect() };
    let (found, again) = (losses(start(device, precision)), losses(start(device, precision)));
    let (mut cpu, mut beside) = (start(Device::Cpu, Precision::Strict), start(device, precision));
    let (mut right, mut pairs) = (Vec::new(), Vec::new());
    for _ in 0..steps {
        beside.go_on_from(&cpu.tensors());
        pairs.push([beside.measured_step(), beside.measured_step()]);
        right.push(cpu.measured_step());
    }
    let mut nudged = start(Device::Cpu, Precision::Strict);
    nudged.nudge();
    let nudged = losses(nudged);
    let apart = |found: &[(f64, f64)], right: &[(f64, f64)]| {
        let differences = found.iter().zip(right).map(|(one, other)| (one.0 - other.0).abs() / other.0.abs());
        differences.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
    };
    let ((step, most), (_, control)) = (apart(&found, &right), apart(&nudged, &right));
    let (firsts, seconds): (Vec<_>, Vec<_>) = pairs.iter().map(|[first, second]| (*first, *second)).unzip();
    let beside = apart(&firsts, &right).1.max(apart(&seconds, right.get(1..).unwrap_or(&[])).1);
    let bits = |losses: &[(f64, f64)]| losses.iter().flat_map(|(a, b)| [a.to_bits(), b.to_bits()]).collect::<Vec<_>>();
    let is_same = bits(&found) == bits(&again);
    let last = found.last().map_or(f64::NAN, |step| step.0);
    if json {
        println!(
            r#"{{"workload":"{name}","steps":{steps},"last_loss":{last:e},"from_same_state":{beside:e},"relative_difference":{most:e},"at_step":{step},"cpu_last_digit":{control:e},"same_bits_again":{is_same}}}"#
        );
    } else {
        let again = if is_same { "the same bits" } else { "other bits" };
        println!(
            "{name}: {steps} steps to a loss of {last}; from the CPU's state of every step, at most {beside:.1e} apart; on its own, at most \
             {most:.1e}, at step {step} (the CPU from parameters that differ in the last digit: {control:.1e}); {again} in a second run"
        );
    }
    if !is_same {
        std::process::exit(1);
    }
}

/// The program of a workload's step.
pub fn program(name: &str, within: Option<f64>, place: Place) {
    let (device, precision) = (place.device(), place.precision());
    print!("{}", find(name).compiled_on(within.map(bytes), device, precision).report());
}

fn bytes(megabytes: f64) -> usize {
    (megabytes * 1e6) as usize
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

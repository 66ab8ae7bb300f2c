//! One request: decodes and checks the input, runs and measures the function repeatedly, encodes the last output.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use std::hint::black_box;
use std::time::Instant;

/// A function of a module; it takes the text of its input.
pub type Function = fn(&str) -> Result<Run, String>;

/// The output of a function, and the time of each run.
pub struct Run {
    /// The output of the last run.
    pub output: Box<RawValue>,
    /// One number for each run.
    pub nanoseconds: Vec<u64>,
}

impl Run {
    /// An error unless all numbers of the output are finite.
    fn new(output: &impl Serialize, nanoseconds: Vec<u64>) -> Result<Run, String> {
        let output = to_raw_value(output).map_err(|error| format!("output: {error}"))?;
        // JSON cannot represent other numbers, and no output of a module contains a null for any other reason.
        ensure(!output.get().contains("null"), "output: a number is not finite")?;
        Ok(Run { output, nanoseconds })
    }
}

/// The input of a function.
pub(crate) trait Input: Sized {
    /// The fields of the request.
    type Fields: DeserializeOwned;

    /// The input, or an error that says what is wrong with it.
    fn check(fields: Self::Fields) -> Result<Self, String>;
}

/// How often to run: until both limits are reached, and at least once.
#[derive(Deserialize)]
#[serde(default)]
struct Repetition {
    min_runs: u64,
    min_seconds: f64,
}

impl Default for Repetition {
    fn default() -> Repetition {
        Repetition { min_runs: 1, min_seconds: 1.0 }
    }
}

impl Repetition {
    /// The times of enough runs; `run` runs once and returns its time.
    fn times(&self, mut run: impl FnMut() -> u64) -> Vec<u64> {
        let mut nanoseconds = Vec::new();
        let mut total = 0;
        while nanoseconds.is_empty()
            || (nanoseconds.len() as u64) < self.min_runs
            || (total as f64) * 1e-9 < self.min_seconds
        {
            let time = run();
            nanoseconds.push(time);
            total += time;
        }
        nanoseconds
    }
}

/// The parts of a request.
fn request<I: Input>(input: &str) -> Result<(Repetition, I), String> {
    let least: Repetition = decode(input)?;
    ensure(least.min_seconds >= 0.0, "input: min_seconds is negative")?;
    Ok((least, I::check(decode(input)?).map_err(|error| format!("input: {error}"))?))
}

/// Runs a function as often as its input asks for.
pub(crate) fn repeated<I: Input, O: Serialize>(input: &str, f: impl Fn(&I) -> O) -> Result<Run, String> {
    prepared(input, |input: I| move || f(black_box(&input)))
}

/// Runs a function as often as its input asks for; each run overwrites the output of the previous one, as the steps of a solver do.
pub(crate) fn rewritten<I: Input, O: Serialize + Default>(input: &str, f: impl Fn(&I, &mut O)) -> Result<Run, String> {
    let (least, input) = request(input)?;
    let mut output = O::default();
    let nanoseconds = least.times(|| timed(|| f(black_box(&input), black_box(&mut output))).1);
    Run::new(&output, nanoseconds)
}

/// Prepares a function for an input and runs it as often as the input asks for; the preparation is not measured.
pub(crate) fn prepared<I: Input, O: Serialize, F: Fn() -> O>(
    input: &str,
    prepare: impl FnOnce(I) -> F,
) -> Result<Run, String> {
    let (least, input) = request(input)?;
    let f = prepare(input);
    let mut last = None;
    let nanoseconds = least.times(|| {
        last = None;
        let (output, time) = timed(&f);
        last = Some(output);
        time
    });
    Run::new(&last, nanoseconds)
}

/// Runs a function once.
pub(crate) fn once<I: DeserializeOwned + Copy, O: Serialize>(input: &str, f: impl Fn(I) -> O) -> Result<Run, String> {
    let input = decode(input)?;
    let (output, time) = timed(|| f(black_box(input)));
    Run::new(&output, vec![time])
}

fn decode<'a, D: Deserialize<'a>>(input: &'a str) -> Result<D, String> {
    serde_json::from_str(input).map_err(|error| format!("input: {error}"))
}

/// A result and its nanoseconds; dropping it is not measured.
fn timed<O>(f: impl FnOnce() -> O) -> (O, u64) {
    let start = Instant::now();
    let output = black_box(f());
    (output, start.elapsed().as_nanos() as u64)
}

/// An error with this message, unless the condition holds.
pub(crate) fn ensure(holds: bool, message: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message.into()) }
}

/// An error unless a list has the expected length.
pub(crate) fn ensure_length(name: &str, found: usize, expected: usize) -> Result<(), String> {
    ensure(found == expected, format!("{name} has {found} entries, expected {expected}"))
}

/// An error unless a size is at least 1.
pub(crate) fn ensure_some(name: &str, size: usize) -> Result<(), String> {
    ensure(size > 0, format!("{name} must be at least 1"))
}

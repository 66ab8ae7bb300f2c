//! The output of the command without arguments.

use crate::digits::Digits;
use crate::picture::pictures;
use crate::training::{Plan, Training};
use crate::transforms::transforms;
use crate::wengert_list::wengert_list;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, Write};
use std::time::Instant;

/// The number of lines that a training run prints.
const LINES: usize = 5;

/// The tour: the Wengert list, the transforms, a training run.
pub fn tour(plan: Plan, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nWengert {}: reverse-mode automatic differentiation\n", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "{}\n", wengert_list())?;
    writeln!(out, "{}\n", transforms())?;
    train(plan, out)?;
    writeln!(out, "\nFurther: wengert ops, wengert ops tanh, wengert --help")
}

/// Trains on the digits, with a progress bar on a terminal, and tests on the held-out digits.
pub fn train(plan: Plan, out: &mut dyn Write) -> io::Result<()> {
    let (digits, held_out) = Digits::load();
    let mut training = Training::new(plan, &digits);
    let parameters = training.network().parameters();
    writeln!(out, "A network learns to read digits: 64-64-10, {parameters} parameters, f32\n")?;
    writeln!(out, "  {:>5}  {:<7}  train accuracy", "epoch", "loss")?;

    let begin = Instant::now();
    let bar = progress_bar(plan.epochs);
    for epoch in &mut training {
        let (loss, accuracy) = (epoch.loss, percent(epoch.accuracy));
        bar.set_message(format!("loss {loss:.3}  accuracy {accuracy}"));
        bar.inc(1);
        if is_reported(epoch.number, plan.epochs) {
            bar.suspend(|| writeln!(out, "  {:>5}  {loss:<7.4}  {accuracy}", epoch.number))?;
        }
    }
    bar.finish_and_clear();
    let seconds = begin.elapsed().as_secs_f64();

    let guesses = training.network().predict(&held_out.images);
    let right = guesses.iter().zip(held_out.labels.to_vec::<i64>()).filter(|(guess, label)| *guess == label).count();
    let (count, part) = (held_out.count(), percent(right as f64 / held_out.count() as f64));
    writeln!(out, "\n  test accuracy {part}: {right} of {count} digits it never saw, after {seconds:.1} s\n")?;
    write!(out, "{}", pictures(&held_out, &guesses))
}

/// A progress bar on standard error if that is a terminal; it is removed when the run is over.
fn progress_bar(epochs: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("  {bar:40} {pos}/{len}  {msg}").expect("the template is well-formed");
    ProgressBar::new(epochs as u64).with_style(style.progress_chars("=> "))
}

/// Whether an epoch is reported: the first, the last, and enough in between for about [`LINES`] lines.
fn is_reported(number: usize, epochs: usize) -> bool {
    number == 1 || number == epochs || number.is_multiple_of(epochs.div_ceil(LINES))
}

fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

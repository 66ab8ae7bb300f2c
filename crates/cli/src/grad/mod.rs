//! `wengert grad`: the value, the gradient and the Wengert list of an expression, and other derivatives of it.

mod check;
mod derivatives;
mod domain;
mod point;
mod program;
mod recording;
mod report;
mod tangents;

use crate::expression::{Fault, Span, Traced, parse};
use crate::failure::{Failure, write_file};
use crate::nearest::shortened;
use crate::paint::Paint;
use clap::Args;
use derivatives::Derivative;
use domain::{Known, has_nan};
use point::{coordinates, elements, numbers, point};
use recording::record;
use report::Report;
use std::io::Write;
use std::path::PathBuf;
use wengert::prelude::*;

/// The options of `wengert grad`.
#[derive(Args, Clone, Debug, Default)]
pub struct Options {
    /// The expression, such as 'x1*x2 + sin(x1)'
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub expression: String,
    /// The value of a variable: x1=2, or x=1,2,3 for a vector
    #[arg(long = "at", value_name = "NAME=VALUE")]
    pub at: Vec<String>,
    /// The cotangent of a vector output: the gradient is that of the sum of its elements times these numbers
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true)]
    pub seed: Option<String>,
    /// Show the tangent of every value for each input
    #[arg(long)]
    pub forward: bool,
    /// Show what each adjoint is the sum of
    #[arg(long)]
    pub contributions: bool,
    /// Show the derivative of every output by every input
    #[arg(long)]
    pub jacobian: bool,
    /// Show the second derivatives
    #[arg(long)]
    pub hessian: bool,
    /// Show the derivatives of order 0 to K, at most 100: by the variable, or along a direction
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u8).range(..=100), allow_negative_numbers = true)]
    pub order: Option<u8>,
    /// The direction for --order, with a number for every element of every variable
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, requires = "order")]
    pub along: Option<String>,
    /// Compare the derivatives with finite differences; the exit code is 1 if they differ
    #[arg(long)]
    pub check: bool,
    /// Show the compiled program, and its text after every pass that changes it
    #[arg(long)]
    pub program: bool,
    /// Draw the Wengert list with values and adjoints to a file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write a page to a file that plays the forward and the reverse pass, with the program and its passes
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print everything as one JSON object; NaN and infinities are texts
    #[arg(long)]
    pub json: bool,
}

/// What can be written in an expression, for `--help`.
pub const SYNTAX: &str = "\
Expressions:
  1e-3, pi, e, x1           numbers, constants, variables
  + - * / ^                 -x^2 is -(x^2), and 2^3^2 is 2^(3^2)
  sin(x), atan2(y, x)       the functions of one or two numbers in `wengert ops`; ln, pow, max, min
  [a, b], x[0]              vectors; sum, prod, mean, var, std, norm, max, min, logsumexp, softmax, dot
  (a, b)                    several outputs
  sum(i in 1..=3, x^i / i)  a function of a vector with one number for each integer of a range
  let t = x^2; t * sin(t)   names for parts";

/// Prints what is asked for. Nothing is printed if the request is wrong.
///
/// ```
/// use wengert_cli::{grad::{Options, run}, paint::Paint};
/// let mut options = Options { expression: "x^2 + sin(x^2)".into(), at: vec!["x=2".into()], ..Options::default() };
/// let mut text = Vec::new();
/// run(&options, Paint::PLAIN, &mut text).unwrap();
/// assert!(String::from_utf8(text).unwrap().contains("dy/dx = 1.3854255165455522"));
///
/// options.expression = "x * sni(x)".into();
/// let failure = run(&options, Paint::PLAIN, &mut std::io::sink()).unwrap_err();
/// assert!(failure.to_string().starts_with("no function is called 'sni'\n  x * sni(x)\n      ^^^\n"));
/// ```
pub fn run(options: &Options, paint: Paint, out: &mut dyn Write) -> Result<(), Failure> {
    let Answer { report, outside, agrees, picture, page } = answer(options)?;
    for (path, text) in [(&options.svg, picture), (&options.html, page)] {
        path.iter().try_for_each(|path| write_file(path, &text))?;
    }
    if let Some(outside) = outside {
        return Err(outside);
    }
    write!(out, "{}", if options.json { report.json() } else { report.text(paint) })?;
    match agrees {
        true => Ok(()),
        false => Err(Failure::new("the derivatives differ from finite differences")),
    }
}

/// All that is asked for.
struct Answer {
    report: Report,
    /// Why there is no value at this point, if it is NaN: then only pictures and pages are of use.
    outside: Option<Failure>,
    /// Whether the derivatives agree with finite differences, if they are compared.
    agrees: bool,
    /// The Wengert list as SVG, if it is wanted.
    picture: String,
    /// Its page, if it is wanted.
    page: String,
}

fn answer(options: &Options) -> Result<Answer, Failure> {
    let source = options.expression.trim_end();
    let failure = |fault: Fault| fault.failure(source);
    let tree = parse(source).map_err(failure)?;
    let point = point(&tree, source, &options.at)?;
    let inputs: Vec<Tensor> = point.iter().map(|(_, tensor)| tensor.clone()).collect();
    let traced = Traced::of(&tree, &inputs).map_err(failure)?;

    let answered = catch(|| -> Result<Answer, Failure> {
        let output = traced.call(&inputs);
        let seed = seed(options, &output, source)?;
        let recording = record(&traced, &point, seed.clone());
        let mut sections = vec![recording.forward()];
        sections.extend(recording.backward());
        sections.push(recording.results(&point));
        if options.contributions {
            sections.extend(recording.contributions());
        }
        if options.forward {
            expect_few("--forward", recording.records(), &point)?;
            sections.push(tangents::tangents(&recording, &point));
        }
        let known = Known { tree: &tree, traced: &traced, point: &point };
        let mut cause = match has_nan(&recording.output) || recording.gradient.iter().flatten().any(has_nan) {
            true => Some(known.of_gradient(seed.as_ref())),
            false => None,
        };
        let outside = cause.as_ref().filter(|_| has_nan(&recording.output)).map(|cause| {
            let fault = Fault::new("the value is NaN at this point").failure(source);
            Failure::usage(format!("{fault}\n\n{}", cause.text(source)))
        });
        let mut show = |Derivative { values, section }: Derivative<'_>| {
            let numbers = values(&inputs);
            if cause.is_none() && numbers.iter().any(has_nan) {
                cause = Some(known.of_derivatives(values));
            }
            sections.push(section(&numbers));
        };
        if options.jacobian {
            expect_few("--jacobian", output.elements(), &point)?;
            show(derivatives::jacobian_of(&traced, &point, elements(recording.name, &output)));
        }
        if options.hessian {
            expect_number(&output)?;
            expect_few("--hessian", coordinates(&point).len(), &point)?;
            show(derivatives::hessian_of(&traced, &point));
        }
        if let Some(order) = options.order {
            let direction = direction(options, &point)?;
            show(derivatives::orders(&traced, &point, &direction, order.into()));
        }
        let mut agrees = true;
        if options.check {
            let (section, agree) = check::check(&traced, &point);
            sections.push(section);
            agrees = agree;
        }
        if options.program {
            sections.push(program::program(&traced, &point, seed.as_ref()));
        }
        sections.extend(cause.map(|cause| domain::section(&cause, source)));
        let picture = options.svg.as_ref().map(|_| recording.graph(source).svg()).unwrap_or_default();
        let page = |_| program::page(&recording, source, &traced, &point, seed.as_ref());
        let page = options.html.as_ref().map(page).unwrap_or_default();
        let report = Report { expression: source.into(), output: recording.name, point: point.clone(), sections };
        Ok(Answer { report, outside, agrees, picture, page })
    });
    answered
        .unwrap_or_else(|error| Err(failure(Fault::of(&error).at(error.line().and_then(|line| tree.place_of(line))))))
}

/// The most derivatives that are printed.
const MOST_DERIVATIVES: usize = 1_000_000;

/// That a matrix with so many rows, and a column for every input, can be printed.
fn expect_few(option: &str, rows: usize, point: &[(String, Tensor)]) -> Result<(), Failure> {
    let columns: usize = point.iter().map(|(_, tensor)| tensor.elements()).sum();
    match rows.checked_mul(columns) {
        Some(..=MOST_DERIVATIVES) => Ok(()),
        _ => Err(Failure::usage(format!(
            "{option}: {rows} rows of {columns} derivatives are more than the {MOST_DERIVATIVES} that are shown\n  \
             take fewer inputs, or a direction: --order with --along"
        ))),
    }
}

/// The numbers of a seed that a message shows.
const LONGEST_SEED: usize = 10;
/// The names of inputs that a message shows.
const NAMED: usize = 10;

/// A seed for the first of so many numbers.
fn first_seed(count: usize) -> String {
    let seed = (0..count.min(LONGEST_SEED)).map(|place| if place == 0 { "1" } else { "0" });
    let more = if count > LONGEST_SEED { ",.." } else { "" };
    format!("--seed {}{more} gives the gradient of the first", seed.collect::<Vec<_>>().join(","))
}

/// The cotangent that the sweep starts with: 1 for a number. `None` for a vector of which only other derivatives are wanted.
fn seed(options: &Options, output: &Tensor, source: &str) -> Result<Option<Tensor>, Failure> {
    let count = output.elements();
    let wrong = |message: String, help: String| {
        Err(Fault::new(message).at(Span { start: 0, end: source.len() }).help(help).failure(source))
    };
    let Some(text) = &options.seed else {
        return match output.rank() {
            0 => Ok(Some(Tensor::from(1.0))),
            _ if options.jacobian => Ok(None),
            _ => wrong(
                format!("the value is a vector of {}, so it has no gradient", counted(count)),
                format!("{}, --jacobian shows all derivatives", first_seed(count)),
            ),
        };
    };
    let numbers = numbers("--seed", text)?;
    match numbers.len() == count {
        true => Ok(Some(Tensor::from_vec(numbers, output.shape()))),
        false => {
            let (text, given) = (shortened(text), counted(numbers.len()));
            wrong(format!("--seed {text}: {given} for a value of {count}"), first_seed(count))
        }
    }
}

fn counted(count: usize) -> String {
    if count == 1 { "1 number".into() } else { format!("{count} numbers") }
}

fn expect_number(output: &Tensor) -> Result<(), Failure> {
    match output.rank() {
        0 => Ok(()),
        _ => Err(Failure::usage(format!(
            "--hessian: the value is a vector of {}, and a Hessian is that of one\n  \
             take one of them, such as (..)[0], or ask for --jacobian",
            counted(output.elements())
        ))),
    }
}

/// The direction of `--along`; for a single number, 1.
fn direction(options: &Options, point: &[(String, Tensor)]) -> Result<Vec<f64>, Failure> {
    let names = coordinates(point);
    let more = if names.len() > NAMED { ", .." } else { "" };
    let shown = names[..names.len().min(NAMED)].join(", ");
    let wrong = |message: String| Err(Failure::usage(format!("{message}\n  they are {shown}{more}")));
    if names.is_empty() {
        return Err(Failure::usage("--order: the expression has no variable to differentiate by"));
    }
    match &options.along {
        None if names.len() == 1 => Ok(vec![1.0]),
        None => {
            wrong(format!("--order: give a direction with --along, a number for each of the {} inputs", names.len()))
        }
        Some(text) => match numbers("--along", text)? {
            numbers if numbers.len() == names.len() => Ok(numbers),
            numbers => {
                wrong(format!("--along {}: {} for {} inputs", shortened(text), counted(numbers.len()), names.len()))
            }
        },
    }
}

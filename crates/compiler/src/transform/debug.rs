//! Runs a traced program one equation at a time.

use super::cache::place;
use super::loaded::names;
use super::{Compiled, CompiledStep};
use crate::autograd::modes::detect_anomaly;
use crate::bind::try_bind;
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::primitive::Outputs;
use crate::program::{Equation, Program, Var};
use crate::{Error, ErrorKind, Tensor, Tree};
use std::fmt;

/// A compiled function as it was traced: nothing is fused or rewritten, and every equation can be inspected.
///
/// ```
/// use wengert::prelude::*;
/// let f = compile(value_and_grad(|x: &Tensor| (x - 1.0).log().sum()));
/// let x = Tensor::from([3.0, 2.0]);
/// assert_eq!(f.debug().call(&x).1, Tensor::from([0.5, 1.0]));
///
/// let error = catch(|| f.debug().call(&Tensor::from([3.0, 0.0]))).unwrap_err();
/// assert_eq!((error.kind(), error.operation()), (&ErrorKind::Anomaly, "log"));
///
/// let run = f.debug().run(&x);
/// let log = run.steps().find(|step| step.operation() == "log").unwrap();
/// assert_eq!(log.outputs().next().unwrap().1.to_vec::<f64>()[1], 0.0);
/// assert!(!log.is_from_rule() && run.steps().any(|step| step.is_from_rule()));
/// ```
pub struct Debugger<'c, C> {
    compiled: &'c C,
    infinities: bool,
}

impl<C> Debugger<'_, C> {
    /// Makes calls stop at infinities as well as at NaN.
    #[must_use]
    pub fn infinities(self) -> Self {
        Debugger { infinities: true, ..self }
    }
}

impl<X: Tree, Y: Tree, F: Fn(&X) -> Y> Compiled<X, Y, F> {
    /// The same program, run one equation at a time.
    pub fn debug(&self) -> Debugger<'_, Self> {
        Debugger { compiled: self, infinities: false }
    }
}

impl<S: Tree, X: Tree, Y: Tree, F: Fn(&mut S, &X) -> Y> CompiledStep<S, X, Y, F> {
    /// The same program, run one equation at a time.
    pub fn debug(&self) -> Debugger<'_, Self> {
        Debugger { compiled: self, infinities: false }
    }
}

impl<X: Tree, Y: Tree, F: Fn(&X) -> Y> Debugger<'_, Compiled<X, Y, F>> {
    /// Calls the function. If an equation, of the function or of a derivative, produces a NaN from operands without NaN, the first one is
    /// reported as an error with its text and its line.
    #[track_caller]
    pub fn call(&self, x: &X) -> Y {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        let staged = self.compiled.staged(x);
        let outputs = watched(&staged.program(), &leaves(x), line, self.infinities);
        staged.output.rebuild(outputs.map_err(|error| error.at(line)).or_raise())
    }

    /// All values of a run, up to an error if there is one.
    #[track_caller]
    pub fn run(&self, x: &X) -> Run {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        Run::new(&self.compiled.staged(x).program(), names("", x), &leaves(x), line)
    }
}

impl<S: Tree, X: Tree, Y: Tree, F: Fn(&mut S, &X) -> Y> Debugger<'_, CompiledStep<S, X, Y, F>> {
    /// Updates the state and returns the result of the function. A NaN is an error, as in a function without state, and leaves the state
    /// unchanged.
    #[track_caller]
    pub fn call(&self, state: &mut S, x: &X) -> Y {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        let staged = self.compiled.staged(state, x);
        let inputs = [leaves(state), leaves(x)].concat();
        let outputs = watched(&staged.program(), &inputs, line, self.infinities);
        let mut outputs = outputs.map_err(|error| error.at(line)).or_raise().into_iter();
        *state = staged.state.rebuild(outputs.by_ref().take(staged.state.leaves().len()));
        staged.output.rebuild(outputs)
    }

    /// All values of a run, up to an error if there is one; the state is not changed.
    #[track_caller]
    pub fn run(&self, state: &S, x: &X) -> Run {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        let names = [names("state", state), names("", x)].concat();
        Run::new(&self.compiled.staged(state, x).program(), names, &[leaves(state), leaves(x)].concat(), line)
    }
}

fn leaves(tree: &impl Tree) -> Vec<Tensor> {
    tree.leaves().into_iter().cloned().collect()
}

/// The outputs, or an error for the first equation that produces a NaN or an infinity.
fn watched(program: &Program, inputs: &[Tensor], line: Line, infinities: bool) -> Result<Vec<Tensor>, Error> {
    let apply = |number: usize, equation: &Equation, operands: &[&Tensor]| -> Result<Outputs, Error> {
        let own = equation.line.unwrap_or(line);
        let (outputs, _) = detect_anomaly(|| try_bind(equation.op, equation.attrs.clone(), operands, own));
        let told = |error: Error| match *error.kind() == ErrorKind::Anomaly {
            true => anomaly(program, number, error.message(), &error).at(own),
            false => error.of_program(own),
        };
        let outputs = outputs.map_err(told)?;
        let infinite = |tensor: &Tensor| Statistics::of(tensor).is_some_and(|found| found.infinities > 0);
        if infinities && outputs.iter().any(infinite) && !operands.iter().any(|operand| infinite(operand)) {
            let error = Error::new(ErrorKind::Anomaly, equation.op.name(), "");
            return Err(anomaly(program, number, "it produced infinity from finite numbers", &error).at(own));
        }
        Ok(outputs)
    };
    program.evaluate_by(inputs, apply)
}

fn anomaly(program: &Program, number: usize, what: &str, error: &Error) -> Error {
    let equation = &program.equations()[number];
    let rule = if equation.from_rule { ", which a rule made for the operation at this line" } else { "" };
    let message = format!("{what}, in equation {number}, `{}`{rule}", program.equation_text(equation));
    // Inside a loop the line is that of the operation in its body.
    let told = Error::new(ErrorKind::Anomaly, error.operation(), message);
    let told = error.line().into_iter().fold(told, Error::at);
    told.help("`debug().run(..)` shows the values of every equation")
}

/// Statistics of the elements of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// The number of elements.
    pub elements: usize,
    /// The number of NaNs.
    pub nans: usize,
    /// The number of infinities.
    pub infinities: usize,
    /// The smallest finite element. If there is none, this and the following are NaN.
    pub minimum: f64,
    /// The largest finite element.
    pub maximum: f64,
    /// The mean of the finite elements.
    pub mean: f64,
}

impl Statistics {
    /// The statistics of a tensor, unless it is symbolic.
    ///
    /// ```
    /// use wengert::{prelude::*, Statistics};
    /// let found = Statistics::of(&Tensor::from([1.0, 3.0, f64::INFINITY])).unwrap();
    /// assert_eq!((found.infinities, found.maximum, found.mean), (1, 3.0, 2.0));
    /// ```
    pub fn of(tensor: &Tensor) -> Option<Statistics> {
        let numbers = Tensor::from(tensor.numbers("statistics").ok()?.clone()).to_f64_vec();
        let finite = || numbers.iter().copied().filter(|number| number.is_finite());
        Some(Statistics {
            elements: numbers.len(),
            nans: numbers.iter().filter(|number| number.is_nan()).count(),
            infinities: numbers.iter().filter(|number| number.is_infinite()).count(),
            minimum: finite().fold(f64::NAN, f64::min),
            maximum: finite().fold(f64::NAN, f64::max),
            mean: finite().sum::<f64>() / finite().count() as f64,
        })
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.elements {
            0 => f.write_str("empty")?,
            1 if self.minimum.is_nan() => {}
            1 => write!(f, "{}", self.minimum)?,
            _ => write!(f, "{:.4e} .. {:.4e}, mean {:.4e}", self.minimum, self.maximum, self.mean)?,
        }
        let space = if self.elements == 1 && self.minimum.is_nan() { "" } else { ", " };
        match (self.nans, self.infinities) {
            (0, 0) => Ok(()),
            (nans, 0) => write!(f, "{space}{nans} NaN"),
            (0, infinities) => write!(f, "{space}{infinities} infinite"),
            (nans, infinities) => write!(f, "{space}{nans} NaN, {infinities} infinite"),
        }
    }
}

/// A run of a program with all its values; it prints every equation with its line and statistics.
pub struct Run {
    program: Program,
    names: Vec<String>,
    /// By variable.
    values: Vec<Option<Tensor>>,
    /// The line of each equation.
    places: Vec<String>,
    error: Option<Error>,
}

impl Run {
    fn new(program: &Program, names: Vec<String>, inputs: &[Tensor], line: Line) -> Run {
        let mut values: Vec<Option<Tensor>> = vec![None; program.variables()];
        let given = program.inputs().iter().zip(inputs).chain(program.captures().iter().map(|(var, x)| (var, x)));
        given.for_each(|(var, tensor)| values[var.index()] = Some(tensor.clone()));
        let result = program.evaluate_by(inputs, |_, equation, operands| {
            let own = equation.line.unwrap_or(line);
            let outputs = try_bind(equation.op, equation.attrs.clone(), operands, own)?;
            equation.outputs.iter().zip(&outputs).for_each(|(var, x)| values[var.index()] = Some(x.clone()));
            Ok(outputs)
        });
        let places = program.equations().iter().map(|equation| equation.line.map(place).unwrap_or_default()).collect();
        Run { program: program.clone(), names, values, places, error: result.err() }
    }

    /// The program that was run.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The value of a variable, by its name in the program's text; `None` if there is no such variable, or if an error occurred before it.
    pub fn value(&self, name: &str) -> Option<&Tensor> {
        let place = (0..self.values.len()).find(|&number| Var::new(number).to_string() == name)?;
        self.values[place].as_ref()
    }

    /// The equations with their values, in order, up to an error.
    pub fn steps(&self) -> impl Iterator<Item = RunStep<'_>> {
        let done = |number: &usize| {
            let equation = &self.program.equations()[*number];
            equation.outputs.iter().all(|var| self.values[var.index()].is_some())
        };
        (0..self.program.equations().len()).take_while(done).map(|number| RunStep { run: self, number })
    }

    /// The equations that came from this line of a source file; those of rules have the line of the operation that they differentiate.
    pub fn at_line(&self, line: u32) -> impl Iterator<Item = RunStep<'_>> {
        self.steps().filter(move |step| step.place().rsplit(':').nth(1).is_some_and(|text| text == line.to_string()))
    }

    /// The first equation with a NaN that its operands do not have.
    pub fn first_nan(&self) -> Option<RunStep<'_>> {
        self.first(|found| found.nans > 0)
    }

    /// The first equation with an infinity that its operands do not have.
    pub fn first_infinite(&self) -> Option<RunStep<'_>> {
        self.first(|found| found.infinities > 0)
    }

    fn first(&self, is: impl Fn(Statistics) -> bool) -> Option<RunStep<'_>> {
        let any = |vars: &[Var]| {
            let mut values = vars.iter().filter_map(|var| self.values[var.index()].as_ref());
            values.any(|tensor| Statistics::of(tensor).is_some_and(&is))
        };
        self.steps().find(|step| any(&step.equation().outputs) && !any(&step.equation().inputs))
    }

    /// Why the run ended early, if it did.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }
}

/// One equation of a [`Run`].
#[derive(Clone, Copy)]
pub struct RunStep<'r> {
    run: &'r Run,
    number: usize,
}

impl<'r> RunStep<'r> {
    /// The index of the equation.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The equation itself.
    pub fn equation(&self) -> &'r Equation {
        &self.run.program.equations()[self.number]
    }

    /// The name of its operation.
    pub fn operation(&self) -> &'static str {
        self.equation().op.name()
    }

    /// The user's line as `file:line:column`.
    pub fn place(&self) -> &'r str {
        &self.run.places[self.number]
    }

    /// Whether a rule created it, for a derivative or a batch; its line is that of the operation with the rule.
    pub fn is_from_rule(&self) -> bool {
        self.equation().from_rule
    }

    /// The names and values that it defines.
    pub fn outputs(&self) -> impl Iterator<Item = (String, &'r Tensor)> {
        let (run, equation) = (self.run, self.equation());
        let value = |var: &Var| (var.to_string(), run.values[var.index()].as_ref().expect("it has run"));
        equation.outputs.iter().map(value)
    }
}

impl fmt::Display for RunStep<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = if self.is_from_rule() { " (rule)" } else { "" };
        let text = self.run.program.equation_text(self.equation());
        write!(f, "{:4}  {text}  // {}{rule}", self.number, self.place())?;
        self.outputs().try_for_each(|(name, value)| write!(f, "\n        {name} = {}", summary(value)))
    }
}

fn summary(value: &Tensor) -> String {
    Statistics::of(value).map_or_else(|| "symbolic".into(), |found| found.to_string())
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |var: &Var| self.values[var.index()].as_ref().map(summary).unwrap_or_default();
        for (var, name) in self.program.inputs().iter().zip(&self.names) {
            writeln!(f, "input '{name}'  {var}: {} = {}", self.program.spec(*var), value(var))?;
        }
        for (var, tensor) in self.program.captures() {
            let kind = if tensor.is_plain() { "const" } else { "capture" };
            writeln!(f, "{kind}  {var}: {} = {}", self.program.spec(*var), value(var))?;
        }
        self.steps().try_for_each(|step| writeln!(f, "{step}"))?;
        let outputs: Vec<String> = self.program.outputs().iter().map(ToString::to_string).collect();
        match &self.error {
            Some(error) => writeln!(f, "error  {error}"),
            None => writeln!(f, "return  {}", outputs.join(", ")),
        }
    }
}

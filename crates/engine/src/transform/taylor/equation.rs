//! Power series as solutions of differential equations, one coefficient at a time.
//!
//! An operation y = f(x) satisfies y' = J(x, y) x', where J is its tangent rule. The rule runs once on tensors of a separate level, which
//! stand for x(t), y(t) and x'(t). Each operation that it binds becomes an *equation* of a system; at first only its value is known.
//! Coefficients are then computed on demand: y_k = (J x')_k-1 / k, which requires coefficients up to k-1 of everything in the rule. If an
//! operation in the rule is itself defined by its derivative, its own rule runs when its first coefficient is needed.
//!
//! Equal equations are merged. The rule of sin binds cos x, whose rule binds sin x and finds the existing equation, so the system closes. A
//! function that involves finitely many others thus costs one product of series, O(k) products of tensors, per coefficient and
//! multiplication in the rules, however they refer to each other.

use super::coefficients::{Series, acts_on_coefficients, coefficient};
use crate::Tensor;
use crate::bind::try_bind;
use crate::error::Error;
use crate::interp::{Interpreter, Level, Tracer};
use crate::location::Line;
use crate::primitive::{Adjoints, Attrs, Jet, Mask, Outputs, Primitive, Rule, Spec};
use crate::tensor::Value;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One output of one equation.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Unknown {
    equation: u32,
    output: u32,
}

/// An operand of an equation: a series, or a tensor that does not depend on t.
#[derive(Clone)]
enum Term {
    Unknown(Unknown),
    Constant(Tensor),
}

/// How the coefficients of an equation are found.
enum CoefficientSource {
    /// They are given.
    Given(Series),
    /// Those of a derivative: (k + 1) x_k+1.
    Derivative(Unknown),
    /// Those of an operation; `change` holds the derivatives of its outputs, once its rule has run.
    Call { call: Call, change: Option<SmallVec<[Option<Term>; 1]>> },
}

#[derive(Clone)]
struct Call {
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: SmallVec<[Term; 2]>,
}

struct Equation {
    source: CoefficientSource,
    /// The coefficients found so far for each output, the same number for each. Empty for a given series.
    known: Vec<Vec<Option<Tensor>>>,
}

/// Identifies equal calls.
#[derive(PartialEq, Eq, Hash)]
struct Signature {
    /// Name and address: operations without state may share an address.
    op: (&'static str, usize),
    attrs: Attrs,
    operands: SmallVec<[Name; 2]>,
}

#[derive(PartialEq, Eq, Hash)]
enum Name {
    Unknown(Unknown),
    /// A repeated number.
    Number(u64, Spec),
}

/// The equations of one operation.
#[derive(Default)]
pub(crate) struct System {
    equations: Vec<Equation>,
    calls: FxHashMap<Signature, u32>,
    derivatives: FxHashMap<Unknown, Unknown>,
}

/// The next task for an equation.
enum Task {
    Nothing,
    /// First extend another equation up to this order.
    After(u32, usize),
    /// Run the rule of the call.
    Run(Call),
    /// Everything that the next coefficients depend on is known.
    Extend(Step),
}

/// The ingredients of the next coefficients of an equation.
enum Step {
    /// Multiply by an integer, or divide.
    Times(Option<Tensor>, usize),
    Over(Adjoints, usize),
    /// Compute the next coefficients with the operation, from those of the operands and the known ones of the outputs.
    Call {
        call: Call,
        operands: SmallVec<[Series; 2]>,
        known: Vec<Vec<Option<Tensor>>>,
    },
}

/// The coefficients after the value of each output of one operation.
pub(super) fn solve(
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: &[Series],
    outputs: &Outputs,
    order: usize,
    line: Line,
) -> Vec<Vec<Option<Tensor>>> {
    let level = Level::open("jet", Equations::default(), line);
    let Equations(system) = level.0.interpreter();
    let terms = operands.iter().map(|series| match series.is_constant() {
        true => Term::Constant(series.value().clone()),
        false => Term::Unknown(lock(system).insert(CoefficientSource::Given(series.clone()), &[])),
    });
    let call = Call { op, attrs, operands: terms.collect() };
    let equation = lock(system).insert_call(call, outputs).equation;
    extend(&level.0, system, equation, order, line);
    let mut known = std::mem::take(&mut lock(system).equations[equation as usize].known);
    known.iter_mut().for_each(|output| drop(output.remove(0)));
    known
}

/// The equations of one operation.
#[derive(Default)]
struct Equations(Mutex<System>);

impl Interpreter for Equations {
    /// An operation inside a rule: its value is computed now, its coefficients on demand.
    fn apply(
        &self,
        level: &Arc<Level>,
        op: &'static dyn Primitive,
        attrs: Attrs,
        operands: &[&Tensor],
        line: Line,
    ) -> Result<Outputs, Error> {
        let Equations(system) = self;
        let value = |operand| Tracer::attached::<Unknown>(operand, level).map_or(operand, |(value, _)| value);
        let values: SmallVec<[&Tensor; 4]> = operands.iter().map(|operand| value(*operand)).collect();
        if !op.differentiable() || op.jet() == Jet::Constant {
            return try_bind(op, attrs, &values, line);
        }
        let call = Call { op, attrs, operands: operands.iter().map(|operand| term(level, operand)).collect() };
        let known = lock(system).find(&call);
        let (equation, outputs) = match known {
            Some(found) => found,
            None => {
                let outputs = try_bind(op, call.attrs.clone(), &values, line)?;
                (lock(system).insert_call(call, &outputs).equation, outputs)
            }
        };
        Ok(lifted(level, equation, outputs, line))
    }
}

fn term(level: &Level, tensor: &Tensor) -> Term {
    match Tracer::attached(tensor, level) {
        Some((_, unknown)) => Term::Unknown(*unknown),
        _ => Term::Constant(tensor.clone()),
    }
}

fn lift(level: &Arc<Level>, unknown: Unknown, value: Tensor, line: Line) -> Tensor {
    Tracer::attach(level, &value, unknown, line)
}

/// The outputs of a call as tensors of the level; integers are left as they are.
fn lifted(level: &Arc<Level>, equation: u32, outputs: Outputs, line: Line) -> Outputs {
    let lift = |(output, value): (usize, Tensor)| match value.dtype().is_float() {
        true => lift(level, Unknown { equation, output: output as u32 }, value, line),
        false => value,
    };
    outputs.into_iter().enumerate().map(lift).collect()
}

/// Computes the coefficients of an equation up to `order`, and those that they depend on.
fn extend(level: &Arc<Level>, system: &Mutex<System>, equation: u32, order: usize, line: Line) {
    let mut waiting = vec![(equation, order)];
    while let Some(&(equation, order)) = waiting.last() {
        let task = lock(system).task(equation, order);
        match task {
            Task::Nothing => drop(waiting.pop()),
            Task::After(other, order) => waiting.push((other, order)),
            Task::Run(call) => {
                let change = run(level, system, equation, &call, line);
                lock(system).set_change(equation, change);
            }
            Task::Extend(step) => {
                let found = step.take();
                lock(system).push(equation, found);
            }
        }
    }
}

/// Runs the rule of a call, and returns the derivatives of its outputs.
fn run(
    level: &Arc<Level>,
    system: &Mutex<System>,
    equation: u32,
    call: &Call,
    line: Line,
) -> SmallVec<[Option<Term>; 1]> {
    let series = |unknown: Unknown| lift(level, unknown, lock(system).value(unknown), line);
    let mut operands: SmallVec<[Tensor; 2]> = SmallVec::new();
    let mut tangents: SmallVec<[Option<Tensor>; 2]> = SmallVec::new();
    for operand in &call.operands {
        let (operand, tangent) = match operand {
            Term::Constant(tensor) => (tensor.clone(), None),
            Term::Unknown(unknown) => {
                let derivative = lock(system).derivative(*unknown);
                (series(*unknown), Some(series(derivative)))
            }
        };
        operands.push(operand);
        tangents.push(tangent);
    }
    let derived: Adjoints = match call.op.function(&call.attrs) {
        Some(function) => function.push(&function.forward(&operands).1, &tangents).into(),
        None => {
            let outputs = lock(system).outputs(equation);
            let outputs = lifted(level, equation, outputs, line);
            let operands: SmallVec<[&Tensor; 4]> = operands.iter().collect();
            let wanted = Mask::of(tangents.len(), |position| tangents[position].is_some());
            call.op.jvp(&Rule::new(call.op, &call.attrs, &operands, &outputs, wanted), &tangents)
        }
    };
    derived.iter().map(|tangent| tangent.as_ref().map(|tangent| term(level, tangent))).collect()
}

impl Step {
    fn take(self) -> Adjoints {
        match self {
            Step::Times(x, factor) => smallvec![x.map(|x| if factor == 1 { x } else { x * factor as f64 })],
            Step::Over(x, 1) => x,
            Step::Over(x, divisor) => x.into_iter().map(|x| x.map(|x| x / divisor as f64)).collect(),
            Step::Call { call, operands, known } => {
                let values: SmallVec<[&Tensor; 4]> = operands.iter().map(Series::value).collect();
                let order = known[0].len();
                coefficient(call.op, &call.attrs, &values, &|position, j| operands[position].at(j), &known, order)
            }
        }
    }
}

impl System {
    fn insert(&mut self, source: CoefficientSource, values: &[Tensor]) -> Unknown {
        let known = values.iter().map(|value| vec![Some(value.clone())]).collect();
        self.equations.push(Equation { source, known });
        Unknown { equation: (self.equations.len() - 1) as u32, output: 0 }
    }

    fn insert_call(&mut self, call: Call, outputs: &Outputs) -> Unknown {
        let signature = Signature::of(&call);
        let unknown = self.insert(CoefficientSource::Call { call, change: None }, outputs);
        if let Some(signature) = signature {
            self.calls.insert(signature, unknown.equation);
        }
        unknown
    }

    /// An existing equation for the same call, and its outputs.
    fn find(&self, call: &Call) -> Option<(u32, Outputs)> {
        let equation = *self.calls.get(&Signature::of(call)?)?;
        Some((equation, self.outputs(equation)))
    }

    /// The derivative of a series whose first coefficient is known.
    fn derivative(&mut self, unknown: Unknown) -> Unknown {
        if let Some(derivative) = self.derivatives.get(&unknown) {
            return *derivative;
        }
        let value = self.at(unknown, 1).unwrap_or_else(|| self.value(unknown).full_like(0.0));
        let derivative = self.insert(CoefficientSource::Derivative(unknown), &[value]);
        self.derivatives.insert(unknown, derivative);
        derivative
    }

    fn set_change(&mut self, equation: u32, found: SmallVec<[Option<Term>; 1]>) {
        if let CoefficientSource::Call { change, .. } = &mut self.equations[equation as usize].source {
            *change = Some(found);
        }
    }

    fn push(&mut self, equation: u32, coefficients: Adjoints) {
        let known = &mut self.equations[equation as usize].known;
        known.iter_mut().zip(coefficients).for_each(|(known, next)| known.push(next));
    }

    fn outputs(&self, equation: u32) -> Outputs {
        let values = self.equations[equation as usize].known.iter();
        values.map(|known| known[0].clone().expect("a series has a value")).collect()
    }

    fn value(&self, unknown: Unknown) -> Tensor {
        self.at(unknown, 0).expect("a series has a value")
    }

    fn at(&self, unknown: Unknown, order: usize) -> Option<Tensor> {
        let equation = &self.equations[unknown.equation as usize];
        match &equation.source {
            CoefficientSource::Given(series) => series.at(order).cloned(),
            _ => equation.known[unknown.output as usize][order].clone(),
        }
    }

    /// The first of these terms that is not known up to `order`.
    fn missing<'t>(&self, mut terms: impl Iterator<Item = &'t Term>, order: usize) -> Option<Task> {
        terms.find_map(|term| match term {
            Term::Unknown(unknown) => self.after(*unknown, order),
            Term::Constant(_) => None,
        })
    }

    fn after(&self, unknown: Unknown, order: usize) -> Option<Task> {
        let equation = &self.equations[unknown.equation as usize];
        equation.known.first().is_some_and(|known| known.len() <= order).then_some(Task::After(unknown.equation, order))
    }

    fn series(&self, term: &Term, order: usize) -> Series {
        match term {
            Term::Constant(tensor) => Series::constant(tensor),
            Term::Unknown(unknown) => match &self.equations[unknown.equation as usize].source {
                CoefficientSource::Given(series) => series.clone(),
                _ => Series::new(self.value(*unknown), (1..=order).map(|j| self.at(*unknown, j))),
            },
        }
    }

    fn task(&self, place: u32, order: usize) -> Task {
        let equation = &self.equations[place as usize];
        let next = equation.known.first().map_or(usize::MAX, Vec::len);
        if next > order {
            return Task::Nothing;
        }
        match &equation.source {
            CoefficientSource::Given(_) => unreachable!("a given series is known"),
            CoefficientSource::Derivative(of) => {
                self.after(*of, next + 1).unwrap_or_else(|| Task::Extend(Step::Times(self.at(*of, next + 1), next + 1)))
            }
            CoefficientSource::Call { call, .. } if acts_on_coefficients(call.op.jet()) => {
                self.missing(call.operands.iter(), next).unwrap_or_else(|| {
                    let operands = call.operands.iter().map(|operand| self.series(operand, next)).collect();
                    Task::Extend(Step::Call { call: call.clone(), operands, known: equation.known.clone() })
                })
            }
            CoefficientSource::Call { call, change: None } => {
                self.missing(call.operands.iter(), 1).unwrap_or_else(|| Task::Run(call.clone()))
            }
            CoefficientSource::Call { change: Some(change), .. } => {
                let at = |term: &Option<Term>| match term.as_ref()? {
                    Term::Unknown(unknown) => self.at(*unknown, next - 1),
                    Term::Constant(tensor) => (next == 1).then(|| tensor.clone()),
                };
                self.missing(change.iter().flatten(), next - 1)
                    .unwrap_or_else(|| Task::Extend(Step::Over(change.iter().map(at).collect(), next)))
            }
        }
    }
}

impl Signature {
    /// `None` if an operand cannot be identified.
    fn of(call: &Call) -> Option<Signature> {
        let name = |term: &Term| match term {
            Term::Unknown(unknown) => Some(Name::Unknown(*unknown)),
            Term::Constant(tensor) => number(tensor),
        };
        let operands = call.operands.iter().map(name).collect::<Option<_>>()?;
        let place = std::ptr::from_ref(call.op).cast::<()>() as usize;
        Some(Signature { op: (call.op.name(), place), attrs: call.attrs.clone(), operands })
    }
}

fn number(tensor: &Tensor) -> Option<Name> {
    if tensor.link.is_some() {
        return None;
    }
    let number = match &tensor.value {
        Value::One(_) => tensor.clone(),
        _ => tensor.splatted()?,
    };
    Some(Name::Number(number.to_f64_vec()[0].to_bits(), tensor.spec()))
}

fn lock(system: &Mutex<System>) -> MutexGuard<'_, System> {
    system.lock().unwrap_or_else(PoisonError::into_inner)
}

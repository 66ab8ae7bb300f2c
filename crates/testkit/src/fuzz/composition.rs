//! A program over a growing list of values: its steps, and how they are run.

use std::fmt;
use wengert::prelude::*;
use wengert::primitive::{Attrs, Primitive, bind};

/// How far an earlier value perturbs the operand of a case, so that cases stay inside their domain.
const REACH: f64 = 0.1;

/// One step; a number is the position of an earlier value.
#[derive(Clone)]
pub(super) enum Step {
    /// A primitive on the operands of one of its cases, perturbed by earlier values.
    Call {
        op: &'static dyn Primitive,
        attrs: Attrs,
        operands: Vec<Tensor>,
        sources: Vec<usize>,
    },
    /// a b + sin a, one side broadcast or resampled.
    Mix(usize, usize),
    /// Selects one expression where a is greater than b, and another elsewhere.
    Mask(usize, usize),
    /// Updates a copy in place: assigns a part, adds to a part, scales the whole.
    Mutate {
        target: usize,
        part: Vec<std::ops::Range<i64>>,
        values: usize,
    },
    /// Gathers elements at the positions of the maxima along an axis, and scatters them elsewhere.
    Choose {
        of: usize,
        axis: isize,
    },
    /// Multiplies by random numbers drawn from the input key.
    Noise(usize),
    /// a times b, with b held constant: detached, or computed where gradients stop.
    Hold(usize, usize),
    NoGrad(usize, usize),
    /// To f32 and back.
    Round(usize),
    /// The gradient of an inner function at b, which depends on a.
    InnerGrad(usize, usize),
    /// The tangent of an inner function at b along a.
    InnerJvp(usize, usize),
    /// An inner function of every row of a, which captures b.
    InnerMap(usize, usize),
    /// The gradient of an inner function at every row of a, which captures b.
    InnerMapGrad(usize, usize),
    /// A pullback of an inner function at b, called twice.
    InnerPullback(usize, usize),
    /// A compiled inner function of a, which captures b.
    InnerCompiled(usize, usize),
    /// The gradient of a checkpointed function inside a checkpoint, at a; both capture b.
    InnerCheckpoint(usize, usize),
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Call { op, attrs, sources, .. } => write!(f, "{}{attrs} of its case moved by {sources:?}", op.name()),
            Step::Mix(a, b) => write!(f, "mix v{a}, v{b}"),
            Step::Mask(a, b) => write!(f, "mask v{a}, v{b}"),
            Step::Mutate { target, part, values } => write!(f, "mutate v{target} at {part:?} by v{values}"),
            Step::Choose { of, axis } => write!(f, "choose of v{of} along {axis}"),
            Step::Noise(a) => write!(f, "noise on v{a}"),
            Step::Hold(a, b) => write!(f, "v{a} times v{b} held"),
            Step::NoGrad(a, b) => write!(f, "v{a} times v{b} without gradient"),
            Step::Round(a) => write!(f, "round v{a} to f32"),
            Step::InnerGrad(a, b) => write!(f, "inner grad at v{b} with v{a}"),
            Step::InnerJvp(a, b) => write!(f, "inner jvp at v{b} along v{a}"),
            Step::InnerMap(a, b) => write!(f, "inner vmap over v{a} with v{b}"),
            Step::InnerMapGrad(a, b) => write!(f, "inner vmap of grad over v{a} with v{b}"),
            Step::InnerPullback(a, b) => write!(f, "inner pullback at v{b} of v{a}"),
            Step::InnerCompiled(a, b) => write!(f, "inner compile of v{a} with v{b}"),
            Step::InnerCheckpoint(a, b) => write!(f, "inner checkpoints at v{a} with v{b}"),
        }
    }
}

/// A random program: inputs, then steps; its result is a weighted sum of all its values.
///
/// ```
/// use wengert_testkit::fuzz::Composition;
/// let composition = Composition::random(1, 5);
/// let x = composition.inputs();
/// assert_eq!(composition.run(x).shape(), [0usize; 0]);
/// ```
#[derive(Clone)]
pub struct Composition {
    pub(super) seed: u64,
    /// Float tensors, and last the key of a random stream.
    pub(super) inputs: Vec<Tensor>,
    pub(super) steps: Vec<Step>,
}

impl fmt::Display for Composition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let specs: Vec<String> = self.inputs.iter().map(|input| input.spec().to_string()).collect();
        writeln!(f, "composition of seed {}, inputs {}", self.seed, specs.join(", "))?;
        self.steps.iter().enumerate().try_for_each(|(number, step)| writeln!(f, "  step {number}: {step:?}"))
    }
}

/// A bounded value with the same slope near zero.
fn tame(x: &Tensor) -> Tensor {
    (x * 0.5).tanh() * 2.0
}

/// `x` in another shape: broadcast if it is a single element, resampled otherwise.
fn fit(x: &Tensor, shape: &[usize]) -> Tensor {
    let (from, to) = (x.elements(), shape.iter().product::<usize>());
    match (from, to) {
        _ if x.shape() == shape => x.clone(),
        (0, _) | (_, 0) => Tensor::zeros(shape),
        (1, _) => x.reshape(Shape::default()).broadcast_to(shape),
        _ => {
            let index: Vec<i64> = (0..to).map(|i| (i * 5 % from) as i64).collect();
            x.reshape([from]).gather(0, &Tensor::from(index)).reshape(shape)
        }
    }
}

/// The values that are held constant: recorded on a first run, and reused on later ones, so that finite differences see the same function
/// as derivatives.
enum Held<'a> {
    Recording(Vec<Tensor>),
    Replaying(&'a [Tensor], usize),
}

/// A run in progress.
pub(super) struct Run<'a> {
    pub values: Vec<Tensor>,
    key: Tensor,
    held: Held<'a>,
}

impl Run<'_> {
    fn hold(&mut self, x: Tensor) -> Tensor {
        match &mut self.held {
            Held::Recording(list) => {
                list.push(x.clone());
                x
            }
            Held::Replaying(list, next) => {
                *next += 1;
                list[*next - 1].clone()
            }
        }
    }

    fn two(&self, a: usize, b: usize) -> (Tensor, Tensor) {
        let a = self.values[a].clone();
        let b = fit(&self.values[b], a.shape());
        (a, b)
    }

    fn call(&mut self, op: &'static dyn Primitive, attrs: &Attrs, operands: &[Tensor], sources: &[usize]) {
        let moved = |(operand, source): (&Tensor, &usize)| match operand.dtype().is_float() {
            true => operand + fit(&self.values[*source], operand.shape()) * REACH,
            false => operand.clone(),
        };
        let operands: Vec<Tensor> = operands.iter().zip(sources).map(moved).collect();
        for output in bind(op, attrs.clone(), &operands.iter().collect::<Vec<_>>()) {
            let moves = op.differentiable() && output.dtype().is_float();
            let output = if moves { output } else { self.hold(output) };
            self.values.push(tame(&output.cast(DType::F64)));
        }
    }

    pub fn step(&mut self, step: &Step) {
        let value = match step {
            Step::Call { op, attrs, operands, sources } => return self.call(*op, attrs, operands, sources),
            Step::Mix(a, b) => {
                let (a, b) = self.two(*a, *b);
                &a * b + a.sin()
            }
            Step::Mask(a, b) => {
                let (a, b) = self.two(*a, *b);
                a.gt(&b).where_(&a * 1.5, b.cos())
            }
            Step::Mutate { target, part, values } => {
                let mut y = self.values[*target].clone();
                let chosen: Vec<Select> = part.iter().map(|range| range.clone().into()).collect();
                let shape: Vec<usize> = part.iter().map(|range| (range.end - range.start) as usize).collect();
                let values = fit(&self.values[*values], &shape);
                y.slice_mut(&chosen[..]).assign(&values);
                y += &self.values[*target];
                y.slice_mut(&chosen[..]).add(values.sin());
                let before = y.clone();
                y *= 0.7;
                y -= before.sin();
                y /= 1.5;
                y + before
            }
            Step::Choose { of, axis } => {
                let x = self.values[*of].clone();
                let (values, positions) = x.max_along(*axis);
                let positions = self.hold(positions).unsqueeze(*axis as usize);
                let others = x.cos().gather(*axis, &positions);
                x.scatter_add(*axis, &positions, &(others * values.unsqueeze(*axis as usize)))
            }
            Step::Noise(a) => {
                let a = self.values[*a].clone();
                let noise = Key::from_tensor(self.key.clone()).uniform(a.shape(), DType::F64);
                a * (noise + 0.5)
            }
            Step::Hold(a, b) => {
                let (a, b) = self.two(*a, *b);
                let held = self.hold(b.sin().detach());
                a * held
            }
            Step::NoGrad(a, b) => {
                let (a, b) = self.two(*a, *b);
                let held = self.hold(no_grad(|| b.sin()));
                a * held
            }
            Step::Round(a) => self.values[*a].cast(DType::F32).cast(DType::F64),
            Step::InnerGrad(a, b) => {
                let (a, b) = self.two(*a, *b);
                grad(|t: &Tensor| (t.sin() * &a * t).sum())(&b)
            }
            Step::InnerJvp(a, b) => {
                let (a, b) = self.two(*a, *b);
                jvp(|t: &Tensor| t.sin() * t + &a, &b, &a).1
            }
            Step::InnerMap(a, b) => {
                let (a, b) = (self.values[*a].clone(), self.values[*b].clone());
                vmap(|row: &Tensor| row.tanh() * fit(&b, row.shape()).cos())(&a)
            }
            Step::InnerMapGrad(a, b) => {
                let (a, b) = (self.values[*a].clone(), self.values[*b].clone());
                vmap(grad(|row: &Tensor| (row.sin() * fit(&b, row.shape()) * row).sum()))(&a)
            }
            Step::InnerPullback(a, b) => {
                let (a, b) = self.two(*a, *b);
                let (_, pullback) = vjp(|t: &Tensor| t.cos() * &a, &b);
                pullback.call(&b) + pullback.call(&a.sin())
            }
            Step::InnerCompiled(a, b) => {
                let (a, b) = self.two(*a, *b);
                compile(|t: &Tensor| t.sin() * &b + t).call(&a)
            }
            Step::InnerCheckpoint(a, b) => {
                let (a, b) = self.two(*a, *b);
                let outer = checkpoint(move |t: &Tensor| {
                    let held = b.clone();
                    let inner = checkpoint(move |u: &Tensor| u.sin() * &held);
                    grad(|u: &Tensor| (inner(u) * u).sum())(t).tanh() + &b
                });
                outer(&a)
            }
        };
        self.values.push(tame(&value));
    }

    /// A nonlinear weighted sum of all values, so that no computed value is dead and nothing is linear.
    fn total(&self) -> Tensor {
        let used = self.values.iter().enumerate().filter(|(_, value)| value.elements() > 0);
        let terms =
            used.map(|(number, value)| (value + value * value * 0.3).mean() * (1.0 + 0.3 * (number % 3) as f64));
        terms.reduce(|a, b| a + b).expect("an input")
    }
}

impl Composition {
    pub(super) fn start<'a>(x: &[Tensor], held: Option<&'a [Tensor]>) -> Run<'a> {
        let (key, values) = x.split_last().expect("the key is the last input");
        let held = held.map_or(Held::Recording(Vec::new()), |held| Held::Replaying(held, 0));
        Run { values: values.to_vec(), key: key.clone(), held }
    }

    /// The point to run it at: float tensors, and last a key.
    pub fn inputs(&self) -> &[Tensor] {
        &self.inputs
    }

    /// The result for these inputs.
    pub fn run(&self, x: &[Tensor]) -> Tensor {
        let mut run = Composition::start(x, None);
        self.steps.iter().for_each(|step| run.step(step));
        run.total()
    }

    /// All its values for these inputs.
    pub(super) fn values(&self, x: &[Tensor]) -> Vec<Tensor> {
        let mut run = Composition::start(x, None);
        self.steps.iter().for_each(|step| run.step(step));
        run.values
    }

    /// The values that are held constant, at these inputs.
    pub(super) fn held(&self, x: &[Tensor]) -> Vec<Tensor> {
        let mut run = Composition::start(x, None);
        self.steps.iter().for_each(|step| run.step(step));
        match run.held {
            Held::Recording(list) => list,
            Held::Replaying(..) => unreachable!("started as a recording"),
        }
    }

    /// The result for these inputs, with the constant values taken from `held`.
    pub(super) fn run_holding(&self, x: &[Tensor], held: &[Tensor]) -> Tensor {
        let mut run = Composition::start(x, Some(held));
        self.steps.iter().for_each(|step| run.step(step));
        run.total()
    }

    /// The composition truncated to its first steps.
    pub(super) fn truncated(&self, steps: usize) -> Composition {
        Composition { steps: self.steps[..steps].to_vec(), ..self.clone() }
    }

    /// Whether it rounds to f32 somewhere: then results only agree to f32 precision.
    pub(super) fn is_rounded(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Round(_)))
    }
}

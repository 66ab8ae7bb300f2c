//! Random scalar programs with an exact reference.

use super::{HyperDual, Random};
use std::fmt;
use wengert::prelude::*;
use wengert::primitive::GuardedMulMethods;

/// The inputs of a formula.
type Pair = (Tensor, Tensor);

/// A function of a formula: its name, the tensor operation and the same operation on hyper-dual numbers.
struct Function {
    name: &'static str,
    tensor: fn(&Tensor, &Tensor) -> Tensor,
    dual: fn(HyperDual, HyperDual) -> HyperDual,
}

/// A positive number that depends on x.
fn positive(x: &Tensor) -> Tensor {
    x * x + 0.5
}

fn positive_dual(x: HyperDual) -> HyperDual {
    x * x + HyperDual::constant(0.5)
}

macro_rules! functions {
    ($($name:literal: |$a:pat_param, $b:pat_param| $tensor:expr, $dual:expr;)*) => {
        &[$(Function { name: $name, tensor: |$a, $b| $tensor, dual: |$a, $b| $dual },)*]
    };
}

static FUNCTIONS: &[Function] = functions! {
    "add": |a, b| a + b, a + b;
    "sub": |a, b| a - b, a - b;
    "mul": |a, b| a * b, a * b;
    "div": |a, b| a / positive(b), a / positive_dual(b);
    "guarded_mul": |a, b| a.guarded_mul(b), a * b;
    "neg": |a, _| -a, -a;
    "recip": |a, _| positive(a).recip(), positive_dual(a).recip();
    "sqrt": |a, _| positive(a).sqrt(), positive_dual(a).sqrt();
    "exp": |a, _| a.exp(), a.exp();
    "log": |a, _| positive(a).log(), positive_dual(a).log();
    "sin": |a, _| a.sin(), a.sin();
    "cos": |a, _| a.cos(), a.cos();
    "tanh": |a, _| a.tanh(), a.tanh();
    "relu": |a, _| a.relu(), a.relu();
};

/// A scalar program of two inputs.
///
/// ```
/// use wengert_testkit::fuzz::Formula;
/// let formula = Formula::random(3, 8);
/// println!("{formula}");
/// formula.verify().unwrap();
/// ```
pub struct Formula {
    seed: u64,
    points: [Vec<f64>; 2],
    /// (function, operand, operand)
    steps: Vec<(usize, usize, usize)>,
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "formula of seed {}: v0, v1 = inputs", self.seed)?;
        for (number, (function, a, b)) in self.steps.iter().enumerate() {
            writeln!(f, "  v{} = sin({}(v{a}, v{b}))", number + 2, FUNCTIONS[*function].name)?;
        }
        Ok(())
    }
}

impl Formula {
    /// The formula of a seed.
    pub fn random(seed: u64, steps: usize) -> Formula {
        let mut random = Random::new(seed);
        let points = [random.reals(3), random.reals(3)];
        let step = |number: usize, random: &mut Random| {
            let known = number + 2;
            // Recent values are chosen more often, so that formulas are deep.
            let recent = |random: &mut Random| known - 1 - random.below(known.min(4));
            (random.below(FUNCTIONS.len()), recent(random), random.below(known))
        };
        let steps = (0..steps).map(|number| step(number, &mut random)).collect();
        Formula { seed, points, steps }
    }

    /// The names of the primitives it uses.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.steps.iter().map(|(function, _, _)| FUNCTIONS[*function].name)
    }

    fn run<T: Clone>(&self, inputs: [T; 2], apply: impl Fn(&Function, &T, &T) -> T) -> T {
        let mut values = inputs.to_vec();
        for (function, a, b) in &self.steps {
            let value = apply(&FUNCTIONS[*function], &values[*a], &values[*b]);
            values.push(value);
        }
        values.pop().expect("two inputs at least")
    }

    fn tensor(&self, x: &Pair) -> Tensor {
        self.run([x.0.clone(), x.1.clone()], |function, a, b| (function.tensor)(a, b).sin())
    }

    /// The value, both partial derivatives and one entry of the Hessian, at one point.
    fn dual(&self, point: usize, row: usize, column: usize) -> HyperDual {
        let input = |at: usize| HyperDual {
            value: self.points[at][point],
            first: f64::from(at == row),
            second: f64::from(at == column),
            both: 0.0,
        };
        self.run([input(0), input(1)], |function, &a, &b| (function.dual)(a, b).sin())
    }

    /// The value, the tangent and the partial derivative by input `row`, and the derivative of the latter by input `column`.
    fn derivatives(&self, x: &Pair, row: usize, column: usize) -> Vec<Tensor> {
        let side = |pair: &Pair, at: usize| if at == 0 { pair.0.clone() } else { pair.1.clone() };
        let one = |at: usize| side(x, at).full_like(f64::from(at == row));
        let slope = |x: &Pair| side(&grad(|x: &Pair| self.tensor(x).sum())(x), row);
        let (value, tangent) = jvp(|x: &Pair| self.tensor(x), x, &(one(0), one(1)));
        vec![value, tangent, slope(x), side(&grad(|x: &Pair| slope(x).sum())(x), column)]
    }

    /// Values, gradients and second derivatives equal those of hyper-dual numbers: for scalars, for several elements at once, and compiled.
    pub fn verify(&self) -> Result<(), String> {
        let whole = (Tensor::from(&self.points[0]), Tensor::from(&self.points[1]));
        for (row, column) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let together = self.derivatives(&whole, row, column);
            let compiled = compile(|x: &Pair| self.derivatives(x, row, column)).call(&whole);
            for point in 0..self.points[0].len() {
                let alone = self.derivatives(&(whole.0.slice(point), whole.1.slice(point)), row, column);
                let dual = self.dual(point, row, column);
                let right = [dual.value, dual.first, dual.first, dual.both];
                for (place, what) in ["value", "tangent", "slope", "second derivative"].into_iter().enumerate() {
                    let numbers = [
                        ("alone", alone[place].item()),
                        ("together", together[place].slice(point).item()),
                        ("compiled", compiled[place].slice(point).item()),
                    ];
                    let right = right[place];
                    let far = |number: f64| (number - right).abs() > 1e-9 * right.abs().max(1.0);
                    if let Some((how, number)) = numbers.into_iter().find(|(_, number)| far(*number)) {
                        let of = format!("{what} by inputs {row}, {column} at point {point}");
                        return Err(format!("{self}{how}, the {of} is {number:?}, should be {right:?}"));
                    }
                }
            }
        }
        Ok(())
    }
}

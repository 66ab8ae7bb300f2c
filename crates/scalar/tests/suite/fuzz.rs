//! Random scalar functions: tape, dual numbers, replay, machine code and lanes agree, at singular points too.
//!
//! `WENGERT_FUZZ=100000 cargo test --release -p wengert-scalar --test suite fuzz -- --nocapture` tries that many. The permitted differences
//! are listed in the guide ("Conventions"), and are counted here by row.

use std::collections::BTreeMap;
use std::fmt;
use wengert_scalar::{Dual, Real, Replay, Symbol, Var, gradient};

/// The number of functions to try.
fn functions(usual: u64) -> u64 {
    let asked = std::env::var("WENGERT_FUZZ").ok();
    asked.map_or(usual, |number| number.parse().expect("WENGERT_FUZZ is a number of functions"))
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number that is often a special value.
    fn number(&mut self) -> f64 {
        const SPECIAL: [f64; 14] =
            [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1e-160, 1e160, 800.0, -800.0, 1e-320, f64::INFINITY, -f64::INFINITY];
        match self.below(3) {
            0 => SPECIAL[self.below(SPECIAL.len())],
            1 => 4.0 * self.unit() - 2.0,
            _ => (self.below(9) as f64 - 4.0) * 0.5,
        }
    }
}

macro_rules! all_functions {
    ($($(#[doc = $doc:literal])* $name:ident $NAME:ident $real:ident { $($row:tt)* })*) => {
        /// The functions of one argument, and some more.
        const UNARY: &[&str] = &[$(stringify!($real),)* "recip", "signum", "floor", "ceil", "round", "powi 3", "powi -2", "neg"];

        fn unary<T: Real>(name: &str, x: T) -> T {
            match name {
                $(stringify!($real) => Real::$real(x),)*
                "recip" => x.recip(),
                "signum" => x.signum(),
                "floor" => x.floor(),
                "ceil" => x.ceil(),
                "round" => x.round(),
                "powi 3" => x.powi(3),
                "powi -2" => x.powi(-2),
                "neg" => -x,
                _ => unreachable!("{name}"),
            }
        }
    };
}
wengert_kernels::functions!(all_functions);

const BINARY: &[&str] = &["+", "-", "*", "/", "+", "-", "*", "/", "powf", "atan2", "hypot", "max", "min"];

fn binary<T: Real>(name: &str, x: T, y: T) -> T {
    match name {
        "+" => x + y,
        "-" => x - y,
        "*" => x * y,
        "/" => x / y,
        "powf" => x.powf(y),
        "atan2" => x.atan2(y),
        "hypot" => x.hypot(y),
        "max" => x.max(y),
        "min" => x.min(y),
        _ => unreachable!("{name}"),
    }
}

/// A step; integers are indices of earlier results.
#[derive(Clone, Debug)]
enum Step {
    Unary(&'static str, usize),
    Binary(&'static str, usize, usize),
    /// An operation with a constant, on the right or on the left.
    Right(&'static str, usize, f64),
    Left(&'static str, f64, usize),
    /// The first step where x > y, else the second.
    Branch(usize, usize, Box<[Step; 2]>),
    /// A sum of terms, of which some cancel.
    Sum(Vec<(bool, usize)>),
    /// x / 2 + f(y k) for every iteration k, and something else in one of them.
    Loop {
        trips: usize,
        other: usize,
        f: &'static str,
        x: usize,
        y: usize,
    },
    MulAdd(usize, usize, usize),
    Norm(usize, usize, usize),
}

struct Function {
    seed: u64,
    point: [f64; 3],
    steps: Vec<Step>,
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "function of seed {} at {:?}", self.seed, self.point)?;
        let mut values = self.point.to_vec();
        for (number, step) in self.steps.iter().enumerate() {
            let value = step.of(&mut |place| values[place]);
            writeln!(f, "  v{} = {step:?} = {value:?}", number + 3)?;
            values.push(value);
        }
        Ok(())
    }
}

impl Step {
    fn random(random: &mut Random, known: usize) -> Step {
        let recent = |random: &mut Random| known - 1 - random.below(known.min(3));
        let any = |random: &mut Random| random.below(known);
        let one = |random: &mut Random| UNARY[random.below(UNARY.len())];
        let two = |random: &mut Random| BINARY[random.below(BINARY.len())];
        match random.below(16) {
            0..=4 => Step::Unary(one(random), recent(random)),
            5..=8 => Step::Binary(two(random), recent(random), any(random)),
            9 => Step::Right(two(random), recent(random), random.number()),
            10 => Step::Left(two(random), random.number(), recent(random)),
            11 => {
                let sides =
                    [Step::Unary(one(random), recent(random)), Step::Binary(two(random), recent(random), any(random))];
                Step::Branch(any(random), any(random), Box::new(sides))
            }
            12 => {
                let mut terms: Vec<(bool, usize)> = (0..3).map(|_| (random.below(2) == 0, any(random))).collect();
                terms.push((!terms[0].0, terms[0].1));
                Step::Sum(terms)
            }
            13 => {
                let trips = 4 + random.below(12);
                Step::Loop { trips, other: random.below(2 * trips), f: one(random), x: recent(random), y: any(random) }
            }
            14 => Step::MulAdd(recent(random), any(random), any(random)),
            _ => Step::Norm(recent(random), any(random), any(random)),
        }
    }

    /// The result, from the values that `v` returns for the indices read.
    fn of<T: Real>(&self, v: &mut dyn FnMut(usize) -> T) -> T {
        match self {
            Step::Unary(name, x) => unary(name, v(*x)),
            Step::Binary(name, x, y) => binary(name, v(*x), v(*y)),
            Step::Right(name, x, c) => binary(name, v(*x), T::lit(*c)),
            Step::Left(name, c, x) => binary(name, T::lit(*c), v(*x)),
            Step::Branch(x, y, sides) => (if v(*x) > v(*y) { &sides[0] } else { &sides[1] }).of(v),
            Step::Sum(terms) => terms.iter().fold(T::lit(0.0), |sum, (plus, x)| match plus {
                true => sum + v(*x),
                false => sum - v(*x),
            }),
            Step::Loop { trips, other, f, x, y } => {
                let mut state = v(*x);
                for k in 0..*trips {
                    let term = unary(f, v(*y) * T::lit(0.25 * (k as f64 + 1.0)));
                    state = state * T::lit(0.5) + if k == *other { term * term } else { term };
                }
                state
            }
            Step::MulAdd(x, a, b) => v(*x).mul_add(v(*a), v(*b)),
            Step::Norm(x, y, z) => T::norm(&[v(*x), v(*y), v(*z)]),
        }
    }
}

/// The results of each method, by name.
type Found = Vec<(&'static str, Vec<f64>)>;

impl Function {
    fn random(seed: u64) -> Function {
        let mut random = Random(seed);
        let point = [(); 3].map(|()| random.number());
        let count = 1 + random.below(8);
        let steps = (0..count).map(|number| Step::random(&mut random, number + 3)).collect();
        Function { seed, point, steps }
    }

    fn of<T: Real>(&self, x: &[T]) -> T {
        self.read(x, |value| value)
    }

    /// Evaluates the program, passing every value that is read through `read`.
    fn read<T: Real>(&self, x: &[T], mut read: impl FnMut(T) -> T) -> T {
        let mut values = x.to_vec();
        for step in &self.steps {
            let value = step.of(&mut |place| read(values[place]));
            values.push(value);
        }
        read(values[values.len() - 1])
    }

    /// The row of the guide that permits tape and replay to differ in reverse mode, if there is one.
    fn exception(&self) -> Option<&'static str> {
        let mut values = self.point.to_vec();
        let is_infinite_norm = self.steps.iter().any(|step| {
            let value = step.of(&mut |place| values[place]);
            values.push(value);
            matches!(step, Step::Norm(..)) && value == f64::INFINITY
        });
        let is_of_itself = |step: &Step| match step {
            Step::Binary(name, x, y) => x == y && !["+", "-", "*"].contains(name),
            Step::MulAdd(x, a, b) => a == b || x == b,
            _ => false,
        };
        let meets_itself = self.steps.iter().any(|step| match step {
            Step::Branch(_, _, sides) => is_of_itself(&sides[1]),
            step => is_of_itself(step),
        });
        match (is_infinite_norm, meets_itself, values.into_iter().any(is_far)) {
            (true, _, _) => Some("norm with an infinite part"),
            (_, true, _) => Some("a number combined with itself"),
            (_, _, true) => Some("slopes beyond floats"),
            _ => None,
        }
    }

    fn replay(&self) -> Replay<impl Fn(&[Symbol]) -> Symbol + '_> {
        Replay::record(|x: &[Symbol]| self.of(x), &self.point)
    }

    fn values(&self) -> Found {
        let mut slopes = [0.0; 3];
        let replay = self.replay();
        let replays: Vec<f64> = (0..4).map(|_| replay.value_and_grad(&self.point, &mut slopes)).collect();
        let (mut lanes, mut all) = ([0.0; 12], [0.0; 36]);
        replay.values_and_grads(&self.point.repeat(12), &mut lanes, &mut all);
        vec![
            ("plain", vec![self.of(&self.point)]),
            ("tape", vec![gradient(|x: &[Var]| self.of(x), &self.point, &mut slopes)]),
            ("dual", vec![self.of(&[0, 1, 2].map(|i| Dual::<f64, 3>::variable(self.point[i], i))).to_f64()]),
            ("replay", vec![replays[0]]),
            ("machine code", vec![replays[3]]),
            ("lanes", vec![lanes[7]]),
        ]
    }

    fn backward(&self) -> Found {
        let mut tape = [0.0; 3];
        gradient(|x: &[Var]| self.of(x), &self.point, &mut tape);
        let replay = self.replay();
        let replays: Vec<[f64; 3]> = (0..4)
            .map(|_| {
                let mut slopes = [0.0; 3];
                replay.value_and_grad(&self.point, &mut slopes);
                slopes
            })
            .collect();
        let (mut values, mut lanes) = ([0.0; 12], [0.0; 36]);
        replay.values_and_grads(&self.point.repeat(12), &mut values, &mut lanes);
        vec![
            ("tape", tape.into()),
            ("replay", replays[0].into()),
            ("machine code", replays[3].into()),
            ("lanes", lanes[21..24].into()),
        ]
    }

    fn forward(&self) -> Found {
        let three = self.of(&[0, 1, 2].map(|i| Dual::<f64, 3>::variable(self.point[i], i)));
        let along = |direction: usize| {
            let x = [0, 1, 2].map(|i| match i == direction {
                true => Dual::<f64, 1>::variable(self.point[i], 0),
                false => Dual::lit(self.point[i]),
            });
            self.of(&x).tangents()[0]
        };
        let replay = self.replay();
        let mut pushed = |i: usize| {
            let (mut direction, mut tangent) = ([0.0; 3], [0.0]);
            direction[i] = 1.0;
            replay.jvp(&self.point, &direction, &mut tangent);
            tangent[0]
        };
        let pushes: Vec<Vec<f64>> = (0..4).map(|_| (0..3).map(&mut pushed).collect()).collect();
        vec![
            ("dual", three.tangents().to_vec()),
            ("duals one by one", (0..3).map(along).collect()),
            ("replay, pushed", pushes[0].clone()),
            ("machine code, pushed", pushes[3].clone()),
        ]
    }

    /// Rows of the Hessian times (1, 2, -1).
    fn second(&self) -> Found {
        const V: [f64; 3] = [1.0, 2.0, -1.0];
        let nested = self.of(&[0, 1, 2].map(|i| self.nested(i)));
        let mut over_tape = [0.0; 3];
        let along = |x: &[Var]| {
            let x = [0, 1, 2].map(|i| Dual::<Var, 1>::new(x[i], [Var::from(V[i])]));
            self.of(&x).tangents()[0]
        };
        gradient(along, &self.point, &mut over_tape);
        let replay = self.replay();
        let products: Vec<[f64; 3]> = (0..4)
            .map(|_| {
                let mut product = [0.0; 3];
                replay.hvp(&self.point, &V, &mut product);
                product
            })
            .collect();
        vec![
            ("duals on the tape", over_tape.into()),
            ("replay, second", products[0].into()),
            ("machine code, second", products[3].into()),
            ("duals of duals", nested.tangents()[0].tangents().to_vec()),
        ]
    }

    fn nested(&self, i: usize) -> Dual<Dual<f64, 3>, 1> {
        const V: [f64; 3] = [1.0, 2.0, -1.0];
        Dual::new(Dual::variable(self.point[i], i), [Dual::lit(V[i])])
    }

    /// How much first and second derivatives change if every value that is read has a relative error of 1e-13; and whether all intermediate
    /// values, tangents and slopes are finite.
    fn errors(&self) -> ([f64; 3], [f64; 3], bool) {
        let mut random = Random(self.seed ^ 0xfeed);
        let point = [0, 1, 2].map(|i| self.nested(i));
        let (exact, mut are_finite) = (self.of(&point), self.has_finite_slopes());
        let (mut first, mut second, mut most) = ([0.0f64; 3], [0.0f64; 3], 0.0f64);
        for _ in 0..4 {
            let mut err = |x: f64| x * (1.0 + 1e-13 * (2.0 * random.unit() - 1.0));
            let moved = self.read(&point, |value| {
                let (inner, outer) = (value.value(), value.tangents()[0]);
                are_finite &= is_near(inner) && is_near(outer);
                most = inner.tangents().iter().fold(most, |most, tangent| most.max(tangent.abs()));
                Dual::new(
                    Dual::new(inner.to_f64(), inner.tangents().map(&mut err)),
                    [Dual::new(err(outer.to_f64()), outer.tangents().map(&mut err))],
                )
            });
            let difference = |a: &[f64; 3], b: &[f64; 3], most: &mut [f64; 3]| {
                (0..3).for_each(|i| most[i] = most[i].max((a[i] - b[i]).abs()));
            };
            difference(moved.value().tangents(), exact.value().tangents(), &mut first);
            difference(moved.tangents()[0].tangents(), exact.tangents()[0].tangents(), &mut second);
        }
        // Cancellation inside a step is not visible from outside.
        (first, second.map(|error| error + 1e-15 * most * most), are_finite)
    }

    /// Whether every step has finite first and second derivatives by what it reads, including values that are constant here.
    fn has_finite_slopes(&self) -> bool {
        let mut values = self.point.to_vec();
        self.steps.iter().all(|step| {
            let probe = step.of(&mut |place| {
                let tangent = 1.0 + 0.37 * place as f64;
                Dual::<Dual<f64, 3>, 1>::new(Dual::new(values[place], [tangent; 3]), [Dual::lit(tangent)])
            });
            values.push(probe.to_f64());
            is_near(probe.value()) && is_near(probe.tangents()[0])
        })
    }
}

/// Whether all components are finite and none is so large or small that products overflow or underflow.
fn is_near(dual: Dual<f64, 3>) -> bool {
    let mut parts = dual.tangents().iter().copied().chain([dual.value()]);
    parts.all(|part| part.is_finite() && !is_far(part))
}

/// Whether a number is neither 0 nor infinite, but close to one of them.
fn is_far(x: f64) -> bool {
    x.is_finite() && x != 0.0 && !(1e-75..1e75).contains(&x.abs())
}

/// Whether numbers are equal up to rounding, given other numbers as large as `scale`.
fn agree(a: f64, b: f64, error: f64, scale: f64) -> bool {
    a == b
        || a.is_nan() && b.is_nan()
        || a.is_finite() && b.is_finite() && (a - b).abs() <= 1000.0 * error + 1e-12 * scale + 1e-150
}

fn differences(found: &Found, errors: &[f64]) -> Option<String> {
    let (_, right) = &found[0];
    let finite = right.iter().filter(|number| number.is_finite());
    let scale = finite.fold(0.0f64, |scale, number| scale.max(number.abs()));
    let differs = |numbers: &Vec<f64>| (0..right.len()).any(|i| !agree(right[i], numbers[i], errors[i], scale));
    found.iter().any(|(_, numbers)| differs(numbers)).then(|| format!("{found:?}"))
}

/// Whether rounding alone makes a derivative 0 in one mode and not in another: multiplied by an infinite slope they are far apart.
fn cancels(found: &Found) -> bool {
    let near_zero = |i: usize| found.iter().all(|(_, numbers)| numbers[i].abs() < 1e-12);
    (0..found[0].1.len()).any(|i| near_zero(i) && found.iter().any(|(_, numbers)| numbers[i] != found[0].1[i]))
}

#[test]
fn all_kinds_of_numbers_agree_on_random_functions() {
    let count = functions(2000);
    let (mut rows, mut failures) = (BTreeMap::<String, u64>::new(), Vec::new());
    for seed in 0..count {
        let function = Function::random(seed);
        let (first, second, are_finite) = function.errors();
        let (forward, backward) = (function.forward(), function.backward());
        let both = vec![forward[0].clone(), backward[0].clone()];
        let not_finite = (!are_finite).then_some("beside numbers that are not finite");
        let cancelling = cancels(&backward).then_some("a sum that cancels but for rounding");
        let exception = function.exception().or(cancelling);
        let groups = [
            ("values", function.values(), &[0.0; 3], None),
            ("forward", forward, &first, None),
            ("backward", backward, &first, exception),
            ("forward and backward", both, &first, not_finite),
            ("second order", function.second(), &second, not_finite),
        ];
        for (name, found, errors, exception) in &groups {
            let row = match (differences(found, *errors), exception) {
                (None, _) => format!("{name} equal"),
                (Some(_), Some(exception)) => format!("{name} different: {exception}"),
                (Some(text), None) => {
                    failures.push(format!("{name}: {text}\n{function}"));
                    continue;
                }
            };
            *rows.entry(row).or_default() += 1;
        }
    }
    let shown: String = rows.iter().map(|(row, count)| format!("  {row}: {count}\n")).collect();
    println!("{count} functions, {} unexplained differences\n{shown}", failures.len());
    let shown: String = failures.iter().take(12).map(|text| format!("{text}\n")).collect();
    assert!(failures.is_empty(), "{} differences, the first:\n{shown}", failures.len());
}

//! L-BFGS: a quasi-Newton method for smooth functions without noise.

use crate::prelude::*;

/// Constants of the strong Wolfe conditions.
const DECREASE: f64 = 1e-4;
const CURVATURE: f64 = 0.9;
/// The most evaluations of one line search.
const SEARCH: usize = 25;

/// L-BFGS with a line search that meets the strong Wolfe conditions.
///
/// Unlike a [`Rule`](super::Rule), a step evaluates the function several times, so it takes the function instead of a gradient.
///
/// ```
/// use wengert::nn::optimise::Lbfgs;
/// use wengert::prelude::*;
/// let rosenbrock = |p: &Tensor| {
///     let (x, y) = (p.slice(0), p.slice(1));
///     (1.0 - &x).square() + (y - x.square()).square() * 100.0
/// };
/// let mut p = Tensor::from([-1.2, 1.0]);
/// let result = Lbfgs::new().minimise(&mut p, value_and_grad(rosenbrock));
/// assert!(result.has_converged && p.all_close(&Tensor::ones([2]), 1e-6), "{result:?} {p}");
/// ```
#[derive(Clone, Debug)]
pub struct Lbfgs {
    history: usize,
    iterations: usize,
    gradient_tolerance: f64,
    change_tolerance: f64,
}

/// How a minimisation ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimum {
    /// The last value of the function.
    pub value: f64,
    /// The number of steps.
    pub iterations: usize,
    /// The number of evaluations of the function and its gradient.
    pub evaluations: usize,
    /// Whether the gradient, or the change of value and parameters, is below its tolerance.
    pub has_converged: bool,
}

/// The memory of L-BFGS: the last steps and changes of the gradient, as vectors over all parameters. What it does not know yet is zeros, so
/// that it has the same leaves after every step and can be loaded from a file.
#[derive(Clone, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct LbfgsMemory {
    steps: Vec<Tensor>,
    changes: Vec<Tensor>,
    /// The value at the current parameters, NaN if it is not known.
    value: Tensor,
    /// The gradient there.
    gradient: Tensor,
}

impl Default for Lbfgs {
    fn default() -> Lbfgs {
        Lbfgs::new()
    }
}

impl Lbfgs {
    /// The last 10 steps are remembered; at most 1000 steps.
    pub fn new() -> Lbfgs {
        Lbfgs { history: 10, iterations: 1000, gradient_tolerance: 1e-8, change_tolerance: 1e-14 }
    }

    /// The number of steps that are remembered.
    #[must_use]
    pub fn history(self, steps: usize) -> Lbfgs {
        Lbfgs { history: steps.max(1), ..self }
    }

    /// The most steps of [`minimise`](Lbfgs::minimise).
    #[must_use]
    pub fn iterations(self, most: usize) -> Lbfgs {
        Lbfgs { iterations: most, ..self }
    }

    /// The largest element of the gradient at which it stops (default 1e-8).
    #[must_use]
    pub fn gradient_tolerance(self, tolerance: f64) -> Lbfgs {
        Lbfgs { gradient_tolerance: tolerance, ..self }
    }

    /// Minimises a function, given as one of value and gradient such as `value_and_grad(f)` or a compiled one.
    #[track_caller]
    pub fn minimise<P: Tree>(&self, parameters: &mut P, f: impl Fn(&P) -> (Tensor, P)) -> Minimum {
        let _scope = primitive::scope(Line::caller());
        let mut memory = self.start(parameters);
        let mut minimum = Minimum { value: f64::INFINITY, iterations: 0, evaluations: 0, has_converged: false };
        while minimum.iterations < self.iterations && !minimum.has_converged {
            let before = minimum.value;
            let (value, evaluations, largest, moved) = self.advance(parameters, &f, &mut memory);
            minimum.evaluations += evaluations;
            minimum.iterations += 1;
            minimum.value = value;
            let has_stalled = (before - value).abs() <= self.change_tolerance * value.abs().max(1e-300) || !moved;
            minimum.has_converged = largest <= self.gradient_tolerance || (has_stalled && before.is_finite());
            let is_stuck = !moved && largest > self.gradient_tolerance && memory.is_new();
            if is_stuck || value.is_nan() || largest.is_nan() {
                minimum.has_converged = false;
                break;
            }
        }
        if self.iterations == 0 {
            (minimum.value, minimum.evaluations) = (f(parameters).0.item(), 1);
        }
        minimum
    }

    /// The memory before the first step.
    ///
    /// ```
    /// use wengert::nn::optimise::Lbfgs;
    /// use wengert::prelude::*;
    /// let (lbfgs, mut p) = (Lbfgs::new().history(2), Tensor::from([3.0, -4.0]));
    /// let mut memory = lbfgs.start(&p);
    /// let bowl = value_and_grad(|p: &Tensor| p.square().sum());
    /// lbfgs.step(&mut p, &bowl, &mut memory);
    /// assert!(lbfgs.step(&mut p, &bowl, &mut memory) < 1e-20);
    /// ```
    pub fn start(&self, parameters: &impl Tree) -> LbfgsMemory {
        let zeros = flattened(parameters).zeros_like();
        let vectors = vec![zeros.clone(); self.history];
        LbfgsMemory { steps: vectors.clone(), changes: vectors, value: Tensor::from(f64::NAN), gradient: zeros }
    }

    /// One step; returns the value of the function after it. It is evaluated at the beginning too: parameters or data may have changed since
    /// the last step.
    #[track_caller]
    pub fn step<P: Tree>(&self, parameters: &mut P, f: impl Fn(&P) -> (Tensor, P), memory: &mut LbfgsMemory) -> f64 {
        let _scope = primitive::scope(Line::caller());
        memory.value = Tensor::from(f64::NAN);
        self.advance(parameters, &f, memory).0
    }

    /// One step: the value, the number of evaluations, the largest element of the gradient, and whether the parameters moved.
    fn advance<P: Tree>(
        &self,
        parameters: &mut P,
        f: &impl Fn(&P) -> (Tensor, P),
        memory: &mut LbfgsMemory,
    ) -> (f64, usize, f64, bool) {
        let evaluate = |x: &Tensor, like: &P| {
            let (value, gradient) = f(&unflattened(like, x));
            (value.item(), flattened(&gradient))
        };
        let x = flattened(parameters);
        let (value, gradient, mut evaluations) = match memory.value.item() {
            value if value.is_nan() => {
                let (value, gradient) = evaluate(&x, parameters);
                (value, gradient, 1)
            }
            value => (value, memory.gradient.clone(), 0),
        };
        let mut direction = -memory.preconditioned(&gradient);
        let mut slope = dot(&direction, &gradient);
        if slope >= 0.0 || !slope.is_finite() {
            memory.forget();
            direction = -&gradient;
            slope = -dot(&gradient, &gradient);
        }
        let first = if memory.is_new() { (1.0 / norm(&gradient).max(1e-300)).min(1.0) } else { 1.0 };
        let along = |length: f64| {
            let (value, gradient) = evaluate(&(&x + &direction * length), parameters);
            let slope = dot(&gradient, &direction);
            Point { length, value, slope, gradient }
        };
        let start = Point { length: 0.0, value, slope, gradient: gradient.clone() };
        let (found, calls) = search(along, start, first);
        evaluations += calls;
        let moved = found.length > 0.0;
        let step = &direction * found.length;
        let change = &found.gradient - &gradient;
        if dot(&step, &change) > 1e-10 * dot(&change, &change).max(1e-300) * 1e-6 && moved {
            memory.remember(step.clone(), change);
        }
        if moved {
            *parameters = unflattened(parameters, &(x + step));
        }
        let largest = found.gradient.abs().max().item();
        let value = found.value;
        (memory.value, memory.gradient) = (Tensor::from(value), found.gradient);
        (value, evaluations, largest, moved)
    }
}

impl LbfgsMemory {
    /// Whether no step is known.
    fn is_new(&self) -> bool {
        self.pairs().next().is_none()
    }

    /// Takes the oldest step away and adds a new one.
    fn remember(&mut self, step: Tensor, change: Tensor) {
        for (all, new) in [(&mut self.steps, step), (&mut self.changes, change)] {
            all.remove(0);
            all.push(new);
        }
    }

    fn forget(&mut self) {
        for vector in self.steps.iter_mut().chain(&mut self.changes) {
            *vector = vector.zeros_like();
        }
    }

    /// The known steps and changes, the oldest first, with the reciprocals of their products.
    fn pairs(&self) -> impl Iterator<Item = (&Tensor, &Tensor, f64)> {
        let pairs = self.steps.iter().zip(&self.changes).map(|(s, y)| (s, y, dot(s, y)));
        pairs.filter(|(.., product)| *product != 0.0).map(|(s, y, product)| (s, y, 1.0 / product))
    }

    /// The inverse Hessian, as far as the history knows it, times a gradient: the two-loop recursion.
    fn preconditioned(&self, gradient: &Tensor) -> Tensor {
        let pairs: Vec<_> = self.pairs().collect();
        let mut q = gradient.clone();
        let mut factors = Vec::new();
        for (s, y, rho) in pairs.iter().rev() {
            let factor = rho * dot(s, &q);
            q.combine_assign(1.0, *y, -factor);
            factors.push(factor);
        }
        if let Some((s, y, _)) = pairs.last() {
            q *= dot(s, y) / dot(y, y);
        }
        for ((s, y, rho), factor) in pairs.iter().zip(factors.into_iter().rev()) {
            let back = rho * dot(y, &q);
            q.combine_assign(1.0, *s, factor - back);
        }
        q
    }
}

/// A point of a line search.
#[derive(Clone)]
struct Point {
    length: f64,
    value: f64,
    /// The derivative along the line.
    slope: f64,
    gradient: Tensor,
}

/// A point that meets the strong Wolfe conditions, or the best one that was found, and the number of evaluations.
fn search(along: impl Fn(f64) -> Point, start: Point, first: f64) -> (Point, usize) {
    let is_low = |point: &Point| point.value <= start.value + DECREASE * point.length * start.slope;
    let is_flat = |point: &Point| point.slope.abs() <= -CURVATURE * start.slope;
    let mut previous = start.clone();
    let mut length = first;
    let mut calls = 0;
    // Longer and longer steps, until a minimum lies between two of them.
    let (mut low, mut high) = loop {
        if calls == SEARCH {
            return (if previous.value < start.value { previous } else { start }, calls);
        }
        let point = along(length);
        calls += 1;
        if !point.value.is_finite() {
            length = 0.5 * (previous.length + length);
            continue;
        }
        if !is_low(&point) || (calls > 1 && point.value >= previous.value) {
            break (previous, point);
        }
        if is_flat(&point) {
            return (point, calls);
        }
        if point.slope >= 0.0 {
            break (point, previous);
        }
        length = 2.0 * point.length;
        previous = point;
    };
    // The minimum between them, by cubic interpolation.
    while calls < SEARCH {
        let width = (high.length - low.length).abs();
        if width <= 1e-14 * low.length.max(1e-14) {
            break;
        }
        let point = along(between(&low, &high));
        calls += 1;
        if !is_low(&point) || point.value >= low.value || !point.value.is_finite() {
            high = point;
            continue;
        }
        if is_flat(&point) {
            return (point, calls);
        }
        if point.slope * (high.length - low.length) >= 0.0 {
            high = low;
        }
        low = point;
    }
    (if low.value <= start.value { low } else { start }, calls)
}

/// The minimum of the cubic through two points with their slopes, kept away from both.
fn between(a: &Point, b: &Point) -> f64 {
    let (from, to) = (a.length.min(b.length), a.length.max(b.length));
    let d1 = a.slope + b.slope - 3.0 * (a.value - b.value) / (a.length - b.length);
    let square = d1 * d1 - a.slope * b.slope;
    let d2 = square.max(0.0).sqrt() * (b.length - a.length).signum();
    let minimum = b.length - (b.length - a.length) * (b.slope + d2 - d1) / (b.slope - a.slope + 2.0 * d2);
    let margin = 0.1 * (to - from);
    if square >= 0.0 && minimum.is_finite() { minimum.clamp(from + margin, to - margin) } else { 0.5 * (from + to) }
}

fn dot(a: &Tensor, b: &Tensor) -> f64 {
    (a * b).sum().item()
}

fn norm(a: &Tensor) -> f64 {
    dot(a, a).sqrt()
}

/// All float leaves that are trained, as one vector of f64.
fn flattened(tree: &impl Tree) -> Tensor {
    let mut parts = Vec::new();
    tree.visit(&mut TreePath::root(), &mut |path, leaf| {
        if super::memory::is_trained(path, leaf) {
            parts.push(leaf.detach().reshape([leaf.elements()]).cast(DType::F64));
        }
    });
    Tensor::concat(&parts.iter().collect::<Vec<_>>(), 0)
}

/// The tree with the numbers of a vector.
fn unflattened<P: Tree>(tree: &P, vector: &Tensor) -> P {
    let mut start = 0;
    tree.map(&mut TreePath::root(), &mut |path, leaf| {
        if !super::memory::is_trained(path, leaf) {
            return leaf.clone();
        }
        let end = start + leaf.elements();
        let part = vector.slice(start..end).reshape(leaf.shape()).cast(leaf.dtype());
        start = end;
        part
    })
}

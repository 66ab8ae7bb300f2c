//! Checks derivatives: compares reverse and forward mode with finite differences.

use crate::autograd::no_grad;
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::methods::*;
use crate::{DType, Error, ErrorKind, Tensor, Tree, TreePath};
use crate::{jvp, vjp};
use std::fmt;

/// Compares the derivatives of `f` at `x`, in reverse and in forward mode, with finite differences.
///
/// Every element of every real leaf of `x` is perturbed in turn, so `x` should be small; [`GradCheck`] has options.
///
/// ```
/// use wengert::prelude::*;
/// let f = |(w, x): &(Tensor, Tensor)| w.matmul(x).tanh();
/// let x = (Tensor::from([[0.1, -0.4], [0.7, 0.2]]), Tensor::from([0.5, -0.3]));
/// let report = gradcheck(f, &x).unwrap();
/// assert_eq!(report.checked(), 12); // six numbers, two modes
/// ```
///
/// # Errors
/// Returns the report if a derivative differs where `f` is smooth. It prints as a table of the differences.
///
/// # Panics
/// If a real input or output is not f64, or if `f` gives different results for the same `x`.
#[track_caller]
pub fn gradcheck<X: Tree, Y: Tree>(f: impl Fn(&X) -> Y, x: &X) -> Result<GradReport, GradMismatch> {
    GradCheck::new().run(f, x)
}

/// Options for [`gradcheck`].
///
/// ```
/// use wengert::prelude::*;
/// let f = |x: &Tensor| (x.exp() * x).sum();
/// let report = GradCheck::new().second_order().tolerance(1e-7).run(f, &Tensor::from([0.2, -1.0])).unwrap();
/// assert_eq!(report.checked(), 8); // two numbers, two modes, two orders
/// assert!(report.largest_error() < 1e-7);
/// ```
#[derive(Clone, Debug)]
pub struct GradCheck {
    tolerance: f64,
    step: f64,
    second_order: bool,
    elements: usize,
    reverse: bool,
    forward: bool,
}

impl Default for GradCheck {
    fn default() -> GradCheck {
        GradCheck {
            tolerance: 1e-6,
            step: 1e-4,
            second_order: false,
            elements: usize::MAX,
            reverse: true,
            forward: true,
        }
    }
}

impl GradCheck {
    /// The default options: first derivatives in both modes, to six digits, for every element.
    pub fn new() -> GradCheck {
        GradCheck::default()
    }

    /// Also compares the derivatives of the gradient.
    pub fn second_order(mut self) -> GradCheck {
        self.second_order = true;
        self
    }

    /// The tolerance of a derivative, relative to the larger of 1 and its magnitude.
    pub fn tolerance(mut self, tolerance: f64) -> GradCheck {
        self.tolerance = tolerance;
        self
    }

    /// The step of the finite difference, relative to the larger of 1 and the magnitude of the element.
    pub fn step(mut self, step: f64) -> GradCheck {
        self.step = step;
        self
    }

    /// Checks at most this many elements of each leaf, evenly spread.
    pub fn elements(mut self, count: usize) -> GradCheck {
        self.elements = count.max(1);
        self
    }

    /// Skips forward mode, for operations without a `jvp` rule.
    pub fn reverse_only(mut self) -> GradCheck {
        (self.reverse, self.forward) = (true, false);
        self
    }

    /// Skips reverse mode, for operations without a `vjp` rule.
    pub fn forward_only(mut self) -> GradCheck {
        (self.reverse, self.forward) = (false, true);
        self
    }

    /// Compares the derivatives of `f` at `x`; [`gradcheck`] describes the result.
    #[track_caller]
    pub fn run<X: Tree, Y: Tree>(&self, f: impl Fn(&X) -> Y, x: &X) -> Result<GradReport, GradMismatch> {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        let x = x.map_leaves(Tensor::detach);
        let mut report = GradReport { rows: Vec::new(), checked: 0, largest_error: 0.0 };
        let compared = self.compare(Order::First, &f, &x, &mut report).and_then(|()| match self.second_order {
            true => self.compare(Order::Second, &|x: &X| weighted_gradient(&f, x), &x, &mut report),
            false => Ok(()),
        });
        compared.map_err(|error| error.at(line)).or_raise();
        if report.wrong().next().is_none() { Ok(report) } else { Err(GradMismatch(report)) }
    }

    /// The rows of the table for `f`. Each row perturbs one element of `x` and observes the weighted sum of one leaf of the output.
    fn compare<X: Tree, Y: Tree>(
        &self,
        order: Order,
        f: &dyn Fn(&X) -> Y,
        x: &X,
        report: &mut GradReport,
    ) -> Result<(), Error> {
        expect_f64("the input", x)?;
        let y = no_grad(|| f(x));
        expect_f64("the output", &y)?;
        let outputs: Vec<String> = real_leaves(&y).map(|(_, path, _)| order.output_name(&path)).collect();
        let center = weighted(&y);
        if no_grad(|| weighted(&f(x))).iter().zip(&center).any(|(again, first)| again.to_bits() != first.to_bits()) {
            let message = "two calls with the same input gave different numbers";
            return Err(Error::new(ErrorKind::Argument, "gradcheck", message)
                .help("make the function depend on its input alone: pass random keys in, keep no state"));
        }
        let pulled = if self.reverse { self.pulled_back(f, x, &y) } else { Vec::new() };

        for (position, path, leaf) in real_leaves(x) {
            let numbers = leaf.to_f64_vec();
            for element in self.chosen(numbers.len()) {
                let h = self.step * numbers[element].abs().max(1.0);
                let at = |t: f64| no_grad(|| weighted(&f(&moved(x, position, element, t))));
                let around = |h: f64| (h, [at(-h), at(-h / 2.0), at(h / 2.0), at(h)]);
                let mut all = vec![around(h)];
                let pushed = self.forward.then(|| {
                    let direction = moved(&x.map_leaves(|leaf| leaf.full_like(0.0)), position, element, 1.0);
                    weighted(&jvp(f, x, &direction).1)
                });
                for (k, output) in outputs.iter().enumerate() {
                    let reverse = pulled.get(k).map(|gradient| gradient[position][element]);
                    let modes = [(Mode::Reverse, reverse), (Mode::Forward, pushed.as_ref().map(|pushed| pushed[k]))];
                    for (mode, analytic) in modes.into_iter().filter_map(|(mode, found)| Some((mode, found?))) {
                        let input = element_name(&path, leaf.shape(), element);
                        let mut local = Local::of(&all[0], &center, k);
                        // The function may be smooth on a smaller scale only, as 1/x near 0 is.
                        for finer in 1..=FINER {
                            let error = (analytic - local.slope()).abs();
                            if local.agrees(analytic, self.tolerance) || local.fault(error) != GradFault::Wrong {
                                break;
                            }
                            if all.len() == finer {
                                all.push(around(h * FINER_STEP.powi(finer as i32)));
                            }
                            let found = Local::of(&all[finer], &center, k);
                            if found.is_precise(self.tolerance) && found.agrees(analytic, self.tolerance) {
                                local = found;
                            }
                        }
                        let (output, numeric) = (output.clone(), local.slope());
                        let row = GradRow { order, mode, output, input, analytic, numeric, fault: None };
                        report.add(row, &local, self.tolerance);
                    }
                }
            }
        }
        Ok(())
    }

    /// For every real leaf of the output, the gradient of its weighted sum, as values for each leaf of `x`.
    fn pulled_back<X: Tree, Y: Tree>(&self, f: &dyn Fn(&X) -> Y, x: &X, y: &Y) -> Vec<Vec<Vec<f64>>> {
        let (_, pullback) = vjp(f, x);
        let each = real_leaves(y).map(|(position, _, _)| pullback.call(&weights_of(y, Some(position))));
        each.map(|gradient| gradient.leaves().into_iter().map(Tensor::to_f64_vec).collect()).collect()
    }

    fn chosen(&self, elements: usize) -> impl Iterator<Item = usize> {
        let count = elements.min(self.elements);
        (0..count).map(move |index| index * elements / count)
    }
}

/// The first derivative, or the derivative of the gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    First,
    Second,
}

impl Order {
    fn output_name(self, path: &str) -> String {
        match self {
            Order::First => named(path, "y"),
            Order::Second => format!("d/d{}", named(path, "x")),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Reverse,
    Forward,
}

/// Why a derivative differs from the finite difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GradFault {
    /// The function is smooth there: the derivative is wrong.
    Wrong,
    /// The derivative jumps within the step, so it is not unique.
    Kink,
    /// The function is infinite or NaN within the step.
    Edge,
}

/// One derivative that differs from the finite difference.
#[derive(Clone, Debug)]
pub struct GradRow {
    order: Order,
    mode: Mode,
    output: String,
    input: String,
    analytic: f64,
    numeric: f64,
    fault: Option<GradFault>,
}

impl GradRow {
    /// The perturbed element, as in `layers.0.weight[1, 2]`; the input itself is called `x`.
    pub fn input(&self) -> &str {
        &self.input
    }

    /// The observed leaf; the output itself is called `y`. For a leaf with several elements, a weighted sum is differentiated.
    pub fn output(&self) -> &str {
        &self.output
    }

    /// The derivative from the rules.
    pub fn analytic(&self) -> f64 {
        self.analytic
    }

    /// The derivative from finite differences.
    pub fn numeric(&self) -> f64 {
        self.numeric
    }

    /// The absolute difference.
    pub fn error(&self) -> f64 {
        (self.analytic - self.numeric).abs()
    }

    /// Why they differ.
    pub fn fault(&self) -> GradFault {
        self.fault.unwrap_or(GradFault::Wrong)
    }

    fn mode(&self) -> &'static str {
        match (self.order, self.mode) {
            (Order::First, Mode::Reverse) => "reverse",
            (Order::First, Mode::Forward) => "forward",
            (Order::Second, Mode::Reverse) => "reverse of reverse",
            (Order::Second, Mode::Forward) => "forward of reverse",
        }
    }

    fn cells(&self) -> [String; 7] {
        let fault = match self.fault() {
            GradFault::Wrong => "wrong",
            GradFault::Kink => "kink: the slope jumps here",
            GradFault::Edge => "edge: f is not finite here",
        };
        let number = |number: f64| format!("{number:.8e}");
        let (output, input) = (self.output.clone(), self.input.clone());
        let (analytic, numeric) = (number(self.analytic), number(self.numeric));
        [self.mode().into(), output, input, analytic, numeric, format!("{:.1e}", self.error()), fault.into()]
    }
}

/// The result of [`gradcheck`].
#[derive(Clone)]
pub struct GradReport {
    /// The differences, in the order of the input.
    rows: Vec<GradRow>,
    checked: usize,
    largest_error: f64,
}

impl GradReport {
    /// The number of derivatives compared.
    pub fn checked(&self) -> usize {
        self.checked
    }

    /// The largest error among the derivatives that agree, relative in the same way as the tolerance.
    pub fn largest_error(&self) -> f64 {
        self.largest_error
    }

    /// The derivatives that differ from finite differences. This includes kinks and edges, where they are not wrong.
    pub fn rows(&self) -> &[GradRow] {
        &self.rows
    }

    /// The derivatives that are wrong.
    pub fn wrong(&self) -> impl Iterator<Item = &GradRow> {
        self.rows.iter().filter(|row| row.fault() == GradFault::Wrong)
    }

    fn add(&mut self, mut row: GradRow, local: &Local, tolerance: f64) {
        self.checked += 1;
        if local.agrees(row.analytic, tolerance) {
            self.largest_error = self.largest_error.max(row.error() / local.scale());
        } else {
            row.fault = Some(local.fault(row.error()));
            self.rows.push(row);
        }
    }
}

/// The report of a function whose derivatives are wrong.
#[derive(Clone)]
pub struct GradMismatch(GradReport);

impl GradMismatch {
    /// The full report.
    pub fn report(&self) -> &GradReport {
        &self.0
    }
}

impl std::error::Error for GradMismatch {}

/// The maximum number of rows of a printed table.
const SHOWN: usize = 20;

impl fmt::Display for GradReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (wrong, checked) = (self.wrong().count(), self.checked);
        let unclear = self.rows.len() - wrong;
        match wrong {
            0 => write!(f, "gradcheck: {} of {checked} derivatives agree", checked - unclear)?,
            _ => write!(f, "gradcheck: {wrong} of {checked} derivatives are wrong")?,
        }
        if unclear > 0 {
            write!(f, ", {unclear} at kinks or edges")?;
        }
        write!(f, "; the largest error elsewhere is {:.1e}", self.largest_error)?;
        if self.rows.is_empty() {
            return Ok(());
        }
        let heads = ["mode", "of", "by", "analytic", "numeric", "error", ""].map(String::from);
        let mut rows: Vec<&GradRow> = self.rows.iter().collect();
        rows.sort_by_key(|row| row.fault() != GradFault::Wrong);
        let table: Vec<[String; 7]> =
            std::iter::once(heads).chain(rows.iter().take(SHOWN).map(|row| row.cells())).collect();
        let widths: [usize; 7] =
            std::array::from_fn(|column| table.iter().map(|cells| cells[column].len()).max().unwrap_or(0));
        for cells in &table {
            let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
            write!(f, "\n  {}", padded.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        match rows.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

/// The table, so that `unwrap` in a test shows it.
impl fmt::Debug for GradReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for GradMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for GradMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A function of one variable around a point: its value there and at -h, -h/2, h/2, h.
struct Local {
    h: f64,
    center: f64,
    sides: [f64; 4],
}

/// How often a smaller step is tried where the derivative and the finite difference differ, and the ratio of one to the one before it.
const FINER: usize = 4;
const FINER_STEP: f64 = 1e-2;

impl Local {
    fn of((h, sides): &(f64, [Vec<f64>; 4]), center: &[f64], output: usize) -> Local {
        Local { h: *h, center: center[output], sides: sides.each_ref().map(|side| side[output]) }
    }

    /// What errors are relative to.
    fn scale(&self) -> f64 {
        self.slope().abs().max(1.0)
    }

    /// Whether a derivative is that of the finite differences, up to this relative error and rounding.
    fn agrees(&self, analytic: f64, tolerance: f64) -> bool {
        let error = (analytic - self.slope()).abs();
        analytic.is_finite() && error / self.scale() <= tolerance + self.rounding() / self.scale()
    }

    /// Whether rounding alone does not make a wrong derivative look right.
    fn is_precise(&self, tolerance: f64) -> bool {
        self.rounding() / self.scale() <= tolerance
    }

    /// Central differences with both steps.
    fn central(&self) -> (f64, f64) {
        let [left, near_left, near_right, right] = self.sides;
        ((right - left) / (2.0 * self.h), (near_right - near_left) / self.h)
    }

    /// The derivative, with the h^2 error that both differences have in common eliminated.
    fn slope(&self) -> f64 {
        let (far, near) = self.central();
        (4.0 * near - far) / 3.0
    }

    /// An estimate of the rounding error of the derivative.
    fn rounding(&self) -> f64 {
        let largest = self.sides.iter().fold(self.center.abs(), |largest, side| largest.max(side.abs()));
        16.0 * f64::EPSILON * largest / self.h
    }

    /// How much the derivative jumps inside the step. For a smooth function this is 0 to second order: its central differences agree, and
    /// its one-sided differences differ by a multiple of the step. For a kink it is a sixth of the jump or more.
    fn jump(&self) -> f64 {
        let [left, near_left, near_right, right] = self.sides;
        let (far, near) = self.central();
        let apart = |left: f64, right: f64, h: f64| (right - 2.0 * self.center + left) / h;
        let far_apart = apart(left, right, self.h);
        let near_apart = apart(near_left, near_right, self.h / 2.0);
        (far - near).abs() + (2.0 * near_apart - far_apart).abs()
    }

    /// Why a derivative can differ this much from the finite difference.
    fn fault(&self, error: f64) -> GradFault {
        let finite = self.center.is_finite() && self.sides.iter().all(|side| side.is_finite());
        match finite {
            false => GradFault::Edge,
            true if error <= 2.0 * self.jump() => GradFault::Kink,
            true => GradFault::Wrong,
        }
    }
}

/// The gradient of the weighted sum of all outputs.
fn weighted_gradient<X: Tree, Y: Tree>(f: &impl Fn(&X) -> Y, x: &X) -> X {
    let (y, pullback) = vjp(f, x);
    pullback.call(&weights_of(&y, None))
}

/// Weights for the leaves of `y`, or for one of them: 1 for a single number, otherwise irregular numbers that are unlikely to hide a wrong
/// rule.
fn weights_of<Y: Tree>(y: &Y, only: Option<usize>) -> Y {
    let mut position = 0;
    y.map(&mut TreePath::root(), &mut |path, leaf| {
        let wanted = only.is_none_or(|only| only == position) && leaf.dtype().is_float() && !path.is_frozen();
        position += 1;
        match wanted {
            true => Tensor::from_vec(weights(leaf.elements()), leaf.shape()).beside(leaf),
            false => leaf.full_like(0.0),
        }
    })
}

fn weights(elements: usize) -> Vec<f64> {
    let weight = |element: usize| if elements == 1 { 1.0 } else { (0.7 * element as f64 + 0.3).cos() };
    (0..elements).map(weight).collect()
}

/// The weighted sum of each real leaf.
fn weighted<Y: Tree>(y: &Y) -> Vec<f64> {
    let dot = |leaf: &Tensor| weights(leaf.elements()).iter().zip(leaf.to_f64_vec()).map(|(w, y)| w * y).sum();
    real_leaves(y).map(|(_, _, leaf)| dot(leaf)).collect()
}

/// `x` with one element of one leaf perturbed by `t`.
fn moved<X: Tree>(x: &X, leaf: usize, element: usize, t: f64) -> X {
    let mut position = 0;
    x.map_leaves(|tensor| {
        let here = position == leaf;
        position += 1;
        if !here {
            return tensor.clone();
        }
        let mut numbers = tensor.to_f64_vec();
        numbers[element] += t;
        Tensor::from_vec(numbers, tensor.shape()).beside(tensor)
    })
}

/// The differentiable leaves: their index among all leaves, and their path.
fn real_leaves<T: Tree>(tree: &T) -> impl Iterator<Item = (usize, String, &Tensor)> {
    let (mut leaves, mut position) = (Vec::new(), 0);
    tree.visit(&mut TreePath::root(), &mut |path, leaf| {
        if leaf.dtype().is_float() && !path.is_frozen() {
            leaves.push((position, path.to_string(), leaf));
        }
        position += 1;
    });
    leaves.into_iter()
}

fn expect_f64<T: Tree>(what: &str, tree: &T) -> Result<(), Error> {
    match real_leaves(tree).find(|(_, _, leaf)| leaf.dtype() != DType::F64) {
        None => Ok(()),
        Some((_, path, leaf)) => {
            let at = if path.is_empty() { String::new() } else { format!(" at '{path}'") };
            let message = format!("{what} is {}{at}; finite differences need f64", leaf.spec());
            Err(Error::new(ErrorKind::DType(vec![leaf.dtype()]), "gradcheck", message)
                .help("compute in f64 here, for example after .cast(DType::F64)"))
        }
    }
}

fn named(path: &str, root: &str) -> String {
    if path.is_empty() { root.to_string() } else { path.to_string() }
}

/// `weight[1, 2]`.
fn element_name(path: &str, shape: &[usize], element: usize) -> String {
    let mut rest = element;
    let mut index: Vec<String> = Vec::new();
    for size in shape.iter().rev() {
        index.push((rest % size).to_string());
        rest /= size;
    }
    index.reverse();
    let name = named(path, "x");
    if shape.is_empty() { name } else { format!("{name}[{}]", index.join(", ")) }
}

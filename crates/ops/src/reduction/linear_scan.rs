//! linear_scan - linear recurrence along an axis.   y[t] = a[t] y[t-1] + b[t], from 0,   dy[t] = a[t] dy[t-1] + (da[t]
//! y[t-1] + db[t]).   The transpose is the same recurrence from the other end. Running products, logcumsumexp and state-space layers use it
//! for their derivatives.

use crate::composite::selection::along_axis;
use crate::error::OrRaise;
use crate::prelude::*;
use crate::rules::{batched_axis, checked_axis, line_cases, middle_axis};
use wengert_kernels::scan;

/// The methods of `linear_scan`.
#[ext(LinearScanMethods)]
impl Tensor {
    /// `y[t] = a[t] * y[t - 1] + b[t]` along an axis, where this tensor is `a`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([0.5, 0.5, 0.5]).linear_scan(&Tensor::from([4.0, 0.0, 1.0]), 0);
    /// assert_eq!(y, Tensor::from([4.0, 2.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn linear_scan(&self, b: &Tensor, axis: isize) -> Tensor {
        let axis = checked_axis("linear_scan", axis, self.shape()).or_raise();
        self.linear_scan_from(b, axis, false)
    }
}

#[ext(LinearScanParts)]
impl Tensor {
    /// The recurrence from the first element, or from the last.
    #[track_caller]
    pub(crate) fn linear_scan_from(&self, b: &Tensor, axis: usize, reverse: bool) -> Tensor {
        let attrs = Attrs::new().with_int("axis", axis as i64).with_int("reverse", i64::from(reverse));
        bind1(&LINEAR_SCAN, attrs, &[self, b])
    }

    /// The sequence delayed by one step of a scan: element t - 1 at t, or t + 1 for a scan from the end; `first` at the start.
    pub(crate) fn delayed(&self, axis: usize, reverse: bool, first: f64) -> Tensor {
        let (n, rank) = (self.shape()[axis], self.rank());
        let mut delayed = self.full_like(first);
        if n > 1 {
            let (from, to) = if reverse { (1..n, 0..n - 1) } else { (0..n - 1, 1..n) };
            let part = self.slice(&along_axis(rank, axis, from)[..]);
            delayed.slice_mut(&along_axis(rank, axis, to)[..]).assign(&part);
        }
        delayed
    }
}

/// The primitive `linear_scan`.
pub static LINEAR_SCAN: LinearScan = LinearScan;

/// See the module.
pub struct LinearScan;

impl Primitive for LinearScan {
    fn name(&self) -> &'static str {
        "linear_scan"
    }

    fn operands(&self) -> usize {
        2
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["axis", "reverse"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (a, b) = (operands[0], operands[1]);
        expect_arithmetic("linear_scan", a.dtype)?;
        expect_same_dtype("linear_scan", a.dtype, b.dtype)?;
        if a.shape != b.shape {
            let shapes = vec![Shape::from(a.shape), Shape::from(b.shape)];
            let message = format!("factors of shape {} and terms of shape {}", shapes[0], shapes[1]);
            return Err(Error::new(ErrorKind::Shape(shapes), "linear_scan", message)
                .help("repeat one of them with broadcast_to"));
        }
        middle_axis("linear_scan", attrs, a.shape)?;
        Ok(smallvec![a.to_spec()])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (a, b, out) = (operands[0], operands[1], outputs[0].reborrow());
        let (shape, reverse) = (middle_axis("linear_scan", attrs, a.shape)?, attrs.int("reverse") == 1);
        computing!(a.dtype, T => {
            fill(out, |out: &mut [T]| scan::linear_scan(&numbers(a), &numbers(b), shape, reverse, out));
        });
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, wanted: Mask) -> Saves {
        let saves = Saves::NOTHING.operand(0);
        if wanted.has(0) { saves.output(0) } else { saves }
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let (axis, reverse) = (rule.attrs.axis("axis"), rule.attrs.int("reverse") == 1);
        let db = rule.operand(0).delayed(axis, !reverse, 0.0).linear_scan_from(&g, axis, !reverse);
        let da = match rule.wants(0) {
            true => Gradient::Dense(&db * rule.output(0).delayed(axis, reverse, 0.0)),
            false => Gradient::Zero,
        };
        smallvec![da, if rule.wants(1) { Gradient::Dense(db) } else { Gradient::Zero }]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let (axis, reverse) = (rule.attrs.axis("axis"), rule.attrs.int("reverse") == 1);
        let from_a = tangents[0].as_ref().map(|da| da * rule.output(0).delayed(axis, reverse, 0.0));
        let term = match (from_a, &tangents[1]) {
            (Some(a), Some(b)) => Some(a + b),
            (Some(a), None) => Some(a),
            (None, b) => b.clone(),
        };
        smallvec![term.map(|term| rule.operand(0).linear_scan_from(&term, axis, reverse))]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        Ok(smallvec![bind1(self, batched_axis(attrs), &[&aligned[0], &aligned[1]])])
    }

    fn dependency(&self) -> Dependency {
        Dependency::Reduction
    }

    fn jet(&self) -> Jet {
        Jet::Quotient(0)
    }

    fn rule_text(&self) -> &'static str {
        "db = the recurrence of dy from the other end, da[t] = db[t] y[t-1]"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let terms = |x: &[&[f64]]| {
            let product = |from: usize, to: usize| -> f64 { x[0][from + 1..=to].iter().product() };
            (0..x[0].len()).map(|t| (0..=t).map(|s| x[1][s] * product(s, t)).sum()).collect()
        };
        line_cases(2, terms, &[&[0.0, 2.0, 0.0, 1.0]])
    }
}

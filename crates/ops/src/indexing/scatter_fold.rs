//! scatter_mul - multiplication at selected positions along an axis.   y = x with y[index[i]] *= v[i],   dy = y
//! (dx / x + dv[i] / v[i]).   For nonzero factors; `scatter_reduce(.., ScatterReduce::Prod, ..)` handles zeros separately.
//!
//! scatter_max - maximum at selected positions along an axis.   y = x with y[index[i]] = max(y, v[i]),   dy = that of the greatest.   Ties
//! share the gradient evenly; NaN stays NaN, without gradient.
//!
//! scatter_min - minimum at selected positions along an axis.   y = x with y[index[i]] = min(y, v[i]),   dy = that of the least.   Ties
//! share the gradient evenly; NaN stays NaN, without gradient.

use super::scatter_add::Fold;
use crate::prelude::*;

/// The primitive `scatter_mul`.
pub static SCATTER_MUL: ScatterFold = ScatterFold { name: "scatter_mul", fold: Fold::Mul };

/// The primitive `scatter_max`.
pub static SCATTER_MAX: ScatterFold = ScatterFold { name: "scatter_max", fold: Fold::Max };

/// The primitive `scatter_min`.
pub static SCATTER_MIN: ScatterFold = ScatterFold { name: "scatter_min", fold: Fold::Min };

/// See the module.
pub struct ScatterFold {
    name: &'static str,
    fold: Fold,
}

/// The elements that attain the extreme, in the tensor and among the values, and their number.
struct Winners {
    whole: Tensor,
    values: Tensor,
    count: Tensor,
}

impl Winners {
    fn of(rule: &Rule<'_>) -> Winners {
        let (x, index, v, y) = (rule.operand(0), rule.operand(1), rule.operand(2), rule.output(0));
        let axis = rule.attrs.int("axis") as isize;
        let (whole, values) = (x.equal(y), v.equal(y.gather(axis, index)));
        let count = whole.cast(y.dtype()).scatter_add(axis, index, &values.cast(y.dtype()));
        Winners { whole, values, count }
    }
}

impl ScatterFold {
    /// dy = y (dx / x + dv / v), with the terms that are present.
    fn product_tangent(rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Option<Tensor> {
        let y = rule.output(0);
        let whole = tangents[0].as_ref().map(|dx| dx / rule.operand(0));
        let terms = match &tangents[2] {
            None => whole?,
            Some(dv) => {
                let base = whole.unwrap_or_else(|| y.full_like(0.0));
                base.scatter_add(rule.attrs.int("axis") as isize, rule.operand(1), &(dv / rule.operand(2)))
            }
        };
        Some(y * terms)
    }
}

impl Primitive for ScatterFold {
    fn name(&self) -> &'static str {
        self.name
    }

    fn operands(&self) -> usize {
        3
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["axis"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        self.fold.infer(self.name, attrs, operands)
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        self.fold.run(self.name, attrs, operands, outputs[0].reborrow())
    }

    fn saves(&self, _attrs: &Attrs, wanted: Mask) -> Saves {
        let all = Saves::NOTHING.operand(0).operand(1).operand(2).output(0);
        match (self.fold, wanted.has(0), wanted.has(2)) {
            (Fold::Mul, true, false) => Saves::NOTHING.operand(0).output(0),
            (Fold::Mul, false, true) => Saves::NOTHING.operand(1).operand(2).output(0),
            _ => all,
        }
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let axis = rule.attrs.int("axis") as isize;
        let winners = (self.fold != Fold::Mul).then(|| Winners::of(rule));
        let share = match &winners {
            None => g * rule.output(0),
            Some(winners) => g / &winners.count,
        };
        let whole = || match &winners {
            None => &share / rule.operand(0),
            Some(winners) => winners.whole.where_(&share, 0),
        };
        let values = || match (share.gather(axis, rule.operand(1)), &winners) {
            (share, None) => share / rule.operand(2),
            (share, Some(winners)) => winners.values.where_(share, 0),
        };
        smallvec![
            if rule.wants(0) { Gradient::Dense(whole()) } else { Gradient::Zero },
            Gradient::Zero,
            if rule.wants(2) { Gradient::Dense(values()) } else { Gradient::Zero },
        ]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        if tangents.iter().all(Option::is_none) {
            return smallvec![None];
        }
        if self.fold == Fold::Mul {
            return smallvec![Self::product_tangent(rule, tangents)];
        }
        let (axis, winners) = (rule.attrs.int("axis") as isize, Winners::of(rule));
        let whole = match &tangents[0] {
            Some(dx) => winners.whole.where_(dx, 0),
            None => rule.output(0).full_like(0.0),
        };
        let sum = match &tangents[2] {
            Some(dv) => whole.scatter_add(axis, rule.operand(1), &winners.values.where_(dv, 0)),
            None => whole,
        };
        smallvec![Some(sum / winners.count)]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        let attrs = Attrs::new().with_int("axis", attrs.int("axis") + 1);
        Ok(smallvec![bind1(self, attrs, &[&aligned[0], &aligned[1], &aligned[2]])])
    }

    fn rule_text(&self) -> &'static str {
        match self.fold {
            Fold::Mul => "dx = dy y / x, dv = (dy y)[index] / v",
            _ => "dx, dv = dy where they attain y, shared",
        }
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        // Steps of 0.7 keep all numbers distinct and away from 0.
        let apart = |shape: Shape, phase: f64| {
            let number = |i: usize| 0.9 + phase * 0.5 + 0.7 * ((i * 5 + (phase * 10.0) as usize) % 11) as f64;
            let data: Vec<f64> = (0..shape.elements()).map(number).collect();
            Sample::new(shape, data)
        };
        self.fold.cases(true, if self.fold == Fold::Mul { Sample::positive } else { apart })
    }
}

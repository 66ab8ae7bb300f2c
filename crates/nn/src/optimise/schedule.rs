//! Learning rates that change.

use super::Number;
use std::f64::consts::PI;

/// A factor of the learning rate as a function of the step.
///
/// A schedule is computed inside the step: a compiled step is traced once for all of its rates.
///
/// ```
/// use wengert::nn::optimise::Schedule;
/// let schedule = Schedule::cosine(100).warm_up(10);
/// assert_eq!(schedule.at(4), 0.5);
/// assert_eq!(schedule.at(9), 1.0);
/// assert!(schedule.at(100) < 0.03);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    shape: Shape,
    warm_up: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Constant,
    /// Times `factor` every `every` steps.
    Step {
        every: f64,
        factor: f64,
    },
    /// Half a cosine from 1 to `last`.
    Cosine {
        steps: f64,
        last: f64,
    },
    /// A straight line from 1 to `last`.
    Linear {
        steps: f64,
        last: f64,
    },
    /// Times `factor` every step.
    Exponential {
        factor: f64,
    },
    /// Half a cosine from `first` to 1 over `rise` of all steps, and another one to `last`.
    OneCycle {
        steps: f64,
        rise: f64,
        first: f64,
        last: f64,
    },
}

impl Schedule {
    fn of(shape: Shape) -> Schedule {
        Schedule { shape, warm_up: 0.0 }
    }

    /// Always 1.
    pub fn constant() -> Schedule {
        Schedule::of(Shape::Constant)
    }

    /// Multiplied by `factor` every `every` steps.
    pub fn step(every: usize, factor: f64) -> Schedule {
        Schedule::of(Shape::Step { every: every.max(1) as f64, factor })
    }

    /// Half a cosine from 1 to 0 over this many steps, and 0 afterwards.
    pub fn cosine(steps: usize) -> Schedule {
        Schedule::of(Shape::Cosine { steps: steps.max(1) as f64, last: 0.0 })
    }

    /// A straight line from 1 to 0 over this many steps, and 0 afterwards.
    pub fn linear(steps: usize) -> Schedule {
        Schedule::of(Shape::Linear { steps: steps.max(1) as f64, last: 0.0 })
    }

    /// Multiplied by `factor` every step.
    pub fn exponential(factor: f64) -> Schedule {
        Schedule::of(Shape::Exponential { factor })
    }

    /// One cycle: from 1/25 up to 1 within the first 30 % of the steps, then down to almost 0, along half cosines.
    pub fn one_cycle(steps: usize) -> Schedule {
        Schedule::of(Shape::OneCycle {
            steps: steps.max(2) as f64,
            rise: 0.3,
            first: 1.0 / 25.0,
            last: 1.0 / 250_000.0,
        })
    }

    /// The value that a cosine or a line ends with, instead of 0.
    #[must_use]
    pub fn down_to(mut self, value: f64) -> Schedule {
        if let Shape::Cosine { last, .. } | Shape::Linear { last, .. } | Shape::OneCycle { last, .. } = &mut self.shape
        {
            *last = value;
        }
        self
    }

    /// Grows from 0 to the full rate over the first `steps` steps; the rest of the schedule comes after them.
    #[must_use]
    pub fn warm_up(mut self, steps: usize) -> Schedule {
        self.warm_up = steps as f64;
        self
    }

    /// Whether the factor is always 1.
    pub fn is_constant(&self) -> bool {
        *self == Schedule::constant()
    }

    /// The factor for step `step`, counted from 0.
    pub fn at(&self, step: usize) -> f64 {
        self.factor(&Number::from(step as f64)).known().expect("a known step")
    }

    /// The factor for a step, counted from 0.
    pub fn factor(&self, step: &Number) -> Number {
        let after = if self.warm_up > 0.0 { (step.clone() - self.warm_up).max(0.0) } else { step.clone() };
        let factor = self.shape.factor(after);
        if self.warm_up > 0.0 {
            let rising = (step.clone() + 1.0) / self.warm_up;
            return step.clone().below(self.warm_up, rising, factor);
        }
        factor
    }
}

/// From `a` to `b` along half a cosine, for a part from 0 to 1.
fn half_cosine(part: Number, a: f64, b: f64) -> Number {
    ((part * PI).cos() + 1.0) * (0.5 * (a - b)) + b
}

impl Shape {
    fn factor(&self, step: Number) -> Number {
        match *self {
            Shape::Constant => Number::from(1.0),
            Shape::Step { every, factor } => (step / every).floor().power_of(factor),
            Shape::Cosine { steps, last } => half_cosine((step / steps).min(1.0), 1.0, last),
            Shape::Linear { steps, last } => (step / steps).min(1.0) * (last - 1.0) + 1.0,
            Shape::Exponential { factor } => step.power_of(factor),
            Shape::OneCycle { steps, rise, first, last } => {
                let top = (rise * steps - 1.0).max(1.0);
                let up = half_cosine((step.clone() / top).min(1.0), first, 1.0);
                let down =
                    half_cosine(((step.clone() - top) / (steps - 1.0 - top).max(1.0)).min(1.0).max(0.0), 1.0, last);
                step.below(top, up, down)
            }
        }
    }
}

/// Multiplies the rate by a factor whenever a metric has not improved for some epochs.
///
/// ```
/// use wengert::nn::optimise::Plateau;
/// let plateau = Plateau::new(2).factor(0.5);
/// assert_eq!(plateau.scale(&[1.0, 0.9, 0.9, 0.9]), 1.0);
/// assert_eq!(plateau.scale(&[1.0, 0.9, 0.9, 0.9, 0.9]), 0.5);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Plateau {
    patience: usize,
    factor: f64,
    is_high: bool,
}

/// The part of the best value by which a better one must differ.
const THRESHOLD: f64 = 1e-4;

impl Plateau {
    /// The rate falls after more than `patience` epochs without a smaller value, by a factor of 0.1.
    pub fn new(patience: usize) -> Plateau {
        Plateau { patience, factor: 0.1, is_high: false }
    }

    /// The factor.
    #[must_use]
    pub fn factor(self, factor: f64) -> Plateau {
        Plateau { factor, ..self }
    }

    /// Larger values are better.
    #[must_use]
    pub fn higher_is_better(self) -> Plateau {
        Plateau { is_high: true, ..self }
    }

    /// The factor of the rate after these values of the metric.
    pub fn scale(&self, values: &[f64]) -> f64 {
        let (mut scale, mut best, mut since) = (1.0, None, 0);
        for value in values {
            // A first value counts, however bad it is; NaN is none.
            let is_better = !value.is_nan()
                && best.is_none_or(|best: f64| match self.is_high {
                    true => best.is_infinite() || *value > best * (1.0 + THRESHOLD),
                    false => best.is_infinite() || *value < best * (1.0 - THRESHOLD),
                });
            (best, since) = if is_better { (Some(*value), 0) } else { (best, since + 1) };
            if since > self.patience {
                (scale, since) = (scale * self.factor, 0);
            }
        }
        scale
    }
}

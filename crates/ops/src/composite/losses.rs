//! Losses: distances between predictions and targets, as methods of the predictions.

use crate::network::cross_entropy::softmax_cross_entropy;
use crate::prelude::*;

/// How the losses of single elements are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reduction {
    /// No reduction: the loss of every element.
    None,
    /// Their mean.
    #[default]
    Mean,
    /// Their sum.
    Sum,
    /// Their sum divided by the size of the first axis.
    BatchMean,
}

impl Reduction {
    /// Reduces losses whose first axis is `batch` long.
    #[track_caller]
    fn apply(self, losses: Tensor) -> Tensor {
        match self {
            Reduction::None => losses,
            Reduction::Mean => losses.mean(),
            Reduction::Sum => losses.sum(),
            Reduction::BatchMean => {
                let batch = losses.shape().first().copied().unwrap_or(1);
                losses.sum() / batch as f64
            }
        }
    }

    /// Reduces losses with a weighted mean: the sum is divided by the sum of `weights`.
    #[track_caller]
    fn apply_weighted(self, losses: Tensor, weights: impl FnOnce() -> Tensor) -> Tensor {
        match self {
            Reduction::Mean => losses.sum() / weights().sum(),
            _ => self.apply(losses),
        }
    }
}

/// Options for classification losses.
///
/// ```
/// use wengert::prelude::*;
/// let logits = Tensor::from([[1.0, 2.0, 3.0], [1.0, 0.0, -1.0]]);
/// let losses = logits.cross_entropy(&Tensor::from([2i64, -100]), &CrossEntropy::new().reduction(Reduction::None));
/// assert!(losses.all_close(&Tensor::from([0.40760596444438046, 0.0]), 1e-15));
/// ```
#[derive(Clone, Debug)]
pub struct CrossEntropy {
    weight: Option<Tensor>,
    ignored: i64,
    smoothing: f64,
    reduction: Reduction,
}

impl Default for CrossEntropy {
    fn default() -> CrossEntropy {
        CrossEntropy::new()
    }
}

impl CrossEntropy {
    /// The default: the mean, no weights, no smoothing, and the target -100 is ignored.
    pub fn new() -> CrossEntropy {
        CrossEntropy { weight: None, ignored: -100, smoothing: 0.0, reduction: Reduction::Mean }
    }

    /// A weight for each class.
    pub fn weight(self, weight: &Tensor) -> CrossEntropy {
        CrossEntropy { weight: Some(weight.clone()), ..self }
    }

    /// The target value whose rows are ignored; it need not be a class.
    pub fn ignore_index(self, ignored: i64) -> CrossEntropy {
        CrossEntropy { ignored, ..self }
    }

    /// The share of the target, from 0 to 1, that is spread over all classes.
    pub fn label_smoothing(self, smoothing: f64) -> CrossEntropy {
        CrossEntropy { smoothing, ..self }
    }

    /// Sets how the losses are reduced.
    pub fn reduction(self, reduction: Reduction) -> CrossEntropy {
        CrossEntropy { reduction, ..self }
    }

    /// Checks that there is a weight for each class, the last axis of `x`, and that the smoothing is between 0 and 1.
    #[track_caller]
    fn expect_classes(&self, name: &str, x: &Tensor) {
        expect_weights(name, self.weight.as_ref(), x.shape()[x.rank() - 1]);
        if !(0.0..=1.0).contains(&self.smoothing) {
            let message = format!("{} is no part of a target", self.smoothing);
            Error::new(ErrorKind::Argument, name, message).help("label_smoothing takes a number from 0 to 1").raise();
        }
    }

    /// The weights of the rows in a mean: the weight of each row's class, 0 where it is ignored.
    #[track_caller]
    fn row_weights(&self, targets: &Tensor, dtype: DType) -> Tensor {
        let counts = targets.cast(DType::I64).not_equal(self.ignored);
        match &self.weight {
            None => counts.cast(dtype),
            Some(weight) => {
                let classes = counts.where_(targets.cast(DType::I64), 0);
                let picked = weight.gather(0, &classes.reshape([classes.elements()])).reshape(classes.shape());
                counts.where_(&picked, 0.0)
            }
        }
    }
}

/// Moves the classes, axis 1 or the only one, to the last axis.
#[track_caller]
fn classes_last(name: &str, x: &Tensor) -> Tensor {
    match x.rank() {
        0 => Error::new(ErrorKind::Shape(vec![Shape::default()]), name, "a scalar has no axis of classes").raise(),
        1 | 2 => x.clone(),
        rank => {
            let order: Vec<usize> = std::iter::once(0).chain(2..rank).chain([1]).collect();
            x.permute(&order)
        }
    }
}

#[track_caller]
fn expect_weights(name: &str, weight: Option<&Tensor>, classes: usize) {
    if let Some(weight) = weight.filter(|weight| weight.shape() != [classes]) {
        let shape = Shape::from(weight.shape());
        let message = format!("weights of shape {shape} for {classes} classes");
        Error::new(ErrorKind::Shape(vec![shape]), name, message).help("give one weight for each class").raise();
    }
}

/// Refuses a target of another shape, unless one of the two is a scalar: `[n, 1]` against `[n]` would compare everything with everything.
#[track_caller]
fn expect_same_shape(name: &str, x: &Tensor, target: &Tensor) {
    let (own, other) = (x.shape(), target.shape());
    if own == other || own.is_empty() || other.is_empty() {
        return;
    }
    let (own, other) = (Shape::from(own), Shape::from(other));
    let message = format!("the predictions have shape {own}, the target {other}");
    let help = match own.elements() == other.elements() {
        true => format!("reshape one of them: target.reshape({own})"),
        false => "if it is to be repeated, say so: target.broadcast_to(..)".to_string(),
    };
    Error::new(ErrorKind::Shape(vec![own, other]), name, message).help(help).raise()
}

/// Refuses targets that are not integers, one for each row of `x`, whose last axis is that of the classes.
#[track_caller]
fn expect_labels(name: &str, x: &Tensor, targets: &Tensor) {
    if targets.dtype().is_float() {
        let message = format!("the targets are {}, not classes", targets.dtype());
        Error::new(ErrorKind::DType(vec![targets.dtype()]), name, message)
            .help("classes are integers, for example i64")
            .raise();
    }
    let rows = &x.shape()[..x.rank() - 1];
    if targets.shape() != rows {
        let (own, rows) = (Shape::from(targets.shape()), Shape::from(rows));
        let message = format!("targets of shape {own} for predictions of {rows} rows");
        Error::new(ErrorKind::Shape(vec![own, rows]), name, message).help("give one class for each row").raise();
    }
}

/// log x, clamped from below at -100.
#[track_caller]
fn bounded_log(x: &Tensor) -> Tensor {
    x.log().clamp_min(-100.0)
}

/// Losses times weights that broadcast to them; weights of more elements would repeat the losses.
#[track_caller]
fn scaled(name: &str, losses: Tensor, weight: Option<&Tensor>) -> Tensor {
    // Not a closure, which would lose the caller's line.
    let Some(weight) = weight else { return losses };
    let product = &losses * weight;
    if product.shape() != losses.shape() {
        let (own, losses) = (Shape::from(weight.shape()), Shape::from(losses.shape()));
        let message = format!("weights of shape {own} for losses of shape {losses}");
        Error::new(ErrorKind::Shape(vec![own, losses]), name, message)
            .help("the weights broadcast to the losses")
            .raise();
    }
    product
}

/// Added to differences in the triplet distances, to keep roots away from 0.
const TRIPLET_TINY: f64 = 1e-6;

#[track_caller]
fn triplet(x: &Tensor, positive: &Tensor, far: Tensor, margin: f64, p: f64, reduction: Reduction) -> Tensor {
    let near = x.pairwise_distance(positive, p, TRIPLET_TINY);
    reduction.apply((near - far + margin).clamp_min(0.0))
}

/// The methods of `losses`.
#[ext(LossesMethods)]
impl Tensor {
    /// The cross-entropy of logits `[N, C, ..]` (or `[C]`) with targets: classes as integers `[N, ..]`, or probabilities of the shape of
    /// the logits.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let logits = Tensor::from([[1.0, 2.0, 3.0], [1.0, 0.0, -1.0]]);
    /// let loss = logits.cross_entropy(&Tensor::from([2i64, 0]), &CrossEntropy::new());
    /// assert!((loss.item() - 0.40760596444438046).abs() < 1e-15);
    /// ```
    #[track_caller]
    pub fn cross_entropy(&self, targets: &Tensor, options: &CrossEntropy) -> Tensor {
        let x = classes_last("cross_entropy", self);
        options.expect_classes("cross_entropy", &x);
        if !targets.dtype().is_float() {
            let losses =
                softmax_cross_entropy(&x, targets, options.weight.as_ref(), options.ignored, options.smoothing);
            return options.reduction.apply_weighted(losses, || options.row_weights(targets, x.dtype()));
        }
        let targets = classes_last("cross_entropy", targets);
        if targets.shape() != x.shape() {
            let shapes = vec![Shape::from(targets.shape()), Shape::from(x.shape())];
            let message = format!("probabilities of shape {} for logits of shape {}", shapes[0], shapes[1]);
            Error::new(ErrorKind::Shape(shapes), "cross_entropy", message)
                .help("probabilities have the shape of the logits; classes are integers, for example i64")
                .raise();
        }
        let classes = x.shape()[x.rank() - 1] as f64;
        let q = match options.smoothing {
            0.0 => targets,
            smoothing => targets * (1.0 - smoothing) + smoothing / classes,
        };
        let products = scaled("cross_entropy", q * x.log_softmax(-1), options.weight.as_ref());
        options.reduction.apply(-products.sum_over(-1))
    }

    /// The negative log-likelihood: minus the log-probability `[N, C, ..]` (or `[C]`) of each target `[N, ..]`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let log_probabilities = Tensor::from([[-0.5, -1.0], [-2.0, -0.25]]);
    /// let loss = log_probabilities.nll_loss(&Tensor::from([0i64, 1]), &CrossEntropy::new());
    /// assert_eq!(loss.item(), 0.375);
    /// ```
    #[track_caller]
    pub fn nll_loss(&self, targets: &Tensor, options: &CrossEntropy) -> Tensor {
        let x = classes_last("nll_loss", self);
        options.expect_classes("nll_loss", &x);
        expect_labels("nll_loss", &x, targets);
        let counts = targets.cast(DType::I64).not_equal(options.ignored);
        let classes = counts.where_(targets.cast(DType::I64), 0);
        let axis = x.rank() - 1;
        let picked = x.gather(-1, &classes.unsqueeze(axis)).reshape(classes.shape());
        let weights = options.row_weights(targets, x.dtype());
        options.reduction.apply_weighted(-picked * &weights, || weights.clone())
    }

    /// The squared difference.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 4.0]).mse_loss(&Tensor::from([2.0, 2.0]), Reduction::Mean).item(), 2.5);
    /// ```
    #[track_caller]
    pub fn mse_loss(&self, target: &Tensor, reduction: Reduction) -> Tensor {
        expect_same_shape("mse_loss", self, target);
        let difference = self - target;
        reduction.apply(&difference * &difference)
    }

    /// The absolute difference.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 4.0]).l1_loss(&Tensor::from([2.0, 2.0]), Reduction::Sum).item(), 3.0);
    /// ```
    #[track_caller]
    pub fn l1_loss(&self, target: &Tensor, reduction: Reduction) -> Tensor {
        expect_same_shape("l1_loss", self, target);
        reduction.apply((self - target).abs())
    }

    /// `d^2 / (2 beta)` for differences up to `beta`, `|d| - beta / 2` beyond.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let losses = Tensor::from([0.5, 3.0]).smooth_l1_loss(&Tensor::from([0.0, 0.0]), 1.0, Reduction::None);
    /// assert_eq!(losses, Tensor::from([0.125, 2.5]));
    /// ```
    #[track_caller]
    pub fn smooth_l1_loss(&self, target: &Tensor, beta: f64, reduction: Reduction) -> Tensor {
        expect_same_shape("smooth_l1_loss", self, target);
        if beta == 0.0 {
            return self.l1_loss(target, reduction);
        }
        let difference = self - target;
        let size = difference.abs();
        let losses = size.lt(beta).where_(&difference * &difference * (0.5 / beta), &size - 0.5 * beta);
        reduction.apply(losses)
    }

    /// `d^2 / 2` for differences up to `delta`, `delta (|d| - delta / 2)` beyond.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let losses = Tensor::from([1.0, 3.0]).huber_loss(&Tensor::from([0.0, 0.0]), 2.0, Reduction::None);
    /// assert_eq!(losses, Tensor::from([0.5, 4.0]));
    /// ```
    #[track_caller]
    pub fn huber_loss(&self, target: &Tensor, delta: f64, reduction: Reduction) -> Tensor {
        expect_same_shape("huber_loss", self, target);
        if delta.is_nan() || delta <= 0.0 {
            let message = format!("the border {delta} is not above 0");
            Error::new(ErrorKind::Argument, "huber_loss", message).raise();
        }
        let difference = self - target;
        let size = difference.abs();
        let losses = size.le(delta).where_(&difference * &difference * 0.5, (&size - 0.5 * delta) * delta);
        reduction.apply(losses)
    }

    /// `-(t log x + (1 - t) log(1 - x))` for probabilities x; logarithms are clamped from below at -100.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let loss = Tensor::from([0.5, 0.5]).binary_cross_entropy(&Tensor::from([0.0, 1.0]), None, Reduction::Mean);
    /// assert_eq!(loss.item(), 2f64.ln());
    /// ```
    #[track_caller]
    pub fn binary_cross_entropy(&self, target: &Tensor, weight: Option<&Tensor>, reduction: Reduction) -> Tensor {
        expect_same_shape("binary_cross_entropy", self, target);
        let products = target * bounded_log(self) + (1.0 - target) * bounded_log(&(1.0 - self));
        reduction.apply(scaled("binary_cross_entropy", -products, weight))
    }

    /// The binary cross-entropy of sigmoid(x), finite for every x; `positive` is the weight of terms with target 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let loss = Tensor::from([0.0, -1e4]).binary_cross_entropy_with_logits(
    ///     &Tensor::from([1.0, 0.0]), None, None, Reduction::Sum,
    /// );
    /// assert_eq!(loss.item(), 2f64.ln());
    /// ```
    #[track_caller]
    pub fn binary_cross_entropy_with_logits(
        &self,
        target: &Tensor,
        weight: Option<&Tensor>,
        positive: Option<&Tensor>,
        reduction: Reduction,
    ) -> Tensor {
        expect_same_shape("binary_cross_entropy_with_logits", self, target);
        let tail = (-self).softplus();
        let tail = match positive {
            Some(positive) => tail * ((positive - 1.0) * target + 1.0),
            None => tail,
        };
        reduction.apply(scaled("binary_cross_entropy_with_logits", (1.0 - target) * self + tail, weight))
    }

    /// `t (log t - x)` for log-probabilities x and probabilities t; 0 where t is 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let losses = Tensor::from([-1.0, -2.0]).kl_div(&Tensor::from([1.0, 0.0]), Reduction::None);
    /// assert_eq!(losses, Tensor::from([1.0, 0.0]));
    /// ```
    #[track_caller]
    pub fn kl_div(&self, target: &Tensor, reduction: Reduction) -> Tensor {
        expect_same_shape("kl_div", self, target);
        let entropy = target.xlogy(target);
        reduction.apply(entropy - target * self)
    }

    /// `e^t (t - x)` for log-probabilities x and t.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let losses = Tensor::from([-1.0]).kl_div_log_target(&Tensor::from([0.0]), Reduction::None);
    /// assert_eq!(losses, Tensor::from([1.0]));
    /// ```
    #[track_caller]
    pub fn kl_div_log_target(&self, target: &Tensor, reduction: Reduction) -> Tensor {
        expect_same_shape("kl_div_log_target", self, target);
        reduction.apply(target.exp() * (target - self))
    }

    /// `e^x - t x`: Poisson counts t with mean e^x. `full` adds Stirling's approximation of log t! where t > 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([0.0]).poisson_nll_loss(&Tensor::from([3.0]), false, Reduction::Sum).item(), 1.0);
    /// ```
    #[track_caller]
    pub fn poisson_nll_loss(&self, target: &Tensor, full: bool, reduction: Reduction) -> Tensor {
        expect_same_shape("poisson_nll_loss", self, target);
        reduction.apply(with_stirling(self.exp() - target * self, target, full))
    }

    /// `x - t log(x + epsilon)`: Poisson counts t with mean x. `full` adds Stirling's approximation of log t! where t > 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let loss = Tensor::from([1.0]).poisson_nll_loss_of_rate(&Tensor::from([3.0]), false, 0.0, Reduction::Sum);
    /// assert_eq!(loss.item(), 1.0);
    /// ```
    #[track_caller]
    pub fn poisson_nll_loss_of_rate(&self, target: &Tensor, full: bool, epsilon: f64, reduction: Reduction) -> Tensor {
        expect_same_shape("poisson_nll_loss_of_rate", self, target);
        reduction.apply(with_stirling(self - target * (self + epsilon).log(), target, full))
    }

    /// `(log v + (x - t)^2 / v) / 2` for a variance v of at least `epsilon`; `full` adds `log(2 pi) / 2`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, t, v) = (Tensor::from([3.0]), Tensor::from([1.0]), Tensor::from([1.0]));
    /// assert_eq!(x.gaussian_nll_loss(&t, &v, false, 1e-6, Reduction::Sum).item(), 2.0);
    /// ```
    #[track_caller]
    pub fn gaussian_nll_loss(
        &self,
        target: &Tensor,
        variance: &Tensor,
        full: bool,
        epsilon: f64,
        reduction: Reduction,
    ) -> Tensor {
        expect_same_shape("gaussian_nll_loss", self, target);
        let variance = match variance.rank() + 1 == self.rank() && variance.shape() == &self.shape()[..self.rank() - 1]
        {
            true if variance.rank() > 0 => variance.unsqueeze(variance.rank()),
            _ => variance.clone(),
        };
        // The bound changes the value but lets the gradient pass.
        let bounded = variance.lt(epsilon).where_(&variance - variance.detach() + epsilon, &variance);
        let difference = self - target;
        let losses = (bounded.log() + &difference * &difference / &bounded) * 0.5;
        if losses.shape() != difference.shape() {
            let (own, other) = (Shape::from(variance.shape()), Shape::from(difference.shape()));
            let message = format!("the variances have shape {own}, the predictions {other}");
            Error::new(ErrorKind::Shape(vec![own, other]), "gaussian_nll_loss", message)
                .help("give one variance for each prediction, or for each row")
                .raise();
        }
        reduction.apply(if full { losses + 0.5 * std::f64::consts::TAU.ln() } else { losses })
    }

    /// `x` where the target is 1, `max(0, margin - x)` where it is -1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let losses = Tensor::from([0.5, 0.25]).hinge_embedding_loss(&Tensor::from([1.0, -1.0]), 1.0, Reduction::None);
    /// assert_eq!(losses, Tensor::from([0.5, 0.75]));
    /// ```
    #[track_caller]
    pub fn hinge_embedding_loss(&self, target: &Tensor, margin: f64, reduction: Reduction) -> Tensor {
        expect_same_shape("hinge_embedding_loss", self, target);
        let apart = target.not_equal(1.0).where_((margin - self).clamp_min(0.0), 0.0);
        let near = target.not_equal(-1.0).where_(self, 0.0);
        reduction.apply(apart + near)
    }

    /// `max(0, margin - t (x - other))`: t is 1 where x should be larger, -1 where the other should.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, other, t) = (Tensor::from([1.0]), Tensor::from([3.0]), Tensor::from([1.0]));
    /// assert_eq!(x.margin_ranking_loss(&other, &t, 0.5, Reduction::Mean).item(), 2.5);
    /// ```
    #[track_caller]
    pub fn margin_ranking_loss(&self, other: &Tensor, target: &Tensor, margin: f64, reduction: Reduction) -> Tensor {
        expect_same_shape("margin_ranking_loss", self, other);
        expect_same_shape("margin_ranking_loss", self, target);
        reduction.apply((margin - target * (self - other)).clamp_min(0.0))
    }

    /// `max(0, |x - positive| - |x - negative| + margin)` with distances in the `p`-norm along the last axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, near, far) = (Tensor::from([[0.0, 0.0]]), Tensor::from([[3.0, 4.0]]), Tensor::from([[0.0, 2.0]]));
    /// let loss = x.triplet_margin_loss(&near, &far, 1.0, 2.0, Reduction::Mean);
    /// assert!((loss.item() - 4.0).abs() < 1e-5);
    /// ```
    #[track_caller]
    pub fn triplet_margin_loss(
        &self,
        positive: &Tensor,
        negative: &Tensor,
        margin: f64,
        p: f64,
        reduction: Reduction,
    ) -> Tensor {
        let far = self.pairwise_distance(negative, p, TRIPLET_TINY);
        triplet(self, positive, far, margin, p, reduction)
    }

    /// [`triplet_margin_loss`](Tensor::triplet_margin_loss) where the distance of the negative is measured from x or from the positive,
    /// whichever is smaller.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, near, far) = (Tensor::from([[0.0]]), Tensor::from([[1.0]]), Tensor::from([[3.0]]));
    /// let loss = x.triplet_margin_loss_swap(&near, &far, 2.0, 2.0, Reduction::Mean);
    /// assert!((loss.item() - 1.0).abs() < 1e-5);
    /// ```
    #[track_caller]
    pub fn triplet_margin_loss_swap(
        &self,
        positive: &Tensor,
        negative: &Tensor,
        margin: f64,
        p: f64,
        reduction: Reduction,
    ) -> Tensor {
        let far = self.pairwise_distance(negative, p, TRIPLET_TINY);
        let far = far.minimum(positive.pairwise_distance(negative, p, TRIPLET_TINY));
        triplet(self, positive, far, margin, p, reduction)
    }

    /// `1 - cos` of the angle between the vectors where the target is 1, `max(0, cos - margin)` where it is -1, along the last axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, other) = (Tensor::from([[1.0, 0.0]]), Tensor::from([[0.0, 2.0]]));
    /// assert_eq!(x.cosine_embedding_loss(&other, &Tensor::from([1.0]), 0.0, Reduction::Mean).item(), 1.0);
    /// ```
    #[track_caller]
    pub fn cosine_embedding_loss(&self, other: &Tensor, target: &Tensor, margin: f64, reduction: Reduction) -> Tensor {
        #[track_caller]
        fn inner(a: &Tensor, b: &Tensor) -> Tensor {
            (a * b).sum_over(-1)
        }
        expect_same_shape("cosine_embedding_loss", self, other);
        let cosine = inner(self, other) / ((inner(self, self) + 1e-12) * (inner(other, other) + 1e-12)).sqrt();
        expect_same_shape("cosine_embedding_loss", &cosine, target);
        let near = target.equal(1.0).where_(1.0 - &cosine, 0.0);
        let apart = target.equal(-1.0).where_((&cosine - margin).clamp_min(0.0), 0.0);
        reduction.apply(near + apart)
    }

    /// `log(1 + e^(-t x))`, finite for every x.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([0.0]).soft_margin_loss(&Tensor::from([-1.0]), Reduction::Mean).item(), 2f64.ln());
    /// ```
    #[track_caller]
    pub fn soft_margin_loss(&self, target: &Tensor, reduction: Reduction) -> Tensor {
        expect_same_shape("soft_margin_loss", self, target);
        reduction.apply((-(target * self)).softplus())
    }

    /// The sum over the other classes of `max(0, margin - x[t] + x[c])^p`, divided by the number of classes; p is 1 or 2.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[0.5, 1.0]]);
    /// let loss = x.multi_margin_loss(&Tensor::from([1i64]), 1, 1.0, None, Reduction::Mean);
    /// assert_eq!(loss.item(), 0.25);
    /// ```
    #[track_caller]
    pub fn multi_margin_loss(
        &self,
        targets: &Tensor,
        p: u32,
        margin: f64,
        weight: Option<&Tensor>,
        reduction: Reduction,
    ) -> Tensor {
        if !(1..=2).contains(&p) {
            Error::new(ErrorKind::Argument, "multi_margin_loss", format!("the power {p} is not 1 or 2")).raise();
        }
        if self.rank() == 0 {
            return self.reshape([1]).multi_margin_loss(targets, p, margin, weight, reduction);
        }
        let (axis, classes) = (self.rank() - 1, self.shape()[self.rank() - 1]);
        expect_weights("multi_margin_loss", weight, classes);
        let rows = &self.shape()[..axis];
        let is_whole = targets.elements() == rows.iter().product::<usize>();
        let targets = if is_whole { targets.reshape(rows) } else { targets.clone() };
        expect_labels("multi_margin_loss", self, &targets);
        let targets = targets.cast(DType::I64);
        let own = targets.unsqueeze(axis);
        let distance = (margin - self.gather(-1, &own) + self).relu();
        let powered = if p == 2 { &distance * &distance } else { distance };
        let others = Tensor::arange(classes).equal(&own).where_(0.0, powered);
        let losses = others.sum_over(-1) * (1.0 / classes as f64);
        let losses = match weight {
            Some(weight) => losses * weight.gather(0, &targets.reshape([targets.elements()])).reshape(targets.shape()),
            None => losses,
        };
        reduction.apply(losses)
    }

    /// For each row, the sum over its labels t and all other classes c of `max(0, 1 - x[t] + x[c])`, divided by the number of classes. The
    /// labels are the entries before the first -1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[0.1, 0.2, 0.4, 0.8]]);
    /// let loss = x.multilabel_margin_loss(&Tensor::from([[3i64, 0, -1, 1]]), Reduction::Mean);
    /// assert!((loss.item() - 0.85).abs() < 1e-15);
    /// ```
    #[track_caller]
    pub fn multilabel_margin_loss(&self, targets: &Tensor, reduction: Reduction) -> Tensor {
        if self.rank() == 0 {
            return self.reshape([1]).multilabel_margin_loss(&targets.reshape([1]), reduction);
        }
        expect_same_shape("multilabel_margin_loss", self, targets);
        let (axis, classes) = (self.rank() - 1, self.shape()[self.rank() - 1]);
        let targets = targets.cast(DType::I64);
        // Labels before the first negative one: those with no negative ones up to them.
        let valid = targets.lt(0).cast(DType::I64).cumsum(-1).equal(0);
        let labels = valid.where_(&targets, 0);
        // [.., label, class]: whether the label equals the class.
        let names = Tensor::arange(classes).equal(labels.unsqueeze(axis + 1)).cast(self.dtype())
            * valid.cast(self.dtype()).unsqueeze(axis + 1);
        let named = names.sum_over(-2).gt(0.0).unsqueeze(axis);
        let distance = (1.0 - self.gather(-1, &labels).unsqueeze(axis + 1) + self.unsqueeze(axis)).relu();
        let shape = Shape::from(distance.shape());
        let counts = valid.unsqueeze(axis + 1).broadcast_to(&shape).where_(named.where_(0.0, distance), 0.0);
        reduction.apply(counts.sum_over([-2, -1]) * (1.0 / classes as f64))
    }

    /// For each row, the mean over classes of the binary cross-entropy of sigmoid(x).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let loss = Tensor::from([[0.0, 0.0]]).multilabel_soft_margin_loss(&Tensor::from([[1.0, 0.0]]), None, Reduction::Mean);
    /// assert_eq!(loss.item(), 2f64.ln());
    /// ```
    #[track_caller]
    pub fn multilabel_soft_margin_loss(
        &self,
        target: &Tensor,
        weight: Option<&Tensor>,
        reduction: Reduction,
    ) -> Tensor {
        let name = "multilabel_soft_margin_loss";
        expect_same_shape(name, self, target);
        let losses = target * (-self).softplus() + (1.0 - target) * self.softplus();
        let classes = self.shape().last().copied().unwrap_or(1);
        reduction.apply(scaled(name, losses, weight).sum_over(-1) * (1.0 / classes as f64))
    }
}

/// Adds `t log t - t + log(2 pi t) / 2` where t is above 1.
#[track_caller]
fn with_stirling(losses: Tensor, target: &Tensor, full: bool) -> Tensor {
    if !full {
        return losses;
    }
    let large = target.gt(1.0);
    let safe = large.where_(target, 1.0);
    let term = &safe * safe.log() - &safe + (&safe * std::f64::consts::TAU).log() * 0.5;
    losses + large.where_(term, 0.0)
}

//! Statistics: means, quantiles, counts, covariances.

use crate::Operand;
use crate::error::OrRaise;
use crate::methods::*;
use crate::primitive::expect_float;
use crate::rules::{at_least_vector, checked_axis};
use crate::{DType, Error, ErrorKind, Over, Select, Shape, Tensor, keepdim};
use easy_ext::ext;

/// The methods of `statistics`.
#[ext(StatisticsMethods)]
impl Tensor {
    /// The mean of all elements.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0, 6.0]).mean().item(), 3.0);
    /// ```
    #[track_caller]
    pub fn mean(&self /* of some axes: mean_over(axes) */) -> Tensor {
        self.mean_over(..)
    }

    /// The mean over some axes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 6.0]]).mean_over(0), Tensor::from([2.0, 4.0]));
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 6.0]]).mean_over(keepdim(1)), Tensor::from([[1.5], [4.5]]));
    /// ```
    #[track_caller]
    pub fn mean_over(&self, axes: impl Into<Over>) -> Tensor {
        expect_float("mean", self.dtype()).or_raise();
        let over = axes.into();
        let axes = over.checked("mean", self.shape()).or_raise();
        let count: usize = axes.iter().map(|&axis| self.shape()[axis]).product();
        match self.dtype() {
            // The sum and the count may both exceed the range of half precision.
            half @ (DType::BF16 | DType::F16) => (self.cast(DType::F32).sum_over(over) / count as f64).cast(half),
            _ => self.sum_over(over) / count as f64,
        }
    }

    /// Variance and mean over some axes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (variance, mean) = Tensor::from([1.0, 3.0]).var_mean(0, 1.0);
    /// assert_eq!((variance.item(), mean.item()), (2.0, 2.0));
    /// assert_eq!(Tensor::from([1.0, 3.0]).var_mean(keepdim(0), 1.0).1, Tensor::from([2.0]));
    /// ```
    #[track_caller]
    pub fn var_mean(&self, axes: impl Into<Over>, correction: f64) -> (Tensor, Tensor) {
        let over = axes.into();
        (self.var_corrected(over.clone(), correction), self.mean_over(over))
    }

    /// Standard deviation and mean over some axes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (deviation, mean) = Tensor::from([1.0, 5.0]).std_mean(0, 0.0);
    /// assert_eq!((deviation.item(), mean.item()), (2.0, 3.0));
    /// assert_eq!(Tensor::from([1.0, 5.0]).std_mean(keepdim(0), 0.0).0, Tensor::from([2.0]));
    /// ```
    #[track_caller]
    pub fn std_mean(&self, axes: impl Into<Over>, correction: f64) -> (Tensor, Tensor) {
        let over = axes.into();
        (self.std_corrected(over.clone(), correction), self.mean_over(over))
    }

    /// The sum of all elements that are not NaN.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, f64::NAN, 2.0]).nansum().item(), 3.0);
    /// ```
    #[track_caller]
    pub fn nansum(&self) -> Tensor {
        self.without_nan().sum()
    }

    /// The sum over some axes of the elements that are not NaN.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, f64::NAN], [1.0, 2.0]]).nansum_over(1), Tensor::from([1.0, 3.0]));
    /// assert_eq!(Tensor::from([[1.0, f64::NAN]]).nansum_over(keepdim(1)), Tensor::from([[1.0]]));
    /// ```
    #[track_caller]
    pub fn nansum_over(&self, axes: impl Into<Over>) -> Tensor {
        self.without_nan().sum_over(axes)
    }

    /// The mean of all elements that are not NaN.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, f64::NAN, 2.0]).nanmean().item(), 1.5);
    /// ```
    #[track_caller]
    pub fn nanmean(&self) -> Tensor {
        self.nanmean_over(..)
    }

    /// The mean over some axes of the elements that are not NaN.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, f64::NAN], [1.0, 2.0]]).nanmean_over(1), Tensor::from([1.0, 1.5]));
    /// assert_eq!(Tensor::from([[1.0, f64::NAN]]).nanmean_over(keepdim(1)), Tensor::from([[1.0]]));
    /// ```
    #[track_caller]
    pub fn nanmean_over(&self, axes: impl Into<Over>) -> Tensor {
        expect_float("nanmean", self.dtype()).or_raise();
        // Half precision cannot represent large counts.
        let wide = if self.dtype() == DType::F64 { self.clone() } else { self.cast(DType::F32) };
        let over = axes.into();
        let count = wide.equal(&wide).cast(wide.dtype()).sum_over(over.clone());
        (wide.nansum_over(over) / count).cast(self.dtype())
    }

    /// The number of nonzero elements.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([0.0, 2.0, -1.0]).count_nonzero(), Tensor::from(2i64));
    /// ```
    #[track_caller]
    pub fn count_nonzero(&self) -> Tensor {
        self.count_nonzero_over(..)
    }

    /// The number of nonzero elements over some axes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[0.0, 2.0], [1.0, 3.0]]).count_nonzero_over(1), Tensor::from([1i64, 2]));
    /// assert_eq!(Tensor::from([[0.0, 2.0]]).count_nonzero_over(keepdim(1)), Tensor::from([[1i64]]));
    /// ```
    #[track_caller]
    pub fn count_nonzero_over(&self, axes: impl Into<Over>) -> Tensor {
        self.not_equal(0).cast(DType::I64).sum_over(axes)
    }

    /// The sum of the diagonal of a matrix.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).trace().item(), 5.0);
    /// ```
    #[track_caller]
    pub fn trace(&self) -> Tensor {
        let [rows, columns] = *self.shape() else {
            let shape = Shape::from(self.shape());
            let message = format!("shape {shape} is not that of a matrix");
            Error::new(ErrorKind::Shape(vec![shape]), "trace", message).help("take one matrix with slice").raise()
        };
        let last = rows.min(columns) as i64;
        let stop = if last == 0 { 0 } else { (last - 1) * (columns as i64 + 1) + 1 };
        let diagonal = Select::Range { start: Some(0), stop: Some(stop), step: columns as i64 + 1 };
        self.reshape([rows * columns]).slice(diagonal).sum()
    }

    /// The value that a share `q` of all elements does not exceed, interpolated linearly between two elements. For a vector of shares, the
    /// result has an additional leading axis. Gradients with respect to the shares are defined too.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([3.0, 1.0, 2.0, 4.0]);
    /// assert_eq!(x.quantile(0.5).item(), 2.5);
    /// assert_eq!(x.quantile(Tensor::from([0.0, 0.5])), Tensor::from([1.0, 2.5]));
    /// ```
    #[track_caller]
    pub fn quantile(&self, q: impl Operand) -> Tensor {
        self.reshape([self.elements()]).quantile_along(q, 0, Interpolation::Linear)
    }

    /// The quantile along an axis.
    ///
    /// ```
    /// use wengert::{Interpolation, prelude::*};
    /// let x = Tensor::from([[3.0, 1.0], [5.0, 9.0]]);
    /// assert_eq!(x.quantile_along(0.25, 1, Interpolation::Lower), Tensor::from([1.0, 5.0]));
    /// let x = Tensor::from([[3.0, 1.0]]);
    /// assert_eq!(x.quantile_along(0.5, keepdim(1), Interpolation::Midpoint), Tensor::from([[2.0]]));
    /// ```
    #[track_caller]
    pub fn quantile_along(&self, q: impl Operand, axis: impl Into<Over>, interpolation: Interpolation) -> Tensor {
        quantile("quantile", self, &q.tensor(DType::F64), axis.into(), interpolation, false)
    }

    /// The quantile of all elements that are not NaN.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([3.0, f64::NAN, 1.0]).nanquantile(0.5).item(), 2.0);
    /// ```
    #[track_caller]
    pub fn nanquantile(&self, q: impl Operand) -> Tensor {
        self.reshape([self.elements()]).nanquantile_along(q, 0, Interpolation::Linear)
    }

    /// The quantile along an axis of the elements that are not NaN.
    ///
    /// ```
    /// use wengert::{Interpolation, prelude::*};
    /// let x = Tensor::from([[3.0, f64::NAN], [5.0, 9.0]]);
    /// assert_eq!(x.nanquantile_along(0.5, 1, Interpolation::Linear), Tensor::from([3.0, 7.0]));
    /// let x = Tensor::from([3.0, f64::NAN]);
    /// assert_eq!(x.nanquantile_along(0.5, keepdim(0), Interpolation::Linear), Tensor::from([3.0]));
    /// ```
    #[track_caller]
    pub fn nanquantile_along(&self, q: impl Operand, axis: impl Into<Over>, interpolation: Interpolation) -> Tensor {
        quantile("nanquantile", self, &q.tensor(DType::F64), axis.into(), interpolation, true)
    }

    /// The covariance matrix of variables (rows) over observations (columns), with correction 1; [`Covariance`] has more.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[0.0, 2.0], [2.0, 0.0]]).cov(), Tensor::from([[2.0, -2.0], [-2.0, 2.0]]));
    /// ```
    #[track_caller]
    pub fn cov(&self) -> Tensor {
        Covariance::new().of(self)
    }

    /// The correlation coefficients of variables (rows) over observations (columns).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let r = Tensor::from([[0.0, 2.0, 5.0], [4.0, 2.0, -1.0]]).corrcoef();
    /// assert!(r.all_close(&Tensor::from([[1.0, -1.0], [-1.0, 1.0]]), 1e-14));
    /// ```
    #[track_caller]
    pub fn corrcoef(&self) -> Tensor {
        let covariance = self.cov();
        if covariance.rank() == 0 {
            return covariance.clone() / covariance;
        }
        let n = covariance.shape()[0];
        let diagonal = Select::Range { start: Some(0), stop: None, step: n as i64 + 1 };
        let deviations = covariance.reshape([n * n]).slice(diagonal).sqrt();
        covariance / deviations.reshape([n, 1]) / deviations.reshape([1, n])
    }
}

#[ext(StatisticsParts)]
impl Tensor {
    /// 0 where this is NaN, with gradient 0.
    fn without_nan(&self) -> Tensor {
        self.not_equal(self).where_(0.0, self)
    }
}

/// How a quantile between two elements is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Interpolation {
    /// By linear interpolation.
    #[default]
    Linear,
    /// The lower one.
    Lower,
    /// The higher one.
    Higher,
    /// The mean of both.
    Midpoint,
    /// The nearer one; ties go to the even position.
    Nearest,
}

/// Positions in the sorted row are `q (n - 1)`, where n is the number of elements that count.
#[track_caller]
fn quantile(name: &str, x: &Tensor, q: &Tensor, over: Over, interpolation: Interpolation, skip_nan: bool) -> Tensor {
    expect_float(name, x.dtype()).or_raise();
    expect_float(name, q.dtype()).or_raise();
    if q.rank() > 1 {
        let shape = Shape::from(q.shape());
        let message = format!("q has shape {shape}, which is neither a number nor a vector");
        Error::new(ErrorKind::Shape(vec![shape]), name, message).help("flatten it").raise();
    }
    // While a function is traced or batched, there are no values to check.
    let shares = q.detach().cast(DType::F64).try_to_vec::<f64>().unwrap_or_default();
    if let Some(share) = shares.iter().find(|share| !(0.0..=1.0).contains(*share)) {
        let message = format!("q = {share} is not between 0 and 1");
        Error::new(ErrorKind::Argument, name, message).help("0.5 is the median").raise();
    }
    let row = at_least_vector(x);
    let [axis] = over.exactly(name).or_raise();
    let place = checked_axis(name, axis, row.shape()).or_raise();
    if row.shape()[place] == 0 {
        let shape = Shape::from(x.shape());
        let message = format!("axis {place} of shape {shape} is empty, so it has no quantiles");
        Error::new(ErrorKind::Shape(vec![shape]), name, message).help("look at the shape first").raise();
    }
    let axis = place as isize;
    let sorted = row.sort(axis).0;
    let numbers = row.equal(&*row).cast(DType::F64).sum_over(keepdim(axis));
    let last = numbers.gt(1.0).where_(&numbers - 1.0, 0.0);
    let count = q.elements();
    // The shares lie along the axis until the end.
    let mut aligned = vec![1; row.rank() - place];
    aligned[0] = count;
    let rank = &last * q.cast(DType::F64).reshape(aligned);
    let below = rank.cast(DType::I64);
    let fraction = &rank - below.cast(DType::F64);
    let above = fraction.gt(0.0).where_(&below + 1i64, &below);
    let chosen = match interpolation {
        Interpolation::Linear => fraction.cast(x.dtype()),
        Interpolation::Lower => fraction.full_like(0.0).cast(x.dtype()),
        Interpolation::Higher => fraction.full_like(1.0).cast(x.dtype()),
        Interpolation::Midpoint => fraction.full_like(0.5).cast(x.dtype()),
        Interpolation::Nearest => {
            let half = (below.cast(DType::F64) * 0.5).cast(DType::I64);
            let odd = (&below - half * 2i64).equal(1i64);
            let tie = fraction.equal(0.5).where_(odd.cast(DType::F64), fraction.gt(0.5).cast(DType::F64));
            tie.cast(x.dtype())
        }
    };
    let low = sorted.gather(axis, &below);
    let high = sorted.gather(axis, &above);
    let between = &low + (high - &low) * chosen;
    let result = match skip_nan {
        true => between,
        false => numbers.lt(row.shape()[place] as f64).where_(f64::NAN, between),
    };
    let mut shape = x.shape().to_vec();
    match (over.keeps(), shape.is_empty()) {
        (_, true) => {}
        (true, false) => shape[place] = 1,
        (false, false) => drop(shape.remove(place)),
    }
    match q.rank() {
        0 => result.reshape(shape),
        _ => result.movedim(&[axis], &[0]).reshape([&[count], &shape[..]].concat()),
    }
}

/// A builder for the options of a covariance.
///
/// ```
/// use wengert::{Covariance, prelude::*};
/// let x = Tensor::from([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]);
/// assert_eq!(Covariance::new().of(&x), Tensor::from([[1.0, -1.0], [-1.0, 1.0]]));
/// ```
#[derive(Clone, Debug)]
pub struct Covariance {
    correction: f64,
    frequencies: Option<Tensor>,
    weights: Option<Tensor>,
}

impl Default for Covariance {
    fn default() -> Covariance {
        Covariance::new()
    }
}

impl Covariance {
    /// The default: correction 1, and every observation counts once.
    ///
    /// ```
    /// use wengert::{Covariance, prelude::*};
    /// assert_eq!(Covariance::new().of(&Tensor::from([1.0, 3.0])).item(), 2.0);
    /// ```
    pub fn new() -> Covariance {
        Covariance { correction: 1.0, frequencies: None, weights: None }
    }

    /// Sets the correction.
    ///
    /// ```
    /// use wengert::{Covariance, prelude::*};
    /// assert_eq!(Covariance::new().correction(0.0).of(&Tensor::from([1.0, 3.0])).item(), 1.0);
    /// ```
    pub fn correction(self, correction: f64) -> Covariance {
        Covariance { correction, ..self }
    }

    /// How often each observation occurred, as integers.
    ///
    /// ```
    /// use wengert::{Covariance, prelude::*};
    /// let twice = Covariance::new().frequencies(&Tensor::from([2i64, 2]));
    /// assert_eq!(twice.correction(0.0).of(&Tensor::from([1.0, 3.0])).item(), 1.0);
    /// ```
    pub fn frequencies(self, counts: &Tensor) -> Covariance {
        Covariance { frequencies: Some(counts.clone()), ..self }
    }

    /// The weight of each observation.
    ///
    /// ```
    /// use wengert::{Covariance, prelude::*};
    /// let weighted = Covariance::new().weights(&Tensor::from([0.5, 0.5]));
    /// assert_eq!(weighted.correction(0.0).of(&Tensor::from([1.0, 3.0])).item(), 1.0);
    /// ```
    pub fn weights(self, weights: &Tensor) -> Covariance {
        Covariance { weights: Some(weights.clone()), ..self }
    }

    /// The covariance matrix of variables (rows) over observations (columns); the variance for a single row or a vector.
    ///
    /// ```
    /// use wengert::{Covariance, prelude::*};
    /// assert_eq!(Covariance::new().of(&Tensor::from([[1.0, 3.0]])).item(), 2.0);
    /// ```
    #[track_caller]
    pub fn of(&self, x: &Tensor) -> Tensor {
        expect_float("cov", x.dtype()).or_raise();
        if x.rank() > 2 {
            let shape = Shape::from(x.shape());
            let message = format!("shape {shape} has more axes than variables and observations");
            Error::new(ErrorKind::Shape(vec![shape]), "cov", message).help("reshape it to a matrix").raise();
        }
        let count = if x.rank() == 0 { 1 } else { x.shape()[x.rank() - 1] };
        let rows = if x.rank() == 2 { x.clone() } else { x.reshape([1, count]) };
        let frequencies = self.frequencies.as_ref().map(|counts| counts.cast(x.dtype()));
        let own = self.weights.as_ref().map(|weights| weights.cast(x.dtype()));
        let weights = match (&frequencies, &own) {
            (None, None) => None,
            (Some(w), None) | (None, Some(w)) => Some(w.clone()),
            (Some(f), Some(w)) => Some(f * w),
        };
        let Some(weights) = weights else {
            let centred = &rows - rows.mean_over(keepdim(1));
            return finish(centred.matmul(&centred.t()) / (count as f64 - self.correction).max(0.0));
        };
        let total = weights.sum();
        let mean = (&rows * &weights).sum_over(keepdim(1)) / &total;
        let norm = match (&own, &frequencies) {
            // With weights that are not counts, the correction uses their mean square.
            (Some(a), Some(f)) => &total - (f * a * a).sum() * self.correction / &total,
            (Some(a), None) => &total - (a * a).sum() * self.correction / &total,
            (None, _) => &total - self.correction,
        };
        let centred = rows - mean;
        finish((&centred * weights).matmul(&centred.t()) / norm)
    }
}

/// A scalar for one variable, a matrix for several.
fn finish(matrix: Tensor) -> Tensor {
    if matrix.shape() == [1, 1] { matrix.reshape([]) } else { matrix }
}

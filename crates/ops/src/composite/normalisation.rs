//! Normalisation of channels, and across neighbouring channels.

use crate::network::layer_norm::{EPSILON, Norm};
use crate::prelude::*;

/// The numbers of each channel, reshaped to broadcast against `[N, C, ..]`.
#[track_caller]
fn per_channel(name: &str, what: &str, x: &Tensor, numbers: &Tensor) -> Tensor {
    let channels = x.shape()[1];
    if numbers.shape() != [channels] {
        let shapes = vec![Shape::from(numbers.shape()), Shape::from(x.shape())];
        let message = format!("the {what} has shape {}, the input {} has {channels} channels", shapes[0], shapes[1]);
        Error::new(ErrorKind::Shape(shapes), name, message).help("give one number for each channel").raise();
    }
    let mut shape = vec![1; x.rank() - 1];
    shape[0] = channels;
    numbers.reshape(shape)
}

/// Applies the scale and shift of each channel.
#[track_caller]
fn affine(name: &str, y: Tensor, norm: &Norm) -> Tensor {
    let mut y = y;
    if let Some(weight) = &norm.weight {
        y = &y * per_channel(name, "weight", &y, weight);
    }
    if let Some(bias) = &norm.bias {
        let bias = per_channel(name, "bias", &y, bias);
        y += bias;
    }
    y
}

#[track_caller]
pub(super) fn expect_channels(name: &str, x: &Tensor) {
    if x.rank() < 2 {
        let shape = Shape::from(x.shape());
        let message = format!("shape {shape} has no batch and channel axes");
        Error::new(ErrorKind::Shape(vec![shape]), name, message).help("the input is [N, C, ..]").raise();
    }
}

/// The methods of `normalisation`.
#[ext(NormalisationMethods)]
impl Tensor {
    /// Normalises each channel of `[N, C, ..]` to mean 0 and variance 1 over the batch, then scales and shifts it. Also returns the mean
    /// and the (biased) variance of each channel.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 5.0], [3.0, 5.0]]);
    /// let (y, mean, variance) = x.batch_norm(&Norm::new().epsilon(0.01));
    /// assert!(y.all_close(&Tensor::from([[-0.995037, 0.0], [0.995037, 0.0]]), 1e-6));
    /// assert!(mean.all_close(&Tensor::from([2.0, 5.0]), 1e-15) && variance.all_close(&Tensor::from([1.0, 0.0]), 1e-12));
    /// ```
    #[track_caller]
    pub fn batch_norm(&self, norm: &Norm) -> (Tensor, Tensor, Tensor) {
        let (y, mean, rstd) = self.batch_norm_with_statistics(norm);
        let root = rstd.recip();
        // Of equal numbers the difference is rounding errors.
        (y, mean, (&root * &root - norm.epsilon_or(EPSILON)).clamp_min(0.0))
    }

    /// [`batch_norm`](Tensor::batch_norm), returning the mean and `1 / sqrt(variance + epsilon)` of each channel.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (_, mean, rstd) = Tensor::from([[1.0], [5.0]]).batch_norm_with_statistics(&Norm::new().epsilon(0.0));
    /// assert_eq!((mean, rstd), (Tensor::from([3.0]), Tensor::from([0.5])));
    /// ```
    #[track_caller]
    pub fn batch_norm_with_statistics(&self, norm: &Norm) -> (Tensor, Tensor, Tensor) {
        if self.elements() == 0 {
            let channels = Tensor::constant(0.0, &Spec::new([self.shape().get(1).copied().unwrap_or(0)], self.dtype()));
            let y = if self.rank() < 2 { self.clone() } else { affine("batch_norm", self.clone(), norm) };
            return (y, channels.clone(), channels);
        }
        expect_channels("batch_norm", self);
        // Channels as rows: [C, N, ..], one row each.
        let mut order: Vec<usize> = (0..self.rank()).collect();
        order.swap(0, 1);
        let turned = self.permute(&order);
        let channels = self.shape()[1];
        let rows = turned.reshape([channels, self.elements() / channels]);
        let plain = Norm::new().epsilon(norm.epsilon_or(EPSILON));
        let (y, mean, rstd) = rows.layer_norm_with_statistics(&rows.shape()[1..], &plain);
        let y = y.reshape(turned.shape()).permute(&order);
        (affine("batch_norm", y, norm), mean.reshape([channels]), rstd.reshape([channels]))
    }

    /// Normalises `[N, C, ..]` with a given mean and variance of each channel, then scales and shifts it: batch norm in evaluation mode.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, mean, variance) = (Tensor::from([[3.0]]), Tensor::from([1.0]), Tensor::from([4.0]));
    /// assert_eq!(x.batch_norm_given(&mean, &variance, &Norm::new().epsilon(0.0)), Tensor::from([[1.0]]));
    /// ```
    #[track_caller]
    pub fn batch_norm_given(&self, mean: &Tensor, variance: &Tensor, norm: &Norm) -> Tensor {
        if self.elements() == 0 && self.rank() < 2 {
            return self.clone();
        }
        expect_channels("batch_norm", self);
        let rstd = (variance + norm.epsilon_or(EPSILON)).sqrt().recip();
        let factor = norm.weight.as_ref().map_or_else(|| rstd.clone(), |weight| &rstd * weight);
        let centered = self - per_channel("batch_norm", "mean", self, mean);
        let mut y = centered * per_channel("batch_norm", "variance", self, &factor);
        if let Some(bias) = &norm.bias {
            y += per_channel("batch_norm", "bias", self, bias);
        }
        y
    }

    /// Normalises each group of channels of each element of `[N, C, ..]` to mean 0 and variance 1, then scales and shifts each channel.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([[1.0, 3.0, 5.0, 5.0]]).group_norm(2, &Norm::new().epsilon(0.01));
    /// assert!(y.all_close(&Tensor::from([[-0.995037, 0.995037, 0.0, 0.0]]), 1e-6));
    /// ```
    #[track_caller]
    pub fn group_norm(&self, groups: usize, norm: &Norm) -> Tensor {
        self.group_norm_with_statistics(groups, norm).0
    }

    /// [`group_norm`](Tensor::group_norm), returning also the mean and `1 / sqrt(variance + epsilon)` of each element's groups,
    /// `[N, groups]`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (_, mean, rstd) = Tensor::from([[3.0, 7.0]]).group_norm_with_statistics(1, &Norm::new().epsilon(0.0));
    /// assert_eq!((mean, rstd), (Tensor::from([[5.0]]), Tensor::from([[0.5]])));
    /// ```
    #[track_caller]
    pub fn group_norm_with_statistics(&self, groups: usize, norm: &Norm) -> (Tensor, Tensor, Tensor) {
        expect_channels("group_norm", self);
        let (batch, channels) = (self.shape()[0], self.shape()[1]);
        if groups == 0 || !channels.is_multiple_of(groups) {
            let message = format!("{channels} channels do not make {groups} groups");
            Error::new(ErrorKind::Argument, "group_norm", message).raise();
        }
        let each = channels / groups * self.shape()[2..].iter().product::<usize>();
        let rows = self.reshape([batch, groups, each]);
        let plain = Norm::new().epsilon(norm.epsilon_or(EPSILON));
        let (y, mean, rstd) = rows.layer_norm_with_statistics(&[each], &plain);
        let y = affine("group_norm", y.reshape(self.shape()), norm);
        (y, mean.reshape([batch, groups]), rstd.reshape([batch, groups]))
    }

    /// Normalises each channel of each element of `[N, C, ..]` to mean 0 and variance 1, then scales and shifts it.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([[[1.0, 3.0], [5.0, 5.0]]]).instance_norm(&Norm::new().epsilon(0.01));
    /// assert!(y.all_close(&Tensor::from([[[-0.995037, 0.995037], [0.0, 0.0]]]), 1e-6));
    /// ```
    #[track_caller]
    pub fn instance_norm(&self, norm: &Norm) -> Tensor {
        expect_channels("instance_norm", self);
        self.group_norm(self.shape()[1].max(1), norm)
    }

    /// `x / (k + alpha mean(x^2))^beta`, with the mean over `size` neighbouring channels of `[N, C, ..]`; missing ones count as 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([[2.0, 2.0]]).local_response_norm(1, 0.25, 1.0, 1.0);
    /// assert!(y.all_close(&Tensor::from([[1.0, 1.0]]), 1e-15));
    /// ```
    #[track_caller]
    pub fn local_response_norm(&self, size: usize, alpha: f64, beta: f64, k: f64) -> Tensor {
        expect_channels("local_response_norm", self);
        if size == 0 {
            Error::new(ErrorKind::Argument, "local_response_norm", "needs at least one channel").raise();
        }
        let (batch, channels) = (self.shape()[0], self.shape()[1]);
        let rest = self.shape()[2..].iter().product::<usize>();
        // Channel c averages channels from c - size / 2 to c + (size - 1) / 2.
        let near = |c: usize, other: usize| other + size / 2 >= c && other <= c + (size - 1) / 2;
        let band: Vec<f64> = (0..channels * channels)
            .map(|i| if near(i / channels.max(1), i % channels.max(1)) { 1.0 / size as f64 } else { 0.0 })
            .collect();
        let band = Tensor::from_vec(band, [channels, channels]).cast(self.dtype());
        let squares = (self * self).reshape([batch, channels, rest]);
        let means = band.matmul(&squares).reshape(self.shape());
        self * (means * alpha + k).powf(-beta)
    }
}

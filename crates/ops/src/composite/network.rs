//! Layers without their own rule: dropout, channel shuffling, power pooling.

use super::normalisation::expect_channels;
use crate::Key;
use crate::autograd::modes::within;
use crate::network::max_pool::Pool;
use crate::prelude::*;

/// The methods of `network`.
#[ext(NetworkMethods)]
impl Tensor {
    /// Sets each element to 0 with probability `p`, and divides the others by `1 - p`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::ones([1000]).dropout(0.25, &Key::new(7));
    /// assert!((y.mean().item() - 1.0).abs() < 0.1);
    /// assert_eq!(Tensor::ones([3]).dropout(0.0, &Key::new(7)), Tensor::ones([3]));
    /// ```
    #[track_caller]
    pub fn dropout(&self, p: f64, key: &Key) -> Tensor {
        let _name = within("dropout");
        self.drop_by("dropout", p, key, Shape::from(self.shape()))
    }

    /// Sets whole channels of `[N, C, ..]` to 0 with probability `p`, and divides the others by `1 - p`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::ones([4, 8, 5]).feature_dropout(0.5, &Key::new(7));
    /// assert_eq!(y.slice((.., .., 0)), y.slice((.., .., 4)));
    /// ```
    #[track_caller]
    pub fn feature_dropout(&self, p: f64, key: &Key) -> Tensor {
        expect_channels("feature_dropout", self);
        let shape = self.shape().iter().enumerate().map(|(axis, &size)| if axis < 2 { size } else { 1 });
        self.drop_by("feature_dropout", p, key, shape.collect())
    }

    /// Dropout that preserves mean 0 and variance 1 after a selu: dropped elements become the lower bound of selu, then all are scaled and
    /// shifted.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::ones([3]).alpha_dropout(0.0, &Key::new(7)), Tensor::ones([3]));
    /// ```
    #[track_caller]
    pub fn alpha_dropout(&self, p: f64, key: &Key) -> Tensor {
        expect_probability("alpha_dropout", p);
        if p == 0.0 {
            return self.clone();
        }
        if p == 1.0 {
            return self * 0.0;
        }
        let bound = -1.758_099_340_847_376_6;
        let scale = 1.0 / ((1.0 - p) * (1.0 + p * bound * bound)).sqrt();
        let kept = key.uniform(self.shape(), DType::F32).ge(p);
        kept.where_(self, bound) * scale - scale * p * bound
    }

    /// Rearranges `[.., C r^2, H, W]` to `[.., C, H r, W r]`: channels become pixels.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]]);
    /// assert_eq!(x.pixel_shuffle(2), Tensor::from([[[[1.0, 2.0], [3.0, 4.0]]]]));
    /// ```
    #[track_caller]
    pub fn pixel_shuffle(&self, factor: usize) -> Tensor {
        let lead = self.image_axes("pixel_shuffle");
        let [.., channels, h, w] = *self.shape() else { unreachable!("the rank was checked") };
        if factor == 0 || !channels.is_multiple_of(factor * factor) {
            let message = format!("{channels} channels do not make squares of {factor}");
            Error::new(ErrorKind::Argument, "pixel_shuffle", message).raise();
        }
        let c = channels / (factor * factor);
        let split: Shape = self.shape()[..lead].iter().copied().chain([c, factor, factor, h, w]).collect();
        let order: Vec<usize> = (0..=lead).chain([3, 1, 4, 2].map(|axis| lead + axis)).collect();
        let shape: Shape = self.shape()[..lead].iter().copied().chain([c, h * factor, w * factor]).collect();
        self.reshape(split).permute(&order).reshape(shape)
    }

    /// Rearranges `[.., C, H r, W r]` to `[.., C r^2, H, W]`: the inverse of [`pixel_shuffle`](Tensor::pixel_shuffle).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[[[1.0, 2.0], [3.0, 4.0]]]]);
    /// assert_eq!(x.pixel_unshuffle(2).pixel_shuffle(2), x);
    /// ```
    #[track_caller]
    pub fn pixel_unshuffle(&self, factor: usize) -> Tensor {
        let lead = self.image_axes("pixel_unshuffle");
        let [.., c, h, w] = *self.shape() else { unreachable!("the rank was checked") };
        if factor == 0 || !h.is_multiple_of(factor) || !w.is_multiple_of(factor) {
            let message = format!("an image of {h} x {w} does not make squares of {factor}");
            Error::new(ErrorKind::Argument, "pixel_unshuffle", message).raise();
        }
        let (h, w) = (h / factor, w / factor);
        let split: Shape = self.shape()[..lead].iter().copied().chain([c, h, factor, w, factor]).collect();
        let order: Vec<usize> = (0..=lead).chain([2, 4, 1, 3].map(|axis| lead + axis)).collect();
        let shape: Shape = self.shape()[..lead].iter().copied().chain([c * factor * factor, h, w]).collect();
        self.reshape(split).permute(&order).reshape(shape)
    }

    /// Interleaves the channels of all groups of `[N, C, ..]`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 2.0, 3.0, 4.0]]);
    /// assert_eq!(x.channel_shuffle(2), Tensor::from([[1.0, 3.0, 2.0, 4.0]]));
    /// ```
    #[track_caller]
    pub fn channel_shuffle(&self, groups: usize) -> Tensor {
        expect_channels("channel_shuffle", self);
        let channels = self.shape()[1];
        if groups == 0 || !channels.is_multiple_of(groups) {
            let message = format!("{channels} channels do not make {groups} groups");
            Error::new(ErrorKind::Argument, "channel_shuffle", message).raise();
        }
        let rest = &self.shape()[2..];
        let split: Shape = [self.shape()[0], groups, channels / groups].iter().chain(rest).copied().collect();
        let order: Vec<usize> = [0, 2, 1].into_iter().chain(3..split.rank()).collect();
        self.reshape(split).permute(&order).reshape(self.shape())
    }
}

#[ext(NetworkParts)]
impl Tensor {
    #[track_caller]
    fn drop_by(&self, name: &str, p: f64, key: &Key, shape: Shape) -> Tensor {
        expect_probability(name, p);
        if p == 0.0 {
            return self.clone();
        }
        // A key is two words of the CPU, unless it was moved.
        let key = Key::from_tensor(key.tensor().clone().beside(self));
        let kept = key.uniform(shape, DType::F32).ge(p).broadcast_to(self.shape());
        let scale = if p == 1.0 { 0.0 } else { 1.0 / (1.0 - p) };
        kept.where_(self * scale, 0.0)
    }

    /// The number of axes before channels, height and width.
    #[track_caller]
    fn image_axes(&self, name: &str) -> usize {
        match self.rank().checked_sub(3) {
            Some(lead) => lead,
            None => {
                let shape = Shape::from(self.shape());
                Error::new(ErrorKind::Shape(vec![shape.clone()]), name, format!("shape {shape} is not [.., C, H, W]"))
                    .raise()
            }
        }
    }
}

/// One method for each number of axes.
macro_rules! power_pools {
    ($($axes:literal $average:ident $name:ident;)*) => {
        /// Power-average pooling.
        #[ext(PowerPoolMethods)]
        impl Tensor {$(
            /// The p-th root of the sum of p-th powers over each window of the last axes.
            ///
            /// ```
            /// use wengert::prelude::*;
            #[doc = concat!("let mut shape = vec![1, 1]; shape.resize(2 + ", $axes, ", 2);")]
            #[doc = concat!("let y = Tensor::ones(shape).", stringify!($name), "(2.0, &Pool::new(2));")]
            #[doc = concat!("assert!((y.item() - 2f64.powf(", $axes, " as f64 / 2.0)).abs() < 1e-14);")]
            /// ```
            #[track_caller]
            pub fn $name(&self, p: f64, pool: &Pool) -> Tensor {
                let size: usize = pool.kernel(stringify!($name), $axes).iter().product();
                let means = self.powf(p).$average(pool);
                (means.sign() * means.abs().relu() * size as f64).powf(1.0 / p)
            }
        )*}
    };
}
power_pools! {
    1 avg_pool1d lp_pool1d;
    2 avg_pool2d lp_pool2d;
    3 avg_pool3d lp_pool3d;
}

#[track_caller]
fn expect_probability(name: &str, p: f64) {
    if !(0.0..=1.0).contains(&p) {
        let message = format!("{p} is not a probability");
        Error::new(ErrorKind::Argument, name, message).help("give a number from 0 to 1").raise();
    }
}

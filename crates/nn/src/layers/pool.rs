//! Pooling.

use crate::prelude::*;
use crate::{Context, Layer};

macro_rules! pools {
    ($($(#[$doc:meta])* $Layer:ident $method:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Tree)]
        #[tree(crate = "crate::prelude")]
        pub struct $Layer {
            #[tree(static)]
            pool: Pool,
        }

        impl $Layer {
            /// Adjacent windows of this size.
            pub fn new(kernel: impl Into<Sizes>) -> $Layer {
                $Layer::with(Pool::new(kernel))
            }

            /// By these options.
            pub fn with(pool: Pool) -> $Layer {
                $Layer { pool }
            }

            /// The step from one window to the next.
            #[must_use]
            pub fn stride(self, stride: impl Into<Sizes>) -> $Layer {
                $Layer { pool: self.pool.stride(stride) }
            }

            /// Padding around the input.
            #[must_use]
            pub fn padding(self, padding: impl Into<Sizes>) -> $Layer {
                $Layer { pool: self.pool.padding(padding) }
            }
        }

        impl Layer for $Layer {
            fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
                context.run(self, |_| x.$method(&self.pool))
            }
        }
    )+};
}

macro_rules! adaptive_pools {
    ($($(#[$doc:meta])* $Layer:ident $method:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Tree)]
        #[tree(crate = "crate::prelude")]
        pub struct $Layer {
            #[tree(static)]
            output: Sizes,
        }

        impl $Layer {
            /// Windows such that the output has this size.
            pub fn new(output: impl Into<Sizes>) -> $Layer {
                $Layer { output: output.into() }
            }
        }

        impl Layer for $Layer {
            fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
                context.run(self, |_| x.$method(self.output.clone()))
            }
        }
    )+};
}

pools! {
    /// The maximum of windows of `[batch, channels, length]`.
    MaxPool1d max_pool1d;
    /// The maximum of windows of `[batch, channels, height, width]`.
    ///
    /// ```
    /// use wengert::nn::{Context, Layer, MaxPool2d};
    /// use wengert::prelude::*;
    /// let y = MaxPool2d::new(2).forward(&Tensor::ones([1, 1, 4, 4]), &mut Context::evaluation());
    /// assert_eq!(y.shape(), [1, 1, 2, 2]);
    /// ```
    MaxPool2d max_pool2d;
    /// The maximum of windows of `[batch, channels, depth, height, width]`.
    MaxPool3d max_pool3d;
    /// The mean of windows of `[batch, channels, length]`.
    AvgPool1d avg_pool1d;
    /// The mean of windows of `[batch, channels, height, width]`.
    AvgPool2d avg_pool2d;
    /// The mean of windows of `[batch, channels, depth, height, width]`.
    AvgPool3d avg_pool3d;
}

adaptive_pools! {
    /// The mean of as many windows of `[batch, channels, length]` as the output has elements.
    AdaptiveAvgPool1d adaptive_avg_pool1d;
    /// The mean of as many windows of `[batch, channels, height, width]` as the output has elements.
    ///
    /// ```
    /// use wengert::nn::{AdaptiveAvgPool2d, Context, Layer};
    /// use wengert::prelude::*;
    /// let y = AdaptiveAvgPool2d::new(1).forward(&Tensor::ones([2, 3, 5, 7]), &mut Context::evaluation());
    /// assert_eq!(y.shape(), [2, 3, 1, 1]);
    /// ```
    AdaptiveAvgPool2d adaptive_avg_pool2d;
    /// The mean of as many windows of `[batch, channels, depth, height, width]` as the output has elements.
    AdaptiveAvgPool3d adaptive_avg_pool3d;
    /// The maximum of as many windows of `[batch, channels, length]` as the output has elements.
    AdaptiveMaxPool1d adaptive_max_pool1d;
    /// The maximum of as many windows of `[batch, channels, height, width]` as the output has elements.
    AdaptiveMaxPool2d adaptive_max_pool2d;
    /// The maximum of as many windows of `[batch, channels, depth, height, width]` as the output has elements.
    AdaptiveMaxPool3d adaptive_max_pool3d;
}

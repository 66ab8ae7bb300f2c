//! Convolutions.

use crate::prelude::*;
use crate::{Context, Layer, init};

macro_rules! convolutions {
    ($($(#[$doc:meta])* $Layer:ident $axes:literal $method:ident $is_transposed:literal $($output_padding:ident)?;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Tree)]
        #[tree(crate = "crate::prelude")]
        pub struct $Layer {
            /// `[outputs, inputs / groups, ..kernel]`; of a transposed convolution `[inputs, outputs / groups, ..kernel]`.
            pub weight: Tensor,
            /// `[outputs]`.
            pub bias: Option<Tensor>,
            #[tree(static)]
            options: Conv,
        }

        impl $Layer {
            /// A layer with random parameters; stride 1, no padding.
            #[track_caller]
            pub fn new(inputs: usize, outputs: usize, kernel: impl Into<Kernel<$axes>>, key: &mut Key) -> $Layer {
                $Layer::grouped(inputs, outputs, kernel, 1, key)
            }

            /// Each of the `groups` groups of outputs reads its own group of inputs.
            ///
            /// # Panics
            /// If there are no groups, or inputs and outputs cannot be divided into them.
            #[track_caller]
            pub fn grouped(
                inputs: usize,
                outputs: usize,
                kernel: impl Into<Kernel<$axes>>,
                groups: usize,
                key: &mut Key,
            ) -> $Layer {
                expect_groups(stringify!($Layer), inputs, outputs, groups);
                let Kernel(kernel) = kernel.into();
                let (first, second) = if $is_transposed { (inputs, outputs / groups) } else { (outputs, inputs / groups) };
                let shape = [&[first, second], &kernel[..]].concat();
                let fan_in = second * kernel.iter().product::<usize>();
                let weight = init::usual(shape, fan_in, key);
                let bias = Some(init::usual([outputs], fan_in, key));
                $Layer { weight, bias, options: Conv::new().groups(groups) }
            }

            /// A layer with these parameters; stride 1, no padding.
            pub fn of(weight: Tensor, bias: Option<Tensor>) -> $Layer {
                $Layer { weight, bias, options: Conv::new() }
            }

            /// The step from one position to the next.
            #[must_use]
            pub fn stride(self, stride: impl Into<Sizes>) -> $Layer {
                $Layer { options: self.options.stride(stride), ..self }
            }

            /// Zeros around the input.
            #[must_use]
            pub fn padding(self, padding: impl Into<Padding>) -> $Layer {
                $Layer { options: self.options.padding(padding), ..self }
            }

            /// The distance of the elements that one output reads.
            #[must_use]
            pub fn dilation(self, dilation: impl Into<Sizes>) -> $Layer {
                $Layer { options: self.options.dilation(dilation), ..self }
            }

            $(
                /// What is added to one side of the output, so that it has the size that a convolution began with.
                #[must_use]
                pub fn $output_padding(self, padding: impl Into<Sizes>) -> $Layer {
                    $Layer { options: self.options.output_padding(padding), ..self }
                }
            )?

            /// The layer without a bias.
            #[must_use]
            pub fn without_bias(self) -> $Layer {
                $Layer { bias: None, ..self }
            }
        }

        impl Layer for $Layer {
            fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
                context.run(self, |_| match &self.bias {
                    Some(bias) => x.$method(&self.weight, &self.options.clone().bias(bias)),
                    None => x.$method(&self.weight, &self.options),
                })
            }
        }
    )+};
}

#[track_caller]
fn expect_groups(layer: &'static str, inputs: usize, outputs: usize, groups: usize) {
    if groups == 0 || !inputs.is_multiple_of(groups) || !outputs.is_multiple_of(groups) {
        let message = format!("{inputs} inputs and {outputs} outputs cannot be divided into {groups} groups");
        Error::new(ErrorKind::Argument, layer, message).at(Line::caller()).raise();
    }
}

/// The size of a kernel: one number for all axes, or one for each.
pub struct Kernel<const AXES: usize>([usize; AXES]);

impl<const AXES: usize> From<usize> for Kernel<AXES> {
    fn from(size: usize) -> Kernel<AXES> {
        Kernel([size; AXES])
    }
}

impl<const AXES: usize> From<[usize; AXES]> for Kernel<AXES> {
    fn from(sizes: [usize; AXES]) -> Kernel<AXES> {
        Kernel(sizes)
    }
}

convolutions! {
    /// Convolution of `[batch, channels, length]`.
    Conv1d 1 conv1d false;
    /// Convolution of `[batch, channels, height, width]`.
    ///
    /// ```
    /// use wengert::nn::{Context, Conv2d, Layer};
    /// use wengert::prelude::*;
    /// let layer = Conv2d::new(3, 8, 3, &mut Key::new(0)).stride(2).padding(1);
    /// assert_eq!(layer.forward(&Tensor::ones([1, 3, 8, 8]), &mut Context::evaluation()).shape(), [1, 8, 4, 4]);
    /// ```
    Conv2d 2 conv2d false;
    /// Convolution of `[batch, channels, depth, height, width]`.
    Conv3d 3 conv3d false;
    /// Transposed convolution of `[batch, channels, length]`.
    ConvTranspose1d 1 conv_transpose1d true output_padding;
    /// Transposed convolution of `[batch, channels, height, width]`.
    ///
    /// ```
    /// use wengert::nn::{Context, ConvTranspose2d, Layer};
    /// use wengert::prelude::*;
    /// let layer = ConvTranspose2d::new(8, 3, 2, &mut Key::new(0)).stride(2);
    /// assert_eq!(layer.forward(&Tensor::ones([1, 8, 4, 4]), &mut Context::evaluation()).shape(), [1, 3, 8, 8]);
    /// ```
    ConvTranspose2d 2 conv_transpose2d true output_padding;
    /// Transposed convolution of `[batch, channels, depth, height, width]`.
    ConvTranspose3d 3 conv_transpose3d true output_padding;
}

//! The geometry of a convolution.

/// The geometry of a convolution of `[batch, channels, input..]` with `[outputs, channels / groups, kernel..]`.
///
/// With fewer than three spatial axes, the leading ones have size 1. All tensors are row-major and contiguous.
///
/// ```
/// use wengert_kernels::Convolution;
/// // A 3 x 3 kernel on an image of 5 x 4 with a border of one zero.
/// let convolution = Convolution { kernel: [1, 3, 3], before: [0, 1, 1], after: [0, 1, 1], ..Convolution::new(1, 2, 8, [1, 5, 4]) };
/// assert_eq!(convolution.output(), [1, 5, 4]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convolution {
    /// The number of images.
    pub batch: usize,
    /// Channels of the input, a multiple of `groups`.
    pub channels: usize,
    /// Channels of the output, a multiple of `groups`.
    pub outputs: usize,
    /// Each group of output channels reads its own group of input channels.
    pub groups: usize,
    /// The spatial size of the input.
    pub input: [usize; 3],
    /// The spatial size of the kernel, at least 1.
    pub kernel: [usize; 3],
    /// The step from one position of the kernel to the next, at least 1.
    pub stride: [usize; 3],
    /// The step from one tap of the kernel to the next, at least 1.
    pub dilation: [usize; 3],
    /// Zeros before the input.
    pub before: [usize; 3],
    /// Zeros after the input.
    pub after: [usize; 3],
}

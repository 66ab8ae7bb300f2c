//! Maxima and averages over windows of images, for one to three spatial axes.
//!
//! The window of output `o` holds the inputs `o * stride + k * dilation - before` for `k` in the kernel ([`Pooling`]), or all from
//! `floor(o * input / output)` to `ceil((o + 1) * input / output)` ([`AdaptivePooling`]). Padding never wins a maximum and adds zero to a
//! sum. The gradient of a maximum goes to the index of the maximum ([`scatter_planes`]); that of an average is its transpose.
//!
//! Tensors are row-major `[planes, spatial..]`; planes are computed independently of each other.

mod adaptive;
mod average;
mod max;
mod planes;
mod window;

pub use adaptive::AdaptivePooling;
pub use planes::{gather_planes, scatter_planes};

use crate::matmul::Product;
use window::Window;

/// The geometry of pooling with equal windows at equal distances.
///
/// With fewer than three spatial axes, the leading ones have size 1.
///
/// ```
/// use wengert_kernels::Pooling;
/// let pooling = Pooling::new(1, [1, 4, 4], [1, 2, 2]);
/// assert_eq!(pooling.output, [1, 2, 2]);
/// let (mut out, mut index) = ([0.0f32; 4], [0; 4]);
/// let x: Vec<f32> = (0..16).map(|i| i as f32).collect();
/// pooling.max(&x, &mut out, &mut index);
/// assert_eq!((out, index), ([5.0, 7.0, 13.0, 15.0], [5, 7, 13, 15]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pooling {
    /// The number of planes: images times channels.
    pub planes: usize,
    /// The spatial size of the input.
    pub input: [usize; 3],
    /// The size of a window, at least 1.
    pub kernel: [usize; 3],
    /// The step from one window to the next, at least 1.
    pub stride: [usize; 3],
    /// The step from one element of a window to the next, at least 1.
    pub dilation: [usize; 3],
    /// Padding before the input.
    pub before: [usize; 3],
    /// Padding after the input.
    pub after: [usize; 3],
    /// The spatial size of the output, usually [`output_size`](Pooling::output_size).
    pub output: [usize; 3],
}

impl Pooling {
    /// Adjacent windows (the stride is the kernel), without padding.
    ///
    /// ```
    /// use wengert_kernels::Pooling;
    /// assert_eq!(Pooling::new(6, [1, 7, 9], [1, 2, 3]).output, [1, 3, 3]);
    /// ```
    pub fn new(planes: usize, input: [usize; 3], kernel: [usize; 3]) -> Pooling {
        let (dilation, before, after) = ([1; 3], [0; 3], [0; 3]);
        let pooling = Pooling { planes, input, kernel, stride: kernel, dilation, before, after, output: [0; 3] };
        Pooling { output: pooling.output_size(false), ..pooling }
    }

    /// The number of windows that fit on each axis. With `ceil`, the last one may extend beyond the padded input, as long as it begins in
    /// the input or in the padding before it.
    ///
    /// ```
    /// use wengert_kernels::Pooling;
    /// let pooling = Pooling::new(1, [1, 5, 5], [1, 2, 2]);
    /// assert_eq!(pooling.output_size(false), [1, 2, 2]);
    /// assert_eq!(pooling.output_size(true), [1, 3, 3]);
    /// ```
    pub fn output_size(&self, ceil: bool) -> [usize; 3] {
        std::array::from_fn(|axis| {
            let (stride, before) = (self.stride[axis], self.before[axis]);
            let span = self.dilation[axis] * (self.kernel[axis] - 1) + 1;
            let room = self.input[axis] + before + self.after[axis];
            let slack = if ceil { stride - 1 } else { 0 };
            if room + slack < span {
                return 0;
            }
            let count = (room + slack - span) / stride + 1;
            if ceil && (count - 1) * stride >= self.input[axis] + before { count - 1 } else { count }
        })
    }

    /// The maximum of each window and its position in the plane of the input.
    ///
    /// The first of equal maxima wins; a NaN beats every number. Every window must hold an element of the input.
    ///
    /// ```
    /// use wengert_kernels::Pooling;
    /// let pooling = Pooling { stride: [1; 3], output: [1, 1, 3], ..Pooling::new(1, [1, 1, 4], [1, 1, 2]) };
    /// let (mut out, mut index) = ([0.0f64; 3], [0; 3]);
    /// pooling.max(&[1.0, 5.0, 5.0, f64::NAN], &mut out, &mut index);
    /// assert_eq!(index, [1, 1, 3]);
    /// ```
    pub fn max<T: Product>(&self, x: &[T], out: &mut [T], index: &mut [i64]) {
        self.expect_lengths("max pooling", x.len(), out.len());
        max::max(self, x, out, index);
    }

    /// The average of each window: its sum divided by `divisor` if given, else by the number of its elements, including those in the
    /// padding (but not beyond it) if `count_include_pad`. A window without elements gives zero.
    ///
    /// ```
    /// use wengert_kernels::Pooling;
    /// let pooling = Pooling { before: [0, 0, 1], output: [1, 1, 2], ..Pooling::new(1, [1, 1, 3], [1, 1, 2]) };
    /// let mut out = [0.0f32; 2];
    /// pooling.average(&[4.0, 6.0, 8.0], &mut out, true, None);
    /// assert_eq!(out, [2.0, 7.0]);
    /// pooling.average(&[4.0, 6.0, 8.0], &mut out, false, None);
    /// assert_eq!(out, [4.0, 7.0]);
    /// ```
    pub fn average<T: Product>(&self, x: &[T], out: &mut [T], count_include_pad: bool, divisor: Option<f64>) {
        self.expect_lengths("average pooling", x.len(), out.len());
        average::average(self, x, out, count_include_pad, divisor);
    }

    /// The transpose of [`average`](Pooling::average): `g` has the shape of the output, `out` that of the input.
    ///
    /// ```
    /// use wengert_kernels::Pooling;
    /// let mut out = [9.0f32; 5];
    /// Pooling::new(1, [1, 1, 5], [1, 1, 2]).average_gradient(&[2.0, 6.0], &mut out, true, None);
    /// assert_eq!(out, [1.0, 1.0, 3.0, 3.0, 0.0]);
    /// ```
    pub fn average_gradient<T: Product>(&self, g: &[T], out: &mut [T], count_include_pad: bool, divisor: Option<f64>) {
        self.expect_lengths("average pooling", out.len(), g.len());
        average::gradient(self, g, out, count_include_pad, divisor);
    }

    fn expect_lengths(&self, what: &str, input: usize, output: usize) {
        let positive = [self.kernel, self.stride, self.dilation].iter().flatten().all(|&size| size > 0);
        assert!(positive, "{what}: kernel, stride and dilation start at 1: {self:?}");
        expect_lengths(what, self.planes, [(self.input, input), (self.output, output)]);
    }

    /// The windows of each axis.
    fn windows(&self) -> [Vec<Window>; 3] {
        std::array::from_fn(|axis| (0..self.output[axis]).map(|o| Window::of_pooling(self, axis, o)).collect())
    }
}

/// Panics unless input and output have their sizes.
fn expect_lengths(what: &str, planes: usize, tensors: [([usize; 3], usize); 2]) {
    for (name, (size, length)) in ["input", "output"].iter().zip(tensors) {
        let expected = planes * size.iter().product::<usize>();
        assert_eq!(length, expected, "{what}: the {name} must have {expected} elements: {planes} planes of {size:?}");
    }
}

#[cfg(test)]
mod tests;

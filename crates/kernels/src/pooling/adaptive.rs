//! Pooling to a given size: the window of output `o` is `floor(o * input / output) .. ceil((o + 1) * input / output)`.

use super::window::Window;
use super::{average, expect_lengths, max};
use crate::matmul::Product;

/// The geometry of pooling to the size `output`.
///
/// ```
/// use wengert_kernels::AdaptivePooling;
/// let pooling = AdaptivePooling { planes: 1, input: [1, 1, 5], output: [1, 1, 2] };
/// let mut out = [0.0f32; 2];
/// pooling.average(&[1.0, 2.0, 3.0, 4.0, 5.0], &mut out);
/// assert_eq!(out, [2.0, 4.0]); // Both windows hold the middle.
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptivePooling {
    /// The number of planes: images times channels.
    pub planes: usize,
    /// The spatial size of the input.
    pub input: [usize; 3],
    /// The spatial size of the output.
    pub output: [usize; 3],
}

impl AdaptivePooling {
    /// The maximum of each window and its position in the plane of the input; as [`Pooling::max`](super::Pooling::max).
    ///
    /// ```
    /// use wengert_kernels::AdaptivePooling;
    /// let pooling = AdaptivePooling { planes: 1, input: [1, 1, 5], output: [1, 1, 2] };
    /// let (mut out, mut index) = ([0.0f32; 2], [0; 2]);
    /// pooling.max(&[1.0, 7.0, 3.0, 2.0, 3.0], &mut out, &mut index);
    /// assert_eq!((out, index), ([7.0, 3.0], [1, 2]));
    /// ```
    pub fn max<T: Product>(&self, x: &[T], out: &mut [T], index: &mut [i64]) {
        expect_lengths("adaptive max pooling", self.planes, [(self.input, x.len()), (self.output, out.len())]);
        max::max_of_windows((self.planes, self.input), &self.windows(), x, out, index);
    }

    /// The average of each window.
    ///
    /// ```
    /// use wengert_kernels::AdaptivePooling;
    /// let mut out = [0.0f64];
    /// AdaptivePooling { planes: 1, input: [1, 2, 2], output: [1; 3] }.average(&[1.0, 2.0, 3.0, 6.0], &mut out);
    /// assert_eq!(out, [3.0]);
    /// ```
    pub fn average<T: Product>(&self, x: &[T], out: &mut [T]) {
        expect_lengths("adaptive average pooling", self.planes, [(self.input, x.len()), (self.output, out.len())]);
        let windows = self.windows();
        let divisors = average::divisors::<T>(&windows, false, None);
        average::average_of_windows((self.planes, self.input), &windows, divisors.as_slice(), x, out);
    }

    /// The transpose of [`average`](AdaptivePooling::average): `g` has the shape of the output, `out` that of the input.
    ///
    /// ```
    /// use wengert_kernels::AdaptivePooling;
    /// let pooling = AdaptivePooling { planes: 1, input: [1, 1, 5], output: [1, 1, 2] };
    /// let mut out = [9.0f32; 5];
    /// pooling.average_gradient(&[3.0, 6.0], &mut out);
    /// assert_eq!(out, [1.0, 1.0, 3.0, 2.0, 2.0]);
    /// ```
    pub fn average_gradient<T: Product>(&self, g: &[T], out: &mut [T]) {
        expect_lengths("adaptive average pooling", self.planes, [(self.input, out.len()), (self.output, g.len())]);
        let windows = self.windows();
        let divisors = average::divisors::<T>(&windows, false, None);
        average::gradient_of_windows((self.planes, self.input), &windows, divisors.as_slice(), g, out);
    }

    fn windows(&self) -> [Vec<Window>; 3] {
        std::array::from_fn(|axis| {
            let (input, output) = (self.input[axis], self.output[axis]);
            (0..output).map(|o| Window::of_adaptive(input, output, o)).collect()
        })
    }
}

//! Convolutions (cross-correlations, as in neural networks) over one to three spatial axes, and their gradients.
//!
//! `y[n][o][q] = sum over c, k of w[o][c][k] * x[n][group(o) + c][q * stride + k * dilation - before]`, where `q` and `k`
//! have three coordinates each and `x` is zero outside. Both gradients are sums over the same triples `(q, c, k)`.
//!
//! The forward pass and the gradient of the input are *gathers* (`axis`); the latter is one convolution of stride 1 for each residue of the
//! stride. Groups with several outputs keep the outputs in vector lanes (`wide`); groups with few, such as depthwise ones, keep positions
//! there (`narrow`). Only [`Convolution::unfold`] builds a patch matrix.

mod axis;
mod gather;
mod geometry;
mod image_layout;
mod kernel;
mod narrow;
mod unfold;
mod weights;
mod wide;

pub(crate) use axis::inside;
pub use geometry::Convolution;
pub use kernel::Convolve;

use gather::Gather;

impl Convolution {
    /// A convolution with kernel size 1, stride 1, no padding and one group; set only the fields that differ.
    ///
    /// ```
    /// use wengert_kernels::Convolution;
    /// assert_eq!(Convolution::new(2, 3, 4, [1, 5, 6]).output(), [1, 5, 6]);
    /// ```
    pub fn new(batch: usize, channels: usize, outputs: usize, input: [usize; 3]) -> Convolution {
        let (kernel, stride, dilation) = ([1; 3], [1; 3], [1; 3]);
        let (before, after) = ([0; 3], [0; 3]);
        Convolution { batch, channels, outputs, groups: 1, input, kernel, stride, dilation, before, after }
    }

    /// The spatial size of the output: `(input + before + after - dilation * (kernel - 1) - 1) / stride + 1`, or 0 where
    /// the kernel does not fit.
    ///
    /// ```
    /// use wengert_kernels::Convolution;
    /// let convolution = Convolution { kernel: [1, 1, 3], stride: [1, 1, 2], ..Convolution::new(1, 1, 1, [1, 1, 8]) };
    /// assert_eq!(convolution.output(), [1, 1, 3]); // The last element is not read.
    /// ```
    pub fn output(&self) -> [usize; 3] {
        std::array::from_fn(|axis| {
            let span = self.dilation[axis] * (self.kernel[axis] - 1) + 1;
            let room = self.input[axis] + self.before[axis] + self.after[axis];
            if room < span { 0 } else { (room - span) / self.stride[axis] + 1 }
        })
    }

    /// The convolution: `out[n][o][q] = sum over c, k of w[o][c][k] * x[n][..c][q * stride + k * dilation - before]`.
    ///
    /// ```
    /// use wengert_kernels::Convolution;
    /// let convolution = Convolution { kernel: [1, 1, 2], ..Convolution::new(1, 1, 1, [1, 1, 4]) };
    /// let mut out = [0.0f32; 3];
    /// convolution.forward(&[1.0, 2.0, 4.0, 8.0], &[-1.0, 1.0], &mut out);
    /// assert_eq!(out, [1.0, 2.0, 4.0]);
    /// ```
    pub fn forward<T: Convolve>(&self, x: &[T], w: &[T], out: &mut [T]) {
        self.expect_lengths(x.len(), w.len(), out.len());
        Gather::forward(self).run(x, w, out);
    }

    /// The gradient of the input, `out[n][c][i] = sum over o, k of w[o][c][k] * g[n][o][(i + before - k * dilation) / stride]`
    /// over the exact divisions: the transposed convolution of `g`, of the shape of the output.
    ///
    /// Inputs that no position of the kernel reads, such as those a stride drops at the end, get zero.
    ///
    /// ```
    /// use wengert_kernels::Convolution;
    /// let convolution = Convolution { kernel: [1, 1, 2], stride: [1, 1, 2], ..Convolution::new(1, 1, 1, [1, 1, 5]) };
    /// let mut out = [7.0f32; 5];
    /// convolution.input_gradient(&[1.0, 10.0], &[2.0, 3.0], &mut out);
    /// assert_eq!(out, [2.0, 3.0, 20.0, 30.0, 0.0]);
    /// ```
    pub fn input_gradient<T: Convolve>(&self, g: &[T], w: &[T], out: &mut [T]) {
        self.expect_lengths(out.len(), w.len(), g.len());
        Gather::transposed(self).run(g, w, out);
    }

    /// The gradient of the weights: `out[o][c][k] = sum over n, q of g[n][o][q] * x[n][..c][q * stride + k * dilation - before]`.
    ///
    /// ```
    /// use wengert_kernels::Convolution;
    /// let convolution = Convolution { kernel: [1, 1, 2], ..Convolution::new(1, 1, 1, [1, 1, 3]) };
    /// let mut out = [0.0f64; 2];
    /// convolution.weight_gradient(&[1.0, 2.0, 4.0], &[1.0, 10.0], &mut out);
    /// assert_eq!(out, [21.0, 42.0]);
    /// ```
    pub fn weight_gradient<T: Convolve>(&self, x: &[T], g: &[T], out: &mut [T]) {
        self.expect_lengths(x.len(), out.len(), g.len());
        let gather = Gather::forward(self);
        if out.is_empty() {
        } else if g.is_empty() {
            out.fill(T::ZERO);
        } else if gather.is_wide() {
            weights::weight_gradient(&gather, x, g, out);
        } else {
            narrow::weight_gradient(&gather, x, g, out);
        }
    }

    /// The number of multiplications and additions of one call: twice the number of triples `(q, c, k)`.
    fn work(&self) -> usize {
        let size = |sizes: [usize; 3]| sizes.iter().fold(1usize, |a, &b| a.saturating_mul(b));
        [self.batch, self.outputs, self.channels / self.groups, size(self.kernel), size(self.output())]
            .iter()
            .fold(2usize, |a, &b| a.saturating_mul(b))
    }

    /// Panics unless the geometry is valid and the tensors have its sizes.
    fn expect_lengths(&self, input: usize, weights: usize, output: usize) {
        self.expect_sound();
        let Convolution { batch, channels, outputs, groups, .. } = *self;
        // A product that overflows never matches a length.
        let product = |sizes: &[usize]| sizes.iter().fold(1usize, |all, &size| all.saturating_mul(size));
        let size = |sizes: [usize; 3]| product(&sizes);
        let expected = |what: &str, length: usize, expected: usize| {
            assert_eq!(length, expected, "convolution: the {what} must have {expected} elements for {self:?}");
        };
        expected("input", input, product(&[batch, channels, size(self.input)]));
        expected("weight", weights, product(&[outputs, channels / groups, size(self.kernel)]));
        expected("output", output, product(&[batch, outputs, size(self.output())]));
    }

    fn expect_sound(&self) {
        let positive = [self.kernel, self.stride, self.dilation].iter().flatten().all(|&size| size > 0);
        assert!(positive, "convolution: kernel, stride and dilation start at 1: {self:?}");
        // Positions along an axis, and the reach of the kernel, must fit signed integers.
        let is_countable = |axis: usize| {
            let reach = self.dilation[axis].checked_mul(self.kernel[axis])?;
            let room = self.input[axis].checked_add(self.before[axis])?.checked_add(self.after[axis])?;
            isize::try_from(room.checked_add(reach)?.checked_add(self.stride[axis])?).ok()
        };
        let countable = (0..3).all(|axis| is_countable(axis).is_some());
        assert!(countable, "convolution: more positions than can be counted: {self:?}");
        let divides =
            self.groups > 0 && [self.channels, self.outputs].iter().all(|size| size.is_multiple_of(self.groups));
        assert!(divides, "convolution: {} groups of {} and {} channels", self.groups, self.channels, self.outputs);
    }

    /// The same convolution with a leading axis of size 1 moved behind the next one, so that the first axis has rows.
    fn with_rows_first(&self) -> Convolution {
        let mut moved = *self;
        if self.input[0] == 1 && self.kernel[0] == 1 && self.before[0] == 0 && self.after[0] == 0 {
            moved.stride[0] = 1;
            for sizes in [
                &mut moved.input,
                &mut moved.kernel,
                &mut moved.stride,
                &mut moved.dilation,
                &mut moved.before,
                &mut moved.after,
            ] {
                sizes.swap(0, 1);
            }
        }
        moved
    }
}

#[cfg(test)]
mod tests;

impl Gather {
    /// Writes the target.
    fn run<T: Convolve>(&self, x: &[T], w: &[T], out: &mut [T]) {
        if out.is_empty() {
        } else if x.is_empty() || w.is_empty() {
            out.fill(T::ZERO);
        } else if self.is_wide() {
            wide::gather(self, x, w, out);
        } else {
            narrow::gather(self, x, w, out);
        }
    }
}

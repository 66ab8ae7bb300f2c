//! Pooling to a given size: the window of output `o` is `floor(o * input / output) .. ceil((o + 1) * input / output)`.

use super::planes::for_each_plane;
use super::window::{Window, divisor};
use super::{expect_lengths, max};
use crate::map::loop1_in_place;
use crate::matmul::Product;
use crate::simd::vectorised;

/// The geometry of a pooling to the size `output`.
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
        let size = self.input.iter().product::<usize>();
        let [_, height, width] = self.input;
        // Planes are counted by their output, which may be one element, so that groups are sized by the input.
        let count: usize = self.output.iter().product();
        let shared = crate::threads::Disjoint::new(out);
        super::planes::for_each_group(self.planes, size.max(count), &|plane| {
            let x = &x[plane * size..][..size];
            // SAFETY: planes do not overlap, and each runs once.
            let mut slots = unsafe { shared.range(plane * count, count) }.iter_mut();
            for_each_window(&windows, |all @ [a, b, c]| {
                let mut sum = T::ZERO;
                for i in a.first..a.first + a.count {
                    for j in b.first..b.first + b.count {
                        sum = sum + sum_of(&x[(i * height + j) * width + c.first..][..c.count]);
                    }
                }
                *slots.next().expect("an output per window") = sum / T::from_f64(divisor(all, false, None));
            });
        });
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
        let (size, count) = (self.input.iter().product(), self.output.iter().product::<usize>());
        let [_, height, width] = self.input;
        for_each_plane(self.planes, size, out, &|plane, out| {
            let mut shares = g[plane * count..][..count].iter();
            out.fill(T::ZERO);
            for_each_window(&windows, |all @ [a, b, c]| {
                let g = *shares.next().expect("an output per window");
                let share = g / T::from_f64(divisor(all, false, None));
                for i in a.first..a.first + a.count {
                    for j in b.first..b.first + b.count {
                        let row = &mut out[(i * height + j) * width + c.first..][..c.count];
                        loop1_in_place(row, |sum| sum + share);
                    }
                }
            });
        });
    }

    fn windows(&self) -> [Vec<Window>; 3] {
        std::array::from_fn(|axis| {
            let (input, output) = (self.input[axis], self.output[axis]);
            (0..output).map(|o| Window::of_adaptive(input, output, o)).collect()
        })
    }
}

fn for_each_window(windows: &[Vec<Window>; 3], mut each: impl FnMut([Window; 3])) {
    for &a in &windows[0] {
        for &b in &windows[1] {
            for &c in &windows[2] {
                each([a, b, c]);
            }
        }
    }
}

vectorised! {
    /// The sum of a row, in eight lanes.
    fn sum_of[T: Product](row: &[T]) -> T {
        let (chunks, tail) = row.as_chunks::<8>();
        let mut lanes = [T::ZERO; 8];
        for chunk in chunks {
            for l in 0..8 {
                lanes[l] = lanes[l] + chunk[l];
            }
        }
        for (lane, &x) in lanes.iter_mut().zip(tail) {
            *lane = *lane + x;
        }
        lanes.into_iter().fold(T::ZERO, |a, b| a + b)
    }
}

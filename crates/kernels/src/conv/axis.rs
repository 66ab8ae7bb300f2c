//! One spatial axis as a gather: which positions of the source each position of the target reads.
//!
//! Position `first + q * stretch` of a class reads the source at `q * step + shift` for each of its taps. A convolution has
//! one class, `o <- o * stride + (k * dilation - before)`. Its transpose has one class per residue of the stride,
//! `stride * q + r <- q + (r + before - k * dilation) / stride` for the taps `k` where that division is exact.

use super::geometry::Convolution;
use crate::pool::Buffer;
use smallvec::SmallVec;
use std::ops::Range;

/// Target positions that read the source with the same taps.
#[derive(Debug)]
pub(super) struct Class {
    /// The target position of `q = 0`.
    pub(super) first: usize,
    /// The step of the target position from one `q` to the next.
    pub(super) stretch: usize,
    /// How many `q` there are.
    pub(super) count: usize,
    pub(super) taps: Buffer<Tap>,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Tap {
    /// The position in the kernel.
    pub(super) kernel: usize,
    /// The position in the padded source that `q = 0` reads.
    pub(super) offset: usize,
}

// SAFETY: two `usize`, for which all zeros are a valid value.
unsafe impl bytemuck::Zeroable for Tap {}
// SAFETY: a `repr(C)` struct of two `usize` has no padding and holds no reference, and every bit pattern is valid.
unsafe impl bytemuck::Pod for Tap {}

/// A gather along one axis from a source that is padded (or cut) to `extent` elements from `low` on.
#[derive(Debug)]
pub(super) struct Axis {
    pub(super) step: usize,
    pub(super) low: isize,
    pub(super) extent: usize,
    pub(super) source: usize,
    pub(super) target: usize,
    pub(super) kernel: usize,
    pub(super) classes: SmallVec<[Class; 4]>,
}

impl Axis {
    /// The gather of a convolution.
    pub(super) fn forward(geometry: &Convolution, axis: usize) -> Axis {
        let (kernel, dilation) = (geometry.kernel[axis], geometry.dilation[axis]);
        let (step, target) = (geometry.stride[axis], geometry.output()[axis]);
        let taps = Buffer::from_elements(kernel, (0..kernel).map(|k| Tap { kernel: k, offset: k * dilation }));
        Axis {
            step,
            low: -(geometry.before[axis] as isize),
            extent: target.saturating_sub(1) * step + (kernel - 1) * dilation + 1,
            source: geometry.input[axis],
            target,
            kernel,
            classes: SmallVec::from_iter([Class { first: 0, stretch: 1, count: target, taps }]),
        }
    }

    /// The gather of its transpose.
    pub(super) fn transposed(geometry: &Convolution, axis: usize) -> Axis {
        let (kernel, stride, target) = (geometry.kernel[axis], geometry.stride[axis], geometry.input[axis]);
        let distance =
            |r: usize, k: usize| r as isize + geometry.before[axis] as isize - (k * geometry.dilation[axis]) as isize;
        let shifts = |r: usize| {
            (0..kernel)
                .filter(move |&k| distance(r, k).rem_euclid(stride as isize) == 0)
                .map(move |k| (k, distance(r, k).div_euclid(stride as isize)))
        };
        let residues = 0..stride.min(target);
        let count = |r: usize| (target - r).div_ceil(stride);
        let low = residues.clone().flat_map(shifts).map(|(_, shift)| shift).min().unwrap_or(0);
        let end = residues.clone().flat_map(|r| shifts(r).map(move |(_, shift)| shift + count(r) as isize)).max();
        let classes = residues
            .map(|r| Class {
                first: r,
                stretch: stride,
                count: count(r),
                taps: Buffer::from_elements(
                    shifts(r).count(),
                    shifts(r).map(|(k, shift)| Tap { kernel: k, offset: (shift - low) as usize }),
                ),
            })
            .collect();
        Axis {
            step: 1,
            low,
            extent: end.map_or(1, |end| (end - low) as usize),
            source: geometry.output()[axis],
            target,
            kernel,
            classes,
        }
    }

    /// Whether the source can be read in place.
    pub(super) fn needs_no_padding(&self) -> bool {
        self.low >= 0 && self.low as usize + self.extent <= self.source
    }

    /// The number of positions of the longest class.
    pub(super) fn longest(&self) -> usize {
        self.classes.iter().map(|class| class.count).max().unwrap_or(0)
    }

    /// The number of elements of the padded source that `count` positions, starting at the same one, read.
    pub(super) fn reach(&self, count: usize) -> usize {
        let last = self.classes.iter().flat_map(|class| &class.taps[..]).map(|tap| tap.offset).max().unwrap_or(0);
        (count.saturating_sub(1) * self.step + last + 1).min(self.extent)
    }
}

/// The positions `q < output` at which `q * stride + shift` lies among the elements `before..before + input`.
pub(crate) fn inside(output: usize, stride: usize, shift: usize, before: usize, input: usize) -> Range<usize> {
    let begin = before.saturating_sub(shift).div_ceil(stride).min(output);
    let end = (input + before).saturating_sub(shift).div_ceil(stride).min(output);
    begin..end.max(begin)
}

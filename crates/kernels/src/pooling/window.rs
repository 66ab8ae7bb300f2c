//! The windows of one axis.

use super::Pooling;
use crate::conv::inside;
use std::ops::Range;

/// The elements `first, first + dilation, ..` of an axis that an output reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) first: usize,
    /// Elements inside the input.
    pub(super) count: usize,
    /// Elements inside the padded input.
    pub(super) padded: usize,
}

impl Window {
    pub(super) fn of_pooling(pooling: &Pooling, axis: usize, o: usize) -> Window {
        let (dilation, before) = (pooling.dilation[axis], pooling.before[axis]);
        let start = o * pooling.stride[axis];
        // Taps that lie before position `end` of the padded input.
        let until = |end: usize| end.saturating_sub(start).div_ceil(dilation).min(pooling.kernel[axis]);
        let outside = until(before);
        let inside = until(before + pooling.input[axis]);
        Window {
            first: (start + outside * dilation).saturating_sub(before),
            count: inside.saturating_sub(outside),
            padded: until(before + pooling.input[axis] + pooling.after[axis]),
        }
    }

    pub(super) fn of_adaptive(input: usize, output: usize, o: usize) -> Window {
        let first = o * input / output;
        let count = ((o + 1) * input).div_ceil(output) - first;
        Window { first, count, padded: count }
    }
}

/// For each tap of the last axis, the positions of a row of the output at which it lies inside the input, and the input that the first of
/// them reads. Computed once for all planes, because it takes divisions.
pub(super) fn runs(pooling: &Pooling) -> Vec<(Range<usize>, usize)> {
    let (stride, before) = (pooling.stride[2], pooling.before[2]);
    (0..pooling.kernel[2])
        .map(|k| k * pooling.dilation[2])
        .map(|shift| (inside(pooling.output[2], stride, shift, before, pooling.input[2]), shift))
        .filter(|(run, _)| !run.is_empty())
        .map(|(run, shift)| (run.clone(), run.start * stride + shift - before))
        .collect()
}

/// The divisor of the sum of a window.
pub(super) fn divisor(windows: [Window; 3], count_include_pad: bool, divisor: Option<f64>) -> f64 {
    let count = |window: Window| (if count_include_pad { window.padded } else { window.count }) as f64;
    divisor.unwrap_or_else(|| windows.map(count).iter().product::<f64>().max(1.0))
}

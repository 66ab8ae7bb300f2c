//! Images sampled between their pixels: resized, or at given points.

use crate::autograd::modes::within;
use crate::error::OrRaise;
use crate::prelude::*;
use crate::rules::Sizes;
use std::ops::{Add, Mul, Neg};

/// How values between grid points are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum InterpolateMode {
    /// The element at or before the point.
    #[default]
    Nearest,
    /// The element nearest to the point.
    NearestExact,
    /// Linear along each axis: linear, bilinear, trilinear.
    Linear,
    /// Cubic along each axis.
    Bicubic,
    /// The average of the elements that an output element covers.
    Area,
}

impl InterpolateMode {
    /// Whether each output element is a copy of one input element.
    fn is_nearest(self) -> bool {
        matches!(self, InterpolateMode::Nearest | InterpolateMode::NearestExact)
    }
}

/// Options for resampling.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([[[1.0, 3.0]]]);
/// let y = x.interpolate(&Interpolate::size(3).mode(InterpolateMode::Linear).align_corners(true));
/// assert_eq!(y, Tensor::from([[[1.0, 2.0, 3.0]]]));
/// ```
#[derive(Clone, Debug)]
pub struct Interpolate {
    size: Option<Sizes>,
    scale: Vec<f64>,
    mode: InterpolateMode,
    align_corners: bool,
    recompute_scale: bool,
}

impl Interpolate {
    /// Resamples to this spatial size.
    pub fn size(size: impl Into<Sizes>) -> Interpolate {
        Interpolate { size: Some(size.into()), ..Interpolate::scales(&[]) }
    }

    /// Resamples to this multiple of the spatial size, the same for all axes.
    pub fn scale(scale: f64) -> Interpolate {
        Interpolate::scales(&[scale])
    }

    /// Resamples to these multiples of the spatial size.
    pub fn scales(scales: &[f64]) -> Interpolate {
        Interpolate {
            size: None,
            scale: scales.to_vec(),
            mode: InterpolateMode::Nearest,
            align_corners: false,
            recompute_scale: false,
        }
    }

    /// Sets how values between elements are computed; nearest by default.
    pub fn mode(self, mode: InterpolateMode) -> Interpolate {
        Interpolate { mode, ..self }
    }

    /// Whether the centres of the first and last elements are aligned, rather than the outer edges of the image.
    pub fn align_corners(self, align: bool) -> Interpolate {
        Interpolate { align_corners: align, ..self }
    }

    /// Whether the scale is recomputed from the integer sizes of input and output, instead of the given multiple.
    pub fn recompute_scale(self, recompute: bool) -> Interpolate {
        Interpolate { recompute_scale: recompute, ..self }
    }

    /// (input, output, scale) of each axis; the scale is input size per output size.
    #[track_caller]
    fn axes(&self, input: &[usize]) -> Vec<(usize, usize, f64)> {
        let outputs = match &self.size {
            Some(size) => size.each_or("interpolate", "size", input),
            None => {
                if self.scale.len() != 1 && self.scale.len() != input.len() {
                    let message = format!("{} scales for {} spatial axes", self.scale.len(), input.len());
                    Error::new(ErrorKind::Argument, "interpolate", message).raise();
                }
                let scale = |axis: usize| self.scale[axis.min(self.scale.len() - 1)];
                input.iter().enumerate().map(|(axis, &n)| (n as f64 * scale(axis)).floor() as usize).collect()
            }
        };
        let step = |axis: usize| -> f64 {
            let (n, m) = (input[axis], outputs[axis]);
            if self.align_corners && !self.mode.is_nearest() {
                return if m > 1 { (n as f64 - 1.0) / (m as f64 - 1.0) } else { 0.0 };
            }
            match self.size.is_some() || self.recompute_scale {
                true => n as f64 / m as f64,
                false => 1.0 / self.scale[axis.min(self.scale.len() - 1)],
            }
        };
        (0..input.len()).map(|axis| (input[axis], outputs[axis], step(axis))).collect()
    }
}

/// The weights `[output, input]` of a linear or cubic resampling along one axis.
fn weights(options: &Interpolate, (n, m, step): (usize, usize, f64)) -> Vec<f64> {
    let mut all = vec![0.0; m * n];
    let clamped = |i: i64| i.clamp(0, n as i64 - 1) as usize;
    for o in 0..m {
        let row = &mut all[o * n..][..n];
        let at = match options.align_corners {
            true => o as f64 * step,
            false => (o as f64 + 0.5) * step - 0.5,
        };
        if options.mode == InterpolateMode::Linear {
            let at = at.max(0.0);
            let first = clamped(at.floor() as i64);
            let part = (at - first as f64).clamp(0.0, 1.0);
            row[first] += 1.0 - part;
            row[(first + 1).min(n - 1)] += part;
            continue;
        }
        let (first, part) = (at.floor() as i64, at - at.floor());
        for (k, weight) in cubic(part).into_iter().enumerate() {
            row[clamped(first - 1 + k as i64)] += weight;
        }
    }
    all
}

/// The weights of four neighbours for a point `t` after the second one, by cubic convolution with a = -3/4.
fn cubic<T>(t: T) -> [T; 4]
where
    T: Clone + Neg<Output = T> + Add<f64, Output = T> + Mul<f64, Output = T> + Mul<T, Output = T>,
{
    let a = -0.75;
    let near = |x: T| (x.clone() * (a + 2.0) + -(a + 3.0)) * x.clone() * x + 1.0;
    let far = |x: T| ((x.clone() * a + -5.0 * a) * x.clone() + 8.0 * a) * x + -4.0 * a;
    [far(t.clone() + 1.0), near(t.clone()), near(-t.clone() + 1.0), far(-t + 2.0)]
}

/// The values of points outside the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Outside {
    /// Zero.
    #[default]
    Zeros,
    /// The nearest element of the border.
    Border,
    /// The image mirrored at the border.
    Reflection,
}

/// Options for sampling an image at points.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([[[[1.0, 3.0]]]]);
/// let far = Tensor::from([[[[5.0, 0.0]]]]);
/// assert_eq!(x.grid_sample(&far, &GridSample::new()).item(), 0.0);
/// assert_eq!(x.grid_sample(&far, &GridSample::new().outside(Outside::Border)).item(), 3.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct GridSample {
    outside: Outside,
    align_corners: bool,
    between: Between,
}

/// How values between elements are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Between {
    #[default]
    Linear,
    Nearest,
    Cubic,
}

impl GridSample {
    /// The default: linear, zeros outside, and -1 and 1 are the outer edges of the image.
    pub fn new() -> GridSample {
        GridSample::default()
    }

    /// Sets the values of points outside the image.
    pub fn outside(self, outside: Outside) -> GridSample {
        GridSample { outside, ..self }
    }

    /// Whether -1 and 1 are the centres of the first and last elements.
    pub fn align_corners(self, align: bool) -> GridSample {
        GridSample { align_corners: align, ..self }
    }

    /// Whether the nearest element is sampled, without a gradient for the grid.
    pub fn nearest(self, nearest: bool) -> GridSample {
        GridSample { between: if nearest { Between::Nearest } else { Between::Linear }, ..self }
    }

    /// Whether values between elements are interpolated with a cubic along each axis, from four elements, rather than linearly. Whether a
    /// neighbour is outside is then decided for each of them, not for the point.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[[[0.0, 0.0, 1.0, 0.0, 0.0]]]]);
    /// let at = Tensor::from([[[[0.2, 0.0]]]]);
    /// let y = x.grid_sample(&at, &GridSample::new().bicubic(true).outside(Outside::Border));
    /// assert!((y.item() - 0.59375).abs() < 1e-15);
    /// ```
    pub fn bicubic(self, cubic: bool) -> GridSample {
        GridSample { between: if cubic { Between::Cubic } else { Between::Linear }, ..self }
    }

    /// A coordinate along an axis of `size`, mapped into the image, unless points outside are zeros.
    #[track_caller]
    fn inside(&self, place: &Tensor, size: usize) -> Tensor {
        let (n, last) = (size as f64, size as f64 - 1.0);
        match self.outside {
            Outside::Zeros => place.clone(),
            Outside::Border => clamped(place, last),
            Outside::Reflection => {
                let (low, span) = if self.align_corners { (0.0, last) } else { (-0.5, n) };
                let away = (place - low).abs();
                let turned = match span == 0.0 {
                    true => &away * 0.0,
                    false => {
                        let turns = (&away * (1.0 / span)).floor();
                        let rest = &away - &turns * span;
                        let odd = (&turns - (&turns * 0.5).floor() * 2.0).gt(0.5);
                        odd.where_(span - &rest, &rest)
                    }
                };
                clamped(&(turned + low), last)
            }
        }
    }

    /// The neighbours of each coordinate along an axis of `size`, with their weights.
    #[track_caller]
    fn neighbours(&self, coordinate: &Tensor, size: usize) -> Vec<(Tensor, Tensor)> {
        let (n, last) = (size as f64, size as f64 - 1.0);
        let place = match self.align_corners {
            true => (coordinate + 1.0) * (0.5 * last),
            false => ((coordinate + 1.0) * n - 1.0) * 0.5,
        };
        let side = |at: Tensor, weight: Tensor| {
            let weight = at.ge(0.0).where_(at.le(last).where_(weight, 0.0), 0.0);
            (clamped(&at, last).cast(DType::I64), weight)
        };
        let place = match self.between {
            Between::Linear => self.inside(&place, size),
            // Ties go to the even side.
            Between::Nearest => {
                let place = self.inside(&place, size);
                let up = (&place + 0.5).floor();
                let half = (&up - &place).equal(0.5);
                let odd = (&up - (&up * 0.5).floor() * 2.0).gt(0.5);
                half.where_(odd.where_(&up - 1.0, &up), &up).detach()
            }
            Between::Cubic => {
                let first = place.floor().detach();
                let weights = cubic(place - &first).into_iter().enumerate();
                return weights
                    .map(|(k, weight)| side(self.inside(&(&first + (k as f64 - 1.0)), size), weight))
                    .collect();
            }
        };
        let below = place.floor();
        let part = &place - &below;
        vec![side(below.clone(), 1.0 - &part), side(&below + 1.0, part)]
    }
}

/// Clamps between 0 and `last`; the gradient passes inside only.
fn clamped(x: &Tensor, last: f64) -> Tensor {
    x.gt(0.0).where_(x.lt(last).where_(x, last), 0.0)
}

/// The methods of `resampling`.
#[ext(ResamplingMethods)]
impl Tensor {
    /// Resamples `[N, C, spatial..]` to another spatial size.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[[1.0, 2.0]]]);
    /// assert_eq!(x.interpolate(&Interpolate::scale(2.0)), Tensor::from([[[1.0, 1.0, 2.0, 2.0]]]));
    /// ```
    #[track_caller]
    pub fn interpolate(&self, options: &Interpolate) -> Tensor {
        let _name = within("interpolate");
        let spatial = self.rank().saturating_sub(2);
        if !(1..=3).contains(&spatial) || self.shape()[2..].contains(&0) {
            let shape = Shape::from(self.shape());
            let message = format!("shape {shape} has no one to three spatial axes to resample");
            Error::new(ErrorKind::Shape(vec![shape]), "interpolate", message)
                .help("the input is [N, C, spatial..]")
                .raise();
        }
        let axes = options.axes(&self.shape()[2..]);
        let sizes = self.shape()[..2].iter().copied().chain(axes.iter().map(|axis| axis.1));
        Spec::new(sizes.collect::<Shape>(), self.dtype()).check("interpolate").or_raise();
        if options.mode == InterpolateMode::Area {
            let sizes: Vec<usize> = axes.iter().map(|axis| axis.1).collect();
            return match spatial {
                1 => self.adaptive_avg_pool1d(sizes),
                2 => self.adaptive_avg_pool2d(sizes),
                _ => self.adaptive_avg_pool3d(sizes),
            };
        }
        let mut y = self.clone();
        for (place, &(n, m, step)) in axes.iter().enumerate() {
            let axis = place + 2;
            let table =
                if options.mode.is_nearest() { Spec::new([m], DType::I64) } else { Spec::new([m, n], DType::F64) };
            table.check("interpolate").or_raise();
            let exact = match options.mode {
                InterpolateMode::Nearest => Some(0.0),
                InterpolateMode::NearestExact => Some(0.5),
                _ => None,
            };
            if let Some(shift) = exact {
                let at = |o: usize| (((o as f64 + shift) * step).floor() as i64).clamp(0, n as i64 - 1);
                y = y.index_select(axis as isize, &Tensor::from((0..m).map(at).collect::<Vec<i64>>()));
                continue;
            }
            let matrix = Tensor::from_vec(weights(options, (n, m, step)), [m, n]).cast(self.dtype());
            y = y.resampled(axis, &matrix);
        }
        y
    }

    /// Samples `[N, C, spatial..]` at the points of a grid `[N, output.., axes]`, whose coordinates, last axis first, go from -1 to 1 over
    /// the image: `[N, C, output..]`. Linear between elements unless the options say otherwise.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[[[1.0, 3.0]]]]);
    /// let middle = Tensor::zeros([1, 1, 1, 2]);
    /// assert_eq!(x.grid_sample(&middle, &GridSample::new()), Tensor::from([[[[2.0]]]]));
    /// ```
    #[track_caller]
    pub fn grid_sample(&self, grid: &Tensor, options: &GridSample) -> Tensor {
        let _name = within("grid_sample");
        let axes = self.rank().saturating_sub(2);
        let fits = (2..=3).contains(&axes)
            && grid.rank() == axes + 2
            && grid.shape()[axes + 1] == axes
            && grid.shape()[0] == self.shape()[0]
            && !self.shape()[2..].contains(&0);
        if !fits {
            let shapes = vec![Shape::from(self.shape()), Shape::from(grid.shape())];
            let message = format!("an image of shape {} with a grid of shape {}", shapes[0], shapes[1]);
            Error::new(ErrorKind::Shape(shapes), "grid_sample", message)
                .help("they are [N, C, spatial..] and [N, output.., axes], of two or three axes")
                .raise();
        }
        let (batch, channels) = (self.shape()[0], self.shape()[1]);
        let spatial = &self.shape()[2..];
        let points: usize = grid.shape()[1..=axes].iter().product();
        let planes = self.reshape([batch, channels, spatial.iter().product()]);
        // For each axis: the neighbours of each point and their weights.
        let flat = grid.reshape([batch, points, axes]);
        let neighbours: Vec<Vec<(Tensor, Tensor)>> =
            (0..axes).map(|axis| options.neighbours(&flat.slice((.., .., axes - 1 - axis)), spatial[axis])).collect();
        let mut total: Option<Tensor> = None;
        let sides = neighbours[0].len();
        for corner in 0..sides.pow(axes as u32) {
            let side = |axis: usize| &neighbours[axis][corner / sides.pow(axis as u32) % sides];
            let weight = (0..axes).map(|axis| side(axis).1.clone()).reduce(|a, b| a * b).expect("there are axes");
            let start = Tensor::constant(0.0, &Spec::new([batch, points], DType::I64));
            let place = (0..axes).fold(start, |place, axis| place * spatial[axis] as i64 + &side(axis).0);
            let read = planes.gather(-1, &place.unsqueeze(1).broadcast_to([batch, channels, points]));
            let term = read * weight.unsqueeze(1);
            total = Some(total.map_or_else(|| term.clone(), |total| total + &term));
        }
        let shape: Shape = [batch, channels].iter().chain(&grid.shape()[1..=axes]).copied().collect();
        total.expect("there are corners").reshape(shape)
    }
}

#[ext(ResamplingParts)]
impl Tensor {
    /// The product with a matrix `[m, n]` along an axis of size n.
    #[track_caller]
    fn resampled(&self, axis: usize, matrix: &Tensor) -> Tensor {
        if axis == self.rank() - 1 {
            return self.linear(matrix);
        }
        let (outer, n) = (self.shape()[..axis].iter().product::<usize>(), self.shape()[axis]);
        let inner = self.shape()[axis + 1..].iter().product::<usize>();
        let mut shape = Shape::from(self.shape());
        shape.sizes_mut()[axis] = matrix.shape()[0];
        matrix.matmul(&self.reshape([outer, n, inner])).reshape(shape)
    }
}

//! Layers without a rule of their own: normalisations of channels, embeddings, dropout, resampling.

use crate::ops::Key;
use crate::ops::network::layer_norm::{EPSILON, Norm};
use crate::ops::prelude::*;
use crate::rules::Sizes;

/// The numbers of each channel, shaped to meet `[N, C, ..]`.
#[track_caller]
fn per_channel(name: &str, what: &str, x: &Tensor, numbers: &Tensor) -> Tensor {
    let channels = x.shape()[1];
    if numbers.shape() != [channels] {
        let shapes = vec![Shape::from(numbers.shape()), Shape::from(x.shape())];
        let message = format!("the {what} has shape {}, the input {} has {channels} channels", shapes[0], shapes[1]);
        Error::new(ErrorKind::Shape(shapes), name, message).help("give one number for each channel").raise();
    }
    let mut shape = vec![1; x.rank() - 1];
    shape[0] = channels;
    numbers.reshape(shape)
}

/// With the factor and summand of each channel.
#[track_caller]
fn affine(name: &str, y: Tensor, norm: &Norm) -> Tensor {
    let mut y = y;
    if let Some(weight) = &norm.weight {
        y = &y * per_channel(name, "weight", &y, weight);
    }
    if let Some(bias) = &norm.bias {
        let bias = per_channel(name, "bias", &y, bias);
        y += bias;
    }
    y
}

#[track_caller]
fn expect_channels(name: &str, x: &Tensor) {
    if x.rank() < 2 {
        let shape = Shape::from(x.shape());
        let message = format!("shape {shape} has no batch and channel axes");
        Error::new(ErrorKind::Shape(vec![shape]), name, message).help("the input is [N, C, ..]").raise();
    }
}

/// Where the elements between two grid points come from.
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
    /// The average of the elements that an output covers.
    Area,
}

/// The options of a resampling.
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
    /// To this spatial size.
    pub fn size(size: impl Into<Sizes>) -> Interpolate {
        Interpolate { size: Some(size.into()), ..Interpolate::scales(&[]) }
    }

    /// To this multiple of the spatial size, one for all axes.
    pub fn scale(scale: f64) -> Interpolate {
        Interpolate::scales(&[scale])
    }

    /// To these multiples of the spatial size.
    pub fn scales(scales: &[f64]) -> Interpolate {
        Interpolate {
            size: None,
            scale: scales.to_vec(),
            mode: InterpolateMode::Nearest,
            align_corners: false,
            recompute_scale: false,
        }
    }

    /// How values between elements are found; nearest unless set.
    pub fn mode(self, mode: InterpolateMode) -> Interpolate {
        Interpolate { mode, ..self }
    }

    /// Whether the first and last elements keep their places, rather than the borders of elements.
    pub fn align_corners(self, align: bool) -> Interpolate {
        Interpolate { align_corners: align, ..self }
    }

    /// Whether places are found from the whole sizes of input and output, and not from the given multiple.
    pub fn recompute_scale(self, recompute: bool) -> Interpolate {
        Interpolate { recompute_scale: recompute, ..self }
    }

    /// (input, output, scale) of each axis; the scale is input per output.
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
            if self.align_corners && !matches!(self.mode, InterpolateMode::Nearest | InterpolateMode::NearestExact) {
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

/// The weights of four neighbours for a point `t` after the second, of the cubic convolution with a = -3/4.
fn cubic(t: f64) -> [f64; 4] {
    let a = -0.75;
    let near = |x: f64| ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    let far = |x: f64| ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
    [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]
}

/// What a point outside the image reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Outside {
    /// Zero.
    #[default]
    Zeros,
    /// The nearest element of the border.
    Border,
    /// What a mirror at the border shows.
    Reflection,
}

/// The options of reading an image at points.
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
    nearest: bool,
}

impl GridSample {
    /// Linear; zeros outside; -1 and 1 are the borders of the image.
    pub fn new() -> GridSample {
        GridSample::default()
    }

    /// What a point outside the image reads.
    pub fn outside(self, outside: Outside) -> GridSample {
        GridSample { outside, ..self }
    }

    /// Whether -1 and 1 are the middles of the first and last elements.
    pub fn align_corners(self, align: bool) -> GridSample {
        GridSample { align_corners: align, ..self }
    }

    /// Whether the nearest element is read, without a gradient for the grid.
    pub fn nearest(self, nearest: bool) -> GridSample {
        GridSample { nearest, ..self }
    }

    /// The two elements beside each coordinate and their weights, along an axis of `size`.
    #[track_caller]
    fn neighbours(&self, coordinate: &Tensor, size: usize) -> [(Tensor, Tensor); 2] {
        let (n, last) = (size as f64, size as f64 - 1.0);
        let place = match self.align_corners {
            true => (coordinate + 1.0) * (0.5 * last),
            false => ((coordinate + 1.0) * n - 1.0) * 0.5,
        };
        let clamped = |x: &Tensor| x.gt(0.0).where_(x.lt(last).where_(x, last), 0.0);
        let place = match self.outside {
            Outside::Zeros => place,
            Outside::Border => clamped(&place),
            Outside::Reflection => {
                let (low, span) = if self.align_corners { (0.0, last) } else { (-0.5, n) };
                let away = (&place - low).abs();
                let turned = match span == 0.0 {
                    true => &away * 0.0,
                    false => {
                        let turns = (&away * (1.0 / span)).floor();
                        let rest = &away - &turns * span;
                        let odd = (&turns - (&turns * 0.5).floor() * 2.0).gt(0.5);
                        odd.where_(span - &rest, &rest)
                    }
                };
                clamped(&(turned + low))
            }
        };
        let place = match self.nearest {
            // Halves go to the even side.
            true => {
                let up = (&place + 0.5).floor();
                let half = (&up - &place).equal(0.5);
                let odd = (&up - (&up * 0.5).floor() * 2.0).gt(0.5);
                half.where_(odd.where_(&up - 1.0, &up), &up).detach()
            }
            false => place,
        };
        let below = place.floor();
        let part = &place - &below;
        let side = |at: Tensor, weight: Tensor| {
            let low = at.ge(0.0).where_(at.le(last).where_(&weight, 0.0), 0.0);
            (clamped(&at).cast(DType::I64), low)
        };
        [side(below.clone(), 1.0 - &part), side(&below + 1.0, part)]
    }
}

/// How bags of rows are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Bag {
    /// Their sum.
    Sum,
    /// Their mean; 0 for an empty bag.
    #[default]
    Mean,
    /// Their largest elements; 0 for an empty bag.
    Max,
}

/// The options of bags of embeddings.
///
/// ```
/// use wengert::prelude::*;
/// let table = Tensor::from([[1.0], [10.0]]);
/// let starts = Tensor::from([0i64, 1]);
/// let bags = table.embedding_bag(&Tensor::from([0i64, 1, 1]), &EmbeddingBag::new().offsets(&starts).mode(Bag::Sum));
/// assert_eq!(bags, Tensor::from([[1.0], [20.0]]));
/// ```
#[derive(Clone, Debug, Default)]
pub struct EmbeddingBag {
    mode: Bag,
    offsets: Option<Tensor>,
    include_last_offset: bool,
    weights: Option<Tensor>,
    padding: Option<i64>,
}

impl EmbeddingBag {
    /// Means; every row of a matrix of indices is a bag.
    pub fn new() -> EmbeddingBag {
        EmbeddingBag::default()
    }

    /// How rows are put together.
    pub fn mode(self, mode: Bag) -> EmbeddingBag {
        EmbeddingBag { mode, ..self }
    }

    /// Where each bag of a vector of indices starts; the last bag takes the rest.
    pub fn offsets(self, offsets: &Tensor) -> EmbeddingBag {
        EmbeddingBag { offsets: Some(offsets.clone()), ..self }
    }

    /// Whether the last offset is where the last bag ends, and starts none.
    pub fn include_last_offset(self, included: bool) -> EmbeddingBag {
        EmbeddingBag { include_last_offset: included, ..self }
    }

    /// A factor for each index.
    pub fn weights(self, weights: &Tensor) -> EmbeddingBag {
        EmbeddingBag { weights: Some(weights.clone()), ..self }
    }

    /// The row that counts nothing; negative from the end.
    pub fn padding_index(self, padding: i64) -> EmbeddingBag {
        EmbeddingBag { padding: Some(padding), ..self }
    }
}

impl Tensor {
    /// `[N, C, ..]` with each channel brought to mean 0 and variance 1 over the batch, then scaled and shifted; and the mean
    /// and the (biased) variance of each channel.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 5.0], [3.0, 5.0]]);
    /// let (y, mean, variance) = x.batch_norm(&Norm::new().epsilon(0.01));
    /// assert!(y.all_close(&Tensor::from([[-0.995037, 0.0], [0.995037, 0.0]]), 1e-6));
    /// assert!(mean.all_close(&Tensor::from([2.0, 5.0]), 1e-15) && variance.all_close(&Tensor::from([1.0, 0.0]), 1e-12));
    /// ```
    #[track_caller]
    pub fn batch_norm(&self, norm: &Norm) -> (Tensor, Tensor, Tensor) {
        let (y, mean, rstd) = self.batch_norm_with_statistics(norm);
        let root = rstd.recip();
        (y, mean, &root * &root - norm.epsilon_or(EPSILON))
    }

    /// [`batch_norm`](Tensor::batch_norm) with the mean and `1 / sqrt(variance + epsilon)` of each channel.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (_, mean, rstd) = Tensor::from([[1.0], [5.0]]).batch_norm_with_statistics(&Norm::new().epsilon(0.0));
    /// assert_eq!((mean, rstd), (Tensor::from([3.0]), Tensor::from([0.5])));
    /// ```
    #[track_caller]
    pub fn batch_norm_with_statistics(&self, norm: &Norm) -> (Tensor, Tensor, Tensor) {
        if self.elements() == 0 {
            let channels = Tensor::constant(0.0, &Spec::new([self.shape().get(1).copied().unwrap_or(0)], self.dtype()));
            return (self.clone(), channels.clone(), channels);
        }
        expect_channels("batch_norm", self);
        // Channels as rows: [C, N, ..], one row each.
        let mut order: Vec<usize> = (0..self.rank()).collect();
        order.swap(0, 1);
        let turned = self.permute(&order);
        let channels = self.shape()[1];
        let rows = turned.reshape([channels, self.elements() / channels]);
        let plain = Norm::new().epsilon(norm.epsilon_or(EPSILON));
        let (y, mean, rstd) = rows.layer_norm_with_statistics(&rows.shape()[1..], &plain);
        let y = y.reshape(turned.shape()).permute(&order);
        (affine("batch_norm", y, norm), mean.reshape([channels]), rstd.reshape([channels]))
    }

    /// `[N, C, ..]` normalised with a given mean and variance of each channel, then scaled and shifted: batch norm in
    /// evaluation.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, mean, variance) = (Tensor::from([[3.0]]), Tensor::from([1.0]), Tensor::from([4.0]));
    /// assert_eq!(x.batch_norm_given(&mean, &variance, &Norm::new().epsilon(0.0)), Tensor::from([[1.0]]));
    /// ```
    #[track_caller]
    pub fn batch_norm_given(&self, mean: &Tensor, variance: &Tensor, norm: &Norm) -> Tensor {
        expect_channels("batch_norm", self);
        let rstd = (variance + norm.epsilon_or(EPSILON)).sqrt().recip();
        let factor = norm.weight.as_ref().map_or_else(|| rstd.clone(), |weight| &rstd * weight);
        let centered = self - per_channel("batch_norm", "mean", self, mean);
        let mut y = centered * per_channel("batch_norm", "variance", self, &factor);
        if let Some(bias) = &norm.bias {
            y += per_channel("batch_norm", "bias", self, bias);
        }
        y
    }

    /// `[N, C, ..]` with each group of channels of each element brought to mean 0 and variance 1, then each channel scaled
    /// and shifted.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([[1.0, 3.0, 5.0, 5.0]]).group_norm(2, &Norm::new().epsilon(0.01));
    /// assert!(y.all_close(&Tensor::from([[-0.995037, 0.995037, 0.0, 0.0]]), 1e-6));
    /// ```
    #[track_caller]
    pub fn group_norm(&self, groups: usize, norm: &Norm) -> Tensor {
        self.group_norm_with_statistics(groups, norm).0
    }

    /// [`group_norm`](Tensor::group_norm), and the mean and `1 / sqrt(variance + epsilon)` of each element's groups,
    /// `[N, groups]`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (_, mean, rstd) = Tensor::from([[3.0, 7.0]]).group_norm_with_statistics(1, &Norm::new().epsilon(0.0));
    /// assert_eq!((mean, rstd), (Tensor::from([[5.0]]), Tensor::from([[0.5]])));
    /// ```
    #[track_caller]
    pub fn group_norm_with_statistics(&self, groups: usize, norm: &Norm) -> (Tensor, Tensor, Tensor) {
        expect_channels("group_norm", self);
        let (batch, channels) = (self.shape()[0], self.shape()[1]);
        if groups == 0 || !channels.is_multiple_of(groups) {
            let message = format!("{channels} channels do not make {groups} groups");
            Error::new(ErrorKind::Argument, "group_norm", message).raise();
        }
        let each = channels / groups * self.shape()[2..].iter().product::<usize>();
        let rows = self.reshape([batch, groups, each]);
        let plain = Norm::new().epsilon(norm.epsilon_or(EPSILON));
        let (y, mean, rstd) = rows.layer_norm_with_statistics(&[each], &plain);
        let y = affine("group_norm", y.reshape(self.shape()), norm);
        (y, mean.reshape([batch, groups]), rstd.reshape([batch, groups]))
    }

    /// `[N, C, ..]` with each channel of each element brought to mean 0 and variance 1, then scaled and shifted.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([[[1.0, 3.0], [5.0, 5.0]]]).instance_norm(&Norm::new().epsilon(0.01));
    /// assert!(y.all_close(&Tensor::from([[[-0.995037, 0.995037], [0.0, 0.0]]]), 1e-6));
    /// ```
    #[track_caller]
    pub fn instance_norm(&self, norm: &Norm) -> Tensor {
        expect_channels("instance_norm", self);
        self.group_norm(self.shape()[1].max(1), norm)
    }

    /// `x / (k + alpha mean(x^2))^beta`, the mean over `size` neighbouring channels of `[N, C, ..]`, absent ones as 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([[2.0, 2.0]]).local_response_norm(1, 0.25, 1.0, 1.0);
    /// assert!(y.all_close(&Tensor::from([[1.0, 1.0]]), 1e-15));
    /// ```
    #[track_caller]
    pub fn local_response_norm(&self, size: usize, alpha: f64, beta: f64, k: f64) -> Tensor {
        expect_channels("local_response_norm", self);
        if size == 0 {
            Error::new(ErrorKind::Argument, "local_response_norm", "needs at least one channel").raise();
        }
        let (batch, channels) = (self.shape()[0], self.shape()[1]);
        let rest = self.shape()[2..].iter().product::<usize>();
        // Channel c averages channels from c - size / 2 to c + (size - 1) / 2.
        let near = |c: usize, other: usize| other + size / 2 >= c && other <= c + (size - 1) / 2;
        let band: Vec<f64> = (0..channels * channels)
            .map(|i| if near(i / channels.max(1), i % channels.max(1)) { 1.0 / size as f64 } else { 0.0 })
            .collect();
        let band = Tensor::from_vec(band, [channels, channels]).cast(self.dtype());
        let squares = (self * self).reshape([batch, channels, rest]);
        let means = band.matmul(&squares).reshape(self.shape());
        self * (means * alpha + k).powf(-beta)
    }

    /// The rows of this table `[V, ..]` that `index` names: `[index.., ..]`. Repeated rows add their gradients in order.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let table = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(table.embedding(&Tensor::from([1i64, 1, 0])), Tensor::from([[3.0, 4.0], [3.0, 4.0], [1.0, 2.0]]));
    /// ```
    #[track_caller]
    pub fn embedding(&self, index: &Tensor) -> Tensor {
        if self.rank() == 0 {
            Error::new(ErrorKind::Shape(vec![Shape::default()]), "embedding", "a scalar has no rows").raise();
        }
        self.take_rows(index)
    }

    /// [`embedding`](Tensor::embedding) whose row `padding` gets no gradient.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = |table: &Tensor| table.embedding_with_padding(&Tensor::from([0i64, 1]), 0).sum();
    /// assert_eq!(grad(f)(&Tensor::zeros([2, 1])), Tensor::from([[0.0], [1.0]]));
    /// ```
    #[track_caller]
    pub fn embedding_with_padding(&self, index: &Tensor, padding: i64) -> Tensor {
        let padding = if padding < 0 { padding + self.shape().first().copied().unwrap_or(0) as i64 } else { padding };
        let rows = self.embedding(index);
        let mut mask = index.equal(padding);
        for _ in index.rank()..rows.rank() {
            mask = mask.unsqueeze(mask.rank());
        }
        mask.where_(rows.detach(), &rows)
    }

    /// Bags of rows of this table `[V, D]`: `[bags, D]`. Indices are `[bags, L]`, or `[N]` with offsets.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let table = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// let bags = table.embedding_bag(&Tensor::from([[0i64, 1], [1, 1]]), &EmbeddingBag::new());
    /// assert_eq!(bags, Tensor::from([[2.0, 3.0], [3.0, 4.0]]));
    /// ```
    #[track_caller]
    pub fn embedding_bag(&self, index: &Tensor, options: &EmbeddingBag) -> Tensor {
        let fits = self.rank() == 2 && index.rank() == if options.offsets.is_some() { 1 } else { 2 };
        if !fits || options.weights.as_ref().is_some_and(|weights| weights.shape() != index.shape()) {
            let shapes = vec![Shape::from(self.shape()), Shape::from(index.shape())];
            let message = format!("a table of shape {} with indices of shape {}", shapes[0], shapes[1]);
            Error::new(ErrorKind::Shape(shapes), "embedding_bag", message)
                .help("they are [V, D] and [bags, L], or [N] with offsets; weights have the shape of the indices")
                .raise();
        }
        let (count, width) = (index.elements(), self.shape()[1]);
        let flat = index.cast(DType::I64).reshape([count]);
        let mut rows = self.embedding(&flat);
        if let Some(weights) = &options.weights {
            rows = rows * weights.reshape([count, 1]);
        }
        let padding = options.padding.map(|row| if row < 0 { row + self.shape()[0] as i64 } else { row });
        let counts = padding.map(|row| flat.not_equal(row));
        // The number of the bag of each index.
        let (bags, number) = match &options.offsets {
            None => {
                let (bags, length) = (index.shape()[0], index.shape()[1]);
                (bags, Tensor::arange(bags).unsqueeze(1).broadcast_to([bags, length]).reshape([count]))
            }
            Some(offsets) => {
                let bags = offsets.elements() - usize::from(options.include_last_offset && offsets.elements() > 0);
                let starts = offsets.cast(DType::I64).slice(0..bags);
                // The bag of a position is the last one that starts at or before it.
                let started = Tensor::arange(count).unsqueeze(1).ge(&starts);
                (bags, started.cast(DType::I64).sum_axes(&[1]) - 1)
            }
        };
        let zeros = Tensor::constant(0.0, &Spec::new([bags, width], self.dtype()));
        if count == 0 {
            return zeros;
        }
        if options.mode == Bag::Max {
            let mut inside = Tensor::arange(bags).unsqueeze(1).equal(&number);
            if let Some(counts) = counts {
                inside = counts.broadcast_to(inside.shape()).where_(&inside, &inside.full_like(0.0));
            }
            let candidates = inside.unsqueeze(2).where_(rows.unsqueeze(0), f64::NEG_INFINITY);
            let empty = inside.cast(DType::I64).sum_axes(&[1]).equal(0).unsqueeze(1);
            return empty.where_(0.0, candidates.max_along(1).0);
        }
        if let Some(counts) = &counts {
            rows = counts.unsqueeze(1).where_(&rows, 0.0);
        }
        let total = zeros.scatter_add(0, &number.unsqueeze(1).broadcast_to([count, width]), &rows);
        if options.mode == Bag::Sum {
            return total;
        }
        let ones = counts.map_or_else(|| Tensor::full([count], 1i64), |counts| counts.cast(DType::I64));
        let sizes = Tensor::full([bags], 0i64).scatter_add(0, &number, &ones);
        let sizes = sizes.equal(0).where_(1, &sizes).cast(self.dtype());
        total / sizes.unsqueeze(1)
    }

    /// Each element is 0 with probability `p`, else divided by `1 - p`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::ones([1000]).dropout(0.25, &Key::new(7));
    /// assert!((y.mean().item() - 1.0).abs() < 0.1);
    /// assert_eq!(Tensor::ones([3]).dropout(0.0, &Key::new(7)), Tensor::ones([3]));
    /// ```
    #[track_caller]
    pub fn dropout(&self, p: f64, key: &Key) -> Tensor {
        self.drop_by("dropout", p, key, Shape::from(self.shape()))
    }

    /// Whole channels of `[N, C, ..]` are 0 with probability `p`, the others divided by `1 - p`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::ones([4, 8, 5]).feature_dropout(0.5, &Key::new(7));
    /// assert_eq!(y.slice((.., .., 0)), y.slice((.., .., 4)));
    /// ```
    #[track_caller]
    pub fn feature_dropout(&self, p: f64, key: &Key) -> Tensor {
        expect_channels("feature_dropout", self);
        let shape = self.shape().iter().enumerate().map(|(axis, &size)| if axis < 2 { size } else { 1 });
        self.drop_by("feature_dropout", p, key, shape.collect())
    }

    #[track_caller]
    fn drop_by(&self, name: &str, p: f64, key: &Key, shape: Shape) -> Tensor {
        expect_probability(name, p);
        if p == 0.0 {
            return self.clone();
        }
        let kept = key.uniform(shape, DType::F32).ge(p).broadcast_to(self.shape());
        let scale = if p == 1.0 { 0.0 } else { 1.0 / (1.0 - p) };
        kept.where_(self * scale, 0.0)
    }

    /// Dropout that keeps mean 0 and variance 1 of what passed a selu: dropped elements become its lower bound, then all
    /// are scaled and shifted.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::ones([3]).alpha_dropout(0.0, &Key::new(7)), Tensor::ones([3]));
    /// ```
    #[track_caller]
    pub fn alpha_dropout(&self, p: f64, key: &Key) -> Tensor {
        expect_probability("alpha_dropout", p);
        if p == 0.0 {
            return self.clone();
        }
        if p == 1.0 {
            return self * 0.0;
        }
        let bound = -1.758_099_340_847_376_6;
        let scale = 1.0 / ((1.0 - p) * (1.0 + p * bound * bound)).sqrt();
        let kept = key.uniform(self.shape(), DType::F32).ge(p);
        kept.where_(self, bound) * scale - scale * p * bound
    }

    /// `[N, C, spatial..]` resampled to another spatial size.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[[1.0, 2.0]]]);
    /// assert_eq!(x.interpolate(&Interpolate::scale(2.0)), Tensor::from([[[1.0, 1.0, 2.0, 2.0]]]));
    /// ```
    #[track_caller]
    pub fn interpolate(&self, options: &Interpolate) -> Tensor {
        let spatial = self.rank().saturating_sub(2);
        if !(1..=3).contains(&spatial) || self.shape()[2..].contains(&0) {
            let shape = Shape::from(self.shape());
            let message = format!("shape {shape} has no one to three spatial axes to resample");
            Error::new(ErrorKind::Shape(vec![shape]), "interpolate", message)
                .help("the input is [N, C, spatial..]")
                .raise();
        }
        let axes = options.axes(&self.shape()[2..]);
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

    /// `[N, C, spatial..]` read at the points of a grid `[N, output.., axes]` whose coordinates, last axis first, go from -1
    /// to 1 over the image: `[N, C, output..]`. Linear between elements.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[[[1.0, 3.0]]]]);
    /// let middle = Tensor::zeros([1, 1, 1, 2]);
    /// assert_eq!(x.grid_sample(&middle, &GridSample::new()), Tensor::from([[[[2.0]]]]));
    /// ```
    #[track_caller]
    pub fn grid_sample(&self, grid: &Tensor, options: &GridSample) -> Tensor {
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
        // For each axis: the two neighbours of each point and their weights.
        let flat = grid.reshape([batch, points, axes]);
        let neighbours: Vec<[(Tensor, Tensor); 2]> =
            (0..axes).map(|axis| options.neighbours(&flat.slice((.., .., axes - 1 - axis)), spatial[axis])).collect();
        let mut total: Option<Tensor> = None;
        for corner in 0..1usize << axes {
            let side = |axis: usize| &neighbours[axis][corner >> axis & 1];
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

    /// `[.., C r^2, H, W]` as `[.., C, H r, W r]`: channels become pixels.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]]);
    /// assert_eq!(x.pixel_shuffle(2), Tensor::from([[[[1.0, 2.0], [3.0, 4.0]]]]));
    /// ```
    #[track_caller]
    pub fn pixel_shuffle(&self, factor: usize) -> Tensor {
        let lead = self.image_axes("pixel_shuffle");
        let [.., channels, h, w] = *self.shape() else { unreachable!("the rank was checked") };
        if factor == 0 || !channels.is_multiple_of(factor * factor) {
            let message = format!("{channels} channels do not make squares of {factor}");
            Error::new(ErrorKind::Argument, "pixel_shuffle", message).raise();
        }
        let c = channels / (factor * factor);
        let split: Shape = self.shape()[..lead].iter().copied().chain([c, factor, factor, h, w]).collect();
        let order: Vec<usize> = (0..=lead).chain([3, 1, 4, 2].map(|axis| lead + axis)).collect();
        let shape: Shape = self.shape()[..lead].iter().copied().chain([c, h * factor, w * factor]).collect();
        self.reshape(split).permute(&order).reshape(shape)
    }

    /// `[.., C, H r, W r]` as `[.., C r^2, H, W]`: undoes [`pixel_shuffle`](Tensor::pixel_shuffle).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[[[1.0, 2.0], [3.0, 4.0]]]]);
    /// assert_eq!(x.pixel_unshuffle(2).pixel_shuffle(2), x);
    /// ```
    #[track_caller]
    pub fn pixel_unshuffle(&self, factor: usize) -> Tensor {
        let lead = self.image_axes("pixel_unshuffle");
        let [.., c, h, w] = *self.shape() else { unreachable!("the rank was checked") };
        if factor == 0 || !h.is_multiple_of(factor) || !w.is_multiple_of(factor) {
            let message = format!("an image of {h} x {w} does not make squares of {factor}");
            Error::new(ErrorKind::Argument, "pixel_unshuffle", message).raise();
        }
        let (h, w) = (h / factor, w / factor);
        let split: Shape = self.shape()[..lead].iter().copied().chain([c, h, factor, w, factor]).collect();
        let order: Vec<usize> = (0..=lead).chain([2, 4, 1, 3].map(|axis| lead + axis)).collect();
        let shape: Shape = self.shape()[..lead].iter().copied().chain([c * factor * factor, h, w]).collect();
        self.reshape(split).permute(&order).reshape(shape)
    }

    /// How many axes stand before channels, height and width.
    #[track_caller]
    fn image_axes(&self, name: &str) -> usize {
        match self.rank().checked_sub(3) {
            Some(lead) => lead,
            None => {
                let shape = Shape::from(self.shape());
                Error::new(ErrorKind::Shape(vec![shape.clone()]), name, format!("shape {shape} is not [.., C, H, W]"))
                    .raise()
            }
        }
    }

    /// `[N, C, ..]` with the channels of all groups in turn.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 2.0, 3.0, 4.0]]);
    /// assert_eq!(x.channel_shuffle(2), Tensor::from([[1.0, 3.0, 2.0, 4.0]]));
    /// ```
    #[track_caller]
    pub fn channel_shuffle(&self, groups: usize) -> Tensor {
        expect_channels("channel_shuffle", self);
        let channels = self.shape()[1];
        if groups == 0 || !channels.is_multiple_of(groups) {
            let message = format!("{channels} channels do not make {groups} groups");
            Error::new(ErrorKind::Argument, "channel_shuffle", message).raise();
        }
        let rest = &self.shape()[2..];
        let split: Shape = [self.shape()[0], groups, channels / groups].iter().chain(rest).copied().collect();
        let order: Vec<usize> = [0, 2, 1].into_iter().chain(3..split.rank()).collect();
        self.reshape(split).permute(&order).reshape(self.shape())
    }
}

#[track_caller]
fn expect_probability(name: &str, p: f64) {
    if !(0.0..=1.0).contains(&p) {
        let message = format!("{p} is not a probability");
        Error::new(ErrorKind::Argument, name, message).help("give a number from 0 to 1").raise();
    }
}

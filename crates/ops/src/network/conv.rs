//! conv - convolution (cross-correlation) over one to three axes.   y[n][o][q] = sum over c, k of w[o][c][k] x[n][c][q s + k d - p],   dy = conv(dx, w) + conv(x, dw).   x
//! is zero outside; each group of output channels reads its own group of input channels.
//!
//! conv_input_gradient - transposed convolution.   x[n][c][i] = sum over o, k of w[o][c][k] y[n][o][(i + p - k d) / s] over exact
//! divisions,   dx likewise.   Maps a cotangent of y to one of x.
//!
//! conv_weight_gradient - correlation of inputs with outputs.   w[o][c][k] = sum over n, q of y[n][o][q] x[n][c][q s + k d - p],   dw
//! likewise.   Maps a cotangent of y to one of w.
//!
//! The three are the partial derivatives of one trilinear form of (x, w, y), so each one's rules are the other two.

use super::unfold_patches::{FOLD_PATCHES, UNFOLD_PATCHES};
use crate::prelude::*;
use crate::primitive::streaming_cost;
use crate::rules::{LARGEST, Sizes};
use wengert_kernels::Convolution;

/// The zero padding of a convolution's input.
#[derive(Clone, Debug, PartialEq)]
pub enum Padding {
    /// None.
    Valid,
    /// Enough to make the output as large as the input; an odd one comes last. The stride must be 1.
    Same,
    /// This many on both sides of each axis.
    Each(Sizes),
}

macro_rules! paddings {
    ($([$($generics:tt)*] $sizes:ty),*) => {$(
        impl<$($generics)*> From<$sizes> for Padding {
            fn from(sizes: $sizes) -> Padding { Padding::Each(sizes.into()) }
        }
    )*};
}
paddings!([] usize, [const N: usize] [usize; N], [] &[usize], [] Vec<usize>);

/// Options for a convolution.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::ones([1, 1, 4, 4]);
/// let w = Tensor::ones([1, 1, 3, 3]);
/// let y = x.conv2d(&w, &Conv::new().stride(2).padding(1).bias(&Tensor::from([0.5])));
/// assert_eq!(y, Tensor::from([[[[4.5, 6.5], [6.5, 9.5]]]]));
/// ```
#[derive(Clone, Debug)]
pub struct Conv {
    stride: Sizes,
    padding: Padding,
    dilation: Sizes,
    output_padding: Sizes,
    groups: usize,
    bias: Option<Tensor>,
}

impl Default for Conv {
    fn default() -> Conv {
        Conv::new()
    }
}

impl Conv {
    /// The default: stride 1, no padding, dilation 1, one group, no bias.
    pub fn new() -> Conv {
        let (stride, dilation, output_padding) = (Sizes::from(1), Sizes::from(1), Sizes::from(0));
        Conv { stride, padding: Padding::Valid, dilation, output_padding, groups: 1, bias: None }
    }

    /// The step from one position of the kernel to the next, for all axes or for each.
    pub fn stride(self, stride: impl Into<Sizes>) -> Conv {
        Conv { stride: stride.into(), ..self }
    }

    /// Zeros around the input: a number for all axes, one for each, [`Padding::Same`] or [`Padding::Valid`].
    pub fn padding(self, padding: impl Into<Padding>) -> Conv {
        Conv { padding: padding.into(), ..self }
    }

    /// The step from one tap of the kernel to the next.
    pub fn dilation(self, dilation: impl Into<Sizes>) -> Conv {
        Conv { dilation: dilation.into(), ..self }
    }

    /// The additional length of the output of a transposed convolution beyond the minimum.
    pub fn output_padding(self, output_padding: impl Into<Sizes>) -> Conv {
        Conv { output_padding: output_padding.into(), ..self }
    }

    /// Splits the channels into this many groups: each group of output channels reads its own group of input channels.
    pub fn groups(self, groups: usize) -> Conv {
        Conv { groups, ..self }
    }

    /// A number for each output channel, added to the result.
    pub fn bias(self, bias: &Tensor) -> Conv {
        Conv { bias: Some(bias.clone()), ..self }
    }

    /// (stride, dilation, before, after) of each axis.
    #[track_caller]
    pub(crate) fn geometry(&self, name: &str, kernel: &[usize]) -> [Vec<usize>; 4] {
        let axes = kernel.len();
        let (stride, dilation) =
            (self.stride.each(name, "stride", axes, 1), self.dilation.each(name, "dilation", axes, 1));
        let (before, after) = match &self.padding {
            Padding::Valid => (vec![0; axes], vec![0; axes]),
            Padding::Each(sizes) => {
                let each = sizes.each(name, "padding", axes, 0);
                (each.clone(), each)
            }
            Padding::Same => {
                if stride.iter().any(|&step| step != 1) {
                    let message = format!("the output cannot have the size of the input with stride {stride:?}");
                    Error::new(ErrorKind::Argument, name, message).help("pad by a number, or use stride 1").raise();
                }
                let total: Vec<usize> =
                    kernel.iter().zip(&dilation).map(|(&size, &step)| size.saturating_sub(1) * step).collect();
                (total.iter().map(|total| total / 2).collect(), total.iter().map(|total| total - total / 2).collect())
            }
        };
        // Sums and products of some of them are still sizes.
        for (what, sizes) in [("stride", &stride), ("dilation", &dilation), ("padding", &before)] {
            if let Some(size) = sizes.iter().find(|size| **size > i32::MAX as usize) {
                Error::new(ErrorKind::Argument, name, format!("the {what} {size} is too large")).raise();
            }
        }
        [stride, dilation, before, after]
    }

    #[track_caller]
    fn with_bias(&self, name: &str, y: Tensor, axes: usize) -> Tensor {
        let Some(bias) = &self.bias else { return y };
        let channels = y.shape()[y.rank() - axes - 1];
        if bias.shape() != [channels] {
            let shape = Shape::from(bias.shape());
            let message = format!("the bias has shape {shape}, the output has {channels} channels");
            Error::new(ErrorKind::Shape(vec![shape]), name, message).help("give one number for each channel").raise();
        }
        let mut column = vec![1; axes + 1];
        column[0] = channels;
        let (column, mut y) = (bias.reshape(column), y);
        y += column;
        y
    }
}

/// The operand as a batch of images, and whether it was a single image.
#[track_caller]
fn images(name: &str, x: &Tensor, w: &Tensor, axes: usize) -> (Tensor, bool) {
    let ranks = [axes + 1, axes + 2];
    if !ranks.contains(&x.rank()) || w.rank() != axes + 2 {
        let shapes = vec![Shape::from(x.shape()), Shape::from(w.shape())];
        let message = format!("input of shape {} with weights of shape {}", shapes[0], shapes[1]);
        let help = format!("the input has {} or {} axes, the weights {}", ranks[0], ranks[1], ranks[1]);
        Error::new(ErrorKind::Shape(shapes), name, message).help(help).raise();
    }
    match x.rank() == axes + 1 {
        true => (x.unsqueeze(0), true),
        false => (x.clone(), false),
    }
}

#[track_caller]
fn one_image(y: Tensor, single: bool) -> Tensor {
    if single { y.reshape(&y.shape()[1..]) } else { y }
}

/// The methods of `conv`.
#[ext(ConvMethods)]
impl Tensor {
    /// The convolution of `[N, C, L]` (or `[C, L]`) with weights `[O, C / groups, K]`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[[1.0, 2.0, 4.0, 8.0]]]);
    /// let difference = Tensor::from([[[-1.0, 1.0]]]);
    /// assert_eq!(x.conv1d(&difference, &Conv::new()), Tensor::from([[[1.0, 2.0, 4.0]]]));
    /// ```
    #[track_caller]
    pub fn conv1d(&self, w: &Tensor, options: &Conv) -> Tensor {
        self.convolve(w, options, 1, "conv1d")
    }

    /// The convolution of `[N, C, H, W]` (or `[C, H, W]`) with weights `[O, C / groups, H', W']`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::ones([2, 3, 8, 8]).conv2d(&Tensor::ones([4, 3, 3, 3]), &Conv::new().padding(Padding::Same));
    /// assert_eq!(y.shape(), [2, 4, 8, 8]);
    /// ```
    #[track_caller]
    pub fn conv2d(&self, w: &Tensor, options: &Conv) -> Tensor {
        self.convolve(w, options, 2, "conv2d")
    }

    /// The convolution of `[N, C, D, H, W]` (or `[C, D, H, W]`) with weights `[O, C / groups, D', H', W']`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::ones([1, 1, 2, 3, 4]).conv3d(&Tensor::ones([1, 1, 2, 2, 2]), &Conv::new());
    /// assert_eq!(y, Tensor::full([1, 1, 1, 2, 3], 8.0));
    /// ```
    #[track_caller]
    pub fn conv3d(&self, w: &Tensor, options: &Conv) -> Tensor {
        self.convolve(w, options, 3, "conv3d")
    }

    /// The transposed convolution of `[N, C, L]` (or `[C, L]`) with weights `[C, O / groups, K]`: the gradient of `conv1d` with respect to
    /// its input.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([[[1.0, 10.0]]]).conv_transpose1d(&Tensor::from([[[2.0, 3.0]]]), &Conv::new().stride(2));
    /// assert_eq!(y, Tensor::from([[[2.0, 3.0, 20.0, 30.0]]]));
    /// ```
    #[track_caller]
    pub fn conv_transpose1d(&self, w: &Tensor, options: &Conv) -> Tensor {
        self.convolve_transposed(w, options, 1, "conv_transpose1d")
    }

    /// The transposed convolution of `[N, C, H, W]` (or `[C, H, W]`) with weights `[C, O / groups, H', W']`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::ones([1, 2, 4, 4]).conv_transpose2d(&Tensor::ones([2, 3, 2, 2]), &Conv::new().stride(2));
    /// assert_eq!(y, Tensor::full([1, 3, 8, 8], 2.0));
    /// ```
    #[track_caller]
    pub fn conv_transpose2d(&self, w: &Tensor, options: &Conv) -> Tensor {
        self.convolve_transposed(w, options, 2, "conv_transpose2d")
    }

    /// The transposed convolution of `[N, C, D, H, W]` (or `[C, D, H, W]`) with weights `[C, O / groups, D', H', W']`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::ones([1, 1, 1, 1, 1]).conv_transpose3d(&Tensor::ones([1, 1, 2, 2, 2]), &Conv::new());
    /// assert_eq!(y, Tensor::ones([1, 1, 2, 2, 2]));
    /// ```
    #[track_caller]
    pub fn conv_transpose3d(&self, w: &Tensor, options: &Conv) -> Tensor {
        self.convolve_transposed(w, options, 3, "conv_transpose3d")
    }
}

#[ext(ConvParts)]
impl Tensor {
    #[track_caller]
    fn convolve(&self, w: &Tensor, options: &Conv, axes: usize, name: &str) -> Tensor {
        let (x, single) = images(name, self, w, axes);
        let kernel = &w.shape()[2..];
        let [stride, dilation, before, after] = options.geometry(name, kernel);
        let attrs = attributes(&x.shape()[2..], kernel, &stride, &dilation, &before, &after, options.groups);
        let y = bind1(&CONV, attrs, &[&x, w]);
        one_image(options.with_bias(name, y, axes), single)
    }

    #[track_caller]
    fn convolve_transposed(&self, w: &Tensor, options: &Conv, axes: usize, name: &str) -> Tensor {
        let (x, single) = images(name, self, w, axes);
        let kernel = &w.shape()[2..];
        let [stride, dilation, before, mut after] = options.geometry(name, kernel);
        let extra = options.output_padding.each(name, "output padding", axes, 0);
        // Output padding is first taken from the padding at the end; the rest must not make room for another window.
        let mut input = Vec::new();
        for axis in 0..axes {
            if extra[axis] >= stride[axis].max(dilation[axis]) {
                let message = format!("output padding {} along axis {axis} is too large", extra[axis]);
                Error::new(ErrorKind::Argument, name, message)
                    .help("it must be smaller than the stride or the dilation")
                    .raise();
            }
            let span = dilation[axis] * kernel[axis].saturating_sub(1) + 1;
            let whole = (x.shape()[axis + 2].max(1) - 1) * stride[axis] + span + extra[axis];
            let Some(size) = whole.checked_sub(before[axis] + after[axis]) else {
                let message = format!("padding {} leaves nothing of {whole} along axis {axis}", before[axis]);
                Error::new(ErrorKind::Argument, name, message).raise();
            };
            after[axis] -= extra[axis].min(after[axis]);
            input.push(size);
        }
        let reach = |axis: usize| {
            let span = dilation[axis] * kernel[axis].saturating_sub(1) + 1;
            let end = (x.shape()[axis + 2].max(1) - 1) * stride[axis] + span + stride[axis] - 1;
            end.saturating_sub(before[axis] + after[axis])
        };
        let reached: Vec<usize> = (0..axes).map(|axis| input[axis].min(reach(axis))).collect();
        if reached.contains(&0) && !input.contains(&0) {
            // The padding takes everything that the windows reach; the rest is zeros.
            let shape: Shape = [x.shape()[0], w.shape()[1] * options.groups].iter().chain(&input).copied().collect();
            let y = Tensor::constant(0.0, &Spec { shape, dtype: x.dtype() });
            return one_image(options.with_bias(name, y, axes), single);
        }
        let attrs = attributes(&reached, kernel, &stride, &dilation, &before, &after, options.groups);
        let mut y = bind1(&CONV_INPUT_GRADIENT, attrs, &[&x, w]);
        if reached != input {
            let shape: Shape = y.shape()[..2].iter().chain(&input).copied().collect();
            let mut whole = Tensor::constant(0.0, &Spec { shape, dtype: y.dtype() });
            let part: Vec<crate::Select> = y.shape().iter().map(|&size| (0..size).into()).collect();
            whole.set(&part[..], &y);
            y = whole;
        }
        one_image(options.with_bias(name, y, axes), single)
    }
}

pub(crate) const ATTRIBUTES: &[&str] = &["input", "kernel", "stride", "dilation", "before", "after", "groups"];

/// The attributes that all three share, so that rules pass them on unchanged.
pub(crate) fn attributes(
    input: &[usize],
    kernel: &[usize],
    stride: &[usize],
    dilation: &[usize],
    before: &[usize],
    after: &[usize],
    groups: usize,
) -> Attrs {
    let lists = [input, kernel, stride, dilation, before, after];
    let attrs = ATTRIBUTES.iter().zip(lists).fold(Attrs::new(), |attrs, (name, list)| attrs.with_sizes(name, list));
    attrs.with_int("groups", groups as i64)
}

/// One of the three tensors of the trilinear form.
#[derive(Clone, Copy, PartialEq, Debug)]
enum ConvTensor {
    Input,
    Weight,
    Output,
}
use ConvTensor::{Input, Output, Weight};

/// The primitive `conv`.
pub static CONV: Bilinear = Bilinear { name: "conv", operands: [Input, Weight], result: Output };

/// The primitive `conv_input_gradient`.
pub static CONV_INPUT_GRADIENT: Bilinear =
    Bilinear { name: "conv_input_gradient", operands: [Output, Weight], result: Input };

/// The primitive `conv_weight_gradient`.
pub static CONV_WEIGHT_GRADIENT: Bilinear =
    Bilinear { name: "conv_weight_gradient", operands: [Input, Output], result: Weight };

/// See the module.
pub struct Bilinear {
    name: &'static str,
    operands: [ConvTensor; 2],
    result: ConvTensor,
}

/// The third tensor of the form, from the other two.
fn produce(attrs: &Attrs, a: (ConvTensor, &Tensor), b: (ConvTensor, &Tensor)) -> Tensor {
    let of = |part: ConvTensor| if a.0 == part { a.1 } else { b.1 };
    let has = |part: ConvTensor| a.0 == part || b.0 == part;
    let op = if !has(Output) {
        &CONV
    } else if !has(Input) {
        &CONV_INPUT_GRADIENT
    } else {
        &CONV_WEIGHT_GRADIENT
    };
    bind1(op, attrs.clone(), &[of(op.operands[0]), of(op.operands[1])])
}

/// The geometry for these numbers of images and channels.
pub(crate) fn convolution(attrs: &Attrs, batch: usize, channels: usize, outputs: usize) -> Convolution {
    // Missing axes have size 1 and come first.
    let filled = |name: &str, rest: usize| -> [usize; 3] {
        let sizes = attrs.sizes(name);
        std::array::from_fn(|axis| (axis + sizes.len()).checked_sub(3).map_or(rest, |axis| sizes[axis]))
    };
    Convolution {
        batch,
        channels,
        outputs,
        groups: attrs.axis("groups"),
        input: filled("input", 1),
        kernel: filled("kernel", 1),
        stride: filled("stride", 1),
        dilation: filled("dilation", 1),
        before: filled("before", 0),
        after: filled("after", 0),
    }
}

/// The number of spatial axes of the attributes, or an error if they are inconsistent.
pub(crate) fn expect_kernel(name: &str, attrs: &Attrs) -> Result<usize, Error> {
    let axes = attrs.sizes("kernel").rank();
    let lists = ATTRIBUTES[..6].iter().map(|list| (*list, attrs.sizes(list)));
    let fits = |(list, sizes): (&str, Shape)| {
        let least = usize::from(["kernel", "stride", "dilation"].contains(&list));
        sizes.rank() == axes && (list == "input" || sizes.iter().all(|size| (least..=LARGEST).contains(size)))
    };
    match (1..=3).contains(&axes) && attrs.int("groups") >= 1 && lists.into_iter().all(fits) {
        true => Ok(axes),
        false => {
            Err(Error::new(ErrorKind::Argument, name, format!("there are no such windows: {attrs}")).help(format!(
                "one to three axes; kernel sizes, strides, dilations and groups start at 1, and sizes go to {LARGEST}"
            )))
        }
    }
}

/// The numbers of images, input channels and output channels of a call.
fn counts(op: &Bilinear, attrs: &Attrs, a: &[usize], b: &[usize]) -> (usize, usize, usize) {
    let groups = attrs.axis("groups");
    match op.result {
        Output => (a[0], a[1], b[0]),
        Input => (a[0], b[1].saturating_mul(groups), a[1]),
        Weight => (a[0], a[1], b[1]),
    }
}

impl Bilinear {
    /// The shape of a tensor of the form.
    fn shape(&self, part: ConvTensor, geometry: &Convolution, axes: usize) -> Shape {
        let Convolution { batch, channels, outputs, groups, .. } = *geometry;
        let (first, second, sizes) = match part {
            Input => (batch, channels, geometry.input),
            Weight => (outputs, channels / groups, geometry.kernel),
            Output => (batch, outputs, geometry.output()),
        };
        [first, second].iter().chain(&sizes[3 - axes..]).copied().collect()
    }

    fn write<T: wengert_kernels::Convolve>(&self, geometry: &Convolution, a: View<'_>, b: View<'_>, out: Out<'_>) {
        let (a, b) = (numbers::<T>(a), numbers::<T>(b));
        fill(out, |out: &mut [T]| match self.result {
            Output => geometry.forward(&a[..], &b[..], out),
            Input => geometry.input_gradient(&a[..], &b[..], out),
            Weight => geometry.weight_gradient(&a[..], &b[..], out),
        });
    }
}

/// The axis of a tensor that absorbs the batch: images, output channels, input channels, or groups of both.
#[derive(Clone, Copy, PartialEq)]
enum Fold {
    Images,
    Outputs,
    Channels,
    Groups,
}

impl Fold {
    fn carries(self, part: ConvTensor) -> bool {
        match self {
            Fold::Images => part != Weight,
            Fold::Outputs => part != Input,
            Fold::Channels => part != Output,
            Fold::Groups => true,
        }
    }

    /// The position of the batch among the leading axes `[S, first, second]`: the shape that splits an axis, the permutation that moves S,
    /// and the resulting two leading sizes.
    fn plan(
        self,
        part: ConvTensor,
        groups: usize,
        [size, first, second]: [usize; 3],
    ) -> (Vec<usize>, Vec<usize>, [usize; 2]) {
        let per = |count: usize| count / groups.max(1);
        match (self, part) {
            (Fold::Images, _) => (vec![size, first, second], vec![0, 1, 2], [size * first, second]),
            (Fold::Groups, Weight) => (vec![size, first, second], vec![0, 1, 2], [size * first, second]),
            (Fold::Groups, _) => (vec![size, first, second], vec![1, 0, 2], [first, size * second]),
            (Fold::Outputs, Weight) => {
                (vec![size, groups, per(first), second], vec![1, 0, 2, 3], [size * first, second])
            }
            (Fold::Channels, Weight) => (vec![size, first, second], vec![1, 0, 2], [first, size * second]),
            (Fold::Outputs | Fold::Channels, _) => {
                (vec![size, first, groups, per(second)], vec![1, 2, 0, 3], [first, size * second])
            }
        }
    }

    /// Folds the leading batch of `x` into another axis.
    fn fold(self, part: ConvTensor, groups: usize, x: &Tensor) -> Tensor {
        let (lead, spatial) = x.shape().split_at(3);
        let (split, order, folded) = self.plan(part, groups, [lead[0], lead[1], lead[2]]);
        let with = |lead: &[usize]| -> Shape { lead.iter().chain(spatial).copied().collect() };
        let order: Vec<usize> = order.into_iter().chain(split.len()..split.len() + spatial.len()).collect();
        x.reshape(with(&split)).permute(&order).reshape(with(&folded))
    }

    /// Undoes [`fold`](Fold::fold) for a batch of `lead = [S, first, second]`.
    fn unfold(self, part: ConvTensor, groups: usize, lead: [usize; 3], y: &Tensor) -> Tensor {
        let spatial = &y.shape()[2..];
        let (split, order, _) = self.plan(part, groups, lead);
        let order: Vec<usize> = order.into_iter().chain(split.len()..split.len() + spatial.len()).collect();
        let with = |lead: &[usize]| -> Shape { lead.iter().chain(spatial).copied().collect() };
        let split = with(&split);
        let moved: Shape = order.iter().map(|&axis| split[axis]).collect();
        let mut back = vec![0; order.len()];
        order.iter().enumerate().for_each(|(to, &from)| back[from] = to);
        y.reshape(moved).permute(&back).reshape(with(&lead))
    }
}

impl Primitive for Bilinear {
    fn name(&self) -> &'static str {
        self.name
    }

    fn operands(&self) -> usize {
        2
    }

    fn attributes(&self) -> &'static [&'static str] {
        ATTRIBUTES
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (a, b) = (operands[0], operands[1]);
        let shapes = || vec![Shape::from(a.shape), Shape::from(b.shape)];
        let wrong = |message: String| Error::new(ErrorKind::Shape(shapes()), self.name, message);
        expect_same_dtype(self.name, a.dtype, b.dtype)?;
        expect_float(self.name, a.dtype)?;
        let axes = expect_kernel(self.name, attrs)?;
        if [a, b].iter().any(|operand| operand.shape.len() != axes + 2) {
            let message = format!("shapes {} and {} for a kernel of {axes} axes", shapes()[0], shapes()[1]);
            return Err(wrong(message).help("both have a batch or output axis, a channel axis and one to three others"));
        }
        let (batch, channels, outputs) = counts(self, attrs, a.shape, b.shape);
        let geometry = convolution(attrs, batch, channels, outputs);
        let groups = geometry.groups;
        if !channels.is_multiple_of(groups) || !outputs.is_multiple_of(groups) {
            let message = format!("{channels} input and {outputs} output channels do not make {groups} groups");
            return Err(wrong(message).help("both numbers of channels must be multiples of the groups"));
        }
        for axis in 3 - axes..3 {
            let span = geometry.dilation[axis] * (geometry.kernel[axis] - 1) + 1;
            let room = geometry.input[axis] + geometry.before[axis] + geometry.after[axis];
            if room < span && geometry.input[axis] > 0 {
                let message = format!(
                    "a kernel that spans {span} does not fit {room} along axis {} of {}",
                    axis + axes - 1,
                    shapes()[0]
                );
                return Err(wrong(message).help("pad the input, or use a smaller kernel or dilation"));
            }
        }
        for (operand, part) in [a, b].iter().zip(self.operands) {
            let expected = self.shape(part, &geometry, axes);
            if expected[..] != *operand.shape {
                let message = format!(
                    "shapes {} and {} do not fit: one of shape {expected} was expected in place of {}",
                    shapes()[0],
                    shapes()[1],
                    Shape::from(operand.shape)
                );
                return Err(wrong(message).help(format!(
                    "weights are [outputs, channels / groups, kernel..]; here {channels} channels in {groups} groups"
                )));
            }
        }
        Ok(smallvec![Spec { shape: self.shape(self.result, &geometry, axes), dtype: a.dtype }])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (a, b, to) = (operands[0], operands[1], outputs[0].reborrow());
        let (batch, channels, out) = counts(self, attrs, a.shape, b.shape);
        let geometry = convolution(attrs, batch, channels, out);
        computing_float!(to.dtype, T => self.write::<T>(&geometry, a, b, to));
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, wanted: Mask) -> Saves {
        let saves = if wanted.has(0) { Saves::NOTHING.operand(1) } else { Saves::NOTHING };
        if wanted.has(1) { saves.operand(0) } else { saves }
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let gradient = |position: usize| match rule.wants(position) {
            true => {
                let other = (self.operands[1 - position], rule.operand(1 - position));
                Gradient::Dense(produce(rule.attrs, (self.result, &g), other))
            }
            false => Gradient::Zero,
        };
        smallvec![gradient(0), gradient(1)]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let left = tangents[0].as_ref().map(|da| bind1(self, rule.attrs.clone(), &[da, rule.operand(1)]));
        let right = tangents[1].as_ref().map(|db| bind1(self, rule.attrs.clone(), &[rule.operand(0), db]));
        smallvec![left.into_iter().chain(right).reduce(|a, b| a + b)]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let inner = |position: usize| &operands[position].shape()[usize::from(batched.has(position))..];
        let axes = attrs.sizes("kernel").rank();
        let (images, channels, outputs) = counts(self, attrs, inner(0), inner(1));
        let shape = self.shape(self.result, &convolution(attrs, images, channels, outputs), axes);
        if size == 0 {
            let spec = Spec { shape: shape.prepended(0), dtype: operands[0].dtype() };
            return Ok(smallvec![Tensor::constant(0.0, &spec)]);
        }
        let has = |part: ConvTensor| {
            part == self.result || (0..2).any(|position| self.operands[position] == part && batched.has(position))
        };
        let fold = match (has(Input), has(Weight), has(Output)) {
            (true, false, true) => Fold::Images,
            (false, true, true) => Fold::Outputs,
            (true, true, false) => Fold::Channels,
            _ => Fold::Groups,
        };
        let groups = attrs.axis("groups");
        let folded: Vec<Tensor> = (0..2)
            .map(|position| match fold.carries(self.operands[position]) {
                true => fold.fold(self.operands[position], groups, &operands[position]),
                false => operands[position].clone(),
            })
            .collect();
        let attrs = match fold {
            Fold::Groups => attrs.clone().with_int("groups", (groups * size) as i64),
            _ => attrs.clone(),
        };
        let y = bind1(self, attrs, &[&folded[0], &folded[1]]);
        Ok(smallvec![fold.unfold(self.result, groups, [size, shape[0], shape[1]], &y)])
    }

    fn cost(&self, attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let (batch, channels, out) = counts(self, attrs, operands[0].shape, operands[1].shape);
        let geometry = convolution(attrs, batch, channels, out);
        let taps = geometry.kernel.iter().product::<usize>() * (channels / geometry.groups);
        let positions = batch * out * geometry.output().iter().product::<usize>();
        Cost { flops: 2.0 * taps as f64 * positions as f64, ..streaming_cost(operands, outputs) }
    }

    /// The convolution as products of patches.
    fn expansion(&'static self, attrs: &Attrs, operands: &[Tensor]) -> Option<Vec<Tensor>> {
        let (a, b) = (&operands[0], &operands[1]);
        let (batch, channels, outputs) = counts(self, attrs, a.shape(), b.shape());
        let geometry = convolution(attrs, batch, channels, outputs);
        let (groups, taps) = (geometry.groups, geometry.kernel.iter().product::<usize>());
        let (positions, whole) = (geometry.output().iter().product::<usize>(), attrs.clone().with_int("groups", 1));
        let (each, own) = (channels / groups * taps, outputs / groups);
        let patches =
            |x: &Tensor| bind1(&UNFOLD_PATCHES, whole.clone(), &[x]).reshape([batch, groups, each, positions]);
        let weights = |w: &Tensor| w.reshape([1, groups, own, each]);
        let results = |y: &Tensor| y.reshape([batch, groups, own, positions]);
        let shape = self.shape(self.result, &geometry, attrs.sizes("kernel").rank());
        Some(vec![match self.result {
            Output => weights(b).matmul(&patches(a)).reshape(shape),
            Input => {
                let columns = weights(b).t().matmul(&results(a)).reshape([batch, channels * taps, positions]);
                bind1(&FOLD_PATCHES, whole.clone(), &[&columns])
            }
            Weight => results(b).matmul(&patches(a).t()).sum_over(0).reshape(shape),
        }])
    }

    fn jet(&self) -> Jet {
        Jet::Bilinear
    }

    fn rule_text(&self) -> &'static str {
        match self.result {
            Output => "dx = conv_input_gradient(dy, w), dw = conv_weight_gradient(x, dy)",
            Input => "dy = conv(dx, w), dw = conv_weight_gradient(dx, y)",
            Weight => "dx = conv_input_gradient(y, dw), dy = conv(x, dw)",
        }
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let case = |label: &str, batch: usize, channels: usize, outputs: usize, attrs: Attrs| {
            let (op, axes) = (Bilinear { ..*self }, attrs.sizes("kernel").rank());
            let geometry = convolution(&attrs, batch, channels, outputs);
            let operands =
                [0, 1].map(|k| Sample::wave(op.shape(op.operands[k], &geometry, axes), 0.25 + 0.4 * k as f64));
            Case::new(label, attrs, operands, move |s| vec![op.reference(&geometry, axes, &s[0], &s[1])])
        };
        vec![
            case("one axis", 2, 2, 3, attributes(&[5], &[3], &[1], &[1], &[1], &[1], 1)),
            case("stride, dilation, groups", 1, 4, 2, attributes(&[7], &[2], &[2], &[2], &[1], &[0], 2)),
            case("two axes", 1, 2, 2, attributes(&[4, 3], &[2, 3], &[1, 2], &[1, 1], &[0, 1], &[1, 1], 1)),
            case("three axes", 1, 1, 2, attributes(&[2, 3, 2], &[2, 2, 1], &[1; 3], &[1; 3], &[0; 3], &[0; 3], 1)),
            case("depthwise", 1, 2, 2, attributes(&[3, 3], &[2, 2], &[1; 2], &[1; 2], &[0; 2], &[0; 2], 2)),
            case("one number", 1, 1, 1, attributes(&[1], &[1], &[1], &[1], &[0], &[0], 1)),
            case("no images", 0, 2, 3, attributes(&[4], &[2], &[1], &[1], &[0], &[0], 1)),
            case("no channels", 1, 0, 2, attributes(&[3], &[2], &[1], &[1], &[0], &[0], 1)),
        ]
    }

    fn lower(&'static self) -> Option<&'static dyn Lower> {
        Some(self)
    }
}

impl Lower for Bilinear {
    fn leads(&self) -> bool {
        self.result != Weight
    }
}

impl Bilinear {
    /// The sum over all triples, by definition.
    fn reference(&self, geometry: &Convolution, axes: usize, a: &Sample, b: &Sample) -> Sample {
        let mut result = Sample::build(self.shape(self.result, geometry, axes), |_| 0.0);
        let skip = 3 - axes;
        let (per_group, outputs_per_group) =
            (geometry.channels / geometry.groups, geometry.outputs / geometry.groups.max(1));
        let sizes = [geometry.batch, geometry.outputs, per_group];
        let all: Vec<usize> = sizes.iter().chain(&geometry.kernel).chain(&geometry.output()).copied().collect();
        for i in Sample::indices(&all) {
            let (n, o, c, k, q) = (i[0], i[1], i[2], &i[3..6], &i[6..9]);
            let place = |axis: usize| {
                let at = q[axis] * geometry.stride[axis] + k[axis] * geometry.dilation[axis];
                at.checked_sub(geometry.before[axis]).filter(|&at| at < geometry.input[axis])
            };
            let Some(at) = (skip..3).map(place).collect::<Option<Vec<usize>>>() else { continue };
            let position = |part: ConvTensor| match part {
                Input => [&[n, o / outputs_per_group * per_group + c], &at[..]].concat(),
                Weight => [&[o, c], &k[skip..]].concat(),
                Output => [&[n, o], &q[skip..]].concat(),
            };
            let to = result.position(&position(self.result));
            result.data[to] += a.at(&position(self.operands[0])) * b.at(&position(self.operands[1]));
        }
        result
    }
}

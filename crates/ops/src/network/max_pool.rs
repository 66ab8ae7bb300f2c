//! max_pool - maxima over windows, with their positions.   y[o] = x[k], k = argmax of x over window o,   dy[o] = dx[k].   The whole
//! gradient goes to the returned position: the first one of a tie. NaN propagates. Positions count over a plane of the input; padding is
//! never selected.
//!
//! adaptive_max_pool - maxima over windows chosen for a given output size.   Window o is floor(o n / m) .. ceil((o + 1)
//! n / m),   dy[o] = dx[k].

use super::planes::{gathered, scattered};
use crate::error::OrRaise;
use crate::prelude::*;
use crate::primitive::streaming_cost;
use crate::rules::{LARGEST, Sizes, window_sizes};
use wengert_kernels::matmul::Product;
use wengert_kernels::{AdaptivePooling, Pooling};

/// The windows of a pooling operation.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([[[1.0, 5.0, 2.0, 3.0]]]);
/// assert_eq!(x.max_pool1d(&Pool::new(2)), Tensor::from([[[5.0, 3.0]]]));
/// assert_eq!(x.avg_pool1d(&Pool::new(2).stride(1)), Tensor::from([[[3.0, 3.5, 2.5]]]));
/// ```
#[derive(Clone, Debug)]
pub struct Pool {
    kernel: Sizes,
    stride: Option<Sizes>,
    padding: Sizes,
    dilation: Sizes,
    ceil: bool,
    pub(super) count_include_pad: bool,
    pub(super) divisor: Option<f64>,
}

impl Pool {
    /// Adjacent windows of this size, without padding.
    pub fn new(kernel: impl Into<Sizes>) -> Pool {
        Pool {
            kernel: kernel.into(),
            stride: None,
            padding: Sizes::from(0),
            dilation: Sizes::from(1),
            ceil: false,
            count_include_pad: true,
            divisor: None,
        }
    }

    /// The step from one window to the next; by default the size of a window.
    pub fn stride(self, stride: impl Into<Sizes>) -> Pool {
        Pool { stride: Some(stride.into()), ..self }
    }

    /// Padding on both sides of each axis, at most half a window.
    pub fn padding(self, padding: impl Into<Sizes>) -> Pool {
        Pool { padding: padding.into(), ..self }
    }

    /// The step from one element of a window to the next.
    pub fn dilation(self, dilation: impl Into<Sizes>) -> Pool {
        Pool { dilation: dilation.into(), ..self }
    }

    /// Whether the last window may extend beyond the padding.
    pub fn ceil_mode(self, ceil: bool) -> Pool {
        Pool { ceil, ..self }
    }

    /// Whether an average includes the zeros of the padding.
    pub fn count_include_pad(self, count: bool) -> Pool {
        Pool { count_include_pad: count, ..self }
    }

    /// The divisor of an average, instead of the number of elements.
    pub fn divisor(self, divisor: f64) -> Pool {
        Pool { divisor: Some(divisor), ..self }
    }

    /// The size of a window along each axis.
    #[track_caller]
    pub(crate) fn kernel(&self, name: &str, axes: usize) -> Vec<usize> {
        self.kernel.each(name, "kernel", axes, 1)
    }

    /// The checked attributes shared by max_pool and avg_pool.
    #[track_caller]
    pub(crate) fn attrs(&self, name: &str, x: &Tensor, axes: usize) -> Attrs {
        if x.rank() < axes + 1 {
            let shape = Shape::from(x.shape());
            let message = format!("shape {shape} has no channel and {axes} spatial axes");
            Error::new(ErrorKind::Shape(vec![shape]), name, message).raise();
        }
        let kernel = self.kernel(name, axes);
        let stride =
            self.stride.as_ref().map_or_else(|| kernel.clone(), |stride| stride.each_or(name, "stride", &kernel));
        let padding = self.padding.each(name, "padding", axes, 0);
        let dilation = self.dilation.each(name, "dilation", axes, 1);
        let input = &x.shape()[x.rank() - axes..];
        let pooling = windows_of(name, input, [&kernel, &stride, &dilation, &padding]).or_raise();
        let output = pooling.output_size(self.ceil);
        if let Some(axis) = (3 - axes..3).find(|&axis| output[axis] == 0) {
            let message =
                format!("a window of {kernel:?} does not fit {input:?} along spatial axis {}", axis + axes - 3);
            Error::new(ErrorKind::Shape(vec![Shape::from(x.shape())]), name, message)
                .help("use a smaller window or padding")
                .raise();
        }
        pool_attributes(input, &output[3 - axes..], [&kernel, &stride, &dilation, &padding])
    }
}

/// Attributes of equally spaced windows.
pub(crate) const POOL_ATTRIBUTES: &[&str] = &LISTS;

const LISTS: [&str; 6] = ["input", "output", "kernel", "stride", "dilation", "padding"];

pub(crate) fn pool_attributes(input: &[usize], output: &[usize], windows: [&[usize]; 4]) -> Attrs {
    let lists = [input, output].into_iter().chain(windows);
    POOL_ATTRIBUTES.iter().zip(lists).fold(Attrs::new(), |attrs, (name, list)| attrs.with_sizes(name, list))
}

/// The windows of one plane, whose output is not known yet; invalid windows are an error.
fn windows_of(name: &str, input: &[usize], windows: [&[usize]; 4]) -> Result<Pooling, Error> {
    let [kernel, stride, dilation, padding] = windows;
    let wrong = |message: String| Error::new(ErrorKind::Argument, name, message);
    let axes = input.len();
    if !(1..=3).contains(&axes) || windows.iter().any(|sizes| sizes.len() != axes) {
        return Err(wrong(format!("windows {windows:?} for spatial axes of {input:?}"))
            .help("there are one to three axes, and a number for each"));
    }
    if [kernel, stride, dilation].iter().copied().flatten().any(|size| !(1..=LARGEST).contains(size)) {
        let message = format!("kernel {kernel:?}, stride {stride:?} and dilation {dilation:?} start at 1");
        return Err(wrong(message).help(format!("and go to {LARGEST}")));
    }
    if let Some(axis) = (0..axes).find(|&axis| padding[axis] > (dilation[axis] * (kernel[axis] - 1)).div_ceil(2)) {
        return Err(wrong(format!("padding {} is more than half a window of {}", padding[axis], kernel[axis]))
            .help("pad the input first"));
    }
    let sizes = |list: &[usize], rest: usize| window_sizes(list, rest);
    let (before, after) = (sizes(padding, 0), sizes(padding, 0));
    let (kernel, stride, dilation) = (sizes(kernel, 1), sizes(stride, 1), sizes(dilation, 1));
    Ok(Pooling { planes: 1, input: sizes(input, 1), kernel, stride, dilation, before, after, output: [1; 3] })
}

/// The geometry of a call on this many planes, or an error if its attributes are inconsistent.
fn geometry(name: &str, attrs: &Attrs, planes: usize) -> Result<Pooling, Error> {
    let [input, output, kernel, stride, dilation, padding] = LISTS.map(|name| attrs.sizes(name));
    let windows = windows_of(name, &input, [&kernel, &stride, &dilation, &padding])?;
    let pooling = Pooling { planes, output: window_sizes(&output, 1), ..windows };
    match output.rank() == input.rank() && [false, true].map(|ceil| pooling.output_size(ceil)).contains(&pooling.output)
    {
        true => Ok(pooling),
        false => Err(Error::new(ErrorKind::Argument, name, format!("{output} is not how many windows {attrs} fit"))),
    }
}

/// The geometry of a call on this many planes.
pub(crate) fn pooling(attrs: &Attrs, planes: usize) -> Pooling {
    geometry("pool", attrs, planes).expect("the shape rule checked it")
}

/// The shape of the other side: the last axes, of sizes `from`, become `to`.
pub(crate) fn exchanged(
    name: &str,
    x: SpecRef<'_>,
    adaptive: bool,
    [from, to]: [&str; 2],
    attrs: &Attrs,
) -> Result<Spec, Error> {
    let (from, to) = (attrs.sizes(from), attrs.sizes(to));
    let lead = x.shape.len().checked_sub(from.rank()).filter(|&lead| x.shape[lead..] == from[..]);
    let Some(lead) = lead else {
        let shape = Shape::from(x.shape);
        let message = format!("the last axes of shape {shape} are not {from}");
        return Err(Error::new(ErrorKind::Shape(vec![shape]), name, message));
    };
    if !adaptive {
        geometry(name, attrs, 1)?;
    } else if !(1..=3).contains(&from.rank()) || from.rank() != to.rank() || [&from, &to].iter().any(too_large) {
        let message = format!("windows from {from} to {to}: there are one to three axes of at most {LARGEST}");
        return Err(Error::new(ErrorKind::Argument, name, message));
    }
    Ok(Spec { shape: x.shape[..lead].iter().chain(to.iter()).copied().collect(), dtype: x.dtype })
}

fn too_large(sizes: &&Shape) -> bool {
    sizes.iter().any(|size| *size > LARGEST)
}

/// The number of planes before the last `axes` axes.
pub(crate) fn planes_of(shape: &[usize], axes: usize) -> usize {
    shape[..shape.len() - axes].iter().product()
}

/// One method for each number of axes.
macro_rules! for_axes {
    ($($axes:literal $shape:literal: $max:ident $with:ident $adaptive:ident $adaptive_with:ident $unpool:ident;)*) => {
        /// The methods of `max_pool`.
        #[ext(MaxPoolMethods)]
        impl Tensor {$(
            #[doc = concat!("The maximum of each window of the last axes of `", $shape, "`.")]
            ///
            /// ```
            /// use wengert::prelude::*;
            #[doc = concat!("let mut shape = vec![2, 3]; shape.resize(2 + ", $axes, ", 4);")]
            #[doc = concat!("let y = Tensor::ones(shape).", stringify!($max), "(&Pool::new(2));")]
            #[doc = concat!("assert_eq!(y.shape()[2..], [2; ", $axes, "]);")]
            /// ```
            #[track_caller]
            pub fn $max(&self, pool: &Pool) -> Tensor {
                self.$with(pool).0
            }

            /// The maximum of each window, and its position in its plane of the input.
            ///
            /// ```
            /// use wengert::prelude::*;
            #[doc = concat!("let mut shape = vec![2, 3]; shape.resize(2 + ", $axes, ", 2);")]
            #[doc = concat!("let (_, positions) = Tensor::ones(shape).", stringify!($with), "(&Pool::new(2));")]
            /// assert_eq!(positions.to_vec::<i64>(), [0; 6]); // The first among equals.
            /// ```
            #[track_caller]
            pub fn $with(&self, pool: &Pool) -> (Tensor, Tensor) {
                let attrs = pool.attrs(stringify!($max), self, $axes);
                two(bind(&MAX_POOL, attrs, &[self]))
            }

            /// The maxima over windows chosen so that the last axes get this size.
            ///
            /// ```
            /// use wengert::prelude::*;
            #[doc = concat!("let mut shape = vec![2, 3]; shape.resize(2 + ", $axes, ", 5);")]
            #[doc = concat!("let y = Tensor::ones(shape).", stringify!($adaptive), "(3);")]
            #[doc = concat!("assert_eq!(y.shape()[2..], [3; ", $axes, "]);")]
            /// ```
            #[track_caller]
            pub fn $adaptive(&self, output: impl Into<Sizes>) -> Tensor {
                self.$adaptive_with(output).0
            }

            /// The maxima over windows chosen so that the last axes get this size, and their positions.
            ///
            /// ```
            /// use wengert::prelude::*;
            #[doc = concat!("let mut shape = vec![2, 3]; shape.resize(2 + ", $axes, ", 5);")]
            #[doc = concat!("let (y, positions) = Tensor::ones(shape).", stringify!($adaptive_with), "(1);")]
            /// assert_eq!(positions.shape(), y.shape());
            /// ```
            #[track_caller]
            pub fn $adaptive_with(&self, output: impl Into<Sizes>) -> (Tensor, Tensor) {
                let attrs = adaptive_attrs(stringify!($adaptive), self, &output.into(), $axes);
                two(bind(&ADAPTIVE_MAX_POOL, attrs, &[self]))
            }

            /// Zeros of this spatial size with the values at the positions that a maximum returned. Values at the same position came from
            /// the same maximum and count once; each receives the whole gradient of that position.
            ///
            /// ```
            /// use wengert::prelude::*;
            #[doc = concat!("let mut shape = vec![1, 1]; shape.resize(2 + ", $axes, ", 2);")]
            /// let x = Tensor::arange(1 << (shape.len() - 2)).cast(DType::F64).reshape(shape);
            #[doc = concat!("let (y, positions) = x.", stringify!($with), "(&Pool::new(2));")]
            #[doc = concat!("assert_eq!(y.", stringify!($unpool), "(&positions, 2).sum(), y.sum());")]
            /// ```
            #[track_caller]
            pub fn $unpool(&self, positions: &Tensor, output: impl Into<Sizes>) -> Tensor {
                let size = output.into().each(stringify!($unpool), "output", $axes, 1);
                unpooled(self, positions, &size)
            }
        )*}
    };
}
for_axes! {
    1 "[.., C, L]": max_pool1d max_pool1d_with_indices adaptive_max_pool1d adaptive_max_pool1d_with_indices max_unpool1d;
    2 "[.., C, H, W]": max_pool2d max_pool2d_with_indices adaptive_max_pool2d adaptive_max_pool2d_with_indices max_unpool2d;
    3 "[.., C, D, H, W]": max_pool3d max_pool3d_with_indices adaptive_max_pool3d adaptive_max_pool3d_with_indices max_unpool3d;
}

#[track_caller]
fn unpooled(x: &Tensor, positions: &Tensor, size: &[usize]) -> Tensor {
    let every = scattered(x, positions, size);
    let count = scattered(&Tensor::constant(1.0, &x.spec()), positions, size);
    // The sum carries the gradient, one for each value; if several share a position, the result is their mean.
    let surplus = (&every - &every / count.clamp_min(1.0)).detach();
    every - surplus
}

fn two(outputs: Outputs) -> (Tensor, Tensor) {
    let mut outputs = outputs.into_iter();
    (outputs.next().expect("two outputs"), outputs.next().expect("two outputs"))
}

/// The attributes of a pooling of the last axes to a given size.
#[track_caller]
pub(crate) fn adaptive_attrs(name: &str, x: &Tensor, output: &Sizes, axes: usize) -> Attrs {
    if x.rank() < axes + 1 {
        let shape = Shape::from(x.shape());
        let message = format!("shape {shape} has no channel and {axes} spatial axes");
        Error::new(ErrorKind::Shape(vec![shape]), name, message).raise();
    }
    let input = &x.shape()[x.rank() - axes..];
    let output = output.each_or(name, "output", input);
    Attrs::new().with_sizes("input", input).with_sizes("output", &output)
}

/// The geometry of an adaptive call on this many planes.
pub(crate) fn adaptive(attrs: &Attrs, planes: usize) -> AdaptivePooling {
    let sizes = |name: &str| window_sizes(&attrs.sizes(name), 1);
    AdaptivePooling { planes, input: sizes("input"), output: sizes("output") }
}

/// The primitive `max_pool`.
pub static MAX_POOL: MaxPool = MaxPool { adaptive: false };

/// The primitive `adaptive_max_pool`.
pub static ADAPTIVE_MAX_POOL: MaxPool = MaxPool { adaptive: true };

/// See the module.
pub struct MaxPool {
    adaptive: bool,
}

/// The elements of window `o` along one axis that lie inside the input.
pub(crate) fn window(adaptive: bool, attrs: &Attrs, axis: usize, o: usize) -> Vec<usize> {
    let at = |name: &str| attrs.sizes(name)[axis];
    let (n, m) = (at("input"), at("output"));
    if adaptive {
        return (o * n / m..((o + 1) * n).div_ceil(m)).collect();
    }
    let place = |k: usize| (o * at("stride") + k * at("dilation")).checked_sub(at("padding")).filter(|&i| i < n);
    (0..at("kernel")).filter_map(place).collect()
}

/// The first window along an axis that contains no element of the input.
fn empty_window(adaptive: bool, attrs: &Attrs, axis: usize) -> Option<usize> {
    let at = |name: &str| attrs.sizes(name)[axis];
    let (n, m) = (at("input"), at("output"));
    if adaptive {
        return (n == 0 && m > 0).then_some(0);
    }
    // Padding is at most half a window, so a window that begins in the input contains its first element.
    let begin_before = at("padding").div_ceil(at("stride"));
    let first = |o: usize| (at("padding").saturating_sub(o * at("stride"))).div_ceil(at("dilation"));
    let place = |o: usize| o * at("stride") + first(o) * at("dilation") - at("padding");
    (0..m.min(begin_before + 1)).find(|&o| first(o) >= at("kernel") || place(o) >= n)
}

/// A tensor that depends on `x` as a pooling does, or as its transpose: along each axis, an element is the sum of those in its window, or
/// of those whose windows contain it.
pub(crate) fn window_sums(adaptive: bool, attrs: &Attrs, x: &Tensor, forward: bool) -> Tensor {
    let (input, output) = (attrs.sizes("input"), attrs.sizes("output"));
    let mut sums = x.clone();
    for axis in 0..input.rank() {
        let windows: Vec<Vec<usize>> = (0..output[axis]).map(|o| window(adaptive, attrs, axis, o)).collect();
        let of = |place: usize| -> Vec<i64> {
            match forward {
                true => windows[place].iter().map(|&i| i as i64).collect(),
                false => (0..output[axis]).filter(|&o| windows[o].contains(&place)).map(|o| o as i64).collect(),
            }
        };
        let place = (x.rank() - input.rank() + axis) as isize;
        let sum = |to: usize| {
            let window = of(to);
            let count = window.len();
            sums.index_select(place, &Tensor::from_vec(window, [count])).sum_over(keepdim(place))
        };
        let parts: Vec<Tensor> = (0..if forward { output[axis] } else { input[axis] }).map(sum).collect();
        if parts.is_empty() {
            return x.clone();
        }
        sums = Tensor::concat(&parts, place);
    }
    sums
}

impl MaxPool {
    fn write<T: Product>(&self, attrs: &Attrs, x: View<'_>, out: &mut [T], index: &mut [i64]) {
        let planes = planes_of(x.shape, attrs.sizes("input").rank());
        let x = numbers::<T>(x);
        match self.adaptive {
            true => adaptive(attrs, planes).max(&x[..], out, index),
            false => pooling(attrs, planes).max(&x[..], out, index),
        }
    }
}

/// One operation for each element of each window that is pooled or unpooled.
pub(super) fn window_flops(adaptive: bool, attrs: &Attrs, x: SpecRef<'_>) -> f64 {
    let (input, output) = (attrs.sizes("input"), attrs.sizes("output"));
    let planes = planes_of(x.shape, input.rank()) as f64;
    let windows = || output.elements() as f64 * attrs.sizes("kernel").elements() as f64;
    planes * if adaptive { input.elements() as f64 } else { windows() }
}

impl Primitive for MaxPool {
    fn name(&self) -> &'static str {
        if self.adaptive { "adaptive_max_pool" } else { "max_pool" }
    }

    fn operands(&self) -> usize {
        1
    }

    fn outputs(&self, _attrs: &Attrs) -> usize {
        2
    }

    fn attributes(&self) -> &'static [&'static str] {
        if self.adaptive { &POOL_ATTRIBUTES[..2] } else { POOL_ATTRIBUTES }
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        expect_float(self.name(), operands[0].dtype)?;
        let values = exchanged(self.name(), operands[0], self.adaptive, ["input", "output"], attrs)?;
        let empty = |axis: usize| empty_window(self.adaptive, attrs, axis).map(|o| (axis, o));
        if let Some((axis, o)) = (0..attrs.sizes("output").rank()).find_map(empty) {
            let message = format!("window {o} along spatial axis {axis} holds no element of the input");
            return Err(Error::new(ErrorKind::Shape(vec![attrs.sizes("input")]), self.name(), message));
        }
        let positions = Spec { dtype: DType::I64, ..values.clone() };
        Ok(Specs::from_vec(vec![values, positions]))
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let [values, positions] = outputs else { unreachable!("two outputs") };
        fill(positions.reborrow(), |index| {
            computing_float!(values.dtype, T => {
                fill(values.reborrow(), |out| self.write::<T>(attrs, operands[0], out, index));
            });
        });
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.output(1)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        smallvec![Gradient::Dense(scattered(&g, rule.output(1), &rule.attrs.sizes("input")))]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let size = rule.attrs.sizes("input");
        let taken = tangents[0].as_ref().map(|tangent| gathered(tangent, rule.output(1), &size));
        Adjoints::from_vec(vec![taken, None])
    }

    fn batch(&'static self, attrs: &Attrs, _: usize, operands: &[Tensor], _: Mask) -> Result<Outputs, Error> {
        Ok(bind(self, attrs.clone(), &[&operands[0]]))
    }

    fn cost(&self, attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        Cost { flops: window_flops(self.adaptive, attrs, operands[0]), ..streaming_cost(operands, outputs) }
    }

    fn dependency(&self) -> Dependency {
        Dependency::Dense
    }

    fn expansion(&'static self, attrs: &Attrs, operands: &[Tensor]) -> Option<Vec<Tensor>> {
        Some(vec![window_sums(self.adaptive, attrs, &operands[0], true)])
    }

    fn rule_text(&self) -> &'static str {
        "dx[k] += dy at the position k of each maximum"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let adaptive = self.adaptive;
        pool_cases(adaptive, move |attrs, plane, _| {
            let (input, output) = (attrs.sizes("input"), attrs.sizes("output"));
            let best = |o: &Vec<usize>| {
                let windows: Vec<Vec<usize>> =
                    (0..o.len()).map(|axis| window(adaptive, attrs, axis, o[axis])).collect();
                let sizes: Vec<usize> = windows.iter().map(Vec::len).collect();
                let place = |k: &Vec<usize>| {
                    k.iter()
                        .zip(&windows)
                        .zip(input.iter())
                        .fold(0, |place, ((&k, window), &size)| place * size + window[k])
                };
                let places = Sample::indices(&sizes).iter().map(place).collect::<Vec<_>>();
                places.iter().copied().fold(places[0], |best, at| if plane[at] > plane[best] { at } else { best })
            };
            let at: Vec<usize> = Sample::indices(&output).iter().map(best).collect();
            (at.iter().map(|&at| plane[at]).collect(), Some(at.iter().map(|&at| at as f64).collect()))
        })
    }
}

/// Values and, for a maximum, positions of one plane.
type PlaneReference = (Vec<f64>, Option<Vec<f64>>);

/// Cases for equally spaced windows or a given output size, with a reference for one plane.
pub(crate) fn pool_cases(
    adaptive: bool,
    reference: impl Fn(&Attrs, &[f64], usize) -> PlaneReference + Clone + 'static,
) -> Vec<Case> {
    let case = |lead: Shape, attrs: Attrs| {
        let (input, output) = (attrs.sizes("input"), attrs.sizes("output"));
        let with = |last: &Shape| -> Shape { lead.iter().chain(last.iter()).copied().collect() };
        // Numbers far apart, so that no small step changes the argmax.
        let x = Sample::build(with(&input), |i| {
            let place = i.iter().fold(0, |sum, i| sum * 7 + i);
            (place * 37 % 101) as f64 * 0.3 - 4.0
        });
        let (shape, reference, kept) = (with(&output), reference.clone(), attrs.clone());
        Case::new(format!("{attrs}"), attrs, [x], move |s| {
            let (mut values, mut positions) = (Vec::new(), None::<Vec<f64>>);
            for (number, plane) in s[0].data.chunks(input.elements().max(1)).enumerate() {
                let (y, at) = reference(&kept, plane, number);
                values.extend(y);
                if let Some(at) = at {
                    positions.get_or_insert_default().extend(at);
                }
            }
            let values = Sample::new(shape.clone(), values);
            std::iter::once(values).chain(positions.map(|at| Sample::new(shape.clone(), at).of(DType::I64))).collect()
        })
    };
    if adaptive {
        let attrs =
            |input: &[usize], output: &[usize]| Attrs::new().with_sizes("input", input).with_sizes("output", output);
        return vec![
            case(Shape::from([2]), attrs(&[5], &[2])),
            case(Shape::from([1, 2]), attrs(&[3, 4], &[2, 5])),
            case(Shape::from([1]), attrs(&[2, 3, 2], &[1, 2, 2])),
            case(Shape::from([1]), attrs(&[1], &[1])),
        ];
    }
    vec![
        case(Shape::from([2]), pool_attributes(&[5], &[2], [&[2], &[2], &[1], &[0]])),
        case(Shape::from([1, 2]), pool_attributes(&[5], &[3], [&[2], &[2], &[1], &[0]])),
        case(Shape::from([1, 2]), pool_attributes(&[4, 5], &[2, 3], [&[3, 2], &[2, 2], &[1, 2], &[1, 1]])),
        case(Shape::from([1]), pool_attributes(&[2, 3, 2], &[1, 2, 2], [&[2, 2, 1], &[1, 1, 1], &[1; 3], &[0; 3]])),
        case(Shape::from([1]), pool_attributes(&[1], &[1], [&[1], &[1], &[1], &[0]])),
    ]
}

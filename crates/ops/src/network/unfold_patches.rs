//! unfold_patches - patches as columns.   y[c k][q] = x[c][q s + k d - p], zero outside,   dy likewise.   Every position of the kernel
//! becomes a column of `channels * kernel` elements.
//!
//! fold_patches - columns added back to their positions.   x[c][i] = sum over q s + k d - p = i of y[c k][q],   dx likewise.   The
//! transpose of unfold_patches.

use super::conv::{ATTRIBUTES, Conv, attributes, convolution, expect_kernel};
use crate::prelude::*;
use crate::rules::Sizes;
use wengert_kernels::dtype::Compute;

/// The methods of `unfold_patches`.
#[ext(UnfoldPatchesMethods)]
impl Tensor {
    /// The patches of `[.., C, spatial..]` under a kernel, as columns: `[.., C * kernel, positions]`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[[1.0, 2.0, 4.0]]]);
    /// assert_eq!(x.unfold_patches([2], &Conv::new()), Tensor::from([[[1.0, 2.0], [2.0, 4.0]]]));
    /// ```
    #[track_caller]
    pub fn unfold_patches<const AXES: usize>(&self, kernel: [usize; AXES], options: &Conv) -> Tensor {
        if !(1..=3).contains(&AXES) || self.rank() < AXES + 1 {
            let shape = Shape::from(self.shape());
            let message = format!("shape {shape} has no channels and {AXES} spatial axes");
            Error::new(ErrorKind::Shape(vec![shape]), "unfold_patches", message).raise();
        }
        let input = &self.shape()[self.rank() - AXES..];
        let [stride, dilation, before, after] = options.geometry("unfold_patches", &kernel);
        bind1(&UNFOLD_PATCHES, attributes(input, &kernel, &stride, &dilation, &before, &after, 1), &[self])
    }

    /// Adds the columns `[.., C * kernel, positions]` back into images `[.., C, size..]`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let columns = Tensor::from([[[1.0, 2.0], [20.0, 40.0]]]);
    /// assert_eq!(columns.fold_patches([3], [2], &Conv::new()), Tensor::from([[[1.0, 22.0, 40.0]]]));
    /// ```
    #[track_caller]
    pub fn fold_patches<const AXES: usize>(
        &self,
        size: [usize; AXES],
        kernel: impl Into<Sizes>,
        options: &Conv,
    ) -> Tensor {
        let kernel = kernel.into().each("fold_patches", "kernel", AXES, 1);
        let [stride, dilation, before, after] = options.geometry("fold_patches", &kernel);
        bind1(&FOLD_PATCHES, attributes(&size, &kernel, &stride, &dilation, &before, &after, 1), &[self])
    }
}

/// The primitive `unfold_patches`.
pub static UNFOLD_PATCHES: LinearOp<Unfold> = LinearOp::NEW;

/// The primitive `fold_patches`.
pub static FOLD_PATCHES: LinearOp<Fold> = LinearOp::NEW;

/// See the module.
pub struct Unfold;

/// See the module.
pub struct Fold;

fn wrong(name: &str, shape: &[usize], attrs: &Attrs) -> Error {
    let shape = Shape::from(shape);
    Error::new(ErrorKind::Shape(vec![shape.clone()]), name, format!("shape {shape} does not fit {attrs}"))
        .help("images are [.., channels, spatial..], columns [.., channels * kernel, positions]")
}

/// The number of spatial axes, or an error unless there is one group.
fn expect_one_group(name: &str, attrs: &Attrs) -> Result<usize, Error> {
    match attrs.int("groups") {
        1 => expect_kernel(name, attrs),
        groups => Err(Error::new(ErrorKind::Argument, name, format!("patches have one group, not {groups}"))),
    }
}

/// The number of positions of the kernel.
fn positions(attrs: &Attrs) -> usize {
    Shape::from(convolution(attrs, 1, 1, 1).output()).elements()
}

fn run<T: Compute>(attrs: &Attrs, planes: usize, x: View<'_>, out: &mut [T], unfolds: bool) {
    let (geometry, x) = (convolution(attrs, 1, planes, planes), numbers::<T>(x));
    match unfolds {
        true => geometry.unfold(&x[..], out),
        false => geometry.fold(&x[..], out),
    }
}

impl Linear for Unfold {
    const NAME: &'static str = "unfold_patches";
    const ATTRIBUTES: &'static [&'static str] = ATTRIBUTES;
    const RULE: &'static str = "dx = fold_patches(dy)";

    fn infer(attrs: &Attrs, x: SpecRef<'_>) -> Result<Spec, Error> {
        expect_arithmetic(Self::NAME, x.dtype)?;
        let axes = expect_one_group(Self::NAME, attrs)?;
        let lead = x.shape.len().checked_sub(axes + 1).filter(|&lead| x.shape[lead + 1..] == attrs.sizes("input")[..]);
        let Some(lead) = lead else { return Err(wrong(Self::NAME, x.shape, attrs)) };
        let column = x.shape[lead].saturating_mul(attrs.sizes("kernel").elements());
        let positions = positions(attrs);
        Ok(Spec { shape: x.shape[..lead].iter().copied().chain([column, positions]).collect(), dtype: x.dtype })
    }

    fn run(attrs: &Attrs, x: View<'_>, out: Out<'_>) -> Result<(), Error> {
        let planes = x.shape[..x.shape.len() - attrs.sizes("kernel").rank()].iter().product();
        computing!(out.dtype, T => fill(out, |out| run::<T>(attrs, planes, x, out, true)));
        Ok(())
    }

    fn transpose(rule: &Rule<'_>, g: Tensor) -> Gradient {
        Gradient::Dense(bind1(&FOLD_PATCHES, rule.attrs.clone(), &[&g]))
    }

    fn batch(op: &'static dyn Primitive, attrs: &Attrs, _size: usize, x: &Tensor) -> Tensor {
        bind1(op, attrs.clone(), &[x])
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        cases(true)
    }
}

impl Linear for Fold {
    const NAME: &'static str = "fold_patches";
    const ATTRIBUTES: &'static [&'static str] = ATTRIBUTES;
    const RULE: &'static str = "dy = unfold_patches(dx)";
    const DEPENDENCY: Dependency = Dependency::Accumulation;

    fn infer(attrs: &Attrs, x: SpecRef<'_>) -> Result<Spec, Error> {
        expect_arithmetic(Self::NAME, x.dtype)?;
        expect_one_group(Self::NAME, attrs)?;
        let (taps, positions) = (attrs.sizes("kernel").elements(), positions(attrs));
        let fits = |&lead: &usize| x.shape[lead].is_multiple_of(taps) && x.shape[lead + 1] == positions;
        let Some(lead) = x.shape.len().checked_sub(2).filter(fits) else {
            return Err(wrong(Self::NAME, x.shape, attrs));
        };
        let image =
            std::iter::once(x.shape[lead] / taps).chain(attrs.sizes("input").iter().copied().collect::<Vec<_>>());
        Ok(Spec { shape: x.shape[..lead].iter().copied().chain(image).collect(), dtype: x.dtype })
    }

    fn run(attrs: &Attrs, x: View<'_>, out: Out<'_>) -> Result<(), Error> {
        let lead: usize = x.shape[..x.shape.len() - 1].iter().product();
        let planes = lead / attrs.sizes("kernel").elements();
        computing!(out.dtype, T => fill(out, |out| run::<T>(attrs, planes, x, out, false)));
        Ok(())
    }

    fn transpose(rule: &Rule<'_>, g: Tensor) -> Gradient {
        Gradient::Dense(bind1(&UNFOLD_PATCHES, rule.attrs.clone(), &[&g]))
    }

    fn batch(op: &'static dyn Primitive, attrs: &Attrs, _size: usize, x: &Tensor) -> Tensor {
        bind1(op, attrs.clone(), &[x])
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        cases(false)
    }
}

/// (index in a plane, tap, position) of every element that a kernel reads.
fn triples(attrs: &Attrs) -> Vec<(usize, usize, usize)> {
    let (input, kernel) = (attrs.sizes("input"), attrs.sizes("kernel"));
    let output = &convolution(attrs, 1, 1, 1).output()[3 - kernel.rank()..];
    let mut found = Vec::new();
    for (tap, k) in Sample::indices(&kernel).iter().enumerate() {
        for (position, q) in Sample::indices(output).iter().enumerate() {
            let place = (0..k.len()).try_fold(0, |place, axis| {
                let at = q[axis] * attrs.sizes("stride")[axis] + k[axis] * attrs.sizes("dilation")[axis];
                let at = at.checked_sub(attrs.sizes("before")[axis]).filter(|&at| at < input[axis])?;
                Some(place * input[axis] + at)
            });
            found.extend(place.map(|place| (place, tap, position)));
        }
    }
    found
}

fn cases(unfolds: bool) -> Vec<Case> {
    let case = |lead: Shape, attrs: Attrs| {
        let (input, taps) = (attrs.sizes("input"), attrs.sizes("kernel").elements());
        let positions: usize = convolution(&attrs, 1, 1, 1).output().iter().product();
        let images: Shape = lead.iter().chain(input.iter()).copied().collect();
        let rank = lead.rank();
        let columns: Shape = lead[..rank - 1].iter().copied().chain([lead[rank - 1] * taps, positions]).collect();
        let (from, to) = if unfolds { (images, columns) } else { (columns, images) };
        let (kept, planes, plane) = (attrs.clone(), lead.elements(), input.elements());
        Case::new(format!("{lead} planes, {attrs}"), attrs, [Sample::wave(from, 0.45)], move |s| {
            let mut y = Sample::build(to.clone(), |_| 0.0);
            for number in 0..planes {
                for (place, tap, position) in triples(&kept) {
                    let (image, column) = (number * plane + place, (number * taps + tap) * positions + position);
                    match unfolds {
                        true => y.data[column] = s[0].data[image],
                        false => y.data[image] += s[0].data[column],
                    }
                }
            }
            vec![y]
        })
    };
    vec![
        case(Shape::from([2]), attributes(&[5], &[3], &[2], &[1], &[1], &[0], 1)),
        case(Shape::from([2, 1]), attributes(&[3, 4], &[2, 2], &[1, 2], &[2, 1], &[1, 0], &[1, 0], 1)),
        case(Shape::from([1]), attributes(&[2, 2, 2], &[2, 1, 2], &[1; 3], &[1; 3], &[0; 3], &[0; 3], 1)),
        case(Shape::from([0, 2]), attributes(&[3], &[2], &[1], &[1], &[0], &[0], 1)),
    ]
}

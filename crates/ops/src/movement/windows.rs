//! windows - windows along an axis.   y[.., i, .., j] = x[.., i step + j, ..],   dy likewise.   Windows may overlap; nothing is
//! copied. Written `x.unfold(axis, size, step)`.
//!
//! windows_add - addition to windows.   y = x with each window += v,   dy likewise.   The transpose of windows: where they overlap,
//! values add up in order.

use crate::error::OrRaise;
use crate::prelude::*;
use crate::rules::checked_axis;

/// The methods of `windows`.
#[ext(WindowsMethods)]
impl Tensor {
    /// All windows of `size` positions along `axis`, `step` apart; the positions inside a window become the last axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(x.unfold(0, 2, 1), Tensor::from([[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]]));
    /// assert_eq!(x.unfold(0, 2, 2), Tensor::from([[1.0, 2.0], [3.0, 4.0]]));
    /// ```
    #[track_caller]
    pub fn unfold(&self, axis: isize, size: usize, step: usize) -> Tensor {
        let scalar = self.rank() == 0 && (-1..=0).contains(&axis);
        let x = if scalar { self.reshape([1]) } else { self.clone() };
        let axis = checked_axis("unfold", axis, x.shape()).or_raise();
        let windows = bind1(&WINDOWS, windows_attrs(axis, size, step), &[&x]);
        if scalar { windows.reshape([size]) } else { windows }
    }
}

fn windows_attrs(axis: usize, size: usize, step: usize) -> Attrs {
    Attrs::new().with_int("axis", axis as i64).with_int("size", size as i64).with_int("step", step as i64)
}

/// The primitive `windows`.
pub static WINDOWS: PartTake<WindowsPart> = PartTake::new("windows");

/// The primitive `windows_add`.
pub static WINDOWS_ADD: PartUpdate<WindowsPart> = PartUpdate::adding("windows_add");

/// Windows along an axis.
pub struct WindowsPart;

impl PartOf for WindowsPart {
    const ATTRIBUTES: &'static [&'static str] = &["axis", "size", "step"];
    const OVERLAPS: bool = true;
    const TAKE: &'static PartTake<WindowsPart> = &WINDOWS;
    const ADD: &'static PartUpdate<WindowsPart> = &WINDOWS_ADD;

    fn shape(name: &str, attrs: &Attrs, shape: &[usize]) -> Result<Shape, Error> {
        let (axis, size, step) = (attrs.axis("axis"), attrs.int("size"), attrs.int("step"));
        let whole = Shape::from(shape);
        let length = shape.get(axis).copied().unwrap_or(0) as i64;
        if axis >= shape.len() || size < 0 || size > length || step < 1 {
            let message = format!("windows of {size} by {step} do not fit axis {axis} of shape {whole}");
            return Err(Error::new(ErrorKind::Range, name, message)
                .help("a window is at most as long as its axis, and the step at least 1"));
        }
        let mut part = shape.to_vec();
        part[axis] = ((length - size) / step + 1) as usize;
        part.push(size as usize);
        Ok(Shape::from(part))
    }

    fn layout(attrs: &Attrs, whole: &Layout, part: &Shape) -> Layout {
        let (axis, step) = (attrs.axis("axis"), attrs.int("step") as isize);
        let mut strides = whole.strides.clone();
        strides.push(strides[axis]);
        // A step beyond the axis, of any size, leaves one window.
        strides[axis] *= if part[axis] > 1 { step } else { 1 };
        Layout { shape: part.clone(), strides, offset: whole.offset }
    }

    fn batched(attrs: &Attrs, _size: usize) -> Attrs {
        windows_attrs(attrs.axis("axis") + 1, attrs.axis("size"), attrs.axis("step"))
    }

    fn place(attrs: &Attrs, i: &[usize]) -> Vec<usize> {
        let (&inside, window) = i.split_last().expect("windows have an axis of their own");
        let mut place = window.to_vec();
        place[attrs.axis("axis")] = window[attrs.axis("axis")] * attrs.axis("step") + inside;
        place
    }

    fn samples() -> Vec<(Shape, Attrs)> {
        vec![
            (Shape::from([5]), windows_attrs(0, 3, 1)),
            (Shape::from([7]), windows_attrs(0, 2, 3)),
            (Shape::from([2, 5]), windows_attrs(1, 3, 2)),
            (Shape::from([4, 2, 3]), windows_attrs(0, 2, 1)),
            (Shape::from([1]), windows_attrs(0, 1, 1)),
            (Shape::from([3]), windows_attrs(0, 0, 1)),
            (Shape::from([4, 0]), windows_attrs(0, 2, 2)),
        ]
    }
}

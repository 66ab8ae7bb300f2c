//! flip - reverses the order along axes.   y[i] = x[n - 1 - i],   dy likewise.   Its own transpose. Nothing is copied: strides become
//! negative.

use crate::error::OrRaise;
use crate::prelude::*;
use crate::rules::checked_axis;

/// The methods of `flip`.
#[ext(FlipMethods)]
impl Tensor {
    /// Reverses the order of the elements along `axes`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.flip(&[1]), Tensor::from([[2.0, 1.0], [4.0, 3.0]]));
    /// assert_eq!(x.flip(&[0, -1]), Tensor::from([[4.0, 3.0], [2.0, 1.0]]));
    /// ```
    #[track_caller]
    pub fn flip(&self, axes: &[isize]) -> Tensor {
        let checked: Result<Vec<usize>, Error> =
            axes.iter().map(|&axis| checked_axis("flip", axis, self.shape())).collect();
        let mut axes = checked.or_raise();
        axes.sort_unstable();
        match axes.is_empty() {
            true => self.clone(),
            false => bind1(&FLIP, Attrs::new().with_sizes("axes", &axes), &[self]),
        }
    }
}

/// The primitive `flip`.
pub static FLIP: LinearOp<Flip> = LinearOp::NEW;

/// See the module.
pub struct Flip;

impl Linear for Flip {
    const NAME: &'static str = "flip";
    const ATTRIBUTES: &'static [&'static str] = &["axes"];
    const RULE: &'static str = "dx = flip(dy)";
    const IS_VIEW: bool = true;

    fn infer(attrs: &Attrs, x: SpecRef<'_>) -> Result<Spec, Error> {
        let axes = attrs.sizes("axes");
        if !axes.is_sorted_by(|a, b| a < b) || axes.last().is_some_and(|&axis| axis >= x.shape.len()) {
            let message = format!("{axes} does not name axes of shape {} once each", Shape::from(x.shape));
            return Err(Error::new(ErrorKind::Range, "flip", message).help("name each axis once"));
        }
        Ok(x.to_spec())
    }

    fn view(attrs: &Attrs, x: &Layout, _output: &Spec) -> Option<Layout> {
        let mut flipped = x.clone();
        if x.shape.elements() == 0 {
            return Some(flipped);
        }
        for &axis in attrs.sizes("axes").iter() {
            flipped.offset += x.strides[axis] * (x.shape[axis] as isize - 1);
            flipped.strides[axis] = -x.strides[axis];
        }
        Some(flipped)
    }

    fn transpose(rule: &Rule<'_>, g: Tensor) -> Gradient {
        Gradient::Dense(bind1(&FLIP, rule.attrs.clone(), &[&g]))
    }

    fn batch(op: &'static dyn Primitive, attrs: &Attrs, _size: usize, x: &Tensor) -> Tensor {
        bind1(op, Attrs::new().with_ints("axes", attrs.ints("axes").iter().map(|axis| axis + 1)), &[x])
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        let case = |shape: Shape, axes: Vec<usize>| {
            let attrs = Attrs::new().with_sizes("axes", &axes);
            Case::new(format!("{shape} along {axes:?}"), attrs, [Sample::wave(shape.clone(), 0.3)], move |s| {
                let from = |(axis, &i): (usize, &usize)| if axes.contains(&axis) { shape[axis] - 1 - i } else { i };
                let source = |i: &[usize]| i.iter().enumerate().map(from).collect::<Vec<_>>();
                vec![Sample::build(shape.clone(), |i| s[0].at(&source(i)))]
            })
        };
        vec![
            case(Shape::from([4]), vec![0]),
            case(Shape::from([2, 3]), vec![1]),
            case(Shape::from([2, 3, 4]), vec![0, 2]),
            case(Shape::from([1, 1]), vec![0, 1]),
            case(Shape::from([]), vec![]),
            case(Shape::from([3, 0]), vec![0]),
        ]
    }
}

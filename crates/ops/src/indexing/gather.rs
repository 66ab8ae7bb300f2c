//! gather - elements selected along an axis.   y[i][j] = x[index[i][j]][j] along axis 0, and likewise along others,   dy likewise.   Its
//! transpose adds; repeated indices accumulate in order. An index outside the axis is an error.

use super::scatter_add::SCATTER_ADD;
use crate::error::OrRaise;
use crate::prelude::*;
use crate::rules::axis_of;
use wengert_kernels::index::{self, OutOfRange};
use wengert_kernels::view::View;

/// The methods of `gather`.
#[ext(GatherMethods)]
impl Tensor {
    /// The elements at `index` along `axis`; `index` has as many axes as this tensor, unless it is empty.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.gather(1, &Tensor::from([[1i64], [0]])), Tensor::from([[2.0], [3.0]]));
    /// ```
    #[track_caller]
    pub fn gather(&self, axis: isize, index: &Tensor) -> Tensor {
        let axis = axis_of("gather", axis, self.shape()).or_raise();
        let attrs = Attrs::new().with_int("axis", axis as i64);
        match self.rank() {
            rank if index.elements() == 0 && index.rank() != rank => self.flatten().slice(..0).reshape(index.shape()),
            0 => bind1(&GATHER, attrs, &[&self.reshape([1]), &index.atleast_1d()]).reshape(index.shape()),
            _ => bind1(&GATHER, attrs, &[self, index]),
        }
    }
}

/// The shape rule shared by gather and scatter_add: `index` refers to a tensor of `shape`.
pub(crate) fn expect_index(name: &str, attrs: &Attrs, shape: &[usize], index: SpecRef<'_>) -> Result<(), Error> {
    if !index.dtype.is_integer() {
        let message = format!("the index is {}, not integers", index.dtype);
        return Err(Error::new(ErrorKind::DType(vec![index.dtype]), name, message).help("use i64 indices"));
    }
    let axis = attrs.axis("axis");
    let fits = index.shape.len() == shape.len()
        && axis < shape.len()
        && (0..shape.len()).all(|other| other == axis || index.shape[other] <= shape[other]);
    if !fits {
        let shapes = vec![Shape::from(shape), Shape::from(index.shape)];
        let message = format!("an index of shape {} does not address shape {} along axis {axis}", shapes[1], shapes[0]);
        return Err(Error::new(ErrorKind::Shape(shapes), name, message)
            .help("the index has as many axes as the tensor, and is no longer along the others"));
    }
    Ok(())
}

/// The error for an out-of-range index, with its position among the elements of the index that are not broadcast copies.
pub(crate) fn out_of_range(name: &str, axis: usize, wrong: OutOfRange, index: View<'_>) -> Error {
    let (mut rest, mut place, mut step) = (wrong.position, 0, 1);
    for (&size, &stride) in index.shape.iter().zip(index.strides).rev() {
        if stride != 0 {
            place += rest % size * step;
            step *= size;
        }
        rest /= size;
    }
    let message = format!(
        "index {} (element {place} of the index tensor) is outside axis {axis} of length {}",
        wrong.index, wrong.length
    );
    Error::new(ErrorKind::Range, name, message).help(match wrong.length {
        0 => "the axis is empty".to_string(),
        length => format!("indices go from 0 to {}", length - 1),
    })
}

/// The primitive `gather`.
pub static GATHER: Gather = Gather;

/// See the module.
pub struct Gather;

impl Primitive for Gather {
    fn name(&self) -> &'static str {
        "gather"
    }

    fn operands(&self) -> usize {
        2
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["axis"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        expect_index("gather", attrs, operands[0].shape, operands[1])?;
        Ok(smallvec![Spec::new(operands[1].shape, operands[0].dtype)])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (x, index, axis) = (operands[0], operands[1], attrs.axis("axis"));
        let result = index::gather(x, axis, index, outputs[0].reborrow());
        result.map(|()| true).map_err(|wrong| out_of_range("gather", axis, wrong, index))
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.operand(1).shape(0)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let patch = Gradient::Patch(Box::new(Patch {
            op: &SCATTER_ADD,
            attrs: rule.attrs.clone(),
            values: smallvec![rule.operand(1).clone(), g],
            spec: rule.spec(0).clone(),
        }));
        smallvec![patch, Gradient::Zero]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        smallvec![tangents[0].as_ref().map(|tangent| bind1(self, rule.attrs.clone(), &[tangent, rule.operand(1)]))]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        Ok(smallvec![bind1(self, Attrs::new().with_int("axis", attrs.int("axis") + 1), &[&aligned[0], &aligned[1]])])
    }

    /// Only the selected elements are read and written; the rest of the operand is not touched.
    fn cost(&self, _attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let bytes = operands[1].to_spec().bytes() + 2 * outputs[0].bytes();
        Cost { flops: 0.0, bytes: bytes as f64 }
    }

    fn dependency(&self) -> Dependency {
        Dependency::Movement
    }

    fn jet(&self) -> Jet {
        Jet::Linear
    }

    fn rule_text(&self) -> &'static str {
        "dx[index] += dy"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let case = |shape: Shape, axis: usize, index: Sample| {
            let attrs = Attrs::new().with_int("axis", axis as i64);
            let operands = [Sample::wave(shape.clone(), 0.15), index];
            Case::new(format!("{shape} along {axis}"), attrs, operands, move |s| {
                let source = |i: &[usize]| {
                    let mut source = i.to_vec();
                    source[axis] = s[1].at(i) as usize;
                    source
                };
                vec![Sample::build(s[1].shape.clone(), |i| s[0].at(&source(i)))]
            })
        };
        vec![
            case(Shape::from([3, 2]), 0, Sample::integers([4, 2], [2, 0, 0, 1, 2, 2, 2, 0])),
            case(Shape::from([2, 4]), 1, Sample::integers([2, 1], [3, 0])),
            case(Shape::from([5]), 0, Sample::integers([0], [])),
        ]
    }
}

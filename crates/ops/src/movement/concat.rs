//! concat - joins tensors along an axis.   y = [x0, x1, ..],   dy = [dx0, dx1, ..].   Any number of operands. Its transpose slices the
//! parts, without copying.

use crate::error::OrRaise;
use crate::prelude::*;
use crate::primitive::streaming_cost;
use crate::rules::axis_of;
use std::borrow::Borrow;
use wengert_kernels::map::{StridedPart, assign_part, copy};

/// The most operands of one call; more are joined in groups, so that sets of operands fit into words ([`Mask`]).
const MOST: usize = 63;

/// The methods of `concat`.
#[ext(ConcatMethods)]
impl Tensor {
    /// Joins tensors along an existing axis; the other axes must agree.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::from([[1.0], [2.0]]), Tensor::from([[3.0, 4.0], [5.0, 6.0]]));
    /// assert_eq!(Tensor::concat(&[x, y], 1), Tensor::from([[1.0, 3.0, 4.0], [2.0, 5.0, 6.0]]));
    /// ```
    #[track_caller]
    pub fn concat<T: Borrow<Tensor>>(tensors: &[T], axis: isize) -> Tensor {
        let all: Vec<&Tensor> = tensors.iter().map(Borrow::borrow).collect();
        // An empty vector joins with anything, so that a loop can start with one.
        let rank = all.iter().map(|x| x.rank()).max().unwrap_or(0);
        let keeps = |x: &&&Tensor| x.shape() != [0] || rank == 1;
        let mut parts: Vec<Tensor> = all.iter().filter(keeps).map(|&x| x.clone()).collect();
        if parts.is_empty() {
            Error::new(ErrorKind::Argument, "concat", "there is no tensor to concatenate").raise();
        }
        let axis = axis_of("concat", axis, parts[0].shape()).or_raise();
        while parts.len() > 1 {
            let mut longer = Vec::with_capacity(parts.len().div_ceil(MOST));
            for chunk in parts.chunks(MOST) {
                if let [alone] = chunk {
                    longer.push(alone.clone());
                    continue;
                }
                let operands: SmallVec<[&Tensor; 8]> = chunk.iter().collect();
                let sizes = chunk.iter().map(|x| x.shape().get(axis).copied().unwrap_or(0) as i64);
                let attrs = Attrs::new().with_int("axis", axis as i64).with_ints("sizes", sizes);
                longer.push(bind1(&CONCAT, attrs, &operands));
            }
            parts = longer;
        }
        parts.remove(0)
    }
}

/// The primitive `concat`.
pub static CONCAT: Concat = Concat;

/// See the module.
pub struct Concat;

impl Primitive for Concat {
    fn name(&self) -> &'static str {
        "concat"
    }

    fn operands(&self) -> usize {
        2
    }

    fn accepts(&self, count: usize) -> bool {
        (2..=MOST).contains(&count)
    }

    /// The sizes along the axis are attributes, so the rules need nothing from the operands.
    fn attributes(&self) -> &'static [&'static str] {
        &["axis", "sizes"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (axis, sizes, first) = (attrs.axis("axis"), attrs.sizes("sizes"), operands[0]);
        for (position, x) in operands.iter().enumerate() {
            expect_same_dtype("concat", first.dtype, x.dtype)?;
            let alike = |other: usize| other == axis || x.shape[other] == first.shape[other];
            if x.shape.len() != first.shape.len() || !(0..x.shape.len()).all(alike) {
                let shapes = vec![Shape::from(first.shape), Shape::from(x.shape)];
                let what = match x.shape.len() == first.shape.len() {
                    true => format!("in an axis other than {axis}"),
                    false => "in their number of axes".to_string(),
                };
                let message = format!("shapes {} and {} differ {what}", shapes[0], shapes[1]);
                return Err(Error::new(ErrorKind::Shape(shapes), "concat", message)
                    .help("all axes but the one along which tensors are joined must agree"));
            }
            if axis >= x.shape.len() || sizes.get(position) != Some(&x.shape[axis]) || sizes.rank() != operands.len() {
                let shape = Shape::from(x.shape);
                let message = format!("operand {position} of shape {shape} along axis {axis} is not of sizes {sizes}");
                return Err(Error::new(ErrorKind::Shape(vec![shape]), "concat", message)
                    .help("a scalar has no axis to be joined along: use stack"));
            }
        }
        let mut shape = Shape::from(first.shape);
        shape.sizes_mut()[axis] = sizes.iter().sum();
        shape.check("concat")?;
        Ok(smallvec![Spec { shape, dtype: first.dtype }])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (axis, out) = (attrs.axis("axis"), outputs[0].reborrow());
        let mut shape = Shape::from(operands[0].shape);
        shape.sizes_mut()[axis] = operands.iter().map(|x| x.shape[axis]).sum();
        let whole = Layout::contiguous(shape);
        let in_order = whole.shape[..axis].iter().all(|&size| size == 1);
        let (dtype, mut rest, mut start) = (out.dtype, out.bytes, 0);
        for &x in operands {
            if in_order {
                let (bytes, later) = rest.split_at_mut(x.len() * dtype.size());
                copy(x, Out { dtype, bytes });
                rest = later;
            } else if !x.is_empty() {
                let offset = start * whole.strides[axis] as usize;
                let part = StridedPart { offset, shape: x.shape, strides: &whole.strides };
                assign_part(Out { dtype, bytes: &mut *rest }, part, x);
            }
            start += x.shape[axis];
        }
        Ok(true)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let (axis, mut start) = (rule.attrs.int("axis") as isize, 0);
        let part = |(position, &size): (usize, &i64)| {
            start += size as usize;
            match rule.wants(position) {
                true => Gradient::Dense(g.narrow(axis, start - size as usize, size as usize)),
                false => Gradient::Zero,
            }
        };
        rule.attrs.ints("sizes").iter().enumerate().map(part).collect()
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let Some(like) = tangents.iter().flatten().next() else { return smallvec![None] };
        let (axis, sizes) = (rule.attrs.axis("axis"), rule.attrs.sizes("sizes"));
        let zeros = |position: usize| {
            let mut spec = like.spec();
            spec.shape.sizes_mut()[axis] = sizes[position];
            Tensor::constant(0.0, &spec)
        };
        let filled = |(position, tangent): (usize, &Option<Tensor>)| tangent.clone().unwrap_or_else(|| zeros(position));
        let filled: Vec<Tensor> = tangents.iter().enumerate().map(filled).collect();
        let filled: SmallVec<[&Tensor; 8]> = filled.iter().collect();
        smallvec![Some(bind1(self, rule.attrs.clone(), &filled))]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        let aligned: SmallVec<[&Tensor; 8]> = aligned.iter().collect();
        Ok(smallvec![bind1(self, attrs.clone().with_int("axis", attrs.int("axis") + 1), &aligned)])
    }

    fn cost(&self, _attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        Cost { flops: 0.0, ..streaming_cost(operands, outputs) }
    }

    fn dependency(&self) -> Dependency {
        Dependency::Movement
    }

    fn jet(&self) -> Jet {
        Jet::Linear
    }

    fn rule_text(&self) -> &'static str {
        "dx = its part of dy"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let case = |shape: Shape, axis: usize, sizes: Vec<usize>| {
            let attrs = Attrs::new().with_int("axis", axis as i64).with_sizes("sizes", &sizes);
            let operand = |(position, &size): (usize, &usize)| {
                let mut shape = shape.clone();
                shape.sizes_mut()[axis] = size;
                Sample::wave(shape, 0.31 * position as f64)
            };
            let operands: Vec<Sample> = sizes.iter().enumerate().map(operand).collect();
            let mut whole = shape.clone();
            whole.sizes_mut()[axis] = sizes.iter().sum();
            Case::new(format!("{sizes:?} along {axis} of {whole}"), attrs, operands, move |s| {
                let number = |i: &[usize]| {
                    let (mut i, mut x) = (i.to_vec(), 0);
                    while i[axis] >= s[x].shape[axis] {
                        i[axis] -= s[x].shape[axis];
                        x += 1;
                    }
                    s[x].at(&i)
                };
                vec![Sample::build(whole.clone(), number)]
            })
        };
        vec![
            case(Shape::from([0]), 0, vec![2, 3]),
            case(Shape::from([2, 0]), 1, vec![1, 0, 3]),
            case(Shape::from([2, 0, 3]), 1, vec![2, 1]),
            case(Shape::from([0, 2]), 0, vec![1, 2]),
            case(Shape::from([2, 0, 0]), 1, vec![1, 2]),
            case(Shape::from([0]), 0, vec![1, 1, 1, 1, 1]),
        ]
    }
}

//! scatter_add - addition at selected positions along an axis.   y = x with y[index[i][j]][j] += v[i][j] along axis 0, and likewise along
//! others,   dy likewise.   Repeated positions accumulate in order. The transpose of gather; updates in place if possible.

use super::gather::{expect_index, out_of_range};
use crate::error::OrRaise;
use crate::prelude::*;
use crate::rules::axis_of;
use wengert_kernels::dtype::Compute;
use wengert_kernels::index::{OutOfRange, scatter_add, scatter_fold};

/// The methods of `scatter_add`.
#[ext(ScatterAddMethods)]
impl Tensor {
    /// This tensor with `values` added at the positions given by `index` along `axis`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::zeros([3]);
    /// let y = x.scatter_add(0, &Tensor::from([2i64, 0, 2]), &Tensor::from([1.0, 5.0, 2.0]));
    /// assert_eq!(y, Tensor::from([5.0, 0.0, 3.0]));
    /// ```
    #[track_caller]
    pub fn scatter_add(&self, axis: isize, index: &Tensor, values: &Tensor) -> Tensor {
        scatter_call(&SCATTER_ADD, self, axis, index, values)
    }
}

/// Binds a primitive of the scatter family; a scalar counts as a vector of one element.
#[track_caller]
pub(crate) fn scatter_call(
    op: &'static dyn Primitive,
    x: &Tensor,
    axis: isize,
    index: &Tensor,
    values: &Tensor,
) -> Tensor {
    let axis = axis_of(op.name(), axis, x.shape()).or_raise();
    let attrs = Attrs::new().with_int("axis", axis as i64);
    match x.rank() {
        0 => bind1(op, attrs, &[&x.reshape([1]), &index.atleast_1d(), &values.atleast_1d()]).reshape([]),
        _ => bind1(op, attrs, &[x, index, values]),
    }
}

/// How a value is combined with the element at its position.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fold {
    Assign,
    Add,
    Mul,
    Max,
    Min,
}

impl Fold {
    /// The shape rule of the scatter family.
    pub fn infer(self, name: &str, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (x, index, values) = (operands[0], operands[1], operands[2]);
        expect_index(name, attrs, x.shape, index)?;
        expect_same_dtype(name, x.dtype, values.dtype)?;
        if self != Fold::Assign {
            expect_arithmetic(name, x.dtype)?;
        }
        if index.shape != values.shape {
            let shapes = vec![Shape::from(index.shape), Shape::from(values.shape)];
            let message = format!("the index has shape {}, the values {}", shapes[0], shapes[1]);
            return Err(Error::new(ErrorKind::Shape(shapes), name, message));
        }
        Ok(smallvec![x.to_spec()])
    }

    /// A copy of the first operand with the values folded in. The kernel works in the compute dtype; narrower dtypes are widened around it.
    pub fn run(self, name: &str, attrs: &Attrs, operands: &[View<'_>], out: Out<'_>) -> Result<bool, Error> {
        let (x, index, values, axis) = (operands[0], operands[1], operands[2], attrs.axis("axis"));
        let result = computing!(out.dtype, T => fill_from(x, out, |target: &mut [T]| {
            self.fold(target, x.shape, axis, index, values)
        }));
        result.map(|()| true).map_err(|wrong| out_of_range(name, axis, wrong, index))
    }

    /// Writes over the first operand.
    pub fn eval_in_place(
        self,
        name: &str,
        attrs: &Attrs,
        target: &mut Tensor,
        rest: &[&Tensor],
    ) -> Result<bool, Error> {
        let (axis, index, values) = (attrs.axis("axis"), rest[0].value.view(), rest[1].value.view());
        let Spec { shape, dtype } = target.spec();
        if dtype != dtype.compute() {
            return Ok(false);
        }
        let bytes = target.unique_bytes().expect("the driver found it unique");
        let result = computing!(dtype, T => {
            self.fold::<T>(bytemuck::cast_slice_mut(bytes), &shape, axis, index, values)
        });
        result.map(|()| true).map_err(|wrong| out_of_range(name, axis, wrong, index))
    }

    fn fold<T: Compute>(
        self,
        target: &mut [T],
        shape: &[usize],
        axis: usize,
        index: View<'_>,
        values: View<'_>,
    ) -> Result<(), OutOfRange> {
        // A NaN is kept: it is not equal to itself.
        let wins = |new: T, holds: bool| holds || new.partial_cmp(&new).is_none();
        match self {
            Fold::Assign => scatter_fold(target, shape, axis, index, values, |_, new| new),
            Fold::Add => scatter_add(target, shape, axis, index, values),
            Fold::Mul => scatter_fold(target, shape, axis, index, values, |old, new| old * new),
            Fold::Max => scatter_fold(target, shape, axis, index, values, |old, new| match wins(new, new > old) {
                true => new,
                false => old,
            }),
            Fold::Min => scatter_fold(target, shape, axis, index, values, |old, new| match wins(new, new < old) {
                true => new,
                false => old,
            }),
        }
    }

    /// The combined value at one position, for references.
    pub fn one(self, old: f64, new: f64) -> f64 {
        match self {
            Fold::Assign => new,
            Fold::Add => old + new,
            Fold::Mul => old * new,
            Fold::Max => f64::max(old, new),
            Fold::Min => f64::min(old, new),
        }
    }

    /// Cases shared by the scatter family, with or without positions that take several values.
    pub fn cases(self, repeated: bool, sample: fn(Shape, f64) -> Sample) -> Vec<Case> {
        let case = |shape: Shape, axis: usize, index: Sample| {
            let attrs = Attrs::new().with_int("axis", axis as i64);
            let values = sample(index.shape.clone(), 0.45);
            let operands = [sample(shape.clone(), 0.15), index, values];
            Case::new(format!("{shape} along {axis}"), attrs, operands, move |s| {
                let mut y = s[0].clone();
                for i in Sample::indices(&s[1].shape) {
                    let mut place = i.clone();
                    place[axis] = s[1].at(&i) as usize;
                    let place = y.position(&place);
                    y.data[place] = self.one(y.data[place], s[2].at(&i));
                }
                vec![y]
            })
        };
        let mut cases = vec![
            case(Shape::from([3, 2]), 0, Sample::integers([2, 2], [2, 0, 0, 1])),
            case(Shape::from([2, 4]), 1, Sample::integers([2, 1], [3, 0])),
            case(Shape::from([2, 3, 2]), 1, Sample::integers([2, 2, 1], [2, 0, 1, 2])),
            case(Shape::from([5]), 0, Sample::integers([0], [])),
            case(Shape::from([1]), 0, Sample::integers([1], [0])),
        ];
        if repeated {
            cases.push(case(Shape::from([3, 2]), 0, Sample::integers([4, 2], [2, 0, 0, 1, 2, 2, 2, 0])));
        }
        cases
    }
}

/// The primitive `scatter_add`.
pub static SCATTER_ADD: ScatterAdd = ScatterAdd;

/// See the module.
pub struct ScatterAdd;

impl Primitive for ScatterAdd {
    fn name(&self) -> &'static str {
        "scatter_add"
    }

    fn operands(&self) -> usize {
        3
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["axis"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        Fold::Add.infer("scatter_add", attrs, operands)
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        Fold::Add.run("scatter_add", attrs, operands, outputs[0].reborrow())
    }

    fn eval_in_place(&self, attrs: &Attrs, target: &mut Tensor, rest: &[&Tensor]) -> Result<bool, Error> {
        Fold::Add.eval_in_place("scatter_add", attrs, target, rest)
    }

    fn saves(&self, _attrs: &Attrs, wanted: Mask) -> Saves {
        // The tangent of the values alone needs the shape of the whole tensor.
        if wanted.has(2) { Saves::NOTHING.operand(1).shape(0) } else { Saves::NOTHING }
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let values = match rule.wants(2) {
            true => Gradient::Dense(g.gather(rule.attrs.int("axis") as isize, rule.operand(1))),
            false => Gradient::Zero,
        };
        smallvec![if rule.wants(0) { Gradient::Dense(g) } else { Gradient::Zero }, Gradient::Zero, values]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        smallvec![match (&tangents[0], &tangents[2]) {
            (x, None) => x.clone(),
            (None, Some(values)) => {
                let zeros = Tensor::constant(0.0, rule.spec(0));
                Some(bind1(self, rule.attrs.clone(), &[&zeros, rule.operand(1), values]))
            }
            (Some(x), Some(values)) => Some(bind1(self, rule.attrs.clone(), &[x, rule.operand(1), values])),
        }]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        let attrs = Attrs::new().with_int("axis", attrs.int("axis") + 1);
        Ok(smallvec![bind1(self, attrs, &[&aligned[0], &aligned[1], &aligned[2]])])
    }

    fn dependency(&self) -> Dependency {
        Dependency::Accumulation
    }

    fn jet(&self) -> Jet {
        Jet::Linear
    }

    fn rule_text(&self) -> &'static str {
        "dx = dy, dv = dy[index]"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        Fold::Add.cases(true, Sample::wave)
    }
}

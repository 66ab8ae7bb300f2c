//! scatter - replacement at selected positions along an axis.   y = x with y[index[i][j]][j] = v[i][j] along axis 0, and likewise along
//! others,   dy likewise.   If several values have the same position, the last one stays and is the only one with a gradient.

use super::scatter_add::{Fold, scatter_call};
use super::unscatter::UNSCATTER;
use crate::prelude::*;

/// The methods of `scatter`.
#[ext(ScatterMethods)]
impl Tensor {
    /// This tensor with `values` written at the positions given by `index` along `axis`; of several, the last one stays.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::zeros([3]).scatter(0, &Tensor::from([2i64, 0]), &Tensor::from([1.0, 5.0]));
    /// assert_eq!(y, Tensor::from([5.0, 0.0, 1.0]));
    /// ```
    #[track_caller]
    pub fn scatter(&self, axis: isize, index: &Tensor, values: &Tensor) -> Tensor {
        scatter_call(&SCATTER, self, axis, index, values)
    }

    /// This tensor with one number written at the positions given by `index` along `axis`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([3]).scatter_value(0, &Tensor::from([2i64, 0]), 7.0), Tensor::from([7.0, 0.0, 7.0]));
    /// ```
    #[track_caller]
    pub fn scatter_value(&self, axis: isize, index: &Tensor, value: impl Operand) -> Tensor {
        scatter_call(&SCATTER, self, axis, index, &value.tensor(self.dtype()).broadcast_to(index.shape()))
    }
}

/// The primitive `scatter`.
pub static SCATTER: Scatter = Scatter;

/// See the module.
pub struct Scatter;

impl Primitive for Scatter {
    fn name(&self) -> &'static str {
        "scatter"
    }

    fn operands(&self) -> usize {
        3
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["axis"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        Fold::Assign.infer("scatter", attrs, operands)
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        Fold::Assign.run("scatter", attrs, operands, outputs[0].reborrow())
    }

    fn eval_in_place(&self, attrs: &Attrs, target: &mut Tensor, rest: &[&Tensor]) -> Result<bool, Error> {
        Fold::Assign.eval_in_place("scatter", attrs, target, rest)
    }

    fn saves(&self, _attrs: &Attrs, wanted: Mask) -> Saves {
        // The tangent of the values alone needs the shape of the whole tensor.
        let index = Saves::NOTHING.operand(1);
        if wanted.has(2) { index.shape(0) } else { index }
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let (axis, index) = (rule.attrs.int("axis") as isize, rule.operand(1));
        if !rule.wants(2) {
            return smallvec![Gradient::Dense(g.scatter_value(axis, index, 0))];
        }
        let mut parts = bind(&UNSCATTER, rule.attrs.clone(), &[&g, index]).into_iter().map(Gradient::Dense);
        let whole = parts.next().expect("two outputs");
        smallvec![whole, Gradient::Zero, parts.next().expect("two outputs")]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let whole = match &tangents[0] {
            Some(x) => x.clone(),
            None => Tensor::constant(0.0, rule.spec(0)),
        };
        let (axis, index) = (rule.attrs.int("axis") as isize, rule.operand(1));
        smallvec![Some(match &tangents[2] {
            Some(values) => whole.scatter(axis, index, values),
            None => whole.scatter_value(axis, index, 0),
        })]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        let attrs = Attrs::new().with_int("axis", attrs.int("axis") + 1);
        Ok(smallvec![bind1(self, attrs, &[&aligned[0], &aligned[1], &aligned[2]])])
    }

    fn dependency(&self) -> Dependency {
        Dependency::Movement
    }

    fn jet(&self) -> Jet {
        Jet::Linear
    }

    fn rule_text(&self) -> &'static str {
        "dx = dy with dx[index] = 0, dv = dy[index]"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        Fold::Assign.cases(true, Sample::wave)
    }
}

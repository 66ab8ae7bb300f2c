//! stop_gradient - identity that blocks gradients at every level.   y = x,   dy = 0.   Written `x.detach()`.

use crate::prelude::*;

/// The methods of `stop_gradient`.
#[ext(StopGradientMethods)]
impl Tensor {
    /// The same value as a constant: no gradient passes, in reverse or forward mode.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from(2.0).require_grad();
    /// let y = (&x * &x).detach() * 3.0;
    /// assert_eq!(y.item(), 12.0);
    /// assert!(!y.requires_grad());
    /// ```
    #[track_caller]
    pub fn detach(&self) -> Tensor {
        bind1(&STOP_GRADIENT, Attrs::new(), &[self])
    }
}

/// The primitive `stop_gradient`.
pub static STOP_GRADIENT: StopGradient = StopGradient;

/// See the module.
pub struct StopGradient;

impl Primitive for StopGradient {
    fn name(&self) -> &'static str {
        "stop_gradient"
    }

    fn operands(&self) -> usize {
        1
    }

    fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        Ok(smallvec![operands[0].to_spec()])
    }

    fn view(&self, _attrs: &Attrs, operand: &Layout, _output: &Spec) -> Option<Layout> {
        Some(operand.clone())
    }

    fn differentiable(&self) -> bool {
        false
    }

    fn batch(
        &'static self,
        attrs: &Attrs,
        _size: usize,
        operands: &[Tensor],
        _batched: Mask,
    ) -> Result<Outputs, Error> {
        Ok(smallvec![bind1(self, attrs.clone(), &[&operands[0]])])
    }

    fn cost(&self, _attrs: &Attrs, _operands: &[SpecRef<'_>], _outputs: &[Spec]) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        vec![Case::new("identity", Attrs::new(), [Sample::wave([2, 3], 0.1)], |s| vec![s[0].clone()]).values_only()]
    }
}

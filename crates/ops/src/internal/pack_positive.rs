//! pack_positive - where x > 0, as one bit per element along the last axis.   No derivative. The residual of relu.

use crate::prelude::*;
use wengert_kernels::bits;

#[ext(PackPositiveParts)]
impl Tensor {
    /// One bit for each element, set if it is positive; eight per byte along the last axis.
    pub(crate) fn pack_positive(&self) -> Tensor {
        let x = if self.rank() == 0 { self.reshape([1]) } else { self.clone() };
        bind1(&PACK_POSITIVE, Attrs::new(), &[&x])
    }
}

/// The shape of the packed bits of a tensor of `shape`.
pub(crate) fn packed(shape: &[usize]) -> Shape {
    let mut packed = Shape::from(shape);
    if let Some(last) = packed.sizes_mut().last_mut() {
        *last = last.div_ceil(8);
    }
    packed
}

/// The primitive `pack_positive`.
pub static PACK_POSITIVE: PackPositive = PackPositive;

/// See the module.
pub struct PackPositive;

impl Primitive for PackPositive {
    fn name(&self) -> &'static str {
        "pack_positive"
    }

    fn operands(&self) -> usize {
        1
    }

    fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        expect_float("pack_positive", operands[0].dtype)?;
        if operands[0].shape.is_empty() {
            let message = "a scalar has no last axis to pack along";
            return Err(Error::new(ErrorKind::Shape(vec![Shape::default()]), "pack_positive", message)
                .help("reshape it to [1]"));
        }
        Ok(smallvec![Spec::new(packed(operands[0].shape), DType::U8)])
    }

    fn run(&self, _attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        bits::pack_positive(operands[0], outputs[0].bytes);
        Ok(true)
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

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let x = Sample::new([2, 3], [1.0, -1.0, 2.0, 0.0, f64::NAN, 3.0]);
        let long = Sample::new([9], [1.0; 9]);
        vec![
            Case::new("bits from the low end", Attrs::new(), [x], |_| {
                vec![Sample::new([2, 1], [5.0, 4.0]).of(DType::U8)]
            })
            .values_only(),
            Case::new("a ninth element starts a byte", Attrs::new(), [long], |_| {
                vec![Sample::new([2], [255.0, 1.0]).of(DType::U8)]
            })
            .values_only(),
        ]
    }
}

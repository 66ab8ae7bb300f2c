//! select_bits - selects elements whose bit is set.   y = x where the bit is 1, else 0,   dy = dx where the bit is 1.

use super::pack_positive::packed;
use crate::bind::bind_owned;
use crate::prelude::*;
use wengert_kernels::bits;

#[ext(SelectBitsParts)]
impl Tensor {
    /// The elements whose bit in `bits` is set, 0 elsewhere.
    pub(crate) fn select_bits(&self, bits: &Tensor) -> Tensor {
        if self.rank() == 0 {
            return bind1(&SELECT_BITS, Attrs::new(), &[&self.reshape([1]), bits]).reshape([]);
        }
        bind1(&SELECT_BITS, Attrs::new(), &[self, bits])
    }

    /// `select_bits`, written over this tensor if no other handle shares it.
    pub(crate) fn into_selected_bits(self, bits: &Tensor) -> Tensor {
        if self.rank() == 0 { self.select_bits(bits) } else { bind_owned(&SELECT_BITS, Attrs::new(), self, &[bits]) }
    }
}

/// The primitive `select_bits`.
pub static SELECT_BITS: SelectBits = SelectBits;

/// See the module.
pub struct SelectBits;

impl Primitive for SelectBits {
    fn name(&self) -> &'static str {
        "select_bits"
    }

    fn operands(&self) -> usize {
        2
    }

    fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (x, bits) = (operands[0], operands[1]);
        expect_float("select_bits", x.dtype)?;
        if packed(x.shape)[..] != *bits.shape || bits.dtype != DType::U8 {
            let shapes = vec![Shape::from(x.shape), Shape::from(bits.shape)];
            let message = format!("{} bits of shape {} for {}", bits.dtype, shapes[1], x.to_spec());
            return Err(Error::new(ErrorKind::Shape(shapes), "select_bits", message));
        }
        Ok(smallvec![x.to_spec()])
    }

    fn run(&self, _attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        bits::select_bits(operands[0], operands[1], outputs[0].reborrow());
        Ok(true)
    }

    fn eval_in_place(&self, _attrs: &Attrs, target: &mut Tensor, rest: &[&Tensor]) -> Result<bool, Error> {
        let (columns, mask) = (target.shape()[target.rank() - 1], rest[0].value.view());
        let dtype = target.dtype();
        let bytes = target.unique_bytes().expect("the driver found it unique");
        match dtype {
            DType::F64 => bits::clear_bits::<f64>(bytemuck::cast_slice_mut(bytes), columns, mask),
            DType::F32 => bits::clear_bits::<f32>(bytemuck::cast_slice_mut(bytes), columns, mask),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.operand(1)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        smallvec![Gradient::Dense(g.into_selected_bits(rule.operand(1))), Gradient::Zero]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        smallvec![tangents[0].as_ref().map(|tangent| tangent.select_bits(rule.operand(1)))]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        Ok(smallvec![bind1(self, attrs.clone(), &[&aligned[0], &aligned[1]])])
    }

    fn dependency(&self) -> Dependency {
        Dependency::Elementwise
    }

    fn jet(&self) -> Jet {
        Jet::Linear
    }

    fn rule_text(&self) -> &'static str {
        "dx = select_bits(dy, bits)"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let bits = Sample::new([2, 2], [5.0, 1.0, 255.0, 0.0]).of(DType::U8);
        vec![Case::new("two bytes a row", Attrs::new(), [Sample::wave([2, 9], 0.3), bits], |s| {
            let set = |i: &[usize]| (s[1].at(&[i[0], i[1] / 8]) as u8) >> (i[1] % 8) & 1 == 1;
            vec![Sample::build([2, 9], |i| if set(i) { s[0].at(i) } else { 0.0 })]
        })]
    }
}

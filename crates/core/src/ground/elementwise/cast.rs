//! cast - another dtype.   y = x converted,   dy = dx converted.   Float to integer truncates toward zero and stops the gradient.

use crate::ground::prelude::*;
use crate::tensor::device::Destination;
use std::sync::Arc;
use wengert_kernels::dtype::Compute;
use wengert_kernels::map::copy;
use wengert_kernels::tiled::held;

impl Tensor {
    /// The same values in another dtype.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.7, -1.7]).cast(DType::I64), Tensor::from([1i64, -1]));
    /// ```
    #[track_caller]
    pub fn cast(&self, dtype: DType) -> Tensor {
        if self.dtype() == dtype {
            return self.clone();
        }
        bind1(&CAST, Attrs::new().with_dtype("dtype", dtype), &[self])
    }

    /// The same values in single precision: `cast(DType::F32)`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros([2]).f32(), Tensor::from([0.0f32, 0.0]));
    /// ```
    #[track_caller]
    pub fn f32(&self) -> Tensor {
        self.cast(DType::F32)
    }

    /// The same values in double precision: `cast(DType::F64)`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.5f32]).f64(), Tensor::from([1.5]));
    /// ```
    #[track_caller]
    pub fn f64(&self) -> Tensor {
        self.cast(DType::F64)
    }
}

impl Destination for DType {
    fn bring(self, tensor: &Tensor) -> Result<Tensor, Error> {
        Ok(tensor.cast(self))
    }
}

/// The primitive `cast`.
pub static CAST: Cast = Cast;

/// See the module.
pub struct Cast;

fn converted<T: Compute>(from: DType, output: DType) -> Lane {
    let from = held(from);
    let convert = lane(output, |_: &[&[T]], _: &mut [T]| ());
    Arc::new(move |inputs, out| {
        T::load(from, inputs[0], bytemuck::cast_slice_mut(out));
        convert(&[], out);
    })
}

fn truth<T: Compute>() -> Lane {
    Arc::new(|inputs, out| T::store(bytemuck::cast_slice(inputs[0]), DType::Bool, out))
}

impl Primitive for Cast {
    fn name(&self) -> &'static str {
        "cast"
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["dtype"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        Ok(smallvec![Spec::new(operands[0].shape, attrs.dtype("dtype"))])
    }

    fn run(&self, _attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        copy(operands[0], outputs[0].reborrow());
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.shape(0)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        smallvec![Gradient::Dense(g.cast(rule.dtype(0)))]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let dtype = rule.attrs.dtype("dtype");
        smallvec![tangents[0].as_ref().filter(|_| dtype.is_float()).map(|tangent| tangent.cast(dtype))]
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

    fn dependency(&self) -> Dependency {
        Dependency::Elementwise
    }

    fn jet(&self) -> Jet {
        Jet::Linear
    }

    fn rule_text(&self) -> &'static str {
        "dx = cast(dy)"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let to = |dtype: DType| Attrs::new().with_dtype("dtype", dtype);
        let same = |s: &[Sample]| vec![s[0].clone()];
        vec![
            Case::new("to f64", to(DType::F64), [Sample::wave([2, 3], 0.2)], same),
            Case::new("to i64 truncates", to(DType::I64), [Sample::new([4], [1.7, -1.7, 0.4, 3.0])], |_| {
                vec![Sample::integers([4], [1, -1, 0, 3])]
            })
            .values_only(),
            Case::new("bool to f64", to(DType::F64), [Sample::booleans([2], [true, false])], |_| {
                vec![Sample::new([2], [1.0, 0.0])]
            })
            .values_only(),
        ]
    }

    fn lower(&'static self) -> Option<&'static dyn Lower> {
        Some(self)
    }
}

impl Lower for Cast {
    fn lane(&self, _attrs: &Attrs, operands: &[DType], output: DType) -> Option<Lane> {
        match (operands[0], output) {
            (DType::Bool, DType::Bool) => None,
            // Out-of-range values saturate at the limits of the dtype, which wider registers would exceed.
            (from, DType::I32 | DType::U8) if from.is_float() => None,
            // Rounds once, directly from f64.
            (DType::F64, DType::BF16 | DType::F16) => None,
            (from, DType::Bool) => Some(computing!(from, T => truth::<T>())),
            (from, _) => Some(computing!(output, T => converted::<T>(from, output))),
        }
    }

    /// Conversions to floats mean the same in every target language.
    fn expression(&self, _attrs: &Attrs, _operands: &[DType], output: DType) -> Option<Expression> {
        output.is_float().then(|| Expression::of(&["x"], "x"))
    }
}

//! relu - rectifier.   y = max(x, 0),   dy = dx where x > 0, else 0.   At the kink the subgradient of least norm: relu'(0) = 0.
//!
//! The rule keeps one bit per element, not the operand: n/8 bytes. It keeps nothing extra if the operand or the output is held anyway: an
//! operand that is a leaf or is saved by the rule that produced it, or an output that the rule of a later call saves.

use crate::prelude::*;
use wengert_kernels::dtype::Compute;
use wengert_kernels::map::{Stored, loop1, map};

/// The methods of `relu`.
#[ext(ReluMethods)]
impl Tensor {
    /// Every element, or 0 where it is negative.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-1.0, 2.0]).relu(), Tensor::from([0.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn relu(&self) -> Tensor {
        bind1(&RELU, Attrs::new(), &[self])
    }
}

/// The primitive `relu`.
pub static RELU: Relu = Relu;

/// See the module.
pub struct Relu;

fn rectify_slice<T: Compute>(x: &[T], out: &mut [T]) {
    // Written so that NaN stays NaN.
    loop1(x, out, |x| if x <= T::ZERO { T::ZERO } else { x });
}

fn rectify<T: Compute + Stored>(x: View<'_>, out: Out<'_>) {
    map::<T, T, 1>([x], out, &|[x]: [&[T]; 1], out: &mut [T]| rectify_slice(x, out));
}

/// The bits of positive elements: the saved residual, or packed from the operand or the output.
fn positive(rule: &Rule<'_>) -> Tensor {
    match (rule.has_residual(), rule.has_operand(0)) {
        (true, _) => rule.residual().clone(),
        (_, true) => rule.operand(0).pack_positive(),
        (_, false) => rule.output(0).pack_positive(),
    }
}

impl Primitive for Relu {
    fn name(&self) -> &'static str {
        "relu"
    }

    fn operands(&self) -> usize {
        1
    }

    fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        expect_float("relu", operands[0].dtype)?;
        Ok(smallvec![operands[0].to_spec()])
    }

    fn run(&self, _attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let run = if outputs[0].dtype == DType::F64 { rectify::<f64> } else { rectify::<f32> };
        run(operands[0], outputs[0].reborrow());
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.residual()
    }

    fn alternatives(&self) -> &'static [Saves] {
        const { &[Saves::NOTHING.operand(0), Saves::NOTHING.output(0)] }
    }

    fn residual(&'static self, _attrs: &Attrs, operands: &[&Tensor], _outputs: &[&Tensor]) -> Tensor {
        operands[0].pack_positive()
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        smallvec![Gradient::Dense(g.into_selected_bits(&positive(rule)))]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        smallvec![tangents[0].as_ref().map(|tangent| tangent.select_bits(&positive(rule)))]
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
        "dx = dy where x > 0"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let reference = |s: &[Sample]| {
            let data: Vec<f64> = s[0].data.iter().map(|x| (x + x.abs()) / 2.0).collect();
            vec![Sample::new(s[0].shape.clone(), data)]
        };
        let case =
            |shape: Shape| Case::new(format!("shape {shape}"), Attrs::new(), [Sample::wave(shape, 0.4)], reference);
        let kink = Sample::new([4], [0.0, -0.0, f64::NAN, -3.0]);
        vec![
            case(Shape::from([])),
            case(Shape::from([19])),
            case(Shape::from([3, 2])),
            case(Shape::from([0])),
            Case::new("kink and NaN", Attrs::new(), [kink], |_| vec![Sample::new([4], [0.0, 0.0, f64::NAN, 0.0])])
                .values_only(),
        ]
    }

    fn lower(&'static self) -> Option<&'static dyn Lower> {
        Some(self)
    }
}

impl Lower for Relu {
    fn lane(&self, _attrs: &Attrs, _operands: &[DType], output: DType) -> Option<Lane> {
        Some(match output {
            DType::F64 => lane(output, |x: &[&[f64]], out| rectify_slice(x[0], out)),
            _ => lane(output, |x: &[&[f32]], out| rectify_slice(x[0], out)),
        })
    }

    fn expression(&self, _attrs: &Attrs, _operands: &[DType], _output: DType) -> Option<Expression> {
        Some(Expression::of(&["x"], "if x <= 0.0 { 0.0 } else { x }"))
    }
}

//! barrier - an identity that passes and fusion cannot see through.   y = x,   dy = dx.   Values computed from its output are computed
//! anew, and not earlier: the second run of a checkpoint begins with one.

use crate::ground::prelude::*;

/// The primitive `barrier`.
pub static BARRIER: LinearOp<Barrier> = LinearOp::NEW;

/// See the module.
pub struct Barrier;

impl Linear for Barrier {
    const NAME: &'static str = "barrier";
    const RULE: &'static str = "dx = dy";
    const IS_VIEW: bool = true;

    fn infer(_attrs: &Attrs, x: SpecRef<'_>) -> Result<Spec, Error> {
        Ok(x.to_spec())
    }

    fn view(_attrs: &Attrs, x: &Layout, _output: &Spec) -> Option<Layout> {
        Some(x.clone())
    }

    fn transpose(_rule: &Rule<'_>, g: Tensor) -> Gradient {
        Gradient::Dense(g)
    }

    fn batch(op: &'static dyn Primitive, attrs: &Attrs, _size: usize, x: &Tensor) -> Tensor {
        bind1(op, attrs.clone(), &[x])
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        let case = |shape: Shape| {
            Case::new(format!("{shape}"), Attrs::new(), [Sample::wave(shape, 0.3)], |s| vec![s[0].clone()])
        };
        vec![case(Shape::from([])), case(Shape::from([2, 3])), case(Shape::from([0, 3]))]
    }
}

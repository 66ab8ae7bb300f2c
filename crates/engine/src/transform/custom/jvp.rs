//! Functions with a custom forward-mode rule.

use super::super::{filled, given};
use super::{bind_below, expect_form, form_of, owned, specs_of};
use crate::custom::{Function, Residual};
use crate::error::OrRaise;
use crate::primitive::Mask;
use crate::primitive::{SpecRef, Specs};
use crate::program::infer_by_trial;
use crate::{Tensor, Tree, vjp};
use std::sync::{Arc, OnceLock};

/// The function and its rule, for inputs of one structure.
pub(super) struct Call<X, Y, F, J> {
    closures: Arc<(F, J)>,
    input: X,
    /// The structure of the output, once it is known.
    output: OnceLock<Y>,
}

impl<X, Y, F, J> Call<X, Y, F, J>
where
    X: Tree + Send + Sync + 'static,
    Y: Tree + Send + Sync + 'static,
    F: Fn(&X) -> Y + Send + Sync + 'static,
    J: Fn(&X, &Y, &X) -> Y + Send + Sync + 'static,
{
    pub fn new(closures: &Arc<(F, J)>, x: &X) -> Arc<Self> {
        Arc::new(Call { closures: closures.clone(), input: form_of(x), output: OnceLock::new() })
    }

    pub fn function(self: &Arc<Self>) -> Arc<dyn Function> {
        Arc::new(Ruled(self.clone()))
    }

    pub fn rebuilt(&self, leaves: Vec<Tensor>) -> Y {
        self.output.get().expect("the function has run").rebuild(leaves)
    }

    /// The input and the output, which the rule needs.
    fn parts(&self, residual: &Residual) -> (X, Y) {
        let (x, y) = residual.tensors.split_at(self.input.leaves().len());
        (self.input.rebuild(x.iter().cloned()), self.rebuilt(y.to_vec()))
    }

    fn pushed(&self, x: &X, y: &Y, tangent: &X) -> Y {
        let pushed = (self.closures.1)(x, y, tangent);
        expect_form("custom_jvp", "what the rule returned", &pushed, y, &specs_of(y)).or_raise();
        pushed
    }
}

/// The call as a function of leaves.
struct Ruled<X, Y, F, J>(Arc<Call<X, Y, F, J>>);

impl<X, Y, F, J> Function for Ruled<X, Y, F, J>
where
    X: Tree + Send + Sync + 'static,
    Y: Tree + Send + Sync + 'static,
    F: Fn(&X) -> Y + Send + Sync + 'static,
    J: Fn(&X, &Y, &X) -> Y + Send + Sync + 'static,
{
    fn name(&self) -> &'static str {
        "custom_jvp"
    }

    fn infer(&self, operands: &[SpecRef<'_>]) -> Specs {
        infer_by_trial(self.name(), |x| self.call(x), operands)
    }

    fn call(&self, x: &[Tensor]) -> Vec<Tensor> {
        let y = (self.0.closures.0)(&self.0.input.rebuild(x.iter().cloned()));
        self.0.output.get_or_init(|| form_of(&y));
        owned(&y)
    }

    fn forward(&self, x: &[Tensor]) -> (Vec<Tensor>, Residual) {
        let y = bind_below(self.0.function(), x);
        let tensors = x.iter().chain(&y).cloned().collect();
        (y, Residual { tensors, form: Arc::new(()) })
    }

    fn pull(&self, residual: &Residual, cotangents: &[Option<Tensor>], _wanted: Mask) -> Vec<Option<Tensor>> {
        let (x, y) = self.0.parts(residual);
        let zero = filled(&x, vec![None; x.leaves().len()]);
        let (_, transposed) = vjp(|tangent: &X| self.0.pushed(&x, &y, tangent), &zero);
        let pulled = transposed.call_named(&filled(&y, cotangents.to_vec()));
        pulled.into_iter().map(|(_, cotangent)| cotangent).collect()
    }

    fn push(&self, residual: &Residual, tangents: &[Option<Tensor>]) -> Vec<Option<Tensor>> {
        let (x, y) = self.0.parts(residual);
        given(&self.0.pushed(&x, &y, &filled(&x, tangents.to_vec())))
    }
}

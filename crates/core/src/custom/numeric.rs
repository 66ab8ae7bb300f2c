//! A function whose code reads values but whose derivative is that of its operations.
//!
//! If its operands have no values yet, in a batch or while tracing a program, it is called later, when they have. The same holds for its
//! derivatives, which are again such functions.

use super::{Function, Residual, bind_function};
use crate::primitive::{Mask, SpecRef, Specs};
use crate::{Tensor, jvp, vjp};
use std::sync::Arc;

/// Code for tensors whose values can be read.
type Run = Arc<dyn Fn(&[Tensor]) -> Vec<Tensor> + Send + Sync>;

/// See the module.
#[derive(Clone)]
pub struct Numeric {
    pub name: &'static str,
    /// The code, for tensors whose values can be read.
    pub run: Run,
    /// The specs of the outputs.
    pub outputs: Specs,
}

impl Numeric {
    /// Calls it on operands of any level.
    #[track_caller]
    pub fn bind(self, operands: &[Tensor]) -> Vec<Tensor> {
        bind_function(Arc::new(self), operands)
    }
}

/// Tangents or cotangents, with zeros for the missing ones.
pub fn completed(given: &[Option<Tensor>], like: &[Tensor]) -> Vec<Tensor> {
    let pairs = given.iter().zip(like);
    pairs.map(|(given, like)| given.clone().unwrap_or_else(|| like.full_like(0.0))).collect()
}

impl Function for Numeric {
    fn name(&self) -> &'static str {
        self.name
    }

    fn infer(&self, _operands: &[SpecRef<'_>]) -> Specs {
        self.outputs.clone()
    }

    fn reads_numbers(&self) -> bool {
        true
    }

    fn call(&self, x: &[Tensor]) -> Vec<Tensor> {
        (self.run)(x)
    }

    fn forward(&self, x: &[Tensor]) -> (Vec<Tensor>, Residual) {
        (self.clone().bind(x), Residual { tensors: x.to_vec(), form: Arc::new(()) })
    }

    fn pull(&self, residual: &Residual, cotangents: &[Option<Tensor>], _wanted: Mask) -> Vec<Option<Tensor>> {
        let x = &residual.tensors;
        let given = cotangents.iter().zip(&self.outputs);
        let given = given.map(|(given, spec)| given.clone().unwrap_or_else(|| Tensor::constant(0.0, spec)));
        let operands: Vec<Tensor> = x.iter().cloned().chain(given).collect();
        let (run, count) = (self.run.clone(), x.len());
        let pulled = Numeric {
            name: self.name,
            run: Arc::new(move |operands: &[Tensor]| {
                let (x, cotangents) = operands.split_at(count);
                vjp(|x: &Vec<Tensor>| run(x), &x.to_vec()).1.call(&cotangents.to_vec())
            }),
            outputs: x.iter().map(Tensor::spec).collect(),
        };
        let pulled = pulled.bind(&operands);
        pulled.into_iter().map(|gradient| Some(gradient).filter(|gradient| gradient.dtype().is_float())).collect()
    }

    fn push(&self, residual: &Residual, tangents: &[Option<Tensor>]) -> Vec<Option<Tensor>> {
        let x = &residual.tensors;
        let operands: Vec<Tensor> = x.iter().cloned().chain(completed(tangents, x)).collect();
        let (run, count) = (self.run.clone(), x.len());
        let pushed = Numeric {
            name: self.name,
            run: Arc::new(move |operands: &[Tensor]| {
                let (x, tangents) = operands.split_at(count);
                jvp(|x: &Vec<Tensor>| run(x), &x.to_vec(), &tangents.to_vec()).1
            }),
            outputs: self.outputs.clone(),
        };
        pushed.bind(&operands).into_iter().map(Some).collect()
    }
}

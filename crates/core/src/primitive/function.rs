//! Functions with derivative rules of their own, which interpreters call whole.

use super::{Mask, SpecRef, Specs};
use crate::Tensor;
use std::any::Any;
use std::sync::Arc;

/// What is known besides tensors: structures of trees, numbers of steps.
pub type Form = Arc<dyn Any + Send + Sync>;

/// What a forward pass leaves for the derivative.
#[derive(Clone)]
pub struct Residual {
    /// Tensors of the levels that the inputs had.
    pub tensors: Vec<Tensor>,
    /// Everything else.
    pub form: Form,
}

/// A function of tensors with its own derivative. Its methods are written with Tensor operations, so they run on any level.
pub trait Function: Send + Sync {
    /// The name in errors and programs.
    fn name(&self) -> &'static str;

    /// What comes out for operands of these specs.
    fn infer(&self, operands: &[SpecRef<'_>]) -> Specs;

    /// Whether `call` reads numbers, as an iteration does to know when to stop. It is then given nothing but numbers: a batch
    /// calls it for every element, a program when it is evaluated. Such a function knows its output specs, and its `forward`
    /// binds it again, to the tensors below.
    fn reads_numbers(&self) -> bool {
        false
    }

    /// Whether a call has an effect besides those of the operations in it; see [`Primitive::effect`](super::Primitive::effect). A function that reads numbers
    /// runs code that nobody can look into, so it has one unless it knows better; another one is traced into its operations.
    fn effect(&self) -> bool {
        self.reads_numbers()
    }

    /// Whether axes in front of those that it needs are a batch, so that a batch is one call.
    fn batches_in_front(&self) -> bool {
        false
    }

    /// The value alone.
    fn call(&self, x: &[Tensor]) -> Vec<Tensor>;

    /// The value, and what the derivative needs.
    fn forward(&self, x: &[Tensor]) -> (Vec<Tensor>, Residual);

    /// Cotangents of the outputs to those of the inputs `wanted`.
    fn pull(&self, residual: &Residual, cotangents: &[Option<Tensor>], wanted: Mask) -> Vec<Option<Tensor>>;

    /// Tangents of the inputs to those of the outputs.
    fn push(&self, residual: &Residual, tangents: &[Option<Tensor>]) -> Vec<Option<Tensor>>;
}

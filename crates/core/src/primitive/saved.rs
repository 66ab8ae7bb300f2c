//! What a record keeps from the forward pass.

use super::Spec;
use super::rule::Kept;
use crate::autograd::packing::Packed;
use crate::tensor::Value;
use crate::{Error, Tensor};
use std::sync::Arc;

/// One thing kept from the forward pass.
#[derive(Clone)]
pub enum Saved {
    /// Nothing was asked for, or it has been used up.
    Nothing,
    /// The numbers, or a tensor of a lower level.
    Held(Value),
    /// A tensor with a place in the imperative graph, saved by a level above it.
    Linked(Box<Tensor>),
    /// What a hook made of the numbers, or a promise to compute them again.
    Packed(Arc<Box<dyn Packed>>),
    /// Shape and dtype only.
    Shape(Box<Spec>),
}

impl Saved {
    /// Saves a tensor.
    pub fn keep(tensor: &Tensor) -> Saved {
        match tensor.link {
            None => Saved::Held(tensor.value.clone()),
            Some(_) => Saved::Linked(Box::new(Tensor { slot: None, ..tensor.clone() })),
        }
    }

    /// Only the numbers: level 0 finds the graph again through its edges.
    #[inline]
    pub fn keep_value(tensor: &Tensor) -> Saved {
        Saved::Held(tensor.value.clone())
    }

    /// Something that stands for the value.
    pub fn packed(packed: impl Packed + 'static) -> Saved {
        Saved::Packed(Arc::new(Box::new(packed)))
    }

    /// `None` if another sweep used it up meanwhile.
    #[inline]
    pub fn restore(self) -> Result<Option<Kept>, Error> {
        Ok(match self {
            Saved::Held(value) => Some(Kept::Value(Tensor::from(value))),
            Saved::Linked(tensor) => Some(Kept::Value(*tensor)),
            Saved::Packed(packed) => Some(Kept::Value(packed.unpack()?)),
            Saved::Shape(spec) => Some(Kept::Shape(spec)),
            Saved::Nothing => None,
        })
    }
}

/// What a record kept, read where it stands, in the order operands, shapes, outputs, residual.
#[derive(Clone, Copy)]
pub struct Held<'a>(pub &'a [Saved]);

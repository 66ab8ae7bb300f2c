//! The values that a record keeps from the forward pass.

use crate::types::{Kept, Packed, Saved};
use crate::{Error, Tensor};
use std::sync::Arc;

impl Saved {
    /// Saves a tensor.
    pub fn keep(tensor: &Tensor) -> Saved {
        match tensor.link {
            None => Saved::Held(tensor.value.clone()),
            Some(_) => Saved::Linked(Box::new(Tensor { slot: None, ..tensor.clone() })),
        }
    }

    /// Saves only the value: level 0 finds the graph again through its edges.
    #[inline]
    pub fn keep_value(tensor: &Tensor) -> Saved {
        Saved::Held(tensor.value.clone())
    }

    /// A stand-in for the value.
    pub fn packed(packed: impl Packed + 'static) -> Saved {
        Saved::Packed(Arc::new(Box::new(packed)))
    }

    /// `None` if another sweep consumed it meanwhile.
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

//! Leaves and tensors of transforms that a traced function captured.

use crate::Tensor;
use crate::autograd::{GradientSlot, Seen, Since};
use std::sync::{Arc, Weak};

/// A tensor that is an operand of every call.
pub(super) struct Captured {
    tensor: Tensor,
    /// Where updates of a leaf are recorded.
    leaf: Option<(Weak<GradientSlot>, Seen)>,
}

impl Captured {
    pub fn new(tensor: Tensor) -> Captured {
        let node = tensor.link.as_ref().filter(|_| tensor.is_leaf());
        let slot = node.and_then(|node| node.extras(|extras| extras.slot.upgrade()).flatten());
        Captured { leaf: slot.map(|slot| (Arc::downgrade(&slot), slot.follow())), tensor }
    }

    fn since(&self) -> Since {
        match &self.leaf {
            None => Since::Same,
            // A leaf that no longer exists was replaced by another.
            Some((slot, seen)) => slot.upgrade().map_or(Since::Unknown, |slot| slot.since(*seen)),
        }
    }

    /// Whether [`now`](Captured::now) returns what the function would read.
    pub fn is_known(&self) -> bool {
        !matches!(self.since(), Since::Unknown)
    }

    /// The tensor with its current value.
    pub fn now(&self) -> Tensor {
        match self.since() {
            Since::Changed(value) => Tensor { value, ..self.tensor.clone() },
            Since::Same | Since::Unknown => self.tensor.clone(),
        }
    }
}

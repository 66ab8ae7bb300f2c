//! Leaves, gradient slots and hooks.

use crate::error::OrRaise;
use crate::interp::{Node, Role};
use crate::location::Line;
use crate::primitive::Primitive;
use crate::tensor::Value;
use crate::types::{Followed, GradientSlot, Hook, Seen};
use crate::{Error, ErrorKind, Shape, Tensor};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

/// The state of a leaf's value since a program captured it.
pub enum Since {
    /// The value is unchanged.
    Same,
    /// The leaf has another value.
    Changed(Value),
    /// It was updated through one of several handles; which of them a program reads is unknown.
    Unknown,
}

impl GradientSlot {
    /// Records that the leaf has a new value.
    pub fn advance(self: &Arc<GradientSlot>, value: &Value) {
        if !self.is_followed.load(Ordering::Acquire) {
            return;
        }
        let mut followed = self.followed();
        followed.seen.updates += 1;
        followed.seen.ambiguous += u64::from(Arc::strong_count(self) > 1);
        followed.value = Some(value.clone());
    }

    /// Starts tracking the leaf for a program that captures it.
    pub fn follow(&self) -> Seen {
        self.is_followed.store(true, Ordering::Release);
        self.followed().seen
    }

    /// How the leaf has changed since a program captured it.
    pub fn since(&self, seen: Seen) -> Since {
        let followed = self.followed();
        match &followed.value {
            Some(value) if followed.seen.updates > seen.updates => match followed.seen.ambiguous > seen.ambiguous {
                true => Since::Unknown,
                false => Since::Changed(value.clone()),
            },
            _ => Since::Same,
        }
    }

    fn followed(&self) -> MutexGuard<'_, Followed> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slot of a handle after an update under grad mode.
    pub fn updated(slot: Arc<GradientSlot>, line: Line) -> Arc<GradientSlot> {
        match slot.orphaned {
            Some(_) => slot,
            None => Arc::new(GradientSlot { orphaned: Some(line), ..GradientSlot::default() }),
        }
    }

    /// An error if the handle of this slot was updated under grad mode.
    fn expect_reachable(&self, caller: &str) -> Result<(), Error> {
        let Some(line) = self.orphaned else { return Ok(()) };
        let place = format!("{}:{}", line.file(), line.line());
        let message = format!("the tensor is no longer a leaf: it was updated at {place} outside `no_grad`");
        Err(Error::new(ErrorKind::NoGradient, caller, message).help(
            "update parameters inside no_grad(|| ..); if the update is part of the computation, ask a clone made before it, or call retain_grad() after it",
        ))
    }

    fn gradient(&self) -> MutexGuard<'_, Option<Tensor>> {
        self.gradient.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to the gradient and runs the post-accumulate hooks.
    pub fn commit(&self, contribution: Tensor) {
        {
            let mut gradient = self.gradient();
            match gradient.as_mut() {
                Some(sum) => sum.accumulate(&contribution),
                None => *gradient = Some(contribution),
            }
        }
        let hooks = self.after.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !hooks.is_empty() {
            let gradient = self.gradient().clone().expect("just committed");
            hooks.iter().for_each(|hook| hook(&gradient));
        }
    }
}

/// Removes its hook on request; dropping the handle leaves the hook in place.
pub struct HookHandle {
    node: Arc<Node>,
    hook: Hook,
}

impl HookHandle {
    /// Removes the hook.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from(1.0).require_grad();
    /// let handle = x.register_hook(|_| panic!("never called"));
    /// handle.remove();
    /// (&x * 2.0).backward();
    /// ```
    pub fn remove(self) {
        self.node.extras(|extras| extras.hooks.retain(|hook| !Arc::ptr_eq(hook, &self.hook)));
    }
}

impl Tensor {
    /// Makes this tensor a leaf whose gradient `backward` computes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from(3.0).require_grad();
    /// assert!(x.requires_grad() && x.is_leaf());
    /// ```
    #[track_caller]
    pub fn require_grad(self) -> Tensor {
        self.try_require_grad(Line::caller()).or_raise()
    }

    fn try_require_grad(self, line: Line) -> Result<Tensor, Error> {
        if !self.dtype().is_float() {
            let message = format!("a tensor of {} carries no gradient", self.spec());
            return Err(Error::new(ErrorKind::NoGradient, "require_grad", message)
                .help("convert it first, for example with .cast(DType::F64)"));
        }
        if let Value::Tracer(tracer) = &self.value {
            let message = format!("a tensor inside {} cannot become a leaf", tracer.level.name);
            return Err(Error::new(ErrorKind::WrongLevel, "require_grad", message)
                .help("make the tensor an input of the transformed function"));
        }
        if self.requires_grad() {
            return Ok(self);
        }
        let (node, slot) = (Node::leaf(line), Arc::new(GradientSlot::default()));
        node.extras_or_new(|extras| extras.slot = Arc::downgrade(&slot));
        Ok(Tensor { value: self.value, link: Some(node), slot: Some(slot) })
    }

    /// Whether `backward` reaches this tensor.
    pub fn requires_grad(&self) -> bool {
        self.link.is_some()
    }

    /// Whether gradients were requested for this tensor, or no recorded operation produced it.
    pub fn is_leaf(&self) -> bool {
        self.link.as_ref().is_none_or(|node| node.role() == Role::Leaf)
    }

    /// The gradient that `backward` accumulated, if any.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from(3.0).require_grad();
    /// assert!(x.grad().is_none());
    /// (&x * 2.0).backward();
    /// assert_eq!(x.grad().unwrap().item(), 2.0);
    /// ```
    ///
    /// In a program that expects a gradient, `x.grad().expect("the loss depends on x")` gives a better message than `unwrap`.
    ///
    /// A handle that was updated outside of [`no_grad`](crate::autograd::no_grad) is no longer a leaf, and calling this on it is an error.
    #[track_caller]
    pub fn grad(&self) -> Option<Tensor> {
        let slot = self.slot.as_ref()?;
        slot.expect_reachable("grad").or_raise();
        slot.gradient().clone()
    }

    /// Takes the accumulated gradient out. No other handle shares it then, so an update may reuse its memory.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from(3.0).require_grad();
    /// (&x * 2.0).backward();
    /// assert_eq!(x.take_grad().unwrap().item(), 2.0);
    /// assert!(x.grad().is_none());
    /// ```
    #[track_caller]
    pub fn take_grad(&self) -> Option<Tensor> {
        let slot = self.slot.as_ref()?;
        slot.expect_reachable("take_grad").or_raise();
        slot.gradient().take()
    }

    /// Clears the accumulated gradient.
    pub fn zero_grad(&self) {
        self.set_grad(None);
    }

    /// Replaces the accumulated gradient.
    #[track_caller]
    pub fn set_grad(&self, gradient: Option<Tensor>) {
        if let Some(gradient) = gradient.as_ref().filter(|gradient| gradient.spec() != self.spec()) {
            let message = format!("a gradient of {} for a tensor of {}", gradient.spec(), self.spec());
            let shapes = vec![Shape::from(gradient.shape()), Shape::from(self.shape())];
            Error::new(ErrorKind::Shape(shapes), "set_grad", message).raise();
        }
        match self.slot.as_ref().filter(|slot| slot.orphaned.is_none()) {
            Some(slot) => *slot.gradient() = gradient,
            None if gradient.is_none() => {}
            None => Error::new(ErrorKind::NoGradient, "set_grad", "the tensor has no gradient of its own")
                .help("only leaves and tensors with retain_grad() have one")
                .raise(),
        }
    }

    /// Keeps the gradient of an intermediate: after `backward`, [`grad`](Tensor::grad) returns it.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from(3.0).require_grad();
    /// let y = (&x * &x).retain_grad();
    /// (&y * 2.0).backward();
    /// assert_eq!(y.grad().unwrap().item(), 2.0);
    /// ```
    #[track_caller]
    pub fn retain_grad(mut self) -> Tensor {
        self.expect_tape("retain_grad").or_raise();
        let Some(node) = &self.link else {
            Error::new(ErrorKind::NoGradient, "retain_grad", "the tensor requires no gradient")
                .help("call require_grad() on an input of the computation")
                .raise()
        };
        if self.slot.as_ref().is_none_or(|slot| slot.orphaned.is_some()) {
            let slot = node.extras(|extras| extras.slot.upgrade()).flatten().unwrap_or_default();
            node.extras_or_new(|extras| extras.slot = Arc::downgrade(&slot));
            self.slot = Some(slot);
        }
        self
    }

    /// Runs `hook` with the complete adjoint of this tensor, once in each `backward`; a returned tensor replaces the adjoint.
    ///
    /// The tensor owns the hook, so a hook that captures the tensor, or a result of it, creates a reference cycle that is never freed.
    /// Capture detached values instead, as in `let value = y.detach()`, or remove the hook when it is no longer needed.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from(3.0).require_grad();
    /// let y = &x * &x;
    /// y.register_hook(|adjoint| Some(adjoint * 10.0));
    /// y.backward();
    /// assert_eq!(x.grad().unwrap().item(), 60.0);
    /// ```
    #[track_caller]
    pub fn register_hook(&self, hook: impl Fn(&Tensor) -> Option<Tensor> + Send + Sync + 'static) -> HookHandle {
        self.expect_tape("register_hook").or_raise();
        let Some(node) = &self.link else {
            Error::new(
                ErrorKind::NoGradient,
                "register_hook",
                "the tensor requires no gradient, so no adjoint comes by",
            )
            .help("call require_grad() on an input of the computation")
            .raise()
        };
        let hook: Hook = Arc::new(hook);
        node.extras_or_new(|extras| extras.hooks.push(hook.clone()));
        HookHandle { node: node.clone(), hook }
    }

    /// Runs `hook` with the accumulated gradient each time `backward` has added to it.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from(3.0).require_grad();
    /// x.register_accumulate_hook(|gradient| assert_eq!(gradient.item(), 2.0));
    /// (&x * 2.0).backward();
    /// ```
    #[track_caller]
    pub fn register_accumulate_hook(&self, hook: impl Fn(&Tensor) + Send + Sync + 'static) {
        self.expect_tape("register_accumulate_hook").or_raise();
        let Some(slot) = self.slot.as_ref().filter(|slot| slot.orphaned.is_none()) else {
            Error::new(ErrorKind::NoGradient, "register_accumulate_hook", "the tensor has no gradient of its own")
                .help("only leaves and tensors with retain_grad() accumulate one")
                .raise()
        };
        slot.after.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(hook));
    }

    /// An error for a tensor of a transform: it has no record that a hook could be attached to.
    fn expect_tape(&self, caller: &str) -> Result<(), Error> {
        let Value::Tracer(tracer) = &self.value else { return Ok(()) };
        let message = format!("a tensor inside {} does not belong to the imperative tape", tracer.level.name);
        Err(Error::new(ErrorKind::WrongLevel, caller, message).help(
            "use it on what the function is given or returns, or write a rule with custom_vjp that sees the cotangent",
        ))
    }

    /// The primitive that produced this tensor, if it was recorded.
    pub fn made_by(&self) -> Option<&'static dyn Primitive> {
        let node = self.link.as_ref()?;
        match node.role() {
            Role::Leaf => None,
            Role::Operation => Some(node.op()),
            Role::Output(_) => node.edges()[0].as_ref().map(|call| call.op()),
        }
    }
}

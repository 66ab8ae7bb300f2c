//! Hooks on saved values: what is kept for the backward pass may be compressed or moved elsewhere meanwhile.

use super::modes;
use crate::primitive::Spec;
use crate::{Error, ErrorKind, Tensor};
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    static PACKER: RefCell<Option<Arc<dyn Packer>>> = const { RefCell::new(None) };
}

/// The two hooks.
trait Packer: Send + Sync {
    fn pack(&self, value: Tensor) -> Box<dyn Content>;
}

/// What stands for a saved value.
trait Content: Send + Sync {
    fn unpack(&self) -> Tensor;
}

struct Hooks<K, U> {
    pack: K,
    unpack: Arc<U>,
}

struct PackedBy<P, U> {
    content: P,
    unpack: Arc<U>,
}

impl<P, K, U> Packer for Hooks<K, U>
where
    P: Send + Sync + 'static,
    K: Fn(Tensor) -> P + Send + Sync,
    U: Fn(&P) -> Tensor + Send + Sync + 'static,
{
    fn pack(&self, value: Tensor) -> Box<dyn Content> {
        Box::new(PackedBy { content: (self.pack)(value), unpack: self.unpack.clone() })
    }
}

impl<P: Send + Sync, U: Fn(&P) -> Tensor + Send + Sync> Content for PackedBy<P, U> {
    fn unpack(&self) -> Tensor {
        (self.unpack)(&self.content)
    }
}

/// A saved value in the form that a hook gave it.
pub(crate) struct Packed {
    content: Box<dyn Content>,
    spec: Spec,
}

impl Packed {
    /// By the hooks in force, if there are any.
    pub fn new(value: Tensor) -> Option<Packed> {
        let packer = PACKER.with_borrow(Clone::clone)?;
        let spec = value.spec();
        Some(Packed { content: undisturbed(|| packer.pack(value)), spec })
    }

    /// The value again, or that the hook returned something else.
    pub fn unpack(&self) -> Result<Tensor, Error> {
        let value = undisturbed(|| self.content.unpack());
        if value.spec() != self.spec {
            let message = format!("unpacking returned {} for a saved value of {}", value.spec(), self.spec);
            return Err(Error::new(ErrorKind::Hook, "save_packed", message)
                .help("unpack must return the shape and dtype that pack was given"));
        }
        Ok(value)
    }
}

/// Hooks neither record nor see themselves.
fn undisturbed<R>(f: impl FnOnce() -> R) -> R {
    with_packer(None, || modes::no_grad(f))
}

fn with_packer<R>(packer: Option<Arc<dyn Packer>>, f: impl FnOnce() -> R) -> R {
    struct Restore(Option<Arc<dyn Packer>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            modes::set_packing(self.0.is_some());
            PACKER.set(self.0.take());
        }
    }
    modes::set_packing(packer.is_some());
    let _restore = Restore(PACKER.replace(packer));
    f()
}

/// Runs `f`; every value that its operations save for the backward pass goes through `pack`, and through `unpack` when a
/// rule asks for it. The hooks may round, compress or move the numbers; the innermost pair counts.
///
/// ```
/// use wengert::{prelude::*, autograd::save_packed};
/// let x = Tensor::from([1.0, 2.0]).require_grad();
/// // Saved values take a quarter of the memory.
/// let y = save_packed(|v| v.cast(DType::BF16), |v: &Tensor| v.cast(DType::F64), || (&x * &x).sum());
/// y.backward();
/// assert_eq!(x.grad().unwrap(), Tensor::from([2.0, 4.0]));
/// ```
pub fn save_packed<P, R>(
    pack: impl Fn(Tensor) -> P + Send + Sync + 'static,
    unpack: impl Fn(&P) -> Tensor + Send + Sync + 'static,
    f: impl FnOnce() -> R,
) -> R
where
    P: Send + Sync + 'static,
{
    with_packer(Some(Arc::new(Hooks { pack, unpack: Arc::new(unpack) })), f)
}

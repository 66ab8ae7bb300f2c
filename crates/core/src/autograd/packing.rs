//! How values are saved for backward: hooks may compress or offload them, a checkpoint drops them.

use super::modes;
use crate::primitive::{Attrs, Outputs, Primitive, Saved, Saves, Spec};
use crate::tensor::Value;
pub use crate::types::Packed;
use crate::{Error, ErrorKind, Tensor};
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    /// The savers around the running code; the last one is in force.
    static SAVERS: RefCell<Vec<Arc<dyn Saver>>> = const { RefCell::new(Vec::new()) };
}

/// Decides how a record stores a saved value.
pub trait Saver: Send + Sync {
    /// The stored form of a value that a record of `level` saves.
    fn save(self: Arc<Self>, level: u64, value: &Tensor) -> Saved;

    /// Announces a call of `level` whose rules will read `saves`.
    fn expect(&self, _level: u64, _call: (&'static str, &Attrs), _operands: &[&Tensor], _saves: Saves) {}

    /// The outputs of a call with an effect. `run` makes the call on `level`, if it has to be made.
    fn once(&self, _level: u64, _name: &'static str, run: &mut Run<'_>) -> Result<Outputs, Error> {
        run()
    }
}

/// Makes a call.
pub type Run<'a> = dyn FnMut() -> Result<Outputs, Error> + 'a;

fn saver() -> Option<Arc<dyn Saver>> {
    SAVERS.with_borrow(|savers| savers.last().cloned())
}

/// Stores a value with the saver in force, if there is one.
pub fn save(level: u64, value: &Tensor) -> Saved {
    match saver() {
        Some(saver) => saver.save(level, value),
        None => Saved::keep(value),
    }
}

/// Announces a call to the saver in force; only while [`modes::is_packing`].
#[cold]
pub fn expect(level: u64, call: (&'static str, &Attrs), operands: &[&Tensor], saves: Saves) {
    if let Some(saver) = saver() {
        saver.expect(level, call, operands, saves);
    }
}

/// The outputs of a call with an effect. `run` makes the call unless one of the savers already has the outputs: a checkpointed function
/// that is rerun gets those of its first run. Only while [`modes::is_packing`].
#[cold]
pub fn once(
    level: u64,
    op: &'static dyn Primitive,
    mut run: impl FnMut() -> Result<Outputs, Error>,
) -> Result<Outputs, Error> {
    fn ask(savers: &[Arc<dyn Saver>], level: u64, name: &'static str, run: &mut Run<'_>) -> Result<Outputs, Error> {
        match savers.split_last() {
            Some((saver, outer)) => saver.once(level, name, &mut || ask(outer, level, name, run)),
            None => run(),
        }
    }
    let savers = SAVERS.with_borrow(Clone::clone);
    // Calls made inside belong to this call.
    ask(&savers, level, op.name(), &mut || with_saver(None, &mut run))
}

/// Runs `f` with one more saver, or with none.
pub fn with_saver<R>(saver: Option<Arc<dyn Saver>>, f: impl FnOnce() -> R) -> R {
    struct Restore(Vec<Arc<dyn Saver>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            modes::set_packing(!self.0.is_empty());
            SAVERS.set(std::mem::take(&mut self.0));
        }
    }
    modes::set_packing(saver.is_some());
    let outer = if saver.is_some() { SAVERS.with_borrow(Clone::clone) } else { Vec::new() };
    let _restore = Restore(SAVERS.replace(outer.into_iter().chain(saver).collect()));
    f()
}

/// The two hooks.
struct Hooks<K, U> {
    pack: K,
    unpack: Arc<U>,
}

/// A saved value as a hook packed it.
struct PackedBy<P, U> {
    content: P,
    unpack: Arc<U>,
    spec: Spec,
}

impl<P, K, U> Saver for Hooks<K, U>
where
    P: Send + Sync + 'static,
    K: Fn(Tensor) -> P + Send + Sync,
    U: Fn(&P) -> Tensor + Send + Sync + 'static,
{
    fn save(self: Arc<Self>, _level: u64, value: &Tensor) -> Saved {
        // Tensors of a level have no values to pack.
        if matches!(value.value, Value::Tracer(_)) {
            return Saved::keep(value);
        }
        let (content, spec) = (undisturbed(|| (self.pack)(value.plain())), value.spec());
        Saved::packed(PackedBy { content, unpack: self.unpack.clone(), spec })
    }
}

impl<P: Send + Sync, U: Fn(&P) -> Tensor + Send + Sync> Packed for PackedBy<P, U> {
    fn unpack(&self) -> Result<Tensor, Error> {
        let value = undisturbed(|| (self.unpack)(&self.content));
        if value.spec() != self.spec {
            let message = format!("unpacking returned {} for a saved value of {}", value.spec(), self.spec);
            return Err(Error::new(ErrorKind::Hook, "save_packed", message)
                .help("unpack must return the shape and dtype that pack was given"));
        }
        Ok(value.plain())
    }
}

/// Runs hooks without recording, and without applying them to their own values.
fn undisturbed<R>(f: impl FnOnce() -> R) -> R {
    with_saver(None, || modes::no_grad(f))
}

/// Runs `f`. Every value that its operations save for the backward pass goes through `pack`, and through `unpack` when a rule reads it. The
/// hooks may round, compress or offload the values; the innermost pair applies. A compiled function saves the inputs of its backward
/// program. While a function is being traced there are no values to pack, which is an error.
///
/// ```
/// use wengert::{prelude::*, autograd::save_packed};
/// let x = Tensor::from([1.0, 2.0]).require_grad();
/// // Saved values take a quarter of the memory.
/// let y = save_packed(|v| v.cast(DType::BF16), |v: &Tensor| v.cast(DType::F64), || (&x * &x).sum());
/// y.backward();
/// assert_eq!(x.grad().unwrap(), Tensor::from([2.0, 4.0]));
/// ```
#[track_caller]
pub fn save_packed<P, R>(
    pack: impl Fn(Tensor) -> P + Send + Sync + 'static,
    unpack: impl Fn(&P) -> Tensor + Send + Sync + 'static,
    f: impl FnOnce() -> R,
) -> R
where
    P: Send + Sync + 'static,
{
    if modes::is_tracing() {
        Error::new(ErrorKind::Hook, "save_packed", "a function that is traced has no numbers to pack")
            .help("call save_packed around the call of the compiled function, or use checkpoint inside it")
            .raise();
    }
    with_saver(Some(Arc::new(Hooks { pack, unpack: Arc::new(unpack) })), f)
}

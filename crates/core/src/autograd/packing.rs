//! How values are saved for backward: hooks may compress or offload them, a checkpoint drops them.

use super::modes;
use crate::interp::Node;
use crate::location::Line;
use crate::primitive::{Attrs, Outputs, Primitive, Saved, Saves, Spec};
use crate::tensor::Value;
pub use crate::types::Packed;
use crate::types::{Recipe, Slot};
use crate::{Error, ErrorKind, Tensor};
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    /// The savers around the running code; the last one is in force.
    static SAVERS: RefCell<Vec<Arc<dyn Saver>>> = const { RefCell::new(Vec::new()) };
}

/// Which value of a call is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Operand(usize),
    Output(usize),
    Residual,
}

/// What a value is saved for.
pub struct Purpose<'e> {
    /// The call whose rule reads it.
    pub call: &'static str,
    pub line: Line,
    pub origin: Origin,
    /// The record that made it, if it is an operand with one.
    pub maker: Option<&'e Arc<Node>>,
    /// Its slot, if it can be computed again.
    pub slot: Option<Arc<Slot>>,
}

impl Purpose<'_> {
    /// An input of a function that is called as a whole.
    pub fn input(call: &'static str, line: Line, position: usize) -> Purpose<'static> {
        Purpose { call, line, origin: Origin::Operand(position), maker: None, slot: None }
    }
}

/// Decides how a record stores a saved value.
pub trait Saver: Send + Sync {
    /// The stored form of a value that a record of `level` saves.
    fn save(self: Arc<Self>, level: u64, value: &Tensor, purpose: &Purpose<'_>) -> Saved;

    /// The saver around this one, which does what this one leaves to it.
    fn outer(&self) -> Option<&Arc<dyn Saver>> {
        None
    }

    /// Whether the function that runs will run again when its values are needed, so that none of them has to be kept.
    fn runs_again(&self) -> bool {
        self.outer().is_some_and(|outer| outer.runs_again())
    }

    /// How a call of `level` that is about to be recorded can be made again, if that may be necessary. `edge` leads to the records of its
    /// operands.
    fn recipe<'e>(
        &self,
        level: u64,
        call: (&'static dyn Primitive, &Attrs, Saves),
        operands: &[&Tensor],
        outputs: &[Tensor],
        edge: &dyn Fn(usize) -> Option<&'e Arc<Node>>,
    ) -> Option<Box<Recipe>> {
        self.outer()?.recipe(level, call, operands, outputs, edge)
    }

    /// Announces a call of `level` whose rules will read `saves`.
    fn expect(&self, level: u64, call: (&'static str, &Attrs), operands: &[&Tensor], saves: Saves) {
        if let Some(outer) = self.outer() {
            outer.expect(level, call, operands, saves);
        }
    }

    /// Whether the outputs of a call without an effect are kept too, so that it is not made again.
    fn keeps(&self, _call: (&'static dyn Primitive, &Attrs)) -> bool {
        false
    }

    /// The outputs of a call with an effect, or of one that some saver [keeps](Saver::keeps). `run` makes the call on `level`, if it has to
    /// be made.
    fn once(&self, _level: u64, _call: (&'static dyn Primitive, &Attrs), run: &mut Run<'_>) -> Result<Outputs, Error> {
        run()
    }
}

/// Makes a call.
pub type Run<'a> = dyn FnMut() -> Result<Outputs, Error> + 'a;

/// The saver in force.
pub fn saver() -> Option<Arc<dyn Saver>> {
    SAVERS.with_borrow(|savers| savers.last().cloned())
}

/// Stores a value with the saver in force, if there is one.
pub fn save(level: u64, value: &Tensor, purpose: &Purpose<'_>) -> Saved {
    save_with(saver(), level, value, purpose)
}

/// Stores a value with this saver, if there is one.
pub fn save_with(saver: Option<Arc<dyn Saver>>, level: u64, value: &Tensor, purpose: &Purpose<'_>) -> Saved {
    match saver {
        Some(saver) => saver.save(level, value, purpose),
        None => Saved::keep(value),
    }
}

/// Stores a value as the saver around another one does; without one, it stays in memory.
pub fn save_around(outer: &Option<Arc<dyn Saver>>, level: u64, value: &Tensor, purpose: &Purpose<'_>) -> Saved {
    match (outer, level) {
        (Some(outer), _) => outer.clone().save(level, value, purpose),
        (None, 0) => Saved::keep_value(value),
        (None, _) => Saved::keep(value),
    }
}

/// What the saver in force needs to repeat a call; only while [`modes::is_packing`].
pub fn recipe<'e>(
    level: u64,
    call: (&'static dyn Primitive, &Attrs, Saves),
    operands: &[&Tensor],
    outputs: &[Tensor],
    edge: &dyn Fn(usize) -> Option<&'e Arc<Node>>,
) -> Option<Box<Recipe>> {
    saver()?.recipe(level, call, operands, outputs, edge)
}

/// Announces a call to the saver in force; only while [`modes::is_packing`].
#[cold]
pub fn expect(level: u64, call: (&'static str, &Attrs), operands: &[&Tensor], saves: Saves) {
    if let Some(saver) = saver() {
        saver.expect(level, call, operands, saves);
    }
}

/// Whether a call is made by [`once`]: it has an effect, or one of the savers keeps its outputs. Only while [`modes::is_packing`].
#[cold]
pub fn is_made_once(op: &'static dyn Primitive, attrs: &Attrs) -> bool {
    op.effect(attrs) || SAVERS.with_borrow(|savers| savers.iter().any(|saver| saver.keeps((op, attrs))))
}

/// The outputs of a call that [is made once](is_made_once). `run` makes the call unless one of the savers already has the outputs: a
/// checkpointed function that is rerun gets those of its first run. Only while [`modes::is_packing`].
#[cold]
pub fn once(
    level: u64,
    (op, attrs): (&'static dyn Primitive, &Attrs),
    mut run: impl FnMut() -> Result<Outputs, Error>,
) -> Result<Outputs, Error> {
    fn ask(
        savers: &[Arc<dyn Saver>],
        level: u64,
        call: (&'static dyn Primitive, &Attrs),
        run: &mut Run<'_>,
    ) -> Result<Outputs, Error> {
        match savers.split_last() {
            Some((saver, outer)) => saver.once(level, call, &mut || ask(outer, level, call, run)),
            None => run(),
        }
    }
    let savers = SAVERS.with_borrow(Clone::clone);
    // Calls made inside belong to this call.
    ask(&savers, level, (op, attrs), &mut || with_saver(None, &mut run))
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
    fn save(self: Arc<Self>, _level: u64, value: &Tensor, _purpose: &Purpose<'_>) -> Saved {
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
pub(crate) fn undisturbed<R>(f: impl FnOnce() -> R) -> R {
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

//! The surroundings of a forward pass: mode, random numbers, and the state that layers want to change.

use crate::layer::LayerTree;
use crate::prelude::*;
use std::cell::Cell;
use std::collections::BTreeMap;

/// The mode of a forward pass, its random key, and the state updates of its layers.
///
/// A layer changes nothing by itself, so it stays a pure function under `grad`, `compile`, `vmap` and `checkpoint`: in training,
/// `BatchNorm` hands new running statistics to the context, and [`updates`](Context::updates) returns them as a tree.
///
/// ```
/// use wengert::nn::{BatchNorm, Context, Layer};
/// use wengert::prelude::*;
///
/// let mut model = BatchNorm::new(2);
/// let x = Tensor::from([[1.0, 10.0], [3.0, 30.0]]);
/// let loss = |model: &BatchNorm| {
///     let mut context = Context::training(Key::new(0)).of(model);
///     (model.forward(&x, &mut context).square().sum(), context.updates())
/// };
/// let ((_, updates), _) = value_and_grad_with_aux(loss)(&model);
/// updates.apply(&mut model);
/// assert_eq!(model.running_mean, Tensor::from([0.2, 2.0]));
/// ```
pub struct Context<'m> {
    is_training: bool,
    key: Option<Key>,
    model: Option<&'m dyn Leaves>,
    /// New values by the address of the leaf that they replace.
    pending: Vec<(usize, Tensor)>,
    /// The state of a model that computes in fewer digits than it remembers, likewise.
    precise: Vec<(usize, Tensor)>,
    /// The number of layers being run inside one another, and of containers.
    depth: usize,
    containers: usize,
    /// The layers that have run, if they are wanted.
    calls: Option<Vec<Call>>,
}

/// A layer that has run.
pub(crate) struct Call {
    pub path: Option<String>,
    pub layer: &'static str,
    pub depth: usize,
    pub output: Tensor,
    pub parameters: usize,
    /// The number of layers that had finished when it began.
    pub first: usize,
}

/// The leaves of a model of any type.
trait Leaves {
    fn each(&self, f: &mut dyn FnMut(&TreePath, &Tensor));
}

impl<M: Tree> Leaves for M {
    fn each(&self, f: &mut dyn FnMut(&TreePath, &Tensor)) {
        self.visit(&mut TreePath::root(), &mut |path, leaf| f(path, leaf));
    }
}

fn address(leaf: &Tensor) -> usize {
    std::ptr::from_ref(leaf).addr()
}

impl<'m> Context<'m> {
    fn new(is_training: bool, key: Option<Key>) -> Context<'m> {
        Context {
            is_training,
            key,
            model: None,
            pending: Vec::new(),
            precise: Vec::new(),
            depth: 0,
            containers: 0,
            calls: None,
        }
    }

    /// For evaluation: no dropout, running statistics are used and stay as they are.
    pub fn evaluation() -> Context<'m> {
        Context::new(false, None)
    }

    /// For training, with a key for dropout.
    pub fn training(key: Key) -> Context<'m> {
        Context::new(true, Some(key))
    }

    /// Names the model that is run: errors then name the layer's path in it, and [`updates`](Context::updates) can name what changes.
    #[must_use]
    pub fn of<M: Tree>(mut self, model: &'m M) -> Context<'m> {
        self.model = Some(model);
        self
    }

    /// For a model in another dtype: its state is that of the model that it was made from.
    pub(crate) fn made_from<M: Tree>(mut self, model: &'m M, original: &M) -> Context<'m> {
        let mut state = Vec::new();
        model.visit(&mut TreePath::root(), &mut |path, leaf| state.push(path.is_frozen().then(|| address(leaf))));
        let pairs = state.into_iter().zip(original.leaves());
        self.precise = pairs.filter_map(|(place, leaf)| Some((place?, leaf.clone()))).collect();
        self.of(model)
    }

    /// Whether this is a training pass.
    pub fn is_training(&self) -> bool {
        self.is_training
    }

    /// A fresh key. Every call returns another one.
    ///
    /// # Panics
    /// In evaluation, which has no key.
    #[track_caller]
    pub fn key(&mut self) -> Key {
        match &mut self.key {
            Some(key) => key.next(),
            None => Error::new(ErrorKind::Argument, "context", "an evaluation has no random key")
                .help("begin with Context::training(key), or ask is_training() first")
                .at(Line::caller())
                .raise(),
        }
    }

    /// The value of a leaf of the state: the pending one if it was updated in this pass, else its own.
    pub fn current<'t>(&'t self, leaf: &'t Tensor) -> &'t Tensor {
        let place = address(leaf);
        let precise = || self.precise.iter().find(|(at, _)| *at == place).map(|(_, value)| value);
        self.pending(leaf).or_else(precise).unwrap_or(leaf)
    }

    /// The new value of a leaf, if it was updated in this pass.
    pub(crate) fn pending(&self, leaf: &Tensor) -> Option<&Tensor> {
        let place = address(leaf);
        self.pending.iter().find(|(at, _)| *at == place).map(|(_, value)| value)
    }

    /// Replaces a leaf of the state after this pass. The gradient does not flow through it.
    pub fn update(&mut self, leaf: &Tensor, value: &Tensor) {
        let (place, value) = (address(leaf), value.detach());
        match self.pending.iter_mut().find(|(at, _)| *at == place) {
            Some((_, pending)) => *pending = value,
            None => self.pending.push((place, value)),
        }
    }

    /// Takes over the updates of a layer that ran in a context of its own.
    pub(crate) fn adopt(&mut self, layer: &impl Tree, updates: Updates) {
        let Updates(mut values) = updates;
        if values.is_empty() {
            return;
        }
        layer.visit(&mut TreePath::root(), &mut |path, leaf| {
            if let Some(value) = values.remove(path.as_str()) {
                self.update(leaf, &value);
            }
        });
    }

    /// The new state, by the paths of the leaves that it replaces.
    ///
    /// # Panics
    /// If a layer that is not part of the model [`of`](Context::of) changed its state.
    #[track_caller]
    pub fn updates(&mut self) -> Updates {
        let mut pending = std::mem::take(&mut self.pending);
        let mut updates = BTreeMap::new();
        if let Some(model) = self.model.filter(|_| !pending.is_empty()) {
            model.each(&mut |path, leaf| {
                let place = address(leaf);
                if let Some(found) = pending.iter().position(|(at, _)| *at == place) {
                    updates.insert(path.to_string(), pending.swap_remove(found).1);
                }
            });
        }
        if !pending.is_empty() {
            let message = "a layer changed its state, but it is not part of the model of this context";
            Error::new(ErrorKind::Tree, "updates", message)
                .help("begin with Context::training(key).of(&model), with the model whose forward is called")
                .at(Line::caller())
                .raise();
        }
        Updates(updates)
    }

    /// Runs a layer: an error raised in it names its path in the model, and [`summary`](crate::summary) lists it.
    ///
    /// The layers of this crate use it. A layer of yours may too, unless it only calls other layers.
    #[track_caller]
    pub fn run(&mut self, layer: &dyn LayerTree, f: impl FnOnce(&mut Self) -> Tensor) -> Tensor {
        let mut f = Some(f);
        self.run_layer(layer, &mut |context| f.take().expect("it is called once")(context))
    }

    #[track_caller]
    fn run_layer(&mut self, layer: &dyn LayerTree, f: &mut dyn FnMut(&mut Self) -> Tensor) -> Tensor {
        let _scope = primitive::scope(Line::caller());
        let first = self.calls.as_ref().map_or(0, Vec::len);
        self.depth += 1;
        let model = self.model;
        // Written once: a result would be moved several times, right after its fields were written.
        let mut output = None;
        primitive::change_errors(|| output = Some(f(self)), |error| named(model, layer, error));
        self.depth -= 1;
        let output = output.expect("the layer has run");
        if self.calls.is_some() {
            let (path, name, depth) = (path_of(model, layer), layer.type_name(), self.depth);
            let mut parameters = 0;
            layer.visit_leaves(&mut TreePath::root(), &mut |path, leaf| {
                parameters += if path.is_frozen() { 0 } else { leaf.elements() };
            });
            let call = Call { path, layer: name, depth, output: output.clone(), parameters, first };
            self.calls.get_or_insert_default().push(call);
        }
        output
    }

    /// Runs the layers of a container one after the other: an error of one without a path of its own, such as [`Tanh`](crate::Tanh), names
    /// its place in the container, which `f` sets.
    #[track_caller]
    pub(crate) fn run_parts<L: LayerTree>(
        &mut self,
        container: &L,
        f: impl FnOnce(&mut Self, &Cell<usize>) -> Tensor,
    ) -> Tensor {
        let _scope = primitive::scope(Line::caller());
        let (model, place, is_inner) = (self.model, Cell::new(0), self.containers > 0);
        let mut output = None;
        let name = |error: Error| {
            let has_path = |layer: &str| !layer.starts_with(['(', '.']);
            if error.operation().strip_prefix("layer ").is_none_or(has_path) {
                return error;
            }
            let part = place.get().to_string();
            nested(
                error,
                Some(match path_of(model, container) {
                    Some(path) => child(&path, &part),
                    // A container without leaves has no place in the model: the one around it may have.
                    None if is_inner => format!(".{part}"),
                    None => part,
                }),
            )
        };
        self.containers += 1;
        primitive::change_errors(|| output = Some(f(self, &place)), name);
        self.containers -= 1;
        output.expect("the layers have run")
    }

    /// Runs a layer that has a context of its own, as the model of that: its errors get the path that leads there.
    pub(crate) fn run_apart<R>(&self, layer: &dyn LayerTree, f: impl FnOnce() -> R) -> R {
        let model = self.model;
        let mut output = None;
        primitive::change_errors(|| output = Some(f()), |error| nested(error, path_of(model, layer)));
        output.expect("the layer has run")
    }

    /// Lists the layers that run.
    pub(crate) fn listing(mut self) -> Context<'m> {
        self.calls = Some(Vec::new());
        self
    }

    /// The layers that have run.
    pub(crate) fn calls(self) -> Vec<Call> {
        self.calls.unwrap_or_default()
    }
}

/// An error with the path of the layer, unless it has one already.
#[cold]
fn named(model: Option<&dyn Leaves>, layer: &dyn LayerTree, error: Error) -> Error {
    if error.operation().starts_with("layer ") {
        return error;
    }
    let error = error.renamed(|operation| format!("layer ({}), {operation}", layer.type_name()));
    nested(error, path_of(model, layer))
}

/// An error of a layer with what leads to the layer in front of its path.
#[cold]
fn nested(error: Error, prefix: Option<String>) -> Error {
    let Some(prefix) = prefix.filter(|prefix| !prefix.is_empty()) else { return error };
    error.renamed(|operation| match operation.strip_prefix("layer ") {
        Some(layer) if layer.starts_with('(') => format!("layer {prefix} {layer}"),
        Some(layer) => format!("layer {}", child(&prefix, layer.trim_start_matches('.'))),
        None => operation.to_string(),
    })
}

/// The path of a part.
fn child(path: &str, part: &str) -> String {
    if path.is_empty() { part.to_string() } else { format!("{path}.{part}") }
}

/// The path of a layer in the model, found by the address of its first leaf.
fn path_of(model: Option<&dyn Leaves>, layer: &dyn LayerTree) -> Option<String> {
    let mut first: Option<(String, usize)> = None;
    layer.visit_leaves(&mut TreePath::root(), &mut |path, leaf| {
        first.get_or_insert_with(|| (path.to_string(), address(leaf)));
    });
    let (own, place) = first?;
    let mut found = None;
    model?.each(&mut |path, leaf| {
        if address(leaf) == place {
            found = Some(path.to_string());
        }
    });
    let path = found?;
    let path = path.strip_suffix(&own)?;
    Some(path.strip_suffix('.').unwrap_or(path).to_string())
}

/// New values for leaves of a model, by path: the running statistics after a training pass.
#[derive(Clone, Debug, Default, Tree)]
#[tree(crate = "crate::prelude")]
pub struct Updates(#[tree(flatten)] BTreeMap<String, Tensor>);

impl Updates {
    /// Writes the new values into a model.
    pub fn apply<M: Tree>(self, model: &mut M) {
        let Updates(mut values) = self;
        if values.is_empty() {
            return;
        }
        model.visit_mut(&mut TreePath::root(), &mut |path, leaf| {
            if let Some(value) = values.remove(path.as_str()) {
                // A model that computes in another dtype keeps that of its state.
                *leaf = value.cast(leaf.dtype());
            }
        });
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

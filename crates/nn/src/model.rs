//! What one does with whole models.

use crate::optimise::norm_of;
use crate::pattern;
use crate::prelude::*;
use std::ops::{Deref, DerefMut};

/// Methods of models, which are trees of tensors of any kind.
pub trait ModelMethods: Tree {
    /// The number of elements of all parameters; frozen leaves, such as running statistics, are not parameters.
    ///
    /// ```
    /// use wengert::nn::{BatchNorm, ModelMethods};
    /// assert_eq!(BatchNorm::new(3).parameters(), 6);
    /// ```
    fn parameters(&self) -> usize {
        let mut count = 0;
        self.visit(&mut TreePath::root(), &mut |path, leaf| {
            if !path.is_frozen() {
                count += leaf.elements();
            }
        });
        count
    }

    /// The model with its float tensors in another dtype.
    ///
    /// ```
    /// use wengert::nn::{Linear, ModelMethods};
    /// use wengert::prelude::*;
    /// let model = Linear::new(2, 3, &mut Key::new(0)).to_dtype(DType::F32);
    /// assert_eq!(model.weight.dtype(), DType::F32);
    /// ```
    #[must_use]
    fn to_dtype(&self, dtype: DType) -> Self {
        self.map_leaves(|leaf| if leaf.dtype().is_float() { leaf.cast(dtype) } else { leaf.clone() })
    }

    /// The model with parameters that accumulate gradients when `backward` is called.
    ///
    /// ```
    /// use wengert::nn::{Context, Layer, Linear, ModelMethods};
    /// use wengert::prelude::*;
    /// let model = Linear::new(2, 1, &mut Key::new(0)).require_grad();
    /// model.forward(&Tensor::from([[3.0, 4.0]]), &mut Context::evaluation()).sum().backward();
    /// assert_eq!(model.gradients().weight, Tensor::from([[3.0, 4.0]]));
    /// ```
    #[must_use]
    fn require_grad(&self) -> Self {
        self.map(&mut TreePath::root(), &mut |path, leaf| match !path.is_frozen() && leaf.dtype().is_float() {
            true => leaf.detach().require_grad(),
            false => leaf.clone(),
        })
    }

    /// The gradients that `backward` accumulated, zeros where there are none, and takes them away.
    #[must_use]
    fn gradients(&self) -> Self {
        self.map_leaves(|leaf| leaf.take_grad().unwrap_or_else(|| leaf.zeros_like()))
    }

    /// The Euclidean norm of all float leaves together, f64 of rank 0: the norm of a gradient.
    ///
    /// ```
    /// use wengert::nn::ModelMethods;
    /// use wengert::prelude::*;
    /// assert_eq!((Tensor::from([2.0, 3.0]), Tensor::from(6.0)).global_norm().item(), 7.0);
    /// ```
    #[track_caller]
    fn global_norm(&self) -> Tensor {
        norm_of(self.leaves().into_iter().filter(|leaf| leaf.dtype().is_float()))
    }

    /// The model, in which the leaves that match one of these patterns are not trained; `*` stands for any characters.
    ///
    /// ```
    /// use wengert::nn::{Context, Frozen, Layer, Linear, ModelMethods, Sequential, sequential};
    /// use wengert::prelude::*;
    /// let mut key = Key::new(0);
    /// let model = sequential![Linear::new(2, 2, &mut key), Linear::new(2, 1, &mut key)].frozen(&["0.*"]);
    /// let loss = |model: &Frozen<Sequential>| model.forward(&Tensor::ones([1, 2]), &mut Context::evaluation()).sum();
    /// let gradient = grad(loss)(&model);
    /// assert_eq!(gradient.named_leaves()[0].1, &Tensor::zeros([2, 2]));
    /// assert_eq!(gradient.named_leaves()[3].1, &Tensor::ones([1]));
    /// ```
    ///
    /// # Panics
    /// If a pattern matches no leaf.
    #[must_use]
    #[track_caller]
    fn frozen(self, patterns: &[&str]) -> Frozen<Self> {
        Frozen::new(self, patterns)
    }
}

impl<M: Tree> ModelMethods for M {}

/// A model with leaves that are not trained; see [`ModelMethods::frozen`]. It derefs to the model.
#[derive(Clone, Debug)]
pub struct Frozen<M> {
    model: M,
    /// Whether each leaf is frozen, in visiting order: a traversal may come without paths.
    flags: Vec<bool>,
}

impl<M: Tree> Frozen<M> {
    #[track_caller]
    fn new(model: M, patterns: &[&str]) -> Frozen<M> {
        pattern::expect_matches("frozen", patterns.iter().copied(), &model);
        let mut flags = Vec::new();
        model.visit(&mut TreePath::root(), &mut |path, _| {
            flags.push(patterns.iter().any(|pattern| pattern::matches(pattern, path.as_str())));
        });
        Frozen { model, flags }
    }

    /// The model, in which everything is trained again.
    pub fn into_inner(self) -> M {
        self.model
    }
}

impl<M> Deref for Frozen<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.model
    }
}

impl<M> DerefMut for Frozen<M> {
    fn deref_mut(&mut self) -> &mut M {
        &mut self.model
    }
}

/// Calls `f` with the path, frozen if the next flag says so.
fn flagged<R>(flags: &mut std::slice::Iter<'_, bool>, path: &TreePath, f: impl FnOnce(&TreePath) -> R) -> R {
    match flags.next() {
        Some(true) => path.clone().frozen(|path| f(path)),
        Some(false) => f(path),
        None => other_leaves(),
    }
}

/// Refuses a model that has other leaves than those that were frozen or not.
#[cold]
fn other_leaves() -> ! {
    Error::new(ErrorKind::Tree, "frozen", "the model has more or fewer leaves than when some were frozen")
        .help("change it first: model.into_inner(), then frozen(..) again")
        .raise()
}

fn expect_all(mut flags: std::slice::Iter<'_, bool>) {
    if flags.next().is_some() {
        other_leaves();
    }
}

impl<M: Tree> Tree for Frozen<M> {
    fn visit<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor)) {
        let mut flags = self.flags.iter();
        self.model.visit(path, &mut |path, leaf| flagged(&mut flags, path, |path| f(path, leaf)));
        expect_all(flags);
    }

    fn visit_mut(&mut self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &mut Tensor)) {
        let mut flags = self.flags.iter();
        self.model.visit_mut(path, &mut |path, leaf| flagged(&mut flags, path, |path| f(path, leaf)));
        expect_all(flags);
    }

    fn map(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor) -> Self {
        let mut flags = self.flags.iter();
        let model = self.model.map(path, &mut |path, leaf| flagged(&mut flags, path, |path| f(path, leaf)));
        expect_all(flags);
        Frozen { model, flags: self.flags.clone() }
    }

    fn describe(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &str)) {
        path.say(format_args!("frozen {:?}", self.flags), f);
        self.model.describe(path, f);
    }
}

//! Layers made of layers.

use crate::context::Updates;
use crate::layer::LayerTree;
use crate::prelude::*;
use crate::{Context, Layer};

/// Layers applied one after the other; see [`sequential!`](crate::sequential).
///
/// ```
/// use wengert::nn::{Context, Layer, Linear, Relu, sequential};
/// use wengert::prelude::*;
/// let mut key = Key::new(0);
/// let model = sequential![Linear::new(10, 32, &mut key), Relu, Linear::new(32, 1, &mut key)];
/// assert_eq!(model.named_leaves()[2].0, "2.weight");
/// assert_eq!(model.forward(&Tensor::ones([5, 10]), &mut Context::evaluation()).shape(), [5, 1]);
/// ```
#[derive(Clone, Default, Tree)]
#[tree(crate = "crate::prelude")]
pub struct Sequential {
    /// The layers.
    #[tree(flatten)]
    pub layers: Vec<Box<dyn Layer>>,
}

impl Sequential {
    /// No layer yet.
    pub fn new() -> Sequential {
        Sequential::default()
    }

    /// With one more layer.
    #[must_use]
    pub fn then(mut self, layer: impl Layer + 'static) -> Sequential {
        self.layers.push(Box::new(layer));
        self
    }
}

impl Layer for Sequential {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        in_turn(self, &self.layers, x, context)
    }
}

/// The output of the last of the layers of a container.
#[track_caller]
fn in_turn<L: Layer>(container: &impl LayerTree, layers: &[L], x: &Tensor, context: &mut Context<'_>) -> Tensor {
    let Some((first, rest)) = layers.split_first() else { return x.clone() };
    context.run_parts(container, |context, place| {
        let first = first.forward(x, context);
        rest.iter().fold(first, |x, layer| {
            place.set(place.get() + 1);
            layer.forward(&x, context)
        })
    })
}

/// A [`Sequential`] of these layers.
///
/// ```
/// use wengert::nn::{Tanh, sequential};
/// assert_eq!(sequential![Tanh, Tanh].layers.len(), 2);
/// ```
#[macro_export]
macro_rules! sequential {
    ($($layer:expr),* $(,)?) => {
        $crate::Sequential { layers: ::std::vec![$(::std::boxed::Box::new($layer) as ::std::boxed::Box<dyn $crate::Layer>),*] }
    };
}

macro_rules! tuples {
    ($First:ident.0 $(, $L:ident.$index:tt)*) => {
        impl<$First: Layer + Tree + 'static, $($L: Layer + Tree + 'static),*> Layer for ($First, $($L,)*) {
            fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
                context.run_parts(self, |context, place| {
                    place.set(0);
                    // One variable, so that no layer's output outlives the next one.
                    #[allow(unused_mut)]
                    let mut x = self.0.forward(x, context);
                    $(place.set($index); x = self.$index.forward(&x, context);)*
                    x
                })
            }
        }
    };
}

tuples!(A.0);
tuples!(A.0, B.1);
tuples!(A.0, B.1, C.2);
tuples!(A.0, B.1, C.2, D.3);
tuples!(A.0, B.1, C.2, D.3, E.4);
tuples!(A.0, B.1, C.2, D.3, E.4, F.5);
tuples!(A.0, B.1, C.2, D.3, E.4, F.5, G.6);
tuples!(A.0, B.1, C.2, D.3, E.4, F.5, G.6, H.7);

/// The same layers several times in a row.
impl<L: Layer + Tree + 'static> Layer for Vec<L> {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        in_turn(self, self, x, context)
    }
}

/// `x + f(x)`.
///
/// ```
/// use wengert::nn::{Context, Layer, Residual, Tanh};
/// use wengert::prelude::*;
/// let y = Residual::new(Tanh).forward(&Tensor::from([0.5]), &mut Context::evaluation());
/// assert_eq!(y.item(), 0.5 + 0.5f64.tanh());
/// ```
#[derive(Clone, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct Residual<L> {
    /// f.
    #[tree(flatten)]
    pub inner: L,
}

impl<L: Layer> Residual<L> {
    /// Around this layer.
    pub fn new(inner: L) -> Residual<L> {
        Residual { inner }
    }
}

impl<L: Layer + Tree + 'static> Layer for Residual<L> {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        let _scope = primitive::scope(Line::caller());
        let y = self.inner.forward(x, context);
        context.run(self, |_| x + y)
    }
}

/// A layer that stores only its input for the backward pass, and recomputes the rest.
///
/// ```
/// use wengert::nn::{Checkpointed, Context, Layer, Linear};
/// use wengert::prelude::*;
/// let layer = Checkpointed::new(Linear::new(2, 2, &mut Key::new(0)));
/// let loss = |layer: &Checkpointed<Linear>| layer.forward(&Tensor::ones([1, 2]), &mut Context::evaluation()).sum();
/// assert_eq!(grad(loss)(&layer).inner.weight, Tensor::ones([2, 2]));
/// ```
#[derive(Clone, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct Checkpointed<L> {
    /// The layer.
    #[tree(flatten)]
    pub inner: L,
}

impl<L: Layer> Checkpointed<L> {
    /// Around this layer.
    pub fn new(inner: L) -> Checkpointed<L> {
        Checkpointed { inner }
    }
}

impl<L: Layer + Tree + 'static> Layer for Checkpointed<L> {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        let _scope = primitive::scope(Line::caller());
        let key = context.is_training().then(|| context.key());
        let inner = |(layer, x, key): &(L, Tensor, Option<Key>)| {
            let mut context = match key {
                Some(key) => Context::training(key.clone()),
                None => Context::evaluation(),
            }
            .of(layer);
            (layer.forward(x, &mut context), context.updates())
        };
        // It may have run before in this pass.
        let layer = self.inner.map_leaves(|leaf| context.pending(leaf).unwrap_or(leaf).clone());
        let input = (layer, x.clone(), key);
        let (y, updates): (Tensor, Updates) = context.run_apart(&self.inner, || checkpoint(inner)(&input));
        context.adopt(&self.inner, updates);
        y
    }
}

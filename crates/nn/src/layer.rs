//! The trait of layers, and boxed layers as trees.

use crate::context::Context;
use crate::prelude::{Tensor, Tree, TreePath, tree};

/// A function of a tensor with parameters.
///
/// A layer is a tree, so its parameters have names, and gradients with respect to a layer are a layer. It is a pure function of its input
/// and the [`Context`]: what it wants to change, such as running statistics, it hands to the context.
///
/// ```
/// use wengert::nn::{Context, Layer, Linear};
/// use wengert::prelude::*;
///
/// #[derive(Tree)]
/// struct Perceptron {
///     hidden: Linear,
///     output: Linear,
/// }
///
/// impl Layer for Perceptron {
///     fn forward(&self, x: &Tensor, context: &mut Context) -> Tensor {
///         let h = self.hidden.forward(x, context).tanh();
///         self.output.forward(&h, context)
///     }
/// }
///
/// let mut key = Key::new(0);
/// let model = Perceptron { hidden: Linear::new(2, 8, &mut key), output: Linear::new(8, 1, &mut key) };
/// let y = model.forward(&Tensor::ones([5, 2]), &mut Context::evaluation());
/// assert_eq!(y.shape(), [5, 1]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layer",
    note = "derive `Tree` for it and implement `forward`"
)]
pub trait Layer: LayerTree {
    /// The output for `x`.
    #[track_caller]
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor;

    /// The output for `x` in evaluation: without dropout, with running statistics.
    ///
    /// ```
    /// use wengert::nn::{Dropout, Layer, Linear};
    /// use wengert::prelude::*;
    /// let model = (Linear::new(2, 3, &mut Key::new(0)), Dropout::new(0.5));
    /// assert_eq!(model.predict(&Tensor::ones([4, 2])).shape(), [4, 3]);
    /// ```
    #[track_caller]
    fn predict(&self, x: &Tensor) -> Tensor
    where
        Self: Tree,
    {
        self.forward(x, &mut Context::evaluation().of(self))
    }
}

/// The tree of a layer behind a pointer. Every layer that is a [`Tree`] has it.
#[diagnostic::on_unimplemented(
    message = "the layer `{Self}` is not a tree of tensors",
    note = "derive it with `#[derive(Tree)]`; a field without tensors is marked `#[tree(static)]`"
)]
pub trait LayerTree: Send + Sync {
    /// [`Tree::visit`].
    fn visit_leaves<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor));
    /// [`Tree::visit_mut`].
    fn visit_leaves_mut(&mut self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &mut Tensor));
    /// [`Tree::map`].
    fn map_boxed(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor) -> Box<dyn Layer>;
    /// [`Tree::describe`].
    fn describe_layer(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &str));
    /// The name of the type, without its module: `Linear`.
    fn type_name(&self) -> &'static str;
}

impl<L: Layer + Tree + Send + Sync + 'static> LayerTree for L {
    fn visit_leaves<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor)) {
        self.visit(path, f);
    }

    fn visit_leaves_mut(&mut self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &mut Tensor)) {
        self.visit_mut(path, f);
    }

    fn map_boxed(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor) -> Box<dyn Layer> {
        Box::new(self.map(path, f))
    }

    fn describe_layer(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &str)) {
        self.describe(path, f);
    }

    fn type_name(&self) -> &'static str {
        short_name::<L>()
    }
}

/// `Linear` of `wengert_nn::layers::linear::Linear`; type parameters are dropped.
fn short_name<L>() -> &'static str {
    let full = std::any::type_name::<L>();
    let full = full.split_once('<').map_or(full, |(before, _)| before);
    full.rsplit("::").next().unwrap_or(full)
}

/// The leaves of the layer, at the same paths.
impl Tree for Box<dyn Layer> {
    fn visit<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor)) {
        (**self).visit_leaves(path, f);
    }

    fn visit_mut(&mut self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &mut Tensor)) {
        (**self).visit_leaves_mut(path, f);
    }

    fn map(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor) -> Self {
        (**self).map_boxed(path, f)
    }

    fn describe(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &str)) {
        f(path, (**self).type_name());
        (**self).describe_layer(path, f);
    }
}

impl tree::JacobianLayout for Box<dyn Layer> {
    type Of<X: Tree> = tree::Blocks<X>;

    fn arrange<X: Tree>(rows: tree::Blocks<X>) -> tree::Blocks<X> {
        rows
    }
}

impl Clone for Box<dyn Layer> {
    fn clone(&self) -> Self {
        self.map_leaves(Tensor::clone)
    }
}

impl Layer for Box<dyn Layer> {
    fn forward(&self, x: &Tensor, context: &mut Context<'_>) -> Tensor {
        (**self).forward(x, context)
    }
}

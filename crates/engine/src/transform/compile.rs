//! Staging: trace once for each signature, then run the program.

use crate::autograd::modes::tracing;
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::primitive::Spec;
use crate::program::{Program, stage};
use crate::tensor::Value;
use crate::{Tensor, Tree};
use rustc_hash::FxHashMap;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

/// What decides whether a traced program can be used again: structure, static fields, shapes and dtypes.
#[derive(PartialEq, Eq, Hash)]
struct Signature {
    structure: Vec<(String, String)>,
    specs: Vec<Spec>,
}

struct Staged<Y> {
    program: Program,
    /// A tree of the output's structure; its leaves are replaced by results.
    output: Y,
    /// The versions of captured leaves: an updated leaf has another value, so the function is traced again.
    versions: Vec<u64>,
}

fn leaf_versions(program: &Program) -> Vec<u64> {
    let leaves = program.captures().iter().filter_map(|(_, tensor)| tensor.link.as_ref());
    leaves.map(|leaf| leaf.extras(|extras| extras.slot.upgrade()).flatten().map_or(0, |slot| slot.version())).collect()
}

/// A function that is traced once for each signature of its input.
pub struct Compiled<X, Y, F> {
    function: F,
    line: Line,
    cache: Mutex<FxHashMap<Signature, Arc<Staged<Y>>>>,
    input: std::marker::PhantomData<fn(&X)>,
}

/// Stages `f`: its Rust code runs once for each new signature of shapes, dtypes and static fields; calls run the recorded
/// program. Captured tensors are constants of the program, except leaves that require gradients: they receive them, and the
/// function is traced again when one was updated inside `no_grad`. Plain Rust values, and tensors behind a `RefCell` that do not
/// require gradients, are frozen at the first call: make what changes an input.
///
/// ```
/// use wengert::prelude::*;
/// let f = compile(vmap(grad(|x: &Tensor| (x * x).sum())));
/// assert_eq!(f.call(&Tensor::from([[1.0], [2.0]])), Tensor::from([[2.0], [4.0]]));
/// assert_eq!(grad(|x: &Tensor| f.call(x).sum())(&Tensor::from([[1.0], [2.0]])), Tensor::from([[2.0], [2.0]]));
/// assert_eq!(f.signatures(), 1);
/// ```
#[track_caller]
pub fn compile<X: Tree, Y: Tree, F: Fn(&X) -> Y>(f: F) -> Compiled<X, Y, F> {
    let line = location::resolve(Location::caller());
    Compiled { function: f, line, cache: Mutex::default(), input: std::marker::PhantomData }
}

impl<X: Tree, Y: Tree, F: Fn(&X) -> Y> Compiled<X, Y, F> {
    /// Runs the program of this input's signature; the input may belong to any transform.
    #[track_caller]
    pub fn call(&self, x: &X) -> Y {
        let line = location::resolve(Location::caller());
        let _scope = location::scope(line);
        let staged = self.staged(x);
        let inputs: Vec<Tensor> = x.leaves().into_iter().cloned().collect();
        let outputs = staged.program.evaluate_at(&inputs, line).map_err(|error| error.at(line)).or_raise();
        staged.output.rebuild(outputs)
    }

    /// The program of this input's signature.
    #[track_caller]
    pub fn program(&self, x: &X) -> Program {
        let _scope = location::scope(location::resolve(Location::caller()));
        self.staged(x).program.clone()
    }

    /// How many signatures are cached.
    pub fn signatures(&self) -> usize {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn staged(&self, x: &X) -> Arc<Staged<Y>> {
        let specs = x.leaves().into_iter().map(Tensor::spec).collect();
        let signature = Signature { structure: x.structure(), specs };
        let cached = self.cache.lock().unwrap_or_else(PoisonError::into_inner).get(&signature).cloned();
        if let Some(staged) = cached.filter(|staged| staged.versions == leaf_versions(&staged.program)) {
            return staged;
        }
        let staged = Arc::new(self.trace(x));
        // A program that captured a tensor of a running transform, or one that was computed from a leaf, is good for this
        // call only.
        let reusable = |tensor: &Tensor| !matches!(tensor.value, Value::Tracer(_)) && tensor.is_leaf();
        let reusable = staged.program.captures().iter().all(|(_, tensor)| reusable(tensor));
        if reusable {
            self.cache.lock().unwrap_or_else(PoisonError::into_inner).insert(signature, staged.clone());
        }
        staged
    }

    fn trace(&self, x: &X) -> Staged<Y> {
        let specs: Vec<Spec> = x.leaves().into_iter().map(Tensor::spec).collect();
        let (program, output) = stage("compile", self.line, &specs, |symbols| {
            let output = tracing(|| (self.function)(&x.rebuild(symbols)));
            (output.leaves().into_iter().cloned().collect(), output)
        });
        let versions = leaf_versions(&program);
        Staged { program, output, versions }
    }
}

//! Staging: trace once for each signature, then run the program.

use crate::error::OrRaise;
use crate::interp::{Level, LevelKind, trace};
use crate::location::{self, Line};
use crate::primitive::Spec;
use crate::program::{Builder, Program};
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
}

/// A function that is traced once for each signature of its input.
pub struct Compiled<X, Y, F> {
    function: F,
    line: Line,
    cache: Mutex<FxHashMap<Signature, Arc<Staged<Y>>>>,
    input: std::marker::PhantomData<fn(&X)>,
}

/// Stages `f`: its Rust code runs once for each new signature of shapes, dtypes and static fields; calls run the recorded
/// program. Captured tensors are constants, except those that require gradients, which receive them.
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
    pub fn program(&self, x: &X) -> Program {
        self.staged(x).program.clone()
    }

    /// How many signatures are cached.
    pub fn signatures(&self) -> usize {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn staged(&self, x: &X) -> Arc<Staged<Y>> {
        let specs = x.leaves().into_iter().map(Tensor::spec).collect();
        let signature = Signature { structure: x.structure(), specs };
        if let Some(staged) = self.cache.lock().unwrap_or_else(PoisonError::into_inner).get(&signature) {
            return staged.clone();
        }
        let staged = Arc::new(self.trace(x));
        // A program that captured a tensor of a running transform is good for this call only.
        let reusable = staged.program.captures().iter().all(|(_, tensor)| !matches!(tensor.value, Value::Tracer(_)));
        if reusable {
            self.cache.lock().unwrap_or_else(PoisonError::into_inner).insert(signature, staged.clone());
        }
        staged
    }

    fn trace(&self, x: &X) -> Staged<Y> {
        let level = Level::open("compile", LevelKind::Trace(Mutex::new(Builder::default())), self.line);
        let LevelKind::Trace(builder) = &level.0.kind else { unreachable!("opened as a trace") };
        let lock = || builder.lock().unwrap_or_else(PoisonError::into_inner);
        let symbolic = x.map_leaves(|leaf| {
            let var = lock().input(leaf.spec());
            trace::lift(&level.0, var, leaf.spec(), self.line)
        });
        let output = (self.function)(&symbolic);
        let mut vars = Vec::new();
        for leaf in output.leaves() {
            vars.push(trace::variable(&level.0, builder, leaf, self.line));
        }
        let program = lock().finish(vars);
        if cfg!(debug_assertions) {
            program.verify().or_raise();
        }
        Staged { program, output }
    }
}

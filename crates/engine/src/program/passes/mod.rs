//! Passes: programs to programs that compute the same with less work.
//!
//! One pass is one file. A pass keeps inputs, outputs, their order and specs, and the line that every equation came from. Passes
//! are for programs that run on numbers: `stop_gradient` disappears, so a program that will be differentiated is kept as it was
//! traced. An operation whose result nobody needs does not run, so it raises no error either.

mod broadcasts;
mod edit;
mod fold;
mod known;
mod movements;
mod pattern;
mod prune;
mod rule;
mod share;
mod simplify;
mod transposes;

pub use rule::{Equality, Rule};

use super::{Equation, Program, ProgramAttr};
use crate::error::OrRaise;
use crate::primitive::Attr;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// A function from programs to programs that compute the same.
///
/// ```
/// use wengert::{prelude::*, program::PASSES};
/// let program = compile(|x: &Tensor| -(-x)).program(&Tensor::from([1.0, 2.0]));
/// let simplify = PASSES.iter().find(|pass| pass.name == "simplify").unwrap();
/// assert_eq!(simplify.run(program).equations().len(), 0);
/// ```
pub struct Pass {
    /// Its name, as in the folders of tests.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// The equations that it applies from left to right, if it is made of such.
    pub rules: &'static [Rule],
    function: fn(Program) -> Program,
}

/// Every pass, in the order that [`Program::optimised`] runs them.
pub static PASSES: &[Pass] = &[
    Pass { name: "fold", about: "computes what depends on constants only", rules: &[], function: fold::run },
    Pass {
        name: "simplify",
        about: "applies equations of algebra and of movements",
        rules: simplify::RULES,
        function: simplify::run,
    },
    Pass {
        name: "broadcasts",
        about: "computes on the small side of repetitions",
        rules: broadcasts::RULES,
        function: broadcasts::run,
    },
    Pass {
        name: "transposes",
        about: "brings transposes together, and to products",
        rules: transposes::RULES,
        function: transposes::run,
    },
    Pass { name: "share", about: "computes the same thing once", rules: &[], function: share::run },
    Pass { name: "prune", about: "drops what nothing needs", rules: &[], function: prune::run },
];

/// One pass makes work for another; programs settle in two or three rounds.
const MOST_ROUNDS: usize = 6;

impl Pass {
    /// The program after this pass, and after it in the bodies of control flow. Debug builds verify it.
    pub fn run(&self, mut program: Program) -> Program {
        program.equations.iter_mut().for_each(|equation| self.descend(equation));
        let program = (self.function)(program);
        if cfg!(debug_assertions) {
            program.verify().or_raise();
        }
        program
    }

    /// Runs the pass on the programs that an equation holds: the bodies of loops and branches.
    fn descend(&self, equation: &mut Equation) {
        for (name, value) in equation.attrs.clone().iter() {
            if let Attr::Programs(bodies) = value {
                let run = |body: &ProgramAttr| ProgramAttr::from(self.run(Program::clone(body)));
                let bodies = bodies.iter().map(run).collect();
                equation.attrs = std::mem::take(&mut equation.attrs).with(name, Attr::Programs(bodies));
            }
        }
    }
}

impl std::fmt::Debug for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Program {
    /// The program after all [`PASSES`], again until nothing changes: what runs on numbers. Its inputs and outputs are the
    /// same; results agree but for the order of some sums and the signs of some zeros. Differentiate the program as it was
    /// traced, not this one: gradients are no longer stopped in it.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0]);
    /// let program = compile(grad(|x: &Tensor| (x * x).sum())).program(&x);
    /// let optimised = program.optimised();
    /// assert_eq!(optimised.evaluate(&[x.clone()]).unwrap(), program.evaluate(&[x]).unwrap());
    /// assert_eq!((program.equations().len(), optimised.equations().len()), (8, 1));
    /// ```
    pub fn optimised(&self) -> Program {
        let (mut program, mut before) = (self.clone(), self.fingerprint());
        for _ in 0..MOST_ROUNDS {
            program = PASSES.iter().fold(program, |program, pass| pass.run(program));
            let after = program.fingerprint();
            if after == before {
                break;
            }
            before = after;
        }
        program
    }

    /// A number that two different programs hardly share.
    fn fingerprint(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.captures.len().hash(&mut hasher);
        self.outputs.hash(&mut hasher);
        for equation in &self.equations {
            equation.op.name().as_ptr().hash(&mut hasher);
            (&equation.attrs, &equation.inputs).hash(&mut hasher);
        }
        hasher.finish()
    }
}

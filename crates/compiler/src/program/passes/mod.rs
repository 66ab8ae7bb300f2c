//! Optimisation passes: they map programs to equivalent programs with less work.
//!
//! Each pass is one file. A pass keeps the inputs and outputs with their order and specs, and the source line of every equation. Passes are
//! for programs that run on concrete values: `stop_gradient` is removed, so a program that will be differentiated is kept as it was traced.
//! An operation whose result is not needed does not run, so it raises no error either.

mod broadcasts;
mod edit;
mod fold;
mod inline;
mod known;
mod loops;
mod movements;
mod pattern;
mod prune;
mod rematerialise;
mod rule;
mod share;
mod simplify;
mod transposes;

#[doc(hidden)]
pub use rematerialise::{Again, Reads, insert};
pub use rule::{Equality, Rule};

use super::{Equation, Program, ProgramAttr};
use crate::error::OrRaise;
use crate::program::ProgramAttrs;
use crate::program::bodies_of;

/// A function that maps programs to equivalent programs.
///
/// ```
/// use wengert::{prelude::*, program::PASSES};
/// let program = compile(|x: &Tensor| -(-x)).program(&Tensor::from([1.0, 2.0]));
/// let simplify = PASSES.iter().find(|pass| pass.name == "simplify").unwrap();
/// assert_eq!(simplify.run(program).equations().len(), 0);
/// ```
pub struct Pass {
    /// Its name, as in the test folders.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// The rewrite rules that it applies from left to right, if it consists of rules.
    pub rules: &'static [Rule],
    /// Returns the rewritten program, and whether it changed.
    function: fn(Program) -> (Program, bool),
}

/// All passes, in the order in which [`Program::optimised`] runs them.
pub static PASSES: &[Pass] = &[
    Pass {
        name: "inline",
        about: "replaces calls by the bodies of the called programs",
        rules: &[],
        function: inline::run,
    },
    Pass { name: "fold", about: "evaluates operations on constants", rules: &[], function: fold::run },
    Pass {
        name: "simplify",
        about: "applies identities of algebra and of data movement",
        rules: simplify::RULES,
        function: simplify::run,
    },
    Pass {
        name: "broadcasts",
        about: "computes before broadcasts instead of after them",
        rules: broadcasts::RULES,
        function: broadcasts::run,
    },
    Pass {
        name: "transposes",
        about: "merges transposes and moves them into products",
        rules: transposes::RULES,
        function: transposes::run,
    },
    Pass { name: "loops", about: "moves computations out of loops", rules: loops::RULES, function: loops::run },
    Pass { name: "share", about: "merges equal computations", rules: &[], function: share::run },
    Pass { name: "prune", about: "removes unused computations", rules: &[], function: prune::run },
    Pass {
        name: "rematerialise",
        about: "recomputes values instead of storing them for a long time",
        rules: &[],
        function: rematerialise::run,
    },
];

/// A pass may create work for another; programs settle in two or three rounds.
const MOST_ROUNDS: usize = 6;

impl Pass {
    /// Applies this pass to the program and to the bodies of its control flow. Debug builds verify the result.
    pub fn run(&self, program: Program) -> Program {
        self.apply(program).0
    }

    /// The same, and whether anything changed.
    fn apply(&self, mut program: Program) -> (Program, bool) {
        let inside = program.equations.iter_mut().fold(false, |changed, equation| self.descend(equation) | changed);
        let (program, changed) = (self.function)(program);
        if cfg!(debug_assertions) {
            program.verify().or_raise();
        }
        (program, changed | inside)
    }

    /// Runs the pass on the programs of an equation, the bodies of loops and branches, and returns whether they changed. A program that its
    /// operation differentiates, as `while_gradient` does, stays as it was traced.
    fn descend(&self, equation: &mut Equation) -> bool {
        if equation.op.control().is_none() {
            return false;
        }
        let mut any = false;
        for (name, value) in equation.attrs.clone().iter() {
            if let Some(bodies) = bodies_of(value) {
                let (bodies, changed): (Vec<ProgramAttr>, Vec<bool>) = bodies
                    .iter()
                    .map(|body| {
                        let (body, changed) = self.apply(Program::clone(body));
                        (ProgramAttr::from(body), changed)
                    })
                    .unzip();
                if changed.contains(&true) {
                    equation.attrs = std::mem::take(&mut equation.attrs).with_programs(name, bodies);
                    any = true;
                }
            }
        }
        any
    }
}

impl std::fmt::Debug for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Program {
    /// Applies all [`PASSES`] until nothing changes. The result is what runs on concrete values. Inputs and outputs are the same; results
    /// agree except for the order of some sums and the signs of some zeros. Differentiate the program as it was traced, not this one: it no
    /// longer contains `stop_gradient`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0]);
    /// let program = compile(grad(|x: &Tensor| (x * x).sum())).program(&x);
    /// let optimised = program.optimised();
    /// assert_eq!(optimised.evaluate(&[x.clone()]).unwrap(), program.evaluate(&[x]).unwrap());
    /// assert_eq!((program.equations().len(), optimised.equations().len()), (7, 1));
    /// ```
    pub fn optimised(&self) -> Program {
        let (mut program, mut quiet) = (self.clone(), 0);
        // Rematerialisation puts recomputed values behind barriers, so it comes last, after everything else has settled.
        let (last, others) = PASSES.split_last().expect("there are passes");
        for pass in others.iter().cycle().take(MOST_ROUNDS * others.len()) {
            let (after, changed) = pass.apply(program);
            program = after;
            quiet = if changed { 0 } else { quiet + 1 };
            if quiet == others.len() {
                break;
            }
        }
        last.apply(program).0
    }
}

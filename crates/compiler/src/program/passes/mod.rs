//! Passes: programs to programs that compute the same with less work.
//!
//! One pass is one file. A pass keeps inputs, outputs, their order and specs, and the line that every equation came from. Passes
//! are for programs that run on numbers: `stop_gradient` disappears, so a program that will be differentiated is kept as it was
//! traced. An operation whose result nobody needs does not run, so it raises no error either.

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
    /// The program after it, and whether it is another one.
    function: fn(Program) -> (Program, bool),
}

/// Every pass, in the order that [`Program::optimised`] runs them.
pub static PASSES: &[Pass] = &[
    Pass { name: "inline", about: "puts what is called in the place of calls", rules: &[], function: inline::run },
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
    Pass {
        name: "loops",
        about: "computes in front of loops and behind them",
        rules: loops::RULES,
        function: loops::run,
    },
    Pass { name: "share", about: "computes the same thing once", rules: &[], function: share::run },
    Pass { name: "prune", about: "drops what nothing needs", rules: &[], function: prune::run },
    Pass {
        name: "rematerialise",
        about: "computes again what would live long",
        rules: &[],
        function: rematerialise::run,
    },
];

/// One pass makes work for another; programs settle in two or three rounds.
const MOST_ROUNDS: usize = 6;

impl Pass {
    /// The program after this pass, and after it in the bodies of control flow. Debug builds verify it.
    pub fn run(&self, program: Program) -> Program {
        self.apply(program).0
    }

    /// And whether anything changed.
    fn apply(&self, mut program: Program) -> (Program, bool) {
        let inside = program.equations.iter_mut().fold(false, |changed, equation| self.descend(equation) | changed);
        let (program, changed) = (self.function)(program);
        if cfg!(debug_assertions) {
            program.verify().or_raise();
        }
        (program, changed | inside)
    }

    /// Runs the pass on the programs that an equation holds, the bodies of loops and branches, and says whether they changed. A
    /// program that its operation differentiates, as `while_gradient` does, stays as it was traced.
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
    /// assert_eq!((program.equations().len(), optimised.equations().len()), (7, 1));
    /// ```
    pub fn optimised(&self) -> Program {
        let (mut program, mut quiet) = (self.clone(), 0);
        // What is computed again is kept apart, so it comes when everything else has settled.
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

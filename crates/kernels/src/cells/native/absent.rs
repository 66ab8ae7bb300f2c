//! No native code on this machine: programs are interpreted.

use super::{Code, Flipped};

/// The number of iterations in lanes from which the vector code of the interpreter is faster, with and without function calls.
pub(super) const SHORT_WITH_CALLS: u32 = 8;
pub(super) const SHORT: u32 = 8;

/// A program in machine code. On this machine there is none.
pub enum Native {}

impl Native {
    /// None: there is no native code for this machine.
    pub fn new(_code: &Code) -> Option<Native> {
        None
    }

    /// As [`Code::run`], for the program that it was compiled from.
    pub fn run(&self, _cells: &mut [f64]) -> Result<(), Flipped> {
        match *self {}
    }
}

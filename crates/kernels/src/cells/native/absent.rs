//! No native code on this machine: programs are interpreted.

use super::{Code, Flipped};

/// Trips in lanes from which on the vector code of the interpreter is faster, if functions are called and if not.
pub(super) const SHORT_WITH_CALLS: u32 = 8;
pub(super) const SHORT: u32 = 8;

/// A program in machine code, of which there is none here.
pub enum Native {}

impl Native {
    /// None: there is no native code for this machine.
    pub fn new(_code: &Code) -> Option<Native> {
        None
    }

    /// As [`Code::run`], of the program that it was made from.
    pub fn run(&self, _cells: &mut [f64]) -> Result<(), Flipped> {
        match *self {}
    }
}

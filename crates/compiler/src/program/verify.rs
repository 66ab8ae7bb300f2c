//! Checks the invariants of a program.

use super::{Equation, Program, Var};
use crate::primitive::{Spec, SpecRef};
use crate::program::ProgramAttrs;
use crate::{Error, ErrorKind, catch};

fn wrong<T>(message: String) -> Result<T, Error> {
    Err(Error::new(ErrorKind::Program, "verify", message))
}

impl Program {
    /// Checks that every variable is defined once and before its use, that attributes belong to their primitive, and that every equation
    /// defines what its primitive's shape rule says. The same holds for the bodies of its equations, which may only capture constants.
    pub fn verify(&self) -> Result<(), Error> {
        let mut defined = vec![false; self.specs.len()];
        let define = |var: &Var, defined: &mut Vec<bool>| match defined.get_mut(var.index()) {
            None => wrong(format!("{var} has no spec")),
            Some(true) => wrong(format!("{var} is defined twice")),
            Some(seen) => {
                *seen = true;
                Ok(())
            }
        };
        for var in self.inputs.iter().chain(self.captures.iter().map(|(var, _)| var)) {
            define(var, &mut defined)?;
        }
        for (var, tensor) in &self.captures {
            if *self.spec(*var) != tensor.spec() {
                return wrong(format!("{var} is declared {} and captured as {}", self.spec(*var), tensor.spec()));
            }
        }
        for equation in &self.equations {
            if let Some(var) = equation.inputs.iter().find(|var| !defined.get(var.index()).is_some_and(|seen| *seen)) {
                return wrong(format!("{} reads {var} before it is defined", equation.op.name()));
            }
            equation.attrs.bodies().try_for_each(|(_, body)| body.verify())?;
            self.verify_call(equation)?;
            for var in &equation.outputs {
                define(var, &mut defined)?;
            }
        }
        match self.outputs.iter().find(|var| !defined[var.index()]) {
            Some(var) => wrong(format!("{var} is returned and never defined")),
            None => Ok(()),
        }
    }

    /// Checks that an equation of defined variables and verified bodies is a valid call that declares the right outputs. For attributes
    /// from text this is the only check: the shape rule reads each of them and rejects what the kernel cannot handle.
    pub(super) fn verify_call(&self, equation: &Equation) -> Result<(), Error> {
        let name = equation.op.name();
        if !equation.op.accepts(equation.inputs.len()) {
            return wrong(format!("{name} takes {} operands, got {}", equation.op.operands(), equation.inputs.len()));
        }
        let given: Vec<&str> = equation.attrs.iter().map(|(name, _)| *name).collect();
        let known = equation.op.attributes();
        if given != known {
            return wrong(format!("{name} has the attributes {known:?}, got {given:?}"));
        }
        for (attribute, body) in equation.attrs.bodies() {
            if let Some((var, _)) = body.captures.iter().find(|(_, tensor)| !tensor.is_plain()) {
                return wrong(format!("{attribute} of {name} captures {var}, which is no constant"));
            }
        }
        let operands: Vec<SpecRef<'_>> = equation.inputs.iter().map(|var| self.spec(*var).as_ref()).collect();
        // Attributes of the wrong kind raise errors where they are read.
        let expected = catch(|| equation.op.infer(&equation.attrs, &operands)).flatten().map_err(|error| {
            Error::new(ErrorKind::Program, "verify", format!("{name}: {}", error.message())).help_of(&error)
        })?;
        let declared: Vec<Spec> = equation.outputs.iter().map(|var| self.spec(*var).clone()).collect();
        if expected[..] != declared[..] {
            let text = |specs: &[Spec]| specs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return wrong(format!("{name} gives {}, declared as {}", text(&expected), text(&declared)));
        }
        Ok(())
    }
}

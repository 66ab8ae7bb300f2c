//! Packs the unknown of an equation into one tensor.

use super::{Map, owned};
use crate::error::OrRaise;
use crate::methods::*;
use crate::primitive::Spec;
use crate::transform::{expect_form, form_of, specs_of};
use crate::{DType, Error, ErrorKind, Shape, Tensor, Tree};
use std::sync::Arc;

/// How the leaves of a tree are packed into one tensor: a single leaf is used as it is, several are concatenated to a vector.
pub(super) struct Packing<X> {
    name: &'static str,
    form: X,
    specs: Vec<Spec>,
}

impl<X: Tree> Packing<X> {
    /// For trees like `x`, whose leaves are of one floating-point dtype.
    pub fn of(name: &'static str, what: &str, x: &X) -> Result<Packing<X>, Error> {
        let specs = specs_of(x);
        let Some(first) = specs.first() else {
            return Err(Error::new(ErrorKind::Tree, name, format!("{what} has no leaves")));
        };
        for (path, leaf) in x.named_leaves() {
            let at = if path.is_empty() { String::new() } else { format!(" at '{path}'") };
            if !leaf.dtype().is_float() {
                let message = format!("{what} is {}{at}, where real numbers are needed", leaf.spec());
                return Err(Error::new(ErrorKind::DType(vec![leaf.dtype()]), name, message)
                    .help("pass what does not change as a parameter"));
            }
            if leaf.dtype() != first.dtype {
                let message = format!("{what} is {}{at}, but its first leaf is {}", leaf.spec(), first);
                return Err(Error::new(ErrorKind::DType(vec![leaf.dtype(), first.dtype]), name, message)
                    .help("convert its leaves to one dtype with .cast"));
            }
        }
        Ok(Packing { name, form: form_of(x), specs })
    }

    pub fn dtype(&self) -> DType {
        self.specs[0].dtype
    }

    /// Packs the leaves of `x`. Returns an error that names the leaf that does not fit.
    pub fn pack(&self, what: &str, x: &X) -> Result<Tensor, Error> {
        let leaves = x.leaves();
        let fits = leaves.len() == self.specs.len()
            && leaves.iter().zip(&self.specs).all(|(x, spec)| x.shape() == &spec.shape[..] && x.dtype() == spec.dtype);
        if !fits {
            expect_form(self.name, what, x, &self.form, &self.specs)?;
        }
        Ok(match leaves[..] {
            [only] => only.clone(),
            _ => Tensor::concat(&leaves.iter().map(|leaf| leaf.flatten()).collect::<Vec<_>>(), 0),
        })
    }

    /// Unpacks a tree from a tensor.
    pub fn unpack(&self, packed: &Tensor) -> X {
        self.unpack_rows(packed, &[])
    }

    /// Unpacks a tree from a tensor with additional leading axes.
    pub fn unpack_rows(&self, packed: &Tensor, lead: &[usize]) -> X {
        if self.specs.len() == 1 {
            return self.form.rebuild([packed.clone()]);
        }
        let mut start = 0;
        let part = |spec: &Spec| {
            let length = spec.shape.elements();
            let part = packed.narrow(lead.len() as isize, start, length);
            start += length;
            part.reshape(lead.iter().chain(spec.shape.iter()).copied().collect::<Shape>())
        };
        self.form.rebuild(self.specs.iter().map(part).collect::<Vec<_>>())
    }
}

impl<X: Tree + Send + Sync + 'static> Packing<X> {
    /// Wraps a user's function of parameters and unknown as a function of leaves; `what` names its result in errors.
    pub fn map<T: Tree + Send + Sync + 'static>(
        &self,
        theta: &T,
        what: &'static str,
        f: impl Fn(&T, &X) -> X + Send + Sync + 'static,
    ) -> Map {
        let (packing, form) = (self.again(), form_of(theta));
        Arc::new(move |theta: &[Tensor], x: &Tensor| {
            let y = f(&form.rebuild(theta.iter().cloned()), &packing.unpack(x));
            packing.pack(what, &y).or_raise()
        })
    }

    /// A copy of the packing.
    pub fn again(&self) -> Packing<X> {
        Packing { name: self.name, form: form_of(&self.form), specs: self.specs.clone() }
    }
}

/// The parameters' leaves and the unknown.
pub(super) fn operands<T: Tree>(theta: &T, x: &Tensor) -> Vec<Tensor> {
    super::with(&owned(theta), x)
}

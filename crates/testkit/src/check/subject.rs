//! One case of one primitive, as functions for the transforms.

use crate::numeric::direction;
use wengert::prelude::*;
use wengert::primitive::{Case, Primitive, bind};
use wengert::program::ProgramAttrs;

/// A case whose call succeeded in f64.
pub(crate) struct Subject<'a> {
    pub op: &'static dyn Primitive,
    pub case: &'a Case,
    /// The operands, floats in f64.
    pub operands: Vec<Tensor>,
    pub outputs: Vec<Tensor>,
    /// Positions of float operands.
    pub floats: Vec<usize>,
    /// Positions of float outputs.
    pub float_outputs: Vec<usize>,
    /// A cotangent for each output, zeros for integers.
    pub cotangents: Vec<Tensor>,
}

/// Derivatives at one point.
pub(crate) struct Derived {
    /// The tangents of the float outputs along given tangents.
    pub tangents: Vec<Tensor>,
    /// The gradients of the float operands from given cotangents.
    pub gradients: Vec<Tensor>,
    /// The derivatives of the gradients along the tangents.
    pub second: Vec<Tensor>,
}

fn floats(tensors: &[Tensor]) -> Vec<usize> {
    (0..tensors.len()).filter(|&position| tensors[position].dtype().is_float()).collect()
}

/// The tensors at these positions.
pub(crate) fn pick(tensors: &[Tensor], positions: &[usize]) -> Vec<Tensor> {
    positions.iter().map(|&position| tensors[position].clone()).collect()
}

/// `tensors` with those at these positions replaced.
pub(crate) fn replaced(tensors: &[Tensor], positions: &[usize], others: &[Tensor]) -> Vec<Tensor> {
    let mut all = tensors.to_vec();
    for (&position, other) in positions.iter().zip(others) {
        all[position] = other.clone();
    }
    all
}

impl<'a> Subject<'a> {
    pub fn new(op: &'static dyn Primitive, case: &'a Case) -> Subject<'a> {
        let operands: Vec<Tensor> = case.operands.iter().map(|sample| sample.tensor(DType::F64)).collect();
        let outputs = call(op, case, &operands);
        let cotangents = outputs.iter().enumerate().map(|(k, y)| direction(&y.spec(), 1.3 + 0.7 * k as f64)).collect();
        Subject { op, case, floats: floats(&operands), float_outputs: floats(&outputs), operands, outputs, cotangents }
    }

    /// Whether finite differences are meaningful here.
    pub fn is_derivable(&self) -> bool {
        let precise = |&position: &usize| self.outputs[position].dtype() == DType::F64;
        self.op.differentiable()
            && self.case.smooth
            && !self.floats.is_empty()
            && !self.float_outputs.is_empty()
            && self.float_outputs.iter().all(precise)
    }

    /// Whether the call contains programs, which have fixed dtypes.
    pub fn is_typed(&self) -> bool {
        self.case.attrs.bodies().next().is_some()
    }

    /// The outputs for these operands.
    pub fn call(&self, operands: &[Tensor]) -> Vec<Tensor> {
        call(self.op, self.case, operands)
    }

    /// The sets of float operands to differentiate by: each alone, and all.
    pub fn active_sets(&self) -> Vec<Vec<usize>> {
        let mut sets: Vec<Vec<usize>> = self.floats.iter().map(|&position| vec![position]).collect();
        if self.floats.len() > 1 {
            sets.push(self.floats.clone());
        }
        sets
    }

    /// The sets of float outputs to pull back from: each alone, and all.
    pub fn output_sets(&self) -> Vec<Vec<usize>> {
        let mut sets: Vec<Vec<usize>> = self.float_outputs.iter().map(|&position| vec![position]).collect();
        if self.float_outputs.len() > 1 {
            sets.push(self.float_outputs.clone());
        }
        sets
    }

    /// Some outputs as a function of some operands; the other operands are captured.
    pub fn function(&self, active: &[usize], outputs: &[usize]) -> impl Fn(&Vec<Tensor>) -> Vec<Tensor> {
        move |x: &Vec<Tensor>| pick(&self.call(&replaced(&self.operands, active, x)), outputs)
    }

    /// The derivatives of all float outputs with respect to all float operands at `operands`, for cotangents `u` and tangents `v`.
    pub fn derive(&self, operands: &[Tensor], u: &[Tensor], v: &[Tensor]) -> Derived {
        let (u, v) = (u.to_vec(), v.to_vec());
        let f = |x: &Vec<Tensor>| pick(&self.call(&replaced(operands, &self.floats, x)), &self.float_outputs);
        let x = pick(operands, &self.floats);
        let pulled = |x: &Vec<Tensor>| vjp(f, x).1.call(&u);
        Derived { tangents: jvp(f, &x, &v).1, gradients: pulled(&x), second: jvp(pulled, &x, &v).1 }
    }

    /// A scalar function of all float outputs y, `sum(w y + 0.3 y^2)`. Its cotangent `w + 0.6 y` depends on the operands, so a rule that
    /// forgets to differentiate its cotangent is detected.
    pub fn loss_of(&self, operands: &[Tensor]) -> Tensor {
        let outputs = self.call(operands);
        let term = |&position: &usize| {
            let y = outputs[position].cast(DType::F64);
            (&y * self.cotangents[position].cast(DType::F64) + &y * &y * 0.3).sum()
        };
        self.float_outputs.iter().map(term).reduce(|a, b| a + b).unwrap_or_else(|| Tensor::from(0.0))
    }

    /// [`loss_of`](Subject::loss_of) as a function of some operands.
    pub fn loss(&self, active: &[usize]) -> impl Fn(&Vec<Tensor>) -> Tensor {
        move |x: &Vec<Tensor>| self.loss_of(&replaced(&self.operands, active, x))
    }

    /// The operands at these positions.
    pub fn at(&self, active: &[usize]) -> Vec<Tensor> {
        pick(&self.operands, active)
    }
}

fn call(op: &'static dyn Primitive, case: &Case, operands: &[Tensor]) -> Vec<Tensor> {
    bind(op, case.attrs.clone(), &operands.iter().collect::<Vec<_>>()).into_vec()
}

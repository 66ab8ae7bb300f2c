//! Evaluation: runs the kernel.

use crate::autograd::{modes, packing};
use crate::location;
use crate::primitive::{Attrs, Device, Outputs, Primitive, SpecRef, Specs};
use crate::tensor::device;
use crate::{Error, ErrorKind, Tensor};
use smallvec::{SmallVec, smallvec};
use wengert_kernels::pool::{self, OutOfMemory};

/// The shape rule. Nearly all calls have one or two operands and need no list.
#[inline]
fn infer(op: &'static dyn Primitive, attrs: &Attrs, operands: &[&Tensor]) -> Result<Specs, Error> {
    match operands {
        [x] => op.infer(attrs, &[x.value.spec_ref()]),
        [x, y] => op.infer(attrs, &[x.value.spec_ref(), y.value.spec_ref()]),
        _ => {
            let specs: SmallVec<[SpecRef<'_>; 4]> = operands.iter().map(|operand| operand.value.spec_ref()).collect();
            op.infer(attrs, &specs)
        }
    }
}

/// The outputs, without a node in any graph. Outputs that a checkpoint has kept are not computed again.
#[inline]
pub fn apply_once(op: &'static dyn Primitive, attrs: &Attrs, operands: &[&Tensor]) -> Result<Outputs, Error> {
    match modes::is_packing() && packing::is_made_once(op, attrs) {
        true => packing::once(0, (op, attrs), || apply(op, attrs, operands)),
        false => apply(op, attrs, operands),
    }
}

/// The outputs, without a node in any graph.
#[inline]
pub fn apply(op: &'static dyn Primitive, attrs: &Attrs, operands: &[&Tensor]) -> Result<Outputs, Error> {
    if let Some(output) = op.eval_direct(operands) {
        let outputs = smallvec![output];
        checked(op, operands, &outputs)?;
        return Ok(outputs);
    }
    // Results are looked into where they lie: a move right after the fields were written would wait for the writes.
    let inferred = infer(op, attrs, operands);
    let expected = match &inferred {
        Ok(expected) => expected,
        Err(_) => return inferred.map(|_| Outputs::new()),
    };
    let mut made = None;
    let attempted = pool::attempt(|| {
        made = Some(match device::of(operands) {
            None => op.eval(Device::Cpu, attrs, operands, expected),
            Some(device) => device::apply(device, op, attrs, operands, expected),
        });
    });
    if let Err(refused) = attempted {
        return Err(out_of_memory(op, expected, refused));
    }
    let mut made = made.expect("it has run");
    if let Ok(outputs) = &mut made {
        for output in &mut *outputs {
            // A user-defined kernel may have computed with recorded tensors; its outputs must be plain values.
            (output.link, output.slot) = (None, None);
        }
        debug_assert!(
            outputs.iter().map(Tensor::spec).eq(expected.iter().cloned()),
            "{}: the kernel's outputs {outputs:?} are not what the shape rule says: {expected:?}",
            op.name()
        );
        checked(op, operands, outputs)?;
    }
    made
}

/// Running out of memory is an error that names the operation and its output.
#[cold]
fn out_of_memory(op: &'static dyn Primitive, expected: &Specs, refused: OutOfMemory) -> Error {
    let specs: Vec<String> = expected.iter().map(ToString::to_string).collect();
    Error::out_of_memory(op.name(), specs.join(" with "), refused)
}

/// Anomaly mode stops at the first operation that produces a NaN; inside a rule, the sweep checks the results of the rule.
#[inline]
fn checked(op: &'static dyn Primitive, operands: &[&Tensor], outputs: &Outputs) -> Result<(), Error> {
    if modes::detects_anomalies()
        && !location::is_inherited()
        && outputs.iter().any(Tensor::has_nan)
        && !operands.iter().any(|x| x.has_nan())
    {
        let message = "it produced NaN from numbers without one".to_string();
        return Err(Error::new(ErrorKind::Anomaly, op.name(), message)
            .help("an operand lies outside the operation's domain, or infinities cancel"));
    }
    Ok(())
}

/// The output, written over `target` if no other handle shares it, otherwise into new memory.
pub fn apply_in_place(
    op: &'static dyn Primitive,
    attrs: &Attrs,
    mut target: Tensor,
    rest: &[&Tensor],
) -> Result<Tensor, Error> {
    if let [other] = rest {
        if op.update_direct(&mut target, other) {
            return Ok(target);
        }
        if let Some(output) = op.eval_direct(&[&target, other]) {
            return Ok(output);
        }
    }
    let expected = match rest {
        [other] => infer(op, attrs, &[&target, other])?,
        _ => {
            let operands: SmallVec<[&Tensor; 4]> = std::iter::once(&target).chain(rest.iter().copied()).collect();
            infer(op, attrs, &operands)?
        }
    };
    let fits = expected.len() == 1 && expected[0].shape[..] == *target.shape() && expected[0].dtype == target.dtype();
    if fits && target.unique_bytes().is_some() && op.eval_in_place(attrs, &mut target, rest)? {
        return Ok(target);
    }
    let operands: SmallVec<[&Tensor; 4]> = std::iter::once(&target).chain(rest.iter().copied()).collect();
    let outcome = pool::attempt(|| match device::of(&operands) {
        None => op.eval(Device::Cpu, attrs, &operands, &expected),
        Some(device) => device::apply(device, op, attrs, &operands, &expected),
    });
    let outputs = outcome.unwrap_or_else(|refused| Err(out_of_memory(op, &expected, refused)));
    Ok(outputs?.pop().expect("one output"))
}

//! Kernels in given memory: `run` writes every byte of its outputs, bitwise equal to a call; `view` returns views of the values of a call.

use super::Trial;
use super::layouts::rearranged;
use super::subject::Subject;
use super::values::inferred;
use crate::report::Aspect;
use wengert::prelude::*;
use wengert::primitive::{Device, Layout, Out, Spec, View, view_of};

const HERE: Aspect = Aspect::Memory;

/// The initial contents of the output memory: numbers and NaN of every dtype, never the same.
const BEFORE: [u64; 2] = [0xa5a5_a5a5_a5a5_a5a5, 0xffff_ffff_ffff_ffff];

/// Checks every layout of the operands, and a dtype that differs from its compute type.
pub(super) fn memory(trial: &mut Trial, subject: &Subject<'_>) {
    same_bits(trial, subject, "", &subject.operands);
    for (how, operands) in rearranged(&subject.operands) {
        same_bits(trial, subject, &format!("operand {how}, "), &operands);
    }
    for dtype in [DType::F32, DType::BF16] {
        let operands: Vec<Tensor> = subject.case.operands.iter().map(|sample| sample.tensor(dtype)).collect();
        same_bits(trial, subject, &format!("in {dtype}, "), &operands);
    }
}

fn same_bits(trial: &mut Trial, subject: &Subject<'_>, how: &str, operands: &[Tensor]) {
    let (op, attrs) = (subject.op, &subject.case.attrs);
    let Ok(specs) = inferred(op, subject.case, operands) else { return };
    let borrowed: Vec<&Tensor> = operands.iter().collect();
    let right = op.eval(Device::default(), attrs, &borrowed, &specs);
    let views: Vec<View<'_>> =
        operands.iter().map(|operand| anywhere(view_of(operand).expect("it holds numbers"))).collect();
    if let ([x], [spec], Ok(right)) = (&views[..], &specs[..], &right)
        && let Some(layout) = op.view(attrs, &Layout::of(*x), spec)
    {
        trial.holds(HERE, layout.shape == spec.shape, || {
            format!("{how}the view has shape {}, the output {}", layout.shape, spec.shape)
        });
        let (seen, right) = (elements(layout.over(*x)), elements(view_of(&right[0]).expect("it holds numbers")));
        trial.holds(HERE, seen == right, || format!("{how}the view shows {seen:x?}, a call gives {right:x?}"));
    }
    for before in BEFORE {
        match (ran(subject, &views, &specs, before), &right) {
            (Ok(None), _) => {}
            (Ok(Some(got)), Ok(right)) => {
                let right: Vec<Vec<u8>> = right.iter().map(bytes).collect();
                trial.holds(HERE, got == right, || {
                    format!("{how}run over {before:x?} gives {got:x?}, a call {right:x?}")
                });
            }
            (Err(error), Err(right)) => trial.holds(HERE, error.kind() == right.kind(), || {
                format!("{how}run fails with {error}, a call with {right}")
            }),
            (got, right) => {
                trial.fail(HERE, format!("{how}run: {:?}, a call {:?}", got.err(), right.as_ref().err()));
            }
        }
    }
}

/// The same view; if it is empty, at an offset where no element could be.
fn anywhere(view: View<'_>) -> View<'_> {
    if view.is_empty() { View { bytes: &[], offset: 0, ..view } } else { view }
}

/// The bytes that `run` leaves in memory that was filled with `before`; `None` if there is no such kernel.
fn ran(
    subject: &Subject<'_>,
    operands: &[View<'_>],
    specs: &[Spec],
    before: u64,
) -> Result<Option<Vec<Vec<u8>>>, Error> {
    let mut memory: Vec<Vec<u64>> = specs.iter().map(|spec| vec![before; spec.bytes().div_ceil(8)]).collect();
    let mut outs: Vec<Out<'_>> = Vec::new();
    for (words, spec) in memory.iter_mut().zip(specs) {
        let bytes: &mut [u8] = if words.is_empty() { &mut [] } else { bytemuck::cast_slice_mut(words) };
        outs.push(Out { dtype: spec.dtype, bytes: &mut bytes[..spec.bytes()] });
    }
    let done = subject.op.run(&subject.case.attrs, operands, &mut outs)?;
    Ok(done.then(|| outs.iter().map(|out| out.bytes.to_vec()).collect()))
}

/// The bytes of a tensor in row-major order.
fn bytes(tensor: &Tensor) -> Vec<u8> {
    let tensor = tensor.contiguous();
    let view = view_of(&tensor).expect("it holds numbers");
    view.contiguous_bytes().expect("it is contiguous").to_vec()
}

/// The bits of every element.
fn elements(view: View<'_>) -> Vec<u64> {
    let element = |i: usize| match view.dtype.is_float() {
        true => view.at_linear::<f64>(i).to_bits(),
        false => view.at_linear::<i64>(i) as u64,
    };
    (0..view.len()).map(element).collect()
}

//! One recorded case: run it through an adapter and compare every number.

use super::Adapter;
use super::call::{Call, tensor};
use serde_json::Value;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use wengert::autograd::{Backward, grad_with};
use wengert::prelude::*;

/// Which numbers of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The outputs.
    Value,
    /// The vector-Jacobian product for each leaf.
    Gradient,
    /// The gradient of the gradients.
    Second,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Value => "value",
            Part::Gradient => "grad",
            Part::Second => "second",
        })
    }
}

/// A recorded call and its numbers.
pub struct Case {
    pub op: String,
    /// The number of the sample in the source of the record.
    pub number: usize,
    record: Value,
}

/// Dense linear algebra outside `linalg.`: a condition number stands between two right answers.
const LINEAR_ALGEBRA: &[&str] = &[
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "logdet",
    "lu",
    "lu_solve",
    "lu_unpack",
    "matrix_exp",
    "norm.nuc",
    "ormqr",
    "pinverse",
    "qr",
    "svd",
    "triangular_solve",
];

impl Case {
    pub fn new(record: Value) -> Case {
        let op = record["op"].as_str().expect("the name of an operation").to_string();
        let number = record["k"].as_u64().expect("the number of the case") as usize;
        Case { op, number, record }
    }

    /// What differs: the part and a description. A part is compared although an earlier one differs.
    ///
    /// The record has the shapes of the leaves, not their places. Where several choices of tensors have these shapes, the
    /// first counts, unless another agrees in everything.
    pub fn run(&self, adapter: Adapter) -> Vec<(Part, String)> {
        let choices = self.choices();
        let mut runs = choices.iter().map(|leaves| self.run_with(adapter, leaves));
        let first = runs.next().expect("there is a choice of leaves");
        let agrees = first.is_empty() || runs.any(|failures| failures.is_empty());
        if agrees { Vec::new() } else { first }
    }

    fn run_with(&self, adapter: Adapter, leaves: &[usize]) -> Vec<(Part, String)> {
        let mut failures = Vec::new();
        let stopped = catch_unwind(AssertUnwindSafe(|| catch(|| self.compare(adapter, leaves, &mut failures))));
        match stopped {
            Ok(Ok(())) => {}
            Ok(Err(error)) => failures.push((self.reached(&failures), format!("error: {error}"))),
            Err(panic) => failures.push((self.reached(&failures), format!("panic: {}", panic_text(&*panic)))),
        }
        failures
    }

    /// An error counts against the first part, after which nothing was compared.
    fn reached(&self, failures: &[(Part, String)]) -> Part {
        failures.last().map_or(Part::Value, |(part, _)| *part)
    }

    fn compare(&self, adapter: Adapter, leaves: &[usize], failures: &mut Vec<(Part, String)>) {
        let mut call = Call::new(&self.record);
        let leaves: Vec<Tensor> = call.require_grad(leaves);
        let leaves: Vec<&Tensor> = leaves.iter().collect();
        let outputs = adapter(&call);

        let expected = tensors(&self.record["outputs"]);
        if outputs.len() != expected.len() {
            let message = format!("{} outputs, {} recorded", outputs.len(), expected.len());
            return failures.push((Part::Value, message));
        }
        for (index, (output, expected)) in outputs.iter().zip(&expected).enumerate() {
            let difference = self.difference(output, expected);
            failures.extend(difference.map(|text| (Part::Value, format!("output {index}: {text}"))));
        }

        let differentiable = self.record["diff_outputs"].as_array().expect("positions of outputs");
        let outputs: Vec<&Tensor> =
            differentiable.iter().map(|index| &outputs[index.as_u64().expect("a position") as usize]).collect();
        let second = self.record.get("grad_of_grad").filter(|gradients| !gradients.is_null());
        let gradients = pulled_back(&outputs, &leaves, f64::cos, second.is_some());
        self.compare_leaves(Part::Gradient, &gradients, &tensors(&self.record["grads"]), failures);

        if let Some(second) = second {
            let chosen = self.record["gg_index"].as_array().expect("positions of leaves");
            let chosen: Vec<&Tensor> =
                chosen.iter().map(|index| &gradients[index.as_u64().expect("a position") as usize]).collect();
            let second_gradients = pulled_back(&chosen, &leaves, f64::sin, false);
            self.compare_leaves(Part::Second, &second_gradients, &tensors(second), failures);
        }
    }

    /// The choices of floating-point tensors, in the order of the record, that have the shapes of its leaves; the one with
    /// the earliest tensors first.
    fn choices(&self) -> Vec<Vec<usize>> {
        let shapes = self.record["leaf_shapes"].as_array().expect("shapes");
        let floats = Call::new(&self.record).float_shapes();
        let mut choices: Vec<Vec<usize>> = vec![Vec::new()];
        for shape in shapes {
            let shape: Vec<usize> = serde_json::from_value(shape.clone()).expect("a shape");
            let next = |choice: &Vec<usize>| {
                let (start, choice) = (choice.last().map_or(0, |last| last + 1), choice.clone());
                let fits = (start..floats.len()).filter(|&place| floats[place] == shape).collect::<Vec<usize>>();
                fits.into_iter().map(move |place| [&choice[..], &[place]].concat())
            };
            choices = choices.iter().flat_map(next).collect();
        }
        assert!(!choices.is_empty(), "{}: the recorded leaves are not among the arguments", self.op);
        choices
    }

    fn compare_leaves(&self, part: Part, found: &[Tensor], expected: &[Tensor], failures: &mut Vec<(Part, String)>) {
        for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
            let difference = self.difference(found, expected);
            failures.extend(difference.map(|text| (part, format!("leaf {index}: {text}"))));
        }
    }

    fn difference(&self, found: &Tensor, expected: &Tensor) -> Option<String> {
        if found.shape() != expected.shape() {
            return Some(format!("shape {:?}, recorded {:?}", found.shape(), expected.shape()));
        }
        let linear_algebra = self.op.starts_with("linalg.") || LINEAR_ALGEBRA.contains(&self.op.as_str());
        let (relative, absolute) = if linear_algebra { (1e-7, 1e-7) } else { (1e-9, 1e-11) };
        let close =
            |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= absolute + relative * b.abs();
        let (found, expected) = (found.detach().to_f64_vec(), expected.to_f64_vec());
        let wrong: Vec<usize> = (0..found.len()).filter(|&e| !close(found[e], expected[e])).collect();
        let first = *wrong.first()?;
        let (count, all) = (wrong.len(), found.len());
        Some(format!("element {first} is {}, recorded {} ({count} of {all} differ)", found[first], expected[first]))
    }
}

/// The gradients of sum_i < outputs[i], c_i > with c_i(e) = wave(0.37 e + 0.11 i + 0.2); zeros where nothing is reached.
fn pulled_back(outputs: &[&Tensor], leaves: &[&Tensor], wave: fn(f64) -> f64, create_graph: bool) -> Vec<Tensor> {
    let reached: Vec<(usize, &&Tensor)> =
        outputs.iter().enumerate().filter(|(_, output)| output.requires_grad()).collect();
    if reached.is_empty() {
        return leaves.iter().map(|leaf| leaf.detach().full_like(0.0)).collect();
    }
    let mut options = Backward::new().retain_graph();
    if create_graph {
        options = options.create_graph();
    }
    for (index, output) in &reached {
        let weights = (0..output.elements()).map(|e| wave(0.37 * e as f64 + 0.11 * *index as f64 + 0.2));
        let seed = Tensor::from_vec(weights.collect::<Vec<f64>>(), output.shape());
        options = options.seed(&seed.cast(output.dtype()));
    }
    let outputs: Vec<&Tensor> = reached.into_iter().map(|(_, output)| *output).collect();
    let gradients = grad_with(&outputs, leaves, options);
    let or_zeros = |(gradient, leaf): (Option<Tensor>, &&Tensor)| gradient.unwrap_or_else(|| leaf.full_like(0.0));
    gradients.into_iter().zip(leaves).map(or_zeros).collect()
}

fn tensors(list: &Value) -> Vec<Tensor> {
    list.as_array().expect("a list of tensors").iter().map(tensor).collect()
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

//! One recorded case: runs it through an adapter and compares every value.

use super::Adapter;
use super::call::{Call, tensor};
use super::compare::{Tolerance, list_difference};
use super::modes;
use serde_json::Value;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use wengert::autograd::{Backward, grad_with};
use wengert::prelude::*;

/// A kind of comparison.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Check {
    /// The outputs, compared with the record.
    Value,
    /// The vector-Jacobian product for each leaf, compared with the record.
    Gradient,
    /// The gradient of the gradients, compared with the record.
    SecondGradient,
    /// The outputs of the compiled call, compared with those of the eager one.
    Compile,
    /// The directional derivative, compared with the gradient.
    Jvp,
    /// Every row of a batch of calls, compared with the single call.
    Vmap,
}

impl Check {
    pub const ALL: [Check; 6] =
        [Check::Value, Check::Gradient, Check::SecondGradient, Check::Compile, Check::Jvp, Check::Vmap];
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Check::Value => "value",
            Check::Gradient => "gradient",
            Check::SecondGradient => "second gradient",
            Check::Compile => "compile",
            Check::Jvp => "jvp",
            Check::Vmap => "vmap",
        })
    }
}

/// A check that was made, and the difference, if there is one.
pub type Outcome = (Check, Option<String>);

/// A recorded call and its results.
pub struct Case {
    pub op: String,
    /// The number of the sample in the source of the record.
    pub number: usize,
    call: Call,
    outputs: Vec<Tensor>,
    /// The positions of the differentiable outputs.
    differentiable: Vec<usize>,
    leaf_shapes: Vec<Vec<usize>>,
    gradients: Vec<Tensor>,
    /// The positions of the gradients that were differentiated again, and the result.
    second: Option<(Vec<usize>, Vec<Tensor>)>,
}

/// Dense linear algebra outside `linalg.`: two correct results may differ by a condition number.
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
    pub fn new(record: &Value) -> Case {
        let second = record.get("grad_of_grad").filter(|gradients| !gradients.is_null());
        Case {
            op: record["op"].as_str().expect("the name of an operation").to_string(),
            number: record["k"].as_u64().expect("the number of the case") as usize,
            call: Call::new(record),
            outputs: tensors(&record["outputs"]),
            differentiable: sizes(&record["diff_outputs"]),
            leaf_shapes: record["leaf_shapes"].as_array().expect("shapes").iter().map(sizes).collect(),
            gradients: tensors(&record["grads"]),
            second: second.map(|gradients| (sizes(&record["gg_index"]), tensors(gradients))),
        }
    }

    /// Whether no output has an element, so that nothing is compared.
    pub fn is_empty(&self) -> bool {
        self.outputs.iter().all(|output| output.elements() == 0)
    }

    /// Runs all checks, even if an earlier one differs.
    ///
    /// The record has the shapes of the leaves, not their positions. If several choices of tensors have these shapes, the first one counts,
    /// unless another agrees in everything.
    pub fn run(&self, adapter: Adapter) -> Vec<Outcome> {
        let choices = self.choices();
        let mut runs = choices.iter().map(|places| (places, self.compare_with_record(adapter, places)));
        let agrees = |run: &(&Vec<usize>, (Vec<Outcome>, Option<modes::Eager>))| {
            run.1.0.iter().all(|(_, wrong)| wrong.is_none())
        };
        let first = runs.next().expect("there is a choice of leaves");
        let chosen = if agrees(&first) { first } else { runs.find(agrees).unwrap_or(first) };
        let (places, (mut outcomes, eager)) = chosen;
        let Some(eager) = eager.filter(|_| !places.is_empty()) else { return outcomes };

        let f = |leaves: &Vec<Tensor>| adapter(&self.call.with_floats(places, leaves));
        let tolerance = match eager.leaves.iter().all(|leaf| leaf.dtype() == DType::F64) {
            // A gradient is rounded to the dtype of its leaf.
            false => Tolerance::SINGLE,
            true if self.is_linear_algebra() => Tolerance::CONDITIONED_ROUNDING,
            true => Tolerance::ROUNDING,
        };
        let differentiable = &self.differentiable;
        outcomes.push((Check::Compile, stopped_or(|| modes::compiled(f, &eager, differentiable, tolerance))));
        outcomes.push((Check::Jvp, stopped_or(|| modes::forward(f, &eager, differentiable, tolerance))));
        outcomes.push((Check::Vmap, stopped_or(|| modes::batched(f, &eager, differentiable, tolerance))));
        outcomes
    }

    /// The checks against the record, and the results of the eager call, unless it failed.
    fn compare_with_record(&self, adapter: Adapter, places: &[usize]) -> (Vec<Outcome>, Option<modes::Eager>) {
        let mut call = self.call.clone();
        let leaves: Vec<Tensor> = call.require_grad(places);
        let tolerance = if self.is_linear_algebra() { Tolerance::CONDITIONED_RECORD } else { Tolerance::RECORD };

        let outputs = match caught(|| adapter(&call)) {
            Ok(outputs) => outputs,
            Err(stopped) => return (vec![(Check::Value, Some(stopped))], None),
        };
        let mut eager = modes::Eager { leaves: detach(&leaves), outputs: detach(&outputs), gradients: Vec::new() };
        let mut outcomes = vec![(Check::Value, list_difference("output", &eager.outputs, &self.outputs, tolerance))];
        if outputs.len() != self.outputs.len() {
            return (outcomes, None);
        }

        let leaves: Vec<&Tensor> = leaves.iter().collect();
        let chosen: Vec<&Tensor> = self.differentiable.iter().map(|&position| &outputs[position]).collect();
        let gradients = match caught(|| pulled_back(&chosen, &leaves, f64::cos, self.second.is_some())) {
            Ok(gradients) => gradients,
            Err(stopped) => {
                outcomes.push((Check::Gradient, Some(stopped)));
                return (outcomes, None);
            }
        };
        eager.gradients = detach(&gradients);
        outcomes.push((Check::Gradient, list_difference("leaf", &eager.gradients, &self.gradients, tolerance)));

        if let Some((positions, expected)) = &self.second {
            let chosen: Vec<&Tensor> = positions.iter().map(|&position| &gradients[position]).collect();
            let second = || pulled_back(&chosen, &leaves, f64::sin, false);
            let wrong = stopped_or(|| list_difference("leaf", &second(), expected, tolerance));
            outcomes.push((Check::SecondGradient, wrong));
        }
        (outcomes, Some(eager))
    }

    /// The choices of floating-point tensors, in the order of the record, that have the shapes of its leaves; the one with the earliest
    /// tensors first.
    fn choices(&self) -> Vec<Vec<usize>> {
        let floats = self.call.clone().float_shapes();
        let mut choices: Vec<Vec<usize>> = vec![Vec::new()];
        for shape in &self.leaf_shapes {
            let next = |choice: &Vec<usize>| {
                let (start, choice) = (choice.last().map_or(0, |last| last + 1), choice.clone());
                let fits = (start..floats.len()).filter(|&place| floats[place] == *shape).collect::<Vec<usize>>();
                fits.into_iter().map(move |place| [&choice[..], &[place]].concat())
            };
            choices = choices.iter().flat_map(next).collect();
        }
        assert!(!choices.is_empty(), "{}: the recorded leaves are not among the arguments", self.op);
        choices
    }

    fn is_linear_algebra(&self) -> bool {
        self.op.starts_with("linalg.") || LINEAR_ALGEBRA.contains(&self.op.as_str())
    }
}

/// The gradients of sum_i < outputs[i], c_i > with c_i(e) = wave(0.37 e + 0.11 i + 0.2); zeros for leaves that are not reached.
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
        options = options.seed(&modes::waves(output, *index, wave));
    }
    let outputs: Vec<&Tensor> = reached.into_iter().map(|(_, output)| *output).collect();
    let gradients = grad_with(&outputs, leaves, options);
    let or_zeros = |(gradient, leaf): (Option<Tensor>, &&Tensor)| gradient.unwrap_or_else(|| leaf.full_like(0.0));
    gradients.into_iter().zip(leaves).map(or_zeros).collect()
}

fn detach(tensors: &[Tensor]) -> Vec<Tensor> {
    tensors.iter().map(Tensor::detach).collect()
}

/// The result of a check, or the failure that stopped it.
fn stopped_or(check: impl FnOnce() -> Option<String>) -> Option<String> {
    caught(check).unwrap_or_else(Some)
}

/// The result of `f`, or the error or panic that stopped it.
fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(|| catch(f))) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(format!("error: {error}")),
        Err(panic) => Err(format!("panic: {}", panic_text(&*panic))),
    }
}

fn tensors(list: &Value) -> Vec<Tensor> {
    list.as_array().expect("a list of tensors").iter().map(tensor).collect()
}

fn sizes(list: &Value) -> Vec<usize> {
    list.as_array().expect("a list of sizes").iter().map(|size| size.as_u64().expect("a size") as usize).collect()
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

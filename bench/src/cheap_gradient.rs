//! Measures the cheap gradient principle: the cost of forward and reverse together, relative to the forward pass.

use crate::timing::ratio;
use crate::workloads::{self, Size};
use std::hint::black_box;
use wengert::autograd::grad_with;
use wengert::prelude::*;
use wengert::primitive::{Attrs, Case, Cost, PRIMITIVES, Primitive, bind};

/// The approximate number of elements, large enough that kernels and not bookkeeping are timed.
const ELEMENTS: usize = 1 << 18;

/// The most that forward and reverse together may cost.
const LIMIT: f64 = 5.0;

/// Operations whose reverse legitimately costs more than the limit, and why.
const EXCEPTIONS: &[(&str, &str)] = &[(
    "lu_solve",
    "two triangular solves and three matrix products, each product with as many operations as both solves: five \
         times the arithmetic of the forward pass",
)];

/// Prints one line for each workload, for a chain of products, and for every primitive that computes something; only those in `names`, if
/// there are any.
pub fn run(names: &[String], json: bool) {
    let asked = |name: &str| names.is_empty() || names.iter().any(|asked| asked == name);
    for name in workloads::all(Size::Full).iter().map(|workload| workload.name).filter(|name| asked(name)) {
        let training = workloads::named(name, Size::Full).expect("listed").start();
        report(json, name, ratio(|| drop(black_box(no_grad(|| training.loss()))), || drop(training.differentiate())));
    }
    if asked("six products") {
        products(json);
    }
    for op in PRIMITIVES.iter().copied().filter(|op| op.differentiable() && asked(op.name())) {
        if let Some(call) = Call::of(op) {
            report(json, op.name(), ratio(|| call.forward(), || call.total()));
        }
    }
}

fn report(json: bool, name: &str, total: f64) {
    let reverse = total - 1.0;
    let exception = EXCEPTIONS.iter().find(|(exception, _)| total > LIMIT && *exception == name);
    let reason = exception.map(|(_, reason)| *reason);
    if json {
        let reason = reason.map_or(String::new(), |reason| format!(r#","reason":"{reason}""#));
        println!(r#"{{"name":"{name}","forward":1,"reverse":{reverse:.2},"total":{total:.2}{reason}}}"#);
    } else {
        println!("{name:24} reverse {reverse:6.2}  total {total:6.2}  {}", reason.unwrap_or_default());
    }
}

/// A chain of six products of square matrices.
fn products(json: bool) {
    let matrices: Vec<Tensor> = (0..7).map(|i| Key::new(i).uniform([256, 256], DType::F32).require_grad()).collect();
    let chain = || matrices[1..].iter().fold(matrices[0].clone(), |product, matrix| product.matmul(matrix)).sum();
    let forward = || drop(black_box(no_grad(chain)));
    report(json, "six products", ratio(forward, || chain().backward()));
}

/// A primitive on many copies of one of its cases.
struct Call {
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: Vec<Tensor>,
}

impl Call {
    /// `None` if the primitive only reinterprets memory, or cannot be batched.
    fn of(op: &'static dyn Primitive) -> Option<Call> {
        let size = |case: &Case| case.operands.iter().map(|operand| operand.data.len()).sum::<usize>();
        let case = op.cases().into_iter().filter(|case| case.smooth && size(case) > 0).max_by_key(size)?;
        let single: Vec<Tensor> = case.operands.iter().map(|operand| operand.tensor(DType::F32)).collect();
        let specs: Vec<_> = single.iter().map(Tensor::spec).collect();
        let specs: Vec<_> = specs.iter().map(|spec| spec.as_ref()).collect();
        let outputs = op.infer(&case.attrs, &specs).ok()?;
        if op.cost(&case.attrs, &specs, &outputs) == Cost::default() {
            return None;
        }
        let copies = (ELEMENTS / size(&case)).max(1);
        let many = |tensor: &Tensor| {
            let shape: Vec<usize> = std::iter::once(copies).chain(tensor.shape().iter().copied()).collect();
            let copy = tensor.broadcast_to(shape).contiguous();
            if copy.dtype().is_float() { copy.require_grad() } else { copy }
        };
        let call = Call { op, attrs: case.attrs, operands: single.iter().map(many).collect() };
        catch(|| call.forward()).is_ok().then_some(call)
    }

    fn outputs(&self) -> Vec<Tensor> {
        let one =
            |operands: &Vec<Tensor>| bind(self.op, self.attrs.clone(), &operands.iter().collect::<Vec<_>>()).into_vec();
        vmap(one)(&self.operands)
    }

    fn forward(&self) {
        drop(black_box(no_grad(|| self.outputs())));
    }

    fn total(&self) {
        let outputs = self.outputs();
        let outputs: Vec<&Tensor> = outputs.iter().filter(|output| output.requires_grad()).collect();
        let inputs: Vec<&Tensor> = self.operands.iter().filter(|operand| operand.requires_grad()).collect();
        let seeds: Vec<Tensor> = outputs.iter().map(|output| output.full_like(1.0).contiguous()).collect();
        let options = seeds.iter().fold(Backward::new(), |options, seed| options.seed(seed));
        drop(black_box(grad_with(&outputs, &inputs, options)));
    }
}

//! The functions that an expression can call: every elementwise primitive by its name, and methods of vectors.

use super::fault::Fault;
use crate::nearest::nearest;
use wengert::prelude::*;
use wengert::primitive::{Attrs, PRIMITIVES, Primitive, Spec, SpecRef, bind, find as primitive};

/// A function of numbers and vectors.
#[derive(Clone, Copy)]
pub enum Function {
    /// A primitive that is applied element by element.
    Elementwise(&'static dyn Primitive),
    /// A method of tensors.
    Method(&'static Method),
}

/// A method of tensors, under the name that an expression calls it by.
pub struct Method {
    name: &'static str,
    arguments: usize,
    apply: fn(&[Tensor]) -> Tensor,
}

const fn method(name: &'static str, arguments: usize, apply: fn(&[Tensor]) -> Tensor) -> Method {
    Method { name, arguments, apply }
}

static METHODS: &[Method] = &[
    // Of vectors.
    method("sum", 1, |x| x[0].sum()),
    method("prod", 1, |x| x[0].prod()),
    method("mean", 1, |x| x[0].mean()),
    method("var", 1, |x| x[0].var()),
    method("std", 1, |x| x[0].std()),
    method("norm", 1, |x| x[0].norm(2.0)),
    method("max", 1, |x| x[0].max()),
    method("min", 1, |x| x[0].min()),
    method("logsumexp", 1, |x| x[0].logsumexp()),
    method("softmax", 1, |x| x[0].softmax(0)),
    method("dot", 2, |x| x[0].dot(&x[1])),
    // Names that people type.
    method("ln", 1, |x| x[0].log()),
    method("max", 2, |x| x[0].maximum(&x[1])),
    method("min", 2, |x| x[0].minimum(&x[1])),
    method("pow", 2, power),
    // Primitives with parameters, for their usual values.
    method("softplus", 1, |x| x[0].softplus()),
];

/// A constant exponent is an attribute: that is also right for a base that is not positive.
fn power(x: &[Tensor]) -> Tensor {
    match x[1].is_plain() && x[1].rank() == 0 {
        true => x[0].powf(x[1].item()),
        false => x[0].pow(&x[1]),
    }
}

/// Whether a primitive maps numbers to a number, and vectors to a vector of their length.
fn is_elementwise(op: &'static dyn Primitive) -> bool {
    let keeps = |shape: &[usize]| {
        let operands = vec![SpecRef { shape, dtype: DType::F64 }; op.operands()];
        let specs = catch(|| op.infer(&Attrs::new(), &operands));
        specs.is_ok_and(|specs| specs.is_ok_and(|specs| specs[..] == [Spec::new(shape.to_vec(), DType::F64)]))
    };
    (1..=2).contains(&op.operands()) && op.attributes().is_empty() && keeps(&[]) && keeps(&[3])
}

/// The functions with this name: the same name may stand for others with more arguments.
fn named(name: &str) -> impl Iterator<Item = Function> {
    let methods = METHODS.iter().filter(move |method| method.name == name).map(Function::Method);
    methods.chain(primitive(name).filter(|op| is_elementwise(*op)).map(Function::Elementwise))
}

/// Whether a function has this name.
pub fn is_function(name: &str) -> bool {
    named(name).next().is_some()
}

/// The names of all functions.
pub fn names() -> impl Iterator<Item = &'static str> {
    let elementwise = PRIMITIVES.iter().filter(|op| is_elementwise(**op)).map(|op| op.name());
    elementwise.chain(METHODS.iter().map(|method| method.name))
}

impl Function {
    /// The function with this name and number of arguments.
    pub fn find(name: &str, arguments: usize) -> Result<Function, Fault> {
        if let Some(function) = named(name).find(|function| function.arguments() == arguments) {
            return Ok(function);
        }
        let mut counts: Vec<usize> = named(name).map(Function::arguments).collect();
        counts.sort_unstable();
        counts.dedup();
        let Some(most) = counts.last() else {
            let near = nearest(name, names()).join(", ");
            return Err(Fault::new(format!("no function is called '{name}'")).help(format!("nearest: {near}")));
        };
        let plural = if *most == 1 { "" } else { "s" };
        let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
        Err(Fault::new(format!("{name} takes {} argument{plural}, not {arguments}", counts.join(" or "))))
    }

    fn arguments(self) -> usize {
        match self {
            Function::Elementwise(op) => op.operands(),
            Function::Method(method) => method.arguments,
        }
    }

    /// Applies it; a number beside a vector counts for every element.
    pub fn apply(self, operands: &[Tensor]) -> Tensor {
        let op = match self {
            Function::Method(method) => return (method.apply)(operands),
            Function::Elementwise(op) => op,
        };
        let vector = operands.iter().find(|operand| operand.rank() > 0);
        let repeated = |operand: &Tensor| match vector {
            Some(vector) if operand.rank() == 0 => operand.broadcast_to(vector.shape()),
            _ => operand.clone(),
        };
        let operands: Vec<Tensor> = operands.iter().map(repeated).collect();
        bind(op, Attrs::new(), &operands.iter().collect::<Vec<_>>()).remove(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primitives_with_attributes_and_of_matrices_are_no_functions() {
        assert!(["sin", "add", "floor", "atan2", "relu", "round"].into_iter().all(is_function));
        assert!(
            ["matmul", "det", "concat", "clamp", "cast", "while", "where"].into_iter().all(|name| !is_function(name))
        );
        let methods = METHODS.iter().filter(|method| primitive(method.name).is_some_and(is_elementwise));
        // They hide a primitive only to apply it in another way.
        assert_eq!(methods.map(|method| method.name).collect::<Vec<_>>(), ["pow"]);
    }
}

//! Evaluates an expression on tensors of any kind: numbers, or tensors of a trace.

use super::fault::{Fault, Span};
use super::tree::{Each, Id, Kind, Node, Tree};
use std::ops::Range;
use wengert::prelude::*;

/// The most nodes that are evaluated, counting those in ranges once for each number.
const MOST_STEPS: usize = 200_000;

/// The value of an expression.
pub struct Evaluation {
    pub output: Tensor,
    /// The results of all operations on tensors of a transform, in order, and the places of these operations.
    pub steps: Vec<(Span, Tensor)>,
}

impl Tree {
    /// The value for these values of the variables.
    pub fn evaluate(&self, inputs: &[Tensor]) -> Result<Evaluation, Fault> {
        let values = vec![None; self.nodes.len()];
        let counters = vec![0; self.counters];
        let mut evaluator = Evaluator { tree: self, inputs, values, counters, steps: Vec::new(), visited: 0 };
        evaluator.run(0..self.nodes.len())?;
        Ok(Evaluation { output: evaluator.value(self.result).clone(), steps: evaluator.steps })
    }
}

struct Evaluator<'e> {
    tree: &'e Tree,
    inputs: &'e [Tensor],
    /// The values of nodes so far.
    values: Vec<Option<Tensor>>,
    /// The integers that the ranges have reached, from the outside in.
    counters: Vec<i64>,
    steps: Vec<(Span, Tensor)>,
    visited: usize,
}

impl Evaluator<'_> {
    fn value(&self, id: Id) -> &Tensor {
        self.values[id.0].as_ref().expect("operands come before their node")
    }

    fn collected(&self, ids: &[Id]) -> Vec<Tensor> {
        ids.iter().map(|id| self.value(*id).clone()).collect()
    }

    /// Evaluates these nodes. The bodies of ranges lie in each other as deeply as the parser allows.
    fn run(&mut self, nodes: Range<usize>) -> Result<(), Fault> {
        let mut next = nodes.start;
        while next < nodes.end {
            let Node { kind, place } = &self.tree.nodes[next];
            self.visited += 1;
            if self.visited > MOST_STEPS {
                return Err(Fault::new(format!("it takes more than {MOST_STEPS} steps")).at(*place));
            }
            let value = match kind {
                Kind::Number(number) => Tensor::from(*number),
                Kind::Variable(number) => self.inputs[*number].clone(),
                Kind::Counter(depth) => Tensor::from(self.counters[*depth] as f64),
                Kind::Call(function, operands) => {
                    let operands = self.collected(operands);
                    self.operation(*place, || function.apply(&operands))?
                }
                Kind::Vector(elements) => self.vector(*place, elements)?,
                Kind::Tuple(parts) => {
                    let parts = self.collected(parts);
                    self.operation(*place, || joined(&parts))?
                }
                Kind::Element(vector, index) => self.element(*place, *vector, *index)?,
                Kind::Each(each) => {
                    let numbers = self.each(*place, each)?;
                    self.operation(*place, || joined(&numbers))?
                }
            };
            self.values[next] = Some(value);
            next = if let Kind::Each(each) = kind { each.body.end } else { next + 1 };
        }
        Ok(())
    }

    /// The result of an operation at this place.
    fn operation(&mut self, place: Span, apply: impl FnOnce() -> Tensor) -> Result<Tensor, Fault> {
        let result = catch(apply).map_err(|error| Fault::of(&error).at(place))?;
        if !result.is_plain() {
            self.steps.push((place, result.clone()));
        }
        Ok(result)
    }

    fn vector(&mut self, place: Span, elements: &[Id]) -> Result<Tensor, Fault> {
        if let Some(wrong) = elements.iter().find(|element| self.value(**element).rank() > 0) {
            let message = format!("an element of a vector is a number, not {}", self.value(*wrong).spec());
            let fault = Fault::new(message).at(self.tree.nodes[wrong.0].place);
            return Err(fault.help("parentheses join vectors: (x, y)"));
        }
        let elements = self.collected(elements);
        self.operation(place, || joined(&elements))
    }

    fn element(&mut self, place: Span, vector: Id, index: Id) -> Result<Tensor, Fault> {
        let position = self.integer(index, "an index")?;
        let vector = self.value(vector).clone();
        match vector.shape() {
            [] => Err(Fault::new("a number has no elements").at(place)),
            [length] if !(0..*length as i64).contains(&position) => {
                let message = format!("there is no element {position} of {length}, which are counted from 0");
                Err(Fault::new(message).at(self.tree.nodes[index.0].place))
            }
            _ => self.operation(place, || vector.slice(position as isize)),
        }
    }

    /// The values of the body.
    fn each(&mut self, place: Span, each: &Each) -> Result<Vec<Tensor>, Fault> {
        let (first, last) =
            (self.integer(each.first, "the start of a range")?, self.integer(each.last, "the end of a range")?);
        let end = last + i64::from(each.is_inclusive);
        let count = end.saturating_sub(first);
        if count > MOST_STEPS as i64 {
            return Err(Fault::new(format!("a range of {count} numbers is too long")).at(place));
        }
        if self.visited.saturating_add(count.max(0) as usize * each.body.len()) > MOST_STEPS {
            return Err(Fault::new(format!("it takes more than {MOST_STEPS} steps")).at(place));
        }
        let mut values = Vec::new();
        for number in first..end {
            self.counters[each.counter] = number;
            self.run(each.body.clone())?;
            let value = self.value(each.result);
            if value.rank() > 0 {
                let message = format!("what is computed for each number of a range is a number, not {}", value.spec());
                return Err(Fault::new(message).at(place));
            }
            values.push(value.clone());
        }
        Ok(values)
    }

    /// The value of a node as an integer that no variable decides.
    fn integer(&self, id: Id, what: &str) -> Result<i64, Fault> {
        let fault = |message: String| Err(Fault::new(message).at(self.tree.nodes[id.0].place));
        let value = self.value(id);
        if !value.is_plain() {
            return fault(format!("{what} may not depend on a variable"));
        }
        match value.try_item() {
            Err(_) => fault(format!("{what} is an integer, not {}", value.spec())),
            // Further integers have no neighbours among the numbers.
            Ok(number) if number.fract() != 0.0 || number.abs() > 2f64.powi(53) => {
                fault(format!("{what} is an integer, not {number:?}"))
            }
            Ok(number) => Ok(number as i64),
        }
    }
}

/// Numbers and vectors, one after the other.
fn joined(parts: &[Tensor]) -> Tensor {
    let vectors = parts.iter().map(|part| if part.rank() == 0 { part.unsqueeze(0) } else { part.clone() });
    let vectors: Vec<Tensor> = vectors.collect();
    if vectors.is_empty() { Tensor::zeros([0]) } else { Tensor::concat(&vectors, 0) }
}

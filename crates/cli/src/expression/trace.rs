//! An expression as a program whose equations know their place in the text.
//!
//! Everything that is computed with an expression runs this program. So records, rules and errors name places in the expression, in any
//! transform, and nothing recurses.

use super::evaluation::Evaluation;
use super::fault::{Fault, Span};
use super::tree::Tree;
use std::cell::RefCell;
use std::fmt::Write;
use wengert::prelude::*;
use wengert::program::Equation;

/// A traced expression.
pub struct Traced(Program);

impl Traced {
    /// Traces an expression for variables of these shapes.
    pub fn of(tree: &Tree, inputs: &[Tensor]) -> Result<Traced, Fault> {
        let places = RefCell::new(Ok(Vec::new()));
        let evaluated = |inputs: &Vec<Tensor>| match tree.evaluate(inputs) {
            Ok(Evaluation { output, steps }) => {
                let (known, mut values): (Vec<Span>, Vec<Tensor>) = steps.into_iter().unzip();
                *places.borrow_mut() = Ok(known);
                values.push(output);
                values
            }
            Err(fault) => {
                *places.borrow_mut() = Err(fault);
                Vec::new()
            }
        };
        let program = compile(evaluated).program(&inputs.to_vec());
        let text = placed(&program, &places.into_inner()?);
        Ok(Traced(Program::parse(&text).expect("the text of a program")))
    }

    /// Its output, for inputs of any transform; raises errors.
    pub fn call(&self, inputs: &[Tensor]) -> Tensor {
        self.0.evaluate(inputs).unwrap_or_else(|error| error.raise()).remove(0)
    }
}

/// The text of a program with the place of every equation as a comment. The program returns the results of operations at `places`, in
/// order, and then its output, which is all that the text returns. Equations up to a result belong to that operation.
fn placed(program: &Program, places: &[Span]) -> String {
    let (output, steps) = program.outputs().split_last().expect("the output comes after the steps");
    let mut steps = steps.iter().zip(places).peekable();
    let mut place_of = |equation: &Equation| {
        while steps.next_if(|(result, _)| **result < equation.outputs[0]).is_some() {}
        steps.peek().map(|(_, place)| **place)
    };
    let mut equations = program.equations().iter();
    let mut text = String::new();
    for line in program.to_string().lines().take_while(|line| !line.starts_with("  return")) {
        let is_equation = line.contains(" = ") && !line.starts_with("  const ");
        let place = if is_equation { equations.next().and_then(&mut place_of) } else { None };
        let comment = place.map_or_else(String::new, |place| format!("  // {}", place.line()));
        let _ = writeln!(text, "{line}{comment}");
    }
    text + &format!("  return {output}\n}}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::parse;

    #[test]
    fn every_equation_knows_its_place_in_the_text() {
        let text = "x*2 + mean([sin(x), 1, y]) - let_ * sum(i in 0..2, y^i)";
        let tree = parse(text).unwrap();
        let one = || Tensor::from(1.0);
        let traced = Traced::of(&tree, &[one(), one(), one()]).unwrap();
        let place = |equation: &Equation| {
            let place = equation.line.and_then(|line| tree.place_of(line)).expect("a place");
            format!("{} {}", equation.op.name(), &text[place.start..place.end])
        };
        let places: Vec<String> = traced.0.equations().iter().map(place).collect();
        let expected = "mul *, sin sin, reshape [, reshape [, concat [, sum mean, div mean, add +, \
                        powf ^, powf ^, reshape .., reshape .., concat .., sum sum, mul *, sub -";
        assert_eq!(places.join(", "), expected);
    }
}

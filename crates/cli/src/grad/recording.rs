//! The Wengert list of an expression: the record of one run, with every value that reverse mode computes.

use super::point::output_name;
use super::report::{Body, Cell, Section, value};
use crate::expression::Traced;
use std::collections::HashMap;
use wengert::autograd::TapeRow;
use wengert::prelude::*;
use wengert::view::{Graph, graph};

/// A run on the tape, and the sweep back.
pub struct Recording {
    /// The name of the output.
    pub name: &'static str,
    pub output: Tensor,
    /// The gradient with respect to every variable, if there was a seed.
    pub gradient: Option<Vec<Tensor>>,
    /// The records, and what is shown of each.
    tape: Tape,
    rows: Vec<Row>,
    /// The variables with their names.
    leaves: Vec<(String, Tensor)>,
    seed: Option<Tensor>,
}

/// What is shown of a record.
pub struct Row {
    /// Its operation and operands, or the name of a variable.
    pub operation: String,
    pub value: Tensor,
    /// The position of the variable.
    variable: Option<usize>,
}

/// Runs the program at this point, and sweeps back from the seed, if there is one.
pub fn record(traced: &Traced, point: &[(String, Tensor)], seed: Option<Tensor>) -> Recording {
    let leaves: Vec<Tensor> = point.iter().map(|(_, tensor)| tensor.clone().require_grad()).collect();
    let output = record_values(|| {
        let output = traced.call(&leaves);
        if let Some(seed) = seed.as_ref().filter(|_| output.requires_grad()) {
            output.backward_with(Backward::new().retain_graph().seed(seed));
        }
        output
    });
    let gradient = |leaf: &Tensor| leaf.grad().unwrap_or_else(|| leaf.zeros_like()).detach();
    let gradient = seed.is_some().then(|| leaves.iter().map(gradient).collect());

    let tape = Tape::of(&output);
    let row = |row: &TapeRow| {
        let variable = leaves.iter().position(|leaf| row.is_of(leaf));
        let operand = |(name, input): (&String, &Tensor)| if name == "-" { value(input) } else { name.clone() };
        let operands: Vec<String> = row.operands.iter().zip(&row.inputs).map(operand).collect();
        let call = || format!("{} {}", row.operation, operands.join(" "));
        Row {
            operation: variable.map_or_else(call, |position| point[position].0.clone()),
            value: variable.map(|position| point[position].1.clone()).or(row.value.clone()).expect("it was recorded"),
            variable,
        }
    };
    let rows = tape.rows().iter().map(row).collect();
    let leaves = point.iter().map(|(name, _)| name.clone()).zip(leaves).collect();
    Recording { name: output_name(point), output: output.detach(), gradient, tape, rows, leaves, seed }
}

impl Recording {
    /// The records, and what is shown of each, oldest first.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = (&TapeRow, &Row)> {
        self.tape.rows().iter().zip(&self.rows)
    }

    /// The value of every row for these values of the variables, which may belong to a transform; raises errors.
    pub fn rerun(&self, inputs: &[Tensor]) -> Vec<Tensor> {
        let mut results: HashMap<&str, Tensor> = HashMap::new();
        for (row, Row { variable, .. }) in self.rows() {
            let operands = row.operands.iter().zip(&row.inputs);
            let operand = |(name, input): (&String, _)| results.get(name.as_str()).unwrap_or(input).clone();
            let operands: Vec<Tensor> = operands.map(operand).collect();
            let result = match variable {
                Some(position) => inputs[*position].clone(),
                None => row.call(&operands).unwrap_or_else(|error| error.raise()).remove(0),
            };
            results.insert(&row.name, result);
        }
        self.rows().map(|(row, _)| results[row.name.as_str()].clone()).collect()
    }

    /// The adjoint of a row. The tape keeps those of operands and results, but not that of a variable alone.
    fn adjoint(&self, row: &TapeRow) -> Cell {
        let is_alone = self.rows.len() == 1;
        Cell::Value(row.adjoint.clone().or_else(|| self.seed.clone().filter(|_| is_alone)))
    }

    /// The number of records.
    pub fn records(&self) -> usize {
        self.rows.len()
    }

    /// The rows with their values and what their rules need.
    pub fn forward(&self) -> Section {
        let row = |(tape, Row { operation, value, .. }): (&TapeRow, &Row)| {
            let saved = tape.saved.iter().filter_map(|(what, kept)| Some((origin(tape, what).into(), kept.clone()?)));
            let saved = Cell::Pairs { pairs: saved.collect(), relation: " = ", separator: ", " };
            vec![Cell::Text(tape.name.clone()), Cell::Text(operation.clone()), Cell::Value(Some(value.clone())), saved]
        };
        Section {
            key: "forward",
            heading: "Forward: every operation is recorded with its value and what its rule will need.".into(),
            body: table(&["", "operation", "value", "saved"], self.rows().map(row)),
        }
    }

    /// The rows with their adjoints and what their rules hand on, newest first; `None` without a seed.
    pub fn backward(&self) -> Option<Section> {
        let seed = self.seed.as_ref()?;
        let row = |(tape, _): (&TapeRow, &Row)| {
            let pairs = contributions(tape).collect();
            let handed = Cell::Pairs { pairs, relation: " += ", separator: ",  " };
            vec![Cell::Text(tape.name.clone()), self.adjoint(tape), Cell::Text(tape.rule.clone()), handed]
        };
        let start = match seed.rank() == 0 && seed.item() == 1.0 {
            true => format!("d{0}/d{0} = 1", self.name),
            false => format!("the seed {}", value(seed)),
        };
        Some(Section {
            key: "backward",
            heading: format!("Backward: from {start} up the list; each rule hands its adjoint on to the operands."),
            body: table(&["", "adjoint", "rule", "contributions"], self.rows().rev().map(row)),
        })
    }

    /// Every adjoint as the sum of what it was made of, newest first; `None` without a seed.
    pub fn contributions(&self) -> Option<Section> {
        let seed = ("seed".to_string(), self.seed.clone()?);
        let last = self.tape.rows().last().map(|row| (row.name.as_str(), vec![seed]));
        let mut received: HashMap<&str, Vec<(String, Tensor)>> = last.into_iter().collect();
        for (tape, _) in self.rows().rev() {
            for (operand, part) in tape.operands.iter().zip(&tape.contributions) {
                let part = part.iter().map(|part| (tape.name.clone(), part.clone()));
                received.entry(operand.as_str()).or_default().extend(part);
            }
        }
        let row = |(tape, Row { operation, .. }): (&TapeRow, &Row)| {
            let pairs = received.remove(tape.name.as_str()).unwrap_or_default();
            let parts = Cell::Pairs { pairs, relation: ": ", separator: ",  " };
            vec![Cell::Text(tape.name.clone()), Cell::Text(operation.clone()), self.adjoint(tape), parts]
        };
        Some(Section {
            key: "contributions",
            heading: "Contributions: every adjoint is the sum of what the operations that use its value hand on."
                .into(),
            body: table(&["", "operation", "adjoint", "received from"], self.rows().rev().map(row)),
        })
    }

    /// The records as a graph.
    pub fn graph(&self, expression: &str) -> Graph {
        let names = self.leaves.iter().map(|(name, leaf)| (name, leaf));
        graph(&self.tape).named(&self.tape, names).titled(expression)
    }

    /// The value and the gradient.
    pub fn results(&self, point: &[(String, Tensor)]) -> Section {
        let names = point.iter().map(|(name, _)| name.clone());
        let gradient = self.gradient.as_ref().map(|gradient| names.zip(gradient.iter().cloned()).collect());
        let body = Body::Results { name: self.name, value: self.output.clone(), gradient };
        Section { key: "results", heading: String::new(), body }
    }
}

fn table(columns: &[&str], rows: impl Iterator<Item = Vec<Cell>>) -> Body {
    Body::Table { columns: columns.iter().map(|column| column.to_string()).collect(), rows: rows.collect() }
}

/// What a row hands on to its operands.
fn contributions(row: &TapeRow) -> impl Iterator<Item = (String, Tensor)> {
    let parts = row.operands.iter().zip(&row.contributions);
    parts.filter_map(|(operand, part)| Some((operand.clone(), part.clone()?)))
}

/// The record that a saved value refers to: resolves `operand 0` and `output 0` to names in the list, if they have one.
fn origin<'r>(row: &'r TapeRow, saved: &'r str) -> &'r str {
    match saved.split_once(' ') {
        Some(("operand", position)) => {
            let operand = position.parse().ok().and_then(|i: usize| row.operands.get(i));
            operand.filter(|operand| *operand != "-").map_or(saved, |operand| operand)
        }
        Some(("output", "0")) => &row.name,
        _ => saved,
    }
}

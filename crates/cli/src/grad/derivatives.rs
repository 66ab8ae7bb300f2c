//! Derivatives as tables: Jacobians, Hessians, and derivatives of any order along a line.

use super::point::{coordinates, elements};
use super::report::{Body, Cell, Section, value};
use crate::expression::Traced;
use wengert::prelude::*;

/// The derivative of every element of the output by every coordinate of the point.
pub fn jacobian_of(traced: &Traced, point: &[(String, Tensor)], name: &str, output: &Tensor) -> Section {
    let blocks = jacobian(|inputs: &Vec<Tensor>| traced.call(inputs))(&inputs(point));
    let (rows, columns) = (elements(name, output), coordinates(point));
    let heading = "Jacobian: a row for every output, a column for every input.";
    Section { key: "jacobian", heading: heading.into(), body: matrix(&rows, &columns, &numbers(&blocks, rows.len())) }
}

/// The second derivatives of a single number.
pub fn hessian_of(traced: &Traced, point: &[(String, Tensor)]) -> Section {
    let blocks = hessian(|inputs: &Vec<Tensor>| traced.call(inputs))(&inputs(point));
    let rows = blocks.iter().zip(point).flat_map(|((_, row), (_, tensor))| numbers(row, tensor.elements()));
    let (names, rows) = (coordinates(point), rows.collect::<Vec<_>>());
    let heading = "Hessian: the second derivative by the inputs of row and column.";
    Section { key: "hessian", heading: heading.into(), body: matrix(&names, &names, &rows) }
}

/// The derivatives up to `order` along a line in this direction.
pub fn orders(traced: &Traced, point: &[(String, Tensor)], direction: &[f64], order: usize) -> Section {
    let mut rest = direction;
    let parts = point.iter().map(|(_, tensor)| {
        let (part, others) = rest.split_at(tensor.elements());
        rest = others;
        Tensor::from_vec(part.to_vec(), tensor.shape())
    });
    let direction: Vec<Tensor> = parts.collect();
    let directions = if order == 0 { &[][..] } else { std::slice::from_ref(&direction) };
    let derivatives = jet(|inputs: &Vec<Tensor>| traced.call(inputs), &inputs(point), directions, order);
    let rows = derivatives
        .into_iter()
        .enumerate()
        .map(|(k, tensor)| vec![Cell::Text(k.to_string()), Cell::Value(Some(tensor))]);
    let along = point.iter().zip(&direction).map(|((name, _), part)| format!("{name} + {} t", value(part)));
    let heading = match (point, &direction[..]) {
        ([(name, _)], [part]) if part.rank() == 0 && part.item() == 1.0 => format!("Derivatives by {name}, by order."),
        _ => format!("Derivatives by t at t = 0, by order, along {}.", along.collect::<Vec<_>>().join(", ")),
    };
    let columns = ["order", "derivative"].map(String::from).into();
    Section { key: "orders", heading, body: Body::Table { columns, rows: rows.collect() } }
}

fn inputs(point: &[(String, Tensor)]) -> Vec<Tensor> {
    point.iter().map(|(_, tensor)| tensor.clone()).collect()
}

/// The rows of a matrix that consists of these blocks side by side.
fn numbers(blocks: &[Tensor], rows: usize) -> Vec<Vec<f64>> {
    let blocks: Vec<Vec<f64>> = blocks.iter().map(Tensor::to_f64_vec).collect();
    let part = |block: &Vec<f64>, row: usize| {
        let width = block.len() / rows;
        block[row * width..][..width].to_vec()
    };
    (0..rows).map(|row| blocks.iter().flat_map(|block| part(block, row)).collect()).collect()
}

fn matrix(rows: &[String], columns: &[String], numbers: &[Vec<f64>]) -> Body {
    let row = |(name, numbers): (&String, &Vec<f64>)| {
        let cells = numbers.iter().map(|number| Cell::Value(Some(Tensor::from(*number))));
        std::iter::once(Cell::Text(name.clone())).chain(cells).collect()
    };
    let columns = std::iter::once(String::new()).chain(columns.iter().cloned()).collect();
    Body::Table { columns, rows: rows.iter().zip(numbers).map(row).collect() }
}

//! Derivatives as tables: Jacobians, Hessians, and derivatives of any order along a line.

use super::point::coordinates;
use super::report::{Body, Cell, Section, value};
use crate::expression::Traced;
use wengert::prelude::*;

/// Derivatives, and how they are shown.
pub struct Derivative<'e> {
    pub values: Values<'e>,
    pub section: Box<dyn Fn(&[Tensor]) -> Section + 'e>,
}

/// The derivatives at inputs of any transform.
pub type Values<'e> = Box<dyn Fn(&Vec<Tensor>) -> Vec<Tensor> + 'e>;

/// The derivative of every element of the output by every coordinate of the point.
pub fn jacobian_of<'e>(traced: &'e Traced, point: &'e [(String, Tensor)], rows: Vec<String>) -> Derivative<'e> {
    let section = move |blocks: &[Tensor]| {
        let heading = "Jacobian: a row for every output, a column for every input.";
        let body = matrix(&rows, &coordinates(point), &numbers(blocks, rows.len()));
        Section { key: "jacobian", heading: heading.into(), body }
    };
    Derivative { values: Box::new(jacobian(|inputs: &Vec<Tensor>| traced.call(inputs))), section: Box::new(section) }
}

/// The second derivatives of a single number.
pub fn hessian_of<'e>(traced: &'e Traced, point: &'e [(String, Tensor)]) -> Derivative<'e> {
    let values = hessian(|inputs: &Vec<Tensor>| traced.call(inputs));
    let section = move |blocks: &[Tensor]| {
        let blocks = blocks.chunks(point.len().max(1)).zip(point);
        let rows = blocks.flat_map(|(row, (_, tensor))| numbers(row, tensor.elements()));
        let (names, rows) = (coordinates(point), rows.collect::<Vec<_>>());
        let heading = "Hessian: the second derivative by the inputs of row and column.";
        Section { key: "hessian", heading: heading.into(), body: matrix(&names, &names, &rows) }
    };
    Derivative {
        values: Box::new(move |inputs| values(inputs).iter().flat_map(|(_, row)| row.clone()).collect()),
        section: Box::new(section),
    }
}

/// The derivatives up to `order` along a line in this direction.
pub fn orders<'e>(
    traced: &'e Traced,
    point: &'e [(String, Tensor)],
    direction: &[f64],
    order: usize,
) -> Derivative<'e> {
    let mut rest = direction;
    let parts = point.iter().map(|(_, tensor)| {
        let (part, others) = rest.split_at(tensor.elements());
        rest = others;
        Tensor::from_vec(part.to_vec(), tensor.shape())
    });
    let direction: Vec<Tensor> = parts.collect();
    let along = point.iter().zip(&direction).map(|((name, _), part)| format!("{name} + {} t", value(part)));
    let heading = match (point, &direction[..]) {
        ([(name, _)], [part]) if part.rank() == 0 && part.item() == 1.0 => format!("Derivatives by {name}, by order."),
        _ => format!("Derivatives by t at t = 0, by order, along {}.", along.collect::<Vec<_>>().join(", ")),
    };
    let values = move |inputs: &Vec<Tensor>| {
        let directions = if order == 0 { &[][..] } else { std::slice::from_ref(&direction) };
        jet(|inputs: &Vec<Tensor>| traced.call(inputs), inputs, directions, order)
    };
    let section = move |derivatives: &[Tensor]| {
        let row = |(k, tensor): (usize, &Tensor)| vec![Cell::Text(k.to_string()), Cell::Value(Some(tensor.clone()))];
        let columns = ["order", "derivative"].map(String::from).into();
        let body = Body::Table { columns, rows: derivatives.iter().enumerate().map(row).collect() };
        Section { key: "orders", heading: heading.clone(), body }
    };
    Derivative { values: Box::new(values), section: Box::new(section) }
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

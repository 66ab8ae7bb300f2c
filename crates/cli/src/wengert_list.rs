//! The Wengert list of y = x1 x2 + sin x1, with every value that reverse mode computes.

use crate::columns::columns;
use wengert::autograd::TapeRow;
use wengert::prelude::*;

/// The listing at x1 = 2, x2 = 3, and the results.
pub fn wengert_list() -> String {
    let (x1, x2) = (Tensor::from(2.0).require_grad(), Tensor::from(3.0).require_grad());
    let y = record_values(|| {
        let y = &x1 * &x2 + x1.sin();
        y.backward_with(Backward::new().retain_graph());
        y
    });
    let tape = Tape::of(&y);
    let derivative = |x: &Tensor| number(x.grad().as_ref());
    format!(
        "The Wengert list of y = x1 x2 + sin x1 at x1 = 2, x2 = 3\n\n\
         Forward: every operation is recorded with its value and what its rule will need.\n\n{}\n\
         Backward: from dy/dy = 1 up the list; each rule hands its adjoint on to the operands.\n\n{}\n  \
         y      = {}\n  dy/dx1 = {}\n  dy/dx2 = {}\n",
        forward(tape.rows()),
        backward(tape.rows()),
        number(Some(&y)),
        derivative(&x1),
        derivative(&x2),
    )
}

fn forward(rows: &[TapeRow]) -> String {
    let mut table = vec![["", "operation", "value", "saved"].map(String::from)];
    let mut leaves = 0;
    for row in rows {
        let operation = if row.operands.is_empty() {
            leaves += 1;
            format!("x{leaves}")
        } else {
            format!("{} {}", row.operation, row.operands.join(" "))
        };
        let saved: Vec<String> = row
            .saved
            .iter()
            .map(|(what, value)| format!("{} = {}", record(row, what), number(value.as_ref())))
            .collect();
        table.push([row.name.clone(), operation, number(row.value.as_ref()), saved.join(", ")]);
    }
    columns(2, &table)
}

fn backward(rows: &[TapeRow]) -> String {
    let mut table = vec![["", "adjoint", "rule", "contributions"].map(String::from)];
    for row in rows.iter().rev() {
        let edges = row.operands.iter().zip(&row.contributions);
        let handed: Vec<String> =
            edges.map(|(operand, part)| format!("{operand} += {}", number(part.as_ref()))).collect();
        table.push([row.name.clone(), number(row.adjoint.as_ref()), row.rule.clone(), handed.join(",  ")]);
    }
    columns(2, &table)
}

/// The record that a saved value refers to: resolves `operand 0` and `output 0` to names in the list.
fn record<'r>(row: &'r TapeRow, saved: &'r str) -> &'r str {
    match saved.split_once(' ') {
        Some(("operand", position)) => {
            position.parse().ok().and_then(|i: usize| row.operands.get(i)).map_or(saved, |s| s)
        }
        Some(("output", "0")) => &row.name,
        _ => saved,
    }
}

/// The shortest text that round-trips.
fn number(scalar: Option<&Tensor>) -> String {
    scalar.map_or_else(String::new, |tensor| tensor.item().to_string())
}

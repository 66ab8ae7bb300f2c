//! One function, differentiated, staged and batched.

use crate::columns::columns;
use wengert::prelude::*;

/// `grad`, `compile` and `vmap` of y = x1 x2 + sin x1, and their results.
pub fn transforms() -> String {
    let f = |(x1, x2): &(Tensor, Tensor)| x1 * x2 + x1.sin();
    let point = (Tensor::from(2.0), Tensor::from(3.0));
    let points = (Tensor::from([0.0, 1.0, 2.0]), Tensor::from([3.0, 3.0, 3.0]));

    let (d1, d2) = grad(f)(&point);
    let program = compile(grad(f)).program(&point).to_string();
    let gradients = vmap(grad(f))(&points);

    let indented: String = program.lines().map(|line| format!("    {line}\n")).collect();
    let rows = [&points.0, &points.1, &gradients.0, &gradients.1].map(Tensor::to_f64_vec);
    let mut table = vec![["x1", "x2", "dy/dx1", "dy/dx2"].map(String::from)];
    table.extend((0..rows[0].len()).map(|i| std::array::from_fn(|column| rows[column][i].to_string())));
    format!(
        "The same function, transformed\n\n  \
         let f = |(x1, x2): &(Tensor, Tensor)| x1 * x2 + x1.sin();\n\n  \
         grad(f) at (2, 3) is ({}, {}).\n\n  \
         compile(grad(f)) traces it once and runs this program:\n\n{indented}\n  \
         vmap(grad(f)) takes many points in one call:\n\n{}",
        d1.item(),
        d2.item(),
        columns(4, &table),
    )
}

//! One function, differentiated, staged and batched.

use wengert::prelude::*;

/// `grad`, `compile` and `vmap` of y = x1 x2 + sin x1, and what they give.
pub fn transforms() -> String {
    let f = |(x1, x2): &(Tensor, Tensor)| x1 * x2 + x1.sin();
    let point = (Tensor::from(2.0), Tensor::from(3.0));
    let points = (Tensor::from([0.0, 1.0, 2.0]), Tensor::from([3.0, 3.0, 3.0]));

    let (d1, d2) = grad(f)(&point);
    let staged = compile(grad(f));
    let batched = vmap(grad(f))(&points);
    let program = staged.program(&point).to_string();
    let indented: String = program.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "The same function, transformed\n\n  \
         let f = |(x1, x2): &(Tensor, Tensor)| x1 * x2 + x1.sin();\n\n  \
         grad(f) at (2, 3) is ({}, {}); compile(grad(f)) runs\n\n{indented}\n  \
         vmap(grad(f)) at x1 = {}, x2 = {} is\n    {}\n    {}\n",
        d1.item(),
        d2.item(),
        points.0,
        points.1,
        batched.0,
        batched.1,
    )
}

//! One function, differentiated, staged and batched.

use crate::columns::columns;
use crate::paint::Paint;
use wengert::prelude::*;
use wengert::view::json::{array, number, object, string};

/// `grad`, `compile` and `vmap` of y = x1 x2 + sin x1, and their results.
pub struct Transforms {
    /// At (2, 3).
    gradient: [f64; 2],
    program: String,
    /// x1, x2 and the derivatives by them, at many points.
    points: [Vec<f64>; 4],
}

impl Transforms {
    /// Computes them.
    pub fn computed() -> Transforms {
        let f = |(x1, x2): &(Tensor, Tensor)| x1 * x2 + x1.sin();
        let point = (Tensor::from(2.0), Tensor::from(3.0));
        let points = (Tensor::from([0.0, 1.0, 2.0]), Tensor::from([3.0, 3.0, 3.0]));

        let (d1, d2) = grad(f)(&point);
        let program = compile(grad(f)).program(&point).to_string();
        let gradients = vmap(grad(f))(&points);
        let points = [&points.0, &points.1, &gradients.0, &gradients.1].map(Tensor::to_f64_vec);
        Transforms { gradient: [d1.item(), d2.item()], program, points }
    }

    /// For people.
    pub fn text(&self, paint: Paint) -> String {
        let indented: String = self.program.lines().map(|line| format!("    {line}\n")).collect();
        let mut table = vec![["x1", "x2", "dy/dx1", "dy/dx2"].map(String::from)];
        table.extend(
            (0..self.points[0].len()).map(|i| std::array::from_fn(|column| self.points[column][i].to_string())),
        );
        let [d1, d2] = self.gradient;
        format!(
            "{}\n\n  \
             let f = |(x1, x2): &(Tensor, Tensor)| x1 * x2 + x1.sin();\n\n  \
             grad(f) at (2, 3) is {}.\n\n  \
             compile(grad(f)) traces it once and runs this program:\n\n{indented}\n  \
             vmap(grad(f)) takes many points in one call:\n\n{}",
            paint.heading("The same function, transformed"),
            paint.value(&format!("({d1}, {d2})")),
            columns(4, &table),
        )
    }

    /// For programs: one object on one line.
    pub fn json(&self) -> String {
        let list = |numbers: &[f64]| array(numbers.iter().copied().map(number));
        object(&[
            ("gradient", list(&self.gradient)),
            ("program", string(&self.program)),
            ("points", array(self.points[..2].iter().map(|column| list(column)))),
            ("gradients", array(self.points[2..].iter().map(|column| list(column)))),
        ])
    }
}

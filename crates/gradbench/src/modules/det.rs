//! det - a determinant by minors along the first row: det A = sum_j (-1)^j A_0j det A(without row 0 and column j).

use super::{Module, Workload};
use crate::run::{Input, ensure_length, ensure_some, repeated};
use serde::Deserialize;
use serde_json::json;
use std::ops::Range;
use wengert::scalar::{self, Real};

pub static MODULE: Module = Module {
    name: "det",
    functions: &[("primal", |input| repeated(input, primal)), ("gradient", |input| repeated(input, gradient))],
    primal: Some("primal"),
    workloads,
};

#[derive(Deserialize)]
struct Problem {
    #[serde(rename = "A")]
    matrix: Vec<f64>,
    ell: usize,
}

impl Input for Problem {
    type Fields = Problem;

    fn check(problem: Problem) -> Result<Problem, String> {
        ensure_some("ell", problem.ell)?;
        ensure_length("A", problem.matrix.len(), problem.ell.saturating_mul(problem.ell))?;
        Ok(problem)
    }
}

/// The remaining columns, as a linked list: each points to the next. The head comes after the last column.
struct Columns {
    next: Vec<usize>,
}

impl Columns {
    fn all(size: usize) -> Columns {
        Columns { next: (1..=size).chain([0]).collect() }
    }

    fn size(&self) -> usize {
        self.next.len() - 1
    }

    fn first(&self) -> usize {
        self.next[self.size()]
    }
}

/// Some terms of the expansion along the first row, in the minor of the last `order` rows and the remaining columns.
fn expand<T: Real>(matrix: &[T], order: usize, columns: &mut Columns, places: Range<usize>) -> T {
    let size = columns.size();
    let row = &matrix[(size - order) * size..][..size];
    let mut before = (0..places.start).fold(size, |before, _| columns.next[before]);
    let mut sum = T::lit(0.0);
    for place in places {
        let column = columns.next[before];
        columns.next[before] = columns.next[column];
        let term = row[column] * minor(matrix, order - 1, columns);
        columns.next[before] = column;
        sum = if place % 2 == 0 { sum + term } else { sum - term };
        before = column;
    }
    sum
}

fn minor<T: Real>(matrix: &[T], order: usize, columns: &mut Columns) -> T {
    match order {
        0 => T::lit(1.0),
        1 => matrix[matrix.len() - columns.size() + columns.first()],
        _ => expand(matrix, order, columns, 0..order),
    }
}

fn determinant<T: Real>(matrix: &[T], size: usize, places: Range<usize>) -> T {
    expand(matrix, size, &mut Columns::all(size), places)
}

fn primal(problem: &Problem) -> f64 {
    determinant(&problem.matrix, problem.ell, 0..problem.ell)
}

/// Every minor of the first row is recorded and swept separately, so the tape is only as long as one of them.
fn gradient(problem: &Problem) -> Vec<f64> {
    let Problem { matrix, ell, .. } = problem;
    let (mut sums, mut slopes) = (vec![0.0; matrix.len()], vec![0.0; matrix.len()]);
    for place in 0..*ell {
        scalar::gradient(|matrix| determinant(matrix, *ell, place..place + 1), matrix, &mut slopes);
        sums.iter_mut().zip(&slopes).for_each(|(sum, slope)| *sum += slope);
    }
    sums
}

fn workloads() -> Vec<Workload> {
    let one =
        |ell: usize| Workload::new(format!("{ell}"), move |random| json!({"A": random.uniform(ell * ell), "ell": ell}));
    (5..=11).map(one).collect()
}

//! Cofactor matrices and their derivatives, for matrices of any rank.
//!
//! `C(A)` is the gradient of the determinant; `C(A; H1 .. Hk)` is its derivative along the matrices `H`. With `A = U diag(s) V^T` and
//! `P = U^T H V` it is `det(U) det(V) U M V^T`. Element `(i, j)` of `M` is a sum over the sets `T` of `k + 1` indices that contain `i` and
//! `j`: the product of the `s` outside `T`, times the cofactor `(i, j)` of the `P` within `T`, where each `P` contributes one row. There is
//! no division, so singular matrices need no special case. With at most one direction, a matrix that is far from singular takes a faster
//! path through its inverse. Up to order 3 the minors are written out.

use super::batch::{expect_finite, expect_length, for_each_matrix};
use super::lu::{factor, solve_factored};
use super::{Status, Submatrix, lu, multiply, transpose};
use smallvec::SmallVec;

/// The ratio of the smallest to the largest pivot from which the inverse is accurate enough.
const REGULAR: f64 = 1e-3;

/// The cofactor matrix of each `n x n` matrix of `a`, differentiated once along each of `directions`. Its inner product with a direction is
/// the derivative of the determinant along it.
///
/// ```
/// let mut c = [0.0; 4];
/// assert!(wengert_kernels::linalg::cofactor(&[1.0, 2.0, 3.0, 4.0], &[], [1, 2], &mut c).is_ok());
/// assert!(c.iter().zip([4.0, -3.0, -2.0, 1.0]).all(|(x, y)| (x - y).abs() < 1e-14));
/// assert!(wengert_kernels::linalg::cofactor(&[0.0; 4], &[&[5.0, 6.0, 7.0, 8.0]], [1, 2], &mut c).is_ok());
/// assert!(c.iter().zip([8.0, -7.0, -6.0, 5.0]).all(|(x, y)| (x - y).abs() < 1e-14));
/// ```
pub fn cofactor(a: &[f64], directions: &[&[f64]], [batch, n]: [usize; 2], out: &mut [f64]) -> Status {
    expect_length("cofactor", "a", a.len(), [batch, n, n]);
    expect_length("cofactor", "out", out.len(), [batch, n, n]);
    for direction in directions {
        expect_length("cofactor", "a direction", direction.len(), [batch, n, n]);
    }
    let each = n * n;
    for_each_matrix(batch, 30 * n * n * n, [out], &mut [], &|matrix, [out], _| {
        let a = &a[matrix * each..][..each];
        let directions: SmallVec<[&[f64]; 2]> = directions.iter().map(|all| &all[matrix * each..][..each]).collect();
        expect_finite(a)?;
        directions.iter().try_for_each(|direction| expect_finite(direction))?;
        if n == 0 || directions.len() >= n {
            out.fill(0.0);
        } else if n <= 3 {
            by_minors(a, &directions, n, out);
        } else if directions.len() > 1 || !by_inverse(a, directions.first().copied(), n, out) {
            by_singular_values(a, &directions, n, out);
        }
        Ok(())
    })
}

/// The minors of matrices of order 1, 2 and 3: constant, linear and bilinear in the elements.
fn by_minors(a: &[f64], directions: &[&[f64]], n: usize, out: &mut [f64]) {
    match (n, directions) {
        (1, _) => out[0] = 1.0,
        (2, _) => {
            let a = directions.first().unwrap_or(&a);
            out.copy_from_slice(&[a[3], -a[2], -a[1], a[0]]);
        }
        (_, []) => add_minors(a, a, out, false),
        (_, [h]) => {
            add_minors(a, h, out, false);
            add_minors(h, a, out, true);
        }
        (_, directions) => {
            add_minors(directions[0], directions[1], out, false);
            add_minors(directions[1], directions[0], out, true);
        }
    }
}

/// Minors of order 2 whose first row is from `a` and whose second is from `b`, with their signs. The rows and columns after the omitted one
/// are taken cyclically, so all signs are positive.
fn add_minors(a: &[f64], b: &[f64], out: &mut [f64], keep: bool) {
    let [Some(a), Some(b)] = [a, b].map(|matrix| matrix.first_chunk::<9>()) else { return };
    let Some(out) = out.first_chunk_mut::<9>() else { return };
    for i in 0..3 {
        let (first, second) = ((i + 1) % 3 * 3, (i + 2) % 3 * 3);
        for j in 0..3 {
            let (left, right) = ((j + 1) % 3, (j + 2) % 3);
            let minor = a[first + left] * b[second + right] - a[first + right] * b[second + left];
            out[i * 3 + j] = if keep { out[i * 3 + j] + minor } else { minor };
        }
    }
}

fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    multiply(Submatrix::new(a, n, n, n), Submatrix::new(b, n, n, n), 1.0, false, &mut out, n);
    out
}

/// `C(A) = det Y` and `C(A; H) = det (tr(Y^T H) Y - Y H^T Y)` with `Y = A^-T`. Returns false if the matrix is too close to singular.
fn by_inverse(a: &[f64], direction: Option<&[f64]>, n: usize, out: &mut [f64]) -> bool {
    let (mut packed, mut pivots) = (a.to_vec(), vec![0; n]);
    let sign = factor(&mut packed, n, n, &mut pivots);
    let diagonal = || packed.iter().step_by(n + 1);
    let least = diagonal().fold(f64::INFINITY, |least, x| least.min(x.abs()));
    let largest = diagonal().fold(0f64, |largest, x| largest.max(x.abs()));
    let determinant = sign * diagonal().product::<f64>();
    if least <= REGULAR * largest || !determinant.is_normal() {
        return false;
    }
    out.fill(0.0);
    out.iter_mut().step_by(n + 1).for_each(|x| *x = 1.0);
    let solved = solve_factored(&packed, n, &pivots, true, out, n);
    debug_assert!(solved.is_ok(), "no pivot is zero");
    if let Some(h) = direction {
        let trace: f64 = out.iter().zip(h).map(|(y, h)| y * h).sum();
        let mut turned = vec![0.0; n * n];
        transpose(h, n, n, &mut turned);
        let bent = product(&product(out, &turned, n), out, n);
        out.iter_mut().zip(&bent).for_each(|(y, bent)| *y = trace * *y - bent);
    }
    out.iter_mut().for_each(|x| *x *= determinant);
    true
}

fn by_singular_values(a: &[f64], directions: &[&[f64]], n: usize, out: &mut [f64]) {
    let (mut u, mut s, mut vt) = (vec![0.0; n * n], vec![0.0; n], vec![0.0; n * n]);
    crate::svd(a, n, n, &mut u, &mut s, &mut vt);
    let (left, right) = (Submatrix::new(&u, n, n, n), Submatrix::new(&vt, n, n, n));
    let rotated: Vec<Vec<f64>> = directions
        .iter()
        .map(|h| {
            let (mut uh, mut p) = (vec![0.0; n * n], vec![0.0; n * n]);
            multiply(left.transposed(), Submatrix::new(h, n, n, n), 1.0, false, &mut uh, n);
            multiply(Submatrix::new(&uh, n, n, n), right.transposed(), 1.0, false, &mut p, n);
            p
        })
        .collect();
    let mut middle = vec![0.0; n * n];
    let mut chosen: Vec<usize> = (0..=directions.len()).collect();
    let mut rest = vec![true; n];
    loop {
        rest.fill(true);
        chosen.iter().for_each(|&index| rest[index] = false);
        let weight: f64 = s.iter().zip(&rest).filter(|(_, rest)| **rest).map(|(s, _)| s).product();
        if weight != 0.0 {
            add_cofactors(&rotated, n, &chosen, weight, &mut middle);
        }
        if !next_choice(&mut chosen, n) {
            break;
        }
    }
    let orientation = determinant_sign(&u, n) * determinant_sign(&vt, n);
    let turned = product(&u, &middle, n);
    multiply(Submatrix::new(&turned, n, n, n), right, orientation, false, out, n);
}

/// Advances to the next ascending choice of the same number of `n` indices; false if there is none.
fn next_choice(chosen: &mut [usize], n: usize) -> bool {
    let count = chosen.len();
    let Some(place) = (0..count).rev().find(|&place| chosen[place] < n - count + place) else { return false };
    chosen[place] += 1;
    for after in place + 1..count {
        chosen[after] = chosen[after - 1] + 1;
    }
    true
}

/// The determinant, 1 or -1, of an orthogonal matrix.
fn determinant_sign(q: &[f64], n: usize) -> f64 {
    let (mut packed, mut pivots, mut sign) = (vec![0.0; n * n], vec![0; n], [0.0]);
    let _ = lu(q, [1, n, n], &mut packed, &mut pivots, &mut sign);
    packed.iter().step_by(n + 1).fold(sign[0], |sign, x| sign.copysign(sign * x))
}

fn add_cofactors(p: &[Vec<f64>], n: usize, chosen: &[usize], weight: f64, middle: &mut [f64]) {
    let without = |place: usize| -> Vec<usize> {
        chosen.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, &index)| index).collect()
    };
    let all: Vec<usize> = (0..p.len()).collect();
    for i in 0..chosen.len() {
        for j in 0..chosen.len() {
            let sign = if (i + j) % 2 == 0 { weight } else { -weight };
            middle[chosen[i] * n + chosen[j]] += sign * mixed(p, n, &without(i), &without(j), &all);
        }
    }
}

/// The sum, over all ways to assign one of the `matrices` to each row, of the determinant of those rows in these columns.
fn mixed(p: &[Vec<f64>], n: usize, rows: &[usize], columns: &[usize], matrices: &[usize]) -> f64 {
    let Some((&row, rows)) = rows.split_first() else { return 1.0 };
    let others = |list: &[usize], place: usize| [&list[..place], &list[place + 1..]].concat();
    let mut sum = 0.0;
    for (place, &column) in columns.iter().enumerate() {
        let sign = if place % 2 == 0 { 1.0 } else { -1.0 };
        let columns = others(columns, place);
        for (which, &matrix) in matrices.iter().enumerate() {
            sum += sign * p[matrix][row * n + column] * mixed(p, n, rows, &columns, &others(matrices, which));
        }
    }
    sum
}

//! Sparse Jacobians and Hessians: patterns, colourings, compressed values.

use wengert::prelude::*;

/// `y[i] = x[i-1] x[i] + 3 x[i]^2 - sin x[i+1]`, with zeros outside.
fn tridiagonal(x: &Tensor) -> Tensor {
    let n = x.shape()[0];
    let zero = Tensor::zeros([1]);
    let left = Tensor::concat(&[&zero, &x.slice(..n - 1)], 0);
    let right = Tensor::concat(&[&x.slice(1..), &zero], 0);
    left * x + x * x * 3.0 - right.sin()
}

/// Its Jacobian.
fn tridiagonal_slope(x: &[f64], i: usize, j: usize) -> f64 {
    let left = if i == 0 { 0.0 } else { x[i - 1] };
    match j as isize - i as isize {
        -1 => x[i],
        0 => left + 6.0 * x[i],
        1 => -x[j].cos(),
        _ => 0.0,
    }
}

/// `sum 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2`.
fn rosenbrock(x: &Tensor) -> Tensor {
    let (head, tail) = (x.slice(..-1), x.slice(1..));
    ((tail - head.square()).square() * 100.0 + (1.0 - &head).square()).sum()
}

fn rosenbrock_slope(x: &[f64], i: usize, j: usize) -> f64 {
    let n = x.len();
    let mut slope = 0.0;
    if i == j && i + 1 < n {
        slope += 1200.0 * x[i] * x[i] - 400.0 * x[i + 1] + 2.0;
    }
    if i == j && i > 0 {
        slope += 200.0;
    }
    if i.abs_diff(j) == 1 {
        slope -= 400.0 * x[i.min(j)];
    }
    slope
}

fn banded(n: usize, width: usize) -> Pattern {
    Pattern::new(n, n, (0..n).flat_map(|i| (i.saturating_sub(width)..(i + width + 1).min(n)).map(move |j| (i, j))))
}

fn wave(n: usize, phase: f64) -> Tensor {
    Tensor::from_vec((0..n).map(|i| (i as f64 * 0.7 + phase).sin()).collect(), [n])
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * b.abs().max(1.0)
}

#[test]
fn a_tridiagonal_jacobian_takes_three_seeds() {
    let n = 1000;
    let jacobian = SparseJacobian::new(tridiagonal, &Tensor::ones([n]));
    assert_eq!(*jacobian.pattern(), banded(n, 1));
    assert_eq!(jacobian.seeds(), 3);
    let (rows, columns) = jacobian.triplets();
    for phase in [0.0, 1.0, 2.0] {
        let x = wave(n, phase);
        let numbers = x.to_f64_vec();
        let values = jacobian.values(&x).to_f64_vec();
        assert_eq!(values.len(), 3 * n - 2);
        for (k, value) in values.iter().enumerate() {
            assert!(close(*value, tridiagonal_slope(&numbers, rows[k], columns[k])), "({}, {})", rows[k], columns[k]);
        }
    }
}

#[test]
fn the_hessian_of_the_chained_rosenbrock_function_is_tridiagonal_and_right() {
    let n = 1000;
    let hessian = SparseHessian::new(rosenbrock, &Tensor::ones([n]));
    assert_eq!(*hessian.pattern(), banded(n, 1));
    assert_eq!(hessian.seeds(), 3);
    let (rows, columns) = hessian.triplets();
    assert!(rows.iter().zip(columns).all(|(row, column)| column <= row));
    for phase in [0.3, 1.3] {
        let x = wave(n, phase);
        let numbers = x.to_f64_vec();
        for (k, value) in hessian.values(&x).to_f64_vec().into_iter().enumerate() {
            assert!(close(value, rosenbrock_slope(&numbers, rows[k], columns[k])), "({}, {})", rows[k], columns[k]);
        }
    }
}

#[test]
fn a_hessian_of_random_structure_is_read_off_its_products() {
    let mut state = 3u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    for (n, terms) in [(5, 4), (30, 40), (60, 150)] {
        // A sum of x[i] x[j]^2 over random pairs.
        let pairs: Vec<(usize, usize)> = (0..terms).map(|_| (random(n), random(n))).collect();
        let index = |part: Vec<i64>| Tensor::from_vec(part, [terms]);
        let first = index(pairs.iter().map(|pair| pair.0 as i64).collect());
        let second = index(pairs.iter().map(|pair| pair.1 as i64).collect());
        let f = |x: &Tensor| (x.gather(0, &first) * x.gather(0, &second).square()).sum();
        let hessian = SparseHessian::new(f, &Tensor::ones([n]));
        let entries = pairs.iter().flat_map(|&(i, j)| [(i, j), (j, i), (j, j)]);
        assert_eq!(*hessian.pattern(), Pattern::new(n, n, entries));
        let x = wave(n, 0.6);
        let numbers = x.to_f64_vec();
        let mut right = vec![0.0; n * n];
        for &(i, j) in &pairs {
            right[i * n + j] += 2.0 * numbers[j];
            right[j * n + i] += 2.0 * numbers[j];
            right[j * n + j] += 2.0 * numbers[i];
        }
        assert!(hessian.seeds() <= n);
        let dense = hessian.to_dense(&x).to_f64_vec();
        assert!(dense.iter().zip(&right).all(|(a, b)| close(*a, *b)));
    }
}

#[test]
fn a_chain_of_products_has_a_hessian_without_diagonal() {
    let n = 50;
    let pattern = hessian_pattern(|x: &Tensor| (x.slice(1..) * x.slice(..-1)).sum(), &Tensor::ones([n]));
    assert_eq!(pattern, Pattern::new(n, n, (1..n).flat_map(|i| [(i, i - 1), (i - 1, i)])));
}

#[test]
fn what_a_function_is_linear_in_has_no_hessian_entries() {
    let f = |(a, b): &(Tensor, Tensor)| (a * b.exp() + b * 3.0).sum();
    let pattern = hessian_pattern(f, &(Tensor::ones([2]), Tensor::ones([2])));
    assert_eq!(pattern, Pattern::new(4, 4, [(0, 2), (2, 0), (2, 2), (1, 3), (3, 1), (3, 3)]));
}

#[test]
fn an_arrow_chooses_the_mode_that_needs_fewer_seeds() {
    let n = 200;
    // Every output depends on x[0] and on its own element: two tangents.
    let tall = SparseJacobian::new(|x: &Tensor| x * x.slice(0..1), &wave(n, 0.1));
    assert_eq!((tall.seeds(), tall.is_forward()), (2, true));
    // One output depends on everything: two cotangents.
    let wide = |x: &Tensor| Tensor::concat(&[&x.square().sum().reshape([1]), &x.slice(1..).exp()], 0);
    let wide = SparseJacobian::new(wide, &wave(n, 0.1));
    assert_eq!((wide.seeds(), wide.is_forward()), (2, false));
    let x = wave(n, 0.9);
    let numbers = x.to_f64_vec();
    let (rows, columns) = wide.triplets();
    for (k, value) in wide.values(&x).to_f64_vec().into_iter().enumerate() {
        let right = if rows[k] == 0 { 2.0 * numbers[columns[k]] } else { numbers[rows[k]].exp() };
        assert!(close(value, right));
    }
    let (rows, columns) = tall.triplets();
    for (k, value) in tall.values(&x).to_f64_vec().into_iter().enumerate() {
        let right = match (rows[k], columns[k]) {
            (0, 0) => 2.0 * numbers[0],
            (row, 0) => numbers[row],
            _ => numbers[0],
        };
        assert!(close(value, right));
    }
    // An arrow pointing both ways is dense for a Jacobian, and two stars for a Hessian.
    let hessian = SparseHessian::new(|x: &Tensor| (x * x.slice(0..1)).sum() + x.exp().sum(), &wave(n, 0.1));
    assert_eq!(hessian.seeds(), 2);
}

#[test]
fn the_branch_that_ran_is_what_is_described() {
    let f = |x: &Tensor| match x.slice(0).item() > 0.0 {
        true => x.slice(1..3) * 2.0,
        false => x.slice(0..2).sum().reshape([1]) * x.slice(1..3),
    };
    let (right, left) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from([-1.0, 2.0, 3.0]));
    assert_eq!(jacobian_pattern(f, &right), Pattern::new(2, 3, [(0, 1), (1, 2)]));
    assert_eq!(jacobian_pattern(f, &left), Pattern::new(2, 3, [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]));
    let jacobian = SparseJacobian::new(f, &right);
    assert!(jacobian.holds_at(&right) && !jacobian.holds_at(&left));
    // A loop that reads values, and stops depending on them.
    let steps = |x: &Tensor| {
        let mut y = x.clone();
        while y.slice(0).item() < 10.0 {
            y = &y + Tensor::concat(&[&y.slice(1..), &y.slice(0..1)], 0);
        }
        y
    };
    let ones = Tensor::ones([8]);
    let expected = Pattern::new(8, 8, (0..8).flat_map(|i| (0..5).map(move |k| (i, (i + k) % 8))));
    assert_eq!(jacobian_pattern(steps, &ones), expected);
}

#[test]
fn stopped_gradients_leave_no_entries() {
    let x = Tensor::ones([3]);
    let f = |x: &Tensor| x.detach() * 2.0 + no_grad(|| x.square());
    assert_eq!(jacobian_pattern(f, &x).entries(), 0);
    let rounded = |x: &Tensor| x.floor() * x;
    assert_eq!(jacobian_pattern(rounded, &x), Pattern::new(3, 3, (0..3).map(|i| (i, i))));
    assert_eq!(jacobian_pattern(|x: &Tensor| x.gt(0.0), &x).rows(), 0);
}

type Model = (Tensor, Vec<Tensor>, Tensor);

/// Leaves of different shapes, one of integers, and two outputs.
fn model((a, list, index): &Model) -> (Tensor, Vec<Tensor>) {
    let picked = list[0].gather(0, index);
    (a * a, vec![picked * a.sum_over(1), index.clone(), list[1].exp()])
}

fn model_at(phase: f64) -> Model {
    let index = Tensor::from([2i64, 0]);
    (wave(6, phase).reshape([2, 3]), vec![wave(3, phase + 1.0), Tensor::from(phase)], index)
}

#[test]
fn trees_have_their_leaves_side_by_side_and_integers_nowhere() {
    let jacobian = SparseJacobian::new(model, &model_at(0.2));
    // Columns: a at 0..6, list.0 at 6..9, list.1 at 9. Rows: a a, the gathered elements, the exponential.
    let squares = (0..6).map(|i| (i, i));
    let picked = [(6, 0), (6, 1), (6, 2), (6, 8), (7, 3), (7, 4), (7, 5), (7, 6)];
    assert_eq!(*jacobian.pattern(), Pattern::new(9, 10, squares.chain(picked).chain([(8, 9)])));
    for phase in [0.2, 0.8] {
        let x = model_at(phase);
        let (a, v) = (x.0.to_f64_vec(), x.1[0].to_f64_vec());
        let dense = jacobian.to_dense(&x).to_f64_vec();
        let right = |row: usize, column: usize| match (row, column) {
            (0..6, _) if row == column => 2.0 * a[row],
            (6, 0..3) => v[2],
            (6, 8) => a[..3].iter().sum(),
            (7, 3..6) => v[0],
            (7, 6) => a[3..].iter().sum(),
            (8, 9) => phase.exp(),
            _ => 0.0,
        };
        for row in 0..9 {
            for column in 0..10 {
                assert!(close(dense[row * 10 + column], right(row, column)), "({row}, {column})");
            }
        }
    }
}

#[derive(Tree)]
struct Curve {
    coefficients: Tensor,
    #[tree(frozen)]
    scale: Tensor,
    #[tree(static)]
    power: i64,
}

#[test]
fn frozen_leaves_have_no_columns() {
    let at = |x: [f64; 2]| Curve { coefficients: Tensor::from(x), scale: Tensor::from([3.0, 5.0]), power: 2 };
    let f = |curve: &Curve| (&curve.coefficients * &curve.scale).powi(curve.power);
    let jacobian = SparseJacobian::new(f, &at([1.0, 1.0]));
    assert_eq!(*jacobian.pattern(), Pattern::new(2, 2, [(0, 0), (1, 1)]));
    assert_eq!(jacobian.values(&at([1.0, 2.0])), Tensor::from([18.0, 100.0]));
    let hessian = SparseHessian::new(|curve: &Curve| f(curve).sum(), &at([1.0, 1.0]));
    assert_eq!(*hessian.pattern(), Pattern::new(2, 2, [(0, 0), (1, 1)]));
    assert_eq!(hessian.values(&at([1.0, 2.0])), Tensor::from([18.0, 50.0]));
    // The only output is one row, so reverse mode computes it, without the frozen leaf.
    let sum = SparseJacobian::new(|curve: &Curve| f(curve).sum(), &at([1.0, 1.0]));
    assert_eq!((sum.is_forward(), sum.values(&at([1.0, 2.0]))), (false, Tensor::from([18.0, 100.0])));
}

#[test]
fn another_structure_or_shape_is_an_error_that_names_the_path() {
    let jacobian = SparseJacobian::new(model, &model_at(0.2));
    let mut other = model_at(0.2);
    other.1[0] = Tensor::ones([4]);
    let error = catch(|| jacobian.values(&other)).unwrap_err();
    assert_eq!(error.message(), "x is f64[4] at '1.0', where f64[3] is needed");
    assert_eq!(*error.kind(), ErrorKind::Tree);
    assert!(error.line().unwrap().file().ends_with("sparsity.rs"));
    let mut other = model_at(0.2);
    other.1.pop();
    assert!(catch(|| jacobian.values(&other)).unwrap_err().message().contains("1: length 1 on the left"));
    let hessian = SparseHessian::new(rosenbrock, &Tensor::ones([3]));
    assert!(catch(|| hessian.values(&Tensor::ones([4]))).unwrap_err().message().contains("f64[3] is needed"));
    let growing = SparseJacobian::new(
        |x: &Tensor| if x.slice(0).item() > 0.0 { x.clone() } else { x.slice(1..) },
        &Tensor::ones([3]),
    );
    let error = catch(|| growing.values(&Tensor::from([-1.0, 1.0, 1.0]))).unwrap_err();
    assert_eq!(error.message(), "the function gave f64[2], and f64[3] before");
    let large = SparseJacobian::new(|x: &Tensor| x.exp(), &Tensor::ones([100_000]));
    assert!(catch(|| large.to_dense(&Tensor::ones([100_000]))).unwrap_err().message().contains("80000000000 bytes"));
}

#[test]
fn values_at_many_points_equal_columns_of_tangents() {
    // A two-dimensional reaction-diffusion equation: five entries per row.
    let (rows, columns) = (6, 7);
    let f = |u: &Tensor| {
        let inner = |r: std::ops::Range<usize>, c: std::ops::Range<usize>| u.slice((r, c));
        let (m, n) = (rows - 1, columns - 1);
        let middle = inner(1..m, 1..n);
        let around = inner(0..m - 1, 1..n) + inner(2..rows, 1..n) + inner(1..m, 0..n - 1) + inner(1..m, 2..columns);
        around - &middle * 4.0 + middle.exp() * 0.1
    };
    let at = |phase: f64| wave(rows * columns, phase).reshape([rows, columns]);
    let jacobian = SparseJacobian::new(f, &at(0.0));
    assert!(jacobian.seeds() <= 7, "{} seeds", jacobian.seeds());
    assert_eq!(jacobian.pattern().entries(), 5 * (rows - 2) * (columns - 2));
    for phase in [0.1, 0.5, 2.5, 9.0] {
        let x = at(phase);
        let dense = jacobian.to_dense(&x);
        for column in 0..rows * columns {
            let mut seed = vec![0.0; rows * columns];
            seed[column] = 1.0;
            let tangent = jvp(f, &x, &Tensor::from_vec(seed, [rows, columns])).1;
            let found = dense.slice((.., column)).to_f64_vec();
            assert!(found.iter().zip(tangent.to_f64_vec()).all(|(a, b)| close(*a, b)), "column {column}");
        }
    }
}

#[test]
fn values_can_be_differentiated() {
    // The sum of the Jacobian's entries of y = x^3, elementwise, is 3 sum x^2.
    let jacobian = SparseJacobian::new(|x: &Tensor| x * x * x, &Tensor::ones([3]));
    let gradient = grad(|x: &Tensor| jacobian.values(x).sum())(&Tensor::from([1.0, 2.0, 3.0]));
    assert_eq!(gradient, Tensor::from([6.0, 12.0, 18.0]));
    // In reverse mode too: a sum couples its terms in one row.
    let row = SparseJacobian::new(|x: &Tensor| (x * x * x).sum(), &Tensor::ones([3]));
    assert!(!row.is_forward());
    let gradient = grad(|x: &Tensor| row.values(x).sum())(&Tensor::from([1.0, 2.0, 3.0]));
    assert_eq!(gradient, Tensor::from([6.0, 12.0, 18.0]));
    let batch = vmap(|x: &Tensor| jacobian.values(x))(&Tensor::from([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]));
    assert_eq!(batch, Tensor::from([[3.0, 12.0, 27.0], [12.0, 27.0, 48.0]]));
    let hessian = SparseHessian::new(|x: &Tensor| (x.square() * x.square()).sum(), &Tensor::ones([2]));
    let gradient = grad(|x: &Tensor| hessian.values(x).sum())(&Tensor::from([1.0, 2.0]));
    assert_eq!(gradient, Tensor::from([24.0, 48.0]));
}

#[test]
fn a_lagrangian_has_the_hessian_of_its_weighted_sum() {
    // f = x0 x3 (x0 + x1 + x2) + x2 with the constraints x0 x1 x2 x3 and |x|^2, weights s, l0 and l1.
    let weights = std::cell::Cell::new([1.0, 0.0, 0.0]);
    let lagrangian = |x: &Tensor| {
        let [s, l0, l1] = weights.get();
        let part = |i: usize| x.slice(i);
        let objective = part(0) * part(3) * (part(0) + part(1) + part(2)) + part(2);
        let product = part(0) * part(1) * part(2) * part(3);
        objective * s + product * l0 + x.square().sum() * l1
    };
    let x = Tensor::from([1.0, 5.0, 5.0, 1.0]);
    let hessian = SparseHessian::new(lagrangian, &x);
    weights.set([2.0, 3.0, 5.0]);
    let found = hessian.to_dense(&x);
    // By hand: s d2f + l0 d2(product) + l1 2 I.
    let expected = Tensor::from([
        [2.0 * 2.0 + 10.0, 2.0 + 15.0, 2.0 + 15.0, 2.0 * 12.0 + 75.0],
        [2.0 + 15.0, 10.0, 3.0, 2.0 + 15.0],
        [2.0 + 15.0, 3.0, 10.0, 2.0 + 15.0],
        [2.0 * 12.0 + 75.0, 2.0 + 15.0, 2.0 + 15.0, 10.0],
    ]);
    assert_eq!(found, expected);
    assert_eq!(hessian.triplets().0.len(), 10);
}

#[test]
fn products_follow_rows_and_columns() {
    let f = |(a, b): &(Tensor, Tensor)| a.matmul(b);
    let pattern = jacobian_pattern(f, &(Tensor::ones([2, 3]), Tensor::ones([3, 2])));
    let expected = (0..4).flat_map(|out| {
        let (i, j) = (out / 2, out % 2);
        (0..3).flat_map(move |k| [(out, i * 3 + k), (out, 6 + k * 2 + j)])
    });
    assert_eq!(pattern, Pattern::new(4, 12, expected));
    // A batch of networks: samples do not mix, whatever happens inside one.
    let layer = |x: &Tensor| {
        let h = x.linear_bias(&Tensor::ones([5, 4]), &Tensor::ones([5])).tanh();
        h.layer_norm(&[5], &Norm::new()).softmax(-1)
    };
    let pattern = jacobian_pattern(layer, &Tensor::ones([3, 4]));
    let blocks = (0..15).flat_map(|row| (0..4).map(move |k| (row, row / 5 * 4 + k)));
    assert_eq!(pattern, Pattern::new(15, 12, blocks));
    let inverses = jacobian_pattern(|x: &Tensor| x.inv(), &(Tensor::ones([2, 2, 2]) + Tensor::eye(2)));
    assert_eq!(inverses, Pattern::new(8, 8, (0..8).flat_map(|i| (0..4).map(move |k| (i, i / 4 * 4 + k)))));
}

#[test]
fn convolutions_and_pools_follow_their_windows() {
    let (n, x) = (9, Tensor::ones([1, 1, 9]));
    let kernel = Tensor::ones([1, 1, 3]);
    let stencil = |x: &Tensor| x.conv1d(&kernel, &Conv::new().padding(1)).exp();
    let jacobian = SparseJacobian::new(stencil, &x);
    assert_eq!((jacobian.pattern().clone(), jacobian.seeds()), (banded(n, 1), 3));
    // The gradient of a sum of squares of a convolution couples elements two steps apart.
    let energy = |x: &Tensor| x.conv1d(&kernel, &Conv::new().padding(1)).square().sum();
    assert_eq!(hessian_pattern(energy, &x), banded(n, 2));
    let pooled = jacobian_pattern(|x: &Tensor| x.max_pool1d(&Pool::new(3)), &x);
    assert_eq!(pooled, Pattern::new(3, 9, (0..9).map(|i| (i / 3, i))));
    let pooled = jacobian_pattern(|x: &Tensor| x.avg_pool1d(&Pool::new(3)), &x);
    assert_eq!(pooled, Pattern::new(3, 9, (0..9).map(|i| (i / 3, i))));
    let half = jacobian_pattern(|x: &Tensor| x.cast(DType::BF16).layer_norm(&[3], &Norm::new()), &Tensor::ones([2, 3]));
    assert_eq!(half, Pattern::new(6, 6, (0..6).flat_map(|i| (0..3).map(move |k| (i, i / 3 * 3 + k)))));
}

#[test]
fn rules_of_ones_own_say_what_depends_on_what() {
    // The value has zero slope everywhere, but the rule gives it one.
    let through = custom_vjp(|x: &Tensor| (x.round(), ()), |_: &(), g: &Tensor| g * 2.0);
    let x = Tensor::from([0.4, 1.4, 2.4]);
    let diagonal = Pattern::new(3, 3, (0..3).map(|i| (i, i)));
    assert_eq!(jacobian_pattern(|x: &Tensor| through(x), &x), diagonal);
    let jacobian = SparseJacobian::new(|x: &Tensor| through(x), &x);
    assert_eq!(jacobian.values(&x), Tensor::from([2.0, 2.0, 2.0]));
    let rule = |x: &Tensor, _: &Tensor, dx: &Tensor| dx * x.cos();
    let sine = custom_jvp(|x: &Tensor| x.sin(), rule);
    assert_eq!(jacobian_pattern(|x: &Tensor| sine(x), &x), diagonal);
    assert_eq!(hessian_pattern(|x: &Tensor| sine(x).sum(), &x), diagonal);
    let hessian = SparseHessian::new(|x: &Tensor| sine(x).sum(), &x);
    assert_eq!(hessian.values(&x), -x.sin());
    let again = checkpoint(rosenbrock);
    assert_eq!(hessian_pattern(|x: &Tensor| again(x), &Tensor::ones([20])), banded(20, 1));
    let hessian = SparseHessian::new(|x: &Tensor| again(x), &Tensor::ones([20]));
    let at = wave(20, 0.4);
    let numbers = at.to_f64_vec();
    let (rows, columns) = hessian.triplets();
    for (k, value) in hessian.values(&at).to_f64_vec().into_iter().enumerate() {
        assert!(close(value, rosenbrock_slope(&numbers, rows[k], columns[k])));
    }
}

#[test]
fn values_equal_those_of_dense_jacobians_and_hessians() {
    let jacobian = SparseJacobian::new(tridiagonal, &Tensor::ones([12]));
    let hessian = SparseHessian::new(rosenbrock, &Tensor::ones([12]));
    for phase in [0.0, 0.7, 3.1] {
        let x = wave(12, phase);
        assert!(jacobian.to_dense(&x).all_close(&wengert::jacobian(tridiagonal)(&x), 1e-12));
        assert!(hessian.to_dense(&x).all_close(&wengert::hessian(rosenbrock)(&x), 1e-12));
    }
}

#[test]
fn patterns_compose_with_the_other_transforms() {
    let f = |x: &Tensor| x.slice(1..) * x.slice(..-1);
    let x = Tensor::ones([2, 3]);
    let batched = jacobian_pattern(vmap(f), &x);
    let each = [(0, 0), (0, 1), (1, 1), (1, 2)];
    let expected = || each.iter().flat_map(|&(i, j)| [(i, j), (i + 2, j + 3)]);
    assert_eq!(batched, Pattern::new(4, 6, expected()));
    let compiled = compile(vmap(f));
    assert_eq!(jacobian_pattern(|x: &Tensor| compiled.call(x), &x), Pattern::new(4, 6, expected()));
    // Inside a transform: the pattern is that of the call, whatever transforms surround it.
    let inside = grad(|x: &Tensor| {
        assert_eq!(jacobian_pattern(f, x).entries(), 4);
        x.sum()
    });
    assert_eq!(inside(&Tensor::ones([3])), Tensor::ones([3]));
    let tangent = jacobian_pattern(|x: &Tensor| jvp(|x: &Tensor| x.square(), x, &x.ones_like()).1, &Tensor::ones([2]));
    assert_eq!(tangent, Pattern::new(2, 2, [(0, 0), (1, 1)]));
}

#[test]
fn empty_inputs_and_outputs_have_no_entries() {
    let none = SparseJacobian::new(|x: &Tensor| x.exp(), &Tensor::zeros([0]));
    assert_eq!((none.seeds(), none.values(&Tensor::zeros([0])).elements()), (0, 0));
    let constant = SparseJacobian::new(|_: &Tensor| Tensor::ones([2]), &Tensor::ones([3]));
    assert_eq!((constant.pattern().rows(), constant.pattern().columns()), (2, 3));
    assert_eq!(constant.values(&Tensor::ones([3])).elements(), 0);
    assert_eq!(constant.to_dense(&Tensor::ones([3])), Tensor::zeros([2, 3]));
    let scalar = SparseJacobian::new(|x: &Tensor| x * x, &Tensor::from(3.0));
    assert_eq!(scalar.values(&Tensor::from(3.0)), Tensor::from([6.0]));
    let single = SparseJacobian::new(|x: &Tensor| x * x, &Tensor::from([3.0f32]));
    assert_eq!(single.values(&Tensor::from([3.0f32])), Tensor::from([6.0f32]));
}

#[test]
fn many_colours_are_taken_in_several_passes_with_the_same_values() {
    // A dense block of 700 columns next to a long diagonal: 700 seeds of 8000 elements are more than one pass holds.
    let (n, wide) = (8000, 700);
    let f = |x: &Tensor| {
        let sum = x.slice(..wide as isize).square().sum();
        x.square() + sum.broadcast_to([n])
    };
    let x = wave(n, 0.4);
    let jacobian = SparseJacobian::new(f, &x);
    assert_eq!(jacobian.seeds(), wide + 1);
    let numbers = x.to_f64_vec();
    let (rows, columns) = jacobian.triplets();
    let values = jacobian.values(&x).to_f64_vec();
    for k in (0..values.len()).step_by(97) {
        let (row, column) = (rows[k], columns[k]);
        let factor = f64::from(u8::from(row == column) + u8::from(column < wide));
        assert!(close(values[k], 2.0 * factor * numbers[column]), "({row}, {column})");
    }
}

#[test]
fn a_hundred_thousand_unknowns() {
    let n = 100_000;
    let jacobian = SparseJacobian::new(tridiagonal, &wave(n, 0.0));
    assert_eq!((jacobian.pattern().entries(), jacobian.seeds()), (3 * n - 2, 3));
    let x = wave(n, 1.0);
    let values = jacobian.values(&x).to_f64_vec();
    let numbers = x.to_f64_vec();
    let (rows, columns) = jacobian.triplets();
    for k in (0..values.len()).step_by(1013) {
        assert!(close(values[k], tridiagonal_slope(&numbers, rows[k], columns[k])));
    }
    let hessian = SparseHessian::new(rosenbrock, &wave(n, 0.0));
    assert_eq!((hessian.pattern().entries(), hessian.seeds()), (3 * n - 2, 3));
}

#[test]
fn sums_into_everything_stay_linear() {
    // Every element adds the sum of all: one set of n, not n of them.
    let n = 100_000;
    let row = |x: &Tensor| (x + x.sum()).sin().max().reshape([1]);
    assert_eq!(jacobian_pattern(row, &wave(n, 0.0)).entries(), n);
    // A long loop does not keep the sets of earlier iterations.
    let steps = |x: &Tensor| {
        let mut y = x.clone();
        for _ in 0..300 {
            y = &y.slice(1..) * &y.slice(..-1);
        }
        y
    };
    assert_eq!(jacobian_pattern(steps, &Tensor::ones([2000])).entries(), 1700 * 301);
}

mod colours {
    use wengert::prelude::*;

    fn neighbours(pattern: &Pattern, v: usize) -> impl Iterator<Item = usize> {
        pattern.row(v).iter().map(|&w| w as usize).filter(move |&w| w != v)
    }

    /// No two columns of one row share a colour.
    fn columns_differ(pattern: &Pattern, colours: &[u32]) -> bool {
        (0..pattern.rows()).all(|row| {
            let mut seen: Vec<u32> = pattern.row(row).iter().map(|&column| colours[column as usize]).collect();
            let count = seen.len();
            seen.sort_unstable();
            seen.dedup();
            seen.len() == count
        })
    }

    fn neighbours_differ(pattern: &Pattern, colours: &[u32]) -> bool {
        (0..pattern.rows()).all(|v| neighbours(pattern, v).all(|w| colours[v] != colours[w]))
    }

    fn two_steps_differ(pattern: &Pattern, colours: &[u32]) -> bool {
        (0..pattern.rows()).all(|v| {
            let mut two = neighbours(pattern, v).flat_map(|w| neighbours(pattern, w).chain([w])).filter(|&x| x != v);
            two.all(|x| colours[v] != colours[x])
        })
    }

    /// The subgraph of any two colours has no path of four vertices: one end of each edge has no other neighbour in it.
    fn stars_only(pattern: &Pattern, colours: &[u32]) -> bool {
        let others =
            |v: usize, w: usize| neighbours(pattern, v).filter(|&x| x != w && colours[x] == colours[w]).count();
        neighbours_differ(pattern, colours)
            && pattern.iter().filter(|(v, w)| v != w).all(|(v, w)| others(v, w) == 0 || others(w, v) == 0)
    }

    fn random(rows: usize, columns: usize, entries: usize, seed: u64) -> Pattern {
        let mut state = seed;
        let mut next = move |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        Pattern::new(rows, columns, (0..entries).map(|_| (next(rows), next(columns))).collect::<Vec<_>>())
    }

    #[test]
    fn colourings_of_random_patterns_are_valid() {
        for seed in 0..12 {
            let (rows, columns) = (20 + 7 * seed as usize, 55 - 3 * seed as usize);
            let pattern = random(rows, columns, rows * (1 + seed as usize % 4), seed);
            assert!(columns_differ(&pattern, pattern.colour_columns().colours()));
            assert!(columns_differ(&pattern.transpose(), pattern.colour_rows().colours()));
            let square = random(rows, rows, rows * (1 + seed as usize % 3), seed + 100);
            let graph = square.union(&square.transpose());
            assert!(neighbours_differ(&graph, graph.colour_vertices().colours()));
            assert!(two_steps_differ(&graph, graph.colour_distance_two().colours()));
            assert!(stars_only(&graph, graph.colour_star().colours()));
            let (one, star, two) = (graph.colour_vertices(), graph.colour_star(), graph.colour_distance_two());
            assert!(one.count() <= two.count() && star.count() <= two.count() + 1);
        }
    }

    #[test]
    fn the_checkers_reject_wrong_colourings() {
        let path = Pattern::new(4, 4, (0..3).flat_map(|i| [(i, i + 1), (i + 1, i)]));
        assert!(!stars_only(&path, &[0, 1, 0, 1]) && stars_only(&path, &[0, 1, 0, 2]));
        assert!(!two_steps_differ(&path, &[0, 1, 0, 2]) && two_steps_differ(&path, &[0, 1, 2, 0]));
        assert!(!neighbours_differ(&path, &[0, 0, 1, 0]));
        assert!(!columns_differ(&path, &[0, 1, 0, 1]));
    }

    #[test]
    fn known_structures_take_known_numbers_of_colours() {
        for width in [1, 2, 5] {
            let banded = super::banded(60, width);
            assert_eq!(banded.colour_columns().count(), 2 * width + 1);
            assert_eq!(banded.colour_rows().count(), 2 * width + 1);
            assert_eq!(banded.colour_distance_two().count(), 2 * width + 1);
            assert_eq!(banded.colour_vertices().count(), width + 1);
        }
        assert_eq!(super::banded(60, 1).colour_star().count(), 3);
        // An arrow: a dense first row and column, and the diagonal.
        let arrow = Pattern::new(50, 50, (0..50).flat_map(|i| [(0, i), (i, 0), (i, i)]));
        assert_eq!((arrow.colour_columns().count(), arrow.colour_star().count()), (50, 2));
        let last = Pattern::new(50, 50, (0..50).flat_map(|i| [(49, i), (i, 49), (i, i)]));
        assert_eq!(last.colour_star().count(), 2);
        // The five-point Laplacian of a grid: 2 colours for neighbours; 5 are the minimum for distance two.
        let n = 12;
        let at = |i: usize, j: usize| i * n + j;
        let edges = (0..n).flat_map(|i| (1..n).flat_map(move |j| [(at(i, j), at(i, j - 1)), (at(j, i), at(j - 1, i))]));
        let edges: Vec<_> = edges.flat_map(|(a, b)| [(a, b), (b, a), (a, a), (b, b)]).collect();
        let grid = Pattern::new(n * n, n * n, edges);
        assert_eq!(grid.colour_vertices().count(), 2);
        let two = grid.colour_columns();
        assert!((5..=8).contains(&two.count()), "{}", two.count());
        assert_eq!(grid.colour_distance_two().count(), two.count());
        let star = grid.colour_star();
        assert!(stars_only(&grid, star.colours()) && star.count() <= two.count(), "{}", star.count());
    }

    #[test]
    fn a_large_arrow_is_coloured_in_linear_time() {
        let n = 200_000;
        let arrow = Pattern::new(n, n, (0..n).flat_map(|i| [(0, i), (i, 0), (i, i)]));
        assert_eq!(arrow.colour_star().count(), 2);
        assert_eq!(arrow.colour_columns().count(), n);
    }

    #[test]
    fn an_asymmetric_graph_is_refused() {
        let error = catch(|| Pattern::new(2, 2, [(0, 1)]).colour_star()).unwrap_err();
        assert!(error.message().contains("is not symmetric"));
        assert!(catch(|| Pattern::new(2, 2, [(0, 2)])).is_err());
    }
}

#[test]
fn a_large_pattern_is_drawn_in_blocks() {
    let text = banded(480, 1).to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines.len()), ("480 x 480, 1438 entries", 25));
    assert!(lines[1].starts_with("■■■··") && lines[24].ends_with("··■■■"));
    assert_eq!(Pattern::new(0, 3, []).to_string(), "0 x 3, 0 entries");
}

#[test]
fn what_a_solver_returns_depends_on_all_that_it_was_given() {
    let x = Tensor::from([0.3, -0.4, 0.7]);
    let solved = |b: &Tensor| linear_solve(|_: &(), z: &Tensor| z * 2.0, &(), b, Krylov::cg());
    assert_eq!(jacobian_pattern(solved, &x).entries(), 9);
    let at_one = |k: &Tensor| {
        let options = Ode::new().adjoint(Adjoint::Continuous);
        odeint(|_: &Tensor, y: &Tensor, k: &Tensor| y * k, k, &Tensor::from(1.0), &[0.0, 1.0], options)
    };
    assert!(jacobian_pattern(at_one, &Tensor::from(0.5)).contains(1, 0));
    let jacobian = SparseJacobian::new(|b: &Tensor| solved(b) * b, &x);
    assert!(jacobian.to_dense(&x).all_close(&(Tensor::eye(3) * &x), 1e-12));
}

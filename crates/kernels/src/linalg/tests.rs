//! Residuals, orthogonality and status on awkward matrices, in both types; the reference products are plain `f64` loops.

use super::*;
use crate::view::samples::Numbers;

/// Allowed residuals are this many times `eps * n * size`.
const FACTOR: f64 = 8.0;

fn random(count: usize, seed: u32) -> Vec<f64> {
    let mut numbers = Numbers::new(seed);
    (0..count).map(|_| numbers.next() as f64 / 2f64.powi(31) - 1.0).collect()
}

fn to<T: Real>(a: &[f64]) -> Vec<T> {
    a.iter().map(|&x| T::from_f64(x)).collect()
}

fn from<T: Real>(a: &[T]) -> Vec<f64> {
    a.iter().map(|x| x.to_f64()).collect()
}

fn product(a: &[f64], b: &[f64], m: usize, k: usize, n: usize) -> Vec<f64> {
    let mut out = vec![0.0; m * n];
    for i in 0..m {
        for p in 0..k {
            for j in 0..n {
                out[i * n + j] += a[i * k + p] * b[p * n + j];
            }
        }
    }
    out
}

fn flip(a: &[f64], m: usize, n: usize) -> Vec<f64> {
    (0..m * n).map(|e| a[e % m * n + e / m]).collect()
}

fn identity(n: usize) -> Vec<f64> {
    (0..n * n).map(|e| (e / n == e % n) as u8 as f64).collect()
}

fn size(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |most, x| most.max(x.abs()))
}

/// `|a - b| <= FACTOR eps n scale`, elementwise.
#[track_caller]
fn expect_close<T: Real>(a: &[f64], b: &[f64], n: usize, scale: f64, what: &str) {
    assert_eq!(a.len(), b.len());
    let worst = a.iter().zip(b).fold(0.0, |worst: f64, (a, b)| {
        let difference = (a - b).abs();
        if difference.is_nan() { f64::INFINITY } else { worst.max(difference) }
    });
    let allowed = FACTOR * T::EPSILON.to_f64() * n.max(1) as f64 * scale;
    assert!(worst <= allowed, "{what} ({}, n = {n}): {worst:e} > {allowed:e}", T::DTYPE);
}

/// Names and elements of `m x n` matrices that are difficult in some way, with scales small enough for products in `f64`.
fn awkward<T: Real>(m: usize, n: usize) -> Vec<(&'static str, Vec<f64>)> {
    let a = random(m * n, (m * 1000 + n) as u32);
    let extreme = if T::EPSILON.to_f64() > 1e-10 { 1e-30 } else { 1e-250 };
    let scaled = |factor: f64| a.iter().map(|x| x * factor).collect::<Vec<_>>();
    let graded = |row: bool| {
        let size = if row { m } else { n }.max(2);
        let place = |e: usize| if row { e / n } else { e % n } as f64;
        a.iter().enumerate().map(|(e, x)| x * 10f64.powf(24.0 * place(e) / (size - 1) as f64 - 12.0)).collect()
    };
    let rank = m.min(n) / 2;
    let deficient = product(&random(m * rank, 5), &random(rank * n, 6), m, rank, n);
    let mut cases = vec![
        ("random", a.clone()),
        ("zero", vec![0.0; m * n]),
        ("ones", vec![1.0; m * n]),
        ("rank deficient", deficient),
        ("graded rows", graded(true)),
        ("graded columns", graded(false)),
        ("tiny", scaled(extreme)),
        ("huge", scaled(1.0 / extreme)),
        ("diagonal", (0..m * n).map(|e| if n > 0 && e / n == e % n { a[e] } else { 0.0 }).collect()),
    ];
    // The rounded matrix is the one that is decomposed.
    cases.iter_mut().for_each(|(_, a)| *a = from(&to::<T>(a)));
    cases
}

const SHAPES: [(usize, usize); 13] =
    [(0, 0), (0, 3), (3, 0), (1, 1), (1, 4), (4, 1), (2, 2), (5, 8), (8, 5), (33, 33), (70, 40), (40, 70), (100, 100)];

fn check_lu<T: Real>() {
    for (m, n) in SHAPES {
        for (what, a) in awkward::<T>(m, n) {
            let k = m.min(n);
            let (mut packed, mut pivots, mut sign) = (vec![T::ZERO; m * n], vec![0; k], [T::ZERO]);
            assert!(lu(&to::<T>(&a), [1, m, n], &mut packed, &mut pivots, &mut sign).is_ok());
            let packed = from(&packed);
            let (mut l, mut u) = (vec![0.0; m * k], vec![0.0; k * n]);
            for i in 0..m {
                for j in 0..n {
                    let x = packed[i * n + j];
                    if j < i && j < k {
                        l[i * k + j] = x
                    } else if i < k {
                        u[i * n + j] = x
                    }
                }
                if i < k {
                    l[i * k + i] = 1.0
                }
            }
            assert!(l.iter().all(|x| x.abs() <= 1.0), "{what}: partial pivoting bounds L");
            let (mut permuted, mut parity) = (a.clone(), 1.0);
            for (i, &p) in pivots.iter().enumerate() {
                assert!(p as usize >= i && (p as usize) < m);
                if p as usize != i {
                    parity = -parity;
                    (0..n).for_each(|j| permuted.swap(i * n + j, p as usize * n + j));
                }
            }
            assert_eq!(sign[0].to_f64(), parity);
            expect_close::<T>(&product(&l, &u, m, k, n), &permuted, m.max(n), size(&a), &format!("lu of {what}"));
        }
    }
}

#[test]
fn lu_multiplies_back_to_the_permuted_matrix() {
    check_lu::<f32>();
    check_lu::<f64>();
}

fn check_solve<T: Real>() {
    for n in [0, 1, 2, 7, 16, 17, 33, 64, 100] {
        for columns in [0, 1, 3, 40] {
            // Diagonally dominant: well conditioned.
            let mut a = random(n * n, n as u32);
            (0..n).for_each(|i| a[i * n + i] += n as f64);
            let (a, x) = (from(&to::<T>(&a)), random(n * columns, 3));
            for transposed in [false, true] {
                let op = if transposed { flip(&a, n, n) } else { a.clone() };
                let b = to::<T>(&product(&op, &x, n, n, columns));
                let mut out = vec![T::ZERO; n * columns];
                assert!(solve(&to::<T>(&a), &b, [1, n, columns], transposed, &mut out).is_ok());
                expect_close::<T>(&from(&out), &x, n, 2.0, "solve");
                let (mut packed, mut pivots, mut again) = (vec![T::ZERO; n * n], vec![0; n], out.clone());
                assert!(lu(&to::<T>(&a), [1, n, n], &mut packed, &mut pivots, &mut [T::ZERO]).is_ok());
                assert!(lu_solve(&packed, &pivots, &b, [1, n, columns], transposed, &mut again).is_ok());
                assert!(out == again);
            }
            for (upper, unit_diagonal, transposed, left) in
                (0..16).map(|c| (c & 1 > 0, c & 2 > 0, c & 4 > 0, c & 8 > 0))
            {
                let mut triangle = a.clone();
                let mut poisoned = a.clone();
                for e in 0..n * n {
                    let (i, j) = (e / n, e % n);
                    if unit_diagonal && i != j {
                        triangle[e] /= n as f64;
                    }
                    poisoned[e] = triangle[e];
                    if (upper && j < i) || (!upper && j > i) {
                        (triangle[e], poisoned[e]) = (0.0, f64::NAN);
                    }
                    if unit_diagonal && i == j {
                        (triangle[e], poisoned[e]) = (1.0, f64::NAN);
                    }
                }
                let triangle = from(&to::<T>(&triangle));
                let op = if transposed { flip(&triangle, n, n) } else { triangle.clone() };
                let (shape, b) = if left {
                    ([1, n, columns], product(&op, &x, n, n, columns))
                } else {
                    ([1, columns, n], product(&x, &op, columns, n, n))
                };
                let options = Triangular { upper, unit_diagonal, transposed, left };
                let mut out = vec![T::ZERO; n * columns];
                assert!(solve_triangular(&to::<T>(&poisoned), &to::<T>(&b), shape, options, &mut out).is_ok());
                expect_close::<T>(&from(&out), &x, n, 4.0, &format!("{options:?}"));
            }
        }
        let a = from(&to::<T>(
            &(0..n * n)
                .map(|e| (e % (n + 1) == 0) as u8 as f64 * n as f64)
                .zip(random(n * n, 9))
                .map(|(d, x)| d + x)
                .collect::<Vec<_>>(),
        ));
        let mut inverse = vec![T::ZERO; n * n];
        assert!(inv(&to::<T>(&a), [1, n], &mut inverse).is_ok());
        expect_close::<T>(&product(&a, &from(&inverse), n, n, n), &identity(n), n, 2.0, "inv");
    }
}

#[test]
fn systems_are_solved_from_both_sides() {
    check_solve::<f32>();
    check_solve::<f64>();
}

fn check_cholesky<T: Real>() {
    for n in [0, 1, 2, 5, 8, 31, 32, 33, 64, 100, 130] {
        for scale in [1.0, 1e-30, 1e30] {
            let factor: Vec<f64> = random(n * n, 4);
            let mut a = product(&factor, &flip(&factor, n, n), n, n, n);
            (0..n).for_each(|i| a[i * n + i] += 1.0);
            let a: Vec<f64> = from(&to::<T>(&a.iter().map(|x| x * scale).collect::<Vec<_>>()));
            let mut poisoned = a.clone();
            (0..n * n).filter(|e| e % n > e / n).for_each(|e| poisoned[e] = f64::NAN);
            let mut l = vec![T::ZERO; n * n];
            assert!(cholesky(&to::<T>(&poisoned), [1, n], &mut l).is_ok());
            let l = from(&l);
            assert!((0..n * n).all(|e| e % n <= e / n || l[e] == 0.0));
            expect_close::<T>(&product(&l, &flip(&l, n, n), n, n, n), &a, n, size(&a), "cholesky");
        }
    }
}

#[test]
fn cholesky_multiplies_back_and_reads_the_lower_triangle() {
    check_cholesky::<f32>();
    check_cholesky::<f64>();
    // Diagonals over the whole range.
    let a: Vec<f64> = (0..25).map(|e| if e % 6 == 0 { 10f64.powi(e / 6 * 6 - 12) } else { 0.0 }).collect();
    let mut l = [0.0; 25];
    assert!(cholesky(&a, [1, 5], &mut l).is_ok());
    assert!((0..5).all(|i| (l[i * 6] / 10f64.powi(3 * i as i32 - 6) - 1.0).abs() < 1e-14));
}

fn check_qr<T: Real>() {
    for (m, n) in SHAPES {
        for (what, a) in awkward::<T>(m, n) {
            for complete in [false, true] {
                let k = if complete { m } else { m.min(n) };
                let (mut q, mut r) = (vec![T::ZERO; m * k], vec![T::ZERO; k * n]);
                assert!(qr(&to::<T>(&a), [1, m, n], complete, &mut q, &mut r).is_ok());
                let (q, r) = (from(&q), from(&r));
                assert!((0..k).all(|i| (0..n.min(i)).all(|j| r[i * n + j] == 0.0)));
                let name = format!("qr of {what} {m}x{n}");
                expect_close::<T>(&product(&flip(&q, m, k), &q, k, m, k), &identity(k), m, 1.0, &name);
                let back = product(&q, &r, m, k, n);
                for j in 0..n {
                    // Column by column, also when the columns are graded.
                    let column = |a: &[f64]| (0..m).map(|i| a[i * n + j]).collect::<Vec<_>>();
                    expect_close::<T>(&column(&back), &column(&a), m.max(n), size(&column(&a)), &name);
                }
            }
        }
    }
}

#[test]
fn qr_multiplies_back_with_orthonormal_columns() {
    check_qr::<f32>();
    check_qr::<f64>();
    let (mut q, mut r) = ([0.0; 4], [0.0; 4]);
    assert!(qr(&[-3.0, 1.0, 4.0, 2.0], [1, 2, 2], false, &mut q, &mut r).is_ok());
    assert!(r[0] > 0.0, "LAPACK's sign: opposite to the head of the column");
}

fn check_eigh<T: Real>() {
    for n in [0, 1, 2, 3, 8, 33, 34, 40, 70, 100] {
        let mut cases = awkward::<T>(n, n);
        let (mut q, mut r) = (vec![0.0; n * n], vec![0.0; n * n]);
        assert!(qr(&random(n * n, 8), [1, n, n], false, &mut q, &mut r).is_ok());
        let with_values = |w: &dyn Fn(usize) -> f64| {
            let scaled: Vec<f64> = (0..n * n).map(|e| q[e] * w(e % n)).collect();
            from(&to::<T>(&product(&scaled, &flip(&q, n, n), n, n, n)))
        };
        cases.push(("identity", identity(n)));
        cases.push(("two values", with_values(&|i| if i % 2 == 0 { 1.0 } else { -3.0 })));
        cases.push(("graded values", with_values(&|i| 10f64.powi(-(i as i32 % 24)))));
        for (what, mut a) in cases {
            for e in 0..n * n {
                if e % n > e / n {
                    a[e] = f64::NAN;
                }
            }
            let (mut w, mut v) = (vec![T::ZERO; n], vec![T::ZERO; n * n]);
            assert!(eigh(&to::<T>(&a), [1, n], &mut w, &mut v).is_ok(), "{what}");
            for e in 0..n * n {
                if e % n > e / n {
                    a[e] = a[e % n * n + e / n];
                }
            }
            let (w, v) = (from(&w), from(&v));
            assert!(w.windows(2).all(|pair| pair[0] <= pair[1]), "{what}");
            let name = format!("eigh of {what}");
            expect_close::<T>(&product(&flip(&v, n, n), &v, n, n, n), &identity(n), n, 1.0, &name);
            let scaled: Vec<f64> = (0..n * n).map(|e| v[e] * w[e % n]).collect();
            let spread = size(&w).max(size(&a));
            expect_close::<T>(&product(&a, &v, n, n, n), &scaled, n, spread, &name);
        }
    }
}

#[test]
fn eigenvectors_are_orthonormal_and_satisfy_the_equation() {
    check_eigh::<f32>();
    check_eigh::<f64>();
}

fn check_svd<T: Real>() {
    for (m, n) in SHAPES {
        for (what, a) in awkward::<T>(m, n) {
            for full in [false, true] {
                let k = m.min(n);
                let (p, q) = if full { (m, n) } else { (k, k) };
                let (mut u, mut s, mut vh) = (vec![T::ZERO; m * p], vec![T::ZERO; k], vec![T::ZERO; q * n]);
                assert!(svd(&to::<T>(&a), [1, m, n], full, &mut u, &mut s, &mut vh).is_ok());
                let (u, s, vh) = (from(&u), from(&s), from(&vh));
                assert!(s.windows(2).all(|pair| pair[0] >= pair[1]) && s.iter().all(|&s| s >= 0.0));
                let name = format!("svd of {what} {m}x{n}");
                expect_close::<T>(&product(&flip(&u, m, p), &u, p, m, p), &identity(p), m.max(n), 1.0, &name);
                expect_close::<T>(&product(&vh, &flip(&vh, q, n), q, n, q), &identity(q), m.max(n), 1.0, &name);
                let scaled: Vec<f64> = (0..m * k).map(|e| u[e / k * p + e % k] * s[e % k]).collect();
                let spread = s.first().copied().unwrap_or(0.0);
                expect_close::<T>(&product(&scaled, &vh[..k * n], m, k, n), &a, m.max(n), spread, &name);
            }
        }
    }
}

#[test]
fn singular_vectors_are_orthonormal_and_multiply_back() {
    check_svd::<f32>();
    check_svd::<f64>();
}

#[test]
fn failures_name_the_matrix_and_the_pivot_and_leave_the_others_alone() {
    let good = [2.0, 1.0, 1.0, 2.0];
    let a = [good, [1.0, 2.0, 2.0, 4.0], good, [f64::NAN, 0.0, 0.0, 1.0]].concat();
    let expected = |reason| [Failure { matrix: 1, reason }, Failure { matrix: 3, reason: Reason::NotFinite }];

    let mut x = [0.0; 8];
    let status = solve(&a, &[3.0; 8], [4, 2, 1], false, &mut x);
    assert_eq!(status.failed, expected(Reason::Singular { pivot: 1 }));
    assert!(x[2].is_nan() && x[3].is_nan() && x[7].is_nan() && (x[0] - 1.0).abs() < 1e-15 && x[4] == x[0]);

    let mut l = [0.0; 16];
    assert_eq!(cholesky(&a, [4, 2], &mut l).failed, expected(Reason::NotPositive { pivot: 1 }));
    let status = solve_triangular(&[1.0, 0.0, 5.0, 0.0], &[1.0; 2], [1, 2, 1], Triangular::LOWER, &mut x[..2]);
    assert_eq!(status.failed, [Failure { matrix: 0, reason: Reason::Singular { pivot: 1 } }]);

    // Far inside a blocked factorisation.
    let n = 80;
    let mut a = identity(n);
    a[70 * n + 70] = -1.0;
    let status = cholesky(&a, [1, n], &mut vec![0.0; n * n]);
    assert_eq!(status.failed[0].reason, Reason::NotPositive { pivot: 70 });
    a[70 * n + 70] = 0.0;
    assert_eq!(inv(&a, [1, n], &mut vec![0.0; n * n]).failed[0].reason, Reason::Singular { pivot: 70 });
    let (mut packed, mut pivots, mut sign) = (a.clone(), vec![0; n], [0.0]);
    assert!(lu(&a, [1, n, n], &mut packed, &mut pivots, &mut sign).is_ok(), "singular is no failure of lu");
}

fn check_not_finite<T: Real>() {
    let all_nan = |out: &[&[T]]| out.iter().all(|out| out.iter().all(|x| x.to_f64().is_nan()));
    for n in [1, 2, 9, 40] {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for place in [0, n * n / 2 / n * n, n * n - 1] {
                let mut a = identity(n);
                a[place] = bad;
                let a = to::<T>(&a);
                let square = || vec![T::ZERO; n * n];
                let (mut u, mut v, mut s, mut pivots) = (square(), square(), vec![T::ZERO; n], vec![0; n]);
                assert!(!lu(&a, [1, n, n], &mut u, &mut pivots, &mut s[..1]).is_ok() && all_nan(&[&u, &s[..1]]));
                assert!(!solve(&a, &square(), [1, n, n], true, &mut u).is_ok() && all_nan(&[&u]));
                assert!(!inv(&a, [1, n], &mut u).is_ok() && all_nan(&[&u]));
                assert!(!cholesky(&a, [1, n], &mut u).is_ok() && all_nan(&[&u]));
                assert!(!qr(&a, [1, n, n], true, &mut u, &mut v).is_ok() && all_nan(&[&u, &v]));
                assert!(!eigh(&a, [1, n], &mut s, &mut v).is_ok() && all_nan(&[&s, &v]));
                assert!(!svd(&a, [1, n, n], false, &mut u, &mut s, &mut v).is_ok() && all_nan(&[&u, &s, &v]));
                let _ = solve_triangular(&a, &square(), [1, n, n], Triangular::UPPER, &mut u);
                // Right-hand sides that are not finite pass through.
                assert!(solve(&to::<T>(&identity(n)), &a, [1, n, n], false, &mut u).is_ok());
                assert!(!u[place].finite());
            }
        }
    }
}

#[test]
fn numbers_that_are_not_finite_end_in_nan() {
    check_not_finite::<f32>();
    check_not_finite::<f64>();
}

#[test]
fn the_largest_and_smallest_numbers_terminate() {
    for value in [f64::MAX, f64::MIN_POSITIVE, 5e-324] {
        let a: Vec<f64> = random(81, 1).iter().map(|x| x.signum() * value).collect();
        let (mut u, mut s, mut v, mut pivots) = (vec![0.0; 81], vec![0.0; 9], vec![0.0; 81], vec![0; 9]);
        let _ = lu(&a, [1, 9, 9], &mut u, &mut pivots, &mut s[..1]);
        let _ = solve(&a, &a, [1, 9, 9], false, &mut u);
        let _ = cholesky(&a, [1, 9], &mut u);
        assert!(qr(&a, [1, 9, 9], false, &mut u, &mut v).is_ok());
        assert!(eigh(&a, [1, 9], &mut s, &mut v).is_ok());
        expect_close::<f64>(&product(&flip(&v, 9, 9), &v, 9, 9, 9), &identity(9), 9, 1.0, "eigh");
        assert!(svd(&a, [1, 9, 9], false, &mut u, &mut s, &mut v).is_ok());
    }
}

/// The determinant by LU, whose error is far below that of a difference quotient.
fn determinant(a: &[f64], n: usize) -> f64 {
    let (mut packed, mut pivots, mut sign) = (vec![0.0; n * n], vec![0; n], [0.0]);
    let _ = lu(a, [1, n, n], &mut packed, &mut pivots, &mut sign);
    packed.iter().step_by(n + 1).product::<f64>() * sign[0]
}

#[test]
fn cofactors_are_the_derivatives_of_the_determinant_for_every_rank() {
    for n in 1..6 {
        for rank in 0..=n {
            let (u, v) = (random(n * rank, 3), random(rank * n, 4));
            let a = product(&u, &v, n, rank, n);
            let h: Vec<Vec<f64>> = (5..8).map(|seed| random(n * n, seed)).collect();
            let inner = |c: &[f64], h: &[f64]| c.iter().zip(h).map(|(c, h)| c * h).sum::<f64>();
            // det(a + x h0 + y h1 + z h2) is a polynomial; differences over all signs pick its odd part in each variable.
            let step = 0.01;
            let difference = |count: usize| -> f64 {
                let corners = (0..1 << count).map(|signs: usize| {
                    let sign = |i: usize| if signs >> i & 1 == 1 { -1.0 } else { 1.0 };
                    let point: Vec<f64> =
                        (0..n * n).map(|e| a[e] + (0..count).map(|i| sign(i) * step * h[i][e]).sum::<f64>()).collect();
                    (0..count).map(sign).product::<f64>() * determinant(&point, n)
                });
                corners.sum::<f64>() / (2.0 * step).powi(count as i32)
            };
            for count in 1..=3 {
                let directions: Vec<&[f64]> = h[1..count].iter().map(Vec::as_slice).collect();
                let mut c = vec![0.0; n * n];
                assert!(cofactor(&a, &directions, [1, n], &mut c).is_ok());
                let (got, right) = (inner(&c, &h[0]), difference(count));
                // Differences of polynomials of second degree are exact but for rounding.
                let allowed = if n <= 2 { 1e-9 } else { 2e-3 };
                assert!(
                    (got - right).abs() <= allowed * (1.0 + right.abs()),
                    "{n}, rank {rank}, {count}: {got} {right}"
                );
            }
        }
    }
}

#[test]
fn cofactors_by_the_inverse_and_by_singular_values_agree() {
    for n in [1, 2, 5, 20] {
        let mut a = random(n * n, 9);
        a.iter_mut().step_by(n + 1).for_each(|x| *x += 2.0);
        let h = random(n * n, 10);
        // One more direction that is the matrix itself: C is homogeneous of degree n - 1, so C(A; A) = (n - 1) C(A).
        let (mut c, mut along, mut twice) = (vec![0.0; n * n], vec![0.0; n * n], vec![0.0; n * n]);
        assert!(cofactor(&a, &[], [1, n], &mut c).is_ok());
        assert!(cofactor(&a, &[&a], [1, n], &mut along).is_ok());
        let scaled: Vec<f64> = c.iter().map(|x| x * (n as f64 - 1.0)).collect();
        expect_close::<f64>(&along, &scaled, n, 10.0 * size(&scaled).max(1.0), "C(A; A)");
        assert!(cofactor(&a, &[&h], [1, n], &mut along).is_ok());
        assert!(cofactor(&a, &[&h, &a], [1, n], &mut twice).is_ok());
        let scaled: Vec<f64> = along.iter().map(|x| x * (n as f64 - 2.0)).collect();
        if n > 1 {
            expect_close::<f64>(&twice, &scaled, n, 100.0 * size(&scaled).max(1.0), "C(A; H, A)");
        }
    }
}

#[test]
fn exponentials_of_every_size_agree_with_their_roots() {
    for n in [1, 2, 7] {
        for scale in [0.0, 1e-8, 0.01, 0.1, 0.5, 1.0, 3.0, 8.0] {
            let a: Vec<f64> = random(n * n, 11).iter().map(|x| x * scale).collect();
            let half: Vec<f64> = a.iter().map(|x| 0.5 * x).collect();
            let minus: Vec<f64> = a.iter().map(|x| -x).collect();
            let [mut y, mut root, mut inverse] = [(); 3].map(|()| vec![0.0; n * n]);
            assert!(matrix_exp(&a, [1, n], &mut y).is_ok() && matrix_exp(&half, [1, n], &mut root).is_ok());
            assert!(matrix_exp(&minus, [1, n], &mut inverse).is_ok());
            let bound = 20.0 * size(&y).max(1.0) * size(&inverse).max(1.0);
            expect_close::<f64>(&product(&root, &root, n, n, n), &y, n, bound, "the square of the root");
            expect_close::<f64>(&product(&y, &inverse, n, n, n), &identity(n), n, bound, "exp(A) exp(-A)");
        }
    }
    let mut y = [0.0];
    assert!(matrix_exp(&[1.0], [1, 1], &mut y).is_ok() && (y[0] - 1f64.exp()).abs() < 1e-15);
    assert!(!matrix_exp(&[f64::NAN], [1, 1], &mut y).is_ok() && y[0].is_nan());
}

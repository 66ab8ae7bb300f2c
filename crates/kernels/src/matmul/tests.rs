use super::*;
use crate::set_threads;
use crate::view::samples::Numbers;

/// A random layout (row-major, column-major, gaps, reversed, broadcast) over small integers.
struct Operand<T> {
    data: Vec<T>,
    offset: usize,
    strides: (isize, isize),
}

impl<T: Product> Operand<T> {
    fn random(rows: usize, cols: usize, numbers: &mut Numbers) -> Operand<T> {
        let gap = numbers.below(3);
        let (mut row, mut col) = match numbers.below(3) {
            0 => ((cols + gap) as isize, 1),
            1 => (1, (rows + gap) as isize),
            _ => ((2 * cols + gap) as isize, 2),
        };
        match numbers.below(8) {
            0 => row = 0,
            1 => col = 0,
            _ => {}
        }
        let mut offset = numbers.below(3) as isize;
        if numbers.below(4) == 0 {
            offset += row * rows.saturating_sub(1) as isize;
            row = -row;
        }
        if numbers.below(4) == 0 {
            offset += col * cols.saturating_sub(1) as isize;
            col = -col;
        }
        let reach = |stride: isize, size: usize| stride.max(0) as usize * size.saturating_sub(1);
        let length = offset as usize + reach(row, rows) + reach(col, cols) + 1;
        let data = (0..length).map(|_| T::from_f64(numbers.below(19) as f64 - 9.0)).collect();
        Operand { data, offset: offset as usize, strides: (row, col) }
    }

    fn matrix(&self, rows: usize, cols: usize) -> Matrix<'_, T> {
        Matrix {
            data: &self.data,
            offset: self.offset,
            rows,
            cols,
            row_stride: self.strides.0,
            col_stride: self.strides.1,
        }
    }
}

fn naive<T: Product>(a: Matrix<'_, T>, b: Matrix<'_, T>) -> Vec<T> {
    let whole = |m: Matrix<'_, T>| -> Vec<i64> {
        (0..m.rows * m.cols).map(|at| m.get(at / m.cols, at % m.cols).to_f64() as i64).collect()
    };
    let (inner, rows, columns) = (a.cols, whole(a), whole(b.transpose()));
    let dot = |i: usize, j: usize| -> i64 {
        rows[i * inner..][..inner].iter().zip(&columns[j * inner..][..inner]).map(|(x, y)| x * y).sum()
    };
    (0..a.rows).flat_map(|i| (0..b.cols).map(move |j| (i, j))).map(|(i, j)| T::from_f64(dot(i, j) as f64)).collect()
}

fn products_equal_naive_loops<T: Product>() {
    let mut numbers = Numbers::new(11);
    let sizes = [0, 1, 2, 3, 7, 8, 17, 33, 64];
    for _ in 0..300 {
        let [m, n, k] = [(); 3].map(|()| sizes[numbers.below(sizes.len())]);
        let (a, b) = (Operand::<T>::random(m, k, &mut numbers), Operand::<T>::random(k, n, &mut numbers));
        let (a, b) = (a.matrix(m, k), b.matrix(k, n));
        let mut out = vec![T::from_f64(77.0); m * n];
        matmul(a, b, &mut out);
        assert_eq!(out, naive(a, b), "{m}x{k}x{n}");
    }
}

#[test]
fn f32_products_equal_naive_loops() {
    products_equal_naive_loops::<f32>();
}

#[test]
fn f64_products_equal_naive_loops() {
    products_equal_naive_loops::<f64>();
}

#[test]
fn i64_products_equal_naive_loops_and_wrap() {
    products_equal_naive_loops::<i64>();
    let a = Matrix { data: &[i64::MAX], offset: 0, rows: 1, cols: 1, row_stride: 1, col_stride: 1 };
    let mut out = [0];
    matmul(a, a, &mut out);
    assert_eq!(out, [1]);
}

#[test]
fn tiled_products_have_the_same_bits_for_every_thread_count() {
    for (m, n, k) in [
        (257, 130, 300),
        (64, 1000, 200),
        (1000, 16, 500),
        (520, 516, 64),
        (3, 5, 100_003),
        (1, 1, 1 << 21),
        (20, 20, 5000),
    ] {
        let mut numbers = Numbers::new(m as u32);
        let data: Vec<f32> = (0..m * k + k * n).map(|_| numbers.next() as f32 / 4e9 - 0.5).collect();
        let a = Matrix { data: &data, offset: 0, rows: m, cols: k, row_stride: k as isize, col_stride: 1 };
        let b = Matrix { data: &data, offset: m * k, rows: k, cols: n, row_stride: n as isize, col_stride: 1 };
        let mut first: Option<Vec<f32>> = None;
        for threads in [1, 2, 3, 7] {
            set_threads(threads);
            let mut out = vec![f32::NAN; m * n];
            matmul(a, b, &mut out);
            let first = first.get_or_insert_with(|| out.clone());
            assert!(first.iter().zip(&out).all(|(x, y)| x.to_bits() == y.to_bits()), "{threads} threads");
        }
        for (i, j) in [(0, 0), (m - 1, n - 1), (m / 2, n / 3)] {
            let exact: f64 = (0..k).map(|p| a.get(i, p) as f64 * b.get(p, j) as f64).sum();
            assert!(
                (first.as_ref().unwrap()[i * n + j] as f64 - exact).abs() < 1e-4 * (1.0 + exact.abs()),
                "{m}x{k}x{n}"
            );
        }
    }
}

#[test]
fn many_products_equal_single_ones() {
    let mut numbers = Numbers::new(3);
    for (count, m, n, k) in
        [(0, 2, 2, 2), (1, 3, 3, 3), (50, 4, 5, 6), (40, 33, 40, 50), (3, 300, 300, 200), (5, 0, 3, 3), (4, 3, 3, 0)]
    {
        let operands: Vec<_> = (0..count)
            .map(|_| (Operand::<f64>::random(m, k, &mut numbers), Operand::<f64>::random(k, n, &mut numbers)))
            .collect();
        let pairs: Vec<_> = operands.iter().map(|(a, b)| (a.matrix(m, k), b.matrix(k, n))).collect();
        let mut out = vec![5.0; count * m * n];
        matmul_many(&pairs, &mut out);
        for (index, (a, b)) in pairs.iter().enumerate() {
            assert_eq!(out[index * m * n..][..m * n], naive(*a, *b));
        }
    }
}

#[test]
fn an_empty_inner_dimension_gives_zeros_at_any_width() {
    for cols in [1, 9, 5000] {
        let a = Matrix::<f32> { data: &[], offset: 0, rows: 3, cols: 0, row_stride: 0, col_stride: 1 };
        let b = Matrix { rows: 0, cols, ..a };
        let mut out = vec![f32::NAN; 3 * cols];
        matmul(a, b, &mut out);
        assert!(out.iter().all(|&x| x == 0.0));
    }
}

#[test]
fn tiles_are_a_function_of_the_shape_and_small_products_are_one_tile() {
    assert_eq!(tile_size(32, 32, 32), (32, 32));
    let (rows, cols) = tile_size(1024, 1024, 1024);
    assert!(1024usize.div_ceil(rows) * 1024usize.div_ceil(cols) >= 8);
}

#[test]
#[should_panic(expected = "leaves its 4 elements")]
fn a_matrix_beyond_its_data_is_refused() {
    let a = Matrix { data: &[1.0f32; 4], offset: 0, rows: 2, cols: 3, row_stride: 3, col_stride: 1 };
    let b = Matrix { rows: 3, cols: 1, ..a };
    matmul(a, b, &mut [0.0; 2]);
}

#[test]
fn the_flushing_mode_of_a_product_ends_with_it() {
    let tiny = vec![1e-20f32; 64 * 64];
    let matrix = Matrix { data: &tiny, offset: 0, rows: 64, cols: 64, row_stride: 64, col_stride: 1 };
    let mut out = vec![0f32; 64 * 64];
    matmul(matrix, matrix, &mut out);
    let half = std::hint::black_box(f32::MIN_POSITIVE) * std::hint::black_box(0.5);
    assert!(half > 0.0, "subnormal numbers exist after a product");
    assert!(out.iter().all(|&sum| sum == 0.0));
}

/// Every number of rows in a tile, narrow panels, several slices, and sides that are packed in several parts.
#[test]
fn products_in_blocks_equal_naive_loops_however_they_are_cut() {
    let mut numbers = Numbers::new(23);
    crate::simd::at_every_level(|level| {
        for rows in 1..30 {
            let (cols, depth) = (1 + numbers.below(80), 1 + numbers.below(70));
            check_product::<f32>(rows, cols, depth, &mut numbers, level);
            check_product::<f64>(rows, cols, depth, &mut numbers, level);
        }
        for (rows, cols, depth) in [(45, 70, 300), (6, 40, 1300), (300, 10, 257), (1100, 1030, 4), (1030, 1100, 3)] {
            check_product::<f32>(rows, cols, depth, &mut numbers, level);
        }
    });
}

fn check_product<T: Product>(m: usize, n: usize, k: usize, numbers: &mut Numbers, level: crate::simd::Level) {
    let (a, b) = (Operand::<T>::random(m, k, numbers), Operand::<T>::random(k, n, numbers));
    let (a, b) = (a.matrix(m, k), b.matrix(k, n));
    let mut out = vec![T::from_f64(77.0); m * n];
    matmul(a, b, &mut out);
    assert!(out == naive(a, b), "{m}x{k}x{n} at {level:?}");
}

#[test]
fn a_scaled_product_is_written_to_or_added_to_part_of_a_matrix() {
    for (m, n, k) in [(3, 5, 4), (17, 40, 9), (2, 33, 0), (30, 32, 300)] {
        let mut numbers = Numbers::new(5);
        let (a, b) = (Operand::<f64>::random(m, k, &mut numbers), Operand::<f64>::random(k, n, &mut numbers));
        let (a, b) = (a.matrix(m, k), b.matrix(k, n));
        let product = naive(a, b);
        for keep in [false, true] {
            let step = n + 3;
            let mut out = vec![7.0; m * step];
            // SAFETY: the operands were made for these sizes; `out` has `m` rows of `step > n` elements.
            unsafe { f64::multiply_scaled(0.5, a, b, keep, out.as_mut_ptr(), step) };
            for (i, row) in out.chunks_exact(step).enumerate() {
                let before = if keep { 7.0 } else { 0.0 };
                let expected = product[i * n..][..n].iter().map(|sum| before + 0.5 * sum);
                assert!(row[..n].iter().copied().eq(expected), "{m}x{k}x{n}");
                assert_eq!(row[n..], [7.0; 3], "behind the columns nothing is written");
            }
        }
    }
}

#[test]
fn a_row_is_added_to_every_row_however_the_product_runs() {
    let mut numbers = Numbers::new(31);
    for (m, n, k) in [(2, 3, 4), (200, 150, 130), (150, 200, 600), (8, 8, 20_000), (3, 700, 1000), (5, 7, 0)] {
        plus_row::<f32>(m, n, k, &mut numbers);
        plus_row::<f64>(m, n, k, &mut numbers);
        plus_row::<i64>(m, n, k, &mut numbers);
    }
}

fn plus_row<T: Product>(m: usize, n: usize, k: usize, numbers: &mut Numbers) {
    let (a, b) = (Operand::<T>::random(m, k, numbers), Operand::<T>::random(k, n, numbers));
    let (a, b) = (a.matrix(m, k), b.matrix(k, n));
    let row: Vec<T> = (0..n).map(|j| T::from_f64(j as f64 - 7.0)).collect();
    let mut out = vec![T::from_f64(77.0); m * n];
    matmul_plus(a, b, &row, &mut out);
    let expected = naive(a, b).into_iter().enumerate().map(|(at, sum)| T::wrapping_plus(sum, row[at % n]));
    assert!(out.into_iter().eq(expected), "{m}x{k}x{n} of {:?}", T::DTYPE);
}

/// Sizes and steps whose products overflow are rejected, even where the overflow would go unnoticed.
#[test]
fn sizes_beyond_all_memory_are_refused() {
    let refusal = |f: &mut dyn FnMut()| {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_err();
        caught.downcast_ref::<String>().expect("a message").clone()
    };
    let data = [1.0; 4];
    let one = |rows, cols| Matrix { data: &data, offset: 3, rows, cols, row_stride: 0, col_stride: 0 };
    // The number of elements overflows to zero.
    let message = refusal(&mut || matmul(one(1 << 32, 1), one(1, 1 << 32), &mut []));
    assert!(message.contains("the output must hold"), "{message}");
    // An inner size that would be negative as a signed integer.
    let row = Matrix { col_stride: 1, ..one(1, usize::MAX) };
    let message = refusal(&mut || matmul(row, one(usize::MAX, 1), &mut [0.0]));
    assert!(message.contains("leaves its 4 elements"), "{message}");
    // The offset of the last of three matrices wraps around to the first.
    let message = refusal(&mut || matmul_batch(one(1, 1), one(1, 1), [isize::MIN, 0], 3, &mut [0.0; 3]));
    assert!(message.contains("leaves its 4 elements"), "{message}");
}

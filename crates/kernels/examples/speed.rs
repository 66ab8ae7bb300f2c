//! Times of the kernels: `cargo run --release -p wengert-kernels --example speed`.
//!
//! Each line is the best of several rounds, so other load on the machine disturbs little.

use std::hint::black_box;
use std::time::Instant;
use wengert_kernels::*;

/// Nanoseconds of one call: the best of 15 rounds of about 2 ms each.
fn time(mut body: impl FnMut()) -> f64 {
    let warm_up = Instant::now();
    let mut calls = 0.0;
    while calls < 2.0 || (warm_up.elapsed().as_micros() < 2000 && calls < 1e6) {
        body();
        calls += 1.0;
    }
    let repeats = (2e-3 / (warm_up.elapsed().as_secs_f64() / calls)).clamp(1.0, 1e6) as usize;
    (0..15)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..repeats {
                body();
            }
            start.elapsed().as_secs_f64() * 1e9 / repeats as f64
        })
        .fold(f64::INFINITY, f64::min)
}

fn row(name: &str, nanoseconds: f64, elements: usize) {
    println!("{name:44} {nanoseconds:14.1} ns {:10.3} ns/element", nanoseconds / elements as f64);
}

fn row_major(shape: &[usize]) -> Vec<isize> {
    (0..shape.len()).map(|i| shape[i + 1..].iter().product::<usize>() as isize).collect()
}

fn view<'a, T: Element>(data: &'a [T], shape: &'a [usize], strides: &'a [isize]) -> View<'a> {
    View { dtype: T::DTYPE, bytes: bytemuck::cast_slice(data), offset: 0, shape, strides }
}

fn out<T: Element>(data: &mut [T]) -> Out<'_> {
    Out { dtype: T::DTYPE, bytes: bytemuck::cast_slice_mut(data) }
}

fn memory() {
    for bytes in [8, 64, 4096, 100_000, 8 << 20] {
        row(
            &format!("Block: allocate and free {bytes} bytes"),
            time(|| drop(black_box(Block::new(black_box(bytes))))),
            1,
        );
    }
    let mut held: Vec<Block> = Vec::with_capacity(1000);
    let nanoseconds = time(|| {
        held.extend((0..1000).map(|_| Block::new(black_box(64))));
        held.clear();
    });
    row("Block: 1000 of 64 bytes held, then freed", nanoseconds, 1000);
    let block = Block::new(64);
    row("Block: clone and drop", time(|| drop(black_box(block.clone()))), 1);
}

fn regions() {
    for n in [2, 4] {
        set_threads(n);
        row(
            &format!("for_each_tile: 16 empty tiles, {n} threads"),
            time(|| {
                for_each_tile(16, &|tile| {
                    black_box(tile);
                })
            }),
            1,
        );
        let nanoseconds = time(|| {
            for_each_tile(2, &|_| {
                let start = Instant::now();
                while start.elapsed().as_micros() < 20 {}
            });
        });
        row(&format!("for_each_tile: 2 tiles of 20 us, {n} threads"), nanoseconds, 1);
    }
    set_threads(2);
    let mut total = 0.0;
    for _ in 0..50 {
        std::thread::sleep(std::time::Duration::from_millis(2));
        let start = Instant::now();
        for_each_tile(2, &|tile| {
            black_box(tile);
        });
        total += start.elapsed().as_secs_f64();
    }
    row("for_each_tile: 2 empty tiles, workers asleep", total / 50.0 * 1e9, 1);
}

fn elementwise() {
    for length in [1usize, 16, 1024, 16 * 1024, 1 << 20, 1 << 24] {
        let (a, b) = (vec![1f32; length], vec![2f32; length]);
        let mut c = vec![0f32; length];
        let shape = [length];
        let add = |[a, b]: [&[f32]; 2], c: &mut [f32]| loop2(a, b, c, |a, b| a + b);
        row(
            &format!("map: f32 add, {length}"),
            time(|| map([view(&a, &shape, &[1]), view(&b, &shape, &[1])], out(&mut c), &add)),
            length,
        );
        row(
            &format!("map: f32 add a scalar, {length}"),
            time(|| map([view(&a, &shape, &[1]), view(&b, &shape, &[0])], out(&mut c), &add)),
            length,
        );
    }
    let (a, b) = (vec![1f32; 1 << 20], vec![2f32; 1 << 20]);
    let mut c = vec![0f32; 1 << 20];
    let shape = [1024, 1024];
    let add = |[a, b]: [&[f32]; 2], c: &mut [f32]| loop2(a, b, c, |a, b| a + b);
    for (name, strides) in [("a row", [0, 1]), ("a column", [1, 0]), ("a transpose", [1, 1024])] {
        let nanoseconds = time(|| map([view(&a, &shape, &[1024, 1]), view(&b, &shape, &strides)], out(&mut c), &add));
        row(&format!("map: f32 add {name}, 1024x1024"), nanoseconds, 1 << 20);
    }
    let (x, mut y) = (vec![1f32; 1024], vec![0f32; 1024]);
    row(
        "loop1: f32 polynomial, 1024",
        time(|| loop1(black_box(&x), &mut y, |x| ((x * 0.5 + 0.25) * x + 0.125) * x + 1.0)),
        1024,
    );
    row("loop2: f32 add, 1024", time(|| loop2(black_box(&x), black_box(&x), &mut y, |x, y| x + y)), 1024);
}

/// On slices that stay in the first cache, one core.
fn functions() {
    fn rows<T: math::Real>(name: &str, x: &[T], zero: T) {
        let mut y = vec![zero; x.len()];
        let functions: [(&str, fn(&[T], &mut [T])); 9] = [
            ("exp", math::exp_slice),
            ("log", math::log_slice),
            ("tanh", math::tanh_slice),
            ("sigmoid", math::sigmoid_slice),
            ("sin", math::sin_slice),
            ("expm1", math::expm1_slice),
            ("log1p", math::log1p_slice),
            ("softplus", math::softplus_slice),
            ("erf", math::erf_slice),
        ];
        for (function, slice) in functions {
            row(&format!("math: {name} {function}, {}", x.len()), time(|| slice(black_box(x), &mut y)), x.len());
        }
        row(
            &format!("math: {name} powf, {}", x.len()),
            time(|| math::powf_slice(black_box(x), black_box(x), &mut y)),
            x.len(),
        );
    }
    let x: Vec<f64> = (0..1024).map(|i| 0.01 + 0.005 * i as f64).collect();
    rows("f32", &x.iter().map(|&x| x as f32).collect::<Vec<f32>>(), 0.0);
    rows("f64", &x, 0.0);
}

fn copies() {
    for side in [1000usize, 1024, 4096] {
        let (x, mut y) = (Block::new(side * side * 4), Block::new(side * side * 4));
        let y = y.as_mut_slice::<f32>().unwrap();
        row(
            &format!("copy: f32 transpose, {side}x{side}"),
            time(|| copy(view(x.as_slice::<f32>(), &[side, side], &[1, side as isize]), out(y))),
            side * side,
        );
    }
    let length = 1 << 20;
    let x = vec![1f32; length];
    let mut y = vec![0f32; length];
    let mut half = vec![0u16; length];
    row("copy: f32 contiguous, 2^20", time(|| copy(view(&x, &[length], &[1]), out(&mut y))), length);
    for dtype in [DType::BF16, DType::F16] {
        let narrow =
            time(|| copy(view(&x, &[length], &[1]), Out { dtype, bytes: bytemuck::cast_slice_mut(&mut half) }));
        row(&format!("copy: f32 to {dtype}, 2^20"), narrow, length);
        let halves = View { dtype, bytes: bytemuck::cast_slice(&half), offset: 0, shape: &[length], strides: &[1] };
        row(&format!("copy: {dtype} to f32, 2^20"), time(|| copy(halves, out(&mut y))), length);
    }
}

fn reductions() {
    let cases: [(&[usize], &[bool]); 11] = [
        (&[], &[]),
        (&[16], &[true]),
        (&[16, 16], &[false, true]),
        (&[1 << 10], &[true]),
        (&[1 << 20], &[true]),
        (&[1 << 24], &[true]),
        (&[1024, 1024], &[false, true]),
        (&[1024, 1024], &[true, false]),
        (&[1 << 17, 8], &[true, false]),
        (&[1 << 17, 8], &[false, true]),
        (&[64, 128, 128], &[false, true, false]),
    ];
    for (shape, reduced) in cases {
        let length = shape.iter().product();
        let x = vec![1f32; length];
        let kept = shape.iter().zip(reduced).filter(|&(_, &r)| !r).map(|(&size, _)| size).product();
        let mut y = vec![0f32; kept];
        let strides = row_major(shape);
        row(
            &format!("sum: f32 {shape:?} over {reduced:?}"),
            time(|| reduce::sum(view(&x, shape, &strides), reduced, out(&mut y))),
            length,
        );
    }
    let x: Vec<f32> = (0..1 << 20).map(|i| ((i * 7919) % 10007) as f32).collect();
    let (mut values, mut indices) = (vec![0f32; 1024], vec![0; 1024]);
    for axis in [0, 1] {
        let nanoseconds =
            time(|| reduce::max(view(&x, &[1024, 1024], &[1024, 1]), axis, out(&mut values), &mut indices));
        row(&format!("max: f32 1024x1024 over axis {axis}"), nanoseconds, 1 << 20);
    }
}

fn products() {
    for n in [2usize, 4, 6, 8, 16, 32, 64, 128, 256, 512, 1024] {
        let a = vec![1f32; n * n];
        let m = Matrix { data: &a, offset: 0, rows: n, cols: n, row_stride: n as isize, col_stride: 1 };
        let mut c = vec![0f32; n * n];
        for threads in [1, 2] {
            set_threads(threads);
            let nanoseconds = time(|| matmul(m, m, &mut c));
            println!(
                "matmul: f32 {n}x{n}, {threads} threads {nanoseconds:14.0} ns {:8.1} GFLOP/s",
                2.0 * (n * n * n) as f64 / nanoseconds
            );
        }
    }
    for (m, n, k) in [(64usize, 128usize, 784usize), (784, 128, 64), (512, 512, 64), (128, 10, 60000), (8, 8, 1 << 20)]
    {
        let (a, b) = (vec![1f32; m * k], vec![1f32; k * n]);
        let a = Matrix { data: &a, offset: 0, rows: m, cols: k, row_stride: k as isize, col_stride: 1 };
        let b = Matrix { data: &b, offset: 0, rows: k, cols: n, row_stride: n as isize, col_stride: 1 };
        let mut c = vec![0f32; m * n];
        for threads in [1, 2] {
            set_threads(threads);
            let nanoseconds = time(|| matmul(a, b, &mut c));
            println!(
                "matmul: f32 {m}x{k} by {k}x{n}, {threads} threads {nanoseconds:14.0} ns {:8.1} GFLOP/s",
                2.0 * (m * n * k) as f64 / nanoseconds
            );
        }
    }
    set_threads(2);
}

fn convolutions() {
    let square = |kernel: usize, batch, channels, outputs, side| Convolution {
        kernel: [1, kernel, kernel],
        ..Convolution::new(batch, channels, outputs, [1, side, side])
    };
    let same = |case: Convolution| {
        let border = case.kernel.map(|size| size / 2);
        Convolution { before: border, after: border, ..case }
    };
    let cases = [
        ("3x3, 64x1x28x28 to 32", square(3, 64, 1, 32, 28)),
        ("3x3, 64x32x26x26 to 64", square(3, 64, 32, 64, 26)),
        ("3x3 padded, 16x64x56x56 to 64", same(square(3, 16, 64, 64, 56))),
        (
            "3x3 padded stride 2, 16x64x56x56 to 128",
            Convolution { stride: [1, 2, 2], ..same(square(3, 16, 64, 128, 56)) },
        ),
        ("3x3 padded, 16x512x7x7 to 512", same(square(3, 16, 512, 512, 7))),
        ("1x1, 16x256x14x14 to 256", square(1, 16, 256, 256, 14)),
        ("7x7 padded stride 2, 4x3x224x224 to 64", Convolution { stride: [1, 2, 2], ..same(square(7, 4, 3, 64, 224)) }),
        ("3x3 padded, 1x64x56x56 to 64", same(square(3, 1, 64, 64, 56))),
        ("3x3 padded depthwise, 16x128x56x56", Convolution { groups: 128, ..same(square(3, 16, 128, 128, 56)) }),
    ];
    let numbers = |length: usize| {
        let mut values = vec![0f32; length];
        uniform_f32(1, length as u64, &mut values);
        values
    };
    for (name, case) in cases {
        let size = |sizes: [usize; 3]| sizes.iter().product::<usize>();
        let weights = case.outputs * (case.channels / case.groups) * size(case.kernel);
        let x = numbers(case.batch * case.channels * size(case.input));
        let w = numbers(weights);
        let y = numbers(case.batch * case.outputs * size(case.output()));
        let (mut dx, mut dw, mut out) = (x.clone(), w.clone(), y.clone());
        let work = 2.0 * (y.len() / case.outputs.max(1) * weights) as f64;
        for threads in [1, 2] {
            set_threads(threads);
            let forward = time(|| case.forward(&x, &w, &mut out));
            let input = time(|| case.input_gradient(&y, &w, &mut dx));
            let weight = time(|| case.weight_gradient(&x, &y, &mut dw));
            for (kernel, nanoseconds) in [("forward", forward), ("input gradient", input), ("weight gradient", weight)]
            {
                println!(
                    "conv {kernel}: {name}, {threads} threads {:10.3} ms {:8.1} GFLOP/s",
                    nanoseconds / 1e6,
                    work / nanoseconds
                );
            }
        }
    }
}

fn poolings() {
    let planes = 64 * 64;
    let length = planes * 24 * 24;
    let mut x = vec![0f32; length];
    uniform_f32(1, 2, &mut x);
    let halves = Pooling::new(planes, [1, 24, 24], [1, 2, 2]);
    let overlapping = Pooling {
        stride: [1, 2, 2],
        before: [0, 1, 1],
        after: [0, 1, 1],
        ..Pooling::new(planes, [1, 24, 24], [1, 3, 3])
    };
    let overlapping = Pooling { output: overlapping.output_size(false), ..overlapping };
    for (name, pooling) in [("2x2", halves), ("3x3 stride 2", overlapping)] {
        let count = planes * pooling.output.iter().product::<usize>();
        let (mut out, mut index, mut dx) = (vec![0f32; count], vec![0; count], vec![0f32; length]);
        row(&format!("max pooling: {name}, 64x64x24x24"), time(|| pooling.max(&x, &mut out, &mut index)), length);
        row("  its gradient", time(|| scatter_planes(planes, &out, &index, &mut dx)), length);
        row("  its tangent", time(|| gather_planes(planes, &x, &index, &mut out)), length);
        row("  average", time(|| pooling.average(&x, &mut out, true, None)), length);
        row("  average, gradient", time(|| pooling.average_gradient(&out, &mut dx, true, None)), length);
    }
    let whole = AdaptivePooling { planes, input: [1, 24, 24], output: [1; 3] };
    let mut out = vec![0f32; planes];
    row("adaptive average pooling to one element", time(|| whole.average(&x, &mut out)), length);
}

fn others() {
    let mut x = vec![0f32; 1 << 20];
    row("uniform_f32, 2^20", time(|| uniform_f32(1, 2, &mut x)), 1 << 20);
    let mut x = vec![0f64; 1 << 20];
    row("uniform_f64, 2^20", time(|| uniform_f64(1, 2, &mut x)), 1 << 20);
    let table = vec![1f32; 50_000 * 128];
    let index: Vec<i64> = (0..4096).map(|i| (i * 7919) % 50_000).collect();
    let mut y = vec![0f32; 4096 * 128];
    let rows = view(&index, &[4096, 128], &[1, 0]);
    row(
        "gather: 4096 rows of 128",
        time(|| gather(view(&table, &[50_000, 128], &[128, 1]), 0, rows, out(&mut y)).unwrap()),
        4096 * 128,
    );
    let mut target = vec![0f32; 50_000 * 128];
    row(
        "scatter_add: 4096 rows of 128",
        time(|| scatter_add(&mut target, &[50_000, 128], 0, rows, view(&y, &[4096, 128], &[128, 1])).unwrap()),
        4096 * 128,
    );
    let mut bits = vec![0; 1 << 17];
    let x = vec![1f32; 1 << 20];
    let mut y = vec![0f32; 1 << 20];
    row("pack_positive, 1024x1024", time(|| pack_positive(view(&x, &[1024, 1024], &[1024, 1]), &mut bits)), 1 << 20);
    row(
        "select_bits, 1024x1024",
        time(|| select_bits(view(&x, &[1024, 1024], &[1024, 1]), view(&bits, &[1024, 128], &[128, 1]), out(&mut y))),
        1 << 20,
    );
    let n = 100;
    let mut a = vec![0f64; n * n];
    uniform_f64(3, 4, &mut a);
    let (mut u, mut s, mut vt) = (a.clone(), vec![0.0; n], a.clone());
    row("svd: f64 100x100", time(|| svd(&a, n, n, &mut u, &mut s, &mut vt)), n * n);
}

fn matrix_rows() {
    use wengert_kernels::rows::*;
    for (rows, n) in [(1024usize, 65usize), (8192, 10), (1024, 1024), (64, 50_000)] {
        let mut x = vec![0f32; rows * n];
        uniform_f32(1, 2, &mut x);
        let (mut y, mut dx) = (x.clone(), x.clone());
        let (mut a, mut b) = (vec![0f32; rows], vec![0f32; rows]);
        let (mut dgain, mut dbias) = (vec![0f32; n], vec![0f32; n]);
        let line = |name: &str, nanoseconds| row(&format!("{name}: f32 {rows}x{n}"), nanoseconds, rows * n);
        line("softmax", time(|| softmax(&x, n, &mut y)));
        line("softmax_gradient", time(|| softmax_gradient(&y, &x, n, &mut dx)));
        line("logsumexp", time(|| logsumexp(&x, n, &mut a)));
        let targets = vec![1; rows];
        let target = CrossEntropy { targets: &targets, ignored: None, smoothing: 0.0, weights: None };
        line("cross_entropy", time(|| cross_entropy(&x, n, target, &mut a, &mut b).unwrap()));
        line("cross_entropy_gradient", time(|| cross_entropy_gradient(&x, n, target, &b, &a, &mut dx)));
        let affine = Affine { gain: Some(&x[..n]), bias: Some(&x[..n]) };
        line("layer_norm", time(|| layer_norm(&x, n, affine, 1e-5, &mut y, &mut a, &mut b)));
        let nanoseconds = time(|| {
            let to = NormGradient { dx: &mut dx, dgain: Some(&mut dgain), dbias: Some(&mut dbias) };
            layer_norm_gradient(&x, n, affine.gain, &a, &b, &y, to);
        });
        line("layer_norm_gradient", nanoseconds);
    }
}

fn attentions() {
    use wengert_kernels::attention::*;
    for (batches, heads, tokens, width) in [(8usize, 8usize, 128usize, 32usize), (1, 8, 4096, 64), (32, 8, 16, 32)] {
        let length = batches * tokens * 3 * heads * width;
        let mut x = vec![0f32; length];
        uniform_f32(1, 2, &mut x);
        let spacing = heads * width;
        let place =
            |i: usize| Place { offset: i * spacing, batch: tokens * 3 * spacing, head: width, token: 3 * spacing };
        let out_place = Place { offset: 0, batch: tokens * spacing, head: width, token: spacing };
        let (mut y, mut lse, mut dx) = (vec![0f32; length / 3], vec![0f32; batches * heads * tokens], x.clone());
        for causal in [true, false] {
            let sizes = Attention {
                batches,
                heads,
                queries: tokens,
                keys: tokens,
                width,
                value_width: width,
                scale: (width as f32).sqrt().recip(),
                causal,
                mask: None,
            };
            let [q, k, v] = [0, 1, 2].map(|i| Heads { data: &x, place: place(i) });
            let operations = 4.0 * (batches * heads * tokens * tokens * width) as f64 / if causal { 2.0 } else { 1.0 };
            let line = |name: &str, nanoseconds: f64, operations: f64| {
                println!(
                    "{name}: f32 {batches}x{heads}x{tokens}x{width} causal {causal:5} {:10.3} ms {:8.1} GFLOP/s",
                    nanoseconds / 1e6,
                    operations / nanoseconds
                );
            };
            let nanoseconds =
                time(|| attention(&sizes, q, k, v, HeadsMut { data: &mut y, place: out_place }, &mut lse));
            line("attention", nanoseconds, operations);
            let saved = Saved { q, k, v, out: Heads { data: &y, place: out_place }, lse: &lse };
            let g = saved.out;
            let nanoseconds = time(|| {
                let to = AttentionGradient::Together { data: &mut dx, place: place(0), spacing };
                attention_gradient(&sizes, saved, g, to);
            });
            line("attention_gradient", nanoseconds, 2.5 * operations);
        }
    }
}

fn axes() {
    let side = 1024usize;
    let mut x = vec![0f32; side * side];
    uniform_f32(1, 2, &mut x);
    let (mut y, mut indices) = (x.clone(), vec![0i64; side * side]);
    let shape = |inner: bool| if inner { [1, side, side] } else { [side, side, 1] };
    for inner in [false, true] {
        let shape = shape(inner);
        let line = |name: &str, nanoseconds| row(&format!("{name}: f32 {shape:?}"), nanoseconds, side * side);
        line("cumsum", time(|| scan::cumsum(&x, shape, false, &mut y)));
        line("cumprod", time(|| scan::cumprod(&x, shape, false, &mut y)));
        line("cummax", time(|| scan::cummax(&x, shape, &mut y, &mut indices)));
        line("logcumsumexp", time(|| scan::logcumsumexp(&x, shape, false, &mut y)));
        line("argmin", time(|| extremes::argmin(&x, shape, &mut indices[..side])));
        line("prod", time(|| extremes::prod(&x, shape, &mut y[..side])));
        line("all", time(|| extremes::all(&x, shape, bytemuck::cast_slice_mut(&mut y[..side / 4]))));
    }
    row("cumsum: f32 [1, 2^20, 1]", time(|| scan::cumsum(&x, [1, 1 << 20, 1], false, &mut y)), 1 << 20);
    let line = |name: &str, nanoseconds| row(name, nanoseconds, side * side);
    line("sort: f32 1024x1024", time(|| order::sort(&x, side, false, &mut y, &mut indices)));
    line(
        "topk: f32 1024x1024, 50",
        time(|| order::topk(&x, side, 50, true, &mut y[..50 * side], &mut indices[..50 * side])),
    );
    line("unique: f32 2^20", time(|| drop(black_box(order::unique(&x)))));
    y.sort_by(f32::total_cmp);
    line("searchsorted: f32 2^20 in 1024", time(|| order::searchsorted(&y[..side], side, &x, 1, false, &mut indices)));
    let wide: Vec<f64> = x.iter().map(|&x| x as f64).collect();
    let mut sorted = wide.clone();
    line("sort: f64 1024x1024", time(|| order::sort(&wide, side, false, &mut sorted, &mut indices)));
}

fn main() {
    set_threads(2);
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let groups: [(&str, fn()); 13] = [
        ("memory", memory),
        ("regions", regions),
        ("elementwise", elementwise),
        ("functions", functions),
        ("copies", copies),
        ("reductions", reductions),
        ("products", products),
        ("convolutions", convolutions),
        ("poolings", poolings),
        ("others", others),
        ("matrix_rows", matrix_rows),
        ("attentions", attentions),
        ("axes", axes),
    ];
    for (name, group) in groups {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            group();
        }
    }
}

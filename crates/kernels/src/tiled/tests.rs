use super::*;
use crate::memory::{Memory, Regions, Span};
use crate::set_threads;

fn wave(count: usize, phase: f64) -> Vec<f32> {
    (0..count).map(|i| (1.3 * i as f64 + phase).sin() as f32).collect()
}

fn lane(f: impl Fn(&[f32]) -> f32 + Send + Sync + 'static, inputs: &[usize]) -> Instruction {
    let lane: Lane = Arc::new(move |inputs, out| {
        let inputs: Vec<&[f32]> = inputs.iter().map(|input| bytemuck::cast_slice(input)).collect();
        for (i, out) in bytemuck::cast_slice_mut::<u8, f32>(out).iter_mut().enumerate() {
            *out = f(&inputs.iter().map(|input| input[i]).collect::<Vec<f32>>());
        }
    });
    Instruction::Lane { lane, inputs: inputs.iter().copied().collect(), dtype: DType::F32 }
}

fn access(shape: &[usize], strides: &[isize]) -> Access {
    Access {
        dtype: DType::F32,
        offset: 0,
        shape: shape.iter().copied().collect(),
        strides: strides.iter().copied().collect(),
        by_rows: false,
    }
}

fn output(value: usize, destination: Destination) -> Output {
    Output { value, destination, dtype: DType::F32, in_place: false }
}

/// Runs one loop on `inputs` and returns outputs of these lengths.
fn run(tiled: Tiled, inputs: &[Vec<f32>], lengths: &[usize]) -> Vec<Vec<f32>> {
    let span = |region: usize, length: usize| Span { region, start: 0, length: 4 * length };
    let reads = inputs.iter().enumerate().map(|(region, input)| span(region, input.len())).collect();
    let writes = lengths.iter().enumerate().map(|(number, length)| span(inputs.len() + number, *length)).collect();
    let loops = Loops::new(vec![(Box::new(tiled), reads, writes)]);
    let mut outputs: Vec<Vec<f32>> = lengths.iter().map(|length| vec![f32::NAN; *length]).collect();
    let mut regions = Regions::default();
    let mut memory = Memory::new(&mut regions);
    inputs.iter().for_each(|input| memory.read(bytemuck::cast_slice(input)));
    outputs.iter_mut().for_each(|output| memory.write(bytemuck::cast_slice_mut(output)));
    loops.run(&mut memory);
    drop(memory);
    outputs
}

fn close(a: &[f32], b: impl IntoIterator<Item = f64>) {
    let b: Vec<f64> = b.into_iter().collect();
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((f64::from(*a) - b).abs() <= 1e-5 * b.abs().max(1.0), "{a} should be {b}");
    }
}

#[test]
fn operands_are_read_by_any_strides() {
    for (rows, cols) in [(1, 1), (7, 5), (3, 1), (40, 33), (5, 3000), (300, 257)] {
        let (x, row, column, number) = (wave(rows * cols, 0.1), wave(cols, 0.4), wave(rows, 0.9), wave(1, 2.0));
        let shape = [rows, cols];
        let operands = vec![
            access(&shape, &[cols as isize, 1]),
            access(&shape, &[0, 1]),
            access(&shape, &[1, 0]),
            access(&shape, &[0, 0]),
            // The same elements transposed.
            access(&shape, &[1, rows as isize]),
        ];
        for (split, width) in [((rows, cols), cols), ((1, rows * cols), rows * cols)] {
            let instructions = vec![lane(|v| v[0] * v[1] + v[2], &[0, 1, 2]), lane(|v| v[0] - v[1] * v[2], &[5, 3, 4])];
            let tiled = Tiled::new(split.0, width, operands.clone(), instructions, vec![output(6, Destination::Each)]);
            let inputs = [x.clone(), row.clone(), column.clone(), number.clone(), x.clone()];
            let y = run(tiled, &inputs, &[rows * cols]).remove(0);
            for i in 0..rows {
                for j in 0..cols {
                    let expected = x[i * cols + j] * row[j] + column[i] - number[0] * x[i + j * rows];
                    assert_eq!(y[i * cols + j], expected, "{rows} x {cols} at {i}, {j}");
                }
            }
        }
    }
}

#[test]
fn folds_spread_again_and_sums_end_a_loop() {
    for (rows, cols) in [(1, 1), (9, 7), (70, 40), (3, 5000), (900, 300)] {
        let x = wave(rows * cols, 0.3);
        // Each element divided by the sum of its row, minus the maximum of the row; then sums over rows, columns and everything.
        let instructions = vec![
            Instruction::Fold(Fold::Sum, 0),
            Instruction::Fold(Fold::Max, 0),
            Instruction::Spread(2),
            lane(|v| v[0] - v[1], &[0, 3]),
            Instruction::Fold(Fold::Min, 4),
        ];
        let outputs = vec![
            output(1, Destination::Each),
            output(4, Destination::Each),
            output(5, Destination::Each),
            output(4, Destination::Columns),
            output(4, Destination::Total),
        ];
        let tiled = Tiled::new(rows, cols, vec![access(&[rows, cols], &[cols as isize, 1])], instructions, outputs);
        let y = run(tiled, std::slice::from_ref(&x), &[rows, rows * cols, rows, cols, 1]);
        let row = |i: usize| x[i * cols..(i + 1) * cols].iter().map(|x| f64::from(*x));
        let largest = |i: usize| row(i).fold(f64::NEG_INFINITY, f64::max);
        close(&y[0], (0..rows).map(|i| row(i).sum()));
        close(&y[1], (0..rows).flat_map(|i| row(i).map(move |x| x - largest(i))));
        close(&y[2], (0..rows).map(|i| row(i).fold(f64::INFINITY, f64::min) - largest(i)));
        let column = |j: usize| (0..rows).map(|i| f64::from(x[i * cols + j]) - largest(i)).sum::<f64>();
        let columns: Vec<f64> = (0..cols).map(column).collect();
        close(&y[3], columns.iter().copied());
        close(&y[4], [columns.iter().sum()]);
    }
}

#[test]
fn nan_is_the_largest_and_the_smallest() {
    let x = vec![1.0, f32::NAN, 3.0, 4.0, 5.0, 6.0];
    let instructions = vec![Instruction::Fold(Fold::Max, 0), Instruction::Fold(Fold::Min, 0)];
    let outputs = vec![output(1, Destination::Each), output(2, Destination::Each)];
    let y = run(Tiled::new(2, 3, vec![access(&[6], &[1])], instructions, outputs), &[x], &[2, 2]);
    assert!(y[0][0].is_nan() && y[1][0].is_nan());
    assert_eq!((y[0][1], y[1][1]), (6.0, 4.0));
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let x = wave(1_000_003, 0.7);
    let compute = || {
        let instructions = vec![lane(|v| v[0] * v[0] - 0.3, &[0]), lane(|v| v[0] * v[1], &[0, 1])];
        let outputs = vec![output(2, Destination::Each), output(2, Destination::Total)];
        let tiled = Tiled::new(1, x.len(), vec![access(&[x.len()], &[1])], instructions, outputs);
        run(tiled, std::slice::from_ref(&x), &[x.len(), 1])
    };
    let expected = compute();
    for threads in [1, 2, 3, 7] {
        set_threads(threads);
        assert_eq!(compute(), expected);
    }
}

#[test]
fn an_operand_is_overwritten_after_it_was_read() {
    let mut x = wave(5000, 0.2);
    let before = x.clone();
    let instructions = vec![lane(|v| v[0] + 1.0, &[0]), lane(|v| v[0] * v[1], &[0, 1])];
    // The first result is written over the operand that the second instruction reads.
    let tiled = Tiled::new(
        1,
        5000,
        vec![access(&[5000], &[1])],
        instructions,
        vec![Output { in_place: true, ..output(1, Destination::Each) }, output(2, Destination::Each)],
    );
    let (one, other) = (Span { region: 0, start: 0, length: 20_000 }, Span { region: 1, start: 0, length: 20_000 });
    let loops = Loops::new(vec![(Box::new(tiled), vec![one], vec![one, other])]);
    let (mut y, mut regions) = (vec![0f32; 5000], Regions::default());
    let mut memory = Memory::new(&mut regions);
    memory.write(bytemuck::cast_slice_mut(&mut x));
    memory.write(bytemuck::cast_slice_mut(&mut y));
    loops.run(&mut memory);
    drop(memory);
    for i in 0..5000 {
        assert_eq!((x[i], y[i]), (before[i] + 1.0, before[i] * (before[i] + 1.0)));
    }
}

#[test]
#[should_panic(expected = "overwritten while it is read")]
fn an_operand_is_not_overwritten_by_accident() {
    let tiled =
        Tiled::new(1, 4, vec![access(&[4], &[1])], vec![lane(|v| v[0], &[0])], vec![output(1, Destination::Each)]);
    let span = Span { region: 0, start: 0, length: 16 };
    Loops::new(vec![(Box::new(tiled), vec![span], vec![span])]);
}

#[test]
#[should_panic(expected = "use what one of them writes")]
fn loops_that_run_together_are_apart() {
    let one = || {
        let (lanes, outputs) = (vec![lane(|v| v[0], &[0])], vec![output(1, Destination::Each)]);
        Box::new(Tiled::new(1, 4, vec![access(&[4], &[1])], lanes, outputs))
    };
    let span = |region: usize| Span { region, start: 0, length: 16 };
    Loops::new(vec![(one(), vec![span(0)], vec![span(1)]), (one(), vec![span(1)], vec![span(2)])]);
}

#[test]
fn a_loop_runs_on_rows_while_the_product_goes_on() {
    use crate::matmul::{Matrix, matmul};
    use std::sync::atomic::{AtomicUsize, Ordering};
    let (rows, inner, cols) = (150, 70, 130);
    let (a, b, added) = (wave(rows * inner, 0.1), wave(inner * cols, 0.5), wave(cols, 0.9));
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let plus = lane(
        move |x| {
            counted.fetch_add(1, Ordering::Relaxed);
            x[0] + x[1]
        },
        &[0, 1],
    );
    let product = access(&[rows * cols], &[1]);
    let outputs = vec![Output { in_place: true, ..output(2, Destination::Each) }, output(2, Destination::Columns)];
    let tiled = Tiled::new(rows, cols, vec![product, access(&[rows, cols], &[0, 1])], vec![plus], outputs);
    let span = |region: usize, length: usize| Span { region, start: 0, length: 4 * length };
    let spans = [(0, a.len()), (1, b.len()), (2, cols), (3, rows * cols), (4, cols)].map(|(r, n)| span(r, n));
    let [a_span, b_span, added_span, led, sums] = spans;
    let followed = Followed::new(vec![a_span, b_span], led, Box::new(tiled), vec![led, added_span], vec![led, sums]);
    let (mut out, mut totals, mut regions) = (vec![f32::NAN; rows * cols], vec![f32::NAN; cols], Regions::default());
    let mut memory = Memory::new(&mut regions);
    [&a, &b, &added].into_iter().for_each(|input| memory.read(bytemuck::cast_slice(input)));
    memory.write(bytemuck::cast_slice_mut(&mut out));
    memory.write(bytemuck::cast_slice_mut(&mut totals));
    let run = followed.run(&mut memory, |reads, writes| -> Result<(), ()> {
        let matrix = |bytes, rows: usize, cols: usize| Matrix {
            data: bytemuck::cast_slice(bytes),
            offset: 0,
            rows,
            cols,
            row_stride: cols as isize,
            col_stride: 1,
        };
        let (a, b) = (matrix(reads[0], rows, inner), matrix(reads[1], inner, cols));
        matmul::<f32>(a, b, bytemuck::cast_slice_mut(writes[0]));
        assert_eq!(calls.load(Ordering::Relaxed), rows * cols, "the loop has run when the product returns");
        Ok(())
    });
    assert_eq!(run, Ok(()));
    drop(memory);
    let number = |i: usize, j: usize| {
        let dot: f64 = (0..inner).map(|k| f64::from(a[i * inner + k]) * f64::from(b[k * cols + j])).sum();
        dot + f64::from(added[j])
    };
    close(&out, (0..rows * cols).map(|at| number(at / cols, at % cols)));
    close(&totals, (0..cols).map(|j| (0..rows).map(|i| number(i, j)).sum()));
}

#[test]
#[should_panic(expected = "still read")]
fn a_loop_that_follows_does_not_write_what_the_kernel_reads() {
    let tiled =
        Tiled::new(1, 8, vec![access(&[8], &[1])], vec![lane(|x| -x[0], &[0])], vec![output(1, Destination::Each)]);
    let span = |region: usize| Span { region, start: 0, length: 32 };
    Followed::new(vec![span(0)], span(1), Box::new(tiled), vec![span(1)], vec![span(0)]);
}

#[test]
#[should_panic(expected = "leaves its span")]
fn an_operand_before_its_span_is_refused() {
    let x = Access { offset: -1, ..access(&[4], &[1]) };
    let tiled = Tiled::new(1, 4, vec![x], vec![lane(|x| x[0], &[0])], vec![output(1, Destination::Each)]);
    run(tiled, &[vec![0.0; 4]], &[4]);
}

#[test]
#[should_panic(expected = "a space of")]
fn more_elements_than_can_be_counted_are_refused() {
    let (count, copy) = (1 << 62, lane(|x| x[0], &[0]));
    let tiled = Tiled::new(1, count, vec![access(&[count], &[0])], vec![copy], vec![output(1, Destination::Each)]);
    run(tiled, &[vec![0.0]], &[0]);
}

//! Operations on parts, positions, windows and keys, in all dtypes and at sizes that cases do not have.

use super::emulator::Emulator;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wengert::ScatterReduce;
use wengert::backend::{Backend, Plan, Runner, Target};
use wengert::prelude::*;
use wengert_cuda::launch::{Launch, Work};
use wengert_cuda::lower::lower;

/// Counts copies of bytes, and does not run what it is given.
struct Copies(Arc<AtomicUsize>);

impl Backend for Copies {
    fn target(&self) -> Target {
        wengert_cuda::TARGET
    }

    fn runner(&self, plan: Plan) -> Result<Box<dyn Runner>, Error> {
        let is_copy = |launch: &&Launch| matches!(launch.work, Work::Copy { .. });
        self.0.store(lower(&plan, 90)?.0.list.iter().filter(is_copy).count(), Ordering::Relaxed);
        Err(Error::new(ErrorKind::Device, "counted", "nothing runs"))
    }
}

/// The results of a backend and of the processor.
fn both(f: impl Fn(&Vec<Tensor>) -> Vec<Tensor>, operands: Vec<Tensor>, backend: Arc<dyn Backend>) -> [Vec<Tensor>; 2] {
    let found = compile(|x: &Vec<Tensor>| f(x)).on(backend).call(&operands);
    [found, compile(|x: &Vec<Tensor>| f(x)).call(&operands)]
}

/// The results are equal, bit for bit.
fn equal(f: impl Fn(&Vec<Tensor>) -> Vec<Tensor>, operands: Vec<Tensor>) {
    let [found, right] = both(f, operands, Arc::new(Emulator("shapes")));
    for (number, (found, right)) in found.iter().zip(&right).enumerate() {
        assert_eq!(found, right, "result {number}");
    }
}

/// The results differ by rounding only.
fn near(f: impl Fn(&Vec<Tensor>) -> Vec<Tensor>, operands: Vec<Tensor>, tolerance: f64) {
    let [found, right] = both(f, operands, Arc::new(Emulator("shapes")));
    for (number, (found, right)) in found.iter().zip(&right).enumerate() {
        let (found, right) = (found.cast(DType::F64), right.cast(DType::F64));
        assert!(found.all_close(&right, tolerance), "result {number}: {found}, not {right}");
    }
}

/// Whole numbers that every dtype holds.
fn small(shape: &[usize], most: usize, dtype: DType) -> Tensor {
    let count: usize = shape.iter().product();
    let numbers: Vec<i64> = (0..count).map(|i| (i * 7 % most) as i64).collect();
    Tensor::from_vec(numbers, shape).cast(dtype)
}

fn wave(shape: &[usize], dtype: DType) -> Tensor {
    let count: usize = shape.iter().product();
    let numbers: Vec<f64> = (0..count).map(|i| (i as f64 * 1.7 + 0.3).sin()).collect();
    Tensor::from_vec(numbers, shape).cast(dtype)
}

const ALL: [DType; 8] =
    [DType::F64, DType::F32, DType::BF16, DType::F16, DType::I64, DType::I32, DType::U8, DType::Bool];

#[test]
fn random_numbers_have_the_same_bits() {
    let f = |x: &Vec<Tensor>| {
        let mut key = Key::from_tensor(x[0].clone());
        let mut all: Vec<Tensor> = vec![
            Key::from_tensor(x[0].clone()).next().tensor().clone(),
            Key::from_tensor(x[0].clone()).uniform([5], DType::F32),
        ];
        all.extend(
            [DType::F32, DType::F64, DType::BF16, DType::F16]
                .into_iter()
                .map(|dtype| key.next().uniform([3, 37], dtype)),
        );
        all.extend([key.next().permutation(2500), key.next().permutation(40), key.next().tensor().clone()]);
        all
    };
    equal(f, vec![Tensor::from([-3i64, 1 << 40])]);
}

#[test]
fn parts_of_all_dtypes() {
    for dtype in ALL {
        let f = |x: &Vec<Tensor>| {
            let turned = x[1].t();
            let mut y = Tensor::concat(&[&x[0], &turned, &x[0]], 1);
            y.slice_mut((Select::from(1..5).step(3), 1..8)).assign(x[0].slice((2..4, 0..1)));
            let mut all = vec![
                Tensor::concat(&[&x[0], &x[0]], 0),
                y,
                x[0].diagonal_scatter(&x[1].slice((0, 0..5)), 1, 1, 0),
                x[0].tril(1),
                x[0].triu(-1),
            ];
            if dtype != DType::Bool {
                let mut added = &x[0] + &x[0];
                added.slice_mut((1..3, 1..3)).add(x[1].slice((0..2, 0..2)));
                all.push(added);
            }
            all
        };
        equal(f, vec![small(&[6, 5], 11, dtype), small(&[3, 6], 5, dtype)]);
    }
}

#[test]
fn positions_of_all_dtypes() {
    for dtype in [DType::BF16, DType::I32, DType::Bool] {
        let f = |x: &Vec<Tensor>| {
            let (y, index, columns, v, w) = (&x[0], &x[1], &x[2], &x[3], &x[4]);
            let mut all = vec![
                y.scatter(0, index, v),
                y.scatter(1, columns, w),
                y.gather(0, index),
                y.gather(1, columns),
                y.flatten().scatter(0, &index.flatten(), &v.flatten()),
            ];
            if dtype != DType::Bool {
                let flat = |how| y.flatten().scatter_reduce(0, &index.flatten(), &v.flatten(), how, true);
                all.extend([y.scatter_add(0, index, v), y.scatter_add(1, columns, w)]);
                all.push(flat(ScatterReduce::Amin));
            }
            all
        };
        let (index, columns) = (small(&[520, 2], 4, DType::I32), small(&[3, 5], 3, DType::U8));
        let values = [small(&[520, 2], 2, dtype), small(&[3, 5], 5, dtype)];
        let [v, w] = values;
        equal(f, vec![small(&[4, 3], 9, dtype), index, columns, v, w]);
    }
}

#[test]
fn updates_of_what_is_not_read_again_happen_in_place() {
    let f = |x: &Vec<Tensor>| {
        let mut y = x[0].exp();
        y.slice_mut((1..3, ..)).add(&x[1]);
        y.slice_mut((.., 0)).assign(2.0);
        let y = y.scatter_add(0, &x[2], &x[3]).scatter(0, &x[2], &x[3]).scatter_reduce(
            0,
            &x[2],
            &x[3],
            ScatterReduce::Amax,
            true,
        );
        vec![y]
    };
    let index = Tensor::from([[2i64, 0, 3], [1, 2, 3]]);
    let operands = vec![wave(&[4, 3], DType::F64), wave(&[2, 3], DType::F64), index, wave(&[2, 3], DType::F64)];
    let count = Arc::new(AtomicUsize::new(9));
    let counted = catch(|| compile(f).on(Arc::new(Copies(count.clone()))).call(&operands)).unwrap_err();
    assert_eq!((counted.operation(), count.load(Ordering::Relaxed)), ("counted", 0));
    let f = |x: &Vec<Tensor>| {
        let y = f(x).remove(0);
        let step = |carry: &Tensor, row: &Tensor| {
            let mut next = carry.clone();
            next.slice_mut((0..2, ..)).add(row);
            (next.clone(), next.sum())
        };
        let (last, sums) = scan(step, &y, &x[1]);
        vec![last, sums]
    };
    near(f, operands, 1e-12);
}

#[test]
fn attention_with_masks() {
    for (dtype, tolerance) in [(DType::F64, 1e-12), (DType::BF16, 3e-2)] {
        for (queries, keys, causal) in [(7, 40, false), (37, 20, true)] {
            let f = |x: &Vec<Tensor>| {
                let [q, k, v, added, seen, g] = &x[..] else { unreachable!("six operands") };
                let masks = [Attention::new().mask(added), Attention::new().mask(seen), Attention::new().scale(-0.3)];
                let mut all = Vec::new();
                for options in masks {
                    let options = if causal { options.causal() } else { options };
                    let attend = |(q, k, v): &(Tensor, Tensor, Tensor)| (q.attention(k, v, &options) * g).sum();
                    let (dq, dk, dv) = grad(attend)(&(q.clone(), k.clone(), v.clone()));
                    all.extend([q.attention(k, v, &options), dq, dk, dv]);
                }
                all
            };
            let seen = small(&[2, 1, queries, keys], 3, DType::Bool);
            let operands = vec![
                wave(&[2, 2, queries, 5], dtype),
                wave(&[2, 2, keys, 5], dtype) * 0.7,
                wave(&[2, 2, keys, 34], dtype),
                wave(&[queries, keys], dtype),
                seen,
                wave(&[2, 2, queries, 34], dtype),
            ];
            near(f, operands, tolerance);
        }
    }
}

#[test]
fn windows_of_other_dtypes() {
    for (dtype, tolerance) in [(DType::F64, 1e-12), (DType::F32, 1e-5), (DType::F16, 5e-3), (DType::BF16, 3e-2)] {
        let f = |x: &Vec<Tensor>| {
            let (image, weight, line) = (&x[0], &x[1], &x[2]);
            let pool = Pool::new(3).stride(2).padding(1).ceil_mode(true).count_include_pad(false);
            let options = Conv::new().stride(2).padding(1);
            let product = |(x, w): &(Tensor, Tensor)| x.conv2d(w, &options).square().sum();
            let (dx, dw) = grad(product)(&(image.clone(), weight.clone()));
            vec![
                image.avg_pool2d(&pool),
                image.max_pool2d(&pool),
                image.adaptive_avg_pool2d([3, 5]),
                image.adaptive_max_pool2d([5, 2]),
                grad(|x: &Tensor| x.avg_pool2d(&pool).square().sum())(image),
                grad(|x: &Tensor| x.adaptive_avg_pool2d([3, 5]).square().sum())(image),
                grad(|x: &Tensor| x.max_pool2d(&pool).sum())(image),
                image.conv2d(weight, &options),
                dx,
                dw,
                line.unfold(1, 4, 2),
                grad(|x: &Tensor| x.unfold(1, 4, 2).square().sum())(line),
            ]
        };
        near(
            f,
            vec![wave(&[2, 4, 7, 6], dtype), wave(&[3, 4, 3, 2], dtype) * 0.3, wave(&[3, 11, 2], dtype)],
            tolerance,
        );
    }
    let f = |x: &Vec<Tensor>| {
        let columns = x[0].unfold_patches([2, 2], &Conv::new());
        vec![columns.fold_patches([5, 4], [2, 2], &Conv::new()), columns]
    };
    for dtype in [DType::I64, DType::I32, DType::U8] {
        equal(f, vec![small(&[2, 3, 5, 4], 50, dtype)]);
    }
}

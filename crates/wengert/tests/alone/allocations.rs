//! Hot kernels take their scratch memory from the pool: when they run again at the same size, they request nothing from the system.

use super::{ALLOCATOR, turn};
use wengert::fused::*;
use wengert::prelude::*;
use wengert::primitive::{Attrs, Out, SpecRef, View, find, view_of};

/// The number of allocations of a run, unless three runs in a row soon make none.
fn allocations(name: &str, attrs: &Attrs, operands: &[Tensor]) -> usize {
    let op = find(name).unwrap_or_else(|| panic!("there is no primitive {name}"));
    let views: Vec<View<'_>> = operands.iter().map(|operand| view_of(operand).expect("it holds numbers")).collect();
    let specs: Vec<SpecRef<'_>> = views.iter().map(|view| SpecRef { shape: view.shape, dtype: view.dtype }).collect();
    let specs = op.infer(attrs, &specs).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut memory: Vec<Vec<u64>> = specs.iter().map(|spec| vec![0; spec.bytes().div_ceil(8)]).collect();
    let mut outs: Vec<Out<'_>> = (memory.iter_mut().zip(&specs))
        .map(|(words, spec)| Out { dtype: spec.dtype, bytes: &mut bytemuck::cast_slice_mut(words)[..spec.bytes()] })
        .collect();
    // The first runs fill the pool, also for a thread that gets its first task.
    let (mut calm, mut most) = (0, 0);
    for _ in 0..20 {
        let before = ALLOCATOR.count();
        let done = op.run(attrs, &views, &mut outs).unwrap_or_else(|error| panic!("{name}: {error}"));
        let count = ALLOCATOR.count() - before;
        assert!(done, "{name} has no run");
        (calm, most) = if count == 0 { (calm + 1, most) } else { (0, most.max(count)) };
        if calm == 3 {
            return 0;
        }
    }
    most
}

fn numbers<const N: usize>(shape: [usize; N], dtype: DType) -> Tensor {
    (Key::new(7).uniform(shape, DType::F64) - 0.5).cast(dtype).contiguous()
}

fn below(limit: f64, shape: &[usize]) -> Tensor {
    (Key::new(3).uniform(shape, DType::F64) * limit).cast(DType::I64).contiguous()
}

/// Calls of one size, small or large enough for several threads.
fn calls(dtype: DType, n: usize) -> Vec<(&'static str, Attrs, Vec<Tensor>)> {
    let x = |shape: [usize; 2]| numbers(shape, dtype);
    let none = Attrs::new;
    let axis = |axis: i64| Attrs::new().with_int("axis", axis);
    let windows = |list: &[(&'static str, [i64; 2])]| {
        list.iter().fold(none(), |attrs, (name, sizes)| attrs.with_ints(name, *sizes))
    };
    let conv = windows(&[
        ("input", [n as i64, n as i64]),
        ("kernel", [3, 3]),
        ("stride", [1, 1]),
        ("dilation", [1, 1]),
        ("before", [1, 1]),
        ("after", [1, 1]),
    ])
    .with_int("groups", 1);
    let images = numbers([2, 4, n, n], dtype);
    let heads = || numbers([2, 2, n, 8], dtype);
    let row = || numbers([n], dtype);
    let attention = || none().with_int("causal", 1).with_real("scale", 0.5).with_int("mask", 0);
    let entropy = none().with_int("ignored", -100).with_real("smoothing", 0.1).with_int("weight", 0);
    let norm = none().with_real("epsilon", 1e-5).with_int("weight", 1).with_int("bias", 1);
    let backward = none().with_int("weight", 1).with_int("dweight", 1).with_int("dbias", 1);
    vec![
        ("matmul", none(), vec![x([n, n]), x([n, n])]),
        ("matmul", none(), vec![numbers([3, n, 5], dtype), numbers([3, 5, n], dtype)]),
        ("matmul", none(), vec![x([n, n]).t(), x([n, n])]),
        ("linear", none(), vec![x([n, 16]), x([8, 16]), numbers([8], dtype)]),
        ("linear", none(), vec![x([n, 16]), x([8, 16])]),
        ("sum", none().with_sizes("axes", &[0]), vec![x([n, n])]),
        ("sum", none().with_sizes("axes", &[1]), vec![x([n, n])]),
        ("sum", none().with_sizes("axes", &[0, 1]), vec![x([n, n]).t()]),
        ("gather", axis(0), vec![x([n, n]), below(n as f64, &[n, n])]),
        ("scatter_add", axis(0), vec![x([n, n]), below(n as f64, &[n, n]), x([n, n])]),
        ("softmax", none(), vec![x([n, n])]),
        ("softmax_gradient", none(), vec![x([n, n]), x([n, n])]),
        ("log_softmax", none(), vec![x([n, n])]),
        ("log_softmax_gradient", none(), vec![x([n, n]), x([n, n])]),
        ("layer_norm", norm, vec![x([n, n]), row(), row()]),
        ("layer_norm_gradient", backward, vec![x([n, n]), row(), row(), row(), x([n, n])]),
        ("softmax_cross_entropy", entropy.clone(), vec![x([n, n]), below(n as f64, &[n])]),
        ("softmax_cross_entropy_gradient", entropy, vec![x([n, n]), below(n as f64, &[n]), row(), row()]),
        ("attention", attention(), vec![heads(), heads(), heads()]),
        (
            "attention_gradient",
            attention(),
            vec![heads(), heads(), heads(), heads(), numbers([2, 2, n], dtype), heads()],
        ),
        ("self_attention", attention().with_int("heads", 2), vec![numbers([2, n, 48], dtype)]),
        (
            "self_attention_gradient",
            attention().with_int("heads", 2),
            vec![
                numbers([2, n, 48], dtype),
                numbers([2, n, 16], dtype),
                numbers([2, 2, n], dtype),
                numbers([2, n, 16], dtype),
            ],
        ),
        ("conv", conv.clone(), vec![images.clone(), numbers([6, 4, 3, 3], dtype)]),
        ("conv_input_gradient", conv.clone(), vec![numbers([2, 6, n, n], dtype), numbers([6, 4, 3, 3], dtype)]),
        ("conv_weight_gradient", conv, vec![images, numbers([2, 6, n, n], dtype)]),
        ("where", none(), vec![below(2.0, &[n, n]).cast(DType::Bool), x([n, n]), x([n, n]).t()]),
        ("tanh", none(), vec![x([n, n]).t()]),
        ("mul", none(), vec![x([n, n]), x([n, n]).t()]),
        ("cast", none().with_dtype("dtype", DType::F32), vec![x([n, n])]),
        ("transpose", none().with_sizes("permutation", &[1, 0]), vec![x([n, n])]),
    ]
}

#[test]
fn nothing_is_allocated_when_it_runs_again_at_one_size() {
    let _turn = turn();
    hot_kernels_allocate_nothing();
    assert!(!steps_of_training_allocate_nothing(4, 8).contains("parts"));
    assert!(!steps_of_training_allocate_nothing(4, 64).contains("parts"));
    assert!(steps_of_training_allocate_nothing(32, 64).contains("rows in 2 parts"));
}

fn hot_kernels_allocate_nothing() {
    let before = ALLOCATOR.count();
    assert_eq!(std::hint::black_box(vec![1u8; 100]).len(), 100);
    assert!(ALLOCATOR.count() > before, "the count is blind");
    let mut wrong = Vec::new();
    for dtype in [DType::F32, DType::F64, DType::BF16] {
        for n in [6, 96] {
            for (name, attrs, operands) in calls(dtype, n) {
                let count = allocations(name, &attrs, &operands);
                if count > 0 {
                    wrong.push(format!("{name}({attrs}) in {dtype}, size {n}: {count}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "allocations:\n{}", wrong.join("\n"));
}

/// A training step: a loop, attention, a norm, an embedding, a loss, and an optimiser with moments.
#[derive(Tree)]
struct State {
    table: Tensor,
    weights: Vec<Tensor>,
    moments: Vec<[Tensor; 2]>,
    norm: (Tensor, Tensor),
}

/// The plan of the step.
fn steps_of_training_allocate_nothing(batch: usize, n: usize) -> String {
    let weights = || vec![numbers([3 * n, n], DType::F32), numbers([n, n], DType::F32), numbers([n, n], DType::F32)];
    let moments = weights().iter().map(|w| [0, 1].map(|_| w.zeros_like().contiguous())).collect();
    let norm = (numbers([n], DType::F32), numbers([n], DType::F32));
    let mut state = State { table: numbers([16, n], DType::F32), weights: weights(), moments, norm };
    let data = (below(16.0, &[batch, 24]), below(8.0, &[batch]));
    let step = compile_step(|state: &mut State, (tokens, labels): &(Tensor, Tensor)| {
        let loss = |w: &Vec<Tensor>| {
            let x = state.table.embedding(tokens);
            let norm = Norm::new().weight(&state.norm.0).bias(&state.norm.1);
            let h = x.layer_norm(&[n], &norm).linear(&w[0]).self_attention(2, &Attention::new().causal());
            let cell = |h: &Tensor, x: &Tensor| ((x.linear(&w[1]) + h.linear(&w[2])).tanh(), ());
            let (h, ()) = scan(cell, &Tensor::full([batch, n], 0f32), &h.permute([1, 0, 2]));
            h.cross_entropy(labels, &CrossEntropy::new())
        };
        let (loss, gradients) = value_and_grad(loss)(&state.weights);
        for ((w, g), [mean, square]) in state.weights.iter_mut().zip(&gradients).zip(&mut state.moments) {
            mean.combine_assign(0.9, g, 0.1);
            square.combine_square_assign(0.999, g, 0.001);
            *w -= &*mean / (square.sqrt() + 1e-8) * 1e-3;
        }
        loss
    });
    let mut loss = Tensor::from(0f32);
    let mut calm = 0;
    for _ in 0..30 {
        let before = ALLOCATOR.count();
        step.call_into(&mut state, &data, &mut loss);
        calm = if ALLOCATOR.count() == before { calm + 1 } else { 0 };
        if calm == 5 {
            return step.plan(&state, &data).to_string();
        }
    }
    let before = ALLOCATOR.count();
    step.call_into(&mut state, &data, &mut loss);
    panic!("{} allocations in a step of width {n}:\n{}", ALLOCATOR.count() - before, step.plan(&state, &data));
}

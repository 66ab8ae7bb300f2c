//! The cost of compiling: tracing, rewriting and planning long programs, and their first call.

use wengert::prelude::*;

/// Measures every program, in processor time of this thread.
pub fn run(json: bool) {
    for steps in [200, 800] {
        measure(json, "gru", steps, &Gru::new(steps), Gru::loss);
    }
    let x = Tensor::from([[0.1f32, 0.2], [0.3, 0.4]]);
    for (name, operation) in CHAINS {
        for ops in [3_000, 10_000, 30_000] {
            let chain = |x: &Tensor| (0..ops).fold(x.clone(), |y, number| operation(x, &y, number)).sum();
            measure(json, name, ops, &x, chain);
        }
    }
}

/// One operation of a chain, on its start and on the latest value.
type Operation = fn(x: &Tensor, y: &Tensor, number: usize) -> Tensor;

/// Operations that fuse into loops, operations that read one value repeatedly, and operations that are each a kernel.
const CHAINS: [(&str, Operation); 3] = [
    ("lanes", |_, y, number| match number % 4 {
        0 => y.sin(),
        1 => y * 1.01,
        2 => y.tanh(),
        _ => y + 0.5,
    }),
    ("shared", |x, y, number| if number % 2 == 0 { y * x } else { y.cos() }),
    ("products", |x, y, number| if number % 2 == 0 { y.matmul(x) } else { y.tanh() }),
];

/// A gated recurrent unit, its weights by gate.
#[derive(Tree)]
struct Gru {
    from_input: Vec<Tensor>,
    from_state: Vec<Tensor>,
    biases: Vec<Tensor>,
    /// One tensor per step.
    #[tree(frozen)]
    inputs: Tensor,
}

/// Rows of a batch, and columns of inputs and states.
const BATCH: usize = 32;
const WIDTH: usize = 32;

impl Gru {
    fn new(steps: usize) -> Gru {
        let weights = |shift: f64| {
            let number = |i: usize| (0.25 * (0.7 * i as f64 + shift).cos()) as f32;
            Tensor::from((0..WIDTH * WIDTH).map(number).collect::<Vec<f32>>()).reshape([WIDTH, WIDTH])
        };
        Gru {
            from_input: (0..3).map(|gate| weights(gate as f64)).collect(),
            from_state: (3..6).map(|gate| weights(gate as f64)).collect(),
            biases: (0..3).map(|_| Tensor::full([WIDTH], 0.1f32)).collect(),
            inputs: Tensor::full([steps, BATCH, WIDTH], 0.5f32).contiguous(),
        }
    }

    /// The mean of the last state, every step unrolled.
    fn loss(&self) -> Tensor {
        let Gru { from_input, from_state, biases, inputs } = self;
        let step = |state: Tensor, number: isize| {
            let input = inputs.select(0, number);
            let gate = |gate: usize, state: &Tensor| {
                input.linear_bias(&from_input[gate], &biases[gate]) + state.linear(&from_state[gate])
            };
            let (reset, update) = (gate(0, &state).sigmoid(), gate(1, &state).sigmoid());
            let new = gate(2, &(reset * &state)).tanh();
            &new + update * (state - &new)
        };
        (0..inputs.shape()[0] as isize).fold(Tensor::full([BATCH, WIDTH], 0f32), step).mean()
    }
}

/// Measures the gradient of one function, stage by stage and as one first call.
fn measure<X: Tree>(json: bool, name: &str, size: usize, x: &X, f: impl Fn(&X) -> Tensor + Copy) {
    let compiled = compile(grad(f));
    let (traced, trace) = timed(|| compiled.program(x));
    let (rewritten, rewrite) = timed(|| traced.optimised());
    let (_, plan) = timed(|| rewritten.plan());
    let (_, all) = timed(|| drop(compile(grad(f)).call(x)));
    let (before, equations) = (traced.equations().len(), rewritten.equations().len());
    match json {
        true => println!(
            r#"{{"bench":"planning","program":"{name}","size":{size},"traced":{before},"equations":{equations},"trace_s":{trace:.4},"rewrite_s":{rewrite:.4},"plan_s":{plan:.4},"first_call_s":{all:.4}}}"#
        ),
        false => println!(
            "{name:<8} {size:>6}: {before:>7} equations traced in {trace:7.3} s, rewritten as {equations:>6} in {rewrite:7.3} s, \
             planned in {plan:7.3} s; first call {all:7.3} s"
        ),
    }
}

/// The result of `f`, and the processor time of this thread that it took, in seconds.
fn timed<T>(f: impl FnOnce() -> T) -> (T, f64) {
    let start = processor_time();
    let result = f();
    (result, processor_time() - start)
}

/// The processor time of this thread so far in seconds, as reported by Linux.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts processor time");
    let nanoseconds: f64 = text.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number");
    nanoseconds * 1e-9
}

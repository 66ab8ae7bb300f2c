//! Compiled functions: what is fused, what is updated in place, and that results equal those of single operations.

use wengert::prelude::*;

fn wave(shape: impl Into<Shape>, phase: f64) -> Tensor {
    let shape = shape.into();
    let numbers: Vec<f64> = (0..shape.elements()).map(|i| (1.7 * i as f64 + phase).sin()).collect();
    Tensor::from_vec(numbers, shape)
}

/// Checks that the compiled function gives the result of the function; returns the number of kernels it runs.
#[track_caller]
fn kernels<X: Tree, Y: Tree>(f: impl Fn(&X) -> Y, x: &X) -> usize {
    let compiled = compile(&f);
    for (compiled, eager) in compiled.call(x).leaves().into_iter().zip(f(x).leaves()) {
        assert!(compiled.all_close(eager, 1e-13), "compiled {compiled}, eager {eager}\n{}", compiled_text(&f, x));
    }
    compiled.plan(x).kernels()
}

fn compiled_text<X: Tree, Y: Tree>(f: impl Fn(&X) -> Y, x: &X) -> String {
    let compiled = compile(f);
    format!("{}\n{}", compiled.program(x), compiled.plan(x))
}

#[test]
fn a_chain_with_its_gradient_is_one_loop() {
    let f = |(x, w, b): &(Tensor, Tensor, Tensor)| {
        ((x * w + b).tanh() * (-x * x).exp() + (x * x).log1p() * b.sigmoid()).sum()
    };
    let x = (wave([3000], 0.1), wave([3000], 0.7), wave([3000], 1.3));
    assert_eq!(kernels(value_and_grad(f), &x), 1);
}

#[test]
fn a_softmax_by_hand_is_one_loop() {
    let softmax = |x: &Tensor| {
        let e = (x - x.max_over(keepdim(-1))).exp();
        &e / e.sum_over(keepdim(-1))
    };
    assert_eq!(kernels(softmax, &wave([37, 50], 0.3)), 1);
}

#[test]
fn a_layer_norm_by_hand_is_one_loop() {
    let norm = |(x, gain, bias): &(Tensor, Tensor, Tensor)| {
        let centred = x - x.mean_over(keepdim(-1));
        let scale = (centred.square().mean_over(keepdim(-1)) + 1e-5).rsqrt();
        centred * scale * gain + bias
    };
    assert_eq!(kernels(norm, &(wave([37, 50], 0.3), wave([50], 0.2), wave([50], 0.9))), 1);
}

#[test]
fn sums_over_rows_columns_and_all_end_a_loop() {
    let f = |x: &Tensor| {
        let y = x.exp();
        (y.sum_over(0), y.sum_over(1), y.sum(), y)
    };
    assert_eq!(kernels(f, &wave([130, 70], 0.3)), 1);
}

#[test]
fn long_loops_are_cut_into_tasks_and_give_the_same_numbers() {
    let f = |(x, b): &(Tensor, Tensor)| {
        let y = (x * x).sin() * b + x.exp();
        (y.sum_over(0), y.sum(), y)
    };
    assert_eq!(kernels(f, &(wave([1500, 300], 0.3), wave([300], 0.4))), 1);
    let (x, b) = (wave([1500, 300], 0.3).cast(DType::F32), wave([300], 0.4).cast(DType::F32));
    let compiled = compile(f);
    let (columns, total, y) = compiled.call(&(x.clone(), b.clone()));
    let eager = f(&(x, b));
    assert!(columns.all_close(&eager.0, 1e-6) && total.all_close(&eager.1, 1e-6));
    assert_eq!(y, eager.2, "elements have the bits of single operations");
}

#[test]
fn views_are_read_where_they_lie() {
    let f = |x: &Tensor| {
        let x = x.slice((0..4, 0..6));
        let column = x.slice((.., 0)).unsqueeze(1).broadcast_to([4, 6]);
        (x.t() + 1.0) * x.flip(&[0]).t() + column.t().reshape([6, 4])
    };
    kernels(f, &wave([5, 6], 0.2));
}

#[test]
fn every_dtype_gives_the_bits_of_single_operations() {
    let f = |x: &Tensor| (x * x + x) * 0.5 - x;
    for dtype in [DType::F64, DType::F32, DType::BF16, DType::F16] {
        let x = wave([700], 0.3).cast(dtype);
        assert_eq!(compile(f).call(&x), f(&x), "{dtype}");
    }
    let whole = |x: &Tensor| x * x - x;
    for dtype in [DType::I64, DType::I32] {
        let x = (wave([700], 0.3) * 1e3).cast(dtype);
        assert_eq!(compile(whole).call(&x), whole(&x), "{dtype}");
    }
}

#[test]
fn masks_stay_in_registers() {
    let f = |x: &Tensor| x.gt(0.0).where_(x.exp(), x * 3.0);
    assert_eq!(kernels(f, &wave([5, 7], 0.1)), 1);
}

#[test]
fn an_output_is_written_into_the_memory_of_the_last_one() {
    let f = compile(|x: &Tensor| x * 2.0);
    let x = wave([100], 0.2);
    let mut y = f.call(&x);
    let alias = y.slice(..);
    f.call_into(&x, &mut y);
    assert!(!y.shares_memory_with(&alias), "others do not see what is written");
    drop(alias);
    let before = y.clone();
    let (first, ()) = (before.to_vec::<f64>(), drop(before));
    f.call_into(&(&x + 1.0), &mut y);
    assert_eq!(y, (x + 1.0) * 2.0);
    assert_ne!(y.to_vec::<f64>(), first);
}

#[test]
fn a_state_is_updated_in_place_unless_somebody_else_sees_it() {
    let step = compile_step(|w: &mut Tensor, x: &Tensor| {
        *w += x;
        w.sum()
    });
    let (mut w, x) = (Tensor::zeros([3, 4]).contiguous(), Tensor::ones([3, 4]));
    step.call(&mut w, &x);
    let seen = w.clone();
    assert_eq!(step.call(&mut w, &x).item(), 24.0);
    assert_eq!(seen, Tensor::ones([3, 4]));
    assert_eq!(w, Tensor::full([3, 4], 2.0));
    let input = w.clone();
    step.call(&mut w, &input);
    assert_eq!((w, input), (Tensor::full([3, 4], 4.0), Tensor::full([3, 4], 2.0)));
}

#[test]
fn a_state_may_exchange_its_parts() {
    let step = compile_step(|(a, b): &mut (Tensor, Tensor), _: &()| {
        std::mem::swap(a, b);
        *b += 1.0;
    });
    let mut state = (Tensor::from([1.0, 2.0]), Tensor::from([10.0, 20.0]));
    step.call(&mut state, &());
    assert_eq!(state, (Tensor::from([10.0, 20.0]), Tensor::from([2.0, 3.0])));
    step.call(&mut state, &());
    assert_eq!(state, (Tensor::from([2.0, 3.0]), Tensor::from([11.0, 21.0])));
    let rotate = compile_step(|state: &mut [Tensor; 3], _: &()| state.rotate_left(1));
    let mut state = [1.0, 2.0, 3.0].map(|x| Tensor::from([x, x]));
    rotate.call(&mut state, &());
    assert_eq!(state, [2.0, 3.0, 1.0].map(|x| Tensor::from([x, x])));
}

#[test]
fn a_state_that_is_read_after_its_update_keeps_both() {
    let step = compile_step(|w: &mut Tensor, x: &Tensor| {
        let old = w.clone();
        *w = &*w * 2.0 + x;
        old.matmul(&*w)
    });
    let (mut w, x) = (wave([3, 3], 0.4), wave([3, 3], 0.9));
    let expected = &w * 2.0 + &x;
    let product = w.matmul(&expected);
    assert!(step.call(&mut w, &x).all_close(&product, 1e-14));
    assert!(w.all_close(&expected, 1e-14));
}

#[test]
fn a_failing_step_leaves_the_state_alone() {
    let step = compile_step(|w: &mut Tensor, index: &Tensor| {
        let row = w.gather(0, index);
        *w += 1.0;
        row.sum()
    });
    let mut w = Tensor::from([1.0, 2.0]);
    assert_eq!(step.call(&mut w, &Tensor::from([1i64])).item(), 2.0);
    let error = catch(|| step.call(&mut w, &Tensor::from([7i64]))).unwrap_err();
    assert!(error.to_string().contains('7'), "{error}");
    assert_eq!(w, Tensor::from([2.0, 3.0]));
}

#[test]
fn a_failing_call_gives_its_own_error_whatever_it_was_to_write_over() {
    let f = compile(|(x, index): &(Tensor, Tensor)| vec![x.gather(0, index), x * 2.0]);
    let mut y = Vec::new();
    let error = catch(|| f.call_into(&(Tensor::from([1.0, 2.0]), Tensor::from([7i64])), &mut y)).unwrap_err();
    assert_eq!(error.operation(), "gather");
    f.call_into(&(Tensor::from([1.0, 2.0]), Tensor::from([1i64])), &mut y);
    assert_eq!(y, [Tensor::from([2.0]), Tensor::from([2.0, 4.0])]);
    // Also while operations are recorded.
    let step = compile_step(|w: &mut Tensor, index: &Tensor| vec![w.gather(0, index)]);
    let (mut w, mut y) = (Tensor::from([1.0, 2.0]).require_grad() * 1.0, Vec::new());
    let error = catch(|| step.call_into(&mut w, &Tensor::from([7i64]), &mut y)).unwrap_err();
    assert_eq!((error.operation(), w.to_vec::<f64>(), y.len()), ("gather", vec![1.0, 2.0], 0));
}

/// Each step would be recorded, and memory would grow.
#[test]
fn a_leaf_in_the_state_of_a_step_is_an_error() {
    let step = compile_step(|(w, _): &mut (Tensor, Tensor), x: &Tensor| *w -= x);
    let mut state = (Tensor::from([1.0, 2.0]).require_grad(), Tensor::from(0.0));
    let error = catch(|| step.call(&mut state, &Tensor::from(1.0))).unwrap_err();
    assert_eq!((error.operation(), error.kind()), ("compile_step", &ErrorKind::Argument));
    assert_eq!(error.message(), "the state of a compiled step must not require gradients, but '0' does");
    assert!(error.suggestion().unwrap().contains("detach it"));
    assert_eq!(error.line().unwrap().line(), line!() - 4);
    assert_eq!(
        catch(|| step.call_into(&mut state, &Tensor::from(1.0), &mut ())).unwrap_err().message(),
        error.message()
    );
    assert!(state.0.is_leaf() && state.0.requires_grad());
    assert_eq!(state.0.to_vec::<f64>(), [1.0, 2.0]);
    // Inside no_grad nothing is recorded, and a leaf is an ordinary value.
    no_grad(|| step.call(&mut state, &Tensor::from(1.0)));
    assert_eq!(state.0.to_vec::<f64>(), [0.0, 1.0]);
    // A state that depends on a leaf elsewhere is differentiated through the steps.
    let (rate, mut state) = (Tensor::from(2.0).require_grad(), (Tensor::from([1.0, 2.0]), Tensor::from(0.0)));
    step.call(&mut state, &rate);
    step.call(&mut state, &rate);
    state.0.sum().backward();
    assert_eq!(rate.grad().unwrap().item(), -4.0);
}

#[test]
fn a_state_that_changes_its_shape_is_an_error_with_its_name() {
    let step = compile_step(|state: &mut (Tensor, Tensor), _: &()| state.1 = state.1.sum());
    let error = catch(|| step.call(&mut (Tensor::from(1.0), Tensor::from([1.0, 2.0])), &())).unwrap_err();
    assert!(error.to_string().contains("'1' was f64[2] and becomes f64[]"), "{error}");
}

#[test]
fn two_threads_share_one_plan() {
    let f = compile(|x: &Tensor| (x.exp() * x).sum());
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let f = &f;
            scope.spawn(move || {
                for round in 0..50 {
                    let x = wave([2000], f64::from(thread) + 0.1 * f64::from(round));
                    assert!(f.call(&x).all_close(&(x.exp() * &x).sum(), 1e-12));
                }
            });
        }
    });
    assert_eq!(f.signatures(), 1);
}

#[test]
fn threads_that_trace_the_same_at_once_keep_one_program() {
    let both = std::sync::Barrier::new(2);
    let f = compile(|x: &Tensor| {
        both.wait();
        x.exp() * x
    });
    let x = wave([20], 0.3);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert!(f.call(&x).all_close(&(x.exp() * &x), 1e-14)));
        }
    });
    assert_eq!(f.signatures(), 1);
    assert_eq!(f.inspect()[0].calls, 2);
}

/// The lines of a plan with a product followed by a loop.
fn followed<X: Tree, Y: Tree>(f: impl Fn(&X) -> Y, x: &X) -> Vec<String> {
    let plan = compile(f).plan(x).to_string();
    plan.lines().filter(|line| line.contains("; then loop")).map(str::to_string).collect()
}

#[test]
fn a_large_product_takes_the_loop_behind_it_along() {
    // Wide, tall and deep, with rows that are reduced, columns that are summed, and operands besides the product.
    for (rows, inner, cols) in [(90, 130, 256), (256, 130, 90), (70, 1500, 33), (600, 40, 50), (40, 60, 1030)] {
        let x = (wave([rows, inner], 0.1), wave([cols, inner], 0.7), wave([cols], 1.3), wave([rows, cols], 0.2));
        let layer = |(x, w, b, r): &(Tensor, Tensor, Tensor, Tensor)| {
            let y = x.linear_bias(w, b);
            let z = y.tanh() + r;
            (z.sum_over(0), z.sum(), z.max_over(keepdim(-1)), y, z)
        };
        kernels(layer, &x);
        assert_eq!(followed(layer, &x).len(), 1, "{rows}, {inner}, {cols}");
        let softmax = |(x, w, b, _): &(Tensor, Tensor, Tensor, Tensor)| {
            let y = x.linear_bias(w, b);
            let e = (&y - y.max_over(keepdim(-1))).exp();
            &e / e.sum_over(keepdim(-1))
        };
        kernels(softmax, &x);
        assert_eq!(followed(softmax, &x).len(), 1, "{rows}, {inner}, {cols}");
    }
}

#[test]
fn what_a_product_still_reads_is_not_written_over() {
    let x = (wave([200, 200], 0.1), wave([200, 200], 0.7));
    let residual = |(x, w): &(Tensor, Tensor)| {
        let x = x.sin();
        &x + x.matmul(w)
    };
    kernels(residual, &x);
    assert_eq!(followed(residual, &x).len(), 1);
    let step = compile_step(|(x, w): &mut (Tensor, Tensor), _: &()| *x = &*x + x.matmul(w));
    let mut state = x.clone();
    step.call(&mut state, &());
    let expected = &x.0 + x.0.matmul(&x.1);
    assert!(state.0.all_close(&expected, 1e-13));
}

#[test]
fn weights_are_updated_behind_the_product_that_gives_their_gradient() {
    // The first weights are used twice, so that their gradient is a sum.
    let loss = |(w, v): &(Tensor, Tensor), x: &Tensor| x.linear(w).tanh().linear(w).relu().linear(v).square().mean();
    let update = |w: &mut (Tensor, Tensor), x: &Tensor| {
        let (value, (dw, dv)) = value_and_grad(|w| loss(w, x))(&*w);
        w.0 = &w.0 - dw * 0.1;
        w.1 = &w.1 - dv * 0.1;
        value
    };
    let (mut eager, x) = ((wave([160, 160], 0.3) / 9.0, wave([120, 160], 0.8) / 9.0), wave([96, 160], 0.5));
    let (mut compiled, step) = (eager.clone(), compile_step(update));
    for _ in 0..3 {
        let (one, other) = (update(&mut eager, &x), step.call(&mut compiled, &x));
        assert!(one.all_close(&other, 1e-13));
    }
    assert!(eager.0.all_close(&compiled.0, 1e-13) && eager.1.all_close(&compiled.1, 1e-13));
    let plan = step.plan(&compiled, &x).to_string();
    assert_eq!(plan.matches("then loop over 25600 elements").count(), 1, "{plan}");
    assert_eq!(plan.matches("then loop over 19200 elements").count(), 1, "{plan}");
    assert!(!plan.contains("copy"), "{plan}");
}

#[test]
fn a_convolution_takes_bias_and_activation_along() {
    let x = (wave([24, 3, 14, 15], 0.1), wave([20, 3, 3, 3], 0.7), wave([20], 1.3));
    let layer = |(x, w, b): &(Tensor, Tensor, Tensor)| {
        let y = (x.conv2d(w, &Conv::new()) + b.reshape([20, 1, 1])).relu();
        let total = y.sum();
        (y, total)
    };
    kernels(layer, &x);
    assert_eq!(followed(layer, &x).len(), 1);
    let gradient = grad(move |x: &(Tensor, Tensor, Tensor)| layer(x).0.square().sum());
    kernels(gradient, &x);
}

#[test]
fn whole_numbers_end_and_wrap_as_in_single_operations() {
    let image = Tensor::from([-0.1, 0.5, 1.2, 1e20, -1e20, f64::NAN]);
    for dtype in [DType::U8, DType::I32, DType::I64] {
        let cast = |x: &Tensor| ((x * 255.0).cast(dtype) + 1i64).cast(DType::I64);
        assert_eq!(compile(cast).call(&image), cast(&image), "{dtype}");
    }
    let bytes = Tensor::from([0u8, 3, 200]);
    let products: [fn(&Tensor) -> Tensor; 5] =
        [|x| x * Tensor::from(0u8), |x| -(x * 3i64), |x| (-x) * 3i64, |x| (-x).sum(), |x| (-x).cast(DType::I64) * 2i64];
    for product in products {
        assert_eq!(compile(product).call(&bytes), product(&bytes));
    }
}

#[test]
fn a_compiled_function_runs_while_its_thread_ends() {
    struct Late(std::sync::mpsc::Sender<Tensor>);
    impl Drop for Late {
        fn drop(&mut self) {
            self.0.send(compile(|x: &Tensor| x * 2.0).call(&Tensor::from(3.0))).unwrap();
        }
    }
    thread_local! { static LATE: std::cell::OnceCell<Late> = const { std::cell::OnceCell::new() }; }
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        // Older than the thread's cache of compiled functions, so dropped after it.
        LATE.with(|late| late.set(Late(sender)).ok().unwrap());
        compile(|x: &Tensor| x + 1.0).call(&Tensor::from(3.0))
    });
    assert_eq!(thread.join().unwrap().item(), 4.0);
    assert_eq!(receiver.recv().unwrap().item(), 6.0);
}

//! The values that the tape saves: the fewest that the rules need.

use wengert::autograd::{grad as gradients, grad_with, save_packed};
use wengert::prelude::*;

/// The values saved by records of calls named `operation`: in words, and the values.
fn saved_by(operation: &str, output: &Tensor) -> Vec<(String, Option<Tensor>)> {
    let tape = Tape::of(output);
    let rows = tape.rows().iter().filter(|row| row.operation.split(' ').next() == Some(operation));
    rows.flat_map(|row| row.saved.clone()).collect()
}

fn words(saved: &[(String, Option<Tensor>)]) -> Vec<&str> {
    saved.iter().map(|(what, _)| what.as_str()).collect()
}

/// The bytes that all records hold together, counting shared memory once.
fn bytes_held(output: &Tensor) -> usize {
    let mut seen: Vec<Tensor> = Vec::new();
    for row in Tape::of(output).rows() {
        for value in row.saved.iter().filter_map(|(_, value)| value.clone()) {
            if !seen.iter().any(|other| other.shares_memory_with(&value)) {
                seen.push(value);
            }
        }
    }
    seen.iter().map(|value| value.elements() * value.dtype().size()).sum()
}

/// Values of both signs, the kink, and NaN.
fn numbers() -> Tensor {
    let mut x = Tensor::arange(1 << 14).cast(DType::F32) * 0.37;
    x = x.sin().reshape([1 << 7, 1 << 7]);
    x.slice_mut((0, 0..4)).assign(Tensor::from([0.0f32, -0.0, f32::NAN, f32::INFINITY]));
    x
}

/// The gradient of the sum of relu(x) times `seed`, by a loop.
fn by_loop(x: &Tensor, seed: &Tensor) -> Vec<f32> {
    let pairs = x.to_vec::<f32>().into_iter().zip(seed.to_vec::<f32>());
    pairs.map(|(x, g)| if x > 0.0 { g } else { 0.0 }).collect()
}

#[test]
fn relu_keeps_one_bit_an_element_of_what_nobody_else_holds() {
    let x = numbers().require_grad();
    let y = (&x + 0.0).relu();
    let saved = saved_by("relu", &y);
    assert_eq!(words(&saved), ["residual"]);
    assert_eq!(bytes_held(&y), x.elements() / 8);
    let seed = (numbers() * 2.0).nan_to_num();
    y.backward_with(Backward::new().seed(&seed));
    assert_eq!(x.grad().unwrap().to_vec::<f32>(), by_loop(&x, &seed));
}

#[test]
fn relu_keeps_nothing_more_where_its_operand_is_a_leaf() {
    let x = numbers().require_grad();
    let y = x.relu();
    let saved = saved_by("relu", &y);
    assert_eq!(words(&saved), ["operand 0"]);
    assert!(saved[0].1.as_ref().unwrap().shares_memory_with(&x));
    let seed = (numbers() * 2.0).nan_to_num();
    y.backward_with(Backward::new().seed(&seed));
    assert_eq!(x.grad().unwrap().to_vec::<f32>(), by_loop(&x, &seed));
}

#[test]
fn relu_keeps_nothing_more_where_its_operand_is_a_saved_output() {
    let x = numbers().nan_to_num().clamp(-4.0, 4.0).require_grad();
    let whole = x.elements() * 4;
    let y = x.tanh().relu();
    assert_eq!(words(&saved_by("relu", &y)), ["operand 0"]);
    assert_eq!(bytes_held(&y), whole, "tanh and relu share its output");
    y.sum().backward();
    let slopes = x.to_vec::<f32>().into_iter().map(|x| if x > 0.0 { 1.0 - x.tanh().powi(2) } else { 0.0 });
    assert!(x.grad().unwrap().all_close(&Tensor::from_vec(slopes.collect(), x.shape()), 1e-5));
    let y = x.sin().relu();
    assert_eq!(words(&saved_by("relu", &y)), ["residual"], "sin keeps what went in, not what came out");
    let y = x.exp();
    y.sum().backward();
    let z = y.relu();
    assert_eq!(words(&saved_by("relu", &z)), ["residual"], "a record that is used up holds nothing");
}

#[test]
fn relu_gives_its_bits_back_once_its_output_is_saved() {
    let x = (numbers().nan_to_num().clamp(-4.0, 4.0) + 0.0).require_grad();
    let whole = x.elements() * 4;
    let w = Tensor::full([1 << 7, 3], 0.5f32).require_grad();
    let y = (&x + 0.0).relu();
    assert_eq!(bytes_held(&y), whole / 32);
    let z = y.matmul(&w);
    let saved = saved_by("relu", &z);
    assert_eq!(words(&saved), ["output 0"]);
    assert!(saved[0].1.as_ref().unwrap().shares_memory_with(&y));
    assert_eq!(bytes_held(&z), whole + w.elements() * 4, "the product's operands and nothing else");
    z.sum().backward();
    assert_eq!(x.grad().unwrap().to_vec::<f32>(), by_loop(&x, &Tensor::full(x.shape(), 1.5f32)));
    // Operations that do not read its values leave the bits alone; small tensors are not worth an exchange.
    let y = (&x + 0.0).relu();
    assert_eq!(words(&saved_by("relu", &(&y + &y).sum())), ["residual"]);
    let short = (Tensor::ones([8]).require_grad() + 0.0).relu();
    assert_eq!(words(&saved_by("relu", &short.square())), ["residual"]);
}

#[test]
fn an_exchange_after_the_gradient_holds_nothing() {
    let x = numbers().require_grad();
    let y = (&x + 0.0).relu();
    y.sum().backward();
    let z = &y * &y;
    assert_eq!(saved_by("relu", &z), []);
    assert!(catch(|| z.sum().backward()).is_err(), "the record is used up");
    // If the graph is retained, it is exchanged and used again.
    x.zero_grad();
    let y = (&x + 0.0).relu();
    y.backward_with(Backward::new().seed(&y.ones_like()).retain_graph());
    let (first, z) = (x.grad().unwrap(), &y * 3.0 * &y);
    x.zero_grad();
    assert_eq!(words(&saved_by("relu", &z)), ["output 0"]);
    y.backward_with(Backward::new().seed(&y.ones_like()));
    assert_eq!(x.grad().unwrap(), first);
}

#[test]
fn hooks_pack_the_bits_and_exchange_nothing() {
    let x = numbers().nan_to_num().require_grad();
    let sizes = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = sizes.clone();
    let pack = move |value: Tensor| {
        log.lock().unwrap().push((value.dtype(), value.elements()));
        value
    };
    let y = save_packed(pack, |value: &Tensor| value.clone(), || x.relu());
    assert_eq!(*sizes.lock().unwrap(), [(DType::U8, x.elements() / 8)]);
    let z = &y * &y;
    assert_eq!(words(&saved_by("relu", &z)), ["residual"]);
    z.sum().backward();
    let right = x.to_vec::<f32>().into_iter().map(|x| if x > 0.0 { 2.0 * x } else { 0.0 }).collect();
    assert!(x.grad().unwrap().all_close(&Tensor::from_vec(right, x.shape()), 1e-6));
}

#[test]
fn every_alternative_is_differentiated_again() {
    // f = sum relu(u)^2 with u = x^3, so f' = 6 x^5 and f'' = 30 x^4 where x > 0.
    let numbers: Vec<f64> = (0..1 << 14).map(|i| 1.5 * (0.7 * f64::from(i)).sin()).collect();
    let right: Vec<f64> = numbers.iter().map(|&x| if x > 0.0 { 30.0 * x.powi(4) } else { 0.0 }).collect();
    let right = Tensor::from(right);
    let functions: [(&str, fn(&Tensor) -> Tensor); 3] = [
        ("residual", |x| (x.powi(3).relu() + 0.0).powi(2).sum()),
        ("operand 0", |x| x.relu().powi(6).sum()),
        ("output 0", |x| {
            let y = x.powi(3).relu();
            (&y * &y).sum()
        }),
    ];
    for (kept, f) in functions {
        let x = Tensor::from(&numbers[..]).require_grad();
        let y = f(&x);
        assert_eq!(words(&saved_by("relu", &y)), [kept]);
        let first = grad_with(&[&y], &[&x], Backward::new().create_graph()).remove(0).unwrap();
        let second = gradients(&[&first.sum()], &[&x]).remove(0);
        assert!(second.all_close(&right, 1e-11), "{kept}, imperatively");
        let x = x.detach();
        assert!(grad(|x: &Tensor| grad(f)(x).sum())(&x).all_close(&right, 1e-11), "{kept}, by transforms");
        assert!(jvp(grad(f), &x, &x.ones_like()).1.all_close(&right, 1e-11), "{kept}, forward over reverse");
        assert!(compile(grad(|x: &Tensor| grad(f)(x).sum())).call(&x).all_close(&right, 1e-11), "{kept}, compiled");
    }
}

//! Hooks on saved values: packed when an operation is recorded, unpacked when its rule needs them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wengert::autograd::save_packed;
use wengert::prelude::*;

#[test]
fn every_saved_value_is_packed_once_and_unpacked_when_its_rule_runs() {
    let (packed, unpacked) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (packs, unpacks) = (packed.clone(), unpacked.clone());
    let x = Tensor::from([0.5, 1.5, -2.0]).require_grad();
    let y = save_packed(
        move |value| {
            packs.fetch_add(1, Ordering::Relaxed);
            value.to_vec::<f64>()
        },
        move |numbers: &Vec<f64>| {
            unpacks.fetch_add(1, Ordering::Relaxed);
            Tensor::from(numbers.clone())
        },
        || (x.sin() * &x).sum(),
    );
    // sin saves its operand, the product both of its operands.
    assert_eq!((packed.load(Ordering::Relaxed), unpacked.load(Ordering::Relaxed)), (3, 0));
    y.backward();
    assert_eq!(unpacked.load(Ordering::Relaxed), 3);
    let expected: Vec<f64> = [0.5f64, 1.5, -2.0].iter().map(|x| x.sin() + x * x.cos()).collect();
    assert!(x.grad().unwrap().all_close(&Tensor::from(expected), 1e-15));
}

#[test]
fn what_was_recorded_outside_is_not_packed() {
    let x = Tensor::from([2.0, 3.0]).require_grad();
    let square = &x * &x;
    let pack = |_: Tensor| -> () { panic!("the sum saves no values") };
    let y = save_packed(pack, |_: &()| unreachable!(), || square.sum());
    y.backward();
    assert_eq!(x.grad().unwrap(), Tensor::from([4.0, 6.0]));
}

#[test]
fn the_innermost_hooks_count_and_rounding_is_the_users_choice() {
    let x = Tensor::from([1.0 + 1e-3]).require_grad();
    let round = |value: Tensor| value.cast(DType::BF16);
    let back = |value: &Tensor| value.cast(DType::F64);
    let y = save_packed(
        |_: Tensor| -> () { panic!("the inner pair counts") },
        |_: &()| unreachable!(),
        || save_packed(round, back, || (&x * &x).sum()),
    );
    y.backward();
    assert_eq!(x.grad().unwrap(), Tensor::from([2.0]), "bf16 has no room for a thousandth");
}

#[test]
fn a_packed_graph_can_be_differentiated_twice_and_kept() {
    let x = Tensor::from(3.0).require_grad();
    let y = save_packed(|v| v, |v: &Tensor| v.clone(), || &x * &x * &x);
    let first = autograd_grad(&y, &x);
    assert_eq!(first.item(), 27.0);
    let second = autograd_grad(&first, &x);
    assert_eq!(second.item(), 18.0);
}

fn autograd_grad(y: &Tensor, x: &Tensor) -> Tensor {
    let options = Backward::new().create_graph();
    wengert::autograd::grad_with(&[y], &[x], options).remove(0).expect("y depends on x")
}

#[test]
fn transforms_pack_what_they_save() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let pack = move |value: Tensor| {
        counted.fetch_add(1, Ordering::Relaxed);
        value
    };
    let d = save_packed(pack, |v: &Tensor| v.clone(), || grad(|x: &Tensor| x.sin().sum())(&Tensor::from([0.0, 1.0])));
    assert!(d.all_close(&Tensor::from([1.0, 1f64.cos()]), 1e-15));
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[test]
fn an_unpacked_value_of_another_shape_is_an_error_that_names_both() {
    let x = Tensor::from([1.0, 2.0]).require_grad();
    let y = save_packed(|_| (), |(): &()| Tensor::zeros([3]), || x.sin().sum());
    let error = catch(|| y.backward()).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Hook);
    assert!(error.to_string().contains("unpacking returned f64[3] for a saved value of f64[2]"), "{error}");
    assert!(x.grad().is_none(), "a failing call changes nothing");
}

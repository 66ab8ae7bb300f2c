//! How tensors are stored, printed and laid out.

use wengert_core::tensor::{Layout, Value, broadcast};
use wengert_core::{DType, Shape, Tensor};

#[test]
fn a_value_takes_two_words_and_a_handle_four() {
    assert_eq!(size_of::<Value>(), 16);
    assert_eq!(size_of::<Tensor>(), 32);
}

#[test]
fn floats_align_their_points() {
    let text = |numbers: Vec<f64>| Tensor::from(numbers).to_string();
    assert_eq!(text(vec![1.0, 2.5, -3.125]), "[ 1.   ,  2.5  , -3.125]");
    assert_eq!(text(vec![0.1, 1.0 / 3.0]), "[0.1       , 0.33333333]");
    assert_eq!(text(vec![1.0, f64::NAN, f64::INFINITY]), "[ 1., NaN, inf]");
    assert_eq!(text(vec![0.0, 0.0]), "[0., 0.]");
    assert_eq!(text(vec![]), "[]");
}

#[test]
fn exponents_appear_where_numbers_are_far_apart() {
    let text = |numbers: Vec<f64>| Tensor::from(numbers).to_string();
    assert_eq!(text(vec![1e-5, 2.5]), "[1.0e-05, 2.5e+00]");
    assert_eq!(text(vec![1e8, -1e10]), "[ 1.e+08, -1.e+10]");
    assert_eq!(text(vec![1e-300]), "[1.e-300]");
}

#[test]
fn narrow_floats_print_their_own_digits() {
    let x = Tensor::from([0.1, 2.0]);
    for dtype in [DType::F32, DType::BF16, DType::F16] {
        assert_eq!(x.cast(dtype).to_string(), "[0.1, 2. ]");
    }
}

#[test]
fn long_rows_are_broken_and_large_tensors_summarised() {
    let text = Tensor::arange(100).to_string();
    assert!(text.lines().count() > 1 && text.lines().all(|line| line.len() <= 88), "{text}");
    let text = Tensor::zeros([2000, 2000]).to_string();
    assert_eq!(text.lines().count(), 7);
    assert!(text.lines().nth(3).unwrap().contains("..."));
    assert_eq!(text.lines().next().unwrap(), "[[0., 0., 0., ..., 0., 0., 0.],");
}

#[test]
fn reshape_without_copy_exactly_where_strides_allow() {
    let layout = Layout::contiguous(Shape::from([4, 6]));
    assert!(layout.reshaped(&Shape::from([2, 2, 3, 2])).unwrap().is_contiguous());
    let transposed = layout.permuted(&[1, 0]);
    assert!(transposed.reshaped(&Shape::from([24])).is_none());
    let split = transposed.reshaped(&Shape::from([3, 2, 1, 4])).unwrap();
    assert_eq!(split.strides[..2], [2, 1]);
    assert_eq!(split.strides[3], 6);
    let splat = Layout::contiguous(Shape::from([1])).broadcast(&Shape::from([3, 4]));
    assert!(splat.reshaped(&Shape::from([12])).unwrap().is_splat());
}

#[test]
fn broadcasting_follows_numpy() {
    assert_eq!(broadcast(&[3, 1], &[4]).unwrap(), [3, 4]);
    assert_eq!(broadcast(&[], &[2, 0]).unwrap(), [2, 0]);
    assert_eq!(broadcast(&[0], &[1]).unwrap(), [0]);
    assert!(broadcast(&[2], &[3]).is_none());
}

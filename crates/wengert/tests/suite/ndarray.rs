//! Conversions from and to the `ndarray` crate: `cargo test -p wengert --features ndarray ndarray`.

use ndarray::{Array0, Array3, Axis, ShapeBuilder, arr2};
use wengert::prelude::*;

#[test]
fn arrays_of_any_layout_arrive_row_major() {
    let column_major = Array3::from_shape_fn((2, 3, 4).f(), |(i, j, k)| (100 * i + 10 * j + k) as f32);
    let tensor = Tensor::from(&column_major);
    assert_eq!((tensor.shape(), tensor.dtype()), (&[2, 3, 4][..], DType::F32));
    assert_eq!(tensor.slice((1, 2, 3)).item(), 123.0);
    let row = Tensor::from(column_major.index_axis(Axis(0), 1));
    assert_eq!(row, tensor.slice(1));
}

#[test]
fn tensors_of_any_layout_leave_row_major() {
    let tensor = Tensor::from([[1i64, 2], [3, 4]]);
    assert_eq!(tensor.t().to_ndarray::<i64>(), arr2(&[[1, 3], [2, 4]]).into_dyn());
    assert_eq!(tensor.flip(&[0]).to_ndarray::<i64>(), arr2(&[[3, 4], [1, 2]]).into_dyn());
    assert_eq!(Tensor::from(2.5).to_ndarray::<f64>(), Array0::from_elem((), 2.5).into_dyn());
    assert_eq!(Tensor::zeros([2, 0]).to_ndarray::<f64>().shape(), [2, 0]);
    assert_eq!(Tensor::from(Tensor::from([true, false]).to_ndarray::<bool>()), Tensor::from([true, false]));
}

#[test]
fn a_wrong_dtype_is_an_error_that_names_the_cast() {
    let error = Tensor::from([1.0]).try_to_ndarray::<f32>().unwrap_err();
    assert!(error.to_string().contains("the numbers are f64, not f32"), "{error}");
}

//! Conversions from and to the `ndarray` crate: `cargo test -p wengert --features ndarray ndarray`.

use ndarray::{ArcArray2, Array0, Array2, Array3, Axis, CowArray, ShapeBuilder, Slice, arr2};
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

#[test]
fn row_major_arrays_that_nobody_else_holds_are_taken_over() {
    let array = arr2(&[[1.0, 2.0], [3.0, 4.0]]);
    let numbers = array.as_ptr();
    assert_eq!(Tensor::from(array).as_slice::<f64>().as_ptr(), numbers);
    let owned = CowArray::from(arr2(&[[1.0, 2.0], [3.0, 4.0]]));
    let numbers = owned.as_ptr();
    assert_eq!(Tensor::from(owned).as_slice::<f64>().as_ptr(), numbers);

    let shared = ArcArray2::from(arr2(&[[1.0, 2.0], [3.0, 4.0]]));
    let mut tensor = Tensor::from(shared.clone());
    tensor += 1.0;
    assert_eq!(shared[[0, 0]], 1.0);
    let mut rows = Array2::from_shape_fn((4, 3), |(i, j)| (10 * i + j) as i64);
    rows.slice_axis_inplace(Axis(0), Slice::from(1..3));
    assert_eq!(Tensor::from(rows.clone()).as_slice::<i64>(), [10, 11, 12, 20, 21, 22]);
    assert_eq!(Tensor::from(rows.reversed_axes()).as_slice::<i64>(), [10, 20, 11, 21, 12, 22]);
    assert_eq!(Tensor::from(Array2::<f32>::zeros((0, 3))).shape(), [0, 3]);
}

#[test]
fn views_of_tensors_copy_nothing() {
    let tensor = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    let view = tensor.as_ndarray::<f64>();
    assert_eq!((view.as_ptr(), view), (tensor.as_slice().as_ptr(), arr2(&[[1.0, 2.0], [3.0, 4.0]]).view().into_dyn()));
    let error = tensor.t().try_as_ndarray::<f64>().unwrap_err();
    assert_eq!((error.kind(), error.operation()), (&ErrorKind::NotContiguous, "as_ndarray"));
}

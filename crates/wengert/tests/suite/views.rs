//! Movement operations share memory where strides allow it, and copy only where they do not.

use wengert::prelude::*;

#[test]
fn movements_that_strides_can_express_copy_nothing() {
    let x = Tensor::rand([4, 6, 5], 1);
    let views = [
        ("permute", x.permute([2, 0, 1])),
        ("transpose", x.transpose(0, 1)),
        ("slice", x.slice((1..3, .., 2))),
        ("slice with a step", x.slice((.., Select::from(1..).step(2)))),
        ("slice with a negative step", x.slice(Select::from(..).step(-3))),
        ("flip", x.flip(&[0, 2])),
        ("rot90", x.rot90(1, 0, 1)),
        ("broadcast", x.broadcast_to([3, 4, 6, 5])),
        ("expand", x.expand([2, -1, -1, -1])),
        ("reshape", x.reshape([24, 5])),
        ("flatten", x.flatten()),
        ("split of one axis of a transpose", x.transpose(0, 2).reshape([5, 2, 3, 4])),
        ("diagonal", x.diagonal_of(1, 0, 2)),
        ("unfold", x.unfold(1, 3, 1)),
        ("unbind", x.unbind(1).remove(2)),
        ("split", x.split(2, 0).remove(1)),
        ("new axis", x.slice((.., NewAxis))),
        ("squeeze", x.unsqueeze(0).squeeze()),
        ("movedim", x.movedim(&[0], &[-1])),
    ];
    for (name, view) in &views {
        assert!(x.shares_memory_with(view), "{name} copied");
    }
    assert!(!x.shares_memory_with(&x.transpose(0, 1).reshape([120])), "this one has to copy");
}

#[test]
fn gradients_of_views_are_right_through_chains() {
    let x = Tensor::randn([3, 4], 2);
    let f = |x: &Tensor| {
        let y = x.flip(&[1]).t().slice((Select::from(..).step(-2), 1..)).unfold(1, 2, 1);
        (&y * &y).sum()
    };
    let slope = grad(f)(&x);
    for (place, &number) in slope.to_vec::<f64>().iter().enumerate() {
        let moved =
            |by: f64| f(&(&x + Tensor::arange(12).equal(place as i64).cast(DType::F64).reshape([3, 4]) * by)).item();
        let difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
        assert!((difference - number).abs() < 1e-6, "{place}: {number} against {difference}");
    }
}

#[test]
fn writing_to_a_view_leaves_its_source_alone() {
    let x = Tensor::zeros([2, 3]);
    let mut row = x.slice(0);
    row += 1.0;
    let mut flipped = x.flip(&[1]);
    flipped.set((0, 0), 5.0);
    assert_eq!(x, Tensor::zeros([2, 3]));
    assert_eq!(flipped.slice((0, 0)).item(), 5.0);
}

#[test]
fn selections_take_positions_ranges_axes_tensors_and_masks_in_one_call() {
    let x = Tensor::arange(60).reshape([3, 4, 5]);
    let index = Tensor::from([2i64, -1]);
    assert_eq!(x.slice((index.clone(), 1, Select::from(..).step(-2))).shape(), [2, 3]);
    assert_eq!(x.slice((&index, 1, 0)), Tensor::from([45i64, 45]));
    // Adjacent index tensors take the position of their axes; separated ones come first.
    assert_eq!(
        x.slice((.., Tensor::from([0i64, 1]), Tensor::from([4i64, 0]))),
        Tensor::from([[4i64, 5], [24, 25], [44, 45]])
    );
    assert_eq!(x.slice((Tensor::from([0i64, 1]), .., Tensor::from([4i64, 0]))).shape(), [2, 4]);
    let grid = x.slice((Tensor::from([[0i64], [2]]), Tensor::from([1i64, 3]), 0));
    assert_eq!(grid, Tensor::from([[5i64, 15], [45, 55]]));
    assert_eq!(x.slice((Ellipsis, NewAxis, 2)).shape(), [3, 4, 1]);
    let mask = x.slice((.., .., 0)).gt(30);
    assert_eq!(x.slice((mask, 0)), Tensor::from([35i64, 40, 45, 50, 55]));
    let error = catch(|| x.slice((0, Tensor::from([4i64])))).unwrap_err();
    assert!(
        error.to_string().contains("index 4 (element 0 of the index tensor) is outside an axis of length 4"),
        "{error}"
    );
}

#[test]
fn assignments_go_through_the_same_selections() {
    let mut x = Tensor::zeros([3, 4]);
    x.slice_mut((1, Select::from(..).step(-1))).assign(Tensor::from([1.0, 2.0, 3.0, 4.0]));
    assert_eq!(x.slice(1), Tensor::from([4.0, 3.0, 2.0, 1.0]));
    x.slice_mut((Tensor::from([0i64, 2, 0]), 0)).add(1.0);
    assert_eq!(x.slice((.., 0)), Tensor::from([2.0, 4.0, 1.0]));
    x.slice_mut((0..2, Tensor::from([3i64]))).assign(Tensor::from([[7.0], [8.0]]));
    assert_eq!(x.slice((.., 3)), Tensor::from([7.0, 8.0, 0.0]));
    let mask = x.gt(3.5);
    x.slice_mut(&mask).assign(-1.0);
    assert_eq!(x.sum().item(), 2.0 - 1.0 - 1.0 - 1.0 + 3.0 + 2.0 + 1.0);
    // The gradient is zero for overwritten elements, and passes to the values written.
    let (dx, dv) = grad(|(x, v): &(Tensor, Tensor)| {
        let mut y = x * 1.0;
        y.slice_mut((.., Tensor::from([1i64, 2]))).assign(v);
        (&y * &y).sum()
    })(&(Tensor::ones([2, 3]), Tensor::from([[1.0, 2.0], [3.0, 4.0]])));
    assert_eq!(dx, Tensor::from([[2.0, 0.0, 0.0], [2.0, 0.0, 0.0]]));
    assert_eq!(dv, Tensor::from([[2.0, 4.0], [6.0, 8.0]]));
}

#[test]
fn what_depends_on_data_names_the_alternative_where_data_is_unknown() {
    let x = Tensor::from([[1.0, -1.0], [2.0, 3.0]]);
    let error = catch(|| compile(|x: &Tensor| x.masked_select(&x.gt(0.0)).sum()).call(&x)).unwrap_err();
    assert!(error.suggestion().unwrap().contains("masked_fill"), "{error}");
    let error = catch(|| vmap(|x: &Tensor| x.masked_select(&x.gt(0.0)).sum())(&x)).unwrap_err();
    assert!(error.suggestion().unwrap().contains("masked_fill"), "{error}");
    // Inside derivatives there are values to read.
    let slope = grad(|x: &Tensor| x.masked_select(&x.gt(0.0)).sum())(&x);
    assert_eq!(slope, Tensor::from([[1.0, 0.0], [1.0, 1.0]]));
}

#[test]
fn seeds_inside_a_trace_are_errors() {
    for draw in [
        (|x: &Tensor| x + Tensor::randn([2], 1)) as fn(&Tensor) -> Tensor,
        |x: &Tensor| x + Tensor::permutation(2, 1).cast(DType::F64),
        |x: &Tensor| x + Tensor::bernoulli(0.5, [2], 1).cast(DType::F64),
        |x: &Tensor| x + Tensor::randint(0, 3, [2], 1).cast(DType::F64),
    ] {
        let error = catch(|| compile(draw).call(&Tensor::zeros([2]))).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Traced), "{error}");
    }
}

#[test]
fn a_product_with_zeros_has_exact_first_and_second_derivatives() {
    let index = Tensor::from([0i64, 0, 1, 1, 1]);
    let product = |v: &Tensor| Tensor::ones([2]).scatter_reduce(0, &index, v, ScatterReduce::Prod, true).sum();
    let v = Tensor::from([0.0, 3.0, 0.0, 0.0, 5.0]);
    assert_eq!(grad(product)(&v), Tensor::from([3.0, 0.0, 0.0, 0.0, 0.0]));
    // d2 / dv0 dv1 = 1 and d2 / dv2 dv3 = 5.
    let row = |k: usize| grad(|v: &Tensor| grad(product)(v).slice(k))(&v);
    assert_eq!(row(0), Tensor::from([0.0, 1.0, 0.0, 0.0, 0.0]));
    assert_eq!(row(1), Tensor::from([1.0, 0.0, 0.0, 0.0, 0.0]));
    assert_eq!(row(2), Tensor::from([0.0, 0.0, 0.0, 5.0, 0.0]));
    assert_eq!(row(4), Tensor::zeros([5]));
}

#[test]
fn many_tensors_concatenate_in_chunks() {
    let parts: Vec<Tensor> = (0..200).map(|i| Tensor::full([2, 1], f64::from(i))).collect();
    let whole = Tensor::concat(&parts, 1);
    assert_eq!(whole.shape(), [2, 200]);
    assert_eq!(whole.slice((1, 150)).item(), 150.0);
    let sum: Tensor = parts.iter().sum();
    assert_eq!(sum, Tensor::full([2, 1], 19900.0));
}

#[test]
fn truth_values_have_operators() {
    let (a, b) = (Tensor::from([true, true, false]), Tensor::from([true, false, false]));
    assert_eq!(&a & &b, Tensor::from([true, false, false]));
    assert_eq!(&a | &b, Tensor::from([true, true, false]));
    assert_eq!(&a ^ &b, Tensor::from([false, true, false]));
    assert_eq!(!(a & b), Tensor::from([false, true, true]));
}

#[test]
fn the_remainder_has_the_sign_of_the_dividend() {
    let x = Tensor::from([7.0, -7.0]);
    assert_eq!(&x % 3.0, Tensor::from([1.0, -1.0]));
    assert_eq!(7.0 % Tensor::from([4.0, 5.0]), Tensor::from([3.0, 2.0]));
    let mut whole = Tensor::from([7i64, -7]);
    whole %= 4;
    assert_eq!(whole, Tensor::from([3i64, -3]));
}

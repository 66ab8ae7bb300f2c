//! Errors name the operation, the shapes, the user's line and a suggestion; a failing call changes nothing.

use wengert::TorchMethods;
use wengert::autograd;
use wengert::prelude::*;

/// The error of `f`, whose line must be in this file.
#[track_caller]
fn error_of<T>(f: impl FnOnce() -> T) -> Error {
    let error = catch(f).err().expect("this call must fail");
    let line = error.line().expect("an error has the user's line");
    assert!(line.file().ends_with("errors.rs"), "{error}");
    error
}

macro_rules! here {
    ($call:expr) => {
        (line!(), error_of(|| $call))
    };
}

#[test]
fn a_product_of_unequal_inner_sizes_shows_shapes_line_and_help() {
    let (a, b) = (Tensor::zeros([64, 128]), Tensor::zeros([100, 10]));
    let (line, error) = here!(a.matmul(&b));
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "matmul: inner dimensions differ: [64, 128] x [100, 10] (128 against 100)");
    assert!(lines[1].starts_with("  at ") && lines[1].contains(&format!("errors.rs:{line}:")), "{text}");
    assert_eq!(lines[2], "  help: the right side transposed has shape [10, 100]");
    assert_eq!(error.kind(), &ErrorKind::Shape(vec![Shape::from([64, 128]), Shape::from([100, 10])]));
}

#[test]
fn shapes_that_do_not_broadcast() {
    let (line, error) = here!(Tensor::zeros([2, 3]) + Tensor::zeros([4]));
    assert_eq!(error.operation(), "add");
    assert_eq!(error.message(), "shapes [2, 3] and [4] do not broadcast");
    assert_eq!(error.line().unwrap().line(), line);
    assert!(error.suggestion().is_some());
}

#[test]
fn two_dtypes_name_the_cast() {
    let error = error_of(|| Tensor::from(1.0f32) * Tensor::from(1.0f64));
    assert_eq!(error.message(), "dtypes differ: f32 and f64");
    // Towards the network's dtype, not that of the constructors.
    assert!(error.suggestion().unwrap().contains(".cast(DType::F32)"));
    assert!(error.suggestion().unwrap().contains("zeros_like()"));
    let error = error_of(|| Tensor::from([1i64, 2]) * 0.5);
    assert!(error.to_string().contains("0.5 does not fit a tensor of i64"), "{error}");
    let error = error_of(|| Tensor::from([1i64, 2]) / 2);
    assert!(error.suggestion().unwrap().contains("floor_divide"), "{error}");
    let error = error_of(|| Tensor::from([1i64, 2]).exp());
    assert!(error.to_string().contains("exp: needs a floating-point tensor, got i64"), "{error}");
}

#[test]
fn shapes_that_do_not_fit_say_what_would() {
    let (x, v) = (Tensor::zeros([4, 3]), Tensor::zeros([3]));
    let error = error_of(|| x.matmul(&x));
    assert_eq!(error.suggestion(), Some("use .t(): the right side transposed has shape [3, 4]"));
    let error = error_of(|| Tensor::concat(&[&x, &Tensor::zeros([4, 2])], 0));
    assert_eq!(error.message(), "shapes [4, 3] and [4, 2] differ in an axis other than 0");
    let error = error_of(|| Tensor::concat(&[&x, &v], 0));
    assert_eq!(error.message(), "shapes [4, 3] and [3] differ in their number of axes");
    let error = error_of(|| x.linear(&Tensor::zeros([3, 8])));
    assert_eq!(error.message(), "the input has 3 features, the weight [3, 8] expects 8");
    assert_eq!(error.suggestion(), Some("a weight is [out, in]: transpose it with .t()"));
}

#[test]
fn a_mask_of_another_dtype_is_named() {
    let x = Tensor::zeros([1, 4, 8]).f32();
    let error = error_of(|| x.attention(&x, &x, &Attention::new().mask(&Tensor::zeros([4, 4]))));
    assert_eq!(error.message(), "the mask is f64, the queries are f32");
    assert!(error.suggestion().unwrap().contains(".cast(DType::F32)"), "{error}");
}

#[test]
fn an_update_outside_of_no_grad_is_named() {
    let mut w = Tensor::from([1.0, 2.0]).require_grad();
    w -= 0.1;
    let error = error_of(|| w.grad());
    let place = format!("it was updated at {}:{} outside `no_grad`", file!(), line!() - 2);
    assert_eq!(error.message(), format!("the tensor is no longer a leaf: {place}"));
    let w = no_grad(|| &w - 0.1);
    let error = error_of(|| w.sum().backward());
    assert!(error.suggestion().unwrap().contains("or update in place: no_grad(|| w -= step)"), "{error}");
}

#[test]
fn many_outputs_without_a_seed() {
    let x = Tensor::from([1.0, 2.0, 3.0]).require_grad();
    let y = x.square();
    let error = error_of(|| y.backward());
    assert_eq!(error.kind(), &ErrorKind::SeedNeeded(Shape::from([3])));
    assert!(error.message().contains("shape [3]"), "{error}");
    assert!(error.suggestion().unwrap().contains("backward_with(Backward::new().seed(&s))"));
    // Nothing was consumed: the correct call still works.
    y.backward_with(Backward::new().seed(&Tensor::ones([3])));
    assert_eq!(x.grad().unwrap(), Tensor::from([2.0, 4.0, 6.0]));
}

#[test]
fn a_seed_of_the_wrong_shape_names_both() {
    let x = Tensor::from([1.0, 2.0, 3.0]).require_grad();
    let y = x.square();
    let error = error_of(|| y.backward_with(Backward::new().seed(&Tensor::ones([2]))));
    assert!(error.message().contains("the seed is f64[2], the output f64[3]"), "{error}");
    assert!(x.grad().is_none());
    let error = error_of(|| y.backward_with(Backward::new().seed(&Tensor::full([3], 1f32))));
    assert!(error.message().contains("f32[3]") && error.message().contains("f64[3]"), "{error}");
}

#[test]
fn a_second_backward_names_the_flag_and_leaves_gradients() {
    let x = Tensor::from(3.0).require_grad();
    let trunk = x.square();
    let (a, b) = (&trunk * 2.0, &trunk * 5.0);
    a.backward();
    let before = x.grad().unwrap();
    let error = error_of(|| a.backward());
    assert_eq!(error.kind(), &ErrorKind::GraphFreed);
    assert!(error.suggestion().unwrap().contains("retain_graph()"));
    // A graph that shares a consumed part fails before anything is accumulated, and keeps what it did not use.
    let error = error_of(|| (&b + &x * 7.0).backward());
    assert_eq!(error.kind(), &ErrorKind::GraphFreed);
    assert_eq!(x.grad().unwrap(), before);
    let other = x.exp();
    let mixed = &b + &other;
    error_of(|| mixed.backward());
    other.backward();
    assert_eq!(x.grad().unwrap().item(), 12.0 + 3.0f64.exp());
}

#[test]
fn integers_carry_no_gradient() {
    let error = error_of(|| Tensor::from([1i64, 2]).require_grad());
    assert_eq!(error.kind(), &ErrorKind::NoGradient);
    assert!(error.message().contains("i64[2]"), "{error}");
    let error = error_of(|| Tensor::from([1i64, 2]).sum().backward());
    assert!(error.suggestion().unwrap().contains("integers"), "{error}");
    let x = Tensor::from(1.0).require_grad();
    let error = error_of(|| autograd::grad(&[&x.square()], &[&Tensor::from(2.0)]));
    assert!(error.message().contains("does not require a gradient"), "{error}");
    // In a tree they are members without a gradient, not errors.
    let (dx, di) = grad(|(x, i): &(Tensor, Tensor)| x.gather(0, i).sum())(&(
        Tensor::from([1.0, 2.0, 3.0]),
        Tensor::from([2i64, 2]),
    ));
    assert_eq!(dx, Tensor::from([0.0, 0.0, 2.0]));
    assert_eq!(di, Tensor::from([0i64, 0]));
}

#[test]
fn a_tensor_of_a_closed_level_names_where_it_was_made() {
    use std::cell::RefCell;
    let kept = RefCell::new(None);
    let made = line!() + 2;
    grad(|x: &Tensor| {
        let leaked = x.square();
        *kept.borrow_mut() = Some(leaked.clone());
        leaked
    })(&Tensor::from(2.0));
    let leaked = kept.take().unwrap();
    let (line, error) = here!(&leaked + 1.0);
    assert_eq!(error.kind(), &ErrorKind::LevelClosed);
    assert!(error.message().contains(&format!("errors.rs:{made}:")), "{error}");
    assert!(error.message().contains("in the grad at"), "{error}");
    assert_eq!(error.line().unwrap().line(), line);
    assert_eq!(leaked.item(), 4.0, "its value can still be read");
}

#[test]
fn the_imperative_tape_refuses_tensors_of_transforms() {
    let error = error_of(|| {
        grad(|x: &Tensor| {
            x.square().backward();
            x.clone()
        })(&Tensor::from(2.0))
    });
    assert_eq!(error.kind(), &ErrorKind::WrongLevel);
    assert!(error.suggestion().unwrap().contains("wengert::grad"));
}

#[test]
fn traced_and_batched_values_cannot_be_read() {
    let error = error_of(|| compile(|x: &Tensor| if x.item() > 0.0 { x.clone() } else { -x }).call(&Tensor::from(1.0)));
    assert_eq!(error.kind(), &ErrorKind::Traced);
    assert!(error.suggestion().unwrap().contains("where_"), "{error}");
    let error = error_of(|| vmap(|x: &Tensor| if x.item() > 0.0 { x.clone() } else { -x })(&Tensor::from([1.0])));
    assert_eq!(error.kind(), &ErrorKind::Traced);
    // Derivatives follow the executed branch, whose values can be read.
    let absolute = |x: &Tensor| if x.item() > 0.0 { x.clone() } else { -x };
    assert_eq!(grad(absolute)(&Tensor::from(-2.0)).item(), -1.0);
    assert_eq!(jvp(absolute, &Tensor::from(-2.0), &Tensor::from(1.0)).1.item(), -1.0);
}

#[test]
fn a_gradient_of_a_non_scalar_function() {
    let error = error_of(|| grad(|x: &Tensor| x.square())(&Tensor::from([1.0, 2.0])));
    assert!(error.message().contains("f64[2], not one real number"), "{error}");
    assert!(error.suggestion().unwrap().contains("vjp"));
}

#[test]
fn batches_of_different_sizes_name_the_paths() {
    let f = vmap(|(a, b): &(Tensor, Tensor)| a * b);
    let error = error_of(|| f(&(Tensor::zeros([3]), Tensor::zeros([4]))));
    assert!(error.message().contains("'0' has a batch of 3, '1' one of 4"), "{error}");
    let error = error_of(|| f(&(Tensor::zeros([3]), Tensor::from(1.0))));
    assert!(error.message().contains("'1' is a scalar"), "{error}");
}

#[test]
fn positions_and_axes_out_of_range() {
    let x = Tensor::zeros([2, 3]);
    let error = error_of(|| x.slice((0, 5)));
    assert!(error.to_string().contains("slice: position 5 is outside axis 1 of shape [2, 3]"), "{error}");
    let error = error_of(|| x.sum_over(2));
    assert!(error.to_string().contains("sum: axis 2 is not one of the 2 axes of shape [2, 3]"), "{error}");
    let error = error_of(|| x.gather(1, &Tensor::from([[0i64], [7]])));
    assert!(
        error.to_string().contains("gather: index 7 (element 1 of the index tensor) is outside axis 1 of length 3")
    );
    let error = error_of(|| x.reshape([5]));
    assert!(error.to_string().contains("reshape: shape [2, 3] of 6 elements does not become [5] of 5"), "{error}");
    let error = error_of(|| Tensor::zeros([0]).max_along(0));
    assert!(error.to_string().contains("max: axis 0 of shape [0] is empty"), "{error}");
    let error = error_of(|| Tensor::from_vec(vec![1.0, 2.0], [3]));
    assert!(error.to_string().contains("from_vec: 2 numbers do not fill shape [3]"), "{error}");
    let error = error_of(|| Tensor::from(vec![vec![1.0], vec![1.0, 2.0]]));
    assert!(error.to_string().contains("rows along axis 1 have 1 and 2 entries"), "{error}");
    let error = error_of(|| x.item());
    assert!(error.to_string().contains("item: needs one element, got shape [2, 3]"), "{error}");
    let error = error_of(|| x.to_vec::<f32>());
    assert!(error.to_string().contains("the numbers are f64, not f32"), "{error}");
}

#[test]
fn shapes_that_no_tensor_can_have() {
    let error = error_of(|| Tensor::zeros([1 << 40, 1 << 40]));
    assert!(error.to_string().contains("full: shape [1099511627776, 1099511627776] has more elements"), "{error}");
    let error = error_of(|| Tensor::from(1.0).broadcast_to([1 << 32, 1 << 32]));
    assert!(error.to_string().contains("broadcast: shape [4294967296, 4294967296] has more elements"), "{error}");
    let error = error_of(|| Tensor::from(1.0).reshape(vec![1; 65]));
    assert!(error.to_string().contains("reshape: a shape of 65 axes is more than the 64"), "{error}");
    assert_eq!(Tensor::zeros([1 << 40, 0, 1 << 40]).elements(), 0);
}

#[test]
fn numbers_that_do_not_fit_an_integer_tensor() {
    assert_eq!((Tensor::from([0i64]) + 9007199254740993i64).to_vec::<i64>(), [9007199254740993]);
    for (error, number) in [
        (error_of(|| Tensor::from([1u8]) + 300), "300"),
        (error_of(|| Tensor::from([0u8]).gt(-1)), "-1"),
        (error_of(|| Tensor::from([0i32]) + 3_000_000_000i64), "3000000000"),
        (error_of(|| Tensor::from([0i64]) + f64::INFINITY), "inf"),
    ] {
        assert!(error.message().contains(&format!("the number {number} does not fit")), "{error}");
    }
    let x = Tensor::from([1.0, 2.0, 3.0]);
    for error in [error_of(|| x.slice(usize::MAX)), error_of(|| x.slice(0..usize::MAX))] {
        assert!(error.message().contains("is outside axis 0 of shape [3]"), "{error}");
    }
    let error = error_of(|| x.matmul(&Tensor::zeros([5])));
    assert_eq!(error.message(), "inner dimensions differ: [3] x [5] (3 against 5)");
    let error = error_of(|| x.sum_to([2]));
    assert_eq!(error.operation(), "sum_to");
}

#[test]
fn public_calls_check_what_they_are_given() {
    use wengert::primitive::{Attrs, bind, bind1, find};
    let x = Tensor::from([1.0, 2.0]);
    let (add, sum, max) = (find("add").unwrap(), find("sum").unwrap(), find("max").unwrap());
    let error = error_of(|| bind(add, Attrs::new(), &[&x]));
    assert!(error.message().contains("takes 2 operands, got 1"), "{error}");
    assert_eq!(error_of(|| bind1(add, Attrs::new(), &[&x])).operation(), "add");
    let error = error_of(|| bind1(sum, Attrs::new(), &[&x]));
    assert!(error.message().contains("attribute 'axes' is missing"), "{error}");
    let error = error_of(|| bind1(max, Attrs::new().with_int("axis", 0), &[&x]));
    assert!(error.message().contains("has 2 outputs, not one"), "{error}");
    let error = error_of(|| x.set_grad(Some(x.clone())));
    assert_eq!(error.kind(), &ErrorKind::NoGradient);
}

#[test]
fn comparing_symbolic_tensors_names_the_comparison() {
    let line = line!() + 1;
    let same = |x: &Tensor| if *x == Tensor::from(1.0) { -x } else { x.clone() };
    let error = error_of(|| vmap(same)(&Tensor::from([1.0])));
    assert_eq!((error.operation(), error.line().unwrap().line()), ("==", line), "{error}");
}

#[test]
fn a_failing_update_leaves_the_tensor() {
    let leaked = std::cell::RefCell::new(None);
    grad(|x: &Tensor| {
        *leaked.borrow_mut() = Some(x * 1.0);
        x.sum()
    })(&Tensor::from([1.0, 2.0]));
    let mut kept = Tensor::from([1.0, 2.0]).require_grad();
    let error = error_of(|| kept += leaked.borrow().as_ref().unwrap());
    assert_eq!(error.kind(), &ErrorKind::LevelClosed);
    assert_eq!(kept, Tensor::from([1.0, 2.0]));
    assert!(kept.requires_grad() && kept.is_leaf());
    let mut x = Tensor::from([1.0, 2.0]).require_grad();
    error_of(|| x += Tensor::from([1.0, 2.0, 3.0]));
    let mut y = x.clone();
    let error = catch(|| y += Tensor::from([[1.0, 2.0], [3.0, 4.0]])).unwrap_err();
    assert!(error.message().contains("an update cannot change shape [2] to [2, 2]"), "{error}");
    assert_eq!(x, Tensor::from([1.0, 2.0]));
    x.square().sum().backward();
    assert_eq!(x.grad().unwrap(), Tensor::from([2.0, 4.0]));
}

#[test]
fn a_line_lost_by_a_function_pointer_is_the_nearest_scope() {
    let line = line!() + 1;
    let f = grad(|x: &Tensor| [x.clone()].iter().map(Tensor::fliplr).next().unwrap());
    let error = error_of(|| f(&Tensor::from([1.0, 2.0])));
    assert_eq!((error.operation(), error.line().unwrap().line()), ("flip", line));
}

#[test]
fn an_uncaught_error_panics_with_its_text() {
    let payload = std::panic::catch_unwind(|| Tensor::zeros([2]) + Tensor::zeros([3])).unwrap_err();
    let text = payload.downcast_ref::<String>().expect("a panic message");
    assert!(text.contains("add: shapes [2] and [3] do not broadcast") && text.contains("errors.rs:"), "{text}");
}

#[test]
fn a_hook_that_fails_leaves_gradients_untouched() {
    let x = Tensor::from(2.0).require_grad();
    let y = x.square();
    y.register_hook(|_| Some(Tensor::from([1.0, 2.0])));
    let error = error_of(|| y.backward());
    assert_eq!(error.kind(), &ErrorKind::Hook);
    assert!(error.message().contains("returned f64[2] for an adjoint of f64[]"), "{error}");
    assert!(x.grad().is_none());
    // After accumulation has begun, the error says how far it got; a plain panic in a hook is a failure too.
    let (a, b) = (Tensor::from(1.0).require_grad(), Tensor::from([1.0, 2.0]).require_grad());
    b.register_accumulate_hook(|_| panic!("no more"));
    let error = error_of(|| (b.sum() * &a).backward());
    assert_eq!(error.kind(), &ErrorKind::Hook);
    assert!(error.message().contains("after 2 leaves") && error.message().contains("no more"), "{error}");
    assert!(a.grad().is_some() && b.grad().is_some());
}

#[test]
fn programs_that_cannot_be_read() {
    let parse = |text: &str| Program::parse(text).unwrap_err().to_string();
    assert!(parse("").contains("the program has no return"));
    assert!(parse("program(a: f64[]) {\n  b: f64[] = add(a, c)\n  return b\n}").contains("line 2: 'c' is not defined"));
    let text = parse("program(a: f64[]) {\n  b: f32[] = neg(a)\n  return b\n}");
    assert!(text.contains("neg gives f64[], declared as f32[]"), "{text}");
    assert!(
        parse("program(a: f64[]) {\n  b: f64[] = sum[axis=[0]](a)\n  return b\n}")
            .contains("sum has no attribute 'axis'")
    );
    assert!(parse("program(a: f99[]) {\n  return a\n}").contains("'f99' is not a dtype"));
    assert!(parse("program(a: f64[]) {\n  b: f64[] = add(a)\n  return b\n}").contains("add takes 2 operands, got 1"));
    assert!(
        parse("program(a: f64[]) {\n  b: f64[2] = broadcast(a)\n  return b\n}")
            .contains("broadcast has the attributes")
    );
    let body = |line: &str| parse(&format!("program(a: f64[2]) {{\n  {line}\n  return a\n}}"));
    assert!(body("b: f16[2] = cast[dtype=zzz](a)").contains("'dtype' is zzz, not a dtype"));
    assert!(body("b: f64[] = sum[axes=0](a)").contains("'axes' is 0, not a list"));
    assert!(body("b: f64[], c: i64[] = max[axis=-1](a)").contains("not an axis counted from the front"));
    assert!(body("const = 3").contains("a constant has one name"));
    assert!(body("const b: f64[4294967296, 4294967296] = 1.0").contains("more elements than memory can hold"));
    assert!(body("b: f64[2] = sin(a) nonsense").contains("sin has no attribute 'nonsense'"));
    let huge_step =
        "program(a: f64[2]) {\n  b: f64[1] = slice[start=[1], stop=[2], step=[9223372036854775807]](a)\n  return b\n}";
    let last = Program::parse(huge_step).unwrap().evaluate(&[Tensor::from([1.0, 2.0])]).unwrap();
    assert_eq!(last[0], Tensor::from([2.0]));
    assert!(parse("program(a: f64[]) {\n  return a\n").contains("no closing brace"));
    assert!(parse("program(a: f64[]) {\n  return a\n}\n}").contains("after the end"));
    let program = Program::parse("program(a: f64[]) {\n  return a\n}").unwrap();
    assert!(
        program
            .evaluate(&[Tensor::from(1f32)])
            .unwrap_err()
            .to_string()
            .contains("input 0 is f32[], the program takes f64[]")
    );
}

/// Options are checked inside calls, where a closure would lose the line.
#[test]
fn wrong_options_name_the_callers_line() {
    let x = Tensor::ones([2, 3]);
    let (p, labels) = (x.full_like(0.5), Tensor::from([0i64, 1]));
    let two = Tensor::ones([2]);
    let cases: &[(u32, Error)] = &[
        here!(x.layer_norm(&[3], &Norm::new().weight(&two))),
        here!(x.rms_norm(&[3], &Norm::new().weight(&two))),
        here!(x.attention(&x, &x, &Attention::new().mask(&Tensor::ones([5, 5])))),
        here!(p.binary_cross_entropy(&p, Some(&two), Reduction::Mean)),
        here!(x.cross_entropy(&labels, &CrossEntropy::new().weight(&two))),
        here!(x.cross_entropy(&Tensor::from([0.0, 1.0]), &CrossEntropy::new())),
        here!(x.cross_entropy(&labels, &CrossEntropy::new().label_smoothing(1.5))),
        here!(x.nll_loss(&labels, &CrossEntropy::new().weight(&Tensor::ones([7])))),
        here!(x.multi_margin_loss(&labels, 1, 1.0, Some(&two), Reduction::Mean)),
        here!(x.cosine_embedding_loss(&Tensor::ones([2, 4]), &two, 0.0, Reduction::Mean)),
        // What would be repeated.
        here!(x.nll_loss(&Tensor::from([1i64]), &CrossEntropy::new())),
        here!(x.nll_loss(&Tensor::from([1.7, 0.2]), &CrossEntropy::new())),
        here!(x.multi_margin_loss(&Tensor::from([1.0, 2.0]), 1, 1.0, None, Reduction::Mean)),
        here!(x.cosine_embedding_loss(&x, &two.unsqueeze(1), 0.0, Reduction::Mean)),
        here!(two.unsqueeze(1).margin_ranking_loss(&two, &two, 0.0, Reduction::Mean)),
        here!(two.unsqueeze(1).gaussian_nll_loss(&two, &two, false, 1e-6, Reduction::Mean)),
        here!(two.gaussian_nll_loss(&two, &two.unsqueeze(1), false, 1e-6, Reduction::Mean)),
        here!(x.multilabel_margin_loss(&Tensor::from([[1i64, -1, 0]]), Reduction::Mean)),
        here!(p.slice((.., ..1)).binary_cross_entropy(&p.slice((.., ..1)), Some(&two), Reduction::Mean)),
        here!(x.multilabel_soft_margin_loss(&two, None, Reduction::Mean)),
        here!(x.unsqueeze(0).conv1d(&Tensor::ones([1, 2, 1]), &Conv::new().padding(usize::MAX))),
        here!(x.unsqueeze(0).conv_transpose1d(&Tensor::ones([2, 1, 1]), &Conv::new().stride(usize::MAX))),
        here!(Tensor::zeros([7]).qr()),
        here!(x.index_fill(0, &Tensor::from([9i64]), 1.0)),
        here!(x.trapezoid_at(&Tensor::from([0.0, 1.0]), 1)),
        here!(two.trapezoid_at(&Tensor::from([0.0, 1.0, 2.0]), 0)),
        here!(x.slice((.., Select::Range { start: Some(2), stop: Some(1), step: 1 }))),
    ];
    for (line, error) in cases {
        assert_eq!(error.line().unwrap().line(), *line, "{error}");
    }
    let (_, error) = here!(x.cross_entropy(&labels, &CrossEntropy::new().weight(&two)));
    assert_eq!(error.message(), "weights of shape [2] for 3 classes");
    let (_, error) = here!(x.slice((.., Select::Range { start: Some(2), stop: Some(1), step: 1 })));
    assert_eq!(error.message(), "range 2..1 by 1 along axis 1 names nothing");
}

#[test]
fn a_bias_that_does_not_fit_says_so_and_names_both_shapes() {
    let (x, w) = (Tensor::zeros([2, 3]), Tensor::zeros([4, 3]));
    let (line, error) = here!(x.linear_bias(&w, &Tensor::zeros([3])));
    assert_eq!((error.operation(), error.line().unwrap().line()), ("linear", line));
    assert_eq!(error.message(), "the bias has shape [3], the weights [4, 3]");
    assert_eq!(error.suggestion(), Some("give one number for each output"));
    let (line, error) = here!(x.linear(&Tensor::zeros([3, 4])));
    assert_eq!(
        (error.message(), error.line().unwrap().line()),
        ("the input has 3 features, the weight [3, 4] expects 4", line)
    );
    let (line, error) = here!(Tensor::zeros([]).linear(&w));
    assert_eq!(
        (error.message(), error.line().unwrap().line()),
        ("input of shape [] with weights of shape [4, 3]", line)
    );
    let (line, error) = here!(x.linear_bias(&w, &Tensor::zeros([4]).cast(DType::F32)));
    assert_eq!((error.operation(), error.line().unwrap().line()), ("linear", line));
    assert!(error.to_string().contains("f32") && error.to_string().contains("f64"), "{error}");
}

#[test]
fn a_vector_of_the_wrong_length_has_a_help() {
    let (line, error) = here!(Tensor::zeros([2, 3]).matmul(&Tensor::zeros([4])));
    assert_eq!(error.message(), "inner dimensions differ: [2, 3] x [4] (3 against 4)");
    assert_eq!(
        error.suggestion().unwrap(),
        "the vector on the right needs 3 elements, one for each column of the left side"
    );
    assert_eq!(error.line().unwrap().line(), line);
    let (_, error) = here!(Tensor::zeros([4]).matmul(&Tensor::zeros([2, 3])));
    assert_eq!(
        error.suggestion().unwrap(),
        "the vector on the left needs 2 elements, one for each row of the right side"
    );
}

/// What a function is made of is not what the user called.
#[test]
fn errors_name_the_function_that_was_called() {
    let (table, vector) = (Tensor::zeros([4, 2]), Tensor::zeros([3]));
    let calls: [(&str, &dyn Fn() -> Tensor); 8] = [
        ("embedding", &|| table.embedding(&Tensor::from([9i64]))),
        ("embedding", &|| table.embedding(&Tensor::from([0.5]))),
        ("embedding_with_padding", &|| table.embedding_with_padding(&Tensor::from([9i64]), 0)),
        ("one_hot", &|| Tensor::from([5i64]).one_hot(3)),
        ("kron", &|| vector.kron(&Tensor::from([1i64]))),
        ("outer", &|| vector.outer(&Tensor::from([1i64]))),
        ("lerp", &|| vector.lerp(&Tensor::zeros([4]), 0.5)),
        ("pairwise_distance", &|| vector.pairwise_distance(&Tensor::zeros([4]), 2.0, 0.0)),
    ];
    for (name, call) in calls {
        let line = line!() + 1;
        let error = error_of(call);
        assert_eq!(error.operation(), name, "{error}");
        assert!(error.line().unwrap().line() <= line, "{error}");
    }
    let lookup = compile(|index: &Tensor| table.embedding(index));
    lookup.call(&Tensor::from([1i64]));
    assert_eq!(error_of(|| lookup.call(&Tensor::from([9i64]))).operation(), "embedding");
    // And afterwards others speak for themselves again.
    assert_eq!(error_of(|| vector.gather(0, &Tensor::from([9i64]))).operation(), "gather");
}

#[test]
fn debug_shows_where_a_tensor_comes_from() {
    let x = Tensor::from([1.0, 2.0]).require_grad();
    assert_eq!(format!("{:?}", Tensor::from([1.0, 2.0])), "Tensor([1., 2.], f64[2])");
    assert_eq!(format!("{x:?}"), "Tensor([1., 2.], f64[2], requires grad)");
    assert_eq!(format!("{:?}", x.exp() * 0.0), "Tensor([0., 0.], f64[2], from mul)");
    assert_eq!(format!("{:?}", x.detach()), "Tensor([1., 2.], f64[2])");
}

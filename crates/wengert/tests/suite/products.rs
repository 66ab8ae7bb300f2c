//! Products: the number of primitives in a gradient, and einsum compared with plain loops.

use wengert::TorchMethods;
use wengert::prelude::*;

/// Well-spread numbers.
fn wave(shape: &[usize], phase: f64) -> Tensor {
    let count: usize = shape.iter().product();
    Tensor::from_vec((0..count).map(|i| (1.7 * i as f64 + phase).sin()).collect::<Vec<f64>>(), shape)
}

/// The number of times each named primitive occurs in the program of `f`.
fn count<X: Tree, Y: Tree>(f: impl Fn(&X) -> Y, x: &X, name: &str) -> usize {
    let text = compile(f).program(x).to_string();
    text.lines().filter(|line| line.contains(&format!("= {name}"))).count()
}

#[test]
fn backward_of_an_affine_map_runs_two_products_and_one_reduction() {
    for lead in [vec![6], vec![2, 3], vec![2, 3, 1]] {
        let x = wave(&[&lead[..], &[4]].concat(), 0.1);
        let (w, b) = (wave(&[4, 5], 0.2), wave(&[5], 0.3));
        let seed = wave(&[&lead[..], &[5]].concat(), 0.4);
        let forward = |(x, w, b): &(Tensor, Tensor, Tensor)| x.matmul(w) + b;
        let backward = |(leaves, seed): &((Tensor, Tensor, Tensor), Tensor)| vjp(forward, leaves).1.call(seed);
        let leaves = (x, w, b);
        assert_eq!(count(forward, &leaves, "matmul"), 1, "{lead:?}");
        assert_eq!(count(backward, &(leaves.clone(), seed.clone()), "matmul"), 1 + 2, "{lead:?}");
        assert_eq!(count(backward, &(leaves.clone(), seed.clone()), "sum"), 1, "{lead:?}");
        // The same for weights stored as rows of outputs, with the bias added by the product.
        let fused = |(x, w, b): &(Tensor, Tensor, Tensor)| x.linear_bias(&w.t(), b);
        let backward = |(leaves, seed): &((Tensor, Tensor, Tensor), Tensor)| vjp(fused, leaves).1.call(seed);
        let inputs = (leaves, seed);
        assert_eq!(count(backward, &inputs, "linear") + count(backward, &inputs, "matmul"), 1 + 2, "{lead:?}");
        assert_eq!(count(backward, &inputs, "sum"), 1, "{lead:?}");
    }
}

#[test]
fn one_right_side_for_a_batch_is_one_product_and_so_is_its_gradient() {
    let (x, w) = (wave(&[3, 4, 5], 0.5), wave(&[5, 2], 0.6));
    let f = |w: &Tensor| x.matmul(w).sum();
    let text = compile(grad(f)).program(&w).to_string();
    assert!(!text.contains("broadcast_to [3, 5, 2]") && !text.contains("f64[3, 5, 2]"), "{text}");
    let expected = Tensor::einsum("btd,bte->de", &[&x, &Tensor::ones([3, 4, 2])]);
    assert!(grad(f)(&w).all_close(&expected, 1e-13));
}

#[test]
fn leading_axes_in_any_order_of_memory_give_the_same_product() {
    let (x, w) = (wave(&[3, 4, 5], 0.5), wave(&[5, 2], 0.6));
    let turned = x.permute([1, 0, 2]);
    assert_eq!(turned.matmul(&w), turned.contiguous().matmul(&w));
    let across = wave(&[3, 5, 4], 0.7).permute([0, 2, 1]);
    assert!(across.matmul(&w).all_close(&across.contiguous().matmul(&w), 1e-14));
}

/// The sum described by an equation with single letters, over every value of every label.
fn by_loops(equation: &str, operands: &[&Tensor]) -> (Vec<usize>, Vec<f64>) {
    let (left, right) = equation.split_once("->").unwrap();
    let inputs: Vec<Vec<char>> = left.split(',').map(|text| text.chars().collect()).collect();
    let mut labels: Vec<(char, usize)> = Vec::new();
    for (input, operand) in inputs.iter().zip(operands) {
        for (&label, &size) in input.iter().zip(operand.shape()) {
            match labels.iter_mut().find(|(known, _)| *known == label) {
                Some((_, known)) => *known = (*known).max(size),
                None => labels.push((label, size)),
            }
        }
    }
    let numbers: Vec<Vec<f64>> = operands.iter().map(|operand| operand.to_f64_vec()).collect();
    let size = |label: char| labels.iter().find(|(known, _)| *known == label).unwrap().1;
    let shape: Vec<usize> = right.chars().map(size).collect();
    let mut out = vec![0.0; shape.iter().product()];
    let all: usize = labels.iter().map(|(_, size)| size).product();
    for number in 0..all {
        let mut rest = number;
        let values: Vec<(char, usize)> =
            labels.iter().map(|&(label, size)| (label, (rest % size, rest /= size).0)).collect();
        let value = |label: char| values.iter().find(|(known, _)| *known == label).unwrap().1;
        let place = |labels: &[char], shape: &[usize]| {
            labels.iter().zip(shape).fold(0, |place, (&label, &size)| place * size + value(label).min(size - 1))
        };
        let product: f64 = (0..operands.len()).map(|i| numbers[i][place(&inputs[i], operands[i].shape())]).product();
        out[place(&right.chars().collect::<Vec<_>>(), &shape)] += product;
    }
    (shape, out)
}

#[test]
fn einsum_equals_plain_loops() {
    let cases: &[(&str, &[&[usize]])] = &[
        ("i->", &[&[3]]),
        ("ij->ji", &[&[2, 3]]),
        ("ii->i", &[&[3, 3]]),
        ("ii->", &[&[3, 3]]),
        ("iji->j", &[&[2, 3, 2]]),
        ("iijj->ij", &[&[2, 2, 3, 3]]),
        ("iii->i", &[&[2, 2, 2]]),
        ("i,i->", &[&[4], &[4]]),
        ("i,i->i", &[&[4], &[4]]),
        ("i,j->ji", &[&[2], &[3]]),
        ("ij,jk->ik", &[&[2, 3], &[3, 4]]),
        ("ij,kj->ki", &[&[2, 3], &[4, 3]]),
        ("bij,bjk->bik", &[&[2, 3, 4], &[2, 4, 2]]),
        ("bhtd,bhsd->bhts", &[&[2, 2, 3, 4], &[2, 2, 5, 4]]),
        ("btd,de->bte", &[&[2, 3, 4], &[4, 5]]),
        ("btd,bte->de", &[&[2, 3, 4], &[2, 3, 5]]),
        ("ijk,jil->kl", &[&[2, 3, 4], &[3, 2, 5]]),
        ("ab,cd->abcd", &[&[2, 3], &[2, 2]]),
        ("ab,bc,cd->ad", &[&[2, 3], &[3, 4], &[4, 2]]),
        ("ab,bc,ca->", &[&[2, 3], &[3, 4], &[4, 2]]),
        ("i,ij,j->", &[&[3], &[3, 4], &[4]]),
        ("ij,ij->ij", &[&[2, 3], &[1, 3]]),
        ("ij,jk->ik", &[&[2, 1], &[3, 4]]),
        ("aab,bc->ac", &[&[2, 2, 3], &[3, 2]]),
    ];
    for (equation, shapes) in cases {
        let operands: Vec<Tensor> = shapes.iter().zip(0..).map(|(shape, i)| wave(shape, 0.7 * f64::from(i))).collect();
        let operands: Vec<&Tensor> = operands.iter().collect();
        let (shape, numbers) = by_loops(equation, &operands);
        let got = Tensor::einsum(equation, &operands);
        assert_eq!(got.shape(), shape, "{equation}");
        assert!(got.all_close(&Tensor::from_vec(numbers, shape), 1e-12), "{equation}");
    }
}

#[test]
fn einsum_knows_ellipses_and_implicit_results() {
    let (a, b) = (wave(&[2, 1, 3, 4], 0.1), wave(&[5, 4, 2], 0.9));
    let product = Tensor::einsum("...ij,...jk->...ik", &[&a, &b]);
    assert!(product.all_close(&a.matmul(&b), 1e-13));
    assert!(Tensor::einsum("...ij,...jk", &[&a, &b]).all_close(&product, 0.0));
    assert_eq!(Tensor::einsum("ba", &[&wave(&[2, 3], 0.0)]).shape(), [3, 2]);
    assert_eq!(Tensor::einsum("...ij->...", &[&a]).shape(), [2, 1]);
    assert_eq!(Tensor::einsum(" i j , j ", &[&wave(&[2, 3], 0.0), &wave(&[3], 0.0)]).shape(), [2]);
    assert_eq!(Tensor::einsum("ij,jk", &[&Tensor::zeros([0, 3]), &Tensor::zeros([3, 2])]).shape(), [0, 2]);
    assert_eq!(Tensor::einsum("ij,jk", &[&Tensor::zeros([2, 0]), &Tensor::zeros([0, 2])]), Tensor::zeros([2, 2]));
}

#[test]
fn einsum_says_what_is_wrong_with_an_equation() {
    let x = Tensor::ones([2, 3]);
    let message =
        |equation: &str, operands: &[&Tensor]| catch(|| Tensor::einsum(equation, operands)).unwrap_err().to_string();
    assert!(message("ij,jk->ik", &[&x]).contains("2 operands are named, 1 given"));
    assert!(message("ijk->i", &[&x]).contains("other axes than \"ijk\""));
    assert!(message("ij->k", &[&x]).contains("'k' is in no operand"));
    assert!(message("ij->ii", &[&x]).contains("twice in the result"));
    assert!(message("ij,ij->i", &[&x, &Tensor::ones([2, 4])]).contains("axis 'j' has sizes 3 and 4"));
    assert!(message("ii->i", &[&x]).contains("sizes"));
    assert!(message("i1->i", &[&x]).contains("'1' is not a letter"));
}

#[test]
fn gradients_of_einsum_are_einsums() {
    let (a, b) = (wave(&[2, 3, 4], 0.2), wave(&[2, 4, 5], 0.3));
    let seed = wave(&[2, 3, 5], 0.4);
    let f = |(a, b): &(Tensor, Tensor)| (Tensor::einsum("bij,bjk->bik", &[a, b]) * &seed).sum();
    let (ga, gb) = grad(f)(&(a.clone(), b.clone()));
    assert!(ga.all_close(&Tensor::einsum("bik,bjk->bij", &[&seed, &b]), 1e-13));
    assert!(gb.all_close(&Tensor::einsum("bij,bik->bjk", &[&a, &seed]), 1e-13));
}

#[test]
fn a_chain_is_multiplied_in_the_cheapest_order() {
    let sizes = [10usize, 100, 5, 50, 1];
    let factors: Vec<Tensor> = sizes.windows(2).map(|pair| wave(pair, 0.3)).collect();
    let chain = |list: &Vec<Tensor>| Tensor::multi_dot(&list.iter().collect::<Vec<_>>());
    let plain = factors[1..].iter().fold(factors[0].clone(), |product, factor| product.matmul(factor));
    assert!(chain(&factors).all_close(&plain, 1e-11));
    // 5x50 by 50x1 first, then 100x5 by 5x1, then 10x100 by 100x1.
    let text = compile(chain).program(&factors).to_string();
    let shapes: Vec<&str> = ["f64[5, 1] = matmul", "f64[100, 1] = matmul", "f64[10, 1] = matmul"].to_vec();
    assert!(shapes.iter().all(|shape| text.contains(shape)), "{text}");
}

#[test]
fn distances_at_coincident_points_have_gradient_zero() {
    let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    let gradient = grad(|x: &Tensor| x.cdist(x).sum())(&x);
    let away = 2.0 / 2f64.sqrt();
    assert!(gradient.all_close(&Tensor::from([[-away, -away], [away, away]]), 1e-14));
}

#[test]
fn powers_of_zero_and_negative_numbers_are_exact_with_their_derivatives() {
    let x = Tensor::from([0.0, -2.0]);
    assert_eq!(x.vander(4), Tensor::from([[1.0, 0.0, 0.0, 0.0], [1.0, -2.0, 4.0, -8.0]]));
    let slopes = jvp(|x: &Tensor| x.vander(4), &x, &Tensor::ones([2])).1;
    assert_eq!(slopes, Tensor::from([[0.0, 1.0, 0.0, 0.0], [0.0, 1.0, -4.0, 12.0]]));
}

#[test]
fn small_products_are_right() {
    let (a, b) = (wave(&[2, 3], 0.1), wave(&[2, 2], 0.5));
    let k = a.kron(&b);
    assert_eq!(k.shape(), [4, 6]);
    assert_eq!(k.slice((3, 5)).item(), a.slice((1, 2)).item() * b.slice((1, 1)).item());
    let (x, y) = (wave(&[4, 3], 0.2), wave(&[4, 3], 1.2));
    let z = x.cross(&y);
    assert!(z.vecdot(&x, -1).all_close(&Tensor::zeros([4]), 1e-15));
    assert!(z.t().all_close(&x.t().cross_along(&y.t(), 0), 0.0));
    let w = wave(&[5, 3, 2], 0.7);
    let (p, q) = (wave(&[4, 3], 0.3), wave(&[4, 2], 0.8));
    let direct = Tensor::einsum("ni,oij,nj->no", &[&p, &w, &q]);
    assert!(p.bilinear(&q, &w, None).all_close(&direct, 1e-14));
    let nan = Tensor::full([2], f64::NAN);
    assert_eq!(nan.addmm_with(&Tensor::ones([1, 1]), &Tensor::ones([1, 2]), 0.0, 1.0), Tensor::ones([1, 2]));
}

/// Large products add the bias when they write their sums, others afterwards; gradients are those of a product and a sum.
#[test]
fn a_bias_is_added_like_any_other_sum() {
    for (rows, inputs, outputs) in [(1, 1, 1), (3, 5, 2), (150, 130, 140), (0, 3, 2), (2, 0, 3), (2, 3, 0)] {
        let (x, w, b) = (wave(&[rows, inputs], 0.1), wave(&[outputs, inputs], 0.2), wave(&[outputs], 0.3));
        let (leaves, seed) = ((x, w, b), wave(&[rows, outputs], 0.4));
        let fused = |(x, w, b): &(Tensor, Tensor, Tensor)| x.linear_bias(w, b);
        let apart = |(x, w, b): &(Tensor, Tensor, Tensor)| x.matmul(&w.t()) + b;
        let ((y, pullback), (expected, other)) = (vjp(fused, &leaves), vjp(apart, &leaves));
        assert!(y.all_close(&expected, 1e-12), "{rows} {inputs} {outputs}");
        let ((dx, dw, db), (ex, ew, eb)) = (pullback.call(&seed), other.call(&seed));
        for (found, expected) in [(dx, ex), (dw, ew), (db, eb)] {
            assert!(found.all_close(&expected, 1e-11), "{rows} {inputs} {outputs}");
        }
    }
}

#[test]
fn any_operand_of_a_linear_map_may_be_the_batched_one() {
    let (x, w, b) = (wave(&[4, 3], 0.1), wave(&[2, 3], 0.2), wave(&[2], 0.3));
    let (xs, ws, bs) = (wave(&[5, 4, 3], 0.4), wave(&[5, 2, 3], 0.5), wave(&[5, 2], 0.6));
    let one = |tensor: &Tensor, i: usize| tensor.slice(i);
    let over_x = vmap(|x: &Tensor| x.linear_bias(&w, &b))(&xs);
    let over_w = vmap(|w: &Tensor| x.linear_bias(w, &b))(&ws);
    let over_b = vmap(|b: &Tensor| x.linear_bias(&w, b))(&bs);
    let over_all =
        vmap(|(x, w, b): &(Tensor, Tensor, Tensor)| x.linear_bias(w, b))(&(xs.clone(), ws.clone(), bs.clone()));
    for i in 0..5 {
        assert!(one(&over_x, i).all_close(&(one(&xs, i).matmul(&w.t()) + &b), 1e-12));
        assert!(one(&over_w, i).all_close(&(x.matmul(&one(&ws, i).t()) + &b), 1e-12));
        assert!(one(&over_b, i).all_close(&(x.matmul(&w.t()) + one(&bs, i)), 1e-12));
        assert!(one(&over_all, i).all_close(&(one(&xs, i).matmul(&one(&ws, i).t()) + one(&bs, i)), 1e-12));
    }
}

#[test]
fn a_bias_that_is_not_finite_reaches_its_column_alone() {
    let bias = Tensor::from([0.5, f64::NAN, f64::INFINITY]);
    for rows in [2, 400] {
        let y = Tensor::full([rows, 200], 1.0).linear_bias(&Tensor::full([3, 200], 1.0), &bias);
        assert_eq!(y.slice((.., 0)), Tensor::full([rows], 200.5));
        assert!(y.slice((.., 1)).to_vec::<f64>().iter().all(|x| x.is_nan()));
        assert_eq!(y.slice((.., 2)), Tensor::full([rows], f64::INFINITY));
    }
}

#[test]
fn a_product_and_its_bias_are_rounded_to_half_precision_once() {
    // 256 + 1 is not a bf16, 256 + 1 + 1 is one: rounding between the two would lose both.
    let half = |tensor: Tensor| tensor.cast(DType::BF16);
    let x = half(Tensor::from([[16.0, 1.0]]));
    let y = x.linear_bias(&half(Tensor::from([[16.0, 1.0]])), &half(Tensor::from([1.0])));
    assert_eq!(y.cast(DType::F64), Tensor::from([[258.0]]));
}

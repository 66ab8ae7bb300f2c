//! The ten case studies of the guide, in every mode.

use std::sync::{Arc, Mutex};
use wengert::prelude::*;

/// The gradient of a scalar function of a tree by the tape, `grad`, `compile` and `vmap` is the expected one to 1e-15.
fn gradient_is<X: Tree + Clone>(f: impl Fn(&X) -> Tensor + Copy, x: &X, expected: &[f64]) {
    let close = |found: Vec<f64>| {
        assert_eq!(found.len(), expected.len());
        let is_close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-15 * b.abs().max(1.0);
        assert!(found.iter().zip(expected).all(is_close), "{found:?}, not {expected:?}");
    };
    let numbers = |tree: &X| tree.leaves().into_iter().flat_map(Tensor::to_f64_vec).collect();
    close(numbers(&grad(f)(x)));
    close(numbers(&compile(grad(f)).call(x)));
    close(numbers(&grad(|x: &X| compile(f).call(x))(x)));
    let batch = x.map_leaves(|leaf| leaf.unsqueeze(0));
    close(numbers(&vmap(grad(f))(&batch)));
    let leaves = x.map_leaves(|leaf| leaf.clone().require_grad());
    f(&leaves).backward();
    close(leaves.leaves().into_iter().flat_map(|leaf| leaf.grad().expect("it is used").to_f64_vec()).collect());
}

fn pair(a: f64, b: f64) -> (Tensor, Tensor) {
    (Tensor::from(a), Tensor::from(b))
}

#[test]
fn case_1_a_scalar_expression() {
    let f = |x: &Tensor| (x.square() + 1.0).sin().exp();
    assert!((f(&Tensor::from(0.5)).item() - 2.583085512255227).abs() < 1e-15);
    gradient_is(f, &Tensor::from(0.5), &[0.814504625993311]);
}

#[test]
fn case_2_a_shared_intermediate_value() {
    let f = |x: &Tensor| {
        let u = x.square();
        &u + u.sin()
    };
    gradient_is(f, &Tensor::from(2.0), &[1.3854255165455522]);
}

#[test]
fn case_3_two_inputs() {
    let f = |(x1, x2): &(Tensor, Tensor)| x1 * x2 + x1.sin();
    assert_eq!(f(&pair(2.0, 3.0)).item(), 6.909297426825682);
    gradient_is(f, &pair(2.0, 3.0), &[3.0 + 2.0f64.cos(), 2.0]);
}

#[test]
fn case_4_a_vector_jacobian_product() {
    let f = |(x1, x2): &(Tensor, Tensor)| (x1.square() + x2, x1 * x2);
    assert_eq!(vjp(f, &pair(2.0, 3.0)).1.call(&pair(1.0, 2.0)), pair(10.0, 5.0));
    gradient_is(
        |x: &(Tensor, Tensor)| {
            let (y1, y2) = f(x);
            y1 + y2 * 2.0
        },
        &pair(2.0, 3.0),
        &[10.0, 5.0],
    );
}

#[test]
fn case_5_a_linear_layer() {
    let x = (
        Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        Tensor::from([[1.0, -1.0], [0.5, 2.0]]),
        Tensor::from([0.1, 0.2]),
    );
    let g = Tensor::from([[1.0, 0.0], [0.0, 1.0], [2.0, -1.0]]);
    let f = |(x, w, b): &(Tensor, Tensor, Tensor)| ((x.matmul(&w.t()) + b) * &g).sum();
    // G W, then G^T X, then the sum of the rows of G.
    let expected = [1.0, -1.0, 0.5, 2.0, 1.5, -4.0, 11.0, 14.0, -2.0, -2.0, 3.0, 0.0];
    gradient_is(f, &x, &expected);
}

#[test]
fn case_6_relu() {
    let f = |x: &Tensor| (x.relu() * Tensor::from([5.0, 6.0, 7.0])).sum();
    gradient_is(f, &Tensor::from([-1.0, 0.0, 2.0]), &[0.0, 0.0, 7.0]);
}

#[test]
fn case_7_softmax_and_cross_entropy() {
    let labels = Tensor::from([2i64, 0]);
    let f = |logits: &Tensor| logits.cross_entropy(&labels, &CrossEntropy::new());
    let rows: [[f64; 3]; 2] = [[1.0, 2.0, 3.0], [1.0, 0.0, -1.0]];
    assert!((f(&Tensor::from(rows)).item() - 0.40760596444438046).abs() < 1e-15);
    let one_hot = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]];
    let expected: Vec<f64> = rows
        .iter()
        .zip(one_hot)
        .flat_map(|(row, labels)| {
            let total: f64 = row.iter().map(|x| x.exp()).sum();
            row.iter().zip(labels).map(move |(x, label)| (x.exp() / total - label) / 2.0).collect::<Vec<_>>()
        })
        .collect();
    gradient_is(f, &Tensor::from(rows), &expected);
}

#[test]
fn case_8_backpropagation_through_time() {
    const INPUTS: [f64; 3] = [0.5, -0.3, 0.8];
    let w = 0.7f64;
    let mut states = vec![0.0f64];
    INPUTS.iter().for_each(|x| states.push((w * states[states.len() - 1] + x).tanh()));
    let (mut dw, mut dh) = (0.0, 1.0);
    for step in (0..3).rev() {
        let inner = dh * (1.0 - states[step + 1] * states[step + 1]);
        dw += inner * states[step];
        dh = inner * w;
    }
    gradient_is(
        |w: &Tensor| INPUTS.iter().fold(Tensor::from(0.0), |h, &x| (w * h + x).tanh()),
        &Tensor::from(w),
        &[dw],
    );
    let scanned = |w: &Tensor| {
        let step = |h: &Tensor, x: &Tensor| {
            let h = (w * h + x).tanh();
            (h.clone(), h)
        };
        scan(step, &Tensor::from(0.0), &Tensor::from(INPUTS)).0
    };
    gradient_is(scanned, &Tensor::from(w), &[dw]);
}

#[test]
fn case_9_a_checkpointed_chain() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let layers: Vec<_> = (1..=8)
        .map(|k| {
            let log = log.clone();
            move |x: &Tensor| {
                let y = x.sin();
                log.lock().unwrap().push(k);
                y
            }
        })
        .collect();
    let chain = |x: &Tensor| checkpoint_chain(&layers, x, 2);
    // One number is held inside its record; a row is not.
    let x = Tensor::from([1.0, 0.5]);
    let (_, pullback) = vjp(chain, &x);
    assert_eq!(std::mem::take(&mut *log.lock().unwrap()), [1, 2, 3, 4, 5, 6, 7, 8]);
    let gradient = pullback.call(&Tensor::ones([2]));
    assert_eq!(*log.lock().unwrap(), [5, 6, 7, 1, 2, 3]);
    let expected = [1.0, 0.5]
        .map(|x0: f64| std::iter::successors(Some(x0), |x| Some(x.sin())).take(8).map(f64::cos).product::<f64>());
    assert!(gradient.all_close(&Tensor::from(expected), 1e-15));
    gradient_is(|x: &Tensor| chain(x).sum(), &x, &expected);
}

/// The engine of the guide, which is a doctest there, finds what ours finds, also where a variable is used often.
#[test]
fn case_10_a_tiny_engine() {
    let text = include_str!("../../../../docs/guide/case_studies.md");
    let (_, section) = text.split_once("## 10.").expect("the tenth case");
    let code = section.split("```").nth(1).expect("its code");
    let lines = code.lines().skip(1).filter(|line| !line.trim().is_empty() && !line.trim().starts_with("//")).count();
    assert!(lines <= 66, "{lines} lines, the example included");
}

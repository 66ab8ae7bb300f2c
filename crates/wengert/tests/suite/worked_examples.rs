//! Examples that can be checked by hand: eagerly, traced, and batched where it fits.

use wengert::autograd;
use wengert::prelude::*;

/// The gradient of a scalar function by the tape, by `grad`, by a compiled `grad`, through a compiled function, by forward mode and in a
/// batch; all must equal `expected`.
fn gradients_are(f: impl Fn(&Tensor) -> Tensor, x: &Tensor, expected: &Tensor) {
    let leaf = x.clone().require_grad();
    f(&leaf).sum().backward();
    assert_eq!(leaf.grad().unwrap(), *expected, "by the tape");
    let scalar = |x: &Tensor| f(x).sum();
    assert_eq!(grad(scalar)(x), *expected, "by grad");
    assert_eq!(compile(grad(scalar)).call(x), *expected, "by a compiled grad");
    let staged = compile(&f);
    assert_eq!(grad(|x: &Tensor| staged.call(x).sum())(x), *expected, "through a compiled function");
    let tangent = jvp(scalar, x, &x.full_like(1.0)).1;
    assert!(tangent.all_close(&expected.sum(), 1e-15), "by forward mode");
    let both = |tensor: &Tensor| tensor.broadcast_to([&[2], tensor.shape()].concat());
    assert_eq!(vmap(grad(scalar))(&both(x)), both(expected), "in a batch");
}

fn pair(a: f64, b: f64) -> (Tensor, Tensor) {
    (Tensor::from(a), Tensor::from(b))
}

#[test]
fn square_of_a_sum() {
    let (x, y) = (Tensor::from(2.0).require_grad(), Tensor::from(3.0).require_grad());
    let s = (&x + &y).retain_grad();
    let z = s.square();
    z.backward();
    assert_eq!(z.item(), 25.0);
    assert_eq!(s.grad().unwrap().item(), 10.0);
    assert_eq!((x.grad().unwrap().item(), y.grad().unwrap().item()), (10.0, 10.0));
    let f = |(x, y): &(Tensor, Tensor)| (x + y).square();
    assert_eq!(compile(grad(f)).call(&pair(2.0, 3.0)), pair(10.0, 10.0));
    assert_eq!(compile(f).call(&pair(2.0, 3.0)).item(), 25.0);
}

#[test]
fn gradients_accumulate_over_backward_calls() {
    let x = Tensor::from(3.0).require_grad();
    let f = |x: &Tensor| x.square() + x;
    f(&x).backward();
    assert_eq!(x.grad().unwrap().item(), 7.0);
    f(&x).backward();
    assert_eq!(x.grad().unwrap().item(), 14.0);
    x.zero_grad();
    assert!(x.grad().is_none());
    f(&x).backward();
    assert_eq!(x.grad().unwrap().item(), 7.0);
    gradients_are(f, &Tensor::from(3.0), &Tensor::from(7.0));
}

#[test]
fn product_plus_sum() {
    let f = |(x, y): &(Tensor, Tensor)| x * y + (x + y);
    assert_eq!(grad(f)(&pair(2.0, 3.0)), pair(4.0, 3.0));
    assert_eq!(compile(grad(f)).call(&pair(2.0, 3.0)), pair(4.0, 3.0));
    let batch = (Tensor::from([2.0, 2.0]), Tensor::from([3.0, 3.0]));
    assert_eq!(vmap(grad(f))(&batch), (Tensor::from([4.0, 4.0]), Tensor::from([3.0, 3.0])));
    let (x, y) = (Tensor::from(2.0).require_grad(), Tensor::from(3.0).require_grad());
    f(&(x.clone(), y.clone())).backward();
    assert_eq!((x.grad().unwrap().item(), y.grad().unwrap().item()), (4.0, 3.0));
}

#[test]
fn seeds_weigh_the_outputs() {
    let x = Tensor::from([1.0, 2.0, 3.0]).require_grad();
    let y = x.square();
    y.backward_with(Backward::new().seed(&Tensor::from([1.0, 1.0, 1.0])).retain_graph());
    assert_eq!(x.grad().unwrap(), Tensor::from([2.0, 4.0, 6.0]));
    x.zero_grad();
    let seed = Tensor::from([10.0, 1.0, 0.1]);
    y.backward_with(Backward::new().seed(&seed));
    let expected = Tensor::from([20.0, 4.0, 0.6]);
    assert!(x.grad().unwrap().all_close(&expected, 1e-15));
    let (_, pullback) = vjp(Tensor::square, &Tensor::from([1.0, 2.0, 3.0]));
    assert!(pullback.call(&seed).all_close(&expected, 1e-15));
    let staged = compile(|(x, seed): &(Tensor, Tensor)| vjp(Tensor::square, x).1.call(seed));
    assert!(staged.call(&(Tensor::from([1.0, 2.0, 3.0]), seed)).all_close(&expected, 1e-15));
    gradients_are(Tensor::square, &Tensor::from([1.0, 2.0, 3.0]), &Tensor::from([2.0, 4.0, 6.0]));
}

#[test]
fn detached_values_are_constants() {
    let x = Tensor::from(2.0).require_grad();
    let y = 3.0 * x.square().detach();
    assert_eq!(y.item(), 12.0);
    assert!(!y.requires_grad());
    let f = |x: &Tensor| 3.0 * x.square().detach() + x;
    gradients_are(f, &Tensor::from(2.0), &Tensor::from(1.0));
}

#[test]
fn the_classic_wengert_list() {
    let f = |(x1, x2): &(Tensor, Tensor)| x1 * x2 + x1.sin();
    let point = pair(2.0, 3.0);
    assert_eq!(f(&point).item(), 6.909297426825682);
    assert_eq!(grad(f)(&point), pair(2.5838531634528574, 2.0));
    assert_eq!(compile(f).call(&point).item(), 6.909297426825682);
    assert_eq!(compile(grad(f)).call(&point), pair(2.5838531634528574, 2.0));

    let (x1, x2) = (Tensor::from(2.0).require_grad(), Tensor::from(3.0).require_grad());
    let y = record_values(|| {
        let y = f(&(x1.clone(), x2.clone()));
        y.backward_with(Backward::new().retain_graph());
        y
    });
    assert_eq!((x1.grad().unwrap().item(), x2.grad().unwrap().item()), (2.5838531634528574, 2.0));
    let tape = Tape::of(&y);
    let operations: Vec<&str> = tape.rows().iter().map(|row| row.operation.as_str()).collect();
    assert_eq!(operations, ["leaf", "leaf", "mul", "sin", "add"]);
    let values: Vec<f64> = tape.rows().iter().map(|row| row.value.as_ref().unwrap().item()).collect();
    assert_eq!(values, [2.0, 3.0, 6.0, 2.0f64.sin(), 6.909297426825682]);
    let adjoints: Vec<f64> = tape.rows().iter().map(|row| row.adjoint.as_ref().unwrap().item()).collect();
    assert_eq!(adjoints, [2.5838531634528574, 2.0, 1.0, 1.0, 1.0]);
    let contributed = |row: usize| -> Vec<f64> {
        tape.rows()[row].contributions.iter().map(|part| part.as_ref().unwrap().item()).collect()
    };
    assert_eq!((contributed(2), contributed(3)), (vec![3.0, 2.0], vec![2.0f64.cos()]));
    assert!(tape.rows().iter().all(|row| row.line.file().ends_with("worked_examples.rs")));
    let text = tape.to_string();
    assert!(text.contains("mul v1 v2") && text.contains("operand 0 = 2.") && text.contains("dx = cos(x) dy"), "{text}");
}

#[test]
fn a_variable_used_for_new_values() {
    let f = |x: &Tensor| {
        let mut x = x.clone();
        x = &x * &x;
        x += 1.0;
        x
    };
    assert_eq!(f(&Tensor::from(2.0)).item(), 5.0);
    gradients_are(f, &Tensor::from(2.0), &Tensor::from(4.0));
}

#[test]
fn aliases_do_not_see_each_other() {
    let f = |x: &Tensor| {
        let mut a = x.clone();
        let b = x.clone();
        a += 1.0;
        let y = &a * &b;
        assert_eq!((a.shape(), b.shape()), (x.shape(), x.shape()));
        y
    };
    let x = Tensor::from(3.0).require_grad();
    let (mut a, b) = (x.clone(), x.clone());
    a += 1.0;
    let y = &a * &b;
    y.backward();
    assert_eq!(y.item(), 12.0);
    assert_eq!(x.grad().unwrap().item(), 7.0);
    assert_eq!((x.item(), b.item(), a.item()), (3.0, 3.0, 4.0));
    assert!(catch(|| a.grad()).is_err(), "an updated handle is an intermediate");
    gradients_are(f, &Tensor::from(3.0), &Tensor::from(7.0));
}

#[test]
fn a_saved_value_survives_an_update() {
    let x = Tensor::from([1.0, 2.0, 3.0, 4.0]).require_grad();
    let mut updated = x.clone();
    let y = updated.square();
    updated += 1.0;
    y.sum().backward();
    assert_eq!(x.grad().unwrap(), Tensor::from([2.0, 4.0, 6.0, 8.0]));
    assert_eq!(updated, Tensor::from([2.0, 3.0, 4.0, 5.0]));
    let f = |x: &Tensor| {
        let mut x = x.clone();
        let y = x.square();
        x += 1.0;
        assert_eq!(x.shape(), y.shape());
        y
    };
    gradients_are(f, &Tensor::from([1.0, 2.0, 3.0, 4.0]), &Tensor::from([2.0, 4.0, 6.0, 8.0]));
}

#[derive(Tree)]
struct Linear {
    weight: Tensor,
    bias: Tensor,
}

impl Linear {
    fn new(key: &mut Key, inputs: usize, outputs: usize) -> Linear {
        let scale = 1.0 / (inputs as f64).sqrt();
        let mut draw = |shape: Vec<usize>| (key.next().uniform(shape, DType::F64) * 2.0 - 1.0) * scale;
        Linear { weight: draw(vec![outputs, inputs]), bias: draw(vec![outputs]) }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        x.matmul(&self.weight.t()) + &self.bias
    }
}

#[derive(Tree)]
struct Network {
    layers: Vec<Linear>,
    output: Linear,
}

impl Network {
    fn new(key: &mut Key) -> Network {
        let layers = vec![Linear::new(key, 10, 32), Linear::new(key, 32, 32)];
        Network { layers, output: Linear::new(key, 32, 1) }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let hidden = self.layers.iter().fold(x.clone(), |h, layer| layer.forward(&h).relu());
        self.output.forward(&hidden)
    }
}

fn data() -> (Tensor, Tensor) {
    let wave = |count: usize| (0..count).map(|i| (0.5 * i as f64 + 0.1).sin()).collect::<Vec<_>>();
    (Tensor::from_vec(wave(160), [16, 10]), Tensor::from_vec(wave(16), [16, 1]))
}

#[test]
fn named_parameters_of_a_network_have_gradients_of_their_shapes() {
    let network = Network::new(&mut Key::new(1));
    let (x, y) = data();
    let loss = |network: &Network| (network.forward(&x) - &y).square().mean();
    let expected: Vec<(&str, &[usize])> = vec![
        ("layers.0.weight", &[32, 10]),
        ("layers.0.bias", &[32]),
        ("layers.1.weight", &[32, 32]),
        ("layers.1.bias", &[32]),
        ("output.weight", &[1, 32]),
        ("output.bias", &[1]),
    ];
    let gradient = grad(loss)(&network);
    let shapes = |network: &Network| -> Vec<(String, Vec<usize>)> {
        network.named_leaves().into_iter().map(|(name, leaf)| (name, leaf.shape().to_vec())).collect()
    };
    let expected: Vec<(String, Vec<usize>)> =
        expected.into_iter().map(|(name, shape)| (name.to_string(), shape.to_vec())).collect();
    assert_eq!(shapes(&network), expected);
    assert_eq!(shapes(&gradient), expected);

    // The same by the tape, and staged.
    let leaves = network.map_leaves(|leaf| leaf.clone().require_grad());
    loss(&leaves).backward();
    let staged = compile(grad(loss)).call(&network);
    for ((leaf, functional), staged) in leaves.leaves().iter().zip(gradient.leaves()).zip(staged.leaves()) {
        assert!(leaf.grad().unwrap().all_close(functional, 1e-12));
        assert!(staged.all_close(functional, 1e-12));
        assert!(functional.to_f64_vec().iter().any(|g| *g != 0.0));
    }
    // Per-example gradients in a batch average to the gradient.
    let rows = (x.reshape([16, 1, 10]), y.reshape([16, 1, 1]));
    let each =
        vmap(|(x, y): &(Tensor, Tensor)| grad(|network: &Network| (network.forward(x) - y).square().mean())(&network))(
            &rows,
        );
    for (each, whole) in each.leaves().iter().zip(gradient.leaves()) {
        let mean = each.sum_over(0) / 16.0;
        assert!(mean.all_close(whole, 1e-12));
    }
}

#[test]
fn a_teacher_gets_no_gradient_by_no_grad_or_by_detach() {
    let (teacher, student) = (Network::new(&mut Key::new(1)), Network::new(&mut Key::new(2)));
    let (x, _) = data();
    let distance = |a: Tensor, b: Tensor| (a - b).square().mean();
    let by_no_grad = |teacher: &Network, student: &Network| {
        let target = no_grad(|| teacher.forward(&x));
        distance(student.forward(&x), target)
    };
    let by_detach = |teacher: &Network, student: &Network| distance(student.forward(&x), teacher.forward(&x).detach());
    type Loss<'a> = &'a dyn Fn(&Network, &Network) -> Tensor;
    let expected = {
        let target = teacher.forward(&x);
        grad(|student: &Network| distance(student.forward(&x), target.clone()))(&student)
    };
    for loss in [&by_no_grad as Loss<'_>, &by_detach] {
        let (t, s) =
            (teacher.map_leaves(|l| l.clone().require_grad()), student.map_leaves(|l| l.clone().require_grad()));
        loss(&t, &s).backward();
        assert!(t.leaves().iter().all(|leaf| leaf.grad().is_none()));
        for (leaf, expected) in s.leaves().iter().zip(expected.leaves()) {
            assert_eq!(leaf.grad().unwrap(), *expected);
        }
        let both = |pair: &(Network, Network)| loss(&pair.0, &pair.1);
        let pair = (teacher.map_leaves(Tensor::clone), student.map_leaves(Tensor::clone));
        for gradient in [grad(both)(&pair), compile(grad(both)).call(&pair)] {
            assert!(gradient.0.leaves().iter().all(|g| g.to_f64_vec().iter().all(|g| *g == 0.0)));
            for (gradient, expected) in gradient.1.leaves().iter().zip(expected.leaves()) {
                assert!(gradient.all_close(expected, 1e-12));
            }
        }
    }
}

#[test]
fn gradients_of_chosen_tensors() {
    let x = Tensor::from(2.0).require_grad();
    let unused = Tensor::from([1.0, 1.0]).require_grad();
    let y = x.square();
    let z = &y * 3.0;
    let found = autograd::grad_with(&[&z], &[&x, &y, &unused], Backward::new().retain_graph());
    assert_eq!(found[0].as_ref().unwrap().item(), 12.0);
    assert_eq!(found[1].as_ref().unwrap().item(), 3.0);
    assert!(found[2].is_none());
    assert_eq!(autograd::grad(&[&z], &[&unused])[0], Tensor::from([0.0, 0.0]));
    assert!(x.grad().is_none(), "nothing is accumulated");
}

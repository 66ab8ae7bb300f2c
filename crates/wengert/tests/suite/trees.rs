//! Trees: structs, enums and containers of tensors as inputs and outputs of transforms.

use std::collections::{BTreeMap, HashMap};
use wengert::prelude::*;

#[derive(Tree)]
enum Layer<T> {
    Scale(T),
    Shift { by: T },
    Nothing,
}

#[derive(Tree)]
struct Model {
    layers: Vec<Layer<Tensor>>,
    tables: BTreeMap<String, Tensor>,
    extra: Option<Box<Tensor>>,
    counts: Tensor,
    #[tree(static)]
    exponent: usize,
}

fn model() -> Model {
    Model {
        layers: vec![Layer::Scale(Tensor::from(2.0)), Layer::Nothing, Layer::Shift { by: Tensor::from(1.0) }],
        tables: BTreeMap::from([("b".to_string(), Tensor::from(3.0)), ("a".to_string(), Tensor::from(4.0))]),
        extra: Some(Box::new(Tensor::from(5.0))),
        counts: Tensor::from([1i64, 2]),
        exponent: 2,
    }
}

fn value(model: &Model) -> Tensor {
    let mut y = Tensor::from(1.0);
    for layer in &model.layers {
        y = match layer {
            Layer::Scale(by) => y * by,
            Layer::Shift { by } => y + by,
            Layer::Nothing => y,
        };
    }
    for _ in 0..model.exponent {
        y *= model.extra.as_ref().unwrap().as_ref();
    }
    y + &model.tables["a"] * &model.tables["b"]
}

#[test]
fn names_are_dotted_and_gradients_have_the_structure() {
    let names: Vec<String> = model().named_leaves().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["layers.0.0", "layers.2.by", "tables.a", "tables.b", "extra", "counts"]);
    let check = |gradient: &Model| {
        let numbers: Vec<f64> = gradient.leaves()[..5].iter().map(|leaf| leaf.item()).collect();
        assert_eq!(numbers, [25.0, 25.0, 3.0, 4.0, 30.0]);
        assert_eq!(gradient.counts, Tensor::from([0i64, 0]));
        assert_eq!(gradient.exponent, 2);
    };
    check(&grad(value)(&model()));
    let staged = compile(grad(value));
    check(&staged.call(&model()));
    // Static fields and variants are part of the signature.
    let mut other = model();
    other.exponent = 3;
    staged.call(&other);
    other.layers[1] = Layer::Shift { by: Tensor::from(0.0) };
    staged.call(&other);
    assert_eq!(staged.signatures(), 3);
}

#[test]
fn hash_maps_are_visited_in_the_order_of_their_keys() {
    let map: HashMap<String, Tensor> = ["c", "a", "b"].iter().map(|k| (k.to_string(), Tensor::from(1.0))).collect();
    let names: Vec<String> = map.named_leaves().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn a_tangent_of_another_structure_names_the_path() {
    let x = (vec![Tensor::from(1.0), Tensor::from(2.0)], Tensor::from(3.0));
    let dx = (vec![Tensor::from(1.0)], Tensor::from(3.0));
    let error = catch(|| jvp(|x: &(Vec<Tensor>, Tensor)| x.1.clone(), &x, &dx)).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Tree);
    assert!(error.message().starts_with("the tangent has another structure: 0"), "{error}");
    let (_, pullback) = vjp(|x: &Tensor| (x * 2.0, x.sum()), &Tensor::from([1.0, 2.0]));
    let error = catch(|| pullback.call(&(Tensor::from([1.0, 2.0, 3.0]), Tensor::from(1.0)))).unwrap_err();
    assert!(error.message().contains("f64[3] at '0', where f64[2] is needed"), "{error}");
}

#[test]
fn empty_trees_and_unused_inputs() {
    let nothing: Vec<Tensor> = vec![];
    assert!(grad(|_: &Vec<Tensor>| Tensor::from(1.0))(&nothing).is_empty());
    let none: Option<Tensor> = None;
    assert!(grad(|x: &(Option<Tensor>, Tensor)| x.1.square())(&(none, Tensor::from(3.0))).0.is_none());
    let (used, unused) = grad(|(x, _): &(Tensor, Tensor)| x.square())(&(Tensor::from(3.0), Tensor::from([1.0, 2.0])));
    assert_eq!((used.item(), unused), (6.0, Tensor::from([0.0, 0.0])));
}

#[derive(Tree, Clone)]
struct Scaled {
    weight: Tensor,
    #[tree(frozen)]
    mean: Tensor,
}

#[test]
fn nothing_is_differentiated_by_a_frozen_leaf() {
    let at = Scaled { weight: Tensor::from([1.0, 2.0]), mean: Tensor::from(0.5) };
    let f = |s: &Scaled| (s.weight.square() * s.mean.square()).sum();
    // By the weights only: two times 2 * 0.25.
    assert_eq!(laplacian(f)(&at).item(), 1.0);
    let along = Scaled { weight: Tensor::from([1.0, 1.0]), mean: Tensor::from(1.0) };
    let slope = 2.0 * 0.25 * (1.0 + 2.0);
    assert_eq!(jet(f, &at, std::slice::from_ref(&along), 1)[1].item(), slope);
    assert_eq!(jvp(f, &at, &along).1.item(), slope);
    assert_eq!(linearize(f, &at).1.apply(&along).item(), slope);
    assert_eq!(jacfwd(f)(&at).mean.item(), 0.0);
    gradcheck(f, &at).unwrap();
}

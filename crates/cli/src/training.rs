//! Training: minibatches, gradients, momentum.

use crate::digits::Digits;
use crate::network::{Network, cross_entropy};
use wengert::prelude::*;

const BATCH: usize = 32;
const RATE: f64 = 0.05;
const MOMENTUM: f64 = 0.9;

/// What decides a run; two runs with the same plan give the same bits.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How often every image is seen.
    pub epochs: usize,
    /// The seed of weights and order.
    pub seed: u64,
}

/// What one pass over the images came to.
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    /// From 1.
    pub number: usize,
    /// The mean loss of its batches.
    pub loss: f64,
    /// The part of the training images that is recognised after it.
    pub accuracy: f64,
}

/// Trains a network, telling `watch` about every epoch.
pub fn train(plan: Plan, digits: &Digits, mut watch: impl FnMut(&Network, Epoch)) -> Network {
    let mut key = Key::new(plan.seed);
    let mut network = Network::new(&mut key);
    let mut velocity = network.map_leaves(|leaf| leaf.full_like(0.0));
    for number in 1..=plan.epochs {
        let mut sum = 0.0;
        for batch in digits.ordered(&shuffled(digits.count(), &key.next())).batches(BATCH) {
            let loss = |network: &Network| cross_entropy(&network.logits(&batch.images), &batch.labels);
            let (loss, gradient) = value_and_grad(loss)(&network);
            velocity = zip(&velocity, &gradient, |v, g| v * MOMENTUM + g);
            network = zip(&network, &velocity, |x, v| x - v * RATE);
            sum += loss.item() * batch.count() as f64;
        }
        watch(&network, Epoch { number, loss: sum / digits.count() as f64, accuracy: accuracy(&network, digits) });
    }
    network
}

/// The part of the images that the network recognises.
pub fn accuracy(network: &Network, digits: &Digits) -> f64 {
    let labels = digits.labels.to_vec::<i64>();
    let right = network.predict(&digits.images).iter().zip(&labels).filter(|(guess, label)| guess == label).count();
    right as f64 / labels.len() as f64
}

/// A random order of 0 .. count.
fn shuffled(count: usize, key: &Key) -> Tensor {
    let places = key.uniform([count], DType::F64).to_vec::<f64>();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&i, &j| places[i].total_cmp(&places[j]));
    Tensor::from(order.into_iter().map(|i| i as i64).collect::<Vec<_>>())
}

/// Leaf by leaf.
fn zip<T: Tree>(a: &T, b: &T, f: impl Fn(&Tensor, &Tensor) -> Tensor) -> T {
    a.rebuild(a.leaves().into_iter().zip(b.leaves()).map(|(a, b)| f(a, b)))
}

//! Training: minibatches, gradients, momentum.
//!
//! v <- m v + g,   x <- x - r v.

use crate::digits::Digits;
use crate::network::{Network, cross_entropy};
use wengert::prelude::*;

const BATCH: usize = 32;
const MOMENTUM: f64 = 0.9;
/// The learning rate at the start; it falls to zero along half a cosine.
const RATE: f64 = 0.1;

/// The settings of a run; two runs with the same plan give the same bits.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The number of epochs.
    pub epochs: usize,
    /// The seed of weights and order.
    pub seed: u64,
}

impl Plan {
    /// Enough to recognise more than 95 % of the held-out digits.
    pub const FULL: Plan = Plan { epochs: 100, seed: 0 };
    /// A quick run.
    pub const QUICK: Plan = Plan { epochs: 20, ..Plan::FULL };

    fn rate(self, epoch: usize) -> f64 {
        let done = (epoch - 1) as f64 / self.epochs as f64;
        RATE * 0.5 * (1.0 + (std::f64::consts::PI * done).cos())
    }
}

/// The result of one epoch.
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    /// The number of the epoch, from 1.
    pub number: usize,
    /// The mean loss of its batches, on augmented images.
    pub loss: f64,
    /// The fraction of the training images, without augmentation, that is recognised after it.
    pub accuracy: f64,
}

/// A training run: an iterator over its epochs, each trained when it is requested.
///
/// ```
/// use wengert_cli::digits::Digits;
/// use wengert_cli::training::{Plan, Training};
/// let (train, _) = Digits::load();
/// let losses: Vec<f64> = Training::new(Plan { epochs: 2, seed: 7 }, &train).map(|epoch| epoch.loss).collect();
/// assert!(losses[1] < losses[0]);
/// ```
pub struct Training<'d> {
    plan: Plan,
    digits: &'d Digits,
    key: Key,
    network: Network,
    velocity: Network,
    epochs: usize,
}

impl<'d> Training<'d> {
    /// A run that has not started.
    pub fn new(plan: Plan, digits: &'d Digits) -> Training<'d> {
        let mut key = Key::new(plan.seed);
        let network = Network::new(&mut key);
        let velocity = network.map_leaves(|leaf| leaf.full_like(0.0));
        Training { plan, digits, key, network, velocity, epochs: 0 }
    }

    /// The network trained so far.
    pub fn network(&self) -> &Network {
        &self.network
    }

    fn step(&mut self, batch: &Digits, rate: f64) -> f64 {
        let loss = |network: &Network| cross_entropy(&network.logits(&batch.images), &batch.labels);
        let (loss, gradient) = value_and_grad(loss)(&self.network);
        self.velocity = zip(&self.velocity, &gradient, |v, g| v * MOMENTUM + g);
        self.network = zip(&self.network, &self.velocity, |x, v| x - v * rate);
        loss.item()
    }
}

impl Iterator for Training<'_> {
    type Item = Epoch;

    fn next(&mut self) -> Option<Epoch> {
        if self.epochs == self.plan.epochs {
            return None;
        }
        self.epochs += 1;
        let (rate, count) = (self.plan.rate(self.epochs), self.digits.count());
        let order = shuffled(count, &self.key.next());
        let disturbed = self.digits.ordered(&order).disturbed(&mut self.key);
        let sum: f64 = disturbed.batches(BATCH).map(|batch| self.step(&batch, rate) * batch.count() as f64).sum();
        let accuracy = accuracy(&self.network, self.digits);
        Some(Epoch { number: self.epochs, loss: sum / count as f64, accuracy })
    }
}

/// The fraction of the images that the network recognises.
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

/// Combines two trees leaf by leaf.
fn zip<T: Tree>(a: &T, b: &T, f: impl Fn(&Tensor, &Tensor) -> Tensor) -> T {
    a.rebuild(a.leaves().into_iter().zip(b.leaves()).map(|(a, b)| f(a, b)))
}

//! The network that the tour trains.

use wengert_cli::digits::Digits;
use wengert_cli::training::{Plan, Training, accuracy};

#[test]
fn full_training_recognises_95_of_100_digits_it_never_saw() {
    let (train, test) = Digits::load();
    let mut training = Training::new(Plan::FULL, &train);
    let losses: Vec<f64> = training.by_ref().map(|epoch| epoch.loss).collect();
    assert_eq!(losses.len(), Plan::FULL.epochs);
    assert!(losses[losses.len() - 1] < losses[0] / 4.0, "{losses:?}");
    let reached = accuracy(training.network(), &test);
    assert!(reached >= 0.95, "{reached}");
}

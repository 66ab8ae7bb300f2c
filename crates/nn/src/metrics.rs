//! Numbers by which a model is judged.

use crate::prelude::*;

/// The fraction of rows whose largest logit, along the last axis, is at the label: f64 of rank 0.
///
/// ```
/// use wengert::nn::accuracy;
/// use wengert::prelude::*;
/// let logits = Tensor::from([[2.0, 1.0], [0.0, 3.0], [1.0, 0.5], [0.2, 0.1]]);
/// assert_eq!(accuracy(&logits, &Tensor::from([0i64, 1, 1, 0])).item(), 0.75);
/// ```
#[track_caller]
pub fn accuracy(logits: &Tensor, labels: &Tensor) -> Tensor {
    let guesses = logits.argmax_along(-1);
    if guesses.shape() != labels.shape() {
        let shapes = [logits.shape(), labels.shape()].map(Shape::from);
        let message = format!("logits {} have another number of rows than labels {}", shapes[0], shapes[1]);
        Error::new(ErrorKind::Shape(shapes.to_vec()), "accuracy", message).at(Line::caller()).raise();
    }
    guesses.equal(labels).cast(DType::F64).mean()
}

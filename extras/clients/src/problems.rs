//! Two functions to minimise.

use wengert::prelude::*;

/// Rosenbrock's valley in any number of dimensions: sum of `100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2`. Its minimum is 0, at ones.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_clients::problems::rosenbrock;
/// assert_eq!(rosenbrock(&Tensor::from([0.0, 1.0, 3.0])).item(), 100.0 + 1.0 + 400.0);
/// assert_eq!(grad(rosenbrock)(&Tensor::ones([10])), Tensor::zeros([10]));
/// ```
pub fn rosenbrock(x: &Tensor) -> Tensor {
    let (head, tail) = (x.slice(..-1), x.slice(1..));
    (tail - head.square()).square().sum() * 100.0 + (1.0 - head).square().sum()
}

/// Minus one everywhere: across the valley from the minimum, but not attracted by the other minimum near (-1, 1, .., 1).
pub const ROSENBROCK_START: [f64; 10] = [-1.0; 10];

/// Points of the plane in two classes, which are not linearly separable.
pub struct LogisticRegression {
    /// A one and the two coordinates of each point.
    pub points: Vec<[f64; 3]>,
    /// Its class, 0 or 1.
    pub classes: Vec<f64>,
    /// The penalty: half this times the squared length of the weights.
    pub ridge: f64,
}

impl LogisticRegression {
    /// Forty points on a spiral; a line decides their class, blurred by a sine.
    pub fn small() -> LogisticRegression {
        let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
        let point = |i: usize| {
            let (radius, angle) = ((i as f64 / 10.0).sqrt(), i as f64 * golden);
            [1.0, radius * angle.cos(), radius * angle.sin()]
        };
        let points: Vec<_> = (0..40).map(point).collect();
        let side = |(i, [_, u, v]): (usize, &[f64; 3])| 0.4 + u - 0.7 * v + 0.9 * (13.0 * i as f64).sin();
        let classes = points.iter().enumerate().map(|point| f64::from(side(point) > 0.0)).collect();
        LogisticRegression { points, classes, ridge: 0.1 }
    }

    /// The penalised negative log likelihood as a function of the three weights.
    pub fn loss(&self) -> impl Fn(&Tensor) -> Tensor {
        let points = Tensor::from_vec(self.points.concat(), [self.points.len(), 3]);
        let classes = Tensor::from(self.classes.clone());
        let ridge = self.ridge;
        move |weights: &Tensor| {
            let scores = points.matmul(weights);
            (scores.softplus() - &classes * scores).sum() + weights.square().sum() * (ridge / 2.0)
        }
    }
}

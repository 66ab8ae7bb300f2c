//! Libraries and their methods for computing a gradient.

use super::tape::Recorder;
use crate::timing::Repeated;
use std::hint::black_box;

/// A library, with its methods for each benchmark.
pub struct Library {
    /// Methods for the gradient of Rosenbrock's function near `x`, as far as they support that many variables.
    pub rosenbrock: fn(&[f64]) -> Vec<System>,
    /// Methods for the gradient of the function of four numbers near `x`.
    pub tiny: fn(&[f64]) -> Vec<System>,
    /// Methods that record the recurrence and sweep backward.
    pub tape: fn() -> Vec<Recorder>,
}

/// One method for a gradient.
pub struct System {
    /// The name in the output.
    pub name: &'static str,
    /// Writes the gradient at a point to its last argument, the given number of times.
    gradient: Box<dyn FnMut(usize, &[f64], &mut [f64])>,
}

impl System {
    /// A method that writes the gradient at its first argument to its second.
    pub fn new(name: &'static str, mut gradient: impl FnMut(&[f64], &mut [f64]) + 'static) -> System {
        let gradient = move |times: usize, x: &[f64], slopes: &mut [f64]| {
            (0..times).for_each(|_| gradient(black_box(x), black_box(&mut *slopes)));
        };
        System { name, gradient: Box::new(gradient) }
    }

    /// The gradient at `x`.
    pub fn found(&mut self, x: &[f64]) -> (&'static str, Vec<f64>) {
        let mut slopes = vec![f64::NAN; x.len()];
        (self.gradient)(1, x, &mut slopes);
        (self.name, slopes)
    }

    /// The gradient at `x`, as a closure to be timed.
    pub fn at<'a>(&'a mut self, x: &'a [f64]) -> Repeated<'a> {
        let mut slopes = vec![0.0; x.len()];
        Box::new(move |times| (self.gradient)(times, x, &mut slopes))
    }
}

//! What is wrong with the gradients of a loss: it is run once, forward and backward, and every record is examined.

mod dead;
mod finding;
mod missing;
mod nonfinite;
mod rules;
mod shared;
mod sizes;
mod trial;

pub use finding::{Diagnosis, Fault, Finding};

use trial::Trial;
use wengert_engine::{Tensor, Tree};

/// Examines the gradients of a loss with respect to some parameters.
///
/// The report names parameters without gradient, and why; gradients that vanish, explode or are zero, and the line where they do; the first
/// NaN or infinity, forward and backward; dead rectifiers; rules that disagree with finite differences; and parameters in two places.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::{Fault, doctor};
///
/// let loss = |(w, b): &(Tensor, Tensor)| (w.square().detach() + b).sum();
/// let diagnosis = doctor(loss, &(Tensor::from([1.0, 2.0]), Tensor::from(0.5)));
/// let finding = &diagnosis.findings()[0];
/// assert_eq!((finding.fault, finding.parameters[0].as_str()), (Fault::Detached, "0"));
/// assert!(finding.line.is_some());
/// println!("{diagnosis}");
/// ```
#[track_caller]
pub fn doctor<P: Tree>(loss: impl Fn(&P) -> Tensor, parameters: &P) -> Diagnosis {
    Doctor::new().run(loss, parameters)
}

/// [`doctor`] with options.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::Doctor;
///
/// let weight = Tensor::from([1.0, 2.0]);
/// let tied = (weight.clone(), weight);
/// let loss = |(a, b): &(Tensor, Tensor)| (a * b).sum();
/// assert_eq!(Doctor::new().run(loss, &tied).findings().len(), 1);
/// assert!(Doctor::new().tied("0", "1").run(loss, &tied).is_healthy());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Doctor {
    tied: Vec<[String; 2]>,
}

impl Doctor {
    /// The default: no parameters are tied.
    #[must_use]
    pub fn new() -> Doctor {
        Doctor::default()
    }

    /// Declares that two parameters share their memory on purpose.
    #[must_use]
    pub fn tied(mut self, one: &str, other: &str) -> Doctor {
        self.tied.push([one.to_string(), other.to_string()]);
        self
    }

    /// Runs the loss forward and backward and examines its records.
    #[track_caller]
    pub fn run<P: Tree>(&self, loss: impl Fn(&P) -> Tensor, parameters: &P) -> Diagnosis {
        let trial = match Trial::new(loss, parameters) {
            Ok(trial) => trial,
            Err(error) => return Diagnosis::failed(error),
        };
        let findings = [
            nonfinite::findings(&trial),
            missing::findings(&trial),
            dead::findings(&trial),
            sizes::findings(&trial),
            rules::findings(&trial),
            shared::findings(&trial, &self.tied),
        ];
        Diagnosis::new(trial.loss.item(), trial.parameters.len(), findings.concat())
    }
}

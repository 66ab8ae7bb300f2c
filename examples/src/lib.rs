//! Networks in less than a hundred lines each, one file for each.
//!
//! `cargo run --release -p wengert-examples` lists them, and `-- vae` runs one and draws its picture.

pub mod contrastive;
pub mod maml;
pub mod neural_ode;
pub mod physics;
pub mod policy_gradient;
pub mod private_gradients;
pub mod q_learning;
pub mod recurrent;
pub mod residual_budget;
pub mod teacher_student;
pub mod vae;
pub mod wgan;

use wengert_view::Plot;

/// How long an example runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// As long as it needs, at most a minute or so on two cores.
    Full,
    /// Long enough to see that it learns, in a build without optimisation.
    Short,
}

impl Length {
    /// The number of steps, epochs or games.
    ///
    /// ```
    /// use wengert_examples::Length;
    /// assert_eq!(Length::Short.of(1000, 20), 20);
    /// ```
    pub fn of(self, full: usize, short: usize) -> usize {
        match self {
            Length::Full => full,
            Length::Short => short,
        }
    }
}

/// What an example shows.
pub struct Outcome {
    /// Its picture.
    pub plot: Plot,
    /// What the picture does not say, for a terminal.
    pub text: String,
    /// The figure by which it is judged; [`Example::figure`] says which.
    pub figure: f64,
}

/// An example.
pub struct Example {
    /// Its name, which is that of its file.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// What [`Outcome::figure`] is.
    pub figure: &'static str,
    /// Runs it.
    pub run: fn(Length) -> Outcome,
}

/// All examples.
pub static EXAMPLES: &[Example] = &[
    Example {
        name: "vae",
        about: "a variational autoencoder draws digits",
        figure: "bound on the negative log-likelihood of an unseen digit, in nats",
        run: vae::run,
    },
    Example {
        name: "recurrent",
        about: "full backpropagation through time remembers what truncated backpropagation cannot",
        figure: "error with full backpropagation, divided by that with truncated",
        run: recurrent::run,
    },
    Example {
        name: "neural_ode",
        about: "a network as the right-hand side of a differential equation learns a pendulum",
        figure: "largest distance from a path that it has not seen",
        run: neural_ode::run,
    },
    Example {
        name: "physics",
        about: "a physics-informed network solves Burgers' equation",
        figure: "largest error",
        run: physics::run,
    },
    Example {
        name: "wgan",
        about: "a Wasserstein GAN with gradient penalty draws from a distribution with two peaks",
        figure: "Wasserstein distance between samples and data",
        run: wgan::run,
    },
    Example {
        name: "maml",
        about: "meta-learning finds parameters from which a few steps fit a new sine",
        figure: "error after adaptation, divided by that without meta-learning",
        run: maml::run,
    },
    Example {
        name: "residual_budget",
        about: "a deep residual network is trained within a memory budget",
        figure: "bytes of a step within the smallest budget tried, divided by those without",
        run: residual_budget::run,
    },
    Example {
        name: "teacher_student",
        about: "a small network learns to read digits from the outputs of a larger one",
        figure: "accuracy of the student on unseen digits",
        run: teacher_student::run,
    },
    Example {
        name: "policy_gradient",
        about: "a policy learns to balance a pole on a cart, with REINFORCE and a baseline",
        figure: "mean number of turns until the pole falls at the end, at most 200",
        run: policy_gradient::run,
    },
    Example {
        name: "q_learning",
        about: "a pendulum with a weak motor learns to swing up, with deep Q-learning",
        figure: "mean height of the tip in the last three episodes, from -1 to 1",
        run: q_learning::run,
    },
    Example {
        name: "contrastive",
        about: "a network learns features of digits without labels, and collapses unless a gradient is stopped",
        figure: "accuracy by features, minus that by features learnt without stopped gradients",
        run: contrastive::run,
    },
    Example {
        name: "private_gradients",
        about: "a network learns to read digits while each of them is hidden by clipping and noise",
        figure: "accuracy on unseen digits, with noise",
        run: private_gradients::run,
    },
];

//! Every example learns, in its short form.

use wengert_examples::{EXAMPLES, Length};

/// The figure of each example after a few steps: bounds that it misses if it does not learn.
const FIGURES: &[(&str, f64, f64)] = &[
    ("vae", 20.0, 32.0),
    ("recurrent", 0.0, 0.3),
    ("neural_ode", 0.0, 1.5),
    ("physics", 0.0, 0.1),
    ("wgan", 0.0, 0.5),
    ("maml", 0.0, 0.7),
    ("residual_budget", 0.2, 0.7),
];

#[test]
fn every_example_learns() {
    for example in EXAMPLES {
        let (_, low, high) = FIGURES.iter().find(|row| row.0 == example.name).expect("a row for every example");
        let outcome = (example.run)(Length::Short);
        let (figure, plot) = (outcome.figure, outcome.plot.svg());
        assert!((*low..=*high).contains(&figure), "{}: {} is {figure}", example.name, example.figure);
        assert!(plot.contains("<polyline") && !plot.contains("NaN"), "{}", example.name);
    }
}

#[test]
fn an_example_has_less_than_a_hundred_lines() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for example in EXAMPLES {
        let text = std::fs::read_to_string(folder.join(example.name).with_extension("rs")).unwrap();
        assert!(text.lines().count() < 100, "{} has {} lines", example.name, text.lines().count());
    }
}

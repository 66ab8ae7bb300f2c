//! Every example learns, in its short form.

use wengert_examples::{EXAMPLES, Length};

/// One test for each example: the bounds of its figure after a few steps, which it misses if it does not learn.
macro_rules! examples {
    ($($name:ident $low:literal ..= $high:literal;)*) => {
        $(
            #[test]
            fn $name() {
                learns(stringify!($name), $low, $high);
            }
        )*

        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

examples! {
    vae 20.0..=32.0;
    recurrent 0.0..=0.3;
    neural_ode 0.0..=1.5;
    physics 0.0..=0.1;
    wgan 0.0..=0.5;
    maml 0.0..=0.7;
    residual_budget 0.2..=0.7;
    teacher_student 0.6..=1.0;
    policy_gradient 38.0..=200.0;
    q_learning -0.4..=1.0;
    contrastive 0.03..=1.0;
    private_gradients 0.6..=1.0;
}

fn learns(name: &str, low: f64, high: f64) {
    let example = EXAMPLES.iter().find(|example| example.name == name).expect("it is listed");
    let outcome = (example.run)(Length::Short);
    assert!((low..=high).contains(&outcome.figure), "{} is {}", example.figure, outcome.figure);
    let picture = outcome.plot.svg();
    assert!(picture.contains("<polyline") && !picture.contains("NaN"), "{picture}");
}

#[test]
fn every_example_is_tested() {
    assert!(EXAMPLES.iter().map(|example| example.name).eq(TESTED.iter().copied()));
}

#[test]
fn an_example_has_less_than_a_hundred_lines() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for example in EXAMPLES {
        let text = std::fs::read_to_string(folder.join(example.name).with_extension("rs")).unwrap();
        assert!(text.lines().count() < 100, "{} has {} lines", example.name, text.lines().count());
    }
}

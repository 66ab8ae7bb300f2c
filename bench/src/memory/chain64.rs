//! A chain of 64 equal layers: the saved activations alive at once when it is checkpointed in several ways, and the time.

use super::Options;
use crate::timing::medians;
use wengert::memory::{reset_peak, statistics};
use wengert::prelude::*;
use wengert::view::Plot;

const LAYERS: usize = 64;

/// Elements of an activation, and its bytes.
const ELEMENTS: usize = 1 << 16;
const BYTES: usize = 8 * ELEMENTS;

const WAYS: [(&str, Option<Segments>); 6] = [
    ("none", None),
    ("segments32", Some(Segments::Count(32))),
    ("segments16", Some(Segments::Count(16))),
    ("segments8", Some(Segments::Count(8))),
    ("segments4", Some(Segments::Count(4))),
    ("recursive", Some(Segments::Recursive)),
];

fn differentiate(x: &Tensor, segments: Option<Segments>) -> Tensor {
    let layers = vec![Tensor::sin; LAYERS];
    let y = match segments {
        Some(segments) => checkpoint_chain(&layers, x, segments),
        None => layers.iter().fold(x.clone(), |x, layer| layer(&x)),
    };
    y.sum().backward();
    x.take_grad().expect("the chain reads it")
}

pub fn run(options: &Options) {
    let x = Tensor::linspace(0.1, 0.9, ELEMENTS).require_grad();
    let expected = differentiate(&x, None);
    let mut points = Vec::new();
    for (mode, segments) in WAYS {
        reset_peak();
        let before = statistics().live_bytes;
        assert_eq!(differentiate(&x, segments), expected, "{mode}");
        // Beside the saved values: the running output or cotangent, and what a rule makes of it.
        let saved = (statistics().peak_bytes - before) as f64 / BYTES as f64 - 2.0;
        let [free, checkpointed] =
            medians([&mut || drop(differentiate(&x, None)), &mut || drop(differentiate(&x, segments))]);
        let ratio = checkpointed / free;
        options.print(
            format!(r#"{{"bench":"chain64","mode":"{mode}","peak_saved":{saved:.2},"time_ratio":{ratio:.4}}}"#),
            format!(
                "chain of {LAYERS} layers, {mode:>10}: {saved:5.1} saved activations at most, {ratio:.2} times the time"
            ),
        );
        points.push((saved, ratio));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    options.draw("memory_chain64", || {
        Plot::new("The gradient of a chain of 64 layers, checkpointed")
            .x_label("saved activations alive at once")
            .y_label("time, times that of saving all")
            .line("measured", &points)
            .svg()
    });
}

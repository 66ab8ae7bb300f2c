//! Time and memory of gradients of loops of a thousand steps for several numbers of snapshots: a scan, a loop of unknown length and a
//! simulation in ordinary Rust.

use super::Options;
use crate::timing::medians;
use wengert::Schedule;
use wengert::memory::{reset_peak, statistics};
use wengert::prelude::*;
use wengert::view::Plot;

const STEPS: usize = 1000;

/// The snapshots of the curves.
const SNAPSHOTS: [usize; 6] = [3, 5, 10, 30, 100, 300];

/// The gradient of a loop under a schedule.
type Gradient = fn(&Schedule) -> Tensor;

const LOOPS: [(&str, Gradient); 3] = [("scan", scanned), ("while_loop", repeated), ("simulation", simulated)];

/// The first state: a field of 4096 numbers.
fn field() -> Tensor {
    Tensor::linspace(-1.0, 1.0, 4096)
}

fn scanned(schedule: &Schedule) -> Tensor {
    let step = |h: &Tensor, x: &Tensor| ((h * 0.9 + x).tanh(), ());
    let xs = Tensor::linspace(-0.1, 0.1, STEPS);
    grad(|h: &Tensor| scan_with(step, h, &xs, schedule).0.sum())(&field())
}

fn repeated(schedule: &Schedule) -> Tensor {
    let going = |(count, _): &(Tensor, Tensor)| count.lt(STEPS as f64);
    let step = |(count, x): &(Tensor, Tensor)| (count + 1.0, (x * 0.9 + 0.01).sin());
    grad(|x: &Tensor| while_loop_with(going, step, &(Tensor::from(0.0), x.clone()), schedule).1.sum())(&field())
}

/// Heat that spreads along a rod, in explicit steps.
fn simulated(schedule: &Schedule) -> Tensor {
    let step = |_: usize, u: &Tensor| u + (u.roll(&[1], &[0]) + u.roll(&[-1], &[0]) - u * 2.0) * 0.2;
    grad(|u: &Tensor| checkpoint_loop(STEPS, u, step, schedule).square().sum())(&field())
}

pub fn run(options: &Options) {
    let mut memory = Plot::new("Time of a gradient over its memory, loops of 1000 steps")
        .x_label("peak memory, MB")
        .y_label("time, times that of keeping everything");
    for (name, gradient) in LOOPS {
        let expected = gradient(&Schedule::All);
        let mut points = Vec::new();
        for snapshots in SNAPSHOTS.into_iter().map(Some).chain([None]) {
            let schedule = match (snapshots, name) {
                (None, _) => Schedule::All,
                (Some(snapshots), "while_loop") => Schedule::Online { snapshots },
                (Some(snapshots), _) => Schedule::Binomial { snapshots },
            };
            assert!(gradient(&schedule).all_close(&expected, 1e-10), "{name}, {schedule:?}");
            reset_peak();
            let before = statistics().peak_bytes;
            drop(gradient(&schedule));
            let peak = statistics().peak_bytes - before;
            let [all, this] = medians([&mut || drop(gradient(&Schedule::All)), &mut || drop(gradient(&schedule))]);
            let (ratio, advances) = (this / all, schedule.advances(STEPS));
            let kept = snapshots.map_or("all".to_string(), |snapshots| snapshots.to_string());
            options.print(
                format!(
                    r#"{{"bench":"loops","loop":"{name}","steps":{STEPS},"snapshots":"{kept}","advances":{advances},"peak_bytes":{peak},"time_ratio":{ratio:.3}}}"#
                ),
                format!("{name:<10} {kept:>4} snapshots: {:8.3} MB at most, {ratio:6.3} times the time", peak as f64 / 1e6),
            );
            points.push((peak as f64 / 1e6, ratio));
        }
        memory = memory.line(name, &points);
    }
    options.draw("memory_loops", || memory.svg());
}

//! Times that are compared come from alternating runs, because the machine's speed varies.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Instant;

/// The number of rounds: as many as fit into `seconds`, within bounds.
pub struct Rounds {
    pub least: usize,
    pub most: usize,
    pub seconds: f64,
}

/// A progress bar on standard error if that is a terminal; it is removed at the end.
pub fn shown(title: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg}  {bar:40} {pos}/{len}").expect("the template is well-formed");
    ProgressBar::no_length().with_style(style.progress_chars("=> ")).with_message(title.to_string())
}

/// The medians of what `measure` returns for each system, over rounds in which every system has one turn.
pub fn in_turn<const M: usize>(
    bar: &ProgressBar,
    rounds: Rounds,
    systems: usize,
    mut measure: impl FnMut(usize) -> [f64; M],
) -> Vec<[f64; M]> {
    let mut found = vec![[const { Vec::new() }; M]; systems];
    bar.set_length(rounds.most as u64);
    let (start, mut round) = (Instant::now(), 0);
    while round < rounds.least || (round < rounds.most && start.elapsed().as_secs_f64() < rounds.seconds) {
        for (system, found) in found.iter_mut().enumerate() {
            found.iter_mut().zip(measure(system)).for_each(|(found, figure)| found.push(figure));
        }
        round += 1;
        bar.inc(1);
    }
    bar.finish_and_clear();
    found.into_iter().map(|found| found.map(median)).collect()
}

/// An action that can be repeated a given number of times.
pub type Repeated<'a> = Box<dyn FnMut(usize) + 'a>;

/// Repeats a function; the loop is where the function is statically known, so a call adds no overhead.
pub fn repeated<'a>(mut f: impl FnMut() + 'a) -> Repeated<'a> {
    Box::new(move |times| (0..times).for_each(|_| f()))
}

/// The duration of a turn in seconds, long enough that neither the clock nor cold caches matter.
const TURN: f64 = 3e-4;

/// The nanoseconds of each function: medians over rounds of turns, in which short functions are repeated many times.
pub fn nanoseconds(title: &str, mut runs: Vec<Repeated<'_>>) -> Vec<f64> {
    let times: Vec<usize> = runs
        .iter_mut()
        .map(|run| {
            let mut times = 1;
            // The fastest of three: a run that was interrupted tells nothing.
            while (0..3).map(|_| seconds(|| run(times))).fold(f64::INFINITY, f64::min) < TURN {
                times *= 2;
            }
            times
        })
        .collect();
    let rounds = Rounds { least: 5, most: 151, seconds: 5.0 };
    let medians = in_turn(&shown(title), rounds, runs.len(), |number| {
        [seconds(|| runs[number](times[number])) * 1e9 / times[number] as f64]
    });
    medians.into_iter().map(|[median]| median).collect()
}

/// The median times of several functions in seconds, run alternately for about a third of a second and at least seven times.
pub fn medians<const N: usize>(mut runs: [&mut dyn FnMut(); N]) -> [f64; N] {
    runs.iter_mut().for_each(|run| run());
    let rounds = Rounds { least: 7, most: usize::MAX, seconds: 0.35 };
    let medians = in_turn(&ProgressBar::hidden(), rounds, N, |number| [seconds(&mut *runs[number])]);
    std::array::from_fn(|number| medians[number][0])
}

/// The median time of `total` divided by that of `forward`.
pub fn ratio(mut forward: impl FnMut(), mut total: impl FnMut()) -> f64 {
    let [forward, total] = medians([&mut forward, &mut total]);
    total / forward
}

/// How long `f` takes.
pub fn seconds(f: impl FnOnce()) -> f64 {
    let start = Instant::now();
    f();
    start.elapsed().as_secs_f64()
}

pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

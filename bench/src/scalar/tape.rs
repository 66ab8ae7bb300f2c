//! z = x y; x = y + c z; y = z - x: three statements of two arguments, recorded repeatedly and swept backward.

use super::Library;
use crate::agreement::expect_agreement;
use crate::timing::{Rounds, in_turn, shown};
use std::hint::black_box;
use std::time::Duration;

/// The number of statements of a tape that fits in a cache, and of one that does not.
const IN_CACHE: usize = 10_000;
const IN_MEMORY: usize = 100_000_000;

/// The initial x and y: larger values would grow without bound before the longest recording ends.
pub const START: [f64; 2] = [1e-5, 2e-5];
/// The constant c.
pub const C: f64 = 0.1;

/// One method to record the recurrence for a number of rounds.
pub struct Recorder {
    /// The name in the output.
    pub name: &'static str,
    /// Records this many rounds and sweeps backward.
    pub record: Box<dyn FnMut(usize) -> Recorded>,
}

/// A recording and its cost.
pub struct Recorded {
    /// The time to record.
    pub record: Duration,
    /// The time to sweep back.
    pub reverse: Duration,
    /// The bytes recorded.
    pub bytes: usize,
    /// The derivatives of the last y with respect to the first x and y.
    pub slopes: [f64; 2],
}

/// Measures all libraries in cache, and ours also in memory.
pub fn run(json: bool, most: usize, libraries: &[&Library]) {
    let recorders = || libraries.iter().flat_map(|library| (library.tape)());
    if most >= 3 {
        let rounds = Rounds { least: 5, most: 501, seconds: 5.0 };
        recorded(json, "cache", IN_CACHE.min(most), recorders().collect(), rounds);
    }
    if most >= IN_MEMORY {
        let rounds = Rounds { least: 3, most: 3, seconds: 0.0 };
        recorded(json, "dram", IN_MEMORY, recorders().take(1).collect(), rounds);
    }
}

fn recorded(json: bool, place: &str, statements: usize, mut recorders: Vec<Recorder>, rounds: Rounds) {
    let (turns, title) = (statements / 3, format!("tape in {place}"));
    let slopes = |recorder: &mut Recorder| (recorder.name, (recorder.record)(turns).slopes.to_vec());
    expect_agreement(recorders.iter_mut().map(slopes));
    let found = in_turn(&shown(&title), rounds, recorders.len(), |number| {
        let recorder = &mut recorders[number];
        // A warm-up: the caches are still full of the other systems' recordings.
        black_box((recorder.record)(turns).slopes);
        let Recorded { record, reverse, bytes, slopes } = (recorder.record)(black_box(turns));
        black_box(slopes);
        let figures = [record.as_secs_f64() * 1e9, reverse.as_secs_f64() * 1e9, bytes as f64];
        figures.map(|figure| figure / (3 * turns) as f64)
    });
    for (recorder, [record, reverse, bytes]) in recorders.iter().zip(found) {
        let system = recorder.name;
        match json {
            true => println!(
                "{{\"bench\":\"tape\",\"where\":\"{place}\",\"statements\":{statements},\"system\":\"{system}\",\
                 \"record_ns\":{record:.3},\"reverse_ns\":{reverse:.3},\"bytes_per_statement\":{bytes:.2}}}"
            ),
            false => println!(
                "{title}: {system} records in {record:.2} ns, reverses in {reverse:.2} ns a statement of two arguments, {bytes:.1} bytes"
            ),
        }
    }
}

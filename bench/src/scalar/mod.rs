//! The cost of derivatives of scalar programs: statements of the tape, tiny functions, Rosenbrock's function, many points; by this library
//! and by others, which are measured in the same run.

mod compile;
mod own;
mod points;
mod rosenbrock;
mod system;
mod tape;
mod tiny;

pub use rosenbrock::FEW;
pub use system::{Library, System};
pub use tape::{C, Recorded, Recorder, START};

pub(crate) fn run(json: bool, most: usize, peers: &[Library]) {
    // Ours comes first: the others are checked against it.
    let libraries: Vec<&Library> = std::iter::once(&own::WENGERT).chain(peers).collect();
    tape::run(json, most, &libraries);
    tiny::run(json, &libraries);
    for n in [2, 10, 100, 1_000_000].into_iter().filter(|n| *n <= most) {
        rosenbrock::run(json, n, &libraries);
    }
    if most >= 100_000 {
        compile::run(json, 100_000);
    }
    for points in [1_000, 10_000, 100_000, 1_000_000].into_iter().filter(|points| *points <= most) {
        points::run(json, points);
    }
}

//! What derivatives of scalar programs cost: statements of the tape, tiny functions, Rosenbrock's function, many points; ours and those
//! of other libraries, which have their turns in the same run.

mod compile;
mod own;
mod peers;
mod points;
mod rosenbrock;
mod system;
mod tape;
mod tiny;

use system::Library;

/// Every library with its ways to differentiate, in the order of the output. The first is what the others are checked against.
const LIBRARIES: &[Library] = &[
    own::WENGERT,
    #[cfg(feature = "peers")]
    peers::echidna::ECHIDNA,
    #[cfg(feature = "peers")]
    peers::ad_trait::AD_TRAIT,
    #[cfg(feature = "peers")]
    peers::reverse::REVERSE,
    #[cfg(feature = "peers")]
    peers::num_dual::NUM_DUAL,
];

pub fn run(json: bool, most: usize) {
    tape::run(json, most);
    tiny::run(json);
    for n in [2, 10, 100, 1_000_000].into_iter().filter(|n| *n <= most) {
        rosenbrock::run(json, n);
    }
    if most >= 100_000 {
        compile::run(json, 100_000);
    }
    for points in [1_000, 10_000, 100_000, 1_000_000].into_iter().filter(|points| *points <= most) {
        points::run(json, points);
    }
}

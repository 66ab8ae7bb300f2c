//! `wengert-peers`: the benchmarks of `wengert-bench` with the scalar programs of other libraries, alternating with ours. One library = one
//! file: functions are written with its own traits, as its users would, and differentiated by every method that it has for a gradient.

mod echidna;
mod num_dual;
mod reverse;

fn main() {
    wengert_bench::run(&[echidna::ECHIDNA, reverse::REVERSE, num_dual::NUM_DUAL]);
}

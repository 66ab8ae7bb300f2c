//! The benchmarks, without libraries to be compared with.

fn main() {
    wengert_bench::run(&[]);
}

//! The benchmarks, without other libraries to compare with.

fn main() {
    wengert_bench::run(&[]);
}

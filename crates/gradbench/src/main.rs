//! `wengert-gradbench`: answers GradBench on standard input and output.

use std::io;
use wengert_gradbench::protocol;

fn main() -> io::Result<()> {
    protocol::serve(io::stdin().lock(), io::stdout().lock())
}

//! The cost of recording a function of many numbers, and of building its gradient.

use super::own::valley;
use super::rosenbrock::start;
use crate::timing::{nanoseconds, repeated};
use wengert::scalar::{Replay, Symbol};

pub fn run(json: bool, n: usize) {
    let (x, mut bytes) = (start(n), 0);
    let compile = repeated(|| bytes = Replay::record(valley::<Symbol>, &x).code_bytes());
    let ms = nanoseconds("compiling", vec![compile])[0] / 1e6;
    match json {
        true => {
            println!("{{\"bench\":\"compile\",\"function\":\"rosenbrock\",\"n\":{n},\"ms\":{ms:.2},\"bytes\":{bytes}}}")
        }
        false => println!("Rosenbrock of {n}: recorded and compiled in {ms:.1} ms to {bytes} bytes"),
    }
}

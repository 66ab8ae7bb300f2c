//! What the machine can do.

use std::time::Instant;
use wengert_engine::methods::*;
use wengert_engine::primitive::Cost;
use wengert_engine::{DType, Key, Tensor};

/// The highest rates of a machine, against which operations are compared (the roofline).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceilings {
    /// Arithmetic operations per second.
    pub flops: f64,
    /// Bytes read and written per second.
    pub bytes: f64,
}

/// The side of the matrices, and the elements of the rows, that are measured.
const SIDE: usize = 1024;
const ROW: usize = 1 << 24;
const REPEATS: usize = 5;

impl Ceilings {
    /// Measures this machine, on all threads, in a fraction of a second: the product of two f32 matrices, and an f32 row that is read and
    /// written.
    pub fn measure() -> Ceilings {
        let matrix = Key::new(0).uniform([SIDE, SIDE], DType::F32);
        let row = Tensor::zeros_of([ROW], DType::F32);
        let fastest = |f: &dyn Fn() -> Tensor| {
            let seconds = |_| {
                let start = Instant::now();
                drop(f());
                start.elapsed().as_secs_f64()
            };
            (0..REPEATS).map(seconds).fold(f64::INFINITY, f64::min)
        };
        let product = fastest(&|| matrix.matmul(&matrix));
        let pass = fastest(&|| -&row);
        Ceilings { flops: 2.0 * (SIDE * SIDE * SIDE) as f64 / product, bytes: 8.0 * ROW as f64 / pass }
    }

    /// The least seconds that the work takes: its arithmetic or its memory traffic, whichever is slower.
    ///
    /// ```
    /// use wengert::primitive::Cost;
    /// let ceilings = wengert_view::Ceilings { flops: 100.0, bytes: 10.0 };
    /// assert_eq!(ceilings.seconds(Cost { flops: 300.0, bytes: 20.0 }), 3.0);
    /// assert_eq!(ceilings.seconds(Cost { flops: 100.0, bytes: 20.0 }), 2.0);
    /// ```
    pub fn seconds(&self, cost: Cost) -> f64 {
        (cost.flops / self.flops).max(cost.bytes / self.bytes)
    }
}

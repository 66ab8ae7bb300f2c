//! Reproducible random numbers.

/// A stream of random numbers: a counter, mixed by multiplications and shifts (SplitMix64).
///
/// ```
/// use wengert_gradbench::random::Random;
/// let numbers = Random::new(31337).uniform(1000);
/// assert!(numbers.iter().all(|x| (0.0..1.0).contains(x)));
/// assert_eq!(numbers, Random::new(31337).uniform(1000));
/// ```
pub struct Random {
    counter: u64,
}

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Random {
        Random { counter: seed }
    }

    fn bits(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.counter;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number from 0 up to 1.
    pub fn number(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// An integer below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// Numbers from 0 up to 1.
    pub fn uniform(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.number()).collect()
    }

    /// Numbers from the standard normal distribution, by the Box-Muller method.
    pub fn normal(&mut self, count: usize) -> Vec<f64> {
        let mut one = || {
            let radius = (-2.0 * (1.0 - self.number()).ln()).sqrt();
            radius * (std::f64::consts::TAU * self.number()).cos()
        };
        (0..count).map(|_| one()).collect()
    }

    /// Rows of numbers from 0 up to 1.
    pub fn uniform_rows(&mut self, rows: usize, width: usize) -> Vec<Vec<f64>> {
        (0..rows).map(|_| self.uniform(width)).collect()
    }

    /// Rows of normally distributed numbers.
    pub fn normal_rows(&mut self, rows: usize, width: usize) -> Vec<Vec<f64>> {
        (0..rows).map(|_| self.normal(width)).collect()
    }
}

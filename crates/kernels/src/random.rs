//! Counter-based random numbers: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, 2011).
//!
//! Element `i` of a stream depends only on `(key, stream, i)`, so any thread can generate any part of it. The block with counter
//! `[b, stream]` (64 bits each) has four words. For `f32`, element `i` is word `i / 16 % 4` of block `i / 64 * 16 + i % 16`; for `f64`, it
//! is double word `i / 16 % 2` of block `i / 32 * 16 + i % 16`. Sixteen blocks side by side fill vectors without shuffling.

use crate::simd::vectorised;
use crate::threads::{for_each_chunk, tile_elements};

const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
const KEY_STEPS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
const ROUNDS: usize = 10;

/// [`split`] draws its keys under another key, so they never coincide with numbers drawn from the stream.
const SPLIT: u64 = 0x7370_6c69_7420_6b65;

/// The number of blocks computed side by side.
const WIDTH: usize = 16;

/// Ten rounds of Philox: 128 random bits for a counter and a key.
///
/// ```
/// assert_eq!(
///     wengert_kernels::philox([0; 4], [0; 2]),
///     [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8],
/// );
/// ```
#[inline]
pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    blocks::<1>(counter.map(|word| [word]), key).map(|[word]| word)
}

/// Processes `N` counters at once, word by word.
#[inline(always)]
fn blocks<const N: usize>(counter: [[u32; N]; 4], mut key: [u32; 2]) -> [[u32; N]; 4] {
    let [mut a, mut b, mut c, mut d] = counter;
    for _ in 0..ROUNDS {
        for i in 0..N {
            let left = a[i] as u64 * MULTIPLIERS[0] as u64;
            let right = c[i] as u64 * MULTIPLIERS[1] as u64;
            a[i] = (right >> 32) as u32 ^ b[i] ^ key[0];
            b[i] = right as u32;
            c[i] = (left >> 32) as u32 ^ d[i] ^ key[1];
            d[i] = left as u32;
        }
        key = [key[0].wrapping_add(KEY_STEPS[0]), key[1].wrapping_add(KEY_STEPS[1])];
    }
    [a, b, c, d]
}

#[inline(always)]
fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

/// The counters of blocks `first..first + WIDTH` of a stream.
#[inline(always)]
fn counters(first: usize, stream: u64) -> [[u32; WIDTH]; 4] {
    let [low, high] = halves(stream);
    let mut counter = [[0; WIDTH], [0; WIDTH], [low; WIDTH], [high; WIDTH]];
    for i in 0..WIDTH {
        [counter[0][i], counter[1][i]] = halves((first + i) as u64);
    }
    counter
}

vectorised! {
    /// Elements `64 * first_group ..`: a group is the four words of 16 blocks, word by word.
    fn fill_f32[](key: u64, stream: u64, first_group: usize, out: &mut [f32]) {
        for (index, out) in out.chunks_mut(4 * WIDTH).enumerate() {
            let words = blocks(counters((first_group + index) * WIDTH, stream), halves(key));
            let mut values = [0.0; 4 * WIDTH];
            for (value, &word) in values.iter_mut().zip(words.as_flattened()) {
                // 24 bits fit an i32, which converts faster than a u32.
                *value = (word >> 8) as i32 as f32 * (1.0 / (1u32 << 24) as f32);
            }
            out.copy_from_slice(&values[..out.len()]);
        }
    }
}

vectorised! {
    /// Elements `32 * first_group ..`: a group is the two double words of 16 blocks, one after the other.
    fn fill_f64[](key: u64, stream: u64, first_group: usize, out: &mut [f64]) {
        for (index, out) in out.chunks_mut(2 * WIDTH).enumerate() {
            let words = blocks(counters((first_group + index) * WIDTH, stream), halves(key));
            let mut values = [0.0; 2 * WIDTH];
            let (low, high) = ([words[0], words[2]], [words[1], words[3]]);
            for ((value, &low), &high) in values.iter_mut().zip(low.as_flattened()).zip(high.as_flattened()) {
                let bits = low as u64 | (high as u64) << 32;
                *value = (bits >> 11) as i64 as f64 * (1.0 / (1u64 << 53) as f64);
            }
            out.copy_from_slice(&values[..out.len()]);
        }
    }
}

/// Fills `out` with 53-bit numbers in `[0, 1)`; element `i` depends only on `(key, stream, i)`.
///
/// ```
/// let (mut long, mut short) = ([0.0; 9], [0.0; 4]);
/// wengert_kernels::uniform_f64(1, 2, &mut long);
/// wengert_kernels::uniform_f64(1, 2, &mut short);
/// assert_eq!(long[..4], short);
/// ```
pub fn uniform_f64(key: u64, stream: u64, out: &mut [f64]) {
    let chunk = tile_elements(out.len()).next_multiple_of(2 * WIDTH);
    for_each_chunk(out, chunk, &|index, out| fill_f64(key, stream, index * chunk / (2 * WIDTH), out));
}

/// Fills `out` with 24-bit numbers in `[0, 1)`; element `i` depends only on `(key, stream, i)`.
///
/// ```
/// let mut numbers = [0.0; 100];
/// wengert_kernels::uniform_f32(1, 2, &mut numbers);
/// assert!(numbers.iter().all(|x| (0.0..1.0).contains(x)));
/// ```
pub fn uniform_f32(key: u64, stream: u64, out: &mut [f32]) {
    let chunk = tile_elements(out.len()).next_multiple_of(4 * WIDTH);
    for_each_chunk(out, chunk, &|index, out| fill_f32(key, stream, index * chunk / (4 * WIDTH), out));
}

/// `n` new `(key, stream)` pairs, independent of each other and of every number drawn from `(key, stream)`.
///
/// ```
/// let keys = wengert_kernels::split(1, 2, 3);
/// assert_eq!(keys[..2], wengert_kernels::split(1, 2, 2));
/// assert_ne!(keys[0], keys[1]);
/// ```
pub fn split(key: u64, stream: u64, n: usize) -> Vec<(u64, u64)> {
    (0..n as u64).map(|i| child(key, stream, i)).collect()
}

/// The `i`-th pair of [`split`].
///
/// ```
/// assert_eq!(wengert_kernels::random::child(1, 2, 2), wengert_kernels::split(1, 2, 3)[2]);
/// ```
pub fn child(key: u64, stream: u64, i: u64) -> (u64, u64) {
    let ([first, second], [low, high]) = (halves(i), halves(stream));
    let [a, b, c, d] = philox([first, second, low, high], halves(key ^ SPLIT));
    (a as u64 | (b as u64) << 32, c as u64 | (d as u64) << 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set_threads;

    #[test]
    fn philox_gives_the_published_answers() {
        let ones = u32::MAX;
        assert_eq!(philox([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        assert_eq!(philox([ones; 4], [ones; 2]), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
        assert_eq!(
            philox([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0]),
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]
        );
    }

    #[test]
    fn each_element_is_a_function_of_key_stream_and_index() {
        let (key, stream) = (0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210);
        for threads in [1, 2, 3, 7] {
            set_threads(threads);
            let (mut singles, mut doubles) = (vec![0f32; 100_003], vec![0f64; 100_003]);
            uniform_f32(key, stream, &mut singles);
            uniform_f64(key, stream, &mut doubles);
            for i in (0..100_003u64).step_by(7) {
                let block =
                    |i: u64| philox([i as u32, (i >> 32) as u32, stream as u32, (stream >> 32) as u32], halves(key));
                let word = block(i / 64 * 16 + i % 16)[i as usize / 16 % 4];
                assert_eq!(singles[i as usize], (word >> 8) as f32 / 16_777_216.0);
                let words = block(i / 32 * 16 + i % 16);
                let j = i as usize / 16 % 2;
                let bits = words[2 * j] as u64 | (words[2 * j + 1] as u64) << 32;
                assert_eq!(doubles[i as usize], (bits >> 11) as f64 / 9_007_199_254_740_992.0);
            }
        }
    }

    #[test]
    fn numbers_are_spread_evenly() {
        let mut numbers = vec![0f64; 1 << 20];
        uniform_f64(42, 0, &mut numbers);
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let square = numbers.iter().map(|x| x * x).sum::<f64>() / numbers.len() as f64;
        assert!((mean - 0.5).abs() < 1.5e-3 && (square - 1.0 / 3.0).abs() < 1.5e-3);
        let mut counts = [0; 16];
        for x in &numbers {
            counts[(x * 16.0) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| (count as f64 - 65536.0).abs() < 1300.0), "{counts:?}");
    }

    #[test]
    fn split_keys_differ_from_each_other_and_from_their_parent() {
        let mut keys = split(9, 9, 1000);
        keys.push((9, 9));
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 1001);
    }
}

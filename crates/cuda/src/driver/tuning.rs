//! Chooses between the algorithms that the vendor's library proposes for a product, by measuring them.
//!
//! Only algorithms that give the same bits as the first proposal take part, so results depend on no measurement.

use super::compile::{cache, keep, kept};
use super::library::{Handle, Prepared};
use super::{Block, Gpu, Timer, lock};
use crate::product::{Matrix, Product};
use cudarc::cublaslt::sys;
use std::sync::Arc;
use wengert_core::{DType, Error};

/// Products of fewer multiplications are over before a better algorithm would show.
const LEAST: usize = 1 << 31;
/// The number of proposals that are measured.
const MOST: usize = 16;
/// How often each is measured.
const ROUNDS: usize = 5;
/// Another algorithm has to be faster by this factor.
const GAIN: f32 = 0.99;
/// The places of a result that are compared, and the bytes of each.
const PLACES: usize = 8;
const PLACE: usize = 1 << 18;

/// Counts changes of how algorithms are chosen, so that choices on disk are not older.
const FORMAT: usize = 3;

/// An algorithm, and the bytes of workspace that it uses.
pub type Algorithm = (sys::cublasLtMatmulAlgo_t, usize);

/// The number of proposals to ask for.
pub fn proposals(product: &Product) -> usize {
    let Product { batch, rows, cols, inner, .. } = *product;
    if batch * rows * cols * inner < LEAST { 1 } else { MOST }
}

/// Everything that the choice depends on, apart from addresses.
fn key(gpu: &Gpu, product: &Product) -> String {
    let Product { dtype, batch, rows, cols, inner, a, b, rounding, ref bias, .. } = *product;
    let laid = |matrix: Matrix| (matrix.is_transposed, matrix.leading, matrix.batch, matrix.span.start % 256);
    // SAFETY: asks for a number.
    let version = unsafe { sys::cublasLtGetVersion() };
    let (aligned, workspace) = (product.c.start % 256, product.workspace.length);
    let product = (dtype, batch, rows, cols, inner, laid(a), laid(b), aligned, bias.is_some(), rounding);
    format!("{FORMAT} {version} {} {product:?} {workspace}", gpu.name)
}

/// The algorithm of a product among the proposals.
pub fn choose(
    gpu: &Arc<Gpu>,
    handle: &Handle,
    product: &Product,
    prepared: &mut Prepared,
    proposals: &[Algorithm],
) -> Result<(), Error> {
    let key = key(gpu, product);
    if let Some(known) = lock(&gpu.chosen).get(&key) {
        prepared.choose(*known);
        return Ok(());
    }
    let file = cache(&key, "product");
    let known = file.as_deref().and_then(kept).and_then(|bytes| parse(std::str::from_utf8(&bytes).ok()?));
    let checked = known.and_then(|(algorithm, _)| prepared.check(handle, algorithm));
    let algorithm = match checked.filter(|(_, bytes)| *bytes <= product.workspace.length) {
        Some(algorithm) => algorithm,
        // Without room for a measurement the first proposal runs.
        None => {
            let measured = measure(gpu, product, prepared, proposals);
            // The operands are needed no more.
            gpu.trim();
            match measured {
                Ok(fastest) => {
                    keep(file.as_deref(), print(&fastest).as_bytes());
                    fastest
                }
                Err(_) => proposals[0],
            }
        }
    };
    lock(&gpu.chosen).insert(key, algorithm);
    prepared.choose(algorithm);
    Ok(())
}

fn print((algorithm, workspace): &Algorithm) -> String {
    let words = algorithm.data.into_iter().chain([*workspace as u64]);
    words.map(|word| format!("{word:016x}\n")).collect()
}

fn parse(text: &str) -> Option<Algorithm> {
    let words: Vec<u64> = text.lines().map(|line| u64::from_str_radix(line, 16)).collect::<Result<_, _>>().ok()?;
    let (workspace, words) = words.split_last()?;
    Some((sys::cublasLtMatmulAlgo_t { data: words.try_into().ok()? }, *workspace as usize))
}

/// The fastest of the proposals that give the bits of the first.
fn measure(
    gpu: &Arc<Gpu>,
    product: &Product,
    prepared: &mut Prepared,
    proposals: &[Algorithm],
) -> Result<Algorithm, Error> {
    let Product { dtype, batch, rows, cols, inner, a, b, .. } = *product;
    let extent = |rows: usize, cols: usize, matrix: Matrix| {
        let (lines, line) = if matrix.is_transposed { (cols, rows) } else { (rows, cols) };
        ((batch - 1) * matrix.batch + (lines - 1) * matrix.leading + line) * dtype.size()
    };
    let length = batch * rows * cols * dtype.size();
    let left = filled(gpu, dtype, extent(rows, inner, a), 1)?;
    let right = filled(gpu, dtype, extent(inner, cols, b), 2)?;
    let bias = filled(gpu, dtype, cols * dtype.size(), 3)?;
    let (result, workspace) = (gpu.allocate(length)?, gpu.allocate(product.workspace.length)?);
    let bias = product.bias.map_or(0, |_| bias.address());
    let addresses = [left.address(), right.address(), result.address(), bias, workspace.address()];
    let mut first = None;
    let mut equal = Vec::new();
    for &proposal in proposals {
        prepared.choose(proposal);
        if gpu.run(|stream| stream.multiply(prepared, addresses)).is_err() {
            continue;
        }
        let found = sample(&result, length)?;
        if *first.get_or_insert_with(|| found.clone()) == found {
            equal.push(proposal);
        }
    }
    if equal.len() < 2 {
        return Ok(equal.first().copied().unwrap_or(proposals[0]));
    }
    let timer = Timer::new(gpu, ROUNDS * equal.len() + 1)?;
    gpu.run(|stream| {
        timer.mark(0)?;
        (0..ROUNDS * equal.len()).try_for_each(|turn| {
            prepared.choose(equal[turn % equal.len()]);
            stream.multiply(prepared, addresses)?;
            timer.mark(turn + 1)
        })
    })?;
    let times = timer.times()?;
    let median = |number: usize| {
        let mut own: Vec<f32> = times.iter().skip(number).step_by(equal.len()).copied().collect();
        own.sort_by(f32::total_cmp);
        own[ROUNDS / 2]
    };
    let fastest = (1..equal.len()).map(|number| (median(number), number)).min_by(|a, b| a.0.total_cmp(&b.0));
    Ok(match fastest {
        Some((time, number)) if time < GAIN * median(0) => equal[number],
        _ => equal[0],
    })
}

/// Some parts of a result.
fn sample(result: &Block, length: usize) -> Result<Vec<u8>, Error> {
    let place = PLACE.min(length);
    let mut bytes = vec![0; PLACES * place];
    for (number, part) in bytes.chunks_exact_mut(place).enumerate() {
        result.read_from((length - place) / (PLACES - 1) * number, part)?;
    }
    Ok(bytes)
}

/// The bytes of the pattern that fills operands: a prime number of elements, so that rows differ.
const PATTERN: usize = 131_071;

/// Numbers of either sign between 2^-12 and 2^4, the same in every run. Their products need more digits than sums have, so that every other
/// order of a sum shows.
fn filled(gpu: &Arc<Gpu>, dtype: DType, length: usize, seed: u64) -> Result<Block, Error> {
    let mut state = seed;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 32
    };
    let pattern: Vec<u8> = (0..PATTERN)
        .flat_map(|_| {
            let (sign, power, mantissa) = (random() >> 31, random() >> 28, random());
            // The bits of the sign, of the exponent from 2^-12 on, and of the mantissa, for each format.
            let word = match dtype {
                DType::F64 => sign << 63 | (1011 + power) << 52 | mantissa << 20,
                DType::BF16 => sign << 15 | (115 + power) << 7 | mantissa >> 25,
                DType::F16 => sign << 15 | (3 + power) << 10 | mantissa >> 22,
                _ => sign << 31 | (115 + power) << 23 | mantissa >> 9,
            };
            word.to_ne_bytes().into_iter().take(dtype.size())
        })
        .collect();
    let block = gpu.allocate(length)?;
    let first = pattern.len().min(length);
    block.write(&pattern[..first])?;
    gpu.run(|stream| {
        let mut done = first;
        while done < length {
            let next = done.min(length - done);
            stream.copy(block.address(), block.address() + done as u64, next)?;
            done += next;
        }
        Ok(())
    })?;
    Ok(block)
}

//! uniform - random numbers in [0, 1).   y[i] = Philox(key, i).   No derivative. The key is an operand, so a program draws new numbers when
//! it is given a new key. The same key gives the same numbers on every machine and for any number of threads.

use super::split_key::SPLIT_KEY;
use crate::autograd::modes;
use crate::error::OrRaise;
use crate::prelude::*;
use crate::{Tree, TreePath};
use wengert_kernels::random;

/// The key of a random stream: two words in a tensor, so that it can be an input of compiled and batched functions.
///
/// ```
/// use wengert::prelude::*;
/// let mut key = Key::new(42);
/// let a = key.next().uniform([3], DType::F64);
/// let b = key.next().uniform([3], DType::F64);
/// assert_ne!(a, b);
/// assert_eq!(Key::new(42).next().uniform([3], DType::F64), a);
///
/// // In a compiled function the key is an input; it is a tree.
/// let draw = compile(|key: &Key| {
///     let mut key = key.clone();
///     key.next().uniform([3], DType::F64) + key.next().uniform([3], DType::F64)
/// });
/// assert_eq!(draw.call(&Key::new(42)), a + b);
/// ```
#[derive(Clone, Debug)]
pub struct Key {
    words: Tensor,
    /// The number of keys drawn so far: an ordinary value of a program, so that a state with a key keeps its signature.
    used: Tensor,
}

impl Key {
    /// The key for a seed.
    pub fn new(seed: u64) -> Key {
        Key::from_tensor(Tensor::from([seed as i64, 0]))
    }

    /// The key stored in a tensor of two i64 words, or a batch of keys along the leading axes.
    pub fn from_tensor(tensor: Tensor) -> Key {
        let keys = tensor.shape().split_last().map_or(&[][..], |(_, keys)| keys);
        let used = Tensor::zeros_of(keys, DType::I64);
        Key { words: tensor, used }
    }

    /// The two words, for functions that take a key as an input.
    pub fn tensor(&self) -> &Tensor {
        &self.words
    }

    /// A fresh key, independent of all others drawn from this one.
    #[track_caller]
    #[allow(clippy::should_implement_trait, reason = "a key never ends; `next` reads best at the call")]
    pub fn next(&mut self) -> Key {
        let child = bind1(&SPLIT_KEY, Attrs::new(), &[&self.words, &self.used]);
        self.used = &self.used + 1i64;
        Key::from_tensor(child)
    }

    /// A batch of `count` fresh keys along axis 0, one for each element of a [`vmap`](wengert_core::vmap()).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let keys = Key::new(1).split(3);
    /// let rows = vmap(|key: &Key| key.uniform([2], DType::F64))(&keys);
    /// assert_eq!(rows.shape(), [3, 2]);
    /// assert_ne!(rows.slice(0), rows.slice(1));
    /// ```
    #[track_caller]
    pub fn split(&mut self, count: usize) -> Key {
        Spec { shape: Shape::from([count, 2]), dtype: DType::I64 }.check("split").or_raise();
        let keys: Vec<Tensor> = (0..count).map(|_| self.next().words).collect();
        Key::from_tensor(if count == 0 { Tensor::zeros_of([0, 2], DType::I64) } else { Tensor::stack(&keys, 0) })
    }

    /// Uniformly distributed numbers in [0, 1).
    #[track_caller]
    pub fn uniform(&self, shape: impl Into<Shape>, dtype: DType) -> Tensor {
        expect_open_key("uniform", self);
        let attrs = Attrs::new().with_sizes("shape", shape.into().iter()).with_dtype("dtype", dtype);
        bind1(&UNIFORM, attrs, &[&self.words])
    }
}

/// Its leaves are its words and the number of keys drawn from it.
impl Tree for Key {
    fn visit<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor)) {
        path.within("words", |path| self.words.visit(path, f));
        path.within("used", |path| self.used.visit(path, f));
    }

    fn visit_mut(&mut self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &mut Tensor)) {
        path.within("words", |path| self.words.visit_mut(path, f));
        path.within("used", |path| self.used.visit_mut(path, f));
    }

    fn map(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor) -> Key {
        let words = path.within("words", |path| self.words.map(path, f));
        Key { words, used: path.within("used", |path| self.used.map(path, f)) }
    }
}

/// An error for a key that a trace would freeze.
#[track_caller]
pub(crate) fn expect_open_key(name: &str, key: &Key) {
    if modes::is_tracing() && key.words.is_plain() {
        let message = "a key that is no input would freeze its numbers in the compiled program";
        Error::new(ErrorKind::Traced, name, message)
            .help("make the key an input of the compiled function: a key is a tree")
            .raise();
    }
}

/// The shape rule of keys: i64 with two words along the last axis.
pub(crate) fn expect_key(name: &str, key: SpecRef<'_>) -> Result<(), Error> {
    if key.dtype == DType::I64 && key.shape.last() == Some(&2) {
        return Ok(());
    }
    let message = format!("a key is i64[2], got {}", key.to_spec());
    Err(Error::new(ErrorKind::DType(vec![key.dtype]), name, message)
        .help("make keys with Key::new(seed) and key.next()"))
}

/// The primitive `uniform`.
pub static UNIFORM: Uniform = Uniform;

/// See the module.
pub struct Uniform;

impl Primitive for Uniform {
    fn name(&self) -> &'static str {
        "uniform"
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["shape", "dtype"]
    }

    /// A batch of keys gives a batch of results: the key's leading axes come first.
    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let key = operands[0];
        expect_key("uniform", key)?;
        if !attrs.dtype("dtype").is_float() {
            let message = format!("numbers in [0, 1) of {} are all 0", attrs.dtype("dtype"));
            return Err(Error::new(ErrorKind::DType(vec![attrs.dtype("dtype")]), "uniform", message));
        }
        let shape: Shape =
            key.shape[..key.shape.len() - 1].iter().chain(attrs.sizes("shape").iter()).copied().collect();
        shape.check("uniform")?;
        Ok(smallvec![Spec { shape, dtype: attrs.dtype("dtype") }])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (keys, out) = (numbers::<i64>(operands[0]), outputs[0].reborrow());
        let (each, dtype) = (attrs.sizes("shape").elements().max(1), out.dtype);
        let words = keys.chunks_exact(2).map(|words| (words[0] as u64, words[1] as u64));
        match dtype {
            DType::F64 => fill(out, |all: &mut [f64]| {
                let parts = all.chunks_mut(each);
                words.zip(parts).for_each(|((key, stream), part)| random::uniform_f64(key, stream, part));
            }),
            _ => fill(out, |all: &mut [f32]| {
                for ((key, stream), part) in words.zip(all.chunks_mut(each)) {
                    random::uniform_f32(key, stream, part);
                    truncate(part, dtype);
                }
            }),
        }
        Ok(true)
    }

    fn differentiable(&self) -> bool {
        false
    }

    fn batch(
        &'static self,
        attrs: &Attrs,
        _size: usize,
        operands: &[Tensor],
        _batched: Mask,
    ) -> Result<Outputs, Error> {
        Ok(smallvec![bind1(self, attrs.clone(), &[&operands[0]])])
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let attrs = Attrs::new().with_sizes("shape", &[3]).with_dtype("dtype", DType::F64);
        vec![
            Case::new("known numbers", attrs.clone(), [Sample::integers([2], [7, 0])], |_| vec![philox_sample(7, 0)])
                .values_only(),
            Case::new("a batch of keys", attrs, [Sample::integers([2, 2], [7, 0, 1, 5])], |_| {
                let data = [philox_sample(7, 0).data, philox_sample(1, 5).data].concat();
                vec![Sample::new([2, 3], data)]
            })
            .values_only(),
        ]
    }
}

/// Truncates the numbers to the precision of a narrower dtype: rounding could make them 1.
fn truncate(numbers: &mut [f32], dtype: DType) {
    let steps = match dtype {
        DType::BF16 => 256.0,
        DType::F16 => 2048.0,
        _ => return,
    };
    numbers.iter_mut().for_each(|number| *number = (*number * steps).floor() / steps);
}

/// Three numbers of a stream by the published algorithm, written out as plainly as possible.
fn philox_sample(key: u64, stream: u64) -> Sample {
    let block = |counter: u64| {
        let mut c = [counter as u32, (counter >> 32) as u32, stream as u32, (stream >> 32) as u32];
        let mut k = [key as u32, (key >> 32) as u32];
        for _ in 0..10 {
            let (a, b) = (0xD251_1F53u64 * u64::from(c[0]), 0xCD9E_8D57u64 * u64::from(c[2]));
            c = [(b >> 32) as u32 ^ c[1] ^ k[0], b as u32, (a >> 32) as u32 ^ c[3] ^ k[1], a as u32];
            k = [k[0].wrapping_add(0x9E37_79B9), k[1].wrapping_add(0xBB67_AE85)];
        }
        c
    };
    let number = |i: u64| {
        // Sixteen blocks are interleaved: number i is a double word of block i/32*16 + i%16.
        let words = block(i / 32 * 16 + i % 16);
        let half = (i / 16 % 2) as usize * 2;
        let (low, high) = (words[half], words[half + 1]);
        ((u64::from(high) << 32 | u64::from(low)) >> 11) as f64 / (1u64 << 53) as f64
    };
    Sample::new([3], (0..3).map(number).collect::<Vec<_>>())
}

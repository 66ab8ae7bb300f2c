//! A cotangent on its way through elementwise operations: `g * s1 * s2 ..`, multiplied out in one walk over memory.
//!
//! A long row that passes several operations would be written and read again at each of them. So the sweep lets slopes
//! gather at the cotangent, and such products at their sum, until somebody needs the numbers. Each element goes through the
//! same operations in the same order as one at a time, so the bits are the same.

use super::elementwise::{Parameters, SlopeExpression, SlopeLoops, TILE, narrow};
use crate::{DType, Tensor};
use smallvec::SmallVec;
use std::ops::Neg;
use wengert_kernels::dtype::Compute;
use wengert_kernels::map::{Stored, loop1_in_place, loop2_in_place};
use wengert_kernels::{Out, View, for_each_chunk};

/// A cotangent and the slopes that it has yet to be multiplied by.
#[derive(Clone)]
pub(crate) struct Product {
    g: Tensor,
    factors: SmallVec<[Factor; 2]>,
}

/// Products that are added up.
pub(crate) type Terms = SmallVec<[Product; 2]>;

/// One multiplication; everything saved is one row in memory, of the cotangent's shape and dtype.
#[derive(Clone)]
pub(crate) enum Factor {
    Minus,
    Slope { slope: &'static SlopeExpression, a: Tensor, b: Tensor, parameters: Parameters<f64> },
}

/// Elements that a thread takes at a time, and that make a row long.
const CHUNK: usize = 16 * 1024;

impl Product {
    /// Nothing but the cotangent, if it is long, and one number for all elements or one row in memory.
    pub fn of(g: Tensor) -> Result<Product, Tensor> {
        let long = g.is_plain() && g.elements() >= CHUNK && matches!(g.dtype(), DType::F64 | DType::F32);
        match long && (g.value.view().is_contiguous() || is_one_number(g.value.view())) {
            true => Ok(Product { g, factors: SmallVec::new() }),
            false => Err(g),
        }
    }

    /// Whether `saved` can be a part of a factor.
    pub fn accepts(&self, saved: &Tensor) -> bool {
        saved.is_plain() && saved.spec() == self.g.spec() && saved.value.view().is_contiguous()
    }

    pub fn is_multiplied_out(&self) -> bool {
        self.factors.is_empty()
    }

    pub fn times(mut self, factor: Option<Factor>) -> Product {
        self.factors.extend(factor);
        self
    }

    /// The numbers, written over the cotangent where nobody else holds it.
    pub fn evaluate(self) -> Tensor {
        match self.g.dtype() {
            _ if self.is_multiplied_out() => self.g,
            DType::F64 => self.multiply_out::<f64>(),
            _ => self.multiply_out::<f32>(),
        }
    }

    /// The numbers of a sum, each product added to those before it.
    pub fn add_up(mut terms: Terms) -> Tensor {
        match terms[0].g.dtype() {
            _ if terms.len() == 1 => terms.remove(0).evaluate(),
            DType::F64 => add_up::<f64>(&terms),
            _ => add_up::<f32>(&terms),
        }
    }

    /// Adds the numbers to `sum`.
    pub fn add_to(self, sum: &mut Tensor) {
        let fused = !self.is_multiplied_out() && sum.is_plain();
        match (sum.unique_bytes().filter(|_| fused), self.g.dtype()) {
            (Some(bytes), DType::F64) => self.add::<f64>(bytemuck::cast_slice_mut(bytes)),
            (Some(bytes), _) => self.add::<f32>(bytemuck::cast_slice_mut(bytes)),
            (None, _) => sum.accumulate(&self.evaluate()),
        }
    }

    fn multiply_out<T: Native>(mut self) -> Tensor {
        if let Some(bytes) = self.g.unique_bytes() {
            let factors = ready::<T>(&self.factors);
            for_each_tile(bytemuck::cast_slice_mut(bytes), &|from, tile| multiply(&factors, from, tile));
            return self.g;
        }
        add_up::<T>(&[self])
    }

    fn add<T: Native>(&self, sum: &mut [T]) {
        let term = self.ready::<T>();
        for_each_tile(sum, &|from, sum| term.add_to(from, sum));
    }

    fn ready<T: Native>(&self) -> ReadyProduct<'_, T> {
        ReadyProduct { g: self.g.value.view(), factors: ready(&self.factors) }
    }
}

/// A sum of products in a new row.
fn add_up<T: Native>(terms: &[Product]) -> Tensor {
    let ready: SmallVec<[ReadyProduct<'_, T>; 4]> = terms.iter().map(Product::ready).collect();
    let fill = |out: Out<'_>| {
        for_each_tile(bytemuck::cast_slice_mut(out.bytes), &|from, tile| {
            let (first, others) = ready.split_first().expect("a sum has a term");
            first.write(from, tile);
            others.iter().for_each(|term| term.add_to(from, tile));
        });
    };
    Tensor::build(&terms[0].g.spec(), fill).0
}

/// A product whose memory was looked up.
struct ReadyProduct<'a, T: 'static> {
    g: View<'a>,
    factors: SmallVec<[Ready<'a, T>; 2]>,
}

impl<T: Native> ReadyProduct<'_, T> {
    /// Elements `from..`.
    fn write(&self, from: usize, tile: &mut [T]) {
        read(self.g, from, tile);
        multiply(&self.factors, from, tile);
    }

    fn add_to(&self, from: usize, sum: &mut [T]) {
        let mut tile = [T::ZERO; TILE];
        let tile = &mut tile[..sum.len()];
        self.write(from, tile);
        loop2_in_place(sum, tile, |sum: T, x: T| sum + x);
    }
}

fn is_one_number(view: View<'_>) -> bool {
    view.strides.iter().all(|&stride| stride == 0)
}

/// The numbers of one row in memory.
fn row<T: Native>(view: View<'_>) -> &[T] {
    bytemuck::cast_slice(view.contiguous_bytes().expect("only rows are accepted"))
}

/// Elements `from..` of a cotangent.
fn read<T: Native>(g: View<'_>, from: usize, tile: &mut [T]) {
    match is_one_number(g) {
        true => tile.fill(g.at_linear::<T>(0)),
        false => tile.copy_from_slice(&row(g)[from..from + tile.len()]),
    }
}

/// Calls `visit` with the place of every tile and the tile.
fn for_each_tile<T: Native>(out: &mut [T], visit: &(dyn Fn(usize, &mut [T]) + Sync)) {
    for_each_chunk(out, CHUNK, &|chunk, out| {
        for (tile, out) in out.chunks_mut(TILE).enumerate() {
            visit(chunk * CHUNK + tile * TILE, out);
        }
    });
}

/// The types whose slopes have loops of their own.
trait Native: Compute + Stored + Neg<Output = Self> {
    fn loops(slope: &SlopeExpression) -> &SlopeLoops<Self>;
    fn parameters(of: Parameters<f64>) -> Parameters<Self>;
}

impl Native for f64 {
    fn loops(slope: &SlopeExpression) -> &SlopeLoops<f64> {
        &slope.f64
    }
    fn parameters(of: Parameters<f64>) -> Parameters<f64> {
        of
    }
}

impl Native for f32 {
    fn loops(slope: &SlopeExpression) -> &SlopeLoops<f32> {
        &slope.f32
    }
    fn parameters(of: Parameters<f64>) -> Parameters<f32> {
        narrow(of)
    }
}

/// A factor whose memory was looked up.
enum Ready<'a, T: 'static> {
    Minus,
    Slope { loops: &'a SlopeLoops<T>, a: &'a [T], b: &'a [T], parameters: Parameters<T> },
}

fn ready<T: Native>(factors: &[Factor]) -> SmallVec<[Ready<'_, T>; 2]> {
    let look_up = |factor| match factor {
        &Factor::Minus => Ready::Minus,
        Factor::Slope { slope, a, b, parameters } => Ready::Slope {
            loops: T::loops(slope),
            a: row(a.value.view()),
            b: row(b.value.view()),
            parameters: T::parameters(*parameters),
        },
    };
    factors.iter().map(look_up).collect()
}

/// Multiplies elements `from..` of the cotangent, which lie in `tile`, by every factor.
fn multiply<T: Native>(factors: &[Ready<'_, T>], from: usize, tile: &mut [T]) {
    for factor in factors {
        match factor {
            Ready::Minus => loop1_in_place(tile, |x: T| -x),
            Ready::Slope { loops, a, b, parameters } => {
                let range = from..from + tile.len();
                loops.update(tile, &a[range.clone()], &b[range], *parameters);
            }
        }
    }
}

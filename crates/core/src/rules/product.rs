//! A cotangent on its way through elementwise operations: `g * s1 * s2 ..`, multiplied out in one pass over memory.
//!
//! A long row that passes through several operations would be written and read again at each of them. So the sweep collects slopes as
//! factors of the cotangent, and such products as terms of a sum, until the values are needed. Each element goes through the same
//! operations in the same order as it would one operation at a time, so the results are bit-identical.

use super::slopes::{Native, SlopeExpression};
use crate::autograd::times;
use crate::{DType, Tensor};
use smallvec::SmallVec;
use wengert_kernels::functions::{Parameters, SlopeLoops, TILE};
use wengert_kernels::map::{loop1, loop2_in_place};
use wengert_kernels::{Out, View, for_each_chunk};

/// A cotangent and the slopes that it has not been multiplied by yet.
#[derive(Clone)]
pub struct Product {
    g: Tensor,
    factors: SmallVec<[Factor; 2]>,
}

/// Products to be summed.
pub type Terms = SmallVec<[Product; 2]>;

/// One multiplication; every saved value is a contiguous row of the cotangent's shape and dtype.
#[derive(Clone)]
pub enum Factor {
    Number(f64),
    Slope { slope: &'static SlopeExpression, a: Tensor, b: Tensor, parameters: Parameters<f64> },
}

/// Elements per chunk of a thread; also the minimum length of a long row.
const CHUNK: usize = 16 * 1024;

impl Product {
    /// The cotangent alone, if it is long and either one repeated element or a contiguous row.
    pub fn of(g: Tensor) -> Result<Product, Tensor> {
        let long = g.is_at_hand() && g.elements() >= CHUNK && matches!(g.dtype(), DType::F64 | DType::F32);
        match long && (g.value.view().is_contiguous() || is_one_number(g.value.view())) {
            true => Ok(Product { g, factors: SmallVec::new() }),
            false => Err(g),
        }
    }

    /// Whether `saved` can be an input of a factor.
    pub fn accepts(&self, saved: &Tensor) -> bool {
        saved.is_at_hand() && saved.spec() == self.g.spec() && saved.value.view().is_contiguous()
    }

    pub fn is_multiplied_out(&self) -> bool {
        self.factors.is_empty()
    }

    pub fn times(mut self, factor: Option<Factor>) -> Product {
        self.factors.extend(factor);
        self
    }

    /// Evaluates the product, in place of the cotangent if no other handle shares it.
    pub fn evaluate(self) -> Tensor {
        if self.is_multiplied_out() {
            return self.g;
        }
        let clock = times::start_slopes(self.factors.len(), &self.g);
        let product = match self.g.dtype() {
            DType::F64 => self.multiply_out::<f64>(),
            _ => self.multiply_out::<f32>(),
        };
        clock.into_iter().for_each(|clock| clock.stop(std::slice::from_ref(&product)));
        product
    }

    /// Evaluates a sum; each product is added to those before it.
    pub fn add_up(mut terms: Terms) -> Tensor {
        if terms.len() == 1 {
            return terms.remove(0).evaluate();
        }
        let clock = times::start_slopes(terms.iter().map(|term| term.factors.len() + 1).sum(), &terms[0].g);
        let sum = match terms[0].g.dtype() {
            DType::F64 => add_up::<f64>(&terms),
            _ => add_up::<f32>(&terms),
        };
        clock.into_iter().for_each(|clock| clock.stop(std::slice::from_ref(&sum)));
        sum
    }

    /// Adds the product to `sum`.
    pub fn add_to(self, sum: &mut Tensor) {
        let fused = !self.is_multiplied_out() && sum.is_at_hand();
        let Some(bytes) = sum.unique_bytes().filter(|_| fused) else { return sum.accumulate(&self.evaluate()) };
        let clock = times::start_slopes(self.factors.len() + 1, &self.g);
        match self.g.dtype() {
            DType::F64 => self.add::<f64>(bytemuck::cast_slice_mut(bytes)),
            _ => self.add::<f32>(bytemuck::cast_slice_mut(bytes)),
        }
        clock.into_iter().for_each(|clock| clock.stop(&[]));
    }

    fn multiply_out<T: Native>(mut self) -> Tensor {
        if let Some(bytes) = self.g.unique_bytes() {
            let factors = ready::<T>(&self.factors);
            for_each_tile(bytemuck::cast_slice_mut(bytes), &|from, tile, [scratch, _]| {
                multiply(&factors, from, Start::Here, scratch, tile);
            });
            return self.g;
        }
        add_up::<T>(&[self])
    }

    fn add<T: Native>(&self, sum: &mut [T]) {
        let term = self.ready::<T>();
        for_each_tile(sum, &|from, sum, scratch| term.add_to(from, scratch, sum));
    }

    fn ready<T: Native>(&self) -> ReadyProduct<'_, T> {
        let g = self.g.value.view();
        let g = if is_one_number(g) { Cotangent::Number(g.at_linear(0)) } else { Cotangent::Row(row(g)) };
        ReadyProduct { g, factors: ready(&self.factors) }
    }
}

/// Evaluates a sum of products into a new row.
fn add_up<T: Native>(terms: &[Product]) -> Tensor {
    let ready: SmallVec<[ReadyProduct<'_, T>; 4]> = terms.iter().map(Product::ready).collect();
    let fill = |out: Out<'_>| {
        for_each_tile(bytemuck::cast_slice_mut(out.bytes), &|from, tile, scratch| {
            let (first, others) = ready.split_first().expect("a sum has a term");
            first.write(from, &mut scratch[0], tile);
            others.iter().for_each(|term| term.add_to(from, scratch, tile));
        });
    };
    Tensor::build(&terms[0].g.spec(), fill).0
}

fn is_one_number(view: View<'_>) -> bool {
    view.strides.iter().all(|&stride| stride == 0)
}

/// The elements of a contiguous row.
fn row<T: Native>(view: View<'_>) -> &[T] {
    bytemuck::cast_slice(view.contiguous_bytes().expect("only rows are accepted"))
}

/// A product with its memory resolved.
struct ReadyProduct<'a, T: 'static> {
    g: Cotangent<'a, T>,
    factors: SmallVec<[Ready<'a, T>; 2]>,
}

enum Cotangent<'a, T> {
    Number(T),
    Row(&'a [T]),
}

/// Scratch memory for intermediate values.
type Buffer<T> = [T; TILE];

impl<T: Native> ReadyProduct<'_, T> {
    /// Writes elements `from..`.
    fn write(&self, from: usize, scratch: &mut Buffer<T>, tile: &mut [T]) {
        let start = match self.g {
            Cotangent::Number(number) => {
                tile.fill(number);
                Start::Here
            }
            Cotangent::Row(row) => Start::Row(&row[from..from + tile.len()]),
        };
        multiply(&self.factors, from, start, scratch, tile);
    }

    fn add_to(&self, from: usize, [scratch, own]: &mut [Buffer<T>; 2], sum: &mut [T]) {
        let own = &mut own[..sum.len()];
        self.write(from, scratch, own);
        loop2_in_place(sum, own, |sum: T, x: T| sum + x);
    }
}

/// Calls `visit` with the offset of every tile, the tile and scratch memory.
fn for_each_tile<T: Native>(out: &mut [T], visit: &(dyn Fn(usize, &mut [T], &mut [Buffer<T>; 2]) + Sync)) {
    for_each_chunk(out, CHUNK, &|chunk, out| {
        let mut scratch = [[T::ZERO; TILE]; 2];
        for (tile, out) in out.chunks_mut(TILE).enumerate() {
            visit(chunk * CHUNK + tile * TILE, out, &mut scratch);
        }
    });
}

/// A factor with its memory resolved.
enum Ready<'a, T: 'static> {
    Number(T),
    Slope { loops: &'a SlopeLoops<T>, a: &'a [T], b: &'a [T], parameters: Parameters<T> },
}

fn ready<T: Native>(factors: &[Factor]) -> SmallVec<[Ready<'_, T>; 2]> {
    let look_up = |factor| match factor {
        &Factor::Number(number) => Ready::Number(T::from_f64(number)),
        Factor::Slope { slope, a, b, parameters } => Ready::Slope {
            loops: T::loops(slope),
            a: row(a.value.view()),
            b: row(b.value.view()),
            parameters: T::parameters(*parameters),
        },
    };
    factors.iter().map(look_up).collect()
}

/// The location of the values to be multiplied.
enum Start<'a, T> {
    /// In the tile itself.
    Here,
    Row(&'a [T]),
}

/// Multiplies elements `from..` of the cotangent by every factor, alternating between `scratch` and `tile` so that the last one ends in
/// `tile`.
fn multiply<T: Native>(factors: &[Ready<'_, T>], from: usize, start: Start<'_, T>, scratch: &mut [T], tile: &mut [T]) {
    let scratch = &mut scratch[..tile.len()];
    let (mut row, is_odd) = match start {
        Start::Row(row) => (Some(row), false),
        Start::Here => (None, factors.len() % 2 == 1),
    };
    if is_odd {
        scratch.copy_from_slice(tile);
    }
    if let (Some(row), []) = (row, factors) {
        tile.copy_from_slice(row);
    }
    for (i, factor) in factors.iter().enumerate() {
        let to_tile = (factors.len() - i) % 2 == 1;
        let (source, target) = match (row.take(), to_tile) {
            (Some(row), true) => (row, &mut *tile),
            (Some(row), false) => (row, &mut *scratch),
            (None, true) => (&*scratch, &mut *tile),
            (None, false) => (&*tile, &mut *scratch),
        };
        match factor {
            &Ready::Number(number) => loop1(source, target, |x: T| x * number),
            Ready::Slope { loops, a, b, parameters } => {
                let range = from..from + source.len();
                (loops.slices)(source, &a[range.clone()], &b[range], target, *parameters);
            }
        }
    }
}

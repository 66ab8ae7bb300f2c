//! Loops over slices: the lowest layer of Wengert.
//!
//! Everything here works on plain memory: bytes with a [`DType`], a shape and strides ([`View`]), never on tensors.
//! All of the project's `unsafe` code lives in this crate.
//!
//! | module | what it holds |
//! |---|---|
//! | [`dtype`] | element types and conversions between them |
//! | [`pool`] | [`Block`]: pooled, aligned, reference-counted memory |
//! | [`threads`](mod@threads) | a fork-join pool that never runs foreign work |
//! | [`view`] | strided inputs and contiguous outputs |
//! | [`map`](mod@map) | elementwise loops over tiles, copies and conversions |
//! | [`reduce`] | sums, maxima and minima |
//! | [`math`] | elementary and special functions |
//! | [`functions`](mod@functions) | the table of elementwise functions of one argument |
//! | [`matmul`](mod@matmul) | matrix products |
//! | [`conv`] | convolutions, their gradients, patches as columns |
//! | [`pooling`] | maxima and averages over windows of images |
//! | [`index`] | gather and scatter along one axis |
//! | [`linalg`] | LU, Cholesky, QR, eigenvalues, singular values and linear systems, for batches of matrices |
//! | [`distance`] | distances between the rows of two matrices |
//! | [`rows`] | softmax, cross-entropy and normalisations along rows |
//! | [`attention`](mod@attention) | scaled dot-product attention that never stores the score matrix |
//! | [`scan`] | running sums, products and extremes along an axis |
//! | [`extremes`] | maxima, minima, products, any and all along an axis |
//! | [`order`] | sorting, selecting and searching |
//! | [`bits`] | one-bit masks |
//! | [`svd`](mod@svd) | the singular value decomposition of one matrix |
//! | [`random`] | counter-based random numbers |
//! | [`memory`] | memory that was allocated and laid out in advance |
//! | [`spill`] | files for data that does not fit into memory |
//! | [`tiled`] | chains of elementwise operations and reductions, fused into one loop |
//! | [`Line`] | a source location |
//! | [`tape`] | a Wengert list of scalars |
//! | [`one_lane`] | implements a SIMD trait for scalar types |
//! | [`counting`] | a counting allocator for tests |
//!
//! Results are bitwise independent of the number of threads: work is split into tiles whose size depends only on the shape.

pub mod attention;
pub mod bits;
pub mod cells;
mod chain;
pub mod conv;
pub mod counting;
pub mod distance;
pub mod dtype;
pub mod extremes;
mod follow;
pub mod functions;
pub mod index;
mod lane;
pub mod linalg;
mod line;
pub mod map;
pub mod math;
pub mod matmul;
pub mod memory;
pub mod order;
pub mod pool;
pub mod pooling;
pub mod random;
pub mod reduce;
pub mod rows;
pub mod scan;
mod simd;
pub mod spill;
pub mod svd;
pub mod tape;
pub mod threads;
pub mod tiled;
mod transpose;
pub mod view;

pub use bits::{pack_positive, select_bits};
pub use conv::{Convolution, Convolve};
pub use dtype::{Compute, DType, Element, bf16, convert_bits, f16};
pub use index::{OutOfRange, gather, scatter_add};
pub use line::Line;
pub use map::{
    Stored, copy, loop1, loop1_in_place, loop2, loop2_in_place, loop3, loop3_in_place, loop4, map, map_in_place,
};
pub use matmul::{Matrix, Product, matmul, matmul_many};
pub use pool::{Block, PoolStatistics};
pub use pooling::{AdaptivePooling, Pooling, gather_planes, scatter_planes};
pub use random::{philox, split, uniform_f32, uniform_f64};
pub use svd::svd;
pub use threads::{for_each_chunk, for_each_tile, set_threads, threads};
pub use view::{Out, View};

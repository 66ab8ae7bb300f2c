//! Functions made of other operations: methods of `Tensor` that need no rule of their own.
//!
//! One theme a file, registered by one line here.

macro_rules! composites {
    ($($visibility:vis mod $theme:ident;)*) => {
        $($visibility mod $theme;)*

        /// (theme, source file) of the functions made of other operations, from which documents are made.
        #[cfg(feature = "cases")]
        pub static COMPOSITES: &[(&str, &str)] =
            &[$((stringify!($theme), include_str!(concat!(stringify!($theme), ".rs"))),)*];
    };
}

composites! {
    mod arithmetic;
    mod diagonals;
    mod differences;
    mod distance;
    mod einsum;
    mod embedding;
    pub(crate) mod indexing;
    mod joining;
    mod linalg;
    mod logic;
    mod losses;
    mod network;
    mod normalisation;
    mod padding;
    mod parts;
    mod products;
    mod random;
    mod resampling;
    mod shape;
    mod statistics;
    mod unique;
}

pub use embedding::{Bag, EmbeddingBag};
pub use indexing::ScatterReduce;
pub use linalg::MatrixNorm;
pub use losses::{CrossEntropy, Reduction};
pub use padding::PadMode;
pub use resampling::{GridSample, Interpolate, InterpolateMode, Outside};
pub use statistics::{Covariance, Interpolation};
pub use unique::Unique;

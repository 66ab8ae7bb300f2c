//! Functions made of other operations: methods of `Tensor` that need no rule of their own.
//!
//! One theme a file, registered by one line here.

macro_rules! composites {
    ($($visibility:vis mod $theme:ident;)*) => {
        $($visibility mod $theme;)*

        /// (theme, source file) of the functions made of other operations, from which documents are made.
        pub static COMPOSITES: &[(&str, &str)] =
            &[$((stringify!($theme), include_str!(concat!(stringify!($theme), ".rs"))),)*];
    };
}

composites! {
    mod arithmetic;
    mod differences;
    mod distance;
    mod einsum;
    pub(crate) mod indexing;
    mod linalg;
    mod logic;
    mod losses;
    mod network;
    mod products;
    mod random;
    mod shape;
    mod statistics;
    mod unique;
}

pub use indexing::ScatterReduce;
pub use linalg::MatrixNorm;
pub use losses::{CrossEntropy, Reduction};
pub use network::{Bag, EmbeddingBag, GridSample, Interpolate, InterpolateMode, Outside};
pub use shape::PadMode;
pub use statistics::{Covariance, Interpolation};
pub use unique::Unique;

//! Functions composed of other operations: methods of `Tensor` that need no rule of their own.
//!
//! One file per theme, registered by one line here.

macro_rules! composites {
    ($($visibility:vis mod $theme:ident $(: $($methods:ident)+)?;)*) => {
        $($visibility mod $theme;)*

        /// The methods of all themes.
        pub mod methods {
            $($(pub use super::$theme::{$($methods),+};)?)*
        }

        /// The same methods, imported without their names.
        pub mod unnamed_methods {
            $($(pub use super::$theme::{$($methods as _),+};)?)*
        }

        /// (theme, source file) of the composite functions, from which the documentation is generated.
        #[cfg(feature = "cases")]
        pub static COMPOSITES: &[(&str, &str)] =
            &[$((stringify!($theme), include_str!(concat!(stringify!($theme), ".rs"))),)*];
    };
}

composites! {
    mod arithmetic: ArithmeticMethods;
    mod diagonals: DiagonalsMethods;
    mod differences: DifferencesMethods;
    mod distance: DistanceMethods;
    mod einsum: EinsumMethods;
    mod embedding: EmbeddingMethods;
    pub(crate) mod indexing: IndexingMethods;
    mod joining: JoiningMethods;
    mod linalg: LinalgMethods;
    mod logic: LogicMethods;
    mod losses: LossesMethods;
    mod network: NetworkMethods PowerPoolMethods;
    mod normalisation: NormalisationMethods;
    mod padding: PaddingMethods;
    mod parts: PartsMethods;
    mod products: ProductsMethods;
    mod random: RandomMethods;
    mod resampling: ResamplingMethods;
    pub(crate) mod selection: SelectionMethods;
    mod shape: ShapeMethods;
    mod statistics: StatisticsMethods;
    mod torch;
    mod unique: UniqueMethods;
}

pub use embedding::{Bag, EmbeddingBag};
pub use indexing::ScatterReduce;
pub use linalg::MatrixNorm;
pub use losses::{CrossEntropy, Reduction};
pub use padding::PadMode;
pub use resampling::{GridSample, Interpolate, InterpolateMode, Outside};
pub use selection::{Ellipsis, NewAxis, Select, Selection, SliceMut};
pub use statistics::{Covariance, Interpolation};
pub use torch::TorchMethods;
pub use unique::Unique;

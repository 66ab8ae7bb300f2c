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

composites! {}

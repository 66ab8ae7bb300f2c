//! Forwards the methods that traits of other crates share. Each method is listed here once, under the trait that computes it.

/// The methods of a trait.
macro_rules! methods_of {
    (ComplexField) => {
        forward! {
            Real() -> Self:
                abs recip sqrt cbrt exp exp2 exp_m1 ln log2 log10 ln_1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
                floor ceil;
            Real(other: Self) -> Self: powf hypot;
            Real(a: Self, b: Self) -> Self: mul_add;
            Real(n: i32) -> Self: powi;
            Number() -> Self: round trunc fract signum;
            Number(base: Self) -> Self: log;
            Number() -> (Self, Self): sin_cos;
        }
    };
    (RealField) => {
        forward! {
            Real(other: Self) -> Self: atan2;
            Number(other: Self) -> Self: max min copysign;
            Number(least: Self, most: Self) -> Self: clamp;
        }
    };
    (Float) => {
        methods_of! { ComplexField }
        methods_of! { RealField }
        forward! {
            Number() -> Self: to_degrees to_radians;
            Number(other: Self) -> Self: abs_sub;
            Number() -> bool: is_nan is_infinite is_finite is_normal is_sign_positive is_sign_negative;
            Number() -> FpCategory: classify;
            Number() -> (u64, i16, i8): integer_decode;
        }
    };
}
pub(crate) use methods_of;

/// Methods that call the method of the same name.
macro_rules! forward {
    ($($Trait:ident $arguments:tt -> $Result:ty: $($name:ident)*;)*) => {
        $(forward! { @row $Trait $arguments [$Result] $($name)* })*
    };
    (@row $Trait:ident $arguments:tt [$Result:ty] $($name:ident)*) => {
        $(forward! { @method $Trait $arguments [$Result] $name })*
    };
    (@method $Trait:ident ($($argument:ident: $Type:ty),*) [$Result:ty] $name:ident) => {
        #[inline]
        #[track_caller]
        fn $name(self $(, $argument: $Type)*) -> $Result {
            $Trait::$name(self $(, $argument)*)
        }
    };
}
pub(crate) use forward;

/// The same for methods that take a reference.
macro_rules! forward_referred {
    ($($name:ident = $Trait:ident::$other:ident($($argument:ident)?) -> $Result:ty;)*) => {
        $(#[inline]
        #[track_caller]
        fn $name(&self $(, $argument: &Self)?) -> $Result {
            $Trait::$other(*self $(, *$argument)?)
        })*
    };
}
pub(crate) use forward_referred;

//! What symbols compute: every operation is an entry of the trace.

use super::symbol::Symbol;
use crate::Real;
use crate::functions::functions_of_one;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};
use wengert_kernels::cells::{Op, Relation};

impl Neg for Symbol {
    type Output = Symbol;
    #[track_caller]
    fn neg(self) -> Symbol {
        self.of_one(Op::Neg)
    }
}

macro_rules! operators {
    ($($Trait:ident $method:ident, $Assign:ident $assign:ident;)*) => {
        $(
            impl $Trait for Symbol {
                type Output = Symbol;
                #[inline]
                #[track_caller]
                fn $method(self, other: Symbol) -> Symbol {
                    Symbol::computed(Op::$Trait, self, other)
                }
            }

            impl $Trait<f64> for Symbol {
                type Output = Symbol;
                #[inline]
                #[track_caller]
                fn $method(self, other: f64) -> Symbol {
                    Symbol::computed(Op::$Trait, self, Symbol::constant(other))
                }
            }

            impl $Trait<Symbol> for f64 {
                type Output = Symbol;
                #[inline]
                #[track_caller]
                fn $method(self, other: Symbol) -> Symbol {
                    Symbol::computed(Op::$Trait, Symbol::constant(self), other)
                }
            }

            impl $Assign for Symbol {
                #[track_caller]
                fn $assign(&mut self, other: Symbol) {
                    *self = Symbol::computed(Op::$Trait, *self, other);
                }
            }

            impl $Assign<f64> for Symbol {
                #[track_caller]
                fn $assign(&mut self, other: f64) {
                    *self = Symbol::computed(Op::$Trait, *self, Symbol::constant(other));
                }
            }
        )*
    };
}
operators! {
    Add add, AddAssign add_assign;
    Sub sub, SubAssign sub_assign;
    Mul mul, MulAssign mul_assign;
    Div div, DivAssign div_assign;
    Rem rem, RemAssign rem_assign;
}

macro_rules! named {
    ($($name:ident $Op:ident;)*) => {
        /// The operation of a function by its name.
        pub(super) mod op_of {
            use super::Op;

            $(#[inline(always)]
            pub fn $name() -> Op {
                Op::$Op
            })*
        }
    };
}
named! {
    sqrt Sqrt;
    cbrt Cbrt;
    exp Exp;
    exp2 Exp2;
    exp_m1 ExpM1;
    ln Ln;
    log2 Log2;
    log10 Log10;
    ln_1p Ln1p;
    sin Sin;
    cos Cos;
    tan Tan;
    asin Asin;
    acos Acos;
    atan Atan;
    sinh Sinh;
    cosh Cosh;
    tanh Tanh;
    asinh Asinh;
    acosh Acosh;
    atanh Atanh;
    erf Erf;
    erfc Erfc;
    ln_gamma LnGamma;
    sigmoid Sigmoid;
    abs Abs;
}

/// Methods that are one operation.
macro_rules! recorded {
    (of one: $($name:ident $Op:ident;)*) => {
        $(#[track_caller]
        fn $name(self) -> Symbol {
            self.of_one(Op::$Op)
        })*
    };
    (of two: $($name:ident $Op:ident;)*) => {
        $(#[track_caller]
        fn $name(self, other: Symbol) -> Symbol {
            Symbol::computed(Op::$Op, self, other)
        })*
    };
}

macro_rules! symbols {
    ($($name:ident, $doc:literal, |$v:ident| $value:expr, |$x:ident, $y:ident| $slope:expr;)*) => {
        impl Real for Symbol {
            const ORDER: usize = 2;

            fn lit(x: f64) -> Symbol {
                Symbol::constant(x)
            }

            /// The value, which is a guard of every bit.
            #[track_caller]
            fn to_f64(self) -> f64 {
                Symbol::decided(Relation::Same, self, Symbol::constant(self.value));
                self.value
            }

            /// Guarded by `index <= self < index + 1`.
            #[track_caller]
            fn floor_index(self) -> usize {
                let index = self.peek().floor_index();
                Symbol::decided(Relation::Floor, self, Symbol::constant(index as f64));
                index
            }

            fn plain(self) -> Option<f64> {
                self.is_constant().then_some(self.value)
            }

            fn is_constant(self) -> bool {
                self.operand.is_none()
            }

            $(
                #[track_caller]
                fn $name(self) -> Symbol {
                    self.of_one(op_of::$name())
                }
            )*

            #[track_caller]
            fn polygamma(self, n: u32) -> Symbol {
                self.of_one(Op::Polygamma(n))
            }

            #[track_caller]
            fn powi(self, n: i32) -> Symbol {
                match n {
                    1 => self,
                    2 => self * self,
                    _ => self.of_one(Op::Powi(n)),
                }
            }

            recorded! { of one: recip Recip; signum Signum; floor Floor; ceil Ceil; round Round; }
            recorded! {
                of two:
                powf Powf; atan2 Atan2; hypot Hypot; max Max; min Min; guarded_mul Times; inside Inside; share Share;
            }
        }
    };
}
functions_of_one!(symbols);

//! Arithmetic of symbols: every operation appends an entry to the trace.

use super::symbol::Symbol;
use crate::Real;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};
use wengert_kernels::cells::{Op, Relation};
use wengert_kernels::functions::Function;

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

/// Methods that record a single operation.
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
    ($($(#[doc = $doc:literal])* $tensor:ident $NAME:ident $name:ident { page: $page:literal, $($row:tt)* })*) => {
        impl Real for Symbol {
            const ORDER: usize = 2;

            fn lit(x: f64) -> Symbol {
                Symbol::constant(x)
            }

            /// The value. This guards every bit.
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
                    self.of_one(Op::Of(Function::$tensor))
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
wengert_kernels::functions!(symbols);

//! Numbers whose operations are written down, to be done again with other numbers.

use super::trace::{Operand, Reads, Trace, What};
use crate::Real;
use crate::functions::functions_of_one;
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};
use std::panic::Location;
use wengert_engine::{Error, ErrorKind};
use wengert_kernels::cells::{Op, Relation};

/// A number of a function that is recorded as a [`Replay`](crate::Replay): its value now, and how it was computed.
///
/// Whatever looks at the value - a comparison, [`to_f64`](Real::to_f64) - is a guard of the recording: where it would come out
/// otherwise, the recording does not apply.
#[derive(Clone, Copy)]
pub struct Symbol {
    value: f64,
    /// Nothing for constants.
    operand: Option<Operand>,
    recording: u32,
}

thread_local! {
    static TRACES: RefCell<Vec<(u32, Trace)>> = const { RefCell::new(Vec::new()) };
    static RECORDINGS: Cell<u32> = const { Cell::new(0) };
}

/// What `f` does with inputs of these values, and the operands that it returns.
pub(crate) fn traced<R>(x: &[f64], f: impl FnOnce(&[Symbol]) -> R, returned: impl FnOnce(R) -> Vec<Symbol>) -> Traced {
    /// Ends the recording, also when `f` panics.
    struct Ending;
    impl Drop for Ending {
        fn drop(&mut self) {
            TRACES.with_borrow_mut(Vec::pop);
        }
    }
    let recording = RECORDINGS.get() + 1;
    RECORDINGS.set(recording);
    TRACES.with_borrow_mut(|traces| traces.push((recording, Trace::new(x.len() as u32))));
    let ending = Ending;
    let input = |(number, &value): (usize, &f64)| Symbol {
        value,
        operand: Some(Operand::new(Reads::Input(number as u32))),
        recording,
    };
    let inputs: Vec<Symbol> = x.iter().enumerate().map(input).collect();
    let outputs = returned(f(&inputs));
    let values = outputs.iter().map(|output| output.value).collect();
    let operands = outputs.iter().map(|output| output.operand()).collect();
    std::mem::forget(ending);
    let (_, trace) = TRACES.with_borrow_mut(Vec::pop).expect("it is running");
    Traced { trace, values, outputs: operands }
}

/// What [`traced`] finds.
pub(crate) struct Traced {
    pub trace: Trace,
    /// The values of the outputs, and what they are.
    pub values: Vec<f64>,
    pub outputs: Vec<Operand>,
}

#[cold]
#[track_caller]
fn misused() -> ! {
    Error::new(
        ErrorKind::WrongLevel,
        "symbol",
        "a number is used whose recording has ended, or that belongs to another one",
    )
    .help("compute with the inputs that the recorded function is given")
    .at(Location::caller())
    .raise()
}

impl Symbol {
    fn constant(value: f64) -> Symbol {
        Symbol { value, operand: None, recording: 0 }
    }

    /// Its value now. Unlike [`to_f64`](Real::to_f64) this is no guard: for printing, not for deciding.
    pub fn peek(self) -> f64 {
        self.value
    }

    /// How it is read in the recording that is running.
    #[track_caller]
    fn operand(self) -> Operand {
        with_trace(self, |trace| self.operand.unwrap_or_else(|| trace.constant(self.value)))
    }

    #[inline]
    #[track_caller]
    pub(super) fn computed(op: Op, a: Symbol, b: Symbol) -> Symbol {
        let value = op.apply(a.value, b.value);
        if a.operand.is_none() && b.operand.is_none() {
            return Symbol::constant(value);
        }
        let recording = if a.operand.is_some() { a.recording } else { b.recording };
        if a.operand.is_some() && b.operand.is_some() && a.recording != b.recording {
            misused();
        }
        let operand = with_trace(Symbol { recording, ..a }, |trace| {
            let a = a.operand.unwrap_or_else(|| trace.constant(a.value));
            let b = b.operand.unwrap_or_else(|| trace.constant(b.value));
            trace.push(What::Compute(op), a, b)
        });
        Symbol { value, operand: Some(operand), recording }
    }

    #[inline]
    #[track_caller]
    fn of_one(self, op: Op) -> Symbol {
        Symbol::computed(op, self, self)
    }

    /// 1 if it is larger, 0 if the other is, 1/2 else.
    pub(super) fn share(self, other: Symbol) -> Symbol {
        Symbol::computed(Op::Share, self, other)
    }

    /// Whether a relation holds now, which is a guard.
    #[inline]
    #[track_caller]
    pub(super) fn decided(relation: Relation, a: Symbol, b: Symbol) -> bool {
        let held = relation.holds(a.value, b.value);
        if a.operand.is_some() || b.operand.is_some() {
            let recording = if a.operand.is_some() { a.recording } else { b.recording };
            with_trace(Symbol { recording, ..a }, |trace| {
                let a = a.operand.unwrap_or_else(|| trace.constant(a.value));
                let b = b.operand.unwrap_or_else(|| trace.constant(b.value));
                trace.push(What::Guard(relation, held), a, b);
            });
        }
        held
    }

    /// The whole number below, for use as an index: guarded by `index <= self < index + 1`, where [`to_f64`](Real::to_f64) would
    /// guard every bit. Panics if it is negative or no number.
    ///
    /// ```
    /// use wengert_scalar::{Real, Replay};
    /// let table = [1.0, 4.0, 9.0];
    /// let mut f = Replay::record(move |x| x[0] * table[x[0].floor_index()], &[1.25]);
    /// assert_eq!((f.value(&[1.5]), f.recordings()), (6.0, 1));
    /// assert_eq!((f.value(&[2.5]), f.recordings()), (22.5, 2));
    /// ```
    #[track_caller]
    pub fn floor_index(self) -> usize {
        let floor = self.value.floor();
        assert!((0.0..1e15).contains(&floor), "floor_index: {} is not inside of a table", self.value);
        Symbol::decided(Relation::Floor, self, Symbol::constant(floor));
        floor as usize
    }
}

/// Does something with the trace that is running, which must be that of `of` unless that is a constant.
#[inline]
#[track_caller]
fn with_trace<R>(of: Symbol, f: impl FnOnce(&mut Trace) -> R) -> R {
    let result = TRACES.with_borrow_mut(|traces| match traces.last_mut() {
        Some((recording, trace)) if of.operand.is_none() || *recording == of.recording => Some(f(trace)),
        _ => None,
    });
    match result {
        Some(result) => result,
        None => misused(),
    }
}

/// A constant.
impl From<f64> for Symbol {
    fn from(value: f64) -> Symbol {
        Symbol::constant(value)
    }
}

/// The value, as a float prints.
impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// The value, and what it is.
impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operand {
            Some(operand) => write!(f, "Symbol({:?}, {:?})", self.value, operand.reads()),
            None => write!(f, "Symbol({:?})", self.value),
        }
    }
}

impl PartialEq for Symbol {
    #[track_caller]
    fn eq(&self, other: &Symbol) -> bool {
        Symbol::decided(Relation::Equal, *self, *other)
    }
}

impl PartialOrd for Symbol {
    #[track_caller]
    fn partial_cmp(&self, other: &Symbol) -> Option<Ordering> {
        if *self < *other {
            Some(Ordering::Less)
        } else if *other < *self {
            Some(Ordering::Greater)
        } else if *self == *other {
            Some(Ordering::Equal)
        } else {
            None
        }
    }

    #[track_caller]
    fn lt(&self, other: &Symbol) -> bool {
        Symbol::decided(Relation::Less, *self, *other)
    }

    #[track_caller]
    fn le(&self, other: &Symbol) -> bool {
        Symbol::decided(Relation::AtMost, *self, *other)
    }

    #[track_caller]
    fn gt(&self, other: &Symbol) -> bool {
        Symbol::decided(Relation::Less, *other, *self)
    }

    #[track_caller]
    fn ge(&self, other: &Symbol) -> bool {
        Symbol::decided(Relation::AtMost, *other, *self)
    }
}

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
}

impl Sum for Symbol {
    #[track_caller]
    fn sum<I: Iterator<Item = Symbol>>(iterator: I) -> Symbol {
        iterator.fold(Symbol::constant(0.0), |sum, x| sum + x)
    }
}

/// The operation of a function by its name.
macro_rules! op_of {
    (recip) => {
        Op::Recip
    };
    (sqrt) => {
        Op::Sqrt
    };
    (cbrt) => {
        Op::Cbrt
    };
    (exp) => {
        Op::Exp
    };
    (exp2) => {
        Op::Exp2
    };
    (exp_m1) => {
        Op::ExpM1
    };
    (ln) => {
        Op::Ln
    };
    (log2) => {
        Op::Log2
    };
    (log10) => {
        Op::Log10
    };
    (ln_1p) => {
        Op::Ln1p
    };
    (sin) => {
        Op::Sin
    };
    (cos) => {
        Op::Cos
    };
    (tan) => {
        Op::Tan
    };
    (asin) => {
        Op::Asin
    };
    (acos) => {
        Op::Acos
    };
    (atan) => {
        Op::Atan
    };
    (sinh) => {
        Op::Sinh
    };
    (cosh) => {
        Op::Cosh
    };
    (tanh) => {
        Op::Tanh
    };
    (asinh) => {
        Op::Asinh
    };
    (acosh) => {
        Op::Acosh
    };
    (atanh) => {
        Op::Atanh
    };
    (erf) => {
        Op::Erf
    };
    (erfc) => {
        Op::Erfc
    };
    (ln_gamma) => {
        Op::LnGamma
    };
    (sigmoid) => {
        Op::Sigmoid
    };
    (abs) => {
        Op::Abs
    };
}
pub(super) use op_of;

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

            fn plain(self) -> Option<f64> {
                self.is_constant().then_some(self.value)
            }

            fn is_constant(self) -> bool {
                self.operand.is_none()
            }

            $(
                #[track_caller]
                fn $name(self) -> Symbol {
                    self.of_one(op_of!($name))
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

            #[track_caller]
            fn powf(self, p: Symbol) -> Symbol {
                Symbol::computed(Op::Powf, self, p)
            }

            #[track_caller]
            fn atan2(self, x: Symbol) -> Symbol {
                Symbol::computed(Op::Atan2, self, x)
            }

            #[track_caller]
            fn hypot(self, other: Symbol) -> Symbol {
                Symbol::computed(Op::Hypot, self, other)
            }

            #[track_caller]
            fn max(self, other: Symbol) -> Symbol {
                Symbol::computed(Op::Max, self, other)
            }

            #[track_caller]
            fn min(self, other: Symbol) -> Symbol {
                Symbol::computed(Op::Min, self, other)
            }

            #[track_caller]
            fn signum(self) -> Symbol {
                self.of_one(Op::Signum)
            }

            #[track_caller]
            fn floor(self) -> Symbol {
                self.of_one(Op::Floor)
            }

            #[track_caller]
            fn ceil(self) -> Symbol {
                self.of_one(Op::Ceil)
            }

            #[track_caller]
            fn round(self) -> Symbol {
                self.of_one(Op::Round)
            }

            #[track_caller]
            fn guarded_mul(self, other: Symbol) -> Symbol {
                Symbol::computed(Op::Times, self, other)
            }

            #[track_caller]
            fn inside(self, distance: Symbol) -> Symbol {
                Symbol::computed(Op::Inside, self, distance)
            }
        }
    };
}
functions_of_one!(symbols);

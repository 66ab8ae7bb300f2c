//! Variables: numbers whose operations are recorded on a tape.

use crate::Real;
use crate::expect::{expect, same_length};
use crate::functions;
use crate::real::length;
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};
use std::panic::Location;
use wengert_engine::{Error, ErrorKind};
use wengert_kernels::tape::{Failure, Misuse, Place, misuse, push_wide, push1, push2, push3};

/// A variable on the tape of its thread. It is 16 bytes and `Copy`. Constants take no space on the tape.
///
/// A variable belongs to the recording that created it. Using it in another recording or on another thread raises an error with the line.
///
/// ```
/// use wengert_scalar::{Real, gradient_of};
/// let (value, slopes) = gradient_of(|[x, y]| (x * y).sin() + 2.0 * x, [0.5, 3.0]);
/// assert_eq!(value, 1.5f64.sin() + 1.0);
/// assert_eq!(slopes, [3.0 * 1.5f64.cos() + 2.0, 0.5 * 1.5f64.cos()]);
/// ```
#[derive(Clone, Copy)]
pub struct Var {
    value: f64,
    place: Place,
}

/// Raises the error for a variable that is used where it does not belong.
#[cold]
pub(crate) fn misused(misuse: Misuse, line: &'static Location<'static>) -> ! {
    let kind = match &misuse {
        Misuse::NotFinite { .. } => ErrorKind::Anomaly,
        Misuse::Limit(failure) => kind_of(failure),
        _ => ErrorKind::WrongLevel,
    };
    let help = match &misuse {
        Misuse::Outer => {
            "give it to `sum_over` or `map_over` as shared; a gradient inside another one takes numbers in with `to_f64`, \
             which have no slopes, or is one of `Dual<Var, N>`"
        }
        Misuse::Ended => {
            "return plain numbers from a recording or a part of it, and record on the thread that uses them"
        }
        Misuse::Inside => "each recording has a tape of its own: use that",
        Misuse::Position => "take a position where the recording is now",
        Misuse::Full => "forget parts of a recording when they are swept",
        Misuse::Destroyed => {
            "record before the thread ends: not where a thread-local is dropped, which may be after the tape"
        }
        Misuse::NotFinite { .. } => "nothing before it was: look at the numbers that this line reads",
        Misuse::Limit(failure) => help_of(failure),
    };
    let operation = if matches!(misuse, Misuse::Limit(_)) { "recording_within" } else { "var" };
    Error::new(kind, operation, misuse.to_string()).help(help).at(line).raise()
}

fn kind_of(failure: &Failure) -> ErrorKind {
    match failure {
        Failure::Small { needed, allowed } => ErrorKind::Budget { needed: *needed, allowed: *allowed },
        Failure::NoFolder | Failure::Folder(_) => ErrorKind::Argument,
        Failure::Disk { .. } | Failure::File(_) => ErrorKind::File,
    }
}

fn help_of(failure: &Failure) -> &'static str {
    match failure {
        Failure::Small { .. } => "allow that much, or forget parts of the recording when they are swept",
        Failure::NoFolder | Failure::Folder(_) => "name a folder that exists and in which you may create files",
        Failure::Disk { .. } => "name a folder on a disk with more room, or allow more memory",
        Failure::File(_) => "the recording is lost: call the function again, with enough room on the disk",
    }
}

impl Var {
    pub(crate) fn at(value: f64, place: Place) -> Var {
        Var { value, place }
    }

    pub(crate) fn place(self) -> Place {
        self.place
    }

    /// Raises an error if this variable, returned by a function called at this line, does not belong to the running recording.
    pub(crate) fn expect_own(self, line: &'static Location<'static>) {
        if let Some(misuse) = misuse(self.place) {
            misused(misuse, line);
        }
    }

    /// The value.
    #[inline(always)]
    pub fn value(self) -> f64 {
        self.value
    }

    /// Whether it depends on an input.
    #[inline(always)]
    pub fn is_active(self) -> bool {
        self.place.is_active()
    }

    #[inline(always)]
    #[track_caller]
    pub(crate) fn through(self, value: f64, slope: f64) -> Var {
        Var { value, place: push1(value, slope, self.place, misused) }
    }

    #[inline(always)]
    #[track_caller]
    fn through_both(self, other: Var, value: f64, slopes: [f64; 2]) -> Var {
        Var { value, place: push2(value, slopes, [self.place, other.place], misused) }
    }

    /// The maximum or minimum of two numbers, where each has half the derivative at a tie. An operand that was not chosen is not recorded.
    #[inline(always)]
    #[track_caller]
    fn shared(self, other: Var, value: f64, shares: [f64; 2]) -> Var {
        match shares {
            [share, 0.0] => self.through(value, share),
            [0.0, share] => other.through(value, share),
            _ => self.through_both(other, value, shares),
        }
    }

    /// A variable with the given value, arguments and partial derivatives, recorded as one statement.
    ///
    /// ```
    /// use wengert_scalar::{Var, gradient_of};
    /// // x y z, by hand.
    /// let product = |[x, y, z]: [Var; 3]| {
    ///     let (a, b, c) = (x.value(), y.value(), z.value());
    ///     Var::of(a * b * c, &[x, y, z], &[b * c, a * c, a * b])
    /// };
    /// assert_eq!(gradient_of(product, [2.0, 3.0, 5.0]), (30.0, [15.0, 10.0, 6.0]));
    /// ```
    #[track_caller]
    pub fn of(value: f64, arguments: &[Var], partials: &[f64]) -> Var {
        let (count, room) = (arguments.len(), partials.len());
        expect(count == room, "of", || format!("{count} arguments and {room} partial derivatives"));
        Var::wide(value, count, arguments.iter().zip(partials).map(|(argument, partial)| (*partial, *argument)))
    }

    #[track_caller]
    fn wide(value: f64, most: usize, arguments: impl Iterator<Item = (f64, Var)>) -> Var {
        Var::from_slopes(value, most, arguments.map(|(partial, argument)| (partial, argument.place)))
    }

    /// A variable that depends on at most `most` places, with the partial derivative with respect to each.
    #[track_caller]
    pub(crate) fn from_slopes(value: f64, most: usize, slopes: impl Iterator<Item = (f64, Place)>) -> Var {
        Var { value, place: push_wide(value, most, slopes, misused) }
    }
}

/// A constant.
impl From<f64> for Var {
    #[inline(always)]
    fn from(value: f64) -> Var {
        Var { value, place: Place::NONE }
    }
}

/// Formats the value like a float.
impl fmt::Display for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.value, f)
    }
}

/// Formats the value like a float.
impl fmt::LowerExp for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerExp::fmt(&self.value, f)
    }
}

/// The value, and the number of its statement.
impl fmt::Debug for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_active() {
            true => write!(f, "Var({:?}, statement {})", self.value, self.place.index()),
            false => write!(f, "Var({:?})", self.value),
        }
    }
}

impl PartialEq for Var {
    #[inline(always)]
    fn eq(&self, other: &Var) -> bool {
        self.value == other.value
    }
}

impl PartialOrd for Var {
    #[inline(always)]
    fn partial_cmp(&self, other: &Var) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl Neg for Var {
    type Output = Var;
    #[inline(always)]
    #[track_caller]
    fn neg(self) -> Var {
        self.through(-self.value, -1.0)
    }
}

/// The operators: two partial derivatives for two variables, one with a plain number.
macro_rules! operators {
    ($($Trait:ident $method:ident, $Assign:ident $assign:ident, $op:tt, |$x:ident, $y:ident, $z:ident| $by_x:expr, $by_y:expr;)*) => {
        $(
            impl $Trait for Var {
                type Output = Var;
                #[inline(always)]
                #[track_caller]
                fn $method(self, other: Var) -> Var {
                    let ($x, $y) = (self.value, other.value);
                    let $z = $x $op $y;
                    let _ = ($x, $y);
                    self.through_both(other, $z, [$by_x, $by_y])
                }
            }

            impl $Trait<f64> for Var {
                type Output = Var;
                #[inline(always)]
                #[track_caller]
                fn $method(self, other: f64) -> Var {
                    let ($x, $y) = (self.value, other);
                    let $z = $x $op $y;
                    let _ = ($x, $y);
                    self.through($z, $by_x)
                }
            }

            impl $Trait<Var> for f64 {
                type Output = Var;
                #[inline(always)]
                #[track_caller]
                fn $method(self, other: Var) -> Var {
                    let ($x, $y) = (self, other.value);
                    let $z = $x $op $y;
                    let _ = ($x, $y);
                    other.through($z, $by_y)
                }
            }

            impl $Assign for Var {
                #[inline(always)]
                #[track_caller]
                fn $assign(&mut self, other: Var) {
                    *self = *self $op other;
                }
            }

            impl $Assign<f64> for Var {
                #[inline(always)]
                #[track_caller]
                fn $assign(&mut self, other: f64) {
                    *self = *self $op other;
                }
            }
        )*
    };
}
operators! {
    Add add, AddAssign add_assign, +, |x, y, z| 1.0, 1.0;
    Sub sub, SubAssign sub_assign, -, |x, y, z| 1.0, -1.0;
    Mul mul, MulAssign mul_assign, *, |x, y, z| y, x;
    Div div, DivAssign div_assign, /, |x, y, z| y.recip(), -(z / y);
    Rem rem, RemAssign rem_assign, %, |x, y, z| 1.0, functions::rem_by_y(x, y, z);
}

macro_rules! variables {
    ($($(#[doc = $doc:literal])* $tensor:ident $NAME:ident $name:ident { page: $page:literal, $($row:tt)* })*) => {
        impl Real for Var {
            const ORDER: usize = 1;

            #[inline(always)]
            fn lit(x: f64) -> Var {
                Var::from(x)
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.value
            }

            fn is_constant(self) -> bool {
                !self.is_active()
            }

            #[inline]
            #[track_caller]
            fn recip(self) -> Var {
                let value = self.value.recip();
                self.through(value, -(value * value))
            }

            $(
                #[inline]
                #[track_caller]
                fn $name(self) -> Var {
                    let value = Real::$name(self.value);
                    self.through(value, functions::$name(self.value, value))
                }
            )*

            #[track_caller]
            fn polygamma(self, n: u32) -> Var {
                self.through(self.value.polygamma(n), self.value.polygamma(n.saturating_add(1)))
            }

            #[inline]
            #[track_caller]
            fn powi(self, n: i32) -> Var {
                self.through(Real::powi(self.value, n), functions::powi(self.value, n))
            }

            #[inline]
            #[track_caller]
            fn powf(self, p: Var) -> Var {
                let value = Real::powf(self.value, p.value);
                self.through_both(p, value, functions::powf(self.value, p.value, value))
            }

            #[inline]
            #[track_caller]
            fn atan2(self, x: Var) -> Var {
                self.through_both(x, Real::atan2(self.value, x.value), functions::atan2(self.value, x.value))
            }

            #[inline]
            #[track_caller]
            fn hypot(self, other: Var) -> Var {
                let value = Real::hypot(self.value, other.value);
                self.through_both(other, value, functions::hypot(self.value, other.value, value))
            }

            #[inline]
            #[track_caller]
            fn max(self, other: Var) -> Var {
                let (x, y) = (self.value, other.value);
                self.shared(other, Real::max(x, y), [x.share(y), y.share(x)])
            }

            #[inline]
            #[track_caller]
            fn min(self, other: Var) -> Var {
                let (x, y) = (self.value, other.value);
                self.shared(other, Real::min(x, y), [y.share(x), x.share(y)])
            }

            #[inline]
            #[track_caller]
            fn inside(self, distance: Var) -> Var {
                if distance.value >= 0.0 { self } else { self.through(f64::NAN, f64::NAN) }
            }

            #[inline]
            fn is_constant_zero(self) -> bool {
                self.value == 0.0 && !self.is_active()
            }

            #[inline]
            #[track_caller]
            fn guarded_mul(self, other: Var) -> Var {
                match self.is_constant_zero() {
                    true => Var::lit(0.0),
                    false => self.through_both(other, self.value.guarded_mul(other.value), [other.value, self.value]),
                }
            }

            /// One statement.
            #[inline]
            #[track_caller]
            fn mul_add(self, a: Var, b: Var) -> Var {
                let value = self.value * a.value + b.value;
                let places = [self, a, b].map(Var::place);
                Var { value, place: push3(value, [a.value, self.value, 1.0], places, misused) }
            }

            /// One statement.
            #[track_caller]
            fn sum_of(x: &[Var]) -> Var {
                Var::wide(x.iter().fold(0.0, |sum, x| sum + x.value), x.len(), x.iter().map(|x| (1.0, *x)))
            }

            /// One statement.
            #[track_caller]
            fn dot(x: &[Var], y: &[Var]) -> Var {
                same_length("dot", x, y);
                let value = x.iter().zip(y).fold(0.0, |sum, (x, y)| sum + x.value * y.value);
                let arguments = x.iter().zip(y).flat_map(|(x, y)| [(y.value, *x), (x.value, *y)]);
                Var::wide(value, 2 * x.len(), arguments)
            }

            /// One statement.
            #[track_caller]
            fn norm(x: &[Var]) -> Var {
                let value = length(x.iter().map(|x| x.value));
                let slope = |x: &Var| if value == 0.0 { 0.0 } else { x.value / value };
                Var::wide(value, x.len(), x.iter().map(|x| (slope(x), *x)))
            }
        }
    };
}
wengert_kernels::functions!(variables);

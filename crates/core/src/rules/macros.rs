//! The macros that build an elementwise primitive from expressions.
//!
//! Expressions are mathematics: `exp(x)`, `1.0 - y * y`, `above(x, 0.0, 1.0, alpha)`. Their functions come from
//! [`formula::native`](super::formula::native) in loops and from [`formula::tensor`](super::formula::tensor) in rules.

/// `slope!(zero)`, `slope!(one)`, `slope!(minus_one)`, `slope!(parameter 0)`, `slope!(|y: output 0| 1.0 - y * y)`,
/// `slope!(|x: operand 0, y: operand 1| ..)`, and with parameters `slope!(|x: operand 0; alpha| ..)`.
///
/// `slices: cos_slice(x)` after the expression names a function over slices for the loops, if the expression itself would not vectorise; it
/// is called with the named slices or parameters and the output. `slope!(both |g: operand 0| g)` is a slope where a zero on either side,
/// cotangent or slope, stays zero for any value of the other. `tensor: ..` gives a separate expression in Tensor operations, if the native
/// loops use another formula.
#[macro_export]
#[doc(hidden)]
#[allow(clippy::crate_in_macro_def, reason = "a crate above has more words")]
macro_rules! slope {
    (zero) => { $crate::rules::Slope::Zero };
    (one) => { $crate::rules::Slope::One };
    (minus_one) => { $crate::rules::Slope::MinusOne };
    (parameter $place:literal) => { $crate::rules::Slope::Parameter($place) };
    (both |$a:ident: $ka:ident $ia:literal| $expression:expr) => {
        $crate::rules::slope!(@make both [$ka $ia] |$a, _unused| [] $expression; [] $expression)
    };
    (both |$a:ident: $ka:ident $ia:literal, $b:ident: $kb:ident $ib:literal| $expression:expr) => {
        $crate::rules::slope!(@make both [$ka $ia, $kb $ib] |$a, $b| [] $expression; [] $expression)
    };
    (|$a:ident: $ka:ident $ia:literal $(; $($p:ident),+)?| $expression:expr $(, slices: $f:ident($($v:ident),+))?) => {
        $crate::rules::slope!(@make guarded [$ka $ia] |$a, _unused| [$($($p),+)?] $expression; [$($f($($v),+))?] $expression)
    };
    (|$a:ident: $ka:ident $ia:literal, $b:ident: $kb:ident $ib:literal $(; $($p:ident),+)?| $expression:expr $(, slices: $f:ident($($v:ident),+))?) => {
        $crate::rules::slope!(@make guarded [$ka $ia, $kb $ib] |$a, $b| [$($($p),+)?] $expression; [$($f($($v),+))?] $expression)
    };
    (|$a:ident: $ka:ident $ia:literal $(; $($p:ident),+)?| $expression:expr $(, slices: $f:ident($($v:ident),+))?, tensor: $tensor:expr) => {
        $crate::rules::slope!(@make guarded [$ka $ia] |$a, _unused| [$($($p),+)?] $expression; [$($f($($v),+))?] $tensor)
    };
    (|$a:ident: $ka:ident $ia:literal, $b:ident: $kb:ident $ib:literal $(; $($p:ident),+)?| $expression:expr $(, slices: $f:ident($($v:ident),+))?, tensor: $tensor:expr) => {
        $crate::rules::slope!(@make guarded [$ka $ia, $kb $ib] |$a, $b| [$($($p),+)?] $expression; [$($f($($v),+))?] $tensor)
    };
    (@make $guard:ident [$($kind:ident $place:literal),+] |$a:ident, $b:ident| $p:tt $expression:expr; $slices:tt $tensor:expr) => {
        $crate::rules::Slope::Expression($crate::rules::SlopeExpression {
            sources: &[$($crate::rules::slope!(@source $kind $place)),+],
            needs: $crate::rules::Needs::of(&[$($crate::rules::slope!(@source $kind $place)),+]),
            text: stringify!($expression),
            names: &[stringify!($a), stringify!($b)],
            parameters: $crate::rules::slope!(@names $p),
            is_source: $crate::rules::is_same(stringify!($expression), stringify!($a)),
            keeps_both: $crate::rules::is_same(stringify!($guard), "both"),
            tensor: |saved, p| {
                #[allow(unused_imports)]
                use crate::rules::formula::tensor::*;
                let ($a, $b) = (saved[0], saved[saved.len() - 1]);
                $crate::rules::parameters!(p; $p);
                $crate::rules::formula::IntoSlope::into_slope($tensor)
            },
            f64: &$crate::rules::slope!(@loops $guard f64, |$a, $b| $p $slices $expression),
            f32: &$crate::rules::slope!(@loops $guard f32, |$a, $b| $p $slices $expression),
        })
    };
    (@names [$($name:ident),*]) => { &[$(stringify!($name)),*] };
    (@source operand $position:literal) => { $crate::rules::SavedValue::Operand($position) };
    (@source output $position:literal) => { $crate::rules::SavedValue::Output($position) };
    (@loops $guard:ident $t:ty, |$a:ident, $b:ident| $p:tt [] $expression:expr) => {
        $crate::rules::SlopeLoops::<$t> {
            one: |g, $a, $b, p| $crate::rules::slope!(@body $guard g, p; $p $expression),
            slices: |g, a, b, out, p| wengert_kernels::map::loop3(g, a, b, out, #[inline(always)] |g: $t, $a: $t, $b: $t| {
                $crate::rules::slope!(@body $guard g, p; $p $expression)
            }),
        }
    };
    (@loops $guard:ident $t:ty, |$a:ident, $b:ident| $p:tt [$f:ident($($v:ident),+)] $expression:expr) => {
        $crate::rules::SlopeLoops::<$t> {
            one: |g, $a, $b, p| $crate::rules::slope!(@body $guard g, p; $p $expression),
            slices: |g, $a, $b, out, p| $crate::rules::scaled_by_tiles(g, out, |range, slopes| {
                #[allow(unused_imports)]
                use $crate::rules::formula::native::*;
                $crate::rules::parameters!(p; $p);
                let ($a, $b) = (&$a[range.clone()], &$b[range]);
                let _ = ($a, $b);
                $f($($v),+, slopes)
            }),
        }
    };
    (@body $guard:ident $g:ident, $v:ident; $p:tt $expression:expr) => {{
        #[allow(unused_imports)]
        use $crate::rules::formula::native::*;
        $crate::rules::parameters!($v; $p);
        $crate::rules::$guard($g, $expression)
    }};
}

/// Names the parameters of a call.
#[macro_export]
#[doc(hidden)]
macro_rules! parameters {
    ($values:expr; []) => {
        let _ = $values;
    };
    ($values:expr; [$a:ident]) => {
        let [$a, _, _] = $values;
    };
    ($values:expr; [$a:ident, $b:ident]) => {
        let [$a, $b, _] = $values;
    };
    ($values:expr; [$a:ident, $b:ident, $c:ident]) => {
        let [$a, $b, $c] = $values;
    };
}

/// The loops of one value expression in one native type; `[name(x)]` names the function over slices.
#[macro_export]
#[doc(hidden)]
macro_rules! loops {
    ($t:ty, |$x:ident| $p:tt [] $value:expr) => {
        $crate::rules::Loops::<$t> {
            one: |$x, _, p| $crate::rules::loops!(@body p; $p $value),
            slices: |x, _, out, p| wengert_kernels::map::loop1(x, out, #[inline(always)] |$x: $t| {
                $crate::rules::loops!(@body p; $p $value)
            }),
            update: None,
        }
    };
    ($t:ty, |$x:ident, $y:ident| $p:tt [] $value:expr) => {
        $crate::rules::Loops::<$t> {
            one: |$x, $y, p| $crate::rules::loops!(@body p; $p $value),
            slices: |x, y, out, p| wengert_kernels::map::loop2(x, y, out, #[inline(always)] |$x: $t, $y: $t| {
                $crate::rules::loops!(@body p; $p $value)
            }),
            update: Some(|x, y, p| wengert_kernels::map::loop2_in_place(x, y, #[inline(always)] |$x: $t, $y: $t| {
                $crate::rules::loops!(@body p; $p $value)
            })),
        }
    };
    ($t:ty, |$x:ident| $p:tt [$f:ident($($v:ident),+)] $value:expr) => {
        $crate::rules::Loops::<$t> {
            one: |$x, _, p| $crate::rules::loops!(@body p; $p $value),
            slices: |$x, _, out, p| $crate::rules::loops!(@call p; $p $f($($v),+, out)),
            update: None,
        }
    };
    ($t:ty, |$x:ident, $y:ident| $p:tt [$f:ident($($v:ident),+)] $value:expr) => {
        $crate::rules::Loops::<$t> {
            one: |$x, $y, p| $crate::rules::loops!(@body p; $p $value),
            slices: |$x, $y, out, p| $crate::rules::loops!(@call p; $p $f($($v),+, out)),
            update: None,
        }
    };
    (@body $v:ident; $p:tt $value:expr) => {{
        #[allow(unused_imports)]
        use $crate::rules::formula::native::*;
        $crate::rules::parameters!($v; $p);
        $value
    }};
    (@call $v:ident; $p:tt $call:expr) => {{
        #[allow(unused_imports)]
        use $crate::rules::formula::native::*;
        $crate::rules::parameters!($v; $p);
        $call
    }};
}

/// One elementwise primitive: parameters, the value, a slope for each operand, the rule in words, and an independent reference. `also`
/// lists further parameters to test with; `slices` names a function over slices for the loops of the value, as in [`slope!`](super::slope).
#[macro_export]
#[doc(hidden)]
macro_rules! elementwise {
    (
        $static:ident = $name:literal,
        $(parameters: [$($p:ident = $tried:expr),+],)?
        $(also: [$($also:tt),+],)?
        value: |$($x:ident),+| $value:expr,
        $(slices: $f:ident($($v:ident),+),)?
        $(integer: |$($i:ident),+| $integer:expr,)?
        slopes: [$($slope:expr),+],
        rule: $rule:literal,
        reference: |$($r:pat_param),+| $reference:expr,
        domain: $domain:expr,
        $(edges: $edges:expr,)?
        jet: $jet:ident $(($divisor:literal))? $(,)?
    ) => {
        #[doc = concat!("The primitive `", $name, "`.")]
        pub static $static: $crate::rules::Elementwise = {
            #[allow(unused_imports)]
            use $crate::rules::Domain::*;
            $crate::rules::Elementwise {
                name: $name,
                rule_text: $rule,
                parameters: &[$($(stringify!($p)),+)?],
                operand_names: &[$(stringify!($x)),+],
                text: stringify!($value),
                integer_text: $crate::rules::elementwise!(@integer_text $($integer)?),
                f64: &$crate::rules::elementwise!(@loops f64, [$($($p),+)?] [$($f($($v),+))?] |$($x),+| $value),
                f32: &$crate::rules::elementwise!(@loops f32, [$($($p),+)?] [$($f($($v),+))?] |$($x),+| $value),
                i64: $crate::rules::elementwise!(@integer [$($($p),+)?] $(|$($i),+| $integer)?),
                slopes: &[$($slope),+],
                jet: $crate::primitive::Jet::$jet $(($divisor))?,
                #[cfg(feature = "cases")]
                tested: $crate::rules::Tested {
                    tried: &[
                        $crate::rules::elementwise!(@tried $($($tried),+)?),
                        $($($crate::rules::elementwise!(@also $also)),+)?
                    ],
                    reference: $crate::rules::elementwise!(@reference [$($($p),+)?] |$($r),+| $reference),
                    domain: $domain,
                    edges: $crate::rules::elementwise!(@edges |$($x),+| $($edges)?),
                },
            }
        };
    };
    (@tried) => { [0.0, 0.0, 0.0] };
    (@tried $a:expr) => { [$a, 0.0, 0.0] };
    (@tried $a:expr, $b:expr) => { [$a, $b, 0.0] };
    (@tried $a:expr, $b:expr, $c:expr) => { [$a, $b, $c] };
    (@also [$($value:expr),+]) => { $crate::rules::elementwise!(@tried $($value),+) };
    (@loops $t:ty, $p:tt $slices:tt |$x:ident| $value:expr) => { $crate::rules::loops!($t, |$x| $p $slices $value) };
    (@loops $t:ty, $p:tt $slices:tt |$x:ident, $y:ident| $value:expr) => {
        $crate::rules::loops!($t, |$x, $y| $p $slices $value)
    };
    (@integer_text) => { None };
    (@integer_text $integer:expr) => { Some(stringify!($integer)) };
    (@integer $p:tt) => { None };
    (@integer $p:tt |$($i:ident),+| $integer:expr) => {
        Some(&$crate::rules::elementwise!(@loops i64, $p [] |$($i),+| $integer))
    };
    (@reference $p:tt |$x:pat_param| $reference:expr) => {
        |$x: f64, _: f64, p| { $crate::rules::parameters!(p; $p); $reference }
    };
    (@reference $p:tt |$x:pat_param, $y:pat_param| $reference:expr) => {
        |$x: f64, $y: f64, p| { $crate::rules::parameters!(p; $p); $reference }
    };
    (@edges |$x:ident|) => { $crate::rules::Edges::One(&[]) };
    (@edges |$x:ident| $edges:expr) => { $crate::rules::Edges::One($edges) };
    (@edges |$x:ident, $y:ident|) => { $crate::rules::Edges::Two(&[]) };
    (@edges |$x:ident, $y:ident| $edges:expr) => { $crate::rules::Edges::Two($edges) };
}

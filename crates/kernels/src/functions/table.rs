//! The table of functions.

/// Calls the macro `$apply` with every function of one argument, in the order of the documentation. A row has
///
/// - the documentation of the method of tensors, its name, the static of the primitive, and the name of the method of `Real`;
/// - `page`: the first paragraph of its page, `name - title.   formula,   derivative.   remarks`;
/// - `value`: the function as an expression, or `values`: the function over slices, in [`math`](crate::math), where the function of one
///   number has the row's name, also in [`math::one`](crate::math::one) if there is a shorter implementation; both where the loop does not
///   just apply the expression;
/// - `integer`: the function of integers, if there is one;
/// - `slope`: the derivative, computed from the argument x or the value y (`of: operand`, `of: output` or `of: both`), in terms of
///   operations that every number type supports ([`vocabulary`](crate::functions::vocabulary)) and that are valid C as well; `by`: a
///   function over slices for it, where the expression would not vectorise;
/// - `rule`, `reference`, `domain` and `edges`: the derivative in words, the value by another formula, and the points that tests use.
#[macro_export]
macro_rules! functions {
    ($apply:ident) => { $apply! {
        /// The square root of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from([4.0, 9.0]).sqrt(), Tensor::from([2.0, 3.0]));
        /// ```
        sqrt SQRT sqrt {
            page: "sqrt - square root.   y = sqrt x,   dy = dx / (2 y).   Domain: x >= 0, NaN outside; the slope at 0 is infinite.",
            values: sqrt_slice,
            slope: |x, y| lit(0.5) / y, of: output,
            rule: "dx = dy / (2 y)",
            reference: |x| x.powf(0.5),
            domain: Positive,
            edges: [(0.0, 0.0), (-1.0, f64::NAN), (f64::INFINITY, f64::INFINITY)],
        }
        /// The real cube root of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(-27.0).cbrt().item(), -3.0);
        /// ```
        cbrt CBRT cbrt {
            page: "cbrt - cube root.   y = x^(1/3),   dy = dx / (3 y^2).   Domain: all reals; the slope at 0 is infinite.",
            values: cbrt_slice,
            slope: |x, y| lit(1.0) / (lit(3.0) * y * y), of: output,
            rule: "dx = dy / (3 y^2)",
            reference: |x| x.signum() * x.abs().powf(1.0 / 3.0),
            domain: Positive,
            edges: [(0.0, 0.0), (-8.0, -2.0)],
        }
        /// e to the power of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).exp().item(), 1.0);
        /// ```
        exp EXP exp {
            page: "exp - exponential.   y = e^x,   dy = y dx.   Domain: all reals.",
            values: exp_slice,
            slope: |x, y| y, of: output,
            rule: "dx = y dy",
            reference: |x| std::f64::consts::E.powf(x),
            domain: Reals,
            edges: [(0.0, 1.0), (f64::NEG_INFINITY, 0.0), (1e4, f64::INFINITY), (f64::NAN, f64::NAN)],
        }
        /// 2 to the power of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(10.0).exp2().item(), 1024.0);
        /// ```
        exp2 EXP2 exp2 {
            page: "exp2 - power of two.   y = 2^x,   dy = y ln 2 dx.   Domain: all reals.",
            values: exp2_slice,
            slope: |x, y| scale(y, LN_2), of: output,
            rule: "dx = y ln(2) dy",
            reference: |x| 2f64.powf(x),
            domain: Reals,
            edges: [(3.0, 8.0), (f64::NEG_INFINITY, 0.0), (f64::INFINITY, f64::INFINITY)],
        }
        /// e to the power of every element, minus 1, without cancellation near 0.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(1e-20).expm1().item(), 1e-20);
        /// ```
        expm1 EXPM1 exp_m1 {
            page: "expm1 - exponential minus one, accurate near 0.   y = e^x - 1,   dy = e^x dx.   Domain: all reals.",
            values: expm1_slice,
            slope: |x, y| exp(x), of: operand,
            rule: "dx = exp(x) dy",
            reference: |x| x.exp_m1(),
            domain: Reals,
            edges: [(0.0, 0.0), (f64::NEG_INFINITY, -1.0), (f64::INFINITY, f64::INFINITY)],
        }
        /// The natural logarithm of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(1.0).log().item(), 0.0);
        /// ```
        log LOG ln {
            page: "log - natural logarithm.   y = ln x,   dy = dx / x.   Domain: x > 0; log 0 is -infinity with an infinite slope; value and gradient are NaN for x < 0, where the textbook slope would be finite.",
            values: log_slice,
            slope: |x, y| recip(nan_below(x, 0.0)), of: operand,
            rule: "dx = dy / x",
            reference: |x| x.log2() * std::f64::consts::LN_2,
            domain: Positive,
            edges: [(1.0, 0.0), (0.0, f64::NEG_INFINITY), (-1.0, f64::NAN), (f64::INFINITY, f64::INFINITY)],
        }
        /// The logarithm of every element to base 2.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(8.0).log2().item(), 3.0);
        /// ```
        log2 LOG2 log2 {
            page: "log2 - logarithm to base 2.   y = log2 x,   dy = dx / (x ln 2).   Domain: x > 0; value and gradient are NaN for x < 0.",
            values: log2_slice,
            slope: |x, y| recip(scale(nan_below(x, 0.0), LN_2)), of: operand,
            rule: "dx = dy / (x ln 2)",
            reference: |x| x.ln() / std::f64::consts::LN_2,
            domain: Positive,
            edges: [(8.0, 3.0), (0.0, f64::NEG_INFINITY), (-1.0, f64::NAN)],
        }
        /// The logarithm of every element to base 10.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(1000.0).log10().item(), 3.0);
        /// ```
        log10 LOG10 log10 {
            page: "log10 - logarithm to base 10.   y = log10 x,   dy = dx / (x ln 10).   Domain: x > 0; value and gradient are NaN for x < 0.",
            values: log10_slice,
            slope: |x, y| recip(scale(nan_below(x, 0.0), LN_10)), of: operand,
            rule: "dx = dy / (x ln 10)",
            reference: |x| x.ln() / std::f64::consts::LN_10,
            domain: Positive,
            edges: [(100.0, 2.0), (0.0, f64::NEG_INFINITY), (-1.0, f64::NAN)],
        }
        /// The natural logarithm of 1 plus every element, without cancellation near 0.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(1e-20).log1p().item(), 1e-20);
        /// ```
        log1p LOG1P ln_1p {
            page: "log1p - logarithm of one more, accurate near 0.   y = ln(1 + x),   dy = dx / (1 + x).   Domain: x > -1; value and gradient are NaN below -1.",
            values: log1p_slice,
            slope: |x, y| recip(lit(1.0) + nan_below(x, -1.0)), of: operand,
            rule: "dx = dy / (1 + x)",
            reference: |x| x.ln_1p(),
            domain: Positive,
            edges: [(0.0, 0.0), (-1.0, f64::NEG_INFINITY), (-2.0, f64::NAN)],
        }
        /// The sine of every element, in radians.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).sin().item(), 0.0);
        /// ```
        sin SIN sin {
            page: "sin - sine.   y = sin x,   dy = cos x dx.   Domain: all reals; NaN at the infinities.",
            values: sin_slice,
            slope: |x, y| cos(x), of: operand, by: cos_slice,
            rule: "dx = cos(x) dy",
            reference: |x| (std::f64::consts::FRAC_PI_2 - x).cos(),
            domain: Reals,
            edges: [(0.0, 0.0), (f64::INFINITY, f64::NAN)],
        }
        /// The cosine of every element, in radians.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).cos().item(), 1.0);
        /// ```
        cos COS cos {
            page: "cos - cosine.   y = cos x,   dy = -sin x dx.   Domain: all reals; NaN at the infinities.",
            values: cos_slice,
            slope: |x, y| -sin(x), of: operand, by: minus_sin_slice,
            rule: "dx = -sin(x) dy",
            reference: |x| (std::f64::consts::FRAC_PI_2 - x).sin(),
            domain: Reals,
            edges: [(0.0, 1.0), (f64::INFINITY, f64::NAN)],
        }
        /// The tangent of every element, in radians.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).tan().item(), 0.0);
        /// ```
        tan TAN tan {
            page: "tan - tangent.   y = tan x,   dy = (1 + y^2) dx.   Domain: all reals; NaN at the infinities.",
            values: tan_slice,
            slope: |x, y| lit(1.0) + y * y, of: output,
            rule: "dx = (1 + y^2) dy",
            reference: |x| x.sin() / x.cos(),
            domain: Within(-1.0, 1.0),
            edges: [(0.0, 0.0), (f64::INFINITY, f64::NAN)],
        }
        /// The arc sine of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert!((Tensor::from(1.0).asin().item() - std::f64::consts::FRAC_PI_2).abs() < 1e-15);
        /// ```
        asin ASIN asin {
            page: "asin - arc sine.   y = asin x,   dy = dx / sqrt(1 - x^2).   Domain: -1 to 1, NaN outside; infinite slope at the ends.",
            values: asin_slice,
            slope: |x, y| recip(sqrt((lit(1.0) - x) * (lit(1.0) + x))), of: operand,
            rule: "dx = dy / sqrt(1 - x^2)",
            reference: |x| x.atan2(((1.0 - x) * (1.0 + x)).sqrt()),
            domain: Within(-0.7, 0.7),
            edges: [(0.0, 0.0), (1.0, std::f64::consts::FRAC_PI_2), (1.5, f64::NAN)],
        }
        /// The arc cosine of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(1.0).acos().item(), 0.0);
        /// ```
        acos ACOS acos {
            page: "acos - arc cosine.   y = acos x,   dy = -dx / sqrt(1 - x^2).   Domain: -1 to 1, NaN outside; infinite slope at the ends.",
            values: acos_slice,
            slope: |x, y| lit(-1.0) / sqrt((lit(1.0) - x) * (lit(1.0) + x)), of: operand,
            rule: "dx = -dy / sqrt(1 - x^2)",
            reference: |x| ((1.0 - x) * (1.0 + x)).sqrt().atan2(x),
            domain: Within(-0.7, 0.7),
            edges: [(1.0, 0.0), (-1.0, std::f64::consts::PI), (1.5, f64::NAN)],
        }
        /// The arc tangent of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(1.0).atan().item(), std::f64::consts::FRAC_PI_4);
        /// ```
        atan ATAN atan {
            page: "atan - arc tangent.   y = atan x,   dy = dx / (1 + x^2).   Domain: all reals.",
            values: atan_slice,
            slope: |x, y| recip(lit(1.0) + x * x), of: operand,
            rule: "dx = dy / (1 + x^2)",
            reference: |x| (x / (1.0 + x * x).sqrt()).asin(),
            domain: Reals,
            edges: [(0.0, 0.0), (f64::INFINITY, std::f64::consts::FRAC_PI_2), (f64::NEG_INFINITY, -std::f64::consts::FRAC_PI_2)],
        }
        /// The hyperbolic sine of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).sinh().item(), 0.0);
        /// ```
        sinh SINH sinh {
            page: "sinh - hyperbolic sine.   y = sinh x,   dy = cosh x dx.   Domain: all reals.",
            values: sinh_slice,
            slope: |x, y| cosh(x), of: operand,
            rule: "dx = cosh(x) dy",
            reference: |x| 0.5 * (x.exp() - (-x).exp()),
            domain: Reals,
            edges: [(0.0, 0.0), (f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY)],
        }
        /// The hyperbolic cosine of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).cosh().item(), 1.0);
        /// ```
        cosh COSH cosh {
            page: "cosh - hyperbolic cosine.   y = cosh x,   dy = sinh x dx.   Domain: all reals.",
            values: cosh_slice,
            slope: |x, y| sinh(x), of: operand, by: sinh_slice,
            rule: "dx = sinh(x) dy",
            reference: |x| 0.5 * (x.exp() + (-x).exp()),
            domain: Reals,
            edges: [(0.0, 1.0), (f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::INFINITY)],
        }
        /// The hyperbolic tangent of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).tanh().item(), 0.0);
        /// ```
        tanh TANH tanh {
            page: "tanh - hyperbolic tangent.   y = tanh x,   dy = (1 - y^2) dx.   Domain: all reals.",
            values: tanh_slice,
            slope: |x, y| lit(1.0) - y * y, of: output,
            rule: "dx = (1 - y^2) dy",
            reference: |x| 1.0 - 2.0 / ((2.0 * x).exp() + 1.0),
            domain: Reals,
            edges: [(0.0, 0.0), (f64::INFINITY, 1.0), (f64::NEG_INFINITY, -1.0)],
        }
        /// The inverse hyperbolic sine of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).asinh().item(), 0.0);
        /// ```
        asinh ASINH asinh {
            page: "asinh - inverse hyperbolic sine.   y = asinh x,   dy = dx / sqrt(1 + x^2).   Domain: all reals.",
            values: asinh_slice,
            slope: |x, y| between(x, lit(-1e9), lit(1e9), recip(hypot(x, lit(1.0))), recip(abs(x))), of: operand,
            rule: "dx = dy / sqrt(1 + x^2)",
            reference: |x| x.signum() * (x.abs() + (1.0 + x * x).sqrt()).ln(),
            domain: Reals,
            edges: [(0.0, 0.0), (f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY)],
        }
        /// The inverse hyperbolic cosine of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(1.0).acosh().item(), 0.0);
        /// ```
        acosh ACOSH acosh {
            page: "acosh - inverse hyperbolic cosine.   y = acosh x,   dy = dx / sqrt(x^2 - 1).   Domain: x >= 1; value and gradient are NaN below; infinite slope at 1.",
            values: acosh_slice,
            slope: |x, y| recip(sqrt(shift(x, -1.0)) * sqrt(shift(x, 1.0))), of: operand,
            rule: "dx = dy / sqrt(x^2 - 1)",
            reference: |x| (x + (x * x - 1.0).sqrt()).ln(),
            domain: Within(1.4, 3.6),
            edges: [(1.0, 0.0), (0.5, f64::NAN), (-2.0, f64::NAN)],
        }
        /// The inverse hyperbolic tangent of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).atanh().item(), 0.0);
        /// ```
        atanh ATANH atanh {
            page: "atanh - inverse hyperbolic tangent.   y = atanh x,   dy = dx / (1 - x^2).   Domain: -1 to 1, infinite at the ends; value and gradient are NaN outside.",
            values: atanh_slice,
            slope: |x, y| recip((lit(1.0) - nan_beyond(x, 1.0)) * (lit(1.0) + x)), of: operand,
            rule: "dx = dy / (1 - x^2)",
            reference: |x| 0.5 * ((1.0 + x) / (1.0 - x)).ln(),
            domain: Within(-0.7, 0.7),
            edges: [(0.0, 0.0), (1.0, f64::INFINITY), (1.5, f64::NAN), (-2.0, f64::NAN)],
        }
        /// The logistic function of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).sigmoid().item(), 0.5);
        /// ```
        sigmoid SIGMOID sigmoid {
            page: "sigmoid - logistic function.   y = 1 / (1 + e^-x),   dy = y (1 - y) dx.   Domain: all reals.",
            values: sigmoid_slice,
            slope: |x, y| y * (lit(1.0) - y), of: output,
            rule: "dx = y (1 - y) dy",
            reference: |x| 0.5 + 0.5 * (0.5 * x).tanh(),
            domain: Reals,
            edges: [(0.0, 0.5), (f64::INFINITY, 1.0), (f64::NEG_INFINITY, 0.0), (-1e4, 0.0)],
        }
        /// The error function of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).erf().item(), 0.0);
        /// ```
        erf ERF erf {
            page: "erf - error function.   y = 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x,   dy = 2/sqrt(pi) exp(-x^2) dx.   Domain: all reals.",
            values: erf_slice,
            slope: |x, y| scale(exp(-(x * x)), FRAC_2_SQRT_PI), of: operand,
            rule: "dx = 2/sqrt(pi) exp(-x^2) dy",
            reference: |x| erf(x),
            domain: Reals,
            edges: [(0.0, 0.0), (f64::INFINITY, 1.0), (f64::NEG_INFINITY, -1.0)],
        }
        /// One minus the error function of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).erfc().item(), 1.0);
        /// ```
        erfc ERFC erfc {
            page: "erfc - complement of the error function, accurate where it is small.   y = 1 - erf x,   dy = -2/sqrt(pi) exp(-x^2) dx.   Domain: all reals.",
            values: erfc_slice,
            slope: |x, y| scale(exp(-(x * x)), -FRAC_2_SQRT_PI), of: operand,
            rule: "dx = -2/sqrt(pi) exp(-x^2) dy",
            reference: |x| 1.0 - erf(x),
            domain: Reals,
            edges: [(0.0, 1.0), (f64::INFINITY, 0.0), (f64::NEG_INFINITY, 2.0)],
        }
        /// The logarithm of the magnitude of the gamma function of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from([1.0, 2.0]).lgamma(), Tensor::from([0.0, 0.0]));
        /// ```
        lgamma LGAMMA ln_gamma {
            page: "lgamma - logarithm of the gamma function.   y = ln |Gamma(x)|,   dy = digamma(x) dx.   Domain: all reals; infinite at 0 and the negative integers.",
            values: lgamma_slice,
            slope: |x, y| digamma(x), of: operand, by: digamma_slice,
            rule: "dx = digamma(x) dy",
            reference: |x| log_gamma(x),
            domain: Positive,
            edges: [(1.0, 0.0), (2.0, 0.0), (0.0, f64::INFINITY)],
        }
        /// The absolute value of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from([-3.0, 2.0]).abs(), Tensor::from([3.0, 2.0]));
        /// ```
        abs ABS abs {
            page: "abs - absolute value.   y = |x|,   dy = sign(x) dx.   Domain: all reals and integers. At the kink the subgradient of least norm: abs'(0) = 0.",
            values: abs_slice,
            integer: |x| x.wrapping_abs(),
            slope: |x, y| sign(x), of: operand,
            rule: "dx = sign(x) dy",
            reference: |x| (x * x).sqrt(),
            domain: Reals,
            edges: [(0.0, 0.0), (-0.0, 0.0), (f64::NEG_INFINITY, f64::INFINITY), (f64::NAN, f64::NAN)],
        }
        /// Every element times itself.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from([2.0, -3.0]).square(), Tensor::from([4.0, 9.0]));
        /// ```
        square SQUARE square {
            page: "square - x times itself.   y = x^2,   dy = 2 x dx.   Domain: all reals and integers (wrapping).",
            value: |x| x * x,
            integer: |x| x.wrapping_mul(x),
            slope: |x, y| lit(2.0) * x, of: operand,
            rule: "dx = 2 x dy",
            reference: |x| x.abs().powf(2.0),
            domain: Reals,
            edges: [(0.0, 0.0), (f64::NEG_INFINITY, f64::INFINITY)],
        }
        /// One over the square root of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(4.0).rsqrt().item(), 0.5);
        /// ```
        rsqrt RSQRT rsqrt {
            page: "rsqrt - reciprocal square root.   y = 1 / sqrt x,   dy = -y^3 dx / 2.   Domain: x > 0, NaN below 0; infinite at 0.",
            values: rsqrt_slice,
            slope: |x, y| lit(-0.5) * y * y * y, of: output,
            rule: "dx = -y^3 dy / 2",
            reference: |x| x.powf(-0.5),
            domain: Positive,
            edges: [(0.25, 2.0), (0.0, f64::INFINITY), (-1.0, f64::NAN)],
        }
        /// The cardinal sine of every element, with zeros at the nonzero integers.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from([0.0, 1.0]).sinc(), Tensor::from([1.0, 0.0]));
        /// ```
        sinc SINC sinc {
            page: "sinc - cardinal sine.   y = sin(pi x) / (pi x), and 1 at 0,   dy = (cos(pi x) - y) / x dx.   Domain: all reals.",
            values: sinc_slice,
            slope: |x, y| sinc_slope(x, y), of: both,
            rule: "dx = (cos(pi x) - y) / x dy",
            reference: |x| if x == 0.0 { 1.0 } else { (std::f64::consts::PI * x).sin() / (std::f64::consts::PI * x) },
            domain: Reals,
            edges: [(0.0, 1.0), (1.0, 0.0), (f64::INFINITY, 0.0)],
        }
        /// The logarithm of the odds of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.5).logit().item(), 0.0);
        /// ```
        logit LOGIT logit {
            page: "logit - inverse of sigmoid.   y = ln(x / (1 - x)),   dy = dx / (x (1 - x)).   Domain: 0 to 1, infinite at the ends; value and gradient are NaN outside.",
            values: logit_slice,
            slope: |x, y| recip(nan_below(x, 0.0) * nan_below(lit(1.0) - x, 0.0)), of: operand,
            rule: "dx = dy / (x (1 - x))",
            reference: |x| x.ln() - (-x).ln_1p(),
            domain: Within(0.3, 0.7),
            edges: [(0.5, 0.0), (0.0, f64::NEG_INFINITY), (1.0, f64::INFINITY), (-1.0, f64::NAN), (2.0, f64::NAN)],
        }
        /// The logarithm of the sigmoid of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from([0.0, -1e4]).logsigmoid(), Tensor::from([-std::f64::consts::LN_2, -1e4]));
        /// ```
        logsigmoid LOGSIGMOID logsigmoid {
            page: "logsigmoid - logarithm of sigmoid.   y = -ln(1 + e^-x),   dy = sigmoid(-x) dx.   Domain: all reals; never overflows.",
            values: logsigmoid_slice,
            slope: |x, y| sigmoid(-x), of: operand,
            rule: "dx = sigmoid(-x) dy",
            reference: |x| -((-x).exp() + 1.0).ln(),
            domain: Reals,
            edges: [(1e4, 0.0), (-1e4, -1e4), (f64::NEG_INFINITY, f64::NEG_INFINITY)],
        }
        /// Every element scaled, bent below 0, so that layers keep mean 0 and variance 1.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).selu().item(), 0.0);
        /// ```
        selu SELU selu {
            page: "selu - self-normalising exponential linear unit.   y = s x where x > 0, else s a (e^x - 1),   dy = s dx where x > 0, else s a e^x dx.   s = 1.0507.., a = 1.6733.. (Klambauer and others, 2017). Domain: all reals. At the kink the subgradient of least norm: s.",
            value: |x| if x > lit(0.0) { scale(x, SELU_SCALE) } else { scale(expm1(x), SELU_BELOW) },
            slope: |x, y| above(x, lit(0.0), lit(SELU_SCALE), at_zero(x, lit(SELU_SCALE), scale(exp(x), SELU_BELOW))), of: operand,
            rule: "dx = s dy where x > 0, else s a exp(x) dy",
            reference: |x| 1.0507009873554805 * (x.max(0.0) + 1.6732632423543772 * (x.min(0.0).exp() - 1.0)),
            domain: Points(|u, _| (away_from(&[0.0], 0.05, u), 0.0)),
            edges: [(0.0, 0.0), (f64::INFINITY, f64::INFINITY)],
        }
        /// Every element times the probability that a standard normal variable is at most it.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).gelu().item(), 0.0);
        /// ```
        gelu GELU gelu {
            page: "gelu - Gaussian error linear unit.   y = x P(Z <= x) of a standard normal Z,   dy = (P(Z <= x) + x exp(-x^2 / 2) / sqrt(2 pi)) dx.   Domain: all reals.",
            value: |x| x * ndtr(x),
            values: gelu_slice,
            slope: |x, y| ndtr(x) + at_most(x, 40.0) * normal_density(x), of: operand, by: gelu_slope_slice,
            rule: "dx = (ndtr(x) + x exp(-x^2 / 2) / sqrt(2 pi)) dy",
            reference: |x| x * normal(x),
            domain: Reals,
            edges: [(0.0, 0.0), (f64::INFINITY, f64::INFINITY), (-64.0, 0.0)],
        }
        /// The approximation of [`gelu`](Tensor::gelu) by a hyperbolic tangent.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert!((Tensor::from(1.0).gelu_tanh().item() - Tensor::from(1.0).gelu().item()).abs() < 2e-4);
        /// ```
        gelu_tanh GELU_TANH gelu_tanh {
            page: "gelu_tanh - Gaussian error linear unit by the hyperbolic tangent.   y = x (1 + tanh(w/2)) / 2 with w = 2 sqrt(2/pi) (x + 0.044715 x^3),   dy = (s + x s (1 - s) dw/dx) dx with s = sigmoid(w).   Domain: all reals.",
            value: |x| x * sigmoid(scale(x, GELU_FACTOR) * (lit(1.0) + scale(x, GELU_CUBIC) * x)),
            slope: |x, y| given(
                sigmoid(scale(x, GELU_FACTOR) * (lit(1.0) + scale(x, GELU_CUBIC) * x)),
                |s| s + scale(s * (lit(1.0) - s) * x, GELU_FACTOR) * (lit(1.0) + scale(x, 3.0 * GELU_CUBIC) * x)
            ), of: operand,
            rule: "dx = (s + x s (1 - s) w') dy",
            reference: |x| 0.5 * x * (1.0 + (0.7978845608028654 * (x + 0.044715 * x * x * x)).tanh()),
            domain: Reals,
            edges: [(0.0, 0.0), (-64.0, 0.0), (64.0, 64.0)],
        }
        /// Every element times its sigmoid.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).silu().item(), 0.0);
        /// ```
        silu SILU silu {
            page: "silu - sigmoid linear unit.   y = x sigmoid(x),   dy = s (1 + x (1 - s)) dx with s = sigmoid(x).   Domain: all reals.",
            value: |x| x * sigmoid(x),
            slope: |x, y| given(sigmoid(x), |s| s * (lit(1.0) + at_most(x, 40.0) * (lit(1.0) - s))), of: operand,
            rule: "dx = s (1 + x (1 - s)) dy",
            reference: |x| x / (1.0 + (-x).exp()),
            domain: Reals,
            edges: [(0.0, 0.0), (f64::INFINITY, f64::INFINITY), (-200.0, 0.0)],
        }
        /// Every element divided by 1 plus its magnitude.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from([-1.0, 3.0]).softsign(), Tensor::from([-0.5, 0.75]));
        /// ```
        softsign SOFTSIGN softsign {
            page: "softsign - sign with a soft step.   y = x / (1 + |x|),   dy = dx / (1 + |x|)^2.   Domain: all reals.",
            value: |x| x / (lit(1.0) + abs(x)),
            slope: |x, y| recip(square(lit(1.0) + abs(x))), of: operand,
            rule: "dx = dy / (1 + |x|)^2",
            reference: |x| x.signum() * (1.0 - 1.0 / (1.0 + x.abs())),
            domain: Points(|u, _| (away_from(&[0.0], 0.05, u), 0.0)),
            edges: [(0.0, 0.0), (1.0, 0.5)],
        }
        /// Every element less its hyperbolic tangent.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// let x = Tensor::from([0.0, 1e-4]).tanhshrink();
        /// assert!((x.slice(1).item() / (1e-12 / 3.0) - 1.0).abs() < 1e-8);
        /// ```
        tanhshrink TANHSHRINK tanhshrink {
            page: "tanhshrink - what the hyperbolic tangent takes away.   y = x - tanh x,   dy = tanh(x)^2 dx.   Domain: all reals. Small numbers go by a fraction of two polynomials, so that nothing cancels.",
            values: tanhshrink_slice,
            slope: |x, y| square(tanh(x)), of: operand,
            rule: "dx = tanh(x)^2 dy",
            reference: |x| x - x.sinh() / x.cosh(),
            domain: Reals,
            edges: [(0.0, 0.0), (f64::INFINITY, f64::INFINITY), (-100.0, -99.0)],
        }
        /// Every element times the hyperbolic tangent of its softplus.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from([0.0, 100.0]).mish(), Tensor::from([0.0, 100.0]));
        /// ```
        mish MISH mish {
            page: "mish - self-regularised rectifier.   y = x tanh(softplus(x)),   dy = (t + x (1 - t^2) sigmoid(x)) dx with t = tanh(softplus(x)).   Domain: all reals.",
            value: |x| given(exp(at_most(x, 20.0)), |e| given(e * shift(e, 2.0), |n| -at_most(-x, 800.0) * (n / shift(n, 2.0)))),
            slope: |x, y| given(exp(at_most(x, 20.0)), |e| given(e * shift(e, 2.0), |n| given(recip(shift(n, 2.0)), |d| {
                d * (n + lit(4.0) * -at_most(-at_most(x, 20.0), 800.0) * e * shift(e, 1.0) * d)
            }))), of: operand,
            rule: "dx = (t + x (1 - t^2) sigmoid(x)) dy",
            reference: |x| x * (1.0 + x.exp()).ln().tanh(),
            domain: Reals,
            edges: [(0.0, 0.0), (64.0, 64.0), (-200.0, 0.0)],
        }
        /// Every element times a ramp from 0 at -3 to 1 at 3.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from([-4.0, 0.0, 4.0]).hardswish(), Tensor::from([0.0, 0.0, 4.0]));
        /// ```
        hardswish HARDSWISH hardswish {
            page: "hardswish - silu made of straight lines.   y = x min(max(x + 3, 0), 6) / 6,   dy = (x/3 + 1/2) dx between -3 and 3, 0 below, dx above.   Domain: all reals. At the kinks the subgradient of least norm.",
            value: |x| if x <= lit(-3.0) { lit(0.0) } else if x >= lit(3.0) { x } else { x * (x + lit(3.0)) / lit(6.0) },
            slope: |x, y| between(x, lit(-3.0), lit(3.0), shift(over(x, 3.0), 0.5), above(x, lit(0.0), lit(1.0), lit(0.0))), of: operand,
            rule: "dx = (x/3 + 1/2) dy between -3 and 3, 0 below, dy above",
            reference: |x| x * (x + 3.0).clamp(0.0, 6.0) / 6.0,
            domain: Points(|u, _| (away_from(&[-3.0, 3.0], 0.05, 2.0 * u), 0.0)),
            edges: [(-3.0, 0.0), (3.0, 3.0)],
        }
        /// A ramp from 0 at -3 to 1 at 3.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from([-4.0, 0.0, 4.0]).hardsigmoid(), Tensor::from([0.0, 0.5, 1.0]));
        /// ```
        hardsigmoid HARDSIGMOID hardsigmoid {
            page: "hardsigmoid - sigmoid made of straight lines.   y = min(max(x + 3, 0), 6) / 6,   dy = dx / 6 between -3 and 3, else 0.   Domain: all reals. At the kinks the subgradient of least norm: 0.",
            value: |x| if x <= lit(-3.0) { lit(0.0) } else if x >= lit(3.0) { lit(1.0) } else { (x + lit(3.0)) / lit(6.0) },
            slope: |x, y| between(x, lit(-3.0), lit(3.0), lit(1.0 / 6.0), lit(0.0)), of: operand,
            rule: "dx = dy / 6 between -3 and 3",
            reference: |x| (x / 6.0 + 0.5).clamp(0.0, 1.0),
            domain: Points(|u, _| (away_from(&[-3.0, 3.0], 0.05, 2.0 * u), 0.0)),
            edges: [(-3.0, 0.0), (3.0, 1.0)],
        }
        /// The complement of the error function of every element, times e to the power of its square.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).erfcx().item(), 1.0);
        /// ```
        erfcx ERFCX erfcx {
            page: "erfcx - scaled complement of the error function.   y = exp(x^2) erfc x,   dy = (2 x y - 2/sqrt(pi)) dx. Domain: all reals; overflows below about -26.",
            values: erfcx_slice,
            slope: |x, y| shift(lit(2.0) * x * y, -FRAC_2_SQRT_PI), of: both,
            rule: "dx = (2 x y - 2/sqrt(pi)) dy",
            reference: |x| (x * x).exp() * (1.0 - erf(x)),
            domain: Within(-1.0, 1.0),
            edges: [(0.0, 1.0)],
        }
        /// The inverse error function of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).erfinv().item(), 0.0);
        /// ```
        erfinv ERFINV erfinv {
            page: "erfinv - inverse of the error function.   erf y = x,   dy = sqrt(pi)/2 exp(y^2) dx.   Domain: -1 to 1, infinite at the ends; NaN outside.",
            values: erfinv_slice,
            slope: |x, y| scale(exp(y * y), HALF_ROOT_OF_PI), of: output,
            rule: "dx = sqrt(pi)/2 exp(y^2) dy",
            reference: |x| inverse(erf, x, -3.0, 3.0),
            domain: Within(-0.7, 0.7),
            edges: [(0.0, 0.0), (1.0, f64::INFINITY), (-1.0, f64::NEG_INFINITY), (1.5, f64::NAN)],
        }
        /// The probability that a standard normal variable is at most the element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).ndtr().item(), 0.5);
        /// ```
        ndtr NDTR ndtr {
            page: "ndtr - normal distribution function.   y = P(Z <= x) of a standard normal Z,   dy = exp(-x^2 / 2) / sqrt(2 pi) dx.   Domain: all reals.",
            values: ndtr_slice,
            slope: |x, y| normal_density(x), of: operand,
            rule: "dx = exp(-x^2 / 2) / sqrt(2 pi) dy",
            reference: |x| normal(x),
            domain: Reals,
            edges: [(0.0, 0.5), (f64::INFINITY, 1.0), (f64::NEG_INFINITY, 0.0)],
        }
        /// The quantile of the standard normal distribution at every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.5).ndtri().item(), 0.0);
        /// ```
        ndtri NDTRI ndtri {
            page: "ndtri - inverse of the normal distribution function.   P(Z <= y) = x,   dy = sqrt(2 pi) exp(y^2 / 2) dx. Domain: 0 to 1, infinite at the ends; NaN outside.",
            values: ndtri_slice,
            slope: |x, y| scale(exp(lit(0.5) * y * y), ROOT_OF_TWO_PI), of: output,
            rule: "dx = sqrt(2 pi) exp(y^2 / 2) dy",
            reference: |x| inverse(normal, x, -3.0, 3.0),
            domain: Within(0.3, 0.7),
            edges: [(0.5, 0.0), (1.0, f64::INFINITY), (0.0, f64::NEG_INFINITY), (1.5, f64::NAN)],
        }
        /// The logarithm of the probability that a standard normal variable is at most the element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).log_ndtr().item(), -std::f64::consts::LN_2);
        /// ```
        log_ndtr LOG_NDTR log_ndtr {
            page: "log_ndtr - logarithm of the normal distribution function, accurate in both tails.   y = ln P(Z <= x),   dy = sqrt(2/pi) / erfcx(-x / sqrt 2) dx.   Domain: all reals.",
            values: log_ndtr_slice,
            slope: |x, y| scale(recip(erfcx(scale(x, -FRAC_1_SQRT_2))), ROOT_OF_TWO_BY_PI), of: operand,
            rule: "dx = sqrt(2/pi) / erfcx(-x / sqrt 2) dy",
            reference: |x| normal(x).ln(),
            domain: Reals,
            edges: [(0.0, -std::f64::consts::LN_2)],
        }
        /// Minus every element times its logarithm.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from([0.0, 1.0]).entr(), Tensor::from([0.0, 0.0]));
        /// ```
        entr ENTR entr {
            page: "entr - entropy of one probability.   y = -x ln x, 0 at 0,   dy = -(ln x + 1) dx.   Domain: x >= 0; -infinity below, where the gradient is NaN.",
            value: |x| if x < lit(0.0) { lit(f64::NEG_INFINITY) } else { -xlogy(x, x) },
            slope: |x, y| -(shift(log(x), 1.0)), of: operand,
            rule: "dx = -(log(x) + 1) dy",
            reference: |x| -x * x.ln(),
            domain: Positive,
            edges: [(0.0, 0.0), (1.0, 0.0), (-1.0, f64::NEG_INFINITY)],
        }
        /// The derivative of `lgamma` at every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// let euler = 0.5772156649015329;
        /// assert!((Tensor::from(1.0).digamma().item() + euler).abs() < 1e-15);
        /// ```
        digamma DIGAMMA digamma {
            page: "digamma - derivative of the logarithm of the gamma function.   y = Gamma'(x) / Gamma(x),   dy = polygamma(1, x) dx.   Domain: all reals; -infinity at 0, NaN at the negative integers.",
            values: digamma_slice,
            slope: |x, y| trigamma(x), of: operand, by: trigamma_slice,
            rule: "dx = polygamma(1, x) dy",
            reference: |x| poly_gamma(0, x),
            domain: Positive,
            edges: [],
        }
        /// The modified Bessel function of order 0 of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).i0().item(), 1.0);
        /// ```
        i0 I0 i0 {
            page: "i0 - modified Bessel function of order 0.   y = I0(x),   dy = I1(x) dx.   Domain: all reals.",
            values: i0_slice,
            slope: |x, y| i1(x), of: operand,
            rule: "dx = i1(x) dy",
            reference: |x| bessel_i(0, x),
            domain: Reals,
            edges: [(0.0, 1.0)],
        }
        /// The modified Bessel function of order 0 of every element, times e to the power of minus its magnitude.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).i0e().item(), 1.0);
        /// ```
        i0e I0E i0e {
            page: "i0e - modified Bessel function of order 0, scaled.   y = exp(-|x|) I0(x),   dy = (i1e(x) - sign(x) y) dx. Domain: all reals; at the kink the slope is 0.",
            values: i0e_slice,
            slope: |x, y| i1e(x) - sign(x) * y, of: both,
            rule: "dx = (i1e(x) - sign(x) y) dy",
            reference: |x| (-x.abs()).exp() * bessel_i(0, x),
            domain: Points(|u, _| (away_from(&[0.0], 0.05, u), 0.0)),
            edges: [(0.0, 1.0)],
        }
        /// The modified Bessel function of order 1 of every element.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).i1().item(), 0.0);
        /// ```
        i1 I1 i1 {
            page: "i1 - modified Bessel function of order 1.   y = I1(x),   dy = (I0(x) - y/x) dx.   Domain: all reals; the slope at 0 is 1/2.",
            values: i1_slice,
            slope: |x, y| between(x, lit(-1.0), lit(1.0), shift(x * x * shift(x * x * shift(x * x * shift(x * x * shift(x * x * shift(x * x * shift(x * x * shift(x * x * shift(x * x * shift(x * x * shift(x * x * shift(scale(x * x, 2.497887280872805e-25), 1.43398713020346e-22), 6.913064912911288e-20), 2.752058222473256e-17), 8.864524379755962e-15), 2.252632077679162e-12), 4.3731097401344796e-10), 6.216543692129629e-08), 6.103515625e-06), 0.00037977430555555556), 0.013020833333333334), 0.1875), 0.5), i0(x) - y / x), of: both,
            rule: "dx = (i0(x) - y/x) dy",
            reference: |x| bessel_i(1, x),
            domain: Points(|u, _| (away_from(&[0.0], 0.05, u), 0.0)),
            edges: [(0.0, 0.0)],
        }
        /// The modified Bessel function of order 1 of every element, times e to the power of minus its magnitude.
        ///
        /// ```
        /// use wengert::prelude::*;
        /// assert_eq!(Tensor::from(0.0).i1e().item(), 0.0);
        /// ```
        i1e I1E i1e {
            page: "i1e - modified Bessel function of order 1, scaled.   y = exp(-|x|) I1(x),   dy = (i0e(x) - y (sign(x) + 1/x)) dx.   Domain: all reals; the slope at 0 is 1/2.",
            values: i1e_slice,
            slope: |x, y| between(x, lit(-1.0), lit(1.0), exp(-abs(x)) * shift(x * x * shift(x * x * shift(x * x * shift(x * x * shift(x * x * shift(x * x * shift(x * x * shift(x * x * shift(x * x * shift(x * x * shift(x * x * shift(scale(x * x, 2.497887280872805e-25), 1.43398713020346e-22), 6.913064912911288e-20), 2.752058222473256e-17), 8.864524379755962e-15), 2.252632077679162e-12), 4.3731097401344796e-10), 6.216543692129629e-08), 6.103515625e-06), 0.00037977430555555556), 0.013020833333333334), 0.1875), 0.5) - sign(x) * y, i0e(x) - y * (sign(x) + recip(x))), of: both,
            rule: "dx = (i0e(x) - y (sign(x) + 1/x)) dy",
            reference: |x| (-x.abs()).exp() * bessel_i(1, x),
            domain: Points(|u, _| (away_from(&[0.0], 0.05, u), 0.0)),
            edges: [(0.0, 0.0)],
        }
    } };
}

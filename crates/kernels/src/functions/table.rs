//! The table of functions.

/// Calls the macro `$apply` with every function of one number, in the order of the documents. A row has
///
/// - the documentation of the method of tensors, its name, the static of the primitive, and the name of the method of `Real`;
/// - `page`: the first paragraph of its page, `name - title.   formula,   derivative.   remarks`;
/// - `values`: the function over slices, in [`math`](crate::math); the function of one number has the row's name there, and in
///   [`math::one`](crate::math::one) if it has a shorter way;
/// - `integer`: the function of integers, if there is one;
/// - `slope`: the derivative, computed from the argument x or the value y (`of: operand` or `of: output`), in words that numbers of
///   every kind know ([`vocabulary`](crate::functions::vocabulary)) and that are C as well; `by`: a function over slices for it, where
///   the expression would not become vector code;
/// - `rule`, `reference`, `domain` and `edges`: the derivative in words, the value by another formula, and where tests look.
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
            slope: |x, y| recip(hypot(x, lit(1.0))), of: operand,
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
            page: "lgamma - logarithm of the gamma function.   y = ln |Gamma(x)|,   dy = digamma(x) dx.   Domain: all reals; infinite at 0 and the negative whole numbers.",
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
            page: "abs - absolute value.   y = |x|,   dy = sign(x) dx.   Domain: all reals and whole numbers. At the kink the subgradient of least norm: abs'(0) = 0.",
            values: abs_slice,
            integer: |x| x.wrapping_abs(),
            slope: |x, y| sign(x), of: operand,
            rule: "dx = sign(x) dy",
            reference: |x| (x * x).sqrt(),
            domain: Reals,
            edges: [(0.0, 0.0), (-0.0, 0.0), (f64::NEG_INFINITY, f64::INFINITY), (f64::NAN, f64::NAN)],
        }
    } };
}

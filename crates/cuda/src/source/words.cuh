// The operations in which elementwise expressions are written; R is float or double.
#define WORD template <class R> DEVICE R

WORD w_lit(double value) { return (R)value; }
WORD w_constant(double value) { return (R)value; }
WORD w_recip(R x) { return (R)1 / x; }
WORD w_square(R x) { return x * x; }
WORD w_abs(R x) { return fabs(x); }
WORD w_scale(R x, double factor) { return x * (R)factor; }
WORD w_shift(R x, double amount) { return x + (R)amount; }
WORD w_over(R x, double divisor) { return x / (R)divisor; }
WORD w_at_most(R x, double border) { return x > (R)border ? (R)border : x; }
WORD w_nan_below(R x, double border) { return x < (R)border ? (R)NAN : x; }
WORD w_nan_beyond(R x, double border) { return fabs(x) > (R)border ? (R)NAN : x; }
WORD w_sign(R x) { return x > 0 ? (R)1 : x < 0 ? (R)-1 : x; }
WORD w_above(R x, R border, R then, R other) { return x > border ? then : other; }
WORD w_at_zero(R x, R here, R other) { return x == 0 ? here : other; }
WORD w_least_slope(R slope) { return slope < 0 ? (R)0 : slope > 1 ? (R)1 : slope; }
WORD w_between(R x, R low, R high, R inside, R outside) { return x > low && x < high ? inside : outside; }
WORD w_within(R x, R low, R high, R inside, R outside) { return x >= low && x <= high ? inside : outside; }
WORD w_ratio(R x, R y) { return x == 0 && y == 0 ? (R)0 : x / y; }
WORD w_gap(R x, R y) { return x == y ? (R)0 : x - y; }
WORD w_passes(R x, R y) { return x >= y || x != x ? (R)1 : (R)0; }
WORD w_share(R x, R y) { return x < y ? (R)0 : x == y ? (R)0.5 : (R)1; }
WORD w_share_of_numbers(R x, R y) { return x > y || y != y ? (R)1 : x == y ? (R)0.5 : (R)0; }
WORD w_guarded(R g, R s) { return g == 0 || (s == 0 && g == g) ? (R)0 : g * s; }
WORD w_both(R a, R b) { return a == 0 || b == 0 ? (R)0 : a * b; }

WORD w_sqrt(R x) { return sqrt(x); }
WORD w_cbrt(R x) { return cbrt(x); }
WORD w_exp(R x) { return exp(x); }
WORD w_exp2(R x) { return exp2(x); }
WORD w_expm1(R x) { return expm1(x); }
WORD w_log(R x) { return log(x); }
WORD w_log2(R x) { return log2(x); }
WORD w_log10(R x) { return log10(x); }
WORD w_log1p(R x) { return log1p(x); }
WORD w_sin(R x) { return sin(x); }
WORD w_cos(R x) { return cos(x); }
WORD w_tan(R x) { return tan(x); }
WORD w_asin(R x) { return asin(x); }
WORD w_acos(R x) { return acos(x); }
WORD w_atan(R x) { return atan(x); }
WORD w_atan2(R y, R x) { return atan2(y, x); }
WORD w_sinh(R x) { return sinh(x); }
WORD w_cosh(R x) { return cosh(x); }
WORD w_tanh(R x) { return tanh(x); }
WORD w_asinh(R x) { return asinh(x); }
WORD w_acosh(R x) { return acosh(x); }
WORD w_atanh(R x) { return atanh(x); }
WORD w_erf(R x) { return erf(x); }
WORD w_erfc(R x) { return erfc(x); }
WORD w_hypot(R x, R y) { return hypot(x, y); }
WORD w_pow(R x, R y) { return pow(x, y); }
WORD w_floor(R x) { return floor(x); }
WORD w_ceil(R x) { return ceil(x); }
WORD w_trunc(R x) { return trunc(x); }
WORD w_copysign(R x, R y) { return copysign(x, y); }
WORD w_sigmoid(R x) { return (R)1 / ((R)1 + exp(-x)); }
#ifndef SHIM
// The quotient is right to two units in the last place, in a third of the time.
template <> __device__ __forceinline__ float w_sigmoid(float x) { return __fdividef(1.0f, 1.0f + exp(-x)); }
#endif
WORD w_rsqrt(R x) { return (R)1 / sqrt(x); }
WORD w_lgamma(R x) { return lgamma(x); }
WORD w_logit(R x) { return log(x) - log1p(-x); }
WORD w_logsigmoid(R x) { return (x < 0 ? x : (R)0) - log1p(exp(-fabs(x))); }
WORD w_tanhshrink(R x) { return x - tanh(x); }
WORD w_normal_density(R x) { return exp((R)-0.5 * x * x) * (R)0.3989422804014327; }
WORD w_ndtr(R x) { return (R)0.5 * erfc(x * (R)-0.7071067811865476); }

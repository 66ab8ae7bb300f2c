// The operations in which elementwise expressions are written; R is float or double, and i64 for operations on integers.
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
template <class R> DEVICE bool w_is_nan(R x) { return x != x; }
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
WORD w_powf(R x, R y) { return pow(x, y); }
WORD w_fmod(R x, R y) { return fmod(x, y); }
WORD w_round(R x) { return rint(x); }
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
WORD w_logit(R x) {
    if (!(x > (R)0.25 && x < (R)0.75)) return log(x / (1 - x));
    // From twice the distance to one half, and the smaller of x and 1 - x, which are both exact.
    return x < (R)0.5 ? -log1p((1 - 2 * x) / x) : log1p((2 * x - 1) / (1 - x));
}
WORD w_logsigmoid(R x) { return (x < 0 ? x : (R)0) - log1p(exp(-fabs(x))); }
WORD w_normal_density(R x) { return exp((R)-0.5 * x * x) * (R)0.3989422804014327; }
WORD w_ndtr(R x) { return (R)0.5 * erfc(x * (R)-0.7071067811865476); }
WORD w_softplus(R x) { return (x < 0 ? (R)0 : x) + log1p(exp(-fabs(x))); }
WORD w_logaddexp(R x, R y) { return (x > y ? x : y) + log1p(exp(-(x == y ? (R)0 : fabs(x - y)))); }
WORD w_xlogy(R x, R y) { return x != 0 ? x * log(y) : y != y ? y : (R)0; }
WORD w_log_weight(R x, R y) { return x == 0 && y <= 0 ? (R)0 : log(y); }
WORD w_xlog1py(R x, R y) { return x == 0 && y == y ? x : x * log1p(y); }
WORD w_log1p_weight(R x, R y) { return x == 0 && y <= -1 ? (R)0 : log1p(y); }
WORD w_bounded(R x, R low, R high) {
    x = x < low || low != low ? low : x;
    return x > high || high != high ? high : x;
}
WORD w_finite(R x, R nan, R above, R below) {
    x = x == INFINITY ? above : x;
    x = x == -INFINITY ? below : x;
    return x != x ? nan : x;
}
// The exponent is known to the compiler, which keeps one of the branches.
WORD w_power(R x, R n) {
    if (n == -1) return (R)1 / x;
    if (n == 0) return (R)1;
    if (n == 1) return x;
    if (n == 2) return x * x;
    if (n == 3) return x * x * x;
    if (n == 4) return (x * x) * (x * x);
    if (n == (R)0.5) return sqrt(x);
    if (n == (R)-0.5) return (R)1 / sqrt(x);
    return pow(x, n);
}
WORD w_power_slope(R x, R n) { return n == 0 ? n : n * w_power(x, n - 1); }
WORD w_base_slope(R x, R y) { return w_guarded(y, (R)pow(x, y - 1)); }
WORD w_exponent_slope(R x, R z) { return x == 0 && fabs(z) < INFINITY ? (R)0 : z * log(x); }
WORD w_remainder(R x, R y) {
    R rest = fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
WORD w_quotient(R x, R y, R remainder) {
    if (y == 0) return x / y;
    if (fabs(y) == INFINITY && fabs(x) < INFINITY) return x != 0 && (x < 0) != (y < 0) ? (R)-1 : (R)0;
    return rint((x - remainder) / y);
}

// Integers wrap, as unsigned numbers do.
WORD w_wrapping_add(R x, R y) { return (R)((u64)x + (u64)y); }
WORD w_wrapping_sub(R x, R y) { return (R)((u64)x - (u64)y); }
WORD w_wrapping_mul(R x, R y) { return (R)((u64)x * (u64)y); }
WORD w_wrapping_neg(R x) { return (R)(0 - (u64)x); }
WORD w_wrapping_abs(R x) { return x < 0 ? w_wrapping_neg(x) : x; }
WORD w_wrapping_div(R x, R y) { return y == -1 ? w_wrapping_neg(x) : x / y; }
WORD w_wrapping_rem(R x, R y) { return y == -1 ? (R)0 : x % y; }
WORD w_wrapping_pow(R x, R n) {
    R power = 1;
    for (u32 left = (u32)n; left > 0; left /= 2, x = w_wrapping_mul(x, x)) if (left % 2 != 0) power = w_wrapping_mul(power, x);
    return power;
}
WORD w_signum(R x) { return (x > 0) - (x < 0); }
WORD w_max(R x, R y) { return x > y ? x : y; }
WORD w_min(R x, R y) { return x < y ? x : y; }
WORD w_from(R x) { return x; }

// Special functions by the formulas and tables of the processor, in double. The tables are defined before this text,
// which is only part of kernels that use it.
#define SPECIAL static __device__ double

constexpr double PI = 3.141592653589793, ROOT_OF_TWO = 1.4142135623730951, TWO_BY_ROOT_OF_PI = 1.1283791670955126;

template <int N> SPECIAL polynomial(const double (&coefficients)[N], double x) {
    double sum = 0;
    for (int k = N - 1; k >= 0; k--) sum = sum * x + coefficients[k];
    return sum;
}

// x - tanh(x), near 0 by a fraction, as the difference would cancel.
SPECIAL tanh_shrink(double x) {
    const double above[] = {SHRINK_ABOVE}, below[] = {SHRINK_BELOW};
    if (!(fabs(x) < 1.6)) return x - tanh(x);
    return x * (x * x) * (polynomial(above, x * x) / polynomial(below, x * x));
}

// exp(x^2) erfc(x). From one half on, (1 + 2x) times it is a polynomial in t.
SPECIAL scaled_erfc(double x) {
    const double tail[] = {ERFCX_TAIL};
    if (x < -26.7) return INFINITY;
    if (x < 0.5) return exp(x * x) * (1 + fma(x, x, -(x * x))) * erfc(x);
    if (x > 1e7) return 0.5 * TWO_BY_ROOT_OF_PI / x;
    double t = (x - 3) / (x + 3);
    return (ERFCX + t * polynomial(tail, t)) / (1 + 2 * x);
}

SPECIAL log_normal(double x) {
    if (x < -1) return log(0.5 * scaled_erfc(-x / ROOT_OF_TWO)) - 0.5 * x * x;
    return log1p(-0.5 * erfc(x / ROOT_OF_TWO));
}

// The x >= 0 with erfc(x) = q, by Newton's iteration on log erfc, which is nearly a parabola; it begins with two correct digits.
SPECIAL inverse_of_erfc(double q) {
    if (q == 0) return INFINITY;
    const double log_of_2 = 0.6931471805599453;
    double target = log(q), b = 2 / (PI * 0.147) + 0.5 * (target + log_of_2);
    // Never zero, because Newton's step would leave the domain there.
    double x = sqrt(fmax(sqrt(fmax(b * b - (target + log_of_2) / 0.147, 0.0)) - b, 1e-6));
    for (int turn = 0; turn < 8; turn++) {
        double scaled = scaled_erfc(x), step = (log(scaled) - x * x - target) * scaled / TWO_BY_ROOT_OF_PI;
        x += step;
        if (fabs(step) < 1e-9 * x) break;
    }
    return x;
}

SPECIAL inverse_of_erf(double y) {
    double a = fabs(y);
    if (!(a <= 1)) return NAN;
    if (a > 0.5) return copysign(inverse_of_erfc(1 - a), y);
    // Halley's iteration on erf, from two terms of the series.
    double x = a / TWO_BY_ROOT_OF_PI;
    x += x * x * x / 3;
    for (int turn = 0; turn < 4; turn++) {
        double step = (erf(x) - a) / (TWO_BY_ROOT_OF_PI * exp(-x * x));
        x -= step / (1 + x * step);
    }
    return copysign(x, y);
}

SPECIAL inverse_of_normal(double p) {
    if (!(p >= 0 && p <= 1)) return NAN;
    return ROOT_OF_TWO * (p < 0.25 ? -inverse_of_erfc(2 * p) : inverse_of_erf(2 * p - 1));
}

// Exact zeros at the integers.
SPECIAL sine_of_pi_times(double x) {
    double whole = rint(x), y = sin(PI * (x - whole));
    return fmod(whole, 2.0) == 0 ? y : -y;
}

SPECIAL cardinal_sine(double x) {
    if (x == 0) return 1;
    // Adding zero turns -0 into 0.
    return fabs(x) == INFINITY ? 0 : sine_of_pi_times(x) / (PI * x) + 0.0;
}

// Near 0 a polynomial, as the difference would cancel.
SPECIAL cardinal_slope(double x, double y) {
    const double series[] = {SINC_SERIES};
    if (!(fabs(x) < SINC_NEAR)) return (cos(PI * x) - y) / x;
    return x * polynomial(series, x * x);
}

// Positive arguments go up to 10 by the recurrence, then follow the asymptotic series; others are reflected.
SPECIAL digamma(double x) {
    const double bernoulli[] = {BERNOULLI};
    if (x == 0) return copysign((double)INFINITY, -x);
    double rest = 0;
    if (!(x > 0)) {
        if (!(x > -INFINITY) || x == floor(x)) return NAN;
        rest = PI / tan(PI * (x - rint(x)));
        x = 1 - x;
    }
    for (; x < 10; x += 1) rest += 1 / x;
    double sum = 0.5 / x, factor = 1 / (x * x);
    for (int k = 1; k < 8; k++) {
        sum += bernoulli[k - 1] * factor;
        factor *= 2 * k / x * ((2 * k + 1) / x);
    }
    return log(x) - sum - rest;
}

// The sum of (q + k)^-s over k >= 0, for q > 0, by Euler's and Maclaurin's formula.
SPECIAL zeta_of_positive(double s, double q) {
    const double bernoulli[] = {BERNOULLI};
    double sum = 0;
    for (; q < 10 + s; q += 1) {
        double term = pow(q, -s);
        sum += term;
        if (term <= 1e-18 * sum || term == INFINITY) return sum;
    }
    double before = pow(q, 1 - s), power = before / q, factor = s * power / q;
    sum += before / (s - 1) + 0.5 * power;
    for (int k = 1; k <= 12; k++) {
        sum += bernoulli[k - 1] * factor;
        double next = s + 2 * k - 1;
        factor *= next / q * ((next + 1) / q);
    }
    return sum;
}

// The same for an integer s and any q.
SPECIAL zeta(double s, double q) {
    if (q > 0) return zeta_of_positive(s, q);
    if (!(q > -INFINITY)) return NAN;
    if (q == floor(q)) return INFINITY;
    // The sum over all integers k has period one in q; the terms with k < 0 are subtracted.
    double f = q - rint(q), sign = fmod(s, 2.0) == 0 ? 1 : -1;
    double all = pow(f, -s) + (zeta_of_positive(s, 1 + f) + sign * zeta_of_positive(s, 1 - f));
    return all - sign * zeta_of_positive(s, 1 - q);
}

// n! zeta(n + 1, q) for a large n and a positive q, by logarithms, because one factor may be infinite where the product is not.
SPECIAL factorial_times_zeta(double n, double q) {
    if (q == INFINITY) return 0;
    double s = n + 1, sum = 1;
    // The sum of (1 + k/q)^-s. Few terms matter, unless q is much larger than s; then the formula above needs few.
    if (q < 10 * s) {
        for (double k = 1, term = 1; term > 1e-18; k++) sum += term = exp(-s * log1p(k / q));
    } else {
        double third = s / q * ((s + 1) / q) * ((s + 2) / q), fifth = (s + 3) / q * ((s + 4) / q);
        sum = q / (s - 1) + 0.5 + s / (12 * q) - third / 720 + third * fifth / 30240;
    }
    return exp(lgamma(s) - s * log(q) + log(sum));
}

// The n-th derivative of digamma.
SPECIAL derivative_of_digamma(double n, double x) {
    if (n == 0) return digamma(x);
    double value = 1;
    if (n > 170 && x > 0) {
        value = factorial_times_zeta(n, x);
    } else {
        for (double k = 2; k <= n && k <= 200; k++) value *= k;
        value *= zeta(n + 1, x);
    }
    return fmod(n, 2.0) == 1 ? value : -value;
}

// The modified Bessel function of order n, 0 or 1, or e^-|x| times it. Up to 20 the power series in x^2 / 4, then the asymptotic series.
SPECIAL bessel(double n, double x, bool scaled) {
    double a = fabs(x), term = 1, sum = 1, value;
    if (a < 20) {
        for (double k = 1; term > 1e-17 * sum; k++) sum += term *= 0.25 * a * a / (k * (k + n));
        value = sum * (n == 0 ? 1 : 0.5 * a) * (scaled ? exp(-a) : 1);
    } else {
        for (double k = 1; fabs(term) > 1e-17 && k < 40; k++) sum += term *= ((2 * k - 1) * (2 * k - 1) - 4 * n * n) / (8 * k * a);
        value = sum / sqrt(2 * PI * a);
        // In two factors: the exponential overflows before the function does.
        if (!scaled) value = a == INFINITY ? a : value * exp(0.5 * a) * exp(0.5 * a);
    }
    return n == 0 ? value : copysign(value, x);
}

WORD w_erfcx(R x) { return (R)scaled_erfc(x); }
WORD w_erfinv(R x) { return (R)inverse_of_erf(x); }
WORD w_ndtri(R x) { return (R)inverse_of_normal(x); }
WORD w_log_ndtr(R x) { return (R)log_normal(x); }
WORD w_tanhshrink(R x) { return (R)tanh_shrink(x); }
WORD w_sinc(R x) { return (R)cardinal_sine(x); }
WORD w_digamma(R x) { return (R)digamma(x); }
WORD w_trigamma(R x) { return (R)zeta(2, x); }
WORD w_i0(R x) { return (R)bessel(0, x, false); }
WORD w_i0e(R x) { return (R)bessel(0, x, true); }
WORD w_i1(R x) { return (R)bessel(1, x, false); }
WORD w_i1e(R x) { return (R)bessel(1, x, true); }
WORD w_sinc_slope(R x, R y) { return (R)cardinal_slope(x, y); }
WORD w_polygamma(R n, R x) { return (R)derivative_of_digamma(n, x); }

// Folds of the elements of a row, for reductions and for running results. A fold is a type with these functions, where x points to the
// elements of all operands at one position t of the row:
//   Chunk none();  Chunk extend(Chunk, x, t);  Chunk join(Chunk earlier, Chunk later)    any elements side by side, which may be joined
//   State start();  State step(State, x, t);  State after(State, Chunk)                  all elements from the first on
//   value(State);  place(State)                                                          the result, and its position where it has one
// Macros: T, the type of elements in memory; SETS, of products of others only: 2 to the number of directions.

typedef decltype(get((const T *)0, 0)) Held;

// Sums and products are wider than their elements: double for floats, as on the processor, and i64, which wraps around.
template <class H> struct Widened { typedef i64 Type; };
template <> struct Widened<float> { typedef double Type; };
template <> struct Widened<double> { typedef double Type; };
typedef Widened<Held>::Type Wide;

DEVICE i64 plus(i64 a, i64 b) { return (i64)((u64)a + (u64)b); }
DEVICE double plus(double a, double b) { return a + b; }
DEVICE i64 times(i64 a, i64 b) { return (i64)((u64)a * (u64)b); }
DEVICE double times(double a, double b) { return a * b; }

// A fold whose states are chunks.
template <class F> struct Whole : F {
    typedef typename F::Chunk State;
    static __device__ State start() { return F::none(); }
    static __device__ State step(State s, const Held *x, i64 t) { return F::extend(s, x, t); }
    static __device__ State after(State s, State chunk) { return F::join(s, chunk); }
};

struct Total {
    typedef Wide Chunk;
    static __device__ Chunk none() { return 0; }
    static __device__ Chunk extend(Chunk c, const Held *x, i64) { return plus(c, (Wide)x[0]); }
    static __device__ Chunk join(Chunk a, Chunk b) { return plus(a, b); }
    static __device__ Wide value(Chunk c) { return c; }
};

struct Any {
    typedef int Chunk;
    static __device__ Chunk none() { return 0; }
    static __device__ Chunk extend(Chunk c, const Held *x, i64) { return c | (x[0] != 0); }
    static __device__ Chunk join(Chunk a, Chunk b) { return a | b; }
    static __device__ u8 value(Chunk c) { return c; }
};

struct All {
    typedef int Chunk;
    static __device__ Chunk none() { return 1; }
    static __device__ Chunk extend(Chunk c, const Held *x, i64) { return c & (x[0] != 0); }
    static __device__ Chunk join(Chunk a, Chunk b) { return a & b; }
    static __device__ u8 value(Chunk c) { return c; }
};

// The largest element, or with LEAST the smallest, and its position: the first of equals, or with LAST the last. NaN is beyond all numbers.
template <bool LEAST, bool LAST> struct Extreme {
    struct Chunk { Held best; i64 t; };
    static __device__ Chunk none() { return {0, -1}; }
    static __device__ Chunk extend(Chunk c, const Held *x, i64 t) { return join(c, {x[0], t}); }
    static __device__ Chunk join(Chunk a, Chunk b) {
        if (a.t < 0 || b.t < 0) return a.t < 0 ? b : a;
        bool a_is_nan = a.best != a.best, b_is_nan = b.best != b.best;
        if (a_is_nan != b_is_nan) return a_is_nan ? a : b;
        if (a_is_nan || a.best == b.best) return (a.t < b.t) != LAST ? a : b;
        return (a.best < b.best) == LEAST ? a : b;
    }
    static __device__ Held value(Chunk c) { return c.best; }
    static __device__ i64 place(Chunk c) { return c.t; }
};

// The sum of e^(x - shift), where the shift is the largest element, or 0 where that is infinite.
template <class H> struct LogSumExp {
    struct Chunk { H top; double sum; };
    static __device__ H finite_or_zero(H x) { return x == (H)INFINITY || x == (H)-INFINITY ? (H)0 : x; }
    // The factor of a sum with the largest element x where it becomes `top`.
    static __device__ H factor(H x, H top) { return exp((x == (H)INFINITY ? (H)0 : x) - finite_or_zero(top)); }
    static __device__ Chunk none() { return {(H)-INFINITY, 0}; }
    static __device__ Chunk extend(Chunk c, const H *x, i64) {
        if (!(x[0] > c.top)) return {c.top, c.sum + factor(x[0], c.top)};
        return {x[0], c.sum * factor(c.top, x[0]) + (x[0] == (H)INFINITY ? x[0] : (H)1)};
    }
    static __device__ Chunk join(Chunk a, Chunk b) {
        H top = b.top > a.top ? b.top : a.top;
        return {top, a.sum * factor(a.top, top) + b.sum * factor(b.top, top)};
    }
    static __device__ double value(Chunk c) { return finite_or_zero(c.top) + log(c.sum); }
};

// A product of elements. With floats it has a power of two of its own, so that it is 0 or infinite only where the result is.
template <class W> struct Factor {
    W part;
    static __device__ Factor of(W x) { return {x}; }
    static __device__ Factor join(Factor a, Factor b) { return {times(a.part, b.part)}; }
    __device__ W applied(W x) const { return times(part, x); }
};
template <> struct Factor<double> {
    double part;
    i64 power;
    static __device__ Factor of(double x) {
        int power;
        double part = frexp(x, &power);
        return {part, fabs(part) < 2 ? power : 0};
    }
    static __device__ Factor join(Factor a, Factor b) {
        Factor both = of(a.part * b.part);
        both.power += a.power + b.power;
        return both;
    }
    __device__ double applied(double x) const { return ldexp(part * x, (int)(power > 5000 ? 5000 : power < -5000 ? -5000 : power)); }
};

struct Product {
    typedef Factor<Wide> Chunk;
    typedef Wide State;
    static __device__ Chunk none() { return Chunk::of(1); }
    static __device__ Chunk extend(Chunk c, const Held *x, i64) { return Chunk::join(c, Chunk::of(x[0])); }
    static __device__ Chunk join(Chunk a, Chunk b) { return Chunk::join(a, b); }
    static __device__ State start() { return 1; }
    static __device__ State step(State s, const Held *x, i64) { return times(s, (Wide)x[0]); }
    static __device__ State after(State s, Chunk c) { return c.applied(s); }
    static __device__ Wide value(State s) { return s; }
};

// s = x[0] s + x[1]. A chunk maps s to factor s + term.
struct Recurrence {
    struct Chunk { Factor<Wide> factor; Wide term; };
    typedef Wide State;
    static __device__ Chunk none() { return {Factor<Wide>::of(1), 0}; }
    static __device__ Chunk extend(Chunk c, const Held *x, i64) { return join(c, {Factor<Wide>::of(x[0]), (Wide)x[1]}); }
    static __device__ Chunk join(Chunk a, Chunk b) { return {Factor<Wide>::join(a.factor, b.factor), after(a.term, b)}; }
    static __device__ State start() { return 0; }
    static __device__ State step(State s, const Held *x, i64) { return plus(times((Wide)x[0], s), (Wide)x[1]); }
    static __device__ State after(State s, Chunk c) { return plus(c.factor.applied(s), c.term); }
    static __device__ Wide value(State s) { return s; }
};

#ifdef SETS
// The product of the polynomials x[0] + t0 x[1] + t1 x[2] + .., without terms in which a t is squared: a coefficient for each set of t.
struct Polynomial {
    struct Chunk { double of[SETS]; };
    static __device__ Chunk none() {
        Chunk one = {};
        one.of[0] = 1;
        return one;
    }
    static __device__ Chunk extend(Chunk c, const Held *x, i64) {
        for (int set = SETS - 1; set >= 0; set--) {
            c.of[set] *= x[0];
            for (int bit = 1, which = 1; bit < SETS; bit *= 2, which++)
                if (set & bit) c.of[set] += c.of[set ^ bit] * x[which];
        }
        return c;
    }
    // The coefficient of a set in the product of two.
    static __device__ double coefficient(const Chunk &a, const Chunk &b, int set) {
        double sum = 0;
        for (int part = 0; part < SETS; part++)
            if ((part & set) == part) sum += a.of[part] * b.of[set ^ part];
        return sum;
    }
    static __device__ Chunk join(Chunk a, Chunk b) {
        Chunk both;
        for (int set = 0; set < SETS; set++) both.of[set] = coefficient(a, b, set);
        return both;
    }
};
#endif

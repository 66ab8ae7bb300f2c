// y[o][i] = a fold of x[o][t][i] over t, of contiguous memory [outer][N][INNER]. It follows folds.cu.
//
// Macros besides those of folds.cu:
//   OUT       type of y: T, or u8
//   FOLD      Whole<Any>, Whole<All>, Whole<Extreme<LEAST, false>>, Whole<LogSumExp<Held>>, Product, Whole<Spread>, Whole<Squares>, Whole<Power>
//   SPREAD, SQUARES, POWER   one of them is 1 where the fold has that name, else 0
//   ROOT      Spread: 1 where the result is the square root of the variance;  FREEDOM: its divisor
//   P         Power: the exponent, a number that is not 0
//   PLACES    1 where the position t of the result is written, else 0
//   N, INNER, OUTPUTS (outer * INNER)
//   LANES     threads for an output, a power of two up to 256; 256 / LANES outputs side by side are a block's
//   PARTS     pieces of each row, in blocks of their own. With PARTS 1 the results go to y, and reduce_parts is not needed.
//
// reduce(x, y, places, scratch): grid (ceil(OUTPUTS / (256 / LANES)), PARTS), block 256. places (i64, of the shape of y) and scratch may be
//   null where they are not used; scratch: 32 bytes for each output and part.
// reduce_parts(scratch, y, places): where PARTS > 1, after the other. grid ceil(OUTPUTS / (256 / L)), block 256, with L the least power of
//   two that is at least PARTS, but at most 256.
// No kernel needs dynamic shared memory.

constexpr int COLUMNS = 256 / LANES, BATCH = 4;

#if SPREAD
// The number of elements, their mean, and the sum of squared differences to it. While elements are added, the second number is the sum
// of differences to the guide, which is a mean that was computed before: so a mean that is far from 0 costs no digits.
struct Spread {
    struct Chunk { double count, mean, squares; };
    typedef Total First;
    static __device__ double guide(double total, i64 count) { return total / count; }
    static __device__ Chunk none() { return {0, 0, 0}; }
    static __device__ Chunk extend(Chunk c, Held x, double guide) {
        double d = x - guide;
        return {c.count + 1, c.mean + d, c.squares + d * d};
    }
    static __device__ Chunk close(Chunk c, double guide) {
        if (c.count == 0) return c;
        double squares = c.squares - c.mean * c.mean / c.count;
        // The correction may leave a negative rounding error; NaN stays.
        return {c.count, guide + c.mean / c.count, squares < 0 ? 0 : squares};
    }
    static __device__ Chunk join(Chunk a, Chunk b) {
        if (a.count == 0 || b.count == 0) return a.count == 0 ? b : a;
        double count = a.count + b.count, gap = b.mean - a.mean;
        return {count, a.mean + gap * (b.count / count), a.squares + b.squares + gap * gap * (a.count * b.count / count)};
    }
    static __device__ double value(Chunk c) {
        double variance = N == 0 ? (double)NAN : c.squares / (double)(FREEDOM);
        return ROOT ? sqrt(variance) : variance;
    }
};
#endif

#if SQUARES
// The Euclidean norm of numbers whose squares fit double.
struct Squares {
    typedef double Chunk;
    static __device__ Chunk none() { return 0; }
    static __device__ Chunk extend(Chunk c, const Held *x, i64) { return c + (double)x[0] * x[0]; }
    static __device__ Chunk join(Chunk a, Chunk b) { return a + b; }
    static __device__ double value(Chunk c) { return sqrt(c); }
};
#endif

#if POWER
DEVICE double power(double x) { return P == 2 ? x * x : pow(x, (double)(P)); }

// The largest magnitude, with a negative exponent the smallest. NaN stays.
struct Magnitude {
    typedef double Chunk;
    static __device__ Chunk none() { return P > 0 ? 0 : INFINITY; }
    static __device__ Chunk extend(Chunk c, const Held *x, i64) { return join(c, fabs((double)x[0])); }
    static __device__ Chunk join(Chunk a, Chunk b) { return P > 0 ? Max::of(a, b) : Min::of(a, b); }
};

// The sum of (|x| / scale)^P, which does not overflow; 0 where the scale is 0, infinite or NaN, which then is the result.
struct Power {
    struct Chunk { double scale, sum; };
    typedef Magnitude First;
    static __device__ double guide(double scale, i64) { return scale; }
    static __device__ bool is_usual(double scale) { return scale > 0 && scale < INFINITY; }
    static __device__ Chunk none() { return {Magnitude::none(), 0}; }
    static __device__ Chunk extend(Chunk c, Held x, double guide) {
        return {guide, is_usual(guide) ? c.sum + power(fabs((double)x) / guide) : 0};
    }
    static __device__ Chunk close(Chunk c, double) { return c; }
    static __device__ Chunk join(Chunk a, Chunk b) {
        double scale = Magnitude::join(a.scale, b.scale), sum = 0;
        if (is_usual(scale) && a.sum > 0) sum += a.scale == scale ? a.sum : a.sum * power(a.scale / scale);
        if (is_usual(scale) && b.sum > 0) sum += b.scale == scale ? b.sum : b.sum * power(b.scale / scale);
        return {scale, sum};
    }
    static __device__ double value(Chunk c) {
        if (N == 0) return 0;
        if (!is_usual(c.scale)) return c.scale;
        return c.scale * (P == 2 ? sqrt(c.sum) : pow(c.sum, 1 / (double)(P)));
    }
};
#endif

// What the threads of an output have, joined in a fixed order, on all of them. Threads t and t + STRIDE are lanes side by side.
template <class F, int COUNT, int STRIDE> DEVICE typename F::Chunk fold_lanes(typename F::Chunk own, int lane) {
    __shared__ typename F::Chunk chunks[256];
    int first = threadIdx.x - lane * STRIDE;
    __syncthreads();
    chunks[threadIdx.x] = own;
    for (int step = COUNT / 2; step > 0; step /= 2) {
        __syncthreads();
        if (lane < step) chunks[threadIdx.x] = own = F::join(own, chunks[threadIdx.x + step * STRIDE]);
    }
    __syncthreads();
    return chunks[first];
}

// The elements of one lane: calls add(element, t).
template <class A> DEVICE void each(const T *x, i64 begin, i64 end, A add) {
    for (i64 first = begin; first < end; first += BATCH * LANES) {
        Held a[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (first + i * LANES < end) a[i] = get(x, (first + i * LANES) * INNER);
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (first + i * LANES < end) add(a[i], first + i * LANES);
    }
}

DEVICE void write(OUT *y, i64 *places, i64 output, FOLD::Chunk chunk) {
    FOLD::State state = FOLD::after(FOLD::start(), chunk);
    put(y, output, FOLD::value(state));
#if PLACES
    places[output] = FOLD::place(state);
#endif
}

KERNEL(256) reduce(const T *x, OUT *y, i64 *places, FOLD::Chunk *scratch) {
    constexpr int STRIDE = INNER == 1 ? 1 : COLUMNS;
    constexpr i64 SIZE = ((i64)N + PARTS - 1) / PARTS;
    static_assert(sizeof(FOLD::Chunk) <= 32, "scratch has 32 bytes for a chunk");
    int column = INNER == 1 ? threadIdx.x / LANES : threadIdx.x % COLUMNS, lane = INNER == 1 ? threadIdx.x % LANES : threadIdx.x / COLUMNS;
    i64 output = (i64)blockIdx.x * COLUMNS + column, begin = blockIdx.y * SIZE, end = begin + SIZE < N ? begin + SIZE : N;
    bool is_inside = output < OUTPUTS;
    // Threads beyond the last output take part in barriers, with no elements.
    if (!is_inside) end = begin;
    if (is_inside) x += output / INNER * ((i64)N * INNER) + output % INNER;

    FOLD::Chunk chunk = FOLD::none();
#if SPREAD || POWER
    FOLD::First::Chunk before = FOLD::First::none();
    each(x, begin + lane, end, [&](Held value, i64 t) { before = FOLD::First::extend(before, &value, t); });
    double guide = FOLD::guide(fold_lanes<FOLD::First, LANES, STRIDE>(before, lane), end - begin);
    each(x, begin + lane, end, [&](Held value, i64) { chunk = FOLD::extend(chunk, value, guide); });
    chunk = FOLD::close(chunk, guide);
#else
    each(x, begin + lane, end, [&](Held value, i64 t) { chunk = FOLD::extend(chunk, &value, t); });
#endif
    chunk = fold_lanes<FOLD, LANES, STRIDE>(chunk, lane);
    if (!is_inside || lane > 0) return;
    if (PARTS == 1) write(y, places, output, chunk);
    else scratch[blockIdx.y * (i64)OUTPUTS + output] = chunk;
}

DEVICE constexpr int lanes_for_parts() {
    int lanes = 1;
    while (lanes < PARTS && lanes < 256) lanes *= 2;
    return lanes;
}

KERNEL(256) reduce_parts(const FOLD::Chunk *scratch, OUT *y, i64 *places) {
    constexpr int COUNT = lanes_for_parts();
    int lane = threadIdx.x % COUNT;
    i64 output = (i64)blockIdx.x * (256 / COUNT) + threadIdx.x / COUNT;
    bool is_inside = output < OUTPUTS;
    FOLD::Chunk chunk = FOLD::none();
    for (i64 part = lane; part < PARTS && is_inside; part += COUNT) chunk = FOLD::join(chunk, scratch[part * OUTPUTS + output]);
    chunk = fold_lanes<FOLD, COUNT, 1>(chunk, lane);
    if (is_inside && lane == 0) write(y, places, output, chunk);
}

// Softmax cross-entropy of rows of logits x[ROWS][CLASSES] against targets i64[ROWS], and its gradient. With the target t of a row,
// n = CLASSES, s = SMOOTHING and class weights w (1 where there are none):
//   q[c] = (1 - s) [c = t] + s / n,  lse = log sum over c of exp x[c],  loss = sum over c of q[c] w[c] (lse - x[c]),
//   dx[c] = g (exp(x[c] - lse) sum over c of q[c] w[c] - q[c] w[c]).
// A row whose target is IGNORED has loss 0 and dx 0 (its lse is written too). Any other target outside 0..n gives a loss of NaN and dx NaN.
//
// Macros:
//   T          type of x, w and dx: float, double or bf16
//   COMPUTE    type to compute with: float, or double where T is double
//   STAT       type of lse in memory;  LOSS: type of loss and g (float for bf16 logits keeps them exact enough)
//   ROWS, CLASSES; IGNORED: an i64, the least i64 where no target is ignored; SMOOTHING: a number; HAS_WEIGHT: 0 or 1
//   ALIGN      bytes, a power of two that divides the addresses of x and dx (16 for whole buffers; sizeof(T) is always right)
// w may be null where HAS_WEIGHT is 0. No kernel needs scratch or dynamic shared memory. dx may be x itself.
//
// cross_entropy(x, targets, w, loss, lse), cross_entropy_gradient(x, targets, w, lse, g, dx)
//   CLASSES <= 1024: grid ceil(ROWS / 4), block 128 (a warp per row).
//   else: grid ROWS, block 256 where CLASSES <= 8192, 512 above.

constexpr int THREADS = CLASSES <= 1024 ? 128 : CLASSES <= 8192 ? 256 : 512;
constexpr int LANES = CLASSES <= 1024 ? 32 : THREADS;
constexpr int WIDTH = (ALIGN < 16 ? ALIGN : 16) / sizeof(T);
// Packs that a thread reads before it looks at the first, so that it waits for memory once.
constexpr int BATCH = sizeof(T) == 8 ? 1 : LANES == 32 ? 4 : 2;
constexpr bool SMOOTH = SMOOTHING > 0;
constexpr COMPUTE SHARE = (COMPUTE)(SMOOTHING) / CLASSES, REST = 1 - (COMPUTE)(SMOOTHING);
// At most all finite logits, and finite, so that differences to it are never NaN; of 16 bits also times log2 e.
constexpr COMPUTE LOWEST = sizeof(T) == 2 ? (COMPUTE)-2e38 : sizeof(T) == 4 ? (COMPUTE)-3.4028234663852886e38 : (COMPUTE)-1.7976931348623157e308;
typedef Pack<T, WIDTH> Values;

DEVICE double larger(double a, double b) { return a > b ? a : b; }
DEVICE float larger(float a, float b) { return fmaxf(a, b); }
DEVICE double power(double x, double shift) { return exp(x - shift); }
// The fast exponential is exact to about 1e-6, which 16 bits do not show.
DEVICE float power(float x, float shift) {
#ifndef SHIM
    if constexpr (sizeof(T) == 2) {
        constexpr float LOG2_E = 1.4426950408889634f;
        float y;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(fmaf(x, LOG2_E, -shift * LOG2_E)));
        return y;
    }
#endif
    return expf(x - shift);
}

template <class F> DEVICE COMPUTE fold(COMPUTE x, COMPUTE first) {
    if constexpr (LANES == 32) return fold_warp<F>(x);
    else return fold_block<F>(x, first);
}

// A row that starts at an element `start` of its tensor: `head` single elements, packs at aligned addresses, single elements.
struct Row {
    int head, packs, rest;
    __device__ Row(i64 start) {
        head = CLASSES % WIDTH == 0 ? 0 : (int)((WIDTH - start % WIDTH) % WIDTH);
        if (head > CLASSES) head = CLASSES;
        packs = (CLASSES - head) / WIDTH, rest = CLASSES - head - packs * WIDTH;
    }
};

KERNEL(THREADS) cross_entropy(const T *x, const i64 *targets, const T *w, LOSS *loss, STAT *lse) {
    int row = blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES, lane = threadIdx.x % LANES;
    if (row >= ROWS) return;
    Row own((i64)row * CLASSES);
    x += (i64)row * CLASSES;
    i64 t = targets[row];
    bool is_ignored = t == IGNORED, is_valid = t >= 0 && t < CLASSES && !is_ignored;
    COMPUTE x_t = is_valid ? get(x, t) : (COMPUTE)0, w_t = 1;
    if (HAS_WEIGHT && is_valid) w_t = get(w, t);

    // The sum of exp(x - top), where top is the greatest so far; sums of w x and of w.
    COMPUTE top = LOWEST, total = 0, weighted = 0, weights = 0;
    auto raise = [&](COMPUTE value) -> void {
        if (value > top) total *= power(top, value), top = value;
    };
    auto add = [&](COMPUTE value, int c) -> void {
        total += power(value, top);
        if constexpr (SMOOTH) {
            COMPUTE weight = 1;
            if constexpr (HAS_WEIGHT) weight = get(w, c), weights += weight;
            weighted += weight * value;
        }
    };
    if (lane < own.head) raise(get(x, lane)), add(get(x, lane), lane);
    const Values *source = (const Values *)(x + own.head);
    for (int first = lane; first < own.packs; first += BATCH * LANES) {
        Values a[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (first + i * LANES < own.packs) a[i] = source[first + i * LANES];
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            if (first + i * LANES >= own.packs) break;
            COMPUTE most = get(a[i].x, 0);
#pragma unroll
            for (int j = 1; j < WIDTH; j++) most = larger(most, get(a[i].x, j));
            raise(most);
#pragma unroll
            for (int j = 0; j < WIDTH; j++) add(get(a[i].x, j), own.head + (first + i * LANES) * WIDTH + j);
        }
    }
    if (lane < own.rest) {
        int c = CLASSES - own.rest + lane;
        raise(get(x, c)), add(get(x, c), c);
    }

    COMPUTE most = fold<Max>(top, LOWEST);
    total = fold<Sum>(total * power(top, most), 0);
    if constexpr (SMOOTH) weighted = fold<Sum>(weighted, 0);
    if constexpr (SMOOTH && HAS_WEIGHT) weights = fold<Sum>(weights, 0);
    else weights = CLASSES;
    if (lane == 0) {
        COMPUTE whole = most + log(total), result = REST * w_t * (whole - x_t);
        if constexpr (SMOOTH) result += SHARE * (weights * whole - weighted);
        put(lse, row, whole);
        put(loss, row, is_ignored ? (COMPUTE)0 : is_valid ? result : (COMPUTE)NAN);
    }
}

KERNEL(THREADS) cross_entropy_gradient(const T *x, const i64 *targets, const T *w, const STAT *lse, const LOSS *g, T *dx) {
    int row = blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES, lane = threadIdx.x % LANES;
    if (row >= ROWS) return;
    Row own((i64)row * CLASSES);
    x += (i64)row * CLASSES, dx += (i64)row * CLASSES;
    i64 t = targets[row];
    bool is_ignored = t == IGNORED, is_valid = t >= 0 && t < CLASSES && !is_ignored;
    COMPUTE weights = CLASSES, w_t = 1;
    if constexpr (HAS_WEIGHT && SMOOTH) {
        weights = 0;
        for (int c = lane; c < CLASSES; c += LANES) weights += get(w, c);
        weights = fold<Sum>(weights, 0);
    }
    if (HAS_WEIGHT && is_valid) w_t = get(w, t);
    // An ignored row is computed like others from zeros.
    COMPUTE slope = is_ignored ? (COMPUTE)0 : is_valid ? get(g, row) : (COMPUTE)NAN, shift = is_ignored ? (COMPUTE)0 : get(lse, row);
    COMPUTE scale = slope * (HAS_WEIGHT ? REST * w_t + SHARE * weights : (COMPUTE)1), share = slope * SHARE;

    // The thread that writes element t of the row writes it once more at the end, with what q has there.
    int place = (int)t - own.head, singles = place - own.packs * WIDTH;
    bool is_owner = is_valid && lane == (place < 0 ? (int)t : singles >= 0 ? singles : place / WIDTH % LANES);
    COMPUTE x_t = is_owner ? get(x, t) : (COMPUTE)0;

    auto result = [&](COMPUTE value, int c) -> COMPUTE {
        COMPUTE y = scale * power(value, shift);
        if constexpr (SMOOTH) {
            if constexpr (HAS_WEIGHT) y -= is_ignored ? (COMPUTE)0 : share * get(w, c);
            else y -= share;
        }
        return y;
    };
    if (lane < own.head) put(dx, lane, result(is_ignored ? (COMPUTE)0 : get(x, lane), lane));
    const Values *source = (const Values *)(x + own.head);
    Values *target = (Values *)(dx + own.head);
    for (int first = lane; first < own.packs; first += BATCH * LANES) {
        Values a[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            if (is_ignored) a[i] = Values{};
            else if (first + i * LANES < own.packs) a[i] = source[first + i * LANES];
        }
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            if (first + i * LANES >= own.packs) break;
            Values y;
#pragma unroll
            for (int j = 0; j < WIDTH; j++) put(y.x, j, result(get(a[i].x, j), own.head + (first + i * LANES) * WIDTH + j));
            target[first + i * LANES] = y;
        }
    }
    if (lane < own.rest) {
        int c = CLASSES - own.rest + lane;
        put(dx, c, result(is_ignored ? (COMPUTE)0 : get(x, c), c));
    }
    if (is_owner) put(dx, t, scale * power(x_t, shift) - slope * (REST + SHARE) * w_t);
}

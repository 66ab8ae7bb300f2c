// Exponentials of rows of contiguous memory [ROWS][COLUMNS], and their gradients.
//   KIND 0, softmax:              y = e^(x - top) / sum of e^(x - top), with top the greatest element of the row
//   KIND 1, log_softmax:          y = x - top - log of the sum of e^(x - top)
//   KIND 2, softmax_gradient:     y = x (g - sum of x g), where x is a softmax
//   KIND 3, log_softmax_gradient: y = g - e^x sum of g, where x is a log_softmax
// A row with NaN, with infinity, or of minus infinities only is NaN in kinds 0 and 1.
//
// Macros:
//   T, H      type in memory; type to compute with: float, or double where T is double
//   KIND; ROWS, COLUMNS (at least 1)
//   WIDTH     elements that one load takes: a power of two that divides COLUMNS, with WIDTH * sizeof(T) <= 16 a divisor of the addresses
//   LANES     threads for a row, a power of two up to 512
//   THREADS   of a block: LANES where that is more than 32, else a multiple of it
//   HELD      1 where a thread keeps its COLUMNS / LANES elements of a row in registers; else each pass reads them again
//
// softmax(x, g, y): grid ceil(ROWS / (THREADS / LANES)), block THREADS. g may be null in kinds 0 and 1. y may be x itself.

constexpr int PACKS = COLUMNS / WIDTH, EACH = (PACKS + LANES - 1) / LANES, SLOTS = HELD ? EACH : 1;
constexpr bool HAS_G = KIND >= 2;

DEVICE double power(double x) { return exp(x); }
DEVICE float power(float x) {
#ifndef SHIM
    // The fast exponential has the digits that 16 bits show.
    if constexpr (sizeof(T) == 2) return __expf(x);
#endif
    return expf(x);
}

template <class F> DEVICE H fold_lanes(H x, H first) {
    if constexpr (LANES > 32) return fold_block<F>(x, first);
    else {
#pragma unroll
        for (int step = LANES / 2; step > 0; step /= 2) x = F::of(x, __shfl_xor_sync(0xffffffffu, x, step));
        return x;
    }
}

// The elements of a thread in its row.
struct Own {
    const T *x, *g;
    int lane;
    H a[SLOTS][WIDTH], b[HAS_G ? SLOTS : 1][WIDTH];

    __device__ __forceinline__ void read(int slot, int pack) {
        load<WIDTH>(a[slot], x + (i64)pack * WIDTH, WIDTH);
        if constexpr (HAS_G) load<WIDTH>(b[slot], g + (i64)pack * WIDTH, WIDTH);
    }
    // Calls visit(slot, pack) for all packs. The first pass reads all of them before it looks at one.
    template <class V> __device__ __forceinline__ void pass(bool is_first, V visit) {
        if (HELD && is_first) {
#pragma unroll
            for (int i = 0; i < SLOTS; i++)
                if (i * LANES + lane < PACKS) read(i, i * LANES + lane);
        }
#pragma unroll (HELD ? SLOTS : 1)
        for (int i = 0; i < EACH; i++) {
            int pack = i * LANES + lane;
            if (pack >= PACKS) break;
            if (!HELD) read(0, pack);
            visit(HELD ? i : 0, pack);
        }
    }
};

KERNEL(THREADS) softmax(const T *x, const T *g, T *y) {
    i64 row = (i64)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
    bool is_inside = row < ROWS;
    // Threads beyond the last row take part in shuffles.
    if (!is_inside) row = ROWS - 1;
    Own own = {x + row * COLUMNS, HAS_G ? g + row * COLUMNS : g, (int)threadIdx.x % LANES};
    y += row * COLUMNS;
    H shift = 0, sum = 0;
    if constexpr (KIND < 2) {
        H top = -INFINITY;
        own.pass(true, [&](int slot, int) -> void {
#pragma unroll
            for (int j = 0; j < WIDTH; j++) top = own.a[slot][j] > top ? own.a[slot][j] : top;
        });
        shift = fold_lanes<Max>(top, (H)-INFINITY);
    }
    own.pass(KIND >= 2, [&](int slot, int) -> void {
#pragma unroll
        for (int j = 0; j < WIDTH; j++) {
            if constexpr (KIND == 0) sum += own.a[slot][j] = power(own.a[slot][j] - shift);
            else if constexpr (KIND == 1) sum += power(own.a[slot][j] - shift);
            else if constexpr (KIND == 2) sum += own.a[slot][j] * own.b[slot][j];
            else sum += own.b[slot][j];
        }
    });
    sum = fold_lanes<Sum>(sum, (H)0);
    if (!is_inside) return;
    H last = KIND == 0 ? 1 / sum : KIND == 1 ? log(sum) : sum;
    own.pass(false, [&](int slot, int pack) -> void {
#pragma unroll
        for (int j = 0; j < WIDTH; j++) {
            H &value = own.a[slot][j];
            if constexpr (KIND == 0) value = (HELD ? value : power(value - shift)) * last;
            else if constexpr (KIND == 1) value = value - shift - last;
            else if constexpr (KIND == 2) value = value * (own.b[slot][j] - last);
            else value = own.b[slot][j] - power(value) * last;
        }
        store<WIDTH>(y + (i64)pack * WIDTH, own.a[slot], WIDTH);
    });
}

// Reading and adding at indices along an axis.
//   gather:      y[o][k][i] = x[o][index[o][k][i]][i]; an index outside 0..N gives NaN (0 where T is no float)
//   scatter_add: y = x, then y[o][index[o][k][i]][i] += v[o][k][i]; an index outside 0..N adds nothing
//   others:      y = x, then FOLD instead of +; of the values for one place, in order of k
//   unscatter:   v[o][k][i] = x[o][index[o][k][i]][i] and y = x with 0 there; of several k with one place the last takes it, the others get 0
// x[OUTER][N][INNER], y[OUTER][K][INNER] of gather; x, y [OUTER][N][INNER], v[OUTER][K][INNER] of the others; index i64.
// (Two texts can come from this file, as not all macros have a meaning for both; those of the other may be 1.)
//
// Macros:
//   T, COMPUTE  type of x, y, v; type to compute in: float for bf16 and f16, else T
//   FOLD        Sum (where it is not defined), Times, Max, Min or Assign: how a value changes what is in its place
//   OUTER, N, K, INNER; IO, IK, II: strides of index in elements along o, k, i; 0 where it repeats
//   WIDTH       elements that one load takes: where II is 0 a power of two that divides INNER, with WIDTH * sizeof(T) <= 16 a divisor of
//               the addresses of x, y, v; the greatest is best. 1 where II is not 0.
//   ZERO        1: x of scatter_add is all zeros, and not read (it may be null); else 0
//   PIECE       positions that a block of scatter_sum adds, a power of two: 8 while OUTER * K <= 4096, 32 while it is at most 65536,
//               else 64
//
// gather(x, index, y): grid ceil(OUTER * K * INNER / WIDTH / 1024), block 256.
//
// scatter_add where II is not 0: scatter_begin, then scatter_columns.
// scatter_begin(index, x, y, sorted): grid 264 (any), block 1024; index and sorted may be null.
// scatter_columns(index, v, y): grid ceil(OUTER * INNER / 128), block 128.
//
// scatter_add where II is 0. Let M = OUTER * K (below 2^32, like OUTER * N), TILES = ceil(M / 1024). The positions o, k are sorted by the
// row of y that they go to, and by k within a row. Runs of one row are then added: short ones at once, parts of long ones to scratch.
//   scatter_begin(index, x, y, sorted): grid TILES + F, block 1024. Its first blocks sort tiles of 1024 positions, the others fill y.
//     F: the least of 264 and ceil(OUTER * N * INNER / WIDTH / 1024).
//   for (run = 1024; run < 1024 TILES; run *= 8)
//     scatter_merge(from, to, run): grid 32 TILES, block 256; merges groups of 8 sorted runs; the next one goes from `to` to `from`.
//   scatter_sum(sorted, x, v, y, partials): grid PIECES = ceil(M / PIECE), block: the least of 256 and INNER / WIDTH rounded up to 32.
//   scatter_pieces(sorted, partials, y): grid (ceil(PIECES / 4), ceil(INNER / 128)), block 256.
//   sorted, from, to: scratch, u64 [1024 TILES] each; partials: scratch, COMPUTE [PIECES][2][INNER].
//
// Others: y becomes x first; scatter_begin does both that and the sort, as above.
//   where II is not 0: scatter_columns(index, v, y), or take_columns(index, y, v): grid ceil(OUTER * INNER / 128), block 128.
//   where II is 0, from sorted positions: fold_rows(sorted, v, y), or take_rows(sorted, y, v): grid ceil(M * INNER / 256), block 256.
// No kernel needs dynamic shared memory. i64 run: the only argument that is no pointer.

#ifndef FOLD
#define FOLD Sum
#endif

// Of a new value and the old one.
struct Times { template <class H> static __device__ H of(H a, H b) { return a * b; } };
struct Assign { template <class H> static __device__ H of(H a, H) { return a; } };

// Indices are 32 bits wide where these suffice, because constants divide them faster.
template <bool IS_LARGE> struct Size { typedef u32 Type, Key; };
template <> struct Size<true> { typedef i64 Type; typedef u64 Key; };
typedef Size<((i64)OUTER * K * INNER >= (i64)1 << 31)>::Type Index;
typedef Pack<T, WIDTH> Values;
static_assert(INNER % WIDTH == 0 && (II == 0 || WIDTH == 1), "the width does not suit the rows");

constexpr int INNER_PACKS = INNER / WIDTH, TILE = 1024, OWN_PIECES = 4;
constexpr i64 M = (i64)OUTER * K, TILES = II == 0 ? (M + TILE - 1) / TILE : 0;
// What an index outside 0..N is sorted as: after all rows. Within a tile, a row and a place of 10 bits are 32 bits where they can be.
constexpr u32 NOWHERE = 0xffffffff;
constexpr bool IS_SMALL = (i64)OUTER * N < (1 << 22) - 1;
typedef Size<!IS_SMALL>::Key Key;
constexpr Key LAST_KEY = (Key)(IS_SMALL ? (1u << 22) - 1 : NOWHERE);

DEVICE float no_number(float) { return NAN; }
DEVICE double no_number(double) { return NAN; }
template <class H> DEVICE H no_number(H) { return 0; }

KERNEL(256) gather(const T *x, const i64 *index, T *y) {
    constexpr int EACH = 4;
    constexpr Index COUNT = (Index)M * INNER_PACKS;
    Index first = (Index)blockIdx.x * (EACH * 256) + threadIdx.x;
    Values values[EACH];
    i64 rows[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        Index n = first + e * 256;
        if (n >= COUNT) break;
        Index k = n / INNER_PACKS % K, o = n / INNER_PACKS / K;
        rows[e] = index[(i64)o * IO + (i64)k * IK + (i64)(n % INNER_PACKS) * II];
    }
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        Index n = first + e * 256;
        if (n >= COUNT) break;
        Index o = n / INNER_PACKS / K;
        if (rows[e] >= 0 && rows[e] < N) values[e] = ((const Values *)x)[((i64)o * N + rows[e]) * INNER_PACKS + n % INNER_PACKS];
        else
#pragma unroll
            for (int j = 0; j < WIDTH; j++) put(values[e].x, j, no_number((COMPUTE)0));
    }
#pragma unroll
    for (int e = 0; e < EACH; e++)
        if (first + e * 256 < COUNT) ((Values *)y)[first + e * 256] = values[e];
}

KERNEL(1024) scatter_begin(const i64 *index, const T *x, T *y, u64 *sorted) {
    if (blockIdx.x >= TILES) {
        constexpr i64 COUNT = (i64)OUTER * N * INNER_PACKS;
        i64 step = (i64)(gridDim.x - TILES) * 1024;
#pragma unroll 4
        for (i64 n = (i64)(blockIdx.x - TILES) * 1024 + threadIdx.x; n < COUNT; n += step) {
            Values a = {};
            if constexpr (!ZERO) a = ((const Values *)x)[n];
            ((Values *)y)[n] = a;
        }
        return;
    }
    // A bitonic sort, an element a thread. The place in the tile, in the low bits, makes all elements different, and keeps equal rows in
    // order.
    __shared__ Key tile[TILE];
    int own = threadIdx.x;
    i64 position = (i64)blockIdx.x * TILE + own;
    Key value = LAST_KEY;
    if (position < M) {
        i64 o = position / K, n = index[o * IO + position % K * IK];
        if (n >= 0 && n < N) value = (Key)(o * N + n);
    }
    value = value << 10 | (Key)own;
    for (int size = 2; size <= TILE; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            Key other;
            if (step >= 32) {
                __syncthreads();
                tile[own] = value;
                __syncthreads();
                other = tile[own ^ step];
            } else other = __shfl_xor_sync(0xffffffffu, value, step);
            bool keeps_less = ((own & step) == 0) == ((own & size) == 0);
            if ((other < value) == keeps_less) value = other;
        }
    u32 row = value >> 10 == LAST_KEY ? NOWHERE : (u32)(value >> 10);
    sorted[position] = (u64)row << 32 | (u32)((i64)blockIdx.x * TILE + (i64)(value & 1023));
}

KERNEL(256) scatter_merge(const u64 *from, u64 *to, i64 run) {
    constexpr u32 COUNT = (u32)(TILES * TILE);
    // A warp per run of the group: how many of its elements are less than each of 32 elements.
    __shared__ u32 less[8][32];
    u32 lane = threadIdx.x % 32, r = threadIdx.x / 32, size = (u32)run;
    u32 own = blockIdx.x * 32 + lane, group = own / size / 8 * 8, start = (group + r) * size, place = own % size;
    u64 value = from[own];
    if (own / size != group + r) {
        place = 0;
        u32 end = start + size < COUNT ? start + size : COUNT;
        for (u32 step = size; step > 0; step /= 2) {
            u32 next = start + place + step;
            if (next <= end && from[next - 1] < value) place += step;
        }
    }
    less[r][lane] = place;
    __syncthreads();
    if (r > 0) return;
    place = group * size;
#pragma unroll
    for (int i = 0; i < 8; i++) place += less[i][lane];
    to[place] = value;
}

DEVICE u32 row_of(u64 element) { return (u32)(element >> 32); }

KERNEL(256) scatter_sum(const u64 *sorted, const T *x, const T *v, T *y, COMPUTE *partials) {
    constexpr int BATCH = PIECE < 8 ? PIECE : 8;
    // The piece with its neighbours, as NOWHERE where there are none.
    __shared__ u64 elements[PIECE + 2];
    __shared__ int is_first[PIECE], is_last[PIECE];
    __shared__ COMPUTE *targets[PIECE];
    constexpr u64 NONE = (u64)NOWHERE << 32;
    i64 begin = (i64)blockIdx.x * PIECE;
    for (int i = threadIdx.x; i < PIECE + 2; i += blockDim.x) {
        i64 position = begin + i - 1;
        elements[i] = position >= 0 && position < M ? sorted[position] : NONE;
    }
    __syncthreads();
    // Where the run that ends at an element goes: null for y, or to the partial sums of the piece, the first ones for a run that began
    // before the piece, the second ones for a run that begins in it and goes on behind it.
    u32 before = row_of(elements[0]), after = row_of(elements[PIECE + 1]);
    for (int i = threadIdx.x; i < PIECE; i += blockDim.x) {
        u32 row = row_of(elements[i + 1]);
        is_first[i] = i == 0 ? row != before : row != row_of(elements[i]);
        is_last[i] = i == PIECE - 1 || row != row_of(elements[i + 2]);
        targets[i] = row == before ? partials + begin / PIECE * (2 * INNER)
            : row == after ? partials + (begin / PIECE * 2 + 1) * INNER : nullptr;
    }
    __syncthreads();
    for (int c = threadIdx.x; c < INNER_PACKS; c += blockDim.x) {
        COMPUTE sums[WIDTH] = {};
        for (int first = 0; first < PIECE; first += BATCH) {
            Values a[BATCH];
#pragma unroll
            for (int i = 0; i < BATCH; i++) {
                u64 element = elements[first + i + 1];
                if (row_of(element) != NOWHERE) a[i] = ((const Values *)v)[(i64)(u32)element * INNER_PACKS + c];
            }
#pragma unroll
            for (int i = 0; i < BATCH; i++) {
                int e = first + i;
                u32 row = row_of(elements[e + 1]);
                if (row == NOWHERE) break;
                if (is_first[e]) {
                    Values old = {};
                    if constexpr (!ZERO) old = ((const Values *)x)[(i64)row * INNER_PACKS + c];
#pragma unroll
                    for (int j = 0; j < WIDTH; j++) sums[j] = get(old.x, j);
                }
#pragma unroll
                for (int j = 0; j < WIDTH; j++) sums[j] += get(a[i].x, j);
                if (!is_last[e]) continue;
                if (targets[e]) {
#pragma unroll
                    for (int j = 0; j < WIDTH; j++) targets[e][c * WIDTH + j] = sums[j];
                } else {
                    Values result;
#pragma unroll
                    for (int j = 0; j < WIDTH; j++) put(result.x, j, sums[j]);
                    ((Values *)y)[(i64)row * INNER_PACKS + c] = result;
                }
            }
        }
    }
}

// Runs that end in a later piece than they begin in: the block of the piece where one begins adds its parts.
KERNEL(256) scatter_pieces(const u64 *sorted, const COMPUTE *partials, T *y) {
    constexpr i64 PIECES = (M + PIECE - 1) / PIECE, WHOLE = INNER;
    constexpr int EACH = 4, COLUMNS = 32 * EACH;
    __shared__ COMPUTE totals[8][COLUMNS];
    // The row of a run that begins in a piece of the block and goes on behind it; else NOWHERE.
    __shared__ u32 rows[OWN_PIECES];
    if (threadIdx.x < OWN_PIECES) {
        i64 begin = ((i64)blockIdx.x * OWN_PIECES + threadIdx.x) * PIECE, end = begin + PIECE;
        u32 row = NOWHERE;
        if (end < M) {
            u64 before = begin > 0 ? sorted[begin - 1] : (u64)NOWHERE << 32, last = sorted[end - 1], after = sorted[end];
            if (row_of(last) == row_of(after) && row_of(before) != row_of(last)) row = row_of(last);
        }
        rows[threadIdx.x] = row;
    }
    __syncthreads();
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = blockIdx.y * COLUMNS;
    for (int own = 0; own < OWN_PIECES; own++) {
        u32 row = rows[own];
        if (row == NOWHERE) continue;
        // The last piece that begins with the row: all pieces between do.
        i64 piece = (i64)blockIdx.x * OWN_PIECES + own, last = piece;
        for (int found = 256; found == 256; last += found) {
            i64 p = last + 1 + threadIdx.x;
            found = fold_block<Sum>(p < PIECES && row_of(sorted[p * PIECE]) == row ? 1 : 0, 0);
        }
        // The part in the first piece is the second of two.
        COMPUTE sums[EACH] = {};
#pragma unroll 4
        for (i64 p = piece + warp; p <= last; p += 8)
#pragma unroll
            for (int e = 0; e < EACH; e++)
                if (first + e * 32 + lane < INNER) sums[e] += partials[(2 * p + (p == piece)) * WHOLE + first + e * 32 + lane];
#pragma unroll
        for (int e = 0; e < EACH; e++) totals[warp][e * 32 + lane] = sums[e];
        __syncthreads();
        int c = threadIdx.x;
        if (c < COLUMNS && first + c < INNER) {
            COMPUTE total = totals[0][c];
#pragma unroll
            for (int i = 1; i < 8; i++) total += totals[i][c];
            put(y, row * WHOLE + first + c, total);
        }
        __syncthreads();
    }
}

KERNEL(256) fold_rows(const u64 *sorted, const T *v, T *y) {
    i64 n = (i64)blockIdx.x * 256 + threadIdx.x, p = n / INNER, i = n % INNER;
    if (p >= M) return;
    u32 row = row_of(sorted[p]);
    // The first of a run goes through it.
    if (row == NOWHERE || (p > 0 && row_of(sorted[p - 1]) == row)) return;
    COMPUTE value = get(y, (i64)row * INNER + i);
    for (; p < M && row_of(sorted[p]) == row; p++) value = FOLD::of((COMPUTE)get(v, (i64)(u32)sorted[p] * INNER + i), value);
    put(y, (i64)row * INNER + i, value);
}

KERNEL(256) take_rows(const u64 *sorted, T *y, T *v) {
    i64 n = (i64)blockIdx.x * 256 + threadIdx.x, p = n / INNER, i = n % INNER;
    if (p >= M) return;
    u32 row = row_of(sorted[p]);
    COMPUTE value = no_number((COMPUTE)0);
    if (row != NOWHERE) {
        value = 0;
        if (p + 1 == M || row_of(sorted[p + 1]) != row) {
            value = get(y, (i64)row * INNER + i);
            put(y, (i64)row * INNER + i, (COMPUTE)0);
        }
    }
    put(v, (i64)(u32)sorted[p] * INNER + i, value);
}

// Calls f(target, place) for the column of this thread, in order of k or from the last on.
template <class F> DEVICE void each_of_column(const i64 *index, bool is_reversed, F f) {
    i64 column = (i64)blockIdx.x * 128 + threadIdx.x, o = column / INNER, i = column % INNER;
    if (o >= OUTER) return;
    for (i64 step = 0; step < K; step++) {
        i64 k = is_reversed ? K - 1 - step : step, n = index[o * IO + k * IK + i * II];
        f(n >= 0 && n < N ? (o * N + n) * INNER + i : -1, (o * K + k) * INNER + i);
    }
}

KERNEL(128) scatter_columns(const i64 *index, const T *v, T *y) {
    each_of_column(index, false, [&](i64 target, i64 place) {
        if (target >= 0) put(y, target, FOLD::of((COMPUTE)get(v, place), (COMPUTE)get(y, target)));
    });
}

KERNEL(128) take_columns(const i64 *index, T *y, T *v) {
    each_of_column(index, true, [&](i64 target, i64 place) {
        put(v, place, target < 0 ? no_number((COMPUTE)0) : (COMPUTE)get(y, target));
        if (target >= 0) put(y, target, (COMPUTE)0);
    });
}

// Sum of a contiguous tensor x over any of its axes. Neighbouring axes that are all kept or all summed count as one; then at most two
// kept axes and two summed axes may alternate. y[k0][k1] = sum over s0, s1 of x at k0, k1, s0, s1.
//
// Macros:
//   T, ACC, OUT   type of x; type to add in (float for float and bf16, double, i64); type of y
//   KEPT0, KEPT1, SUMMED0, SUMMED1: sizes, the slower axis of a pair first; KEPT0_STRIDE .. SUMMED1_STRIDE: elements of x between
//              neighbours. An axis that is not there has size 1 and stride 0.
//              x[N][C][HW] over N and HW: KEPT0 1 (stride 0), KEPT1 C (HW), SUMMED0 N (C HW), SUMMED1 HW (1).
//   WIDTH      elements that one load takes: the greatest power of two that divides the last axis of x (KEPT1 or SUMMED1, the one with
//              stride 1), with WIDTH * sizeof(T) <= 16 and a divisor of the address of x. 1 is always right.
//   PARTS      pieces of each sum, in blocks of their own. With PARTS 1 the sums go to y, and sum_parts is not needed.
//   LANES      sum_rows: threads for a sum, a power of two up to 32, or 256. (1 where sum_columns is used.)
//   COLUMNS    sum_columns: threads side by side along kept elements, a power of two up to 256. (1 where sum_rows is used.)
//
// Which kernel: sum_rows where the last axis is summed, sum_columns where it is kept. Let K = KEPT0 * KEPT1, S = SUMMED0 * SUMMED1 (all
// elements of a sum), and P the processors (132).
// sum_rows(x, y, scratch): grid (ceil(K / (256 / LANES)), PARTS), block 256.
//   LANES: with n = S / WIDTH, 256 where n > 1024, else the least power of two that is at least n / 4, at most 32.
//   PARTS: with LANES 256, the least of ceil(8 P / K) and ceil(n / 1024); else 1.
// sum_columns(x, y, scratch): grid (ceil(K / WIDTH / COLUMNS), PARTS), block 256.
//   COLUMNS: begin with 256 and halve it while half of it covers K / WIDTH, or while it is more than 32 and 256 / COLUMNS < S / 8.
//   PARTS: 1 where grid.x > 1.5 P; else the least of ceil(4 P / grid.x) and ceil(S / (8 * 256 / COLUMNS)).
// sum_parts(scratch, y): where PARTS > 1, after the other. grid ceil(K / 32) where K > 16, else 1; block 256.
//   scratch: ACC [PARTS][K]; it may be null where PARTS is 1.
// No kernel needs dynamic shared memory.

constexpr i64 KEPT = (i64)KEPT0 * KEPT1, SUMMED = (i64)SUMMED0 * SUMMED1;
constexpr int BATCH = 4;
typedef Pack<T, WIDTH> Values;
static_assert((LANES > 1 || COLUMNS == 1 ? SUMMED1 : KEPT1) % WIDTH == 0 || WIDTH == 1, "the width does not suit the last axis");

// Indices are 32 bits wide where these suffice, because constants divide them faster.
template <bool IS_LARGE> struct Width { typedef u32 Type; };
template <> struct Width<true> { typedef i64 Type; };
typedef Width<(KEPT * SUMMED >= (i64)1 << 31)>::Type Index;

// The piece of a sum of `count` steps that is this block's.
struct Piece {
    Index begin, end;
    __device__ Piece(Index count) {
        Index size = (count + PARTS - 1) / PARTS;
        begin = blockIdx.y * size, end = begin + size < count ? begin + size : count;
    }
};

DEVICE void write(OUT *y, ACC *scratch, Index k, ACC total) {
    if constexpr (PARTS == 1) put(y, k, total);
    else scratch[(i64)blockIdx.y * KEPT + k] = total;
}

KERNEL(256) sum_rows(const T *x, OUT *y, ACC *scratch) {
    constexpr Index PACKS = SUMMED1 / WIDTH > 0 ? SUMMED1 / WIDTH : 1;
    Index k = (Index)blockIdx.x * (256 / LANES) + threadIdx.x / LANES;
    bool is_inside = k < KEPT;
    if (!is_inside) k = KEPT - 1;
    x += (i64)(k / KEPT1) * KEPT0_STRIDE + (i64)(k % KEPT1) * KEPT1_STRIDE;
    Piece own(SUMMED > 0 ? (Index)SUMMED0 * PACKS : 0);

    ACC sums[WIDTH] = {};
    for (Index first = own.begin + threadIdx.x % LANES; first < own.end; first += BATCH * LANES) {
        Values a[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            Index s = first + i * LANES;
            if (s < own.end) a[i] = *(const Values *)(x + (i64)(s / PACKS) * SUMMED0_STRIDE + s % PACKS * WIDTH);
        }
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            if (first + i * LANES >= own.end) break;
#pragma unroll
            for (int j = 0; j < WIDTH; j++) sums[j] += get(a[i].x, j);
        }
    }
    ACC total = sums[0];
#pragma unroll
    for (int j = 1; j < WIDTH; j++) total += sums[j];
    if constexpr (LANES == 256) total = fold_block<Sum>(total, (ACC)0);
    else {
#pragma unroll
        for (int step = LANES / 2; step > 0; step /= 2) total += __shfl_xor_sync(0xffffffffu, total, step);
    }
    if (is_inside && threadIdx.x % LANES == 0) write(y, scratch, k, total);
}

KERNEL(256) sum_columns(const T *x, OUT *y, ACC *scratch) {
    constexpr Index PACKS = KEPT1 / WIDTH > 0 ? KEPT1 / WIDTH : 1, ALL = (Index)KEPT0 * PACKS;
    constexpr int ROWS = 256 / COLUMNS;
    __shared__ ACC totals[WIDTH][256];
    Index k = (Index)blockIdx.x * COLUMNS + threadIdx.x % COLUMNS;
    bool is_inside = k < ALL;
    if (!is_inside) k = ALL - 1;
    x += (i64)(k / PACKS) * KEPT0_STRIDE + k % PACKS * WIDTH;
    Piece own((Index)SUMMED);

    ACC sums[WIDTH] = {};
    for (Index first = own.begin + threadIdx.x / COLUMNS; first < own.end; first += BATCH * ROWS) {
        Values a[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            Index s = first + i * ROWS;
            if (s < own.end) a[i] = *(const Values *)(x + (i64)(s / SUMMED1) * SUMMED0_STRIDE + (i64)(s % SUMMED1) * SUMMED1_STRIDE);
        }
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            if (first + i * ROWS >= own.end) break;
#pragma unroll
            for (int j = 0; j < WIDTH; j++) sums[j] += get(a[i].x, j);
        }
    }
#pragma unroll
    for (int j = 0; j < WIDTH; j++) totals[j][threadIdx.x] = sums[j];
#pragma unroll
    for (int step = 128; step >= COLUMNS; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
#pragma unroll
            for (int j = 0; j < WIDTH; j++) totals[j][threadIdx.x] += totals[j][threadIdx.x + step];
    }
    if (is_inside && threadIdx.x < COLUMNS)
#pragma unroll
        for (int j = 0; j < WIDTH; j++) write(y, scratch, k * WIDTH + j, totals[j][threadIdx.x]);
}

KERNEL(256) sum_parts(const ACC *scratch, OUT *y) {
    constexpr int COLUMNS_HERE = KEPT > 16 ? 32 : KEPT > 8 ? 16 : KEPT > 4 ? 8 : KEPT > 2 ? 4 : KEPT > 1 ? 2 : 1;
    __shared__ ACC totals[256];
    i64 k = (i64)blockIdx.x * COLUMNS_HERE + threadIdx.x % COLUMNS_HERE;
    ACC total = 0;
    if (k < KEPT)
#pragma unroll 8
        for (int part = threadIdx.x / COLUMNS_HERE; part < PARTS; part += 256 / COLUMNS_HERE) total += scratch[part * KEPT + k];
    totals[threadIdx.x] = total;
#pragma unroll
    for (int step = 128; step >= COLUMNS_HERE; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) totals[threadIdx.x] += totals[threadIdx.x + step];
    }
    if (k < KEPT && threadIdx.x < COLUMNS_HERE) put(y, k, totals[threadIdx.x]);
}

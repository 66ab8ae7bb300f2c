// Normalization of rows. x[ROWS][COLS], every row alone:
//   CENTERED 1 (layer norm): m = mean x, r = 1 / sqrt(mean (x - m)^2 + EPSILON), y = (x - m) r w + b
//   CENTERED 0 (RMS norm):   m = 0,      r = 1 / sqrt(mean x^2 + EPSILON),       y = x r w + b
// and its gradient: with u = (x - m) r and h = dy w,
//   dx = r (h - mean h - u mean(h u)), without mean h where CENTERED is 0; dw[c] = sum over rows of dy u; db[c] = sum over rows of dy.
//
// Macros:
//   T         type of x, w, b, y and their gradients: float, double or bf16
//   COMPUTE   type to compute with: float, or double where T is double
//   STAT      type of m and r in memory
//   RESULT    type of y, SLOPE type of dy: T, or bf16 where T is float
//   ADDEND    type of an addend a[ROWS][COLS], or T; HAS_ADDEND: 0 or 1. With one, norm_rows normalises x + a and also writes the sum, and
//             norm_gradient writes dx + a instead of dx. Only where COLS <= 4096 and T is float.
//   HAS_COPY  0 or 1: norm_gradient also writes dx + a as bf16
//   STAGES    rows that norm_gradient has in shared memory, for each group of lanes: 2 or 3
//   ROWS, COLS; EPSILON, a number; CENTERED, HAS_WEIGHT, HAS_BIAS: 0 or 1
//   ALIGN     bytes, a power of two that divides every address given (16 for whole buffers; sizeof(T) is always right)
//   PARTS     blocks of norm_gradient; any number from 1 on is right (norm_rows does not look at it)
// A pointer that the macros leave without use (m, w, b, dw, db, addend, sum, copy) may be null. The sum and dx may be where the
// addend is, and dx and the copy where x or dy of the same type is.
//
// norm_rows(x, w, b, y, m, r, addend, sum)
//   COLS * sizeof(COMPUTE) <= 4096: grid ceil(ROWS / 4), block 128 (a warp per row).
//   else: grid ROWS, block 256 where COLS <= 4096, 512 where COLS <= 16384, 1024 above.
// norm_gradient(x, w, m, r, dy, dx, addend, copy, scratch): grid PARTS. Let n = COLS * sizeof(COMPUTE).
//   block: 256 where n <= 4096 or COLS <= 4096, else 512.
//   bytes of dynamic shared memory: STAGES * G * COLS * (sizeof(T) + sizeof(SLOPE) + HAS_ADDEND * sizeof(ADDEND)), and no less than G * COLS * sizeof(COMPUTE), with G = 8 where n <= 4096 (a warp per row) and 1 above (a block per row);
//   0 where n > 32768. That is at most 196608 with 2 stages or no addend.
//   PARTS: the processors (132), twice as many where n > 4096 and COLS <= 2048; but not more than ceil(ROWS / G).
//   scratch: COMPUTE [HAS_WEIGHT + HAS_BIAS][PARTS][COLS], sums of dw, then of db.
// norm_gradient_columns(x, m, r, dy, scratch): only where n > 32768 and w or b is there; writes scratch, which norm_gradient then does not.
//   grid (ceil(COLS / 256), PARTS), block 256.
// norm_gradient_sum(scratch, dw, db): after these, where w or b is there.
//   grid (ceil(COLS / 32), HAS_WEIGHT + HAS_BIAS), block 1024.
// All but norm_gradient need no dynamic shared memory.

constexpr bool NARROW = COLS * sizeof(COMPUTE) <= 4096;
constexpr int THREADS = NARROW ? 128 : COLS <= 4096 ? 256 : COLS <= 16384 ? 512 : 1024;
constexpr int LANES = NARROW ? 32 : THREADS;
constexpr int GRADIENT_THREADS = NARROW || COLS <= 4096 ? 256 : 512;
constexpr int GRADIENT_LANES = NARROW ? 32 : GRADIENT_THREADS, GROUPS = GRADIENT_THREADS / GRADIENT_LANES;
// Whether the weights and the sums of a block's columns fit into its registers, and some rows into shared memory.
constexpr bool FITS = COLS * sizeof(COMPUTE) <= 32768, KEEP_WEIGHT = FITS && HAS_WEIGHT;

// A sum that is rounded by itself, as where a loop adds: the compiler makes no product a part of it.
DEVICE COMPUTE plain_sum(COMPUTE a, COMPUTE b) {
#ifndef SHIM
    if constexpr (sizeof(COMPUTE) == 4) return __fadd_rn(a, b);
#endif
    return a + b;
}

// The most elements that one load may take: all lanes should have work.
DEVICE constexpr int width_for(int lanes) {
    int width = 1;
    int most = (ALIGN < 16 ? ALIGN : 16) / sizeof(T);
    while (2 * width <= most && COLS % (2 * width) == 0 && COLS / (2 * width) >= lanes) width *= 2;
    return width;
}

template <int COUNT> DEVICE COMPUTE fold(COMPUTE x) {
    if constexpr (COUNT == 32) return fold_warp<Sum>(x);
    else return fold_block<Sum>(x, (COMPUTE)0);
}

KERNEL(THREADS) norm_rows(const T *x, const T *w, const T *b, RESULT *y, STAT *m, STAT *r, const ADDEND *addend, T *sum) {
    constexpr int WIDTH = width_for(LANES), PACKS = COLS / WIDTH, ROUNDS = (PACKS + LANES - 1) / LANES;
    // Rows too long for registers are read once for every pass.
    constexpr bool KEEP = COLS * sizeof(T) <= 128 * LANES;
    typedef Pack<T, WIDTH> Values;
    int lane = threadIdx.x % LANES, row = blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
    if (row >= ROWS) return;
    const Values *source = (const Values *)(x + (i64)row * COLS);
    typedef Pack<RESULT, WIDTH> Results;
    Results *target = (Results *)(y + (i64)row * COLS);

    Values kept[KEEP ? ROUNDS : 1];
    if constexpr (KEEP) {
#pragma unroll
        for (int i = 0; i < ROUNDS; i++)
            if (lane + i * LANES < PACKS) kept[i] = source[lane + i * LANES];
    }
    if constexpr (HAS_ADDEND) {
        static_assert(KEEP, "sums are kept");
        typedef Pack<ADDEND, WIDTH> Addends;
        const Addends *addends = (const Addends *)(addend + (i64)row * COLS);
#pragma unroll
        for (int i = 0; i < ROUNDS; i++) {
            if (lane + i * LANES >= PACKS) break;
            Addends more = addends[lane + i * LANES];
#pragma unroll
            for (int j = 0; j < WIDTH; j++) put(kept[i].x, j, plain_sum(get(kept[i].x, j), get(more.x, j)));
            ((Values *)(sum + (i64)row * COLS))[lane + i * LANES] = kept[i];
        }
    }
    auto values = [&](int i) -> Values {
        if constexpr (KEEP) return kept[i];
        else return source[lane + i * LANES];
    };

    COMPUTE mean = 0, squares = 0;
    if constexpr (CENTERED) {
#pragma unroll(KEEP ? ROUNDS : 4)
        for (int i = 0; i < ROUNDS; i++) {
            if (lane + i * LANES >= PACKS) break;
            Values a = values(i);
#pragma unroll
            for (int j = 0; j < WIDTH; j++) mean += get(a.x, j);
        }
        mean = fold<LANES>(mean) * ((COMPUTE)1 / COLS);
    }
#pragma unroll(KEEP ? ROUNDS : 4)
    for (int i = 0; i < ROUNDS; i++) {
        if (lane + i * LANES >= PACKS) break;
        Values a = values(i);
#pragma unroll
        for (int j = 0; j < WIDTH; j++) {
            COMPUTE difference = get(a.x, j) - mean;
            squares += difference * difference;
        }
    }
    COMPUTE rate = (COMPUTE)1 / sqrt(fold<LANES>(squares) * ((COMPUTE)1 / COLS) + (COMPUTE)EPSILON);
    if (lane == 0) {
        if constexpr (CENTERED) put(m, row, mean);
        put(r, row, rate);
    }
#pragma unroll(KEEP ? ROUNDS : 4)
    for (int i = 0; i < ROUNDS; i++) {
        int pack = lane + i * LANES;
        if (pack >= PACKS) break;
        Values a = values(i), weight, bias;
        Results result;
        if constexpr (HAS_WEIGHT) weight = ((const Values *)w)[pack];
        if constexpr (HAS_BIAS) bias = ((const Values *)b)[pack];
#pragma unroll
        for (int j = 0; j < WIDTH; j++) {
            COMPUTE value = (get(a.x, j) - mean) * rate;
            if constexpr (HAS_WEIGHT) value *= get(weight.x, j);
            if constexpr (HAS_BIAS) value += get(bias.x, j);
            put(result.x, j, value);
        }
        store_pack((RESULT *)(target + pack), result);
    }
}

// Sums two numbers over the lanes of a row. One barrier is enough for a block, because rows take turns with the two buffers.
DEVICE void fold_two(COMPUTE &a, COMPUTE &b, int turn) {
    a = fold_warp<Sum>(a), b = fold_warp<Sum>(b);
    if constexpr (GRADIENT_LANES > 32) {
        constexpr int WARPS = GRADIENT_THREADS / 32;
        __shared__ COMPUTE warps[2][2][WARPS];
        int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        if (lane == 0) warps[turn][0][warp] = a, warps[turn][1][warp] = b;
        __syncthreads();
        a = fold_warp<Sum>(lane < WARPS ? warps[turn][0][lane] : (COMPUTE)0);
        b = fold_warp<Sum>(lane < WARPS ? warps[turn][1][lane] : (COMPUTE)0);
    }
}

// Copies to shared memory while the thread goes on; end_copies marks a group of copies, and wait_copies waits for all but the last groups.
template <class V> DEVICE void copy_ahead(V *to, const V *from) {
#ifndef SHIM
    u32 address = (u32)__cvta_generic_to_shared(to);
    if constexpr (sizeof(V) == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
    else if constexpr (sizeof(V) >= 4)
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(from), "n"((int)sizeof(V)) : "memory");
    else *to = *from;
#else
    *to = *from;
#endif
}
DEVICE void end_copies() {
#ifndef SHIM
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int LAST> DEVICE void wait_copies() {
#ifndef SHIM
    asm volatile("cp.async.wait_group %0;" ::"n"(LAST) : "memory");
#endif
}

// Writes the sums of the block's columns: those of its groups of lanes, in order.
template <int ROUNDS, int WIDTH> DEVICE void sum_groups(const COMPUTE (&sums)[ROUNDS][WIDTH], COMPUTE *groups, COMPUTE *target) {
    int lane = threadIdx.x % GRADIENT_LANES, group = threadIdx.x / GRADIENT_LANES;
    COMPUTE *own = GROUPS > 1 ? groups + group * COLS : target;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) {
        if ((lane + i * GRADIENT_LANES) * WIDTH >= COLS) break;
#pragma unroll
        for (int j = 0; j < WIDTH; j++) own[(lane + i * GRADIENT_LANES) * WIDTH + j] = sums[i][j];
    }
    if constexpr (GROUPS > 1) {
        __syncthreads();
        for (int c = threadIdx.x; c < COLS; c += GRADIENT_THREADS) {
            COMPUTE total = 0;
#pragma unroll
            for (int i = 0; i < GROUPS; i++) total += groups[i * COLS + c];
            target[c] = total;
        }
    }
}

KERNEL(GRADIENT_THREADS) norm_gradient(const T *x, const T *w, const STAT *m, const STAT *r, const SLOPE *dy, T *dx, const ADDEND *addend,
    bf16 *copy, COMPUTE *scratch) {
#ifdef SHIM
    char *memory = shim_dynamic;
#else
    extern __shared__ __align__(1024) char memory[];
#endif
    constexpr int LANES = GRADIENT_LANES, WIDTH = width_for(LANES), PACKS = COLS / WIDTH, ROUNDS = (PACKS + LANES - 1) / LANES;
    constexpr bool SUM_W = FITS && HAS_WEIGHT, SUM_B = FITS && HAS_BIAS;
    constexpr int STEP = PARTS * GROUPS;
    typedef Pack<T, WIDTH> Values;
    typedef Pack<SLOPE, WIDTH> Slopes;
    typedef Pack<ADDEND, WIDTH> Addends;
    static_assert(FITS || !HAS_ADDEND, "rows with an addend fit");
    int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;

    COMPUTE sum_w[SUM_W ? ROUNDS : 1][WIDTH] = {}, sum_b[SUM_B ? ROUNDS : 1][WIDTH] = {};
    Values weights[KEEP_WEIGHT ? ROUNDS : 1];
    if constexpr (KEEP_WEIGHT) {
#pragma unroll
        for (int i = 0; i < ROUNDS; i++)
            if (lane + i * LANES < PACKS) weights[i] = ((const Values *)w)[lane + i * LANES];
    }
    // Rows of x and dy come into shared memory some rows ahead. A thread reads only what it copied itself.
    auto stage = [&](int number) -> Values * { return (Values *)memory + (number * GROUPS + group) * PACKS; };
    auto slope_stage = [&](int number) -> Slopes * {
        return (Slopes *)((Values *)memory + STAGES * GROUPS * PACKS) + (number * GROUPS + group) * PACKS;
    };
    auto addend_stage = [&](int number) -> Addends * {
        return (Addends *)((Slopes *)((Values *)memory + STAGES * GROUPS * PACKS) + STAGES * GROUPS * PACKS) + (number * GROUPS + group) * PACKS;
    };
    auto fetch = [&](int row, int number) -> void {
        if constexpr (FITS) {
            if (row < ROWS) {
                i64 start = (i64)row * COLS;
#pragma unroll
                for (int i = 0; i < ROUNDS; i++) {
                    int pack = lane + i * LANES;
                    if (pack >= PACKS) break;
                    copy_ahead(stage(number) + pack, (const Values *)(x + start) + pack);
                    copy_ahead(slope_stage(number) + pack, (const Slopes *)(dy + start) + pack);
                    if constexpr (HAS_ADDEND) copy_ahead(addend_stage(number) + pack, (const Addends *)(addend + start) + pack);
                }
            }
            end_copies();
        }
    };
    int row = blockIdx.x * GROUPS + group, turn = 0, number = 0;
#pragma unroll
    for (int i = 0; i < STAGES - 1; i++) fetch(row + i * STEP, i);
    COMPUTE next_rate = 0, next_shift = 0;
    auto fetch_statistics = [&](int row) -> void {
        if (row >= ROWS) return;
        next_rate = get(r, row);
        if constexpr (CENTERED) next_shift = get(m, row);
    };
    fetch_statistics(row);

    for (; row < ROWS; row += STEP, turn ^= 1) {
        i64 start = (i64)row * COLS;
        COMPUTE rate = next_rate, shift = next_shift;
        fetch_statistics(row + STEP);
        const Values *source = (const Values *)(x + start);
        const Slopes *slopes = (const Slopes *)(dy + start);
        const Addends *addends = nullptr;
        if constexpr (FITS) {
            fetch(row + (STAGES - 1) * STEP, number == 0 ? STAGES - 1 : number - 1);
            wait_copies<STAGES - 1>();
            source = stage(number), slopes = slope_stage(number), addends = addend_stage(number);
            number = number == STAGES - 1 ? 0 : number + 1;
        }
        COMPUTE mean_h = 0, mean_hu = 0;
#pragma unroll(FITS ? ROUNDS : 2)
        for (int i = 0; i < ROUNDS; i++) {
            int pack = lane + i * LANES;
            if (pack >= PACKS) break;
            Values a = source[pack], weight;
            Slopes slope = slopes[pack];
            if constexpr (HAS_WEIGHT) weight = KEEP_WEIGHT ? weights[KEEP_WEIGHT ? i : 0] : ((const Values *)w)[pack];
#pragma unroll
            for (int j = 0; j < WIDTH; j++) {
                COMPUTE u = (get(a.x, j) - shift) * rate, g = get(slope.x, j), h = g;
                if constexpr (HAS_WEIGHT) h *= get(weight.x, j);
                if constexpr (CENTERED) mean_h += h;
                mean_hu += h * u;
                if constexpr (SUM_W) sum_w[i][j] += g * u;
                if constexpr (SUM_B) sum_b[i][j] += g;
            }
        }
        fold_two(mean_h, mean_hu, turn);
        mean_h *= (COMPUTE)1 / COLS, mean_hu *= (COMPUTE)1 / COLS;
#pragma unroll(FITS ? ROUNDS : 2)
        for (int i = 0; i < ROUNDS; i++) {
            int pack = lane + i * LANES;
            if (pack >= PACKS) break;
            Values a = source[pack], weight, result;
            Slopes slope = slopes[pack];
            Addends more;
            if constexpr (HAS_ADDEND) more = addends[pack];
            Pack<bf16, WIDTH> rounded;
            if constexpr (HAS_WEIGHT) weight = KEEP_WEIGHT ? weights[KEEP_WEIGHT ? i : 0] : ((const Values *)w)[pack];
#pragma unroll
            for (int j = 0; j < WIDTH; j++) {
                COMPUTE u = (get(a.x, j) - shift) * rate, h = get(slope.x, j);
                if constexpr (HAS_WEIGHT) h *= get(weight.x, j);
                COMPUTE slope_x = rate * (h - mean_h - u * mean_hu);
                if constexpr (HAS_ADDEND) slope_x = plain_sum(slope_x, get(more.x, j));
                put(result.x, j, slope_x);
                if constexpr (HAS_COPY) put(rounded.x, j, slope_x);
            }
            ((Values *)(dx + start))[pack] = result;
            if constexpr (HAS_COPY) store_pack(copy + start + pack * WIDTH, rounded);
        }
    }
    wait_copies<0>();
    if constexpr (SUM_W) sum_groups(sum_w, (COMPUTE *)memory, scratch + (i64)blockIdx.x * COLS);
    if constexpr (SUM_B) sum_groups(sum_b, (COMPUTE *)memory, scratch + ((i64)HAS_WEIGHT * PARTS + blockIdx.x) * COLS);
}

KERNEL(256) norm_gradient_columns(const T *x, const STAT *m, const STAT *r, const SLOPE *dy, COMPUTE *scratch) {
    int c = blockIdx.x * 256 + threadIdx.x;
    if (c >= COLS) return;
    COMPUTE sum_w = 0, sum_b = 0;
#pragma unroll 4
    for (int row = blockIdx.y; row < ROWS; row += PARTS) {
        COMPUTE g = get(dy, (i64)row * COLS + c), a = 0;
        if constexpr (HAS_WEIGHT) a = get(x, (i64)row * COLS + c);
        if constexpr (HAS_WEIGHT && CENTERED) a -= get(m, row);
        if constexpr (HAS_WEIGHT) sum_w += g * a * get(r, row);
        sum_b += g;
    }
    if constexpr (HAS_WEIGHT) scratch[(i64)blockIdx.y * COLS + c] = sum_w;
    if constexpr (HAS_BIAS) scratch[((i64)HAS_WEIGHT * PARTS + blockIdx.y) * COLS + c] = sum_b;
}

KERNEL(1024) norm_gradient_sum(const COMPUTE *scratch, T *dw, T *db) {
    __shared__ COMPUTE totals[32][33];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = blockIdx.x * 32;
    scratch += (i64)blockIdx.y * PARTS * COLS;
    COMPUTE total = 0;
    if (first + lane < COLS)
#pragma unroll 8
        for (int part = warp; part < PARTS; part += 32) total += scratch[(i64)part * COLS + first + lane];
    totals[warp][lane] = total;
    __syncthreads();
    total = fold_warp<Sum>(totals[lane][warp]);
    if (lane == 0 && first + warp < COLS) put(HAS_WEIGHT && blockIdx.y == 0 ? dw : db, first + warp, total);
}

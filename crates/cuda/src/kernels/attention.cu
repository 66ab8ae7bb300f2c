// Scaled dot product attention, forward and backward, without the matrix of scores in memory. For each head, with queries q, keys k and
// values v:
//     o = softmax(SCALE q k^T) v,    lse = logarithm of the sum over keys of exp(SCALE q k^T)    (natural; kept for the backward),
// and, for a cotangent dO of o (below also `slope`), the cotangents dq, dk, dv. With CAUSAL, query i sees the keys 0 .. i only (counted
// from the first, also where KEYS differs from TOKENS; keys that no query sees get zeros). Sums and softmax are in f32; the bits are the
// same on every run; there are no atomics.
//
// Macros: T (float, bf16 or f16: element type of q, k, v, o and of their cotangents), LSE_TYPE (element type of lse: float, bf16 or f16),
// BATCH, HEADS, TOKENS (queries), KEYS, WIDTH (of a head, at most 128), SCALE (a float constant above 0), CAUSAL (0 or 1); strides in
// elements Q_BATCH, Q_HEAD, Q_TOKEN, and so for K_, V_, O_ (constants; a product in parentheses). The last axis has stride 1. dq, dk, dv
// have the strides of q, k, v, and may be parts of one tensor; dO has those of o. lse is [BATCH, HEADS, TOKENS], dense. TOKENS and KEYS
// are >= 1.
//     WIDE: 1 if WIDTH, all strides and all pointers are multiples of 16 bytes, else 0. It is faster for T float, and TENSOR_CORES needs
//     it.
//     TENSOR_CORES: 1 for the tensor cores: T bf16, WIDTH a multiple of 16, WIDE 1, a device of compute capability 9.0 (target sm_90a).
//     0 for ordinary arithmetic in f32: any T, any WIDTH up to 128, any device.
// Every block has 128 threads, every grid one axis. With heads = BATCH HEADS, and a / b rounded up, a launch has this many blocks, and this
// many bytes of shared memory (all of it dynamic; more than 49152 must be allowed first):
//
// TENSOR_CORES 1; TILE = 8192 (WIDTH / 64), which is 8192 for WIDTH up to 64:
//     attention_forward(q, k, v, o, lse)                                   heads (TOKENS / 64) blocks, 6 TILE bytes
//     attention_backward_queries(q, k, v, o, lse, dO, statistics, dq)      heads (TOKENS / 64) blocks, 8 TILE bytes
//     attention_backward_keys(q, k, v, dO, statistics, dk, dv)             heads (KEYS / 64) blocks, 8 TILE + 1536 bytes
// statistics is scratch of f32 [BATCH, HEADS, TOKENS, 2], aligned to 8 bytes: attention_backward_queries writes all of it (lse / ln 2, and
// the sum over the width of dO o), and attention_backward_keys, which must run after it, reads it.
//
// TENSOR_CORES 0; PITCH = 16 (WIDTH / 16) + 4:
//     attention_forward(q, k, v, o, lse)                                   heads (TOKENS / 32) blocks, 640 PITCH + 8704 bytes
//     attention_backward(q, k, v, o, lse, dO, dq, dk, dv)                  heads (KEYS / 32 + TOKENS / 32) blocks, 768 PITCH + 17920 bytes

#define LOG2_E 1.4426950408889634f
#define LN_2 0.6931471805599453f

// Offset of the first element of a head, for an operand with these strides.
DEVICE i64 head_offset(int index, i64 batch_stride, i64 head_stride) {
    return index / HEADS * batch_stride + index % HEADS * head_stride;
}

static_assert(WIDTH <= 128 && SCALE > 0, "not for such heads");

#if TENSOR_CORES

static_assert(sizeof(T) == 2 && WIDTH % 16 == 0 && WIDE, "not for the tensor cores");

// Tiles in shared memory: 64 rows, in chunks of 64 columns. A chunk is [64][128 bytes], and piece p (16 bytes) of row r lies at place
// p ^ (r % 8): the layout that the tensor cores call a swizzle of 128 bytes. Chunks start at multiples of 1024.
static constexpr int CHUNKS = (WIDTH + 63) / 64, STEPS = WIDTH / 16, CHUNK = 64 * 128, TILE = CHUNKS * CHUNK;
// Tiles come in pairs (keys and values, or queries and dO), through a ring of 3 slots.
static constexpr int THREADS = 128, SLOTS = 3, SLOT = 2 * TILE;

#ifndef SHIM
DEVICE u32 shared_address(const char *x) {
    u32 y;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(y) : "l"(x));
    return y;
}
typedef u32 Place;
// Start a copy to shared memory past the registers: of nothing (zeros are written) when the source is outside.
DEVICE void copy_16(Place to, const void *from, bool is_inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(to), "l"(from), "r"(is_inside ? 16 : 0) : "memory");
}
DEVICE void copy_8(Place to, const void *from, bool is_inside) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" :: "r"(to), "l"(from), "r"(is_inside ? 8 : 0) : "memory");
}
// Waits for own copies, and shows them to the tensor cores.
DEVICE void wait_copies() { asm volatile("cp.async.wait_all;\n fence.proxy.async.shared::cta;" ::: "memory"); }

// A tile as the tensor cores are told of it: address / 16, distance of groups of 8 rows (both offsets; a chunk has no other), the swizzle.
DEVICE u64 operand(const char *tile) {
    return (u64)(shared_address(tile) >> 4) | (u64)(1024 >> 4) << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}
DEVICE u64 operand_at(u64 base, int bytes) { return base + (bytes >> 4); }

// c = a b, or c += a b: a is 64 x 16 (from registers, where each warp of four holds 16 rows, or rows of a tile), b 16 x 64 from shared
// memory, where a row of the tile is a column of b, or, turned, a row of b. The product runs on while other work is done, until it is
// waited for. Without += the old c is no operand: values that another product has in flight are not touched.
template <bool IS_TURNED, bool IS_ADDED, class A> DEVICE void multiply(float (&c)[32], const A &a, u64 b) {
#define EIGHT(MODE, i) \
    MODE(c[i]), MODE(c[i + 1]), MODE(c[i + 2]), MODE(c[i + 3]), MODE(c[i + 4]), MODE(c[i + 5]), MODE(c[i + 6]), MODE(c[i + 7])
#define PRODUCT(MODE, LEFT, TURNS, ...) \
    asm volatile( \
        "{ .reg .pred p; setp.ne.b32 p, %33, 0;\n" \
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, " LEFT ", %32, p, 1, 1, " TURNS "; }" \
        : EIGHT(MODE, 0), EIGHT(MODE, 8), EIGHT(MODE, 16), EIGHT(MODE, 24) \
        : "l"(b), "n"((int)IS_ADDED), "n"((int)IS_TURNED), __VA_ARGS__ : "memory")
#define EITHER(MODE) \
    if constexpr (sizeof(A) == 8) PRODUCT(MODE, "%35", "0, %34", "l"(a)); \
    else PRODUCT(MODE, "{%35, %36, %37, %38}", "%34", "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]))
    if constexpr (IS_ADDED) { EITHER("+f"); }
    else { EITHER("=f"); }
#undef EITHER
#undef PRODUCT
#undef EIGHT
}
DEVICE void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until at most `LEFT` of the groups of products begun last are under way.
template <int LEFT> DEVICE void wait_products() { asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(LEFT) : "memory"); }
// Keeps the compiler from moving uses of these registers over a wait or a begin.
DEVICE void hold(float &x) { asm volatile("" : "+f"(x) :: "memory"); }
DEVICE void hold(u32 &x) { asm volatile("" : "+r"(x) :: "memory"); }
DEVICE void hold(u64 &x) { asm volatile("" : "+l"(x) :: "memory"); }
DEVICE float power_2(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
#else
typedef char *Place;
static Place shared_address(char *x) { return x; }
static void copy_16(Place to, const void *from, bool is_inside) { is_inside ? std::memcpy(to, from, 16) : std::memset(to, 0, 16); }
static void copy_8(Place to, const void *from, bool is_inside) { is_inside ? std::memcpy(to, from, 8) : std::memset(to, 0, 8); }
static void wait_copies() {}
static u64 operand(const char *tile) { return (u64)tile; }
static u64 operand_at(u64 base, int bytes) { return base + bytes; }
static u16 read_tile(u64 tile, unsigned row, unsigned column) {
    u64 place = tile + row * 128 + column * 2;
    return *(const u16 *)(place ^ (place >> 7 & 7) << 4);
}
template <bool IS_TURNED, bool IS_ADDED, class A> static void multiply(float (&c)[32], const A &a, u64 b) {
    static u32 words[1024][4];
    std::memcpy(words[shim_number()], &a, sizeof a);
    __syncwarp();
    unsigned warp = shim_number() / 32, lane = shim_number() % 32;
    for (unsigned i = 0; i < 32; i++) {
        unsigned row = lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        float sum = IS_ADDED ? c[i] : 0;
        for (unsigned k = 0; k < 16; k++) {
            u16 left;
            if constexpr (sizeof(A) == 8) left = read_tile(a, warp % 4 * 16 + row, k);
            else left = words[warp * 32 + row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2] >> k % 2 * 16;
            sum += bits_float((u32)left << 16) * bits_float((u32)(IS_TURNED ? read_tile(b, k, column) : read_tile(b, column, k)) << 16);
        }
        c[i] = sum;
    }
    __syncwarp();
}
static void begin_products() {}
static void end_products() {}
template <int LEFT> static void wait_products() {}
template <class N> static void hold(N &) {}
static float power_2(float x) { return exp2f(x); }
#endif

template <class N, int COUNT> DEVICE void hold(N (&x)[COUNT]) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) hold(x[i]);
}

// A tile is copied 16 bytes to a thread, rows by eight threads each. Where this thread's first piece is: in a tile, and in an operand from
// row `first` on.
DEVICE Place own_place(Place tile) { return tile + (threadIdx.x / 8 * 128 + ((threadIdx.x % 8 ^ threadIdx.x / 8 % 8) << 4)); }
template <i64 STRIDE> DEVICE const T *own_source(const T *x, int first) {
    return x + (first + threadIdx.x / 8) * STRIDE + threadIdx.x % 8 * 8;
}

// Starts the copy of 64 rows into a tile, `rows` after those of own_source, from where `left` rows are left; those past them become zero.
template <i64 STRIDE, int LIMIT> DEVICE void load_tile(Place to, const T *from, int rows, int left) {
    from += rows * STRIDE;
#pragma unroll
    for (int chunk = 0; chunk < CHUNKS; chunk++)
#pragma unroll
        for (int n = 0; n < 64; n += THREADS / 8) {
            bool is_inside = LIMIT % 64 == 0 || (int)threadIdx.x / 8 + n < left - rows;
            if (WIDTH % 64 == 0 || chunk * 64 + threadIdx.x % 8 * 8 < WIDTH)
                copy_16(to + chunk * CHUNK + n * 128, is_inside ? from + n * STRIDE + chunk * 64 : from, is_inside);
        }
}

// How a warp holds 16 rows: lane 4 r + t has columns 2 t, 2 t + 1 and so on by 8, of rows r and r + 8. Sums are
// [groups of 8 columns][2 rows][2]; factors of products [groups of 16 columns][first 8 columns, then last 8][2 rows], two numbers to a
// word.

// Reads own rows `row` and row + 8 as factors.
template <i64 STRIDE> DEVICE void load_factors(u32 (&words)[STEPS][4], const T *x, int row, int limit) {
    int t = threadIdx.x % 4;
#pragma unroll
    for (int s = 0; s < STEPS; s++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int own = row + i % 2 * 8;
            words[s][i] = own < limit ? *(const u32 *)(x + own * STRIDE + s * 16 + i / 2 * 8 + t * 2) : 0;
        }
}

// 64 columns of sums become factors.
DEVICE void pack_all(u32 (&words)[4][4], const float (&x)[32]) {
#pragma unroll
    for (int i = 0; i < 16; i++) words[i / 4][i % 4] = pack(x[2 * i], x[2 * i + 1]);
}

// Begins scores = own rows (factors, or a tile) times the rows of a tile.
template <class A> DEVICE void begin_scores(float (&scores)[32], A &own, u64 tile) {
    hold(own);
    begin_products();
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        int at = s / 4 * CHUNK + s % 4 * 32;
        if constexpr (sizeof(A) == 8) {
            if (s == 0) multiply<false, false>(scores, own, tile);
            else multiply<false, true>(scores, operand_at(own, at), operand_at(tile, at));
        } else {
            if (s == 0) multiply<false, false>(scores, own[s], tile);
            else multiply<false, true>(scores, own[s], operand_at(tile, at));
        }
    }
    end_products();
}

// Begins sums += weights times the tile.
DEVICE void begin_sums(float (&sums)[CHUNKS][32], u32 (&weights)[4][4], u64 tile) {
    hold(sums), hold(weights);
    begin_products();
#pragma unroll
    for (int chunk = 0; chunk < CHUNKS; chunk++)
#pragma unroll
        for (int s = 0; s < 4; s++) multiply<true, true>(sums[chunk], weights[s], operand_at(tile, chunk * CHUNK + s * 2048));
    end_products();
}

// Lane t of four gives a word of each of four pieces, and gets the four words of piece t.
DEVICE void turn_words(u32 (&words)[4]) {
#pragma unroll
    for (int bit = 1; bit < 4; bit *= 2) {
        bool is_upper = threadIdx.x & bit;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int low = bit == 1 ? 2 * i : i;
            u32 got = __shfl_xor_sync(0xffffffffu, is_upper ? words[low] : words[low + bit], bit);
            if (is_upper) words[low] = got;
            else words[low + bit] = got;
        }
    }
}

// Writes sums of rows `row` and row + 8, each times its factor.
template <i64 STRIDE> DEVICE void store_sums(T *out, const float (&sums)[CHUNKS][32], float factor, float factor_8, int row, int limit) {
    int t = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < CHUNKS * 4; i++) {
        int half = i % 2, quarter = i / 2;
        u32 words[4];
#pragma unroll
        for (int n = 0; n < 4; n++) {
            const float *two = &sums[quarter / 2][(quarter % 2 * 4 + n) * 4 + half * 2];
            float times = half ? factor_8 : factor;
            words[n] = pack(two[0] * times, two[1] * times);
        }
        turn_words(words);
        int own = row + half * 8, column = quarter * 32 + t * 8;
        if (own < limit && column < WIDTH) *(uint4 *)(out + own * STRIDE + column) = uint4{words[0], words[1], words[2], words[3]};
    }
}

// Scores of queries `row`, row + 8 and keys from `start` on, where a row may not see a key.
DEVICE void mask_keys(float (&scores)[32], int row, int start) {
#pragma unroll
    for (int i = 0; i < 32; i++) {
        int key = start + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2, query = row + i / 2 % 2 * 8;
        if (key >= KEYS || (CAUSAL && key > query)) scores[i] = -INFINITY;
    }
}

// Number of tiles of keys that queries before `end` see.
DEVICE int key_tiles(int end) { return ((CAUSAL && end < KEYS ? end : KEYS) + 63) / 64; }

// In each kernel a block is four warps that own 64 rows: the least that the tensor cores work for, so that warps wait for few others.
extern "C" __global__ void __launch_bounds__(128, WIDTH > 64 ? 2 : 4)
attention_forward(const T *q, const T *k, const T *v, T *o, LSE_TYPE *lse) {
#ifdef SHIM
    char *memory = shim_dynamic;
#else
    extern __shared__ __align__(1024) char memory[];
#endif
    int head = blockIdx.x % (BATCH * HEADS);
    // Late queries see more keys: they start first.
    int first = ((TOKENS + 63) / 64 - 1 - blockIdx.x / (BATCH * HEADS)) * 64, row = first + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    q += head_offset(head, Q_BATCH, Q_HEAD), k += head_offset(head, K_BATCH, K_HEAD), v += head_offset(head, V_BATCH, V_HEAD);
    o += head_offset(head, O_BATCH, O_HEAD), lse += (i64)head * TOKENS;
    int tiles = key_tiles(first + 64);

    const Place place = own_place(shared_address(memory));
    const T *key_source = own_source<K_TOKEN>(k, 0), *value_source = own_source<V_TOKEN>(v, 0);
    auto load = [&](int j) {
        if (j < tiles) {
            load_tile<K_TOKEN, KEYS>(place + j % SLOTS * SLOT, key_source, j * 64, KEYS);
            load_tile<V_TOKEN, KEYS>(place + j % SLOTS * SLOT + TILE, value_source, j * 64, KEYS);
        }
    };
    // The start of round j: tile j is there, and every warp is done with tile j - 2, in whose slot the next one goes.
    auto meet = [&](int j) {
        wait_copies();
        __syncthreads();
        load(j + 1);
    };
    load(0);
    u32 queries[STEPS][4], weights[4][4] = {};
    load_factors<Q_TOKEN>(queries, q, row, TOKENS);

    const u64 ring = operand(memory);
    float scores[32], sums[CHUNKS][32] = {}, top = -INFINITY, top_8 = -INFINITY, total = 0, total_8 = 0;
    auto advance = [&](int j, bool is_first) {
        meet(j);
        if (is_first) hold(sums);
        begin_scores(scores, queries, operand_at(ring, j % SLOTS * SLOT));
        // The sums of the last round are under way during the powers of this one.
        if (!is_first) begin_sums(sums, weights, operand_at(ring, (j + SLOTS - 1) % SLOTS * SLOT + TILE));
        if (is_first) wait_products<0>();
        else wait_products<1>();
        hold(scores);
        if (j * 64 + 64 > KEYS || (CAUSAL && j * 64 + 63 > first)) mask_keys(scores, row, j * 64);
        float high = top, high_8 = top_8;
#pragma unroll
        for (int i = 0; i < 32; i += 4) {
            high = fmaxf(high, fmaxf(scores[i], scores[i + 1]));
            high_8 = fmaxf(high_8, fmaxf(scores[i + 2], scores[i + 3]));
        }
#pragma unroll
        for (int step = 1; step < 4; step *= 2) {
            high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, step));
            high_8 = fmaxf(high_8, __shfl_xor_sync(0xffffffffu, high_8, step));
        }
        // Weights are powers relative to a top that follows the highest score once that is 8 above it; until then sums stay as they are.
        bool has_grown = (high - top) * (SCALE * LOG2_E) > 8, has_grown_8 = (high_8 - top_8) * (SCALE * LOG2_E) > 8;
        high = has_grown ? high : top, high_8 = has_grown_8 ? high_8 : top_8;
        float shrink = power_2((top - high) * (SCALE * LOG2_E)), shrink_8 = power_2((top_8 - high_8) * (SCALE * LOG2_E));
        float shift = high * (SCALE * LOG2_E), shift_8 = high_8 * (SCALE * LOG2_E);
        top = high, top_8 = high_8, total *= shrink, total_8 *= shrink_8;
        // The assembler would move the wait below to before this, were it not for the branch, which is always taken.
        if (tiles > 0) {
#pragma unroll
            for (int i = 0; i < 32; i += 4) {
                scores[i] = power_2(scores[i] * (SCALE * LOG2_E) - shift);
                scores[i + 1] = power_2(scores[i + 1] * (SCALE * LOG2_E) - shift);
                scores[i + 2] = power_2(scores[i + 2] * (SCALE * LOG2_E) - shift_8);
                scores[i + 3] = power_2(scores[i + 3] * (SCALE * LOG2_E) - shift_8);
                total += scores[i] + scores[i + 1], total_8 += scores[i + 2] + scores[i + 3];
            }
        }
        hold(scores);
        wait_products<0>();
        hold(sums), hold(weights);
        pack_all(weights, scores);
        if (has_grown || has_grown_8) {
#pragma unroll
            for (int i = 0; i < CHUNKS * 32; i++) sums[i / 32][i % 32] *= i / 2 % 2 ? shrink_8 : shrink;
        }
    };
    advance(0, true);
    for (int j = 1; j < tiles; j++) advance(j, false);
    begin_sums(sums, weights, operand_at(ring, (tiles - 1) % SLOTS * SLOT + TILE));
    wait_products<0>();
    hold(sums);

#pragma unroll
    for (int step = 1; step < 4; step *= 2) {
        total += __shfl_xor_sync(0xffffffffu, total, step);
        total_8 += __shfl_xor_sync(0xffffffffu, total_8, step);
    }
    if (threadIdx.x % 4 == 0) {
        if (row < TOKENS) put(lse, row, top * SCALE + log2f(total) * LN_2);
        if (row + 8 < TOKENS) put(lse, row + 8, top_8 * SCALE + log2f(total_8) * LN_2);
    }
    store_sums<O_TOKEN>(o, sums, 1 / total, 1 / total_8, row, TOKENS);
}

// In the backward kernels the own rows lie in two tiles after the ring.
extern "C" __global__ void __launch_bounds__(128, WIDTH > 64 ? 1 : 3)
attention_backward_queries(const T *q, const T *k, const T *v, const T *o, const LSE_TYPE *lse, const T *slope, float *statistics, T *dq) {
#ifdef SHIM
    char *memory = shim_dynamic;
#else
    extern __shared__ __align__(1024) char memory[];
#endif
    int head = blockIdx.x % (BATCH * HEADS);
    int first = ((TOKENS + 63) / 64 - 1 - blockIdx.x / (BATCH * HEADS)) * 64, row = first + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    q += head_offset(head, Q_BATCH, Q_HEAD), k += head_offset(head, K_BATCH, K_HEAD), v += head_offset(head, V_BATCH, V_HEAD);
    o += head_offset(head, O_BATCH, O_HEAD), slope += head_offset(head, O_BATCH, O_HEAD);
    lse += (i64)head * TOKENS, statistics += (i64)head * TOKENS * 2;
    int tiles = key_tiles(first + 64);

    const Place place = own_place(shared_address(memory));
    const T *key_source = own_source<K_TOKEN>(k, 0), *value_source = own_source<V_TOKEN>(v, 0);
    auto load = [&](int j) {
        if (j < tiles) {
            load_tile<K_TOKEN, KEYS>(place + j % SLOTS * SLOT, key_source, j * 64, KEYS);
            load_tile<V_TOKEN, KEYS>(place + j % SLOTS * SLOT + TILE, value_source, j * 64, KEYS);
        }
    };
    auto meet = [&](int j) {
        wait_copies();
        __syncthreads();
        load(j + 1);
    };
    load_tile<Q_TOKEN, TOKENS>(place + SLOTS * SLOT, own_source<Q_TOKEN>(q, first), 0, TOKENS - first);
    load_tile<O_TOKEN, TOKENS>(place + SLOTS * SLOT + TILE, own_source<O_TOKEN>(slope, first), 0, TOKENS - first);
    load(0);
    float top = row < TOKENS ? (float)get(lse, row) * LOG2_E : INFINITY;
    float top_8 = row + 8 < TOKENS ? (float)get(lse, row + 8) * LOG2_E : INFINITY;
    float delta = 0, delta_8 = 0;
    {
        u32 outputs[STEPS][4], slopes[STEPS][4];
        load_factors<O_TOKEN>(outputs, o, row, TOKENS);
        load_factors<O_TOKEN>(slopes, slope, row, TOKENS);
#pragma unroll
        for (int i = 0; i < STEPS * 4; i++) {
            u32 a = outputs[i / 4][i % 4], b = slopes[i / 4][i % 4], high = 0xffff0000;
            (i % 2 ? delta_8 : delta) += bits_float(a << 16) * bits_float(b << 16) + bits_float(a & high) * bits_float(b & high);
        }
    }
#pragma unroll
    for (int step = 1; step < 4; step *= 2) {
        delta += __shfl_xor_sync(0xffffffffu, delta, step);
        delta_8 += __shfl_xor_sync(0xffffffffu, delta_8, step);
    }
    if (threadIdx.x % 4 == 0) {
        if (row < TOKENS) *(float2 *)(statistics + row * 2) = float2{top, delta};
        if (row + 8 < TOKENS) *(float2 *)(statistics + (row + 8) * 2) = float2{top_8, delta_8};
    }

    u64 ring = operand(memory), queries = operand_at(ring, SLOTS * SLOT), slopes = operand_at(queries, TILE);
    u32 weights[4][4] = {};
    float scores[32], products[32], sums[CHUNKS][32] = {};
    auto advance = [&](int j, bool is_first) {
        meet(j);
        if (is_first) hold(sums);
        u64 slot = operand_at(ring, j % SLOTS * SLOT);
        begin_scores(scores, queries, slot);
        if (!is_first) begin_sums(sums, weights, operand_at(ring, (j + SLOTS - 1) % SLOTS * SLOT));
        begin_scores(products, slopes, operand_at(slot, TILE));
        if (is_first) wait_products<1>();
        else wait_products<2>();
        hold(scores);
        if (j * 64 + 64 > KEYS || (CAUSAL && j * 64 + 63 > first)) mask_keys(scores, row, j * 64);
        // The assembler would move the wait below to before this, were it not for the branch, which is always taken.
        if (tiles > 0) {
#pragma unroll
            for (int i = 0; i < 32; i++) scores[i] = power_2(scores[i] * (SCALE * LOG2_E) - (i / 2 % 2 ? top_8 : top));
        }
        hold(scores);
        wait_products<0>();
        hold(sums), hold(products), hold(weights);
#pragma unroll
        for (int i = 0; i < 32; i++) scores[i] *= products[i] - (i / 2 % 2 ? delta_8 : delta);
        pack_all(weights, scores);
    };
    advance(0, true);
    for (int j = 1; j < tiles; j++) advance(j, false);
    begin_sums(sums, weights, operand_at(ring, (tiles - 1) % SLOTS * SLOT));
    wait_products<0>();
    hold(sums);
    store_sums<Q_TOKEN>(dq + head_offset(head, Q_BATCH, Q_HEAD), sums, SCALE, SCALE, row, TOKENS);
}

extern "C" __global__ void __launch_bounds__(128, WIDTH > 64 ? 1 : 3)
attention_backward_keys(const T *q, const T *k, const T *v, const T *slope, const float *statistics, T *dk, T *dv) {
#ifdef SHIM
    char *memory = shim_dynamic;
#else
    extern __shared__ __align__(1024) char memory[];
#endif
    char *statistic_ring = memory + SLOTS * SLOT + 2 * TILE;
    int head = blockIdx.x % (BATCH * HEADS);
    // Early keys are seen by more queries: they start first.
    int first = blockIdx.x / (BATCH * HEADS) * 64, row = first + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    q += head_offset(head, Q_BATCH, Q_HEAD), slope += head_offset(head, O_BATCH, O_HEAD), statistics += (i64)head * TOKENS * 2;
    k += head_offset(head, K_BATCH, K_HEAD), v += head_offset(head, V_BATCH, V_HEAD);
    // Tiles of queries are counted from the first that sees keys of the block.
    int begin = CAUSAL ? first : 0, tiles = begin < TOKENS ? (TOKENS - begin + 63) / 64 : 0;

    const Place place = own_place(shared_address(memory));
    const T *query_source = own_source<Q_TOKEN>(q, begin), *slope_source = own_source<O_TOKEN>(slope, begin);
    auto load = [&](int j) {
        if (j < tiles) {
            load_tile<Q_TOKEN, TOKENS>(place + j % SLOTS * SLOT, query_source, j * 64, TOKENS - begin);
            load_tile<O_TOKEN, TOKENS>(place + j % SLOTS * SLOT + TILE, slope_source, j * 64, TOKENS - begin);
            bool is_inside = begin + j * 64 + (int)threadIdx.x < TOKENS;
            Place pair = shared_address(statistic_ring) + (j % SLOTS * 512 + threadIdx.x * 8);
            if (threadIdx.x < 64) copy_8(pair, statistics + (is_inside ? (begin + j * 64 + threadIdx.x) * 2 : 0), is_inside);
        }
    };
    auto meet = [&](int j) {
        wait_copies();
        __syncthreads();
        load(j + 1);
    };
    load_tile<K_TOKEN, KEYS>(place + SLOTS * SLOT, own_source<K_TOKEN>(k, first), 0, KEYS - first);
    load_tile<V_TOKEN, KEYS>(place + SLOTS * SLOT + TILE, own_source<V_TOKEN>(v, first), 0, KEYS - first);
    load(0);

    u64 ring = operand(memory), keys = operand_at(ring, SLOTS * SLOT), values = operand_at(keys, TILE);
    // Weights, and later their slopes: one is in use at a time, and so three blocks find registers.
    u32 weights[4][4] = {};
    float scores[32], products[32], key_sums[CHUNKS][32] = {}, value_sums[CHUNKS][32] = {};
    auto advance = [&](int j, bool is_first) {
        meet(j);
        if (is_first) hold(key_sums), hold(value_sums);
        const float4 *pairs = (const float4 *)(statistic_ring + j % SLOTS * 512) + threadIdx.x % 4;
        u64 slot = operand_at(ring, j % SLOTS * SLOT);
        begin_scores(scores, keys, slot);
        if (!is_first) begin_sums(key_sums, weights, operand_at(ring, (j + SLOTS - 1) % SLOTS * SLOT));
        // Waiting for the sums too leaves their weights' registers to the new ones.
        wait_products<0>();
        hold(scores), hold(key_sums), hold(weights);
        begin_scores(products, values, operand_at(slot, TILE));
        if (CAUSAL && j == 0) {
#pragma unroll
            for (int i = 0; i < 32; i++)
                if (begin + j * 64 + i / 4 * 8 + (int)threadIdx.x % 4 * 2 + i % 2 < row + i / 2 % 2 * 8) scores[i] = -INFINITY;
        }
#pragma unroll
        for (int i = 0; i < 32; i += 4) {
            float4 pair = pairs[i];
            scores[i] = power_2(scores[i] * (SCALE * LOG2_E) - pair.x);
            scores[i + 1] = power_2(scores[i + 1] * (SCALE * LOG2_E) - pair.z);
            scores[i + 2] = power_2(scores[i + 2] * (SCALE * LOG2_E) - pair.x);
            scores[i + 3] = power_2(scores[i + 3] * (SCALE * LOG2_E) - pair.z);
        }
        pack_all(weights, scores);
        begin_sums(value_sums, weights, operand_at(slot, TILE));
        wait_products<0>();
        hold(products), hold(value_sums), hold(weights);
#pragma unroll
        for (int i = 0; i < 32; i += 4) {
            float4 pair = pairs[i];
            scores[i] *= products[i] - pair.y;
            scores[i + 1] *= products[i + 1] - pair.w;
            scores[i + 2] *= products[i + 2] - pair.y;
            scores[i + 3] *= products[i + 3] - pair.w;
        }
        pack_all(weights, scores);
    };
    if (tiles > 0) {
        advance(0, true);
        for (int j = 1; j < tiles; j++) advance(j, false);
        begin_sums(key_sums, weights, operand_at(ring, (tiles - 1) % SLOTS * SLOT));
        wait_products<0>();
        hold(key_sums);
    }
    store_sums<K_TOKEN>(dk + head_offset(head, K_BATCH, K_HEAD), key_sums, SCALE, SCALE, row, KEYS);
    store_sums<V_TOKEN>(dv + head_offset(head, V_BATCH, V_HEAD), value_sums, 1, 1, row, KEYS);
}

#else

// Rows of one head are held in shared memory as f32, with columns up to a multiple of 16 (zeros), and 4 more that keep rows apart in banks.
static constexpr int PADDED = (WIDTH + 15) / 16 * 16, PITCH = PADDED + 4, COLUMNS = PADDED / 16;
// A block owns 32 rows (of queries, or of keys) and meets the rows of the other side 64 at a time.
static constexpr int OWN = 32, OTHER = 64, SCORE_PITCH = OTHER + 4, THREADS = 128;

// Thread (y, x) of 8 x 16 computes scores of the rows 4 y + i against the rows x + 16 j, and sums of the rows 4 y + i in COLUMNS columns,
// which lie together in groups as wide as one load.
static constexpr int GROUP = COLUMNS % 4 == 0 ? 4 : COLUMNS % 2 == 0 ? 2 : 1;
DEVICE int column(int x, int j) { return (j / GROUP * 16 + x) * GROUP + j % GROUP; }

template <int COUNT> DEVICE void load_group(float *y, const float *x) {
    if constexpr (COUNT == 4) {
        float4 four = *(const float4 *)x;
        y[0] = four.x, y[1] = four.y, y[2] = four.z, y[3] = four.w;
    } else if constexpr (COUNT == 2) {
        float2 two = *(const float2 *)x;
        y[0] = two.x, y[1] = two.y;
    } else {
        y[0] = x[0];
    }
}

// Copies `count` rows from row `first` on into a tile; what is past `limit` or past the width is zero.
template <i64 STRIDE> DEVICE void load_rows(float *tile, const T *x, int first, int limit, int count) {
    constexpr bool is_wide = sizeof(T) == 4 && WIDE;
    constexpr int step = is_wide ? 4 : 1, line = PADDED / step;
    for (int i = threadIdx.x; i < count * line; i += THREADS) {
        int row = i / line, d = i % line * step;
        bool is_inside = first + row < limit && d < WIDTH;
        const T *from = x + (first + row) * STRIDE + d;
        if constexpr (is_wide) {
            *(float4 *)(tile + row * PITCH + d) = is_inside ? *(const float4 *)from : float4{0, 0, 0, 0};
        } else {
            tile[row * PITCH + d] = is_inside ? get(from, 0) : 0;
        }
    }
}

// scores[i][j] = (row 4 y + i of own) . (row x + 16 j of other)
DEVICE void multiply_rows(float (&scores)[4][4], const float *own, const float *other, int y, int x) {
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) scores[i][j] = 0;
#pragma unroll 4
    for (int d = 0; d < WIDTH; d += 4) {
        float a[4][4], b[4][4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            load_group<4>(a[i], own + (4 * y + i) * PITCH + d);
            load_group<4>(b[i], other + (x + 16 * i) * PITCH + d);
        }
#pragma unroll
        for (int e = 0; e < 4; e++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) scores[i][j] += a[i][e] * b[j][e];
    }
}

// sums[i] += sum over rows r from `begin` to `end` of weights[4 y + i][r] * (row r of the tile)
DEVICE void add_rows(float (&sums)[4][COLUMNS], const float *weights, const float *tile, int begin, int end, int y, int x) {
#pragma unroll 2
    for (int r = begin; r < end; r += 4) {
        float w[4][4];
#pragma unroll
        for (int i = 0; i < 4; i++) load_group<4>(w[i], weights + (4 * y + i) * SCORE_PITCH + r);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            float row[COLUMNS];
#pragma unroll
            for (int j = 0; j < COLUMNS; j += GROUP) load_group<GROUP>(row + j, tile + (r + e) * PITCH + column(x, j));
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < COLUMNS; j++) sums[i][j] += w[i][e] * row[j];
        }
    }
}

// Writes sums of own rows, each times its factor.
template <i64 STRIDE>
DEVICE void store_rows(T *out, const float (&sums)[4][COLUMNS], const float (&factors)[4], int first, int limit, int y, int x) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int row = first + 4 * y + i;
        if (row >= limit) continue;
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
            if (column(x, j) < WIDTH) put(out, row * STRIDE + column(x, j), sums[i][j] * factors[i]);
    }
}

DEVICE bool is_seen(int query, int key) { return query < TOKENS && key < KEYS && (!CAUSAL || key <= query); }

KERNEL(128) attention_forward(const T *q, const T *k, const T *v, T *o, LSE_TYPE *lse) {
#ifdef SHIM
    char *memory = shim_dynamic;
#else
    extern __shared__ __align__(1024) char memory[];
#endif
    float *queries = (float *)memory, *keys = queries + OWN * PITCH, *values = keys + OTHER * PITCH, *weights = values + OTHER * PITCH;
    int head = blockIdx.x % (BATCH * HEADS), y = threadIdx.x / 16, x = threadIdx.x % 16;
    // Late queries see more keys: they start first.
    int first = ((TOKENS + OWN - 1) / OWN - 1 - blockIdx.x / (BATCH * HEADS)) * OWN;
    q += head_offset(head, Q_BATCH, Q_HEAD), k += head_offset(head, K_BATCH, K_HEAD), v += head_offset(head, V_BATCH, V_HEAD);
    o += head_offset(head, O_BATCH, O_HEAD), lse += (i64)head * TOKENS;

    // Scores are kept times scale / ln 2, so that powers of 2 are taken. Each thread adds up its own share of a row's weights.
    float sums[4][COLUMNS] = {}, top[4], total[4] = {};
    for (int i = 0; i < 4; i++) top[i] = -INFINITY;
    load_rows<Q_TOKEN>(queries, q, first, TOKENS, OWN);
    int end = CAUSAL && first + OWN < KEYS ? first + OWN : KEYS;
    for (int start = 0; start < end; start += OTHER) {
        int count = end - start < OTHER ? end - start : OTHER;
        __syncthreads();
        load_rows<K_TOKEN>(keys, k, start, KEYS, OTHER);
        load_rows<V_TOKEN>(values, v, start, KEYS, OTHER);
        __syncthreads();
        float scores[4][4];
        multiply_rows(scores, queries, keys, y, x);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float high = top[i];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                int key = start + x + 16 * j;
                bool is_open = key < KEYS && (!CAUSAL || key <= first + 4 * y + i);
                scores[i][j] = is_open ? scores[i][j] * (SCALE * LOG2_E) : -INFINITY;
                high = fmaxf(high, scores[i][j]);
            }
            for (int step = 8; step > 0; step /= 2) high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, step));
            float shrink = exp2f(top[i] - high);
            top[i] = high, total[i] *= shrink;
#pragma unroll
            for (int j = 0; j < COLUMNS; j++) sums[i][j] *= shrink;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                float weight = exp2f(scores[i][j] - high);
                total[i] += weight;
                weights[(4 * y + i) * SCORE_PITCH + x + 16 * j] = weight;
            }
        }
        // A row's weights are written and read by one half warp.
        __syncwarp();
        add_rows(sums, weights, values, 0, count, y, x);
    }
    float factors[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        for (int step = 8; step > 0; step /= 2) total[i] += __shfl_xor_sync(0xffffffffu, total[i], step);
        factors[i] = 1 / total[i];
        int query = first + 4 * y + i;
        if (x == 0 && query < TOKENS) put(lse, query, (top[i] + log2f(total[i])) * LN_2);
    }
    store_rows<O_TOKEN>(o, sums, factors, first, TOKENS, y, x);
}

// The sum of dO * O over the width of a query, the same on all 16 threads x.
DEVICE float find_delta(const T *o, const T *slope, int query, int x) {
    float delta = 0;
#pragma unroll
    for (int d = x; d < PADDED; d += 16)
        if (query < TOKENS && d < WIDTH) delta += (float)get(slope, query * (i64)(O_TOKEN) + d) * (float)get(o, query * (i64)(O_TOKEN) + d);
    for (int step = 8; step > 0; step /= 2) delta += __shfl_xor_sync(0xffffffffu, delta, step);
    return delta;
}

DEVICE float find_top(const LSE_TYPE *lse, int query) { return query < TOKENS ? (float)get(lse, query) * LOG2_E : 0; }

// Both passes of the backward are one text: own rows are queries (a: q, b: dO) and other rows keys (a: k, b: v), or the other way around.
// With weights P = softmax(own a . other a) and slopes of scores S = P (own b . other b - delta): the cotangent of own a is the sum of S
// times other a, and, where own rows are keys, that of own b is the sum of P times other b.
template <bool IS_KEYS>
DEVICE void backward_rows(float *own_a, int tile, const T *q, const T *k, const T *v, const T *o, const LSE_TYPE *lse, const T *slope,
                          T *dq, T *dk, T *dv) {
    constexpr int LIMIT = IS_KEYS ? KEYS : TOKENS, OTHER_LIMIT = IS_KEYS ? TOKENS : KEYS;
    float *own_b = own_a + OWN * PITCH, *other_a = own_b + OWN * PITCH, *other_b = other_a + OTHER * PITCH;
    float *weights = other_b + OTHER * PITCH, *slopes = weights + OWN * SCORE_PITCH;
    float *tops = slopes + OWN * SCORE_PITCH, *deltas = tops + OTHER;
    int y = threadIdx.x / 16, x = threadIdx.x % 16, first = tile * OWN;

    float sums_a[4][COLUMNS] = {}, sums_b[4][COLUMNS] = {}, own_tops[4], own_deltas[4];
    if constexpr (IS_KEYS) {
        load_rows<K_TOKEN>(own_a, k, first, KEYS, OWN);
        load_rows<V_TOKEN>(own_b, v, first, KEYS, OWN);
    } else {
        load_rows<Q_TOKEN>(own_a, q, first, TOKENS, OWN);
        load_rows<O_TOKEN>(own_b, slope, first, TOKENS, OWN);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int query = first + 4 * y + i;
            own_tops[i] = find_top(lse, query), own_deltas[i] = find_delta(o, slope, query, x);
        }
    }
    // Queries see the keys up to their own number; keys are seen by the queries from their own number on.
    int begin = CAUSAL && IS_KEYS ? first / OTHER * OTHER : 0;
    int end = CAUSAL && !IS_KEYS && first + OWN < KEYS ? first + OWN : OTHER_LIMIT;
    for (int start = begin; start < end; start += OTHER) {
        int count = end - start < OTHER ? end - start : OTHER;
        __syncthreads();
        if constexpr (IS_KEYS) {
            load_rows<Q_TOKEN>(other_a, q, start, TOKENS, OTHER);
            load_rows<O_TOKEN>(other_b, slope, start, TOKENS, OTHER);
#pragma unroll 2
            for (int row = y; row < OTHER; row += THREADS / 16) {
                float delta = find_delta(o, slope, start + row, x);
                if (x == 0) deltas[row] = delta, tops[row] = find_top(lse, start + row);
            }
        } else {
            load_rows<K_TOKEN>(other_a, k, start, KEYS, OTHER);
            load_rows<V_TOKEN>(other_b, v, start, KEYS, OTHER);
        }
        __syncthreads();
        float scores[4][4], products[4][4];
        multiply_rows(scores, own_a, other_a, y, x);
        multiply_rows(products, own_b, other_b, y, x);
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                int own = first + 4 * y + i, other = start + x + 16 * j;
                float top = IS_KEYS ? tops[x + 16 * j] : own_tops[i], delta = IS_KEYS ? deltas[x + 16 * j] : own_deltas[i];
                bool is_open = IS_KEYS ? is_seen(other, own) : is_seen(own, other);
                float weight = is_open ? exp2f(scores[i][j] * (SCALE * LOG2_E) - top) : 0;
                int at = (4 * y + i) * SCORE_PITCH + x + 16 * j;
                if constexpr (IS_KEYS) weights[at] = weight;
                slopes[at] = weight * (products[i][j] - delta);
            }
        __syncwarp();
        int skipped = CAUSAL && IS_KEYS && start < first ? first - start : 0;
        add_rows(sums_a, slopes, other_a, skipped, count, y, x);
        if constexpr (IS_KEYS) add_rows(sums_b, weights, other_b, skipped, count, y, x);
    }
    const float scales[4] = {SCALE, SCALE, SCALE, SCALE}, ones[4] = {1, 1, 1, 1};
    if constexpr (IS_KEYS) {
        store_rows<K_TOKEN>(dk, sums_a, scales, first, LIMIT, y, x);
        store_rows<V_TOKEN>(dv, sums_b, ones, first, LIMIT, y, x);
    } else {
        store_rows<Q_TOKEN>(dq, sums_a, scales, first, LIMIT, y, x);
    }
}

// As many blocks at once as find registers.
extern "C" __global__ void __launch_bounds__(128, COLUMNS <= 2 ? 4 : COLUMNS <= 6 ? 3 : 2)
attention_backward(const T *q, const T *k, const T *v, const T *o, const LSE_TYPE *lse, const T *slope, T *dq, T *dk, T *dv) {
#ifdef SHIM
    char *memory = shim_dynamic;
#else
    extern __shared__ __align__(1024) char memory[];
#endif
    constexpr int KEY_TILES = (KEYS + OWN - 1) / OWN, QUERY_TILES = (TOKENS + OWN - 1) / OWN;
    int head = blockIdx.x % (BATCH * HEADS), tile = blockIdx.x / (BATCH * HEADS);
    i64 q_offset = head_offset(head, Q_BATCH, Q_HEAD), k_offset = head_offset(head, K_BATCH, K_HEAD);
    i64 v_offset = head_offset(head, V_BATCH, V_HEAD);
    q += q_offset, dq += q_offset, k += k_offset, dk += k_offset, v += v_offset, dv += v_offset;
    o += head_offset(head, O_BATCH, O_HEAD), slope += head_offset(head, O_BATCH, O_HEAD), lse += (i64)head * TOKENS;
    // Long work first: early keys, then late queries.
    if (tile < KEY_TILES) backward_rows<true>((float *)memory, tile, q, k, v, o, lse, slope, dq, dk, dv);
    else backward_rows<false>((float *)memory, KEY_TILES + QUERY_TILES - 1 - tile, q, k, v, o, lse, slope, dq, dk, dv);
}

#endif

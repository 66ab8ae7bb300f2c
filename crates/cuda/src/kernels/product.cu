// Matrix products in strict f32: C[m][n] = the sum over k of A(m, k) B(k, n), plus bias[n] if wanted.
//
// One block computes a tile of TILE_M by TILE_N of C, each thread THREAD_M by THREAD_N of it. So that a small C fills the machine too,
// K is shared out three times: a thread block cluster has SPLITS blocks per tile, a block has GROUPS of threads, and each of these takes
// its own part of K; a group has SLICES, which take turns in pieces of 4. A group copies its parts of A and B to shared memory by cp.async,
// TILE_K deep and with STAGES in a ring, and has barriers of its own. At the end the slices add their sums through shared memory and the
// splits through the shared memory of the cluster. The order of every sum is fixed, so the bits are the same on every run.
//
// Needed macros, all integers:
//   M, N, K              sizes, each at least 1
//   A_M, A_K, B_K, B_N   strides in elements: A(m, k) is a[m * A_M + k * A_K], B(k, n) is b[k * B_K + n * B_N]; A_M or A_K is 1, B_K or
//                        B_N is 1. The other stride may leave a gap between rows. C is row-major without gaps.
//   TILE_M, TILE_N       multiples of THREAD_M and THREAD_N, which are multiples of 4
//   TILE_K               depth of a stage, a multiple of 4 * SLICES
//   STAGES               1 if TILE_K * SPLITS * GROUPS >= K, else at least 2
// Further macros, with what they are if not defined:
//   SPLITS 1             at most 8, or 16 with the function attribute that allows a non-portable cluster size
//   GROUPS 1, SLICES 1
//   HAS_BIAS 0           1: the argument bias is there
//   A_BATCH, B_BATCH, C_BATCH  0: elements from one product of a batch to the next; define all or none (0 for an operand that all share)
//   ALIGNED 4            a and b start at a multiple of so many elements of 4 bytes (1, 2 or 4); c starts at a multiple of 4 elements
//   C_TYPE float         element type of c: float, bf16, f16 or double
//   MORE                 nothing: further parameters for the macros below, beginning with a comma: `, const float *other`
//   EPILOGUE(value, m, n)    (value): what is stored instead of the sum (bias included)
//   STORE(index, value)      put(c, index, value), where index counts elements from c; and if N and C_BATCH are multiples of 4 also
//   STORE_FOUR(index, values)  the same for 4 elements side by side, from float values[4]. Who defines STORE may define STORE_FOUR too,
//                        under the same condition; without it STORE is called four times.
//
// product(const float *a, const float *b, [const float *bias,] C_TYPE *c [MORE])
//   grid     (ceil(M / TILE_M) * ceil(N / TILE_N) * SPLITS, 1, batches); the cluster of (SPLITS, 1, 1) is part of the kernel
//   block    (TILE_M / THREAD_M) * (TILE_N / THREAD_N) * SLICES * GROUPS threads, at most 1024; need not be a multiple of 32
//   shared   dynamic, at most 227 KiB (a function attribute is needed beyond 48 KiB), 4 * (stages + inbox + bias) bytes with
//              group = STAGES * (TILE_M * (A_K == 1 ? TILE_K + 1 : TILE_K) + TILE_N * (B_K == 1 ? TILE_K + 1 : TILE_K)),
//              plus 4 if group / 4 is even
//              stages = max(GROUPS * group, GROUPS * SLICES > 1 ? GROUPS * SLICES * TILE_M * TILE_N : 0)
//              inbox = SPLITS > 1 ? 4 * SPLITS * ceil(TILE_M * TILE_N / 4 / SPLITS) : 0,   bias = HAS_BIAS ? TILE_N : 0
//   In the shim: block (threads, SPLITS, 1), grid without SPLITS, and SPLITS times the bytes must fit into its memory.
//
// A rule for an H200 (132 multiprocessors); where its choice was measured it was 2 % (at most 12 %) behind the best of many. The first line
// that fits gives tile (and elements per thread), ways = GROUPS * SLICES, and SPLITS (1 if not named); tiles(m, n) is the number of tiles,
// down(x) the largest power of two up to x, and at least 1:
//   1. K <= 16                            16x32 (4x4), ways 1                                                           "small"
//   2. M N <= 16384 and K < 1024          8x16 (4x4), splits K < 256 ? 1 : min(8, down(K / 64)),
//                                         ways min(16, down(K / splits / 8))                                          "small"
//   3. M N <= 32768 and K >= 2048         M N <= 8192: 16x16 (4x4), ways 8; M N <= 16384: 32x32 (8x4), ways 4; else 32x64 (8x4), ways 2;
//                                         splits min(16, down(256 / tiles))
//   4. M N <= 131072                      K >= 1024: 32x32 (8x4), ways 8, splits min(8, down(132 / tiles));
//                                         else ways 8 and M N <= 65536 ? 16x32 (4x4) : 24x32 (4x4)
//   5. M N <= 393216 and K <= 512         32x32 (8x4), ways 4
//   6. M N <= 600000 and K <= 512         64x32 (8x4), ways 2
//   7. 600000 < M N <= 900000 and tiles(96, 64) <= 132    ways 4 and 96x64 (8x8); 64x96 (8x12) if A_K and B_K are both 1
//   8. M N >= 1100000                     64x96 (8x4), ways 1, splits tiles < 264 ? 2 : 1
//   9. else                               splits tiles(64, 64) <= 66 ? 2 : 1; 48x64 (8x4) if tiles(48, 64) * splits <= 132,
//                                         else 64x64 (8x8); ways tiles * splits <= 132 ? 4 : 2
// For "small", sides of the tile are at most M and N rounded up to fours. SLICES is ways and GROUPS 1 if the threads of one way,
// (TILE_M / THREAD_M) * (TILE_N / THREAD_N), are no multiple of 32, or if A_M and B_N are both 1; else GROUPS is ways and SLICES 1.
// TILE_K = SLICES * e: for "small" e is ceil(K / splits / ways) rounded up to fours; else with SLICES > 1 it is 8 if
// ceil(K / splits / ways) <= 32, else 16; else 8 if that needs fewer steps times TILE_K than 16 does, else 16. STAGES is 1 where the
// condition above allows it, else 2. (Clusters waste some multiprocessors: with 3 and more splits about 116 of 132 are of use.)
// cuBLASLt is the better one from about M N K >= 2^30, and from M N K >= 2^29 if M N >= 2^21.

#ifndef SPLITS
#define SPLITS 1
#endif
#ifndef GROUPS
#define GROUPS 1
#endif
#ifndef SLICES
#define SLICES 1
#endif
#ifndef HAS_BIAS
#define HAS_BIAS 0
#endif
#ifndef A_BATCH
#define A_BATCH 0
#define B_BATCH 0
#define C_BATCH 0
#endif
#ifndef ALIGNED
#define ALIGNED 4
#endif
#ifndef C_TYPE
#define C_TYPE float
#endif
#ifndef EPILOGUE
#define EPILOGUE(value, m, n) (value)
#endif
#ifndef MORE
#define MORE
#endif
#ifndef STORE
#define STORE(index, value) put(c, index, value)
#if N % 4 == 0 && C_BATCH % 4 == 0
#define STORE_FOUR(index, values) store<4>(c + (index), values, 4)
#endif
#endif

// Threads along each side of a tile, in a slice, in a group, and in a block.
#define LINES_M (TILE_M / THREAD_M)
#define LINES_N (TILE_N / THREAD_N)
#define POSITIONS (LINES_M * LINES_N)
#define GROUP_THREADS (POSITIONS * SLICES)
#define THREADS (GROUP_THREADS * GROUPS)
#define BOUNDS THREADS, 1
// Sums of each element that a block holds.
#define WAYS (GROUPS * SLICES)
// Stages that are on their way while one is multiplied.
#define AHEAD (STAGES > 1 ? STAGES - 1 : 1)
// Every group of every split takes the same number of steps, even where the last ones find only zeros past K.
#define PARTS (SPLITS * GROUPS)
#define STEPS (((K + TILE_K - 1) / TILE_K + PARTS - 1) / PARTS)
#define HAS_EDGE_K (PARTS * STEPS * TILE_K != K)
// Elements per copy instruction: as many as always start at a multiple of their own size.
#define WIDTH(stride, batch) \
    ((stride) % 4 == 0 && (batch) % 4 == 0 && ALIGNED % 4 == 0 ? 4 : (stride) % 2 == 0 && (batch) % 2 == 0 && ALIGNED % 2 == 0 ? 2 : 1)
#define A_ALONG_K (A_K == 1)
#define B_ALONG_K (B_K == 1)
#define A_STRIDE (A_ALONG_K ? A_M : A_K)
#define B_STRIDE (B_ALONG_K ? B_N : B_K)

// Shared memory, in floats: the stages of each group (later the sums that slices exchange), what other splits send, the bias.
// The stages of a group are an odd number of fours, so that groups in one warp meet no bank twice.
#define A_TILE (TILE_M * (TILE_K + A_ALONG_K))
#define B_TILE (TILE_N * (TILE_K + B_ALONG_K))
#define STAGE (A_TILE + B_TILE)
#define GROUP_FLOATS (STAGES * STAGE + (STAGES * STAGE / 4 % 2 == 0 ? 4 : 0))
#define SUMS (WAYS > 1 ? WAYS * TILE_M * TILE_N : 0)
#define STAGES_FLOATS (GROUPS * GROUP_FLOATS > SUMS ? GROUPS * GROUP_FLOATS : SUMS)
// Fours of the tile: all, and those that each split adds up and stores.
#define FOURS (TILE_M * TILE_N / 4)
#define SHARE ((FOURS + SPLITS - 1) / SPLITS)
#define INBOX_FLOATS (SPLITS > 1 ? SPLITS * SHARE * 4 : 0)
#define BYTES ((STAGES_FLOATS + INBOX_FLOATS + (HAS_BIAS ? TILE_N : 0)) * 4)

static_assert(THREAD_M % 4 == 0 && THREAD_N % 4 == 0 && TILE_M % THREAD_M == 0 && TILE_N % THREAD_N == 0, "threads do not fill the tile");
static_assert(TILE_K % (4 * SLICES) == 0, "slices do not fill TILE_K");
static_assert(STAGES > 1 || STEPS == 1, "one stage holds one step only");
static_assert((A_M == 1 || A_K == 1) && (B_K == 1 || B_N == 1), "each operand needs a side without stride");

#ifndef SHIM
#if SPLITS > 1
#define CLUSTER __cluster_dims__(SPLITS, 1, 1)
#else
#define CLUSTER
#endif
// Copies SIZE bytes to shared memory, of which only the first `inside` are read and the others are zero.
template <int SIZE> DEVICE void copy_async(float *to, const float *from, int inside) {
    u32 place = (u32)__cvta_generic_to_shared(to);
    if (SIZE == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(place), "l"(from), "r"(inside) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" :: "r"(place), "l"(from), "n"(SIZE), "r"(inside) : "memory");
}
DEVICE void copies_end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> DEVICE void copies_wait() { asm volatile("cp.async.wait_group %0;" :: "n"(LEFT) : "memory"); }
DEVICE void block_barrier() { __syncthreads(); }
// The threads of one group meet. Groups of whole warps run apart, so that some read shared memory while others multiply.
DEVICE void group_barrier(int group) {
    if (GROUPS > 1 && GROUP_THREADS == 32) __syncwarp();
    else if (GROUPS > 1 && GROUPS < 16 && GROUP_THREADS % 32 == 0)
        asm volatile("bar.sync %0, %1;" :: "r"(group + 1), "n"(GROUP_THREADS) : "memory");
    else __syncthreads();
}
// All blocks of a cluster meet: arrive, then wait; what was written before is seen after.
DEVICE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
// Writes to the shared memory of another block of the cluster, at the place that `own` is here.
DEVICE void send(float4 *own, int split, float4 x) {
    u32 place;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(place) : "r"((u32)__cvta_generic_to_shared(own)), "r"(split));
    asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" :: "r"(place), "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w) : "memory");
}
DEVICE int own_split() { return SPLITS > 1 ? (int)(blockIdx.x % SPLITS) : 0; }
DEVICE int own_tile() { return (int)(blockIdx.x / SPLITS); }
#else
// Here a cluster is one block with a row of threads per split; each row has its own part of the shared memory.
#define CLUSTER
template <int SIZE> DEVICE void copy_async(float *to, const float *from, int inside) {
    std::memset(to, 0, SIZE);
    std::memcpy(to, from, inside);
}
DEVICE void copies_end_group() {}
template <int LEFT> DEVICE void copies_wait() {}
DEVICE void block_barrier() { shim_wait(threadIdx.y * THREADS, THREADS, &ShimThread::exchanges); }
DEVICE void group_barrier(int group) { shim_wait(threadIdx.y * THREADS + group * GROUP_THREADS, GROUP_THREADS, &ShimThread::exchanges); }
DEVICE void cluster_arrive() {}
DEVICE void cluster_wait() { __syncthreads(); }
DEVICE void send(float4 *own, int split, float4 x) { *(float4 *)((char *)own + (split - (int)threadIdx.y) * BYTES) = x; }
DEVICE int own_split() { return (int)threadIdx.y; }
DEVICE int own_tile() { return (int)blockIdx.x; }
#endif

// Where (row, k) of a tile lies. One that is stored along k has 4 floats left free after every 4 rows, so that threads which read
// the same k of rows 4 apart meet no bank twice.
template <int TILE, bool ALONG_K> DEVICE constexpr int place(int row, int k) {
    return ALONG_K ? row * TILE_K + row / 4 * 4 + k : k * TILE + row;
}

// Starts the copy of TILE rows (of TOTAL, from row `first`) times TILE_K of an operand to shared memory; zero past the edges.
template <int TILE, int TOTAL, int STRIDE, bool ALONG_K, int COUNT>
DEVICE void copy_tile(float *tile, const float *from, int first, int k, int member) {
    constexpr int pieces = TILE * TILE_K / COUNT, line = (ALONG_K ? TILE_K : TILE) / COUNT;
    constexpr bool has_edge_row = TOTAL % TILE != 0;
    constexpr bool has_edge = ALONG_K ? HAS_EDGE_K : has_edge_row, has_other_edge = ALONG_K ? has_edge_row : HAS_EDGE_K;
    constexpr int extent = ALONG_K ? K : TOTAL, other_extent = ALONG_K ? TOTAL : K;
    int start = ALONG_K ? k : first, other_start = ALONG_K ? first : k;
    from += (i64)other_start * STRIDE + start;
#pragma unroll
    for (int i = 0; i < (pieces + GROUP_THREADS - 1) / GROUP_THREADS; i++) {
        int piece = i * GROUP_THREADS + member;
        if (pieces % GROUP_THREADS != 0 && piece >= pieces) break;
        // Both forms are the same; the first one lets the compiler keep one address for all i.
        int major = GROUP_THREADS % line == 0 ? member / line + i * (GROUP_THREADS / line) : piece / line;
        int minor = (GROUP_THREADS % line == 0 ? member % line : piece % line) * COUNT;
        int inside = COUNT;
        if (has_edge) {
            int left = extent - start - minor;
            inside = left <= 0 ? 0 : extent % COUNT != 0 && left < COUNT ? left : COUNT;
        }
        if (has_other_edge && other_start + major >= other_extent) inside = 0;
        float *to = tile + place<TILE, ALONG_K>(ALONG_K ? major : minor, ALONG_K ? minor : major);
        copy_async<COUNT * 4>(to, inside > 0 ? from + (i64)major * STRIDE + minor : from, inside * 4);
    }
}

// Reads what a thread needs of a tile for 4 steps along k: SIDE rows, in fours, the fours LINES * 4 apart. `own` is the place
// of its first row and k, the rest is known to the compiler.
template <int TILE, int SIDE, int LINES, bool ALONG_K> DEVICE void read_tile(float (&x)[4][SIDE], const float *own, int k) {
#pragma unroll
    for (int i = 0; i < SIDE; i += 4) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float4 four = *(const float4 *)(own + place<TILE, ALONG_K>(i * LINES + (ALONG_K ? j : 0), k + (ALONG_K ? 0 : j)));
            if (ALONG_K) x[0][i + j] = four.x, x[1][i + j] = four.y, x[2][i + j] = four.z, x[3][i + j] = four.w;
            else x[j][i] = four.x, x[j][i + 1] = four.y, x[j][i + 2] = four.z, x[j][i + 3] = four.w;
        }
    }
}

DEVICE float4 add(float4 x, float4 y) { return {x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w}; }

#if HAS_BIAS
#define BIAS const float *__restrict__ bias,
#else
#define BIAS
#endif
KERNEL(BOUNDS) CLUSTER product(const float *__restrict__ a, const float *__restrict__ b, BIAS C_TYPE *__restrict__ c MORE) {
#ifdef SHIM
    char *memory = shim_dynamic + threadIdx.y * BYTES;
#else
    extern __shared__ __align__(1024) char memory[];
#endif
    float4 *sums = (float4 *)memory, *inbox = (float4 *)((float *)memory + STAGES_FLOATS);
    float *bias_tile = (float *)memory + STAGES_FLOATS + INBOX_FLOATS;
    constexpr int tiles_n = (N + TILE_N - 1) / TILE_N;
    int split = own_split(), first_m = own_tile() / tiles_n * TILE_M, first_n = own_tile() % tiles_n * TILE_N;
    int thread = threadIdx.x, group = thread / GROUP_THREADS, member = thread % GROUP_THREADS;
    int way = thread / POSITIONS, position = thread % POSITIONS;
    // A warp takes 8 by 4 threads of the tile where that fits, so that it reads little from shared memory.
    constexpr int wide = LINES_N % 8 == 0 && LINES_M % 4 == 0 ? 8 : LINES_N % 4 == 0 && LINES_M % 8 == 0 ? 4 : LINES_N;
    constexpr int high = wide == LINES_N ? LINES_M : 32 / wide;
    int patch = position / (wide * high);
    int line_n = position % wide + patch % (LINES_N / wide) * wide, line_m = position / wide % high + patch / (LINES_N / wide) * high;
    a += (i64)blockIdx.z * A_BATCH;
    b += (i64)blockIdx.z * B_BATCH;
    // Nobody may write to a block that has not begun: this is waited for before the first send.
    if (SPLITS > 1) cluster_arrive();

    float *stages = (float *)memory + group * GROUP_FLOATS;
    int first_k = (split * GROUPS + group) * (STEPS * TILE_K);
    auto copy_step = [&](int step) {
        float *stage = stages + step % STAGES * STAGE;
        int k = first_k + step * TILE_K;
        copy_tile<TILE_M, M, A_STRIDE, A_ALONG_K, WIDTH(A_STRIDE, A_BATCH)>(stage, a, first_m, k, member);
        copy_tile<TILE_N, N, B_STRIDE, B_ALONG_K, WIDTH(B_STRIDE, B_BATCH)>(stage + A_TILE, b, first_n, k, member);
    };
#if HAS_BIAS
    for (int i = thread; i < TILE_N; i += THREADS) {
        bool inside = first_n + i < N;
        copy_async<4>(bias_tile + i, inside ? bias + first_n + i : bias, inside ? 4 : 0);
    }
#endif
#pragma unroll
    for (int step = 0; step < AHEAD; step++) {
        if (step < STEPS) copy_step(step);
        copies_end_group();
    }

    float total[THREAD_M][THREAD_N] = {};
    for (int step = 0; step < STEPS; step++) {
        copies_wait<AHEAD - 1>();
        group_barrier(group);
        if (step + AHEAD < STEPS) copy_step(step + AHEAD);
        copies_end_group();
        const float *own_a = stages + step % STAGES * STAGE + place<TILE_M, A_ALONG_K>(line_m * 4, way % SLICES * 4);
        const float *own_b = stages + step % STAGES * STAGE + A_TILE + place<TILE_N, B_ALONG_K>(line_n * 4, way % SLICES * 4);
#pragma unroll TILE_K / SLICES < 16 ? TILE_K / SLICES / 4 : 4
        for (int k = 0; k < TILE_K; k += 4 * SLICES) {
            float x[4][THREAD_M], y[4][THREAD_N];
            read_tile<TILE_M, THREAD_M, LINES_M, A_ALONG_K>(x, own_a, k);
            read_tile<TILE_N, THREAD_N, LINES_N, B_ALONG_K>(y, own_b, k);
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int m = 0; m < THREAD_M; m++)
#pragma unroll
                    for (int n = 0; n < THREAD_N; n++) total[m][n] = fmaf(x[j][m], y[j][n], total[m][n]);
        }
    }

    auto finish = [&](int row, int column, float4 four) {
        int m = first_m + row, n = first_n + column;
        if ((M % TILE_M != 0 && m >= M) || (N % TILE_N != 0 && n >= N)) return;
        float x[4] = {four.x, four.y, four.z, four.w};
        i64 index = (i64)blockIdx.z * C_BATCH + (i64)m * N + n;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            if (N % 4 != 0 && n + j >= N) break;
            if (HAS_BIAS) x[j] += bias_tile[column + j];
            x[j] = EPILOGUE(x[j], m, (n + j));
#ifndef STORE_FOUR
            STORE(index + j, x[j]);
#endif
        }
#ifdef STORE_FOUR
        STORE_FOUR(index, x);
#endif
    };
    // Every slice of every group gives the others their fours of its sums and adds theirs to its own; then each split does the same.
    constexpr int fours_n = THREAD_N / 4, fours = THREAD_M * fours_n;
    auto deliver = [&](int i, float4 x) {
        int m = i / fours_n, n = i % fours_n;
        int row = line_m * 4 + m / 4 * 4 * LINES_M + m % 4, column = line_n * 4 + n * 4 * LINES_N;
        int four = (row * TILE_N + column) / 4;
        if (SPLITS > 1) send(inbox + split * SHARE + four % SHARE, four / SHARE, x);
        else finish(row, column, x);
    };
    copies_wait<0>();
    if (WAYS > 1) {
        block_barrier();
#pragma unroll
        for (int i = 0; i < fours; i++) {
            const float *x = total[i / fours_n] + i % fours_n * 4;
            if (WAYS >= fours || i % WAYS != way) sums[(way * fours + i) * POSITIONS + position] = {x[0], x[1], x[2], x[3]};
        }
        block_barrier();
    }
    if (SPLITS > 1) cluster_wait();
    if (WAYS >= fours) {
        // Here the number of the four is no constant, so that the threads of a warp add different ones at the same time.
        if (way < fours) {
            float4 x = sums[way * POSITIONS + position];
#pragma unroll
            for (int other = 1; other < WAYS; other++) x = add(x, sums[(other * fours + way) * POSITIONS + position]);
            deliver(way, x);
        }
    } else {
#pragma unroll
        for (int i = 0; i < fours; i++) {
            if (i % WAYS != way) continue;
            const float *own = total[i / fours_n] + i % fours_n * 4;
            float4 x = {own[0], own[1], own[2], own[3]};
#pragma unroll
            for (int other = 1; other < WAYS; other++) x = add(x, sums[((way + other) % WAYS * fours + i) * POSITIONS + position]);
            deliver(i, x);
        }
    }
    if (SPLITS > 1) {
        cluster_arrive();
        cluster_wait();
        for (int i = thread; i < SHARE && split * SHARE + i < FOURS; i += THREADS) {
            float4 x = inbox[i];
#pragma unroll
            for (int from = 1; from < SPLITS; from++) x = add(x, inbox[from * SHARE + i]);
            int four = split * SHARE + i;
            finish(four * 4 / TILE_N, four * 4 % TILE_N, x);
        }
    }
}

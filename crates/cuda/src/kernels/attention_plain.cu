// Attention of any width, type and mask, a warp for each query or key: o = softmax(SCALE q k^T + mask) v, its logsumexp, and the gradients.
// What is computed stands in attention.cu, which is for heads up to a certain width without a mask.
//
// Macros:
//   T, REAL, LSE_TYPE  type of elements, type to compute in (float or double), type of the logsumexp
//   BATCH, HEADS, TOKENS (queries), KEYS, WIDTH (elements of a query and a key), VALUES (elements of a value and a result), SCALE
//   CAUSAL             1: query i sees keys 0..=i only; else 0
//   Q_BATCH, Q_HEAD, Q_TOKEN, and the same for K, V, O: strides in elements; elements of a token lie side by side
//   MASK               0: none; 1: numbers of T that are added to scores; 2: u8 that say which keys are seen
//   M_BATCH, M_HEAD, M_QUERY, M_KEY: strides of the mask
// A query that sees no key gives 0, a logsumexp of minus infinity, and no gradient. lse and delta: [BATCH][HEADS][TOKENS].
// The gradient of o lies as o does, those of q, k and v as these do.
//
//   plain_forward(q, k, v, mask, o, lse): grid ceil(BATCH * HEADS * TOKENS / 4), block 128.
//   plain_queries(q, k, v, mask, o, lse, slope, delta, dq): the same; delta is scratch of REAL.
//   plain_keys(q, k, v, mask, lse, slope, delta, dk, dv): grid ceil(BATCH * HEADS * KEYS / 4), block 128, after plain_queries.

constexpr int WIDTH_EACH = (WIDTH + 31) / 32 + (WIDTH == 0), VALUES_EACH = (VALUES + 31) / 32 + (VALUES == 0);

#if MASK == 2
typedef u8 Hidden;
#else
typedef T Hidden;
#endif

// A row of 32 lanes: its head, and where it is among the rows of it.
struct Row { i64 number, batch, head, token; };
DEVICE Row own_row(i64 tokens) {
    i64 number = (i64)blockIdx.x * 4 + threadIdx.x / 32, all = number / tokens;
    return {number, all / HEADS, all % HEADS, number % tokens};
}

#define AT(x, row, S, token) ((x) + (row).batch * S##_BATCH + (row).head * S##_HEAD + (i64)(token) * S##_TOKEN)

DEVICE REAL finite_or_zero(REAL x) { return x - x == 0 ? x : (REAL)0; }

template <int N> DEVICE REAL dot(const T *a, const T *b) {
    REAL sum = 0;
    for (int i = 0; i < N; i++) sum += (REAL)get(a, i) * get(b, i);
    return sum;
}

DEVICE REAL score_of(const T *q, const T *k, const Hidden *mask, const Row &row, i64 query, i64 key) {
    REAL score = dot<WIDTH>(q, k) * (REAL)SCALE;
#if MASK
    i64 place = row.batch * M_BATCH + row.head * M_HEAD + query * M_QUERY + key * M_KEY;
#if MASK == 2
    if (mask[place] == 0) score = -(REAL)INFINITY;
#else
    score += get(mask, place);
#endif
#endif
    return score;
}

// sums += the sum over lanes below `count` of the factor of the lane times the row of x that belongs to it.
template <int N, int EACH> DEVICE void add_rows(REAL (&sums)[EACH], REAL factor, const T *x, i64 step, int count) {
    int lane = threadIdx.x % 32;
    for (int j = 0; j < count; j++, x += step) {
        REAL own = __shfl_sync(0xffffffffu, factor, j);
#pragma unroll
        for (int e = 0; e < EACH; e++)
            if (e * 32 + lane < N) sums[e] += own * get(x, e * 32 + lane);
    }
}

template <int N, int EACH> DEVICE void put_row(T *to, const REAL (&sums)[EACH], REAL factor) {
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        int column = e * 32 + threadIdx.x % 32;
        if (column < N) put(to, column, sums[e] * factor);
    }
}

DEVICE i64 seen_by(i64 query) { return CAUSAL && query + 1 < KEYS ? query + 1 : KEYS; }
DEVICE int count_from(i64 first, i64 end) { return end - first < 32 ? (int)(end - first) : 32; }

KERNEL(128) plain_forward(const T *q, const T *k, const T *v, const Hidden *mask, T *o, LSE_TYPE *lse) {
    Row row = own_row(TOKENS);
    if (row.batch >= BATCH) return;
    const T *own = AT(q, row, Q, row.token);
    i64 seen = seen_by(row.token);
    int lane = threadIdx.x % 32;
    REAL largest = -(REAL)INFINITY, total = 0, sums[VALUES_EACH] = {};
    for (i64 first = 0; first < seen; first += 32) {
        i64 key = first + lane;
        REAL score = -(REAL)INFINITY;
        if (key < seen) score = score_of(own, AT(k, row, K, key), mask, row, row.token, key);
        REAL most = fold_warp<Max>(score);
        most = most > largest ? most : largest;
        REAL shift = finite_or_zero(most), correction = exp(largest - shift), p = exp(score - shift);
        largest = most, total = total * correction + fold_warp<Sum>(p);
#pragma unroll
        for (int e = 0; e < VALUES_EACH; e++) sums[e] *= correction;
        add_rows<VALUES>(sums, p, AT(v, row, V, first), V_TOKEN, count_from(first, seen));
    }
    if (lane == 0) put(lse, row.number, finite_or_zero(largest) + log(total));
    put_row<VALUES>(AT(o, row, O, row.token), sums, total == 0 ? (REAL)0 : 1 / total);
}

// What is left of a weight without its logsumexp; 0 where no key is seen.
DEVICE REAL weight_of(REAL score, REAL lse) { return exp(score - (lse == -(REAL)INFINITY ? (REAL)INFINITY : lse)); }

KERNEL(128) plain_queries(
    const T *q, const T *k, const T *v, const Hidden *mask, const T *o, const LSE_TYPE *lse, const T *slope, REAL *delta, T *dq
) {
    Row row = own_row(TOKENS);
    if (row.batch >= BATCH) return;
    const T *own = AT(q, row, Q, row.token), *result = AT(o, row, O, row.token), *g = AT(slope, row, O, row.token);
    i64 seen = seen_by(row.token);
    int lane = threadIdx.x % 32;
    REAL sum = 0, sums[WIDTH_EACH] = {};
    for (int i = lane; i < VALUES; i += 32) sum += (REAL)get(g, i) * get(result, i);
    sum = fold_warp<Sum>(sum);
    if (lane == 0) delta[row.number] = sum;
    for (i64 first = 0; first < seen; first += 32) {
        i64 key = first + lane;
        REAL ds = 0;
        if (key < seen) {
            REAL p = weight_of(score_of(own, AT(k, row, K, key), mask, row, row.token, key), get(lse, row.number));
            ds = p * (dot<VALUES>(g, AT(v, row, V, key)) - sum);
        }
        add_rows<WIDTH>(sums, ds, AT(k, row, K, first), K_TOKEN, count_from(first, seen));
    }
    put_row<WIDTH>(AT(dq, row, Q, row.token), sums, (REAL)SCALE);
}

KERNEL(128) plain_keys(
    const T *q, const T *k, const T *v, const Hidden *mask, const LSE_TYPE *lse, const T *slope, const REAL *delta, T *dk, T *dv
) {
    Row row = own_row(KEYS);
    if (row.batch >= BATCH) return;
    const T *own = AT(k, row, K, row.token), *value = AT(v, row, V, row.token);
    i64 statistics = (row.batch * HEADS + row.head) * TOKENS;
    REAL keys[WIDTH_EACH] = {}, values[VALUES_EACH] = {};
    for (i64 first = CAUSAL ? row.token : 0; first < TOKENS; first += 32) {
        i64 query = first + threadIdx.x % 32;
        REAL p = 0, ds = 0;
        if (query < TOKENS) {
            REAL score = score_of(AT(q, row, Q, query), own, mask, row, query, row.token);
            p = weight_of(score, get(lse, statistics + query));
            ds = p * (dot<VALUES>(AT(slope, row, O, query), value) - delta[statistics + query]);
        }
        int count = count_from(first, TOKENS);
        add_rows<WIDTH>(keys, ds, AT(q, row, Q, first), Q_TOKEN, count);
        add_rows<VALUES>(values, p, AT(slope, row, O, first), O_TOKEN, count);
    }
    put_row<WIDTH>(AT(dk, row, K, row.token), keys, (REAL)SCALE);
    put_row<VALUES>(AT(dv, row, V, row.token), values, (REAL)1);
}

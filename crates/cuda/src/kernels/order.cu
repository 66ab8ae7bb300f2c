// Elements of rows in order, of contiguous memory x[outer][N][INNER] along the middle axis, and places in sorted rows. Equal elements keep
// their order, in descending order too; NaN is the greatest, all NaN are equal, and 0 and -0 are.
//
// Macros of all kernels:
//   T         type of x: any
// Macros of sort_tiles, merge_runs and take:
//   N, INNER, ROWS (outer * INNER), DESCENDING (0 or 1)
//   TILE      elements that a block sorts: a power of two, the least that is at least N, but at most 4096, or 2048 where T has 8 bytes
//   GROUPS    tiles of a block: a power of two, so that there are up to 1024 elements; with MODE 1
//   THREADS   of a block of sort_tiles: 256
//   KEEP      elements of a row, from the first in order on, that matter: the others may be dropped on the way
//   FIRST, COUNT   the result is the elements FIRST .. FIRST + COUNT of the order (y: [outer][COUNT][INNER])
//   MEDIAN    1: instead, the lower middle element, or the first NaN; 2: the lower middle of the elements that are not NaN, if any; else 0
//   MODE      1: instead, the most frequent element, the smallest of ties, and its first position; else 0
// Macros of search: SEARCH 1 (the others need no value), N, VALUES (of a row), ALL (values of all rows), SHARED, RIGHT
//
// With a tile for a row: sort_tiles(x, null, y, places), grid ceil(ROWS / GROUPS), block THREADS. y is like x; places (i64): where each
// element of y comes from along the axis. With several tiles for a row, whose number is TILES = ceil(N / TILE):
//   sort_tiles(x, items, y, places): grid ROWS * TILES; items: scratch of 8 bytes for each element of x, 16 where T has 8 bytes;
//   merge_runs(from, to, run): runs of `run` sorted items become runs of 2 run, for run = TILE, 2 TILE, .. below N, from scratch to scratch;
//     grid ROWS * ceil(N / 256), block 256;
//   take(x, items, y, places): grid ROWS, block 256.
// search(sorted, values, places): places[r][v] = the number of elements of row r of sorted[rows][N] that are below values[r][v], or with
//   RIGHT 1 not above it. SHARED 1: one row serves all. grid ceil(ALL / 256), block 256.
// No kernel needs dynamic shared memory.

typedef decltype(get((const T *)0, 0)) Held;

#ifndef SHIM
DEVICE u64 double_bits(double x) { return (u64)__double_as_longlong(x); }
#else
DEVICE u64 double_bits(double x) { u64 y; memcpy(&y, &x, 8); return y; }
#endif

// Unsigned integers in the order of elements. Adding 0 turns -0 into 0.
DEVICE u32 key(u8 x) { return x; }
DEVICE u32 key(int x) { return (u32)x ^ 0x80000000u; }
DEVICE u64 key(i64 x) { return (u64)x ^ 1ull << 63; }
DEVICE u32 key(float x) {
    u32 bits = float_bits(x + 0.0f);
    return x != x ? ~0u : bits >> 31 ? ~bits : bits | 0x80000000u;
}
DEVICE u64 key(double x) {
    u64 bits = double_bits(x + 0.0);
    return x != x ? ~0ull : bits >> 63 ? ~bits : bits | 1ull << 63;
}
typedef decltype(key((Held)0)) Key;

#ifdef SEARCH

KERNEL(256) search(const T *sorted, const T *values, i64 *places) {
    i64 at = (i64)blockIdx.x * 256 + threadIdx.x;
    if (at >= ALL) return;
    if (!SHARED) sorted += at / VALUES * N;
    Key value = key(get(values, at));
    i64 low = 0, high = N;
    while (low < high) {
        i64 middle = low + (high - low) / 2;
        Key other = key(get(sorted, middle));
        if (RIGHT ? other <= value : other < value) low = middle + 1;
        else high = middle;
    }
    places[at] = low;
}

#else

// A key and the position of its element, which is below 2^32.
template <class K> struct Item;
template <> struct Item<u32> {
    u64 bits;
    static __device__ Item of(u32 key, u32 place) { return {(u64)key << 32 | place}; }
    __device__ u32 key() const { return (u32)(bits >> 32); }
    __device__ u32 place() const { return (u32)bits; }
    __device__ bool is_before(Item other) const { return bits < other.bits; }
};
template <> struct Item<u64> {
    u64 high, low;
    static __device__ Item of(u64 key, u32 place) { return {key, place}; }
    __device__ u64 key() const { return high; }
    __device__ u32 place() const { return (u32)low; }
    __device__ bool is_before(Item other) const { return high < other.high || (high == other.high && low < other.low); }
};
typedef Item<Key> Entry;

constexpr i64 TILES = ((i64)N + TILE - 1) / TILE;
constexpr int SLOTS = TILE * GROUPS;

// The number of the first `count` sorted items for which is_low holds, which comes before those for which it does not.
template <class F> DEVICE i64 count_low(const Entry *sorted, i64 begin, i64 count, F is_low) {
    i64 low = begin, high = count;
    while (low < high) {
        i64 middle = low + (high - low) / 2;
        if (is_low(sorted[middle])) low = middle + 1;
        else high = middle;
    }
    return low;
}

DEVICE i64 start_of(i64 row, i64 length) { return row / INNER * (length * INNER) + row % INNER; }

// Writes element j of the result of a row.
DEVICE void write(const T *x, Entry item, i64 row, i64 j, T *y, i64 *places) {
    i64 to = start_of(row, COUNT) + j * INNER;
    y[to] = x[start_of(row, N) + (i64)item.place() * INNER];
    places[to] = item.place();
}

// The place in order of the most frequent element, which a block of THREADS threads finds together.
template <int BLOCK> DEVICE i64 most_frequent(const Entry *sorted) {
    __shared__ i64 lengths[BLOCK], firsts[BLOCK];
    i64 longest = 0, best = 0;
    for (i64 j = threadIdx.x; j < N; j += BLOCK) {
        Key own = sorted[j].key();
        if (j > 0 && sorted[j - 1].key() == own) continue;
        i64 length = count_low(sorted, j + 1, N, [&](Entry other) -> bool { return other.key() == own; }) - j;
        if (length > longest) longest = length, best = j;
    }
    lengths[threadIdx.x] = longest, firsts[threadIdx.x] = best;
    for (int step = BLOCK / 2; step > 0; step /= 2) {
        __syncthreads();
        int other = threadIdx.x + step;
        if (threadIdx.x >= step) continue;
        if (lengths[other] > longest || (lengths[other] == longest && firsts[other] < best)) longest = lengths[other], best = firsts[other];
        lengths[threadIdx.x] = longest, firsts[threadIdx.x] = best;
    }
    __syncthreads();
    return firsts[0];
}

// Where in order the result begins.
DEVICE i64 first_of(const Entry *sorted) {
    if (!MEDIAN) return FIRST;
    i64 numbers = N;
    if ((Held)0.5 != 0) numbers = count_low(sorted, 0, N, [](Entry item) -> bool { return item.key() != (Key)~(Key)0; });
    if (numbers == N) return (N - 1) / 2;
    return MEDIAN == 1 ? numbers : numbers > 0 ? (numbers - 1) / 2 : 0;
}

KERNEL(THREADS) sort_tiles(const T *x, Entry *items, T *y, i64 *places) {
    __shared__ Entry sorted[SLOTS];
    i64 tile = (i64)blockIdx.x * GROUPS;
    for (int s = threadIdx.x; s < SLOTS; s += THREADS) {
        i64 row = (tile + s / TILE) / TILES, t = (tile + s / TILE) % TILES * TILE + s % TILE;
        bool is_there = row < ROWS && t < N;
        Key own = is_there ? key(get(x, start_of(row, N) + t * INNER)) : (Key)~(Key)0;
        // What fills a tile comes after all elements.
        sorted[s] = is_there ? Entry::of(DESCENDING ? (Key)~own : own, (u32)t) : Entry::of((Key)~(Key)0, ~0u);
    }
    // Runs of `run` elements that rise and fall in turn become runs of twice that length.
    for (int run = 2; run <= TILE; run *= 2) {
        for (int step = run / 2; step > 0; step /= 2) {
            __syncthreads();
            for (int p = threadIdx.x; p < SLOTS / 2; p += THREADS) {
                int i = 2 * p - (p & (step - 1));
                bool rises = run == TILE || (i & run) == 0;
                Entry a = sorted[i], b = sorted[i + step];
                if (b.is_before(a) == rises) sorted[i] = b, sorted[i + step] = a;
            }
        }
    }
    __syncthreads();
    i64 frequent = MODE && TILES == 1 ? most_frequent<THREADS>(sorted) : 0;
    for (int s = threadIdx.x; s < SLOTS; s += THREADS) {
        i64 row = (tile + s / TILE) / TILES, t = (tile + s / TILE) % TILES * TILE + s % TILE;
        if (row >= ROWS || t >= N) continue;
        if (TILES > 1) {
            if (s % TILE < KEEP) items[row * N + t] = sorted[s];
        } else if (t < COUNT) {
            const Entry *own = sorted + s / TILE * TILE;
            write(x, own[MODE ? frequent : first_of(own) + t], row, t, y, places);
        }
    }
}

KERNEL(256) merge_runs(const Entry *from, Entry *to, i64 run) {
    constexpr i64 BLOCKS = ((i64)N + 255) / 256;
    i64 row = blockIdx.x / BLOCKS, t = blockIdx.x % BLOCKS * 256 + threadIdx.x, own = t / run, offset = t % run;
    if (t >= N || offset >= KEEP) return;
    from += row * N, to += row * N;
    i64 other = (own ^ 1) * run, count = N - other < run ? N - other : run;
    if (count > KEEP) count = KEEP;
    Entry item = from[t];
    // The item comes after those of the other run that are before it; no two are the same.
    i64 before = count > 0 ? count_low(from + other, 0, count, [&](Entry it) -> bool { return it.is_before(item); }) : 0;
    if (offset + before < KEEP) to[own / 2 * 2 * run + offset + before] = item;
}

KERNEL(256) take(const T *x, const Entry *items, T *y, i64 *places) {
    i64 row = blockIdx.x;
    items += row * N;
    i64 first = MODE ? most_frequent<256>(items) : first_of(items);
    for (i64 j = threadIdx.x; j < COUNT; j += 256) write(x, items[first + j], row, j, y, places);
}

#endif

// Random numbers that depend only on a key, the number of a stream and their position: Philox 4x32-10.
//
// A key is two i64: its word and the number of the stream. The block with counter [b, stream] (64 bits each) has four words of 32 bits. As
// f32, number i is word i / 16 % 4 of block i / 64 * 16 + i % 16; as f64, it is double word i / 16 % 2 of block i / 32 * 16 + i % 16.
//
// uniform: numbers in [0, 1).
//   Macros: UNIFORM (selects the kernel), T (float, double, bf16 or f16), STEPS (where T has 16 bits, 2 to the digits that it keeps; else 0),
//           KEYS, EACH (numbers per key), WORDS_EACH (numbers of a block: 2 for double, else 4), BLOCKS (blocks per key: 16 times
//           ceil(EACH / (16 * WORDS_EACH))).
//   Grid: ceil(KEYS * BLOCKS / 256). Block: 256.
//   Arguments: const i64 *keys [KEYS][2], T *y [KEYS][EACH].
//
// split_key: child number index[k] of every key.
//   Macros: SPLIT_KEY (selects the kernel), KEYS. Grid: ceil(KEYS / 256). Block: 256.
//   Arguments: const i64 *keys [KEYS][2], const i64 *index [KEYS], i64 *children [KEYS][2].
//
// permutation: the positions that sort EACH numbers of f64 for every key; equal numbers keep their order.
//   Macros: PERMUTATION (selects the kernels), KEYS, EACH, TILES = ceil(EACH / 256).
//   permutation_begin(keys, to): grid KEYS * TILES, block 256; draws numbers, and sorts runs of 256.
//   for (run = 256; run < EACH; run *= 2)
//     permutation_merge(from, to, run): grid KEYS * TILES, block 256; merges pairs of runs; the next one goes from `to` to `from`.
//   permutation_end(from, y): the same grid and block; i64 *y [KEYS][EACH].
//   from, to: scratch, 16 bytes [KEYS][EACH] each. i64 run: the only argument that is no pointer.

struct Words { u32 x[4]; };

DEVICE Words philox(u64 counter, u64 stream, u64 key) {
    u32 a = (u32)counter, b = (u32)(counter >> 32), c = (u32)stream, d = (u32)(stream >> 32), low = (u32)key, high = (u32)(key >> 32);
#pragma unroll
    for (int i = 0; i < 10; i++) {
        u64 left = (u64)a * 0xd2511f53u, right = (u64)c * 0xcd9e8d57u;
        a = (u32)(right >> 32) ^ b ^ low, b = (u32)right;
        c = (u32)(left >> 32) ^ d ^ high, d = (u32)left;
        low += 0x9e3779b9u, high += 0xbb67ae85u;
    }
    return {a, b, c, d};
}

DEVICE u64 double_word(const Words &words, int number) { return words.x[2 * number] | (u64)words.x[2 * number + 1] << 32; }

#ifdef UNIFORM

KERNEL(256) uniform(const i64 *keys, T *y) {
    i64 n = (i64)blockIdx.x * 256 + threadIdx.x;
    if (n >= (i64)KEYS * BLOCKS) return;
    i64 k = n / BLOCKS, b = n % BLOCKS;
    Words words = philox((u64)b, (u64)keys[2 * k + 1], (u64)keys[2 * k]);
#pragma unroll
    for (int w = 0; w < WORDS_EACH; w++) {
        i64 i = (b / 16 * WORDS_EACH + w) * 16 + b % 16;
        if (i >= EACH) break;
#if WORDS_EACH == 2
        put(y, k * EACH + i, (double)(i64)(double_word(words, w) >> 11) * (1.0 / ((i64)1 << 53)));
#else
        float number = (float)(int)(words.x[w] >> 8) * (1.0f / (1 << 24));
#if STEPS
        // Digits are cut off: rounding could make them 1.
        number = (float)(int)(number * STEPS) / STEPS;
#endif
        put(y, k * EACH + i, number);
#endif
    }
}

#endif

#ifdef SPLIT_KEY

KERNEL(256) split_key(const i64 *keys, const i64 *index, i64 *children) {
    i64 k = (i64)blockIdx.x * 256 + threadIdx.x;
    if (k >= KEYS) return;
    // Another key, so that children never coincide with numbers drawn from the stream.
    Words words = philox((u64)index[k], (u64)keys[2 * k + 1], (u64)keys[2 * k] ^ 0x73706c6974206b65ull);
    children[2 * k] = (i64)double_word(words, 0), children[2 * k + 1] = (i64)double_word(words, 1);
}

#endif

#ifdef PERMUTATION

struct Drawn { u64 number; i64 at; };

DEVICE bool is_before(const Drawn &a, const Drawn &b) { return a.number < b.number || (a.number == b.number && a.at < b.at); }

KERNEL(256) permutation_begin(const i64 *keys, Drawn *to) {
    __shared__ Drawn tile[256];
    i64 k = blockIdx.x / TILES, first = (i64)(blockIdx.x % TILES) * 256, i = first + threadIdx.x;
    int count = EACH - first < 256 ? (int)(EACH - first) : 256;
    Words words = philox((u64)(i / 32 * 16 + i % 16), (u64)keys[2 * k + 1], (u64)keys[2 * k]);
    Drawn own = {double_word(words, (int)(i / 16 % 2)) >> 11, i};
    tile[threadIdx.x] = own;
    __syncthreads();
    if (i >= EACH) return;
    int rank = 0;
    for (int j = 0; j < count; j++) rank += is_before(tile[j], own);
    to[k * EACH + first + rank] = own;
}

KERNEL(256) permutation_merge(const Drawn *from, Drawn *to, i64 run) {
    i64 k = blockIdx.x / TILES, i = (i64)(blockIdx.x % TILES) * 256 + threadIdx.x;
    if (i >= EACH) return;
    from += k * EACH, to += k * EACH;
    // An element goes behind its own place by as many as come before it in the other run of the pair.
    i64 pair = i / (2 * run) * (2 * run), low = i < pair + run ? pair + run : pair, high = low + run;
    low = low < EACH ? low : EACH, high = high < EACH ? high : EACH;
    i64 begin = low;
    Drawn own = from[i];
    while (low < high) {
        i64 middle = (low + high) / 2;
        if (is_before(from[middle], own)) low = middle + 1;
        else high = middle;
    }
    to[pair + (i - pair) % run + low - begin] = own;
}

KERNEL(256) permutation_end(const Drawn *from, i64 *y) {
    i64 k = blockIdx.x / TILES, i = (i64)(blockIdx.x % TILES) * 256 + threadIdx.x;
    if (i < EACH) y[k * EACH + i] = from[k * EACH + i].at;
}

#endif

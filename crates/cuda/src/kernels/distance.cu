// The Euclidean distances between the rows of two matrices of a batch: y[n][i][j] = |a[n][i] - b[n][j]|. Differences are squared and summed
// directly, so points that are close to each other lose no digits.
//
// Macros: T, H (type in memory; type to compute with: float, or double where T is double); BATCH, ROWS, COLUMNS (rows of a and of b), LENGTH.
// distances(a, b, y): a[BATCH][ROWS][LENGTH], b[BATCH][COLUMNS][LENGTH], y[BATCH][ROWS][COLUMNS], contiguous;
//   grid BATCH * ceil(ROWS / 32) * ceil(COLUMNS / 32), block 256. It needs no scratch and no dynamic shared memory.

KERNEL(256) distances(const T *a, const T *b, T *y) {
    constexpr int SIDE = 32, DEPTH = 16;
    constexpr i64 DOWN = ((i64)ROWS + SIDE - 1) / SIDE, ACROSS = ((i64)COLUMNS + SIDE - 1) / SIDE;
    __shared__ H left[DEPTH][SIDE + 1], right[DEPTH][SIDE + 1];
    i64 across = blockIdx.x % ACROSS * SIDE, down = blockIdx.x / ACROSS % DOWN * SIDE, batch = blockIdx.x / ACROSS / DOWN;
    a += (batch * ROWS + down) * LENGTH, b += (batch * COLUMNS + across) * LENGTH, y += batch * ROWS * COLUMNS;
    int column = threadIdx.x % 16, row = threadIdx.x / 16;
    // A thread has the distances of two rows and two columns.
    H sums[2][2] = {};
    for (i64 start = 0; start < LENGTH; start += DEPTH) {
        __syncthreads();
        for (int i = threadIdx.x; i < SIDE * DEPTH; i += 256) {
            int place = i / DEPTH, k = i % DEPTH;
            bool is_there = start + k < LENGTH;
            left[k][place] = is_there && down + place < ROWS ? get(a, place * (i64)LENGTH + start + k) : (H)0;
            right[k][place] = is_there && across + place < COLUMNS ? get(b, place * (i64)LENGTH + start + k) : (H)0;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                H d = left[k][row + i / 2 * 16] - right[k][column + i % 2 * 16];
                sums[i / 2][i % 2] += d * d;
            }
    }
    for (int i = 0; i < 4; i++) {
        i64 to = down + row + i / 2 * 16, at = across + column + i % 2 * 16;
        if (to < ROWS && at < COLUMNS) put(y, to * COLUMNS + at, sqrt(sums[i / 2][i % 2]));
    }
}

// Adds the parts of sums in order. Macros: T, the type of the result; ACC, that of the parts; PARTS; COLUMNS.

// One number: one block of 256 threads.
KERNEL(256) finish_one(const ACC *parts, T *y) {
    ACC sum = 0;
    for (int part = threadIdx.x; part < PARTS; part += 256) sum += parts[part];
    sum = fold_threads<Sum, 256>(sum, (ACC)0, threadIdx.x);
    if (threadIdx.x == 0) put(y, 0, sum);
}

// A number for each column: blocks of 32 columns by 8 rows of threads.
KERNEL(256) finish_columns(const ACC *parts, T *y) {
    __shared__ ACC sums[8][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, column = blockIdx.x * 32 + lane;
    ACC sum = 0;
    if (column < COLUMNS) for (int part = warp; part < PARTS; part += 8) sum += parts[(i64)part * COLUMNS + column];
    sums[warp][lane] = sum;
    __syncthreads();
    if (warp == 0 && column < COLUMNS) {
        for (int other = 1; other < 8; other++) sum += sums[other][lane];
        put(y, column, sum);
    }
}

// Launches in order.
// 0: kernel 0, product, 128 x 1 x 1 blocks of 256 x 1 x 1 threads, 27904 bytes shared, 4 words
// 1: kernel 1, loop, 64 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 6 words
// 2: kernel 2, product, 128 x 1 x 1 blocks of 256 x 1 x 1 threads, 52480 bytes shared, 4 words
// 3: kernel 1, loop, 64 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 6 words
// 4: kernel 3, product, 128 x 1 x 1 blocks of 48 x 1 x 1 threads, 5632 bytes shared, 4 words
// 5: kernel 4, cross_entropy, 32 x 1 x 1 blocks of 128 x 1 x 1 threads, 0 bytes shared, 5 words
// 6: kernel 5, sum_rows, 1 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 3 words
// 7: kernel 6, team, 1 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 9: kernel 7, copy, 1 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 9: kernel 8, cross_entropy_gradient, 32 x 1 x 1 blocks of 128 x 1 x 1 threads, 0 bytes shared, 6 words
// 10: kernel 9, product, 128 x 1 x 1 blocks of 32 x 1 x 1 threads, 2384 bytes shared, 3 words
// 11: kernel 10, product, 64 x 1 x 1 blocks of 128 x 1 x 1 threads, 12304 bytes shared, 3 words
// 12: kernel 11, loop, 1 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 13: kernel 12, loop, 4 x 2 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 8 words
// 13: kernel 13, finish_columns, 16 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 14: kernel 14, product, 128 x 1 x 1 blocks of 256 x 1 x 1 threads, 50304 bytes shared, 3 words
// 15: kernel 15, product, 256 x 1 x 1 blocks of 128 x 1 x 1 threads, 16400 bytes shared, 3 words
// 16: kernel 12, loop, 4 x 2 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 8 words
// 16: kernel 13, finish_columns, 16 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 17: kernel 16, product, 200 x 1 x 1 blocks of 128 x 1 x 1 threads, 24592 bytes shared, 3 words
// 18: kernel 17, loop, 656 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 30 words

// Kernel 0: product
#define M 128
#define N 512
#define K 784
#define A_M 784
#define A_K 1
#define B_K 1
#define B_N 784
#define TILE_M 16
#define TILE_N 32
#define TILE_K 8
#define THREAD_M 4
#define THREAD_N 4
#define STAGES 2
#define SPLITS 1
#define GROUPS 8
#define SLICES 1
#define HAS_BIAS 1
#define ALIGNED 4
// kernels/product.cu

// Kernel 1: loop
#define COUNT 1
// words.cuh
DEVICE float op0(float x) { return ((x <= ((float)0.0)) ? ((float)0.0) : x); } // relu
DEVICE u8 op1(float x, float y) { return (x > y); } // compare
struct Loop {
    const float *x0;
    const float *x1;
    float *y0;
    u8 *y1;
    i64 elements;
    i64 blocks;
};
DEVICE void run(const Loop &at, i64 block, int) {
    const float v1 = get(at.x1, 0);
    for (i64 i = (block * 256 + threadIdx.x) * 4; i < at.elements; i += at.blocks * 1024) {
        int left = at.elements - i < 4 ? (int)(at.elements - i) : 4;
        const int n = i;
        float g0[4];
        load<4>(g0, at.x0 + ((n)), left);
        float r0[4];
        u8 r1[4];
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            const float v0 = g0[k];
            const float v2 = op0(v0);
            const u8 v3 = op1(v2, v1);
            r0[k] = v2;
            r1[k] = v3;
        }
        store<4>(at.y0 + i, r0, left);
        store<4>(at.y1 + i, r1, left);
    }
}
struct Loops { Loop each[COUNT]; };
KERNEL(256) loop(const __grid_constant__ Loops loops) {
    i64 block = blockIdx.x;
    int number = 0;
    while (block >= loops.each[number].blocks) block -= loops.each[number++].blocks;
    run(loops.each[number], block, 0);
}

// Kernel 2: product
#define M 128
#define N 512
#define K 512
#define A_M 512
#define A_K 1
#define B_K 1
#define B_N 512
#define TILE_M 16
#define TILE_N 32
#define TILE_K 16
#define THREAD_M 4
#define THREAD_N 4
#define STAGES 2
#define SPLITS 1
#define GROUPS 8
#define SLICES 1
#define HAS_BIAS 1
#define ALIGNED 4
// kernels/product.cu

// Kernel 3: product
#define M 128
#define N 10
#define K 512
#define A_M 512
#define A_K 1
#define B_K 1
#define B_N 512
#define TILE_M 8
#define TILE_N 12
#define TILE_K 64
#define THREAD_M 4
#define THREAD_N 4
#define STAGES 1
#define SPLITS 8
#define GROUPS 1
#define SLICES 8
#define HAS_BIAS 1
#define ALIGNED 4
// kernels/product.cu

// Kernel 4: cross_entropy
#define T float
#define COMPUTE float
#define STAT float
#define LOSS float
#define ROWS 128
#define CLASSES 10
#define IGNORED (-100LL)
#define SMOOTHING 0.0
#define HAS_WEIGHT 0
#define ALIGN 16
// kernels/cross_entropy.cu

// Kernel 5: sum_rows
#define T float
#define ACC float
#define OUT float
#define KEPT0 1
#define KEPT0_STRIDE 0
#define KEPT1 1
#define KEPT1_STRIDE 0
#define SUMMED0 1
#define SUMMED0_STRIDE 0
#define SUMMED1 128
#define SUMMED1_STRIDE 1
#define WIDTH 4
#define PARTS 1
#define LANES 8
#define COLUMNS 1
// kernels/sum.cu

// Kernel 6: team
// words.cuh
namespace loop1 {
DEVICE u8 op0(i64 x, i64 y) { return (x != y); } // compare
DEVICE float op1(u8 x) { return x; } // cast
struct Loop {
    const i64 *x0;
    const i64 *x1;
    float *y0;
    float *part0;
    i64 elements;
    i64 blocks;
};
DEVICE void run(const Loop &at, i64 block, int) {
    const i64 v1 = get(at.x1, 0);
    float sum0 = 0;
    for (i64 i = (block * 256 + threadIdx.x) * 4; i < at.elements; i += at.blocks * 1024) {
        int left = at.elements - i < 4 ? (int)(at.elements - i) : 4;
        const int n = i;
        i64 g0[4];
        load<4>(g0, at.x0 + ((n)), left);
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            const i64 v0 = g0[k];
            const u8 v2 = op0(v0, v1);
            const float v3 = op1(v2);
            if (k < left) sum0 += v3;
        }
    }
    sum0 = fold_threads<Sum, 256>(sum0, (float)0, threadIdx.x);
    if (threadIdx.x == 0 && at.blocks > 1) at.part0[block] = sum0;
    if (threadIdx.x == 0 && at.blocks == 1) put(at.y0, 0, sum0);
}
}
namespace loop2 {
DEVICE float op0(float x, float y) { return (x / y); } // div
struct Loop {
    const float *x0;
    const float *x1;
    float *y0;
    i64 elements;
    i64 blocks;
};
DEVICE void run(const Loop &at, i64 block, int) {
    const float v0 = get(at.x0, 0);
    const float v1 = get(at.x1, 0);
    for (i64 i = (block * 256 + threadIdx.x) * 4; i < at.elements; i += at.blocks * 1024) {
        int left = at.elements - i < 4 ? (int)(at.elements - i) : 4;
        const int n = i;
        float r0[4];
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            const float v2 = op0(v0, v1);
            r0[k] = v2;
        }
        store<4>(at.y0 + i, r0, left);
    }
}
}
namespace loop3 {
DEVICE float op0(float cotangent, float y) { return w_guarded<float>(cotangent, (((float)1.0) / y)); } // slope
struct Loop {
    const float *x0;
    const float *x1;
    float *y0;
    i64 elements;
    i64 blocks;
};
DEVICE void run(const Loop &at, i64 block, int) {
    const float v0 = get(at.x0, 0);
    const float v1 = get(at.x1, 0);
    for (i64 i = (block * 256 + threadIdx.x) * 4; i < at.elements; i += at.blocks * 1024) {
        int left = at.elements - i < 4 ? (int)(at.elements - i) : 4;
        const int n = i;
        float r0[4];
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            const float v2 = op0(v0, v1);
            r0[k] = v2;
        }
        store<4>(at.y0 + i, r0, left);
    }
}
}
KERNEL(256) team(char *r0, char *r1, char *r2, char *r3, char *r4) {
{ const loop1::Loop at = {(const i64 *)(r0 + 0), (const i64 *)(r1 + 0), (float *)(r2 + 524288), nullptr, 128, 1};
for (int tile = 0; tile < 1; tile++) loop1::run(at, tile, 0); }
__syncthreads();
{ const loop2::Loop at = {(const float *)(r2 + 525312), (const float *)(r2 + 524288), (float *)(r3 + 0), 1, 1};
for (int tile = 0; tile < 1; tile++) loop2::run(at, tile, 0); }
__syncthreads();
{ const loop3::Loop at = {(const float *)(r4 + 0), (const float *)(r2 + 524288), (float *)(r2 + 524544), 1, 1};
for (int tile = 0; tile < 1; tile++) loop3::run(at, tile, 0); }
__syncthreads();
}

// Kernel 7: copy
#define BYTES 4
#define RANK 1
#define SIZES 128
#define STRIDES 0
#define WIDTH 1
#define TILED 0
#define AXIS 0
// kernels/copy.cu

// Kernel 8: cross_entropy_gradient
#define T float
#define COMPUTE float
#define STAT float
#define LOSS float
#define ROWS 128
#define CLASSES 10
#define IGNORED (-100LL)
#define SMOOTHING 0.0
#define HAS_WEIGHT 0
#define ALIGN 16
// kernels/cross_entropy.cu

// Kernel 9: product
#define M 128
#define N 512
#define K 10
#define A_M 10
#define A_K 1
#define B_K 512
#define B_N 1
#define TILE_M 16
#define TILE_N 32
#define TILE_K 12
#define THREAD_M 4
#define THREAD_N 4
#define STAGES 1
#define SPLITS 1
#define GROUPS 1
#define SLICES 1
#define HAS_BIAS 0
#define ALIGNED 4
// kernels/product.cu

// Kernel 10: product
#define M 10
#define N 512
#define K 128
#define A_M 1
#define A_K 10
#define B_K 512
#define B_N 1
#define TILE_M 8
#define TILE_N 16
#define TILE_K 128
#define THREAD_M 4
#define THREAD_N 4
#define STAGES 1
#define SPLITS 1
#define GROUPS 1
#define SLICES 16
#define HAS_BIAS 0
#define ALIGNED 4
// kernels/product.cu

// Kernel 11: loop
// words.cuh
struct Loop {
    const float *x0;
    float *y0;
    float *part0;
    i64 elements;
    i64 blocks;
};
DEVICE void run(const Loop &at, int tile, int part) {
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    float sum0[1] = {};
    const int column = (tile * 16 + x) * 1;
    if (column < 10) {
        for (int row = part * 16 + y; row < 128; row += 16) {
            i64 i = (i64)row * 10 + column;
            const int left = 1;
            const int n = i;
            float g0[1];
            load<1>(g0, at.x0 + ((n)), left);
            #pragma unroll
            for (int k = 0; k < 1; k++) {
                const float v0 = g0[k];
                sum0[k] += v0;
            }
        }
    }
     {
        __shared__ float sums[16][16];
        for (int k = 0; k < 1; k++) sums[y][x * 1 + k] = sum0[k];
        __syncthreads();
        if (y == 0 && column < 10) for (int k = 0; k < 1; k++) {
            float all = 0;
            for (int other = 0; other < 16; other++) all += sums[other][x * 1 + k];
            put(at.y0, column + k, all);
        }
        __syncthreads();
    }
}
KERNEL(256) loop(const __grid_constant__ Loop at) { run(at, blockIdx.x, blockIdx.y); }

// Kernel 12: loop
// words.cuh
DEVICE float op0(u8 c, float a, float b) { return (c ? a : b); } // where
struct Loop {
    const u8 *x0;
    const float *x1;
    const float *x2;
    float *y0;
    float *y1;
    float *part1;
    i64 elements;
    i64 blocks;
};
DEVICE void run(const Loop &at, int tile, int part) {
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    const float v2 = get(at.x2, 0);
    float sum1[4] = {};
    const int column = (tile * 32 + x) * 4;
    if (column < 512) {
        for (int row = part * 8 + y; row < 128; row += 16) {
            i64 i = (i64)row * 512 + column;
            const int left = 4;
            const int n = i;
            u8 g0[4];
            load<4>(g0, at.x0 + ((n)), left);
            float g1[4];
            load<4>(g1, at.x1 + ((n)), left);
            float r0[4];
            #pragma unroll
            for (int k = 0; k < 4; k++) {
                const u8 v0 = g0[k];
                const float v1 = g1[k];
                const float v3 = op0(v0, v1, v2);
                r0[k] = v3;
                sum1[k] += v3;
            }
            store<4>(at.y0 + i, r0, left);
        }
    }
     {
        __shared__ float sums[8][128];
        for (int k = 0; k < 4; k++) sums[y][x * 4 + k] = sum1[k];
        __syncthreads();
        if (y == 0 && column < 512) for (int k = 0; k < 4; k++) {
            float all = 0;
            for (int other = 0; other < 8; other++) all += sums[other][x * 4 + k];
            put(at.part1, (i64)part * 512 + column + k, all);
        }
        __syncthreads();
    }
}
KERNEL(256) loop(const __grid_constant__ Loop at) { run(at, blockIdx.x, blockIdx.y); }

// Kernel 13: finish_columns
#define T float
#define ACC float
#define PARTS 2
#define COLUMNS 512
// kernels/finish.cu

// Kernel 14: product
#define M 128
#define N 512
#define K 512
#define A_M 512
#define A_K 1
#define B_K 512
#define B_N 1
#define TILE_M 16
#define TILE_N 32
#define TILE_K 16
#define THREAD_M 4
#define THREAD_N 4
#define STAGES 2
#define SPLITS 1
#define GROUPS 8
#define SLICES 1
#define HAS_BIAS 0
#define ALIGNED 4
// kernels/product.cu

// Kernel 15: product
#define M 512
#define N 512
#define K 128
#define A_M 1
#define A_K 512
#define B_K 512
#define B_N 1
#define TILE_M 32
#define TILE_N 32
#define TILE_K 32
#define THREAD_M 8
#define THREAD_N 4
#define STAGES 2
#define SPLITS 1
#define GROUPS 1
#define SLICES 4
#define HAS_BIAS 0
#define ALIGNED 4
// kernels/product.cu

// Kernel 16: product
#define M 512
#define N 784
#define K 128
#define A_M 1
#define A_K 512
#define B_K 784
#define B_N 1
#define TILE_M 64
#define TILE_N 32
#define TILE_K 32
#define THREAD_M 8
#define THREAD_N 4
#define STAGES 2
#define SPLITS 1
#define GROUPS 1
#define SLICES 2
#define HAS_BIAS 0
#define ALIGNED 4
// kernels/product.cu

// Kernel 17: loop
#define COUNT 6
// words.cuh
DEVICE float op0(float x, float y) { const float a = (float)1.0; const float b = (float)-0.001; return ((a * x) + (b * y)); } // combine
struct Loop {
    const float *x0;
    const float *x1;
    float *y0;
    i64 elements;
    i64 blocks;
};
DEVICE void run(const Loop &at, i64 block, int) {
    for (i64 i = (block * 256 + threadIdx.x) * 4; i < at.elements; i += at.blocks * 1024) {
        int left = at.elements - i < 4 ? (int)(at.elements - i) : 4;
        const int n = i;
        float g0[4];
        load<4>(g0, at.x0 + ((n)), left);
        float g1[4];
        load<4>(g1, at.x1 + ((n)), left);
        float r0[4];
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            const float v0 = g0[k];
            const float v1 = g1[k];
            const float v2 = op0(v0, v1);
            r0[k] = v2;
        }
        store<4>(at.y0 + i, r0, left);
    }
}
struct Loops { Loop each[COUNT]; };
KERNEL(256) loop(const __grid_constant__ Loops loops) {
    i64 block = blockIdx.x;
    int number = 0;
    while (block >= loops.each[number].blocks) block -= loops.each[number++].blocks;
    run(loops.each[number], block, 0);
}

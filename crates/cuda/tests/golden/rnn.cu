// Launches in order.
// 0: kernel 0, product, 256 x 1 x 1 blocks of 128 x 1 x 1 threads, 26272 bytes shared, 4 words
// 1: kernel 1, copy_tiled, 16 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 1: kernel 2, copy, 4 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 1: kernel 3, scan, 32 x 1 x 1 blocks of 256 x 1 x 1 threads, 1536 bytes shared, 1 words
// 2: kernel 4, product, 4 x 1 x 1 blocks of 96 x 1 x 1 threads, 10368 bytes shared, 4 words
// 3: kernel 5, cross_entropy, 8 x 1 x 1 blocks of 128 x 1 x 1 threads, 0 bytes shared, 5 words
// 4: kernel 6, sum_rows, 1 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 3 words
// 5: kernel 7, team, 1 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 7: kernel 8, copy, 1 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 7: kernel 9, cross_entropy_gradient, 8 x 1 x 1 blocks of 128 x 1 x 1 threads, 0 bytes shared, 6 words
// 8: kernel 10, product, 8 x 1 x 1 blocks of 32 x 1 x 1 threads, 2384 bytes shared, 3 words
// 9: kernel 11, product, 16 x 1 x 1 blocks of 32 x 1 x 1 threads, 3088 bytes shared, 3 words
// 10: kernel 12, loop, 1 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 11: kernel 13, scan, 32 x 1 x 1 blocks of 256 x 1 x 1 threads, 1024 bytes shared, 2 words
// 12: kernel 14, product, 256 x 1 x 1 blocks of 128 x 1 x 1 threads, 33808 bytes shared, 3 words
// 13: kernel 15, product, 128 x 1 x 1 blocks of 128 x 1 x 1 threads, 36880 bytes shared, 3 words
// 14: kernel 16, loop, 1 x 64 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 14: kernel 17, finish_columns, 4 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 15: kernel 18, loop, 28 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 25 words

// Kernel 0: product
#define M 4096
#define N 128
#define K 64
#define A_M 64
#define A_K 1
#define B_K 1
#define B_N 64
#define TILE_M 64
#define TILE_N 32
#define TILE_K 16
#define THREAD_M 8
#define THREAD_N 4
#define STAGES 2
#define SPLITS 1
#define GROUPS 2
#define SLICES 1
#define HAS_BIAS 1
#define ALIGNED 4
// kernels/product.cu

// Kernel 1: copy_tiled
#define BYTES 4
#define RANK 2
#define SIZES 128, 128
#define STRIDES 1, 128
#define WIDTH 1
#define TILED 1
#define AXIS 0
// kernels/copy.cu

// Kernel 2: copy
#define BYTES 4
#define RANK 1
#define SIZES 4096
#define STRIDES 0
#define WIDTH 1
#define TILED 0
#define AXIS 0
// kernels/copy.cu

// Kernel 3: scan
// words.cuh
namespace loop2 {
DEVICE float op0(float x, float y) { return (x + y); } // add
DEVICE float op1(float x) { return w_tanh<float>(x); } // tanh
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
            const float v3 = op1(v2);
            r0[k] = v3;
        }
        store<4>(at.y0 + i, r0, left);
    }
}
}
KERNEL(256) scan(char *r0) {
#ifdef SHIM
char *memory = shim_dynamic;
#else
extern __shared__ __align__(1024) char memory[];
#endif
const int part = blockIdx.x;
const char *g0 = r0 + 6340608 + (i64)part * 0;
const char *g1 = r0 + 6406144 + (i64)part * 512;
char *y0 = r0 + 6422528 + (i64)part * 512;
copy_bytes(memory + 512, g1, 512);
const int lane1 = threadIdx.x % 2, column1 = threadIdx.x / 2 % 128, row1 = threadIdx.x / 256;
const float *right1 = (const float *)(g0 + 0 + 0);
float w1[64];
#pragma unroll
for (int tile = 0; tile < 1; tile++) {
#pragma unroll
for (int j = 0; j < 64; j++) w1[tile * 64 + j] = j * 2 + lane1 < 128 && tile * 128 + column1 < 128 ? right1[(j * 2 + lane1) * 128 + (tile * 128 + column1) * 1] : 0;
}
__syncthreads();
for (int step = 0; step < 128; step++) {
const int at = step;
const char *g2 = r0 + 0 + (i64)part * 512 + (i64)at * 16384;
char *y1 = r0 + 2097152 + ((i64)at * 32 + part) * 512;
char *y2 = r0 + 4194304 + ((i64)at * 32 + part) * 512;
char *from0 = memory + (step % 2 ? 1024 : 512), *to0 = memory + (step % 2 ? 512 : 1024);
{
const float *left = (const float *)(from0 + 0 + 0);
float *to = (float *)(memory + 0);
#pragma unroll
for (int tile = 0; tile < 1; tile++) {
for (int row = row1; row < 1; row += 1) {
float sums[4] = {};
#pragma unroll
for (int j = 0; j < 64; j++) sums[j % 4] += (j * 2 + lane1 < 128 ? left[row * 128 + (j * 2 + lane1) * 1] : 0) * w1[tile * 64 + j];
float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
for (int step = 1; step < 2; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
if (lane1 == 0 && tile * 128 + column1 < 128) to[row * 128 + tile * 128 + column1] = sum;
}
}
}
__syncthreads();
{ const loop2::Loop at = {(const float *)(g2 + 0), (const float *)(memory + 0), (float *)(to0 + 0), 128, 1};
for (int tile = 0; tile < 1; tile++) loop2::run(at, tile, 0); }
__syncthreads();
copy_bytes((char *)(y1 + 0), (const char *)(from0 + 0 + 0), 512);
__syncthreads();
copy_bytes((char *)(y2 + 0), (const char *)(to0 + 0 + 0), 512);
__syncthreads();
}
copy_bytes(y0, memory + 512, 512);
}

// Kernel 4: product
#define M 32
#define N 10
#define K 128
#define A_M 128
#define A_K 1
#define B_K 1
#define B_N 128
#define TILE_M 8
#define TILE_N 12
#define TILE_K 128
#define THREAD_M 4
#define THREAD_N 4
#define STAGES 1
#define SPLITS 1
#define GROUPS 1
#define SLICES 16
#define HAS_BIAS 1
#define ALIGNED 4
// kernels/product.cu

// Kernel 5: cross_entropy
#define T float
#define COMPUTE float
#define STAT float
#define LOSS float
#define ROWS 32
#define CLASSES 10
#define IGNORED (-100LL)
#define SMOOTHING 0.0
#define HAS_WEIGHT 0
#define ALIGN 16
// kernels/cross_entropy.cu

// Kernel 6: sum_rows
#define T float
#define ACC float
#define OUT float
#define KEPT0 1
#define KEPT0_STRIDE 0
#define KEPT1 1
#define KEPT1_STRIDE 0
#define SUMMED0 1
#define SUMMED0_STRIDE 0
#define SUMMED1 32
#define SUMMED1_STRIDE 1
#define WIDTH 4
#define PARTS 1
#define LANES 2
#define COLUMNS 1
// kernels/sum.cu

// Kernel 7: team
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
{ const loop1::Loop at = {(const i64 *)(r0 + 0), (const i64 *)(r1 + 0), (float *)(r2 + 1280), nullptr, 32, 1};
for (int tile = 0; tile < 1; tile++) loop1::run(at, tile, 0); }
__syncthreads();
{ const loop2::Loop at = {(const float *)(r2 + 1792), (const float *)(r2 + 1280), (float *)(r3 + 0), 1, 1};
for (int tile = 0; tile < 1; tile++) loop2::run(at, tile, 0); }
__syncthreads();
{ const loop3::Loop at = {(const float *)(r4 + 0), (const float *)(r2 + 1280), (float *)(r2 + 2048), 1, 1};
for (int tile = 0; tile < 1; tile++) loop3::run(at, tile, 0); }
__syncthreads();
}

// Kernel 8: copy
#define BYTES 4
#define RANK 1
#define SIZES 32
#define STRIDES 0
#define WIDTH 1
#define TILED 0
#define AXIS 0
// kernels/copy.cu

// Kernel 9: cross_entropy_gradient
#define T float
#define COMPUTE float
#define STAT float
#define LOSS float
#define ROWS 32
#define CLASSES 10
#define IGNORED (-100LL)
#define SMOOTHING 0.0
#define HAS_WEIGHT 0
#define ALIGN 16
// kernels/cross_entropy.cu

// Kernel 10: product
#define M 32
#define N 128
#define K 10
#define A_M 10
#define A_K 1
#define B_K 128
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

// Kernel 11: product
#define M 10
#define N 128
#define K 32
#define A_M 1
#define A_K 10
#define B_K 128
#define B_N 1
#define TILE_M 8
#define TILE_N 16
#define TILE_K 32
#define THREAD_M 4
#define THREAD_N 4
#define STAGES 1
#define SPLITS 1
#define GROUPS 1
#define SLICES 4
#define HAS_BIAS 0
#define ALIGNED 4
// kernels/product.cu

// Kernel 12: loop
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
        for (int row = part * 16 + y; row < 32; row += 16) {
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

// Kernel 13: scan
// words.cuh
namespace loop1 {
DEVICE float op0(float cotangent, float y) { return w_guarded<float>(cotangent, (w_lit<float>(1.0) - (y * y))); } // slope
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
}
KERNEL(256) scan(char *r0, char *r1) {
#ifdef SHIM
char *memory = shim_dynamic;
#else
extern __shared__ __align__(1024) char memory[];
#endif
const int part = blockIdx.x;
const char *g0 = r0 + 0 + (i64)part * 0;
const char *g1 = r1 + 6324224 + (i64)part * 512;
char *y0 = r1 + 6340608 + (i64)part * 512;
copy_bytes(memory + 0, g1, 512);
const int lane2 = threadIdx.x % 2, column2 = threadIdx.x / 2 % 128, row2 = threadIdx.x / 256;
const float *right2 = (const float *)(g0 + 0 + 0);
float w2[64];
#pragma unroll
for (int tile = 0; tile < 1; tile++) {
#pragma unroll
for (int j = 0; j < 64; j++) w2[tile * 64 + j] = j * 2 + lane2 < 128 && tile * 128 + column2 < 128 ? right2[(j * 2 + lane2) * 128 + (tile * 128 + column2) * 1] : 0;
}
__syncthreads();
for (int step = 0; step < 128; step++) {
const int at = 127 - step;
const char *g2 = r1 + 4194304 + (i64)part * 512 + (i64)at * 16384;
char *y1 = r1 + 0 + ((i64)at * 32 + part) * 512;
char *from0 = memory + (step % 2 ? 512 : 0), *to0 = memory + (step % 2 ? 0 : 512);
{ const loop1::Loop at = {(const float *)(from0 + 0), (const float *)(g2 + 0), (float *)(y1 + 0), 128, 1};
for (int tile = 0; tile < 1; tile++) loop1::run(at, tile, 0); }
__syncthreads();
{
const float *left = (const float *)(y1 + 0 + 0);
float *to = (float *)(to0 + 0);
#pragma unroll
for (int tile = 0; tile < 1; tile++) {
for (int row = row2; row < 1; row += 1) {
float sums[4] = {};
#pragma unroll
for (int j = 0; j < 64; j++) sums[j % 4] += (j * 2 + lane2 < 128 ? left[row * 128 + (j * 2 + lane2) * 1] : 0) * w2[tile * 64 + j];
float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
for (int step = 1; step < 2; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
if (lane2 == 0 && tile * 128 + column2 < 128) to[row * 128 + tile * 128 + column2] = sum;
}
}
}
__syncthreads();
}
copy_bytes(y0, memory + 0, 512);
}

// Kernel 14: product
#define M 128
#define N 64
#define K 4096
#define A_M 1
#define A_K 128
#define B_K 64
#define B_N 1
#define TILE_M 16
#define TILE_N 16
#define TILE_K 128
#define THREAD_M 4
#define THREAD_N 4
#define STAGES 2
#define SPLITS 8
#define GROUPS 1
#define SLICES 8
#define HAS_BIAS 0
#define ALIGNED 4
// kernels/product.cu

// Kernel 15: product
#define M 128
#define N 128
#define K 4096
#define A_M 1
#define A_K 128
#define B_K 128
#define B_N 1
#define TILE_M 32
#define TILE_N 32
#define TILE_K 64
#define THREAD_M 8
#define THREAD_N 4
#define STAGES 2
#define SPLITS 8
#define GROUPS 1
#define SLICES 4
#define HAS_BIAS 0
#define ALIGNED 4
// kernels/product.cu

// Kernel 16: loop
// words.cuh
struct Loop {
    const float *x0;
    float *y0;
    float *part0;
    i64 elements;
    i64 blocks;
};
DEVICE void run(const Loop &at, int tile, int part) {
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    float sum0[4] = {};
    const int column = (tile * 32 + x) * 4;
    if (column < 128) {
        for (int row = part * 8 + y; row < 4096; row += 512) {
            i64 i = (i64)row * 128 + column;
            const int left = 4;
            const int n = i;
            float g0[4];
            load<4>(g0, at.x0 + ((n)), left);
            #pragma unroll
            for (int k = 0; k < 4; k++) {
                const float v0 = g0[k];
                sum0[k] += v0;
            }
        }
    }
     {
        __shared__ float sums[8][128];
        for (int k = 0; k < 4; k++) sums[y][x * 4 + k] = sum0[k];
        __syncthreads();
        if (y == 0 && column < 128) for (int k = 0; k < 4; k++) {
            float all = 0;
            for (int other = 0; other < 8; other++) all += sums[other][x * 4 + k];
            put(at.part0, (i64)part * 128 + column + k, all);
        }
        __syncthreads();
    }
}
KERNEL(256) loop(const __grid_constant__ Loop at) { run(at, blockIdx.x, blockIdx.y); }

// Kernel 17: finish_columns
#define T float
#define ACC float
#define PARTS 64
#define COLUMNS 128
// kernels/finish.cu

// Kernel 18: loop
#define COUNT 5
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

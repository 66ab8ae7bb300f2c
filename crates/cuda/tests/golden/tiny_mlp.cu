// Launches in order.
// 0: kernel 0, team, 1 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 12 words

// Kernel 0: team
// words.cuh
namespace loop2 {
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
}
namespace loop4 {
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
}
namespace loop6 {
DEVICE float op0(float x, float y) { return (x - y); } // sub
DEVICE float op1(float x) { return (x * x); } // square
DEVICE float op2(float cotangent, float x) { return w_guarded<float>(cotangent, (w_lit<float>(2.0) * x)); } // slope
struct Loop {
    const float *x0;
    const float *x1;
    const float *x2;
    float *y0;
    float *y1;
    float *y2;
    float *part0;
    float *part2;
    i64 elements;
    i64 blocks;
};
DEVICE void run(const Loop &at, int tile, int part) {
    const int x = threadIdx.x % 8, y = threadIdx.x / 8;
    const float v2 = get(at.x2, 0);
    float sum0 = 0;
    float sum2[1] = {};
    const int column = (tile * 8 + x) * 1;
    if (column < 1) {
        for (int row = part * 32 + y; row < 16; row += 32) {
            i64 i = (i64)row * 1 + column;
            const int left = 1;
            const int n = i;
            float g0[1];
            load<1>(g0, at.x0 + ((n)), left);
            float g1[1];
            load<1>(g1, at.x1 + ((n)), left);
            float r1[1];
            #pragma unroll
            for (int k = 0; k < 1; k++) {
                const float v0 = g0[k];
                const float v1 = g1[k];
                const float v3 = op0(v0, v1);
                const float v4 = op1(v3);
                const float v5 = op2(v2, v3);
                if (k < left) sum0 += v4;
                r1[k] = v5;
                sum2[k] += v5;
            }
            store<1>(at.y1 + i, r1, left);
        }
    }
    sum0 = fold_threads<Sum, 256>(sum0, (float)0, threadIdx.x);
    if (threadIdx.x == 0 && 1 > 1) at.part0[part * 1 + tile] = sum0;
    if (threadIdx.x == 0 && 1 == 1) put(at.y0, 0, sum0);
     {
        __shared__ float sums[32][8];
        for (int k = 0; k < 1; k++) sums[y][x * 1 + k] = sum2[k];
        __syncthreads();
        if (y == 0 && column < 1) for (int k = 0; k < 1; k++) {
            float all = 0;
            for (int other = 0; other < 32; other++) all += sums[other][x * 1 + k];
            put(at.y2, column + k, all);
        }
        __syncthreads();
    }
}
}
namespace loop7 {
DEVICE float op0(float x, float y) { return (x * y); } // mul
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
namespace loop10 {
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
    const int x = threadIdx.x % 8, y = threadIdx.x / 8;
    const float v2 = get(at.x2, 0);
    float sum1[4] = {};
    const int column = (tile * 8 + x) * 4;
    if (column < 32) {
        for (int row = part * 32 + y; row < 16; row += 32) {
            i64 i = (i64)row * 32 + column;
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
        __shared__ float sums[32][32];
        for (int k = 0; k < 4; k++) sums[y][x * 4 + k] = sum1[k];
        __syncthreads();
        if (y == 0 && column < 32) for (int k = 0; k < 4; k++) {
            float all = 0;
            for (int other = 0; other < 32; other++) all += sums[other][x * 4 + k];
            put(at.y1, column + k, all);
        }
        __syncthreads();
    }
}
}
namespace loop13 {
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
    const int x = threadIdx.x % 8, y = threadIdx.x / 8;
    const float v2 = get(at.x2, 0);
    float sum1[4] = {};
    const int column = (tile * 8 + x) * 4;
    if (column < 32) {
        for (int row = part * 32 + y; row < 16; row += 32) {
            i64 i = (i64)row * 32 + column;
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
        __shared__ float sums[32][32];
        for (int k = 0; k < 4; k++) sums[y][x * 4 + k] = sum1[k];
        __syncthreads();
        if (y == 0 && column < 32) for (int k = 0; k < 4; k++) {
            float all = 0;
            for (int other = 0; other < 32; other++) all += sums[other][x * 4 + k];
            put(at.y1, column + k, all);
        }
        __syncthreads();
    }
}
}
namespace loop15 {
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
}
namespace loop16 {
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
}
namespace loop17 {
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
}
namespace loop18 {
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
}
namespace loop19 {
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
}
namespace loop20 {
DEVICE float op0(float x, float y) { const float a = (float)1.0; const float b = (float)-0.001; return ((a * x) + (b * y)); } // combine
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
KERNEL(256) team(char *r0, char *r1, char *r2, char *r3, char *r4, char *r5, char *r6, char *r7, char *r8, char *r9, char *r10, char *r11) {
{
const int lane1 = threadIdx.x % 4, column1 = threadIdx.x / 4 % 32, row1 = threadIdx.x / 128;
const float *right1 = (const float *)(r2 + 0 + 0);
float w1[3];
const float *left = (const float *)(r1 + 0 + 0);
float *to = (float *)(r3 + 4096);
#pragma unroll
for (int tile = 0; tile < 1; tile++) {
#pragma unroll
for (int j = 0; j < 3; j++) w1[j] = j * 4 + lane1 < 10 && tile * 32 + column1 < 32 ? right1[(j * 4 + lane1) * 1 + (tile * 32 + column1) * 10] : 0;
for (int row = row1; row < 16; row += 2) {
float sums[4] = {};
#pragma unroll
for (int j = 0; j < 3; j++) sums[j % 4] += (j * 4 + lane1 < 10 ? left[row * 10 + (j * 4 + lane1) * 1] : 0) * w1[j];
float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
for (int step = 1; step < 4; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
if (lane1 == 0 && tile * 32 + column1 < 32) to[row * 32 + tile * 32 + column1] = sum + ((const float *)(r0 + 0 + 0))[tile * 32 + column1];
}
}
}
__syncthreads();
{ const loop2::Loop at = {(const float *)(r3 + 4096), (const float *)(r4 + 0), (float *)(r3 + 4096), (u8 *)(r3 + 10240), 512, 1};
for (int tile = 0; tile < 1; tile++) loop2::run(at, tile, 0); }
__syncthreads();
{
const int lane3 = threadIdx.x % 4, column3 = threadIdx.x / 4 % 32, row3 = threadIdx.x / 128;
const float *right3 = (const float *)(r6 + 0 + 0);
float w3[8];
const float *left = (const float *)(r3 + 4096 + 0);
float *to = (float *)(r3 + 0);
#pragma unroll
for (int tile = 0; tile < 1; tile++) {
#pragma unroll
for (int j = 0; j < 8; j++) w3[j] = j * 4 + lane3 < 32 && tile * 32 + column3 < 32 ? right3[(j * 4 + lane3) * 1 + (tile * 32 + column3) * 32] : 0;
for (int row = row3; row < 16; row += 2) {
float sums[4] = {};
#pragma unroll
for (int j = 0; j < 8; j++) sums[j % 4] += (j * 4 + lane3 < 32 ? left[row * 32 + (j * 4 + lane3) * 1] : 0) * w3[j];
float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
for (int step = 1; step < 4; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
if (lane3 == 0 && tile * 32 + column3 < 32) to[row * 32 + tile * 32 + column3] = sum + ((const float *)(r5 + 0 + 0))[tile * 32 + column3];
}
}
}
__syncthreads();
{ const loop4::Loop at = {(const float *)(r3 + 0), (const float *)(r4 + 0), (float *)(r3 + 0), (u8 *)(r3 + 2048), 512, 1};
for (int tile = 0; tile < 1; tile++) loop4::run(at, tile, 0); }
__syncthreads();
{
const int lane5 = threadIdx.x % 4, column5 = threadIdx.x / 4 % 1, row5 = threadIdx.x / 4;
const float *right5 = (const float *)(r8 + 0 + 0);
float w5[8];
const float *left = (const float *)(r3 + 0 + 0);
float *to = (float *)(r3 + 2560);
#pragma unroll
for (int tile = 0; tile < 1; tile++) {
#pragma unroll
for (int j = 0; j < 8; j++) w5[j] = j * 4 + lane5 < 32 && tile * 1 + column5 < 1 ? right5[(j * 4 + lane5) * 1 + (tile * 1 + column5) * 32] : 0;
for (int row = row5; row < 16; row += 64) {
float sums[4] = {};
#pragma unroll
for (int j = 0; j < 8; j++) sums[j % 4] += (j * 4 + lane5 < 32 ? left[row * 32 + (j * 4 + lane5) * 1] : 0) * w5[j];
float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
for (int step = 1; step < 4; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
if (lane5 == 0 && tile * 1 + column5 < 1) to[row * 1 + tile * 1 + column5] = sum + ((const float *)(r7 + 0 + 0))[tile * 1 + column5];
}
}
}
__syncthreads();
{ const loop6::Loop at = {(const float *)(r3 + 2560), (const float *)(r9 + 0), (const float *)(r10 + 0), (float *)(r3 + 2816), (float *)(r3 + 2560), (float *)(r3 + 10752), nullptr, nullptr, 16, 1};
for (int tile = 0; tile < 1; tile++) loop6::run(at, tile, 0); }
__syncthreads();
{ const loop7::Loop at = {(const float *)(r3 + 2816), (const float *)(r10 + 0), (float *)(r11 + 0), 1, 1};
for (int tile = 0; tile < 1; tile++) loop7::run(at, tile, 0); }
__syncthreads();
{
const int lane8 = threadIdx.x % 1, column8 = threadIdx.x / 1 % 32, row8 = threadIdx.x / 32;
const float *right8 = (const float *)(r8 + 0 + 0);
float w8[1];
const float *left = (const float *)(r3 + 2560 + 0);
float *to = (float *)(r3 + 6144);
#pragma unroll
for (int tile = 0; tile < 1; tile++) {
#pragma unroll
for (int j = 0; j < 1; j++) w8[j] = j * 1 + lane8 < 1 && tile * 32 + column8 < 32 ? right8[(j * 1 + lane8) * 32 + (tile * 32 + column8) * 1] : 0;
for (int row = row8; row < 16; row += 8) {
float sums[4] = {};
#pragma unroll
for (int j = 0; j < 1; j++) sums[j % 4] += (j * 1 + lane8 < 1 ? left[row * 1 + (j * 1 + lane8) * 1] : 0) * w8[j];
float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
for (int step = 1; step < 1; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
if (lane8 == 0 && tile * 32 + column8 < 32) to[row * 32 + tile * 32 + column8] = sum;
}
}
}
__syncthreads();
{
const int lane9 = threadIdx.x % 8, column9 = threadIdx.x / 8 % 32, row9 = threadIdx.x / 256;
const float *right9 = (const float *)(r3 + 0 + 0);
float w9[2];
const float *left = (const float *)(r3 + 2560 + 0);
float *to = (float *)(r3 + 11008);
#pragma unroll
for (int tile = 0; tile < 1; tile++) {
#pragma unroll
for (int j = 0; j < 2; j++) w9[j] = j * 8 + lane9 < 16 && tile * 32 + column9 < 32 ? right9[(j * 8 + lane9) * 32 + (tile * 32 + column9) * 1] : 0;
for (int row = row9; row < 1; row += 1) {
float sums[4] = {};
#pragma unroll
for (int j = 0; j < 2; j++) sums[j % 4] += (j * 8 + lane9 < 16 ? left[row * 0 + (j * 8 + lane9) * 1] : 0) * w9[j];
float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
for (int step = 1; step < 8; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
if (lane9 == 0 && tile * 32 + column9 < 32) to[row * 32 + tile * 32 + column9] = sum;
}
}
}
__syncthreads();
{ const loop10::Loop at = {(const u8 *)(r3 + 2048), (const float *)(r3 + 6144), (const float *)(r4 + 0), (float *)(r3 + 6144), (float *)(r3 + 11264), nullptr, 512, 1};
for (int tile = 0; tile < 1; tile++) loop10::run(at, tile, 0); }
__syncthreads();
{
const int lane11 = threadIdx.x % 1, column11 = threadIdx.x / 1 % 32, row11 = threadIdx.x / 32;
const float *right11 = (const float *)(r6 + 0 + 0);
float w11[32];
const float *left = (const float *)(r3 + 6144 + 0);
float *to = (float *)(r3 + 8192);
#pragma unroll
for (int tile = 0; tile < 1; tile++) {
#pragma unroll
for (int j = 0; j < 32; j++) w11[j] = j * 1 + lane11 < 32 && tile * 32 + column11 < 32 ? right11[(j * 1 + lane11) * 32 + (tile * 32 + column11) * 1] : 0;
for (int row = row11; row < 16; row += 8) {
float sums[4] = {};
#pragma unroll
for (int j = 0; j < 32; j++) sums[j % 4] += (j * 1 + lane11 < 32 ? left[row * 32 + (j * 1 + lane11) * 1] : 0) * w11[j];
float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
for (int step = 1; step < 1; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
if (lane11 == 0 && tile * 32 + column11 < 32) to[row * 32 + tile * 32 + column11] = sum;
}
}
}
__syncthreads();
{
const int lane12 = threadIdx.x % 1, column12 = threadIdx.x / 1 % 32, row12 = threadIdx.x / 32;
const float *right12 = (const float *)(r3 + 4096 + 0);
float w12[16];
const float *left = (const float *)(r3 + 6144 + 0);
float *to = (float *)(r3 + 0);
#pragma unroll
for (int tile = 0; tile < 1; tile++) {
#pragma unroll
for (int j = 0; j < 16; j++) w12[j] = j * 1 + lane12 < 16 && tile * 32 + column12 < 32 ? right12[(j * 1 + lane12) * 32 + (tile * 32 + column12) * 1] : 0;
for (int row = row12; row < 32; row += 8) {
float sums[4] = {};
#pragma unroll
for (int j = 0; j < 16; j++) sums[j % 4] += (j * 1 + lane12 < 16 ? left[row * 1 + (j * 1 + lane12) * 32] : 0) * w12[j];
float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
for (int step = 1; step < 1; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
if (lane12 == 0 && tile * 32 + column12 < 32) to[row * 32 + tile * 32 + column12] = sum;
}
}
}
__syncthreads();
{ const loop13::Loop at = {(const u8 *)(r3 + 10240), (const float *)(r3 + 8192), (const float *)(r4 + 0), (float *)(r3 + 8192), (float *)(r3 + 5376), nullptr, 512, 1};
for (int tile = 0; tile < 1; tile++) loop13::run(at, tile, 0); }
__syncthreads();
{
const int lane14 = threadIdx.x % 1, column14 = threadIdx.x / 1 % 16, row14 = threadIdx.x / 16;
const float *right14 = (const float *)(r1 + 0 + 0);
float w14[16];
const float *left = (const float *)(r3 + 8192 + 0);
float *to = (float *)(r3 + 4096);
#pragma unroll
for (int tile = 0; tile < 1; tile++) {
#pragma unroll
for (int j = 0; j < 16; j++) w14[j] = j * 1 + lane14 < 16 && tile * 16 + column14 < 10 ? right14[(j * 1 + lane14) * 10 + (tile * 16 + column14) * 1] : 0;
for (int row = row14; row < 32; row += 16) {
float sums[4] = {};
#pragma unroll
for (int j = 0; j < 16; j++) sums[j % 4] += (j * 1 + lane14 < 16 ? left[row * 1 + (j * 1 + lane14) * 32] : 0) * w14[j];
float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
for (int step = 1; step < 1; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
if (lane14 == 0 && tile * 16 + column14 < 10) to[row * 10 + tile * 16 + column14] = sum;
}
}
}
__syncthreads();
{ const loop15::Loop at = {(const float *)(r2 + 0), (const float *)(r3 + 4096), (float *)(r2 + 0), 320, 1};
for (int tile = 0; tile < 1; tile++) loop15::run(at, tile, 0); }
__syncthreads();
{ const loop16::Loop at = {(const float *)(r0 + 0), (const float *)(r3 + 5376), (float *)(r0 + 0), 32, 1};
for (int tile = 0; tile < 1; tile++) loop16::run(at, tile, 0); }
__syncthreads();
{ const loop17::Loop at = {(const float *)(r6 + 0), (const float *)(r3 + 0), (float *)(r6 + 0), 1024, 1};
for (int tile = 0; tile < 1; tile++) loop17::run(at, tile, 0); }
__syncthreads();
{ const loop18::Loop at = {(const float *)(r5 + 0), (const float *)(r3 + 11264), (float *)(r5 + 0), 32, 1};
for (int tile = 0; tile < 1; tile++) loop18::run(at, tile, 0); }
__syncthreads();
{ const loop19::Loop at = {(const float *)(r8 + 0), (const float *)(r3 + 11008), (float *)(r8 + 0), 32, 1};
for (int tile = 0; tile < 1; tile++) loop19::run(at, tile, 0); }
__syncthreads();
{ const loop20::Loop at = {(const float *)(r7 + 0), (const float *)(r3 + 10752), (float *)(r7 + 0), 1, 1};
for (int tile = 0; tile < 1; tile++) loop20::run(at, tile, 0); }
__syncthreads();
}

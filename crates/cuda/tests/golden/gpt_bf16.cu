// Launches in order.
// 0: kernel 0, gather, 64 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 3 words
// 1: kernel 1, loop, 256 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 2: kernel 2, norm_rows, 256 x 1 x 1 blocks of 128 x 1 x 1 threads, 0 bytes shared, 8 words
// 3: kernel 3, loop, 193 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 8 words
// 4: product [1, 1024, 256, 768] of bf16
// 5: kernel 4, attention_forward, 128 x 1 x 1 blocks of 128 x 1 x 1 threads, 49152 bytes shared, 5 words
// 6: kernel 3, loop, 65 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 8 words
// 7: product [1, 1024, 256, 256] of bf16
// 9: kernel 5, norm_rows, 256 x 1 x 1 blocks of 128 x 1 x 1 threads, 0 bytes shared, 8 words
// 10: kernel 3, loop, 257 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 8 words
// 11: product [1, 1024, 256, 1024] of bf16
// 12: kernel 6, loop, 512 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 4 words
// 12: kernel 3, loop, 257 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 8 words
// 13: product [1, 1024, 1024, 256] of bf16
// 15: kernel 5, norm_rows, 256 x 1 x 1 blocks of 128 x 1 x 1 threads, 0 bytes shared, 8 words
// 16: kernel 3, loop, 193 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 8 words
// 17: product [1, 1024, 256, 768] of bf16
// 18: kernel 4, attention_forward, 128 x 1 x 1 blocks of 128 x 1 x 1 threads, 49152 bytes shared, 5 words
// 19: kernel 3, loop, 65 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 8 words
// 20: product [1, 1024, 256, 256] of bf16
// 22: kernel 5, norm_rows, 256 x 1 x 1 blocks of 128 x 1 x 1 threads, 0 bytes shared, 8 words
// 23: kernel 3, loop, 257 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 8 words
// 24: product [1, 1024, 256, 1024] of bf16
// 25: kernel 6, loop, 512 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 4 words
// 25: kernel 3, loop, 257 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 8 words
// 26: product [1, 1024, 1024, 256] of bf16
// 28: kernel 5, norm_rows, 256 x 1 x 1 blocks of 128 x 1 x 1 threads, 0 bytes shared, 8 words
// 29: kernel 3, loop, 193 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 8 words
// 30: product [1, 1024, 256, 768] of bf16
// 31: kernel 4, attention_forward, 128 x 1 x 1 blocks of 128 x 1 x 1 threads, 49152 bytes shared, 5 words
// 32: kernel 3, loop, 65 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 8 words
// 33: product [1, 1024, 256, 256] of bf16
// 35: kernel 5, norm_rows, 256 x 1 x 1 blocks of 128 x 1 x 1 threads, 0 bytes shared, 8 words
// 36: kernel 3, loop, 257 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 8 words
// 37: product [1, 1024, 256, 1024] of bf16
// 38: kernel 6, loop, 512 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 4 words
// 38: kernel 3, loop, 257 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 8 words
// 39: product [1, 1024, 1024, 256] of bf16
// 41: kernel 5, norm_rows, 256 x 1 x 1 blocks of 128 x 1 x 1 threads, 0 bytes shared, 8 words
// 42: kernel 3, loop, 193 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 8 words
// 43: product [1, 1024, 256, 768] of bf16
// 44: kernel 4, attention_forward, 128 x 1 x 1 blocks of 128 x 1 x 1 threads, 49152 bytes shared, 5 words
// 45: kernel 3, loop, 65 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 8 words
// 46: product [1, 1024, 256, 256] of bf16
// 48: kernel 5, norm_rows, 256 x 1 x 1 blocks of 128 x 1 x 1 threads, 0 bytes shared, 8 words
// 49: kernel 3, loop, 257 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 8 words
// 50: product [1, 1024, 256, 1024] of bf16
// 51: kernel 6, loop, 512 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 4 words
// 51: kernel 3, loop, 257 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 8 words
// 52: product [1, 1024, 1024, 256] of bf16
// 54: kernel 5, norm_rows, 256 x 1 x 1 blocks of 128 x 1 x 1 threads, 0 bytes shared, 8 words
// 55: kernel 7, loop, 24 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 4 words
// 56: product [1, 1024, 256, 96] of bf16
// 57: kernel 8, cross_entropy, 256 x 1 x 1 blocks of 128 x 1 x 1 threads, 0 bytes shared, 5 words
// 58: kernel 9, sum_rows, 1 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 3 words
// 59: kernel 10, team, 1 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 61: kernel 11, copy, 1 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 61: kernel 12, cross_entropy_gradient, 256 x 1 x 1 blocks of 128 x 1 x 1 threads, 0 bytes shared, 6 words
// 62: product [1, 1024, 96, 256] of bf16
// 63: product [1, 96, 1024, 256] of bf16
// 64: kernel 13, norm_gradient, 128 x 1 x 1 blocks of 256 x 1 x 1 threads, 36864 bytes shared, 9 words
// 64: kernel 14, norm_gradient_sum, 8 x 2 x 1 blocks of 1024 x 1 x 1 threads, 0 bytes shared, 3 words
// 65: kernel 7, loop, 256 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 4 words
// 66: product [1, 1024, 256, 1024] of bf16
// 67: product [1, 256, 1024, 1024] of bf16
// 68: kernel 15, loop, 2 x 16 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 68: kernel 16, finish_columns, 8 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 69: kernel 17, loop, 4 x 16 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 7 words
// 69: kernel 18, finish_columns, 32 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 70: product [1, 1024, 1024, 256] of bf16
// 71: product [1, 1024, 1024, 256] of bf16
// 72: kernel 19, norm_gradient, 128 x 1 x 1 blocks of 256 x 1 x 1 threads, 40960 bytes shared, 9 words
// 72: kernel 20, norm_gradient_sum, 8 x 2 x 1 blocks of 1024 x 1 x 1 threads, 0 bytes shared, 3 words
// 73: kernel 15, loop, 2 x 16 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 73: kernel 16, finish_columns, 8 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 74: product [1, 1024, 256, 256] of bf16
// 75: product [1, 256, 1024, 256] of bf16
// 76: kernel 21, attention_backward_queries, 128 x 1 x 1 blocks of 128 x 1 x 1 threads, 65536 bytes shared, 8 words
// 76: kernel 22, attention_backward_keys, 128 x 1 x 1 blocks of 128 x 1 x 1 threads, 67072 bytes shared, 7 words
// 77: kernel 23, loop, 3 x 16 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 77: kernel 24, finish_columns, 24 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 78: product [1, 1024, 768, 256] of bf16
// 79: product [1, 768, 1024, 256] of bf16
// 80: kernel 19, norm_gradient, 128 x 1 x 1 blocks of 256 x 1 x 1 threads, 40960 bytes shared, 9 words
// 80: kernel 20, norm_gradient_sum, 8 x 2 x 1 blocks of 1024 x 1 x 1 threads, 0 bytes shared, 3 words
// 81: kernel 15, loop, 2 x 16 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 81: kernel 16, finish_columns, 8 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 82: product [1, 1024, 256, 1024] of bf16
// 83: product [1, 256, 1024, 1024] of bf16
// 84: kernel 17, loop, 4 x 16 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 7 words
// 84: kernel 18, finish_columns, 32 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 85: product [1, 1024, 1024, 256] of bf16
// 86: product [1, 1024, 1024, 256] of bf16
// 87: kernel 19, norm_gradient, 128 x 1 x 1 blocks of 256 x 1 x 1 threads, 40960 bytes shared, 9 words
// 87: kernel 20, norm_gradient_sum, 8 x 2 x 1 blocks of 1024 x 1 x 1 threads, 0 bytes shared, 3 words
// 88: kernel 15, loop, 2 x 16 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 88: kernel 16, finish_columns, 8 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 89: product [1, 1024, 256, 256] of bf16
// 90: product [1, 256, 1024, 256] of bf16
// 91: kernel 21, attention_backward_queries, 128 x 1 x 1 blocks of 128 x 1 x 1 threads, 65536 bytes shared, 8 words
// 91: kernel 22, attention_backward_keys, 128 x 1 x 1 blocks of 128 x 1 x 1 threads, 67072 bytes shared, 7 words
// 92: kernel 23, loop, 3 x 16 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 92: kernel 24, finish_columns, 24 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 93: product [1, 1024, 768, 256] of bf16
// 94: product [1, 768, 1024, 256] of bf16
// 95: kernel 19, norm_gradient, 128 x 1 x 1 blocks of 256 x 1 x 1 threads, 40960 bytes shared, 9 words
// 95: kernel 20, norm_gradient_sum, 8 x 2 x 1 blocks of 1024 x 1 x 1 threads, 0 bytes shared, 3 words
// 96: kernel 15, loop, 2 x 16 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 96: kernel 16, finish_columns, 8 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 97: product [1, 1024, 256, 1024] of bf16
// 98: product [1, 256, 1024, 1024] of bf16
// 99: kernel 17, loop, 4 x 16 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 7 words
// 99: kernel 18, finish_columns, 32 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 100: product [1, 1024, 1024, 256] of bf16
// 101: product [1, 1024, 1024, 256] of bf16
// 102: kernel 19, norm_gradient, 128 x 1 x 1 blocks of 256 x 1 x 1 threads, 40960 bytes shared, 9 words
// 102: kernel 20, norm_gradient_sum, 8 x 2 x 1 blocks of 1024 x 1 x 1 threads, 0 bytes shared, 3 words
// 103: kernel 15, loop, 2 x 16 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 103: kernel 16, finish_columns, 8 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 104: product [1, 1024, 256, 256] of bf16
// 105: product [1, 256, 1024, 256] of bf16
// 106: kernel 21, attention_backward_queries, 128 x 1 x 1 blocks of 128 x 1 x 1 threads, 65536 bytes shared, 8 words
// 106: kernel 22, attention_backward_keys, 128 x 1 x 1 blocks of 128 x 1 x 1 threads, 67072 bytes shared, 7 words
// 107: kernel 23, loop, 3 x 16 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 107: kernel 24, finish_columns, 24 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 108: product [1, 1024, 768, 256] of bf16
// 109: product [1, 768, 1024, 256] of bf16
// 110: kernel 19, norm_gradient, 128 x 1 x 1 blocks of 256 x 1 x 1 threads, 40960 bytes shared, 9 words
// 110: kernel 20, norm_gradient_sum, 8 x 2 x 1 blocks of 1024 x 1 x 1 threads, 0 bytes shared, 3 words
// 111: kernel 15, loop, 2 x 16 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 111: kernel 16, finish_columns, 8 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 112: product [1, 1024, 256, 1024] of bf16
// 113: product [1, 256, 1024, 1024] of bf16
// 114: kernel 17, loop, 4 x 16 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 7 words
// 114: kernel 18, finish_columns, 32 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 115: product [1, 1024, 1024, 256] of bf16
// 116: product [1, 1024, 1024, 256] of bf16
// 117: kernel 19, norm_gradient, 128 x 1 x 1 blocks of 256 x 1 x 1 threads, 40960 bytes shared, 9 words
// 117: kernel 20, norm_gradient_sum, 8 x 2 x 1 blocks of 1024 x 1 x 1 threads, 0 bytes shared, 3 words
// 118: kernel 15, loop, 2 x 16 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 118: kernel 16, finish_columns, 8 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 119: product [1, 1024, 256, 256] of bf16
// 120: product [1, 256, 1024, 256] of bf16
// 121: kernel 21, attention_backward_queries, 128 x 1 x 1 blocks of 128 x 1 x 1 threads, 65536 bytes shared, 8 words
// 121: kernel 22, attention_backward_keys, 128 x 1 x 1 blocks of 128 x 1 x 1 threads, 67072 bytes shared, 7 words
// 122: kernel 23, loop, 3 x 16 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 122: kernel 24, finish_columns, 24 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 2 words
// 123: product [1, 1024, 768, 256] of bf16
// 124: product [1, 768, 1024, 256] of bf16
// 125: kernel 25, norm_gradient, 128 x 1 x 1 blocks of 256 x 1 x 1 threads, 40960 bytes shared, 9 words
// 125: kernel 26, norm_gradient_sum, 8 x 2 x 1 blocks of 1024 x 1 x 1 threads, 0 bytes shared, 3 words
// 127: kernel 27, loop, 256 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 5 words
// 128: kernel 28, scatter_begin, 7 x 1 x 1 blocks of 1024 x 1 x 1 threads, 0 bytes shared, 4 words
// 128: kernel 29, scatter_sum, 128 x 1 x 1 blocks of 64 x 1 x 1 threads, 0 bytes shared, 5 words
// 128: kernel 30, scatter_pieces, 32 x 2 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 3 words
// 129: kernel 31, loop, 1 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 11 words
// 130: kernel 32, loop, 90 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 432 words
// 130: kernel 33, loop, 3096 x 1 x 1 blocks of 256 x 1 x 1 threads, 0 bytes shared, 204 words

// Kernel 0: gather
#define T float
#define COMPUTE float
#define OUTER 1
#define N 96
#define K 1024
#define INNER 256
#define IO 0
#define IK 1
#define II 0
#define WIDTH 4
#define ZERO 1
#define PIECE 1
// kernels/index.cu

// Kernel 1: loop
#define COUNT 1
// words.cuh
DEVICE float op0(float x, float y) { return (x + y); } // add
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
        load<4>(g1, at.x1 + ((n % 32768)), left);
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

// Kernel 2: norm_rows
#define T float
#define COMPUTE float
#define STAT float
#define RESULT bf16
#define SLOPE float
#define ROWS 1024
#define COLS 256
#define EPSILON 1e-5
#define CENTERED 1
#define HAS_WEIGHT 1
#define HAS_BIAS 1
#define ALIGN 16
#define PARTS 1
#define ADDEND float
#define HAS_ADDEND 0
#define HAS_COPY 0
#define STAGES 3
// kernels/norm.cu

// Kernel 3: loop
#define COUNT 2
// words.cuh
DEVICE float op0(float x) { return through_bf16(x); } // cast
struct Loop {
    const float *x0;
    bf16 *y0;
    i64 elements;
    i64 blocks;
};
DEVICE void run(const Loop &at, i64 block, int) {
    for (i64 i = (block * 256 + threadIdx.x) * 4; i < at.elements; i += at.blocks * 1024) {
        int left = at.elements - i < 4 ? (int)(at.elements - i) : 4;
        const int n = i;
        float g0[4];
        load<4>(g0, at.x0 + ((n)), left);
        float r0[4];
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            const float v0 = g0[k];
            const float v1 = op0(v0);
            r0[k] = v0;
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

// Kernel 4: attention_forward
#define T bf16
#define LSE_TYPE float
#define BATCH 8
#define HEADS 8
#define TOKENS 128
#define KEYS 128
#define WIDTH 32
#define SCALE 0.17677669f
#define CAUSAL 1
#define WIDE 1
#define TENSOR_CORES 1
#define Q_BATCH (98304)
#define Q_HEAD (32)
#define Q_TOKEN (768)
#define K_BATCH (98304)
#define K_HEAD (32)
#define K_TOKEN (768)
#define V_BATCH (98304)
#define V_HEAD (32)
#define V_TOKEN (768)
#define O_BATCH (32768)
#define O_HEAD (32)
#define O_TOKEN (256)
// kernels/attention.cu

// Kernel 5: norm_rows
#define T float
#define COMPUTE float
#define STAT float
#define RESULT bf16
#define SLOPE float
#define ROWS 1024
#define COLS 256
#define EPSILON 1e-5
#define CENTERED 1
#define HAS_WEIGHT 1
#define HAS_BIAS 1
#define ALIGN 16
#define PARTS 1
#define ADDEND bf16
#define HAS_ADDEND 1
#define HAS_COPY 0
#define STAGES 2
// kernels/norm.cu

// Kernel 6: loop
#define COUNT 1
// words.cuh
DEVICE float op0(float x) { const double GELU_FACTOR = 1.5957691216057306; const double GELU_CUBIC = 0.044715; return (x * w_sigmoid<float>((w_scale<float>(x, GELU_FACTOR) * (w_lit<float>(1.0) + (w_scale<float>(x, GELU_CUBIC) * x))))); } // gelu_tanh
DEVICE float op1(float x) { return through_bf16(x); } // cast
struct Loop {
    const bf16 *x0;
    bf16 *y0;
    i64 elements;
    i64 blocks;
};
DEVICE void run(const Loop &at, i64 block, int) {
    for (i64 i = (block * 256 + threadIdx.x) * 8; i < at.elements; i += at.blocks * 2048) {
        int left = at.elements - i < 8 ? (int)(at.elements - i) : 8;
        const int n = i;
        float g0[8];
        load<8>(g0, at.x0 + ((n)), left);
        float r0[8];
        #pragma unroll
        for (int k = 0; k < 8; k++) {
            const float v0 = g0[k];
            const float v1 = op0(v0);
            const float v2 = op1(v1);
            r0[k] = v1;
        }
        store<8>(at.y0 + i, r0, left);
    }
}
struct Loops { Loop each[COUNT]; };
KERNEL(256) loop(const __grid_constant__ Loops loops) {
    i64 block = blockIdx.x;
    int number = 0;
    while (block >= loops.each[number].blocks) block -= loops.each[number++].blocks;
    run(loops.each[number], block, 0);
}

// Kernel 7: loop
#define COUNT 1
// words.cuh
DEVICE float op0(float x) { return through_bf16(x); } // cast
struct Loop {
    const float *x0;
    bf16 *y0;
    i64 elements;
    i64 blocks;
};
DEVICE void run(const Loop &at, i64 block, int) {
    for (i64 i = (block * 256 + threadIdx.x) * 4; i < at.elements; i += at.blocks * 1024) {
        int left = at.elements - i < 4 ? (int)(at.elements - i) : 4;
        const int n = i;
        float g0[4];
        load<4>(g0, at.x0 + ((n)), left);
        float r0[4];
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            const float v0 = g0[k];
            const float v1 = op0(v0);
            r0[k] = v0;
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

// Kernel 8: cross_entropy
#define T bf16
#define COMPUTE float
#define STAT float
#define LOSS float
#define ROWS 1024
#define CLASSES 96
#define IGNORED (-100LL)
#define SMOOTHING 0.0
#define HAS_WEIGHT 0
#define ALIGN 16
// kernels/cross_entropy.cu

// Kernel 9: sum_rows
#define T float
#define ACC float
#define OUT float
#define KEPT0 1
#define KEPT0_STRIDE 0
#define KEPT1 1
#define KEPT1_STRIDE 0
#define SUMMED0 1
#define SUMMED0_STRIDE 0
#define SUMMED1 1024
#define SUMMED1_STRIDE 1
#define WIDTH 4
#define PARTS 1
#define LANES 32
#define COLUMNS 1
// kernels/sum.cu

// Kernel 10: team
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
{ const loop1::Loop at = {(const i64 *)(r0 + 0), (const i64 *)(r1 + 0), (float *)(r2 + 17825792), nullptr, 1024, 1};
for (int tile = 0; tile < 1; tile++) loop1::run(at, tile, 0); }
__syncthreads();
{ const loop2::Loop at = {(const float *)(r2 + 17833984), (const float *)(r2 + 17825792), (float *)(r3 + 0), 1, 1};
for (int tile = 0; tile < 1; tile++) loop2::run(at, tile, 0); }
__syncthreads();
{ const loop3::Loop at = {(const float *)(r4 + 0), (const float *)(r2 + 17825792), (float *)(r2 + 17826048), 1, 1};
for (int tile = 0; tile < 1; tile++) loop3::run(at, tile, 0); }
__syncthreads();
}

// Kernel 11: copy
#define BYTES 4
#define RANK 1
#define SIZES 1024
#define STRIDES 0
#define WIDTH 1
#define TILED 0
#define AXIS 0
// kernels/copy.cu

// Kernel 12: cross_entropy_gradient
#define T bf16
#define COMPUTE float
#define STAT float
#define LOSS float
#define ROWS 1024
#define CLASSES 96
#define IGNORED (-100LL)
#define SMOOTHING 0.0
#define HAS_WEIGHT 0
#define ALIGN 16
// kernels/cross_entropy.cu

// Kernel 13: norm_gradient
#define T float
#define COMPUTE float
#define STAT float
#define RESULT float
#define SLOPE bf16
#define ROWS 1024
#define COLS 256
#define EPSILON 0
#define CENTERED 1
#define HAS_WEIGHT 1
#define HAS_BIAS 1
#define ALIGN 16
#define PARTS 128
#define ADDEND float
#define HAS_ADDEND 0
#define HAS_COPY 0
#define STAGES 3
// kernels/norm.cu

// Kernel 14: norm_gradient_sum
#define T float
#define COMPUTE float
#define STAT float
#define RESULT float
#define SLOPE bf16
#define ROWS 1024
#define COLS 256
#define EPSILON 0
#define CENTERED 1
#define HAS_WEIGHT 1
#define HAS_BIAS 1
#define ALIGN 16
#define PARTS 128
#define ADDEND float
#define HAS_ADDEND 0
#define HAS_COPY 0
#define STAGES 3
// kernels/norm.cu

// Kernel 15: loop
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
    if (column < 256) {
        for (int row = part * 8 + y; row < 1024; row += 128) {
            i64 i = (i64)row * 256 + column;
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
        if (y == 0 && column < 256) for (int k = 0; k < 4; k++) {
            float all = 0;
            for (int other = 0; other < 8; other++) all += sums[other][x * 4 + k];
            put(at.part0, (i64)part * 256 + column + k, all);
        }
        __syncthreads();
    }
}
KERNEL(256) loop(const __grid_constant__ Loop at) { run(at, blockIdx.x, blockIdx.y); }

// Kernel 16: finish_columns
#define T float
#define ACC float
#define PARTS 16
#define COLUMNS 256
// kernels/finish.cu

// Kernel 17: loop
// words.cuh
DEVICE float op0(float cotangent, float x) { const double GELU_FACTOR = 1.5957691216057306; const double GELU_CUBIC = 0.044715; const float s = w_sigmoid<float>((w_scale<float>(x, GELU_FACTOR) * (w_lit<float>(1.0) + (w_scale<float>(x, GELU_CUBIC) * x)))); return w_guarded<float>(cotangent, (s + (w_scale<float>(((s * (w_lit<float>(1.0) - s)) * x), GELU_FACTOR) * (w_lit<float>(1.0) + (w_scale<float>(x, (3.0 * GELU_CUBIC)) * x))))); } // slope
DEVICE float op1(float x) { return through_bf16(x); } // cast
struct Loop {
    const bf16 *x0;
    const bf16 *x1;
    bf16 *y0;
    float *y1;
    float *part1;
    i64 elements;
    i64 blocks;
};
DEVICE void run(const Loop &at, int tile, int part) {
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    float sum1[8] = {};
    const int column = (tile * 32 + x) * 8;
    if (column < 1024) {
        for (int row = part * 8 + y; row < 1024; row += 128) {
            i64 i = (i64)row * 1024 + column;
            const int left = 8;
            const int n = i;
            float g0[8];
            load<8>(g0, at.x0 + ((n)), left);
            float g1[8];
            load<8>(g1, at.x1 + ((n)), left);
            float r0[8];
            #pragma unroll
            for (int k = 0; k < 8; k++) {
                const float v0 = g0[k];
                const float v1 = g1[k];
                const float v2 = op0(v0, v1);
                const float v3 = op1(v2);
                r0[k] = v2;
                sum1[k] += v2;
            }
            store<8>(at.y0 + i, r0, left);
        }
    }
     {
        __shared__ float sums[8][256];
        for (int k = 0; k < 8; k++) sums[y][x * 8 + k] = sum1[k];
        __syncthreads();
        if (y == 0 && column < 1024) for (int k = 0; k < 8; k++) {
            float all = 0;
            for (int other = 0; other < 8; other++) all += sums[other][x * 8 + k];
            put(at.part1, (i64)part * 1024 + column + k, all);
        }
        __syncthreads();
    }
}
KERNEL(256) loop(const __grid_constant__ Loop at) { run(at, blockIdx.x, blockIdx.y); }

// Kernel 18: finish_columns
#define T float
#define ACC float
#define PARTS 16
#define COLUMNS 1024
// kernels/finish.cu

// Kernel 19: norm_gradient
#define T float
#define COMPUTE float
#define STAT float
#define RESULT float
#define SLOPE bf16
#define ROWS 1024
#define COLS 256
#define EPSILON 0
#define CENTERED 1
#define HAS_WEIGHT 1
#define HAS_BIAS 1
#define ALIGN 16
#define PARTS 128
#define ADDEND float
#define HAS_ADDEND 1
#define HAS_COPY 1
#define STAGES 2
// kernels/norm.cu

// Kernel 20: norm_gradient_sum
#define T float
#define COMPUTE float
#define STAT float
#define RESULT float
#define SLOPE bf16
#define ROWS 1024
#define COLS 256
#define EPSILON 0
#define CENTERED 1
#define HAS_WEIGHT 1
#define HAS_BIAS 1
#define ALIGN 16
#define PARTS 128
#define ADDEND float
#define HAS_ADDEND 1
#define HAS_COPY 1
#define STAGES 2
// kernels/norm.cu

// Kernel 21: attention_backward_queries
#define T bf16
#define LSE_TYPE float
#define BATCH 8
#define HEADS 8
#define TOKENS 128
#define KEYS 128
#define WIDTH 32
#define SCALE 0.17677669f
#define CAUSAL 1
#define WIDE 1
#define TENSOR_CORES 1
#define Q_BATCH (98304)
#define Q_HEAD (32)
#define Q_TOKEN (768)
#define K_BATCH (98304)
#define K_HEAD (32)
#define K_TOKEN (768)
#define V_BATCH (98304)
#define V_HEAD (32)
#define V_TOKEN (768)
#define O_BATCH (32768)
#define O_HEAD (32)
#define O_TOKEN (256)
// kernels/attention.cu

// Kernel 22: attention_backward_keys
#define T bf16
#define LSE_TYPE float
#define BATCH 8
#define HEADS 8
#define TOKENS 128
#define KEYS 128
#define WIDTH 32
#define SCALE 0.17677669f
#define CAUSAL 1
#define WIDE 1
#define TENSOR_CORES 1
#define Q_BATCH (98304)
#define Q_HEAD (32)
#define Q_TOKEN (768)
#define K_BATCH (98304)
#define K_HEAD (32)
#define K_TOKEN (768)
#define V_BATCH (98304)
#define V_HEAD (32)
#define V_TOKEN (768)
#define O_BATCH (32768)
#define O_HEAD (32)
#define O_TOKEN (256)
// kernels/attention.cu

// Kernel 23: loop
// words.cuh
DEVICE float op0(float x) { return x; } // cast
struct Loop {
    const bf16 *x0;
    float *y0;
    float *part0;
    i64 elements;
    i64 blocks;
};
DEVICE void run(const Loop &at, int tile, int part) {
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    float sum0[8] = {};
    const int column = (tile * 32 + x) * 8;
    if (column < 768) {
        for (int row = part * 8 + y; row < 1024; row += 128) {
            i64 i = (i64)row * 768 + column;
            const int left = 8;
            const int n = i;
            float g0[8];
            load<8>(g0, at.x0 + ((n)), left);
            #pragma unroll
            for (int k = 0; k < 8; k++) {
                const float v0 = g0[k];
                const float v1 = op0(v0);
                sum0[k] += v1;
            }
        }
    }
     {
        __shared__ float sums[8][256];
        for (int k = 0; k < 8; k++) sums[y][x * 8 + k] = sum0[k];
        __syncthreads();
        if (y == 0 && column < 768) for (int k = 0; k < 8; k++) {
            float all = 0;
            for (int other = 0; other < 8; other++) all += sums[other][x * 8 + k];
            put(at.part0, (i64)part * 768 + column + k, all);
        }
        __syncthreads();
    }
}
KERNEL(256) loop(const __grid_constant__ Loop at) { run(at, blockIdx.x, blockIdx.y); }

// Kernel 24: finish_columns
#define T float
#define ACC float
#define PARTS 16
#define COLUMNS 768
// kernels/finish.cu

// Kernel 25: norm_gradient
#define T float
#define COMPUTE float
#define STAT float
#define RESULT float
#define SLOPE bf16
#define ROWS 1024
#define COLS 256
#define EPSILON 0
#define CENTERED 1
#define HAS_WEIGHT 1
#define HAS_BIAS 1
#define ALIGN 16
#define PARTS 128
#define ADDEND float
#define HAS_ADDEND 1
#define HAS_COPY 0
#define STAGES 2
// kernels/norm.cu

// Kernel 26: norm_gradient_sum
#define T float
#define COMPUTE float
#define STAT float
#define RESULT float
#define SLOPE bf16
#define ROWS 1024
#define COLS 256
#define EPSILON 0
#define CENTERED 1
#define HAS_WEIGHT 1
#define HAS_BIAS 1
#define ALIGN 16
#define PARTS 128
#define ADDEND float
#define HAS_ADDEND 1
#define HAS_COPY 0
#define STAGES 2
// kernels/norm.cu

// Kernel 27: loop
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
    if (column < 32768) {
        for (int row = part * 8 + y; row < 8; row += 8) {
            i64 i = (i64)row * 32768 + column;
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
        if (y == 0 && column < 32768) for (int k = 0; k < 4; k++) {
            float all = 0;
            for (int other = 0; other < 8; other++) all += sums[other][x * 4 + k];
            put(at.y0, column + k, all);
        }
        __syncthreads();
    }
}
KERNEL(256) loop(const __grid_constant__ Loop at) { run(at, blockIdx.x, blockIdx.y); }

// Kernel 28: scatter_begin
#define T float
#define COMPUTE float
#define OUTER 1
#define N 96
#define K 1024
#define INNER 256
#define IO 0
#define IK 1
#define II 0
#define WIDTH 4
#define ZERO 1
#define PIECE 8
// kernels/index.cu

// Kernel 29: scatter_sum
#define T float
#define COMPUTE float
#define OUTER 1
#define N 96
#define K 1024
#define INNER 256
#define IO 0
#define IK 1
#define II 0
#define WIDTH 4
#define ZERO 1
#define PIECE 8
// kernels/index.cu

// Kernel 30: scatter_pieces
#define T float
#define COMPUTE float
#define OUTER 1
#define N 96
#define K 1024
#define INNER 256
#define IO 0
#define IK 1
#define II 0
#define WIDTH 4
#define ZERO 1
#define PIECE 8
// kernels/index.cu

// Kernel 31: loop
#define COUNT 1
// words.cuh
DEVICE double op0(double x, double y) { return (x + y); } // add
DEVICE double op1(double x, double y) { return (x * y); } // mul
DEVICE double op2(double x) { return w_exp<double>(x); } // exp
DEVICE double op3(double x, double y) { return (x - y); } // sub
DEVICE double op4(double x, double y) { return (x * y); } // mul
DEVICE double op5(double x) { return w_exp<double>(x); } // exp
DEVICE double op6(double x, double y) { return (x - y); } // sub
DEVICE double op7(double x) { return w_sqrt<double>(x); } // sqrt
DEVICE double op8(double x, double y) { return (x * y); } // mul
DEVICE float op9(double x) { return x; } // cast
DEVICE double op10(double x, double y) { return (x / y); } // div
DEVICE double op11(double x, double y) { return (x * y); } // mul
DEVICE float op12(double x) { return x; } // cast
struct Loop {
    const double *x0;
    const double *x1;
    const double *x2;
    const double *x3;
    const double *x4;
    const double *x5;
    double *y0;
    float *y1;
    float *y2;
    i64 elements;
    i64 blocks;
};
DEVICE void run(const Loop &at, i64 block, int) {
    const double v0 = get(at.x0, 0);
    const double v1 = get(at.x1, 0);
    const double v2 = get(at.x2, 0);
    const double v3 = get(at.x3, 0);
    const double v4 = get(at.x4, 0);
    const double v5 = get(at.x5, 0);
    for (i64 i = (block * 256 + threadIdx.x) * 4; i < at.elements; i += at.blocks * 1024) {
        int left = at.elements - i < 4 ? (int)(at.elements - i) : 4;
        const int n = i;
        double r0[4];
        float r1[4];
        float r2[4];
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            const double v6 = op0(v0, v1);
            const double v7 = op1(v6, v2);
            const double v8 = op2(v7);
            const double v9 = op3(v1, v8);
            const double v10 = op4(v6, v3);
            const double v11 = op5(v10);
            const double v12 = op6(v1, v11);
            const double v13 = op7(v12);
            const double v14 = op8(v13, v4);
            const float v15 = op9(v14);
            const double v16 = op10(v13, v9);
            const double v17 = op11(v16, v5);
            const float v18 = op12(v17);
            r0[k] = v6;
            r1[k] = v15;
            r2[k] = v18;
        }
        store<4>(at.y0 + i, r0, left);
        store<4>(at.y1 + i, r1, left);
        store<4>(at.y2 + i, r2, left);
    }
}
struct Loops { Loop each[COUNT]; };
KERNEL(256) loop(const __grid_constant__ Loops loops) {
    i64 block = blockIdx.x;
    int number = 0;
    while (block >= loops.each[number].blocks) block -= loops.each[number++].blocks;
    run(loops.each[number], block, 0);
}

// Kernel 32: loop
#define COUNT 36
// words.cuh
DEVICE float op0(float x, float y) { const float a = (float)0.9; const float b = (float)0.09999999999999998; return ((a * x) + (b * y)); } // combine
DEVICE float op1(float x, float y) { const float a = (float)0.999; const float b = (float)0.0010000000000000009; return ((a * x) + (b * (y * y))); } // combine_square
DEVICE float op2(float x) { return w_sqrt<float>(x); } // sqrt
DEVICE float op3(float x, float y) { return (x + y); } // add
DEVICE float op4(float x, float y) { return (x / y); } // div
DEVICE float op5(float x, float y) { return (x * y); } // mul
DEVICE float op6(float x, float y) { return (x * y); } // mul
DEVICE float op7(float x, float y) { return (x + y); } // add
struct Loop {
    const float *x0;
    const float *x1;
    const float *x2;
    const float *x3;
    const float *x4;
    const float *x5;
    const float *x6;
    float *y0;
    float *y1;
    float *y2;
    i64 elements;
    i64 blocks;
};
DEVICE void run(const Loop &at, i64 block, int) {
    const float v3 = get(at.x3, 0);
    const float v5 = get(at.x5, 0);
    const float v6 = get(at.x6, 0);
    for (i64 i = (block * 256 + threadIdx.x) * 4; i < at.elements; i += at.blocks * 1024) {
        int left = at.elements - i < 4 ? (int)(at.elements - i) : 4;
        const int n = i;
        float g0[4];
        load<4>(g0, at.x0 + ((n)), left);
        float g1[4];
        load<4>(g1, at.x1 + ((n)), left);
        float g2[4];
        load<4>(g2, at.x2 + ((n)), left);
        float g4[4];
        load<4>(g4, at.x4 + ((n)), left);
        float r0[4];
        float r1[4];
        float r2[4];
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            const float v0 = g0[k];
            const float v1 = g1[k];
            const float v2 = g2[k];
            const float v4 = g4[k];
            const float v7 = op0(v0, v1);
            const float v8 = op1(v2, v1);
            const float v9 = op2(v8);
            const float v10 = op3(v9, v3);
            const float v11 = op4(v7, v10);
            const float v12 = op5(v4, v5);
            const float v13 = op6(v11, v6);
            const float v14 = op7(v12, v13);
            r0[k] = v7;
            r1[k] = v8;
            r2[k] = v14;
        }
        store<4>(at.y0 + i, r0, left);
        store<4>(at.y1 + i, r1, left);
        store<4>(at.y2 + i, r2, left);
    }
}
struct Loops { Loop each[COUNT]; };
KERNEL(256) loop(const __grid_constant__ Loops loops) {
    i64 block = blockIdx.x;
    int number = 0;
    while (block >= loops.each[number].blocks) block -= loops.each[number++].blocks;
    run(loops.each[number], block, 0);
}

// Kernel 33: loop
#define COUNT 17
// words.cuh
DEVICE float op0(float x, float y) { const float a = (float)0.9; const float b = (float)0.09999999999999998; return ((a * x) + (b * y)); } // combine
DEVICE float op1(float x, float y) { const float a = (float)0.999; const float b = (float)0.0010000000000000009; return ((a * x) + (b * (y * y))); } // combine_square
DEVICE float op2(float x) { return w_sqrt<float>(x); } // sqrt
DEVICE float op3(float x, float y) { return (x + y); } // add
DEVICE float op4(float x, float y) { return (x / y); } // div
DEVICE float op5(float x, float y) { return (x * y); } // mul
DEVICE float op6(float x, float y) { return (x * y); } // mul
DEVICE float op7(float x, float y) { return (x + y); } // add
struct Loop {
    const float *x0;
    const bf16 *x1;
    const float *x2;
    const float *x3;
    const float *x4;
    const float *x5;
    const float *x6;
    float *y0;
    float *y1;
    float *y2;
    i64 elements;
    i64 blocks;
};
DEVICE void run(const Loop &at, i64 block, int) {
    const float v3 = get(at.x3, 0);
    const float v5 = get(at.x5, 0);
    const float v6 = get(at.x6, 0);
    for (i64 i = (block * 256 + threadIdx.x) * 4; i < at.elements; i += at.blocks * 1024) {
        int left = at.elements - i < 4 ? (int)(at.elements - i) : 4;
        const int n = i;
        float g0[4];
        load<4>(g0, at.x0 + ((n)), left);
        float g1[4];
        load<4>(g1, at.x1 + ((n)), left);
        float g2[4];
        load<4>(g2, at.x2 + ((n)), left);
        float g4[4];
        load<4>(g4, at.x4 + ((n)), left);
        float r0[4];
        float r1[4];
        float r2[4];
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            const float v0 = g0[k];
            const float v1 = g1[k];
            const float v2 = g2[k];
            const float v4 = g4[k];
            const float v7 = op0(v0, v1);
            const float v8 = op1(v2, v1);
            const float v9 = op2(v8);
            const float v10 = op3(v9, v3);
            const float v11 = op4(v7, v10);
            const float v12 = op5(v4, v5);
            const float v13 = op6(v11, v6);
            const float v14 = op7(v12, v13);
            r0[k] = v7;
            r1[k] = v8;
            r2[k] = v14;
        }
        store<4>(at.y0 + i, r0, left);
        store<4>(at.y1 + i, r1, left);
        store<4>(at.y2 + i, r2, left);
    }
}
struct Loops { Loop each[COUNT]; };
KERNEL(256) loop(const __grid_constant__ Loops loops) {
    i64 block = blockIdx.x;
    int number = 0;
    while (block >= loops.each[number].blocks) block -= loops.each[number++].blocks;
    run(loops.each[number], block, 0);
}

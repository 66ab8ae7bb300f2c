// What every kernel may use. It needs no header; a C++ compiler takes it after the shim of the tests, which emulates blocks and threads.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#ifndef SHIM
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#endif

#define DEVICE static __device__ __forceinline__
// Kernels name their largest block, so that the compiler knows how many registers a thread may have.
#define KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)

// Numbers of 16 bits are stored as their bits, and computed with as f32.
struct bf16 { u16 bits; };
struct f16 { u16 bits; };
template <class T> constexpr bool is_bf16 = false;
template <> constexpr bool is_bf16<bf16> = true;

#ifndef SHIM
DEVICE u32 float_bits(float x) { return __float_as_uint(x); }
DEVICE float bits_float(u32 x) { return __uint_as_float(x); }
// Two at a time: the instruction for one takes several times as long.
DEVICE u32 pack(float low, float high) { u32 y; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low)); return y; }
DEVICE u16 round_bf16(float x) { return (u16)pack(x, 0); }
DEVICE float through_bf16(float x) { return bits_float(pack(0, x)); }
DEVICE u16 round_f16(float x) { u16 y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x)); return y; }
DEVICE float widen_f16(u16 x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x)); return y; }
#endif

#ifdef SHIM
static u32 pack(float low, float high) { return round_bf16(low) | (u32)round_bf16(high) << 16; }
static float through_bf16(float x) { return bits_float(pack(0, x)); }
#endif

DEVICE float through_f16(float x) { return widen_f16(round_f16(x)); }

DEVICE float get(const float *x, i64 i) { return x[i]; }
DEVICE double get(const double *x, i64 i) { return x[i]; }
DEVICE float get(const bf16 *x, i64 i) { return bits_float((u32)x[i].bits << 16); }
DEVICE float get(const f16 *x, i64 i) { return widen_f16(x[i].bits); }
DEVICE i64 get(const i64 *x, i64 i) { return x[i]; }
DEVICE int get(const int *x, i64 i) { return x[i]; }
DEVICE u8 get(const u8 *x, i64 i) { return x[i]; }

DEVICE void put(float *y, i64 i, float x) { y[i] = x; }
DEVICE void put(double *y, i64 i, double x) { y[i] = x; }
DEVICE void put(bf16 *y, i64 i, float x) { y[i].bits = round_bf16(x); }
DEVICE void put(f16 *y, i64 i, float x) { y[i].bits = round_f16(x); }
DEVICE void put(i64 *y, i64 i, i64 x) { y[i] = x; }
DEVICE void put(int *y, i64 i, int x) { y[i] = x; }
DEVICE void put(u8 *y, i64 i, u8 x) { y[i] = x; }

// Sums and maxima over a block of threads (a multiple of 32, at most 1024), the same on every thread and in every run.
struct Sum { template <class T> static __device__ T of(T a, T b) { return a + b; } };
struct Max { template <class T> static __device__ T of(T a, T b) { return a > b || a != a ? a : b; } };
struct Min { template <class T> static __device__ T of(T a, T b) { return a < b || a != a ? a : b; } };

template <class F, class T> static __device__ T fold_warp(T x) {
    for (int step = 16; step > 0; step /= 2) x = F::of(x, __shfl_xor_sync(0xffffffffu, x, step));
    return x;
}

template <class F, class T> static __device__ T fold_block(T x, T first) {
    __shared__ T warps[32];
    int warp = threadIdx.x / 32, count = blockDim.x / 32;
    x = fold_warp<F>(x);
    if (count == 1) return x;
    __syncthreads();
    if (threadIdx.x % 32 == 0) warps[warp] = x;
    __syncthreads();
    return fold_warp<F>(threadIdx.x % 32 < count ? warps[threadIdx.x % 32] : first);
}

// Several elements side by side, which one instruction reads or writes.
template <class T, int N> struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack { T x[N]; };

// Writes words as a whole: left to itself, the compiler may store numbers of 16 bits one by one.
template <int N> DEVICE void store_words(void *to, const u32 (&x)[N]) {
#ifndef SHIM
    static_assert(N == 2 || N == 4, "words of 8 or 16 bytes");
    if constexpr (N == 4) asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]) : "memory");
    else asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(x[0]), "r"(x[1]) : "memory");
#else
    memcpy(to, x, sizeof x);
#endif
}
template <class T, int N> DEVICE void store_pack(T *to, const Pack<T, N> &pack) {
    if constexpr (sizeof(T) == 2 && (N == 4 || N == 8)) {
        u32 x[N / 2];
        memcpy(x, &pack, sizeof x);
        store_words(to, x);
    } else {
        *(Pack<T, N> *)to = pack;
    }
}

template <int N, class T, class H> DEVICE void load_all(H *to, const T *from) {
    Pack<T, N> pack = *(const Pack<T, N> *)from;
#pragma unroll
    for (int k = 0; k < N; k++) to[k] = get(pack.x, k);
}
// Two lie in a word.
template <int N> DEVICE void load_pairs(float *to, const bf16 *from) {
    Pack<u32, N / 2> pack = *(const Pack<u32, N / 2> *)from;
#pragma unroll
    for (int k = 0; k < N / 2; k++) {
        to[2 * k] = bits_float(pack.x[k] << 16);
        to[2 * k + 1] = bits_float(pack.x[k] & 0xffff0000u);
    }
}

template <int N, class T, class H> static __device__ __forceinline__ void load(H *to, const T *from, int left) {
    if (left == N) {
        if constexpr (is_bf16<T> && N % 2 == 0) load_pairs<N>(to, from);
        else load_all<N>(to, from);
    } else {
        for (int k = 0; k < N; k++) to[k] = k < left ? get(from, k) : (H)0;
    }
}

template <int N, class T, class H> DEVICE void store_all(T *to, const H *from) {
    Pack<T, N> pack;
#pragma unroll
    for (int k = 0; k < N; k++) put(pack.x, k, from[k]);
    store_pack(to, pack);
}
// Two are rounded at a time.
template <int N> DEVICE void store_pairs(bf16 *to, const float *from) {
    u32 x[N / 2];
#pragma unroll
    for (int k = 0; k < N / 2; k++) x[k] = pack(from[2 * k], from[2 * k + 1]);
    store_words(to, x);
}

template <int N, class T, class H> static __device__ __forceinline__ void store(T *to, const H *from, int left) {
    if (left == N) {
        if constexpr (is_bf16<T> && (N == 4 || N == 8)) store_pairs<N>(to, from);
        else store_all<N>(to, from);
    } else {
        for (int k = 0; k < N; k++) if (k < left) put(to, k, from[k]);
    }
}

// A fold over N threads, the same on all of them; `thread` is the number of this one.
template <class F, int N, class T> static __device__ T fold_threads(T x, T first, int thread) {
    x = fold_warp<F>(x);
    if constexpr (N > 32) {
        __shared__ T warps[32];
        __syncthreads();
        if (thread % 32 == 0) warps[thread / 32] = x;
        __syncthreads();
        x = fold_warp<F>(thread % 32 < N / 32 ? warps[thread % 32] : first);
    }
    return x;
}

// Copies bytes by all threads of a block: as words, where addresses allow it.
DEVICE void copy_bytes(char *to, const char *from, int bytes) {
    if (((u64)to | (u64)from | (u64)bytes) % 4 == 0) {
        for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) ((u32 *)to)[i] = ((const u32 *)from)[i];
    } else {
        for (int i = threadIdx.x; i < bytes; i += blockDim.x) to[i] = from[i];
    }
}

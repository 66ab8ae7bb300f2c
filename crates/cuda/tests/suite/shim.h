// Blocks and threads on a processor: a thread of a block is a coroutine, which gives way at every barrier and shuffle.
#define SHIM
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <ucontext.h>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__
#define __shared__ static
#define __constant__ static

struct dim3 { unsigned x, y, z; dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {} };
static dim3 threadIdx, blockIdx, blockDim, gridDim;
struct float4 { float x, y, z, w; };
struct float2 { float x, y; };
struct uint4 { unsigned x, y, z, w; };
struct uint2 { unsigned x, y; };

// Memory that a launch asks for: `char *memory = dynamic_shared();`
static char shim_dynamic[232448] __attribute__((aligned(1024)));

struct ShimThread { ucontext_t context; std::vector<char> stack; bool is_done; dim3 index; unsigned barriers, exchanges; };
static std::vector<ShimThread> shim_threads;
static ucontext_t shim_scheduler;
static size_t shim_current;
static const std::function<void()> *shim_body;
static u_int64_t shim_slots[1024];

static void shim_yield() {
    ShimThread &own = shim_threads[shim_current];
    swapcontext(&own.context, &shim_scheduler);
    threadIdx = own.index;
}
static void shim_enter() { (*shim_body)(); shim_threads[shim_current].is_done = true; shim_yield(); }

static unsigned shim_number() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
// Gives way until all threads of the group that still run have arrived as often as this one.
static void shim_wait(size_t first, size_t count, unsigned ShimThread::*arrivals) {
    unsigned own = ++(shim_threads[shim_current].*arrivals);
    auto waits = [&] {
        for (size_t i = first; i < first + count && i < shim_threads.size(); i++)
            if (!shim_threads[i].is_done && (int)(shim_threads[i].*arrivals - own) < 0) return true;
        return false;
    };
    while (waits()) shim_yield();
}
#define __syncthreads() shim_wait(0, shim_threads.size(), &ShimThread::barriers)
#define __syncwarp(...) shim_wait(shim_number() & ~31u, 32, &ShimThread::exchanges)
template <class T> static T shim_exchange(T x, unsigned from) {
    std::memcpy(&shim_slots[shim_number()], &x, sizeof x);
    __syncwarp();
    T y;
    std::memcpy(&y, &shim_slots[from], sizeof y);
    __syncwarp();
    return y;
}
template <class T> static T __shfl_xor_sync(unsigned, T x, int mask) { return shim_exchange(x, shim_number() ^ (unsigned)mask); }
template <class T> static T __shfl_sync(unsigned, T x, int lane) { return shim_exchange(x, (shim_number() & ~31u) + (lane & 31)); }
template <class T> static T __shfl_down_sync(unsigned, T x, int by) {
    unsigned own = shim_number();
    return shim_exchange(x, (own & 31) + by < 32 ? own + by : own);
}
template <class T> static T __shfl_up_sync(unsigned, T x, int by) {
    unsigned own = shim_number();
    return shim_exchange(x, (int)(own & 31) - by >= 0 ? own - by : own);
}

static unsigned float_bits(float x) { unsigned y; std::memcpy(&y, &x, 4); return y; }
static float bits_float(unsigned x) { float y; std::memcpy(&y, &x, 4); return y; }
static unsigned short round_bf16(float x) {
    unsigned bits = float_bits(x);
    return x != x ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
static unsigned short round_f16(float x) { _Float16 y = x; unsigned short bits; std::memcpy(&bits, &y, 2); return bits; }
static float widen_f16(unsigned short x) { _Float16 y; std::memcpy(&y, &x, 2); return y; }
static float __ldg(const float *x) { return *x; }

// Runs a kernel, whose arguments the body holds, over all blocks, one after the other.
static void shim_launch(dim3 grid, dim3 block, const std::function<void()> &body) {
    gridDim = grid, blockDim = block, shim_body = &body;
    size_t count = (size_t)block.x * block.y * block.z;
    shim_threads.resize(count);
    for (auto &thread : shim_threads) thread.stack.resize(1 << 17);
    for (unsigned b = 0; b < grid.x * grid.y * grid.z; b++) {
        blockIdx = dim3(b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y);
        for (size_t t = 0; t < count; t++) {
            ShimThread &own = shim_threads[t];
            own.is_done = false, own.barriers = own.exchanges = 0, own.index = dim3(t % block.x, t / block.x % block.y, t / block.x / block.y);
            getcontext(&own.context);
            own.context.uc_stack.ss_sp = own.stack.data(), own.context.uc_stack.ss_size = own.stack.size();
            own.context.uc_link = nullptr;
            makecontext(&own.context, shim_enter, 0);
        }
        for (size_t left = count; left > 0;) {
            left = 0;
            for (shim_current = 0; shim_current < count; shim_current++) {
                ShimThread &own = shim_threads[shim_current];
                if (own.is_done) continue;
                threadIdx = own.index;
                swapcontext(&shim_scheduler, &own.context);
                left += !own.is_done;
            }
        }
    }
}

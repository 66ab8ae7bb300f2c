// Blocks and threads on a processor: a thread of a block is a coroutine, which gives way at every barrier and shuffle.
#define SHIM
#include <cmath>
#include <cstdint>
#include <cstring>
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

// A coroutine that does not run: where its stack ends, on which it left all registers that a call keeps.
#if defined(__x86_64__)
void shim_switch(void **from, void *to) __asm__("shim_switch");
asm(".text\nshim_switch:\n"
    "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
    "mov %rsp, (%rdi)\n mov %rsi, %rsp\n"
    "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n");
static void *shim_start(char *stack, size_t size, void (*enter)()) {
    // Six registers, where to return to, and where that would return to.
    void **end = (void **)(stack + size) - 8;
    end[6] = (void *)enter, end[7] = nullptr;
    return end;
}
#elif defined(__aarch64__)
void shim_switch(void **from, void *to) __asm__("shim_switch");
asm(".text\n.balign 4\nshim_switch:\n"
    "sub sp, sp, #160\n stp x19, x20, [sp]\n stp x21, x22, [sp, #16]\n stp x23, x24, [sp, #32]\n stp x25, x26, [sp, #48]\n"
    "stp x27, x28, [sp, #64]\n stp x29, x30, [sp, #80]\n stp d8, d9, [sp, #96]\n stp d10, d11, [sp, #112]\n"
    "stp d12, d13, [sp, #128]\n stp d14, d15, [sp, #144]\n"
    "mov x9, sp\n str x9, [x0]\n mov sp, x1\n"
    "ldp x19, x20, [sp]\n ldp x21, x22, [sp, #16]\n ldp x23, x24, [sp, #32]\n ldp x25, x26, [sp, #48]\n"
    "ldp x27, x28, [sp, #64]\n ldp x29, x30, [sp, #80]\n ldp d8, d9, [sp, #96]\n ldp d10, d11, [sp, #112]\n"
    "ldp d12, d13, [sp, #128]\n ldp d14, d15, [sp, #144]\n add sp, sp, #160\n ret\n");
static void *shim_start(char *stack, size_t size, void (*enter)()) {
    void **end = (void **)(stack + size) - 20;
    end[11] = (void *)enter;
    return end;
}
#else
#include <ucontext.h>
static void shim_switch(void **from, void *to) {
    ucontext_t own;
    *from = &own;
    swapcontext(&own, (ucontext_t *)to);
}
static void *shim_start(char *stack, size_t size, void (*enter)()) {
    ucontext_t *context = (ucontext_t *)stack;
    getcontext(context);
    context->uc_stack.ss_sp = stack + sizeof *context, context->uc_stack.ss_size = size - sizeof *context;
    context->uc_link = nullptr;
    makecontext(context, enter, 0);
    return context;
}
#endif

// A thread of the block. Groups of threads that wait for one another remember, at their first thread, what all have arrived at.
struct ShimThread {
    void *place;
    char *stack;
    bool is_done;
    dim3 index;
    unsigned barriers, exchanges;
    struct { size_t count; unsigned arrivals; } met[2];
};
static std::vector<ShimThread> shim_threads;
// Stacks that no thread uses.
static std::vector<char *> shim_stacks;
static void *shim_scheduler;
static size_t shim_current;
static void (*shim_kernel)(const void *);
static const void *shim_arguments;
static u_int64_t shim_slots[2][1024];

static void shim_yield() {
    ShimThread &own = shim_threads[shim_current];
    shim_switch(&own.place, shim_scheduler);
    threadIdx = own.index;
}
static void shim_enter() { shim_kernel(shim_arguments); shim_threads[shim_current].is_done = true; shim_yield(); }

static unsigned shim_number() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
// Gives way until all threads of the group that still run have arrived as often as this one.
static void shim_wait(size_t first, size_t count, unsigned ShimThread::*arrivals) {
    unsigned own = ++(shim_threads[shim_current].*arrivals);
    auto &met = shim_threads[first].met[arrivals == &ShimThread::exchanges];
    size_t end = first + count < shim_threads.size() ? first + count : shim_threads.size();
    auto waits = [&](ShimThread &other) { return !other.is_done && (int)(other.*arrivals - own) < 0; };
    for (size_t i = first; i < end && !(met.count == count && (int)(met.arrivals - own) >= 0);)
        if (waits(shim_threads[i])) shim_yield(); else i++;
    met = {count, own};
}
#define __syncthreads() shim_wait(0, shim_threads.size(), &ShimThread::barriers)
#define __syncwarp(...) shim_wait(shim_number() & ~31u, 32, &ShimThread::exchanges)
template <class T> static T shim_exchange(T x, unsigned from) {
    // Slots take turns: who writes one again has met all that read it.
    u_int64_t *slots = shim_slots[shim_threads[shim_current].exchanges % 2];
    std::memcpy(&slots[shim_number()], &x, sizeof x);
    __syncwarp();
    T y;
    std::memcpy(&y, &slots[from], sizeof y);
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

// Runs a kernel over all blocks, one after the other.
static void shim_launch(dim3 grid, dim3 block, void (*kernel)(const void *), const void *arguments) {
    const size_t size = 1 << 17;
    gridDim = grid, blockDim = block, shim_kernel = kernel, shim_arguments = arguments;
    size_t count = (size_t)block.x * block.y * block.z;
    for (unsigned b = 0; b < grid.x * grid.y * grid.z; b++) {
        blockIdx = dim3(b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y);
        shim_threads.assign(count, ShimThread());
        for (size_t t = 0; t < count; t++) shim_threads[t].index = dim3(t % block.x, t / block.x % block.y, t / block.x / block.y);
        for (size_t left = count; left > 0;) {
            left = 0;
            for (shim_current = 0; shim_current < count; shim_current++) {
                ShimThread &own = shim_threads[shim_current];
                if (own.is_done) continue;
                if (!own.stack) {
                    if (shim_stacks.empty()) shim_stacks.push_back((char *)aligned_alloc(64, size));
                    own.stack = shim_stacks.back(), shim_stacks.pop_back();
                    own.place = shim_start(own.stack, size, shim_enter);
                }
                threadIdx = own.index;
                shim_switch(&shim_scheduler, own.place);
                if (own.is_done) shim_stacks.push_back(own.stack); else left++;
            }
        }
    }
}

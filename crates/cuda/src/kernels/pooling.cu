// Maxima of windows over the last two axes, and the sum of values back into the positions that they came from.
//
// max_pool: y[p][q] = the maximum of x[p][q * stride + k * dilation - before] over the kernel positions k that lie inside, and
// index[p][q] = where in the plane it stands, h * WIDTH + w. Of equal maxima the first in row-major order of the window counts; NaN is
// larger than all numbers, and the first NaN counts. A window with nothing inside gives -infinity and the index -1.
//   Macros: MAX_POOL (selects the kernel), PLANES, HEIGHT, WIDTH, KERNEL_H, KERNEL_W, STRIDE_H, STRIDE_W, DILATION_H, DILATION_W,
//           BEFORE_H, BEFORE_W (padding before), OUT_H, OUT_W.
//   Grid: ceil(PLANES * OUT_H * OUT_W / 256). Block: 256. Dynamic shared memory: none.
//   Arguments: const float *x [PLANES][HEIGHT][WIDTH], float *y [PLANES][OUT_H][OUT_W], i64 *index, of the shape of y.
//
// scatter_planes: y[p] = zeros, then y[p][index[p][o]] += x[p][o] in order of o. An index outside of the plane adds nothing.
//   Macros: SCATTER_PLANES (selects the kernel), PLANES, PLANE (elements of a plane of y), OUTS (values of a plane of x),
//           DISJOINT (defined where no index comes twice within a plane: windows that do not overlap),
//           SEGMENT (elements of a plane that a team holds in shared memory, at most PLANE; 4096 at most are good: larger planes
//           are cut, and every segment reads all indices of the plane),
//           TEAM (threads that share a segment: 32, or with DISJOINT any multiple of 32; 32 for planes of up to 1024 elements),
//           THREADS (of a block: a multiple of TEAM; a block holds THREADS / TEAM segments; 128 is good).
//   Grid: ceil(PLANES * ceil(PLANE / SEGMENT) / (THREADS / TEAM)). Block: THREADS.
//   Dynamic shared memory: THREADS / TEAM * ((SEGMENT + 3) / 4 * 4) * 4 bytes.
//   Arguments: const float *x [PLANES][OUTS], const i64 *index [PLANES][OUTS], float *y [PLANES][PLANE].

#ifdef MAX_POOL

KERNEL(256) max_pool(const float *x, float *y, i64 *index) {
    i64 at = (i64)blockIdx.x * 256 + threadIdx.x;
    if (at >= (i64)PLANES * (OUT_H * OUT_W)) return;
    i64 plane = at / (OUT_H * OUT_W);
    int q = (int)(at - plane * (OUT_H * OUT_W));
    int top = q / OUT_W * STRIDE_H - BEFORE_H, left = q % OUT_W * STRIDE_W - BEFORE_W;
    const float *from = x + plane * (HEIGHT * WIDTH);
    float best = -INFINITY;
    int place = -1;
#pragma unroll (KERNEL_H * KERNEL_W <= 64 ? KERNEL_H : 1)
    for (int i = 0; i < KERNEL_H; i++) {
#pragma unroll (KERNEL_W <= 64 ? KERNEL_W : 1)
        for (int j = 0; j < KERNEL_W; j++) {
            int h = top + i * DILATION_H, w = left + j * DILATION_W;
            if (h < 0 || h >= HEIGHT || w < 0 || w >= WIDTH) continue;
            float value = from[h * WIDTH + w];
            if (place < 0 || value > best || (value != value && best == best)) best = value, place = h * WIDTH + w;
        }
    }
    y[at] = best;
    index[at] = place;
}

#endif

#ifdef SCATTER_PLANES

#ifndef SHIM
// The lanes of the warp that hold the same key.
DEVICE u32 same_lanes(u32 key) { u32 mask; asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(mask) : "r"(key)); return mask; }
DEVICE int count_bits(u32 mask) { int count; asm("popc.b32 %0, %1;" : "=r"(count) : "r"(mask)); return count; }
#else
DEVICE u32 same_lanes(u32 key) {
    u32 mask = 0;
    for (int lane = 0; lane < 32; lane++) mask |= (u32)(__shfl_sync(0xffffffffu, key, lane) == key) << lane;
    return mask;
}
DEVICE int count_bits(u32 mask) { return __builtin_popcount(mask); }
#endif

KERNEL(THREADS) scatter_planes(const float *x, const i64 *index, float *y) {
#ifdef SHIM
    char *memory = shim_dynamic;
#else
    extern __shared__ __align__(1024) char memory[];
#endif
    constexpr int segments = (PLANE + SEGMENT - 1) / SEGMENT, room = (SEGMENT + 3) / 4 * 4, rounds = (OUTS + TEAM - 1) / TEAM;
    int team = threadIdx.x / TEAM, own = threadIdx.x % TEAM;
    float *part = (float *)memory + team * room;
    i64 number = (i64)blockIdx.x * (THREADS / TEAM) + team, plane = number / segments;
    int start = (int)(number - plane * segments) * SEGMENT, count = PLANE - start < SEGMENT ? PLANE - start : SEGMENT;
    // A team beyond the last plane goes on with nothing to hold, because all threads must reach the barriers.
    if (plane >= PLANES) count = 0;
    for (int i = own * 4; i < room; i += TEAM * 4) *(float4 *)(part + i) = float4{0, 0, 0, 0};
    __syncthreads();
    if (count > 0) {
        const float *values = x + plane * OUTS;
        const i64 *places = index + plane * OUTS;
#pragma unroll 4
        for (int i = 0; i < rounds; i++) {
            int o = i * TEAM + own;
            i64 at = o < OUTS ? places[o] - start : -1;
            bool is_inside = at >= 0 && at < count;
            float value = is_inside ? values[o] : 0;
#ifdef DISJOINT
            if (is_inside) part[at] = value;
#else
            // Lanes with the same place take turns, in the order of the lanes.
            u32 same = same_lanes(is_inside ? (u32)at : 0xffffffffu);
            int turn = is_inside ? count_bits(same & ((1u << own) - 1)) : -1, last = fold_warp<Max>(turn);
            for (int t = 0; t <= last; t++) {
                if (t == turn) part[at] += value;
                __syncwarp();
            }
#endif
        }
    }
    __syncthreads();
    float *to = y + plane * PLANE + start;
    if (PLANE % 4 == 0 && SEGMENT % 4 == 0) {
        for (int i = own * 4; i < count; i += TEAM * 4) *(float4 *)(to + i) = *(float4 *)(part + i);
    } else {
        for (int i = own; i < count; i += TEAM) to[i] = part[i];
    }
}

#endif

// Convolution (cross-correlation) over the last two axes in layout NCHW, and its two partial derivatives, in f32 with sums in f32.
//
//   CONV             y[n][o][q] = sum over c, k of w[o][c][k] x[n][c][q * stride + k * dilation - before]; x is zero outside
//   INPUT_GRADIENT   x[n][c][i] = sum over o, k of w[o][c][k] y[n][o][(i + before - k * dilation) / stride] over exact divisions inside y
//   WEIGHT_GRADIENT  w[o][c][k] = sum over n, q of y[n][o][q] x[n][c][q * stride + k * dilation - before]
//
// One of these three macros selects what the text holds. All need the macros BATCH, CHANNELS, OUTPUTS, GROUPS (channels and outputs are
// cut into so many groups, each with its own weights), HEIGHT, WIDTH, KERNEL_H, KERNEL_W, STRIDE_H, STRIDE_W, DILATION_H, DILATION_W,
// BEFORE_H, BEFORE_W (padding before), OUT_H, OUT_W. One axis is the case of HEIGHT = KERNEL_H = OUT_H = 1.
// Shapes: x [BATCH][CHANNELS][HEIGHT][WIDTH], w [OUTPUTS][CHANNELS / GROUPS][KERNEL_H][KERNEL_W], y [BATCH][OUTPUTS][OUT_H][OUT_W]; all
// begin at a multiple of 16 bytes. Nothing else is read, every element of the result is written, and the same input gives the same bits.
// With the macro TF32, factors are rounded to 10 bits of fraction and multiplied by the matrix units; sums stay f32.
//
// How: a block copies plain pieces of the images and of the weights into shared memory, stage by stage (the next stage is copied while one
// is computed). A thread reads a short piece of a row into registers once for all kernel columns, so no matrix of windows ever exists.
//
// Names for the rules below: ceil(a, b) = a / b rounded up; odd4(n) = 4 * (ceil(n, 4) made odd by adding 1 if even); pad8(n) = the least
// number from n on that leaves 8 when divided by 32.
//
// CONV and INPUT_GRADIENT. "from" is x for CONV and y for INPUT_GRADIENT, "to" is the other. With to_h, to_w the size of a plane of "to",
// from_group and to_group the channels per group of both; step = stride, up = 1, pad = before for CONV, and step = 1, up = stride,
// pad = (kernel - 1) * dilation - before for INPUT_GRADIENT, for each axis.
//   Macros for the tile: STRIP (neighbours in a row that a thread computes), OUTS (channels of "to" that it computes for each: 1, 2 or a
//   multiple of 4), LANES (threads side by side over channels), STRIPS, ROWS, IMAGES (strips of a row, rows and images of a block),
//   DEPTH (channels of "from" per stage), TAP_H, TAP_W (kernel rows and columns per stage; they divide KERNEL_H, KERNEL_W),
//   BLOCKS (blocks that shall fit on a multiprocessor; it bounds the registers).
//   Block: LANES * STRIPS * ROWS * IMAGES rounded up to a multiple of 32, at most 1024.
//   Grid: x = ceil(BATCH, IMAGES) * ceil(to_h, ROWS) * ceil(to_w, STRIP * STRIPS), y = GROUPS * ceil(to_group, OUTS * LANES).
//   Dynamic shared memory: 4 bytes * the larger of
//     2 * DEPTH * (IMAGES * tile_h * odd4(tile_w) + TAP_H * TAP_W * odd4(OUTS * LANES)) and LANES * odd4(IMAGES * ROWS * width), where
//     tile_h = ((ROWS - 1) * step_h + (TAP_H - 1) * DILATION_H + up_h - 1) / up_h + 1,
//     tile_w = ((STRIP * STRIPS - 1) * step_w + (TAP_W - 1) * DILATION_W + up_w - 1) / up_w + 1 (an upper bound),
//     width = min(to_w, STRIP * STRIPS).
//   Must hold: where the stride of INPUT_GRADIENT is not 1, STRIP is a multiple of STRIDE_W (or STRIPS = 1 and STRIP = to_w), and
//   TAP_W * DILATION_W is a multiple of STRIDE_W (or TAP_W = KERNEL_W).
//   Good choices: TAP_H = KERNEL_H, TAP_W = KERNEL_W (less only where shared memory is too small). STRIP = to_w and STRIPS = 1 where to_w
//   is at most 28 (then padding in the row costs nothing), otherwise the one of 28, 24, 20, 16, 12, 8 that wastes least (a multiple of
//   STRIDE_W for INPUT_GRADIENT). OUTS as large as STRIP * OUTS <= 112 and STRIP * OUTS + OUTS + min(window, STRIP * TAP_W) <= 140 allow, where
//   window = ((STRIP - 1) * step_w + (TAP_W - 1) * DILATION_W) / up_w + 1; halve STRIP rather than take OUTS below 4; halve OUTS down
//   to 4 while the whole result is cut for fewer than 34 000 threads. LANES = the power of two up to 16 that ceil(to_group, OUTS) fills.
//   Then 128 threads and BLOCKS = 3: ROWS = 8 without padding, 1 or 2 with padding and for INPUT_GRADIENT (so that whole warps skip
//   kernel rows that lie outside), the rest IMAGES. DEPTH = 4, or 8 where shared memory stays below 70 000 bytes and images are small.
//   Measured best: x 256 x 32 x 26 x 26, w 64 x 32 x 3 x 3, no padding: CONV with STRIP 12, OUTS 8, LANES 8, STRIPS 2, ROWS 24, IMAGES 1,
//   DEPTH 4, BLOCKS 1; INPUT_GRADIENT with STRIP 26, OUTS 4, LANES 8, STRIPS 1, ROWS 1, IMAGES 16, DEPTH 4, BLOCKS 3.
//   x 256 x 1 x 28 x 28, w 32 x 1 x 3 x 3: CONV with STRIP 26, OUTS 4, LANES 8, STRIPS 1, ROWS 26, IMAGES 1, DEPTH 1, BLOCKS 1.
//
//   With TF32 (CONV, and INPUT_GRADIENT of stride 1): OUTS is the channels of a warp, a multiple of 16; LANES the warps side by side over
//   channels; PLACES, a multiple of 8, the positions of a warp among the positions = IMAGES * ROWS * STRIP * STRIPS of a block (STRIP and
//   STRIPS count by their product only); DEPTH is a multiple of 8. Block: 32 * LANES * ceil(positions, PLACES). Grid as above.
//   Dynamic shared memory: 4 bytes * the larger of
//     2 * DEPTH * (pad8(IMAGES * tile_h * odd4(tile_w)) + pad8(TAP_H * TAP_W * odd4(OUTS * LANES))) and
//     16 * LANES * odd4(IMAGES * ROWS * width).
//   OUTS * PLACES is best at 2048 to 4608 (a thread holds a 32nd of it); fewer than 8 channels in "from" waste most of the work.
//   Measured best for the larger case above: CONV with STRIP 24, STRIPS 1, OUTS 64, LANES 1, PLACES 48, ROWS 8, IMAGES 1, DEPTH 8,
//   BLOCKS 2; INPUT_GRADIENT with STRIP 26, STRIPS 1, OUTS 32, LANES 1, PLACES 88, ROWS 26, IMAGES 1, DEPTH 8, BLOCKS 1.
//
//   Kernel conv: arguments const float *x, const float *w, float *y, then what the macro EPILOGUE_ARGUMENTS adds (it begins with a comma).
//     EPILOGUE(value, o), the value itself by default, is what is stored for the result of output channel o.
//   Kernel conv_input_gradient: arguments const float *y, const float *w, float *x.
//
// WEIGHT_GRADIENT is in two kernels: conv_weight_gradient cuts n and q into PARTS ranges and writes a sum for each into scratch memory,
// conv_weight_sum adds these in a fixed order.
//   Macros: OUTS, INS (outputs and channels that a thread computes), TAP_H, TAP_W (kernel rows and columns that it computes; they divide
//   KERNEL_H, KERNEL_W), LANES_O, LANES_C (threads side by side over outputs and channels), SPLIT (threads for the same sums that share
//   the positions: a power of two), ROWS, COLUMNS (rows and columns of y per stage; COLUMNS is a multiple of 4), PARTS (at most the
//   stages), BLOCKS.
//   stages = BATCH * ceil(OUT_H, ROWS) * ceil(OUT_W, COLUMNS); lanes = LANES_O * LANES_C; sums = OUTS * INS * TAP_H * TAP_W;
//   tiles = GROUPS * ceil(OUTPUTS / GROUPS, OUTS * LANES_O) * ceil(CHANNELS / GROUPS, INS * LANES_C) * (KERNEL_H / TAP_H) *
//   (KERNEL_W / TAP_W).
//   With TF32: OUTS, a multiple of 16, and INS, a multiple of 8, are what a warp computes; LANES_O, LANES_C and SPLIT count warps; COLUMNS
//   is a multiple of 8; lanes = 32 * LANES_O * LANES_C; sums = OUTS * INS * TAP_H * TAP_W / 32.
//   Scratch: PARTS * tiles * sums * lanes floats; it need not be cleared.
//   Kernel conv_weight_gradient: grid x = PARTS, y = tiles; block lanes * SPLIT, a multiple of 32, at most 1024. Arguments const float *x,
//     const float *y, float *scratch. Dynamic shared memory: 4 bytes * the larger of
//       2 * (OUTS * LANES_O * odd4(ROWS * COLUMNS) + INS * LANES_C * odd4(x_h * x_w)) and SPLIT / 2 * lanes * sums, where
//       x_h = (ROWS - 1) * STRIDE_H + (TAP_H - 1) * DILATION_H + 1,
//       x_w = (COLUMNS - 1) * STRIDE_W + (TAP_W - 1) * DILATION_W + 1 rounded up to a multiple of 4.
//   Kernel conv_weight_sum: grid x = ceil(tiles * sums * lanes, 32), block 256, no dynamic shared memory. Arguments
//     const float *scratch, float *w.
//   Good choices: TAP_H = KERNEL_H, TAP_W = KERNEL_W (TAP_H = 1 for more than 32 taps); sums of 64 to 144, by OUTS first, then INS;
//   LANES_C up to 32, LANES_O up to 8, SPLIT so that the block has 256 threads; COLUMNS = OUT_W rounded up, at most 56; ROWS up to 4 within
//   100 000 bytes; SPLIT at most ROWS * ceil(COLUMNS, 4) (TF32: 8), pieces of rows that are dealt out to the threads; PARTS * tiles near
//   the blocks that the device holds at once.
//   Measured best for the larger case: OUTS 16, INS 1, LANES_O 4, LANES_C 32, SPLIT 2, ROWS 4, COLUMNS 24, PARTS 132, BLOCKS 1;
//   with TF32 OUTS 64, INS 8, LANES_O 1, LANES_C 4, SPLIT 2, the rest the same. For the smaller: OUTS 2, INS 1, LANES_O 16, LANES_C 1,
//   SPLIT 16, ROWS 8, COLUMNS 28, PARTS 264, BLOCKS 2.

DEVICE constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
DEVICE constexpr int floor_div(int a, int b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
DEVICE constexpr int least(int a, int b) { return a < b ? a : b; }
DEVICE constexpr int most(int a, int b) { return a > b ? a : b; }
DEVICE constexpr int round4(int n) { return ceil_div(n, 4) * 4; }
// Rows of an odd number of 16 bytes, so that the same place of neighbouring rows lies in other banks.
DEVICE constexpr int odd4(int n) { return (ceil_div(n, 4) | 1) * 4; }
DEVICE constexpr int power2(int n) { return n <= 1 ? 1 : 2 * power2((n + 1) / 2); }
DEVICE constexpr int common(int a, int b) { return b == 0 ? a : common(b, a % b); }
// A size of 8 more than a multiple of 32, so that 4 by 8 lanes that are this far and 1 apart meet in no bank.
DEVICE constexpr int pad8(int n) { return n + (40 - n % 32) % 32; }
// The widest access, in floats, whose width divides n.
DEVICE constexpr int vector_of(int n) { return n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : 1; }

constexpr int taps = KERNEL_H * KERNEL_W, channels_group = CHANNELS / GROUPS, outputs_group = OUTPUTS / GROUPS;

#ifdef TF32
constexpr bool is_tf32 = true;
#else
constexpr bool is_tf32 = false;
#endif

#ifndef SHIM
DEVICE u32 shared_address(const void *memory) {
    u32 address;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(address) : "l"(memory));
    return address;
}
// Copies V floats into shared memory in the background, or zeros where there is nothing to copy.
template <int V> DEVICE void copy_later(u32 to, const float *from, bool is_there) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(V * 4), "r"(is_there ? V * 4 : 0) : "memory");
}
// Writes V floats to device memory at once; the compiler would take a vector of results apart.
template <int V> DEVICE void write_line(float *to, const float *from) {
    if constexpr (V == 4)
        asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(from[0]), "f"(from[1]), "f"(from[2]), "f"(from[3])
                     : "memory");
    else if constexpr (V == 2) asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(from[0]), "f"(from[1]) : "memory");
    else to[0] = from[0];
}
#ifdef TF32
DEVICE float round_tf32(float x) { u32 y; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x)); return bits_float(y); }
// sums += a b, for a of 16 by 8 and b of 8 by 8, in pieces over the lanes of a warp.
DEVICE void multiply(float (&sums)[4], const float (&a)[4], const float (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(float_bits(a[0])), "r"(float_bits(a[1])), "r"(float_bits(a[2])), "r"(float_bits(a[3])), "r"(float_bits(b[0])),
                   "r"(float_bits(b[1])));
}
#endif
DEVICE void wait_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#else
DEVICE u32 shared_address(const void *memory) { return (u32)((const char *)memory - shim_dynamic); }
template <int V> DEVICE void copy_later(u32 to, const float *from, bool is_there) {
    for (int i = 0; i < V; i++) ((float *)(shim_dynamic + to))[i] = is_there ? from[i] : 0;
}
template <int V> DEVICE void write_line(float *to, const float *from) {
    for (int i = 0; i < V; i++) to[i] = from[i];
}
#ifdef TF32
DEVICE float round_tf32(float x) { return bits_float((float_bits(x) + 0x1000) & ~0x1fffu); }
DEVICE void multiply(float (&sums)[4], const float (&a)[4], const float (&b)[2]) {
    static float as[1024][4], bs[1024][2];
    int lane = threadIdx.x % 32, warp = threadIdx.x - lane;
    for (int i = 0; i < 4; i++) as[threadIdx.x][i] = a[i];
    for (int i = 0; i < 2; i++) bs[threadIdx.x][i] = b[i];
    __syncwarp();
    for (int r = 0; r < 4; r++)
        for (int k = 0; k < 8; k++)
            sums[r] += as[warp + lane / 4 * 4 + k % 4][r / 2 + k / 4 * 2] * bs[warp + (lane % 4 * 2 + r % 2) * 4 + k % 4][k / 4];
    __syncwarp();
}
#endif
DEVICE void wait_copies() {}
#endif

// Reads COUNT floats, V at a time, as far as the last vector that holds one of them.
template <int COUNT, int V> DEVICE void read_line(float *to, const float *from) {
#pragma unroll
    for (int i = 0; i < COUNT; i += V) {
        if (V == 4) {
            float4 part = *(const float4 *)(from + i);
            to[i] = part.x, to[i + 1] = part.y, to[i + 2] = part.z, to[i + 3] = part.w;
        } else if (V == 2) {
            float2 part = *(const float2 *)(from + i);
            to[i] = part.x, to[i + 1] = part.y;
        } else {
            to[i] = from[i];
        }
    }
}

// Threads are dealt out to the places of a channel, and what is left over of them to several channels side by side: a thread finds its
// place once and goes on to further channels by a constant step.
DEVICE constexpr int teams_of(int threads, int places) { return places >= threads ? 1 : threads / places; }
template <int T, int N, class F> DEVICE void each_place(const F &body) {
    constexpr int teams = teams_of(T, N);
    int thread = threadIdx.x;
    if (N >= T) {
// Unrolled, the places would take registers from stage to stage.
#pragma unroll 1
        for (int place = thread; place < N; place += T) body(0, place);
    } else if (thread < teams * N) {
        body(thread / N, thread % N);
    }
}

#ifndef WEIGHT_GRADIENT

#ifdef INPUT_GRADIENT
constexpr int from_channels = OUTPUTS, to_channels = CHANNELS, from_group = outputs_group, to_group = channels_group;
constexpr int from_h = OUT_H, from_w = OUT_W, to_h = HEIGHT, to_w = WIDTH;
constexpr int step_h = 1, step_w = 1, up_h = STRIDE_H, up_w = STRIDE_W;
constexpr int pad_h = (KERNEL_H - 1) * DILATION_H - BEFORE_H, pad_w = (KERNEL_W - 1) * DILATION_W - BEFORE_W;
#else
constexpr int from_channels = CHANNELS, to_channels = OUTPUTS, from_group = channels_group, to_group = outputs_group;
constexpr int from_h = HEIGHT, from_w = WIDTH, to_h = OUT_H, to_w = OUT_W;
constexpr int step_h = STRIDE_H, step_w = STRIDE_W, up_h = 1, up_w = 1;
constexpr int pad_h = BEFORE_H, pad_w = BEFORE_W;
#endif

#ifndef EPILOGUE
#define EPILOGUE(value, o) (value)
#endif
#ifndef EPILOGUE_ARGUMENTS
#define EPILOGUE_ARGUMENTS
#endif

// Position q and kernel place k (counted backwards for the input gradient) meet the place (q * step + k * dilation - pad) / up of "from".
#ifdef TF32
constexpr int positions = IMAGES * ROWS * STRIP * STRIPS, threads = 32 * LANES * ceil_div(positions, PLACES), outs_pass = 16;
#else
constexpr int threads = ceil_div(LANES * STRIPS * ROWS * IMAGES, 32) * 32, outs_pass = 1;
#endif
constexpr int block_w = STRIP * STRIPS, block_outs = OUTS * LANES, tiles_w = ceil_div(to_w, block_w), tiles_h = ceil_div(to_h, ROWS);
constexpr int stage_taps = TAP_H * TAP_W, tap_stages_w = KERNEL_W / TAP_W, tap_stages = KERNEL_H / TAP_H * tap_stages_w;
constexpr int stages = ceil_div(from_group, DEPTH) * tap_stages;
constexpr int shift_w = -pad_w - floor_div(-pad_w, up_w) * up_w, first_w = floor_div(-pad_w, up_w);
constexpr int whole_span = ((STRIP - 1) * step_w + (TAP_W - 1) * DILATION_W + shift_w) / up_w + 1;
// Where a strip is a whole row, it is known here which places lie outside, and they are left out; elsewhere they are filled with zeros.
constexpr bool is_row = !is_tf32 && STRIPS == 1 && STRIP == to_w && TAP_W == KERNEL_W;
constexpr int skip = is_row ? most(first_w, 0) - first_w : 0;
constexpr int span = is_row ? most(least(from_w - first_w, whole_span) - skip, 0) : whole_span;
constexpr int tile_w = is_row ? most(span, 1) : ((block_w - 1) * step_w + (TAP_W - 1) * DILATION_W + shift_w) / up_w + 1;
constexpr int tile_h = ((ROWS - 1) * step_h + (TAP_H - 1) * DILATION_H + up_h - 1) / up_h + 1;
constexpr int pitch = odd4(tile_w), image_size = tile_h * pitch, channel_size = is_tf32 ? pad8(IMAGES * image_size) : IMAGES * image_size;
constexpr int weight_pitch = odd4(block_outs), weight_size = is_tf32 ? pad8(stage_taps * weight_pitch) : stage_taps * weight_pitch;
constexpr int stage_size = DEPTH * (channel_size + weight_size);
constexpr int strip_step = STRIP * step_w / up_w, strip_vector = STRIPS == 1 ? 4 : vector_of(strip_step);
constexpr int fill_vector = is_row ? vector_of(from_w | (first_w + skip) | tile_w)
                                   : vector_of(from_w | first_w | (tiles_w == 1 ? 0 : block_w * step_w / up_w) |
                                               (tap_stages_w == 1 ? 0 : TAP_W * DILATION_W / up_w));
// With a large dilation most of the window would never be used: then values are read from shared memory as they are needed.
constexpr bool is_window = span <= STRIP * TAP_W;
constexpr bool has_edges = pad_h > 0 || up_h > 1 || (to_h - 1) * step_h + (KERNEL_H - 1) * DILATION_H - pad_h >= from_h;
constexpr int unrolled_rows = stage_taps * STRIP * OUTS <= 2048 ? TAP_H : 1;

// Where results wait to be written row by row: a channel (with TF32 16 channels) of each lane at a time.
constexpr int out_pitch = tiles_w == 1 ? to_w : block_w, run = tiles_w == 1 ? ROWS * to_w : block_w;
constexpr int runs_image = tiles_w == 1 ? 1 : ROWS, lane_size = odd4(IMAGES * ROWS * out_pitch);
constexpr int out_vector = tiles_w == 1 ? vector_of(run | to_h * to_w) : vector_of(block_w | to_w);

// Starts the copies of a stage.
DEVICE void start_copies(const float *from, const float *w, u32 stage, int s, int n0, int h0, int w0, int group, int o0) {
    int c0 = s / tap_stages * DEPTH, kh = s % tap_stages / tap_stages_w * TAP_H, kw = s % tap_stages_w * TAP_W;
    int top = floor_div(h0 * step_h + kh * DILATION_H - pad_h, up_h);
    int left = is_row ? first_w + skip : (w0 * step_w + kw * DILATION_W) / up_w + first_w;
    const float *plane = from + ((i64)n0 * from_channels + group * from_group + c0) * (from_h * from_w);
    constexpr int vectors = ceil_div(tile_w, fill_vector), places = IMAGES * tile_h * vectors, teams = teams_of(threads, places);
    each_place<threads, places>([&](int team, int place) {
        int row = place / vectors, h = top + row % tile_h, column = place % vectors * fill_vector, image = row / tile_h;
        // Rows outside are left out below, except that the matrix units need zeros for them, and for channels that do not exist.
        bool is_inside = h >= 0 && h < from_h && n0 + image < BATCH;
        if (!is_inside && !is_tf32) return;
        bool is_there = is_inside && (is_row || (left + column >= 0 && left + column < from_w));
        const float *at = plane + (i64)image * (from_channels * from_h * from_w) + (team * (from_h * from_w) + h * from_w + left + column);
        u32 to = stage + 4 * (team * channel_size + row * pitch + column);
#pragma unroll
        for (int c = 0; c < DEPTH; c += teams) {
            bool is_channel = from_group % DEPTH == 0 || c0 + c + team < from_group;
            if ((DEPTH % teams == 0 || c + team < DEPTH) && (is_channel || is_tf32))
                copy_later<fill_vector>(to + 4 * c * channel_size, is_there && is_channel ? at + c * (from_h * from_w) : from,
                                        is_there && is_channel);
        }
    });
    // A warp takes four outputs by eight taps of w, so that its lanes neither read far apart nor meet in a bank.
    constexpr int taps_all = DEPTH * stage_taps, eights = ceil_div(taps_all, 8), fours = ceil_div(block_outs, 4);
    constexpr int warps = threads / 32, warps_o = common(warps, fours), warps_t = warps / warps_o;
    int thread = threadIdx.x, warp = thread / 32, o = warp % warps_o * 4 + thread % 4, first = warp / warps_o * 8 + thread % 32 / 4;
#pragma unroll
    for (int i = 0; i < ceil_div(eights, warps_t); i++) {
        int e = first + i * warps_t * 8, c = e / stage_taps, tap = (kh + e % stage_taps / TAP_W) * KERNEL_W + kw + e % TAP_W;
        bool is_channel = from_group % DEPTH == 0 || c0 + c < from_group;
        if (e >= taps_all || (!is_channel && !is_tf32)) continue;
#ifdef INPUT_GRADIENT
        int at = ((group * from_group + c0 + c) * to_group + o0 + o) * taps + (taps - 1 - tap);
        constexpr int step_o = taps;
#else
        int at = ((group * to_group + o0 + o) * from_group + c0 + c) * taps + tap;
        constexpr int step_o = from_group * taps;
#endif
        u32 to = stage + 4 * (DEPTH * channel_size + c * weight_size + e % stage_taps * weight_pitch + o);
#pragma unroll
        for (int k = 0; k < fours * 4; k += warps_o * 4) {
            bool is_there = is_channel && (to_group % block_outs == 0 || o0 + o + k < to_group);
            if (block_outs % 4 == 0 || o + k < block_outs) copy_later<1>(to + 4 * k, w + (is_there ? at + k * step_o : 0), is_there);
        }
    }
}

#define BOUNDS threads, BLOCKS
#ifdef INPUT_GRADIENT
KERNEL(BOUNDS) conv_input_gradient(const float *from, const float *w, float *to) {
#else
KERNEL(BOUNDS) conv(const float *from, const float *w, float *to EPILOGUE_ARGUMENTS) {
#endif
#ifdef SHIM
    float *memory = (float *)shim_dynamic;
#else
    extern __shared__ __align__(1024) float memory[];
#endif
    // Where rows at the edges have less to do, the blocks of the last ones come when all others have begun.
    constexpr int tiles_n = ceil_div(BATCH, IMAGES);
    int tile = blockIdx.x / tiles_w, w0 = blockIdx.x % tiles_w * block_w;
    int h0 = (has_edges ? tile / tiles_n : tile % tiles_h) * ROWS, n0 = (has_edges ? tile % tiles_n : tile / tiles_h) * IMAGES;
    constexpr int tiles_o = ceil_div(to_group, block_outs);
    int group = blockIdx.y / tiles_o, o0 = blockIdx.y % tiles_o * block_outs;

#ifdef TF32
    constexpr int tiles_m = OUTS / 16, tiles_p = PLACES / 8;
    int lane = threadIdx.x / 32 % LANES, first = threadIdx.x / 32 / LANES * PLACES;
    int own_row = threadIdx.x % 32 / 4, own_column = threadIdx.x % 4;
    int offsets[tiles_p];
#pragma unroll
    for (int j = 0; j < tiles_p; j++) {
        int p = least(first + j * 8 + own_row, positions - 1);
        offsets[j] = p / (ROWS * block_w) * image_size + p / block_w % ROWS * step_h * pitch + p % block_w * step_w;
        offsets[j] += own_column * channel_size;
    }
    float sums[tiles_m][tiles_p][4];
#pragma unroll
    for (int i = 0; i < tiles_m * tiles_p * 4; i++) (&sums[0][0][0])[i] = 0;
#else
    int lane = threadIdx.x % LANES, strip = threadIdx.x / LANES % STRIPS, image = threadIdx.x / (LANES * STRIPS) % IMAGES;
    int row = threadIdx.x / (LANES * STRIPS * IMAGES);
    // Threads that fill up the last warp compute what the first row does, and store nothing.
    bool is_active = row < ROWS;
    if (!is_active) row = 0;
    float sums[OUTS][STRIP];
#pragma unroll
    for (int o = 0; o < OUTS; o++)
#pragma unroll
        for (int j = 0; j < STRIP; j++) sums[o][j] = 0;
#endif

    u32 shared = shared_address(memory);
    start_copies(from, w, shared, 0, n0, h0, w0, group, o0);
    for (int s = 0; s < stages; s++) {
        float *stage = memory + s % 2 * stage_size;
        wait_copies();
        __syncthreads();
        if (s + 1 < stages) start_copies(from, w, shared + (s + 1) % 2 * stage_size * 4, s + 1, n0, h0, w0, group, o0);
#ifdef TF32
        const float *factors = stage + DEPTH * channel_size + own_column * weight_size + lane * OUTS + own_row;
#pragma unroll 1
        for (int c = 0; c < DEPTH; c += 8, factors += 8 * weight_size) {
#pragma unroll 1
            for (int i = 0; i < TAP_H; i++)
#pragma unroll
                for (int k = 0; k < TAP_W; k++) {
                    float a[tiles_m][4];
#pragma unroll
                    for (int m = 0; m < tiles_m; m++)
#pragma unroll
                        for (int r = 0; r < 4; r++)
                            a[m][r] = round_tf32(factors[(i * TAP_W + k) * weight_pitch + m * 16 + r % 2 * 8 + r / 2 * 4 * weight_size]);
#pragma unroll
                    for (int j = 0; j < tiles_p; j++) {
                        const float *place = stage + offsets[j] + (c * channel_size + i * DILATION_H * pitch + k * DILATION_W);
                        float b[2] = {round_tf32(place[0]), round_tf32(place[4 * channel_size])};
#pragma unroll
                        for (int m = 0; m < tiles_m; m++) multiply(sums[m][j], a[m], b);
                    }
                }
        }
#else
        int c0 = s / tap_stages * DEPTH, kh = s % tap_stages / tap_stages_w * TAP_H;
        int top = floor_div(h0 * step_h + kh * DILATION_H - pad_h, up_h), place = (h0 + row) * step_h + kh * DILATION_H - pad_h;
        const float *lines = stage + image * image_size + strip * strip_step;
        const float *factors = stage + DEPTH * channel_size + lane * OUTS;
        int depth = from_group % DEPTH == 0 ? DEPTH : least(DEPTH, from_group - c0);
#pragma unroll 1
        for (int c = 0; c < depth; c++, lines += channel_size, factors += weight_size) {
#pragma unroll (unrolled_rows)
            for (int i = 0; i < TAP_H; i++) {
                int at = place + i * DILATION_H;
                if (has_edges && (at < 0 || at % up_h != 0 || at / up_h >= from_h)) continue;
                const float *line = lines + (floor_div(at, up_h) - top) * pitch;
                float window[round4(most(is_window ? span : 0, 1))];
                if (is_window) read_line<span, strip_vector>(window, line);
#pragma unroll
                for (int k = 0; k < TAP_W; k++) {
                    float factor[OUTS];
                    read_line<OUTS, vector_of(OUTS)>(factor, factors + (i * TAP_W + k) * weight_pitch);
#pragma unroll
                    for (int o = 0; o < OUTS; o++)
#pragma unroll
                        for (int j = 0; j < STRIP; j++) {
                            int far = j * step_w + k * DILATION_W + shift_w, near = far / up_w - skip;
                            if (far % up_w != 0 || near < 0 || near >= span) continue;
                            sums[o][j] += factor[o] * (is_window ? window[near] : line[near]);
                        }
                }
            }
        }
#endif
    }

#pragma unroll
    for (int i = 0; i < OUTS / outs_pass; i++) {
        __syncthreads();
#ifdef TF32
#pragma unroll
        for (int j = 0; j < tiles_p; j++)
#pragma unroll
            for (int r = 0; r < 4; r++) {
                int p = first + j * 8 + own_column * 2 + r % 2;
                if (p >= positions || (tiles_w == 1 && p % block_w >= to_w)) continue;
                memory[(lane * 16 + own_row + r / 2 * 8) * lane_size + p / block_w * out_pitch + p % block_w] = sums[i][j][r];
            }
#else
        float *lane_out = memory + lane * lane_size + (image * ROWS + row) * out_pitch + strip * STRIP;
        if (is_active) {
#pragma unroll
            for (int j = 0; j < STRIP; j++)
                if (tiles_w > 1 || strip * STRIP + j < to_w) lane_out[j] = sums[i][j];
        }
#endif
        __syncthreads();
        int height = least(ROWS, to_h - h0), length = tiles_w == 1 ? height * to_w : least(block_w, to_w - w0);
        constexpr int vectors = run / out_vector;
        for (int e = threadIdx.x; e < LANES * outs_pass * IMAGES * runs_image * vectors; e += threads) {
            int at = e % vectors * out_vector, r = e / vectors % runs_image, n = e / (vectors * runs_image) % IMAGES;
            int l = e / (vectors * runs_image * IMAGES), o = o0 + l / outs_pass * OUTS + i * outs_pass + l % outs_pass;
            if (at >= length || r >= height || n0 + n >= BATCH || o >= to_group) continue;
            o += group * to_group;
            float values[out_vector];
            read_line<out_vector, out_vector>(values, memory + l * lane_size + (n * ROWS + r) * out_pitch + at);
#ifndef INPUT_GRADIENT
#pragma unroll
            for (int j = 0; j < out_vector; j++) values[j] = EPILOGUE(values[j], o);
#endif
            float *result = to + ((i64)(n0 + n) * to_channels + o) * (to_h * to_w) + ((h0 + r) * to_w + w0 + at);
            write_line<out_vector>(result, values);
        }
    }
}

#else

// Positions of a row that a thread (with TF32 a warp) takes at a time, and threads that share the sums of a tile of the weights.
#ifdef TF32
constexpr int step = 8, lanes = 32 * LANES_O * LANES_C, sums_thread = OUTS * INS * TAP_H * TAP_W / 32;
#else
constexpr int step = 4, lanes = LANES_O * LANES_C, sums_thread = OUTS * INS * TAP_H * TAP_W;
#endif
constexpr int sums_tile = sums_thread * lanes, stage_taps = TAP_H * TAP_W;
constexpr int threads = lanes * SPLIT, block_o = OUTS * LANES_O, block_c = INS * LANES_C;
constexpr int tiles_o = ceil_div(outputs_group, block_o), tiles_c = ceil_div(channels_group, block_c);
constexpr int tap_tiles_h = KERNEL_H / TAP_H, tap_tiles_w = KERNEL_W / TAP_W;
constexpr int tiles = GROUPS * tiles_o * tiles_c * tap_tiles_h * tap_tiles_w;
constexpr int stages_w = ceil_div(OUT_W, COLUMNS), stages_h = ceil_div(OUT_H, ROWS), stages = BATCH * stages_h * stages_w;
constexpr int x_h = (ROWS - 1) * STRIDE_H + (TAP_H - 1) * DILATION_H + 1;
constexpr int x_span = (COLUMNS - 1) * STRIDE_W + (TAP_W - 1) * DILATION_W + 1, x_w = round4(x_span);
constexpr int y_size = odd4(ROWS * COLUMNS), x_size = odd4(x_h * x_w), stage_size = block_o * y_size + block_c * x_size;
constexpr int y_vector = vector_of(OUT_W | COLUMNS);
constexpr int x_vector = vector_of(WIDTH | BEFORE_W | (stages_w == 1 ? 0 : COLUMNS * STRIDE_W) |
                                   (tap_tiles_w == 1 ? 0 : TAP_W * DILATION_W));

// What a tile of the weights covers.
struct Tile {
    int group, o, c, h, w;
    DEVICE Tile of(int tile) {
        int w = tile % tap_tiles_w * TAP_W, h = tile / tap_tiles_w % tap_tiles_h * TAP_H;
        tile /= tap_tiles_w * tap_tiles_h;
        return {tile / (tiles_c * tiles_o), tile / tiles_c % tiles_o * block_o, tile % tiles_c * block_c, h, w};
    }
};

// Starts the copies of a stage: of y, then of x.
DEVICE void start_copies(const float *x, const float *y, u32 stage, int s, const Tile &tile) {
    int q = s % stages_w * COLUMNS, p = s / stages_w % stages_h * ROWS, n = s / (stages_w * stages_h);
    const float *y_plane = y + ((i64)n * OUTPUTS + tile.group * outputs_group + tile.o) * (OUT_H * OUT_W);
    constexpr int y_vectors = ceil_div(least(COLUMNS, OUT_W), y_vector), y_places = ROWS * y_vectors, y_teams = teams_of(threads, y_places);
    each_place<threads, y_places>([&](int team, int place) {
        int h = place / y_vectors, column = place % y_vectors * y_vector;
        if (p + h >= OUT_H || q + column >= OUT_W) return;
        const float *at = y_plane + (team * (OUT_H * OUT_W) + (p + h) * OUT_W + q + column);
        u32 to = stage + 4 * (team * y_size + h * COLUMNS + column);
#pragma unroll 8
        for (int o = 0; o < block_o; o += y_teams)
            if ((block_o % y_teams == 0 || o + team < block_o) && (outputs_group % block_o == 0 || tile.o + o + team < outputs_group))
                copy_later<y_vector>(to + 4 * o * y_size, at + o * (OUT_H * OUT_W), true);
    });
    int top = p * STRIDE_H + tile.h * DILATION_H - BEFORE_H, left = q * STRIDE_W + tile.w * DILATION_W - BEFORE_W;
    const float *x_plane = x + ((i64)n * CHANNELS + tile.group * channels_group + tile.c) * (HEIGHT * WIDTH);
    constexpr int x_vectors = ceil_div(x_span, x_vector), x_places = x_h * x_vectors, x_teams = teams_of(threads, x_places);
    each_place<threads, x_places>([&](int team, int place) {
        int row = place / x_vectors, h = top + row, column = place % x_vectors * x_vector;
        bool is_there = h >= 0 && h < HEIGHT && left + column >= 0 && left + column < WIDTH;
        const float *at = x_plane + (team * (HEIGHT * WIDTH) + (is_there ? h * WIDTH + left + column : 0));
        u32 to = stage + 4 * (block_o * y_size + team * x_size + row * x_w + column);
#pragma unroll 8
        for (int c = 0; c < block_c; c += x_teams)
            if ((block_c % x_teams == 0 || c + team < block_c) && (channels_group % block_c == 0 || tile.c + c + team < channels_group))
                copy_later<x_vector>(to + 4 * c * x_size, at + c * (HEIGHT * WIDTH), is_there);
    });
}

#ifdef TF32
typedef float Sums[OUTS / 16][INS / 8][TAP_H][TAP_W][4];
// Adds the products of COUNT positions of a row; what follows them counts as zero, whatever it is.
template <int COUNT> DEVICE void add(Sums &sums, const float *x, const float *y) {
    int row = threadIdx.x % 32 / 4, column = threadIdx.x % 4;
    float a[OUTS / 16][4];
#pragma unroll
    for (int m = 0; m < OUTS / 16; m++)
#pragma unroll
        for (int r = 0; r < 4; r++) {
            int q = column + r / 2 * 4;
            a[m][r] = q < COUNT ? round_tf32(y[(m * 16 + row + r % 2 * 8) * y_size + q]) : 0;
        }
#pragma unroll
    for (int c = 0; c < INS / 8; c++)
#pragma unroll
        for (int i = 0; i < TAP_H; i++)
#pragma unroll
            for (int k = 0; k < TAP_W; k++) {
                const float *place = x + (c * 8 + row) * x_size + i * DILATION_H * x_w + column * STRIDE_W + k * DILATION_W;
                float b[2] = {column < COUNT ? round_tf32(place[0]) : 0, column + 4 < COUNT ? round_tf32(place[4 * STRIDE_W]) : 0};
#pragma unroll
                for (int m = 0; m < OUTS / 16; m++) multiply(sums[m][c][i][k], a[m], b);
            }
}
#else
typedef float Sums[OUTS][INS][TAP_H][TAP_W];
// Adds the products of COUNT positions of a row.
template <int COUNT> DEVICE void add(Sums &sums, const float *x, const float *y) {
    constexpr int span = (COUNT - 1) * STRIDE_W + (TAP_W - 1) * DILATION_W + 1;
    constexpr bool is_window = span <= COUNT * TAP_W;
    float window[INS][TAP_H][round4(is_window ? span : 1)];
    if (is_window) {
#pragma unroll
        for (int c = 0; c < INS; c++)
#pragma unroll
            for (int i = 0; i < TAP_H; i++) read_line<span, 4>(window[c][i], x + c * x_size + i * DILATION_H * x_w);
    }
#pragma unroll
    for (int o = 0; o < OUTS; o++) {
        float factor[4];
        read_line<COUNT, COUNT == 1 ? 1 : COUNT == 2 ? 2 : 4>(factor, y + o * y_size);
#pragma unroll
        for (int c = 0; c < INS; c++)
#pragma unroll
            for (int j = 0; j < COUNT; j++)
#pragma unroll
                for (int i = 0; i < TAP_H; i++)
#pragma unroll
                    for (int k = 0; k < TAP_W; k++) {
                        int near = j * STRIDE_W + k * DILATION_W;
                        sums[o][c][i][k] += factor[j] * (is_window ? window[c][i][near] : x[c * x_size + i * DILATION_H * x_w + near]);
                    }
    }
}
#endif

#define BOUNDS threads, BLOCKS
KERNEL(BOUNDS) conv_weight_gradient(const float *x, const float *y, float *scratch) {
#ifdef SHIM
    float *memory = (float *)shim_dynamic;
#else
    extern __shared__ __align__(1024) float memory[];
#endif
    int lane = threadIdx.x % lanes, split = threadIdx.x / lanes, side = is_tf32 ? lane / 32 : lane;
    int lane_c = side % LANES_C, lane_o = side / LANES_C;
    Tile tile = Tile().of(blockIdx.y);
    Sums sums;
    float *all = (float *)&sums;
#pragma unroll
    for (int i = 0; i < sums_thread; i++) all[i] = 0;

    u32 shared = shared_address(memory);
    int first = (int)((i64)stages * blockIdx.x / PARTS), last = (int)((i64)stages * (blockIdx.x + 1) / PARTS);
    if (first < last) start_copies(x, y, shared, first, tile);
    for (int s = first; s < last; s++) {
        const float *stage = memory + (s - first) % 2 * stage_size;
        wait_copies();
        __syncthreads();
        if (s + 1 < last) start_copies(x, y, shared + (s + 1 - first) % 2 * stage_size * 4, s + 1, tile);
        int q = s % stages_w * COLUMNS, p = s / stages_w % stages_h * ROWS;
        const float *ys = stage + lane_o * OUTS * y_size, *xs = stage + block_o * y_size + lane_c * INS * x_size;
        int width = stages_w == 1 ? OUT_W : least(COLUMNS, OUT_W - q), height = OUT_H % ROWS == 0 ? ROWS : least(ROWS, OUT_H - p);
        int chunks = ceil_div(width, step);
#pragma unroll 1
        for (int item = split; item < height * chunks; item += SPLIT) {
            int h = item / chunks, column = item % chunks * step;
            const float *x_line = xs + h * STRIDE_H * x_w + column * STRIDE_W, *y_line = ys + h * COLUMNS + column;
            // What is left at the end of a row is not filled up with zeros, because zero times infinity is not zero.
            if (OUT_W % step == 0 || column + step <= width) add<step>(sums, x_line, y_line);
            else add<most(OUT_W % step, 1)>(sums, x_line, y_line);
        }
    }

    // The second half of the threads that share sums hands them to the first half, until one is left.
#pragma unroll 1
    for (int half = SPLIT / 2; half > 0; half /= 2) {
        __syncthreads();
        float *own = memory + split % half * sums_tile + lane;
        if (split >= half && split < 2 * half) {
#pragma unroll
            for (int i = 0; i < sums_thread; i++) own[i * lanes] = all[i];
        }
        __syncthreads();
        if (split < half) {
#pragma unroll
            for (int i = 0; i < sums_thread; i++) all[i] += own[i * lanes];
        }
    }
    if (split == 0) {
        float *own = scratch + ((i64)blockIdx.x * tiles + blockIdx.y) * sums_tile + lane;
#pragma unroll
        for (int i = 0; i < sums_thread; i++) own[i * lanes] = all[i];
    }
}

KERNEL(256) conv_weight_sum(const float *scratch, float *w) {
    __shared__ float slices[8][32];
    int own = threadIdx.x % 32, slice = threadIdx.x / 32;
    i64 e = (i64)blockIdx.x * 32 + own;
    bool is_there = e < (i64)tiles * sums_tile;
    float sum = 0;
    if (is_there) {
#pragma unroll 8
        for (int part = slice; part < PARTS; part += 8) sum += scratch[(i64)part * tiles * sums_tile + e];
    }
    slices[slice][own] = sum;
    __syncthreads();
    if (slice != 0 || !is_there) return;
#pragma unroll
    for (int i = 1; i < 8; i++) sum += slices[i][own];
    Tile tile = Tile().of((int)(e / sums_tile));
    int i = (int)(e % sums_tile) / lanes, lane = (int)(e % lanes);
#ifdef TF32
    int r = i % 4, side = lane / 32;
    i /= 4;
    int c = tile.c + side % LANES_C * INS + i / stage_taps % (INS / 8) * 8 + lane % 4 * 2 + r % 2;
    int o = tile.o + side / LANES_C * OUTS + i / (stage_taps * (INS / 8)) * 16 + lane % 32 / 4 + r / 2 * 8;
#else
    int c = tile.c + lane % LANES_C * INS + i / stage_taps % INS, o = tile.o + lane / LANES_C * OUTS + i / (stage_taps * INS);
#endif
    int kw = tile.w + i % TAP_W, kh = tile.h + i / TAP_W % TAP_H;
    if (c < channels_group && o < outputs_group)
        w[(((tile.group * outputs_group + o) * channels_group + c) * KERNEL_H + kh) * KERNEL_W + kw] = sum;
}

#endif

// Copies a view to contiguous memory: y, of the sizes of the view in row-major order, = x.
//
// Macros:
//   BYTES    bytes of an element: 1, 2, 4 or 8
//   RANK     1 to 6; SIZES, STRIDES: RANK numbers with commas between; strides of x in elements, 0 and negative ones too
//   WIDTH    copy: elements that one load takes: a power of two that divides the last size and all strides but the last, which is 1, with
//            WIDTH * BYTES <= 16 a divisor of the addresses of x and y. The greatest is best; 1 is always right.
//            copy_tiled: 2 where BYTES is 2, the sizes of AXIS and of the last axis are even, all strides but that of AXIS are even, and
//            x and y lie at multiples of 4 bytes; else 1, which is always right.
//   TILED    1: copy_tiled is used; else 0 (copy).
//   AXIS     copy_tiled: an axis before the last, the one along which neighbours of x lie side by side (stride 1).
// It is worth while to merge axes first, and to drop those of size 1. copy_tiled is for views whose last stride is not 1 (nor 0) but that
// of another axis is, where both axes have at least 8 elements or so.
//
// x points to the element at index 0 of all axes.
// copy(x, y): grid ceil(elements / WIDTH / 1024), block 256.
// copy_tiled(x, y): with SIDE = 64 where BYTES <= 2, else 32, and all other axes as a batch:
//   grid ceil(SIZES[AXIS] / SIDE) * ceil(SIZES[RANK - 1] / SIDE) * batch (one number), block 256.
// No kernel needs scratch or dynamic shared memory.

template <int COUNT> struct Unit;
template <> struct Unit<1> { typedef u8 Type; };
template <> struct Unit<2> { typedef u16 Type; };
template <> struct Unit<4> { typedef u32 Type; };
template <> struct Unit<8> { typedef u64 Type; };
typedef Unit<BYTES>::Type Element;
typedef Pack<Element, WIDTH> Elements;

DEVICE constexpr i64 size_of(int axis) {
    constexpr i64 sizes[] = {SIZES};
    return sizes[axis];
}
DEVICE constexpr i64 stride_of(int axis) {
    constexpr i64 strides[] = {STRIDES};
    return strides[axis];
}
DEVICE constexpr i64 count_elements() {
    i64 count = 1;
    for (int a = 0; a < RANK; a++) count *= size_of(a);
    return count;
}
constexpr i64 COUNT = count_elements();

// Indices are 32 bits wide where these suffice, because constants divide them faster.
template <bool IS_LARGE> struct Size { typedef u32 Type; };
template <> struct Size<true> { typedef i64 Type; };
typedef Size<(COUNT >= (i64)1 << 31)>::Type Index;

#if !TILED
KERNEL(256) copy(const Element *x, Element *y) {
    constexpr int EACH = 4;
    constexpr Index PACKS = COUNT / WIDTH;
    Index first = (Index)blockIdx.x * (EACH * 256) + threadIdx.x;
    Elements values[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        Index rest = first + e * 256;
        if (rest >= PACKS) break;
        i64 offset = 0;
#pragma unroll
        for (int a = RANK - 1; a >= 0; a--) {
            int width = a == RANK - 1 ? WIDTH : 1;
            Index size = size_of(a) / width;
            offset += (i64)(a > 0 ? rest % size : rest) * width * stride_of(a);
            rest /= size;
        }
        values[e] = *(const Elements *)(x + offset);
    }
#pragma unroll
    for (int e = 0; e < EACH; e++)
        if (first + e * 256 < PACKS) ((Elements *)y)[first + e * 256] = values[e];
}
#else
KERNEL(256) copy_tiled(const Element *x, Element *y) {
    constexpr int SIDE = BYTES <= 2 ? 64 : 32, LAST = RANK - 1, STEP = 256 / SIDE;
    constexpr Index ROWS = size_of(AXIS), COLUMNS = size_of(LAST);
    constexpr Index DOWN = (ROWS + SIDE - 1) / SIDE, ACROSS = (COLUMNS + SIDE - 1) / SIDE;
    // A row is longer by the elements of a bank of shared memory, so that a column lies in different banks.
    alignas(8) __shared__ Element tile[SIDE][SIDE + (BYTES < 4 ? 4 / BYTES : 1)];
    Index rest = blockIdx.x, row = rest % DOWN * SIDE, column = rest / DOWN % ACROSS * SIDE;
    rest = rest / DOWN / ACROSS;
    // Offsets of the batch in x and in y; `down` is the step of y along AXIS.
    i64 from = 0, to = 0, down = 1, step = 1;
#pragma unroll
    for (int a = LAST; a >= 0; a--) {
        if (a == AXIS) down = step;
        if (a != AXIS && a != LAST) {
            Index i = rest % (Index)size_of(a);
            rest /= (Index)size_of(a);
            from += (i64)i * stride_of(a), to += (i64)i * step;
        }
        step *= size_of(a);
    }
#if WIDTH == 2
    // Words of two elements: a thread turns squares of two by two.
    int lane = threadIdx.x % 32, group = threadIdx.x / 32;
    Index r = row + 2 * lane;
#pragma unroll
    for (int i = 0; i < SIDE; i += 8)
        if (r < ROWS && column + group + i < COLUMNS)
            *(u32 *)&tile[group + i][2 * lane] = *(const u32 *)(x + from + r + (i64)(column + group + i) * stride_of(LAST));
    __syncthreads();
    Index c = column + 2 * lane;
#pragma unroll
    for (int i = 0; i < SIDE; i += 16) {
        r = row + 2 * group + i;
        if (r >= ROWS || c >= COLUMNS) continue;
        u32 left = *(const u32 *)&tile[2 * lane][2 * group + i], right = *(const u32 *)&tile[2 * lane + 1][2 * group + i];
        *(u32 *)(y + to + (i64)r * down + c) = (left & 0xffff) | right << 16;
        *(u32 *)(y + to + (i64)(r + 1) * down + c) = left >> 16 | (right & 0xffff0000);
    }
#else
    int lane = threadIdx.x % SIDE, group = threadIdx.x / SIDE;
#pragma unroll
    for (int i = 0; i < SIDE; i += STEP)
        if (row + lane < ROWS && column + group + i < COLUMNS)
            tile[group + i][lane] = x[from + row + lane + (i64)(column + group + i) * stride_of(LAST)];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < SIDE; i += STEP)
        if (column + lane < COLUMNS && row + group + i < ROWS)
            y[to + (i64)(row + group + i) * down + column + lane] = tile[lane][group + i];
#endif
}
#endif

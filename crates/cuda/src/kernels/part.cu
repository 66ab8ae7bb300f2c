// Parts of a tensor that are written or added to: slices, diagonals, what is joined, and windows that overlap.
//
// part: y[part] = x, or y[part] += x, where no place of the part comes twice. The rest of y is not touched.
//   Macros: PART (selects the kernel), T (type of the elements), COMPUTE (type to add in), ADDS (0 or 1), RANK and SIZES (the sizes of the
//           part, in order), FROM and TO (strides of x and y, in elements), INDEX (a type for numbers of elements),
//           WIDTH (elements that one load takes: a power of two that divides the last size, all strides before the last and the addresses,
//           where the last strides are 1; else 1; at most 16 bytes), COUNT (elements of the part / WIDTH).
//   Grid: ceil(COUNT / 256). Block: 256.
//   Arguments: const T *x, T *y: where the first element of the part lies in both.
//
// windows_add: y[o][j][i] = x[o][j][i] + the sum over windows w of v[o][w][i][j - w * STEP] where that lies within 0..SIZE, in order.
//   Macros: WINDOWS_ADD (selects the kernel), T, COMPUTE, OUTER, LENGTH, INNER, WINDOWS (their number), SIZE, STEP.
//   Grid: ceil(OUTER * LENGTH * INNER / 256). Block: 256.
//   Arguments: const T *x [OUTER][LENGTH][INNER], const T *v [OUTER][WINDOWS][INNER][SIZE], T *y of the shape of x; y may be x.

#ifdef PART

#define LIST(name, NUMBERS) DEVICE constexpr i64 name(int axis) { constexpr i64 list[] = {NUMBERS}; return list[axis]; }
LIST(size_of, SIZES)
LIST(from_of, FROM)
LIST(to_of, TO)

KERNEL(256) part(const T *x, T *y) {
    typedef Pack<T, WIDTH> Values;
    INDEX rest = (INDEX)blockIdx.x * 256 + threadIdx.x;
    if (rest >= (INDEX)COUNT) return;
    i64 from = 0, to = 0;
#pragma unroll
    for (int a = RANK - 1; a >= 0; a--) {
        int width = a == RANK - 1 ? WIDTH : 1;
        INDEX size = (INDEX)(size_of(a) / width), i = rest % size;
        rest /= size;
        from += (i64)i * width * from_of(a), to += (i64)i * width * to_of(a);
    }
    Values values = *(const Values *)(x + from);
    if constexpr (ADDS) {
        Values old = *(const Values *)(y + to);
#pragma unroll
        for (int j = 0; j < WIDTH; j++) put(values.x, j, (COMPUTE)get(old.x, j) + (COMPUTE)get(values.x, j));
    }
    *(Values *)(y + to) = values;
}

#endif

#ifdef WINDOWS_ADD

KERNEL(256) windows_add(const T *x, const T *v, T *y) {
    i64 n = (i64)blockIdx.x * 256 + threadIdx.x;
    if (n >= (i64)OUTER * LENGTH * INNER) return;
    i64 i = n % INNER, j = n / INNER % LENGTH, o = n / INNER / LENGTH;
    i64 first = j < SIZE ? 0 : (j - SIZE) / STEP + 1, last = j / STEP;
    COMPUTE sum = get(x, n);
    for (i64 w = first; w <= last && w < WINDOWS; w++) sum += get(v, ((o * WINDOWS + w) * INNER + i) * SIZE + j - w * STEP);
    put(y, n, sum);
}

#endif

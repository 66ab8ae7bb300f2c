// Windows over the last one to three axes: pooling, patches, and convolutions of all types and numbers of axes, plainly.
//
// An output q reads the places q * STRIDE + k * DILATION - BEFORE, k < TAPS, along each axis, where they lie inside of the input; with
// ADAPTIVE 1, the places from floor(q * IN / OUT) to ceil((q + 1) * IN / OUT) instead.
//
// maximum(x, y, index):       y[p][q] = the maximum of the window, index[p][q] = where in the plane it stands. Of equal maxima the first in
//                             row-major order counts; NaN is larger than all numbers, and the first NaN counts.
// average(x, y):              y[p][q] = the sum of the window / its size.
// average_gradient(y, x):     x[p][i] = the sum of y[p][q] / the size of q over the windows that read i.
// unfold(x, y):               y[p][k][q] = the element that tap k of q reads; 0 outside.
// fold(y, x):                 x[p][i] = the sum of y[p][k][q] over the taps and outputs that read i.
// conv(x, w, y):              y[n][o][q] = sum over c, k of w[o][c][k] x[n][c][place k of q]
// conv_input_gradient(y, w, x), conv_weight_gradient(x, y, w): the other two of the three; see conv.cu for the shapes and groups.
//
// Macros: T, SUM (types of elements and of sums), IN, OUT, TAPS, STRIDE, DILATION, BEFORE, AFTER (padding): three numbers each, missing axes
//         come first and have size 1; ADAPTIVE (0 or 1; then TAPS is at least the longest window, COVERS the most windows that read an
//         element; else COVERS is TAPS); PLANES; COUNTS_PADDING (0 or 1: whether the size of a window includes padding), DIVISOR (if not 0:
//         the size of all windows); and BATCH, CHANNELS, OUTPUTS, GROUPS of convolutions. Those without a meaning for a kernel may be 1.
// Grid: a thread for each element of the result: ceil(elements / 256). Block: 256. conv_weight_gradient: grid elements, block 128.
// Memory is row-major. Sums are in a fixed order.

#define LIST(name, ...) DEVICE constexpr i64 name(int axis) { constexpr i64 list[] = {__VA_ARGS__}; return list[axis]; }
LIST(in_of, IN)
LIST(out_of, OUT)
LIST(taps_of, TAPS)
LIST(covers_of, COVERS)
LIST(stride_of, STRIDE)
LIST(dilation_of, DILATION)
LIST(before_of, BEFORE)
LIST(after_of, AFTER)

#define VOLUME(of) (of(0) * of(1) * of(2))
struct Place { i64 x[3]; };

// The place with this number among the sizes.
template <class F> DEVICE Place place_of(i64 number, F size) {
    return {number / size(2) / size(1), number / size(2) % size(1), number % size(2)};
}
DEVICE i64 own_number() { return (i64)blockIdx.x * 256 + threadIdx.x; }
DEVICE i64 up(i64 a, i64 b) { return (a + b - 1) / b; }

// The first place of a window with ADAPTIVE, and the one behind its last.
DEVICE i64 begin_of(int axis, i64 q) { return q * in_of(axis) / out_of(axis); }
DEVICE i64 end_of(int axis, i64 q) { return up((q + 1) * in_of(axis), out_of(axis)); }

// What tap k of output q reads along an axis; -1 if it lies outside.
DEVICE i64 inside(int axis, i64 q, i64 k) {
    i64 i = ADAPTIVE ? begin_of(axis, q) + k : q * stride_of(axis) + k * dilation_of(axis) - before_of(axis);
    return i >= 0 && i < (ADAPTIVE ? end_of(axis, q) : in_of(axis)) ? i : -1;
}

// The output whose tap k reads i, with ADAPTIVE the one with number k of those that read it; -1 if there is none.
DEVICE i64 covering(int axis, i64 i, i64 k) {
    if (ADAPTIVE) {
        i64 q = i * out_of(axis) / in_of(axis) + k;
        return q < out_of(axis) && begin_of(axis, q) <= i ? q : -1;
    }
    i64 far = i + before_of(axis) - k * dilation_of(axis), q = far / stride_of(axis);
    return far >= 0 && far % stride_of(axis) == 0 && q < out_of(axis) ? q : -1;
}

// Calls f(k, place) for the taps k of q and what they read, or for the taps and outputs that read the place q, in order of k.
template <class F, class G> DEVICE void each_tap(const Place &q, i64 (*other)(int, i64, i64), F count, F size, G f) {
    for (i64 a = 0; a < count(0); a++) {
        i64 x = other(0, q.x[0], a);
        if (x < 0) continue;
        for (i64 b = 0; b < count(1); b++) {
            i64 y = other(1, q.x[1], b);
            if (y < 0) continue;
            for (i64 c = 0; c < count(2); c++) {
                i64 z = other(2, q.x[2], c);
                if (z >= 0) f((a * count(1) + b) * count(2) + c, (x * size(1) + y) * size(2) + z);
            }
        }
    }
}
template <class G> DEVICE void each_inside(const Place &q, G f) { each_tap(q, inside, taps_of, in_of, f); }
template <class G> DEVICE void each_covering(const Place &i, G f) { each_tap(i, covering, covers_of, out_of, f); }

// The size of the window of q.
DEVICE SUM size_of(const Place &q) {
    if (DIVISOR != 0) return (SUM)DIVISOR;
    i64 size = 1;
    for (int a = 0; a < 3; a++) {
        if (ADAPTIVE) {
            size *= end_of(a, q.x[a]) - begin_of(a, q.x[a]);
            continue;
        }
        i64 start = q.x[a] * stride_of(a) - before_of(a), end = in_of(a) + (COUNTS_PADDING ? after_of(a) : 0) - start;
        i64 first = !COUNTS_PADDING && start < 0 ? up(-start, dilation_of(a)) : 0;
        i64 last = end > 0 ? up(end, dilation_of(a)) : 0;
        last = last < taps_of(a) ? last : taps_of(a);
        size *= last > first ? last - first : 0;
    }
    return (SUM)(size > 1 ? size : 1);
}

KERNEL(256) maximum(const T *x, T *y, i64 *index) {
    i64 n = own_number();
    if (n >= PLANES * VOLUME(out_of)) return;
    x += n / VOLUME(out_of) * VOLUME(in_of);
    SUM best = -(SUM)INFINITY;
    i64 place = -1;
    each_inside(place_of(n % VOLUME(out_of), out_of), [&](i64, i64 i) {
        SUM value = get(x, i);
        if (place < 0 || value > best || (value != value && best == best)) best = value, place = i;
    });
    put(y, n, best);
    index[n] = place;
}

KERNEL(256) average(const T *x, T *y) {
    i64 n = own_number();
    if (n >= PLANES * VOLUME(out_of)) return;
    x += n / VOLUME(out_of) * VOLUME(in_of);
    Place q = place_of(n % VOLUME(out_of), out_of);
    SUM sum = 0;
    each_inside(q, [&](i64, i64 i) { sum += get(x, i); });
    put(y, n, sum / size_of(q));
}

KERNEL(256) average_gradient(const T *y, T *x) {
    i64 n = own_number();
    if (n >= PLANES * VOLUME(in_of)) return;
    y += n / VOLUME(in_of) * VOLUME(out_of);
    SUM sum = 0;
    each_covering(place_of(n % VOLUME(in_of), in_of), [&](i64, i64 q) { sum += get(y, q) / size_of(place_of(q, out_of)); });
    put(x, n, sum);
}

KERNEL(256) unfold(const T *x, T *y) {
    i64 n = own_number();
    if (n >= PLANES * VOLUME(taps_of) * VOLUME(out_of)) return;
    Place q = place_of(n % VOLUME(out_of), out_of), k = place_of(n / VOLUME(out_of) % VOLUME(taps_of), taps_of);
    i64 i[3];
    for (int a = 0; a < 3; a++) i[a] = inside(a, q.x[a], k.x[a]);
    T value = {};
    if (i[0] >= 0 && i[1] >= 0 && i[2] >= 0)
        value = x[n / VOLUME(out_of) / VOLUME(taps_of) * VOLUME(in_of) + (i[0] * in_of(1) + i[1]) * in_of(2) + i[2]];
    y[n] = value;
}

KERNEL(256) fold(const T *y, T *x) {
    i64 n = own_number();
    if (n >= PLANES * VOLUME(in_of)) return;
    y += n / VOLUME(in_of) * VOLUME(taps_of) * VOLUME(out_of);
    SUM sum = 0;
    each_covering(place_of(n % VOLUME(in_of), in_of), [&](i64 k, i64 q) { sum += get(y, k * VOLUME(out_of) + q); });
    put(x, n, sum);
}

constexpr i64 OWN_CHANNELS = CHANNELS / GROUPS, OWN_OUTPUTS = OUTPUTS / GROUPS;

KERNEL(256) conv(const T *x, const T *w, T *y) {
    i64 n = own_number();
    if (n >= (i64)BATCH * OUTPUTS * VOLUME(out_of)) return;
    i64 o = n / VOLUME(out_of) % OUTPUTS, image = n / VOLUME(out_of) / OUTPUTS;
    Place q = place_of(n % VOLUME(out_of), out_of);
    x += (image * CHANNELS + o / OWN_OUTPUTS * OWN_CHANNELS) * VOLUME(in_of), w += o * OWN_CHANNELS * VOLUME(taps_of);
    SUM sum = 0;
    for (i64 c = 0; c < OWN_CHANNELS; c++)
        each_inside(q, [&](i64 k, i64 i) { sum += (SUM)get(w, c * VOLUME(taps_of) + k) * get(x, c * VOLUME(in_of) + i); });
    put(y, n, sum);
}

KERNEL(256) conv_input_gradient(const T *y, const T *w, T *x) {
    i64 n = own_number();
    if (n >= (i64)BATCH * CHANNELS * VOLUME(in_of)) return;
    i64 c = n / VOLUME(in_of) % CHANNELS, image = n / VOLUME(in_of) / CHANNELS, first = c / OWN_CHANNELS * OWN_OUTPUTS;
    Place i = place_of(n % VOLUME(in_of), in_of);
    SUM sum = 0;
    for (i64 o = first; o < first + OWN_OUTPUTS; o++) {
        const T *own = w + (o * OWN_CHANNELS + c % OWN_CHANNELS) * VOLUME(taps_of), *from = y + (image * OUTPUTS + o) * VOLUME(out_of);
        each_covering(i, [&](i64 k, i64 q) { sum += (SUM)get(own, k) * get(from, q); });
    }
    put(x, n, sum);
}

KERNEL(128) conv_weight_gradient(const T *x, const T *y, T *w) {
    i64 n = blockIdx.x, o = n / VOLUME(taps_of) / OWN_CHANNELS, c = o / OWN_OUTPUTS * OWN_CHANNELS + n / VOLUME(taps_of) % OWN_CHANNELS;
    Place k = place_of(n % VOLUME(taps_of), taps_of);
    SUM sum = 0;
    for (i64 t = threadIdx.x; t < BATCH * VOLUME(out_of); t += 128) {
        i64 image = t / VOLUME(out_of), i[3];
        Place q = place_of(t % VOLUME(out_of), out_of);
        for (int a = 0; a < 3; a++) i[a] = inside(a, q.x[a], k.x[a]);
        if (i[0] < 0 || i[1] < 0 || i[2] < 0) continue;
        i64 place = (i[0] * in_of(1) + i[1]) * in_of(2) + i[2];
        sum += (SUM)get(x, (image * CHANNELS + c) * VOLUME(in_of) + place) * get(y, (image * OUTPUTS + o) * VOLUME(out_of) + t % VOLUME(out_of));
    }
    sum = fold_block<Sum>(sum, (SUM)0);
    if (threadIdx.x == 0) put(w, n, sum);
}

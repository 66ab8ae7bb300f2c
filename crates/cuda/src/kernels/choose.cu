// Elements that are chosen, packed or converted, each by itself.
//
//   triangle_part(x, y): y[b][i][j] = x[b][i][j] where j <= i + OFFSET, or j >= i + OFFSET if UPPER, else 0.
//   select_bits(x, bits, y): y[r][j] = x[r][j] where bit j % 8 of bits[r][j / 8] is set, else 0.
//   pack_positive(x, bits): bit j % 8 of bits[r][j / 8] says whether x[r][j] > 0; bits behind the last element are 0.
//   wrap_index(x, y): y = x + SIZE where x < 0 and WRAPS, else x; an index outside of the axis stays outside.
//   where(mask, a, b, y): y = a where the mask is true, else b; T is the type of the mask.
//   convert(x, y): y = x in another type.
//
// Macros: T (type of x), TO (type of y), ROWS, COLUMNS, and UPPER (0 or 1), OFFSET, WRAPS (0 or 1), SIZE, which may be 0 where they have no
// meaning; triangle_part: b and i are rows, of which MATRIX belong to a matrix (1 for the others).
// Grid: ceil(ROWS * COLUMNS / 256), for pack_positive ceil(ROWS * ceil(COLUMNS / 8) / 256). Block: 256. Memory is row-major.

DEVICE i64 own_number() { return (i64)blockIdx.x * 256 + threadIdx.x; }
constexpr i64 COUNT = (i64)ROWS * COLUMNS, ROW_BYTES = ((i64)COLUMNS + 7) / 8;

// y = x where it is kept, as bits: no number changes.
DEVICE void keep(const T *x, T *y, i64 n, bool is_kept) {
    T value = {};
    if (is_kept) value = x[n];
    y[n] = value;
}

KERNEL(256) triangle_part(const T *x, T *y) {
    i64 n = own_number(), i = n / COLUMNS % MATRIX, j = n % COLUMNS;
    if (n < COUNT) keep(x, y, n, UPPER ? j - i >= OFFSET : j - i <= OFFSET);
}

KERNEL(256) select_bits(const T *x, const u8 *bits, T *y) {
    i64 n = own_number(), j = n % COLUMNS;
    if (n < COUNT) keep(x, y, n, bits[n / COLUMNS * ROW_BYTES + j / 8] >> j % 8 & 1);
}

KERNEL(256) pack_positive(const T *x, u8 *bits) {
    i64 n = own_number(), row = n / ROW_BYTES, first = n % ROW_BYTES * 8;
    if (row >= ROWS) return;
    int byte = 0;
    for (int k = 0; k < 8 && first + k < COLUMNS; k++) byte |= (get(x, row * COLUMNS + first + k) > 0) << k;
    bits[n] = (u8)byte;
}

KERNEL(256) wrap_index(const T *x, TO *y) {
    i64 n = own_number();
    if (n >= COUNT) return;
    i64 index = (i64)get(x, n);
    put(y, n, index < 0 && WRAPS ? index + SIZE : index);
}

KERNEL(256) where(const T *mask, const TO *a, const TO *b, TO *y) {
    i64 n = own_number();
    if (n < COUNT) y[n] = get(mask, n) != 0 ? a[n] : b[n];
}

KERNEL(256) convert(const T *x, TO *y) {
    i64 n = own_number();
    if (n < COUNT) put(y, n, get(x, n));
}

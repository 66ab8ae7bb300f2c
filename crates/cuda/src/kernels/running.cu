// Running results along an axis of contiguous memory [outer][N][INNER]: y[o][t][i] = a fold of x[o][0..=t][i]. It follows folds.cu.
//
// Macros besides those of folds.cu:
//   FOLD      Whole<Total>, Product, Whole<Extreme<LEAST, true>>, Whole<LogSumExp<Held>>, Recurrence, Whole<Polynomial>
//   OPERANDS  tensors of the shape of y: 2 for Recurrence, 1 + directions for Polynomial, else 1
//   REVERSE   1 where t counts from the end
//   PLACES    1 where the positions of results are written too
//   OTHERS    products of others, with Polynomial: 1 to write the fold of the elements before each into `products`, in a second launch with
//             REVERSE 2 to write y from them and the fold of the elements after each; else 0
//   N, INNER, ROWS (outer * INNER)
//   LANES     threads for a row, a power of two up to 256. With INNER > 1, 1 is best where there are many rows.
//   PARTS     pieces of a row, at most 256, in blocks of their own; more than 1 only with LANES 256.
//
// running_totals(x, totals): where PARTS > 1, before the other; running(x, y, places, totals, products).
//   grid (ceil(ROWS / (256 / LANES)), PARTS), block 256. x: the addresses of all operands, by value. Where they are not used, these may be
//   null: places (i64, of the shape of y), totals (32 bytes for each row and part), products (SETS doubles for each element).
// No kernel needs dynamic shared memory.

constexpr int ITEMS = LANES == 1 ? 1 : 4;
constexpr i64 SIZE = ((i64)N + PARTS - 1) / PARTS;
struct Sources { const T *of[OPERANDS]; };

// The row of a thread, and the piece of it that is its block's.
struct Row {
    i64 number, begin, end;
    int lane;
    __device__ Row() {
        number = (i64)blockIdx.x * (256 / LANES) + threadIdx.x / LANES;
        lane = threadIdx.x % LANES;
        begin = blockIdx.y * SIZE, end = begin + SIZE < N ? begin + SIZE : N;
        // Threads beyond the last row take part in barriers, with no elements.
        if (number >= ROWS) end = begin;
    }
    __device__ i64 at(i64 t) const { return number / INNER * ((i64)N * INNER) + (REVERSE ? N - 1 - t : t) * INNER + number % INNER; }
};

// The chunks of all lanes before this one, joined; `all` becomes those of the whole row's threads.
DEVICE FOLD::Chunk before_lane(FOLD::Chunk own, int lane, FOLD::Chunk &all) {
    if constexpr (LANES == 1) {
        all = own;
        return FOLD::none();
    } else {
        __shared__ FOLD::Chunk chunks[256];
        int thread = threadIdx.x;
        for (int step = 1; step < LANES; step *= 2) {
            __syncthreads();
            chunks[thread] = own;
            __syncthreads();
            if (lane >= step) own = FOLD::join(chunks[thread - step], own);
        }
        __syncthreads();
        chunks[thread] = own;
        __syncthreads();
        all = chunks[thread - lane + LANES - 1];
        return lane > 0 ? chunks[thread - 1] : FOLD::none();
    }
}

// Neighbouring elements of a row.
struct Items {
    Held of[ITEMS][OPERANDS];
    __device__ Items(const Sources &x, const Row &row, i64 first) {
#pragma unroll
        for (int j = 0; j < ITEMS; j++)
            for (int k = 0; k < OPERANDS; k++)
                if (first + j < row.end) of[j][k] = get(x.of[k], row.at(first + j));
    }
    __device__ FOLD::Chunk chunk(const Row &row, i64 first) const {
        FOLD::Chunk chunk = FOLD::none();
#pragma unroll
        for (int j = 0; j < ITEMS; j++)
            if (first + j < row.end) chunk = FOLD::extend(chunk, of[j], first + j);
        return chunk;
    }
};

#if PARTS > 1
KERNEL(256) running_totals(Sources x, FOLD::Chunk *totals) {
    Row row;
    FOLD::Chunk total = FOLD::none();
    for (i64 tile = (i64)blockIdx.y * SIZE; tile < (i64)(blockIdx.y + 1) * SIZE; tile += LANES * ITEMS) {
        i64 first = tile + row.lane * ITEMS;
        FOLD::Chunk all;
        before_lane(Items(x, row, first).chunk(row, first), row.lane, all);
        total = FOLD::join(total, all);
    }
    if (row.lane == 0) totals[row.number * PARTS + blockIdx.y] = total;
}
#endif

KERNEL(256) running(Sources x, T *y, i64 *places, const FOLD::Chunk *totals, FOLD::Chunk *products) {
    static_assert(PARTS == 1 || sizeof(FOLD::Chunk) <= 32, "there are 32 bytes for a total");
    Row row;
    FOLD::State state = FOLD::start();
    FOLD::Chunk all;
#if PARTS > 1
    before_lane(row.lane < blockIdx.y ? totals[row.number * PARTS + row.lane] : FOLD::none(), row.lane, all);
    state = FOLD::after(state, all);
#endif
    for (i64 tile = (i64)blockIdx.y * SIZE; tile < (i64)(blockIdx.y + 1) * SIZE; tile += LANES * ITEMS) {
        i64 first = tile + row.lane * ITEMS;
        Items items(x, row, first);
        FOLD::State own = state;
        if constexpr (LANES > 1) {
            own = FOLD::after(state, before_lane(items.chunk(row, first), row.lane, all));
            state = FOLD::after(state, all);
        }
#pragma unroll
        for (int j = 0; j < ITEMS; j++) {
            if (first + j >= row.end) break;
            i64 t = first + j, at = row.at(t);
#if OTHERS == 1
            products[at] = own;
#elif OTHERS == 2
            put(y, at, (Held)FOLD::coefficient(products[at], own, SETS - 1));
#endif
            own = FOLD::step(own, items.of[j], t);
#if !OTHERS
            put(y, at, FOLD::value(own));
#endif
#if PLACES
            places[at] = FOLD::place(own);
#endif
        }
        if constexpr (LANES == 1) state = own;
    }
}

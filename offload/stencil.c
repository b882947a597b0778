/* 3 × 3 stencil on a device: reads a once, writes b once, 17 flops an element.
 *
 * An element is started by its left column (a product and two fused additions), continued by its own and finished by
 * the right one: nine terms in the order of the coefficients, so that all ways below give the same bits.
 *
 * GPU: a warp makes 32 WIDE rows of TILE columns. A thread has WIDE neighbouring rows, one 16-byte access where the
 * matrices allow it (WIDE = 1 elsewhere); rows above and below come from the neighbouring lanes, those beyond the strip from
 * memory, by the strip's first and last lane. All TILE + 2 columns are asked for before the first is used; then they go by: each
 * finishes the column left of it, continues its own, starts the next. The two columns more and the rows beyond are
 * what the caches have from the neighbours. (Marching over many columns with a few in flight moves less through the caches, and
 * was slower: what counts is the bytes on their way.)
 *
 * CPU: threads share the columns; of blocks of BLOCK rows the columns next to be used again stay in the L2 cache. Rows
 * are computed LINE bytes at a time for AVX-512, AVX2 or neither, as the processor has them. Results larger than the caches
 * bypass them, or each line of b would be read before it is written.
 *
 * The file includes itself: for each type (REAL), and for each type's kernels (WIDE). */
#ifndef REAL

#include <omp.h>
#include <stdbool.h>
#include <string.h>

#include "offload/kernel/gpu.h"
#include "offload/runtime/launch.h"
#include "offload/stencil.h"
#include "src/base/arithmetic.h"
#include "src/base/cpu.h"

enum {
  TEAM = 128,      /* threads; a team is no more than warps launched together */
  TILE = 8,        /* columns of b that a thread makes */
  BLOCK = 1 << 14, /* rows */
  ABREAST = 6,     /* columns */
  LINE = 64
};

static const int64_t BYPASS_BYTES = 4 << 20;

/* Of the rows of a rectangle: those of b that are no border, and those of a that may be read. */
typedef struct extent {
  int64_t first, end, first_read, end_read;
} extent;

static inline extent extent_of(int64_t length, bool low_border, bool high_border) {
  return (extent){low_border, high_border ? length - 1 : length, low_border ? 0 : -1,
                  high_border ? length : length + 1};
}

/* Whether all columns of both matrices start at a multiple of 16 bytes. */
static bool is_aligned(const dvt_stencil *s, size_t element) {
  uintptr_t bits =
      (uintptr_t)s->a | (uintptr_t)s->b | (uintptr_t)s->lda * element | (uintptr_t)s->ldb * element;
  return bits % 16 == 0;
}

/* Ends a thread's stores that went round the caches: they keep no order with others. */
static inline void bypass_end(void) {
#ifdef DVT_CPU_X86
  __builtin_ia32_sfence();
#endif
}

#ifdef DVT_GPU
#define BODY KERNEL(tile)
#else
#define BODY no_body
/* Stands for the kernels' body where no GPU code is made, so that the region has the same arguments. */
static inline void no_body(const void *first, ...) {
  (void)first;
}
#endif

#define STRIP (32 * WIDE)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

#define REAL double
#define NAME(operation) d##operation
#define WIDE_ROWS 2
#include "offload/stencil.c"
#undef REAL
#undef NAME
#undef WIDE_ROWS
#define REAL float
#define NAME(operation) s##operation
#define WIDE_ROWS 4
#include "offload/stencil.c"

davit_status dvt_stream_stencil(dvt_stream *stream, const dvt_stencil *s) {
  return s->type == DAVIT_DOUBLE ? dstencil_stream(stream, s) : sstencil_stream(stream, s);
}

davit_status dvt_target_stencil(int device, const dvt_stencil *s) {
  if (s->type == DAVIT_DOUBLE)
    dstencil_target(device, s);
  else
    sstencil_target(device, s);
  return DAVIT_SUCCESS;
}

void dvt_cpu_stencil(const dvt_stencil *s, int threads) {
  if (s->type == DAVIT_DOUBLE)
    dstencil_cpu(s, threads);
  else
    sstencil_cpu(s, threads);
}

#elif !defined(WIDE) /* one type */

#ifdef DVT_GPU
DVT_DEFINE_SHUFFLE(REAL, NAME(shuffle))
#endif

#define WIDE WIDE_ROWS
#define KERNEL(operation) NAME(operation##_wide)
#include "offload/stencil.c"
#undef WIDE
#undef KERNEL
#define WIDE 1
#define KERNEL(operation) NAME(operation##_narrow)
#include "offload/stencil.c"
#undef WIDE
#undef KERNEL

static davit_status NAME(stencil_stream)(dvt_stream *stream, const dvt_stencil *s) {
  return is_aligned(s, sizeof(REAL)) ? NAME(launch_wide)(stream, s) : NAME(launch_narrow)(stream, s);
}

static void NAME(stencil_target)(int device, const dvt_stencil *s) {
  if (is_aligned(s, sizeof(REAL)))
    NAME(stencil_wide)(device, s);
  else
    NAME(stencil_narrow)(device, s);
}

/* ---- CPU ---- */

typedef REAL NAME(line) __attribute__((vector_size(LINE)));
typedef REAL NAME(loose_line) __attribute__((vector_size(LINE), aligned(sizeof(REAL))));

static inline __attribute__((always_inline)) REAL NAME(element)(const REAL *a, int64_t lda, const REAL *c) {
  REAL sum = c[0] * a[-1 - lda];
#pragma unroll
  for (int k = 1; k < 9; k++)
    sum = __builtin_elementwise_fma(c[k], a[k % 3 - 1 + (k / 3 - 1) * lda], sum);
  return sum;
}

typedef void (*NAME(inner_function))(const REAL *a, int64_t lda, const REAL *coefficients, REAL *b,
                                     int64_t ldb, int64_t rows, int64_t cols, bool bypass);

/* One line of b, which is aligned. */
static inline __attribute__((always_inline)) void NAME(one_line)(const REAL *a, int64_t lda, const REAL *c,
                                                                 REAL *b, bool bypass) {
  NAME(line) sum = c[0] * *(const NAME(loose_line) *)(a - 1 - lda);
#pragma unroll
  for (int k = 1; k < 9; k++)
    sum = __builtin_elementwise_fma(c[k] - (NAME(line)){0},
                                    *(const NAME(loose_line) *)(a + k % 3 - 1 + (k / 3 - 1) * lda), sum);
  if (bypass)
    __builtin_nontemporal_store(sum, (NAME(line) *)b);
  else
    *(NAME(line) *)b = sum;
}

/* Rows [0, rows) of `count` columns, a and b at the first; none of them is a border. The columns go side by side, as
 * memory is faster with several streams; each has its lines where b is aligned. */
static inline __attribute__((always_inline)) void NAME(side_by_side)(const REAL *a, int64_t lda,
                                                                     const REAL *c, REAL *b, int64_t ldb,
                                                                     int64_t rows, bool bypass,
                                                                     const int count) {
  enum { PER_LINE = LINE / sizeof(REAL) };
  int64_t head[ABREAST], lines = dvt_at_least(rows / PER_LINE - 1, 0);
  for (int k = 0; k < count; k++) {
    int64_t i = 0;
    for (; i < rows && (uintptr_t)(b + i + k * ldb) % LINE != 0; i++)
      b[i + k * ldb] = NAME(element)(a + i + k * lda, lda, c);
    head[k] = i;
  }
  for (int64_t i = 0; i < lines * PER_LINE; i += PER_LINE)
#pragma unroll
    for (int k = 0; k < count; k++)
      NAME(one_line)(a + head[k] + i + k * lda, lda, c, b + head[k] + i + k * ldb, bypass);
  for (int k = 0; k < count; k++)
    for (int64_t i = head[k] + lines * PER_LINE; i < rows; i++)
      b[i + k * ldb] = NAME(element)(a + i + k * lda, lda, c);
}

static inline __attribute__((always_inline)) void NAME(inner)(const REAL *a, int64_t lda,
                                                              const REAL *coefficients, REAL *b, int64_t ldb,
                                                              int64_t rows, int64_t cols, bool bypass) {
  REAL c[9]; /* which b cannot overlap */
  memcpy(c, coefficients, sizeof c);
  int64_t j = 0;
  for (; j + ABREAST <= cols; j += ABREAST)
    NAME(side_by_side)(a + j * lda, lda, c, b + j * ldb, ldb, rows, bypass, ABREAST);
  for (; j < cols; j++)
    NAME(side_by_side)(a + j * lda, lda, c, b + j * ldb, ldb, rows, bypass, 1);
}

#define VARIANT(number, attributes)                                                                          \
  attributes static void NAME(inner_##number)(const REAL *a, int64_t lda, const REAL *coefficients, REAL *b, \
                                              int64_t ldb, int64_t rows, int64_t cols, bool bypass) {        \
    NAME(inner)(a, lda, coefficients, b, ldb, rows, cols, bypass);                                           \
  }
DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT

/* Rows [first, end) of column j of b, which are borders. */
static void NAME(border)(const dvt_stencil *s, int64_t j, int64_t first, int64_t end) {
  REAL *to = (REAL *)s->b + j * s->ldb + first;
  if (first >= end || s->border == DAVIT_STENCIL_BORDER_UNTOUCHED)
    return;
  if (s->border == DAVIT_STENCIL_BORDER_COPY)
    memcpy(to, (const REAL *)s->a + j * s->lda + first, (size_t)(end - first) * sizeof *to);
  else
    memset(to, 0, (size_t)(end - first) * sizeof *to);
}

static void NAME(borders)(const dvt_stencil *s, extent down, extent across, int64_t j) {
  if (j < across.first || j >= across.end) {
    NAME(border)(s, j, 0, s->rows);
  } else {
    NAME(border)(s, j, 0, dvt_at_most(down.first, s->rows));
    NAME(border)(s, j, dvt_at_least(down.end, 0), s->rows);
  }
}

static void NAME(stencil_cpu)(const dvt_stencil *s, int threads) {
  static const NAME(inner_function) variants[] = {
#define VARIANT(number, attributes) NAME(inner_##number),
      DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT
  };
  NAME(inner_function) inner = variants[dvt_cpu_best()];
  REAL c[9];
  for (int k = 0; k < 9; k++)
    c[k] = (REAL)s->coefficients[k];
  extent down = extent_of(s->rows, s->edges & DVT_TOP, s->edges & DVT_BOTTOM);
  extent across = extent_of(s->cols, s->edges & DVT_LEFT, s->edges & DVT_RIGHT);
  bool bypass = s->rows * s->cols > BYPASS_BYTES / (int64_t)sizeof(REAL);
  const REAL *a = s->a;
  REAL *b = s->b;
#pragma omp parallel num_threads(threads)
  {
    int64_t each = dvt_divide_up(s->cols, omp_get_num_threads()), begin = omp_get_thread_num() * each;
    int64_t end = dvt_at_most(begin + each, s->cols), first = dvt_at_least(begin, across.first);
    for (int64_t i = down.first; i < down.end; i += BLOCK)
      inner(a + i + first * s->lda, s->lda, c, b + i + first * s->ldb, s->ldb,
            dvt_at_most(down.end - i, BLOCK), dvt_at_most(end, across.end) - first, bypass);
    for (int64_t j = begin; j < end; j++)
      NAME(borders)(s, down, across, j);
    bypass_end();
  }
}

#else /* the kernels of one type with WIDE rows a thread */

#ifdef DVT_GPU
typedef REAL KERNEL(vector) __attribute__((vector_size(WIDE * sizeof(REAL))));

/* A thread's part of a column: its own rows; for the first and last lane the row beyond the strip. */
typedef struct KERNEL(piece) {
  REAL own[WIDE], beyond;
} KERNEL(piece);

/* What a thread may touch, rows counted from its first. */
typedef struct KERNEL(reach) {
  int end_read, end, first_inner, end_inner, beyond;
  bool reads_beyond;
} KERNEL(reach);

static inline KERNEL(reach) KERNEL(reach_of)(int64_t row, extent down, int64_t rows, int lane) {
  KERNEL(reach) r;
  r.end_read = (int)dvt_at_most(down.end_read - row, WIDE);
  r.end = (int)dvt_at_most(rows - row, WIDE);
  r.first_inner = (int)dvt_at_least(down.first - row, 0);
  r.end_inner = (int)dvt_at_most(down.end - row, WIDE);
  r.beyond = lane == 0 ? -1 : WIDE;
  r.reads_beyond = (lane == 0 && row > down.first_read) || (lane == 31 && row + WIDE < down.end_read);
  return r;
}

static inline void KERNEL(bring_own)(KERNEL(piece) * piece, const REAL *at, KERNEL(reach) r) {
  if (r.end_read == WIDE) {
    KERNEL(vector) whole = *(const KERNEL(vector) *)at;
#pragma unroll
    for (int k = 0; k < WIDE; k++)
      piece->own[k] = whole[k];
  } else {
#pragma unroll
    for (int k = 0; k < WIDE; k++)
      piece->own[k] = k < r.end_read ? at[k] : 0;
  }
}

static inline void KERNEL(bring_beyond)(KERNEL(piece) * piece, const REAL *at, KERNEL(reach) r) {
  piece->beyond = r.reads_beyond ? at[r.beyond] : 0;
}

static inline void KERNEL(store)(REAL *at, const REAL *sum, KERNEL(reach) r) {
  if (r.first_inner == 0 && r.end_inner == WIDE) {
    KERNEL(vector) whole;
#pragma unroll
    for (int k = 0; k < WIDE; k++)
      whole[k] = sum[k];
    *(KERNEL(vector) *)at = whole;
  } else {
#pragma unroll
    for (int k = 0; k < WIDE; k++)
      if (k >= r.first_inner && k < r.end_inner)
        at[k] = sum[k];
  }
}

/* The borders among a thread's rows of a column: all of them if the column is one. */
static inline void KERNEL(store_border)(REAL *at, const REAL *own, KERNEL(reach) r, bool whole, bool zero) {
#pragma unroll
  for (int k = 0; k < WIDE; k++)
    if (k < r.end && (whole || k < r.first_inner || k >= r.end_inner))
      at[k] = zero ? 0 : own[k];
}

/* A column goes by: `sum` of the column left of it is finished, that of its own continued, the next started. */
static inline void KERNEL(pass)(const KERNEL(piece) * now, int lane, const REAL *c, REAL *finished,
                                REAL *continued, REAL *started) {
  REAL window[WIDE + 2];
  REAL above = NAME(shuffle)(now->own[WIDE - 1], lane - 1), below = NAME(shuffle)(now->own[0], lane + 1);
  window[0] = lane == 0 ? now->beyond : above;
  window[WIDE + 1] = lane == 31 ? now->beyond : below;
#pragma unroll
  for (int k = 0; k < WIDE; k++)
    window[k + 1] = now->own[k];
#pragma unroll
  for (int k = 0; k < WIDE; k++) {
    const REAL *w = window + k;
    finished[k] = __builtin_elementwise_fma(
        c[8], w[2],
        __builtin_elementwise_fma(c[7], w[1], __builtin_elementwise_fma(c[6], w[0], continued[k])));
    continued[k] = __builtin_elementwise_fma(
        c[5], w[2], __builtin_elementwise_fma(c[4], w[1], __builtin_elementwise_fma(c[3], w[0], started[k])));
    started[k] = __builtin_elementwise_fma(c[2], w[2], __builtin_elementwise_fma(c[1], w[1], c[0] * w[0]));
  }
}

/* Where a warp's tile lies. */
typedef struct KERNEL(place) {
  int64_t row, begin; /* the thread's first, the tile's first column */
  extent down, across;
  int lane;
} KERNEL(place);

/* A tile whose rows and columns are no borders, and whose neighbours may all be read. */
static inline void KERNEL(inner_tile)(const REAL *a, int64_t lda, REAL *b, int64_t ldb, int lane,
                                      const REAL *c) {
  KERNEL(piece) column[TILE + 2];
  REAL started[WIDE] = {0}, continued[WIDE] = {0}, finished[WIDE];
  const KERNEL(reach) all = {.end_read = WIDE,
                             .end = WIDE,
                             .end_inner = WIDE,
                             .beyond = lane == 0 ? -1 : WIDE,
                             .reads_beyond = lane == 0 || lane == 31};
#pragma unroll
  for (int u = 0; u < TILE + 2; u++)
    KERNEL(bring_own)(&column[u], a + u * lda, all);
#pragma unroll
  for (int u = 0; u < TILE + 2; u++)
    KERNEL(bring_beyond)(&column[u], a + u * lda, all);
#pragma unroll
  for (int u = 0; u < TILE + 2; u++) {
    KERNEL(pass)(&column[u], lane, c, finished, continued, started);
    if (u >= 2)
      KERNEL(store)(b + (u - 2) * ldb, finished, all);
  }
}

/* Any tile. */
static inline void KERNEL(outer_tile)(const REAL *a, int64_t lda, REAL *b, int64_t ldb, int64_t rows,
                                      int64_t cols, const KERNEL(place) * at, int64_t border, const REAL *c) {
  const KERNEL(reach) r = KERNEL(reach_of)(at->row, at->down, rows, at->lane);
  const extent across = at->across;
  const bool has_border =
      border != DAVIT_STENCIL_BORDER_UNTOUCHED && (r.first_inner > 0 || r.end_inner < r.end);
  REAL started[WIDE] = {0}, continued[WIDE] = {0}, finished[WIDE];
  KERNEL(piece) column[TILE + 2];
#pragma unroll
  for (int u = 0; u < TILE + 2; u++) {
    const int64_t j = at->begin - 1 + u;
    column[u] = (KERNEL(piece)){{0}, 0};
    if (j >= across.first_read && j < across.end_read) {
      KERNEL(bring_own)(&column[u], a + u * lda, r);
      KERNEL(bring_beyond)(&column[u], a + u * lda, r);
    }
  }
#pragma unroll
  for (int u = 0; u < TILE + 2; u++) {
    const int64_t j = at->begin - 1 + u; /* whose passing finishes column j - 1 */
    KERNEL(pass)(&column[u], at->lane, c, finished, continued, started);
    if (u >= 2 && j > across.first && j <= across.end)
      KERNEL(store)(b + (u - 2) * ldb, finished, r);
    const bool border_column =
        border != DAVIT_STENCIL_BORDER_UNTOUCHED && (j < across.first || j >= across.end);
    if (u >= 1 && u <= TILE && (has_border || border_column) && j < cols)
      KERNEL(store_border)(b + (u - 1) * ldb, column[u].own, r, border_column,
                           border == DAVIT_STENCIL_BORDER_ZERO);
  }
}

static inline void KERNEL(tile)(const REAL *a, int64_t lda, REAL *b, int64_t ldb, int64_t rows, int64_t cols,
                                int64_t edges, int64_t border, double c0, double c1, double c2, double c3,
                                double c4, double c5, double c6, double c7, double c8) {
  const REAL c[9] = {(REAL)c0, (REAL)c1, (REAL)c2, (REAL)c3, (REAL)c4,
                     (REAL)c5, (REAL)c6, (REAL)c7, (REAL)c8};
  const int64_t strips = (rows + STRIP - 1) / STRIP, bands = (strips + TEAM / 32 - 1) / (TEAM / 32);
  const int64_t strip = dvt_team() % bands * (TEAM / 32) + dvt_thread() / 32, top = strip * STRIP;
  if (strip >= strips)
    return;
  const int lane = dvt_lane_number();
  const KERNEL(place) at = {.row = top + lane * WIDE,
                            .begin = dvt_team() / bands * TILE,
                            .down = extent_of(rows, edges & DVT_TOP, edges & DVT_BOTTOM),
                            .across = extent_of(cols, edges & DVT_LEFT, edges & DVT_RIGHT),
                            .lane = lane};
  a += at.row + (at.begin - 1) * lda;
  b += at.row + at.begin * ldb;
  if (top >= at.down.first && top + STRIP <= at.down.end && at.begin >= at.across.first &&
      at.begin + TILE <= at.across.end)
    KERNEL(inner_tile)(a, lda, b, ldb, lane, c);
  else
    KERNEL(outer_tile)(a, lda, b, ldb, rows, cols, &at, border, c);
}
#endif

static int64_t KERNEL(teams)(const dvt_stencil *s) {
  return dvt_divide_up(dvt_divide_up(s->rows, STRIP), TEAM / 32) * dvt_divide_up(s->cols, TILE);
}

static void KERNEL(stencil)(int device, const dvt_stencil *s) {
  int teams = (int)KERNEL(teams)(s);
  const REAL *a = s->a;
  REAL *b = s->b;
  int64_t lda = s->lda, ldb = s->ldb, rows = s->rows, cols = s->cols, edges = s->edges, border = s->border;
  double c0 = s->coefficients[0], c1 = s->coefficients[1], c2 = s->coefficients[2];
  double c3 = s->coefficients[3], c4 = s->coefficients[4], c5 = s->coefficients[5];
  double c6 = s->coefficients[6], c7 = s->coefficients[7], c8 = s->coefficients[8];
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(TEAM) device(device) is_device_ptr(a, b)
  {
    BODY(a, lda, b, ldb, rows, cols, edges, border, c0, c1, c2, c3, c4, c5, c6, c7, c8);
  }
}

static davit_status KERNEL(launch)(dvt_stream *stream, const dvt_stencil *s) {
  static dvt_kernel kernel = {.function = TEXT(KERNEL(stencil))};
  dvt_argument arguments[17] = {dvt_pointer_argument(s->a),     dvt_integer_argument(s->lda),
                                dvt_pointer_argument(s->b),     dvt_integer_argument(s->ldb),
                                dvt_integer_argument(s->rows),  dvt_integer_argument(s->cols),
                                dvt_integer_argument(s->edges), dvt_integer_argument(s->border)};
  for (int k = 0; k < 9; k++)
    arguments[8 + k] = dvt_double_argument(s->coefficients[k]);
  return dvt_launch(&kernel, stream, KERNEL(teams)(s), TEAM, 0, arguments, 17);
}

#endif

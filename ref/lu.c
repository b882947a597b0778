/* SPDX-License-Identifier: Apache-2.0 */
/* LU factorisation on the CPU: halves of the columns, whose products are BLIS's, down to panels that are done column by
 * column (Toledo, "Locality of reference in LU decomposition with partial pivoting", SIAM J. Matrix Anal. Appl. 18,
 * 1997). */
#include "ref/lu.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "offload/kernel/threads.h"
#include "src/base/allocate.h"
#include "src/base/cpu.h"

enum {
  PANEL = 16,   /* columns; about as fast from 8 to 32 */
  ROWS = 512,   /* of a column, which are updated at a time */
  ALONE = 4096, /* rows for each thread of a panel; threads wait for each other longer than fewer take */
  TEAM = 8,     /* threads of a panel at most */
  LANES = 16
};

/* Threads for so many shares of work. */
static int team_of(int64_t shares, int threads) {
  return shares < 1 ? 1 : shares < threads ? (int)shares : threads;
}

/* ---- panels ---- */

/* The pivot that a thread proposes. */
typedef struct candidate {
  double size;
  int64_t row;
} candidate;

typedef struct panel {
  int64_t m, n;
  void *a;
  int64_t ld;
  int *ipiv, *info;
  candidate *found; /* one of each thread */
} panel;

/* Complex numbers are divided without overflow; from the pragma on they are multiplied as BLAS does, without more. */
#define DEFINE(name, T)                                                                                      \
  static T reciprocal_##name(T x) {                                                                          \
    return 1 / x;                                                                                            \
  }                                                                                                          \
                                                                                                             \
  static void divide_##name(int64_t n, T *x, T divisor) {                                                    \
    for (int64_t i = 0; i < n; i++)                                                                          \
      x[i] /= divisor;                                                                                       \
  }
DEFINE(double, double)
DEFINE(float, float)
DEFINE(complex_double, double _Complex)
DEFINE(complex_float, float _Complex)
#undef DEFINE

#pragma STDC CX_LIMITED_RANGE ON

/* Column j is updated by the columns before it, once it is reached. Each thread has a share of the rows; all solve for
 * the rows above the diagonal, `upper`. While the others wait, the first one writes these and brings the pivot into its
 * place. */
#define DEFINE(name, T, R, SIZE, NORMAL)                                                                     \
  DVT_CPU_INLINE void subtract_##name(int64_t m, int64_t k, const T *restrict l, int64_t ld, const T *u,     \
                                      T *restrict c) {                                                       \
    for (; k >= 4; k -= 4, l += 4 * ld, u += 4) {                                                            \
      const T u0 = u[0], u1 = u[1], u2 = u[2], u3 = u[3];                                                    \
      for (int64_t i = 0; i < m; i++)                                                                        \
        c[i] -= l[i] * u0 + l[i + ld] * u1 + l[i + 2 * ld] * u2 + l[i + 3 * ld] * u3;                        \
    }                                                                                                        \
    for (; k > 0; k--, l += ld, u++) {                                                                       \
      const T u0 = u[0];                                                                                     \
      for (int64_t i = 0; i < m; i++)                                                                        \
        c[i] -= l[i] * u0;                                                                                   \
    }                                                                                                        \
  }                                                                                                          \
                                                                                                             \
  DVT_CPU_INLINE R largest_##name(int64_t m, const T *c) {                                                   \
    R lanes[LANES], most = -1;                                                                               \
    int64_t i = 0;                                                                                           \
    for (int lane = 0; lane < LANES; lane++)                                                                 \
      lanes[lane] = -1;                                                                                      \
    for (; i + LANES <= m; i += LANES)                                                                       \
      for (int lane = 0; lane < LANES; lane++) {                                                             \
        const R size = SIZE(c[i + lane]);                                                                    \
        lanes[lane] = size > lanes[lane] ? size : lanes[lane];                                               \
      }                                                                                                      \
    for (; i < m; i++)                                                                                       \
      most = SIZE(c[i]) > most ? SIZE(c[i]) : most;                                                          \
    for (int lane = 0; lane < LANES; lane++)                                                                 \
      most = lanes[lane] > most ? lanes[lane] : most;                                                        \
    return most;                                                                                             \
  }                                                                                                          \
                                                                                                             \
  /* Rows begin … end - 1 of column j; a NaN on the diagonal is the largest. */                              \
  DVT_CPU_INLINE candidate update_##name(const panel *p, int64_t j, int64_t begin, int64_t end,              \
                                         const T *upper) {                                                   \
    const T *l = p->a;                                                                                       \
    T *c = (T *)p->a + j * p->ld;                                                                            \
    R most = -1;                                                                                             \
    int64_t row = begin;                                                                                     \
    for (int64_t first = begin; first < end; first += ROWS) {                                                \
      const int64_t rows = end - first < ROWS ? end - first : ROWS;                                          \
      subtract_##name(rows, j, l + first, p->ld, upper, c + first);                                          \
      const R size = largest_##name(rows, c + first);                                                        \
      if (size > most)                                                                                       \
        most = size, row = first;                                                                            \
    }                                                                                                        \
    if (begin == j && begin < end && isnan(SIZE(c[j])))                                                      \
      return (candidate){(double)INFINITY, j};                                                               \
    while (most >= 0 && SIZE(c[row]) != most)                                                                \
      row++;                                                                                                 \
    return (candidate){most, row};                                                                           \
  }                                                                                                          \
                                                                                                             \
  static void choose_##name(const panel *p, int team, int64_t j, const T *upper) {                           \
    T *a = p->a, *c = a + j * p->ld;                                                                         \
    const candidate *best = p->found;                                                                        \
    for (int thread = 1; thread < team; thread++)                                                            \
      if (p->found[thread].size > best->size)                                                                \
        best = p->found + thread;                                                                            \
    memcpy(c, upper, (size_t)j * sizeof *c);                                                                 \
    p->ipiv[j] = (int)best->row + 1;                                                                         \
    if (best->size == 0 && *p->info == 0)                                                                    \
      *p->info = (int)j + 1;                                                                                 \
    for (int64_t k = 0; k < p->n; k++) {                                                                     \
      const T before = a[j + k * p->ld];                                                                     \
      a[j + k * p->ld] = a[best->row + k * p->ld];                                                           \
      a[best->row + k * p->ld] = before;                                                                     \
    }                                                                                                        \
  }                                                                                                          \
                                                                                                             \
  DVT_CPU_INLINE void inline_##name(int thread, int team, const panel *p) {                                  \
    const int64_t end = dvt_share_begin(p->m, thread + 1, team);                                             \
    int64_t begin = dvt_share_begin(p->m, thread, team);                                                     \
    for (int64_t j = 0; j < p->n; j++) {                                                                     \
      const T *l = p->a;                                                                                     \
      T *c = (T *)p->a + j * p->ld, upper[PANEL];                                                            \
      memcpy(upper, c, (size_t)j * sizeof *c);                                                               \
      for (int64_t k = 0; k < j; k++)                                                                        \
        for (int64_t i = k + 1; i < j; i++)                                                                  \
          upper[i] -= l[i + k * p->ld] * upper[k];                                                           \
      begin = begin > j ? begin : j;                                                                         \
      p->found[thread] = update_##name(p, j, begin, end, upper);                                             \
      dvt_meet(team);                                                                                        \
      if (thread == 0)                                                                                       \
        choose_##name(p, team, j, upper);                                                                    \
      dvt_meet(team);                                                                                        \
      begin = begin > j + 1 ? begin : j + 1;                                                                 \
      if (c[j] == 0)                                                                                         \
        continue;                                                                                            \
      if (SIZE(c[j]) < NORMAL) {                                                                             \
        divide_##name(end - begin, c + begin, c[j]);                                                         \
        continue;                                                                                            \
      }                                                                                                      \
      const T factor = reciprocal_##name(c[j]);                                                              \
      for (int64_t i = begin; i < end; i++)                                                                  \
        c[i] *= factor;                                                                                      \
    }                                                                                                        \
  }                                                                                                          \
  DVT_CPU_DISPATCH(void, panel_##name, inline_##name, (int thread, int team, const void *panel),             \
                   (thread, team, panel))
#define CABS1(x) (fabs(__real__(x)) + fabs(__imag__(x)))
#define CABS1F(x) (fabsf(__real__(x)) + fabsf(__imag__(x)))
DEFINE(double, double, double, fabs, DBL_MIN)
DEFINE(float, float, float, fabsf, FLT_MIN)
DEFINE(complex_double, double _Complex, double, CABS1, DBL_MIN)
DEFINE(complex_float, float _Complex, float, CABS1F, FLT_MIN)
#undef DEFINE

static int factor_panel(davit_type type, int threads, panel p) {
  static dvt_part *const by_type[DAVIT_TYPE_COUNT] = {[DAVIT_DOUBLE] = panel_double,
                                                      [DAVIT_FLOAT] = panel_float,
                                                      [DAVIT_COMPLEX_DOUBLE] = panel_complex_double,
                                                      [DAVIT_COMPLEX_FLOAT] = panel_complex_float};
  candidate found[TEAM];
  int info = 0;
  p.info = &info;
  p.found = found;
  dvt_on_threads(team_of(p.m / ALONE, threads < TEAM ? threads : TEAM), by_type[type], &p);
  return info;
}

/* ---- rows in a new order ---- */

int64_t dvt_pivots_to_rows(const int *ipiv, int64_t first, int64_t base, int64_t count, int64_t rows,
                           int *scratch, int *to, int *from) {
  (void)rows;
  int64_t pairs = 0;
  for (int64_t j = 0; j < count; j++) {
    const int64_t other = ipiv[j] - 1 + base;
    scratch[first + j] = (int)(first + j);
    scratch[other] = (int)other;
  }
  for (int64_t j = 0; j < count; j++) {
    const int64_t row = first + j, other = ipiv[j] - 1 + base;
    const int upper = scratch[row];
    scratch[row] = scratch[other];
    scratch[other] = upper;
  }
  for (int64_t j = 0; j < 2 * count; j++) { /* a row that is listed stays from now on */
    const int64_t row = j < count ? first + j : ipiv[j - count] - 1 + base;
    if (scratch[row] != row) {
      to[pairs] = (int)row;
      from[pairs++] = scratch[row];
      scratch[row] = (int)row;
    }
  }
  return pairs;
}

/* Rows in the order of `to` and `from` or, with ipiv, rows 0 … count - 1 exchanged with those of the pivots. */
typedef struct columns {
  const dvt_permute *g;
  const int *ipiv;
  char *room; /* for `count` elements of each thread */
} columns;

/* Rows of the next column are fetched meanwhile, which takes longer than the exchanges themselves. */
#define DEFINE(name, T)                                                                                      \
  static void exchange_##name(const dvt_permute *g, const int *ipiv, int64_t begin, int64_t end) {           \
    for (int64_t j = begin; j < end; j++) {                                                                  \
      T *column = (T *)g->a + j * g->lda, *next = j + 1 < end ? column + g->lda : column;                    \
      for (int64_t i = 0; i < g->count; i++) {                                                               \
        const T before = column[i];                                                                          \
        column[i] = column[ipiv[i] - 1];                                                                     \
        column[ipiv[i] - 1] = before;                                                                        \
        __builtin_prefetch(next + ipiv[i] - 1, 1);                                                           \
      }                                                                                                      \
    }                                                                                                        \
  }                                                                                                          \
                                                                                                             \
  static void permute_##name(const dvt_permute *g, int64_t begin, int64_t end, T *room) {                    \
    for (int64_t j = begin; j < end; j++) {                                                                  \
      T *column = (T *)g->a + j * g->lda, *next = j + 1 < end ? column + g->lda : column;                    \
      for (int64_t i = 0; i < g->count; i++) {                                                               \
        room[i] = column[g->from[i]];                                                                        \
        __builtin_prefetch(next + g->from[i], 1);                                                            \
      }                                                                                                      \
      for (int64_t i = 0; i < g->count; i++)                                                                 \
        column[g->to[i]] = room[i];                                                                          \
    }                                                                                                        \
  }                                                                                                          \
                                                                                                             \
  static void columns_##name(int thread, int team, const void *arguments) {                                  \
    const columns *p = arguments;                                                                            \
    const int64_t begin = dvt_share_begin(p->g->n, thread, team),                                            \
                  end = dvt_share_begin(p->g->n, thread + 1, team);                                          \
    if (p->ipiv)                                                                                             \
      exchange_##name(p->g, p->ipiv, begin, end);                                                            \
    else                                                                                                     \
      permute_##name(p->g, begin, end, (T *)p->room + thread * p->g->count);                                 \
  }
DEFINE(double, double)
DEFINE(float, float)
DEFINE(complex_double, double _Complex)
DEFINE(complex_float, float _Complex)
#undef DEFINE

static void move(const dvt_permute *g, int threads, const int *ipiv, void *room) {
  static dvt_part *const by_type[DAVIT_TYPE_COUNT] = {[DAVIT_DOUBLE] = columns_double,
                                                      [DAVIT_FLOAT] = columns_float,
                                                      [DAVIT_COMPLEX_DOUBLE] = columns_complex_double,
                                                      [DAVIT_COMPLEX_FLOAT] = columns_complex_float};
  const int64_t share = 1 << 15; /* elements of a thread; fewer are faster on one */
  dvt_on_threads(team_of(g->n * g->count / share, threads), by_type[g->type], &(columns){g, ipiv, room});
}

davit_status dvt_permute_host(const dvt_site *site, const void *permute) {
  const dvt_permute *g = permute;
  if (g->n == 0 || g->count == 0)
    return DAVIT_SUCCESS;
  const int threads = dvt_ref_threads(site->threads);
  void *room = dvt_allocate_raw((size_t)threads * (size_t)g->count * davit_type_bytes(g->type));
  if (!room)
    return DAVIT_OUT_OF_HOST_MEMORY;
  move(g, threads, NULL, room);
  free(room);
  return DAVIT_SUCCESS;
}

/* ---- halves ---- */

/* A matrix in its column-major place, with what stays the same throughout. */
typedef struct lu {
  const dvt_site *site;
  int threads; /* of panels and exchanges */
  davit_type type;
  int64_t ld;
} lu;

static davit_status run(const lu *f, dvt_level3 step) {
  return dvt_level3_host(f->site, &step);
}

static void *at(const lu *f, void *a, int64_t i, int64_t j) {
  return (char *)a + (size_t)(i + j * f->ld) * davit_type_bytes(f->type);
}

static void exchange(const lu *f, int64_t n, void *a, int64_t count, const int *ipiv) {
  move(&(dvt_permute){.type = f->type, .n = n, .a = a, .lda = f->ld, .count = count}, f->threads, ipiv, NULL);
}

/* The rows of U to the right of a factored block: `columns` columns of them. */
static davit_status solve(const lu *f, int64_t n, const void *block, int64_t columns, const int *ipiv,
                          void *right) {
  exchange(f, columns, right, n, ipiv);
  return run(f, dvt_solve_left(f->type, 'L', 'N', 'U', n, columns, block, f->ld, right, f->ld));
}

/* n <= m */
static davit_status factor(const lu *f, int64_t m, int64_t n, void *a, int *ipiv, int *info) {
  if (n <= PANEL) {
    *info = factor_panel(f->type, f->threads, (panel){.m = m, .n = n, .a = a, .ld = f->ld, .ipiv = ipiv});
    return DAVIT_SUCCESS;
  }
  const int64_t first = n / 2 < PANEL ? n / 2 : n / 2 / PANEL * PANEL, rest = n - first;
  void *right = at(f, a, 0, first), *below = at(f, a, first, 0), *open = at(f, a, first, first);
  int later = 0;
  DVT_TRY(factor(f, m, first, a, ipiv, info));
  DVT_TRY(solve(f, first, a, rest, ipiv, right));
  DVT_TRY(run(f, dvt_subtract_product(f->type, 'N', 'N', m - first, rest, first, below, f->ld, right, f->ld,
                                      open, f->ld)));
  DVT_TRY(factor(f, m - first, rest, open, ipiv + first, &later));
  exchange(f, first, below, rest, ipiv + first);
  for (int64_t j = first; j < n; j++)
    ipiv[j] += (int)first;
  if (*info == 0 && later)
    *info = later + (int)first;
  return DAVIT_SUCCESS;
}

davit_status dvt_getrf_host(const dvt_site *site, const void *getrf) {
  const dvt_getrf *p = getrf;
  const lu f = {site, dvt_ref_threads(site->threads), p->type, p->lda};
  const int64_t order = p->m < p->n ? p->m : p->n;
  int info = 0;
  DVT_TRY(factor(&f, p->m, order, p->a, p->ipiv, &info));
  if (p->n > order)
    DVT_TRY(solve(&f, order, p->a, p->n - order, p->ipiv, at(&f, p->a, 0, order)));
  *p->info = info;
  return DAVIT_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* LU factorisation on the CPU: halves of the columns, whose products are BLIS's, down to panels that are done column by
 * column (Toledo, "Locality of reference in LU decomposition with partial pivoting", SIAM J. Matrix Anal. Appl. 18,
 * 1997). */
#include "ref/lu.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "offload/kernel/threads.h"
#include "src/base/allocate.h"
#include "src/base/cpu.h"

#ifndef PANEL_N
#define PANEL_N 16
#endif
enum {
  PANEL = PANEL_N, /* columns */
  ROWS = 512  /* of a column that are updated at a time */
};

/* ---- panels ---- */

#define RECIPROCAL(name, T)                                                                                  \
  static T reciprocal_##name(T x) {                                                                          \
    return 1 / x;                                                                                            \
  }
RECIPROCAL(double, double)
RECIPROCAL(float, float)
RECIPROCAL(complex_double, double _Complex)
RECIPROCAL(complex_float, float _Complex)

#pragma STDC CX_LIMITED_RANGE ON

#define DEFINE(name, T, R, SIZE, NORMAL)                                                                     \
  /* c -= L u */                                                                                             \
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
    for (int lane = 0; lane < LANES; lane++)                                                                 \
      lanes[lane] = -1;                                                                                      \
    int64_t i = 0;                                                                                           \
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
  DVT_CPU_INLINE int64_t pivot_##name(int64_t m, int64_t j, const T *l, int64_t ld, T *c) {                  \
    for (int64_t k = 0; k < j; k++)                                                                          \
      for (int64_t i = k + 1; i < j; i++)                                                                    \
        c[i] -= l[i + k * ld] * c[k];                                                                        \
    R best = -1;                                                                                             \
    int64_t pivot = j;                                                                                       \
    for (int64_t first = j; first < m; first += ROWS) {                                                      \
      const int64_t rows = m - first < ROWS ? m - first : ROWS;                                              \
      subtract_##name(rows, j, l + first, ld, c, c + first);                                                 \
      const R size = largest_##name(rows, c + first);                                                        \
      if (size > best)                                                                                       \
        best = size, pivot = first;                                                                          \
    }                                                                                                        \
    if (isnan(SIZE(c[j])))                                                                                   \
      return j;                                                                                              \
    while (SIZE(c[pivot]) != best)                                                                           \
      pivot++;                                                                                               \
    return pivot;                                                                                            \
  }                                                                                                          \
                                                                                                             \
  DVT_CPU_INLINE int panel_inline_##name(int64_t m, int64_t n, T *a, int64_t ld, int *ipiv) {                \
    int info = 0;                                                                                            \
    for (int64_t j = 0; j < n; j++) {                                                                        \
      T *c = a + j * ld;                                                                                     \
      const int64_t pivot = pivot_##name(m, j, a, ld, c);                                                    \
      ipiv[j] = (int)pivot + 1;                                                                              \
      const T value = c[pivot];                                                                              \
      if (value == 0) {                                                                                      \
        info = info ? info : (int)j + 1;                                                                     \
        continue;                                                                                            \
      }                                                                                                      \
      for (int64_t k = 0; k < n; k++) {                                                                      \
        const T upper = a[j + k * ld];                                                                       \
        a[j + k * ld] = a[pivot + k * ld];                                                                   \
        a[pivot + k * ld] = upper;                                                                           \
      }                                                                                                      \
      if (SIZE(value) < NORMAL) {                                                                            \
        for (int64_t i = j + 1; i < m; i++)                                                                  \
          c[i] /= value;                                                                                     \
        continue;                                                                                            \
      }                                                                                                      \
      const T factor = reciprocal_##name(value);                                                             \
      for (int64_t i = j + 1; i < m; i++)                                                                    \
        c[i] *= factor;                                                                                      \
    }                                                                                                        \
    return info;                                                                                             \
  }                                                                                                          \
  DVT_CPU_DISPATCH(int, panel_##name, panel_inline_##name,                                                   \
                   (int64_t m, int64_t n, void *a, int64_t ld, int *ipiv), (m, n, a, ld, ipiv))
enum { LANES = 16 };
#define CABS1(x) (fabs(__real__(x)) + fabs(__imag__(x)))
#define CABS1F(x) (fabsf(__real__(x)) + fabsf(__imag__(x)))
DEFINE(double, double, double, fabs, DBL_MIN)
DEFINE(float, float, float, fabsf, FLT_MIN)
DEFINE(complex_double, double _Complex, double, CABS1, DBL_MIN)
DEFINE(complex_float, float _Complex, float, CABS1F, FLT_MIN)
#undef DEFINE

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

typedef struct permuting {
  const dvt_permute *g;
  char *rows; /* room for `count` elements of each thread */
} permuting;

#define DEFINE(bytes, T)                                                                                     \
  static void permute_##bytes(const dvt_permute *g, int64_t begin, int64_t end, void *room) {                \
    T *rows = room;                                                                                          \
    for (int64_t j = begin; j < end; j++) {                                                                  \
      T *column = (T *)g->a + j * g->lda;                                                                    \
      for (int64_t i = 0; i < g->count; i++)                                                                 \
        rows[i] = column[g->from[i]];                                                                        \
      for (int64_t i = 0; i < g->count; i++)                                                                 \
        column[g->to[i]] = rows[i];                                                                          \
    }                                                                                                        \
  }
DEFINE(4, float)
DEFINE(8, double)
DEFINE(16, double _Complex)
#undef DEFINE

static void permute_part(int thread, int team, const void *arguments) {
  const permuting *p = arguments;
  const dvt_permute *g = p->g;
  const size_t bytes = davit_type_bytes(g->type);
  const int64_t begin = dvt_share_begin(g->n, thread, team), end = dvt_share_begin(g->n, thread + 1, team);
  (bytes == 4   ? permute_4
   : bytes == 8 ? permute_8
                : permute_16)(g, begin, end, p->rows + (size_t)thread * (size_t)g->count * bytes);
}

static void permute(const dvt_permute *g, int threads, void *room) {
  const int64_t worth = 1 << 15; /* elements; fewer are faster on one thread */
  const int64_t wanted = g->n * g->count / worth;
  dvt_on_threads(wanted < 1 ? 1 : wanted < threads ? (int)wanted : threads, permute_part,
                 &(permuting){g, room});
}

davit_status dvt_permute_host(const dvt_site *site, const void *permute_) {
  const dvt_permute *g = permute_;
  if (g->n == 0 || g->count == 0)
    return DAVIT_SUCCESS;
  const int threads = dvt_ref_threads(site->threads);
  void *room = dvt_allocate_raw((size_t)threads * (size_t)g->count * davit_type_bytes(g->type));
  if (!room)
    return DAVIT_OUT_OF_HOST_MEMORY;
  permute(g, threads, room);
  free(room);
  return DAVIT_SUCCESS;
}

/* ---- halves ---- */

typedef struct lu {
  const dvt_site *site;
  davit_type type;
  int64_t lda, rows;
  int *scratch, *to, *from;
} lu;

static davit_status run(const lu *f, dvt_level3 step) {
  dvt_site some = *f->site;
  some.threads = dvt_level3_threads(2.0 * (double)step.m * (double)step.n * (double)step.k, some.threads);
  return dvt_level3_host(&some, &step);
}

static char *at(const lu *f, void *a, int64_t i, int64_t j) {
  return (char *)a + (size_t)(i + j * f->lda) * davit_type_bytes(f->type);
}

static davit_status exchange(const lu *f, int64_t n, void *a, int64_t count, const int *ipiv) {
#ifdef DIRECT
  for (int64_t c = 0; c < n; c++) {
    double *x = (double *)a + c * f->lda;
    for (int64_t j = 0; j < count; j++) {
      const double t = x[j];
      x[j] = x[ipiv[j] - 1];
      x[ipiv[j] - 1] = t;
    }
  }
  return DAVIT_SUCCESS;
#endif
  const int64_t pairs = dvt_pivots_to_rows(ipiv, 0, 0, count, f->rows, f->scratch, f->to, f->from);
  return dvt_permute_host(f->site, &(dvt_permute){f->type, n, a, f->lda, pairs, f->to, f->from});
}

/* The rows of U beside a factored block of n columns. */
static davit_status solve(const lu *f, int64_t n, void *block, int64_t columns, void *beside) {
  return run(f, (dvt_level3){.routine = DVT_TRSM,
                             .type = f->type,
                             .side = 'L',
                             .uplo = 'L',
                             .transa = 'N',
                             .diag = 'U',
                             .m = n,
                             .n = columns,
                             .k = n,
                             .alpha = 1,
                             .a = block,
                             .lda = f->lda,
                             .c = beside,
                             .ldc = f->lda});
}

static davit_status factor(const lu *f, int64_t m, int64_t n, void *a, int *ipiv, int *info) {
  if (n <= PANEL) {
    static int (*const by_type[DAVIT_TYPE_COUNT])(int64_t, int64_t, void *, int64_t,
                                                  int *) = {[DAVIT_DOUBLE] = panel_double,
                                                            [DAVIT_FLOAT] = panel_float,
                                                            [DAVIT_COMPLEX_DOUBLE] = panel_complex_double,
                                                            [DAVIT_COMPLEX_FLOAT] = panel_complex_float};
    *info = by_type[f->type](m, n, a, f->lda, ipiv);
    return DAVIT_SUCCESS;
  }
  const int64_t first = n / 2 / PANEL * PANEL > 0 ? n / 2 / PANEL * PANEL : n / 2, rest = n - first;
  void *right = at(f, a, 0, first), *below = at(f, a, first, 0), *open = at(f, a, first, first);
  int later = 0;
  DVT_TRY(factor(f, m, first, a, ipiv, info));
  DVT_TRY(exchange(f, rest, right, first, ipiv));
  DVT_TRY(solve(f, first, a, rest, right));
  DVT_TRY(run(f, (dvt_level3){.routine = DVT_GEMM,
                              .type = f->type,
                              .transa = 'N',
                              .transb = 'N',
                              .m = m - first,
                              .n = rest,
                              .k = first,
                              .alpha = -1,
                              .a = below,
                              .lda = f->lda,
                              .b = right,
                              .ldb = f->lda,
                              .beta = 1,
                              .c = open,
                              .ldc = f->lda}));
  DVT_TRY(factor(f, m - first, rest, open, ipiv + first, &later));
  DVT_TRY(exchange(f, first, below, rest, ipiv + first));
  for (int64_t j = first; j < n; j++)
    ipiv[j] += (int)first;
  *info = *info ? *info : later ? later + (int)first : 0;
  return DAVIT_SUCCESS;
}

davit_status dvt_getrf_host(const dvt_site *site, const void *getrf) {
  const dvt_getrf *p = getrf;
  const int64_t order = p->m < p->n ? p->m : p->n;
  int info = 0;
  int *room = dvt_allocate_raw((size_t)(p->m + 4 * order + 1) * sizeof *room);
  if (!room)
    return DAVIT_OUT_OF_HOST_MEMORY;
  const lu f = {site, p->type, p->lda, p->m, room, room + p->m, room + p->m + 2 * order};
  davit_status status = factor(&f, p->m, order, p->a, p->ipiv, &info);
  void *beside = at(&f, p->a, 0, order);
  if (status == DAVIT_SUCCESS && p->n > order)
    status = exchange(&f, p->n - order, beside, order, p->ipiv);
  if (status == DAVIT_SUCCESS && p->n > order)
    status = solve(&f, order, p->a, p->n - order, beside);
  free(room);
  *p->info = info;
  return status;
}
